/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives inside a node: NCCL's, which belong to the GPU and its links, and the engines' own all-reduce.
 *
 * A ramp with few rows is easily bent, so a fit that misses rows it did not see by more than a third is not kept: such
 * a node has a path between its GPUs that changes with their number, which the model does not know.
 */
#include "search/fit/fit.h"

#include "base/base.h"
#include "model/collective/collective.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* --- network middle ------------------------------------------------------------------------------------------ */

/* Latencies of a network are those of how it is reached: verbs, AWS's datagrams, or the host's TCP. */
static const char *
transport_of(const char *kind)
{
	return strcmp(kind, "infiniband") == 0 ? "roce" : kind;
}

static bool
same_transport(const char *a, const char *b)
{
	return strcmp(transport_of(a), transport_of(b)) == 0;
}

/* Geometric mean over the fabrics of one transport or, with NULL, of all; NaN: none is left. */
static double
middle(const struct network_known *known, int n, const char *without, const char *kind)
{
	double log_sum = 0;
	int found = 0;

	for (int i = 0; i < n; i++)
		if (!(without && strcmp(known[i].fabric, without) == 0) &&
		    (!kind || same_transport(known[i].kind, kind))) {
			log_sum += log(known[i].hop_s);
			found++;
		}
	return found ? exp(log_sum / found) : NAN;
}

double
network_middle(const struct network_known *known, int n, const char *without, const char *kind, bool *near)
{
	const double near_s = kind ? middle(known, n, without, kind) : NAN;

	*near = !isnan(near_s);
	return *near ? near_s : middle(known, n, without, NULL);
}

enum { N_PARAMS = 6, N_LIMITED = 8, N_SWITCHED = 11, ROWS_NEEDED = 15 };
static const double worst_mape = 0.35; /* chosen: a fit that is further off is not kept */

/* Of messages of this size the bandwidth makes up about half of the time. */
static const double large_byte = 8388608;

struct table {
	int n;
	enum collective collective;
	double link_byte_per_s, nvls_min_ranks; /* none do: 0 */
	const struct own_limit *limit;          /* of an engine's kernels; NULL: not known */
	struct param_units units;               /* rates: share of the links' line rate */
	int generation;
	double *n_ranks, *size_byte, *measured_s;
	unsigned *hash;
};

/* --- whose all-reduce ---------------------------------------------------------------------------------------- */

/*
 * The largest messages that engines reduce over NVLink with kernels of their own; of larger ones their rows are NCCL's.
 * TensorRT-LLM from Hopper on: its workspace (getMaxRequiredWorkspaceSize, NVIDIA/TensorRT-LLM
 * cpp/tensorrt_llm/common/customAllReduceUtils.h at 005b299).  The others as their rows beside NCCL's show.
 */
struct own_limit {
	const char *backend;
	int generation; /* nccl_generation, at least */
	double pair_byte, more_byte;
};
static const struct own_limit own_limits[] = {
    {"trtllm", 2, 16e6, 8e6},
    {"trtllm", 1, 2e6, 1e6},
    {"sglang", 2, 16777216, 16777216},
    {"sglang", 1, 8388608, 8388608},
    {"vllm", 2, 33554432, 33554432},
    {"vllm", 1, 8e6, 8e6},
};

/* NULL: nobody knows. */
static const struct own_limit *
own_limit_of(const struct gpu *g, const char *backend)
{
	const int generation = g->architecture ? nccl_generation(g->architecture) : -1;

	for (size_t i = 0; datum_or(g->n_links, 0) > 0 && i < sizeof own_limits / sizeof *own_limits; i++)
		if (strcmp(own_limits[i].backend, backend) == 0 && generation >= own_limits[i].generation)
			return &own_limits[i];
	return NULL;
}

/* --- rows ------------------------------------------------------------------------------------------------ */

/* What the links of one GPU carry in one direction; the slot's rate where it has none. */
static double
link_rate(const struct gpu *g)
{
	const double links = datum_or(g->n_links, NAN) * datum_or(g->link_byte_per_s, NAN);

	return links > 0 ? links : 64e9;
}

