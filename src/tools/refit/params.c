/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fitted constants and traits: scalars in the trees of stacks and of the calibrations of fabrics. */
#include "parts.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS_MAX = 256, TRAITS_MAX = 256 };
/* Standard deviation of a constant from one that it equals. */
static const double SHARED = 1e-3;
/* Of the mean of several. */
static const double LOOSE = 1e3;

/* Trees are constant for everybody else: here they are the database's values to be changed. */
static struct node *
writable(const struct node *n)
{
	struct node *out;

	memcpy(&out, &n, sizeof out);
	return out;
}

/* --- the trees ------------------------------------------------------------------------------------------- */

static const struct node *
tree_of(struct refit *r, enum entry_kind kind, const char *entry)
{
	const char *id;

	return entry ? database_try(r->db, kind, entry, &id) : NULL;
}

static const char *
parent_of(struct refit *r, enum entry_kind kind, const char *entry)
{
	const struct node *root = tree_of(r, kind, entry), *extends = tree_get(root, "extends");
	const char *id;

	return extends && database_try(r->db, kind, extends->text, &id) ? id : NULL;
}

static const char *
root_of(struct refit *r, const char *entry)
{
	const char *up = parent_of(r, ENTRY_STACK, entry);

	return up ? root_of(r, up) : entry;
}

bool
refit_inherits(struct refit *r, const char *entry, const char *from)
{
	return entry && (strcmp(entry, from) == 0 || refit_inherits(r, parent_of(r, ENTRY_ENGINE, entry), from));
}

/* The stack that stands for a class: who shards everything, and who does not. */
static const char *
class_of(struct refit *r, const char *entry)
{
	const struct node *root = tree_of(r, ENTRY_STACK, root_of(r, entry));
	const struct node *zero = tree_at(root, "parallel.zero"), *request = tree_at(root, "parallel.zero_on_request");
	const bool shards = zero && zero->text && strcmp(zero->text, "3") == 0;

	return shards && !(request && request->text && strcmp(request->text, "true") == 0) ? "unlisted-fsdp"
	                                                                                   : "unlisted";
}

static const struct node *
scalar_of(const struct node *n)
{
	return n && n->kind == NODE_LIST && n->n > 0 ? n->items[0] : n;
}

/* What the stack has at this path: its own, or inherited. */
static const struct node *
effective(struct refit *r, const char *entry, const char *path)
{
	const struct node *own = tree_at(tree_of(r, ENTRY_STACK, entry), path);
	const char *up = parent_of(r, ENTRY_STACK, entry);

	return own ? scalar_of(own) : up ? effective(r, up, path) : NULL;
}

static bool
is_fitted(const struct node *root, const struct node *n)
{
	if (n->kind != NODE_LIST || n->n != 2 || n->items[1]->kind != NODE_SCALAR || n->items[0]->kind != NODE_SCALAR)
		return false;
	const struct node *source = tree_get(tree_get(root, "sources"), n->items[1]->text);
	return source && source->text && text_begins(source->text, "fitted");
}

/* --- finding constants ----------------------------------------------------------------------------------- */

/* How far a constant of this name may lie from what it inherits, as a standard deviation of its logarithm.  Bytes of a
 * logit and the share of a transfer that waits follow from what a framework does: they hardly move.  Of the rest these
 * make the error of groups, GPUs and sources that were left out least; twice or half of them costs 0.2 points. */
static double
tau_of(const char *path)
{
	if (text_begins(path, "step.") || text_begins(path, "architectures.") || text_begins(path, "kernels.") ||
	    text_begins(path, "links."))
		return 0.7;
	return strstr(path, "sigma")                               ? 0.15
	    : strstr(path, "moe_")                                 ? 0.5
	    : strstr(path, ".hop")                                 ? 0.4
	    : strstr(path, ".nic")                                 ? 0.05
	    : strstr(path, "logit") || strstr(path, "p2p_exposed") ? 0.05
	                                                           : 0.25;
}

/* What was believed of a class before anything was fitted: eager elementwise kernels move half as much again as fused
 * ones, logits are counted, half of a transfer between stages waits.  In the unit of the files. */
