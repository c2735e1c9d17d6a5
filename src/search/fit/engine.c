/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times of a serving step are close to linear in these parameters, so that a run is asked a few times and the fit works
 * on the tangent; that is done again where the fit leads, until it stays.
 *
 * Whether the rows tell a parameter is known beforehand from how much of each row's time goes with it: the covariance
 * of the linear problem, with errors of 5 % a row.  One that would be known worse than people can guess keeps its
 * value.
 */
#include "search/fit/fit.h"

#include "base/base.h"

#include <string.h>

enum { ROUNDS = 5, N_BOOTSTRAP = 200, FOLDS_MAX = 20 };
static const double nudge = 0.1, row_error = 0.05, settled = 2e-3, worth = 1.03;

/* The file's key, bounds, and how well a parameter must be known: the standard error over its value, or over what it
 * usually is where that is more.  Kernels are known to some percent without a fit. */
static const struct {
	const char *key;
	enum quantity unit;
	size_t offset;
	double start, low, high, usual, needed;
} params[N_ENGINE_PARAMS] = {
    [ENGINE_HOST] = {"host", Q_TIME, offsetof(struct engine, host_s), 0.1e-3, 1e-6, 0.1, 1e-3, 0.4},
    [ENGINE_GPU] = {"gpu", Q_NUMBER, offsetof(struct engine, gpu_factor), 1, 0.5, 2, 1, 0.06},
    [ENGINE_COMM] = {"comm", Q_NUMBER, offsetof(struct engine, comm_factor), 1, 0.4, 8, 1, 0.25},
    [ENGINE_SEQUENCE] = {"sequence", Q_TIME, offsetof(struct engine, sequence_s), 0.5e-6, 1e-8, 5e-3, 10e-6, 0.5},
};

const char *
engine_param_key(enum engine_param p)
{
	return params[p].key;
}

enum quantity
engine_param_unit(enum engine_param p)
{
	return params[p].unit;
}

double
engine_param_value(const struct engine *e, enum engine_param p)
{
	struct datum d;

	memcpy(&d, (const char *)e + params[p].offset, sizeof d);
	return datum_or(d, 0);
}

static void
engine_param_set(struct engine *e, enum engine_param p, double value)
{
	struct datum d;

	memcpy(&d, (char *)e + params[p].offset, sizeof d);
	d.value = value;
	memcpy((char *)e + params[p].offset, &d, sizeof d);
}

/* --- the tangent ----------------------------------------------------------------------------------------- */

struct tangent {
	int n;
	double at[N_ENGINE_PARAMS];
	double *time_s, *room;            /* there */
	double (*slope)[N_ENGINE_PARAMS]; /* per unit of each parameter */
};

static void
predict_all(const struct engine *base, const struct fit_engine_points *p, const double *value, double *out)
{
	struct engine e = *base;

	for (int j = 0; j < N_ENGINE_PARAMS; j++)
		engine_param_set(&e, (enum engine_param)j, value[j]);
	for (int i = 0; i < p->n; i++)
		out[i] = p->predict(p->context, &e, i);
}

/* Past saturation there is no answer: the slope is that of the other side, or none. */
static void
lay_tangent(const struct engine *base, const struct fit_engine_points *p, const bool *free, struct tangent *t)
{
	predict_all(base, p, t->at, t->time_s);
	for (int j = 0; j < N_ENGINE_PARAMS; j++) {
		bool open = free[j];

		for (int i = 0; i < p->n; i++)
			t->slope[i][j] = free[j] ? NAN : 0;
		for (int side = 1; open && side >= -1; side -= 2) {
			double value[N_ENGINE_PARAMS];

			memcpy(value, t->at, sizeof value);
			value[j] *= 1 + side * nudge;
			predict_all(base, p, value, t->room);
			open = false;
			for (int i = 0; i < p->n; i++) {
				if (isnan(t->slope[i][j]))
					t->slope[i][j] = (t->room[i] - t->time_s[i]) / (side * nudge * t->at[j]);
				open = open || isnan(t->slope[i][j]);
			}
		}
		for (int i = 0; i < p->n; i++)
			t->slope[i][j] = isnan(t->slope[i][j]) ? 0 : t->slope[i][j];
	}
}

