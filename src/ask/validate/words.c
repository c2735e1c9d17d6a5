/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The vocabulary of published training runs and memory peaks, one for all columns.  Cells are read from left to right.
 * Each word sets inputs of `ridge train` and `ridge memory`, or facts that decide defaults; an unknown word skips the
 * row and is named as the reason.
 */
#include "ask/validate/validate.h"
#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum topic {
	SHARDING = 1 << 0,
	RECOMPUTE = 1 << 1,
	OFFLOAD = 1 << 2,
	TYPES = 1 << 3, /* of products, of stored and of frozen weights */
	OPTIMIZER = 1 << 4,
	ADAPTER = 1 << 5,
	TARGET = 1 << 6,
	ATTENTION = 1 << 7,
	COMPILE = 1 << 8,
	SEQUENCE = 1 << 9,
	TASK = 1 << 10,
	FITTED = 1 << 11,
	METRIC = 1 << 12,
	SCOPE = 1 << 13,
	SORT = 1 << 14,
	UNITS = 1 << 15,
	SOFTWARE = 1 << 16,
	NOTE = 1 << 17,
};

/*
 * `sets`: PATH=VALUE of an input, .NAME=VALUE of a fact of this column, NAME+=VALUE for one more of a list, several
 * with
 * `;` between; !REASON refuses the row; nothing: the words change no answer.  Words have `|` between them; `#` is a
 * number, and goes into `sets`.  Case, spaces, hyphens and underscores do not matter; the longest word counts.  Of two
 * that set one input the one that stands first here counts.
 */
