#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Measuring the host: rows that are whole, true and flushed.

load helper

# no GPU is seen: these tests are of the host; rows are looked at, not times: all subjects take a second
CUDA_VISIBLE_DEVICES=
RIDGE_BENCH_TOTAL_S=1
export CUDA_VISIBLE_DEVICES RIDGE_BENCH_TOTAL_S

bench() {
	status=0
	"$(dirname "$RIDGE")/ridge-bench" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
	out=$(<"$tmp/out")
	err=$(<"$tmp/err")
	asked="ridge-bench $*"
}

# rows_are_whole KIND...: every line is an object of known keys with a kind, a positive time between the shortest and the
# longest run, and a day; these kinds are there, and no other
rows_are_whole() {
	sed -n 's/^\(DIMENSION\|FIGURE\|LABEL\)([a-z_0-9]*, "\([a-z_0-9]*\)".*/\2/p' src/model/hw/measurement.def >"$tmp/keys"
	leaves -l | awk -F '\t' -v wanted="$*" '
	function fault(what) { print "row " row ": " what; bad = 1 }
	function judge(    rate) {
		kinds[v["kind"]]
		if (!(0 < v["min_us"] + 0 && v["min_us"] + 0 <= v["time_us"] + 0 && v["time_us"] + 0 <= v["max_us"] + 0 && v["max_us"] + 0 < 60e6))
			fault("times " v["min_us"] " " v["time_us"] " " v["max_us"])
		if (v["n_runs"] < 3 || v["date"] !~ /^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]$/)
			fault("runs " v["n_runs"] ", day " v["date"])
		if (v["device"] == "" || v["backend"] == "" || v["version"] == "")
			fault("no device, backend or version")
		if (v["kind"] == "copy") {
			rate = v["size_bytes"] / v["min_us"] * 1e6
			if (v["size_bytes"] < 16384 || v["threads"] < 1 || v["operation"] !~ /^(read|write|copy|scale|triad)$/ || rate < 1e6 || rate > 1e14)
				fault("copy of " rate " byte/s")
		}
		if (v["kind"] == "latency" && !(1e-4 < v["time_us"] + 0 && v["time_us"] + 0 < 10))
			fault("latency " v["time_us"])
		if (v["kind"] == "fma" && !(v["flop"] / v["min_us"] * 1e6 > 1e6 && v["flop"] / v["min_us"] * 1e6 < 1e15))
			fault("fma of " v["flop"] " in " v["min_us"])
		if (v["kind"] == "gemm" && (v["m"] < 1 || v["n"] < 1 || v["k"] < 1))
			fault("a product of nothing")
	}
	NR == FNR { known[$1]; next }
	FNR == 1 { row = "0"; split("", v) }
	{
		key = $1
		sub(/^[0-9]+\//, "", key)
		if ($1 + 0 != row + 0) { judge(); split("", v); row = $1 + 0 }
		if (key != "kind" && !(key in known)) fault("nobody knows the key " key)
		v[key] = $2
		n++
	}
	END {
		if (!n) exit 1
		judge()
		split(wanted, w, " ")
		for (i in w) { if (!(w[i] in kinds)) fault("no row of " w[i]); left[w[i]] }
		for (k in kinds) if (!(k in left)) fault("a row of " k)
		exit bad
	}' "$tmp/keys" - || complain "rows are not what they should be"
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
	shows "no model computes on the CPU"
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
	says "measuring the host"
	rows_are_whole launch
	bench --device 0
	[ "$status" -eq 3 ] || complain "status should be 3"
	says "--device host"
	[ -z "$out" ]
}

# interrupted PROGRAM...: run it, interrupt it (itself alone) once it has printed a row, and wait for its end.  Job control
# is on: else the shell lets what runs in the background ignore the interrupt.
interrupted() {
	asked=$*
	set -m
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null &
	set +m
	for _ in $(seq 600); do
		[ ! -s "$tmp/out" ] || break
		sleep 0.1
	done
	kill -INT $!
	status=0
	wait $! || status=$?
	out=$(<"$tmp/out")
	err=$(<"$tmp/err")
}

# whole_lines: there are rows, each a whole line of JSON
whole_lines() {
	[ -s "$tmp/out" ] || complain "no rows"
	[ -z "$(tail -c 1 "$tmp/out")" ] || complain "the last line is cut"
	leaves -l >/dev/null
}

@test "an interrupt keeps the rows until then, each a whole line" {
	interrupted env RIDGE_BENCH_TOTAL_S=60 "$(dirname "$RIDGE")/ridge-bench" --device host
	[ "$status" -eq 130 ] || complain "not ended by the interrupt"
	whole_lines
}

@test "ridge bench passes an interrupt on and prints the rows until then" {
	# its rows come at the end, all together: one is there after a moment
	set -m
	RIDGE_BENCH_TOTAL_S=60 "$RIDGE" bench --device host --only memory >"$tmp/out" 2>"$tmp/err" </dev/null &
	set +m
	sleep 2
	kill -INT $!
	status=0
	wait $! || status=$?
	asked="ridge bench" out=$(<"$tmp/out") err=$(<"$tmp/err")
	[ "$status" -eq 1 ] || complain "status should be 1"
	whole_lines
}

@test "a run that is killed leaves no half of a file" {
	set -m
	RIDGE_BENCH_TOTAL_S=60 "$RIDGE" bench --device host --only memory -o "$tmp/rows" >"$tmp/out" 2>"$tmp/err" </dev/null &
	set +m
	sleep 2
	kill -KILL $!
	wait $! || :
	[ ! -e "$tmp/rows" ] || complain "there is half a file"
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
