/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What calibration files hold beside their families, their shares as absolute rates, and transfers to other GPUs. */
#include "db/parts.h"

#include <math.h>
#include <string.h>

#define NEEDED_OF(type, key_, q, member, low, high, help_)                                                             \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = q, .offset = offsetof(type, member), .min = low,      \
		.max = high, .required = true, .help = help_                                                           \
	}

/* --- residuals: maps with names of the file's own -------------------------------------------------------- */

static const struct field residual_fields[] = {
    FIGURE_OF(struct residual, "n", Q_COUNT, n_points, 1, 1e12, "points"),
    NEEDED_OF(struct residual, "mape", Q_NUMBER, mape_frac, 0, 10, "mean absolute error (fraction)"),
    FIGURE_OF(struct residual, "bias", Q_NUMBER, bias_frac, -10, 10, "mean of (predicted - measured) / measured"),
    FIGURE_OF(struct residual, "q10", Q_NUMBER, q10, -10, 10, "10 % quantile of ln(measured / predicted)"),
    FIGURE_OF(struct residual, "q90", Q_NUMBER, q90, -10, 10, "90 % quantile of ln(measured / predicted)"),
    FIGURE_OF(struct residual, "mean", Q_NUMBER, mean, -10, 10, "mean of ln(measured / predicted)"),
    FIGURE_OF(struct residual, "sd", Q_NUMBER, sd, 0, 10, "standard deviation of the same"),
    {.key = "by", .kind = FIELD_IGNORED, .help = "by regime: mape, or a map {n, mape, bias, q10, q90}"},
};
SCHEMA(residual_schema, "a residual", struct residual, residual_fields);

static const struct field regime_fields[] = {
    FIGURE_OF(struct residual_regime, "n", Q_COUNT, n_points, 1, 1e12, "points"),
    NEEDED_OF(struct residual_regime, "mape", Q_NUMBER, mape_frac, 0, 10, "mean absolute error (fraction)"),
    FIGURE_OF(
        struct residual_regime, "bias", Q_NUMBER, bias_frac, -10, 10, "mean of (predicted - measured) / measured"),
    FIGURE_OF(struct residual_regime, "q10", Q_NUMBER, q10, -10, 10, "10 % quantile of ln(measured / predicted)"),
    FIGURE_OF(struct residual_regime, "q90", Q_NUMBER, q90, -10, 10, "90 % quantile of ln(measured / predicted)"),
};
SCHEMA(regime_schema, "a regime", struct residual_regime, regime_fields);

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
		struct residual_regime *r = &out->regimes[i];
		const struct node *n = by->items[i];

		schema_clear(&regime_schema, r);
		ok = (n->kind == NODE_MAP ? schema_bind(b, &regime_schema, n, r)
		                          : schema_quantity(b, n, Q_FRACTION, 0, 10, &r->mape_frac)) &&
		    ok;
		r->name = by->keys[i]->text;
	}
	return ok;
}

bool
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

/* --- levels of memory ------------------------------------------------------------------------------------ */

static const struct field level_fields[] = {
    FIGURE_OF(struct memory_level, "size", Q_SIZE, size_byte, 1, 1e15, "capacity; ignored for the last level"),
    FIGURE_OF(struct memory_level, "rate", Q_RATE, byte_per_s, 1e6, 1e16, "plateau bandwidth"),
    FIGURE_OF(struct memory_level, "latency", Q_TIME, latency_s, 0, 1, "latency of one dependent load"),
};
SCHEMA(level_schema, "a level of memory", struct memory_level, level_fields);

