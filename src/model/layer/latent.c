/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Multi-head latent attention: keys and values of all heads come from one compressed row of each token, which is what
 * is cached.  DeepSeek-AI, arXiv:2405.04434, section 2.1 and appendix B: absorbed, the maps from the latent go into
 * queries and results, and attention works on the latent itself.  Decode does so, and sparse attention always
 * (DeepSeek-V3.2, section 2.1).
 */
#include "model/layer/parts.h"

/* The row that is cached: 8-bit caches of sparse kernels have one fp32 scale per 128 values beside a 16-bit rotary part
 * (FlashMLA). */
static void
add_cache(struct layer *l)
{
	const struct attention *a = &l->block->attention;
	struct layer_state *s = state_reaches(
	    state_add(l, "latents", SPAN_TOKENS, STATE_CACHE, whole(figure(a->kv_lora.value + a->rope.value))), a);

	if (!indexed(a))
		return;
	s->n_8 = a->kv_lora.value;
	s->n_16 = a->rope.value;
	s->scale_byte = a->kv_lora.value / 128 * 4;
}

static void
add_queries(struct layer *l, const struct workload *w)
{
	const struct attention *a = &l->block->attention;
	const struct width query = wide(a->n_heads, a->nope.value + a->rope.value);
	struct width from = whole(w->hidden);

	if (a->q_lora.value > 0) {
		from = add_query_compression(l, w, IN_MIXER)->n;
		l->op[l->n_ops - 1].doubled = l->op[l->n_ops - 2].doubled = true;
	}
	struct layer_op *op = row_map(l, IN_MIXER, "queries", "query projection", query, from);
	op->map = MAP_Q;
	op->from_latent = a->q_lora.value > 0;
}

static void
add_cores(struct layer *l)
{
	const struct attention *a = &l->block->attention;
	const struct width latent = whole(a->kv_lora);
	const double wide_key = a->nope.value + a->rope.value, v_dim = a->v_dim.value;
	struct layer_op *op;

	op = row_map(
	    l, IN_MIXER, "keys and values", "key and value expansion", wide(a->n_heads, a->nope.value + v_dim), latent);
	op->cached = op->from_latent = true;
	op->forms = FORM_EXPANDED;
	op = row_add(l, IN_MIXER, RUNS_ATTENTION, "attention", wide(a->n_heads, wide_key), wide(a->n_heads, v_dim));
	op->forms = FORM_EXPANDED;
	op = row_add(l, IN_MIXER, RUNS_BATCHED, "queries into the latent", latent, wide(a->n_heads, a->nope.value));
	op->forms = FORM_ABSORBED;
	op->inputs = a->n_heads.value;
	op = row_add(l, IN_MIXER, RUNS_LATENT, "attention", wide(a->n_heads, a->kv_lora.value), whole(a->rope));
	op->forms = FORM_ABSORBED;
	op = row_add(
	    l, IN_MIXER, RUNS_BATCHED, "latent into values", whole(a->v_dim), wide(a->n_heads, a->kv_lora.value));
	op->forms = FORM_ABSORBED;
	op->inputs = a->n_heads.value;
}

void
describe_latent(struct layer *l, const struct workload *w)
{
	const struct attention *a = &l->block->attention;
	const struct width hidden = whole(w->hidden), value = wide(a->n_heads, a->v_dim.value),
	                   row = whole(figure(a->kv_lora.value + a->rope.value));

	add_cache(l);
	add_queries(l, w);
	row_map(l, IN_MIXER, "latent", "key and value compression", row, hidden)->doubled = true;
	row_add(l, IN_MIXER, RUNS_NORM, "latent norm", whole(a->kv_lora), columns(figure(1)))->doubled = true;
	if (indexed(a))
		describe_indexer(l, w, IN_MIXER);
	add_cores(l);
	if (a->gate) {
		row_map(l, IN_MIXER, "gate", "gate projection", value, hidden);
		row_add(l, IN_MIXER, RUNS_GATE, "attention gate", value, hidden)->inputs = 2;
	}
	row_map(l, IN_MIXER, "output", "output projection", hidden, value)->map = MAP_O;
}
