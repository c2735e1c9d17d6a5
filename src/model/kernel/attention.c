/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attention kernels: over a prompt, and of one new token per sequence.
 *
 * Over a prompt, pairs of 128 queries and 128 keys are the tiles that the SMs work on (Dao,
 * "FlashAttention-2", 2023), and a causal mask leaves out the tiles above the diagonal.  The launch lasts as long as
 * the work spread evenly over the SMs, or as its longest row of tiles; what is written before and read after it moves
 * through memory.
 *
 * The equation was fitted to the attention measurements of ai-dynamo/aiconfigurator@095f58a5 (Apache-2.0); each GPU's
 * parameters and errors are in hwdb/calibration.
 */
#include "model/kernel/kernel.h"

/* Widths that plain and latent attention differ in. */
struct widths {
	double n_flop_per_pair; /* of a query and a key: two products, a multiply and an add each */
	double query_byte;      /* moved per new token: queries and results */
	double new_byte;        /* keys and values */
	double seen_byte;       /* moved per token that is attended to */
};

static const struct {
	const char *name;
	double head_dim, elem_byte, kv_elem_byte;
} attentions[] = {
#define ATTENTION(id, text, head_dim, elem_byte, kv_elem_byte) {text, head_dim, elem_byte, kv_elem_byte},
#include "model/hw/calibration.def"
#undef ATTENTION
};

enum attention_fit
attention_fit_of(const struct attention_shape *shape)
{
	int i = 0;

	while (i < N_ATTENTION_FITS &&
	    !(attentions[i].head_dim == shape->head_dim && attentions[i].elem_byte == shape->elem_byte &&
	        attentions[i].kv_elem_byte == shape->kv_elem_byte))
		i++;
	return (enum attention_fit)i;
}

const char *
attention_fit_name(enum attention_fit a)
{
	return attentions[a].name;
}

/* Kernels that are wider than any with a fit are most like the widest: 512 by the fits of 256. */
static enum attention_fit
stand_in(const struct attention_shape *shape)
{
	struct attention_shape widest = *shape;

	widest.head_dim = 256;
	return shape->head_dim > widest.head_dim ? attention_fit_of(&widest) : N_ATTENTION_FITS;
}

const struct context_calibration *
context_calibrated(const struct calibration *c, const struct attention_shape *shape)
{
	const enum attention_fit a = attention_fit_of(shape);

	if (c && a < N_ATTENTION_FITS && c->attention_by[a].has_context)
		return &c->attention_by[a].context;
	const enum attention_fit b = stand_in(shape);
	if (c && b < N_ATTENTION_FITS && c->attention_by[b].has_context)
		return &c->attention_by[b].context;
	return c && c->has_context ? &c->context : NULL;
}

const struct generation_calibration *
generation_calibrated(const struct calibration *c, const struct attention_shape *shape)
{
	const enum attention_fit a = attention_fit_of(shape);

	if (c && a < N_ATTENTION_FITS && c->attention_by[a].has_generation)
		return &c->attention_by[a].generation;
	const enum attention_fit b = stand_in(shape);
	if (c && b < N_ATTENTION_FITS && c->attention_by[b].has_generation)
		return &c->attention_by[b].generation;
	return c && c->has_generation ? &c->generation : NULL;
}

/* Rows and columns of a tile. */
static double
tile_side(const struct context_calibration *p)
{
	return p->tile.value > 0 ? p->tile.value : 128;
}

/* Tiles that one head of one sequence needs: the triangle over the new tokens and the rectangle over the cached. */
static double
tile_count(struct sheet *sh, const struct attention_shape *a, double n_tile)
{
	GIVEN(sh, n_tile);
	TAKE(sh, n_queries, a->query_token);
	TAKE(sh, n_prefix, a->context_token);
	LET(sh, n_blocks, ceil(n_queries / n_tile));
	LET(sh, n_prefix_blocks, ceil(n_prefix / n_tile));
	EITHER(sh, n_seen, a->unmasked, n_blocks * (n_blocks + n_prefix_blocks),
	    n_blocks * (n_blocks + 1) / 2 + n_blocks * n_prefix_blocks);
	double n_tiles;
	if (a->window_token > 0) {
		TAKE(sh, n_window, a->window_token);
		SET(sh, n_tiles, fmin(n_seen, n_blocks * (ceil(n_window / n_tile) + 1)));
	} else
		SET(sh, n_tiles, n_seen);
	return n_tiles;
}

