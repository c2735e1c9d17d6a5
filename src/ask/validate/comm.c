/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validate published collectives and transfers, whose links and network are given in words. */
#include "ask/bind/bind.h"
#include "ask/collective/collective.h"
#include "ask/validate/validate.h"
#include "base/base.h"
#include "db/db.h"

#include <stdlib.h>
#include <string.h>

/* A system by its GPU and network is looked for once. */
struct known_system {
	const char *gpu, *network, *id;
	struct known_system *next;
};

struct wiring {
	struct known_system *systems;
	struct database *quiet;
};

/* --- the system ------------------------------------------------------------------------------------------ */

struct nics {
	double n, byte_per_s; /* NaN when nothing is said */
};

/* `IB NDR 8x400Gb/s per node`; ConnectX-7 is 400 Gb/s. */
static struct nics
nics_of(const char *text)
{
	for (const char *x = text; (x = strchr(x, 'x')); x++) {
		char *end;
		const char *p = x;
		while (p > text && p[-1] >= '0' && p[-1] <= '9')
			p--;
		const double rate = strtod(x + 1, &end);
		end += strspn(end, " ");
		if (p < x && strncmp(end, "Gb/s", 4) == 0)
			return (struct nics){strtod(p, NULL), rate * 1e9 / 8};
	}
	return (struct nics){NAN, strstr(text, "CX-7") ? 400e9 / 8 : NAN};
}

/* Which kind of network its words mean; NULL: any that GPUs reach by verbs. */
static const char *
network_kind(const char *text)
{
	static const struct {
		const char *word, *kind;
	} words[] = {{"EFA", "efa"}, {"IB", "infiniband"}, {"InfiniBand", "infiniband"}, {"TCPX", "gcp"},
	    {"RoCE", "roce"}, {"Slingshot", "slingshot"}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(text, words[i].word))
			return words[i].kind;
	return NULL;
}

static bool
is_verbs(const char *kind)
{
	return strcmp(kind, "infiniband") == 0 || strcmp(kind, "roce") == 0;
}

static bool
is_system_of(const struct system *s, const char *gpu, const char *network, double n_local)
{
	const struct nics said = nics_of(network);
	const char *kind = network_kind(network);
	bool same;

	if (!s->fabric || strcmp(s->gpu->id, gpu) != 0 || s->n_gpus.value < n_local)
		return false;
	if (kind)
		same = fabs(s->n_nics.value * s->nic_byte_per_s.value / (said.n * said.byte_per_s) - 1) < 0.01;
	else
		same = fabs(s->nic_byte_per_s.value / said.byte_per_s - 1) < 0.01 &&
		    (s->n_nics.value == said.n || (n_local == 1 && s->n_nics.value == s->n_gpus.value));
	return same && (kind ? strcmp(s->fabric->kind, kind) == 0 : is_verbs(s->fabric->kind));
}

static const char *
system_of(struct validation *v, struct wiring *w, const char *gpu, const char *network, double n_local)
{
	struct arena *a = v->run->arena;
	const char *ignored;
	size_t n;

	for (const struct known_system *k = w->systems; k; k = k->next)
		if (strcmp(k->gpu, gpu) == 0 && strcmp(k->network, network) == 0)
			return k->id;
	struct known_system *k = ARENA_NEW(a, struct known_system);
	*k = (struct known_system){gpu, network, NULL, w->systems};
	w->systems = k;
	const char **ids = database_list(w->quiet, ENTRY_SYSTEM, &n);
	for (size_t i = 0; i < n && !k->id; i++) {
		const struct system *s = database_system(w->quiet, ids[i], NULL, NULL, (struct source){0}, &ignored);
		if (s && is_system_of(s, gpu, network, n_local))
			k->id = ids[i];
	}
	return k->id;
}

/* --- one collective -------------------------------------------------------------------------------------- */

static enum collective
collective_of(const char *text)
{
	for (int i = 0; i < N_COLLECTIVES; i++)
		if (text_same_folded(collective_name((enum collective)i), text))
			return (enum collective)i;
	return N_COLLECTIVES;
}

