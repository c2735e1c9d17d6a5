#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Install into an empty place, ask from there without anything configured, remove, and see that nothing is left.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
make -s BUILD="$place/build" PREFIX="$place/usr" install >/dev/null
unset RIDGE_HWDB || :
"$place/usr/bin/ridge" hw show h100 --get n_sms | grep -qx 132 || {
	echo "the installed program does not find its database"
	exit 1
}
PKG_CONFIG_PATH=$place/usr/lib/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # flags are words
cc -std=c11 tests/example/example.c $(pkg-config --cflags ridge) $(pkg-config --static --libs ridge) -o "$place/example"
LD_LIBRARY_PATH=$place/usr/lib "$place/example" >/dev/null || {
	echo "the example does not run with the installed library"
	exit 1
}
size=$(wc -c <"$place/usr/bin/ridge")
[ "$size" -lt 3000000 ] || {
	echo "the stripped program has $size bytes, more than 3 MB"
	exit 1
}
make -s BUILD="$place/build" PREFIX="$place/usr" uninstall
left=$(find "$place/usr" ! -type d)
[ -z "$left" ] || {
	echo "uninstall leaves: $left"
	exit 1
}
echo "1 passed, 0 failed"
