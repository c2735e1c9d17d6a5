/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resolve the interconnect options of a collective. */
#include "ask/collective/collective.h"

#include "ask/bind/bind.h"
#include "base/base.h"
#include "cli/cli.h"
#include "db/db.h"
#include "model/hw/hw.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- links ----------------------------------------------------------------------------------------------- */

/* `4xnvlink3` is four of them. */
static const char *
take_count(struct word text, struct datum *n)
{
	const char *p = text.text;

	while (isdigit((unsigned char)*p))
		p++;
	if (p == text.text || *p != 'x' || !isalpha((unsigned char)p[1]))
		return text.text;
	*n = (struct datum){strtod(text.text, NULL), text.from};
	return p + 1;
}

const struct link *
interconnect_link(struct run *r, struct word text, struct datum *n)
{
	const struct datum one = {1, {"default", 0, 0, NULL, false}};
	struct datum asked = datum_absent();
	const struct word name = {take_count(text, &asked), text.from};
	const struct link *link = run_link(r, name);

	if (!link)
		return NULL;
	if (!datum_given(link->byte_per_s) || strcmp(link->kind, "nvswitch") == 0 ||
	    strcmp(link->kind, "storage") == 0) {
		diag_error(r->diag, text.from, "%s does not connect GPUs", link->name);
		diag_hint(
		    r->diag, "use a GPU or NIC link such as nvlink4, pcie5-x16, ib-ndr; 'ridge comm links' lists them");
		return NULL;
	}
	const bool per_gpu = strcmp(link->scope, "link") == 0 && datum_given(link->n_units);
	if (datum_given(asked) && !bounds_check(r->diag, text.from, "links", Q_COUNT, asked.value))
		return NULL;
	*n = datum_given(asked) ? asked : per_gpu ? link->n_units : one;
	return link;
}

static bool
bind_bare(struct run *r, const struct interconnect_in *in, struct interconnect *w)
{
	w->bare = true;
	w->rate = in->bandwidth;
	w->latency = in->latency;
	w->nic_rate = in->nic_bandwidth;
	if (!in->link.text)
		return true;
	w->link = interconnect_link(r, in->link, &w->n_units);
	if (w->link)
		w->rate = w->link->byte_per_s;
	return w->link != NULL;
}

/* --- groups joined through the host ---------------------------------------------------------------------- */

static bool
bind_groups(struct run *r, const struct interconnect_in *in, struct interconnect *w)
{
	double n = 0;

	w->n_groups = 1;
	if (in->groups.n == 0)
		return true;
	run_reads(r, &in->groups, NULL);
	for (size_t i = 0; i < in->groups.n; i++) {
		struct quantity_fault qf;
		double size;
		if (!quantity_read(in->groups.list[i].text, Q_COUNT, &size, &qf) || size < 1 || size != floor(size))
			return run_refuse(r, in->groups.list[i].from, "expected group sizes, such as 4,4",
			    "'nvidia-smi topo -m' shows which GPUs NVLink (NV#) joins; SYS, NODE and PHB go through "
			    "the host");
		n += size;
	}
	w->n_groups = in->groups.n;
	if (!datum_given(w->n_ranks))
		w->n_ranks = (struct datum){n, in->groups.list[0].from};
	if (w->n_ranks.value != n)
		return run_refuse(r, w->n_ranks.from, "the groups do not add up to --gpus", "leave --gpus out");
	if (w->algorithm != ALGORITHM_AUTO && w->algorithm != ALGORITHM_RING)
		return run_refuse(r, in->groups.list[0].from, "--nvlink-groups needs a ring", "use --algo ring");
	if (!w->bare)
		return run_refuse(r, in->groups.list[0].from, "--nvlink-groups needs the link inside the groups",
		    "add --link nvlink3 (or 4xnvlink3) or --bandwidth");
	w->host_rate = in->host_bandwidth;
	if (in->host_link.text) {
		struct datum n_units;
		const struct link *host = interconnect_link(r, in->host_link, &n_units);
		if (!host)
			return false;
		w->host_rate = host->byte_per_s;
	}
	if (w->n_groups > 1 && !datum_given(w->host_rate))
		return run_refuse(r, in->groups.list[0].from, "--nvlink-groups needs the link between the groups",
		    "add --host-link pcie4-x16, or --host-bandwidth with a measured rate");
	return true;
}

