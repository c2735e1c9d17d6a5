#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A sweep that is wider than the terminal says constants once and breaks into tables that fit.

sweep() {
	COLUMNS=$1 "$RIDGE" memory llama3-8b --gpu h100 --gpus 8 --layout zero=3 --sweep batch=1,2 --sweep seq=4Ki,8Ki -q
}

@test "no line of a wide sweep is longer than the terminal" {
	longest=$(sweep 100 | awk '{ if (length($0) > n) n = length($0) } END { print n }')
	[ "$longest" -le 100 ]
}

@test "what is the same at every point stands once, above" {
	run sweep 100
	[ "$(grep -c '3.74 GiB' <<<"$output")" -eq 2 ]
	[[ ${lines[0]} == parameters*8030261248* ]]
}

@test "every table of it begins with the swept inputs" {
	run sweep 100
	[ "$(grep -c '^batch  seq' <<<"$output")" -ge 2 ]
	[ "$(grep -c '^ *2  8Ki' <<<"$output")" -eq "$(grep -c '^batch  seq' <<<"$output")" ]
}

@test "a terminal that is wide enough gets one table" {
	run sweep 1000
	[ "${#lines[@]}" -eq 5 ]
}
