/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attention as rows: heads, the latent that they may come from; indexers that choose tokens, and tokens compressed to
 * one of several.
 */
#include "model/layer/parts.h"

/* Queries through a compressed width and a norm. */
static struct layer_op *
add_query_compression(struct layer *l, const struct workload *w, enum layer_part part)
{
	const struct width low = whole(l->block->attention.q_lora);

	row_map(l, part, "query compression", "query compression", low, whole(w->hidden));
	return row_add(l, part, RUNS_NORM, "query norm", low, columns(figure(1)));
}

/* Only the window or chunk of this attention is held. */
static struct layer_state *
state_reaches(struct layer_state *s, const struct attention *a)
{
	s->reach = kv_reach(a);
	if (datum_given(s->reach))
		s->span = a->window.value > 0 ? SPAN_WINDOW : SPAN_CHUNK;
	return s;
}

/* --- indexers -------------------------------------------------------------------------------------------- */

/* The key that an indexer keeps: of 8 bits with one fp32 scale per 128 values. */
static void
pack_key(struct layer_state *s, const struct attention *a)
{
	s->packed = true;
	s->n_8 = a->indexer.dim.value;
	s->scale_byte = ceil(a->indexer.dim.value / 128) * 4;
}

/* DeepSeek-AI, DeepSeek-V3.2, 2025, section 2.1: queries from the compressed ones of latent attention, one key with a
 * norm, a weight per head.  On plain heads queries come from the residual stream, each group of heads has an index head
 * of its own, so that nothing is weighed, and the key is of the cache's type (MiniMax-M3). */
static void
describe_indexer(struct layer *l, const struct workload *w, enum layer_part part)
{
	const struct attention *a = &l->block->attention;
	const struct width hidden = whole(w->hidden), key = whole(a->indexer.dim),
	                   heads = {a->indexer.n_heads, a->indexer.dim.value, true};
	const int first = l->n_ops;
	const bool latent = a->kind != ATTENTION_HEADS;
	const char *const product = latent ? "index key and weights" : "index key";

	row_map(l, part, "index queries", "index queries", heads,
	    a->q_lora.value > 0 && latent ? whole(a->q_lora) : hidden);
	row_map(l, part, "index key", product, key, hidden);
	if (latent) {
		row_map(l, part, "index weights", product, whole(a->indexer.n_heads), hidden);
		row_vector(l, part, "index norm", (struct width){figure(2), a->indexer.dim.value, true});
	}
	row_add(l, part, RUNS_SCORES, "index scores", heads, key);
	for (int k = first; k < l->n_ops; k++)
		l->op[k].chooses = true;
	struct layer_state *s = state_reaches(state_add(l, "index keys", SPAN_TOKENS, STATE_CACHE, key), a);
	if (latent)
		pack_key(s, a);
}

/* --- heads ----------------------------------------------------------------------------------------------- */

/*
 * Heads (Vaswani et al., NeurIPS 2017) that share keys and values in groups (Shazeer, arXiv:1911.02150; Ainslie et al.,
 * EMNLP 2023), over their own tokens or over those of an encoder.
 */

/* Names of the products of self-attention and of attention to an encoder. */
struct names {
	const char *query, *key_value, *core, *output;
};

/* Queries, whole or through a compressed width with a norm (Step-3).  A gate doubles their projection (Qwen3-Next). */
static void
add_queries(struct layer *l, const struct workload *w, enum layer_part part, const struct names *names)
{
	const struct attention *a = &l->block->attention;
	const struct width query = wide(a->n_heads, a->head_dim.value);
	struct width from = whole(w->hidden);
	const char *product = names->query;

	if (a->q_lora.value > 0) {
		from = add_query_compression(l, w, part)->n;
		product = "query projection";
	}
	struct layer_op *op = row_map(l, part, "queries", product, query, from);
	op->map = MAP_Q;
	op->from_latent = a->q_lora.value > 0;
	if (a->gate)
		row_map(l, part, "gate", product, query, from)->from_latent = a->q_lora.value > 0;
}

