/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Matrix products tile by tile.  The output is cut into tiles that the SMs work on in waves; each wave lasts as long as
 * its arithmetic, the feeding of its operands from the L2 cache, or the latency of its inner loop; the whole product no
 * shorter than its traffic takes.  The tile is the one that a good library would choose.
 *
 * Waves and tiles: NVIDIA, "Matrix Multiplication Background User's Guide"; split-K and stream-K: Osama et al., PPoPP
 * 2023. The equation and its constants were fitted to the GEMM measurements of ai-dynamo/aiconfigurator@095f58a5
 * (Apache-2.0), eight GPUs; each GPU's parameters and their error on shapes that were not fitted are in
 * hwdb/calibration.
 */
#include "ridge/kernel_gemm.h"

struct tile {
	double tile_m, tile_n, n_splits;
};

struct gemm_shape
gemm_shape_of(double m, double n, double k, enum dtype t)
{
	/* sums leave in 16 bits whatever came in; wider types leave as they are */
	const double elem_byte = dtype_byte(t), o_byte = elem_byte < 2 ? 2 : elem_byte;

	return (struct gemm_shape){m, n, k, elem_byte, elem_byte, o_byte, 0, elem_byte < 2};
}

bool
gemm_calibrated(const struct calibration *c, enum dtype t)
{
	return c && c->has_gemm && c->gemm[t].peak_flop_per_s.value > 0;
}

/* Operands that fit in L2 come from there.  Three quarters of the cache are useful; between half of that and one and a
 * half times that the hits fade out. */
static double
traffic_time(
    struct sheet *sh, const struct gemm_shape *g, const struct calibration *c, const struct gemm_calibration *p)
{
	TAKE(sh, m, g->m);
	TAKE(sh, n, g->n);
	TAKE(sh, k, g->k);
	TAKE(sh, a_elem_byte, g->a_byte);
	TAKE(sh, w_elem_byte, g->w_byte);
	TAKE(sh, o_elem_byte, g->o_byte);
	TAKE(sh, l2_byte, c->ref_l2_byte);
	TAKE(sh, mem_byte_per_s, p->mem_byte_per_s);
	TAKE(sh, l2_byte_per_s, p->l2_byte_per_s);
	LET(sh, a_byte, m * k * a_elem_byte);
	LET(sh, w_byte, k * n * w_elem_byte);
	LET(sh, o_byte, m * n * o_elem_byte);
	LET(sh, useful_byte, 0.75 * l2_byte);
	LET(sh, other_miss_frac, fmin(1, fmax(0, (a_byte + w_byte + o_byte) / useful_byte - 0.5)));
	double weight_miss_frac;
	if (g->n_copies > 0) {
		TAKE(sh, n_copies, g->n_copies);
		SET(sh, weight_miss_frac, fmin(1, fmax(0, (a_byte + n_copies * w_byte + o_byte) / useful_byte - 0.5)));
	} else
		SET(sh, weight_miss_frac, 1);
	LET(sh, missed_byte, w_byte * weight_miss_frac + (a_byte + o_byte) * other_miss_frac);
	LET(sh, traffic_s, missed_byte / mem_byte_per_s + (a_byte + w_byte + o_byte - missed_byte) / l2_byte_per_s);
	return traffic_s;
}

struct tile_times {
	double arithmetic_s, feed_s, extra_s;
};

/* Waves of tiles; rows are recorded in the caller's scope. */
static struct tile_times
tile_times(struct sheet *sh, const struct gemm_shape *g, const struct calibration *c, const struct gemm_calibration *p,
    const struct tile *t)
{
	TAKE(sh, m, g->m);
	TAKE(sh, n, g->n);
	TAKE(sh, k, g->k);
	TAKE(sh, a_elem_byte, g->a_byte);
	TAKE(sh, w_elem_byte, g->w_byte);
	TAKE(sh, tile_m, t->tile_m);
	TAKE(sh, tile_n, t->tile_n);
	TAKE(sh, n_splits, t->n_splits);
	TAKE(sh, n_sms, c->ref_n_sms);
	TAKE(sh, peak_flop_per_s, p->peak_flop_per_s);
	TAKE(sh, feed_byte_per_s, p->feed_byte_per_s);
	TAKE(sh, k_step_s, p->k_step_s);
	TAKE(sh, tile_s, p->tile_s);
	TAKE(sh, wave_frac, p->wave_frac);
	TAKE(sh, l2_byte_per_s, p->l2_byte_per_s);
	LET(sh, n_tiles, ceil(m / tile_m) * ceil(n / tile_n));
	LET(sh, n_waves, n_tiles * n_splits / n_sms);
	/* between whole waves and a fluid of work: modern kernels hand out the rest of a wave in smaller pieces */
	LET(sh, n_effective_waves, wave_frac * ceil(n_waves) + (1 - wave_frac) * fmax(1, n_waves));
	LET(sh, depth, 32 * ceil(k / (32 * n_splits)));
	LET(sh, tile_flop, 2 * tile_m * tile_n * depth);
	LET(sh, sm_flop_per_s, peak_flop_per_s / n_sms);
	/* small tiles lose a little: 0.02 x 32 (1/tile_m + 1/tile_n) */
	LET(sh, tile_cost, 1 + 0.64 * (1 / tile_m + 1 / tile_n));
	LET(sh, arithmetic_s, n_effective_waves * tile_flop / sm_flop_per_s * tile_cost);
	LET(sh, operand_byte, (fmin(tile_m, m) * a_elem_byte + fmin(tile_n, n) * w_elem_byte) * depth);
	LET(sh, supply_s, n_effective_waves * operand_byte / feed_byte_per_s);
	LET(sh, latency_s, ceil(n_effective_waves) * (depth / 64) * k_step_s);
	LET(sh, feed_s, fmax(supply_s, latency_s));
	double split_s;
	if (t->n_splits > 1) {
		/* a second kernel adds the parts, written and read in fp32 */
		TAKE(sh, reduction_s, 2.2e-6);
		TAKE(sh, part_byte, 8.0);
		SET(sh, split_s, reduction_s + part_byte * n_splits * m * n / l2_byte_per_s);
	} else
		SET(sh, split_s, 0);
	LET(sh, extra_s, n_effective_waves * tile_s + split_s);
	return (struct tile_times){arithmetic_s, feed_s, extra_s};
}

