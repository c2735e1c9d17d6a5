#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Training and its memory: impossible batches, layouts and machines are refused by both commands, and what is asked acts.

load helper

# both WORD...: `ridge memory` and `ridge train` with the same words must refuse
both() {
	ask memory "$@"
	refused
	ask train "$@"
	refused
}

# row ID WORD...: one number; what is refused, or says nothing, fails
row() {
	local value
	value=$("$RIDGE" "${@:2}" --get "$1" 2>/dev/null) || [ $? -eq 1 ] || value=
	[ -n "$value" ] || complain "no $1: ridge ${*:2}"
	printf '%s\n' "$value"
}

@test "batches that are no whole micro-batches are refused with the nearest" {
	ask train gpt3-175b --system dgx-h100 --gpus 3584 --layout tp=8,pp=8 --global-batch 3072
	refused
	says "3072 is not a multiple of dp 56"
	says "nearest: 3080 and 3024"
	ask memory gpt3-175b --system dgx-h100 --gpus 3584 --layout tp=8,pp=8 --global-batch 3072
	refused
	says "nearest: 3080 and 3024"
	both llama3-8b --gpu h100 --gpus 100 --global-batch 256
	says "nearest: 300 and 200"
	both llama3-8b --gpu h100 --gpus 3 --global-batch 8
	both llama3-8b --gpu h100 --microbatches 3 --global-batch 5
	says "nearest: 6 and 3"
	both llama3-8b --gpu h100 --microbatches 3 --batch 2 --global-batch 5
	says "nearest: 6"
	both llama3-8b --gpu h100 --gpus 8 --global-batch 4
	says "nearest: 8"
	both llama3-8b --system dgx-h100 --gpus 20 --layout tp=8
	says "nearest: 24 GPUs"
}

@test "the third of batch, micro-batches and global batch follows from two" {
	[ "$(row n_accumulation_steps train llama3-8b --gpu h100 --gpus 8 --global-batch 64 --batch 2 --no-memory)" = 4 ]
	[ "$(row n_global_sequences train llama3-8b --gpu h100 --gpus 8 --microbatches 4 --batch 2 --no-memory)" = 64 ]
	[ "$(row n_global_sequences train llama3-8b --gpu h100 --gpus 8 --global-batch 64 --microbatches 4)" = 64 ]
	# short sequences come several to a micro-batch, and never a fraction of one
	ask memory llama3-8b --gpu h100 --gpus 8 --global-batch 48 --seq 512 --recompute full
	shows "batch 3"
	ask train llama3-8b --gpu h100 --gpus 8 --global-batch 48 --seq 512 --recompute full
	shows "batch 3"
}

@test "--infer is not training" {
	ask train llama3-8b --gpu h100 --infer
	refused
	says "ridge memory --infer"
	ask train llama3-8b --gpu h100 --use infer --no-memory
	refused
	ask train resnet50 --gpu h100 --infer
	refused
}

@test "sequences that a layout cannot divide are refused by train, memory and plan alike" {
	job=(llama3-8b --system dgx-h100 --gpus 8 --global-batch 64)
	for command in train memory; do
		ask "$command" "${job[@]}" --seq 1001 --layout tp=8
		refused
		says "1001 tokens are not a multiple of 8"
		says "nearest: 1000 tokens"
		ask "$command" "${job[@]}" --seq 1002 --layout cp=2
		refused
		says "nearest: 1004 tokens"
		ask "$command" "${job[@]}" --seq 1000 --layout tp=8 --stack torchtitan
		refused
		says "nearest: 1008 tokens"
		ask "$command" "${job[@]}" --seq 1001 --layout tp=8 --no-sp
		answered
	done
	ask plan train "${job[@]}" --seq 1001 --csv --table layouts --all
	case $out in *tp=* | *cp=*) complain "a layout that cannot run" ;; esac
	ask plan train "${job[@]}" --seq 1001 --csv --table refused
	case $out in *'tp where sequences are parallel'*) ;; *) complain "no rule" ;; esac
}

