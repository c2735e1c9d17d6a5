#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Predicted against measured.

load helper

measured() {
	printf '%s\n' 'gpu_id,backend,version,dtype,m,n,k,time_us' "$@" >"$tmp/m.csv"
}

@test "scores of a file" {
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,176 h100-sxm5-80gb,vllm,1,bf16,4096,4096,8192,400
	ask validate "$tmp/m.csv" --json
	answered
	json_is tables/groups/0/by all
	json_is tables/groups/0/name all
	json_is tables/groups/0/n 2
	json_is tables/groups/0/n_skipped 0
	ask validate "$tmp/m.csv" --by gpu --worst 1
	answered
	shows "h100-sxm5-80gb"
	shows "bf16 m 4096 n 4096"
}

@test "standard input" {
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,176
	ask_with "$(<"$tmp/m.csv")" validate - --by gpu
	answered
	shows "h100-sxm5-80gb"
}

@test "rows without a prediction are skipped, with the reason" {
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,176 t4-16gb-nobody,vllm,1,bf16,4096,4096,4096,176
	ask validate "$tmp/m.csv" --json
	answered
	json_is tables/groups/0/n 1
	json_is tables/groups/0/n_skipped 1
}

@test "the median decides the exit status" {
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,100
	ask validate "$tmp/m.csv" --max-error 10%
	answered 1
	shows misses
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,176
	ask validate "$tmp/m.csv" --max-error 10%
	answered
	shows meets
}

@test "predictions go to a file, one line a row" {
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,176 h100-sxm5-80gb,vllm,1,bf16,4096,4096,8192,400
	ask validate "$tmp/m.csv" --predictions "$tmp/p.csv"
	answered
	[ "$(wc -l <"$tmp/p.csv")" -eq 3 ] || complain "three lines"
	head -1 "$tmp/p.csv" | grep -q '^file,line,case,.*,measured,predicted,low,high,error_percent,roof,' || complain "the head"
}

@test "only some groups" {
	measured h100-sxm5-80gb,vllm,1,bf16,4096,4096,4096,176 a100-sxm4-80gb,vllm,1,bf16,4096,4096,8192,1000
	ask validate "$tmp/m.csv" --only gpu=a100-sxm4-80gb --json
	answered
	json_is tables/groups/0/n 1
	ask validate "$tmp/m.csv" --only gpu=b200-sxm
	refused
	ask validate "$tmp/m.csv" --only nonsense
	refused
}

@test "what is no file of measurements" {
	printf 'a,b\n1,2\n' >"$tmp/x.csv"
	ask validate "$tmp/x.csv"
	refused
	printf '\037\213\010' >"$tmp/x.gz"
	ask validate "$tmp/x.gz"
	refused
	says zcat
	ask validate "$tmp/none.csv"
	refused
	ask validate "$tmp/x.csv" --by nothing
	refused
	ask validate "$tmp/x.csv" --max-error 0
	refused
}

@test "a file that nobody can predict is refused" {
	measured nobody,vllm,1,bf16,4096,4096,4096,176
	ask validate "$tmp/m.csv"
	refused
}

# between LEAST MOST LINE: number of this line of what --get printed
between() {
	awk -v line="$3" -v a="$1" -v b="$2" 'NR == line { good = $1 + 0 == $1 && $1 >= a && $1 <= b } END { exit !good }' <<<"$out" ||
		complain "line $3 should be between $1 and $2"
}

