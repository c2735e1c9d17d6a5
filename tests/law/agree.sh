#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `ridge memory` and `ridge train` answer for one job: equal words, equal bytes, verdict, layout, framework and
# assumptions, and what one refuses for the job's sake the other refuses too.  AGREE=5000 asks more questions.
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}
export LC_ALL=C
n=${AGREE:-600}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

fault() {
	echo "agree: $*"
	status=1
}

# --- generated questions: one JSON line and the same as options
awk -v n="$n" -v seed="${SEED:-1}" '
function pick(list,    a, k) { k = split(list, a, " "); return a[1 + int(rand() * k)] }
function say(key, value) { json = json ",\"" key "\":" (value ~ /^[0-9.]+$/ ? value : "\"" value "\""); }
function maybe(share) { return rand() < share }
BEGIN {
	srand(seed)
	for (i = 0; i < n; i++) {
		model = pick("llama3-8b llama3-70b llama3.1-405b llama2-7b gpt3-175b qwen2.5-7b qwen3-30b-a3b mixtral-8x7b deepseek-v3 gpt-oss-120b phi-3-mini gemma2-9b bert-large vit-l-16 mpt-7b qwen3-8b")
		json = "{\"model\":\"" model "\""
		say(pick("gpu.name system.name"), "")
		sub(/,"gpu.name":""$/, ",\"gpu\":\"" pick("h100 a100 b200 h200") "\"", json)
		sub(/,"system.name":""$/, ",\"system.name\":\"" pick("dgx-h100 dgx-a100 dgx-b200 gb200-nvl72") "\"", json)
		if (maybe(0.8)) say("gpus", pick("1 2 4 8 16 64 256 1024"))
		if (maybe(0.5)) say("layout.tp", pick("1 2 4 8"))
		if (maybe(0.3)) say("layout.pp", pick("1 2 4 8 16"))
		if (maybe(0.08)) say("layout.vp", pick("1 2 4 5"))
		if (maybe(0.08)) say("layout.cp", pick("2 4"))
		if (model ~ /qwen3-30b|mixtral|deepseek|gpt-oss/ && maybe(0.6)) say("layout.ep", pick("1 2 8 16"))
		if (maybe(0.35)) say("layout.zero", pick("0 1 1 2 3"))
		if (maybe(0.05)) say("layout.shard", pick("2 8"))
		if (maybe(0.1)) say("layout.sp", "true")
		else if (maybe(0.1)) say("layout.no_sp", "true")
		if (maybe(0.4)) say("batch", pick("1 1 2 4 8"))
		if (maybe(0.4)) say("global_batch", pick("64 128 512 1024 2048"))
		if (maybe(0.08)) say("microbatches", pick("1 8 16"))
		if (maybe(0.6)) say("seq", pick("512 1024 2048 4096 8192 32768"))
		if (maybe(0.4)) say("recompute", pick("none full selective every-2 uniform-4 sqrt full op block-2"))
		if (maybe(0.5)) say("stack.name", pick("megatron-core torchtitan megatron-core nemo torchtitan hf-deepspeed hf-peft litgpt torchtune llm-foundry megatron-lm megatron-deepspeed megatron-bridge nemo mlperf unlisted jax unsloth deepspeed-2021 vllm"))
		if (maybe(0.2)) say("dtype", pick("bf16 fp16 fp32"))
		if (maybe(0.1)) say("lora_rank", pick("8 64"))
		if (maybe(0.02)) say("quant", pick("nf4 int8"))
		if (maybe(0.1)) say("optimizer", pick("adam8bit sgd lion"))
		if (maybe(0.1)) say("states", pick("mixed fp32 pure"))
		if (maybe(0.1)) say("grad_dtype", pick("fp32 bf16"))
		if (maybe(0.1)) say("moment_dtype", pick("fp32 bf16 fp16"))
		if (maybe(0.1)) say("attention", pick("flash unfused"))
		if (maybe(0.05)) say("dropout", pick("on off"))
		if (maybe(0.1)) say("imbalance", pick("1 1.3"))
		if (maybe(0.1)) say("headroom", pick("0.1 0.2"))
		if (maybe(0.05)) say("gpu_mem", pick("40GB 192GiB"))
		if (maybe(0.05)) say("schedule", "gpipe")
		if (maybe(0.05)) say("cp_comm", "a2a")

		if (maybe(0.05)) say("offload", pick("optimizer core_attn,attn_proj moe_act"))
		if (maybe(0.05)) say("compile", "true")

		if (maybe(0.1)) say("stack.states.gradient", pick("2B 4B"))
		if (maybe(0.1)) say("stack.buffers.workspace", "1GiB")
		if (maybe(0.05)) say("stack.safety", "1.5")
		if (maybe(0.03)) say("model.layers", "24")
		# nonsense: refused by both
		if (maybe(0.03)) say(pick("loss offload stage_layers lora_targets"), "nosuch")
		if (maybe(0.01)) say("lora_rank", "100000")
		if (maybe(0.01)) say("global_batch", "5")
		print json "}"
	}
}' >"$work/questions"

