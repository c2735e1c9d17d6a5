/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shapes of workloads that a schema cannot see: they must divide, agree with each other, and have the parameters that
 * their file states.  Errors are contradictions; warnings are what no published model does.
 */
#include "db/lint/lint.h"

#include "model/layer/layer.h"

static bool
divides(struct datum small, struct datum large)
{
	return fmod(large.value, small.value) == 0;
}

/* --- attention ------------------------------------------------------------------------------------------- */

static void
lint_widths(struct diag *d, const struct workload *w, const struct attention *a)
{
	const double width = a->n_heads.value * a->head_dim.value, ratio = width / w->hidden.value;

	if (a->kind == ATTENTION_HEADS && (ratio > 16 || ratio < 0.125)) {
		diag_warning(d, a->head_dim.from, "%g heads of %g are %.3g times the hidden size", a->n_heads.value,
		    a->head_dim.value, ratio);
		diag_hint(d, "head_dim is of one head");
	}
	if (a->head_dim.value > 1024)
		diag_warning(d, a->head_dim.from, "head_dim %g looks like all heads together", a->head_dim.value);
	if (a->rope.value > 0 && fmod(a->rope.value, 2) != 0)
		diag_error(d, a->rope.from, "RoPE dimension %g is not even", a->rope.value);
	else if (w->positions == POSITIONS_ROPE && a->kind == ATTENTION_HEADS && fmod(a->head_dim.value, 2) != 0)
		diag_error(d, a->head_dim.from, "head_dim %g is not even, as RoPE needs", a->head_dim.value);
	if (a->kind == ATTENTION_MLA && a->kv_lora.value > a->n_heads.value * (a->nope.value + a->v_dim.value))
		diag_error(d, a->kv_lora.from, "latent dimension %g is not below the %g of keys and values",
		    a->kv_lora.value, a->n_heads.value * (a->nope.value + a->v_dim.value));
}

static void
lint_reach(struct diag *d, const struct workload *w, const struct attention *a)
{
	const struct datum reach = a->window.value > 0 ? a->window : a->chunk;

	if (reach.value > 0 && w->context.value > 0 && reach.value > w->context.value) {
		diag_warning(d, reach.from, "window %g exceeds the context length %g", reach.value, w->context.value);
		diag_hint(d, "leave it out for full attention");
	}
	if (a->indexer.top_k.value > 0 && w->context.value > 0 && a->indexer.top_k.value > w->context.value)
		diag_warning(d, a->indexer.top_k.from, "indexer top_k %g with at most %g tokens",
		    a->indexer.top_k.value, w->context.value);
}

/* --- recurrences ----------------------------------------------------------------------------------------- */

static void
lint_recurrence(struct diag *d, const struct workload *w, const struct block *b)
{
	const struct datum heads = block_heads(b);
	const struct datum dim = b->mixer == MIXER_MAMBA ? b->mamba.head_dim
	    : b->mixer == MIXER_DELTA                    ? b->delta.value_dim
	                                                 : b->kda.head_dim;
	const double ratio = heads.value * dim.value / w->hidden.value;

	if (ratio > 8 || ratio < 0.25) {
		diag_warning(
		    d, heads.from, "%g heads of %g are %.3g times the hidden size", heads.value, dim.value, ratio);
		diag_hint(d, "published models have one to four times the hidden size");
	}
}

/* --- feed-forward ---------------------------------------------------------------------------------------- */

static void
lint_experts(struct diag *d, const struct workload *w, const struct moe *m)
{
	if (m->n_experts.value == 1)
		diag_error(d, m->n_experts.from, "a mixture needs two experts or more: use 'mlp'");
	else if (2 * m->top_k.value > m->n_experts.value) {
		diag_warning(
		    d, m->top_k.from, "top_k %g is more than half of %g experts", m->top_k.value, m->n_experts.value);
		diag_hint(d, "top_k counts routed experts per token, without shared ones");
	}
	if (m->latent.value >= w->hidden.value) {
		diag_error(
		    d, m->latent.from, "expert latent dimension %g is not below the hidden size", m->latent.value);
		diag_hint(d, "leave it out when experts work on the hidden size");
	}
	if (m->width.value > 8 * w->hidden.value)
		diag_warning(d, m->width.from, "expert width %g looks like all experts together", m->width.value);
}

