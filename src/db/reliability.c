/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "db/db.h"

#define RELIABILITY(member) offsetof(struct reliability, member)
#define FIGURE(key_, q, member, low, high, required_, help_)                                                           \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = q, .offset = RELIABILITY(member), .min = low,         \
		.max = high, .required = required_, .help = help_                                                      \
	}

static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "version of this form: 1"},
    {.key = "name",
        .kind = FIELD_TEXT,
        .offset = RELIABILITY(name),
        .required = true,
        .help = "the name that people read"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "other names; case and punctuation do not count"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "short keys for citations"},
    {.key = "gpu", .kind = FIELD_TEXT, .offset = RELIABILITY(gpu), .help = "what the run computed on"},
    FIGURE("gpus", Q_COUNT, n_gpus, 1, 1e7, true, "of the run"),
    FIGURE("period", Q_TIME, period_s, 3600, 1e9, true, "that the counts are of"),
    FIGURE("interruptions", Q_COUNT, n_interruptions, 1, 1e7, false, "all of them"),
    FIGURE("unexpected", Q_COUNT, n_failures, 1, 1e7, true, "those that nobody had planned: failures"),
    FIGURE("goodput", Q_NUMBER, goodput_frac, 0, 1, false, "share of useful time, where it was published"),
    {.key = "notes", .kind = FIELD_TEXT, .offset = RELIABILITY(notes), .help = "what users trip over"},
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
	diag_error(b->diag, out->n_failures.from, "more interruptions were unexpected than there were");
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
