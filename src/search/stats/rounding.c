/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mean error of rounding, by integration.  Of n weights of a group the largest, m, sets the scale; its density is
 * that of the largest of n, and the others are normal between -m and m.  Given m, the error of a cell of the code is an
 * integral with a closed form (Max, IRE Transactions on Information Theory 6(1), 1960); the mean over m is GSL's.
 */
#include "search/stats/stats.h"

#include "base/base.h"

static double
below(double x)
{
	return num_normal_above(-x);
}

/* Relative errors of the integrals.  The largest weight of a group meets the corners of the code: its part is small,
 * and a finer bound would cost much and say little. */
#define TOLERANCE 1e-6
#define TOLERANCE_LARGEST 1e-5

/* --- codes ----------------------------------------------------------------------------------------------- */

static int
float_levels(const struct format *f, double *levels)
{
	const int n_exponents = 1 << (int)f->exponent_bits, n_mantissas = 1 << (int)f->mantissa_bits;
	const int last = f->code == CODE_IEEE ? n_exponents - 1 : n_exponents;
	const double smallest = format_smallest(NULL, f);
	int n = 0;

	for (int e = 0; e < last; e++)
		for (int m = 0; m < n_mantissas; m++)
			levels[n++] = e ? ldexp(n_mantissas + m, e - 1) * smallest : m * smallest;
	return f->code == CODE_E4M3 ? n - 1 : n;
}

/* Quantiles of the normal distribution, seven below zero and eight above, the outermost at the middle of their share of
 * the tail (Dettmers et al., arXiv:2305.14314, section 3, and its implementation, bitsandbytes). */
static int
normal_levels(double *levels)
{
	const double outermost = (1 - 1 / 32.0 + 1 - 1 / 30.0) / 2, top = num_normal_quantile(outermost);

	for (int i = 0; i < 7; i++)
		levels[i] = -num_normal_quantile(outermost - (outermost - 0.5) * i / 7) / top;
	levels[7] = 0;
	for (int i = 0; i < 8; i++)
		levels[15 - i] = num_normal_quantile(outermost - (outermost - 0.5) * i / 8) / top;
	return 16;
}

int
rounding_levels(const struct format *f, double *levels)
{
	if (f->code == CODE_NORMAL)
		return normal_levels(levels);
	if (format_is_float(f))
		return float_levels(f, levels);
	const int largest = (int)integer_largest(NULL, f->stored_bits);
	for (int i = 0; i <= largest; i++)
		levels[i] = i;
	return largest + 1;
}

/* --- one group ------------------------------------------------------------------------------------------- */

struct rounder {
	const struct format *f;
	double n;       /* weights of a group */
	int power;      /* 1: mean of the error, 2: of its square */
	int n_levels;   /* 0: a fine grid of integers */
	bool symmetric; /* levels from 0 on stand for both signs */
	double levels[ROUNDING_LEVELS], top;
	int n_scales;
	double scales[ROUNDING_LEVELS], tensor_unit; /* SCALING_FP8 */
};

static double
nearest(const double *levels, int n, double x)
{
	int i = 0;

	while (i + 1 < n && x >= (levels[i] + levels[i + 1]) / 2)
		i++;
	return levels[i];
}

/* Quantization step of the code if the largest weight of the group is m. */
static double
unit_of(const struct rounder *r, double m)
{
	switch (r->f->scaling) {
	case SCALING_POWER:
		return exp2(floor(log2(m)) - floor(log2(r->top)));
	case SCALING_FP8:
		/* a group that is nearly nothing beside the tensor would lose its scale: it keeps the smallest */
		return fmax(nearest(r->scales, r->n_scales, m / r->top / r->tensor_unit), r->scales[1]) *
		    r->tensor_unit;
	case SCALING_NONE:
	case SCALING_ABSMAX:
		break;
	}
	return m / r->top;
}

/* A place on the axis with the normal distribution below it and its density: neighboring cells share them. */
struct edge {
	double x, below, density;
};

static struct edge
edge_at(double x)
{
	return (struct edge){x, below(x), num_normal_density(x)};
}

/* The integral of |x - level| times the density from a to b, which lie on one side of the level. */
static double
distance(struct edge a, struct edge b, double level)
{
	return fabs(a.density - b.density - level * (b.below - a.below));
}

/* That of (x - level)^2, from any a to any b. */
static double
square(struct edge a, struct edge b, double level)
{
	const double share = b.below - a.below;

	return share - (b.x * b.density - a.x * a.density) - 2 * level * (a.density - b.density) +
	    level * level * share;
}

/* The mean over weights between -m and m. */
static double
rounder_error_below(const struct rounder *r, double m)
{
	const double unit = unit_of(r, m), inside = 1 - 2 * below(-m);
	struct edge a = edge_at(r->symmetric ? 0 : -m);
	double sum = 0;

	if (r->n_levels == 0)
		return r->power == 1 ? rounding_mean(NULL, unit) : pow(rounding_rms(NULL, unit), 2);
	for (int i = 0; i < r->n_levels && a.x < m; i++) {
		const double level = r->levels[i] * unit;
		const double end = i + 1 < r->n_levels ? (r->levels[i] + r->levels[i + 1]) / 2 * unit : m;
		const struct edge b = edge_at(fmin(end, m));
		if (r->power == 2)
			sum += square(a, b, level);
		else {
			const struct edge middle = edge_at(fmin(fmax(level, a.x), b.x));
			sum += distance(a, middle, level) + distance(middle, b, level);
		}
		a = b;
	}
	return (r->symmetric ? 2 : 1) * sum / inside;
}

/* The error of the largest weight itself; codes that are not symmetric have no scale that could miss it. */
static double
error_at(const struct rounder *r, double x)
{
	const double unit = unit_of(r, x), code = x / unit;

	return r->n_levels ? pow(fabs(code - nearest(r->levels, r->n_levels, code)) * unit, r->power) : 0;
}

