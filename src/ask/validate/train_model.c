/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model of a published run: the database's with what the row says of its shape, or the row's shape alone. */
#include "ask/validate/validate.h"

#include <string.h>

static struct datum
number_of(const struct validate_row *row, const char *column)
{
	return (struct datum){row_number(row, column), {NULL, 0, 0, NULL, false}};
}

static struct datum
of(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

static bool
differs(struct datum row, struct datum model)
{
	return datum_given(row) && datum_given(model) && row.value != model.value;
}

/* With fewer or more layers of the last kind: published runs often have fewer. */
static const struct workload *
with_layers(struct arena *a, const struct workload *w, struct datum layers, struct datum vocab)
{
	struct workload *copy = ARENA_NEW(a, struct workload);

	*copy = *w;
	if (datum_given(vocab))
		copy->vocab.value = vocab.value;
	if (!differs(layers, w->n_layers))
		return copy;
	copy->blocks = ARENA_ARRAY(a, struct block, (size_t)w->n_blocks);
	for (int i = 0; i < w->n_blocks; i++)
		copy->blocks[i] = w->blocks[i];
	struct datum *last = &copy->blocks[w->n_blocks - 1].count;
	last->value += layers.value - w->n_layers.value;
	copy->n_layers.value = layers.value;
	return last->value >= 1 ? copy : NULL;
}

/* Four times the hidden width is that of two maps; gated ones are of other widths. */
static bool
is_gated(double width, double hidden)
{
	return width != 4 * hidden;
}

/* A decoder of equal layers, as the columns have it; NULL where they say too little. */
static const struct workload *
of_columns(struct arena *a, const struct validate_row *row)
{
	const struct datum layers = number_of(row, "layers"), hidden = number_of(row, "hidden");
	const struct datum heads = number_of(row, "heads"), absent = datum_absent();
	struct datum width = number_of(row, "ffn"), kv = number_of(row, "kv_heads");
	const char *family = row_text(row, "family");

	if (!datum_given(layers) || !datum_given(hidden) || !datum_given(heads) || row_number(row, "experts") > 0 ||
	    (family && strcmp(family, "dense-llm") != 0))
		return NULL;
	if (!datum_given(width))
		width = of(4 * hidden.value);
	if (!datum_given(kv))
		kv = heads;
	struct block *b = ARENA_NEW(a, struct block);
	struct workload *w = ARENA_NEW(a, struct workload);
	*b = (struct block){.count = layers,
	    .mixer = MIXER_ATTENTION,
	    .attention = {.kind = ATTENTION_HEADS,
	        .kind_name = "gqa",
	        .n_heads = heads,
	        .n_kv_heads = kv,
	        .head_dim = of(hidden.value / heads.value),
	        .v_dim = absent,
	        .window = absent,
	        .chunk = absent,
	        .q_lora = absent,
	        .kv_lora = absent,
	        .nope = absent,
	        .rope = absent},
	    .mlp = {.given = true, .gated = is_gated(width.value, hidden.value), .width = width}};
	*w = (struct workload){.id = row_text(row, "model"),
	    .name = row_text(row, "model"),
	    .kind = MODEL_DECODER,
	    .n_layers = layers,
	    .hidden = hidden,
	    .vocab = datum_given(number_of(row, "vocab")) ? number_of(row, "vocab") : of(50304),
	    .norms_per_layer = of(2),
	    .final_norm = true,
	    .head = true,
	    .tied_embeddings = !is_gated(width.value, hidden.value),
	    .n_mtp = absent,
	    .context = absent,
	    .stated_params = absent,
	    .n_blocks = 1,
	    .blocks = b};
	struct layer *rows = ARENA_NEW(a, struct layer);
	layer_describe(w, b, rows);
	b->layer = rows;
	return w;
}

/* The same shape but for layers and vocabulary, as far as the row says. */
static bool
is_like(const struct validate_row *row, const struct workload *w)
{
	const struct block *b = workload_attention(w);

	if (differs(number_of(row, "hidden"), w->hidden))
		return false;
	return !b ||
	    (!differs(number_of(row, "heads"), b->attention.n_heads) &&
	        (!b->mlp.given || b->moe.given || w->n_blocks > 1 || !differs(number_of(row, "ffn"), b->mlp.width)));
}

const struct workload *
train_row_model(struct arena *a, const struct validate_row *row, const struct workload *w)
{
	const struct datum layers = number_of(row, "layers"), vocab = number_of(row, "vocab");

	if (!w || !is_like(row, w))
		return of_columns(a, row);
	if (!differs(layers, w->n_layers) && !differs(vocab, w->vocab))
		return w;
	return w->n_blocks > 0 ? with_layers(a, w, layers, vocab) : NULL;
}
