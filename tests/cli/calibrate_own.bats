#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Measured runs become a framework or an engine of one's own.

load helper

steps=tests/fixtures/calibrate/steps.csv
serving=tests/fixtures/calibrate/serving.csv

# near PATH VALUE SHARE: one number of the JSON within this share of the value
near() {
	got=$(leaves | awk -F '\t' -v path="$1" '$1 == path { print $2 }')
	awk -v got="${got:-0}" -v want="$2" -v share="$3" \
		'BEGIN { exit !(got > want * (1 - share) && got < want * (1 + share)) }' || complain "$1 is $got, not $2"
}

# lines FILE N: the head of a file of runs and its first N rows
lines() {
	grep -v '^#' "$1" | head -n $(($2 + 1))
}

@test "a factor that is known is found again" {
	mkdir -p "$tmp/db/stacks"
	sed 's/sigma: \[[0-9.]*, steps\]/sigma: [1.6, steps]/' "$RIDGE_HWDB/hwdb/stacks/torchtitan.yaml" \
		>"$tmp/db/stacks/torchtitan.yaml"
	lines "$steps" 99 | awk -F, -v OFS=, 'NR == 1 { print $0, "software", "tokens_per_s_per_gpu"; next } { print $0, "torchtitan", "" }' \
		>"$tmp/ask.csv"
	"$RIDGE" validate "$tmp/ask.csv" --hwdb "$tmp/db" --predictions "$tmp/p.csv" >/dev/null
	# the predictions of the altered framework, with 2 % of noise, are what was measured
	awk -F, -v OFS=, '
		FNR == NR && FNR == 1 { for (i = 1; i <= NF; i++) { if ($i == "predicted") p = i; if ($i == "kind") k = i } }
		FNR == NR { if ($k == "step") at[$2] = $p; next }
		FNR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_time_s") t = i }
		FNR > 1 { $t = at[FNR] * (1 + 0.02 * sin(12.9898 * FNR)) }
		{ print }' "$tmp/p.csv" "$tmp/ask.csv" >"$tmp/steps.csv"
	ask calibrate "$tmp/steps.csv" --stack ours --extends torchtitan --json
	answered
	near tables/parameters/0/value_number 1.6 0.03
	near tables/errors/1/n 8 0.01
	ask calibrate "$tmp/steps.csv" --stack ours --extends torchtitan --json
	first=$out
	ask calibrate "$tmp/steps.csv" --stack ours --extends torchtitan --json
	is "$first"
}

@test "three steps suffice, two do not" {
	lines "$steps" 3 >"$tmp/three.csv"
	ask calibrate "$tmp/three.csv" --stack ours --extends torchtitan
	answered
	shows "3 rows"
	shows "usual spread of frameworks"
	lines "$steps" 2 >"$tmp/two.csv"
	ask calibrate "$tmp/two.csv" --stack ours --extends torchtitan
	refused
	says "2 usable rows; 3 are needed"
}

