#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Plans: every row is what train says, whatever the number of threads and however much was pruned.

load helper

table() {
	"$RIDGE" plan train "$@" --csv --table layouts
}

# same_as_train WORD...: each row of the plan, asked of train
same_as_train() {
	local i names row got
	for i in 0 1 2 3 4 5; do
		names=layouts.$i.layout,layouts.$i.n_micro_sequences,layouts.$i.recompute,layouts.$i.step_s,layouts.$i.peak_byte
		mapfile -t row < <("$RIDGE" plan train "$@" --top 6 --get "$names")
		got=$("$RIDGE" train "$@" --layout "${row[0]}" --batch "${row[1]}" --recompute "${row[2]}" --get step_s,peak_byte)
		[ "$got" = "${row[3]}"$'\n'"${row[4]}" ] || complain "${row[*]}: train says $got"
	done
}

@test "a row of a plan asked of train has its step and memory" {
	same_as_train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --seq 8192
	same_as_train qwen3-30b-a3b --system gb200-nvl72 --gpus 8 --global-batch 512 --dtype mxfp8
	same_as_train llama3-8b --system dgx-h100 --gpus 16 --global-batch 128 --stack torchtitan
}

@test "threads do not change a plan" {
	one=$(table deepseek-v3 --system dgx-h100 --gpus 1024 --global-batch 2048 --threads 1)
	five=$(table deepseek-v3 --system dgx-h100 --gpus 1024 --global-batch 2048 --threads 5)
	[ "$one" = "$five" ]
}

@test "pruning does not change a plan" {
	for asked in "llama3-70b --gpus 128 --global-batch 256" "qwen3-30b-a3b --gpus 32 --global-batch 512" \
		"llama3.1-405b --gpus 512 --global-batch 1152" "llama3-8b --gpus 64 --global-batch 128 --stack torchtitan"; do
		# shellcheck disable=SC2086 # words
		few=$(table $asked --system dgx-h100 --top 7)
		# shellcheck disable=SC2086
		all=$(table $asked --system dgx-h100 --all | head -n 8)
		[ "$few" = "$all" ] || complain "$asked: $few is not $all"
	done
}

@test "pins are kept" {
	layouts=$("$RIDGE" plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --layout tp=4/8,pp=2..4,cp=1 \
		--csv --table layouts)
	echo "$layouts" | grep -q 'tp=4,pp=4'
	! echo "$layouts" | grep -qE 'cp=|tp=2|pp=8'
}

@test "what cannot be planned is refused with what can" {
	ask plan -n 8 serve llama3-70b
	refused
	says "write 'ridge plan serve'"
	ask plan llama3-70b
	refused
	says "write ridge plan train llama3-70b"
	ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --layout tp=7
	refused
	says "tp x pp x cp divides the GPUs"
	says "leave tp open"
	ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --layout tp=8..2
	refused
	says "write tp=2..8"
	ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --layout tp=a
	refused
	says "tp=2..8"
	ask plan train llama3-70b --system dgx-h100 --gpus 64
	refused
	says "add for example --global-batch 128"
	ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --top 0
	refused
}

@test "a model that fits nowhere names its least memory and the GPUs that do" {
	ask plan train llama3.1-405b --system dgx-h100 --gpus 16 --global-batch 64
	[ "$status" -eq 1 ]
	says "some do on 128"
}
