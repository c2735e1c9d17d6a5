/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From rows to parameters to a file and back. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "db/db.h"
#include "import/import.h"
#include "model/kernel/kernel.h"
#include "search/fit/fit.h"

enum { ROWS = 450, SOME_ROWS = 120, DTYPES = 2 };

struct lab {
	struct arena *arena;
	struct diag *diag;
	struct gpu gpu;
	struct calibration reference, truth;
	struct measurement *rows;
	int n_rows;
};

static struct datum
number(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* A GPU of round figures, and what its products reach. */
static struct lab
lab_open(void)
{
	struct lab l = {.arena = arena_new(), .gpu = {.id = "toy", .name = "Toy"}};

	l.diag = diag_new(l.arena);
	for (int p = 0; p < N_PEAKS; p++)
		l.gpu.peak_flop_per_s[p] = datum_absent();
	l.gpu.peak_flop_per_s[PEAK_BF16] = number(1000e12);
	l.gpu.peak_flop_per_s[PEAK_FP8] = number(2000e12);
	l.gpu.mem_byte_per_s = number(3e12);
	l.gpu.clock_tensor_hertz = number(1.8e9);
	l.gpu.clock_max_hertz = number(2e9);
	l.gpu.l2_byte = number(50e6);
	l.gpu.n_sms = number(132);
	l.reference = calibrate_reference(&l.gpu);
	l.truth = l.reference;
	l.truth.has_gemm = true;
	l.truth.gemm[DTYPE_BF16] = (struct gemm_calibration){.peak_flop_per_s = number(0.8 * 1000e12),
	    .mem_byte_per_s = number(0.85 * 3e12),
	    .l2_byte_per_s = number(2.5 * 3e12),
	    .base_s = number(2.5e-6),
	    .feed_byte_per_s = number(80 * 1.8e9),
	    .tile_s = number(1.2e-6),
	    .k_step_s = number(150 / 1.8e9),
	    .wave_frac = number(0.2),
	    .derate = number(0.1)};
	l.truth.gemm[DTYPE_FP8] = l.truth.gemm[DTYPE_BF16];
	l.truth.gemm[DTYPE_FP8].peak_flop_per_s = number(0.7 * 2000e12);
	l.truth.gemm[DTYPE_FP8].quantise_s = number(5e-6);
	l.truth.gemm[DTYPE_FP8].quantise_byte_per_s = number(0.5 * 3e12);
	return l;
}

/* Products of every size under that truth, with a wobble. */
static void
measure(struct lab *l, int n, double noise, const char *backend)
{
	static const double ms[] = {1, 3, 8, 16, 48, 64, 160, 256, 640, 1024, 2560, 4096, 8192, 16384};
	static const double wides[] = {512, 1024, 2048, 4096, 5120, 8192, 16384, 28672};
	static const enum dtype dtypes[DTYPES] = {DTYPE_BF16, DTYPE_FP8};

	l->rows = ARENA_ARRAY(l->arena, struct measurement, n * DTYPES);
	l->n_rows = 0;
	for (int i = 0; i < n; i++)
		for (int t = 0; t < DTYPES; t++) {
			const double m = ms[i % 14], wide = wides[(i / 14) % 8], deep = wides[(i / 112 + 3 * i) % 8];
			struct gemm_shape shape = gemm_shape_of(m, wide, deep, dtypes[t]);
			shape.n_copies = fit_is_engine(backend) ? 5 : 0;
			const double wobble = noise * sin(12.9898 * i + t) * (i % 25 == 3 ? 8 : 1);
			l->rows[l->n_rows++] = (struct measurement){.kind = MEASUREMENT_GEMM,
			    .gpu = "toy",
			    .backend = backend,
			    .dtype_text = dtype_name(dtypes[t]),
			    .dtype = dtypes[t],
			    .kv_dtype = DTYPE_NONE,
			    .m = m,
			    .n = wide,
			    .k = deep,
			    .time_s = gemm_time(NULL, &shape, &l->truth, dtypes[t]) * exp(wobble)};
		}
}

static struct fit_bench
bench_of(const struct lab *l, int n_bootstrap)
{
	return (struct fit_bench){.arena = l->arena,
	    .gpu = &l->gpu,
	    .reference = &l->reference,
	    .rows = l->rows,
	    .n_rows = l->n_rows,
	    .n_bootstrap = n_bootstrap};
}

static const struct fitted_class *
class_of(const struct fitted *f, const char *path)
{
	for (int i = 0; i < f->n; i++)
		if (f->classes[i].path && strcmp(f->classes[i].path, path) == 0)
			return &f->classes[i];
	ck_abort_msg("no class %s", path);
	return NULL;
}

static const struct fitted_param *
param_of(const struct fitted_class *c, const char *key)
{
	for (int i = 0; i < c->n_params; i++)
		if (strcmp(c->params[i].key, key) == 0)
			return &c->params[i];
	ck_abort_msg("no parameter %s", key);
	return NULL;
}

static void
near(const struct fitted_class *c, const char *key, double truth, double tolerance)
{
	const struct fitted_param *p = param_of(c, key);

	ck_assert_msg(p->identified, "%s is open", key);
	ck_assert_msg(fabs(p->value / truth - 1) <= tolerance, "%s is %g, not %g", key, p->value, truth);
	/* intervals of 80 %: with twice their length on both sides the truth is inside */
	const double slack = 2 * (p->high - p->low);
	ck_assert_msg(p->low - slack <= truth && truth <= p->high + slack, "%s: %g is far from %g .. %g", key, truth,
	    p->low, p->high);
}

START_TEST(test_recovers)
{
	struct lab l = lab_open();
	struct fitted f = {0};

	measure(&l, ROWS, 0.03, "cublaslt");
	const struct fit_bench b = bench_of(&l, 100);
	fit_gemm(&b, &f);
	const struct fitted_class *wide = class_of(&f, "gemm"), *fp8 = class_of(&f, "gemm_by_dtype.fp8");
	near(wide, "eta_c", 0.8, 0.02);
	near(wide, "eta_m", 0.85, 0.02);
	near(wide, "t0", 2.5e-6, 0.2);
	near(wide, "tk64", 150, 0.1);
	near(fp8, "eta_c", 0.7, 0.03);
	near(fp8, "eta_q", 0.5, 0.2);
	ck_assert_int_eq(wide->residual.n_regimes, 3);
	/* the wobble is what is left: 3 % times the mean of |sin|, and the outliers */
	ck_assert(wide->residual.all.mape < 0.035);
	ck_assert(fabs(wide->residual.all.bias) < 0.01);
	arena_free(l.arena);
}
END_TEST

/* Without long and without short products most parameters cannot be known. */
START_TEST(test_says_what_is_open)
{
	struct lab l = lab_open();
	struct fitted f = {0};
	int n = 0;

	measure(&l, ROWS, 0.02, "cublaslt");
	for (int i = 0; i < l.n_rows; i++)
		if (l.rows[i].m <= 3 && l.rows[i].dtype == DTYPE_BF16)
			l.rows[n++] = l.rows[i];
	l.n_rows = n;
	const struct fit_bench b = bench_of(&l, 50);
	fit_gemm(&b, &f);
	const struct fitted_class *c = class_of(&f, "gemm");
	ck_assert(!c->refused);
	ck_assert(!param_of(c, "eta_c")->identified);
	ck_assert(!param_of(c, "delta")->identified);
	near(c, "eta_m", 0.85, 0.03);
	arena_free(l.arena);
}
END_TEST

START_TEST(test_refuses_few)
{
	struct lab l = lab_open();
	struct fitted f = {0};

	measure(&l, 20, 0.03, "cublaslt");
	const struct fit_bench b = bench_of(&l, 0);
	fit_gemm(&b, &f);
	const struct fitted_class *c = class_of(&f, "gemm");
	ck_assert_ptr_nonnull(c->refused);
	ck_assert_str_eq(c->refused, "20 rows, 48 needed");
	arena_free(l.arena);
}
END_TEST

/* What the host takes to launch a product hides short ones: it is told apart, and long ones still give the rate. */
START_TEST(test_hosted)
{
	struct lab l = lab_open();
	struct fitted f = {0};

	measure(&l, ROWS, 0.02, "vllm");
	for (int i = 0; i < l.n_rows; i++) {
		struct measurement *m = &l.rows[i];
		const double host_s = (m->m < 32 ? 0.7 : 1) * (80e-6 + (fmod(m->m, 4) != 0 ? 20e-6 : 0));
		if (m->dtype == DTYPE_FP8)
			m->time_s = fmax(m->time_s, host_s * (1 + 0.02 * (i % 3 - 1)));
	}
	const struct fit_bench b = bench_of(&l, 50);
	fit_gemm(&b, &f);
	for (int i = 0; i < f.classes[0].n_params; i++)
		ck_assert_str_ne(f.classes[0].params[i].key, "host");
	const struct fitted_class *c = class_of(&f, "gemm_by_dtype.fp8");
	ck_assert_msg(!c->refused, "%s", c->refused);
	near(c, "host", 80e-6, 0.03);
	near(c, "host_few", 0.7, 0.05);
	ck_assert_double_lt(c->residual.all.mape, 0.05);
	arena_free(l.arena);
}
END_TEST

/* Times that start late are not times that wait for the host: no product is that short, and none is explained. */
START_TEST(test_refuses_late)
{
	struct lab l = lab_open();
	struct fitted f = {0};

	measure(&l, SOME_ROWS, 0.02, "vllm");
	for (int i = 0; i < l.n_rows; i++)
		if (l.rows[i].dtype == DTYPE_FP8)
			l.rows[i].time_s = i == 1 ? 30e-6 : l.rows[i].time_s + 80e-6;
	const struct fit_bench b = bench_of(&l, 0);
	fit_gemm(&b, &f);
	ck_assert_ptr_null(class_of(&f, "gemm")->refused);
	ck_assert_ptr_nonnull(class_of(&f, "gemm_by_dtype.fp8")->refused);
	arena_free(l.arena);
}
END_TEST

static const struct calibration *
read_back(struct lab *l, const char *text)
{
	const struct node *root = tree_read_text(l->arena, l->diag, "toy", text, strlen(text));
	struct calibration *c = ARENA_NEW(l->arena, struct calibration);

	ck_assert_msg(root != NULL, "%s", text);
	struct binder b = {.arena = l->arena, .diag = l->diag};
	ck_assert_msg(calibration_bind(&b, root, "toy", c), "%s", text);
	return c;
}

static const char before[] = "format: 1\ngpu: toy\n"
                             "relative_to: {peak_bf16: 900TFLOP/s, hbm: 2.5TB/s, clock: 1.5GHz, l2: 50MB, sms: 132}\n"
                             "data: {source: old}\n"
                             "gemm: {eta_c: 0.5, eta_m: 0.5, t0: 9us, bsm: 60B/clk, tpro: 9us, tk64: 100clk}\n"
                             "mla:\n"
                             "  context: {eta_a: [0.5, 0.4..0.6], t0: 10us, tblk: 3us, eta_x: 1.2}\n"
                             "residual: {mla_context: {mape: 10%}}\n";

/* What is written reads back: the same rates to the digits written, intervals, residuals; and twice the same text. */
START_TEST(test_round_trip)
{
	struct lab l = lab_open();
	struct fitted f = {0}, again = {0};
	struct calibration_about about = {.name = "Toy", .gpu = "toy", .source = "a test, with: signs", .date = "2026"};

	measure(&l, SOME_ROWS, 0.03, "cublaslt");
	const struct fit_bench b = bench_of(&l, 50);
	fit_gemm(&b, &f);
	fit_gemm(&b, &again);
	char *text = calibration_text(&b, &f, &about);
	ck_assert_str_eq(text, calibration_text(&b, &again, &about));
	const struct calibration *c = read_back(&l, text);
	const struct fitted_class *wide = class_of(&f, "gemm");
	ck_assert_str_eq(c->source, "a test, with: signs");
	ck_assert_double_eq_tol(
	    c->gemm[DTYPE_BF16].peak_flop_per_s.value, param_of(wide, "eta_c")->value * 1000e12, 1e-3 * 1000e12);
	ck_assert_double_eq_tol(
	    c->gemm[DTYPE_BF16].l2_byte_per_s.value, param_of(wide, "l2x")->value * 3e12, 1e-3 * 3e12);
	ck_assert(c->gemm[DTYPE_FP8].quantise_byte_per_s.value > 0);
	double low, high;
	ck_assert(calibration_interval(c, c->gemm[DTYPE_BF16].peak_flop_per_s, &low, &high));
	ck_assert_double_eq_tol(low, param_of(wide, "eta_c")->low * 1000e12, 1e-3 * 1000e12);
	ck_assert_double_eq_tol(high, param_of(wide, "eta_c")->high * 1000e12, 1e-3 * 1000e12);
	ck_assert_msg(c->n_residuals == 3, "%s", text);
	ck_assert_str_eq(c->residuals[0].name, "gemm_bf16");
	ck_assert_int_eq(c->residuals[0].n_regimes, 3);
	ck_assert(datum_given(c->residuals[0].sd) && datum_given(c->residuals[0].regimes[1].q90));

	/* sections that nobody fitted stay, and their rates stay the same under other reference figures */
	const struct calibration *old = read_back(&l, before);
	about.before = tree_read_text(l.arena, l.diag, "toy", before, strlen(before));
	c = read_back(&l, calibration_text(&b, &f, &about));
	ck_assert(c->has_mla_context);
	ck_assert_double_eq_tol(c->mla_context.flop_per_s.value, old->mla_context.flop_per_s.value, 1e-4 * 1000e12);
	ck_assert_double_eq_tol(
	    c->mla_context.mem_byte_per_s.value, old->mla_context.mem_byte_per_s.value, 1e-4 * 3e12);
	ck_assert(calibration_interval(c, c->mla_context.flop_per_s, &low, &high));
	ck_assert_double_eq_tol(low, 0.4 * 900e12, 1e-4 * 1000e12);
	ck_assert_double_eq_tol(high, 0.6 * 900e12, 1e-4 * 1000e12);
	/* the new fit, not the old one */
	ck_assert_double_eq_tol(c->gemm[DTYPE_BF16].peak_flop_per_s.value, 0.8 * 1000e12, 0.05 * 1000e12);
	ck_assert_ptr_nonnull(strstr(c->note, "unchanged: mla"));
	arena_free(l.arena);
}
END_TEST

static bool
reads(const char *value)
{
	struct lab l = lab_open();
	struct calibration c;
	char *text = arena_printf(l.arena,
	    "format: 1\ngpu: toy\nrelative_to: {peak_bf16: 900TFLOP/s, hbm: 2.5TB/s, clock: 1.5GHz, l2: 50MB, sms: "
	    "132}\ndata: {source: old}\n"
	    "gemm: {eta_c: %s, eta_m: 0.5, t0: 9us, bsm: 60B/clk, tpro: 9us, tk64: 100clk}\n",
	    value);
	const struct node *root = tree_read_text(l.arena, l.diag, "toy", text, strlen(text));
	struct binder b = {.arena = l.arena, .diag = l.diag};
	const bool ok = root && calibration_bind(&b, root, "toy", &c);

	arena_free(l.arena);
	return ok;
}

START_TEST(test_intervals_are_checked)
{
	ck_assert(reads("0.5"));
	ck_assert(reads("[0.5, 0.4..0.6]"));
	ck_assert(reads("[0.5, 0.5..0.5]"));
	ck_assert(!reads("[0.5, 0.6..0.7]"));
	ck_assert(!reads("[0.5, 0.4..0.45]"));
	ck_assert(!reads("[0.5, 0.4..]"));
	ck_assert(!reads("[0.5, 0.4us..0.6us]"));
	ck_assert(!reads("[0.5, x..y]"));
}
END_TEST

/* Versions: of each backend the latest; the median of the backends at each shape. */
START_TEST(test_latest_versions)
{
	static const char *const versions[] = {"1.3.0rc2", "1.3.0rc20", "0.9.9", "1.2.10", "1.3.0rc20"};
	struct lab l = lab_open();
	int n;

	l.rows = ARENA_ARRAY(l.arena, struct measurement, 5);
	for (l.n_rows = 0; l.n_rows < 5; l.n_rows++)
		l.rows[l.n_rows] = (struct measurement){.kind = MEASUREMENT_GEMM,
		    .backend = "trtllm",
		    .version = versions[l.n_rows],
		    .dtype_text = "bf16",
		    .dtype = DTYPE_BF16,
		    .m = l.n_rows};
	const struct fit_bench b = bench_of(&l, 0);
	const struct measurement **rows = fit_rows(&b, MEASUREMENT_GEMM, &n);
	ck_assert_int_eq(n, 2);
	ck_assert_double_eq(rows[0]->m, 1);
	ck_assert_double_eq(rows[1]->m, 4);
	arena_free(l.arena);
}
END_TEST

/* Errors by hand: 10 % too high, 10 % too low, right. */
START_TEST(test_errors)
{
	struct arena *a = arena_new();
	const double measured[] = {1, 1, 1, 1}, predicted[] = {1.1, 0.9, 1, NAN};
	const struct fitted_errors e = fitted_errors_of(a, 4, predicted, measured, NULL);

	ck_assert_int_eq(e.n, 3);
	ck_assert_double_eq_tol(e.mape, 0.2 / 3, 1e-12);
	ck_assert_double_eq_tol(e.median_ape, 0.1, 1e-12);
	ck_assert_double_eq_tol(e.bias, 0, 1e-12);
	ck_assert_double_eq_tol(e.mean, (-log(1.1) - log(0.9)) / 3, 1e-12);
	/* a weight of 0 is no row; a heavy row draws the quantiles */
	const double weight[] = {0, 8, 1, 1};
	const struct fitted_errors w = fitted_errors_of(a, 4, predicted, measured, weight);
	ck_assert_int_eq(w.n, 2);
	ck_assert_double_eq_tol(w.bias, -0.8 / 9, 1e-12);
	ck_assert(w.q90 > 0.1);
	arena_free(a);
}
END_TEST

/* What the shipped files reach on rows that were not fitted.  Prefill and decode: trtllm, vllm, sglang. */
static const struct {
	const char *id, *residual;
	double most;
} shipped[] = {
    {"a100-sxm4-80gb", "gemm_bf16", 0.075},
    {"h100-sxm5-80gb", "gemm_bf16", 0.055},
    {"h200-sxm5-141gb", "gemm_bf16", 0.057},
    {"b200-sxm", "gemm_bf16", 0.082},
    {"b300-sxm", "gemm_bf16", 0.080},
    {"gb200", "gemm_bf16", 0.082},
    {"l40s", "gemm_bf16", 0.105},
    {"rtx-pro-6000-bse", "gemm_bf16", 0.085},
    {"h100-sxm5-80gb-trtllm", "attention_context", 0.06},
    {"h100-sxm5-80gb-vllm", "attention_context", 0.09},
    {"h100-sxm5-80gb-sglang", "attention_context", 0.09},
    {"h100-sxm5-80gb-trtllm", "attention_generation", 0.15},
    {"h100-sxm5-80gb-vllm", "attention_generation", 0.08},
    {"h100-sxm5-80gb-sglang", "attention_generation", 0.09},
    {"h100-sxm5-80gb", "all_reduce", 0.08},
};

START_TEST(test_shipped)
{
	struct lab l = lab_open();
	struct calibration c;
	const char *path = arena_printf(l.arena, "hwdb/calibration/%s.yaml", shipped[_i].id);
	const struct node *root = tree_read_file(l.arena, l.diag, path);

	ck_assert_msg(root != NULL, "%s", path);
	struct binder b = {.arena = l.arena, .diag = l.diag};
	ck_assert_msg(calibration_bind(&b, root, shipped[_i].id, &c), "%s", path);
	for (int i = 0; i < c.n_residuals; i++)
		if (strcmp(c.residuals[i].name, shipped[_i].residual) == 0) {
			ck_assert_msg(c.residuals[i].mape_frac.value <= shipped[_i].most, "%s %s: %.1f %%", path,
			    shipped[_i].residual, c.residuals[i].mape_frac.value * 100);
			ck_assert(c.residuals[i].q10.value < 0 && c.residuals[i].q90.value > 0);
			arena_free(l.arena);
			return;
		}
	ck_abort_msg("%s has no residual of %s", path, shipped[_i].residual);
}
END_TEST

Suite *calibrate_suite(void);

Suite *
calibrate_suite(void)
{
	Suite *s = suite_create("calibrate");
	TCase *t = tcase_create("calibrate");
	tcase_set_tags(t, "slow");

	tcase_set_timeout(t, 300); /* on a busy machine */
	tcase_add_test(t, test_recovers);
	tcase_add_test(t, test_says_what_is_open);
	tcase_add_test(t, test_refuses_few);
	tcase_add_test(t, test_hosted);
	tcase_add_test(t, test_refuses_late);
	tcase_add_test(t, test_round_trip);
	tcase_add_test(t, test_intervals_are_checked);
	tcase_add_test(t, test_latest_versions);
	tcase_add_test(t, test_errors);
	tcase_add_loop_test(t, test_shipped, 0, sizeof shipped / sizeof *shipped);
	suite_add_tcase(s, t);
	return s;
}
