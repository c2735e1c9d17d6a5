/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_MODEL_SERVE_SERVE_H
#define RIDGE_MODEL_SERVE_SERVE_H

#include "base/sheet.h"
#include "model/hw/hw.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"

/*
 * Serving engines: time outside kernels, choice of kernels, how requests are admitted.  One struct per
 * family of versions that behave alike; its numbers were fitted to published runs and say how well they meet them.
 */

/* What a family's kernels do on one architecture.  Absent: nothing special. */
struct engine_architecture {
	const char
	    *architecture; /* as the GPU's file says, or the part in front of its hyphen; `-gddr`: cards without HBM */
	struct datum fp8_attention; /* prompts with 8-bit caches and products: times faster than in 16 bits */
	struct datum core_element;  /* decode attention once per query head: elements of the cache per SM and clock */
	struct datum kv_reuse_frac; /* grouped decode kernels: share of the bandwidth that is reached */
	struct datum imbalance;     /* expert parallelism: a of 1 + a sqrt(2 ln(ep) ep / experts) */
	struct datum moe_time;      /* grouped products take this much longer than alone */
	bool marlin;                /* experts in mxfp4 with 16-bit activations: the kernel of 4-bit integers */
	bool imbalance_is_tokens;   /* uneven routing brings more tokens to a rank, not more time for its weights */
	struct datum moe_peak_frac; /* grouped products: share of the peak, relative to what 16-bit ones reach */
	struct datum
	    moe_feed_byte_per_s;  /* operands fed to one SM; absent: as ungrouped products, with their latency */
	struct datum block8_frac; /* 8-bit products with scales of blocks: share of the peak */
	struct datum
	    latent_prompt;     /* attention over latents in prompts: share of the arithmetic that its kernel reaches */
	struct datum fp4_frac; /* share of the 4-bit peak inside the engine; absent: that of the kernel alone */
	struct datum base_factor, host_factor; /* fixed parts of kernels, host time: old servers */
	struct datum base8_factor; /* fixed parts of kernels when activations are 8-bit; absent: base_factor */
	struct datum router_s;     /* of the top-k of a router, instead of the engine's */
	struct datum cold_s;       /* of a server's first step, instead of the engine's */
	struct datum watt_flop;    /* products under the power limit, FLOP per joule; absent: no limit */
	struct datum wide_frac, tf32_frac, fp32_frac; /* share of these peaks */
};

/* When decode attention runs on the CUDA cores, once per query head. */
enum core_attention {
	CORE_NEVER,
	CORE_UNEVEN,  /* query heads per key head that are no power of two */
	CORE_CHUNKED, /* layers that attend inside chunks */
	CORE_INT4,    /* caches of 4 bits */
};

enum engine_reduce { REDUCE_BEST, REDUCE_NCCL };

enum engine_kind { ENGINE_BATCHED, ENGINE_STATIC, ENGINE_ENCODER, ENGINE_LAYER_SPLIT };

/* Prompts of an engine that runs every operator by itself: weights are unpacked before each product, the scores of
 * attention are written and read again. */
struct engine_unfused {
	struct datum peak_frac, mem_frac; /* shares of the peak (accumulating in 16 bits) and of the bandwidth */
	struct datum n_stream_passes, n_score_passes; /* how often fp32 activations and scores go through memory */
	struct datum launch_s, n_kernels, n_packed_kernels; /* of a layer, with 16-bit and with packed weights */
	struct datum queue, batch_token; /* launches that the queue takes before the CPU waits; tokens of a part */
};

enum { N_ENGINE_ARCHITECTURES = 10, N_ENGINE_RESIDUALS = 8 };

/* How far the family's predictions were from published runs. */
struct engine_residual {
	const char *kind; /* offline, online, batch1, static, ttft */
	struct datum n_points, mape_frac, median_frac;
};

/* What published runs call the family's software. */
struct engine_match {
	const char *software, *sched; /* parts of what they say; sched NULL: whatever */
	const char *from, *to;        /* versions, as `0.15`, both inside; NULL: no limit */
	const char *weights;          /* a part of the type of the weights; NULL: whatever */
	const char *date;             /* ... or runs without a version whose date begins so */
	const char *architecture;     /* of the GPU; NULL: whatever */
};

struct engine {
	const char *id, *name, *versions, *notes;
	const char *backend; /* whose kernels: trtllm, vllm, sglang */
	const char *vendor;  /* of the GPUs that it runs on; NULL: any */
	enum engine_kind kind;

