/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What calibration files hold beside their families, and their shares as absolute rates. */
#include "db/calibration.h"

#include "db/db.h"

#include <math.h>
#include <string.h>

/* --- sections with free keys: residuals and memory levels ------------------------------------------------ */

/* --- residuals: maps with names of the file's own -------------------------------------------------------- */

static const struct field residual_fields[] = {
    FIGURE(struct residual, "n", Q_COUNT, n_points, 1, 1e12, "points"),
    NEEDED(struct residual, "mape", Q_NUMBER, mape_frac, 0, 10, "mean absolute error (fraction)"),
    FIGURE(struct residual, "bias", Q_NUMBER, bias_frac, -10, 10, "mean of (predicted - measured) / measured"),
    FIGURE(struct residual, "q10", Q_NUMBER, q10, -10, 10, "10 % quantile of ln(measured / predicted)"),
    FIGURE(struct residual, "q90", Q_NUMBER, q90, -10, 10, "90 % quantile of ln(measured / predicted)"),
    FIGURE(struct residual, "mean", Q_NUMBER, mean, -10, 10, "mean of ln(measured / predicted)"),
    FIGURE(struct residual, "sd", Q_NUMBER, sd, 0, 10, "standard deviation of the same"),
    {.key = "by", .kind = FIELD_IGNORED, .help = "by regime: mape, or a map {n, mape, bias, q10, q90}"},
};
SCHEMA(residual_schema, "a residual", struct residual, residual_fields);

static const struct field regime_fields[] = {
    FIGURE(struct residual_regime, "n", Q_COUNT, n_points, 1, 1e12, "points"),
    NEEDED(struct residual_regime, "mape", Q_NUMBER, mape_frac, 0, 10, "mean absolute error (fraction)"),
    FIGURE(struct residual_regime, "bias", Q_NUMBER, bias_frac, -10, 10, "mean of (predicted - measured) / measured"),
    FIGURE(struct residual_regime, "q10", Q_NUMBER, q10, -10, 10, "10 % quantile of ln(measured / predicted)"),
    FIGURE(struct residual_regime, "q90", Q_NUMBER, q90, -10, 10, "90 % quantile of ln(measured / predicted)"),
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
    FIGURE(struct memory_level, "size", Q_SIZE, size_byte, 1, 1e15, "capacity; ignored for the last level"),
    FIGURE(struct memory_level, "rate", Q_RATE, byte_per_s, 1e6, 1e16, "plateau bandwidth"),
    FIGURE(struct memory_level, "latency", Q_TIME, latency_s, 0, 1, "latency of one dependent load"),
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
