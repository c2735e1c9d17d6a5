#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Each command: an answer, an answer that is no, and what it refuses.

load helper

# --- memory

@test "memory: fits, does not fit" {
	ask memory llama3-8b --gpu h100 --gpus 8 --layout tp=2,zero=1,sp --seq 8192 --get verdict
	answered
	is fits
	ask memory llama3-70b --gpu h100 --layout tp=8,dp=2
	answered 1
	shows "does not fit"
	shows "change  "
}

@test "memory: bare numbers, 16 bytes per parameter" {
	ask memory --params 7e9 --layers 32 --hidden 4096 --seq 2048 --json
	[ "$status" -le 1 ]
	json_is inputs/params 7000000000.0 2>/dev/null || json_is inputs/params 7000000000
}

@test "memory: refused" {
	ask memory
	refused
	ask memory llama3-8b --gpu h100 --optimizer adamm
	refused
	says "did you mean 'adam'?"
	ask memory llama3-8b --gpu h100 --headroom 3
	refused
	ask memory llama3-8b --gpu h100 --batch 0
	refused
	ask memory llama3-8b --gpu h100 --use dream
	refused
	says "'dream' is not one of train|infer"
}

# --- kv

@test "kv: a cache that a model has not" {
	ask kv bert-large
	refused
	says "is an encoder"
	ask kv resnet50
	refused
	says "list of operators"
	ask kv
	refused
	says "no model given"
}

# --- roofline

@test "roofline: bound by memory or by arithmetic" {
	ask roofline gemm --m 16 --n 8192 --k 8192 --gpu h100
	answered
	shows "memory-bound"
	ask roofline gemm --m 8192 --n 8192 --k 8192 --gpu h100
	answered
	shows "compute-bound"
	ask roofline --gpu v100,a100,h100,b200
	answered
	shows v100-sxm2-32gb
	shows b200-sxm
}

@test "roofline: refused" {
	ask roofline
	refused
	says "no GPU given"
	ask roofline gem --m 1 --n 1 --k 1 --gpu h100
	refused
	says "did you mean 'gemm'?"
	ask roofline gemm --m 64 --n 64 --gpu h100
	refused
	says "gemm needs --k"
	ask roofline gemv --m 64 --k 64 --n 64 --gpu h100
	refused
	says "gemv has no dimension 'n'"
	ask roofline gemm --m 0 --n 64 --k 64 --gpu h100
	refused
	says "must be greater than 0"
	ask roofline gemm --m 64 --n 64 --k 64 --gpu h100 --dtype fp4
	refused
	says "h100-sxm5-80gb has no fp4 support"
	says "--dtype fp8"
}

# --- comm

@test "comm: the textbook ring" {
	# 2 x 7/8 x 14 GB / 50 GB/s
	ask comm allreduce --size 14GB --ranks 8 --bandwidth 50GB/s --get comm_s
	answered
	case $out in 0.49 | 0.4900000000000*) ;; *) complain "should be 0.49" ;; esac
}

@test "comm: messages that an engine leaves to NCCL take NCCL's time, smaller ones its own" {
	for ranks in 2 8; do
		for size in 64KiB 64MiB; do
			ask comm allreduce --size $size --gpu h100 --ranks $ranks --get comm_s
			answered
			nccl=$out
			ask comm allreduce --size $size --gpu h100 --ranks $ranks --backend trtllm --get comm_s
			answered
			case $size in 64MiB) is "$nccl" ;; *) [ "$out" != "$nccl" ] || complain "NCCL's" ;; esac
		done
		ask comm allreduce --size 64MiB --gpu h100 --ranks $ranks --backend trtllm
		shows "NCCL, as trtllm leaves this size to it"
	done
}

@test "comm: refused" {
	ask comm allredoce --size 1GB --ranks 8 --bandwidth 50GB/s
	refused
	says "did you mean 'allreduce'?"
	ask comm allreduce --size 1GB --ranks 8 --bandwidth 0GB/s
	refused
	ask comm allreduce --size 1GB --ranks 1.5 --bandwidth 50GB/s
	refused
	ask comm allreduce --size 1GB --ranks 8 --bandwidth 50GB/s --overlap 2
	refused
	ask comm allreduce --ranks 8 --bandwidth 50GB/s
	refused
	ask comm allreduce --size 1GB --ranks 8 --bandwidth 50GB/s --algo rings
	refused
	says "did you mean 'ring'?"
}

# --- scale

@test "scale: efficiency of measured points" {
	ask scale --points 1:1000,2:1800,4:3200,8:4000 --warn-below 0.875
	answered 1
	ask scale --points 1:1000,2:1800,4:3200,8:4000
	answered
	shows "50 %"
}

@test "scale: refused" {
	ask scale
	refused
	says "no scaling data given"
	ask scale --points 1:1000,2:x
	refused
	says "'x' is not a number"
	ask scale --points a
	refused
	ask scale --points 1:1000
	refused
	says "two points or more"
}

