#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Plans: every row is what train says, whatever the number of threads and however much was pruned.

load helper

table() {
	"$RIDGE" plan train "$@" --csv --table layouts
}

# same_as_train WORD...: each row of the plan, asked of train
same_as_train() {
	local i names row offload got
	for i in 0 1 2 3 4 5; do
		names=layouts.$i.layout,layouts.$i.n_micro_sequences,layouts.$i.recompute,layouts.$i.step_s,layouts.$i.peak_byte
		mapfile -t row < <("$RIDGE" plan train "$@" --top 6 --get "$names")
		offload=$("$RIDGE" plan train "$@" --top 6 --get "layouts.$i.offload" 2>/dev/null) || offload=
		got=$("$RIDGE" train "$@" --layout "${row[0]}" --batch "${row[1]}" --recompute "${row[2]}" \
			${offload:+--offload "$offload"} --get step_s,peak_byte)
		[ "$got" = "${row[3]}"$'\n'"${row[4]}" ] || complain "${row[*]}: train says $got"
	done
}

@test "a row of a plan asked of train has its step and memory" {
	same_as_train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --seq 8192
	same_as_train qwen3-30b-a3b --system gb200-nvl72 --gpus 8 --global-batch 512 --dtype mxfp8
	same_as_train llama3-70b --system dgx-h100 --gpus 32 --global-batch 256 --seq 8192
	same_as_train llama3-8b --system dgx-h100 --gpus 16 --global-batch 128 --stack torchtitan
	same_as_train llama3-8b --gpu h100 --gpus 8 --global-batch 64 --seq 16384 --stack torchtitan --layout tp=1,cp=1
	same_as_train mixtral-8x7b --system gb200-nvl72 --gpus 16 --global-batch 960 --stack torchtitan
	same_as_train llama3-8b --system dgx-h100 --gpus 32 --global-batch 960 --optimizer-in-backward
	same_as_train nemotron-3-super --system dgx-b200 --gpus 64 --global-batch 256
	same_as_train qwen3-next-80b-a3b --system dgx-h100 --gpus 64 --global-batch 512
}

@test "a plan doubts its first row as train does" {
	local row
	for job in "qwen3-next-80b-a3b --system dgx-h100 --gpus 64 --global-batch 512" \
		"llama3-8b --gpu a100-pcie --gpus 8 --global-batch 64" "deepseek-v3 --system dgx-h100 --gpus 512 --global-batch 4096"; do
		# shellcheck disable=SC2086 # words
		mapfile -t row < <("$RIDGE" plan train $job --top 1 --get layouts.0.layout,layouts.0.n_micro_sequences,layouts.0.recompute 2>"$tmp/p")
		# shellcheck disable=SC2086
		"$RIDGE" train $job --layout "${row[0]}" --batch "${row[1]}" --recompute "${row[2]}" 2>"$tmp/t" >/dev/null
		sed -n 's/.*warning: //p' "$tmp/p" >"$tmp/planned"
		sed -n 's/.*warning: //p' "$tmp/t" | grep -v '^risky' >"$tmp/trained" || true
		[ -s "$tmp/planned" ] || complain "$job: no doubts"
		cmp "$tmp/planned" "$tmp/trained" || complain "$job: $(cat "$tmp/planned" "$tmp/trained")"
	done
}

@test "layers that are recomputed in part stand in a plan where memory is short" {
	job="llama3-70b --system dgx-h100 --gpus 32 --global-batch 256 --seq 8192 --batch 1"
	# shellcheck disable=SC2086 # words
	{
		ask plan train $job --layout dp=2,tp=8,pp=2,vp=1,cp=1 --get layouts.0.recompute,step_s,layouts.0.peak_byte
		answered
		{ read -r policy; read -r step; read -r peak; } <<<"$out"
		case $policy in block-*) ;; *) complain "the first row recomputes $policy" ;; esac
		for other in none full; do
			{ read -r s; read -r p; } < <("$RIDGE" train $job --layout dp=2,tp=8,pp=2,zero=1,sp --recompute $other --get step_s,peak_byte)
			awk -v o=$other -v s="$s" -v p="$p" -v own_s="$step" -v own_p="$peak" 'BEGIN {
				exit !(o == "none" ? s < own_s && p > own_p : s > own_s && p < own_p) }' ||
				complain "$other: $s s, $p; $policy: $step s, $peak"
		done
		# as many layers as a stage has are all of them
		all=$("$RIDGE" train $job --layout dp=2,tp=8,pp=2,zero=1,sp --recompute block-40 --get step_s)
		[ "$all" = "$s" ] || complain "all layers take $all, full recomputation $s"
	}
	ask train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --stack torchtitan --batch 1 --recompute block-2
	refused
	says "block-N needs Megatron-Core"
	ask memory llama3-8b --gpu h100 --stack megatron-core --recompute block-33
	refused
	says "the model has 32 layers"
}

@test "experts are searched with the modules that recipes recompute" {
	job="gpt-oss-120b --system dgx-h100 --gpus 64 --global-batch 512 --stack megatron-bridge"
	# shellcheck disable=SC2086 # words
	{
		ask plan train $job --layout pp=4,ep=8,tp=1,cp=1 --pareto time:memory --all --csv --table layouts
		answered
		for modules in layernorm "layernorm,moe_act" "layernorm,moe"; do
			case $out in *",$modules,"* | *",\"$modules\","*) ;; *) complain "$modules is not on the front" ;; esac
		done
		case $out in *mla_up_proj*) complain "latent attention" ;; esac
		same_as_train $job
	}
}