/* The longest row of tiles, which one SM works through alone. */
static double
row_count(struct sheet *sh, const struct attention_shape *a, double n_tile)
{
	GIVEN(sh, n_tile);
	TAKE(sh, n_queries, a->query_token);
	TAKE(sh, n_prefix, a->context_token);
	LET(sh, n_seen, ceil(n_queries / n_tile) + ceil(n_prefix / n_tile));
	double n_row_tiles;
	if (a->window_token > 0) {
		TAKE(sh, n_window, a->window_token);
		SET(sh, n_row_tiles, fmin(n_seen, ceil(n_window / n_tile) + 1));
	} else
		SET(sh, n_row_tiles, n_seen);
	return n_row_tiles;
}

/* The tiles' time: spread over the SMs, and as long as the longest row; large launches lower the clock. */
static double
tiles_time(struct sheet *sh, const struct attention_shape *a, const struct widths *w,
    const struct context_calibration *p, const struct calibration *c)
{
	FROM(sh, a, batch, n_heads);
	TAKE(sh, n_queries, a->query_token);
	TAKE(sh, n_flop_per_pair, w->n_flop_per_pair);
	TAKE(sh, n_sms, c->ref_n_sms);
	TAKE(sh, reached_flop_per_s, p->flop_per_s);
	TAKE(sh, block_s, p->block_s);
	TAKE(sh, rate_frac, kernel_factor(a->rate_frac));
	TAKE(sh, n_tile, tile_side(p));
	CALL(sh, n_tiles, tile_count(sh, a, n_tile));
	CALL(sh, n_row_tiles, row_count(sh, a, n_tile));
	/* a short prompt does not fill its tile, but a matrix instruction has 16 rows */
	LET(sh, n_rows, fmin(n_tile, fmax(16, n_queries)));
	LET(sh, tile_flop, n_flop_per_pair * n_rows * n_tile);
	LET(sh, tile_s, tile_flop / (rate_frac * reached_flop_per_s / n_sms));
	LET(sh, spread_s, batch * n_heads * (n_tiles * tile_s + ceil(n_queries / n_tile) * block_s) / n_sms);
	LET(sh, longest_s, n_row_tiles * tile_s + block_s);
	double busy_s;
	if (p->norm.value >= 1) {
		TAKE(sh, norm, p->norm);
		SET(sh, busy_s,
		    fmax(spread_s, longest_s) *
		        pow(1 + pow(fmin(spread_s, longest_s) / fmax(spread_s, longest_s), norm), 1 / norm));
	} else
		SET(sh, busy_s, fmax(spread_s, longest_s));
	double tiles_s;
	if (p->derate.value > 0) {
		TAKE(sh, derate_per_decade, p->derate);
		LET(sh, n_work, batch * n_heads * n_tiles * n_flop_per_pair * n_rows * n_tile);
		SET(sh, tiles_s, busy_s * (1 + derate_per_decade * fmax(0, log10(n_work / 1e12))));
	} else
		SET(sh, tiles_s, busy_s);
	return tiles_s;
}

