/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read GPUs, links and systems. */
#include "db/parts.h"

#include <math.h>
#include <string.h>

/* --- GPUs ------------------------------------------------------------------------------------------------ */

/* Read GPUs. */

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
    FLAG("inline_ecc", mem_inline_ecc,
        "ECC is stored in the memory itself and takes a sixteenth of its size and bandwidth"),
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
static const struct field c2c_fields[] = {TEXT("kind", c2c, "an entry of hwdb/links"),
    FIGURE("gpus", Q_COUNT, n_host_gpus, 1, 16, "GPUs that share the host's memory; default 1"),
    FIGURE("memory", Q_SIZE, host_mem_byte, 1e9, 1e13, "memory of the host that they share")};
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
static const struct schema price_schema = {
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
static const struct schema gpu_schema = {
    "a GPU", sizeof(struct gpu), gpu_fields, sizeof gpu_fields / sizeof *gpu_fields};

bool
gpu_bind(struct binder *b, const struct node *root, const char *id, struct gpu *out)
{
	memset(out, 0, sizeof *out);
	out->id = id;
	return schema_bind(b, &gpu_schema, root, out);
}

/* --- links: interconnects, networks and storage ---------------------------------------------------------- */

#undef AT
#define AT(member) offsetof(struct link, member)

#define RATE(key, member, help) FIGURE(key, Q_RATE, member, 1e5, 1e14, help)
#define HOP(key, member, help) FIGURE(key, Q_TIME, member, 1e-9, 1, help)

static const struct field effective_fields[] = {
    RATE("p2p", p2p_byte_per_s, "measured bandwidth of one GPU to one peer"),
    RATE("allreduce_bus", allreduce_bus_byte_per_s, "measured all-reduce busbw per GPU"),
    RATE("h2d", h2d_byte_per_s, "measured host-to-device copy bandwidth"),
    RATE("nccl_model", nccl_byte_per_s, "bandwidth of one link in NCCL's topology model"),
    FIGURE("efficiency", Q_NUMBER, efficiency_frac, 0, 1, "achieved share of line rate"),
};
SCHEMA(effective_schema, "'effective'", struct link, effective_fields);

static const struct field hop_fields[] = {
    HOP("ring_ll", ring_ll_s, "ring step latency, protocol LL"),
    HOP("ring_ll128", ring_ll128_s, "ring step latency, protocol LL128"),
    HOP("ring_simple", ring_simple_s, "ring step latency, protocol Simple"),
    HOP("tree_ll", tree_ll_s, "tree level latency, protocol LL"),
    HOP("tree_ll128", tree_ll128_s, "tree level latency, protocol LL128"),
    HOP("tree_simple", tree_simple_s, "tree level latency, protocol Simple"),
};
SCHEMA(hop_schema, "'hop'", struct link, hop_fields);

static const struct field link_entry_fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true, .help = "display name"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "aliases; case and punctuation are ignored"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "citation keys"},
    {.key = "kind",
        .kind = FIELD_TEXT,
        .offset = AT(kind),
        .required = true,
        .help = "nvlink nvlink-c2c nvswitch pcie xgmi infiniband roce ethernet efa gcp storage sharp"},
    TEXT("generation", generation, "generation, as the standard or vendor counts"),
    {.key = "scope",
        .kind = FIELD_TEXT,
        .offset = AT(scope),
        .required = true,
        .help = "unit of per_direction: link gpu nic node device client"},
    RATE("per_direction", byte_per_s, "bandwidth of one `scope`, one direction"),
    RATE("both_directions", both_byte_per_s, "both directions: twice per_direction"),
    FIGURE("count", Q_COUNT, n_units, 1, 1e4, "links per GPU, or ports per switch chip"),
    FIGURE("nics", Q_COUNT, n_nics, 1, 1e4, "NICs per node of the cloud with this fabric"),
    FIGURE("lanes", Q_COUNT, n_lanes, 1, 1e3, "lanes of one link"),
    TEXT("raw", raw, "signaling rate as printed"),
    {.key = "effective", .kind = FIELD_MAP, .sub = &effective_schema, .help = "achieved rates, measured or modeled"},
    FIGURE("latency", Q_TIME, latency_s, 1e-9, 10, "one-way latency, where a single figure is known"),
    {.key = "hop", .kind = FIELD_MAP, .sub = &hop_schema, .help = "latencies of NCCL's model, per step"},
    {.key = "in_switch_reduction",
        .kind = FIELD_FLAG,
        .offset = AT(in_switch_reduction),
        .help = "in-switch reduction"},
    {.key = "simple_protocol",
        .kind = FIELD_FLAG,
        .offset = AT(simple_protocol),
        .help = "NCCL's protocol is Simple at all sizes"},
    RATE("read", read_byte_per_s, "storage: sequential read bandwidth of one unit"),
    RATE("write", write_byte_per_s, "storage: sequential write bandwidth of one unit"),
    TEXT("used_by", used_by, "products that use it"),
    TEXT("notes", notes, "caveats"),
};
SCHEMA(link_schema, "a link", struct link, link_entry_fields);

