/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Merge the kernel fits of a GPU into one struct: the GPU's own fit, the engine's fit on top, and for kernels without
 * measurements those of a donor GPU, by the rules in hwdb/transfers.
 *
 * Calibration files hold fractions of their reference figures.  The reader turns them into rates; here they are
 * rescaled to the figures of the GPU's entry (once, cached with the entry), or to those changed with --set.
 */
#include "ask/bind/bind.h"

#include "cli/cli.h"
#include "db/db.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- engine -------------------------------------------------------------------------------------------------- */

/* The serving engine: of its database, by name, or what people run on the GPU. */

static struct word
usual_engine(const struct gpu *gpu)
{
	const bool amd = gpu && gpu->vendor && strcmp(gpu->vendor, "AMD") == 0;

	return (struct word){amd ? "vllm" : "trtllm", {inputs_default, 0, 0, NULL, false}};
}

const struct engine *
bind_engine(struct run *r, struct word name, const struct gpu *gpu)
{
	const struct word asked = name.text ? name : usual_engine(gpu);
	const char *said;
	const struct engine *e =
	    database_engine(r->database, r->arena, r->diag, asked.text, run_overlay(r, "engine"), asked.from, &said);

	if (e && said)
		run_assume_as(r, "engine", e->id, "%s", said);
	if (!e)
		return NULL;
	run_word(r, "engine", asked);
	if (e->vendor && gpu && gpu->vendor && strcmp(e->vendor, gpu->vendor) != 0) {
		run_refuse(r, asked.from, arena_printf(r->arena, "%s runs on %s GPUs only", e->name, e->vendor),
		    strcmp(gpu->vendor, "AMD") == 0 ? "add --engine vllm or sglang"
		                                    : "add --engine trtllm, vllm or sglang");
		return NULL;
	}
	return e;
}

static const char *const engines[] = {"trtllm", "vllm", "sglang"};
enum { N_ENGINES = sizeof engines / sizeof *engines };

/* --- one file -------------------------------------------------------------------------------------------- */

/* A copy where the figures differ. */
static const struct calibration *
rebased(struct arena *a, const struct calibration *c, const struct kernel_reference *from,
    const struct kernel_reference *to)
{
	if (reference_same(from, to))
		return c;
	struct calibration *out = ARENA_NEW(a, struct calibration);
	*out = *c;
	rebase_kernels(out, from, to);
	return out;
}

const struct calibration *
filed_fit(struct run *r, const struct gpu *gpu, const char *backend)
{
	const struct calibration *file = run_calibration(r, gpu->id, backend);
	char key[80];
	const void *kept;

	if (!file)
		return NULL;
	snprintf(key, sizeof key, "fit %s", backend ? backend : "");
	if (database_kept(r->database, gpu, key, &kept))
		return kept;
	const struct kernel_reference from = reference_of_fit(file), to = reference_of_gpu(gpu);
	const struct calibration *out = rebased(database_arena(r->database), file, &from, &to);
	database_keep(r->database, gpu, key, out);
	return out;
}

/* --- what one GPU has ------------------------------------------------------------------------------------ */

/* Types that `to` has no fit for. */
static void
add_types(struct calibration *to, const struct calibration *from)
{
	for (int t = 0; t < N_DTYPES; t++) {
		if (!(to->gemm[t].peak_flop_per_s.value > 0))
			to->gemm[t] = from->gemm[t];
		if (!(to->weight_only[t].peak_flop_per_s.value > 0))
			to->weight_only[t] = from->weight_only[t];
		if (!(to->moe[t].peak_flop_per_s.value > 0))
			to->moe[t] = from->moe[t];
		if (!(to->moe_weight_only[t].peak_flop_per_s.value > 0))
			to->moe_weight_only[t] = from->moe_weight_only[t];
	}
	to->has_gemm = to->has_gemm || from->has_gemm;
}

