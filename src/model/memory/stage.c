/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipeline stages: their layers, micro-batches in flight, parameters of a rank, saved and recomputed activations. */
#include "model/memory/parts.h"

#include <assert.h>

/* --- which layers ---------------------------------------------------------------------------------------- */

/* How n_layers are spread over n_stages.  Where they do not divide, the last and the first stage have fewer in turn
 * (they also hold the head and the embedding), then the stages before the last.  With more stages than layers those two
 * have none: the embedding and the loss are stages by themselves. */
struct split {
	int n_layers, n_stages;
	int most, first,
	    whole; /* layers of a stage; those that the first lacks; stages before the ones that lack one */
};

static struct split
split_of(const struct memory_job *job)
{
	struct split s = {(int)job->model->n_layers.value, (int)(job->layout.pp * job->layout.vp), 0, 0, 0};

	s.most = (s.n_layers + s.n_stages - 1) / s.n_stages;
	const int spare = s.n_stages * s.most - s.n_layers;
	const int fewer = s.n_stages > s.n_layers ? s.most : s.most - 1; /* that an end may have */
	const int last = spare / 2 + spare % 2 < fewer ? spare / 2 + spare % 2 : fewer;
	s.first = spare / 2 < fewer ? spare / 2 : fewer;
	s.whole = s.n_stages - 1 - (spare - s.first - last);
	return s;
}

/* First layer of (virtual) stage v. */
static inline int
even_start(const struct split *s, int v)
{
	if (v == 0)
		return 0;
	if (v == s->n_stages)
		return s->n_layers;
	return v * s->most - s->first - (v > s->whole ? v - s->whole : 0);
}

static int
listed_start(const struct memory_job *job, int v)
{
	int start = 0;

	for (int i = 0; i < v; i++)
		start += job->stage_layers[i];
	return start;
}

static inline int
overlap(int a_start, int a_end, int b_start, int b_end)
{
	const int start = a_start > b_start ? a_start : b_start, end = a_end < b_end ? a_end : b_end;

	return end > start ? end - start : 0;
}

int
memory_chunk_layers(const struct memory_job *job, int chunk)
{
	const struct split split = split_of(job);

	return job->n_stage_layers ? job->stage_layers[chunk]
	                           : even_start(&split, chunk + 1) - even_start(&split, chunk);
}

/* Chunk c of stage r is virtual stage c p + r (Narayanan et al., SC 2021, section 2.2). */
static int
layers_between(const struct memory_job *job, int stage, int start, int end)
{
	const int n_stages = (int)job->layout.pp, n_chunks = (int)job->layout.vp;
	const struct split split = split_of(job);
	int n = 0;

	for (int v = stage; v < n_chunks * n_stages; v += n_stages)
		n += job->n_stage_layers ? overlap(start, end, listed_start(job, v), listed_start(job, v + 1))
		                         : overlap(start, end, even_start(&split, v), even_start(&split, v + 1));
	return n;
}

/* Kinds that take turns are on every stage, in their shares of the model. */
double
memory_stage_layers(const struct memory_job *job, int stage, int block)
{
	const struct workload *w = job->model;
	const double count = w->blocks[block].count.value;
	int start = 0;

	if (workload_alternates(w))
		return layers_between(job, stage, 0, (int)w->n_layers.value) * count / w->n_layers.value;
	for (int i = 0; i < block; i++)
		start += (int)w->blocks[i].count.value;
	return layers_between(job, stage, start, start + (int)count);
}

/* 1F1B: stage r has p - r micro-batches in flight, never more than there are.  Interleaved: the warm-up of
 * 2 (p-r-1) + (v-1) p chunks and the one in work (Narayanan et al., SC 2021); for r = 0 this is p (1 + (p-1)/(p v)) of
 * Korthikanti et al., arXiv:2205.05198, section 4.2.3.  GPipe: all of them (Huang et al., NeurIPS 2019). */
