/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each row has a factor at which the model would meet it.  Their weighted median, with the share of the step that goes
 * with the factor as the weight, makes the sum of |ln(predicted / measured)| least to first order, and a wild row does
 * not pull it.
 */
#include "search/fit/fit.h"

#include "base/base.h"
#include "model/memory/memory.h"

#include <stdlib.h>
#include <string.h>

/* The bounds are those of the stack's file. */
static const double least = 0.2, most = 10, nudge = 1.02;
enum { N_RESAMPLES = 1000, ROUNDS = 3, SEED = 1 };

struct own {
	double log_sigma, weight;
	bool experts;
	int unit; /* left out together */
};

static bool
has_experts(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].moe.given)
			return true;
	return false;
}

static double
predict(const struct fit_stack_row *row, double sigma)
{
	struct stack stack = *row->ask.stack;
	struct train_ask ask = row->ask;
	struct train_answer answer;

	stack.time.sigma.value = sigma;
	if (datum_given(stack.time.moe_sigma))
		stack.time.moe_sigma.value = sigma;
	ask.stack = &stack;
	train_answer(&ask, &row->doubts, &answer);
	return answer.step_s;
}

static double
excess(double log_sigma, const void *context)
{
	const struct fit_stack_row *row = context;

	return log(predict(row, exp(log_sigma)) / row->measured_s);
}

/* Beyond a bound: the bound. */
static double
own_sigma(const struct fit_stack_row *row)
{
	double root;

	if (excess(log(least), row) >= 0)
		return log(least);
	return num_bisect(excess, row, log(least), log(most), &root) ? root : log(most);
}

/* d ln(step) / d ln(sigma). */
static double
share_at(const struct fit_stack_row *row, double sigma)
{
	return fmax(0, log(predict(row, sigma * nudge) / predict(row, sigma / nudge)) / (2 * log(nudge)));
}

/* --- the weighted median --------------------------------------------------------------------------------- */

static int
by_sigma(const void *a, const void *b)
{
	const double x = ((const struct own *)a)->log_sigma, y = ((const struct own *)b)->log_sigma;

	return (x > y) - (x < y);
}

/* Weighted median of a sorted list; the mean of the two middle values if both halves weigh the same. */
static double
median(struct own *list, int n)
{
	double total = 0, below = 0;

	qsort(list, (size_t)n, sizeof *list, by_sigma);
	for (int i = 0; i < n; i++)
		total += list[i].weight;
	for (int i = 0; i < n; i++) {
		below += list[i].weight;
		if (fabs(below - total / 2) < 1e-12 * total && i + 1 < n)
			return (list[i].log_sigma + list[i + 1].log_sigma) / 2;
		if (below > total / 2)
			return list[i].log_sigma;
	}
	return n ? list[n - 1].log_sigma : NAN;
}

/* Of one kind of rows, without those of one unit (-1: all). */
static int
gather(const struct own *all, int n, bool experts, int without, struct own *out)
{
	int k = 0;

	for (int i = 0; i < n; i++)
		if (all[i].unit != without && all[i].experts == experts && all[i].weight > 0)
			out[k++] = all[i];
	return k;
}

/* 80 % of what resamples of the rows give. */
static void
bootstrap(struct arena *a, const struct own *list, int n, struct fit_sigma *out)
{
	struct own *draw = ARENA_ARRAY(a, struct own, n);
	double *medians = ARENA_ARRAY(a, double, N_RESAMPLES);
	uint64_t state = SEED;

	for (int b = 0; b < N_RESAMPLES; b++) {
		for (int i = 0; i < n; i++)
			draw[i] = list[(int)(random_uniform(&state) * n)];
		medians[b] = median(draw, n);
	}
	num_sort(medians, N_RESAMPLES);
	out->low = fmin(out->value, exp(num_quantile(medians, N_RESAMPLES, 0.1)));
	out->high = fmax(out->value, exp(num_quantile(medians, N_RESAMPLES, 0.9)));
}

/* --- the fit --------------------------------------------------------------------------------------------- */

