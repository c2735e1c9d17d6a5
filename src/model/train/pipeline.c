/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pipeline: the slowest stage sets the pace; the others wait for the first and last micro-batch. */
#include "model/train/parts.h"

/* Start of a send between stages, and what of sends is waited for where the pipeline is full: priors.  Published steps
 * do not tell: from 0 to 0.5 their mean error moves by 0.1 points. */
static const double SEND_BASE_S = 15e-6, SEND_EXPOSED = 0.3;

/* --- stages ---------------------------------------------------------------------------------------------- */

/* What lies on the first stage, on one in the middle and on the last, in layers; without stages in the middle these are
 * those of the first. */
struct split {
	double first, middle, last;
};

/* Times of a layer: those that lead a mixture of experts without having any, and the mean of all others. */
struct kinds {
	double n_lead, lead_s, rest_s, head_s;
};

/* At most this share of a mixture's layers lead it as dense ones; where more have no experts, kinds alternate. */
static const double MOST_LEAD = 1.0 / 8;

static struct kinds
kinds_of(const struct train_job *job, double layers_s, const double kind_s[], double head_s)
{
	const struct block *first = &job->model->blocks[0];
	const double n = job->model->n_layers.value, count = first->count.value;
	const bool leads = !train_routes(first) && train_has_experts(job->model) && count <= MOST_LEAD * n &&
	    !workload_alternates(job->model);
	const double n_lead = leads ? count : 0;

	return (struct kinds){n_lead, kind_s[0], (layers_s - n_lead * kind_s[0]) / (n - n_lead), head_s};
}

/* Chunk c of stage r is entry c pp + r of the list. */
static double
listed_layers(const struct train_job *job, int stage)
{
	double n = 0;

	for (int i = stage; i < job->n_stage_layers; i += (int)job->layout.pp)
		n += job->stage_layers[i];
	return n;
}

static struct split
listed_split(const struct train_job *job)
{
	const int n_stages = (int)job->layout.pp;
	struct split s = {listed_layers(job, 0), 0, listed_layers(job, n_stages - 1)};

	for (int i = 1; i < n_stages - 1; i++)
		s.middle = fmax(s.middle, listed_layers(job, i));
	return s;
}

static double
first_time(const struct split *s, const struct kinds *k)
{
	const double n_lead = fmin(k->n_lead, s->first);

	return n_lead * k->lead_s + (s->first - n_lead) * k->rest_s;
}

static double
slowest_time(const struct split *s, const struct kinds *k)
{
	return fmax(fmax(first_time(s, k), s->middle * k->rest_s), s->last * k->rest_s + k->head_s);
}

/* Where the layers do not come out even, people write the split down: the one whose slowest stage is fastest, with as
 * few layers beside the head as its time is worth. */
static struct split
written_split(double n, double pp, const struct kinds *k)
{
	struct split best = {0, 0, 0};
	double best_s = INFINITY;

	for (double last = floor(n / pp); last >= 0; last--) {
		const double most = ceil((n - last) / (pp - 1));
		const struct split s = {
		    n - last - (pp - 2) * most > 0 ? n - last - (pp - 2) * most : most, pp > 2 ? most : 0, last};
		const double time_s = slowest_time(&s, k);
		if (time_s >= best_s)
			break;
		best = s;
		best_s = time_s;
	}
	return best;
}

/* As listed; else equal; else equal with the embedding and the head counted as a layer each, as Megatron-LM can
 * (account_for_embedding_in_pipeline_split and ..loss..); else as somebody would write it. */
static struct split
split_of(const struct train_job *job, const struct kinds *k)
{
	const double n = job->model->n_layers.value, pp = job->layout.pp, chunks = pp * job->layout.vp;

	if (job->n_stage_layers > 0)
		return listed_split(job);
	if (fmod(n, pp) == 0)
		return (struct split){n / pp, pp > 2 ? n / pp : 0, n / pp};
	if (fmod(n + 2, chunks) == 0 || fmod(n + 2, pp) == 0)
		return (struct split){(n + 2) / pp - 1, pp > 2 ? (n + 2) / pp : 0, (n + 2) / pp - 1};
	return written_split(n, pp, k);
}

/* The stage that takes longest: the first with its dense layers, one in the middle, or the last with the head. */
static double
slowest_stage(struct sheet *sh, const struct train_job *job, const struct kinds *k, double *n)
{
	const struct split s = split_of(job, k);
	const double first_s = first_time(&s, k), middle_s = s.middle * k->rest_s;
	const double last_s = s.last * k->rest_s + k->head_s;
	const bool is_last = last_s >= fmax(first_s, middle_s), is_first = !is_last && first_s > middle_s;

	*n = is_last ? s.last : is_first ? s.first : s.middle;
	TAKE(sh, n_dense_layers, is_first ? fmin(k->n_lead, s.first) : 0);
	TAKE(sh, dense_layer_s, k->lead_s);
	TAKE(sh, n_stage_layers, *n);
	TAKE(sh, rest_layer_s, k->rest_s);
	TAKE(sh, head_s, is_last ? k->head_s : 0);
	LET(sh, slowest_s, n_dense_layers * dense_layer_s + (n_stage_layers - n_dense_layers) * rest_layer_s + head_s);
	return slowest_s;
}