static double
belief_of(const char *path, double otherwise)
{
	static const struct {
		const char *key;
		double value;
	} beliefs[] = {{"time.sigma", 1.15}, {"time.elementwise", 1.4}, {"time.elementwise_compiled", 1.1},
	    {"time.logit", 14}, {"time.logit_compiled", 14}, {"time.p2p_exposed", 0.5}, {"time.moe_floor", 4.8},
	    {"time.moe_expert_floor", 0.25}, {"time.moe_sync", 1.0}, {"time.moe_expert", 0.2}};

	for (size_t i = 0; i < sizeof beliefs / sizeof *beliefs; i++)
		if (strcmp(path, beliefs[i].key) == 0)
			return log(beliefs[i].value);
	return otherwise;
}

/* What one would guess of the steps of a network, where no row is left.  In the unit of the files. */
static const double hop_belief_us = 40;

/* Of what all fabrics share: what the sweeps of efa-p5 and gcp-tcpxo gave, which are in none of the files of rows. */
static double
shared_belief(const struct refit_param *p)
{
	if (strstr(p->path, ".fill"))
		return log(strstr(p->path, "all_reduce") ? 3.5 : 0.66);
	return strstr(p->path, ".nic") ? log(0.9) : p->start;
}

/* What one would guess of an engine that nobody measured: a step's time on the CPU, factors of 1, ten elements
 * per clock and SM of attention on vector units, half of the peak, 10 us of the CPU for an operation of PyTorch, five
 * small kernels to choose experts, 32 tokens of a cache that eight blocks wait for twice 0.8 us, a tenth of the peak
 * for kernels of an earlier generation, 16 bytes of a decoder's buffers (logits and probabilities in fp32, twice), a
 * twentieth more for a message over PCIe per further GPU, 5 ms for a step of two there, a third of the memory's rate
 * for kernels that quantize.  A value without a guess, such as kernels', starts where it stands. */
static double
engine_belief(const struct refit_param *p)
{
	static const struct {
		const char *end, *unit;
		double value;
	} beliefs[] = {{"step.host", "ms", 1.5}, {"step.prefill", "ms", 3}, {"step.sequence", "us", 3},
	    {"step.front", "ms", 1}, {"step.gpu", "", 1}, {"step.comm", "", 1.3}, {".imbalance", "", 2},
	    {".moe_time", "", 1.3}, {".base", "", 1}, {".host", "", 1}, {".kv_rate", "", 0.5},
	    {".fp8_attention", "", 1.5}, {"_base", "", 1}, {"core_elements", "", 10}, {".fp16", "", 0.5},
	    {"step.launch", "us", 10}, {"step.first", "ms", 20}, {"step.router", "us", 20}, {".latent_walk", "ns", 6},
	    {".latent_prompts", "", 0.1}, {".fp8_block", "", 0.1}, {".nvlink_wait", "us", 20}, {".pcie_wait", "", 1.3},
	    {".pcie_contention", "", 0.05}, {".pcie_pair", "ms", 5}, {"pool.decoder", "B", 16}, {".moe_peak", "", 1},
	    {"step.quantise_rate", "", 0.33}};
	const size_t n = strlen(p->path);

	for (size_t i = 0; i < sizeof beliefs / sizeof *beliefs; i++) {
		const size_t m = strlen(beliefs[i].end);
		if (m <= n && strcmp(p->path + n - m, beliefs[i].end) == 0 && strcmp(p->unit, beliefs[i].unit) == 0)
			return log(beliefs[i].value);
	}
	return p->start;
}

/* What is known of an engine beside its runs.  The vLLM project profiled release 0.5.3 with Llama 3 8B on an H100: 38 %
 * of the time on the GPU, 62 % on the CPU (blog.vllm.ai, 2024-09-05); 256 sequences take that GPU 11.4 ms.  Attention
 * that reads a cache once per query head gets it from memory: 5.3 TB/s over 304 units at 2.1 GHz, 2 bytes an element.
 * llama.cpp unpacks weights and multiplies them by kernels of its own, at half the FLOPs per joule of a library's on
 * Hopper: what its file says of architectures without runs.
 */
static const struct known {
	const char *entry, *path;
	double value;
} known_beliefs[] = {{"vllm-0.6", "step.sequence", 70}, {"vllm-0.6", "architectures.cdna3.core_elements", 4.15},
    {"llama.cpp", "architectures.hopper.flop_per_joule", 0.5e12},
    {"llama.cpp", "architectures.ampere.flop_per_joule", 0.5e12}};

/* The fixed parts of kernels are those of an architecture's software at a time, whatever engine launches them. */
static const struct alike {
	const char *entry, *path, *like_entry, *like_path;
} alikes[] = {{"sglang-0.5.6", "architectures.cdna4.base", "sglang-0.5.9", "architectures.cdna3.base8"},
    {"vllm-0.6", "architectures.cdna3.base", "sglang-0.5.9", "architectures.cdna3.base8"}};

