/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of the simulator. */
#ifndef RIDGE_SEARCH_SIMULATE_PARTS_H
#define RIDGE_SEARCH_SIMULATE_PARTS_H

#include <stdatomic.h>

#include "base/base.h"
#include "search/simulate/simulate.h"

enum { NOBODY = UINT32_MAX, NEVER = INT32_MAX };

/* --- costs ----------------------------------------------------------------------------------------------- */

/* Tables of what depends on one whole number, filled on demand. */
struct cost_table {
	double *values; /* NaN: not asked yet */
	size_t n;
};

struct cost_cache {
	const struct sim_cost *cost;
	struct arena *arena;
	struct cost_table linear, head;
};

double cost_of(struct cost_cache *c, const struct sim_batch *batch);

/* --- measures -------------------------------------------------------------------------------------------- */

/* Gaps between tokens, in classes that are 2^-10 of their value wide, from 1 us to 2.3 hours. */
struct gaps {
	uint64_t *counts, n;
	double sum_s, most_s;
};

void gaps_init(struct gaps *g, struct arena *a);
void gaps_add(struct gaps *g, double gap_s, uint64_t n);

/* What is seen of one replica over time. */
struct watch {
	double since_s; /* what follows is up to date until here */
	double running_area, waiting_area, blocks_area;
	double marked[2][3]; /* these, as what counts begins and as it ends */
	size_t most_running, most_waiting, most_blocks;
	struct sim_moment *moments;
	size_t n_moments, n_most, room, stride, n_begun; /* n_most: moments that may be kept; room: allocated */
	struct arena *arena;
};

/* --- a replica ------------------------------------------------------------------------------------------- */

/* A request that runs.  A decoding one has made `tick - base` tokens, where `tick` counts the replica's steps that
 * decode: nothing is touched while it goes on. */
struct slot {
	uint32_t id, isl, target, done, chunk, blocks; /* target: to compute before it decodes, of which done is */
	int32_t base, end, grow; /* the ticks at which it is answered, at which it needs a block */
	bool decoding, fresh;    /* fresh: its last token was not made by the last decoding step */
};

struct world;

struct replica {
	const struct sim_engine *engine;
	struct world *world;
	struct cost_cache *cache;
	uint16_t number;
	bool only_prefills, only_decodes; /* of two pools */

	struct slot *slots; /* in order of admission */
	size_t n_slots, n_decoding, n_fresh;
	uint32_t head, tail; /* who waits */
	size_t n_waiting, waiting_token;
	size_t n_seen; /* of them, when the engine last looked, at this tick */
	int32_t looked;
	size_t free_blocks;
	uint64_t context_token,
	    prompt_token; /* of those that decode, together: prompts and steps made; prompts alone */
	int32_t tick, next_end, next_grow;
	double decoded_s;              /* end of the last step that decoded */
	double link_s;                 /* until when its link is in use */
	size_t n_moving, coming_token; /* requests whose cache leaves it or is on its way to it; tokens of the latter */

	/* the step or the run of like steps that goes on */
	bool busy;
	double start_s, step_s, end_s;
	struct sim_batch batch;
	uint64_t n_alike;
	size_t first_chunk;

	size_t n_steps, n_preempted;
	struct watch watch;
};

uint32_t replica_blocks(const struct replica *p, uint64_t n_tokens);
/* Whether the request can ever be served. */
bool replica_holds(const struct replica *p, const struct sim_request *r);
/* A request comes to wait. */
void replica_receive(struct replica *p, uint32_t id, double now_s);
/* Begin a step; false when there is nothing to do. */
bool replica_begin(struct replica *p, double now_s);
/* The step is over: tokens, answers, free blocks. */
void replica_finish(struct replica *p);
/* Tokens held and prompts that wait. */
double replica_load(const struct replica *p);

void watch_init(struct watch *w, struct arena *a, size_t rows);
void watch_pass(struct replica *p, double now_s);
void watch_mark(struct watch *w, size_t k);
void watch_moment(struct replica *p);

/* --- replicas that see each other ------------------------------------------------------------------------ */

/* A request that will come to a pool: after thinking, or when its cache has moved. */
struct delivery {
	double time_s;
	uint32_t id;
	struct replica *to; /* its cache has moved there; NULL: it is sent */
};

struct world {
	const struct sim_config *config;
	struct sim_request *requests;
	uint32_t first, stride, n_requests; /* its share: first, first + stride, ... */
	uint32_t next;                      /* the next to arrive, or in a closed loop to be sent */
	struct arena *arena;
	struct cost_cache cache, decode_cache;
	struct replica *replicas; /* both pools, prefill first */
	size_t n_front, n_replicas;
	size_t n_dealt[2]; /* by round-robin, to each pool */
	struct delivery *heap;
	size_t n_heap, heap_room;
	struct gaps gaps;
	size_t n_open, n_arrived, n_half, n_warm,
	    n_own;        /* n_own: all requests of this world, n_warm: before it counts */
	double mark_s[2]; /* what counts begins and ends */
	double n_open_half, n_open_last;
	size_t n_refused;
	atomic_size_t *n_done; /* of all worlds */
	bool reports;          /* this world draws the progress */
	size_t n_unreported;
};

void world_run(struct world *w);
/* Called by a replica when a request is answered, or prefilled. */
void world_answered(struct world *w, uint32_t id, double now_s);
void world_prefilled(struct world *w, struct replica *p, uint32_t id, double now_s);

void simulation_summarise(
    const struct sim_config *c, struct world *worlds, size_t n, struct arena *a, struct sim_result *out);

#endif
