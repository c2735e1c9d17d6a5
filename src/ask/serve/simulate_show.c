/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show the results of a simulation. */
#include "ask/serve/serve.h"

#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "model/calc/calc.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- tail ---------------------------------------------------------------------------------------------------- */

/* Samples beyond a percentile that make it more than a guess. */
enum { BEYOND = 10 };

bool
tail_given(const struct tail_in *in)
{
	return datum_given(in->p50) || datum_given(in->p99);
}

static bool
check(struct run *r, const struct tail_in *in)
{
	if (!datum_given(in->p50) || !datum_given(in->p99))
		return run_refuse(
		    r, in->p50.from, "--p50 and --p99 need each other", "write for example --p50 10ms --p99 12ms");
	if (in->p99.value < in->p50.value)
		return run_refuse(r, in->p99.from, "P99 is below P50", "check the two values; P99 is at least P50");
	return run_positive(r, "p50", in->p50) & run_positive(r, "tail-limit", in->tail_limit) &
	    run_whole(r, "runs", in->runs, 1);
}

enum answer
tail_verdict(struct run *r, const struct tail_in *in, double tail_ratio)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->tail_limit))
		return ANSWERED;
	run_reads(r, &in->tail_limit, NULL);
	const bool met = tail_ratio <= in->tail_limit.value;
	TELL(sh, tail_verdict, arena_printf(r->arena, "%s %g", met ? "meets" : "misses", in->tail_limit.value));
	return met ? ANSWERED : ANSWERED_NO;
}

enum answer
tail_show(struct run *r, const struct tail_in *in)
{
	struct sheet *sh = r->sheet;

	if (!check(r, in))
		return REFUSED;
	TAKE(sh, p50_s, in->p50);
	TAKE(sh, p99_s, in->p99);
	SHOW(sh, p50_s, p50_s);
	SHOW(sh, p99_s, p99_s);
	CALL(sh, tail_ratio, latency_tail(sh, p50_s, p99_s));
	SHOW(sh, tail_ratio, tail_ratio);
	if (datum_given(in->runs)) {
		run_reads(r, &in->runs, NULL);
		TAKE(sh, percentile_frac, 0.99);
		TAKE(sh, n_beyond, BEYOND);
		CALL(sh, n_runs_needed, latency_runs(sh, percentile_frac, n_beyond));
		SHOW(sh, n_runs_needed, n_runs_needed);
		if (in->runs.value < n_runs_needed)
			run_warn(r, "P99 of %g runs is practically the maximum: measure at least %g", in->runs.value,
			    n_runs_needed);
	}
	return tail_verdict(r, in, tail_ratio);
}

static void
show_spread(struct run *r, int i, const char *what, const struct sim_spread *s)
{
	struct sheet *sh = r->sheet;

	if (isnan(s->mean))
		return;
	SCOPE_I (sh, "latencies", i) {
		TELL(sh, metric, what);
		TAKE(sh, mean_s, s->mean);
		SHOW(sh, mean_s, mean_s);
		TAKE(sh, p50_s, s->p50);
		SHOW(sh, p50_s, p50_s);
		TAKE(sh, p90_s, s->p90);
		SHOW(sh, p90_s, p90_s);
		TAKE(sh, p95_s, s->p95);
		SHOW(sh, p95_s, p95_s);
		TAKE(sh, p99_s, s->p99);
		SHOW(sh, p99_s, p99_s);
		TAKE(sh, most_s, s->most);
		SHOW(sh, most_s, max_s);
	}
}

static bool
simulate_has_objectives(const struct sim_objectives *o)
{
	return !isnan(o->ttft_s) || !isnan(o->tpot_s) || !isnan(o->e2e_s);
}

void
simulate_show(struct run *r, const struct sim_config *c, const struct sim_result *result)
{
	struct sheet *sh = r->sheet;

	show_spread(r, 0, "TTFT", &result->ttft);
	show_spread(r, 1, "TPOT", &result->tpot);
	show_spread(r, 2, "ITL", &result->itl);
	show_spread(r, 3, "end-to-end latency", &result->e2e);
	TAKE(sh, answered_request_per_s, result->request_per_s);
	SHOW(sh, answered_request_per_s, request_per_s);
	TAKE(sh, output_token_per_s, result->output_token_per_s);
	SHOW(sh, output_token_per_s, output_token_per_s);
	TAKE(sh, all_token_per_s, result->total_token_per_s);
	SHOW(sh, all_token_per_s, total_token_per_s);
	if (simulate_has_objectives(&c->objectives)) {
		TAKE(sh, within_frac, result->within_frac);
		SHOW(sh, within_frac, slo_frac);
		TAKE(sh, goodput_request_per_s, result->goodput_request_per_s);
		SHOW(sh, goodput_request_per_s, goodput_request_per_s);
	}
	TAKE(sh, n_running, result->mean_running);
	SHOW(sh, n_running, n_running);
	TAKE(sh, n_running_most, (double)result->most_running);
	SHOW(sh, n_running_most, n_max_running);
	TAKE(sh, n_waiting, result->mean_waiting);
	SHOW(sh, n_waiting, n_waiting);
	TAKE(sh, n_waiting_most, (double)result->most_waiting);
	SHOW(sh, n_waiting_most, n_max_waiting);
	TAKE(sh, cache_frac, result->mean_cache_frac);
	SHOW(sh, cache_frac, kv_used_frac);
	TAKE(sh, cache_most_frac, result->most_cache_frac);
	SHOW(sh, cache_most_frac, kv_max_frac);
	TAKE(sh, n_preempted, (double)result->n_preempted);
	SHOW(sh, n_preempted, n_preempted);
	TAKE(sh, n_finished, (double)result->n_finished);
	SHOW(sh, n_finished, n_finished);
	if (result->n_refused) {
		TAKE(sh, n_refused, (double)result->n_refused);
		SHOW(sh, n_refused, n_rejected);
	}
	TAKE(sh, n_steps, (double)result->n_steps);
	SHOW(sh, n_steps, n_iterations);
	TAKE(sh, run_s, result->end_s - result->first_arrival_s);
	SHOW(sh, run_s, makespan_s);
}

