#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# lint.sh BUILD: formatter, static checks, shell and manual checks.  A tool that is not installed is a failure, but with SKIP_MISSING=1.
build=${1:-build}
status=0
skipped=
fail() {
	echo "lint: $*"
	status=1
}
missing() {
	echo "lint: $1 is not installed: 'sh src/tools/packages.sh lint' installs it"
	[ "${SKIP_MISSING:-}" = 1 ] && skipped="$skipped $1" || status=1
}
sources=$(git ls-files '*.c' '*.h' '*.cu' 2>/dev/null || find src include tests -name '*.[ch]' -o -name '*.cu')
code=$(printf '%s\n' "$sources" | grep -E '^(src|include)/.*' | grep -v '^src/bench/')
flags="-std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -Iinclude -Isrc -I$build/gen -Itests $(pkg-config --cflags gsl yaml-0.1 libcjson)"

if command -v clang-format >/dev/null; then
	for f in $sources; do
		clang-format --dry-run --Werror "$f" >/dev/null 2>&1 || fail "$f is not formatted: make format"
	done
else
	missing clang-format
fi
if command -v cppcheck >/dev/null; then
	# cppcheck 2.10 does not read _Generic
	cppcheck --quiet '-D_Generic(...)=sheet_take_number'  --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 \
		--suppress=missingIncludeSystem --suppress=varFuncNullUB --suppress=normalCheckLevelMaxBranches \
		-Iinclude -Isrc -I"$build/gen" src || fail "cppcheck"
else
	missing cppcheck
fi
if command -v clang-tidy >/dev/null; then
	# shellcheck disable=SC2086
	printf '%s\n' "$code" | grep '\.c$' | xargs -P 2 -n 6 sh -c 'clang-tidy --quiet "$@" -- '"$flags"' 2>/dev/null' sh >"$build/tidy.log" ||
		{ cat "$build/tidy.log"; fail "clang-tidy"; }
else
	missing clang-tidy
fi
if command -v shellcheck >/dev/null; then
	# shellcheck disable=SC2046
	shellcheck $(git ls-files '*.sh') .ci/run || fail "shellcheck"
else
	missing shellcheck
fi
if command -v mandoc >/dev/null; then
	for page in "$build"/man/*.[1357]; do
		mandoc -T lint -W warning "$page" || fail "$page"
	done
else
	missing mandoc
fi
[ $status -ne 0 ] || echo "lint: clean${skipped:+, without$skipped}"
exit $status
