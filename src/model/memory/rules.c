/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What frameworks do where a layout or a batch leaves it open, and the jobs that are refused.  Rules after Megatron-LM
 * (megatron/training/arguments.py, megatron/core/transformer/transformer_config.py) and torchtitan
 * (distributed/pipeline_parallel.py): a stage may hold any number of layers, also none beside the embedding or the
 * loss.
 */
#include "model/memory/memory.h"
#include "model/memory/parts.h"

#include <math.h>
#include <string.h>

bool
layout_is_fsdp(const struct stack *s)
{
	return s->time.listed && !s->zero_on_request && datum_or(s->max_zero, 0) >= 3;
}

int
layout_usual_zero(const struct stack *s, bool adapters, double n_replicas)
{
	if (!(n_replicas > 1))
		return 0;
	if (layout_is_fsdp(s) && !adapters)
		return 3;
	return datum_or(s->max_zero, 0) >= 1;
}

bool
layout_usual_sp(const struct stack *s, double tp)
{
	return tp > 1 && s->sequence;
}

double
layout_usual_chunks(const struct stack *s, const struct workload *w, double pp)
{
	const double layers = datum_or(s->time.chunk_layers, 0);
	const double stage = ceil(w->n_layers.value / pp);

	return pp > 1 && layers >= 1 ? fmax(1, floor(stage / layers)) : 1;
}

double
layout_usual_etp(const struct workload *w, const struct layout *l)
{
	return !workload_has_experts(w) || l->ep > 1 ? 1 : l->tp;
}

double
layout_shard_ranks(const struct layout *l)
{
	const double replicas = l->dp * l->cp;

	return l->shard > 0 ? fmin(l->shard, replicas) : replicas;
}

double
layout_expert_shard_ranks(const struct layout *l, double n_shards)
{
	return fmax(1, n_shards * l->tp / (l->ep * l->etp));
}

bool
layout_copies_experts(const struct layout *l)
{
	return fmod(layout_shard_ranks(l) * l->tp, l->ep * l->etp) == 0;
}

/* --- pipelines ------------------------------------------------------------------------------------------- */

double
layout_most_chunks(const struct workload *w)
{
	return w->n_layers.value + 2 + datum_or(w->n_mtp, 0);
}

/* Year and month of the first release whose chunks may hold the embedding or the loss instead of a layer, and of the
 * first that takes a string with the layers of each chunk. */
enum { UNEVEN_FROM = 202502, WRITTEN_FROM = 202507 };

/* Layers that the head of a mixture weighs: its rows are many, and its layers work with few of their parameters. */
enum { HEAD_LAYERS = 2 };

bool
layout_splits_evenly(const struct stack *s, const struct workload *w, double n_chunks)
{
	const double release = datum_or(s->time.release, UNEVEN_FROM), layers = w->n_layers.value;
	const bool uneven = release >= UNEVEN_FROM, written = release >= WRITTEN_FROM && workload_has_experts(w);
	const double most = uneven ? layout_most_chunks(w) + (written ? HEAD_LAYERS - 1 : 0) : layers;

	for (double items = layers; items <= most; items++)
		if (fmod(items, n_chunks) == 0)
			return true;
	return false;
}

bool
layout_splits_freely(const struct stack *s)
{
	return s->rules == RULES_MEGATRON_CORE && datum_or(s->time.release, WRITTEN_FROM) >= WRITTEN_FROM;
}

double
layout_finest_chunks(const struct stack *s, const struct workload *w, double pp)
{
	for (double vp = floor(layout_most_chunks(w) / pp); vp > 1 && pp > 1; vp--)
		if (layout_splits_evenly(s, w, pp * vp))
			return vp;
	return 1;
}

bool
layout_is_titan(const struct stack *s)
{
	return s->id && strstr(s->id, "titan");
}

/* Between nodes DeepEP sums rows of a multiple of 256 16-bit elements (csrc/kernels/internode.cu: hidden_int4 % 32);
 * HybridEP's first releases want one of 512. */
