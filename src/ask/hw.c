/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show hardware of the database: the calibration of a GPU or host next to its datasheet, and the rates of links. */
#include "ask/ask.h"

#include "ask/bind/bind.h"
#include "ask/collective/collective.h"
#include "base/base.h"
#include "db/db.h"
#include "model/calc/calc.h"
#include "model/kernel/kernel.h"
#include "model/measured/measured.h"

#include <string.h>

void
hw_figure(struct run *r, const struct answer_entry *answer, struct datum d)
{
	if (!datum_given(d))
		return;
	sheet_take_datum(r->sheet, answer->id, NULL, d);
	sheet_show(r->sheet, answer->id, answer);
}

void
hw_word(struct run *r, const struct answer_entry *answer, const char *text)
{
	if (text)
		sheet_word(r->sheet, answer, text);
}

/* A fitted figure with its interval, and what share of the datasheet's it is. */
static void
reached(struct run *r, const struct calibration *c, const struct answer_entry *answer, struct datum fitted,
    struct datum datasheet)
{
	struct sheet *sh = r->sheet;
	double low, high;

	if (!(fitted.value > 0))
		return;
	hw_figure(r, answer, fitted);
	/* the interval of a donor's fit says nothing of another GPU */
	if (!c->transferred_from && calibration_interval(c, fitted, &low, &high))
		sheet_between(sh, answer->id, low, high, "calibrated");
	if (datum_given(datasheet)) {
		CALL(sh, share_frac, compare_of_limit(sh, fitted.value, datasheet.value));
		SHOW(sh, share_frac, datasheet_frac);
	}
}

/* --- what products reach --------------------------------------------------------------------------------- */

/* A product that nothing but arithmetic limits, and one that reads weights for a few rows. */
static const struct op LARGE = {.kind = OP_gemm, .dim = {8192, 8192, 8192}, .count = 1, .name = "gemm"};
static const struct op THIN = {.kind = OP_gemm, .dim = {16, 16384, 16384}, .count = 1, .name = "gemm"};

/* Time of a GEMM, as `ridge roofline gemm` computes it. */
static double
product_time(const struct calibration *c, const struct gpu *gpu, enum dtype t, struct op op)
{
	const struct kernel_machine m = {c, t, gpu->peak_flop_per_s[dtype_peak(t)], gpu->mem_byte_per_s};

	op.elem_byte = dtype_byte(t);
	return kernel_op_time(NULL, &m, &op);
}

static struct datum
predicted(double value)
{
	return (struct datum){value, {"calibration", 0, 0, NULL, false}};
}

static void
show_product(
    struct run *r, const struct calibration *c, const struct gpu *gpu, enum dtype t, const struct answer_entry *answer)
{
	const double flop = op_cost(NULL, &LARGE).work_flop;

	reached(r, c, answer, predicted(flop / product_time(c, gpu, t, LARGE)), gpu->peak_flop_per_s[dtype_peak(t)]);
}

/* Products of other types than 16 bits. */
static void
show_types(struct run *r, const struct calibration *c, const struct gpu *gpu)
{
	for (int t = 0; t < N_DTYPES; t++)
		if (t != DTYPE_BF16 && t != DTYPE_FP16 && gemm_calibrated(c, (enum dtype)t) &&
		    datum_given(gpu->peak_flop_per_s[dtype_peak((enum dtype)t)]))
			SCOPE_I (r->sheet, "reach", t + 1) {
				HW_WORD(r, dtype, dtype_name((enum dtype)t));
				show_product(r, c, gpu, (enum dtype)t, &answer_table[ID_reach_flop_per_s]);
			}
}

/* Show achieved rates as shares of the datasheet. */
static void
show_reach(struct run *r, const struct calibration *c, const struct gpu *gpu)
{
	const enum dtype half = datum_given(gpu->peak_flop_per_s[PEAK_BF16]) ? DTYPE_BF16 : DTYPE_FP16;
	struct op thin = THIN;

	if (!gemm_calibrated(c, half))
		return;
	SCOPE_I (r->sheet, "reach", 0) {
		HW_WORD(r, dtype, dtype_name(half));
		show_product(r, c, gpu, half, &answer_table[ID_reach_flop_per_s]);
	}
	thin.elem_byte = dtype_byte(half);
	reached(r, c, &answer_table[ID_reach_mem_byte_per_s],
	    predicted(op_cost(NULL, &thin).traffic_byte / product_time(c, gpu, half, thin)), gpu->mem_byte_per_s);
	HW_FIGURE(r, gemm_base_s, c->gemm[half].base_s);
}

static void
show_levels(struct run *r, const struct calibration *c)
{
	for (int i = 0; i < c->memory.n_levels; i++)
		SCOPE_I (r->sheet, "levels", i) {
			HW_WORD(r, level, c->memory.level[i].name);
			HW_FIGURE(r, size_byte, c->memory.level[i].size_byte);
			HW_FIGURE(r, byte_per_s, c->memory.level[i].byte_per_s);
			HW_FIGURE(r, latency_s, c->memory.level[i].latency_s);
		}
	if (c->has_launch) {
		HW_FIGURE(r, launch_stream_s, c->launch.stream_kernel_s);
		HW_FIGURE(r, launch_graph_s, c->launch.graph_kernel_s);
	}
}