static const struct known *
known_belief(const struct refit_param *p)
{
	for (size_t i = 0; i < sizeof known_beliefs / sizeof *known_beliefs; i++)
		if (strcmp(p->entry, known_beliefs[i].entry) == 0 && strcmp(p->path, known_beliefs[i].path) == 0)
			return &known_beliefs[i];
	return NULL;
}

/* What a counter of memory shows beyond live tensors, in GiB: the CUDA context and libraries 0.5 on the device, and as
 * much again and the rest of its blocks what an allocator of training keeps; generation frees nearly nothing. */
static double
counter_belief(const char *path, bool trains, double otherwise)
{
	if (strcmp(path, "counters.device") == 0)
		return log(trains ? 1.5 : 0.5);
	if (strcmp(path, "counters.reserved") == 0)
		return log(trains ? 1.0 : 0.25);
	return otherwise;
}

/* The same of a class: how far it may lie from what stands in the file.  Transports differ so
 * much that one says hardly anything of another (network_middle). */
static double
class_tau(const char *path)
{
	return strstr(path, "sigma") ? 0.5 : strstr(path, ".hop") ? 3 : tau_of(path);
}

static double
number_in(const struct node *n, const char **unit)
{
	char *end;
	const double value = strtod(n->text, &end);

	*unit = end;
	return end == n->text ? NAN : value;
}

static void
add(struct refit *r, enum entry_kind kind, const char *entry, const char *path, const struct node *n)
{
	const char *unit;
	const double value = number_in(n, &unit);

	if (!(value > 0) || r->n_params == PARAMS_MAX)
		return;
	r->params[r->n_params++] = (struct refit_param){.kind = kind,
	    .entry = entry,
	    .path = path,
	    .unit = unit,
	    .length = strlen(n->text),
	    .node = n,
	    .start = log(value),
	    .least = log(value) - 2,
	    .most = strstr(path, "p2p_exposed") || strstr(path, ".nic") || strstr(path, ".tree") ? 0 : log(value) + 2,
	    .tau = tau_of(path),
	    .up = -1,
	    .otherwise = log(value)};
}

static bool
is_wanted(enum domain d, const char *path)
{
	const bool time = text_begins(path, "time.");

	if (d == DOMAIN_SERVE) /* pools are fitted to memory logs */
		return !text_begins(path, "pool.");
	return d == DOMAIN_TRAIN ? time : !time && strcmp(path, "safety") != 0;
}

static enum entry_kind
kind_of(const struct refit *r)
{
	return r->domain == DOMAIN_COMM ? ENTRY_CALIBRATION : r->domain == DOMAIN_SERVE ? ENTRY_ENGINE : ENTRY_STACK;
}

static void
walk(struct refit *r, const char *entry, const struct node *root, const struct node *n, const char *path)
{
	if (n->kind == NODE_LIST && is_fitted(root, n) && is_wanted(r->domain, path))
		add(r, kind_of(r), entry, path, n->items[0]);
	else if (n->kind == NODE_MAP || n->kind == NODE_LIST)
		for (size_t i = 0; i < n->n; i++) {
			const char *key = n->kind == NODE_MAP ? n->keys[i]->text : arena_printf(r->arena, "%zu", i);
			walk(r, entry, root, n->items[i], *path ? arena_printf(r->arena, "%s.%s", path, key) : key);
		}
}

static void
walk_fabric(struct refit *r, const char *entry, const struct node *root)
{
	const struct node *network = tree_get(root, "network");

	for (size_t i = 0; network && i < network->n; i++)
		for (size_t k = 0; k < network->items[i]->n; k++) {
			const char *key = network->items[i]->keys[k]->text;
			if (strcmp(key, "hop") == 0 || strcmp(key, "fill") == 0 || strcmp(key, "nic") == 0 ||
			    strcmp(key, "tree") == 0)
				add(r, ENTRY_CALIBRATION, entry,
				    arena_printf(r->arena, "network.%s.%s", network->keys[i]->text, key),
				    scalar_of(network->items[i]->items[k]));
		}
}

static int
find(const struct refit *r, const char *entry, const char *path)
{
	for (int i = 0; i < r->n_params; i++)
		if (strcmp(r->params[i].path, path) == 0 && strcmp(r->params[i].entry, entry) == 0)
			return i;
	return -1;
}

