#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-or-later
# Many points, one answer: --sweep, --solve, --jsonl.

load helper

# --- sweeps

@test "a list, a factor, a step" {
	ask kv llama2-7b --block 1 --sweep seq=1,3,10 --get kv_sequence_byte
	answered
	is '524288
1572864
5242880'
	ask kv llama2-7b --block 1 --sweep seq=1..8*2 --get seq_token
	is '1
2
4
8'
	ask kv llama2-7b --sweep seq=100..200+50 --get seq_token
	is '100
150
200'
	ask kv llama2-7b --sweep seq=1Ki..4Ki*2 --get seq_token
	is '1024
2048
4096'
}

@test "an option's name or its path" {
	ask kv llama3-70b --sweep layout.tp=1,8 --get tp
	is '1
8'
	ask comm allreduce --ranks 8 --bandwidth 50GB/s --sweep size=1GB,2GB --csv
	answered
	[ "$(printf '%s\n' "$out" | wc -l)" -eq 3 ]
	ask kv llama2-7b --sweep --seq=1,2 --get seq_token
	is '1
2'
}

@test "two sweeps: all pairs, the last one fastest" {
	ask kv llama2-7b --sweep seq=16,32 --sweep batch=1..3+1 --csv
	answered
	is 'seq,batch,seq_token,kv_byte_per_token,kv_sequence_byte,batch_byte
16,1,16,524288,8388608,
16,2,16,524288,8388608,16777216
16,3,16,524288,8388608,25165824
32,1,32,524288,16777216,
32,2,32,524288,16777216,33554432
32,3,32,524288,16777216,50331648'
}

@test "words are swept too" {
	ask kv llama2-7b --sweep model=llama2-7b,llama3-8b --get kv_byte_per_token
	is '524288
131072'
	ask kv llama2-7b --sweep dtype=bf16,fp8 --get kv_byte_per_token
	is '524288
262144'
	ask roofline gemm --m 64 --n 64 --k 64 --sweep gpu=a100,h100 --get levels.0.byte_per_s
	is '2039000000000
3350000000000'
}

@test "a figure of an entry is swept" {
	ask roofline gemm --m 64 --n 64 --k 64 --gpu h100 --sweep gpu.memory.bandwidth=1TB/s..3TB/s+1TB/s --get levels.0.byte_per_s
	answered
	is '1000000000000
2000000000000
3000000000000'
}

@test "JSON: one object with points" {
	ask kv llama2-7b --sweep seq=16,32 --json
	answered
	json_is points/0/inputs/seq 16
	json_is points/1/answers/kv_sequence_byte 16777216
	json_is points/1/intervals '{}'
	json_is command kv
}

@test "text and Markdown: one line per point" {
	ask kv llama2-7b --sweep seq=16,32
	answered
	shows "seq"
	[ "$(printf '%s\n' "$out" | grep -c MiB)" -eq 2 ]
	ask kv llama2-7b --sweep seq=16,32 --md
	shows '| 16 |'
}

@test "a point that is refused stays empty and is named" {
	ask kv llama3-70b --sweep layout.tp=8,7,64,5 --csv
	answered
	[ "$(printf '%s\n' "$out" | wc -l)" -eq 5 ]
	shows '
7,,,'
	says "warning: layout.tp=7: tp=7 does not divide the model's 64 attention heads"
	says "warning: layout.tp=5"
	ask kv llama2-7b --sweep gpu=h100,nothing --get gpu_mem_byte
	answered
	is '85027979264
-'
	says "gpu=nothing: there is no GPU 'nothing'"
}

@test "when every point is refused, so is the request" {
	ask kv llama3-70b --sweep layout.tp=7,5
	refused
	says "does not divide"
	ask kv nosuchmodel --sweep seq=1,2
	refused
	says "there is no model 'nosuchmodel'"
	ask kv llama2-7b --sweep nothing=1,2
	refused
	says "'kv' has no input 'nothing'"
}

@test "a list that cannot be read" {
	for list in seq=1,x seq=1,, seq=1..8 seq=8..1*2 seq=1..8*1 seq=1..8+0 seq=nan..8*2 seq=1..inf*2 seq=1k,2k seq=1GB seq= =1 seq \
		dtype=bf16,fp17 seq=0..1000000+1; do
		ask kv llama2-7b --sweep "$list"
		refused
		says "--sweep"
	done
	ask kv llama2-7b --sweep seq=1..100 --sweep seq=1,2
	refused
	says "'seq' is swept twice"
}

