/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layouts of training: what frameworks do where a layout leaves it open, and what none of them accepts. */
#ifndef RIDGE_LAYOUT_H
#define RIDGE_LAYOUT_H

#include "ridge/stack.h"
#include "ridge/workload.h"

/* Whether the framework shards parameters fully unless told otherwise. */
bool layout_is_fsdp(const struct stack *s);
/* ZeRO stage where none is named: full sharding where that is the framework's way, else the optimizer's states over
 * the replicas where it can. */
int layout_usual_zero(const struct stack *s, bool adapters, double n_replicas);
/* Sequence parallelism goes with tensor parallelism in every framework that has it. */
bool layout_usual_sp(const struct stack *s, double tp);
/* Chunks of a pipeline stage: as published runs of the framework have them. */
double layout_usual_chunks(const struct stack *s, const struct workload *w, double pp);
/* Tensor parallelism inside experts: that of the layer, or none where experts are spread by ep. */
double layout_usual_etp(const struct workload *w, const struct layout *l);

/* GPUs over which ZeRO divides what it shards: the replicas, or fewer under hybrid sharding; and those that share the
 * experts' states, of which expert parallelism leaves fewer. */
double layout_shard_ranks(const struct layout *l);
double layout_expert_shard_ranks(const struct layout *l, double n_shards);

/* Most pipeline chunks (pp x vp): a layer each; embedding, loss and every extra prediction layer may have one too. */
double layout_most_chunks(const struct workload *w);
/* Whether pp x vp chunks share the layers equally: alone, or counted with embedding, loss and extra prediction
 * layers (Megatron-LM, megatron/training/arguments.py, account_for_embedding_in_pipeline_split and the like). */
bool layout_splits_evenly(const struct workload *w, double n_chunks);
/* The most chunks of a stage with an equal split; 1 where there is none above. */
double layout_finest_chunks(const struct workload *w, double pp);
/* Whether query groups can be dealt to tp ranks: a multiple or a divisor of them. */
bool layout_deals_heads(const struct attention *a, double tp);

/* What was said of the sequences of a training step; 0: nothing. */
struct batch_said {
	double n_sequences;        /* of a micro-batch on one replica */
	double n_microbatches;     /* of a step on one replica */
	double n_global_sequences; /* of a step on all replicas */
};

/* The whole numbers that follow: global batch = micro-batch x micro-batches x replicas.  False when there are none. */
bool batch_settle(const struct batch_said *said, double seq_length, const struct layout *l, struct batch_said *out);

#endif
