/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formats of numbers: what they cost, what they can hold, and how they round.  The table is format.def. */
#ifndef RIDGE_FORMAT_H
#define RIDGE_FORMAT_H

#include "ridge/sheet.h"

enum format_code { CODE_IEEE, CODE_E4M3, CODE_FINITE, CODE_INTEGER, CODE_NORMAL };
enum scaling { SCALING_NONE, SCALING_ABSMAX, SCALING_POWER, SCALING_FP8 };

struct format {
	const char *name, *title, *source;
	enum format_code code;
	enum scaling scaling;
	double exponent_bits, mantissa_bits, stored_bits;
	double scale_bits, group, zero_bits; /* group 0: a scale that is not counted */
	double outer_bits, outer_group;      /* a scale of so many scales */
};

enum {
#define FORMAT(id, ...) FORMAT_##id,
#include "ridge/format.def"
#undef FORMAT
	N_FORMATS,
};

extern const struct format formats[N_FORMATS];
/* The format of this name, or NULL. */
const struct format *format_find(const char *name);
bool format_is_float(const struct format *f);

/* --- what it costs --------------------------------------------------------------------------------------- */

double format_bits(struct sheet *sh, const struct format *f);
double format_scale_bytes(struct sheet *sh, const struct format *f, double n_params);
/* How many times smaller than a base. */
double format_ratio(struct sheet *sh, double base_bits_per_weight, double bits_per_weight);

/* --- what it can hold: a floating-point code, before scaling --------------------------------------------- */

double format_element_bits(struct sheet *sh, const struct format *f);
double format_largest(struct sheet *sh, const struct format *f);
double format_smallest_normal(struct sheet *sh, const struct format *f);
double format_smallest(struct sheet *sh, const struct format *f);
double format_digits(struct sheet *sh, const struct format *f);
/* From a number to the next. */
double format_spacing(struct sheet *sh, const struct format *f, double magnitude);
/* A number times a loss scale. */
double format_scaled(struct sheet *sh, double value, double factor);
/* An update in units of the spacing: below one half it is rounded away. */
double format_update(struct sheet *sh, double update, double spacing);

/* Integers: the largest one, and the step when the largest of a group is absmax. */
double integer_largest(struct sheet *sh, double n_bits);
double integer_step(struct sheet *sh, double absmax, double largest);
/* Rounding to a grid: mean, root of the mean square, and largest error. */
double rounding_mean(struct sheet *sh, double step);
double rounding_rms(struct sheet *sh, double step);
double rounding_worst(struct sheet *sh, double step);

/* --- how it rounds a normal distribution, in units of its standard deviation ----------------------------- */

double normal_mean_abs(struct sheet *sh);
double rounding_relative(struct sheet *sh, double mean_error, double mean_abs);
double rounding_snr(struct sheet *sh, double rms_error);
/* Bits that the best code of all would need for this error. */
double rounding_ideal_bits(struct sheet *sh, double rms_error);

#endif
