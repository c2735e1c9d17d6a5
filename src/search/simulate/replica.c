/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One replica: in-flight batching (Yu and others, Orca, OSDI 2022) over a paged cache (Kwon and others, SOSP 2023),
 * with chunked prefill (Agrawal and others, Sarathi-Serve, OSDI 2024) and preemption by recomputation on request.
 */
#include "search/simulate/parts.h"

#include <math.h>

enum { FORWARD_MOST = 64 };

uint32_t
replica_blocks(const struct replica *p, uint64_t n_tokens)
{
	return (uint32_t)((n_tokens + p->engine->block_token - 1) / p->engine->block_token);
}

/* All that a request may come to hold; a prefill pool holds the prompt alone. */
static uint64_t
whole_token(const struct replica *p, const struct sim_request *r)
{
	return (uint64_t)r->isl_token + (p->only_prefills ? 0 : r->osl_token);
}

bool
replica_holds(const struct replica *p, const struct sim_request *r)
{
	return replica_blocks(p, whole_token(p, r)) <= p->engine->n_blocks;
}

double
replica_load(const struct replica *p)
{
	return (double)((p->engine->n_blocks - p->free_blocks) * p->engine->block_token + p->waiting_token +
	    p->coming_token);
}

/* --- the queue ------------------------------------------------------------------------------------------- */

static void
push(struct replica *p, uint32_t id, bool front)
{
	struct sim_request *r = &p->world->requests[id];

	r->next = front ? p->head : NOBODY;
	if (p->head == NOBODY)
		p->head = p->tail = id;
	else if (front)
		p->head = id;
	else
		p->tail = p->world->requests[p->tail].next = id;
	p->n_waiting++;
	p->n_seen += front;
	p->waiting_token += r->isl_token;
	if (p->n_waiting > p->watch.most_waiting)
		p->watch.most_waiting = p->n_waiting;
}

static void
pop(struct replica *p)
{
	const struct sim_request *r = &p->world->requests[p->head];

	p->head = r->next;
	if (p->head == NOBODY)
		p->tail = NOBODY;
	p->n_waiting--;
	p->n_seen--;
	p->waiting_token -= r->isl_token;
}

/* Some engines check the queue only every few steps, unless no sequence is decoding. */
static bool
looks(const struct replica *p)
{
	return p->n_decoding == 0 || p->tick - p->looked >= (int32_t)p->engine->poll_steps;
}

static void
look(struct replica *p)
{
	if (!looks(p))
		return;
	p->n_seen = p->n_waiting;
	p->looked = p->tick;
}

/* --- decoding -------------------------------------------------------------------------------------------- */

/* Tokens that a decoding step makes of a sequence. */
static double
yield(const struct replica *p)
{
	return 1 + p->engine->n_accepted;
}

/* Steps to generate n tokens; the first token comes with the prefill. */
static int32_t
steps_for(const struct replica *p, uint32_t n_tokens)
{
	return n_tokens < 2 ? (int32_t)n_tokens : 1 + (int32_t)ceil((n_tokens - 1) / yield(p));
}

static int32_t
steps_made(const struct replica *p, const struct slot *s)
{
	return p->tick - s->base;
}

static uint32_t
made(const struct replica *p, const struct slot *s)
{
	const int32_t steps = steps_made(p, s);

	return steps < 2 ? (uint32_t)steps : 1 + (uint32_t)((steps - 1) * yield(p));
}

/* The step in which prompt, tokens made and the next ones are more than its blocks hold. */
static int32_t
grows_at(const struct replica *p, const struct slot *s)
{
	const double room = (double)s->blocks * (double)p->engine->block_token - s->isl;

	return s->base + (int32_t)floor(room / yield(p));
}

static void
start_decoding(struct replica *p, struct slot *s, uint32_t made_token, uint32_t osl, bool fresh)
{
	s->decoding = true;
	s->base = p->tick - steps_for(p, made_token);
	s->end = s->base + steps_for(p, osl);
	s->grow = grows_at(p, s);
	s->fresh = fresh;
	p->n_fresh += fresh;
	p->n_decoding++;
	p->prompt_token += s->isl;
	p->context_token += s->isl + (uint64_t)steps_made(p, s);
	if (s->end < p->next_end)
		p->next_end = s->end;
	if (s->grow < p->next_grow)
		p->next_grow = s->grow;
}

