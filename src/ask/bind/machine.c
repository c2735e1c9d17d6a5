/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collective parameters across the nodes of a system, rescaled to its NICs.  An unmeasured fabric takes the median of
 * the others.
 */
#include "ask/bind/bind.h"

#include "base/base.h"
#include "cli/cli.h"
#include "db/db.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct known_networks {
	int n;
	struct network_known *list;
};

static bool
any_network(const struct calibration *fit)
{
	for (int c = 0; c < N_COLLECTIVES; c++)
		if (fit->has_network[c])
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
		const char *ignored, **ids = database_list(r->database, ENTRY_CALIBRATION, &n_ids);
		struct known_networks *k = ARENA_NEW(a, struct known_networks);
		k->list = ARENA_ARRAY(a, struct network_known, n_ids + 1);
		for (size_t i = 0; i < n_ids; i++) {
			const struct link *fabric = database_path(r->database, ENTRY_LINK, ids[i])
			    ? database_link(r->database, ids[i], NULL, (struct source){0}, &ignored)
			    : NULL;
			const struct calibration *fit = fabric ? database_calibration(r->database, ids[i], NULL) : NULL;
			if (fit && any_network(fit))
				k->list[k->n++] = (struct network_known){fabric->id, fit, fabric->kind};
		}
		database_keep(r->database, NULL, "known networks", k);
		kept = k;
	}
	const struct known_networks *k = kept;
	*n = k->n;
	return k->list;
}

/* Fill what was not measured on this network from the others.  Direct sends keep their own share of line rate. */
static bool
middle(struct run *r, const struct link *fabric, enum collective c, const struct calibration *any,
    struct network_calibration *out)
{
	int n;
	const struct network_known *known = bind_known_networks(r, &n);

	if (!network_middle(known, n, NULL, fabric ? fabric->kind : NULL, c, out))
		return false;
	if (c == COLLECTIVE_ALL_TO_ALL && any->has_network[c])
		out->nic_frac = any->network[c].nic_frac;
	return true;
}

bool
bind_network(
    struct run *r, const struct gpu *gpu, const struct link *fabric, enum collective c, struct network_fit *out)
{
	const struct calibration *own = fabric ? run_calibration(r, fabric->id, NULL) : NULL;
	struct network_calibration others;

	*out = (struct network_fit){.fit = own};
	if (own && own->has_network[c])
		out->rates = own->network[c];
	else {
		out->fit = run_calibration(r, "network", NULL);
		out->transferred = true;
		if (!out->fit || !middle(r, fabric, c, out->fit, &out->rates))
			return false;
	}
	if (gpu->vendor && strcmp(gpu->vendor, "AMD") == 0)
		out->rates.tree_frac = datum_absent(); /* RCCL uses rings */
	else if (!(out->rates.tree_frac.value > 0) && middle(r, fabric, c, out->fit, &others))
		out->rates.tree_frac = others.tree_frac;
	return true;
}

/* --- price --------------------------------------------------------------------------------------------------- */

/* What GPUs cost to rent.  Clouds rent instances: a replica of linked GPUs needs one that has as many. */

/* --- prices that were given ------------------------------------------------------------------------------ */

/* USD per hour: a bare number, or a price with its unit. */
static bool
read_price(struct run *r, struct source at, const char *text, struct datum *out)
{
	char *end;
	const double plain = strtod(text, &end);

	if (end == text || *end != '\0')
		return run_value(r, at, text, Q_PER_HOUR, out);
	*out = (struct datum){plain / 3600, at};
	if (plain > 0 && isfinite(plain))
		return true;
	return run_refuse(
	    r, at, "a price must be greater than 0", "write for example --price 2.5, in USD per GPU-hour");
}

/* Whether a word of --price is of this GPU; false with errors where its name is none. */
static bool
is_of(struct run *r, const char *name, size_t n, struct source at, const struct gpu *gpu, bool *of)
{
	const char *said;
	const struct gpu *named = database_gpu(r->database, arena_copy(r->arena, name, n), NULL, at, &said);

	*of = named && gpu && strcmp(named->id, gpu->id) == 0;
	return named;
}

