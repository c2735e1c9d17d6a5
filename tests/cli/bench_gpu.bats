#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The host side of the GPU benchmarks, over GPUs that do nothing (tests/bench/gpus.c): what is refused, recorded, given up.

load helper

# rows are looked at, not times: all subjects take a second
RIDGE_BENCH_TOTAL_S=1
export RIDGE_BENCH_TOTAL_S

# GPUs that do nothing run no machine code: one target will do
OWN=$BUILD/one-target
GPUS=$OWN/bench-fake
export OWN GPUS

setup_file() {
	make -s bench-fake BUILD="$OWN" NVCC_TARGETS="${NVCC_TARGETS:--gencode arch=compute_90a,code=sm_90a}" >/dev/null
}

# bench [NAME=VALUE...] OPTION...: run it over these GPUs; none may keep a test waiting
bench() {
	[ -x "$GPUS/ridge-bench" ] || skip "no CUDA toolkit to build it with"
	status=0
	LD_LIBRARY_PATH=$GPUS timeout 60 env "${@:1:$#-1}" "$GPUS/ridge-bench" --quick --only "${@: -1}" \
		>"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
	out=$(<"$tmp/out")
	err=$(<"$tmp/err")
	asked="ridge-bench $*"
}

# asked_for NAME=VALUE... -- OPTION...: run it over these GPUs with a command line of one's own
asked_for() {
	local -a set=()
	[ -x "$GPUS/ridge-bench" ] || skip "no CUDA toolkit to build it with"
	while [ "$1" != -- ]; do
		set+=("$1")
		shift
	done
	shift
	status=0
	LD_LIBRARY_PATH=$GPUS timeout 120 env "${set[@]}" "$GPUS/ridge-bench" "$@" \
		>"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
	out=$(<"$tmp/out")
	err=$(<"$tmp/err")
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
	for text in '"power_w": 655' '"max_clock_mhz": 1980' '"sms": 4' '"l2_bytes": 1048576' '"memory_clock_mhz": 3201' '"power_limit_w": 700' '"ecc": "on"' '"mig": "off"' '"other_processes": 0' \
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
	# a GPU that is there is not to be taken for none
	bench FAKE_DRIVER=12040 launch
	failed 0 "the driver supports CUDA 12.4, and this was built with CUDA 1"
	says "--device host"
	bench FAKE_DRIVER=0 launch
	says "there is no NVIDIA driver"
	says "measuring the host"
	asked_for FAKE_DRIVER=0 -- --quick --device 0
	failed 0 "there is no NVIDIA driver"
	asked_for FAKE_DRIVER=0 -- --quick --gpus 0,1
	failed 0 "there is no NVIDIA driver"
}

@test "--device is one GPU: subjects of several are left out, or refused" {
	asked_for FAKE_GPUS=4 -- --quick --device 1 --only p2p
	[ "$status" -eq 2 ] || complain "status should be 2"
	says "--gpus selects them"
	asked_for FAKE_GPUS=4 FAKE_FREE=1 -- --quick --device 1
	case $out in *'"kind": "collective"'* | *'gpu 0'*) complain "other GPUs were used" ;; esac
	for words in "--device host --gpus 0,1" "--device host --busy"; do
		# shellcheck disable=SC2086
		asked_for FAKE_GPUS=4 -- --quick --only launch $words
		[ "$status" -eq 2 ] || complain "status should be 2"
	done
}

@test "matrix instructions are run where they exist" {
	for capability in 80 89 90 100 120; do
		bench FAKE_CAPABILITY=$capability tensor
		[ "$status" -eq 1 ] || complain "status should be 1: nothing was computed"
		sed -n 's/.*tensor: \([a-z]* [a-z0-9]*\): wrong.*/\1/p' "$tmp/err" >"$tmp/$capability"
	done
	[ "$(grep -l 'mma fp8' "$tmp"/80 "$tmp"/89 "$tmp"/90 "$tmp"/100 "$tmp"/120 | xargs -n 1 basename | tr '\n' ' ')" = "89 90 120 " ]
	! grep -q '^mma fp8' "$tmp/90" || complain "fp8 by mma on 9.0"
	[ "$(grep -l 'mma fp64' "$tmp"/80 "$tmp"/89 "$tmp"/90 "$tmp"/100 "$tmp"/120 | xargs -n 1 basename | tr '\n' ' ')" = "80 90 100 " ]
	# code that the driver translated is said
	bench FAKE_CAPABILITY=90 FAKE_PTX=80 launch
	says "built for compute capability 8.0"
}

