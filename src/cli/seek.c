/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Find the input value at which a condition starts or stops holding, by queries at values of its range.
 *
 * Whole numbers are tried one by one if there are few enough: the whole range, or the multiples of the common divisor
 * of the first valid ones (GPUs that a layout accepts).  Then the row need not be monotonic, and the ends of the range
 * do not matter.  Longer ranges and other quantities are bisected, which needs a monotonic row.
 */
#include "base/base.h"

#include "cli/parts.h"

#include <math.h>
#include <stdlib.h>

enum {
	MOST_TRIED = 1024, /* values one by one */
	LOOKED = 512,      /* of the first ones, for what the valid ones have in common */
	WALKED = 64,       /* from a refused value to the next valid one, and around an answer found by halves */
	SAMPLES = 17,      /* of a long bracket */
	STEPS = 100,
};

/* --- values to try --------------------------------------------------------------------------------------- */

/* A list of values, rising: multiples of a step, or others. */
struct values {
	double first, step;
	size_t n;
	const double *list; /* NULL: first + i * step */
};

static double
value_at(const struct values *v, size_t i)
{
	return v->list ? v->list[i] : v->first + (double)i * v->step;
}

static double
common_divisor(double a, double b)
{
	while (b > 0) {
		const double rest = fmod(a, b);
		a = b;
		b = rest;
	}
	return a;
}

/* What the first valid values from `low` on have in common: 8 where a layout takes multiples of 8. */
static double
common_step(struct seeker *s, double low, double high)
{
	enum { ENOUGH = 6 };
	double step = 0;
	int n = 0;

	for (int i = 0; i < LOOKED && low + i <= high && n < ENOUGH && step != 1 && !s->failed; i++)
		if (s->probe(s, low + i).answered) {
			step = common_divisor(low + i, step);
			n++;
		}
	return n >= 2 ? step : 1;
}

static struct values
multiples(double low, double high, double step)
{
	const double first = ceil(low / step) * step;

	return (struct values){first, step, first > high ? 0 : (size_t)floor((high - first) / step) + 1, NULL};
}

static int
by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Multiples of the step by 2, 3, 5 and 7 alone: where valid values are few, they are of such factors. */
static struct values
round_numbers(struct arena *a, double low, double high, double step)
{
	enum { MOST = 4 * MOST_TRIED };
	double *list = ARENA_ARRAY(a, double, MOST);
	size_t n = 0;

	for (double two = step; two <= high; two *= 2)
		for (double three = two; three <= high; three *= 3)
			for (double five = three; five <= high; five *= 5)
				for (double seven = five; seven <= high && n < MOST; seven *= 7)
					if (seven >= low)
						list[n++] = seven;
	qsort(list, n, sizeof *list, by_size);
	return (struct values){.n = n, .list = list};
}

/* --- one by one ------------------------------------------------------------------------------------------ */

/* The condition holds at both ends, or at none: then everywhere, nowhere, or in the middle alone. */
static void
try_middle(struct seeker *s, const struct values *v, struct found *f)
{
	size_t n = 0, n_holds = 0;
	double least_off = INFINITY;

	for (size_t i = 0; i < v->n && !s->failed; i++) {
		const struct probe p = s->probe(s, value_at(v, i));
		if (!p.answered)
			continue;
		n++;
		if (p.holds) {
			f->from = n_holds++ ? f->from : p.x;
			f->to = p.x;
		}
		if (fabs(p.value - p.bound) < least_off) {
			least_off = fabs(p.value - p.bound);
			f->x = p.x;
		}
	}
	f->everywhere = n_holds == n;
	f->nowhere = n_holds == 0;
	f->turns = !f->everywhere && !f->nowhere;
	if (f->everywhere)
		f->x = s->below ? f->to : f->from;
}

static struct found
try_all(struct seeker *s, const struct values *v)
{
	struct found f = {.exact = true};
	size_t first = 0, last = v->n;

	while (first < v->n && !s->probe(s, value_at(v, first)).answered && !s->failed)
		first++;
	while (last > first && !s->probe(s, value_at(v, last - 1)).answered && !s->failed)
		last--;
	if (first == last)
		return f;
	f.some = true;
	const bool at_first = s->probe(s, value_at(v, first)).holds, at_last = s->probe(s, value_at(v, last - 1)).holds;
	if (at_first == at_last) {
		try_middle(s, v, &f);
		return f;
	}
	/* the least from below, or the most from above */
	while (!s->failed && first < last && !s->probe(s, value_at(v, at_last ? first : last - 1)).holds) {
		first += at_last;
		last -= at_first;
	}
	f.x = value_at(v, at_last ? first : last - 1);
	f.least = at_last;
	return f;
}

/* --- by halves ------------------------------------------------------------------------------------------- */

/* A place of a long list, or of a continuous bracket, that has an answer: at or near i, if any. */
static bool
near(struct seeker *s, const struct values *v, double i, double low, double high, double *at)
{
	for (int k = 0; k <= 2 * WALKED && !s->failed; k++) {
		const int away = (k + 1) / 2;
		const double j = k % 2 ? i + away : i - away;
		if (j < low || j > high)
			continue;
		*at = j;
		if (s->probe(s, value_at(v, (size_t)j)).answered)
			return true;
	}
	return false;
}

/* The rows of a few places; false when they turn, which is an error. */
struct course {
	int n, direction;
	double at[SAMPLES];
	struct probe probes[SAMPLES];
};

static bool
add_sample(struct seeker *s, struct course *c, double at, struct probe p)
{
	if (c->n && at <= c->at[c->n - 1])
		return true;
	const double before = c->n ? c->probes[c->n - 1].value : p.value;
	const int step = p.value == before ? 0 : p.value > before ? 1 : -1;
	if (step && c->direction && step != c->direction) {
		s->turns = step;
		s->turns_at = p.x;
		s->failed = true;
		return false;
	}
	c->direction = step ? step : c->direction;
	c->at[c->n] = at;
	c->probes[c->n++] = p;
	return true;
}

