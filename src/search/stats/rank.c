/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mann and Whitney, Annals of Mathematical Statistics 18(1), 1947.  Without ties and up to EXACT measurements each, the
 * distribution of U is counted by their recurrence; otherwise it is the normal one with the variance corrected for ties
 * (Lehmann, Nonparametrics, 1975, section 1.4) and half a step for continuity.
 */
#include "search/stats/stats.h"

#include "base/base.h"
#include "model/measured/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT = 40, RESAMPLES = 10000, RESAMPLES_LEAST = 1000, WORK = 40000000 };

static double
worse_pairs(const double *a, size_t n_a, const double *b, size_t n_b, bool more_is_better)
{
	double u = 0;

	for (size_t i = 0; i < n_a; i++)
		for (size_t j = 0; j < n_b; j++) {
			const double by = more_is_better ? a[i] - b[j] : b[j] - a[i];
			u += by > 0 ? 1 : by == 0 ? 0.5 : 0;
		}
	return u;
}

/* Sum of t^3 - t over groups of t equal values. */
static double
tie_sum(const double *a, size_t n_a, const double *b, size_t n_b)
{
	const size_t n = n_a + n_b;
	struct arena *arena = arena_new();
	double *all = ARENA_ARRAY(arena, double, n), sum = 0;

	memcpy(all, a, n_a * sizeof *all);
	memcpy(all + n_a, b, n_b * sizeof *all);
	num_sort(all, n);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && all[k] == all[i];)
			k++;
		const double t = (double)(k - i);
		sum += t * t * t - t;
	}
	arena_free(arena);
	return sum;
}

/*
 * P(U = u) of n and m measurements: the largest of all belongs to the first sample with probability n / (n + m), and is
 * then above all m of the second.  Tables of u for one n, m = 0 .. M.
 */
static double
exact_p(size_t n, size_t m, double u)
{
	enum { MOST = EXACT * EXACT + 1 };
	struct arena *arena = arena_new();
	double *before = ARENA_ARRAY(arena, double, (EXACT + 1) * MOST), p = 0;
	double *now = ARENA_ARRAY(arena, double, (EXACT + 1) * MOST);

	for (size_t k = 0; k <= m; k++) /* none of the first sample: U is 0 */
		before[k * MOST] = 1;
	for (size_t i = 1; i <= n; i++) {
		for (size_t k = 0; k <= m; k++)
			for (size_t v = 0; v <= i * k; v++) {
				const double of = (double)(i + k);
				const double first = v >= k ? (double)i / of * before[k * MOST + v - k] : 0;
				const double second = k ? (double)k / of * now[(k - 1) * MOST + v] : 0;
				now[k * MOST + v] = first + second;
			}
		double *swap = before;
		before = now;
		now = swap;
		memset(now, 0, (size_t)(EXACT + 1) * MOST * sizeof *now);
	}
	for (size_t v = n * m + 1; v-- > 0 && (double)v >= u;)
		p += before[m * MOST + v];
	arena_free(arena);
	return fmin(p, 1);
}

static double
normal_p(double n, double m, double u, double ties)
{
	const double all = n + m;
	const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));

	if (!(variance > 0))
		return 1; /* all values are equal */
	return num_normal_above((u - n * m / 2 - 0.5) / sqrt(variance));
}

/* One way among all to choose which measurements are the current ones. */
static double
least(double n, double m)
{
	return exp(lgamma(n + 1) + lgamma(m + 1) - lgamma(n + m + 1));
}

struct rank_test
rank_test(const double *baseline, size_t n_baseline, const double *current, size_t n_current, bool more_is_better)
{
	const double ties = tie_sum(baseline, n_baseline, current, n_current);
	struct rank_test out = {.n_worse_pairs = worse_pairs(baseline, n_baseline, current, n_current, more_is_better),
	    .exact = ties == 0 && n_baseline <= EXACT && n_current <= EXACT};

	out.p = out.exact ? exact_p(n_baseline, n_current, out.n_worse_pairs)
	                  : normal_p((double)n_baseline, (double)n_current, out.n_worse_pairs, ties);
	out.least_p = least((double)n_baseline, (double)n_current);
	return out;
}

