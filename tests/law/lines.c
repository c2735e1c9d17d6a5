/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sheets of real command lines. */
#include "law/ask.h"
#include "law/law.h"

#include "base/base.h"
#include "cli/cli.h"
#include "unit/split.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Braces mean one line for each word in them, several braces all combinations.  Each line must be answered, unless it
 * is marked SOME: then some may be refused (a layout that does not divide a model), but not all.  Lines of commands
 * that this program was built without are left out.
 */
enum refusal { ALL, SOME };

static const struct {
	enum refusal refusal;
	const char *line;
} lines[] = {
    /* the cache: shared heads, latents, windows, chunks */
    {ALL, "kv {llama2-7b|llama3-70b|deepseek-v3|gemma2-27b|gpt-oss-120b|llama4-scout|falcon-7b} --seq {1000|200000}"},
    {ALL, "kv {llama2-7b|mixtral-8x7b|gemma3-27b} --kv-dtype {fp8|bf16|nvfp4} --block {1|16} --batch 7"},
    {ALL,
        "kv {llama3-70b|deepseek-v3|qwen3-32b} --gpu {h100|a100|mi300x} --layout tp={1|2|8} --seq 9000 --max-seq "
        "16384"},
    {ALL, "kv --layers 40 --kv-heads 10 --heads 40 --head-dim 96 --gpu v100 --weights 7GB --seq 3001 --batch 5"},
    /* the roof: operators, layers, models, bare numbers */
    {ALL, "roofline gemm --m {1|4096} --n 4096 --k 14336 --gpu {h100|a100,h100} --dtype {bf16|fp32}"},
    {ALL, "roofline gemm --m 8192 --n 8192 --k 8192 --gpu {h100|b200} --dtype fp8"},
    {ALL, "roofline layer --hidden 4096 --heads 32 --batch 4 --gpu a100 --seq {128|2048}"},
    {SOME,
        "roofline {llama3-8b|mixtral-8x7b|deepseek-v3|bert-large|vit-h-14|resnet50} --gpu h100 --phase "
        "{prefill|decode|train}"},
    {ALL, "roofline {llama3-8b|gemma2-9b|llama4-scout} --gpu h200 --unfused --batch 3 --seq 5000"},
    {ALL, "roofline --flops 1.2TFLOP --bytes 3GB --time 5ms --gpu {h100|v100} --dtype fp16"},
    {ALL, "roofline sharing --encoder 5GFLOP --cameras 6 --tasks 4 --head 1GFLOP"},
    /* plans */
    {SOME,
        "plan train {llama3-8b|mixtral-8x7b|deepseek-v3|gpt3-175b} --system {dgx-h100|gb200-nvl72} --gpus {64|256} "
        "--global-batch 512 --seq 4096 --dtype {bf16|fp8} --top 3"},
    {ALL,
        "plan train llama3-8b --gpu h100 --gpus 8 --global-batch 64 --stack {torchtitan|hf-deepspeed|litgpt} --top 4"},
    /* the database */
    {ALL, "hw list {gpus|systems|links}"},
    {ALL, "hw show {h100|v100|mi300x|dgx-h100|nvlink4|a100|gb200|rtx-4090}"},
    {ALL, "hw compare {a100 h100 b200|h100 mi300x}"},
    {ALL, "model list"},
    {ALL,
        "model show {llama3-70b|deepseek-v3|gemma3-27b|bert-large|gpt3-175b|gpt-oss-20b|llama4-maverick} --seq "
        "{512|8192}"},
    {ALL, "model show {vit-h-14|resnet50}"},
    {ALL, "model compare llama3-8b {qwen3-8b|mixtral-8x7b}"},
    {ALL, "check h100-sxm5-80gb"},
    /* memory: training under layouts, recompute policies, states, frameworks; adapters; serving */
    {ALL,
        "memory {llama2-7b|llama3-70b|gpt3-175b} --gpu h100 --layout "
        "{dp=8,zero=3|tp=8,pp=4,dp=2,zero=1|tp=2,cp=2,dp=2,sp|tp=8,pp=8,vp=2,sp} --recompute "
        "{none|full|selective|sqrt|every-2} --seq 4096"},
    {SOME,
        "memory {mixtral-8x7b|deepseek-v3|qwen3-30b-a3b} --gpu h200 --layout {dp=64,ep=8,zero=1|tp=2,pp=4,dp=16,ep=8} "
        "--recompute {none|selective|moe_act,layernorm|moe} --stack {megatron-core|torchtitan} --seq 4096"},
    {SOME,
        "memory {qwen3-30b-a3b|deepseek-v3} --gpu h200 --layout dp=8,tp=2,ep=4,zero=1,sp --stack megatron-core "
        "--recompute "
        "{none|moe_act} --offload {core_attn,attn_proj|expert_fc1|moe_act,qkv_linear,mlp_norm}"},
    {SOME, "memory llama3-8b --gpu {a100|b200} --dtype {bf16|fp8|fp32} --optimizer {adam|adam8bit|lion|sgd} --batch 2"},
    {SOME,
        "memory llama3-8b --gpu {h100|b200} --dtype {bf16|fp8|fp32} --moment-dtype {fp32|bf16|fp16} --stack "
        "megatron-core"},
    {SOME,
        "memory llama3-8b --gpu h100 --stack "
        "{megatron-core|torchtitan|hf-deepspeed|llm-foundry|torchtune|litgpt|hf-peft|megatron-deepspeed} --layout "
        "dp=8,zero={0|1|2|3} --attention {flash|unfused}"},
    {SOME,
        "memory llama3-8b --gpu h100 --stack {torchtitan|torchtune} --compile --recompute {op|full} --offload "
        "{optimizer|activations} --seq 8192"},
    {ALL,
        "memory {llama2-7b|qwen2.5-7b} --gpu rtx-4090 --stack {hf-peft|litgpt|torchtune} --lora-rank 16 --lora-targets "
        "{q,v|q,k,v,o,gate,up,down} --quant {nf4|nf4-dq|int8} --seq 1024"},
    {ALL,
        "memory {llama3-70b|deepseek-v3|gemma2-27b} --gpu h100 --infer --stack {vllm|sglang|tensorrt-llm|hf-generate} "
        "--layout tp=8 --batch 16 --seq 8192"},
    {ALL,
        "memory --params 7e9 --layers 32 --hidden 4096 --seq 2048 {--act-model simple12|--act-model full --heads 32} "
        "--gpu-mem "
        "80GB"},
    {ALL,
        "memory --params 7e9 --gpus 8 --layout dp=8,zero={1|2|3} --gpu-mem 80GB --offload optimizer --activations 4GB"},
    /* collectives: textbook, fitted, measured */
    {ALL,
        "comm {allreduce|allgather|reducescatter|alltoall|broadcast|reduce|sendrecv} --size {4KiB|64MiB|14GB} --ranks "
        "{2|8|64} --system {dgx-h100|dgx-a100|dgx-1v|aws-p5.48xlarge}"},
    {ALL, "comm allreduce --size 1GB --ranks 16 --bandwidth 50GB/s --latency 3us --algo {ring|tree|double-tree|nvls}"},
    {ALL,
        "comm allreduce --size 1GB --ranks 32 --nodes 4 --bandwidth 450GB/s --nic-bandwidth 50GB/s --latency 5us "
        "--algo "
        "{auto|ring|tree|double-tree|nvlstree|collnet|hierarchical|hierarchical-overlap|rails}"},
    {ALL,
        "comm allreduce --size {16KiB|1MiB} --ranks {2|8} --gpu {h100|a100} --algo custom --backend "
        "{trtllm|vllm|sglang}"},
    {ALL,
        "comm allreduce --params 7B --ranks 8 --bandwidth 50GB/s --compute 1s --overlap 0.4 --target-eff 90% --bucket "
        "25MiB --accumulation 4"},
    {ALL, "comm allreduce --params 7B --ranks 8 --bandwidth 50GB/s --compute 1s --compress-rank 4 --matrix 4096x11008"},
    {ALL, "comm links --link nvlink3,nvlink4,pcie5-x16"},
    /* scaling */
    {ALL, "scale --points 1:100,2:190,4:360,8:660,16:1150 --ranks 32,64"},
    {ALL, "scale --times 100s@1,55s@2,31s@4,19s@8 --ranks 16 --price 3usd/h"},
    {ALL, "scale --stages {4|8} --microbatches {8|32} --interleave {1|2} --target-bubble 0.1"},
    {ALL, "scale --serial 0.02 --coherency 0.0001 --ranks 8,64,512"},
    {ALL,
        "scale --compute 1s --gradient 14GB --bandwidth 50GB/s --latency 5us --ranks 2,8,64 --overlap 0.5 --target "
        "0.9"},
    /* how many */
    {ALL,
        "capacity {llama3-70b|deepseek-v3|llama2-7b} --users {100|3000} --tokens 4000 --gpu {h100|a100,h100,b200} "
        "--weights "
        "{replicated|shared}"},
    {ALL, "capacity llama3-70b --rate {5|50} --isl 1000 --osl 300 --gpu h100 --itl 40ms --layout tp=8"},
    {ALL, "capacity llama3-70b --rate 50 --isl 1000 --osl 300 --gpu h100 --throughput 2000 --layout tp=4"},
    {ALL, "capacity --params 7e9 --bits 4 --users 1000 --tokens 1000 --gpu-mem 80GB --kv-rule doc"},
    /* speculation, formats, launches, deadlines, failures, floors */
    {ALL, "spec --accept {0|0.7|1} --draft 3ms --target 30ms {--k 4|--verify 40ms|--overhead 2ms}"},
    {ALL, "spec {--tokens 2.5 --k 4|--accepted 3|--accept 0.6 --k 3}"},
    {ALL,
        "quant {fp32|tf32|fp16|bf16|fp8|e5m2|fp8-block|mxfp8|mxfp6|mxfp4|mxint8|nvfp4|int8|awq|nf4|nf4-dq} --params "
        "7B"},
    {ALL, "quant --bits {2|5|12} --group 64 {--zero-bits 4|--scale-bits 32} --base fp32 --params 7B"},
    {ALL, "quant {fp16|bf16|fp8-e5m2|fp4} --value 0.7 {--update 1e-3|--loss-scale 2}"},
    {ALL, "quant --bits {4|8} --absmax 2.5"},
    {ALL,
        "launch {--kernels 900|--layers 24 --ops 30} --launch 6us {--gpu-time 4ms|--gpu-time 9ms --blocking} --graph "
        "1us --fuse 2:1"},
    {ALL,
        "launch {llama3-8b|mixtral-8x7b} --gpu h100 --phase {decode|prefill} --batch 4 --launch 5us {--graph 2us|--ops "
        "40}"},
    {ALL, "launch vit-h-14 --gpu a100 --phase prefill --batch 8 --launch 5us"},
    {ALL,
        "launch --chain {norm,elementwise|softmax,elementwise:2,elementwise|norm_unfused,elementwise:2|gemm,softmax} "
        "--rows 900 --width 700 {--gpu h100|--launch 4us}"},
    {ALL,
        "latency --stages a=3ms,b=5ms:2ms,c=4ms,d=6ms:1ms,e=2ms {--fps 60|--budget 30ms|--parallel b/c+d --budget "
        "14ms} "
        "{--tails b=7ms,e=3ms|--kmh 120 --tails a=4ms}"},
    {ALL,
        "checkpoint --gpus {64|16384} {--gpu-mtbf 50000h|--mtbf-source llama3-405b} --write 90s --restart 8min "
        "{--stall 4s|--interval 1h|--run 30d}"},
    {ALL,
        "checkpoint {llama3-70b|--params 7e9|--size 3TB} --gpus 512 --mtbf 20h --storage {8xnvme-gen4|3GB/s} --target "
        "2% --repair 36h {--spares 2|--risk 0.1%}"},
    {ALL,
        "serve {llama3-70b|llama2-7b} --gpu h100 --layout tp={1|8} --batch {1|64} --context 3000 --isl 3000 --osl 300 "
        "--ttft 1s --itl 20ms --deadline 9s"},
    {ALL,
        "serve {llama3.1-8b|mixtral-8x7b|gemma2-9b|llama4-scout} --gpu {a100|h100|b200} --layout tp={1|4} --isl 1000 "
        "{--osl 300|--osl 300 --rate 2|--osl 200 --concurrency 8|--osl 100 --batch 4|--batch 2|--osl 200 --requests "
        "900}"},
    {ALL,
        "serve deepseek-v3 --gpu {h200|b200} --layout tp=8,ep={1|8} {--attention-dp|--engine trtllm} --dtype "
        "fp8-block --isl 2000 --osl 200 {--rate 3|--cached 0.5}"},
    {ALL,
        "serve {llama3.1-8b|llama2-7b} --gpu {h100|l40s} --isl 500 --osl 100 --engine "
        "{trtllm-0.17|trtllm-0.20|vllm|vllm-0.6|sglang} {--batch 8|--requests 64}"},
    {ALL,
        "serve {llama3.1-8b|llama2-7b} --gpu {h100|l40s} --isl 500 --osl 100 --batch 8 --engine "
        "{trtllm-static|gpt-fast|llama.cpp|qserve}"},
    {ALL,
        "serve llama3.1-8b --gpu h100 --isl 800 --osl 200 {--rate 5|--batch 4} {--drafts 3 --accepted 1.7|--kv-link "
        "ib-ndr|--weights-dtype int4|--dtype fp8}"},
    {ALL,
        "serve {bert-base|bert-large} --gpu {t4|v100|a100} --dtype fp16 --engine fastertransformer-encoder --batch "
        "{1|8} --isl 128"},
    {ALL,
        "serve llama3-70b --gpu a100 --layout pp=4 --engine llama.cpp --weights-dtype int4 --isl 1000 {--batch 1|--osl "
        "100|--osl 100 --row-split}"},
    {ALL,
        "serve --params 7e9 --bits {4|16} --gpu a100 --isl 512 {--context 900 --layers 32 --kv-heads 8 --head-dim "
        "128|--mfu 0.4}"},
    {ALL, "serve --points small:40,large:90:2s,huge:95:4s {--base-rate 20|--base-p99 1s}"},
    {ALL, "serve --ttft 1s --itl 30ms {--deadline 5s|--osl 90|--deadline 5s --osl 90}"},
    {ALL, "serve {--static --batch 16 --osl 100 --longest 900|--p50 10ms --p99 30ms --tail-limit 2}"},
    /* input, storage, caches; symptoms */
    {ALL,
        "data --sample-time {2ms|420ms} --workers {0|1|16} --batch 256 --step 300ms --target {10|900} --max-idle 10%"},
    {ALL,
        "data --profile 4.2s --calls 10 --workers 8 --batch 54 --step 450ms --storage {nvme-gen4|2xnvme-gen4,1GB/s|s3} "
        "--sample-size {600kB|20MB}"},
    {ALL, "data --storage 4GB/s --sample-size 1MB --throughput {100|9000} --checkpoint 98GB --every {10s|30min}"},
    {ALL, "data --load 75ms {--load-share 25%|--iteration 300ms --load-after 15ms|--load-after 15ms --throughput 120}"},
    {ALL, "data --load 75ms --batch 64 --serial --step {10ms|1s}"},
    {ALL, "data --idle 0.3 {--idle-after 0.1|--max-idle 0.5}"},
    {ALL, "data --rule {gpus|gpus-cores} --gpus 8 --cores 128"},
    {ALL, "data --cameras 6 --pixels 2M --fps 30 --length 1h --storage {1GB/s|nvme-gen4,500MB/s}"},
    {ALL,
        "data --items {1000|4e9} --fraction 10% {--zipf 0|--zipf 0.9|--zipf 1|--zipf 1.7|--uniform|--hit 0.5} --table "
        "1TB"},
    {ALL, "data --items 40M --zipf 1.1 --hit 0.9 --lookup 180ms --hit-time 10ms {--rest 120ms|--table 120GB}"},
    {ALL, "data --histogram 1%:40%,15%:85% --fraction {0.5%|8%|90%} --lookup 10ms"},
    {ALL,
        "diagnose --gpu-util {15%|70%|95%} --cpu-util 100% --gaps {large|small} --kernel-time {4us|90us} --use "
        "{train|serve}"},
    {ALL,
        "diagnose --step 1s --parts {load=450ms,compute=500ms|comm=45%,sync=5%,bubble=12%,checkpoint=3%|forward=300ms,"
        "backward=500ms,optimizer=120ms,launch=80ms} --slow --mfu 20%"},
    {ALL,
        "diagnose --step 1s --parts comm=450ms,compute=500ms --predicted "
        "{comm=180ms|compute=300ms,comm=500ms|step=0.6s} "
        "--gpus 8 --speedup 4"},
    {ALL, "diagnose --oom --peak 70GB --memory 80GB --growth {0B|1MB} --nan --loss-spikes --accuracy-drop 8%"},
    {ALL,
        "diagnose --gpu h100 --clock 1.2GHz --peak 70GB --slowest-rank 1.3 --occupancy 20% --mem-bandwidth {20%|90%} "
        "--sm-active 50% --tensor-active 10%"},
    {ALL,
        "diagnose --use serve --p50 10ms --p99 50ms --cache-used 95% --waiting 10 --preempted {0|3} --baseline 9 "
        "--current 8"},
    {ALL, "diagnose --parts forward=450ms,backward=580ms,comm=140ms --gpu-util 42%"},
    {ALL, "diagnose {--list|--figures}"},
    {ALL, "hw compare doc-h100 doc-h200"},
    /* optimisations, money, trends, regressions */
    {ALL,
        "stack {--base 36d|--base 1h --cost 900usd|--base 1h --price 2usd/h --gpus 8} "
        "--steps "
        "{data=1.15,flash=1.63@0.2|idle:15%->2%,bubble:0.35->0.12|ddp:45ms->39ms/119ms,optimizer:8%->2%/1,apt=rate:12->"
        "18,tokens:256->150}"},
    {ALL,
        "stack --base 10h --steps a=1.1..1.3,b=1.2..2@0.1..0.3,c=0.7..0.9,d=2 {--cost 90usd|--target 3|--deadline 4h|"
        "--effort a=1d,b=2h,c=3d,d=9d}"},
    {ALL, "stack --base 18h --iteration 450ms --steps compile=1.8,flash:120ms->85ms/now,ddp:45ms->39ms/now --after 5h"},
    {ALL,
        "stack {--params 175B|--model llama3-70b} --tokens 300B --gpus 1024 --gpu {doc-a100|h100} --base {36d|8d} "
        "{--after 5d|--steps a=2,b=1.5|--steps a=1.5..2,b=1.2..1.4}"},
    {ALL, "stack {--base 72h --after 22h --cost 47000usd|--after 19min --steps a=1.45|--target 5 --have 3.9}"},
    {ALL,
        "stack {--fraction 0.4 --total 1.3|--fraction 0.4 --total 1.7|--fraction 0.1 --local 3|--local 1.2 --total "
        "1.1}"},
    {ALL,
        "stack --breakdown {forward=450ms,layer=4ms*32,120ms|a=3h->2h,b=1h,c=2h->0s} {--deadline 2h|--base 9h|--base "
        "1s}"},
    {ALL, "stack --base 8h --breakdown a=35%,b=45%->10%,c=20%"},
    {ALL,
        "stack --check "
        "tests/fixtures/stack/{50k.csv|175b.csv|175b-text.csv|vit.csv|vit-scoped.csv|dlrm.csv|arr-coc.csv|"
        "arr-coc-text.csv|arr-coc-scoped.yaml}"},
    {ALL,
        "cost {--gpus 8 --price 2usd/h|--gpu h100 --gpus 4 --provider lambda|--system aws-p5.48xlarge --nodes 3|"
        "--node-price 40usd/h --node-gpus 8 --gpus 16} {--time 48h --budget 900usd|--load 50|--load 50 --isl 900 --osl "
        "200 --output-weight 4}"},
    {ALL,
        "cost --load 50 --capacity 350@8 {--gpus 8|--price 2usd/h|--price 2usd/h --isl 1000 --osl 100|--bill "
        "900usd}"},
    {ALL, "cost --gpus 8 --bill 50000usd {--price 3.5usd/h|--time 72h --load 5|--load 5 --isl 100 --osl 10}"},
    {ALL, "cost --gpus 8 --price 3usd/h --input-rate 60000 {--utilisation 1|--output-rate 9000 --isl 1000 --osl 200}"},
    {ALL,
        "cost --own {--system dgx-h100 --nodes 4|--gpus 8 --capital 200000usd --power 8kW} --electricity 0.1usd/kWh "
        "{--price 0.1usd/h|--price 3usd/h --duty 40%|--hosting 900usd --residual 20%}"},
    {ALL, "cost --before 1920usd --after 488usd"},
    {ALL,
        "trend --points {0:8.5GB,100:8.6GB,500:8.8GB|0:1,1:2|0:9,1:8,2:7.1,3:6|0:4,1:7,2:9,3:4,4:7,5:9,6:4,7:7,8:9,9:"
        "4|0:1ms,1:1ms,2:1ms|0:1GB/s,9:2GB/s,12:3GB/s}"},
    {ALL, "trend --points 0:4,1:7,2:9,3:5,4:8,5:10,6:6,7:9,8:11,9:7 --capacity {8|20} --steps {10|90} --per epoch"},
    {ALL, "trend --points tests/fixtures/trend/leak.csv --y {allocated|reserved} --capacity 16GB --steps 50000"},
    {ALL, "compare --baseline {5,6,7,8|5} --current {4,4,5,6|3} --threshold {0|20%} {--better lower|--seed 7}"},
    {ALL, "compare --baseline {5ms,6ms,7ms|5ms} --current {4ms,4ms,5ms|9ms}"},
    {ALL, "compare --baseline 3GB/s --current 2GB/s"},
    {ALL, "compare --current {2h|1h,2h,3h} {--max|--min} 1h"},
    /* sweeps, solving and --set go through other code than plain lines */
    {ALL, "kv llama3-8b --sweep seq=1024..65536*4 --sweep batch=1,8"},
    {ALL, "memory llama3-8b --gpu h100 --sweep batch=1..8*2 --set gpu.memory.bandwidth=3TB/s"},
    {ALL, "kv llama2-7b --gpu a100 --batch 64 --solve seq --until 'batch_byte <= space_byte'"},
};

