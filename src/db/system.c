/* SPDX-License-Identifier: GPL-3.0-or-later */
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
    NEEDED("per_direction", Q_RATE, pair_byte_per_s, 1e8, 1e13, "what a pair of neighbours has, one direction"),
    FIGURE("max", Q_RATE, pair_max_byte_per_s, 1e8, 1e13, "the best pair, where pairs differ"),
};
SCHEMA(pair_schema, "'pair'", struct file, pair_fields);

static const struct field domain_fields[] = {
    {.key = "kind",
        .kind = FIELD_CHOICE,
        .offset = offsetof(struct file, domain),
        .choices = DOMAIN_CHOICES,
        .required = true,
        .help = DOMAIN_CHOICES},
    NEEDED("size", Q_COUNT, n_domain_gpus, 1, 1e5, "GPUs that reach each other without a network"),
    FIGURE("per_direction", Q_RATE, domain_byte_per_s, 1e8, 1e13, "of one GPU, all its links, one direction"),
    {.key = "sharp", .kind = FIELD_FLAG, .offset = AT(sharp), .help = "the switches reduce (NVSwitch generation 3 on)"},
    SUB("pair", pair_schema, "meshes: what two neighbours have"),
    FIGURE("unlinked_peers", Q_COUNT, n_unlinked_peers, 0, 1e5, "peers without a direct link"),
};
SCHEMA(domain_schema, "'domain'", struct file, domain_fields);

static const struct field network_fields[] = {
    NEEDED("nics", Q_COUNT, n_nics, 1, 1e4, "NICs of a node"),
    NEEDED("per_nic", Q_RATE, nic_byte_per_s, 1e6, 1e12, "one NIC, one direction"),
    FIGURE("rails", Q_COUNT, n_rails, 1, 1e4, "NICs that the GPUs use in parallel"),
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
    NEEDED("allreduce_bus", Q_RATE, accept_byte_per_s, 1e8, 1e13, "pass line of the operator's health check"),
    FIGURE("size", Q_SIZE, accept_byte, 1, 1e12, "at this message size"),
};
SCHEMA(acceptance_schema, "'acceptance'", struct file, acceptance_fields);

static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "version of this form: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true, .help = "the name that people read"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "other names; case and punctuation do not count"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "short keys for citations"},
    {.key = "gpu",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct file, gpu),
        .required = true,
        .help = "an entry of hwdb/gpus"},
    {.key = "gpu_alternatives", .kind = FIELD_IGNORED, .help = "other GPUs that this system is sold with"},
    NEEDED("gpus", Q_COUNT, n_gpus, 1, 1e5, "GPUs of one node"),
    {.key = "domain", .kind = FIELD_MAP, .sub = &domain_schema, .required = true, .help = "how the GPUs are joined"},
    SUB("network", network_schema, "what joins the nodes; leave it out when there is none"),
    SUB("host", host_schema, "processors, memory, drives"),
    FIGURE("power", Q_POWER, power_watt, 10, 1e7, "of one node, at most"),
    FIGURE("purchase", Q_MONEY, purchase_usd, 1, 1e9, "list price of one node"),
    {.key = "prices",
        .kind = FIELD_LIST,
        .sub = &price_schema,
        .offset = AT(prices),
        .extra = AT(n_prices),
        .help = "rents with date and source"},
    SUB("acceptance", acceptance_schema, "what the operator demands of a healthy node"),
    TEXT("notes", notes, "what users trip over"),
};
SCHEMA(system_schema, "a system", struct file, fields);

static bool
fault(struct binder *b, struct source at, const char *what, const char *hint)
{
	diag_error(b->diag, at, "%s", what);
	diag_hint(b->diag, "%s", hint);
	return false;
}

/* What no single value shows to be wrong. */
static bool
check_together(struct binder *b, const struct system *s)
{
	bool ok = true;

	if (s->domain != DOMAIN_NONE && !datum_given(s->domain_byte_per_s))
		ok = fault(
		    b, s->n_domain_gpus.from, "the domain has no bandwidth", "add 'per_direction: ...' of one GPU");
	if (s->n_domain_gpus.value < s->n_gpus.value && s->domain == DOMAIN_NVSWITCH)
		ok = fault(b, s->n_domain_gpus.from, "the domain is smaller than a node",
		    "a switched domain holds at least the GPUs of one node");
	if (datum_given(s->pair_byte_per_s) && datum_given(s->domain_byte_per_s) &&
	    s->pair_byte_per_s.value > s->domain_byte_per_s.value)
		ok = fault(b, s->pair_byte_per_s.from, "a pair has more than all links of a GPU together",
		    "per_direction of the domain is the sum over the links of one GPU");
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
