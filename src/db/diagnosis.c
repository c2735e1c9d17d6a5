/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read causes for `ridge diagnose`: signs, fixes and sizing command. */
#include "db/db.h"

#include "base/base.h"

#include <string.h>

#define DIAGNOSIS(member) offsetof(struct diagnosis, member)

static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = DIAGNOSIS(name), .required = true, .help = "name of the cause"},
    {.key = "sources", .kind = FIELD_IGNORED, .required = true, .help = "citation keys"},
    {.key = "harm",
        .kind = FIELD_CHOICE,
        .offset = DIAGNOSIS(harm),
        .choices = "stops|spoils|slows",
        .required = true,
        .help = "impact: run ends, result is wrong, or slow"},
    {.key = "use",
        .kind = FIELD_CHOICE,
        .offset = DIAGNOSIS(use),
        .choices = "any|train|serve",
        .help = "default: any"},
    {.key = "signs",
        .kind = FIELD_IGNORED,
        .required = true,
        .help = "evidence for it: figure, above, below, required"},
    {.key = "unless", .kind = FIELD_IGNORED, .help = "evidence against it: figure, above, below"},
    {.key = "stakes",
        .kind = FIELD_IGNORED,
        .help = "formulas for the share of time it costs; the first computable one counts"},
    {.key = "fixes",
        .kind = FIELD_IGNORED,
        .required = true,
        .help = "fixes in order: sentences, or [sentence, source]"},
    {.key = "command",
        .kind = FIELD_TEXT,
        .offset = DIAGNOSIS(command),
        .required = true,
        .help = "command line that sizes it, without 'ridge'; {figure|example} is replaced by a figure"},
    {.key = "notes", .kind = FIELD_TEXT, .offset = DIAGNOSIS(notes), .help = "caveats"},
};
static const struct schema diagnosis_schema = {
    "a diagnosis", sizeof(struct diagnosis), fields, sizeof fields / sizeof *fields};

struct sign_file {
	const char *figure;
	bool required;
};

static const struct field sign_fields[] = {
    {.key = "figure", .kind = FIELD_TEXT, .required = true, .help = "'ridge diagnose --figures' lists them"},
    {.key = "above", .kind = FIELD_IGNORED, .help = "evidence above this value"},
    {.key = "below", .kind = FIELD_IGNORED, .help = "evidence below this value"},
    {.key = "required",
        .kind = FIELD_FLAG,
        .offset = offsetof(struct sign_file, required),
        .help = "required for the cause"},
};
static const struct schema sign_schema = {
    "a sign", sizeof(struct sign_file), sign_fields, sizeof sign_fields / sizeof *sign_fields};

/* --- signs ----------------------------------------------------------------------------------------------- */

static enum quantity
quantity_of(enum figure f)
{
	const struct dim dim = dim_of_name(figure_name(f));

	if (name_is_fraction(figure_name(f)))
		return Q_FRACTION;
	for (enum quantity q = 0; q < N_QUANTITIES; q++)
		if (dim_equal(quantity_dim(q), dim))
			return q;
	return Q_NUMBER;
}

static bool
unknown_figure(struct binder *b, struct source at, const char *name)
{
	const char *names[N_FIGURES];

	for (int f = 0; f < N_FIGURES; f++)
		names[f] = figure_name((enum figure)f);
	diag_error(b->diag, at, "there is no figure '%s'", name);
	const char *near = text_nearest(name, names, N_FIGURES);
	if (near)
		diag_hint(b->diag, "did you mean '%s'?", near);
	else
		diag_hint(b->diag, "'ridge diagnose --figures' lists them");
	return false;
}

static bool
bind_limit(struct binder *b, const struct node *map, const char *key, enum figure f, struct datum *out)
{
	const struct node *n = tree_get(map, key);

	*out = datum_absent();
	return !n || schema_quantity(b, n, quantity_of(f), 0, 0, out);
}

