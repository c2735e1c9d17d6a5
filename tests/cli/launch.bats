#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Options of frameworks: --emit writes what the framework has, nothing else, and says what it has not.

load helper

# unlisted LAUNCHER LIST: keys of its rules that are not in the framework's own list; what is only read may be another's, and
# variables of the environment are no options
unlisted() {
	sed -n '/only: read/d; s/.*key: \([^,}]*\)[,}].*/\1/p' "$1" | sort -u | while read -r key; do
		[[ $key =~ ^[A-Z_]+$ ]] || grep -qxe "$key" "$2" || echo "$key"
	done
}

@test "every key is an option of its framework" {
	for file in "$RIDGE_HWDB"/hwdb/launchers/*.yaml; do
		id=$(basename "$file" .yaml)
		left=$(unlisted "$file" "$RIDGE_HWDB/tests/fixtures/launchers/$id.txt")
		[ -z "$left" ] || complain "$id has no $left"
	done
	grep -v '^--sequence-parallel$' "$RIDGE_HWDB/tests/fixtures/launchers/megatron.txt" >"$tmp/less"
	[ "$(unlisted "$RIDGE_HWDB/hwdb/launchers/megatron.yaml" "$tmp/less")" = --sequence-parallel ]
}

@test "Megatron-LM gets a command line that a shell can read" {
	ask train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --seq 8192 --stack megatron-core \
		--layout tp=4,pp=4,vp=5,zero=1,sp --recompute full --emit megatron
	answered
	[ "$out" = 'CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun ${TORCHRUN_ARGS} pretrain_gpt.py ${MODEL_ARGS} ${DATA_ARGS} --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 5 --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --tp-comm-overlap --micro-batch-size 1 --global-batch-size 128 --seq-length 8192 --bf16 --accumulate-allreduce-grads-in-fp32 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 --cross-entropy-loss-fusion' ] ||
		complain "not what was expected"
	sh -n "$tmp/out"
}

@test "Megatron-Bridge gets overrides, lists quoted" {
	ask train deepseek-v3 --system dgx-h100 --gpus 1024 --global-batch 2048 --stack megatron-bridge --no-memory \
		--layout tp=2,pp=8,ep=64,vp=2,zero=1,sp --recompute mla_up_proj,moe_act --dtype fp8 --dispatcher dedup --emit bridge
	answered
	for word in model.expert_model_parallel_size=64 model.expert_tensor_parallel_size=1 mixed_precision.fp8=hybrid \
		"model.recompute_modules='[mla_up_proj,moe_act]'" model.moe_flex_dispatcher_backend=hybridep; do
		case $out in *" $word"*) ;; *) complain "$word is missing" ;; esac
	done
	# HybridEP's buffers are those of releases of 2026
	ask train deepseek-v3 --system dgx-h100 --gpus 1024 --global-batch 2048 --stack megatron-core --no-memory \
		--layout tp=2,pp=8,ep=64,vp=2,zero=1,sp --dispatcher dedup --emit megatron
	case $out in *" --moe-flex-dispatcher-backend deepep "*) ;; *) complain "megatron-core: not DeepEP" ;; esac
	sh -n "$tmp/out"
}

@test "stages that do not come out even are written as Megatron takes them" {
	# embedding and loss in the place of a layer each: 126 layers on 128 chunks
	ask train llama3.1-405b --system gb200-nvl72 --gpus 256 --global-batch 256 --seq 8192 --stack megatron-core --no-memory \
		--layout tp=4,pp=16,vp=8,zero=1,sp --emit megatron
	case $out in
	*' --num-virtual-stages-per-pipeline-rank 8 '*' --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split '*) ;;
	*) complain "ends are not counted" ;;
	esac
	# 61 layers on 16 chunks: a string, which says how many chunks there are; nothing else may
	job=(kimi-k2 --system gb200-nvl72 --gpus 256 --global-batch 2048 --seq 4096 --dtype mxfp8 --stack megatron-bridge)
	for framework in megatron bridge; do
		ask train "${job[@]}" --layout pp=4,vp=4,ep=64 --batch 1 --no-memory --emit "$framework"
		case $out in *'Et*3|(t*4|)*14,t*2L'*) ;; *) complain "$framework: no string of stages" ;; esac
		case $framework:$out in
		megatron:*virtual*) complain "the string has the chunks" ;;
		# whose recipe may have another number
		bridge:*' model.virtual_pipeline_model_parallel_size=4 '* | megatron:*) ;;
		*) complain "$framework: no chunks" ;;
		esac
		sh -n "$tmp/out"
		cp "$tmp/out" "$tmp/$framework.sh"
		ask train "${job[@]::3}" --gpus 256 --from "$tmp/$framework.sh" --stack megatron-bridge --no-memory --get layout,step_s
		back=$out
		ask train "${job[@]}" --layout pp=4,vp=4,ep=64 --batch 1 --no-memory --dispatcher dedup --get layout,step_s
		[ "$back" = "$out" ] || complain "$framework reads back as: $back"
	done
	# torchtitan takes a layer off each end unless it is told not to
	ask train llama3-8b --system dgx-h100 --gpus 64 --global-batch 128 --stack torchtitan --no-memory --batch 1 \
		--layout pp=4,vp=2 --emit torchtitan
	case $out in *'_layers_per_stage = 4'*'_first_stage_less_layers = 0'*'_last_stage_less_layers = 0'*) ;;
	*) complain "32 layers on 8 chunks" ;; esac
	ask train llama3.1-405b --system dgx-h100 --gpus 512 --global-batch 128 --stack torchtitan --no-memory --batch 1 \
		--layout tp=8,pp=16 --emit torchtitan
	case $out in *'_layers_per_stage = 8'*'_first_stage_less_layers = 1'*'_last_stage_less_layers = 1'*) ;;
	*) complain "126 layers on 16 stages" ;; esac
	# a list of the user's own
	ask train llama3-8b --system dgx-h100 --gpus 8 --global-batch 64 --stack megatron-core --no-memory \
		--layout pp=4 --stage-layers 9,7,9,7 --emit megatron
	case $out in *"'Et*9|t*7|t*9|t*7L'"*) ;; *) complain "the list is not there" ;; esac
	cp "$tmp/out" "$tmp/own.sh"
	ask train llama3-8b --system dgx-h100 --gpus 8 --from "$tmp/own.sh" --no-memory --get n_stage_layers,step_s
	back=$out
	ask train llama3-8b --system dgx-h100 --gpus 8 --global-batch 64 --stack megatron-core --no-memory \
		--layout pp=4 --stage-layers 9,7,9,7 --get n_stage_layers,step_s
	[ "$back" = "$out" ] || complain "reads back as: $back"
}

@test "torchtitan gets a TOML file" {
	ask train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --stack torchtitan --batch 2 --seq 8192 --recompute op \
		--compile --emit torchtitan
	answered
	[ "$out" = '[parallelism]
fsdp_reshard_after_forward = "always"
data_parallel_shard_degree = 8

[training]
local_batch_size = 2
global_batch_size = 16
seq_len = 8192
mixed_precision_param = "bfloat16"
dtype = "float32"

[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"

[compile]
enable = true' ] || complain "not what was expected"
}

@test "DeepSpeed gets a JSON file" {
	ask train llama3-8b --system dgx-h100 --gpus 8 --layout zero=3 --stack hf-deepspeed --batch 2 --global-batch 64 \
		--offload optimizer --no-memory --emit deepspeed
	[ "$(echo "$out" | tr -d ' \n')" = '{"zero_optimization":{"stage":3,"overlap_comm":true,"offload_optimizer":{"device":"cpu"}},"train_micro_batch_size_per_gpu":2,"gradient_accumulation_steps":4,"train_batch_size":64,"bf16":{"enabled":true}}' ] ||
		complain "not what was expected"
}

@test "the first row of a plan is what train emits for it" {
	job=(llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --seq 8192)
	options=$("$RIDGE" plan train "${job[@]}" --get train_options)
	for framework in megatron bridge torchtitan deepspeed; do
		ask plan train "${job[@]}" --emit "$framework"
		planned=$out
		# shellcheck disable=SC2086 # words
		ask train "${job[@]}" $options --emit "$framework"
		[ "$planned" = "$out" ] || complain "plan says $planned"
	done
}

@test "what cannot be said is named, with status 1" {
	ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --emit deepspeed
	answered 1
	says "DeepSpeed has no option for sp=true"
	says "the training script sets it"
	ask train llama3-8b --system dgx-h100 --gpus 8 --layout tp=2 --stack megatron-core --optimizer sgd --no-memory --emit megatron
	answered 1
	says "not emitted: --optimizer"
}

@test "JSON has the text as an answer" {
	ask plan train llama3-8b --system dgx-h100 --gpus 8 --global-batch 64 --emit megatron
	text=$out
	[ "$text" = "$("$RIDGE" plan train llama3-8b --system dgx-h100 --gpus 8 --global-batch 64 --emit megatron --get launch_options)" ]
	ask plan train llama3-8b --system dgx-h100 --gpus 8 --global-batch 64 --emit megatron --json
	case $out in *'"launch_options"'*'--bf16'*) ;; *) complain "no launch_options" ;; esac
}

@test "engines get a command line that a shell can read" {
	setup=(llama3.1-70b --gpu h100 --layout tp=2 --dtype fp8 --isl 1000 --osl 250 --rate 4)
	ask serve "${setup[@]}" --engine vllm --emit vllm
	answered
	[ "$out" = 'vllm serve ${MODEL} --dtype bfloat16 --tensor-parallel-size 2 --quantization fp8 --kv-cache-dtype bfloat16 --max-num-seqs 256 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --max-model-len 1250' ] ||
		complain "not what was expected"
	ask serve "${setup[@]}" --engine sglang --emit sglang --headroom 0.2
	answered
	[ "$out" = 'python -m sglang.launch_server --model-path ${MODEL} --tp-size 2 --dtype bfloat16 --quantization fp8 --kv-cache-dtype bf16 --max-running-requests 2048 --chunked-prefill-size 8192 --mem-fraction-static 0.8 --context-length 1250' ] ||
		complain "not what was expected"
	ask serve "${setup[@]}" --engine trtllm --emit trtllm
	answered
	says "serve a checkpoint in fp8"
	[ "$out" = "cat >engine.yaml <<'END'
dtype: bfloat16
END
trtllm-serve serve \${MODEL} --tp_size 2 --kv_cache_dtype fp8 --max_batch_size 2048 --max_num_tokens 8192 --free_gpu_memory_fraction 0.9 --max_seq_len 1250 --config engine.yaml" ] ||
		complain "not what was expected"
	sh -n "$tmp/out"
}

@test "experts, attention by rank and drafts in the words of each engine" {
	setup=(deepseek-v3 --gpu b200 --layout tp=8,ep=8,adp --isl 1000 --osl 250 --rate 4 --speculate mtp=3,accept=0.8)
	ask serve "${setup[@]}" --engine vllm --emit vllm
	answered
	[ "$out" = "vllm serve \${MODEL} --dtype bfloat16 --data-parallel-size 8 --enable-expert-parallel --kv-cache-dtype bfloat16 --max-num-seqs 256 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --max-model-len 1250 --speculative-config '{\"method\": \"mtp\", \"num_speculative_tokens\": 3}'" ] ||
		complain "not what was expected"
	sh -n "$tmp/out"
	ask serve "${setup[@]}" --engine sglang --emit sglang
	answered
	[ "$out" = 'python -m sglang.launch_server --model-path ${MODEL} --tp-size 8 --ep-size 8 --dtype bfloat16 --dp-size 8 --enable-dp-attention --kv-cache-dtype bf16 --max-running-requests 16384 --chunked-prefill-size 65536 --mem-fraction-static 0.88 --context-length 1250 --speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4' ] ||
		complain "not what was expected"
	ask serve "${setup[@]}" --engine trtllm --emit trtllm
	answered
	case $out in *"enable_attention_dp: true
speculative_config:
  decoding_type: MTP
  num_nextn_predict_layers: 3
END
trtllm-serve serve"*"--ep_size 8"*) ;; *) complain "not what was expected" ;; esac
	sh -n "$tmp/out"
	ask serve deepseek-v3 --gpu b200 --layout tp=8,ep=4 --engine vllm --isl 1000 --osl 250 --rate 1 --emit vllm
	answered 1
	says "over all GPUs of a stage or over none"
}

@test "two pools are two lines" {
	ask serve llama3.1-70b --gpu h100 --layout tp=2 --dtype fp8 --engine sglang --isl 1000 --osl 250 --rate 4 \
		--kv-link ib-ndr --decode-layout tp=4 --emit sglang
	answered
	[ "$(grep -c -- '--disaggregation-mode' <<<"$out")" = 2 ]
	[ "$(grep -o -- '--tp-size 4.*mode decode' <<<"$out" | wc -l)" = 1 ]
	says "the router in front of the two pools"
	ask serve llama3.1-70b --gpu h100 --layout tp=2 --engine vllm --isl 1000 --osl 250 --rate 1 --kv-link ib-ndr \
		--speculate eagle=3,accept=0.7 --emit vllm
	sh -n "$tmp/out"
	# shellcheck disable=SC2016 # what the shell of the server sees
	DRAFT_MODEL=/models/draft sh -c "$(sed -n 's/^vllm serve ${MODEL}/printf "%s\\n"/p' <<<"$out" | head -n 1)" |
		grep -qx '{"method": "eagle3", "model": "/models/draft", "num_speculative_tokens": 3}'
}

@test "a framework is not launched for another use" {
	ask serve llama3.1-8b --gpu h100 --isl 1000 --osl 250 --emit megatron
	refused
	says "vllm, sglang or trtllm"
	ask train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --emit vllm
	refused
	says "for serving, not for training"
}

@test "faults of a launcher file have a place" {
	ask train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --emit nothing
	refused
	printf 'format: 1\nname: X\nversion: 1\nsource: mine\nform: argv\nmap:\n  - {from: tb, key: --tp}\n' >"$tmp/x.yaml"
	ask train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --emit "$tmp/x.yaml"
	refused
	says "x.yaml:7:"
	says "did you mean"
}

@test "a command line is read backwards" {
	ask train llama3-70b --system dgx-h100 --from tests/fixtures/launchers/train.sh --get step_s,peak_byte
	answered
	says "not understood: --lr, --weight-decay"
	read=$out
	ask train llama3-70b --system dgx-h100 --gpus 64 --layout tp=4,pp=4,vp=5,zero=1,sp --stack megatron-core --batch 1 \
		--global-batch 128 --seq 8192 --recompute full --get step_s,peak_byte
	[ "$read" = "$out" ] || complain "read as $read"
	ask memory llama3-70b --system dgx-h100 --from tests/fixtures/launchers/train.sh --get peak_byte
	[ "$out" = "${read#*$'\n'}" ]
	ask train llama3-70b --system dgx-h100 --from tests/fixtures/launchers/train.sh --layout pp=2 --get step_s
	answered
	[ "$out" != "${read%$'\n'*}" ] || complain "an option does not come before the file"
}

# round_trip JOB OPTIONS FORMAT STACK FLAG...: write a launch, look for its flags, and read it back to the same answer
round_trip() {
	local job=$1 options=$2 format=$3 stack=$4 step flag
	shift 4
	# shellcheck disable=SC2086 # words
	step=$("$RIDGE" train $job --stack "$stack" $options --get step_s,peak_byte)
	# shellcheck disable=SC2086
	"$RIDGE" train $job --stack "$stack" $options --emit "$format" >"$tmp/run.sh"
	for flag in "$@"; do
		grep -q -- "$flag" "$tmp/run.sh" || complain "$format lacks $flag: $(cat "$tmp/run.sh")"
	done
	# shellcheck disable=SC2086
	ask train ${job%% --batch*} --stack "$stack" --from "$tmp/run.sh" --get step_s,peak_byte
	answered
	[ "$out" = "$step" ] || complain "$format reads back as $out and not $step"
}

@test "layers that are recomputed in part are written, and read back" {
	local job="llama3-70b --system dgx-h100 --gpus 32 --batch 1 --global-batch 256 --seq 8192 --layout tp=8,pp=2,dp=2,zero=1,sp"
	round_trip "$job" "--recompute block-20" megatron megatron-core '--recompute-method.block' --recompute-num-layers
	round_trip "$job" "--recompute block-20" bridge megatron-bridge 'model.recompute_method.block' model.recompute_num_layers=
	# activations that wait in the host's memory, beside full sharding
	job="llama3-70b --system gb200-nvl72 --gpus 64 --batch 1 --global-batch 256 --seq 8192 --layout zero=3"
	round_trip "$job" "--recompute offload-20" megatron megatron-core --cpu-offloading-num-layers.20 --use-megatron-fsdp
	round_trip "$job" "--recompute offload-20" bridge megatron-bridge model.cpu_offloading_num_layers=20 model.cpu_offloading=true
	job="qwen3-30b-a3b --system dgx-h100 --gpus 16 --batch 1 --global-batch 256 --layout ep=8,zero=1 --recompute moe_act"
	round_trip "$job" "--offload core_attn,expert_fc1" megatron megatron-core '--offload-modules core_attn expert_fc1' \
		--fine-grained-activation-offloading
	round_trip "$job" "--offload expert_fc1,optimizer" bridge megatron-bridge "offload_modules='\[expert_fc1\]'" \
		model.fine_grained_activation_offloading=true optimizer.optimizer_cpu_offload=true
	# shellcheck disable=SC2086
	ask train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --stack torchtitan --recompute every-2 --emit torchtitan
	answered
	case $out in *'selective_ac_option = "2"'*) ;; *) complain "every second layer is not written" ;; esac
}

@test "prediction layers are written, and read back" {
	local job="deepseek-v3 --system gb200-nvl72 --gpus 256 --dtype mxfp8 --batch 1 --global-batch 4096 --layout pp=4,ep=64,zero=1 --recompute mla_up_proj"
	round_trip "$job" "" megatron megatron-core '--mtp-num-layers 1'
	round_trip "$job" "" bridge megatron-bridge model.mtp_num_layers=1
	job="nemotron-3-super --system gb200-nvl72 --gpus 64 --dtype mxfp8 --batch 1 --global-batch 512 --layout tp=2,ep=64,zero=1,sp"
	round_trip "$job" "" bridge megatron-bridge model.mtp_num_layers=2 model.mtp_use_repeated_layer=true
	# shellcheck disable=SC2086 # words
	ask train $job --stack megatron-bridge --mtp 0 --emit bridge
	[ "$status" -eq 1 ]
	says "set model.mtp_num_layers to None"
}

@test "what the optimizer keeps is written, and read back" {
	local job="llama3-70b --system gb200-nvl72 --gpus 64 --batch 1 --global-batch 256 --seq 8192 --layout tp=2,pp=4,vp=5,zero=1"
	round_trip "$job" "--moment-dtype bf16" megatron megatron-core --use-precision-aware-optimizer \
		'--exp-avg-dtype bf16' '--exp-avg-sq-dtype bf16'
	round_trip "$job" "--moment-dtype fp16 --dtype fp8" bridge megatron-bridge \
		optimizer.use_precision_aware_optimizer=true optimizer.exp_avg_sq_dtype=torch.float16
	# a recipe may have narrower moments
	round_trip "$job" "" bridge megatron-bridge optimizer.exp_avg_dtype=torch.float32
	round_trip "$job" "--dtype mxfp8 --fp8-params" megatron megatron-core --reuse-grad-buf-for-mxfp8-param-ag
	round_trip "$job" "--dtype mxfp8" bridge megatron-bridge mixed_precision.fp8_param_gather=true \
		mixed_precision.reuse_grad_buf_for_mxfp8_param_ag=true
	job="llama3-8b --system dgx-h100 --gpus 8 --seq 8192 --batch 1 --global-batch 64 --layout zero=3"
	round_trip "$job" "--states pure" torchtitan torchtitan 'dtype = "bfloat16"'
	round_trip "$job" "--states pure" deepspeed hf-deepspeed bf16_master_weights_and_grads bf16_optimizer_states
	round_trip "$job" "--offload optimizer,params" deepspeed hf-deepspeed offload_optimizer offload_param
	round_trip "$job" "--offload optimizer,params" torchtitan torchtitan 'enable_cpu_offload = true'
	# the optimizer of a single replica, too, stands behind the distributed one
	job="llama3-8b --gpu gb200 --gpus 1 --seq 2048 --batch 1 --global-batch 64"
	round_trip "$job" "--offload optimizer" megatron megatron-core --optimizer-cpu-offload \
		--use-precision-aware-optimizer --use-distributed-optimizer
	round_trip "$job" "--offload optimizer" bridge megatron-bridge optimizer.optimizer_cpu_offload=true \
		optimizer.optimizer_offload_fraction=1.0 optimizer.use_precision_aware_optimizer=true
	for way in "zero=3 --offload optimizer" "zero=1 --offload params" "zero=1 --fp8-params --dtype fp8 --offload optimizer"; do
		# shellcheck disable=SC2086 # words
		ask train llama3-8b --system dgx-h100 --gpus 8 --stack megatron-core --layout $way
		refused
	done
	"$RIDGE" train llama3-8b --system dgx-h100 --gpus 8 --layout zero=1 --batch 1 --global-batch 64 --stack megatron-bridge \
		--emit bridge >"$tmp/on.sh"
	sed 's/$/ model.cpu_offloading=false model.cpu_offloading_num_layers=10/' "$tmp/on.sh" >"$tmp/off.sh"
	ask train llama3-8b --system dgx-h100 --gpus 8 --stack megatron-bridge --from "$tmp/on.sh" --get peak_byte
	kept=$out
	ask train llama3-8b --system dgx-h100 --gpus 8 --stack megatron-bridge --from "$tmp/off.sh" --get peak_byte
	[ "$kept" = "$out" ] || complain "offloading that is off is read as on"
}

@test "communication that a launch leaves beside nothing is not overlapped" {
	job=(llama3-70b --system dgx-h100)
	grep -v tp-comm-overlap tests/fixtures/launchers/train.sh >"$tmp/waits.sh"
	ask train "${job[@]}" --from "$tmp/waits.sh" --get step_s
	waits=$out
	ask train "${job[@]}" --from tests/fixtures/launchers/train.sh --set stack.time.overlaps_data=false,stack.time.overlaps_tensor=false --get step_s
	[ "$waits" = "$out" ] || complain "$waits without the options"
	ask train "${job[@]}" --from tests/fixtures/launchers/train.sh --get step_s
	awk -v a="$waits" -v b="$out" 'BEGIN { exit !(a > 1.05 * b) }' || complain "no slower: $waits"
	overlaps=$out
	# written and read back; Bridge says both ways
	ask train "${job[@]}" --from "$tmp/waits.sh" --emit bridge
	case $out in *' comm_overlap.tp_comm_overlap=false '*) ;; *) complain "not said" ;; esac
	cp "$tmp/out" "$tmp/bridge.sh"
	ask train "${job[@]}" --gpus 64 --from "$tmp/bridge.sh" --stack megatron-core --get step_s
	[ "$out" = "$waits" ] || complain "reads back as $out"
	# a plan of it says what overlap would save
	ask plan train "${job[@]}" --from "$tmp/waits.sh" --top 9 --csv --table changes
	now=$(echo "$out" | sed -n 's/^communication overlaps computation,\([0-9.]*\),.*/\1/p')
	awk -v a="$now" -v b="$overlaps" 'BEGIN { exit !(a > 0.9999 * b && a < 1.0001 * b) }' || complain "the change takes $now, not $overlaps"
	ask plan train "${job[@]}" --from tests/fixtures/launchers/train.sh --top 99 --csv --table changes
	case $out in *overlaps*) complain "a change that is none" ;; esac
}