static void
add_latent(struct calibration *to, const struct calibration *from)
{
	if (!to->has_mla_context) {
		to->has_mla_context = from->has_mla_context;
		to->mla_context = from->mla_context;
	}
	if (!to->has_mla_generation) {
		to->has_mla_generation = from->has_mla_generation;
		to->mla_generation = from->mla_generation;
	}
}

static void
add_attention(struct calibration *to, const struct calibration *from)
{
	if (!to->has_context) {
		to->has_context = from->has_context;
		to->context = from->context;
	}
	if (!to->has_generation) {
		to->has_generation = from->has_generation;
		to->generation = from->generation;
	}
	add_latent(to, from);
	for (int i = 0; i < N_ATTENTION_FITS; i++) {
		struct attention_calibration *a = &to->attention_by[i];
		const struct attention_calibration *b = &from->attention_by[i];

		if (!a->has_context) {
			a->has_context = b->has_context;
			a->context = b->context;
		}
		if (!a->has_generation) {
			a->has_generation = b->has_generation;
			a->generation = b->generation;
		}
	}
}

static void
add_links(struct calibration *to, const struct calibration *from)
{
	for (int i = 0; i < N_COLLECTIVES; i++)
		if (!to->has_collective[i]) {
			to->has_collective[i] = from->has_collective[i];
			to->collective[i] = from->collective[i];
		}
	if (to->n_custom == 0) {
		to->n_custom = from->n_custom;
		memcpy(to->custom, from->custom, sizeof to->custom);
	}
}

/* Everything that `to` lacks and `from` has; the two must be of the same reference figures. */
static void
add(struct calibration *to, const struct calibration *from)
{
	if (!from)
		return;
	add_types(to, from);
	add_attention(to, from);
	add_links(to, from);
	if (to->memory.n_levels == 0)
		to->memory = from->memory;
	if (!to->has_launch) {
		to->has_launch = from->has_launch;
		to->launch = from->launch;
	}
	for (int p = 0; p < N_PEAKS; p++)
		if (!datum_given(to->fma_flop_per_s[p]))
			to->fma_flop_per_s[p] = from->fma_flop_per_s[p];
}

static double
prefill_rate(struct run *r, const struct gpu *gpu, int engine)
{
	const struct calibration *c = filed_fit(r, gpu, engines[engine]);

	return c && c->has_context ? c->context.flop_per_s.value : 0;
}

/* Default engine: the one whose prefill is neither the fastest nor the slowest. */
static int
middle_engine(struct run *r, const struct gpu *gpu)
{
	const double rate[N_ENGINES] = {prefill_rate(r, gpu, 0), prefill_rate(r, gpu, 1), prefill_rate(r, gpu, 2)};

	for (int i = 0; i < N_ENGINES; i++) {
		const double a = rate[(i + 1) % N_ENGINES], b = rate[(i + 2) % N_ENGINES];

		if (rate[i] > 0 && (rate[i] - a) * (rate[i] - b) <= 0)
			return i;
	}
	return 0;
}

/* What was predicted is named in one list. */
static void
join_residuals(
    struct arena *a, struct calibration *out, const struct calibration *base, const struct calibration *engine)
{
	struct residual *all = ARENA_ARRAY(a, struct residual, (size_t)(base->n_residuals + engine->n_residuals + 1));

	for (int k = 0; k < engine->n_residuals; k++)
		all[k] = engine->residuals[k];
	for (int k = 0; k < base->n_residuals; k++)
		all[engine->n_residuals + k] = base->residuals[k];
	out->residuals = all;
	out->n_residuals = base->n_residuals + engine->n_residuals;
}

static bool
any_collective(const struct calibration *c)
{
	for (int i = 0; c && i < N_COLLECTIVES; i++)
		if (c->has_collective[i])
			return true;
	return false;
}

