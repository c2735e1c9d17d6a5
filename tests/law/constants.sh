#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A constant of a model says where it comes from: `static const double NAME = 0.8;`, and a time or a share that a model
# takes as a bare number, have a comment on their line or above it.
found=$(awk '
	FNR == 1 { said = 0 }
	/^static const double [A-Za-z_0-9]+ = [-0-9.e+]+;/ || /TAKE\(sh, [a-z_0-9]+_(s|frac), [0-9.]+(e[-+]?[0-9]+)?\);/ {
		plain = /, (1|86400|86400\.0|3600)\);/
		if (!said && !plain && !/\/\*/) print FILENAME ":" FNR ": " $0
	}
	{ said = /\*\/ *$/ || (said && /^static const double/) }' src/model/*/*.[ch] src/search/*/*.[ch])
[ -z "$found" ] || {
	printf '%s\n' "$found"
	echo "constants: these have no source: cite one, or say on what they were fitted"
	exit 1
}