/* --- calibrations ---------------------------------------------------------------------------------------- */

/* What --set link.per_direction makes of the entry. */
static double
link_factor(const struct link *l)
{
	return l && l->filed ? l->byte_per_s.value / l->filed->byte_per_s.value : 1;
}

/* The rates of the domain go with the link that was set. */
static void
follow_link(struct run *r, struct interconnect *w)
{
	const double factor = link_factor(w->link);

	if (factor == 1)
		return;
	if (w->system) {
		struct system *s = ARENA_NEW(r->arena, struct system);
		*s = *w->system;
		s->domain_byte_per_s.value *= factor;
		s->pair_byte_per_s.value *= factor;
		s->pair_max_byte_per_s.value *= factor;
		w->system = s;
	} else {
		struct gpu *g = ARENA_NEW(r->arena, struct gpu);
		*g = *w->gpu;
		g->link_byte_per_s.value *= factor;
		w->gpu = g;
	}
}

/* What was fitted inside a node, over the link in hand. */
static const struct calibration *
find_kernels(struct run *r, const struct interconnect *w, const char *engine)
{
	const struct calibration *fit = bind_kernels(r, w->gpu, w->system, KERNELS_COLLECTIVE, engine);

	if (!fit || link_factor(w->link) == 1)
		return fit;
	struct calibration *out = ARENA_NEW(r->arena, struct calibration);
	*out = *fit;
	rebase_links(out, link_factor(w->link));
	return out;
}

/* The GPU's own fit, or another's whose links are like these (hwdb/transfers). */
static const struct calibration *
find_fit(struct run *r, const struct interconnect *w)
{
	const struct calibration *fit = find_kernels(r, w, NULL);

	if (fit && fit->transferred_from)
		run_warn(r, "no measured collectives on %s: using those of %s, scaled to its links", w->gpu->id,
		    fit->transferred_from);
	return fit;
}

static bool
find_engine(struct run *r, const struct interconnect_in *in, struct interconnect *w)
{
	if (!in->backend.text && w->algorithm != ALGORITHM_CUSTOM)
		return true;
	if (!in->backend.text)
		return run_refuse(
		    r, in->algorithm.from, "--algo custom needs an engine", "add --backend trtllm, vllm or sglang");
	if (!w->gpu)
		return run_refuse(r, in->backend.from, "--backend needs a GPU", "add --gpu or --system");
	if (w->algorithm != ALGORITHM_AUTO && w->algorithm != ALGORITHM_CUSTOM)
		return run_refuse(r, in->algorithm.from, "--backend and --algo exclude each other",
		    "keep --backend for the engine's custom all-reduce, or --algo for NCCL");
	w->algorithm = ALGORITHM_CUSTOM;
	run_reads(r, &in->backend, NULL);
	w->engine = find_kernels(r, w, in->backend.text);
	if (w->engine && w->engine->n_custom > 0)
		return true;
	diag_error(
	    r->diag, in->backend.from, "no measurements of the %s all-reduce on %s", in->backend.text, w->gpu->id);
	diag_hint(
	    r->diag, "use a100, h100, h200, b200 or, with vllm, mi300x; or leave --backend out for NCCL and RCCL");
	return false;
}

/* What a call adds, by how it is made: measured against graphs (hwdb/calibration/network.yaml).  Formulas and the
 * engines' kernels are of graphs. */
static bool
find_launch(struct run *r, const struct interconnect_in *in, struct interconnect *w)
{
	const struct calibration *any;

	w->launch = in->launch;
	w->launch_s = (struct datum){0, in->launch.from};
	if (!in->launch.text || strcmp(in->launch.text, "torch") != 0)
		return true;
	if (w->bare || !w->gpu)
		return run_refuse(r, in->launch.from, "--launch needs a calibrated GPU", "add --gpu or --system");
	any = run_calibration(r, "network", NULL);
	if (any && datum_given(any->call_s))
		w->launch_s = any->call_s;
	return true;
}

