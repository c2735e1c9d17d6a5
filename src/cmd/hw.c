/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge hw: what the database knows of GPUs, systems and links, datasheet beside calibrated, with sources. */
#include "cli/hw_show.h"
#include "data/database.h"
#include "ridge/roofline.h"

#include <string.h>

#define HW_OPTIONS(X)                                                                                                  \
	X(0, verb, NULL, "verb", CHOICE, "VERB", "list|show|compare", NULL, "what to do")                              \
	X(0, names, NULL, "names", WORDS, "NAME", "gpu", NULL, "entries, or gpus, systems, links for list")            \
	X(0, architecture, "architecture", "architecture", WORD, "NAME", "", NULL,                                     \
	    "list only GPUs of this architecture")                                                                     \
	X(0, vendor, "vendor", "vendor", WORD, "NAME", "NVIDIA|AMD", NULL, "list only GPUs of this vendor")            \
	X(0, kind, "kind", "kind", WORD, "KIND", "", NULL,                                                             \
	    "list only links of this kind: nvlink, infiniband, storage, ...")                                          \
	X(0, with, "with", "with", WORD, "GPU", "gpu", NULL, "list only systems with this GPU")

struct hw_in {
	HW_OPTIONS(OPTION_MEMBER)
};

#define THIS struct hw_in
static const struct option hw_options[] = {HW_OPTIONS(OPTION_ROW)};
#undef THIS
static const struct option_group hw_groups[] = {OPTION_GROUP(hw_options, 0)};

/* --- rows ------------------------------------------------------------------------------------------------ */

/* Row names of the peaks: peak_bf16_flop_per_s. */
static const struct {
	const char *row, *word_row, *label;
} peak_rows[] = {
#define PEAK(id, text, substitute, title) {"peak_" text "_flop_per_s", "peak_" text, text},
#include "ridge/dtype.def"
#undef PEAK
};

static void
show_prices(struct run *r, const struct price *prices, int n)
{
	for (int i = 0; i < n; i++)
		SCOPE_I (r->sheet, "prices", i) {
			hw_word(r, "on", "price on", prices[i].on);
			hw_figure(r, "price_usd_per_s", prices[i].usd_per_s, "price");
			hw_word(r, "per", "per", prices[i].per ? prices[i].per : "gpu");
			hw_word(r, "from", "source", prices[i].source);
		}
}

static void
show_gpu(struct run *r, const struct gpu *gpu)
{
	struct sheet *sh = r->sheet;

	hw_word(r, "name", "GPU", gpu->name);
	hw_word(r, "architecture", "architecture", gpu->architecture);
	hw_word(r, "compute_capability", "compute capability", gpu->compute_capability);
	hw_figure(r, "n_sms", gpu->n_sms, "SMs");
	hw_figure(r, "clock_tensor_hertz", gpu->clock_tensor_hertz, "clock of the tensor peaks");
	hw_figure(r, "clock_max_hertz", gpu->clock_max_hertz, "highest clock");
	hw_word(r, "mem_type", "memory", gpu->mem_type);
	hw_figure(r, "mem_usable_byte", gpu->mem_usable_byte, "usable memory");
	hw_figure(r, "mem_byte_per_s", gpu->mem_byte_per_s, "memory bandwidth");
	hw_figure(r, "l2_byte", gpu->l2_byte, "L2");
	hw_figure(r, "llc_byte", gpu->llc_byte, "last-level cache");
	hw_figure(r, "shared_byte", gpu->shared_byte, "shared memory per SM");
	hw_figure(r, "shared_combined_byte", gpu->shared_combined_byte, "shared memory and L1 per SM");
	hw_figure(r, "n_registers", gpu->n_registers, "32-bit registers per SM");
	for (int p = 0; p < N_PEAKS; p++) {
		const char *label = arena_printf(r->arena, "%s peak, dense", peak_rows[p].label);
		if (gpu->lacks[p])
			hw_word(r, peak_rows[p].word_row, label, "none");
		else
			hw_figure(r, peak_rows[p].row, gpu->peak_flop_per_s[p], label);
	}
	hw_figure(r, "sparsity", gpu->sparsity, "sparse figures multiply by");
	if (datum_given(gpu->peak_flop_per_s[PEAK_FP16]) && datum_given(gpu->mem_byte_per_s)) {
		CALL(sh, ridge_flop_per_byte,
		    ridge_point(sh, gpu->peak_flop_per_s[PEAK_FP16].value, gpu->mem_byte_per_s.value));
		SHOW(sh, ridge_flop_per_byte, "ridge point, 16-bit");
	}
	hw_word(r, "link_kind", "link", gpu->link_kind);
	hw_figure(r, "n_links", gpu->n_links, "links");
	hw_figure(r, "link_byte_per_s", gpu->link_byte_per_s, "one link, one direction");
	hw_word(r, "pcie", "PCIe", gpu->pcie);
	hw_figure(r, "tdp_watt", gpu->tdp_watt, "board power");
	hw_word(r, "launch", "launched", gpu->launch);
	hw_figure(r, "msrp_usd", gpu->msrp_usd, "list price");
	show_prices(r, gpu->prices, gpu->n_prices);
	hw_show_calibration(r, gpu);
	hw_word(r, "notes", "note", gpu->notes);
}

