/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Levels of memory, starting kernels, and arithmetic without memory, from microbenchmarks.
 *
 * How many levels there are is found: one more is believed when it explains a quarter of what is left.  Bandwidth and
 * latency are fitted apart, since a pointer chase sees the L1 of one multiprocessor and a stream does not.
 */
#include "search/fit/fit.h"

#include "model/kernel/kernel.h"

#include <math.h>
#include <string.h>

enum { LEVELS_MAX = 4, ROWS_PER_LEVEL = 3 };

struct walk {
	const struct fit_bench *bench;
	bool latency;
	int n, n_levels;
	double *footprint_byte, *measured_s;
};

struct found_levels {
	int n;
	struct fit_value size[LEVELS_MAX], what[LEVELS_MAX]; /* what: bytes per second, or seconds */
};

/* --- rows ------------------------------------------------------------------------------------------------ */

/* Passes over memory, and the arrays that each touches once. */
static const struct {
	const char *name;
	double n_arrays;
} operations[] = {{"read", 1}, {"copy", 2}, {"scale", 2}, {"triad", 3}, {"write", 1}};

enum { N_OPERATIONS = sizeof operations / sizeof *operations };

static double
arrays_of(const char *operation)
{
	for (int i = 0; operation && i < N_OPERATIONS; i++)
		if (strcmp(operations[i].name, operation) == 0)
			return operations[i].n_arrays;
	return 0;
}

static double
most_threads(const struct fit_bench *b, enum measurement_kind kind)
{
	double most = 0;

	for (int i = 0; i < b->n_rows; i++)
		if (b->rows[i].kind == kind && b->rows[i].threads > most)
			most = b->rows[i].threads;
	return most;
}

static bool
all_threads(const struct measurement *m, double most)
{
	return isnan(m->threads) || most == 0 || m->threads == most;
}

/*
 * Leave out footprints below the first that is nearly as fast as any: passes that do not fill a GPU take the time of
 * one load, whatever their size.
 */
static void
from_fastest(struct walk *w)
{
	double best = 0, from_byte = INFINITY;
	int n = 0;

	for (int i = 0; i < w->n; i++)
		best = fmax(best, w->footprint_byte[i] / w->measured_s[i]);
	for (int i = 0; i < w->n; i++)
		if (w->footprint_byte[i] / w->measured_s[i] > 0.95 * best)
			from_byte = fmin(from_byte, w->footprint_byte[i]);
	for (int i = 0; i < w->n; i++)
		if (w->footprint_byte[i] >= from_byte) {
			w->footprint_byte[n] = w->footprint_byte[i];
			w->measured_s[n++] = w->measured_s[i];
		}
	w->n = n;
}

/* Rows of one operation over sizes; the time is of one pass, or of one load. */
static struct walk
gather(const struct fit_bench *b, enum measurement_kind kind, const char *operation)
{
	struct walk w = {.bench = b, .latency = kind == MEASUREMENT_LATENCY};
	const double threads = most_threads(b, kind), arrays = w.latency ? 1 : arrays_of(operation);

	w.footprint_byte = ARENA_ARRAY(b->arena, double, b->n_rows + 1);
	w.measured_s = ARENA_ARRAY(b->arena, double, b->n_rows + 1);
	for (int i = 0; i < b->n_rows; i++) {
		const struct measurement *m = &b->rows[i];

		if (m->kind != kind || !(m->size_byte > 0) || !all_threads(m, threads) ||
		    (operation && (!m->operation || strcmp(m->operation, operation) != 0)))
			continue;
		w.footprint_byte[w.n] = arrays * m->size_byte;
		w.measured_s[w.n++] = m->time_s;
	}
	if (b->gpu && !w.latency)
		from_fastest(&w);
	return w;
}

/* --- plateaus -------------------------------------------------------------------------------------------- */

