/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KV cache capacity: paging, memory left by the weights, and savings from shared heads. */
#include "model/layer/parts.h"

/*
 * Paging.  A cache that reserves every sequence's longest length keeps most of it empty; blocks handed out on demand
 * waste only the rest of the last one.  Kwon et al., SOSP 2023, sections 3 and 4.
 */
double
kv_paging(struct sheet *sh, const struct workload *w, const struct kv_page *page, double kv_elem_byte, double tp)
{
	GIVEN(sh, kv_elem_byte, tp);
	FROM(sh, page, used_token, max_seq_token, block_token);
	CALL(sh, preallocated_byte, kv_sequence(sh, w, max_seq_token, 1, kv_elem_byte, tp));
	CALL(sh, used_byte, kv_sequence(sh, w, used_token, 1, kv_elem_byte, tp));
	LET(sh, waste_frac, 1 - used_byte / preallocated_byte);
	CALL(sh, block_byte, kv_sequence(sh, w, block_token, block_token, kv_elem_byte, tp));
	LET(sh, n_blocks, ceil(used_token / block_token));
	CALL(sh, paged_byte, kv_sequence(sh, w, used_token, block_token, kv_elem_byte, tp));
	LET(sh, last_block_waste_frac, 1 - used_byte / paged_byte);
	LET(sh, paging_gain, preallocated_byte / paged_byte);
	SHOW(sh, preallocated_byte, prealloc_byte);
	SHOW(sh, used_byte, used_byte);
	SHOW(sh, waste_frac, prealloc_waste_frac);
	SHOW(sh, block_byte, block_byte);
	SHOW(sh, n_blocks, n_blocks);
	SHOW(sh, paged_byte, paged_byte);
	SHOW(sh, last_block_waste_frac, block_waste_frac);
	SHOW(sh, paging_gain, paging_gain);
	return paging_gain;
}

/* Memory left for the KV cache on one GPU, at least 0. */
double
kv_space(struct sheet *sh, double mem_byte, double headroom_frac, double weight_byte)
{
	GIVEN(sh, mem_byte, headroom_frac, weight_byte);
	LET(sh, usable_byte, mem_byte * (1 - headroom_frac));
	LET(sh, kv_space_byte, fmax(0, usable_byte - weight_byte));
	return kv_space_byte;
}

/* Tokens that the space holds when all sequences are seq_token long.  For full attention that length does not matter.
 */
double
kv_capacity_token(
    struct sheet *sh, const struct workload *w, double space_byte, double seq_token, double kv_elem_byte, double tp)
{
	GIVEN(sh, space_byte, seq_token);
	CALL(sh, dense_sequence_byte, kv_sequence(sh, w, seq_token, 1, kv_elem_byte, tp));
	LET(sh, mean_byte_per_token, dense_sequence_byte / seq_token);
	LET(sh, capacity_token, floor(space_byte / mean_byte_per_token));
	return capacity_token;
}

/* KV cache with a KV head per query head (MHA), over the actual one. */
double
kv_sharing(struct sheet *sh, const struct workload *w, const struct block *b)
{
	struct layer own;
	const struct layer *l = layer_of(w, b, &own);
	const struct layer_op *core = layer_attention(l);
	const struct layer_state *cache = &l->state[0];

	TAKE(sh, n_heads, core->n.units);
	TAKE(sh, key_width, core->n.size);
	TAKE(sh, value_width, core->runs == RUNS_LATENT ? core->n.size : core->k.size);
	TAKE(sh, n_cached, cache->width.units);
	TAKE(sh, cached_width, cache->width.size);
	LET(sh, sharing, n_heads * (key_width + value_width) / (n_cached * cached_width));
	return sharing;
}

/* Without a cache every new token computes the keys and values of all tokens before it again. */
double
kv_recomputed(struct sheet *sh, double seq_token)
{
	GIVEN(sh, seq_token);
	LET(sh, recomputed_token, seq_token - 1);
	return recomputed_token;
}

/* Sequences that are held at once. */
double
kv_batch(struct sheet *sh, double n_sequences, double sequence_byte)
{
	GIVEN(sh, n_sequences, sequence_byte);
	LET(sh, batch_byte, n_sequences * sequence_byte);
	return batch_byte;
}

double
kv_capacity_sequences(struct sheet *sh, double space_byte, double sequence_byte)
{
	GIVEN(sh, space_byte, sequence_byte);
	LET(sh, n_sequences, floor(space_byte / sequence_byte));
	return n_sequences;
}
