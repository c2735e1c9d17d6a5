/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/calc/calc.h"

#include <check.h>

static const double MONTH = 30 * 86400.0;

START_TEST(fleets)
{
	/* worked examples 000: 350 requests/s on 8 GPUs, 50 needed, 75 % busy at most */
	const double one = cost_gpu_rate(NULL, 350, 8);

	ck_assert_double_eq_tol(one, 43.75, 1e-12);
	ck_assert_double_eq(cost_gpus_needed(NULL, 50, one, 0.75), 2);
	ck_assert_double_eq_tol(cost_utilisation(NULL, 50, one, 2), 0.571428571429, 1e-10);
	ck_assert_double_eq_tol(cost_utilisation(NULL, 50, one, 8), 0.142857142857, 1e-10);
	ck_assert_double_eq(cost_gpus_needed(NULL, 50, 6.25, 1), 8);
	ck_assert_double_eq(cost_gpus_needed(NULL, 1e-6, one, 0.75), 1);
	for (double load = 10; load < 5000; load *= 1.3) {
		const double n = cost_gpus_needed(NULL, load, one, 0.75);
		ck_assert(cost_utilisation(NULL, load, one, n) <= 0.75 * (1 + 1e-9));
		ck_assert(n == 1 || cost_utilisation(NULL, load, one, n - 1) > 0.75);
	}
}
END_TEST

START_TEST(price_bases)
{
	/* worked examples 003: $47,000 for 64 GPUs and 72 h */
	ck_assert_double_eq_tol(3600 * cost_implied_price(NULL, 47000, 64, 72 * 3600), 10.1996527778, 1e-9);
	/* worked examples 000: $50,000 is not 8 GPUs at $3.50 */
	ck_assert_double_eq_tol(cost_base_ratio(NULL, 50000, 20160), 2.48015873016, 1e-9);
	ck_assert_double_eq_tol(cost_saved_frac(NULL, 20160, 5040), 0.75, 1e-12);
	ck_assert_double_eq_tol(cost_saved(NULL, 20160, 5040), 15120, 1e-9);
	ck_assert_double_eq_tol(cost_gpu_price(NULL, 40, 8), 5, 1e-12);
	ck_assert_double_eq_tol(cost_gpu_time(NULL, 8, 3600), 28800, 1e-9);
}
END_TEST

START_TEST(requests_and_tokens)
{
	/* worked examples 000: $50,000 a month at 50 requests/s are $0.386 for a thousand */
	const double request = cost_request(NULL, 50000, cost_served(NULL, 50, MONTH));

	ck_assert_double_eq_tol(cost_thousand(NULL, request), 0.385802469136, 1e-10);
	/* what the tokens cost apart adds up to the request */
	const double input = cost_input_split(NULL, request, 500, 200, 4), output = cost_output_split(NULL, input, 4);
	ck_assert_double_eq_tol(cost_request_tokens(NULL, input, output, 500, 200) / request, 1, 1e-12);
	ck_assert_double_eq_tol(output / input, 4, 1e-12);
	ck_assert_double_eq_tol(cost_busy_rate(NULL, 9000, 0.75), 6750, 1e-9);
}
END_TEST

static struct datum
given(double value)
{
	return (struct datum){value, {0}};
}

START_TEST(own_or_rent)
{
	/* $200,000 over 4 years of 365 days, 8 kW at a PUE of 1.25 and $0.10 per kWh, $720 a month */
	const struct cost_owned o = {.capital_usd = given(200000),
	    .residual = given(0),
	    .lifetime_s = given(cost_lifetime(NULL, 4)),
	    .power_watt = given(8000),
	    .pue = given(1.25),
	    .electricity_usd_per_joule = given(0.10 / 3.6e6),
	    .hosting = given(720)};
	struct cost_owned kept = o;
	const double own = cost_own_rate(NULL, &o), price = 2.0 / 3600;

	ck_assert_double_eq_tol(cost_capital_rate(NULL, &o), 200000 / (1460 * 86400.0), 1e-15);
	ck_assert_double_eq_tol(cost_month(NULL, cost_running_rate(NULL, &o)), 720 + 730, 1e-9);
	ck_assert_double_eq_tol(cost_month(NULL, own), 5616.66666667, 1e-6);
	kept.residual = given(0.25);
	ck_assert_double_eq_tol(cost_capital_rate(NULL, &kept), 0.75 * cost_capital_rate(NULL, &o), 1e-15);
	/* at the break-even, renting costs the same */
	const double duty = cost_break_even_duty(NULL, own, 8, price);
	ck_assert_double_eq_tol(cost_rent_rate(NULL, 8, price, duty), own, 1e-15);
	ck_assert_double_eq_tol(cost_used_rate(NULL, own, 8, duty), price, 1e-15);
	/* after the break-even time, rent saved less running cost is the capital */
	const double rent = cost_rent_rate(NULL, 8, price, 1), running = cost_running_rate(NULL, &o);
	const double when = cost_break_even(NULL, 200000, rent, running);
	ck_assert_double_eq_tol(when * (rent - running), 200000, 1e-6);
	ck_assert(cost_break_even(NULL, 200000, running / 2, running) < 0);
	ck_assert_double_eq(cost_nodes_gpus(NULL, 4, 8), 32);
	ck_assert_double_eq(cost_nodes_capital(NULL, 4, 199000), 796000);
	ck_assert_double_eq(cost_nodes_power(NULL, 4, 10200), 40800);
}
END_TEST

Suite *cost_suite(void);

Suite *
cost_suite(void)
{
	Suite *s = suite_create("cost");
	TCase *c = tcase_create("cost");

	tcase_add_test(c, fleets);
	tcase_add_test(c, price_bases);
	tcase_add_test(c, requests_and_tokens);
	tcase_add_test(c, own_or_rent);
	suite_add_tcase(s, c);
	return s;
}
