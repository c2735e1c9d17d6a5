/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench-train    training steps a second on one core: what a search over layouts costs
 * bench-train N  N rounds of them with remembered shapes, for a count of instructions
 */
#include "base/base.h"
#include "db/db.h"
#include "model/memory/memory.h"
#include "search/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LAYOUTS = 4096 };

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double
power(unsigned x)
{
	return (double)(1U << x);
}

/* Layouts of 1024 GPUs as a search meets them: most do not divide, or do not fit. */
static void
layouts_of(struct train_job *jobs, const struct train_job *base)
{
	for (unsigned i = 0; i < LAYOUTS; i++) {
		struct train_job *job = &jobs[i];
		*job = *base;
		struct layout *l = &job->layout;
		*l = (struct layout){.tp = power(i % 4),
		    .pp = power(i / 4 % 6),
		    .vp = power(i / 24 % 4),
		    .cp = power(i / 96 % 4),
		    .ep = 1,
		    .etp = 1,
		    .zero = (int)(i / 384 % 4),
		    .sp = true};
		l->dp = job->n_gpus / (l->tp * l->pp * l->cp);
		l->shard = l->dp * l->cp;
		job->n_sequences = power(i / 1536 % 3);
		job->recompute = i % 5 == 0 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
	}
}

/* Until half a second has passed; returns the rate. */
static double
rate(bool (*one)(const struct train_job *, void *), const struct train_job *jobs, void *context, double *share)
{
	const double began = now();
	size_t n = 0, kept = 0;

	do
		for (int i = 0; i < LAYOUTS; i++, n++)
			kept += one(&jobs[i], context);
	while (now() - began < 0.5);
	*share = (double)kept / (double)n;
	return (double)n / (now() - began);
}

struct bench {
	double card_byte, sum;
	struct memory_job memory;
};

static bool
reject(const struct train_job *job, void *context)
{
	const struct bench *b = context;

	return train_impossible(job) == TRAIN_ANSWERED && train_memory_floor(job) <= b->card_byte;
}

static bool
predict(const struct train_job *job, void *context)
{
	struct bench *b = context;
	struct train_terms t;

	train_step(NULL, job, &t);
	b->sum += t.step_s;
	return true;
}

static bool
predict_both(const struct train_job *job, void *context)
{
	struct bench *b = context;
	struct train_terms t;
	struct memory_use use;

	train_step(NULL, job, &t);
	b->memory.layout = job->layout;
	b->memory.batch.value = job->n_sequences;
	b->memory.recompute = job->recompute;
	b->memory.n_microbatches.value = t.n_microbatches;
	b->sum += t.step_s + memory_peak(NULL, &b->memory, &use);
	return true;
}

static void
print(const char *what, double per_s)
{
	printf("%-58s %10.0f /s\n", what, per_s);
}

int
main(int argc, char **argv)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct database *db = database_new(a, d, ".");
	const char *said;
	const struct workload *w = database_model(db, "llama3.1-70b", NULL, (struct source){0}, &said);
	const struct stack *s = database_stack(db, a, d, "megatron-core", NULL, (struct source){0}, &said);
	const struct calibration *base = database_calibration(db, "h100-sxm5-80gb", NULL);
	const struct calibration *engine = database_calibration(db, "h100-sxm5-80gb", "vllm");
	struct calibration *c = ARENA_NEW(a, struct calibration);
	struct train_job *jobs = ARENA_ARRAY(a, struct train_job, LAYOUTS);
	struct bench b = {.card_byte = 80e9};
	double share;

	if (!w || !s || !base || !engine) {
		diag_print(d, stderr, false);
		return 1;
	}
	*c = *base;
	c->has_context = true;
	c->context = engine->context;
	struct network_calibration network[N_COLLECTIVES];
	for (int i = 0; i < N_COLLECTIVES; i++)
		network[i] = (struct network_calibration){
		    .hop_s = {.value = 20e-6}, .n_fill = {.value = 2}, .nic_frac = {.value = 0.92}};
	const struct train_job job = {.model = w,
	    .stack = &s->time,
	    .machine = {.kernels = c,
	        .generation = 2,
	        .n_domain = 8,
	        .nic_byte_per_s = 50e9,
	        .network = network,
	        .power_frac = 1},
	    .n_gpus = 1024,
	    .n_global_sequences = 2048,
	    .seq_length = 8192,
	    .dtype = DTYPE_BF16,
	    .attention = s->time.attention,
	    .recompute_n = 1,
	    .imbalance = 1,
	    .head_frac = 1,
	    .optimizer_byte = 30};
	layouts_of(jobs, &job);
	b.memory = (struct memory_job){.use = STACK_TRAIN,
	    .model = w,
	    .stack = s,
	    .batch = {.value = 1},
	    .seq = {.value = 8192},
	    .n_microbatches = {.value = 8},
	    .dtype = DTYPE_BF16,
	    .scheme = s->scheme,
	    .gradient_byte = s->gradient_byte,
	    .recompute_n = 1,
	    .flash = true,
	    .imbalance = {.value = 1},
	    .loss = &s->losses[0],
	    .context_byte = {.value = 2e9},
	    .card_byte = {.value = 80e9}};
	struct train_memo *memo = train_memo_new(a, c);
	if (argc > 1) {
		for (int i = 0; i < LAYOUTS; i++)
			train_memo_use(memo, &jobs[i]);
		for (int n = atoi(argv[1]); n > 0; n--)
			for (int i = 0; i < LAYOUTS; i++)
				predict(&jobs[i], &b);
		arena_free(a);
		return b.sum > 0 ? 0 : 1;
	}
	print("layouts rejected by arithmetic and a floor of memory", rate(reject, jobs, &b, &share));
	printf("  %.0f %% of them are left\n", 100 * share);
	print("steps, every product worked out", rate(predict, jobs, &b, &share));
	for (int i = 0; i < LAYOUTS; i++)
		jobs[i].memo = NULL;
	for (int i = 0; i < LAYOUTS; i++)
		train_memo_use(memo, &jobs[i]);
	print("steps, products remembered by shape", rate(predict, jobs, &b, &share));
	print("steps and memory", rate(predict_both, jobs, &b, &share));
	arena_free(a);
	return b.sum > 0 ? 0 : 1;
}
