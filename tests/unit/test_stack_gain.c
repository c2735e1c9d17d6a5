/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/calc/calc.h"

#include "ask/stack/stack.h"
#include "unit/said.h"

/* --- Amdahl's law ---------------------------------------------------------------------------------------- */

START_TEST(amdahl_and_its_inverses)
{
	for (double share = 0.1; share < 1; share += 0.2)
		for (double local = 0.5; local < 20; local *= 1.7) {
			const double total = gain_amdahl(NULL, share, local);
			ck_assert_double_eq_tol(gain_local(NULL, share, total) / local, 1, 1e-9);
			ck_assert_double_eq_tol(gain_share(NULL, local, total) / share, 1, 1e-9);
			ck_assert(total < gain_limit(NULL, share));
			ck_assert((local > 1) == (total > 1));
		}
	/* worked examples 001: 1.63x on 20 % of the time; the document prints 1.12x */
	ck_assert_double_eq_tol(gain_amdahl(NULL, 0.2, 1.63), 1.08377659574, 1e-10);
	/* worked examples 001: 40 % of the time must run 2.36 times faster for 1.3x */
	ck_assert_double_eq_tol(gain_local(NULL, 0.4, 1.3), 2.36363636364, 1e-10);
	ck_assert_double_eq(gain_amdahl(NULL, 1, 3), 3);
	/* no local speedup is enough */
	ck_assert(gain_local(NULL, 0.4, 1.7) < 0);
	ck_assert(gain_share(NULL, 1.2, 1.3) > 1);
}
END_TEST

START_TEST(parts_are_amdahl_in_times)
{
	/* worked examples 001: 45 -> 39 ms of a 119 ms iteration */
	ck_assert_double_eq_tol(gain_part(NULL, 0.119, 0.045, 0.039), 1.05309734513, 1e-10);
	ck_assert_double_eq_tol(gain_part(NULL, 250, 120, 85), gain_amdahl(NULL, 120.0 / 250, 120.0 / 85), 1e-12);
	/* worked examples 001: an optimizer that falls from 8 % to 2 % of the time */
	ck_assert_double_eq_tol(gain_part_share(NULL, 0.08, 0.02), 1.06382978723, 1e-10);
	ck_assert_double_eq_tol(gain_part_share(NULL, 0.3, 0.1), gain_part(NULL, 1, 0.3, 0.1), 1e-12);
}
END_TEST

/* --- steps together -------------------------------------------------------------------------------------- */

START_TEST(steps_save_what_they_should)
{
	/* worked examples 003: $50,000 after 1.4 and 1.7 */
	const double both = gain_product(NULL, 1.4, 1.7);

	ck_assert_double_eq_tol(gain_cost(NULL, 50000, both), 21008.4033613, 1e-6);
	ck_assert_double_eq_tol(gain_time(NULL, 0.85, both), 0.357142857143, 1e-10);
	ck_assert_double_eq_tol(gain_before(NULL, gain_time(NULL, 36, both), both), 36, 1e-12);
	ck_assert_double_eq_tol(gain_saved_frac(NULL, 4), 0.75, 1e-15);
	ck_assert_double_eq_tol(gain_remaining(NULL, 5, 3.93), 5 / 3.93, 1e-12);
	ck_assert_double_eq_tol(gain_late(NULL, 8, 6), 2, 1e-15);
}
END_TEST

/* The order by what is saved for the work loses the least time: all orders of four steps are tried. */
static double
lost(const double *speedup, const double *effort, const int *order, int n)
{
	double so_far = 1, sum = 0;

	for (int k = 0; k < n; k++) {
		sum += effort[order[k]] / so_far;
		so_far *= speedup[order[k]];
	}
	return sum;
}

START_TEST(what_pays_first)
{
	enum { N = 4 };
	static const double speedup[N] = {1.5, 1.1, 3, 1.02}, effort[N] = {5, 0.5, 40, 0.3};
	int best[N] = {0, 1, 2, 3}, order[N];

	for (int i = 0; i < N; i++)
		for (int j = i + 1; j < N; j++)
			if (gain_per_effort(NULL, speedup[best[j]], effort[best[j]]) >
			    gain_per_effort(NULL, speedup[best[i]], effort[best[i]])) {
				const int swap = best[i];
				best[i] = best[j];
				best[j] = swap;
			}
	const double least = lost(speedup, effort, best, N);
	for (int code = 0; code < N * N * N * N; code++) {
		bool all[N] = {false};
		for (int k = 0, c = code; k < N; k++, c /= N)
			all[order[k] = c % N] = true;
		if (all[0] && all[1] && all[2] && all[3])
			ck_assert(lost(speedup, effort, order, N) >= least - 1e-12);
	}
}
END_TEST

START_TEST(ranges_of_factors)
{
	ck_assert_double_eq_tol(gain_middle(NULL, 1.1, 1.3), sqrt(1.43), 1e-12);
	ck_assert_double_eq(gain_spread(NULL, 1.5, 1.5), 0);
	/* a uniform logarithm of half-width h has the variance h^2 / 3 */
	ck_assert_double_eq_tol(gain_spread(NULL, 1, exp(2)), 1.0 / 3, 1e-12);
	ck_assert_double_eq_tol(gain_likely_low(NULL, 2, 0.09, 1.5) * gain_likely_high(NULL, 2, 0.09, 1.5), 4, 1e-12);
	ck_assert_double_eq_tol(gain_likely_high(NULL, 2, 0.09, 1.5), 2 * exp(0.45), 1e-12);
}
END_TEST

