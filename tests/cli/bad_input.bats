#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Bad input gets a message with its place and a way out, exit status 2, and nothing on standard output.

load helper

# model TEXT: a model file with these lines, good but for them
model() {
	printf 'format: 1\nname: Mine\nsource: me\nlayers: 2\nhidden: 64\nvocab: 1000\n%s\n' "$1" >"$tmp/m.yaml"
}

good='attention: {kind: mha, heads: 4, head_dim: 16}
mlp: {kind: gated, width: 128}
norm: rms'

@test "a good file, to compare" {
	model "$good"
	ask kv "$tmp/m.yaml"
	answered
	shows "512 B/token"
}

@test "a file that is not there" {
	ask kv "$tmp/nothing.yaml"
	refused
	says "cannot read '$tmp/nothing.yaml': No such file or directory"
}

@test "a file that may not be read" {
	model "$good"
	chmod 0 "$tmp/m.yaml"
	[ "$(id -u)" -ne 0 ] || skip "the superuser reads everything"
	ask kv "$tmp/m.yaml"
	refused
	says "Permission denied"
}

@test "a directory" {
	ask kv "$tmp/"
	refused
	says "Is a directory"
}

@test "a binary file" {
	head -c 4000 "$RIDGE" >"$tmp/m.yaml"
	ask kv "$tmp/m.yaml"
	refused
	says "$tmp/m.yaml:"
	says "not a text file"
}

@test "an empty file" {
	: >"$tmp/m.yaml"
	ask kv "$tmp/m.yaml"
	refused
	says "$tmp/m.yaml:1:1: error: the file is empty"
}

@test "YAML that is none" {
	model "attention: {kind: mha, heads: 4"
	ask kv "$tmp/m.yaml"
	refused
	says "$tmp/m.yaml:8:1: error: not valid YAML"
}

@test "a tab for indentation" {
	model "$(printf 'attention:\n\tkind: mha')"
	ask kv "$tmp/m.yaml"
	refused
	says "m.yaml:8:1: error: not valid YAML"
}

@test "a wrong type" {
	model "attention: [mha]"
	ask kv "$tmp/m.yaml"
	refused
	says "m.yaml:7:12: error: expected a map"
}

@test "a number that is a word" {
	model "attention: {kind: mha, heads: four, head_dim: 16}"
	ask kv "$tmp/m.yaml"
	refused
	says "m.yaml:7:31: error: 'four' is not a count"
}

@test "a unit where none belongs" {
	model "attention: {kind: mha, heads: 4GB, head_dim: 16}"
	ask kv "$tmp/m.yaml"
	refused
	says "m.yaml:7:31: error: '4GB' is a size in bytes, but a count"
}

@test "a wrong unit" {
	ask kv llama2-7b --gpu h100 --set gpu.memory.bandwidth=3TB
	refused
	says "--set gpu.memory.bandwidth: error: '3TB' is a size in bytes, but a rate in bytes per second is needed"
}

@test "no unit where one belongs" {
	ask comm allreduce --size 1000 --ranks 8 --bandwidth 50GB/s
	refused
	says "--size: error: '1000' has no unit, but a size in bytes is needed"
}

@test "an ambiguous unit, both readings" {
	ask comm allreduce --size 1GB --ranks 8 --bandwidth 400Gb/s
	refused
	says "write 400Gbit/s or 400GB/s"
	ask kv llama2-7b --seq 128k
	refused
	says "write 128000 or 128Ki (131072)"
}

@test "a missing key" {
	printf 'format: 1\nname: x\narchitecture: hopper\npeak: {bf16: 1TFLOP/s}\n' >"$tmp/g.yaml"
	ask kv llama2-7b --gpu "$tmp/g.yaml"
	refused
	says "g.yaml:1:1: error: a GPU needs the key 'memory'"
}

@test "an unknown key, with a suggestion" {
	model "$good
atention: {kind: mha}"
	ask kv "$tmp/m.yaml"
	refused
	says "m.yaml:10:1: error: "
	says "no key 'atention'"
	says "did you mean 'attention'?"
}

@test "a duplicate key, with both places" {
	model "$good
layers: 3"
	ask kv "$tmp/m.yaml"
	refused
	says "m.yaml:10:1: error: the key 'layers' is given twice"
	says "the first one is in line 4"
}

