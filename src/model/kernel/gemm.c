/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Products cut into tiles that the SMs work on in waves: one product, or a group of like ones whose tiles
 * share their waves (moe.c).  The tile is the one that makes them shortest.
 *
 * The two were fitted apart and differ where the fits do: tiles of a group are not split along k, their operands are
 * not cut at the edge of the result, and the last wave is as fluid as the others.
 */
#include "model/kernel/kernel.h"

#include <assert.h>

/* A second kernel adds the parts of a split product. */
static double
reduction_time(const struct gemm_calibration *p)
{
	return p->reduction_s.value > 0 ? p->reduction_s.value : 2.2e-6;
}

struct tile_times
tile_times(struct sheet *sh, const struct tiles *w, const struct tile *t)
{
	const struct gemm_calibration *p = w->fit;

	FROM(sh, w, n_groups, m, n, k);
	TAKE(sh, a_elem_byte, w->a_byte);
	TAKE(sh, w_elem_byte, w->w_byte);
	FROM(sh, t, tile_m, tile_n, n_splits);
	FROM(sh, w, n_sms);
	TAKE(sh, reached_flop_per_s, w->flop_per_s);
	FROM(sh, p, feed_byte_per_s, k_step_s, tile_s, wave_frac);
	double n_row_tiles;
	if (w->spread_frac > 0) {
		/* kernel_up_about(m / tile_m, spread_frac) */
		TAKE(sh, spread_frac, w->spread_frac);
		LET(sh, most_tiles, (1 + spread_frac) * m / tile_m);
		LET(sh, least_tiles, (1 - spread_frac) * m / tile_m);
		SET(sh, n_row_tiles,
		    ((floor(most_tiles) + 1) * (most_tiles - floor(most_tiles) / 2) -
		        (floor(least_tiles) + 1) * (least_tiles - floor(least_tiles) / 2)) /
		        (most_tiles - least_tiles));
	} else
		SET(sh, n_row_tiles, ceil(m / tile_m));
	LET(sh, n_tiles, n_groups * n_row_tiles * ceil(n / tile_n));
	LET(sh, n_waves, n_tiles * n_splits / n_sms);
	/* between whole waves and a fluid of work: modern kernels hand out the rest of a wave in smaller pieces */
	LET(sh, n_effective_waves, wave_frac * ceil(n_waves) + (1 - wave_frac) * fmax(1, n_waves));
	EITHER(sh, depth, w->grouped, k, 32 * ceil(k / (32 * n_splits)));
	LET(sh, tile_flop, 2 * tile_m * tile_n * depth);
	LET(sh, sm_flop_per_s, reached_flop_per_s / n_sms);
	/* small tiles lose a little: 0.02 x 32 (1/tile_m + 1/tile_n) */
	LET(sh, tile_cost, 1 + 0.64 * (1 / tile_m + 1 / tile_n));
	LET(sh, arithmetic_s, n_effective_waves * tile_flop / sm_flop_per_s * tile_cost);
	EITHER(sh, fed_n, w->grouped, tile_n, fmin(tile_n, n));
	LET(sh, operand_byte, (fmin(tile_m, m) * a_elem_byte + fed_n * w_elem_byte) * depth);
	LET(sh, supply_s, n_effective_waves * operand_byte / feed_byte_per_s);
	EITHER(sh, n_steps, w->grouped, n_effective_waves, ceil(n_effective_waves));
	LET(sh, latency_s, n_steps * (depth / 64) * k_step_s);
	LET(sh, feed_s, fmax(supply_s, latency_s));
	double split_s;
	if (t->n_splits > 1) {
		/* partial sums in fp32, written once and read once: 2 x 4 bytes */
		TAKE(sh, reduction_s, reduction_time(p));
		TAKE(sh, part_byte, 8.0);
		TAKE(sh, l2_byte_per_s, p->l2_byte_per_s);
		SET(sh, split_s, reduction_s + part_byte * n_splits * m * n / l2_byte_per_s);
	} else
		SET(sh, split_s, 0);
	LET(sh, extra_s, n_effective_waves * tile_s + split_s);
	return (struct tile_times){arithmetic_s, feed_s, extra_s};
}

enum { N_MS = 5, N_NS = 4, N_SPLITS = 6, MOST_TILES = N_MS * N_NS * N_SPLITS };
static const double tile_ms[N_MS] = {16, 32, 64, 128, 256}, tile_ns[N_NS] = {32, 64, 128, 256};
/* 1 / tile_ms, 1 / tile_ns: exact, and a division less */
static const double per_tile_ms[N_MS] = {0x1p-4, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8},
                    per_tile_ns[N_NS] = {0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8};