@test "an engine's command line is read backwards, spelled as engines take it" {
	ask serve llama3.1-70b --gpu h100 --isl 1000 --osl 250 --rate 2 --from tests/fixtures/launchers/serve.sh --emit vllm
	answered
	says "not understood: --enable-prefix-caching, --port"
	for word in "--tensor-parallel-size 4" "--max-num-seqs 128" "--max-num-batched-tokens 4096" "--kv-cache-dtype fp8"; do
		case $out in *"$word"*) ;; *) complain "$word is lost" ;; esac
	done
	echo 'python -m sglang.launch_server --model-path m --tp 8 --dp 8 --enable-dp-attention --ep-size 8 --speculative-algorithm NEXTN --speculative-num-steps 2 --speculative-eagle-topk 1 --speculative-num-draft-tokens 3' >"$tmp/run.sh"
	ask serve deepseek-v3 --gpu b200 --isl 1000 --osl 250 --rate 1 --from "$tmp/run.sh"
	answered
	says "add --speculate mtp=2,accept=F"
	ask serve deepseek-v3 --gpu b200 --isl 1000 --osl 250 --rate 1 --from "$tmp/run.sh" --emit sglang
	case $out in *"--tp-size 8 --ep-size 8"*"--dp-size 8 --enable-dp-attention"*) ;; *) complain "layout lost" ;; esac
}

