#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# refit_collective.sh RIDGE FILE...: how collectives are predicted whose own measurements are left out.  FILE: published
# rows (tests/corpus/comm.csv) and measured ones (tests/corpus/collective.csv).
#
#   as shipped   rows inside a node are of other sources than the fits, rows between nodes are fitted
#   fabric out   each network without its calibration: as a fabric that nobody measured
#   GPU out      each GPU without its calibration, from the neighbor of its generation, or by the textbook
#
# A score is the mean over rows of the interval's width in logarithms and ten times what it misses by.
set -e
ridge=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
hwdb=${RIDGE_HWDB:-.}/hwdb
# a program far from its tree has no other database
cp "$ridge" "$work/ridge"
export XDG_DATA_HOME="$work"

# what is left of the database without a calibration
without() {
	rm -rf "$work/db"
	mkdir -p "$work/db/hwdb"
	cp -r "$hwdb/." "$work/db/hwdb"
	[ ! -d "$hwdb/../workloads" ] || ln -s "$(cd "$hwdb/.." && pwd)/workloads" "$work/db/workloads"
	for id; do rm -f "$work/db/hwdb/calibration/$id.yaml" "$work/db/hwdb/calibration/$id"-*.yaml; done
}

# predict WHAT [FILTER]: the rows that FILTER takes, under this name
predict() {
	for file in $files; do
		rm -f "$work/rows.csv"
		RIDGE_HWDB=$work/db "$work/ridge" validate "$file" --worst 0 --quiet --predictions "$work/rows.csv" >/dev/null 2>&1 || continue
		awk -v what="$1" 'NR > 1 && ('"${2:-1}"') { print what "\t" $0 }' "$work/rows.csv"
	done >>"$work/all"
}

files=$*
without
predict "as shipped"
for f in $(cd "$hwdb/calibration" && grep -l '^network:' -- *.yaml); do
	id=${f%.yaml}
	[ "$id" != network ] || continue
	systems=$(cd "$hwdb/systems" && grep -l "fabric: ${id}[,}]" -- *.yaml | sed 's/\.yaml$//' | tr '\n' '|')
	without "$id"
	predict "fabric out" "/several nodes/ && /, (${systems%|})[\",]/"
done
while read -r gpu donor; do
	without "$gpu"
	sed "s/^from:.*/from: $donor/; s/^to:.*/to: [$gpu]/" "$hwdb/transfers/hopper.yaml" >"$work/db/hwdb/transfers/left-out.yaml"
	[ "$donor" != none ] || rm "$work/db/hwdb/transfers/left-out.yaml"
	predict "GPU out" "!/several nodes/ && /,$gpu,/ && !/custom-/"
done <<-END
	h100-sxm5-80gb h200-sxm5-141gb
	h200-sxm5-141gb h100-sxm5-80gb
	b200-sxm b300-sxm
	b300-sxm b200-sxm
	gb200 b200-sxm
	a100-sxm4-80gb none
END

# fields may hold commas in quotes: the figures are counted from the end, the names from the start
awk -F '\t' '
function add(k, e, in_, score, group) {
	if (!(k in n)) order[++keys] = k
	n[k]++; ape[k] = ape[k] " " (exp(e) - 1 < 0 ? 1 - exp(e) : exp(e) - 1); bias[k] += e
	if (in_ >= 0) { judged[k]++; inside[k] += in_; sum[k] += score; seen[k, group]++; hit[k, group] += in_ }
}
{
	line = $2
	gsub(/"[^"]*"/, "text", line)
	m = split(line, f, ",")
	measured = f[18]; predicted = f[19]; low = f[20]; high = f[21]
	if (!(measured > 0) || !(predicted > 0) || f[m - 2] != "value" || f[15] ~ /2[hd]|p2p/) next
	e = log(predicted / measured); in_ = -1; score = 0
	if (high > 0) {
		in_ = measured >= low && measured <= high
		score = log(high / low) + 10 * (measured < low ? log(low / measured) : measured > high ? log(measured / high) : 0)
	}
	where = f[7] == "several nodes" ? "between nodes" : "in a node"
	group = f[4] " " f[5] " " f[15]
	add($1 ", " where, e, in_, score, group)
	add($1 ", " where ", " f[15], e, in_, score, group)
	add($1 ", " where ", " f[12], e, in_, score, group)
}
END {
	printf "%-52s %5s %7s %7s %7s %8s %8s %6s\n", "", "rows", "mean", "median", "bias", "inside", "groups", "score"
	for (i = 1; i <= keys; i++) {
		k = order[i]
		c = split(ape[k], a, " ")
		for (x = 2; x <= c; x++) { v = a[x] + 0; for (y = x - 1; y > 0 && a[y] + 0 > v; y--) a[y + 1] = a[y]; a[y + 1] = v }
		mean = 0; for (x = 1; x <= c; x++) mean += a[x]
		groups = 0; cover = 0
		for (g in seen) { split(g, p, SUBSEP); if (p[1] == k) { groups++; cover += hit[g] / seen[g] } }
		printf "%-52s %5d %6.1f%% %6.1f%% %6.1f%% ", k, c, 100 * mean / c, 100 * a[int((c + 1) / 2)], 100 * bias[k] / c
		if (groups) printf "%7.0f%% %7.0f%% %6.2f\n", 100 * inside[k] / judged[k], 100 * cover / groups, sum[k] / judged[k]
		else print ""
	}
}' "$work/all" | { IFS= read -r head; printf '%s\n' "$head"; sort; }
