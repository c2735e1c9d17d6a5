/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives inside a node: NCCL's, which belong to the GPU and its links, and the engines' own all-reduce.
 *
 * A ramp with few rows is easily bent, so a fit that misses rows it did not see by more than a third is not kept: such
 * a node has a path between its GPUs that changes with their number, which the model does not know.
 */
#include "engine/calibrate.h"

#include "base/text.h"
#include "ridge/collective.h"

#include <math.h>
#include <string.h>

enum { N_PARAMS = 6, ROWS_NEEDED = 15 };
static const double worst_mape = 0.35;

/* Of the engines' kernels: more is left to NCCL. */
static const double custom_byte = 33554432;

struct spec {
	const char *key;
	enum quantity unit;
	double start, low, high; /* rates: share of the links' line rate */
};

static const struct spec ramp_specs[N_PARAMS] = {
    {"a0", Q_TIME, 8e-6, 0.5e-6, 100e-6},
    {"an", Q_TIME, 1.5e-6, 1e-9, 50e-6},
    {"binf", Q_RATE, 0.8, 0.01, 1.3},
    {"beta", Q_NUMBER, 0.5, 0, 1.5},
    {"c", Q_TIME, 25e-6, 0.1e-6, 2e-3},
    {"v0", Q_SIZE, 10e6, 0.1e6, 500e6},
};

static const struct spec custom_specs[N_PARAMS] = {
    {"a1", Q_TIME, 3e-6, 0.5e-6, 60e-6},
    {"an1", Q_TIME, 0.1e-6, 1e-9, 20e-6},
    {"b1", Q_RATE, 0.6, 0.01, 1.5},
    {"a2", Q_TIME, 12e-6, 0.5e-6, 100e-6},
    {"an2", Q_TIME, 0.7e-6, 1e-9, 20e-6},
    {"b2", Q_RATE, 0.7, 0.01, 1.5},
};

struct table {
	int n;
	enum collective collective;
	double link_byte_per_s;
	double *n_ranks, *size_byte, *measured_s;
	unsigned *hash;
};

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
#include "ridge/collective.def"
#undef COLLECTIVE
	};
	int i = 0;

	while (i < N_COLLECTIVES && !(m->operation && text_same_folded(keys[i], m->operation)))
		i++;
	return (enum collective)i;
}

static struct table
gather(const struct fit_bench *b, const struct measurement **rows, int n_rows, enum collective c, double most_byte)
{
	struct table t = {.collective = c, .link_byte_per_s = link_rate(b->gpu)};

	t.n_ranks = ARENA_ARRAY(b->arena, double, n_rows + 1);
	t.size_byte = ARENA_ARRAY(b->arena, double, n_rows + 1);
	t.measured_s = ARENA_ARRAY(b->arena, double, n_rows + 1);
	t.hash = ARENA_ARRAY(b->arena, unsigned, n_rows + 1);
	for (int i = 0; i < n_rows; i++) {
		const struct measurement *m = rows[i];

		if (collective_of(m) != c || m->nodes > 1 || m->ranks < 2 || !(m->size_byte > 0) ||
		    m->size_byte > most_byte)
			continue;
		t.n_ranks[t.n] = m->ranks;
		t.size_byte[t.n] = m->size_byte;
		t.measured_s[t.n] = m->time_s;
		t.hash[t.n++] = fit_hash((const double[]){m->ranks, m->size_byte}, 2);
	}
	return t;
}

/* --- models ---------------------------------------------------------------------------------------------- */

