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
# ... and the errors of a framework that is not listed; what the program prints is what these files say
listed=$(sed -n 's/^CROSS("train", "no match", [0-9]*, [0-9]*, \([0-9.]*\), \([0-9.]*\), \([0-9]*\), [0-9]*, \([0-9.]*\), .*/\1 \2 \3 \4/p' src/ask/validate/cross.def |
	LC_ALL=C awk '{ printf "%.1f / %.1f %%, with intervals of ±%.0f %% that hold %d %%", $1, $2, $4, $3 }')
tr '\n' ' ' <README.md | grep -qF -- "$listed" || {
	echo "README.md lacks the errors of a framework that is not listed: $listed"
	status=1
}
# the table of accuracy against what the program prints: mean and median in sample and left out, to a tenth of a percent
"$ridge" validate --cross --csv --table cross 2>/dev/null | sed -e 's/"serving, \([A-Za-z]*\)"/serving \1/' >"$work/cross.csv"
awk '
BEGIN {
	n = split("training step;GPU memory;collectives;serving throughput;TPOT;TTFT", titles, ";")
	split("train;memory;comm;serving throughput;serving TPOT;serving TTFT", kinds, ";")
	split("in sample;source left out;model left out;gpu left out", ways, ";")
}
FNR == NR {
	split($0, f, ",")
	if (FNR == 1) for (i in f) at[f[i]] = i
	else { mean[f[at["scored"]], f[at["left_out"]]] = 100 * f[at["mape_frac"]]; median[f[at["scored"]], f[at["left_out"]]] = 100 * f[at["median_ape_frac"]] }
	next
}
/^\|/ {
	split($0, c, / *\| */)
	for (k = 1; k <= n; k++)
		if (c[2] == titles[k])
			for (w = 1; w <= 4; w++) {
				split(c[3 + w], v, /[ %\/]+/)
				a = v[1] - mean[kinds[k], ways[w]]; b = v[2] - median[kinds[k], ways[w]]
				seen++
				if (a * a > 0.0036 || b * b > 0.0036) print "README.md: " titles[k] ", " ways[w] ": " c[3 + w] ", the program prints " mean[kinds[k], ways[w]] " / " median[kinds[k], ways[w]]
			}
}
END { if (seen != 24) print "README.md: " seen + 0 " errors compared with validate --cross, not 24" }' "$work/cross.csv" README.md >"$work/stale"
[ ! -s "$work/stale" ] || {
	cat "$work/stale"
	status=1
}
exit $status
