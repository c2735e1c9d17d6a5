#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# --set of a figure of GPU, link or system moves every answer that rests on it, also where kernels were fitted.  The laws
# over all GPUs and systems are in tests/law/kernels.c and links.c; here the commands are asked.

load helper

# value ROW WORD...: one number
value() {
	row=$1
	shift
	ask "$@" --get "$row"
	answered
	printf '%s\n' "$out"
}

# falls FACTOR ROW PATH RATE UNIT WORD...: less of a figure is never faster, and half of it takes FACTOR as long or more
falls() {
	least=$1 row=$2 path=$3 rate=$4 unit=$5
	shift 5
	: >"$tmp/times"
	for factor in 0.25 0.5 1 2 4; do
		figure=$(awk -v a="$rate" -v b="$factor" 'BEGIN { printf "%.12g", a * b }')
		value "$row" "$@" --set "$path=$figure$unit" >>"$tmp/times"
	done
	awk -v least="$least" '
		NR > 1 && $1 > before * (1 + 1e-9) { exit 1 }
		{ time[NR] = before = $1 }
		END { if (time[2] < least * time[3]) exit 1 }' "$tmp/times" ||
		complain "$path: not slower the less there is of it, or less than $least at half: $(tr '\n' ' ' <"$tmp/times")"
}

@test "a measured GPU with less bandwidth or arithmetic: never above its roof" {
	for gpu in h100 v100; do
		for set in gpu.memory.bandwidth=500GB/s gpu.peak.fp16=50TFLOP/s gpu.memory.bandwidth=20TB/s; do
			for shape in "--m 16 --n 8192 --k 8192" "--m 8192 --n 8192 --k 8192"; do
				# shellcheck disable=SC2086
				x=$(value roof_frac roofline gemm $shape --gpu $gpu --dtype fp16 --set $set)
				awk -v x="$x" 'BEGIN { exit !(x > 0 && x <= 1 + 1e-9) }' || complain "$gpu $set: $x of the roof"
			done
		done
	done
}

@test "kernels: products, attention, experts" {
	falls 1.8 kernel_s gpu.memory.bandwidth 3.35 TB/s roofline gemm --m 16 --n 16384 --k 16384 --gpu h100
	falls 1.9 kernel_s gpu.peak.bf16 989.4 TFLOP/s roofline gemm --m 16384 --n 8192 --k 8192 --gpu h100
	falls 1.7 kernel_s gpu.peak.fp8 1979 TFLOP/s roofline gemm --m 16384 --n 8192 --k 8192 --gpu h100 --dtype fp8
	falls 1.8 kernel_s gpu.memory.bandwidth 7.7 TB/s \
		roofline attention --b 64 --h 32 --s 1 --c 32768 --d 128 --kv 8 --gpu b200
	falls 1.7 kernel_s gpu.peak.bf16 312 TFLOP/s \
		roofline attention --b 4 --h 32 --s 8192 --c 8192 --d 128 --kv 8 --seen 4096.5 --gpu a100
	falls 1.6 kernel_s gpu.peak.bf16 989.4 TFLOP/s roofline grouped --e 8 --m 65536 --n 14336 --k 4096 --gpu h200
	falls 1.2 list_kernel_s gpu.memory.bandwidth 3.35 TB/s roofline llama3-8b --phase decode --batch 8 --gpu h100
}

@test "collectives: links inside a node, links by their own entry, NICs" {
	falls 1.95 comm_s system.domain.per_direction 900 GB/s comm allreduce --size 4GiB --system dgx-b200 --ranks 8
	falls 1.95 comm_s gpu.link.per_direction 25 GB/s comm allgather --size 4GiB --gpu h100 --ranks 8
	falls 1.8 comm_s system.network.per_nic 12.5 GB/s comm allgather --size 4GiB --system aws-p5.48xlarge --ranks 32
	falls 1.5 comm_s gpu.link.per_direction 25 GB/s comm allreduce --size 16MiB --gpu h100 --ranks 8 --backend vllm
	whole=$(value comm_s comm allgather --size 4GiB --gpu h100 --ranks 8)
	half=$(value comm_s comm allgather --size 4GiB --gpu h100 --ranks 8 \
		--set link.per_direction=12.5GB/s,link.both_directions=25GB/s)
	awk -v a="$whole" -v b="$half" 'BEGIN { exit !(b > 1.95 * a && b < 2.001 * a) }' || complain "$whole, then $half"
}

