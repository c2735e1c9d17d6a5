#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# A published configuration stands wherever a model does, and `model import` writes it as a model file.

load helper

llama='{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 512'

@test "import writes a model file that says the same" {
	printf '%s}' "$llama" >"$tmp/tiny.json"
	ask model import "$tmp/tiny.json"
	answered
	shows "format: 1"
	shows "name: tiny"
	shows "attention: {kind: gqa, heads: 4, kv_heads: 2, head_dim: 16}"
	printf '%s\n' "$out" >"$tmp/printed"
	ask model import "$tmp/tiny.json" -o "$tmp/tiny.yaml"
	answered
	[ -z "$out" ]
	cmp "$tmp/printed" "$tmp/tiny.yaml"
	ask model "$tmp/tiny.json" --get n_params
	answered
	counted=$out
	ask model "$tmp/tiny.yaml" --get n_params
	answered
	is "$counted"
	ask check "$tmp/tiny.yaml"
	answered
}

@test "a configuration on standard input" {
	ask_with "$llama}" model import - -o "$tmp/tiny.yaml"
	answered
	grep -q "^name: llama" "$tmp/tiny.yaml"
	ask_with "$llama}" kv - --seq 512 --get kv_byte_per_token
	answered
	# 3 layers, keys and values of 2 heads of 16 in 2 bytes
	is "384"
}

@test "what is assumed is said" {
	ask_with "$llama}" model -
	answered
	shows "assumed: tie_word_embeddings false"
}

@test "import answers in JSON too" {
	ask_with "$llama}" model import - --json
	answered
	json_is answers/model llama
	json_is answers/n_params 123840
	json_is assumed/0/text "tie_word_embeddings false"
}

@test "what is no configuration" {
	ask_with "$llama" model import -
	refused
	says "not valid JSON"
	ask_with '{"model_type": "lama", "hidden_size": 64}' model import -
	refused
	says "llama"
	ask_with '[1, 2]' model import -
	refused
	ask_with "$llama, \"num_hidden_layers\": -3}" model import -
	refused
	ask model import
	refused
	ask model import "$tmp/nowhere.json"
	refused
	says "No such file or directory"
}

@test "import of a model of the database writes its file" {
	ask model import llama2-7b -o "$tmp/mine.yaml"
	answered
	grep -q "^hidden: 4096" "$tmp/mine.yaml"
	ask model "$tmp/mine.yaml" --get n_params
	answered
	is "6738415616"
}

@test "a configuration in a folder is called by the folder" {
	mkdir "$tmp/Tiny-Llama"
	printf '%s}' "$llama" >"$tmp/Tiny-Llama/config.json"
	ask model "$tmp/Tiny-Llama/config.json"
	answered
	shows "Tiny-Llama"
	(cd "$tmp/Tiny-Llama" && "$RIDGE" model ./config.json | head -n 1 | grep -qx llama)
}
