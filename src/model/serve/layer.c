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

/* A product with the quantization of what goes into it. */
static double
projection(struct sheet *sh, const struct serve_setup *s, const struct serve_format *f, double m, double n, double k)
{
	GIVEN(sh, m, n, k);
	CALL(sh, product_s, serve_product(sh, s, f, m, n, k));
	CALL(sh, quantise_s, layer_quantise_time(sh, s, f, m, s->model->hidden.value));
	LET(sh, projection_s, product_s + quantise_s);
	return projection_s;
}

/* Queries, keys and values in one product, and the output map.  Key heads are repeated where there are fewer than GPUs.
 */
static double
heads_products(struct sheet *sh, const struct serve_setup *s, const struct attention *a, double m)
{
	const struct serve_format *f = &s->precision.attention;

	GIVEN(sh, m);
	TAKE(sh, hidden, s->model->hidden);
	FROM(sh, a, n_heads, n_kv_heads, head_dim);
	TAKE(sh, n_gates, a->gate ? 1.0 : 0.0);
	TAKE(sh, n_kv_maps, a->k_is_v ? 1.0 : 2.0);
	TAKE(sh, n_shards, serve_shards(s));
	LET(sh, n_gpu_heads, n_heads / n_shards);
	LET(sh, n_gpu_kv_heads, fmax(1, n_kv_heads / n_shards));
	LET(sh, in_width, ((1 + n_gates) * n_gpu_heads + n_kv_maps * n_gpu_kv_heads) * head_dim);
	LET(sh, out_width, n_gpu_heads * head_dim);
	CALL(sh, qkv_s, projection(sh, s, f, m, in_width, hidden));
	CALL(sh, out_s, projection(sh, s, f, m, hidden, out_width));
	LET(sh, heads_s, qkv_s + out_s);
	return heads_s;
}

/* Latent attention with the up-projections absorbed into queries and results (DeepSeek-AI, arXiv:2405.04434): two
 * products in 16 bits per head group. */
static double
latent_products(struct sheet *sh, const struct serve_setup *s, const struct attention *a, double m)
{
	const struct serve_format *f = &s->precision.attention, wide = serve_wide(s);

	GIVEN(sh, m);
	TAKE(sh, hidden, s->model->hidden);
	TAKE(sh, n_heads, a->n_heads);
	TAKE(sh, q_lora, datum_or(a->q_lora, 0));
	FROM(sh, a, kv_lora, nope, rope, v_dim);
	TAKE(sh, n_shards, serve_shards(s));
	LET(sh, n_gpu_heads, n_heads / n_shards);
	LET(sh, query_width, n_gpu_heads * (nope + rope));
	double down_s, query_s;
	if (q_lora > 0) {
		LET(sh, down_width, q_lora + kv_lora + rope);
		SET_CALL(sh, down_s, projection(sh, s, f, m, down_width, hidden));
		/* the norm in front of it quantizes on the way */
		SET_CALL(sh, query_s, serve_product(sh, s, f, m, query_width, q_lora));
	} else {
		LET(sh, down_width, query_width + kv_lora + rope);
		SET_CALL(sh, down_s, projection(sh, s, f, m, down_width, hidden));
		SET(sh, query_s, 0);
	}
	LET(sh, latent_width, n_gpu_heads * kv_lora);
	LET(sh, value_width, n_gpu_heads * v_dim);
	CALL(sh, absorb_s, serve_product(sh, s, &wide, m, latent_width, nope));
	CALL(sh, expand_s, serve_product(sh, s, &wide, m, value_width, kv_lora));
	CALL(sh, out_s, projection(sh, s, f, m, hidden, value_width));
	LET(sh, latent_s, down_s + query_s + absorb_s + expand_s + out_s);
	return latent_s;
}

/* A dense feed-forward part, or the experts that every token visits. */
static double
feed_products(struct sheet *sh, const struct serve_setup *s, double m, double width, bool gated)
{
	const struct serve_format *f = &s->precision.mlp;

	GIVEN(sh, m, width);
	TAKE(sh, hidden, s->model->hidden);
	TAKE(sh, n_matrices, gated ? 2.0 : 1.0);
	TAKE(sh, n_shards, serve_shards(s));
	LET(sh, up_width, n_matrices * width / n_shards);
	LET(sh, gpu_width, width / n_shards);
	CALL(sh, up_s, projection(sh, s, f, m, up_width, hidden));
	CALL(sh, down_s, projection(sh, s, f, m, hidden, gpu_width));
	LET(sh, feed_s, up_s + down_s);
	return feed_s;
}