@test "stages that make no sense are not passed over" {
	stages() {
		echo "torchrun pretrain_gpt.py --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 \
			--pipeline-model-parallel-size 2 --bf16 --pipeline-model-parallel-layout \"$1\"" >"$tmp/run.sh"
		ask train llama3-8b --system dgx-h100 --gpus 8 --no-memory --from "$tmp/run.sh"
	}
	for text in garbage 'Et*99999999999|tL' "[['embedding']]"; do
		stages "$text"
		answered
		says "not taken over: stages of the pipeline"
	done
	for text in 'Et*2|t*3|' EtL; do
		stages "$text"
		refused
		says "not 2 with 32"
	done
	stages null
	answered
	case $err in *"not taken over"*) complain "null says nothing" ;; esac
}

@test "stages by the layers of a chunk, of the first and of the last are read" {
	# launched OPTION...: a launch with them, in seconds
	launched() {
		echo "torchrun pretrain_gpt.py --seq-length 4096 --micro-batch-size 1 --global-batch-size 512 --bf16 \
			--pipeline-model-parallel-size 4 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather $*" >"$tmp/run.sh"
		ask train llama3-70b --system dgx-b200 --gpus 16 --no-memory --from "$tmp/run.sh" --get step_s
		answered
	}
	# same_as OPTION...: what train says of these
	same_as() {
		local step=$out
		ask train llama3-70b --system dgx-b200 --gpus 16 --no-memory --global-batch 512 --batch 1 --get step_s "$@"
		[ "$out" = "$step" ] || complain "the launch takes $step s"
	}
	launched --num-layers 80 --num-layers-per-virtual-pipeline-stage 5
	same_as --layout dp=4,pp=4,vp=4,zero=1
	launched --num-layers 80 --decoder-last-pipeline-num-layers 17
	same_as --layout dp=4,pp=4,zero=1 --stage-layers 21,21,21,17
	launched --num-layers 80 --decoder-first-pipeline-num-layers 18 --decoder-last-pipeline-num-layers 18 \
		--num-virtual-stages-per-pipeline-rank 2
	same_as --layout dp=4,pp=4,vp=2,zero=1 --stage-layers 9,11,11,9,9,11,11,9
	# the layers are those of the model that is asked for
	launched --num-layers-per-virtual-pipeline-stage 5
	same_as --layout dp=4,pp=4,vp=4,zero=1
	for option in "--num-layers 80 --decoder-last-pipeline-num-layers 16" "--num-layers 80 --decoder-first-pipeline-num-layers many"; do
		launched "$option"
		says "not taken over: layers of"
	done
	# what is no number is refused in words, and a pipeline without end at once
	for option in "--num-virtual-stages-per-pipeline-rank x" "--num-virtual-stages-per-pipeline-rank 0" \
		"--pipeline-model-parallel-size 1000000000"; do
		echo "torchrun pretrain_gpt.py --num-layers 80 --seq-length 4096 --micro-batch-size 1 --global-batch-size 512 --bf16 \
			--pipeline-model-parallel-size 4 --decoder-last-pipeline-num-layers 17 $option" >"$tmp/run.sh"
		ask train llama3-70b --system dgx-b200 --gpus 16 --no-memory --from "$tmp/run.sh"
		refused
	done
	printf 'scripts/training/train.sh --recipe x %s\n' "model.num_layers=80 model.pipeline_model_parallel_size=4 \
		model.num_layers_in_last_pipeline_stage=17 train.micro_batch_size=1 train.global_batch_size=512 \
		model.seq_length=4096 dataset.seq_length=4096" >"$tmp/run.sh"
	ask train llama3-70b --system dgx-b200 --gpus 16 --no-memory --from "$tmp/run.sh" --json
	shows '"21,21,21,17"'
}

