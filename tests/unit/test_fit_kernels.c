/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits of kernels: rows made by the models from known parameters, with noise, give the parameters back. */
#include "model/collective/collective.h"
#include "model/kernel/kernel.h"
#include "search/fit/fit.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 600 };

static struct arena *arena;
static struct measurement rows[ROWS_MAX];
static int n_rows;
static unsigned state;
static const struct gpu *gpu;
static struct calibration reference;

static struct datum
number(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* From 0 to 1. */
static double
draw(void)
{
	state = state * 1664525u + 1013904223u;
	return (double)(state >> 8) / 16777216.0;
}

static double
pick(const double *list, size_t n)
{
	return list[(size_t)(draw() * (double)n) % n];
}
#define PICK(...) pick((const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* 132 SMs, 989 TFLOP/s, 3.35 TB/s, 50 MB of L2, 18 links of 25 GB/s. */
static void
set_up(void)
{
	static struct gpu made;

	memset(&made, 0, sizeof made);
	made.id = "made";
	for (int i = 0; i < N_PEAKS; i++)
		made.peak_flop_per_s[i] = datum_absent();
	made.peak_flop_per_s[PEAK_BF16] = number(989e12);
	made.architecture = "hopper";
	made.compute_capability = "9.0";
	made.mem_byte_per_s = number(3.35e12);
	made.clock_tensor_hertz = number(1.83e9);
	made.clock_max_hertz = number(1.98e9);
	made.l2_byte = number(50e6);
	made.n_sms = number(132);
	made.n_links = number(18);
	made.link_byte_per_s = number(25e9);
	gpu = &made;
	reference = calibrate_reference(gpu);
	arena = arena_new();
	n_rows = 0;
	state = 1;
}

static void
tear_down(void)
{
	arena_free(arena);
}

static struct measurement *
row(enum measurement_kind kind, const char *backend, const char *operation)
{
	struct measurement *m = &rows[n_rows++];

	ck_assert_int_le(n_rows, ROWS_MAX);
	*m = (struct measurement){.kind = kind,
	    .gpu = "made",
	    .backend = backend,
	    .version = "1.0",
	    .operation = operation,
	    .dtype_text = "bf16",
	    .dtype = DTYPE_BF16,
	    .weight_dtype = DTYPE_BF16,
	    .kv_dtype = DTYPE_BF16,
	    .routing = "balanced"};
	m->nodes = m->threads = NAN;
	return m;
}

static void
timed(struct measurement *m, double seconds)
{
	m->time_s = seconds * (1 + 0.04 * (draw() - 0.5));
}

static struct fitted
fit(void (*fit_kind)(const struct fit_bench *, struct fitted *), const char *backend)
{
	const struct fit_bench b = {
	    .arena = arena, .gpu = gpu, .backend = backend, .reference = &reference, .rows = rows, .n_rows = n_rows};
	struct fitted out = {0};

	fit_kind(&b, &out);
	return out;
}

static const struct fitted_class *
class_of(const struct fitted *f, const char *path)
{
	for (int i = 0; i < f->n; i++)
		if (f->classes[i].path && strcmp(f->classes[i].path, path) == 0)
			return &f->classes[i];
	ck_abort_msg("no %s was fitted", path);
	return NULL;
}

static void
expect(const struct fitted_class *c, const char *key, double value, double tolerance)
{
	for (int i = 0; i < c->n_params; i++)
		if (strcmp(c->params[i].key, key) == 0) {
			ck_assert_msg(fabs(c->params[i].value / value - 1) < tolerance, "%s.%s: %g, made with %g",
			    c->path, key, c->params[i].value, value);
			return;
		}
	ck_abort_msg("%s has no %s", c->path, key);
}

static const struct fitted_errors *
residual_of(const struct fitted *f, const char *name)
{
	for (int i = 0; i < f->n; i++)
		if (f->classes[i].residual_name && strcmp(f->classes[i].residual_name, name) == 0)
			return &f->classes[i].residual.all;
	ck_abort_msg("no errors of %s", name);
	return NULL;
}

static struct context_calibration
context_made(double tile)
{
	return (struct context_calibration){number(0.65 * 989e12), number(9e-6), number(1e-6), number(0.6 * 3.35e12),
	    .tile = number(tile), .kv_byte_per_s = number(0.9 * 3.35e12), .l2_byte_per_s = number(1.5 * 3.35e12),
	    .hold = number(0.3), .fade = number(0.6), .derate = number(0.1), .norm = number(1.6),
	    .token_s = number(0.5e-9)};
}

static void
make_prompts(const struct context_calibration *p)
{
	for (int i = 0; i < 300; i++) {
		struct measurement *m = row(MEASUREMENT_ATTENTION, "vllm", "prefill");

		m->batch = PICK(1, 2, 4, 8, 16, 32);
		m->kv_heads = PICK(1, 2, 4, 8);
		m->heads = m->kv_heads * PICK(1, 2, 4, 8);
		m->head_dim = 128;
		m->query_len = PICK(16, 64, 128, 300, 512, 1024, 2048, 4096, 8192);
		m->context_len = m->window = 0;
		const struct attention_shape s = {.batch = m->batch,
		    .n_heads = m->heads,
		    .n_kv_heads = m->kv_heads,
		    .head_dim = 128,
		    .query_token = m->query_len,
		    .elem_byte = 2,
		    .kv_elem_byte = 2};
		timed(m, attention_context(NULL, &s, p, &reference));
	}
}

START_TEST(test_routing)
{
	static const struct {
		const char *routing;
		double power;
	} cases[] = {{NULL, 0}, {"balanced", 0}, {"uniform", 0}, {"power_law_1.2", 1.2}, {"power_law_1", 1},
	    {"power_law_", 0}, {"power_law_-1", 0}, {"power_law_nan", 0}, {"power_law_1e9", 0}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct measurement *m = row(MEASUREMENT_MOE, "vllm", NULL);
		m->routing = cases[i].routing;
		ck_assert_double_eq(fit_moe_shape(m).power, cases[i].power);
	}
}
END_TEST

START_TEST(test_context)
{
	const double tile = _i ? 64 : 128;
	const struct context_calibration p = context_made(tile);

	make_prompts(&p);
	const struct fitted f = fit(fit_attention, "vllm");
	const struct fitted_class *c = class_of(&f, "attention.context");
	ck_assert(!c->refused);
	expect(c, "eta_a", 0.65, 0.05);
	expect(c, "t0", 9e-6, 0.05);
	expect(c, "tile", tile, 1e-9);
	ck_assert_double_lt(c->residual.all.mape, 0.02);
}
END_TEST

START_TEST(test_generation)
{
	const struct generation_calibration p = {number(0.9 * 3.35e12), number(8e-6), number(0.3 * 3.35e12),
	    number(3e-6), number(3e-6), number(0), .l2_byte_per_s = number(1.4 * 3.35e12), .hold = number(0.6),
	    .fade = number(0.5), .norm = number(1.6), .own_item_s = number(1.5e-6)};

	for (int i = 0; i < 300; i++) {
		struct measurement *m = row(MEASUREMENT_ATTENTION, "vllm", "decode");

		m->batch = PICK(1, 4, 16, 64, 256, 1024);
		m->kv_heads = PICK(1, 2, 4, 8);
		m->heads = m->kv_heads * PICK(1, 2, 4, 8);
		m->head_dim = 128;
		m->query_len = 1;
		m->context_len = PICK(32, 128, 512, 2048, 8192);
		m->window = 0;
		const struct attention_shape s = {.batch = m->batch,
		    .n_heads = m->heads,
		    .n_kv_heads = m->kv_heads,
		    .head_dim = 128,
		    .context_token = m->context_len,
		    .elem_byte = 2,
		    .kv_elem_byte = 2};
		timed(m, attention_generation(NULL, &s, &p, &reference));
	}
	const struct fitted f = fit(fit_attention, "vllm");
	const struct fitted_class *c = class_of(&f, "attention.generation");
	ck_assert(!c->refused);
	expect(c, "eta_m", 0.9, 0.05);
	expect(c, "t0", 8e-6, 0.05);
	expect(c, "tcta", 3e-6, 0.1);
	expect(c, "tmha", 1.5e-6, 0.15);
	ck_assert_double_lt(c->residual.all.mape, 0.02);
}
END_TEST

/* A handful of rows says nothing: refused, with the number that is needed. */
START_TEST(test_too_few)
{
	const struct context_calibration p = context_made(128);

	make_prompts(&p);
	n_rows = 12;
	const struct fitted f = fit(fit_attention, "vllm");
	const struct fitted_class *c = class_of(&f, "attention.context");
	ck_assert(c->refused != NULL && strstr(c->refused, "12 rows") != NULL);
	/* and of no engine: engines differ too much for a median of them */
	ck_assert_int_eq(fit(fit_attention, NULL).n, 0);
}
END_TEST

START_TEST(test_moe)
{
	const struct moe_calibration p = {
	    .peak_flop_per_s = number(0.6 * 989e12),
	    .mem_byte_per_s = number(0.9 * 3.35e12),
	    .base_s = number(30e-6),
	    .feed_byte_per_s = number(100 * 1.83e9),
	    .tile_s = number(0.5e-6),
	    .k_step_s = number(100 / 1.83e9),
	    .norm = number(3),
	    .permute_byte_per_s = number(0.8 * 3.35e12),
	    .route_byte_per_s = number(5 * 3.35e12),
	};

	for (int i = 0; i < 300; i++) {
		struct measurement *m = row(MEASUREMENT_MOE, "vllm", NULL);

		m->tokens = PICK(1, 4, 16, 64, 256, 1024, 4096, 16384);
		m->hidden = PICK(2048, 4096, 6144);
		m->expert_ffn = PICK(768, 1536, 2048);
		m->top_k = PICK(2, 4, 8);
		m->experts = PICK(16, 64, 128);
		m->tp = PICK(1, 2);
		m->ep = PICK(1, 2, 8);
		const struct moe_shape s = {.n_tokens = m->tokens,
		    .hidden = m->hidden,
		    .expert_width = m->expert_ffn,
		    .top_k = m->top_k,
		    .n_experts = m->experts,
		    .tp = m->tp,
		    .ep = m->ep,
		    .a_byte = 2,
		    .w_byte = 2,
		    .gated = true};
		timed(m, moe_time(NULL, &s, &p, &reference));
	}
	const struct fitted f = fit(fit_moe, "vllm");
	const struct fitted_class *c = class_of(&f, "moe.bf16");
	ck_assert(!c->refused);
	expect(c, "eta_m", 0.9, 0.05);
	expect(c, "t0", 30e-6, 0.1);
	ck_assert_double_lt(c->residual.all.mape, 0.04);
}
END_TEST

static void
make_ring(const char *operation, enum collective collective, double base_s)
{
	const struct collective_calibration p = {.base_s = number(base_s),
	    .per_rank_s = number(1e-6),
	    .bus_byte_per_s = number(370e9),
	    .beta = number(0.6),
	    .ramp_s = number(18e-6),
	    .ramp_byte = number(7e6),
	    .nvls_min_ranks = number(5),
	    .nvls_base_s = number(nvls_base()),
	    .nvls_byte_per_s = number(0.684 * 450e9),
	    .nvls_ramp_s = number(7e-6),
	    .nvls_ramp_byte = number(60e6)};

	for (double ranks = 2; ranks <= 8; ranks *= 2)
		for (double size = 512; size < 1e9; size *= 4) {
			struct measurement *m = row(MEASUREMENT_COLLECTIVE, "nccl", operation);

			m->ranks = ranks;
			m->size_byte = size;
			timed(m, collective_ramp(NULL, collective, &p, ranks, size));
		}
}

START_TEST(test_collective)
{
	make_ring("all_reduce", COLLECTIVE_ALL_REDUCE, 6e-6);
	make_ring("all_gather", COLLECTIVE_ALL_GATHER, 5e-6);
	make_ring("reduce_scatter", COLLECTIVE_REDUCE_SCATTER, 8e-6);
	const struct fitted f = fit(fit_collective, NULL);
	const struct fitted_class *sum = class_of(&f, "collective.all_reduce");
	const struct fitted_class *gather = class_of(&f, "collective.all_gather");
	const struct fitted_class *scatter = class_of(&f, "collective.reduce_scatter");
	expect(sum, "a0", 6e-6, 0.05);
	expect(sum, "binf", 370e9, 0.08);
	/* eight ranks over switches that add up: what they reach in the end is known, and three sizes in the rows tell
	 * of their ramp */
	expect(sum, "nvls_b", 0.684 * 450e9, 1e-9);
	expect(sum, "nvls_c", 7e-6, 0.25);
	expect(sum, "nvls_v0", 60e6, 0.5);
	expect(gather, "a0", 5e-6, 0.05);
	expect(scatter, "a0", 8e-6, 0.05);
	/* one ring, one bandwidth */
	expect(gather, "binf", 370e9, 0.08);
	ck_assert_double_eq(gather->params[2].value, scatter->params[2].value);
	/* the engines' own all-reduce was not measured */
	ck_assert_int_eq(fit(fit_collective, "vllm").n, 0);
}
END_TEST

/* Plateaus are found, and named from the far end. */
START_TEST(test_memory)
{
	const struct memory_calibration m = {3,
	    {{"l1", number(128e3), datum_absent(), number(25e-9)}, {"l2", number(50e6), number(5.5e12), number(210e-9)},
	        {"hbm", datum_absent(), number(3e12), number(600e-9)}}};

	for (double size = 16e3; size < 4e9; size *= 1.6) {
		struct measurement *copy = row(MEASUREMENT_COPY, "ridge-bench", "copy");
		copy->size_byte = size;
		timed(copy, 2 * size / memory_rate(NULL, &m, 2 * size));
		struct measurement *load = row(MEASUREMENT_LATENCY, "ridge-bench", "load");
		load->size_byte = size;
		timed(load, memory_latency(NULL, &m, size));
	}
	for (double n = 1; n < 5000; n *= 10) {
		struct measurement *start = row(MEASUREMENT_LAUNCH, "ridge-bench", "stream");
		start->batch = n;
		start->time_s = (5e-6 + n * 2.2e-6) * (n > 1 && n < 1000 ? 1.02 : 1);
	}
	const struct fitted f = fit(fit_memory, NULL);
	expect(class_of(&f, "memory.hbm"), "rate", 3e12, 0.03);
	expect(class_of(&f, "memory.hbm"), "latency", 600e-9, 0.03);
	expect(class_of(&f, "memory.l2"), "rate", 5.5e12, 0.03);
	expect(class_of(&f, "memory.l2"), "size", 50e6, 0.1);
	expect(class_of(&f, "memory.l1"), "latency", 25e-9, 0.05);
	expect(class_of(&f, "launch"), "stream", 5e-6, 0.01);
	expect(class_of(&f, "launch"), "stream_kernel", 2.2e-6, 0.01);
	/* 10 and 100 kernels take 2 % longer than the line through 1 and 1000 says */
	ck_assert_int_eq(residual_of(&f, "launch")->n, 2);
	ck_assert_double_eq_tol(residual_of(&f, "launch")->mape, 0.02 / 1.02, 1e-6);
}
END_TEST

/* Reads of an H100, tests/corpus/bench-h100.jsonl: MiB and microseconds. */
static const double read_mib_us[][2] = {{4, 0.5915}, {8, 1.0879}, {16, 2.172}, {28, 3.8398}, {32, 4.358}, {40, 5.44},
    {48, 8.7039}, {56, 18.108}, {64, 21.025}, {80, 26.573}, {96, 32.124}, {128, 43.11}, {256, 86.914}, {512, 174.72},
    {1024, 349.33}, {2048, 697.46}, {4096, 1395}};

/* Loads there: L1 and the line where it ends, both halves of L2, memory. */
static double
measured_latency_s(double size_byte)
{
	return size_byte < 200e3 ? 16.2e-9
	    : size_byte < 500e3  ? 80.7e-9
	    : size_byte < 20e6   ? 143e-9
	    : size_byte < 40e6   ? 267e-9
	                         : 347e-9;
}

START_TEST(test_memory_of_hopper)
{
	/* rows from before the program left out what does not fill the GPU, and rows since */
	for (int old = 0; old < 2; old++) {
		n_rows = 0;
		for (double size = 16 * 1024; old && size < 4 << 20; size *= 2) {
			struct measurement *read = row(MEASUREMENT_COPY, "ridge-bench", "read");
			read->size_byte = size;
			timed(read, 0.4e-6);
		}
		for (size_t i = 0; i < sizeof read_mib_us / sizeof *read_mib_us; i++) {
			struct measurement *read = row(MEASUREMENT_COPY, "ridge-bench", "read");
			read->size_byte = read_mib_us[i][0] * 1048576;
			timed(read, 1e-6 * read_mib_us[i][1]);
		}
		for (double size = 4096; size <= 536870912; size *= 2) {
			struct measurement *load = row(MEASUREMENT_LATENCY, "ridge-bench", "load");
			load->size_byte = size;
			timed(load, measured_latency_s(size));
		}
		const struct fitted f = fit(fit_memory, NULL);
		expect(class_of(&f, "memory.hbm"), "rate", 3.08e12, 0.02);
		expect(class_of(&f, "memory.l2"), "rate", 7.7e12, 0.02);
		expect(class_of(&f, "memory.l2"), "size", 50 * 1048576.0, 0.03);
		/* sizes that were left out: that at the edge of L2 is off, the others are right */
		ck_assert_double_lt(residual_of(&f, "memory_read")->median_ape, 0.03);
		ck_assert_double_lt(residual_of(&f, "latency")->median_ape, 0.03);
		expect(class_of(&f, "memory.hbm"), "latency", 345e-9, 0.1);
	}
}
END_TEST

/* Rates that are not of the vector units, or of no unit, stay out of their peaks. */
START_TEST(test_peaks)
{
	static const struct {
		const char *operation;
		enum dtype dtype;
		double flop_per_s;
	} measured[] = {{NULL, DTYPE_FP64, 33e12}, {"mma", DTYPE_FP64, 62e12}, {"mma", DTYPE_FP8, 1950e12},
	    {"wgmma", DTYPE_FP8, 1650e12}, {"mma", DTYPE_BF16, 620e12}, {"wgmma", DTYPE_BF16, 850e12}};

	for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
		struct measurement *m = row(MEASUREMENT_FMA, "ridge-bench", measured[i].operation);
		m->dtype = measured[i].dtype;
		m->flop = 1e12;
		m->time_s = 1e12 / measured[i].flop_per_s;
	}
	struct fitted f = fit(fit_memory, NULL);
	expect(class_of(&f, "fma"), "fp64", 33e12, 1e-9);
	expect(class_of(&f, "fma"), "fp64_tensor", 62e12, 1e-9);
	expect(class_of(&f, "fma"), "fp8", 1650e12, 1e-9);
	expect(class_of(&f, "fma"), "bf16", 850e12, 1e-9);
	/* data-center Blackwell has its peak by tcgen05, which is not measured; Ada and workstation Blackwell by mma */
	for (int i = 0; i < 2; i++) {
		struct gpu other = *gpu;
		other.compute_capability = i ? "12.0" : "10.0";
		const struct fit_bench b = {
		    .arena = arena, .gpu = &other, .reference = &reference, .rows = rows + 1, .n_rows = i ? 2 : 1};
		f = (struct fitted){0};
		fit_memory(&b, &f);
		ck_assert_int_eq(f.n, i);
		if (i)
			expect(class_of(&f, "fma"), "fp8", 1950e12, 1e-9);
	}
}
END_TEST

