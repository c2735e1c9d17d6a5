#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# columns.sh MACRO... <measurement.def: an item for each row of these macros, its name in files and what it says.
while IFS= read -r line; do
	for macro in "$@"; do
		case $line in
		"$macro("*)
			printf '%s\n' "$line" | sed -E \
				-e 's/^[A-Z]+\([A-Za-z0-9_]+, "([^"]*)",( [0-9.e-]+,)? "(.*)"\)$/.It Li \1\n\3/'
			;;
		esac
	done
done
