/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read what is published beside machines and models: causes, interruptions of runs, errors of predictions; rank the
 * causes that the given measurements support. */
#include "db/db.h"

#include "base/base.h"
#include "db/parts.h"

#include <stdlib.h>
#include <string.h>

/* --- causes for `ridge diagnose`: signs, fixes and sizing command ---------------------------------------- */

#define DIAGNOSIS(member) offsetof(struct diagnosis, member)

static const struct field diagnosis_fields[] = {
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
    "a diagnosis", sizeof(struct diagnosis), diagnosis_fields, sizeof diagnosis_fields / sizeof *diagnosis_fields};

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

/* Without figures any value will do. */
static bool
find_figure(const void *context, const char *name, struct formula_value *out)
{
	const struct figures *f = context;
	const enum figure i = figure_find(name);

	if (i == FIGURE_NONE || (f && isnan(f->value[i])))
		return false;
	*out = (struct formula_value){.value = f ? f->value[i] : 0.5, .dim = dim_of_name(name)};
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

/* --- interruptions of training runs ---------------------------------------------------------------------- */

#define RELIABILITY(member) offsetof(struct reliability, member)
#define PUBLISHED(key_, q, member, low, high, required_, help_)                                                        \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = q, .offset = RELIABILITY(member), .min = low,         \
		.max = high, .required = required_, .help = help_                                                      \
	}

static const struct field reliability_fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = RELIABILITY(name), .required = true, .help = "display name"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "aliases; case and punctuation are ignored"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "citation keys"},
    {.key = "gpu", .kind = FIELD_TEXT, .offset = RELIABILITY(gpu), .help = "GPU of the run"},
    PUBLISHED("gpus", Q_COUNT, n_gpus, 1, 1e7, true, "number of GPUs of the run"),
    PUBLISHED("period", Q_TIME, period_s, 3600, 1e9, true, "length of the run"),
    PUBLISHED("interruptions", Q_COUNT, n_interruptions, 1, 1e7, false, "all interruptions"),
    PUBLISHED("unexpected", Q_COUNT, n_failures, 1, 1e7, true, "unexpected interruptions (failures)"),
    PUBLISHED("goodput", Q_NUMBER, goodput_frac, 0, 1, false, "published goodput"),
    {.key = "notes", .kind = FIELD_TEXT, .offset = RELIABILITY(notes), .help = "caveats"},
};
static const struct schema reliability_schema = {"a reliability", sizeof(struct reliability), reliability_fields,
    sizeof reliability_fields / sizeof *reliability_fields};

bool
reliability_bind(struct binder *b, const struct node *root, const char *id, struct reliability *out)
{
	if (!schema_bind(b, &reliability_schema, root, out))
		return false;
	out->id = id;
	if (!datum_given(out->n_interruptions) || out->n_failures.value <= out->n_interruptions.value)
		return true;
	diag_error(b->diag, out->n_failures.from, "unexpected interruptions exceed all interruptions");
	return false;
}

const struct reliability *
database_reliability(
    struct database *db, struct arena *a, struct diag *d, const char *name, struct source at, const char **announce)
{
	const char *id;
	const struct node *root = database_open(db, ENTRY_RELIABILITY, name, at, &id, announce);
	struct reliability *reliability = ARENA_NEW(a, struct reliability);

	if (!root)
		return NULL;
	struct binder b = {.arena = a, .diag = d, .sources = tree_get(root, "sources")};
	return reliability_bind(&b, root, id, reliability) ? reliability : NULL;
}

/* --- errors behind prediction intervals ------------------------------------------------------------------ */

#define AT(member) offsetof(struct uncertainty, member)

static bool
bind_ranges(struct binder *b, const struct node *n, void *out)
{
	struct uncertainty *u = out;
	bool ok = true;

	if (n->kind != NODE_MAP || n->n > UNCERTAINTY_RANGES) {
		diag_error(b->diag, n->at, "'range' is a map of at most %d dimensions", UNCERTAINTY_RANGES);
		diag_hint(b->diag, "m: [1, 32768]");
		return false;
	}
	for (size_t i = 0; i < n->n; i++) {
		struct error_range *range = &u->ranges[u->n_ranges++];
		const struct node *ends = n->items[i];
		range->dim = n->keys[i]->text;
		if (ends->kind != NODE_LIST || ends->n != 2) {
			diag_error(b->diag, ends->at, "expected the measured minimum and maximum");
			diag_hint(b->diag, "%s: [1, 32768]", range->dim);
			ok = false;
			continue;
		}
		ok = schema_quantity(b, ends->items[0], Q_COUNT, 0, 1e18, &range->from) && ok;
		ok = schema_quantity(b, ends->items[1], Q_COUNT, 0, 1e18, &range->to) && ok;
	}
	return ok;
}

