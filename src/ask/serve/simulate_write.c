/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a simulation leaves in files, and what it says while it runs. */
#include "ask/serve/serve.h"

#include "cli/cli.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

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
