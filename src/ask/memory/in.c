/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The card, and bare numbers. */
#include "ask/memory/memory.h"

#include "ask/bind/bind.h"
#include "base/base.h"
#include "cli/cli.h"

#include <string.h>

bool
memory_is_numbers(const struct memory_question *q)
{
	return !q->memory->model.text;
}

/* --- the card -------------------------------------------------------------------------------------------- */

bool
run_card(struct run *r, const struct memory_in *in, struct datum *card, const struct gpu **gpu)
{
	*card = in->gpu_mem;
	*gpu = NULL;
	struct word name;
	if (!run_gpu_name(r, in->gpu, in->system, &name))
		return false;
	if (name.text) {
		*gpu = run_gpu(r, name);
		if (!*gpu)
			return false;
		*card = bind_card(r, *gpu, in->gpu_mem);
	}
	if (datum_given(in->headroom) && in->headroom.value >= 1) {
		diag_error(r->diag, in->headroom.from, "--headroom %g leaves no memory", in->headroom.value);
		diag_hint(r->diag, "write for example 0.2 or 20%%");
		return false;
	}
	if (datum_given(*card) && !(card->value > 0)) {
		diag_error(r->diag, card->from, "the GPU memory must be greater than 0");
		return false;
	}
	return true;
}

/* --- bare numbers ---------------------------------------------------------------------------------------- */

static struct datum
plain(double value)
{
	return (struct datum){value, {inputs_default, 0, 0, NULL, false}};
}

