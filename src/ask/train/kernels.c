/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fetch kernels and network of a training job from the database. */
#include "ask/bind/bind.h"
#include "ask/train/train.h"

#include "db/db.h"

#include <stdlib.h>
#include <string.h>

static const char *const engines[] = {"trtllm", "vllm", "sglang"};
enum { N_ENGINES = sizeof engines / sizeof *engines };

static const struct calibration *
kernels_of(struct run *r, const struct gpu *gpu, const char *engine)
{
	return engine ? filed_kernels(r, gpu, KERNELS_TRAIN, engine) : middle_kernels(r, gpu);
}

/* --- kernels --------------------------------------------------------------------------------------------- */

static int
by_rate(const void *a, const void *b)
{
	const double x = ((const struct context_calibration *)a)->flop_per_s.value;
	const double y = ((const struct context_calibration *)b)->flop_per_s.value;

	return (x > y) - (x < y);
}

/* The machine's own, or the median of the engines' kernels, since frameworks use the same libraries. */
static void
middle_attention(struct run *r, const struct gpu *gpu, struct calibration *c)
{
	const struct calibration *base = filed_fit(r, gpu, NULL);
	const bool own = calibration_own(base, "attention") && base->has_context;
	struct context_calibration found[N_ENGINES + 1];
	size_t n = 0;

	if (own) {
		c->context = base->context;
		c->has_context = true;
	}
	for (size_t i = 0; i < N_ENGINES && !own; i++) {
		const struct calibration *e = kernels_of(r, gpu, engines[i]);
		if (!e || !e->has_context)
			continue;
		struct calibration whole = *c;
		whole.context = e->context;
		found[n] = e->context;
		train_attention_rate(&whole, &found[n].flop_per_s, &found[n].block_s);
		n++;
	}
	if (n == 0 && c->has_context) {
		found[n] = c->context;
		train_attention_rate(c, &found[n].flop_per_s, &found[n].block_s);
		n++;
	}
	if (n == 0)
		return;
	qsort(found, n, sizeof *found, by_rate);
	c->context = found[n / 2];
	c->has_context = true;
}

static int
by_peak(const void *a, const void *b)
{
	const double x = ((const struct gemm_calibration *)a)->peak_flop_per_s.value;
	const double y = ((const struct gemm_calibration *)b)->peak_flop_per_s.value;

	return (x > y) - (x < y);
}

/* Products of 8 bits are those of the engine whose kernels are most like a training library's; of 4 bits the middle
 * one.  The machine's own come before both. */
static bool
narrow_products(struct run *r, const struct gpu *gpu, struct calibration *c, enum dtype t)
{
	const struct calibration *base = filed_fit(r, gpu, NULL);
	struct gemm_calibration found[N_ENGINES] = {0};
	size_t n = 0;

	if (calibration_own(base, "gemm_by_dtype") && gemm_calibrated(base, t)) {
		train_narrow_kernels(c, t, &base->gemm[t]);
		return true;
	}
	for (size_t i = 0; i < N_ENGINES && (t != DTYPE_FP8 || n == 0); i++) {
		const struct calibration *e = kernels_of(r, gpu, engines[i]);
		if (e && gemm_calibrated(e, t))
			found[n++] = e->gemm[t];
	}
	if (n == 0)
		return false;
	qsort(found, n, sizeof *found, by_peak);
	train_narrow_kernels(c, t, &found[n / 2]);
	return true;
}

/* --- kernels of a sibling -------------------------------------------------------------------------------- */