/* Traffic before and after the kernel: queries and outputs, keys and values, from L2 as far as they fit. */
static double
around_time(struct sheet *sh, const struct attention_shape *a, const struct widths *w,
    const struct context_calibration *p, const struct calibration *c)
{
	TAKE(sh, batch, a->batch);
	TAKE(sh, n_queries, a->query_token);
	TAKE(sh, n_prefix, a->context_token);
	FROM(sh, w, query_byte, new_byte, seen_byte);
	TAKE(sh, mem_byte_per_s, p->mem_byte_per_s);
	TAKE(sh, kv_byte_per_s, p->kv_byte_per_s.value > 0 ? p->kv_byte_per_s : p->mem_byte_per_s);
	LET(sh, queries_byte, batch * n_queries * query_byte);
	LET(sh, kv_byte, batch * (n_queries * new_byte + (n_queries + n_prefix) * seen_byte));
	LET(sh, stream_s, queries_byte / mem_byte_per_s + kv_byte / kv_byte_per_s);
	double around_s;
	if (p->l2_byte_per_s.value > 0 && !a->cold) {
		TAKE(sh, l2_byte_per_s, p->l2_byte_per_s);
		TAKE(sh, l2_byte, c->ref_l2_byte);
		FROM(sh, p, hold, fade);
		CALL(sh, miss_frac, level_miss(sh, queries_byte + kv_byte, l2_byte, hold, fade));
		LET(sh, faster, l2_byte_per_s / mem_byte_per_s);
		SET(sh, around_s, stream_s * miss_frac + stream_s * (1 - miss_frac) / faster);
	} else
		SET(sh, around_s, stream_s);
	return around_s;
}

/* A block of threads per token writes its keys and values. */
static double
append_time(struct sheet *sh, const struct attention_shape *a, const struct context_calibration *p)
{
	double append_s;

	if (p->token_s.value > 0) {
		TAKE(sh, batch, a->batch);
		TAKE(sh, n_queries, a->query_token);
		TAKE(sh, each_s, p->token_s);
		SET(sh, append_s, batch * n_queries * each_s);
	} else
		SET(sh, append_s, 0);
	return append_s;
}

static double
context_time(struct sheet *sh, const struct attention_shape *a, const struct widths *w,
    const struct context_calibration *p, const struct calibration *c)
{
	TAKE(sh, base_s, p->base_s);
	CALL(sh, tiles_s, tiles_time(sh, a, w, p, c));
	CALL(sh, around_s, around_time(sh, a, w, p, c));
	CALL(sh, append_s, append_time(sh, a, p));
	LET(sh, attention_s, base_s + tiles_s + around_s + append_s);
	return attention_s;
}

/* Queries, results, keys and values of a new token; keys and values of every token that is attended to. */
static struct widths
plain_widths(const struct attention_shape *a)
{
	return (struct widths){
	    .n_flop_per_pair = 4 * a->head_dim,
	    .query_byte = 2 * a->n_heads * a->head_dim * a->elem_byte,
	    .new_byte = 2 * a->n_kv_heads * a->head_dim * a->elem_byte,
	    .seen_byte = 2 * a->n_kv_heads * a->head_dim * a->kv_elem_byte,
	};
}

double
attention_context(struct sheet *sh, const struct attention_shape *shape, const struct context_calibration *p,
    const struct calibration *c)
{
	const struct widths w = plain_widths(shape);

	CALL(sh, context_s, context_time(sh, shape, &w, p, c));
	return context_s;
}

/* Keys of 192 and values of 128, expanded for every head (DeepSeek-V2, arXiv:2405.04434). */
static struct widths
latent_widths(const struct attention_shape *a)
{
	const double n_widths = 192 + 128;

	return (struct widths){
	    .n_flop_per_pair = 2 * n_widths,
	    .query_byte = a->n_heads * n_widths * a->elem_byte,
	    .seen_byte = a->n_heads * n_widths * a->elem_byte,
	};
}

double
mla_context(struct sheet *sh, const struct attention_shape *shape, const struct context_calibration *p,
    const struct calibration *c)
{
	const struct widths w = latent_widths(shape);

	CALL(sh, context_s, context_time(sh, shape, &w, p, c));
	return context_s;
}

/* --- decode --------------------------------------------------------------------------------------------------- */