static const char *const domain_names[] = {
    "none", "PCIe", "hybrid cube mesh", "direct NVLink", "NVSwitch", "xGMI mesh"};

static void
show_system(struct run *r, const struct system *s)
{
	hw_word(r, "name", "system", s->name);
	hw_word(r, "gpu", "GPU", s->gpu->id);
	hw_figure(r, "n_gpus", s->n_gpus, "GPUs per node");
	hw_word(r, "domain", "inside a node", domain_names[s->domain]);
	hw_figure(r, "n_domain_gpus", s->n_domain_gpus, "GPUs in one domain");
	hw_figure(r, "domain_byte_per_s", s->domain_byte_per_s, "per GPU, one direction");
	hw_figure(r, "pair_byte_per_s", s->pair_byte_per_s, "one pair, one direction");
	hw_word(r, "sharp", "in-switch reduction", s->sharp ? "yes" : "no");
	hw_word(r, "fabric", "network", s->fabric ? s->fabric->id : "none");
	hw_figure(r, "n_nics", s->n_nics, "NICs per node");
	hw_figure(r, "nic_byte_per_s", s->nic_byte_per_s, "one NIC, one direction");
	hw_figure(r, "n_rails", s->n_rails, "rails");
	hw_word(r, "host_cpu", "host", s->host_cpu);
	hw_figure(r, "n_host_cores", s->n_host_cores, "host cores");
	hw_figure(r, "host_mem_byte", s->host_mem_byte, "host memory");
	hw_word(r, "host_storage", "local storage", s->host_storage);
	hw_figure(r, "power_watt", s->power_watt, "power");
	hw_figure(r, "purchase_usd", s->purchase_usd, "purchase price");
	show_prices(r, s->prices, s->n_prices);
	hw_word(r, "notes", "note", s->notes);
}

static void
show_link(struct run *r, const struct link *l)
{
	hw_word(r, "name", "link", l->name);
	hw_word(r, "kind", "kind", l->kind);
	hw_word(r, "scope", "figures are of one", l->scope);
	hw_figure(r, "link_byte_per_s", l->byte_per_s, "one direction");
	hw_figure(r, "both_byte_per_s", l->both_byte_per_s, "both directions");
	hw_figure(r, "n_units", l->n_units, "links");
	hw_figure(r, "n_nics", l->n_nics, "NICs per node");
	hw_figure(r, "n_lanes", l->n_lanes, "lanes");
	hw_word(r, "raw", "signalling", l->raw);
	hw_figure(r, "latency_s", l->latency_s, "latency");
	hw_figure(r, "p2p_byte_per_s", l->p2p_byte_per_s, "copy between two GPUs reaches");
	hw_figure(r, "allreduce_bus_byte_per_s", l->allreduce_bus_byte_per_s, "ring all-reduce reaches (busbw)");
	hw_figure(r, "read_byte_per_s", l->read_byte_per_s, "read");
	hw_figure(r, "write_byte_per_s", l->write_byte_per_s, "write");
	hw_word(r, "used_by", "used by", l->used_by);
	hw_word(r, "notes", "note", l->notes);
}

/* --- list ------------------------------------------------------------------------------------------------ */

static void
line_gpu(struct run *r, const struct gpu *gpu)
{
	hw_word(r, "id", "GPU", gpu->id);
	hw_word(r, "architecture", "architecture", gpu->architecture);
	hw_figure(r, "mem_usable_byte", gpu->mem_usable_byte, "usable");
	hw_figure(r, "mem_byte_per_s", gpu->mem_byte_per_s, "bandwidth");
	hw_figure(r, "peak_fp16_flop_per_s", gpu->peak_flop_per_s[PEAK_FP16], "fp16 dense");
	hw_figure(r, "peak_fp8_flop_per_s", gpu->peak_flop_per_s[PEAK_FP8], "fp8 dense");
	hw_word(r, "link_kind", "link", gpu->link_kind ? gpu->link_kind : "-");
	hw_figure(r, "tdp_watt", gpu->tdp_watt, "power");
	hw_word(r, "launch", "launched", gpu->launch ? gpu->launch : "-");
	hw_word(r, "calibrated", "kernels", hw_calibrated(r, gpu));
}