static bool
bind_sign(struct binder *b, const struct node *n, struct sign *out)
{
	struct sign_file file = {NULL, false};

	if (!schema_bind(b, &sign_schema, n, &file))
		return false;
	const enum figure f = figure_find(file.figure);
	if (f == FIGURE_NONE)
		return unknown_figure(b, tree_get(n, "figure")->at, file.figure);
	*out = (struct sign){.figure = f, .required = file.required};
	return bind_limit(b, n, "above", f, &out->above) & bind_limit(b, n, "below", f, &out->below);
}

static bool
bind_signs(struct binder *b, const struct node *list, struct sign **out, int *n)
{
	bool ok = true;

	*n = 0;
	if (!list)
		return true;
	if (list->kind != NODE_LIST || list->n == 0) {
		diag_error(b->diag, list->at, "expected a list of signs");
		diag_hint(b->diag, "write lines like '- {figure: gpu_busy_frac, below: [60%%, key]}'");
		return false;
	}
	*out = ARENA_ARRAY(b->arena, struct sign, list->n);
	for (size_t i = 0; i < list->n; i++)
		ok = bind_sign(b, list->items[i], &(*out)[(*n)++]) && ok;
	return ok;
}

/* --- texts ----------------------------------------------------------------------------------------------- */

static bool
bind_stakes(struct binder *b, const struct node *list, struct diagnosis *out)
{
	bool ok = !list || (list->kind == NODE_LIST && list->n > 0);

	out->stakes = ARENA_ARRAY(b->arena, const char *, list ? list->n + 1 : 1);
	for (size_t i = 0; ok && list && i < list->n; i++) {
		ok = list->items[i]->kind == NODE_SCALAR && list->items[i]->text;
		out->stakes[out->n_stakes++] = list->items[i]->text;
	}
	if (!ok) {
		diag_error(b->diag, list->at, "expected a list of formulas");
		diag_hint(b->diag, "write for example [comm_frac, 1 - efficiency_frac]");
	}
	return ok;
}

/* A sentence, or [sentence, source]. */
static bool
bind_fix(struct binder *b, const struct node *n, struct fix *out)
{
	const bool cited = n->kind == NODE_LIST && n->n == 2;
	const struct node *text = cited ? n->items[0] : n, *key = cited ? n->items[1] : NULL;

	if (text->kind != NODE_SCALAR || !text->text || (key && (key->kind != NODE_SCALAR || !key->text))) {
		diag_error(b->diag, n->at, "expected a sentence, or [sentence, source]");
		diag_hint(b->diag, "quote what has a comma or a colon in it");
		return false;
	}
	const struct node *cite = key ? tree_get(b->sources, key->text) : NULL;
	if (key && (!cite || cite->kind != NODE_SCALAR)) {
		diag_error(b->diag, key->at, "the source '%s' is not in 'sources'", key->text);
		diag_hint(b->diag, "add it there");
		return false;
	}
	*out = (struct fix){text->text, cite ? cite->text : NULL};
	return true;
}

static bool
bind_fixes(struct binder *b, const struct node *list, struct diagnosis *out)
{
	bool ok = true;

	if (!list)
		return false; /* the schema has said so */
	if (list->kind != NODE_LIST || list->n == 0) {
		diag_error(b->diag, list->at, "expected a list of sentences");
		diag_hint(b->diag, "write '- ' before each of them");
		return false;
	}
	out->fixes = ARENA_ARRAY(b->arena, struct fix, list->n);
	for (size_t i = 0; i < list->n; i++)
		ok = bind_fix(b, list->items[i], &out->fixes[out->n_fixes++]) && ok;
	return ok;
}

static bool
find_figure(const void *context, const char *name, struct formula_value *out)
{
	(void)context;
	if (figure_find(name) == FIGURE_NONE)
		return false;
	*out = (struct formula_value){.value = 0.5, .dim = dim_of_name(name)};
	return true;
}

/* Every formula can be read, and gives a pure number. */
static bool
check_stakes(struct binder *b, const struct node *list, const struct diagnosis *d)
{
	struct formula_value v;
	struct formula_fault fault;
	bool ok = true;

	for (int i = 0; i < d->n_stakes; i++) {
		struct source at = list->items[i]->at;
		if (!formula_evaluate(d->stakes[i], (struct formula_names){find_figure, NULL}, &v, &fault)) {
			at.column += fault.column - 1;
			diag_error(b->diag, at, "%s", fault.what);
			diag_hint(b->diag, "'ridge diagnose --figures' lists all names");
			ok = false;
		} else if (!dim_is_pure(v.dim)) {
			diag_error(b->diag, at, "the saving must be a share of the time");
			diag_hint(b->diag, "divide by another figure of the same unit");
			ok = false;
		}
	}
	return ok;
}

