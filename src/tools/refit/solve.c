/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fit: least squares of log errors under Huber's weights, groups weighing the same, every constant drawn towards
 * the one that it inherits from (a random effect of known variance).
 */
#include "parts.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

/* Of a group's log error: what a residual is worth beside a constant's stray.  Beyond so much of it a row counts less:
 * serving is fitted to nearly absolute errors, since a few groups are far off whatever the constants are. */
static const double row_sd = 0.10, serve_sd = 0.05, huber = 1.5, serve_huber = 1, nudge = 0.03, given_sd = 1e-3;
enum { ROUNDS = 5, REWEIGHTS = 4, SERVE_REWEIGHTS = 12, PARAMS_OF_ROW = 64 };

void
refit_linearise(struct refit *r, const double *x)
{
	const int n = r->n, m = r->n_params;
	double *y = ARENA_ARRAY(r->arena, double, m), *moved = ARENA_ARRAY(r->arena, double, n);

	if (!r->jacobian) {
		r->jacobian = ARENA_ARRAY(r->arena, double, (size_t)n *(size_t)m);
		r->at = ARENA_ARRAY(r->arena, double, m);
		r->log_at = ARENA_ARRAY(r->arena, double, n);
		for (int p = 0; p < m; p++)
			r->params[p].moves = !r->params[p].hyper;
	}
	memcpy(r->at, x, sizeof(double) * (size_t)m);
	memcpy(y, x, sizeof(double) * (size_t)m);
	refit_set(r, x);
	refit_predict(r, r->log_at);
	for (int p = 0; p < m; p++) {
		if (!r->params[p].moves) /* no row knew it at first, or it is the mean of a class */
			continue;
		const double step = x[p] + nudge > r->params[p].most ? -nudge : nudge;
		bool moves = false;
		y[p] = x[p] + step;
		refit_set(r, y);
		refit_predict(r, moved);
		y[p] = x[p];
		for (int i = 0; i < n; i++) {
			const double slope = (moved[i] - r->log_at[i]) / step;
			r->jacobian[i * m + p] = isfinite(slope) ? slope : 0;
			moves = moves || r->jacobian[i * m + p] != 0;
		}
		r->params[p].moves = moves;
	}
	refit_set(r, x);
}

static void
group_sizes(const struct refit *r, enum leave by, int unit, int *size)
{
	for (int i = 0; i < r->n; i++)
		if (unit < 0 || r->rows[i].unit[by] != unit)
			size[r->rows[i].unit[LEAVE_GROUP]]++;
}

/*
 * The logarithm of a row's prediction at x, and its derivatives.  By the tangent, but for serving, whose constants go
 * far without their rows: a step's time is a sum, of which a constant scales a part and leaves the rest.
 */
static double
log_at(const struct refit *r, int i, double start, const int *at, int k, const double *x, double *slope)
{
	static const double least = 0.05; /* of the step time that must be left */
	const double *j = &r->jacobian[i * r->n_params];
	const bool is_sum = r->domain == DOMAIN_SERVE;
	const double sense = is_sum && strcmp(r->rows[i].of->unit, "x_s") != 0 ? -1 : 1;
	double change = 0, sum = 1;

	for (int p = 0; p < k; p++) {
		const double moved = x[at[p]] - r->at[at[p]], grown = expm1(copysign(moved, moved * sense * j[at[p]]));
		change += j[at[p]] * moved;
		sum += fabs(j[at[p]]) * grown;
		slope[p] = is_sum ? j[at[p]] * (1 + grown) : j[at[p]];
	}
	sum = fmax(sum, least);
	for (int p = 0; p < k && is_sum; p++)
		slope[p] /= sum;
	return start + (is_sum ? sense * log(sum) : change);
}

static int
constants_of(const struct refit *r, int i, int at[PARAMS_OF_ROW])
{
	int k = 0;

	for (int p = 0; p < r->n_params && k < PARAMS_OF_ROW; p++)
		if (r->jacobian[i * r->n_params + p] != 0)
			at[k++] = p;
	return k;
}

