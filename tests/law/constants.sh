#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A constant of a model says where it comes from: `static const double NAME = 0.8;` in src/model and src/search has a
# comment on its line or above it.  What has none is counted, and the count may only fall.
known=0
found=$(awk '
	FNR == 1 { said = 0 }
	/^static const double [A-Za-z_0-9]+ = [-0-9.e+]+;/ {
		if (!said && !/\/\*/) { print FILENAME ":" FNR ": " $0; next }
		next
	}
	{ said = /\*\/ *$/ }' src/model/*/*.[ch] src/search/*/*.[ch])
n=$(printf '%s' "$found" | grep -c .)
[ "$n" -le "$known" ] || {
	printf '%s\n' "$found"
	echo "constants: $n without a source or a word on how they were chosen"
	exit 1
}