# --- capacity

@test "capacity: candidates side by side" {
	ask capacity llama3-70b --gpu a100,h100 --users 200 --tokens 4Ki --csv
	answered
	[ "$(printf '%s\n' "$out" | wc -l)" -eq 3 ]
}

@test "capacity: objectives that leave a replica almost idle are impractical" {
	ask capacity llama3-70b --gpu h100 --layout tp=8 --rate 20 --isl 1000 --osl 200 --engine trtllm-1.0 --objectives tpot:12.5ms --unconfirmed
	answered
	shows "TPOT: impractical"
	says "impractical: the SLOs allow each replica 1.2 %"
	ask capacity llama3-70b --gpu h100 --layout tp=8 --rate 20 --isl 1000 --osl 200 --objectives tpot:14ms --unconfirmed
	answered
	hides "impractical"
}

@test "cost and capacity read --price alike" {
	for price in 2.5 2.5usd/h h100=2.5 a100=1,h100=2.5usd/h; do
		ask cost --gpus 8 --gpu h100 --price "$price" --get gpu_usd_per_s
		is 0.0006944444444444445
		ask capacity llama3-70b --gpu h100 --users 20 --tokens 4Ki --price "$price"
		answered
	done
	ask cost --gpus 8 --gpu a100 --price h100=2.5
	refused
	says "no price of this GPU"
	ask cost --gpus 8 --price h100=2.5
	refused
	says "--gpu"
}

@test "capacity: refused" {
	ask capacity llama3-70b --gpu h100
	refused
	says "neither --users nor --rate given"
	ask capacity llama3-70b --gpu h100,foo --users 5 --tokens 100
	refused
	says "there is no GPU 'foo'"
	ask capacity llama3-70b --gpu h100 --users -5 --tokens 100
	refused
	says "users must be a whole number of at least 1"
}

# --- model, hw, check

@test "model: parameters to the last one" {
	ask model llama2-7b --get n_params
	answered
	is 6738415616
	ask model show llama3-70b --get n_params
	answered
	is 70553706496
}

@test "model: refused" {
	ask model show llama9
	refused
	ask model show
	refused
	ask model compare llama2-7b nosuchmodel
	refused
	says "there is no model 'nosuchmodel'"
}

@test "hw: lists, entries, comparisons" {
	ask hw list --csv
	answered
	lines=$(printf '%s\n' "$out" | wc -l)
	[ "$lines" -eq $(($(find "$RIDGE_HWDB/hwdb/gpus" -name '*.yaml' | wc -l) + 1)) ]
	ask hw list --architecture volta --csv
	[ "$(printf '%s\n' "$out" | grep -c volta)" -eq $(($(printf '%s\n' "$out" | wc -l) - 1)) ]
	ask hw list systems --with h100 --csv
	answered
	printf '%s\n' "$out" | grep -q '^dgx-h100,h100-sxm5-80gb'
	ask hw show dgx-h100
	answered
	shows "NVSwitch"
	ask hw show gb200 --get host_link,n_host_gpus,host_mem_byte
	is $'nvlink-c2c\n2\n480000000000'
	ask hw show nvlink4 --get per_link_byte_per_s
	is 25000000000
	ask hw compare a100 h100 --csv
	answered
	[ "$(printf '%s\n' "$out" | wc -l)" -eq 3 ]
	ask hw list --vendor Nobody
	refused
	says "no gpus match 'Nobody'"
}

@test "hw: a peak that the hardware lacks is the word none, never a number" {
	ask hw show v100 --json
	answered
	json_is answers/peak_bf16 none
	ask hw show v100 --get peak_bf16_flop_per_s
	refused
}

@test "hw: refused" {
	ask hw show
	refused
	ask hw show a100 h100
	refused
	ask hw compare h100
	refused
	ask hw shw
	refused
	says "did you mean 'show'?"
	ask hw list gpu
	refused
	ask hw show h1000
	refused
	says "did you mean 'h100'?"
	ask hw list systems --with h1000
	refused
}

@test "check: faults are an answer, an unknown name is not" {
	ask check h100-sxm5-80gb
	answered
	printf 'format: 1\nname: x\narchitecture: hopper\nmemory: {bandwidth: 1TB}\npeak: {bf16: 1TFLOP/s}\n' >"$tmp/g.yaml"
	ask check "$tmp/g.yaml"
	answered 1
	shows "$tmp/g.yaml:4:21"
	ask check "$tmp/g.yaml" --json
	answered 1
	json_is answers/n_errors 1
	ask check nosuchentry
	refused
}

@test "a limit on a time is labeled as one, and a request's cost as serve's is" {
	ask compare --current 1.27h --max 2h
	answered
	shows "allowed time"
	ask cost --load 50 --capacity 350@8 --price 3.50usd/h --isl 500 --osl 200 --output-weight 4
	answered
	shows "cost per request"
}