@test "what cannot be read is refused" {
	ask train llama3-8b --system dgx-h100 --from "$tmp/none.sh"
	refused
	echo 'echo hello' >"$tmp/run.sh"
	ask train llama3-8b --system dgx-h100 --from "$tmp/run.sh"
	refused
	says "no layout option of a framework that is known"
	printf '{"train_micro_batch_size_per_gpu": ' >"$tmp/ds.json"
	ask train llama3-8b --system dgx-h100 --from "$tmp/ds.json"
	refused
	ask serve --from tests/fixtures/launchers/train.sh --isl 10 --osl 10
	refused
	says "launches training"
	ask serve llama3-8b --gpu h100 --isl 10 --osl 10 --emit foo
	refused
	says "vllm, sglang, trtllm"
}

@test "a launch file of another model is refused, with a model that it fits" {
	for question in "plan train" train memory; do
		ask $question llama3-8b --system dgx-h100 --from tests/fixtures/launchers/train.sh
		refused
		says "train.sh:6:2: error:"
		says "--num-layers 80, not 32; --hidden-size 8192, not 4096"
		says "such as llama3-70b"
		"$RIDGE" $question llama3-70b --system dgx-h100 --from tests/fixtures/launchers/train.sh >"$tmp/fits"
	done
	sed 's/--num-layers 80/--num-layers 81/' tests/fixtures/launchers/train.sh >"$tmp/run.sh"
	ask train llama3-70b --system dgx-h100 --from "$tmp/run.sh"
	refused
	says "ridge model import"
	sed 's/--num-layers 80/--num-layers $N/' tests/fixtures/launchers/train.sh >"$tmp/run.sh"
	ask train llama3-70b --system dgx-h100 --from "$tmp/run.sh" --get step_s
	answered
	says "not taken over: --num-layers"
	# a model that --set changes is the one that the file is about, before or after
	for layers in 80 81; do
		sed "s/--num-layers 80/--num-layers $layers/" tests/fixtures/launchers/train.sh >"$tmp/run.sh"
		ask memory llama3-70b --system dgx-h100 --from "$tmp/run.sh" --layout pp=1,vp=1 --set model.layers=81
		[ "$status" -lt 2 ] || complain "$layers layers, changed to 81"
	done
	# as wide and as deep, without experts
	echo "torchrun pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-experts 8 --global-batch-size 64" >"$tmp/run.sh"
	ask train mistral-7b --system dgx-h100 --gpus 8 --no-memory --from "$tmp/run.sh"
	refused
	says "--num-experts 8, not 0"
	says "such as mixtral-8x7b"
	# Megatron-Bridge, experts
	words="model.num_layers=61 model.num_moe_experts=256 model.expert_model_parallel_size=8"
	echo "scripts/training/train.sh --recipe r $words" >"$tmp/run.sh"
	job=(--system dgx-h100 --gpus 128 --global-batch 128 --batch 1 --no-memory --from "$tmp/run.sh" --get step_s)
	ask train deepseek-v3 "${job[@]}"
	answered
	ask train kimi-k2 "${job[@]}"
	refused
	says "model.num_moe_experts 256, not 384"
}

