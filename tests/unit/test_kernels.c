/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernel models against check vectors: tables of constants and of the times that they give (tests/vectors). */
#include "model/collective/collective.h"
#include "model/kernel/kernel.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 20, TOLERANCE_PPM = 1000 };

/* A line of a table: its words, and those that are numbers as numbers. */
struct line {
	char text[512];
	const char *word[COLUMNS_MAX];
	double number[COLUMNS_MAX];
	int n;
};

static bool
next_line(FILE *f, struct line *out)
{
	while (fgets(out->text, sizeof out->text, f)) {
		if (out->text[0] == '#')
			continue;
		out->n = 0;
		for (char *p = strtok(out->text, "\t\n"); p && out->n < COLUMNS_MAX; p = strtok(NULL, "\t\n")) {
			out->word[out->n] = p;
			out->number[out->n++] = strtod(p, NULL);
		}
		return true;
	}
	return false;
}

static FILE *
table(const char *name)
{
	char path[100];

	snprintf(path, sizeof path, "tests/vectors/%s.tsv", name);
	FILE *f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s is missing", path);
	return f;
}

/* The line whose first words are these; NULL: any. */
static struct line
find(const char *name, const char *first, const char *second)
{
	struct line l;
	FILE *f = table(name);

	while (next_line(f, &l))
		if (strcmp(l.word[0], first) == 0 && (!second || strcmp(l.word[1], second) == 0)) {
			fclose(f);
			return l;
		}
	ck_abort_msg("%s.tsv has no %s %s", name, first, second ? second : "");
	return l;
}

