#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Published training runs and peaks of memory are read by one reader, and what it does not understand it does not guess.

load helper

heads=gpu_id,case_id,source,source_ref,date,software,family,task,model,params_b,layers,hidden,heads,kv_heads,ffn,vocab,experts,topk,seq,gpu,gpu_mem_gb,num_gpus,nodes,gpus_per_node,interconnect,precision,tp,pp,vp,dp,cp,ep,sp,sharding,mbs,gbs,grad_accum,recompute,offload,tokens_per_s_per_gpu,samples_per_s,tflops_per_gpu,tflops_kind,mfu_pct,hfu_pct,step_time_s,step_time_derived_s,peak_mem_gb,fits,confidence,notes
peaks=gpu_id,case_id,source,source_path,kind,task,model,params_B,gpu,n_gpus,framework,weight_dtype,quant,optimizer,peft,lora_rank,lora_targets,micro_batch,seq_len,recompute,flash_attn,compile,sharding,dp,tp,pp,cp,gpu_mem_util,metric,value,unit,scope,kv_tokens,confidence,note

# a run of 8 GPUs: 70B cut to 12 layers
run() {
	sed "1!{
		s/GPU/h100-sxm5-80gb/
	}" <<-END
		$heads
		GPU,run,somebody,,2025-01,torchtitan,dense-llm,pretrain,llama3-70b,,12,8192,64,8,28672,128256,,,4096,,80,8,1,8,,bf16,1,1,1,8,1,,,FSDP-ZeRO3,1,8,,full,,,,,,,,1.5,,40,yes,exact,
	END
}

# with HEADS ROW COLUMN=TEXT...: the row with these cells
with() {
	local -a head cells
	local IFS=, set i
	read -ra head <<<"$1"
	read -ra cells <<<"$2"
	shift 2
	for i in "${!head[@]}"; do
		cells[i]=${cells[i]-}
		for set; do
			[ "${head[i]}" != "${set%%=*}" ] || cells[i]=${set#*=}
		done
	done
	printf '%s\n' "${cells[*]}"
}

train_row=$(run | tail -n 1)
peak_row='a100-sxm4-80gb,peak,somebody,,measured,finetune,llama2-7b,6.7,A100,1,torchtune,bf16,,AdamW,LoRA,8,q v,1,2048,none,yes,no,,1,1,1,1,,peak memory,20,GB,per GPU,,high,'

# predictions FILE [KIND]: line, predicted and the reason for leaving it out, of each row
predictions() {
	: >"$tmp/p.csv" # nothing of an answer before
	ask validate "$1" --predictions "$tmp/p.csv"
	# names of peaks have a comma
	awk -F, -v kind="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ more = $3 ~ /^"/ }
		kind == "" || $(at["kind"] + more) == kind { print $2 "\t" $(at["predicted"] + more) "\t" $NF }' "$tmp/p.csv"
}

# ratio KIND COLUMN=TEXT...: prediction of the run with these cells over that of the run without
ratio() {
	kind=$1
	shift
	{
		run
		with "$heads" "$train_row" "$@"
	} >"$tmp/ratio.csv"
	predictions "$tmp/ratio.csv" "$kind" >"$tmp/ratio.tsv"
	awk -F '\t' 'NR == 1 { a = $2 } NR == 2 { print $2 == "" ? $3 : $2 / a }' "$tmp/ratio.tsv"
}

# within TEXT LOW HIGH
within() {
	awk -v x="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(x ~ /^[0-9.e-]+$/ && x >= low && x <= high) }' ||
		complain "$1 should be between $2 and $3"
}

# refuses_nonsense HEADS ROW COLUMN...: a word that nobody knows skips the row, but in these columns
refuses_nonsense() {
	columns=$1 row=$2
	shift 2
	free=" $* "
	for column in $(printf '%s' "$columns" | tr , ' '); do
		{
			printf '%s\n' "$columns" "$row"
			with "$columns" "$row" "$column=qqzz"
		} >"$tmp/n.csv"
		found=$(predictions "$tmp/n.csv" | grep '^3')
		case $free in
		*" $column "*)
			case $found in *qqzz*) complain "$column is read after all" ;; esac
			continue
			;;
		esac
		[ -n "$found" ] || complain "$column: no case"
		printf '%s\n' "$found" | while IFS= read -r case; do
			case $case in *"	"*"qqzz"*) ;; *) complain "$column: nonsense was taken: $case" ;; esac
		done
	done
}

@test "a word that is not known leaves a training run out, and is named" {
	# case_id, source_ref, gpu and confidence name the row; family groups it; source stands behind software, and of a
	# framework that nobody knows an unlisted one is made, with a warning; the model has its shape beside it;
	# interconnects are printed freely, and without a bandwidth that of the GPU's system holds; tflops_kind is read
	# where a rate in FLOP is all there is; of notes only what is known is read
	refuses_nonsense "$heads" "$train_row" \
		case_id source source_ref software family model gpu interconnect tflops_kind confidence notes
}