static enum collective
collective_of(const struct measurement *m)
{
	static const char *const keys[] = {
#define COLLECTIVE(id, text, key, title) key,
#include "model/hw/calibration.def"
#undef COLLECTIVE
	};
	int i = 0;

	while (i < N_COLLECTIVES && !(m->operation && text_same_folded(keys[i], m->operation)))
		i++;
	return (enum collective)i;
}

/* `own`: only what an engine's kernels take; NULL: all. */
static struct table
gather(const struct fit_bench *b, const struct measurement **rows, int n_rows, enum collective c,
    const struct custom_calibration *own)
{
	struct table t = {.collective = c, .link_byte_per_s = link_rate(b->gpu), .units = param_units()};

	t.units.by[FORM_LINK_RATE] = t.link_byte_per_s;
	t.n_ranks = ARENA_ARRAY(b->arena, double, n_rows + 1);
	t.size_byte = ARENA_ARRAY(b->arena, double, n_rows + 1);
	t.measured_s = ARENA_ARRAY(b->arena, double, n_rows + 1);
	t.hash = ARENA_ARRAY(b->arena, unsigned, n_rows + 1);
	for (int i = 0; i < n_rows; i++) {
		const struct measurement *m = rows[i];

		if (collective_of(m) != c || m->nodes > 1 || m->ranks < 2 || !(m->size_byte > 0) ||
		    (own && !allreduce_is_own(own, m->ranks, m->size_byte)))
			continue;
		t.n_ranks[t.n] = m->ranks;
		t.size_byte[t.n] = m->size_byte;
		t.measured_s[t.n] = m->time_s;
		t.hash[t.n++] = fit_hash((const double[]){m->ranks, m->size_byte}, 2);
	}
	return t;
}

/* --- models ---------------------------------------------------------------------------------------------- */

static double
predict_ramp(const void *context, const double *x, int row)
{
	const struct table *t = context;
	struct collective_calibration fit;

	fit_figures(&family_collective, &t->units, x, t->nvls_min_ranks > 0 ? N_SWITCHED : N_PARAMS, &fit);
	return collective_ramp(NULL, t->collective, &fit, t->n_ranks[row], t->size_byte[row]);
}

static double
predict_custom(const void *context, const double *x, int row)
{
	const struct table *t = context;
	struct custom_calibration fit = {.backend = NULL};

	fit_figures(&family_custom, &t->units, x, N_PARAMS, &fit);
	return allreduce_custom(NULL, &fit, t->n_ranks[row], t->size_byte[row]);
}

/*
 * All-reduce, all-gather and reduce-scatter send the same ring's messages: one bandwidth of many ranks, several
 * latencies.  All-gather and reduce-scatter copy a rank's own part besides, which grows dearer as the ranks get fewer:
 * a beta of theirs.  x has binf, beta of the all-reduce and of the others, then a0, an, c and v0 of each.
 */
enum { N_RINGS = 3, N_SHARED = 3, N_OWN = 4 };
struct rings {
	const struct table *of[N_RINGS];
	int n;
};

static double
predict_rings(const void *context, const double *x, int row)
{
	const struct rings *r = context;
	int i = 0;

	for (; row >= r->of[i]->n; i++)
		row -= r->of[i]->n;
	const double *own = x + N_SHARED + (ptrdiff_t)N_OWN * i;
	const double beta = r->of[i]->collective == COLLECTIVE_ALL_REDUCE ? x[1] : x[2];
	return predict_ramp(r->of[i], (const double[10]){own[0], own[1], x[0], beta, own[2], own[3]}, row);
}

/* --- the fits -------------------------------------------------------------------------------------------- */

