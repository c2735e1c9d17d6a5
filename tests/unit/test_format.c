/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/hw/hw.h"

#include "model/memory/memory.h"
#include "search/stats/stats.h"

#include <check.h>
#include <stdint.h>
#include <string.h>

static const struct format *
named(const char *name)
{
	const struct format *f = format_find(name);

	ck_assert_msg(f != NULL, "%s", name);
	return f;
}

/* --- what they cost -------------------------------------------------------------------------------------- */

/* The tables of types and of quantised weights say the same as the table of formats. */
START_TEST(one_fact_in_three_tables)
{
	static const struct {
		const char *dtype, *format;
	} types[] = {{"fp64", "fp64"}, {"fp32", "fp32"}, {"tf32", "tf32"}, {"fp16", "fp16"}, {"bf16", "bf16"},
	    {"fp8", "fp8-e4m3"}, {"fp8-block", "fp8-block"}, {"mxfp8", "mxfp8"}, {"int8", "int8"}, {"fp6", "fp6-e2m3"},
	    {"fp4", "fp4-e2m1"}, {"mxfp4", "mxfp4"}, {"nvfp4", "nvfp4"}, {"int4", "int4"}};
	static const struct {
		const char *quant, *format;
	} quants[] = {{"nf4", "nf4"}, {"nf4-dq", "nf4-dq"}, {"int4", "gptq"}, {"fp8", "fp8-block"}, {"mxfp4", "mxfp4"},
	    {"nvfp4", "nvfp4"}};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		ck_assert_double_eq(
		    8 * dtype_byte(dtype_find(types[i].dtype)), format_bits(NULL, named(types[i].format)));
	for (size_t i = 0; i < sizeof quants / sizeof *quants; i++)
		for (int q = QUANT_NONE + 1; q < N_QUANTS; q++)
			if (strcmp(quant_name((enum quant)q), quants[i].quant) == 0)
				ck_assert_double_eq(
				    quant_bits((enum quant)q), format_bits(NULL, named(quants[i].format)));
}
END_TEST

/* Scales, of which the outer ones are shared once more: Dettmers et al., arXiv:2305.14314, section 3. */
START_TEST(bits_with_scales)
{
	ck_assert_double_eq(format_bits(NULL, named("nf4")), 4.5);
	ck_assert_double_eq(format_bits(NULL, named("nf4-dq")), 4 + 8 / 64.0 + 32 / (64 * 256.0));
	ck_assert_double_eq(format_bits(NULL, named("gptq")), 4 + 20 / 128.0);
	ck_assert_double_eq(format_scale_bytes(NULL, named("mxfp4"), 32e6), 1e6);
	ck_assert_double_eq(format_scale_bytes(NULL, named("bf16"), 32e6), 0);
}
END_TEST

/* --- what they hold -------------------------------------------------------------------------------------- */

START_TEST(ranges)
{
	/* float.h of this machine, and Micikevicius et al., arXiv:2209.05433, table 1 */
	ck_assert_double_eq(format_largest(NULL, named("fp32")), 3.40282346638528859812e+38);
	ck_assert_double_eq(format_smallest_normal(NULL, named("fp32")), 1.17549435082228750797e-38);
	ck_assert_double_eq(format_largest(NULL, named("fp64")), 1.79769313486231570815e+308);
	ck_assert_double_eq(format_largest(NULL, named("fp8-e4m3")), 448);
	ck_assert_double_eq(format_largest(NULL, named("fp8-e5m2")), 57344);
	ck_assert_double_eq(format_smallest(NULL, named("fp8-e4m3")), 0x1p-9);
	ck_assert_double_eq(format_smallest(NULL, named("fp8-e5m2")), 0x1p-16);
	/* OCP Microscaling Formats 1.0, section 5.3 */
	ck_assert_double_eq(format_largest(NULL, named("mxfp6-e3m2")), 28);
	ck_assert_double_eq(format_largest(NULL, named("mxfp6-e2m3")), 7.5);
	ck_assert_double_eq(format_largest(NULL, named("mxfp4")), 6);
	ck_assert_double_eq(format_smallest(NULL, named("mxfp4")), 0.5);
}
END_TEST

START_TEST(spacings)
{
	const struct format *bf16 = named("bf16");

	ck_assert_double_eq(format_spacing(NULL, bf16, 1), 0x1p-7);
	ck_assert_double_eq(format_spacing(NULL, bf16, 1.99), 0x1p-7);
	ck_assert_double_eq(format_spacing(NULL, bf16, 2), 0x1p-6);
	ck_assert_double_eq(format_spacing(NULL, bf16, 0.999), 0x1p-8);
	ck_assert_double_eq(format_spacing(NULL, bf16, 0), format_smallest(NULL, bf16));
	ck_assert_double_eq(format_spacing(NULL, named("fp16"), 1e-7), format_smallest(NULL, named("fp16")));
}
END_TEST

