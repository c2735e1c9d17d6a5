/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A step of a serving engine: all layers for the new tokens, attention over prompts and over caches, logits, and what
 * the CPU adds.  What grows with the tokens alone is apart from what grows with the contexts.
 */
#include "model/serve/parts.h"

#include "model/memory/memory.h"
#include "model/serve/serve.h"

struct serve_batch
serve_step(double n_prefill, double isl, double n_decode, double context)
{
	return (struct serve_batch){n_prefill, isl, 0, n_decode, context, n_prefill + n_decode, 0};
}

/* --- parts that blocks have in common -------------------------------------------------------------------- */

/* Blocks often differ in their windows alone, or in their feed-forward parts.  Where nothing is recorded, a part that
 * an earlier block had is not worked out again. */
enum { MOST_KEPT = 64 };
struct kept {
	double attention[MOST_KEPT], feed[MOST_KEPT], experts[MOST_KEPT], small[MOST_KEPT], comm[MOST_KEPT];
};

static bool
same(struct datum a, struct datum b)
{
	return a.value == b.value || (!datum_given(a) && !datum_given(b));
}

static bool
same_recurrence(const struct block *x, const struct block *y)
{
	const struct mamba *a = &x->mamba, *b = &y->mamba;
	const struct delta *c = &x->delta, *d = &y->delta;
	const struct kda *e = &x->kda, *f = &y->kda;

	return same(a->n_heads, b->n_heads) && same(a->head_dim, b->head_dim) && same(a->n_groups, b->n_groups) &&
	    same(a->state, b->state) && same(c->n_key_heads, d->n_key_heads) &&
	    same(c->n_value_heads, d->n_value_heads) && same(c->key_dim, d->key_dim) &&
	    same(c->value_dim, d->value_dim) && same(e->n_heads, f->n_heads) && same(e->head_dim, f->head_dim) &&
	    e->full_gate == f->full_gate;
}

static bool
same_attention(const struct block *x, const struct block *y)
{
	const struct attention *a = &x->attention, *b = &y->attention;

	return x->mixer == y->mixer && a->kind == b->kind && a->gate == b->gate && a->k_is_v == b->k_is_v &&
	    same(a->n_heads, b->n_heads) && same(a->n_kv_heads, b->n_kv_heads) && same(a->head_dim, b->head_dim) &&
	    same(a->q_lora, b->q_lora) && same(a->kv_lora, b->kv_lora) && same(a->nope, b->nope) &&
	    same(a->rope, b->rope) && same(a->v_dim, b->v_dim) && same(a->indexer.n_heads, b->indexer.n_heads) &&
	    same(a->indexer.dim, b->indexer.dim) && same(a->ratio, b->ratio) && same(a->o_lora, b->o_lora) &&
	    same(a->o_groups, b->o_groups) && same_recurrence(x, y);
}

static bool
same_feed(const struct block *x, const struct block *y)
{
	const struct mlp *a = &x->mlp, *b = &y->mlp;
	const struct moe *c = &x->moe, *d = &y->moe;

	return a->given == b->given && a->gated == b->gated && same(a->width, b->width) && c->given == d->given &&
	    c->plain == d->plain && same(c->n_experts, d->n_experts) && same(c->top_k, d->top_k) &&
	    same(c->width, d->width) && same(c->n_shared, d->n_shared) && same(c->shared_width, d->shared_width) &&
	    same(c->latent, d->latent) && same(c->n_groups, d->n_groups) && c->router_bias == d->router_bias &&
	    c->expert_bias == d->expert_bias;
}

/* Also in the norms of queries and keys, which all ranks do together where they span the heads, and in what stands
 * around a recurrence. */
static bool
same_small(const struct block *x, const struct block *y)
{
	return same_feed(x, y) && x->attention.qk_norm_full == y->attention.qk_norm_full && x->mixer == y->mixer &&
	    same_recurrence(x, y) && x->has_norms == y->has_norms && (!x->has_norms || same(x->norms, y->norms));
}

static int
first_like(const struct workload *w, int i, bool (*alike)(const struct block *x, const struct block *y))
{
	int j = 0;

	while (j < i && !alike(&w->blocks[j], &w->blocks[i]))
		j++;
	return j;
}

/* A part of block i, or what an earlier block like it had. */
static double
part_of(struct sheet *sh, const struct serve_setup *s, int i, double n_new, double *kept,
    bool (*alike)(const struct block *x, const struct block *y),
    double (*part)(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new))
{
	const int j = sh || i >= MOST_KEPT ? i : first_like(s->model, i, alike);

	if (j < i)
		return kept[j];
	const double part_s = part(sh, s, &s->model->blocks[i], n_new);
	if (i < MOST_KEPT)
		kept[i] = part_s;
	return part_s;
}