@test "too many sweeps and too many points" {
	ask kv llama2-7b --sweep seq=1..1000+1 --sweep batch=1..1000+1
	refused
	says "more than 100000 points"
	ask roofline conv2d --gpu h100 --sweep n=1 --sweep c=1 --sweep h=1 --sweep w=1 --sweep k=1 --sweep r=1 --sweep s=1
	refused
	says "at most 6 sweeps"
}

@test "exit status of a sweep: 1 when every answer is no" {
	ask kv llama2-7b --gpu h100 --sweep batch=1,10000
	answered 0
	ask kv llama2-7b --gpu h100 --sweep batch=10000,20000
	answered 1
}

# --- solve

@test "--solve: the largest that holds, the smallest that holds" {
	ask kv llama2-7b --solve seq --until 'kv_sequence_byte <= 1GiB' --get seq_token
	answered
	is 2048
	ask kv llama2-7b --solve seq=1..100Ki --until 'kv_sequence_byte > 1GiB' --get seq_token
	is 2049
	ask kv llama2-7b --gpu h100 --solve batch --until 'batch_byte <= space_byte' --seq 4096 --get n_sequences
	answered
	is 28
}

@test "--solve says what it found" {
	ask kv llama2-7b --solve seq --until 'kv_sequence_byte <= 1GiB'
	shows "solved: seq = 2048"
	ask kv llama2-7b --solve seq=1..10 --until 'kv_sequence_byte <= 1GiB'
	shows "holds everywhere between 1 and 10"
}

@test "--solve over divisors" {
	ask kv llama3-70b --solve layout.tp=1..64 --until 'kv_byte_per_token <= 100KiB' --get tp
	answered
	is 4
}

@test "--solve: what is refused tells nothing, and the result does not depend on the bracket" {
	line='train llama3-70b --system dgx-h100 --layout tp=8,pp=2 --global-batch 1024 --seq 8192 --no-memory'
	wanted=
	for bracket in '=16..1024' '=8..2048' '=100..1000'; do
		# shellcheck disable=SC2086 # several words
		ask $line --solve "gpus$bracket" --until 'step_s <= 20s' --get n_gpus
		[ "$status" -eq 0 ] || complain "some number of GPUs is fast enough"
		[ "${wanted:=$out}" = "$out" ] || complain "another bracket, another answer"
	done
	# the one before it that a layout takes is too slow
	ask kv llama3-70b --gpu a100 --layout tp=8 --seq 8192 --solve batch=1..100000 --until 'batch_byte <= space_byte' --get n_sequences
	answered
	most=$out
	ask kv llama3-70b --gpu a100 --layout tp=8 --seq 8192 --batch $((most + 1)) --get n_sequences
	[ "$status" -eq 1 ] || complain "one sequence more should not fit"
}

@test "--solve that has an input which no value reads" {
	ask launch --layers 32 --ops 50 --gpu-time 12ms --seq 5 --solve launch=1us..20us --until 'gpu_idle_frac <= 1%'
	refused
	says "--seq: error: has no effect here"
}

@test "--solve for a rate" {
	ask comm allreduce --size 14GB --ranks 8 --solve bandwidth=1GB/s..500GB/s --until 'comm_s <= 490ms' --get link_byte_per_s
	answered
}

@test "--solve that has no answer" {
	ask kv llama2-7b --solve seq=1000..2000 --until 'kv_sequence_byte <= 1MiB'
	answered 1
	says "warning: 'kv_sequence_byte <= 1MiB' holds nowhere between 1000 and 2000"
	shows "1000 tokens"
	ask kv llama2-7b --solve seq --until 'nothing <= 5'
	refused
	says "there is no answer 'nothing'"
	ask kv llama2-7b --solve seq --until 'kv_sequence_byte <= 5s'
	refused
	says "'5s' is neither a value in B"
	ask kv llama2-7b --solve seq --until 'kv_sequence_byte'
	refused
	says "has no <= or >="
	ask kv llama2-7b --solve seq
	refused
	says "--solve and --until go together"
	ask kv nosuchmodel --solve seq --until 'kv_sequence_byte <= 1GiB'
	refused
	says "there is no model 'nosuchmodel'"
	ask kv llama2-7b --solve dtype=1..5 --until 'kv_sequence_byte <= 1GiB'
	refused
	says "'dtype' is not a number"
}

# --- JSON Lines