static void
lint_mlp(struct diag *d, const struct workload *w, const struct mlp *m)
{
	const double ratio = m->width.value / w->hidden.value;

	if (ratio < 0.25 || ratio > 68) /* T5-11B: 64 */
		diag_warning(
		    d, m->width.from, "intermediate size %g is %.3g times the hidden size", m->width.value, ratio);
}

static void
lint_block(struct diag *d, const struct workload *w, const struct block *b)
{
	if (b->mixer == MIXER_ATTENTION) {
		lint_widths(d, w, &b->attention);
		lint_reach(d, w, &b->attention);
	} else if (b->mixer != MIXER_NONE)
		lint_recurrence(d, w, b);
	if (b->moe.given)
		lint_experts(d, w, &b->moe);
	else if (b->mlp.given)
		lint_mlp(d, w, &b->mlp);
}

/* --- the whole ------------------------------------------------------------------------------------------- */

static void
lint_tables(struct diag *d, const struct workload *w)
{
	if (w->positions == POSITIONS_LEARNED && w->n_positions.value < w->context.value) {
		diag_error(d, w->n_positions.from, "position table of %g is shorter than the context length %g",
		    w->n_positions.value, w->context.value);
		diag_hint(d, "give a context of at most the table");
	}
	if (w->vocab.value > 0 && w->vocab.value < 256)
		diag_warning(d, w->vocab.from, "vocabulary %g is below 256", w->vocab.value);
	if (w->patch_size.value > 0 && w->image_size.value > 0 && !divides(w->patch_size, w->image_size))
		diag_warning(d, w->patch_size.from, "patches of %g do not cover an image of %g", w->patch_size.value,
		    w->image_size.value);
}

/* Quantised parts that the model has not. */
static void
lint_storage(struct diag *d, const struct workload *w)
{
	const struct quantisation *q = &w->quantisation;
	bool experts = false;

	for (int i = 0; i < w->n_blocks; i++)
		experts = experts || w->blocks[i].moe.given;
	if (q->given && q->quantised == 1u << PART_EXPERTS && !experts) {
		diag_error(d, w->hidden.from, "'only: experts' without experts");
		diag_hint(d, "write 'only: linear'");
	}
}

static void
lint_operators(struct diag *d, const struct workload *w)
{
	for (int i = 0; i < w->n_ops; i++) {
		const struct op *op = &w->ops[i];
		const double c = op->dim[1], k = op->dim[4], groups = op->dim[8];
		if (op->kind == OP_conv2d && (fmod(c, groups) != 0 || fmod(k, groups) != 0))
			diag_error(
			    d, op->from, "%s: %g groups do not divide %g and %g channels", op->name, groups, c, k);
		if (op->count != floor(op->count) || op->count < 1)
			diag_error(d, op->from, "%s has a count of %g: use a whole number", op->name, op->count);
	}
}

/* Published totals are rounded to three digits at best. */
static void
lint_total(struct diag *d, const struct workload *w, double counted_params)
{
	if (!datum_given(w->stated_params) || !(counted_params > 0))
		return;
	const double off = counted_params / w->stated_params.value - 1;
	if (fabs(off) > 0.003) {
		diag_error(d, w->stated_params.from,
		    "the dimensions give %.6g parameters, %+.2f %% off the stated total", counted_params, 100 * off);
		diag_hint(d, "check sizes, vocabulary, biases and tied embeddings");
	}
}

void
lint_workload(struct diag *d, const struct workload *w, double counted_params)
{
	lint_total(d, w, counted_params);
	if (w->kind == MODEL_OPERATORS) {
		lint_operators(d, w);
		return;
	}
	for (int i = 0; i < w->n_encoder_blocks; i++)
		lint_block(d, w, &w->encoder_blocks[i]);
	for (int i = 0; i < w->n_blocks; i++)
		lint_block(d, w, &w->blocks[i]);
	lint_tables(d, w);
	lint_storage(d, w);
}