static double
block_products(struct sheet *sh, const struct serve_setup *s, int i, double n_new, struct kept *k)
{
	TAKE(sh, n_layers, s->model->blocks[i].count);
	CALL(sh, attention_s, part_of(sh, s, i, n_new, k->attention, same_attention, serve_attention_products));
	CALL(sh, feed_s, part_of(sh, s, i, n_new, k->feed, same_feed, serve_feed_products));
	LET(sh, block_s, n_layers * (attention_s + feed_s));
	return block_s;
}

static double
block_experts(struct sheet *sh, const struct serve_setup *s, int i, double n_new, struct kept *k)
{
	TAKE(sh, n_layers, s->model->blocks[i].count);
	CALL(sh, layer_s, part_of(sh, s, i, n_new, k->experts, same_feed, serve_layer_experts));
	LET(sh, block_s, n_layers * layer_s);
	return block_s;
}

static double
block_small(struct sheet *sh, const struct serve_setup *s, int i, double n_new, struct kept *k)
{
	TAKE(sh, n_layers, s->model->blocks[i].count);
	CALL(sh, layer_s, part_of(sh, s, i, n_new, k->small, same_small, serve_layer_small));
	LET(sh, block_s, n_layers * layer_s);
	return block_s;
}

static double
block_comm(struct sheet *sh, const struct serve_setup *s, int i, double n_new, struct kept *k)
{
	TAKE(sh, n_layers, s->model->blocks[i].count);
	CALL(sh, layer_s, part_of(sh, s, i, n_new, k->comm, same_small, serve_layer_comm));
	LET(sh, block_s, n_layers * layer_s);
	return block_s;
}

/* --- all layers ------------------------------------------------------------------------------------------ */

/* Activations from stage to stage. */
static double
pipeline_time(struct sheet *sh, const struct serve_setup *s, double n_new)
{
	double pipeline_s;

	if (s->layout.pp <= 1) {
		SET(sh, pipeline_s, 0);
		return pipeline_s;
	}
	GIVEN(sh, n_new);
	TAKE(sh, pp, s->layout.pp);
	TAKE(sh, hidden, s->model->hidden);
	TAKE(sh, wide_byte, 2.0);
	TAKE(sh, hop_s, 8e-6); /* two ranks that send to one another: 6.6 to 12 us on seven GPUs (hwdb/calibration) */
	TAKE(sh, link_byte_per_s, s->links.linked ? s->links.link_byte_per_s : s->links.pcie_byte_per_s);
	TAKE(sh, reached_frac, s->links.linked ? 0.8 : 0.7);
	SET(sh, pipeline_s, (pp - 1) * (hop_s + n_new * hidden * wide_byte / (reached_frac * link_byte_per_s)));
	return pipeline_s;
}

/* An engine that launches every kernel from the CPU is no faster than its launches. */
static double
launch_floor(struct sheet *sh, const struct serve_setup *s)
{
	double floor_s;

	if (!(s->engine->launch_s.value > 0)) {
		SET(sh, floor_s, 0);
		return floor_s;
	}
	TAKE(sh, n_layers, s->model->n_layers);
	FROM(sh, s->engine, n_layer_launches, launch_s);
	SET(sh, floor_s, n_layers * n_layer_launches * launch_s);
	return floor_s;
}

double
serve_linear(struct sheet *sh, const struct serve_setup *s, double n_new, struct serve_terms *out)
{
	const struct workload *w = s->model;
	struct kept kept = {{0}, {0}, {0}, {0}, {0}};

	GIVEN(sh, n_new);
	if (!(n_new > 0)) {
		LET(sh, nothing_s, 0);
		return nothing_s;
	}
	SUM(sh, products_s, i, w->n_blocks, block_products(sh, s, i, n_new, &kept));
	SUM(sh, experts_s, i, w->n_blocks, block_experts(sh, s, i, n_new, &kept));
	SUM(sh, small_s, i, w->n_blocks, block_small(sh, s, i, n_new, &kept));
	SUM(sh, collectives_s, i, w->n_blocks, block_comm(sh, s, i, n_new, &kept));
	const bool pair = s->layout.tp == 2 && !s->links.linked && !(s->network.n_near > 0);
	TAKE(sh, pair_s, pair ? datum_or(s->engine->pcie_pair_s, 0) : 0.0);
	LET(sh, comm_s, collectives_s + pair_s);
	CALL(sh, pipeline_s, pipeline_time(sh, s, n_new));
	CALL(sh, floor_s, launch_floor(sh, s));
	/* what ranks of a node lose by waiting for each other; a network's own time hides it */
	const struct datum wait =
	    s->network.n_near > 0 ? (struct datum){1, {NULL, 0, 0, NULL, false}} : s->engine->comm_factor;
	TAKE(sh, comm_factor, wait);
	LET(sh, kernels_s, fmax(floor_s, products_s + experts_s + small_s));
	LET(sh, linear_s, kernels_s + comm_factor * comm_s + pipeline_s);
	if (out) {
		out->gemm = products_s;
		out->moe = experts_s;
		out->elementwise = small_s;
		out->comm = comm_s;
		out->pipeline = pipeline_s;
	}
	return linear_s;
}