@test "what the memory side refuses, train refuses too, with --no-memory as well" {
	for no in "" --no-memory; do
		for words in "--stage-layers garbage" "--loss nosuch" "--offload nosuch" "--lora-targets zzz" "--headroom 7" \
			"--recompute every-1000" "--lora-rank 100000" "--imbalance 0.1" "--quant nf4" "--fp8-params"; do
			# shellcheck disable=SC2086 # options are words
			ask train llama3-8b --gpu h100 $words $no
			refused
		done
		# shellcheck disable=SC2086
		ask train llama3-8b --gpu h100 --gpu-mem 0B $no
		[ "$status" -eq 2 ]
	done
}

@test "only a memory that has no model is a warning, and the verdict says so" {
	ask train llama3-8b --gpu h100 --gpus 8 --stack nemo --layout zero=3
	answered
	shows "memory not modeled"
	says "does not support ZeRO stage 3"
	ask memory llama3-8b --gpu h100 --gpus 8 --stack nemo --layout zero=3
	refused
	ask train llama3-8b --gpu h100 --gpus 8 --lora-rank 16 --layout tp=2
	answered
	shows "memory not modeled"
}

@test "adapters have one framework in both commands" {
	ask memory llama3-8b --gpu h100 --lora-rank 16
	shows "stack hf-peft"
	ask train llama3-8b --gpu h100 --lora-rank 16
	shows "stack hf-peft"
	shows "verdict"
}

@test "experts behind tensor parallelism need sequence parallelism under Megatron" {
	both qwen3-30b-a3b --gpu h100 --gpus 8 --layout tp=2 --no-sp
	says "add sp"
	both qwen3-30b-a3b --gpu h100 --gpus 8 --layout tp=2,sp --no-sp
	says "exclude each other"
	# more tensor parallelism never holds more
	last=
	for tp in 1 2 4; do
		byte=$(row peak_byte memory qwen3-30b-a3b --gpu h100 --gpus 8 --seq 4096 --layout tp=$tp,zero=1)
		[ -z "$last" ] || awk -v a="$last" -v b="$byte" 'BEGIN { exit !(b < a) }' || complain "tp=$tp needs $byte, less $last"
		last=$byte
	done
}

@test "sp: false in a job is --no-sp" {
	printf 'format: 1\ncommand: memory\nmodel: llama3-8b\ngpu: h100\nlayout: {tp: 8, sp: false}\n' >"$tmp/job.yaml"
	ask memory "$tmp/job.yaml"
	shows "tp=8,no_sp"
	hides "layout sp"
	[ "$(row peak_byte memory "$tmp/job.yaml")" = "$(row peak_byte memory llama3-8b --gpu h100 --layout tp=8 --no-sp)" ]
	[ "$(row peak_byte memory "$tmp/job.yaml")" != "$(row peak_byte memory llama3-8b --gpu h100 --layout tp=8)" ]
}

@test "chunks of a pipeline: a layer each, embedding and loss may stand alone" {
	for command in memory train; do
		ask $command llama3.1-405b --system dgx-h100 --gpus 1024 --layout tp=8,pp=16,vp=8 --global-batch 128 --seq 8192
		[ "$status" -le 1 ] || complain "128 chunks of 126 layers, the embedding and the loss are refused"
	done
	both llama3.1-405b --system dgx-h100 --gpus 1024 --layout tp=8,pp=16,vp=9 --global-batch 128
	says "vp=8"
	both llama3-8b --gpu h100 --layout vp=2
	says "leave vp out"
	both llama3-8b --gpu h100 --gpus 8 --layout pp=8,vp=1 --stage-layers 4*7
}

@test "query groups are dealt to ranks whole" {
	both qwen2.5-7b --set model.attention.kv_heads=4,model.attention.heads=24 --gpu h100 --layout tp=3
	says "KV heads"
}

@test "an explicit split acts on the time" {
	even=$(row step_s train llama3-8b --gpu h100 --gpus 4 --layout pp=4 --microbatches 8 --no-memory)
	skewed=$(row step_s train llama3-8b --gpu h100 --gpus 4 --layout pp=4 --microbatches 8 --no-memory --stage-layers 20,4*3)
	awk -v a="$even" -v b="$skewed" 'BEGIN { exit !(b > 1.5 * a) }'
}

