#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# What `ridge check` must catch: mistakes that real tables of GPU figures have in them.

setup() {
	dir=$BATS_TEST_TMPDIR
	mkdir -p "$dir/gpus" "$dir/links" "$dir/systems" "$dir/models"
	db=$RIDGE_HWDB/hwdb
}

# spoil NAME SED: a copy of a GPU file with one figure changed
spoil() {
	sed -e "$2" "$db/gpus/$1.yaml" >"$dir/gpus/$1.yaml"
	! cmp -s "$db/gpus/$1.yaml" "$dir/gpus/$1.yaml"
	run "$RIDGE" check "$dir/gpus/$1.yaml"
}

@test "an untouched entry is clean" {
	spoil h100-sxm5-80gb 's/^name:.*/name: the same/'
	[ "$status" -eq 0 ]
	[[ $output == *"errors    0"* ]]
}

@test "a bf16 peak on a V100" {
	spoil v100-sxm2-32gb 's/^  bf16: none/  bf16: 125TFLOP\/s/'
	[ "$status" -eq 1 ]
	[[ $output == *"volta has no bf16 units"* ]]
	[[ $output == *"$dir/gpus/v100-sxm2-32gb.yaml:"*:* ]]
}

@test "an A100 with H100's 18 links (900 GB/s)" {
	spoil a100-sxm4-80gb 's/^link: .*/link: {kind: nvlink3, count: 18, per_direction: 25GB\/s}/'
	[ "$status" -eq 1 ]
	[[ $output == *"at most 12 nvlink3 links"* ]]
}

@test "one link counted in both directions" {
	spoil a100-sxm4-80gb 's/^link: .*/link: {kind: nvlink3, count: 12, per_direction: 50GB\/s}/'
	[ "$status" -eq 1 ]
	[[ $output == *"both directions?"* ]]
}

@test "228 KB of shared memory on an A100" {
	spoil a100-sxm4-80gb 's/^shared: .*/shared: {per_sm: 228KiB, combined: 192KiB}/'
	[ "$status" -eq 1 ]
	[[ $output == *"exceeds the 164 KiB of ampere"* ]]
}

@test "128 multiply-adds in a 4 x 4 x 4 step" {
	spoil v100-sxm2-32gb 's/^units: {/units: {step: {m: 4, n: 4, k: 4, fma: 128}, /'
	[ "$status" -eq 1 ]
	[[ $output == *"is 64 multiply-adds, not 128"* ]]
}

@test "a register bandwidth of 20 TB/s on an A100" {
	spoil a100-sxm4-80gb 's/^registers: {/registers: {bandwidth: 20TB\/s, /'
	[ "$status" -eq 1 ]
	[[ $output == *"unit counts give 156 TB/s"* ]]
}

@test "a sparse peak that is not labelled" {
	spoil h100-sxm5-80gb 's/^  bf16: .*/  bf16: 1979TFLOP\/s/'
	[ "$status" -eq 1 ]
	[[ $output == *"a sparse figure?"* ]]
}

@test "sparse int8 operations of an embedded part" {
	cat >"$dir/gpus/orin.yaml" <<-'Y'
		format: 1
		name: Jetson AGX Orin
		architecture: ampere
		memory: {bandwidth: 204.8GB/s}
		peak:
		  fp16: 42.5TFLOP/s
		  int8: 275TFLOP/s
	Y
	run "$RIDGE" check "$dir/gpus/orin.yaml"
	[ "$status" -eq 1 ]
	[[ $output == *"the int8 peak of 275 TFLOP/s is 6.5 times the fp16 peak: a sparse figure?"* ]]
}

@test "an absurd ridge point" {
	spoil h100-sxm5-80gb 's/bandwidth: \[3.35TB\/s/bandwidth: [33.5GB\/s/'
	[ "$status" -eq 1 ]
	[[ $output == *"is implausible"* ]]
}

@test "usable memory that mixes GB and GiB" {
	spoil h100-sxm5-80gb 's/usable: \[81089MiB/usable: [94000MiB/'
	[ "$status" -eq 1 ]
	[[ $output == *"check GB versus GiB"* ]]
}

@test "a link whose two directions are not twice one" {
	sed -e 's/^both_directions: .*/both_directions: 25GB\/s/' "$db/links/nvlink4.yaml" >"$dir/links/nvlink4.yaml"
	run "$RIDGE" check "$dir/links/nvlink4.yaml"
	[ "$status" -eq 1 ]
	[[ $output == *"the bidirectional figure is not twice per_direction"* ]]
}

@test "a system whose rate per direction is the headline of both" {
	sed -e 's/per_direction: \[450GB/per_direction: [900GB/' "$db/systems/dgx-h100.yaml" >"$dir/systems/dgx-h100.yaml"
	run "$RIDGE" check "$dir/systems/dgx-h100.yaml"
	[ "$status" -eq 1 ]
	[[ $output == *"this looks like both directions"* ]]
}

@test "a model whose shape does not have the parameters it states" {
	sed -e 's/^layers: .*/layers: 79/' "$RIDGE_HWDB/workloads/models/llama3-70b.yaml" >"$dir/models/x.yaml"
	run "$RIDGE" check "$dir/models/x.yaml"
	[ "$status" -eq 1 ]
	[[ $output == *"off the stated total"* ]]
}

@test "all faults of a file in one run" {
	spoil h100-sxm5-80gb 's/^sms: .*/sms: many/; s/^tdp: .*/tpd: [700W, aic]/; s/^pcie: .*/pcie: [a, b, c]/'
	[ "$status" -eq 1 ]
	[[ $output == *"'many' is not a count"* ]]
	[[ $output == *"did you mean 'tdp'?"* ]]
	[[ $output == *"expected a word"* ]]
	[[ $output == *"errors    3"* ]]
}

@test "warnings count with --strict" {
	run "$RIDGE" check b100-sxm
	[ "$status" -eq 0 ]
	run "$RIDGE" check b100-sxm --strict
	[ "$status" -eq 1 ]
}

@test "a name that nothing has is the request's fault" {
	run "$RIDGE" check no-such-entry
	[ "$status" -eq 2 ]
	[[ $output == *"there is no entry 'no-such-entry'"* ]]
}

@test "inline ECC at odds with the memory that the driver reports, or without GDDR6" {
	spoil a40 's/inline_ecc: true, //'
	[ "$status" -eq 1 ]
	[[ $output == *"inline_ecc should be true"* ]]
	spoil a6000 's/label: 48GB,/label: 48GB, inline_ecc: true,/'
	[[ $output == *"inline_ecc should be false"* ]]
	spoil h100-sxm5-80gb 's/label: 80GB,/label: 80GB, inline_ecc: true,/'
	[[ $output == *"only GDDR6"* ]]
}
