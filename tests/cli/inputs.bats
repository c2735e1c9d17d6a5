#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Inputs that an answer does not read, that are out of bounds, or that say nothing.

load helper

@test "a gate that is not evaluated never passes" {
	while read -r gate value line; do
		# shellcheck disable=SC2086 # several words
		ask $line --$gate $value
		refused
		says "--$gate: error: has no effect here"
	done <<-'END'
		tail-limit 1.2 latency --budget 45ms --stages pre=5ms,encode=12ms
		budget 45ms latency --p50 10ms --p99 12ms
		warn-below 0.9 scale --stages 8 --microbatches 32
		target-bubble 0.1 scale --points 1:1000,2:1800
		target 0.9 scale --points 1:1000,2:1800
		max-idle 5% data --storage 4GB/s --sample-size 1MB --throughput 90
		target 900 data --cameras 8 --pixels 2M --fps 30
		deadline 1s stack --fraction 0.4 --total 1.3
		target 2 stack --fraction 0.4 --total 1.3
		budget 5usd cost --before 5usd --after 3usd
	END
}

@test "a gate that is evaluated says so, and its answer is the status" {
	while read -r wanted line; do
		# shellcheck disable=SC2086 # several words
		ask $line
		[ "$status" -eq "$wanted" ] || complain "the status should be $wanted"
	done <<-'END'
		0 latency --p50 10ms --p99 12ms --tail-limit 1.3
		1 latency --p50 10ms --p99 12ms --tail-limit 1.1
		0 data --idle 30% --max-idle 40%
		1 data --idle 30% --max-idle 20%
		0 data --idle 30% --idle-after 10% --max-idle 20%
		1 data --expected 100 --throughput 60 --max-idle 20%
		0 data --expected 100 --throughput 90 --max-idle 20%
		0 scale --stages 8 --microbatches 64 --target-bubble 0.12
		1 scale --stages 8 --microbatches 8 --target-bubble 0.12
		0 stack --base 48h --deadline 40h --steps ssd=1.3
		1 stack --base 48h --deadline 30h --steps ssd=1.3
		0 stack --target 1.2 --steps ssd=1.3
		1 stack --target 1.4 --steps ssd=1.3
		1 cost --gpus 8 --price 10usd/h --time 48h --budget 2000usd
		0 cost --gpus 8 --price 10usd/h --time 48h --budget 4000usd
	END
}

@test "inputs without effect: by option, by --set, by job" {
	ask launch --layers 32 --ops 50 --seq 5
	refused
	says "--seq: error: has no effect here"
	says "hint: it needs a model"
	ask launch --layers 32 --ops 50 --set seq=5
	refused
	ask hw show h100 --set gpu.memory.bandwidth=3TB/s --set system.nics=4
	refused
	printf 'command: launch\nlayers: 32\nops: 50\nseq: 5\n' >"$tmp/job.yaml"
	ask launch "$tmp/job.yaml"
	refused
	says "job.yaml:4:"
	says "'seq' has no effect here"
	# false is what a switch is without being given
	ask launch --layers 32 --ops 50 --set blocking=false
	answered
}

@test "a value that is the default is read all the same" {
	ask cost --gpus 8 --price 3usd/h --nodes 1
	refused
	ask cost --system dgx-h100 --node-price 98usd/h --nodes 1
	answered
}

@test "out of bounds: in options, in lists, in files" {
	while read -r line; do
		# shellcheck disable=SC2086 # several words
		ask $line
		refused
	done <<-'END'
		checkpoint --gpus 1e15 --gpu-mtbf 50000h --write 60s
		checkpoint --gpus 0 --gpu-mtbf 50000h --write 60s
		checkpoint --gpus 64 --gpu-mtbf 50000h --write 60s --target 101%
		scale --points 1:1000,1e12:5
		scale --points 1:1000,2.5:1800
		scale --points 1:-1000,2:1800
		scale --times 1h@1,2h@0
		scale --compute 1s --communication 1s --ranks 0,2
		cost --gpus 8 --price 3usd/h --load 5 --capacity 350@1e12
		cost --gpus 8 --price 3usd/h --load 5 --capacity 0@8
		cost --own --system dgx-h100 --electricity 0.1usd/kWh --years 1e9
		launch --layers 32 --ops 50 --fuse 1e30:1
		launch --layers 32 --ops 50 --fuse 0:0
		quant --bits 65
		quant --bits 0
		compare --baseline 1,000,300 --current 200
		compare --baseline 1e400 --current 200
		latency --stages a=-5ms
		latency --stages a=5ms --fps 0
		diagnose --gpus 1e15 --speedup 4
		kv llama2-7b --batch 50%
		kv llama2-7b --seq 1e99
		comm allreduce --size 20% --ranks 8 --bandwidth 1GB/s
		spec --accept 1.2 --k 5 --draft 2ms --target 30ms
		trend --points 0:1GB,1e300:2GB,3:4GB --capacity -5GB
	END
	printf 'command: checkpoint\ngpus: 1e15\ngpu_mtbf: 50000h\nwrite: 60s\n' >"$tmp/job.yaml"
	ask checkpoint "$tmp/job.yaml"
	refused
	says "job.yaml:2:"
}

