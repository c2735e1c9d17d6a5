/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run simulations, several at a time on all cores. */
#include "search/simulate/simulate.h"

#include "search/simulate/parts.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* --- serve --------------------------------------------------------------------------------------------------- */

/* Prompts of a part of the batch: at least one whole one. */
static double
part_of(const struct serve_setup *s, double n_prompts)
{
	return fmax(n_prompts / s->layout.pp, fmin(n_prompts, 1));
}

/* Passes of what drafts. */
static double
draft_cost_of(const struct serve_setup *s, const struct sim_batch *b)
{
	const double pp = s->layout.pp, n_prompts = part_of(s, b->n_prefill);
	const struct serve_batch batch = {.n_prefill = n_prompts,
	    .chunk_token = b->n_prefill > 0 ? b->prefill_token / b->n_prefill : 0,
	    .prefix_token = b->prefix_token,
	    .n_decode = b->n_decode / pp,
	    .context_token = b->context_token + 0.5,
	    .n_drafts = b->n_decode > 0 ? (b->n_logit - b->n_rows) / b->n_decode : 0};

	return s->draft ? serve_draft_time(NULL, s->draft, &batch) : 0;
}

/* What a step takes besides its kernels. */
static double
host_cost(const struct serve_setup *s, const struct sim_batch *b)
{
	return draft_cost_of(s, b) + serve_host(NULL, s, part_of(s, b->n_prefill), b->n_rows / s->layout.pp);
}

static double
least_cost(const void *context, const struct sim_batch *b)
{
	const struct serve_setup *s = context;
	const double floor_s = serve_eager_floor(NULL, s, b->n_prefill, b->n_rows);

	return floor_s > 0 ? floor_s + host_cost(s, b) : 0;
}

static double
step_cost(const void *context, const struct sim_batch *b)
{
	const struct serve_setup *s = context;
	const double n_prompts = part_of(s, b->n_prefill);
	double gpu_s = 0;

	if (b->n_prefill > 0)
		gpu_s += serve_prompt_attention(NULL, s, n_prompts, b->prefill_token / b->n_prefill, b->prefix_token);
	/* in the middle of the step, caches are half a token longer */
	if (b->n_decode > 0)
		gpu_s += serve_cached_attention(NULL, s, b->n_decode / s->layout.pp, b->context_token + 0.5);
	return s->engine->gpu_factor.value * gpu_s + host_cost(s, b);
}

static double
linear_cost(const void *context, double n_tokens)
{
	const struct serve_setup *s = context;

	return s->engine->gpu_factor.value * serve_linear(NULL, s, n_tokens / s->layout.pp, NULL);
}

static double
head_cost(const void *context, double n_rows)
{
	const struct serve_setup *s = context;

	return s->engine->gpu_factor.value * serve_head(NULL, s, n_rows / s->layout.pp);
}

struct sim_engine
simulate_setup(const struct serve_setup *s, const struct serve_load *load)
{
	const struct engine *e = s->engine;
	const double groups = s->layout.attention_dp ? s->layout.tp : 1;

	return (struct sim_engine){
	    .cost = {.context = s, .step = step_cost, .least = least_cost, .linear = linear_cost, .head = head_cost},
	    .front_s = serve_front(NULL, s),
	    .poll_steps = (size_t)datum_or(e->poll_steps, 1),
	    .n_blocks = (size_t)(serve_pool(NULL, s, load) / e->memory.block_token.value),
	    .block_token = (size_t)e->memory.block_token.value,
	    .max_sequences = (size_t)(e->max_sequences.value * groups * s->layout.pp),
	    .max_step_token = (size_t)serve_token_limit(NULL, s, load),
	    .evict = e->evicts,
	    .chunked = e->chunked,
	    .prefill_first = e->prefill_first,
	    .n_parts = (size_t)s->layout.pp,
	    .n_drafts = load->n_drafts,
	    .n_accepted = load->n_accepted,
	    .draft_s = s->draft ? 0 : load->n_drafts * load->draft_s,
	};
}

