# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# What the command-line tests share.  `ask` keeps standard output and standard error apart; RIDGE and RIDGE_HWDB come from
# tests/run.sh.

setup() {
	tmp=$BATS_TEST_TMPDIR
	unset NO_COLOR COLUMNS
	TERM=xterm
	export TERM
}

# ask WORD...: run ridge; status, out and err hold what it said
ask() {
	status=0
	"$RIDGE" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
	out=$(<"$tmp/out")
	err=$(<"$tmp/err")
	printf -v asked '%.500s' "ridge $*"
}

# ask_with TEXT WORD...: the same with TEXT on standard input
ask_with() {
	printf '%s' "$1" >"$tmp/in"
	shift
	status=0
	"$RIDGE" "$@" >"$tmp/out" 2>"$tmp/err" <"$tmp/in" || status=$?
	out=$(<"$tmp/out")
	err=$(<"$tmp/err")
	printf -v asked '%.500s' "ridge $*"
}

complain() {
	printf '%s\n%s\nstatus %s\n--- out\n%s\n--- err\n%s\n' "$1" "$asked" "$status" "$out" "$err"
	return 1
}

# answered [STATUS]: the exit status, and nothing wrong on standard error
answered() {
	[ "$status" -eq "${1:-0}" ] || complain "status should be ${1:-0}"
	case $err in *error:*) complain "an error was printed" ;; esac
}

# refused: status 2, nothing on standard output, an error with its place and a way out
refused() {
	[ "$status" -eq 2 ] || complain "status should be 2"
	[ ! -s "$tmp/out" ] || complain "nothing should be on standard output"
	case $err in *error:*) ;; *) complain "no error was printed" ;; esac
	case $err in *"hint: "*) ;; *) complain "no way out was shown" ;; esac
}

says() {
	case $err in *"$1"*) ;; *) complain "standard error should have: $1" ;; esac
}

shows() {
	case $out in *"$1"*) ;; *) complain "standard output should have: $1" ;; esac
}

hides() {
	case $out$err in *"$1"*) complain "should not be printed: $1" ;; esac
}

is() {
	[ "$out" = "$1" ] || complain "standard output should be: $1"
}

# leaves [-l]: standard output as lines `PATH<tab>VALUE`, one for each value of the JSON (-l: of each line) that it must be
leaves() {
	"${RIDGE%/*}/tests/json" "$@" "$tmp/out" || complain "no JSON"
}

# json_is PATH VALUE: one value of the JSON on standard output
json_is() {
	got=$'\n'$(leaves)
	case $got in *$'\n'"$1"$'\t'*) ;; *) complain "nothing at $1" ;; esac
	got=${got#*$'\n'"$1"$'\t'}
	got=${got%%[$'\t\n']*}
	[ "$got" = "$2" ] || complain "$1 should be $2, is $got"
}

# needs WHAT HOW COMMAND...: COMMAND must succeed; where it does not, WHAT is missing, and HOW says what to do.
# With SKIP_MISSING=1 the test is skipped instead.
needs() {
	what=$1 how=$2
	shift 2
	"$@" >/dev/null 2>&1 && return
	[ "${SKIP_MISSING:-}" != 1 ] || skip "$what is missing"
	echo "$what is missing: $how"
	return 1
}

# A limit of the address space means nothing to a program whose sanitizer reserves terabytes of it.
spares_memory() {
	! grep -q __asan_init "$RIDGE" || skip "the address sanitizer reserves the address space"
}
