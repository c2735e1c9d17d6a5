/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A mixture of experts: tokens are sorted by expert, one launch multiplies the rows of all experts with their weights,
 * twice, and the results go back to their tokens.  The grouped product is tiled like a plain one (gemm.c), with
 * the tiles of all experts in the same waves; weights always stream from memory.
 *
 * Grouped products: Gale et al., "MegaBlocks", MLSys 2023.  Form and constants were fitted to the measurements of
 * ai-dynamo/aiconfigurator@095f58a5 (Apache-2.0): hwdb/calibration.
 */
#include "base/base.h"
#include "model/kernel/kernel.h"

struct group {
	double n_groups, n_rows, n_columns, n_depth;
};

bool
moe_calibrated(const struct calibration *c, enum dtype t)
{
	return c && c->moe[t].peak_flop_per_s.value > 0;
}

static double
stream_rate(struct sheet *sh, const struct moe_shape *s, const struct moe_calibration *p, const struct calibration *c)
{
	TAKE(sh, mem_byte_per_s, p->mem_byte_per_s);
	double weight_byte_per_s;
	if (s->weight_byte_per_clock > 0) {
		TAKE(sh, unpacked_byte, s->weight_byte_per_clock);
		TAKE(sh, n_sms, c->ref_n_sms);
		TAKE(sh, clock_hertz, c->ref_clock_hertz);
		SET(sh, weight_byte_per_s, fmin(mem_byte_per_s, unpacked_byte * n_sms * clock_hertz));
	} else
		SET(sh, weight_byte_per_s, mem_byte_per_s);
	return weight_byte_per_s;
}

static double
group_traffic(struct sheet *sh, const struct moe_shape *s, const struct moe_calibration *p, const struct calibration *c,
    const struct group *g)
{
	FROM(sh, g, n_groups, n_rows, n_columns, n_depth);
	TAKE(sh, a_elem_byte, s->a_byte);
	TAKE(sh, w_elem_byte, s->w_byte);
	TAKE(sh, o_elem_byte, 2.0);
	TAKE(sh, mem_byte_per_s, p->mem_byte_per_s);
	CALL(sh, weight_byte_per_s, stream_rate(sh, s, p, c));
	LET(sh, w_byte, n_groups * n_columns * n_depth * w_elem_byte);
	LET(sh, ao_byte, n_groups * n_rows * (n_depth * a_elem_byte + n_columns * o_elem_byte));
	double weights_s;
	if (s->hit_frac > 0) {
		TAKE(sh, hit_frac, s->hit_frac);
		TAKE(sh, l2_byte_per_s, p->l2_byte_per_s);
		SET(sh, weights_s, w_byte * (1 - hit_frac) / weight_byte_per_s + w_byte * hit_frac / l2_byte_per_s);
	} else
		SET(sh, weights_s, w_byte / weight_byte_per_s);
	LET(sh, traffic_s, weights_s + ao_byte / mem_byte_per_s);
	return traffic_s;
}

double
grouped_gemm_time(struct sheet *sh, const struct moe_shape *shape, const struct moe_calibration *p,
    const struct calibration *c, double n_groups, double n_rows, double n_columns, double n_depth)
{
	const struct group g = {n_groups, n_rows, n_columns, n_depth};

	CALL(sh, traffic_s, group_traffic(sh, shape, p, c, &g));
	const struct gemm_calibration fit = {
	    .feed_byte_per_s = p->feed_byte_per_s, .k_step_s = p->k_step_s, .tile_s = p->tile_s, .norm = p->norm};
	TAKE(sh, peak_flop_per_s, p->peak_flop_per_s);
	const struct tiles tiles = {.grouped = true,
	    .n_groups = n_groups,
	    .m = n_rows,
	    .spread_frac = shape->spread_frac,
	    .n = n_columns,
	    .k = n_depth,
	    .a_byte = shape->a_byte,
	    .w_byte = shape->w_byte,
	    .n_sms = c->ref_n_sms,
	    .flop_per_s = peak_flop_per_s,
	    .traffic_s = traffic_s,
	    .fit = &fit};
	const struct tile tile = tile_best(&tiles);
	const struct tile_times times = tile_times(sh, &tiles, &tile);
	const double arithmetic_s = times.arithmetic_s, feed_s = times.feed_s, extra_s = times.extra_s;
	CALL(sh, blend_s, blend_time(sh, &fit, arithmetic_s, feed_s, traffic_s));
	LET(sh, grouped_s, extra_s + blend_s);
	return grouped_s;
}