static struct datum
number(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

static void
expect(const char *what, double seconds, double us)
{
	ck_assert_msg(
	    fabs(seconds * 1e6 / us - 1) < TOLERANCE_PPM * 1e-6, "%s: %g us, expected %g", what, seconds * 1e6, us);
}

/* --- matrix products ------------------------------------------------------------------------------------- */

static struct calibration
gemm_machine(const double *x, enum dtype t)
{
	struct calibration c = {.has_gemm = true,
	    .ref_n_sms = number(x[2]),
	    .ref_clock_hertz = number(x[3] * 1e9),
	    .ref_peak_flop_per_s = number(x[4] * 1e12),
	    .ref_mem_byte_per_s = number(x[6] * 1e12),
	    .ref_l2_byte = number(x[7] * 1e6)};

	c.gemm[t] = (struct gemm_calibration){
	    .peak_flop_per_s = number(x[8] * x[5] * 1e12),
	    .mem_byte_per_s = number(x[9] * x[6] * 1e12),
	    .l2_byte_per_s = number(4 * x[6] * 1e12),
	    .base_s = number(x[10] * 1e-6),
	    .feed_byte_per_s = number(x[11] * x[3] * 1e9),
	    .tile_s = number(x[12] * 1e-6),
	    .k_step_s = number(x[13] / (x[3] * 1e9)),
	    .wave_frac = number(x[14]),
	    .derate = number(x[15]),
	};
	return c;
}

START_TEST(test_gemm)
{
	struct line v;
	FILE *f = table("op_gemm");
	int n = 0;

	while (next_line(f, &v)) {
		const struct line g = find("op_gpus", v.word[0], v.word[1]);
		const enum dtype t = dtype_find(strcmp(v.word[1], "fp4") == 0 ? "nvfp4" : v.word[1]);
		const struct calibration c = gemm_machine(g.number, t);
		struct gemm_shape shape = gemm_shape_of(v.number[2], v.number[3], v.number[4], t);
		shape.o_byte = v.number[5];
		shape.quantise = false;
		expect(v.word[0], gemm_time(NULL, &shape, &c, t), v.number[6]);
		n++;
	}
	fclose(f);
	ck_assert_int_eq(n, 24 + 18);
}
END_TEST

START_TEST(test_gemm_options)
{
	const struct line g = find("op_gpus", "h100", "bf16");
	const struct calibration c = gemm_machine(g.number, DTYPE_BF16);
	const struct gemm_shape plain = gemm_shape_of(1, 12288, 4096, DTYPE_BF16);
	const double free_s = gemm_time(NULL, &plain, &c, DTYPE_BF16);
	struct gemm_shape shape = plain;

	/* a limit above the memory's rate changes nothing: 0.861 x 3.35 TB/s are 11.94 bytes per SM and clock */
	shape.weight_byte_per_clock = 12;
	ck_assert_double_eq(gemm_time(NULL, &shape, &c, DTYPE_BF16), free_s);
	/* half of it: the weights, nearly all of the traffic, take twice as long */
	shape.weight_byte_per_clock = 0.861 * 3.35e12 / (132 * 1.83e9) / 2;
	const double weights_s = 2 * 12288.0 * 4096 / (0.861 * 3.35e12);
	ck_assert_double_eq_tol(gemm_time(NULL, &shape, &c, DTYPE_BF16) - free_s, weights_s, 0.02 * weights_s);
	shape = plain;
	shape.power_frac = 0.8;
	ck_assert_double_eq_tol(gemm_time(NULL, &shape, &c, DTYPE_BF16), free_s / 0.8, 1e-12);

	/* arithmetic: half of the rate or a limit at half of the rate are the same thing */
	shape = gemm_shape_of(8192, 8192, 8192, DTYPE_BF16);
	const double fast_s = gemm_time(NULL, &shape, &c, DTYPE_BF16);
	shape.rate_frac = 0.5;
	const double slow_s = gemm_time(NULL, &shape, &c, DTYPE_BF16);
	ck_assert_double_gt(slow_s, 1.9 * fast_s);
	shape.rate_frac = 0;
	shape.limit_flop_per_s = 0.5 * 0.829 * 989e12;
	ck_assert_double_eq_tol(gemm_time(NULL, &shape, &c, DTYPE_BF16), slow_s, 1e-12);
	shape.limit_flop_per_s = 1e18;
	ck_assert_double_eq(gemm_time(NULL, &shape, &c, DTYPE_BF16), fast_s);
}
END_TEST

/* A row of packed weights fills no tile: with a tenth of the arithmetic it takes as long.  Many rows do fill tiles. */
START_TEST(test_gemm_packed)
{
	const struct line g = find("op_gpus", "h100", "bf16");
	const struct calibration c = gemm_machine(g.number, DTYPE_BF16);
	struct gemm_shape shape = gemm_shape_of(1, 28672, 8192, DTYPE_BF16);

	shape.w_byte = 0.3125;
	shape.rate_frac = 0.05;
	const double tiles_s = gemm_time(NULL, &shape, &c, DTYPE_BF16);
	shape.packed = true;
	const double row_s = gemm_time(NULL, &shape, &c, DTYPE_BF16);
	ck_assert_double_lt(row_s, 0.7 * tiles_s);
	/* no faster than the weights stream */
	ck_assert_double_gt(row_s, 0.3125 * 28672 * 8192 / (0.861 * 3.35e12));
	shape.rate_frac = 0.5;
	ck_assert_double_le(gemm_time(NULL, &shape, &c, DTYPE_BF16), row_s);
	shape.m = 512;
	const double rows_s = gemm_time(NULL, &shape, &c, DTYPE_BF16);
	shape.packed = false;
	ck_assert_double_eq(gemm_time(NULL, &shape, &c, DTYPE_BF16), rows_s);
}
END_TEST

/* --- attention ------------------------------------------------------------------------------------------- */

static struct calibration
attention_machine(const double *x)
{
	return (struct calibration){.ref_n_sms = number(x[1]),
	    .ref_clock_hertz = number(x[2] * 1e9),
	    .ref_mem_byte_per_s = number(x[4] * 1e12),
	    .ref_l2_byte = number(x[5] * 1e6),
	    .context = {.flop_per_s = number(x[6] * x[3] * 1e12),
	        .base_s = number(x[7] * 1e-6),
	        .block_s = number(x[8] * 1e-6),
	        .mem_byte_per_s = number(x[9] * x[4] * 1e12)},
	    .generation = {.mem_byte_per_s = number(x[10] * x[4] * 1e12),
	        .base_s = number(x[11] * 1e-6),
	        .query_byte_per_s = number(x[12] * x[4] * 1e12),
	        .split_s = number(x[13] * 1e-6),
	        .item_s = number(x[14] * 1e-6)}};
}

static struct attention_shape
attention_of(const double *x)
{
	return (struct attention_shape){.n_heads = x[1],
	    .n_kv_heads = x[2],
	    .head_dim = x[3],
	    .batch = x[4],
	    .query_token = x[5],
	    .context_token = x[6],
	    .elem_byte = 2,
	    .kv_elem_byte = 2,
	    .cold = true};
}

START_TEST(test_attention)
{
	struct line v;
	FILE *f = table("op_attention");
	int n = 0;

	while (next_line(f, &v)) {
		const struct line g = find("op_attention_gpus", v.word[0], NULL);
		const struct calibration c = attention_machine(g.number);
		const struct attention_shape shape = attention_of(v.number);
		const double seconds = shape.query_token > 0 ? attention_context(NULL, &shape, &c.context, &c)
		                                             : attention_generation(NULL, &shape, &c.generation, &c);
		expect(v.word[0], seconds, v.number[7]);
		n++;
	}
	fclose(f);
	ck_assert_int_eq(n, 21);
}
END_TEST

START_TEST(test_windows)
{
	const struct line g = find("op_attention_gpus", "h100", NULL);
	const struct calibration c = attention_machine(g.number);
	struct attention_shape prompt = attention_of((double[]){0, 32, 8, 128, 1, 8192, 0});
	struct attention_shape token = attention_of((double[]){0, 32, 8, 128, 64, 0, 8192});
	const double prompt_s = attention_context(NULL, &prompt, &c.context, &c);
	const double token_s = attention_generation(NULL, &token, &c.generation, &c);

	/* wider than the sequence: no effect */
	prompt.window_token = token.window_token = 8192;
	ck_assert_double_eq(attention_context(NULL, &prompt, &c.context, &c), prompt_s);
	ck_assert_double_eq(attention_generation(NULL, &token, &c.generation, &c), token_s);
	/* one token sees no more than the window */
	token.window_token = 1024;
	const double seen_s = attention_generation(NULL, &token, &c.generation, &c);
	token.window_token = 0;
	token.context_token = 1024;
	ck_assert_double_eq(attention_generation(NULL, &token, &c.generation, &c), seen_s);
	/* 64 blocks of 9 tiles instead of 2080: what is left of the tiles' time */
	prompt.window_token = 1024;
	const double tile_s = 4 * 128.0 * 128 * 128 / (0.5724 * 989.4e12 / 132);
	const double saved_s = 32 * (2080 - 576) * tile_s / 132;
	ck_assert_double_eq_tol(prompt_s - attention_context(NULL, &prompt, &c.context, &c), saved_s, 1e-3 * saved_s);
	/* an encoder sees all */
	prompt.window_token = 0;
	prompt.unmasked = true;
	const double whole_s = attention_context(NULL, &prompt, &c.context, &c);
	ck_assert_double_eq_tol(whole_s - prompt_s, 32 * (4096 - 2080) * tile_s / 132, 1e-3 * (whole_s - prompt_s));
}
END_TEST

/* A cache that is so short that combining its parts would take longer than reading it whole is not split. */
START_TEST(test_split)
{
	const struct line g = find("op_attention_gpus", "h100", NULL);
	const struct calibration c = attention_machine(g.number);
	double before = 0;

	for (double batch = 1; batch <= 40; batch++) {
		struct attention_shape a = attention_of((double[]){0, 32, 8, 128, batch, 0, 2000});
		const double now = attention_generation(NULL, &a, &c.generation, &c);
		ck_assert_msg(now >= 0.995 * before, "%g sequences: %g s after %g s", batch, now, before);
		before = now;
	}
	/* 8 items of 132 multiprocessors: at most 7.5 us for the parts, and nothing for an empty cache */
	struct attention_shape a = attention_of((double[]){0, 32, 8, 128, 1, 0, 200});
	struct calibration free_split = c;
	free_split.generation.split_s.value = 0;
	const double cost = attention_generation(NULL, &a, &c.generation, &c) -
	    attention_generation(NULL, &a, &free_split.generation, &free_split);
	ck_assert_double_gt(cost, 0);
	ck_assert_double_lt(cost, 0.3 * c.generation.split_s.value);
}
END_TEST

START_TEST(test_generation_options)
{
	const struct line g = find("op_attention_gpus", "h100", NULL);
	const struct calibration c = attention_machine(g.number);
	struct attention_shape a = attention_of((double[]){0, 32, 8, 128, 64, 0, 2000});
	const double cold_s = attention_generation(NULL, &a, &c.generation, &c);
	const double cache_byte = 2 * 64.0 * 2000 * 8 * 128 * 2, rate = 0.9045 * 3.35e12;

	/* a small cache that is read again and again comes from L2, four times as fast */
	a.context_token = 30;
	const double one_cold_s = attention_generation(NULL, &a, &c.generation, &c);
	a.cold = false;
	const double one_byte = cache_byte * 30 / 2000;
	ck_assert_double_eq_tol(
	    one_cold_s - attention_generation(NULL, &a, &c.generation, &c), 0.75 * one_byte / rate, 1e-6 * one_cold_s);
	/* ... and a large one does not */
	a.context_token = 2000;
	ck_assert_double_eq(attention_generation(NULL, &a, &c.generation, &c), cold_s);
	a.stream_frac = 0.5;
	ck_assert_double_eq_tol(attention_generation(NULL, &a, &c.generation, &c) - cold_s, cache_byte / rate, 1e-9);
	/* Falcon's kernel: 13 elements per clock and SM, once per query head, are slower than the memory */
	a.stream_frac = 0;
	a.n_core_elems_per_clock = 13;
	const double convert_s = 2 * 64.0 * 2000 * 32 * 128 / (13 * 132 * 1.83e9);
	ck_assert_double_eq_tol(
	    attention_generation(NULL, &a, &c.generation, &c) - cold_s, convert_s - cache_byte / rate, 1e-9);
}
END_TEST

/* DeepSeek-R1's latent attention on a B200, TensorRT-LLM: two prompts of 1000 tokens, and 256 sequences of 1000 whose
 * cache has one byte per element; 61 layers take 9.6183 and 3.6547 ms. */
START_TEST(test_latent)
{
	const double peak = 2250e12, mem = 7.7e12;
	const struct calibration c = {.ref_n_sms = number(148),
	    .ref_l2_byte = number(126e6),
	    .mla_context = {.flop_per_s = number(0.5866 * peak),
	        .base_s = number(13.23e-6),
	        .block_s = number(3.041e-6),
	        .mem_byte_per_s = number(1.46 * mem)},
	    .mla_generation = {.mem_byte_per_s = number(0.7126 * mem),
	        .base_s = number(4.669e-6),
	        .query_byte_per_s = number(1.139 * mem),
	        .split_s = number(6.819e-6),
	        .item_s = number(5.14e-6),
	        .flop_per_s = number(1.761 * peak)}};
	struct attention_shape a = {.batch = 2, .n_heads = 128, .query_token = 1000, .elem_byte = 2, .kv_elem_byte = 1};

	expect("latent, prompt", mla_context(NULL, &a, &c.mla_context, &c), 9618.3 / 61);
	a.batch = 256;
	a.query_token = 0;
	a.context_token = 1000;
	a.cold = true;
	expect("latent, generation", mla_generation(NULL, &a, &c.mla_generation, &c), 3654.7 / 61);
}
END_TEST

/* --- mixtures of experts --------------------------------------------------------------------------------- */

/* Mixtral 8x7B in fp8, two H100 share every expert: 32 layers of router and experts, 64 and 2048 tokens. */
START_TEST(test_moe)
{
	static const struct {
		double n_tokens, layers_ms;
	} cases[] = {{64, 8.8932}, {2048, 22.9520}};
	const struct line g = find("op_gpus", "serving-h100", "bf16");
	struct calibration c = gemm_machine(g.number, DTYPE_BF16);
	const struct moe_calibration p = {
	    .peak_flop_per_s = number(0.85 * (0.7772 / 0.8289) * 1979e12),
	    .mem_byte_per_s = number(0.9 * 3.35e12),
	    .base_s = number(25e-6),
	    .feed_byte_per_s = number(217e9),
	    .tile_s = number(1.5e-6),
	    .k_step_s = number(0),
	    .norm = number(2.6),
	    .permute_byte_per_s = number(0.6 * 3.35e12),
	    .route_byte_per_s = datum_absent(),
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct gemm_shape router = gemm_shape_of(cases[i].n_tokens, 8, 4096, DTYPE_BF16);
		const struct moe_shape experts = {.n_tokens = cases[i].n_tokens,
		    .hidden = 4096,
		    .expert_width = 14336,
		    .top_k = 2,
		    .n_experts = 8,
		    .tp = 2,
		    .ep = 1,
		    .a_byte = 1,
		    .w_byte = 1,
		    .gated = true,
		    .expected = true};
		const double layer_s = gemm_time(NULL, &router, &c, DTYPE_BF16) + moe_time(NULL, &experts, &p, &c);
		expect("experts", layer_s, cases[i].layers_ms * 1e3 / 32);
	}
}
END_TEST

/* Grouped products of round figures. */
static struct moe_calibration
round_experts(void)
{
	return (struct moe_calibration){.peak_flop_per_s = number(800e12),
	    .mem_byte_per_s = number(3e12),
	    .base_s = number(25e-6),
	    .feed_byte_per_s = number(217e9),
	    .tile_s = number(1.5e-6),
	    .k_step_s = number(0),
	    .norm = number(2.6),
	    .permute_byte_per_s = number(2e12),
	    .route_byte_per_s = datum_absent()};
}

START_TEST(test_moe_rules)
{
	const struct line g = find("op_gpus", "serving-h100", "bf16");
	struct calibration c = gemm_machine(g.number, DTYPE_BF16);
	struct moe_calibration p = round_experts();
	struct moe_shape s = {.n_tokens = 1,
	    .hidden = 4096,
	    .expert_width = 1536,
	    .top_k = 8,
	    .n_experts = 128,
	    .tp = 1,
	    .ep = 1,
	    .a_byte = 2,
	    .w_byte = 2,
	    .gated = true};

	/* one token: eight experts, whichever way they are counted; two tokens may share some */
	const double one_s = moe_time(NULL, &s, &p, &c);
	s.expected = true;
	ck_assert_double_eq_tol(moe_time(NULL, &s, &p, &c), one_s, 1e-12);
	s.n_tokens = 2;
	const double shared_s = moe_time(NULL, &s, &p, &c);
	s.expected = false;
	ck_assert_double_lt(shared_s, moe_time(NULL, &s, &p, &c));
	/* all experts at work: the weights' traffic no longer depends on the tokens */
	s.n_tokens = 64;
	const double weights_s = 128.0 * 3 * 1536 * 4096 * 2 / 3e12;
	ck_assert_double_gt(moe_time(NULL, &s, &p, &c), weights_s);
	ck_assert_double_lt(moe_time(NULL, &s, &p, &c), 1.2 * weights_s + 40e-6);
	/* a loaded rank takes longer; a slower kernel does by its factor */
	const double even_s = moe_time(NULL, &s, &p, &c);
	s.n_tokens = 16384;
	const double many_s = moe_time(NULL, &s, &p, &c);
	s.load_frac = 2;
	ck_assert_double_gt(moe_time(NULL, &s, &p, &c), 1.7 * many_s);
	s.load_frac = 0;
	s.n_tokens = 64;
	s.time_frac = 2;
	ck_assert_double_gt(moe_time(NULL, &s, &p, &c), 1.5 * even_s);
	s.time_frac = 0;
	s.weight_byte_per_clock = 3e12 / (132 * 1.83e9) / 2;
	ck_assert_double_eq_tol(moe_time(NULL, &s, &p, &c) - even_s, weights_s, 0.1 * weights_s);
	/* what every global pair costs is paid by every rank */
	s.weight_byte_per_clock = 0;
	s.ep = 8;
	const double rank_s = moe_time(NULL, &s, &p, &c);
	p.route_byte_per_s = number(2e12);
	ck_assert_double_eq_tol(moe_time(NULL, &s, &p, &c) - rank_s, 64 * 8 * (4 * 4096.0 + 6 * 1536) / 2e12, 1e-12);
}
END_TEST

/* Tiles of uneven experts: the mean over many sizes.  One row more never costs a wave of tiles. */
START_TEST(test_uneven_experts)
{
	enum { SIZES = 100000 };
	static const double tiles[] = {0.3, 0.99, 1, 1.6, 2.3, 17.5};

	for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
		double sum = 0;
		for (int k = 0; k < SIZES; k++)
			sum += ceil(tiles[i] * (1 + 0.5 * (2 * (k + 0.5) / SIZES - 1)));
		ck_assert_double_eq_tol(kernel_up_about(tiles[i], 0.5), sum / SIZES, 1e-4);
		ck_assert_double_eq(kernel_up_about(tiles[i], 0), ceil(tiles[i]));
	}

	const struct line g = find("op_gpus", "serving-h100", "bf16");
	const struct calibration c = gemm_machine(g.number, DTYPE_BF16);
	const struct moe_calibration p = round_experts();
	struct moe_shape s = {.hidden = 4096,
	    .expert_width = 3584,
	    .top_k = 2,
	    .n_experts = 8,
	    .tp = 1,
	    .ep = 1,
	    .a_byte = 2,
	    .w_byte = 2,
	    .gated = true};
	double most_even = 0, most_uneven = 0, last_even_s = NAN, last_uneven_s = NAN;
	for (s.n_tokens = 400; s.n_tokens <= 2400; s.n_tokens += 8) {
		s.spread_frac = 0;
		const double even_s = moe_time(NULL, &s, &p, &c);
		s.spread_frac = 0.5;
		const double uneven_s = moe_time(NULL, &s, &p, &c);
		most_even = fmax(most_even, even_s / last_even_s);
		most_uneven = fmax(most_uneven, uneven_s / last_uneven_s);
		ck_assert(!(uneven_s < last_uneven_s * (1 - 1e-9)));
		last_even_s = even_s;
		last_uneven_s = uneven_s;
	}
	ck_assert_double_gt(most_even, 1.1);
	ck_assert_double_lt(most_uneven, 1.03);
}
END_TEST

