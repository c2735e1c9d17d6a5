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
	command -v python3 >/dev/null 2>&1 || skip "no python3 to read JSON with"
	python3 - "$tmp/out" "$@" <<'PYTHON' || complain "no estimate with an interval: $*"
import json, sys
answer = json.load(open(sys.argv[1]))
for name in sys.argv[2:]:
    value, i = answer["rows"][name], answer["intervals"][name]
    assert 0 < i["low"] < value < i["high"], (name, value, i)
    assert i["level"] == 0.8 and i["why"], i
PYTHON
}

@test "every kind of operator that has a kernel: an estimate with an interval, not below the roof by much" {
	while read -r words; do
		# shellcheck disable=SC2086
		ask roofline $words --gpu h100 --json
		answered
		estimated calibrated_s
		# shellcheck disable=SC2086
		ask roofline $words --gpu h100 --get calibrated_roof_frac
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
	norm_fused --rows 65536 --width 8192
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
		shows "no kernel of this kind and type was fitted"
	done
	ask roofline gemm --m 4096 --n 4096 --k 4096 --gpu mi300x
	answered
	shows "nothing was fitted to this GPU"
}

@test "blocks of fp8 have the error of their own fit" {
	ask roofline gemm --m 8 --n 4096 --k 4096 --gpu h100 --dtype fp8-block --json
	answered
	own=$(sed -n 's/.*"low":[^0-9]*\([0-9.e-]*\).*/\1/p' "$tmp/out" | head -1)
	ask roofline gemm --m 8 --n 4096 --k 4096 --gpu h100 --dtype fp8-block --get calibrated_s
	# the file says q10 of decode: nearer than a tenth and 1.28 sigma of the kind's 10 % would be is another one
	awk -v low="$own" -v value="$out" 'BEGIN { exit !(low / value < 0.86) }' || complain "low $own"
}

@test "another GPU's kernels: the donor is named, the interval is wider" {
	ask roofline llama3-8b --gpu v100
	answered
	shows "transferred from a100-sxm4-80gb, expected error 15-20 %"
	shows "calibrated, one after the other"
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
			ask roofline $kind --gpu h100 --backend $engine --get calibrated_s
			answered
			echo "$out" >>"$tmp/times"
		done
		[ "$(sort -u "$tmp/times" | wc -l)" -eq 3 ] || complain "engines are alike"
	done
	ask roofline gemm --m 16 --n 4096 --k 4096 --gpu h100 --backend nobody
	refused
}

@test "the sum of a list is that of its lines, and experts have their routing in them" {
	command -v python3 >/dev/null 2>&1 || skip "no python3 to read JSON with"
	ask roofline mixtral-8x7b --phase decode --batch 32 --seq 4096 --layout tp=8 --gpu h100 --json
	answered
	python3 - "$tmp/out" <<'PYTHON' || complain "the sum is wrong"
import json, sys
answer = json.load(open(sys.argv[1]))
rows, total, without = answer["rows"], 0, []
i = 0
while f"op.{i}.roof_s" in rows:
    if f"op.{i}.calibrated_s" in rows:
        total += rows[f"op.{i}.n_times"] * rows[f"op.{i}.calibrated_s"]
    else:
        without.append(answer["words"][f"op.{i}.name"] if "words" in answer else i)
    i += 1
assert i > 8 and len(without) == 2, (i, without)
assert abs(total / rows["calibrated_list_s"] - 1) < 1e-12
low, high = (answer["intervals"]["calibrated_list_s"][k] for k in ("low", "high"))
assert low < total < high
PYTHON
}

@test "what has no kernel stands at its roof in the sum, and is named" {
	ask roofline resnet-50 --gpu h100
	answered
	says "stand at their roof in the calibrated sum"
	says "stage1-3x3"
}

@test "a scaling series from a sweep" {
	ask train llama3-8b --system dgx-h100 --sweep system.gpus=8..64*2 --no-memory --csv
	answered
	cp "$tmp/out" "$tmp/series.csv"
	ask scale --series "$tmp/series.csv" --get point.3.n_ranks
	answered
	[ "$out" = 64 ]
	ask_with "$(cat "$tmp/series.csv")" scale --series -
	answered
	shows "law used"
	echo '[{"gpus": 8, "rate": 100}, {"gpus": 16, "rate": 190}]' >"$tmp/series.json"
	ask scale --series "$tmp/series.json" --get point.1.efficiency_frac
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
	shows "as a graph"
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
	shows "share of the datasheet"
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
