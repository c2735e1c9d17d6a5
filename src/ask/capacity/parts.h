/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by floors.c and floors_show.c. */
#ifndef RIDGE_ASK_CAPACITY_PARTS_H
#define RIDGE_ASK_CAPACITY_PARTS_H

#include "ask/capacity/capacity.h"

enum { WAYS_MAX = 22, NODE = 8, TP_MOST = 1024 };
struct plan {
	const struct workload *w; /* NULL: --params alone */
	bool load, shared, linear;
	struct layout layout; /* tp 0: choose */
	bool named;           /* a model whose weights are known part by part */
	bool adp;             /* asked for, or tried where every GPU would keep a whole copy of the cache */
	double weight_byte;   /* of numbers */
};

struct candidate {
	const struct gpu *gpu; /* NULL: --gpu-mem */
	struct formats formats;
	struct memory_job job; /* one user on one replica, but for its layout */
	struct capacity_case c;
};

/* One layout of a replica, and the instances it is rented in. */
struct way {
	struct layout layout;
	struct rental rental;
};

/* Powers of two that divide the heads: groups of at most `most` GPUs, each as one and attending apart. */
int floors_ways(const struct plan *p, double most, struct way *ways);
/* What one GPU of the replica holds. */
struct capacity_replica floors_replica(
    struct sheet *sh, const struct plan *p, const struct candidate *who, const struct way *way);
/* As --layout takes it. */
const char *floors_layout(struct run *r, const struct candidate *who, const struct layout *l);
/* Add prices to all layouts, without listing them under `assumed`. */
bool floors_price_ways(struct run *r, const struct price_in *price, const struct plan *p, const struct candidate *who,
    struct way *ways, int n, struct capacity_replica *all);
/* The rows of one candidate; false when it does not fit. */
bool floors_show(struct run *r, const struct price_in *price, const struct plan *p, const struct candidate *who);

#endif
