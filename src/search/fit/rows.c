/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rows a fit uses. */
#include "search/fit/fit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool
fit_is_engine(const char *backend)
{
	static const char *const engines[] = {"trtllm", "vllm", "sglang"};

	for (size_t i = 0; backend && i < sizeof engines / sizeof *engines; i++)
		if (strcmp(backend, engines[i]) == 0)
			return true;
	return false;
}

/* Dotted versions: numbers by value; what follows a release candidate's number (1.3.0rc20) comes before the release. */
static int
compare_versions(const char *a, const char *b)
{
	while (*a || *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			char *a_end, *b_end;
			const unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);

			if (x != y)
				return x > y ? 1 : -1;
			a = a_end;
			b = b_end;
			continue;
		}
		if (*a != *b) {
			/* `1.3.0` is after `1.3.0rc20` and before `1.3.0.1` */
			if (!*a)
				return *b == '.' ? -1 : 1;
			if (!*b)
				return *a == '.' ? 1 : -1;
			return *a > *b ? 1 : -1;
		}
		a++;
		b++;
	}
	return 0;
}

static bool
same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* What versions are compared within. */
struct line {
	const char *backend, *operation, *dtype_text, *version;
	enum dtype kv_dtype;
};

static bool
same_line(const struct line *l, const struct measurement *m)
{
	return same(l->backend, m->backend) && same(l->operation, m->operation) && same(l->dtype_text, m->dtype_text) &&
	    l->kv_dtype == m->kv_dtype;
}

const struct measurement **
fit_rows(const struct fit_bench *b, enum measurement_kind kind, int *n)
{
	enum { LINES_MAX = 256 };
	const struct measurement **out = ARENA_ARRAY(b->arena, const struct measurement *, b->n_rows + 1);
	int *of = ARENA_ARRAY(b->arena, int, b->n_rows + 1), n_lines = 0, n_all = 0, at = 0;
	struct line *lines = ARENA_ARRAY(b->arena, struct line, LINES_MAX);

	for (int i = 0; i < b->n_rows; i++) {
		const struct measurement *m = &b->rows[i];

		if (m->kind != kind || (b->backend && !same(b->backend, m->backend)))
			continue;
		/* files are sorted: mostly the line of the row before */
		if (!(at < n_lines && same_line(&lines[at], m)))
			for (at = 0; at < n_lines && !same_line(&lines[at], m);)
				at++;
		if (at == n_lines && n_lines < LINES_MAX)
			lines[n_lines++] =
			    (struct line){m->backend, m->operation, m->dtype_text, m->version, m->kv_dtype};
		else if (at == n_lines)
			continue;
		else if (m->version && (!lines[at].version || compare_versions(m->version, lines[at].version) > 0))
			lines[at].version = m->version;
		of[n_all] = at;
		out[n_all++] = m;
	}
	*n = 0;
	for (int i = 0; i < n_all; i++)
		if (!out[i]->version || same(out[i]->version, lines[of[i]].version))
			out[(*n)++] = out[i];
	return out;
}