@test "three steps of an unlisted framework narrow its interval, whatever they are" {
	question="train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --batch 1 --seq 8192 --recompute full --json"
	# width: high over low of the step, and the larger factor either way
	width() { leaves | awk -F '\t' '$1 ~ /step_s\/low$/ { l = $2 } $1 ~ /step_s\/high$/ { h = $2 } $1 == "answers/step_s" { t = $2 }
		$1 == "answers/step_s/value" { t = $2 } END { print h / l, (h / t > t / l ? h / t : t / l) }'; }
	# shellcheck disable=SC2086
	ask $question --stack unlisted-fsdp
	before=$(width)
	# as they are; one of them five times as long
	for wild in 1 5; do
		lines "$steps" 3 | awk -F, -v OFS=, -v wild=$wild '
			NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_time_s") t = i }
			NR == 3 { $t *= wild }
			{ print }' >"$tmp/three.csv"
		ask calibrate "$tmp/three.csv" --stack ours --extends unlisted-fsdp --yaml -o "$tmp/ours.yaml"
		answered
		# shellcheck disable=SC2086
		ask $question --stack "$tmp/ours.yaml"
		after=$(width)
		echo "$before $after" | awk -v wild=$wild \
			'{ exit !($1 > 1 && ($3 < $1 || (wild > 1 && $3 < $1 * 1.0001)) && $4 < 1.6001) }' || complain "$before, then $after"
		rm "$tmp/ours.yaml"
	done
}

@test "rows that are left out are named" {
	lines "$steps" 8 | sed '3s/h100-sxm5-80gb/h1000/; 5s/llama3-8b/llama-nobody/' >"$tmp/steps.csv"
	ask calibrate "$tmp/steps.csv" --stack ours --extends torchtitan
	answered
	says "line 3 left out: gpu_id: 'h1000' is not in the database"
	says "line 5 left out: model: 'llama-nobody' is not in the database"
	shows "6 of 8 steps"
	lines "$steps" 8 | sed 's/h100-sxm5-80gb/h1000/' >"$tmp/steps.csv"
	ask calibrate "$tmp/steps.csv" --stack ours
	refused
	says "h1000"
}

@test "the stack is checked, installed and used" {
	ask calibrate "$steps" --stack ours --extends torchtitan --yaml -o "$tmp/ours.yaml"
	answered
	ask check "$tmp/ours.yaml"
	answered
	question="train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --batch 1 --seq 8192 --recompute full --json"
	# shellcheck disable=SC2086
	ask $question --stack torchtitan
	usual=$out
	# shellcheck disable=SC2086
	ask $question --stack "$tmp/ours.yaml"
	answered
	[ "$out" != "$usual" ]
	XDG_DATA_HOME=$tmp/data
	export XDG_DATA_HOME
	ask calibrate "$steps" --stack ours --extends torchtitan --install
	answered
	[ -f "$tmp/data/ridge/stacks/ours.yaml" ]
	# shellcheck disable=SC2086
	ask $question --stack ours
	answered
	[ "$out" != "$usual" ]
}

@test "constants of an engine are found again" {
	ask calibrate "$serving" --engine ours --extends vllm --json
	answered
	near tables/parameters/0/value_s 3e-3 0.15
	near tables/parameters/2/value_number 2.5 0.1
	near tables/parameters/3/value_s 30e-6 0.15
	ask calibrate "$serving" --engine ours --extends vllm --write "$tmp/db"
	answered
	ask check "$tmp/db/ours.yaml"
	answered
	ask serve llama3-8b --gpu h100 --isl 512 --osl 256 --concurrency 8 --engine "$tmp/db/ours.yaml"
	answered
}

@test "what the rows of an engine do not vary is said" {
	grep -v '^#' "$serving" | awk -F, 'NR == 1 || $7 == 1' >"$tmp/one.csv"
	ask calibrate "$tmp/one.csv" --engine ours --extends vllm
	answered
	shows "no row has tensor parallelism"
	lines "$serving" 2 >"$tmp/two.csv"
	ask calibrate "$tmp/two.csv" --engine ours --extends vllm
	refused
	says "2 usable rows; 3 are needed"
}

# figure SECTION NAME LOW HIGH: a parameter that ridge-bench measured, in these bounds
figure() {
	got=$(leaves | awk -F '\t' -v section="$1" -v name="$2" '
		split($1, p, "/") < 4 || p[2] != "parameters" { next }
		p[4] == "section" { here = $2 == section }
		p[4] == "name" { here = here && $2 == name }
		here && p[4] ~ /^value_/ { print $2; exit }')
	awk -v x="${got:-0}" -v low="$3" -v high="$4" 'BEGIN { exit !(x > low && x < high) }' || complain "$1.$2 is $got"
}

@test "one run of ridge-bench fits all that it measured, and says what it did not" {
	bench=tests/fixtures/calibrate/ridge-bench.jsonl
	# every subject of ridge-bench has rows in it
	for kind in copy latency p2p fma gemm launch collective; do
		grep -q "\"kind\": \"$kind\"" "$bench" || complain "no rows of $kind"
	done
	ask calibrate "$bench" --json
	answered
	# cuBLAS reaches 80 % of peak and 80 % of bandwidth; the best candidates, at half the time, are not in it
	figure gemm eta_c 0.76 0.86
	figure gemm eta_m 0.74 0.88
	for dtype in fp16 fp8 int8 tf32; do
		figure gemm_by_dtype.$dtype eta_c 0.7 0.95
	done
	# RRZE-HPC/gpu-benches@1038c5d: 11.4 TB/s at 2.5 MB, 9.8 at 28 MB, memory from 63 MB on
	figure memory.l2 rate 9.8e12 11.4e12
	figure memory.l2 size 55e6 65e6
	figure memory.hbm rate 4.2e12 4.35e12
	figure memory.hbm latency 330e-9 360e-9
	figure launch stream_kernel 2.4e-6 2.46e-6
	figure launch graph_kernel 1.24e-6 1.28e-6
	figure fma fp64 30e12 34e12
	figure fma fp64_tensor 60e12 64e12
	figure collective.alltoall binf 280e9 400e9
	# what is not used is said, all of it
	unused=$(leaves | awk -F '\t' '$1 ~ /unused\/[0-9]+\/n_unused_rows/ { n += $2 } END { print n + 0 }')
	[ "$unused" -eq "$(grep -cE '"kind": "p2p"|cublaslt-|nccl-stream|read_l1|read_shared|"empty"|"dtype": "fp64", "m"' "$bench")" ] ||
		complain "$unused rows are not used"
	ask calibrate "$bench"
	answered
	# errors on rows that were not fitted
	for class in gemm_bf16 gemm_bf16_unseen_weights gemm_fp8 all_reduce reduce_scatter alltoall memory_read \
		memory_other_passes latency; do
		shows "$class "
	done
	case $err in *"not fitted"*) complain "something was not fitted" ;; esac
	shows "attention.context     train, serve  transferred from h100-sxm5-80gb"
	shows "attention.generation  serve         transferred from h100-sxm5-80gb"
	shows "moe                   train, serve  transferred from h100-sxm5-80gb"
	shows "p2p, host link                              45  models take the host link from the GPU's datasheet"
	shows "collective, launched one by one             76  includes CPU launch time; engines replay CUDA graphs"
}

@test "a run of ridge-bench is validated as it is, its device row and all" {
	ask validate tests/fixtures/calibrate/ridge-bench.jsonl
	answered
	shows "kind       gemm                      295 "
	shows "kind       collective                 76 "
}

@test "a few GEMMs of a new GPU give its rate, and a relative's kernels the rest" {
	awk '/"gemm"/ && !(/"cublaslt"/ && /"bf16"/ && ++n % 11 == 0) { next } /^#|"gemm"/' \
		tests/fixtures/calibrate/ridge-bench.jsonl >"$tmp/few.jsonl"
	[ "$(grep -c '"gemm"' "$tmp/few.jsonl")" -eq 14 ]
	ask calibrate "$tmp/few.jsonl"
	answered
	shows "gemm, but its rate    train, serve  transferred from h100-sxm5-80gb"
	ask calibrate "$tmp/few.jsonl" --json
	figure gemm eta_c 0.76 0.88
}

@test "experts of a single model are fitted too" {
	{
		head -1 tests/corpus/moe.csv
		# 64 rows: 1 to 32768 tokens at ep 4, 8, 16 and 32, by memory or by arithmetic, and 12 us on top
		awk 'BEGIN {
			for (ep = 4; ep <= 32; ep *= 2)
				for (tokens = 1; tokens <= 32768; tokens *= 2) {
					here = 128 / ep
					weight = 3 * 2048 * 768
					read_s = here * (1 - exp(-tokens * 8 / 128)) * weight * 2 / 2.8e12
					math_s = tokens * 8 / ep * weight * 2 / 6e14
					printf "h100-sxm5-80gb,vllm,0.14.0,bf16,%d,2048,768,8,128,1,%d,balanced,%.3f\n", \
						tokens, ep, 1e6 * (read_s > math_s ? read_s : math_s) + 12
				}
		}'
	} >"$tmp/experts.csv"
	ask calibrate "$tmp/experts.csv" --backend vllm
	answered
	shows "moe.bf16"
}

