#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What fitted kernels say beside the roof: every kind, with its interval, its donor, its engine.

load helper

# between LEAST MOST NUMBER: what --get printed
between() {
	awk -v x="$out" -v a="$1" -v b="$2" 'BEGIN { exit !(x + 0 == x && x >= a && x <= b) }' ||
		complain "should be between $1 and $2"
}

# estimated ROW...: these rows have an interval around them, as JSON tells
estimated() {
	for row; do
		leaves | awk -F '\t' -v row="$row" '
		$1 == "answers/" row { value = $2 }
		index($1, "intervals/" row "/") == 1 { i[substr($1, length(row) + 12)] = $2 }
		END { exit !(0 < i["low"] + 0 && i["low"] + 0 < value + 0 && value + 0 < i["high"] + 0 && i["level"] == 0.8 && i["why"] != "") }' ||
			complain "no estimate with an interval: $row"
	done
}

@test "every kind of operator that has a kernel: an estimate with an interval, not below the roof by much" {
	while read -r words; do
		# shellcheck disable=SC2086
		ask roofline $words --gpu h100 --json
		answered
		estimated kernel_s
		# shellcheck disable=SC2086
		ask roofline $words --gpu h100 --get roof_frac
		answered
		between 0 1
	done <<-'END'
	gemm --m 4096 --n 4096 --k 4096
	gemm --m 4096 --n 4096 --k 4096 --dtype fp8-block
	gemv --m 8192 --k 8192
	bmm --b 32 --m 512 --n 512 --k 128
	grouped --e 8 --m 4096 --n 14336 --k 4096
	conv2d --n 64 --c 256 --h 56 --w 56 --k 1024 --r 1 --s 1
	norm --rows 65536 --width 8192
	norm --rows 65536 --width 8192
	softmax --rows 65536 --width 8192
	elementwise --elements 1000000000
	scores --b 8 --h 32 --s 2048 --c 2048 --d 128
	values --b 8 --h 32 --s 2048 --c 2048 --d 128
	attention --b 4 --h 32 --s 4096 --c 4096 --d 128 --kv 8 --seen 2048.5
	attention --b 64 --h 32 --s 1 --c 8192 --d 128 --kv 8
	attention --b 64 --h 32 --s 1 --c 8192 --d 128 --kv 8 --dtype fp8
	embedding --rows 1000000 --width 8192 --vocab 128256
	pool --n 64 --c 256 --h 112 --w 112 --r 3 --s 3 --stride 2
	END
}

@test "where nobody fitted a kernel it says so" {
	for words in "conv2d --n 64 --c 64 --h 56 --w 56 --k 64 --r 3 --s 3" "gemm --m 4096 --n 4096 --k 4096 --dtype fp64"; do
		# shellcheck disable=SC2086
		ask roofline $words --gpu h100
		answered
		shows "no calibration of this kernel and dtype"
	done
	ask roofline gemm --m 4096 --n 4096 --k 4096 --gpu mi250x
	answered
	shows "no calibration of this GPU"
}

@test "blocks of fp8 have the error of their own fit" {
	ask roofline gemm --m 8 --n 4096 --k 4096 --gpu h100 --dtype fp8-block --json
	answered
	own=$(sed -n 's/.*"low":[^0-9]*\([0-9.e-]*\).*/\1/p' "$tmp/out" | head -1)
	ask roofline gemm --m 8 --n 4096 --k 4096 --gpu h100 --dtype fp8-block --get kernel_s
	q10=$(sed -n '/^  gemm_fp8_block:/,/decode/s/.*decode:.* q10: \([-0-9.]*\),.*/\1/p' hwdb/calibration/h100-sxm5-80gb.yaml)
	awk -v low="$own" -v value="$out" -v q="$q10" 'BEGIN { r = log(low / value) / q; exit !(q < -0.02 && r > 0.98 && r < 1.02) }' ||
		complain "low $own, and $q10 in the file"
}

