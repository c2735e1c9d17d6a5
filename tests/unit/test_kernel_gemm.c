/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/kernel/kernel.h"

#include <check.h>
#include <string.h>

struct parameters {
	const char *id;
	double n_sms, peak_flop_per_s, mem_byte_per_s, l2_byte, clock_hertz;
	double compute_frac, memory_frac, base_us, feed_byte_per_clock, tile_us, k_step_clocks;
};

struct vector {
	const char *id;
	double m, n, k, predicted_us;
};

static const struct parameters parameters[] = {
#define GPU(id, ...) {#id, __VA_ARGS__},
#define VECTOR(...)
#include "../vectors/gemm_rec6.inc"
#undef GPU
#undef VECTOR
};

static const struct vector vectors[] = {
#define GPU(...)
#define VECTOR(id, m, n, k, predicted, measured) {#id, m, n, k, predicted},
#include "../vectors/gemm_rec6.inc"
#undef GPU
#undef VECTOR
};

enum { N_VECTORS = sizeof vectors / sizeof *vectors };

static struct datum
number(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

static struct calibration
calibration_of(const struct parameters *p)
{
	struct calibration c = {.has_gemm = true};

	c.ref_n_sms = number(p->n_sms);
	c.ref_peak_flop_per_s = number(p->peak_flop_per_s);
	c.ref_mem_byte_per_s = number(p->mem_byte_per_s);
	c.ref_l2_byte = number(p->l2_byte);
	c.ref_clock_hertz = number(p->clock_hertz);
	c.gemm[DTYPE_BF16] = (struct gemm_calibration){
	    .peak_flop_per_s = number(p->compute_frac * p->peak_flop_per_s),
	    .mem_byte_per_s = number(p->memory_frac * p->mem_byte_per_s),
	    .l2_byte_per_s = number(4 * p->mem_byte_per_s),
	    .base_s = number(p->base_us * 1e-6),
	    .feed_byte_per_s = number(p->feed_byte_per_clock * p->clock_hertz),
	    .tile_s = number(p->tile_us * 1e-6),
	    .k_step_s = number(p->k_step_clocks / p->clock_hertz),
	    .wave_frac = number(0),
	    .derate = number(0),
	};
	return c;
}

static const struct parameters *
parameters_of(const char *id)
{
	for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
		if (strcmp(parameters[i].id, id) == 0)
			return &parameters[i];
	ck_abort_msg("no parameters for %s", id);
	return NULL;
}

static struct gemm_shape
benchmark(double m, double n, double k)
{
	return (struct gemm_shape){.m = m, .n = n, .k = k, .a_byte = 2, .w_byte = 2, .o_byte = 2, .n_copies = 5};
}

START_TEST(test_vector)
{
	const struct vector *v = &vectors[_i];
	const struct calibration c = calibration_of(parameters_of(v->id));
	const struct gemm_shape shape = benchmark(v->m, v->n, v->k);
	const double us = gemm_time(NULL, &shape, &c, DTYPE_BF16) * 1e6;

	/* the vectors are printed with four digits */
	ck_assert_msg(fabs(us / v->predicted_us - 1) < 1e-3, "%s %g x %g x %g: %g us, expected %g", v->id, v->m, v->n,
	    v->k, us, v->predicted_us);
}
END_TEST

START_TEST(test_sheet_changes_nothing)
{
	struct sheet *sh = sheet_new();

	for (int i = 0; i < N_VECTORS; i++) {
		struct calibration c = calibration_of(parameters_of(vectors[i].id));
		const struct gemm_shape shape = benchmark(vectors[i].m, vectors[i].n, vectors[i].k);
		c.gemm[DTYPE_BF16].wave_frac = number(0.3);
		c.gemm[DTYPE_BF16].derate = number(0.11);
		const double bare = gemm_time(NULL, &shape, &c, DTYPE_BF16);
		sheet_clear(sh);
		ck_assert_double_eq(bare, gemm_time(sh, &shape, &c, DTYPE_BF16));
	}
	sheet_free(sh);
}
END_TEST

/* Extra and blended time of a product cut that way. */
static double
cut_s(const struct tiles *w, const struct tile *t)
{
	const struct tile_times times = tile_times(NULL, w, t);

	return times.extra_s + blend_time(NULL, w->fit, times.arithmetic_s, times.feed_s, w->traffic_s);
}

/* No tile is faster than the chosen one, whatever the exponent: those that bounds leave out lose. */
START_TEST(test_best_tile)
{
	static const double norms[] = {0, 0.7, 1, 1.3, 2, 2.6, 3, 3.5, 4, 5.7, 8, 12};
	const struct vector *v = &vectors[_i];
	struct calibration c = calibration_of(parameters_of(v->id));
	struct gemm_calibration *p = &c.gemm[DTYPE_BF16];

	for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
		p->norm = norms[i] > 0 ? number(norms[i]) : (struct datum){0};
		p->wave_frac = number(norms[i] / 12);
		const double flop_per_s = 0.8 * c.ref_peak_flop_per_s.value,
		             least_s = 2 * (v->m * v->k + v->n * v->k) / c.ref_mem_byte_per_s.value;
		const struct tiles w = {.n_groups = 1,
		    .m = v->m,
		    .n = v->n,
		    .k = v->k,
		    .a_byte = 2,
		    .w_byte = 2,
		    .n_sms = c.ref_n_sms,
		    .flop_per_s = flop_per_s,
		    .traffic_s = least_s,
		    .fit = p};
		const struct tile best = tile_best(&w);
		const double best_s = cut_s(&w, &best);

		for (double tile_m = 16; tile_m <= 256 && (tile_m == 16 || tile_m < 2 * w.m); tile_m *= 2)
			for (double tile_n = 32; tile_n <= 256 && (tile_n == 32 || tile_n < 2 * w.n); tile_n *= 2) {
				const double n_tiles = ceil(w.m / tile_m) * ceil(w.n / tile_n);

				for (double parts = 1; parts <= 32 && tile_m * tile_n < 256 * 256; parts *= 2) {
					if (parts > 1 && (w.k / parts < 128 || n_tiles * parts > 4 * w.n_sms.value))
						break;
					const struct tile tile = {tile_m, tile_n, parts};
					ck_assert_msg(best_s <= cut_s(&w, &tile) * (1 + 1e-12),
					    "norm %g: %g x %g, %g parts", norms[i], tile_m, tile_n, parts);
				}
			}
	}
}
END_TEST