/* --- the pipeline ---------------------------------------------------------------------------------------- */

/* Chunks that a stage runs while the pipeline fills, as a share of all, in the mean over stages.  Interleaved stages
 * run all forward passes first where there are just as many micro-batches as stages (Megatron-LM,
 * core/pipeline_parallel/schedules.py). */
static double
filling(const struct layout *l, double n_microbatches)
{
	const double n_chunks = l->vp * n_microbatches;

	if (l->vp > 1 && n_microbatches <= l->pp)
		return 1;
	return fmin(1, (l->pp - 1 + (l->vp - 1) * l->pp) / n_chunks);
}

/* One chunk's activations.  Stages lie side by side: of the pp sends around the pipeline as many leave a domain as
 * there are domains. */
static double
send_time(struct sheet *sh, const struct train_job *job)
{
	const double g = job->machine.n_domain;

	CALL(sh, n_rows, train_rows(sh, job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, elem_byte, train_elem_byte(job));
	TAKE(sh, n_slices, job->layout.tp);
	LET(sh, size_byte, n_rows * hidden * elem_byte / n_slices);
	TAKE(sh, base_s, SEND_BASE_S);
	TAKE(sh, network_frac, job->n_gpus > g ? fmin(1, ceil(job->n_gpus / g) / job->layout.pp) : 0);
	CALL(sh, moved_s, train_send(sh, job, size_byte, network_frac));
	LET(sh, send_s, base_s + moved_s);
	return send_s;
}

/* Activations to the next stage and gradients back, for every chunk.  Only interleaved stages have another chunk to
 * run beside them, and only once the pipeline is full: overlap_p2p_comm leaves fill and drain alone. */
static double
between_stages(struct sheet *sh, const struct train_job *job, double n_microbatches)
{
	const struct layout *l = &job->layout;

	CALL(sh, send_s, send_time(sh, job));
	TAKE(sh, vp, l->vp);
	TAKE(sh, filling_frac, l->vp > 1 ? filling(l, n_microbatches) : 1);
	TAKE(sh, full_exposed_frac, SEND_EXPOSED);
	LET(sh, exposed_frac, filling_frac + (1 - filling_frac) * full_exposed_frac);
	LET(sh, p2p_s, 2 * vp * exposed_frac * send_s);
	return p2p_s;
}

/*
 * All micro-batches of a step.  With equal stages and no head the bubble is (pp - 1) / (vp m) of the time without it
 * (Narayanan et al., SC 2021, section 2.2).  A zero-bubble schedule fills two thirds of it with weight gradients (Qi et
 * al., arXiv:2401.10241, ZB-H1).
 */
double
train_pipeline(
    struct sheet *sh, const struct train_job *job, double layers_s, const double kind_s[], struct train_terms *t)
{
	GIVEN(sh, layers_s);
	TAKE(sh, head_s, t->logits_s);
	TAKE(sh, n_microbatches, t->n_microbatches);
	if (job->layout.pp <= 1) {
		LET(sh, stage_s, layers_s + head_s);
		LET(sh, pipeline_s, n_microbatches * stage_s);
		t->stage_s = stage_s;
		t->n_stage_layers = job->model->n_layers.value;
		t->p2p_s = t->bubble_s = 0;
		return t->pipeline_s = pipeline_s;
	}
	const bool balanced = job->balanced_stages && job->n_stage_layers == 0;
	const struct kinds kinds = kinds_of(job, layers_s, kind_s, t->logits_s);
	double stage_s, n_stage_layers = job->model->n_layers.value / job->layout.pp;
	CALL(sh, p2p_s, between_stages(sh, job, n_microbatches));
	FROM_STRUCT(sh, job->layout, pp, vp);
	if (balanced)
		SET(sh, stage_s, (layers_s + head_s) / pp + p2p_s);
	else {
		CALL(sh, slowest_s, slowest_stage(sh, job, &kinds, &n_stage_layers));
		SET(sh, stage_s, slowest_s + p2p_s);
	}
	TAKE(sh, bubble_frac, job->zero_bubble ? 1.0 / 3.0 : 1.0);
	LET(sh, bubble_s, bubble_frac * (fmax(0, layers_s + head_s + pp * p2p_s - stage_s) / vp));
	LET(sh, pipeline_s, n_microbatches * stage_s + bubble_s);
	t->stage_s = stage_s;
	t->n_stage_layers = n_stage_layers;
	t->p2p_s = p2p_s;
	t->bubble_s = bubble_s;
	return t->pipeline_s = pipeline_s;
}