@test "an engine's all-reduce alone is fitted, up to the messages that it leaves to NCCL" {
	# one-shot kernels: 3 us and 200 GB/s to each peer; what is left to NCCL takes ten times as long
	awk 'BEGIN {
		print "gpu_id,library,version,collective,ranks,size_bytes,time_us"
		for (ranks = 2; ranks <= 8; ranks *= 2)
			for (size = 1024; size <= 67108864; size *= 4) {
				own = size <= (ranks > 2 ? 8e6 : 16e6)
				time = 3 + (ranks - 1) * size / 200e9 * 1e6
				printf "h100-sxm5-80gb,custom-trtllm,1,all_reduce,%d,%d,%.3f\n", \
					ranks, size, own ? time : 10 * time
			}
	}' >"$tmp/reduce.csv"
	ask calibrate "$tmp/reduce.csv" --backend trtllm --json
	answered
	figure custom_all_reduce b1 190e9 210e9
	mkdir "$tmp/written"
	ask calibrate "$tmp/reduce.csv" --backend trtllm --fresh --write "$tmp/written"
	answered
	grep -q "most2: 16MB, most: 8MB" "$tmp/written/h100-sxm5-80gb-trtllm.yaml"
}

@test "one GPU: collectives are another's" {
	grep -v '"collective"\|"p2p_\|"gemm"' tests/fixtures/calibrate/ridge-bench.jsonl >"$tmp/one.jsonl"
	ask calibrate "$tmp/one.jsonl"
	answered
	shows "collective            train, serve  transferred from h100-sxm5-80gb"
}

@test "requests that make no sense" {
	ask calibrate "$steps" --stack ours --engine ours
	refused
	ask calibrate "$steps" --stack torchtitan --extends torchtitan
	refused
	says "cannot extend itself"
	ask calibrate "$steps" --stack ../ours
	refused
	ask calibrate "$serving" --stack ours
	refused
	says "lacks the columns"
	ask calibrate "$steps" --stack ours --extends nobody
	refused
	ask calibrate "$steps" --extends torchtitan
	refused
}