double
memory_in_flight(struct sheet *sh, const struct memory_job *job, int stage)
{
	double n_in_flight;
	if (job->layout.pp < 2) {
		SET(sh, n_in_flight, 1);
		return n_in_flight;
	}
	TAKE(sh, pp, job->layout.pp);
	TAKE(sh, rank, stage);
	double n_wanted;
	if (job->gpipe)
		SET(sh, n_wanted, pp);
	else if (job->layout.vp > 1) {
		TAKE(sh, vp, job->layout.vp);
		LET(sh, n_chunks, 2 * (pp - rank - 1) + (vp - 1) * pp + 1);
		SET(sh, n_wanted, n_chunks / vp);
	} else
		SET(sh, n_wanted, pp - rank);
	if (datum_given(job->n_microbatches)) {
		TAKE(sh, n_microbatches, job->n_microbatches);
		if (job->gpipe)
			SET(sh, n_in_flight, n_microbatches);
		else
			SET(sh, n_in_flight, fmin(n_wanted, n_microbatches));
	} else
		SET(sh, n_in_flight, n_wanted);
	return n_in_flight;
}

/* --- sums that were worked out before --------------------------------------------------------------------- */

/* Of all sums only what is kept and what comes back follow from what is computed again or offloaded. */
static struct memory_memo_entry *
entry_of(const struct memory_job *job, int stage, enum stage_sum sum)
{
	const bool again = sum == STAGE_KEPT || sum == STAGE_RETURNED;
	const unsigned vp = (unsigned)(int)job->layout.vp, policy = again ? (unsigned)job->recompute + 1 : 0;
	const unsigned modules = again ? job->modules | job->offload_modules << N_MODULES : 0;
	const uint64_t key = (uint64_t)(modules << 8 | policy) << 32 | vp << 16 | (unsigned)stage;
	const double n = again ? job->recompute_n : 0;
	const unsigned place = (unsigned)stage + 5 * vp + 41 * policy + 7 * (unsigned)(int)n + 11 * modules;
	struct memory_memo_entry *e = &job->memo->entries[place % MEMORY_MEMO_SIZE];

	if (e->key != key || e->recompute_n != n) {
		*e = (struct memory_memo_entry){.key = key, .recompute_n = n};
		for (int i = 0; i < N_STAGE_SUMS; i++)
			e->sums[i] = NAN;
	}
	return e;
}

double
memory_remembered(struct sheet *sh, const struct memory_job *job, int stage, enum stage_sum sum, stage_sum_fn *work)
{
	if (sh || !job->memo)
		return work(sh, job, stage);
	double *known = &entry_of(job, stage, sum)->sums[sum];
	if (isnan(*known))
		*known = work(NULL, job, stage);
	return *known;
}

/* --- parameters of a rank -------------------------------------------------------------------------------- */

static double
block_linear(struct sheet *sh, const struct memory_job *job, int stage, int i)
{
	const unsigned parts = IN_LAYER & ~(IN_EXPERT | IN_ROUTER | IN_NORMS);
	TAKE(sh, n_layers, memory_stage_layers(job, stage, i) + predicted_layers(job, stage, i));
	CALL(sh, layer_param, shard_params(sh, job->model, &job->model->blocks[i], parts, job->layout.tp));
	LET(sh, linear_param, n_layers * layer_param);
	return linear_param;
}

static double
linear_params(struct sheet *sh, const struct memory_job *job, int stage)
{
	SUM(sh, layers_param, i, job->model->n_blocks, block_linear(sh, job, stage, i));
	if (job_predicts(job, stage)) {
		CALL(sh, projection_param, prediction_linear(sh, job));
		LET(sh, linear_param, layers_param + projection_param);
		return linear_param;
	}
	if (job->model->n_encoder_blocks == 0 || stage > 0) {
		LET(sh, linear_param, layers_param);
		return linear_param;
	}
	/* an encoder stands in front of the first stage */
	TAKE(sh, tp, job->layout.tp);
	CALL(sh, encoder_param, encoder_params(sh, job->model, COUNT_ALL));
	LET(sh, linear_param, layers_param + encoder_param / tp);
	return linear_param;
}

double
memory_linear_params(struct sheet *sh, const struct memory_job *job, int stage)
{
	return memory_remembered(sh, job, stage, STAGE_LINEAR, linear_params);
}

static double
block_experts(struct sheet *sh, const struct memory_job *job, int stage, int i)
{
	const double n_shards = job->layout.ep * job->layout.etp;
	TAKE(sh, n_layers, memory_stage_layers(job, stage, i) + predicted_layers(job, stage, i));
	CALL(sh, layer_param, shard_params(sh, job->model, &job->model->blocks[i], IN_EXPERT, n_shards));
	LET(sh, routed_param, n_layers * layer_param);
	return routed_param;
}

