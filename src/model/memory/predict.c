/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Multi-token prediction in training (DeepSeek-AI, arXiv:2412.19437, section 2.2), as Megatron-Core has it
 * (transformer/multi_token_prediction.py): after the last layer, each module joins the stream and the embedding of the
 * next token by a projection of both, and has a layer like the last, a norm, and the model's head.  Token table and
 * head are shared, which on another stage than the first takes a copy of the table.
 */
#include "model/memory/parts.h"

#include <math.h>

static double
modules(const struct memory_job *job)
{
	return fmin(job->n_mtp, datum_or(job->model->n_mtp_modules, job->n_mtp));
}

double
predicted_layers(const struct memory_job *job, int stage, int block)
{
	int mixer, feed;

	if (!job_predicts(job, stage))
		return 0;
	workload_last_layer(job->model, &mixer, &feed);
	return block == mixer || block == feed ? modules(job) : 0;
}

double
prediction_linear(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, n_modules, modules(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, tp, job->layout.tp);
	LET(sh, projection_param, n_modules * 2 * hidden * hidden / tp);
	return projection_param;
}

double
prediction_other(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, n_modules, modules(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, n_table_copies, job->layout.pp > 1 ? 1.0 : 0.0);
	TAKE(sh, vocabulary, datum_or(job->model->vocab, 0));
	TAKE(sh, n_shards, job_shards(job));
	LET(sh, shared_param, n_modules * 3 * hidden + n_table_copies * vocabulary * hidden / n_shards);
	return shared_param;
}

/* What is joined, before the norms and behind them; the layer's output and what the head reads. */
static double
joined_byte(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, input_byte, job_input_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	LET(sh, joined_byte_per_token, (4 * elem_byte + 2 * input_byte) * hidden / norm_shards);
	return joined_byte_per_token;
}

/* They come last and go first: at the loss those of one micro-batch are there, at the first backward layer none. */
double
prediction_activations(struct sheet *sh, const struct memory_job *job, int stage)
{
	int mixer, feed;

	workload_last_layer(job->model, &mixer, &feed);
	CALL(sh, n_tokens, memory_tokens(sh, job));
	TAKE(sh, n_mtp_layers, job->n_mtp);
	CALL(sh, mixer_byte_per_token, memory_layer_kept(sh, job, &job->model->blocks[mixer]));
	double feed_byte_per_token;
	if (feed != mixer)
		SET_CALL(sh, feed_byte_per_token, memory_layer_kept(sh, job, &job->model->blocks[feed]));
	else
		SET(sh, feed_byte_per_token, 0);
	CALL(sh, joined_byte_per_token, joined_byte(sh, job));
	double n_in_flight;
	if (job->gpipe && job->layout.pp > 1)
		SET_CALL(sh, n_in_flight, memory_in_flight(sh, job, stage));
	else
		SET(sh, n_in_flight, 1);
	LET(sh, predicted_byte,
	    n_in_flight * n_mtp_layers * n_tokens *
	        (mixer_byte_per_token + feed_byte_per_token + joined_byte_per_token));
	return predicted_byte;
}

/* Its losses come first and keep a softmax or a gradient in fp32, or in the place of the logits. */
double
prediction_logit_byte(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, n_mtp_layers, job->n_mtp);
	TAKE(sh, kept_byte, fmin(4, job->loss->logit_byte.value));
	LET(sh, waiting_byte, n_mtp_layers * kept_byte);
	return waiting_byte;
}
