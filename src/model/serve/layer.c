/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One layer under a serving engine: its products, its experts, and the small kernels between them.  With data-parallel
 * attention every GPU works through a share of the tokens with whole weights; otherwise all tokens meet a share of the
 * weights (Shoeybi et al., arXiv:1909.08053).
 */
#include "model/serve/parts.h"

#include "model/kernel/kernel.h"

double
serve_product(struct sheet *sh, const struct serve_setup *s, const struct serve_format *f, double m, double n, double k)
{
	const struct gemm_shape shape = {
	    .m = m,
	    .n = n,
	    .k = k,
	    .a_byte = f->a_byte,
	    .w_byte = f->w_byte,
	    .o_byte = f->o_byte > 0 ? f->o_byte : 2,
	    .packed = f->a_byte >= 2 && f->w_byte < 1.5,
	    .weight_byte_per_clock = f->cap_byte,
	    .rate_frac = f->rate_frac,
	    .limit_flop_per_s = f->limit_flop_per_s,
	};

	CALL(sh, product_s, gemm_time(sh, &shape, s->kernels, f->type));
	return product_s;
}

/* Activations that are quantized by a kernel of their own, in front of n_products products of this width. */
static double
layer_quantise_time(
    struct sheet *sh, const struct serve_setup *s, const struct serve_format *f, double m, double n_width)
{
	if (!(s->engine->quantise_frac.value > 0) || f->a_byte >= 2) {
		LET(sh, quantise_s, 0);
		return quantise_s;
	}
	GIVEN(sh, m, n_width);
	TAKE(sh, base_s, s->engine->quantise_s);
	TAKE(sh, reached_frac, s->engine->quantise_frac);
	TAKE(sh, mem_byte_per_s, s->kernels->ref_mem_byte_per_s);
	TAKE(sh, wide_byte, 2.0);
	TAKE(sh, a_elem_byte, f->a_byte);
	LET(sh, quantise_s, base_s + m * n_width * (wide_byte + a_elem_byte) / (reached_frac * mem_byte_per_s));
	return quantise_s;
}

/* GEMMs of a layer as an engine runs them. */
struct product {
	const char *title;
	double n, k;
	bool wide;      /* in 16 bits whatever the format */
	bool quantised; /* what goes into it is quantized by a kernel of its own */
};

enum { MOST_PRODUCTS = 12 };

/* Engines join all maps of attention that read the residual stream; the norm in front of maps from a latent quantizes
 * on the way, and attention in front of its output map, unless scales are of blocks (NVIDIA/TensorRT-LLM,
 * tensorrt_llm/_torch/modules/attention.py: out_scale); the absorbed maps of latent attention (DeepSeek-AI,
 * arXiv:2405.04434) run in 16 bits, one product for all heads. */
static int
layer_maps(const struct serve_setup *s, const struct block *b, unsigned parts, struct product out[MOST_PRODUCTS])
{
	const double n_shards = serve_shards(s);
	const bool by_blocks = s->precision.attention.type == DTYPE_FP8_BLOCK;
	struct layer own;
	const struct layer *l = layer_of(s->model, b, &own);
	int n = 0, stream = -1;

	for (const struct layer_op *op = l->op; op < l->op + l->n_ops; op++) {
		const double pieces = op->runs == RUNS_BATCHED ? fmax(1, op->inputs / n_shards) : 1;
		const double width = width_local(op->n, n_shards) * pieces;
		const bool reads_stream = op->runs == RUNS_PRODUCT && op->k.whole && !op->from_latent;
		const bool gate = op->part == IN_SHARED && op->n.whole && op->k.whole; /* of shared experts: no engine
		                                                                          quantizes it */
		if (!(op->part & parts) || !(op->forms & FORM_ABSORBED) ||
		    (op->runs != RUNS_PRODUCT && op->runs != RUNS_BATCHED))
			continue;
		if (reads_stream && stream >= 0 && (op->part == IN_MIXER || op->joined)) {
			out[stream].n += width;
			continue;
		}
		stream = reads_stream ? n : stream;
		out[n++] = (struct product){op->product, width, width_local(op->k, n_shards) / pieces,
		    op->runs == RUNS_BATCHED || gate,
		    op->runs == RUNS_PRODUCT && !op->from_latent && !gate && (op->map != MAP_O || by_blocks)};
	}
	return n;
}