@test "another GPU's kernels: the donor is named, the interval is wider" {
	ask roofline llama3-8b --gpu v100
	answered
	shows "transferred from a100-sxm4-80gb, expected error 15-20 %"
	shows "estimated time (sum)"
	wide() {
		awk '/"low":/ && !low { gsub(/[^0-9.e-]/, "", $2); low = $2 } /"high":/ && !high { gsub(/[^0-9.e-]/, "", $2); high = $2 } END { print high / low }' "$tmp/out"
	}
	ask roofline gemm --m 4096 --n 4096 --k 4096 --gpu v100 --dtype fp16 --json
	far=$(wide)
	ask roofline gemm --m 4096 --n 4096 --k 4096 --gpu a100 --json
	near=$(wide)
	awk -v far="$far" -v near="$near" 'BEGIN { exit !(far > 1.2 * near) }' || complain "$far is not wider than $near"
}

@test "beyond what was measured is named" {
	ask roofline gemm --m 100000 --n 4096 --k 4096 --gpu h100
	answered
	shows "extrapolated: m above 32768"
	ask roofline attention --b 1 --h 32 --s 1 --c 1000000 --d 128 --kv 8 --gpu h100
	answered
	shows "extrapolated: context above 131072"
}

@test "engines differ, and the median is the default" {
	for kind in "gemm --m 16 --n 4096 --k 4096" "attention --b 8 --h 32 --s 1 --c 4096 --d 128 --kv 8"; do
		: >"$tmp/times"
		for engine in trtllm vllm sglang; do
			# shellcheck disable=SC2086
			ask roofline $kind --gpu h100 --backend $engine --get kernel_s
			answered
			echo "$out" >>"$tmp/times"
		done
		[ "$(sort -u "$tmp/times" | wc -l)" -eq 3 ] || complain "engines are alike"
	done
	ask roofline gemm --m 16 --n 4096 --k 4096 --gpu h100 --backend nobody
	refused
}

@test "the sum of a list is that of its lines, and experts have their routing in them" {
	ask roofline mixtral-8x7b --phase decode --batch 32 --seq 4096 --layout tp=8 --gpu h100 --json
	answered
	leaves | awk -F '\t' '
	{ value[$1] = $2 }
	END {
		for (i = 0; ("tables/operators/" i "/roof_s") in value; i++)
			if (("tables/operators/" i "/kernel_s") in value)
				total += value["tables/operators/" i "/count"] * value["tables/operators/" i "/kernel_s"]
			else
				without++
		said = value["answers/list_kernel_s"]
		off = total / said - 1
		low = value["intervals/list_kernel_s/low"]
		high = value["intervals/list_kernel_s/high"]
		exit !(i > 8 && without == 2 && off < 1e-12 && off > -1e-12 && low + 0 < total && total < high + 0)
	}' || complain "the sum is wrong"
}

@test "what has no kernel stands at its roof in the sum, and is named" {
	ask roofline resnet-50 --gpu h100
	answered
	says "count at roofline time in the calibrated sum"
	says "stage1-3x3"
}

@test "a scaling series from a sweep" {
	ask train llama3-8b --system dgx-h100 --sweep gpus=8..64*2 --no-memory --csv
	answered
	cp "$tmp/out" "$tmp/series.csv"
	ask scale --series "$tmp/series.csv" --get points.3.n_gpus
	answered
	[ "$out" = 64 ]
	ask_with "$(<"$tmp/series.csv")" scale --series -
	answered
	shows "scaling law  Amdahl's"
	echo '[{"gpus": 8, "rate": 100}, {"gpus": 16, "rate": 190}]' >"$tmp/series.json"
	ask scale --series "$tmp/series.json" --get points.1.efficiency_frac
	answered
	[ "$out" = 0.95 ]
	ask_with 'gpus,rate
8,fast' scale --series -
	[ "$status" -eq 2 ] || complain "status should be 2"
	ask_with 'a,b
8,1' scale --series -
	refused
	ask_with 'gpus,rate
8,100' scale --series -
	refused
	ask scale --series "$tmp/series.csv" --points 1:2,2:3
	refused
}

@test "launch: as measured with the GPU, else what is usual, said" {
	ask launch --layers 32 --ops 50 --gpu h100
	answered
	shows "launch 5 us"
	mkdir -p "$tmp/db/hwdb/calibration"
	cat >"$tmp/db/hwdb/calibration/h100-sxm5-80gb.yaml" <<-'END'
	format: 1
	gpu: h100-sxm5-80gb
	data: {source: a test, date: 2026-11}
	launch: {stream: 5us, stream_kernel: 2.2us, graph: 6us, graph_kernel: 1us, submit: 2us}
	END
	ask launch --layers 32 --ops 50 --gpu h100 --hwdb "$tmp/db" --get host_s
	awk -v s="$out" 'BEGIN { exit !(s > 0.00319999 && s < 0.00320001) }' || complain "32 x 50 of 2 us are 3.2 ms"
	ask launch --layers 32 --ops 50 --gpu h100 --hwdb "$tmp/db"
	shows "CUDA graph"
	ask launch --layers 32 --ops 50 --gpu h100 --hwdb "$tmp/db" --launch 5us --get host_s
	[ "$out" = 0.008 ] || complain "what was asked comes first"
}

