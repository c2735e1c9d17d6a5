/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/calc/calc.h"

#include <check.h>

START_TEST(workers_and_rates)
{
	/* worked examples 000: 420 ms a sample, from 4.2 s in 10 calls; 120 samples/s take about 50 workers */
	const double cost = data_cost(NULL, 4.2, 10);

	ck_assert_double_eq_tol(data_worker_rate(NULL, cost), 2.380952, 1e-6);
	ck_assert_double_eq_tol(data_loader_rate(NULL, 8, cost), 8 / 0.42, 1e-9);
	ck_assert_double_eq(data_workers(NULL, 120, cost), 51);
	ck_assert_double_eq(data_workers(NULL, 100, 0.42), 42); /* whole answers stay whole */
	for (double rate = 1; rate < 500; rate += 7.3) {
		const double n = data_workers(NULL, rate, 0.03);
		ck_assert(data_loader_rate(NULL, n, 0.03) >= rate * (1 - 1e-9));
		ck_assert(data_loader_rate(NULL, n - 1, 0.03) < rate);
	}
}
END_TEST

START_TEST(waiting)
{
	for (double input = 10; input < 2000; input *= 1.7) {
		const double beside = data_overlapped(NULL, input, 500), after = data_serial(NULL, input, 500);
		ck_assert(after < beside);
		ck_assert(beside <= 500 && beside <= input);
		ck_assert(data_idle(NULL, after, 500) > data_idle(NULL, beside, 500));
		ck_assert(data_idle(NULL, beside, 500) >= 0);
	}
	ck_assert_double_eq(data_idle(NULL, data_overlapped(NULL, 1e9, 500), 500), 0);
	/* as long to load as to compute: half of the time one after the other, none side by side */
	ck_assert_double_eq_tol(data_idle(NULL, data_serial(NULL, 500, 500), 500), 0.5, 1e-12);
	ck_assert_double_eq(data_idle(NULL, data_overlapped(NULL, 500, 500), 500), 0);
	ck_assert_double_eq_tol(data_slowdown(NULL, 1200, 120), 10, 1e-12);
	ck_assert_double_eq_tol(data_batch_rate(NULL, 54, 0.45), 120, 1e-9);
	ck_assert_double_eq_tol(data_step_time(NULL, 54, 120), 0.45, 1e-12);
	ck_assert_double_eq_tol(data_iteration(NULL, 0.075, 0.25), 0.3, 1e-12);
	/* worked examples 000: never more than nine times 120 */
	ck_assert_double_eq_tol(data_most(NULL, 120, 9), 1080, 1e-9);
}
END_TEST

START_TEST(storage_and_checkpoints)
{
	ck_assert_double_eq_tol(data_storage_rate(NULL, data_units(NULL, 4, 7e9), 110e3), 4 * 63636.3636, 1);
	ck_assert_double_eq_tol(data_slower(NULL, 100, 70), 70, 1e-12);
	ck_assert_double_eq_tol(data_slower(NULL, 60, 70), 60, 1e-12);
	ck_assert_double_eq_tol(data_busy(NULL, data_read_need(NULL, 4000, 1e6), 10e9), 0.4, 1e-12);
	ck_assert_double_eq_tol(data_burst_beside(NULL, 9.8, 0.4), 9.8 / 0.6, 1e-12);
	ck_assert_double_eq(data_burst_beside(NULL, 9.8, 0), 9.8);
	ck_assert(isinf(data_burst_beside(NULL, 9.8, 1)) && isinf(data_burst_beside(NULL, 9.8, 1.3)));
	ck_assert_double_eq_tol(data_busy_both(NULL, 0.4, 0.1), 0.5, 1e-12);
	ck_assert_double_eq(data_burst_rate(NULL, 900), 450);
}
END_TEST

START_TEST(sensors_and_rules)
{
	/* worked examples 003: 8 cameras of 2 megapixels at 30 Hz */
	const double one = data_camera(NULL, 2e6, 3, 30);

	ck_assert_double_eq_tol(data_cameras(NULL, 8, one), 1.44e9, 1);
	ck_assert_double_eq_tol(data_cameras(NULL, 6, one), 1.08e9, 1);
	ck_assert_double_eq_tol(data_volume(NULL, one, 3600), 648e9, 1);
	ck_assert_double_eq(data_rule_gpus(NULL, 8), 16);
	ck_assert_double_eq(data_rule_cores(NULL, 8, 128), 256);
}
END_TEST

Suite *data_suite(void);

Suite *
data_suite(void)
{
	Suite *s = suite_create("data");
	TCase *c = tcase_create("data");

	tcase_add_test(c, workers_and_rates);
	tcase_add_test(c, waiting);
	tcase_add_test(c, storage_and_checkpoints);
	tcase_add_test(c, sensors_and_rules);
	suite_add_tcase(s, c);
	return s;
}
