#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# budgets.sh RIDGE BUILD: what answers cost, in instructions (callgrind counts them, whatever else the machine does),
# against their budgets; 7 million are about a millisecond of parsing and arithmetic, and starting a process takes one
# more.  Fails when one is exceeded.
ridge=$1
build=$2
LC_ALL=C
export LC_ALL
command -v valgrind >/dev/null 2>&1 || {
	echo "speed: valgrind is not installed: 'sh src/tools/packages.sh test' installs it"
	exit 1
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0

# count WORD...: instructions of a program
count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >"$dir/out" |
		awk '/Collected/ { n = $NF } END { print n + 0 }'
}

# judge VALUE BUDGET UNIT WHAT: a row, and whether it keeps to its budget
judge() {
	awk -v x="$1" -v most="$2" -v unit="$3" -v what="$4" 'BEGIN {
		over = !(x > 0 && x <= most) && !(x == 0 && most == 0)
		printf "%9.4g of %9.4g %-24s %s%s\n", x, most, unit, what, over ? "   OVER" : ""
		exit over
	}' || status=1
}

# Millions of instructions of a cold answer: kv and comm in 2 ms, memory and capacity in 3, roofline in 6, train in 7,
# serve in 7, the plan of 405B on 16,384 GPUs in 25.  Objectives are searched in closed form alone: how many simulations
# follow depends on the answer, and the simulator's speed is checked below.
while IFS='|' read -r most line; do
	# shellcheck disable=SC2086 # a line is words
	n=$(count "$ridge" $line)
	judge "$(awk -v n="$n" 'BEGIN { print n / 1e6 }')" "$most" "million instructions" "ridge $line"
	eval "cold_${line%% *}=$n"
done <<LINES
3.6|kv llama3-70b --gpu h100 --seq 8192
5.9|comm allreduce --size 1GiB --system dgx-h100 --ranks 8
5.1|memory llama3-70b --gpu h100 --layout tp=8,dp=2 --json
1400|capacity llama3-70b --gpu h100,h200,b200-sxm --rate 50 --isl 1000 --osl 200 --slo ttft.p99:500ms,tpot:40ms --unconfirmed
12|capacity llama3-70b --gpu a100,h100 --users 200 --tokens 4Ki
36|roofline llama3-70b --gpu h100 --phase decode --batch 8 --seq 4096
38|serve llama3.1-70b --gpu h100 --layout tp=4 --isl 1000 --osl 200 --rate 2
47|train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --stack torchtitan --batch 1 --recompute full
157|plan train llama3.1-405b --system dgx-h100 --gpus 16384 --global-batch 2048 --seq 8192 --threads 1
LINES

# lines N COMMAND INPUTS: N like lines, each with another length
lines() {
	awk -v n="$1" -v inputs="$3" 'BEGIN { for (i = 0; i < n; i++) printf "{%s, \"seq\": %d}\n", inputs, 4096 + 8 * i }' >"$dir/lines"
	echo "$2 --jsonl $dir/lines"
}

# A further line of --jsonl costs 40 % of a cold answer at most, process included, and opens no file.
further() {
	for n in 2 22; do # 20 lines more
		# shellcheck disable=SC2046
		eval "i$n=$(count "$ridge" $(lines $n "$1" "$2"))"
		# shellcheck disable=SC2046
		eval "f$n=$(valgrind --tool=none --trace-syscalls=yes "$ridge" $(lines $n "$1" "$2") 2>&1 >/dev/null | grep -c 'sys_open')"
	done
	eval "cold=\$cold_$1"
	# shellcheck disable=SC2154 # set by eval
	judge "$(awk -v a="$i2" -v b="$i22" -v c="$cold" 'BEGIN { print 5 * (b - a) / (c + 7e6) }')" 40 "% of a cold answer" "a line of $1 --jsonl"
	# shellcheck disable=SC2154
	judge $((f22 - f2)) 0 "files opened" "20 more lines of $1 --jsonl"
}
further kv '"model": "llama3-70b", "gpu": "h100"'
further memory '"model": "llama3-70b", "gpu": "h100", "layout": "tp=8,dp=2"'
further train '"model": "llama3-8b", "system": "dgx-h100", "gpus": 8, "layout": "fsdp", "stack": "torchtitan", "recompute": "full"'

# 10,000 points of a sweep within 64 MiB
for line in "kv llama3-70b --gpu h100 --sweep seq=1001..11000+1" \
	"memory llama3-70b --gpu h100 --layout tp=8,dp=2 --sweep seq=1001..11000+1"; do
	for form in --csv --json; do
		# shellcheck disable=SC2086,SC3045 # dash, bash and busybox know -d
		(ulimit -d 65536 && "$ridge" $line $form) >"$dir/out" 2>"$dir/err"
		[ "$(wc -l <"$dir/out")" -gt 10000 ] || {
			echo "not within 64 MiB: ridge $line $form"
			tail -n 2 "$dir/err"
			status=1
		}
	done
done

# A training step with remembered shapes at 1e6/s (11.4 million instructions are a millisecond there), and a step of the
# simulator at 3e6/s.
one=$(count "$build/bench-train" 1)
five=$(count "$build/bench-train" 5)
judge "$(awk -v a="$one" -v b="$five" 'BEGIN { print (b - a) / 4 / 4096 }')" 12600 "instructions" "a training step, shapes remembered"
n=$(count "$build/bench-simulate" 1)
judge "$(awk -v n="$n" '{ print n / $1 }' "$dir/out")" 1500 "instructions" "a step of the simulator"

# Step and memory of a layout of a dense model, as a plan looks at it; rates and their ratio to those of peers
one=$(count "$build/bench-plan" 1)
five=$(count "$build/bench-plan" 5)
judge "$(awk -v a="$one" -v b="$five" '{ print (b - a) / 4 / $1 }' "$dir/out")" 17400 "instructions" "step and memory of a layout of a plan"
"$build/bench-plan"
exit "$status"