"$RIDGE" memory --jsonl "$work/questions" >"$work/memory" 2>"$work/said"
"$RIDGE" train --jsonl "$work/questions" >"$work/train" 2>>"$work/said"
for command in memory train; do
	[ "$(wc -l <"$work/$command")" -eq "$n" ] || fault "$command does not answer every line: $(tail -1 "$work/said")"
done

# A line becomes: refused|answered TAB bytes TAB verdict TAB message TAB assumptions of the job
digest() {
	awk '
	function field(name,    at, rest) {
		at = index($0, "\"" name "\":")
		if (!at) return ""
		rest = substr($0, at + length(name) + 3)
		if (substr(rest, 1, 1) == "\"") { rest = substr(rest, 2); return substr(rest, 1, index(rest, "\"") - 1) }
		match(rest, /^[^,}]*/)
		return substr(rest, 1, RLENGTH)
	}
	{
		list = ""
		at = index($0, "\"assumed\":[")
		if (at) { list = substr($0, at + 11); list = substr(list, 1, index(list, "],\"warnings\"") - 1) }
		refused = index($0, "\"errors\":[") > 0
		print (refused ? "refused" : "answered") "\t" field("expected_byte") "\t" field("verdict") "\t" \
			(refused ? field("message") : "") "\t" list
	}' "$1"
}
digest "$work/memory" >"$work/m"
digest "$work/train" >"$work/t"

paste "$work/m" "$work/t" "$work/questions" | awk -F '\t' '
# what time alone needs, and memory does not
function of_time(text) {
	return text ~ /has no training time model|^no calibration of/
}
# assumptions of time alone
function job_only(list,    a, k, i, out) {
	k = split(list, a, /"text":"/)
	out = ""
	for (i = 2; i <= k; i++) {
		sub(/".*/, "", a[i])
		if (a[i] ~ /^(system |mtp |flops-convention |kernels |price |[0-9.]+ GPUs to a node|checkpoint-time |restart |a dispatcher|a plain all-to-all)/) continue
		out = out ";" a[i]
	}
	return out
}
{
	n++
	if ($1 == "answered" && $6 == "answered") {
		both++
		if ($8 == "memory not modeled") fault("train has no model of this memory, memory does")
		else if ($2 != $7) fault("expected " $2 " and " $7)
		else if ($3 != $8) fault("verdict " $3 " and " $8)
		else if (job_only($5) != job_only($10)) fault("assumed\n  " job_only($5) "\n  " job_only($10))
	} else if ($1 == "answered" && !of_time($9))
		fault("train refuses: " $9)
	else if ($1 == "refused" && $6 == "answered" && $8 != "memory not modeled")
		fault("memory refuses: " $4)
	else if ($1 == "refused" && $6 == "refused") {
		neither++
		# of two faults each command may name another first
		if ($4 != $9 && !of_time($9) && $4 !~ /does not support|not modeled/) fault("memory refuses: " $4 "\n  train refuses: " $9)
	}
}
function fault(text) { print "agree: " text "\n  " $11; bad++ }
END {
	print "agree: " n " questions, " both + 0 " answered by both, " neither + 0 " refused by both"
	exit bad > 0 || both < n / 3
}' || status=1

# --- the shipped runs
for job in workloads/jobs/train-*.yaml; do
	m=$("$RIDGE" memory "$job" --get expected_byte 2>/dev/null)
	t=$("$RIDGE" train "$job" --get expected_byte 2>/dev/null)
	if [ -z "$m" ] || [ "$m" != "$t" ]; then
		fault "$job: memory expects ${m:-nothing}, train ${t:-nothing}"
	fi
done

exit $status
