/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A GPU, a model and a framework for tests of the training step. */
#ifndef RIDGE_TESTS_TRAIN_SCENE_H
#define RIDGE_TESTS_TRAIN_SCENE_H

#include "train_world.h"

/* A world of one GPU, one model and one framework. */
struct scene {
	struct calibration c;
	struct block blocks[MOST_BLOCKS];
	struct workload w;
	struct stack_time stack;
	struct train_job job;
};

static inline struct train_job *
scene_of(struct scene *s, const struct test_shape *shape, enum gpu_id gpu, enum framework f, double n_gpus)
{
	const int generation = calibration_of(gpu, &s->c);

	workload_of(shape, s->blocks, &s->w);
	s->stack = framework_of(f);
	s->job = (struct train_job){.model = &s->w,
	    .stack = &s->stack,
	    .machine = {.kernels = &s->c,
	        .generation = generation,
	        .n_domain = 8,
	        .nic_byte_per_s = 50e9,
	        .network = network_of(0.85),
	        .power_frac = 1},
	    .layout = {.dp = n_gpus, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .etp = 1},
	    .n_gpus = n_gpus,
	    .n_global_sequences = 64 * n_gpus,
	    .n_sequences = 1,
	    .seq_length = 4096,
	    .dtype = DTYPE_BF16,
	    .attention = s->stack.attention,
	    .recompute_n = 1,
	    .imbalance = 1,
	    .head_frac = 1,
	    .optimizer_byte = 30};
	return &s->job;
}

static inline struct train_terms
terms_of(const struct train_job *job)
{
	struct train_terms t;

	train_step(NULL, job, &t);
	return t;
}

static inline void
stages(struct train_job *job, double pp, double vp)
{
	job->layout.pp = pp;
	job->layout.vp = vp;
	job->layout.dp = job->n_gpus / (pp * job->layout.tp * job->layout.cp);
}

#define NEAR(a, b) ck_assert_double_eq_tol((a), (b), 1e-9 * fmax(fabs(a), fabs(b)))

#endif
