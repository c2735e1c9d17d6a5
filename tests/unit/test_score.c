/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores worked out by hand. */
#include "search/fit/fit.h"
#include "search/stats/stats.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct arena *a;
static bool everything[N_SCORE_BY];

static void
set_up(void)
{
	a = arena_new();
	for (int i = 0; i < N_SCORE_BY; i++)
		everything[i] = true;
}

static void
tear_down(void)
{
	arena_free(a);
}

static struct score_case
case_of(double predicted, double measured, const char *gpu)
{
	return (struct score_case){.label = {[SCORE_BY_ALL] = "all", [SCORE_BY_GPU] = gpu},
	    .predicted = predicted,
	    .measured = measured,
	    .low = NAN,
	    .high = NAN,
	    .safe = NAN,
	    .baseline = {NAN, NAN}};
}

static const struct score_group *
group(const struct scores *s, enum score_by by, const char *name)
{
	for (size_t i = 0; i < s->n_groups; i++)
		if (s->groups[i].by == by && strcmp(s->groups[i].name, name) == 0)
			return &s->groups[i];
	ck_abort_msg("no group %s %s", score_by_name(by), name);
	return NULL;
}

/* Errors +10, -20, +5, -50 %: mean 21.25, median 15, bias -7.5 (between -20 and +5). */
START_TEST(errors_by_hand)
{
	const struct score_case cases[] = {
	    case_of(110, 100, "a"), case_of(80, 100, "a"), case_of(2.1, 2, "b"), case_of(0.5, 1, "b")};
	const struct scores s = score_groups(a, cases, 4, everything);

	ck_assert_uint_eq(s.n_groups, 3);
	const struct score_group *all = &s.groups[0];
	ck_assert_int_eq(all->by, SCORE_BY_ALL);
	ck_assert_int_eq(all->n, 4);
	ck_assert_double_eq_tol(all->mape, 21.25, 1e-9);
	ck_assert_double_eq_tol(all->median_ape, 15, 1e-9);
	ck_assert_double_eq_tol(all->bias, -7.5, 1e-9);
	ck_assert_double_eq_tol(all->within10, 50, 1e-9);
	ck_assert_double_eq_tol(all->within20, 75, 1e-9);
	ck_assert_double_eq_tol(all->within30, 75, 1e-9);
	ck_assert_double_eq_tol(all->under10, 50, 1e-9);
	ck_assert(isnan(all->coverage80));
	const struct score_group *b = group(&s, SCORE_BY_GPU, "b");
	ck_assert_double_eq_tol(b->mape, 27.5, 1e-9);
	ck_assert_double_eq_tol(b->bias, -22.5, 1e-9);
}
END_TEST

START_TEST(skipped_rows_are_counted_and_nothing_else)
{
	struct score_case cases[] = {case_of(1, 1, "a"), case_of(NAN, NAN, "a"), case_of(NAN, NAN, "b")};

	cases[1].skipped = cases[2].skipped = "no size";
	const struct scores s = score_groups(a, cases, 3, everything);
	ck_assert_int_eq(s.groups[0].n, 1);
	ck_assert_int_eq(s.groups[0].n_skipped, 2);
	ck_assert_double_eq(s.groups[0].mape, 0);
	const struct score_group *b = group(&s, SCORE_BY_GPU, "b");
	ck_assert_int_eq(b->n, 0);
	ck_assert(isnan(b->mape) && isnan(b->median_ape) && isnan(b->within10));
}
END_TEST

/* One of three intervals holds its value; a case without one does not count. */
START_TEST(coverage_is_of_intervals)
{
	struct score_case cases[] = {
	    case_of(1, 1, NULL), case_of(1, 2, NULL), case_of(1, 0.5, NULL), case_of(1, 3, NULL)};

	for (int i = 0; i < 3; i++) {
		cases[i].low = 0.9;
		cases[i].high = 1.1;
	}
	const struct scores s = score_groups(a, cases, 4, everything);
	ck_assert_int_eq(s.groups[0].n_intervals, 3);
	ck_assert_double_eq_tol(s.groups[0].coverage80, 100.0 / 3, 1e-9);
}
END_TEST