static const struct entry {
	unsigned topics;
	const char *words, *sets;
} vocabulary[] = {
    {~0U, "not stated|unknown|n/a|default", ""},

    /* who holds which states */
    {SHARDING, "zero2 like (no reshard after fwd)|zero2 like", "layout.zero=2"},
    {SHARDING, "zero#|zero#dp|zero# equivalent|zero stage #", "layout.zero=#"},
    {SHARDING, "shard grad op", "layout.zero=2"},
    {SHARDING, "fsdp|fsdp2|megatron fsdp|hsdp|hybrid shard|full shard", "layout.zero=3"},
    {SHARDING, "distributed optimizer|sharded optimizer", "layout.zero=1"},
    {SHARDING, "ddp|horovod|none|no shard", "layout.zero=0"},
    {SHARDING, "group #", ".group=#"},
    {SHARDING | RECOMPUTE, "sp", "layout.sp=true"},
    {SHARDING, "no overlap", "stack.time.overlaps_tensor=false;stack.time.overlaps_data=false"},
    /* the usual way of those that print it; degrees, which have columns; recommenders */
    {SHARDING,
        "overlap|grad reduce|param gather|tp comm|bf16optimizer|deepspeed|megatron|pytorch|tp|pp|cp|dp|no offload", ""},
    {SHARDING, "hybrid|embeddings model parallel (all2all)|mlp", ""},

    /* recomputation and offload */
    {RECOMPUTE, "full|yes|activation checkpointing|gradient checkpointing", ".policy=full"},
    {RECOMPUTE, "selective", ".policy=selective"},
    {RECOMPUTE, "op|per op", ".policy=op"},
    {RECOMPUTE, "none|no", ".policy=none"},
    {RECOMPUTE, "uniform #", ".policy=uniform-#"},
    {RECOMPUTE, "every #", ".policy=every-#"},
    {RECOMPUTE, "block #", ".policy=block-#"},
    {RECOMPUTE, "offload #", ".policy=offload-#"},
#define MODULE(id, text, title) {RECOMPUTE, text, ".modules+=" text},
    MODULES(MODULE)
#undef MODULE
    /* litgpt's hub: none of its recipes for one GPU recomputes */
    {RECOMPUTE, "see config|fsdp multi gpu default|script default|only", ""},
    {RECOMPUTE, "cpu offload of checkpoints|cpu offload|offload|offloaded|unsloth", "offload+=activations"},
    {OFFLOAD, "act offload|activations", "offload+=activations"},
    {OFFLOAD, "act offload (some layers)|act offload (# layers)", ".some=activations"},
#define OFFLOAD_MODULE(id, text, title) {OFFLOAD, text, "offload+=" text},
    OFFLOAD_MODULES(OFFLOAD_MODULE)
#undef OFFLOAD_MODULE
        {OFFLOAD | OPTIMIZER | SHARDING, "optimizer offload", "offload+=optimizer"},
    {OFFLOAD, "optimizer", "offload+=optimizer"},
    {OFFLOAD, "params|parameters", "offload+=params"},
    {OFFLOAD | SHARDING, "cpu offload", ".states=true"},
    {OPTIMIZER, "cpu offload", "offload+=optimizer"},
    {OFFLOAD, "none|no|no offload", ""},

    /* types: .format of products, .quant of frozen or served weights */
    {TYPES, "nf4 dq", ".quant=nf4-dq"},
    {TYPES, "nf4", ".quant=nf4"},
    {TYPES, "nvfp4", ".format=nvfp4;.quant=nvfp4"},
    {TYPES, "mxfp4", ".format=mxfp4;.quant=mxfp4"},
    {TYPES, "fp8 mx|mxfp8", ".format=mxfp8;.quant=fp8"},
    {TYPES, "fp8 row|fp8 rowwise", ".format=fp8;.quant=fp8;.rowwise=true"},
    {TYPES, "fp8|float8|blockwise", ".format=fp8;.quant=fp8"},
    {TYPES, "int8|w8a8|8 bit", ".quant=int8"},
    {TYPES, "int4|w4a16|awq", ".quant=int4"},
    {TYPES, "gptq", ".quant=int4;.gptq=true"},
    {TYPES, "fp4", ".format=nvfp4;.quant=nf4"}, /* products of Blackwell; bitsandbytes' other 4-bit format */
    {TYPES, "4 bit", ".quant=nf4"},
    {TYPES, "hqq", ".quant=int4"},
    {TYPES, "fp32 params", ".params=fp32"},
    {TYPES, "bf16 true|bf16 compute|16 bit|16 true|16 mixed|bf16", ".format=bf16"},
    {TYPES, "amp|o1|o2|fp16", ".format=fp16"},
    {TYPES, "tf32", ".format=tf32"},
    {TYPES, "fp32|32 true", ".format=fp32"},
    /* which weights, and scales of 8-bit products: one rate for all but those by row */
    {TYPES,
        "fp32 master|fp32 masters|all gather|none|no|base|bnb|linear|mlp|attention|q|v|o|mixed|mixed precision|pure",
        ""},
    {TYPES, "te|cs|ds|sc|current scaling|delayed scaling|tensorwise|per tensor|block|hybrid|dynamic|static", ""},
    {TYPES, "autocast|delayed|current|grads|gradients", ""},

    /* optimizers: LAMB has the moments of Adam; paged ones go to the host when the card is full, and not before */
    {OPTIMIZER, "8 bit|adamw8bit|adam8bit|pagedadamw8bit", "optimizer=adam8bit"},
    {OPTIMIZER, "adamw", "optimizer=adamw"},
    {OPTIMIZER, "adam|fused adam|lamb", "optimizer=adam"},
    {OPTIMIZER, "lion", "optimizer=lion"},
    {OPTIMIZER, "adagrad", "optimizer=adagrad"},
    {OPTIMIZER, "momentum|sgd momentum", "optimizer=momentum"},
    {OPTIMIZER, "sgd", "optimizer=sgd"},
    {OPTIMIZER, "muon|adafactor|galore", "!optimizer not modeled"},
    {OPTIMIZER, "mixed precision", ".mixed=true"},
    {OPTIMIZER, "paged|fused|torch|bnb|hf|apex|not sharded|script default|fp32 states|fp32 master params|fp32 masters",
        ""},
    {NOTE, "bf16 parameters and states", "states=pure"},
    {OPTIMIZER | NOTE, "optimizer in backward|optimizer in bwd|optimizer step into backward",
        "optimizer_in_backward=true"},
    {OPTIMIZER, "in backward", "optimizer_in_backward=true"},

    /* adapters */
    {ADAPTER, "lora|q lora", ".lora=true"},
    {ADAPTER, "emb", ".targets+=embed"},
    {ADAPTER, "adapter", ".learned=prompt"},
    {ADAPTER, "adapter v2", ".learned=prompt,outputs"},
    {ADAPTER, "none|full|full finetune|full fine tuning|full parameter|multinode", ""},
    {TARGET, "all|all linear", ".targets+=all"},
    {TARGET, "attention|attn", ".targets+=q,k,v,o"},
    {TARGET, "mlp", ".targets+=gate,up,down"},
    {TARGET, "qkv|query key value", ".targets+=q,k,v"},
    {TARGET, "q|q proj|query", ".targets+=q"},
    {TARGET, "k|k proj|key", ".targets+=k"},
    {TARGET, "v|v proj|value", ".targets+=v"},
    {TARGET, "o|o proj", ".targets+=o"},
    {TARGET, "gate proj", ".targets+=gate"},
    {TARGET, "up proj", ".targets+=up"},
    {TARGET, "down proj", ".targets+=down"},
    {TARGET, "embed", ".targets+=embed"},

    /* yes and no */
    {ATTENTION, "no|eager|math", ".unfused=true"},
    {ATTENTION, "yes|fa#|flash|flash attention|sdpa|xformers|triton|cudnn|#", ""},
    {COMPILE, "yes|true|torch.compile", "compile=true"},
    {COMPILE, "no|false", ""},
    {SEQUENCE, "yes|true", "layout.sp=true"},
    {SEQUENCE, "no|false", "layout.no_sp=true"},
    {FITTED, "no", ".oom=true"},
    {FITTED, "yes|oom", ""},

    /* what was run and what was read */
    {TASK, "lora|qlora|peft", ".adapters=true;.tunes=true"},
    {TASK, "sft|finetune|fine tuning|full finetune", ".tunes=true"},
    {TASK, "inference|serving", ".infer=true"},
    {TASK, "pretrain|pretraining|continued", ""},
    {SORT, "measured", ""},
    {SORT, "oom", ".bound=above"},
    {SORT, "limit", ".bound=below"},
    {SORT, "estimate|analytic (paper)", "!not a measurement (estimates and arithmetic)"},
    {UNITS, "gb", ".byte=1e9"},
    {UNITS, "gib", ".byte=1073741824"},
    {UNITS, "mib", ".byte=1048576"},
    {UNITS, "mb", ".byte=1e6"},
    {UNITS, "tokens", ".byte=1"},
    {SCOPE, "total", ".total=true"},
    {SCOPE, "(first pipeline stage)|(rank 0)", ".first=true"},
    {SCOPE, "per gpu|over gpus", ""},
    {METRIC,
        "vram|peak vram|gpu ram|nvidia smi|max memory|gpu memory|max gpu ram|memory|memory per gpu|peak|peak "
        "memory|peak gpu memory|max|maximum",
        ""},
    {METRIC, "usage|used|during training|total|max sequence length that fits|max batch size that fits", ""},
    {METRIC, "max over ranks|in training|in profiling|max context length that fits|(prompt + # generated)", ""},
    {METRIC, "reserved|max memory reserved", ".counter=reserved"},
    {METRIC, "allocated|active|max memory allocated", ".counter=allocated"},
    {METRIC, "generating # tokens|while generating # tokens|while generating seq len tokens", ".generating=true"},
    {METRIC, "model weights", ".wants=weights"},
    {METRIC, "activation peak", ".wants=activations"},
    {METRIC, "kv cache memory", ".wants=pool"},
    {METRIC, "kv cache capacity", ".wants=tokens"},
    {METRIC, "total gpu memory seen", "!GPU memory size"},
    {METRIC, "non torch memory", "!memory of other processes"},
    {METRIC, "mean reserved over training", "!mean over a run of varying lengths"},
    {METRIC, "at model init", "!before the first step"},

    /* the rest of what is said, in the software's name or in the notes */
    {SOFTWARE | NOTE, "deepep|hybridep|dualpipe", "dispatcher=dedup"},
    {NOTE, "alltoall dispatcher", "dispatcher=plain"},
    {SOFTWARE | NOTE, "torch.compile|compile", "compile=true"},
    /* asynchronous tensor parallelism is a pass of the compiler */
    {NOTE, "async tp", "stack.time.overlaps_tensor=true;compile=true"},
    {NOTE, "no overlap", "stack.time.overlaps_tensor=false;stack.time.overlaps_data=false"},
    {NOTE, "no flash attention", "attention=unfused"},
    {NOTE, "vp #", ".vp=#"},
    {NOTE, "interleaved pp|interleaved 1f1b", ".interleaved=true"},
    {NOTE, "dense layers #|# dense layers", ".dense=#"},
    {NOTE, "w/o mtp|without mtp|no mtp", ".mtp=0"},
    {NOTE, "cp a2a|a2a cp|ulysses", "cp_comm=a2a"},
    {NOTE, "capacity factor #", "imbalance=#"},
    {NOTE, "recompute rmsnorm", ".modules+=layernorm"},
    {NOTE, "mla up proj", ".modules+=mla_up_proj"},
    {NOTE, "fused cross entropy", ".loss=fused"},
    {NOTE, "compiled loss", ".loss=compiled"},
    {NOTE, "fused linear cross entropy|chunked", ".loss=chunked"},
    {NOTE, "fp8 params|fp8 parameters|fp8 param", "fp8_params=true"},
    {NOTE, "bf16 moments", "moment_dtype=bf16"},
    {NOTE, "packed to #", ".packed=true"},
    {NOTE, "lora r#|lora rank #", ".rank=#"},
    {NOTE, "all layers", ".targets=all"},
    {NOTE, "include periodic eval", ".evaluation=true"},
    {NOTE, "gradient accumulation #", ".steps=#"},
    {NOTE, "local batch #", ".local_batch=#"},
    {NOTE, "ep#", ".ep=#"},
    {NOTE, "max model len #", ".seq=#"},
    {NOTE, "input length #", ".prompt=#"},
    {NOTE, "alpaca", ".alpaca=true"},
    {NOTE, "not an allocator counter|not an allocator measurement", ".paper=true"},
    {NOTE, "not a capacity target", "!negative test (note)"},
    {NOTE, "belongs to the other", ".mixed=true"},
};
enum { N_ENTRIES = sizeof vocabulary / sizeof *vocabulary, MOST_WORDS = 48 };

