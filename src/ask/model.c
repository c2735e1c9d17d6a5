/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show a model: architecture, parameters by part, KV cache, checkpoints. */
#include "ask/bind/bind.h"

#include "ask/ask.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"

#include <string.h>

const char *
reach_text(struct arena *a, const struct block *b)
{
	static const char *const names[] = {[MIXER_ATTENTION] = NULL,
	    [MIXER_MAMBA] = "Mamba-2",
	    [MIXER_DELTA] = "gated delta net",
	    [MIXER_KDA] = "Kimi delta attention",
	    [MIXER_NONE] = "no other tokens"};
	const struct attention *t = &b->attention;

	if (names[b->mixer])
		return names[b->mixer];
	if (t->kind == ATTENTION_CSA && t->ratio.value > 0)
		return arena_printf(a, "window of %g, compressed %g:1", t->window.value, t->ratio.value);
	if (datum_given(kv_reach(t)))
		return arena_printf(a, t->window.value > 0 ? "window of %g" : "chunks of %g", kv_reach(t).value);
	if (t->indexer.dim.value > 0)
		return attention_is_latent(t) ? "latents, top-k" : "all tokens, top-k";
	if (attention_is_latent(t))
		return "latents of all tokens";
	return b->cross ? "all tokens, encoder included" : "all tokens";
}

/* --- work ---------------------------------------------------------------------------------------------------- */

/* The arithmetic of a model: of a token, of a sample, and as publications count it. */

static double
tokens_of(struct run *r, const struct model_in *in, const struct workload *w)
{
	const double held = datum_or(w->context, INFINITY);

	run_reads(r, &in->seq, NULL);
	if (datum_given(in->seq)) {
		if (in->seq.value > held)
			run_warn(r, "sequence length %g exceeds the model's context length %g", in->seq.value, held);
		return in->seq.value;
	}
	run_assume_value(r, "seq", "%g", fmin(4096, held));
	return fmin(4096, held);
}

bool
model_is_causal(const struct workload *w)
{
	return w->kind == MODEL_DECODER || w->kind == MODEL_ENCODER_DECODER;
}

static void
show_token_work(struct run *r, const struct model_in *in, const struct workload *w)
{
	struct sheet *sh = r->sheet;
	const char *missing = expand_missing(w);

	if (missing) {
		run_warn(r, "FLOPs not counted: the file does not give %s", missing);
		return;
	}
	TAKE(sh, seq_token, tokens_of(r, in, w));
	CALL(sh, full_flop_per_token, forward_flop(sh, w, seq_token, false));
	SHOW(sh, full_flop_per_token, forward_full_flop_per_token);
	if (model_is_causal(w)) {
		CALL(sh, causal_flop_per_token, forward_flop(sh, w, seq_token, true));
		SHOW(sh, causal_flop_per_token, forward_causal_flop_per_token);
	}
	CALL(sh, full_backward_flop_per_token, backward_flop(sh, w, seq_token, false));
	SHOW(sh, full_backward_flop_per_token, backward_full_flop_per_token);
	if (model_is_causal(w)) {
		CALL(sh, causal_backward_flop_per_token, backward_flop(sh, w, seq_token, true));
		SHOW(sh, causal_backward_flop_per_token, backward_causal_flop_per_token);
	}
	CALL(sh, embedded_flop_per_token, embedded_flop(sh, w, seq_token, model_is_causal(w)));
	SHOW(sh, embedded_flop_per_token, embedded_flop_per_token);
}

/* --- conventions ----------------------------------------------------------------------------------------- */

static void
show_convention(struct run *r, enum convention c, const struct workload *w, double seq_token)
{
	struct sheet *sh = r->sheet;

	SCOPE_I (sh, "conventions", c) {
		TELL(sh, convention, convention_name(c));
		CALL(sh, trained_flop_per_token, convention_flop(sh, c, w, seq_token));
		CALL(sh, causal_flop_per_token, convention_flop(sh, CONVENTION_RIDGE_CAUSAL, w, seq_token));
		CALL(sh, ratio, convention_ratio(sh, trained_flop_per_token, causal_flop_per_token));
		SHOW(sh, trained_flop_per_token, flop_per_token);
		SHOW(sh, ratio, ratio);
		TELL(sh, attention, convention_attention(c));
		TELL(sh, counts, convention_is_hardware(c) ? "hardware FLOP" : "model FLOP");
		TELL(sh, formula, convention_title(c));
	}
}