/*
 * Attention of one new token per sequence.  Work items are pairs of a sequence and a key head (16 query heads at most
 * share one); when there are fewer than SMs the cache is split and the parts are combined (Dao et al.,
 * "Flash-Decoding", 2023).  The cache is read once; every item costs its SM a little.
 *
 * Fitted to the attention measurements of ai-dynamo/aiconfigurator@095f58a5 (Apache-2.0): hwdb/calibration.
 */

/* Tokens of the cache that are looked at. */
static double
seen_count(struct sheet *sh, const struct attention_shape *a)
{
	TAKE(sh, n_cached, a->context_token);
	double n_seen;
	if (a->window_token > 0) {
		TAKE(sh, n_window, a->window_token);
		SET(sh, n_seen, fmin(n_cached, n_window));
	} else
		SET(sh, n_seen, n_cached);
	return n_seen;
}

/* The share that does not come from L2: all of it in a model, whose other layers pass through the cache in between. */
static double
miss_share(
    struct sheet *sh, bool cold, double cache_byte, const struct generation_calibration *p, const struct calibration *c)
{
	double miss_frac;

	if (cold) {
		SET(sh, miss_frac, 1);
		return miss_frac;
	}
	GIVEN(sh, cache_byte);
	TAKE(sh, l2_byte, c->ref_l2_byte);
	if (p->fade.value > 0) {
		FROM(sh, p, hold, fade);
		SET_CALL(sh, miss_frac, level_miss(sh, cache_byte, l2_byte, hold, fade));
	} else
		SET_CALL(sh, miss_frac, level_miss(sh, cache_byte, l2_byte, 0, 0));
	return miss_frac;
}

static double
l2_rate(struct sheet *sh, const struct generation_calibration *p)
{
	double l2_byte_per_s;

	if (p->l2_byte_per_s.value > 0) {
		TAKE(sh, fitted_byte_per_s, p->l2_byte_per_s);
		SET(sh, l2_byte_per_s, fitted_byte_per_s);
	} else {
		TAKE(sh, mem_byte_per_s, p->mem_byte_per_s);
		SET(sh, l2_byte_per_s, 4 * mem_byte_per_s);
	}
	return l2_byte_per_s;
}

/* Traffic and work items: one after the other, or partly at the same time. */
static double
join_times(struct sheet *sh, const struct generation_calibration *p, double cache_s, double items_s)
{
	GIVEN(sh, cache_s, items_s);
	double joint_s;
	if (p->norm.value > 1) {
		TAKE(sh, norm, p->norm);
		SET(sh, joint_s,
		    fmax(cache_s, items_s) *
		        pow(1 + pow(fmin(cache_s, items_s) / fmax(cache_s, items_s), norm), 1 / norm));
	} else
		SET(sh, joint_s, cache_s + items_s);
	return joint_s;
}

/* Parts that the cache of one item is split into, for SMs that would idle, as far as the kernel can. */
static double
split_count(struct sheet *sh, double n_items, double n_seen, struct datum most, const struct calibration *c)
{
	GIVEN(sh, n_items, n_seen);
	TAKE(sh, n_sms, c->ref_n_sms);
	LET(sh, n_wanted, fmin(fmax(1, floor(n_sms / n_items)), ceil(n_seen / 128)));
	double n_splits;
	if (most.value > 0) {
		TAKE(sh, n_most, most);
		SET(sh, n_splits, fmin(n_wanted, n_most));
	} else
		SET(sh, n_splits, n_wanted);
	return n_splits;
}

/* The part of the cache that a block of threads reads by itself: what is not split is read by one SM alone. */
static double
part_time(struct sheet *sh, double cache_byte, double n_items, double n_splits, struct datum rate)
{
	double part_s;

	if (rate.value > 0) {
		GIVEN(sh, cache_byte, n_items, n_splits);
		TAKE(sh, part_byte_per_s, rate);
		SET(sh, part_s, cache_byte / (n_items * n_splits) / part_byte_per_s);
	} else
		SET(sh, part_s, 0);
	return part_s;
}

