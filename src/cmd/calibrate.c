/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge calibrate: fit model parameters to measurements, with intervals and held-out errors. */
#include "ask/calibrate/calibrate.h"

#include <math.h>
#include <string.h>

#define THIS struct calibrate_in
static const struct option calibrate_options[] = {CALIBRATE_OPTIONS(OPTION_ROW)};
#undef THIS

/* A row whose name says its unit. */
static const char *
row_of(const struct fitted_param *p)
{
	switch (p->unit) {
	case Q_TIME:
		return "value_s";
	case Q_RATE:
		return "value_byte_per_s";
	case Q_SIZE:
		return "value_byte";
	case Q_PEAK:
		return "value_flop_per_s";
	default:
		return strncmp(p->key, "eta", 3) == 0 ? "value_frac" : "value_number";
	}
}

/* `229 B/clk (221 .. 240)` */
static const char *
value_text(struct run *r, const struct fitted_param *p)
{
	const char *unit = p->unit == Q_PER_CLOCK ? " B/clk" : p->unit == Q_CLOCKS ? " clk" : "";
	char text[120];

	if (isnan(p->low))
		value_write(row_of(p), p->value, text, sizeof text);
	else
		interval_write(row_of(p), p->value, p->low, p->high, 3, text, sizeof text);
	return arena_printf(r->arena, "%s%s", text, unit);
}

/* Note on a fitted parameter: it is a default, or the reference of its share. */
static const char *
state_of(const struct fitted_param *p)
{
	const struct param_row *row = param_find(p->key);

	if (!p->identified)
		return "default: the rows do not determine it";
	if (!row || p->unit != Q_NUMBER)
		return "";
	return row->form == FORM_OF_PEAK ? "of the peak" : row->form == FORM_OF_MEMORY ? "of the memory bandwidth" : "";
}

static void
show_classes(struct run *r, const struct calibrate_target *t)
{
	for (int i = 0; i < t->fitted.n; i++) {
		const struct fitted_class *c = &t->fitted.classes[i];
		const struct fitted_errors *e = &c->residual.all;

		if (c->refused || !e->n)
			continue;
		SCOPE_I (r->sheet, "classes", i) {
			TELL(r->sheet, class, c->residual_name);
			own_plain(r, "n_rows", &answer_table[ID_n_rows], c->n_fitted);
			own_plain(r, "mape_frac", &answer_table[ID_mape_frac], e->mape);
			own_plain(r, "median_ape_frac", &answer_table[ID_median_ape_frac], e->median_ape);
			own_plain(r, "mean_bias_frac", &answer_table[ID_mean_bias_frac], e->bias);
			own_plain(r, "q10", &answer_table[ID_log_error_p10], e->q10);
			own_plain(r, "q90", &answer_table[ID_log_error_p90], e->q90);
			for (int j = 0; j < c->residual.n_regimes; j++)
				SCOPE_I (r->sheet, "regimes", j) {
					TELL_HIDDEN(r->sheet, regime, c->residual.regimes[j].name);
					own_plain(r, "n_rows", NULL, c->residual.regimes[j].errors.n);
					own_plain(r, "mape_frac", NULL, c->residual.regimes[j].errors.mape);
				}
		}
	}
}

static void
show_params(struct run *r, const struct calibrate_target *t)
{
	int row = 0;

	for (int i = 0; i < t->fitted.n; i++)
		for (int j = 0; !t->fitted.classes[i].refused && j < t->fitted.classes[i].n_params; j++) {
			const struct fitted_class *c = &t->fitted.classes[i];
			const struct fitted_param *p = &c->params[j];

			if (p->taken)
				continue; /* in the file, and in the rows of the 16-bit fit */
			SCOPE_I (r->sheet, "parameters", row) {
				TELL(r->sheet, section, c->path);
				TELL(r->sheet, name, p->key);
				TELL(r->sheet, value, value_text(r, p));
				own_plain(r, row_of(p), NULL, p->value);
				sheet_hidden_number(r->sheet, row_of(p), answer_find(row_of(p)));
				if (!isnan(p->low))
					sheet_between(r->sheet, row_of(p), p->low, p->high, "bootstrap");
				TELL(r->sheet, note, state_of(p));
			}
			row++;
		}
}

/* --- kernels that the rows did not cover, with the GPU that they are taken from --------------------------- */

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

