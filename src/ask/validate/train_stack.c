/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which stack a published run belongs to: the stacks' files say what it is called. */
#include "ask/validate/validate.h"

#include "db/db.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* `2024-07`, `24.07b`, `2023`: 202407, 202407, 202300; 0 where there is none. */
static double
month_of(const char *text)
{
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return 0;
	long year = strtol(text, &end, 10);
	if (year < 100)
		year += 2000;
	const bool more = (*end == '-' || *end == '.') && isdigit((unsigned char)end[1]);
	return (double)(100 * year + (more ? strtol(end + 1, NULL, 10) : 0));
}

static bool
part_of(const char *part, const char *text)
{
	return text && strstr(text, part);
}

static bool
holds(const struct stack_match *m, const struct validate_row *row)
{
	const char *software = row_text(row, "software"), *precision = row_text(row, "precision");
	const double month = month_of(row_text(row, "date"));

	return (part_of(m->says, row_text(row, "source")) || part_of(m->says, software)) &&
	    (!m->software || part_of(m->software, software)) &&
	    (!m->precision || (precision && strcmp(precision, m->precision) == 0)) && month >= datum_or(m->from, 0) &&
	    (!datum_given(m->before) || month < m->before.value);
}

/* The more a match says the better, and where it is the source that says it: software has parts of other makers. */
static double
weight(const struct stack_match *m, const struct validate_row *row)
{
	return 100 * (part_of(m->says, row_text(row, "source")) + (m->software != NULL) + (m->precision != NULL)) +
	    (double)strlen(m->says);
}

static void
read_stacks(struct train_stacks *all, struct run *r)
{
	const char **ids = database_list(r->database, ENTRY_STACK, &all->n), *said;

	all->stacks = ARENA_ARRAY(r->arena, const struct stack *, all->n + 1);
	for (size_t i = 0; i < all->n; i++)
		all->stacks[i] =
		    database_stack(r->database, r->arena, r->diag, ids[i], NULL, (struct source){0}, &said);
}

const char *
train_row_stack(struct train_stacks *all, struct run *r, const struct validate_row *row, const char **refused)
{
	const char *sharding = row_text(row, "sharding");
	const char *found = sharding && strstr(sharding, "FSDP") ? "unlisted-fsdp" : "unlisted";
	double best = 0;

	*refused = NULL;
	if (!all->stacks)
		read_stacks(all, r);
	for (size_t i = 0; i < all->n; i++) {
		const struct stack *s = all->stacks[i];
		for (int k = 0; s && k < s->n_matches; k++)
			if (holds(&s->matches[k], row) && weight(&s->matches[k], row) > best) {
				best = weight(&s->matches[k], row);
				found = s->id;
				*refused = s->matches[k].refused;
			}
	}
	return found;
}
