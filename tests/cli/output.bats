#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# The forms of an answer.

load helper

@test "text: aligned, with what was assumed" {
	ask kv llama2-7b --gpu h100
	answered
	shows "KV cache per token        512 KiB/token"
	shows "KV cache per sequence     2 GiB"
	shows "assumed: h100 = h100-sxm5-80gb, seq 4096, engine trtllm, dtype bf16"
	[ -z "$err" ]
}

@test "an alias that means a variant is announced" {
	ask kv llama2-7b --gpu H100-SXM5
	shows "H100-SXM5 = h100-sxm5-80gb"
	ask kv llama2-7b --gpu h100-sxm5-80gb
	hides "= h100-sxm5-80gb"
}

@test "JSON: one object with every row" {
	ask kv llama2-7b --gpu h100 --seq 4096 --json
	answered
	json_is command kv
	json_is inputs/seq 4096
	json_is inputs/gpu h100
	json_is answers/kv_sequence_byte 2147483648
	json_is answers/gpu_mem_byte 85027979264
	json_is answers/verdict fits
	json_is intervals '{}'
	json_is assumed/0/value h100-sxm5-80gb
	json_is assumed/0/text "h100 = h100-sxm5-80gb"
	json_is warnings '[]'
	[ "${out:0:1}" = "{" ]
	[ "${out: -1}" = "}" ]
}

@test "JSON: sources with their place" {
	ask hw show h100 --json
	answered
	json_is sources/0/row n_sms
	json_is sources/0/file "$RIDGE_HWDB/hwdb/gpus/h100-sxm5-80gb.yaml"
	json_is sources/0/citation "stas00/ml-engineering compute/accelerator/README.md@744d01e"
}

@test "JSON: texts are escaped" {
	printf 'format: 1\nname: "a \\"quoted\\" \\\\ name\\twith\\ncontrols"\nsource: me\nlayers: 2\nhidden: 64\nvocab: 1000\nattention: {kind: mha, heads: 4, head_dim: 16}\nmlp: {kind: gated, width: 128}\nnorm: rms\n' >"$tmp/odd \"name\".yaml"
	ask kv "$tmp/odd \"name\".yaml" --json
	answered
	json_is inputs/model "$tmp/odd \"name\".yaml"
}

@test "CSV: a head and base units" {
	ask kv llama2-7b --seq 4096 --csv
	answered
	is 'seq_token,kv_byte_per_token,kv_sequence_byte
4096,524288,2147483648'
}

@test "CSV: one line per entry, absent cells empty" {
	ask hw list links --csv
	answered
	[ "$(printf '%s\n' "$out" | head -n 1 | cut -d, -f1)" = link ]
	lines=$(printf '%s\n' "$out" | wc -l)
	files=$(find "$RIDGE_HWDB/hwdb/links" -name '*.yaml' | wc -l)
	[ "$lines" -eq $((files + 1)) ]
}

@test "Markdown" {
	ask kv llama2-7b --seq 4096 --md
	answered
	shows '| what | value |'
	shows '| KV cache per sequence | 2 GiB |'
	ask hw list --architecture volta --md
	answered
	shows '|---|'
	shows '| v100-pcie |'
}

@test "--get: one bare number" {
	ask kv llama2-7b --seq 4096 --get kv_sequence_byte
	answered
	is 2147483648
	ask kv llama2-7b --gpu h100 --get verdict
	is fits
	[ $(($("$RIDGE" kv llama2-7b --seq 4096 --get kv_sequence_byte) / 1048576)) -eq 2048 ]
}

@test "--get: a column of a table" {
	ask model compare llama3-8b llama2-7b --get n_params
	refused
	says "'n_params' is a column of the table 'models'"
}

@test "--explain: the derivation, with sources" {
	ask hw show h100 --explain=mem_byte_per_s
	answered
	shows "mem_byte_per_s (memory bandwidth) = 3.35 TB/s"
	shows "$RIDGE_HWDB/hwdb/gpus/h100-sxm5-80gb.yaml:"
	shows "[stas00/ml-engineering"
	ask kv llama2-7b --explain
	answered
	shows "sequence_byte (kv_sequence_byte, KV cache per sequence) = "
	shows " = 512 KiB/token"
	hides "assumed:"
}

@test "unconfirmed figures are marked" {
	entry=$(grep -l 'bandwidth: {.*unconfirmed: true' "$RIDGE_HWDB"/hwdb/gpus/*.yaml | head -n 1)
	[ -n "$entry" ] || skip "every bandwidth is confirmed"
	ask hw show "$(basename "$entry" .yaml)"
	answered
	shows "*"
	shows "not confirmed by a source"
	ask hw show "$(basename "$entry" .yaml)" --explain=mem_byte_per_s
	shows "unconfirmed"
}

@test "-q: neither assumptions nor warnings" {
	ask kv llama2-7b --seq 10000
	answered
	shows "assumed:"
	says "warning:"
	ask kv llama2-7b --seq 10000 -q
	answered
	hides "assumed:"
	[ -z "$err" ]
	ask kv llama2-7b --seq 10000 -q --md
	hides "assumed:"
}

@test "warnings go to standard error, not into the answer" {
	ask kv llama2-7b --seq 10000 --csv
	answered
	says "ridge kv: warning:"
	case $out in *warning*) false ;; esac
}

esc=$(printf '\033')

@test "color: never into a file, always when told" {
	ask kv llama2-7b --gpu h100
	hides "$esc"
	ask kv llama2-7b --gpu h100 --color always
	shows "$esc[32mfits$esc[0m"
	ask kv llama2-7b --gpu h100 --color=never
	hides "$esc"
	NO_COLOR=1 ask kv llama2-7b --gpu h100 --color always
	shows "$esc"
}

# A terminal, where script(1) can make one.
on_terminal() {
	needs "the script(1) of util-linux" "make deps-test" script -qec true /dev/null
	script -qec "$*" /dev/null </dev/null >"$tmp/out" 2>/dev/null
	out=$(<"$tmp/out")
}

@test "color: on a terminal, unless NO_COLOR or a dumb one" {
	on_terminal "$RIDGE kv llama2-7b --gpu h100"
	shows "$esc[32mfits$esc[0m"
	on_terminal "env NO_COLOR=1 $RIDGE kv llama2-7b --gpu h100"
	shows "fits"
	hides "$esc["
	on_terminal "env NO_COLOR= $RIDGE kv llama2-7b --gpu h100"
	shows "$esc["
	on_terminal "env TERM=dumb $RIDGE kv llama2-7b --gpu h100"
	hides "$esc["
}

@test "lists fold at the width of the terminal" {
	COLUMNS=40 ask kv llama2-7b --gpu h100
	[ "$(printf '%s\n' "$out" | sed -n '/^assumed/,$p' | awk '{ if (length($0) > m) m = length($0) } END { print m }')" -le 40 ]
}

@test "exit status: 1 when the answer is no" {
	ask kv llama2-7b --gpu h100 --batch 10000
	answered 1
	shows "does not fit"
	ask kv llama2-7b --gpu h100 --batch 10000 --json
	answered 1
	json_is answers/verdict "does not fit"
}

@test "the same question has the same answer" {
	ask memory llama3-8b --gpu h100 --layout dp=8,zero=3 --json
	once=$out
	ask memory llama3-8b --gpu h100 --layout dp=8,zero=3 --json
	[ "$once" = "$out" ]
}