/* Columns of words, which must all be known, or (`among`) stand among others.  In this order, what the row is about
 * first.  Columns that are not here name things, or say where a figure is from. */
static const struct column {
	const char *name;
	unsigned topics;
	bool among;
	const char *facts; /* where facts go, where not under its own name */
} columns[] = {{"kind", SORT, false, NULL}, {"fits", FITTED, false, NULL}, {"metric", METRIC, false, NULL},
    {"task", TASK, false, NULL}, {"precision", TYPES, false, NULL}, {"quant", TYPES, false, NULL},
    {"weight_dtype", TYPES, false, NULL}, {"sharding", SHARDING, false, NULL}, {"recompute", RECOMPUTE, false, NULL},
    {"offload", OFFLOAD, false, NULL}, {"optimizer", OPTIMIZER, false, NULL}, {"peft", ADAPTER | TYPES, false, NULL},
    {"lora_targets", TARGET, false, NULL}, {"flash_attn", ATTENTION, false, NULL}, {"compile", COMPILE, false, NULL},
    {"sp", SEQUENCE, false, NULL}, {"unit", UNITS, false, NULL}, {"scope", SCOPE, false, NULL},
    {"software", SOFTWARE, true, NULL}, {"framework", SOFTWARE, true, "software"}, {"notes", NOTE, true, NULL},
    {"note", NOTE, true, "notes"}};

