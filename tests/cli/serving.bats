#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# One question, several commands: formats, cards, room and prices are the same in all of them.
load helper

# value ROW COMMAND...: one number
value() {
	local row=$1
	shift
	ask "$@" --get "$row"
	printf '%s\n' "$out"
}

# same A B: equal to the last digit
same() {
	[ -n "$1" ] && [ "$1" = "$2" ] || complain "'$1' and '$2'"
}

@test "what an engine's cache holds: memory, kv, serve and the simulator agree" {
	local model gpu layout engine seq=1200
	while read -r model gpu layout engine; do
		local at="$model --gpu $gpu --layout $layout --engine $engine"
		# shellcheck disable=SC2086 # the words of a command line
		{
			local memory kv serve weights
			memory=$(value kv_capacity_token memory $at --infer --seq $seq)
			kv=$(value kv_capacity_token kv $at --seq $seq)
			serve=$(value kv_capacity_token serve $at --isl 1000 --osl 200 --rate 0.1)
			weights=$(value weight_byte memory $at --infer --seq $seq)
			same "$memory" "$kv"
			same "$memory" "$serve"
			same "$weights" "$(value weight_byte serve $at --isl 1000 --osl 200 --rate 0.1)"
			same "$weights" "$(value weight_byte kv $at --seq $seq)"
		}
	done <<-'END'
	llama3-70b h100 tp=4 trtllm
	llama3-70b h100 tp=4 vllm
	llama3-70b h100 tp=4 sglang
	qwen3-235b-a22b h200 tp=8,ep=8 vllm
	deepseek-r1 h200 tp=8 trtllm
	qwen3-next h200 tp=4 vllm
	nemotron-3-super h200 tp=4 sglang
	kimi-linear mi300x tp=4 sglang
	deepseek-v4-flash h200 tp=4 vllm
	deepseek-r1 h200 tp=8,ep=8,adp trtllm
	deepseek-r1 b200 tp=8,ep=8,attention-dp sglang
	deepseek-r1 gb200 tp=48,ep=48,adp,across sglang
	llama3-8b a100 tp=1 vllm-0.6
	END
}

@test "users of capacity are sequences of kv and memory" {
	local model gpu layout
	while read -r model gpu layout; do
		# shellcheck disable=SC2086
		{
			local at="$model --gpu $gpu --layout $layout"
			local users
			users=$(value n_replica_users capacity $at --users 10 --tokens 4096)
			same "$users" "$(value n_max_sequences kv $at --seq 4096)"
			same "$users" "$(value n_max_batch memory $at --infer --seq 4096)"
		}
	done <<-'END'
	llama3-70b h100 tp=4
	gpt-oss-120b h100 tp=1
	deepseek-r1 h200 tp=8
	deepseek-r1 h200 tp=8,ep=8,adp
	END
}

@test "models are planned as they were published, and the answer says so" {
	for command in "serve gpt-oss-120b --gpu h100 --isl 1000 --osl 200 --rate 1" "memory gpt-oss-120b --infer --gpu h100" \
		"kv gpt-oss-120b --gpu h100" "capacity gpt-oss-120b --gpu h100 --users 1 --tokens 4096" \
		"capacity gpt-oss-120b --gpu h100 --rate 1 --isl 1000 --osl 200 --objectives ttft:1s --unconfirmed"; do
		# shellcheck disable=SC2086
		ask $command
		answered
		shows "expert weights mxfp4, as published"
	done
	ask serve deepseek-r1 --gpu a100 --layout tp=8,pp=2 --isl 1000 --osl 200 --rate 0.1
	shows "weights fp8-block, as published"
	shows "GEMMs in 16 bits: weights dequantized before them"
	ask serve deepseek-r1 --gpu h200 --dtype bf16 --layout tp=8 --isl 1000 --osl 200
	[ "$status" = 1 ] || complain "it does not fit in 16 bits"
}

