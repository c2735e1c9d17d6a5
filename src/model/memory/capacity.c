/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sized for the upper bound of need: every user holds all of his tokens at the same moment, and whole users do not
 * split over replicas.  Speeds are floors of time: all weights and caches are read once per step, or all products run
 * at the peak (Williams et al., CACM 52(4), 2009), so rates are at best.
 */
#include "model/calc/calc.h"
#include "model/memory/memory.h"

#include "model/layer/layer.h"

double
capacity_weights(struct sheet *sh, const struct workload *w, double elem_byte_per_param, double rest_byte_per_param)
{
	GIVEN(sh, elem_byte_per_param, rest_byte_per_param);
	CALL(sh, total_param, model_params(sh, w));
	CALL(sh, embedding_param, embedding_params(sh, w));
	CALL(sh, head_param, head_params(sh, w));
	LET(sh, rest_param, embedding_param + head_param);
	LET(sh, weight_byte, (total_param - rest_param) * elem_byte_per_param + rest_param * rest_byte_per_param);
	return weight_byte;
}

double
capacity_weights_bits(struct sheet *sh, double n_params, double bits)
{
	GIVEN(sh, n_params, bits);
	TAKE(sh, bit_byte, 0.125);
	LET(sh, stored_byte_per_param, bits * bit_byte);
	LET(sh, weight_byte, n_params * stored_byte_per_param);
	return weight_byte;
}

double
capacity_share(struct sheet *sh, double weight_byte, double tp)
{
	GIVEN(sh, weight_byte, tp);
	LET(sh, gpu_weight_byte, weight_byte / tp);
	return gpu_weight_byte;
}

/* The worked examples' rule: 0.5 MB per token of a 7B model, in proportion to the parameters. */
double
capacity_linear_kv(struct sheet *sh, double n_params)
{
	GIVEN(sh, n_params);
	TAKE(sh, reference_byte_per_token, 0.5e6);
	TAKE(sh, reference_param, 7e9);
	LET(sh, linear_byte_per_token, reference_byte_per_token * n_params / reference_param);
	return linear_byte_per_token;
}

double
capacity_linear_error(struct sheet *sh, double linear_byte_per_token, const struct workload *w, double kv_elem_byte)
{
	GIVEN(sh, linear_byte_per_token);
	CALL(sh, exact_byte_per_token, kv_slope(sh, w, kv_elem_byte, 1));
	LET(sh, linear_error, linear_byte_per_token / exact_byte_per_token);
	return linear_error;
}

/* The linear rule knows no heads: tensor parallelism just divides it. */
double
capacity_user(struct sheet *sh, const struct capacity_kv *kv, double user_token, double tp)
{
	GIVEN(sh, user_token, tp);
	TAKE(sh, overhead_frac, kv->overhead_frac);
	double held_byte;
	if (kv->w) {
		FROM(sh, kv, block_token, kv_elem_byte);
		SET_CALL(sh, held_byte, kv_sequence(sh, kv->w, user_token, block_token, kv_elem_byte, tp));
	} else {
		TAKE(sh, linear_byte_per_token, kv->linear_byte_per_token);
		SET(sh, held_byte, user_token * linear_byte_per_token / tp);
	}
	LET(sh, user_byte, held_byte * (1 + overhead_frac));
	return user_byte;
}

double
capacity_pool(struct sheet *sh, const struct capacity_case *c, double weight_byte)
{
	GIVEN(sh, weight_byte);
	FROM(sh, c, n_users, mem_byte);
	TAKE(sh, headroom_frac, c->headroom);
	TAKE(sh, user_token, c->user_token);
	CALL(sh, user_byte, capacity_user(sh, &c->kv, user_token, 1));
	LET(sh, kv_byte, n_users * user_byte);
	LET(sh, total_byte, weight_byte + kv_byte);
	LET(sh, usable_byte, mem_byte * (1 - headroom_frac));
	LET(sh, n_gpus, fmax(1, ceil(total_byte / usable_byte)));
	return n_gpus;
}