/* Loads of a power law, drawn: what the model says of them in closed form. */
struct drawn {
	double active_frac, busiest_frac; /* of the busiest rank's experts; its rows over the mean of the ranks */
};

static double
draw_load(double power, double least, double most)
{
	static unsigned state = 1;

	state = state * 1664525u + 1013904223u;
	const double u = (double)(state >> 8) / 16777216.0, a = pow(most, 1 - power), b = pow(least, 1 - power);
	return pow((a - b) * u + b, 1 / (1 - power));
}

static struct drawn
draw_loads(const struct moe_shape *s)
{
	enum { TRIALS = 200, EXPERTS_MAX = 512 };
	const bool many = s->n_tokens * s->top_k > s->n_experts;
	const int n = (int)s->n_experts, n_local = (int)(s->n_experts / s->ep);
	const double n_pairs = s->n_tokens * s->top_k;
	struct drawn out = {0, 0};

	for (int trial = 0; trial < TRIALS; trial++) {
		double load[EXPERTS_MAX], sum = 0, rounded = 0, busiest = 0, active = 0;
		for (int i = 0; i < n; i++)
			sum += load[i] = draw_load(s->power, many ? 1 : 0.01, many ? 0.8 * s->n_tokens : 2);
		for (int i = 0; i < n; i++)
			rounded += load[i] = round(load[i] * n_pairs / sum);
		for (int i = 0; i < n && rounded < n_pairs; i++)
			if (load[i] == 0)
				rounded += load[i] = 1;
		for (int rank = 0; rank < n / n_local; rank++) {
			double rows = 0, n_active = 0;
			for (int i = rank * n_local; i < (rank + 1) * n_local; i++) {
				rows += load[i];
				n_active += load[i] > 0;
			}
			active = rows > busiest ? n_active : active;
			busiest = fmax(busiest, rows);
		}
		out.active_frac += active / n_local / TRIALS;
		out.busiest_frac += busiest / (n_pairs / s->ep) / TRIALS;
	}
	return out;
}

