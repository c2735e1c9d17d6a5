/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mixtures of experts, per engine (libraries that engines share: per GPU) and type: routing, permutation and two
 * grouped products, fitted to balanced routing. What skewed routing costs on top depends on how it is skewed, which a
 * measurement's name only hints at: those rows are not fitted, their error with the balanced fit is a regime of the
 * residual.
 *
 * Errors have heavy tails, since engines choose among kernels by the case; the fit is of the median.
 */
#include "search/fit/fit.h"

#include "model/kernel/kernel.h"

#include <math.h>
#include <string.h>

enum { N_PARAMS = 12, ROWS_NEEDED = 60 };
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

/* 16-bit activations with smaller weights run other kernels. */
static bool
is_of(const struct measurement *m, enum dtype t)
{
	return m->dtype == t && (!m->dtype_text || strcmp(m->dtype_text, dtype_name(t)) == 0);
}

static struct table
gather(const struct fit_bench *b, const struct measurement **rows, int n_rows, enum dtype dtype, bool balanced)
{
	struct table t = {.bench = b, .peak_flop_per_s = datum_or(b->gpu->peak_flop_per_s[dtype_peak(dtype)], NAN)};

	if (isnan(t.peak_flop_per_s) && dtype_peak(dtype) == PEAK_BF16)
		t.peak_flop_per_s = b->reference->ref_peak_flop_per_s.value;
	t.units = param_units_of(
	    t.peak_flop_per_s, b->reference->ref_mem_byte_per_s.value, b->reference->ref_clock_hertz.value);
	t.units.by[FORM_MEMORY_RATE] = b->reference->ref_mem_byte_per_s.value;
	t.shape = ARENA_ARRAY(b->arena, struct moe_shape, n_rows + 1);
	t.measured_s = ARENA_ARRAY(b->arena, double, n_rows + 1);
	t.hash = ARENA_ARRAY(b->arena, unsigned, n_rows + 1);
	for (int i = 0; i < n_rows; i++) {
		const struct measurement *m = rows[i];

		if (!is_of(m, dtype) || is_balanced(m) != balanced || (!b->backend && fit_is_engine(m->backend)))
			continue;
		t.shape[t.n] = fit_moe_shape(m);
		t.measured_s[t.n] = m->time_s;
		/* whole models are kept out together: the next one brings its own sizes */
		t.hash[t.n++] = fit_hash((const double[]){m->hidden, m->expert_ffn, m->top_k, m->experts}, 4);
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

/* The balanced fit on rows that are routed otherwise. */
static void
add_skewed(const struct fit_bench *b, const struct table *t, const double *values, struct fitted_class *c)
{
	double *predicted_s = ARENA_ARRAY(b->arena, double, t->n + 1);
	struct fitted_residual *r = &c->residual;

	if (t->n == 0 || r->n_regimes == FITTED_REGIMES_MAX)
		return;
	for (int i = 0; i < t->n; i++)
		predicted_s[i] = predict(t, values, i);
	r->regimes[r->n_regimes].name = "skewed";
	r->regimes[r->n_regimes++].errors = fitted_errors_of(b->arena, t->n, predicted_s, t->measured_s, NULL);
}

static void
fit_type(const struct fit_bench *b, const struct measurement **rows, int n_rows, enum dtype dtype, struct fitted *out)
{
	/* fluid kernels of Hopper and Blackwell; older ones with a floor per step and a large L2 */
	static const double starts[][N_PARAMS] = {
	    {0.9, 0.93, 25e-6, 150, 1.0e-6, 50, 2.5, 0.6, 5, 3, 0.5, 0.7},
	    {0.6, 0.80, 12e-6, 90, 0.5e-6, 600, 3.5, 1.0, 5, 6, 0.9, 0.3},
	    {0.5, 0.90, 30e-6, 60, 0.1e-6, 20, 3.0, 50, 0.6, 3, 0.5, 0.7},
	};
	const struct table t = gather(b, rows, n_rows, dtype, true), skewed = gather(b, rows, n_rows, dtype, false);
	struct fit_problem p = {.n_rows = t.n, .predict = predict, .context = &t, .measured_s = t.measured_s};
	enum quantity units[FIT_PARAMS_MAX];
	double values[N_PARAMS];

	if (t.n < ROWS_NEEDED || isnan(t.peak_flop_per_s))
		return;
	fit_family(&family_moe, &p, units);
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		p.start[i] = starts[i];
	char *residual = arena_printf(b->arena, "moe_%s", dtype_name(dtype));
	for (char *c = residual; *c; c++)
		*c = *c == '-' ? '_' : *c;
	struct fitted_class *c = fitted_add(b, out, arena_printf(b->arena, "moe.%s", dtype_name(dtype)), residual);
	if (!fitted_run(b, &p, units, t.hash, NULL, ROWS_NEEDED, c))
		return;
	for (int i = 0; i < N_PARAMS; i++)
		values[i] = c->params[i].value;
	add_skewed(b, &skewed, values, c);
	fitted_in_rates(c, b->reference->ref_mem_byte_per_s.value);
}

void
fit_moe(const struct fit_bench *b, struct fitted *out)
{
	int n;

	if (!b->gpu)
		return;
	const struct measurement **rows = fit_rows(b, MEASUREMENT_MOE, &n);
	for (int t = 0; t < N_DTYPES; t++)
		fit_type(b, rows, n, (enum dtype)t, out);
}