@test "a word that is not known leaves a peak of memory out, and is named" {
	refuses_nonsense "$peaks" "$peak_row" case_id source source_path gpu gpu_id confidence note
}

@test "twelve layers of eighty take the time and the memory of twelve" {
	within "$(ratio step layers=24)" 1.8 2.05
	within "$(ratio memory layers=24)" 1.3 2
	within "$(ratio step layers=80)" 5.9 6.7
	within "$(ratio step heads=)" 1 1
	within "$(ratio step vocab=32000)" 0.8 0.99
	within "$(ratio step ffn=14336)" 0.55 0.8
}

@test "a full shape needs no name that is known, or none at all" {
	within "$(ratio step model=nobody-13b)" 0.97 1.03
	within "$(ratio memory model=nobody-13b)" 0.97 1.03
	within "$(ratio step model=)" 0.97 1.03
	within "$(ratio memory model=)" 0.97 1.03
	[ "$(ratio step model=nobody-13b ffn=)" != "" ] || complain "a width that is usual"
	case $(ratio step model=nobody-13b heads=) in *"'nobody-13b' is not in the database"*) ;; *) complain "half a shape" ;; esac
	case $(ratio step layers=80 ffn=57344 params_b=70.6) in *params_b*) ;; *) complain "a width of other parameters" ;; esac
	case $(ratio step model=nobody-13b params_b=70) in *params_b*) ;; *) complain "a shape of other parameters" ;; esac
	case $(ratio step model=nobody-13b heads=120) in *heads*) ;; *) complain "heads of a width that nobody gave" ;; esac
	within "$(ratio step model=nobody-moe family=moe-llm experts=8 topk=2 ffn=14336 ep=8 software=)" 0.5 2
}

@test "a layout that contradicts itself is refused, a batch that does is warned of" {
	case $(ratio step dp=4) in num_gpus*) ;; *) complain "8 GPUs as 4 replicas of one" ;; esac
	case $(ratio memory dp=4) in num_gpus*) ;; *) complain "8 GPUs as 4 replicas of one" ;; esac
	within "$(ratio step grad_accum=2)" 1 1
	{
		run
		with "$heads" "$train_row" grad_accum=2
	} >"$tmp/b.csv"
	ask validate "$tmp/b.csv" --predictions "$tmp/p.csv"
	answered
	[ "$(grep -c grad_accum "$tmp/p.csv")" = 1 ] || complain "$(<"$tmp/p.csv")"
}

@test "a model that was cut keeps the dense layers that the notes name" {
	{
		printf '%s\n' "$heads"
		with "$heads" "$train_row" model=deepseek-v3 layers=8 hidden=7168 heads=128 kv_heads=128 ffn=2048 vocab=129280 \
			experts=256 topk=8 ep=8 family=moe-llm software=Megatron-Bridge sharding=ZeRO1 date=2026-06 precision=bf16
		with "$heads" "$train_row" model=deepseek-v3 layers=8 hidden=7168 heads=128 kv_heads=128 ffn=2048 vocab=129280 \
			experts=256 topk=8 ep=8 family=moe-llm software=Megatron-Bridge sharding=ZeRO1 date=2026-06 precision=bf16 \
			"notes=dense layers 3"
		with "$heads" "$train_row" model=deepseek-v3 layers=8 hidden=7168 heads=128 kv_heads=128 ffn=2048 vocab=129280 \
			experts=256 topk=8 ep=8 family=moe-llm software=Megatron-Bridge sharding=ZeRO1 date=2026-06 precision=bf16 \
			"notes=w/o MTP"
	} >"$tmp/d.csv"
	predictions "$tmp/d.csv" memory >"$tmp/d.tsv"
	awk -F '\t' '{ m[NR] = $2 } END { exit !(m[2] < 0.8 * m[1]) }' "$tmp/d.tsv" || complain "memory: $(<"$tmp/d.tsv")"
	predictions "$tmp/d.csv" step >"$tmp/d.tsv"
	awk -F '\t' '{ t[NR] = $2 } END { exit !(t[2] > 0 && t[2] < t[1] && t[3] < t[1]) }' "$tmp/d.tsv" ||
		complain "steps: $(<"$tmp/d.tsv")"
}