/* What a library's heuristic would compare. */
static double
score(const struct tile_times *t, double traffic_s)
{
	const double longest_s = fmax(fmax(t->arithmetic_s, t->feed_s), traffic_s);

	return longest_s + t->extra_s + 0.05 * (t->arithmetic_s + t->feed_s);
}

static bool
can_split(const struct gemm_shape *g, const struct calibration *c, const struct tile *t)
{
	const double n_tiles = ceil(g->m / t->tile_m) * ceil(g->n / t->tile_n);

	return t->n_splits == 1 || (g->k / t->n_splits >= 128 && n_tiles * t->n_splits <= 4 * c->ref_n_sms.value);
}

static struct tile
best_tile(const struct gemm_shape *g, const struct calibration *c, const struct gemm_calibration *p, double traffic_s)
{
	static const double ms[] = {16, 32, 64, 128, 256}, ns[] = {32, 64, 128, 256}, splits[] = {1, 2, 4, 8, 16, 32};
	struct tile best = {0, 0, 0};
	double best_s = INFINITY;

	for (size_t i = 0; i < sizeof ms / sizeof *ms; i++)
		for (size_t j = 0; j < sizeof ns / sizeof *ns; j++)
			for (size_t l = 0; l < sizeof splits / sizeof *splits; l++) {
				const struct tile t = {ms[i], ns[j], splits[l]};
				if ((t.tile_m == 256 && t.tile_n == 256) || (i > 0 && t.tile_m >= 2 * g->m) ||
				    (j > 0 && t.tile_n >= 2 * g->n) || !can_split(g, c, &t))
					continue;
				const struct tile_times times = tile_times(NULL, g, c, p, &t);
				const double s = score(&times, traffic_s);
				if (s < best_s) {
					best_s = s;
					best = t;
				}
			}
	return best;
}

/* Large products lower the clock: the power limit.  Only where arithmetic and not memory limits. */
static double
derate_factor(
    struct sheet *sh, const struct gemm_shape *g, const struct calibration *c, const struct gemm_calibration *p)
{
	const double byte = 2 * (g->m * g->k + g->k * g->n + g->m * g->n), flop = 2 * g->m * g->n * g->k;

	if (!(flop / c->ref_peak_flop_per_s.value > byte / c->ref_mem_byte_per_s.value)) {
		LET(sh, derate, 1);
		return derate;
	}
	TAKE(sh, m, g->m);
	TAKE(sh, n, g->n);
	TAKE(sh, k, g->k);
	TAKE(sh, derate_per_decade, p->derate);
	LET(sh, derate, 1 + derate_per_decade * fmax(0, log10(2 * m * n * k / 1e12)));
	return derate;
}

/* Scaling and casting the activations: kernels of their own. */
static double
quantise_time(struct sheet *sh, const struct gemm_shape *g, const struct gemm_calibration *p)
{
	if (!g->quantise || !(p->quantise_byte_per_s.value > 0)) {
		LET(sh, cast_s, 0);
		return cast_s;
	}
	TAKE(sh, m, g->m);
	TAKE(sh, k, g->k);
	TAKE(sh, a_elem_byte, g->a_byte);
	TAKE(sh, wide_byte, 2.0);
	TAKE(sh, quantise_s, p->quantise_s);
	TAKE(sh, quantise_byte_per_s, p->quantise_byte_per_s);
	LET(sh, cast_s, quantise_s + m * k * (wide_byte + a_elem_byte) / quantise_byte_per_s);
	return cast_s;
}

double
gemm_time(struct sheet *sh, const struct gemm_shape *shape, const struct calibration *c, enum dtype t)
{
	const struct gemm_calibration *p = &c->gemm[t];

	CALL(sh, traffic_s, traffic_time(sh, shape, c, p));
	const struct tile tile = best_tile(shape, c, p, traffic_s);
	const struct tile_times times = tile_times(sh, shape, c, p, &tile);
	const double arithmetic_s = times.arithmetic_s, feed_s = times.feed_s, extra_s = times.extra_s;
	TAKE(sh, base_s, p->base_s);
	/* three limits that meet smoothly */
	LET(sh, blend_s,
	    cbrt(arithmetic_s * arithmetic_s * arithmetic_s + feed_s * feed_s * feed_s +
	        traffic_s * traffic_s * traffic_s));
	CALL(sh, derate, derate_factor(sh, shape, c, p));
	CALL(sh, cast_s, quantise_time(sh, shape, p));
	LET(sh, gemm_s, (base_s + extra_s + blend_s) * derate + cast_s);
	return gemm_s;
}
