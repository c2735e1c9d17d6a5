/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formats of numbers.  Floating point as IEEE 754-2019, section 3; small codes as OCP Microscaling Formats 1.0. */
#include "model/hw/hw.h"

#include <string.h>

/*
 * Formats of weights.  The code says which patterns are no numbers: IEEE (the top exponent), E4M3 (one pattern), FINITE
 * (none), INTEGER, NORMAL (quantiles of a normal distribution).  A group of weights shares a scale, and a zero point
 * where it has bits; `outer_group` scales share another one.  Group 0: one scale for a tensor or a row, whose bits are
 * not counted.  Scaling: NONE, ABSMAX (the largest of a group becomes the largest of the code), POWER (a power of two,
 * rounded down: OCP MX), FP8 (an E4M3 number under one scale of the tensor).
 */
const struct format number_formats[] = {
    {"fp64", "double precision", "IEEE 754-2019", CODE_IEEE, SCALING_NONE, 11, 52, 64, 0, 0, 0, 0, 0},
    {"fp32", "single precision", "IEEE 754-2019", CODE_IEEE, SCALING_NONE, 8, 23, 32, 0, 0, 0, 0, 0},
    {"tf32", "19 bits of an fp32 number", "NVIDIA A100 white paper, 2020", CODE_IEEE, SCALING_NONE, 8, 10, 32, 0, 0, 0,
        0, 0},
    {"fp16", "half precision", "IEEE 754-2019", CODE_IEEE, SCALING_NONE, 5, 10, 16, 0, 0, 0, 0, 0},
    {"bf16", "bfloat16", "Kalamkar et al., arXiv:1905.12322", CODE_IEEE, SCALING_NONE, 8, 7, 16, 0, 0, 0, 0, 0},
    {"fp8-e4m3", "8-bit floating point, more precise", "Micikevicius et al., arXiv:2209.05433", CODE_E4M3,
        SCALING_ABSMAX, 4, 3, 8, 0, 0, 0, 0, 0},
    {"fp8-e5m2", "8-bit floating point, wider", "Micikevicius et al., arXiv:2209.05433", CODE_IEEE, SCALING_ABSMAX, 5,
        2, 8, 0, 0, 0, 0, 0},
    {"fp8-block", "E4M3, an fp32 scale for each 128 x 128", "DeepSeek-AI, arXiv:2412.19437, section 3.3", CODE_E4M3,
        SCALING_ABSMAX, 4, 3, 8, 32, 16384, 0, 0, 0},
    {"fp6-e3m2", "6-bit floating point, wider", "OCP MX 1.0, 2023", CODE_FINITE, SCALING_ABSMAX, 3, 2, 6, 0, 0, 0, 0,
        0},
    {"fp6-e2m3", "6-bit floating point, more precise", "OCP MX 1.0, 2023", CODE_FINITE, SCALING_ABSMAX, 2, 3, 6, 0, 0,
        0, 0, 0},
    {"fp4-e2m1", "4-bit floating point", "OCP MX 1.0, 2023", CODE_FINITE, SCALING_ABSMAX, 2, 1, 4, 0, 0, 0, 0, 0},
    {"mxfp8", "E4M3, an 8-bit exponent for each 32", "OCP MX 1.0, 2023", CODE_E4M3, SCALING_POWER, 4, 3, 8, 8, 32, 0, 0,
        0},
    {"mxfp8-e5m2", "E5M2, an 8-bit exponent for each 32", "OCP MX 1.0, 2023", CODE_IEEE, SCALING_POWER, 5, 2, 8, 8, 32,
        0, 0, 0},
    {"mxfp6-e3m2", "E3M2, an 8-bit exponent for each 32", "OCP MX 1.0, 2023", CODE_FINITE, SCALING_POWER, 3, 2, 6, 8,
        32, 0, 0, 0},
    {"mxfp6-e2m3", "E2M3, an 8-bit exponent for each 32", "OCP MX 1.0, 2023", CODE_FINITE, SCALING_POWER, 2, 3, 6, 8,
        32, 0, 0, 0},
    {"mxfp4", "E2M1, an 8-bit exponent for each 32", "OCP MX 1.0, 2023", CODE_FINITE, SCALING_POWER, 2, 1, 4, 8, 32, 0,
        0, 0},
    {"mxint8", "8-bit integers, an 8-bit exponent for each 32", "OCP MX 1.0, 2023", CODE_INTEGER, SCALING_POWER, 0, 7,
        8, 8, 32, 0, 0, 0},
    {"nvfp4", "E2M1, an E4M3 scale for each 16", "NVIDIA, Introducing NVFP4, 2025", CODE_FINITE, SCALING_FP8, 2, 1, 4,
        8, 16, 0, 0, 0},
    {"int8", "8-bit integers", "Jacob et al., CVPR 2018", CODE_INTEGER, SCALING_ABSMAX, 0, 7, 8, 0, 0, 0, 0, 0},
    {"int8-g128", "8-bit integers, a 16-bit scale for each 128", "Frantar et al., ICLR 2023 (GPTQ)", CODE_INTEGER,
        SCALING_ABSMAX, 0, 7, 8, 16, 128, 0, 0, 0},
    {"int4", "4-bit integers", "Jacob et al., CVPR 2018", CODE_INTEGER, SCALING_ABSMAX, 0, 3, 4, 0, 0, 0, 0, 0},
    {"int4-g128", "4-bit integers, a 16-bit scale for each 128", "Frantar et al., ICLR 2023 (GPTQ)", CODE_INTEGER,
        SCALING_ABSMAX, 0, 3, 4, 16, 128, 0, 0, 0},
    {"gptq", "4-bit integers, a 16-bit scale and a zero for each 128",
        "Frantar et al., ICLR 2023 (GPTQ); Lin et al., MLSys 2024 (AWQ)", CODE_INTEGER, SCALING_ABSMAX, 0, 3, 4, 16,
        128, 4, 0, 0},
    {"nf4", "16 quantiles, an fp32 scale for each 64", "Dettmers et al., arXiv:2305.14314", CODE_NORMAL, SCALING_ABSMAX,
        0, 0, 4, 32, 64, 0, 0, 0},
    {"nf4-dq", "16 quantiles, 8-bit scales, an fp32 one for each 256 of them", "Dettmers et al., arXiv:2305.14314",
        CODE_NORMAL, SCALING_ABSMAX, 0, 0, 4, 8, 64, 0, 32, 256},
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