double
refit_log_at(const struct refit *r, int row, const double *x)
{
	int at[PARAMS_OF_ROW];
	double slope[PARAMS_OF_ROW];
	const int k = constants_of(r, row, at);

	return log_at(r, row, r->log_at[row], at, k, x, slope);
}

/* What the rows say: a += J'WJ, b -= J'Wr at x. */
static void
add_rows(const struct refit *r, const double *start, enum leave by, int unit, const int *size, const double *x,
    double *a, double *b)
{
	const bool serves = r->domain == DOMAIN_SERVE;
	const double sd = serves ? serve_sd : row_sd, near = sd * (serves ? serve_huber : huber);
	const int m = r->n_params;
	double j[PARAMS_OF_ROW];
	int at[PARAMS_OF_ROW];

	for (int i = 0; i < r->n; i++) {
		if ((unit >= 0 && r->rows[i].unit[by] == unit) || isnan(start[i]))
			continue;
		const int k = constants_of(r, i, at);
		const double residual = log_at(r, i, start[i], at, k, x, j) - r->rows[i].log_measured;
		const double far = fabs(residual) / near;
		const double w = (far > 1 ? 1 / far : 1) / size[r->rows[i].unit[LEAVE_GROUP]] / (sd * sd);
		for (int p = 0; p < k; p++) {
			b[at[p]] -= w * j[p] * residual;
			for (int q = 0; q < k; q++)
				a[at[p] * m + at[q]] += w * j[p] * j[q];
		}
	}
}

/* What is believed of constants before. */
static void
add_prior(const struct refit *r, const double *tau, const double *x, double *a, double *b)
{
	const int m = r->n_params;

	for (int p = 0; p < m; p++) {
		const int up = r->params[p].up;
		const double d = x[p] - (up >= 0 ? x[up] : r->params[p].otherwise);
		/* a few frameworks are far off: what they have is drawn no harder for it */
		const double far = tau[p] > 0.01 ? fabs(d) / (huber * tau[p]) : 0;
		const double w = (far > 1 ? 1 / far : 1) / (tau[p] * tau[p]);
		a[p * m + p] += w;
		b[p] -= w * d;
		if (r->params[p].given) {
			a[p * m + p] += 1 / (given_sd * given_sd);
			b[p] -= (x[p] - r->params[p].start) / (given_sd * given_sd);
		}
		if (up < 0)
			continue;
		a[up * m + up] += w;
		a[p * m + up] -= w;
		a[up * m + p] -= w;
		b[up] += w * d;
	}
}

void
refit_solve(const struct refit *r, const double *start, const double *tau, enum leave by, int unit, double *x)
{
	const int m = r->n_params;
	struct arena *room = arena_new();
	double *a = ARENA_ARRAY(room, double, m *m), *b = ARENA_ARRAY(room, double, m);
	double *d = ARENA_ARRAY(room, double, m);
	int *size = ARENA_ARRAY(room, int, r->n_units[LEAVE_GROUP]);

	group_sizes(r, by, unit, size);
	for (int round = 0; round < (r->domain == DOMAIN_SERVE ? SERVE_REWEIGHTS : REWEIGHTS); round++) {
		memset(a, 0, sizeof(double) * (size_t)(m * m));
		memset(b, 0, sizeof(double) * (size_t)m);
		add_rows(r, start, by, unit, size, x, a, b);
		add_prior(r, tau, x, a, b);
		if (!num_solve((size_t)m, a, b, d))
			break;
		for (int p = 0; p < m; p++)
			x[p] = fmin(fmax(x[p] + fmin(fmax(d[p], -1), 1), r->params[p].least), r->params[p].most);
	}
	arena_free(room);
}