START_TEST(utilisation_of_the_peak)
{
	/* worked examples 001: 300e9 tokens, 175e9 parameters, 1024 A100: 31.7 % in 36 days, impossible in 8.1 */
	ck_assert_double_eq_tol(gain_mfu(NULL, 175e9, 300e9, 1024, 312e12, 36 * 86400.0), 0.316985765187, 1e-10);
	ck_assert_double_eq_tol(gain_mfu(NULL, 175e9, 300e9, 1024, 312e12, 8.1 * 86400.0), 1.40882562305, 1e-9);
	const double least = gain_floor(NULL, 175e9, 300e9, 1024, 312e12);
	ck_assert_double_eq_tol(gain_mfu(NULL, 175e9, 300e9, 1024, 312e12, least), 1, 1e-12);
}
END_TEST

/* --- steps as typed -------------------------------------------------------------------------------------- */

static const struct {
	const char *text;
	enum step_scope scope;
	double low, high;
} steps[] = {
    {"amp=1.7", STEP_WHOLE, 1.7, 1.7},
    {"amp=1.7x", STEP_WHOLE, 1.7, 1.7},
    {"data=1.1..1.3", STEP_WHOLE, 1.1, 1.3},
    {"flash=1.63@0.20", STEP_SHARE, 1.08377659574, 1.08377659574},
    {"flash=1.63@20%", STEP_SHARE, 1.08377659574, 1.08377659574},
    {"flash=1.3..1.6@0.1..0.2", STEP_SHARE, 1.02362204724, 1.08108108108},
    {"slow=0.5@0.1..0.2", STEP_SHARE, 0.833333333333, 0.909090909091},
    {"compile:450ms->250ms", STEP_TIMES, 1.8, 1.8},
    {"eval:1.2h->4min", STEP_TIMES, 18, 18},
    {"ddp:45ms->39ms/119ms", STEP_PART, 1.05309734513, 1.05309734513},
    {"ddp:45ms->39ms/now", STEP_PART, 1.05309734513, 1.05309734513},
    {"optimizer:8%->2%/1", STEP_PART_SHARE, 1.06382978723, 1.06382978723},
    {"idle:0.15->0.02", STEP_IDLE, 1.15294117647, 1.15294117647},
    {"input=idle:15%->2%", STEP_IDLE, 1.15294117647, 1.15294117647},
    {"bubble:0.35->0.12", STEP_IDLE, 1.35384615385, 1.35384615385},
    {"apt=rate:1200->1800", STEP_RATE, 1.5, 1.5},
    {"tokens:256->150", STEP_AMOUNT, 1.70666666667, 1.70666666667},
};

START_TEST(steps_are_read)
{
	struct run r = {.arena = arena_new()};
	struct step s;

	r.diag = diag_new(r.arena);
	const struct word w = {steps[_i].text, {0}};
	ck_assert_msg(step_read(&r, w, &s), "%s: %s", w.text, said(r.arena, r.diag));
	ck_assert_int_eq(s.scope, steps[_i].scope);
	ck_assert_double_eq_tol(step_factor(NULL, &s, 0, 0.119), steps[_i].low, 1e-9);
	ck_assert_double_eq_tol(step_factor(NULL, &s, 1, 0.119), steps[_i].high, 1e-9);
	ck_assert_int_eq(s.ranged, steps[_i].low < steps[_i].high);
	ck_assert(s.applies && *s.applies);
	arena_free(r.arena);
}
END_TEST

static const struct {
	const char *text, *says;
} refused[] = {
    {"amp", "NAME=FACTOR"},
    {"=2", "NAME=FACTOR"},
    {"amp=", "NAME=FACTOR"},
    {"amp=fast", "not a known kind"},
    {"amp=0", "greater than 0"},
    {"amp=1.3..1.1", "a range must end above its start"},
    {"flash=1.6@0", "between 0 and 1"},
    {"flash=1.6@1.2", "between 0 and 1"},
    {"ddp:45ms", "value missing after"},
    {"ddp:45ms->39", "cannot be compared"},
    {"ddp:45ms->0ms", "greater than 0"},
    {"ddp:45ms->39ms/40ms", "exceeds the whole"},
    {"ddp:45ms->39ms/2", "both be times"},
    {"optimizer:0.08->0.02", "shares need a whole"},
    {"optimizer:0.08->0.02/0.5", "the whole of shares must be 1"},
    {"idle:1->0.5", "below 1"},
    {"idle:45ms->39ms", "must be a share"},
    {"apt=rate:5ms->4ms", "not be a time"},
    {"apt=speed:5->4", "not a known kind"},
    {"a:-1->2", "must not be negative"},
};

START_TEST(no_steps)
{
	struct run r = {.arena = arena_new()};
	struct step s;

	r.diag = diag_new(r.arena);
	ck_assert(!step_read(&r, (struct word){refused[_i].text, {0}}, &s));
	ck_assert_has(said(r.arena, r.diag), refused[_i].says);
	ck_assert_has(said(r.arena, r.diag), "hint:");
	arena_free(r.arena);
}
END_TEST

Suite *stack_gain_suite(void);

Suite *
stack_gain_suite(void)
{
	Suite *s = suite_create("stack_gain");
	TCase *c = tcase_create("stack_gain");

	tcase_add_test(c, amdahl_and_its_inverses);
	tcase_add_test(c, parts_are_amdahl_in_times);
	tcase_add_test(c, steps_save_what_they_should);
	tcase_add_test(c, what_pays_first);
	tcase_add_test(c, ranges_of_factors);
	tcase_add_test(c, utilisation_of_the_peak);
	tcase_add_loop_test(c, steps_are_read, 0, sizeof steps / sizeof *steps);
	tcase_add_loop_test(c, no_steps, 0, sizeof refused / sizeof *refused);
	suite_add_tcase(s, c);
	return s;
}