/* The mean of a class: over all that have no other constant to inherit from. */
static int
class_mean(struct refit *r, enum entry_kind kind, const char *class, const char *path, double start)
{
	const int found = find(r, class, path);

	if (found >= 0 || r->n_params == PARAMS_MAX)
		return found;
	r->params[r->n_params] = (struct refit_param){.kind = kind,
	    .entry = class,
	    .path = path,
	    .start = start,
	    .least = start - 2,
	    .most = start + 2,
	    .tau = class_tau(path),
	    .up = -1,
	    .otherwise = start,
	    .hyper = true};
	return r->n_params++;
}

/* A fabric's latency of a step: the mean of those of its kind (verbs, AWS's datagrams), and that of all, whatever the
 * collective that it was measured by. */
static int
fabric_mean(struct refit *r, const struct refit_param *p)
{
	const struct node *fabric = scalar_of(tree_get(tree_of(r, ENTRY_CALIBRATION, p->entry), "fabric")),
	                  *link = fabric ? scalar_of(tree_get(tree_of(r, ENTRY_LINK, fabric->text), "kind")) : NULL;
	const int all = class_mean(r, p->kind, "all fabrics", "network.hop", p->start);

	if (!link || all < 0)
		return all;
	const char *kind = strcmp(link->text, "infiniband") == 0 ? "roce" : link->text;
	const int like =
	    class_mean(r, p->kind, arena_printf(r->arena, "fabrics of kind %s", kind), "network.hop", p->start);
	if (like >= 0)
		r->params[like].up = all;
	return like;
}

static void
find_up(struct refit *r, int i)
{
	struct refit_param *p = &r->params[i];
	const char *entry = p->entry;
	const struct known *known = known_belief(p);

	if (known) {
		p->otherwise = log(known->value);
		return;
	}
	for (size_t k = 0; k < sizeof alikes / sizeof *alikes; k++)
		if (strcmp(p->entry, alikes[k].entry) == 0 && strcmp(p->path, alikes[k].path) == 0) {
			p->up = find(r, alikes[k].like_entry, alikes[k].like_path);
			return;
		}
	if (p->kind == ENTRY_CALIBRATION) {
		p->up = strcmp(entry, "network") == 0 ? -1 : find(r, "network", p->path);
		if (p->up < 0 && strstr(p->path, ".hop"))
			p->up = fabric_mean(r, p);
		else if (p->up < 0)
			p->otherwise = shared_belief(p);
		return;
	}
	while ((entry = parent_of(r, p->kind, entry))) {
		p->up = find(r, entry, p->path);
		if (p->up >= 0)
			return;
		const struct node *stated = tree_at(tree_of(r, p->kind, entry), p->path);
		const char *unit;
		if (stated && number_in(scalar_of(stated), &unit) > 0) {
			p->otherwise = log(number_in(scalar_of(stated), &unit));
			return;
		}
	}
	if (p->kind == ENTRY_ENGINE) {
		p->otherwise = engine_belief(p);
		return;
	}
	if (strcmp(p->path, "time.moe_sigma") == 0) { /* instead of the factor of all layers */
		for (entry = p->entry; entry && p->up < 0; entry = parent_of(r, ENTRY_STACK, entry))
			p->up = find(r, entry, "time.sigma");
		return;
	}
	if (text_begins(p->path, "logits.")) /* each is another way to work out the loss */
		return;
	if (r->domain == DOMAIN_MEMORY) {
		const struct node *use = tree_get(tree_of(r, p->kind, root_of(r, p->entry)), "use");
		const bool trains = !use || strcmp(use->text, "infer") != 0;
		p->up = class_mean(r, p->kind, trains ? "stacks that train" : "stacks that generate", p->path,
		    counter_belief(p->path, trains, p->start));
		return;
	}
	/* a root: its class's; the class of what nobody listed is the mean of all */
	for (entry = class_of(r, p->entry); entry && p->up < 0; entry = parent_of(r, ENTRY_STACK, entry))
		p->up = find(r, entry, p->path);
	if (p->up < 0 || strcmp(p->entry, "unlisted-fsdp") == 0)
		p->up = strcmp(p->entry, "unlisted") == 0 ? -1 : find(r, "unlisted", p->path);
	if (p->up == i)
		p->up = -1;
	if (p->up < 0) {
		p->tau = class_tau(p->path);
		p->otherwise = belief_of(p->path, p->start);
	}
}

