/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show KV cache and recurrent state of a model by kind of layer. */
#include "ask/ask.h"

#include "ask/bind/bind.h"
#include "model/layer/layer.h"

#include <string.h>

/* Draft modules keep a layer each, of the kind of the last one that attends; compressed attention drafts from its
 * window. */
static bool
add_drafts(struct run *r, struct datum n, struct workload *w)
{
	const int n_blocks = w->n_blocks;

	if (!(w->n_mtp.value > 0) || n.value > w->n_mtp.value) {
		diag_error(r->diag, n.from, "%s has %g MTP modules", w->name, datum_or(w->n_mtp, 0));
		diag_hint(r->diag, "count a module that runs several times once");
		return false;
	}
	struct block *blocks = ARENA_ARRAY(r->arena, struct block, n_blocks + 1);
	memcpy(blocks, w->blocks, (size_t)n_blocks * sizeof *blocks);
	for (int i = n_blocks - 1; i >= 0; i--)
		if (blocks[i].mixer == MIXER_ATTENTION) {
			struct block *draft = &blocks[n_blocks];
			*draft = blocks[i];
			draft->count = n;
			draft->layer = NULL;
			if (draft->attention.kind == ATTENTION_CSA)
				draft->attention.ratio.value = 0;
			w->n_blocks++;
			break;
		}
	w->blocks = blocks;
	return true;
}

const struct workload *
run_state(struct run *r, const struct state_in *in, const struct workload *model)
{
	struct workload *w = ARENA_NEW(r->arena, struct workload);

	*w = *model;
	if (!(run_whole(r, "--mtp", in->mtp, 0) & run_whole(r, "--source-seq", in->source, 1)))
		return NULL;
	run_reads(r, &in->mtp, &in->source, NULL);
	if (in->state_dtype.text && workload_recurs(w))
		run_reads(r, &in->state_dtype, NULL);
	if (in->state_dtype.text)
		w->state_byte = (struct datum){dtype_byte(dtype_find(in->state_dtype.text)), in->state_dtype.from};
	else if (workload_recurs(w) && !(w->state_byte.value > 0))
		run_assume_value(r, "state-dtype", "fp32");
	if (datum_given(in->source) && w->kind != MODEL_ENCODER_DECODER) {
		diag_error(r->diag, in->source.from, "%s has no encoder", w->name);
		diag_hint(r->diag, "leave --source-seq out");
		return NULL;
	}
	if (datum_given(in->source))
		w->source_token = in->source;
	if (in->mtp.value > 0 && !add_drafts(r, in->mtp, w))
		return NULL;
	return w;
}

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

/* --- state show ---------------------------------------------------------------------------------------------- */

/* A line for each kind of layer that keeps something: what grows and what does not. */
static void
show_layers(struct run *r, const struct state_view *v)
{
	struct sheet *sh = r->sheet;
	const struct workload *w = v->w;
	const double seq_token = v->seq_token, block_token = v->block_token;

	for (int i = 0; i < w->n_blocks && w->n_blocks > 1; i++) {
		const struct block *b = &w->blocks[i];
		if (b->mixer == MIXER_NONE)
			continue;
		SCOPE_I (sh, "layers", i) {
			TELL(sh, kind, reach_text(r->arena, b));
			TAKE(sh, n_layers, b->count);
			CALL(sh, grows_byte_per_token, kv_block_slope(sh, w, b, v->kv_elem_byte, v->tp));
			CALL(sh, constant_byte, kv_block_constant(sh, w, b, block_token, v->kv_elem_byte, v->tp));
			CALL(sh, layers_byte,
			    kv_block_sequence(sh, w, b, seq_token, block_token, v->kv_elem_byte, v->tp));
			SHOW(sh, n_layers, n_layers);
			SHOW(sh, grows_byte_per_token, kv_byte_per_token);
			SHOW(sh, constant_byte, kv_constant_byte);
			SHOW(sh, layers_byte, kv_sequence_byte);
		}
	}
}

/* Engines that serve hybrids: a slot of states for every running sequence, and one page size for both kinds of layer.
 */
static void
show_slots(struct run *r, const struct state_view *v)
{
	struct sheet *sh = r->sheet;
	const struct block *b = workload_attention(v->w);

	if (!workload_recurs(v->w))
		return;
	CALL(sh, state_byte, state_sequence(sh, v->w, v->tp));
	TAKE(sh, n_slots, v->batch);
	CALL(sh, slots_byte, state_slots(sh, n_slots, state_byte));
	SHOW(sh, state_byte, state_byte);
	if (n_slots > 1)
		SHOW(sh, slots_byte, slot_byte);
	if (!b || !datum_given(block_heads(b)) || !(kv_slope(NULL, v->w, v->kv_elem_byte, v->tp) > 0))
		return;
	CALL(sh, page_byte, state_page(sh, v->w, v->tp));
	CALL(sh, layer_byte_per_token, kv_layer(sh, v->w, b, v->kv_elem_byte, v->tp));
	CALL(sh, page_token, state_block(sh, page_byte, layer_byte_per_token, v->block_token));
	CALL(sh, grows_byte_per_token, kv_slope(sh, v->w, v->kv_elem_byte, v->tp));
	CALL(sh, last_block_byte, state_waste(sh, page_token, grows_byte_per_token));
	SHOW(sh, page_byte, page_byte);
	SHOW(sh, page_token, page_token);
	SHOW(sh, last_block_byte, page_waste_byte);
}

static void
show_admission(struct run *r, const struct state_view *v)
{
	struct sheet *sh = r->sheet;
	const struct kv_admission at = {v->seq_token, v->step_token.value, v->block_token};

	if (!datum_given(v->step_token))
		return;
	CALL(sh, admitted_byte, kv_admitted(sh, v->w, &at, v->kv_elem_byte, v->tp));
	SHOW(sh, admitted_byte, admit_byte);
}

static void
show_sharing(struct run *r, const struct workload *w)
{
	struct sheet *sh = r->sheet;
	const struct block *b = workload_attention(w);

	if (!b)
		return;
	CALL(sh, sharing, kv_sharing(sh, w, b));
	if (sharing > 1)
		SHOW(sh, sharing, mha_reduction);
}

void
state_show(struct run *r, const struct state_view *v)
{
	show_sharing(r, v->w);
	show_layers(r, v);
	show_slots(r, v);
	show_admission(r, v);
}