# A machine whose large products are slower, by shape: its list of products brings its steps to what they are, be they of
# stages with expert layers alone, of a tensor group that overlaps nothing, of all-to-all context or of a cut model.
@test "a machine's own products bring its steps down" {
	mkdir -p "$tmp/truth/calibration"
	sed -e '/^gemm:/s/eta_c: \[[^]]*\]/eta_c: 0.72/' -e 's/delta: \[0.07899[^]]*\]/delta: 0.16/' \
		"$RIDGE_HWDB/hwdb/calibration/h100-sxm5-80gb.yaml" >"$tmp/truth/calibration/h100-sxm5-80gb.yaml"
	awk 'BEGIN {
		print "gpu_id,backend,dtype,m,n,k,time_us"
		for (m = 2048; m <= 16384; m *= 2) for (h = 3072; h <= 8192; h += 1024) {
			print "h100-sxm5-80gb,cublaslt,bf16," m "," h + 2048 "," h ",100000"
			print "h100-sxm5-80gb,cublaslt,bf16," m "," h "," 3 * h ",100000"
		} }' >"$tmp/ask.csv"
	cat >"$tmp/runs.csv" <<-'END'
		gpu_id,software,model,layers,num_gpus,gpus_per_node,tp,pp,cp,ep,dp,sp,sharding,mbs,gbs,seq,precision,recompute,step_time_s,notes
		h100-sxm5-80gb,Megatron-Core,llama3-8b,,8,8,4,1,1,1,2,true,ZeRO1,1,128,8192,bf16,none,1,no overlap
		h100-sxm5-80gb,Megatron-Core,llama3-70b,12,8,8,8,1,1,1,1,true,ZeRO1,1,32,4096,bf16,selective,1,
		h100-sxm5-80gb,Megatron-Core,llama3-8b,,8,8,1,1,4,1,2,true,ZeRO1,1,32,32768,bf16,none,1,cp a2a
		h100-sxm5-80gb,Megatron-Core,deepseek-v3,8,64,8,2,2,1,32,16,true,ZeRO1,1,512,4096,bf16,full,1,dense layers 0; w/o MTP
		h100-sxm5-80gb,Megatron-Core,mixtral-8x7b,,32,8,2,4,1,8,4,true,ZeRO1,1,256,4096,bf16,none,1,
	END
	"$RIDGE" validate "$tmp/ask.csv" --worst 0 --hwdb "$tmp/truth" --predictions "$tmp/products.csv" >/dev/null
	"$RIDGE" validate "$tmp/runs.csv" --worst 0 --hwdb "$tmp/truth" --predictions "$tmp/steps.csv" >/dev/null
	# what the other machine takes is what was measured; products scatter by 4 % beside
	measured() {
		awk -F, -v OFS=, -v name="$3" -v noise="$4" '
			FNR == NR && FNR == 1 { for (i = 1; i <= NF; i++) { if ($i == "predicted") p = i; if ($i == "kind") k = i } }
			FNR == NR { if ($p > 0 && $k != "memory") at[$2] = $p; next }
			FNR == 1 { for (i = 1; i <= NF; i++) if ($i == name) t = i }
			FNR > 1 { $t = at[FNR] * (name == "time_us" ? 1e6 : 1) * (1 + noise * sin(12.9898 * FNR)) }
			{ print }' "$1" "$2"
	}
	measured "$tmp/products.csv" "$tmp/ask.csv" time_us 0.04 >"$tmp/mine.csv"
	measured "$tmp/steps.csv" "$tmp/runs.csv" step_time_s 0 >"$tmp/mysteps.csv"
	ask calibrate "$tmp/mine.csv" --validate-with "$tmp/mysteps.csv" --json
	answered
	near tables/errors/0/mape_frac 0.077 0.2
	near tables/errors/1/n 5 0.01
	[ "$(leaves | awk -F '\t' '$1 == "tables/errors/1/mape_frac" { print ($2 < 0.01) }')" = 1 ] || complain "steps stay off"
	# a dozen products suffice
	head -13 "$tmp/mine.csv" >"$tmp/few.csv"
	ask calibrate "$tmp/few.csv" --validate-with "$tmp/mysteps.csv" --json
	[ "$(leaves | awk -F '\t' '$1 == "tables/errors/1/mape_frac" { print ($2 < 0.02) }')" = 1 ] || complain "steps stay off"
}

@test "steps to validate with are read like others" {
	head -60 tests/fixtures/calibrate/h100.csv >"$tmp/rows.csv"
	ask calibrate "$tmp/rows.csv" --validate-with "$tmp/none.csv"
	refused
	ask calibrate "$tmp/rows.csv" --validate-with "$steps"
	answered
	shows "before"
	ask calibrate "$steps" --stack ours --validate-with "$steps"
	refused
}
