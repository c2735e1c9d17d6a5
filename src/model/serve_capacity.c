/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a replica's memory holds: weights, then a pool of cache blocks (Kwon et al., SOSP 2023), then sequences. */
#include "model/serve_parts.h"

#include "ridge/params.h"
#include "ridge/serve_load.h"

/* Matrices of one layer on one GPU of its stage. */
static double
layer_weights(struct sheet *sh, const struct serve_setup *s, const struct block *b)
{
	const struct workload *w = s->model;

	TAKE(sh, n_shards, serve_shards(s));
	TAKE(sh, n_expert_shards, s->layout.tp);
	TAKE(sh, attention_byte_per_param, s->precision.attention.w_byte);
	TAKE(sh, feed_byte_per_param, s->precision.mlp.w_byte);
	TAKE(sh, expert_byte_per_param, s->precision.experts.w_byte);
	TAKE(sh, wide_byte_per_param, 2.0);
	CALL(sh, attention_param, mixer_params(sh, w, b));
	double feed_byte;
	if (b->moe.given) {
		TAKE(sh, n_experts, b->moe.n_experts);
		CALL(sh, one_param, expert_params(sh, w, b));
		CALL(sh, shared_param, shared_expert_params(sh, w, b));
		CALL(sh, router_param, router_params(sh, w, b));
		SET(sh, feed_byte,
		    n_experts * one_param * expert_byte_per_param / n_expert_shards +
		        shared_param * feed_byte_per_param / n_shards + router_param * wide_byte_per_param);
	} else {
		CALL(sh, feed_param, mlp_params(sh, w, b));
		SET(sh, feed_byte, feed_param * feed_byte_per_param / n_shards);
	}
	LET(sh, layer_byte, attention_param * attention_byte_per_param / n_shards + feed_byte);
	return layer_byte;
}

static double
block_weights(struct sheet *sh, const struct serve_setup *s, const struct block *b)
{
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_byte, layer_weights(sh, s, b));
	LET(sh, block_byte, n_layers * layer_byte);
	return block_byte;
}

double
serve_weights(struct sheet *sh, const struct serve_setup *s)
{
	const struct workload *w = s->model;

	TAKE(sh, hidden, w->hidden);
	TAKE(sh, vocab, w->vocab);
	TAKE(sh, n_tables, w->tied_embeddings || !w->head ? 1.0 : 2.0);
	TAKE(sh, tp, s->layout.tp);
	TAKE(sh, pp, s->layout.pp);
	TAKE(sh, head_elem_byte, s->precision.head.w_byte);
	SUM(sh, layers_byte, i, w->n_blocks, block_weights(sh, s, &w->blocks[i]));
	LET(sh, weight_byte, layers_byte / pp + n_tables * vocab * hidden * head_elem_byte / tp);
	return weight_byte;
}

static double
layer_kv(struct sheet *sh, const struct serve_setup *s, const struct block *b)
{
	const struct attention *a = &b->attention;
	double layer_byte;

	if (b->mixer != MIXER_ATTENTION) {
		SET(sh, layer_byte, 0);
		return layer_byte;
	}
	TAKE(sh, kv_elem_byte, s->precision.kv_byte);
	if (a->kind == ATTENTION_MLA) {
		TAKE(sh, kv_lora, a->kv_lora);
		TAKE(sh, rope, a->rope);
		SET(sh, layer_byte, (kv_lora + rope) * kv_elem_byte);
		return layer_byte;
	}
	TAKE(sh, n_kv_heads, a->n_kv_heads);
	TAKE(sh, head_dim, a->head_dim);
	TAKE(sh, n_shards, serve_shards(s));
	SET(sh, layer_byte, 2 * fmax(1, n_kv_heads / n_shards) * head_dim * kv_elem_byte);
	return layer_byte;
}

static double
block_kv(struct sheet *sh, const struct serve_setup *s, const struct block *b)
{
	TAKE(sh, n_layers, b->count);
	CALL(sh, layer_byte, layer_kv(sh, s, b));
	LET(sh, block_byte, n_layers * layer_byte);
	return block_byte;
}

double
serve_kv_byte(struct sheet *sh, const struct serve_setup *s)
{
	TAKE(sh, pp, s->layout.pp);
	SUM(sh, layers_byte, i, s->model->n_blocks, block_kv(sh, s, &s->model->blocks[i]));
	LET(sh, kv_byte, layers_byte / pp);
	return kv_byte;
}

double
serve_pool(struct sheet *sh, const struct serve_setup *s)
{
	TAKE(sh, mem_byte, s->mem_byte);
	TAKE(sh, pool_frac, s->engine->pool_frac);
	TAKE(sh, reserve_byte, s->engine->reserve_byte);
	TAKE(sh, block, s->engine->block_token);
	TAKE(sh, n_groups, serve_groups(s));
	CALL(sh, weight_byte, serve_weights(sh, s));
	CALL(sh, kv_byte, serve_kv_byte(sh, s));
	double room_byte;
	if (s->engine->pool == ENGINE_POOL_CARD)
		SET(sh, room_byte, pool_frac * mem_byte - weight_byte - reserve_byte);
	else
		SET(sh, room_byte, pool_frac * (mem_byte - weight_byte - reserve_byte));
	/* every rank of data-parallel attention has a pool of its own */
	LET(sh, pool, n_groups * fmax(0, floor(room_byte / kv_byte / block) * block));
	return pool;
}

double
serve_running(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load)
{
	TAKE(sh, isl, load->isl);
	TAKE(sh, osl, load->osl);
	TAKE(sh, block, s->engine->block_token);
	TAKE(sh, max_sequences, s->engine->max_sequences);
	TAKE(sh, pp, s->layout.pp);
	TAKE(sh, n_groups, serve_groups(s));
	CALL(sh, pool, serve_pool(sh, s));
	double held;
	if (s->engine->evicts)
		/* requests that run out of room are put back: on average half of the answer is there */
		SET(sh, held, ceil((isl + osl / 2) / block) * block);
	else
		SET(sh, held, ceil((isl + osl) / block) * block);
	LET(sh, fitting, fmin(floor(pool / held), max_sequences * n_groups * pp));
	double asked;
	if (datum_given(load->n_requests)) {
		TAKE(sh, requests, load->n_requests.value);
		SET(sh, asked, fmin(fitting, requests));
	} else
		SET(sh, asked, fitting);
	double running;
	if (datum_given(load->n_concurrent)) {
		TAKE(sh, concurrent, load->n_concurrent.value);
		SET(sh, running, fmin(asked, concurrent));
	} else
		SET(sh, running, asked);
	return running;
}

double
serve_missing(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load)
{
	TAKE(sh, isl, load->isl);
	TAKE(sh, osl, load->osl);
	TAKE(sh, mem_byte, s->mem_byte);
	TAKE(sh, reserve_byte, s->engine->reserve_byte);
	CALL(sh, weight_byte, serve_weights(sh, s));
	CALL(sh, kv_byte, serve_kv_byte(sh, s));
	LET(sh, missing_byte, fmax(0, weight_byte + reserve_byte + (isl + osl) * kv_byte - mem_byte));
	return missing_byte;
}

double
serve_share(struct sheet *sh, double term_s, double step_s)
{
	GIVEN(sh, term_s);
	GIVEN(sh, step_s);
	LET(sh, share_frac, term_s / step_s);
	return share_frac;
}
