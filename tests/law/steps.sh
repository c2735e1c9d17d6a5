#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A step of more work does not take less time: one micro-batch more (exactly), one sequence more in each micro-batch (to
# 0.5 %, where tiles end).  No step is faster than the arithmetic peak.  STEPS=300 asks about more jobs.
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}
export LC_ALL=C
n=${STEPS:-24}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk -v n="$n" -v seed="${SEED:-1}" '
function pick(list,    a, k) { k = split(list, a, " "); return a[1 + int(rand() * k)] }
BEGIN {
	srand(seed)
	for (i = 0; i < n; i++) {
		model = pick("llama3-8b llama3-70b qwen2.5-7b qwen3-30b-a3b mixtral-8x7b deepseek-v3 gpt3-175b bert-large mpt-7b")
		json = "{\"model\":\"" model "\",\"gpu\":\"" pick("h100 a100 b200 h200") "\",\"no_memory\":true,\"gpus\":" pick("8 64 256")
		json = json ",\"layout.tp\":" pick("1 2 8") ",\"layout.pp\":" pick("1 1 2 4") ",\"layout.zero\":" pick("0 1 3")
		if (model ~ /30b|mixtral|deepseek/) json = json ",\"layout.ep\":" pick("2 8")
		json = json ",\"stack\":\"" pick("megatron-core torchtitan nemo megatron-bridge") "\",\"dtype\":\"" pick("bf16 bf16 fp8") "\""
		json = json ",\"recompute\":\"" pick("none full") "\",\"seq\":" pick("512 2048 4096 8192")
		json = json ",\"flops_convention\":\"ridge-causal\""
		for (m = 1; m <= 12; m++)
			print json ",\"batch\":1,\"microbatches\":" m "}" >"'"$work"'/questions"
		for (b = 1; b <= 17; b++)
			print json ",\"batch\":" b ",\"microbatches\":4}" >"'"$work"'/questions"
		for (m = 1; m <= 12; m++) print i " microbatches " m >"'"$work"'/keys"
		for (b = 1; b <= 17; b++) print i " batch " b >"'"$work"'/keys"
	}
}'
"$RIDGE" train --jsonl "$work/questions" >"$work/answers" 2>/dev/null
awk '{
	step = mfu = "-"
	if (match($0, /"step_s":[0-9.e+-]+/)) step = substr($0, RSTART + 9, RLENGTH - 9)
	if (match($0, /"mfu_frac":[0-9.e+-]+/)) mfu = substr($0, RSTART + 11, RLENGTH - 11)
	print step, mfu
}' "$work/answers" | paste -d ' ' "$work/keys" - "$work/questions" | awk '
function fault(text) { print "steps: " text "\n  " $6; bad++ }
{
	series = $1 " " $2
	if (series != last) before = 0
	last = series
	if ($4 == "-") next
	asked++
	allowed = $2 == "batch" ? 1.005 : 1 + 1e-12
	if ($4 * allowed < before) fault($2 " " $3 ": " $4 " s after " before " s")
	if ($5 != "-" && $5 > 1) fault("MFU " $5)
	before = $4
}
END {
	print "steps: " asked + 0 " steps were compared"
	exit bad > 0 || asked < 300
}'