static void
add_biases(struct layer *l, const struct workload *w, enum layer_part part)
{
	const struct attention *a = &l->block->attention;
	const bool inputs = a->bias == BIAS_QKV || a->bias == BIAS_ALL;

	if (inputs) {
		row_vector(l, part, "query bias", wide(a->n_heads, a->head_dim.value * (a->gate ? 2 : 1)));
		row_vector(l, part, "key bias", wide(a->n_kv_heads, a->head_dim.value));
		if (!a->k_is_v)
			row_vector(l, part, "value bias", wide(a->n_kv_heads, value_dim_of(a)));
	}
	if (a->bias == BIAS_OUT || a->bias == BIAS_ALL)
		row_vector(l, part, "output bias", whole(w->hidden));
}

/* Gains of queries and keys: of one head's width (Qwen3), or of all heads together (OLMo 2, MiniMax-M2); sinks. */
static void
add_vectors(struct layer *l, const struct workload *w, enum layer_part part)
{
	const struct attention *a = &l->block->attention;
	const struct datum one = figure(1);

	add_biases(l, w, part);
	if (a->qk_norm) {
		row_vector(l, part, "query gains", wide(a->qk_norm_full ? a->n_heads : one, a->head_dim.value));
		row_vector(l, part, "key gains", wide(a->qk_norm_full ? a->n_kv_heads : one, a->head_dim.value));
	}
	if (a->sinks)
		row_vector(l, part, "sinks", columns(a->n_heads));
}

static void
add_cache(struct layer *l, enum layer_part part)
{
	const struct attention *a = &l->block->attention;
	const struct width width = wide(a->n_kv_heads, a->head_dim.value + value_dim_of(a));

	if (part == IN_CROSS)
		state_add(l, "keys and values of the encoder", SPAN_SOURCE, STATE_CACHE, width);
	else
		state_reaches(state_add(l, "keys and values", SPAN_TOKENS, STATE_CACHE, width), a);
}

void
describe_heads(struct layer *l, const struct workload *w, enum layer_part part)
{
	static const struct names own = {"qkv projection", "qkv projection", "attention", "output projection"},
	                          others = {"cross query projection", "cross key and value projection",
	                              "cross attention", "cross output projection"};
	const struct attention *a = &l->block->attention;
	const struct names *names = part == IN_CROSS ? &others : &own;
	const char *product = a->q_lora.value > 0 && part != IN_CROSS ? "key and value projection" : names->key_value;
	const struct width hidden = whole(w->hidden), key = wide(a->n_kv_heads, a->head_dim.value),
	                   value = wide(a->n_kv_heads, value_dim_of(a)), output = wide(a->n_heads, value_dim_of(a));

	add_cache(l, part);
	add_queries(l, w, part, names);
	struct layer_op *op = row_map(l, part, "keys", product, key, hidden);
	op->map = MAP_K;
	op->source = part == IN_CROSS;
	if (!a->k_is_v) {
		op = row_map(l, part, "values", product, value, hidden);
		op->map = MAP_V;
		op->source = part == IN_CROSS;
	}
	add_vectors(l, w, part);
	if (indexed(a))
		describe_indexer(l, w, part);
	row_add(l, part, RUNS_ATTENTION, names->core, wide(a->n_heads, a->head_dim.value), value)->source =
	    part == IN_CROSS;
	if (a->gate)
		row_add(l, part, RUNS_GATE, "attention gate", output, hidden)->inputs = 2;
	row_map(l, part, "output", names->output, hidden, output)->map = MAP_O;
}

/* --- latent attention ------------------------------------------------------------------------------------ */

/*
 * Multi-head latent attention: keys and values of all heads come from one compressed row of each token, which is what
 * is cached.  DeepSeek-AI, arXiv:2405.04434, section 2.1 and appendix B: absorbed, the maps from the latent go into
 * queries and results, and attention works on the latent itself.  Decode does so, and sparse attention always
 * (DeepSeek-V3.2, section 2.1).
 */

/* The row that is cached: 8-bit caches of sparse kernels have one fp32 scale per 128 values beside a 16-bit rotary part
 * (FlashMLA). */
