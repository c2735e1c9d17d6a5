#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Layers on symbols, not only on includes: no model calls a search, a file or the program; the shared library shows the
# functions of ridge.h and nothing else, 40 at most.
build=${BUILD:-build}
status=0
fault() {
	echo "symbols: $*"
	status=1
}

# uses FOLDER...: symbols that these folders take from elsewhere; makes FOLDER...: those they define
uses() { find "$@" -name '*.o' -exec nm -u {} + | awk 'NF == 2 { print $2 }' | sort -u; }
makes() { find "$@" -name '*.o' -exec nm --defined-only {} + | awk '$2 ~ /^[TDRBV]$/ { print $3 }' | sort -u; }
# apart LOWER UPPER: nothing of the lower folders needs the upper ones
apart() {
	lower=$1
	upper=$2
	# shellcheck disable=SC2086 # folders are words
	uses $lower >"$build/tests/symbols.uses"
	# shellcheck disable=SC2086
	makes $upper >"$build/tests/symbols.makes"
	both=$(comm -12 "$build/tests/symbols.uses" "$build/tests/symbols.makes")
	[ -z "$both" ] || fault "$lower must not call $upper: $(echo "$both" | head -n 5 | tr '\n' ' ')"
	rm -f "$build/tests/symbols.uses" "$build/tests/symbols.makes"
}
cd "$build/obj" || exit 1
build=..
apart base "db import model search report ask cli cmd"
apart model "db import search report ask cli cmd"
apart "report db" "search ask cli cmd"
apart import "ask cli cmd"
apart search "import ask report cli cmd"
cd - >/dev/null || exit 1
build=${BUILD:-build}

shown=$(nm -D --defined-only "$build/libridge.so" | awk '$2 == "T" { print $3 }' | sort)
declared=$(grep -ohE '\bridge_[a-z_]+\(' include/ridge/*.h | tr -d '(' | sort -u)
[ "$shown" = "$declared" ] || fault "libridge.so shows other functions than ridge.h declares"
[ "$(echo "$shown" | wc -l)" -le 40 ] || fault "libridge.so shows more than 40 functions"
exit $status