/* Places from 0 to n: evenly, or by factors where the values span several powers of ten. */
static double
sample_place(double low, double high, double n, int i)
{
	const double t = (double)i / (SAMPLES - 1);

	if (i == 0 || i == SAMPLES - 1)
		return i ? n : 0;
	return low > 0 && high / low > 100 ? (low * pow(high / low, t) - low) / (high - low) * n : t * n;
}

/* What is known from the samples; `switches` is the first that differs from those before it, or 0. */
static int
read_course(const struct seeker *s, const struct course *c, struct found *f)
{
	int switches = 0;

	f->some = c->n > 0;
	for (int i = 1; i < c->n && !switches; i++)
		switches = c->probes[i].holds != c->probes[i - 1].holds ? i : 0;
	if (!f->some || switches)
		return switches;
	f->everywhere = c->probes[0].holds;
	f->nowhere = !f->everywhere;
	const struct probe first = c->probes[0], last = c->probes[c->n - 1];
	f->x = f->nowhere ? (fabs(first.value - first.bound) < fabs(last.value - last.bound) ? first.x : last.x)
	                  : (s->below ? last.x : first.x);
	return 0;
}

/* Around an answer that was found by halves: rows that go up and down with what divides may hold a little before. */
static double
look_around(struct seeker *s, const struct values *v, double good, double toward, double last)
{
	for (double i = good + toward, looked = 0; looked < WALKED && i >= 0 && i <= last && !s->failed;
	     i += toward, looked++)
		if (s->probe(s, value_at(v, (size_t)i)).holds) {
			good = i;
			looked = 0;
		}
	return good;
}

static struct found
halve_whole(struct seeker *s, const struct values *v)
{
	const double last = (double)v->n - 1;
	struct course c = {0};
	struct found f = {.exact = false};
	double at;

	for (int i = 0; i < SAMPLES && !s->failed; i++)
		if (near(s, v, floor(sample_place(v->first, value_at(v, v->n - 1), last, i) + 0.5), 0, last, &at))
			add_sample(s, &c, at, s->probe(s, value_at(v, (size_t)at)));
	const int k = s->failed ? 0 : read_course(s, &c, &f);
	if (!k)
		return f;
	double good = c.at[c.probes[k].holds ? k : k - 1], bad = c.at[c.probes[k].holds ? k - 1 : k];
	while (fabs(good - bad) > 1 && !s->failed) {
		const double middle = floor((good + bad) / 2);
		if (!near(s, v, middle, fmin(good, bad) + 1, fmax(good, bad) - 1, &at))
			break; /* nothing valid in between */
		if (s->probe(s, value_at(v, (size_t)at)).holds)
			good = at;
		else
			bad = at;
	}
	good = look_around(s, v, good, bad > good ? 1 : -1, last);
	f.x = value_at(v, (size_t)good);
	f.least = bad < good;
	return f;
}

/* A refused middle says nothing: its neighbors are asked, and where none answers that side of it is left. */
static bool
answered_between(struct seeker *s, double good, double bad, struct probe *out)
{
	static const double parts[] = {0.5, 0.375, 0.625, 0.25, 0.75, 0.125};

	for (size_t i = 0; i < sizeof parts / sizeof *parts && !s->failed; i++) {
		*out = s->probe(s, good + (bad - good) * parts[i]);
		if (out->answered)
			return true;
	}
	return false;
}

static double
narrowed(struct seeker *s, double good, double bad)
{
	for (int i = 0; i < STEPS && fabs(good - bad) > 1e-9 * fabs(good) && !s->failed; i++) {
		struct probe p;
		if (!answered_between(s, good, bad, &p))
			bad = good + (bad - good) * 0.125;
		else if (p.holds)
			good = p.x;
		else
			bad = p.x;
	}
	return good;
}

static struct found
halve(struct seeker *s, double low, double high)
{
	struct course c = {0};
	struct found f = {.exact = false};
	double refused_above = NAN;

	for (int i = 0; i < SAMPLES && !s->failed; i++) {
		const double x = low + sample_place(low, high, high - low, i);
		const struct probe p = s->probe(s, x);
		if (p.answered)
			add_sample(s, &c, x, p);
		else if (c.n && c.at[c.n - 1] < x && isnan(refused_above))
			refused_above = x;
	}
	const int k = s->failed ? 0 : read_course(s, &c, &f);
	double good, bad;
	if (k) {
		good = c.at[c.probes[k].holds ? k : k - 1];
		bad = c.at[c.probes[k].holds ? k - 1 : k];
	} else if (f.everywhere && s->below && refused_above > c.at[c.n - 1]) {
		good = c.at[c.n - 1]; /* up to where there is no answer any more */
		bad = refused_above;
		f.everywhere = false;
	} else
		return f;
	f.x = narrowed(s, good, bad);
	return f;
}

struct found
seek(struct seeker *s, double low, double high)
{
	if (!s->whole)
		return halve(s, low, high);
	const struct values all = multiples(low, high, 1);
	if (all.n <= MOST_TRIED)
		return try_all(s, &all);
	const double step = common_step(s, low, high);
	const struct values some = multiples(low, high, step);
	if (some.n <= MOST_TRIED)
		return try_all(s, &some);
	struct found f = halve_whole(s, &some);
	if (f.some || s->failed)
		return f;
	const struct values few = round_numbers(s->arena, low, high, step);
	f = try_all(s, &few);
	f.exact = false;
	return f;
}
