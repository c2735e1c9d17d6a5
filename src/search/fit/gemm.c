/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GEMMs.  16-bit ones give all the parameters of the tile model.  Products of other types run on the same
 * SMs, caches and memory: they keep those and get their own share of the peak and the cost of quantizing their
 * activations; more only where that predicts rows better that it was not fitted to.
 *
 * Sizes are weighted equally from decoding to prefill: seven bins of m, each with the same weight.
 */
#include "search/fit/fit.h"

#include "model/kernel/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double hosted_s = 40e-6; /* no kernels take that long to start in a replayed graph */

enum { NARROW = 512, SMALL = 256, ROWS_NEEDED = 48, KNOWN_ROWS_NEEDED = 8, N_PARAMS = 16, ENGINE_COPIES = 5 };

/* GEMM rows of calibration.def */
enum { ETA_C, ETA_M, BASE, FEED, TILE, STEP, DERATE = 7, L2, SUM, QUANTISE = 11, ETA_Q, HOST, HOST_PAD, HOST_FEW };

/* --- rows ------------------------------------------------------------------------------------------------ */

struct gemm_point {
	double m, n, k, time_s;
	bool fixed_scale;
	int copies;
};

struct table {
	struct arena *arena;
	int n;
	struct gemm_point *points;
	double *measured_s, *weight;
	unsigned *hash;
	int *group; /* products with the same weights */
	const char **regime;
	enum dtype dtype;
	bool weight_only;
	bool alone; /* no 16-bit rows to take the rest from */
	double peak_flop_per_s;
	struct param_units units;
	struct calibration *work; /* with the trial's parameters */
};

static int
by_shape(const void *x, const void *y)
{
	const struct gemm_point *a = x, *b = y;
	const double differences[] = {a->m - b->m, a->n - b->n, a->k - b->k, (double)a->fixed_scale - b->fixed_scale,
	    a->copies - b->copies, a->time_s - b->time_s};

	for (size_t i = 0; i < sizeof differences / sizeof *differences; i++)
		if (differences[i] != 0)
			return differences[i] > 0 ? 1 : -1;
	return 0;
}

static bool
same_shape(const struct gemm_point *a, const struct gemm_point *b)
{
	return a->m == b->m && a->n == b->n && a->k == b->k && a->fixed_scale == b->fixed_scale &&
	    a->copies == b->copies;
}

/* The median of the backends at each shape. */
static void
join(struct table *t)
{
	int n = 0;

	qsort(t->points, (size_t)t->n, sizeof *t->points, by_shape);
	for (int i = 0, end; i < t->n; i = end) {
		for (end = i + 1; end < t->n && same_shape(&t->points[i], &t->points[end]);)
			end++;
		const int low = (i + end - 1) / 2, high = (i + end) / 2;
		const double time_s = (t->points[low].time_s + t->points[high].time_s) / 2;
		t->points[n] = t->points[i];
		t->points[n++].time_s = time_s;
	}
	t->n = n;
}

static int
bin_of(double m)
{
	static const double ends[] = {4, 16, 64, 256, 1024, 4096};
	int bin = 0;

	while (bin < 6 && m > ends[bin])
		bin++;
	return bin;
}

static void
describe(struct table *t)
{
	double in_bin[7] = {0};

	t->measured_s = ARENA_ARRAY(t->arena, double, t->n + 1);
	t->weight = ARENA_ARRAY(t->arena, double, t->n + 1);
	t->hash = ARENA_ARRAY(t->arena, unsigned, t->n + 1);
	t->group = ARENA_ARRAY(t->arena, int, t->n + 1);
	t->regime = ARENA_ARRAY(t->arena, const char *, t->n + 1);
	for (int i = 0; i < t->n; i++)
		in_bin[bin_of(t->points[i].m)]++;
	for (int i = 0; i < t->n; i++) {
		const struct gemm_point *p = &t->points[i];

		t->measured_s[i] = p->time_s;
		t->weight[i] = t->n / in_bin[bin_of(p->m)];
		t->hash[i] = fit_hash((const double[]){p->m, p->n, p->k}, 3);
		t->group[i] = (int)(fit_hash((const double[]){p->n, p->k}, 2) & 0x7fffffff);
		t->regime[i] = p->m <= 64 ? "decode" : p->m < 1024 ? "mid" : "prefill";
	}
}

/* True for 16-bit activations with narrower weights. */
static bool
is_weight_only(const struct measurement *m)
{
	return m->dtype_text && strstr(m->dtype_text, "a16");
}

static enum dtype
weight_type(const struct measurement *m)
{
	return strncmp(m->dtype_text, "w4", 2) == 0 ? DTYPE_INT4 : DTYPE_INT8;
}