@test "pinned memory is made beside the GPU" {
	bench transfer
	answered
	says "fake: pinned on 1 CPU, the GPU's"
}

@test "a profiler sees points as ranges of NVTX" {
	bench NVTX_INJECTION64_PATH="$GPUS/libnvidia-ml.so.1" launch
	answered
	says "a profiler is called"
}

@test "times that never settle take no more than the time that is promised" {
	start=$(date +%s)
	asked_for FAKE_UNSTEADY=1 FAKE_FREE=180000000 RIDGE_BENCH_TOTAL_S=4 -- --quick --only memory,latency,transfer,fma,gemm,launch
	took=$(($(date +%s) - start))
	[ "$took" -lt 20 ] || complain "$took s"
}

@test "memory that runs out is an error with its place" {
	bench FAKE_MEMORY=1000 memory
	failed 1 "out of memory"
}

@test "a GPU that does not answer is given up" {
	bench FAKE_HANG=0 RIDGE_BENCH_PATIENCE_S=1 launch
	failed 1 "GPU 0 does not answer"
	for subject in memory gemm transfer; do
		bench FAKE_HANG=0 FAKE_HANG_AFTER=3 FAKE_UNSTEADY=1 FAKE_FREE=180000000 RIDGE_BENCH_PATIENCE_S=1 "$subject"
		[ "$status" -eq 3 ] || complain "status should be 3"
		says "$subject: GPU 0 does not answer"
		leaves -l >/dev/null
	done
	bench FAKE_GPUS=8 FAKE_HANG=5 RIDGE_BENCH_PATIENCE_S=1 collective
	failed 1 "GPU 5 does not answer"
	[ "$(grep -c 'fake: aborted' "$tmp/err")" -eq 8 ] || complain "not every communicator was aborted"
	bench FAKE_GPUS=8 FAKE_HANG=5 RIDGE_BENCH_PATIENCE_S=1 p2p
	failed 1 "p2p: a GPU does not answer"
}

