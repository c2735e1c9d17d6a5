#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Judge `ridge plan train` by tuned recipes: sh src/tools/recipes.sh build/ridge recipes.csv [options of plan]
# For each: whether its layout is legal and fits, how far its step is behind the best of the plan, the rank of its
# family (tp, pp, cp, ep), and how many families stand in the first group.  Columns are found by name in the header.
set -eu
ridge=$1
recipes=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One line per recipe: name, kind, then the words of the question, then those of its layout.
awk -F, -v OFS='\t' '
BEGIN {
	split("deepseek_v3 kimi_k2 gpt_oss_20b gpt_oss_120b llama3_8b llama3_70b llama31_405b qwen3_30b_a3b qwen3_235b_a22b", from, " ")
	split("deepseek-v3 kimi-k2 gpt-oss-20b gpt-oss-120b llama3-8b llama3-70b llama3.1-405b qwen3-30b-a3b qwen3-235b-a22b", to, " ")
	split("4096 4096 4096 4096 8192 8192 8192 4096 4096", usual, " ")
	split("61 61 24 36 32 80 126 48 94", n_layers, " ")
	for (i in from) {
		model[from[i]] = to[i]
		seq[from[i]] = usual[i]
		layers[from[i]] = n_layers[i]
	}
	system_of["h100"] = "dgx-h100"
	system_of["gb200"] = "gb200-nvl72"
	split("bf16 bf16 fp8cs fp8 fp8sc fp8 fp8ds fp8 fp8mx mxfp8 nvfp4 nvfp4", t, " ")
	for (i = 1; i < 12; i += 2)
		dtype[t[i]] = t[i + 1]
}
/^#/ { next }
!n { for (n = 1; n <= NF; n++) at[$n] = n; next }
function of(name) { return $at[name] }
function degree(name, value) { return value == "" ? "" : "," name "=" value }
of("task") != "pretrain" || !(of("model") in model) || !(of("precision") in dtype) { next }
of("fsdp") != "" || of("offload_layers") of("offload_modules") != "" || of("variant") ~ /cg|stash/ { next }
of("tp") == "" || of("pp") == "" || of("global_batch") !~ /^[0-9]+$/ { next }
{
	s = of("seq") ~ /^[0-9]+$/ ? of("seq") : seq[of("model")]
	experts = of("model") ~ /llama/ ? "dense" : "experts"
	l = substr(degree("tp", of("tp")) degree("pp", of("pp")) degree("vp", of("vp")) degree("cp", of("cp") == "" ? 1 : of("cp")) \
	    degree("ep", of("ep")) degree("etp", of("etp")), 2)
	r = of("recompute_granularity") == "full" ? "full" : of("recompute_modules")
	# so many layers of a stage, one by one
	if (r == "full" && of("recompute_layers") > 1)
		r = "every-" int(layers[of("model")] / (of("pp") * of("recompute_layers")) + 0.5)
	gsub(/ /, ",", r)
	print of("recipe"), experts, model[of("model")] " --system " system_of[of("gpu")] " --gpus " of("gpus") \
	    " --global-batch " of("global_batch") " --seq " s " --dtype " dtype[of("precision")] " --stack megatron-bridge", \
	    "--layout " l " --batch " of("micro_batch") " --recompute " (r == "" ? "none" : r)
}' "$recipes" >"$work/list"

# table NAME FILE: a table of a plan as lines between tabs, by the columns that follow: table layouts FILE layout step_s
table() {
	awk -v names="$*" '
	function cells(line, out, n, i, c, quoted, cell) {
		n = 0
		for (i = 1; i <= length(line); i++) {
			c = substr(line, i, 1)
			if (c == "\"")
				quoted = !quoted
			else if (c == "," && !quoted) {
				out[++n] = cell
				cell = ""
			} else
				cell = cell c
		}
		out[++n] = cell
		return n
	}
	BEGIN { n_names = split(names, name, " ") }
	/^#/ { next }
	{ n = cells($0, cell) }
	!started { for (i = 1; i <= n; i++) at[cell[i]] = i; started = 1; next }
	{
		line = ""
		for (i = 1; i <= n_names; i++)
			line = line (i > 1 ? "\t" : "") (name[i] in at ? cell[at[name[i]]] : "fits")
		print line
	}'
}

# Rows of a plan, best first: tp,pp,cp,ep, step, verdict and group.
rows() {
	table layout step_s verdict group <"$1" | awk -F'\t' -v OFS='\t' '
	{
		split("", of)
		n = split($1, parts, ",")
		for (i = 1; i <= n; i++) {
			split(parts[i], pair, "=")
			of[pair[1]] = pair[2]
		}
		family = ""
		for (i = split("tp pp cp ep", names, " "); i > 0; i--)
			family = (names[i] in of ? of[names[i]] : 1) (family == "" ? "" : ",") family
		print family, $2, $3, $4
	}'
}

while IFS='	' read -r name kind question layout; do
	# shellcheck disable=SC2086 # words of the question and of the layout
	"$ridge" plan train $question "$@" --all --csv --table layouts >"$work/all" 2>"$work/failed" </dev/null || true
	# shellcheck disable=SC2086
	"$ridge" plan train $question "$@" $layout --csv --table layouts >"$work/own" 2>"$work/error" </dev/null || true
	rows "$work/all" >"$work/rows"
	rows "$work/own" >"$work/row"
	near=
	# shellcheck disable=SC2086
	[ -s "$work/row" ] || near=$("$ridge" plan train $question "$@" $layout --get near.0.peak_byte 2>/dev/null </dev/null |
		awk '{ print $1 / 1073741824 }')
	awk -F'\t' -v OFS='\t' -v name="$name" -v kind="$kind" -v near="$near" -v failed="$(head -n 1 "$work/failed")" -v error="$(head -n 1 "$work/error")" '
	FILENAME ~ /row$/ { own = $1; own_s = $2; verdict = $3; next }
	{ n++; family[n] = $1; step[n] = $2; group[n] = $4 }
	!($1 in rank) { rank[$1] = ++n_families; letter[$1] = $4 }
	{ n_first += $4 == "a" }
	END {
		if (own_s == "")
			print name, kind, near != "" ? "over" : "refused", "-", "-", "-", n_first, near != "" ? near " GiB" : error
		else if (!n)
			print name, kind, verdict, "-", "-", "-", 0, "no plan: " failed
		else
			printf "%s\t%s\t%s\t%.1f\t%s\t%s\t%d\t\n", name, kind, verdict, 100 * (own_s / step[1] - 1), \
			    own in rank ? rank[own] : "-", own in letter ? letter[own] : "-", n_first
	}' "$work/row" "$work/rows"
done <"$work/list" >"$work/judged"

cat "$work/judged"
awk -F'\t' '
{ n[$2]++; legal[$2] += $3 != "refused"; fits[$2] += $3 != "refused" && $3 != "over" }
$4 != "-" { most = $2 == "dense" ? 7 : 10; near[$2] += $4 <= most; ranked[$2] += $5 != "-" && ($6 == "a" || $5 <= (most == 7 ? 10 : 20)) }
END {
	for (kind in n)
		printf "%s: %d recipes, legal %d, fit %d, within %d %% of the best %d, family among the first or in group a %d\n", kind, \
		    n[kind], legal[kind], fits[kind], kind == "dense" ? 7 : 10, near[kind], ranked[kind]
}' "$work/judged"