START_TEST(test_moe_power_law)
{
	const struct line g = find("op_gpus", "serving-h100", "bf16");
	const struct calibration c = gemm_machine(g.number, DTYPE_BF16);
	/* experts that take what their weights take to read, and others that take what their rows take to multiply */
	const struct moe_calibration reads = {.peak_flop_per_s = number(1e18),
	                                 .mem_byte_per_s = number(3e12),
	                                 .feed_byte_per_s = number(1e15),
	                                 .norm = number(8)},
	                             multiplies = {.peak_flop_per_s = number(1e13),
	                                 .mem_byte_per_s = number(1e18),
	                                 .feed_byte_per_s = number(1e18),
	                                 .norm = number(8)};
	static const struct {
		double n_tokens, top_k, n_experts, ep, power;
	} cases[] = {{8, 8, 256, 1, 1.01}, {16, 8, 256, 1, 1.2}, {32, 8, 256, 1, 1.01}, {128, 8, 256, 1, 1.2},
	    {8192, 8, 256, 4, 1.01}, {8192, 8, 256, 8, 1.2}, {16384, 8, 256, 16, 1.01}, {16384, 4, 128, 8, 1.2},
	    {8192, 8, 128, 64, 1.01}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct moe_shape s = {.n_tokens = cases[i].n_tokens,
		    .hidden = 4096,
		    .expert_width = 2048,
		    .top_k = cases[i].top_k,
		    .n_experts = cases[i].n_experts,
		    .tp = 1,
		    .ep = cases[i].ep,
		    .a_byte = 2,
		    .w_byte = 2,
		    .gated = true,
		    .power = cases[i].power};
		const struct drawn drawn = draw_loads(&s);
		const double skewed_s = moe_time(NULL, &s, &multiplies, &c), read_s = moe_time(NULL, &s, &reads, &c);
		const double n_active = read_s * 3e12 / (3 * 2048 * 4096 * 2) / (s.n_experts / s.ep);
		s.power = 0;
		const double busiest = skewed_s / moe_time(NULL, &s, &multiplies, &c);
		if (s.ep == 1)
			ck_assert_double_eq_tol(n_active, drawn.active_frac, 0.1 * drawn.active_frac);
		else
			ck_assert_double_eq_tol(busiest, drawn.busiest_frac, 0.12 * drawn.busiest_frac);
	}
}
END_TEST