/* Not an assumption: it follows from what was said. */
static struct datum
derived(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* Bytes of a parameter's parts follow from the types: a 16-bit run keeps fp32 masters. */
static void
bytes_per_param(struct run *r, const struct memory_question *q, bool infer, struct memory_numbers *out)
{
	const enum dtype dtype = dtype_find(run_word(r, "dtype", q->memory->dtype));
	const bool wide = dtype == DTYPE_FP32 || dtype == DTYPE_TF32;
	const char *states = q->training->states.text, *gradient = q->training->grad_dtype.text;
	const bool pure = states && strcmp(states, "pure") == 0, fp32 = wide || (states && strcmp(states, "fp32") == 0);
	enum optimizer optimizer;

	out->elem_byte = dtype_byte(dtype);
	out->weight_byte = derived(fp32 ? 4 : 2);
	if (infer) {
		out->weight_byte = derived(out->elem_byte);
		out->gradient_byte = out->master_byte = out->moment_byte = derived(0);
		return;
	}
	memory_optimizer(run_word(r, "optimizer", q->training->optimizer), &optimizer);
	run_reads(r, &q->training->states, &q->training->grad_dtype, NULL);
	out->gradient_byte = derived(gradient ? dtype_byte(dtype_find(gradient)) : out->weight_byte.value);
	out->master_byte = derived(fp32 || pure ? 0 : 4);
	out->n_moments = optimizer_moments(optimizer);
	out->moment_byte = derived(optimizer_moment_byte(optimizer, pure && !fp32));
}

static bool
numbers_whole(struct run *r, const struct memory_question *q)
{
	const struct memory_in *m = q->memory;
	const struct numbers_in *n = q->numbers;

	return run_whole(r, "--batch", m->batch, 1) & run_whole(r, "--global-batch", m->global_batch, 1) &
	    run_whole(r, "--microbatches", m->microbatches, 1) & run_whole(r, "--seq", m->seq, 1) &
	    run_whole(r, "--gpus", m->gpus, 1) & run_whole(r, "--layers", n->layers, 1) &
	    run_whole(r, "--hidden", n->hidden, 1) & run_whole(r, "--heads", n->heads, 1) &
	    run_whole(r, "--head-dim", n->head_dim, 1) & run_whole(r, "--params", n->params, 1);
}

/* Bare numbers know no layers to split. */
static bool
numbers_layout(struct run *r, const struct memory_question *q, struct memory_numbers *out)
{
	struct layout layout;

	if (!run_layout(r, q->layout, q->memory->gpus, NULL, &layout))
		return false;
	if (layout.tp * layout.pp * layout.cp * layout.vp * layout.ep > 1) {
		diag_error(r->diag, q->memory->gpus.from, "--params supports only dp and zero");
		diag_hint(r->diag, "name a model to use tp, pp, cp and ep");
		return false;
	}
	out->n_ranks = layout.shard;
	if (datum_given(q->layout->zero) || q->layout->fsdp || datum_given(q->memory->global_batch))
		run_reads(r, &q->memory->gpus, NULL);
	run_reads(r, &q->layout->zero, &q->layout->fsdp, &q->layout->shard, NULL);
	out->zero = layout.zero;
	if (layout.zero > 0 && layout.shard < 2)
		run_warn(r, "zero=%d shards nothing on one GPU: add --gpus", layout.zero);
	return true;
}

/* A model of layers has at least one vector of the hidden width in each. */
static bool
numbers_size(struct run *r, const struct numbers_in *in)
{
	if (!datum_given(in->params) || !datum_given(in->layers) || !datum_given(in->hidden) ||
	    in->params.value >= in->layers.value * in->hidden.value)
		return true;
	diag_error(r->diag, in->params.from, "%g parameters do not match %g layers of hidden size %g", in->params.value,
	    in->layers.value, in->hidden.value);
	diag_hint(r->diag, "a transformer of this shape has about %.2g",
	    12 * in->layers.value * in->hidden.value * in->hidden.value);
	return false;
}

static bool
numbers_policy(struct run *r, const struct memory_question *q, struct memory_numbers *out)
{
	unsigned modules;

	run_reads(r, &q->training->recompute, NULL);
	if (!memory_recompute(r, &q->training->recompute, &out->recompute, &out->recompute_n, &modules) ||
	    !memory_interval(r, &q->training->recompute, out->recompute_n, q->numbers->layers))
		return false;
	if (out->recompute != RECOMPUTE_MODULES && out->recompute != RECOMPUTE_OP &&
	    (out->recompute != RECOMPUTE_UNIFORM || out->recompute_n == 0))
		return true;
	diag_error(r->diag, q->training->recompute.list[0].from, "--params supports no recomputation by module");
	diag_hint(r->diag, "use none, full, every-2 or sqrt, or name a model");
	return false;
}

/* Ranks that share nothing but the batch and, under ZeRO, the states. */
static bool
numbers_batch(struct run *r, const struct memory_question *q, struct memory_numbers *out)
{
	const struct memory_in *in = q->memory;
	const struct layout l = {.dp = out->n_ranks, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .etp = 1};
	struct batch b = {.seq_length = out->seq};

	out->batch = in->batch;
	if (!datum_given(in->global_batch))
		return true;
	if (!bind_microbatches(r, in, &l, &b))
		return false;
	out->batch = b.n_sequences;
	return true;
}

bool
run_memory_numbers(struct run *r, const struct memory_question *q, struct memory_numbers *out)
{
	const struct memory_in *m = q->memory;
	const bool infer = m->infer || strcmp(m->use.text, "infer") == 0;

	*out = (struct memory_numbers){.n_params = q->numbers->params,
	    .hidden = q->numbers->hidden,
	    .n_layers = q->numbers->layers,
	    .n_heads = q->numbers->heads,
	    .head_dim = q->numbers->head_dim,
	    .activations_byte = q->numbers->activations,
	    .context_byte = datum_absent()};
	run_reads(r, &m->infer, &m->use, NULL);
	if (!memory_says_use(r, m) || !numbers_whole(r, q) || !numbers_size(r, q->numbers) ||
	    !numbers_layout(r, q, out) || !numbers_policy(r, q, out))
		return false;
	bytes_per_param(r, q, infer, out);
	out->seq = datum_given(m->seq) ? m->seq : plain(4096);
	if (!numbers_batch(r, q, out))
		return false;
	out->units12 = strcmp(q->numbers->act_model.text, "simple12") == 0;
	out->flash = q->training->attention.text && strcmp(q->training->attention.text, "flash") == 0;
	if (infer && !datum_given(out->activations_byte))
		out->activations_byte = derived(0);
	unsigned offload;
	if (!memory_offload(r, &q->training->offload, &offload))
		return false;
	if (!infer)
		run_reads(r, &q->training->offload, NULL);
	if (!out->units12)
		run_reads(r, &q->training->attention, &q->numbers->heads, NULL);
	if (!datum_given(out->activations_byte))
		run_reads(r, &q->numbers->act_model, NULL);
	out->offload_optimizer = offload & OFFLOAD_OPTIMIZER;
	if (!out->units12 && !out->flash && !datum_given(out->n_heads) && datum_given(out->hidden)) {
		diag_error(
		    r->diag, q->numbers->act_model.from, "--act-model full needs --heads for the attention scores");
		diag_hint(r->diag, "add --heads, or --attention flash");
		return false;
	}
	return true;
}