/* --- the command line ------------------------------------------------------------------------------------ */

const char *
diagnosis_command(struct arena *a, const char *line, const struct diagnosis_words *words, int *column)
{
	const char *out = "";

	for (const char *p = line; *p;) {
		const size_t n = strcspn(p, "{}");
		out = arena_printf(a, "%s%.*s", out, (int)n, p);
		p += n;
		if (!*p)
			break;
		const char *bar = strchr(p, '|'), *end = strchr(p, '}');
		*column = (int)(p - line) + 1;
		if (*p == '}' || !bar || !end || bar > end || bar == p + 1 || end == bar + 1)
			return NULL;
		const char *name = arena_copy(a, p + 1, (size_t)(bar - p - 1));
		const char *example = arena_copy(a, bar + 1, (size_t)(end - bar - 1));
		const char *known = words->known(words->context, name);
		if (!known)
			words->missing(words->context, name, example);
		out = arena_printf(a, "%s%s", out, known ? known : example);
		p = end + 1;
	}
	return out;
}

struct names {
	struct binder *b;
	struct source at;
	bool ok;
};

static const char *
no_name(void *context, const char *name)
{
	struct names *x = context;

	if (figure_find(name) == FIGURE_NONE && strcmp(name, "model") != 0 && strcmp(name, "gpu") != 0)
		x->ok = unknown_figure(x->b, x->at, name);
	return NULL;
}

static void
no_matter(void *context, const char *name, const char *example)
{
	(void)context;
	(void)name;
	(void)example;
}

static bool
check_command(struct binder *b, const struct node *n, const char *line)
{
	struct names names = {b, n->at, true};
	const struct diagnosis_words words = {no_name, no_matter, &names};
	int column = 0;

	if (!diagnosis_command(b->arena, line, &words, &column)) {
		struct source at = n->at;
		at.column += column - 1 + n->quoted;
		diag_error(b->diag, at, "write a figure as {figure|example}");
		diag_hint(b->diag, "for example --step {step_s|450ms}");
		return false;
	}
	return names.ok;
}

/* --- a file ---------------------------------------------------------------------------------------------- */

bool
diagnosis_bind(struct binder *b, const struct node *root, const char *id, struct diagnosis *out)
{
	memset(out, 0, sizeof *out);
	bool ok = schema_bind(b, &diagnosis_schema, root, out);
	out->id = id;
	out->from = root->at;
	ok = bind_signs(b, tree_get(root, "signs"), &out->signs, &out->n_signs) && ok;
	ok = bind_signs(b, tree_get(root, "unless"), &out->unless, &out->n_unless) && ok;
	ok = bind_stakes(b, tree_get(root, "stakes"), out) && ok;
	ok = bind_fixes(b, tree_get(root, "fixes"), out) && ok;
	if (!ok)
		return false;
	return check_stakes(b, tree_get(root, "stakes"), out) &
	    check_command(b, tree_get(root, "command"), out->command);
}

const struct diagnosis **
database_diagnoses(struct database *db, struct arena *a, struct diag *d, size_t *n)
{
	const char **ids = database_list(db, ENTRY_DIAGNOSIS, n);
	const struct diagnosis **list = ARENA_ARRAY(a, const struct diagnosis *, *n + 1);

	for (size_t i = 0; i < *n; i++) {
		const char *id, *ignored;
		const struct node *root = database_open(db, ENTRY_DIAGNOSIS, ids[i], (struct source){0}, &id, &ignored);
		struct diagnosis *one = ARENA_NEW(a, struct diagnosis);
		if (!root)
			return NULL;
		struct binder b = {.arena = a, .diag = d, .sources = tree_get(root, "sources")};
		if (!diagnosis_bind(&b, root, id, one))
			return NULL;
		list[i] = one;
	}
	return list;
}
