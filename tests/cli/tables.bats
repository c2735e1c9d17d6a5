#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Documents' tables, series and repeated measurements from files, and what is wrong with them.

load helper

table() {
	printf '%s\n' "$1" >"$tmp/t.csv"
}

@test "a table that is right" {
	table 'step,factor,cumulative,time
baseline,,,10h
one,2,2,5h
two,1.25x,2.5x,4h'
	ask stack --check "$tmp/t.csv"
	answered
	shows "verdict      right"
}

@test "a wrong line is named, and what follows from it" {
	table 'step,factor,cumulative,time
baseline,,,10h
one,2,2,5h
two,1.25,3,3.3h
three,2,6,1.7h'
	ask stack --check "$tmp/t.csv"
	answered 1
	shows "wrong in line 4, 5"
	shows "cumulative 5, not 6 (follows)"
	shows "time 4 h, not 3.3h (follows)"
}

@test "the tolerance decides what is rounded" {
	table 'step,factor,cumulative
one,2,2.03'
	ask stack --check "$tmp/t.csv"
	answered
	shows "rounded"
	ask stack --check "$tmp/t.csv" --tolerance 1%
	answered 1
}

@test "the base may come from the options" {
	table 'step,factor,time
one,2,5h'
	ask stack --check "$tmp/t.csv" --base 10h
	answered
	shows "5 h"
}

@test "a table on standard input" {
	ask_with 'step,factor,cumulative
one,2,2
two,3,6
' stack --check -
	answered
}

@test "an unknown column" {
	table 'step,factor,profit
one,2,3'
	ask stack --check "$tmp/t.csv"
	refused
	says "unknown column 'profit'"
}

@test "a figure without its unit" {
	table 'step,factor,time
baseline,,10h
one,2,5'
	ask stack --check "$tmp/t.csv"
	refused
	says "$tmp/t.csv:3:7: error: '5' has no unit"
}

@test "a table inside a job" {
	printf 'format: 1\ncommand: stack\ntable:\n  base: {time: 10h}\n  steps:\n    - {step: one, factor: 2, time: 6h}\n' >"$tmp/j.yaml"
	ask stack "$tmp/j.yaml"
	answered 1
	shows "time 5 h, not 6h"
}

@test "steps in a job" {
	printf 'format: 1\ncommand: stack\nbase: 10h\nsteps: [data=2, "idle:0.5->0.25"]\n' >"$tmp/j.yaml"
	ask stack "$tmp/j.yaml" --get speedup
	answered
	is 3
}

@test "jobs of commands that know no GPU" {
	printf 'format: 1\ncommand: trend\npoints: ["0:1GB", "10:2GB", "20:3GB"]\n' >"$tmp/j.yaml"
	ask trend "$tmp/j.yaml"
	answered 1
	shows "leak"
	printf 'format: 1\ncommand: compare\nbaseline: [100]\ncurrent: [95]\n' >"$tmp/k.yaml"
	ask compare "$tmp/k.yaml"
	answered
	ask compare "$tmp/k.yaml" --threshold 1%
	answered 1
}

@test "a series from a file, its columns by name and unit" {
	printf 'when,used [GB],free [GB]\n0,1,9\n10,2,8\n20,3,7\n' >"$tmp/s.csv"
	ask trend --points "$tmp/s.csv" --y free --get fits.0.slope_byte
	answered
	is -100000000
	ask trend --points "$tmp/s.csv" --y frei
	refused
	says "did you mean 'free'?"
}

@test "a series of numbers with a word in it" {
	printf '0 1\n10 two\n20 3\n' >"$tmp/s.txt"
	ask trend --points "$tmp/s.txt"
	refused
	says "$tmp/s.txt:2:4: error: 'two' is not a measurement"
}

@test "sides of a comparison from files" {
	printf '210\n205\n212\n208\n207\n' >"$tmp/old.txt"
	printf 'rate,note\n204,\n199,\n206,slow\n203,\n201,\n' >"$tmp/new.csv"
	ask compare --baseline "$tmp/old.txt" --current "$tmp/new.csv" --column rate --threshold 1%
	answered 1
	shows "regression"
	ask compare --baseline "$tmp/old.txt" --current "$tmp/new.csv"
	refused
	says "the file has 2 columns"
}

@test "the same draws every time" {
	for i in 1 2; do
		ask compare --baseline 5,6,7,8,9 --current 4,5,7,7,8 --seed 42 --get change_high_frac
		answered
		printf '%s\n' "$out" >"$tmp/$i"
	done
	cmp "$tmp/1" "$tmp/2"
}

@test "--csv --table: one table, ids as the head" {
	ask roofline gemm --m 4096 --n 4096 --k 4096 --gpu h100 --csv --table levels
	answered
	[ "$(printf '%s\n' "$out" | head -n 1)" = level,byte_per_s,ridge_flop_per_byte ]
	[ "$(printf '%s\n' "$out" | sed -n 2p | cut -d, -f1,2)" = HBM3,3350000000000 ]
	ask roofline gemm --m 4096 --n 4096 --k 4096 --gpu h100 --csv --table level
	refused
	says "there is no table 'level'"
	says "the tables are: levels"
	ask kv llama2-7b --csv --table x
	refused
	says "this answer has no tables"
	ask kv llama2-7b --table x
	refused
	says "--table goes with --csv"
	ask data --items 40M --fraction 15% --zipf 0.952 --table 120GB --lookup 180ms --get inputs.table
	answered
	is 120000000000
}

@test "one table of each point, of each line" {
	ask memory llama3-8b --gpu h100 --sweep batch=1,2 --csv --table moments
	answered 1
	shows "batch,moment,peak_byte"
	[ "$(wc -l <<<"$out")" -eq 7 ]
	ask_with $'{"batch": 1}\n{"batch": 2}' memory llama3-8b --gpu h100 --jsonl - --csv --table moments
	answered 1
	shows "line,moment,peak_byte"
	[ "$(wc -l <<<"$out")" -eq 7 ]
}