/* Out of memory at 24: predicted 30 keeps the bound, 20 does not.  Fits in 24: 20 keeps it. */
START_TEST(bounds_are_kept_or_not)
{
	struct score_case cases[] = {
	    case_of(30, 24, NULL), case_of(20, 24, NULL), case_of(20, 24, NULL), case_of(10, 10, NULL)};

	cases[0].sense = cases[1].sense = SCORE_ABOVE;
	cases[2].sense = SCORE_BELOW;
	cases[3].safe = 9;
	const struct scores s = score_groups(a, cases, 4, everything);
	ck_assert_int_eq(s.groups[0].n, 1);
	ck_assert_int_eq(s.groups[0].n_bounds, 3);
	ck_assert_double_eq_tol(s.groups[0].bounds_kept, 200.0 / 3, 1e-9);
	ck_assert_int_eq(s.groups[0].n_safe, 1);
	ck_assert_double_eq(s.groups[0].safe_covers, 0);
}
END_TEST

/* Bins of one and three cases that weigh the same: (40 + (10 + 20 + 30) / 3) / 2 = 30; all alike: 25. */
START_TEST(weights_count_in_the_consensus_alone)
{
	struct score_case cases[] = {
	    case_of(140, 100, NULL), case_of(110, 100, NULL), case_of(120, 100, NULL), case_of(130, 100, NULL)};

	for (int i = 0; i < 4; i++) {
		cases[i].label[SCORE_BY_CONSENSUS] = "x";
		cases[i].weight = i == 0 ? 1 : 1.0 / 3;
	}
	const struct scores s = score_groups(a, cases, 4, everything);
	ck_assert_double_eq_tol(group(&s, SCORE_BY_CONSENSUS, "x")->mape, 30, 1e-9);
	ck_assert_double_eq_tol(s.groups[0].mape, 25, 1e-9);
}
END_TEST

START_TEST(baselines_stand_beside)
{
	struct score_case cases[] = {case_of(1, 1, NULL), case_of(1, 1, NULL)};

	cases[0].baseline[0] = 0.5;
	const struct scores s = score_groups(a, cases, 2, everything);
	ck_assert_double_eq_tol(s.groups[0].baseline_mape[0], 50, 1e-9);
	ck_assert_double_eq_tol(s.groups[0].baseline_median[0], 50, 1e-9);
	ck_assert(isnan(s.groups[0].baseline_mape[1]));
}
END_TEST

START_TEST(dimensions_are_picked)
{
	const struct score_case cases[] = {case_of(1, 1, "a")};
	const bool none[N_SCORE_BY] = {false};

	ck_assert_uint_eq(score_groups(a, cases, 1, none).n_groups, 1);
	ck_assert_int_eq(score_by_find("gpu"), SCORE_BY_GPU);
	ck_assert_int_eq(score_by_find("nonsense"), N_SCORE_BY);
}
END_TEST

START_TEST(the_worst_come_first)
{
	struct score_case cases[20];
	size_t worst[3];

	for (int i = 0; i < 20; i++)
		cases[i] = case_of(100 + (i * 7) % 20, 100, NULL);
	cases[5].skipped = "left out";
	ck_assert_uint_eq(score_worst(cases, 20, 3, worst), 3);
	ck_assert_double_eq_tol(score_error(&cases[worst[0]]), 19, 1e-9);
	ck_assert_double_eq_tol(score_error(&cases[worst[1]]), 18, 1e-9);
	ck_assert_double_eq_tol(score_error(&cases[worst[2]]), 17, 1e-9);
	ck_assert_uint_eq(score_worst(cases, 2, 3, worst), 2);
}
END_TEST

