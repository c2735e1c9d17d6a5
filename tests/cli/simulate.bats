#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Simulated serving and plans with objectives: traces, files, saturation, what is wrong with them.

load helper

served="serve llama3-8b --gpu h100 --engine trtllm --simulate"

trace() {
	printf '%s\n' "$1" >"$tmp/trace"
}

@test "percentiles of requests that arrive at random" {
	ask $served --isl 467 --osl 256 --rate 8 --requests 500 --ttft 1s
	answered
	shows "TTFT"
	shows "ITL"
	shows "requests within SLO         100 %"
	ask $served --isl 467 --osl 256 --rate 8 --requests 500 --json
	answered
	json_is answers/n_finished 500
	json_is answers/n_preempted 0
}

@test "the same seed gives the same bytes" {
	ask $served --isl 467 --osl 256 --rate 8 --isl-cv 1 --requests 500 --json
	cp "$tmp/out" "$tmp/first"
	ask $served --isl 467 --osl 256 --rate 8 --isl-cv 1 --requests 500 --json
	cmp "$tmp/first" "$tmp/out"
	ask $served --isl 467 --osl 256 --rate 8 --isl-cv 1 --requests 500 --seed 2 --json
	! cmp -s "$tmp/first" "$tmp/out"
}

@test "past saturation there is a verdict and no latency" {
	ask $served --isl 467 --osl 256 --rate 500
	answered 1
	shows "saturated"
	shows "max request rate"
	hides "TTFT"
}

@test "a line for each rate" {
	ask $served --isl 467 --osl 256 --rates 2,8,500 --requests 1000
	answered
	shows "TTFT (P99)"
	shows "saturated"
	ask $served --isl 467 --osl 256 --rates 2,8 --rate 3
	refused
}

@test "traces as they are published" {
	trace 'TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109'
	ask $served --trace "$tmp/trace" --json
	answered
	json_is answers/n_finished 2
	trace '{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}
{"timestamp": 30535, "input_length": 6472, "output_length": 26, "hash_ids": [46, 47]}'
	ask $served --trace "$tmp/trace" --prefix-block 512 --dump "$tmp/dump"
	answered
	grep -q '^1,3.053,6472,26,1024,' "$tmp/dump"
}

@test "rows that are wrong are named" {
	trace 'arrival,input,output
0,100,10
2,0,10
1,100,x
0.5,100,10'
	ask $served --trace "$tmp/trace"
	refused
	says "trace:3:1: error: row 2: input of '0' tokens"
	says "row 3: output of 'x' tokens"
	trace 'arrival,input,output
1,100,10
0,100,10'
	ask $served --trace "$tmp/trace"
	refused
	says "row 2: arrival before the previous row"
}

@test "timeline and requests as CSV" {
	ask $served --isl 467 --osl 256 --rate 8 --requests 200 --timeline "$tmp/line" --timeline-rows 50 --dump "$tmp/dump"
	answered
	[ "$(head -n 1 "$tmp/line")" = "replica,time_s,step_s,running,waiting,decoding,prefill_token,cache_frac" ]
	[ "$(wc -l <"$tmp/line")" -le 51 ]
	[ "$(wc -l <"$tmp/dump")" -eq 201 ]
	ask $served --isl 467 --osl 256 --rate 8 --dump /nowhere/dump
	[ "$status" -eq 3 ]
}

@test "several replicas, clients, two pools" {
	ask $served --isl 467 --osl 256 --concurrency 32 --replicas 2 --routing shortest-queue --requests 500
	answered
	ask $served --isl 467 --osl 256 --rate 8 --replicas 1 --decode-replicas 2 --kv-link nvlink4 --requests 500
	answered
	ask $served --isl 467 --osl 256 --rate 8 --decode-replicas 1 --kv-link nvlink4 --decode-layout tp=8 --requests 500
	answered
	ask $served --isl 467 --osl 256 --rate 8 --decode-replicas 1 --decode-layout tp=8 --requests 500
	refused
	says "--decode-layout needs --kv-link"
	ask $served --isl 467 --osl 256 --rate 8 --decode-replicas 1 --kv-link nvlink4 --decode-layout tp=x --requests 500
	refused
	says "'tp=x' is not a parallel degree of a decode replica"
	ask $served --isl 467 --osl 256 --concurrency 8 --admission evict --prefill chunked --max-sequences 4 --requests 100
	answered
}

@test "what makes no sense is refused" {
	ask $served --isl 0 --osl 256 --rate 8
	refused
	ask $served --isl 467 --osl 256 --rate 0
	refused
	ask $served --isl 467 --osl 256 --rate 1 --gap-cv -1
	refused
	ask $served --isl 467 --osl 256 --rate 1 --concurrency 4
	refused
	ask $served --isl 9000000 --osl 256 --rate 1
	refused
	says "no request fits the KV cache"
	ask serve llama3-8b --gpu h100 --engine trtllm --isl 467 --osl 256 --seed 3
	refused
	says "only a simulation uses this option"
	ask serve llama3-70b --gpu h100 --engine trtllm --simulate --isl 467 --osl 256 --rate 1
	answered 1
	shows "does not fit"
}

@test "a plan meets objectives, by cost" {
	ask capacity llama3-70b --gpu h100,h200 --rate 20 --isl 1000 --osl 200 --objectives ttft.p99:1s,tpot:50ms --spare 1
	answered
	shows "confirmed"
	ask capacity llama3-70b --gpu h100 --rate 20 --isl 1000 --osl 200 --objectives ttft.p99:1ms
	answered 1
	shows "too slow at batch 1"
	ask capacity llama3-70b --gpu l40s --rate 1 --isl 1000 --osl 200 --engine trtllm --replica-gpus 1
	answered 1
	shows "does not fit"
	ask capacity llama3-70b --gpu h100 --users 200 --think 10s --isl 1000 --osl 200 --objectives answer.p90:20s
	answered
	ask capacity llama3-70b --gpu h100 --rate 20 --isl 1000 --osl 200 --objectives soon:1s
	refused
	ask capacity llama3-70b --gpu h100 --rate 20 --users 3 --isl 1000 --osl 200 --objectives ttft:1s
	refused
	ask capacity llama3-70b --gpu h100 --rate 20 --isl 1000 --osl 200 --tokens 4096 --objectives ttft:1s
	refused
}