# gates FILE MEDIAN BIAS [LOW HIGH]: on the median error, the bias and the share inside intervals of published rows
gates() {
	ask validate "tests/corpus/$1" --get groups.0.median_ape_frac,groups.0.bias_frac,groups.0.coverage_frac,groups.0.n
	answered
	between 0 "$2" 1
	between "-$3" "$3" 2
	[ $# -eq 3 ] || between "$4" "$5" 3
}

@test "published kernels, collectives and peaks of memory: median error and bias, and intervals hold about four of five" {
	gates gemm.csv 0.08 0.03 0.65 0.95
	gates attention.csv 0.08 0.04 0.65 0.95
	gates moe.csv 0.12 0.08
	gates collective.csv 0.08 0.04 0.65 0.95
	gates comm.csv 0.12 0.08
	gates memory.csv 0.05 0.03
}

@test "published training steps: median error, bias, interval" {
	gates train.csv 0.07 0.035 0.72 0.95
	between 82 100 4
}

@test "a run of an unknown framework and model is predicted from its shape, and warned of; what is not said is not guessed" {
	head='gpu_id,case_id,source,software,family,task,model,layers,hidden,heads,ffn,vocab,seq,num_gpus,precision,tp,pp,sharding,mbs,gbs,step_time_s'
	printf '%s\n' "$head" \
		'h100-sxm5-80gb,a,nobody,thing 1.0,dense-llm,pretrain,own-7b,32,4096,32,16384,50368,2048,8,bf16,1,1,FSDP-ZeRO3,4,64,1.3' \
		'h100-sxm5-80gb,b,nobody,thing 1.0,dense-llm,pretrain,own-7b,32,4096,32,16384,50368,2048,8,,1,1,FSDP-ZeRO3,4,64,1.3' \
		'h100-sxm5-80gb,c,nobody,thing 1.0,dense-llm,pretrain,own-7b,32,4096,32,16384,50368,2048,8,bf16,,,,4,64,1.3' \
		>"$tmp/t.csv"
	ask validate "$tmp/t.csv" --by framework --json
	answered
	json_is tables/groups/0/n 1
	json_is tables/groups/0/n_skipped 2
	json_is tables/groups/0/n_warned 1
	json_is tables/groups/1/name unlisted-fsdp
}

@test "prediction layers of a hybrid are those in the FLOP that a row prints" {
	local head row
	head='gpu_id,case_id,source,date,software,family,task,model,seq,num_gpus,precision,tp,pp,ep,sharding,mbs,gbs,tokens_per_s_per_gpu,tflops_per_gpu'
	row='nobody,2026-06,NeMo container 26.06,moe-llm,pretrain,nemotron-3-super,8192,64,mxfp8,1,1,64,distributed-optimizer(ZeRO1),1,512,10000'
	printf '%s\n' "$head" "gb300,none,$row,754" "gb300,two,$row,847" "gb300,unsaid,$row," >"$tmp/t.csv"
	ask validate "$tmp/t.csv" --predictions "$tmp/p.csv"
	answered
	predicted() { awk -F, -v c="$1" '$3 == c { print $19 }' "$tmp/p.csv"; }
	[ "$(predicted two)" = "$(predicted unsaid)" ]
	[ "$(predicted none)" = "$("$RIDGE" train nemotron-3-super --gpu gb300 --gpus 64 --layout ep=64,zero=1 --batch 1 \
		--global-batch 512 --seq 8192 --dtype mxfp8 --stack megatron-bridge --mtp 0 --no-memory --get step_s 2>/dev/null)" ]
}

@test "a scaling series is scored by step and by efficiency" {
	cat >"$tmp/s.csv" <<-'END'
	gpu_id,series,source,model,gpu,num_gpus,nodes,interconnect,precision,scaling,batch,parallelism,throughput,unit,confidence,notes
	h100-sxm5-96gb,titan-8b-fsdp-compile,pytorch/torchtitan,llama3-8b,H100,8,1,,bf16,weak,16,FSDP,53336,tokens/s,exact,
	h100-sxm5-96gb,titan-8b-fsdp-compile,pytorch/torchtitan,llama3-8b,H100,128,16,,bf16,weak,256,FSDP,833792,tokens/s,exact,
	END
	ask validate "$tmp/s.csv" --by kind --json
	answered
	json_is tables/groups/0/n 3
	json_is tables/groups/1/name efficiency
	json_is tables/groups/1/n 1
	json_is tables/groups/2/n 2
}

# predicted FILE: the predictions of its rows, one a line
predicted() {
	ask validate "$1" --predictions "$tmp/p.csv"
	[ -s "$tmp/p.csv" ] || complain "no predictions"
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 { print $at["predicted"] }' "$tmp/p.csv"
}

@test "replicas share the clients" {
	cat >"$tmp/r.csv" <<-'END'
	gpu_id,case_id,kind,software,sw_version,model_key,weight_dtype,act_dtype,n_gpu,tp,pp,concurrency,request_rate_rps,num_requests,isl,osl,out_tps_total,confidence
	h100-sxm5-80gb,half,online-serving,vLLM,0.8,llama3.1-70b,bf16,bf16,8,8,1,32,inf,320,1000,250,1000,exact
	h100-sxm5-80gb,two,online-serving,vLLM,0.8,llama3.1-70b,bf16,bf16,16,8,1,64,inf,640,1000,250,1000,exact
	END
	run predicted "$tmp/r.csv"
	awk -v a="${lines[0]}" -v b="${lines[1]}" 'BEGIN { exit !(a > 0 && b / a > 1.999 && b / a < 2.001) }' ||
		complain "${lines[*]}"
}

@test "so many links of a node are a sum, however it is written" {
	local wire
	for wire in "EFA 32x100 Gb/s per node" "EFA 32x100Gb/s per node" "EFA 3200 Gb/s per node" "8x 400 Gb/s"; do
		{
			echo gpu_id,case_id,source,software,family,task,model,seq,gpu,num_gpus,nodes,gpus_per_node,interconnect,precision,tp,pp,dp,sharding,mbs,gbs,recompute,step_time_s,confidence
			echo "h100-sxm5-80gb,x,s,Megatron-LM,dense-llm,pretrain,llama3-70b,8192,H100,64,8,8,$wire,bf16,8,2,4,,1,64,none,5,exact"
		} >"$tmp/w.csv"
		predicted "$tmp/w.csv" >>"$tmp/all"
	done
	[ "$(sort -u "$tmp/all" | wc -l)" = 1 ] && [ "$(wc -l <"$tmp/all")" = 4 ] || complain "$(<"$tmp/all")"
}

# agrees REGIME LEAST: at least so many rows of the corpus are answered by the words that `--worst` prints as they are scored
agrees() {
	local same=0 answer words
	while IFS='|' read -r answer words; do
		case $words in *--simulate*) continue ;; esac
		# shellcheck disable=SC2086 # words of a command line
		if "$RIDGE" $words 2>/dev/null | grep -qF " $answer"; then
			same=$((same + 1))
		fi
	done < <("$RIDGE" validate tests/corpus/serve.csv --only "regime=$1" --by regime --worst 60 2>/dev/null |
		awk '/^predicted /{ p = $2 " " $3 } sub(/^composition +ridge /, "") { print p "|" $0 }')
	[ "$same" -ge "$2" ] || complain "$1: $same rows agree"
}