	/* a step: factor x (kernels + communication factor x collectives) + host + per sequence + with prompts */
	struct datum host_s, prefill_s, sequence_s, first_s; /* first_s: of a lone first token, where prefill_s is 0 */
	struct datum front_s;        /* before a first token, per layer of experts; other requests do not wait for it */
	struct datum handover_s;     /* of a request from one pool to the other: a router, two schedulers that agree */
	struct datum prompt_layer_s; /* least time of a layer in a step that is launched kernel by kernel */
	struct datum graph_rows;     /* sequences of the largest decode step that replays a graph; absent: any */
	struct datum router_s;       /* of the top-k of a router with a bias over many experts, in kernels of torch */
	struct datum recurrent_s;    /* of a step with recurrent layers, where the host cannot run ahead of them */
	struct datum cold_s;         /* of a server's first step: kernels that are built and tuned when first used */
	struct datum gpu_factor, comm_factor;
	struct datum elementwise_s, elementwise_frac; /* fixed part of a small kernel; share of its bytes that move */
	struct datum sampling_s, sampling_link_s;
	struct datum gemm_base, attention_base;  /* factors of the kernels' fixed parts */
	struct datum quantise_s, quantise_frac;  /* activations quantized by kernels of their own; absent: fused */
	struct datum launch_s, n_layer_launches; /* eager engines: a layer is no faster than its launches */

	struct datum weight_only_frac;                 /* of the arithmetic that dequantising products reach */
	struct datum cap16_byte, cap8_byte, cap4_byte; /* weights streamed per SM and clock, at most */
	enum core_attention core_attention;
	struct datum core_element;       /* ... elements of the cache per SM and clock */
	struct datum walk_s;             /* attention over latents, heads by no 16: time of a token that is cached */
	struct datum gddr_frac;          /* bandwidth of GDDR that is reached, at least */
	struct datum expert_spread_frac; /* tokens of an expert: evenly this share less and more than their mean */
	struct datum int8_frac;          /* arithmetic that 8-bit integer products reach of what they do alone */

	enum engine_reduce reduce;
	struct datum link_wait_s; /* mean delay of a rank at a collective over NVLink; absent: none */
	struct datum pcie_pair_s; /* of a step of two GPUs over PCIe, beside its collectives */
	struct datum pcie_wait, pcie_s, pcie_rank_frac, pcie_frac, pcie_contention_frac, pcie_gather_frac;

	struct stack memory; /* memory besides weights and KV cache, and the share of GPU memory it takes */
	bool narrow_kv;      /* caches in 8 bits beside weights in 8 or 4 bits where a checkpoint says nothing */
	struct datum max_sequences, max_tokens;
	struct datum poll_steps; /* steps that decode between two looks at who waits; absent: 1 */
	bool chunked, evicts, prefill_first;

	struct engine_unfused unfused;
	struct datum row_sync_s; /* weights cut in rows over GPUs: per layer and GPU */
	bool row_split;          /* ... which is how it runs on several */

	struct engine_architecture architectures[N_ENGINE_ARCHITECTURES];
	int n_architectures;
	struct engine_residual *residuals;
	int n_residuals;
	struct engine_match *matches;
	int n_matches;
	const char *refused; /* why its answers cannot be trusted at all; NULL: they can */
	const char *warning; /* what holds for every answer of the family */
};

/* Other limits than those of its file, and the memory that the engine sets aside for them.  Absent: as they are. */
void engine_limit(struct engine *e, struct datum n_sequences, struct datum n_token);
/* What the family does on this GPU, or NULL. */
const struct engine_architecture *engine_architecture(const struct engine *e, const struct gpu *gpu);

/*
 * How long one step of a serving engine takes: prompts, parts of prompts and running sequences that go through the
 * model together.
 *
 * serve_iteration is the sum of four parts that do not depend on one another, so that who calls it very often can keep
 * a table of the first two: serve_linear by the number of tokens, serve_head by the rows of logits.
 */

/* How the products of one part of the model run.  Members that are 0 have no effect. */
struct serve_format {
	enum dtype type;               /* names the kernels' parameters */
	double a_byte, w_byte, o_byte; /* of an activation, a weight and a result, scales included; o_byte 0: 2 */
	double cap_byte;               /* weights that one SM unpacks per clock, at most */
	double rate_frac;        /* of the arithmetic that kernels of this type reach: unpacking kernels, integers */
	double limit_flop_per_s; /* of the power supply */
};

