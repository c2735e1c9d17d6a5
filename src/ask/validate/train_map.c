/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert one published training result to a struct train_ask: stack, model, precision, network, layout, batch. */
#include "ask/validate/validate.h"

#include "db/db.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- the stack: its file says what it is called -------------------------------------------------------------- */

/* `2024-07`, `24.07b`, `2023`: 202407, 202407, 202300; 0 where there is none. */
static double
month_of(const char *text)
{
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return 0;
	long year = strtol(text, &end, 10);
	if (year < 100)
		year += 2000;
	const bool more = (*end == '-' || *end == '.') && isdigit((unsigned char)end[1]);
	return (double)(100 * year + (more ? strtol(end + 1, NULL, 10) : 0));
}

static bool
holds(const struct stack_match *m, const struct validate_row *row)
{
	const double month = month_of(row_text(row, "date"));

	return (row_has(row, "source", m->says) || row_has(row, "software", m->says)) &&
	    (!m->software || row_has(row, "software", m->software)) &&
	    (!m->precision || row_is(row, "precision", m->precision)) && month >= datum_or(m->from, 0) &&
	    (!datum_given(m->before) || month < m->before.value);
}

/* The more a match says the better, and where it is the source that says it: software has parts of other makers. */
static double
weight(const struct stack_match *m, const struct validate_row *row)
{
	return 100 * (row_has(row, "source", m->says) + (m->software != NULL) + (m->precision != NULL)) +
	    (double)strlen(m->says);
}

static void
read_stacks(struct train_stacks *all, struct run *r)
{
	const char **ids = database_list(r->database, ENTRY_STACK, &all->n), *said;

	all->stacks = ARENA_ARRAY(r->arena, const struct stack *, all->n + 1);
	for (size_t i = 0; i < all->n; i++)
		all->stacks[i] =
		    database_stack(r->database, r->arena, r->diag, ids[i], NULL, (struct source){0}, &said);
}

const char *
train_row_stack(struct train_stacks *all, struct run *r, const struct validate_row *row, const char **refused)
{
	const char *found = row_has(row, "sharding", "FSDP") ? "unlisted-fsdp" : "unlisted";
	double best = 0;

	*refused = NULL;
	if (!all->stacks)
		read_stacks(all, r);
	for (size_t i = 0; i < all->n; i++) {
		const struct stack *s = all->stacks[i];
		for (int k = 0; s && k < s->n_matches; k++)
			if (holds(&s->matches[k], row) && weight(&s->matches[k], row) > best) {
				best = weight(&s->matches[k], row);
				found = s->id;
				*refused = s->matches[k].refused;
			}
	}
	return found;
}

/* --- the model: with what the row says of its shape, or the shape alone -------------------------------------- */

