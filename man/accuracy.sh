#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# accuracy.sh RIDGE: tables of prediction errors for ridge-accuracy(7).  Lines of standard input say which:
# "cross" shows what was left out, "support" which serving runs were published, "domain FILE COLUMN..." scores a file of tests/corpus by groups, "two-fold FILE" rows that were left out of a fit (it
# takes a minute: its table stands in the page).
ridge=$1
: "${RIDGE_HWDB:=$(pwd)}"
export RIDGE_HWDB
LC_ALL=C
export LC_ALL
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# scores GROUP... <predictions: a table row for all rows and for each group of at least three scored rows
scores() {
	awk -v groups="$*" '
	# fields of a CSV line, quotes removed
	function split_line(line, f,    n, c, i, quoted) {
		n = 1
		f[1] = ""
		for (i = 1; i <= length(line); i++) {
			c = substr(line, i, 1)
			if (c == "\"") quoted = !quoted
			else if (c == "," && !quoted) f[++n] = ""
			else f[n] = f[n] c
		}
		return n
	}
	function quantile(e, n, q,    at, low) {
		at = 1 + q * (n - 1)
		low = int(at)
		return low < n ? e[low] + (at - low) * (e[low + 1] - e[low]) : e[n]
	}
	function sort(e, n,    i, j, x) {
		for (i = 2; i <= n; i++) {
			x = e[i]
			for (j = i - 1; j > 0 && e[j] > x; j--) e[j + 1] = e[j]
			e[j + 1] = x
		}
	}
	function show(name, key,    i, n, e, signed) {
		n = count[key]
		for (i = 1; i <= n; i++) {
			signed[i] = error[key, i]
			e[i] = signed[i] < 0 ? -signed[i] : signed[i]
		}
		sort(e, n)
		sort(signed, n)
		printf ".It %s Ta %d Ta %d Ta %.1f Ta %.1f Ta %+.1f Ta %s\n", name, n, skipped[key], quantile(e, n, 0.5),
		    quantile(e, n, 0.9), quantile(signed, n, 0.5), wide[key] ? sprintf("%.0f", 100 * inside[key] / wide[key]) : "\\(en"
	}
	function add(key) {
		if (f[at["skipped"]] != "" || f[at["predicted"]] == "") { skipped[key]++; return }
		if (f[at["sense"]] != "value") return
		error[key, ++count[key]] = f[at["error_percent"]] + 0
		if (f[at["low"]] == "") return
		wide[key]++
		inside[key] += f[at["measured"]] + 0 >= f[at["low"]] + 0 && f[at["measured"]] + 0 <= f[at["high"]] + 0
	}
	BEGIN { n_groups = split(groups, group, " ") }
	NR == 1 { n = split_line($0, f); for (i = 1; i <= n; i++) at[f[i]] = i; next }
	{
		split_line($0, f)
		add("all")
		for (g = 1; g <= n_groups; g++) {
			name = f[at[group[g]]]
			if (name == "") continue
			key = g SUBSEP name
			if (!(key in seen)) { seen[key] = 1; key_of[g, ++n_keys[g]] = key; name_of[key] = name }
			add(key)
		}
	}
	END {
		show("all", "all")
		for (g = 1; g <= n_groups; g++) {
			m = n_keys[g]
			for (i = 1; i <= m; i++) sorted[i] = name_of[key_of[g, i]]
			sort(sorted, m)
			for (i = 1; i <= m; i++) if (count[g, sorted[i]] >= 3) show(sorted[i], g SUBSEP sorted[i])
		}
	}'
}

# table GROUP... <predictions
table() {
	echo '.Bl -column "megatron-bridge-2026.04" "rows" "skipped" "median" "P90" "bias" "inside"'
	echo '.It Sy group Ta Sy rows Ta Sy skipped Ta Sy median Ta Sy P90 Ta Sy bias Ta Sy inside'
	scores "$@"
	echo .El
}

