/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What training leaves in the memory of its host. */
#include "model/memory/parts.h"

bool
memory_uses_host(const struct memory_job *job)
{
	return job->use == STACK_TRAIN && (job->offload || job->offload_modules || job->recompute == RECOMPUTE_OFFLOAD);
}

/* The first stage of the job at the beginning of its backward pass, when most waits; or of the same job with all of it
 * on the GPU. */
static struct memory_use
first_stage(const struct memory_job *job, bool all_on_gpu)
{
	struct memory_job of = *job;
	struct memory_use use;

	of.memo = NULL;
	if (all_on_gpu) {
		of.offload = of.offload_modules = 0;
		if (of.recompute == RECOMPUTE_OFFLOAD)
			of.recompute = RECOMPUTE_NONE;
	}
	memory_at(NULL, &of, 0, MOMENT_BACKWARD, &use);
	return use;
}

double
memory_host(struct sheet *sh, const struct memory_job *job)
{
	const struct memory_use whole = first_stage(job, true), kept = first_stage(job, false);

	TAKE(sh, weights_away_byte, whole.weights - kept.weights);
	TAKE(sh, optimizer_away_byte, whole.optimizer - kept.optimizer);
	TAKE(sh, activations_away_byte, whole.activations - kept.activations);
	LET(sh, away_byte, weights_away_byte + optimizer_away_byte + fmax(0, activations_away_byte));
	return away_byte;
}

double
memory_host_node(struct sheet *sh, const struct memory_job *job)
{
	const struct layout *l = &job->layout;

	TAKE(sh, n_node_gpus, fmin(job->n_host_gpus, l->dp * l->tp * l->pp * l->cp));
	CALL(sh, away_byte, memory_host(sh, job));
	LET(sh, node_away_byte, n_node_gpus * away_byte);
	return node_away_byte;
}

bool
memory_host_is_full(const struct memory_job *job)
{
	return memory_uses_host(job) && datum_given(job->host_byte) &&
	    memory_host_node(NULL, job) > job->host_byte.value;
}