bool
bind_given_price(struct run *r, const struct words *words, const struct gpu *gpu, struct datum *out)
{
	bool named = false;

	*out = datum_absent();
	for (size_t i = 0; i < words->n; i++) {
		const struct word w = words->list[i];
		const char *sign = strchr(w.text, '=');
		struct datum price;
		bool of = true;
		if (sign && !is_of(r, w.text, (size_t)(sign - w.text), w.from, gpu, &of))
			return false;
		if (!read_price(r, w.from, sign ? sign + 1 : w.text, &price))
			return false;
		if (of && (sign || !named))
			*out = price;
		named = named || (of && sign);
	}
	return true;
}

/* --- prices of the database ------------------------------------------------------------------------------ */

enum { MOST_PROVIDERS = 400 };

struct offer {
	const struct price *price;
	double n_gpus, usd_per_s; /* of the whole instance */
	const char *name;
};

/* The better of two: it holds the replica, and is smaller; the first of equals. */
static bool
is_better(const struct offer *a, const struct offer *b, double n_linked)
{
	const bool a_holds = a->n_gpus >= n_linked, b_holds = b->n_gpus >= n_linked;

	if (!b->price || a_holds != b_holds)
		return !b->price || a_holds;
	return a_holds ? a->n_gpus < b->n_gpus : a->n_gpus > b->n_gpus;
}

static void
look_at(struct offer *best, struct offer offer, const char *provider, double n_linked)
{
	if (!text_mentions(offer.price->source, provider) && !text_mentions(offer.name, provider))
		return;
	if (is_better(&offer, best, n_linked))
		*best = offer;
}

/* The systems with this GPU, ending with NULL; the database remembers them. */
static const struct system *const *
systems_of(struct run *r, const char *gpu)
{
	const char *key = arena_printf(r->arena, "systems of %s", gpu), *said, *id;
	const void *kept;
	size_t n, n_found = 0;

	if (database_kept(r->database, NULL, key, &kept))
		return kept;
	struct database *quiet = database_reporting_to(r->database, diag_new(r->arena));
	const char **ids = database_list(quiet, ENTRY_SYSTEM, &n);
	const struct system **found = ARENA_ARRAY(database_arena(r->database), const struct system *, n + 1);
	for (size_t i = 0; i < n; i++) {
		if (!database_mentions(quiet, ENTRY_SYSTEM, ids[i], gpu))
			continue;
		const struct node *of = tree_get(database_try(quiet, ENTRY_SYSTEM, ids[i], &id), "gpu");
		if (!of || of->kind != NODE_SCALAR || !of->text || strcmp(of->text, gpu) != 0)
			continue;
		found[n_found] = database_system(quiet, ids[i], NULL, NULL, (struct source){0}, &said);
		n_found += found[n_found] != NULL;
	}
	database_keep(r->database, NULL, key, found);
	return found;
}

/* Instances with this GPU first, then prices of one GPU. */
static struct offer
best_offer(struct run *r, const struct gpu *gpu, const char *provider, double n_linked)
{
	struct offer best = {0};

	for (const struct system *const *at = systems_of(r, gpu->id); *at; at++) {
		const struct system *s = *at;
		for (int k = 0; k < s->n_prices; k++) {
			const struct price *p = &s->prices[k];
			if (p->per && strcmp(p->per, "node") == 0)
				look_at(&best, (struct offer){p, s->n_gpus.value, p->usd_per_s.value, s->id}, provider,
				    n_linked);
		}
	}
	for (int k = 0; k < gpu->n_prices; k++) {
		const struct price *p = &gpu->prices[k];
		const double n_sold = datum_or(p->n_gpus, 1);
		if (!p->per || strcmp(p->per, "gpu") == 0)
			look_at(&best, (struct offer){p, n_sold, n_sold * p->usd_per_s.value, p->source}, provider,
			    n_linked);
	}
	return best;
}

