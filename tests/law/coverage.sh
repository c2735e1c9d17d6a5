#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Intervals hold what they say: 80 % of the rows that nobody fitted lie inside.  Parameters and residuals come from one
# half of the shapes, the other half is predicted, and 75 to 85 % must lie in their intervals; with intervals of half the
# width too few do, which shows that the test can fail.  The rows that ship are products on one GPU: 140 shapes, of which
# one way to halve them tells to 4 points only, so there are five (HALVES; negative ones have the halves the other way
# round, as make check-long asks); with COVERAGE_GPUS
# (ids of GPUs, or all) the kernels in the folder silicon of REFERENCE follow: a minute for each GPU.
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}
: "${RIDGE_HWDB:=$PWD}"
export RIDGE_HWDB
GPUS=${COVERAGE_GPUS:-}
[ "$GPUS" != all ] || GPUS="a100-sxm4-80gb h100-sxm5-80gb h200-sxm5-141gb b200-sxm b300-sxm gb200 l40s rtx-pro-6000-bse"
silicon=${REFERENCE:-}/silicon
status=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/db/hwdb/calibration" "$dir/half/hwdb/calibration"

# Rows of standard input whose column 4 is $1 (empty: all) into $dir/fit.csv and $dir/rest.csv, by a hash of their shape
# that starts from $3: all engines' rows of a shape are in the same half.
split() {
	awk -F, -v fit="$dir/fit.csv" -v rest="$dir/rest.csv" -v type="$1" -v gpu="$2" -v start="${3:-7}" '
	/^#/ { next }
	!seen++ {
		for (i = 1; i <= NF; i++)
			skip[i] = $i ~ /^(gpu_id|backend|library|version|time_us)$/
		print >fit
		print >rest
		next
	}
	(type == "" || $4 == type) && (gpu == "" || $1 == gpu) {
		h = start
		for (i = 1; i <= NF; i++)
			for (j = 1; !skip[i] && j <= length($i); j++)
				h = (h * 31 + index("0123456789abcdefghijklmnopqrstuvwxyz_.-", substr($i, j, 1))) % 1000003
		print >(int(h / 7) % 2 ? fit : rest)
	}'
}

# rows and share of them in their interval, with the calibrations of a directory
inside() {
	"$RIDGE" validate "$dir/rest.csv" --hwdb "$1" --worst 0 --json -q |
		awk '/"by":/ { all = /"all"/ } all && /"n":/ && !n { gsub(/[^0-9]/, ""); n = $0 }
		     all && /"coverage_frac":/ { gsub(/[^0-9.e-]/, "", $2); print n, 100 * $2; exit }'
}

# half the width: quantiles and spreads of all residuals
halve() {
	for f in "$dir"/db/hwdb/calibration/*.yaml; do
		awk -f tests/law/halve.awk "$f" >"$dir/half/hwdb/calibration/${f##*/}"
	done
}

# The median of the engines, or, where their kernels differ, each of them.
fit() {
	what=$1
	shift
	rm -f "$dir"/db/hwdb/calibration/* "$dir/failed"
	[ $# -gt 0 ] || set -- ""
	for engine in "$@"; do
		"$RIDGE" calibrate "$dir/fit.csv" --fresh ${engine:+--backend "$engine"} \
			--write "$dir/db/hwdb/calibration" -q >"$dir/said" 2>&1 || cat "$dir/said" >>"$dir/failed"
	done
	ls "$dir"/db/hwdb/calibration/*.yaml >/dev/null 2>&1 || {
		echo "coverage: $what: nothing was fitted, and nothing is judged"
		cat "$dir/failed"
		return 1
	}
}

engines_of() {
	case $1 in
	attention | moe) awk -F, '!/^#/ && seen++ { print $2 }' "$dir/fit.csv" | sort -u ;;
	esac
}

# the pooled share of several GPUs: lines `rows share`
judge() {
	awk -v what="$1" -v low="$2" -v high="$3" '
	{ n += $1; inside += $1 * $2 }
	END {
		share = n ? inside / n : 0
		printf "coverage: %s: %.1f %% of %d rows\n", what, share, n
		if (share < low || share > high) {
			printf "coverage: %s: %g to %g %% were expected\n", what, low, high
			exit 1
		}
	}' "$dir/shares" || status=1
}

# shipped: products on one GPU, and the same with intervals that are too narrow
: >"$dir/wide"
: >"$dir/narrow"
for turn in ${HALVES:-7 8 9 10 11}; do
	split bf16 "" "${turn#-}" <tests/fixtures/calibrate/h100.csv
	[ "$turn" -gt 0 ] || {
		mv "$dir/fit.csv" "$dir/other"
		mv "$dir/rest.csv" "$dir/fit.csv"
		mv "$dir/other" "$dir/rest.csv"
	}
	fit "products" || status=1
	inside "$dir/db" >>"$dir/wide"
	halve
	inside "$dir/half" >>"$dir/narrow"
done
mv "$dir/wide" "$dir/shares"
judge "products, shipped" 75 85
mv "$dir/narrow" "$dir/shares"
judge "products, shipped, with intervals of half the width" 35 65

[ -n "$GPUS" ] || exit "$status"
[ -r "$silicon/gemm.csv.gz" ] || {
	echo "coverage: no $silicon/gemm.csv.gz: REFERENCE must say where the measured kernels are"
	exit 1
}
for kind in gemm collective; do
	zcat "$silicon/$kind.csv.gz" >"$dir/rest.csv"
	inside "$RIDGE_HWDB" >"$dir/shares"
	judge "$kind, all rows, with what ships" 75 88 # fitted rows among them lie inside more often than new ones
done
for kind in gemm attention moe collective; do
	: >"$dir/all"
	for gpu in $GPUS; do
		type=
		[ $kind != gemm ] || type=bf16
		zcat "$silicon/$kind.csv.gz" | split "$type" "$gpu"
		[ "$(wc -l <"$dir/rest.csv")" -gt 20 ] || continue
		# shellcheck disable=SC2046
		fit "$kind of $gpu" $(engines_of $kind) || continue
		inside "$dir/db" >"$dir/shares"
		sed "s/^/coverage: $kind of $gpu: /" "$dir/shares"
		cat "$dir/shares" >>"$dir/all"
	done
	mv "$dir/all" "$dir/shares"
	judge "$kind of $GPUS" 75 85
done
exit "$status"