/* Directions are where link figures go wrong: both must be twice one. */
static bool
check_directions(struct binder *b, const struct link *l)
{
	if (!datum_given(l->byte_per_s) || !datum_given(l->both_byte_per_s) ||
	    fabs(l->both_byte_per_s.value - 2 * l->byte_per_s.value) <= 1e-3 * l->both_byte_per_s.value)
		return true;
	diag_error(b->diag, l->both_byte_per_s.from, "the bidirectional figure is not twice per_direction");
	diag_hint(b->diag, "give one direction in per_direction; marketing figures count both");
	return false;
}

bool
link_bind(struct binder *b, const struct node *root, const char *id, struct link *out)
{
	memset(out, 0, sizeof *out);
	out->id = id;
	return schema_bind(b, &link_schema, root, out) && check_directions(b, out);
}

/* --- systems: a scale-up domain and a network; GPU and fabric are ids that the database resolves --------- */

/* The file names its GPU and its fabric: the database opens those. */
struct file {
	struct system system;
	const char *gpu, *fabric;
	int domain;
};

#undef AT
#define AT(member) offsetof(struct file, system.member)
#define NEEDED(key_, q, member, low, high, help_)                                                                      \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = q, .offset = AT(member), .min = low, .max = high,     \
		.required = true, .help = help_                                                                        \
	}

static const enum domain_kind domains[] = {
    DOMAIN_NONE, DOMAIN_PCIE, DOMAIN_HYBRID_CUBE_MESH, DOMAIN_NVLINK_MESH, DOMAIN_NVSWITCH, DOMAIN_XGMI_MESH};
#define DOMAIN_CHOICES "none|pcie|hybrid-cube-mesh|nvlink-mesh|nvswitch|xgmi-mesh"

static const struct field pair_fields[] = {
    NEEDED("per_direction", Q_RATE, pair_byte_per_s, 1e8, 1e13, "bandwidth of a neighbor pair, one direction"),
    FIGURE("max", Q_RATE, pair_max_byte_per_s, 1e8, 1e13, "bandwidth of the best pair, where pairs differ"),
};
SCHEMA(pair_schema, "'pair'", struct file, pair_fields);

static const struct field domain_fields[] = {
    {.key = "kind",
        .kind = FIELD_CHOICE,
        .offset = offsetof(struct file, domain),
        .choices = DOMAIN_CHOICES,
        .required = true,
        .help = DOMAIN_CHOICES},
    NEEDED("size", Q_COUNT, n_domain_gpus, 1, 1e5, "GPUs in one NVLink domain"),
    FIGURE("per_direction", Q_RATE, domain_byte_per_s, 1e8, 1e13, "bandwidth per GPU, all links, one direction"),
    {.key = "sharp",
        .kind = FIELD_FLAG,
        .offset = AT(sharp),
        .help = "in-switch reduction (NVSwitch generation 3 and later)"},
    SUB("pair", pair_schema, "meshes: links of two neighbors"),
    FIGURE("unlinked_peers", Q_COUNT, n_unlinked_peers, 0, 1e5, "meshes: peers without a direct link"),
};
SCHEMA(domain_schema, "'domain'", struct file, domain_fields);

