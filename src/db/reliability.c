/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read published interruptions of training runs. */
#include "db/db.h"

#define RELIABILITY(member) offsetof(struct reliability, member)
#define FIGURE(key_, q, member, low, high, required_, help_)                                                           \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = q, .offset = RELIABILITY(member), .min = low,         \
		.max = high, .required = required_, .help = help_                                                      \
	}

static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = RELIABILITY(name), .required = true, .help = "display name"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "aliases; case and punctuation are ignored"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "citation keys"},
    {.key = "gpu", .kind = FIELD_TEXT, .offset = RELIABILITY(gpu), .help = "GPU of the run"},
    FIGURE("gpus", Q_COUNT, n_gpus, 1, 1e7, true, "number of GPUs of the run"),
    FIGURE("period", Q_TIME, period_s, 3600, 1e9, true, "length of the run"),
    FIGURE("interruptions", Q_COUNT, n_interruptions, 1, 1e7, false, "all interruptions"),
    FIGURE("unexpected", Q_COUNT, n_failures, 1, 1e7, true, "unexpected interruptions (failures)"),
    FIGURE("goodput", Q_NUMBER, goodput_frac, 0, 1, false, "published goodput"),
    {.key = "notes", .kind = FIELD_TEXT, .offset = RELIABILITY(notes), .help = "caveats"},
};
static const struct schema reliability_schema = {
    "a reliability", sizeof(struct reliability), fields, sizeof fields / sizeof *fields};

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
