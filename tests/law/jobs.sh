#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every job runs under its own command; the published runs (train-*, serve-llama*) under memory, kv and roofline.
ridge=${RIDGE:-build/ridge}
status=0
try() {
	"$ridge" "$1" "$2" >/dev/null 2>&1
	got=$?
	[ $got -le 1 ] || {
		echo "jobs: ridge $1 $2 exits with $got"
		"$ridge" "$1" "$2" 2>&1 >/dev/null | head -n 2
		status=1
	}
}
n=0
for job in workloads/jobs/*.yaml; do
	try "$(sed -n 's/^command: *//p' "$job")" "$job"
	case $job in
	*/train-* | */serve-llama*)
		n=$((n + 1))
		case $job in */train-*) try train "$job" ;; esac
		for command in memory kv roofline; do
			try "$command" "$job"
		done
		;;
	esac
done
[ $n -ge 12 ] || {
	echo "jobs: only $n published runs"
	status=1
}
exit $status