@test "Megatron shards fully where it is named, and offloads what then does not fit" {
	job="llama3-70b --system gb200-nvl72 --gpus 64 --global-batch 256 --seq 8192 --dtype fp8"
	# shellcheck disable=SC2086 # words
	{
		same_as_train $job --stack megatron-bridge
		ask plan train $job --stack megatron-bridge --get layouts.0.layout,layouts.0.n_micro_sequences,layouts.0.recompute
		case $out in "dp=64,zero=3"$'\n'2$'\n'offload-*) ;; *) complain "the first row is $out" ;; esac
		# what may be faster is said as train takes it
		mapfile -t row < <("$RIDGE" plan train $job --stack megatron-bridge \
			--get near.0.layout,near.0.n_micro_sequences,near.0.recompute,near.0.step_s)
		[ "${row[3]}" = "$("$RIDGE" train $job --stack megatron-bridge --layout "${row[0]}" --batch "${row[1]}" \
			--recompute "${row[2]}" --get step_s)" ] || complain "${row[*]}"
		# a layout with zero=3 is another framework's where none is named
		ask plan train $job --all --csv
		answered
		case $out in *zero=3*) complain "full sharding without --stack" ;; esac
		ask train $job --layout zero=3 --stack torchtitan --recompute offload-8
		refused
		says "offload-N needs Megatron-Core"
		ask train $job --layout pp=2 --recompute offload-8
		refused
		says "excludes pipelines"
		ask plan train $job --layout pp=2 --recompute offload-8
		refused
		says "excludes pipelines"
		ask memory $job --layout zero=3 --stack megatron-core --recompute offload-80
		refused
		says "use at most offload-79"
	}
	# what does not fit may with half of its layers on the host, as memory says by itself
	job="llama3-8b --gpu h100 --gpus 8 --layout zero=3 --stack megatron-bridge --batch 2 --seq 8192"
	# shellcheck disable=SC2086
	ask memory $job
	shows "--recompute offload-16"
	# shellcheck disable=SC2086
	ask memory $job --recompute offload-16 --get verdict
	[ "$out" = fits ] || complain "with it: $out"
	# the link to the host decides what it costs
	for gpu in h100 gb200; do
		"$RIDGE" train llama3-8b --gpu $gpu --gpus 8 --stack megatron-core --layout zero=3 --batch 1 --seq 8192 \
			--recompute offload-31 --json >"$tmp/$gpu"
	done
	grep -q '"offload"' "$tmp/h100" || complain "nothing waits for PCIe: $(cat "$tmp/h100")"
}

# Megatron-Core's transformer_config.py
@test "inputs of modules wait in the host's memory, beside recomputed modules alone" {
	local job="qwen3-30b-a3b --gpu b200 --gpus 8 --stack megatron-core" way
	without=$("$RIDGE" memory $job --layout ep=8 --get activation_byte)
	with=$("$RIDGE" memory $job --layout ep=8 --offload expert_fc1 --get activation_byte)
	# eight copies of 2048 elements a token, of all layers but the one in use and the one on its way
	awk -v a="$without" -v b="$with" 'BEGIN { x = (a - b) / (8 * 2048 * 2 * 4096 * 46); exit !(x > 0.99 && x < 1.01) }' ||
		complain "$without, $with"
	# plan and train agree, and plan recomputes nothing that excludes it
	# shellcheck disable=SC2086 # words
	ask plan train $job --offload expert_fc1 --global-batch 512 --all --csv
	answered
	case $out in *block-* | *,full,*) complain "whole layers are recomputed: $out" ;; esac
	planned=$("$RIDGE" plan train $job --offload expert_fc1 --recompute moe_act --layout ep=8 --batch 1 --global-batch 512 \
		--get layouts.0.step_s)
	ask train $job --offload expert_fc1 --recompute moe_act --layout ep=8,zero=1 --batch 1 --global-batch 512 --get step_s
	[ "$planned" = "$out" ] || complain "plan $planned, train $out"
	for way in "--offload attn_proj" "--offload expert_fc1 --recompute full" "--offload expert_fc1 --recompute offload-8" \
		"--infer --offload moe_act"; do
		# shellcheck disable=SC2086 # words
		ask memory $job --layout ep=8 $way
		refused
	done
	ask memory llama3-8b --gpu h100 --stack megatron-core --offload moe_act
	refused
	says "need a mixture of experts"
	# a norm that is part of a map waits with what the map reads
	ask memory llama3-8b --gpu h100 --stack megatron-core --offload attn_norm
	refused
	says "use qkv_linear"
	ask memory llama3-8b --gpu h100 --stack torchtitan --offload core_attn
	refused
	says "needs Megatron-Core"
	ask memory --params 7e9 --offload core_attn
	refused
	says "name a model"
	# what makes it fit is one list with what was said, to be pasted in its place
	job="qwen3-30b-a3b --gpu h100 --gpus 8 --stack megatron-core --layout ep=8 --batch 2"
	# shellcheck disable=SC2086 # words
	ask memory $job --offload mlp_norm --get fixes.0.change,fixes.0.peak_byte
	[ "${out%%$'\n'*}" = "--offload optimizer,mlp_norm,expert_fc1,moe_act" ] || complain "the first change is $out"
	said=${out#*$'\n'}
	# shellcheck disable=SC2086
	ask memory $job ${out%%$'\n'*} --get peak_byte
	answered
	[ "$said" = "$out" ] || complain "said $said, is $out"
	# checkpoints go with full recomputation, in plan too
	job="llama3-8b --gpu h100 --gpus 16 --stack hf-deepspeed --offload activations --global-batch 64"
	# shellcheck disable=SC2086 # words
	{
		ask plan train $job --recompute full --get layouts.0.step_s
		answered
		planned=$out
		ask plan train $job --get layouts.0.step_s
		[ "$planned" = "$out" ] || complain "open $out, with full recomputation $planned"
		ask plan train $job --recompute none
		refused
	}
}

@test "modules of attention wait in the host's memory where the host is behind NVLink" {
	job="llama3.1-405b --gpus 128 --global-batch 768 --seq 8192 --stack megatron-bridge"
	# shellcheck disable=SC2086 # words
	{
		same_as_train $job --gpu gb200
		# nothing else lets this layout fit but recomputation
		pin="--layout tp=8,pp=8,vp=16,cp=1 --batch 2"
		ask plan train $job --gpu gb200 $pin --get layouts.0.recompute,layouts.0.offload,step_s
		answered
		[ "${out%$'\n'*}" = $'none\nqkv_linear,core_attn,attn_proj' ] || complain "the row is $out"
		step=${out##*$'\n'}
		for other in none full; do
			ask plan train $job --gpu gb200 $pin --recompute $other --get step_s
			[ "$status" -ne 0 ] || awk -v a="$step" -v b="$out" 'BEGIN { exit !(a < b) }' || complain "$other: $out s, not $step"
		done
		# one list with what else is offloaded, to be pasted in its place
		ask plan train $job --gpu gb200 --layout tp=4,pp=16,vp=8,cp=1 --batch 1 --offload optimizer \
			--get train_options,layouts.0.peak_byte
		answered
		case $out in *"--offload optimizer,qkv_linear,core_attn,attn_proj"*) ;; *) complain "options $out" ;; esac
		peak=${out#*$'\n'}
		ask memory $job --gpu gb200 ${out%%$'\n'*} --get peak_byte
		[ "$out" = "$peak" ] || complain "planned $peak"
		# what is asked for is kept; over PCIe and by mixtures it is not searched
		for job in "$job --gpu gb200 $pin --offload core_attn" "$job --gpu h200" \
			"qwen3-235b-a22b --gpu gb200 --gpus 64 --global-batch 1024 --stack megatron-bridge"; do
			ask plan train $job --all --csv
			shows "layout,"
			case $out in *qkv_linear*) complain "$job: qkv_linear" ;; esac
		done
	}
	# a framework takes it, and what it takes is read back
	job="llama3.1-405b --gpu gb200 --gpus 128 --stack megatron-bridge"
	# shellcheck disable=SC2086 # words
	{
		ask plan train $job --global-batch 768 --seq 8192 --layout tp=8,pp=8,vp=16,cp=1 --batch 2 --emit bridge
		answered
		shows "model.offload_modules='[qkv_linear,core_attn,attn_proj]'"
		printf '%s\n' "$out" >"$tmp/run.sh"
		ask train $job --from "$tmp/run.sh" --get step_s
		answered
		[ "$out" = "$step" ] || complain "read back $out s, planned $step"
	}
}