@test "ridge bench ends as ridge-bench does, with the rows until then" {
	[ -x "$GPUS/ridge-bench" ] || skip "no CUDA toolkit to build it with"
	cp "$RIDGE" "$GPUS"/* "$tmp"
	for wrong in FAKE_HANG=0 FAKE_MEMORY=1000; do
		status=0
		env LD_LIBRARY_PATH="$tmp" RIDGE_BENCH_PATIENCE_S=1 $wrong "$tmp/ridge" bench --quick --only memory \
			>"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
		out=$(<"$tmp/out") err=$(<"$tmp/err") asked="ridge bench, $wrong"
		failed 1 "some subjects were not measured"
	done
	for wrong in FAKE_PROCESSES=1 FAKE_MIG=1 FAKE_DRIVER=12040; do
		status=0
		env LD_LIBRARY_PATH="$tmp" $wrong "$tmp/ridge" bench --quick --only memory \
			>"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
		out=$(<"$tmp/out") err=$(<"$tmp/err") asked="ridge bench, $wrong"
		failed 0 "nothing was measured"
	done
	# options go through
	env LD_LIBRARY_PATH="$tmp" FAKE_PROCESSES=1 "$tmp/ridge" bench --quick --only launch --busy >"$tmp/out" 2>"$tmp/err"
	[ "$(grep -c '"kind": "launch"' "$tmp/out")" -eq 10 ]
	env LD_LIBRARY_PATH="$tmp" FAKE_GPUS=8 "$tmp/ridge" bench --quick --only p2p --gpus 2,5 >"$tmp/out" 2>"$tmp/err"
	grep -q "gpu 2 -> gpu 5" "$tmp/out"
}

@test "whoever ends it in the middle has whole rows" {
	bench launch
	for signal in KILL TERM; do
		set -m
		LD_LIBRARY_PATH=$GPUS RIDGE_BENCH_TOTAL_S=60 FAKE_GPUS=2 "$GPUS/ridge-bench" --only collective \
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
		out=$(<"$tmp/out")
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
	LD_LIBRARY_PATH=$GPUS FAKE_GPUS=8 "$GPUS/ridge-bench" --quick --only p2p --gpus 1,2,6 >"$tmp/out" 2>"$tmp/err"
	[ "$(grep -o 'gpu . -> gpu .' "$tmp/out" | sort -u | wc -l)" -eq 6 ]
	for list in 1 1,1 0,9 x; do
		status=0
		LD_LIBRARY_PATH=$GPUS FAKE_GPUS=8 "$GPUS/ridge-bench" --gpus $list >"$tmp/out" 2>"$tmp/err" || status=$?
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
	# a candidate whose graph cannot be made: the next is what programs get
	bench FAKE_FREE=180000000 FAKE_GEMM=graph gemm
	answered
	[ "$(grep -c '"backend": "cublaslt"' "$tmp/out")" -eq "$rows" ] || complain "shapes are lost"
	says "candidate 0: no graph: out of memory"
	# a failed capture leaves no stream behind, and later subjects theirs
	bench FAKE_FREE=180000000 FAKE_GEMM=capture gemm,launch
	answered
	[ "$(grep -c '"kind": "launch"' "$tmp/out")" -eq 10 ]
	case $err in *"in a capture"*) complain "a capture stays open" ;; esac
}

# loops PART TARGET: print what is wrong with the loops of one source in the machine code of one target
loops() {
	"$tmp/sass" "$BUILD/sass/$1.$2.cubin" >"$tmp/loops" || complain "no machine code of $1 for $2"
	awk -v source="${3:-$1}" -v target="$2" -f tests/bench/loops.awk "${4:-tests/bench/loops.txt}" "$tmp/loops"
}

@test "the loops of the machine code have the instructions that are counted" {
	make -s bench-sass BUILD="$BUILD" ${SASS_TARGETS:+SASS_TARGETS="$SASS_TARGETS"}
	[ -d "$BUILD/sass" ] || skip "no nvcc"
	"${CC:-cc}" -O1 -o "$tmp/sass" tests/bench/sass.c
	for cubin in "$BUILD"/sass/*.cubin; do
		name=$(basename "$cubin" .cubin)
		[ "${name%.*}" = hollow ] || loops "${name%.*}" "${name#*.}" || complain "loops of $name"
	done
	# what the compiler hollowed out is found: loads that it lifted out of a loop, and fp8 products where there are none
	! loops hollow 90a memory >"$tmp/found" || complain "a hollow loop passes"
	grep -q "a loop of .* instructions without LDG" "$tmp/found" || complain "another fault"
	printf 'tensor\tproductsILNS_4kindE4E\tHMMA\t128\t1.06\t90a\n' >"$tmp/wanted"
	! loops tensor 90a tensor "$tmp/wanted" >"$tmp/found" || complain "additions pass for products"
}

@test "sources share no names but those that they declare" {
	[ -x "$GPUS/ridge-bench" ] || skip "no CUDA toolkit to build it with"
	for object in "$OWN"/obj/bench/*.cu.o; do
		names=$(nm -C --defined-only "$object" | awk '$2 ~ /^[TDBR]$/ { $1 = $2 = ""; print }' |
			grep -vE '^  (cuda_|gemm_|n_gemm_types|product_|lt_ok|nccl_ok|ranks_|bench_plugin|fatbinData|__device_stub__ZN[0-9]+_GLOBAL__N_|\(anonymous namespace\)::)') || continue
		echo "others of $object: $names"
		false
	done
}

@test "other targets than last time rebuild what runs on GPUs, and are said" {
	cat >"$tmp/nvcc" <<END
#!/bin/sh
while [ \$# -gt 0 ]; do
	[ "\$1" != -o ] || { echo "\$2" >>$tmp/built; : >"\$2"; }
	shift
done
END
	chmod +x "$tmp/nvcc"
	for targets in sm_80 sm_80 sm_90a; do
		make -s BUILD="$tmp/build" NVCC="$tmp/nvcc" NVCC_TARGETS="-gencode arch=compute_80,code=$targets" \
			"$tmp/build/obj/bench/cuda_check.cu.o"
	done
	[ "$(grep -c cuda_check "$tmp/built")" -eq 2 ] || complain "built $(wc -l <"$tmp/built") times"
	run sh src/bench/targets.sh --said "$tmp/nvcc" -gencode arch=compute_90a,code=sm_90a
	[ "$output" = "ridge-bench: built for sm_90a" ] || complain "it said: $output"
}