/* IEEE 754-2019, table 3.5: the precision p of a format is p log10 2 digits. */
START_TEST(digits_and_updates)
{
	ck_assert_double_eq(format_element_bits(NULL, named("tf32")), 19);
	ck_assert_double_eq_tol(format_digits(NULL, named("fp64")), 15.955, 1e-3);
	ck_assert_double_eq_tol(format_digits(NULL, named("fp32")), 7.225, 1e-3);
	ck_assert_double_eq(format_ratio(NULL, 16, 4), 4);
	/* worked examples 003: a loss of 0.5 scaled by 1024; an update of 1e-7 to a bf16 weight of 1 */
	ck_assert_double_eq(format_scaled(NULL, 0.5, 1024), 512);
	ck_assert_double_eq_tol(format_update(NULL, 1e-7, 0x1p-7), 1.28e-5, 1e-12);
}
END_TEST

/* --- codes ----------------------------------------------------------------------------------------------- */

START_TEST(levels_of_small_codes)
{
	static const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6}; /* OCP Microscaling Formats 1.0, section 5.3.3 */
	/* Dettmers et al., arXiv:2305.14314, appendix E */
	static const double nf4[] = {-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
	    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534,
	    0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
	    0.7229568362236023, 1.0};
	double levels[ROUNDING_LEVELS];

	ck_assert_int_eq(rounding_levels(named("mxfp4"), levels), 8);
	for (int i = 0; i < 8; i++)
		ck_assert_double_eq(levels[i], e2m1[i]);
	ck_assert_int_eq(rounding_levels(named("nf4"), levels), 16);
	for (int i = 0; i < 16; i++)
		ck_assert_double_eq_tol(levels[i], nf4[i], 1e-6);
	/* 0 and 126 positive numbers: one pattern is none (arXiv:2209.05433, table 1) */
	ck_assert_int_eq(rounding_levels(named("fp8-e4m3"), levels), 127);
	ck_assert_double_eq(levels[126], 448);
	ck_assert_double_eq(levels[1], 0x1p-9);
	ck_assert_int_eq(rounding_levels(named("fp8-e5m2"), levels), 124);
	ck_assert_double_eq(levels[123], 57344);
	ck_assert_int_eq(rounding_levels(named("int8"), levels), 128);
}
END_TEST

START_TEST(integer_grid)
{
	/* worked examples 003: absmax 3.76, 8 bits; the document prints 0.003142 */
	const double step = integer_step(NULL, 3.76, integer_largest(NULL, 8));

	ck_assert_double_eq(integer_largest(NULL, 8), 127);
	ck_assert_double_eq_tol(step, 0.029606, 1e-6);
	ck_assert_double_eq_tol(rounding_mean(NULL, step), 0.00740157480315, 1e-13);
	ck_assert_double_eq_tol(rounding_rms(NULL, step), step / sqrt(12), 1e-15);
	ck_assert_double_eq_tol(rounding_worst(NULL, step), step / 2, 1e-15);
}
END_TEST

/* --- a normal distribution ------------------------------------------------------------------------------- */

