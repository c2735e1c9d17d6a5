#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Plans of serving: rows are what capacity and serve say, limits are kept, nothing that meets is said with the nearest.

load helper

front=(plan serve llama3.1-8b --rate 20 --isl 1000 --osl 250)
points=(plan serve llama3.1-8b --isl 1000 --osl 250 --pareto tokens-per-gpu:tokens-per-user)
plan=("${front[@]}" --unconfirmed)

@test "equal questions give the best row of capacity" {
	own=layouts.0.gpu,layouts.0.engine,layouts.0.dtype,layouts.0.layout,layouts.0.n_replicas,layouts.0.n_gpus,layouts.0.ttft_s,layouts.0.tpot_s
	for asked in "llama3.1-8b --gpu h100,h200 --rate 30 --isl 1000 --osl 250 --tpot 40ms" \
		"llama3.1-8b --gpu a100-80gb,l40s --engine vllm --rate 5 --isl 500 --osl 500 --ttft 2s" \
		"llama3.1-70b --gpu h100 --engine vllm,sglang --rate 4 --isl 2000 --osl 200 --slo ttft.p99:2s" \
		"qwen3-30b-a3b --gpu h200 --engine vllm --users 300 --think 10s --isl 800 --osl 300 --e2e 20s" \
		"llama3.1-8b --gpu b200 --rate 50 --isl 128 --osl 1024 --tpot 20ms --growth 0.5 --spare 1"; do
		# shellcheck disable=SC2086 # words
		planned=$("$RIDGE" plan serve $asked --max-sequences default --max-step-tokens default --unconfirmed --get "$own")
		# shellcheck disable=SC2086
		sized=$("$RIDGE" capacity $asked --unconfirmed --get "${own//layouts/candidates}")
		[ "$planned" = "$sized" ] || complain "$asked: plan says $planned, capacity $sized"
	done
}

@test "limits are tried, and are what serve is told" {
	ask "${plan[@]}" --gpu h100 --engine vllm --tpot 60ms --max-sequences 64,512 --max-step-tokens 4096
	answered
	options=$("$RIDGE" "${plan[@]}" --gpu h100 --engine vllm --tpot 60ms --max-sequences 512 --max-step-tokens 4096 --get serve_options)
	case $options in *"--set engine.scheduler.max_sequences=512 --set engine.scheduler.max_tokens=4096") ;; *) complain "$options" ;; esac
	mapfile -t row < <("$RIDGE" "${plan[@]}" --gpu h100 --engine vllm --tpot 60ms --max-sequences 512 --max-step-tokens 4096 \
		--get layouts.0.n_replicas,layouts.0.ttft_s,layouts.0.tpot_s)
	# shellcheck disable=SC2086 # words
	got=$("$RIDGE" serve llama3.1-8b $options --isl 1000 --osl 250 --rate "$(awk "BEGIN { print 20 / ${row[0]} }")" --get ttft_s,tpot_s)
	[ "$got" = "${row[1]}"$'\n'"${row[2]}" ] || complain "${row[*]}: serve says $got"
	ask "${plan[@]}" --gpu h100 --max-sequences auto,5
	refused
	ask "${plan[@]}" --gpu h100 --max-step-tokens 0
	refused
}

@test "another limit never costs more than the engine's" {
	for n in 5 40 160; do
		usual=$("$RIDGE" plan serve llama3.1-8b --gpu h100 --engine vllm --rate $n --isl 1000 --osl 250 --unconfirmed \
			--max-sequences default --max-step-tokens default --get n_gpus)
		tuned=$("$RIDGE" plan serve llama3.1-8b --gpu h100 --engine vllm --rate $n --isl 1000 --osl 250 --unconfirmed --get n_gpus)
		[ "$tuned" -le "$usual" ] || complain "$n requests/s: $tuned GPUs, $usual with the engine's limits"
	done
}

