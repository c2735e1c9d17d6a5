/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * No collective moves more than its links carry, none is faster over several nodes than inside one at as many ranks per
 * node, and a figure that is set moves it the right way.
 */
#include "law/physics.h"

#include "ask/collective/collective.h"
#include "ask/train/train.h"
#include "db/db.h"

#include <string.h>

extern const struct command comm_command, train_command;

enum { N_SIZES = 13 };
static const double NODES[] = {2, 3, 4, 8, 16};

static double
size_at(int i)
{
	return 1024 * pow(4, i); /* 1 KiB to 16 GiB */
}

static struct interconnect_in
question(const char *system, double n_ranks, double n_nodes)
{
	const struct datum none = datum_absent();
	const struct source here = {"law", 0, 0, NULL, false};

	return (struct interconnect_in){.system = {system, here},
	    .gpus = {n_ranks, here},
	    .nodes = {n_nodes, here},
	    .bandwidth = none,
	    .nic_bandwidth = none,
	    .latency = none,
	    .host_bandwidth = none,
	    .algorithm = {"auto", here},
	    .launch = {"graph", here}};
}

/* One system with so many ranks and nodes. */
struct wired {
	struct run run;
	struct interconnect interconnect;
	bool known;
};

static struct wired
place_of(struct lab *w, const char *system, double n_ranks, double n_nodes, const char *path, const char *text)
{
	struct wired p = {.run = lab_ask(w, &comm_command, path, text)};
	const struct interconnect_in in = question(system, n_ranks, n_nodes);

	p.known = interconnect_bind(&p.run, &in, &p.interconnect);
	if (p.known)
		interconnect_rates(&p.run, &p.interconnect);
	return p;
}

/* NaN where nothing is known. */
static double
time_of(struct wired *p, enum collective c, double size_byte)
{
	struct collective_plan plan;
	struct interconnect_words words;

	if (!p->known || !interconnect_plan(&p->run, &p->interconnect, "interconnect", c, size_byte, &plan, &words))
		return NAN;
	return collective_time(NULL, &plan, size_byte);
}

static void
times_of(struct wired *p, double out[N_COLLECTIVES][N_SIZES])
{
	for (int c = 0; c < N_COLLECTIVES; c++)
		for (int i = 0; i < N_SIZES; i++)
			out[c][i] = time_of(p, (enum collective)c, size_at(i));
}

/* --- the least that a collective can take ---------------------------------------------------------------- */

/* Bytes that one GPU of n must send or receive over its links inside a node.  Switches that add up take every GPU's
 * buffer once and return its share of the sums, as NCCL counts them. */
static double
link_bytes(enum collective c, bool sharp, double n_local, double size_byte)
{
	if (c == COLLECTIVE_ALL_REDUCE && sharp)
		return size_byte * (1 + 1 / n_local);
	return bus_volume(NULL, c, n_local, size_byte);
}

/* Bytes that must leave or enter a node; a network that adds up halves the sums. */
static double
node_bytes(enum collective c, bool sharp, double n_nodes, double n_local, double size_byte)
{
	switch (c) {
	case COLLECTIVE_ALL_REDUCE:
		return sharp ? size_byte : 2 * (n_nodes - 1) / n_nodes * size_byte;
	case COLLECTIVE_ALL_GATHER:
	case COLLECTIVE_REDUCE_SCATTER:
		return (n_nodes - 1) / n_nodes * size_byte;
	case COLLECTIVE_ALL_TO_ALL:
		return n_local * (n_nodes - 1) / n_nodes * size_byte;
	default:
		return size_byte;
	}
}