/* What NCCL was told to use: `Ring`, `Tree Simple`; several for several sizes is no order. */
static const char *
algorithm_of(const char *text)
{
	static const char *const forced[] = {"ring", "tree", "nvls"};
	char folded[40];

	if (!text || strchr(text, ';'))
		return "auto";
	text_fold(text, folded, sizeof folded);
	for (size_t i = 0; i < sizeof forced / sizeof *forced; i++)
		if (text_begins(folded, forced[i]))
			return forced[i];
	return "auto";
}

/* all_reduce_bench.py times one call of PyTorch after the other; nccl-tests enqueues them. */
static const char *
launch_of(const struct validate_row *row)
{
	return row_has(row, "library", "all_reduce_bench") ? "torch" : "stream";
}

/* What a benchmark's own script orders, where the row does not say it: NCCL_ALGO=NVLS for more than four GPUs in
 * Azure/AI-benchmarking-guide, Benchmarks/NVIDIA/NCCLBandwidth.py. */
static const char *
script_order(const struct validate_row *row, const struct gpu *gpu, double n_ranks)
{
	const char *source = row_text(row, "source");
	const int generation = gpu ? nccl_generation(gpu->architecture) : -1;

	if (!source || !text_begins(source, "Azure/AI-benchmarking-guide") || generation < 2 ||
	    n_ranks < nvls_min_ranks(generation))
		return "auto";
	return "nvls";
}

/* Why a row cannot be compared, from its own columns; NULL if it can. */
static const char *
doubt_of(const struct validate_row *row)
{
	const double bus = row_number(row, "busbw_GBs");

	if (row_is(row, "confidence", "low"))
		return "of low confidence by its own account";
	/* 0.01 may be anything from 0.005 to 0.015 */
	if (row_has(row, "note", "time derived from busbw") && bus < 0.05)
		return "time derived from a bandwidth of one digit";
	if (row_has(row, "intra_link", "P2P disabled"))
		return "peer-to-peer access disabled";
	if (row_has(row, "library", "DeepEP") || row_has(row, "library", "mscclpp"))
		return "library other than NCCL and RCCL: other algorithms, over half or twice the time";
	return NULL;
}

static struct datum
count(double value)
{
	return (struct datum){value, {"file", 0, 0, NULL, false}};
}

struct request {
	enum collective collective;
	const char *gpu, *system, *algorithm, *engine, *launch;
	double n_ranks, n_nodes, size_byte;
};

/* As if this fabric had not been measured: the time, and the half-width of its interval. */
static void
predict_without(struct run *quiet, struct interconnect w, const struct request *q, struct score_case *c)
{
	struct collective_plan plan;
	struct interconnect_words words;
	struct interval i;

	w.unmeasured = true;
	if (!interconnect_plan(quiet, &w, "interconnect", q->collective, q->size_byte, &plan, &words) ||
	    plan.form != FORM_NETWORK)
		return;
	c->baseline[1] = collective_time(NULL, &plan, q->size_byte);
	if (run_interval(quiet, &words.error, c->baseline[1], &i))
		c->wide = log(i.high / i.low) / 2;
}