@test "a GPU without a price comes after those with one, compared with none of them" {
	local at="deepseek-r1 --gpu h200,mi355x --engine sglang --rate 3 --isl 4000 --osl 1000 --tpot 30ms --unconfirmed"
	# shellcheck disable=SC2086 # words
	{
		ask plan serve $at --csv --table layouts
		answered
		says "no price of mi355x"
		shows "h200-sxm5-141gb"
		hides difference_frac # of a price to a number of GPUs
		ask plan serve $at --price h200=7,mi355x=3 --csv --table layouts
		shows difference_frac
	}
}

@test "ranks and fronts" {
	for rank in power:power_watt gpus:n_gpus ttft:ttft_s tpot:tpot_s; do
		mapfile -t value < <("$RIDGE" "${plan[@]}" --gpu h100,h200 --engine vllm,sglang --dtype bf16,fp8 --rank "${rank%:*}" \
			--get "layouts.0.${rank#*:},layouts.1.${rank#*:}")
		awk "BEGIN { exit !(${value[0]} <= ${value[1]}) }" || complain "$rank: ${value[*]}"
	done
	ask "${front[@]}" --gpu h100,h200 --engine vllm --dtype bf16,fp8 --tpot 60ms --pareto gpus:tpot --csv --table layouts
	answered
	ask "${front[@]}" --gpu h100 --pareto cost:speed
	refused
	says "cost:tpot"
	ask "${points[@]}" --gpu h100 --engine vllm --csv --table layouts
	answered
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) { if ($i ~ /^user_token/) u = i; if ($i ~ /^gpu_output/) g = i } next }
		NR > 2 && ($u > user || $g < gpu) { exit 1 } { user = $u; gpu = $g }' "$tmp/out" || complain "not a front"
}

@test "a row as a command line" {
	ask "${plan[@]}" --gpu h100 --engine vllm,sglang --dtype bf16,fp8 --tpot 60ms --emit vllm --emit-rank 2
	[ "$(wc -l <"$tmp/out")" = 1 ]
	sh -n "$tmp/out"
	ask "${plan[@]}" --gpu h100 --engine vllm --emit vllm --emit-rank 9
	refused
	says "--emit-rank 1"
}

@test "nothing that meets: the nearest, with status 1" {
	ask plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5 --isl 1000 --osl 250 --tpot 2ms --unconfirmed
	answered 1
	shows "times the TPOT of its SLO"
	ask plan serve llama3.1-405b --gpu l40s --engine vllm --rate 5 --isl 1000 --osl 250 --gpus 2 --unconfirmed
	answered 1
	says "raise --gpus"
}

@test "pools: the cheapest pair, and the link that carries the caches" {
	pools=(plan serve llama3.1-8b --gpu h100,h200 --engine sglang --dtype fp8 --rate 60 --isl 4000 --osl 250 --ttft 500ms
		--tpot 20ms --unconfirmed --pools)
	ask "${pools[@]}" --csv --table pools
	answered
	mapfile -t value < <("$RIDGE" "${pools[@]}" --get pools.0.month_usd,pools.1.month_usd,pools.0.ttft_s,pools.0.tpot_s,pools.0.link_busy_frac)
	awk "BEGIN { exit !(${value[0]} <= ${value[1]} && ${value[2]} <= 0.5 && ${value[3]} <= 0.02 && ${value[4]} <= 0.5) }" ||
		complain "${value[*]}"
	# a slower link is busier, takes more replicas, and makes the first token too late
	slower=$("$RIDGE" "${pools[@]}" --kv-link roce-100 --get pools.0.link_busy_frac)
	awk "BEGIN { exit !($slower > ${value[4]}) }" || complain "$slower"
	few=$("$RIDGE" "${pools[@]}" --get pools.0.n_gpus)
	many=$("$RIDGE" "${pools[@]}" --kv-link eth-10 --get pools.0.n_gpus)
	[ "$many" -gt "$few" ] || complain "$many GPUs over 10 Gbit/s, $few over 400"
	ask "${pools[@]/500ms/50ms}" --kv-link eth-10
	says "no pair of pools meets the SLOs"
	ask "${pools[@]}" --emit sglang
	[ "$(grep -c -- --disaggregation-mode "$tmp/out")" = 2 ]
	sh -n "$tmp/out"
	ask plan serve llama3.1-8b --gpu h100 --users 20 --isl 100 --osl 100 --unconfirmed --pools
	refused
	says "--rate 20"
}

