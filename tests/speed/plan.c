/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench-plan    layouts a second on one core: step and memory of each, as a front over both needs them
 * bench-plan N  N of them for the dense model, for a count of instructions; prints how many layouts one has
 */
#include "base/base.h"
#include "db/db.h"
#include "search/layout/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Calculon, the fastest published search over layouts: 232 to 2,252 configurations a second and core. */
static const double CALCULON_LOW = 232, CALCULON_HIGH = 2252;

struct bench {
	struct arena *arena;
	struct database *database;
	struct diag *diag;
	struct calibration *kernels;
	const struct stack *stack;
	struct network_calibration network[N_COLLECTIVES];
};

static struct layout_space
space_of(struct bench *b, const char *model, double n_gpus, double n_sequences, double seq_length)
{
	const char *said;
	const struct workload *w = database_model(b->database, model, NULL, (struct source){0}, &said);
	struct layout_space s = {.modeled = true, .goal = GOAL_FRONT, .n_rows = 1, .n_threads = 1};

	s.memory = (struct memory_job){.use = STACK_TRAIN,
	    .model = w,
	    .stack = b->stack,
	    .layout = {.dp = 1, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .etp = 1},
	    .batch = {.value = 1},
	    .seq = {.value = seq_length},
	    .n_microbatches = {.value = 1},
	    .dtype = DTYPE_BF16,
	    .scheme = b->stack->scheme,
	    .gradient_byte = b->stack->gradient_byte,
	    .recompute_n = 1,
	    .flash = true,
	    .imbalance = {.value = 1},
	    .loss = &b->stack->losses[0],
	    .context_byte = {.value = 2e9},
	    .card_byte = {.value = 80e9}};
	s.ask.machine = (struct train_machine){.kernels = b->kernels,
	    .generation = 2,
	    .n_domain = 8,
	    .nic_byte_per_s = 50e9,
	    .network = b->network,
	    .power_frac = 1};
	s.ask.attention = N_ATTENTION_FORMS;
	s.ask.dispatcher = DISPATCH_OPEN;
	s.ask.optimizer_byte = 30;
	s.ask.packed_length = s.ask.n_mtp = datum_absent();
	s.n_gpus = n_gpus;
	s.n_global_sequences = n_sequences;
	layout_policies(&s);
	return s;
}

/* Searches until half a second of CPU has passed; returns layouts a second. */
static double
rate(const struct layout_space *s)
{
	const clock_t began = clock();
	double n = 0;

	do {
		struct arena *a = arena_new();
		struct layout_result found;
		layout_search(a, s, &found);
		n += found.n_searched;
		arena_free(a);
	} while (clock() - began < CLOCKS_PER_SEC / 2);
	return n / ((double)(clock() - began) / CLOCKS_PER_SEC);
}

static void
print(const char *what, const struct layout_space *s)
{
	const double per_s = rate(s);

	printf("%-58s %10.0f /s   %.0f to %.0f times Calculon's published rates\n", what, per_s, per_s / CALCULON_HIGH,
	    per_s / CALCULON_LOW);
}

int
main(int argc, char **argv)
{
	struct bench b = {.arena = arena_new()};
	const char *said;

	b.diag = diag_new(b.arena);
	b.database = database_new(b.arena, b.diag, ".");
	b.stack = database_stack(b.database, b.arena, b.diag, "megatron-core", NULL, (struct source){0}, &said);
	const struct calibration *base = database_calibration(b.database, "h100-sxm5-80gb", NULL);
	const struct calibration *engine = database_calibration(b.database, "h100-sxm5-80gb", "vllm");
	if (!b.stack || !base || !engine) {
		diag_print(b.diag, stderr, false);
		return 1;
	}
	b.kernels = ARENA_NEW(b.arena, struct calibration);
	*b.kernels = *base;
	b.kernels->has_context = true;
	b.kernels->context = engine->context;
	for (int i = 0; i < N_COLLECTIVES; i++)
		b.network[i] = (struct network_calibration){
		    .hop_s = {.value = 20e-6}, .n_fill = {.value = 2}, .nic_frac = {.value = 0.92}};
	struct layout_space dense = space_of(&b, "llama3.1-70b", 1024, 2048, 8192);
	struct layout_space experts = space_of(&b, "qwen3-235b-a22b", 512, 4096, 4096);
	dense.memos = experts.memos = layout_memos_new(b.arena, b.kernels);
	struct layout_result found = {0};
	if (argc > 1) {
		for (int n = atoi(argv[1]); n > 0; n--)
			layout_search(b.arena, &dense, &found);
		printf("%.0f\n", found.n_searched);
	} else {
		print("plan: step and memory, 70B on 1024 GPUs", &dense);
		print("plan: step and memory, 235B with experts on 512 GPUs", &experts);
	}
	layout_memos_free(dense.memos);
	arena_free(b.arena);
	return 0;
}