static const struct field uncertainty_fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true, .help = "display name"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "citation keys"},
    TEXT("source", source, "predicted and measured data"),
    {.key = "date", .kind = FIELD_DATE, .offset = AT(date), .help = "when"},
    FIGURE("n", Q_COUNT, n_points, 1, 1e12, "cases"),
    FIGURE("sigma", Q_NUMBER, sigma, 0, 10, "of ln(measured / predicted) where a calibration has no residual"),
    FIGURE("q10", Q_NUMBER, q10, -10, 10, "10 % quantile of the same, where it is not normal"),
    FIGURE("q90", Q_NUMBER, q90, -10, 10, "90 % quantile"),
    FIGURE("transfer_sigma", Q_NUMBER, transfer_sigma, 0, 10, "added for parameters transferred from another machine"),
    FIGURE("engine_sigma", Q_NUMBER, engine_sigma, 0, 10, "added for one engine predicted by the median of several"),
    FIGURE("conformal", Q_NUMBER, conformal, 0.01, 100, "factor on the half-width for 80 % coverage"),
    FIGURE("reach_sigma", Q_NUMBER, reach_sigma, 0, 10, "added per factor of e beyond the range"),
    FIGURE("within_sigma", Q_NUMBER, within_sigma, 0, 10, "inside a group of source, model and GPU, besides kernels"),
    FIGURE("group_sigma", Q_NUMBER, group_sigma, 0, 10, "between such groups of one software stack"),
    FIGURE("unlisted_sigma", Q_NUMBER, unlisted_sigma, 0, 10, "added for a stack of which no runs were looked at"),
    FIGURE("unlisted_within_sigma", Q_NUMBER, unlisted_within_sigma, 0, 10, "within_sigma of such a stack"),
    FIGURE("unlisted_group_sigma", Q_NUMBER, unlisted_group_sigma, 0, 10, "group_sigma of such a stack"),
    FIGURE("recipe_sigma", Q_NUMBER, recipe_sigma, 0, 10, "added for experts and adapters in such a stack"),
    FIGURE("machine_sigma", Q_NUMBER, machine_sigma, 0, 10, "added until the machine's own kernels were measured"),
    FIGURE(
        "hop_sigma", Q_NUMBER, hop_sigma, 0, 10, "of a network's latency per step, told from others of its transport"),
    FIGURE("transport_sigma", Q_NUMBER, transport_sigma, 0, 10, "of the same, told from other transports"),
    FIGURE("groups", Q_COUNT, n_groups, 2, 1e6, "groups that these were told from"),
    FIGURE("stacks", Q_COUNT, n_stacks, 2, 1e6, "stacks that unlisted_sigma was told from"),
    {.key = "range",
        .kind = FIELD_CUSTOM,
        .offset = 0,
        .custom = bind_ranges,
        .help = "measured minimum and maximum of each dimension"},
    TEXT("notes", notes, "not covered"),
};
SCHEMA(uncertainty_schema, "an uncertainty", struct uncertainty, uncertainty_fields);

bool
uncertainty_bind(struct binder *b, const struct node *root, const char *id, struct uncertainty *out)
{
	out->id = id;
	if (!schema_bind(b, &uncertainty_schema, root, out))
		return false;
	out->id = id;
	for (int i = 0; i < out->n_ranges; i++)
		if (!(out->ranges[i].from.value <= out->ranges[i].to.value)) {
			diag_error(
			    b->diag, out->ranges[i].to.from, "the range of %s does not grow", out->ranges[i].dim);
			return false;
		}
	return true;
}

const struct uncertainty *
database_uncertainty(struct database *db, struct arena *a, struct diag *d, const char *name)
{
	const char *id;
	const struct node *root = database_try(db, ENTRY_UNCERTAINTY, name, &id);
	struct uncertainty *out = ARENA_NEW(a, struct uncertainty);

	if (!root)
		return NULL;
	struct binder b = {.arena = a, .diag = d, .sources = tree_get(root, "sources")};
	return uncertainty_bind(&b, root, id, out) ? out : NULL;
}

/* --- rank of the causes that the given measurements support ------------------------------------------------------ */

/* A share of the time below this is no reason to do anything. */
#define WORTH_A_LOOK 0.01

/* The first formula whose figures are all known. */
static void
work_out(const struct figures *f, struct finding *out)
{
	struct formula_value v;
	struct formula_fault fault;

	out->stake_frac = NAN;
	for (int i = 0; i < out->cause->n_stakes && !out->stake; i++)
		if (formula_evaluate(out->cause->stakes[i], (struct formula_names){find_figure, f}, &v, &fault)) {
			out->stake = out->cause->stakes[i];
			out->stake_frac = v.value;
		}
}

static bool
speaks_for(const struct diagnosis *d, const struct figures *f, struct finding *out)
{
	*out = (struct finding){.cause = d, .stake_frac = NAN};
	for (int i = 0; i < d->n_unless; i++)
		if (sign_holds(&d->unless[i], f))
			return false;
	for (int i = 0; i < d->n_signs; i++) {
		const bool holds = sign_holds(&d->signs[i], f);
		if (d->signs[i].required && !holds)
			return false;
		out->n_for += holds;
		out->n_against += !holds && sign_known(&d->signs[i], f);
	}
	if (out->n_for == 0 || out->n_for < out->n_against)
		return false;
	work_out(f, out);
	return isnan(out->stake_frac) || out->stake_frac >= WORTH_A_LOOK;
}

static int
by_urgency(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	const double at_x = isnan(x->stake_frac) ? 0 : x->stake_frac, at_y = isnan(y->stake_frac) ? 0 : y->stake_frac;
	const int surplus = (y->n_for - y->n_against) - (x->n_for - x->n_against);

	if (x->cause->harm != y->cause->harm)
		return x->cause->harm < y->cause->harm ? -1 : 1;
	if (at_x != at_y)
		return at_x > at_y ? -1 : 1;
	return surplus ? surplus : strcmp(x->cause->id, y->cause->id);
}

size_t
diagnose_rank(const struct diagnosis *const *all, size_t n, const struct figures *f, enum use use, struct finding *out)
{
	size_t n_found = 0;

	for (size_t i = 0; i < n; i++) {
		const bool meant = use == USE_ANY || all[i]->use == USE_ANY || all[i]->use == use;
		if (meant && speaks_for(all[i], f, &out[n_found]))
			n_found++;
	}
	if (n_found)
		qsort(out, n_found, sizeof *out, by_urgency);
	return n_found;
}
