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
	[ "$(<"$tmp/answer.json")" = "$printed" ]
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
	[ "$(<"$tmp/answer")" = old ]
	ask kv llama2-7b --get nosuchrow -o "$tmp/answer"
	refused
	[ "$(<"$tmp/answer")" = old ]
}

@test "-o and others: a name, and not one of the inputs" {
	ask kv llama2-7b -o ""
	refused
	says "--output: error: the file name is empty"
	cp "$RIDGE_HWDB/workloads/models/llama2-7b.yaml" "$tmp/mine.yaml"
	ln -s mine.yaml "$tmp/link.yaml"
	ln "$tmp/mine.yaml" "$tmp/same.yaml"
	for name in mine.yaml link.yaml same.yaml; do
		ask kv "$tmp/mine.yaml" -o "$tmp/$name"
		refused
		says "is one of the inputs"
	done
	ask kv "$tmp/mine.yaml" --sweep seq=1,2 -o "$tmp/mine.yaml"
	refused
	ask kv --sweep model=llama2-7b,"$tmp/mine.yaml" -o "$tmp/mine.yaml"
	refused
	ask compare "$RIDGE_HWDB/tests/fixtures/measurement/base.csv" "$tmp/new.csv" -o "$tmp/new.csv"
	[ "$status" -ne 0 ]
	cmp -s "$tmp/mine.yaml" "$RIDGE_HWDB/workloads/models/llama2-7b.yaml" || complain "the input was written to"
	echo '{"model": "llama2-7b"}' >"$tmp/lines"
	ask kv --jsonl "$tmp/lines" --get seq_token -o "$tmp/lines"
	refused
	[ "$(<"$tmp/lines")" = '{"model": "llama2-7b"}' ]
}

@test "two outputs are two files" {
	echo old >"$tmp/x.gp"
	ask kv llama2-7b --sweep seq=1Ki,2Ki --plot "$tmp/x.gp" -o "$tmp/x.gp"
	refused
	ln -s x.gp "$tmp/y.gp"
	ask kv llama2-7b --sweep seq=1Ki,2Ki --plot "$tmp/x.gp" -o "$tmp/y.gp"
	refused
	[ "$(<"$tmp/x.gp")" = old ]
	ask kv llama2-7b --sweep seq=1Ki,2Ki --plot "$tmp/x.gp" -o "$tmp/x.txt"
	answered
	grep -q plot "$tmp/x.gp"
}

@test "an answer's file may be there already, unless it is an input" {
	rows="$RIDGE_HWDB/tests/corpus/gemm.csv"
	for _ in first second; do
		ask validate "$rows" --predictions "$tmp/p.csv"
		answered
		ask serve llama3-8b --gpu h100 --isl 100 --osl 10 --rate 1 --requests 5 --simulate \
			--dump "$tmp/dump.csv" --timeline "$tmp/timeline.csv"
		answered
	done
	cp "$rows" "$tmp/rows.csv"
	ask validate "$tmp/rows.csv" --predictions "$tmp/rows.csv"
	refused
	says "is one of the inputs"
	cmp -s "$rows" "$tmp/rows.csv" || complain "the input was written to"
	ask validate "$tmp/rows.csv" --predictions "$tmp/p.csv" -o "$tmp/p.csv"
	refused
	says "two outputs write"
}

@test "files of an answer: all of them, or none" {
	echo old >"$tmp/x.gp"
	ask kv llama2-7b --sweep seq=1Ki,2Ki --plot "$tmp/x.gp" -o "$tmp/nowhere/x.txt"
	[ "$status" -eq 3 ]
	[ "$(<"$tmp/x.gp")" = old ] || complain "the drawing was put in place without the answer"
	ask validate "$RIDGE_HWDB/tests/corpus/gemm.csv" --only kind=nothing --predictions "$tmp/p.csv"
	refused
	[ ! -e "$tmp/p.csv" ] || complain "a file of an answer that was refused"
	ask validate "$RIDGE_HWDB/tests/corpus/gemm.csv" --predictions "$tmp/p.csv" -o "$tmp/nowhere/x"
	[ "$status" -eq 3 ]
	[ ! -e "$tmp/p.csv" ] || complain "a file without its answer"
	[ -z "$(find "$tmp" -name '.ridge-*')" ] || complain "something was left behind"
}

@test "several calibrations: all of them, or none" {
	# of two engines, as few rows as move a known rate
	awk -F, '/^gpu_id/ || (/,(vllm|sglang),.*,bf16,/ && n[$2]++ < 10)' "$RIDGE_HWDB/tests/fixtures/calibrate/h100.csv" >"$tmp/in.csv"
	ask calibrate "$tmp/in.csv" --write "$tmp/db"
	answered
	find "$tmp/db" -type f >"$tmp/list"
	[ "$(wc -l <"$tmp/list")" -gt 1 ] || complain "no files were written"
	[ -z "$(find "$tmp" -name '.ridge-*')" ] || complain "something was left behind"
	find "$tmp/db" -type f -exec rm {} \;
	# the last of them cannot be put in place
	last=$(sed -n '$p' "$tmp/list")
	mkdir -p "$last/in-the-way"
	ask calibrate "$tmp/in.csv" --write "$tmp/db"
	[ "$status" -eq 3 ]
	[ -z "$(find "$tmp/db" -type f)" ] || complain "some of the files were written"
}