bool
fit_is_usual(const struct measurement *m)
{
	return !m->backend || strncmp(m->backend, "cublaslt-", 9) != 0;
}

/* The engines' collectors visit five copies of the weights in turn; other benchmarks leave nothing of them in cache. */
static struct table
gather(const struct fit_bench *b, const struct measurement **rows, int n_rows, enum dtype dtype, bool weight_only)
{
	struct table t = {.arena = b->arena, .dtype = dtype, .weight_only = weight_only};
	const enum peak peak = dtype_peak(weight_only ? DTYPE_BF16 : dtype);
	bool any_wide = false;

	t.points = ARENA_ARRAY(b->arena, struct gemm_point, n_rows + 1);
	t.peak_flop_per_s = datum_or(b->gpu->peak_flop_per_s[peak], NAN);
	if (isnan(t.peak_flop_per_s) && peak == PEAK_BF16)
		t.peak_flop_per_s = datum_or(b->gpu->peak_flop_per_s[PEAK_FP16], NAN);
	for (int i = 0; i < n_rows; i++)
		any_wide = any_wide || (rows[i]->n >= NARROW && rows[i]->k >= NARROW);
	for (int i = 0; i < n_rows; i++) {
		const struct measurement *m = rows[i];

		if (!fit_is_usual(m) || is_weight_only(m) != weight_only ||
		    (weight_only ? weight_type(m) : m->dtype) != dtype ||
		    (any_wide && (m->n < NARROW || m->k < NARROW)))
			continue;
		t.points[t.n++] = (struct gemm_point){
		    m->m, m->n, m->k, m->time_s, m->static_scale, fit_is_engine(m->backend) ? ENGINE_COPIES : 0};
	}
	t.units = param_units_of(
	    t.peak_flop_per_s, b->reference->ref_mem_byte_per_s.value, b->reference->ref_clock_hertz.value);
	t.work = ARENA_NEW(b->arena, struct calibration);
	*t.work = *b->reference;
	join(&t);
	describe(&t);
	return t;
}

/* --- the model ------------------------------------------------------------------------------------------- */

static double
predict(const void *context, const double *params, int row)
{
	const struct table *t = context;
	const struct gemm_point *p = &t->points[row];
	struct gemm_shape shape = gemm_shape_of(p->m, p->n, p->k, t->dtype);

	if (t->weight_only) {
		shape.a_byte = shape.o_byte = dtype_byte(DTYPE_BF16);
		shape.quantise = false;
	}
	shape.quantise = shape.quantise && !p->fixed_scale;
	shape.n_copies = p->copies;
	shape.launched = true;
	fit_figures(&family_gemm, &t->units, params, N_PARAMS, &t->work->gemm[t->dtype]);
	return gemm_time(NULL, &shape, t->work, t->dtype);
}

/* --- the fits -------------------------------------------------------------------------------------------- */

static struct fit_problem
problem_of(const struct table *t, enum quantity *units)
{
	struct fit_problem p = {.n_rows = t->n,
	    .predict = predict,
	    .context = t,
	    .measured_s = t->measured_s,
	    .weight = t->weight,
	    .group = t->group};

	fit_family(&family_gemm, &p, units);
	for (int i = QUANTISE; i < N_PARAMS; i++)
		p.params[i].fixed = true;
	return p;
}

/* Ampere, Hopper, Blackwell and Ada as they came out once: where a search may begin. */
static const double starts[][N_PARAMS] = {
    {0.85, 0.76, 2.0e-6, 60, 3.0e-6, 200, 0.45, 0.04, 4, 2.2e-6, 3, 4e-6, 0.4, 0, 0, 1},
    {0.83, 0.86, 2.1e-6, 240, 1.1e-6, 145, 0.03, 0.11, 4, 2.2e-6, 3, 4e-6, 0.4, 0, 0, 1},
    {0.79, 0.79, 2.2e-6, 110, 0.4e-6, 140, 0.06, 0.11, 3, 2.2e-6, 3, 4e-6, 0.4, 0, 0, 1},
    {0.60, 0.81, 1.3e-6, 35, 0.9e-6, 520, 0.20, 0.11, 4, 2.2e-6, 3, 4e-6, 0.4, 0, 0, 1},
};

/* More parameters where they lower the error on rows that were not fitted by 3 % of it. */
static struct fitted_class
better(struct fitted_class few, struct fitted_class many)
{
	return !many.refused && (few.refused || many.residual.all.mape < 0.97 * few.residual.all.mape) ? many : few;
}

static void
drop(struct fitted_class *c, int first)
{
	if (c->n_params > first)
		c->n_params = first;
}