struct sim_transfer
simulate_transfer(const struct serve_setup *s, double link_byte_per_s, double link_latency_s)
{
	return (struct sim_transfer){
	    link_latency_s + serve_state_byte(NULL, s) / link_byte_per_s, serve_kv_byte(NULL, s) / link_byte_per_s};
}

double
simulate_enough(double share, double n_at_once, double warmup_frac)
{
	const double tail = isnan(share) ? 0 : SIMULATE_BEYOND / (1 - share),
	             counted = fmax(SIMULATE_LEAST, fmax(tail, 20 * n_at_once));

	return ceil(fmin(SIMULATE_MOST, counted / (1 - warmup_frac)));
}

struct simulation {
	struct arena *arena;
	struct sim_config config;
	struct world *worlds;
	size_t n_worlds;
	atomic_size_t n_done;
	struct sim_result result;
};

/* --- one simulation -------------------------------------------------------------------------------------- */

static const char *
engine_fault(const struct sim_engine *e)
{
	if (!e->cost.step && !e->cost.linear && !e->cost.head)
		return "an engine needs the cost of a step";
	if (e->n_blocks < 1 || e->block_token < 1 || (double)e->n_blocks * (double)e->block_token > INT32_MAX / 2)
		return "the KV cache must hold between 1 and 1073741823 tokens";
	if (e->max_sequences < 1 || e->max_sequences > 1 << 20)
		return "running sequences must be between 1 and 1048576";
	if (e->max_step_token < 1)
		return "a step needs at least one token";
	return NULL;
}

static const char *
config_fault(const struct sim_config *c)
{
	const char *fault;

	if ((fault = traffic_fault(&c->traffic)) || (fault = engine_fault(&c->engine)) ||
	    (c->n_decode_replicas && (fault = engine_fault(&c->decode))))
		return fault;
	if (c->n_replicas < 1 || c->n_replicas + c->n_decode_replicas > UINT16_MAX)
		return "the number of replicas must be between 1 and 65535";
	if (!(c->warmup_frac >= 0 && c->warmup_frac < 1))
		return "the warm-up share must be at least 0 and below 1";
	if (!(fmin(c->send.fixed_s, c->send.s_per_token) >= 0) || !(fmin(c->take.fixed_s, c->take.s_per_token) >= 0))
		return "the transfer time must not be negative";
	return NULL;
}

/* With round-robin routing replicas are independent and are simulated separately. */
static size_t
count_worlds(const struct sim_config *c)
{
	const struct sim_traffic *t = &c->traffic;
	size_t n = c->n_replicas;

	if (c->n_decode_replicas || c->routing != SIM_ROUND_ROBIN)
		return 1;
	if (t->n_clients && t->n_clients < n)
		n = t->n_clients;
	return t->n_requests < n ? t->n_requests : n;
}

static void
set_replica(struct world *w, size_t i, size_t number)
{
	const struct sim_config *c = w->config;
	const bool decode = i >= w->n_front;
	const struct sim_engine *e = decode ? &c->decode : &c->engine;
	struct replica *p = &w->replicas[i];

	*p = (struct replica){.engine = e,
	    .world = w,
	    .cache = decode ? &w->decode_cache : &w->cache,
	    .number = (uint16_t)number,
	    .only_prefills = !decode && c->n_decode_replicas,
	    .only_decodes = decode,
	    .slots = ARENA_ARRAY(w->arena, struct slot, e->max_sequences),
	    .head = NOBODY,
	    .tail = NOBODY,
	    .free_blocks = e->n_blocks,
	    .next_end = NEVER,
	    .next_grow = NEVER};
	watch_init(&p->watch, w->arena, c->timeline_rows);
}