/* Another GPU of the same architecture whose kernels of this type were measured, made into kernels of training. */
static const struct gpu *
sibling(struct run *r, const struct gpu *gpu, enum dtype t, struct calibration *out)
{
	struct database *quiet = database_reporting_to(r->database, diag_new(r->arena));
	size_t n;
	const char *said, **ids = database_list(quiet, ENTRY_GPU, &n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(ids[i], gpu->id) == 0 || !database_path(quiet, ENTRY_CALIBRATION, ids[i]))
			continue;
		const struct gpu *other = database_gpu(quiet, ids[i], NULL, (struct source){0}, &said);
		if (!other || !other->architecture || strcmp(other->architecture, gpu->architecture) != 0)
			continue;
		const struct calibration *base = kernels_of(r, other, NULL);
		if (!base || !gemm_calibrated(base, DTYPE_BF16))
			continue;
		*out = *base;
		if (t == DTYPE_NONE)
			middle_attention(r, other, out);
		if (t == DTYPE_NONE ? out->has_context : narrow_products(r, other, out, t))
			return other;
	}
	return NULL;
}

/* Rates of narrow types stand to those of 16 bits as the sibling's do; tiles of attention to the peak as the sibling's.
 */
static void
from_sibling(struct run *r, const struct gpu *gpu, struct calibration *c, enum dtype t)
{
	struct calibration *s = ARENA_NEW(r->arena, struct calibration);
	const struct gpu *other = sibling(r, gpu, t, s);
	const double half = datum_or(gpu->peak_flop_per_s[PEAK_BF16], NAN);

	if (!other)
		return;
	const double other_half = datum_or(other->peak_flop_per_s[PEAK_BF16], NAN);
	if (t == DTYPE_NONE) {
		c->context = s->context;
		c->context.flop_per_s.value *= half / other_half;
		c->has_context = true;
		return;
	}
	const double peak = datum_or(gpu->peak_flop_per_s[dtype_peak(t)], NAN) / half;
	const double other_peak = datum_or(other->peak_flop_per_s[dtype_peak(t)], NAN) / other_half;
	if (!(peak > 0) || !(other_peak > 0))
		return;
	c->gemm[t] = c->gemm[DTYPE_BF16];
	c->gemm[t].peak_flop_per_s.value *=
	    s->gemm[t].peak_flop_per_s.value / s->gemm[DTYPE_BF16].peak_flop_per_s.value * peak / other_peak;
}

/* --- links that nobody measured ---------------------------------------------------------------------------- */

/* The link of a GPU to the others of its node, as `ridge comm` takes it, and what NCCL counts on of it.  A bridge joins
 * two cards at most, and not every card has one: GPUs that it could join exchange over PCIe. */
static double
counted_link(struct run *r, const struct gpu *gpu, bool *direct)
{
	struct database *quiet = database_reporting_to(r->database, diag_new(r->arena));
	const char *said, *id;

	*direct = gpu->link_kind && !gpu->link_bridge;
	id = *direct ? gpu->link_kind : gpu->pcie;
	const struct link *link = id ? database_link(quiet, id, NULL, (struct source){0}, &said) : NULL;
	if (!link)
		return NAN;
	const double one_byte_per_s =
	    *direct ? datum_or(gpu->link_byte_per_s, link->byte_per_s.value) : link->byte_per_s.value;
	return (*direct ? datum_or(gpu->n_links, 1) : 1) * one_byte_per_s * run_link_counted(NULL, link);
}

bool
run_train_links_measured(struct run *r, const struct gpu *gpu)
{
	return filed_kernels(r, gpu->filed ? gpu->filed : gpu, KERNELS_COLLECTIVE, NULL) != NULL;
}

