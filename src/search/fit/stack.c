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

/* How far the mean of n rows of k groups lies from what framework and machine are like, as a variance. */
static double
mean_variance(const struct fit_prior *p, int n, int k)
{
	return p->within * p->within / n + p->group * p->group / k;
}

/* How much these rows say of the spread: few are counted beside as many of the prior as are missing. */
static double
rows_weight(int n, int n_fitted)
{
	return fmin(1, (double)(n - n_fitted) / (FIT_STACK_SPREAD_ROWS - 1));
}

static double
blend(double weight, double seen, double believed)
{
	return sqrt(weight * seen * seen + (1 - weight) * believed * believed);
}

/* Residuals no farther than twice the usual one, so that a wild row does not speak for all. */
static double *
tamed(struct arena *a, int n, const double *log_ratio)
{
	double *size = ARENA_ARRAY(a, double, n), *out = ARENA_ARRAY(a, double, n);

	for (int i = 0; i < n; i++)
		size[i] = fabs(log_ratio[i]);
	num_sort(size, (size_t)n);
	const double far = 2 * 1.4826 * num_quantile(size, (size_t)n, 0.5);
	for (int i = 0; i < n; i++)
		out[i] = fmin(fmax(log_ratio[i], -far), far);
	return out;
}

/* The components with what the rows show of them.  One group's own deviation cannot be told from the framework's. */
static struct fit_prior
with_rows(struct arena *a, const struct fit_prior *p, int n, int n_fitted, const int *unit, const double *log_ratio,
    const struct fit_stack *f)
{
	const double weight = rows_weight(n, n_fitted), *residual = tamed(a, n, log_ratio);
	double within, between;

	components(a, n, unit, f->n_left, residual, &within, &between);
	if (f->left != FIT_LEFT_ROW)
		return (struct fit_prior){blend(weight, within, p->within), blend(weight, between, p->group), p->stack};
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += residual[i] * residual[i];
	return (struct fit_prior){
	    blend(weight, sqrt(sum / fmax(1, n - n_fitted)), p->within), 0, hypot(p->stack, p->group)};
}

/* The part of a deviation that is the framework's and the machine's.  One beyond 1.5 standard deviations is drawn less
 * (Huber): a few frameworks are far off. */
static double
kept(const struct fit_prior *p, int n, int k, double deviation)
{
	const double far = p->stack > 0 ? fabs(deviation) / (1.5 * p->stack) : 0;
	const double v = p->stack * p->stack * fmax(1, far);

	return v > 0 ? v / (v + mean_variance(p, n, k)) : 0;
}

/* Draw the factor towards the inherited one, by what the step deviates. */
static void
draw(const struct fit_prior *p, int n_units, double inherited, struct fit_sigma *s)
{
	if (!s->n)
		return;
	const double share = kept(p, s->n, n_units, s->share_frac * log(s->value / inherited));
	s->value = inherited * pow(s->value / inherited, share);
	s->low = inherited * pow(s->low / inherited, share);
	s->high = inherited * pow(s->high / inherited, share);
}

/* Of a new run in another group: the components that stay, and what these rows leave of the framework's. */
static double
left_variance(const struct fit_prior *p, int n, int k)
{
	const double v = p->stack * p->stack, own = mean_variance(p, n, k);

	return p->within * p->within + p->group * p->group + (v > 0 ? v * own / (v + own) : 0);
}

/* One parameter was taken from these residuals; a new run strays by the scatter and by the factor's own error.  Few
 * rows are counted beside as many of the listed components as are missing.  Where units were left out, a new one strays
 * as they do between one another too.  Measuring makes nothing less certain: never more than before the rows. */
static void
set_spread(struct arena *a, int n, int n_fitted, const int *unit, const double *log_ratio,
    const struct fit_prior *prior, struct fit_stack *out)
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
	const double weight = rows_weight(n, n_fitted);
	const double before = prior->within * prior->within + prior->group * prior->group + prior->stack * prior->stack;
	const int k = out->left == FIT_LEFT_ROW ? 1 : out->n_left;
	out->seen_spread = sqrt(variance);
	out->spread = sqrt(fmin(before, weight * variance + (1 - weight) * left_variance(prior, n, k)));
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