@test "pools are confirmed by the simulation that serve runs" {
	local at="llama3.1-8b --gpu h100 --engine sglang --dtype fp8 --isl 4000 --osl 250" job pair shape
	for job in "60 roce-400" "30 eth-25"; do
		read -r rate link <<<"$job"
		# shellcheck disable=SC2086 # words
		mapfile -t pair < <("$RIDGE" plan serve $at --rate "$rate" --kv-link "$link" --layout tp=1,pp=1 --slo ttft:500ms,tpot:20ms --pools \
			--get pools.0.confirmed,pools.0.prefill_pool,pools.0.decode_pool,pools.0.ttft_s)
		[ "${pair[0]}" = yes ] || complain "$job: ${pair[*]}"
		shape="--replicas ${pair[1]%% *} --decode-replicas ${pair[2]%% *}"
		# shellcheck disable=SC2086 # words
		ask serve $at --rate "$rate" --kv-link "$link" --layout tp=1 --simulate $shape --routing shortest-queue --requests 10000 \
			--get latencies.0.mean_s,latencies.1.mean_s
		answered
		awk -v ttft="${out%%$'\n'*}" -v tpot="${out##*$'\n'}" -v said="${pair[3]}" \
			'BEGIN { exit !(ttft <= 0.5 && tpot <= 0.02 && said / ttft > 0.85 && said / ttft < 1.1) }' || complain "$job: $out, ${pair[*]}"
	done
	# the rate does not grow with the sequences throughout: one replica does, at the TPOT that is simulated
	local at70="llama3.1-70b --gpu h200 --engine sglang --dtype bf16 --price h200=3.2 --isl 100 --osl 300 --rate 16 --layout tp=2,pp=1 --pools"
	# shellcheck disable=SC2086 # words
	{
		ask plan serve $at70 --slo tpot=500ms --get pools.0.n_gpus,pools.0.tpot_s
		awk -v n="${out%%$'\n'*}" -v s="${out##*$'\n'}" 'BEGIN { exit !(n == 4 && s < 0.04) }' || complain "500 ms: $out"
		ask plan serve $at70 --slo tpot=45ms --get pools.0.n_gpus
		is 4
	}
	ask plan serve $at --rate 20 --pools --kv-link sata-ssd
	refused
	says "no bandwidth that carries KV caches"
	ask serve $at --rate 20 --kv-link sata-ssd
	refused
	ask serve $at --rate 1 --kv-link ib-ndr --simulate --replicas 1 --decode-replicas 3 --routing shortest-queue --requests 100
	answered
	# what the closed form lets pass and the simulation does not, gets more replicas
	ask plan serve llama3.1-8b --gpu h100 --engine sglang --dtype fp8 --isl 4000 --osl 250 --isl-cv 1 --rate 60 --pools --kv-link roce-400 \
		--layout tp=1,pp=1 --slo ttft=p99:1s,tpot=p99:20ms --get pools.0.confirmed
	[[ $out == "yes, with "*" more" ]] || complain "$out"
}

