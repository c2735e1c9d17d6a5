/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ask/serve/serve.h"

#include <string.h>

const char *
serve_error_kind(const struct serve_question *q)
{
	static const char *const kinds[] = {[SERVE_OFFLINE] = "offline",
	    [SERVE_CLOSED] = "online",
	    [SERVE_ONLINE] = "online",
	    [SERVE_STATIC] = "static",
	    [SERVE_PROMPT] = "ttft",
	    [SERVE_ENCODE] = "encoder"};

	if (q->regime == SERVE_STATIC && q->load.osl <= 1)
		return "ttft";
	if (q->regime == SERVE_STATIC && q->n_batch <= 1)
		return "batch1";
	if (q->regime == SERVE_PROMPT && q->setup->engine->unfused.n_kernels.value > 0)
		return "prompt";
	return kinds[q->regime];
}

/* How the engine's published runs of this kind lay around the model. */
static const struct engine_residual *
residual_for(const struct serve_question *q)
{
	const struct engine *e = q->setup->engine;
	const char *kind = serve_error_kind(q);

	for (int i = 0; i < e->n_residuals; i++)
		if (strcmp(e->residuals[i].kind, kind) == 0)
			return &e->residuals[i];
	return e->n_residuals > 0 ? &e->residuals[0] : NULL;
}

/* Of a normal error, the median is 0.6745 sigma and the mean 0.7979 sigma.  Errors have longer tails than that: both
 * count alike. */
static double
sigma_of(const struct engine_residual *e, double otherwise)
{
	if (!e)
		return otherwise;
	const double mean = e->mape_frac.value / 0.7979;
	return datum_given(e->median_frac) ? (mean + e->median_frac.value / 0.6745) / 2 : mean;
}

/* Beside runs without a reason for doubt, those with one lay so much farther away. */
static const double doubt = 1.8;

struct serve_errors
serve_errors_of(struct run *r, const struct serve_question *q, const struct calibration *fitted, bool doubted)
{
	const struct uncertainty *u = run_uncertainty(r, "serve");
	const struct engine_residual *e = residual_for(q);
	struct serve_errors s = {.terms = {.widening = datum_or(u->conformal, 1)}};

	s.terms.stack_sigma = sigma_of(e, datum_or(u->sigma, 0.2));
	/* encoders and engines that split layers were met on many GPUs whose kernels are other GPUs' */
	const enum engine_kind kind = q->setup->engine->kind;
	if (fitted && fitted->transferred_from && kind != ENGINE_ENCODER && kind != ENGINE_LAYER_SPLIT)
		s.terms.transfer_sigma = fitted->transfer_sigma.gemm;
	if (doubted)
		s.terms.widening *= doubt;
	s.why = e ? "published runs of this engine" : "no published runs of this engine";
	return s;
}