/* Density of the largest magnitude of n normal weights. */
static double
density(double m, double n)
{
	return n * exp((n - 1) * log1p(-2 * below(-m))) * 2 * num_normal_density(m);
}

/* The magnitude below which the largest of n stays with this probability. */
static double
largest_quantile(double share, double n)
{
	return num_normal_quantile(0.5 + exp(log(share) / n) / 2);
}

static double
largest_tail(double share, double n)
{
	return -num_normal_quantile(-expm1(log1p(-share) / n) / 2);
}

/* Contribution of the group's other weights, and of the largest, to the mean. */
static double
of_others(double m, const void *context)
{
	const struct rounder *r = context;

	return density(m, r->n) * (r->n - 1) / r->n * rounder_error_below(r, m);
}

static double
of_largest(double m, const void *context)
{
	const struct rounder *r = context;

	return density(m, r->n) / r->n * error_at(r, m);
}

/* --- the mean over groups -------------------------------------------------------------------------------- */

/* The next m at which the scale jumps; `hi` when there is none. */
static double
next_jump(const struct rounder *r, double m, double hi)
{
	if (r->f->scaling == SCALING_POWER)
		return fmin(hi, exp2(floor(log2(m) + 1e-12) + 1));
	if (r->f->scaling == SCALING_FP8)
		for (int i = 0; i + 1 < r->n_scales; i++) {
			const double jump = (r->scales[i] + r->scales[i + 1]) / 2 * r->tensor_unit * r->top;
			if (jump > m * (1 + 1e-12))
				return fmin(hi, jump);
		}
	return hi;
}

static double
over_groups(const struct rounder *r, num_function *f, double tolerance)
{
	const double hi = largest_tail(1e-13, r->n);
	double lo = largest_quantile(1e-13, r->n), sum = 0;

	while (lo < hi) {
		const double next = next_jump(r, lo, hi);
		/* nodes lie inside the piece: the scale does not jump at any of them */
		sum += num_integral(f, r, lo, next, tolerance);
		lo = next;
	}
	return sum;
}

/* A scale that follows the largest weight exactly leaves it without error. */
static double
mean_error(const struct rounder *r)
{
	const double others = over_groups(r, of_others, TOLERANCE);

	return r->f->scaling == SCALING_ABSMAX ? others : others + over_groups(r, of_largest, TOLERANCE_LARGEST);
}

static double
beyond(double m, const void *context)
{
	const struct rounder *r = context;

	return unit_of(r, m) * r->top < m * (1 - 1e-12) ? density(m, r->n) : 0;
}

/* --- integers with a zero point -------------------------------------------------------------------------- */

struct span {
	const struct rounder *r;
	double high;
};

/* Joint density of the lowest and the highest of n, times the error of a step of (high - low) / (2^bits - 1). */
static double
at_low(double low, const void *context)
{
	const struct span *s = context;
	const double n = s->r->n, step = (s->high - low) / (exp2(s->r->f->stored_bits) - 1);
	const double between = below(s->high) - below(low);
	const double error = s->r->power == 1 ? rounding_mean(NULL, step) : pow(rounding_rms(NULL, step), 2);

	return n * (n - 1) * pow(between, n - 2) * num_normal_density(low) * num_normal_density(s->high) * error *
	    (n - 2) / n;
}

static double
at_high(double high, const void *context)
{
	const struct span s = {context, high};

	return num_integral(at_low, &s, -9, high, TOLERANCE);
}

/* --- formats --------------------------------------------------------------------------------------------- */

/* Unscaled floating point: an octave of numbers has one spacing, and so have the subnormal ones. */
static double
float_error(const struct format *f, int power)
{
	const double smallest_normal = format_smallest_normal(NULL, f);
	double sum = 0, low = fmax(smallest_normal, exp2(-60));

	for (; low < 16; low *= 2) {
		const double spacing = format_spacing(NULL, f, low);
		const double share = 2 * (below(2 * low) - below(low));
		sum += share * (power == 1 ? rounding_mean(NULL, spacing) : pow(rounding_rms(NULL, spacing), 2));
	}
	return sum;
}

static struct rounder
rounder_of(const struct format *f, double group, double tensor)
{
	struct rounder r = {.f = f, .n = group, .symmetric = f->code != CODE_NORMAL};

	if (f->code == CODE_INTEGER && f->stored_bits > 8) {
		r.top = integer_largest(NULL, f->stored_bits);
		return r;
	}
	r.n_levels = rounding_levels(f, r.levels);
	r.top = r.levels[r.n_levels - 1];
	if (f->scaling == SCALING_FP8) {
		const struct format *scale = format_find("fp8-e4m3");
		r.n_scales = rounding_levels(scale, r.scales);
		r.tensor_unit = largest_quantile(0.5, tensor) / (r.top * format_largest(NULL, scale));
	}
	return r;
}

struct rounding
rounding_normal(const struct format *f, double group, double tensor)
{
	if (f->scaling == SCALING_NONE)
		return (struct rounding){sqrt(float_error(f, 2)), float_error(f, 1), 0};
	struct rounder r = rounder_of(f, group, tensor);
	const bool has_zero = f->zero_bits > 0;

	r.power = 1;
	const double mean = has_zero ? num_integral(at_high, &r, -9, 9, TOLERANCE) : mean_error(&r);
	r.power = 2;
	const double square = has_zero ? num_integral(at_high, &r, -9, 9, TOLERANCE) : mean_error(&r);
	return (struct rounding){sqrt(square), mean, has_zero ? 0 : over_groups(&r, beyond, TOLERANCE_LARGEST)};
}