@test "narrow moments are compared, and take the distributed optimizer alone" {
	job="llama3-70b --system gb200-nvl72 --gpus 64 --global-batch 256 --seq 8192 --stack megatron-bridge"
	# shellcheck disable=SC2086 # words
	{
		same_as_train $job --moment-dtype bf16
		ask plan train $job --moment-dtype fp32,bf16 --all --csv
		answered
		grep -q 'zero=3.*--moment-dtype fp32' <<<"$out" || complain "no full sharding"
		grep -q 'zero=1.*--moment-dtype bf16' <<<"$out" || complain "no narrow moments"
		grep -q '"[^"]*zero=3[^"]*",[^"]*--moment-dtype bf16' <<<"$out" && complain "both at once"
		ask plan train $job --moment-dtype bf16 --layout zero=3
		refused
		says "not full sharding (megatron/core/optimizer/optimizer_config.py)"
		ask plan train $job --offload optimizer --all --csv
		answered
		case $out in *zero=3*) complain "full sharding with an update on the host" ;; esac
		ask train $job --moment-dtype bf16 --layout zero=3
		refused
		says "use --layout zero=1"
		ask train $job --moment-dtype bf16 --layout tp=2 --optimizer lion
		refused
		ask plan train $job --packed 512 --all --json
		[ "$(grep -o '"n_micro_sequences":[^,]*' <<<"$out" | tr -d '\t' | sort -u)" = '"n_micro_sequences":1' ] ||
			complain "packed samples in larger micro-batches"
		ask plan train $job --packed 512 --batch 2,4
		refused
		says "use --batch 1"
	}
	ask train llama3-8b --gpu h100 --gpus 8 --stack torchtitan --moment-dtype bf16
	refused
	says "--states pure"
	# 16-bit moments are what makes it fit, as memory says by itself
	ask memory llama3-70b --gpu h100 --gpus 16 --stack megatron-core --seq 4096 --layout tp=8,pp=2,zero=1
	shows "--moment-dtype bf16"
	ask memory llama3-70b --gpu h100 --gpus 16 --stack megatron-core --seq 4096 --layout tp=8,pp=2,zero=1 \
		--moment-dtype bf16 --get verdict
	[ "$out" = fits ] || complain "with it: $out"
}

@test "what no published run has is noted, and differs from others less surely" {
	job="llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --seq 8192 --layout tp=8,pp=2,vp=10"
	# shellcheck disable=SC2086 # words
	ask plan train $job --schedule 1f1b,zero-bubble --csv --table layouts
	answered
	n=$(grep -c -- "--schedule zero-bubble" <<<"$out")
	[ "$n" -ge 1 ] && [ "$(grep -c "zero-bubble.*no published run has a zero-bubble schedule" <<<"$out")" = "$n" ] ||
		complain "no note"
	[ "$(grep -- "--schedule 1f1b" <<<"$out" | grep -c "no published run")" = 0 ] || complain "a note on 1f1b"
	# it counts 10 % more: two layouts of this job are slower by less, one of them published
	# shellcheck disable=SC2086 # words
	ask plan train $job --schedule 1f1b,zero-bubble --csv --table layouts
	sed 's/"[^"]*"/text/g' <<<"$out" >"$tmp/rows"
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		{ zb[NR] = /zero-bubble/; s[NR] = $at["step_s"]; low = $at["difference_frac.low"]; width[zb[NR]] = $at["difference_frac.high"] - low }
		END { exit !(!zb[2] && !zb[3] && zb[5] && s[5] < s[2] && s[5] < s[3] && width[1] > 2 * width[0]) }' "$tmp/rows" || complain "order or intervals"
	# a schedule that all rows have is held against none
	# shellcheck disable=SC2086 # words
	ask plan train $job --schedule zero-bubble --get layouts.1.difference_frac
	alone=$out
	# shellcheck disable=SC2086 # words
	ask plan train $job --schedule 1f1b --get layouts.1.difference_frac
	awk -v a="$alone" -v b="$out" 'BEGIN { exit !(a - b < 0.01 && b - a < 0.01) }' || complain "$alone, not $out"
}

@test "Megatron-Core has no published run that shards gradients or weights of experts; FSDP2 has" {
	job="nemotron-3-nano --gpu gb200 --gpus 8 --global-batch 512 --seq 8192 --dtype nvfp4"
	# shellcheck disable=SC2086 # words
	ask plan train $job --stack megatron-bridge --csv --table layouts
	[ "$(grep -c 'zero=3' <<<"$out")" -gt 1 ] || complain "none is sharded"
	[ "$(grep 'zero=[23]' <<<"$out" | grep -vc "no published run with experts shards gradients or weights")" = 0 ] || complain "no note"
	[ "$(grep -v 'zero=[23]' <<<"$out" | grep -c "no published run with experts")" = 0 ] || complain "a note on zero=1"
	# in one letter are those whose difference to the first row may be none
	sed 's/"[^"]*"/text/g' <<<"$out" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 2 { same = $at["difference_frac.low"] <= 0 && $at["difference_frac.high"] >= 0; if (same != ($1 == "a")) exit 1; n[same]++ }
		END { exit !(n[0] > 0 && n[1] > 0) }' || complain "letters: $out"
	ask plan train qwen3-30b-a3b --gpu h100 --gpus 16 --global-batch 128 --stack automodel --csv --table layouts
	[ "$(grep 'zero=3' <<<"$out" | grep -c "no published run")" = 0 ] || complain "$out"
	# --groups has the first of each letter, and all rows in its numbers
	# shellcheck disable=SC2086 # words
	ask plan train $job --stack megatron-bridge --groups --csv --table layouts
	awk -F, 'NR > 1 { if (seen[$1]++) exit 1 }' <<<"$out" || complain "a letter twice"
}