static void
show_arithmetic(struct run *r, const struct calibration *c)
{
	for (int p = 0; p < N_PEAKS; p++)
		if (datum_given(c->fma_flop_per_s[p]))
			SCOPE_I (r->sheet, "fma", p) {
				HW_WORD(r, peak_type, peak_name((enum peak)p));
				reached(r, c, &answer_table[ID_fma_flop_per_s], c->fma_flop_per_s[p], datum_absent());
			}
}

static void
show_residuals(struct run *r, const struct calibration *c)
{
	for (int i = 0; i < c->n_residuals; i++)
		SCOPE_I (r->sheet, "residuals", i) {
			HW_WORD(r, class, c->residuals[i].name);
			HW_FIGURE(r, n_points, c->residuals[i].n_points);
			HW_FIGURE(r, mape_frac, c->residuals[i].mape_frac);
			HW_FIGURE(r, mean_bias_frac, c->residuals[i].bias_frac);
		}
}

void
hw_show_calibration(struct run *r, const struct gpu *gpu)
{
	const struct calibration *own = run_calibration(r, gpu->id, NULL);
	const struct calibration *c = bind_kernels(r, gpu, NULL, KERNELS_ROOFLINE, NULL);

	if (!c) {
		HW_WORD(r, calibration_source, "none");
		return;
	}
	/* the errors of a transferred fit are its donor's */
	HW_WORD(r, calibration_source, own ? own->source : c->transfer_note);
	if (own)
		HW_WORD(r, calibration_date, own->date);
	show_reach(r, c, gpu);
	show_levels(r, c);
	show_arithmetic(r, c);
	show_types(r, c, gpu);
	if (own)
		show_residuals(r, own);
}

void
hw_show_fit(struct run *r, const struct calibration *c)
{
	hw_word(r, &answer_table[c->host ? ID_host : ID_calibration], c->id);
	HW_WORD(r, gpu, c->gpu);
	HW_WORD(r, fabric, c->fabric);
	HW_WORD(r, backend, c->backend);
	HW_WORD(r, calibration_source, c->source);
	HW_WORD(r, calibration_date, c->date);
	HW_FIGURE(r, n_points, c->n_points);
	show_levels(r, c);
	show_arithmetic(r, c);
	show_residuals(r, c);
	HW_WORD(r, notes, c->note);
}

const char *
hw_calibrated(struct run *r, const struct gpu *gpu)
{
	if (database_path(r->database, ENTRY_CALIBRATION, gpu->id))
		return "measured";
	const struct transfer *rule = database_transfer(r->database, r->arena, r->diag, gpu);
	return !rule ? "-" : rule->from ? arena_printf(r->arena, "from %s", rule->from) : "from other GPUs";
}

/* --- links: their rates, and which of them carries a bandwidth -------------------------------------------- */

static bool
is_between_gpus(const struct link *l)
{
	return strcmp(l->kind, "nvlink") == 0 || strcmp(l->kind, "pcie") == 0 || strcmp(l->kind, "xgmi") == 0;
}

static bool
is_network(const struct link *l)
{
	static const char *const kinds[] = {"infiniband", "roce", "ethernet", "efa", "gcp"};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(l->kind, kinds[i]) == 0)
			return true;
	return false;
}

/* --- the table ------------------------------------------------------------------------------------------- */

struct listed {
	const char *id;
	const struct link *link;
	struct datum n; /* how many together */
};

/* Show one link; return its total bandwidth in one direction. */
static double
show_line(struct sheet *sh, const struct listed *l, double first_byte_per_s)
{
	TELL(sh, link, l->id);
	TELL(sh, kind, l->link->kind);
	TAKE(sh, n_links, l->n);
	TAKE(sh, one_byte_per_s, l->link->byte_per_s);
	CALL(sh, total_byte_per_s, link_total(sh, n_links, one_byte_per_s));
	CALL(sh, both_byte_per_s, link_both(sh, total_byte_per_s));
	CALL(sh, n_gbit, link_gbit(sh, total_byte_per_s));
	SHOW(sh, n_links, n_links);
	SHOW(sh, one_byte_per_s, byte_per_s);
	SHOW(sh, total_byte_per_s, total_byte_per_s);
	SHOW(sh, both_byte_per_s, both_byte_per_s);
	SHOW(sh, n_gbit, n_gbit);
	if (first_byte_per_s > 0) {
		TAKE(sh, reference_byte_per_s, first_byte_per_s);
		CALL(sh, ratio, link_ratio(sh, total_byte_per_s, reference_byte_per_s));
		SHOW(sh, ratio, relative);
	}
	return total_byte_per_s;
}

static struct listed
listed_of(const struct link *link, struct datum asked)
{
	const struct datum one = {1, {"default", 0, 0, NULL, false}};
	const bool many = strcmp(link->scope, "link") == 0 && datum_given(link->n_units);

	return (struct listed){link->id, link, datum_given(asked) ? asked : many ? link->n_units : one};
}