/* What equals the constant that it inherits is that constant. */
static void
share(struct refit *r, int i)
{
	struct refit_param *p = &r->params[i];

	if (p->up >= 0 && r->domain == DOMAIN_TRAIN && fabs(p->start - r->params[p->up].start) < 1e-6)
		p->tau = SHARED;
}

/* A mean without a stack of its own.  That of fabrics is held hardly at all, by what is believed of them: held by what
 * they have, a fabric left out would be drawn towards its own fit. */
static void
anchor(struct refit *r, int i, int stated)
{
	struct refit_param *p = &r->params[i];
	double sum = 0;
	int k = 0;

	for (int j = 0; j < (p->kind == ENTRY_CALIBRATION ? r->n_params : stated); j++)
		if (r->params[j].up == i) {
			sum += r->params[j].start;
			k++;
		}
	if (k > 0 && !text_begins(p->path, "counters."))
		p->start = p->otherwise = sum / k;
	if (p->kind != ENTRY_CALIBRATION)
		return;
	p->start = p->otherwise = log(hop_belief_us);
	if (k > 1 && p->up < 0)
		p->tau = LOOSE;
}

/* Whether a row rests on the measurements of this fabric. */
static bool
has_rows(const struct refit *r, const char *entry)
{
	for (int i = 0; i < r->n; i++)
		if (strcmp(r->rows[i].stack, entry) == 0)
			return true;
	return false;
}

void
refit_find_params(struct refit *r)
{
	const enum entry_kind kind = kind_of(r);
	size_t n;
	const char **ids = database_list(r->db, kind, &n);

	r->params = ARENA_ARRAY(r->arena, struct refit_param, PARAMS_MAX);
	for (size_t i = 0; i < n; i++) {
		const struct node *root = tree_of(r, kind, ids[i]);
		if (kind != ENTRY_CALIBRATION)
			walk(r, ids[i], root, root, "");
		else if (tree_get(root, "fabric"))
			walk_fabric(r, ids[i], root);
	}
	const int stated = r->n_params;
	for (int i = 0; i < stated; i++)
		find_up(r, i);
	for (int i = 0; i < stated; i++)
		share(r, i);
	for (int i = stated; i < r->n_params; i++)
		anchor(r, i, stated);
	for (int i = 0; i < stated; i++)
		r->params[i].given = kind == ENTRY_CALIBRATION && strcmp(r->params[i].entry, "network") != 0 &&
		    !has_rows(r, r->params[i].entry);
}

/* --- laying values over the files ------------------------------------------------------------------------ */

static const char *
text_of(struct arena *a, const struct refit_param *p, double x)
{
	return arena_printf(a, "%.9g%s", exp(x), p->unit);
}

void
refit_set(struct refit *r, const double *x)
{
	if (r->domain == DOMAIN_COMM) /* calibrations are bound once and kept */
		r->db = database_new(r->arena, r->diag, NULL);
	for (int i = 0; i < r->n_params; i++) {
		const struct refit_param *p = &r->params[i];
		if (p->hyper)
			continue;
		const struct node *n =
		    r->domain == DOMAIN_COMM ? scalar_of(tree_at(tree_of(r, p->kind, p->entry), p->path)) : p->node;
		writable(n)->text = text_of(r->arena, p, x[i]);
	}
}

/* The line of the file with the value replaced at its place. */
static bool
replace(const char *path, int line, int column, size_t length, const char *text)
{
	FILE *f = fopen(path, "r");
	char *buf = NULL, *out;
	size_t size = 0, at = 0;

	if (!f || fseek(f, 0, SEEK_END) != 0)
		return false;
	size = (size_t)ftell(f);
	rewind(f);
	buf = malloc(size + 1);
	const bool ok = fread(buf, 1, size, f) == size;
	fclose(f);
	for (int l = 1; l < line && at < size; at++)
		l += buf[at] == '\n';
	at += (size_t)column - 1;
	f = ok && at + length <= size ? fopen(path, "w") : NULL;
	out = buf;
	const bool done = f && fwrite(out, 1, at, f) == at && fputs(text, f) >= 0 &&
	    fwrite(out + at + length, 1, size - at - length, f) == size - at - length;
	if (f)
		fclose(f);
	free(buf);
	return done;
}

/* The value to write: of a constant that equals another one, that one's. */
static double
written(const struct refit *r, const double *x, int i)
{
	const struct refit_param *p = &r->params[i];

	return p->tau == SHARED ? written(r, x, p->up) : x[i];
}