/* Columns of numbers, and the inputs that some of them are. */
static const char *const figures[][2] = {{"tp", "layout.tp"}, {"pp", "layout.pp"}, {"cp", "layout.cp"},
    {"ep", "layout.ep"}, {"etp", "layout.etp"}, {"num_gpus", "gpus"}, {"seq", "seq"}, {"seq_len", "seq"},
    {"mbs", "batch"}, {"micro_batch", "batch"}, {"gbs", "global_batch"}, {"lora_rank", "lora_rank"}, {"params_b", NULL},
    {"params_B", NULL}, {"layers", NULL}, {"hidden", NULL}, {"heads", NULL}, {"kv_heads", NULL}, {"ffn", NULL},
    {"vocab", NULL}, {"experts", NULL}, {"topk", NULL}, {"n_gpus", NULL}, {"nodes", NULL}, {"gpus_per_node", NULL},
    {"gpu_mem_gb", NULL}, {"vp", NULL}, {"dp", NULL}, {"grad_accum", NULL}, {"gpu_mem_util", NULL},
    {"tokens_per_s_per_gpu", NULL}, {"samples_per_s", NULL}, {"tflops_per_gpu", NULL}, {"mfu_pct", NULL},
    {"hfu_pct", NULL}, {"step_time_s", NULL}, {"step_time_derived_s", NULL}, {"peak_mem_gb", NULL}, {"value", NULL},
    {"kv_tokens", NULL}};

