/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was fitted to a GPU or a host, beside its datasheet. */
#include "cli/hw_show.h"

#include "data/database.h"
#include "data/transfer.h"
#include "ridge/compare.h"
#include "ridge/kernel_gemm.h"

void
hw_figure(struct run *r, const char *name, struct datum d, const char *label)
{
	if (!datum_given(d))
		return;
	sheet_take_datum(r->sheet, name, NULL, d);
	sheet_show(r->sheet, name, label);
}

void
hw_word(struct run *r, const char *name, const char *label, const char *text)
{
	if (text)
		sheet_word(r->sheet, name, label, text);
}

/* A fitted figure with its interval, and what share of the datasheet's it is. */
static void
reached(struct run *r, const struct calibration *c, const char *name, struct datum fitted, struct datum datasheet,
    const char *label)
{
	struct sheet *sh = r->sheet;
	double low, high;

	if (!(fitted.value > 0))
		return;
	hw_figure(r, name, fitted, label);
	/* the interval of a donor's fit says nothing of another GPU */
	if (!c->transferred_from && calibration_interval(c, fitted, &low, &high))
		sheet_between(sh, name, low, high, "calibrated");
	if (datum_given(datasheet))
		SCOPE (sh, "of_datasheet") {
			CALL(sh, share_frac, compare_of_limit(sh, fitted.value, datasheet.value));
			SHOW(sh, share_frac, "share of the datasheet");
		}
}

/* Products of other types than 16 bits. */
static void
show_types(struct run *r, const struct calibration *c, const struct gpu *gpu)
{
	for (int t = 0; t < N_DTYPES; t++)
		if (t != DTYPE_BF16 && t != DTYPE_FP16 && gemm_calibrated(c, (enum dtype)t))
			SCOPE_I (r->sheet, "reach", t) {
				hw_word(r, "type", "products in", dtype_name((enum dtype)t));
				reached(r, c, "reach_flop_per_s", c->gemm[t].peak_flop_per_s,
				    gpu->peak_flop_per_s[dtype_peak((enum dtype)t)], "reach");
			}
}

static void
show_levels(struct run *r, const struct calibration *c)
{
	for (int i = 0; i < c->memory.n_levels; i++)
		SCOPE_I (r->sheet, "levels", i) {
			hw_word(r, "level", "level", c->memory.level[i].name);
			hw_figure(r, "size_byte", c->memory.level[i].size_byte, "size");
			hw_figure(r, "level_byte_per_s", c->memory.level[i].byte_per_s, "bandwidth");
			hw_figure(r, "latency_s", c->memory.level[i].latency_s, "latency");
		}
	if (c->has_launch) {
		hw_figure(r, "launch_stream_s", c->launch.stream_kernel_s, "a kernel in a stream");
		hw_figure(r, "launch_graph_s", c->launch.graph_kernel_s, "a kernel in a graph");
	}
}

/* What the fits reach of the datasheet's figures. */
static void
show_reach(struct run *r, const struct calibration *c, const struct gpu *gpu)
{
	const struct gemm_calibration *g = &c->gemm[DTYPE_BF16];
	const enum peak half = datum_given(gpu->peak_flop_per_s[PEAK_BF16]) ? PEAK_BF16 : PEAK_FP16;

	if (!c->has_gemm)
		return;
	if (half == PEAK_FP16)
		g = &c->gemm[DTYPE_FP16];
	SCOPE (r->sheet, "arithmetic")
		reached(r, c, half == PEAK_BF16 ? "reach_bf16_flop_per_s" : "reach_fp16_flop_per_s", g->peak_flop_per_s,
		    gpu->peak_flop_per_s[half], half == PEAK_BF16 ? "bf16 GEMM reaches" : "fp16 GEMM reaches");
	SCOPE (r->sheet, "memory")
		reached(r, c, "reach_mem_byte_per_s", g->mem_byte_per_s, gpu->mem_byte_per_s,
		    "GEMM memory traffic reaches");
	hw_figure(r, "gemm_base_s", g->base_s, "GEMM overhead");
}

static void
show_arithmetic(struct run *r, const struct calibration *c)
{
	for (int p = 0; p < N_PEAKS; p++)
		if (datum_given(c->fma_flop_per_s[p]))
			SCOPE_I (r->sheet, "fma", p) {
				hw_word(r, "type", "multiply-adds in", peak_name((enum peak)p));
				reached(r, c, "fma_flop_per_s", c->fma_flop_per_s[p], datum_absent(), "reach");
			}
}

static void
show_residuals(struct run *r, const struct calibration *c)
{
	for (int i = 0; i < c->n_residuals; i++)
		SCOPE_I (r->sheet, "residuals", i) {
			hw_word(r, "name", "fitted", c->residuals[i].name);
			hw_figure(r, "n_points", c->residuals[i].n_points, "points");
			hw_figure(r, "mape_frac", c->residuals[i].mape_frac, "mean error");
			hw_figure(r, "bias_frac", c->residuals[i].bias_frac, "bias");
		}
}

void
hw_show_calibration(struct run *r, const struct gpu *gpu)
{
	const struct calibration *own = run_calibration(r, gpu->id, NULL);
	const struct calibration *c = own ? own : run_kernels(r, gpu, NULL);

	if (!c) {
		hw_word(r, "calibration", "calibration", "none");
		return;
	}
	/* the errors of a transferred fit are its donor's */
	hw_word(r, "calibration", own ? "calibrated from" : "calibration", own ? c->source : c->transfer_note);
	if (own)
		hw_word(r, "calibration_date", "measured", c->date);
	show_reach(r, c, gpu);
	show_levels(r, c);
	show_arithmetic(r, c);
	show_types(r, c, gpu);
	if (own)
		show_residuals(r, c);
}

void
hw_show_fit(struct run *r, const struct calibration *c)
{
	hw_word(r, "name", c->host ? "host" : "calibration", c->id);
	hw_word(r, "gpu", "GPU", c->gpu);
	hw_word(r, "fabric", "network", c->fabric);
	hw_word(r, "backend", "kernels of", c->backend);
	hw_word(r, "calibration", "calibrated from", c->source);
	hw_word(r, "calibration_date", "measured", c->date);
	hw_figure(r, "n_points", c->n_points, "points");
	show_levels(r, c);
	show_arithmetic(r, c);
	show_residuals(r, c);
	hw_word(r, "notes", "note", c->note);
}

const char *
hw_calibrated(struct run *r, const struct gpu *gpu)
{
	if (database_path(r->database, ENTRY_CALIBRATION, gpu->id))
		return "measured";
	const struct transfer *rule = database_transfer(r->database, r->arena, r->diag, gpu);
	return !rule ? "-" : rule->from ? arena_printf(r->arena, "from %s", rule->from) : "from others";
}
