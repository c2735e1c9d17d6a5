/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/kernel/kernel.h"

#include <check.h>
#include <string.h>

/* Golden rows of the worked examples; corrected values where the document is wrong. */
START_TEST(test_ridges)
{
	/* ROOF-01..05 */
	ck_assert_double_eq_tol(ridge_point(NULL, 125e12, 0.9e12), 138.888888889, 1e-6);
	ck_assert_double_eq_tol(ridge_point(NULL, 312e12, 2e12), 156, 1e-9);
	ck_assert_double_eq_tol(ridge_point(NULL, 990e12, 3.4e12), 291.176470588, 1e-6);
	ck_assert_double_eq_tol(ridge_point(NULL, 990e12, 4.8e12), 206.25, 1e-9);
	ck_assert_double_eq_tol(ridge_point(NULL, 2250e12, 8e12), 281.25, 1e-9);
	/* ROOF-09, ROOF-10: the vendor's figures; ROOF-24: fp32 without matrix units */
	ck_assert_double_eq_tol(ridge_point(NULL, 989.4e12, 3.35e12), 295.343283582, 1e-6);
	ck_assert_double_eq_tol(ridge_point(NULL, 312e12, 2.039e12), 153.016184404, 1e-6);
	ck_assert_double_eq_tol(ridge_point(NULL, 67e12, 3.35e12), 20, 1e-9);
	/* ROOF-13..15: "compute grows faster than bandwidth each generation" holds from A100 to H100 only */
	const double h100 = ridge_point(NULL, 990e12, 3.4e12);
	ck_assert_double_eq_tol(h100 / ridge_point(NULL, 312e12, 2e12), 1.8665158371, 1e-6);
	ck_assert_double_eq_tol(ridge_point(NULL, 990e12, 4.8e12) / h100, 0.708333333333, 1e-6);
	ck_assert_double_eq_tol(ridge_point(NULL, 2250e12, 8e12) / h100, 0.965909090909, 1e-6);
	/* ROOF-12, PREC-15, PREC-16: ratios of peaks are ratios of ridges on one memory */
	ck_assert_double_eq_tol(ridge_point(NULL, 990e12, 1e12) / ridge_point(NULL, 312e12, 1e12), 3.17307692308, 1e-6);
	ck_assert_double_eq_tol(ridge_point(NULL, 312e12, 2e12) / ridge_point(NULL, 156e12, 2e12), 2, 1e-12);
	ck_assert_double_eq_tol(
	    ridge_point(NULL, 1979e12, 1e12) / ridge_point(NULL, 989.4e12, 1e12), 2.00020214271, 1e-6);
}
END_TEST

START_TEST(test_rates)
{
	/* ROOF-21: 432 tensor cores x 256 FMA; ROOF-22: 6912 cores; both at 1.41 GHz */
	ck_assert_double_eq_tol(unit_peak(NULL, 432, 256, 1.41e9), 311.86944e12, 1);
	ck_assert_double_eq_tol(unit_peak(NULL, 108, 1024, 1.41e9), 311.86944e12, 1);
	ck_assert_double_eq_tol(unit_peak(NULL, 108, 64, 1.41e9), 19.49184e12, 1);
	/* ROOF-17, ROOF-16 */
	ck_assert_double_eq_tol(shared_memory_rate(NULL, 108, shared_port_byte("ampere"), 1.41e9), 19.49184e12, 1);
	/* ROOF-19: three operands read and one written by each of 6912 lanes; the document prints 20 TB/s */
	ck_assert_double_eq_tol(register_rate(NULL, 108, 64, 1.41e9), 155.93472e12, 1);
	ck_assert_double_eq(shared_port_byte("turing"), 64);
	ck_assert(isnan(shared_port_byte("unheard-of")));
	ck_assert(isnan(shared_port_byte(NULL)));
}
END_TEST

START_TEST(test_points)
{
	/* OPS-01..03: LayerNorm of 4096 on the rounded A100 */
	const struct point norm = roofline_point(NULL, 4 * 4096, 12 * 4096, 312e12, 2e12);
	ck_assert_double_eq_tol(norm.intensity_flop_per_byte, 1.0 / 3, 1e-12);
	ck_assert_double_eq_tol(norm.attainable_flop_per_s, 0.666666666667e12, 1);
	ck_assert_double_eq_tol(norm.of_peak_frac, 0.00213675213675, 1e-9);
	ck_assert_str_eq(roofline_bound(norm.intensity_flop_per_byte, norm.ridge_flop_per_byte), "memory-bound");
	ck_assert_double_eq_tol(norm.roof_s, 12 * 4096 / 2e12, 1e-18);
	/* OPS-04: the document prints 2730.7, the value of one-byte operands */
	const struct point gemm = roofline_point(NULL, 137438953472.0, 100663296.0, 312e12, 2e12);
	ck_assert_double_eq_tol(gemm.intensity_flop_per_byte, 1365.33333333, 1e-6);
	ck_assert_double_eq(gemm.attainable_flop_per_s, 312e12);
	ck_assert_str_eq(roofline_bound(gemm.intensity_flop_per_byte, gemm.ridge_flop_per_byte), "compute-bound");
	/* ROOF-25 */
	const struct point low = roofline_place(NULL, 2, 990e12, 3.4e12);
	ck_assert_double_eq_tol(low.attainable_flop_per_s, 6.8e12, 1);
	ck_assert_double_eq_tol(low.of_peak_frac, 0.00686868686869, 1e-9);
	/* at the ridge itself both limits meet */
	ck_assert_str_eq(roofline_bound(156, 156), "compute-bound");
}
END_TEST