@test "pipelines without an equal split take chunks of unequal layers, one layer apart" {
	local job="llama3-70b --system dgx-h100 --gpus 56 --global-batch 112 --seq 8192"
	# shellcheck disable=SC2086 # words
	{
		same_as_train $job
		ask plan train $job --get layouts.0.layout,layouts.0.note
		answered
		shows "pp=7,vp=5"
		shows "no published run has chunks of so unequal layers"
		ask plan train $job --emit megatron
		answered
		shows "--pipeline-model-parallel-layout"
		printf '%s\n' "$out" >"$tmp/run.sh"
		ask train llama3-70b --system dgx-h100 --from "$tmp/run.sh" --get step_s
		answered
		is "$("$RIDGE" plan train $job --get step_s)"
		# torchtitan has equal stages, but for the first and the last
		ask plan train $job --stack torchtitan --layout pp=7,vp=5
		refused
	}
}

@test "no pipeline has more stages than layers, as in train" {
	ask plan train llama3.1-405b --system dgx-h100 --gpus 1024 --global-batch 1024 --seq 8192 --layout tp=1,pp=128,cp=1
	refused
	ask train llama3.1-405b --system dgx-h100 --gpus 1024 --global-batch 1024 --seq 8192 --layout pp=128
	refused
}

@test "a row's options name the framework where train would take another" {
	local options
	for layout in zero=3 zero=2; do
		options=$("$RIDGE" plan train llama3-8b --system dgx-h100 --gpus 32 --global-batch 960 --seq 4096 --layout $layout --get train_options)
		# shellcheck disable=SC2086 # words
		ask train llama3-8b --system dgx-h100 --gpus 32 --global-batch 960 --seq 4096 $options --get step_s
		answered
		is "$("$RIDGE" plan train llama3-8b --system dgx-h100 --gpus 32 --global-batch 960 --seq 4096 --layout $layout --get step_s)"
	done
}

@test "stages of ZeRO beyond the usual one are searched" {
	local stack
	for stack in deepspeed litgpt torchtune hf-peft; do
		ask plan train llama3.1-70b --gpu h100 --gpus 64 --global-batch 128 --seq 8192 --stack "$stack" --get layouts.0.layout
		answered
		shows "zero=3"
	done
	ask plan train llama3-70b --gpu h100 --gpus 64 --global-batch 128 --seq 8192 --lora-rank 16 --get layouts.0.layout
	answered
	shows "zero=3"
}

@test "threads do not change a plan" {
	one=$(table deepseek-v3 --system dgx-h100 --gpus 1024 --global-batch 2048 --threads 1)
	five=$(table deepseek-v3 --system dgx-h100 --gpus 1024 --global-batch 2048 --threads 5)
	[ "$one" = "$five" ]
}

@test "pruning does not change a plan" {
	for asked in "llama3-70b --gpus 128 --global-batch 256" "qwen3-30b-a3b --gpus 32 --global-batch 512" \
		"llama3.1-405b --gpus 512 --global-batch 1152" "llama3-8b --gpus 64 --global-batch 128 --stack torchtitan" \
		"nemotron-3-super --gpus 128 --global-batch 256"; do
		# shellcheck disable=SC2086 # words
		few=$(table $asked --system dgx-h100 --top 7)
		# shellcheck disable=SC2086
		all=$(table $asked --system dgx-h100 --all | head -n 8)
		# a note on a row behind these adds a column
		case $few in *,note*) ;; *) all=$(sed 's/,note$//; s/,$//' <<<"$all") ;; esac
		[ "$few" = "$all" ] || complain "$asked: $few is not $all"
	done
}

@test "rows stand in order of the step over the chance that it fits; a headroom is sure" {
	plan="llama3.1-70b --system dgx-h100 --gpus 128 --global-batch 1024 --seq 8192"
	# shellcheck disable=SC2086 # words
	for i in 0 1 2 3 4 5 6 7; do
		"$RIDGE" plan train $plan --get layouts.$i.step_s,layouts.$i.chance_frac | tr '\n' ' '
		echo
	done | awk '{ s = $1 / $2; if (s < before) bad = 1; before = s; slower += $1 < last; last = $1 }
		END { exit bad || !slower }'
	# shellcheck disable=SC2086
	for i in 0 1 2 3 4 5 6 7; do
		"$RIDGE" plan train $plan --headroom 0.01 --get layouts.$i.step_s,layouts.$i.chance_frac | tr '\n' ' '
		echo
	done | awk '{ if ($1 < before || $2 != 1) bad = 1; before = $1 } END { exit bad }'
	# the fastest that may fit is what the headroom has first
	# shellcheck disable=SC2086
	fastest=$("$RIDGE" plan train $plan --headroom 0.01 --get layouts.0.layout,layouts.0.step_s)
	# shellcheck disable=SC2086
	[ "$fastest" = "$("$RIDGE" plan train $plan --get near.0.layout,near.0.step_s)" ]
}

@test "pins are kept" {
	layouts=$("$RIDGE" plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --layout tp=4/8,pp=2..4,cp=1 \
		--csv --table layouts)
	echo "$layouts" | grep -q 'tp=4,pp=4'
	! echo "$layouts" | grep -qE 'cp=|tp=2|pp=8'
}

@test "what cannot be planned is refused with what can" {
	ask plan -n 8 serve llama3-70b
	refused
	says "write 'ridge plan serve'"
	ask plan llama3-70b
	refused
	says "write ridge plan train llama3-70b"
	ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --layout tp=7
	refused
	says "tp=7 does not divide them (megatron"
	says "leave tp open"
	ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --layout tp=8..2
	refused
	says "write tp=2..8"
	ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --layout tp=a
	refused
	says "tp=2..8"
	ask plan train llama3-70b --system dgx-h100 --gpus 64
	refused
	says "add for example --global-batch 128"
	ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --top 0
	refused
}