static double
on_tangent(const void *context, const double *value, int row)
{
	const struct tangent *t = context;
	double time_s = t->time_s[row];

	for (int j = 0; j < N_ENGINE_PARAMS; j++)
		time_s += t->slope[row][j] * (value[j] - t->at[j]);
	return fmax(time_s, 1e-3 * t->time_s[row]);
}

/* --- parameters that the rows determine ------------------------------------------------------------------ */

/* Share of a row's time that depends on a parameter of typical size. */
static double
share(const struct tangent *t, int row, int j)
{
	return t->time_s[row] > 0 ? t->slope[row][j] * fmax(t->at[j], params[j].usual) / t->time_s[row] : 0;
}

/* Standard error of `which`, of its size, when it and those of `chosen` are fitted together. */
static double
known_to(const struct tangent *t, const bool *chosen, int which)
{
	double normal[N_ENGINE_PARAMS * N_ENGINE_PARAMS] = {0}, unit[N_ENGINE_PARAMS] = {0}, x[N_ENGINE_PARAMS];
	int list[N_ENGINE_PARAMS], n = 0, at = 0;

	for (int j = 0; j < N_ENGINE_PARAMS; j++)
		if (chosen[j] || j == which) {
			at = j == which ? n : at;
			list[n++] = j;
		}
	for (int i = 0; i < t->n; i++)
		for (int j = 0; j < n; j++)
			for (int k = 0; k < n; k++)
				normal[j * n + k] += share(t, i, list[j]) * share(t, i, list[k]);
	unit[at] = 1;
	return num_solve((size_t)n, normal, unit, x) && x[at] > 0 ? row_error * sqrt(x[at]) : INFINITY;
}

/* Which of the chosen ones is no longer known well enough when `which` is fitted too; -1: none. */
static int
spoilt(const struct tangent *t, const bool *chosen, int which)
{
	bool trial[N_ENGINE_PARAMS];

	memcpy(trial, chosen, sizeof trial);
	trial[which] = true;
	for (int k = 0; k < N_ENGINE_PARAMS; k++)
		if (chosen[k] && known_to(t, trial, k) > params[k].needed)
			return k;
	return -1;
}

/* In the order of the table; a parameter must not cost those before it what is known of them. */
static void
choose(
    struct arena *a, const struct fit_engine_points *p, const struct tangent *t, struct fit_engine *out, bool *chosen)
{
	int n = 0;

	for (int j = 0; j < N_ENGINE_PARAMS; j++) {
		const double known = known_to(t, chosen, j);
		const int other = spoilt(t, chosen, j);
		const char **why = &out->param[j].why;

		if (j == ENGINE_COMM && !p->parallel)
			*why = "no row has tensor parallelism";
		else if (p->n < n + FIT_ENGINE_ROWS)
			*why = "too few rows";
		else if (known > 9)
			*why = "almost no time depends on it";
		else if (known > params[j].needed)
			*why = arena_printf(a, "the rows vary too little: +-%.0f %%", 100 * known);
		else if (other >= 0)
			*why = arena_printf(a, "the rows do not separate it from '%s'", params[other].key);
		else {
			chosen[j] = true;
			n++;
		}
	}
}

/* --- the fit --------------------------------------------------------------------------------------------- */

/* A fit on the tangent; what is not chosen rests. */
struct bench {
	struct arena *arena;
	const struct fit_engine_points *points;
	struct tangent *tangent;
	const double *weight, *rest;
	bool chosen[N_ENGINE_PARAMS];
};

static struct fit_problem
problem_of(const struct bench *b)
{
	const struct fit_engine_points *p = b->points;
	struct fit_problem problem = {.n_params = N_ENGINE_PARAMS,
	    .n_rows = p->n,
	    .predict = on_tangent,
	    .context = b->tangent,
	    .measured_s = p->measured_s,
	    .weight = b->weight,
	    .group = p->row};

	for (int j = 0; j < N_ENGINE_PARAMS; j++) {
		const double start = b->chosen[j] ? b->tangent->at[j] : b->rest[j];
		problem.params[j] = (struct fit_param){
		    params[j].key, start, fmin(params[j].low, start), fmax(params[j].high, start), !b->chosen[j]};
	}
	return problem;
}

/* Rows are left out in turn, or twentieths of them; what the others give predicts them on the tangent.  Returns the
 * mean |ln(predicted / measured)|. */