struct serve_precision {
	struct serve_format attention, mlp, experts, head;
	double wide_limit_flop_per_s; /* of the power supply, for what runs in 16 bits anyway; 0: none */
	double kv_byte;
	bool fast_prompts; /* 8-bit products and caches: prompts may attend in 8 bits */
};

/* One replica: tp x pp GPUs.  Experts are spread over ep of the tp GPUs and cut into tp / ep slices.  With attention_dp
 * each of the tp GPUs attends for sequences of its own, with whole weights. */
struct serve_layout {
	double tp, pp, ep;
	bool attention_dp;
};

/* Links of one GPU.  Without NVLink, collectives go over PCIe. */
struct serve_links {
	bool linked;
	struct datum link_byte_per_s, pcie_byte_per_s;
};

/* Between the nodes of a replica; n_near: GPUs of one, 0: the replica stays in one. */
struct serve_network {
	double n_near;
	const struct network_calibration *fits; /* by collective */
	double nic_byte_per_s;                  /* of a GPU */
};

/* What drafts tokens of a speculating replica, on the same GPUs. */
struct serve_draft {
	const struct serve_setup *setup;
	bool shares_head; /* embedding and head are the target's */
	bool joined;      /* it starts from the target's hidden state beside the token's embedding */
};

struct serve_setup {
	const struct workload *model;
	const struct serve_draft *draft; /* NULL: none, or draft_s of the load is all that is known */
	const struct engine *engine;
	const struct engine_architecture *architecture; /* or NULL */
	const struct calibration *kernels;              /* made by serve_kernels */
	struct serve_precision precision;
	struct serve_layout layout;
	struct serve_links links;
	struct serve_network network;
	struct datum mem_byte; /* of one GPU, usable */
	double card_frac;      /* of it, for weights and cache; 0: the engine's rule */
	bool core_attention;   /* decode attention runs once per query head */
	double beam_token; /* of a prompt that beams share: what a sequence attends to beyond its part; 0: no beams */
};

/* What one step works on: n_prefill prompts or parts of chunk_token tokens that follow prefix_token cached ones, and
 * n_decode sequences that hold context_token tokens on average.  n_rows sequences get logits. */
struct serve_batch {
	double n_prefill, chunk_token, prefix_token;
	double n_decode, context_token;
	double n_rows;
	double n_drafts; /* verified with each sequence that decodes */
};

/* Seconds of one step by what spends them.  comm is without the engine's factor; total is the step. */
struct serve_terms {
	double gemm, prompt_attention, cached_attention, moe, elementwise, comm, pipeline, head, host, total;
};

/* What a setup is made from. */
struct serve_parts {
	const struct workload *model;
	const struct gpu *gpu;
	struct datum mem_byte; /* of one GPU, usable; 0: what the GPU has */
	double card_frac;      /* of it, for weights and cache; 0: the engine's rule */
	const struct engine *engine;
	const struct calibration *consensus, *own; /* the GPU's kernels; those of the engine's backend, or NULL */
	enum dtype compute, weights, kv;           /* of products, of stored weights, of the cache */
	const struct quantisation *published;      /* ... unless each part is in the format that it was published in */
	bool wide_attention;                       /* its products and weights stay in 16 bits */
	double weight_byte, head_byte;             /* of a weight, of one of the head; 0: what the types say */
	struct serve_layout layout;
	bool linked; /* the replica's GPUs have NVLink to one another */
	struct serve_network network;
};

/* Put a setup together.  Returns why that cannot be done, or NULL.  `kernels` must live as long as `out`. */
const char *serve_assemble(struct serve_setup *out, struct calibration *kernels, const struct serve_parts *in);
/* Bytes of a stored weight of this type with its scales, beside products of type `compute`. */
double serve_stored_byte(enum dtype weights, enum dtype compute);
/* The usual type of this engine's cache beside weights of this type. */
enum dtype serve_usual_kv(const struct engine *e, enum dtype weights);
/* The type of products of weights of this type on this GPU: their own, or 16 bits. */
enum dtype serve_products(const struct gpu *gpu, enum dtype weights);
/* Why no step of this model can be worked out, or NULL. */
const char *serve_lacks_model(const struct workload *w);

