/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels that train and serve need but the rows did not cover, with the GPU that they are taken from; unused rows. */
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

/* --- rows that no fit uses ------------------------------------------------------------------------------------ */

/* By kind, with the reason. */

/* The first that a row matches counts; NULL: any. */
static const struct unused {
	bool host;
	enum measurement_kind kind;
	const char *operation, *backend, *dtype, *title, *reason;
} unused[] = {
    {false, MEASUREMENT_GEMM, NULL, "cublaslt-best", NULL, "gemm, best candidate", "programs run the first"},
    {false, MEASUREMENT_GEMM, NULL, "cublaslt-sustained", NULL, "gemm, sustained", "clock after seconds of one GEMM"},
    {false, MEASUREMENT_GEMM, NULL, NULL, "fp64", "gemm, fp64", "no model computes in fp64"},
    {false, MEASUREMENT_COLLECTIVE, NULL, "nccl-stream", NULL, "collective, launched one by one",
        "includes CPU launch time; engines replay CUDA graphs"},
    {false, MEASUREMENT_COPY, "read_l1", NULL, NULL, "copy, read_l1", "no model reads the rate of L1"},
    {false, MEASUREMENT_COPY, "read_shared", NULL, NULL, "copy, read_shared",
        "no model reads the rate of shared memory"},
    {false, MEASUREMENT_LAUNCH, "empty", NULL, NULL, "launch, empty", "one kernel and the wait for it"},
    {false, MEASUREMENT_P2P, "p2p_unidir", NULL, NULL, "p2p, one way", "models take links from the system's datasheet"},
    {false, MEASUREMENT_P2P, "p2p_bidir", NULL, NULL, "p2p, both ways",
        "models take links from the system's datasheet"},
    {false, MEASUREMENT_P2P, NULL, NULL, NULL, "p2p, host link", "models take the host link from the GPU's datasheet"},
    {false, MEASUREMENT_FMA, NULL, NULL, NULL, "fma, mma", "another instruction reaches this GPU's peak"},
    {true, MEASUREMENT_GEMM, NULL, NULL, NULL, "gemm", "no model computes on the CPU"},
    {true, MEASUREMENT_LAUNCH, NULL, NULL, NULL, "launch", "kernels are launched to GPUs"},
    {false, MEASUREMENT_KERNEL, NULL, NULL, NULL, "kernel", "profiled kernels are for ridge roofline and diagnose"},
};

enum { N_UNUSED = sizeof unused / sizeof *unused };

static bool
same_or_any(const char *wanted, const char *got)
{
	return !wanted || (got && strcmp(wanted, got) == 0);
}

static int
unused_of(const struct fit_bench *b, const struct measurement *m)
{
	if (m->kind == MEASUREMENT_FMA && fit_is_peak(b, m))
		return -1;
	for (int i = 0; i < N_UNUSED; i++)
		if (unused[i].host == !m->gpu && unused[i].kind == m->kind &&
		    same_or_any(unused[i].operation, m->operation) && same_or_any(unused[i].backend, m->backend) &&
		    same_or_any(unused[i].dtype, m->dtype_text))
			return i;
	return -1;
}

void
calibrate_show_unused(struct run *r, const struct calibrate_target *t)
{
	int n[N_UNUSED] = {0}, row = 0;

	for (int i = 0; i < t->bench.n_rows; i++) {
		const int which = unused_of(&t->bench, &t->bench.rows[i]);
		if (which >= 0)
			n[which]++;
	}
	for (int i = 0; i < N_UNUSED; i++) {
		if (!n[i])
			continue;
		SCOPE_I (r->sheet, "unused", row) {
			TELL(r->sheet, unused_rows, unused[i].title);
			TAKE(r->sheet, n_unused_rows, n[i]);
			SHOW(r->sheet, n_unused_rows, n_unused_rows);
			TELL(r->sheet, reason, unused[i].reason);
		}
		row++;
	}
}
