#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What `ridge memory` says would make a job fit does: each suggestion, put in place of the same options, is accepted as it
# stands by `ridge memory` and `ridge train`, and needs the bytes that were promised.  So are the fewest GPUs with their
# layout, and the schedules with a smaller bubble keep the promised time.
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}
export LC_ALL=C
# one job a line, `option=value` words
jobs="model=llama3-8b gpu=h100 layout=dp=8 seq=4096
model=llama3-70b system=dgx-h100 gpus=64 layout=tp=4,pp=4,vp=5,zero=0 global-batch=128 seq=8192
model=llama3.1-405b system=dgx-h100 gpus=1024 layout=tp=8,pp=8 global-batch=256 batch=2 seq=8192
model=qwen3-30b-a3b gpu=h100 gpus=8 layout=tp=2 seq=4096
model=deepseek-v3 system=dgx-h100 gpus=256 layout=pp=8,ep=16 global-batch=1024 seq=4096
model=llama2-70b gpu=h200 gpus=8 layout=fsdp seq=4096 batch=2
model=llama2-7b gpu=rtx4090 lora-rank=8 seq=2048 batch=4
model=llama2-13b gpu=a100 gpus=4 stack=hf-deepspeed layout=zero=2 batch=8 seq=2048
model=llama3-8b gpu=h100 gpus=4 stack=mlperf layout=pp=2 global-batch=64 seq=8192
model=llama2-70b system=dgx-a100 gpus=32 layout=tp=4,pp=2 no-sp= global-batch=64 batch=2 seq=4096
model=llama3-8b gpu=h100 gpus=8 global-batch=512 microbatches=4 seq=2048"

printf '%s\n' "$jobs" | awk -v ridge="$RIDGE" '
function run(command, o,    line, k, v) {
	line = ridge " " command " " o["model"]
	for (k in o)
		if (k != "model" && o[k] != "none") line = line " --" k (o[k] == "" ? "" : " " o[k])
	asked = line
	line = line " --json --explain 2>/dev/null | grep -E \"\\\"(verdict|peak_byte|step_s|min_layout|n_min_gpus|(fixes|schedule)[.][.0-9a-z_]*)\\\":\""
	answer = ""
	while ((line | getline v) > 0) answer = answer v
	close(line)
	return answer != ""
}
# the value of a row or word: the text behind its name
function value(name,    at, rest) {
	at = index(answer, "\"" name "\":")
	if (!at) return ""
	rest = substr(answer, at + length(name) + 3)
	sub(/^[ \t]*/, "", rest)
	if (substr(rest, 1, 1) == "\"") { rest = substr(rest, 2); return substr(rest, 1, index(rest, "\"") - 1) }
	match(rest, /^[^,}\t ]*/)
	return substr(rest, 1, RLENGTH)
}
# the job with the options of a suggestion in place of its own
function change(text, to,    a, k, i, name) {
	for (name in job) to[name] = job[name]
	k = split(text, a, " ")
	for (i = 1; i <= k; i++) {
		name = substr(a[i], 3)
		if (name == "layout") { delete to["no-sp"]; if (!("gpus" in to)) to["gpus"] = "none" }
		to[name] = i < k && a[i + 1] !~ /^--/ ? a[++i] : ""
	}
}
function fault(text) { print "fixes: " text; bad++ }
function check_with(command, text, byte,    to) {
	change(text, to)
	n++
	if (!run(command, to))
		fault("refused: " asked "\n  which was suggested for: " first)
	else if (value("verdict") != "fits")
		fault(asked "\n  " value("verdict"))
	else if (byte != "" && value("peak_byte") != byte)
		fault(asked "\n  needs " value("peak_byte") ", promised were " byte)
}
function check(text, byte) {
	check_with("memory", text, byte)
	check_with("train", text, byte)
}
{
	for (k in job) delete job[k]
	for (i = 1; i <= NF; i++) job[substr($i, 1, index($i, "=") - 1)] = substr($i, index($i, "=") + 1)
	if (!run("memory", job)) { fault("refused: " asked); next }
	first = asked
	whole = answer
	for (f = 0; f < 10; f++) {
		answer = whole
		text = value("fixes." f ".change")
		if (text == "") break
		check(text, value("fixes." f ".fixed_byte"))
	}
	answer = whole
	if (value("min_layout") !~ /none/ && value("n_min_gpus") != "")
		check("--layout " value("min_layout") " --gpus " value("n_min_gpus"), "")
	if (!run("train", job)) next
	whole = answer
	for (f = 0; f < 10; f++) {
		answer = whole
		text = value("schedule." f ".change")
		if (text == "") break
		promised = value("schedule." f ".scheduled_s")
		for (k in to) delete to[k]
		change(text, to)
		n++
		if (!run("train", to)) fault("refused: " asked)
		else if (value("step_s") != promised) fault(asked "\n  takes " value("step_s") " s, promised were " promised)
	}
}
END {
	print "fixes: " n " suggestions were tried"
	exit bad > 0 || n < 60
}'