@test "the machine has bounds" {
	ask train llama3-8b --gpu h100 --node-gpus 1000
	refused
	says "at most 8"
	ask train llama3-8b --system dgx-h100 --gpus 64 --layout tp=8 --nic-efficiency 5
	refused
	ask train llama3-8b --system dgx-h100 --gpus 64 --layout tp=8 --nic-efficiency 0
	refused
	ask train llama3-8b --gpu h100 --power-limit 60W
	refused
	says "between 70 W (idle) and 700 W (TDP)"
	ask train llama3-8b --gpu h100 --power-limit 5000W
	refused
	ask train llama3-8b --gpu h100 --packed 100000 --seq 4096
	refused
	says "at most 4096"
	# Megatron knows packed samples by their ends in one sequence
	ask train llama3-8b --gpu h100 --packed 512 --seq 4096 --batch 2 --stack megatron-core --global-batch 8 --no-memory
	refused
	says "use --batch 1"
	ask train llama3-8b --gpu h100 --packed 512 --seq 4096 --batch 2 --stack torchtitan --global-batch 8 --no-memory
	answered
}

@test "prediction layers are those of the model" {
	ask train llama3-8b --gpu h100 --mtp 5
	refused
	says "at most 0"
	ask train deepseek-v3 --system dgx-h100 --gpus 256 --layout pp=8,ep=16 --mtp 2
	refused
	ask train deepseek-v3 --system dgx-h100 --gpus 256 --layout pp=8,ep=16 --mtp 0 --no-memory
	answered
	# training and memory have the same ones, and inference has none
	local job="nemotron-3-super --gpu gb300 --gpus 64 --layout ep=64,zero=1 --batch 1 --global-batch 512 --stack megatron-bridge"
	for n in 0 1 2; do
		# shellcheck disable=SC2086 # words
		[ "$("$RIDGE" train $job --mtp $n --get peak_byte 2>/dev/null)" = "$("$RIDGE" memory $job --mtp $n --get peak_byte 2>/dev/null)" ]
	done
	ask memory deepseek-v3 --infer --gpu h200 --layout tp=8 --mtp 1
	refused
	says "it applies to training"
	ask memory llama3-8b --gpu h100 --mtp 1
	refused
	says "at most 0"
}

@test "options of a run that is not asked about" {
	ask train llama3-8b --gpu h100 --price 3usd/h
	refused
	says "--tokens"
	ask train llama3-8b --gpu h100 --restart 1s
	refused
	ask train llama3-8b --gpu h100 --checkpoint-time 1s
	refused
	ask train llama3-8b --gpu h100 --mtbf 1s
	refused
	ask train llama3-8b --gpu h100 --mtbf 10h --gpu-mtbf 10h
	refused
	# goodput needs no tokens
	ask train llama3-8b --gpu h100 --gpus 8 --gpu-mtbf 50000h --restart 5min --no-memory
	answered
	shows "goodput"
}

@test "a list of operators is divided by dp alone" {
	ask train resnet50 --gpu h100 --layout tp=2
	refused
	says "only data parallelism"
	ask train resnet50 --gpu h100 --gpus 3 --global-batch 8
	refused
	says "nearest: 9"
	four=$(row step_s train resnet50 --gpu h100 --gpus 4 --batch 64)
	[ "$four" = "$(row step_s train resnet50 --gpu h100 --layout dp=4 --batch 64)" ]
	[ "$four" = "$(row step_s train resnet50 --gpu h100 --gpus 4 --global-batch 256)" ]
	[ "$four" != "$(row step_s train resnet50 --gpu h100 --gpus 4 --batch 32)" ]
}

@test "hybrid sharding acts" {
	full="llama3-8b --system dgx-h100 --gpus 64 --stack torchtitan --layout fsdp --seq 8192 --recompute full"
	part="llama3-8b --system dgx-h100 --gpus 64 --stack torchtitan --layout fsdp,shard=8 --seq 8192 --recompute full"
	# shellcheck disable=SC2086 # options are words
	{
		[ "$(row step_s train $full)" != "$(row step_s train $part)" ]
		awk -v a="$(row peak_byte train $full)" -v b="$(row peak_byte train $part)" 'BEGIN { exit !(b > a) }'
		[ "$(row peak_byte memory $part)" = "$(row peak_byte train $part)" ]
	}
	both llama3-8b --gpu h100 --gpus 8 --layout zero=0,shard=2
	says "add zero=1"
}