/* A product with the quantization of what goes into it. */
static double
projection(
    struct sheet *sh, const struct serve_setup *s, const struct serve_format *f, double m, const struct product *p)
{
	const struct serve_format wide = serve_wide(s);

	sheet_title(sh, p->title);
	GIVEN(sh, m);
	CALL(sh, product_s, serve_product(sh, s, p->wide ? &wide : f, m, p->n, p->k));
	double quantise_s;
	if (p->quantised)
		SET_CALL(sh, quantise_s, layer_quantise_time(sh, s, f, m, p->k));
	else
		SET(sh, quantise_s, 0);
	LET(sh, projection_s, product_s + quantise_s);
	return projection_s;
}

static double
maps_time(struct sheet *sh, const struct serve_setup *s, const struct serve_format *f, const struct block *b,
    unsigned parts, double m)
{
	struct product maps[MOST_PRODUCTS];
	const int n = layer_maps(s, b, parts, maps);

	GIVEN(sh, m);
	SUM(sh, maps_s, i, n, projection(sh, s, f, m, &maps[i]));
	return maps_s;
}

double
serve_attention_products(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new)
{
	GIVEN(sh, n_new);
	TAKE(sh, n_groups, serve_groups(s));
	LET(sh, m, n_new / n_groups);
	CALL(sh, attention_s, maps_time(sh, s, &s->precision.attention, b, IN_MIXER, m));
	return attention_s;
}

double
serve_feed_products(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new)
{
	GIVEN(sh, n_new);
	TAKE(sh, n_groups, serve_groups(s));
	LET(sh, m, n_new / n_groups);
	CALL(sh, feed_s, maps_time(sh, s, &s->precision.mlp, b, IN_MLP, m));
	return feed_s;
}

double
serve_layer_products(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new)
{
	CALL(sh, attention_s, serve_attention_products(sh, s, b, n_new));
	CALL(sh, feed_s, serve_feed_products(sh, s, b, n_new));
	LET(sh, products_s, attention_s + feed_s);
	return products_s;
}

double
serve_imbalance(struct sheet *sh, double unevenness, double ep, double n_experts)
{
	GIVEN(sh, unevenness, ep, n_experts);
	/* expected maximum over ep ranks of sums of n_experts / ep uneven loads */
	LET(sh, imbalance, 1 + unevenness * sqrt(2 * log(ep) * ep / n_experts));
	return imbalance;
}

/* A function between two products, on n_matrices inputs of this width. */
static double
activation_time(struct sheet *sh, const struct serve_setup *s, double m, double width, bool gated)
{
	GIVEN(sh, m, width);
	TAKE(sh, n_matrices, gated ? 2.0 : 1.0);
	TAKE(sh, n_shards, serve_shards(s));
	TAKE(sh, wide_byte, 2.0);
	TAKE(sh, a_elem_byte, s->precision.mlp.a_byte);
	LET(sh, activation_byte, m * (width / n_shards) * (n_matrices * wide_byte + a_elem_byte));
	CALL(sh, activation_s, serve_elementwise(sh, s, activation_byte));
	return activation_s;
}

/* Parts of an expert layer that every token visits: the router, in 16 bits, shared experts, and the maps to and from
 * the width at which the routed ones work. */
static double
shared_time(struct sheet *sh, const struct serve_setup *s, const struct block *b, double m)
{
	const struct serve_format wide = serve_wide(s);

	GIVEN(sh, m);
	TAKE(sh, hidden, s->model->hidden);
	TAKE(sh, n_experts, b->moe.n_experts);
	CALL(sh, router_s, serve_product(sh, s, &wide, m, n_experts, hidden));
	CALL(sh, quantise_s, layer_quantise_time(sh, s, &s->precision.experts, m, hidden));
	double shared_s;
	if (b->moe.n_shared.value > 0) {
		TAKE(sh, n_shared, b->moe.n_shared);
		TAKE(sh, one_width, b->moe.shared_width);
		LET(sh, shared_width, n_shared * one_width);
		CALL(sh, feed_s, maps_time(sh, s, &s->precision.mlp, b, IN_SHARED, m));
		CALL(sh, activation_s, activation_time(sh, s, m, shared_width, !b->moe.plain));
		SET(sh, shared_s, feed_s + activation_s);
	} else
		SET(sh, shared_s, 0);
	CALL(sh, latent_s, maps_time(sh, s, &s->precision.mlp, b, IN_LATENT, m));
	LET(sh, everybody_s, router_s + quantise_s + shared_s + latent_s);
	return everybody_s;
}