@test "the size in the name of a torchtitan model is its number of parameters" {
	printf '[model]\nname = "llama3"\nflavor = "%s"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n' 8B >"$tmp/run.toml"
	job=(--system dgx-h100 --gpus 64 --no-memory --from "$tmp/run.toml" --get step_s)
	ask train llama3-70b "${job[@]}"
	refused
	says "run.toml:3:1: error:"
	says "model.flavor 8B, not 70.6B"
	says "such as llama3-8b"
	ask train llama3-8b "${job[@]}"
	answered
	for flavor in 671B:deepseek-v3 30B-A3B:qwen3-30b-a3b 405B:llama3.1-405b 0.6B:qwen3-0.6b; do
		printf '[model]\nflavor = "%s"\n[training]\nlocal_batch_size = 1\n' "${flavor%:*}" >"$tmp/run.toml"
		ask train "${flavor#*:}" "${job[@]}"
		answered
	done
	# a name without a size says nothing
	printf '[model]\nflavor = "debugmodel"\n[training]\nlocal_batch_size = 1\n' >"$tmp/run.toml"
	ask train llama3-8b "${job[@]}"
	answered
	says "not taken over: model.flavor debugmodel"
}

@test "a served model is known by its name on the hub, its folder and its stored type" {
	job=(--gpu h100 --isl 1000 --osl 250 --rate 1 --from "$tmp/run.sh")
	for words in "vllm serve meta-llama/Llama-3.1-70B-Instruct" "vllm serve --model '/data/Llama-3.1-70B-Instruct'" \
		"trtllm-serve serve nvidia/Llama-3.1-70B-Instruct-FP8" \
		"python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-70B"; do
		case $words in *vllm*) tp=--tensor-parallel-size ;; *trtllm*) tp=--tp_size ;; *) tp=--tp ;; esac
		printf '#!/bin/sh\n%s %s 4\n' "$words" "$tp" >"$tmp/run.sh"
		ask serve llama3.1-8b "${job[@]}"
		refused
		says "run.sh:2:"
		says "such as llama3.1-70b"
		# as large
		ask serve llama3.3-70b "${job[@]}"
		answered
	done
	for words in "vllm serve mine/no-such-model" "vllm serve \"\$MODEL\""; do
		echo "$words --tensor-parallel-size 4" >"$tmp/run.sh"
		ask serve llama3.1-8b "${job[@]}"
		answered
	done
	# the file is about the target and not about its draft
	echo "vllm serve meta-llama/Llama-3.1-70B --tensor-parallel-size 4" >"$tmp/run.sh"
	ask serve llama3.1-70b "${job[@]}" --speculate llama3.2-1b=4,accept=0.7
	answered
}

@test "a plan begins with what a launch file runs" {
	plan=(plan train llama3-70b --system dgx-h100)
	today=$("$RIDGE" "${plan[@]}" --from tests/fixtures/launchers/train.sh --get step_s,peak_byte)
	[ "$today" = "$("$RIDGE" train "${plan[@]:2}" --from tests/fixtures/launchers/train.sh --get step_s,peak_byte)" ] ||
		complain "plan says $today"
	ask "${plan[@]}" --from tests/fixtures/launchers/train.sh --top 2 --csv --table changes
	answered
	says "not understood: --lr, --weight-decay"
	case $out in *"recompute none"*) ;; *) complain "the file's recomputation is not today's" ;; esac
	# the file gives numbers of its own; the layout alone takes them from the options
	by_hand=$("$RIDGE" "${plan[@]}" --gpus 64 --global-batch 128 --seq 8192 --recompute full --batch 1 --stack megatron-core \
		--from tp=4,pp=4,vp=5,zero=1,sp --csv --table changes --top 2)
	[ "$out" = "$by_hand" ] || complain "by hand it is $by_hand"
	ask "${plan[@]}" --from tests/fixtures/launchers/train.sh --layout tp=4..8 --csv --table changes
	answered
	case $out in *"tp 4 -> 2"*) complain "a pin is not kept" ;; esac
	for framework in torchtitan:torchtitan deepspeed:hf-deepspeed megatron:megatron-core bridge:megatron-bridge; do
		job=(llama3-8b --system dgx-h100 --gpus 16)
		"$RIDGE" plan train "${job[@]}" --global-batch 64 --seq 4096 --stack "${framework#*:}" --batch 1 --recompute none \
			--emit "${framework%:*}" >"$tmp/file" 2>"$tmp/said" || true
		step=$("$RIDGE" plan train "${job[@]}" --global-batch 64 --seq 4096 --stack "${framework#*:}" --batch 1 --recompute none \
			--get step_s)
		ask plan train "${job[@]}" --from "$tmp/file" --get step_s
		[ "$out" = "$step" ] || complain "$framework: planned as $step"
	done
}

@test "how keys and values travel is written, and read back" {
	local job="train llama3-8b --system dgx-h100 --layout dp=8,cp=4,zero=3 --batch 1 --global-batch 8 --seq 32768" how
	for how in "megatron-core megatron ring p2p" "megatron-core megatron gather all_gather" "megatron-core megatron a2a a2a" \
		"torchtitan torchtitan ring alltoall" "torchtitan torchtitan gather allgather"; do
		# shellcheck disable=SC2086 # words
		set -- $how
		# shellcheck disable=SC2086
		"$RIDGE" $job --stack "$1" --cp-comm "$3" --emit "$2" >"$tmp/file" 2>/dev/null || true
		grep -q "$4" "$tmp/file" || complain "$how: $(cat "$tmp/file")"
		ask train llama3-8b --system dgx-h100 --from "$tmp/file" --get inputs.cp_comm
		[ "$out" = "$3" ] || complain "$how: read as $out"
	done
	ask train llama3-8b --gpu h100 --layout cp=2 --cp-comm all
	refused
	says "ring"
}

@test "what a launch file says and the job has no use for is named" {
	printf '%s ' torchrun --nproc-per-node 8 pretrain_gpt.py --micro-batch-size 1 --global-batch-size 64 --bf16 \
		--cp-comm-type a2a --use-distributed-optimizer >"$tmp/run.sh"
	ask train llama3-8b --system dgx-h100 --from "$tmp/run.sh"
	says "run.sh: ignored here: cp_comm"
}

@test "a launch file of the other use is refused with the command that takes it" {
	for command in train "plan train"; do
		# shellcheck disable=SC2086 # words
		ask $command llama3-8b --system dgx-h100 --from tests/fixtures/launchers/serve.sh
		refused
		says "serve.sh launches a server (vLLM)"
		says "write 'ridge ${command/train/serve} --from tests/fixtures/launchers/serve.sh'"
	done
	ask train --from tests/fixtures/launchers/serve.sh
	refused
	says "launches a server"
	ask plan train llama3-8b --system dgx-h100 --gpus 8 --global-batch 64 --from "$tmp/none.sh"
	refused
	says "neither a layout nor a launch file"
}

@test "a DeepSpeed configuration without its global batch" {
	# micro-batch x accumulation x replicas
	echo '{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 3}}' >"$tmp/ds.json"
	ask plan train llama3-8b --gpu h100 --gpus 8 --seq 2048 --from "$tmp/ds.json"
	answered
	shows "64 sequences of 2048 tokens"
	ask plan train llama3-8b --gpu h100 --gpus 8 --seq 2048 --global-batch 128 --from "$tmp/ds.json"
	answered
	shows "128 sequences of 2048 tokens"
	# `auto`: what the trainer fills in
	echo '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}' >"$tmp/auto.json"
	ask plan train llama3-8b --gpu h100 --gpus 8 --seq 2048 --from "$tmp/auto.json"
	refused
	says "no global batch given"
	ask train llama3-8b --gpu h100 --gpus 8 --seq 2048 --global-batch 64 --batch 2 --from "$tmp/auto.json" --stack hf-deepspeed
	answered 1 # its memory does not fit
	says "micro-batch (auto): add --batch N"
}

