/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pipeline: the slowest stage sets the pace; the others wait for the first and last micro-batch. */
#include "model/train/parts.h"

/* Start of a send between stages: a prior, not fitted. */
static const double SEND_BASE_S = 15e-6;

/* Chunk c of stage r is entry c pp + r of the list. */
static void
listed_layers(const struct train_job *job, double *fullest, double *last)
{
	const int n_stages = (int)job->layout.pp;

	*fullest = *last = 0;
	for (int stage = 0; stage < n_stages; stage++) {
		double n = 0;
		for (int i = stage; i < job->n_stage_layers; i += n_stages)
			n += job->stage_layers[i];
		*fullest = fmax(*fullest, n);
		*last = n;
	}
}

/* Layers of the fullest stage and of the last one, which has the head too: as listed; else even splits first, then
 * those that count the embedding and the head as a layer each; else the rest is missing at the end. */
static void
stage_layers(const struct train_job *job, double *fullest, double *last)
{
	const double n = job->model->n_layers.value, pp = job->layout.pp, chunks = pp * job->layout.vp;

	if (job->n_stage_layers > 0) {
		listed_layers(job, fullest, last);
		return;
	}
	if (fmod(n, pp) == 0) {
		*fullest = *last = n / pp;
		return;
	}
	if (fmod(n + 2, chunks) == 0 || fmod(n + 2, pp) == 0) {
		*fullest = (n + 2) / pp;
		*last = *fullest - 1;
		return;
	}
	*fullest = ceil(n / pp);
	*last = fmax(1, n - (pp - 1) * *fullest);
}

/* Activations to the next stage and gradients back, for every chunk. */
static double
between_stages(struct sheet *sh, const struct train_job *job)
{
	const struct layout *l = &job->layout;
	const double n = job->n_gpus, g = job->machine.n_domain;
	const bool inside = n / l->pp < g && (n <= g || 2 * n / l->pp <= g);

	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, elem_byte, train_elem_byte(job));
	TAKE(sh, n_slices, job->stack->full_p2p ? 1 : l->tp);
	TAKE(sh, vp, l->vp);
	TAKE(sh, exposed_frac, job->stack->p2p_exposed);
	TAKE(sh, base_s, SEND_BASE_S);
	double neighbour_byte_per_s;
	if (inside) {
		TAKE(sh, link_byte_per_s, job->machine.kernels->collective[COLLECTIVE_ALL_TO_ALL].bus_byte_per_s);
		SET(sh, neighbour_byte_per_s, link_byte_per_s);
	} else {
		FROM_STRUCT(sh, job->machine, nic_byte_per_s, nic_frac);
		SET(sh, neighbour_byte_per_s, nic_byte_per_s * nic_frac);
	}
	LET(sh, p2p_s,
	    2 * vp * exposed_frac * (base_s + n_rows * hidden * elem_byte / n_slices / neighbour_byte_per_s));
	return p2p_s;
}

/*
 * All micro-batches of a step.  With equal stages and no head the bubble is (pp - 1) / (vp m) of the time without it
 * (Narayanan et al., SC 2021, section 2.2).  A zero-bubble schedule fills two thirds of it with weight gradients (Qi et
 * al., arXiv:2401.10241, ZB-H1).
 */
double
train_pipeline(struct sheet *sh, const struct train_job *job, struct train_terms *t)
{
	TAKE(sh, n_layers, job->model->n_layers);
	TAKE(sh, layer_s, t->layer_s);
	TAKE(sh, head_s, t->logits_s);
	TAKE(sh, n_microbatches, t->n_microbatches);
	if (job->layout.pp <= 1) {
		LET(sh, stage_s, n_layers * layer_s + head_s);
		LET(sh, pipeline_s, n_microbatches * stage_s);
		t->stage_s = stage_s;
		t->n_stage_layers = job->model->n_layers.value;
		t->p2p_s = t->bubble_s = 0;
		return t->pipeline_s = pipeline_s;
	}
	double fullest, last, stage_s;
	CALL(sh, p2p_s, between_stages(sh, job));
	FROM_STRUCT(sh, job->layout, pp, vp);
	if (job->balanced_stages && job->n_stage_layers == 0) {
		SET(sh, stage_s, (n_layers * layer_s + head_s) / pp + p2p_s);
		fullest = job->model->n_layers.value / job->layout.pp;
	} else {
		stage_layers(job, &fullest, &last);
		TAKE(sh, n_full_layers, fullest);
		TAKE(sh, n_last_layers, last);
		SET(sh, stage_s, fmax(n_full_layers * layer_s, n_last_layers * layer_s + head_s) + p2p_s);
	}
	TAKE(sh, bubble_frac, job->zero_bubble ? 1.0 / 3.0 : 1.0);
	LET(sh, bubble_s, bubble_frac * (fmax(0, n_layers * layer_s + head_s + pp * p2p_s - stage_s) / vp));
	LET(sh, pipeline_s, n_microbatches * stage_s + bubble_s);
	t->stage_s = stage_s;
	t->n_stage_layers = fullest;
	t->p2p_s = p2p_s;
	t->bubble_s = bubble_s;
	return t->pipeline_s = pipeline_s;
}
