#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Predicted against measured.

load helper

measured() {
	printf '%s\n' 'gpu_id,backend,version,dtype,m,n,k,time_us' "$@" >"$tmp/m.csv"
}

@test "scores of a file" {
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,176 h100-sxm5-80gb,vllm,1,bf16,4096,4096,8192,400
	ask validate "$tmp/m.csv" --json
	answered
	json_is groups/0/by all
	json_is groups/0/name all
	json_is groups/0/n 2
	json_is groups/0/skipped 0
	ask validate "$tmp/m.csv" --by gpu --worst 1
	answered
	shows "h100-sxm5-80gb"
	shows "bf16 m 4096 n 4096"
}

@test "standard input" {
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,176
	ask_with "$(cat "$tmp/m.csv")" validate - --by gpu
	answered
	shows "h100-sxm5-80gb"
}

@test "rows without a prediction are skipped, with the reason" {
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,176 t4-16gb-nobody,vllm,1,bf16,4096,4096,4096,176
	ask validate "$tmp/m.csv" --json
	answered
	json_is groups/0/n 1
	json_is groups/0/skipped 1
}

@test "the median decides the exit status" {
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,100
	ask validate "$tmp/m.csv" --max-error 10%
	answered 1
	shows misses
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,176
	ask validate "$tmp/m.csv" --max-error 10%
	answered
	shows meets
}

@test "predictions go to a file, one line a row" {
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,176 h100-sxm5-80gb,vllm,1,bf16,4096,4096,8192,400
	ask validate "$tmp/m.csv" --predictions "$tmp/p.csv"
	answered
	[ "$(wc -l <"$tmp/p.csv")" -eq 3 ] || complain "three lines"
	head -1 "$tmp/p.csv" | grep -q '^file,line,case,.*,measured,predicted,low,high,error_percent,roof,' || complain "the head"
}

@test "only some groups" {
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,176 a100-sxm4-80gb,vllm,1,bf16,4096,4096,8192,1000
	ask validate "$tmp/m.csv" --only gpu=a100-sxm4-80gb --json
	answered
	json_is groups/0/n 1
	ask validate "$tmp/m.csv" --only gpu=b200-sxm
	refused
	ask validate "$tmp/m.csv" --only nonsense
	refused
}

@test "what is no file of measurements" {
	printf 'a,b\n1,2\n' >"$tmp/x.csv"
	ask validate "$tmp/x.csv"
	refused
	printf '\037\213\010' >"$tmp/x.gz"
	ask validate "$tmp/x.gz"
	refused
	says zcat
	ask validate "$tmp/none.csv"
	refused
	ask validate "$tmp/x.csv" --by nothing
	refused
	ask validate "$tmp/x.csv" --max-error 0
	refused
}

@test "a file that nobody can predict is refused" {
	measured nobody,vllm,1,bf16,4096,4096,4096,176
	ask validate "$tmp/m.csv"
	refused
}

# between LEAST MOST NUMBER: what --get printed
between() {
	awk -v x="$out" -v a="$1" -v b="$2" 'BEGIN { exit !(x + 0 == x && x >= a && x <= b) }' ||
		complain "should be between $1 and $2"
}

# gates FILE MEDIAN BIAS: on the median error and the bias of published rows, in percent
gates() {
	ask validate "tests/corpus/$1" --get score.0.median_ape
	answered
	between 0 "$2"
	ask validate "tests/corpus/$1" --get score.0.bias
	answered
	between "-$3" "$3"
}

@test "published kernels, collectives and peaks of memory: median error and bias" {
	gates gemm.csv 8 3
	gates attention.csv 8 4
	gates moe.csv 12 8
	gates collective.csv 8 4
	gates comm.csv 12 8
	gates memory.csv 5 3
}

@test "published training steps: median error, bias, interval" {
	gates train.csv 7 3.5
	ask validate tests/corpus/train.csv --get score.0.n
	answered
	between 82 100
	ask validate tests/corpus/train.csv --get score.0.coverage80
	answered
	between 72 95
}

@test "a run of an unknown framework and model is predicted from its shape, and warned of; what is not said is not guessed" {
	head='gpu_id,case_id,source,software,family,task,model,layers,hidden,heads,ffn,vocab,seq,num_gpus,precision,tp,pp,sharding,mbs,gbs,step_time_s'
	printf '%s\n' "$head" \
		'h100-sxm5-80gb,a,nobody,thing 1.0,dense-llm,pretrain,own-7b,32,4096,32,16384,50368,2048,8,bf16,1,1,FSDP-ZeRO3,4,64,1.3' \
		'h100-sxm5-80gb,b,nobody,thing 1.0,dense-llm,pretrain,own-7b,32,4096,32,16384,50368,2048,8,,1,1,FSDP-ZeRO3,4,64,1.3' \
		'h100-sxm5-80gb,c,nobody,thing 1.0,dense-llm,pretrain,own-7b,32,4096,32,16384,50368,2048,8,bf16,,,,4,64,1.3' \
		>"$tmp/t.csv"
	ask validate "$tmp/t.csv" --by framework --json
	answered
	json_is groups/0/n 1
	json_is groups/0/skipped 2
	json_is groups/0/warned 1
	json_is groups/1/name unlisted-fsdp
}

@test "a scaling series is scored by step and by efficiency" {
	cat >"$tmp/s.csv" <<-'END'
	gpu_id,series,source,model,gpu,num_gpus,nodes,interconnect,precision,scaling,batch,parallelism,throughput,unit,confidence,notes
	h100-sxm5-96gb,titan-8b-fsdp-compile,pytorch/torchtitan,llama3-8b,H100,8,1,,bf16,weak,16,FSDP,53336,tokens/s,exact,
	h100-sxm5-96gb,titan-8b-fsdp-compile,pytorch/torchtitan,llama3-8b,H100,128,16,,bf16,weak,256,FSDP,833792,tokens/s,exact,
	END
	ask validate "$tmp/s.csv" --by kind --json
	answered
	json_is groups/0/n 3
	json_is groups/1/name efficiency
	json_is groups/1/n 1
	json_is groups/2/n 2
}

@test "intervals hold about four of five published rows" {
	for f in gemm attention collective; do
		ask validate "tests/corpus/$f.csv" --get score.0.coverage80
		answered
		between 65 95
	done
}

@test "intervals hold 75 to 85 % of the rows of the whole files" {
	[ -r ../shared/silicon/gemm.csv.gz ] || skip "../shared/silicon is not there"
	for f in gemm collective; do
		zcat "../shared/silicon/$f.csv.gz" >"$tmp/$f.csv"
		ask validate "$tmp/$f.csv" --get score.0.coverage80
		answered
		between 75 85
	done
}