static void
add_latent_cache(struct layer *l)
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
add_latent_queries(struct layer *l, const struct workload *w)
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

	add_latent_cache(l);
	add_latent_queries(l, w);
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

/* --- compressed sparse attention (DeepSeek-V4 technical report, 2026, and its reference implementation) --- */

/* All heads share what is cached, so every GPU of a tensor-parallel group keeps the whole of it. */

/* A compressor makes one token of `ratio` by a softmax over their weights: two maps, a bias per place and a norm; of
 * overlapping stretches, so twice as wide, where the ratio is 4.  It holds values and weights in fp32 until a token is
 * complete. */
static void
add_compressor(struct layer *l, const struct workload *w, const char *map, const char *sum, struct datum width)
{
	const struct attention *a = &l->block->attention;
	const double overlapping = a->ratio.value == 4 ? 2 : 1;
	const struct width both = {width, 2 * overlapping, true}, half = {width, overlapping, true};

	row_map(l, IN_MIXER, map, map, both, whole(w->hidden));
	row_vector(l, IN_MIXER, "place biases", (struct width){a->ratio, overlapping * width.value, true});
	row_vector(l, IN_MIXER, "compression norm", whole(width));
	row_add(l, IN_MIXER, RUNS_COMPRESSION, sum, half, half)->inputs = a->ratio.value;
	state_add(l, sum, SPAN_SEQUENCE, STATE_FLOAT, both)->rows = overlapping * a->ratio.value;
}

/* A row of the cache is packed whatever its type: 8 bits, a 16-bit rotary part, 8 bytes of scales. */
static struct layer_state *
add_rows(struct layer *l, const char *title, enum state_span span)
{
	const struct attention *a = &l->block->attention;
	struct layer_state *s = state_add(l, title, span, STATE_CACHE, whole(a->head_dim));

	s->packed = true;
	s->n_8 = a->head_dim.value - a->rope.value;
	s->n_16 = a->rope.value;
	s->scale_byte = 8;
	return s;
}

/* At a ratio of 4 an indexer selects among the compressed tokens. */
static void
add_chooser(struct layer *l, const struct workload *w)
{
	const struct attention *a = &l->block->attention;
	const struct width heads = {a->indexer.n_heads, a->indexer.dim.value, true};

	row_map(l, IN_MIXER, "index queries", "index queries", heads, whole(a->q_lora));
	row_map(l, IN_MIXER, "index weights", "index weights", whole(a->indexer.n_heads), whole(w->hidden));
	add_compressor(l, w, "index compression", "compressed index keys", a->indexer.dim);
	row_add(l, IN_MIXER, RUNS_SCORES, "index scores", heads, whole(a->indexer.dim));
	struct layer_state *s = state_add(l, "index keys", SPAN_TOKENS, STATE_CACHE, whole(a->indexer.dim));
	pack_key(s, a);
	s->ratio = a->ratio.value;
}

/* One shared row of head_dim for keys and values: near tokens as they are, far ones compressed; an output map in
 * groups, a sink per head. */
void
describe_compressed(struct layer *l, const struct workload *w)
{
	const struct attention *a = &l->block->attention;
	const struct width hidden = whole(w->hidden), key = whole(a->head_dim),
	                   query = wide(a->n_heads, a->head_dim.value);
	const struct width low = add_query_compression(l, w, IN_MIXER)->n;

	row_map(l, IN_MIXER, "queries", "query projection", query, low);
	row_map(l, IN_MIXER, "key", "key projection", key, hidden);
	row_add(l, IN_MIXER, RUNS_NORM, "key norm", key, columns(figure(1)));
	row_vector(l, IN_MIXER, "sinks", columns(a->n_heads));
	add_rows(l, "near tokens", SPAN_RING)->reach = a->window;
	if (a->ratio.value > 0) {
		add_compressor(l, w, "compression", "compressed tokens", a->head_dim);
		add_rows(l, "compressed rows", SPAN_TOKENS)->ratio = a->ratio.value;
		if (a->ratio.value == 4)
			add_chooser(l, w);
	}
	row_add(l, IN_MIXER, RUNS_LATENT, "attention", query, whole(figure(0)));
	row_add(l, IN_MIXER, RUNS_BATCHED, "output groups", whole(a->o_lora), query)->inputs = a->o_groups.value;
	row_map(l, IN_MIXER, "output", "output projection", hidden, wide(a->o_groups, a->o_lora.value));
}