/* A product and a sum per parameter and token. */
double
capacity_work(struct sheet *sh, double n_params)
{
	GIVEN(sh, n_params);
	TAKE(sh, mac_flop_per_param_per_token, 2.0);
	LET(sh, work_flop_per_token, n_params * mac_flop_per_param_per_token);
	return work_flop_per_token;
}

/* --- one replica ----------------------------------------------------------------------------------------- */

/* Tokens that a user must be given room for: a request's prompt and its whole answer. */
static double
most_context(struct sheet *sh, const struct capacity_case *c)
{
	if (!datum_given(c->rate_request_per_s)) {
		TAKE(sh, user_token, c->user_token);
		LET(sh, held_token, user_token);
		return held_token;
	}
	FROM(sh, c, isl_token, osl_token);
	LET(sh, held_token, isl_token + osl_token);
	return held_token;
}

/* Tokens in the cache of a request on average while it generates: its prompt and half of its answer. */
static double
mean_context(struct sheet *sh, const struct capacity_case *c)
{
	if (!datum_given(c->rate_request_per_s)) {
		TAKE(sh, user_token, c->user_token);
		LET(sh, context_token, user_token);
		return context_token;
	}
	FROM(sh, c, isl_token, osl_token);
	LET(sh, context_token, isl_token + (osl_token + 1) / 2);
	return context_token;
}

/* What one step reads of a user's cache: tokens that are there, not blocks or overhead. */
static double
read_user(struct sheet *sh, const struct capacity_case *c, double tp)
{
	struct capacity_kv read = c->kv;

	read.block_token = 1;
	read.overhead_frac = 0;
	CALL(sh, context_token, mean_context(sh, c));
	CALL(sh, user_byte, capacity_user(sh, &read, context_token, tp));
	LET(sh, read_byte, user_byte);
	return read_byte;
}

/* Users of a GPU for whom a step, which reads the weights and all their caches once, still ends in time. */
static double
users_in_time(struct sheet *sh, const struct capacity_case *c, const struct capacity_replica *a)
{
	TAKE(sh, gpu_weight_byte, a->weight_byte);
	FROM(sh, c, itl_s, mem_byte_per_s);
	CALL(sh, read_byte, read_user(sh, c, a->tp / a->n_groups));
	LET(sh, n_in_time, floor(fmax(0, itl_s * mem_byte_per_s - gpu_weight_byte) / read_byte));
	return n_in_time;
}

double
capacity_replica_users(struct sheet *sh, const struct capacity_case *c, const struct capacity_replica *a)
{
	FROM(sh, a, space_byte, n_groups);
	CALL(sh, held_token, most_context(sh, c));
	CALL(sh, user_byte, capacity_user(sh, &c->kv, held_token, a->tp / a->n_groups));
	LET(sh, n_held, floor(space_byte / user_byte));
	double n_most;
	if (!datum_given(c->itl_s))
		SET(sh, n_most, n_groups * n_held);
	else {
		CALL(sh, n_in_time, users_in_time(sh, c, a));
		SET(sh, n_most, n_groups * fmin(n_held, n_in_time));
	}
	return n_most;
}

/* --- a load ---------------------------------------------------------------------------------------------- */

/* One step for n users: all bytes once, or all products at the peak, whichever takes longer. */
static double
decode_step(struct sheet *sh, const struct capacity_case *c, const struct capacity_replica *a, double n_most)
{
	GIVEN(sh, n_most);
	TAKE(sh, gpu_weight_byte, a->weight_byte);
	FROM(sh, a, n_groups, tp);
	FROM(sh, c, mem_byte_per_s, work_flop_per_token, peak_flop_per_s);
	CALL(sh, read_byte, read_user(sh, c, a->tp / a->n_groups));
	LET(sh, memory_s, (gpu_weight_byte + n_most / n_groups * read_byte) / mem_byte_per_s);
	TAKE(sh, one_token, 1.0);
	LET(sh, compute_s, n_most * one_token * work_flop_per_token / (tp * peak_flop_per_s));
	LET(sh, step_s, fmax(memory_s, compute_s));
	return step_s;
}