static void
set_world(struct world *w, size_t i, size_t n_worlds, struct sim_request *requests, atomic_size_t *n_done)
{
	const struct sim_config *c = w->config;
	const uint32_t n = (uint32_t)c->traffic.n_requests, stride = (uint32_t)n_worlds;

	w->requests = requests;
	w->n_requests = n;
	w->first = (uint32_t)i;
	w->stride = stride;
	w->arena = arena_new();
	w->cache = (struct cost_cache){.cost = &c->engine.cost, .arena = w->arena};
	w->decode_cache = (struct cost_cache){.cost = &c->decode.cost, .arena = w->arena};
	w->n_front = n_worlds > 1 ? 1 : c->n_replicas;
	w->n_replicas = w->n_front + c->n_decode_replicas;
	w->replicas = ARENA_ARRAY(w->arena, struct replica, w->n_replicas);
	w->mark_s[0] = w->mark_s[1] = NAN;
	w->n_own = (n - i + stride - 1) / stride;
	w->n_half = (w->n_own + 1) / 2;
	w->n_warm = (size_t)(c->warmup_frac * (double)w->n_own);
	w->n_done = n_done;
	w->reports = i == 0;
	gaps_init(&w->gaps, w->arena);
	for (size_t k = 0; k < w->n_replicas; k++)
		set_replica(w, k, n_worlds > 1 ? i : k);
}

/* All that is drawn is drawn here, before any thread is started. */
static struct simulation *
prepare(const struct sim_config *config, const char **fault)
{
	*fault = config_fault(config);
	if (*fault)
		return NULL;
	struct arena *const a = arena_new();
	struct simulation *s = ARENA_NEW(a, struct simulation);
	struct sim_request *requests = ARENA_ARRAY(a, struct sim_request, config->traffic.n_requests);

	s->arena = a;
	s->config = *config;
	s->n_worlds = count_worlds(config);
	s->worlds = ARENA_ARRAY(a, struct world, s->n_worlds);
	s->result.requests = requests;
	s->result.n_requests = config->traffic.n_requests;
	traffic_draw(&config->traffic, requests);
	for (size_t i = 0; i < s->n_worlds; i++) {
		s->worlds[i].config = &s->config;
		set_world(&s->worlds[i], i, s->n_worlds, requests, &s->n_done);
	}
	return s;
}

static void
conclude(struct simulation *s)
{
	simulation_summarise(&s->config, s->worlds, s->n_worlds, s->arena, &s->result);
	for (size_t i = 0; i < s->n_worlds; i++) {
		s->result.state_byte += arena_size(s->worlds[i].arena);
		arena_free(s->worlds[i].arena);
	}
	s->result.state_byte += arena_size(s->arena);
}

static void
run_world(void *context, size_t i)
{
	world_run(((struct world **)context)[i]);
}

void
simulate_many(
    const struct sim_config *configs, size_t n, size_t n_threads, struct simulation **out, const char **faults)
{
	struct arena *const a = arena_new();
	size_t n_worlds = 0;

	for (size_t i = 0; i < n; i++)
		if ((out[i] = prepare(&configs[i], &faults[i])))
			n_worlds += out[i]->n_worlds;
	struct world **worlds = ARENA_ARRAY(a, struct world *, n_worlds);
	n_worlds = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; out[i] && k < out[i]->n_worlds; k++)
			worlds[n_worlds++] = &out[i]->worlds[k];
	crew_run(run_world, worlds, n_worlds, n_threads);
	for (size_t i = 0; i < n; i++)
		if (out[i])
			conclude(out[i]);
	arena_free(a);
}

struct simulation *
simulate(const struct sim_config *config, const char **fault)
{
	struct simulation *s;

	simulate_many(config, 1, config->n_threads, &s, fault);
	return s;
}

const struct sim_result *
simulation_result(const struct simulation *s)
{
	return &s->result;
}

void
simulation_free(struct simulation *s)
{
	if (s)
		arena_free(s->arena);
}
