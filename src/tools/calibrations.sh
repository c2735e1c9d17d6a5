#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# calibrations.sh RIDGE SILICON: write hwdb/calibration again from a folder with the public kernel measurements
# (gemm, attention, moe, collective .csv.gz).  What they have no rows for stays as it is.
set -e
ridge=$1 silicon=$2
[ -r "$silicon/gemm.csv.gz" ] || {
	echo "no measurements in '$silicon': make calibrations SILICON=DIR, with gemm.csv.gz and the like in DIR" >&2
	exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/out"
for f in gemm attention moe collective; do
	gzip -dc "$silicon/$f.csv.gz" >"$work/$f.csv"
done
# shellcheck disable=SC2016
cut -d, -f1 "$work/gemm.csv" | sed 1d | sort -u | xargs -P "$(nproc)" -I GPU sh -c '
	echo "  FIT     $2"
	"$0" calibrate "$1"/gemm.csv "$1"/attention.csv "$1"/moe.csv "$1"/collective.csv --gpu "$2" --fresh --write "$1/out" \
		--source "ai-dynamo/aiconfigurator 095f58a5 (Apache-2.0)" --date 2026-08 --note "CUDA graph replay." \
		--quiet >"$1/out/$2.txt" || exit 255' "$ridge" "$work" GPU
# AMD: the month of each tuned shape is no version of the library
for f in gemm moe; do
	[ ! -r "$silicon/$f-amd.csv.gz" ] ||
		gzip -dc "$silicon/$f-amd.csv.gz" | awk 'BEGIN { FS = OFS = "," } NR > 1 { $3 = "" } 1' >"$work/$f-amd.csv"
done
for gpu in mi300x mi308x mi355x; do
	[ -s "$work/gemm-amd.csv" ] || continue
	echo "  FIT     $gpu"
	"$ridge" calibrate "$work/gemm-amd.csv" "$work/moe-amd.csv" --gpu $gpu --fresh --write "$work/out" \
		--source "ROCm/aiter tuned tables (MIT)" --date 2026-08 \
		--note "Fastest kernel of all tried, activations quantized before." --quiet >"$work/out/$gpu.txt"
done
for f in "$work"/out/*.yaml; do
	{ echo "# SPDX-License-Identifier: GPL-3.0-or-later"; cat "$f"; } >"hwdb/calibration/$(basename "$f")"
done
