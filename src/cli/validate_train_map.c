/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a published row of a training run says, as a question about a step. */
#include "cli/validate_train.h"

#include "data/database.h"
#include "data/stack.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool
has(const char *text, const char *piece)
{
	return text && strstr(text, piece);
}

static struct datum
number_of(const struct validate_row *row, const char *column)
{
	return (struct datum){row_number(row, column), {NULL, 0, 0, NULL, false}};
}

/* --- frameworks ------------------------------------------------------------------------------------------ */

/* What the source or the software is called, from which month on (201909; 0: always), and the stack that it is.  The
 * first that fits counts. */
static const struct framework {
	const char *word;
	int from, before; /* 0: no bound */
	const char *stack;
	enum attention_form attention; /* N_ATTENTION_FORMS: the stack's */
} frameworks[] = {
    {"training_results_v3", 0, 0, "mlperf-v3", N_ATTENTION_FORMS},
    {"training_results_v2", 0, 0, "mlperf-v3", N_ATTENTION_FORMS},
    {"training_results_v4", 0, 0, "mlperf-v4", N_ATTENTION_FORMS},
    {"training_results", 0, 0, "mlperf", N_ATTENTION_FORMS},
    {"Megatron-Bridge", 0, 202601, "megatron-bridge-2025", N_ATTENTION_FORMS},
    {"Megatron-Bridge", 202601, 202606, "megatron-bridge-2026.04", N_ATTENTION_FORMS},
    {"Megatron-Bridge", 202606, 0, "megatron-bridge", N_ATTENTION_FORMS},
    {"utomodel", 0, 0, "automodel", N_ATTENTION_FORMS},
    {"AutoModel", 0, 0, "automodel", N_ATTENTION_FORMS},
    {"torchtitan", 0, 0, "torchtitan", N_ATTENTION_FORMS},
    {"llm-foundry", 0, 0, "llm-foundry", N_ATTENTION_FORMS},
    {"Composer", 0, 0, "llm-foundry", N_ATTENTION_FORMS},
    {"JAX", 0, 0, "jax", N_ATTENTION_FORMS},
    {"Paxml", 0, 0, "jax", N_ATTENTION_FORMS},
    {"MaxText", 0, 0, "jax", N_ATTENTION_FORMS},
    {"Megatron-DeepSpeed", 0, 0, "megatron-deepspeed", N_ATTENTION_FORMS},
    {"DeepSpeed", 0, 0, "deepspeed-2021", N_ATTENTION_FORMS},
    {"Megatron-Core", 0, 0, "nemo", N_ATTENTION_FORMS},
    {"NeMo", 0, 202405, "nemo", ATTENTION_FLASH2},
    {"NeMo", 202405, 0, "nemo", N_ATTENTION_FORMS},
    {"Megatron", 202307, 0, "nemo", N_ATTENTION_FORMS},
    {"Megatron", 0, 202307, "megatron-lm", N_ATTENTION_FORMS},
    {"metaseq", 0, 0, "megatron-lm", N_ATTENTION_FORMS},
    {"tf1", 0, 0, "bert-tf1", N_ATTENTION_FORMS},
    {"DeepLearningExamples", 0, 0, "bert-pytorch", N_ATTENTION_FORMS},
};

/* `2024-07`, `24.07b`, `2023`: 202407, 202407, 202300; 0 where there is none. */
static int
month_of(const char *text)
{
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return 0;
	long year = strtol(text, &end, 10);
	if (year < 100)
		year += 2000;
	const long month =
	    (*end == '-' || *end == '.') && isdigit((unsigned char)end[1]) ? strtol(end + 1, NULL, 10) : 0;
	return (int)(100 * year + month);
}

static const struct framework *
framework_of(const struct validate_row *row)
{
	const char *source = row_text(row, "source"), *software = row_text(row, "software");
	const int month = month_of(row_text(row, "date"));

	for (size_t i = 0; i < sizeof frameworks / sizeof *frameworks; i++) {
		const struct framework *f = &frameworks[i];
		if ((has(source, f->word) || has(software, f->word)) && month >= f->from &&
		    (!f->before || month < f->before))
			return f;
	}
	return NULL;
}

const char *
train_row_stack(const struct validate_row *row, enum attention_form *attention)
{
	const struct framework *f = framework_of(row);

	*attention = f ? f->attention : N_ATTENTION_FORMS;
	return f ? f->stack : NULL;
}

/* --- precision ------------------------------------------------------------------------------------------- */