@test "a serving row and the same question typed give the same answer" {
	agrees latency 19
	agrees prompt 4
	agrees ttft 2
	agrees throughput 40 # the others are of several replicas, or of one GPU
}

@test "a release whose kernels differ has an engine of its own, by its version, its date, its GPU or what was checked out" {
	cat >"$tmp/r.csv" <<-'END'
	gpu_id,case_id,kind,software,sw_version,date,model_key,weight_dtype,n_gpu,tp,concurrency,request_rate_rps,num_requests,isl,osl,ttft_ms_p50,tpot_ms_mean,tpot_kind,out_tps_total,confidence
	b300-sxm,a,online-serving,SGLang,0.5.9,,deepseek-r1,fp8-block,8,8,4,inf,40,7373,922,300,,,,exact
	b300-sxm,b,online-serving,SGLang,0.5.10.post1,,deepseek-r1,fp8-block,8,8,4,inf,40,7373,922,1900,,,,exact
	b300-sxm,c,online-serving,SGLang,,2026-05-13,deepseek-r1,fp8-block,8,8,4,inf,40,7373,922,1900,,,,exact
	b300-sxm,d,online-serving,SGLang,0.5.12,,deepseek-r1,fp8-block,8,8,4,inf,40,7373,922,300,,,,exact
	b200-sxm,f,online-serving,TensorRT-LLM,commit b6261862,,deepseek-r1,nvfp4,8,8,4,inf,40,7373,922,300,,,,exact
	mi300x,g,online-serving,SGLang,0.5.9,,deepseek-r1,fp8-block,8,8,4,inf,40,7373,922,300,,,,exact
	mi325x,h,online-serving,SGLang,,2026-02-27,deepseek-r1,fp8-block,8,8,4,inf,40,7373,922,300,,,,exact
	mi325x,i,online-serving,SGLang,0.5.12,,deepseek-r1,fp8-block,8,8,4,inf,40,7373,922,300,,,,exact
	mi355x,j,online-serving,SGLang,,2025-12-14,deepseek-r1,mxfp4,8,8,4,inf,40,7373,922,300,,,,exact
	mi355x,k,online-serving,SGLang,0.5.9,,deepseek-r1,mxfp4,8,8,4,inf,40,7373,922,300,,,,exact
	b300-sxm,e,online-serving,SGLang,,2026-06-01,deepseek-r1,fp8-block,8,8,4,inf,40,7373,922,300,,,,exact
	END
	ask validate "$tmp/r.csv" --predictions "$tmp/p.csv"
	answered
	[ "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "framework") at = i; next }
		{ printf "%s ", $at }' "$tmp/p.csv")" = 'sglang sglang-0.5.10 sglang-0.5.10 sglang trtllm-1.0 sglang-0.5.9 sglang-0.5.9 sglang sglang-0.5.6 sglang sglang ' ] || complain "$(cat "$tmp/p.csv")"
}

@test "a simulated row and the same question typed give the same answer" {
	cat >"$tmp/r.csv" <<-'END'
	gpu_id,case_id,kind,software,sw_version,model_key,weight_dtype,n_gpu,tp,concurrency,request_rate_rps,num_requests,isl,osl,ttft_ms_mean,tpot_ms_mean,tpot_kind,out_tps_total,confidence,notes
	h100-sxm5-80gb,x,online-serving,vLLM,0.8,llama3.1-70b,fp8,4,4,32,inf,2400,922,230,,30,mean_request,,exact,lengths uniform in 0.8..1.0 of 1024
	END
	run predicted "$tmp/r.csv"
	local scored=${lines[0]}
	ask serve llama3.1-70b --gpu h100 --engine vllm --dtype fp8 --layout tp=4 --isl 922 --osl 230 --concurrency 32 \
		--requests 2400 --simulate --warmup 0 --isl-cv 0.064 --osl-cv 0.064 --get latencies.1.mean_s
	answered
	awk -v a="$scored" -v b="$out" 'BEGIN { exit !(a > 0 && a / b > 0.9999 && a / b < 1.0001) }' || complain "$scored $out"
}

@test "conversations of unequal length are simulated to the end: the longest are answered alone" {
	local notes
	for notes in "ShareGPT requests" "fixed lengths"; do
		cat >"$tmp/r.csv" <<-END
		gpu_id,case_id,kind,software,sw_version,model_key,weight_dtype,n_gpu,tp,batch,num_requests,isl,osl,out_tps_total,confidence,notes
		a100-sxm4-80gb,x,offline-throughput,LMDeploy TurboMind,0.2.0,llama2-7b,fp16,1,1,256,1500,247,233,3387,exact,$notes
		END
		predicted "$tmp/r.csv" >>"$tmp/both"
	done
	awk 'NR == 1 { a = $1 } NR == 2 { b = $1 } END { exit !(a > 0.7 * b && a < 0.92 * b) }' "$tmp/both" ||
		complain "$(<"$tmp/both")"
}

@test "published layouts are judged by the search of plan" {
	sed -n '1p;5p' tests/corpus/train.csv >"$tmp/one.csv"
	ask validate "$tmp/one.csv" --plan --get plans.0.best_layout,plans.0.layout,plans.0.n_family_rank
	answered
	best=$("$RIDGE" plan train qwen3-30b-a3b --gpu b200 --gpus 8 --global-batch 512 --seq 4096 --dtype mxfp8 \
		--stack megatron-bridge-2025 --get layouts.0.layout,layouts.0.n_micro_sequences | paste -sd ' ' | sed 's/ /,batch /')
	[ "$out" = "$best"$'\n'"dp=8,ep=8,zero=1,batch 1"$'\n'1 ] || complain "plan says $best"
	policy=$("$RIDGE" plan train qwen3-30b-a3b --gpu b200 --gpus 8 --global-batch 512 --seq 4096 --dtype mxfp8 \
		--stack megatron-bridge-2025 --get layouts.0.recompute)
	ask validate "$tmp/one.csv" --plan --get plans.0.recompute,plans.0.best_recompute
	[ "$out" = none$'\n'"$policy" ] || complain "policies: $out, not $policy"
	# the layout that the search found is its own best
	awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 { $at["mbs"] = 4; $at["recompute"] = "layernorm" } { print }' \
		"$tmp/one.csv" >"$tmp/best.csv"
	ask validate "$tmp/best.csv" --plan \
		--get judged.0.median_regret_frac,judged.0.near_best_frac,judged.0.first_families_frac,plans.0.best_share_frac
	[ "$out" = 0$'\n'1$'\n'1$'\n'1 ] || complain "regret of the best"
	ask validate "$tmp/best.csv" --plan --get judged.0.group,judged.1.group,judged.1.meets_all_frac
	[ "$out" = all$'\n'experts$'\n'1 ] || complain "groups: $out"
	# a micro-batch that contradicts the steps it is accumulated over is open: of what may have run the fastest
	awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 { $at["grad_accum"] = 2 } { print }' "$tmp/one.csv" >"$tmp/odd.csv"
	ask validate "$tmp/odd.csv" --plan --get plans.0.layout,judged.0.near_best_frac
	# which is the first row itself
	[ "$out" = dp=8,ep=8,zero=1,batch\ 4$'\n'1 ] || complain "contradiction: $out"
	# a layout that the launcher refuses
	awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 {
		$at["gbs"] = 12
		$at["mbs"] = 1
		$at["pp"] = $at["vp"] = 2
		$at["dp"] = $at["ep"] = 4
	} { print }' \
		"$tmp/one.csv" >"$tmp/illegal.csv"
	ask validate "$tmp/illegal.csv" --plan --get judged.0.legal_frac,plans.0.note
	[ "$out" = 0$'\n'"with vp, pp divides the micro-batches of a step" ] || complain "illegal: $out"
	# of two layouts of one question the faster one was tuned
	{ cat "$tmp/one.csv"; sed -n '2s/[^,]*,[^,]*/&slow/p' "$tmp/illegal.csv"; sed -n 2p "$tmp/best.csv" | sed 's/,mbridge/,again-mbridge/'; } >"$tmp/two.csv"
	ask validate "$tmp/two.csv" --plan --get judged.0.n
	[ "$out" = 2 ] || complain "questions: $out"
	ask validate tests/corpus/train.csv --plan --worst 100 --csv --table plans
	answered
	[ "$(wc -l <"$tmp/out")" -gt 60 ]
	# farthest from the best first
	sed 's/"[^"]*"/text/g' "$tmp/out" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 2 { if ($at["best_share_frac"] < last) exit 1; last = $at["best_share_frac"]; n++ } END { exit !(n > 60) }' ||
		complain "not in order"
}

@test "tuned recipes have no time, and are judged like runs" {
	cat >"$tmp/recipes.csv" <<'END'
# recipes of a framework
recipe,file,model,task,gpu,gpus,precision,variant,tp,pp,vp,cp,ep,etp,sp,micro_batch,global_batch,seq,recompute_granularity,recompute_modules,recompute_layers,fsdp,offload_layers,offload_modules,grad_fp32,exp_avg_dtype,dispatcher
llama3_70b_h100,x.py,llama3_70b,pretrain,h100,64,fp8cs,,4,8,5,1,1,,True,1,256,,,,,,,,False,,
qwen3_30b,x.py,qwen3_30b_a3b,pretrain,gb200,8,bf16,,1,1,1,1,8,,False,4,512,4096,,,,,,,False,,hybridep
fsdp,x.py,llama3_70b,pretrain,gb200,64,bf16,,1,1,1,1,1,,False,1,256,,,,,True,20,,False,,

offloads,x.py,qwen3_30b_a3b,pretrain,gb200,16,bf16,,1,1,1,1,16,,False,4,512,4096,,,,,,expert_fc1,False,,hybridep
unknown,x.py,qwen3_30b_a3b,pretrain,gb200,16,bf16,,1,1,1,1,16,,False,4,512,4096,,,,,,fused_group_mlp,False,,hybridep
elsewhere,x.py,qwen3_30b_a3b,pretrain,h100,64,bf16,,,,1,,1,,,,4096,4096,,,,,,,False,,
sees,x.py,qwen3_vl_30b_a3b,pretrain,gb200,8,bf16,,1,1,1,1,8,1,False,4,512,4096,,,,,,,False,,hybridep
END
	ask validate "$tmp/recipes.csv"
	refused
	says "add --plan"
	ask validate "$tmp/recipes.csv" --plan --get judged.0.n,judged.1.group,judged.2.group
	[ "$(echo "$out" | tr '\n' ' ')" = "4 dense experts " ] || complain "other rows were judged"
	# the same question and layout as by hand
	ask validate "$tmp/recipes.csv" --plan --worst 9 --csv --table plans
	for row in '3,llama3_70b_h100,"dp=2,tp=4,pp=8,vp=5,zero=1,sp,batch 1"' '4,qwen3_30b,"dp=8,ep=8,zero=1,batch 4"' \
		'5,fsdp,"dp=64,zero=3,batch 1"' '7,offloads,"dp=16,ep=16,zero=1,batch 4"'; do
		case $out in *"$row"*) ;; *) complain "no row $row" ;; esac
	done
	best=$(echo "$out" | sed -n 's/^3,llama3_70b_h100,"[^"]*",[a-z]*,[a-z]*,"\([^"]*\),batch [0-9]*".*/\1/p')
	ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 256 --seq 8192 --dtype fp8 --stack megatron-bridge \
		--get layouts.0.layout
	[ "$best" = "$out" ] || complain "$best is the best by validate"
	# lines keep their numbers, a comment and an empty line among them
	ask validate "$tmp/recipes.csv" --plan --csv --table skipped
	for reason in "'fused_group_mlp' is not understood,1,8" 'layout not given,1,9' 'vision encoder not counted,1,10'; do
		case $out in *"$reason"*) ;; *) complain "no reason $reason" ;; esac
	done
}

