/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A replica at which requests arrive at random, followed step by step.
 *
 * Beside a number of sequences that decode, the prompts that wait when a step begins are a Markov chain: the step takes
 * as many as fit, lasts as long as they make it, and meanwhile a Poisson number of others arrives.  Its stationary
 * distribution says how long steps last on average (the mean of their times, not the time of the mean step: one prompt
 * lights up nearly all experts of a mixture), how long a prompt waits, and what a sequence meets while it decodes.  How
 * many decode follows by Little's law.  Where their number is limited, by the cache or by the engine, requests that
 * wait for a place are the queue of a birth-and-death process.
 *
 * After the queue of a polling system with gated service (Takagi, Queueing Analysis, 1991) and processor sharing with
 * a state-dependent rate (Cohen, Acta Informatica 12, 1979).  Departs from both: requests are all alike, and the number
 * that decodes is taken as constant while prompts come and go.  Short answers of heavy prompts close to the most that
 * the replica takes are where that fails first.
 */
#include "model/serve/parts.h"

#include "model/serve/serve.h"

enum {
	POINTS = 3,
	MOST_STATES = 256,
	MOST_KNOTS = 14,
	PIECES = 4, /* of what a step takes, at least, where prompts are cut */
	ROUNDS = 600,
	OUTER_ROUNDS = 60,
	PATIENCE = 12,
	FOLLOWED = 60, /* steps of an answer that are followed one by one */
	MOST_PLACES = 1 << 20,
};

static const double STEEPEST = 0.9; /* the more it wants per sequence: steps that grow as fast as what runs diverge */

/* Prompts beside n_decoding sequences, in pieces of 1 / n_pieces prompts: engines that cut prompts fill steps. */
struct chain {
	const struct serve_setup *setup;
	const struct serve_load *load;
	double n[POINTS], part[POINTS]; /* sequences that decode: three points with their mean and variance */
	double n_fit;                   /* prompts of a step, at most */
	int n_pieces;
	double most; /* pieces of a step */
	int n_knots;
	double knot[MOST_KNOTS], knot_s[MOST_KNOTS];

	double rate_per_s,
	    random_frac; /* random_frac: arrivals in proportion to time; the others come with a step's end */
	int n_states;
	double share[MOST_STATES]; /* of steps that begin with n pieces */
	double step_s[MOST_STATES], n_arriving[MOST_STATES], n_ending[MOST_STATES];

	double mean_s, prompt_frac, n_together;
	double wait_s, own_s, n_own; /* of a prompt: until its last step begins, that step, prompts in it */
	double decode_s;             /* mean step of an answer that decodes */
};

/* --- steps ----------------------------------------------------------------------------------------------- */

/* Prompts that a step takes beside n_decoding tokens, at most. */
static double
prompts_fitting(const struct serve_setup *s, const struct serve_load *l, double n_decoding)
{
	const double isl = l->isl * (1 - l->cached_frac);
	const double fit = fmax(serve_token_limit(NULL, s, l) - n_decoding * (1 + l->n_drafts), 1) / isl;

	return s->engine->chunked ? fit : fmax(1, floor(fit));
}

/* The mean of a step's time over the number that decodes: where kernels change their tiles it jumps. */
static double
time_of(const struct chain *c, double n_prompts)
{
	double sum_s = 0;

	for (int i = 0; i < POINTS; i++)
		if (c->part[i] > 0)
			sum_s += c->part[i] * serve_mixed_step(NULL, c->setup, c->load, n_prompts, c->n[i]);
	return sum_s;
}

/* One and n others with this variance: by the nodes of Gauss and Hermite, or, few of them, none and one more. */
static void
set_points(struct chain *c, double n_self, double n, double variance)
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

static void
set_knots(struct chain *c)
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
		c->knot_s[i] = time_of(c, c->knot[i] / c->n_pieces);
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
	double p = share * exp(-x), left = share;

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

/* False when prompts come faster than they get through. */
static bool
solve(struct chain *c, double rate_per_s, double random_frac)
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

/* --- places ---------------------------------------------------------------------------------------------- */

/* How long a request holds a place, by how many hold one: straight between few, as many as usual, and all. */
struct stay {
	double n_usual, usual_s, n_most, most_s;
};

static double
stay_at(const struct stay *t, double n)
{
	const double part = fmax(-0.9, (n - t->n_usual) / fmax(t->n_most - t->n_usual, 1e-9));

	return t->usual_s + part * (t->most_s - t->usual_s);
}