/* A separate run whose messages are dropped. */
static bool
predict(struct validation *v, const struct request *q, struct score_case *c, const char **why)
{
	struct run quiet = run_quiet(v->run);
	struct interconnect w;
	struct collective_plan plan;
	struct interconnect_words words;
	struct interval i;

	const struct datum absent = datum_absent();
	struct interconnect_in in = {.gpus = count(q->n_ranks),
	    .nodes = count(q->n_nodes),
	    .bandwidth = absent,
	    .nic_bandwidth = absent,
	    .latency = absent,
	    .host_bandwidth = absent,
	    .algorithm = {q->algorithm, {0}},
	    .launch = {q->launch, {0}},
	    .backend = {q->engine, {0}}};
	if (q->system)
		in.system.text = q->system;
	else
		in.gpu.text = q->gpu;
	if (!interconnect_bind(&quiet, &in, &w)) {
		*why = run_refusal(&quiet);
		return false;
	}
	interconnect_rates(&quiet, &w);
	if (!interconnect_plan(&quiet, &w, "interconnect", q->collective, q->size_byte, &plan, &words)) {
		*why = "algorithm does not support this collective";
		return false;
	}
	c->predicted = collective_time(NULL, &plan, q->size_byte);
	if (run_interval(&quiet, &words.error, c->predicted, &i)) {
		c->low = i.low;
		c->high = i.high;
	}
	c->detail = words.model;
	c->label[SCORE_BY_FRAMEWORK] = words.basis;
	if (quiet.warnings.n)
		c->warning = quiet.warnings.list[0].text;
	predict_without(&quiet, w, q, c);
	/* the line rate of what is slowest: no latency, no efficiency */
	const double volume = bus_volume(NULL, q->collective, q->n_ranks, q->size_byte);
	const double nics = q->n_nodes > 1 ? w.nic_byte_per_s * (q->n_ranks / q->n_nodes) : INFINITY;
	c->baseline[0] = volume / fmin(w.link_byte_per_s > 0 ? w.link_byte_per_s : INFINITY, nics);
	return true;
}

/* --- one row --------------------------------------------------------------------------------------------- */

static void
set_labels(const struct validate_row *row, struct score_case *c)
{
	static const struct row_label labels[] = {{SCORE_BY_SOURCE, "source"}, {SCORE_BY_GPU, "gpu_id"},
	    {SCORE_BY_GPU, "gpu"}, {SCORE_BY_KIND, "kind"}, {SCORE_BY_CONFIDENCE, "confidence"},
	    {SCORE_BY_TASK, "collective"}, {SCORE_BY_PRECISION, "dtype"}, {SCORE_BY_BACKEND, "library"}};
	const double size = row_number(row, "size_bytes");

	row_labels(c, row, labels, sizeof labels / sizeof *labels);
	c->label[SCORE_BY_FAMILY] = row_number(row, "nodes") > 1 ? "several nodes" : "one node";
	c->label[SCORE_BY_REGIME] = isnan(size) ? NULL
	    : size <= 65536                     ? "up to 64 KiB"
	    : size <= 4194304                   ? "up to 4 MiB"
	                                        : "above 4 MiB";
}

/* Transfers between two devices, by what a link is known to carry. */
static void
each_transfer(struct validation *v, const struct validate_row *row, struct wiring *w, const char *what)
{
	const double measured = row_number(row, "busbw_GBs") * 1e9;
	const char *id = row_text(row, "gpu_id"), *links = row_text(row, "intra_link"), *ignored;
	const struct gpu *gpu = id ? database_gpu(w->quiet, id, NULL, (struct source){0}, &ignored) : NULL;
	const bool host = strcmp(what, "h2d") == 0 || strcmp(what, "d2h") == 0;
	const char *link_id = !gpu ? NULL : host || (links && strstr(links, "PCIe")) ? gpu->pcie : gpu->link_kind;
	const struct link *link = link_id ? database_link(w->quiet, link_id, NULL, (struct source){0}, &ignored) : NULL;
	const double rate = !link          ? NAN
	    : host || link_id == gpu->pcie ? link->h2d_byte_per_s.value
	                                   : link->p2p_byte_per_s.value;

	if (!link || isnan(rate) || !(measured > 0)) {
		set_labels(row, validation_skip(v, row_line(row), "transfer over a link of unknown rate"));
		return;
	}
	struct score_case *c = validation_add(v, row_line(row), "x_byte_per_s");
	set_labels(row, c);
	c->measured = measured;
	c->predicted = rate;
	c->name = arena_printf(v->run->arena, "%s over %s", what, link->name);
}

/* The default end of nccl-tests' sweeps on one node in its README. */
static const double peak_byte = 8589934592;

