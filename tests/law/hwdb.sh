#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The whole database passes its own checks, form and physics, and so does each file alone.
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}

answer=$("$RIDGE" check 2>&1)
got=$?
if [ "$got" -ne 0 ]; then
	printf '%s\n' "$answer"
	echo "hwdb: 'ridge check' exits with $got"
	exit 1
fi
# an empty database would pass too
n=$("$RIDGE" check --get n_files) || exit 1
files=$(find hwdb workloads -name '*.yaml' | wc -l)
if [ "$n" -lt "$files" ]; then
	echo "hwdb: 'ridge check' looked at $n files, but there are $files"
	exit 1
fi