/* Show one rate of a series; a saturated one has no latencies. */
void
simulate_show_rate(struct run *r, const struct sim_config *c, const struct sim_result *result, bool full)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, rate_request_per_s, c->traffic.rate_request_per_s);
	SHOW(sh, rate_request_per_s, load_request_per_s);
	TELL(sh, state, full ? "saturated" : "steady");
	TAKE(sh, output_token_per_s, result->output_token_per_s);
	SHOW(sh, output_token_per_s, output_token_per_s);
	TAKE(sh, ttft_mean_s, full ? (double)NAN : result->ttft.mean);
	SHOW(sh, ttft_mean_s, ttft_s);
	TAKE(sh, ttft_p99_s, full ? (double)NAN : result->ttft.p99);
	SHOW(sh, ttft_p99_s, ttft_p99_s);
	TAKE(sh, itl_mean_s, full ? (double)NAN : result->itl.mean);
	SHOW(sh, itl_mean_s, itl_s);
	TAKE(sh, itl_p99_s, full ? (double)NAN : result->itl.p99);
	SHOW(sh, itl_p99_s, itl_p99_s);
	TAKE(sh, e2e_p99_s, full ? (double)NAN : result->e2e.p99);
	SHOW(sh, e2e_p99_s, e2e_p99_s);
	if (simulate_has_objectives(&c->objectives)) {
		TAKE(sh, within_frac, result->within_frac);
		SHOW(sh, within_frac, slo_frac);
	}
}

/* --- simulate write ------------------------------------------------------------------------------------------ */

/* Output files and progress of a simulation. */

/* --- progress -------------------------------------------------------------------------------------------- */

static double
clock_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct simulate_progress
simulate_progress_begin(void)
{
	return (struct simulate_progress){.began_s = clock_s(), .on = isatty(STDERR_FILENO)};
}

/* A bar, on a terminal, after a second. */
void
simulate_progress(void *context, double done_frac)
{
	enum { WIDTH = 40 };
	struct simulate_progress *p = context;
	char bar[WIDTH + 1];

	if (!p->on || clock_s() - p->began_s < 1)
		return;
	p->shown = true;
	for (int i = 0; i < WIDTH; i++)
		bar[i] = i < done_frac * WIDTH ? '#' : '.';
	bar[WIDTH] = '\0';
	fprintf(stderr, "\r%s %3.0f %% of the requests", bar, 100 * done_frac);
	fflush(stderr);
}

void
simulate_progress_end(struct simulate_progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
}

/* --- CSV ------------------------------------------------------------------------------------------------- */

static void
write_number(FILE *f, double x, bool first)
{
	char buf[40];

	if (!first)
		fputc(',', f);
	if (!isnan(x))
		fputs(number_write(x, buf, sizeof buf), f);
}

bool
simulate_write_timeline(struct run *r, struct word file, const struct sim_result *result)
{
	FILE *f = outputs_open(r->outputs, r->diag, file.from, file.text);

	if (!f)
		return false;
	fputs("replica,time_s,step_s,running,waiting,decoding,prefill_token,cache_frac\n", f);
	for (size_t i = 0; i < result->n_moments; i++) {
		const struct sim_moment *m = &result->moments[i];
		const double cells[] = {m->replica, m->time_s, m->step_s, m->n_running, m->n_waiting, m->n_decode,
		    m->prefill_token, m->cache_frac};
		for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
			write_number(f, cells[k], k == 0);
		fputc('\n', f);
	}
	return true;
}

bool
simulate_write_requests(struct run *r, struct word file, const struct sim_result *result)
{
	FILE *f = outputs_open(r->outputs, r->diag, file.from, file.text);

	if (!f)
		return false;
	fputs("request,arrival_s,input,output,cached,first_s,last_s,ttft_s,tpot_s,e2e_s,replica,preemptions\n", f);
	for (size_t i = 0; i < result->n_requests; i++) {
		const struct sim_request *q = &result->requests[i];
		const double tpot_s =
		    q->osl_token > 1 ? (q->last_s - q->first_s) / ((double)q->osl_token - 1) : (double)NAN;
		const double cells[] = {(double)i, q->arrival_s, q->isl_token, q->osl_token, q->cached_token,
		    q->first_s, q->last_s, q->first_s - q->arrival_s, tpot_s, q->last_s - q->arrival_s,
		    isnan(q->last_s) ? (double)NAN : q->replica, q->n_preempted};
		for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
			write_number(f, cells[k], k == 0);
		fputc('\n', f);
	}
	return true;
}