@test "training: kernels, links, and a share of the peak that stays one" {
	for set in gpu.peak.bf16=100TFLOP/s gpu.peak.bf16=4000TFLOP/s gpu.memory.bandwidth=20TB/s; do
		for gpu in h100 gb300; do
			x=$(value mfu_frac train llama3-8b --gpu $gpu --gpus 8 --layout tp=1,zero=1 --global-batch 32 --seq 4096 \
				--no-memory --set $set)
			awk -v x="$x" 'BEGIN { exit !(x > 0 && x <= 1) }' || complain "$gpu $set: MFU $x"
		done
	done
	falls 1.5 step_s gpu.peak.bf16 989.4 TFLOP/s \
		train llama3-8b --gpu h100 --gpus 8 --layout zero=1 --global-batch 32 --seq 4096 --no-memory
	falls 1.02 step_s gpu.memory.bandwidth 2.039 TB/s \
		train llama3-8b --gpu a100 --gpus 8 --layout zero=1 --global-batch 32 --seq 4096 --no-memory
	falls 1.1 step_s system.domain.per_direction 450 GB/s \
		train llama3-8b --system dgx-h100 --gpus 64 --layout tp=8,zero=1 --global-batch 64 --seq 4096 --no-memory
	falls 1.05 step_s system.network.per_nic 50 GB/s \
		train llama3-8b --system dgx-h100 --gpus 64 --layout zero=3 --global-batch 64 --seq 4096 --no-memory
}

@test "serving and launches" {
	falls 1.4 tpot_s gpu.memory.bandwidth 3.35 TB/s serve llama3-8b --gpu h100 --isl 1000 --osl 200 --batch 8
	falls 1.3 ttft_s gpu.peak.bf16 989.4 TFLOP/s serve llama3-8b --gpu h100 --isl 4000 --osl 200 --batch 8
	falls 1.3 ttft_s gpu.peak.fp8 1979 TFLOP/s serve llama3-8b --gpu h100 --isl 4000 --osl 200 --batch 8 --dtype fp8
	falls 1.02 tpot_s gpu.link.per_direction 25 GB/s \
		serve llama3-70b --gpu h100 --layout tp=8 --isl 1000 --osl 200 --batch 64
	falls 1.02 tpot_s system.domain.per_direction 450 GB/s \
		serve llama3-70b --system dgx-h100 --layout tp=8 --isl 1000 --osl 200 --batch 64
	falls 1.9 device_s gpu.memory.bandwidth 3.35 TB/s launch llama3-8b --gpu h100 --batch 1 --launch 5us --ops 30
}

@test "a figure at its own value changes nothing" {
	while read -r path words; do
		# shellcheck disable=SC2086
		ask $words --json --explain
		answered
		grep -v '"sources"\|"inputs"\|gpu\.\|system\.' "$tmp/out" | grep '"[a-z_0-9.]*_s":' >"$tmp/plain"
		# shellcheck disable=SC2086
		ask $words --set "$path" --json --explain
		answered
		grep '"[a-z_0-9.]*_s":' "$tmp/out" | grep -v 'gpu\.\|system\.' | cmp -s - "$tmp/plain" || complain "$path"
	done <<-'END'
	gpu.memory.bandwidth=3.35TB/s roofline gemm --m 64 --n 8192 --k 8192 --gpu h100
	gpu.peak.bf16=2250TFLOP/s serve llama3-8b --gpu b200 --isl 1000 --osl 200 --batch 8
	system.domain.per_direction=450GB/s comm allreduce --size 1GiB --system dgx-h100 --ranks 16
	gpu.l2.size=50MiB train llama3-8b --gpu h100 --gpus 8 --layout tp=2,zero=1 --global-batch 32 --no-memory
	END
}

@test "a step of one more sequence takes no less time" {
	while read -r words; do
		# shellcheck disable=SC2086
		ask serve $words --isl 1000 --osl 200 --batch 1 --sweep batch=1..140+1 --get tpot_s
		answered
		awk 'NR > 1 && $1 < 0.995 * before { print NR, $1, before; bad = 1 } { before = $1 } END { exit bad || NR != 140 }' \
			"$tmp/out" || complain "falls where the batch grows"
	done <<-'END'
	llama3-8b --gpu l40s --dtype fp8
	llama3-8b --gpu h200 --dtype fp8 --engine vllm
	mixtral-8x7b --gpu h100 --layout tp=8 --engine sglang
	END
}

@test "a step that the host paces takes no longer with more arithmetic" {
	step="train megatron-sc21-1.7b --gpu b200-sxm --gpus 4 --batch 1 --seq 1024 --recompute full --get step_s"
	# shellcheck disable=SC2086
	ask $step
	answered
	before=$(<"$tmp/out")
	# shellcheck disable=SC2086
	ask $step --set gpu.peak.bf16=4500TFLOP/s
	answered
	awk -v b="$before" '{ exit !($1 <= b) }' "$tmp/out" || complain "was $before"
}
