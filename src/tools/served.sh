#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Judge the ranks of `ridge plan serve` by published runs: sh src/tools/served.sh build/ridge serve.csv
# Groups are all layouts of one engine, release, model, GPU, types, lengths and load; of each, whether the layout with the
# most measured throughput per GPU is the one with the most predicted, and what is lost by taking the predicted one.
# Informative are groups whose best layout is not the smallest.  VERBOSE=1 prints the groups that are wrong.
set -eu
ridge=$1
rows=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$ridge" validate "$rows" --predictions "$work/predictions.csv" -q >/dev/null
awk -v verbose="${VERBOSE:-0}" '
# Fields of a line of CSV into f[1..]; returns how many.
function fields(line,    n, c, quoted, word) {
	n = 0
	word = ""
	quoted = 0
	while (line != "") {
		c = substr(line, 1, 1)
		line = substr(line, 2)
		if (c == "\"")
			quoted = !quoted
		else if (c == "," && !quoted) {
			f[++n] = word
			word = ""
		} else
			word = word c
	}
	f[++n] = word
	return n
}
function column(name) { return f[at[name]] }
FNR == 1 {
	delete at
	for (i = fields($0); i > 0; i--)
		at[f[i]] = i
	next
}
FNR == NR {
	fields($0)
	if (column("regime") == "throughput" && column("predicted") + 0 > 0) {
		measured[column("line")] = column("measured")
		predicted[column("line")] = column("predicted")
	}
	next
}
FNR in measured {
	fields($0)
	key = column("source") "|" column("software") "|" column("sw_version") "|" column("model") "|" column("gpu") "|" \
	    column("weight_dtype") "|" column("act_dtype") "|" column("kv_dtype") "|" column("isl") "|" column("osl") "|" \
	    column("kind") "|" column("sched") "|" column("concurrency") "|" column("batch") "|" column("spec_method")
	layout = "tp=" (column("tp") == "" ? 1 : column("tp")) ",pp=" (column("pp") == "" ? 1 : column("pp")) ",ep=" \
	    (column("ep") == "" ? 1 : column("ep"))
	gpus = column("n_gpu") + 0
	if (!(gpus > 0))
		next
	m = measured[FNR] / gpus
	p = predicted[FNR] / gpus
	if (!(key in n))
		order[++n_keys] = key
	n[key]++
	if (!(key in best) || m > best[key]) {
		best[key] = m
		best_layout[key] = layout
		best_gpus[key] = gpus
	}
	if (!(key in chosen) || p > chosen[key]) {
		chosen[key] = p
		chosen_layout[key] = layout
		got[key] = m
	}
	if (!(key in least) || gpus < least[key])
		least[key] = gpus
	if (!((key, layout) in seen))
		kinds[key]++
	seen[key, layout] = 1
}
function show(name, n, right, near, loss, worst) {
	if (n > 0)
		printf "%-12s %4d groups, best layout chosen in %d (%.0f %%), within 5 %% in %d, mean loss %.1f %%, worst %.0f %%\n", \
		    name, n, right, 100 * right / n, near, 100 * loss / n, 100 * worst
}
END {
	for (i = 1; i <= n_keys; i++) {
		k = order[i]
		if (kinds[k] < 2 || kinds[k] != n[k])
			continue
		lost = 1 - got[k] / best[k]
		informative = best_gpus[k] > least[k]
		for (c = 0; c <= informative; c++) {
			groups[c]++
			right[c] += chosen_layout[k] == best_layout[k]
			near[c] += lost <= 0.05
			loss[c] += lost
			if (lost > worst[c])
				worst[c] = lost
		}
		if (verbose && chosen_layout[k] != best_layout[k])
			printf "%5.1f %% lost: %s: %s, best is %s\n", 100 * lost, k, chosen_layout[k], best_layout[k]
	}
	show("all", groups[0], right[0], near[0], loss[0], worst[0])
	show("informative", groups[1], right[1], near[1], loss[1], worst[1])
}' "$work/predictions.csv" "$rows"