# plan COMMAND...: the first setup of a plan, pasted into serve at its share of the load
pasted() {
	local rows=ttft_s,tpot_s,ttft_p95_s,tpot_p99_s,e2e_p50_s setup
	mapfile -t setup < <(value "candidates.0.layout,candidates.0.engine,candidates.0.n_replicas,candidates.0.${rows//,/,candidates.0.}" "$@" --unconfirmed)
	same "$(printf '%s\n' "${setup[@]:3}")" \
		"$(value $rows serve "$2" --gpu "$4" --engine "${setup[1]}" --layout "${setup[0]}" --isl 2000 --osl 300 \
			--rate "$(awk -v n="${setup[2]}" 'BEGIN { printf "%.17g", 10 / n }')" --slo ttft.p95:1h,tpot.p99:1h,e2e.p50:1h)"
}

@test "a plan that is pasted into serve gives the same times" {
	for model in llama3-70b gpt-oss-120b deepseek-r1 qwen3-235b-a22b; do
		pasted capacity $model --gpu h200 --rate 10 --isl 2000 --osl 300 --objectives ttft:2s,tpot:80ms,ttft.p95:1h,tpot.p99:1h,e2e.p50:1h
	done
	pasted capacity kimi-k2 --gpu b200 --rate 10 --isl 2000 --osl 300 --objectives ttft:2s,tpot:80ms,ttft.p95:1h,tpot.p99:1h,e2e.p50:1h
}

@test "a mean ITL is a mean TPOT; a percentile of it needs the simulation" {
	local at="capacity llama3-8b --gpu h100 --rate 50 --isl 1000 --osl 200 --unconfirmed --slo" row
	for row in tpot_s n_replicas; do
		# shellcheck disable=SC2086
		same "$(value candidates.0.$row $at ttft:1s,itl:40ms)" "$(value candidates.0.$row $at ttft:1s,tpot:40ms)"
	done
}

@test "percentiles are limited in the closed form, and in the simulation, by the same words" {
	local at="serve llama3.1-8b --gpu h100 --isl 1000 --osl 200" row
	for row in ttft_p50_s ttft_p95_s ttft_p99_s; do
		# shellcheck disable=SC2086
		value $row $at --rate 15 --slo "ttft=p50:1s,ttft=p95:1s,ttft=p99:1s" >>"$tmp/rows"
	done
	sort -c -g "$tmp/rows" || complain "not in order"
	# shellcheck disable=SC2086
	{
		ask $at --rate 15 --ttft p95:1ms
		[ "$status" = 1 ] || complain "1 ms is met"
		shows "misses ttft p95 of 1 ms"
		ask $at --concurrency 20 --e2e p99:100s
		answered
		ask $at --rate 15 --simulate --ttft p95:1s
		answered
		ask $at --rate 15 --itl p99:1s
		refused
		says "over requests, not of tokens"
		ask $at --ttft p95:1s
		refused
		says "add --rate or --concurrency"
	}
	ask latency --budget p95:40ms --stages encode=12ms,plan=5ms --tails encode=15ms
	answered
	ask latency --budget p95:18ms --stages encode=12ms,plan=5ms --tails encode=15ms
	[ "$status" = 1 ] || complain "18 ms is met"
	ask latency --budget p95:18ms --stages encode=12ms,plan=5ms
	refused
	says "percentiles need the P99 of stages"
}

@test "latent caches are held once where that is what fits" {
	ask capacity kimi-k2 --gpu b200 --users 100 --tokens 32Ki
	answered
	shows "tp=8,ep=8,adp"
	ask train llama3-8b --gpu h100 --gpus 8 --layout tp=8,adp
	refused
	says "applies to serving"
}

@test "experts that do not divide evenly are held twice, where attention is data parallel" {
	local at="deepseek-r1 --gpu gb200 --engine sglang --isl 1000 --osl 200 --concurrency 480"
	# shellcheck disable=SC2086
	{
		ask serve $at --layout tp=48,ep=48,adp,across
		answered
		shows "32 redundant experts: each of the 48 ranks holds 6 of 256"
		ask serve $at --layout tp=64,ep=48,across
		refused
		says "ep=48 does not divide the model's 256 experts"
		# 6 of 256 experts a rank, whatever 48 says
		[ "$(value weight_byte serve $at --layout tp=64,ep=64,adp,across | cut -d. -f1)" -lt \
			"$(value weight_byte serve $at --layout tp=48,ep=48,adp,across | cut -d. -f1)" ] || complain "weights"
	}
}