/* Errors of products whose weights have a form that no fitted product had. */
static void
unseen_weights(const struct fit_bench *b, const struct fit_problem *p, const struct table *t, struct fitted *out)
{
	unsigned *hash = ARENA_ARRAY(b->arena, unsigned, t->n + 1);
	double *predicted_s = ARENA_ARRAY(b->arena, double, t->n + 1), last[FIT_PARAMS_MAX];

	for (int i = 0; i < t->n; i++)
		hash[i] = (unsigned)t->group[i];
	if (!fitted_cross(b, p, hash, predicted_s, last))
		return;
	struct fitted_class *c = fitted_add(b, out, NULL, "gemm_bf16_unseen_weights");
	c->n_fitted = t->n;
	c->residual.all = fitted_errors_of(b->arena, t->n, predicted_s, t->measured_s, t->weight);
}

/* Whether products that memory limits are among the rows: they alone tell what memory, cache and launches take. */
static bool
has_small(const struct table *t)
{
	for (int i = 0; i < t->n; i++)
		if (t->points[i].m <= SMALL)
			return true;
	return false;
}

/* From the known parameters: the rate and how far power lowers it, or with `more` whatever the rows can tell. */
static struct fitted_class
fit_known(const struct fit_bench *b, const struct table *t, const struct fit_problem *whole, const enum quantity *units,
    bool more)
{
	const bool small = has_small(t);
	struct fit_problem p = *whole;
	struct fitted_class c = {.path = NULL};

	for (int i = 0; i < QUANTISE; i++) {
		const bool told = small || (i != ETA_M && i != BASE && i != L2 && i != SUM);

		p.params[i].fixed = more ? !told : i != ETA_C && i != DERATE;
	}
	fitted_run(b, &p, units, t->hash, t->regime, more ? ROWS_NEEDED : KNOWN_ROWS_NEEDED, &c);
	return c;
}

/* 16-bit products: everything but the quantization.  A list of few or large products changes known parameters, or those
 * of a relative, only as far as rows that were not fitted bear it out.  Returns the fitted values. */
static bool
fit_wide(const struct fit_bench *b, const struct table *t, struct fitted *out, double *values)
{
	const struct calibration *start = !b->known && t->n < ROWS_NEEDED ? b->relative : b->known;
	const bool known = start && start->gemm[t->dtype].peak_flop_per_s.value > 0;
	enum quantity units[FIT_PARAMS_MAX];
	struct fit_problem p = problem_of(t, units);

	if (known)
		fit_start_from(&family_gemm, &t->units, &start->gemm[t->dtype], &p);
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		p.start[i] = starts[i];
	struct fitted_class *c = fitted_add(b, out, "gemm", "gemm_bf16");
	for (int i = 0; i < N_PARAMS; i++)
		values[i] = p.params[i].start;
	if (!known)
		fitted_run(b, &p, units, t->hash, t->regime, ROWS_NEEDED, c);
	else
		*c = better(fit_known(b, t, &p, units, false), fit_known(b, t, &p, units, true));
	c->path = "gemm";
	c->residual_name = "gemm_bf16";
	if (c->refused)
		return false;
	for (int i = 0; i < N_PARAMS; i++)
		values[i] = c->params[i].value;
	drop(c, QUANTISE);
	if (!b->backend)
		unseen_weights(b, &p, t, out);
	return true;
}

/*
 * Which parameters a type does not inherit from the 16-bit fit.  Each includes those before it: the share of the peak;
 * memory bandwidth; tiles; split-k, waves and the smooth maximum.  HOSTED adds launch times of the host to OWN_TILES,
 * and leaves quantization alone, which they hide.
 */
enum freedom { OWN_RATE, OWN_MEMORY, OWN_TILES, OWN_KERNELS, HOSTED };

/* The fastest product. */
static double
least_time(const struct table *t)
{
	double least_s = INFINITY;

	for (int i = 0; i < t->n; i++)
		least_s = fmin(least_s, t->measured_s[i]);
	return least_s;
}

static bool
is_quantised(const struct table *t)
{
	bool dynamic = false;

	for (int i = 0; i < t->n; i++)
		dynamic = dynamic || !t->points[i].fixed_scale;
	return dynamic && !t->weight_only && dtype_byte(t->dtype) < 2;
}

static bool
is_free(const struct table *t, enum freedom own, int param)
{
	switch (param) {
	case ETA_C:
		return true;
	case ETA_M:
		return own >= OWN_MEMORY;
	case BASE: /* cannot be told from a fixed part of the quantizing kernels */
		return own >= OWN_MEMORY && !is_quantised(t);
	case FEED: /* kernels that differ in all else share what reaches an SM */
		return own == OWN_TILES || own == HOSTED;
	case TILE:
	case STEP:
		return own >= OWN_TILES;
	case QUANTISE:
	case ETA_Q:
		return own != HOSTED && is_quantised(t);
	case HOST:
	case HOST_PAD:
	case HOST_FEW:
		return own == HOSTED;
	default:
		return own == OWN_KERNELS || (own >= OWN_TILES && t->alone);
	}
}

