#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# run.sh [--quick | PATTERN]: every kind of test (or a first few of each; or those whose name has PATTERN in it), as many
# at a time as there are processors (JOBS); all run even when one fails.  A tool that is missing is a failure that says how to install it; with
# SKIP_MISSING=1 the last line names what was skipped for it.  REFERENCE=DIR adds what compares with reference material
# that is not part of the tree: worked examples, measured kernels, published configurations.
if [ "${1:-}" = --one ]; then
	name=${2%%|*}
	if eval "${2#*|}" >"$WORK/$name.log" 2>&1 </dev/null; then
		verdict=ok
	else
		verdict=FAILED
		: >"$WORK/$name.failed"
	fi
	: >"$WORK/$name.run"
	# what it took of a processor, which other work on the machine does not change
	times >"$WORK/$name.times"
	cpu_s=$(tail -n 1 "$WORK/$name.times" | awk '{ for (i = 1; i <= 2; i++) { split($i, t, "m"); s += 60 * t[1] + t[2] } printf "%.1f", s }')
	printf '%-6s %5.1f s  %-28s %s\n' $verdict "$cpu_s" "$name" "$(tail -n 1 "$WORK/$name.log" | cut -c 1-100)"
	exit 0
fi

BUILD=${BUILD:-build}
RIDGE=$(cd "$BUILD" && pwd)/ridge
LC_ALL=C
# a loaded machine under sanitizers is slow, not wrong
CK_DEFAULT_TIMEOUT=300
RIDGE_HWDB=$(pwd)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
export BUILD RIDGE LC_ALL CK_DEFAULT_TIMEOUT RIDGE_HWDB WORK
JOBS=${JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}
quick=
pattern=${1:-}
[ "$pattern" != --quick ] || quick=1 pattern=
# random questions: these take a quarter of a minute of one processor, and put every law to the test
QUESTIONS=${QUESTIONS:-6000}
skipped=

# have TOOL: it is installed
have() {
	command -v "$1" >/dev/null 2>&1 && return
	[ "${SKIP_MISSING:-}" = 1 ] || {
		echo "run.sh: $1 is not installed: 'sh src/tools/packages.sh test' installs it; SKIP_MISSING=1 goes without"
		echo "0 passed, 1 failed"
		exit 1
	}
	return 1
}

# kind NAME COMMAND [TOOL]: one kind of test, with the tool that it cannot do without
kind() {
	case $1 in
	*"$pattern"*) ;;
	*) return ;;
	esac
	if have "${3:-sh}"; then
		echo "$1|$2" >>"$WORK/kinds"
	else
		skipped="$skipped, $1 ($3)"
	fi
}

# the longest first, so that all processors are busy to the end
if [ -n "$quick" ]; then
	kind "unit tests" "CK_EXCLUDE_TAGS=slow $BUILD/tests/unit-tests"
	kind "random questions" "$BUILD/tests/law --random 300"
	kind "laws of the models" "$BUILD/tests/law --quick"
fi
everything() {
	have gnuplot || skipped="$skipped, plots (gnuplot)"
	kind "unit tests, one half" "$BUILD/tests/unit-tests 0 2"
	kind "unit tests, other half" "$BUILD/tests/unit-tests 1 2"
	kind coverage "sh tests/law/coverage.sh"
	kind "laws of the models" "$BUILD/tests/law"
	slow="bench_gpu validate rows files serving calibrate_own plan set sweep plan_serve bench"
	for name in $slow; do
		kind "command line: $name" "bash tests/bats.bash tests/cli/$name.bats" bash
	done
	kind "bad input" "bash tests/robust/bad_input.sh" bash
	kind cross "sh tests/law/cross.sh"
	kind examples "sh tests/law/examples.sh"
	kind manuals "sh tests/law/manuals.sh"
	kind "random questions, one half" "$BUILD/tests/law --random $((QUESTIONS / 2)) ${SEED:-1} 0 2"
	kind "random questions, other half" "$BUILD/tests/law --random $((QUESTIONS / 2)) ${SEED:-1} 1 2"
	for t in tests/cli/*.bats; do
		name=$(basename "$t" .bats)
		case " $slow " in *" $name "*) continue ;; esac
		kind "command line: $name" "bash tests/bats.bash $t" bash
	done
	kind "published numbers" "$BUILD/tests/claims tests/claims/*.tsv"
	for t in tests/law/*.sh; do
		tool=
		case $t in
		*/coverage.sh | */cross.sh | */examples.sh | */manuals.sh) continue ;;
		*/globals.sh) tool=objdump ;;
		*/hardened.sh) tool=readelf ;;
		*/golden.sh)
			[ -z "${REFERENCE:-}" ] || kind golden "sh $t $REFERENCE/facts/worked-examples"
			continue
			;;
		esac
		name=${t##*/}
		kind "${name%.sh}" "sh $t" "$tool"
	done
	for t in "$BUILD"/tests/replay-*; do
		name=${t##*/replay-}
		seeds="tests/fuzz/seeds/$name/*"
		for folder in $(sh tests/fuzz/seeds.sh "$name" "$BUILD"); do
			seeds="$seeds $folder/*"
		done
		kind "fuzz seeds: $name" "$t $seeds"
	done
	kind "library example" "RIDGE_HWDB=$PWD $BUILD/tests/example"
}
[ -n "$quick" ] || everything

[ -s "$WORK/kinds" ] || {
	echo "run.sh: no kind of test has '$pattern' in its name"
	exit 1
}
tr '\n' '\0' <"$WORK/kinds" | xargs -0 -n 1 -P "$JOBS" sh "$0" --one
for f in "$WORK"/*.failed; do
	[ -e "$f" ] || continue
	name=${f##*/}
	echo "== ${name%.failed} FAILED"
	cat "${f%.failed}.log"
done
wanted=$(wc -l <"$WORK/kinds")
run=$(find "$WORK" -name '*.run' | wc -l)
failed=$(find "$WORK" -name '*.failed' | wc -l)
[ "$run" -eq "$wanted" ] || echo "run.sh: only $run of $wanted kinds came to their end"
[ -z "$skipped" ] || skipped=", skipped: ${skipped#, }"
echo "$((run - failed)) passed, $((failed + wanted - run)) failed$skipped"
[ "$failed" -eq 0 ] && [ "$run" -eq "$wanted" ]