/* --- systems --------------------------------------------------------------------------------------------- */

static bool
bind_gpu(struct run *r, const struct interconnect_in *in, struct interconnect *w)
{
	w->gpu = run_gpu(r, in->gpu);
	if (!w->gpu)
		return false;
	if (in->nodes.value > 1 || in->gpus.value > 72)
		return run_refuse(r, datum_given(in->nodes) ? in->nodes.from : in->gpus.from,
		    "--gpu covers one node without a network", "add a --system such as dgx-h100 or aws-p5.48xlarge");
	/* a bridge joins two cards, not all of a node */
	const bool linked = w->gpu->link_kind && !(w->gpu->link_bridge && in->gpus.value > 2);
	const char *id = linked ? w->gpu->link_kind : w->gpu->pcie;
	if (!id)
		return run_refuse(
		    r, in->gpu.from, "the database has no link for this GPU", "add --bandwidth or --link");
	w->link = run_link(r, (struct word){id, in->gpu.from});
	w->fit = find_fit(r, w);
	if (!datum_given(w->n_ranks))
		return run_refuse(r, in->gpu.from, "number of ranks missing", "add --gpus 8");
	/* eight share a board, except where a rack is one domain */
	const double domain = strncmp(w->gpu->id, "gb", 2) == 0 ? 72 : 8;
	if (w->n_ranks.value > domain) {
		diag_error(
		    r->diag, w->n_ranks.from, "%g ranks exceed the %g GPUs of one node", w->n_ranks.value, domain);
		diag_hint(r->diag, "add a system with a network: --system dgx-h100 --gpus %g", w->n_ranks.value);
		return false;
	}
	return w->link != NULL;
}

/* Ranks over the domains of a system: all in one, or the same number in each of several. */
static bool
spread(struct run *r, const struct interconnect_in *in, struct interconnect *w)
{
	const struct system *s = w->system;
	const double domain = s->n_domain_gpus.value;

	if (!datum_given(w->n_ranks))
		w->n_ranks =
		    (struct datum){s->n_gpus.value * (datum_given(in->nodes) ? in->nodes.value : 1), s->n_gpus.from};
	const double n = w->n_ranks.value;
	w->n_nodes = datum_given(in->nodes) ? in->nodes.value : ceil(n / domain);
	if (fmod(n, w->n_nodes) != 0 || n / w->n_nodes > domain) {
		const double fewer = floor(n / domain) * domain;
		diag_error(r->diag, w->n_ranks.from, "%g ranks do not divide evenly over %g domains of %g GPUs", n,
		    w->n_nodes, domain);
		diag_hint(r->diag, "use %g or %g ranks", fewer > 0 ? fewer : domain, fewer + domain);
		return false;
	}
	if (w->n_nodes > 1 && !s->fabric) {
		diag_error(r->diag, w->n_ranks.from, "%s has %g GPU%s and no network: %g ranks do not fit", s->name,
		    domain, domain == 1 ? "" : "s", n);
		diag_hint(r->diag, "use %g ranks, or a system with a network", domain);
		return false;
	}
	return true;
}

static const char *
domain_link(const struct system *s)
{
	return s->domain == DOMAIN_PCIE || !s->gpu->link_kind ? s->gpu->pcie : s->gpu->link_kind;
}

static bool
bind_system(struct run *r, const struct interconnect_in *in, struct interconnect *w)
{
	w->system = run_system(r, in->system);
	if (!w->system)
		return false;
	w->gpu = w->system->gpu;
	if (!spread(r, in, w))
		return false;
	const char *id = domain_link(w->system);
	w->link = id ? run_link(r, (struct word){id, in->system.from}) : NULL;
	/* the fits are of switched NVLink, of PCIe and of full meshes; other meshes give each pair a part of that */
	if (w->system->domain == DOMAIN_NVSWITCH || w->system->domain == DOMAIN_XGMI_MESH ||
	    (w->system->domain == DOMAIN_PCIE && !w->gpu->link_kind))
		w->fit = find_fit(r, w);
	return true;
}

