#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The README shows real output: each `$ ridge ...` of its console blocks is run and compared, line by line.
ridge=${RIDGE:-build/ridge}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# places are printed as seen from the top of the tree
unset RIDGE_HWDB
awk -v dir="$work" '
/^```console$/ { inside = 1; next }
/^```$/ { inside = 0; next }
inside && /^\$ ridge / { n++; print substr($0, 9) > (dir "/" n ".args"); next }
inside { print > (dir "/" n ".want") }
' README.md
status=0
n=0
for args in "$work"/*.args; do
	n=$((n + 1))
	touch "${args%.args}.want"
	# shellcheck disable=SC2046 # the words of a command line
	COLUMNS=120 "$ridge" $(cat "$args") >"${args%.args}.got" 2>/dev/null
	if ! diff -u "${args%.args}.want" "${args%.args}.got"; then
		echo "README.md shows something else than: ridge $(cat "$args")"
		status=1
	fi
done
[ "$n" -gt 3 ] || {
	echo "README.md shows too few commands"
	status=1
}
sh man/cross.sh >"$work/errors"
[ "$(wc -l <"$work/errors")" -eq 6 ] || {
	echo "man/cross.sh prints not one line for each kind of prediction"
	status=1
}
while read -r line; do
	grep -qF -- "$line" README.md || {
		echo "README.md lacks the left-out errors: $line"
		status=1
	}
done <"$work/errors"
exit $status