@test "an interrupted answer leaves nothing behind" {
	for signal in TERM HUP; do # a shell that runs no jobs of its own ignores INT for them
		# under nohup everything ignores HUP
		ended=0
		sh -c "kill -s $signal \$\$" || ended=$?
		[ "$ended" -ne 0 ] || continue
		ended=0
		for try in 1 2 3 4 5 6 7 8 9; do # on a busy machine the answer may be done before the signal comes
			echo old >"$tmp/answer"
			"$RIDGE" train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --batch 1 --sweep seq=1024..8192+1 --csv -o "$tmp/answer" >/dev/null 2>&1 &
			sleep 0.1
			kill -s $signal $! || true
			ended=0
			wait $! || ended=$?
			[ "$ended" -eq 0 ] || break
		done
		[ "$ended" -gt 128 ] || complain "no signal came before the answer was done: status $ended"
		[ "$(<"$tmp/answer")" = old ] || complain "a part of the answer was written"
		[ -z "$(find "$tmp" -name '.ridge-*')" ] || complain "something was left behind"
	done
}

@test "a full disk: status 3, a message" {
	needs /dev/full "only Linux has it" test -e /dev/full
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
	[ "$(<"$tmp/answer")" = old ]
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
	[ "$(<"$tmp/closed/answer")" = old ]
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
	needs /dev/full "only Linux has it" test -e /dev/full
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
	ask_with "$(<mine.yaml)" kv - --get kv_byte_per_token
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
	ask kv "$tmp/job.yaml" --get kv_sequence_byte
	answered
	is 536870912
	ask kv "$tmp/job.yaml" --set layout.tp=1 --get kv_sequence_byte
	is 1073741824
	ask_with "$(<"$tmp/job.yaml")" kv - --get kv_sequence_byte
	is 536870912
	printf 'format: 1\ncommand: kv\nmodel: llama2-7b\nseqq: 2048\n' >"$tmp/job.yaml"
	ask kv "$tmp/job.yaml"
	refused
	says "job.yaml:4:7: error: 'kv' has no input 'seqq'"
	says "did you mean 'seq'?"
}

@test "dotted keys in a job" {
	printf 'command: kv\nmodel: llama2-7b\nseq: 2048\nlayout.tp: 2\n' >"$tmp/job.yaml"
	ask kv "$tmp/job.yaml" --get kv_sequence_byte
	answered
	is 536870912
	printf 'command: kv\nmodel: llama2-7b\nlayout.tq: 2\n' >"$tmp/job.yaml"
	ask kv "$tmp/job.yaml"
	refused
}

@test "a job for another command lends what both know" {
	printf 'command: memory\nmodel: llama2-7b\nseq: 2048\noptimizer: adam\n' >"$tmp/job.yaml"
	ask kv "$tmp/job.yaml" --get kv_sequence_byte
	answered
	is 1073741824
	says "job of command 'memory': ignored: optimizer"
	ask kv "$tmp/job.yaml" --json
	answered
	shows "ignored: optimizer"
	# what is added on the command line is not lent
	ask kv "$tmp/job.yaml" --optimizer adam
	refused
}

@test "a database that is not there" {
	RIDGE_HWDB=$tmp/nowhere ask hw list
	refused
	says "RIDGE_HWDB: error: cannot read the directory '$tmp/nowhere'"
	ask hw list --hwdb "$tmp/nowhere"
	refused
}

@test "names with control characters are shown as they are written, not obeyed" {
	bad=$(printf 'h\033[31m')
	ask hw show "$bad"
	refused
	says "there is no GPU 'h\\x1b[31m'"
	printf 'command: kv\nmodel: llama2-7b\nbell: "\\a"\n' >"$tmp/$bad.yaml"
	ask kv "$tmp/$bad.yaml"
	refused
	sed -e 's/^name:.*/name: "Red \\e[31m"/' "$RIDGE_HWDB/workloads/models/llama2-7b.yaml" >"$tmp/m.yaml"
	for form in '' --md --csv; do
		# shellcheck disable=SC2086 # no word, or one
		ask model show "$tmp/m.yaml" $form
		answered
		case $out$err in *"$(printf '\033')"*) complain "an escape was printed" ;; esac
	done
}

# tests/law/examples.sh asks them as files
@test "every job that is shipped is answered by its name" {
	for job in "$RIDGE_HWDB"/workloads/jobs/*.yaml; do
		command=$(sed -n 's/^command: *//p' "$job")
		name=$(basename "$job" .yaml)
		ask "$command" "$name"
		[ "$status" -le 1 ] || complain "$name is refused"
	done
}
