#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Lines of the README's table of left-out errors, from what `make refit` and `make support` found: mean and median, and
# the least coverage by rows and by groups.
[ $# -gt 0 ] || set -- src/ask/validate/cross.def src/ask/serve/support.def
awk -F'"' '
/^CROSS/ {
	kind = $2; how = $4; sub(/ left out$/, "", how)
	split($5, v, ", *") # v[1] is empty; rows, groups, mean, median, coverage by row and by group
	if (how == "in sample") rows[kind] = v[2] + 0
	error[kind, how] = sprintf("%.1f / %.1f %%", v[4], v[5])
	if (how != "source" && how != "model" && how != "gpu") next
	if (!(kind in row) || v[6] < row[kind]) row[kind] = v[6] + 0
	if (!(kind in group) || v[7] < group[kind]) group[kind] = v[7] + 0
}
END {
	n = split("train;memory;comm;serving, throughput;serving, TPOT;serving, TTFT", kinds, ";")
	split("training step;GPU memory;collectives;serving throughput;TPOT;TTFT", titles, ";")
	for (i = 1; i <= n; i++) {
		k = kinds[i]
		if (k in rows)
			printf "| %s | %d | %s | %s | %s | %s | %d / %d %% |\n", titles[i], rows[k],
				error[k, "in sample"], error[k, "source"], error[k, "model"], error[k, "gpu"], row[k], group[k]
	}
}' "$@"
