/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The arithmetic of a model: of a token, of a sample, and as publications count it. */
#include "ask/model/model.h"
#include "model/layer/layer.h"

#include <string.h>

static double
tokens_of(struct run *r, const struct model_in *in, const struct workload *w)
{
	const double held = datum_or(w->context, INFINITY);

	run_reads(r, &in->seq, NULL);
	if (datum_given(in->seq)) {
		if (in->seq.value > held)
			run_warn(r, "%g tokens are more than the model's context of %g", in->seq.value, held);
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
		run_warn(r, "FLOP are not counted: the file does not say %s", missing);
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
	const char *const megascale = "its table counts attention over windows of a width that it does not print";

	if (!name.text)
		return true;
	run_reads(r, &in->convention, NULL);
	const bool all = strcmp(name.text, "all") == 0;
	const enum convention c = convention_find(name.text);
	if (!all && c == CONVENTION_NONE)
		return refuse_convention(r, name, strcmp(name.text, "megascale") == 0 ? megascale : "it is not known");
	const char *why = all ? NULL : convention_refusal(c, w);
	if (why)
		return refuse_convention(r, name, why);
	const double seq_token = tokens_of(r, in, w);
	for (enum convention i = 0; i < N_CONVENTIONS; i++)
		if ((all || i == c) && !convention_refusal(i, w))
			show_convention(r, i, w, seq_token);
	return true;
}

/* Convolutions and matrix products first, as published counts have nothing else; returns how many. */
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

bool
model_show_work(struct run *r, const struct model_in *in, const struct workload *w)
{
	if (model_is_causal(w) || w->kind == MODEL_ENCODER)
		show_token_work(r, in, w);
	else
		show_sample_work(r, in, w);
	return show_conventions(r, in, w);
}
