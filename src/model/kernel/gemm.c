/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GEMMs tile by tile.  The output is cut into tiles that the SMs work on in waves; each wave lasts as long as
 * its arithmetic, the feeding of its operands from the L2 cache, or the latency of its inner loop; the whole product no
 * shorter than its traffic takes.  The tile is the one that makes it shortest.
 *
 * Waves and tiles: NVIDIA, "Matrix Multiplication Background User's Guide"; split-K and stream-K: Osama et al., PPoPP
 * 2023. The equation and its constants were fitted to the GEMM measurements of ai-dynamo/aiconfigurator@095f58a5
 * (Apache-2.0), eight GPUs; each GPU's parameters and their error on shapes that were not fitted are in
 * hwdb/calibration.
 */
#include "model/kernel/kernel.h"

#include "model/kernel/parts.h"

struct gemm_shape
gemm_shape_of(double m, double n, double k, enum dtype t)
{
	/* sums leave in 16 bits whatever came in; wider types leave as they are */
	const double elem_byte = dtype_byte(t), o_byte = elem_byte < 2 ? 2 : elem_byte;

	return (struct gemm_shape){.m = m,
	    .n = n,
	    .k = k,
	    .a_byte = elem_byte,
	    .w_byte = elem_byte,
	    .o_byte = o_byte,
	    .quantise = elem_byte < 2};
}

bool
gemm_calibrated(const struct calibration *c, enum dtype t)
{
	return c && c->has_gemm && c->gemm[t].peak_flop_per_s.value > 0;
}

/* Operands that fit in L2 come from there. */
static double
traffic_time(
    struct sheet *sh, const struct gemm_shape *g, const struct calibration *c, const struct gemm_calibration *p)
{
	FROM(sh, g, m, n, k);
	TAKE(sh, a_elem_byte, g->a_byte);
	TAKE(sh, w_elem_byte, g->w_byte);
	TAKE(sh, o_elem_byte, g->o_byte);
	TAKE(sh, l2_byte, c->ref_l2_byte);
	FROM(sh, p, mem_byte_per_s, l2_byte_per_s);
	LET(sh, a_byte, m * k * a_elem_byte);
	LET(sh, w_byte, k * n * w_elem_byte);
	LET(sh, o_byte, m * n * o_elem_byte);
	CALL(sh, other_miss_frac, level_miss(sh, a_byte + w_byte + o_byte, l2_byte, 0, 0));
	double weight_miss_frac;
	if (g->n_copies > 0) {
		TAKE(sh, n_copies, g->n_copies);
		SET_CALL(sh, weight_miss_frac, level_miss(sh, a_byte + n_copies * w_byte + o_byte, l2_byte, 0, 0));
	} else
		SET(sh, weight_miss_frac, 1);
	LET(sh, missed_byte, w_byte * weight_miss_frac + (a_byte + o_byte) * other_miss_frac);
	LET(sh, stream_s, missed_byte / mem_byte_per_s + (a_byte + w_byte + o_byte - missed_byte) / l2_byte_per_s);
	double unpack_s;
	if (g->weight_byte_per_clock > 0) {
		TAKE(sh, n_sms, c->ref_n_sms);
		TAKE(sh, clock_hertz, c->ref_clock_hertz);
		TAKE(sh, unpacked_byte, g->weight_byte_per_clock);
		/* the weights arrive no faster than the SMs unpack them */
		LET(sh, unpack_frac, fmin(1, unpacked_byte * n_sms * clock_hertz / mem_byte_per_s));
		SET(sh, unpack_s, w_byte * weight_miss_frac * (1 / unpack_frac - 1) / mem_byte_per_s);
	} else
		SET(sh, unpack_s, 0);
	LET(sh, traffic_s, stream_s + unpack_s);
	return traffic_s;
}

/* What the SMs' arithmetic reaches together. */
static double
arithmetic_rate(struct sheet *sh, const struct gemm_shape *g, const struct gemm_calibration *p)
{
	TAKE(sh, peak_flop_per_s, p->peak_flop_per_s);
	TAKE(sh, rate_frac, kernel_factor(g->rate_frac));
	double arithmetic_flop_per_s;
	if (g->limit_flop_per_s > 0) {
		TAKE(sh, limit_flop_per_s, g->limit_flop_per_s);
		SET(sh, arithmetic_flop_per_s, fmin(limit_flop_per_s, rate_frac * peak_flop_per_s));
	} else
		SET(sh, arithmetic_flop_per_s, rate_frac * peak_flop_per_s);
	return arithmetic_flop_per_s;
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
	FROM(sh, g, m, n, k);
	TAKE(sh, derate_per_decade, p->derate);
	LET(sh, derate, 1 + derate_per_decade * fmax(0, log10(2 * m * n * k / 1e12)));
	return derate;
}

/* A power limit below the card's usual one slows everything down. */
static double
limited_time(struct sheet *sh, const struct gemm_shape *g, double free_s)
{
	double limited_s;

	GIVEN(sh, free_s);
	if (g->power_frac > 0) {
		TAKE(sh, power_frac, g->power_frac);
		SET(sh, limited_s, free_s / power_frac);
	} else
		SET(sh, limited_s, free_s);
	return limited_s;
}

/* Scaling and casting of activations run as separate kernels. */
static double
cast_time(struct sheet *sh, const struct gemm_shape *g, const struct gemm_calibration *p)
{
	double cast_s;

	if (!g->quantise) {
		SET(sh, cast_s, 0);
		return cast_s;
	}
	FROM(sh, g, m, k);
	TAKE(sh, a_elem_byte, g->a_byte);
	SET_CALL(sh, cast_s, quantise_time(sh, p, m, k, a_elem_byte));
	return cast_s;
}

/* Every wave lasts as long as a full one, and splitting the depth never pays. */
static struct gemm_calibration
in_whole_waves(const struct gemm_calibration *p)
{
	struct gemm_calibration whole = *p;

	whole.wave_frac.value = 1;
	whole.reduction_s.value = 1;
	return whole;
}

double
gemm_time(struct sheet *sh, const struct gemm_shape *shape, const struct calibration *c, enum dtype t)
{
	const struct gemm_calibration whole = in_whole_waves(&c->gemm[t]);
	const struct gemm_calibration *p = shape->whole_waves ? &whole : &c->gemm[t];

	CALL(sh, traffic_s, traffic_time(sh, shape, c, p));
	CALL(sh, arithmetic_flop_per_s, arithmetic_rate(sh, shape, p));
	const struct tiles tiles = {.n_groups = 1,
	    .m = shape->m,
	    .n = shape->n,
	    .k = shape->k,
	    .a_byte = shape->a_byte,
	    .w_byte = shape->w_byte,
	    .n_sms = c->ref_n_sms,
	    .flop_per_s = arithmetic_flop_per_s,
	    .traffic_s = traffic_s,
	    .fit = p};
	const struct tile tile = tile_best(&tiles);
	const struct tile_times times = tile_times(sh, &tiles, &tile);
	const double arithmetic_s = times.arithmetic_s, feed_s = times.feed_s, extra_s = times.extra_s;
	TAKE(sh, base_s, p->base_s);
	CALL(sh, blend_s, blend_time(sh, p, arithmetic_s, feed_s, traffic_s));
	CALL(sh, derate, derate_factor(sh, shape, c, p));
	LET(sh, product_s, (base_s + extra_s + blend_s) * derate);
	CALL(sh, limited_s, limited_time(sh, shape, product_s));
	CALL(sh, cast_s, cast_time(sh, shape, p));
	LET(sh, gemm_s, limited_s + cast_s);
	return gemm_s;
}