@test "a replica of several nodes waits for its network" {
	local near far
	near=$(value tpot_s serve deepseek-r1 --gpu h200 --dtype fp8-block --isl 1000 --osl 200 --concurrency 8 --engine sglang --layout tp=8)
	ask serve deepseek-r1 --gpu h200 --dtype fp8-block --isl 1000 --osl 200 --concurrency 8 --engine sglang --layout tp=16,across
	answered
	shows "50 GB/s of network per GPU between the nodes of a replica"
	far=$(value tpot_s serve deepseek-r1 --gpu h200 --dtype fp8-block --isl 1000 --osl 200 --concurrency 8 --engine sglang \
		--layout tp=16,across)
	awk -v n="$near" -v f="$far" 'BEGIN { exit !(f > n) }' || complain "tp=8 $near s, tp=16 over two nodes $far s"
}

@test "the power limit bounds products of cards" {
	local rate="serve llama2-70b --gpu h100-nvl-94gb --engine trtllm-0.14 --dtype fp8 --isl 294 --osl 294 --layout tp=1"
	local usual more
	# shellcheck disable=SC2086
	{
		usual=$(value output_token_per_s $rate)
		more=$(value output_token_per_s $rate --set gpu.tdp=700W)
	}
	awk -v u="$usual" -v m="$more" 'BEGIN { exit !(m > 1.2 * u) }' || complain "$usual token/s at 400 W, $more at 700 W"
}

@test "types and headroom act in every form of capacity" {
	local plan="capacity llama3-70b --gpu h200 --rate 10 --isl 2000 --osl 300 --objectives ttft:2s --unconfirmed"
	local usual option
	# shellcheck disable=SC2086
	usual=$(ask $plan --json && printf '%s' "$out")
	for option in "--weights-dtype int4" "--headroom 0.6" "--kv-dtype fp8" "--dtype fp8"; do
		# shellcheck disable=SC2086
		ask $plan $option --json
		answered
		[ "$out" != "$usual" ] || complain "$option changes nothing"
	done
	for option in "--weights shared" "--kv-rule doc" "--block 32"; do
		# shellcheck disable=SC2086
		ask $plan $option
		refused
	done
}

@test "prices by name, and of whole instances" {
	ask capacity llama3-70b --gpu h100,h200 --users 200 --tokens 4Ki --price h100=2.5,h200=3.2 --get candidates.1.gpu_usd_per_s
	answered
	awk -v x="$out" 'BEGIN { exit !(x * 3600 > 3.1999 && x * 3600 < 3.2001) }' || complain "not 3.2 an hour"
	ask capacity llama3-70b --gpu b200 --users 200 --tokens 4Ki
	answered
	says "4 of the 8 paid GPUs stay idle"
	ask capacity llama3-70b --gpu h100 --users 200 --tokens 4Ki --price h100=nothing
	refused
	ask cost --own --system dgx-h100 --electricity 0.12usd/kWh --price 3.29usd/h
	shows "capital unconfirmed"
}

@test "memory of a server: what it has no rule for is refused" {
	ask memory llama3-70b --infer --gpu h200 --offload optimizer
	refused
	ask memory llama3-70b --infer --gpu h200 --lora-rank 64
	refused
	ask memory llama3-70b --infer --gpu h200 --stack vllm --engine trtllm
	refused
	ask memory llama3-70b --infer --gpu-mem 0B
	refused
	says "--gpu-mem"
}

@test "longer answers never let a replica take more requests" {
	local before=1e9 now osl
	for osl in 128 510 1020 2040 4080; do
		now=$(value max_request_per_s serve mpt-1b --gpu b300-sxm --layout tp=8 --isl 6879 --osl $osl --rate 0.01)
		awk -v a="$before" -v b="$now" 'BEGIN { exit !(b > 0 && b <= a * 1.005) }' || complain "osl $osl: $now after $before"
		before=$now
	done
}