@test "a negative number" {
	ask kv llama2-7b --seq -5
	refused
	says "--seq: error: seq must be a whole number of at least 1"
	ask comm allreduce --size -1GB --ranks 8 --bandwidth 50GB/s
	refused
	says "--size: error: size must be at least 0 B"
}

@test "an absurd number" {
	ask kv llama2-7b --seq 1e20
	refused
	says "--seq: error: seq must be at most 1000000000"
	ask roofline gemm --m 1e300 --n 1e300 --k 1e300 --gpu h100
	refused
	says "--m: error: m must be at most 1e+12"
	ask hw show h100 --set gpu.memory.bandwidth=3e30TB/s
	refused
}

@test "part of a token" {
	ask kv llama2-7b --seq 1.5
	refused
	says "--seq: error: seq must be a whole number of at least 1"
}

@test "NaN and infinities" {
	for word in nan NaN -nan inf Infinity -inf 'nan(0)'; do
		ask kv llama2-7b --seq "$word"
		refused
		says "is not a count"
		ask comm allreduce --size "${word}GB" --ranks 8 --bandwidth 50GB/s
		refused
	done
}

@test "hexadecimal" {
	ask kv llama2-7b --seq 0x1000
	refused
	says "'0x1000' is not a count"
}

@test "overflow" {
	ask kv llama2-7b --seq 1e999
	refused
	says "'1e999' is out of range"
	ask comm allreduce --size 1e308PB --ranks 8 --bandwidth 50GB/s
	refused
	says "is out of range"
}

@test "an alias of itself" {
	printf 'format: 1\nname: &x [1, *x]\n' >"$tmp/m.yaml"
	ask kv "$tmp/m.yaml"
	refused
	says "m.yaml:2:14: error: the alias '*x' contains itself"
}

@test "a billion laughs, in milliseconds" {
	{
		echo 'a: &a [x, x, x, x, x, x, x, x, x]'
		last=a
		for c in b c d e f g h i j k; do
			echo "$c: &$c [*$last, *$last, *$last, *$last, *$last, *$last, *$last, *$last, *$last]"
			last=$c
		done
	} >"$tmp/m.yaml"
	ask kv "$tmp/m.yaml"
	refused
	says "aliases expand to too many nodes"
	ulimit -t 1 # seconds of CPU
	"$RIDGE" kv "$tmp/m.yaml" 2>/dev/null || [ $? -eq 2 ]
}

@test "a huge file" {
	head -c 9000000 /dev/zero | tr '\0' '#' >"$tmp/m.yaml"
	ask kv "$tmp/m.yaml"
	refused
	says "m.yaml:1:1: error: the file is larger than 8 MiB"
}

@test "a file without an end" {
	ask kv /dev/zero
	refused
	says "larger than 8 MiB"
}

@test "a layout that does not divide, with the nearest that does" {
	ask memory llama3-8b --gpu h100 --layout tp=7
	refused
	says "tp=7 does not divide the model's 32 attention heads"
	says "nearest: tp=8"
	ask memory llama3-8b --gpu h100 --gpus 10 --layout tp=8
	refused
	says "nearest: 8 GPUs"
	ask memory llama3-8b --gpu h100 --layout pp=33
	refused
	says "at most pp=32"
	ask memory llama3-8b --gpu h100 --layout dp=4,shard=3
	refused
	says "nearest: shard=2"
}

@test "tensor parallelism beyond a node must be said" {
	ask memory llama3-70b --gpu h100 --layout tp=16
	refused
	says "tp=16 exceeds the 8 GPUs of one NVLink domain"
	says "tp=8, or tp=16,across"
	ask memory llama3-70b --gpu h100 --layout tp=16,across
	answered 1
	shows "each of 16"
	ask memory llama3-70b --gpu gb200 --layout tp=16
	answered
}

@test "a type that the GPU lacks, with what it has" {
	ask roofline gemm --m 64 --n 64 --k 64 --gpu v100 --dtype bf16
	refused
	says "--dtype: error: v100-sxm2-32gb has no bf16 support"
	says "--dtype fp16 at 125 TFLOP/s"
	ask memory llama3-8b --gpu v100 --dtype bf16
	refused
	says "has no bf16 support"
}