/* What the engine's kernels reach on this GPU: `consensus` and the backend's own parameters (or NULL), at the GPU's own
 * rates, with what the engine does differently.  False when there are none for this type. */
bool serve_kernels(struct calibration *out, const struct serve_setup *s, const struct gpu *gpu,
    const struct calibration *consensus, const struct calibration *own);
/* Rates of PCIe that engines reach, by the name of the GPU's slot (`pcie4-x16`); absent if unknown. */
struct datum serve_pcie(const char *slot);
/* Whether decode attention of this model and cache runs on the CUDA cores in this engine. */
bool serve_core_attention(
    const struct workload *w, const struct engine *e, const struct engine_architecture *a, double kv_byte);
/* The batch of n_decode sequences that hold context tokens, and n_prefill whole prompts of isl tokens. */
struct serve_batch serve_step(double n_prefill, double isl, double n_decode, double context);

/* --- the step -------------------------------------------------------------------------------------------- */

/* Products, experts, small kernels and collectives of all layers for n_new tokens. */
double serve_linear(struct sheet *sh, const struct serve_setup *s, double n_new, struct serve_terms *out);
/* Logits and sampling of n_rows sequences. */
double serve_head(struct sheet *sh, const struct serve_setup *s, double n_rows);
/* Attention of all layers over n_prompts stretches of new tokens behind cached ones. */
double serve_prompt_attention(
    struct sheet *sh, const struct serve_setup *s, double n_prompts, double chunk, double prefix);
/* Attention of all layers of one new token for each of n_running sequences over its cache. */
double serve_cached_attention(struct sheet *sh, const struct serve_setup *s, double n_running, double context);
/* What the step waits for outside the GPU. */
double serve_host(struct sheet *sh, const struct serve_setup *s, double n_prompts, double n_rows);
/* The whole step; `out` (or NULL) gets its terms. */
double serve_iteration(
    struct sheet *sh, const struct serve_setup *s, const struct serve_batch *batch, struct serve_terms *out);

/* --- its parts ------------------------------------------------------------------------------------------- */

/* Seconds of the products of one layer, of its experts, its small kernels, its collectives. */
double serve_layer_products(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new);
double serve_layer_experts(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new);
double serve_layer_small(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new);
double serve_layer_comm(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_new);
double serve_layer_prompt(struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_prompts,
    double chunk, double prefix);
double serve_layer_cached(
    struct sheet *sh, const struct serve_setup *s, const struct block *b, double n_running, double context);
/* Time of a small memory-bound kernel. */
double serve_elementwise(struct sheet *sh, const struct serve_setup *s, double moved_byte);
/* Expected load of the busiest of ep ranks over the mean, with n_experts uneven experts. */
double serve_imbalance(struct sheet *sh, double unevenness, double ep, double n_experts);
/* All-reduce, and all-gather or reduce-scatter, of the full buffer over the replica's tp GPUs. */
double serve_allreduce(struct sheet *sh, const struct serve_setup *s, double size_byte);
double serve_gather(struct sheet *sh, const struct serve_setup *s, double size_byte);

/*
 * What a serving engine does with a load, in closed form: how many sequences its cache holds, how fast they go when all
 * are there from the start, and how long requests wait when they arrive at random.  Lengths are all alike here; their
 * spread, preemption and percentiles need a simulation.
 */

struct serve_load {
	double isl, osl;           /* tokens of a prompt and of an answer */
	double cached_frac;        /* of each prompt: its keys and values are there already */
	struct datum n_requests;   /* of a finite run; absent: requests never end */
	struct datum n_concurrent; /* at most this many at once */
	/* speculative decoding: drafted for each sequence in a step, accepted of them, seconds of one; 0: none */
	double n_drafts, n_accepted, draft_s;
	double isl_cv, osl_cv; /* coefficients of variation of the lengths; 0: all alike */
	bool cold;             /* a finite run begins on a new server */
};

/* --- room ------------------------------------------------------------------------------------------------ */

/* The replica as the memory model knows it, with one sequence of the load. */
struct memory_job serve_memory(const struct serve_setup *s, const struct serve_load *load);
/* Weights on one GPU; keys and values of one token on it; and tokens that the replica's caches hold. */
double serve_weights(struct sheet *sh, const struct serve_setup *s);
double serve_kv_byte(struct sheet *sh, const struct serve_setup *s);
/* Recurrent states of one sequence on one GPU, whatever its length; 0 where no layer has one. */
double serve_state_byte(struct sheet *sh, const struct serve_setup *s);
double serve_pool(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);
/* Sequences of this load that the cache has room for. */
double serve_cached(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);
/* Sequences of this load that run at once; below 1: not even one fits. */
double serve_running(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);