@test "speculation changes times, rates and the simulation" {
	local at="serve llama3.1-70b --gpu h100 --layout tp=4 --isl 1000 --osl 1000 --concurrency 8"
	local plain drafted
	for row in tpot_s output_token_per_s; do
		# shellcheck disable=SC2086
		plain=$(value $row $at)
		# shellcheck disable=SC2086
		drafted=$(value $row $at --drafts 3 --accepted 2.2)
		[ "$plain" != "$drafted" ] || complain "$row"
	done
	# shellcheck disable=SC2086
	plain=$(value latencies.1.mean_s $at --simulate --requests 64)
	# shellcheck disable=SC2086
	drafted=$(value latencies.1.mean_s $at --simulate --requests 64 --drafts 3 --accepted 2.2)
	awk -v a="$plain" -v b="$drafted" 'BEGIN { exit !(b < 0.5 * a) }' || complain "simulated: $plain and $drafted"
}

@test "a prompt of a model with experts waits for its launches, each of its 58 layers" {
	local q="serve deepseek-v3 --gpu b200 --engine sglang --layout tp=8 --isl 1000 --osl 200 --rate 0.01" with without
	# shellcheck disable=SC2086 # words of a command line
	with=$(value ttft_s $q) && without=$(value ttft_s $q --set engine.step.front=0s)
	awk -v a="$with" -v b="$without" 'BEGIN { d = a - b - 58 * 0.0005; exit !(d < 1e-5 && d > -1e-5) }' || complain "$with $without"
}

@test "a benchmark of clients: its opening burst, what comes after it, and both together" {
	local q="serve deepseek-r1 --gpu h200 --engine sglang --layout tp=8 --isl 922 --osl 922 --concurrency 64"
	local run="$q --requests 640 --cold" mean burst steady endless simulated warm
	# shellcheck disable=SC2086 # words of a command line
	mean=$(value ttft_s $run) && burst=$(value burst_ttft_s $run) && steady=$(value steady_ttft_s $run)
	# shellcheck disable=SC2086
	endless=$(value ttft_s $q)
	awk -v m="$mean" -v b="$burst" -v s="$steady" -v e="$endless" \
		'BEGIN { exit !(m > s && b > 5 * m && s == e && (0.1 * b + 0.9 * s) / m < 1.001 && (0.1 * b + 0.9 * s) / m > 0.999) }' ||
		complain "$mean $burst $steady $endless"
	# shellcheck disable=SC2086
	simulated=$(value latencies.0.mean_s $run --simulate --warmup 0 --isl-cv 0.1 --osl-cv 0.1)
	awk -v a="$mean" -v b="$simulated" 'BEGIN { exit !(a / b < 1.15 && b / a < 1.15) }' || complain "$mean $simulated"
	# a tenth of the requests waits for the 0.5 s of a new server
	# shellcheck disable=SC2086
	warm=$(value ttft_s $q --requests 640)
	awk -v a="$mean" -v b="$warm" 'BEGIN { d = a - b - 0.05; exit !(d < 1e-9 && d > -1e-9) }' || complain "$mean $warm"
	# shellcheck disable=SC2086
	ask $q --cold
	says "--cold: error"
	says "it needs --requests"
}

@test "an option without what it needs: the hint names it, and with it there is an answer" {
	while IFS='|' read -r option hint addition; do
		# shellcheck disable=SC2086
		ask serve llama3-8b --gpu h100 $option
		[ "$status" -eq 2 ] || complain "$option"
		says "has no effect here"
		says "$hint"
		# shellcheck disable=SC2086
		ask serve llama3-8b --gpu h100 $option $addition
		[ "$status" -eq 0 ] || complain "$option $addition: $output"
	done <<-END
		--rate 3|it needs a load|--isl 1000 --osl 200
		--concurrency 8|it needs a load|--isl 1000 --osl 200
		--requests 100|it needs a load|--isl 1000 --osl 200
		--headroom 0.1|it needs a load|--isl 1000 --osl 200
		--beams 2|it needs a load|--isl 1000 --osl 200 --engine trtllm-0.14
		--speculate eagle=3,accept=0.7|it needs a load|--isl 1000 --osl 200
		--kv-link nvlink4|it needs a load|--isl 1000 --osl 200
		--emit trtllm|it needs a load|--isl 1000 --osl 200
		--cached 0.3|it needs prompts|--isl 1000
		--ttft 3s|it needs prompts|--isl 1000
		--think 1s|it needs --concurrency|--concurrency 8 --isl 1000 --osl 200
		--draft-time 1ms|it needs --draft-tokens|--isl 1000 --osl 200 --draft-tokens 4 --accepted 2.3
		--mfu 0.3|it applies to roofline floors|--isl 1000 --context 1000
	END
}

