/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/calc/calc.h"

#include <check.h>

static struct datum
datum(double value)
{
	return (struct datum){value, {"test", 0, 0, NULL, false}};
}

static struct stage
stage(const char *name, double time_s, int leg, int branch)
{
	return (struct stage){name, {datum(time_s), datum_absent(), datum_absent()}, leg, branch};
}

/* pre, then (detect, track | segment | depth), then plan */
static const char *const names[] = {"pre", "detect", "track", "segment", "depth", "plan"};

static void
pipeline(struct stage *list)
{
	list[0] = stage(names[0], 2, 0, 0);
	list[1] = stage(names[1], 5, 1, 0);
	list[2] = stage(names[2], 3, 1, 0);
	list[3] = stage(names[3], 6, 1, 1);
	list[4] = stage(names[4], 7, 1, 2);
	list[5] = stage(names[5], 1, 2, 0);
}

START_TEST(longest_way)
{
	struct stage list[6];
	const struct stages p = {6, 3, list};

	pipeline(list);
	ck_assert_double_eq(latency_total(NULL, &p, STAGE_NOW), 2 + 8 + 1);
	list[4].time_s[STAGE_CHANGED] = datum(9);
	ck_assert_double_eq(latency_total(NULL, &p, STAGE_CHANGED), 2 + 9 + 1);
	ck_assert_double_eq(latency_total(NULL, &p, STAGE_NOW), 11);
	/* all in one leg's branches: the longest; all in a row: the sum */
	const struct stage row[] = {stage("a", 1, 0, 0), stage("b", 2, 1, 0), stage("c", 3, 2, 0)};
	const struct stage beside[] = {stage("a", 1, 0, 0), stage("b", 2, 0, 1), stage("c", 3, 0, 2)};
	ck_assert_double_eq(latency_total(NULL, &(const struct stages){3, 3, row}, STAGE_NOW), 6);
	ck_assert_double_eq(latency_total(NULL, &(const struct stages){3, 1, beside}, STAGE_NOW), 3);
}
END_TEST

START_TEST(critical_stages)
{
	static const bool critical[] = {true, true, true, false, false, true};
	struct stage list[6];
	const struct stages p = {6, 3, list};

	pipeline(list);
	for (int i = 0; i < 6; i++)
		ck_assert_msg(stage_is_critical(&p, STAGE_NOW, i) == critical[i], "%s", names[i]);
}
END_TEST

/* What a stage may take makes its own way exactly as long as the budget. */
START_TEST(allowed_is_exact)
{
	struct stage list[6];
	const struct stages p = {6, 3, list};

	for (double budget = 8; budget < 14; budget += 1.5)
		for (int i = 0; i < 6; i++) {
			pipeline(list);
			const double slack = latency_slack(NULL, budget, latency_total(NULL, &p, STAGE_NOW));
			const double allowed = latency_allowed(NULL, &p, STAGE_NOW, i, slack);
			list[i].time_s[STAGE_NOW] = datum(allowed);
			/* without the other branches, which may be longer than the budget allows */
			for (int other = 1; other < 5; other++)
				if (list[i].leg == 1 && list[other].branch != list[i].branch)
					list[other].time_s[STAGE_NOW] = datum(0);
			ck_assert_double_eq_tol(latency_total(NULL, &p, STAGE_NOW), budget, 1e-12);
		}
}
END_TEST

START_TEST(one_stage_may_suffice)
{
	struct stage list[6];
	const struct stages p = {6, 3, list};

	pipeline(list); /* 11 in all; the branches beside take 7 and 6 */
	ck_assert(stage_suffices(&p, STAGE_NOW, 1, 10.5));
	ck_assert(!stage_suffices(&p, STAGE_NOW, 1, 10)); /* depth would take its place */
	ck_assert(stage_suffices(&p, STAGE_NOW, 0, 9.5));
	ck_assert(!stage_suffices(&p, STAGE_NOW, 0, 8.5));
	ck_assert(!stage_suffices(&p, STAGE_NOW, 3, 10.5)); /* not on the longest way */
}
END_TEST

START_TEST(tails)
{
	struct stage list[] = {stage("a", 10, 0, 0), stage("b", 10, 1, 0), stage("c", 4, 1, 1)};
	const struct stages p = {3, 2, list};

	ck_assert_double_eq(latency_tail_independent(NULL, &p), 20);
	list[0].time_s[STAGE_TAIL] = datum(13);
	list[1].time_s[STAGE_TAIL] = datum(14);
	list[2].time_s[STAGE_TAIL] = datum(9); /* beside the longest way */
	ck_assert_double_eq_tol(latency_tail_independent(NULL, &p), 25, 1e-12);
	ck_assert_double_eq_tol(latency_total(NULL, &p, STAGE_TAIL), 27, 1e-12);
	/* a percentile needs ten samples beyond it */
	ck_assert_double_eq(latency_runs(NULL, 0.99, 10), 1000);
	ck_assert_double_eq(latency_runs(NULL, 0.5, 10), 20);
	ck_assert_double_eq(latency_tail(NULL, 10, 12), 1.2);
}
END_TEST

START_TEST(budgets)
{
	/* worked examples 003 */
	ck_assert_double_eq_tol(latency_budget(NULL, 30), 1 / 30.0, 1e-15);
	ck_assert_double_eq_tol(latency_rate(NULL, 48e-3), 20.8333333333, 1e-9);
	ck_assert_double_eq(latency_over(NULL, latency_slack(NULL, 33, 42)), 9);
	ck_assert_double_eq(latency_over(NULL, latency_slack(NULL, 33, 27)), 0);
	ck_assert_double_eq_tol(latency_saving(NULL, 48, 27), 0.4375, 1e-15);
	ck_assert_double_eq_tol(latency_share(NULL, 12, 48), 0.25, 1e-15);
	ck_assert_double_eq_tol(latency_proportional(NULL, 12, 33, 48), 8.25, 1e-15);
	/* 70 mph for a thirtieth of a second */
	const double speed = latency_metres_per_hour(NULL, 70, 1609.344);
	ck_assert_double_eq_tol(latency_travelled(NULL, speed, 1 / 30.0), 70 * 0.44704 / 30, 1e-12);
}
END_TEST

Suite *latency_suite(void);

Suite *
latency_suite(void)
{
	Suite *s = suite_create("latency");
	TCase *t = tcase_create("latency");

	tcase_add_test(t, longest_way);
	tcase_add_test(t, critical_stages);
	tcase_add_test(t, allowed_is_exact);
	tcase_add_test(t, one_stage_may_suffice);
	tcase_add_test(t, tails);
	tcase_add_test(t, budgets);
	suite_add_tcase(s, t);
	return s;
}
