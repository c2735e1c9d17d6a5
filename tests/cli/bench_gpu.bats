#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The host side of the GPU benchmarks, over GPUs that do nothing (tests/bench/gpus.c): what is refused, recorded, given up.

load helper

setup_file() {
	make -s bench-fake BUILD="$BUILD" ${NVCC_TARGETS:+NVCC_TARGETS="$NVCC_TARGETS"} >/dev/null
}

# bench [NAME=VALUE...] OPTION...: run it over these GPUs; none may keep a test waiting
bench() {
	[ -x "$BUILD/bench-fake/ridge-bench" ] || skip "no CUDA toolkit to build it with"
	status=0
	LD_LIBRARY_PATH=$BUILD/bench-fake timeout 60 env "${@:1:$#-1}" "$BUILD/bench-fake/ridge-bench" --quick --only "${@: -1}" \
		>"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
	out=$(cat "$tmp/out")
	err=$(cat "$tmp/err")
	asked="ridge-bench $*"
}

# failed ROWS TEXT: exit status 3, ROWS complete lines on stdout, TEXT on stderr
failed() {
	[ "$status" -eq 3 ] || complain "status should be 3"
	[ "$(wc -l <"$tmp/out")" -eq "$1" ] || complain "there should be $1 lines"
	[ -z "$out" ] || leaves -l >/dev/null
	says "$2"
}

@test "the device comes first, with its settings" {
	bench FAKE_THROTTLE=36 launch
	answered
	case $out in '{"kind": "device", "device": "made-up GPU"'*) ;; *) complain "no device row" ;; esac
	for text in '"memory_clock_mhz": 3201' '"power_limit_w": 700' '"ecc": "on"' '"mig": "off"' '"other_processes": 0' \
		'"cuda_driver": "13.0"' '"temperature_c": 41' '"note": "throttled: power cap, thermal"'; do
		shows "$text"
	done
}

@test "a busy or divided GPU is refused, and measured when asked" {
	bench FAKE_PROCESSES=1 launch
	failed 0 "GPU 0 is busy: it has 1 other process"
	says "--busy"
	bench FAKE_UTILIZATION=55 launch
	failed 0 "55 % utilization"
	bench FAKE_MIG=1 launch
	failed 0 "divided by MIG"
	bench FAKE_GPUS=8 FAKE_BUSY=3 FAKE_PROCESSES=1 p2p
	failed 1 "GPU 3 is busy"
	bench FAKE_GPUS=8 FAKE_BUSY=3 FAKE_PROCESSES=1 collective
	failed 1 "GPU 3 is busy"
}

@test "no driver, and one that is too old, are said with both versions" {
	bench FAKE_DRIVER=12040 launch
	says "the driver supports CUDA 12.4, and this was built with CUDA 1"
	bench FAKE_DRIVER=0 launch
	says "there is no NVIDIA driver"
}

@test "memory that runs out is an error with its place" {
	bench FAKE_MEMORY=1000 memory
	failed 1 "out of memory"
}

@test "a GPU that does not answer is given up" {
	bench FAKE_HANG=0 RIDGE_BENCH_PATIENCE_S=1 launch
	failed 1 "GPU 0 does not answer"
	bench FAKE_GPUS=8 FAKE_HANG=5 RIDGE_BENCH_PATIENCE_S=1 collective
	failed 1 "GPU 5 does not answer"
	[ "$(grep -c 'fake: aborted' "$tmp/err")" -eq 8 ] || complain "not every communicator was aborted"
	bench FAKE_GPUS=8 FAKE_HANG=5 RIDGE_BENCH_PATIENCE_S=1 p2p
	failed 1 "p2p: a GPU does not answer"
}

@test "whoever ends it in the middle has whole rows" {
	bench launch
	for signal in KILL TERM; do
		set -m
		LD_LIBRARY_PATH=$BUILD/bench-fake FAKE_GPUS=2 "$BUILD/bench-fake/ridge-bench" --only collective \
			>"$tmp/out" 2>"$tmp/err" </dev/null &
		set +m
		for _ in $(seq 100); do
			[ "$(wc -l <"$tmp/out")" -lt 3 ] || break
			sleep 0.1
		done
		kill -$signal $!
		status=0
		wait $! || status=$?
		[ "$status" -gt 128 ] || complain "not ended by the signal"
		[ -z "$(tail -c 1 "$tmp/out")" ] || complain "the last line is cut"
		out=$(cat "$tmp/out")
		leaves -l >/dev/null
	done
}

