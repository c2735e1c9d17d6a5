/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "search/plan/plan.h"

#include <math.h>

static const char *const texts[N_GAINS] = {"10 % more memory bandwidth", "10 % more compute", "10 % more NVLink",
    "10 % more network", "micro-batch x 2", "global batch x 2", "sequence length + 10 %"};

static const double MORE = 1.1;

const char *
train_gain_text(enum train_gain g)
{
	return texts[g];
}

static void
scale_products(struct calibration *c, bool memory)
{
	for (int t = 0; t < N_DTYPES; t++) {
		struct gemm_calibration *g = &c->gemm[t];
		if (memory)
			g->mem_byte_per_s.value *= MORE;
		else {
			g->peak_flop_per_s.value *= MORE;
			g->feed_byte_per_s.value *= MORE;
			g->l2_byte_per_s.value *= MORE;
			g->k_step_s.value /= MORE;
		}
	}
}

static double
rate_of(const struct train_job *job)
{
	struct train_terms t;

	if (train_impossible(job) != TRAIN_ANSWERED)
		return NAN;
	return job->n_global_sequences * job->seq_length / train_step(NULL, job, &t);
}

double
train_gain(const struct train_job *job, enum train_gain g)
{
	struct train_job other = *job;
	struct calibration c = *job->machine.kernels;

	other.gemm = NULL;
	other.machine.kernels = &c;
	switch (g) {
	case GAIN_MEMORY:
		scale_products(&c, true);
		break;
	case GAIN_ARITHMETIC:
		scale_products(&c, false);
		c.context.flop_per_s.value *= MORE;
		c.context.block_s.value /= MORE;
		break;
	case GAIN_LINK:
		for (int i = 0; i < N_COLLECTIVES; i++)
			c.collective[i].bus_byte_per_s.value *= MORE;
		break;
	case GAIN_NETWORK:
		other.machine.nic_byte_per_s *= MORE;
		break;
	case GAIN_MICRO_BATCH:
		if (fmod(train_microbatches(NULL, job), 2) != 0)
			return NAN;
		other.n_sequences *= 2;
		break;
	case GAIN_BATCH:
		other.n_global_sequences *= 2;
		break;
	case GAIN_SEQUENCE:
		other.seq_length = ceil(MORE * job->seq_length / job->layout.cp) * job->layout.cp;
		break;
	case N_GAINS:
		break;
	}
	return rate_of(&other) / rate_of(job);
}
