/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formats of numbers.  Floating point as IEEE 754-2019, section 3; small codes as OCP Microscaling Formats 1.0. */
#include "model/hw/hw.h"

#include <string.h>

const struct format number_formats[N_FORMATS] = {
#define FORMAT(id, text, code_, e, m, stored, scaling_, scale, size, zero, outer, outer_size, title_, source_)         \
	[FORMAT_##id] = {.name = text,                                                                                 \
	    .title = title_,                                                                                           \
	    .source = source_,                                                                                         \
	    .code = CODE_##code_,                                                                                      \
	    .scaling = SCALING_##scaling_,                                                                             \
	    .exponent_bits = e,                                                                                        \
	    .mantissa_bits = m,                                                                                        \
	    .stored_bits = stored,                                                                                     \
	    .scale_bits = scale,                                                                                       \
	    .group = size,                                                                                             \
	    .zero_bits = zero,                                                                                         \
	    .outer_bits = outer,                                                                                       \
	    .outer_group = outer_size},
#include "model/hw/format.def"
#undef FORMAT
};

const struct format *
format_find(const char *name)
{
	for (int i = 0; i < N_FORMATS; i++)
		if (strcmp(number_formats[i].name, name) == 0)
			return &number_formats[i];
	return NULL;
}

bool
format_is_float(const struct format *f)
{
	return f->code == CODE_IEEE || f->code == CODE_E4M3 || f->code == CODE_FINITE;
}

/* --- what it costs --------------------------------------------------------------------------------------- */

double
format_bits(struct sheet *sh, const struct format *f)
{
	TAKE(sh, stored_bits, f->stored_bits);
	if (!(f->group > 0)) {
		LET(sh, bits_per_weight, stored_bits);
		return bits_per_weight;
	}
	FROM(sh, f, scale_bits, zero_bits);
	TAKE(sh, n_group, f->group);
	double outer_bits_per_weight;
	if (f->outer_group > 0) {
		TAKE(sh, outer_bits, f->outer_bits);
		TAKE(sh, n_outer_group, f->outer_group);
		SET(sh, outer_bits_per_weight, outer_bits / (n_group * n_outer_group));
	} else
		SET(sh, outer_bits_per_weight, 0);
	LET(sh, bits_per_weight, stored_bits + (scale_bits + zero_bits) / n_group + outer_bits_per_weight);
	return bits_per_weight;
}

double
format_scale_bytes(struct sheet *sh, const struct format *f, double n_params)
{
	GIVEN(sh, n_params);
	CALL(sh, bits_per_weight, format_bits(sh, f));
	TAKE(sh, stored_bits, f->stored_bits);
	TAKE(sh, bit_byte_per_param, 0.125);
	LET(sh, scale_byte, n_params * (bits_per_weight - stored_bits) * bit_byte_per_param);
	return scale_byte;
}

double
format_ratio(struct sheet *sh, double base_bits_per_weight, double bits_per_weight)
{
	GIVEN(sh, base_bits_per_weight, bits_per_weight);
	LET(sh, ratio, base_bits_per_weight / bits_per_weight);
	return ratio;
}

/* --- what it can hold ------------------------------------------------------------------------------------ */

/* A sign, and all else. */
double
format_element_bits(struct sheet *sh, const struct format *f)
{
	FROM(sh, f, exponent_bits, mantissa_bits);
	LET(sh, element_bits, 1 + exponent_bits + mantissa_bits);
	return element_bits;
}

/* IEEE keeps the top exponent for infinities, E4M3 the top pattern for what is no number, the MX codes nothing. */
double
format_largest(struct sheet *sh, const struct format *f)
{
	FROM(sh, f, exponent_bits, mantissa_bits);
	TAKE(sh, n_reserved_exponents, f->code == CODE_IEEE ? 1 : 0);
	TAKE(sh, n_lost_steps, f->code == CODE_E4M3 ? 2 : 1);
	LET(sh, bias, pow(2, exponent_bits - 1) - 1);
	LET(sh, largest_exponent, pow(2, exponent_bits) - 1 - n_reserved_exponents - bias);
	LET(sh, largest, (2 - n_lost_steps * pow(2, 0 - mantissa_bits)) * pow(2, largest_exponent));
	return largest;
}

