/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steps of a replica as a Markov chain: the prompts that wait when a step begins, beside a number of sequences that
 * decode.  A step takes as many as fit, lasts as long as they make it, and meanwhile a Poisson number of others
 * arrives.
 */
#include "model/serve/parts.h"

enum {
	PIECES = 4, /* of what a step takes, at least, where prompts are cut */
	ROUNDS = 600,
	FOLLOWED = 60, /* steps of an answer that are followed one by one */
};

/* Prompts that a step takes beside n_decoding tokens, at most. */
static double
prompts_fitting(const struct serve_setup *s, const struct serve_load *l, double n_decoding)
{
	const double isl = l->isl * (1 - l->cached_frac);
	const double fit = fmax(serve_token_limit(NULL, s, l) - n_decoding * (1 + l->n_drafts), 1) / isl;

	return s->engine->chunked ? fit : fmax(1, floor(fit));
}

double
chain_time(const struct chain *c, double n_prompts)
{
	double sum_s = 0;

	for (int i = 0; i < POINTS; i++)
		if (c->part[i] > 0)
			sum_s += c->part[i] * serve_mixed_step(NULL, c->setup, c->load, n_prompts, c->n[i]);
	return sum_s;
}

void
chain_points(struct chain *c, double n_self, double n, double variance)
{
	const double reach = sqrt(3 * variance);

	c->n[1] = n_self + n;
	if (!(variance > 0)) {
		c->part[0] = c->part[2] = 0;
	} else if (reach < n) {
		c->n[0] = n_self + n - reach;
		c->n[2] = n_self + n + reach;
		c->part[0] = c->part[2] = 1.0 / 6;
	} else {
		c->n[0] = n_self;
		c->n[2] = n_self + n + variance / n;
		c->part[0] = variance / (variance + n * n);
		c->part[2] = 1 - c->part[0];
	}
	c->part[1] = 1 - c->part[0] - c->part[2];
}

void
chain_knots(struct chain *c)
{
	static const double usual[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128};

	c->n_fit = prompts_fitting(c->setup, c->load, c->n[1]);
	c->n_pieces = c->setup->engine->chunked && c->n_fit < PIECES ? (int)fmin(64, ceil(PIECES / c->n_fit)) : 1;
	c->most = c->n_fit * c->n_pieces;
	c->n_knots = 0;
	for (size_t i = 0; i < sizeof usual / sizeof *usual && (i == 0 || usual[i] < c->most); i++)
		c->knot[c->n_knots++] = usual[i];
	c->knot[c->n_knots++] = c->most;
	for (int i = 0; i < c->n_knots; i++)
		c->knot_s[i] = chain_time(c, c->knot[i] / c->n_pieces);
}

/* Straight between the knots. */
static double
time_at(const struct chain *c, double n_pieces)
{
	int i = 1;

	while (i < c->n_knots - 1 && n_pieces > c->knot[i])
		i++;
	const double part = (n_pieces - c->knot[i - 1]) / (c->knot[i] - c->knot[i - 1]);
	return c->knot_s[i - 1] + part * (c->knot_s[i] - c->knot_s[i - 1]);
}

/* The most prompts per second that ever get through. */
static double
prompt_limit(const struct chain *c)
{
	return c->n_fit / c->knot_s[c->n_knots - 1];
}

/* --- the stationary distribution ------------------------------------------------------------------------- */

/* Pieces that wait on average, were arrivals regular; and about how far they spread. */
static void
guess(const struct chain *c, double *mean, double *spread)
{
	double n = 0;

	for (int i = 0; i < 30; i++)
		n = fmin(c->most, c->rate_per_s * c->n_pieces * time_at(c, n));
	const double slope_s = time_at(c, fmin(n + 1, c->most)) - time_at(c, fmax(0, fmin(n + 1, c->most) - 2)),
	             full = c->rate_per_s / prompt_limit(c),
	             gain = fmin(0.97, fmax(full, slope_s / 2 * c->rate_per_s * c->n_pieces));
	*mean = n;
	*spread = sqrt(fmax(n, c->n_pieces) * c->n_pieces / (1 - gain * gain)) +
	    (n > 0.6 * c->most ? 0.15 * c->most / (1 - gain) : 0);
}

