/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read GPUs. */
#include "db/parts.h"

#include <string.h>

#define AT(member) offsetof(struct gpu, member)

static const struct field step_fields[] = {
    FIGURE("m", Q_COUNT, step_m, 1, 1e4, "rows"),
    FIGURE("n", Q_COUNT, step_n, 1, 1e4, "columns"),
    FIGURE("k", Q_COUNT, step_k, 1, 1e4, "depth"),
    FIGURE("fma", Q_COUNT, step_fma, 1, 1e7, "multiply-adds of one step: m x n x k"),
};
SCHEMA(step_schema, "'step'", struct gpu, step_fields);

static const struct field unit_fields[] = {
    SUB("step", step_schema, "one step of a matrix unit"),
    FIGURE("tensor_fma_per_sm", Q_COUNT, tensor_fma_per_sm, 1, 1e6, "dense fp16 FMA with fp32 sums, per SM and clock"),
    FIGURE("fp32_per_sm", Q_COUNT, fp32_per_sm, 1, 1e5, "fp32 FMA per SM and clock"),
};
SCHEMA(unit_schema, "'units'", struct gpu, unit_fields);

static const struct field clock_fields[] = {
    FIGURE("tensor", Q_CLOCK, clock_tensor_hertz, 1e8, 1e10, "clock of the tensor peaks"),
    FIGURE("max", Q_CLOCK, clock_max_hertz, 1e8, 1e10, "maximum SM clock"),
};
SCHEMA(clock_schema, "'clock'", struct gpu, clock_fields);

static const struct field memory_fields[] = {
    TEXT("type", mem_type, "HBM3, GDDR6, ..."),
    FIGURE("label", Q_SIZE, mem_label_byte, 1e9, 1e13, "marketing size; never used in sums"),
    FIGURE("usable", Q_SIZE, mem_usable_byte, 1e9, 1e13, "size the driver reports"),
    FIGURE("bandwidth", Q_RATE, mem_byte_per_s, 1e10, 1e15, "datasheet bandwidth"),
};
SCHEMA(memory_schema, "'memory'", struct gpu, memory_fields);

static const struct field l2_fields[] = {FIGURE("size", Q_SIZE, l2_byte, 1e5, 1e10, "last-level cache")};
SCHEMA(l2_schema, "'l2'", struct gpu, l2_fields);
static const struct field llc_fields[] = {FIGURE("size", Q_SIZE, llc_byte, 1e5, 1e11, "cache beyond L2")};
SCHEMA(llc_schema, "'llc'", struct gpu, llc_fields);
static const struct field shared_fields[] = {
    FIGURE("per_sm", Q_SIZE, shared_byte, 1e3, 1e7, "maximum shared memory per SM"),
    FIGURE("combined", Q_SIZE, shared_combined_byte, 1e3, 1e7, "L1 and shared memory together"),
};
SCHEMA(shared_schema, "'shared'", struct gpu, shared_fields);
static const struct field register_fields[] = {
    FIGURE("per_sm", Q_COUNT, n_registers, 1e3, 1e7, "32-bit registers per SM"),
    FIGURE("bandwidth", Q_RATE, register_byte_per_s, 1e9, 1e18, "of all SMs together"),
};
SCHEMA(register_schema, "'registers'", struct gpu, register_fields);

