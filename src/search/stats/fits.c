/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Least squares answers how much a series grows; the median of the slopes of all pairs (Theil, Nederlandse Akademie van
 * Wetenschappen 53, 1950; Sen, Journal of the American Statistical Association 63, 1968) says the same without being
 * led astray by single points.  Allocators make sawteeth: what leaks is the floor, not the tooth.
 */
#include "search/stats/stats.h"

#include "base/base.h"

#include <assert.h>

enum {
	PAIRS_OF = 1500,    /* points up to which all pairs are taken */
	LEVELS_FROM = 8,    /* points that it takes to see that growth has stopped */
	TEETH_FROM = 2,     /* falls that make a sawtooth */
	TEETH_MAX = 100000, /* tops and lows that are kept */
};

static const double TOOTH = 0.25;  /* of the range: what is a fall and not noise */
static const double SLOWER = 1.5;  /* times as many points rise as fall in a sawtooth */
static const double STOPPED = 0.1; /* of the whole slope: what counts as no more growth */

/* --- lines ----------------------------------------------------------------------------------------------- */

static struct trend_line
line_through(const double *step, const double *value, size_t n, double *explained)
{
	struct num_line l;
	struct trend_line out = {.given = false};

	if (n < 2 || !num_line(n, step, value, &l))
		return out;
	out = (struct trend_line){true, {l.slope, l.slope_error, 0, 0}, l.intercept};
	if (l.n_free) {
		out.slope.t_80 = num_student(0.80, (double)l.n_free);
		out.slope.t_95 = num_student(0.95, (double)l.n_free);
	}
	if (explained)
		*explained = l.explained;
	return out;
}

double
trend_low(const struct trend_line *l)
{
	return l->slope.value - l->slope.t_95 * l->slope.error;
}

double
trend_high(const struct trend_line *l)
{
	return l->slope.value + l->slope.t_95 * l->slope.error;
}

/* --- Theil and Sen --------------------------------------------------------------------------------------- */

static size_t
all_pairs(const double *step, const double *value, size_t n, double *slopes)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (step[j] > step[i])
				slopes[k++] = (value[j] - value[i]) / (step[j] - step[i]);
	return k;
}

/* Theil's incomplete method: each point with the one half a series later. */
static size_t
half_pairs(const double *step, const double *value, size_t n, double *slopes)
{
	const size_t half = n / 2;
	size_t k = 0;

	for (size_t i = 0; i + half < n; i++)
		if (step[i + half] > step[i])
			slopes[k++] = (value[i + half] - value[i]) / (step[i + half] - step[i]);
	return k;
}

/* The interval counts slopes away from the median: Sen 1968, section 3, with the variance of Kendall's statistic. */
static void
sen_interval(const double *slopes, size_t k, size_t n, struct trend *out)
{
	const double points = (double)n, pairs = (double)k;
	const double away = num_normal_quantile(0.975) * sqrt(points * (points - 1) * (2 * points + 5) / 18);
	const double low = floor((pairs - away) / 2), high = ceil((pairs + away) / 2);

	if (low < 0 || high >= pairs)
		return;
	out->sen_low = slopes[(size_t)low];
	out->sen_high = slopes[(size_t)high];
}

static void
sen_fit(const double *step, const double *value, size_t n, struct trend *out)
{
	const bool all = n <= PAIRS_OF;
	struct arena *a = arena_new();
	double *slopes = ARENA_ARRAY(a, double, all ? n *(n - 1) / 2 : n);

	out->sen = out->sen_low = out->sen_high = NAN;
	const size_t k = all ? all_pairs(step, value, n, slopes) : half_pairs(step, value, n, slopes);
	if (k > 0) {
		num_sort(slopes, k);
		out->sen = num_quantile(slopes, k, 0.5);
		if (all)
			sen_interval(slopes, k, n, out);
	}
	arena_free(a);
}

/* --- sawteeth -------------------------------------------------------------------------------------------- */

struct turns {
	size_t n_lows, n_tops, n_rising, n_falling; /* points on the way up and down */
	double *low_step, *low, *top_step, *top;
};

/* Walks along the series; a turn is known when it has gone back by `enough`. */
static void
find_turns(const double *step, const double *value, size_t n, double enough, struct turns *t)
{
	size_t low = 0, top = 0;
	bool up = true; /* a fall is looked for */
	const size_t most = TEETH_MAX;

	for (size_t i = 1; i < n; i++) {
		if (up) {
			top = value[i] > value[top] ? i : top;
			if (value[top] - value[i] < enough || t->n_tops == most)
				continue;
			t->top_step[t->n_tops] = step[top];
			t->top[t->n_tops++] = value[top];
			if (t->n_lows == 0 && top > 0) { /* where the first rise began */
				for (size_t k = 0; k < top; k++)
					low = value[k] < value[low] ? k : low;
				t->low_step[0] = step[low];
				t->low[t->n_lows++] = value[low];
			}
			t->n_rising += top - low;
			low = i;
			up = false;
		} else {
			low = value[i] < value[low] ? i : low;
			if (value[i] - value[low] < enough || t->n_lows == most)
				continue;
			t->low_step[t->n_lows] = step[low];
			t->low[t->n_lows++] = value[low];
			t->n_falling += low - top;
			top = i;
			up = true;
		}
	}
	if (!up && t->n_lows < most) {
		t->low_step[t->n_lows] = step[low];
		t->low[t->n_lows++] = value[low];
		t->n_falling += low - top;
	}
}

