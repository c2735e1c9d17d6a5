/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ask/model/model.h"

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
		diag_error(
		    r->diag, n.from, "%s has %g modules that predict further tokens", w->name, datum_or(w->n_mtp, 0));
		diag_hint(r->diag, "a module that runs several times keeps one layer: count it once");
		return false;
	}
	struct block *blocks = ARENA_ARRAY(r->arena, struct block, n_blocks + 1);
	memcpy(blocks, w->blocks, (size_t)n_blocks * sizeof *blocks);
	for (int i = n_blocks - 1; i >= 0; i--)
		if (blocks[i].mixer == MIXER_ATTENTION) {
			struct block *draft = &blocks[n_blocks];
			*draft = blocks[i];
			draft->count = n;
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
		return arena_printf(a, "window of %g, tokens compressed %g to 1", t->window.value, t->ratio.value);
	if (datum_given(kv_reach(t)))
		return arena_printf(a, t->window.value > 0 ? "window of %g" : "chunks of %g", kv_reach(t).value);
	if (t->indexer.dim.value > 0)
		return t->kind == ATTENTION_MLA ? "latents, some chosen" : "all tokens, some chosen";
	if (t->kind == ATTENTION_MLA)
		return "latents of all tokens";
	return b->cross ? "all tokens, and the encoder's" : "all tokens";
}
