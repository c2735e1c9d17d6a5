#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Collectives over several nodes, and the same in a training step.  The law over all systems is in tests/law/links.c.

load helper

# seconds WORD...: how long a collective takes
seconds() {
	ask comm "$@" --get comm_s
	answered
	printf '%s\n' "$out"
}

@test "two nodes take no less than one" {
	while read -r collective size system ranks; do
		one=$(seconds "$collective" --size "$size" --system "$system" --ranks "$ranks")
		two=$(seconds "$collective" --size "$size" --system "$system" --ranks "$((2 * ranks))")
		awk -v a="$one" -v b="$two" 'BEGIN { exit !(b >= a) }' || complain "$one on $ranks ranks, $two on twice as many"
	done <<-'END'
	allgather 8GiB gb200-nvl72 72
	allreduce 8GiB gb200-nvl72 72
	reducescatter 64MiB gb200-nvl72 72
	allreduce 4GiB dgx-a100 8
	allreduce 1GiB dgx-h100 8
	allreduce 4GiB dgx-b300 8
	allreduce 4GiB mi300x-platform 8
	alltoall 1KiB gb300-nvl72 72
	END
}

@test "no bus bandwidth above the links" {
	while read -r collective system ranks most; do
		ask comm "$collective" --size 8GiB --system "$system" --ranks "$ranks" --get busbw_byte_per_s
		answered
		awk -v x="$out" -v most="$most" 'BEGIN { exit !(x > 0 && x <= most) }' || complain "$out over $most"
	done <<-'END'
	allgather gb200-nvl72 128 900e9
	allgather gb200-nvl72 144 900e9
	allgather gb200-nvl72 576 900e9
	reducescatter gb200-nvl72 144 900e9
	allreduce mi300x-platform 16 448e9
	allreduce mi355x-platform 16 537.6e9
	allreduce dgx-a100 16 300e9
	END
}

@test "what binds is named: the links inside a node, or the network" {
	ask comm allgather --size 8GiB --system gb200-nvl72 --ranks 144
	answered
	shows "as inside one node: fitted to NCCL"
	ask comm allgather --size 8GiB --system dgx-b200 --ranks 64
	answered
	hides "as inside one node"
}

# in one piece: buckets of ZeRO-1 grow with the ranks, so that fewer of them pay for the latency of a rack's rings
@test "leaving a rack is not free: a GPU trains no faster on two" {
	for seq in 2048 4096 8192; do
		ask train llama3-8b --system gb200-nvl72 --gpus 72 --layout zero=0 --global-batch 72 --seq $seq --no-memory --get gpu_token_per_s
		answered
		one=$out
		ask train llama3-8b --system gb200-nvl72 --gpus 144 --layout zero=0 --global-batch 144 --seq $seq --no-memory --get gpu_token_per_s
		answered
		awk -v a="$one" -v b="$out" 'BEGIN { exit !(b <= a) }' || complain "$one on one rack, $out on two"
	done
}