double
serve_head(struct sheet *sh, const struct serve_setup *s, double n_rows)
{
	GIVEN(sh, n_rows);
	if (!(n_rows > 0) || !s->model->head) {
		LET(sh, no_head_s, 0);
		return no_head_s;
	}
	FROM(sh, s->model, hidden, vocab);
	TAKE(sh, n_groups, serve_groups(s));
	TAKE(sh, n_shards, serve_shards(s));
	TAKE(sh, logit_elem_byte, 6.0);
	TAKE(sh, sampling_s, s->engine->sampling_s);
	LET(sh, m, n_rows / n_groups);
	LET(sh, gpu_vocab, vocab / n_shards);
	CALL(sh, product_s, serve_product(sh, s, &s->precision.head, m, gpu_vocab, hidden));
	LET(sh, logit_byte, logit_elem_byte * m * gpu_vocab);
	CALL(sh, logits_s, serve_elementwise(sh, s, logit_byte));
	double agree_s;
	if (s->layout.tp > 1 && !s->layout.attention_dp) {
		TAKE(sh, choice_byte, 8.0);
		TAKE(sh, agree_base_s, s->links.linked ? s->engine->sampling_link_s : s->engine->pcie_s);
		LET(sh, choices_byte, n_rows * choice_byte);
		CALL(sh, reduce_s, serve_allreduce(sh, s, choices_byte));
		SET(sh, agree_s, reduce_s + agree_base_s);
	} else
		SET(sh, agree_s, 0);
	LET(sh, head_s, product_s + logits_s + sampling_s + agree_s);
	return head_s;
}

/* With data-parallel attention every rank schedules its own sequences. */
double
serve_host(struct sheet *sh, const struct serve_setup *s, double n_prompts, double n_rows)
{
	GIVEN(sh, n_rows);
	TAKE(sh, n_schedulers, serve_groups(s));
	TAKE(sh, base_s, s->engine->host_s);
	TAKE(sh, sequence_s, s->engine->sequence_s);
	TAKE(sh, prefill_s, n_prompts > 0 ? s->engine->prefill_s.value : 0.0);
	TAKE(sh, host_factor, s->architecture ? datum_or(s->architecture->host_factor, 1) : 1);
	TAKE(sh, recurrent_s, workload_recurs(s->model) ? datum_or(s->engine->recurrent_s, 0) : 0.0);
	LET(sh, host_s, host_factor * base_s + sequence_s * n_rows / n_schedulers + prefill_s + recurrent_s);
	return host_s;
}

/* Kernels of a block's layers as a share of those of a layer that attends and has a feed-forward part, half each.  A
 * scan with its convolution and gated norm has about three times the kernels of attention (recurrent.c): with twice or
 * four times, first tokens of 9 runs of Qwen3-Next in SGLang are 17 and 29 % off in the mean instead of 15. */
static double
block_launches(struct sheet *sh, const struct block *b)
{
	const bool attends = b->mixer == MIXER_ATTENTION, recurs = !attends && b->mixer != MIXER_NONE;

	TAKE(sh, n_layers, b->count);
	TAKE(sh, mixer_half, recurs ? 3.0 : attends ? 1.0 : 0.0);
	TAKE(sh, feed_half, b->mlp.given || b->moe.given ? 1.0 : 0.0);
	LET(sh, n_launched, n_layers * (mixer_half + feed_half) / 2);
	return n_launched;
}

/* Decode steps replay a graph; a step with prompts, or with more sequences than graphs were captured for, is launched
 * kernel by kernel and waits for the CPU. */
double
serve_eager_floor(struct sheet *sh, const struct serve_setup *s, double n_prompts, double n_rows)
{
	const struct engine *e = s->engine;
	const bool eager =
	    n_prompts > 0 || (datum_given(e->graph_rows) && n_rows / serve_groups(s) > e->graph_rows.value);
	double floor_s;

	if (!eager || !(datum_or(e->prompt_layer_s, 0) > 0)) {
		SET(sh, floor_s, 0);
		return floor_s;
	}
	FROM(sh, s->engine, prompt_layer_s);
	SUM(sh, n_launched, i, s->model->n_blocks, block_launches(sh, &s->model->blocks[i]));
	SET(sh, floor_s, n_launched * prompt_layer_s);
	return floor_s;
}

