/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read rules that replace missing measurements of a GPU by those of another. */
#include "db/calibration.h"

#include <string.h>

#define TRANSFER(member) offsetof(struct transfer, member)
#define TEXT(key_, member, required_, help_)                                                                           \
	{                                                                                                              \
		.key = key_, .kind = FIELD_TEXT, .offset = TRANSFER(member), .required = required_, .help = help_      \
	}

static bool
bind_targets(struct binder *b, const struct node *n, void *out)
{
	struct transfer *t = out;

	if (n->kind != NODE_LIST) {
		diag_error(b->diag, n->at, "'to' is a list of GPUs");
		return false;
	}
	t->to = ARENA_ARRAY(b->arena, const char *, n->n + 1);
	for (size_t i = 0; i < n->n; i++) {
		if (n->items[i]->kind != NODE_SCALAR) {
			diag_error(b->diag, n->items[i]->at, "expected the id of a GPU");
			return false;
		}
		t->to[t->n_to++] = n->items[i]->text;
	}
	return true;
}

static const struct field error_fields[] = {
    FIGURE(struct transfer, "gemm", Q_NUMBER, error.gemm, 0, 2, "GEMMs"),
    FIGURE(struct transfer, "context", Q_NUMBER, error.context, 0, 2, "prefill attention"),
    FIGURE(struct transfer, "generation", Q_NUMBER, error.generation, 0, 2, "decode attention"),
    FIGURE(struct transfer, "moe", Q_NUMBER, error.moe, 0, 2, "mixtures of experts"),
    FIGURE(struct transfer, "collective", Q_NUMBER, error.collective, 0, 2, "collectives inside a node"),
};
SCHEMA(error_schema, "'error'", struct transfer, error_fields);

/* Parameters that replace the donor's: all of a family's, none of them needed. */
#define ROW(key, member, form, otherwise, low, high, start, least, most, title)                                        \
	FAMILY_FIELD(OF, key, member, form, false, low, high, title),
#define GEMM ROW
#define OF struct gemm_calibration
static const struct field gemm_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(gemm_schema, "'gemm'", OF, gemm_fields);
#undef OF
#undef GEMM

#define CONTEXT ROW
#define OF struct context_calibration
static const struct field context_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(context_schema, "'context'", OF, context_fields);
#undef OF
#undef CONTEXT

#define GENERATION ROW
#define OF struct generation_calibration
static const struct field generation_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(generation_schema, "'generation'", OF, generation_fields);
#undef OF
#undef GENERATION

static const struct field collective_fields[] = {
    FIGURE(struct transfer, "a0", Q_TIME, collective_base_s, 0, 1, "latency, two ranks"),
    FIGURE(struct transfer, "rate", Q_NUMBER, ring_frac, 0.01, 10, "factor on the bandwidth, beyond that of the links"),
};
SCHEMA(collective_schema, "'collective'", struct transfer, collective_fields);

static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    TEXT("name", name, true, "display name"),
    TEXT("from", from, false, "donor GPU; without it, only the parameters here count"),
    {.key = "to",
        .kind = FIELD_CUSTOM,
        .offset = 0,
        .custom = bind_targets,
        .help = "target GPUs; default: NVIDIA GPUs without another file"},
    TEXT("source", source, true, "source of the errors"),
    TEXT("expected", expected, true, "GEMM error, as text"),
    {.key = "error", .kind = FIELD_MAP, .sub = &error_schema, .required = true, .help = "mean errors, by kernel"},
    {.key = "gemm",
        .kind = FIELD_MAP,
        .sub = &gemm_schema,
        .offset = TRANSFER(gemm),
        .help = "parameters that replace the donor's"},
    {.key = "context",
        .kind = FIELD_MAP,
        .sub = &context_schema,
        .offset = TRANSFER(context),
        .help = "the same for prefill attention"},
    {.key = "generation",
        .kind = FIELD_MAP,
        .sub = &generation_schema,
        .offset = TRANSFER(generation),
        .help = "the same for decode attention"},
    {.key = "collective", .kind = FIELD_MAP, .sub = &collective_schema, .help = "the same for collectives"},
    TEXT("notes", notes, false, "caveats"),
};
SCHEMA(transfer_schema, "a transfer", struct transfer, fields);

bool
transfer_bind(struct binder *b, const struct node *root, const char *id, struct transfer *out)
{
	schema_clear(&transfer_schema, out);
	if (!schema_bind(b, &transfer_schema, root, out))
		return false;
	out->id = id;
	if (out->from || (datum_given(out->gemm.peak_flop_per_s) && datum_given(out->gemm.mem_byte_per_s)))
		return true;
	diag_error(b->diag, root->at, "a transfer needs 'from' or its own 'gemm' parameters");
	return false;
}

static bool
is_for(const struct transfer *t, const struct gpu *gpu)
{
	for (int i = 0; i < t->n_to; i++)
		if (strcmp(t->to[i], gpu->id) == 0)
			return true;
	return t->n_to == 0 && gpu->vendor && strcmp(gpu->vendor, "NVIDIA") == 0;
}

const struct transfer *
database_transfer(struct database *db, struct arena *a, struct diag *d, const struct gpu *gpu)
{
	const struct transfer *last_resort = NULL;
	size_t n;
	const char **ids = database_list(db, ENTRY_TRANSFER, &n);

	for (size_t i = 0; i < n; i++) {
		const char *id;
		const struct node *root = database_try(db, ENTRY_TRANSFER, ids[i], &id);
		struct transfer *t = ARENA_NEW(a, struct transfer);
		struct binder b = {.arena = a, .diag = d, .sources = root ? tree_get(root, "sources") : NULL};

		if (!root || !transfer_bind(&b, root, id, t) || !is_for(t, gpu))
			continue;
		if (t->n_to > 0)
			return t;
		last_resort = t;
	}
	return last_resort;
}