/* Laplace's approximation: constants are normal around x, by the curvature there of what rows and prior say. */
void
refit_doubt(const struct refit *r, const double *start, const double *tau, enum leave by, int unit, const double *x,
    double *variance)
{
	const int m = r->n_params;
	const size_t size = sizeof(double) * (size_t)m;
	struct arena *room = arena_new();
	double *a = ARENA_ARRAY(room, double, m *m), *b = ARENA_ARRAY(room, double, m);
	double *factors = ARENA_ARRAY(room, double, m *m), *j = ARENA_ARRAY(room, double, m);
	double *d = ARENA_ARRAY(room, double, m), slope[PARAMS_OF_ROW];
	int at[PARAMS_OF_ROW], *n_rows = ARENA_ARRAY(room, int, r->n_units[LEAVE_GROUP]);

	group_sizes(r, by, unit, n_rows);
	add_rows(r, start, by, unit, n_rows, x, a, b);
	add_prior(r, tau, x, a, b);
	for (int i = 0; i < r->n; i++) {
		if (r->rows[i].unit[by] != unit)
			continue;
		const int k = constants_of(r, i, at);
		log_at(r, i, start[i], at, k, x, slope);
		memset(j, 0, size);
		for (int p = 0; p < k; p++)
			j[at[p]] = slope[p];
		memcpy(factors, a, size * (size_t)m);
		variance[i] = 0;
		if (num_solve((size_t)m, factors, j, d))
			for (int p = 0; p < k; p++)
				variance[i] += j[at[p]] * d[at[p]];
	}
	arena_free(room);
}

static void
prior_of(const struct refit *r, double *tau)
{
	for (int p = 0; p < r->n_params; p++)
		tau[p] = r->params[p].tau;
}

void
refit_fit(struct refit *r, double *x)
{
	double *tau = ARENA_ARRAY(r->arena, double, r->n_params);

	prior_of(r, tau);
	for (int p = 0; p < r->n_params; p++)
		x[p] = r->params[p].start;
	for (int round = 0; round < ROUNDS; round++) {
		double far = 0;
		refit_linearise(r, x);
		refit_solve(r, r->log_at, tau, LEAVE_GROUP, -1, x);
		for (int p = 0; p < r->n_params; p++)
			far = fmax(far, r->params[p].moves ? fabs(x[p] - r->at[p]) : 0);
		if (far < 0.005)
			break;
	}
	refit_linearise(r, x);
}

double
refit_left_out_error(const struct refit *r, const double *start, const double *tau, enum leave by)
{
	const int m = r->n_params;
	struct arena *room = arena_new();
	double *x = ARENA_ARRAY(room, double, m), *log_predicted = ARENA_ARRAY(room, double, r->n);

	for (int unit = 0; unit < r->n_units[by]; unit++) {
		memcpy(x, r->at, sizeof(double) * (size_t)m);
		refit_solve(r, start, tau, by, unit, x);
		for (int i = 0; i < r->n; i++) {
			if (r->rows[i].unit[by] != unit)
				continue;
			log_predicted[i] = start[i];
			for (int p = 0; p < m; p++)
				log_predicted[i] += r->jacobian[i * m + p] * (x[p] - r->at[p]);
		}
	}
	const double error = refit_group_error(r, log_predicted);
	arena_free(room);
	return error;
}

void
refit_leave_out(struct refit *r, enum leave by, double *log_predicted)
{
	const int m = r->n_params;
	struct arena *room = arena_new();
	double *x = ARENA_ARRAY(room, double, m), *tau = ARENA_ARRAY(room, double, m);
	double *all = ARENA_ARRAY(room, double, r->n);

	prior_of(r, tau);
	for (int unit = 0; unit < r->n_units[by]; unit++) {
		memcpy(x, r->at, sizeof(double) * (size_t)m);
		refit_solve(r, r->log_at, tau, by, unit, x);
		refit_set(r, x);
		refit_predict(r, all);
		for (int i = 0; i < r->n; i++)
			if (r->rows[i].unit[by] == unit)
				log_predicted[i] = all[i];
	}
	refit_set(r, r->at);
	arena_free(room);
}