/* Where nobody measured: rings at the rate that NCCL counts on, with the latencies of its model. */
static const struct calibration *
with_links(struct run *r, const struct gpu *gpu, const struct calibration *kernels)
{
	struct calibration *c = ARENA_NEW(r->arena, struct calibration);
	bool direct;
	const double counted_byte_per_s = counted_link(r, gpu, &direct);
	const double hop_s = nccl_hop(ALGORITHM_RING, PROTOCOL_SIMPLE, direct);

	*c = *kernels;
	for (int i = 0; isfinite(counted_byte_per_s) && i < N_COLLECTIVES; i++) {
		const double n_rounds = i == COLLECTIVE_ALL_REDUCE ? 2 : 1;
		c->has_collective[i] = true;
		c->collective[i] = (struct collective_calibration){
		    .base_s = {.value = nccl_base(ALGORITHM_RING, PROTOCOL_SIMPLE) + n_rounds * hop_s},
		    .per_rank_s = {.value = n_rounds * hop_s},
		    .bus_byte_per_s = {.value = counted_byte_per_s * protocol_share(PROTOCOL_SIMPLE)},
		    .ramp_byte = {.value = 1},
		    .nvls_min_ranks = datum_absent(),
		    .nvls_base_s = datum_absent(),
		    .nvls_byte_per_s = datum_absent(),
		    .nvls_ramp_s = datum_absent(),
		    .nvls_ramp_byte = datum_absent(),
		    .n_peers = datum_absent()};
	}
	return c;
}

/* Products of 16 bits are the same libraries' in all frameworks: the consensus, where it was fitted. */
static void
consensus(struct run *r, const struct gpu *gpu, struct calibration *c)
{
	const struct calibration *base = filed_fit(r, gpu, NULL);

	if (base && gemm_calibrated(base, DTYPE_BF16))
		c->gemm[DTYPE_BF16] = base->gemm[DTYPE_BF16];
}

/* Collectives are those of `ridge comm`, where it has any. */
static void
collectives(struct run *r, const struct gpu *gpu, struct calibration *c)
{
	const struct calibration *links = filed_kernels(r, gpu, KERNELS_COLLECTIVE, NULL);

	if (!links)
		return;
	memcpy(c->has_collective, links->has_collective, sizeof c->has_collective);
	memcpy(c->collective, links->collective, sizeof c->collective);
}

const struct calibration *
train_kernels(struct run *r, const struct gpu *gpu)
{
	static const enum dtype narrow[] = {DTYPE_FP8, DTYPE_NVFP4};
	const struct calibration *all = kernels_of(r, gpu, NULL);
	struct calibration *c = ARENA_NEW(database_arena(r->database), struct calibration);

	if (!all || !(gemm_calibrated(all, DTYPE_BF16) || gemm_calibrated(all, DTYPE_FP16)))
		return NULL;
	*c = *all;
	/* the models call the 16-bit type of a GPU bf16 */
	if (!gemm_calibrated(all, DTYPE_BF16))
		c->gemm[DTYPE_BF16] = c->gemm[DTYPE_FP16];
	consensus(r, gpu, c);
	for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
		if (!gpu->lacks[dtype_peak(narrow[i])] && !narrow_products(r, gpu, c, narrow[i]))
			from_sibling(r, gpu, c, narrow[i]);
	middle_attention(r, gpu, c);
	if (!c->has_context)
		from_sibling(r, gpu, c, DTYPE_NONE);
	collectives(r, gpu, c);
	train_wide_kernels(c, DTYPE_TF32, gpu->peak_flop_per_s[PEAK_TF32]);
	train_wide_kernels(c, DTYPE_FP32, gpu->peak_flop_per_s[PEAK_FP32]);
	return c;
}

/* Transferred collectives are of a node with switches; a mesh of direct links carries half. */
static const struct calibration *
in_a_mesh(struct run *r, const struct calibration *c)
{
	struct calibration *mesh = ARENA_NEW(r->arena, struct calibration);

	*mesh = *c;
	for (int i = 0; i < N_COLLECTIVES; i++)
		mesh->collective[i].bus_byte_per_s.value *= 0.5;
	return mesh;
}

/* --- the machine ----------------------------------------------------------------------------------------- */

/* Whether nodes of `other` are nodes that `gpu` is sold in: the same chip on the same links. */
static bool
same_links(const struct gpu *gpu, const struct gpu *other)
{
	return strcmp(gpu->id, other->id) == 0 ||
	    (gpu->architecture && other->architecture && strcmp(gpu->architecture, other->architecture) == 0 &&
	        gpu->link_kind && other->link_kind && strcmp(gpu->link_kind, other->link_kind) == 0 &&
	        !gpu->link_bridge == !other->link_bridge && gpu->n_links.value == other->n_links.value &&
	        gpu->n_sms.value == other->n_sms.value);
}