@test "unknown names, with suggestions" {
	ask kv llama2-7c
	refused
	says "there is no model 'llama2-7c'"
	says "did you mean 'llama2-7b'?"
	ask kv llama2-7b --gpu h101
	refused
	says "--gpu: error: there is no GPU 'h101'"
	says "did you mean 'h100'?"
	ask comm allreduce --size 1GB --system dgx-h101 --ranks 8
	refused
	says "there is no system 'dgx-h101'"
	says "did you mean 'dgx-h100'?"
	ask kv llama2-7b --dtype fp17
	refused
	says "did you mean 'fp16'?"
}

@test "an unknown command is suggested, never run" {
	ask memroy llama3-8b
	refused
	says "there is no command 'memroy'"
	says "did you mean 'memory'?"
	ask mem llama3-8b
	refused
	says "did you mean 'memory'?"
	ask qqqqqqqq
	refused
	says "'ridge --help' lists the commands"
}

@test "an unknown option is suggested" {
	ask kv llama2-7b --sqe 4096
	refused
	says "there is no option '--sqe'"
	says "did you mean '--seq'?"
	ask kv llama2-7b -Z
	refused
	says "there is no option '-Z'"
}

@test "an input that the command has not" {
	ask kv llama2-7b --set bacth=4
	refused
	says "--set bacth: error: 'kv' has no input 'bacth'"
	says "did you mean 'batch'?"
}

@test "options that exclude each other" {
	ask kv llama2-7b --json --csv
	refused
	says "--json and --csv exclude each other"
	ask kv llama2-7b --explain --sweep seq=1,2
	refused
	ask kv llama2-7b --layers 32 --kv-heads 8 --head-dim 128
	refused
	says "a model excludes --layers"
	ask memory llama3-8b --gpu h100 --layout fsdp,zero=1
	refused
	says "fsdp and zero=1 exclude each other"
	ask capacity llama3-8b --gpu h100 --users 5 --tokens 100 --rate 3
	refused
	says "exclude each other"
	ask kv llama2-7b --model llama3-8b
	refused
	says "'model' is given twice"
}

@test "a row that is not there" {
	ask kv llama2-7b --get sequence_bite
	refused
	says "--get: error: there is no answer 'sequence_bite'"
	says "did you mean 'sequence_byte'?"
	ask kv llama2-7b --explain=sequence_bite
	refused
}

@test "all faults of a file in one run" {
	printf 'format: 1\nname: x\narchitecture: hopper\nsms: many\nclock: {max: 1980}\nmemory: {bandwith: 1TB/s}\npeak: {bf16: 1}\ntdp: 700\n' >"$tmp/g.yaml"
	ask kv llama2-7b --gpu "$tmp/g.yaml"
	refused
	for place in 4:6 5:14 6:10 7:14 8:6; do
		says "g.yaml:$place: error:"
	done
}

@test "all faults of a command line in one run" {
	ask kv llama2-7b --seq x --batch y --dtype z
	refused
	says "--seq: error:"
	says "--batch: error:"
	says "--dtype: error:"
}

@test "a format that this program does not read" {
	sed 's/^format: 1/format: 2/' "$RIDGE_HWDB/workloads/models/llama2-7b.yaml" >"$tmp/m.yaml"
	ask kv "$tmp/m.yaml"
	refused
	says "ridge reads format 1"
}

@test "a database that is not there" {
	ask kv llama2-7b --hwdb "$tmp/nowhere"
	refused
	says "--hwdb: error: cannot read the directory '$tmp/nowhere': No such file"
	: >"$tmp/file"
	ask kv llama2-7b --hwdb "$tmp/file"
	refused
	says "Not a directory"
}

# near OPTIONS... -- ERROR -- HINT: refused with both
near() {
	local words=()
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	ask "${words[@]}"
	refused
	says "$2"
	says "$4"
}