/* Sorting rows to their experts and back, and the activation: per pair of token and expert that this GPU holds, per
 * token, and per pair of any GPU. */
static double
permute_time(
    struct sheet *sh, const struct moe_shape *s, const struct moe_calibration *p, double n_local_pairs, double n_width)
{
	GIVEN(sh, n_local_pairs, n_width);
	TAKE(sh, n_hidden, s->hidden);
	TAKE(sh, n_rows, kernel_factor(s->token_frac) * s->n_tokens);
	TAKE(sh, n_chosen, s->top_k);
	TAKE(sh, word_byte, 1.0);
	LET(sh, pair_byte, (4 * n_hidden + 6 * n_width) * word_byte);
	double local_s, global_s;
	if (p->permute_byte_per_s.value > 0) {
		TAKE(sh, permute_byte_per_s, p->permute_byte_per_s);
		SET(sh, local_s, (n_local_pairs * pair_byte + 4 * n_rows * n_hidden * word_byte) / permute_byte_per_s);
	} else
		SET(sh, local_s, 0);
	if (p->route_byte_per_s.value > 0) {
		TAKE(sh, route_byte_per_s, p->route_byte_per_s);
		SET(sh, global_s, n_rows * n_chosen * pair_byte / route_byte_per_s);
	} else
		SET(sh, global_s, 0);
	LET(sh, permute_s, local_s + global_s);
	return permute_s;
}

/* All weights of the active experts against L2. */
static double
hit_share(struct sheet *sh, const struct moe_shape *s, const struct moe_calibration *p, const struct calibration *c,
    double n_active, double n_width)
{
	double hit_frac;

	if (!s->repeated || !(p->l2_byte_per_s.value > 0)) {
		SET(sh, hit_frac, 0);
		return hit_frac;
	}
	GIVEN(sh, n_active, n_width);
	TAKE(sh, n_hidden, s->hidden);
	TAKE(sh, n_matrices, s->gated ? 3.0 : 2.0);
	TAKE(sh, w_elem_byte, s->w_byte);
	TAKE(sh, l2_byte, c->ref_l2_byte);
	FROM(sh, p, hold, fade);
	LET(sh, all_byte, n_active * n_matrices * n_hidden * n_width * w_elem_byte);
	CALL(sh, miss_frac, level_miss(sh, all_byte, l2_byte, hold, fade));
	SET(sh, hit_frac, 1 - miss_frac);
	return hit_frac;
}

double
moe_time(struct sheet *sh, const struct moe_shape *shape, const struct moe_calibration *p, const struct calibration *c)
{
	TAKE(sh, n_rows, shape->n_tokens);
	TAKE(sh, n_hidden, shape->hidden);
	TAKE(sh, n_chosen, shape->top_k);
	TAKE(sh, n_expert_ranks, shape->ep);
	TAKE(sh, n_width_ranks, shape->tp);
	TAKE(sh, n_expert_width, shape->expert_width);
	TAKE(sh, load_frac, moe_load(shape));
	TAKE(sh, time_frac, kernel_factor(shape->time_frac));
	TAKE(sh, n_matrices, shape->gated ? 2.0 : 1.0);
	TAKE(sh, base_s, p->base_s);
	LET(sh, n_width, n_expert_width / n_width_ranks);
	LET(sh, n_mean_pairs, n_rows * n_chosen / n_expert_ranks);
	CALL(sh, n_active, moe_active_experts(sh, shape, n_mean_pairs));
	CALL(sh, n_busiest, moe_busiest_experts(sh, shape, n_active));
	CALL(sh, n_expert_rows, moe_expert_rows(sh, shape, n_mean_pairs, n_active));
	struct moe_shape cached = *shape;
	CALL(sh, hit_frac, hit_share(sh, shape, p, c, n_busiest, n_width));
	cached.hit_frac = hit_frac;
	CALL(sh, up_s, grouped_gemm_time(sh, &cached, p, c, n_busiest, n_expert_rows, n_matrices * n_width, n_hidden));
	CALL(sh, down_s, grouped_gemm_time(sh, &cached, p, c, n_busiest, n_expert_rows, n_hidden, n_width));
	CALL(sh, permute_s, permute_time(sh, shape, p, load_frac * n_mean_pairs, n_width));
	LET(sh, moe_s, base_s + time_frac * (up_s + down_s) + permute_s);
	return moe_s;
}