/* Lengths are all alike: their queue over that of exponential ones (Cosmetatos, European Journal of Operational
 * Research 1, 1977), for n places of which a part is taken on average. */
static double
alike(double n, double taken_frac)
{
	const double more = (1 - taken_frac) * (n - 1) * (sqrt(4 + 5 * n) - 2) / (16 * n * taken_frac);

	return fmin(1, (1 + more) / 2);
}

/* Mean wait for one of n_most places: the stationary distribution of a process in which one more comes at a constant
 * rate, and n of them leave n times as fast as one. */
static double
place_wait(const struct stay *t, double rate_per_s)
{
	const double load = rate_per_s * t->most_s / t->n_most, ratio = fmin(load, 0.999);
	const double reach = 12 * sqrt(t->n_usual + 1) + 12;
	const double first = floor(fmax(0, t->n_usual - reach));
	double weight = 1, sum = 1;

	if (t->n_most - first > MOST_PLACES)
		return 0;
	for (double n = first + 1; n <= t->n_most; n++) {
		weight *= rate_per_s * stay_at(t, n - 1) / n;
		sum += weight;
		if (sum > 1e200) {
			weight /= sum;
			sum = 1;
		}
	}
	const double queue = weight * ratio / (1 - ratio) / (1 - ratio) / (sum + weight * ratio / (1 - ratio));
	return queue / rate_per_s * alike(t->n_most, ratio);
}

static double
places_of(const struct serve_setup *s, const struct serve_load *load)
{
	struct serve_load endless = *load;

	endless.n_requests = endless.n_concurrent = datum_absent();
	return serve_running(NULL, s, &endless);
}

static double
stay_of(const struct chain *c)
{
	return c->own_s + (c->load->osl > 1 ? serve_decode_steps(NULL, c->load) * c->decode_s : 0);
}

/* --- together -------------------------------------------------------------------------------------------- */

/* Who sends requests: n clients that wait for their answers and then think, or infinitely many. */
struct senders {
	double n, think_s;
};

static bool
is_open(const struct senders *from)
{
	return isinf(from->n);
}

/* The chance that nobody else is there, when each of the others is for this part of the time. */
static double
nobody(const struct senders *from, double n_others)
{
	if (is_open(from))
		return exp(-n_others);
	return from->n > 1.001 ? pow(fmax(0, 1 - n_others / (from->n - 1)), from->n - 1) : 1;
}

/* Variance of a number of sequences over that of as many that come at random: clients that never think are always
 * there. */
static double
varying(const struct senders *from, double stay_s)
{
	return is_open(from) ? 1 : from->think_s / (from->think_s + stay_s);
}

/* One that decodes, and n others. */
static void
set_decoding(struct chain *c, const struct senders *from, double n)
{
	const double stay_s = serve_decode_steps(NULL, c->load) * (c->decode_s > 0 ? c->decode_s : 0.02);

	set_points(c, 1, n, n * varying(from, stay_s));
	set_knots(c);
}

/* Arrivals that come whenever they like; without a pause they come when a step has ended. */
static double
random_part(const struct chain *c, const struct senders *from)
{
	return is_open(from) ? 1 : -expm1(-from->think_s / time_of(c, 0));
}

/* Where n and what it wants would meet, were both lines through this pair and the last. */
static double
meeting(double n, double wanted, double last_n, double last_wanted)
{
	const double slope = (wanted - last_wanted) / (n - last_n);

	return slope < STEEPEST ? n + (wanted - n) / (1 - slope) : wanted;
}

/* Sequences that decode beside one that does, so that as many come as leave.  False: there is no such number. */
static bool
balance(struct chain *c, const struct senders *from, double others_per_s, double *n_beside)
{
	const double n_steps = serve_decode_steps(NULL, c->load);
	double n = 0, few = 0, many = INFINITY, last_n = 0, last_wanted = 0;

	for (int i = 0; i < OUTER_ROUNDS && n < 1e7; i++) {
		set_decoding(c, from, n);
		const bool taken = solve(c, others_per_s, random_part(c, from));
		const double wanted = taken ? others_per_s * n_steps * c->decode_s : INFINITY;
		/* where a step's time jumps there is no number at which as many come as leave */
		if (fabs(wanted - n) <= 1e-3 * (n + 1e-2) || (taken && isfinite(many) && many - few <= 1e-3 * many)) {
			*n_beside = fmin(wanted, many);
			return true;
		}
		if (wanted > n)
			few = fmax(few, n);
		else
			many = fmin(many, n);
		if (!taken && isinf(many))
			return false;
		const double next = i == 0 || !isfinite(last_wanted) ? wanted : meeting(n, wanted, last_n, last_wanted);
		last_n = n;
		last_wanted = wanted;
		n = fmin(fmax(next, few), many);
		if (isfinite(many) && (i > PATIENCE || !(n > few && n < many)))
			n = (few + many) / 2;
	}
	return false;
}

