/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which engine a published serving result ran on: its file says what its software is called. */
#include "ask/validate/validate.h"

#include "base/base.h"
#include "db/db.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1000 x major + minor of the first `digits.digits` (or `digits.x`), of the last of several releases; NaN: none. */
static double
version_of(const char *text)
{
	const char *to = text ? strstr(text, " to ") : NULL;

	if (to)
		text = to + strlen(" to ");
	for (const char *p = text; p && *p; p++) {
		if (!isdigit((unsigned char)*p))
			continue;
		char *end;
		const double major = strtod(p, &end);
		const char *dot = p + strspn(p, "0123456789");
		if (*dot == '.' && dot[1] == 'x')
			return 1000 * floor(major);
		if (*dot == '.' && isdigit((unsigned char)dot[1])) {
			const double minor = strtod(dot + 1, NULL);
			const char *last = dot + 1 + strspn(dot + 1, "0123456789");
			const double patch =
			    *last == '.' && isdigit((unsigned char)last[1]) ? strtod(last + 1, NULL) : 0;
			return 1000 * floor(major) + floor(minor) + fmin(floor(patch), 999) / 1000;
		}
		p = dot - 1;
	}
	return NAN;
}

/* When it ran: some print it as the version, or what was checked out. */
static const char *
date_of(const struct validate_row *row)
{
	static const char *const checked_out[][2] = {{"commit b6261862", "2025-06"}}; /* before TensorRT-LLM 1.0.0rc1 */
	const char *date = row_text(row, "date"), *version = row_text(row, "sw_version");
	int year, month;

	for (size_t i = 0; version && i < sizeof checked_out / sizeof *checked_out; i++)
		if (text_begins(version, checked_out[i][0]))
			return checked_out[i][1];

	return date || !version || sscanf(version, "20%2d-%2d", &year, &month) != 2 ? date : version;
}

/* The last version of a range: "0.14" has all its patches in it. */
static double
last_version(const char *text)
{
	const double version = version_of(text);

	return version == floor(version) ? version + 0.999 : version;
}

/* How far a version is from those that are meant; 0: it is one of them. */
static double
distance(const struct engine_match *m, double version, const char *date)
{
	const double from = m->from ? version_of(m->from) : -HUGE_VAL, to = m->to ? last_version(m->to) : HUGE_VAL;

	if (isnan(version)) {
		if (m->date)
			return date && strncmp(date, m->date, strlen(m->date)) == 0 ? -1 : 2;
		/* most likely the newest */
		return m->to ? 1 : 0;
	}
	return version < from ? from - version : version > to ? version - to : 0;
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
	if (a_far == b_far)
		return a->to && !b->to;
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

/* What a row says beside its version. */
static bool
matches(const struct engine_match *m, const struct validate_row *row, const struct gpu *gpu)
{
	return row_has(row, "software", m->software) && (!m->sched || row_has(row, "sched", m->sched)) &&
	    (!m->weights || row_has(row, "weight_dtype", m->weights)) &&
	    (!m->architecture || (gpu->architecture && strcmp(gpu->architecture, m->architecture) == 0));
}

const struct engine *
serve_row_engine(
    struct serve_engines *all, struct run *r, const struct validate_row *row, const struct gpu *gpu, bool *near)
{
	const char *date = date_of(row);
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
			if (!matches(m, row, gpu) || (best && !closer(m, far, best, best_far)))
				continue;
			best = m;
			best_far = far;
			found = e;
		}
	}
	*near = best && best_far > 0;
	return found ? found : unknown;
}