static bool
refuse_convention(struct run *r, struct word name, const char *why)
{
	diag_error(r->diag, name.from, "the convention %s: %s", name.text, why);
	diag_hint(r->diag, "--flops-convention all lists those that fit the model");
	return false;
}

static bool
show_conventions(struct run *r, const struct model_in *in, const struct workload *w)
{
	const struct word name = in->convention;
	const char *const megascale = "its table uses attention windows of unpublished width";

	if (!name.text)
		return true;
	run_reads(r, &in->convention, NULL);
	const bool all = strcmp(name.text, "all") == 0;
	const enum convention c = convention_find(name.text);
	if (!all && c == CONVENTION_NONE)
		return refuse_convention(r, name, strcmp(name.text, "megascale") == 0 ? megascale : "unknown");
	const char *why = all ? NULL : convention_refusal(c, w);
	if (why)
		return refuse_convention(r, name, why);
	const double seq_token = tokens_of(r, in, w);
	for (enum convention i = 0; i < N_CONVENTIONS; i++)
		if ((all || i == c) && !convention_refusal(i, w))
			show_convention(r, i, w, seq_token);
	return true;
}

/* Convolutions and GEMMs first, as published counts have nothing else; returns how many. */
static int
keep_products(struct op *ops, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++)
		if (op_multiplies((enum op_kind)ops[i].kind))
			ops[kept++] = ops[i];
	return kept;
}

/* Images and lists of operators have no tokens to count by. */
static void
show_sample_work(struct run *r, const struct model_in *in, const struct workload *w)
{
	struct sheet *sh = r->sheet;
	struct shape shape = {.phase = PHASE_PREFILL, .batch = in->batch.value, .n_new = 1, .tp = 1, .elem_byte = 2};
	struct op *ops = ARENA_ARRAY(r->arena, struct op, expand_room(w));

	TAKE(sh, n_batch, in->batch);
	if (w->kind == MODEL_VISION) {
		CALL(sh, image_token, vision_tokens(sh, w));
		SHOW(sh, image_token, image_token);
		shape.n_new = image_token;
	}
	const int n = expand(w, &shape, ops);
	SUM(sh, forward_flop, i, n, op_total_flop(sh, &ops[i]));
	const int n_products = keep_products(ops, n);
	SUM(sh, product_flop, j, n_products, op_total_flop(sh, &ops[j]));
	SHOW(sh, forward_flop, forward_flop);
	SHOW(sh, product_flop, product_flop);
}

/* FLOP of a token or a sample; then, when they are asked for, the conventions that count a trained token.  False with
 * errors. */
static bool
model_show_work(struct run *r, const struct model_in *in, const struct workload *w)
{
	if (model_is_causal(w) || w->kind == MODEL_ENCODER)
		show_token_work(r, in, w);
	else
		show_sample_work(r, in, w);
	return show_conventions(r, in, w);
}

/* --- parts ----------------------------------------------------------------------------------------------- */

struct part {
	const char *name;
	unsigned rows; /* bits of enum layer_part */
};

static const struct part parts[] = {
    {NULL, IN_MIXER}, /* named by the block's mixer */
    {"cross attention", IN_CROSS},
    {"mlp", IN_MLP},
    {"routed experts", IN_EXPERT},
    {"shared experts", IN_SHARED},
    {"expert latent projections", IN_LATENT},
    {"router", IN_ROUTER},
    {"norms", IN_NORMS},
};

static const char *
mixer_name(const struct block *b)
{
	static const char *const names[] = {[MIXER_ATTENTION] = "attention",
	    [MIXER_MAMBA] = "Mamba-2",
	    [MIXER_DELTA] = "gated delta net",
	    [MIXER_KDA] = "Kimi delta attention",
	    [MIXER_NONE] = "none"};

	return names[b->mixer];
}

/* A line of the table: what one is and how many there are. */
static void
show_part(struct run *r, int *line, const char *name, double n_layers, double one_param, double n_params)
{
	struct sheet *sh = r->sheet;

	if (!(one_param > 0))
		return;
	SCOPE_I (sh, "parts", (*line)++) {
		TELL(sh, part, name);
		GIVEN(sh, n_layers, one_param);
		CALL(sh, part_param, part_params(sh, n_layers, one_param));
		CALL(sh, share_frac, part_share(sh, part_param, n_params));
		SHOW(sh, n_layers, count);
		SHOW(sh, one_param, one_param);
		SHOW(sh, part_param, n_params);
		SHOW(sh, share_frac, share_frac);
	}
}