static void
line_system(struct run *r, const struct system *s)
{
	hw_word(r, "id", "system", s->id);
	hw_word(r, "gpu", "GPU", s->gpu->id);
	hw_figure(r, "n_gpus", s->n_gpus, "GPUs");
	hw_word(r, "domain", "inside", domain_names[s->domain]);
	hw_figure(r, "domain_byte_per_s", s->domain_byte_per_s, "per GPU and direction");
	hw_word(r, "fabric", "network", s->fabric ? s->fabric->id : "-");
	hw_figure(r, "n_nics", s->n_nics, "NICs");
	hw_figure(r, "nic_byte_per_s", s->nic_byte_per_s, "per NIC and direction");
}

static void
line_link(struct run *r, const struct link *l)
{
	hw_word(r, "id", "link", l->id);
	hw_word(r, "kind", "kind", l->kind);
	hw_word(r, "scope", "of one", l->scope ? l->scope : "-");
	hw_figure(r, "link_byte_per_s", l->byte_per_s, "one direction");
	hw_figure(r, "read_byte_per_s", l->read_byte_per_s, "read");
	hw_word(r, "used_by", "used by", l->used_by ? l->used_by : "-");
}

static bool
wanted(struct word filter, const char *value)
{
	return !filter.text || (value && strcmp(filter.text, value) == 0);
}

static void
list_gpus(struct run *r, const struct hw_in *in)
{
	size_t n;
	const char **ids = database_list(r->database, ENTRY_GPU, &n);
	const char *said;
	int line = 0;

	for (size_t i = 0; i < n; i++) {
		const struct gpu *gpu = database_gpu(r->database, ids[i], NULL, (struct source){0}, &said);
		if (!gpu || !wanted(in->architecture, gpu->architecture) || !wanted(in->vendor, gpu->vendor))
			continue;
		SCOPE_I (r->sheet, "gpus", line++)
			line_gpu(r, gpu);
	}
}

static void
list_systems(struct run *r, const struct hw_in *in)
{
	size_t n;
	const char **ids = database_list(r->database, ENTRY_SYSTEM, &n);
	const struct gpu *with = in->with.text ? run_gpu(r, in->with) : NULL;
	const char *said;
	int line = 0;

	if (in->with.text && !with)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct system *s = database_system(r->database, ids[i], NULL, NULL, (struct source){0}, &said);
		if (!s || (with && strcmp(s->gpu->id, with->id) != 0))
			continue;
		SCOPE_I (r->sheet, "systems", line++)
			line_system(r, s);
	}
}

static void
list_links(struct run *r, const struct hw_in *in)
{
	size_t n;
	const char **ids = database_list(r->database, ENTRY_LINK, &n);
	const char *said;
	int line = 0;

	for (size_t i = 0; i < n; i++) {
		const struct link *l = database_link(r->database, ids[i], NULL, (struct source){0}, &said);
		if (!l || !wanted(in->kind, l->kind))
			continue;
		SCOPE_I (r->sheet, "links", line++)
			line_link(r, l);
	}
}

static enum answer
list(struct run *r, const struct hw_in *in)
{
	const char *what = in->names.n ? in->names.list[0].text
	    : in->kind.text            ? "links"
	    : in->with.text            ? "systems"
	                               : "gpus";

	if (strcmp(what, "gpus") == 0)
		list_gpus(r, in);
	else if (strcmp(what, "systems") == 0)
		list_systems(r, in);
	else if (strcmp(what, "links") == 0)
		list_links(r, in);
	else {
		diag_error(r->diag, in->names.list[0].from, "there is no list of '%s'", what);
		diag_hint(r->diag, "list gpus, systems or links; 'ridge hw show %s' shows one entry", what);
		return REFUSED;
	}
	if (!diag_errors(r->diag) && sheet_size(r->sheet) == 0)
		hw_word(r, "none", "entries", "none");
	return diag_errors(r->diag) ? REFUSED : ANSWERED;
}

/* --- show and compare ------------------------------------------------------------------------------------ */

/* The kind of entry that a name means: GPU before system before link before what was fitted to a host. */
static enum entry_kind
kind_of(struct run *r, const char *name)
{
	static const enum entry_kind order[] = {ENTRY_GPU, ENTRY_SYSTEM, ENTRY_LINK, ENTRY_CALIBRATION};
	const char *id;

	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (database_try(r->database, order[i], name, &id))
			return order[i];
	return ENTRY_GPU;
}

static bool
show_one(struct run *r, struct word name, bool full)
{
	const struct gpu *gpu;
	const struct system *system;
	const struct link *link;
	const struct calibration *fit;

	switch ((int)kind_of(r, name.text)) {
	case ENTRY_SYSTEM:
		if ((system = run_system(r, name)))
			(full ? show_system : line_system)(r, system);
		return system != NULL;
	case ENTRY_LINK:
		if ((link = run_link(r, name)))
			(full ? show_link : line_link)(r, link);
		return link != NULL;
	case ENTRY_CALIBRATION:
		if ((fit = run_calibration(r, name.text, NULL)))
			hw_show_fit(r, fit);
		return fit != NULL;
	default:
		if ((gpu = run_gpu(r, name)))
			(full ? show_gpu : line_gpu)(r, gpu);
		return gpu != NULL;
	}
}

