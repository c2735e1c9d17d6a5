/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "db/db.h"

#include <string.h>

#define TRANSFER(member) offsetof(struct transfer, member)
#define FIGURE(key_, q, member, low, high, help_)                                                                      \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = q, .offset = TRANSFER(member), .min = low,            \
		.max = high, .help = help_                                                                             \
	}
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
    FIGURE("gemm", Q_NUMBER, error.gemm, 0, 2, "GEMMs"),
    FIGURE("context", Q_NUMBER, error.context, 0, 2, "prefill attention"),
    FIGURE("generation", Q_NUMBER, error.generation, 0, 2, "decode attention"),
    FIGURE("moe", Q_NUMBER, error.moe, 0, 2, "mixtures of experts"),
    FIGURE("collective", Q_NUMBER, error.collective, 0, 2, "collectives inside a node"),
};
static const struct schema error_schema = {
    "'error'", sizeof(struct transfer), error_fields, sizeof error_fields / sizeof *error_fields};

static const struct field gemm_fields[] = {
    FIGURE("eta_c", Q_NUMBER, eta_c, 0.05, 1.2, "share of peak of a long GEMM"),
    FIGURE("eta_m", Q_NUMBER, eta_m, 0.05, 1.2, "share of memory bandwidth"),
    FIGURE("t0", Q_TIME, base_s, 0, 1, "time before the first and after the last tile"),
    FIGURE("bsm", Q_PER_CLOCK, feed, 1, 1e6, "operand bytes fed to one SM per clock"),
    FIGURE("tpro", Q_TIME, tile_s, 0, 1, "prologue and epilogue of one tile"),
    FIGURE("tk64", Q_CLOCKS, k_step, 0, 1e6, "latency floor of one step of 64 along k"),
    FIGURE("th", Q_NUMBER, wave, 0, 1, "wave quantization: 0 fluid, 1 whole"),
    FIGURE("delta", Q_NUMBER, derate, 0, 10, "slowdown per decade of FLOP above 1e12"),
};
static const struct schema gemm_schema = {
    "'gemm'", sizeof(struct transfer), gemm_fields, sizeof gemm_fields / sizeof *gemm_fields};

static const struct field context_fields[] = {
    FIGURE("eta_a", Q_NUMBER, eta_a, 0.01, 1.2, "share of peak inside the tiles"),
    FIGURE("t0", Q_TIME, context_base_s, 0, 1, "fixed time"),
    FIGURE("tblk", Q_TIME, block_s, 0, 1, "time per block of queries"),
    FIGURE("eta_x", Q_NUMBER, eta_x, 0.01, 100, "share of memory bandwidth around the kernel"),
};
static const struct schema context_schema = {
    "'context'", sizeof(struct transfer), context_fields, sizeof context_fields / sizeof *context_fields};

static const struct field generation_fields[] = {
    FIGURE("eta_m", Q_NUMBER, decode_eta_m, 0.01, 1.2, "share of memory bandwidth for KV cache reads"),
    FIGURE("t0", Q_TIME, decode_base_s, 0, 1, "fixed time"),
    FIGURE("eta_q", Q_NUMBER, eta_q, 0.01, 100, "share of memory bandwidth for queries and outputs"),
    FIGURE("tsplit", Q_TIME, split_s, 0, 1, "combining partial results of split KV"),
    FIGURE("tcta", Q_TIME, item_s, 0, 1, "time per work item of an SM"),
};
static const struct schema generation_schema = {
    "'generation'", sizeof(struct transfer), generation_fields, sizeof generation_fields / sizeof *generation_fields};

static const struct field collective_fields[] = {
    FIGURE("a0", Q_TIME, collective_base_s, 0, 1, "latency, two ranks"),
    FIGURE("rate", Q_NUMBER, ring_frac, 0.01, 10, "factor on the bandwidth, beyond that of the links"),
};
static const struct schema collective_schema = {
    "'collective'", sizeof(struct transfer), collective_fields, sizeof collective_fields / sizeof *collective_fields};

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
    {.key = "gemm", .kind = FIELD_MAP, .sub = &gemm_schema, .help = "parameters that replace the donor's"},
    {.key = "context", .kind = FIELD_MAP, .sub = &context_schema, .help = "the same for prefill attention"},
    {.key = "generation", .kind = FIELD_MAP, .sub = &generation_schema, .help = "the same for decode attention"},
    {.key = "collective", .kind = FIELD_MAP, .sub = &collective_schema, .help = "the same for collectives"},
    TEXT("notes", notes, false, "caveats"),
};
static const struct schema transfer_schema = {
    "a transfer", sizeof(struct transfer), fields, sizeof fields / sizeof *fields};

bool
transfer_bind(struct binder *b, const struct node *root, const char *id, struct transfer *out)
{
	schema_clear(&transfer_schema, out);
	struct datum *const parts[] = {&out->error.gemm, &out->error.context, &out->error.generation, &out->error.moe,
	    &out->error.collective, &out->eta_c, &out->eta_m, &out->base_s, &out->feed, &out->tile_s, &out->k_step,
	    &out->wave, &out->derate, &out->eta_a, &out->context_base_s, &out->block_s, &out->eta_x, &out->decode_eta_m,
	    &out->decode_base_s, &out->eta_q, &out->split_s, &out->item_s, &out->collective_base_s, &out->ring_frac};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		*parts[i] = datum_absent();
	if (!schema_bind(b, &transfer_schema, root, out))
		return false;
	out->id = id;
	if (out->from || (datum_given(out->eta_c) && datum_given(out->eta_m)))
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