@test "--jsonl: one answer per line" {
	ask_with '{"model": "llama2-7b", "seq": 2048}
{"model": "llama3-8b"}

{"model": "llama3-70b", "layout": {"tp": 8}}
{"model": "llama3-70b", "layout.tp": 8}' kv --jsonl - --seq 1024
	answered
	[ "$(printf '%s\n' "$out" | wc -l)" -eq 4 ]
	printf '%s\n' "$out" | sed -n 1p >"$tmp/out"
	json_is answers/kv_sequence_byte 1073741824
	printf '%s\n' "$out" | sed -n 2p >"$tmp/out"
	json_is answers/seq_token 1024
	printf '%s\n' "$out" | sed -n 3p >"$tmp/out"
	json_is answers/kv_byte_per_token 40960
	printf '%s\n' "$out" | sed -n 4p >"$tmp/out"
	json_is answers/kv_byte_per_token 40960
	ask_with '{"model": "llama3-70b", "layout": {"tp": 8}}
{"model": "llama3-70b", "layout.tp": 8}' kv --jsonl - --seq 1024 --explain
	answered
	cp "$tmp/out" "$tmp/both"
	for line in 1 2; do
		sed -n ${line}p "$tmp/both" >"$tmp/out"
		json_is trace/tp 8
	done
}

@test "--jsonl: a line that is refused does not stop the others" {
	ask_with '{"model": "llama2-7b"}
{"model": "nosuchmodel"}
not JSON
{"model": "llama2-7b", "seqq": 5}
[1]
{"model": "llama2-7b"}' kv --jsonl -
	[ "$status" -eq 1 ] || complain "the lines are answered, one of them is refused"
	[ "$(printf '%s\n' "$out" | wc -l)" -eq 6 ]
	says "standard input:3:"
	says "standard input:4:32: error: 'kv' has no input 'seqq'"
	printf '%s\n' "$out" | sed -n 2p >"$tmp/out"
	json_is errors/0/message "there is no model 'nosuchmodel'"
	json_is errors/0/line 2
	printf '%s\n' "$out" | sed -n 3p >"$tmp/out"
	json_is errors/0/message "not valid JSON"
	printf '%s\n' "$out" | sed -n 4p >"$tmp/out"
	json_is errors/0/hint "did you mean 'seq'?"
	printf '%s\n' "$out" | sed -n 5p >"$tmp/out"
	json_is errors/0/message "expected an object"
	printf '%s\n' "$out" | sed -n 6p >"$tmp/out"
	json_is answers/seq_token 4096
}

