#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# examples.sh RIDGE FOLDER: every example of every command as a seed of the fuzzer `program`, one word a line
set -eu
rm -rf "$2.new"
mkdir -p "$2.new"
"$1" __lines | cut -f 2- | grep -v '[|<>;]' | {
	n=0
	while IFS= read -r line; do
		n=$((n + 1))
		eval "printf '%s\\n' $line" >"$2.new/$n"
	done
	[ "$n" -gt 50 ]
}
rm -rf "$2"
mv "$2.new" "$2"
