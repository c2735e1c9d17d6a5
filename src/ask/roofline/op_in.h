/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An operator's dimensions as options. */
#ifndef RIDGE_OP_IN_H
#define RIDGE_OP_IN_H

#include "cli/command.h"
#include "ridge/op.h"

struct op_in {
#define OP_OPTIONS(X)                                                                                                  \
	X(0, m, "m", "m", COUNT, "N", "", NULL, "gemm, gemv: rows of the first matrix")                                \
	X(0, n, "n", "n", COUNT, "N", "", NULL, "gemm: columns of the second matrix; conv2d, pool: images")            \
	X(0, k, "k", "k", COUNT, "N", "", NULL,                                                                        \
	    "gemm, gemv: the dimension that is summed over; conv2d: output channels")                                  \
	X(0, b, "b", "b", COUNT, "N", "", NULL, "bmm: products; attention: sequences")                                 \
	X(0, e, "e", "e", COUNT, "N", "", NULL, "grouped: matrices that the rows are spread over")                     \
	X(0, c, "c", "c", COUNT, "N", "", NULL, "conv2d, pool: input channels; attention: keys of a sequence")         \
	X(0, h, "h", "h", COUNT, "N", "", NULL, "conv2d, pool: input height; attention: query heads")                  \
	X(0, w, "w", "w", COUNT, "N", "", NULL, "conv2d, pool: input width")                                           \
	X(0, r, "r", "r", COUNT, "N", "", NULL, "conv2d, pool: kernel height")                                         \
	X(0, s, "s", "s", COUNT, "N", "", NULL, "conv2d, pool: kernel width; attention: queries of a sequence")        \
	X(0, stride, "stride", "stride", COUNT, "N", "", NULL, "conv2d, pool: step in both directions (default 1)")    \
	X(0, groups, "groups", "groups", COUNT, "N", "", NULL, "conv2d: groups of channels (default 1)")               \
	X(0, rows, "rows", "rows", COUNT, "N", "", NULL, "norm, softmax, embedding: rows")                             \
	X(0, width, "width", "width", COUNT, "N", "", NULL, "norm, softmax, embeddings: elements of a row")            \
	X(0, vocab, "vocab", "vocab", COUNT, "N", "", NULL, "embedding, embedding_bag: rows of the table")             \
	X(0, elements, "elements", "elements", COUNT, "N", "", NULL, "elementwise: elements of the result")            \
	X(0, reads, "reads", "reads", NUMBER, "N", "", NULL, "elementwise: operands read per element (default 1)")     \
	X(0, writes, "writes", "writes", NUMBER, "N", "", NULL,                                                        \
	    "elementwise: results written per element (default 1)")                                                    \
	X(0, per_element, "per-element", "per_element", NUMBER, "N", "", NULL,                                         \
	    "elementwise: FLOP per element (default 1)")                                                               \
	X(0, d, "d", "d", COUNT, "N", "", NULL, "attention: width of a head")                                          \
	X(0, kv, "kv", "kv", COUNT, "N", "", NULL, "attention: key and value heads (default: as many as --h)")         \
	X(0, dv, "dv", "dv", COUNT, "N", "", NULL, "attention: width of a value head (default: --d)")                  \
	X(0, seen, "seen", "seen", NUMBER, "N", "", NULL, "attention: keys a query sees on average (default: --c)")    \
	X(0, latent, "latent", "latent", COUNT, "N", "", NULL, "attention_latent: width of the compressed row")        \
	X(0, rope, "rope", "rope", COUNT, "N", "", NULL, "attention_latent: width of the rotated part")                \
	X(0, p, "p", "p", COUNT, "N", "", NULL, "ssm_scan, ssm_step: width of a head")                                 \
	X(0, g, "g", "g", COUNT, "N", "", NULL, "ssm_scan, ssm_step: groups; delta_scan, delta_step: key heads")       \
	X(0, chunk, "chunk", "chunk", COUNT, "N", "", NULL, "ssm_scan, delta_scan: tokens taken at once")              \
	X(0, state_byte, "state-byte", "state_byte", NUMBER, "N", "", NULL,                                            \
	    "recurrences: bytes of one value of the state (default 4)")                                                \
	X(0, key_byte, "key-byte", "key_byte", NUMBER, "N", "", NULL,                                                  \
	    "index_scores: bytes of one value of a key (default 1)")                                                   \
	X(0, bags, "bags", "bags", COUNT, "N", "", NULL, "embedding_bag: sums")                                        \
	X(0, hot, "hot", "hot", COUNT, "N", "", NULL, "embedding_bag: rows of a sum")
	OP_OPTIONS(OPTION_MEMBER)
};
extern const struct option_group op_group; /* offset 0: copy it and set .offset */

/* The operator of this kind with the dimensions that were given; faults name what is missing or does not belong. */
bool run_op(struct run *r, enum op_kind kind, const struct op_in *in, double elem_byte, struct op *out);
/* True when any dimension was given. */
bool op_given(const struct op_in *in);

#endif
