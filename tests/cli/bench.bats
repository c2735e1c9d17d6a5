#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Measuring the host: rows that are whole, true and flushed.

load helper

bench() {
	[ -x "$(dirname "$RIDGE")/ridge-bench" ] || skip "ridge-bench is not built"
	status=0
	"$(dirname "$RIDGE")/ridge-bench" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
	out=$(cat "$tmp/out")
	err=$(cat "$tmp/err")
	asked="ridge-bench $*"
}

# every line is an object with a kind, a positive time between the shortest and the longest run, and a day
rows_are_whole() {
	command -v python3 >/dev/null 2>&1 || skip "no python3 to read JSON with"
	python3 - "$tmp/out" "$@" <<'PYTHON' || complain "rows are not what they should be"
import json, re, sys
known = set(re.findall(r'^(?:DIMENSION|FIGURE|LABEL)\(\w+, "(\w+)"', open("include/ridge/measurement.def").read(), re.M)) | {"kind"}
kinds = set()
for line in open(sys.argv[1]):
    row = json.loads(line)
    kinds.add(row["kind"])
    assert set(row) <= known, set(row) - known
    assert 0 < row["min_us"] <= row["time_us"] <= row["max_us"] < 60e6, row
    assert row["n_runs"] >= 3 and re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"]), row
    assert row["device"] and row["backend"] and row["version"], row
    if row["kind"] == "copy":
        assert row["size_bytes"] >= 16384 and row["threads"] >= 1
        assert row["operation"] in ("read", "write", "copy", "scale", "triad")
        assert 1e8 < row["size_bytes"] / (row["time_us"] * 1e-6) < 1e14, row
    if row["kind"] == "latency":
        assert 1e-4 < row["time_us"] < 10, row
    if row["kind"] == "fma":
        assert row["flop"] > 0 and 1e7 < row["flop"] / (row["time_us"] * 1e-6) < 1e15, row
    if row["kind"] == "gemm":
        assert min(row["m"], row["n"], row["k"]) >= 1
assert kinds == set(sys.argv[2:]), kinds
PYTHON
}

@test "rows of every kind are whole, and ridge reads them" {
	bench --device host --quick
	answered
	rows_are_whole copy latency fma gemm launch
	cp "$tmp/out" "$tmp/rows"
	ask calibrate "$tmp/rows"
	answered
	shows "memory"
	shows "fma"
}

@test "--only measures what it names" {
	bench --device host --quick --only launch,latency
	answered
	rows_are_whole launch latency
	bench --device=host --quick --only=launch
	answered
	rows_are_whole launch
}

@test "--list names the subjects and what is absent" {
	bench --list
	answered
	for subject in memory latency fma gemm launch; do
		shows "  $subject "
	done
	shows "absent: "
}

@test "without a GPU: the host, and says so; an asked GPU is an error with a way out" {
	bench --quick --only launch
	answered
	case $err in *"measuring the host"*) ;; *) skip "there is a GPU" ;; esac
	rows_are_whole launch
	bench --device 0
	[ "$status" -eq 3 ] || complain "status should be 3"
	says "--device host"
	[ -z "$out" ]
}

@test "an interrupt keeps the rows until then, each a whole line" {
	program=$(dirname "$RIDGE")/ridge-bench
	[ -x "$program" ] || skip "ridge-bench is not built"
	python3 - "$program" "$tmp/out" <<'PYTHON' || complain "not ended by the interrupt with rows"
import json, signal, subprocess, sys
with subprocess.Popen([sys.argv[1], "--device", "host"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
    first = program.stdout.readline()
    program.send_signal(signal.SIGINT)
    text = first + program.stdout.read()
    assert program.wait() == -signal.SIGINT, program.returncode
assert text.endswith(b"\n")
for line in text.splitlines():
    json.loads(line)
PYTHON
}

@test "ridge bench passes an interrupt on and prints the rows until then" {
	[ -x "$(dirname "$RIDGE")/ridge-bench" ] || skip "ridge-bench is not built"
	python3 - "$RIDGE" <<'PYTHON' || complain "the rows were lost"
import json, signal, subprocess, sys, time
with subprocess.Popen([sys.argv[1], "bench", "--device", "host", "--only", "memory"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
    time.sleep(2)
    program.send_signal(signal.SIGINT)
    lines = program.stdout.read().splitlines()
    assert program.wait() == 1, program.returncode
assert lines
for line in lines:
    json.loads(line)
PYTHON
}

@test "a wrong result is an error and no time" {
	for subject in memory latency fma gemm launch; do
		RIDGE_BENCH_SPOIL=$subject bench --device host --quick --only "$subject"
		[ "$status" -eq 1 ] || complain "status should be 1"
		says "wrong result"
		[ -z "$out" ] || complain "its time is printed"
	done
}

@test "what cannot be asked is refused" {
	for words in --nothing "--device gpu" "--device -1" --device "--only nothing" "--only ," "--seed x" --quick=1; do
		# shellcheck disable=SC2086
		bench --quick $words
		[ "$status" -eq 2 ] || complain "status should be 2"
		says "ridge-bench: "
		[ -z "$out" ]
	done
}

@test "ridge bench hands on the rows, to a file too" {
	ask bench --device host --only launch --quick
	answered
	rows_are_whole launch
	ask bench --device host --only launch --quick -o "$tmp/file"
	answered
	[ -z "$out" ]
	[ "$(wc -l <"$tmp/file")" -eq 1 ]
	ask bench --only nothing --device host
	[ "$status" -eq 2 ] || complain "status should be 2"
}

@test "names of GPUs lead to entries of the database" {
	sed -n 's/^GPU(".*", "\(.*\)")$/\1/p' src/bench/gpu_names.def >"$tmp/ids"
	[ -s "$tmp/ids" ]
	while read -r id; do
		[ -f "hwdb/gpus/$id.yaml" ] || complain "no GPU $id"
	done <"$tmp/ids"
}

@test "targets that a compiler lacks are said with what to install" {
	cat >"$tmp/nvcc" <<'END'
#!/bin/sh
case $1 in
--list-gpu-code) printf 'sm_75\nsm_80\nsm_90\n' ;;
--version) echo 'Cuda compilation tools, release 13.0, V13.0.88' ;;
esac
END
	chmod +x "$tmp/nvcc"
	run sh src/bench/targets.sh "$tmp/nvcc"
	[ "$output" = " -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_80,code=compute_80" ]
	run sh src/bench/targets.sh --said "$tmp/nvcc"
	case $output in *"V100 install CUDA 12.x"*) ;; *) false ;; esac
}