static double
expert_params(struct sheet *sh, const struct memory_job *job, int stage)
{
	SUM(sh, expert_param, i, job->model->n_blocks, block_experts(sh, job, stage, i));
	return expert_param;
}

double
memory_expert_params(struct sheet *sh, const struct memory_job *job, int stage)
{
	return memory_remembered(sh, job, stage, STAGE_EXPERT, expert_params);
}

static double
block_norms(struct sheet *sh, const struct memory_job *job, int stage, int i)
{
	TAKE(sh, n_layers, memory_stage_layers(job, stage, i) + predicted_layers(job, stage, i));
	CALL(sh, layer_param, layer_params(sh, job->model, &job->model->blocks[i], IN_NORMS | IN_ROUTER, COUNT_ALL));
	LET(sh, whole_param, n_layers * layer_param);
	return whole_param;
}

/* The token table is divided over the vocabulary; positions and the like are not. */
static double
first_stage_params(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, n_shards, job_shards(job));
	TAKE(sh, vocabulary, datum_or(job->model->vocab, 0));
	TAKE(sh, hidden, job->model->hidden);
	CALL(sh, embedding_param, embedding_params(sh, job->model));
	LET(sh, table_param, vocabulary * hidden);
	LET(sh, first_param, table_param / n_shards + (embedding_param - table_param));
	return first_param;
}

/* A tied head needs a copy of the table when first and last stage are different GPUs; some frameworks tie nothing. */
static double
last_stage_params(struct sheet *sh, const struct memory_job *job)
{
	const struct workload *w = job->model;
	TAKE(sh, n_shards, job_shards(job));
	CALL(sh, head_param, head_params(sh, w));
	CALL(sh, final_param, final_params(sh, w));
	double copy_param;
	if (w->tied_embeddings && w->head && (job->layout.pp > 1 || job->stack->unties_head)) {
		TAKE(sh, vocabulary, w->vocab);
		TAKE(sh, hidden, w->hidden);
		SET(sh, copy_param, vocabulary * hidden);
	} else
		SET(sh, copy_param, 0);
	double last_param;
	if (job->n_mtp > 0) {
		CALL(sh, shared_param, prediction_other(sh, job));
		SET(sh, last_param, (head_param + copy_param) / n_shards + final_param + shared_param);
	} else
		SET(sh, last_param, (head_param + copy_param) / n_shards + final_param);
	return last_param;
}

static double
other_params(struct sheet *sh, const struct memory_job *job, int stage)
{
	SUM(sh, norm_param, i, job->model->n_blocks, block_norms(sh, job, stage, i));
	double first_param, last_param;
	if (stage == 0)
		SET_CALL(sh, first_param, first_stage_params(sh, job));
	else
		SET(sh, first_param, 0);
	if (job_is_last(job, stage))
		SET_CALL(sh, last_param, last_stage_params(sh, job));
	else
		SET(sh, last_param, 0);
	LET(sh, other_param, norm_param + first_param + last_param);
	return other_param;
}

double
memory_other_params(struct sheet *sh, const struct memory_job *job, int stage)
{
	return memory_remembered(sh, job, stage, STAGE_OTHER, other_params);
}

/* --- adapters -------------------------------------------------------------------------------------------- */

static double
block_adapters(struct sheet *sh, const struct memory_job *job, int stage, int i)
{
	TAKE(sh, n_layers, memory_stage_layers(job, stage, i));
	CALL(sh, layer_param, layer_adapters(sh, job, &job->model->blocks[i]));
	LET(sh, adapter_param, n_layers * layer_param);
	return adapter_param;
}

double
memory_adapter_params(struct sheet *sh, const struct memory_job *job, int stage)
{
	assert(job_is_lora(job));
	SUM(sh, adapter_param, i, job->model->n_blocks, block_adapters(sh, job, stage, i));
	return adapter_param;
}

/* Token table and LM head that are trained along with adapters: copies of both, or of the shared one. */
double
whole_params(struct sheet *sh, const struct memory_job *job, int stage)
{
	const struct workload *w = job->model;
	const bool last = w->head && job_is_last(job, stage);
	const bool shared = w->tied_embeddings && !job->stack->unties_head && stage == 0;
	TAKE(sh, n_tables, job_adapts(job, TARGET_EMBED) ? (double)(stage == 0) + (last && !shared) : 0);
	TAKE(sh, vocabulary, datum_or(w->vocab, 0));
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, tp, job->layout.tp);
	LET(sh, table_param, vocabulary * hidden / tp);
	LET(sh, whole_param, n_tables * table_param);
	return whole_param;
}