/* Every link of the database that joins GPUs or nodes. */
static size_t
list_all(struct run *r, struct listed *out, size_t room)
{
	size_t n_ids, n = 0;
	const char **ids = database_list(r->database, ENTRY_LINK, &n_ids);

	for (size_t i = 0; i < n_ids && n < room; i++) {
		const char *ignored;
		const struct link *link = database_link(r->database, ids[i], NULL, (struct source){0}, &ignored);
		if (link && datum_given(link->byte_per_s) && (is_between_gpus(link) || is_network(link)))
			out[n++] = listed_of(link, datum_absent());
	}
	return n;
}

static bool
list_named(struct run *r, struct word list, struct listed *out, size_t room, size_t *n)
{
	size_t n_names;
	char **names = text_split(r->arena, list.text, ',', &n_names);

	for (size_t i = 0; i < n_names && *n < room; i++) {
		struct datum units;
		const struct link *link = interconnect_link(r, (struct word){names[i], list.from}, &units);
		if (!link)
			return false;
		out[(*n)++] = listed_of(link, units);
	}
	return true;
}

static bool
list_gpu(struct run *r, struct word name, struct listed *out, size_t *n)
{
	const struct gpu *gpu = run_gpu(r, name);

	if (!gpu)
		return false;
	if (gpu->link_kind) {
		const struct link *link = run_link(r, (struct word){gpu->link_kind, name.from});
		if (!link)
			return false;
		struct link *own = ARENA_NEW(r->arena, struct link);
		*own = *link;
		if (datum_given(gpu->link_byte_per_s))
			own->byte_per_s = gpu->link_byte_per_s;
		out[(*n)++] = listed_of(own, gpu->n_links);
	}
	if (gpu->pcie) {
		const struct link *slot = run_link(r, (struct word){gpu->pcie, name.from});
		if (!slot)
			return false;
		out[(*n)++] = listed_of(slot, datum_absent());
	}
	return true;
}

enum answer
links_show(struct run *r, struct word list, struct word gpu)
{
	enum { ROOM = 256 };
	struct listed *lines = ARENA_ARRAY(r->arena, struct listed, ROOM);
	struct sheet *sh = r->sheet;
	size_t n = 0;

	if ((list.text && !list_named(r, list, lines, ROOM - 2, &n)) || (gpu.text && !list_gpu(r, gpu, lines, &n)))
		return REFUSED;
	if (!list.text && !gpu.text)
		n = list_all(r, lines, ROOM);
	r->title = gpu.text ? arena_printf(r->arena, "links of %s", gpu.text) : "links";
	double first_byte_per_s = 0;
	for (size_t i = 0; i < n; i++)
		SCOPE_I (sh, "links", i) {
			const bool compares = list.text || gpu.text;
			const double total = show_line(sh, &lines[i], compares ? first_byte_per_s : 0);
			first_byte_per_s = i == 0 ? total : first_byte_per_s;
		}
	return ANSWERED;
}

/* --- what a bandwidth fits ------------------------------------------------------------------------------- */

/* The slowest listed link whose rate, times the share of it that is reached if `typical`, is enough. */
static const struct listed *
slowest(const struct listed *all, size_t n, bool network, bool typical, double needed)
{
	const struct listed *best = NULL;
	double best_rate = INFINITY;

	for (size_t i = 0; i < n; i++) {
		const struct link *l = all[i].link;
		const double line = all[i].n.value * l->byte_per_s.value;
		const double rate = typical ? line * datum_or(l->efficiency_frac, 0.8) : line;
		const bool shorter =
		    best && line == best_rate && strlen(l->id) < strlen(best->id); /* ib-hdr, not a cloud's */
		if (network == is_network(l) && rate >= needed && (line < best_rate || shorter)) {
			best = &all[i];
			best_rate = line;
		}
	}
	return best;
}

void
links_fitting(struct run *r, double volume_byte, double comm_s)
{
	enum { ROOM = 256 };
	struct listed *all = ARENA_ARRAY(r->arena, struct listed, ROOM);
	const size_t n = list_all(r, all, ROOM);
	const double implied = bus_bandwidth(NULL, volume_byte, comm_s);
	const struct listed *line = slowest(all, n, false, false, implied);
	const struct listed *typical = slowest(all, n, false, true, implied);
	const struct listed *network = slowest(all, n, true, false, implied);
	struct sheet *sh = r->sheet;

	if (line) {
		TELL(sh, link_class, line->id);
		SCOPE (sh, "link_class_use") {
			TAKE(sh, implied_byte_per_s, implied);
			TAKE(sh, n_links, line->n);
			TAKE(sh, one_byte_per_s, line->link->byte_per_s);
			CALL(sh, line_byte_per_s, link_total(sh, n_links, one_byte_per_s));
			CALL(sh, of_line_frac, link_share(sh, implied_byte_per_s, line_byte_per_s));
			SHOW(sh, of_line_frac, line_frac);
		}
	}
	if (typical && typical != line)
		TELL(sh, typical_class, typical->id);
	if (network)
		TELL(sh, network_class, network->id);
	if (!line && !network)
		run_warn(r, "no link in the database is this fast: check time, size and number of ranks");
}