@test "many GPUs are answered in time" {
	SECONDS=0
	ask checkpoint --gpus 1e7 --gpu-mtbf 50000h --write 60s --repair 48h
	[ "$status" -le 1 ]
	ask checkpoint --gpus 1e7 --gpu-mtbf 1h --write 60s --repair 48h
	[ "$status" -le 1 ]
	says "more nodes in repair than the job has"
	[ "$SECONDS" -le 5 ] || complain "it took $SECONDS s"
}

@test "a percent sign is for fractions" {
	ask scale --points 1:1000,2:1800 --warn-below 87.5%
	answered
	ask scale --points 1:1000,2:1800 --price 50%
	refused
	ask cost --load 500% --capacity 350@8 --price 3usd/h
	refused
	says "percentage"
	ask spec --accept 80% --k 5 --draft 2ms --target 30ms
	answered
}

@test "nothing: empty values, lists, items and maps" {
	while read -r line; do
		eval "ask $line"
		refused
	done <<-'END'
		data --storage '' --sample-size 1MB
		data --storage nvme-gen4,,sata-ssd --sample-size 1MB
		data --storage nvme-gen4, --sample-size 1MB
		scale --points ''
		scale --points 1:1000,,2:1800
		compare --baseline '' --current 5
		quant fp8 ''
		hw show ''
		kv llama2-7b --gpu ''
		kv llama2-7b --seq ''
		kv llama2-7b --layout ''
		kv llama2-7b --sweep seq=
		kv llama2-7b --get ''
	END
	for text in 'gpu: {}' 'gpu: []' 'gpu: ""' 'seq: {}' 'layout: {tp: {}}'; do
		printf 'command: kv\nmodel: llama2-7b\n%s\n' "$text" >"$tmp/job.yaml"
		ask kv "$tmp/job.yaml"
		refused
	done
}

@test "words of a configuration that decide bytes" {
	config() {
		printf '{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
			"intermediate_size": 11008, "vocab_size": 32000%s}' "$1" >"$tmp/config.json"
		ask model show "$tmp/config.json"
	}
	config ''
	answered
	config ', "quantization_config": {"quant_method": "fp8"}'
	answered
	config ', "quantization_config": {"quant_method": "fp7"}'
	refused
	says "fp7"
	config ', "quantization_config": {"quant_method": 8}'
	refused
	config ', "hidden_act": 5'
	[ "$status" -ne 3 ]
}

@test "memory that runs out names the command" {
	spares_memory
	status=0
	(
		ulimit -v 30000
		"$RIDGE" kv llama2-7b --sweep seq=1..100000+1 --json >"$tmp/out" 2>"$tmp/err"
	) || status=$?
	err=$(<"$tmp/err")
	[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || complain "status $status"
	[ "$status" -eq 0 ] || says "out of memory"
}

@test "numbers are the same in every locale" {
	mkdir "$tmp/locale"
	needs "the German locale" "make deps-test" localedef -i de_DE -f UTF-8 "$tmp/locale/de_DE.UTF-8"
	ask kv llama2-7b --seq 1000 --csv
	wanted=$out
	LOCPATH=$tmp/locale LC_ALL=de_DE.UTF-8 ask kv llama2-7b --seq 1000 --csv
	is "$wanted"
}

@test "GPUs of a system are refused by a command that counts none, wherever they stand" {
	printf '{"gemm": "4096 4096 4096", "gpu": "h100", "system": {"gpus": 4}}\n' >"$tmp/line"
	ask roofline --jsonl "$tmp/line"
	says "'roofline' has no input 'system.gpus'"
	[ "$status" -eq 1 ] || complain "status should be 1"
}
