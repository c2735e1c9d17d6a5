/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "law/training.h"

#include "db/db.h"

#include <stdlib.h>

enum { MOST = 600 };

struct trainings {
	size_t n_models, n_stacks, n_kernels;
	const struct workload *models[MOST];
	const struct stack *stacks[MOST];
	const struct calibration *kernels[MOST];
};

/* A GPU whose products and collectives were fitted, with the attention of an engine, or a made up one. */
static const struct calibration *
kernels_of(struct arena *a, struct database *db, const char *id)
{
	const struct calibration *base = database_calibration(db, id, NULL),
	                         *engine = database_calibration(db, id, "vllm");
	struct calibration *c = ARENA_NEW(a, struct calibration);

	if (!base || !gemm_calibrated(base, DTYPE_BF16) || !base->has_collective[COLLECTIVE_ALL_TO_ALL])
		return NULL;
	*c = *base;
	c->gemm[DTYPE_FP8] = c->gemm[DTYPE_BF16];
	c->gemm[DTYPE_FP8].peak_flop_per_s.value *= 2;
	if (engine && engine->has_context)
		c->context = engine->context;
	if (!engine || !engine->has_context)
		c->context.flop_per_s = c->context.block_s = c->gemm[DTYPE_BF16].peak_flop_per_s;
	c->context.block_s.value = 1e-6;
	c->has_context = true;
	return c;
}

struct trainings *
trainings_new(struct arena *a, struct diag *d, struct database *db)
{
	struct trainings *t = ARENA_NEW(a, struct trainings);
	size_t n;
	const char *said, **ids = database_list(db, ENTRY_MODEL, &n);

	for (size_t i = 0; i < n && t->n_models < MOST; i++) {
		const struct workload *w = database_model(db, ids[i], NULL, (struct source){0}, &said);
		if (w && !train_lacks(w))
			t->models[t->n_models++] = w;
	}
	ids = database_list(db, ENTRY_STACK, &n);
	for (size_t i = 0; i < n && t->n_stacks < MOST; i++) {
		const struct stack *s = database_stack(db, a, d, ids[i], NULL, (struct source){0}, &said);
		if (s && s->use == STACK_TRAIN && s->time.given)
			t->stacks[t->n_stacks++] = s;
	}
	ids = database_list(db, ENTRY_CALIBRATION, &n);
	for (size_t i = 0; i < n && t->n_kernels < MOST; i++) {
		const struct calibration *c = kernels_of(a, db, ids[i]);
		if (c)
			t->kernels[t->n_kernels++] = c;
	}
	return t;
}

static double
power_of_two(unsigned seed, const char *name, unsigned n)
{
	return (double)(1U << draw_choice(seed, name, n));
}

/* One that is reached like the fabrics of hwdb/calibration. */
static const struct network_calibration *
some_network(struct arena *a)
{
	struct network_calibration *all = ARENA_ARRAY(a, struct network_calibration, N_COLLECTIVES);

	for (int i = 0; i < N_COLLECTIVES; i++)
		all[i] = (struct network_calibration){
		    .hop_s = {20e-6, {0}}, .n_fill = {3.4, {0}}, .nic_frac = {0.92, {0}}, .tree_frac = {0.78, {0}}};
	return all;
}

const struct train_job *
training_make(const struct trainings *t, struct arena *a, unsigned seed)
{
	static const enum recompute policies[] = {
	    RECOMPUTE_NONE, RECOMPUTE_FULL, RECOMPUTE_EVERY, RECOMPUTE_OP, RECOMPUTE_MODULES, RECOMPUTE_OFFLOAD};
	static const enum dtype types[] = {DTYPE_BF16, DTYPE_BF16, DTYPE_FP8, DTYPE_MXFP8};
	struct train_job *job = ARENA_NEW(a, struct train_job);

	if (t->n_models == 0 || t->n_stacks == 0 || t->n_kernels == 0)
		abort();
	const struct stack *stack = t->stacks[seed % t->n_stacks];
	*job = (struct train_job){.model = t->models[draw_choice(seed, "model", (unsigned)t->n_models)],
	    .stack = &stack->time,
	    .machine = {.kernels = t->kernels[seed % t->n_kernels],
	        .generation = (int)draw_choice(seed, "generation", 4),
	        .n_domain = power_of_two(seed, "domain", 7),
	        .host_byte_per_s = 50e9,
	        .nic_byte_per_s = 25e9,
	        .network = some_network(a),
	        .pair_byte_per_s = seed % 16 == 3 ? 6.7e9 : 0,
	        .power_frac = seed % 4 ? 1 : 0.8},
	    .layout = {.dp = power_of_two(seed, "dp", 7),
	        .tp = power_of_two(seed, "tp", 4),
	        .pp = power_of_two(seed, "pp", 4),
	        .vp = power_of_two(seed, "vp", 2),
	        .cp = power_of_two(seed, "cp", 3),
	        .etp = 1,
	        .zero = (int)draw_choice(seed, "zero", 4),
	        .sp = seed % 2},
	    .n_sequences = power_of_two(seed, "micro-batch", 4),
	    .seq_length = 128 * power_of_two(seed, "sequence", 9),
	    .packed_length = seed % 8 == 5 ? 100 : 0,
	    .dtype = types[draw_choice(seed, "type", 4)],
	    .compiled = seed % 3 == 0,
	    .dropout = seed % 5 == 0,
	    .attention = (enum attention_form)draw_choice(seed, "attention", N_ATTENTION_FORMS),
	    .recompute = policies[draw_choice(seed, "policy", 6)],
	    .recompute_n = 2,
	    .away_row_byte = seed % 6 ? 0 : 2e5,
	    .modules = draw_choice(seed, "modules", 1U << N_MODULES),
	    .adapters = seed % 9 == 0,
	    .base_byte = seed % 18 == 0 ? 0.5 : 0,
	    .imbalance = 1,
	    .head_frac = 1,
	    .n_mtp = seed % 7 == 0,
	    .dedup = draw_choice(seed, "dedup", 2),
	    .context = (enum context_form)draw_choice(seed, "context", 3),
	    .zero_bubble = draw_choice(seed, "bubbles", 2),
	    .balanced_stages = draw_choice(seed, "balanced", 2),
	    .optimizer_byte = 30};
	struct layout *l = &job->layout;
	l->ep = fmin(power_of_two(seed, "ep", 7), l->dp * l->cp * l->tp);
	if (l->pp > job->model->n_layers.value)
		l->pp = 1;
	job->n_gpus = l->dp * l->tp * l->pp * l->cp;
	job->n_global_sequences = job->n_sequences * l->dp * power_of_two(seed, "micro-batches", 6);
	return job;
}

const struct block *
training_routed(const struct trainings *t, unsigned seed)
{
	for (size_t i = 0; i < t->n_models; i++) {
		const struct workload *w = t->models[(seed + i) % t->n_models];
		for (int k = 0; k < w->n_blocks; k++)
			if (w->blocks[k].moe.given)
				return &w->blocks[k];
	}
	abort();
}