@test "fleets of the GPUs at hand: never more than there are, cheaper than one kind alone" {
	stock=(plan serve llama3.1-70b --engine vllm --dtype fp8 --isl 1000 --osl 250 --tpot 50ms --unconfirmed)
	mapfile -t value < <("$RIDGE" "${stock[@]}" --gpu h100:8,h200:4 --rate 20 \
		--get layouts.0.month_usd,layouts.0.n_gpus,fleets.0.month_usd,fleets.0.n_gpus,fleets.0.tpot_s,fleets.0.fleet_request_per_s,fleets.0.fleet)
	awk "BEGIN { exit !(${value[1]} <= 8 && ${value[2]} < ${value[0]} && ${value[3]} <= 12 && ${value[4]} <= 0.05 && ${value[5]} >= 20) }" ||
		complain "${value[*]}"
	case ${value[6]} in *" x h200"*" + "*" x h100"*) ;; *) complain "no fleet of both: ${value[6]}" ;; esac
	# neither alone
	ask "${stock[@]}" --gpu h100:4,h200:4 --rate 20 --get fleet,fleets.0.n_gpus
	answered
	ask "${stock[@]}" --gpu h100:4 --rate 20
	answered 1
	says "GPUs at hand take"
	# latencies are those of serve at the share of a replica
	ask "${stock[@]}" --gpu h100:4,h200:4 --rate 20 --explain=fleets.0.ttft_s
	first=$(awk '/^ *replica_s = / { print $3; exit }' "$tmp/out")
	ask "${stock[@]}" --gpu h100:4,h200:4 --rate 20 --explain=fleets.0.fleet_request_per_s
	rate=$(awk '/^ *replica_request_per_s = / { r = r ? r : $3 } NR == 1 { all = $(NF - 1) } END { print 20 * r / all }' "$tmp/out")
	part=$("$RIDGE" "${stock[@]}" --gpu h100:4,h200:4 --rate 20 --get fleet)
	case $part in "4 x h200-sxm5-141gb tp=1,max-step-tokens=2048 + "*) ;; *) complain "another fleet: $part" ;; esac
	alone=$("$RIDGE" serve llama3.1-70b --gpu h200 --engine vllm --dtype fp8 --layout tp=1 --isl 1000 --osl 250 \
		--set engine.scheduler.max_tokens=2048 --rate "$rate" --get ttft_s)
	awk "BEGIN { d = $first / (1000 * $alone) - 1; exit !(d < 5e-3 && d > -5e-3) }" || complain "$first ms, serve says $alone s"
	# what all of them take is what they can be asked for
	most=$("$RIDGE" "${stock[@]}" --gpu h100:4,h200:4 --rate 500 --get fleets.0.fleet_request_per_s) || true
	ask "${stock[@]}" --gpu h100:4,h200:4 --rate "$(awk "BEGIN { print 0.999 * $most }")"
	answered
	ask "${stock[@]}" --gpu h100:4,h200:4 --rate "$(awk "BEGIN { print 1.001 * $most }")"
	answered 1
	# enough GPUs change nothing but what is rented
	figures=layouts.0.layout,layouts.0.n_gpus,layouts.0.ttft_s,layouts.0.tpot_s
	few=$("$RIDGE" "${stock[@]}" --gpu h100:900 --price 3 --rate 20 --get "$figures")
	any=$("$RIDGE" "${stock[@]}" --gpu h100 --price 3 --rate 20 --get "$figures")
	[ "$few" = "$any" ] || complain "$few is not $any"
}

@test "a fleet as command lines, confirmed, and with a spare" {
	stock=(plan serve llama3.1-70b --gpu h100:4,h200:4 --engine vllm --dtype fp8 --isl 1000 --osl 250 --tpot 50ms)
	ask "${stock[@]}" --rate 20 --emit vllm
	answered
	[ "$(wc -l <"$tmp/out")" = 2 ]
	sh -n "$tmp/out"
	says "line 1 is of h200"
	ask "${stock[@]}" --rate 20 --get fleets.0.confirmed
	[ "$out" = yes ] || complain "not confirmed"
	# users are a load too; a spare replica takes GPUs
	ask "${stock[@]}" --users 1000 --unconfirmed --get fleets.0.n_fleet_users
	answered
	few=$("$RIDGE" "${stock[@]}" --rate 20 --unconfirmed --get fleets.0.n_gpus)
	more=$("$RIDGE" "${stock[@]}" --rate 20 --unconfirmed --spare 1 --get fleets.0.n_gpus)
	[ "$more" -gt "$few" ] || complain "$more GPUs with a spare, $few without"
	# pools have the same GPUs
	ask "${stock[@]/h100:4,h200:4/h100:2,h200:1}" --rate 20 --unconfirmed --pools
	says "no pair of pools meets the SLOs"
}