/* What the rings share: binf and the two betas.  False when the rows are too few. */
static bool
fit_rings(const struct fit_bench *b, const struct rings *rings, double *shared)
{
	static const int of[N_SHARED + N_OWN] = {2, 3, 3, 0, 1, 4, 5};
	double *measured_s, *weight;
	struct fit_problem p = {.predict = predict_rings, .context = rings};
	struct fit_result found;
	int n = 0;

	for (int i = 0; i < rings->n; i++)
		p.n_rows += rings->of[i]->n;
	p.measured_s = measured_s = ARENA_ARRAY(b->arena, double, p.n_rows + 1);
	p.weight = weight = ARENA_ARRAY(b->arena, double, p.n_rows + 1);
	for (int i = 0; i < rings->n; i++) {
		/* what small messages take says nothing of it */
		for (int j = 0; j < rings->of[i]->n; j++)
			weight[n + j] = rings->of[i]->size_byte[j] / (rings->of[i]->size_byte[j] + large_byte);
		memcpy(measured_s + n, rings->of[i]->measured_s, (size_t)rings->of[i]->n * sizeof *measured_s);
		n += rings->of[i]->n;
	}
	for (int i = 0; i < N_SHARED + N_OWN * rings->n; i++) {
		const struct param_row *row =
		    &family_collective.rows[of[i < N_SHARED ? i : N_SHARED + (i - N_SHARED) % N_OWN]];
		p.params[p.n_params++] = (struct fit_param){row->key, row->start, row->least, row->most, false};
	}
	if (rings->n < 2 || !fit_run(&p, 0, &found))
		return false;
	for (int i = 0; i < N_SHARED; i++)
		shared[i] = found.param[i].value;
	return true;
}

/* `shared`: binf and beta from elsewhere, or NULL. */
static void
fit_form(const struct fit_bench *b, const struct table *t, const struct family *family, const double *second,
    const double *shared, double (*predict)(const void *context, const double *x, int row), const char *path,
    const char *residual, struct fitted *out)
{
	struct fit_problem p = {
	    .n_rows = t->n, .predict = predict, .context = t, .measured_s = t->measured_s, .start = {second}};
	enum quantity units[FIT_PARAMS_MAX];
	struct fitted_class *c = fitted_add(b, out, path, residual);

	fit_family(family, &p, units);
	p.n_params = t->nvls_min_ranks > 0 ? N_SWITCHED : N_PARAMS;
	if (p.n_params == N_SWITCHED) {
		const double known[] = {t->nvls_min_ranks, nvls_base(), nvls_reach(t->generation)};

		for (int i = 0; i < 3; i++) {
			p.params[N_PARAMS + i].start = known[i];
			p.params[N_PARAMS + i].fixed = true;
		}
	}
	if (t->limit) {
		const double known[] = {t->limit->pair_byte, t->limit->more_byte};

		p.n_params = N_LIMITED;
		for (int i = 0; i < 2; i++) {
			p.params[N_PARAMS + i].start = known[i];
			p.params[N_PARAMS + i].fixed = true;
		}
	}
	for (int i = 0; shared && i < 2; i++) {
		p.params[2 + i].start = shared[i];
		p.params[2 + i].fixed = true;
		p.start[0] = NULL;
	}
	if (!fitted_run(b, &p, units, t->hash, NULL, ROWS_NEEDED, c))
		return;
	for (int i = 0; i < p.n_params; i++)
		c->params[i].identified |= p.params[i].fixed;
	fitted_in_rates(c, t->link_byte_per_s);
	if (c->residual.all.mape > worst_mape)
		c->refused = arena_printf(b->arena,
		    "%.0f %% error on held-out rows: the path between GPUs changes with their number",
		    100 * c->residual.all.mape);
}

/* The rows of fewer ranks, which the switches do not serve. */
static struct table
below(const struct fit_bench *b, const struct table *t, double n_ranks)
{
	struct table part = *t;

	part.n_ranks = ARENA_ARRAY(b->arena, double, t->n + 1);
	part.size_byte = ARENA_ARRAY(b->arena, double, t->n + 1);
	part.measured_s = ARENA_ARRAY(b->arena, double, t->n + 1);
	part.n = 0;
	part.nvls_min_ranks = 0;
	for (int i = 0; i < t->n; i++)
		if (t->n_ranks[i] < n_ranks) {
			part.n_ranks[part.n] = t->n_ranks[i];
			part.size_byte[part.n] = t->size_byte[i];
			part.measured_s[part.n++] = t->measured_s[i];
		}
	return part;
}