static void
check_rates(struct lab *w, const struct wired *p, double times[N_COLLECTIVES][N_SIZES])
{
	const struct system *s = p->interconnect.system;
	const double n_nodes = p->interconnect.n_nodes, n_local = p->interconnect.n_ranks.value / n_nodes;
	const double nics = s->n_nics.value * s->nic_byte_per_s.value * n_local / s->n_gpus.value;
	const bool net_sharp = s->fabric && s->fabric->in_switch_reduction;

	for (int c = 0; c < N_COLLECTIVES; c++)
		for (int i = 0; i < N_SIZES; i++) {
			const double size = size_at(i),
			             inside = link_bytes((enum collective)c, s->sharp, n_local, size);
			const double across = node_bytes((enum collective)c, net_sharp, n_nodes, n_local, size);
			w->faults->n_rows++;
			if (n_local > 1 && times[c][i] < inside / p->interconnect.link_byte_per_s * (1 - 1e-9))
				fault_report(w->faults, s->id, "%s of %.0f bytes on %.0f ranks: faster than its links",
				    collective_name((enum collective)c), size, p->interconnect.n_ranks.value);
			if (n_nodes > 1 && times[c][i] < across / nics * (1 - 1e-9))
				fault_report(w->faults, s->id, "%s of %.0f bytes on %.0f ranks: faster than its NICs",
				    collective_name((enum collective)c), size, p->interconnect.n_ranks.value);
		}
}

static void
check_slower(struct lab *w, const char *system, double n_ranks, const char *what, double after[N_COLLECTIVES][N_SIZES],
    double before[N_COLLECTIVES][N_SIZES])
{
	for (int c = 0; c < N_COLLECTIVES; c++)
		for (int i = 0; i < N_SIZES; i++) {
			w->faults->n_rows++;
			if (after[c][i] < before[c][i] * (1 - 1e-9))
				fault_report(w->faults, system,
				    "%s of %.0f bytes on %.0f ranks %s: %.3g s after %.3g s",
				    collective_name((enum collective)c), size_at(i), n_ranks, what, after[c][i],
				    before[c][i]);
		}
}

/* --- over the nodes of a system -------------------------------------------------------------------------- */

static void
check_nodes(struct lab *w, const struct system *s, double n_local)
{
	double inside[N_COLLECTIVES][N_SIZES], before[N_COLLECTIVES][N_SIZES], now[N_COLLECTIVES][N_SIZES];

	if (n_local > 1) {
		struct wired one = place_of(w, s->id, n_local, 1, NULL, NULL);
		times_of(&one, inside);
		check_rates(w, &one, inside);
		memcpy(before, inside, sizeof before);
	}
	for (size_t k = 0; s->fabric && k < sizeof NODES / sizeof *NODES; k++) {
		struct wired many = place_of(w, s->id, n_local * NODES[k], NODES[k], NULL, NULL);
		times_of(&many, now);
		check_rates(w, &many, now);
		if (n_local > 1)
			check_slower(w, s->id, n_local * NODES[k], "than inside a node", now, inside);
		if (n_local > 1 || k > 0)
			check_slower(w, s->id, n_local * NODES[k], "than on fewer nodes", now, before);
		memcpy(before, now, sizeof before);
	}
}

/* --- what is set ----------------------------------------------------------------------------------------- */

/* Half of a bandwidth: never faster, and what moves bytes alone takes twice as long. */
static void
check_half(struct lab *w, const struct system *s, double n_ranks, double n_nodes, const char *path, struct datum rate)
{
	double whole[N_COLLECTIVES][N_SIZES], half[N_COLLECTIVES][N_SIZES], twice[N_COLLECTIVES][N_SIZES];
	char text[40];

	if (!datum_given(rate))
		return;
	struct wired p = place_of(w, s->id, n_ranks, n_nodes, NULL, NULL);
	times_of(&p, whole);
	snprintf(text, sizeof text, "%.12gB/s", rate.value / 2);
	p = place_of(w, s->id, n_ranks, n_nodes, path, text);
	times_of(&p, half);
	check_rates(w, &p, half);
	snprintf(text, sizeof text, "%.12gB/s", rate.value * 4);
	p = place_of(w, s->id, n_ranks, n_nodes, path, text);
	times_of(&p, twice);
	check_rates(w, &p, twice);
	check_slower(w, s->id, n_ranks, "with half of the bandwidth", half, whole);
	check_slower(w, s->id, n_ranks, "with less bandwidth", whole, twice);
	/* 16 GiB are nothing but bytes: fixed times and ramps are below 5 % of them */
	for (int c = 0; c < N_COLLECTIVES && n_nodes == 1; c++)
		if (half[c][N_SIZES - 1] < 1.95 * whole[c][N_SIZES - 1] ||
		    half[c][N_SIZES - 1] > 2.001 * whole[c][N_SIZES - 1])
			fault_report(w->faults, s->id,
			    "%s of 16 GiB on %.0f ranks takes %.3f times as long at half of %s",
			    collective_name((enum collective)c), n_ranks, half[c][N_SIZES - 1] / whole[c][N_SIZES - 1],
			    path);
}