@test "numbers of GPUs that make no sense are refused" {
	for gpu in h100:0 h100:x h100: :8 h100:1.5 h100:-3 h100:4:5 h100:4,h100:8 h100,h100-sxm5-80gb:4; do
		ask plan serve llama3.1-8b --gpu "$gpu" --rate 5 --isl 100 --osl 100
		refused
	done
	says "named twice"
	ask capacity llama3.1-8b --gpu h100:4 --rate 5 --isl 100 --osl 100
	refused
}

@test "what is missing is said" {
	ask plan serve llama3.1-8b --rate 5 --isl 100 --osl 100
	refused
	ask plan serve --gpu h100 --rate 5 --isl 100 --osl 100
	refused
	ask plan serve llama3.1-8b --gpu h100 --isl 100 --osl 100
	refused
	says "--rate 5"
	ask plan serve llama3.1-8b --gpu h100 --rate 5 --isl 100 --osl 100 --kv-link ib-ndr
	refused
	says "it needs --pools"
	ask "${front[@]}" --gpu gb200 --engine vllm --pareto cost:tpot
	refused
	says "no price of gb200"
	ask "${front[@]}" --gpu h100,gb200 --engine vllm --pareto cost:tpot
	answered
	says "gb200 in the database: it is not on the front"
	ask "${points[@]}" --gpu h100 --rate 5 --rank tpot --target-load 20%
	refused
	for ignored in rate rank target-load; do
		says "--$ignored: error: has no effect on operating points"
	done
	ask "${plan[@]}" --gpu h100,h200 --price a100=1
	refused
	says "no price of the GPUs asked about is among them"
	ask "${front[@]}" --gpu h100 --pareto cost:tpot --seed 3
	refused
	says "nothing is simulated here"
}

@test "what serves today is the setup of serve, and rows say what they save of it" {
	asked=(llama3.1-70b --gpu h100 --rate 20 --isl 1000 --osl 250 --tpot 50ms --unconfirmed)
	mapfile -t today < <("$RIDGE" plan serve "${asked[@]}" --from tests/fixtures/launchers/serve.sh \
		--get today.0.n_replicas,today.0.ttft_s,today.0.tpot_s,today.0.n_limit_sequences,today.0.month_usd)
	got=$("$RIDGE" serve llama3.1-70b --gpu h100 --isl 1000 --osl 250 --from tests/fixtures/launchers/serve.sh \
		--rate "$(awk "BEGIN { print 20 / ${today[0]} }")" --get ttft_s,tpot_s)
	[ "$got" = "${today[1]}"$'\n'"${today[2]}" ] || complain "${today[*]}: serve says $got"
	[ "${today[3]}" = 128 ]
	mapfile -t first < <("$RIDGE" plan serve "${asked[@]}" --engine vllm,sglang --dtype bf16,fp8 \
		--from tests/fixtures/launchers/serve.sh --get layouts.0.month_usd,layouts.0.saved_frac,today.0.engine,today.0.dtype)
	awk "BEGIN { d = 1 - ${first[0]} / ${today[4]} - ${first[1]}; exit !(d < 1e-9 && d > -1e-9) }" || complain "${first[*]}"
	[ "${first[2]} ${first[3]}" = "vllm bf16" ] || complain "today is ${first[*]}"
	# without --engine the file's is searched, and in one word it is the same
	file=$("$RIDGE" plan serve "${asked[@]}" --from tests/fixtures/launchers/serve.sh --csv --table today)
	word=$("$RIDGE" plan serve "${asked[@]}" --engine vllm --csv --table today \
		--from tp=4,engine=vllm,kv-dtype=fp8,max-sequences=128,max-step-tokens=4096)
	[ "$file" = "$word" ] || complain "$word is not $file"
	"$RIDGE" plan serve "${asked[@]}" --from tests/fixtures/launchers/serve.sh --get layouts.0.engine | grep -qx vllm
	# a setup that the search finds first saves nothing
	layout=$("$RIDGE" plan serve "${asked[@]}" --engine sglang --max-sequences default --max-step-tokens default --get layout)
	ask plan serve "${asked[@]}" --engine sglang --max-sequences default --max-step-tokens default --from "$layout" \
		--get layouts.0.saved_frac,layouts.0.note
	[ "$out" = 0$'\n'"not distinguishable from today" ] || complain "not nothing"
}

