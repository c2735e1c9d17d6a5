#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Options of frameworks: --emit writes what the framework has, nothing else, and says what it has not.

load helper

# unlisted LAUNCHER LIST: keys of its rules that are not in the framework's own list
unlisted() {
	sed -n 's/.*key: \([^,}]*\)[,}].*/\1/p' "$1" | sort -u | while read -r key; do
		grep -qxe "$key" "$2" || echo "$key"
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
	[ "$out" = 'torchrun ${TORCHRUN_ARGS} pretrain_gpt.py ${MODEL_ARGS} ${DATA_ARGS} --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 5 --sequence-parallel --use-distributed-optimizer --micro-batch-size 1 --global-batch-size 128 --seq-length 8192 --bf16 --accumulate-allreduce-grads-in-fp32 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1' ] ||
		complain "not what was expected"
	sh -n "$tmp/out"
}

@test "Megatron-Bridge gets overrides, lists quoted" {
	ask train deepseek-v3 --system dgx-h100 --gpus 1024 --global-batch 2048 --stack megatron-bridge --no-memory \
		--layout tp=2,pp=8,ep=64,vp=2,zero=1,sp --recompute mla_up_proj,moe_act --dtype fp8 --dispatcher dedup --emit bridge
	answered
	for word in model.expert_model_parallel_size=64 model.expert_tensor_parallel_size=1 mixed_precision.fp8=hybrid \
		"model.recompute_modules='[mla_up_proj,moe_act]'" model.moe_flex_dispatcher_backend=deepep; do
		case $out in *" $word"*) ;; *) complain "$word is missing" ;; esac
	done
	sh -n "$tmp/out"
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

[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"

[compile]
enable = true' ] || complain "not what was expected"
}

@test "DeepSpeed gets a JSON file" {
	ask train llama3-8b --system dgx-h100 --gpus 8 --layout zero=3 --stack hf-deepspeed --batch 2 --global-batch 64 \
		--offload optimizer --no-memory --emit deepspeed
	[ "$(echo "$out" | tr -d ' \n')" = '{"zero_optimization":{"stage":3,"offload_optimizer":{"device":"cpu"}},"train_micro_batch_size_per_gpu":2,"gradient_accumulation_steps":4,"train_batch_size":64,"bf16":{"enabled":true}}' ] ||
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

@test "faults of a launcher file have a place" {
	ask train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --emit nothing
	refused
	printf 'format: 1\nname: X\nversion: 1\nsource: mine\nform: argv\nmap:\n  - {from: tb, key: --tp}\n' >"$tmp/x.yaml"
	ask train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --emit "$tmp/x.yaml"
	refused
	says "x.yaml:7:"
	says "did you mean"
}