@test "experts of a Megatron-LM command are divided as all else is, where it does not say otherwise" {
	local line="torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --expert-model-parallel-size 4 --sequence-parallel"
	line="$line --use-distributed-optimizer --micro-batch-size 1 --global-batch-size 256 --seq-length 4096 --bf16"
	echo "$line" >"$tmp/unsaid.sh"
	for etp in 1 2; do
		echo "$line --expert-tensor-parallel-size $etp" >"$tmp/$etp.sh"
	done
	for file in unsaid 1 2; do
		ask train qwen3-30b-a3b --gpu gb200 --gpus 16 --from "$tmp/$file.sh" --get step_s
		answered
		echo "$out" >"$tmp/$file"
	done
	cmp -s "$tmp/unsaid" "$tmp/2" || complain "not as with 2"
	! cmp -s "$tmp/unsaid" "$tmp/1" || complain "as with 1"
}

@test "a Megatron-LM command without prediction layers trains none" {
	local job="deepseek-v3 --gpu gb200 --gpus 256 --no-memory" step
	for n in 0 1; do
		# shellcheck disable=SC2086 # words
		ask train $job --layout pp=4,vp=4,ep=64 --global-batch 2048 --seq 4096 --batch 1 --stack megatron-core --mtp $n --get step_s
		step=$out
		# shellcheck disable=SC2086
		ask train $job --layout pp=4,vp=4,ep=64 --global-batch 2048 --seq 4096 --batch 1 --stack megatron-core --mtp $n --emit megatron
		printf '%s\n' "$out" >"$tmp/$n.sh"
		# shellcheck disable=SC2086
		ask train $job --from "$tmp/$n.sh" --get step_s
		[ "$out" = "$step" ] || complain "$n: $out s, not $step"
		echo "$out" >>"$tmp/steps"
	done
	[ "$(sort -u "$tmp/steps" | wc -l)" = 2 ] || complain "no difference"
	# a model that has none may be told so
	ask train llama3-8b --gpu h100 --gpus 8 --layout tp=8 --mtp 0 --get step_s
	answered
}

@test "variables that a script sets are read, lists and strings of options, and defaults" {
	cat >"$tmp/run.sh" <<-'END'
		#!/bin/bash
		# TP=8
		TP=${TP:-4}
		export PP="4"; NODES=8
		MODEL_ARGS=(
		    --num-layers 80
		    --hidden-size 8192 --seq-length 8192)
		PARALLEL="--tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP} --sequence-parallel"
		torchrun --nnodes $NODES --nproc-per-node 8 pretrain_gpt.py "${MODEL_ARGS[@]}" $PARALLEL \
		    --use-distributed-optimizer --micro-batch-size 1 --global-batch-size 128 --bf16
		echo done
	END
	cat >"$tmp/plain.sh" <<-'END'
		torchrun --nnodes 8 --nproc-per-node 8 pretrain_gpt.py --num-layers 80 --hidden-size 8192 --seq-length 8192 \
		    --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --sequence-parallel \
		    --use-distributed-optimizer --micro-batch-size 1 --global-batch-size 128 --bf16
	END
	ask memory llama3-70b --system dgx-h100 --recompute full --from "$tmp/plain.sh" --get inputs.gpus,peak_byte
	answered
	cp "$tmp/out" "$tmp/plain"
	ask memory llama3-70b --system dgx-h100 --recompute full --from "$tmp/run.sh" --get inputs.gpus,peak_byte
	answered
	hides "not understood"
	cmp "$tmp/plain" "$tmp/out" || complain "variables read otherwise"
}

@test "a variable that the script does not set is no value" {
	cat >"$tmp/run.sh" <<-'END'
		torchrun pretrain_gpt.py --num-layers 80 --hidden-size 8192 --pipeline-model-parallel-size $PP \
		  --tensor-model-parallel-size '${TP}' --micro-batch-size $(nproc) --seq-length 8192
	END
	ask train llama3-70b --gpu h100 --gpus 64 --global-batch 128 --from "$tmp/run.sh"
	refused
	says "run.sh:1:61: error: --pipeline-model-parallel-size: the value of '\$PP' is not known"
	says "run.sh:2:3: error: --tensor-model-parallel-size: the value of '\${TP}' is not known"
	says "run.sh:2:40: error: --micro-batch-size: the value of '\$(nproc)' is not known"
	printf 'vllm serve %s --tensor-parallel-size two\n' meta-llama/Llama-3.1-70B >"$tmp/run.sh"
	ask serve llama3.1-70b --gpu h100 --isl 10 --osl 10 --from "$tmp/run.sh"
	refused
	says "--tensor-parallel-size: the value of 'two' is not known"
}

@test "here-documents are read however their end is written" {
	local mark
	for mark in EOF "'EOF'" '"EOF"' -EOF; do
		cat >"$tmp/run.sh" <<-END
			N=8
			cat > hosts <<X
			node1 slots=8
			X
			cat > extra.yaml <<$mark
			enable_attention_dp: true
			EOF
			trtllm-serve serve deepseek-ai/DeepSeek-V3 --tp_size \$N --ep_size 8 --config extra.yaml
		END
		ask serve --model deepseek-v3 --gpu h200 --isl 1000 --osl 100 --rate 1 --from "$tmp/run.sh" --get inputs.layout.adp,inputs.layout.tp
		answered
		hides "not understood"
		is true$'\n'8
	done
}

# again FRAMEWORK WORD...: the first row of a plan, emitted and read back, is what runs today
again() {
	local framework=$1 row
	shift
	row=$("$RIDGE" plan train "$@" --get step_s,layout 2>/dev/null) || complain "no plan: $*"
	"$RIDGE" plan train "$@" --emit "$framework" >"$tmp/run.txt" 2>"$tmp/err" || complain "not emitted: $*: $(cat "$tmp/err")"
	ask plan train "$@" --from "$tmp/run.txt" --get step_s,layout
	answered
	is "$row"
	hides "not taken over"
}

@test "chunks, hybrid sharding, attention and dropout of a plan are read back" {
	again torchtitan gpt2-xl --system gb300-nvl72 --gpus 1024 --global-batch 256 --seq 4096 --stack torchtitan
	again megatron llama3-8b --system dgx-h100 --gpus 8 --global-batch 64 --seq 8192 --layout zero=0
	[ "$(grep -c instances "$tmp/run.txt")" = 0 ] || complain "copies of what is not sharded"
	again megatron llama3-8b --gpu mi300x --gpus 256 --global-batch 512 --seq 4096 --layout shard=8
	again bridge llama3-8b --system dgx-h100 --gpus 64 --global-batch 256 --stack megatron-bridge --layout shard=8
	again megatron llama3-8b --gpu h100 --gpus 8 --global-batch 64 --seq 8192 --attention unfused
	again megatron llama3-8b --gpu h100 --gpus 8 --global-batch 64 --seq 8192 --stack megatron-lm --dropout on
	again megatron llama3-70b --system dgx-h100 --gpus 56 --global-batch 112 --seq 8192
	again bridge deepseek-v3 --system dgx-h200 --gpus 512 --global-batch 1024 --seq 4096 --dtype fp8 --stack megatron-bridge
	grep -q "fp8_recipe=tensorwise" "$tmp/run.txt" || complain "no recipe"
	# no option fuses it
	ask plan train llama3-8b --gpu h100 --gpus 8 --global-batch 64 --loss unfused --emit megatron
	answered
	hides fusion
	ask plan train llama3-8b --gpu h100 --gpus 8 --global-batch 64 --stack torchtitan --loss chunked --emit torchtitan
	answered 1
	says "no option for loss=chunked"
}