static struct datum
plain(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* x: a rate or a latency per level, then the sizes of all levels but the last, each a multiple of the one before. */
static double
predict(const void *context, const double *x, int row)
{
	const struct walk *w = context;
	struct memory_calibration m = {.n_levels = w->n_levels};
	double size_byte = 1;

	for (int i = 0; i < w->n_levels; i++) {
		size_byte *= i + 1 < w->n_levels ? x[w->n_levels + i] : 1;
		m.level[i] = (struct memory_level){NULL, plain(size_byte), plain(x[i]), plain(x[i])};
	}
	return w->latency ? memory_latency(NULL, &m, w->footprint_byte[row])
	                  : w->footprint_byte[row] / memory_rate(NULL, &m, w->footprint_byte[row]);
}

static struct fit_problem
problem_of(const struct walk *w)
{
	double least = INFINITY, most = 0, fast = INFINITY, slow = 0;
	struct fit_problem p = {.n_params = 2 * w->n_levels - 1,
	    .n_rows = w->n,
	    .predict = predict,
	    .context = w,
	    .measured_s = w->measured_s};

	for (int i = 0; i < w->n; i++) {
		const double per = w->latency ? w->measured_s[i] : w->footprint_byte[i] / w->measured_s[i];
		least = fmin(least, w->footprint_byte[i]);
		most = fmax(most, w->footprint_byte[i]);
		fast = fmin(fast, per);
		slow = fmax(slow, per);
	}
	/* a step between levels, evenly over the sizes that were measured */
	const double step = pow(most / least, 1.0 / w->n_levels);
	for (int i = 0; i < w->n_levels; i++) {
		const double share = w->n_levels > 1 ? (double)i / (w->n_levels - 1) : 0.5;
		const double up = w->latency ? share : 1 - share;
		p.params[i] = (struct fit_param){"level", fast * pow(slow / fast, up), 0.5 * fast, 2 * slow, false};
	}
	for (int i = 0; i + 1 < w->n_levels; i++)
		p.params[w->n_levels + i] = i == 0 ? (struct fit_param){"size", least * step, least, most, false}
		                                   : (struct fit_param){"size", step, 1.5, most / least, false};
	return p;
}

static bool
find_levels(struct walk *w, struct found_levels *out)
{
	double left = INFINITY;
	struct fit_result found;

	/* streams on a GPU go past L1: L2 and memory are left */
	const int most = w->bench->gpu && !w->latency ? 2 : LEVELS_MAX;

	out->n = 0;
	for (int n = 1; n <= most && w->n >= ROWS_PER_LEVEL * n; n++) {
		w->n_levels = n;
		const struct fit_problem p = problem_of(w);
		if (!fit_run(&p, w->bench->n_bootstrap, &found))
			break;
		if (found.mean_abs_log > 0.75 * left || left < 0.01)
			continue;
		left = found.mean_abs_log;
		out->n = n;
		double size_byte = 1;
		for (int i = 0; i < n; i++) {
			out->what[i] = found.param[i];
			size_byte *= i + 1 < n ? found.param[n + i].value : 1;
			out->size[i] = (struct fit_value){size_byte, NAN, NAN, i + 1 < n};
		}
	}
	return out->n > 0;
}

/* --- errors on rows that were not fitted ------------------------------------------------------------------- */

static void
add_errors(const struct fit_bench *b, const char *name, int n, const double *predicted_s, const double *measured_s,
    struct fitted *out)
{
	const struct fitted_errors errors = fitted_errors_of(b->arena, n, predicted_s, measured_s, NULL);

	if (!errors.n)
		return;
	struct fitted_class *c = fitted_add(b, out, NULL, name);
	c->n_fitted = n;
	c->residual.all = errors;
}

/* Sizes predicted by the levels that the other sizes give. */
static void
add_left_out(struct walk *w, int n_levels, const char *name, struct fitted *out)
{
	unsigned *hash = ARENA_ARRAY(w->bench->arena, unsigned, w->n + 1);
	double *predicted_s = ARENA_ARRAY(w->bench->arena, double, w->n + 1), last[FIT_PARAMS_MAX];

	w->n_levels = n_levels;
	const struct fit_problem p = problem_of(w);
	for (int i = 0; i < w->n; i++)
		hash[i] = fit_hash(&w->footprint_byte[i], 1);
	if (fitted_cross(w->bench, &p, hash, predicted_s, last))
		add_errors(w->bench, name, w->n, predicted_s, w->measured_s, out);
}

/* Passes of the operations that no level was fitted to. */
static void
add_other_passes(const struct fit_bench *b, const char *fitted, const struct found_levels *found, struct fitted *out)
{
	double *predicted_s = ARENA_ARRAY(b->arena, double, b->n_rows + 1),
	       *measured_s = ARENA_ARRAY(b->arena, double, b->n_rows + 1), x[2 * LEVELS_MAX];
	int n = 0;

	for (int i = 0; i < found->n; i++) {
		x[i] = found->what[i].value;
		x[found->n + i] = found->size[i].value / (i ? found->size[i - 1].value : 1);
	}
	for (int i = 0; i < N_OPERATIONS; i++) {
		struct walk w = gather(b, MEASUREMENT_COPY, operations[i].name);

		w.n_levels = found->n;
		for (int k = 0; strcmp(operations[i].name, fitted) != 0 && k < w.n; k++) {
			predicted_s[n] = predict(&w, x, k);
			measured_s[n++] = w.measured_s[k];
		}
	}
	add_errors(b, "memory_other_passes", n, predicted_s, measured_s, out);
}

/* Stores are lost where a plateau is looked for in them; reads first. */
static bool
find_rates(const struct fit_bench *b, struct found_levels *out, struct fitted *errors)
{
	out->n = 0;
	for (int i = 0; i < N_OPERATIONS; i++) {
		struct walk w = gather(b, MEASUREMENT_COPY, operations[i].name);
		if (w.n < ROWS_PER_LEVEL || !find_levels(&w, out))
			continue;
		add_left_out(&w, out->n, arena_printf(b->arena, "memory_%s", operations[i].name), errors);
		add_other_passes(b, operations[i].name, out, errors);
		return true;
	}
	return false;
}

/* --- into classes ---------------------------------------------------------------------------------------- */

static void
put(struct fitted_class *c, const char *key, enum quantity unit, const struct fit_value *v)
{
	c->params[c->n_params++] = (struct fitted_param){
	    .key = key, .unit = unit, .value = v->value, .low = v->low, .high = v->high, .identified = true};
}

/* Levels are named from the far end. */
static void
add_levels(const struct fit_bench *b, const struct found_levels *rates, const struct found_levels *latencies,
    int n_rows, struct fitted *out)
{
	static const char *const of_gpu[LEVELS_MAX] = {"hbm", "l2", "l1", "l0"};
	static const char *const of_host[LEVELS_MAX] = {"dram", "l3", "l2", "l1"};
	const int n = rates->n > latencies->n ? rates->n : latencies->n;

	for (int far = n - 1; far >= 0; far--) {
		const int rate = rates->n - 1 - far, latency = latencies->n - 1 - far;
		struct fitted_class *c =
		    fitted_add(b, out, arena_printf(b->arena, "memory.%s", (b->gpu ? of_gpu : of_host)[far]), NULL);

		c->n_fitted = n_rows;
		if (far > 0)
			put(c, "size", Q_SIZE, rate >= 0 ? &rates->size[rate] : &latencies->size[latency]);
		if (rate >= 0)
			put(c, "rate", Q_RATE, &rates->what[rate]);
		if (latency >= 0)
			put(c, "latency", Q_TIME, &latencies->what[latency]);
	}
}

static int
count(const struct fit_bench *b, enum measurement_kind kind)
{
	int n = 0;

	for (int i = 0; i < b->n_rows; i++)
		n += b->rows[i].kind == kind;
	return n;
}

static void
fit_levels(const struct fit_bench *b, struct fitted *out)
{
	struct walk chase = gather(b, MEASUREMENT_LATENCY, NULL);
	struct found_levels rates, latencies = {0};

	find_rates(b, &rates, out);
	if (chase.n >= ROWS_PER_LEVEL && find_levels(&chase, &latencies))
		add_left_out(&chase, latencies.n, "latency", out);
	if (rates.n || latencies.n)
		add_levels(b, &rates, &latencies, count(b, MEASUREMENT_COPY) + chase.n, out);
}

/* --- starting kernels ------------------------------------------------------------------------------------ */

/* A line through the fewest and the most kernels.  False when they are the same. */
static bool
line_of(const struct fit_bench *b, const char *operation, double *base_s, double *each_s)
{
	const struct measurement *few = NULL, *many = NULL;

	for (int i = 0; i < b->n_rows; i++) {
		const struct measurement *m = &b->rows[i];

		if (m->kind != MEASUREMENT_LAUNCH || !m->operation || strcmp(m->operation, operation) != 0 ||
		    !(m->batch >= 1))
			continue;
		few = !few || m->batch < few->batch ? m : few;
		many = !many || m->batch > many->batch ? m : many;
	}
	if (!few || few->batch == many->batch)
		return false;
	*each_s = (many->time_s - few->time_s) / (many->batch - few->batch);
	*base_s = fmax(0, few->time_s - few->batch * *each_s);
	return *each_s > 0;
}

static const struct measurement *
only(const struct fit_bench *b, const char *operation)
{
	for (int i = 0; i < b->n_rows; i++)
		if (b->rows[i].kind == MEASUREMENT_LAUNCH && b->rows[i].operation &&
		    strcmp(b->rows[i].operation, operation) == 0)
			return &b->rows[i];
	return NULL;
}

static void
put_time(struct fitted_class *c, const char *key, double seconds)
{
	put(c, key, Q_TIME, &(struct fit_value){seconds, NAN, NAN, true});
}

/* Predict the rows between the two that gave the line. */
static void
add_launch_errors(const struct fit_bench *b, struct fitted *out)
{
	double *predicted_s = ARENA_ARRAY(b->arena, double, b->n_rows + 1),
	       *measured_s = ARENA_ARRAY(b->arena, double, b->n_rows + 1), base_s, each_s;
	static const char *const lines[] = {"stream", "graph"};
	int n = 0;

	for (size_t l = 0; l < sizeof lines / sizeof *lines; l++)
		for (int i = 0; line_of(b, lines[l], &base_s, &each_s) && i < b->n_rows; i++) {
			const struct measurement *m = &b->rows[i];
			const double time_s = base_s + m->batch * each_s;

			if (m->kind != MEASUREMENT_LAUNCH || !m->operation || strcmp(m->operation, lines[l]) != 0 ||
			    !(m->batch >= 1) || fabs(time_s / m->time_s - 1) < 1e-12)
				continue;
			predicted_s[n] = time_s;
			measured_s[n++] = m->time_s;
		}
	add_errors(b, "launch", n, predicted_s, measured_s, out);
}

static void
fit_launch(const struct fit_bench *b, struct fitted *out)
{
	const struct measurement *submit = only(b, "submit");
	double base_s, each_s;

	if (!line_of(b, "stream", &base_s, &each_s))
		return;
	struct fitted_class *c = fitted_add(b, out, "launch", NULL);
	c->n_fitted = count(b, MEASUREMENT_LAUNCH);
	put_time(c, "stream", base_s);
	put_time(c, "stream_kernel", each_s);
	if (line_of(b, "graph", &base_s, &each_s)) {
		put_time(c, "graph", base_s);
		put_time(c, "graph_kernel", each_s);
	}
	if (submit)
		put_time(c, "submit", submit->time_s);
	add_launch_errors(b, out);
}

/* --- arithmetic ------------------------------------------------------------------------------------------ */

/*
 * The rate that a row is of.  `mma` on fp64 runs on the matrix units.  Data-center Blackwell (10.x) reaches its peak by
 * another instruction, and Hopper has no `mma` on fp8 (rows of it timed additions): those are no peaks.
 */
static enum peak
peak_of_row(const struct fit_bench *b, const struct measurement *m)
{
	const bool mma = m->operation && strcmp(m->operation, "mma") == 0;
	const char *capability = b->gpu && b->gpu->compute_capability ? b->gpu->compute_capability : "";

	if (!mma)
		return dtype_peak(m->dtype);
	if (strncmp(capability, "10.", 3) == 0 ||
	    (strncmp(capability, "9.", 2) == 0 && dtype_peak(m->dtype) == PEAK_FP8))
		return PEAK_NONE;
	return m->dtype == DTYPE_FP64 ? PEAK_FP64_TENSOR : dtype_peak(m->dtype);
}

bool
fit_is_peak(const struct fit_bench *b, const struct measurement *m)
{
	return peak_of_row(b, m) != PEAK_NONE;
}

/* The best of each type: what holds it back in the others is not the arithmetic. */
static void
fit_arithmetic(const struct fit_bench *b, struct fitted *out)
{
	double best[N_PEAKS] = {0};
	struct fitted_class *c = NULL;

	for (int i = 0; i < b->n_rows; i++) {
		const struct measurement *m = &b->rows[i];

		if (m->kind != MEASUREMENT_FMA || m->dtype == DTYPE_NONE || !(m->flop > 0))
			continue;
		const enum peak p = peak_of_row(b, m);
		if (p != PEAK_NONE)
			best[p] = fmax(best[p], m->flop / m->time_s);
	}
	for (int p = 0; p < N_PEAKS; p++) {
		if (!(best[p] > 0) || (c && c->n_params == FIT_PARAMS_MAX))
			continue;
		if (!c)
			c = fitted_add(b, out, "fma", NULL);
		c->n_fitted = count(b, MEASUREMENT_FMA);
		put(c, peak_name((enum peak)p), Q_PEAK, &(struct fit_value){best[p], NAN, NAN, true});
	}
}

void
fit_memory(const struct fit_bench *b, struct fitted *out)
{
	if (b->backend)
		return;
	fit_levels(b, out);
	fit_launch(b, out);
	fit_arithmetic(b, out);
}