@test "where the bubble decides, a finer interleaving is offered" {
	ask train llama3.1-405b --system dgx-h100 --gpus 16384 --layout tp=8,pp=16 --global-batch 2048 --seq 8192
	shows "step time  peak memory  verdict"
	shows "vp=8"
	hides "--zero-bubble"
	ask train llama3-70b --system dgx-h100 --gpus 64 --layout tp=8,pp=8,zero=1 --global-batch 8 --seq 8192 --stack torchtitan --recompute full
	shows "--zero-bubble"
	ask train llama3-70b --system dgx-h100 --gpus 64 --layout tp=8,pp=4 --global-batch 512 --seq 8192
	answered
	hides "step time  peak memory  verdict"
	hides "--layout"
}

@test "--set of a stack's figures acts in both commands alike" {
	for figure in states.gradient=2B states.scheme=fp32 counters.device=10GiB buffers.workspace=4GiB safety=2 saved.flash=false; do
		for row in peak_byte verdict; do
			m=$(row $row memory llama3-8b --gpu h100 --gpus 8 --layout tp=2 --set "stack.$figure")
			t=$(row $row train llama3-8b --gpu h100 --gpus 8 --layout tp=2 --set "stack.$figure")
			[ "$m" = "$t" ] || complain "$figure: $row $m and $t"
		done
		[ "$figure" = safety=2 ] ||
			[ "$(row peak_byte memory llama3-8b --gpu h100 --gpus 8 --layout tp=2)" != \
				"$(row peak_byte memory llama3-8b --gpu h100 --gpus 8 --layout tp=2 --set "stack.$figure")" ] ||
			complain "$figure does nothing"
	done
}

@test "assumptions are called as the options are" {
	ask checkpoint --gpus 1000 --gpu-mtbf 50000h --write 60s
	shows "restart 0 s"
	hides "restart-s"
	ask train llama3-8b --gpu h100 --gpus 8 --gpu-mtbf 50000h
	hides "stall-s"
	hides "durable-s"
	hides "flops_convention"
	shows "checkpoint-time 60 s"
}

@test "bare numbers have bounds" {
	ask memory --params 7e9 --layers 32 --hidden 4096 --recompute every-1000
	refused
	says "at most 32"
	ask memory --params 7 --layers 100000 --hidden 100000
	refused
	ask memory --params 7e9 --layers 32 --hidden 4096 --global-batch 64 --microbatches 3 --gpus 8
	refused
	says "nearest: 72 and 48"
	# micro-batches and their activations are of one size
	[ "$(row n_accumulation_steps memory --params 7e9 --layers 32 --hidden 4096 --global-batch 64 --gpus 8)" = 8 ]
	[ "$(row activation_byte memory --params 7e9 --layers 32 --hidden 4096 --global-batch 64 --gpus 8)" = \
		"$(row activation_byte memory --params 7e9 --layers 32 --hidden 4096)" ]
}

@test "a framework whose error is known names it, others say that it is unknown" {
	ask train llama3-8b --gpu h100 --gpus 8 --stack torchtitan
	shows "% on 26 runs of 2 models"
	ask train llama3-8b --gpu h100 --gpus 8 --stack torchtune
	shows "unknown: fewer than three published runs"
	ask train llama3-8b --gpu h100 --gpus 8 --stack torchtitan --set stack.time.left_out=0.07 \
		--set stack.time.runs=41 --set stack.time.models=6
	shows "7 % on 41 runs of 6 models"
}