static void
show_block_parts(
    struct run *r, int *line, const struct workload *w, const struct block *b, bool encoder, double n_params)
{
	for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
		const double copies = parts[p].rows == IN_EXPERT ? b->moe.n_experts.value : 1;
		const char *name = parts[p].name ? parts[p].name : mixer_name(b);
		show_part(r, line, encoder ? arena_printf(r->arena, "encoder: %s", name) : name,
		    b->count.value * copies, layer_params(NULL, w, b, parts[p].rows, COUNT_ONE), n_params);
	}
}

static void
show_parts(struct run *r, const struct workload *w, double n_params)
{
	int line = 0;

	show_part(r, &line, "embedding", 1, embedding_params(NULL, w), n_params);
	for (int i = 0; i < w->n_encoder_blocks; i++)
		show_block_parts(r, &line, w, &w->encoder_blocks[i], true, n_params);
	for (int i = 0; i < w->n_blocks; i++)
		show_block_parts(r, &line, w, &w->blocks[i], false, n_params);
	show_part(r, &line, w->pooler ? "pooler" : "final norm", 1, final_params(NULL, w), n_params);
	show_part(r, &line, "head", 1, head_params(NULL, w), n_params);
}

/* --- memory ---------------------------------------------------------------------------------------------- */

static void
show_cache(struct run *r, const struct workload *w)
{
	struct sheet *sh = r->sheet;

	if (!model_is_causal(w))
		return;
	CALL(sh, kv_byte_per_token, kv_slope(sh, w, 2, 1));
	CALL(sh, constant_byte, kv_constant(sh, w, 1, 2, 1));
	CALL(sh, state_byte, state_sequence(sh, w, 1));
	if (workload_attends(w))
		SHOW(sh, kv_byte_per_token, kv_byte_per_token);
	if (constant_byte > 0)
		SHOW(sh, constant_byte, kv_constant_byte);
}

/* Embedding and head stay in 16 bits where the rest is narrower, as quantizers leave them. */
static void
show_checkpoints(struct run *r, const struct workload *w, double n_params)
{
	static const enum dtype types[] = {DTYPE_FP32, DTYPE_BF16, DTYPE_FP8, DTYPE_INT4};
	struct sheet *sh = r->sheet;

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		SCOPE_I (sh, "checkpoints", i) {
			const double byte = dtype_byte(types[i]);
			TELL(sh, format, dtype_name(types[i]));
			if (w->kind == MODEL_OPERATORS) {
				CALL(sh, checkpoint_byte, checkpoint_bytes(sh, n_params, byte));
			} else {
				CALL(sh, checkpoint_byte, capacity_weights(sh, w, byte, byte > 2 ? byte : 2));
			}
			SHOW(sh, checkpoint_byte, size_byte);
		}
	if (w->quantisation.given)
		SCOPE_I (sh, "checkpoints", sizeof types / sizeof *types + 1) {
			TELL(sh, format, "as published");
			CALL(sh, checkpoint_byte, published_bytes(sh, w));
			SHOW(sh, checkpoint_byte, size_byte);
		}
	SCOPE_I (sh, "checkpoints", sizeof types / sizeof *types) {
		/* 16-bit weights, fp32 weights and two moments: Rajbhandari et al., arXiv:1910.02054, section 3.1 */
		TELL(sh, format, "training, Adam");
		TAKE(sh, stored_byte_per_param, 14.0);
		CALL(sh, checkpoint_byte, checkpoint_bytes(sh, n_params, stored_byte_per_param));
		SHOW(sh, checkpoint_byte, size_byte);
	}
}

/* --- shape ----------------------------------------------------------------------------------------------- */