/* What is left of q pieces after a step.  A rest of less than one takes a step of its own. */
static double
rest_of(const struct chain *c, int q)
{
	const double rest = q - c->most;

	return rest <= 1e-9 ? 0 : fmax(1, rest);
}

/* Prompt chunks waiting, begun prompts included. */
static double
prompts_in(const struct chain *c, int pieces)
{
	return ceil((double)pieces / c->n_pieces - 1e-9);
}

/* Add `share` of the steps that begin with q pieces to where the next ones begin. */
static void
pass_on(const struct chain *c, int q, double share, double *next)
{
	const int last = c->n_states - 1;
	const double rest = rest_of(c, q), x = c->n_arriving[q];
	const int whole = (int)rest;
	const double part = rest - whole;
	double p = share * c->none[q], left = share;

	for (int k = 0;; k++) {
		const int to = whole + k * c->n_pieces;
		if (to >= last || (k > x && p < 1e-12 * share))
			break;
		next[to] += (1 - part) * p;
		next[to + 1] += part * p;
		left -= p;
		p *= x / (k + 1);
	}
	next[last] += fmax(0, left);
}

static void
settle(struct chain *c)
{
	double before = -1;

	for (int round = 0; round < ROUNDS; round++) {
		double next[MOST_STATES] = {0}, mean = 0, sum = 0;
		for (int q = 0; q < c->n_states; q++)
			if (c->share[q] > 1e-13)
				pass_on(c, q, c->share[q], next);
		for (int q = 0; q < c->n_states; q++)
			sum += next[q];
		for (int q = 0; q < c->n_states; q++) {
			c->share[q] = next[q] / sum;
			mean += q * c->share[q];
		}
		if (fabs(mean - before) <= 1e-6 * (mean + 1e-4))
			return;
		before = mean;
	}
}

static void
set_steps(struct chain *c, double usual_s)
{
	for (int q = 0; q < c->n_states; q++) {
		const double rest = rest_of(c, q), part = rest - floor(rest);
		c->step_s[q] = time_at(c, fmin(q, c->most));
		/* a replica that only prefills has no steps without prompts: it waits for the next one */
		if (q == 0 && !(c->load->osl > 1))
			c->step_s[q] = 0;
		c->n_arriving[q] = c->rate_per_s * (c->random_frac * c->step_s[q] + (1 - c->random_frac) * usual_s);
		c->none[q] = exp(-c->n_arriving[q]);
		c->n_ending[q] =
		    prompts_in(c, q) - (1 - part) * prompts_in(c, (int)rest) - part * prompts_in(c, (int)rest + 1);
	}
}

/* --- what requests meet ---------------------------------------------------------------------------------- */

/* The mean step of an answer: the first ones follow its own prompt, with whoever came meanwhile. */
static double
followed(const struct chain *c, double n_steps)
{
	double at[MOST_STATES] = {0}, sum_s = 0, sum = 0;
	int n = 0;

	for (int q = 1; q < c->n_states; q++)
		if (c->share[q] > 1e-13)
			pass_on(c, q, c->share[q] * c->n_ending[q], at);
	for (int q = 0; q < c->n_states; q++)
		sum += at[q];
	for (; n < (int)fmin(n_steps, FOLLOWED); n++) {
		double next[MOST_STATES] = {0}, mean_s = 0;
		for (int q = 0; q < c->n_states; q++) {
			mean_s += at[q] / sum * c->step_s[q];
			if (at[q] > 1e-12 * sum)
				pass_on(c, q, at[q], next);
		}
		sum_s += mean_s;
		if (n > 1 && fabs(mean_s - c->mean_s) < 1e-4 * c->mean_s) {
			n++;
			break;
		}
		sum = 0;
		for (int q = 0; q < c->n_states; q++)
			sum += at[q] = next[q];
	}
	return (sum_s + fmax(0, n_steps - n) * c->mean_s) / fmax(n_steps, n);
}

