/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ask/model/model.h"

#include "model/layer/layer.h"

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
	CALL(sh, layer_byte_per_token, kv_layer(sh, &b->attention, v->kv_elem_byte, v->tp));
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

bool
state_has_windows(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].mixer == MIXER_ATTENTION && datum_given(kv_reach(&w->blocks[i].attention)))
			return true;
	return false;
}

const char *
state_constant_name(const struct workload *w)
{
	const bool windows = state_has_windows(w);

	if (w->kind == MODEL_ENCODER_DECODER)
		return "constant: encoder tokens";
	if (!workload_recurs(w))
		return "constant: full windows";
	return windows ? "constant: recurrent states and full windows" : "constant: recurrent states";
}

static void
show_sharing(struct run *r, const struct workload *w)
{
	struct sheet *sh = r->sheet;
	const struct block *b = workload_attention(w);

	if (!b)
		return;
	CALL(sh, sharing, kv_sharing(sh, &b->attention));
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