/* Bytes that one GPU lacks to hold the weights, the engine's reserve and one request. */
double serve_missing(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);
/* A part of a step, as a share of it. */
double serve_share(struct sheet *sh, double term_s, double step_s);

/* --- steps ----------------------------------------------------------------------------------------------- */

/* A step of the whole replica with n_prompts prompts and n_running sequences that decode; with drafts, those too. */
double serve_mixed_step(
    struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_prompts, double n_running);
/* Tokens of a step, at most. */
double serve_token_limit(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);
/* Steps of an answer after the one that ends its prompt; a token's time, from a step's. */
double serve_decode_steps(struct sheet *sh, const struct serve_load *load);
double serve_token_time(struct sheet *sh, const struct serve_load *load, double step_s);

/* --- everything is there from the start ------------------------------------------------------------------ */

/* Prompts that begin with each step while n_running sequences have a place and as many start as end; fewer where steps
 * do not take that many. */
double serve_starting(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_running);
/* The mean step then; requests and tokens per second. */
double serve_steady(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_starting);
double serve_request_rate(struct sheet *sh, double n_starting, double step_s);
double serve_token_rate(struct sheet *sh, double rate_request_per_s, double osl_token);
/* Seconds of a finite run of equal requests: in waves, where places are what is short, else as fast as the tokens of a
 * step allow. */
double serve_waves(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_running);
double serve_run_rate(struct sheet *sh, double n_requests, double osl, double run_s);
/* A static batch: all prompts in one step, then all tokens together; seconds to the first tokens, and per token. */
double serve_first(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_batch);
double serve_decode(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_batch);
double serve_static(struct sheet *sh, double first_s, double decode_s, double osl);
/* A batch through an encoder: the parts it is split into across pipeline stages, and its time. */
double serve_encode_parts(struct sheet *sh, const struct serve_setup *s, double n_batch);
double serve_encode(struct sheet *sh, const struct serve_setup *s, double isl, double n_batch);

/* --- requests that come and go --------------------------------------------------------------------------- */

/* What a request meets, on average. */
struct serve_flow {
	double rate_request_per_s, n_places; /* places: sequences that cache and engine allow at once */
	double n_running;                    /* places that are taken */
	double n_decoding;                   /* sequences that decode in a step, as one of them meets it */
	double n_few, n_many;                /* ... for so much of the time, as their number varies */
	double few_frac, many_frac;
	double prompt_frac, n_together; /* of its steps, those with prompts; prompts in one of them */
	double idle_frac;               /* requests that find an idle replica */
	double n_beside, n_own;         /* the others: sequences that decode and prompts in their own last step */
	double wait_s, place_s;         /* until that step begins; for a place before that */
};

/* Requests that arrive at random at this rate, or of n_clients clients that think for an exponential time between an
 * answer and the next request.  A search, nothing is recorded.  False: more come than leave; no request fits. */
bool serve_flow_open(
    const struct serve_setup *s, const struct serve_load *load, double rate_request_per_s, struct serve_flow *out);
bool serve_flow_closed(const struct serve_setup *s, const struct serve_load *load, double n_clients, double think_s,
    struct serve_flow *out);
/* Time that a server adds to the first token of a request, outside its steps; and two pools, beside the transfer. */
double serve_front(struct sheet *sh, const struct serve_setup *s);
double serve_handover(struct sheet *sh, const struct serve_setup *s);

/* The least that a step outside of graphs takes on the GPU, whose kernels are launched one by one: with prompts, or
 * with more sequences than the engine captures. */
double serve_eager_floor(struct sheet *sh, const struct serve_setup *s, double n_prompts, double n_rows);
/* What the first step of a server that has just been started takes longer. */
double serve_cold(const struct serve_setup *s, const struct serve_load *load);
/* Seconds to the first token, and of each of the others. */
double serve_flow_first(
    struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, const struct serve_flow *f);
double serve_flow_step(
    struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, const struct serve_flow *f);
double serve_answer_time(struct sheet *sh, double first_s, double step_s, double osl);

/* First tokens of n prompts that come together: from the soonest to the last. */
struct serve_burst {
	double n, soonest_s, last_s;
};