/* True for variants of the same module: `a100-sxm4-40gb` and `a100-sxm4-80gb` differ only in memory. */
static bool
same_module(const char *a, const char *b)
{
	const char *end = strrchr(a, '-');
	const size_t n = end ? (size_t)(end - a) : strlen(a);

	return strncmp(a, b, n) == 0 && (b[n] == '-' || b[n] == '\0');
}

/* The vendor's own before those of clouds, the GPU itself before its siblings.  Nobody who has a cloud's machine with
 * one GPU in mind leaves that unsaid. */
const struct system *
run_usual_system(struct run *r, const struct gpu *gpu)
{
	struct database *quiet = database_reporting_to(r->database, diag_new(r->arena));
	const char *key = arena_printf(r->arena, "usual system of %s %s %s %g %g", gpu->id,
	    gpu->architecture ? gpu->architecture : "", gpu->link_kind ? gpu->link_kind : "", gpu->n_links.value,
	    gpu->n_sms.value);
	const struct system *best = NULL;
	const void *kept;
	size_t n;
	const char *said, **ids = database_list(quiet, ENTRY_SYSTEM, &n);
	double best_score = -1;

	if (database_kept(r->database, NULL, key, &kept))
		return kept;
	for (size_t i = 0; i < n; i++) {
		const struct system *s = database_system(quiet, ids[i], NULL, NULL, (struct source){0}, &said);
		if (!s || s->n_gpus.value <= 1 || !same_links(gpu, s->gpu))
			continue;
		const bool own = strncmp(ids[i], "dgx-", 4) == 0 || strncmp(ids[i], gpu->id, strlen(gpu->id)) == 0;
		const double score = (same_module(gpu->id, s->gpu->id) ? 1e6 : 0) + (own ? 1e5 : 0) +
		    (datum_given(s->nic_byte_per_s) ? 1e4 : 0) + (strcmp(s->gpu->id, gpu->id) == 0 ? 1e3 : 0) +
		    datum_or(s->n_domain_gpus, 1);
		if (score > best_score) {
			best_score = score;
			best = s;
		}
	}
	database_keep(r->database, NULL, key, best);
	return best;
}

static int
generation_of(const struct gpu *gpu)
{
	const int g = nccl_generation(gpu->architecture);

	return g < 0 ? 1 : g;
}

/* A GPU's share of its node's network where no system is known: what nodes of its generation have. */
static double
usual_nic(int generation)
{
	static const double rates[] = {12.5e9, 25e9, 50e9, 50e9};

	return rates[generation];
}

/* Share of its speed that a variant with less power has: of a GPU of the same chip and peak that was measured.  The
 * voltage goes down with the clock, so speed falls as the root of power. */
static double
power_share(struct run *r, const struct gpu *gpu)
{
	struct database *quiet = database_reporting_to(r->database, diag_new(r->arena));
	/* of the chip, whatever was set */
	const struct gpu *filed = gpu->filed ? gpu->filed : gpu;
	const double peak = datum_or(filed->peak_flop_per_s[PEAK_BF16], 0), tdp = datum_or(gpu->tdp_watt, 0);
	double most = tdp;
	size_t n;
	const char *said, **ids = database_list(quiet, ENTRY_CALIBRATION, &n);

	for (size_t i = 0; i < n && tdp > 0; i++) {
		if (!database_path(quiet, ENTRY_GPU, ids[i]))
			continue;
		const struct gpu *other = database_gpu(quiet, ids[i], NULL, (struct source){0}, &said);
		if (other && strcmp(other->architecture, gpu->architecture) == 0 &&
		    fabs(datum_or(other->peak_flop_per_s[PEAK_BF16], 0) - peak) < 0.01 * peak)
			most = fmax(most, datum_or(other->tdp_watt, 0));
	}
	return tdp > 0 ? sqrt(tdp / most) : 1;
}