double
serve_iteration(struct sheet *sh, const struct serve_setup *s, const struct serve_batch *batch, struct serve_terms *out)
{
	struct serve_terms terms = {0};

	TAKE(sh, n_prompts, batch->n_prefill);
	TAKE(sh, chunk, batch->chunk_token);
	TAKE(sh, prefix, batch->prefix_token);
	TAKE(sh, n_running, batch->n_decode);
	TAKE(sh, context, batch->context_token);
	TAKE(sh, n_rows, batch->n_rows);
	TAKE(sh, gpu_factor, s->engine->gpu_factor);
	TAKE(sh, n_drafts, batch->n_drafts);
	LET(sh, n_verified, n_running * n_drafts);
	LET(sh, n_new, n_prompts * chunk + n_running + n_verified);
	CALL(sh, linear_s, serve_linear(sh, s, n_new, &terms));
	CALL(sh, prompts_s, serve_prompt_attention(sh, s, n_prompts, chunk, prefix));
	CALL(sh, caches_s, serve_cached_attention(sh, s, n_running, context));
	CALL(sh, head_s, serve_head(sh, s, n_rows + n_verified));
	CALL(sh, host_s, serve_host(sh, s, n_prompts, n_rows));
	CALL(sh, floor_s, serve_eager_floor(sh, s, n_prompts, n_rows));
	LET(sh, gpu_s, fmax(floor_s, gpu_factor * (linear_s + prompts_s + caches_s + head_s)));
	LET(sh, iteration_s, gpu_s + host_s);
	terms.prompt_attention = prompts_s;
	terms.cached_attention = caches_s;
	terms.head = head_s;
	terms.host = host_s;
	terms.total = iteration_s;
	if (out)
		*out = terms;
	return iteration_s;
}

/* --- drafts ------------------------------------------------------------------------------------------------------ */

/*
 * Speculative decoding (Leviathan, Kalman and Matias, ICML 2023): the cost of drafting, in addition to the verification
 * step. Prediction layers of the model (MTP), a trained layer beside it (EAGLE) or a small model run as many times as
 * tokens are drafted, one after the other in the same graph, so that the host waits for the step alone.  The first pass
 * also takes in what the last step verified, and prompts.
 */

/* All layers of the draft for n_new tokens, and the logits of n_rows of them. */
static double
draft_pass(struct sheet *sh, const struct serve_draft *d, double n_new, double n_running, double context)
{
	const struct serve_setup *s = d->setup;
	struct serve_terms terms = {0};

	GIVEN(sh, n_new, n_running, context);
	CALL(sh, linear_s, serve_linear(sh, s, n_new, &terms));
	CALL(sh, caches_s, serve_cached_attention(sh, s, n_running, context));
	CALL(sh, head_s, serve_head(sh, s, n_running));
	double joined_s;
	/* hidden state and embedding come in side by side, and are brought to one width */
	if (d->joined && n_new > 0) {
		FROM(sh, s->model, hidden);
		TAKE(sh, n_groups, serve_groups(s));
		TAKE(sh, n_shards, serve_shards(s));
		SET_CALL(sh, joined_s,
		    serve_product(sh, s, &s->precision.mlp, fmax(1, n_new / n_groups), hidden / n_shards, 2 * hidden));
	} else
		SET(sh, joined_s, 0);
	LET(sh, pass_s, linear_s + caches_s + head_s + joined_s);
	return pass_s;
}

double
serve_draft_time(struct sheet *sh, const struct serve_draft *d, const struct serve_batch *batch)
{
	TAKE(sh, n_prompts, batch->n_prefill);
	TAKE(sh, chunk, batch->chunk_token);
	TAKE(sh, n_running, batch->n_decode);
	TAKE(sh, context, batch->context_token);
	TAKE(sh, n_drafts, batch->n_drafts);
	TAKE(sh, gpu_factor, d->setup->engine->gpu_factor);
	LET(sh, n_verified, n_prompts * chunk + n_running * (1 + n_drafts));
	CALL(sh, first_s, draft_pass(sh, d, n_verified, n_running, context));
	CALL(sh, prompts_s, serve_prompt_attention(sh, d->setup, n_prompts, chunk, batch->prefix_token));
	double more_s;
	if (n_running > 0 && n_drafts > 1) {
		CALL(sh, pass_s, draft_pass(sh, d, n_running, n_running, context));
		SET(sh, more_s, (n_drafts - 1) * pass_s);
	} else
		SET(sh, more_s, 0);
	LET(sh, drafts_s, gpu_factor * (first_s + prompts_s + more_s));
	return drafts_s;
}

/* On one GPU; embedding and head are the target's own, where it shares them. */
double
serve_draft_weights(struct sheet *sh, const struct serve_draft *d)
{
	struct serve_setup own = *d->setup;

	if (d->shares_head)
		own.precision.head.w_byte = 0;
	CALL(sh, draft_weight_byte, serve_weights(sh, &own));
	return draft_weight_byte;
}
