/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A search under way: what the enumeration of layouts and their judging share. */
#ifndef RIDGE_SEARCH_LAYOUT_PARTS_H
#define RIDGE_SEARCH_LAYOUT_PARTS_H

#include "search/layout/layout.h"

#include <pthread.h>

enum { MOST_CHUNKS = 64, MOST_BATCHES = MOST_MICRO_BATCH };

/* One member of a family. */
struct member {
	double step_s;
	short vp, n_sequences, policy;
};

struct layout_family {
	struct layout layout; /* vp 1 */
	int n_vp, n_batches;
	short vp[MOST_CHUNKS], batches[MOST_BATCHES];
	struct member *members; /* fastest first */
	size_t n_members;
	double least_s; /* of the fastest */
	bool fits, misses;
	struct layout_row best, near, least;
};

/* Families with one layer: all pipelines of a (tp, cp, ep, etp, sharded or not). */
struct layout_block {
	size_t first, n;
};

struct search {
	const struct layout_space *space;
	struct train_job job; /* all but the layout, the batch and the policy */
	size_t n_families, n_blocks, room, room_blocks;
	struct layout_family *families;
	struct layout_family **order; /* fastest first */
	struct layout_block *blocks;
	struct arena *arena;
	struct layout_result *out;
	pthread_mutex_t lock;
	double *kept; /* the n_rows fastest that fit, sorted */
	size_t n_kept;
};

/* Lay the legal layouts into families and blocks, and count the refused ones by rule. */
void layout_enumerate(struct search *s);
/* Whether micro-batches of this many sequences go through vp chunks of a stage. */
bool layout_interleaves(const struct layout_space *space, const struct layout *l, int vp, double n_sequences);
/* Largest micro-batch that is looked at. */
int layout_most_batch(const struct layout_space *space);

#endif
