/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "db/parts.h"

#include <math.h>
#include <string.h>

#define AT(member) offsetof(struct link, member)

#define RATE(key, member, help) FIGURE(key, Q_RATE, member, 1e5, 1e14, help)
#define HOP(key, member, help) FIGURE(key, Q_TIME, member, 1e-9, 1, help)

static const struct field effective_fields[] = {
    RATE("p2p", p2p_byte_per_s, "one pair, of one GPU, measured"),
    RATE("allreduce_bus", allreduce_bus_byte_per_s, "all-reduce bus bandwidth of one GPU, measured"),
    RATE("h2d", h2d_byte_per_s, "host to device copy, measured"),
    RATE("nccl_model", nccl_byte_per_s, "what NCCL's topology model assumes of one link"),
    FIGURE("efficiency", Q_NUMBER, efficiency_frac, 0, 1, "share of the line rate that is reached"),
};
SCHEMA(effective_schema, "'effective'", struct link, effective_fields);

static const struct field hop_fields[] = {
    HOP("ring_ll", ring_ll_s, "one step of a ring, protocol LL"),
    HOP("ring_ll128", ring_ll128_s, "one step of a ring, protocol LL128"),
    HOP("ring_simple", ring_simple_s, "one step of a ring, protocol Simple"),
    HOP("tree_ll", tree_ll_s, "one level of a tree, protocol LL"),
    HOP("tree_ll128", tree_ll128_s, "one level of a tree, protocol LL128"),
    HOP("tree_simple", tree_simple_s, "one level of a tree, protocol Simple"),
};
SCHEMA(hop_schema, "'hop'", struct link, hop_fields);

static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "version of this form: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true, .help = "the name that people read"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "other names; case and punctuation do not count"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "short keys for citations"},
    {.key = "kind",
        .kind = FIELD_TEXT,
        .offset = AT(kind),
        .required = true,
        .help = "nvlink nvlink-c2c nvswitch pcie xgmi infiniband roce ethernet efa gcp storage sharp"},
    TEXT("generation", generation, "as the standard or the maker counts"),
    {.key = "scope",
        .kind = FIELD_TEXT,
        .offset = AT(scope),
        .required = true,
        .help = "what per_direction is of: link gpu nic node device client"},
    RATE("per_direction", byte_per_s, "one unit of `scope`, one direction"),
    RATE("both_directions", both_byte_per_s, "the same unit, both directions: twice per_direction"),
    FIGURE("count", Q_COUNT, n_units, 1, 1e4, "links of a GPU, or ports of a switch chip"),
    FIGURE("nics", Q_COUNT, n_nics, 1, 1e4, "NICs of a node of the cloud that has this fabric"),
    FIGURE("lanes", Q_COUNT, n_lanes, 1, 1e3, "lanes of one link"),
    TEXT("raw", raw, "the signalling rate as printed"),
    {.key = "effective", .kind = FIELD_MAP, .sub = &effective_schema, .help = "what is reached, measured or modelled"},
    FIGURE("latency", Q_TIME, latency_s, 1e-9, 10, "one way, where one plain figure is known"),
    {.key = "hop", .kind = FIELD_MAP, .sub = &hop_schema, .help = "latencies of NCCL's model, per step"},
    {.key = "in_switch_reduction",
        .kind = FIELD_FLAG,
        .offset = AT(in_switch_reduction),
        .help = "the switch adds up what passes through it"},
    RATE("read", read_byte_per_s, "storage: sequential read of one unit"),
    RATE("write", write_byte_per_s, "storage: sequential write of one unit"),
    TEXT("used_by", used_by, "where it is found"),
    TEXT("notes", notes, "what users trip over"),
};
SCHEMA(link_schema, "a link", struct link, fields);

/* Directions are where link figures go wrong: both must be twice one. */
static bool
check_directions(struct binder *b, const struct link *l)
{
	if (!datum_given(l->byte_per_s) || !datum_given(l->both_byte_per_s) ||
	    fabs(l->both_byte_per_s.value - 2 * l->byte_per_s.value) <= 1e-3 * l->both_byte_per_s.value)
		return true;
	diag_error(b->diag, l->both_byte_per_s.from, "both directions together are not twice one direction");
	diag_hint(b->diag, "per_direction is what one side can send; marketing figures count both");
	return false;
}

bool
link_bind(struct binder *b, const struct node *root, const char *id, struct link *out)
{
	memset(out, 0, sizeof *out);
	out->id = id;
	return schema_bind(b, &link_schema, root, out) && check_directions(b, out);
}