START_TEST(test_rules)
{
	struct calibration c = calibration_of(parameters_of("h100_sxm"));
	const struct gemm_shape shape = benchmark(8192, 8192, 8192);
	const double fluid = gemm_time(NULL, &shape, &c, DTYPE_BF16);

	/* whole waves never finish earlier */
	c.gemm[DTYPE_BF16].wave_frac = number(1);
	ck_assert_double_ge(gemm_time(NULL, &shape, &c, DTYPE_BF16), fluid);
	c.gemm[DTYPE_BF16].wave_frac = number(0);
	/* 1.0995 TFLOP: 0.0412 decades above 1e12, of 11.1 % each */
	c.gemm[DTYPE_BF16].derate = number(0.111);
	ck_assert_double_eq_tol(
	    gemm_time(NULL, &shape, &c, DTYPE_BF16) / fluid, 1 + 0.111 * log10(2.0 * 8192 * 8192 * 8192 / 1e12), 1e-12);
	/* a memory-bound product is not slowed by the power limit */
	const struct gemm_shape thin = benchmark(1, 65536, 65536);
	const double derated = gemm_time(NULL, &thin, &c, DTYPE_BF16);
	c.gemm[DTYPE_BF16].derate = number(0);
	ck_assert_double_eq(derated, gemm_time(NULL, &thin, &c, DTYPE_BF16));
	/* cold weights are never faster than warm ones */
	struct gemm_shape small = benchmark(16, 1024, 1024);
	const double warm = gemm_time(NULL, &small, &c, DTYPE_BF16);
	small.n_copies = 0;
	ck_assert_double_gt(gemm_time(NULL, &small, &c, DTYPE_BF16), warm);
}
END_TEST

START_TEST(test_quantise)
{
	struct calibration c = calibration_of(parameters_of("h100_sxm"));
	struct gemm_shape shape = {.m = 64, .n = 4096, .k = 4096, .a_byte = 1, .w_byte = 1, .o_byte = 2};

	c.gemm[DTYPE_FP8] = c.gemm[DTYPE_BF16];
	c.gemm[DTYPE_FP8].quantise_s = number(2.6e-6);
	c.gemm[DTYPE_FP8].quantise_byte_per_s = number(0.8e12);
	const double without = gemm_time(NULL, &shape, &c, DTYPE_FP8);
	shape.quantise = true;
	/* 2 bytes in, 1 out: tq0 + m k (2 + 1) / rate */
	ck_assert_double_eq_tol(
	    gemm_time(NULL, &shape, &c, DTYPE_FP8) - without, 2.6e-6 + 64 * 4096 * 3 / 0.8e12, 1e-15);
	ck_assert(gemm_calibrated(&c, DTYPE_FP8));
	ck_assert(!gemm_calibrated(&c, DTYPE_INT8));
	ck_assert(!gemm_calibrated(NULL, DTYPE_BF16));
}
END_TEST

Suite *kernel_gemm_suite(void);

Suite *
kernel_gemm_suite(void)
{
	Suite *s = suite_create("kernel_gemm");
	TCase *t = tcase_create("kernel_gemm");

	tcase_add_loop_test(t, test_vector, 0, N_VECTORS);
	tcase_add_loop_test(t, test_best_tile, 0, N_VECTORS);
	tcase_add_test(t, test_sheet_changes_nothing);
	tcase_add_test(t, test_rules);
	tcase_add_test(t, test_quantise);
	suite_add_tcase(s, t);
	return s;
}