static double
predict_unseen(const struct bench *b, double *unseen_s)
{
	const struct fit_engine_points *p = b->points;
	unsigned char *keep = ARENA_ARRAY(b->arena, unsigned char, p->n);
	int n_rows = 0;
	double sum = 0, total = 0;

	for (int i = 0; i < p->n; i++)
		n_rows = p->row[i] >= n_rows ? p->row[i] + 1 : n_rows;
	const int n_folds = n_rows < FOLDS_MAX ? n_rows : FOLDS_MAX;
	for (int f = 0; f < n_folds; f++) {
		struct fit_problem problem = problem_of(b);
		struct fit_result r;
		double value[N_ENGINE_PARAMS];

		for (int i = 0; i < p->n; i++)
			keep[i] = p->row[i] % n_folds != f;
		problem.keep = keep;
		const bool fitted = fit_run(&problem, 0, &r);
		for (int j = 0; j < N_ENGINE_PARAMS; j++)
			value[j] = r.param[j].value;
		for (int i = 0; i < p->n; i++) {
			if (keep[i])
				continue;
			unseen_s[i] = fitted ? on_tangent(b->tangent, value, i) : NAN;
			if (!(b->weight[i] > 0) || !(unseen_s[i] > 0))
				continue;
			sum += b->weight[i] * fabs(log(unseen_s[i] / p->measured_s[i]));
			total += b->weight[i];
		}
	}
	return total > 0 ? sum / total : INFINITY;
}

/* A parameter without which other rows are predicted as well is left as it was; the last one stays. */
static void
drop_idle(struct bench *b, struct fit_engine *out, double *unseen_s)
{
	int n = 0;

	for (int j = 0; j < N_ENGINE_PARAMS; j++)
		n += b->chosen[j];
	double best = n > 1 ? predict_unseen(b, unseen_s) : 0;
	for (int j = N_ENGINE_PARAMS - 1; j >= 0 && n > 1; j--) {
		if (!b->chosen[j])
			continue;
		b->chosen[j] = false;
		const double without = predict_unseen(b, unseen_s);
		if (without <= best * worth) {
			best = fmin(best, without);
			out->param[j].why = "held-out rows are predicted equally well without it";
			n--;
		} else
			b->chosen[j] = true;
	}
}

static void
set_kinds(struct arena *a, const struct fit_engine_points *p, const double *unseen_s, const double *weight,
    struct fit_engine *out)
{
	double *part_s = ARENA_ARRAY(a, double, p->n);

	for (int i = 0; i < p->n; i++) {
		int k = 0;

		while (k < out->n_kinds && strcmp(out->kinds[k].kind, p->kind[i]) != 0)
			k++;
		if (k < out->n_kinds || k == FIT_ENGINE_RESIDUALS || !(weight[i] > 0))
			continue;
		for (int j = 0; j < p->n; j++)
			part_s[j] = strcmp(p->kind[j], p->kind[i]) == 0 ? unseen_s[j] : NAN;
		out->kinds[k].kind = p->kind[i];
		out->kinds[k].unseen = fitted_errors_of(a, p->n, part_s, p->measured_s, weight);
		out->n_kinds++;
	}
}

/* Each row counts once, whatever it has points.  Points that no parameter moves, such as the throughput of a run that
 * keeps up with its requests, say nothing. */
static double *
weights(struct arena *a, const struct fit_engine_points *p, const struct tangent *t)
{
	double *weight = ARENA_ARRAY(a, double, p->n);

	for (int i = 0; i < p->n; i++) {
		double moved = 0;
		for (int j = 0; j < N_ENGINE_PARAMS; j++)
			moved = fmax(moved, fabs(t->slope[i][j] * t->at[j]));
		weight[i] = moved > 1e-3 * t->time_s[i];
	}
	for (int i = 0; i < p->n; i++) {
		double same = 0;
		for (int j = 0; j < p->n; j++)
			same += p->row[j] == p->row[i] && weight[j] > 0;
		t->room[i] = same;
	}
	for (int i = 0; i < p->n; i++)
		weight[i] = weight[i] > 0 ? 1 / t->room[i] : 0;
	return weight;
}