@test "GPUs of a replica: as many as --gpus says, and one that is too small hears of nothing else" {
	q() {
		"$RIDGE" serve llama3-70b --gpu h100 --isl 1Ki --osl 1Ki --concurrency 3 "$@"
	}
	figures="ttft_s,tpot_s,weight_byte,kv_capacity_token"
	[ "$(q --gpus 8 --get $figures)" = "$(q --layout tp=8 --get $figures)" ]
	[ "$(q --gpus 8 --layout pp=2 --get $figures)" = "$(q --layout tp=4,pp=2 --get $figures)" ]
	[ "$(q --gpus 8 --get $figures | wc -l)" -eq 4 ]
	run q --gpus 8 --layout tp=2
	[ "$status" -eq 2 ]
	[[ $output == *"a replica with tp=2,pp=1 has 2 GPUs"* ]] || complain "$output"
	run q --ttft 1s
	[ "$status" -eq 1 ]
	[[ $output == *"does not fit and misses its SLOs; nearest layout that fits: tp=2"* && $output != *"no effect"* ]] || complain "$output"
}

@test "kv, memory and serve take the same replica for --gpus" {
	for how in "--gpus 8" "--gpus 8 --layout tp=8" "--layout tp=8"; do
		for command in "kv --batch 1" "memory --infer" "serve --isl 1000 --osl 100 --rate 1"; do
			# shellcheck disable=SC2086
			"$RIDGE" ${command%% *} llama3-70b --gpu h100 ${command#* } $how -q --get kv_capacity_token
		done
	done 2>&1 | sort -u >"$tmp/capacities"
	[ "$(<"$tmp/capacities")" = 1427840 ] || complain "$(<"$tmp/capacities")"
}

@test "a provider that no price is from is refused" {
	ask capacity llama3-70b --gpu h100 --users 10 --tokens 4Ki --provider lamda
	refused
	says "no price in the database is from 'lamda'"
	says "did you mean 'Lambda'?"
}

@test "engines are refused on GPUs that they do not run on" {
	ask serve llama3.1-8b --gpu mi300x --isl 1000 --osl 200 --engine trtllm
	refused
	says "TensorRT-LLM, PyTorch runtime runs on NVIDIA GPUs only"
	says "add --engine vllm or sglang"
	ask kv llama3.1-8b --gpu h100 --engine atom
	refused
	says "ATOM runs on AMD GPUs only"
	ask serve llama3.1-8b --gpu h100 --isl 1000 --osl 200 --engine tgi
	refused
	says "try trtllm, vllm or sglang"
}

@test "serve warns beyond the model's context length, as kv does" {
	ask serve llama3.1-8b --gpu h100 --layout tp=2 --isl 200000 --osl 10
	answered
	says "ISL + OSL of 200010 tokens exceeds the model's context length 131072"
	ask serve llama3.1-8b --gpu h100 --isl 1000 --osl 10
	answered
	[[ $output != *"context length"* ]] || complain "$output"
}

@test "kv of a training job counts one tensor-parallel group, as its layout on the command line does" {
	ask kv workloads/jobs/train-megatron-175b-64-a100.yaml --get weight_byte,kv_capacity_token --quiet
	answered
	local of_job=$output
	ask kv megatron-175b --gpu a100 --layout tp=8 --seq 2048 --get weight_byte,kv_capacity_token --quiet
	answered
	[ "$output" = "$of_job" ] || complain "$of_job" "$output"
	ask kv workloads/jobs/train-qwen3-30b-a3b-8-gb200.yaml
	answered
	says "ignored: stack, gpus, layout.dp, layout.ep, layout.zero"
	ask kv llama3-8b --gpus 8 --layout tp=2
	refused
}

@test "speculative decoding: drafts cost time and memory, and gain at most a token each" {
	local at="serve llama3.1-70b --gpu h100 --layout tp=4 --isl 1000 --osl 200" draft b
	# shellcheck disable=SC2086
	{
		for draft in eagle llama3.2-1b ngram; do
			for b in 1 64; do
				awk -v none="$(value drafts.draft_gain $at --batch $b --speculate $draft=3,accept=0)" \
					-v all="$(value drafts.draft_gain $at --batch $b --speculate $draft=3,accept=1)" \
					'BEGIN { exit !(none <= 1 && all > none && all <= 4) }' || complain "$draft at $b"
			done
			awk -v few="$(value drafts.draft_gain $at --batch 1 --speculate $draft=3,accept=0.7)" \
				-v many="$(value drafts.draft_gain $at --batch 256 --speculate $draft=3,accept=0.7)" \
				'BEGIN { exit !(many < few) }' || complain "$draft gains as much in large batches"
		done
		awk -v plain="$(value kv_capacity_token $at --rate 1)" \
			-v eagle="$(value kv_capacity_token $at --rate 1 --speculate eagle=3,accept=0.7)" \
			-v ngram="$(value kv_capacity_token $at --rate 1 --speculate ngram=3,accept=0.7)" \
			'BEGIN { exit !(eagle < plain && ngram == plain) }' || complain "drafts take no memory"
		awk -v closed="$(value tpot_s $at --rate 3 --speculate eagle=3,accept=0.7)" \
			-v plain="$(value tpot_s $at --rate 3)" 'BEGIN { exit !(closed < plain) }' || complain "slower"
		ask $at --rate 3 --simulate --speculate eagle=3,accept=0.7
		answered
		ask $at --rate 3 --speculate mtp=3,accept=0.7
		refused
		says "has no MTP modules"
		ask $at --rate 3 --speculate eagle=3
		refused
		says "the acceptance rate is missing"
		ask $at --rate 3 --speculate eagle=3,accept=1.2
		refused
		says "accept must be between 0 and 1"
		ask $at --rate 3 --speculate eagle=3,accept=0.7 --draft-tokens 3 --accepted 2
		refused
		says "exclude each other"
	}
	ask capacity deepseek-v3 --gpu h200 --rate 10 --isl 1000 --osl 200 --ttft 1s --speculate mtp=1,accept=0.85 --unconfirmed
	answered
}

@test "models with recurrent layers are served" {
	local at="--gpu b200 --layout tp=2 --engine sglang --osl 400 --concurrency 16" model near far
	for model in qwen3-next nemotron-3-nano nemotron-3-super; do
		# shellcheck disable=SC2086
		{
			ask serve $model $at --isl 1000
			answered
			shows "runs of 1 model"
			near=$(value tpot_s serve $model $at --isl 1000)
			far=$(value tpot_s serve $model $at --isl 16000)
			awk -v near="$near" -v far="$far" 'BEGIN { exit !(far > near && far < 2 * near) }' ||
				complain "longer contexts cost $far instead of $near"
			ask serve $model $at --isl 1000 --speculate ngram=2,accept=0.8
			refused
			says "recurrent layers is not modeled"
			ask serve $model ${at/sglang/vllm} --isl 1000
			says "recurrent layers: the interval is that of a combination left out of the fit"
		}
	done
}

@test "the kernels of a release: prompts without fast ones, experts in mxfp4 by Marlin" {
	local at=(deepseek-r1 --gpu b300 --dtype fp8-block --kv-dtype fp8 --layout tp=8 --concurrency 4 --osl 922 --get ttft_s)
	local new old
	for isl in 922 7373; do
		new+=" $("$RIDGE" serve "${at[@]}" --isl $isl --engine sglang 2>/dev/null)"
		old+=" $("$RIDGE" serve "${at[@]}" --isl $isl --engine sglang-0.5.10 2>/dev/null)"
	done
	# the longer prompt suffers more: attention goes with its square
	echo $new $old | awk '{ exit !($3 > 1.2 * $1 && $4 > 4 * $2) }' || complain "$new $old"
	at=(gpt-oss-120b --gpu h200 --engine vllm --concurrency 2 --isl 7200 --osl 900 --get ttft_s)
	new=$("$RIDGE" serve "${at[@]}" 2>/dev/null)
	old=$("$RIDGE" serve "${at[@]}" --set engine.architectures.hopper.marlin=false 2>/dev/null)
	echo $new $old | awk '{ exit !($1 > 1.2 * $2) }' || complain "$new $old"
}

@test "beams share a prompt's cache and attend to all of it; what has no model of them is refused" {
	local at=(serve gptj-6b --gpu h100 --dtype fp8 --osl 69)
	# four sequences of a prompt take less than four prompts, and longer than sequences of a quarter of it
	local beams apart quarter
	beams=$("$RIDGE" "${at[@]}" --engine trtllm-0.14 --isl 800 --beams 4 --get output_token_per_s 2>/dev/null)
	apart=$("$RIDGE" "${at[@]}" --engine trtllm-0.14 --isl 800 --get output_token_per_s 2>/dev/null)
	quarter=$("$RIDGE" "${at[@]}" --engine trtllm-0.14 --isl 200 --get output_token_per_s 2>/dev/null)
	echo $beams $apart $quarter | awk '{ exit !($1 > 1.3 * $2 && $1 < 0.9 * $3) }' || complain "$beams $apart $quarter"
	ask "${at[@]}" --engine vllm --isl 800 --beams 4
	refused
	says "beam search of vLLM 0.7 and later is not modeled"
	ask "${at[@]}" --engine trtllm-0.14 --isl 800 --beams 4 --concurrency 8 --requests 100 --simulate
	refused
	says "in closed form, without drafts"
	ask "${at[@]}" --engine trtllm-0.14 --isl 800 --beams 1
	refused
	says "at least 2"
}

@test "compressed attention is served, and longer contexts cost little" {
	local at="serve deepseek-v4-flash --gpu h200 --layout tp=4 --osl 400 --concurrency 1" near far
	# shellcheck disable=SC2086
	{
		ask $at --isl 1000
		answered
		says "compressed attention: the interval is that of a combination left out of the fit"
		case $err in *"full KV cache"*) complain "windows are counted in full" ;; esac
		near=$(value tpot_s $at --isl 8000)
		far=$(value tpot_s $at --isl 64000)
		awk -v near="$near" -v far="$far" 'BEGIN { exit !(far > near && far < 1.5 * near) }' ||
			complain "longer contexts cost $far instead of $near"
	}
}