static struct datum
plain(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

static double
predict_ramp(const void *context, const double *x, int row)
{
	const struct table *t = context;
	const struct collective_calibration fit = {
	    plain(x[0]), plain(x[1]), plain(x[2] * t->link_byte_per_s), plain(x[3]), plain(x[4]), plain(x[5])};

	return collective_ramp(NULL, t->collective, &fit, t->n_ranks[row], t->size_byte[row]);
}

static double
predict_custom(const void *context, const double *x, int row)
{
	const struct table *t = context;
	const struct custom_calibration fit = {NULL, plain(x[0]), plain(x[1]), plain(x[2] * t->link_byte_per_s),
	    plain(x[3]), plain(x[4]), plain(x[5] * t->link_byte_per_s)};

	return allreduce_custom(NULL, &fit, t->n_ranks[row], t->size_byte[row]);
}

/* All-gather and reduce-scatter are the same ring in two directions: one bandwidth, two latencies.  x has the second
 * one's a0, an, c and v0 behind the six of the first. */
struct pair {
	const struct table *first, *second;
};

static double
predict_pair(const void *context, const double *x, int row)
{
	const struct pair *p = context;

	if (row < p->first->n)
		return predict_ramp(p->first, x, row);
	return predict_ramp(p->second, (const double[]){x[6], x[7], x[2], x[3], x[8], x[9]}, row - p->first->n);
}

/* --- the fits -------------------------------------------------------------------------------------------- */

static void
in_rates(struct fitted_class *c, double link_byte_per_s)
{
	for (int i = 0; i < c->n_params; i++)
		if (c->params[i].unit == Q_RATE) {
			c->params[i].value *= link_byte_per_s;
			c->params[i].low *= link_byte_per_s;
			c->params[i].high *= link_byte_per_s;
		}
}

/* The bandwidth that both rings have: binf and beta.  False when the rows are too few. */
static bool
fit_pair(const struct fit_bench *b, const struct table *first, const struct table *second, double *shared)
{
	static const int of[] = {0, 1, 2, 3, 4, 5, 0, 1, 4, 5};
	enum { N_PAIR = sizeof of / sizeof *of };
	const struct pair pair = {first, second};
	double *measured_s = ARENA_ARRAY(b->arena, double, first->n + second->n + 1);
	struct fit_problem p = {.n_params = N_PAIR,
	    .n_rows = first->n + second->n,
	    .predict = predict_pair,
	    .context = &pair,
	    .measured_s = measured_s};
	struct fit_result found;

	if (first->n < ROWS_NEEDED || second->n < ROWS_NEEDED)
		return false;
	for (int i = 0; i < N_PAIR; i++) {
		const struct spec *s = &ramp_specs[of[i]];
		p.params[i] = (struct fit_param){s->key, s->start, s->low, s->high, false};
	}
	for (int i = 0; i < p.n_rows; i++)
		measured_s[i] = i < first->n ? first->measured_s[i] : second->measured_s[i - first->n];
	if (!fit_run(&p, 0, &found))
		return false;
	shared[0] = found.param[2].value;
	shared[1] = found.param[3].value;
	return true;
}

/* `shared`: binf and beta from elsewhere, or NULL. */
static void
fit_form(const struct fit_bench *b, const struct table *t, const struct spec *specs, const double *second,
    const double *shared, double (*predict)(const void *context, const double *x, int row), const char *path,
    const char *residual, struct fitted *out)
{
	struct fit_problem p = {.n_params = N_PARAMS,
	    .n_rows = t->n,
	    .predict = predict,
	    .context = t,
	    .measured_s = t->measured_s,
	    .start = {second}};
	enum quantity units[N_PARAMS];
	struct fitted_class *c = fitted_add(b, out, path, residual);

	for (int i = 0; i < N_PARAMS; i++) {
		p.params[i] = (struct fit_param){specs[i].key, specs[i].start, specs[i].low, specs[i].high, false};
		units[i] = specs[i].unit;
	}
	for (int i = 0; shared && i < 2; i++) {
		p.params[2 + i].start = shared[i];
		p.params[2 + i].fixed = true;
		p.start[0] = NULL;
	}
	if (!fitted_run(b, &p, units, t->hash, NULL, ROWS_NEEDED, c))
		return;
	for (int i = 0; shared && i < 2; i++)
		c->params[2 + i].identified = true;
	in_rates(c, t->link_byte_per_s);
	if (c->residual.all.mape > worst_mape)
		c->refused = arena_printf(b->arena,
		    "%.0f %% off on rows that were not fitted: the path between the GPUs changes with their number",
		    100 * c->residual.all.mape);
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
	/* PCIe: slow links and a long way to the full rate */
	static const double slow[N_PARAMS] = {20e-6, 8e-6, 0.4, 0.3, 100e-6, 5e6};
	struct fit_bench library = *b;
	int n;

	library.backend = "nccl";
	const struct measurement **rows = fit_rows(&library, MEASUREMENT_COLLECTIVE, &n);
	const struct table gathers = gather(b, rows, n, COLLECTIVE_ALL_GATHER, INFINITY);
	const struct table scatters = gather(b, rows, n, COLLECTIVE_REDUCE_SCATTER, INFINITY);
	double ring[2];
	const bool paired = fit_pair(b, &gathers, &scatters, ring);
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		const struct table t = gather(b, rows, n, classes[i].collective, INFINITY);
		const bool is_ring = classes[i].collective == COLLECTIVE_ALL_GATHER ||
		    classes[i].collective == COLLECTIVE_REDUCE_SCATTER;

		if (t.n)
			fit_form(b, &t, ramp_specs, slow, is_ring && paired ? ring : NULL, predict_ramp,
			    classes[i].path, classes[i].residual, out);
	}
}

static void
fit_custom(const struct fit_bench *b, struct fitted *out)
{
	static const double other[N_PARAMS] = {4e-6, 0.1e-6, 0.4, 6e-6, 0.3e-6, 0.65};
	struct fit_bench engine = *b;
	int n;

	engine.backend = arena_printf(b->arena, "custom-%s", b->backend);
	const struct measurement **rows = fit_rows(&engine, MEASUREMENT_COLLECTIVE, &n);
	const struct table t = gather(b, rows, n, COLLECTIVE_ALL_REDUCE, custom_byte);
	if (t.n)
		fit_form(
		    b, &t, custom_specs, other, NULL, predict_custom, "custom_all_reduce", "custom_all_reduce", out);
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
