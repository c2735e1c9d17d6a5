/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calibration files.  They hold fractions of the reference figures that they were fitted against (`relative_to`); here
 * the two are multiplied, once, so that models see absolute rates and never mix a fitted fraction with another's
 * datasheet.
 */
#include "data/binders.h"

#include <string.h>

/* --- the file as it is written --------------------------------------------------------------------------- */

struct reference {
	struct datum peak_flop_per_s[N_PEAKS];
	struct datum mem_byte_per_s, clock_hertz, l2_byte, n_sms, nic_byte_per_s;
};

struct gemm_file {
	struct datum eta_c, eta_m, base_s, feed, tile_s, k_step, wave, derate, quantise_s, eta_q;
};

struct custom_file {
	struct datum one_s, one_per_rank_s, one_byte_per_s, two_s, two_per_rank_s, two_byte_per_s;
};

struct context_file {
	struct datum eta_a, base_s, block_s, eta_x;
};

struct generation_file {
	struct datum eta_m, base_s, eta_q, split_s, item_s, eta_c;
};

struct moe_file {
	struct datum eta_c, eta_m, base_s, feed, tile_s, k_step, norm, permute_byte_per_s, route_byte_per_s;
};

struct network_file {
	struct datum base_s, ramp_s, nic_frac, n_nodes;
};

struct residuals {
	int n;
	struct residual *list;
};

/* Nothing but datums, so that all of them can be given the file's citation in one pass. */
struct figures {
	struct reference reference;
	struct gemm_file gemm, by_dtype[N_DTYPES], weight_only[N_DTYPES];
	struct collective_calibration collective[N_COLLECTIVES];
	struct custom_file custom;
	struct context_file context, mla_context;
	struct generation_file generation, mla_generation;
	struct moe_file moe[N_DTYPES];
	struct network_file network[N_COLLECTIVES];
};

struct file {
	const char *gpu, *fabric, *backend, *source, *date, *note;
	struct datum n_points;
	struct figures fig;
	struct residuals residuals;
};

#define FIGURE(type, key_, q, member, low, high, help_)                                                                \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = q, .offset = offsetof(type, member), .min = low,      \
		.max = high, .help = help_                                                                             \
	}
#define NEEDED(type, key_, q, member, low, high, help_)                                                                \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = q, .offset = offsetof(type, member), .min = low,      \
		.max = high, .required = true, .help = help_                                                           \
	}
#define SCHEMA(var, name_, type, rows)                                                                                 \
	static const struct schema var = {name_, sizeof(type), rows, sizeof rows / sizeof *rows}

/* Times are at most a second; shares may pass 1 where a fit lets one parameter make up for another. */
#define SECONDS(type, key, member, help) NEEDED(type, key, Q_TIME, member, 0, 1, help)
#define SHARE(type, key, member, help) NEEDED(type, key, Q_NUMBER, member, 0, 100, help)