static const struct precision {
	const char *text;
	enum dtype dtype;
	bool rowwise, mixed;
} precisions[] = {
    {"bf16-mixed", DTYPE_BF16, false, true},
    {"bf16-pure", DTYPE_BF16, false, false},
    {"bf16-TE", DTYPE_BF16, false, false},
    {"bf16", DTYPE_BF16, false, false},
    {"fp16", DTYPE_FP16, false, false},
    {"amp-fp16", DTYPE_FP16, false, false},
    {"fp8-rowwise", DTYPE_FP8, true, false},
    {"fp8-tensorwise", DTYPE_FP8, false, false},
    {"fp8-cs", DTYPE_FP8, false, false},
    {"fp8-TE", DTYPE_FP8, false, false},
    {"fp8-blockwise", DTYPE_FP8, false, false},
    {"fp8", DTYPE_FP8, false, false},
    {"mxfp8", DTYPE_MXFP8, false, false},
    {"nvfp4", DTYPE_NVFP4, false, false},
    {"tf32", DTYPE_TF32, false, false},
    {"fp32", DTYPE_FP32, false, false},
    {"amp", DTYPE_FP16, false, false},
};

const char *
train_row_precision(const struct validate_row *row, enum dtype *out, bool *rowwise)
{
	const char *text = row_text(row, "precision");

	if (!text) {
		*out = DTYPE_BF16;
		*rowwise = false;
		return NULL;
	}
	for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
		if (strcmp(precisions[i].text, text) == 0) {
			*out = precisions[i].dtype;
			*rowwise = precisions[i].rowwise;
			return NULL;
		}
	*rowwise = false;
	*out = dtype_find(text);
	return *out == DTYPE_NONE ? "a precision that is not known" : NULL;
}

/* --- the network ----------------------------------------------------------------------------------------- */

/* Line rates of what a fabric is called, bit/s of one port. */
static const struct {
	const char *word;
	double bit_per_s;
} ports[] = {{"XDR", 800e9}, {"NDR", 400e9}, {"HDR", 200e9}, {"EDR", 100e9}, {"Omni-Path", 100e9}};

/* The number before `x` in `8x NDR`, going back from `at`; 1 where there is none. */
static double
count_before(const char *text, const char *at)
{
	for (const char *p = at; p > text; p--)
		if ((*p == 'x' || *p == 'X') && isdigit((unsigned char)p[-1])) {
			const char *q = p;
			while (q > text && isdigit((unsigned char)q[-1]))
				q--;
			return strtod(q, NULL);
		} else if (*p == ',' || *p == '+')
			break;
	return NAN;
}

/* `400 Gb/s`: the last number before the unit. */
static double
rate_in(const char *text, const char **at)
{
	const char *unit = strstr(text, "Gb/s");

	unit = unit ? unit : strstr(text, "Gb/Sec");
	unit = unit ? unit : strstr(text, "Gbps");
	if (!unit)
		return NAN;
	const char *p = unit;
	while (p > text && p[-1] == ' ')
		p--;
	while (p > text && (isdigit((unsigned char)p[-1]) || p[-1] == '.'))
		p--;
	*at = p;
	return strtod(p, NULL) * 1e9;
}

/* Bytes per second of one GPU's share of what connects the nodes; NaN where the row does not tell. */
static double
nic_of(const char *text, double n_node)
{
	const char *compute = text ? strstr(text, "Compute:") : NULL, *at;

	if (!text)
		return NAN;
	text = compute ? compute : text;
	double bit_per_s = rate_in(text, &at);
	if (!isnan(bit_per_s)) {
		if (strstr(text, "per node"))
			return bit_per_s / 8 / n_node;
		if (strstr(text, "per GPU"))
			return bit_per_s / 8;
		const double n = count_before(text, at);
		return isnan(n) ? NAN : n * bit_per_s / 8 / n_node;
	}
	for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
		at = strstr(text, ports[i].word);
		const double n = at ? count_before(text, at) : NAN;
		if (!isnan(n))
			return n * ports[i].bit_per_s / 8 / n_node;
	}
	return NAN;
}

void
train_row_machine(const struct validate_row *row, struct train_machine *m)
{
	const char *text = row_text(row, "interconnect");
	const double n_node = row_number(row, "gpus_per_node");

	if (has(text, "NVL72"))
		m->n_domain = 72;
	else if (n_node >= 1)
		m->n_domain = n_node;
	const double nic = nic_of(text, n_node >= 1 ? n_node : 8);
	if (nic > 0)
		m->nic_byte_per_s = nic;
	if (has(text, "Omni-Path")) {
		if (!(nic > 0))
			m->nic_byte_per_s = 12.5e9;
		m->nic_frac = 0.55;
		if (m->generation == 0)
			m->pair_byte_per_s = 6.7e9;
	} else if (m->generation == 0 && !(nic > 0))
		m->nic_byte_per_s = 6.25e9;
}

/* --- the shape ------------------------------------------------------------------------------------------- */

