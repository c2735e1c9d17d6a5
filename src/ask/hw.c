/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show the calibration of a GPU or host next to its datasheet. */
#include "ask/ask.h"

#include "ask/bind/bind.h"
#include "db/db.h"
#include "model/calc/calc.h"
#include "model/kernel/kernel.h"
#include "model/measured/measured.h"

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