/* --- recomputation ---------------------------------------------------------------------------------------------- */

/* What each layer keeps, what comes back while it is computed again (Chen et al., arXiv:1604.06174), and
 * the activations of a stage. */

const char *
module_name(enum module m)
{
	static const char *const names[] = {
#define MODULE(id, text, title) text,
	    MODULES(MODULE)
#undef MODULE
	};
	return names[m];
}

const char *
offload_name(int bit)
{
	static const char *const names[N_OFFLOADS] = {"optimizer", "params", "activations"};

	return names[bit];
}

const char *
offload_module_name(enum offload_module m)
{
	static const char *const names[] = {
#define OFFLOAD_MODULE(id, text, title) text,
	    OFFLOAD_MODULES(OFFLOAD_MODULE)
#undef OFFLOAD_MODULE
	};
	return names[m];
}

const char *
target_name(enum target t)
{
	static const char *const names[] = {
#define TARGET(id, text, title) text,
	    TARGETS(TARGET)
#undef TARGET
	};
	return names[t];
}

double
memory_tokens(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, n_sequences, job->batch);
	TAKE(sh, seq_token, job->seq);
	TAKE(sh, cp, job->layout.cp);
	LET(sh, n_tokens, n_sequences * seq_token / cp);
	return n_tokens;
}

/* A layer's input; nothing when it is moved to the host. */
static double
checkpoint_byte_per_token(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, elem_byte, job->offload & OFFLOAD_ACTIVATIONS ? 0 : job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	LET(sh, checkpoint_byte_per_token, elem_byte * hidden / norm_shards);
	return checkpoint_byte_per_token;
}

double
recompute_chunk_layers(const struct workload *w, const struct layout *l)
{
	return ceil(w->n_layers.value / (l->pp * l->vp));
}

double
recompute_interval(struct sheet *sh, enum recompute policy, double n, const struct workload *w, const struct layout *l)
{
	TAKE(sh, n_said_layers, n);
	double n_group_layers;
	if (policy == RECOMPUTE_BLOCK) {
		TAKE(sh, n_chunk_layers, recompute_chunk_layers(w, l));
		SET(sh, n_group_layers, fmax(1, n_chunk_layers / n_said_layers));
	} else
		SET(sh, n_group_layers, n_said_layers);
	return n_group_layers;
}

static double
block_saved(struct sheet *sh, const struct memory_job *job, int i)
{
	const struct block *block = &job->model->blocks[i];

	TAKE(sh, n_block_layers, block->count);
	CALL(sh, layer_byte_per_token, memory_layer_saved(sh, job, block));
	LET(sh, block_byte_per_token, n_block_layers * layer_byte_per_token);
	return block_byte_per_token;
}

double
memory_mean_saved(struct sheet *sh, const struct memory_job *job)
{
	SUM(sh, saved_byte_per_token, i, job->model->n_blocks, block_saved(sh, job, i));
	TAKE(sh, n_layers, job->model->n_layers);
	LET(sh, layer_byte_per_token, saved_byte_per_token / n_layers);
	return layer_byte_per_token;
}

static double
block_away(struct sheet *sh, const struct memory_job *job, int i)
{
	TAKE(sh, n_block_layers, job->model->blocks[i].count);
	CALL(sh, layer_byte_per_token, modules_away(sh, job, &job->model->blocks[i]));
	LET(sh, block_byte_per_token, n_block_layers * layer_byte_per_token);
	return block_byte_per_token;
}

double
memory_mean_away(struct sheet *sh, const struct memory_job *job)
{
	double away_byte_per_token;

	TAKE(sh, n_layers, job->model->n_layers);
	if (job->recompute == RECOMPUTE_OFFLOAD) {
		TAKE(sh, n_said_layers, job->recompute_n);
		CALL(sh, saved_byte_per_token, memory_mean_saved(sh, job));
		SET(sh, away_byte_per_token, n_said_layers / n_layers * saved_byte_per_token);
	} else if (job->offload & OFFLOAD_ACTIVATIONS) {
		TAKE(sh, elem_byte, job_elem_byte(job));
		TAKE(sh, hidden, job->model->hidden);
		TAKE(sh, norm_shards, job_norm_shards(job));
		TAKE(sh, n_between_layers, job->recompute == RECOMPUTE_UNIFORM ? job->recompute_n : 1);
		SET(sh, away_byte_per_token, elem_byte * hidden / norm_shards / n_between_layers);
	} else if (job->offload_modules) {
		SUM(sh, all_byte_per_token, i, job->model->n_blocks, block_away(sh, job, i));
		SET(sh, away_byte_per_token, all_byte_per_token / n_layers);
	} else
		SET(sh, away_byte_per_token, 0);
	return away_byte_per_token;
}

