/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/calc/calc.h"

#include <check.h>

START_TEST(gains)
{
	/* worked examples 000 */
	ck_assert_double_eq_tol(service_gain(NULL, 50, 210), 4.2, 1e-12);
	ck_assert_double_eq_tol(service_rate_change(NULL, 50, 85), 0.7, 1e-12);
	ck_assert_double_eq_tol(service_time_change(NULL, 0.8, 0.92), 0.15, 1e-12);
}
END_TEST

START_TEST(objectives)
{
	/* worked examples 003: 500 ms, 50 ms and 2 s leave 31 tokens */
	ck_assert_double_eq(answer_fitting(NULL, 2, 0.5, 0.05), 31);
	ck_assert_double_eq_tol(answer_time(NULL, 0.5, 0.05, 200), 10.45, 1e-12);
	ck_assert_double_eq(answer_fitting(NULL, 0.4, 0.5, 0.05), 0);
	ck_assert_double_eq(answer_fitting(NULL, 0.5, 0.5, 0.05), 1);
	/* one more token does not fit, and the time between tokens that would make it fit does */
	for (double osl = 2; osl < 300; osl += 13) {
		const double itl = answer_itl(NULL, 2, 0.5, osl);
		ck_assert_double_eq_tol(answer_time(NULL, 0.5, itl, osl), 2, 1e-12);
		ck_assert_double_eq(answer_fitting(NULL, 2, 0.5, itl), osl);
	}
}
END_TEST

START_TEST(floors)
{
	/* worked examples 003: 7B on an A100 */
	ck_assert_double_eq_tol(prompt_floor(NULL, prompt_flop(NULL, 4096, 14e9), 312e12, 0.5), 0.3676, 1e-4);
	ck_assert_double_eq_tol(decode_floor(NULL, decode_read(NULL, 14e9, 0), 14e9, 2.039e12, 312e12), 6.866e-3, 1e-6);
	ck_assert_double_eq_tol(
	    decode_floor(NULL, decode_read(NULL, 14e9, 32 * 1000 * 524288.0), 32 * 14e9, 2.039e12, 312e12), 15.094e-3,
	    1e-6);
	/* a batch large enough is bound by arithmetic */
	ck_assert_double_eq_tol(
	    decode_floor(NULL, 14e9, decode_work(NULL, 1000, 14e9), 2.039e12, 312e12), 1000 * 14e9 / 312e12, 1e-12);
	ck_assert_double_eq_tol(decode_rate(NULL, 32, 0.016), 2000, 1e-9);
	ck_assert_double_eq(gpu_share(NULL, 8e12, 8), 1e12);
}
END_TEST

START_TEST(static_batches)
{
	ck_assert_double_eq(static_waiting(NULL, 32), 31);
	ck_assert_double_eq_tol(static_idle(NULL, 200, 1000), 0.8, 1e-15);
	/* what idles is what filling gains */
	ck_assert_double_eq_tol(static_gain(NULL, 200, 1000), 1 / (1 - static_idle(NULL, 200, 1000)), 1e-12);
}
END_TEST

Suite *service_suite(void);

Suite *
service_suite(void)
{
	Suite *s = suite_create("service");
	TCase *t = tcase_create("service");

	tcase_add_test(t, gains);
	tcase_add_test(t, objectives);
	tcase_add_test(t, floors);
	tcase_add_test(t, static_batches);
	suite_add_tcase(s, t);
	return s;
}