/* Only what programs get is fitted: the best candidate and a hot GPU stay out of the median of a shape. */
START_TEST(test_candidates)
{
	static const char *const backends[] = {"cublaslt", "cublaslt-best", "cublaslt-sustained"};
	double eta[2] = {0};

	for (int all = 0; all < 2; all++) {
		n_rows = 0;
		for (double m = 1; m <= 8192; m *= 2)
			for (double n = 1024; n <= 16384; n *= 2)
				for (int i = 0; i < (all ? 3 : 1); i++) {
					struct measurement *g = row(MEASUREMENT_GEMM, backends[i], NULL);
					g->m = m;
					g->n = n;
					g->k = 4096;
					g->time_s = (2e-6 + fmax(2 * m * n * 4096 / 790e12, 2 * n * 4096 / 2.8e12)) *
					    (i == 1          ? 0.5
					            : i == 2 ? 1.3
					                     : 1);
				}
		const struct fitted f = fit(fit_gemm, NULL);
		const struct fitted_class *c = class_of(&f, "gemm");
		for (int i = 0; i < c->n_params; i++)
			if (strcmp(c->params[i].key, "eta_c") == 0)
				eta[all] = c->params[i].value;
	}
	ck_assert_double_gt(eta[0], 0.7);
	ck_assert_double_eq_tol(eta[0], eta[1], 1e-12);
}
END_TEST