bool
memory_policy_offloads(const struct memory_job *job, enum recompute policy)
{
	const bool checkpoints = policy == RECOMPUTE_FULL || policy == RECOMPUTE_UNIFORM,
	           modules = policy == RECOMPUTE_NONE || policy == RECOMPUTE_MODULES;

	return (!(job->offload & OFFLOAD_ACTIVATIONS) || checkpoints) && (!job->offload_modules || modules);
}

double
memory_layer_kept(struct sheet *sh, const struct memory_job *job, const struct block *block)
{
	double kept_byte_per_token;
	if (job->recompute == RECOMPUTE_NONE && !job->offload_modules) {
		SET_CALL(sh, kept_byte_per_token, memory_layer_saved(sh, job, block));
		return kept_byte_per_token;
	}
	if (job->recompute == RECOMPUTE_OFFLOAD) {
		TAKE(sh, n_said_layers, job->recompute_n);
		TAKE(sh, n_layers, job->model->n_layers);
		CALL(sh, saved_byte_per_token, memory_layer_saved(sh, job, block));
		SET(sh, kept_byte_per_token, fmax(0, 1 - n_said_layers / n_layers) * saved_byte_per_token);
		return kept_byte_per_token;
	}
	if (job->recompute == RECOMPUTE_OP) {
		SET_CALL(sh, kept_byte_per_token, policy_kept(sh, job, block));
		return kept_byte_per_token;
	}
	if (job->recompute == RECOMPUTE_MODULES || job->recompute == RECOMPUTE_NONE) {
		SET_CALL(sh, kept_byte_per_token, modules_kept(sh, job, block));
		return kept_byte_per_token;
	}
	CALL(sh, input_byte_per_token, checkpoint_byte_per_token(sh, job));
	CALL(sh, n_group_layers, recompute_interval(sh, job->recompute, job->recompute_n, job->model, &job->layout));
	if (job->recompute == RECOMPUTE_EVERY || job->recompute == RECOMPUTE_BLOCK) {
		CALL(sh, saved_byte_per_token, memory_layer_saved(sh, job, block));
		SET(sh, kept_byte_per_token,
		    input_byte_per_token / n_group_layers + (1 - 1 / n_group_layers) * saved_byte_per_token);
	} else
		SET(sh, kept_byte_per_token, input_byte_per_token / n_group_layers);
	return kept_byte_per_token;
}

/* Layers that come back together.  Those that wait in the host's memory come back where those that stayed have been
 * freed: the one in use and the one behind it need room of their own where fewer stayed. */
static double
layers_together(const struct memory_job *job)
{
	if (job->recompute == RECOMPUTE_OFFLOAD)
		return fmax(0, 2 - (job->model->n_layers.value - job->recompute_n));
	return job->recompute == RECOMPUTE_UNIFORM ? job->recompute_n : 1;
}

/* Layers whose offloaded inputs are on the GPU: one in use, the next on its way (Megatron-Core,
 * pipeline_parallel/fine_grained_activation_offload.py, bulk_reload). */
static const double AWAY_TOGETHER = 2;

/* What one layer's recomputation brings back, for as many layers as are computed again together. */
static double
block_returns(struct sheet *sh, const struct memory_job *job, int stage, int i)
{
	const struct block *block = &job->model->blocks[i];
	TAKE(sh, present, memory_stage_layers(job, stage, i) > 0);
	double layer_byte_per_token;
	if (job->recompute == RECOMPUTE_MODULES || job->recompute == RECOMPUTE_NONE) {
		CALL(sh, again_byte_per_token, modules_removed(sh, job, block));
		CALL(sh, away_byte_per_token, modules_away(sh, job, block));
		TAKE(sh, n_there_layers, AWAY_TOGETHER);
		SET(sh, layer_byte_per_token, again_byte_per_token + n_there_layers * away_byte_per_token);
	} else if (job->recompute == RECOMPUTE_OP) {
		CALL(sh, saved_byte_per_token, memory_layer_saved(sh, job, block));
		CALL(sh, kept_byte_per_token, policy_kept(sh, job, block));
		SET(sh, layer_byte_per_token, fmax(0, saved_byte_per_token - kept_byte_per_token));
	} else
		SET_CALL(sh, layer_byte_per_token, memory_layer_saved(sh, job, block));
	TAKE(sh, n_together, layers_together(job));
	LET(sh, returns_byte_per_token, present * n_together * layer_byte_per_token);
	return returns_byte_per_token;
}

