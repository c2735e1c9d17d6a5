#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What published runs call an engine is understood: how many rows of tests/fixtures/serve-rows.csv a family has, and how
# many are skipped or carry a warning.
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}
status=0

# family                     rows  skipped  warned
table='
trtllm-0.17                     2        0       0
trtllm-0.14                     1        0       0
trtllm-static                   1        0       0
trtllm-1.0                      1        1       0
trtllm                          1        0       0
trtllm-0.14-batch               1        0       0
deepspeed-mii                   1        1       0
vllm                            2        1       0
vllm-2023                       1        0       1
common                          1        0       1
trtllm-mlperf                   1        0       1
fastertransformer-int8-v1       1        0       0
'

get() {
	"$RIDGE" validate tests/fixtures/serve-rows.csv --only "framework=$1" --worst 0 -q --get "groups.0.$2"
}

while read -r family rows skipped warned; do
	[ -n "$family" ] || continue
	got="$(get "$family" n) $(get "$family" n_skipped) $(get "$family" n_warned)"
	[ "$got" = "$rows $skipped $warned" ] || {
		echo "serve-rows: $family: rows, skipped, warned are $got, not $rows $skipped $warned"
		status=1
	}
done <<EOF
$table
EOF
exit $status
