/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequences of a training step.  What does not come out in whole micro-batches is refused: no framework runs it. */
#include "ask/bind/bind.h"
#include "ask/memory/memory.h"
#include "cli/cli.h"
#include "model/layer/layer.h"

static struct datum
derived(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* --- the sequence ---------------------------------------------------------------------------------------- */

static double
usual_sequence(const struct workload *w)
{
	if (w->kind == MODEL_VISION)
		return vision_tokens(NULL, w);
	return datum_given(w->context) ? fmin(4096, w->context.value) : 4096;
}

bool
bind_sequence(struct run *r, struct datum asked, const struct workload *w, double cp, struct datum *out)
{
	if (!run_whole(r, "--seq", asked, 1))
		return false;
	run_read_from(r, asked.from);
	*out = asked;
	if (!datum_given(asked)) {
		*out = derived(usual_sequence(w));
		run_assume_value(r, "seq", "%g", out->value);
	}
	if (datum_given(w->context) && out->value > w->context.value)
		run_warn(r, "%g tokens are more than the model's context of %g", out->value, w->context.value);
	if (fmod(out->value, cp) == 0)
		return true;
	diag_error(r->diag, out->from, "%g tokens cannot be divided over cp=%g", out->value, cp);
	diag_hint(r->diag, "the nearest that can be: %g tokens", cp * fmax(1, floor(out->value / cp + 0.5)));
	return false;
}

/* --- the batch ------------------------------------------------------------------------------------------- */

/* Only products of what is said can be a global batch. */
static bool
refuse(struct run *r, const struct memory_in *in, const struct batch_said *said, double dp)
{
	const bool both = said->n_sequences > 0 && said->n_microbatches > 0;
	const double global = said->n_global_sequences, n_sequences = fmax(1, said->n_sequences);
	const double unit = dp * n_sequences * fmax(1, said->n_microbatches);
	const double below = unit * floor(global / unit), above = unit * ceil(global / unit);

	if (said->n_microbatches > 0)
		diag_error(r->diag, in->global_batch.from,
		    "a global batch of %g is not %sdp %g x %g micro-batches of %g", global,
		    both ? "" : "a multiple of ", dp, said->n_microbatches, n_sequences);
	else
		diag_error(r->diag, in->global_batch.from,
		    "a global batch of %g is not a multiple of dp %g x micro-batch %g", global, dp, n_sequences);
	if (both || !(below > 0))
		diag_hint(r->diag, "the nearest is %g", unit);
	else
		diag_hint(r->diag, "the nearest are %g and %g", above, below);
	return false;
}

bool
bind_batch(
    struct run *r, const struct memory_in *in, const struct workload *w, const struct layout *l, struct batch *out)
{
	return bind_sequence(r, in->seq, w, l->cp, &out->seq_length) && bind_microbatches(r, in, l, out);
}

bool
bind_microbatches(struct run *r, const struct memory_in *in, const struct layout *l, struct batch *out)
{
	const bool says_batch = in->batch.from.file != inputs_default;
	struct batch_said settled;

	if (!(run_whole(r, "--batch", in->batch, 1) & run_whole(r, "--microbatches", in->microbatches, 1) &
	        run_whole(r, "--global-batch", in->global_batch, 1)))
		return false;
	run_reads(r, &in->batch, &in->microbatches, &in->global_batch, NULL);
	out->said = (struct batch_said){
	    says_batch ? in->batch.value : 0, datum_or(in->microbatches, 0), datum_or(in->global_batch, 0)};
	if (!batch_settle(&out->said, out->seq_length.value, l, &settled))
		return refuse(r, in, &out->said, l->dp);
	out->n_sequences = says_batch ? in->batch : derived(settled.n_sequences);
	out->n_microbatches = datum_given(in->microbatches) ? in->microbatches : derived(settled.n_microbatches);
	out->n_global_sequences =
	    datum_given(in->global_batch) ? in->global_batch : derived(settled.n_global_sequences);
	/* the third of the three follows from two that are said */
	if (!says_batch && !(out->said.n_microbatches > 0 && out->said.n_global_sequences > 0))
		run_assume_value(r, "batch", "%g", settled.n_sequences);
	if (!datum_given(in->microbatches) && !datum_given(in->global_batch))
		run_assume_value(r, "microbatches", "%g", settled.n_microbatches);
	return true;
}
