/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A cache of the hottest rows of a table: how often it hits, and what that is worth. */
#ifndef RIDGE_CACHE_H
#define RIDGE_CACHE_H

#include "ridge/sheet.h"

/* Rows that are held, and the share of the table that they are. */
double cache_hot(struct sheet *sh, double n_items, double cached_frac);
double cache_share(struct sheet *sh, double n_items, double n_hot);

/* The share of lookups that finds its row, when the hottest are held. */
/* Zipf: the row of rank k is asked for as often as k^-zipf says. */
double cache_zipf(struct sheet *sh, double n_items, double n_hot, double zipf);
/* All rows are asked for alike. */
double cache_uniform(struct sheet *sh, double n_items, double n_hot);
/* Measured: the hottest item_frac of the rows get lookup_frac of the lookups.  n knots in growing order, the last one
 * (1, 1); rows between two knots are taken as equally hot. */
struct cache_curve {
	int n;
	const double *item_frac, *lookup_frac;
};
double cache_measured(struct sheet *sh, const struct cache_curve *curve, double cached_frac);

/* The exponent with which n_hot rows hit this often; NaN when none does. */
double cache_zipf_of(double n_items, double n_hot, double hit_frac);
/* The fewest rows that hit this often. */
double cache_hot_of(double n_items, double zipf, double hit_frac);

double cache_size(struct sheet *sh, double table_byte, double cached_frac);
/* Time of a lookup that misses now and then: the table's own time for misses, the cache's for hits. */
double cache_miss_time(struct sheet *sh, double lookup_s, double hit_frac);
double cache_hit_time(struct sheet *sh, double hit_s, double hit_frac);
double cache_lookup(struct sheet *sh, double misses_s, double hits_s);
/* A step: its lookups, and everything else. */
double cache_step(struct sheet *sh, double lookup_s, double rest_s);

#endif