static double
stage_returns(struct sheet *sh, const struct memory_job *job, int stage)
{
	MOST(sh, returns_byte_per_token, i, job->model->n_blocks, block_returns(sh, job, stage, i));
	return returns_byte_per_token;
}

double
recompute_returns(struct sheet *sh, const struct memory_job *job, int stage)
{
	if (job->recompute == RECOMPUTE_NONE && !job->offload_modules) {
		LET(sh, returned_byte, 0);
		return returned_byte;
	}
	CALL(sh, n_tokens, memory_tokens(sh, job));
	const double returns_byte_per_token = memory_remembered(sh, job, stage, STAGE_RETURNED, stage_returns);
	LET(sh, returned_byte, n_tokens * returns_byte_per_token);
	return returned_byte;
}

static double
block_kept(struct sheet *sh, const struct memory_job *job, int stage, int i)
{
	TAKE(sh, n_layers, memory_stage_layers(job, stage, i));
	CALL(sh, kept_byte_per_token, memory_layer_kept(sh, job, &job->model->blocks[i]));
	LET(sh, block_byte_per_token, n_layers * kept_byte_per_token);
	return block_byte_per_token;
}

static double
stage_kept(struct sheet *sh, const struct memory_job *job, int stage)
{
	SUM(sh, stage_byte_per_token, i, job->model->n_blocks, block_kept(sh, job, stage, i));
	return stage_byte_per_token;
}

static double
stage_activations(struct sheet *sh, const struct memory_job *job, int stage)
{
	CALL(sh, n_tokens, memory_tokens(sh, job));
	const double stage_byte_per_token = memory_remembered(sh, job, stage, STAGE_KEPT, stage_kept);
	LET(sh, microbatch_byte, n_tokens * stage_byte_per_token);
	return microbatch_byte;
}

/* Near the end of the step one layer's checkpoint is all that is left. */
static double
step_activations(struct sheet *sh, const struct memory_job *job)
{
	TAKE(sh, elem_byte, job_elem_byte(job));
	TAKE(sh, hidden, job->model->hidden);
	TAKE(sh, norm_shards, job_norm_shards(job));
	CALL(sh, n_tokens, memory_tokens(sh, job));
	LET(sh, input_byte_per_token, elem_byte * hidden / norm_shards);
	LET(sh, activations_byte, n_tokens * input_byte_per_token);
	return activations_byte;
}

/* Megatron-Core: the layer that is computed again is counted at the loss too, so the peak does not hang on whether the
 * logits are gone when it comes back.  At the end of a backward pass one micro-batch less is in flight. */
static double
layer_activations(struct sheet *sh, const struct memory_job *job, int stage, enum moment moment)
{
	double activations_byte;
	CALL(sh, n_in_flight, memory_in_flight(sh, job, stage));
	CALL(sh, microbatch_byte, stage_activations(sh, job, stage));
	if (moment == MOMENT_EMBEDDING)
		SET(sh, activations_byte, fmax(0, n_in_flight - 1) * microbatch_byte);
	else if (job_is_megatron(job)) {
		CALL(sh, returned_byte, recompute_returns(sh, job, stage));
		SET(sh, activations_byte, n_in_flight * microbatch_byte + returned_byte);
	} else
		SET(sh, activations_byte, n_in_flight * microbatch_byte);
	return activations_byte;
}

double
activations_memory(struct sheet *sh, const struct memory_job *job, int stage, enum moment moment)
{
	if (moment == MOMENT_STEP)
		return step_activations(sh, job);
	if (moment != MOMENT_LOSS || !job_predicts(job, stage))
		return layer_activations(sh, job, stage, moment);
	CALL(sh, layers_byte, layer_activations(sh, job, stage, moment));
	CALL(sh, predicted_byte, prediction_activations(sh, job, stage));
	LET(sh, activations_byte, layers_byte + predicted_byte);
	return activations_byte;
}
