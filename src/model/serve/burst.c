/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A benchmark of n requests: its clients all begin at once at a server that has just been started.  Their first
 * prompts wait for one another; the other requests meet what they meet in a run without end.
 */
#include "model/serve/parts.h"

#include "model/serve/serve.h"

/* Steps that take as many prompts as fit; half of the answers are under way beside the middle one. */
void
serve_burst(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_together,
    double cold_s, struct serve_burst *out)
{
	GIVEN(sh, n_together, cold_s);
	TAKE(sh, isl, load->isl * (1 - load->cached_frac));
	CALL(sh, limit, serve_token_limit(sh, s, load));
	EITHER(sh, n_fit, s->engine->chunked, limit / isl, fmax(1, floor(limit / isl)));
	LET(sh, n_own, fmin(n_fit, n_together));
	EITHER(sh, n_beside, n_own < n_together && !s->engine->prefill_first, n_together / 2, 0);
	CALL(sh, prompt_step_s, serve_mixed_step(sh, s, load, n_own, n_beside));
	CALL(sh, front_s, serve_front(sh, s));
	LET(sh, soonest_s, front_s + cold_s + fmax(1, 1 / n_own) * prompt_step_s);
	LET(sh, last_s, front_s + cold_s + n_together / n_own * prompt_step_s);
	*out = (struct serve_burst){n_together, soonest_s, fmax(soonest_s, last_s)};
}

double
serve_burst_first(struct sheet *sh, const struct serve_burst *b)
{
	FROM(sh, b, soonest_s, last_s);
	LET(sh, burst_first_s, (soonest_s + last_s) / 2);
	return burst_first_s;
}

double
serve_run_first(struct sheet *sh, const struct serve_burst *b, double n_requests, double steady_s)
{
	GIVEN(sh, steady_s);
	TAKE(sh, n_asked, n_requests);
	TAKE(sh, n_burst, fmin(b->n, n_requests));
	CALL(sh, burst_first_s, serve_burst_first(sh, b));
	LET(sh, run_first_s, (n_burst * burst_first_s + (n_asked - n_burst) * steady_s) / n_asked);
	return run_first_s;
}

/* The burst's first tokens are spread evenly, all others take the same. */
double
serve_run_quantile(struct sheet *sh, const struct serve_burst *b, double n_requests, double steady_s, double share)
{
	GIVEN(sh, steady_s, share);
	TAKE(sh, n_asked, n_requests);
	FROM(sh, b, soonest_s, last_s);
	TAKE(sh, n_burst, fmin(b->n, n_requests));
	LET(sh, burst_frac, n_burst / n_asked);
	LET(sh, sooner_frac,
	    burst_frac * fmin(1, fmax(0, (steady_s - soonest_s) / fmax(last_s - soonest_s, 1e-9 * last_s))));
	double quantile_s;
	if (share < sooner_frac)
		SET(sh, quantile_s, soonest_s + share / burst_frac * (last_s - soonest_s));
	else if (share <= sooner_frac + 1 - burst_frac)
		SET(sh, quantile_s, steady_s);
	else
		SET(sh, quantile_s, soonest_s + (share - 1 + burst_frac) / burst_frac * (last_s - soonest_s));
	return quantile_s;
}