bool
refit_write(const struct refit *r, const double *x, const char *hwdb)
{
	/* from the end of each file to its beginning, so that places hold */
	for (int i = r->n_params - 1; i >= 0; i--) {
		const struct refit_param *p = &r->params[i];
		const double value = written(r, x, i);
		const char *path = arena_printf(r->arena, "%s/%s/%s.yaml", hwdb, entry_kind_folder(p->kind), p->entry);
		if (p->hyper || !p->moves || fabs(value - p->start) < 0.005)
			continue;
		if (!replace(path, p->node->at.line, p->node->at.column, p->length,
		        arena_printf(r->arena, "%.3g%s", exp(value), p->unit)))
			return false;
	}
	return true;
}

/* --- traits ---------------------------------------------------------------------------------------------- */

/* Facts of a release, and what is no constant. */
static bool
is_fact(const char *key)
{
	static const char *const facts[] = {"release", "listed", "instead", "spread", "runs", "host", "step"};

	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		if (strcmp(key, facts[i]) == 0)
			return true;
	return false;
}

static bool
same(const char *a, const char *b)
{
	char *end_a, *end_b;

	if (!a || !b)
		return a == b;
	const double x = strtod(a, &end_a), y = strtod(b, &end_b);
	return end_a != a && end_b != b ? x == y && strcmp(end_a, end_b) == 0 : strcmp(a, b) == 0;
}

struct refit_trait *
refit_find_traits(struct refit *r, int *n)
{
	struct refit_trait *out = ARENA_ARRAY(r->arena, struct refit_trait, TRAITS_MAX);
	size_t n_ids;
	const char **ids = database_list(r->db, ENTRY_STACK, &n_ids);

	*n = 0;
	for (size_t i = 0; i < n_ids; i++) {
		const struct node *time = tree_get(tree_of(r, ENTRY_STACK, ids[i]), "time");
		const char *up = parent_of(r, ENTRY_STACK, ids[i]), *class = class_of(r, ids[i]);
		for (size_t k = 0; time && k < time->n && !text_begins(ids[i], "unlisted"); k++) {
			const char *key = time->keys[k]->text, *path = arena_printf(r->arena, "time.%s", key);
			const struct node *own = scalar_of(time->items[k]);
			const bool fitted = is_fitted(tree_of(r, ENTRY_STACK, ids[i]), time->items[k]);
			const struct node *other = effective(r, up ? up : class, path);
			const char *otherwise = other ? other->text : NULL;
			if (is_fact(key) || same(own->text, otherwise) ||
			    (!otherwise && strcmp(own->text, "false") == 0) || *n == TRAITS_MAX)
				continue;
			const int param = find(r, ids[i], path);
			if (param >= 0 && (!r->params[param].moves || r->params[param].tau == SHARED))
				continue;
			out[(*n)++] = (struct refit_trait){.entry = ids[i],
			    .key = key,
			    .value = own->text,
			    .otherwise = otherwise ? otherwise : "none",
			    .param = param,
			    .fitted = fitted,
			    .map = writable(time),
			    .node = writable(own),
			    .inherits = up || !otherwise};
		}
	}
	return out;
}

/* Swap the key with one that the map has at its end, and leave that out; or back. */
static void
drop(struct node *map, const char *key)
{
	size_t i = 0;

	while (i < map->n && strcmp(map->keys[i]->text, key) != 0)
		i++;
	const size_t last = i < map->n ? map->n - 1 : i;
	const struct node *k = map->keys[i], *v = map->items[i];
	map->keys[i] = map->keys[last];
	map->items[i] = map->items[last];
	map->keys[last] = k;
	map->items[last] = v;
	map->n = last;
}

void
refit_trait_off(struct refit *r, struct refit_trait *t)
{
	(void)r;
	if (t->inherits)
		drop(t->map, t->key);
	else
		t->node->text = t->otherwise;
}

void
refit_trait_on(struct refit *r, struct refit_trait *t)
{
	(void)r;
	if (t->inherits)
		t->map->n++;
	else
		t->node->text = t->value;
}

void
refit_no_match(struct refit *r)
{
	size_t n;
	const char **ids = database_list(r->db, ENTRY_STACK, &n);

	r->unlisted = true;
	for (size_t i = 0; i < n; i++) {
		const struct node *match = tree_get(tree_of(r, ENTRY_STACK, ids[i]), "match");
		for (size_t k = 0; match && k < match->n; k++)
			writable(tree_get(match->items[k], "says"))->text = "no row says this";
	}
}