static struct faults *faults; /* of the line that is being asked: the inspector has no other way to know */

static void
inspect(const struct sheet *sh, const char *command)
{
	(void)command;
	law_check(sh, faults);
}

/* Run one line with its answer thrown away; what it complained about comes back in `said`. */
static int
ask(const char *line, char *said, size_t size)
{
	struct arena *a = arena_new();
	char *words[128];
	const int n = split_line(a, line, words, 128);
	take_shorter(a, words, n);
	FILE *errors = tmpfile();

	if (!errors)
		abort();
	fflush(stdout);
	fflush(stderr);
	const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	if (out < 0 || err < 0 || !freopen("/dev/null", "w", stdout) || dup2(fileno(errors), STDERR_FILENO) < 0)
		abort();
	const int status = ridge_main(n, words, inspect);
	fflush(stdout);
	fflush(stderr);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	rewind(errors);
	said[fread(said, 1, size - 1, errors)] = '\0';
	fclose(errors);
	arena_free(a);
	return status;
}

/* True when the line was answered. */
static bool
check_line(struct faults *f, const char *line, bool must)
{
	char said[600];
	const int before = f->n_rows;

	faults = f;
	f->where = arena_printf(f->arena, "ridge %s", line);
	const int status = ask(line, said, sizeof said);
	if (status > 1 && must)
		fault_report(f, f->where, "is refused (status %d): %s", status, said);
	else if (status <= 1 && f->n_rows == before && !strstr(line, "--help") && !text_begins(line, "check"))
		fault_report(f, f->where, "has no rows");
	return status <= 1;
}