/* --- facts and inputs ------------------------------------------------------------------------------------ */

static const struct node *
with(struct published *p, const struct node *tree, const char *path, const char *value, bool more)
{
	const struct node *old = more ? tree_at(tree, path) : NULL;

	if (old && old->kind == NODE_SCALAR)
		value = arena_printf(p->arena, "%s,%s", old->text, value);
	return tree_with(p->arena, tree, path, tree_scalar(p->arena, value, (struct source){0}));
}

void
published_set(struct published *p, const char *path, const char *text)
{
	if (text)
		p->inputs = with(p, p->inputs, path, text, false);
}

void
published_number(struct published *p, const char *path, double value)
{
	if (!isnan(value))
		published_set(p, path, arena_printf(p->arena, "%.17g", value));
}

const char *
published_fact(const struct published *p, const char *path)
{
	const struct node *n = tree_at(p->facts, path);

	return n && n->kind == NODE_SCALAR ? n->text : NULL;
}

double
published_figure(const struct published *p, const char *path)
{
	const char *text = published_fact(p, path);

	return text ? strtod(text, NULL) : NAN;
}

const char *
published_input(const struct published *p, const char *path)
{
	const struct node *n = tree_at(p->inputs, path);

	return n && n->kind == NODE_SCALAR ? n->text : NULL;
}

/* What an entry sets; else the reason it refuses the row. */
static const char *
apply(struct published *p, const char *facts, const struct entry *e, double number)
{
	size_t n;
	char **sets = text_split(p->arena, e->sets, ';', &n);

	if (*e->sets == '!')
		return arena_printf(p->arena, "%s", e->sets + 1);
	for (size_t i = 0; i < n && *sets[i]; i++) {
		char *sign = strchr(sets[i], '=');
		const bool more = sign > sets[i] && sign[-1] == '+', fact = *sets[i] == '.';
		const char *value = sign + 1, *at = strchr(value, '#');
		sign[more ? -1 : 0] = '\0';
		if (at)
			value = arena_printf(p->arena, "%.*s%.10g", (int)(at - value), value, number);
		if (fact)
			p->facts = with(p, p->facts, arena_printf(p->arena, "%s%s", facts, sets[i]), value, more);
		else
			p->inputs = with(p, p->inputs, sets[i], value, more);
	}
	return NULL;
}