/* --- keys of a query ------------------------------------------------------------------------------------- */

/* An indexer lets top_k of the visible keys through: a window of that many has as many. */
static double
chosen_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal)
{
	if (!indexed(a))
		return seen_keys(sh, a, n_new, n_cached, causal);
	struct attention narrow = *a;
	narrow.window = a->indexer.top_k;
	GIVEN(sh, n_new, n_cached);
	TAKE(sh, n_allowed, a->indexer.top_k);
	CALL(sh, n_visible, seen_keys(sh, &narrow, n_new, n_cached, causal));
	LET(sh, n_seen, fmin(n_visible, n_allowed));
	return n_seen;
}

static double
compressed_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached)
{
	const struct attention full = {.window = datum_absent(), .chunk = datum_absent()};

	GIVEN(sh, n_new, n_cached);
	TAKE(sh, ratio, a->ratio);
	CALL(sh, n_visible, seen_keys(sh, &full, n_new, n_cached, true));
	LET(sh, n_seen, n_visible / ratio);
	return n_seen;
}

/* Only at a ratio of 4 does an indexer select among the compressed tokens. */
static double
compressed_chosen(struct sheet *sh, const struct attention *a, double n_new, double n_cached)
{
	struct attention narrow = {.window = datum_absent(), .chunk = datum_absent()};

	GIVEN(sh, n_new, n_cached);
	TAKE(sh, ratio, a->ratio);
	if (a->ratio.value == 4) {
		narrow.window = a->indexer.top_k;
		narrow.window.value *= a->ratio.value;
	}
	CALL(sh, n_visible, seen_keys(sh, &narrow, n_new, n_cached, true));
	LET(sh, n_seen, n_visible / ratio);
	return n_seen;
}

/* Near tokens as they are, and compressed ones beyond them. */
static double
near_and_far(struct sheet *sh, const struct attention *a, double n_new, double n_cached)
{
	GIVEN(sh, n_new, n_cached);
	CALL(sh, n_near, seen_keys(sh, a, n_new, n_cached, true));
	if (!(a->ratio.value > 0)) {
		LET(sh, n_seen, n_near);
		return n_seen;
	}
	CALL(sh, n_far, compressed_chosen(sh, a, n_new, n_cached));
	LET(sh, n_seen, n_near + n_far);
	return n_seen;
}

double
attended_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal)
{
	if (a->kind == ATTENTION_CSA)
		return near_and_far(sh, a, n_new, n_cached);
	return chosen_keys(sh, a, n_new, n_cached, causal);
}

double
scored_keys(struct sheet *sh, const struct attention *a, double n_new, double n_cached, bool causal)
{
	if (a->kind == ATTENTION_CSA)
		return compressed_keys(sh, a, n_new, n_cached);
	return seen_keys(sh, a, n_new, n_cached, causal);
}

/* Those that any new query can see; of one query, those that it chooses. */
double
read_keys(const struct attention *a, double n_new, double n_cached)
{
	const double n_all = n_cached + n_new, far = floor(n_all / a->ratio.value);
	double n = n_all;

	if (a->window.value > 0)
		n = fmin(n, a->window.value + n_new - 1);
	if (a->chunk.value > 0)
		n = fmin(n, a->chunk.value + n_new - 1);
	if (a->kind != ATTENTION_CSA)
		return indexed(a) && n_new == 1 ? fmin(n, a->indexer.top_k.value) : n;
	if (!(a->ratio.value > 0))
		return n;
	return n + (n_new == 1 ? fmin(far, ceil(compressed_chosen(NULL, a, n_new, n_cached))) : far);
}