/* --- the rest -------------------------------------------------------------------------------------------- */

START_TEST(test_elementwise)
{
	const struct calibration c = {.ref_mem_byte_per_s = number(2e12), .ref_l2_byte = number(40e6)};
	struct elementwise_shape s = {.traffic_byte = 10e6, .n_launches = 1, .launch_s = 2e-6};

	/* a third of the cache: all of it from there */
	ck_assert_double_eq_tol(elementwise_time(NULL, &s, &c), 2e-6 + 10e6 / 6e12, 1e-12);
	s.cold = true;
	ck_assert_double_eq_tol(elementwise_time(NULL, &s, &c), 2e-6 + 10e6 / 1.7e12, 1e-12);
	/* as much as is useful of the cache: half of it */
	s.cold = false;
	s.traffic_byte = 30e6;
	ck_assert_double_eq_tol(elementwise_time(NULL, &s, &c), 2e-6 + 15e6 / 1.7e12 + 15e6 / 6e12, 1e-12);
	s.mem_frac = 0.5;
	s.l2_ratio = 1;
	ck_assert_double_eq_tol(elementwise_time(NULL, &s, &c), 2e-6 + 15e6 / 1e12 + 15e6 / 2e12, 1e-12);

	struct gemm_calibration g = {.quantise_s = number(9e-6), .quantise_byte_per_s = number(1e12)};
	ck_assert_double_eq_tol(quantise_time(NULL, &g, 1000, 4096, 1), 9e-6 + 1000 * 4096 * 3 / 1e12, 1e-12);
	g.quantise_byte_per_s = datum_absent();
	ck_assert_double_eq(quantise_time(NULL, &g, 1000, 4096, 1), 0);
}
END_TEST