/* --- the median and its change --------------------------------------------------------------------------- */

double
rank_median(const double *values, size_t n)
{
	struct arena *arena = arena_new();
	double *copy = ARENA_ARRAY(arena, double, n);

	memcpy(copy, values, n * sizeof *copy);
	num_sort(copy, n);
	const double median = num_quantile(copy, n, 0.5);
	arena_free(arena);
	return median;
}

static double
median_in_place(double *values, size_t n)
{
	num_sort(values, n);
	return num_quantile(values, n, 0.5);
}

static double
lost(double *a, size_t n_a, double *b, size_t n_b)
{
	return compare_lost(NULL, median_in_place(a, n_a), median_in_place(b, n_b));
}

static double
added(double *a, size_t n_a, double *b, size_t n_b)
{
	return compare_added(NULL, median_in_place(a, n_a), median_in_place(b, n_b));
}

void
rank_interval(const double *baseline, size_t n_baseline, const double *current, size_t n_current, bool more_is_better,
    unsigned long seed, double level, double *low, double *high)
{
	const size_t room = WORK / (n_baseline + n_current);
	const size_t n = room > RESAMPLES ? RESAMPLES : room < RESAMPLES_LEAST ? RESAMPLES_LEAST : room;

	num_bootstrap(
	    more_is_better ? lost : added, baseline, n_baseline, current, n_current, n, seed, level, low, high);
}

/* --- rank signed --------------------------------------------------------------------------------------------- */

/*
 * Wilcoxon, Biometrics Bulletin 1(6), 1945: pairs are ranked by the size of their difference, and the ranks of those
 * that went up are added.  If nothing changed, each rank is as likely to be up as down.  Counted exactly without ties
 * up to EXACT_PAIRS pairs; otherwise normal with the variance corrected for ties (Lehmann, Nonparametrics, 1975,
 * section 3.2).
 */

enum { EXACT_PAIRS = 40 };

static int
by_size(const void *a, const void *b)
{
	const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

	return (x > y) - (x < y);
}

/* Sets of ranks 1..n by their sum; how many have the sum w or more, of 2^n. */
static double
exact_pairs_p(size_t n, double w)
{
	double ways[EXACT_PAIRS * (EXACT_PAIRS + 1) / 2 + 1] = {1}, p = 0;
	const size_t most = n * (n + 1) / 2;

	for (size_t rank = 1; rank <= n; rank++)
		for (size_t sum = most + 1; sum-- > rank;)
			ways[sum] += ways[sum - rank];
	for (size_t sum = most + 1; sum-- > 0 && (double)sum >= w;)
		p += ways[sum];
	return p / pow(2, (double)n);
}

double
rank_signed(const double *change, size_t n_all, double *least_p)
{
	struct arena *arena = arena_new();
	double *x = ARENA_ARRAY(arena, double, n_all + 1), w = 0, ties = 0, p;
	size_t n = 0;

	for (size_t i = 0; i < n_all; i++)
		if (change[i] != 0) /* says nothing about the direction */
			x[n++] = change[i];
	qsort(x, n, sizeof *x, by_size);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && fabs(x[k]) == fabs(x[i]);)
			k++;
		const double t = (double)(k - i), rank = (double)(i + 1 + k) / 2;
		ties += t * t * t - t;
		for (size_t j = i; j < k; j++)
			w += x[j] > 0 ? rank : 0;
	}
	const double m = (double)n, variance = m * (m + 1) * (2 * m + 1) / 24 - ties / 48;
	if (n == 0)
		p = 1;
	else if (ties == 0 && n <= EXACT_PAIRS)
		p = exact_pairs_p(n, w);
	else
		p = num_normal_above((w - m * (m + 1) / 4 - 0.5) / sqrt(variance));
	arena_free(arena);
	*least_p = pow(0.5, m);
	return p;
}

