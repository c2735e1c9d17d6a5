/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derived from the step time: throughput, MFU, length and energy of a run. */
#include "model/train/parts.h"

#include "model/layer/layer.h"

double
train_step_tokens(struct sheet *sh, double n_global_sequences, double seq_length)
{
	GIVEN(sh, n_global_sequences, seq_length);
	LET(sh, step_token, n_global_sequences * seq_length);
	return step_token;
}

double
train_token_rate(struct sheet *sh, double step_token, double step_s)
{
	GIVEN(sh, step_token, step_s);
	LET(sh, rate_token_per_s, step_token / step_s);
	return rate_token_per_s;
}

double
train_gpu_rate(struct sheet *sh, double rate_token_per_s, double n_gpus)
{
	GIVEN(sh, rate_token_per_s, n_gpus);
	LET(sh, gpu_token_per_s, rate_token_per_s / n_gpus);
	return gpu_token_per_s;
}

double
train_utilisation(struct sheet *sh, double work_flop_per_token, double gpu_token_per_s, double peak_flop_per_s)
{
	GIVEN(sh, work_flop_per_token, gpu_token_per_s, peak_flop_per_s);
	LET(sh, gpu_flop_per_s, work_flop_per_token * gpu_token_per_s);
	LET(sh, utilisation_frac, gpu_flop_per_s / peak_flop_per_s);
	return utilisation_frac;
}

/* Forward FLOP that are done again for each token, over those of a forward pass. */
static double
again_share(const struct train_job *job)
{
	switch (job->recompute) {
	case RECOMPUTE_FULL:
	case RECOMPUTE_UNIFORM:
		return 1;
	case RECOMPUTE_EVERY:
		return 1 / job->recompute_n;
	case RECOMPUTE_OP:
		return 0.5;
	default:
		return 0;
	}
}

double
train_hardware_flop(struct sheet *sh, const struct train_job *job, double model_flop_per_token)
{
	const bool scores = job->recompute == RECOMPUTE_MODULES && job->modules & 1U << MODULE_CORE_ATTN &&
	    job->attention == ATTENTION_UNFUSED;

	GIVEN(sh, model_flop_per_token);
	CALL(sh, forward_flop_per_token,
	    forward_flop(sh, job->model, job->seq_length, job->model->kind == MODEL_DECODER));
	TAKE(sh, again_frac, again_share(job));
	double attention_flop_per_token;
	if (scores) {
		CALL(sh, product_param, multiplied_params(sh, job->model));
		TAKE(sh, flop_per_token_per_param, 2.0);
		SET(sh, attention_flop_per_token, forward_flop_per_token - flop_per_token_per_param * product_param);
	} else
		SET(sh, attention_flop_per_token, 0);
	LET(sh, hardware_flop_per_token,
	    model_flop_per_token + again_frac * forward_flop_per_token + attention_flop_per_token);
	return hardware_flop_per_token;
}

double
train_steps_needed(struct sheet *sh, double budget_token, double step_token)
{
	GIVEN(sh, budget_token, step_token);
	LET(sh, n_steps, ceil(budget_token / step_token));
	return n_steps;
}

double
train_run_time(struct sheet *sh, double n_steps, double step_s)
{
	GIVEN(sh, n_steps, step_s);
	LET(sh, run_s, n_steps * step_s);
	return run_s;
}

double
train_energy(struct sheet *sh, double n_gpus, double gpu_watt, double run_s)
{
	GIVEN(sh, n_gpus, gpu_watt, run_s);
	LET(sh, energy_joule, n_gpus * gpu_watt * run_s);
	return energy_joule;
}