@test "--jsonl: one row of each line, and a table" {
	ask_with '{"model": "llama2-7b", "seq": 2048}
{"model": "llama2-7b", "layout": "tp=2", "seq": 2048}' kv --jsonl - --get kv_sequence_byte
	answered
	is "1073741824
536870912"
	ask_with '{"model": "llama2-7b", "seq": 2048}
{"model": "llama2-7b", "seq": 4096}' kv --jsonl - --csv
	answered
	[ "$(printf '%s\n' "$out" | cut -d, -f1)" = "line
1
2" ] || complain "a line of the table for each question"
}

@test "--jsonl: numbers as JSON has them, words that are there" {
	for line in '{"model":"llama2-7b","seq":01}' '{"model":"llama2-7b","seq":1.}' '{"model":"llama2-7b","seq":+1}' \
		'{"model":"llama2-7b","seq":.5}' '{"model":"llama2-7b","seq":0x10}' '{"model":"llama2-7b","seq":NaN}' \
		'{"model":"llama2-7b","gpu":{}}' '{"model":"llama2-7b","gpu":""}' '{"model":"llama2-7b","seq":1,}' \
		'{"model":"llama2-7b"} x' '{"model":"llama2-7b","seq":1,"seq":2}'; do
		ask_with "$line" kv --jsonl -
		[ "$status" -eq 1 ] || complain "$line should be refused"
		says "standard input:1:"
	done
}

@test "--jsonl: an input without effect is refused on its line" {
	ask_with '{"stages":["a=5ms"],"budget":"9ms"}
{"stages":["a=5ms"],"budget":"9ms","tail_limit":1.2}' latency --jsonl -
	[ "$status" -eq 1 ]
	says "standard input:2:"
	says "'tail_limit' has no effect here"
}

@test "a sweep: the value that it replaces is read all the same" {
	ask kv llama2-7b --seq oops --sweep seq=1Ki,2Ki
	refused
	says "'oops' is not a count"
	ask kv llama2-7b --seq 5 --sweep seq=1Ki,2Ki --get seq_token
	answered
}

@test "a sweep: what one point reads is no input without effect" {
	ask latency --stages a=5ms:1ms,b=6ms --budget 20ms --sweep budget=10ms,20ms
	[ "$status" -le 1 ]
	ask launch --layers 32 --ops 50 --seq 5 --sweep launch=2us,5us
	refused
	says "--seq: error: has no effect here"
}

@test "a sweep and lines: memory does not grow with the points" {
	# 200 MB hold the program; 60,000 points of 10 kB would not fit
	spares_memory
	(
		ulimit -v 200000
		"$RIDGE" kv llama2-7b --sweep seq=1..60000+1 --csv >"$tmp/out" 2>"$tmp/err"
	) || complain "60000 points"
	[ "$(wc -l <"$tmp/out")" -eq 60001 ]
	awk 'BEGIN { for (i = 1; i <= 60000; i++) printf "{\"model\": \"llama2-7b\", \"seq\": %d}\n", i }' >"$tmp/lines"
	(
		ulimit -v 200000
		"$RIDGE" kv --jsonl "$tmp/lines" --get kv_sequence_byte >"$tmp/out" 2>"$tmp/err"
	) || complain "60000 lines"
	[ "$(wc -l <"$tmp/out")" -eq 60000 ]
}

@test "--jsonl: from a file, and from one that is not there" {
	echo '{"model": "llama2-7b"}' >"$tmp/q.jsonl"
	ask kv --jsonl "$tmp/q.jsonl"
	answered
	[ "$(printf '%s\n' "$out" | wc -l)" -eq 1 ]
	ask kv --jsonl "$tmp/nothing.jsonl"
	refused
	says "cannot read '$tmp/nothing.jsonl'"
	ask kv --jsonl "$tmp"
	refused
	says "Is a directory"
}

@test "--get: inputs as they were bound, in every form" {
	ask kv llama2-7b --batch 4 --get inputs.batch,inputs.model,inputs.seq,inputs.engine
	answered
	is "4
llama2-7b
4096
trtllm"
	ask kv llama2-7b --sweep batch=1,2 --get inputs.batch,kv_sequence_byte,inputs.seq
	answered
	is "1	2147483648	4096
2	2147483648	4096"
	ask kv llama2-7b --solve seq=1..8Ki --until 'kv_sequence_byte <= 1GiB' --get inputs.seq,kv_sequence_byte
	answered
	is "2048
1073741824"
	ask_with '{"model": "llama2-7b", "batch": 3}
{"model": "nosuch"}' kv --jsonl - --get inputs.batch,kv_sequence_byte
	[ "$status" -eq 1 ]
	is "3	2147483648
-	-"
	ask kv llama2-7b --get inputs.gpu
	refused
	says "the input 'gpu' was neither given nor assumed"
}

@test "a sweep: a point that was refused has its errors" {
	ask kv llama2-7b --sweep gpu=h100,nothing --json
	answered
	json_is points/0/answers/seq_token 4096
	json_is points/1/inputs/gpu nothing
	json_is points/1/errors/0/message "there is no GPU 'nothing'"
}

@test "--jsonl: the worst status is the status" {
	ask_with '{"model": "llama2-7b", "gpu": "h100"}
{"model": "llama2-7b", "gpu": "h100", "batch": 10000}' kv --jsonl -
	answered 1
	ask_with '' kv --jsonl -
	answered 0
	[ -z "$out" ]
}

@test "--jsonl: a full disk" {
	needs /dev/full "only Linux has it" test -e /dev/full
	status=0
	echo '{"model": "llama2-7b"}' | "$RIDGE" kv --jsonl - >/dev/full 2>"$tmp/err" || status=$?
	[ "$status" -eq 3 ]
	grep -q "No space left on device" "$tmp/err"
}

@test "--jsonl does not mix with other forms" {
	for other in --md --explain=tp '--sweep seq=1,2' '-o file'; do
		# shellcheck disable=SC2086 # an option and its value
		ask kv --jsonl - $other
		refused
		says "exclude each other"
	done
}

@test "columns of a sweep are named by the option, whatever alias was typed" {
	ask serve llama3.1-70b --gpu h100 --isl 1000 --osl 200 --sweep tensor-parallel-size=4,8 --sweep output-len=100,200 --csv
	answered
	shows "tp,osl,weight_byte,"
}
