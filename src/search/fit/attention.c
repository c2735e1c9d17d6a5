/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attention over a prompt and of one new token, per engine: kernels differ more between engines than between GPUs, so
 * no median is taken.  Head widths and dtypes are separate classes (attention.def); windows are not:
 * they only remove tiles and cached tokens.  Rows with one are fitted where there are too few without.
 *
 * Decoding with more than 16 query heads per key head leaves the kernels that the model describes; those rows are not
 * fitted.
 */
#include "search/fit/fit.h"

#include "model/kernel/kernel.h"

#include <math.h>
#include <string.h>

enum {
	CONTEXT_PARAMS = 11,
	FEW_PARAMS = 10,
	OWN_PARAMS = 13,
	MANY_PARAMS = 15,
	CONTEXT_NEEDED = 40,
	GENERATION_NEEDED = 30
};
enum { GROUP_MAX = 16, CELLS = 8, CELL_NEEDED = 5 };
/* of the generation's: tmha */
enum { OWN_ITEM = FEW_PARAMS - 1 };

/* --- rows ------------------------------------------------------------------------------------------------ */

struct table {
	const struct fit_bench *bench;
	int n;
	struct attention_shape *shape;
	double *measured_s;
	unsigned *hash;
	const char **regime;
	double *weight; /* NULL: all alike */
	double tile;    /* of the trial */
	int n_params;   /* of generation */
	struct param_units units;
};

static bool
is_prefill(const struct measurement *m)
{
	return m->operation && strcmp(m->operation, "prefill") == 0;
}

static double
bytes_of(enum dtype t, enum dtype otherwise)
{
	return t != DTYPE_NONE ? dtype_byte(t) : otherwise != DTYPE_NONE ? dtype_byte(otherwise) : 2;
}

static struct attention_shape
shape_of(const struct measurement *m)
{
	return (struct attention_shape){
	    .batch = m->batch,
	    .n_heads = m->heads,
	    .n_kv_heads = m->kv_heads,
	    .head_dim = m->head_dim,
	    .query_token = isnan(m->query_len) ? 1 : m->query_len,
	    .context_token = isnan(m->context_len) ? 0 : m->context_len,
	    .elem_byte = bytes_of(m->dtype, DTYPE_NONE),
	    .kv_elem_byte = bytes_of(m->kv_dtype, m->dtype),
	    .window_token = isnan(m->window) ? 0 : m->window,
	};
}

static bool
is_plain(const struct attention_shape *s)
{
	return s->head_dim == 128 && s->elem_byte == 2 && s->kv_elem_byte == 2;
}

/* The rows of one class: attention.def's, or the calibration's own for N_ATTENTION_FITS. */
static bool
belongs(const struct attention_shape *s, bool prefill, enum attention_fit which)
{
	if (!prefill && s->n_heads > GROUP_MAX * s->n_kv_heads)
		return false;
	return which == N_ATTENTION_FITS ? is_plain(s) : attention_fit_of(s) == which;
}

static const char *
regime_of(double seconds)
{
	return seconds < 20e-6 ? "below_20us" : seconds < 100e-6 ? "to_100us" : seconds < 1e-3 ? "to_1ms" : "above_1ms";
}

/* Keys and values that the queries see. */
static double
cache_byte_of(const struct attention_shape *s)
{
	const double seen = s->window_token > 0 ? fmin(s->window_token, s->context_token) : s->context_token;

	return 2 * s->batch * seen * s->n_kv_heads * s->head_dim * s->kv_elem_byte;
}

/* Faster than memory delivers a cache that L2 cannot hold: the benchmark read less than it says. */
static bool
impossible(const struct fit_bench *b, const struct attention_shape *s, double time_s)
{
	const double cache_byte = cache_byte_of(s);

	return cache_byte > 2 * b->reference->ref_l2_byte.value &&
	    cache_byte / time_s > b->reference->ref_mem_byte_per_s.value;
}

/* Query heads per key head, 1, 2-3, 4-7 or 8 and more, and a cache below or above 100 MB. */
static int
cell_of(const struct attention_shape *s)
{
	const double ratio = s->n_heads / s->n_kv_heads;

	return 2 * ((ratio >= 2) + (ratio >= 4) + (ratio >= 8)) + (cache_byte_of(s) > 100e6);
}

/* Each cell counts alike: engines spend their time where few benchmarks are, in long reads by grouped queries. */
static void
balance(const struct fit_bench *b, struct table *t)
{
	int n[CELLS] = {0};

	t->weight = ARENA_ARRAY(b->arena, double, t->n + 1);
	for (int i = 0; i < t->n; i++)
		n[cell_of(&t->shape[i])]++;
	for (int i = 0; i < t->n; i++)
		t->weight[i] = fmin(1.0 / n[cell_of(&t->shape[i])], 20.0 / t->n);
}