/* n_together clients begin at once; cold_s: how much longer the first step takes. */
void serve_burst(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load, double n_together,
    double cold_s, struct serve_burst *out);
double serve_burst_first(struct sheet *sh, const struct serve_burst *b);
/* The mean, and the quantile `share`, of a run of n_requests that begins so and goes on with steady_s. */
double serve_run_first(struct sheet *sh, const struct serve_burst *b, double n_requests, double steady_s);
double serve_run_quantile(
    struct sheet *sh, const struct serve_burst *b, double n_requests, double steady_s, double share);

/* --- beyond ---------------------------------------------------------------------------------------------- */

/* Seconds that drafting adds to a step; weights of what drafts on one GPU. */
double serve_draft_time(struct sheet *sh, const struct serve_draft *d, const struct serve_batch *batch);
double serve_draft_weights(struct sheet *sh, const struct serve_draft *d);
/* Tokens per second with drafts over those without. */
double serve_draft_gain(struct sheet *sh, double plain_s, double token_s);
/* Disaggregated pools: prompts per second of a prefill replica, moving one prompt's cache over a link, and prefill
 * replicas per decode replica so that neither waits. */
double serve_prefill_rate(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load);
double serve_decode_rate(struct sheet *sh, const struct serve_load *load, double n_running, double step_s);
double serve_transfer(struct sheet *sh, const struct serve_setup *s, const struct serve_load *load,
    double link_byte_per_s, double link_latency_s);
double serve_pool_ratio(struct sheet *sh, double prefill_request_per_s, double decode_request_per_s);

/* Replicas of a serving engine together. */

/* Requests per second of n replicas that are loaded alike. */
double serve_fleet_rate(struct sheet *sh, double replica_request_per_s, double n_replicas);
/* Replicas for a load and its growth, when each takes so much; and with spares. */
double serve_fleet_needed(
    struct sheet *sh, double load_request_per_s, double growth_frac, double replica_request_per_s);
double serve_fleet_all(struct sheet *sh, double n_needed, double n_added, double n_spare);
/* Requests per second of users who wait for their answers and then think. */
double serve_user_rate(struct sheet *sh, double n_users, double answer_s, double think_s);
/* Request rate for a daily volume of output tokens. */
double serve_day_rate(struct sheet *sh, double day_token, double osl_token);
/* GPUs, and what they draw. */
double serve_fleet_gpus(struct sheet *sh, double n_all, double n_replica_gpus);
double serve_fleet_power(struct sheet *sh, double n_gpus, double gpu_watt);
/* ... with their hosts, so much for each GPU, at the facility's meter (ISO/IEC 30134-2). */
double serve_site_power(struct sheet *sh, double gpus_watt, double n_gpus, double host_watt, double pue);
/* What a request's time costs on average; and the time of a token of an answer in those of a prompt. */
double serve_request_usd(struct sheet *sh, double n_gpus, double gpu_usd_per_s, double load_request_per_s);
double serve_token_weight(
    struct sheet *sh, double decode_step_s, double n_running, double prompt_step_s, double isl_token);

/* Engines that run every operator by itself, as llama.cpp does: prompts, and GPUs that share layers. */

/* What prompts run on.  limit_flop_per_s is what the power supply allows, absent if unknown. */
struct unfused_gpu {
	struct datum peak_flop_per_s, mem_byte_per_s, limit_flop_per_s;
};

/* One layer for a part of n_new tokens of a prompt, the last of which sees `context` tokens. */
double unfused_layer(struct sheet *sh, const struct serve_setup *s, const struct unfused_gpu *gpu,
    const struct block *b, double n_new, double context);
/* All layers. */
double unfused_part(
    struct sheet *sh, const struct serve_setup *s, const struct unfused_gpu *gpu, double n_new, double context);
/* How many times faster n_parts parts of a prompt go through pp GPUs than through one: a pipeline, as far as launches
 * can be queued. */
double unfused_gain(struct sheet *sh, const struct serve_setup *s, double n_parts);
/* A whole prompt. */
double unfused_prompt(struct sheet *sh, const struct serve_setup *s, const struct unfused_gpu *gpu, double isl);
/* A token when every matrix is cut in rows over n_gpus, from the time of one GPU that does everything. */
double row_split_step(struct sheet *sh, const struct serve_setup *s, double n_gpus, double one_s);

#endif
