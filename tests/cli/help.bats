#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Help, versions and completion.

load helper

@test "--help lists every command" {
	ask --help
	answered
	for command in $("$RIDGE" __names); do
		shows "  ${command//-/ } "
	done
	ask -h
	answered
	ask help
	answered
	shows "usage: ridge COMMAND"
}

@test "--version" {
	ask --version
	answered
	[[ $out =~ ^ridge\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	version=$out
	ask kv --version
	is "$version"
}

@test "COMMAND --help shows every option and example" {
	for command in $("$RIDGE" __names); do
		ask "$command" --help
		answered
		shows "ridge ${command//-/ }: "
		shows "usage: ridge ${command//-/ } "
		shows "--json"
		shows "exit status:"
		ask "$command" -h
		answered
	done
}

@test "--help wins over a faulty line" {
	ask kv --nosuchoption --help
	answered
	shows "usage: ridge kv"
}

@test "help COMMAND opens the manual" {
	MANPAGER=cat MANWIDTH=80 ask help kv
	answered
	shows "ridge"
	ask help nosuchcommand
	refused
	says "there is no help topic 'nosuchcommand'"
}

# --- completion

@test "commands complete" {
	ask __complete ''
	answered
	shows kv
	shows help
	ask __complete k
	is kv
	ask __complete nosuch
	is ''
	ask __complete help k
	shows kv
}

@test "options complete" {
	ask __complete kv --kv-d
	is --kv-dtype
	ask __complete kv --
	shows --gpu
	shows --json
	shows --layout
	ask __complete kv --nosuch
	is ''
}

@test "values complete from the database" {
	ask __complete kv --gpu h100-s
	answered
	is 'h100-sxm5-80gb
h100-sxm5-96gb'
	ask __complete kv --gpu=h100-sxm5-8
	is --gpu=h100-sxm5-80gb
	ask __complete kv llama3.3
	is llama3.3-70b
	ask __complete comm allreduce --system dgx-h1
	is dgx-h100
	ask __complete kv --dtype bf
	is bf16
	ask __complete kv --color al
	is always
	ask __complete kv --hwdb /nowhere --gpu h100-sxm5-8
	is h100-sxm5-80gb
}

@test "lists complete behind their last comma" {
	ask __complete roofline --gpu a100-pcie-40gb,h100-sxm5-8
	is a100-pcie-40gb,h100-sxm5-80gb
	ask __complete memory --layout tp=8,z
	is tp=8,zero=
	ask __complete memory --layout fs
	is fsdp
}

@test "completion never complains" {
	ask __complete
	answered
	ask __complete nosuchcommand x
	answered
	is ''
	ask __complete kv --gpu
	answered
	for word in - -- = --= , '"' "'" '$(x)' '*'; do
		ask __complete kv "$word"
		answered
		[ -z "$err" ]
	done
}

@test "bash completion" {
	# shellcheck disable=SC1091 # not part of the tests
	source "$BATS_TEST_DIRNAME/../../completions/ridge.bash"
	PATH=$(dirname "$RIDGE"):$PATH
	COMP_WORDS=(ridge kv --gpu h100-sxm5-8) COMP_CWORD=3 COMPREPLY=()
	_ridge
	[ "${COMPREPLY[*]}" = h100-sxm5-80gb ]
	COMP_WORDS=(ridge k) COMP_CWORD=1 COMPREPLY=()
	_ridge
	[ "${COMPREPLY[*]}" = kv ]
	# readline breaks words at = and :
	COMP_WORDS=(ridge kv --gpu = h100-sxm5-8) COMP_CWORD=4 COMPREPLY=()
	_ridge
	[ "${COMPREPLY[*]}" = h100-sxm5-80gb ]
	COMP_WORDS=(ridge memory --layout tp = 8,z) COMP_CWORD=5 COMPREPLY=()
	_ridge
	[ "${COMPREPLY[*]}" = "8,zero=" ]
}

@test "help: ids of the rows of 0.1.0" {
	ask help answers --old
	answered
	printf '%s\n' "$out" | grep -qx "serve	first_s	ttft_s" || complain "serve's TTFT"
	ask help memory train
	refused
	says "help takes one topic"
}

@test "completion knows ids, the last of several, and inputs" {
	ask __complete kv --get kv_seq
	shows kv_sequence_byte
	ask __complete kv --get kv_sequence_byte,kv_byte
	shows kv_sequence_byte,kv_byte_per_token
	ask __complete kv --explain=kv_seq
	shows --explain=kv_sequence_byte
	ask __complete kv --get inputs.kv_d
	shows inputs.kv_dtype
}