/* Terms that do not depend on the tile, and those of a depth. */
struct search {
	double n_sms, sm_s_per_flop, feed_s_per_byte, tile_s, k_step_s, wave_frac, traffic_s, norm;
	double n_groups, m, n, fed_n, a_byte, w_byte, spread_frac;
	double part_s, reduction_s; /* part_s: of the sums of a split product, per split */
	bool grouped;
	int n_depths; /* parts stay deep */
	double depth[N_SPLITS];
};

static struct search
search_of(const struct tiles *w)
{
	const struct gemm_calibration *p = w->fit;
	struct search s = {
	    .n_sms = w->n_sms.value,
	    .sm_s_per_flop = w->n_sms.value / w->flop_per_s,
	    .feed_s_per_byte = 1 / p->feed_byte_per_s.value,
	    .tile_s = p->tile_s.value,
	    .k_step_s = p->k_step_s.value,
	    .wave_frac = p->wave_frac.value,
	    .traffic_s = w->traffic_s,
	    .norm = p->norm.value > 0 ? p->norm.value : 3,
	    .n_groups = w->n_groups,
	    .m = w->m,
	    .spread_frac = w->spread_frac,
	    .n = w->n,
	    .fed_n = w->grouped ? INFINITY : w->n,
	    .a_byte = w->a_byte,
	    .w_byte = w->w_byte,
	    .reduction_s = reduction_time(p),
	    .part_s = 8.0 * w->m * w->n / p->l2_byte_per_s.value,
	    .grouped = w->grouped,
	};

	do {
		s.depth[s.n_depths] = w->grouped ? w->k : 32 * kernel_up(w->k / (32 << s.n_depths));
		s.n_depths++;
	} while (!w->grouped && s.n_depths < N_SPLITS && w->k / (1 << s.n_depths) >= 128);
	return s;
}

/* A way to cut the product: tile_times without its rows.  Its time is at least least_s. */
struct cut {
	short m, n, split; /* of tile_ms, of tile_ns, and the power of two that is the number of parts */
	double arithmetic_s, feed_s, longest_s, extra_s, least_s;
};

/* A tile with each number of parts, as long as they are few. */
static int
add_splits(const struct search *s, struct cut c, double n_tiles, struct cut *cuts, int n)
{
	const double tile_m = tile_ms[c.m], tile_n = tile_ns[c.n], tile_flop = 2 * tile_m * tile_n,
	             tile_cost = 1 + 0.64 * (per_tile_ms[c.m] + per_tile_ns[c.n]),
	             tile_byte = kernel_least(tile_m, s->m) * s->a_byte + kernel_least(tile_n, s->fed_n) * s->w_byte;

	for (; c.split < s->n_depths; c.split++) {
		const double n_splits = 1 << c.split, depth = s->depth[c.split];
		if (c.split > 0 && n_tiles * n_splits > 4 * s->n_sms)
			break;
		const double n_waves = n_tiles * n_splits / s->n_sms;
		const double waves = s->wave_frac * kernel_up(n_waves) + (1 - s->wave_frac) * kernel_most(1, n_waves);
		const double steps = s->grouped ? waves : kernel_up(waves);
		c.arithmetic_s = waves * (tile_flop * depth) * s->sm_s_per_flop * tile_cost;
		c.feed_s =
		    kernel_most(waves * (tile_byte * depth) * s->feed_s_per_byte, steps * (depth / 64) * s->k_step_s);
		c.longest_s = kernel_most(kernel_most(c.arithmetic_s, c.feed_s), s->traffic_s);
		c.extra_s = waves * s->tile_s + (c.split > 0 ? s->reduction_s + n_splits * s->part_s : 0);
		c.least_s = c.extra_s + c.longest_s;
		cuts[n++] = c;
	}
	return n;
}