static void
check_set(struct lab *w, const struct system *s)
{
	const double domain = s->n_domain_gpus.value;

	if (domain > 1)
		check_half(w, s, domain, 1, "system.domain.per_direction", s->domain_byte_per_s);
	if (domain > 1 && s->domain != DOMAIN_PCIE)
		check_half(w, s, domain, 1, "gpu.link.per_direction", s->gpu->link_byte_per_s);
	if (s->fabric) {
		check_half(w, s, 2 * domain, 2, "system.network.per_nic", s->nic_byte_per_s);
		check_half(w, s, 2 * domain, 2, "system.domain.per_direction", s->domain_byte_per_s);
	}
}

/* --- the same in a training step ------------------------------------------------------------------------- */

static void
check_training(struct lab *w, const struct system *s, double n_local, double n_nodes)
{
	struct train_machine m;
	bool capped;
	double times[N_COLLECTIVES][N_SIZES];

	if (n_local * n_nodes < 2)
		return;
	struct wired p = place_of(w, s->id, n_local * n_nodes, n_nodes, NULL, NULL);
	/* links that were not measured: by the textbook there, of a GPU alike here */
	if (!p.interconnect.fit)
		return;
	times_of(&p, times);
	struct run r = lab_ask(w, &train_command, NULL, NULL);
	if (!run_train_machine(&r, s->gpu, s, &m, &capped) || !m.kernels)
		return;
	for (int c = 0; c < N_COLLECTIVES; c++)
		for (int i = 0; i < N_SIZES; i++) {
			const double time_s =
			    train_collective(NULL, &m, (enum collective)c, n_local * n_nodes, n_local, size_at(i));
			w->faults->n_rows++;
			if (fabs(time_s - times[c][i]) > 1e-12 * time_s)
				fault_report(w->faults, s->id,
				    "%s of %.0f bytes on %.0f nodes of %.0f ranks takes %.6g s in training, %.6g s "
				    "alone",
				    collective_name((enum collective)c), size_at(i), n_nodes, n_local, time_s,
				    times[c][i]);
		}
}

void
link_laws(struct faults *f)
{
	struct lab w;
	size_t n;
	const char *said;

	lab_open(&w, f);
	const char **ids = database_list(w.database, ENTRY_SYSTEM, &n);
	for (size_t i = 0; i < n; i++) {
		const struct system *s = database_system(w.database, ids[i], NULL, NULL, (struct source){0}, &said);
		if (!s) {
			fault_report(f, ids[i], "cannot be read");
			continue;
		}
		f->where = ids[i];
		check_nodes(&w, s, s->n_domain_gpus.value);
		if (s->n_domain_gpus.value >= 4)
			check_nodes(&w, s, s->n_domain_gpus.value / 2);
		check_set(&w, s);
		for (double n_local = s->n_domain_gpus.value; n_local >= 1; n_local /= 2) {
			check_training(&w, s, n_local, 1);
			for (size_t k = 0; s->fabric && k < sizeof NODES / sizeof *NODES; k++)
				check_training(&w, s, n_local, NODES[k]);
		}
	}
	lab_close(&w);
}