/* --- together -------------------------------------------------------------------------------------------- */

static bool
one_of(struct run *r, const struct interconnect_in *in)
{
	const struct {
		const char *name;
		bool given;
		struct source at;
	} all[] = {
	    {"--bandwidth", datum_given(in->bandwidth), in->bandwidth.from},
	    {"--link", in->link.text != NULL, in->link.from},
	    {"--gpu", in->gpu.text != NULL, in->gpu.from},
	    {"--system", in->system.text != NULL, in->system.from},
	};
	int first = -1;

	for (int i = 0; i < 4; i++) {
		if (!all[i].given)
			continue;
		if (first >= 0) {
			diag_error(r->diag, all[i].at, "%s and %s exclude each other", all[first].name, all[i].name);
			diag_hint(r->diag, "keep one: each gives the interconnect");
			return false;
		}
		first = i;
	}
	if (first > 1 && (datum_given(in->latency) || datum_given(in->nic_bandwidth)))
		return run_refuse(r, datum_given(in->latency) ? in->latency.from : in->nic_bandwidth.from,
		    "--latency and --nic-bandwidth need --bandwidth or --link",
		    "leave them out with --gpu or --system");
	return true;
}

static bool
above_zero(struct run *r, struct datum rate)
{
	if (!datum_given(rate) || rate.value > 0)
		return true;
	return run_refuse(r, rate.from, "the bandwidth must be greater than 0", "write for example 50GB/s");
}

static enum algorithm
algorithm_of(struct word name)
{
	for (int i = 0; i < N_ALGORITHMS; i++)
		if (strcmp(algorithm_name((enum algorithm)i), name.text) == 0)
			return (enum algorithm)i;
	return ALGORITHM_AUTO;
}

bool
interconnect_bind(struct run *r, const struct interconnect_in *in, struct interconnect *w)
{
	bool ok = run_whole(r, "--gpus", in->gpus, 1) & run_whole(r, "--nodes", in->nodes, 1) &
	    above_zero(r, in->bandwidth) & above_zero(r, in->nic_bandwidth) & above_zero(r, in->host_bandwidth);

	*w = (struct interconnect){.n_ranks = in->gpus, .n_nodes = datum_given(in->nodes) ? in->nodes.value : 1};
	w->rate = w->nic_rate = w->latency = w->host_rate = w->n_units = datum_absent();
	w->algorithm = algorithm_of(in->algorithm);
	w->n_groups = 1;
	w->any = datum_given(in->bandwidth) || in->link.text || in->gpu.text || in->system.text;
	if (!ok || !one_of(r, in) || !w->any)
		return ok && !w->any && diag_errors(r->diag) == 0;
	run_reads(r, &in->nodes, &in->algorithm, NULL);
	if (in->system.text)
		ok = bind_system(r, in, w);
	else if (in->gpu.text)
		ok = bind_gpu(r, in, w);
	else
		ok = bind_bare(r, in, w);
	if (!ok || !bind_groups(r, in, w) || !find_engine(r, in, w) || !find_launch(r, in, w))
		return false;
	if (!w->bare)
		follow_link(r, w);
	if (!datum_given(w->n_ranks))
		return run_refuse(
		    r, datum_given(w->rate) ? w->rate.from : in->link.from, "number of ranks missing", "add --gpus 8");
	if (w->bare && fmod(w->n_ranks.value, w->n_nodes) != 0)
		return run_refuse(
		    r, in->nodes.from, "the ranks do not divide evenly over the nodes", "change --gpus or --nodes");
	if (w->bare && w->n_nodes > 1 && !datum_given(w->nic_rate))
		return run_refuse(r, in->nodes.from, "network bandwidth missing",
		    "add --nic-bandwidth 50GB/s, the NIC bandwidth per GPU");
	return true;
}