@test "what serves today and cannot is said or refused" {
	asked=(llama3.1-70b --gpu h100 --engine vllm --rate 20 --isl 1000 --osl 250 --tpot 50ms --unconfirmed)
	ask plan serve "${asked[@]}" --from tp=1
	answered
	says "does not carry the load within the SLOs"
	for from in tp=3 tp=8,vp=2 nothing tp=4,foo=3 tp=2,engine=nope tp=4,max-sequences=0 tp=4,engine=llama.cpp; do
		ask plan serve "${asked[@]}" --from "$from"
		refused
	done
	ask plan serve "${asked[@]}" --from tp=4 --pareto cost:tpot
	refused
	says "leave --pareto out"
	ask plan serve "${asked[@]}" --from tests/fixtures/launchers/train.sh
	refused
	says "write 'ridge plan train --from tests/fixtures/launchers/train.sh'"
}

@test "fronts and rows are drawn" {
	for words in "${front[*]} --pareto cost:tpot" "${points[*]}"; do
		# shellcheck disable=SC2086 # words
		ask $words --gpu h100,h200 --engine vllm --dtype bf16,fp8 --plot "$tmp/front.gp"
		answered
		grep -q "'front'" "$tmp/front.gp"
		grep -q "other setups" "$tmp/front.gp"
	done
	grep -q "tokens/s per user" "$tmp/front.gp"
	for rank in cost power gpus ttft tpot; do
		ask "${plan[@]}" --gpu h100,h200 --engine vllm --rank $rank --from tp=2 --plot "$tmp/$rank.gp"
		answered
		grep -q "'today'" "$tmp/$rank.gp"
	done
	grep -q "USD per month" "$tmp/cost.gp"
}