/* The share of the steps with prompts that makes the mean step what it is. */
static double
prompt_share(const struct chain *c)
{
	const double without_s = time_of(c, 0), with_s = time_of(c, c->n_together);

	if (c->setup->engine->prefill_first || !(with_s > without_s))
		return c->prompt_frac;
	return fmin(1, fmax(0, (c->decode_s - without_s) / (with_s - without_s)));
}

/* What a prompt meets: nobody, or a replica at work. */
static void
set_first(const struct chain *c, const struct senders *from, double n_others, struct serve_flow *out)
{
	const double n = out->n_decoding - 1;
	struct chain busy = *c;

	if (c->load->osl > 1) {
		out->idle_frac = nobody(from, n_others);
		out->n_beside = n > 1e-6 ? n / fmax(1e-9, 1 - nobody(from, n)) : 1;
	}
	set_points(&busy, 0, out->n_beside, out->n_beside * varying(from, stay_of(c)));
	set_knots(&busy);
	if (!solve(&busy, c->rate_per_s, c->random_frac))
		busy = *c;
	out->wait_s = busy.wait_s;
	out->n_own = busy.n_own;
}

static void
set_places(struct chain *c, const struct senders *from, double stay_s, struct serve_flow *out)
{
	const double rate = out->rate_request_per_s, spread = 12 * sqrt(out->n_running + 1) + 12;

	if (out->n_running + spread < out->n_places || from->n <= out->n_places)
		return;
	set_points(c, 0, out->n_places, 0);
	set_knots(c);
	const double most_s = solve(c, c->rate_per_s, c->random_frac) ? stay_of(c) : 0.999 * out->n_places / rate;
	const struct stay t = {out->n_running, stay_s, out->n_places, most_s};
	out->place_s = varying(from, stay_s) * place_wait(&t, rate);
}

/* All that requests meet, from prompts that the others send beside n_beside sequences. */
static bool
set_flow(struct chain *c, const struct senders *from, double others_per_s, double n_beside, struct serve_flow *out)
{
	const double stay_s = stay_of(c);

	*out = (struct serve_flow){
	    .rate_request_per_s = others_per_s / (1 - 1 / from->n), .n_places = places_of(c->setup, c->load)};
	out->n_decoding = 1 + n_beside;
	out->n_few = c->n[0];
	out->n_many = c->n[2];
	out->few_frac = c->part[0];
	out->many_frac = c->part[2];
	out->n_together = c->n_together;
	out->prompt_frac = prompt_share(c);
	out->n_running = out->rate_request_per_s * stay_s;
	set_first(c, from, others_per_s * stay_s, out);
	if (out->n_running >= out->n_places && from->n > out->n_places)
		return false;
	set_places(c, from, stay_s, out);
	return true;
}

bool
serve_flow_open(
    const struct serve_setup *s, const struct serve_load *load, double rate_request_per_s, struct serve_flow *out)
{
	const struct senders from = {INFINITY, 0};
	struct chain c = {.setup = s, .load = load};
	double n_beside;

	return places_of(s, load) >= 1 && balance(&c, &from, rate_request_per_s, &n_beside) &&
	    set_flow(&c, &from, rate_request_per_s, n_beside, out);
}

/* --- a closed loop --------------------------------------------------------------------------------------- */

enum { SEARCH_ROUNDS = 40, RATE_ROUNDS = 12 };

/* Seconds from one request of a client to its next. */
static double
cycle_of(const struct chain *c, const struct senders *from, const struct serve_flow *f)
{
	const double first_s = serve_flow_first(NULL, c->setup, c->load, f),
	             step_s = serve_flow_step(NULL, c->setup, c->load, f);

	return serve_answer_time(NULL, first_s, step_s, c->load->osl) + from->think_s;
}