/* Copies the model with the columns that the row has in place of its own: published runs often have fewer layers. */
const struct workload *
train_row_model(struct arena *a, const struct validate_row *row, const struct workload *w)
{
	const double layers = row_number(row, "layers"), hidden = row_number(row, "hidden");
	const double vocab = row_number(row, "vocab");
	struct workload *copy;

	if ((isnan(layers) || layers == w->n_layers.value) && (isnan(vocab) || vocab == w->vocab.value) &&
	    (isnan(hidden) || hidden == w->hidden.value))
		return w;
	if ((!isnan(hidden) && hidden != w->hidden.value) || w->n_blocks == 0)
		return NULL;
	copy = ARENA_NEW(a, struct workload);
	*copy = *w;
	if (!isnan(vocab))
		copy->vocab.value = vocab;
	if (isnan(layers) || layers == w->n_layers.value)
		return copy;
	copy->blocks = ARENA_ARRAY(a, struct block, (size_t)w->n_blocks);
	memcpy(copy->blocks, w->blocks, (size_t)w->n_blocks * sizeof *w->blocks);
	struct datum *last = &copy->blocks[w->n_blocks - 1].count;
	last->value += layers - w->n_layers.value;
	copy->n_layers.value = layers;
	return last->value >= 1 ? copy : NULL;
}

/* --- the layout and the batch ---------------------------------------------------------------------------- */

static struct datum
zero_of(const struct validate_row *row, const struct stack *stack)
{
	static const struct {
		const char *word;
		double zero;
	} words[] = {{"ZeRO2-like", 1}, {"ZeRO3", 3}, {"ZeRO-3", 3}, {"Megatron-FSDP", 3}, {"FSDP-ZeRO2", 2},
	    {"ZeRO2", 2}, {"ZeRO-2", 2}, {"ZeRO1", 1}, {"ZeRO-1", 1}, {"distributed", 1}, {"FSDP", 3}, {"DDP", 0},
	    {"Horovod", 0}, {"none", 0}};
	const char *text = row_text(row, "sharding");

	for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
		if (strstr(text, words[i].word))
			return (struct datum){words[i].zero, {NULL, 0, 0, NULL, false}};
	(void)stack;
	return datum_absent();
}

static void
map_recompute(const struct validate_row *row, const struct train_ask *shape, struct train_ask *ask)
{
	const char *text = row_text(row, "recompute");

	ask->recompute_given = text != NULL;
	ask->recompute = RECOMPUTE_NONE;
	if (has(text, "full"))
		ask->recompute = RECOMPUTE_FULL;
	else if (has(text, "selective")) {
		const bool op = shape->stack->id && strcmp(shape->stack->id, "torchtitan") == 0;
		ask->recompute = op ? RECOMPUTE_OP : RECOMPUTE_MODULES;
		ask->modules = op ? 0 : 1U << MODULE_CORE_ATTN;
	}
}

const char *
train_row_ask(const struct validate_row *row, struct train_ask *ask)
{
	const char *sp = row_text(row, "sp"), *task = row_text(row, "task"), *notes = row_text(row, "notes");
	const char *software = row_text(row, "software");

	ask->n_gpus = number_of(row, "num_gpus");
	ask->dp = datum_absent();
	ask->tp = number_of(row, "tp");
	ask->pp = number_of(row, "pp");
	ask->vp = number_of(row, "vp");
	ask->cp = number_of(row, "cp");
	ask->ep = number_of(row, "ep");
	ask->etp = datum_absent();
	ask->zero = zero_of(row, ask->stack);
	ask->sp = !sp ? -1 : strcmp(sp, "yes") == 0;
	ask->n_global_sequences = number_of(row, "gbs");
	ask->n_sequences = number_of(row, "mbs");
	ask->seq_length = number_of(row, "seq");
	ask->packed_length = datum_absent();
	ask->compiled = has(notes, "torch.compile") || has(software, "compile");
	ask->adapters = task && strcmp(task, "lora") == 0;
	ask->dispatcher = has(software, "DeepEP") || has(software, "DualPipe") ? DISPATCH_DEDUP : DISPATCH_BY_MODEL;
	ask->n_mtp = has(notes, "w/o MTP") ? (struct datum){0, {NULL, 0, 0, NULL, false}} : datum_absent();
	if (task && (strcmp(task, "sft") == 0 || strcmp(task, "finetune") == 0 || ask->adapters) &&
	    !has(row_text(row, "source"), "training_results") && has(row_text(row, "software"), "NeMo 24"))
		ask->packed_length.value = 256;
	map_recompute(row, ask, ask);
	const double accumulation = row_number(row, "grad_accum"), dp = row_number(row, "dp");
	if (!datum_given(ask->n_global_sequences) && accumulation > 0 && dp > 0 && datum_given(ask->n_sequences))
		ask->n_global_sequences.value = accumulation * dp * ask->n_sequences.value;
	return NULL;
}