/* Sections of a calibration and the commands that read them. */
static const struct gap {
	const char *section, *readers;
	bool (*has)(const struct calibration *c);
} gaps[] = {
    {"gemm", "train, serve", any_gemm},
    {"attention.context", "train, serve", any_context},
    {"attention.generation", "serve", any_generation},
    {"moe", "train, serve", any_moe},
    {"collective", "train, serve", any_collective},
    {"custom_all_reduce", "serve", any_custom},
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

static void
show_gaps(struct run *r, const struct calibrate_target *t)
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

/* By kind, with the reason.  The first that a row matches counts; NULL: any. */
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

static void
show_unused(struct run *r, const struct calibrate_target *t)
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

/* --- all of it ------------------------------------------------------------------------------------------------ */

static void
warn(struct run *r, const struct calibrate_target *t)
{
	for (int i = 0; i < t->fitted.n_findings; i++)
		run_warn(r, "%s: %s", t->id, t->fitted.findings[i]);
	for (int i = 0; i < t->fitted.n; i++) {
		const struct fitted_class *c = &t->fitted.classes[i];

		if (c->refused)
			run_warn(r, "%s: %s not fitted: %s", t->id, c->path ? c->path : c->residual_name, c->refused);
	}
}

static void
show_one(struct run *r, const struct calibrate_target *t)
{
	show_classes(r, t);
	show_params(r, t);
	show_gaps(r, t);
	show_unused(r, t);
}

static enum answer
calibrate_run(struct run *r, const void *input)
{
	const struct calibrate_in *in = input;
	struct calibrate_targets all;
	int n_good = 0;

	run_reads(r, &in->files, &in->write, &in->install, NULL);

	if (in->stack.text && in->engine.text) {
		diag_error(r->diag, in->engine.from, "--stack and --engine exclude each other");
		diag_hint(r->diag, "--stack fits training steps, --engine fits serving runs");
		return REFUSED;
	}
	if (in->extends.text && !in->stack.text && !in->engine.text) {
		diag_error(r->diag, in->extends.from, "--extends needs --stack or --engine");
		diag_hint(r->diag, "add --stack NAME for training steps, or --engine NAME for serving runs");
		return REFUSED;
	}
	if (in->stack.text)
		return calibrate_stack(r, in);
	if (in->engine.text)
		return calibrate_engine(r, in);
	run_reads(r, &in->backend, &in->fresh, &in->source, NULL);
	if (in->yaml || in->write.text || in->install)
		run_reads(r, &in->date, &in->note, NULL);
	if (!calibrate_read(r, in, &all))
		return REFUSED;
	for (int i = 0; i < all.n; i++) {
		if (!calibrate_fit(r, in, &all.list[i]))
			return REFUSED;
		warn(r, &all.list[i]);
		n_good++;
	}
	if (all.n == 1) {
		r->title = arena_printf(r->arena, "%s, fitted to %d rows of %s", all.list[0].id,
		    all.list[0].bench.n_rows, all.list[0].about.source);
		show_one(r, &all.list[0]);
	} else
		for (int i = 0; i < all.n; i++)
			SCOPE_I (r->sheet, "files", i) {
				TELL(r->sheet, calibration, all.list[i].id);
				show_one(r, &all.list[i]);
			}
	if (all.n == 1)
		run_reads(r, &in->yaml, NULL);
	if (in->validate_with.text && !calibrate_validate(r, in, &all))
		return REFUSED;
	if (in->yaml && all.n == 1)
		r->document = calibration_text(&all.list[0].bench, &all.list[0].fitted, &all.list[0].about);
	return calibrate_store(r, in, &all) ? ANSWERED : REFUSED;
}

static const struct option_group calibrate_groups[] = {OPTION_GROUP(calibrate_options, 0)};

static const struct example calibrate_examples[] = {
    {"calibrate tests/fixtures/calibrate/h100.csv", "achieved rates of a GPU, and the error of the fit", 0},
    {"calibrate tests/fixtures/calibrate/h100.csv --yaml", "the same as a database file", 0},
    {"calibrate tests/fixtures/calibrate/steps.csv --stack ours --extends torchtitan",
        "a training framework, from measured steps", 0},
    {"calibrate tests/fixtures/calibrate/serving.csv --engine ours --extends vllm --yaml",
        "a serving engine, from measured runs, as a database file", 0},
};

static const struct input_needs calibrate_needs[] = {
    {"gpu", "it applies to kernels; a stack or engine uses the GPUs of its rows"},
    {"backend", "it applies to kernels, not to --stack or --engine"},
    {"fresh", "it needs --write or --install"},
    {"validate_with", "it applies to kernels; --stack prints errors without it"},
};

const struct command calibrate_command = {
    .name = "calibrate",
    .section = "Database and measurements",
    .summary = "Fit the models to your own measurements",
    .operands = "files...",
    .usage = "FILE...|-",
    COUNTED(groups, calibrate_groups),
    COUNTED(examples, calibrate_examples),
    COUNTED(needs, calibrate_needs),
    .input_size = sizeof(struct calibrate_in),
    .run = calibrate_run,
};
