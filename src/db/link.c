/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read links: interconnects, networks and storage. */
#include "db/parts.h"

#include <math.h>
#include <string.h>

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

static const struct field fields[] = {
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
    RATE("read", read_byte_per_s, "storage: sequential read bandwidth of one unit"),
    RATE("write", write_byte_per_s, "storage: sequential write bandwidth of one unit"),
    TEXT("used_by", used_by, "products that use it"),
    TEXT("notes", notes, "caveats"),
};
SCHEMA(link_schema, "a link", struct link, fields);

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