@test "power of the site, growth, and what is not modeled" {
	local plan="capacity llama3.1-8b --gpu h100 --rate 30 --isl 1000 --osl 200 --ttft 1s --unconfirmed" option
	# shellcheck disable=SC2086
	{
		awk -v gpus="$(value candidates.0.power_watt $plan)" \
			-v site="$(value candidates.0.site_watt $plan --host-power 700W --pue 1.5)" \
			'BEGIN { exit !(site == 3 * gpus) }' || complain "not twice the power times 1.5"
		ask $plan --pue 0.5
		refused
		ask $plan --sweep growth=0,0.5,1 --get candidates.0.n_gpus
		answered
		[ "$(printf '%s\n' "$out" | sort -g -u | wc -l)" = 3 ] || complain "growth needs no more GPUs"
	}
	for option in --lora --cpu-offload-gb --kv-offload; do
		ask serve llama3.1-8b --gpu h100 --isl 1000 --osl 200 --rate 1 $option 8
		refused
		says "not modeled"
	done
}

@test "inline ECC takes a sixteenth of the bandwidth of GDDR6" {
	local ask=(serve llama3-8b --gpu a40 --engine llama.cpp --batch 1 --isl 1 --osl 128 --get tpot_s)
	with=$("$RIDGE" "${ask[@]}")
	without=$("$RIDGE" "${ask[@]}" --set gpu.memory.inline_ecc=false)
	awk -v with="$with" -v without="$without" 'BEGIN { exit !(with > 1.04 * without && with < 16 / 15 * without) }'
}
