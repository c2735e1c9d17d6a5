/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernels of a GPU in one struct: the fits of the GPU and of the engine laid over each other, and for what nobody
 * measured another GPU's, by the rules of hwdb/transfers.
 */
#include "cli/command.h"

#include "data/database.h"
#include "data/transfer.h"

#include <string.h>

static const char *const engines[] = {"trtllm", "vllm", "sglang"};
enum { N_ENGINES = sizeof engines / sizeof *engines };

/* --- what one GPU has ------------------------------------------------------------------------------------ */

/* Types that `to` has no fit for. */
static void
add_types(struct calibration *to, const struct calibration *from)
{
	for (int t = 0; t < N_DTYPES; t++) {
		if (!(to->gemm[t].peak_flop_per_s.value > 0))
			to->gemm[t] = from->gemm[t];
		if (!(to->weight_only[t].peak_flop_per_s.value > 0))
			to->weight_only[t] = from->weight_only[t];
		if (!(to->moe[t].peak_flop_per_s.value > 0))
			to->moe[t] = from->moe[t];
	}
	to->has_gemm = to->has_gemm || from->has_gemm;
}

static void
add_attention(struct calibration *to, const struct calibration *from)
{
	if (!to->has_context) {
		to->has_context = from->has_context;
		to->context = from->context;
	}
	if (!to->has_generation) {
		to->has_generation = from->has_generation;
		to->generation = from->generation;
	}
	if (!to->has_mla_context) {
		to->has_mla_context = from->has_mla_context;
		to->mla_context = from->mla_context;
	}
	if (!to->has_mla_generation) {
		to->has_mla_generation = from->has_mla_generation;
		to->mla_generation = from->mla_generation;
	}
	for (int i = 0; i < N_ATTENTION_FITS; i++) {
		struct attention_calibration *a = &to->attention_by[i];
		const struct attention_calibration *b = &from->attention_by[i];

		if (!a->has_context) {
			a->has_context = b->has_context;
			a->context = b->context;
		}
		if (!a->has_generation) {
			a->has_generation = b->has_generation;
			a->generation = b->generation;
		}
	}
}

static void
add_links(struct calibration *to, const struct calibration *from)
{
	for (int i = 0; i < N_COLLECTIVES; i++)
		if (!to->has_collective[i]) {
			to->has_collective[i] = from->has_collective[i];
			to->collective[i] = from->collective[i];
		}
	if (to->n_custom == 0) {
		to->n_custom = from->n_custom;
		memcpy(to->custom, from->custom, sizeof to->custom);
	}
}

/* Everything that `to` lacks and `from` has; the two must be of the same reference figures. */
static void
add(struct calibration *to, const struct calibration *from)
{
	if (!from)
		return;
	add_types(to, from);
	add_attention(to, from);
	add_links(to, from);
	if (to->memory.n_levels == 0)
		to->memory = from->memory;
	if (!to->has_launch) {
		to->has_launch = from->has_launch;
		to->launch = from->launch;
	}
}

static double
prefill_rate(struct run *r, const char *gpu, int engine)
{
	const struct calibration *c = run_calibration(r, gpu, engines[engine]);

	return c && c->has_context ? c->context.flop_per_s.value : 0;
}

/* The engine whose prefill is neither the fastest nor the slowest: where nobody names one. */
static int
middle_engine(struct run *r, const char *gpu)
{
	const double rate[N_ENGINES] = {prefill_rate(r, gpu, 0), prefill_rate(r, gpu, 1), prefill_rate(r, gpu, 2)};

	for (int i = 0; i < N_ENGINES; i++) {
		const double a = rate[(i + 1) % N_ENGINES], b = rate[(i + 2) % N_ENGINES];

		if (rate[i] > 0 && (rate[i] - a) * (rate[i] - b) <= 0)
			return i;
	}
	return 0;
}

/* The GPU's own fits under this engine; of the others what only they have. */
static struct calibration *
own_kernels(struct run *r, const char *gpu, const char *backend)
{
	const struct calibration *base = run_calibration(r, gpu, NULL);
	const char *first = backend ? backend : engines[middle_engine(r, gpu)];
	const struct calibration *engine = run_calibration(r, gpu, first);

	const struct calibration *start = engine ? engine : base;

	if (!start)
		return NULL;
	struct calibration *out = ARENA_NEW(r->arena, struct calibration);
	*out = *start;
	out->backend = backend;
	add(out, base);
	for (int i = 0; i < N_ENGINES && !backend; i++)
		add(out, run_calibration(r, gpu, engines[i]));
	if (base) {
		out->n_residuals = base->n_residuals;
		out->residuals = base->residuals;
	}
	if (base && engine) {
		/* what was predicted is named in one list */
		struct residual *all =
		    ARENA_ARRAY(r->arena, struct residual, (size_t)(base->n_residuals + engine->n_residuals + 1));
		for (int k = 0; k < engine->n_residuals; k++)
			all[k] = engine->residuals[k];
		for (int k = 0; k < base->n_residuals; k++)
			all[engine->n_residuals + k] = base->residuals[k];
		out->residuals = all;
		out->n_residuals = base->n_residuals + engine->n_residuals;
	}
	return out;
}

/* --- transfer -------------------------------------------------------------------------------------------- */

static struct calibration *
transferred(struct run *r, const struct gpu *gpu, const char *backend)
{
	const struct transfer *rule = database_transfer(r->database, r->arena, r->diag, gpu);
	const struct calibration *donor = NULL;
	const struct gpu *donor_gpu = NULL;
	const char *ignored;

	if (!rule)
		return NULL;
	if (rule->from) {
		donor = own_kernels(r, rule->from, backend);
		donor_gpu = database_gpu(r->database, rule->from, NULL, (struct source){0}, &ignored);
		if (!donor || !donor_gpu)
			return NULL;
	}
	struct calibration *out = ARENA_NEW(r->arena, struct calibration);
	transfer_calibration(rule, donor, donor_gpu, gpu, out);
	out->backend = backend;
	out->transfer_note =
	    arena_printf(r->arena, "transferred from %s, expected error %s", out->transferred_from, rule->expected);
	return out;
}

/* Every kind of kernel that a model may ask for. */
static bool
is_whole(const struct calibration *c)
{
	return c->has_gemm && c->has_context && c->has_generation;
}

const struct calibration *
run_kernels(struct run *r, const struct gpu *gpu, const char *backend)
{
	struct calibration *own = own_kernels(r, gpu->id, backend);

	if (own && is_whole(own))
		return own;
	struct calibration *donated = transferred(r, gpu, backend);
	if (own && donated) {
		/* the fits that there are come first, and what they lack is another GPU's */
		add(own, donated);
		own->transferred_from = donated->transferred_from;
		own->transfer_note = donated->transfer_note;
		own->transfer_sigma = donated->transfer_sigma;
		return own;
	}
	return own ? own : donated;
}