/* The model's experts as the grouped product sees them. */
static struct moe_shape
experts_of(const struct serve_setup *s, const struct block *b, double n_new)
{
	const struct serve_format *f = &s->precision.experts;
	const struct serve_layout *l = &s->layout;
	const double latent = datum_or(b->moe.latent, 0);
	const struct moe_calibration *p = &s->kernels->moe[f->type];
	/* unpacking costs grouped products the same share of their bandwidth as plain ones; measured ones include it */
	const double same_share =
	    p->l2_byte_per_s.value > 0 ? 0 : p->mem_byte_per_s.value / s->kernels->gemm[f->type].mem_byte_per_s.value;

	return (struct moe_shape){
	    .n_tokens = n_new,
	    .hidden = latent > 0 ? latent : s->model->hidden.value,
	    .expert_width = b->moe.width.value,
	    .top_k = b->moe.top_k.value,
	    .n_experts = b->moe.n_experts.value,
	    .tp = l->tp / l->ep,
	    .ep = l->ep,
	    .a_byte = f->a_byte,
	    .w_byte = f->w_byte,
	    .gated = !b->moe.plain,
	    .expected = true,
	    .popular = true,
	    .spread_frac = datum_or(s->engine->expert_spread_frac, 0),
	    .weight_byte_per_clock = f->cap_byte * same_share,
	};
}

static bool
uneven(const struct serve_setup *s)
{
	return s->layout.ep > 1 && s->architecture && datum_given(s->architecture->imbalance);
}

/* Who spreads experts over more ranks than a node has also moves and doubles them by load (EPLB of DeepSeek-V3,
 * arXiv:2412.19437, 3.4.2): loads stay as uneven as in a node. */
static const double balanced_from = 8;

/* Load of the busiest rank over the mean. */
static double
imbalance_of(struct sheet *sh, const struct serve_setup *s, const struct block *b)
{
	double load;

	if (!uneven(s)) {
		SET(sh, load, 1);
		return load;
	}
	TAKE(sh, unevenness, s->architecture->imbalance);
	TAKE(sh, ep, fmin(s->layout.ep, balanced_from));
	TAKE(sh, n_experts, b->moe.n_experts);
	SET_CALL(sh, load, serve_imbalance(sh, unevenness, ep, n_experts));
	return load;
}

/* Uneven routing brings a rank more tokens, or only more time for the experts that it has.  Either way the step lasts
 * until the busiest rank is done. */
static double
routed_time(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new)
{
	const struct engine_architecture *a = s->architecture;
	const struct moe_calibration *p = &s->kernels->moe[s->precision.experts.type];
	struct moe_shape shape = experts_of(s, b, n_new);

	GIVEN(sh, n_new);
	TAKE(sh, hidden, shape.hidden);
	TAKE(sh, engine_factor, a ? datum_or(a->moe_time, 1) : 1);
	TAKE(sh, back_byte, 4.0);
	TAKE(sh, permute_byte_per_s, p->permute_byte_per_s);
	CALL(sh, load, imbalance_of(sh, s, b));
	CALL(sh, token_frac, serve_reached_ranks(sh, s, b));
	const bool brings_tokens = uneven(s) && a->imbalance_is_tokens;
	double more_s;
	shape.token_frac = token_frac;
	shape.slowest_rank = brings_tokens || !uneven(s); /* else the factor has it */
	if (brings_tokens) {
		shape.load_frac = load;
		shape.time_frac = engine_factor;
		/* and they all go back */
		SET(sh, more_s, (load - 1) * (back_byte * token_frac * n_new * hidden) / permute_byte_per_s);
	} else {
		shape.time_frac = engine_factor * load;
		SET(sh, more_s, 0);
	}
	CALL(sh, experts_s, moe_time(sh, &shape, p, s->kernels));
	LET(sh, routed_s, experts_s + more_s);
	return routed_s;
}

double
serve_layer_experts(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new)
{
	if (!b->moe.given) {
		LET(sh, no_experts_s, 0);
		return no_experts_s;
	}
	GIVEN(sh, n_new);
	TAKE(sh, n_groups, serve_groups(s));
	LET(sh, m, n_new / n_groups);
	CALL(sh, everybody_s, shared_time(sh, s, b, m));
	CALL(sh, routed_s, routed_time(sh, s, b, n_new));
	LET(sh, experts_s, everybody_s + routed_s);
	return experts_s;
}