@test "experts go to other nodes as the framework sends them" {
	ask train qwen3-235b-a22b --system dgx-h100 --gpus 256 --layout tp=2,pp=8,vp=4,ep=32 --batch 1 --global-batch 2048 \
		--seq 4096 --no-memory --stack megatron-bridge
	shows "sends a token once to a domain"
	ask train qwen3-235b-a22b --system dgx-h100 --gpus 256 --layout tp=2,pp=8,vp=4,ep=32 --batch 1 --global-batch 2048 \
		--seq 4096 --no-memory --stack megatron-core
	shows "a plain all-to-all"
}

@test "gathers that nobody measured and nothing hides are refused" {
	ask train gpt3-175b --gpu a100 --gpus 64 --layout zero=3 --stack deepspeed-2021 --batch 1 --global-batch 64 --seq 2048
	refused
	says "no such run was measured"
	ask train gpt-1.3b --gpu a100 --gpus 8 --layout zero=3 --stack deepspeed-2021 --batch 1 --global-batch 64 --seq 2048
	answered
}

@test "an interval of a framework that is not listed ends at a factor of 1.6" {
	ask train gpt2-xl --gpu v100-sxm2-32gb --dtype fp16 --gpus 32 --stack unlisted --batch 1 --seq 1024 --no-memory --json
	answered
	printf '%s' "$out" | tr -d '[:space:]' | grep -o '"step_s":{"low":[0-9.e+-]*,"high":[0-9.e+-]*' |
		awk -F'[:,]' '{ n++; bad = $5 / $3 > 2.5601 || $5 / $3 < 2.5599 } END { exit !(n > 0 && !bad) }'
}

@test "a machine says whether it was measured, and a framework whether it is known" {
	question="train llama3-8b --system dgx-h100 --gpus 8 --layout tp=4,dp=2 --batch 1 --global-batch 64 --seq 4096"
	# shellcheck disable=SC2086
	[ "$(row kernel_basis $question)" = "shipped calibration" ]
	# upper end of the interval
	high() {
		# shellcheck disable=SC2086
		ask $question --json "$@"
		leaves | awk -F '\t' '$1 ~ /intervals.*step_s\/high$/ { print $2 }'
	}
	mkdir -p "$tmp/mine/calibration"
	cp "$RIDGE_HWDB/hwdb/calibration/h100-sxm5-80gb.yaml" "$tmp/mine/calibration/"
	# shellcheck disable=SC2086
	[ "$(row kernel_basis $question --hwdb "$tmp/mine")" = "calibrated on this machine" ]
	narrow=$(high --hwdb "$tmp/mine")
	usual=$(high)
	awk -v a="$narrow" -v b="$usual" 'BEGIN { exit !(0 < a && a < b) }' || complain "$narrow is not below $usual"
	# a framework that nobody measured
	# shellcheck disable=SC2086
	ask $question --stack unlisted
	shows "shipped calibration"
	ask memory llama3-8b --gpu h100 --gpus 8 --layout fsdp --batch 1 --seq 4096 --stack unlisted-fsdp
	shows "46.1 GiB (25.8 .. 82.8)"
}

@test "context parallelism is the framework's, unless it is named" {
	question="train llama3.1-405b --system dgx-h100 --gpus 2048 --layout tp=8,pp=16,cp=16,zero=1,sp --global-batch 16 --seq 131072 --no-memory"
	for words in "--stack llama3" "--stack llama3 --cp-comm ring" "--stack unlisted-fsdp" "--stack llama3 --cp-comm gather"; do
		# shellcheck disable=SC2086
		ask $question $words --get step_s
		answered
		printf '%s\n' "$out" >>"$tmp/s"
	done
	# keys and values that are gathered at once are waited for; those of a ring travel beside the attention
	awk '{ s[NR] = $1 } END { exit !(s[1] > 1.005 * s[2] && s[2] < 1.001 * s[3] && s[4] == s[1]) }' "$tmp/s" || complain "$(cat "$tmp/s")"
}

@test "the optimizer moves what the states keep" {
	for states in mixed fp32 pure; do
		ask train llama3-8b --gpu h200 --gpus 1 --batch 1 --stack pytorch --recompute full --states "$states" --no-memory --get step_s.optimizer_s.optimizer_s
		answered
		printf '%s\n' "$out" >>"$tmp/s"
	done
	awk '{ s[NR] = $1 } END { exit !(s[1] > s[2] && s[2] > 1.5 * s[3]) }' "$tmp/s" || complain "$(cat "$tmp/s")"
}

