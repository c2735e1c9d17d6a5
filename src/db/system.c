/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read systems: nodes with scale-up domain and network.  GPU and fabric are ids that the database resolves. */
#include "db/parts.h"

#include <string.h>

/* The file names its GPU and its fabric: the database opens those. */
struct file {
	struct system system;
	const char *gpu, *fabric;
	int domain;
};

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

static const struct field fields[] = {
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
SCHEMA(system_schema, "a system", struct file, fields);

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