/* What is worked out of the rows on the way. */
struct lab {
	int n, n_used;
	const struct fit_stack_row *rows;
	struct own *own, *room;
	double sigma, experts_sigma; /* inherited */
	double *measured_s, *unseen_s, *log_ratio, *comm_frac;
	int *unit; /* of each residual */
};

/* Predictions by the factors, without the row's unit, and the residuals of rows whose factor was fitted. */
static void
predict_all(struct lab *l, struct fit_stack *out)
{
	l->n_used = 0;
	for (int i = 0; i < l->n; i++) {
		const struct fit_sigma *s = l->own[i].experts ? &out->experts : &out->dense;
		const double inherited = l->own[i].experts ? l->experts_sigma : l->sigma;
		l->measured_s[i] = l->rows[i].measured_s;
		out->before_s[i] = predict(&l->rows[i], inherited);
		out->after_s[i] = predict(&l->rows[i], s->value);
		l->unseen_s[i] = s->n ? predict(&l->rows[i], without(l->own, l->n, i, inherited, l->room)) : NAN;
		if (!s->n)
			continue;
		l->comm_frac[l->n_used] = comm_share(&l->rows[i]);
		l->unit[l->n_used] = l->own[i].unit;
		l->log_ratio[l->n_used++] = log(l->measured_s[i] / out->after_s[i]);
	}
}

static struct lab
lab_of(struct arena *a, int n, const struct fit_stack_row *rows)
{
	const struct stack_time *base = &rows[0].ask.stack->time;

	return (struct lab){.n = n,
	    .rows = rows,
	    .own = ARENA_ARRAY(a, struct own, n),
	    .room = ARENA_ARRAY(a, struct own, n),
	    .sigma = base->sigma.value,
	    .experts_sigma = datum_or(base->moe_sigma, base->sigma.value),
	    .measured_s = ARENA_ARRAY(a, double, n),
	    .unseen_s = ARENA_ARRAY(a, double, n),
	    .log_ratio = ARENA_ARRAY(a, double, n),
	    .comm_frac = ARENA_ARRAY(a, double, n),
	    .unit = ARENA_ARRAY(a, int, n)};
}

bool
fit_stack(
    struct arena *a, int n, const struct fit_stack_row *rows, const struct fit_prior *prior, struct fit_stack *out)
{
	*out = (struct fit_stack){.before_s = ARENA_ARRAY(a, double, n + 1), .after_s = ARENA_ARRAY(a, double, n + 1)};
	if (n < FIT_STACK_ROWS)
		return false;
	struct lab l = lab_of(a, n, rows);

	out->apart = datum_given(rows[0].ask.stack->time.moe_sigma);
	for (int i = 0; i < n; i++)
		l.own[i] =
		    (struct own){own_sigma(&rows[i]), 0, out->apart && workload_has_experts(rows[i].ask.model), 0};
	set_units(n, rows, l.own, out);
	fit_one(a, rows, n, l.own, false, l.sigma, &out->dense);
	fit_one(a, rows, n, l.own, true, l.experts_sigma, &out->experts);
	if (!out->dense.n && !out->experts.n)
		return false;
	const int n_fitted = (out->dense.n > 0) + (out->experts.n > 0), k = out->left == FIT_LEFT_ROW ? 1 : out->n_left;
	predict_all(&l, out);
	const struct fit_prior seen = with_rows(a, prior, l.n_used, n_fitted, l.unit, l.log_ratio, out);
	draw(&seen, k, l.sigma, &out->dense);
	draw(&seen, k, l.experts_sigma, &out->experts);
	predict_all(&l, out);
	out->before = fitted_errors_of(a, n, out->before_s, l.measured_s, NULL);
	out->after = fitted_errors_of(a, n, out->after_s, l.measured_s, NULL);
	out->unseen = fitted_errors_of(a, n, l.unseen_s, l.measured_s, NULL);
	out->comm_slope = comm_slope(l.n_used, l.comm_frac, l.log_ratio);
	set_spread(a, l.n_used, n_fitted, l.unit, l.log_ratio, prior, out);
	return true;
}