# domain FILE GROUP...: a table of one file of the corpus
domain() {
	file=$1
	shift
	"$ridge" validate "tests/corpus/$file.csv" --worst 0 -q --predictions "$dir/$file" >/dev/null &&
		table "$@" <"$dir/$file"
}

# two_fold FILE: fit one half of the bf16 shapes, predict the other, and the reverse.
two_fold() {
	awk -F, -v fit="$dir/0.csv" -v rest="$dir/1.csv" '
	/^#/ { next }
	!n++ { print >fit; print >rest; next }
	/,bf16,/ {
		shape = $4 "," $5 "," $6 "," $7
		h = 7
		for (i = 1; i <= length(shape); i++)
			h = (h * 31 + index("0123456789abcdefghijklmnopqrstuvwxyz_.-", substr(shape, i, 1))) % 1000003
		print >(int(h / 7) % 2 ? fit : rest)
	}' "$1"
	: >"$dir/folds"
	for half in 0 1; do
		mkdir -p "$dir/$half/hwdb/calibration"
		"$ridge" calibrate "$dir/$half.csv" --fresh --write "$dir/$half/hwdb/calibration" -q >/dev/null 2>&1 || return 1
		"$ridge" validate "$dir/$((1 - half)).csv" --hwdb "$dir/$half" --worst 0 -q --predictions "$dir/fold$half" >/dev/null ||
			return 1
		if [ $half = 0 ]; then cat "$dir/fold0"; else tail -n +2 "$dir/fold1"; fi >>"$dir/folds"
	done
	table class <"$dir/folds"
}

# cross: errors on runs that were left out of the fit
cross() {
	echo '.Bl -column "kind" "source left out" "rows" "groups" "mean" "median" "inside" "by group" "width" "score"'
	echo '.It Sy kind Ta Sy left out Ta Sy rows Ta Sy groups Ta Sy mean Ta Sy median Ta Sy inside Ta Sy by group Ta Sy width Ta Sy score'
	sed -n 's/^CROSS(\(.*\))$/\1/p' src/ask/validate/cross.def src/ask/serve/support.def | sed 's/"//g; s/ left out//; s/, / Ta /g; s/^/.It /'
	echo .El
}

# support: what published serving runs say of each engine and GPU architecture, by quantity: median error with the model
# left out, share inside the intervals, rows and groups
support() {
	echo '.Bl -column "fastertransformer-encoder" "blackwell-ultra" "throughput" "rows" "groups" "mean" "median" "inside" "group"'
	echo '.It Sy engine Ta Sy architecture Ta Sy quantity Ta Sy rows Ta Sy groups Ta Sy mean Ta Sy median Ta Sy inside Ta Sy by group'
	sed -n 's/^MACHINE(\(.*\))$/\1/p' src/ask/serve/support.def | LC_ALL=C sort | sed 's/"//g; s/, / Ta /g; s/^/.It /'
	echo .El
	echo .Pp
	echo 'No published run of:'
	echo '.Bl -column "fastertransformer-encoder" "architectures"'
	awk -F'"' '
	/^MACHINE/ { seen[$2, $4] = 1; engine[$2] = 1; arch[$4] = 1 }
	END { for (e in engine) { s = ""; for (a in arch) if (!((e, a) in seen)) t[++n] = a
		for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (t[j] < t[i]) { x = t[i]; t[i] = t[j]; t[j] = x }
		for (i = 1; i <= n; i++) s = s (s == "" ? "" : ", ") t[i]
		n = 0
		if (s != "") print ".It " e " Ta " s } }' src/ask/serve/support.def | LC_ALL=C sort
	echo .El
}

while read -r mark rest; do
	# shellcheck disable=SC2086 # words
	case $mark in
	domain) domain $rest ;;
	two-fold) two_fold $rest ;;
	cross) cross ;;
	support) support ;;
	*) false ;;
	esac || exit 1
done