/* Collectives of links that were fitted for whatever GPU has them; NULL: none were. */
static const struct calibration *
links_fit(struct run *r, const struct gpu *gpu, const char *engine)
{
	const struct calibration *fit = gpu->link_kind ? run_calibration(r, gpu->link_kind, engine) : NULL;

	return any_collective(fit) || (fit && fit->n_custom > 0) ? fit : NULL;
}

/* What is wanted of a GPU's kernels. */
struct wanted {
	bool pooled; /* products are those of all engines together, where no engine is named */
	bool latent; /* attention over latents too, which few files have */
};

/* The GPU's own fits under this engine; of the others what only they have. */
static struct calibration *
own_kernels(struct run *r, const struct gpu *gpu, const char *backend, struct wanted want)
{
	const struct calibration *base = filed_fit(r, gpu, NULL);
	const char *first = backend ? backend : engines[middle_engine(r, gpu)];
	const struct calibration *engine = filed_fit(r, gpu, first);
	const struct calibration *start = engine ? engine : base;
	struct arena *a = database_arena(r->database);

	if (!start)
		return NULL;
	struct calibration *out = ARENA_NEW(a, struct calibration);
	*out = *start;
	out->backend = backend;
	add(out, base);
	const struct calibration *links = links_fit(r, gpu, NULL);
	if (links)
		add_links(out, links);
	for (int i = 0; i < N_ENGINES && !backend; i++)
		add(out, filed_fit(r, gpu, engines[i]));
	for (int i = 0; i < N_ENGINES && want.latent && backend; i++) {
		const struct calibration *other = filed_fit(r, gpu, engines[i]);
		if (other)
			add_latent(out, other);
	}
	for (int t = 0; t < N_DTYPES && want.pooled && !backend && base; t++)
		if (base->gemm[t].peak_flop_per_s.value > 0)
			out->gemm[t] = base->gemm[t];
	if (base) {
		out->n_residuals = base->n_residuals;
		out->residuals = base->residuals;
	}
	if (base && engine)
		join_residuals(a, out, base, engine);
	return out;
}

/* --- transfer -------------------------------------------------------------------------------------------- */

enum { DONORS_MAX = 4 }; /* a donor may have its own donor, for what it lacks */

static struct calibration *known_kernels(
    struct run *r, const struct gpu *gpu, const char *backend, struct wanted want, int n_donors);

static struct calibration *
transferred(struct run *r, const struct gpu *gpu, const char *backend, struct wanted want, int n_donors)
{
	struct arena *a = database_arena(r->database);
	const struct transfer *rule = database_transfer(r->database, a, r->diag, gpu);
	const struct calibration *donor = NULL;
	const struct gpu *donor_gpu = NULL;
	const char *ignored;

	if (!rule || n_donors == 0)
		return NULL;
	if (rule->from) {
		donor_gpu = database_gpu(r->database, rule->from, NULL, (struct source){0}, &ignored);
		donor = donor_gpu ? known_kernels(r, donor_gpu, backend, want, n_donors - 1) : NULL;
		if (!donor)
			return NULL;
	}
	struct calibration *out = ARENA_NEW(a, struct calibration);
	transfer_calibration(rule, donor, donor_gpu, gpu, out);
	out->backend = backend;
	out->transfer_note =
	    arena_printf(a, "transferred from %s, expected error %s", out->transferred_from, rule->expected);
	return out;
}

/* Every kind of kernel that a model may ask for. */
static bool
is_whole(const struct calibration *c, struct wanted want)
{
	return c->has_gemm && c->has_context && c->has_generation &&
	    (!want.latent || (c->has_mla_context && c->has_mla_generation));
}

static struct calibration *
known_kernels(struct run *r, const struct gpu *gpu, const char *backend, struct wanted want, int n_donors)
{
	struct calibration *own = own_kernels(r, gpu, backend, want);

	if (own && is_whole(own, want))
		return own;
	struct calibration *donated = transferred(r, gpu, backend, want, n_donors);
	if (own && donated) {
		/* the fits that there are come first, and what they lack is another GPU's */
		add(own, donated);
		own->transferred_from = donated->transferred_from;
		own->transfer_note = donated->transfer_note;
		own->transfer_sigma = donated->transfer_sigma;
		return own;
	}
	return own ? own : donated;
}

