/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mixtures of experts, per engine (libraries that engines share: per GPU) and type: routing, permutation and two
 * grouped products.  Fitted to balanced routing, and to skewed routing too where few rows are balanced.
 *
 * Errors have heavy tails, since engines choose among kernels by the case; the fit is of the median.
 */
#include "search/fit/fit.h"

#include "model/kernel/kernel.h"

#include <math.h>
#include <string.h>

enum { N_PARAMS = 12, ROWS_NEEDED = 60, PACKED_NEEDED = 7, PACKED_FEW = 16 };
/* rows of calibration.def */
enum { ETA_C, ETA_M, BASE, TILE = 4, PERMUTE = 7 };

struct table {
	const struct fit_bench *bench;
	int n;
	struct moe_shape *shape;
	double *measured_s, peak_flop_per_s;
	struct param_units units; /* rates of memory are shares of its own while they are searched */
	unsigned *hash;
};

/* --- rows ------------------------------------------------------------------------------------------------ */

static bool
is_balanced(const struct measurement *m)
{
	return !m->routing || strcmp(m->routing, "balanced") == 0 || fit_is_uniform(m);
}

static bool
is_skewed(const struct measurement *m)
{
	return fit_moe_shape(m).power > 0;
}

/* What a fit is of: weights of a type, with activations of 16 bits or not. */
struct kind {
	enum dtype type;
	bool packed;
};

static bool
is_of(const struct measurement *m, const struct kind *k)
{
	bool packed;

	return fit_moe_type(m, &packed) == k->type && packed == k->packed;
}

static struct table
gather(const struct fit_bench *b, const struct measurement **rows, int n_rows, const struct kind *kind, bool skewed)
{
	const enum peak peak = kind->packed ? PEAK_BF16 : dtype_peak(kind->type);
	struct table t = {.bench = b, .peak_flop_per_s = datum_or(b->gpu->peak_flop_per_s[peak], NAN)};

	if (isnan(t.peak_flop_per_s) && peak == PEAK_BF16)
		t.peak_flop_per_s = b->reference->ref_peak_flop_per_s.value;
	t.units = param_units_of(
	    t.peak_flop_per_s, b->reference->ref_mem_byte_per_s.value, b->reference->ref_clock_hertz.value);
	t.units.by[FORM_MEMORY_RATE] = b->reference->ref_mem_byte_per_s.value;
	t.shape = ARENA_ARRAY(b->arena, struct moe_shape, n_rows + 1);
	t.measured_s = ARENA_ARRAY(b->arena, double, n_rows + 1);
	t.hash = ARENA_ARRAY(b->arena, unsigned, n_rows + 1);
	for (int i = 0; i < n_rows; i++) {
		const struct measurement *m = rows[i];

		if (!is_of(m, kind) || !(is_balanced(m) || (skewed && is_skewed(m))) ||
		    (!b->backend && fit_is_engine(m->backend)))
			continue;
		t.shape[t.n] = fit_moe_shape(m);
		t.measured_s[t.n] = m->time_s;
		/* whole models are kept out together: the next one brings its own sizes; packed ones are too few for
		 * that */
		t.hash[t.n++] = kind->packed
		    ? fit_hash((const double[]){m->tokens, m->experts, m->tp, m->ep}, 4)
		    : fit_hash((const double[]){m->hidden, m->expert_ffn, m->top_k, m->experts}, 4);
	}
	return t;
}

/* --- the fit --------------------------------------------------------------------------------------------- */

static double
predict(const void *context, const double *x, int row)
{
	const struct table *t = context;
	struct moe_calibration p;

	fit_figures(&family_moe, &t->units, x, N_PARAMS, &p);
	return moe_time(NULL, &t->shape[row], &p, t->bench->reference);
}

/* The residual's name: the type of the rows. */
static const char *
residual_of(struct arena *a, const struct kind *k)
{
	const bool fine = k->type == DTYPE_MXFP4;
	char *name = k->packed ? arena_printf(a, "moe_w%da16%s", k->type == DTYPE_INT8 ? 8 : 4, fine ? "_mxfp4" : "")
	                       : arena_printf(a, "moe_%s", dtype_name(k->type));

	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	return name;
}

/* Kernels that unpack have few rows apiece: they start from the 16-bit ones and change their rates and fixed costs. */
static void
start_from(struct fit_problem *p, const double *wide, int n_rows)
{
	for (int i = 0; i < N_PARAMS; i++) {
		const bool rate = i == ETA_C || i == ETA_M || i == BASE, cost = i == TILE || i == PERMUTE;

		p->params[i].start = fmin(p->params[i].high, fmax(p->params[i].low, wide[i]));
		p->params[i].fixed = n_rows < PACKED_FEW ? !rate : n_rows < ROWS_NEEDED ? !rate && !cost : false;
	}
}

/* `values`, where there is a fit, are its parameters; `wide` those of 16-bit experts, or NULL. */
static bool
fit_kind(const struct fit_bench *b, const struct measurement **rows, int n_rows, const struct kind *kind,
    const double *wide, struct fitted *out, double *values)
{
	/* fluid kernels of Hopper and Blackwell; older ones with a floor per step and a large L2 */
	static const double starts[][N_PARAMS] = {
	    {0.9, 0.93, 25e-6, 150, 1.0e-6, 50, 2.5, 0.6, 5, 3, 0.5, 0.7},
	    {0.6, 0.80, 12e-6, 90, 0.5e-6, 600, 3.5, 1.0, 5, 6, 0.9, 0.3},
	    {0.5, 0.90, 30e-6, 60, 0.1e-6, 20, 3.0, 50, 0.6, 3, 0.5, 0.7},
	};
	struct table t = gather(b, rows, n_rows, kind, false);
	const int n_needed = wide ? PACKED_NEEDED : ROWS_NEEDED;
	enum quantity units[FIT_PARAMS_MAX];

	if (t.n < ROWS_NEEDED)
		t = gather(b, rows, n_rows, kind, true);
	if (t.n < n_needed || isnan(t.peak_flop_per_s))
		return false;
	struct fit_problem p = {.n_rows = t.n, .predict = predict, .context = &t, .measured_s = t.measured_s};
	fit_family(&family_moe, &p, units);
	if (wide)
		start_from(&p, wide, t.n);
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		p.start[i] = starts[i];
	struct fitted_class *c = fitted_add(b, out,
	    arena_printf(b->arena, "%s.%s", kind->packed ? "moe_weight_only" : "moe", dtype_name(kind->type)),
	    residual_of(b->arena, kind));
	if (!fitted_run(b, &p, units, t.hash, NULL, n_needed, c))
		return false;
	for (int i = 0; i < N_PARAMS; i++)
		values[i] = c->params[i].value;
	fitted_in_rates(c, b->reference->ref_mem_byte_per_s.value);
	return true;
}

void
fit_moe(const struct fit_bench *b, struct fitted *out)
{
	double wide[N_PARAMS], values[N_PARAMS];
	int n;

	if (!b->gpu)
		return;
	const struct measurement **rows = fit_rows(b, MEASUREMENT_MOE, &n);
	const bool any = fit_kind(b, rows, n, &(struct kind){DTYPE_BF16, false}, NULL, out, wide);
	for (int t = 0; t < N_DTYPES; t++) {
		if (t == DTYPE_BF16)
			continue;
		fit_kind(b, rows, n, &(struct kind){(enum dtype)t, false}, any && t == DTYPE_MXFP4 ? wide : NULL, out,
		    values);
		if (any)
			fit_kind(b, rows, n, &(struct kind){(enum dtype)t, true}, wide, out, values);
	}
}
