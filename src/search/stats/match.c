/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "search/stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Where the rows of the key at i end. */
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
