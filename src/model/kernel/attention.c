/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attention over a prompt: pairs of 128 queries and 128 keys are the tiles that the SMs work on (Dao,
 * "FlashAttention-2", 2023), and a causal mask leaves out the tiles above the diagonal.  The launch lasts as long as
 * the work spread evenly over the SMs, or as its longest row of tiles; what is written before and read after it moves
 * through memory.
 *
 * The equation was fitted to the attention measurements of ai-dynamo/aiconfigurator@095f58a5 (Apache-2.0); each GPU's
 * parameters and errors are in hwdb/calibration.
 */
#include "model/kernel/kernel.h"

#include "model/kernel/parts.h"

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
#include "model/hw/attention.def"
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
