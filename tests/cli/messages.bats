#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What a slip of the keyboard, or an option of another program, is answered: place, fault, and what to write instead.

load helper

# each line: WORDS | the message | its hint
@test "messages name the fault and what to write instead" {
	while IFS='|' read -r words message hint; do
		# shellcheck disable=SC2086 # the words of a command line
		ask $words
		refused
		says "$message"
		says "hint: $hint"
	done <<-'EOT'
	memmory llama3-8b|there is no command 'memmory'|did you mean 'memory'?
	memory llama3-9b --gpu h100|there is no model 'llama3-9b'|did you mean 'llama3-8b'?
	hw show h10|there is no GPU 'h10'|did you mean 'h100'?
	memory llama3-8b --gpu 8xH100|there is no GPU '8xH100'|write 'h100', and how many in --gpus
	hw h100|'h100' is not one of list|write one of them before 'h100'
	memory llama3-8b --layout tp2dp4|--layout: error: 'tp2dp4' runs parts of a layout together|separate them with commas: tp=2,pp=2
	memory llama3-8b --layout tensor=2|a layout has no 'tensor'|did you mean 'tp'?
	memory llama3-8b --layout pipeline=2|a layout has no 'pipeline'|did you mean 'pp'?
	train llama3-8b --gpu h100 --engine vllm|no option '--engine'|write --stack: engines serve, stacks train
	train llama3-8b --gpu h100 --use-distributed-optimizer|no option '--use-distributed-optimizer'|write --layout zero=1
	serve llama3-8b --gpu h100 --stack vllm|no option '--stack'|write --engine: stacks train, engines serve
	serve llama3-8b --gpu h100 --enable-expert-parallel|no option '--enable-expert-parallel'|write --layout ep=N
	serve llama3-8b --gpu h100 --isl 1000 --osl 200 --rate 8req/s|--rate: error: '8req/s' is not a number|write 8
	serve llama3-8b --gpu mi250x --isl 1000 --osl 200 --rate 1|--gpu: error: no kernel measurements of this GPU|without --isl
	serve llama3-8b --gpu h100 --isl 1000 --osl 200 --rate 4 --p99 2s|--p50 and --p99 cannot be combined with --gpu|use one of them
	serve llama3-8b --gpu h100 --isl 1000 --osl 200 --rate -1|rate must be greater than 0|write a number above 0
	serve llama3-8b --gpu h100 --isl 1000 --osl 200 --rate 4 --get throughput|no answer 'throughput'|did you mean '
	serve llama3-8b --gpu h100 --isl 1000 --osl 200 --rate 4 --get mfu_frac|does not answer 'mfu_frac'|--json shows what it answers
	spec --accept 80 --draft 2ms --target 30ms|accept must be at most 1|write a share up to 1, or a percentage
	cost --gpus 8 --price 3usd/h --time 48|'48' has no unit|write 48us, 48ms or 48h
	latency --fps 30 --stages pre=5,encode=12|'12' has no unit|write 12us, 12ms or 12h
	stack --base 1h --steps a=1.5 b=1.3|extra operand 'b=1.3'|write lists without blanks
	trend memory.csv|extra operand 'memory.csv'|write --points memory.csv
	roofline gemm 4096 4096 --gpu h100|gemm needs --k|give --m --n --k
	roofline attention --heads 32 --seq 4096 --gpu h100|attention needs --context|give --batch --heads --seq --context --head-dim
	EOT
}

@test "all faults of a command line are printed in one run" {
	ask checkpoint --gpus 64 --gpu-mtbf 50000 --write 60
	refused
	says "--gpu-mtbf: error: '50000' has no unit"
	says "--write: error: '60' has no unit"
	ask memory llama3-8b --gpu h100 --sweep layout.tp=3,5
	refused
	says "tp=5 does not divide the model's 32 attention heads"
	says "layout.tp=3: tp=3 does not divide"
}

@test "names of other programs are taken" {
	ask serve meta-llama/Meta-Llama-3-8B --gpu h100 --random-input-len 1000 --random-output-len 200 --request-rate 8 \
		--tp-size 2 --backend vllm --precision bfloat16 --get tpot_s
	answered
	one=$out
	ask serve llama3-8b --gpu h100 --isl 1000 --osl 200 --rate 8 --layout tp=2 --engine vllm --dtype bf16 --get tpot_s
	is "$one"
	ask comm allreduce --bytes 1GB --gpus 8 --bandwidth 50GB/s --get message_byte
	is 1000000000
	ask memory --num-layers 32 --hidden-size 4096 --seq-length 2048 --params 7B --get peak_byte
	answered
}

@test "money and GPU time are written as people write them" {
	ask cost --gpus 8 --price 3.50usd/h --time 48h
	answered
	shows "384 GPU-hours"
	ask cost --load 50 --capacity 350@8 --price 3.50usd/h
	shows '$0.0000389/request'
	ask quant int8 int4
	shows "41.2 dB"
}
