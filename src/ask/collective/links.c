/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge comm links`: list link rates; find the slowest link that carries a bandwidth. */
#include "ask/collective/collective.h"

#include "base/base.h"
#include "db/db.h"

#include <string.h>

static bool
is_between_gpus(const struct link *l)
{
	return strcmp(l->kind, "nvlink") == 0 || strcmp(l->kind, "pcie") == 0 || strcmp(l->kind, "xgmi") == 0;
}

static bool
is_network(const struct link *l)
{
	static const char *const kinds[] = {"infiniband", "roce", "ethernet", "efa", "gcp"};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(l->kind, kinds[i]) == 0)
			return true;
	return false;
}

/* --- the table ------------------------------------------------------------------------------------------- */

struct listed {
	const char *id;
	const struct link *link;
	struct datum n; /* how many together */
};

/* Show one link; return its total bandwidth in one direction. */
static double
show_line(struct sheet *sh, const struct listed *l, double first_byte_per_s)
{
	TELL(sh, link, l->id);
	TELL(sh, kind, l->link->kind);
	TAKE(sh, n_links, l->n);
	TAKE(sh, one_byte_per_s, l->link->byte_per_s);
	CALL(sh, total_byte_per_s, link_total(sh, n_links, one_byte_per_s));
	CALL(sh, both_byte_per_s, link_both(sh, total_byte_per_s));
	CALL(sh, n_gbit, link_gbit(sh, total_byte_per_s));
	SHOW(sh, n_links, n_links);
	SHOW(sh, one_byte_per_s, byte_per_s);
	SHOW(sh, total_byte_per_s, total_byte_per_s);
	SHOW(sh, both_byte_per_s, both_byte_per_s);
	SHOW(sh, n_gbit, n_gbit);
	if (first_byte_per_s > 0) {
		TAKE(sh, reference_byte_per_s, first_byte_per_s);
		CALL(sh, ratio, link_ratio(sh, total_byte_per_s, reference_byte_per_s));
		SHOW(sh, ratio, relative);
	}
	return total_byte_per_s;
}

static struct listed
listed_of(const struct link *link, struct datum asked)
{
	const struct datum one = {1, {"default", 0, 0, NULL, false}};
	const bool many = strcmp(link->scope, "link") == 0 && datum_given(link->n_units);

	return (struct listed){link->id, link, datum_given(asked) ? asked : many ? link->n_units : one};
}

/* Every link of the database that joins GPUs or nodes. */
static size_t
list_all(struct run *r, struct listed *out, size_t room)
{
	size_t n_ids, n = 0;
	const char **ids = database_list(r->database, ENTRY_LINK, &n_ids);

	for (size_t i = 0; i < n_ids && n < room; i++) {
		const char *ignored;
		const struct link *link = database_link(r->database, ids[i], NULL, (struct source){0}, &ignored);
		if (link && datum_given(link->byte_per_s) && (is_between_gpus(link) || is_network(link)))
			out[n++] = listed_of(link, datum_absent());
	}
	return n;
}

static bool
list_named(struct run *r, struct word list, struct listed *out, size_t room, size_t *n)
{
	size_t n_names;
	char **names = text_split(r->arena, list.text, ',', &n_names);

	for (size_t i = 0; i < n_names && *n < room; i++) {
		struct datum units;
		const struct link *link = interconnect_link(r, (struct word){names[i], list.from}, &units);
		if (!link)
			return false;
		out[(*n)++] = listed_of(link, units);
	}
	return true;
}

static bool
list_gpu(struct run *r, struct word name, struct listed *out, size_t *n)
{
	const struct gpu *gpu = run_gpu(r, name);

	if (!gpu)
		return false;
	if (gpu->link_kind) {
		const struct link *link = run_link(r, (struct word){gpu->link_kind, name.from});
		if (!link)
			return false;
		struct link *own = ARENA_NEW(r->arena, struct link);
		*own = *link;
		if (datum_given(gpu->link_byte_per_s))
			own->byte_per_s = gpu->link_byte_per_s;
		out[(*n)++] = listed_of(own, gpu->n_links);
	}
	if (gpu->pcie) {
		const struct link *slot = run_link(r, (struct word){gpu->pcie, name.from});
		if (!slot)
			return false;
		out[(*n)++] = listed_of(slot, datum_absent());
	}
	return true;
}

enum answer
links_show(struct run *r, struct word list, struct word gpu)
{
	enum { ROOM = 256 };
	struct listed *lines = ARENA_ARRAY(r->arena, struct listed, ROOM);
	struct sheet *sh = r->sheet;
	size_t n = 0;

	if ((list.text && !list_named(r, list, lines, ROOM - 2, &n)) || (gpu.text && !list_gpu(r, gpu, lines, &n)))
		return REFUSED;
	if (!list.text && !gpu.text)
		n = list_all(r, lines, ROOM);
	r->title = gpu.text ? arena_printf(r->arena, "links of %s", gpu.text) : "links";
	double first_byte_per_s = 0;
	for (size_t i = 0; i < n; i++)
		SCOPE_I (sh, "links", i) {
			const bool compares = list.text || gpu.text;
			const double total = show_line(sh, &lines[i], compares ? first_byte_per_s : 0);
			first_byte_per_s = i == 0 ? total : first_byte_per_s;
		}
	return ANSWERED;
}

/* --- what a bandwidth fits ------------------------------------------------------------------------------- */

/* The slowest listed link whose rate, times the share of it that is reached if `typical`, is enough. */
static const struct listed *
slowest(const struct listed *all, size_t n, bool network, bool typical, double needed)
{
	const struct listed *best = NULL;
	double best_rate = INFINITY;

	for (size_t i = 0; i < n; i++) {
		const struct link *l = all[i].link;
		const double line = all[i].n.value * l->byte_per_s.value;
		const double rate = typical ? line * datum_or(l->efficiency_frac, 0.8) : line;
		const bool shorter =
		    best && line == best_rate && strlen(l->id) < strlen(best->id); /* ib-hdr, not a cloud's */
		if (network == is_network(l) && rate >= needed && (line < best_rate || shorter)) {
			best = &all[i];
			best_rate = line;
		}
	}
	return best;
}

void
links_fitting(struct run *r, double volume_byte, double comm_s)
{
	enum { ROOM = 256 };
	struct listed *all = ARENA_ARRAY(r->arena, struct listed, ROOM);
	const size_t n = list_all(r, all, ROOM);
	const double implied = bus_bandwidth(NULL, volume_byte, comm_s);
	const struct listed *line = slowest(all, n, false, false, implied);
	const struct listed *typical = slowest(all, n, false, true, implied);
	const struct listed *network = slowest(all, n, true, false, implied);
	struct sheet *sh = r->sheet;

	if (line) {
		TELL(sh, link_class, line->id);
		SCOPE (sh, "link_class_use") {
			TAKE(sh, implied_byte_per_s, implied);
			TAKE(sh, n_links, line->n);
			TAKE(sh, one_byte_per_s, line->link->byte_per_s);
			CALL(sh, line_byte_per_s, link_total(sh, n_links, one_byte_per_s));
			CALL(sh, of_line_frac, link_share(sh, implied_byte_per_s, line_byte_per_s));
			SHOW(sh, of_line_frac, line_frac);
		}
	}
	if (typical && typical != line)
		TELL(sh, typical_class, typical->id);
	if (network)
		TELL(sh, network_class, network->id);
	if (!line && !network)
		run_warn(r, "no link in the database is this fast: check time, size and number of ranks");
}
