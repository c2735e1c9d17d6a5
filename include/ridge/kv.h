/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a model keeps of a sequence from step to step: keys and values, latents, keys of indexers, compressed tokens,
 * recurrent states.  Bytes on one GPU; a sum over layers, never layers x one layer.
 */
#ifndef RIDGE_KV_H
#define RIDGE_KV_H

#include "ridge/workload.h"

/* Bytes that one more token costs beyond every window, on one of tp GPUs. */
double kv_slope(struct sheet *sh, const struct workload *w, double kv_elem_byte, double tp);
/* Bytes of one sequence of seq_token tokens held in blocks of block_token tokens (1: no paging). */
double kv_sequence(
    struct sheet *sh, const struct workload *w, double seq_token, double block_token, double kv_elem_byte, double tp);

/* The same for the layers of one block, and what does not grow in them. */
double kv_block_slope(
    struct sheet *sh, const struct workload *w, const struct block *b, double kv_elem_byte, double tp);
double kv_block_constant(struct sheet *sh, const struct workload *w, const struct block *b, double block_token,
    double kv_elem_byte, double tp);
double kv_block_sequence(struct sheet *sh, const struct workload *w, const struct block *b, double seq_token,
    double block_token, double kv_elem_byte, double tp);

/* Bytes of one token in one attention layer with its indexer's key, on one of tp GPUs. */
double kv_layer(struct sheet *sh, const struct attention *a, double kv_elem_byte, double tp);
/* How many tokens back a layer sees: its window or chunk, absent for full attention. */
struct datum kv_reach(const struct attention *a);
/* Bytes of one sequence that do not grow with it: full windows and chunks, recurrent states, compressors, and the
 * tokens of an encoder whose number is given. */
double kv_constant(struct sheet *sh, const struct workload *w, double block_token, double kv_elem_byte, double tp);

/* A sequence of at most seq_token tokens in an engine that takes step_token tokens at a time. */
struct kv_admission {
	double seq_token, step_token, block_token;
};

/* What the engine sets aside for it. */
double kv_admitted(
    struct sheet *sh, const struct workload *w, const struct kv_admission *at, double kv_elem_byte, double tp);

/* Recurrent states of one sequence, all layers; and of as many slots as an engine keeps, one for each running sequence.
 */
double state_sequence(struct sheet *sh, const struct workload *w, double tp);
double state_slots(struct sheet *sh, double n_slots, double state_byte);
/* Engines that put both in one pool have one page size: the largest state of a layer.  Tokens that an attention layer's
 * block then holds, in whole blocks of block_token; and what its last block wastes on average. */
double state_page(struct sheet *sh, const struct workload *w, double tp);
double state_block(struct sheet *sh, double page_byte, double layer_byte_per_token, double block_token);
double state_waste(struct sheet *sh, double page_token, double slope_byte_per_token);

/* A sequence that was given room for max_seq_token tokens and uses used_token of them. */
struct kv_page {
	double used_token, max_seq_token, block_token;
};

/* What pre-allocation wastes and what blocks of block_token tokens save.  Returns how many times more sequences fit. */
double kv_paging(
    struct sheet *sh, const struct workload *w, const struct kv_page *page, double kv_elem_byte, double tp);

/* How many times smaller the cache is than with a key and a value per query head. */
double kv_sharing(struct sheet *sh, const struct attention *a);
/* Tokens whose keys and values a step would compute again without a cache. */
double kv_recomputed(struct sheet *sh, double seq_token);
double kv_batch(struct sheet *sh, double n_sequences, double sequence_byte);

/* Bytes left for the cache on one GPU after its share of the weights. */
double kv_space(struct sheet *sh, double mem_byte, double headroom_frac, double weight_byte);
/* Tokens that fit in the space, in sequences of seq_token tokens. */
double kv_capacity_token(
    struct sheet *sh, const struct workload *w, double space_byte, double seq_token, double kv_elem_byte, double tp);
/* Whole sequences of sequence_byte bytes that fit in the space. */
double kv_capacity_sequences(struct sheet *sh, double space_byte, double sequence_byte);

#endif
