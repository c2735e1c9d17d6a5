/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge hw: list, show and compare GPUs, systems and links, with sources. */
#include "ask/ask.h"
#include "db/db.h"
#include "model/kernel/kernel.h"
#include "model/memory/memory.h"

#include <string.h>

#define HW_OPTIONS(X)                                                                                                  \
	X(0, verb, NULL, "verb", CHOICE, "VERB", "list|show|compare", NULL, "list, show or compare")                   \
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

/* Answers of the peaks: a rate, or the word `none`. */
static const struct {
	const char *rate, *word;
} peak_rows[] = {
#define PEAK(id, text, substitute, title) {"peak_" text "_flop_per_s", "peak_" text},
#include "model/hw/dtype.def"
#undef PEAK
};

static void
show_prices(struct run *r, const struct price *prices, int n)
{
	for (int i = 0; i < n; i++)
		SCOPE_I (r->sheet, "prices", i) {
			HW_WORD(r, price_date, prices[i].on);
			HW_FIGURE(r, price_usd_per_s, prices[i].usd_per_s);
			HW_WORD(r, price_unit, prices[i].per ? prices[i].per : "gpu");
			HW_WORD(r, source, prices[i].source);
		}
}

static void
show_gpu(struct run *r, const struct gpu *gpu)
{
	struct sheet *sh = r->sheet;

	HW_WORD(r, name, gpu->name);
	HW_WORD(r, architecture, gpu->architecture);
	HW_WORD(r, compute_capability, gpu->compute_capability);
	HW_FIGURE(r, n_sms, gpu->n_sms);
	HW_FIGURE(r, clock_tensor_hertz, gpu->clock_tensor_hertz);
	HW_FIGURE(r, clock_max_hertz, gpu->clock_max_hertz);
	HW_WORD(r, mem_type, gpu->mem_type);
	HW_FIGURE(r, gpu_mem_byte, memory_of_gpu(gpu));
	HW_FIGURE(r, mem_byte_per_s, gpu->mem_byte_per_s);
	HW_FIGURE(r, l2_byte, gpu->l2_byte);
	HW_FIGURE(r, llc_byte, gpu->llc_byte);
	HW_FIGURE(r, shared_byte, gpu->shared_byte);
	HW_FIGURE(r, shared_combined_byte, gpu->shared_combined_byte);
	HW_FIGURE(r, n_registers, gpu->n_registers);
	for (int p = 0; p < N_PEAKS; p++) {
		if (gpu->lacks[p])
			hw_word(r, answer_find(peak_rows[p].word), "none");
		else
			hw_figure(r, answer_find(peak_rows[p].rate), gpu->peak_flop_per_s[p]);
	}
	HW_FIGURE(r, sparsity, gpu->sparsity);
	if (datum_given(gpu->peak_flop_per_s[PEAK_FP16]) && datum_given(gpu->mem_byte_per_s)) {
		CALL(sh, ridge_flop_per_byte,
		    ridge_point(sh, gpu->peak_flop_per_s[PEAK_FP16].value, gpu->mem_byte_per_s.value));
		SHOW(sh, ridge_flop_per_byte, ridge_flop_per_byte);
	}
	HW_WORD(r, link_kind, gpu->link_kind);
	HW_FIGURE(r, n_links, gpu->n_links);
	HW_FIGURE(r, per_link_byte_per_s, gpu->link_byte_per_s);
	HW_WORD(r, pcie, gpu->pcie);
	HW_WORD(r, host_link, gpu->c2c);
	HW_FIGURE(r, n_host_gpus, gpu->n_host_gpus);
	HW_FIGURE(r, host_mem_byte, gpu->host_mem_byte);
	HW_FIGURE(r, tdp_watt, gpu->tdp_watt);
	HW_WORD(r, launch, gpu->launch);
	HW_FIGURE(r, msrp_usd, gpu->msrp_usd);
	show_prices(r, gpu->prices, gpu->n_prices);
	hw_show_calibration(r, gpu);
	HW_WORD(r, notes, gpu->notes);
}

static const char *const domain_names[] = {
    "none", "PCIe", "hybrid cube mesh", "direct NVLink", "NVSwitch", "xGMI mesh"};