double
format_smallest_normal(struct sheet *sh, const struct format *f)
{
	TAKE(sh, exponent_bits, f->exponent_bits);
	LET(sh, bias, pow(2, exponent_bits - 1) - 1);
	LET(sh, smallest_normal, pow(2, 1 - bias));
	return smallest_normal;
}

double
format_smallest(struct sheet *sh, const struct format *f)
{
	TAKE(sh, mantissa_bits, f->mantissa_bits);
	CALL(sh, smallest_normal, format_smallest_normal(sh, f));
	LET(sh, smallest, smallest_normal * pow(2, 0 - mantissa_bits));
	return smallest;
}

double
format_digits(struct sheet *sh, const struct format *f)
{
	TAKE(sh, mantissa_bits, f->mantissa_bits);
	LET(sh, n_digits, (mantissa_bits + 1) * log10(2));
	return n_digits;
}

double
format_spacing(struct sheet *sh, const struct format *f, double magnitude)
{
	GIVEN(sh, magnitude);
	TAKE(sh, mantissa_bits, f->mantissa_bits);
	CALL(sh, smallest_normal, format_smallest_normal(sh, f));
	LET(sh, exponent, floor(log2(fmax(magnitude, smallest_normal))));
	LET(sh, spacing, pow(2, exponent - mantissa_bits));
	return spacing;
}

double
format_scaled(struct sheet *sh, double value, double factor)
{
	GIVEN(sh, value, factor);
	LET(sh, scaled, value * factor);
	return scaled;
}

double
format_update(struct sheet *sh, double update, double spacing)
{
	GIVEN(sh, update, spacing);
	LET(sh, n_spacings, update / spacing);
	return n_spacings;
}

/* --- integers -------------------------------------------------------------------------------------------- */

/* As many steps on both sides of zero. */
double
integer_largest(struct sheet *sh, double n_bits)
{
	GIVEN(sh, n_bits);
	LET(sh, largest, pow(2, n_bits - 1) - 1);
	return largest;
}

double
integer_step(struct sheet *sh, double absmax, double largest)
{
	GIVEN(sh, absmax, largest);
	LET(sh, step, absmax / largest);
	return step;
}

/* Errors are spread evenly over half a step on both sides (Widrow, IRE Transactions on Circuit Theory 3(4), 1956). */
double
rounding_mean(struct sheet *sh, double step)
{
	GIVEN(sh, step);
	LET(sh, mean_error, step / 4);
	return mean_error;
}

double
rounding_rms(struct sheet *sh, double step)
{
	GIVEN(sh, step);
	LET(sh, rms_error, step / sqrt(12));
	return rms_error;
}

double
rounding_worst(struct sheet *sh, double step)
{
	GIVEN(sh, step);
	LET(sh, worst_error, step / 2);
	return worst_error;
}

/* --- a normal distribution ------------------------------------------------------------------------------- */

double
normal_mean_abs(struct sheet *sh)
{
	TAKE(sh, pi, 3.14159265358979323846);
	LET(sh, mean_abs, sqrt(2 / pi));
	return mean_abs;
}

double
rounding_relative(struct sheet *sh, double mean_error, double mean_abs)
{
	GIVEN(sh, mean_error, mean_abs);
	LET(sh, relative_frac, mean_error / mean_abs);
	return relative_frac;
}

double
rounding_snr(struct sheet *sh, double rms_error)
{
	GIVEN(sh, rms_error);
	LET(sh, snr_db, 0 - 20 * log10(rms_error));
	return snr_db;
}

/* Shannon, IRE National Convention Record 7(4), 1959: a normal source needs log2(1 / error) bits. */
double
rounding_ideal_bits(struct sheet *sh, double rms_error)
{
	GIVEN(sh, rms_error);
	LET(sh, ideal_bits, 0 - log2(rms_error));
	return ideal_bits;
}