/* Lows that rise one after the other, or by more than their scatter explains. */
static bool
floor_rises(const struct turns *t, const struct trend_line *floor)
{
	bool each = t->n_lows >= 3;

	for (size_t i = 1; i < t->n_lows; i++)
		each = each && t->low[i] > t->low[i - 1];
	return each || (floor->given && t->n_lows >= 4 && trend_low(floor) > 0);
}

/* True when the series is a sawtooth; sets its kind. */
static bool
is_sawtooth(const double *step, const double *value, size_t n, double range, struct trend *out)
{
	const size_t most = n < TEETH_MAX ? n : TEETH_MAX;
	struct arena *a = arena_new();
	bool is = false;

	struct turns t = {.low_step = ARENA_ARRAY(a, double, most + 1),
	    .low = ARENA_ARRAY(a, double, most + 1),
	    .top_step = ARENA_ARRAY(a, double, most + 1),
	    .top = ARENA_ARRAY(a, double, most + 1)};
	find_turns(step, value, n, TOOTH * range, &t);
	out->n_teeth = t.n_tops;
	if (t.n_tops >= TEETH_FROM && (double)t.n_rising >= SLOWER * (double)t.n_falling) {
		is = true;
		out->floor = line_through(t.low_step, t.low, t.n_lows, NULL);
		out->crest = line_through(t.top_step, t.top, t.n_tops, NULL);
		out->kind = floor_rises(&t, &out->floor) ? TREND_CLIMBING : TREND_SAWTOOTH;
	}
	arena_free(a);
	return is;
}

/* --- the verdict ----------------------------------------------------------------------------------------- */

static bool
levels_off(const struct trend *t)
{
	return t->late.given && trend_low(&t->late) <= 0 && t->late.slope.value < STOPPED * t->all.slope.value;
}

bool
trend_fit(const double *step, const double *value, size_t n, struct trend *out)
{
	double low = value[0], high = value[0];

	assert(n >= 2);
	*out = (struct trend){.kind = TREND_STABLE, .explained_frac = NAN};
	out->all = line_through(step, value, n, &out->explained_frac);
	if (!out->all.given)
		return false;
	sen_fit(step, value, n, out);
	for (size_t i = 1; i < n; i++) {
		low = fmin(low, value[i]);
		high = fmax(high, value[i]);
	}
	if (n >= LEVELS_FROM)
		out->late = line_through(step + n / 2, value + n / 2, n - n / 2, NULL);
	if (n == 2)
		out->kind = TREND_UNKNOWN;
	else if (high > low && is_sawtooth(step, value, n, high - low, out))
		return true;
	else if (trend_low(&out->all) > 0 && out->sen > 0)
		out->kind = levels_off(out) ? TREND_LEVELS : TREND_LEAK;
	else if (trend_high(&out->all) < 0 && out->sen < 0)
		out->kind = TREND_SHRINKS;
	return true;
}

const char *
trend_word(enum trend_kind kind)
{
	static const char *const words[] = {[TREND_UNKNOWN] = "unknown",
	    [TREND_STABLE] = "stable",
	    [TREND_LEAK] = "leak",
	    [TREND_SAWTOOTH] = "sawtooth",
	    [TREND_CLIMBING] = "leak under a sawtooth",
	    [TREND_LEVELS] = "levels off",
	    [TREND_SHRINKS] = "shrinks"};

	return words[kind];
}

/* --- scaling fit --------------------------------------------------------------------------------------------- */

/*
 * Throughput is measured with a relative error, so relative residuals are minimised.  n / rate is linear in 1/single,
 * contention/single and coherency/single (Gunther, Guerrilla Capacity Planning, 2007, section 5.5): a linear fit of
 * that gives the start, Levenberg-Marquardt the answer.  Intervals are the usual ones of least squares: covariance s^2
 * (J'J)^-1, Student's t with the points that are left over.
 */

enum { POINTS_MAX = 256, SINGLE = 0, CONTENTION = 1, COHERENCY = 2 };

static double
law(double n, const double *p, double coherency, double *gradient)
{
	const double others = n - 1, pairs = n * (n - 1);
	const double slowdown = 1 + p[CONTENTION] * others + coherency * pairs;
	const double rate = p[SINGLE] * n / slowdown;

	gradient[SINGLE] = n / slowdown;
	gradient[CONTENTION] = -rate * others / slowdown;
	return rate;
}