@test "what is offloaded has to fit in the memory of a node" {
	job="llama3.1-405b --system dgx-h100 --stack megatron-core --seq 4096 --recompute full"
	tight="--gpus 64 --layout tp=8,pp=8 --batch 1 --offload optimizer"
	# shellcheck disable=SC2086 # words
	{
		# 12 bytes of the optimizer for each parameter of a first stage: 15 layers of 3.1875e9, and 128256 x 16384 of the embedding
		ask memory $job $tight --get node_away_byte,host_mem_byte,verdict
		answered
		awk 'NR == 1 { away = $1 } NR == 2 { host = $1 } NR == 3 { fits = $0 == "fits" }
			END { exit !(away / 12 > 49.90e9 && away / 12 < 49.94e9 && host == 2199023255552 && fits) }' \
			"$tmp/out" || complain "$out"
		for command in memory train; do
			ask "$command" $job $tight --set system.host.memory=500GiB
			[ "$status" -eq 1 ] || complain "status $status"
			shows "does not fit"
			says "the memory of a host is too small for what its GPUs offload"
		done
		# twice the replicas halve it
		ask memory $job --gpus 128 --layout tp=8,pp=8,dp=2,zero=1 --batch 1 --offload optimizer --set system.host.memory=500GiB \
			--get verdict
		[ "$out" = fits ] || complain "$out"
		plan="llama3.1-405b --system dgx-h100 --gpus 64 --global-batch 64 --seq 4096 --stack megatron-core --offload optimizer"
		ask plan train $plan --get layouts.0.verdict
		[ "$out" = fits ] || complain "$out"
		ask plan train $plan --set system.host.memory=300GiB --get near.0.note
		[ "$out" = "least memory of all layouts, offloads more than the memory of a host" ] || complain "$out"
		# who has not named a system is not judged by a guess
		ask memory llama3.1-405b --gpu h100 --stack megatron-core --seq 4096 --recompute full $tight --get away_byte,verdict
		[ "${out#*$'\n'}" = fits ] || complain "$out"
	}
	# half of a Grace for each GB200, with a system and without
	job="llama3-70b --gpus 64 --layout dp=64,zero=3 --recompute offload-60 --seq 8192 --stack megatron-bridge"
	for where in "--gpu gb200" "--system gb200-nvl72"; do
		# shellcheck disable=SC2086 # words
		ask memory $job $where --batch 1 --get verdict
		[ "$out" = fits ] || complain "$where: $out"
		# shellcheck disable=SC2086 # words
		ask memory $job $where --batch 2 --get verdict
		[ "$out" = "does not fit" ] || complain "$where: $out"
	done
	# nothing waits there
	ask memory llama3-8b --system dgx-h100 --layout dp=8,zero=1
	hides "offloaded"
}