static struct datum
of(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

static bool
differs(struct datum row, struct datum model)
{
	return datum_given(row) && datum_given(model) && row.value != model.value;
}

/* With fewer or more layers of the last kind: published runs often have fewer. */
static const struct workload *
with_layers(struct arena *a, const struct workload *w, struct datum layers, struct datum vocab)
{
	struct workload *copy = ARENA_NEW(a, struct workload);

	*copy = *w;
	if (datum_given(vocab))
		copy->vocab.value = vocab.value;
	if (!differs(layers, w->n_layers))
		return copy;
	copy->blocks = ARENA_ARRAY(a, struct block, (size_t)w->n_blocks);
	for (int i = 0; i < w->n_blocks; i++)
		copy->blocks[i] = w->blocks[i];
	struct datum *last = &copy->blocks[w->n_blocks - 1].count;
	last->value += layers.value - w->n_layers.value;
	copy->n_layers.value = layers.value;
	return last->value >= 1 ? copy : NULL;
}

/* Four times the hidden size is that of two maps; gated ones are of other widths. */
static bool
is_gated(double width, double hidden)
{
	return width != 4 * hidden;
}

/* A decoder of equal layers, as the columns have it; NULL where they say too little. */
static const struct workload *
of_columns(struct arena *a, const struct validate_row *row)
{
	const struct datum layers = row_datum(row, "layers"), hidden = row_datum(row, "hidden");
	const struct datum heads = row_datum(row, "heads"), absent = datum_absent();
	struct datum width = row_datum(row, "ffn"), kv = row_datum(row, "kv_heads");
	const char *family = row_text(row, "family");

	if (!datum_given(layers) || !datum_given(hidden) || !datum_given(heads) || row_number(row, "experts") > 0 ||
	    (family && strcmp(family, "dense-llm") != 0))
		return NULL;
	if (!datum_given(width))
		width = of(4 * hidden.value);
	if (!datum_given(kv))
		kv = heads;
	struct block *b = ARENA_NEW(a, struct block);
	struct workload *w = ARENA_NEW(a, struct workload);
	*b = (struct block){.count = layers,
	    .mixer = MIXER_ATTENTION,
	    .attention = {.kind = ATTENTION_HEADS,
	        .kind_name = "gqa",
	        .n_heads = heads,
	        .n_kv_heads = kv,
	        .head_dim = of(hidden.value / heads.value),
	        .v_dim = absent,
	        .window = absent,
	        .chunk = absent,
	        .q_lora = absent,
	        .kv_lora = absent,
	        .nope = absent,
	        .rope = absent},
	    .mlp = {.given = true, .gated = is_gated(width.value, hidden.value), .width = width}};
	*w = (struct workload){.id = row_text(row, "model"),
	    .name = row_text(row, "model"),
	    .kind = MODEL_DECODER,
	    .n_layers = layers,
	    .hidden = hidden,
	    .vocab = datum_given(row_datum(row, "vocab")) ? row_datum(row, "vocab") : of(50304),
	    .norms_per_layer = of(2),
	    .final_norm = true,
	    .head = true,
	    .tied_embeddings = !is_gated(width.value, hidden.value),
	    .n_mtp = absent,
	    .context = absent,
	    .stated_params = absent,
	    .n_blocks = 1,
	    .blocks = b};
	struct layer *rows = ARENA_NEW(a, struct layer);
	layer_describe(w, b, rows);
	b->layer = rows;
	return w;
}

/* The same shape but for layers and vocabulary, as far as the row says. */
static bool
is_like(const struct validate_row *row, const struct workload *w)
{
	const struct block *b = workload_attention(w);

	if (differs(row_datum(row, "hidden"), w->hidden))
		return false;
	return !b ||
	    (!differs(row_datum(row, "heads"), b->attention.n_heads) &&
	        (!b->mlp.given || b->moe.given || w->n_blocks > 1 || !differs(row_datum(row, "ffn"), b->mlp.width)));
}

const struct workload *
train_row_model(struct arena *a, const struct validate_row *row, const struct workload *w)
{
	const struct datum layers = row_datum(row, "layers"), vocab = row_datum(row, "vocab");

	if (!w || !is_like(row, w))
		return of_columns(a, row);
	if (!differs(layers, w->n_layers) && !differs(vocab, w->vocab))
		return w;
	return w->n_blocks > 0 ? with_layers(a, w, layers, vocab) : NULL;
}

enum { VOLTA = 0, AMPERE = 1 };

/* --- precision ------------------------------------------------------------------------------------------- */

/* By parts of what sources call it; the first that is found counts. */
static const struct precision {
	const char *word;
	enum dtype dtype;
} precisions[] = {{"fp8-mx", DTYPE_MXFP8}, {"mxfp8", DTYPE_MXFP8}, {"fp8", DTYPE_FP8}, {"nvfp4", DTYPE_NVFP4},
    {"bf16", DTYPE_BF16}, {"fp16", DTYPE_FP16}, {"tf32", DTYPE_TF32}, {"fp32", DTYPE_FP32}, {"amp", DTYPE_FP16}};

/* Where nothing is said: before Hopper language models had no other type for products than those of 16 bits. */
const char *
train_row_precision(const struct validate_row *row, int generation, enum dtype *out, bool *rowwise)
{
	const struct precision *p = ROW_FIND(row, "precision", precisions);

	*out = p ? p->dtype : DTYPE_BF16;
	*rowwise = row_has(row, "precision", "fp8-row");
	if (p)
		return NULL;
	return row_text(row, "precision") ? "unknown precision" : generation <= AMPERE ? NULL : "precision not given";
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
	const double n_node = row_number(row, "gpus_per_node");
	const double nic = nic_of(row_text(row, "interconnect"), n_node >= 1 ? n_node : 8);

	train_machine_node(m, n_node);
	if (nic > 0)
		m->nic_byte_per_s = nic;
	if (row_has(row, "interconnect", "Omni-Path")) {
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
	static const struct sharding {
		const char *word;
		double zero;
	} words[] = {{"ZeRO2-like", 1}, {"ZeRO3", 3}, {"ZeRO-3", 3}, {"Megatron-FSDP", 3}, {"FSDP-ZeRO2", 2},
	    {"ZeRO2", 2}, {"ZeRO-2", 2}, {"ZeRO1", 1}, {"ZeRO-1", 1}, {"distributed", 1}, {"FSDP", 3}, {"DDP", 0},
	    {"Horovod", 0}, {"none", 0}};
	const struct sharding *s = ROW_FIND(row, "sharding", words);

	return s ? (struct datum){s->zero, {NULL, 0, 0, NULL, false}} : datum_absent();
}

static void
map_recompute(const struct validate_row *row, struct train_ask *ask)
{
	ask->recompute_given = row_text(row, "recompute") != NULL;
	ask->recompute = RECOMPUTE_NONE;
	if (row_has(row, "recompute", "full"))
		ask->recompute = RECOMPUTE_FULL;
	else if (row_has(row, "recompute", "selective") && ask->stack->time.selects_operators)
		ask->recompute = RECOMPUTE_OP;
	else if (row_has(row, "recompute", "selective")) {
		ask->recompute = RECOMPUTE_MODULES;
		ask->modules = 1U << MODULE_CORE_ATTN | 1U << MODULE_MLA_UP_PROJ;
	}
}

/* Chunks of a stage: printed, in the notes, or one layer each where all that is said is that they interleave. */
static struct datum
map_chunks(const struct validate_row *row, const struct train_ask *ask)
{
	const char *notes = row_text(row, "notes"), *at = notes ? strstr(notes, "VP=") : NULL;
	struct datum vp = row_datum(row, "vp");

	if (datum_given(vp))
		return vp;
	const double n = at ? strtod(at + strlen("VP="), NULL) : 0;
	if (n >= 1)
		vp.value = n;
	else if (row_has(row, "notes", "interleaved PP") && ask->pp.value > 1)
		vp.value = ceil(ask->model->n_layers.value / ask->pp.value);
	return vp;
}

/* Samples of tuning sets are short, and frameworks pack them; MLPerf packs its set to the full length and says so. */
static struct datum
map_packing(const struct validate_row *row, const struct train_ask *ask)
{
	const bool tunes = ask->adapters || row_is(row, "task", "sft") || row_is(row, "task", "finetune");
	struct datum length = datum_absent();

	if (tunes && ask->stack->time.packs && !row_has(row, "notes", "packed to"))
		length.value = 256;
	return length;
}

static bool
overlaps_tensor(const struct validate_row *row)
{
	return row_has(row, "notes", "async TP") || row_has(row, "notes", "AsyncTP") ||
	    row_has(row, "notes", "async-TP");
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
	if (!is_spread(row))
		return "layout not given";
	ask->stack = as_run(a, row, ask->stack);
	ask->n_gpus = row_datum(row, "num_gpus");
	ask->dp = datum_absent();
	ask->tp = row_datum(row, "tp");
	ask->pp = row_datum(row, "pp");
	ask->vp = map_chunks(row, ask);
	ask->cp = row_datum(row, "cp");
	ask->ep = row_datum(row, "ep");
	ask->etp = datum_absent();
	ask->zero = zero_of(row);
	ask->sp = !row_text(row, "sp") ? -1 : row_is(row, "sp", "yes");
	ask->n_global_sequences = row_datum(row, "gbs");
	ask->n_sequences = row_datum(row, "mbs");
	ask->seq_length = row_datum(row, "seq");
	/* asynchronous tensor parallelism is a pass of the compiler */
	ask->compiled = row_has(row, "notes", "compile") || row_has(row, "software", "compile") || overlaps_tensor(row);
	ask->adapters = row_is(row, "task", "lora");
	ask->packed_length = map_packing(row, ask);
	ask->dispatcher = row_has(row, "software", "DeepEP") || row_has(row, "software", "DualPipe")
	    ? DISPATCH_DEDUP
	    : DISPATCH_BY_MODEL;
	ask->n_mtp = datum_absent();
	if (row_has(row, "notes", "w/o MTP"))
		ask->n_mtp.value = 0;
	map_recompute(row, ask);
	const double accumulation = row_number(row, "grad_accum"), dp = row_number(row, "dp");
	if (!datum_given(ask->n_global_sequences) && accumulation > 0 && dp > 0 && datum_given(ask->n_sequences))
		ask->n_global_sequences.value = accumulation * dp * ask->n_sequences.value;
	if (ask->model->kind == MODEL_ENCODER && ask->stack->time.skips_padding && ask->seq_length.value > 256 &&
	    row_is(row, "task", "pretrain"))
		return "encoder sequences mostly padding, which runs skip";
	return NULL;
}