/* The rate of others at which n of them decode; false where prompts do not get through that fast. */
static bool
rate_of(struct chain *c, const struct senders *from, double n, double *others_per_s)
{
	const double n_steps = serve_decode_steps(NULL, c->load);
	double low = 0, high;

	set_decoding(c, from, n);
	high = n / (n_steps * time_of(c, 0));
	*others_per_s = high;
	for (int i = 0; i < RATE_ROUNDS; i++) {
		const bool taken = solve(c, *others_per_s, random_part(c, from));
		const double wanted = taken ? n / (n_steps * c->decode_s) : 0;
		if (taken && fabs(wanted - *others_per_s) <= 1e-3 * wanted)
			return true;
		if (!taken || wanted < *others_per_s)
			high = *others_per_s;
		else
			low = *others_per_s;
		*others_per_s =
		    taken && wanted > low && wanted < high ? (wanted + *others_per_s) / 2 : (low + high) / 2;
	}
	return solve(c, *others_per_s, random_part(c, from));
}

/* The number of clients at which a decoding request has `at` others beside it (answers of one token: at which the
 * others send others_per_s); infinite where the replica cannot take it. */
static double
clients_at(struct chain *c, const struct senders *from, double at, struct serve_flow *out)
{
	double others_per_s = at;
	const bool decodes = c->load->osl > 1;
	bool taken;

	if (decodes)
		taken = rate_of(c, from, at, &others_per_s);
	else {
		set_points(c, 0, 0, 0);
		set_knots(c);
		taken = solve(c, at, random_part(c, from));
	}
	if (!taken || !set_flow(c, from, others_per_s, decodes ? at : 0, out))
		return INFINITY;
	return out->rate_request_per_s * cycle_of(c, from, out);
}

/* Every place taken, or as many prompts in every step as it takes: more clients only wait longer. */
static void
set_full(const struct chain *c, const struct senders *from, struct serve_flow *out)
{
	const struct serve_setup *s = c->setup;
	const struct serve_load *l = c->load;
	const double n_places = places_of(s, l), n_starting = serve_starting(NULL, s, l, n_places),
	             n_steps = serve_decode_steps(NULL, l),
	             rate = serve_request_rate(NULL, n_starting, serve_steady(NULL, s, l, n_starting));
	const bool prompts = n_starting < 0.999 * n_places / (1 + n_steps);
	const double prompt_frac = prompts ? 1 : -expm1(-n_starting);

	*out = (struct serve_flow){.rate_request_per_s = rate,
	    .n_places = n_places,
	    .n_running = n_starting * (1 + n_steps),
	    .n_decoding = n_starting * n_steps,
	    .prompt_frac = prompt_frac,
	    .n_together = n_starting / prompt_frac,
	    .n_beside = n_starting * n_steps,
	    .n_own = n_starting / prompt_frac};
	out->place_s = from->n / rate - cycle_of(c, from, out);
}

bool
serve_flow_closed(const struct serve_setup *s, const struct serve_load *load, double n_clients, double think_s,
    struct serve_flow *out)
{
	const struct senders from = {fmax(n_clients, 1 + 1e-9), think_s};
	struct chain c = {.setup = s, .load = load};
	struct serve_flow full;

	if (!(places_of(s, load) >= 1))
		return false;
	set_full(&c, &from, &full);
	double low = 1e-9, low_n = clients_at(&c, &from, low, out), high_n = INFINITY,
	       high = load->osl > 1 ? n_clients : n_clients / cycle_of(&c, &from, out);
	for (int i = 0; i < SEARCH_ROUNDS && n_clients > 1 && high - low > 5e-4 * high; i++) {
		const double straight = low + (high - low) * (n_clients - low_n) / (high_n - low_n),
		             least = low + 0.02 * (high - low), most = high - 0.02 * (high - low),
		             at = i % 3 && isfinite(high_n) ? fmin(fmax(straight, least), most) : (low + high) / 2;
		struct serve_flow f;
		const double n = clients_at(&c, &from, at, &f);
		if (n > n_clients) {
			high = at;
			high_n = n;
			continue;
		}
		*out = f;
		low = at;
		low_n = n;
	}
	if (!(n_clients > 1))
		out->rate_request_per_s = n_clients / cycle_of(&c, &from, out);
	/* whoever is left over waits (Little), and nobody is served faster than by a replica that is full */
	if (full.place_s > out->place_s)
		*out = full;
	else
		out->place_s += fmax(0, n_clients / full.rate_request_per_s - cycle_of(&c, &from, out));
	return true;
}
