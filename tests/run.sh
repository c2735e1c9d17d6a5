#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every kind of test, one after the other; all run even when one fails.
BUILD=${BUILD:-build}
export BUILD
RIDGE=$(cd "$BUILD" && pwd)/ridge
export RIDGE
LC_ALL=C
export LC_ALL
# a loaded machine under sanitizers is slow, not wrong
CK_DEFAULT_TIMEOUT=120
export CK_DEFAULT_TIMEOUT
RIDGE_HWDB=$(pwd)
export RIDGE_HWDB
passed=0
failed=0

run() {
	name=$1
	shift
	echo "== $name"
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "== $name FAILED"
	fi
}

run "unit tests" "$BUILD/tests/unit-tests"
run "laws of the models" "$BUILD/tests/law"
run "published numbers" "$BUILD/tests/claims" tests/claims/*.tsv
for t in tests/law/*.sh; do
	run "$(basename "$t" .sh)" sh "$t"
done
replay() {
	"$BUILD/tests/replay-$1" tests/fuzz/seeds/"$1"/* >/dev/null
}
for t in "$BUILD"/tests/replay-*; do
	run "seeds of the fuzzer of ${t##*/replay-}" replay "${t##*/replay-}"
done
run "library example" "$BUILD/tests/example"
if command -v bats >/dev/null 2>&1; then
	run "command line" bats tests/cli
else
	echo "bats is not installed: the command-line tests are skipped"
fi
echo "$passed passed, $failed failed"
test "$failed" -eq 0