/* Time of a replica that one request costs: its prompt at the peak, and its share of a step for every token of the
 * answer. */
static double
floor_rate(struct sheet *sh, const struct capacity_case *c, const struct capacity_replica *a, double n_most)
{
	GIVEN(sh, n_most);
	TAKE(sh, tp, a->tp);
	FROM(sh, c, isl_token, osl_token, work_flop_per_token, peak_flop_per_s);
	TAKE(sh, one_token, 1.0);
	LET(sh, prompt_s, isl_token * work_flop_per_token / (tp * peak_flop_per_s));
	CALL(sh, step_s, decode_step(sh, c, a, n_most));
	LET(sh, answer_s, osl_token / one_token * step_s / n_most);
	LET(sh, request_s, prompt_s + answer_s);
	LET(sh, replica_request_per_s, 1 / request_s);
	return replica_request_per_s;
}

static double
measured_capacity_rate(struct sheet *sh, const struct capacity_case *c)
{
	FROM(sh, c, measured_token_per_s, osl_token);
	LET(sh, replica_request_per_s, measured_token_per_s / osl_token);
	return replica_request_per_s;
}

static double
replicas_for_load(struct sheet *sh, const struct capacity_case *c, const struct capacity_replica *a, double n_most)
{
	GIVEN(sh, n_most);
	TAKE(sh, rate_request_per_s, c->rate_request_per_s);
	TAKE(sh, utilisation_frac, c->utilisation);
	double replica_request_per_s;
	if (!datum_given(c->measured_token_per_s))
		SET_CALL(sh, replica_request_per_s, floor_rate(sh, c, a, n_most));
	else
		SET_CALL(sh, replica_request_per_s, measured_capacity_rate(sh, c));
	LET(sh, n_replicas, fmax(1, ceil(rate_request_per_s / (replica_request_per_s * utilisation_frac))));
	return n_replicas;
}

static double
replicas_for_users(struct sheet *sh, const struct capacity_case *c, double n_most)
{
	GIVEN(sh, n_most);
	TAKE(sh, n_users, c->n_users);
	LET(sh, n_replicas, fmax(1, ceil(n_users / n_most)));
	return n_replicas;
}

double
capacity_replicas(struct sheet *sh, const struct capacity_case *c, const struct capacity_replica *a)
{
	TAKE(sh, tp, a->tp);
	CALL(sh, n_most, capacity_replica_users(sh, c, a));
	double n_replicas;
	if (n_most < 1)
		SET(sh, n_replicas, 1 / n_most); /* n_most is whole: however many there are, they hold nobody */
	else if (!datum_given(c->rate_request_per_s))
		SET_CALL(sh, n_replicas, replicas_for_users(sh, c, n_most));
	else
		SET_CALL(sh, n_replicas, replicas_for_load(sh, c, a, n_most));
	LET(sh, n_gpus, n_replicas * tp);
	return n_gpus;
}

double
capacity_count(struct sheet *sh, double n_gpus, double tp)
{
	GIVEN(sh, n_gpus, tp);
	LET(sh, n_replicas, n_gpus / tp);
	return n_replicas;
}

/* GPUs, or money where it is known. */
static double
cost_of(const struct capacity_case *c, const struct capacity_replica *a, bool priced)
{
	const double n_gpus = capacity_replicas(NULL, c, a);

	if (!priced || !isfinite(n_gpus))
		return n_gpus;
	return cost_rented(NULL, n_gpus / a->tp, a->tp, a->n_rented_gpus) * a->gpu_usd_per_s;
}