START_TEST(test_memory)
{
	const struct memory_calibration m = {3,
	    {{"l1", number(128e3), number(20e12), number(20e-9)}, {"l2", number(40e6), number(5e12), number(130e-9)},
	        {"hbm", number(80e9), number(1.8e12), number(500e-9)}}};

	ck_assert_double_eq_tol(memory_rate(NULL, &m, 16e3), 20e12, 1);
	ck_assert_double_eq_tol(memory_rate(NULL, &m, 10e6), 5e12, 1);
	ck_assert_double_eq_tol(memory_rate(NULL, &m, 1e9), 1.8e12, 1);
	ck_assert_double_eq_tol(memory_latency(NULL, &m, 1e9), 500e-9, 1e-15);
	/* passes hit up to 0.9 of L2, and miss from 1.15 of it on; a chain of loads reaches the next level earlier */
	ck_assert_double_eq_tol(memory_rate(NULL, &m, 36e6), 5e12, 1);
	ck_assert_double_eq_tol(memory_rate(NULL, &m, 41e6), 1 / (0.5 / 5e12 + 0.5 / 1.8e12), 1);
	ck_assert_double_eq_tol(memory_rate(NULL, &m, 46e6), 1.8e12, 1);
	ck_assert_double_eq_tol(memory_latency(NULL, &m, 30e6), 315e-9, 1e-15);

	const struct launch_calibration l = {number(5e-6), number(2e-6), number(8e-6), number(1e-6), number(3e-6)};
	ck_assert_double_eq_tol(launch_time(NULL, &l, 100, false), 205e-6, 1e-15);
	ck_assert_double_eq_tol(launch_time(NULL, &l, 100, true), 108e-6, 1e-15);
}
END_TEST

