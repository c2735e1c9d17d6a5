/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collective parameters across the nodes of a system.  A fabric has the latency of a step; what all fabrics share, such
 * as the share of the line rate, is in hwdb/calibration/network.yaml.
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

/* The latency of a step, which all collectives over a fabric share: that of this one, else of another; NaN: none. */
static double
hop_of(const struct calibration *fit, enum collective c)
{
	if (fit->has_network[c])
		return fit->network[c].hop_s.value;
	for (int i = 0; i < N_COLLECTIVES; i++)
		if (fit->has_network[i])
			return fit->network[i].hop_s.value;
	return NAN;
}

/* The fabrics that were measured, with what a node of theirs has. */
static const struct network_known *
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
			if (fit && hop_of(fit, COLLECTIVE_ALL_REDUCE) > 0)
				k->list[k->n++] = (struct network_known){
				    fabric->id, fabric->kind, hop_of(fit, COLLECTIVE_ALL_REDUCE)};
		}
		database_keep(r->database, NULL, "known networks", k);
		kept = k;
	}
	const struct known_networks *k = kept;
	*n = k->n;
	return k->list;
}

/* What all fabrics share: that of this collective, else of gathers. */
static struct network_calibration
shared_rates(const struct calibration *any, enum collective c)
{
	return any->network[datum_given(any->network[c].nic_frac) ? c : COLLECTIVE_ALL_GATHER];
}

static void
take(struct datum *to, struct datum from)
{
	if (datum_given(from))
		*to = from;
}

/* Sums are scattered as gathers are. */
static enum collective
measured_as(const struct calibration *own, enum collective c)
{
	return c == COLLECTIVE_REDUCE_SCATTER && !own->has_network[c] ? COLLECTIVE_ALL_GATHER : c;
}

bool
bind_network_unmeasured(
    struct run *r, const struct gpu *gpu, const struct link *fabric, enum collective c, struct network_fit *out)
{
	const struct calibration *any = run_calibration(r, "network", NULL);
	int n;
	const struct network_known *known = bind_known_networks(r, &n);

	*out = (struct network_fit){.fit = any, .transferred = true};
	if (!any || n == 0)
		return false;
	out->rates = shared_rates(any, c);
	out->rates.simple = (struct datum){fabric && fabric->simple_protocol, {0}};
	out->rates.hop_s = (struct datum){
	    network_middle(known, n, fabric ? fabric->id : NULL, fabric ? fabric->kind : NULL, &out->near),
	    {"hwdb/calibration", 0, 0, NULL, false}};
	if (gpu->vendor && strcmp(gpu->vendor, "AMD") == 0)
		out->rates.tree_frac = datum_absent(); /* RCCL goes by rings */
	return !isnan(out->rates.hop_s.value);
}

bool
bind_network(
    struct run *r, const struct gpu *gpu, const struct link *fabric, enum collective c, struct network_fit *out)
{
	const struct calibration *own = fabric ? run_calibration(r, fabric->id, NULL) : NULL;
	struct network_fit other;

	if (!bind_network_unmeasured(r, gpu, fabric, c, &other))
		return false;
	*out = other;
	if (!own || isnan(hop_of(own, c)))
		return true;
	const struct network_calibration *fit = &own->network[measured_as(own, c)];
	out->transferred = !own->has_network[measured_as(own, c)];
	out->fit = out->transferred ? other.fit : own;
	out->rates.hop_s = (struct datum){hop_of(own, measured_as(own, c)), {"hwdb/calibration", 0, 0, NULL, false}};
	out->near = true;
	if (out->transferred)
		return true;
	out->rates.hop_s = fit->hop_s;
	take(&out->rates.n_fill, fit->n_fill);
	take(&out->rates.nic_frac, fit->nic_frac);
	if (datum_given(out->rates.tree_frac))
		take(&out->rates.tree_frac, fit->tree_frac);
	return true;
}