@test "notes: overlap, context parallelism, capacity, loss" {
	mcore="software=Megatron-Core tp=4 dp=2 sharding=ZeRO1 sp=yes"
	plain=$(ratio step $mcore)
	slower=$(ratio step $mcore "notes=no overlap")
	awk -v a="$plain" -v b="$slower" 'BEGIN { exit !(b > 1.02 * a) }' || complain "no overlap: $plain $slower"
	ring=$(ratio step $mcore cp=2 dp=1)
	exchanged=$(ratio step $mcore cp=2 dp=1 "notes=cp a2a")
	[ "$ring" != "$exchanged" ] || complain "cp a2a changes nothing: $ring"
	native=$(ratio memory $mcore)
	fused=$(ratio memory $mcore "notes=fused cross-entropy")
	awk -v a="$native" -v b="$fused" 'BEGIN { exit !(b < a) }' || complain "fused cross-entropy: $native $fused"
	moe="model=qwen3-30b-a3b layers=48 hidden=2048 heads=32 kv_heads=4 ffn=768 vocab=151936 experts=128 topk=8 ep=8 family=moe-llm software=Megatron-Core sharding=ZeRO1"
	balanced=$(ratio step $moe)
	full=$(ratio step $moe "notes=capacity factor 1.5")
	awk -v a="$balanced" -v b="$full" 'BEGIN { exit !(b > 1.05 * a) }' || complain "capacity factor: $balanced $full"
	selective=$(ratio memory $moe recompute=selective)
	noted=$(ratio memory $moe recompute=selective "notes=recompute RMSNorm+MLA up-proj")
	awk -v a="$selective" -v b="$noted" 'BEGIN { exit !(b < a) }' || complain "recomputed norms: $selective $noted"
}

@test "what ran decides before who wrote of it" {
	{
		run
		with "$heads" "$train_row" source=NVIDIA/NeMo
		with "$heads" "$train_row" source=NVIDIA/NeMo software=
		with "$heads" "$train_row" source=pytorch/torchtitan software=Megatron-Core sharding=ZeRO1
		with "$heads" "$train_row" source=NVIDIA/NeMo software= sharding=ZeRO1
	} >"$tmp/w.csv"
	ask validate "$tmp/w.csv" --predictions "$tmp/p.csv"
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["kind"] == "step" { print $at["framework"] }' "$tmp/p.csv" |
		tr '\n' ' ' >"$tmp/w"
	[ "$(<"$tmp/w")" = "torchtitan torchtitan unlisted-fsdp megatron-core nemo " ] || complain "$(<"$tmp/w")"
}

@test "an optimizer, an offload or a type that peaks depend on is read" {
	{
		printf '%s\n' "$peaks"
		with "$peaks" "$peak_row" peft= lora_rank= lora_targets=
		with "$peaks" "$peak_row" peft= lora_rank= lora_targets= "optimizer=paged 8-bit AdamW"
		with "$peaks" "$peak_row" peft= lora_rank= lora_targets= "optimizer=AdamW in backward"
		with "$peaks" "$peak_row" peft= lora_rank= lora_targets= weight_dtype=fp32
		with "$peaks" "$peak_row" quant=fp4 peft=QLoRA
		with "$peaks" "$peak_row" recompute=full micro_batch=8 seq_len=4096
		with "$peaks" "$peak_row" "recompute=full + offload" micro_batch=8 seq_len=4096
	} >"$tmp/o.csv"
	predictions "$tmp/o.csv" measured >"$tmp/o.tsv"
	awk -F '\t' '
		{ m[NR] = $2; if ($2 == "") bad = 1 }
		END { exit !(!bad && m[2] < m[1] && m[3] < m[1] && m[4] > 1.5 * m[1] && m[5] < 0.6 * m[1] && m[7] < m[6]) }' "$tmp/o.tsv" ||
		complain "$(<"$tmp/o.tsv")"
}

serve_heads=kind,source,software,model_key,weight_dtype,gpu_id,n_gpu,tp,sched,batch,concurrency,num_requests,isl,osl,out_tps_total,notes

@test "pools of prefill and decode are read from the notes" {
	{
		printf '%s\n' "$serve_heads"
		pools="prefill 1 workers tp1 ep1 dpattn=True on 4 GPUs; decode 2 workers tp8 ep8 dpattn=False on 16 GPUs"
		printf '%s\n' "online-serving,x,Dynamo + SGLang,deepseek-r1,nvfp4,gb200,20,8,disaggregated,,16,40,900,100,500,$pools"
		printf '%s\n' "online-serving,x,Dynamo + SGLang,deepseek-r1,nvfp4,gb200,20,8,disaggregated,,16,40,900,100,500,none"
	} >"$tmp/pools.csv"
	ask validate "$tmp/pools.csv" --worst 1
	shows "--layout tp=4,pp=1,ep=4 --attention-dp --replicas 1 --decode-replicas 2 --decode-layout tp=8,ep=8"
	shows "--concurrency 16 --requests 40"
	shows "pools of prefill and decode not described"
}