@test "hw: whose kernels, and what was fitted to a host" {
	ask hw list
	answered
	shows "measured"
	shows "from a100-sxm4-80gb"
	ask hw show v100
	answered
	shows "transferred from a100-sxm4-80gb"
	shows "achieved GEMM throughput  share of datasheet"
	mkdir -p "$tmp/db/hwdb/calibration"
	cat >"$tmp/db/hwdb/calibration/host-mine.yaml" <<-'END'
	format: 1
	host: mine
	data: {source: a test, points: 9, date: 2026-11}
	memory: {l3: {size: 1MB, rate: 200GB/s, latency: 4ns}, dram: {rate: 100GB/s, latency: 100ns}}
	fma: {fp64: 58GFLOP/s}
	END
	ask hw show host-mine --hwdb "$tmp/db"
	answered
	shows "dram"
	shows "58 GFLOP/s"
}

@test "a line of a list is the operator of its number" {
	for model in mixtral-8x7b qwen3-30b-a3b deepseek-v3 gpt-oss-120b llama4-scout; do
		ask roofline $model --gpu h200 --phase prefill --batch 1 --seq 2048 --json --explain
		answered
		leaves | awk -F '\t' '
			$1 ~ /^trace\/calibrated_list_s\.[0-9]+$/ { split($1, part, "."); sum[part[2]] = $2 }
			$1 ~ /^tables\/operators\/[0-9]+\/kernel_s$/ { split($1, part, "/"); once[part[3]] = $2 }
			$1 ~ /^tables\/operators\/[0-9]+\/count$/ { split($1, part, "/"); times[part[3]] = $2 }
			END {
				for (i in times) {
					n++
					# what runs inside another kernel has no time of its own
					alone = i in once
					want = alone ? once[i] * times[i] : 0
					with += alone
					if (!(i in sum)) { print i, "has no sum"; bad = 1 }
					if (sum[i] - want > 1e-9 * want || want - sum[i] > 1e-9 * want) { print i, sum[i], want; bad = 1 }
				}
				exit bad || n < 8 || with < 3 / 4 * n
			}' || complain "$model: calibrated_list_s.N is not that of operators.N"
	done
}

@test "a norm is one pass in its type, and three in fp32 unfused" {
	ask roofline norm --rows 8192 --width 8192 --gpu h100 --dtype bf16 --get traffic_byte
	is 268435456
	ask roofline norm --rows 8192 --width 8192 --gpu h100 --dtype fp32 --get traffic_byte
	is 536870912
	ask roofline norm --unfused --rows 8192 --width 8192 --gpu h100 --get traffic_byte
	is 805306368
	ask roofline norm --rows 8192 --width 8192 --gpu h100 --get kernel_s
	alone=$out
	ask roofline llama3-70b --phase prefill --seq 8192 --layout tp=8 --gpu h100 --get operators.1.kernel_s
	is "$alone"
}

@test "misaligned products: the calibration is of aligned ones" {
	ask roofline gemm --m 8191 --n 8191 --k 8191 --gpu h100
	answered
	says "calibrated for aligned GEMMs: pad n and k"
	ask roofline gemm --m 8191 --n 8192 --k 8192 --gpu h100
	answered
	hides "aligned products"
	ask roofline gpt2 --gpu h100 --seq 1024
	answered
	says "unlike: head"
	ask roofline gemm --m 8191 --n 8191 --k 8191 --gpu mi250x
	hides "aligned products"
}

@test "the L2 cache has the bandwidth that was measured, or none" {
	for gpu in a100 b200 mi300x; do
		ask roofline gemm --m 16 --n 8192 --k 8192 --gpu $gpu
		answered
		hides "L2"
	done
	ask roofline gemm --m 16 --n 8192 --k 8192 --gpu h100
	shows "L2, as measured"
}