@test "what waits in the host's memory takes its time" {
	local job="llama3-8b --gpu h100 --gpus 8 --stack hf-deepspeed --layout zero=3 --no-memory"
	# shellcheck disable=SC2086 # words
	{
		ask train $job --get step_s.optimizer_s.optimizer_s
		here=$out
		ask train $job --offload optimizer --get step_s.optimizer_s.optimizer_s
		says "offloaded optimizer"
		# 8.03 billion parameters at 1.1 billion a second, whichever GPU they are of
		awk -v here="$here" -v there="$out" 'BEGIN { exit !(there > 7 && there < 8 && here < 0.1) }' ||
			complain "$out instead of $here"
		slow=$out
		ask train $job --offload optimizer --set stack.time.host_adam=4e9 --get step_s.optimizer_s.optimizer_s
		awk -v a="$slow" -v b="$out" 'BEGIN { exit !(a > 3 * b) }' || complain "$out, four times as fast as $slow"
		# the update is as sure as three hosts make it
		ask train $job --offload optimizer --json
		for end in low high; do
			sed -n '/"step_s":[[:space:]]*{/,/}/s/.*"'$end'":[[:space:]]*\([0-9.]*\).*/\1/p' <<<"$out"
		done >"$tmp/ends"
		awk '{ v[NR] = $1 } END { exit !(NR == 2 && v[2] > 3 * v[1]) }' "$tmp/ends" || complain "$(cat "$tmp/ends")"
	}
	# weights come in beside the computation, as far as that hides them
	job="llama3.1-8b --gpu rtx4090 --stack hf-deepspeed --layout zero=3 --seq 2048 --recompute full --no-memory"
	# shellcheck disable=SC2086
	ask train $job --batch 1 --offload params
	shows "offload (exposed)"
	# shellcheck disable=SC2086
	ask train $job --batch 8 --offload params
	case $out in *"offload (exposed)"*) complain "eight sequences do not hide the weights" ;; esac
	# a Grace is faster than two sockets, and adapters have nothing to update there
	ask train qwen3-14b --gpu gh200-96gb --stack hf-deepspeed --layout zero=3 --offload optimizer --no-memory \
		--get step_s.optimizer_s.optimizer_s
	grace=$out
	ask train qwen3-14b --gpu h200 --stack hf-deepspeed --layout zero=3 --offload optimizer --no-memory \
		--get step_s.optimizer_s.optimizer_s
	awk -v a="$grace" -v b="$out" 'BEGIN { exit !(a < b / 4) }' || complain "Grace $grace, sockets $out"
	# PCIe 6 ends at processors of PCIe 5
	ask train llama3.1-8b --gpu b200 --layout zero=3 --gpus 8 --batch 1 --offload optimizer --no-memory --get step_s.optimizer_s
	five=$out
	ask train llama3.1-8b --gpu b300 --layout zero=3 --gpus 8 --batch 1 --offload optimizer --no-memory --get step_s.optimizer_s
	[ "$five" = "$out" ] || complain "B200 $five, B300 $out"
	# plan knows it, too: the fewer GPUs share the CPUs, the more of a step it is
	same=$("$RIDGE" plan train llama3-8b --gpu h100 --gpus 8 --global-batch 64 --seq 4096 --stack megatron-core \
		--offload optimizer --top 1 --get step_s)
	without=$("$RIDGE" plan train llama3-8b --gpu h100 --gpus 8 --global-batch 64 --seq 4096 --stack megatron-core \
		--top 1 --get step_s)
	awk -v a="$same" -v b="$without" 'BEGIN { exit !(a > b + 5) }' || complain "plan: $same with, $without without"
}

@test "hybrids: scans, latents and layers of one part are answered by train, memory and plan alike" {
	local nano="nemotron-3-nano --system gb300-nvl72 --gpus 8 --layout ep=8,zero=1 --batch 4 --seq 8192 --dtype mxfp8 \
		--stack megatron-bridge"
	# shellcheck disable=SC2086 # words of a command line
	ask train $nano --global-batch 512
	answered
	shows "scan or delta rule"
	says "state-space layers: kernels and waits were fitted"
	# shellcheck disable=SC2086
	[ "$(row peak_byte train $nano --global-batch 512)" = "$(row peak_byte memory $nano --microbatches 16)" ]
	# shellcheck disable=SC2086
	[ "$(row flop_per_token train $nano --global-batch 512 --flops-convention ridge-causal)" = \
		"$(row flop_per_token model show nemotron-3-nano --seq 8192 --flops-convention ridge-causal)" ]
	ask plan train nemotron-3-super --gpu b200 --gpus 64 --global-batch 512 --seq 8192
	answered
	shows "ep=8"
	# a model of hybrids alone has its own FLOP count
	[ "$(row n_layers model show nemotron-h-56b)" = 118 ]
	ask train nemotron-h-56b --system dgx-h100 --gpus 64 --layout tp=8,zero=1,sp --global-batch 64 --seq 8192 \
		--flops-convention megatron-bridge --no-memory
	answered
	shows "MFU"
}