/* A fit starts inside its bounds, and what it finds is what the file's reader makes of it. */
START_TEST(test_rows)
{
	const struct family *const families[] = {&family_gemm, &family_context, &family_generation, &family_moe,
	    &family_collective, &family_custom, &family_launch};
	const struct param_units u = param_units_of(989e12, 3.35e12, 1.83e9);

	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		for (int j = 0; j < families[i]->n; j++) {
			const struct param_row *r = &families[i]->rows[j];

			ck_assert_msg(isnan(r->start) || (r->least <= r->start && r->start <= r->most), "%s", r->key);
			ck_assert_double_eq_tol(
			    param_unscaled(&u, r->form, param_scaled(&u, r->form, 0.7)), 0.7, 1e-12);
		}
}
END_TEST

Suite *fit_kernels_suite(void);

Suite *
fit_kernels_suite(void)
{
	Suite *s = suite_create("fit_kernels");
	TCase *t = tcase_create("known parameters");
	tcase_set_tags(t, "slow");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, test_context, 0, 2);
	tcase_add_test(t, test_routing);
	tcase_add_test(t, test_generation);
	tcase_add_test(t, test_too_few);
	tcase_add_test(t, test_moe);
	tcase_add_test(t, test_collective);
	tcase_add_test(t, test_memory);
	tcase_add_test(t, test_memory_of_hopper);
	tcase_add_test(t, test_peaks);
	tcase_add_test(t, test_candidates);
	tcase_add_test(t, test_rows);
	suite_add_tcase(s, t);
	return s;
}