static const struct field network_fields[] = {
    NEEDED("nics", Q_COUNT, n_nics, 1, 1e4, "NICs per node"),
    NEEDED("per_nic", Q_RATE, nic_byte_per_s, 1e6, 1e12, "bandwidth of one NIC, one direction"),
    FIGURE("rails", Q_COUNT, n_rails, 1, 1e4, "NICs the GPUs use in parallel"),
    {.key = "fabric",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct file, fabric),
        .required = true,
        .help = "an entry of hwdb/links"},
};
SCHEMA(network_schema, "'network'", struct file, network_fields);

static const struct field host_fields[] = {
    TEXT("cpu", host_cpu, "processors"),
    FIGURE("cores", Q_COUNT, n_host_cores, 1, 1e5, "cores, or vCPUs of a cloud instance"),
    FIGURE("memory", Q_SIZE, host_mem_byte, 1e9, 1e15, "host memory"),
    TEXT("storage", host_storage, "local drives"),
};
SCHEMA(host_schema, "'host'", struct file, host_fields);

static const struct field acceptance_fields[] = {
    NEEDED("allreduce_bus", Q_RATE, accept_byte_per_s, 1e8, 1e13, "acceptance threshold for all-reduce busbw"),
    FIGURE("size", Q_SIZE, accept_byte, 1, 1e12, "message size of that threshold"),
};
SCHEMA(acceptance_schema, "'acceptance'", struct file, acceptance_fields);

static const struct field system_fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true, .help = "display name"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "aliases; case and punctuation are ignored"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "citation keys"},
    {.key = "gpu",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct file, gpu),
        .required = true,
        .help = "an entry of hwdb/gpus"},
    {.key = "gpu_alternatives", .kind = FIELD_IGNORED, .help = "other GPUs of this system"},
    NEEDED("gpus", Q_COUNT, n_gpus, 1, 1e5, "GPUs per node"),
    {.key = "domain", .kind = FIELD_MAP, .sub = &domain_schema, .required = true, .help = "scale-up domain"},
    SUB("network", network_schema, "scale-out network; absent without one"),
    SUB("host", host_schema, "host: processors, memory, drives"),
    FIGURE("power", Q_POWER, power_watt, 10, 1e7, "maximum power of one node"),
    FIGURE("purchase", Q_MONEY, purchase_usd, 1, 1e9, "list price of one node"),
    {.key = "prices",
        .kind = FIELD_LIST,
        .sub = &price_schema,
        .offset = AT(prices),
        .extra = AT(n_prices),
        .help = "rental prices with date and source"},
    SUB("acceptance", acceptance_schema, "acceptance thresholds of the operator"),
    TEXT("notes", notes, "caveats"),
};
SCHEMA(system_schema, "a system", struct file, system_fields);

static bool
fault(struct binder *b, struct source at, const char *what, const char *hint)
{
	diag_error(b->diag, at, "%s", what);
	diag_hint(b->diag, "%s", hint);
	return false;
}

/* Checks that involve several values. */
static bool
check_together(struct binder *b, const struct system *s)
{
	bool ok = true;

	if (s->domain != DOMAIN_NONE && !datum_given(s->domain_byte_per_s))
		ok = fault(
		    b, s->n_domain_gpus.from, "the domain has no bandwidth", "add 'per_direction: ...' of one GPU");
	if (s->n_domain_gpus.value < s->n_gpus.value && s->domain == DOMAIN_NVSWITCH)
		ok = fault(b, s->n_domain_gpus.from, "the domain is smaller than a node",
		    "give at least the GPUs of one node");
	if (datum_given(s->pair_byte_per_s) && datum_given(s->domain_byte_per_s) &&
	    s->pair_byte_per_s.value > s->domain_byte_per_s.value)
		ok = fault(b, s->pair_byte_per_s.from, "a pair exceeds all links of a GPU together",
		    "give per_direction as the sum over the links of one GPU");
	return ok;
}

bool
system_bind(struct binder *b, const struct node *root, const char *id, struct system *out, const char **gpu_id,
    const char **fabric_id)
{
	struct file file;

	memset(&file, 0, sizeof file);
	const bool ok = schema_bind(b, &system_schema, root, &file);
	*out = file.system;
	out->id = id;
	out->domain = domains[file.domain];
	*gpu_id = file.gpu;
	*fabric_id = file.fabric;
	return ok && check_together(b, out);
}
