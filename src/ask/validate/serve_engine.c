/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which family of engines a published run belongs to: the files of the engines say what their software is called. */
#include "ask/validate/validate.h"

#include "db/db.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* 1000 x major + minor of the first `digits.digits` (or `digits.x`); NaN: none. */
static double
version_of(const char *text)
{
	for (const char *p = text; p && *p; p++) {
		if (!isdigit((unsigned char)*p))
			continue;
		char *end;
		const double major = strtod(p, &end);
		const char *dot = p + strspn(p, "0123456789");
		if (*dot == '.' && (isdigit((unsigned char)dot[1]) || dot[1] == 'x'))
			return 1000 * floor(major) + (dot[1] == 'x' ? 0 : (double)strtol(dot + 1, NULL, 10));
		p = dot - 1;
	}
	return NAN;
}

/* How far a version is from those that are meant; 0: it is one of them. */
static double
distance(const struct engine_match *m, double version, const char *date)
{
	const double from = m->from ? version_of(m->from) : -HUGE_VAL, to = m->to ? version_of(m->to) : HUGE_VAL;

	if (isnan(version)) {
		if (m->date)
			return date && strncmp(date, m->date, strlen(m->date)) == 0 ? -1 : 2;
		/* most likely the newest */
		return m->to ? 1 : 0;
	}
	return version < from ? from - version : version > to ? version - to : 0;
}

static bool
part_of(const char *part, const char *text)
{
	return !part || (text && strstr(text, part));
}

/* The closer match: of the right version, by how much of the name, by what else it says. */
static bool
closer(const struct engine_match *a, double a_far, const struct engine_match *b, double b_far)
{
	const bool a_in = a_far <= 0, b_in = b_far <= 0;
	const int a_said = (a->sched != NULL) + (a->weights != NULL),
	          b_said = (b->sched != NULL) + (b->weights != NULL);

	if (a_in != b_in)
		return a_in;
	if (strlen(a->software) != strlen(b->software))
		return strlen(a->software) > strlen(b->software);
	if (a_said != b_said)
		return a_said > b_said;
	return a_far < b_far;
}

static void
read_engines(struct serve_engines *all, struct run *r)
{
	const char **ids = database_list(r->database, ENTRY_ENGINE, &all->n), *said;

	all->engines = ARENA_ARRAY(r->arena, const struct engine *, all->n + 1);
	for (size_t i = 0; i < all->n; i++)
		all->engines[i] =
		    database_engine(r->database, r->arena, r->diag, ids[i], NULL, (struct source){0}, &said);
}

const struct engine *
serve_row_engine(struct serve_engines *all, struct run *r, const struct validate_row *row, bool *near)
{
	const char *software = row_text(row, "software"), *date = row_text(row, "date");
	const double version = version_of(row_text(row, "sw_version"));
	const struct engine_match *best = NULL;
	const struct engine *found = NULL, *unknown = NULL;
	double best_far = 0;

	if (!all->engines)
		read_engines(all, r);
	for (size_t i = 0; i < all->n; i++) {
		const struct engine *e = all->engines[i];
		if (e && strcmp(e->id, "common") == 0)
			unknown = e;
		for (int k = 0; e && k < e->n_matches; k++) {
			const struct engine_match *m = &e->matches[k];
			const double far = distance(m, version, date);
			if (!software || !strstr(software, m->software) || !part_of(m->sched, row_text(row, "sched")) ||
			    !part_of(m->weights, row_text(row, "weight_dtype")) ||
			    (best && !closer(m, far, best, best_far)))
				continue;
			best = m;
			best_far = far;
			found = e;
		}
	}
	*near = best && best_far > 0;
	return found ? found : unknown;
}