bool
bind_memory(struct binder *b, const struct node *n, void *out)
{
	struct memory_calibration *m = out;
	enum { ROOM = sizeof m->level / sizeof *m->level };
	bool ok = true;

	if (n->kind != NODE_MAP || n->n > ROOM) {
		diag_error(b->diag, n->at, "'memory' is a map of at most %d levels, the smallest first", (int)ROOM);
		diag_hint(b->diag, "memory: {l2: {size: 50MB, rate: 5TB/s, latency: 150ns}, hbm: {rate: 3TB/s}}");
		return false;
	}
	m->n_levels = (int)n->n;
	for (size_t i = 0; i < n->n; i++) {
		ok = schema_bind(b, &level_schema, n->items[i], &m->level[i]) && ok;
		m->level[i].name = n->keys[i]->text;
	}
	return ok;
}

/* --- shares to rates ------------------------------------------------------------------------------------- */

/* What stands for an absent one keeps the place of what it is a share of. */
static struct datum
otherwise(const struct param_row *row, const struct reference *ref, struct datum absent)
{
	struct datum out = row->form == FORM_OF_MEMORY ? ref->mem_byte_per_s : absent;

	out.value = row->form == FORM_OF_MEMORY ? out.value * row->otherwise : row->otherwise;
	return out;
}

/* The dtype's products run at this peak.  False when a fraction refers to a figure that the file does not give. */
static bool
has_reference(struct binder *b, const struct reference *ref, enum peak peak, struct source at)
{
	if (datum_given(ref->peak_flop_per_s[peak]) && datum_given(ref->mem_byte_per_s) &&
	    datum_given(ref->clock_hertz))
		return true;
	diag_error(b->diag, at, "this fraction refers to a rate missing in 'relative_to'");
	diag_hint(b->diag, "'relative_to' needs peak_%s, hbm and clock", peak_name(peak));
	return false;
}

/* A family's shares become rates where they are, which keep the places of the shares.  False where the file has none;
 * *ok becomes false when they refer to a figure that it does not give. */
static bool
rates(struct binder *b, const struct family *f, const struct reference *ref, enum peak peak, void *family, bool *ok)
{
	struct datum *figures = family; /* no file leaves the first one out */
	const struct param_units units =
	    param_units_of(ref->peak_flop_per_s[peak].value, ref->mem_byte_per_s.value, ref->clock_hertz.value);

	if (!datum_given(figures[0]))
		return false;
	*ok = has_reference(b, ref, peak, figures[0].from) && *ok;
	for (int i = 0; i < f->n; i++) {
		const struct param_row *row = &f->rows[i];

		if (!datum_given(figures[i]) && isfinite(row->otherwise))
			figures[i] = otherwise(row, ref, figures[i]);
		else
			figures[i].value = param_scaled(&units, row->form, figures[i].value);
	}
	return true;
}

bool
convert_kernels(struct binder *b, struct file_figures *f, struct calibration *out)
{
	const struct reference *ref = &f->reference;
	bool ok = true;

	if (rates(b, &family_gemm, ref, PEAK_BF16, &f->gemm, &ok)) {
		out->gemm[DTYPE_BF16] = out->gemm[DTYPE_FP16] = f->gemm;
		out->has_gemm = true;
	}
	for (int t = 0; t < N_DTYPES; t++) {
		const enum peak peak = dtype_peak((enum dtype)t);

		if (rates(b, &family_gemm, ref, peak, &f->by_dtype[t], &ok)) {
			out->gemm[t] = f->by_dtype[t];
			out->has_gemm = true;
		}
		if (rates(b, &family_gemm, ref, PEAK_BF16, &f->weight_only[t], &ok))
			out->weight_only[t] = f->weight_only[t];
		if (rates(b, &family_moe, ref, peak, &f->moe[t], &ok))
			out->moe[t] = f->moe[t];
		if (rates(b, &family_moe, ref, PEAK_BF16, &f->moe_weight_only[t], &ok))
			out->moe_weight_only[t] = f->moe_weight_only[t];
	}
	return ok;
}