@test "hw show and roofline agree on what products reach" {
	for gpu in b200 h100 gb300 rtx5090; do
		ask roofline gemm --m 8192 --n 8192 --k 8192 --gpu $gpu --dtype fp8 --get kernel_s
		seconds=$out
		ask hw show $gpu --json
		answered
		leaves | awk -F '\t' -v s="$seconds" '
			$1 ~ /^tables\/reach\/[0-9]+\/reach_flop_per_s$/ { if (($2 * s) / (2 * 8192 ^ 3) > 0.999999 && ($2 * s) / (2 * 8192 ^ 3) < 1.000001) found = 1 }
			END { exit !found }' || complain "no type of $gpu takes $seconds"
	done
}

@test "a GPU with another one's kernels has its products, of all engines together" {
	for pair in "b300-sxm gb300" "rtx-pro-6000-bse rtx5090"; do
		for dtype in bf16 fp8 nvfp4; do
			# shellcheck disable=SC2086
			set -- $pair
			ask roofline gemm --m 16384 --n 4096 --k 4096 --gpu "$1" --dtype $dtype --get roof_frac
			donor=$out
			ask roofline gemm --m 16384 --n 4096 --k 4096 --gpu "$2" --dtype $dtype --get roof_frac
			awk -v a="$donor" -v b="$out" 'BEGIN { exit !(b > 0.8 * a && b < 1.2 * a) }' || complain "$donor of the roof at $1"
		done
	done
	ask roofline gemm --m 8192 --n 4096 --k 4096 --gpu l4 --dtype fp8-block
	answered
	says "on l40s, this GEMM is measured slower in fp8-block than in bf16"
}

@test "keys that are values too are no map of their own, in serving either" {
	ask roofline gemma4-31b --gpu h200 --explain
	answered
	shows "n = 18432"
	ask serve gemma4-31b --gpu h200 --isl 1000 --osl 200 --batch 1 --explain
	answered
	shows "n = 18432"
	hides "n = 20480"
}

@test "dimensions in order, by their letters, by the names that models have" {
	ask roofline gemm --m 512 --n 4096 --k 8192 --gpu h100 --get roof_s
	answered
	same=$out
	ask roofline matmul 512 4096 8192 --gpu h100 --get roof_s
	is "$same"
	ask roofline attention --b 4 --h 32 --kv 8 --s 1 --c 4096 --d 128 --gpu h100 --get roof_s
	answered
	same=$out
	ask roofline attention --batch 4 --heads 32 --kv-heads 8 --seq 1 --context 4096 --head-dim 128 --gpu h100 --get roof_s
	is "$same"
	ask roofline layernorm 4096 4096 --gpu h100 --get roof_s
	answered
	same=$out
	ask roofline norm --rows 4096 --width 4096 --gpu h100 --get roof_s
	is "$same"
}

@test "levels and instruction rates that were measured on one GPU are not another's" {
	ask hw show h100
	answered
	shows "FMA throughput"
	shows "stored size"
	for gpu in h20 gh200 h100-pcie; do
		ask hw show "$gpu"
		answered
		[[ $out != *"FMA throughput"* && $out != *"stored size"* ]] || complain "$gpu shows what an H100 reached"
		ask roofline gemm 4096 4096 4096 --gpu "$gpu"
		[[ $out != *"as measured"* ]] || complain "$gpu has the L2 of an H100"
	done
}

@test "the delta rule has a kernel, slower where each channel decays by itself" {
	shape=(--b 1 --s 8192 --h 32 --d 128 --dv 128 --g 32 --chunk 64)
	whole=$("$RIDGE" roofline delta_scan "${shape[@]}" --gpu h100 --get kernel_s)
	channels=$("$RIDGE" roofline delta_scan "${shape[@]}" --decays 128 --gpu h100 --get kernel_s)
	awk -v a="$whole" -v b="$channels" 'BEGIN { exit !(b > 1.5 * a && b < 1.9 * a) }' ||
		complain "$whole and $channels"
	ask roofline delta_scan "${shape[@]}" --gpu h100
	shows "estimated time"
	ask roofline qwen3-next-80b-a3b --gpu h100 --seq 4096
	answered
	case $err in *"delta rule"*) complain "the delta rule counts at its roof" ;; esac
}