@test "collectives run in graphs, apart from those launched one by one" {
	bench FAKE_GPUS=8 collective
	answered
	[ "$(grep -c '"backend": "nccl",.*in a CUDA graph' "$tmp/out")" -eq 20 ] || complain "20 in graphs"
	[ "$(grep -c '"backend": "nccl-stream",.*launched one by one' "$tmp/out")" -eq 20 ] || complain "20 in streams"
	bench FAKE_GPUS=8 FAKE_CAPTURE=1 collective
	answered
	[ "$(grep -c '"backend": "nccl-stream"' "$tmp/out")" -eq 20 ] || complain "20 in streams"
	says "cannot be captured"
}

@test "pairs of GPUs: one of each kind, or all that are named" {
	bench FAKE_GPUS=8 p2p
	answered
	[ "$(grep -o 'gpu . -> gpu .' "$tmp/out" | sort -u | tr '\n' ';')" = "gpu 0 -> gpu 1;gpu 0 -> gpu 4;gpu 1 -> gpu 0;gpu 4 -> gpu 0;" ] ||
		complain "other pairs"
	LD_LIBRARY_PATH=$BUILD/bench-fake FAKE_GPUS=8 "$BUILD/bench-fake/ridge-bench" --quick --only p2p --gpus 1,2,6 >"$tmp/out" 2>"$tmp/err"
	[ "$(grep -o 'gpu . -> gpu .' "$tmp/out" | sort -u | wc -l)" -eq 6 ]
	for list in 1 1,1 0,9 x; do
		status=0
		LD_LIBRARY_PATH=$BUILD/bench-fake FAKE_GPUS=8 "$BUILD/bench-fake/ridge-bench" --gpus $list >"$tmp/out" 2>"$tmp/err" || status=$?
		[ "$status" -eq 2 ] || complain "--gpus $list should be refused"
	done
}

@test "one GEMM that fails costs itself alone" {
	bench FAKE_FREE=180000000 gemm
	answered
	rows=$(grep -c '"backend": "cublaslt"' "$tmp/out")
	# the first candidate cannot: the second is what programs get
	bench FAKE_FREE=180000000 FAKE_GEMM=first gemm
	answered
	[ "$(grep -c '"backend": "cublaslt"' "$tmp/out")" -eq "$rows" ] || complain "shapes are lost"
	bench FAKE_FREE=180000000 FAKE_GEMM=heuristic gemm
	answered
	[ "$(grep -c '"backend": "cublaslt"' "$tmp/out")" -eq $((rows - 1)) ] || complain "more than one shape is lost"
	says "no candidates: internal error"
	# a failed capture leaves no stream behind, and later subjects theirs
	bench FAKE_FREE=180000000 FAKE_GEMM=capture gemm,launch
	answered
	[ "$(grep -c '"kind": "launch"' "$tmp/out")" -eq 10 ]
	case $err in *"in a capture"*) complain "a capture stays open" ;; esac
}

# has_loop FILE LENGTH COLUMN COUNT: FILE has a loop of at most LENGTH instructions, COUNT of them in COLUMN (tests/bench/sass.c)
has_loop() {
	awk -v most="$2" -v c="$3" -v n="$4" '$1 <= most && $c == n { found = 1 } END { exit !found }' "$1" ||
		{ cat "$1"; complain "no loop with $4 in column $3"; }
}

@test "the loops of the machine code have the instructions that are counted" {
	nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || skip "no nvcc"
	"${CC:-cc}" -O1 -o "$tmp/sass" tests/bench/sass.c
	for part in fma wgmma; do
		"$nvcc" -std=c++17 -O2 -cubin -arch=sm_90a -o "$tmp/$part.cubin" "src/bench/cuda_$part.cu" || skip "no sm_90a"
		"$tmp/sass" "$tmp/$part.cubin" >"$tmp/$part"
	done
	has_loop "$tmp/fma" 265 3 256 # FFMA
	has_loop "$tmp/fma" 265 4 256 # HFMA2
	has_loop "$tmp/fma" 265 5 256 # DFMA
	has_loop "$tmp/wgmma" 280 9 64
}