static const struct field reference_fields[] = {
#define PEAK(id, text, substitute, title)                                                                              \
	FIGURE(struct reference, "peak_" text, Q_PEAK, peak_flop_per_s[PEAK_##id], 1e9, 1e18, title),
#include "ridge/dtype.def"
#undef PEAK
    FIGURE(struct reference, "hbm", Q_RATE, mem_byte_per_s, 1e10, 1e15, "memory bandwidth"),
    FIGURE(struct reference, "clock", Q_CLOCK, clock_hertz, 1e8, 1e10, "SM clock"),
    FIGURE(struct reference, "l2", Q_SIZE, l2_byte, 1e5, 1e10, "second-level cache"),
    FIGURE(struct reference, "sms", Q_COUNT, n_sms, 1, 1e4, "streaming multiprocessors"),
    FIGURE(struct reference, "per_nic", Q_RATE, nic_byte_per_s, 1e6, 1e12, "one NIC, one direction"),
};
SCHEMA(reference_schema, "'relative_to'", struct reference, reference_fields);

static const struct field gemm_fields[] = {
    SHARE(struct gemm_file, "eta_c", eta_c, "share of the peak that a long product reaches"),
    SHARE(struct gemm_file, "eta_m", eta_m, "share of the memory bandwidth"),
    SECONDS(struct gemm_file, "t0", base_s, "before the first tile and after the last"),
    NEEDED(struct gemm_file, "bsm", Q_PER_CLOCK, feed, 0, 1e6, "operands fed to one SM per clock"),
    SECONDS(struct gemm_file, "tpro", tile_s, "start and end of one tile"),
    NEEDED(struct gemm_file, "tk64", Q_CLOCKS, k_step, 0, 1e6, "latency floor of one step of 64 along k"),
    FIGURE(struct gemm_file, "th", Q_NUMBER, wave, 0, 1, "how far waves are whole: 0 fluid, 1 whole"),
    FIGURE(struct gemm_file, "delta", Q_NUMBER, derate, 0, 10, "slowdown per decade of FLOP above 1e12: power"),
    FIGURE(struct gemm_file, "tq0", Q_TIME, quantise_s, 0, 1, "kernels that quantise the activations: fixed part"),
    FIGURE(struct gemm_file, "eta_q", Q_NUMBER, eta_q, 0, 100, "share of the memory bandwidth that they reach"),
};
SCHEMA(gemm_schema, "a GEMM calibration", struct gemm_file, gemm_fields);

static const struct field collective_fields[] = {
    SECONDS(struct collective_calibration, "a0", base_s, "two ranks, no bytes"),
    SECONDS(struct collective_calibration, "an", per_rank_s, "more per rank beyond two"),
    NEEDED(struct collective_calibration, "binf", Q_RATE, bus_byte_per_s, 1e6, 1e14, "bus bandwidth of many ranks"),
    NEEDED(
        struct collective_calibration, "beta", Q_NUMBER, beta, 0, 1.9, "bandwidth at n ranks is binf (1 - beta / n)"),
    SECONDS(struct collective_calibration, "c", ramp_s, "what the protocols cost until they are at full rate"),
    NEEDED(struct collective_calibration, "v0", Q_SIZE, ramp_byte, 1, 1e13, "volume at which they are"),
};
SCHEMA(collective_schema, "a collective's calibration", struct collective_calibration, collective_fields);

static const struct field custom_fields[] = {
    SECONDS(struct custom_file, "a1", one_s, "one-shot: two ranks, no bytes"),
    SECONDS(struct custom_file, "an1", one_per_rank_s, "one-shot: more per rank beyond two"),
    NEEDED(struct custom_file, "b1", Q_RATE, one_byte_per_s, 1e6, 1e14, "one-shot: every rank reads all others"),
    SECONDS(struct custom_file, "a2", two_s, "two-shot: two ranks, no bytes"),
    SECONDS(struct custom_file, "an2", two_per_rank_s, "two-shot: more per rank beyond two"),
    NEEDED(struct custom_file, "b2", Q_RATE, two_byte_per_s, 1e6, 1e14, "two-shot: reduce-scatter, then all-gather"),
};
SCHEMA(custom_schema, "'custom_all_reduce'", struct custom_file, custom_fields);

static const struct field context_fields[] = {
    SHARE(struct context_file, "eta_a", eta_a, "share of the peak inside the tiles"),
    SECONDS(struct context_file, "t0", base_s, "fixed part"),
    SECONDS(struct context_file, "tblk", block_s, "per block of 128 queries"),
    SHARE(struct context_file, "eta_x", eta_x, "share of the memory bandwidth around the kernel"),
};
SCHEMA(context_schema, "'context'", struct context_file, context_fields);

static const struct field generation_fields[] = {
    SHARE(struct generation_file, "eta_m", eta_m, "share of the memory bandwidth while the cache is read"),
    SECONDS(struct generation_file, "t0", base_s, "fixed part"),
    SHARE(struct generation_file, "eta_q", eta_q, "the same for queries and results"),
    SECONDS(struct generation_file, "tsplit", split_s, "combining a split cache"),
    SECONDS(struct generation_file, "tcta", item_s, "per work item of an SM"),
    FIGURE(struct generation_file, "eta_c", Q_NUMBER, eta_c, 0, 100, "latent attention: share of the peak"),
};
SCHEMA(generation_schema, "'generation'", struct generation_file, generation_fields);

static const struct field moe_fields[] = {
    SHARE(struct moe_file, "eta_c", eta_c, "share of the peak"),
    SHARE(struct moe_file, "eta_m", eta_m, "share of the memory bandwidth"),
    SECONDS(struct moe_file, "t0", base_s, "routing, permutation and the last sum: fixed part"),
    NEEDED(struct moe_file, "bsm", Q_PER_CLOCK, feed, 0, 1e7, "operands fed to one SM per clock"),
    SECONDS(struct moe_file, "tpro", tile_s, "start and end of one tile"),
    NEEDED(struct moe_file, "tk64", Q_CLOCKS, k_step, 0, 1e6, "latency floor of one step of 64 along k"),
    NEEDED(struct moe_file, "p", Q_NUMBER, norm, 1, 100, "exponent that joins compute, feed and memory"),
    FIGURE(struct moe_file, "permute", Q_RATE, permute_byte_per_s, 1e9, 1e17, "per local pair of token and expert"),
    FIGURE(struct moe_file, "route", Q_RATE, route_byte_per_s, 1e9, 1e17, "per global pair of token and expert"),
};
SCHEMA(moe_schema, "a mixture's calibration", struct moe_file, moe_fields);

static const struct field network_fields[] = {
    SECONDS(struct network_file, "base", base_s, "no bytes"),
    SECONDS(struct network_file, "ramp", ramp_s, "until the NICs are at full rate: at 1 MiB, growing as the root"),
    NEEDED(struct network_file, "nic", Q_NUMBER, nic_frac, 0.01, 1, "share of the NICs' line rate"),
    NEEDED(struct network_file, "nodes", Q_COUNT, n_nodes, 2, 1e5, "nodes that were measured"),
};
SCHEMA(network_schema, "a network's calibration", struct network_file, network_fields);

/* Maps whose keys are dtypes or collectives. */
#define BY_DTYPE(var, name, schema, type, member)                                                                      \
	static const struct field var##_fields[] = {                                                                   \
	    {.key = "fp16", .kind = FIELD_MAP, .sub = &schema, .offset = offsetof(type, member[DTYPE_FP16])},          \
	    {.key = "bf16", .kind = FIELD_MAP, .sub = &schema, .offset = offsetof(type, member[DTYPE_BF16])},          \
	    {.key = "fp8", .kind = FIELD_MAP, .sub = &schema, .offset = offsetof(type, member[DTYPE_FP8])},            \
	    {.key = "fp8-block",                                                                                       \
	        .kind = FIELD_MAP,                                                                                     \
	        .sub = &schema,                                                                                        \
	        .offset = offsetof(type, member[DTYPE_FP8_BLOCK])},                                                    \
	    {.key = "mxfp8", .kind = FIELD_MAP, .sub = &schema, .offset = offsetof(type, member[DTYPE_MXFP8])},        \
	    {.key = "int8", .kind = FIELD_MAP, .sub = &schema, .offset = offsetof(type, member[DTYPE_INT8])},          \
	    {.key = "mxfp4", .kind = FIELD_MAP, .sub = &schema, .offset = offsetof(type, member[DTYPE_MXFP4])},        \
	    {.key = "nvfp4", .kind = FIELD_MAP, .sub = &schema, .offset = offsetof(type, member[DTYPE_NVFP4])},        \
	    {.key = "int4", .kind = FIELD_MAP, .sub = &schema, .offset = offsetof(type, member[DTYPE_INT4])},          \
	};                                                                                                             \
	SCHEMA(var, name, type, var##_fields)

BY_DTYPE(by_dtype_schema, "'gemm_by_dtype'", gemm_schema, struct file, fig.by_dtype);
BY_DTYPE(weight_only_schema, "'weight_only'", gemm_schema, struct file, fig.weight_only);
BY_DTYPE(moe_by_dtype_schema, "'moe'", moe_schema, struct file, fig.moe);

static const struct field collectives_fields[] = {
#define COLLECTIVE(id, text, key_, title)                                                                              \
	{.key = key_,                                                                                                  \
	    .kind = FIELD_MAP,                                                                                         \
	    .sub = &collective_schema,                                                                                 \
	    .offset = offsetof(struct file, fig.collective[COLLECTIVE_##id]),                                          \
	    .help = title},
#include "ridge/collective.def"
#undef COLLECTIVE
};
SCHEMA(collectives_schema, "'collective'", struct file, collectives_fields);

static const struct field networks_fields[] = {
#define COLLECTIVE(id, text, key_, title)                                                                              \
	{.key = key_,                                                                                                  \
	    .kind = FIELD_MAP,                                                                                         \
	    .sub = &network_schema,                                                                                    \
	    .offset = offsetof(struct file, fig.network[COLLECTIVE_##id]),                                             \
	    .help = title},
#include "ridge/collective.def"
#undef COLLECTIVE
};
SCHEMA(networks_schema, "'network'", struct file, networks_fields);

static const struct field attention_fields[] = {
    {.key = "context", .kind = FIELD_MAP, .sub = &context_schema, .offset = offsetof(struct file, fig.context)},
    {.key = "generation",
        .kind = FIELD_MAP,
        .sub = &generation_schema,
        .offset = offsetof(struct file, fig.generation)},
};
SCHEMA(attention_schema, "'attention'", struct file, attention_fields);

static const struct field mla_fields[] = {
    {.key = "context", .kind = FIELD_MAP, .sub = &context_schema, .offset = offsetof(struct file, fig.mla_context)},
    {.key = "generation",
        .kind = FIELD_MAP,
        .sub = &generation_schema,
        .offset = offsetof(struct file, fig.mla_generation)},
};
SCHEMA(mla_schema, "'mla'", struct file, mla_fields);

static const struct field data_fields[] = {
    {.key = "source",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct file, source),
        .required = true,
        .help = "whose measurements"},
    FIGURE(struct file, "points", Q_COUNT, n_points, 1, 1e12, "how many"),
    {.key = "date", .kind = FIELD_DATE, .offset = offsetof(struct file, date), .help = "when taken"},
    {.key = "note", .kind = FIELD_TEXT, .offset = offsetof(struct file, note), .help = "which of them, and how"},
};
SCHEMA(data_schema, "'data'", struct file, data_fields);

/* --- residuals: maps with names of the file's own -------------------------------------------------------- */

static const struct field residual_fields[] = {
    FIGURE(struct residual, "n", Q_COUNT, n_points, 1, 1e12, "points"),
    NEEDED(struct residual, "mape", Q_NUMBER, mape_frac, 0, 10, "mean absolute error, as a share"),
    FIGURE(struct residual, "bias", Q_NUMBER, bias_frac, -10, 10, "mean of (predicted - measured) / measured"),
    FIGURE(struct residual, "q10", Q_NUMBER, q10, -10, 10, "10 % quantile of ln(measured / predicted)"),
    FIGURE(struct residual, "q90", Q_NUMBER, q90, -10, 10, "90 % quantile of ln(measured / predicted)"),
    {.key = "by", .kind = FIELD_IGNORED, .help = "mape by regime"},
};
SCHEMA(residual_schema, "a residual", struct residual, residual_fields);

static bool
bind_regimes(struct binder *b, const struct node *by, struct residual *out)
{
	enum { ROOM = sizeof out->regimes / sizeof *out->regimes };
	bool ok = true;

	if (!by)
		return true;
	if (by->kind != NODE_MAP || by->n > ROOM) {
		diag_error(b->diag, by->at, "'by' is a map of at most %d regimes to errors", (int)ROOM);
		return false;
	}
	out->n_regimes = (int)by->n;
	for (size_t i = 0; i < by->n; i++) {
		out->regimes[i].name = by->keys[i]->text;
		ok = schema_quantity(b, by->items[i], Q_NUMBER, 0, 10, &out->regimes[i].mape_frac) && ok;
	}
	return ok;
}

static bool
bind_residuals(struct binder *b, const struct node *n, void *out)
{
	struct residuals *r = out;
	bool ok = true;

	if (n->kind != NODE_MAP) {
		diag_error(b->diag, n->at, "expected a map from what was predicted to its errors");
		return false;
	}
	r->n = (int)n->n;
	r->list = ARENA_ARRAY(b->arena, struct residual, n->n + 1);
	for (size_t i = 0; i < n->n; i++) {
		r->list[i].name = n->keys[i]->text;
		ok = schema_bind(b, &residual_schema, n->items[i], &r->list[i]) && ok;
		ok = bind_regimes(b, tree_get(n->items[i], "by"), &r->list[i]) && ok;
	}
	return ok;
}

static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "version of this form: 1"},
    {.key = "gpu", .kind = FIELD_TEXT, .offset = offsetof(struct file, gpu), .help = "an entry of hwdb/gpus"},
    {.key = "fabric",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct file, fabric),
        .help = "an entry of hwdb/links, or `any` for what is transferred to fabrics without measurements"},
    {.key = "backend",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct file, backend),
        .help = "trtllm, vllm, sglang; without it the median of them"},
    {.key = "relative_to",
        .kind = FIELD_MAP,
        .sub = &reference_schema,
        .offset = offsetof(struct file, fig.reference),
        .help = "the figures that the fractions below refer to"},
    {.key = "data", .kind = FIELD_MAP, .sub = &data_schema, .required = true, .help = "what it was fitted on"},
    {.key = "gemm",
        .kind = FIELD_MAP,
        .sub = &gemm_schema,
        .offset = offsetof(struct file, fig.gemm),
        .help = "bf16 products"},
    {.key = "gemm_by_dtype", .kind = FIELD_MAP, .sub = &by_dtype_schema, .help = "products of other types"},
    {.key = "weight_only", .kind = FIELD_MAP, .sub = &weight_only_schema, .help = "16-bit activations, small weights"},
    {.key = "collective", .kind = FIELD_MAP, .sub = &collectives_schema, .help = "NCCL inside one node"},
    {.key = "custom_all_reduce",
        .kind = FIELD_MAP,
        .sub = &custom_schema,
        .offset = offsetof(struct file, fig.custom),
        .help = "the engine's own all-reduce under CUDA graphs, up to 32 MB"},
    {.key = "network", .kind = FIELD_MAP, .sub = &networks_schema, .help = "collectives over several nodes"},
    {.key = "attention", .kind = FIELD_MAP, .sub = &attention_schema, .help = "prefill and decode"},
    {.key = "mla", .kind = FIELD_MAP, .sub = &mla_schema, .help = "multi-head latent attention"},
    {.key = "moe", .kind = FIELD_MAP, .sub = &moe_by_dtype_schema, .help = "mixtures of experts, balanced routing"},
    {.key = "residual",
        .kind = FIELD_CUSTOM,
        .offset = offsetof(struct file, residuals),
        .custom = bind_residuals,
        .help = "errors on points that were not fitted"},
};
static const struct schema file_schema = {"a calibration", sizeof(struct file), fields, sizeof fields / sizeof *fields};

/* --- fractions into rates -------------------------------------------------------------------------------- */

/* A factor of a reference; the result keeps the place of the fraction. */
static struct datum
times(struct datum fraction, struct datum reference)
{
	fraction.value *= reference.value;
	return fraction;
}

static struct datum
over(struct datum fraction, struct datum reference)
{
	fraction.value /= reference.value;
	return fraction;
}

static struct datum
or_zero(struct datum d)
{
	d.value = datum_or(d, 0);
	return d;
}

/* L2 feeds what misses the operands' reuse at four times the memory's rate: a constant of the fits. */
static struct datum
l2_rate(struct datum mem_byte_per_s)
{
	mem_byte_per_s.value *= 4;
	return mem_byte_per_s;
}

static struct gemm_calibration
gemm_rates(const struct gemm_file *g, const struct reference *ref, enum peak peak)
{
	return (struct gemm_calibration){
	    .peak_flop_per_s = times(g->eta_c, ref->peak_flop_per_s[peak]),
	    .mem_byte_per_s = times(g->eta_m, ref->mem_byte_per_s),
	    .l2_byte_per_s = l2_rate(ref->mem_byte_per_s),
	    .base_s = g->base_s,
	    .feed_byte_per_s = times(g->feed, ref->clock_hertz),
	    .tile_s = g->tile_s,
	    .k_step_s = over(g->k_step, ref->clock_hertz),
	    .wave_frac = or_zero(g->wave),
	    .derate = or_zero(g->derate),
	    .quantise_s = g->quantise_s,
	    .quantise_byte_per_s = times(g->eta_q, ref->mem_byte_per_s),
	};
}

static struct context_calibration
context_rates(const struct context_file *c, const struct reference *ref)
{
	return (struct context_calibration){
	    .flop_per_s = times(c->eta_a, ref->peak_flop_per_s[PEAK_BF16]),
	    .base_s = c->base_s,
	    .block_s = c->block_s,
	    .mem_byte_per_s = times(c->eta_x, ref->mem_byte_per_s),
	};
}

static struct generation_calibration
generation_rates(const struct generation_file *g, const struct reference *ref)
{
	return (struct generation_calibration){
	    .mem_byte_per_s = times(g->eta_m, ref->mem_byte_per_s),
	    .base_s = g->base_s,
	    .query_byte_per_s = times(g->eta_q, ref->mem_byte_per_s),
	    .split_s = g->split_s,
	    .item_s = g->item_s,
	    .flop_per_s = times(g->eta_c, ref->peak_flop_per_s[PEAK_BF16]),
	};
}

static struct moe_calibration
moe_rates(const struct moe_file *m, const struct reference *ref, enum peak peak)
{
	return (struct moe_calibration){
	    .peak_flop_per_s = times(m->eta_c, ref->peak_flop_per_s[peak]),
	    .mem_byte_per_s = times(m->eta_m, ref->mem_byte_per_s),
	    .base_s = m->base_s,
	    .feed_byte_per_s = times(m->feed, ref->clock_hertz),
	    .tile_s = m->tile_s,
	    .k_step_s = over(m->k_step, ref->clock_hertz),
	    .norm = m->norm,
	    .permute_byte_per_s = m->permute_byte_per_s,
	    .route_byte_per_s = m->route_byte_per_s,
	};
}

/* The dtype's products run at this peak.  False when a fraction refers to a figure that the file does not give. */
static bool
has_reference(struct binder *b, const struct reference *ref, enum peak peak, struct source at)
{
	if (datum_given(ref->peak_flop_per_s[peak]) && datum_given(ref->mem_byte_per_s) &&
	    datum_given(ref->clock_hertz))
		return true;
	diag_error(b->diag, at, "this fraction refers to a figure that 'relative_to' does not give");
	diag_hint(b->diag, "'relative_to' needs peak_%s, hbm and clock", peak_name(peak));
	return false;
}

static bool
convert_kernels(struct binder *b, const struct figures *f, struct calibration *out)
{
	const struct reference *ref = &f->reference;
	bool ok = true;

	if (datum_given(f->gemm.eta_c)) {
		ok = has_reference(b, ref, PEAK_BF16, f->gemm.eta_c.from);
		out->gemm[DTYPE_BF16] = out->gemm[DTYPE_FP16] = gemm_rates(&f->gemm, ref, PEAK_BF16);
		out->has_gemm = true;
	}
	for (int t = 0; t < N_DTYPES; t++) {
		const enum peak peak = dtype_peak((enum dtype)t);
		if (datum_given(f->by_dtype[t].eta_c)) {
			ok = has_reference(b, ref, peak, f->by_dtype[t].eta_c.from) && ok;
			out->gemm[t] = gemm_rates(&f->by_dtype[t], ref, peak);
			out->has_gemm = true;
		}
		if (datum_given(f->weight_only[t].eta_c)) {
			ok = has_reference(b, ref, PEAK_BF16, f->weight_only[t].eta_c.from) && ok;
			out->weight_only[t] = gemm_rates(&f->weight_only[t], ref, PEAK_BF16);
		}
		if (datum_given(f->moe[t].eta_c)) {
			ok = has_reference(b, ref, peak, f->moe[t].eta_c.from) && ok;
			out->moe[t] = moe_rates(&f->moe[t], ref, peak);
		}
	}
	return ok;
}

static bool
convert_attention(struct binder *b, const struct figures *f, struct calibration *out)
{
	const struct reference *ref = &f->reference;
	const struct datum firsts[] = {
	    f->context.eta_a, f->generation.eta_m, f->mla_context.eta_a, f->mla_generation.eta_m};
	bool ok = true;

	for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
		if (datum_given(firsts[i]))
			ok = has_reference(b, ref, PEAK_BF16, firsts[i].from) && ok;
	out->has_context = datum_given(f->context.eta_a);
	out->context = context_rates(&f->context, ref);
	out->has_generation = datum_given(f->generation.eta_m);
	out->generation = generation_rates(&f->generation, ref);
	out->has_mla_context = datum_given(f->mla_context.eta_a);
	out->mla_context = context_rates(&f->mla_context, ref);
	out->has_mla_generation = datum_given(f->mla_generation.eta_m);
	out->mla_generation = generation_rates(&f->mla_generation, ref);
	return ok;
}

static void
convert_collectives(const struct figures *f, const char *backend, struct calibration *out)
{
	for (int c = 0; c < N_COLLECTIVES; c++) {
		out->has_collective[c] = datum_given(f->collective[c].base_s);
		out->collective[c] = f->collective[c];
		const struct network_file *n = &f->network[c];
		out->has_network[c] = datum_given(n->base_s);
		out->network[c] = (struct network_calibration){
		    n->base_s, n->ramp_s, n->nic_frac, times(n->nic_frac, f->reference.nic_byte_per_s), n->n_nodes};
	}
	if (!datum_given(f->custom.one_s))
		return;
	out->n_custom = 1;
	out->custom[0] = (struct custom_calibration){backend, f->custom.one_s, f->custom.one_per_rank_s,
	    f->custom.one_byte_per_s, f->custom.two_s, f->custom.two_per_rank_s, f->custom.two_byte_per_s};
}

/* Everything a model may ask for is absent until the file gives it. */
static void
clear(struct calibration *out)
{
	memset(out, 0, sizeof *out);
	for (int t = 0; t < N_DTYPES; t++) {
		out->gemm[t].base_s = out->gemm[t].peak_flop_per_s = datum_absent();
		out->weight_only[t].base_s = out->weight_only[t].peak_flop_per_s = datum_absent();
		out->moe[t].base_s = out->moe[t].peak_flop_per_s = datum_absent();
	}
}

enum { N_FIGURES = sizeof(struct figures) / sizeof(struct datum) };

/* Types that no row above reads stay absent. */
static void
forget(struct figures *f)
{
	struct datum *d = (struct datum *)f;

	for (size_t i = 0; i < N_FIGURES; i++)
		d[i] = datum_absent();
}

static void
cite(struct figures *f, const char *source)
{
	struct datum *d = (struct datum *)f;

	for (size_t i = 0; i < N_FIGURES; i++)
		d[i].from.cite = source;
}

bool
calibration_bind(struct binder *b, const struct node *root, const char *id, struct calibration *out)
{
	struct file *f = ARENA_NEW(b->arena, struct file);

	clear(out);
	forget(&f->fig);
	if (!schema_bind(b, &file_schema, root, f))
		return false;
	if (!f->gpu == !f->fabric) {
		diag_error(b->diag, root->at, "a calibration is of a 'gpu' or of a 'fabric'");
		diag_hint(b->diag, "name one of them");
		return false;
	}
	out->id = id;
	out->gpu = f->gpu;
	out->fabric = f->fabric;
	out->backend = f->backend;
	out->source = f->source;
	out->date = f->date;
	out->note = f->note;
	out->n_points = f->n_points;
	out->ref_peak_flop_per_s = f->fig.reference.peak_flop_per_s[PEAK_BF16];
	out->ref_mem_byte_per_s = f->fig.reference.mem_byte_per_s;
	out->ref_clock_hertz = f->fig.reference.clock_hertz;
	out->ref_l2_byte = f->fig.reference.l2_byte;
	out->ref_n_sms = f->fig.reference.n_sms;
	out->n_residuals = f->residuals.n;
	out->residuals = f->residuals.list;
	cite(&f->fig, f->source);
	convert_collectives(&f->fig, f->backend, out);
	const bool kernels = convert_kernels(b, &f->fig, out);
	return convert_attention(b, &f->fig, out) && kernels;
}