static void
stop_decoding(struct replica *p, struct slot *s)
{
	p->n_decoding--;
	p->n_fresh -= s->fresh;
	p->prompt_token -= s->isl;
	p->context_token -= s->isl + (uint64_t)steps_made(p, s);
}

/* --- blocks ---------------------------------------------------------------------------------------------- */

/* The last admitted gives its blocks back and waits again, first of all; it will be recomputed. */
static void
preempt_last(struct replica *p)
{
	struct slot *s = &p->slots[--p->n_slots];
	struct sim_request *r = &p->world->requests[s->id];

	if (s->decoding) {
		r->made_token = made(p, s);
		if (!s->fresh)
			r->last_s = fmax(r->last_s, p->decoded_s);
		stop_decoding(p, s);
	}
	p->free_blocks += s->blocks;
	p->n_preempted++;
	if (r->n_preempted < UINT16_MAX)
		r->n_preempted++;
	push(p, s->id, true);
}

static void
grow(struct replica *p)
{
	int32_t next = NEVER;

	for (size_t i = 0; i < p->n_slots; i++) {
		struct slot *s = &p->slots[i];

		while (s->decoding && i < p->n_slots && p->tick >= s->grow) {
			if (p->free_blocks == 0) {
				preempt_last(p);
				continue;
			}
			p->free_blocks--;
			s->blocks++;
			s->grow = grows_at(p, s);
		}
		if (s->decoding && i < p->n_slots && s->grow < next)
			next = s->grow;
	}
	p->next_grow = next;
}

/* --- what the step computes ------------------------------------------------------------------------------ */

struct plan {
	double budget_token;
	double prefix_sum;
	size_t n_ending;
};

static void
give_chunk(struct replica *p, struct plan *plan, size_t i, double chunk_token)
{
	struct slot *s = &p->slots[i];

	s->chunk = (uint32_t)chunk_token;
	plan->budget_token -= chunk_token;
	plan->prefix_sum += s->done;
	plan->n_ending += s->done + s->chunk == s->target;
	if (p->batch.n_prefill == 0)
		p->first_chunk = i;
	p->batch.n_prefill++;
	p->batch.prefill_token += chunk_token;
}

static void
go_on_prefilling(struct replica *p, struct plan *plan)
{
	for (size_t i = 0; i < p->n_slots && plan->budget_token > 0; i++) {
		const struct slot *s = &p->slots[i];
		if (!s->decoding)
			give_chunk(p, plan, i, fmin(plan->budget_token, s->target - s->done));
	}
}

/* Whether there are blocks for the first that waits, and how many it takes. */
static bool
has_room(const struct replica *p, const struct sim_request *r, uint32_t *need)
{
	const struct sim_engine *e = p->engine;

	*need = replica_blocks(p, e->evict ? r->isl_token + r->made_token : whole_token(p, r));
	if (p->free_blocks < *need)
		return false;
	/* one block in a hundred is kept for those that run */
	return !e->evict || p->n_slots == 0 || p->free_blocks >= *need + e->n_blocks / 100;
}

static bool
admit_first(struct replica *p, struct plan *plan)
{
	const struct sim_engine *e = p->engine;
	const struct sim_request *r = &p->world->requests[p->head];
	const uint32_t id = p->head, target = r->isl_token + r->made_token;
	const bool moved = p->only_decodes && r->replica != p->number;
	const double compute_token = target - r->cached_token;
	uint32_t need;

	if (!has_room(p, r, &need))
		return false;
	if (!moved && !e->chunked && compute_token > plan->budget_token &&
	    (p->batch.n_prefill > 0 || (p->n_decoding > 0 && compute_token <= (double)e->max_step_token)))
		return false;
	pop(p);
	p->free_blocks -= need;
	struct slot *s = &p->slots[p->n_slots++];
	*s = (struct slot){.id = id, .isl = r->isl_token, .target = target, .done = r->cached_token, .blocks = need};
	if (moved) { /* its cache came with it, and the first token goes out from here, as in engines with two pools */
		p->world->requests[id].first_s = p->world->requests[id].last_s = p->start_s;
		s->done = s->target;
		start_decoding(p, s, r->made_token, r->osl_token, true);
		plan->budget_token -= 1 + e->n_drafts;
	} else
		give_chunk(
		    p, plan, p->n_slots - 1, e->chunked ? fmin(compute_token, plan->budget_token) : compute_token);
	p->world->requests[id].replica = p->number;
	return true;
}