@test "where nothing meets what was asked, nothing is emitted" {
	ask plan train llama3.1-405b --gpu h100 --gpus 8 --global-batch 64 --emit megatron
	answered 1
	is ""
	says "nothing is emitted"
	ask plan train llama3-70b --system dgx-h100 --gpus 64,128 --global-batch 1920 --tokens 1T --deadline 1d --emit megatron
	answered 1
	is ""
	ask plan serve llama3.1-70b --gpu h100 --engine vllm --rate 1 --isl 1000 --osl 100 --tpot 1ms --emit vllm --unconfirmed
	answered 1
	is ""
	ask plan serve llama3.1-70b --gpu h100:2 --engine vllm --rate 100 --isl 1000 --osl 100 --emit vllm --unconfirmed
	answered 1
	is ""
}

@test "launch files that would take long to read are refused, or read soon" {
	local i
	{ echo A=x; for ((i = 0; i < 9000; i++)); do echo 'A=$A$A'; done; } >"$tmp/grow.sh"
	ask serve llama3-8b --gpu h100 --isl 10 --osl 10 --from "$tmp/grow.sh"
	refused
	says "its variables grow without end"
	head -c 140000 /dev/zero | tr '\0' a >"$tmp/long.sh"
	ask serve llama3-8b --gpu h100 --isl 10 --osl 10 --from "$tmp/long.sh"
	refused
	says "longer than 128 KiB"
	{ printf 'vllm serve meta-llama/Meta-Llama-3-8B --tensor-parallel-size 2'; for ((i = 0; i < 9000; i++)); do printf ' --a%d b' $i; done; } >"$tmp/many.sh"
	ask serve llama3-8b --gpu h100 --isl 10 --osl 10 --from "$tmp/many.sh" --get inputs.layout.tp
	answered
	is 2
	says "and 8980 more"
	for ((i = 0; i < 6000; i++)); do echo 'vllm serve x <<B'; done >"$tmp/open.sh"
	ask serve llama3-8b --gpu h100 --isl 10 --osl 10 --from "$tmp/open.sh"
	[ "$status" -le 2 ] || complain "status"
}

# read FILE IDS...: what train answers for 64 GPUs of a launch file
reads() {
	local file=$1
	shift
	ask train llama3-70b --system dgx-h100 --gpus 64 --from "$file" "$@"
}

@test "variables that grow, commands in quotes and branches are read, and what is said is not" {
	local options="--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2 --use-distributed-optimizer --micro-batch-size 1 --global-batch-size 64 --seq-length 8192 --bf16 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
	local first=${options%% --micro*} rest="--micro${options#* --micro}"
	echo "torchrun pretrain_gpt.py $options" >"$tmp/plain.sh"
	reads "$tmp/plain.sh" --get step_s,peak_byte
	answered
	local plain=$out
	printf 'ARGS="%s"\nARGS+=" %s"\ntorchrun pretrain_gpt.py $ARGS\n' "$first" "$rest" >"$tmp/grows.sh"
	printf 'ARGS=( %s )\nARGS+=( %s )\ntorchrun pretrain_gpt.py "${ARGS[@]}"\n' "$first" "$rest" >"$tmp/list.sh"
	printf 'srun --nodes 8 bash -c "torchrun pretrain_gpt.py %s"\n' "$options" >"$tmp/quoted.sh"
	printf 'CMD="pretrain_gpt.py %s"\nsbatch --wrap="torchrun $CMD"\n' "$options" >"$tmp/wrap.sh"
	printf 'echo "usage: --tensor-model-parallel-size N"\ntorchrun pretrain_gpt.py %s\n' "$options" >"$tmp/said.sh"
	for file in grows list quoted wrap said; do
		reads "$tmp/$file.sh" --get step_s,peak_byte
		answered
		[ "$out" = "$plain" ] || complain "$file: $out instead of $plain"
	done
	printf 'TP=4\nif [ "$1" = large ]; then\n\tTP=8\nfi\ntorchrun pretrain_gpt.py --tensor-model-parallel-size $TP %s\n' "${options#* * }" >"$tmp/branch.sh"
	reads "$tmp/branch.sh" --get step_s,peak_byte
	[ "$out" = "$plain" ] || complain "branch: $out instead of $plain"
	says "branches, which set TP"
	# one micro-batch, where no global batch is said
	echo "torchrun pretrain_gpt.py ${options/--global-batch-size 64 /}" >"$tmp/plain.sh"
	reads "$tmp/plain.sh" --get n_global_sequences
	answered
	is 4
	# nothing of the run is in the file
	echo 'srun bash -c "torchrun pretrain_gpt.py $ARGS"' >"$tmp/empty.sh"
	reads "$tmp/empty.sh"
	refused
	echo "deepspeed train.py --deepspeed ds.json --bf16" >"$tmp/ds.sh"
	reads "$tmp/ds.sh"
	refused
	says "give 'ds.json'"
}

@test "torchtitan's batch, stages and mesh are read as torchtitan has them" {
	local at="llama3-8b --system dgx-h100 --gpus 16"
	cat >"$tmp/run.toml" <<-'END'
		[training]
		local_batch_size = 8
		global_batch_size = -1
		seq_len = 8192
		[parallelism]
		pipeline_parallel_degree = 4
		pipeline_parallel_microbatch_size = 2
		pipeline_parallel_schedule = "Interleaved1F1B"
		data_parallel_shard_degree = -1
	END
	# shellcheck disable=SC2086 # words
	{
		# 4 ranks of 8 sequences, in micro-batches of 2, two stages on a rank, parameters kept between micro-batches
		ask train $at --from "$tmp/run.toml" --get step_s,peak_byte
		local read=$out
		ask train $at --stack torchtitan --seq 8192 --batch 2 --global-batch 32 --layout pp=4,vp=2,zero=2 --recompute every-2 --get step_s,peak_byte
		[ "$out" = "$read" ] || complain "$read instead of $out"
		for layout in zero=3,cp=2,shard=4 zero=0,tp=2 zero=3,shard=8 zero=2,pp=2,vp=2; do
			ask train $at --stack torchtitan --seq 8192 --batch 1 --global-batch 64 --layout $layout --get step_s,peak_byte
			read=$out
			"$RIDGE" train $at --stack torchtitan --seq 8192 --batch 1 --global-batch 64 --layout $layout --emit torchtitan >"$tmp/run.toml" || true
			ask train $at --from "$tmp/run.toml" --get step_s,peak_byte
			[ "$out" = "$read" ] || complain "$layout: $out instead of $read"
		done
		# what its mesh does not have
		ask train $at --stack torchtitan --batch 1 --global-batch 64 --layout zero=3,cp=4,shard=2 --emit torchtitan
		answered 1
		says "shards over the ranks of cp too"
		ask train $at --stack torchtitan --batch 1 --global-batch 64 --layout pp=4,zero=2 --zero-bubble --emit torchtitan
		answered 1
		says "add --layout vp=2"
		echo "torchrun -m torchtitan.train --training.local_batch_size 2 --training.seq-len=8192 --parallelism.tensor_parallel_degree 2" >"$tmp/run.sh"
		ask train $at --from "$tmp/run.sh" --get step_s
		read=$out
		ask train $at --stack torchtitan --seq 8192 --batch 2 --global-batch 16 --layout tp=2,zero=3 --recompute every-2 --get step_s
		[ "$out" = "$read" ] || complain "$read instead of $out"
	}
}

# served FILE WORDS...: what serve answers for a launch file, 70B on four H200
served() {
	printf '%s\n' "$2" >"$tmp/$1"
	ask serve llama3.1-70b --gpu h200 --isl 1000 --osl 200 --rate 1 --from "$tmp/$1" --get tpot_s
	answered
}