int
capacity_best(const struct capacity_case *c, const struct capacity_replica *all, int n)
{
	bool priced = true;
	int best = -1;

	for (int i = 0; i < n; i++)
		priced = priced && !isnan(all[i].gpu_usd_per_s);
	for (int i = 0; i < n; i++) {
		const double cost = cost_of(c, &all[i], priced);
		const double least = best < 0 ? INFINITY : cost_of(c, &all[best], priced);

		if (cost < least ||
		    (isfinite(cost) && cost == least &&
		        capacity_replicas(NULL, c, &all[i]) < capacity_replicas(NULL, c, &all[best])))
			best = i;
	}
	return best;
}

int
capacity_fewest(const struct capacity_case *c, const struct capacity_replica *all, int n)
{
	for (int i = 0; i < n; i++)
		if (capacity_replica_users(NULL, c, &all[i]) >= 1)
			return i;
	return -1;
}

/* --- what binds ------------------------------------------------------------------------------------------ */

const char *
capacity_binds(const struct capacity_case *c, const struct capacity_replica *a)
{
	struct capacity_case unhurried = *c;

	unhurried.itl_s = datum_absent();
	const double n_most = capacity_replica_users(NULL, c, a);
	if (n_most < capacity_replica_users(NULL, &unhurried, a))
		return "latency";
	if (!datum_given(c->rate_request_per_s))
		return capacity_replicas(NULL, c, a) > a->tp ? "KV cache" : "weights";
	if (datum_given(c->measured_token_per_s))
		return "measured rate";
	const double prompt_s = c->isl_token.value * c->work_flop_per_token / (a->tp * c->peak_flop_per_s.value);
	const double answer_s = 1 / floor_rate(NULL, c, a, n_most) - prompt_s;
	return prompt_s > answer_s ? "compute" : "bandwidth";
}

const char *
capacity_pool_binds(const struct capacity_case *c, double weight_byte)
{
	return c->n_users.value * capacity_user(NULL, &c->kv, c->user_token.value, 1) > weight_byte ? "KV cache"
	                                                                                            : "weights";
}

/* --- speed and money ------------------------------------------------------------------------------------- */

double
capacity_user_rate(struct sheet *sh, const struct capacity_case *c, const struct capacity_replica *a, double n_users,
    double n_replicas)
{
	GIVEN(sh, n_users, n_replicas);
	TAKE(sh, gpu_weight_byte, a->weight_byte);
	TAKE(sh, n_groups, a->n_groups);
	TAKE(sh, mem_byte_per_s, c->mem_byte_per_s);
	CALL(sh, read_byte, read_user(sh, c, a->tp / a->n_groups));
	LET(sh, n_batch, ceil(ceil(n_users / n_replicas) / n_groups));
	LET(sh, step_s, (gpu_weight_byte + n_batch * read_byte) / mem_byte_per_s);
	LET(sh, user_token_per_s, 1 / step_s);
	return user_token_per_s;
}

double
capacity_fleet_rate(struct sheet *sh, double n_users, double user_token_per_s)
{
	GIVEN(sh, n_users, user_token_per_s);
	LET(sh, fleet_token_per_s, n_users * user_token_per_s);
	return fleet_token_per_s;
}

double
capacity_load_rate(struct sheet *sh, double rate_request_per_s, double osl_token)
{
	GIVEN(sh, rate_request_per_s, osl_token);
	TAKE(sh, one_request, 1.0);
	LET(sh, fleet_token_per_s, rate_request_per_s / one_request * osl_token);
	return fleet_token_per_s;
}

double
capacity_month_usd(struct sheet *sh, double n_gpus, double gpu_usd_per_s)
{
	GIVEN(sh, n_gpus, gpu_usd_per_s);
	TAKE(sh, month_s, MONTH_S);
	LET(sh, month_usd, n_gpus * gpu_usd_per_s * month_s);
	return month_usd;
}

double
capacity_million_usd(struct sheet *sh, double n_gpus, double gpu_usd_per_s, double fleet_token_per_s)
{
	GIVEN(sh, n_gpus, gpu_usd_per_s, fleet_token_per_s);
	TAKE(sh, n_tokens, 1e6);
	LET(sh, million_usd, n_gpus * gpu_usd_per_s * n_tokens / fleet_token_per_s);
	return million_usd;
}