/* Kernels of groups have no tiles of 256 rows and none of 32 columns. */
static int
all_cuts(const struct search *s, struct cut *cuts)
{
	const short n_ms = N_MS - s->grouped, first = s->grouped;
	double n_columns[N_NS];
	short n_ns = first;
	int n = 0;

	do
		n_columns[n_ns] = kernel_up(s->n * per_tile_ns[n_ns]);
	while (++n_ns < N_NS && tile_ns[n_ns] < 2 * s->n);
	for (short i = 0; i < n_ms && (i == 0 || tile_ms[i] < 2 * s->m); i++) {
		const double n_rows = s->n_groups * kernel_up_about(s->m * per_tile_ms[i], s->spread_frac);
		for (short j = first; j < n_ns; j++)
			if (i < N_MS - 1 || j < N_NS - 1)
				n = add_splits(s, (struct cut){.m = i, .n = j}, n_rows * n_columns[j], cuts, n);
	}
	return n;
}

/* One of the three is 1, whose power is too. */
static double
power(double x, double exponent)
{
	return x == 1 ? 1 : pow(x, exponent);
}

/* blend_time plus the fixed costs. */
static double
cut_time(const struct search *s, const struct cut *c)
{
	return c->extra_s +
	    c->longest_s *
	    pow(power(c->arithmetic_s / c->longest_s, s->norm) + power(c->feed_s / c->longest_s, s->norm) +
	            power(s->traffic_s / c->longest_s, s->norm),
	        1 / s->norm);
}

/* Less than cut_time, without its powers: the fourth norm is below all norms of a lower exponent. */
static double
least_time(const struct search *s, const struct cut *c)
{
	const double a = c->arithmetic_s / c->longest_s, f = c->feed_s / c->longest_s, t = s->traffic_s / c->longest_s;

	if (s->norm > 4)
		return c->least_s;
	return c->extra_s + c->longest_s * sqrt(sqrt(a * a * a * a + f * f * f * f + t * t * t * t));
}

/* x^norm between the whole powers whole and whole + 1, share on the way from one to the other: it is their geometric
 * mean, which lies between their harmonic and their arithmetic one. */
struct between {
	int whole;
	double share;
};

static struct between
between_of(double norm)
{
	const int whole = (int)kernel_least(norm, 8);

	return (struct between){whole, norm - whole};
}

static double
whole_power(double x, int whole)
{
	double product = x;

	while (--whole > 0)
		product *= x;
	return product;
}

static double
power_at_least(double x, struct between b)
{
	return whole_power(x, b.whole) * x / ((1 - b.share) * x + b.share);
}

static double
power_at_most(double x, struct between b)
{
	return whole_power(x, b.whole) * (1 - b.share + b.share * x);
}

/* That cut_time is not below best_s, without its powers; what rounding leaves open is open. */
static bool
no_better(const struct search *s, struct between b, const struct cut *c, double best_s)
{
	if (c->least_s >= best_s)
		return true;
	if (s->norm < 1 || s->norm > 8)
		return false;
	const double share = 1 / c->longest_s, room = (best_s - c->extra_s) * share;
	const double sum = power_at_least(c->arithmetic_s * share, b) + power_at_least(c->feed_s * share, b) +
	    power_at_least(s->traffic_s * share, b);
	return sum > power_at_most(room, b) * (1 + 1e-9);
}

/* The one that promises most. */
static int
most_promising(const struct search *s, const struct cut *cuts, int n)
{
	double least_s = INFINITY; /* not cuts[best].least_s, for which each comparison would wait */
	int best = 0;

	for (int i = 0; i < n; i++)
		if (cuts[i].least_s < least_s) {
			least_s = cuts[i].least_s;
			best = i;
		}
	double best_s = least_time(s, &cuts[best]);
	for (int i = 0; i < n; i++) {
		const double s_least = cuts[i].least_s < best_s ? least_time(s, &cuts[i]) : best_s;
		if (s_least < best_s) {
			best_s = s_least;
			best = i;
		}
	}
	return best;
}

/* The fastest, by the same formula as the answer: of each tile the time never falls as rows are added, so neither does
 * that of the fastest one.  Few need their time worked out. */
struct tile
tile_best(const struct tiles *w)
{
	const struct search search = search_of(w), *s = &search;
	struct cut cuts[MOST_TILES];
	const int n = all_cuts(s, cuts);
	assert(n > 0); /* the smallest tile always counts */
	int best = most_promising(s, cuts, n);
	const int first = best;
	const struct between norm = between_of(s->norm);
	double best_s = cut_time(s, &cuts[best]);

	for (int i = 0; i < n; i++) {
		if (i == first || no_better(s, norm, &cuts[i], best_s))
			continue;
		const double cut_s = cut_time(s, &cuts[i]);
		if (cut_s < best_s) {
			best_s = cut_s;
			best = i;
		}
	}
	return (struct tile){tile_ms[cuts[best].m], tile_ns[cuts[best].n], 1 << cuts[best].split};
}

