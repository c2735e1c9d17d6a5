/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a published row of a training run says, as a question about a step. */
#include "ask/validate/validate.h"

#include "db/db.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { VOLTA = 0, AMPERE = 1 };

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

/* --- precision ------------------------------------------------------------------------------------------- */

static const struct precision {
	const char *text;
	enum dtype dtype;
	bool rowwise;
} precisions[] = {
    {"bf16-mixed", DTYPE_BF16, false},
    {"bf16-pure", DTYPE_BF16, false},
    {"bf16-TE", DTYPE_BF16, false},
    {"bf16", DTYPE_BF16, false},
    {"fp16", DTYPE_FP16, false},
    {"amp-fp16", DTYPE_FP16, false},
    {"bf16-amp", DTYPE_BF16, false},
    {"amp-bf16", DTYPE_BF16, false},
    {"amp_bf16", DTYPE_BF16, false},
    {"amp_fp16", DTYPE_FP16, false},
    {"fp16-amp", DTYPE_FP16, false},
    {"fp16-mixed", DTYPE_FP16, false},
    {"fp8-rowwise", DTYPE_FP8, true},
    {"fp8-row", DTYPE_FP8, true},
    {"fp8-ds", DTYPE_FP8, false},
    {"fp8-mx", DTYPE_MXFP8, false},
    {"fp8-sc", DTYPE_FP8, false},
    {"amp_fp8", DTYPE_FP8, false},
    {"fp8-tensorwise", DTYPE_FP8, false},
    {"fp8-cs", DTYPE_FP8, false},
    {"fp8-TE", DTYPE_FP8, false},
    {"fp8-blockwise", DTYPE_FP8, false},
    {"fp8", DTYPE_FP8, false},
    {"mxfp8", DTYPE_MXFP8, false},
    {"nvfp4", DTYPE_NVFP4, false},
    {"tf32", DTYPE_TF32, false},
    {"fp32", DTYPE_FP32, false},
    {"amp", DTYPE_FP16, false},
};

/* Where nothing is said: before Hopper there was no other type for products of language models than those of 16 bits.
 */
static const char *
usual_precision(int generation, enum dtype *out)
{
	*out = DTYPE_BF16;
	return generation <= AMPERE ? NULL : "precision not given";
}

const char *
train_row_precision(const struct validate_row *row, int generation, enum dtype *out, bool *rowwise)
{
	const char *text = row_text(row, "precision");

	*rowwise = false;
	if (!text)
		return usual_precision(generation, out);
	for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
		if (strcmp(precisions[i].text, text) == 0) {
			*out = precisions[i].dtype;
			*rowwise = precisions[i].rowwise;
			return NULL;
		}
	*out = dtype_find(text);
	return *out == DTYPE_NONE ? "unknown precision" : NULL;
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
	const char *compute = text ? strstr(text, "Compute:") : NULL, *at = text;

	if (!text)
		return NAN;
	if (!compute && (strstr(text, "Storage") || strstr(text, "Management")))
		return NAN; /* lists of networks that were cut short */
	text = compute ? compute : text;
	double bit_per_s = rate_in(text, &at);
	if (!isnan(bit_per_s)) {
		/* `32x100 Gb/s per node` is a sum as well */
		const double n = count_before(text, at);
		if (strstr(text, "per node"))
			return (isnan(n) ? 1 : n) * bit_per_s / 8 / n_node;
		if (strstr(text, "per GPU"))
			return bit_per_s / 8;
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

	train_machine_node(m, n_node);
	const double nic = nic_of(text, n_node >= 1 ? n_node : 8);
	if (nic > 0)
		m->nic_byte_per_s = nic;
	if (has(text, "Omni-Path")) {
		if (!(nic > 0))
			m->nic_byte_per_s = 12.5e9;
		m->nic_frac = 0.55;
		if (m->generation == VOLTA)
			m->pair_byte_per_s = 6.7e9;
	} else if (m->generation == VOLTA && !(nic > 0))
		m->nic_byte_per_s = 6.25e9;
}

/* --- the layout and the batch ---------------------------------------------------------------------------- */

static struct datum
zero_of(const struct validate_row *row)
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
	return datum_absent();
}

static void
map_recompute(const struct validate_row *row, struct train_ask *ask)
{
	const char *text = row_text(row, "recompute");

	ask->recompute_given = text != NULL;
	ask->recompute = RECOMPUTE_NONE;
	if (has(text, "full"))
		ask->recompute = RECOMPUTE_FULL;
	else if (has(text, "selective") && ask->stack->time.selects_operators)
		ask->recompute = RECOMPUTE_OP;
	else if (has(text, "selective")) {
		ask->recompute = RECOMPUTE_MODULES;
		ask->modules = 1U << MODULE_CORE_ATTN | 1U << MODULE_MLA_UP_PROJ;
	}
}