static double
amdahl(double n, const double *p, double *gradient)
{
	return law(n, p, 0, gradient);
}

static double
usl(double n, const double *p, double *gradient)
{
	const double rate = law(n, p, p[COHERENCY], gradient);

	gradient[COHERENCY] = -rate * rate * (n - 1) / p[SINGLE];
	return rate;
}

static bool
start_values(const struct fit_point *points, size_t n, size_t n_params, double *start)
{
	double design[POINTS_MAX * 3], y[POINTS_MAX], weight[POINTS_MAX];

	for (size_t i = 0; i < n; i++) {
		const double ranks = points[i].n_ranks;
		const double row[3] = {1, ranks - 1, ranks * (ranks - 1)};

		for (size_t j = 0; j < n_params; j++)
			design[i * n_params + j] = row[j];
		y[i] = ranks / points[i].rate;
		weight[i] = 1 / (y[i] * y[i]);
	}
	if (!num_linear(n, n_params, design, y, weight, start) || !(start[SINGLE] > 0))
		return false;
	start[SINGLE] = 1 / start[SINGLE];
	for (size_t j = 1; j < n_params; j++)
		start[j] *= start[SINGLE];
	return true;
}

/* Rates are fitted in units of the first one, so that jobs per second and bytes per day converge alike. */
static struct fit
fit(const struct fit_point *points, size_t n, size_t n_params)
{
	double x[POINTS_MAX], y[POINTS_MAX], weight[POINTS_MAX], start[NUM_PARAMS_MAX];
	struct fit_point scaled[POINTS_MAX];
	struct fit out = {.n_params = n_params};
	struct num_fit found;

	assert(n <= POINTS_MAX);
	if (n < n_params)
		return out;
	const double unit[3] = {points[0].rate, 1, 1};
	for (size_t i = 0; i < n; i++) {
		scaled[i] = (struct fit_point){points[i].n_ranks, points[i].rate / unit[SINGLE]};
		x[i] = scaled[i].n_ranks;
		y[i] = scaled[i].rate;
		weight[i] = 1 / (y[i] * y[i]);
	}
	const struct num_curve curve = {n, n_params, x, y, weight, n_params == 3 ? usl : amdahl};
	if (!start_values(scaled, n, n_params, start) || !num_fit(&curve, start, &found))
		return out;
	out.given = true;
	out.n_free = found.n_free;
	out.single = found.param[SINGLE] * unit[SINGLE];
	out.contention = found.param[CONTENTION];
	out.coherency = n_params == 3 ? found.param[COHERENCY] : 0;
	for (size_t i = 0; i < n_params; i++)
		for (size_t j = 0; j < n_params; j++)
			out.covariance[i][j] = found.covariance[i][j] * unit[i] * unit[j];
	out.scatter_frac = found.residual_sd;
	return out;
}

struct fit
fit_amdahl(const struct fit_point *points, size_t n)
{
	return fit(points, n, 2);
}

struct fit
fit_usl(const struct fit_point *points, size_t n)
{
	return fit(points, n, 3);
}

static struct scale_estimate
estimate(const struct fit *f, double value, double variance)
{
	struct scale_estimate e = {value, sqrt(fmax(0, variance)), 0, 0};

	if (f->n_free) {
		e.t_80 = num_student(0.80, (double)f->n_free);
		e.t_95 = num_student(0.95, (double)f->n_free);
	}
	return e;
}

struct scale_estimate
fit_contention(const struct fit *f)
{
	return estimate(f, f->contention, f->covariance[CONTENTION][CONTENTION]);
}

struct scale_estimate
fit_coherency(const struct fit *f)
{
	return estimate(f, f->coherency, f->covariance[COHERENCY][COHERENCY]);
}

struct scale_estimate
fit_rate(const struct fit *f, double n_ranks)
{
	const double p[3] = {f->single, f->contention, f->coherency};
	double gradient[3] = {0, 0, 0}, variance = 0;
	const double rate = usl(n_ranks, p, gradient);

	assert(f->n_params <= 3);
	for (size_t i = 0; i < f->n_params; i++)
		for (size_t j = 0; j < f->n_params; j++)
			variance += gradient[i] * f->covariance[i][j] * gradient[j];
	return estimate(f, rate, variance + rate * rate * f->scatter_frac * f->scatter_frac);
}

struct fit
fit_choose(const struct fit *amdahl_fit, const struct fit *usl_fit)
{
	const struct scale_estimate k = fit_coherency(usl_fit);
	const bool pays = usl_fit->given && usl_fit->n_free && k.value - k.t_80 * k.error > 0;
	struct fit chosen = pays ? *usl_fit : *amdahl_fit;

	chosen.contention = fmax(0, chosen.contention);
	chosen.coherency = fmax(0, chosen.coherency);
	return chosen;
}