static void
fit_one(struct arena *a, const struct fit_stack_row *rows, int n, struct own *own, bool experts, double start,
    struct fit_sigma *out)
{
	struct own *list = ARENA_ARRAY(a, struct own, n + 1);
	int found = 0;

	*out = (struct fit_sigma){0, start, start, start, NAN};
	for (int i = 0; i < n; i++)
		found += own[i].experts == experts;
	if (found < FIT_STACK_ROWS)
		return;
	for (int round = 0; round < ROUNDS; round++) {
		double sum = 0;
		for (int i = 0; i < n; i++)
			if (own[i].experts == experts) {
				own[i].weight = share_at(&rows[i], out->value);
				sum += own[i].weight;
			}
		const int k = gather(own, n, experts, -1, list);
		if (k < FIT_STACK_ROWS)
			return;
		out->n = found;
		out->share_frac = sum / found;
		out->value = exp(median(list, k));
		if (round == ROUNDS - 1)
			bootstrap(a, list, k, out);
	}
}

/* The factor that the other units give; the inherited one where they have too few rows. */
static double
without(const struct own *own, int n, int i, double inherited, struct own *room)
{
	const int k = gather(own, n, own[i].experts, own[i].unit, room);

	return k > 0 ? exp(median(room, k)) : inherited;
}

static bool
same_unit(const struct fit_stack_row *a, const struct fit_stack_row *b, enum fit_left left)
{
	const char *x = left == FIT_LEFT_MODEL ? a->model : a->gpu, *y = left == FIT_LEFT_MODEL ? b->model : b->gpu;

	return left == FIT_LEFT_ROW ? a == b : x && y ? strcmp(x, y) == 0 : x == y;
}

/* Number the units, by the first dimension that has two. */
static void
set_units(int n, const struct fit_stack_row *rows, struct own *own, struct fit_stack *out)
{
	for (out->left = FIT_LEFT_MODEL; out->left < N_FIT_LEFTS; out->left++) {
		out->n_left = 0;
		for (int i = 0; i < n; i++) {
			int k = 0;
			while (k < i && !same_unit(&rows[k], &rows[i], out->left))
				k++;
			own[i].unit = k < i ? own[k].unit : out->n_left++;
		}
		if (out->n_left > 1 || out->left == FIT_LEFT_ROW)
			return;
	}
}

/* Standard deviations inside units and between them, by moments, as ln(measured / predicted). */
static void
components(
    struct arena *a, int n, const int *unit, int n_units, const double *log_ratio, double *within, double *between)
{
	double *sum = ARENA_ARRAY(a, double, n_units), *squares = ARENA_ARRAY(a, double, n_units);
	int *size = ARENA_ARRAY(a, int, n_units), used = 0;
	double inside = 0, mean = 0, around = 0, inverse = 0;

	for (int i = 0; i < n; i++) {
		sum[unit[i]] += log_ratio[i];
		squares[unit[i]] += log_ratio[i] * log_ratio[i];
		size[unit[i]]++;
	}
	for (int u = 0; u < n_units; u++)
		if (size[u]) {
			inside += fmax(0, squares[u] - sum[u] * sum[u] / size[u]);
			mean += sum[u] / size[u];
			inverse += 1.0 / size[u];
			used++;
		}
	for (int u = 0; u < n_units; u++)
		if (size[u])
			around += pow(sum[u] / size[u] - mean / used, 2);
	const double v_within = n > used ? inside / (n - used) : 0;
	*within = sqrt(v_within);
	*between = used > 1 ? sqrt(fmax(0, around / (used - 1) - inverse / used * v_within)) : 0;
}

/* One parameter was taken from these residuals; a new run strays by the scatter and by the factor's own error.  Few
 * rows are counted beside as many of the listed spread as are missing.  Where units were left out, a new one strays as
 * they do between one another too. */
static void
set_spread(struct arena *a, int n, int n_fitted, const int *unit, const double *log_ratio, double listed,
    struct fit_stack *out)
{
	double sum = 0, within, between;