@test "a message names the place, what is wrong, and the nearest thing that works" {
	near kv llama3-8b --get inputs.bach -- "--get: error: 'kv' has no input 'bach'" -- "did you mean 'inputs.batch'?"
	near kv llama3-8b --csv --table nosuch -- "--table: error: there is no table 'nosuch'" -- "leave --table out"
	near memory llama3-8b --gpu h100 --csv --table momens --sweep batch=1,2 -- "there is no table 'momens'" -- "the tables are: moments"
	near memory llama3-8b --gpu h100 --table moments -- "--table goes with --csv" -- "write --csv --table moments"
	near serve llama3-8b --gpu h100 --qps 3 --rate 4 -- "--rate: error: is given twice: --qps is the same" -- "keep one"
	near cost --gpu h100 --gpus 8 --price h100=x -- "--price: error: 'x' is not a price per hour" -- '$3.50/h'
	near train llama3-8b --gpu h100 --layout tp3 -- "--layout tp: error: tp=3 does not divide" -- "nearest: tp=2"
	near serve qwen2.5-7b --gpu h100 --layout tp=8 --isl 9 --osl 9 -- "tp=8 does not divide the model's 28 attention" -- "nearest: tp=4"
	near train llama3-8b --gpu h100 --layout pt=3 -- "--layout pt: error: a layout has no 'pt'" -- "did you mean 'tp'?"
	near train llama3-8b --gpu h100 --set layout.tpp=8 -- "--set layout.tpp: error: a layout has no 'tpp'" -- "did you mean 'layout.tp'?"
	near train llama3-8b --gpu h100 --sweep btach=1,2 -- "--sweep: error: 'train' has no input 'btach'" -- "did you mean 'batch'?"
	near memory llama3-8b --gpu h100 --solve btach --until 'peak_byte <= 1GB' -- "--solve: error: 'memory' has no input 'btach'" -- "did you mean 'batch'?"
	near memory llama3-8b --gpu h100 --solve batch --until 'peak_byte <= 80Gb' -- "--until: error: '80Gb' can be read two ways" -- "80GB"
	near cost --gpus 8 --time 48h --solve price --until 'run_usd <= 900usd' -- "--solve: error: 'price' needs a range here" -- "--solve price=LOW..HIGH"
	near comm allreduce --gpus 8 --size 1GB --algo rign --system dgx-h100 -- "--algo: error: 'rign' is not one of" -- "did you mean 'ring'?"
	near kv meta-llama/Lama-3.1-70B -- "there is no model 'meta-llama/Lama-3.1-70B'" -- "did you mean 'llama3.1-70b'?"
	near kv llama3-8b --gpu "NVIDIA H100 80GB HMB3" -- "there is no GPU 'NVIDIA H100 80GB HMB3'" -- "did you mean 'NVIDIA H100 80GB HBM3'?"
	near capacity llama3-8b --gpu h100 --rate 2 --isl 9 --osl 9 --slo tft:2s -- "--slo: error: 'tft:2s' is not an SLO" -- "ttft=p99:500ms"
	near capacity llama3-8b --gpu h100 --rate 2 --isl 9 --osl 9 --slo itl.p99:2s -- "--slo: error: no percentile of the inter-token latency" -- "--simulate --slo itl.p99:TIME"
	near serve llama3-8b --gpu h100 --isl 9 --osl 9 --ttft p95:2s -- "this answer has no ttft p95" -- "add --rate or --concurrency"
	near roofline gemm 4096 4096 4096 5 --gpu h100 -- "gemm has 3 dimensions, not 4" -- "--m --n --k"
	near roofline gemm 4096 --m 3 --gpu h100 -- "--m: error: dimension 'm' is given twice" -- "keep one"
	near roofline gemm 64 64 64 --gpu h100 --set system.gpus=4 -- "--set system.gpus: error: 'roofline' has no input 'system.gpus'" -- "--help"
	near serve llama3-8b --gpu h100 --tensor-parallel 8 -- "no option '--tensor-parallel'" -- "did you mean '--tensor-parallel-size'?"
	near help optoins -- "there is no help topic 'optoins'" -- "did you mean 'options'?"
}

@test "two names of one input in one file" {
	ask_with '{"collective": "allreduce", "size": "1GB", "ranks": 8, "gpus": 4}' comm --jsonl -
	says "'ranks' and 'gpus' are the same input"
	says "keep 'gpus'"
}