/* Every combination of the words in braces; `answered` counts. */
static void
each_line(struct faults *f, const char *line, bool must, int *answered)
{
	const char *open = strchr(line, '{'), *close = open ? strchr(open, '}') : NULL;

	if (!close) {
		*answered += check_line(f, line, must);
		return;
	}
	for (const char *word = open + 1; word <= close;) {
		const size_t n = strcspn(word, "|}");
		each_line(f, arena_printf(f->arena, "%.*s%.*s%s", (int)(open - line), line, (int)n, word, close + 1),
		    must, answered);
		word += n + 1;
	}
}

/* Whether this program has the command that the line asks. */
static bool
has_command(struct arena *a, const char *line)
{
	return command_find(arena_copy(a, line, strcspn(line, " "))) != NULL;
}

static void
check_examples(struct faults *f)
{
	for (size_t i = 0; i < n_commands; i++)
		for (size_t k = 0; k < commands[i]->n_examples; k++) {
			const struct example *e = &commands[i]->examples[k];
			f->where = "the examples";
			if (strncmp(e->line, commands[i]->name, strlen(commands[i]->name)) != 0)
				fault_report(
				    f, e->line, "an example begins with the command's name, %s", commands[i]->name);
			else if (!strpbrk(e->line, "|<>") && e->status < 2)
				check_line(f, e->line, true);
		}
}

void
command_sheets(struct faults *f)
{
	check_examples(f);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		int answered = 0;
		if (!has_command(f->arena, lines[i].line))
			continue;
		each_line(f, lines[i].line, lines[i].refusal == ALL, &answered);
		if (!answered && lines[i].refusal == SOME)
			fault_report(f, lines[i].line, "all of these are refused");
	}
}