static const struct field peak_fields[] = {
#define PEAK(id, text, substitute, title)                                                                              \
	{.key = text,                                                                                                  \
	    .kind = FIELD_PEAK,                                                                                        \
	    .quantity = Q_PEAK,                                                                                        \
	    .offset = AT(peak_flop_per_s[PEAK_##id]),                                                                  \
	    .extra = AT(lacks[PEAK_##id]),                                                                             \
	    .min = 1e9,                                                                                                \
	    .max = 1e18,                                                                                               \
	    .help = title},
#include "model/hw/dtype.def"
#undef PEAK
};
SCHEMA(peak_schema, "'peak'", struct gpu, peak_fields);

static const struct field link_fields[] = {
    TEXT("kind", link_kind, "an entry of hwdb/links"),
    FIGURE("count", Q_COUNT, n_links, 0, 1000, "links of this GPU"),
    FIGURE("per_direction", Q_RATE, link_byte_per_s, 1e8, 1e13, "bandwidth of one link, one direction"),
    TEXT("bridge", link_bridge, "`pairs`: GPUs joined by an optional bridge"),
};
SCHEMA(link_schema_, "'link'", struct gpu, link_fields);
static const struct field c2c_fields[] = {TEXT("kind", c2c, "an entry of hwdb/links")};
SCHEMA(c2c_schema, "'c2c'", struct gpu, c2c_fields);

/* usd_per_hour is a bare number: the key carries the unit. */
static bool
per_hour(struct binder *b, const struct node *n, void *out)
{
	struct datum *d = out;

	if (!schema_quantity(b, n, Q_NUMBER, 0, 1e6, d))
		return false;
	d->value /= 3600;
	return true;
}

static bool
price_per(struct binder *b, const struct node *n, void *out)
{
	if (n->kind == NODE_SCALAR && n->text && (strcmp(n->text, "node") == 0 || strcmp(n->text, "gpu") == 0)) {
		*(const char **)out = n->text;
		return true;
	}
	diag_error(b->diag, n->at, "a price must be per node or per gpu");
	diag_hint(b->diag, "write 'per: node', or leave it out for one GPU");
	return false;
}

static const struct field price_fields[] = {
    {.key = "usd_per_hour",
        .kind = FIELD_CUSTOM,
        .offset = offsetof(struct price, usd_per_s),
        .custom = per_hour,
        .required = true,
        .help = "US dollars per hour, a bare number"},
    {.key = "on",
        .kind = FIELD_DATE,
        .offset = offsetof(struct price, on),
        .required = true,
        .help = "date of the price"},
    {.key = "per",
        .kind = FIELD_CUSTOM,
        .offset = offsetof(struct price, per),
        .custom = price_per,
        .help = "`node` or `gpu` (default)"},
    {.key = "gpus",
        .kind = FIELD_QUANTITY,
        .quantity = Q_COUNT,
        .offset = offsetof(struct price, n_gpus),
        .min = 1,
        .max = 1e4,
        .help = "number of GPUs of the instance the price is a share of"},
    {.key = "source",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct price, source),
        .required = true,
        .help = "provider or source"},
    {.key = "unconfirmed",
        .kind = FIELD_FLAG,
        .offset = offsetof(struct price, unconfirmed),
        .help = "true without a primary source"},
};
const struct schema price_schema = {
    "a price", sizeof(struct price), price_fields, sizeof price_fields / sizeof *price_fields};

static bool
launch_date(struct binder *b, const struct node *n, void *out)
{
	const struct node *value = n->kind == NODE_MAP ? tree_get(n, "value") : n;

	return schema_date(b, value ? value : n, out);
}

static const struct field gpu_fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true, .help = "display name"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "aliases; case and punctuation are ignored"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "citation keys"},
    TEXT("vendor", vendor, "NVIDIA, AMD"),
    {.key = "architecture",
        .kind = FIELD_TEXT,
        .offset = AT(architecture),
        .required = true,
        .help = "volta turing ampere ada hopper blackwell ...: gives transferred defaults"},
    TEXT("compute_capability", compute_capability, "\"9.0\", gfx942"),
    FIGURE("sms", Q_COUNT, n_sms, 1, 1e4, "streaming multiprocessors or compute units"),
    SUB("units", unit_schema, "arithmetic units, for a check of the peaks"),
    SUB("clock", clock_schema, "clocks; on Hopper, tensor peaks use a lower one"),
    {.key = "memory", .kind = FIELD_MAP, .sub = &memory_schema, .required = true, .help = "size and bandwidth"},
    SUB("l2", l2_schema, "second-level cache"),
    SUB("llc", llc_schema, "last-level cache beyond L2"),
    SUB("shared", shared_schema, "shared memory"),
    SUB("registers", register_schema, "register file"),
    {.key = "peak",
        .kind = FIELD_MAP,
        .sub = &peak_schema,
        .required = true,
        .help = "dense peaks; `none` where the hardware has no such unit"},
    FIGURE("sparsity", Q_NUMBER, sparsity, 1, 4, "factor of sparse marketing peaks over dense ones"),
    FIGURE("sparsity_fp4", Q_NUMBER, sparsity_fp4, 1, 4, "sparsity factor for fp4, where it differs"),
    SUB("link", link_schema_, "links to other GPUs"),
    SUB("c2c", c2c_schema, "link to the host"),
    TEXT("pcie", pcie, "an entry of hwdb/links"),
    FIGURE("tdp", Q_POWER, tdp_watt, 1, 1e4, "board power"),
    {.key = "launch", .kind = FIELD_CUSTOM, .offset = AT(launch), .custom = launch_date, .help = "launch date"},
    {.key = "launch_note", .kind = FIELD_IGNORED, .help = "`announced` when parts shipped later"},
    FIGURE("msrp", Q_MONEY, msrp_usd, 1, 1e7, "list price"),
    {.key = "prices",
        .kind = FIELD_LIST,
        .sub = &price_schema,
        .offset = AT(prices),
        .extra = AT(n_prices),
        .help = "rental prices with date and source"},
    TEXT("notes", notes, "caveats"),
};
const struct schema gpu_schema = {"a GPU", sizeof(struct gpu), gpu_fields, sizeof gpu_fields / sizeof *gpu_fields};

bool
gpu_bind(struct binder *b, const struct node *root, const char *id, struct gpu *out)
{
	memset(out, 0, sizeof *out);
	out->id = id;
	return schema_bind(b, &gpu_schema, root, out);
}