/* Change of the parameters, in logarithms. */
static double
move(const struct fit_result *r, const struct bench *b)
{
	double far = 0;

	for (int j = 0; j < N_ENGINE_PARAMS; j++) {
		if (!b->chosen[j])
			continue;
		far = fmax(far, fabs(log(r->param[j].value / b->tangent->at[j])));
		b->tangent->at[j] = r->param[j].value;
	}
	return far;
}

/* Until it stays; then the intervals.  What these leave open is given back, and all of it is done again. */
static bool
settle(struct bench *b, const struct engine *base, struct fit_engine *out, struct fit_result *r)
{
	struct tangent *t = b->tangent;

	for (;;) {
		bool again = false, any = false;

		for (int j = 0; j < N_ENGINE_PARAMS; j++)
			t->at[j] = b->chosen[j] ? t->at[j] : b->rest[j];
		for (int round = 0; round < ROUNDS; round++) {
			lay_tangent(base, b->points, b->chosen, t);
			const struct fit_problem problem = problem_of(b);
			if (!fit_run(&problem, 0, r))
				return false;
			if (move(r, b) < settled)
				break;
		}
		lay_tangent(base, b->points, b->chosen, t);
		const struct fit_problem problem = problem_of(b);
		if (!fit_run(&problem, N_BOOTSTRAP, r))
			return false;
		for (int j = 0; j < N_ENGINE_PARAMS; j++) {
			any = any || (b->chosen[j] && r->param[j].identified);
			if (!b->chosen[j] || r->param[j].identified)
				continue;
			b->chosen[j] = false;
			again = true;
			out->param[j].why = "the rows do not determine it";
		}
		if (!any)
			return false;
		if (!again)
			return true;
	}
}

/* A time at its lower bound is nothing. */
static void
set_param(struct fit_engine_param *out, int j, double value, double low, double high)
{
	const bool nothing = params[j].unit == Q_TIME && value < 1.1 * params[j].low;

	*out = (struct fit_engine_param){.fitted = true,
	    .value = nothing ? 0 : value,
	    .low = nothing ? 0 : fmin(low, value),
	    .high = fmax(high, value)};
}

bool
fit_engine(struct arena *a, const struct engine *base, const struct fit_engine_points *p, struct fit_engine *out)
{
	struct tangent t = {
	    .n = p->n, .time_s = ARENA_ARRAY(a, double, p->n + 1), .room = ARENA_ARRAY(a, double, p->n + 1)};
	double *before_s = ARENA_ARRAY(a, double, p->n + 1), *unseen_s = ARENA_ARRAY(a, double, p->n + 1);
	double start[N_ENGINE_PARAMS];
	bool all[N_ENGINE_PARAMS], any = false;
	struct bench b = {.arena = a, .points = p, .tangent = &t, .rest = start};
	struct fit_result r;

	*out = (struct fit_engine){.n_kinds = 0};
	t.slope = arena_take(a, (size_t)(p->n + 1) * sizeof *t.slope);
	for (int j = 0; j < N_ENGINE_PARAMS; j++) {
		start[j] = engine_param_value(base, (enum engine_param)j);
		t.at[j] = start[j] > 0 ? start[j] : params[j].start;
		out->param[j].value = out->param[j].low = out->param[j].high = start[j];
		all[j] = true;
	}
	predict_all(base, p, start, before_s);
	lay_tangent(base, p, all, &t);
	choose(a, p, &t, out, b.chosen);
	b.weight = weights(a, p, &t);
	for (int j = 0; j < N_ENGINE_PARAMS; j++)
		any = any || b.chosen[j];
	if (!any)
		return false;
	drop_idle(&b, out, unseen_s);
	if (!settle(&b, base, out, &r))
		return false;
	for (int j = 0; j < N_ENGINE_PARAMS; j++)
		if (b.chosen[j])
			set_param(&out->param[j], j, t.at[j], r.param[j].low, r.param[j].high);
	predict_unseen(&b, unseen_s);
	out->before = fitted_errors_of(a, p->n, before_s, p->measured_s, b.weight);
	out->after = fitted_errors_of(a, p->n, t.time_s, p->measured_s, b.weight);
	out->unseen = fitted_errors_of(a, p->n, unseen_s, p->measured_s, b.weight);
	set_kinds(a, p, unseen_s, b.weight, out);
	return true;
}