static const char *
attention_text(struct arena *a, const struct attention *t)
{
	if (attention_is_latent(t))
		return arena_printf(
		    a, "%s, %g heads, latent %g + %g", t->kind_name, t->n_heads.value, t->kv_lora.value, t->rope.value);
	if (t->kind == ATTENTION_CSA)
		return arena_printf(a, "%s, %g heads of %g, one shared KV head, compressed tokens", t->kind_name,
		    t->n_heads.value, t->head_dim.value);
	return arena_printf(a, "%s, %g heads of %g, %g KV heads", t->kind_name, t->n_heads.value, t->head_dim.value,
	    t->n_kv_heads.value);
}

static void
show_shape(struct run *r, const struct workload *w)
{
	static const char *const kinds[] = {
	    "decoder", "encoder", "vision encoder", "list of operators", "encoder-decoder"};
	struct sheet *sh = r->sheet;

	TELL(sh, model_kind, kinds[w->kind]);
	TELL(sh, source, w->source);
	if (w->kind == MODEL_OPERATORS)
		return;
	FROM(sh, w, n_layers, hidden);
	SHOW(sh, n_layers, n_layers);
	SHOW(sh, hidden, hidden);
	const struct block *attending = workload_attention(w);
	if (attending)
		TELL(sh, attention_kind, attention_text(r->arena, &attending->attention));
	if (w->n_encoder_blocks) {
		TAKE(sh, n_encoder_layers, w->n_encoder_layers);
		SHOW(sh, n_encoder_layers, n_encoder_layers);
	}
	if (datum_given(w->vocab)) {
		TAKE(sh, n_vocabulary, w->vocab);
		SHOW(sh, n_vocabulary, vocab_token);
	}
	if (datum_given(w->context)) {
		TAKE(sh, context_token, w->context);
		SHOW(sh, context_token, context_token);
	}
}

/* What is left of the count without tables and head: "non-embedding" means either. */
static void
show_bodies(struct run *r, const struct workload *w)
{
	struct sheet *sh = r->sheet;

	if (w->kind == MODEL_OPERATORS)
		return;
	CALL(sh, body_param, body_params(sh, w));
	CALL(sh, inner_param, inner_params(sh, w));
	SHOW(sh, body_param, n_body_params);
	if (inner_param < body_param)
		SHOW(sh, inner_param, n_inner_params);
}

static const char *
feed_text(struct arena *a, const struct block *b)
{
	if (b->moe.given)
		return arena_printf(a, "%g of %g experts", b->moe.top_k.value, b->moe.n_experts.value);
	return b->mlp.given ? arena_printf(a, "%s mlp of %g", b->mlp.gated ? "gated" : "plain", b->mlp.width.value)
	                    : "-";
}

/* A line for each kind of layer. */
static void
show_layers(struct run *r, const struct workload *w)
{
	struct sheet *sh = r->sheet;

	for (int i = 0; i < w->n_blocks && w->n_blocks > 1; i++) {
		const struct block *b = &w->blocks[i];
		SCOPE_I (sh, "layers", i) {
			TELL(sh, mixer, reach_text(r->arena, b));
			TAKE(sh, n_layers, b->count);
			SHOW(sh, n_layers, n_layers);
			TELL(sh, feed, feed_text(r->arena, b));
		}
	}
}

enum answer
model_show(struct run *r, const struct model_in *in, struct word name)
{
	struct sheet *sh = r->sheet;
	const struct workload *w = run_model(r, name);

	if (!w || !run_whole(r, "seq", in->seq, 1) || !run_whole(r, "batch", in->batch, 1))
		return REFUSED;
	r->title = w->name;
	show_shape(r, w);
	CALL(sh, n_params, model_params(sh, w));
	CALL(sh, active_param, model_active_params(sh, w));
	SHOW(sh, n_params, n_params);
	if (active_param < n_params)
		SHOW(sh, active_param, n_active_params);
	show_bodies(r, w);
	if (datum_given(w->stated_params)) {
		CALL(sh, stated_error_frac, params_error(sh, w));
		if (stated_error_frac > 0.002)
			run_warn(r, "%s: counted %.0f parameters, but its file states %.0f", w->id, n_params,
			    w->stated_params.value);
	}
	if (!model_show_work(r, in, w))
		return REFUSED;
	show_cache(r, w);
	if (w->kind != MODEL_OPERATORS)
		show_layers(r, w);
	if (w->kind != MODEL_OPERATORS)
		show_parts(r, w, n_params);
	show_checkpoints(r, w, n_params);
	if (w->notes)
		TELL(sh, notes, w->notes);
	return ANSWERED;
}