static const double DEDUP_WIDTH = 256;

bool
workload_may_dedup(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++) {
		const struct moe *m = &w->blocks[i].moe;
		if (m->given)
			return fmod(m->latent.value > 0 ? m->latent.value : w->hidden.value, DEDUP_WIDTH) == 0;
	}
	return false;
}

bool
stack_captures_experts(const struct stack_time *s, enum recompute policy, unsigned modules, int zero)
{
	const bool whole = policy == RECOMPUTE_NONE || (policy == RECOMPUTE_MODULES && !(modules & 1U << MODULE_MOE));

	return s->captures_experts && whole && zero < 2;
}

double
layout_sequence_unit(const struct stack *s, const struct workload *w, const struct layout *l)
{
	const double parts = l->cp > 1 ? 2 : 1, rows = l->sp ? l->tp : 1;

	if (w->kind == MODEL_VISION)
		return l->cp;
	if (layout_is_titan(s))
		return l->tp * l->cp > 1 ? 2 * l->tp * l->cp : 1;
	/* the least that both divide */
	return l->cp * (fmod(rows, parts) == 0 ? rows : parts * rows);
}

bool
layout_deals_heads(const struct attention *a, double tp)
{
	const double groups = datum_or(a->n_kv_heads, 0);

	return a->kind != ATTENTION_HEADS || !(groups > 0) || fmod(groups, tp) == 0 || fmod(tp, groups) == 0;
}

/* --- sequences of a step --------------------------------------------------------------------------------- */

/* Tokens that a micro-batch of short sequences usually has, from published runs; micro-batches of a step for each
 * pipeline stage where nothing is said, and those that a short sequence must leave to keep the stages busy. */
enum { USUAL_TOKENS = 2048, FOR_EACH_STAGE = 4, KEEP_BUSY = 2 };

/* The largest micro-batch of a usual number of tokens that divides the sequences of a replica. */
static double
usual_micro_batch(double n_replica_sequences, double seq_length, double pp)
{
	double best = 1;

	for (double n = 2; n * seq_length <= USUAL_TOKENS && n <= n_replica_sequences; n++)
		if (fmod(n_replica_sequences, n) == 0 && (pp <= 1 || n_replica_sequences / n >= KEEP_BUSY * pp))
			best = n;
	return best;
}

bool
batch_settle(const struct batch_said *said, double seq_length, const struct layout *l, struct batch_said *out)
{
	const double n_replica_sequences = said->n_global_sequences / l->dp;

	*out = *said;
	if (!(said->n_global_sequences > 0)) {
		out->n_sequences = said->n_sequences > 0 ? said->n_sequences : 1;
		if (!(said->n_microbatches > 0))
			out->n_microbatches = l->pp > 1 ? FOR_EACH_STAGE * l->pp : 1;
		out->n_global_sequences = out->n_sequences * out->n_microbatches * l->dp;
		return true;
	}
	if (!(said->n_sequences > 0))
		out->n_sequences = said->n_microbatches > 0 ? n_replica_sequences / said->n_microbatches
		                                            : usual_micro_batch(n_replica_sequences, seq_length, l->pp);
	if (!(said->n_microbatches > 0))
		out->n_microbatches = n_replica_sequences / out->n_sequences;
	return out->n_sequences >= 1 && out->n_sequences == floor(out->n_sequences) && out->n_microbatches >= 1 &&
	    out->n_microbatches == floor(out->n_microbatches) &&
	    out->n_sequences * out->n_microbatches * l->dp == said->n_global_sequences;
}

/* --- what is refused ------------------------------------------------------------------------------------------ */

/* What the saved-tensor rules do not cover is refused by name, never approximated. */

/* Serving needs weights and a cache; both are counted for every decoder, with its encoder where it has one. */
static const char *
serving_lacks(const struct memory_job *job)
{
	if (job->model->kind == MODEL_OPERATORS)
		return "lists of operators cannot be served";
	if (job->model->kind == MODEL_DECODER || job->model->kind == MODEL_ENCODER_DECODER)
		return NULL;
	return "only decoders have a KV cache";
}

