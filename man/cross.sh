#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Lines of the README's table of left-out errors, from what `make refit` found: mean and median, and the least coverage
# by rows and by groups.
awk -F'[(,)]' '
function clean(s) { gsub(/^ *"?|"? *$/, "", s); return s }
/^CROSS/ {
	kind = clean($2); how = clean($3); sub(/ left out$/, "", how)
	if (how == "in sample") rows[kind] = $4 + 0
	error[kind, how] = sprintf("%.1f / %.1f %%", $6, $7)
	if (how != "source" && how != "model" && how != "gpu") next
	if (!((kind) in row) || $8 < row[kind]) row[kind] = $8 + 0
	if (!((kind) in group) || $9 < group[kind]) group[kind] = $9 + 0
}
END {
	n = split("train memory comm", kinds, " ")
	split("training step,GPU memory,collectives", titles, ",")
	for (i = 1; i <= n; i++) {
		k = kinds[i]
		printf "| %s | %d | %s | %s | %s | %s | %d / %d %% |\n", titles[i], rows[k], error[k, "in sample"],
			error[k, "source"], error[k, "model"], error[k, "gpu"], row[k], group[k]
	}
}' "${1:-src/ask/validate/cross.def}"