static void
set_means(struct chain *c)
{
	double all_s = 0, prompts = 0, area = 0, ending = 0, ending_s = 0, ending_n = 0, busy = 0;

	for (int q = 0; q < c->n_states; q++) {
		const double share = c->share[q], s = c->step_s[q], n = fmin(q, c->most) / c->n_pieces;
		all_s += share * s;
		busy += q ? share : 0;
		prompts += share * n;
		area += share * s * (prompts_in(c, q) + c->rate_per_s * c->random_frac * s / 2);
		ending += share * c->n_ending[q];
		ending_s += share * c->n_ending[q] * s;
		ending_n += share * c->n_ending[q] * n;
	}
	c->mean_s = all_s;
	c->prompt_frac = busy;
	c->n_together = busy > 0 ? prompts / busy : 1;
	c->own_s = ending > 0 ? ending_s / ending : c->knot_s[c->n_knots - 1];
	c->n_own = ending > 0 ? ending_n / ending : fmin(1, c->n_fit);
	/* time that passes while nothing runs */
	if (!(c->load->osl > 1) && c->rate_per_s > 0)
		all_s += c->share[0] / c->rate_per_s;
	/* prompts that are there on average, over those that arrive (Little) */
	c->wait_s = fmax(0, area / all_s / c->rate_per_s - c->own_s);
}

/* Many prompts in every step: about their mean, which is all that matters then. */
static void
solve_many(struct chain *c, double mean)
{
	const double s = time_at(c, mean), slope_s = time_at(c, mean + 1) - s,
	             gain = fmin(0.97, c->rate_per_s * c->n_pieces * slope_s),
	             spread = mean * c->n_pieces / (1 - gain * gain);

	c->mean_s = c->decode_s = s;
	c->prompt_frac = 1;
	c->n_together = mean / c->n_pieces;
	c->n_own = fmin(c->n_fit, c->n_together + spread / mean / c->n_pieces);
	c->own_s = time_at(c, c->n_own * c->n_pieces);
	const double square = s * s + slope_s * slope_s * spread,
	             area = (s * mean + slope_s * spread) / c->n_pieces + c->random_frac * c->rate_per_s * square / 2;
	c->wait_s = fmax(0, area / s / c->rate_per_s - c->own_s);
}

bool
chain_solve(struct chain *c, double rate_per_s, double random_frac)
{
	double mean, spread;

	c->rate_per_s = rate_per_s;
	c->random_frac = random_frac;
	if (!(rate_per_s < 0.9995 * prompt_limit(c)))
		return false;
	guess(c, &mean, &spread);
	const double states = ceil(mean + 8 * spread + 8 * c->n_pieces) + 1;
	if (states > MOST_STATES && mean > MOST_STATES / 4.0 && mean + 4 * spread < c->most) {
		solve_many(c, mean);
		return true;
	}
	const int before = c->n_states;
	c->n_states = (int)fmin(MOST_STATES, states);
	for (int q = before; q < c->n_states; q++)
		c->share[q] = 0;
	if (!before)
		c->share[(int)fmin(mean, c->n_states - 1)] = 1;
	for (int i = 0; i < (random_frac < 1 ? 3 : 1); i++) {
		set_steps(c, i ? c->mean_s : time_at(c, mean));
		settle(c);
		set_means(c);
	}
	const double n_steps = serve_decode_steps(NULL, c->load);
	if (n_steps > 0)
		c->decode_s =
		    c->setup->engine->prefill_first ? c->mean_s / fmax(1e-3, c->share[0]) : followed(c, n_steps);
	return true;
}