/* More bandwidth or arithmetic is never slower; at most one of the gains is above 1. */
START_TEST(test_monotone)
{
	for (double flop = 1e9; flop < 1e14; flop *= 7)
		for (double byte = 1e6; byte < 1e11; byte *= 5) {
			const double base = roofline_s(NULL, flop, byte, 3e14, 2e12);
			ck_assert_double_le(roofline_s(NULL, flop, byte, 6e14, 2e12), base);
			ck_assert_double_le(roofline_s(NULL, flop, byte, 3e14, 4e12), base);
			ck_assert_double_eq_tol(
			    roofline_s(NULL, 2 * flop, 2 * byte, 3e14, 2e12), 2 * base, 1e-12 * base);
			const struct point p = roofline_point(NULL, flop, byte, 3e14, 2e12);
			const double memory = roofline_bandwidth_gain(NULL, p.compute_s, p.memory_s);
			const double arithmetic = roofline_arithmetic_gain(NULL, p.compute_s, p.memory_s);
			ck_assert_double_eq(fmin(memory, arithmetic), 1);
			ck_assert_double_eq_tol(p.attainable_flop_per_s * p.roof_s, flop, 1e-9 * flop);
		}
}
END_TEST

START_TEST(test_measured)
{
	/* 1.1 TFLOP and 2.5 GB in 4 ms on 312 TFLOP/s and 2 TB/s */
	const double roof_s = roofline_s(NULL, 1.1e12, 2.5e9, 312e12, 2e12);

	ck_assert_double_eq_tol(roofline_measured_frac(NULL, roof_s, 4e-3), 0.881410256, 1e-6);
	ck_assert_double_eq_tol(roofline_rate_frac(NULL, 1.1e12, 4e-3, 312e12), 0.881410256, 1e-6);
	ck_assert_double_eq_tol(roofline_traffic_frac(NULL, 2.5e9, 4e-3, 2e12), 0.3125, 1e-12);
	ck_assert_double_gt(roofline_rate_frac(NULL, 1.1e12, 3e-3, 312e12), 1);
}
END_TEST

START_TEST(test_alignment)
{
	/* PREC-17: 1000 is a multiple of 8, so 16-bit products are aligned (the document says not), 8-bit ones are not;
	 * PREC-18 */
	ck_assert_double_eq(alignment_left_over(NULL, 1000, 2), 0);
	ck_assert_double_eq(alignment_left_over(NULL, 1000, 1), 8);
	ck_assert_double_eq(alignment_left_over(NULL, 1024, 1), 0);
	ck_assert_double_eq(alignment_left_over(NULL, 1001, 4), 1);
}
END_TEST

START_TEST(test_sharing)
{
	/* OPS-16..20 */
	ck_assert_double_eq_tol(encoder_separate(NULL, 8.5e9, 6, 3), 153e9, 1);
	ck_assert_double_eq_tol(encoder_shared(NULL, 8.5e9, 6, 3, 0), 51e9, 1);
	ck_assert_double_eq_tol(encoder_shared(NULL, 0, 6, 3, 1.5e9), 4.5e9, 1);
	ck_assert_double_eq_tol(encoder_shared(NULL, 8.5e9, 6, 3, 1.5e9), 55.5e9, 1);
	ck_assert_double_eq_tol(encoder_saving(NULL, 55.5e9, 153e9), 0.637254901961, 1e-9);
}
END_TEST

/* Recording changes no value, and the rows hold what was returned. */
START_TEST(test_sheet)
{
	struct sheet *sh = sheet_new();
	const struct op op = {.kind = OP_gemm, .count = 3, .dim = {128, 256, 512}, .elem_byte = 2};

	ck_assert_double_eq(roofline_op(sh, &op, 3e14, 2e12), roofline_op(NULL, &op, 3e14, 2e12));
	const int i = sheet_find(sh, "total_s");
	ck_assert_int_ge(i, 0);
	ck_assert_double_eq(sheet_row(sh, i)->value, roofline_op(NULL, &op, 3e14, 2e12));
	ck_assert_double_eq(roofline_share(NULL, 1, 4), 0.25);
	sheet_clear(sh);
	ck_assert_double_eq(roofline_s(sh, 1e12, 1e9, 3e14, 2e12), roofline_s(NULL, 1e12, 1e9, 3e14, 2e12));
	sheet_free(sh);
}
END_TEST

Suite *roofline_suite(void);

Suite *
roofline_suite(void)
{
	Suite *s = suite_create("roofline");
	TCase *t = tcase_create("roofline");

	tcase_add_test(t, test_ridges);
	tcase_add_test(t, test_rates);
	tcase_add_test(t, test_points);
	tcase_add_test(t, test_monotone);
	tcase_add_test(t, test_measured);
	tcase_add_test(t, test_alignment);
	tcase_add_test(t, test_sharing);
	tcase_add_test(t, test_sheet);
	suite_add_tcase(s, t);
	return s;
}