static void
fill_batch(struct replica *p)
{
	const struct sim_engine *e = p->engine;
	struct plan plan = {.budget_token = (double)e->max_step_token - (double)p->n_decoding * (1 + e->n_drafts)};

	p->batch = (struct sim_batch){0};
	if (e->chunked && p->n_decoding < p->n_slots)
		go_on_prefilling(p, &plan);
	while (p->n_seen > 0 && p->n_slots < e->max_sequences && plan.budget_token > 0 && admit_first(p, &plan))
		;
	struct sim_batch *b = &p->batch;
	if (b->n_prefill > 0)
		b->prefix_token = plan.prefix_sum / b->n_prefill;
	if (p->n_decoding && !(e->prefill_first && b->n_prefill > 0)) {
		b->n_decode = (double)p->n_decoding;
		b->context_token =
		    ((double)p->prompt_token + yield(p) * (double)(p->context_token - p->prompt_token)) / b->n_decode;
	}
	b->n_rows = b->n_decode + (double)plan.n_ending;
	/* a part of the batch that goes through stages with whole prompts is the slowest one */
	const double n_parts = (double)(e->n_parts ? e->n_parts : 1),
	             alone = b->n_prefill > 0 ? fmax(1, n_parts / b->n_prefill) : 1;
	b->n_new_token = round(b->prefill_token * alone) + b->n_decode * (1 + e->n_drafts);
	b->n_logit = b->n_rows + b->n_decode * e->n_drafts;
}

/* --- steps ----------------------------------------------------------------------------------------------- */

/* Run decode-only steps together until a request finishes or needs a block; each costs as much as the middle one. */
static void
set_length(struct replica *p, uint64_t n_alike)
{
	struct sim_batch b = p->batch;

	b.context_token += yield(p) * ((double)n_alike - 1) / 2;
	p->n_alike = n_alike;
	p->step_s = cost_of(p->cache, &b) + (b.n_decode > 0 ? p->engine->draft_s : 0) +
	    (p->n_steps == 0 ? p->engine->cold_s : 0);
	p->end_s = p->start_s + (double)n_alike * p->step_s;
}

/* Sequences that decode now waited through steps with prefill only. */
static bool
stalled(const struct replica *p)
{
	return p->engine->prefill_first && p->decoded_s < p->start_s;
}

/* Steps until those that wait are looked at. */
static uint64_t
until_look(const struct replica *p)
{
	const int64_t left = (int64_t)p->engine->poll_steps - (p->tick - p->looked);

	return left > 1 ? (uint64_t)left : 1;
}

static uint64_t
alike_most(const struct replica *p)
{
	uint64_t n = p->n_waiting > p->n_seen ? until_look(p) : FORWARD_MOST;

	if (p->world->config->every_step || p->batch.n_prefill > 0 || p->n_decoding < p->n_slots || p->n_fresh ||
	    stalled(p))
		return 1;
	if ((uint64_t)(p->next_end - p->tick) < n)
		n = (uint64_t)(p->next_end - p->tick);
	if (p->engine->evict && (uint64_t)(p->next_grow - p->tick) < n)
		n = (uint64_t)(p->next_grow - p->tick);
	return n;
}

bool
replica_begin(struct replica *p, double now_s)
{
	if (p->n_slots == 0 && p->head == NOBODY)
		return false;
	watch_pass(p, now_s);
	if (p->engine->evict && p->tick >= p->next_grow)
		grow(p);
	look(p);
	p->start_s = now_s;
	fill_batch(p);
	if (p->batch.n_prefill == 0 && p->batch.n_decode == 0)
		return false; /* its blocks are on the way to the other pool */
	p->busy = true;
	set_length(p, alike_most(p));
	watch_moment(p);
	return true;
}