bool
convert_attention(struct binder *b, struct file_figures *f, struct calibration *out)
{
	const struct reference *ref = &f->reference;
	bool ok = true;

	out->has_context = rates(b, &family_context, ref, PEAK_BF16, &f->context, &ok);
	out->context = f->context;
	out->has_generation = rates(b, &family_generation, ref, PEAK_BF16, &f->generation, &ok);
	out->generation = f->generation;
	out->has_mla_context = rates(b, &family_context, ref, PEAK_BF16, &f->mla_context, &ok);
	out->mla_context = f->mla_context;
	out->has_mla_generation = rates(b, &family_generation, ref, PEAK_BF16, &f->mla_generation, &ok);
	out->mla_generation = f->mla_generation;
	for (int i = 0; i < N_ATTENTION_FITS; i++) {
		struct attention_calibration *a = &out->attention_by[i];

		a->has_context = rates(b, &family_context, ref, PEAK_BF16, &f->context_by[i], &ok);
		a->context = f->context_by[i];
		a->has_generation = rates(b, &family_generation, ref, PEAK_BF16, &f->generation_by[i], &ok);
		a->generation = f->generation_by[i];
	}
	return ok;
}

void
convert_collectives(const struct file_figures *f, const char *backend, struct calibration *out)
{
	for (int c = 0; c < N_COLLECTIVES; c++) {
		out->has_collective[c] = datum_given(f->collective[c].base_s);
		out->collective[c] = f->collective[c];
		out->network[c] = f->network[c];
		out->has_network[c] = datum_given(f->network[c].hop_s);
	}
	if (!datum_given(f->custom.one_s))
		return;
	out->n_custom = 1;
	out->custom[0].backend = backend;
	memcpy(&out->custom[0], &f->custom, sizeof f->custom);
}

/* --- intervals ------------------------------------------------------------------------------------------- */

/* Figures keep their place in the file, whatever they were multiplied by. */
bool
calibration_interval(const struct calibration *c, struct datum figure, double *low, double *high)
{
	for (int i = 0; i < c->n_ranges; i++) {
		const struct fitted_range *r = &c->ranges[i];

		if (r->at.line != figure.from.line || r->at.column != figure.from.column)
			continue;
		*low = figure.value * r->low;
		*high = figure.value * r->high;
		return true;
	}
	return false;
}

/* --- transfers: rules that replace missing measurements of a GPU ---------------------------------------------- */

#define TRANSFER(member) offsetof(struct transfer, member)
#define WORD(key_, member, required_, help_)                                                                           \
	{                                                                                                              \
		.key = key_, .kind = FIELD_TEXT, .offset = TRANSFER(member), .required = required_, .help = help_      \
	}

static bool
bind_targets(struct binder *b, const struct node *n, void *out)
{
	struct transfer *t = out;

	if (n->kind != NODE_LIST) {
		diag_error(b->diag, n->at, "'to' is a list of GPUs");
		return false;
	}
	t->to = ARENA_ARRAY(b->arena, const char *, n->n + 1);
	for (size_t i = 0; i < n->n; i++) {
		if (n->items[i]->kind != NODE_SCALAR) {
			diag_error(b->diag, n->items[i]->at, "expected the id of a GPU");
			return false;
		}
		t->to[t->n_to++] = n->items[i]->text;
	}
	return true;
}

static const struct field error_fields[] = {
    FIGURE_OF(struct transfer, "gemm", Q_NUMBER, error.gemm, 0, 2, "GEMMs"),
    FIGURE_OF(struct transfer, "context", Q_NUMBER, error.context, 0, 2, "prefill attention"),
    FIGURE_OF(struct transfer, "generation", Q_NUMBER, error.generation, 0, 2, "decode attention"),
    FIGURE_OF(struct transfer, "moe", Q_NUMBER, error.moe, 0, 2, "mixtures of experts"),
    FIGURE_OF(struct transfer, "collective", Q_NUMBER, error.collective, 0, 2, "collectives inside a node"),
};
SCHEMA(error_schema, "'error'", struct transfer, error_fields);

/* Parameters that replace the donor's: all of a family's, none of them needed. */
#define ROW(key, member, form, otherwise, low, high, start, least, most, title)                                        \
	FAMILY_FIELD(OF, key, member, form, false, low, high, title),
