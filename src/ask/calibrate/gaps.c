/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels that train and serve need but the rows did not cover, and the GPU that they are taken from. */
#include "ask/calibrate/calibrate.h"

#include <string.h>

static bool
any_gemm(const struct calibration *c)
{
	return c->has_gemm;
}

static bool
any_context(const struct calibration *c)
{
	return c->has_context;
}

static bool
any_generation(const struct calibration *c)
{
	return c->has_generation;
}

static bool
any_moe(const struct calibration *c)
{
	for (int t = 0; t < N_DTYPES; t++)
		if (c->moe[t].peak_flop_per_s.value > 0)
			return true;
	return false;
}

static bool
any_collective(const struct calibration *c)
{
	for (int k = 0; k < N_COLLECTIVES; k++)
		if (c->has_collective[k])
			return true;
	return false;
}

static bool
any_custom(const struct calibration *c)
{
	return c->n_custom > 0;
}

/* Sections of a calibration and the commands that read them; of_engine: fitted per engine, not per GPU. */
static const struct gap {
	const char *section, *readers;
	bool (*has)(const struct calibration *c);
	bool of_engine;
} gaps[] = {
    {"gemm", "train, serve", any_gemm, false},
    {"attention.context", "train, serve", any_context, true},
    {"attention.generation", "serve", any_generation, true},
    {"moe", "train, serve", any_moe, true},
    {"collective", "train, serve", any_collective, false},
    {"custom_all_reduce", "serve", any_custom, true},
};

static bool
fitted_has(const struct fitted *f, const char *section)
{
	const size_t n = strlen(section);

	for (int i = 0; i < f->n; i++)
		if (!f->classes[i].refused && f->classes[i].path && strncmp(f->classes[i].path, section, n) == 0)
			return true;
	return false;
}

/* An earlier fit of this GPU: its own file, or one of an engine. */
static const char *
own_fit(struct run *r, const char *gpu, const struct gap *g)
{
	static const char *const backends[] = {NULL, "trtllm", "vllm", "sglang"};

	for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
		const struct calibration *c = run_calibration(r, gpu, backends[i]);
		if (c && g->has(c))
			return backends[i] ? arena_printf(r->arena, "%s-%s", gpu, backends[i]) : gpu;
	}
	return NULL;
}

/* Few GEMMs: the rate is theirs, and the rest what was known. */
static bool
gemm_rate_alone(const struct fitted *f)
{
	for (int i = 0; i < f->n; i++) {
		const struct fitted_class *c = &f->classes[i];
		for (int j = 0; !c->refused && c->path && strcmp(c->path, "gemm") == 0 && j < c->n_params; j++)
			if (strcmp(c->params[j].key, "eta_m") == 0)
				return c->params[j].taken;
	}
	return false;
}

static const char *
source_of(struct run *r, const struct gpu *gpu, const struct gap *g)
{
	const char *own = own_fit(r, gpu->id, g);

	if (own)
		return arena_printf(r->arena, "earlier fit of %s", own);
	const struct transfer *rule = database_transfer(r->database, r->arena, r->diag, gpu);
	if (rule && rule->from && own_fit(r, rule->from, g))
		return arena_printf(r->arena, "transferred from %s, expected error %s", rule->from,
		    rule->expected ? rule->expected : "unknown");
	if (rule && !rule->from && strcmp(g->section, "gemm") == 0)
		return arena_printf(
		    r->arena, "typical GPU, expected error %s", rule->expected ? rule->expected : "unknown");
	return "nothing measured: the datasheet";
}

void
calibrate_show_gaps(struct run *r, const struct calibrate_target *t)
{
	int row = 0;

	if (!t->bench.gpu)
		return;
	for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
		const bool rate_alone = gaps[i].has == any_gemm && gemm_rate_alone(&t->fitted);
		if (fitted_has(&t->fitted, gaps[i].section) && !rate_alone)
			continue;
		SCOPE_I (r->sheet, "gaps", row) {
			TELL(r->sheet, section, rate_alone ? "gemm, but its rate" : gaps[i].section);
			TELL(r->sheet, readers, gaps[i].readers);
			TELL(r->sheet, source, source_of(r, t->bench.gpu, &gaps[i]));
		}
		row++;
	}
}