/* Many groups of many cases: the list grows, and every case is in one of them. */
START_TEST(many_groups)
{
	static struct score_case cases[1000];
	static char names[100][16];
	int n = 0;

	for (int i = 0; i < 100; i++)
		snprintf(names[i], sizeof names[i], "g%02d", i);
	for (int i = 0; i < 1000; i++)
		cases[i] = case_of(i % 100, 100, names[i % 100]);
	const struct scores s = score_groups(a, cases, 1000, everything);
	ck_assert_uint_eq(s.n_groups, 101);
	for (size_t i = 1; i < s.n_groups; i++) {
		ck_assert_double_eq_tol(s.groups[i].bias, -100.0 + (double)(i - 1), 1e-9);
		n += s.groups[i].n;
	}
	ck_assert_int_eq(n, 1000);
}
END_TEST

/* --- roofs of measured rows ------------------------------------------------------------------------------ */

static struct measurement
row_of(enum measurement_kind kind)
{
	struct measurement m = {.kind = kind, .dtype = DTYPE_BF16, .kv_dtype = DTYPE_NONE};

#define DIMENSION(member, text, title) m.member = NAN;
#include "model/hw/measurement.def"
#undef DIMENSION
	return m;
}

START_TEST(roofs_of_rows)
{
	struct gpu gpu = {.mem_byte_per_s = {.value = 1e12}};
	struct measurement gemm = row_of(MEASUREMENT_GEMM), decode = row_of(MEASUREMENT_ATTENTION);

	gpu.peak_flop_per_s[PEAK_BF16].value = 1e14;
	gemm.m = gemm.n = gemm.k = 4096; /* 137.4 GFLOP at 100 TFLOP/s */
	ck_assert_double_eq_tol(predict_roof(&gemm, &gpu), 2 * 4096.0 * 4096 * 4096 / 1e14, 1e-12);
	decode.operation = "decode";
	decode.batch = 2, decode.heads = 8, decode.kv_heads = 2, decode.head_dim = 128, decode.context_len = 1000;
	/* queries, results and two times 1000 x 2 x 128 of the cache, 2 bytes each, two sequences */
	ck_assert_double_eq_tol(
	    predict_roof(&decode, &gpu), 2 * (2 * 8 * 128 * 2 + 2 * 1000 * 2 * 128 * 2) / 1e12, 1e-15);
}
END_TEST

START_TEST(names_of_residuals)
{
	char buf[40];
	struct measurement m = row_of(MEASUREMENT_GEMM);

	m.dtype = DTYPE_FP8_BLOCK;
	ck_assert_str_eq(predict_residual(&m, buf, sizeof buf), "gemm_fp8_block");
	m.dtype_text = "w4a16";
	ck_assert_str_eq(predict_residual(&m, buf, sizeof buf), "gemm_w4a16");
	m.m = 64;
	ck_assert_str_eq(predict_regime(&m, NAN), "decode");
	m.m = 65;
	ck_assert_str_eq(predict_regime(&m, NAN), "mid");
	m = row_of(MEASUREMENT_COLLECTIVE);
	m.operation = "all_reduce";
	ck_assert_str_eq(predict_residual(&m, buf, sizeof buf), "all_reduce");
	m.backend = "custom-vllm";
	ck_assert_str_eq(predict_residual(&m, buf, sizeof buf), "custom_all_reduce");
}
END_TEST

Suite *score_suite(void);

Suite *
score_suite(void)
{
	Suite *s = suite_create("score");
	TCase *t = tcase_create("score");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, errors_by_hand);
	tcase_add_test(t, skipped_rows_are_counted_and_nothing_else);
	tcase_add_test(t, coverage_is_of_intervals);
	tcase_add_test(t, bounds_are_kept_or_not);
	tcase_add_test(t, weights_count_in_the_consensus_alone);
	tcase_add_test(t, baselines_stand_beside);
	tcase_add_test(t, dimensions_are_picked);
	tcase_add_test(t, the_worst_come_first);
	tcase_add_test(t, many_groups);
	tcase_add_test(t, roofs_of_rows);
	tcase_add_test(t, names_of_residuals);
	suite_add_tcase(s, t);
	return s;
}