/*
 * Reading each item whole.  One SM reads an item no faster than where there are just too many items to split, one more
 * than half of the SMs; `read_s` is for all of them.
 */
static double
whole_time(struct sheet *sh, double n_items, double read_s, const struct calibration *c)
{
	GIVEN(sh, n_items, read_s);
	TAKE(sh, n_sms, c->ref_n_sms);
	LET(sh, whole_s, read_s * fmax(1, (floor(n_sms / 2) + 1) / n_items));
	return whole_s;
}

/* What splitting costs: combining the parts, or what whole items take longer, if that is less. */
static double
split_cost(struct sheet *sh, double joint_s, double whole_s, const struct generation_calibration *p)
{
	GIVEN(sh, joint_s, whole_s);
	TAKE(sh, split_s, p->split_s);
	LET(sh, cost_s, fmin(split_s, whole_s - joint_s));
	return cost_s;
}

/* How long the work items keep the SMs.  Without shared key heads engines may run another kernel. */
static double
item_time(struct sheet *sh, double n_items, double n_splits, bool shared, const struct generation_calibration *p,
    const struct calibration *c)
{
	GIVEN(sh, n_items, n_splits);
	TAKE(sh, n_sms, c->ref_n_sms);
	TAKE(sh, item_s, !shared && p->own_item_s.value > 0 ? p->own_item_s : p->item_s);
	LET(sh, n_waves, fmax(1, n_items * n_splits / n_sms));
	LET(sh, items_s, n_waves * item_s);
	return items_s;
}

/* Keys and values that are looked at. */
static double
cache_size(struct sheet *sh, const struct attention_shape *a, double n_seen)
{
	GIVEN(sh, n_seen);
	FROM(sh, a, batch, n_kv_heads, head_dim, kv_elem_byte);
	LET(sh, cache_byte, 2 * batch * n_seen * n_kv_heads * head_dim * kv_elem_byte);
	return cache_byte;
}

/* Reading the cache; a kernel without matrix instructions is limited by the elements that it converts. */
static double
cache_time(struct sheet *sh, const struct attention_shape *a, double n_seen, double cache_byte,
    const struct generation_calibration *p, const struct calibration *c)
{
	GIVEN(sh, n_seen, cache_byte);
	FROM(sh, a, batch, n_heads, n_kv_heads, head_dim);
	TAKE(sh, stream_frac, kernel_factor(a->stream_frac));
	TAKE(sh, mem_byte_per_s, p->mem_byte_per_s);
	CALL(sh, miss_frac, miss_share(sh, a->cold, cache_byte, p, c));
	CALL(sh, l2_byte_per_s, l2_rate(sh, p));
	LET(sh, stream_byte_per_s, stream_frac * mem_byte_per_s);
	LET(sh, stream_s,
	    cache_byte * miss_frac / stream_byte_per_s + cache_byte * (1 - miss_frac) / (stream_frac * l2_byte_per_s));
	double cache_s;
	if (a->n_core_elems_per_clock > 0) {
		TAKE(sh, n_sms, c->ref_n_sms);
		TAKE(sh, clock_hertz, c->ref_clock_hertz);
		TAKE(sh, n_elems_per_clock, a->n_core_elems_per_clock);
		LET(sh, convert_s, 2 * batch * n_seen * n_heads * head_dim / (n_elems_per_clock * n_sms * clock_hertz));
		SET(sh, cache_s, fmax(stream_s, convert_s));
	} else if (n_heads <= n_kv_heads && p->core_byte_per_s.value > 0) {
		TAKE(sh, n_sms, c->ref_n_sms);
		TAKE(sh, core_byte_per_s, p->core_byte_per_s);
		SET(sh, cache_s, fmax(stream_s, cache_byte / (n_sms * core_byte_per_s)));
	} else
		SET(sh, cache_s, stream_s);
	return cache_s;
}

