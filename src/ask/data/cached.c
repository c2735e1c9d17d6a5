/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge data`: storage tiers, and the cache of hot embedding rows. */
#include "ask/data/data.h"

#include "ask/ask.h"
#include "ask/bind/bind.h"
#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- tiers --------------------------------------------------------------------------------------------------- */

static const struct datum one = {1, {"default", 0, 0, NULL, false}};

/* A bare rate reads and writes alike. */
static bool
read_rate(struct run *r, struct word text, struct tier *out)
{
	struct quantity_fault fault;
	double rate = 1;

	if (!quantity_read(text.text, Q_RATE, &rate, &fault) || rate <= 0) {
		diag_error(
		    r->diag, text.from, "storage: %s", rate <= 0 ? "the rate must be greater than 0" : fault.what);
		diag_hint(r->diag, "write 3GB/s, or a database name: nvme-gen4, 4xnvme-gen4");
		return false;
	}
	if (!bounds_check(r->diag, text.from, "storage", Q_RATE, rate))
		return false;
	const struct datum d = {rate, text.from};
	*out = (struct tier){text.text, one, d, d};
	return true;
}

/* `4xnvme-gen4`: four of them, striped. */
static const char *
take_units(const char *text, struct source from, struct datum *n)
{
	char *end;
	const double value = strtod(text, &end);

	*n = one;
	if (!isdigit((unsigned char)*text) || *end != 'x' || value < 1)
		return text;
	*n = (struct datum){value, from};
	return end + 1;
}

bool
tier_read(struct run *r, struct word text, struct tier *out)
{
	struct datum n;
	const char *name = take_units(text.text, text.from, &n);

	run_read_from(r, text.from);
	if (!bounds_check(r->diag, text.from, "units of storage", Q_COUNT, n.value))
		return false;
	if (name == text.text && (isdigit((unsigned char)*name) || *name == '.'))
		return read_rate(r, text, out);
	const struct link *link = run_link(r, (struct word){name, text.from});
	if (!link)
		return false;
	if (!datum_given(link->read_byte_per_s)) {
		diag_error(r->diag, text.from, "%s is not a storage link", link->name);
		diag_hint(r->diag, "use a link of kind storage, such as nvme-gen4, or a rate: 3GB/s");
		return false;
	}
	*out = (struct tier){text.text, n, link->read_byte_per_s, link->write_byte_per_s};
	return true;
}

double
tier_show(struct run *r, const struct tier *t)
{
	struct sheet *sh = r->sheet;

	TELL(sh, tier, t->name);
	TAKE(sh, n_units, t->n_units);
	TAKE(sh, unit_byte_per_s, t->read);
	CALL(sh, read_byte_per_s, data_units(sh, n_units, unit_byte_per_s));
	if (n_units == 1)
		SHOW(sh, unit_byte_per_s, byte_per_s); /* carries the mark of what no source confirms */
	else
		SHOW(sh, read_byte_per_s, byte_per_s);
	return read_byte_per_s;
}

double
tier_write(struct run *r, const struct tier *t)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, unit_write_byte_per_s, t->write);
	TAKE(sh, n_writing_units, t->n_units);
	CALL(sh, write_byte_per_s, data_units(sh, n_writing_units, unit_write_byte_per_s));
	return write_byte_per_s;
}

enum { KNOTS_MAX = 64 };

bool
cached_asked(const struct cached_in *in)
{
	return datum_given(in->items) || datum_given(in->hit) || datum_given(in->lookup) || in->histogram.n > 0;
}

/* --- how the rows are asked for -------------------------------------------------------------------------- */

struct curve {
	double items[KNOTS_MAX + 1], lookups[KNOTS_MAX + 1];
	struct cache_curve cache;
};

static bool
read_knot(struct run *r, struct word w, double *items, double *lookups)
{
	const char *colon = strchr(w.text, ':');
	struct quantity_fault fault;

	if (colon && quantity_read(arena_copy(r->arena, w.text, (size_t)(colon - w.text)), Q_FRACTION, items, &fault) &&
	    quantity_read(colon + 1, Q_FRACTION, lookups, &fault))
		return true;
	diag_error(r->diag, w.from, "'%s' is not of the form ROWS:LOOKUPS", w.text);
	diag_hint(r->diag, "write for example 1%%:40%%,15%%:85%% (the hottest 15 %% of rows get 85 %% of lookups)");
	return false;
}

/* Knots must grow, and more slowly as rows get colder. */
static bool
read_curve(struct run *r, const struct words *list, struct curve *out)
{
	double items = 0, lookups = 0, slope = INFINITY;
	int n = 0;

	if (list->n > KNOTS_MAX - 1)
		return run_refuse(r, list->list[0].from, "too many points in the histogram", "give at most 63");
	for (size_t i = 0; i < list->n; i++, n++) {
		const struct word w = list->list[i];
		if (!read_knot(r, w, &out->items[n], &out->lookups[n]))
			return false;
		const double more = (out->lookups[n] - lookups) / (out->items[n] - items);
		if (!(out->items[n] > items && out->items[n] <= 1 && out->lookups[n] >= lookups &&
		        out->lookups[n] <= 1))
			return run_refuse(
			    r, w.from, "shares of a histogram must grow from 0 to 1", "start with the hottest rows");
		if (more > slope * (1 + 1e-9))
			return run_refuse(r, w.from, "these rows are hotter than the previous ones",
			    "sort rows by lookups, hottest first");
		items = out->items[n];
		lookups = out->lookups[n];
		slope = more;
	}
	if (items < 1) {
		out->items[n] = out->lookups[n] = 1;
		n++;
	}
	out->cache = (struct cache_curve){n, out->items, out->lookups};
	return true;
}

static bool
check_law(struct run *r, const struct cached_in *in)
{
	const int n = datum_given(in->zipf) + in->uniform + (in->histogram.n > 0);
	const bool rows = datum_given(in->fraction) || datum_given(in->cached);
	const struct source from = {0};

	if (n > 1)
		return run_refuse(r, from, "--zipf, --uniform and --histogram exclude each other", "keep one of them");
	if (datum_given(in->hit) && n && rows)
		return run_refuse(r, in->hit.from, "--hit excludes --fraction with --zipf",
		    "leave out --hit, --fraction (to get the cached rows) or --zipf (to get the exponent)");
	if (datum_given(in->hit) && (in->uniform || in->histogram.n))
		return run_refuse(r, in->hit.from, "--hit needs --zipf",
		    "use --fraction, for example with --sweep fraction=5%,10%,20%");
	if (datum_given(in->hit) && datum_given(in->items) && !n && !rows)
		return run_refuse(r, in->items.from, "cache size missing",
		    "add --fraction 0.15 for the exponent, or --zipf 1 for the rows");
	if (!datum_given(in->hit) && !n)
		return run_refuse(r, from, "lookup distribution missing",
		    "add --zipf 0.95, --uniform, a measured --histogram, or the measured --hit rate");
	if (!datum_given(in->hit) && !rows)
		return run_refuse(r, from, "cache size missing", "add --fraction 15% or --cached 6M");
	if (!datum_given(in->items) && (datum_given(in->zipf) || datum_given(in->cached) || in->uniform))
		return run_refuse(r, from, "table size missing", "add --items 40M");
	return true;
}

static bool
check_ranges(struct run *r, const struct cached_in *in)
{
	if (!measure_fraction(r, "fraction", in->fraction, 0, 1) || !measure_fraction(r, "hit", in->hit, 0, 1))
		return false;
	if (datum_given(in->cached) && datum_given(in->fraction))
		return run_refuse(r, in->cached.from, "--cached and --fraction exclude each other", "keep one of them");
	if (datum_given(in->cached) && datum_given(in->items) && in->cached.value > in->items.value)
		return run_refuse(
		    r, in->cached.from, "the cache is larger than the table", "give at most the rows of the table");
	if (datum_given(in->zipf) && in->zipf.value > 50)
		return run_refuse(r, in->zipf.from, "--zipf is too large", "typical exponents are near 1");
	return run_whole(r, "items", in->items, 1) & run_whole(r, "cached", in->cached, 0);
}

/* --- rows ------------------------------------------------------------------------------------------------ */

struct found {
	double hit_frac, cached_frac; /* NaN where not known */
};

/* Rows held: given, or the fewest that hit often enough. */
static double
show_hot(struct run *r, const struct cached_in *in, double n_items)
{
	struct sheet *sh = r->sheet;
	double n_hot;

	if (datum_given(in->fraction)) {
		TAKE(sh, asked_frac, in->fraction);
		SET_CALL(sh, n_hot, cache_hot(sh, n_items, asked_frac));
		SHOW(sh, n_hot, n_hot);
	} else if (datum_given(in->cached)) {
		TAKE(sh, n_cached, in->cached);
		SET(sh, n_hot, n_cached);
		SHOW(sh, n_hot, n_hot);
	} else {
		run_reads(r, &in->zipf, &in->hit, NULL);
		TAKE(sh, n_needed, cache_hot_of(n_items, in->zipf.value, in->hit.value));
		SET(sh, n_hot, n_needed);
		SHOW(sh, n_hot, n_hot);
	}
	return n_hot;
}

static bool
show_zipf(struct run *r, const struct cached_in *in, double n_items, double n_hot, struct found *out)
{
	struct sheet *sh = r->sheet;
	double exponent = in->zipf.value;

	run_reads(r, &in->zipf, NULL);
	if (!datum_given(in->zipf)) {
		run_reads(r, &in->hit, NULL);
		exponent = cache_zipf_of(n_items, n_hot, in->hit.value);
		if (isnan(exponent))
			return run_refuse(r, in->hit.from, "no Zipf exponent gives this hit rate",
			    "give a hit rate above the cached share and below 1");
	}
	TAKE(sh, zipf, exponent);
	if (!datum_given(in->zipf))
		SHOW(sh, zipf, zipf);
	CALL(sh, hit_frac, cache_zipf(sh, n_items, n_hot, zipf));
	SHOW(sh, hit_frac, hit_frac);
	out->hit_frac = hit_frac;
	return true;
}

static bool
show_hits(struct run *r, const struct cached_in *in, struct found *out)
{
	struct sheet *sh = r->sheet;

	if (in->histogram.n) {
		struct curve curve;
		if (!read_curve(r, &in->histogram, &curve))
			return false;
		run_reads(r, &in->histogram, datum_given(in->cached) ? &in->cached : &in->fraction, NULL);
		if (datum_given(in->cached))
			run_reads(r, &in->items, NULL);
		const double share = datum_given(in->cached) ? in->cached.value / in->items.value : in->fraction.value;
		TAKE(sh, cached_frac, share);
		CALL(sh, hit_frac, cache_measured(sh, &curve.cache, cached_frac));
		SHOW(sh, cached_frac, cached_frac);
		SHOW(sh, hit_frac, hit_frac);
		*out = (struct found){hit_frac, cached_frac};
		return true;
	}
	if (!datum_given(in->items)) {
		TAKE(sh, hit_frac, in->hit);
		SHOW(sh, hit_frac, hit_frac);
		if (datum_given(in->table_size))
			run_reads(r, &in->fraction, NULL);
		*out = (struct found){hit_frac, in->fraction.value};
		return true;
	}
	TAKE(sh, n_items, in->items);
	const double n_hot = show_hot(r, in, n_items);
	CALL(sh, cached_frac, cache_share(sh, n_items, n_hot));
	SHOW(sh, cached_frac, cached_frac);
	out->cached_frac = cached_frac;
	run_reads(r, &in->uniform, NULL);
	if (!in->uniform)
		return show_zipf(r, in, n_items, n_hot, out);
	CALL(sh, hit_frac, cache_uniform(sh, n_items, n_hot));
	SHOW(sh, hit_frac, hit_frac);
	out->hit_frac = hit_frac;
	return true;
}

static void
show_times(struct run *r, const struct cached_in *in, double hit_frac)
{
	struct sheet *sh = r->sheet;

	run_reads(r, &in->hit_time, NULL);
	TAKE(sh, lookup_s, in->lookup);
	TAKE(sh, hit_s, datum_or(in->hit_time, 0));
	CALL(sh, misses_s, cache_miss_time(sh, lookup_s, hit_frac));
	CALL(sh, hits_s, cache_hit_time(sh, hit_s, hit_frac));
	CALL(sh, cached_lookup_s, cache_lookup(sh, misses_s, hits_s));
	SHOW(sh, misses_s, miss_s);
	if (datum_given(in->hit_time))
		SHOW(sh, hits_s, hit_s);
	else
		run_assume(r, "hit time 0");
	SHOW(sh, cached_lookup_s, lookup_s);
	if (!datum_given(in->rest)) {
		CALL(sh, gain, scale_speedup_time(sh, lookup_s, cached_lookup_s));
		SHOW(sh, gain, lookup_speedup);
		return;
	}
	TAKE(sh, rest_s, in->rest);
	CALL(sh, before_s, cache_step(sh, lookup_s, rest_s));
	CALL(sh, after_s, cache_step(sh, cached_lookup_s, rest_s));
	CALL(sh, gain, scale_speedup_time(sh, before_s, after_s));
	SHOW(sh, before_s, before_s);
	SHOW(sh, after_s, after_s);
	SHOW(sh, gain, speedup);
}

enum answer
cached_answer(struct run *r, const struct cached_in *in)
{
	struct sheet *sh = r->sheet;
	struct found found = {NAN, NAN};

	if (!check_law(r, in) || !check_ranges(r, in) || !show_hits(r, in, &found))
		return REFUSED;
	r->title = "Cache of the hottest rows";
	if (datum_given(in->table_size) && !isnan(found.cached_frac)) {
		const double cached_frac = found.cached_frac;
		TAKE(sh, table_byte, in->table_size);
		CALL(sh, cache_byte, cache_size(sh, table_byte, cached_frac));
		SHOW(sh, cache_byte, cache_byte);
	}
	if (datum_given(in->lookup))
		show_times(r, in, found.hit_frac);
	if (!datum_given(in->hit))
		run_assume(r, "hottest rows known and cached");
	return ANSWERED;
}