static double
uniform(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return ((double)((x ^ (x >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

/* Box and Muller, Annals of Mathematical Statistics 29(2), 1958. */
static double
normal(uint64_t *state)
{
	const double radius = sqrt(-2 * log(uniform(state)));

	return radius * cos(2 * 3.14159265358979323846 * uniform(state));
}

static double
nearest(const double *levels, int n, double x)
{
	double best = levels[0];

	for (int i = 1; i < n; i++)
		if (fabs(levels[i] - x) < fabs(best - x))
			best = levels[i];
	return best;
}

/* Quantise groups of random weights as the format says. */
static struct rounding
simulate(const struct format *f, int n, int n_groups, uint64_t *state)
{
	double levels[ROUNDING_LEVELS], weights[128], square = 0, mean = 0, clipped = 0;
	const int n_levels = rounding_levels(f, levels);
	const double top = levels[n_levels - 1];

	for (int g = 0; g < n_groups; g++) {
		double largest = 0;
		for (int i = 0; i < n; i++) {
			weights[i] = normal(state);
			largest = fmax(largest, fabs(weights[i]));
		}
		const double unit =
		    f->scaling == SCALING_POWER ? exp2(floor(log2(largest)) - floor(log2(top))) : largest / top;
		clipped += unit * top < largest * (1 - 1e-12);
		for (int i = 0; i < n; i++) {
			const double code = weights[i] / unit;
			const double stored = levels[0] < 0 ? nearest(levels, n_levels, code)
			                                    : copysign(nearest(levels, n_levels, fabs(code)), code);
			const double error = fabs(stored - code) * unit;
			square += error * error;
			mean += error;
		}
	}
	const double all = (double)n * n_groups;
	return (struct rounding){sqrt(square / all), mean / all, clipped / n_groups};
}

START_TEST(integrals_as_simulated)
{
	static const struct {
		const char *name;
		int group, n_groups;
	} cases[] = {{"mxfp4", 32, 8000}, {"nf4", 64, 5000}, {"mxfp6-e2m3", 32, 4000}, {"int4", 128, 3000},
	    {"fp4-e2m1", 16, 15000}, {"mxint8", 32, 700}};
	uint64_t state = 11;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct format *f = named(cases[i].name);
		const struct rounding is = rounding_normal(f, cases[i].group, 1e7);
		const struct rounding seen = simulate(f, cases[i].group, cases[i].n_groups, &state);
		ck_assert_msg(
		    fabs(is.rms / seen.rms - 1) < 0.02, "%s: rms %g, simulated %g", f->name, is.rms, seen.rms);
		ck_assert_msg(
		    fabs(is.mean / seen.mean - 1) < 0.02, "%s: mean %g, simulated %g", f->name, is.mean, seen.mean);
		ck_assert_double_eq_tol(is.clipped_frac, seen.clipped_frac, 0.02);
	}
}
END_TEST

/* Min and max at the ends of 15 steps, in groups of _i. */
START_TEST(zero_points_as_simulated)
{
	enum { WEIGHTS = 300000 };
	static const int sizes[] = {8, 32, 128};
	const int n = sizes[_i], n_groups = WEIGHTS / n;
	double weights[128], square = 0;
	uint64_t state = 5;

	for (int g = 0; g < n_groups; g++) {
		double low = INFINITY, high = -INFINITY;
		for (int i = 0; i < n; i++) {
			weights[i] = normal(&state);
			low = fmin(low, weights[i]);
			high = fmax(high, weights[i]);
		}
		const double step = (high - low) / 15;
		for (int i = 0; i < n; i++) {
			const double error = (weights[i] - low) / step - round((weights[i] - low) / step);
			square += error * step * error * step;
		}
	}
	const double seen = sqrt(square / (n * (double)n_groups));
	ck_assert_double_eq_tol(rounding_normal(named("gptq"), n, 1).rms, seen, 0.01 * seen);
}
END_TEST

/* A spacing of 2^-m on an octave: Goldberg, ACM Computing Surveys 23(1), 1991; each bit of mantissa halves the error.
 */
START_TEST(floating_point_errors)
{
	const double bf16 = rounding_normal(named("bf16"), 0, 0).rms, fp16 = rounding_normal(named("fp16"), 0, 0).rms;
	uint64_t state = 3;
	double square = 0;

	ck_assert_double_eq_tol(bf16 / fp16, 8, 1e-4);
	for (int i = 0; i < 200000; i++) {
		const double x = normal(&state);
		int exponent;
		const double mantissa = frexp(x, &exponent), kept = ldexp(round(ldexp(mantissa, 8)), exponent - 8);
		square += (kept - x) * (kept - x);
	}
	ck_assert_double_eq_tol(bf16, sqrt(square / 200000), 0.01 * bf16);
}
END_TEST

START_TEST(figures_of_an_error)
{
	uint64_t state = 23;
	double sum = 0;

	for (int i = 0; i < 100000; i++)
		sum += fabs(normal(&state));
	ck_assert_double_eq_tol(normal_mean_abs(NULL), sum / 100000, 0.01);
	ck_assert_double_eq_tol(rounding_relative(NULL, 0.02, 0.8), 0.025, 1e-15);
	/* a thousandth: 60 dB, and 2^-10 needs ten bits */
	ck_assert_double_eq_tol(rounding_snr(NULL, 1e-3), 60, 1e-12);
	ck_assert_double_eq_tol(rounding_ideal_bits(NULL, 0x1p-10), 10, 1e-12);
}
END_TEST

START_TEST(more_of_anything_is_better)
{
	/* bits, smaller groups */
	ck_assert(rounding_normal(named("int8"), 128, 1).rms < rounding_normal(named("int4"), 128, 1).rms);
	ck_assert(rounding_normal(named("int4"), 32, 1).rms < rounding_normal(named("int4"), 128, 1).rms);
	ck_assert(rounding_normal(named("nf4"), 64, 1).rms < rounding_normal(named("int4"), 64, 1).rms);
	ck_assert(rounding_normal(named("nvfp4"), 16, 1e7).rms < rounding_normal(named("mxfp4"), 32, 1).rms);
	/* nothing beats Shannon's bound */
	for (int i = 0; i < N_FORMATS; i++) {
		const struct rounding e = rounding_normal(
		    &number_formats[i], number_formats[i].group > 0 ? number_formats[i].group : 4096, 1e7);
		ck_assert(rounding_ideal_bits(NULL, e.rms) < format_bits(NULL, &number_formats[i]));
		ck_assert(e.mean < e.rms);
	}
}
END_TEST

Suite *format_suite(void);

Suite *
format_suite(void)
{
	Suite *s = suite_create("format");
	TCase *t = tcase_create("format");

	tcase_add_test(t, one_fact_in_three_tables);
	tcase_add_test(t, bits_with_scales);
	tcase_add_test(t, ranges);
	tcase_add_test(t, spacings);
	tcase_add_test(t, digits_and_updates);
	tcase_add_test(t, levels_of_small_codes);
	tcase_add_test(t, integer_grid);
	tcase_add_test(t, integrals_as_simulated);
	tcase_add_loop_test(t, zero_points_as_simulated, 0, 3);
	tcase_add_test(t, floating_point_errors);
	tcase_add_test(t, figures_of_an_error);
	tcase_add_test(t, more_of_anything_is_better);
	tcase_set_timeout(t, 30);
	suite_add_tcase(s, t);
	return s;
}
