#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Measurement files compared and drawn.
load helper

files=tests/fixtures/measurement

@test "two measurement files: groups, worst shapes, exit status" {
	ask compare $files/base.csv $files/new.csv
	answered 1
	shows 'gemm fp8       12'
	shows 'gemm bf16 m=128 n=4096 k=14336'
	shows 'shapes only in baseline  1'
	ask compare $files/base.csv $files/base.csv
	answered 0
	ask compare --baseline $files/base.csv --current $files/new.csv --get n_regressions
	answered 1
	is 1
}

@test "a measurement file on standard input" {
	ask_with "$(<$files/new.csv)" compare $files/base.csv - --get groups.1.change_frac
	answered 1
}

@test "rows that are left out are counted" {
	ask compare $files/rows.jsonl $files/rows.jsonl
	answered 0
	says "1 row left out: the GPU 'x999' is not in the database (it is line 7)"
	shows 'skipped rows             16'
}

@test "files without a shape in common are refused" {
	ask compare $files/base.csv $files/published.csv
	refused
	says 'no shape in common'
}

@test "numbers are still compared as numbers" {
	ask compare 1200 120 --get change_frac
	answered 1
	is 0.9
	ask compare --baseline tests/fixtures/compare/base.txt --current tests/fixtures/compare/base.txt
	answered 0
}

@test "measurements under a roof" {
	ask roofline --measurements $files/ncu-details.csv --gpu h100
	answered 0
	shows 'kernel'
	ask roofline --measurements $files/nccl.json --gpu h100
	refused
	says 'compared with the roofline'
	ask roofline --measurements $files/rows.jsonl --gpu h100,a100
	refused
}

@test "plots: the script of a sweep" {
	ask kv llama3-8b --sweep batch=1..4*2 --get batch_byte --plot "$tmp/a.gp"
	answered 0
	grep -qx '2 1073741824' "$tmp/a.gp"
	grep -q "^set logscale\|^unset logscale" "$tmp/a.gp"
	ask roofline --flops 1TFLOP --bytes 1GB --gpu h100 --plot "$tmp/b.gp"
	answered 0
	grep -q "title 'h100-sxm5-80gb'" "$tmp/b.gp"
	ask roofline --measurements $files/rows.jsonl --gpu h100 --plot "$tmp/c.gp"
	answered 0
	grep -q "title 'with copy bandwidth'" "$tmp/c.gp"
}

@test "plots: what cannot be drawn is refused, and nothing is written" {
	ask kv llama3-8b --plot "$tmp/a.gp"
	refused
	ask kv llama3-8b --sweep batch=1,2 --plot "$tmp/a.jpg"
	refused
	ask kv llama3-8b --sweep batch=1,2 --get kv_heads_of_nobody --plot "$tmp/a.gp"
	refused
	[ ! -e "$tmp/a.gp" ] && [ ! -e "$tmp/a.jpg" ]
}

@test "plots: without gnuplot the way out is said" {
	status=0
	PATH=/nonexistent "$RIDGE" kv llama3-8b --sweep batch=1,2 --plot "$tmp/a.png" >"$tmp/out" 2>"$tmp/err" || status=$?
	[ "$status" -eq 3 ]
	grep -q 'gnuplot-nox' "$tmp/err"
	[ ! -s "$tmp/out" ] && [ ! -e "$tmp/a.png" ]
}

@test "plots: pictures" {
	needs gnuplot "sh src/tools/packages.sh test installs it" command -v gnuplot
	for form in png svg pdf; do
		ask kv llama3-8b --sweep batch=1..8*2 --plot "$tmp/it's \"a\" \`b\`.$form"
		answered 0
		[ -s "$tmp/it's \"a\" \`b\`.$form" ]
	done
}