#define GEMM ROW
#define OF struct gemm_calibration
static const struct field gemm_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(gemm_schema, "'gemm'", OF, gemm_fields);
#undef OF
#undef GEMM

#define CONTEXT ROW
#define OF struct context_calibration
static const struct field context_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(context_schema, "'context'", OF, context_fields);
#undef OF
#undef CONTEXT

#define GENERATION ROW
#define OF struct generation_calibration
static const struct field generation_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(generation_schema, "'generation'", OF, generation_fields);
#undef OF
#undef GENERATION

static const struct field collective_fields[] = {
    FIGURE_OF(struct transfer, "a0", Q_TIME, collective_base_s, 0, 1, "latency, two ranks"),
    FIGURE_OF(
        struct transfer, "rate", Q_NUMBER, ring_frac, 0.01, 10, "factor on the bandwidth, beyond that of the links"),
};
SCHEMA(collective_schema, "'collective'", struct transfer, collective_fields);

static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    WORD("name", name, true, "display name"),
    WORD("from", from, false, "donor GPU; without it, only the parameters here count"),
    {.key = "to",
        .kind = FIELD_CUSTOM,
        .offset = 0,
        .custom = bind_targets,
        .help = "target GPUs; default: NVIDIA GPUs without another file"},
    WORD("source", source, true, "source of the errors"),
    WORD("expected", expected, true, "GEMM error, as text"),
    {.key = "error", .kind = FIELD_MAP, .sub = &error_schema, .required = true, .help = "mean errors, by kernel"},
    {.key = "gemm",
        .kind = FIELD_MAP,
        .sub = &gemm_schema,
        .offset = TRANSFER(gemm),
        .help = "parameters that replace the donor's"},
    {.key = "context",
        .kind = FIELD_MAP,
        .sub = &context_schema,
        .offset = TRANSFER(context),
        .help = "the same for prefill attention"},
    {.key = "generation",
        .kind = FIELD_MAP,
        .sub = &generation_schema,
        .offset = TRANSFER(generation),
        .help = "the same for decode attention"},
    {.key = "collective", .kind = FIELD_MAP, .sub = &collective_schema, .help = "the same for collectives"},
    WORD("notes", notes, false, "caveats"),
};
SCHEMA(transfer_schema, "a transfer", struct transfer, fields);

bool
transfer_bind(struct binder *b, const struct node *root, const char *id, struct transfer *out)
{
	schema_clear(&transfer_schema, out);
	if (!schema_bind(b, &transfer_schema, root, out))
		return false;
	out->id = id;
	if (out->from || (datum_given(out->gemm.peak_flop_per_s) && datum_given(out->gemm.mem_byte_per_s)))
		return true;
	diag_error(b->diag, root->at, "a transfer needs 'from' or its own 'gemm' parameters");
	return false;
}

static bool
is_for(const struct transfer *t, const struct gpu *gpu)
{
	for (int i = 0; i < t->n_to; i++)
		if (strcmp(t->to[i], gpu->id) == 0)
			return true;
	return t->n_to == 0 && gpu->vendor && strcmp(gpu->vendor, "NVIDIA") == 0;
}

const struct transfer *
database_transfer(struct database *db, struct arena *a, struct diag *d, const struct gpu *gpu)
{
	const struct transfer *last_resort = NULL;
	size_t n;
	const char **ids = database_list(db, ENTRY_TRANSFER, &n);

	for (size_t i = 0; i < n; i++) {
		const char *id;
		const struct node *root = database_try(db, ENTRY_TRANSFER, ids[i], &id);
		struct transfer *t = ARENA_NEW(a, struct transfer);
		struct binder b = {.arena = a, .diag = d, .sources = root ? tree_get(root, "sources") : NULL};

		if (!root || !transfer_bind(&b, root, id, t) || !is_for(t, gpu))
			continue;
		if (t->n_to > 0)
			return t;
		last_resort = t;
	}
	return last_resort;
}
