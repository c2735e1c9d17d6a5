#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# calibrations.sh RIDGE SILICON [PART]: write hwdb/calibration again from a folder with the public kernel measurements
# (gemm, attention, moe, collective .csv.gz).  What they have no rows for stays as it is.  PART, attention or moe, fits
# only these kernels, which belong to engines.
set -e
ridge=$1 silicon=$2 part=$3
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
set -- "$work/gemm.csv" "$work/attention.csv" "$work/moe.csv" "$work/collective.csv"
[ -z "$part" ] || set -- "$work/$part.csv"
# shellcheck disable=SC2016
cut -d, -f1,2 "$work/${part:-gemm}.csv" | sed 1d | if [ "$part" ]; then tr , ' '; else cut -d, -f1; fi | sort -u |
	xargs -P "$(nproc)" -L 1 sh -c '
	ridge=$1 out=$2 files=$3 gpu=$4 engine=$5
	echo "  FIT     $gpu $engine"
	# shellcheck disable=SC2086
	"$ridge" calibrate $files --gpu "$gpu" ${engine:+--backend "$engine"} --fresh --write "$out" \
		--source "ai-dynamo/aiconfigurator 095f58a5 (Apache-2.0)" --date 2026-08 --note "CUDA graph replay." \
		--quiet >"$out/$gpu-$engine.txt" || exit 255' fit "$ridge" "$work/out" "$*"
# AMD: the month of each tuned shape is no version of the library
for f in gemm moe; do
	[ ! -r "$silicon/$f-amd.csv.gz" ] ||
		gzip -dc "$silicon/$f-amd.csv.gz" | awk 'BEGIN { FS = OFS = "," } NR > 1 { $3 = "" } 1' >"$work/$f-amd.csv"
done
for gpu in mi300x mi308x mi355x; do
	if [ -n "$part" ] || [ ! -s "$work/gemm-amd.csv" ]; then
		continue
	fi
	echo "  FIT     $gpu"
	"$ridge" calibrate "$work/gemm-amd.csv" "$work/moe-amd.csv" --gpu $gpu --fresh --write "$work/out" \
		--source "ROCm/aiter tuned tables (MIT)" --date 2026-08 \
		--note "Fastest kernel of all tried, activations quantized before." --quiet >"$work/out/$gpu.txt"
done
for f in "$work"/out/*.yaml; do
	{ echo "# SPDX-License-Identifier: GPL-3.0-or-later"; cat "$f"; } >"hwdb/calibration/$(basename "$f")"
done
