/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/calc/calc.h"

#include <check.h>
#include <stdint.h>

static struct datum
datum(double value)
{
	return (struct datum){value, {"test", 0, 0, NULL, false}};
}

static struct draft_cost
cost(double draft_s, double target_s)
{
	return (struct draft_cost){datum(draft_s), datum(target_s), datum_absent(), datum_absent()};
}

/* Deterministic noise, splitmix64. */
static double
uniform(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return (double)((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}

START_TEST(tokens_of_a_step)
{
	/* worked examples 003: the code prints 3.69, the text 3.4 */
	ck_assert_double_eq_tol(draft_tokens(NULL, 0.8, 5), 3.68928, 1e-12);
	ck_assert_double_eq(draft_tokens(NULL, 0, 7), 1);
	ck_assert_double_eq(draft_tokens(NULL, 1, 7), 8);
	ck_assert_double_eq(draft_tokens(NULL, 0.4, 0), 1);
	ck_assert_double_eq_tol(draft_tokens(NULL, 1 - 1e-9, 7), 8, 1e-6);
	ck_assert_double_eq(draft_tokens_accepted(NULL, 4), 5);
}
END_TEST

/* The formula against the process that it describes. */
START_TEST(tokens_as_simulated)
{
	enum { STEPS = 200000 };
	static const double accepts[] = {0.3, 0.7, 0.9};
	uint64_t state = 7;

	for (int i = 0; i < 3; i++) {
		double tokens = 0;
		for (int step = 0; step < STEPS; step++) {
			int n = 0;
			while (n < 6 && uniform(&state) < accepts[i])
				n++;
			tokens += n + 1;
		}
		ck_assert_double_eq_tol(tokens / STEPS, draft_tokens(NULL, accepts[i], 6), 0.02);
	}
}
END_TEST

START_TEST(speedup_and_best)
{
	const struct draft_cost c = cost(2e-3, 30e-3);

	ck_assert_double_eq_tol(draft_speedup(NULL, &c, 0.8, 5), 2.76696, 1e-12);
	ck_assert_double_eq(draft_best(&c, 0.8, 32), 7);
	for (double n = 1; n <= 32; n++)
		ck_assert(draft_speedup(NULL, &c, 0.8, n) <= draft_speedup(NULL, &c, 0.8, 7));
	/* drafts that cost nothing: the more the better; as dear as the model: none */
	const struct draft_cost cheap = cost(1e-12, 1), dear = cost(1, 1);
	ck_assert_double_eq(draft_best(&cheap, 0.8, 32), 32);
	ck_assert_double_eq(draft_best(&dear, 0.8, 32), 0);
	ck_assert_double_eq_tol(draft_limit(NULL, &c, 5), 6 * 30.0 / 40, 1e-12);
}
END_TEST

START_TEST(verifying_and_overhead)
{
	struct draft_cost c = cost(2e-3, 30e-3);

	c.verify_s = datum(40e-3);
	c.overhead_s = datum(5e-3);
	ck_assert_double_eq_tol(draft_step(NULL, &c, 5), 55e-3, 1e-15);
	ck_assert_double_eq_tol(draft_speedup(NULL, &c, 0.8, 5), 3.68928 * 30 / 55, 1e-12);
}
END_TEST

START_TEST(turned_round)
{
	const struct draft_cost c = cost(2e-3, 30e-3), dear = cost(30e-3, 30e-3);

	for (double accept = 0.05; accept < 1; accept += 0.05)
		ck_assert_double_eq_tol(draft_acceptance(draft_tokens(NULL, accept, 5), 5), accept, 1e-9);
	ck_assert_double_nan(draft_acceptance(7, 5));
	ck_assert_double_nan(draft_acceptance(0.5, 5));
	ck_assert_double_eq_tol(draft_speedup(NULL, &c, draft_break_even(&c, 5), 5), 1, 1e-9);
	ck_assert_double_nan(
	    draft_break_even(&(struct draft_cost){datum(2), datum(1), datum_absent(), datum_absent()}, 5));
	ck_assert_double_eq_tol(draft_break_even(&dear, 5), 1, 1e-9);
}
END_TEST

Suite *speculate_suite(void);

Suite *
speculate_suite(void)
{
	Suite *s = suite_create("speculate");
	TCase *t = tcase_create("speculate");

	tcase_add_test(t, tokens_of_a_step);
	tcase_add_test(t, tokens_as_simulated);
	tcase_add_test(t, speedup_and_best);
	tcase_add_test(t, verifying_and_overhead);
	tcase_add_test(t, turned_round);
	suite_add_tcase(s, t);
	return s;
}