@test "what is given twice, or would be ignored, is refused" {
	local job="llama3-8b --gpu h100 --gpus 8 --global-batch 64"
	# shellcheck disable=SC2086 # words
	{
		ask plan train $job --dtype bf16,fp8,bf16
		refused
		says "'bf16' is given twice"
		ask plan train $job --layout zero=4
		refused
		says "no such stage of ZeRO"
		ask plan train $job --from tp=8 --emit megatron --emit-rank 2
		refused
		# a row's own words
		ask plan train $job --layout dp=4,tp=2,zero=1,sp --get layouts.0.layout
		answered
		is dp=4,tp=2,zero=1,sp
		ask plan train $job --layout fsdp --stack megatron-core --get layouts.0.layout
		answered
		shows zero=3
		ask plan train $job --stack megatron-core,torchtitan --top 1
		hides "with Megatron-Core"
	}
	ask plan infer llama3-70b
	refused
	says "ridge plan serve"
	ask help plan train
	answered
}

@test "pins that no layout has say which, and why" {
	for pin in "tp=7:tp=7 does not divide them (megatron/training/arguments.py:432)" "dp=5:dp=5 does not divide them" \
		"tp=8,pp=16:tp=8 x pp=16 does not divide them" "tp=16:tp=16 reaches beyond the 8 GPUs of a node" \
		"cp=3:cp=3 does not divide them"; do
		ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 64 --layout "${pin%%:*}"
		refused
		says "${pin#*:}"
		says "open, for example --layout"
	done
	ask plan train llama3-70b --system dgx-h100 --gpus 96 --global-batch 96 --layout cp=3
	refused
	says "cp=3 is no power of two"
	ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 64 --layout tp=2 --stack deepspeed
	refused
	says "has no tensor parallelism"
}

# near GPUS BATCH MORE...: no layout; the batch that the hint names has one that fits, and so have its GPUs
near() {
	local gpus=$1 batch=$2
	shift 2
	ask plan train llama3-8b --gpu h100 --seq 8192 "$@" --gpus "$gpus" --global-batch "$batch"
	refused
	near_batch=$(sed -n 's/.*nearest: --global-batch \([0-9]*\).*/\1/p' "$tmp/err")
	near_gpus=$(sed -n 's/.*, or --gpus \([0-9]*\)$/\1/p' "$tmp/err")
	ask plan train llama3-8b --gpu h100 --seq 8192 "$@" --gpus "$gpus" --global-batch "$near_batch"
	answered
	[ -z "$near_gpus" ] || ask plan train llama3-8b --gpu h100 --seq 8192 "$@" --gpus "$near_gpus" --global-batch "$batch"
	answered
}

@test "numbers without a layout name the nearest that have one, and those fit" {
	near 1000 1024
	[ "$near_batch $near_gpus" = "1025 992" ] || complain "$near_batch, $near_gpus"
	near 7 100 --stack torchtitan
	[ "$near_batch $near_gpus" = "98 8" ] || complain "$near_batch, $near_gpus"
	near 60 1 --batch 4 --layout tp=2,pp=1,cp=1
	[ "$near_batch $near_gpus" = "120 " ] || complain "$near_batch, $near_gpus"
}

@test "a model that fits nowhere names its least memory and the GPUs that do" {
	ask plan train llama3.1-405b --system dgx-h100 --gpus 16 --global-batch 64
	[ "$status" -eq 1 ]
	says "some do on 96"
}

@test "several numbers of GPUs: each row is the best layout of its number" {
	for n in 64 128 192; do
		line=$("$RIDGE" plan train llama3-70b --system dgx-h100 --gpus $n --global-batch 384 --get layouts.0.layout,layouts.0.step_s)
		all=$("$RIDGE" plan train llama3-70b --system dgx-h100 --gpus 64,192,128 --global-batch 384 --csv --table layouts)
		echo "$all" | grep -q "$n,\"*$(echo "$line" | head -n 1)" || complain "$n: $line is not in $all"
	done
}

@test "a deadline: fewest, cheapest and fastest keep it, and one GPU count less does not" {
	plan="llama3-70b --system dgx-h100 --global-batch 1920 --seq 8192 --tokens 1T --deadline 28d"
	# shellcheck disable=SC2086 # words
	notes=$("$RIDGE" plan train $plan --gpus 256..512 --csv --table layouts)
	echo "$notes" | grep -q fewest
	echo "$notes" | grep -q cheapest
	echo "$notes" | grep -q fastest
	# shellcheck disable=SC2086
	fewest=$("$RIDGE" plan train $plan --gpus 256..512 --rank gpus --get layouts.0.n_gpus)
	# shellcheck disable=SC2086
	ask plan train $plan --gpus 256..$((fewest - 8))
	[ "$status" -eq 1 ]
	says "no layout meets the deadline: it is missed by"
	shows "the fastest there is"
	# shellcheck disable=SC2086
	sure=$("$RIDGE" plan train $plan --gpus 256..512 --sure --rank gpus --get layouts.0.n_gpus)
	[ "$sure" -gt "$fewest" ]
}