const struct network_calibration *
bind_networks(struct run *r, const struct gpu *gpu, const struct link *fabric)
{
	struct network_calibration *all = ARENA_ARRAY(r->arena, struct network_calibration, N_COLLECTIVES);
	struct network_fit net;

	for (int i = 0; i < N_COLLECTIVES; i++)
		if (bind_network(r, gpu, fabric, (enum collective)i, &net))
			all[i] = net.rates;
	return all;
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

/* The GPU of `h100=2.5`; NULL with errors. */
static const struct gpu *
priced_gpu(struct run *r, struct word w)
{
	const char *said, *name = arena_copy(r->arena, w.text, strcspn(w.text, "="));

	return database_gpu(r->database, name, NULL, w.from, &said);
}

static bool
are_same(const struct gpu *a, const struct gpu *b)
{
	return a && b && strcmp(a->id, b->id) == 0;
}

bool
bind_prices_asked(struct run *r, const struct words *prices, const struct words *gpus)
{
	const struct gpu *other = NULL;
	const char *said;

	for (size_t i = 0; i < prices->n; i++) {
		const struct word w = prices->list[i];
		if (!strchr(w.text, '='))
			return true;
		if (!(other = priced_gpu(r, w)))
			return false;
		for (size_t k = 0; k < gpus->n; k++)
			if (are_same(
			        other, database_gpu(r->database, gpus->list[k].text, NULL, gpus->list[k].from, &said)))
				return true;
	}
	return !other ||
	    run_refuse(r, prices->list[0].from, "no price of the GPUs asked about is among them",
	        arena_printf(r->arena, "add for example %s=2.5", gpus->n ? gpus->list[0].text : "h100"));
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
		const struct gpu *own = sign ? priced_gpu(r, w) : NULL;
		const bool of = !sign || are_same(own, gpu);
		if (sign && !own)
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

/* --- intervals: kernel errors into the interval of a step ------------------------------------------------ */

const struct uncertainty *
run_uncertainty(struct run *r, const char *kind)
{
	static const struct datum absent = {NAN, {NULL, 0, 0, NULL, false}};
	const struct uncertainty *u = database_uncertainty(r->database, r->arena, r->diag, kind);
	struct uncertainty *none = ARENA_NEW(r->arena, struct uncertainty);

	*none = (struct uncertainty){.id = kind,
	    .name = kind,
	    .n_points = absent,
	    .sigma = absent,
	    .q10 = absent,
	    .q90 = absent,
	    .transfer_sigma = absent,
	    .engine_sigma = absent,
	    .conformal = absent,
	    .reach_sigma = absent,
	    .within_sigma = absent,
	    .group_sigma = absent,
	    .unlisted_sigma = absent,
	    .unlisted_within_sigma = absent,
	    .unlisted_group_sigma = absent,
	    .recipe_sigma = absent,
	    .hop_sigma = absent,
	    .transport_sigma = absent,
	    .machine_sigma = absent,
	    .n_groups = absent,
	    .n_stacks = absent};
	return u ? u : none;
}

/* A regime gets its own width if its error differs from the overall one by more than a quarter. */
static void
use_regime(const struct residual *r, const char *regime, struct error_class *c)
{
	for (int i = 0; regime && i < r->n_regimes; i++) {
		const struct residual_regime *own = &r->regimes[i];
		if (strcmp(own->name, regime) != 0 || !(r->mape_frac.value > 0))
			continue;
		const double factor = own->mape_frac.value / r->mape_frac.value;
		if (fabs(factor - 1) <= 0.25)
			return;
		c->q10 = datum_or(own->q10, factor * c->q10);
		c->q90 = datum_or(own->q90, factor * c->q90);
	}
}

/* How far the dimensions are outside the measured range, and which ones. */
static double
reach_of(struct run *r, const struct error_source *s, const struct uncertainty *u, const char **text)
{
	double sum = 0;

	for (int i = 0; i < s->n; i++)
		for (int k = 0; k < u->n_ranges; k++) {
			if (strcmp(u->ranges[k].dim, s->at[i].dim) != 0)
				continue;
			const double from = u->ranges[k].from.value, to = u->ranges[k].to.value;
			const double reach = error_reach(NULL, s->at[i].value, from, to);
			if (reach <= 0)
				continue;
			const bool above = s->at[i].value > to;
			sum += reach;
			if (!text)
				continue;
			*text = arena_printf(r->arena, "%s%s%s %s %.10g",
			    *text ? *text : "extrapolated: ", *text ? ", " : "", s->at[i].dim,
			    above ? "above" : "below", above ? to : from);
		}
	return sum;
}

static const char *
transfer_text(struct run *r, const struct error_source *s)
{
	if (s->fit->transferred_from)
		return arena_printf(r->arena, "transferred from %s", s->fit->transferred_from);
	if (s->transferred)
		return s->fit->gpu ? arena_printf(r->arena, "transferred from %s", s->fit->gpu)
		                   : "transferred from other GPUs";
	return NULL;
}

bool
run_errors_with(
    struct run *r, const struct error_source *s, const struct uncertainty *u, struct error_terms *out, const char **why)
{
	const char *outside = NULL;

	if (!s->fit)
		return false;
	const struct residual *e = s->residual ? residual_of(s->fit, s->residual) : NULL;
	if (!e && !datum_given(u->sigma))
		return false;
	const bool transferred = s->transferred || s->fit->transferred_from;
	*out = (struct error_terms){.n = 1,
	    .classes = {error_class_of(1, e, datum_or(u->sigma, 0))},
	    .transfer_sigma = !transferred ? 0
	        : s->transfer_sigma > 0    ? s->transfer_sigma
	                                   : datum_or(u->transfer_sigma, 0),
	    .stack_sigma = s->one_engine ? datum_or(u->engine_sigma, 0) : 0,
	    .reach = reach_of(r, s, u, why ? &outside : NULL),
	    .reach_sigma = datum_or(u->reach_sigma, 0),
	    .widening = datum_or(u->conformal, 1)};
	if (e)
		use_regime(e, s->regime, &out->classes[0]);
	if (!why)
		return true;
	const char *from = transfer_text(r, s);
	*why = arena_printf(r->arena, "%s%s%s",
	    from          ? from
	        : outside ? ""
	                  : "calibrated",
	    from && outside ? "; " : "", outside ? outside : "");
	return true;
}

bool
run_errors(struct run *r, const struct error_source *s, struct error_terms *out, const char **why)
{
	return s->fit && run_errors_with(r, s, run_uncertainty(r, s->kind), out, why);
}

bool
run_interval(struct run *r, const struct error_source *s, double value, struct interval *out)
{
	struct error_terms e;
	const char *why;

	if (!(value > 0) || !run_errors(r, s, &e, &why))
		return false;
	*out = interval_of(value, &e, why);
	return true;
}

bool
run_answer_interval(struct run *r, const char *kind, bool listed, double value, struct interval *out)
{
	const struct uncertainty *u = run_uncertainty(r, kind);
	const struct residual of_kind = {
	    .mape_frac = datum_absent(), .mean = datum_absent(), .sd = u->sigma, .q10 = u->q10, .q90 = u->q90};

	if (!(value > 0) || (!datum_given(u->sigma) && !datum_given(u->q10)))
		return false;
	const struct error_terms e = {.n = 1,
	    .classes = {error_class_of(1, &of_kind, 0)},
	    .stack_sigma = listed ? 0 : datum_or(u->unlisted_sigma, 0),
	    .widening = datum_or(u->conformal, 1)};
	*out = interval_of(value, &e, listed ? "calibrated" : "uncalibrated framework");
	return true;
}
