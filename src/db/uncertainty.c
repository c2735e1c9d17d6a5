/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read the errors behind prediction intervals. */
#include "db/parts.h"

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

static const struct field fields[] = {
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
    FIGURE("groups", Q_COUNT, n_groups, 2, 1e6, "groups that these were told from"),
    FIGURE("stacks", Q_COUNT, n_stacks, 2, 1e6, "stacks that unlisted_sigma was told from"),
    {.key = "range",
        .kind = FIELD_CUSTOM,
        .offset = 0,
        .custom = bind_ranges,
        .help = "measured minimum and maximum of each dimension"},
    TEXT("notes", notes, "not covered"),
};
SCHEMA(uncertainty_schema, "an uncertainty", struct uncertainty, fields);

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