void
replica_receive(struct replica *p, uint32_t id, double now_s)
{
	const bool alone = p->head == NOBODY;

	watch_pass(p, now_s);
	push(p, id, false);
	if (!p->busy || p->n_alike == 1 || !alone)
		return;
	/* it is looked at after the step that goes on, not after the run of steps */
	uint64_t n = (uint64_t)fmax((double)until_look(p), ceil((now_s - p->start_s) / p->step_s));
	const uint64_t most = p->n_alike;
	for (set_length(p, n < most ? n : most); p->end_s < now_s && p->n_alike < most;)
		set_length(p, p->n_alike + 1);
}

/* Gaps of the step: all alike, unless some waited longer for their token. */
static void
count_gaps(struct replica *p)
{
	struct gaps *g = &p->world->gaps;

	if (p->n_fresh == 0 && !stalled(p)) {
		gaps_add(g, p->step_s, p->n_alike * p->n_decoding);
		return;
	}
	for (size_t i = 0; i < p->n_slots; i++) {
		struct slot *s = &p->slots[i];
		if (!s->decoding)
			continue;
		gaps_add(g, p->end_s - (s->fresh ? p->world->requests[s->id].last_s : p->decoded_s), 1);
		s->fresh = false;
	}
	p->n_fresh = 0;
}

/* The chunk is done; with it perhaps the prompt, which gives a token.  True when nothing more is to do for it here. */
static bool
end_chunk(struct replica *p, struct slot *s)
{
	struct sim_request *r = &p->world->requests[s->id];

	s->done += s->chunk;
	s->chunk = 0;
	if (s->done < s->target)
		return false;
	if (r->made_token++ == 0)
		r->first_s = p->end_s;
	else
		gaps_add(&p->world->gaps, p->end_s - r->last_s, 1);
	r->last_s = p->end_s;
	if (p->only_prefills || r->made_token == r->osl_token)
		return true;
	start_decoding(p, s, r->made_token, r->osl_token, p->engine->prefill_first);
	return false;
}

static void
leave(struct replica *p, struct slot *s)
{
	struct sim_request *r = &p->world->requests[s->id];

	if (s->decoding) {
		r->made_token = r->osl_token;
		r->last_s = p->end_s;
		stop_decoding(p, s);
	}
	if (p->only_prefills && r->made_token < r->osl_token) {
		world_prefilled(p->world, p, s->id, p->end_s);
		return; /* the blocks are free when they have been read */
	}
	p->free_blocks += s->blocks;
	world_answered(p->world, s->id, p->end_s);
}

/* Remove finished requests; keep the rest in order. */
static void
close_up(struct replica *p)
{
	size_t n = 0;

	p->next_end = p->next_grow = NEVER;
	for (size_t i = 0; i < p->n_slots; i++) {
		struct slot *s = &p->slots[i];

		if (s->decoding ? p->tick >= s->end : s->done == s->target) {
			leave(p, s);
			continue;
		}
		if (s->decoding && s->end < p->next_end)
			p->next_end = s->end;
		if (s->decoding && s->grow < p->next_grow)
			p->next_grow = s->grow;
		if (n != i)
			p->slots[n] = *s;
		n++;
	}
	p->n_slots = n;
}

void
replica_finish(struct replica *p)
{
	bool leaves = false;

	watch_pass(p, p->end_s);
	p->busy = false;
	p->n_steps += p->n_alike;
	if (p->batch.n_decode > 0) {
		count_gaps(p);
		p->tick += (int32_t)p->n_alike;
		p->context_token += p->n_alike * p->n_decoding;
		p->decoded_s = p->end_s;
	}
	leaves = p->tick >= p->next_end;
	if (p->batch.n_prefill > 0)
		for (size_t i = p->first_chunk; i < p->n_slots; i++)
			if (p->slots[i].chunk)
				leaves |= end_chunk(p, &p->slots[i]);
	if (leaves)
		close_up(p);
}