	for (int i = 0; i < n; i++)
		sum += log_ratio[i] * log_ratio[i];
	double variance = sum / fmax(1, n - n_fitted) * (1 + (double)n_fitted / n);
	out->between = NAN;
	if (out->left != FIT_LEFT_ROW) {
		components(a, n, unit, out->n_left, log_ratio, &within, &between);
		variance = fmax(variance, within * within + between * between * (1 + 1.0 / out->n_left));
		out->between = between;
	}
	const double weight = fmin(1, (double)(n - n_fitted) / (FIT_STACK_SPREAD_ROWS - 1));
	out->seen_spread = sqrt(variance);
	out->spread = sqrt(weight * variance + (1 - weight) * listed * listed);
}

/* Exposed communication, as a share of the step. */
static double
comm_share(const struct fit_stack_row *row)
{
	double share[N_TRAIN_SHARES];
	struct train_answer answer;

	train_answer(&row->ask, &row->doubts, &answer);
	train_shares(&answer.job, &answer.terms, share);
	return (share[TRAIN_TP] + share[TRAIN_CP] + share[TRAIN_EP] + share[TRAIN_PP] + share[TRAIN_DP]) /
	    answer.terms.step_s;
}

/* A slope is told from nothing at three standard errors. */
static double
comm_slope(int n, const double *comm_frac, const double *log_ratio)
{
	struct num_line line;

	if (n < FIT_STACK_COMM_ROWS || !num_line((size_t)n, comm_frac, log_ratio, &line) || !(line.slope_error > 0))
		return NAN;
	return fabs(line.slope) > 3 * line.slope_error ? line.slope : NAN;
}

bool
fit_stack(struct arena *a, int n, const struct fit_stack_row *rows, double listed, struct fit_stack *out)
{
	*out = (struct fit_stack){.before_s = ARENA_ARRAY(a, double, n + 1), .after_s = ARENA_ARRAY(a, double, n + 1)};
	if (n < FIT_STACK_ROWS)
		return false;
	struct own *own = ARENA_ARRAY(a, struct own, n), *room = ARENA_ARRAY(a, struct own, n);
	double *measured_s = ARENA_ARRAY(a, double, n), *unseen_s = ARENA_ARRAY(a, double, n);
	double *log_ratio = ARENA_ARRAY(a, double, n), *comm_frac = ARENA_ARRAY(a, double, n);
	const struct stack_time *base = &rows[0].ask.stack->time;
	const double sigma = base->sigma.value, experts_sigma = datum_or(base->moe_sigma, sigma);

	int *unit = ARENA_ARRAY(a, int, n), n_used = 0;

	out->apart = datum_given(base->moe_sigma);
	for (int i = 0; i < n; i++)
		own[i] = (struct own){own_sigma(&rows[i]), 0, out->apart && has_experts(rows[i].ask.model), 0};
	set_units(n, rows, own, out);
	fit_one(a, rows, n, own, false, sigma, &out->dense);
	fit_one(a, rows, n, own, true, experts_sigma, &out->experts);
	if (!out->dense.n && !out->experts.n)
		return false;
	for (int i = 0; i < n; i++) {
		const struct fit_sigma *s = own[i].experts ? &out->experts : &out->dense;
		measured_s[i] = rows[i].measured_s;
		const double inherited = own[i].experts ? experts_sigma : sigma;
		out->before_s[i] = predict(&rows[i], inherited);
		out->after_s[i] = predict(&rows[i], s->value);
		unseen_s[i] = s->n ? predict(&rows[i], without(own, n, i, inherited, room)) : NAN;
		if (!s->n)
			continue;
		comm_frac[n_used] = comm_share(&rows[i]);
		unit[n_used] = own[i].unit;
		log_ratio[n_used++] = log(measured_s[i] / out->after_s[i]);
	}
	out->before = fitted_errors_of(a, n, out->before_s, measured_s, NULL);
	out->after = fitted_errors_of(a, n, out->after_s, measured_s, NULL);
	out->unseen = fitted_errors_of(a, n, unseen_s, measured_s, NULL);
	out->comm_slope = comm_slope(n_used, comm_frac, log_ratio);
	set_spread(a, n_used, (out->dense.n > 0) + (out->experts.n > 0), unit, log_ratio, listed, out);
	return true;
}