/* --- collectives ----------------------------------------------------------------------------------------- */

static enum collective
collective_of(const char *name)
{
	for (int i = 0; i < N_COLLECTIVES; i++)
		if (strcmp(collective_name((enum collective)i), name) == 0)
			return (enum collective)i;
	ck_abort_msg("no collective %s", name);
	return N_COLLECTIVES;
}

START_TEST(test_collective)
{
	struct line v;
	FILE *f = table("op_collective");
	int n = 0;

	while (next_line(f, &v)) {
		const struct line l = find("op_ramps", v.word[0], v.word[1]);
		const double *x = l.number;
		const struct collective_calibration fit = {.base_s = number(x[3] * 1e-6),
		    .per_rank_s = number(x[4] * 1e-6),
		    .bus_byte_per_s = number(x[5] * 1e9),
		    .beta = number(x[6]),
		    .ramp_s = number(x[7] * 1e-6),
		    .ramp_byte = number(x[8] * 1e6)};
		const enum collective c = collective_of(v.word[1]);
		expect(v.word[0], collective_ramp(NULL, c, &fit, v.number[2], v.number[4]), v.number[5]);
		n++;
	}
	fclose(f);
	ck_assert_int_eq(n, 9);
}
END_TEST

Suite *kernels_suite(void);

Suite *
kernels_suite(void)
{
	Suite *s = suite_create("kernels");
	TCase *t = tcase_create("vectors");

	tcase_add_test(t, test_gemm);
	tcase_add_test(t, test_gemm_options);
	tcase_add_test(t, test_gemm_packed);
	tcase_add_test(t, test_attention);
	tcase_add_test(t, test_windows);
	tcase_add_test(t, test_generation_options);
	tcase_add_test(t, test_split);
	tcase_add_test(t, test_latent);
	tcase_add_test(t, test_moe);
	tcase_add_test(t, test_moe_rules);
	tcase_add_test(t, test_uneven_experts);
	tcase_add_test(t, test_moe_power_law);
	tcase_add_test(t, test_elementwise);
	tcase_add_test(t, test_memory);
	tcase_add_test(t, test_collective);
	suite_add_tcase(s, t);
	return s;
}
