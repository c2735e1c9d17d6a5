/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "law/physics.h"

#include "db/db.h"
#include "db/tree.h"

void
lab_open(struct lab *w, struct faults *f)
{
	*w = (struct lab){.arena = arena_new(), .faults = f};
	w->question = arena_new();
	w->diag = diag_new(w->arena);
	w->database = database_new(w->arena, w->diag, NULL);
}

void
lab_close(struct lab *w)
{
	arena_free(w->question);
	arena_free(w->arena);
}

struct run
lab_ask(struct lab *w, const struct command *c, const char *path, const char *text)
{
	static const struct source set = {"--set", 0, 0, NULL, false};

	arena_free(w->question);
	w->question = arena_new();
	const struct node *inputs = tree_map(w->question, set);
	if (path)
		inputs = tree_with(w->question, inputs, path, tree_scalar(w->question, text, set));
	return (struct run){.arena = w->question,
	    .diag = diag_new(w->question),
	    .database = w->database,
	    .command = c,
	    .inputs = inputs};
}

void
lab_set(struct run *r, const char *path, struct datum figure, const char *unit)
{
	static const struct source set = {"--set", 0, 0, NULL, false};

	if (datum_given(figure))
		r->inputs = tree_with(r->arena, r->inputs, path,
		    tree_scalar(r->arena, arena_printf(r->arena, "%.17g%s", figure.value, unit), set));
}