static void
show_system(struct run *r, const struct system *s)
{
	HW_WORD(r, name, s->name);
	HW_WORD(r, gpu, s->gpu->id);
	HW_FIGURE(r, n_node_gpus, s->n_gpus);
	HW_WORD(r, domain, domain_names[s->domain]);
	HW_FIGURE(r, n_domain_gpus, s->n_domain_gpus);
	HW_FIGURE(r, domain_byte_per_s, s->domain_byte_per_s);
	HW_FIGURE(r, pair_byte_per_s, s->pair_byte_per_s);
	HW_WORD(r, sharp, s->sharp ? "yes" : "no");
	HW_WORD(r, fabric, s->fabric ? s->fabric->id : "none");
	HW_FIGURE(r, n_nics, s->n_nics);
	HW_FIGURE(r, nic_byte_per_s, s->nic_byte_per_s);
	HW_FIGURE(r, n_rails, s->n_rails);
	HW_WORD(r, host_cpu, s->host_cpu);
	HW_FIGURE(r, n_host_cores, s->n_host_cores);
	HW_FIGURE(r, host_mem_byte, s->host_mem_byte);
	HW_WORD(r, host_storage, s->host_storage);
	HW_FIGURE(r, power_watt, s->power_watt);
	HW_FIGURE(r, purchase_usd, s->purchase_usd);
	show_prices(r, s->prices, s->n_prices);
	HW_WORD(r, notes, s->notes);
}

static void
show_link(struct run *r, const struct link *l)
{
	HW_WORD(r, name, l->name);
	HW_WORD(r, kind, l->kind);
	HW_WORD(r, scope, l->scope);
	HW_FIGURE(r, per_link_byte_per_s, l->byte_per_s);
	HW_FIGURE(r, both_byte_per_s, l->both_byte_per_s);
	HW_FIGURE(r, n_units, l->n_units);
	HW_FIGURE(r, n_nics, l->n_nics);
	HW_FIGURE(r, n_lanes, l->n_lanes);
	HW_WORD(r, raw, l->raw);
	HW_FIGURE(r, latency_s, l->latency_s);
	HW_FIGURE(r, p2p_byte_per_s, l->p2p_byte_per_s);
	HW_FIGURE(r, allreduce_bus_byte_per_s, l->allreduce_bus_byte_per_s);
	HW_FIGURE(r, read_byte_per_s, l->read_byte_per_s);
	HW_FIGURE(r, write_byte_per_s, l->write_byte_per_s);
	HW_WORD(r, used_by, l->used_by);
	HW_WORD(r, notes, l->notes);
}

/* --- list ------------------------------------------------------------------------------------------------ */

static void
line_gpu(struct run *r, const struct gpu *gpu)
{
	HW_WORD(r, gpu, gpu->id);
	HW_WORD(r, architecture, gpu->architecture);
	HW_FIGURE(r, gpu_mem_byte, memory_of_gpu(gpu));
	HW_FIGURE(r, mem_byte_per_s, gpu->mem_byte_per_s);
	HW_FIGURE(r, peak_fp16_flop_per_s, gpu->peak_flop_per_s[PEAK_FP16]);
	HW_FIGURE(r, peak_fp8_flop_per_s, gpu->peak_flop_per_s[PEAK_FP8]);
	HW_WORD(r, link_kind, gpu->link_kind ? gpu->link_kind : "-");
	HW_FIGURE(r, tdp_watt, gpu->tdp_watt);
	HW_WORD(r, launch, gpu->launch ? gpu->launch : "-");
	HW_WORD(r, calibrated, hw_calibrated(r, gpu));
}

static void
line_system(struct run *r, const struct system *s)
{
	HW_WORD(r, system, s->id);
	HW_WORD(r, gpu, s->gpu->id);
	HW_FIGURE(r, n_node_gpus, s->n_gpus);
	HW_WORD(r, domain, domain_names[s->domain]);
	HW_FIGURE(r, domain_byte_per_s, s->domain_byte_per_s);
	HW_WORD(r, fabric, s->fabric ? s->fabric->id : "-");
	HW_FIGURE(r, n_nics, s->n_nics);
	HW_FIGURE(r, nic_byte_per_s, s->nic_byte_per_s);
}