/* Three limits that meet smoothly, as a norm of theirs: cubic where the fit says nothing else. */
double
blend_time(struct sheet *sh, const struct gemm_calibration *p, double arithmetic_s, double feed_s, double traffic_s)
{
	double blend_s;

	GIVEN(sh, arithmetic_s, feed_s, traffic_s);
	if (p->norm.value > 0) {
		TAKE(sh, norm, p->norm);
		LET(sh, longest_s, fmax(fmax(arithmetic_s, feed_s), traffic_s));
		LET(sh, sum_frac,
		    pow(arithmetic_s / longest_s, norm) + pow(feed_s / longest_s, norm) +
		        pow(traffic_s / longest_s, norm));
		SET(sh, blend_s, longest_s * pow(sum_frac, 1 / norm));
	} else
		SET(sh, blend_s,
		    cbrt(arithmetic_s * arithmetic_s * arithmetic_s + feed_s * feed_s * feed_s +
		        traffic_s * traffic_s * traffic_s));
	return blend_s;
}

/* --- one GEMM ------------------------------------------------------------------------------------------------- */

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

/* Packed weights and a few rows: matrix-vector kernels (llama.cpp, ExLlama, AWQ) multiply on the vector units what they
 * stream, and fill no tile of a tensor core. */
static double
rows_time(struct sheet *sh, const struct gemm_shape *g, const struct calibration *c, const struct gemm_calibration *p,
    double feed_s, double extra_s, double traffic_s)
{
	GIVEN(sh, feed_s, extra_s, traffic_s);
	FROM(sh, g, m, n, k);
	TAKE(sh, n_sms, c->ref_n_sms);
	TAKE(sh, clock_hertz, c->ref_clock_hertz);
	/* fused multiply-adds of an SM, since 2017: 128 in fp32, or 64 lanes of two in fp16 (NVIDIA, CUDA C++
	 * Programming Guide, arithmetic instructions) */
	TAKE(sh, lane_flop, 256.0);
	TAKE(sh, base_s, p->base_s);
	LET(sh, row_flop, 2 * m * n * k);
	LET(sh, vector_s, row_flop / (lane_flop * n_sms * clock_hertz));
	CALL(sh, blend_s, blend_time(sh, p, vector_s, feed_s, traffic_s));
	LET(sh, rows_s, base_s + extra_s + blend_s);
	return rows_s;
}

/* What the host takes to launch a product one by one.  Scales of blocks lie four rows by four (CUTLASS), so that others
 * are padded, and engines have another kernel for a few rows. */
static double
launches_time(struct sheet *sh, const struct gemm_shape *g, const struct gemm_calibration *p)
{
	enum { ALIGNED = 4, FEW = 32 };

	TAKE(sh, host_s, p->host_s);
	TAKE(sh, pad_s, fmod(g->m, ALIGNED) != 0 && p->host_pad_s.value > 0 ? p->host_pad_s.value : 0);
	TAKE(sh, few_frac, g->m < FEW ? kernel_factor(p->host_few_frac.value) : 1);
	LET(sh, launches_s, few_frac * (host_s + pad_s));
	return launches_s;
}

double
gemm_time(struct sheet *sh, const struct gemm_shape *shape, const struct calibration *c, enum dtype t)
{
	const struct gemm_calibration *p = &c->gemm[t];
	struct gemm_calibration whole;

	if (shape->whole_waves) {
		whole = in_whole_waves(p);
		p = &whole;
	}
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
	LET(sh, tiles_s, (base_s + extra_s + blend_s) * derate);
	double product_s;
	if (shape->packed) {
		CALL(sh, rows_s, rows_time(sh, shape, c, p, feed_s, extra_s, traffic_s));
		SET(sh, product_s, fmin(tiles_s, rows_s));
	} else
		SET(sh, product_s, tiles_s);
	CALL(sh, limited_s, limited_time(sh, shape, product_s));
	CALL(sh, cast_s, cast_time(sh, shape, p));
	double gemm_s;
	if (shape->launched && p->host_s.value > 0) {
		/* the GPU waits for the host where its kernels are shorter than their launches */
		CALL(sh, launches_s, launches_time(sh, shape, p));
		SET(sh, gemm_s, fmax(launches_s, limited_s + cast_s));
	} else
		SET(sh, gemm_s, limited_s + cast_s);
	return gemm_s;
}
