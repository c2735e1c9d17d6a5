#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# How a command line is read.

load helper

@test "one option, three spellings" {
	ask kv llama2-7b --gpu h100 --get gpu_mem_byte
	answered
	long=$out
	ask kv llama2-7b --gpu=h100 --get gpu_mem_byte
	is "$long"
	ask kv llama2-7b -gh100 --get gpu_mem_byte
	is "$long"
	ask kv llama2-7b -g h100 --get gpu_mem_byte
	is "$long"
	ask kv -g h100 --get gpu_mem_byte llama2-7b
	is "$long"
	ask kv --get=gpu_mem_byte -g h100 -- llama2-7b
	is "$long"
}

@test "-- ends the options" {
	ask kv -- --seq
	refused
	says "there is no model '--seq'"
	ask kv llama2-7b -- --json
	refused
	says "extra operand '--json'"
}

@test "an option without its value" {
	ask kv llama2-7b --gpu
	refused
	says "--gpu: error: needs a value"
}

@test "an option twice" {
	ask kv llama2-7b --seq 1 --seq 2
	refused
	says "--seq: error: is given twice"
	ask kv llama2-7b -s1 --seq 2
	refused
}

@test "a switch with a value" {
	ask kv llama2-7b --json=yes
	refused
	says "--json: error: takes no value"
}

@test "too many operands" {
	ask kv llama2-7b llama3-8b
	refused
	says "extra operand 'llama3-8b'"
	says "usage: ridge kv"
}

@test "--set takes several, and the last one holds" {
	ask kv llama2-7b --set seq=16,batch=2 --get batch_byte
	answered
	is 16777216
	ask kv llama2-7b --set seq=16 --set seq=32,batch=1 --get batch_byte
	is 16777216
}

@test "option before --set before file before default" {
	printf 'command: kv\nmodel: llama2-7b\nseq: 16\n' >"$tmp/job.yaml"
	ask kv "$tmp/job.yaml" --get seq_token
	is 16
	ask kv "$tmp/job.yaml" --set seq=32 --get seq_token
	is 32
	ask kv "$tmp/job.yaml" --set seq=32 --seq 64 --get seq_token
	is 64
	ask kv "$tmp/job.yaml" --get block_token
	is 16
}

@test "--set reaches into an entry of the database" {
	ask hw show h100 --get mem_byte_per_s
	is 3350000000000
	ask roofline gemm --m 8192 --n 8192 --k 8192 --gpu h100 --set gpu.memory.bandwidth=3TB/s --get mem_byte_per_s
	answered
	is 3000000000000
	ask roofline gemm --m 8192 --n 8192 --k 8192 --gpu h100 --set gpu.memory.bandwidth=3TB/s --explain=mem_byte_per_s
	shows "--set gpu.memory.bandwidth"
	ask kv llama2-7b --set model.layers=16 --get kv_byte_per_token
	is 262144
	ask kv llama2-7b --gpu h100 --set gpu.memory.bandwith=3TB/s
	refused
	says "did you mean 'bandwidth'?"
	ask kv llama2-7b --gpu h100 --set gpu.memory.bandwidth=fast
	refused
	says "'fast' is not a rate"
}

@test "layouts" {
	ask kv llama3-70b --layout tp=8 --get tp
	is 8
	ask kv llama3-70b --set layout.tp=8 --get tp
	is 8
	ask kv llama3-70b --layout tp=8,tp=4
	refused
	says "'tp' is given twice"
	ask kv llama3-70b --layout tq=8
	refused
	says "did you mean 'tp'?"
	ask kv llama3-70b --layout 8
	refused
	ask memory llama3-8b --gpu h100 --layout tp=0
	refused
	says "tp must be a whole number of at least 1"
	ask memory llama3-8b --gpu h100 --layout zero=4
	refused
	says "layout.zero must be at most 3"
}

@test "without anything to do: two examples on standard error, status 2" {
	ask
	[ "$status" -eq 2 ]
	[ -z "$out" ]
	says "usage: ridge COMMAND"
	says "  ridge memory"
	ask comm
	[ "$status" -eq 2 ]
	[ -z "$out" ]
	says "usage: ridge comm COLLECTIVE"
}

@test "a path of sixty thousand steps" {
	path=$(head -c 60000 /dev/zero | sed 's/\x0/a./g')b
	ask kv llama2-7b --set "$path=1"
	refused
	says "input path of"
}

@test "names of other programs: options, models, GPUs" {
	ask train llama3-8b --gpu h100 --gpus 8 --layout tp=2 --batch 1 --global-batch 8 --get step_s
	answered
	same=$out
	ask train meta-llama/Meta-Llama-3-8B --gpu "NVIDIA H100 80GB HBM3" --num-gpus 8 --tensor-parallel-size 2 --mbs 1 --gbs 8 \
		--get step_s
	answered
	is "$same"
	ask train llama3-8b --gpu h100 --gpus 8 --num-gpus 16
	refused
	says "--num-gpus: error: is given twice"
	ask kv llama2-7b --set kv-cache-dtype=fp8 --get inputs.kv_dtype
	is fp8
	ask_with '{"model": "llama2-7b", "seq-len": 2048}' kv --jsonl - --get inputs.seq
	is 2048
	ask help options
	answered
	shows "--mbs "
	ask kv nobody/nothing
	refused
	says "there is no model 'nobody/nothing'"
}

# --- what 0.1.0 took

@test "no option of 0.1.0 is lost" {
	local command options option lost=
	while IFS=$'\t' read -r command options; do
		set -- --zyx=1
		for option in $options; do
			set -- "$@" "--$option=1"
		done
		lost+=$("$RIDGE" "$command" "$@" 2>&1 </dev/null | grep "there is no option" | sed "s/^/$command: /")$'\n'
	done < <(grep -v '^#' tests/fixtures/options-0.1.0.tsv)
	[ "$(grep -c "'--zyx'" <<<"$lost")" = "$(grep -vc '^#' tests/fixtures/options-0.1.0.tsv)" ]
	! grep "option '" <<<"$lost" | grep -v "'--zyx'" || false
}
