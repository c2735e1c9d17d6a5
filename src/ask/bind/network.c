/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was fitted to collectives over the nodes of a system, at the NICs in hand.  A fabric that nobody measured takes
 * the middle of those that somebody did.
 */
#include "ask/bind/bind.h"

#include "db/db.h"

#include <math.h>
#include <string.h>

struct known_networks {
	int n;
	struct network_known *list;
};

static bool
is_known(const struct known_networks *k, const char *fabric)
{
	for (int i = 0; i < k->n; i++)
		if (strcmp(k->list[i].fabric, fabric) == 0)
			return true;
	return false;
}

const struct network_known *
bind_known_networks(struct run *r, int *n)
{
	struct arena *a = database_arena(r->database);
	const void *kept;

	if (!database_kept(r->database, NULL, "known networks", &kept)) {
		size_t n_ids;
		const char *ignored;
		const char **ids = database_list(r->database, ENTRY_SYSTEM, &n_ids);
		struct database *quiet = database_reporting_to(r->database, diag_new(a));
		struct known_networks *k = ARENA_NEW(a, struct known_networks);
		k->list = ARENA_ARRAY(a, struct network_known, n_ids + 1);
		for (size_t i = 0; i < n_ids; i++) {
			const struct system *s =
			    database_system(quiet, ids[i], NULL, NULL, (struct source){0}, &ignored);
			if (!s || !s->fabric || is_known(k, s->fabric->id))
				continue;
			const struct calibration *fit = database_calibration(r->database, s->fabric->id, NULL);
			if (fit)
				k->list[k->n++] = (struct network_known){
				    s->fabric->id, fit, s->n_nics.value * s->nic_byte_per_s.value};
		}
		database_keep(r->database, NULL, "known networks", k);
		kept = k;
	}
	const struct known_networks *k = kept;
	*n = k->n;
	return k->list;
}

/* What was not measured on this network goes by the others.  Direct sends keep the share that only they reach. */
static bool
middle(struct run *r, const struct system *s, enum collective c, const struct calibration *any,
    struct network_calibration *out)
{
	int n;
	const struct network_known *known = bind_known_networks(r, &n);

	if (!network_middle(known, n, NULL, c, s->n_nics.value * s->nic_byte_per_s.value, out))
		return false;
	if (c == COLLECTIVE_ALL_TO_ALL && any->has_network[c])
		out->nic_frac = any->network[c].nic_frac;
	return true;
}

/* NICs that were set faster or slower carry the bytes so; the ramp is that of chunks in a pipeline, whose root of
 * latency over bandwidth it goes with (search/fit/network_middle.h). */
static void
rebase_network(struct network_calibration *n, const struct system *s)
{
	const double nic = s->nic_byte_per_s.value / s->filed->nic_byte_per_s.value;
	const double node = nic * s->n_nics.value / s->filed->n_nics.value;

	if (!datum_given(n->nic_byte_per_s) || !(nic > 0) || !(node > 0))
		return;
	n->nic_byte_per_s.value *= nic;
	n->ramp_s.value /= sqrt(node);
}

bool
bind_network(struct run *r, const struct system *s, enum collective c, struct network_fit *out)
{
	const struct calibration *own = run_calibration(r, s->fabric->id, NULL);

	*out = (struct network_fit){.fit = own};
	if (own && own->has_network[c])
		out->rates = own->network[c];
	else {
		out->fit = run_calibration(r, "network", NULL);
		out->transferred = true;
		if (!out->fit || !out->fit->has_network[c])
			return false;
		if (!middle(r, s, c, out->fit, &out->rates))
			out->rates = out->fit->network[c];
	}
	if (s->filed)
		rebase_network(&out->rates, s);
	return true;
}