static void
each_row(struct validation *v, const struct validate_row *row, void *context)
{
	struct wiring *w = context;
	const char *what = row_text(row, "collective"), *gpu = row_text(row, "gpu_id");
	const char *network = row_text(row, "inter_link");
	const double nodes = row_number(row, "nodes");
	struct request q = {.collective = what ? collective_of(what) : N_COLLECTIVES,
	    .gpu = gpu,
	    .algorithm = algorithm_of(row_text(row, "algo")),
	    .launch = launch_of(row),
	    .n_ranks = row_number(row, "ranks"),
	    .n_nodes = isnan(nodes) ? 1 : nodes,
	    .size_byte = row_number(row, "size_bytes")};
	double measured = row_number(row, "time_us") * 1e-6;
	const double bus = row_number(row, "busbw_GBs") * 1e9;
	const char *why = NULL;

	if (!row_is(row, "kind", "measured") && !row_is(row, "kind", "ci_baseline"))
		why = "not a measurement (thresholds and inputs of models)";
	else if ((why = doubt_of(row)))
		;
	else if (what && nodes > 1 && strcmp(what, "p2p_unidir") == 0)
		q.collective = COLLECTIVE_SEND_RECV;
	else if (what && (strcmp(what, "h2d") == 0 || strcmp(what, "d2h") == 0 || strcmp(what, "p2p_unidir") == 0)) {
		each_transfer(v, row, w, what);
		return;
	}
	if (!why && q.collective == N_COLLECTIVES)
		why = "not a collective of NCCL or RCCL";
	else if (!why && !gpu)
		why = "the GPU is not in the database";
	else if (!why && isnan(q.n_ranks))
		why = "no number of ranks";
	/* a bandwidth without a size is the peak, which benchmarks reach at their largest size */
	if (isnan(q.size_byte))
		q.size_byte = peak_byte;
	if (!why && q.n_nodes == 1 && q.collective == COLLECTIVE_ALL_REDUCE && strcmp(q.algorithm, "auto") == 0) {
		const char *ignored;
		q.algorithm =
		    script_order(row, database_gpu(w->quiet, gpu, NULL, (struct source){0}, &ignored), q.n_ranks);
	}
	if (!why && isnan(measured))
		measured = bus_volume(NULL, q.collective, q.n_ranks, q.size_byte) / bus;
	if (!why && !(measured > 0))
		why = "no time and no bandwidth";
	if (!why && q.n_nodes > 1) {
		q.system = network ? system_of(v, w, gpu, network, q.n_ranks / q.n_nodes) : NULL;
		why = q.system ? NULL : "no system with this GPU and network in the database";
	}
	struct score_case made = {0};
	made.low = made.high = made.baseline[0] = made.baseline[1] = NAN;
	if (why || !predict(v, &q, &made, &why)) {
		set_labels(row, validation_skip(v, row_line(row), why));
		return;
	}
	struct score_case *c = validation_add(v, row_line(row), "x_s");
	set_labels(row, c);
	c->measured = measured;
	c->predicted = made.predicted;
	c->low = made.low;
	c->high = made.high;
	c->baseline[0] = made.baseline[0];
	c->baseline[1] = made.baseline[1];
	c->warning = made.warning;
	c->wide = made.wide;
	c->detail = made.detail;
	c->label[SCORE_BY_FRAMEWORK] = made.label[SCORE_BY_FRAMEWORK];
	c->name = arena_printf(v->run->arena, "%s of %g bytes on %g ranks%s%s", what, q.size_byte, q.n_ranks,
	    q.system ? ", " : "", q.system ? q.system : "");
}

/* --- the file -------------------------------------------------------------------------------------------- */

static bool
recognises(const struct validate_file *f)
{
	return validate_has(f, "collective") && validate_has(f, "inter_link") && validate_has(f, "busbw_GBs");
}

static bool
read_comm(struct validation *v, const struct validate_file *f)
{
	struct wiring w = {.quiet = database_reporting_to(v->run->database, diag_new(v->run->arena))};

	v->baseline[0] = "line rate";
	v->baseline[1] = "other fabrics";
	return validation_rows(v, f, each_row, &w);
}

const struct validate_kind validate_comm = {
    "comm", "published collectives (collective, inter_link, busbw_GBs)", recognises, read_comm};