static struct table
gather(const struct fit_bench *b, const struct measurement **rows, int n_rows, bool prefill, enum attention_fit which,
    bool windows)
{
	const struct calibration *ref = b->reference;
	struct table t = {.bench = b,
	    .units = param_units_of(
	        ref->ref_peak_flop_per_s.value, ref->ref_mem_byte_per_s.value, ref->ref_clock_hertz.value)};

	t.shape = ARENA_ARRAY(b->arena, struct attention_shape, n_rows + 1);
	t.measured_s = ARENA_ARRAY(b->arena, double, n_rows + 1);
	t.hash = ARENA_ARRAY(b->arena, unsigned, n_rows + 1);
	t.regime = ARENA_ARRAY(b->arena, const char *, n_rows + 1);
	for (int i = 0; i < n_rows; i++) {
		const struct attention_shape s = shape_of(rows[i]);

		if (is_prefill(rows[i]) != prefill || !belongs(&s, prefill, which) ||
		    (!windows && s.window_token > 0) || (!prefill && impossible(b, &s, rows[i]->time_s)))
			continue;
		t.shape[t.n] = s;
		t.measured_s[t.n] = rows[i]->time_s;
		/* whole pairs of head counts are kept out together: the next model brings its own */
		t.hash[t.n] = fit_hash((const double[]){s.n_heads, s.n_kv_heads}, 2);
		t.regime[t.n++] = regime_of(rows[i]->time_s);
	}
	return t;
}

/* --- models ---------------------------------------------------------------------------------------------- */

static double
predict_context(const void *context, const double *x, int row)
{
	const struct table *t = context;
	struct context_calibration p;

	fit_figures(&family_context, &t->units, x, CONTEXT_PARAMS, &p);
	p.tile.value = t->tile;
	return attention_context(NULL, &t->shape[row], &p, t->bench->reference);
}

static double
predict_generation(const void *context, const double *x, int row)
{
	const struct table *t = context;
	struct generation_calibration p;

	fit_figures(&family_generation, &t->units, x, t->n_params, &p);
	return attention_generation(NULL, &t->shape[row], &p, t->bench->reference);
}

/* --- the fits -------------------------------------------------------------------------------------------- */

static struct fit_problem
problem_of(const struct table *t, const struct family *family,
    double (*predict)(const void *context, const double *params, int row), enum quantity *units)
{
	struct fit_problem p = {
	    .n_rows = t->n, .predict = predict, .context = t, .measured_s = t->measured_s, .weight = t->weight};

	fit_family(family, &p, units);
	return p;
}

/* Kernels have tiles of 128 or, where shared memory is short, of 64: the rows tell which. */
static double
better_tile(struct table *t, const struct fit_problem *p)
{
	static const double tiles[] = {128, 64};
	double best = tiles[0], least = INFINITY;

	for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
		struct fit_result found;

		t->tile = tiles[i];
		if (fit_run(p, 0, &found) && found.mean_abs_log < least) {
			least = found.mean_abs_log;
			best = tiles[i];
		}
	}
	return best;
}

static void
fit_context(const struct fit_bench *b, struct table *t, const char *path, const char *residual, struct fitted *out)
{
	/* kernels with cheap rows of tiles and with dear ones */
	static const double starts[][CONTEXT_PARAMS] = {
	    {0.70, 12e-6, 0.05e-6, 0.7, 0.6, 2.0, 0.2, 0.7, 0.12, 3, 0.8e-9},
	    {0.62, 6e-6, 3.0e-6, 2.5, 0.6, 6.0, 0.7, 0.8, 0.15, 1.3, 0.3e-9},
	};
	enum quantity units[FIT_PARAMS_MAX];
	struct fit_problem p = problem_of(t, &family_context, predict_context, units);
	struct fitted_class *c = fitted_add(b, out, path, residual);

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		p.start[i] = starts[i];
	t->tile = t->n < CONTEXT_NEEDED ? 128 : better_tile(t, &p);
	if (fitted_run(b, &p, units, t->hash, t->regime, CONTEXT_NEEDED, c))
		c->params[c->n_params++] = (struct fitted_param){
		    .key = "tile", .unit = Q_COUNT, .value = t->tile, .low = NAN, .high = NAN, .identified = true};
}

/* Whether a cell's rows are off by more than 5 % in the mean. */
static bool
is_biased(struct table *t, const struct fitted_class *c)
{
	double x[FIT_PARAMS_MAX], sum[CELLS] = {0};
	int n[CELLS] = {0};

	t->n_params = c->n_params;
	for (int i = 0; i < c->n_params; i++)
		x[i] = c->params[i].value;
	for (int i = 0; i < t->n; i++) {
		sum[cell_of(&t->shape[i])] += predict_generation(t, x, i) / t->measured_s[i] - 1;
		n[cell_of(&t->shape[i])]++;
	}
	for (int i = 0; i < CELLS; i++)
		if (n[i] >= CELL_NEEDED && fabs(sum[i] / n[i]) > 0.05)
			return true;
	return false;
}