/* Other types: the rest from the 16-bit values.  One run of ridge-bench has 28 products of a type, which do not tell of
 * tiles. */
static struct fitted_class
fit_narrow(const struct fit_bench *b, const struct table *t, const double *wide, enum freedom own)
{
	enum quantity units[FIT_PARAMS_MAX];
	struct fit_problem p = problem_of(t, units);
	struct fitted_class c = {.path = NULL};
	int n_free = 0;

	for (int i = 0; i < N_PARAMS; i++) {
		if (i < QUANTISE)
			p.params[i].start = fmin(p.params[i].high, fmax(p.params[i].low, wide[i]));
		p.params[i].fixed = !is_free(t, own, i);
		n_free += !p.params[i].fixed;
	}
	if (own == HOSTED)
		p.params[HOST].start = least_time(t);
	fitted_run(b, &p, units, t->hash, t->regime,
	    own >= OWN_TILES || t->alone ? ROWS_NEEDED : KNOWN_ROWS_NEEDED * n_free, &c);
	if (own != HOSTED)
		drop(&c, p.params[QUANTISE].fixed ? QUANTISE : HOST);
	return c;
}

static void
refuse_hosted(const struct fit_bench *b, struct fitted_class *c)
{
	double fixed_s = 0;

	for (int i = 0; i < c->n_params; i++)
		if (strcmp(c->params[i].key, "t0") == 0 || strcmp(c->params[i].key, "tq0") == 0)
			fixed_s += c->params[i].value;
	if (!c->refused && fixed_s > hosted_s)
		c->refused = arena_printf(
		    b->arena, "%.0f us before the first byte: the times include host launches", fixed_s * 1e6);
}

static const char *
residual_name_of(struct arena *a, const struct table *t)
{
	const char *type = !t->weight_only ? dtype_name(t->dtype) : t->dtype == DTYPE_INT4 ? "w4a16" : "w8a16";
	char *text = arena_printf(a, "gemm_%s", type);

	for (char *p = text; *p; p++)
		*p = *p == '-' ? '_' : *p;
	return text;
}

static void
fit_type(const struct fit_bench *b, const struct table *t, const double *wide, struct fitted *out)
{
	const char *name = dtype_name(t->dtype);
	struct fitted_class few = fit_narrow(b, t, wide, OWN_RATE), many = {.refused = ""};

	if (!few.refused)
		many = fit_narrow(b, t, wide, OWN_TILES);
	if (!few.refused && many.refused)
		many = fit_narrow(b, t, wide, OWN_MEMORY);
	else if (!many.refused)
		many = better(many, fit_narrow(b, t, wide, OWN_KERNELS));
	struct fitted_class *c =
	    fitted_add(b, out, arena_printf(b->arena, "%s.%s", t->weight_only ? "weight_only" : "gemm_by_dtype", name),
	        residual_name_of(b->arena, t));
	const char *path = c->path, *residual_name = c->residual_name;
	*c = better(few, many);
	refuse_hosted(b, c);
	if (c->refused && least_time(t) > hosted_s)
		*c = fit_narrow(b, t, wide, HOSTED);
	c->path = path;
	c->residual_name = residual_name;
}

void
fit_gemm(const struct fit_bench *b, struct fitted *out)
{
	double wide[N_PARAMS];
	int n = 0;
	const struct measurement **rows = fit_rows(b, MEASUREMENT_GEMM, &n);

	if (!b->gpu || !n)
		return;
	struct table bf16 = gather(b, rows, n, DTYPE_BF16, false);
	if (!bf16.n)
		bf16 = gather(b, rows, n, DTYPE_FP16, false);
	for (int i = 0; i < N_PARAMS; i++)
		wide[i] = family_gemm.rows[i].start;
	const bool alone = !bf16.n || isnan(bf16.peak_flop_per_s) || !fit_wide(b, &bf16, out, wide);
	for (int narrow = 0; narrow < 2; narrow++)
		for (int t = 0; t < N_DTYPES; t++) {
			/* no model multiplies in fp64, whose matrix units have a peak apart */
			if (!narrow && (t == (int)bf16.dtype || t == DTYPE_BF16 || t == DTYPE_FP64))
				continue;
			struct table table = gather(b, rows, n, (enum dtype)t, narrow == 1);
			table.alone = alone;
			if (table.n && !isnan(table.peak_flop_per_s))
				fit_type(b, &table, wide, out);
		}
}