/* Do switches add up, and are there rows of it? */
static void
find_switches(const struct fit_bench *b, struct table *reduces)
{
	const struct gpu *g = b->gpu;
	const int generation = g->architecture ? nccl_generation(g->architecture) : -1;
	const double least = nvls_min_ranks(generation);

	if (generation < 2 || !(datum_or(g->n_links, 0) > 0) || g->link_bridge)
		return;
	for (int i = 0; i < reduces->n; i++)
		if (reduces->n_ranks[i] >= least) {
			reduces->nvls_min_ranks = least;
			reduces->generation = generation;
		}
}

static void
fit_nccl(const struct fit_bench *b, struct fitted *out)
{
	static const struct {
		enum collective collective;
		const char *path, *residual;
	} classes[] = {
	    {COLLECTIVE_ALL_REDUCE, "collective.all_reduce", "all_reduce"},
	    {COLLECTIVE_ALL_GATHER, "collective.all_gather", "all_gather"},
	    {COLLECTIVE_REDUCE_SCATTER, "collective.reduce_scatter", "reduce_scatter"},
	    {COLLECTIVE_ALL_TO_ALL, "collective.alltoall", "alltoall"},
	    {COLLECTIVE_BROADCAST, "collective.broadcast", "broadcast"},
	    {COLLECTIVE_REDUCE, "collective.reduce", "reduce"},
	    {COLLECTIVE_SEND_RECV, "collective.sendrecv", "sendrecv"},
	};
	enum { N_CLASSES = sizeof classes / sizeof *classes };
	/* PCIe: slow links and a long way to the full rate */
	static const double slow[N_SWITCHED] = {20e-6, 8e-6, 0.4, 0.3, 100e-6, 5e6};
	struct fit_bench library = *b;
	struct table tables[N_CLASSES];
	struct rings rings = {{NULL}, 0};
	double shared[N_SHARED] = {0};
	int n;

	library.backend = "nccl";
	const struct measurement **rows = fit_rows(&library, MEASUREMENT_COLLECTIVE, &n);
	for (int i = 0; i < N_CLASSES; i++)
		tables[i] = gather(b, rows, n, classes[i].collective, NULL);
	find_switches(b, &tables[0]);
	const struct table reduces =
	    below(b, &tables[0], tables[0].nvls_min_ranks > 0 ? tables[0].nvls_min_ranks : INFINITY);
	for (int i = 0; i < N_RINGS; i++) {
		const struct table *t = i ? &tables[i] : &reduces;
		if (t->n >= ROWS_NEEDED)
			rings.of[rings.n++] = t;
	}
	const bool joined = fit_rings(b, &rings, shared);
	for (int i = 0; i < N_CLASSES; i++) {
		const bool ring = joined && i < N_RINGS && tables[i].n >= ROWS_NEEDED;

		if (tables[i].n)
			fit_form(b, &tables[i], &family_collective, slow,
			    ring ? (const double[]){shared[0], shared[i ? 2 : 1]} : NULL, predict_ramp, classes[i].path,
			    classes[i].residual, out);
	}
}

static void
fit_custom(const struct fit_bench *b, struct fitted *out)
{
	static const double other[N_LIMITED] = {4e-6, 0.1e-6, 0.4, 6e-6, 0.3e-6, 0.65};
	const struct own_limit *limit = own_limit_of(b->gpu, b->backend);
	struct custom_calibration own = {.pair_most_byte = datum_absent(), .most_byte = datum_absent()};
	struct fit_bench engine = *b;
	int n;

	engine.backend = arena_printf(b->arena, "custom-%s", b->backend);
	const struct measurement **rows = fit_rows(&engine, MEASUREMENT_COLLECTIVE, &n);
	if (limit) {
		own.pair_most_byte.value = limit->pair_byte;
		own.most_byte.value = limit->more_byte;
	}
	struct table t = gather(b, rows, n, COLLECTIVE_ALL_REDUCE, &own);
	t.limit = limit;
	if (t.n)
		fit_form(
		    b, &t, &family_custom, other, NULL, predict_custom, "custom_all_reduce", "custom_all_reduce", out);
}

void
fit_collective(const struct fit_bench *b, struct fitted *out)
{
	if (!b->gpu)
		return;
	if (b->backend)
		fit_custom(b, out);
	else
		fit_nccl(b, out);
}