@test "layouts of one setup are ranked as they were measured" {
	{
		echo gpu_id,case_id,kind,software,sw_version,model_key,model,weight_dtype,n_gpu,tp,sched,isl,osl,num_requests,out_tps_total,out_tps_per_gpu,confidence
		# the least memory of all: two GPUs have no room for the KV cache
		setup=h100-sxm5-80gb,x,offline-throughput,TensorRT-LLM,0.14.0,llama3-70b,70b,fp16
		echo "$setup,2,2,in-flight batching,128,2048,3000,818,,exact"
		echo "$setup,4,4,in-flight batching,128,2048,3000,5072,,exact"
		# the same layout once more, slower: it counts once
		echo "$setup,4,4,in-flight batching,128,2048,3000,1072,,exact"
		# the rate of one GPU, not of all; another load; a layout alone
		setup=h100-sxm5-80gb,x,offline-throughput,TensorRT-LLM,0.14.0,llama3-8b,8b,fp16
		echo "$setup,1,1,in-flight batching,128,128,3000,,9000,exact"
		echo "$setup,8,8,in-flight batching,128,128,3000,,12000,exact"
		echo "$setup,8,8,in-flight batching,128,256,3000,,12000,exact"
	} >"$tmp/serve.csv"
	ask validate "$tmp/serve.csv" --plan --worst 9 --csv --table ranks
	answered
	awk -F, '/^all,2,0.5,0.5,/ { all++ } /^best not smallest,2,0.5,/ { some++ } END { exit !(all == 1 && some == 1) }' "$tmp/out" ||
		complain "ranks: $(<"$tmp/out")"
	ask validate "$tmp/serve.csv" --plan --get setups.0.layout,setups.0.best_layout,setups.0.regret_frac
	[ "$out" = "tp=8,pp=1,ep=1"$'\n'"tp=1,pp=1,ep=1"$'\n'0.25 ] || complain "wrong setup: $out"
	# beside training runs: both
	sed -n '1p;5p' tests/corpus/train.csv >"$tmp/one.csv"
	ask validate "$tmp/one.csv" "$tmp/serve.csv" --plan --get judged.0.n,ranks.0.n
	[ "$out" = 1$'\n'2 ] || complain "both: $out"
}

