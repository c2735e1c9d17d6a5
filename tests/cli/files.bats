#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Where answers go, and what happens when they cannot.

load helper

@test "-o writes what would have been printed" {
	ask kv llama2-7b --json
	printed=$out
	ask kv llama2-7b --json -o "$tmp/answer.json"
	answered
	[ -z "$out" ]
	[ "$(cat "$tmp/answer.json")" = "$printed" ]
	ask kv llama2-7b --json -o -
	is "$printed"
	[ "$(ls "$tmp")" = "answer.json
err
out" ]
}

@test "-o replaces a file and keeps its permissions" {
	echo old >"$tmp/answer"
	chmod 640 "$tmp/answer"
	ask kv llama2-7b --csv -o "$tmp/answer"
	answered
	head -n 1 "$tmp/answer" | grep -q seq_token
	[ "$(stat -c %a "$tmp/answer" 2>/dev/null || stat -f %Lp "$tmp/answer")" = 640 ]
}

@test "-o follows a link" {
	echo old >"$tmp/real"
	ln -s real "$tmp/link"
	ask kv llama2-7b --csv -o "$tmp/link"
	answered
	[ -L "$tmp/link" ]
	grep -q seq_token "$tmp/real"
}

@test "-o leaves a file alone when the request is wrong" {
	echo old >"$tmp/answer"
	ask kv nosuchmodel -o "$tmp/answer"
	refused
	[ "$(cat "$tmp/answer")" = old ]
	ask kv llama2-7b --get nosuchrow -o "$tmp/answer"
	refused
	[ "$(cat "$tmp/answer")" = old ]
}

@test "a full disk: status 3, a message" {
	[ -e /dev/full ] || skip "no /dev/full"
	ask kv llama2-7b -o /dev/full
	[ "$status" -eq 3 ]
	says "cannot write '/dev/full': No space left on device"
	status=0
	"$RIDGE" kv llama2-7b >/dev/full 2>"$tmp/err" || status=$?
	[ "$status" -eq 3 ]
	grep -q "cannot write the answer: No space left on device" "$tmp/err"
}

@test "a full disk: no partial file, the old one untouched" {
	echo old >"$tmp/answer"
	# no file may grow: what a full disk looks like to one program
	(
		ulimit -f 0
		status=0
		"$RIDGE" kv llama2-7b --json -o "$tmp/answer" 2>/dev/null || status=$?
		[ "$status" -eq 3 ]
	)
	[ "$(cat "$tmp/answer")" = old ]
	[ "$(ls "$tmp")" = answer ]
}

@test "a place that cannot be written" {
	ask kv llama2-7b -o "$tmp/nowhere/answer"
	[ "$status" -eq 3 ]
	says "cannot write '$tmp/nowhere/answer': No such file or directory"
	ask kv llama2-7b -o "$tmp"
	[ "$status" -eq 3 ]
	says "Is a directory"
	mkdir "$tmp/closed"
	echo old >"$tmp/closed/answer"
	chmod 555 "$tmp/closed"
	[ "$(id -u)" -eq 0 ] || {
		ask kv llama2-7b -o "$tmp/closed/answer"
		[ "$status" -eq 3 ]
		says "Permission denied"
	}
	[ "$(cat "$tmp/closed/answer")" = old ]
	[ "$(ls "$tmp/closed")" = answer ]
	ask kv llama2-7b -o /proc/answer
	[ "$status" -eq 3 ]
}

@test "a reader that goes away is no error" {
	status=0
	{ "$RIDGE" hw list --json 2>"$tmp/err" || echo "status $?" >>"$tmp/err"; } | head -c 10 >/dev/null
	[ ! -s "$tmp/err" ]
	{ "$RIDGE" --help 2>"$tmp/err" || echo "status $?" >>"$tmp/err"; } | :
	[ ! -s "$tmp/err" ]
}

@test "closed standard output is quiet" {
	status=0
	"$RIDGE" kv llama2-7b >&- 2>"$tmp/err" || status=$?
	[ "$status" -eq 3 ]
	[ ! -s "$tmp/err" ]
	status=0
	"$RIDGE" --help >&- 2>"$tmp/err" || status=$?
	[ ! -s "$tmp/err" ]
}

@test "closed standard error and input" {
	"$RIDGE" kv llama2-7b --seq 10000 --csv -o "$tmp/answer" 2>&- <&-
	[ "$(wc -l <"$tmp/answer")" -eq 2 ]
	head -n 1 "$tmp/answer" | grep -q '^seq_token'
}

@test "help into a full disk" {
	[ -e /dev/full ] || skip "no /dev/full"
	status=0
	"$RIDGE" --help >/dev/full 2>"$tmp/err" || status=$?
	[ "$status" -eq 3 ]
	grep -q "No space left on device" "$tmp/err"
}

@test "a file as an entry, and standard input" {
	cp "$RIDGE_HWDB/workloads/models/llama2-7b.yaml" "$tmp/mine.yaml"
	ask kv "$tmp/mine.yaml" --get kv_byte_per_token
	is 524288
	cd "$tmp"
	ask kv mine.yaml --get kv_byte_per_token
	is 524288
	ask kv ./mine.yaml --get kv_byte_per_token
	is 524288
	ask_with "$(cat mine.yaml)" kv - --get kv_byte_per_token
	is 524288
}

@test "--hwdb comes before RIDGE_HWDB" {
	mkdir -p "$tmp/db/gpus"
	sed -e 's/^name:.*/name: Mine/' -e 's/^sms:.*/sms: 7/' "$RIDGE_HWDB/hwdb/gpus/h100-sxm5-80gb.yaml" >"$tmp/db/gpus/h100-sxm5-80gb.yaml"
	ask hw show h100 --hwdb "$tmp/db" --get n_sms
	answered
	is 7
	ask hw show a100 --hwdb "$tmp/db" --get n_sms
	is 108
	ask hw show h100 --get n_sms
	is 132
	RIDGE_HWDB=$tmp/db ask hw show h100 --get n_sms
	is 7
}

@test "jobs" {
	printf 'format: 1\ncommand: kv\nmodel: llama2-7b\nseq: 2048\nlayout: {tp: 2}\n' >"$tmp/job.yaml"
	ask kv "$tmp/job.yaml" --get sequence_byte
	answered
	is 536870912
	ask kv "$tmp/job.yaml" --set layout.tp=1 --get sequence_byte
	is 1073741824
	ask_with "$(cat "$tmp/job.yaml")" kv - --get sequence_byte
	is 536870912
	printf 'format: 1\ncommand: kv\nmodel: llama2-7b\nseqq: 2048\n' >"$tmp/job.yaml"
	ask kv "$tmp/job.yaml"
	refused
	says "job.yaml:4:7: error: 'kv' has no input 'seqq'"
	says "did you mean 'seq'?"
}

@test "dotted keys in a job" {
	printf 'command: kv\nmodel: llama2-7b\nseq: 2048\nlayout.tp: 2\n' >"$tmp/job.yaml"
	ask kv "$tmp/job.yaml" --get sequence_byte
	answered
	is 536870912
	printf 'command: kv\nmodel: llama2-7b\nlayout.tq: 2\n' >"$tmp/job.yaml"
	ask kv "$tmp/job.yaml"
	refused
}

@test "a job for another command lends what both know" {
	printf 'command: memory\nmodel: llama2-7b\nseq: 2048\noptimizer: adam\n' >"$tmp/job.yaml"
	ask kv "$tmp/job.yaml" --get sequence_byte
	answered
	is 1073741824
}

@test "every job that is shipped is answered" {
	for job in "$RIDGE_HWDB"/workloads/jobs/*.yaml; do
		command=$(sed -n 's/^command: *//p' "$job")
		ask "$command" "$job"
		[ "$status" -le 1 ] || complain "$job is refused"
		name=$(basename "$job" .yaml)
		ask "$command" "$name"
		[ "$status" -le 1 ] || complain "$name is refused"
	done
}