static void
line_link(struct run *r, const struct link *l)
{
	HW_WORD(r, link, l->id);
	HW_WORD(r, kind, l->kind);
	HW_WORD(r, scope, l->scope ? l->scope : "-");
	HW_FIGURE(r, per_link_byte_per_s, l->byte_per_s);
	HW_FIGURE(r, read_byte_per_s, l->read_byte_per_s);
	HW_WORD(r, used_by, l->used_by ? l->used_by : "-");
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

	run_reads(r, &in->architecture, &in->vendor, NULL);
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

	run_reads(r, &in->kind, NULL);
	for (size_t i = 0; i < n; i++) {
		const struct link *l = database_link(r->database, ids[i], NULL, (struct source){0}, &said);
		if (!l || !wanted(in->kind, l->kind))
			continue;
		SCOPE_I (r->sheet, "links", line++)
			line_link(r, l);
	}
}

/* A filter that nothing passes is misspelt, except that systems with a GPU may not be known. */
static enum answer
nothing_listed(struct run *r, const struct hw_in *in, const char *what)
{
	const struct word filter = in->vendor.text ? in->vendor : in->architecture.text ? in->architecture : in->kind;

	if (!filter.text) {
		HW_WORD(r, entries, "none");
		return ANSWERED;
	}
	diag_error(r->diag, filter.from, "no %s match '%s'", what, filter.text);
	diag_hint(r->diag, "'ridge hw list %s' shows all, with the values to filter by", what);
	return REFUSED;
}

static enum answer
list(struct run *r, const struct hw_in *in)
{
	run_reads(r, &in->names, NULL);
	const char *what = in->names.n ? in->names.list[0].text
	    : in->kind.text            ? "links"
	    : in->with.text            ? "systems"
	                               : "gpus";

	if (in->names.n > 1) {
		diag_error(r->diag, in->names.list[1].from, "only one list at a time");
		diag_hint(r->diag, "list gpus, systems or links");
		return REFUSED;
	}
	if (strcmp(what, "gpus") == 0)
		list_gpus(r, in);
	else if (strcmp(what, "systems") == 0)
		list_systems(r, in);
	else if (strcmp(what, "links") == 0)
		list_links(r, in);
	else {
		diag_error(r->diag, in->names.list[0].from, "there is no list '%s'", what);
		diag_hint(r->diag, "list gpus, systems or links; 'ridge hw show %s' shows one entry", what);
		return REFUSED;
	}
	if (!diag_errors(r->diag) && sheet_size(r->sheet) == 0)
		return nothing_listed(r, in, what);
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
		run_read_from(r, name.from);
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
		SHOW(sh, peak_ratio, peak_ratio);
		SHOW(sh, ridge_ratio, ridge_ratio);
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
		SHOW(sh, ridge_flop_per_byte, ridge_flop_per_byte);
		show_growth(r, first ? first : gpu, gpu, ridge_flop_per_byte);
	}
	if (gpu->n_prices)
		HW_FIGURE(r, price_usd_per_s, gpu->prices[0].usd_per_s);
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

	run_reads(r, &in->verb, NULL);
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
    {"hw show h100", "one GPU: datasheet and calibrated rates, prices", 0},
    {"hw show h100 --explain=mem_byte_per_s", "source of a figure", 0},
    {"hw compare a100 h100 b200", "compare generations", 0},
    {"hw list systems --with h100", "systems and cloud instances with a GPU", 0},
    {"hw list links --kind storage --csv", "storage tiers as CSV", 0},
};

static const struct input_needs hw_needs[] = {
    {"architecture", "it applies to list: ridge hw list --architecture hopper"},
    {"vendor", "it applies to list: ridge hw list --vendor AMD"},
    {"kind", "it applies to list: ridge hw list links --kind storage"},
    {"with", "it applies to list: ridge hw list systems --with h100"},
};

const struct command hw_command = {
    .name = "hw",
    .section = "Database and measurements",
    .summary = "List, show and compare GPUs, systems and links, with sources",
    .operands = "verb names...",
    .usage = "[list|show|compare] [NAME...]",
    COUNTED(groups, hw_groups),
    COUNTED(examples, examples),
    COUNTED(needs, hw_needs),
    .input_size = sizeof(struct hw_in),
    .run = run,
};