static const struct calibration *
all_kernels(struct run *r, const struct gpu *gpu, const char *backend, struct wanted want)
{
	return known_kernels(r, gpu, backend, want, DONORS_MAX);
}

const struct calibration *
middle_kernels(struct run *r, const struct gpu *gpu)
{
	return all_kernels(r, gpu, NULL, (struct wanted){0});
}

/* --- by purpose ------------------------------------------------------------------------------------------ */

/* The GPU's own fit, that of its links, or another's whose links are like these. */
static const struct calibration *
collective_kernels(struct run *r, const struct gpu *gpu)
{
	const struct calibration *own = filed_fit(r, gpu, NULL), *links = links_fit(r, gpu, NULL);
	const struct calibration *all = any_collective(own) ? own
	    : links                                         ? links
	                                                    : filed_kernels(r, gpu, KERNELS_ROOFLINE, NULL);

	return any_collective(all) ? all : NULL;
}

static const struct calibration *
engine_collectives(struct run *r, const struct gpu *gpu, const char *engine)
{
	const struct calibration *own = filed_fit(r, gpu, engine);

	return own && own->n_custom > 0 ? own : links_fit(r, gpu, engine);
}

/* The clock that an engine's products run at: fits of serving were made with it. */
static struct datum
serving_clock(const struct gpu *gpu)
{
	return datum_given(gpu->clock_tensor_hertz) && !gpu->clock_tensor_hertz.from.unconfirmed
	    ? gpu->clock_tensor_hertz
	    : gpu->clock_max_hertz;
}

static struct kernel_reference
reference_for(const struct gpu *gpu, enum kernel_purpose purpose)
{
	struct kernel_reference out = reference_of_gpu(gpu);

	if (purpose == KERNELS_SERVE || purpose == KERNELS_SERVE_LATENT)
		out.clock_hertz = serving_clock(gpu);
	return out;
}

static const struct calibration *
serving_kernels(struct run *r, const struct gpu *gpu, const char *engine, bool latent)
{
	const struct calibration *all = all_kernels(r, gpu, engine, (struct wanted){.latent = latent});

	if (!all)
		return NULL;
	const struct kernel_reference from = reference_of_fit(all), to = reference_for(gpu, KERNELS_SERVE);
	return rebased(database_arena(r->database), all, &from, &to);
}

static const struct calibration *
make_kernels(struct run *r, const struct gpu *gpu, enum kernel_purpose purpose, const char *engine)
{
	switch (purpose) {
	case KERNELS_ROOFLINE:
		return all_kernels(r, gpu, engine, (struct wanted){.pooled = true});
	case KERNELS_TRAIN:
		return engine ? all_kernels(r, gpu, engine, (struct wanted){0}) : train_kernels(r, gpu);
	case KERNELS_SERVE:
	case KERNELS_SERVE_LATENT:
		return serving_kernels(r, gpu, engine, purpose == KERNELS_SERVE_LATENT);
	case KERNELS_COLLECTIVE:
		return engine ? engine_collectives(r, gpu, engine) : collective_kernels(r, gpu);
	}
	return NULL;
}

const struct calibration *
filed_kernels(struct run *r, const struct gpu *gpu, enum kernel_purpose purpose, const char *engine)
{
	char key[80];
	const void *kept;

	snprintf(key, sizeof key, "kernels %d %s", (int)purpose, engine ? engine : "");
	if (database_kept(r->database, gpu, key, &kept))
		return kept;
	const struct calibration *made =
	    make_kernels(r, gpu, purpose, engine ? arena_text(database_arena(r->database), engine) : NULL);
	database_keep(r->database, gpu, key, made);
	return made;
}