double
serve_elementwise(struct sheet *sh, const struct serve_setup *s, double moved_byte)
{
	GIVEN(sh, moved_byte);
	TAKE(sh, base_s, s->engine->elementwise_s);
	TAKE(sh, base_factor, serve_base_factor(s));
	TAKE(sh, moved_frac, datum_or(s->engine->elementwise_frac, 1));
	TAKE(sh, l2_byte, s->kernels->ref_l2_byte);
	TAKE(sh, mem_byte_per_s, s->kernels->ref_mem_byte_per_s);
	LET(sh, engine_byte, moved_frac * moved_byte);
	CALL(sh, miss_frac, level_miss(sh, engine_byte, l2_byte, 0, 0));
	/* 0.85 and 3: as in kernel/elementwise.c */
	LET(sh, per_byte_s_per_byte, miss_frac / (0.85 * mem_byte_per_s) + (1 - miss_frac) / (3 * mem_byte_per_s));
	LET(sh, small_s, base_factor * base_s + engine_byte * per_byte_s_per_byte);
	return small_s;
}

/* Norms of queries and keys over all heads, between two kernels each: squares, and what all ranks' squares make of
 * them.  Those of one head go with the rotation. */
static double
wide_norms(struct sheet *sh, const struct serve_setup *s, const struct block *b, double m)
{
	const struct attention *a = &b->attention;
	double wide_norms_s;

	if (!a->qk_norm_full) {
		SET(sh, wide_norms_s, 0);
		return wide_norms_s;
	}
	GIVEN(sh, m);
	TAKE(sh, n_shards, serve_shards(s));
	FROM(sh, a, n_heads, n_kv_heads, head_dim);
	TAKE(sh, elem_byte, 2.0);
	LET(sh, q_byte, elem_byte * m * n_heads / n_shards * head_dim);
	LET(sh, k_byte, elem_byte * m * n_kv_heads / n_shards * head_dim);
	CALL(sh, q_squares_s, serve_elementwise(sh, s, q_byte));
	CALL(sh, q_norm_s, serve_elementwise(sh, s, 2 * q_byte));
	CALL(sh, k_squares_s, serve_elementwise(sh, s, k_byte));
	CALL(sh, k_norm_s, serve_elementwise(sh, s, 2 * k_byte));
	SET(sh, wide_norms_s, q_squares_s + q_norm_s + k_squares_s + k_norm_s);
	return wide_norms_s;
}

/* The fused top-k of an engine takes scores with a bias only where a group has few experts; of the rest each operation
 * of torch is a kernel.  A bias of the router's map, which comes with biases of the experts', is no such bias. */
static double
choice_of_experts(struct sheet *sh, const struct serve_setup *s, const struct block *b)
{
	static const double most_in_group = 32;
	const struct engine_architecture *a = s->architecture;
	const struct moe *m = &b->moe;
	const struct datum router = a && datum_given(a->router_s) ? a->router_s : s->engine->router_s;
	const bool fused = m->n_experts.value / datum_or(m->n_groups, 1) <= most_in_group;

	TAKE(sh, choice_s, m->given && m->router_bias && !m->expert_bias && !fused ? datum_or(router, 0) : 0.0);
	return choice_s;
}

/* Norms with the residual, in fp32 and 16 bits; the activation between the products of a dense part; what stands around
 * a recurrence. */
double
serve_layer_small(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new)
{
	GIVEN(sh, n_new);
	TAKE(sh, n_groups, serve_groups(s));
	TAKE(sh, hidden, s->model->hidden);
	TAKE(sh, n_norms, b->has_norms ? b->norms : s->model->norms_per_layer);
	TAKE(sh, norm_elem_byte, 8.0);
	LET(sh, m, n_new / n_groups);
	LET(sh, norm_byte, norm_elem_byte * m * hidden);
	CALL(sh, norm_s, serve_elementwise(sh, s, norm_byte));
	double activation_s;
	if (b->mlp.given && !b->moe.given)
		SET_CALL(sh, activation_s, activation_time(sh, s, m, b->mlp.width.value, b->mlp.gated));
	else
		SET(sh, activation_s, 0);
	CALL(sh, wide_norms_s, wide_norms(sh, s, b, m));
	CALL(sh, choice_s, choice_of_experts(sh, s, b));
	CALL(sh, recurrent_s, serve_recurrent_small(sh, s, b, m));
	LET(sh, small_s, n_norms * norm_s + activation_s + wide_norms_s + choice_s + recurrent_s);
	return small_s;
}
