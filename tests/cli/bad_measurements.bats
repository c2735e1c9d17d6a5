#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Measurement files that are wrong: refused, or their rows named and counted.

load helper

HEAD=gpu_id,backend,dtype,m,n,k,time_us

rows() {
	printf '%s\n' "$HEAD" "$@" >"$tmp/rows.csv"
}

@test "negative and missing times: those rows are named and counted, the others used" {
	rows h100-sxm5-80gb,vllm,bf16,8,4096,4096,12 h100-sxm5-80gb,vllm,bf16,1,4096,4096,-4 \
		h100-sxm5-80gb,vllm,bf16,1,4096,4096, h100-sxm5-80gb,vllm,bf16,1,4096,4096,fast
	ask validate "$tmp/rows.csv" --json
	answered
	json_is groups/0/n 1
	json_is groups/0/n_skipped 3
	ask validate "$tmp/rows.csv"
	shows "the time is negative"
	ask calibrate "$tmp/rows.csv"
	refused
}

@test "nothing but bad rows" {
	rows h100-sxm5-80gb,vllm,bf16,1,4096,4096,-4
	for command in calibrate validate; do
		ask $command "$tmp/rows.csv"
		refused
		says "negative"
	done
}

@test "wrong units: times faster than the device's peak" {
	rows h100-sxm5-80gb,vllm,bf16,8192,8192,8192,1.6 h100-sxm5-80gb,vllm,bf16,4096,4096,4096,0.2
	for command in calibrate validate; do
		ask $command "$tmp/rows.csv"
		refused
		says "faster than the device's peak"
		says "microseconds"
	done
}

@test "another unit in the head is no time" {
	HEAD=gpu_id,backend,dtype,m,n,k,time_ms rows h100-sxm5-80gb,vllm,bf16,8,4096,4096,0.012
	for command in calibrate validate; do
		ask $command "$tmp/rows.csv"
		refused
	done
}

@test "a column that is missing is named" {
	HEAD=gpu_id,backend,dtype,m,n,time_us rows h100-sxm5-80gb,vllm,bf16,8,4096,12
	for command in calibrate validate; do
		ask $command "$tmp/rows.csv"
		refused
		says "no column 'k'"
	done
}

@test "two machines: which?" {
	rows h100-sxm5-80gb,vllm,bf16,8,4096,4096,12 a100-sxm4-80gb,vllm,bf16,8,4096,4096,20
	ask calibrate "$tmp/rows.csv"
	refused
	says "h100-sxm5-80gb and a100-sxm4-80gb"
	says "--gpu"
	ask validate "$tmp/rows.csv" --json
	answered
	json_is groups/0/n 2
}

@test "too few points: how many are needed" {
	rows h100-sxm5-80gb,vllm,bf16,8,4096,4096,12
	ask calibrate "$tmp/rows.csv" --gpu h100
	refused
	says "8 needed"
}