/* --- the GPU in hand ------------------------------------------------------------------------------------- */

/* What all GPUs of a domain have together: in a mesh no more than its pairs. */
static double
domain_rate(const struct system *s)
{
	const double pairs = (s->n_domain_gpus.value - 1) * datum_or(s->pair_byte_per_s, INFINITY);

	return s->domain == DOMAIN_XGMI_MESH ? fmin(s->domain_byte_per_s.value, pairs) : s->domain_byte_per_s.value;
}

/* Bandwidth of the links inside a node over that of the entry. */
static double
link_factor(const struct gpu *gpu, const struct system *system)
{
	const struct gpu *filed = gpu->filed;
	double factor = 1;

	if (system && system->filed)
		factor = domain_rate(system) / domain_rate(system->filed);
	else if (filed)
		factor = gpu->n_links.value * gpu->link_byte_per_s.value /
		    (filed->n_links.value * filed->link_byte_per_s.value);
	return factor > 0 && isfinite(factor) ? factor : 1;
}

const struct calibration *
bind_kernels(
    struct run *r, const struct gpu *gpu, const struct system *system, enum kernel_purpose purpose, const char *engine)
{
	const struct gpu *filed = gpu->filed ? gpu->filed : gpu;
	const struct calibration *kernels = filed_kernels(r, filed, purpose, engine);
	const double links = link_factor(gpu, system);

	if (!kernels || (filed == gpu && links == 1))
		return kernels;
	const struct kernel_reference from = reference_for(filed, purpose), to = reference_for(gpu, purpose);
	struct calibration *out = ARENA_NEW(r->arena, struct calibration);
	*out = *kernels;
	rebase_kernels(out, &from, &to);
	rebase_links(out, links);
	return out;
}

/* --- serve kernels ------------------------------------------------------------------------------------------- */

/* Kernels and links of a serving setup. */

/* GPUs of one replica that reach each other over NVLink. */
static bool
is_linked(const struct gpu *gpu, const struct system *system)
{
	if (system)
		return system->domain == DOMAIN_NVSWITCH || system->domain == DOMAIN_NVLINK_MESH ||
		    system->domain == DOMAIN_HYBRID_CUBE_MESH;
	return datum_given(gpu->link_byte_per_s) && !gpu->link_bridge;
}

void
bind_serve_kernels(struct run *r, const struct system *system, struct serve_parts *p)
{
	const bool rows = workload_has_latent(p->model) || workload_compresses(p->model);

	p->linked = is_linked(p->gpu, system);
	p->consensus = bind_kernels(r, p->gpu, system, rows ? KERNELS_SERVE_LATENT : KERNELS_SERVE, p->engine->backend);
	if (p->consensus && p->consensus->transfer_note)
		run_assume(r, "kernels %s", p->consensus->transfer_note);
}

/* A GPU's share of its node's network where no system is known: one NIC of 400 Gbit/s. */
static const double usual_nic_byte_per_s = 50e9;

void
bind_serve_network(struct run *r, const struct system *system, struct serve_parts *p)
{
	enum { SMALLEST_NODE = 8 };

	p->network = (struct serve_network){0};
	if (p->layout.tp <= SMALLEST_NODE)
		return;
	const double n_near = run_node_gpus(r);
	if (!(n_near > 0) || p->layout.tp <= n_near)
		return;
	p->network = (struct serve_network){
	    n_near, bind_networks(r, p->gpu, system ? system->fabric : NULL), usual_nic_byte_per_s};
	if (system && datum_given(system->nic_byte_per_s) && datum_given(system->n_nics) && datum_given(system->n_gpus))
		p->network.nic_byte_per_s =
		    nic_share(NULL, system->n_nics.value, system->nic_byte_per_s.value, system->n_gpus.value);
	else
		run_assume(r, "%g GB/s of network per GPU between the nodes of a replica", usual_nic_byte_per_s / 1e9);
}