/* One provider for all replicas of a GPU, however large: the first of these that has it. */
static struct offer
usual_offer(struct run *r, const struct gpu *gpu, double n_linked)
{
	static const char *const providers[] = {"aws", "azure", "gcp", "lambda", ""};
	struct offer offer = {0};

	for (size_t i = 0; !offer.price && i < sizeof providers / sizeof *providers; i++)
		offer = best_offer(r, gpu, providers[i], n_linked);
	return offer;
}

/* The first word of a source: `AWS`, `Lambda`. */
static void
add_provider(struct run *r, const char **names, size_t *n, const char *source)
{
	if (source && *n < MOST_PROVIDERS)
		names[(*n)++] = arena_copy(r->arena, source, strcspn(source, " ,"));
}

/* Whether any GPU or system has a price from there; else an error with the nearest name. */
static bool
is_provider(struct run *r, struct word provider)
{
	struct database *quiet = database_reporting_to(r->database, diag_new(r->arena));
	const char *names[MOST_PROVIDERS], *said;
	size_t n = 0, n_gpus;
	const char **gpus = database_list(quiet, ENTRY_GPU, &n_gpus);

	for (size_t i = 0; i < n_gpus; i++) {
		const struct gpu *gpu = database_gpu(quiet, gpus[i], NULL, (struct source){0}, &said);
		for (int k = 0; gpu && k < gpu->n_prices; k++) {
			if (text_mentions(gpu->prices[k].source, provider.text))
				return true;
			add_provider(r, names, &n, gpu->prices[k].source);
		}
		for (const struct system *const *at = gpu ? systems_of(r, gpu->id) : NULL; at && *at; at++)
			for (int k = 0; k < (*at)->n_prices; k++) {
				if (text_mentions((*at)->id, provider.text) ||
				    text_mentions((*at)->prices[k].source, provider.text))
					return true;
				add_provider(r, names, &n, (*at)->prices[k].source);
			}
	}
	diag_error(r->diag, provider.from, "no price in the database is from '%s'", provider.text);
	const char *near = text_nearest(provider.text, names, n);
	if (near)
		diag_hint(r->diag, "did you mean '%s'?", near);
	else
		diag_hint(r->diag, "'ridge hw show GPU' lists prices; or give --price h100=3.5");
	return false;
}

static bool
no_offer(struct run *r, const struct price_in *in, const struct gpu *gpu)
{
	if (in->provider.text && !is_provider(r, in->provider))
		return false;
	if (in->provider.text)
		run_warn(
		    r, "no price of %s from '%s': 'ridge hw show %s' lists all", gpu->id, in->provider.text, gpu->id);
	else
		run_warn(r, "no price of %s in the database: add --price %s=3.5, in USD per hour", gpu->id, gpu->id);
	return true;
}

bool
bind_price(struct run *r, const struct price_in *in, const struct gpu *gpu, double n_linked, struct rental *out)
{
	char buf[40];

	*out = (struct rental){.n_gpus = 1};
	for (size_t i = 0; i < in->price->n; i++)
		run_read_from(r, in->price->list[i].from);
	if (!bind_given_price(r, in->price, gpu, &out->gpu_usd_per_s))
		return false;
	if (datum_given(out->gpu_usd_per_s) || !gpu)
		return true;
	run_read_from(r, in->provider.from);
	const struct offer offer =
	    in->provider.text ? best_offer(r, gpu, in->provider.text, n_linked) : usual_offer(r, gpu, n_linked);
	if (!offer.price)
		return no_offer(r, in, gpu);
	out->n_gpus = offer.n_gpus;
	out->gpu_usd_per_s = offer.price->usd_per_s;
	out->gpu_usd_per_s.value = offer.usd_per_s / offer.n_gpus;
	out->gpu_usd_per_s.from.unconfirmed = offer.price->unconfirmed;
	out->name = arena_copy(r->arena, offer.name, strcspn(offer.name, ","));
	value_write("x_usd_per_s", offer.usd_per_s, buf, sizeof buf);
	run_assume(r, "%s rented as %s, %g GPU%s for %s (%s%s)", gpu->id, out->name, offer.n_gpus,
	    offer.n_gpus > 1 ? "s" : "", buf, offer.price->on, offer.price->unconfirmed ? ", unconfirmed" : "");
	return true;
}