@test "engines are known by their programs, images and YAML keys, and take their own spellings" {
	served run.sh "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4"
	local vllm=$out
	for words in "docker run --gpus all vllm/vllm-openai:latest --model meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4" \
		"python -m vllm.entrypoints.openai.api_server --model meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4" \
		"vllm serve --tensor-parallel-size 4 meta-llama/Llama-3.1-70B-Instruct --max-num-seqs 256"; do
		served run.sh "$words"
		[ "$out" = "$vllm" ] || complain "$words: $out"
	done
	served run.yaml $'tensor-parallel-size: 4\nmax-num-seqs: 256'
	[ "$out" = "$vllm" ] || complain "YAML: $out"
	# copies of a dense model, which vLLM starts behind one port
	served run.sh "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 --data-parallel-size 2"
	[ "$out" = "$vllm" ] || complain "copies: $out"
	says "2 copies of a dense model"
	served run.sh "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 --kv-cache-dtype fp8 --quantization fp8"
	local narrow=$out
	served run.sh "vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 4 --kv-cache-dtype fp8_e4m3 -q modelopt --max-num-batched-tokens 8192"
	[ "$out" = "$narrow" ] || complain "$out instead of $narrow"
	served run.sh "vllm serve RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8 -tp 4"
	says "add --dtype fp8"
	served run.sh "vllm serve meta-llama/Llama-3.1-70B -tp 4 --speculative-config '{\"num_speculative_tokens\": 3, \"model\": \"a/b\", \"method\": \"eagle\"}'"
	says "add --speculate eagle=3"
	served run.sh "python -m sglang.launch_server --model-path meta-llama/Llama-3.1-70B --tp 4 --speculative-algorithm EAGLE --speculative-draft-model-path a/b --speculative-num-steps 3 --speculative-eagle-topk 1"
	says "add --speculate eagle=3"
	served run.sh "trtllm-serve meta-llama/Llama-3.1-70B --tp_size 4 --extra_llm_api_options more.yaml"
	says "options in more.yaml"
}

@test "what is launched has what its framework asks beside it" {
	ask train llama3-8b --system dgx-h100 --gpus 16 --global-batch 16 --layout zero=3,shard=8 --stack hf-deepspeed --emit deepspeed
	answered
	grep -q '"mics_shard_size": 8' "$tmp/out"
	says "deepspeed.zero.MiCS_Init"
	cp "$tmp/out" "$tmp/run.json"
	ask train llama3-8b --system dgx-h100 --gpus 16 --global-batch 16 --stack hf-deepspeed --from "$tmp/run.json" --seq 4096 --get step_s
	local read=$out
	ask train llama3-8b --system dgx-h100 --gpus 16 --global-batch 16 --batch 1 --seq 4096 --layout zero=3,shard=8 --stack hf-deepspeed --get step_s
	[ "$out" = "$read" ] || complain "$read instead of $out"
	ask train llama3-8b --system dgx-h100 --gpus 8 --global-batch 8 --layout zero=1 --stack megatron-bridge --emit bridge
	answered
	for word in model.virtual_pipeline_model_parallel_size=null ddp.use_megatron_fsdp=false mixed_precision.fp8=null; do
		grep -q " $word " "$tmp/out" || complain "no $word"
	done
	ask train llama3-8b --system dgx-h100 --gpus 8 --global-batch 8 --layout zero=3 --stack megatron-core --emit megatron
	grep -q -- "--ckpt-format fsdp_dtensor" "$tmp/out"
	ask train nemotron-h-56b --system dgx-h100 --gpus 8 --global-batch 8 --layout tp=8,zero=1,sp --stack megatron-core --emit megatron
	grep -q "pretrain_mamba.py" "$tmp/out"
	ask train llama3-8b --system dgx-h100 --gpus 8 --global-batch 8 --layout zero=1 --stack megatron-core --recompute every-4 --emit megatron
	answered 1
	! grep -q "recompute-num-layers" "$tmp/out"
	ask serve llama3.1-70b --gpu h100 --engine trtllm --dtype fp8 --layout tp=4 --kv-link ib-ndr --isl 1000 --osl 200 --rate 1 --emit trtllm
	[ "$(grep -c "disable_overlap_scheduler: true" "$tmp/out")" = 1 ]
	grep -q "config prefill.yaml" "$tmp/out"
	grep -q "config decode.yaml" "$tmp/out"
	ask serve llama3.1-70b --gpu b200 --engine vllm --dtype nvfp4 --isl 1000 --osl 200 --rate 1 --emit vllm
	says "serve a checkpoint in nvfp4"
	# the stages that are written are longer than even ones, by what they take when they are read back
	local v3="deepseek-v3 --system dgx-h100 --gpus 1024 --seq 4096 --global-batch 8192 --stack megatron-core --dtype fp8"
	# shellcheck disable=SC2086 # words
	{
		local even
		even=$("$RIDGE" train $v3 --layout tp=2,pp=8,vp=4,ep=64,zero=1,sp --recompute mla_up_proj,mlp --get step_s)
		ask train $v3 --layout tp=2,pp=8,vp=4,ep=64,zero=1,sp --recompute mla_up_proj,mlp --emit megatron
		[[ $(<"$tmp/err") =~ stages\ as\ written\ take\ ([0-9]+)\ % ]] || complain "no word of uneven stages"
		cp "$tmp/out" "$tmp/run.sh"
		ask train $v3 --from "$tmp/run.sh" --get step_s
		awk -v a="$even" -v b="$out" -v said="${BASH_REMATCH[1]}" 'BEGIN { exit !(100 * (b / a - 1) > said - 1 && 100 * (b / a - 1) < said + 1) }' ||
			complain "$even, $out, ${BASH_REMATCH[1]} %"
	}
}

@test "commands inside words, empty values, comments and containers" {
	local options="--tensor-model-parallel-size 2 --sequence-parallel --micro-batch-size 1 --global-batch-size 64 --seq-length 4096 --bf16 --use-distributed-optimizer"
	echo "torchrun pretrain_gpt.py $options" >"$tmp/plain.sh"
	ask train llama3-8b --system dgx-h100 --gpus 16 --from "$tmp/plain.sh" --get step_s,peak_byte
	local plain=$out
	for words in "torchrun --rdzv_endpoint \$(hostname --ip-address):29500 pretrain_gpt.py $options" \
		"cd \$(git rev-parse --show-toplevel); torchrun pretrain_gpt.py $options --overlap-param-gather \"\$@\"" \
		"# compared with vllm serve"$'\n'"torchrun pretrain_gpt.py $options"; do
		echo "$words" >"$tmp/run.sh"
		ask train llama3-8b --system dgx-h100 --gpus 16 --from "$tmp/run.sh" --get step_s,peak_byte
		answered
		[ "$out" = "$plain" ] || complain "$words: $out instead of $plain"
	done
	printf 'torchrun pretrain_gpt.py --context-parallel-size= %s\n' "$options" >"$tmp/run.sh"
	ask train llama3-8b --system dgx-h100 --gpus 16 --from "$tmp/run.sh"
	refused
	says "the value of '' is not known"
	# a known option with a value that nothing reads is said
	echo "torchrun pretrain_gpt.py $options --cp-comm-type a2a+p2p" >"$tmp/run.sh"
	ask train llama3-8b --system dgx-h100 --gpus 16 --from "$tmp/run.sh" --get step_s
	says "not taken over: --cp-comm-type a2a+p2p"
	printf 'A=%.0s' {1..20000} >"$tmp/deep.sh"
	ask train llama3-8b --system dgx-h100 --gpus 16 --from "$tmp/deep.sh"
	refused
	served run.sh "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4"
	plain=$out
	served run.yaml $'spec:\n  containers:\n  - name: a\n    image: vllm/vllm-openai\n    command: ["bash", "-c", "vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 4"]'
	[ "$out" = "$plain" ] || complain "containers: $out"
	served run.sh $'cat >c.yaml <<END\ntensor-parallel-size: 4\nEND\nvllm serve meta-llama/Llama-3.1-70B-Instruct --config c.yaml'
	[ "$out" = "$plain" ] || complain "a file that is written: $out"
	echo "vllm serve --image x" >"$tmp/run.yaml"
	echo 'kind: Pod' >>"$tmp/run.yaml"
	ask serve llama3.1-70b --gpu h200 --isl 1000 --osl 200 --rate 1 --from "$tmp/run.yaml"
	refused
	printf 'trtllm-serve "meta-llama/Llama-3.1-70B" --tp_size 4\n' >"$tmp/run.sh"
	ask serve llama3.1-8b --gpu h200 --isl 1000 --osl 200 --rate 1 --from "$tmp/run.sh"
	refused
	says "such as llama3.1-70b"
}
