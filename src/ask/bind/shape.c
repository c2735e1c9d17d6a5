/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ask/bind/bind.h"

bool
run_whole(struct run *r, const char *option, struct datum d, double least)
{
	if (!datum_given(d) || (d.value >= least && d.value == floor(d.value) && d.value <= 1e15))
		return true;
	diag_error(r->diag, d.from, "%s must be a whole number of at least %g", option, least);
	diag_hint(r->diag, "write for example 8, 4096 or 8Ki; at most 1e15");
	return false;
}

bool
shape_given(const struct shape_in *in)
{
	return datum_given(in->layers) || datum_given(in->heads) || datum_given(in->kv_heads) ||
	    datum_given(in->head_dim);
}

/* Models without a growing cache are refused, by what they are. */
static const struct workload *
with_cache(struct run *r, struct word name)
{
	static const char *const others[] = {[MODEL_ENCODER] = "an encoder",
	    [MODEL_VISION] = "a vision encoder",
	    [MODEL_OPERATORS] = "a list of operators"};
	const struct workload *w = run_model(r, name);

	if (!w || w->kind == MODEL_DECODER || w->kind == MODEL_ENCODER_DECODER)
		return w;
	diag_error(r->diag, name.from, "%s is %s, which has no KV cache", w->id, others[w->kind]);
	diag_hint(r->diag, "use a decoder with layers, kv_heads and head_dim, or kv_lora and rope (MLA)");
	return NULL;
}

static const struct workload *
made(struct run *r, const struct shape_in *in)
{
	struct workload *w = ARENA_NEW(r->arena, struct workload);
	struct block *b = ARENA_NEW(r->arena, struct block);
	const struct datum absent = datum_absent();
	const bool whole = run_whole(r, "layers", in->layers, 1) & run_whole(r, "heads", in->heads, 1) &
	    run_whole(r, "kv-heads", in->kv_heads, 1) & run_whole(r, "head-dim", in->head_dim, 1);

	if (!datum_given(in->layers) || !datum_given(in->kv_heads) || !datum_given(in->head_dim)) {
		diag_error(
		    r->diag, (struct source){0}, "without a model, --layers, --kv-heads and --head-dim are needed");
		diag_hint(r->diag, "write for example --layers 32 --kv-heads 32 --head-dim 128 (Llama 2 7B)");
		return NULL;
	}
	if (!whole)
		return NULL;
	const struct datum heads = datum_given(in->heads) ? in->heads : in->kv_heads;
	if (fmod(heads.value, in->kv_heads.value) != 0) {
		diag_error(
		    r->diag, heads.from, "%g heads are not a multiple of %g KV heads", heads.value, in->kv_heads.value);
		diag_hint(r->diag, "use for example 32 heads and 8 KV heads");
		return NULL;
	}
	*b = (struct block){.count = in->layers,
	    .attention = {.kind = ATTENTION_HEADS,
	        .kind_name = "gqa",
	        .n_heads = heads,
	        .n_kv_heads = in->kv_heads,
	        .head_dim = in->head_dim,
	        .v_dim = absent,
	        .window = absent,
	        .chunk = absent,
	        .q_lora = absent,
	        .kv_lora = absent,
	        .nope = absent,
	        .rope = absent}};
	*w = (struct workload){.id = "model",
	    .name = "the model",
	    .kind = MODEL_DECODER,
	    .n_layers = in->layers,
	    .hidden = absent,
	    .vocab = absent,
	    .context = absent,
	    .stated_params = absent,
	    .n_blocks = 1,
	    .blocks = b};
	return w;
}

const struct workload *
run_shape(struct run *r, struct word model, const struct shape_in *in)
{
	if (model.text && shape_given(in)) {
		diag_error(r->diag, model.from, "a model excludes --layers, --heads, --kv-heads and --head-dim");
		diag_hint(r->diag, "change a named model with --set model.layers=40");
		return NULL;
	}
	if (model.text)
		return with_cache(r, model);
	if (shape_given(in))
		return made(r, in);
	diag_error(r->diag, (struct source){0}, "no model given");
	diag_hint(r->diag, "give a model ('ridge model list'), or --layers, --kv-heads and --head-dim");
	return NULL;
}