/* --- match --------------------------------------------------------------------------------------------------- */

struct keyed {
	const char *key;
	const struct measurement *row;
	int order; /* in its file, so that sorting is the same everywhere */
};

struct side {
	const struct measurements *m;
	struct keyed *rows;
};

struct told_apart {
	bool gpu, backend;
};

static bool
same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void
look_at(const struct measurements *m, struct told_apart *by)
{
	for (int i = 1; i < m->n_rows && !(by->gpu && by->backend); i++) {
		by->gpu = by->gpu || !same(m->rows[i].gpu, m->rows[0].gpu);
		by->backend = by->backend || !same(m->rows[i].backend, m->rows[0].backend);
	}
}

/* --- keys ------------------------------------------------------------------------------------------------ */

struct key {
	size_t n;
	char text[1024];
};

static void
add(struct key *k, const char *name, const char *value)
{
	const size_t room = sizeof k->text - k->n;
	const int n = value ? snprintf(k->text + k->n, room, "%s%s%s", k->n ? " " : "", name, value) : 0;

	k->n += n > 0 && (size_t)n < room ? (size_t)n : 0;
}

static void
add_number(struct key *k, const char *name, double value)
{
	char text[64];

	if (isnan(value))
		return;
	snprintf(text, sizeof text, "%s=%.10g", name, value);
	add(k, "", text);
}

static void
group_key(struct key *k, const struct measurement *row)
{
	add(k, "", measurement_kind_name(row->kind));
	add(k, "", row->operation);
	add(k, "", row->dtype_text);
}

static void
shape_key(struct key *k, const struct measurement *row)
{
	add(k, "kv=", row->kind == MEASUREMENT_ATTENTION ? row->kv_text : NULL);
	add(k, "", row->routing);
#define DIMENSION(member, text, title) add_number(k, text, row->member);
#include "model/hw/measurement.def"
#undef DIMENSION
}

const char *
match_row_name(struct arena *a, const struct measurement *row)
{
	struct key k = {.n = 0};

	group_key(&k, row);
	shape_key(&k, row);
	return arena_copy(a, k.text, k.n);
}

static int
by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	const int kinds = (int)x->row->kind - (int)y->row->kind, keys = kinds ? kinds : strcmp(x->key, y->key);

	return keys ? keys : x->order - y->order;
}

static void
sort_side(struct arena *a, struct side *s, struct told_apart by)
{
	s->rows = ARENA_ARRAY(a, struct keyed, s->m->n_rows + 1);
	for (int i = 0; i < s->m->n_rows; i++) {
		const struct measurement *row = &s->m->rows[i];
		struct key k = {.n = 0};
		group_key(&k, row);
		shape_key(&k, row);
		add(&k, "mode=", row->mode);
		add(&k, "gpu=", by.gpu ? row->gpu : NULL);
		add(&k, "backend=", by.backend ? row->backend : NULL);
		s->rows[i] = (struct keyed){arena_copy(a, k.text, k.n), row, i};
	}
	qsort(s->rows, (size_t)s->m->n_rows, sizeof *s->rows, by_key);
}

/* --- pairs ----------------------------------------------------------------------------------------------- */

static double
time_of(const struct measurement *row, bool rate)
{
	return rate ? 1 / row->byte_per_s : row->time_s;
}

/* End of the rows with the key at i. */
static int
end_of(const struct side *s, int i)
{
	int end = i + 1;

	while (end < s->m->n_rows && strcmp(s->rows[end].key, s->rows[i].key) == 0)
		end++;
	return end;
}

struct spread {
	double median, low, high; /* low and high NaN: not known */
};