/* Peak, bandwidth and their quotient against those of the first GPU: does arithmetic outgrow memory? */
static void
show_growth(struct run *r, const struct gpu *first, const struct gpu *gpu, double ridge_flop_per_byte)
{
	struct sheet *sh = r->sheet;
	const double first_peak = first->peak_flop_per_s[PEAK_FP16].value,
	             first_byte_per_s = first->mem_byte_per_s.value;

	if (isnan(first_peak) || isnan(first_byte_per_s))
		return;
	TAKE(sh, first_flop_per_byte, ridge_point(NULL, first_peak, first_byte_per_s));
	TAKE(sh, first_flop_per_s, first_peak);
	TAKE(sh, fp16_flop_per_s, gpu->peak_flop_per_s[PEAK_FP16]);
	CALL(sh, peak_ratio, peak_growth(sh, fp16_flop_per_s, first_flop_per_s));
	CALL(sh, ridge_ratio, ridge_growth(sh, ridge_flop_per_byte, first_flop_per_byte));
	if (gpu != first) {
		SHOW(sh, peak_ratio, "fp16, of the first");
		SHOW(sh, ridge_ratio, "ridge, of the first");
	}
}

/* Returns the GPU that the others are compared with. */
static const struct gpu *
compare_gpu(struct run *r, struct word name, const struct gpu *first)
{
	struct sheet *sh = r->sheet;
	const struct gpu *gpu = run_gpu(r, name);

	if (!gpu)
		return first;
	line_gpu(r, gpu);
	if (datum_given(gpu->peak_flop_per_s[PEAK_FP16]) && datum_given(gpu->mem_byte_per_s)) {
		CALL(sh, ridge_flop_per_byte,
		    ridge_point(sh, gpu->peak_flop_per_s[PEAK_FP16].value, gpu->mem_byte_per_s.value));
		SHOW(sh, ridge_flop_per_byte, "ridge, fp16");
		show_growth(r, first ? first : gpu, gpu, ridge_flop_per_byte);
	}
	if (gpu->n_prices)
		hw_figure(r, "price_usd_per_s", gpu->prices[0].usd_per_s, "price");
	return first ? first : gpu;
}

static enum answer
compare(struct run *r, const struct hw_in *in)
{
	if (in->names.n < 2) {
		diag_error(r->diag, (struct source){0}, "compare needs two names or more");
		diag_hint(r->diag, "write for example: ridge hw compare a100 h100 b200");
		return REFUSED;
	}
	const enum entry_kind kind = kind_of(r, in->names.list[0].text);
	const struct gpu *first = NULL;
	for (size_t i = 0; i < in->names.n; i++)
		SCOPE_I (r->sheet, "entries", (int)i) {
			if (kind == ENTRY_GPU)
				first = compare_gpu(r, in->names.list[i], first);
			else
				show_one(r, in->names.list[i], false);
		}
	return diag_errors(r->diag) ? REFUSED : ANSWERED;
}

static enum answer
run(struct run *r, const void *input)
{
	const struct hw_in *in = input;

	if (!in->verb.text || strcmp(in->verb.text, "list") == 0)
		return list(r, in);
	if (strcmp(in->verb.text, "compare") == 0)
		return compare(r, in);
	if (in->names.n != 1) {
		diag_error(r->diag, (struct source){0}, "show needs one name");
		diag_hint(r->diag, "write for example: ridge hw show h100");
		return REFUSED;
	}
	return show_one(r, in->names.list[0], true) ? ANSWERED : REFUSED;
}

static const struct example examples[] = {
    {"hw list", "all GPUs", 0},
    {"hw show h100", "one GPU, datasheet beside calibrated, with prices", 0},
    {"hw show h100 --explain=mem_byte_per_s", "where a figure comes from", 0},
    {"hw compare a100 h100 b200", "generations side by side", 0},
    {"hw list systems --with h100", "systems and clouds with one GPU", 0},
    {"hw list links --kind storage --csv", "storage tiers for a spreadsheet", 0},
};

const struct command hw_command = {
    .name = "hw",
    .section = "The database",
    .summary = "list, show and compare GPUs, systems and links, with sources",
    .operands = "verb names...",
    .usage = "[list|show|compare] [NAME...]",
    .groups = hw_groups,
    .n_groups = 1,
    .examples = examples,
    .n_examples = sizeof examples / sizeof *examples,
    .input_size = sizeof(struct hw_in),
    .run = run,
};