/* --- cells ----------------------------------------------------------------------------------------------- */

static bool
is_gap(char c)
{
	return c == ' ' || c == '-' || c == '_' || c == '=';
}

/* Characters of the text that are this word, which ends with `|` or the text; 0: it does not begin so. */
static size_t
length_of(const char *text, const char *word, double *number)
{
	const char *at = text;
	char *end;

	for (; *word && *word != '|'; word++) {
		if (is_gap(*word))
			continue;
		while (at > text && is_gap(*at))
			at++;
		if (*word == '#') {
			if (!isdigit((unsigned char)*at))
				return 0;
			*number = strtod(at, &end);
			at = end;
		} else if (tolower((unsigned char)*at++) != *word)
			return 0;
	}
	const bool inside = isalnum((unsigned char)at[-1]) && isalnum((unsigned char)*at);
	return inside ? 0 : (size_t)(at - text);
}

/* The entry with the longest word of these topics that the text begins with, and its length; NULL: none. */
static const struct entry *
entry_at(const char *text, unsigned topics, size_t *length, double *number)
{
	const struct entry *best = NULL;

	*length = 0;
	for (size_t i = 0; i < N_ENTRIES; i++)
		for (const char *w = vocabulary[i].topics & topics ? vocabulary[i].words : NULL; w;) {
			double here = NAN;
			const size_t n = length_of(text, w, &here);
			if (n > *length) {
				best = &vocabulary[i];
				*length = n;
				*number = here;
			}
			w = strchr(w, '|');
			w = w ? w + 1 : NULL;
		}
	return best;
}

static const char *
not_understood(struct published *p, const char *column, const char *word)
{
	size_t n = 0;

	while (isalnum((unsigned char)word[n]) || (word[n] && strchr("-_.", word[n])))
		n++;
	return arena_printf(p->arena, "%s: '%.*s' is not understood", column, (int)(n ? n : 1), word);
}

/* Of all words of a cell the later ones of the vocabulary first, so that the earlier ones hold. */
static const char *
read_words(struct published *p, const struct column *c, const char *text)
{
	struct {
		const struct entry *entry;
		double number;
	} found[MOST_WORDS];
	size_t n = 0, length;

	for (const char *at = text; *at && n < MOST_WORDS; at += length) {
		double number = NAN;
		const struct entry *e = entry_at(at, c->topics, &length, &number);
		if (!e) {
			if (!c->among && (isalnum((unsigned char)*at) || *at == '%'))
				return not_understood(p, c->name, at);
			length = 1;
			while (isalnum((unsigned char)*at) && isalnum((unsigned char)at[length]))
				length++;
			continue;
		}
		size_t k = n++;
		for (; k > 0 && found[k - 1].entry < e; k--)
			found[k] = found[k - 1];
		found[k].entry = e;
		found[k].number = number;
	}
	const char *why = NULL;
	for (size_t i = 0; i < n && !why; i++)
		why = apply(p, c->facts ? c->facts : c->name, found[i].entry, found[i].number);
	return why;
}

/* Inputs are counts. */
static const char *
read_figure(struct published *p, const char *column, const char *path)
{
	const double value = row_number(p->row, column);

	if (!row_text(p->row, column))
		return NULL;
	if (isnan(value) || value < (path ? 1 : 0))
		return arena_printf(p->arena, "%s: '%s' is not such a number", column, row_text(p->row, column));
	if (path)
		published_number(p, path, value);
	return NULL;
}

const char *
published_words(struct published *p)
{
	const char *why = NULL;

	for (size_t i = 0; !why && i < sizeof columns / sizeof *columns; i++)
		if (row_text(p->row, columns[i].name))
			why = read_words(p, &columns[i], row_text(p->row, columns[i].name));
	for (size_t i = 0; !why && i < sizeof figures / sizeof *figures; i++)
		why = read_figure(p, figures[i][0], figures[i][1]);
	return why;
}