/* Tensors that a layer saves were listed for softmax attention with its own queries, keys and values, gated or not, for
 * latent attention, for Mamba-2, for gated delta nets, and for MLPs and experts. */
static const char *
layer_lacks(const struct block *block)
{
	const struct attention *a = &block->attention;

	if (block->mixer == MIXER_KDA)
		return "saved activations of Kimi delta attention are not modeled";
	if (a->kind == ATTENTION_CSA)
		return "saved activations of compressed sparse attention are not modeled";
	if (a->indexer.dim.value > 0)
		return "saved activations of sparse attention indexers are not modeled";
	if (a->gate && attention_is_latent(a))
		return "saved activations of gated latent attention are not modeled";
	if (a->kind == ATTENTION_HEADS && a->q_lora.value > 0)
		return "saved activations of compressed queries are not modeled";
	if (block->cross)
		return "cross attention is not modeled in training";
	return NULL;
}

/* Adapters and the per-operator policy were listed for plain layers alone. */
static const char *
plain_layers_lack(const struct memory_job *job)
{
	for (int i = 0; i < job->model->n_blocks; i++) {
		const struct block *block = &job->model->blocks[i];
		const bool heads = block->mixer == MIXER_ATTENTION && block->attention.kind == ATTENTION_HEADS &&
		    !block->attention.gate;
		if (heads && !block->moe.given && block_parts(block) == 2)
			continue;
		if (job_is_lora(job))
			return "LoRA on experts, latent or gated attention, delta nets or layers of one part is not "
			       "modeled";
		if (job->recompute == RECOMPUTE_OP)
			return "--recompute op is not modeled for experts, latent or gated attention, delta nets or "
			       "layers of one part";
	}
	return NULL;
}

/* Groups of maps and key heads are dealt to the ranks, never copied.  Megatron-Core exchanges heads for tokens around a
 * scan, which needs copies of maps whose groups are fewer than the ranks: not listed. */
static const char *
recurrence_lacks(const struct memory_job *job, const struct block *block)
{
	const struct datum groups = block_groups(block);
	const bool scans = block->mixer == MIXER_MAMBA;

	if (!datum_given(groups))
		return NULL;
	if (job->layout.cp > 1)
		return scans ? "context parallelism of state-space layers (Mamba-2) is not modeled: use tp"
		             : "context parallelism of gated delta nets is not modeled: use tp";
	if (job->layout.tp > 1 && fmod(groups.value, job->layout.tp) != 0)
		return scans ? "tp is no divisor of the groups of the state-space layers (Mamba-2)"
		             : "tp is no divisor of the key heads of the gated delta nets";
	return NULL;
}

const char *
memory_lacks_rule(const struct memory_job *job)
{
	if (job->use == STACK_INFER)
		return serving_lacks(job);
	if (job->model->kind == MODEL_OPERATORS)
		return "lists of operators have no layers; estimate their states with --params";
	if (job->model->kind == MODEL_ENCODER_DECODER)
		return "encoder-decoder models are not modeled in training";
	for (int i = 0; i < job->model->n_blocks; i++) {
		const char *why = layer_lacks(&job->model->blocks[i]);
		if (!why)
			why = recurrence_lacks(job, &job->model->blocks[i]);
		if (why)
			return why;
	}
	return plain_layers_lack(job);
}

const struct loss *
memory_usual_loss(const struct memory_job *job)
{
	const struct stack *s = job->stack;
	const char *usual = job->layout.tp > 1 && s->loss_parallel ? s->loss_parallel
	    : job->compiled && s->loss_compiled                    ? s->loss_compiled
	                                                           : s->loss;

	for (int i = 0; usual && i < s->n_losses; i++)
		if (strcmp(s->losses[i].name, usual) == 0)
			return &s->losses[i];
	return NULL;
}
