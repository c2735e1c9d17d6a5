/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All fits of one GPU, and what looks wrong in them. */
#include "search/fit/fit.h"

#include <math.h>
#include <string.h>

static struct datum
first_of(struct datum a, struct datum b, struct datum c)
{
	return datum_given(a) ? a : datum_given(b) ? b : c;
}

struct datum
calibrate_clock(const struct gpu *gpu)
{
	struct datum nominal = datum_absent();

	/* a clock that nobody published only names the unit of two parameters */
	nominal.value = 1.9e9;
	return first_of(gpu->clock_tensor_hertz, gpu->clock_max_hertz, nominal);
}

struct calibration
calibrate_reference(const struct gpu *gpu)
{
	struct calibration c;
	struct datum none = datum_absent();

	memset(&c, 0, sizeof c);
	c.ref_peak_flop_per_s = c.ref_mem_byte_per_s = c.ref_clock_hertz = c.ref_l2_byte = c.ref_n_sms = none;
	if (!gpu)
		return c;
	c.ref_peak_flop_per_s = first_of(gpu->peak_flop_per_s[PEAK_BF16], gpu->peak_flop_per_s[PEAK_FP16], none);
	c.ref_mem_byte_per_s = gpu->mem_byte_per_s;
	c.ref_clock_hertz = calibrate_clock(gpu);
	c.ref_l2_byte = gpu->l2_byte;
	c.ref_n_sms = gpu->n_sms;
	return c;
}

/* --- what looks wrong ------------------------------------------------------------------------------------ */

/* What GPUs reach in the calibrations of the database, widened a little; outside of that something is wrong. */
static const struct {
	const char *path, *key;
	double low, high;
	const char *what, *of, *below, *above;
} bands[] = {
    {"gemm", "eta_c", 0.55, 0.95, "16-bit GEMMs reach", "the peak", "check power limit, clocks and other processes",
        "check the GPU and its dense peak"},
    {"gemm", "eta_m", 0.70, 0.97, "GEMMs read memory at", "its bandwidth", "check ECC, clocks and other processes",
        "check the GPU"},
    {"memory.hbm", "rate", 0.85, 0.95, "HBM reaches", "its bandwidth", "check ECC, clocks and other processes",
        "check the GPU, and that the size exceeds the caches"},
    {"attention.context", "eta_a", 0.35, 0.80, "prefill attention reaches", "the peak",
        "check kernel version and clocks", "check the GPU"},
    {"attention.generation", "eta_m", 0.50, 0.99, "decode attention reads the KV cache at", "the memory's bandwidth",
        "check kernel version and other processes", "check that the KV cache exceeds L2"},
};

static void
find(struct fitted *out, const char *text)
{
	if (out->n_findings < (int)(sizeof out->findings / sizeof *out->findings))
		out->findings[out->n_findings++] = text;
}

static void
check_param(const struct fit_bench *b, const struct fitted_class *c, const struct fitted_param *p, struct fitted *out)
{
	for (size_t i = 0; i < sizeof bands / sizeof *bands; i++) {
		const double reference = p->unit == Q_RATE ? b->reference->ref_mem_byte_per_s.value : 1;
		const double share = p->value / reference;

		if (!c->path || strcmp(c->path, bands[i].path) != 0 || strcmp(p->key, bands[i].key) != 0)
			continue;
		if (share < bands[i].low || share > bands[i].high)
			find(out,
			    arena_printf(b->arena, "%s %.0f %% of %s: expected %.0f-%.0f %%: %s", bands[i].what,
			        share * 100, bands[i].of, bands[i].low * 100, bands[i].high * 100,
			        share < bands[i].low ? bands[i].below : bands[i].above));
	}
}

void
calibrate_findings(const struct fit_bench *b, struct fitted *out)
{
	for (int i = 0; i < out->n; i++) {
		const struct fitted_class *c = &out->classes[i];

		if (c->refused)
			continue;
		for (int j = 0; j < c->n_params; j++)
			if (c->params[j].identified)
				check_param(b, c, &c->params[j], out);
		if (c->residual.all.n && c->residual.all.mape > 0.20)
			find(out,
			    arena_printf(b->arena,
			        "%s has a fit error of %.0f %%: check for several kernels in one class",
			        c->residual_name, c->residual.all.mape * 100));
	}
}

void
calibrate_gpu(const struct fit_bench *b, struct fitted *out)
{
	fit_gemm(b, out);
	fit_attention(b, out);
	fit_moe(b, out);
	fit_collective(b, out);
	fit_memory(b, out);
	calibrate_findings(b, out);
}