double
run_domain_gpus(const struct system *system)
{
	enum { USUAL_NODE = 8 };

	if (!system)
		return USUAL_NODE;
	if (system->domain == DOMAIN_NONE || system->domain == DOMAIN_PCIE)
		return datum_or(system->n_gpus, USUAL_NODE);
	return datum_or(system->n_domain_gpus, datum_or(system->n_gpus, USUAL_NODE));
}

/* Parameters that CPUs update per second with Adam.  Two sockets: the mean of 0.4, 1.6 and 1.8 billion, of LLaMA-7B on
 * eight A800 (gist.github.com/chenyaofo/d4cd6a20), Qwen2.5-3B on two A100 (deepspeedai/DeepSpeed #7474) and Qwen-72B on
 * 32 A100 (#6834); threads per rank make the difference.  A Grace: a step of Qwen3-14B on GH200 takes 1.5 times what it
 * takes where the update is hidden (deepspeedai/DeepSpeedExamples, training/DeepSpeed-SuperOffload). */
static const double SOCKETS_PARAM_PER_S = 1.1e9, GRACE_PARAM_PER_S = 6e9;

/* The link to the host's memory as copies of all its GPUs reach it; 0: unknown. */
static double
host_rate(struct run *r, const struct gpu *gpu)
{
	struct database *quiet = database_reporting_to(r->database, diag_new(r->arena));
	const char *said, *id = gpu->c2c ? gpu->c2c : gpu->pcie;
	const struct link *link = id ? database_link(quiet, id, NULL, (struct source){0}, &said) : NULL;

	return link ? datum_or(link->h2d_byte_per_s, 0) / (gpu->c2c ? datum_or(gpu->n_host_gpus, 1) : 1) : 0;
}

bool
run_train_machine(
    struct run *r, const struct gpu *gpu, const struct system *system, struct train_machine *out, bool *capped)
{
	const int generation = generation_of(gpu);

	*out = (struct train_machine){.kernels = bind_kernels(r, gpu, system, KERNELS_TRAIN, NULL),
	    .generation = generation,
	    .n_domain = run_domain_gpus(system),
	    .host_byte_per_s = host_rate(r, gpu),
	    .c2c = gpu->c2c != NULL,
	    .host_param_per_s = gpu->c2c ? GRACE_PARAM_PER_S : SOCKETS_PARAM_PER_S,
	    .n_host_gpus = gpu->c2c ? datum_or(gpu->n_host_gpus, 1)
	        : system            ? datum_or(system->n_gpus, 8)
	                            : run_domain_gpus(NULL),
	    .nic_byte_per_s = usual_nic(generation),
	    .network = bind_networks(r, gpu, system ? system->fabric : NULL),
	    .sharp = system ? system->sharp : generation >= 2,
	    .mesh = system && system->domain == DOMAIN_XGMI_MESH,
	    .power_frac = 1};
	if (out->kernels && !run_train_links_measured(r, gpu))
		out->kernels = with_links(r, gpu, out->kernels);
	if (out->kernels && out->kernels->transferred_from)
		out->power_frac = power_share(r, gpu);
	*capped = out->power_frac < 1;
	if (!system)
		return true;
	if (datum_given(system->nic_byte_per_s) && datum_given(system->n_nics) && datum_given(system->n_gpus))
		out->nic_byte_per_s =
		    nic_share(NULL, system->n_nics.value, system->nic_byte_per_s.value, system->n_gpus.value);
	/* without NVSwitch, a group smaller than the node has the links that its pairs happen to have; 6.7 GB/s was
	 * fitted to two published runs */
	if (generation == 0 && system->domain == DOMAIN_HYBRID_CUBE_MESH) {
		out->pair_byte_per_s = 6.7e9;
		if (out->kernels && out->kernels->transferred_from)
			out->kernels = in_a_mesh(r, out->kernels);
	}
	return true;
}