@test "rows of several numbers of GPUs: failures cost, notes are kept, beaten rows are not listed" {
	local plan="llama3-70b --system dgx-h100 --global-batch 1920 --seq 8192 --tokens 1T" costs
	# shellcheck disable=SC2086 # words
	{
		costs=$(table $plan --gpus 64,128,240 --gpu-mtbf 3000h --rank cost | sed 's/"[^"]*"/text/g' |
			awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 { print $at["run_usd"] }')
		[ "$costs" = "$(sort -n <<<"$costs")" ] || complain "$costs"
		# in time at least money
		ask plan train $plan --deadline 30d --budget '$1.5M' --get layouts.0.note
		answered 1
		shows "the cheapest that meets the deadline"
		ask plan train $plan --deadline 160d --gpus 64..136 --csv --table layouts --top 20
		answered
		# but for the fewest
		sed '/fewest/d; s/"[^"]*"/text/g' <<<"$out" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
			NR > 1 { s[NR] = $at["run_s"]; d[NR] = $at["run_usd"] }
			END { for (i in s) for (k in s) if (i != k && s[k] <= s[i] && d[k] <= d[i]) exit 1; exit NR < 2 }' || complain beaten
		ask plan train $plan --gpus 64,128 --schedule zero-bubble --json
		answered
		[ "$(grep -c '"note"' <<<"$out")" = "$(grep -c '"layout":' <<<"$out" | awk '{ print $1 - 1 }')" ] || complain "a note twice"
		shows "fewest"
		shows "no published run has a zero-bubble schedule"
	}
	ask plan train llama3-8b --system dgx-h100 --gpus 1..24 --global-batch 48 --stack megatron-lm --csv --table layouts --top 20
	[ "$(sed 's/,.*//' <<<"$out" | sort -n | tr '\n' ' ')" = "n_gpus 8 16 24 " ] || complain "not nodes"
	ask plan train llama3-8b --system dgx-h100 --global-batch 512 --top 1 --sweep gpus=8,16 --csv
	[[ $out == gpus,step_s,* ]] || complain "no step time"
}

@test "a budget is kept, or missed by so much" {
	plan="llama3-70b --system dgx-h100 --global-batch 1024 --tokens 100B --gpus 128..256"
	# shellcheck disable=SC2086 # words
	cost=$("$RIDGE" plan train $plan --rank cost --get layouts.0.run_usd)
	# shellcheck disable=SC2086
	kept=$("$RIDGE" plan train $plan --budget "$(awk -v c="$cost" 'BEGIN { print 1.001 * c }')usd" --get layouts.0.run_usd)
	[ "$kept" = "$cost" ]
	# shellcheck disable=SC2086
	ask plan train $plan --budget "$(awk -v c="$cost" 'BEGIN { print 0.9 * c }')usd"
	[ "$status" -eq 1 ]
	says "no layout stays within the budget"
}

@test "lists are searched whole: the best of two types is the better of each" {
	plan="llama3-8b --system dgx-h100 --gpus 16 --global-batch 128"
	best=
	for t in bf16 fp8; do
		# shellcheck disable=SC2086 # words
		one=$("$RIDGE" plan train $plan --dtype $t --get step_s)
		best=$(printf '%s\n%s\n' "$one" "$best" | sed '/^$/d' | sort -g | head -n 1)
	done
	# shellcheck disable=SC2086
	[ "$("$RIDGE" plan train $plan --dtype bf16,fp8 --get step_s)" = "$best" ]
	# shellcheck disable=SC2086
	ask plan train $plan --batch 1,2 --recompute none,full --schedule 1f1b,gpipe --all --csv --table layouts
	[ "$status" -eq 0 ]
	shows "schedule gpipe"
	# shellcheck disable=SC2086
	ask plan train $plan --dtype bf16,fp7
	refused
	says "did you mean"
}

@test "order by memory: no member of any family needs less" {
	plan="llama3-8b --system dgx-h100 --gpus 16 --global-batch 128 --layout cp=1"
	# shellcheck disable=SC2086 # words
	least=$("$RIDGE" plan train $plan --rank memory --get layouts.0.peak_byte)
	for b in 1 2 4; do
		# shellcheck disable=SC2086
		all=$("$RIDGE" plan train $plan --all --batch $b --csv --table layouts)
		echo "$all" | awk -F, -v least="$least" 'NR > 1 { for (i = 1; i <= NF; i++) if ($i > 1e9 && $i < least) exit 1 }'
	done
}

@test "numbers of GPUs, targets and ranks that make no sense are refused" {
	for words in "--gpus 128..64" "--gpus 64..128*1" "--gpus 1.5" "--gpus 65..71" "--deadline 30d" "--rank cost --gpus 64" \
		"--gpus 64 --sure" "--gpus 64 --price 2"; do
		# shellcheck disable=SC2086 # words
		ask plan train llama3-70b --system dgx-h100 --global-batch 128 $words
		refused
	done
	ask plan train llama3-70b --system dgx-h100 --global-batch 128 --gpus 128..64
	says "write --gpus 64..128"
}

@test "the fastest that does not fit is the same beside a front" {
	local job="llama3.1-70b --system dgx-h100 --gpus 128 --global-batch 1024 --seq 8192"
	# shellcheck disable=SC2086 # words
	{
		ask plan train $job --get near.1.step_s,near.1.layout
		answered
		ask plan train $job --pareto time:memory --get near.0.step_s,near.0.layout
		is "$("$RIDGE" plan train $job --get near.1.step_s,near.1.layout)"
	}
}

@test "a front has nothing beside it that is faster and smaller" {
	plan="llama3-8b --system dgx-h100 --gpus 16 --global-batch 128 --headroom 0.01"
	# shellcheck disable=SC2086 # words
	"$RIDGE" plan train $plan --pareto time:memory --all --get layouts.0.step_s,layouts.1.step_s,layouts.0.peak_byte,layouts.1.peak_byte |
		tr '\n' ' ' | awk '{ exit !($1 < $2 && $3 > $4) }'
	# shellcheck disable=SC2086
	first=$("$RIDGE" plan train $plan --pareto time:memory --get step_s)
	# shellcheck disable=SC2086
	[ "$first" = "$("$RIDGE" plan train $plan --get step_s)" ]
	# shellcheck disable=SC2086
	last=$("$RIDGE" plan train $plan --pareto time:memory --all --csv --table layouts | awk 'END { print NR - 2 }')
	# shellcheck disable=SC2086
	least=$("$RIDGE" plan train $plan --pareto time:memory --all --get "layouts.$last.peak_byte")
	# shellcheck disable=SC2086
	[ "$least" = "$("$RIDGE" plan train $plan --rank memory --get layouts.0.peak_byte)" ]
	# what may not fit has the chance that it has elsewhere
	plan="llama3-70b --system dgx-h100 --gpus 128 --global-batch 256 --seq 8192"
	# shellcheck disable=SC2086 # words
	ask plan train $plan --pareto time:memory --get layouts.0.verdict,layouts.0.chance_frac,layouts.0.layout
	answered
	[ "${out%%$'\n'*}" = risky ] || complain "the fastest fits"
	chance=${out#*$'\n'}
	chance=${chance%$'\n'*}
	# shellcheck disable=SC2086
	[ "$("$RIDGE" plan train $plan --get near.0.note)" = \
		"faster than the first row, chance to fit $(awk -v a="$chance" 'BEGIN { printf "%.0f", 100 * a }') %" ] ||
		complain "chance $chance"
	# or is held back for what nobody has run
	ask plan train llama3-70b --system gb200-nvl72 --gpus 64 --global-batch 256 --get near.0.note
	says_so="faster than the first row, chance to fit [0-9]* %, no published run offloads parts of layers"
	echo "$out" | grep -qx "$says_so" || complain "$out"
}

@test "fronts over GPUs are drawn" {
	plan="llama3-70b --system dgx-h100 --global-batch 1024 --tokens 100B --gpus 128..512"
	for front in time:gpus cost:time energy:time; do
		# shellcheck disable=SC2086 # words
		ask plan train $plan --pareto $front --plot "$tmp/front.gp"
		[ "$status" -eq 0 ]
		grep -q "'front'" "$tmp/front.gp"
	done
	ask plan train llama3-8b --system dgx-h100 --gpus 16 --global-batch 128 --plot "$tmp/rows.gp"
	[ "$status" -eq 0 ]
	grep -q "limit of the GPU" "$tmp/rows.gp"
}

@test "what runs today is what train says, and a change what train says of it" {
	plan="llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --seq 8192"
	# shellcheck disable=SC2086 # words
	today=$("$RIDGE" plan train $plan --from tp=8,pp=4,vp=5 --get step_s,peak_byte)
	# shellcheck disable=SC2086
	[ "$today" = "$("$RIDGE" train $plan --layout tp=8,pp=4,vp=5 --get step_s,peak_byte)" ]
	# shellcheck disable=SC2086
	changes=$("$RIDGE" plan train $plan --from tp=8,pp=4,vp=5 --csv --table changes)
	# shellcheck disable=SC2086
	step=$("$RIDGE" train $plan --layout tp=4,pp=4,vp=5 --get step_s || true)
	echo "$changes" | grep 'tp 8 -> 4' | grep -q "$step"
	# shellcheck disable=SC2086
	"$RIDGE" plan train $plan --from tp=8,pp=4,vp=5 --csv --table numerics | grep -q -- '--dtype fp8'
	echo "$changes" | grep -q 'not distinguishable'
	! echo "$changes" | grep -q -- '--dtype'
	# shellcheck disable=SC2086
	ask plan train $plan --from nothing
	refused
	# shellcheck disable=SC2086
	ask plan train $plan --from tp=7
	refused
}

@test "of policies to compare, what runs today has the first" {
	local list job="qwen3-30b-a3b --gpu h100 --gpus 64 --global-batch 512"
	# shellcheck disable=SC2086 # words
	for list in none,full full,none layernorm,moe_act,none; do
		ask plan train $job --from tp=1,ep=8 --recompute "$list" --get step_s
		answered
		is "$("$RIDGE" train $job --layout tp=1,ep=8 --recompute "${list%,*}" --get step_s 2>/dev/null)"
	done
}

@test "changes keep hybrid sharding, and their text says all that differs" {
	local job="llama3-8b --system hgx-h100-4gpu --gpus 128 --global-batch 256 --seq 4096 --stack torchtitan" step
	# shellcheck disable=SC2086 # words
	{
		step=$("$RIDGE" plan train $job --from pp=2,vp=2,shard=8 --csv --table changes 2>/dev/null | sed -n 's/^vp 2 -> 8,\([^,]*\).*/\1/p')
		ask train $job --layout pp=2,vp=8,shard=8 --get step_s
		answered
		[ "${step:0:12}" = "${out:0:12}" ] || complain "$step"
	}
	job="qwen3-235b-a22b --system dgx-h100 --gpus 512 --global-batch 64 --seq 8192 --stack megatron-core"
	# shellcheck disable=SC2086 # words
	{
		step=$("$RIDGE" plan train $job --from tp=4,pp=8,ep=1,zero=1 --csv --table changes 2>/dev/null |
			sed -n 's/^ep 1 -> 8 (etp 4 -> 1),\([^,]*\).*/\1/p')
		ask train $job --layout tp=4,pp=8,zero=1,ep=8 --get step_s
		[ "${step:0:12}" = "${out:0:12}" ] || complain "$step"
		ask plan train $job --from tp=4,pp=8,ep=1,zero=1 --csv --table changes
		hides "zero 1 -> 3"
		[ "$(grep -c '(dp.*(dp' <<<"$out")" = 0 ] || complain "$out"
	}
}

@test "groups, ranks of rows to emit, and files" {
	plan="llama3-70b --system dgx-h100 --gpus 64 --global-batch 128"
	# shellcheck disable=SC2086 # words
	[ "$("$RIDGE" plan train $plan --groups --top 4 --csv --table layouts | awk -F, 'NR > 1 { print $1 }' | tr -d '\n')" = abcd ]
	# shellcheck disable=SC2086
	"$RIDGE" plan train $plan --emit megatron --emit-rank 2 -o "$tmp/run.sh"
	tp=$("$RIDGE" plan train $plan --get layouts.1.layout | sed -n 's/.*tp=\([0-9]*\).*/\1/p')
	grep -q -- "--tensor-model-parallel-size $tp" "$tmp/run.sh"
	sh -n "$tmp/run.sh"
	# shellcheck disable=SC2086
	ask plan train $plan --emit megatron --emit-rank 11
	refused
	says "there are 10 rows"
	# shellcheck disable=SC2086
	ask plan train $plan --emit-rank 2
	refused
}

@test "edges: what stands in the way, what is refused, and interrupts" {
	ask plan train llama3-70b --system dgx-h100 --gpus 16 --global-batch 64 --layout tp=1
	[ "$status" -eq 1 ]
	says "pin tp prevents a fit"
	ask plan train llama3-8b --system dgx-h100 --gpus 16 --global-batch 64 --solve gpus --until 'step_s <= 1'
	refused
	says "plan searches by itself"
	ask plan train deepseek-v3 --system dgx-h100 --gpus 16384 --global-batch 15360 --stack megatron-core,megatron-bridge \
		--dtype bf16,fp8 --optimizer adam,lion,adagrad,sgd --grad-dtype bf16,fp32 --dispatcher plain,dedup
	refused
	says "more than 1e7 layouts"
	"$RIDGE" plan train deepseek-v3 --system dgx-h100 --gpus 2048 --global-batch 15360 --all >"$tmp/out" 2>&1 &
	pid=$!
	sleep 0.3
	kill -INT $pid
	wait $pid || [ $? -eq 130 ]
	ask plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 1 --layout dp=2
	refused
	says "micro-batch x dp divides the global batch"
}

@test "virtual stages need whole groups of micro-batches" {
	ask plan train llama3-8b --gpu h100 --gpus 8 --global-batch 6 --seq 4096 --layout pp=4,vp=4,dp=2
	refused
	says "with vp, pp divides the micro-batches of a step"
	says "leave vp open"
	ask plan train llama3-8b --gpu h100 --gpus 8 --global-batch 8 --seq 4096 --layout pp=4,vp=4,dp=2 --get layouts.0.n_micro_sequences
	answered
	[ "$out" = 1 ] || complain "two micro-batches for four stages"
	# PyTorch's rounds: 3 micro-batches are one of two stages, 5 are no two
	ask plan train llama3-8b --gpu h100 --gpus 8 --global-batch 6 --seq 4096 --layout pp=2,vp=4,dp=2 --stack torchtitan
	answered
	ask plan train llama3-8b --gpu h100 --gpus 8 --global-batch 10 --seq 4096 --layout pp=2,vp=4,dp=2 --batch 1 --stack torchtitan
	refused
	says "torch/distributed/pipelining/schedules.py"
}

@test "experts that HybridEP serves stay in a rack" {
	question="plan train qwen3-235b-a22b --gpu gb200 --gpus 256 --global-batch 512 --seq 4096 --dtype mxfp8"
	ask $question --stack megatron-bridge --layout ep=128
	refused
	says "experts that HybridEP serves are in one NVLink domain (scripts/performance/perf_plugins.py)"
	ask $question --stack megatron-bridge --layout ep=64 --get layouts.0.layout
	answered
	# other dispatchers, frameworks and machines have networks
	ask $question --stack megatron-bridge --layout ep=128 --dispatcher plain --get layouts.0.layout
	answered
	ask $question --stack megatron-core --dispatcher dedup --layout ep=128 --get layouts.0.layout
	answered
	ask plan train qwen3-235b-a22b --gpu h100 --gpus 256 --global-batch 512 --seq 4096 --dtype fp8 --stack megatron-bridge \
		--layout ep=128 --get layouts.0.layout
	answered
}

@test "types that the GPU does not multiply are not offered" {
	ask plan train llama3-8b --gpu h100 --gpus 8 --global-batch 128 --seq 8192 --from dp=4,tp=2
	answered
	shows "--dtype fp8"
	hides mxfp8
	hides nvfp4
	ask plan train llama3-8b --gpu b200 --gpus 8 --global-batch 128 --seq 8192 --from dp=8
	shows "--dtype mxfp8"
	for words in "train --batch 1" "memory --batch 1" "plan train --gpus 8 --global-batch 8"; do
		# shellcheck disable=SC2086 # words
		set -- $words
		command=$1
		shift
		[ "$command" != plan ] || { command="plan train"; shift; }
		# shellcheck disable=SC2086
		ask $command llama3-8b --gpu h100 --seq 2048 --dtype mxfp8 "$@"
		refused
		says "h100-sxm5-80gb has no mxfp8 support"
		says "use --dtype fp8"
	done
}

@test "a plan without a step time says why" {
	ask plan train llama3-8b --system dgx-h100 --gpus 16 --layout cp=16 --seq 1024 --global-batch 16
	refused
	says "fewer than 128 tokens per rank"
}

@test "changes of what does not fit are those that make it fit" {
	job="llama3-70b --system dgx-h100 --gpus 32 --global-batch 256 --seq 8192"
	# shellcheck disable=SC2086 # words
	ask plan train $job --from tp=4,pp=4 --get verdict
	[ "$out" = "does not fit" ] || complain "today $out"
	# shellcheck disable=SC2086
	for table in changes pairs; do
		rows=$("$RIDGE" plan train $job --from tp=4,pp=4 --csv --table $table)
		[ "$(wc -l <<<"$rows")" -gt 1 ] || complain "no $table"
		case $rows in *"does not fit"*) complain "$table: $rows" ;; esac
	done
	# shellcheck disable=SC2086
	"$RIDGE" plan train $job --from tp=4,pp=4 --emit megatron >"$tmp/run.sh"
	# shellcheck disable=SC2086
	fits=$("$RIDGE" memory llama3-70b --system dgx-h100 --gpus 32 --from "$tmp/run.sh" -q --get verdict)
	[ "$fits" != "does not fit" ] || complain "what is written does not fit: $(cat "$tmp/run.sh")"
}

@test "one replica is listed once, whatever could be sharded" {
	rows=$(table llama3-8b --system aws-g5.48xlarge --gpus 8 --global-batch 64 --seq 4096 --stack torchtitan --layout tp=8 --all)
	[ "$(grep -c "tp=8" <<<"$rows")" = 1 ] || complain "$rows"
}

@test "what a plan lists train answers, and what a pin allows is searched" {
	local at layout words
	# gathers across nodes that nothing hides: train has no step time
	ask plan train llama2-13b --system dgx-a100 --gpus 64 --global-batch 256 --seq 2048 --stack deepspeed-2021 --get layout
	answered
	is dp=64,zero=2
	# the options of the first row mean something for it
	for words in "llama3-8b --system dgx-h100 --gpus 8 --global-batch 64 --seq 4096|--schedule 1f1b,zero-bubble" \
		"mixtral-8x7b --system dgx-h200 --gpus 16 --global-batch 128 --seq 4096 --stack torchtitan|--dispatcher plain,dedup"; do
		at=${words%|*}
		# shellcheck disable=SC2086 # words
		{
			ask plan train $at ${words#*|} --get train_options,layouts.0.step_s
			answered
			layout=${out%%$'\n'*}
			ask train $at $layout --get step_s
			[ "$out" = "$("$RIDGE" plan train $at ${words#*|} --get layouts.0.step_s)" ] || complain "$layout"
		}
	done
	# a replica alone may have its stage of ZeRO said
	ask plan train llama3-8b --system dgx-h100 --global-batch 64 --gpus 8 --layout tp=8,zero=1 --get layouts.0.layout
	answered
	is tp=8,zero=1,sp
	# a framework that is named is searched with its stage 2, behind what has been run
	at="bloom-7b1 --system hgx-a100-4gpu --gpus 32 --global-batch 32 --seq 16384 --stack megatron-core"
	# shellcheck disable=SC2086 # words
	ask plan train $at --top 12 --csv --table layouts
	answered
	grep "dp=8,tp=4,zero=2,sp" "$tmp/out" | grep -q "keeps parameters" || complain "zero=2 is not searched"
	# no schedule without a pipeline, so nothing to be unproven
	ask plan train llama2-13b --system dgx-h100 --gpus 16 --global-batch 64 --schedule zero-bubble --csv --table layouts
	answered
	! grep "dp=8,tp=2,zero=1,sp" "$tmp/out" | grep -q "zero-bubble schedule" || complain "a schedule without a pipeline"
	grep -q "no published run has a zero-bubble schedule" "$tmp/out"
}
