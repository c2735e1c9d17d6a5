/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "search/simulate/simulate.h"

#include "base/base.h"

#include <math.h>

static const double token_most = 1 << 24; /* of one request */

static const char *
lengths_fault(const struct sim_lengths *l)
{
	if (l->kind == SIM_EMPIRICAL) {
		if (l->n_values == 0)
			return "an empirical distribution needs values";
		for (size_t i = 0; i < l->n_values; i++)
			if (l->values[i] < 1 || l->values[i] > token_most)
				return "lengths must be between 1 and 16777216 tokens";
		return NULL;
	}
	if (!(l->mean_token >= 1 && l->mean_token <= token_most))
		return "lengths must be between 1 and 16777216 tokens";
	if (l->kind == SIM_LOG_NORMAL && !(l->cv >= 0 && l->cv <= 100))
		return "the coefficient of variation of lengths must be between 0 and 100";
	return NULL;
}

static const char *
trace_fault(const struct sim_traffic *t)
{
	for (size_t i = 0; i < t->n_requests; i++) {
		const struct sim_arrival *a = &t->trace[i];

		if (!isfinite(a->arrival_s) || (i && a->arrival_s < a[-1].arrival_s))
			return "the trace is not in order of arrival";
		if (a->isl_token < 1 || a->osl_token < 1 || a->isl_token > token_most || a->osl_token > token_most)
			return "lengths must be between 1 and 16777216 tokens";
	}
	return NULL;
}

const char *
traffic_fault(const struct sim_traffic *t)
{
	const char *fault;

	if (t->n_requests < 1 || t->n_requests > 1u << 30)
		return "the number of requests must be between 1 and 1073741824";
	if (!(t->think_s >= 0 && isfinite(t->think_s)) || !(t->ramp_s >= 0 && isfinite(t->ramp_s)))
		return "the think time must not be negative";
	if (!(t->think_cv >= 0 && t->think_cv <= 100))
		return "the coefficient of variation of think times must be between 0 and 100";
	if (t->trace)
		return trace_fault(t);
	if (t->n_clients == 0 && !(t->rate_request_per_s > 0))
		return "the request rate must be greater than 0";
	if (t->n_clients == 0 && !(t->gap_cv >= 0 && t->gap_cv <= 100))
		return "the coefficient of variation of interarrival times must be between 0 and 100";
	if (!(t->cached_frac >= 0 && t->cached_frac <= 1))
		return "the share of cached tokens must be between 0 and 1";
	if ((fault = lengths_fault(&t->isl)) || (fault = lengths_fault(&t->osl)))
		return fault;
	if (t->paired &&
	    (t->isl.kind != SIM_EMPIRICAL || t->osl.kind != SIM_EMPIRICAL || t->isl.n_values != t->osl.n_values))
		return "paired lengths need equal counts of ISL and OSL";
	return NULL;
}

/* Gamma gaps by inversion; a shape of 1 is the exponential, whose inverse is a logarithm. */
double
traffic_gap(double u, double mean_s, double cv)
{
	if (cv == 0 || mean_s == 0)
		return mean_s;
	return cv == 1 ? -log1p(-u) * mean_s : num_gamma_quantile(u, mean_s, cv);
}

static double
draw_gap(const struct sim_traffic *t, uint64_t *stream)
{
	const double mean_s = 1 / t->rate_request_per_s;

	return t->gap_cv == 0 ? mean_s : traffic_gap(random_uniform(stream), mean_s, t->gap_cv);
}

/* Numbers of their own for what clients do: it does not depend on how many replicas serve them. */
static double
client_uniform(const struct sim_traffic *t, uint64_t what, uint64_t i)
{
	uint64_t stream = t->seed * 0x9e3779b97f4a7c15u + what;

	stream = random_next(&stream) + i * 0xd1342543de82ef95u;
	return random_uniform(&stream);
}

/* One in each of as many equal stretches: nobody knows who is first, but none waits for all the others. */
double
traffic_start(const struct sim_traffic *t, size_t i)
{
	if (t->ramp_s == 0)
		return 0;
	return t->ramp_s * ((double)i + client_uniform(t, 1, i)) / (double)t->n_clients;
}

double
traffic_pause(const struct sim_traffic *t, uint32_t id)
{
	return traffic_gap(client_uniform(t, 2, id), t->think_s, t->think_cv);
}

static uint32_t
at_share(const struct sim_lengths *l, double u)
{
	return l->values[(size_t)(u * (double)l->n_values)];
}

static uint32_t
draw_length(const struct sim_lengths *l, uint64_t *stream)
{
	if (l->kind == SIM_EMPIRICAL)
		return at_share(l, random_uniform(stream));
	double token = l->mean_token;
	if (l->kind == SIM_LOG_NORMAL && l->cv > 0)
		token = num_log_normal_quantile(random_uniform(stream), l->mean_token, l->cv);
	return (uint32_t)fmin(fmax(round(token), 1), token_most);
}

static void
draw_one(const struct sim_traffic *t, uint64_t *stream, struct sim_request *r)
{
	if (t->paired) {
		const double u = random_uniform(stream);
		r->isl_token = at_share(&t->isl, u);
		r->osl_token = at_share(&t->osl, u);
	} else {
		r->isl_token = draw_length(&t->isl, stream);
		r->osl_token = draw_length(&t->osl, stream);
	}
	r->cached_token = (uint32_t)(t->cached_frac * r->isl_token);
}

void
traffic_draw(const struct sim_traffic *t, struct sim_request *out)
{
	const bool gaps = !t->trace && t->n_clients == 0 && isfinite(t->rate_request_per_s);
	uint64_t stream = t->seed;
	double now_s = 0;

	for (size_t i = 0; i < t->n_requests; i++) {
		struct sim_request *r = &out[i];

		*r = (struct sim_request){.first_s = NAN, .last_s = NAN};
		if (t->trace) {
			r->isl_token = t->trace[i].isl_token;
			r->osl_token = t->trace[i].osl_token;
			r->cached_token = t->trace[i].cached_token;
			now_s = t->trace[i].arrival_s;
		} else {
			if (gaps)
				now_s += draw_gap(t, &stream);
			draw_one(t, &stream, r);
		}
		r->arrival_s = now_s;
		if (r->cached_token >= r->isl_token) /* the last token of a prompt is always computed */
			r->cached_token = r->isl_token - 1;
	}
}