@test "beams share a prompt; a static batch without a size is all that fits" {
	{
		printf '%s\n' "$serve_heads"
		printf '%s\n' 'offline-throughput,x,TensorRT-LLM,gptj-6b,fp8,h100-sxm5-80gb,1,1,MLPerf Offline,,,,778,69,2000,'
		printf '%s\n' 'offline-throughput,x,TensorRT-LLM,gptj-6b,fp8,h100-sxm5-80gb,1,1,,,,,778,69,2000,'
		printf '%s\n' 'offline-throughput,x,TensorRT-LLM,llama3-8b,fp16,l40s,1,1,static,,,,1024,512,2000,'
		printf '%s\n' 'offline-throughput,x,TensorRT-LLM,llama3-8b,fp16,l40s,1,1,static,8,,,1024,512,2000,'
	} >"$tmp/beams.csv"
	ask validate "$tmp/beams.csv" --worst 4
	shows "--isl 778 --beams 4 --osl 69"
	predictions "$tmp/beams.csv" offline-throughput >"$tmp/beams.tsv"
	awk -F '\t' '{ x[NR] = $2 } END { exit !(x[1] > 0 && x[1] < x[2] && x[3] > x[4] && x[4] > 0) }' "$tmp/beams.tsv" ||
		complain "$(<"$tmp/beams.tsv")"
}

@test "rows are asked with what their benchmark told the engine" {
	row() { printf '%s\n' "offline-throughput,TensorRT-LLM perf-overview v$1,TensorRT-LLM,$1,$2,$3,$3,h100-sxm5-80gb,$4,$4,$5,$6,9000"; }
	{
		printf '%s\n' "kind,source,software,sw_version,model_key,weight_dtype,kv_dtype,gpu_id,n_gpu,tp,isl,osl,out_tps_total"
		row 0.14.0 llama3-70b fp16 2 2048 2048
		row 0.14.0 llama3-70b fp16 2 128 128
		row 0.14.0 mixtral-8x7b fp8 8 128 128
		row 0.17 llama3-70b fp16 4 128 128
		# 79.6 GiB of 8 GPUs, 70.6 GB of weights, 160 KiB a token of 2000: 1762 requests, twice as many tokens
		row 0.20 llama3.3-70b fp8 8 1000 1000
		row 0.20 llama3.3-70b fp8 8 20000 2000
	} >"$tmp/told.csv"
	ask validate "$tmp/told.csv" --worst 6
	local told
	told=$(sed -n 's/.*max_sequences=\([0-9]*\) --set engine.scheduler.max_tokens=\([0-9]*\) --set engine.scheduler.chunked=\([a-z]*\).*/\1 \2 \3/p' <<<"$out" | sort -n | tr '\n' ';')
	[ "$told" = "192 20192 false;256 1024 true;1792 3584 false;2048 1024 true;2048 8192 true;" ] || complain "$told"
}

@test "a version that is a date is the date" {
	{
		printf '%s\n' "kind,source,software,sw_version,date,model_key,weight_dtype,gpu_id,n_gpu,tp,isl,osl,out_tps_total"
		printf '%s\n' "offline-throughput,x,TensorRT-LLM,2025-05,,llama3-8b,fp8,h200-sxm5-141gb,1,1,1000,1000,9000"
		printf '%s\n' "offline-throughput,x,TensorRT-LLM,,2025-05-12,llama3-8b,fp8,h200-sxm5-141gb,1,1,1000,1000,9000"
		printf '%s\n' "offline-throughput,x,TensorRT-LLM,,2026-05-12,llama3-8b,fp8,h200-sxm5-141gb,1,1,1000,1000,9000"
	} >"$tmp/dates.csv"
	ask validate "$tmp/dates.csv" --worst 0 --predictions "$tmp/p.csv"
	[ "$(cut -d, -f17 "$tmp/p.csv" | tr '\n' ' ')" = "framework trtllm-1.0 trtllm-1.0 trtllm " ] || complain "$(<"$tmp/p.csv")"
}

@test "conversations vary in length, also where the mean answer is a round number" {
	{
		printf '%s\n' "$serve_heads"
		printf '%s\n' "online-serving,x,SGLang,gpt-oss-120b,mxfp4,b200-sxm,8,8,,,10,100,297,192,500,ShareGPT prompts and answers"
		printf '%s\n' "online-serving,x,SGLang,gpt-oss-120b,mxfp4,b200-sxm,8,8,,,10,100,297,192,500,"
	} >"$tmp/lengths.csv"
	ask validate "$tmp/lengths.csv" --worst 2
	[ "$(grep -c -e "--isl-cv 1 --osl-cv 0.8" <<<"$out")" = 1 ] || complain "$out"
}
