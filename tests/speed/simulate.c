/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speed of the serving simulator alone: the cost of a step is a formula of a few operations, so that what is timed is
 * the scheduler.  With an argument: one run, and how many steps it had, for a count of instructions.
 */
#include "search/simulate/simulate.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { RUNS = 5 };

static double
step(const void *context, const struct sim_batch *b)
{
	(void)context;
	const double waves = fmax(1, ceil(b->n_decode / 16) / 132);
	return 2e-3 + (b->n_prefill > 0 ? 3e-3 + 1e-6 * b->prefill_token : 0) + 1e-6 * waves +
	    b->n_decode * b->context_token * 131072 / 3e12;
}

static double
linear(const void *context, double n_tokens)
{
	(void)context;
	return fmax(5e-3, n_tokens * 16e9 / 6e14);
}

static double
head(const void *context, double n_rows)
{
	(void)context;
	return 3e-4 + 1e-6 * n_rows;
}

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct sim_config
config_of(
    double rate, double cv, bool evict, bool every_step, size_t n_replicas, enum sim_routing routing, size_t n_threads)
{
	const struct sim_lengths isl = {cv > 0 ? SIM_LOG_NORMAL : SIM_CONSTANT, 467, cv, NULL, 0},
	                         osl = {cv > 0 ? SIM_LOG_NORMAL : SIM_CONSTANT, 256, cv, NULL, 0};
	return (struct sim_config){
	    .traffic = {.n_requests = 100000 * n_replicas,
	        .rate_request_per_s = rate * (double)n_replicas,
	        .gap_cv = 1,
	        .isl = isl,
	        .osl = osl,
	        .seed = 1},
	    .engine = {.cost = {.step = step, .linear = linear, .head = head},
	        .n_blocks = 30000,
	        .block_token = 16,
	        .max_sequences = 512,
	        .max_step_token = 8192,
	        .evict = evict},
	    .n_replicas = n_replicas,
	    .routing = routing,
	    .objectives = {NAN, NAN, NAN},
	    .every_step = every_step,
	    .n_threads = n_threads,
	};
}

static void
measure(const char *what, double rate, double cv, bool evict, bool every_step, size_t n_replicas,
    enum sim_routing routing, size_t n_threads)
{
	const struct sim_config c = config_of(rate, cv, evict, every_step, n_replicas, routing, n_threads);
	double least_s = INFINITY;

	for (int i = 0; i < RUNS; i++) {
		const char *fault;
		const double start_s = seconds();
		struct simulation *s = simulate(&c, &fault);
		least_s = fmin(least_s, seconds() - start_s);
		if (!s) {
			printf("%s: %s\n", what, fault);
			return;
		}
		if (i == RUNS - 1) {
			const struct sim_result *r = simulation_result(s);
			printf("%-44s %7.3f s %9zu %8.2f M/s %7.1f %6.1f B\n", what, least_s, r->n_steps,
			    1e-6 * (double)r->n_steps / least_s, r->mean_running / (double)n_replicas,
			    (double)r->state_byte / (double)r->n_requests);
		}
		simulation_free(s);
	}
}

static int
run_once(void)
{
	const struct sim_config c = config_of(18, 0, false, true, 1, SIM_ROUND_ROBIN, 1);
	const char *fault;
	struct simulation *s = simulate(&c, &fault);

	printf("%zu\n", s ? simulation_result(s)->n_steps : 0);
	simulation_free(s);
	return s ? 0 : 1;
}

int
main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return run_once();
	printf("%-44s %9s %9s %12s %7s %8s\n", "simulation of 100,000 requests per replica", "best", "steps", "rate",
	    "running", "request");
	measure("Poisson, 67 run", 18, 0, false, false, 1, SIM_ROUND_ROBIN, 1);
	measure("Poisson, every step", 18, 0, false, true, 1, SIM_ROUND_ROBIN, 1);
	measure("Poisson, lengths vary", 21, 0.8, false, false, 1, SIM_ROUND_ROBIN, 1);
	measure("offline, 500 run", INFINITY, 0, false, false, 1, SIM_ROUND_ROBIN, 1);
	measure("offline, preempting, lengths vary", INFINITY, 0.8, true, false, 1, SIM_ROUND_ROBIN, 1);
	measure("4 replicas dealt in turn, one core", 21, 0.8, false, false, 4, SIM_ROUND_ROBIN, 1);
	measure("4 replicas dealt in turn, all cores", 21, 0.8, false, false, 4, SIM_ROUND_ROBIN, 0);
	measure("4 replicas, shortest queue", 21, 0.8, false, false, 4, SIM_SHORTEST_QUEUE, 0);
	return 0;
}
