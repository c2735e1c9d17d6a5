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

enum { OUTER_ROUNDS = 60, PATIENCE = 12, MOST_PLACES = 1 << 20 };

static const double steepest = 0.9; /* the more it wants per sequence: steps that grow as fast as what runs diverge */

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

/* Probability that no other client is active, if each is active for this share of the time. */
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

	chain_points(c, 1, n, n * varying(from, stay_s));
	chain_knots(c);
}

/* Arrivals that come whenever they like; without a pause they come when a step has ended. */
static double
random_part(const struct chain *c, const struct senders *from)
{
	return is_open(from) ? 1 : -expm1(-from->think_s / chain_time(c, 0));
}

/* Where n and what it wants would meet, were both lines through this pair and the last. */
static double
meeting(double n, double wanted, double last_n, double last_wanted)
{
	const double slope = (wanted - last_wanted) / (n - last_n);

	return slope < steepest ? n + (wanted - n) / (1 - slope) : wanted;
}

/* Sequences that decode beside one that does, so that as many come as leave.  False: there is no such number. */
static bool
balance(struct chain *c, const struct senders *from, double others_per_s, double *n_beside)
{
	const double n_steps = serve_decode_steps(NULL, c->load);
	double n = 0, few = 0, many = INFINITY, last_n = 0, last_wanted = 0;

	for (int i = 0; i < OUTER_ROUNDS && n < 1e7; i++) {
		set_decoding(c, from, n);
		const bool taken = chain_solve(c, others_per_s, random_part(c, from));
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
	const double without_s = c->knot_s[0], with_s = chain_time(c, c->n_together);

	if (c->setup->engine->prefill_first || !(with_s > without_s))
		return c->prompt_frac;
	return fmin(1, fmax(0, (c->decode_s - without_s) / (with_s - without_s)));
}

/* State of the replica that a prompt finds: idle, or busy. */
static void
set_first(const struct chain *c, const struct senders *from, double n_others, struct serve_flow *out)
{
	const double n = out->n_decoding - 1;
	struct chain busy = *c;

	if (c->load->osl > 1) {
		out->idle_frac = nobody(from, n_others);
		out->n_beside = n > 1e-6 ? n / fmax(1e-9, 1 - nobody(from, n)) : 1;
	}
	chain_points(&busy, 0, out->n_beside, out->n_beside * varying(from, stay_of(c)));
	chain_knots(&busy);
	if (!chain_solve(&busy, c->rate_per_s, c->random_frac))
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
	chain_points(c, 0, out->n_places, 0);
	chain_knots(c);
	const double most_s = chain_solve(c, c->rate_per_s, c->random_frac) ? stay_of(c) : 0.999 * out->n_places / rate;
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
	high = n / (n_steps * chain_time(c, 0));
	*others_per_s = high;
	for (int i = 0; i < RATE_ROUNDS; i++) {
		const bool taken = chain_solve(c, *others_per_s, random_part(c, from));
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
	return chain_solve(c, *others_per_s, random_part(c, from));
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
		chain_points(c, 0, 0, 0);
		chain_knots(c);
		taken = chain_solve(c, at, random_part(c, from));
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
