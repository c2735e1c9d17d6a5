/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The constants of an engine, from runs of one whose constants are known. */
#include <check.h>
#include <math.h>

#include "base/base.h"
#include "search/fit/fit.h"

enum { ROWS = 24 };

/* A step: gpu (kernels + comm x collectives) + host + sequences x each. */
struct lab {
	struct arena *arena;
	struct engine base;
	double kernel_s[ROWS], comm_s[ROWS], n_sequences[ROWS], measured_s[ROWS];
	int row[ROWS];
	const char *kind[ROWS];
	double overload_s; /* no answer when a step takes longer; 0: never */
};

static struct datum
number(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

static double
step(void *context, const struct engine *e, int i)
{
	const struct lab *l = context;
	const double step_s = e->gpu_factor.value * (l->kernel_s[i] + e->comm_factor.value * l->comm_s[i]) +
	    e->host_s.value + e->sequence_s.value * l->n_sequences[i];

	return l->overload_s > 0 && step_s > l->overload_s ? NAN : step_s;
}

static struct engine
engine_of(double host_s, double gpu, double comm, double sequence_s)
{
	return (struct engine){.id = "test",
	    .host_s = number(host_s),
	    .gpu_factor = number(gpu),
	    .comm_factor = number(comm),
	    .sequence_s = number(sequence_s)};
}

/* Batches from 1 to 256 on one to four GPUs (`parallel`), or one batch size everywhere. */
static void
measure(struct lab *l, const struct engine *truth, bool parallel, bool varied)
{
	*l = (struct lab){.arena = arena_new(), .base = engine_of(0.3e-3, 1, 1.5, 10e-6)};
	for (int i = 0; i < ROWS; i++) {
		l->n_sequences[i] = varied ? pow(2, i % 9) : 16;
		l->kernel_s[i] = varied ? 3e-3 * (1 + i % 5) + 20e-6 * l->n_sequences[i] : 20e-3;
		l->comm_s[i] = parallel ? 0.3e-3 * (i % 4) * (1 + l->n_sequences[i] / 60) : 0;
		l->row[i] = i;
		l->kind[i] = i % 9 ? "offline" : "batch1";
		l->measured_s[i] = step(l, truth, i) * exp(0.02 * sin(12.9898 * (i + 1)));
	}
}

static struct fit_engine_points
points_of(struct lab *l, bool parallel)
{
	return (struct fit_engine_points){ROWS, step, l, l->measured_s, l->row, l->kind, parallel};
}

START_TEST(test_recovers)
{
	const struct engine truth = engine_of(3e-3, 1.15, 2.5, 40e-6);
	struct lab l;
	struct fit_engine fit;

	measure(&l, &truth, true, true);
	const struct fit_engine_points p = points_of(&l, true);
	ck_assert(fit_engine(l.arena, &l.base, &p, &fit));
	for (int j = 0; j < N_ENGINE_PARAMS; j++) {
		const double right = engine_param_value(&truth, (enum engine_param)j);
		ck_assert_msg(fit.param[j].fitted, "%s: %s", engine_param_key((enum engine_param)j), fit.param[j].why);
		ck_assert_double_eq_tol(fit.param[j].value, right, 0.1 * right);
		ck_assert(fit.param[j].low <= fit.param[j].value && fit.param[j].value <= fit.param[j].high);
	}
	ck_assert_double_eq_tol(fit.param[ENGINE_GPU].value, 1.15, 0.03);
	ck_assert(fit.before.mape > 0.2 && fit.after.mape < 0.02 && fit.unseen.mape < 0.025);
	ck_assert_int_eq(fit.n_kinds, 2);
	ck_assert_int_eq(fit.kinds[0].unseen.n + fit.kinds[1].unseen.n, ROWS);
	arena_free(l.arena);
}
END_TEST

/* What has not changed is left alone, though it could be fitted. */
START_TEST(test_keeps)
{
	const struct engine truth = engine_of(3e-3, 1, 1.5, 10e-6);
	struct lab l;
	struct fit_engine fit;

	measure(&l, &truth, true, true);
	const struct fit_engine_points p = points_of(&l, true);
	ck_assert(fit_engine(l.arena, &l.base, &p, &fit));
	ck_assert(fit.param[ENGINE_HOST].fitted);
	ck_assert_double_eq_tol(fit.param[ENGINE_HOST].value, 3e-3, 0.3e-3);
	ck_assert(!fit.param[ENGINE_GPU].fitted && fit.param[ENGINE_GPU].why);
	ck_assert_double_eq(fit.param[ENGINE_GPU].value, 1);
	arena_free(l.arena);
}
END_TEST

START_TEST(test_not_told)
{
	const struct engine truth = engine_of(3e-3, 1, 1.5, 10e-6);
	struct lab l;
	struct fit_engine fit;

	/* one batch size on one GPU: one figure */
	measure(&l, &truth, false, false);
	const struct fit_engine_points p = points_of(&l, false);
	ck_assert(fit_engine(l.arena, &l.base, &p, &fit));
	ck_assert(fit.param[ENGINE_HOST].fitted);
	ck_assert_double_eq_tol(fit.param[ENGINE_HOST].value, 3e-3, 0.5e-3);
	ck_assert(
	    !fit.param[ENGINE_GPU].fitted && !fit.param[ENGINE_COMM].fitted && !fit.param[ENGINE_SEQUENCE].fitted);
	ck_assert_str_eq(fit.param[ENGINE_COMM].why, "no row has tensor parallelism");
	/* too few rows for anything */
	struct fit_engine_points few = p;
	few.n = 2;
	ck_assert(!fit_engine(l.arena, &l.base, &few, &fit));
	ck_assert_str_eq(fit.param[ENGINE_HOST].why, "too few rows");
	arena_free(l.arena);
}
END_TEST

/* Rows near saturation have no answer beyond it, and say what they do from this side. */
START_TEST(test_overload)
{
	const struct engine truth = engine_of(3e-3, 1, 1.5, 10e-6);
	struct lab l;
	struct fit_engine fit;

	measure(&l, &truth, true, true);
	l.overload_s = 60e-3;
	const struct fit_engine_points p = points_of(&l, true);
	ck_assert(fit_engine(l.arena, &l.base, &p, &fit));
	ck_assert_double_eq_tol(fit.param[ENGINE_HOST].value, 3e-3, 0.3e-3);
	ck_assert(!isnan(fit.unseen.mape));
	arena_free(l.arena);
}
END_TEST

START_TEST(test_same_twice)
{
	const struct engine truth = engine_of(3e-3, 1.15, 2.5, 40e-6);
	struct lab l;
	struct fit_engine one, two;

	measure(&l, &truth, true, true);
	const struct fit_engine_points p = points_of(&l, true);
	ck_assert(fit_engine(l.arena, &l.base, &p, &one) && fit_engine(l.arena, &l.base, &p, &two));
	for (int j = 0; j < N_ENGINE_PARAMS; j++) {
		ck_assert_double_eq(one.param[j].value, two.param[j].value);
		ck_assert_double_eq(one.param[j].high, two.param[j].high);
	}
	arena_free(l.arena);
}
END_TEST

Suite *fit_engine_suite(void);

Suite *
fit_engine_suite(void)
{
	Suite *s = suite_create("fit_engine");
	TCase *t = tcase_create("fit_engine");

	tcase_add_test(t, test_recovers);
	tcase_add_test(t, test_keeps);
	tcase_add_test(t, test_not_told);
	tcase_add_test(t, test_overload);
	tcase_add_test(t, test_same_twice);
	suite_add_tcase(s, t);
	return s;
}
