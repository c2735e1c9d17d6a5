#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Two questions that people really ask, answered with the commands printed above the answers.
ridge=$1

ask() {
	printf '\n$ ridge %s\n' "$*"
	"$ridge" "$@"
}

echo "How many GPUs serve Llama 3 70B to 200 users with 4096 tokens each?"
ask capacity llama3-70b --gpu a100,h100,h200,b200 --users 200 --context 4Ki

echo
echo "What does a training run of Llama 2 7B need on 8 GPUs of three generations?"
for gpu in a100 h100 b200; do
	ask memory llama2-7b --gpu "$gpu" --layout dp=8,zero=1 --batch 1 --seq 4096
done

echo
echo "And where does one of these numbers come from?"
ask memory llama2-7b --gpu h100 --layout dp=8,zero=1 --batch 1 --seq 4096 --explain=logits_byte
exit 0