@test "gated delta nets are answered by train, memory and plan alike" {
	local next="qwen3-next-80b-a3b --system gb200-nvl72 --gpus 64 --seq 4096 --stack megatron-bridge"
	local layout="--layout pp=2,vp=4,ep=32,zero=1 --batch 2"
	# shellcheck disable=SC2086 # words of a command line
	ask train $next $layout --global-batch 1024
	answered
	shows "scan or delta rule"
	says "gated delta nets: the rule was measured alone"
	# shellcheck disable=SC2086
	[ "$(row peak_byte train $next $layout --global-batch 1024)" = "$(row peak_byte memory $next $layout --microbatches 16)" ]
	# shellcheck disable=SC2086
	[ "$(row flop_per_token train $next $layout --global-batch 1024 --flops-convention ridge-causal)" = \
		"$(row flop_per_token model show qwen3-next-80b-a3b --seq 4096 --flops-convention ridge-causal)" ]
	# shellcheck disable=SC2086
	ask plan train $next --global-batch 1024 --all --csv
	answered
	case $out in *cp=*) complain "a layout with cp" ;; *ep=32*) ;; *) complain "$out" ;; esac
	# shellcheck disable=SC2086
	ask plan train $next --global-batch 1024 --layout cp=2
	refused
	says "no step time of 64 GPUs: context parallelism of gated delta nets"
	# what is suggested has rules too
	ask memory qwen3.5-35b-a3b --gpu gb200 --gpus 8 --layout ep=8 --batch 8 --seq 4096
	case $out in *cp=*) complain "$out" ;; *"--recompute full"*) ;; *) complain "$out" ;; esac
}

@test "what of hybrids is not modeled is refused with the reason" {
	both nemotron-3-nano --system dgx-h100 --gpus 16 --layout cp=2,ep=8
	says "context parallelism of state-space layers"
	both kimi-linear-48b-a3b --system dgx-h100 --gpus 16 --layout ep=8
	says "Kimi delta attention"
	both qwen3-next-80b-a3b --system dgx-h100 --gpus 16 --layout cp=2,ep=8
	says "context parallelism of gated delta nets"
	ask memory nemotron-3-nano --stack megatron-bridge --gpu h100 --gpus 16 --layout ep=8 --lora-rank 16
	refused
	says "LoRA on experts"
	ask memory qwen3.5-27b --stack megatron-bridge --gpu h100 --gpus 8 --layout tp=8 --lora-rank 16
	refused
	says "use full training"
	ask train nemotron-3-nano --system gb200-nvl72 --gpus 16 --layout tp=16
	refused
	says "groups of the state-space layers"
	ask memory nemotron-3-nano --system gb200-nvl72 --gpus 16 --layout tp=16
	refused
	says "use tp=8"
}

@test "cards without NVLink exchange over PCIe, as comm says" {
	n_param=$("$RIDGE" model show llama3.2-1b --get n_params)
	for gpu in a100-pcie rtx3090 h200-nvl-141gb rtx4090 l40s; do
		gather=$("$RIDGE" comm allgather --size "$((2 * n_param))B" --gpu $gpu --ranks 4 -q --get collective_s)
		step=$("$RIDGE" train llama3.2-1b --gpu $gpu --gpus 4 --seq 128 --batch 1 --layout zero=1 --no-memory -q --get step_s)
		# gradients are scattered and weights are gathered; the short step hides little of it
		awk -v s="$step" -v g="$gather" 'BEGIN { exit !(s > 1.9 * g && s < 4 * g) }' ||
			complain "$gpu: a step of $step s, a gather of $gather s"
	done
	# another slot is another rate, for both
	job="train llama3.2-1b --gpu rtx4090 --gpus 4 --seq 128 --batch 1 --layout zero=1 --no-memory -q --get step_s"
	# shellcheck disable=SC2086 # words
	awk -v a="$("$RIDGE" $job)" -v b="$("$RIDGE" $job --set gpu.pcie=pcie5-x16)" 'BEGIN { exit !(b < 0.65 * a) }' ||
		complain "PCIe 5 is no faster"
	ask train llama3.2-1b --gpu a100-pcie --gpus 4 --seq 2048 --batch 1
	answered
	case $out in *"8 GPUs per node"*) ;; *) complain "what is the node?" ;; esac
	says "not measured on this GPU"
	case $out in *"10 % more PCIe"*) ;; *) complain "PCIe is called something else" ;; esac
}
