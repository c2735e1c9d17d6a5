/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hit rate of a cache with the hottest rows under Zipf's law, and its effect on lookup time. */
#include "model/calc/calc.h"

#include "base/base.h"

double
cache_hot(struct sheet *sh, double n_items, double cached_frac)
{
	GIVEN(sh, n_items, cached_frac);
	LET(sh, n_hot, floor(n_items * cached_frac + 0.5));
	return n_hot;
}

double
cache_share(struct sheet *sh, double n_items, double n_hot)
{
	GIVEN(sh, n_items, n_hot);
	LET(sh, cached_frac, n_hot / n_items);
	return cached_frac;
}

/* --- how often it hits ----------------------------------------------------------------------------------- */

/* H(h, s) / H(n, s), the generalized harmonic numbers: Breslau et al., INFOCOM 1999, for the law; a cache that knows
 * the hottest rows and keeps them. */
double
cache_zipf(struct sheet *sh, double n_items, double n_hot, double zipf)
{
	GIVEN(sh, n_items, n_hot, zipf);
	TAKE(sh, hot_sum, num_harmonic(n_hot, zipf));
	TAKE(sh, all_sum, num_harmonic(n_items, zipf));
	LET(sh, hit_frac, hot_sum / all_sum);
	return hit_frac;
}

double
cache_uniform(struct sheet *sh, double n_items, double n_hot)
{
	GIVEN(sh, n_items, n_hot);
	LET(sh, hit_frac, n_hot / n_items);
	return hit_frac;
}

double
cache_measured(struct sheet *sh, const struct cache_curve *curve, double cached_frac)
{
	int at = 0;

	GIVEN(sh, cached_frac);
	while (at + 1 < curve->n && cached_frac > curve->item_frac[at])
		at++;
	TAKE(sh, low_item_frac, at ? curve->item_frac[at - 1] : 0.0);
	TAKE(sh, low_lookup_frac, at ? curve->lookup_frac[at - 1] : 0.0);
	TAKE(sh, high_item_frac, curve->item_frac[at]);
	TAKE(sh, high_lookup_frac, curve->lookup_frac[at]);
	LET(sh, way_frac, (cached_frac - low_item_frac) / (high_item_frac - low_item_frac));
	LET(sh, hit_frac, low_lookup_frac + way_frac * (high_lookup_frac - low_lookup_frac));
	return hit_frac;
}

/* --- the other way round --------------------------------------------------------------------------------- */

struct asked_input {
	double n_items, n_hot, hit_frac;
};

static double
too_much(double zipf, const void *context)
{
	const struct asked_input *a = context;

	return cache_zipf(NULL, a->n_items, a->n_hot, zipf) - a->hit_frac;
}

double
cache_zipf_of(double n_items, double n_hot, double hit_frac)
{
	const struct asked_input a = {n_items, n_hot, hit_frac};
	double zipf;

	/* always is the limit that no exponent reaches */
	return hit_frac < 1 && num_root(too_much, &a, 0, 50, &zipf) ? zipf : NAN;
}

double
cache_hot_of(double n_items, double zipf, double hit_frac)
{
	double low = 0, high = n_items; /* low misses too often, high does not */

	while (high - low > 1) {
		const double n_hot = floor((low + high) / 2);
		if (cache_zipf(NULL, n_items, n_hot, zipf) >= hit_frac)
			high = n_hot;
		else
			low = n_hot;
	}
	return high;
}

/* --- what it is worth ------------------------------------------------------------------------------------ */

double
cache_size(struct sheet *sh, double table_byte, double cached_frac)
{
	GIVEN(sh, table_byte, cached_frac);
	LET(sh, cache_byte, table_byte * cached_frac);
	return cache_byte;
}

double
cache_miss_time(struct sheet *sh, double lookup_s, double hit_frac)
{
	GIVEN(sh, lookup_s, hit_frac);
	LET(sh, misses_s, lookup_s * (1 - hit_frac));
	return misses_s;
}

double
cache_hit_time(struct sheet *sh, double hit_s, double hit_frac)
{
	GIVEN(sh, hit_s, hit_frac);
	LET(sh, hits_s, hit_s * hit_frac);
	return hits_s;
}

double
cache_lookup(struct sheet *sh, double misses_s, double hits_s)
{
	GIVEN(sh, misses_s, hits_s);
	LET(sh, cached_lookup_s, misses_s + hits_s);
	return cached_lookup_s;
}

double
cache_step(struct sheet *sh, double lookup_s, double rest_s)
{
	GIVEN(sh, lookup_s, rest_s);
	LET(sh, step_s, lookup_s + rest_s);
	return step_s;
}