@test "--plan judges layouts, and nothing else" {
	ask validate tests/corpus/gemm.csv --plan
	refused
	says "no layout to judge"
	sed -n '1p;5p' tests/corpus/train.csv >"$tmp/one.csv"
	for words in "--by gpu" "--only gpu=b200-sxm" "--max-error 10%" "--predictions $tmp/p.csv"; do
		# shellcheck disable=SC2086 # words
		ask validate "$tmp/one.csv" --plan $words
		refused
	done
}

@test "an engine's launches by the host are in its own rows alone" {
	cat >"$tmp/rows.csv" <<-'END'
		gpu_id,backend,version,dtype,m,n,k,time_us
		l40s,vllm,0.24.0,fp8-block,16,2048,2048,330
		l40s,sglang,0.5.14,fp8-block,16,2048,2048,20
		l40s,cublaslt,13.1,fp8-block,16,2048,2048,20
	END
	ask validate "$tmp/rows.csv" --predictions "$tmp/p.csv" --worst 0
	answered
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ t = $at["predicted"]; n += $at["backend"] == "vllm" ? t > 250e-6 && t < 400e-6 : t > 5e-6 && t < 60e-6 }
		END { exit n != 3 }' "$tmp/p.csv" || complain "$(cat "$tmp/p.csv")"
	ask roofline gemm --m 16 --n 2048 --k 2048 --gpu l40s --dtype fp8-block --get kernel_s
	awk -v t="$out" 'BEGIN { exit !(t < 60e-6) }' || complain "the host's time in a kernel"
}