double
attention_generation(struct sheet *sh, const struct attention_shape *shape, const struct generation_calibration *p,
    const struct calibration *c)
{
	const bool shared = shape->n_heads > shape->n_kv_heads;
	FROM(sh, shape, batch, n_heads, n_kv_heads, head_dim);
	FROM(sh, p, base_s, query_byte_per_s);
	CALL(sh, n_seen, seen_count(sh, shape));
	CALL(sh, cache_byte, cache_size(sh, shape, n_seen));
	CALL(sh, stream_s, cache_time(sh, shape, n_seen, cache_byte, p, c));
	/* queries and results, in 16 bits */
	TAKE(sh, query_elem_byte, 2.0);
	LET(sh, query_byte, 2 * batch * n_heads * head_dim * query_elem_byte);
	LET(sh, n_items, batch * n_kv_heads * ceil(n_heads / n_kv_heads / 16));
	CALL(sh, n_splits, split_count(sh, n_items, n_seen, shared ? p->n_parts : p->n_own_parts, c));
	CALL(sh, part_s,
	    part_time(sh, cache_byte, n_items, n_splits, shared ? p->part_byte_per_s : p->own_part_byte_per_s));
	LET(sh, cache_s, fmax(stream_s, part_s));
	CALL(sh, items_s, item_time(sh, n_items, n_splits, shared, p, c));
	CALL(sh, joint_s, join_times(sh, p, cache_s, items_s));
	double combine_s;
	if (n_splits > 1) {
		CALL(sh, whole_read_s, whole_time(sh, n_items, cache_s, c));
		CALL(sh, whole_s, join_times(sh, p, whole_read_s, items_s));
		SET_CALL(sh, combine_s, split_cost(sh, joint_s, whole_s, p));
	} else
		SET(sh, combine_s, 0);
	LET(sh, generation_s, base_s + joint_s + query_byte / query_byte_per_s + combine_s);
	return generation_s;
}

/* The cache holds 512 + 64 elements per token for all heads; products of 576 and 512 per head and token, on tiles of 64
 * heads at least. */
double
mla_generation(struct sheet *sh, const struct attention_shape *shape, const struct generation_calibration *p,
    const struct calibration *c)
{
	FROM(sh, shape, batch, n_heads, kv_elem_byte);
	TAKE(sh, rate_frac, kernel_factor(shape->rate_frac));
	TAKE(sh, stream_frac, kernel_factor(shape->stream_frac));
	FROM(sh, p, base_s, mem_byte_per_s, query_byte_per_s);
	TAKE(sh, reached_flop_per_s, p->flop_per_s);
	CALL(sh, n_seen, seen_count(sh, shape));
	LET(sh, cache_byte, 576 * batch * n_seen * kv_elem_byte);
	LET(sh, cache_s, cache_byte / (stream_frac * mem_byte_per_s));
	LET(sh, work_flop, 2 * batch * fmax(64, n_heads) * 1088 * n_seen);
	LET(sh, work_s, work_flop / (rate_frac * reached_flop_per_s));
	LET(sh, blend_s, cbrt(cache_s * cache_s * cache_s + work_s * work_s * work_s));
	TAKE(sh, query_elem_byte, 2.0);
	LET(sh, query_byte, batch * n_heads * 1088 * query_elem_byte);
	LET(sh, n_items, batch * ceil(n_heads / 64));
	CALL(sh, n_splits, split_count(sh, n_items, n_seen, p->n_parts, c));
	CALL(sh, items_s, item_time(sh, n_items, n_splits, true, p, c));
	double combine_s;
	if (n_splits > 1) {
		CALL(sh, whole_s, whole_time(sh, n_items, blend_s, c));
		SET_CALL(sh, combine_s, split_cost(sh, blend_s, whole_s, p));
	} else
		SET(sh, combine_s, 0);
	LET(sh, generation_s, base_s + blend_s + query_byte / query_byte_per_s + items_s + combine_s);
	return generation_s;
}