@test "the first row has the warnings that serve has" {
	job="mixtral-8x7b --gpu a100-pcie-80gb --engine trtllm-0.14 --isl 1000 --osl 1000"
	# shellcheck disable=SC2086 # words
	{
		ask plan serve $job --rate 3 --slo ttft.p99:5s,tpot:200ms --layout tp=2
		answered
		sed -n 's/.*warning: first row: //p' "$tmp/err" | sort >"$tmp/plan"
		ask plan serve $job --rate 3 --slo ttft.p99:5s,tpot:200ms --layout tp=2 --get layouts.0.layout,layouts.0.n_replicas
		ask serve $job --layout "${out%$'\n'*}" --rate "$(awk -v n="${out#*$'\n'}" 'BEGIN { print 3 / n }')"
		answered
	}
	sed -n 's/.*warning: //p' "$tmp/err" | sort >"$tmp/serve"
	[ -s "$tmp/plan" ] || complain "no warning"
	cmp -s "$tmp/plan" "$tmp/serve" || complain "$(diff "$tmp/plan" "$tmp/serve")"
	# shellcheck disable=SC2086 # words
	ask capacity $job --rate 3 --slo ttft.p99:5s,tpot:200ms --layout tp=2
	answered
	sed -n 's/.*warning: first row: //p' "$tmp/err" | sort >"$tmp/capacity"
	cmp -s "$tmp/plan" "$tmp/capacity" || complain "$(diff "$tmp/plan" "$tmp/capacity")"
}

@test "pipeline stages that no published run of the engine has are warned of" {
	ask plan serve llama3.1-70b --gpu l40s --engine vllm --rate 10 --isl 1000 --osl 200 --layout tp=4,pp=2 --unconfirmed
	answered
	says "first row: no published run of this engine on such GPUs has pipeline stages"
	ask plan serve llama3.1-70b --gpu l40s --engine vllm --rate 10 --isl 1000 --osl 200 --layout tp=8 --unconfirmed
	answered
	hides "pipeline stages"
	# they come behind what was run, for the same money
	ask plan serve llama3.1-70b --gpu h200 --rate 20 --isl 1000 --osl 250 --slo ttft.p99:1s,tpot:50ms --engine sglang --dtype fp8 --unconfirmed \
		--every-layout --csv --table layouts
	[ "$(sed -n 2,9p <<<"$out" | grep -c 'pp=')" -gt 0 ] || complain "no pipeline"
	[ "$(sed -n 2,3p <<<"$out" | grep -c 'pp=')" = 0 ] || complain "a pipeline first"
}

@test "attention data parallelism that runs today is read" {
	ask plan serve deepseek-v3 --gpu h200 --engine sglang --rate 5 --isl 1000 --osl 250 --unconfirmed --from tp=8,ep=8,adp --get today.0.layout
	answered
	is "tp=8,ep=8,adp"
}

@test "where the simulation moves rows, capacity and plan serve still agree, on a row that was simulated" {
	local job
	for job in "llama3.1-70b --gpu h200 --engine vllm --rate 20 --isl 1000 --osl 20 --slo tpot=p99:40ms --isl-cv 1 --osl-cv 1" \
		"qwen3-30b-a3b --gpu l40s --engine sglang --rate 60 --isl 100 --osl 20 --slo tpot=p99:40ms"; do
		# shellcheck disable=SC2086 # words
		{
			ask capacity $job --dtypes bf16 --get candidates.0.layout,candidates.0.n_gpus,candidates.0.confirmed
			answered
			shows yes
			is "$("$RIDGE" plan serve $job --dtype bf16 --get layouts.0.layout,layouts.0.n_gpus,layouts.0.confirmed)"
		}
	done
}

@test "options of ridge serve mean the row: types of weights alone, drafts and headroom" {
	local job="llama3.1-70b --isl 1000 --osl 250" options row
	for options in "--dtype int4" "--dtype fp8 --speculate eagle=3,accept=0.7" "--dtype fp8 --headroom 0.2"; do
		# shellcheck disable=SC2086 # words
		{
			mapfile -t row < <("$RIDGE" plan serve $job --gpu h100 --engine vllm --rate 4 --tpot 50ms --unconfirmed --layout tp=4 $options \
				--get serve_options,layouts.0.n_replicas,layouts.0.tpot_s)
			ask serve $job ${row[0]} --rate "$(awk -v n="${row[1]}" 'BEGIN { print 4 / n }')" --get tpot_s
			answered
			awk -v a="${row[2]}" -v b="$out" 'BEGIN { exit !(a / b > 0.9999 && a / b < 1.0001) }' || complain "$options: ${row[*]}"
		}
	done
}

@test "what a replica cannot be is refused with the reason" {
	local layout
	for layout in tp=3 tp=16 tp=8,adp; do
		ask plan serve llama3.1-70b --gpu h100 --engine vllm --rate 4 --isl 1000 --osl 250 --layout "$layout" --unconfirmed
		refused
		hides "see the warnings"
	done
	says "adp"
	ask plan serve llama4-scout --gpu h200 --engine vllm --dtype fp8 --rate 5 --isl 1000 --osl 250 --unconfirmed --layout tp=4,pp=1,ep=4,adp \
		--get layouts.0.layout
	answered
	is tp=4,ep=4,adp
	ask capacity bert-large --gpu b200 --engine vllm --rate 5 --isl 500 --osl 100 --unconfirmed
	refused
	says "an encoder has no output tokens"
	ask plan serve llama3.1-8b --gpu h100 --engine vllm --rate 1 --isl 200000 --osl 10 --unconfirmed
	says "exceeds the model's context length"
}

# pair WORD...: the first pair of pools: GPUs, TTFT, TPOT, share of the link, what prefills and what decodes
pair() {
	ask plan serve "$@" --unconfirmed --pools --get pools.0.n_gpus,pools.0.ttft_s,pools.0.tpot_s,pools.0.link_busy_frac,pools.0.prefill_pool,pools.0.decode_pool
	answered
	mapfile -t pair <<<"$out"
}

@test "a link carries the caches on both sides, those of growth too" {
	local job="llama3.1-8b --gpu h100 --engine sglang --dtype fp8 --rate 60 --isl 4000 --osl 250 --ttft 500ms --tpot 20ms --kv-link eth-25" few
	# shellcheck disable=SC2086 # words
	{
		pair $job --layout tp=1,pp=1
		few=${pair[0]}
		# 131 KiB a token in 16 bits, over one link of each replica, half of whose time is used at most
		[[ ${pair[4]} =~ ^([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 21 ] || complain "prefill: ${pair[*]}"
		[[ ${pair[5]} =~ ^([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 21 ] || complain "decode: ${pair[*]}"
		awk -v f="${pair[3]}" 'BEGIN { exit !(f > 0.4 && f <= 0.5) }' || complain "link: ${pair[*]}"
		pair $job --layout tp=1,pp=1 --growth 1
		[ "${pair[0]}" -ge $((2 * few - 2)) ] || complain "growth: ${pair[*]}"
	}
}

@test "the cheapest pair is that of whole replicas, and has its figures at the load" {
	local job="llama3.1-70b --gpu h100 --engine sglang --dtype fp8 --isl 1000 --osl 250 --ttft 500ms --tpot 30ms --kv-link ib-ndr --price 2 --rate 0.1" idle
	# shellcheck disable=SC2086 # words
	{
		pair $job
		[ "${pair[0]}" = 2 ] || complain "${pair[*]}"
		job="llama3.1-8b --gpu h100 --engine sglang --dtype fp8 --isl 4000 --osl 250 --kv-link roce-400 --layout tp=1,pp=1"
		pair $job --ttft 500ms --tpot 20ms --rate 0.1
		idle=("${pair[@]}")
		pair $job --ttft 500ms --tpot 20ms --rate 45
		awk -v a="${idle[1]}" -v b="${pair[1]}" -v c="${idle[2]}" -v d="${pair[2]}" 'BEGIN { exit !(a < b && 2 * c < d) }' ||
			complain "${idle[*]}, ${pair[*]}"
		# as simulated
		ask serve --model llama3.1-8b --gpu h100 --engine sglang --dtype fp8 --simulate --replicas 1 --decode-replicas 1 --kv-link roce-400 \
			--rate 0.1 --isl 4000 --osl 250 --requests 100 --get latencies.0.mean_s
		awk -v t="${out%%$'\n'*}" -v a="${idle[1]}" 'BEGIN { exit !(t / a > 0.95 && t / a < 1.05) }' || complain "TTFT ${idle[1]}"
		# an E2E limit that an idle pair meets is met, if not by the same replicas
		pair $job --slo ttft:500ms,tpot:20ms,e2e:5s --rate 0.1
		[ "${pair[0]}" = 2 ] || complain "${pair[*]}"
		pair $job --slo ttft:500ms,tpot:20ms,e2e:3s --rate 60
		awk -v t="${pair[1]}" -v s="${pair[2]}" 'BEGIN { exit !(t + 249 * s <= 3) }' || complain "${pair[*]}"
		# a percentile takes more than a mean
		pair $job --slo ttft:500ms,tpot:20ms --rate 48
		idle=("${pair[@]}")
		pair $job --slo ttft:500ms,tpot=p99:20ms --rate 48
		[ "${pair[0]}" -gt "${idle[0]}" ] || complain "${pair[*]}"
	}
}

@test "what serves today, in one word, gives the search its engine and type" {
	local job="llama3.1-70b --gpu h100 --rate 5 --isl 1000 --osl 100 --tpot 60ms --unconfirmed"
	# shellcheck disable=SC2086 # words
	{
		ask plan serve $job --from tp=4,engine=vllm,dtype=fp8 --get layouts.0.engine,layouts.0.dtype
		answered
		is vllm$'\n'fp8
		ask plan serve $job --from tp=4,engine=vllm,dtype=fp8 --engine sglang --get layouts.0.engine,layouts.0.dtype
		is sglang$'\n'fp8
	}
}