/* With the first n_params; `from` is a fit with fewer, or NULL. */
static struct fitted_class
run_generation(const struct fit_bench *b, struct table *t, int n_params, const struct fitted_class *from)
{
	static const double starts[][FEW_PARAMS] = {
	    {0.88, 8.7e-6, 0.24, 2.0e-6, 3.4e-6, 1.2, 0.6, 0.5, 1.3, 3.4e-6},
	    {0.85, 8.0e-6, 0.12, 2.5e-6, 2.0e-6, 0.9, 0.5, 0.5, 6, 1.5e-6},
	    {0.82, 6.0e-6, 0.50, 3.0e-6, 2.0e-6, 3.3, 0.9, 0.4, 2, 1.5e-6},
	};
	/* the cache in one part, and by vector units */
	static const double ends[][MANY_PARAMS - FEW_PARAMS] = {{12, 1, 100, 12, 1}, {8, 64, 11, 100, 64}};
	double grown[sizeof ends / sizeof *ends][MANY_PARAMS];
	enum quantity units[FIT_PARAMS_MAX];
	struct fit_problem p = problem_of(t, &family_generation, predict_generation, units);
	struct fitted_class c = {.path = NULL};

	p.n_params = t->n_params = n_params;
	for (size_t i = 0; !from && i < sizeof starts / sizeof *starts; i++)
		p.start[i] = starts[i];
	for (size_t i = 0; from && i < sizeof ends / sizeof *ends; i++) {
		memcpy(&grown[i][FEW_PARAMS], ends[i], sizeof ends[i]);
		for (int j = 0; j < from->n_params; j++)
			grown[i][j] = from->params[j].value;
		p.start[i] = grown[i];
	}
	fitted_run(b, &p, units, t->hash, t->regime, GENERATION_NEEDED, &c);
	return c;
}

/* Kernels that read a cache in few parts, or without matrix instructions: where the equation without them is off and
 * they predict rows better that were not fitted. */
static struct fitted_class
best_generation(const struct fit_bench *b, struct table *t)
{
	static const int sizes[] = {OWN_PARAMS, MANY_PARAMS};
	struct fitted_class best = run_generation(b, t, FEW_PARAMS, NULL);

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !best.refused && is_biased(t, &best); i++) {
		const struct fitted_class more = run_generation(b, t, sizes[i], &best);

		if (!more.refused && more.residual.all.mape < 0.97 * best.residual.all.mape)
			best = more;
	}
	return best;
}

static void
fit_generation(const struct fit_bench *b, struct table *t, const char *path, const char *residual, struct fitted *out)
{
	struct fitted_class *c = fitted_add(b, out, path, residual);

	path = c->path, residual = c->residual_name;
	balance(b, t);
	*c = best_generation(b, t);
	c->path = path, c->residual_name = residual;
	/* without such rows it is the other one */
	if (!c->refused && c->n_params == FEW_PARAMS && !c->params[OWN_ITEM].identified)
		c->n_params = OWN_ITEM;
}

static const char *
underscored(struct arena *a, const char *prefix, const char *name)
{
	char *text = arena_printf(a, "%s%s", prefix, name);

	for (char *p = text; *p; p++)
		*p = *p == '-' ? '_' : *p;
	return text;
}

static void
fit_kernels(const struct fit_bench *b, const struct measurement **rows, int n_rows, bool prefill,
    enum attention_fit which, struct fitted *out)
{
	const bool own = which == N_ATTENTION_FITS;
	const char *phase = prefill ? "context" : "generation";
	struct table t = gather(b, rows, n_rows, prefill, which, false);

	if (t.n < CONTEXT_NEEDED)
		t = gather(b, rows, n_rows, prefill, which, true);

	/* nobody measured it, or too little for a class that has a substitute */
	if (t.n == 0 || (!own && t.n < CONTEXT_NEEDED))
		return;
	const char *path = own ? arena_printf(b->arena, "attention.%s", phase)
	                       : arena_printf(b->arena, "attention_by.%s.%s", attention_fit_name(which), phase);
	const char *residual = arena_printf(
	    b->arena, "attention_%s%s", phase, own ? "" : underscored(b->arena, "_", attention_fit_name(which)));
	(prefill ? fit_context : fit_generation)(b, &t, path, residual, out);
}

void
fit_attention(const struct fit_bench *b, struct fitted *out)
{
	int n;
	const struct measurement **rows = fit_rows(b, MEASUREMENT_ATTENTION, &n);

	if (!b->gpu || !b->backend)
		return;
	for (int which = N_ATTENTION_FITS; which >= 0; which--)
		for (int prefill = 1; prefill >= 0; prefill--)
			fit_kernels(b, rows, n, prefill, (enum attention_fit)which, out);
}
