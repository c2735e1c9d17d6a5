/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KV cache of attention layers: bytes on one GPU.  A sum over layers, never layers x one layer. */
#ifndef RIDGE_KV_H
#define RIDGE_KV_H

#include "ridge/workload.h"

/* Bytes that one more token costs beyond every window, on one of tp GPUs. */
double kv_slope(struct sheet *sh, const struct workload *w, double kv_elem_byte, double tp);
/* Bytes of one sequence of seq_token tokens held in blocks of block_token tokens (1: no paging). */
double kv_sequence(
    struct sheet *sh, const struct workload *w, double seq_token, double block_token, double kv_elem_byte, double tp);

/* Bytes of one token in one layer, on one of tp GPUs. */
double kv_layer(struct sheet *sh, const struct attention *a, double kv_elem_byte, double tp);
/* How many tokens back a layer sees: its window or chunk, absent for full attention. */
struct datum kv_reach(const struct attention *a);
/* Bytes of one sequence in the layers with a window or chunk, once that is full: the part that stops growing. */
double kv_constant(struct sheet *sh, const struct workload *w, double block_token, double kv_elem_byte, double tp);

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