double
serve_attention_products(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new)
{
	GIVEN(sh, n_new);
	TAKE(sh, n_groups, serve_groups(s));
	LET(sh, m, n_new / n_groups);
	double attention_s;
	if (b->mixer != MIXER_ATTENTION)
		SET(sh, attention_s, 0);
	else if (b->attention.kind == ATTENTION_MLA)
		SET_CALL(sh, attention_s, latent_products(sh, s, &b->attention, m));
	else
		SET_CALL(sh, attention_s, heads_products(sh, s, &b->attention, m));
	return attention_s;
}

double
serve_feed_products(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new)
{
	GIVEN(sh, n_new);
	TAKE(sh, n_groups, serve_groups(s));
	LET(sh, m, n_new / n_groups);
	double feed_s;
	if (b->mlp.given && !b->moe.given)
		SET_CALL(sh, feed_s, feed_products(sh, s, m, b->mlp.width.value, b->mlp.gated));
	else
		SET(sh, feed_s, 0);
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

/* What every token meets in a layer of experts: the router, in 16 bits, and shared experts. */
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
		CALL(sh, feed_s, feed_products(sh, s, m, shared_width, !b->moe.plain));
		CALL(sh, activation_s, activation_time(sh, s, m, shared_width, !b->moe.plain));
		SET(sh, shared_s, feed_s + activation_s);
	} else
		SET(sh, shared_s, 0);
	LET(sh, everybody_s, router_s + quantise_s + shared_s);
	return everybody_s;
}

/* The model's experts as the grouped product sees them. */
static struct moe_shape
experts_of(const struct serve_setup *s, const struct block *b, double n_new)
{
	const struct serve_format *f = &s->precision.experts;
	const struct serve_layout *l = &s->layout;
	const double latent = datum_or(b->moe.latent, 0);
	/* unpacking costs grouped products the same share of their bandwidth as plain ones */
	const double same_share =
	    s->kernels->moe[f->type].mem_byte_per_s.value / s->kernels->gemm[f->type].mem_byte_per_s.value;

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
	    .weight_byte_per_clock = f->cap_byte * same_share,
	};
}

static bool
uneven(const struct serve_setup *s)
{
	return s->layout.ep > 1 && s->architecture && datum_given(s->architecture->imbalance);
}

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
	TAKE(sh, ep, s->layout.ep);
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
	double more_s;
	if (uneven(s) && a->imbalance_is_tokens) {
		shape.load_frac = load;
		shape.time_frac = engine_factor;
		/* and they all go back */
		SET(sh, more_s, (load - 1) * (back_byte * n_new * hidden) / permute_byte_per_s);
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
	TAKE(sh, base_factor, s->architecture ? datum_or(s->architecture->base_factor, 1) : 1);
	TAKE(sh, moved_frac, datum_or(s->engine->elementwise_frac, 1));
	TAKE(sh, l2_byte, s->kernels->ref_l2_byte);
	TAKE(sh, mem_byte_per_s, s->kernels->ref_mem_byte_per_s);
	LET(sh, engine_byte, moved_frac * moved_byte);
	LET(sh, miss_frac, fmin(1, fmax(0, engine_byte / (0.75 * l2_byte) - 0.5)));
	LET(sh, per_byte_s_per_byte, miss_frac / (0.85 * mem_byte_per_s) + (1 - miss_frac) / (3 * mem_byte_per_s));
	LET(sh, small_s, base_factor * base_s + engine_byte * per_byte_s_per_byte);
	return small_s;
}

/* Norms with the residual, in fp32 and 16 bits; the activation between the products of a dense part. */
double
serve_layer_small(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new)
{
	GIVEN(sh, n_new);
	TAKE(sh, n_groups, serve_groups(s));
	TAKE(sh, hidden, s->model->hidden);
	TAKE(sh, n_norms, s->model->parallel ? 1.0 : 2.0);
	TAKE(sh, norm_elem_byte, 8.0);
	LET(sh, m, n_new / n_groups);
	LET(sh, norm_byte, norm_elem_byte * m * hidden);
	CALL(sh, norm_s, serve_elementwise(sh, s, norm_byte));
	double activation_s;
	if (b->mlp.given && !b->moe.given)
		SET_CALL(sh, activation_s, activation_time(sh, s, m, b->mlp.width.value, b->mlp.gated));
	else
		SET(sh, activation_s, 0);
	LET(sh, small_s, n_norms * norm_s + activation_s);
	return small_s;
}