/* Chunks of a stage: printed, in the notes, or one layer each where all that is said is that they interleave. */
static struct datum
map_chunks(const struct validate_row *row, const struct train_ask *ask)
{
	const char *notes = row_text(row, "notes"), *at = notes ? strstr(notes, "VP=") : NULL;
	struct datum vp = number_of(row, "vp");

	if (datum_given(vp))
		return vp;
	const double n = at ? strtod(at + strlen("VP="), NULL) : 0;
	if (n >= 1)
		vp.value = n;
	else if (has(notes, "interleaved PP") && ask->pp.value > 1)
		vp.value = ceil(ask->model->n_layers.value / ask->pp.value);
	return vp;
}

/* Samples of tuning sets are short, and frameworks pack them; MLPerf packs its set to the full length and says so. */
static struct datum
map_packing(const struct validate_row *row, const struct train_ask *ask)
{
	const char *task = row_text(row, "task");
	const bool tunes = ask->adapters || (task && (strcmp(task, "sft") == 0 || strcmp(task, "finetune") == 0));
	struct datum length = datum_absent();

	if (tunes && ask->stack->time.packs && !has(row_text(row, "notes"), "packed to"))
		length.value = 256;
	return length;
}

static bool
overlaps_tensor(const struct validate_row *row)
{
	const char *notes = row_text(row, "notes");

	return has(notes, "async TP") || has(notes, "AsyncTP") || has(notes, "async-TP");
}

/* The stack as the row ran it. */
static const struct stack *
as_run(struct arena *a, const struct validate_row *row, const struct stack *stack)
{
	if (!overlaps_tensor(row) || stack->time.tp_overlap)
		return stack;
	struct stack *copy = ARENA_NEW(a, struct stack);
	*copy = *stack;
	copy->time.tp_overlap = true;
	return copy;
}

/* Whether anything is said of how the GPUs share the work. */
static bool
is_spread(const struct validate_row *row)
{
	static const char *const columns[] = {"tp", "pp", "cp", "dp", "ep", "sharding"};

	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		if (row_text(row, columns[i]))
			return true;
	return row_number(row, "num_gpus") <= 1;
}

const char *
train_row_ask(struct arena *a, const struct validate_row *row, struct train_ask *ask)
{
	const char *sp = row_text(row, "sp"), *task = row_text(row, "task"), *notes = row_text(row, "notes");
	const char *software = row_text(row, "software");

	if (!is_spread(row))
		return "layout not given";
	ask->stack = as_run(a, row, ask->stack);
	ask->n_gpus = number_of(row, "num_gpus");
	ask->dp = datum_absent();
	ask->tp = number_of(row, "tp");
	ask->pp = number_of(row, "pp");
	ask->vp = map_chunks(row, ask);
	ask->cp = number_of(row, "cp");
	ask->ep = number_of(row, "ep");
	ask->etp = datum_absent();
	ask->zero = zero_of(row);
	ask->sp = !sp ? -1 : strcmp(sp, "yes") == 0;
	ask->n_global_sequences = number_of(row, "gbs");
	ask->n_sequences = number_of(row, "mbs");
	ask->seq_length = number_of(row, "seq");
	/* asynchronous tensor parallelism is a pass of the compiler */
	ask->compiled = has(notes, "compile") || has(software, "compile") || overlaps_tensor(row);
	ask->adapters = task && strcmp(task, "lora") == 0;
	ask->packed_length = map_packing(row, ask);
	ask->dispatcher = has(software, "DeepEP") || has(software, "DualPipe") ? DISPATCH_DEDUP : DISPATCH_BY_MODEL;
	ask->n_mtp = datum_absent();
	if (has(notes, "w/o MTP"))
		ask->n_mtp.value = 0;
	map_recompute(row, ask);
	const double accumulation = row_number(row, "grad_accum"), dp = row_number(row, "dp");
	if (!datum_given(ask->n_global_sequences) && accumulation > 0 && dp > 0 && datum_given(ask->n_sequences))
		ask->n_global_sequences.value = accumulation * dp * ask->n_sequences.value;
	if (ask->model->kind == MODEL_ENCODER && ask->stack->time.skips_padding && ask->seq_length.value > 256 &&
	    task && strcmp(task, "pretrain") == 0)
		return "encoder sequences mostly padding, which runs skip";
	return NULL;
}