static struct spread
spread_of(struct arena *a, const struct side *s, int from, int to, bool rate)
{
	double *values = ARENA_ARRAY(a, double, to - from);
	struct spread out = {.low = INFINITY, .high = -INFINITY};

	for (int i = from; i < to; i++) {
		const struct measurement *row = s->rows[i].row;
		values[i - from] = time_of(row, rate);
		out.low = fmin(out.low, isnan(row->min_s) || rate ? values[i - from] : row->min_s);
		out.high = fmax(out.high, isnan(row->max_s) || rate ? values[i - from] : row->max_s);
	}
	out.median = to - from == 1 ? values[0] : rank_median(values, (size_t)(to - from));
	return out;
}

static void
add_pair(struct arena *a, struct match *out, const struct side *base, int i, int i_end, const struct side *now, int j,
    int j_end)
{
	const struct measurement *row = now->rows[j].row;
	bool rate = false;

	for (int k = i; k < i_end; k++)
		rate = rate || isnan(base->rows[k].row->time_s);
	for (int k = j; k < j_end; k++)
		rate = rate || isnan(now->rows[k].row->time_s);
	const struct spread b = spread_of(a, base, i, i_end, rate), c = spread_of(a, now, j, j_end, rate);
	if (!(b.median > 0 && c.median > 0)) /* a time beside a bandwidth of no known size */
		return;
	out->pairs[out->n++] = (struct matched){.row = row,
	    .baseline_s = b.median,
	    .current_s = c.median,
	    .ratio = c.median / b.median,
	    .apart = c.low > b.high || c.high < b.low,
	    .rate = rate};
}

/* --- groups ---------------------------------------------------------------------------------------------- */

static void
make_groups(struct arena *a, struct match *out)
{
	double *ratios = ARENA_ARRAY(a, double, out->n + 1);
	int room = 0;

	out->n_groups = 0;
	out->groups = NULL;
	for (int i = 0; i < out->n; i++) {
		struct key k = {.n = 0};
		group_key(&k, out->pairs[i].row);
		struct match_group *last = out->n_groups ? &out->groups[out->n_groups - 1] : NULL;
		if (!last || strcmp(last->name, k.text) != 0) {
			if (out->n_groups == room) {
				const int more = room ? 2 * room : 16;
				out->groups =
				    arena_grow(a, out->groups, (size_t)room, (size_t)more, sizeof *out->groups);
				room = more;
			}
			last = &out->groups[out->n_groups++];
			*last = (struct match_group){arena_copy(a, k.text, k.n), 0, &ratios[i]};
		}
		last->ratio[last->n++] = out->pairs[i].ratio;
		out->pairs[i].group = out->n_groups - 1;
	}
}

void
match_rows(struct arena *a, const struct measurements *baseline, const struct measurements *current, struct match *out)
{
	struct side base = {.m = baseline}, now = {.m = current};
	struct told_apart by = {false, false};

	*out = (struct match){.n = 0};
	look_at(baseline, &by);
	look_at(current, &by);
	sort_side(a, &base, by);
	sort_side(a, &now, by);
	out->pairs = ARENA_ARRAY(a, struct matched, current->n_rows + 1);
	for (int i = 0, j = 0; i < baseline->n_rows || j < current->n_rows;) {
		const int order = i == baseline->n_rows ? 1
		    : j == current->n_rows              ? -1
		                                        : (int)base.rows[i].row->kind - (int)now.rows[j].row->kind;
		const int keys = order || i == baseline->n_rows || j == current->n_rows
		    ? order
		    : strcmp(base.rows[i].key, now.rows[j].key);
		if (keys < 0) {
			out->n_baseline_alone++;
			i = end_of(&base, i);
		} else if (keys > 0) {
			out->n_current_alone++;
			j = end_of(&now, j);
		} else {
			const int i_end = end_of(&base, i), j_end = end_of(&now, j);
			add_pair(a, out, &base, i, i_end, &now, j, j_end);
			i = i_end;
			j = j_end;
		}
	}
	make_groups(a, out);
}
