/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speculative decoding after Leviathan, Kalman and Matias, ICML 2023 (arXiv:2211.17192), and Chen et al.,
 * arXiv:2302.01318.  Acceptances are taken to be independent and equally likely at every place.
 */
#include "model/calc/calc.h"

#include "base/base.h"

/* Equation 1 of Leviathan et al.: a geometric series, cut after the token that the verifying pass adds. */
double
draft_tokens(struct sheet *sh, double accept_frac, double n_drafts)
{
	GIVEN(sh, accept_frac, n_drafts);
	EITHER(sh, step_token, accept_frac < 1, (1 - pow(accept_frac, n_drafts + 1)) / (1 - accept_frac), n_drafts + 1);
	return step_token;
}

double
draft_tokens_accepted(struct sheet *sh, double n_accepted)
{
	GIVEN(sh, n_accepted);
	LET(sh, step_token, n_accepted + 1);
	return step_token;
}

double
draft_step(struct sheet *sh, const struct draft_cost *c, double n_drafts)
{
	GIVEN(sh, n_drafts);
	TAKE(sh, draft_s, c->draft_s);
	const struct datum verify = datum_given(c->verify_s) ? c->verify_s : c->target_s;
	TAKE(sh, verify_s, verify);
	TAKE(sh, overhead_s, datum_or(c->overhead_s, 0));
	LET(sh, step_s, n_drafts * draft_s + verify_s + overhead_s);
	return step_s;
}

/* Theorem 3.8 of Leviathan et al. */
double
draft_speedup(struct sheet *sh, const struct draft_cost *c, double accept_frac, double n_drafts)
{
	GIVEN(sh, accept_frac, n_drafts);
	TAKE(sh, target_s, c->target_s);
	CALL(sh, step_token, draft_tokens(sh, accept_frac, n_drafts));
	CALL(sh, step_s, draft_step(sh, c, n_drafts));
	LET(sh, speculative_token_per_s, step_token / step_s);
	LET(sh, plain_token_per_s, 1 / target_s);
	LET(sh, speedup, speculative_token_per_s / plain_token_per_s);
	return speedup;
}

double
draft_limit(struct sheet *sh, const struct draft_cost *c, double n_drafts)
{
	GIVEN(sh, n_drafts);
	TAKE(sh, all_frac, 1);
	CALL(sh, speedup, draft_speedup(sh, c, all_frac, n_drafts));
	return speedup;
}

/* --- searches -------------------------------------------------------------------------------------------- */

double
draft_best(const struct draft_cost *c, double accept_frac, double n_most)
{
	double best = 0, most = 1;

	for (double n = 1; n <= n_most; n++) {
		const double speedup = draft_speedup(NULL, c, accept_frac, n);
		if (speedup > most) {
			most = speedup;
			best = n;
		}
	}
	return best;
}

struct wanted {
	const struct draft_cost *cost; /* NULL: tokens alone */
	double n_drafts, value;
};

static double
excess(double accept_frac, const void *context)
{
	const struct wanted *w = context;

	return (w->cost ? draft_speedup(NULL, w->cost, accept_frac, w->n_drafts)
	                : draft_tokens(NULL, accept_frac, w->n_drafts)) -
	    w->value;
}

/* Both grow with the acceptance. */
static double
acceptance_for(const struct wanted *w)
{
	double root;

	if (excess(0, w) > 0 || excess(1, w) < 0)
		return NAN;
	return num_root(excess, w, 0, 1, &root) ? root : NAN;
}

double
draft_break_even(const struct draft_cost *c, double n_drafts)
{
	const struct wanted w = {c, n_drafts, 1};

	return acceptance_for(&w);
}

double
draft_acceptance(double tokens_per_step, double n_drafts)
{
	const struct wanted w = {NULL, n_drafts, tokens_per_step};

	return acceptance_for(&w);
}
