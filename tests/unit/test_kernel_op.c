/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which kernel runs an operator of a list, and that its time is that kernel's. */
#include <check.h>
#include <math.h>

#include "model/kernel/kernel.h"

struct lab {
	struct calibration fit;
};

static struct datum
number(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* A GPU of round figures with products, experts and attention in 16 bits. */
static struct lab
lab_open(void)
{
	struct lab l = {0};
	struct gemm_calibration g = {.peak_flop_per_s = number(800e12),
	    .mem_byte_per_s = number(2.8e12),
	    .l2_byte_per_s = number(8e12),
	    .base_s = number(2e-6),
	    .feed_byte_per_s = number(200e9),
	    .tile_s = number(1e-6),
	    .k_step_s = number(80e-9),
	    .wave_frac = number(0),
	    .derate = number(0)};

	l.fit = (struct calibration){.has_gemm = true,
	    .has_context = true,
	    .has_generation = true,
	    .ref_n_sms = number(132),
	    .ref_l2_byte = number(50e6),
	    .ref_mem_byte_per_s = number(3e12),
	    .ref_clock_hertz = number(1.8e9)};
	for (int t = 0; t < N_DTYPES; t++)
		l.fit.gemm[t].peak_flop_per_s = l.fit.moe[t].peak_flop_per_s = datum_absent();
	l.fit.gemm[DTYPE_BF16] = g;
	l.fit.moe[DTYPE_BF16] = (struct moe_calibration){.peak_flop_per_s = g.peak_flop_per_s,
	    .mem_byte_per_s = g.mem_byte_per_s,
	    .base_s = number(20e-6),
	    .feed_byte_per_s = g.feed_byte_per_s,
	    .tile_s = g.tile_s,
	    .k_step_s = g.k_step_s,
	    .norm = number(3),
	    .permute_byte_per_s = number(1e12),
	    .route_byte_per_s = number(2e12)};
	l.fit.context = (struct context_calibration){.flop_per_s = number(500e12),
	    .base_s = number(10e-6),
	    .block_s = number(0.2e-6),
	    .mem_byte_per_s = number(2e12)};
	l.fit.generation = (struct generation_calibration){.mem_byte_per_s = number(2.8e12),
	    .base_s = number(8e-6),
	    .query_byte_per_s = number(1e12),
	    .split_s = number(3e-6),
	    .item_s = number(2e-6)};
	return l;
}

static struct kernel_machine
machine_of(const struct lab *l, enum dtype t)
{
	return (struct kernel_machine){
	    .fit = &l->fit, .dtype = t, .peak_flop_per_s = number(1000e12), .mem_byte_per_s = number(3e12)};
}

static struct op
op_of(enum op_kind kind, const double *dims, int n)
{
	struct op op = {.kind = (int)kind, .name = "it", .count = 1, .elem_byte = 2};

	for (int i = 0; op_dim_name(kind, i); i++)
		op.dim[i] = i < n ? dims[i] : NAN;
	ck_assert_int_lt(op_fill(&op), 0);
	return op;
}

#define OP_OF(kind, ...)                                                                                               \
	op_of(kind, (const double[]){__VA_ARGS__}, (int)(sizeof(const double[]){__VA_ARGS__} / sizeof(double)))

START_TEST(kinds_have_their_kernels)
{
	const struct lab l = lab_open();
	const struct kernel_machine m = machine_of(&l, DTYPE_BF16), none = {.dtype = DTYPE_BF16};
	const struct {
		struct op op;
		enum kernel_kind kernel;
	} cases[] = {
	    {OP_OF(OP_gemm, 128, 4096, 4096), KERNEL_PRODUCT},
	    {OP_OF(OP_gemv, 4096, 4096), KERNEL_PRODUCT},
	    {OP_OF(OP_conv2d, 8, 64, 56, 56, 256, 1, 1), KERNEL_PRODUCT},
	    {OP_OF(OP_conv2d, 8, 64, 56, 56, 64, 3, 3), KERNEL_NONE},
	    {OP_OF(OP_bmm, 32, 128, 128, 64), KERNEL_BATCHED},
	    {OP_OF(OP_scores, 8, 32, 128, 128, 64), KERNEL_BATCHED},
	    {OP_OF(OP_grouped, 8, 512, 4096, 4096), KERNEL_EXPERTS},
	    {OP_OF(OP_attention, 1, 32, 2048, 2048, 128, 8, 128, 1024.5), KERNEL_CONTEXT},
	    {OP_OF(OP_attention, 1, 32, 1, 2048, 128, 8), KERNEL_GENERATION},
	    {OP_OF(OP_attention, 1, 32, 2048, 100, 128, 8), KERNEL_NONE}, /* fewer keys than queries */
	    {OP_OF(OP_attention_latent, 1, 16, 1, 2048, 512, 64), KERNEL_NONE},
	    {OP_OF(OP_norm, 128, 4096), KERNEL_STREAM},
	    {OP_OF(OP_embedding, 128, 4096, 32000), KERNEL_STREAM},
	    {OP_OF(OP_index_scores, 1, 64, 128, 4096, 128), KERNEL_NONE},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ck_assert_msg(kernel_of(&m, &cases[i].op) == cases[i].kernel, "%s: %s", op_kind_name(cases[i].op.kind),
		    kernel_kind_name(kernel_of(&m, &cases[i].op)));
		ck_assert_int_eq(kernel_of(&none, &cases[i].op), KERNEL_NONE);
	}
}
END_TEST

START_TEST(times_are_the_kernels)
{
	const struct lab l = lab_open();
	const struct kernel_machine m = machine_of(&l, DTYPE_BF16);
	const struct gemm_shape row = gemm_shape_of(1, 8192, 4096, DTYPE_BF16);
	const struct op gemv = OP_OF(OP_gemv, 8192, 4096), conv = OP_OF(OP_conv2d, 8, 64, 56, 56, 256, 1, 1);
	const struct op as_gemm = OP_OF(OP_gemm, 8 * 56 * 56, 256, 64);
	struct op many = OP_OF(OP_gemm, 128, 4096, 4096);

	ck_assert_double_eq(kernel_op_time(NULL, &m, &gemv), gemm_time(NULL, &row, &l.fit, DTYPE_BF16));
	ck_assert_double_eq(kernel_op_time(NULL, &m, &conv), kernel_op_time(NULL, &m, &as_gemm));
	const double once = kernel_op_time(NULL, &m, &many);
	many.count = 32;
	ck_assert_double_eq(kernel_op_total(NULL, &m, &many), 32 * once);
	/* without a fit: the roof */
	const struct kernel_machine none = {
	    .dtype = DTYPE_BF16, .peak_flop_per_s = number(1000e12), .mem_byte_per_s = number(3e12)};
	ck_assert_double_eq(kernel_op_total(NULL, &none, &many), roofline_op(NULL, &many, 1000e12, 3e12));
}
END_TEST

/* Many products in one launch pay its start once, and are no faster than their arithmetic. */
START_TEST(batches_share_a_launch)
{
	const struct lab l = lab_open();
	const struct kernel_machine m = machine_of(&l, DTYPE_BF16);
	const struct op one = OP_OF(OP_bmm, 1, 256, 256, 128), many = OP_OF(OP_bmm, 64, 256, 256, 128);
	const struct op scores = OP_OF(OP_scores, 8, 32, 1, 4096, 128, 8);
	const struct op same = OP_OF(OP_bmm, 64, 4, 4096, 128);
	const double alone = kernel_op_time(NULL, &m, &one), together = kernel_op_time(NULL, &m, &many);

	ck_assert_double_lt(together, 64 * alone / 4);
	ck_assert_double_gt(together, 2e-6 + 2.0 * 64 * 256 * 256 * 128 / 800e12);
	ck_assert_double_eq(kernel_op_time(NULL, &m, &scores), kernel_op_time(NULL, &m, &same));
}
END_TEST

/* Up and down of a gated layer are that layer, but for the tokens that come back. */
START_TEST(two_halves_are_the_experts)
{
	const struct lab l = lab_open();
	const struct kernel_machine m = machine_of(&l, DTYPE_BF16);
	const double tokens = 4096, top_k = 2, experts = 8, hidden = 4096, width = 14336;
	const struct op up = OP_OF(OP_grouped, 8, 8192, 2 * 14336, 4096),
	                down = OP_OF(OP_grouped, 8, 8192, 4096, 14336);
	const struct moe_shape layer = {.n_tokens = tokens,
	    .hidden = hidden,
	    .expert_width = width,
	    .top_k = top_k,
	    .n_experts = experts,
	    .tp = 1,
	    .ep = 1,
	    .a_byte = 2,
	    .w_byte = 2,
	    .gated = true};
	const double back = 4 * tokens * hidden / 1e12;

	ck_assert_double_eq_tol(kernel_op_time(NULL, &m, &up) + kernel_op_time(NULL, &m, &down) + back,
	    moe_time(NULL, &layer, &l.fit.moe[DTYPE_BF16], &l.fit), 1e-9);
	/* halves, at 16 bits of any name */
	const struct kernel_machine half = machine_of(&l, DTYPE_FP16);
	ck_assert_int_eq(kernel_of(&half, &up), KERNEL_EXPERTS);
}
END_TEST

/* The window is found again in the keys that a query sees on average. */
START_TEST(windows_are_recovered)
{
	static const double sizes[][3] = {
	    {2048, 0, 512}, {2048, 0, 4096}, {128, 4096, 1024}, {512, 300, 400}, {1000, 0, 1}};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const double s = sizes[i][0], prefix = sizes[i][1], window = sizes[i][2];
		double seen = 0;
		for (int q = 1; q <= (int)s; q++)
			seen += fmin(window, prefix + q) / s;
		const struct op op = OP_OF(OP_attention, 1, 8, s, prefix + s, 128, 8, 128, seen);
		const struct attention_shape shape = kernel_attention_shape(&op);
		ck_assert_double_eq_tol(shape.window_token, window >= prefix + s ? 0 : window, 1e-6 * window);
		ck_assert_double_eq(shape.context_token, prefix);
		ck_assert(!shape.unmasked);
	}
	const struct op all = OP_OF(OP_attention, 1, 8, 512, 512, 128, 8);
	ck_assert(kernel_attention_shape(&all).unmasked);
}
END_TEST

/* Scales of blocks do not make another head of it. */
START_TEST(blocks_are_eight_bits)
{
	struct lab l = lab_open();
	struct kernel_machine m = machine_of(&l, DTYPE_FP8_BLOCK);
	struct op op = OP_OF(OP_attention, 1, 32, 1, 2048, 128, 8);

	op.elem_byte = dtype_byte(DTYPE_FP8_BLOCK);
	ck_assert_double_eq(kernel_attention_shape(&op).elem_byte, 1);
	ck_assert_int_eq(kernel_of(&m, &op), KERNEL_GENERATION);
	op.elem_byte = 4;
	ck_assert_int_eq(kernel_of(&m, &op), KERNEL_NONE);
}
END_TEST

START_TEST(experts_hold_their_routing)
{
	const struct lab l = lab_open();
	const struct kernel_machine m = machine_of(&l, DTYPE_BF16), wide = machine_of(&l, DTYPE_FP32);
	const struct op list[] = {OP_OF(OP_gemm, 32, 8, 4096), OP_OF(OP_softmax, 32, 8),
	    OP_OF(OP_grouped, 8, 64, 8192, 4096), OP_OF(OP_elementwise, 64 * 4096),
	    OP_OF(OP_grouped, 8, 64, 4096, 4096), OP_OF(OP_elementwise, 64)};
	static const bool inside[] = {false, true, false, true, false, false};

	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq(kernel_inside_experts(&m, list, 6, i), inside[i]);
		ck_assert(!kernel_inside_experts(&wide, list, 6, i));
	}
}
END_TEST

/* What was measured with the experts costs nothing beside them, unless they are as fast as their roof alone. */
START_TEST(experts_are_no_faster_than_what_they_hold)
{
	const struct lab l = lab_open();
	struct kernel_machine m = machine_of(&l, DTYPE_BF16);
	const struct op list[] = {OP_OF(OP_grouped, 8, 65536, 8192, 4096),
	    OP_OF(OP_elementwise, 65536.0 * 4096, 2, 1, 1), OP_OF(OP_grouped, 8, 65536, 4096, 4096)};

	ck_assert(kernel_list_time(NULL, &m, list, 3, 1) == 0);
	m.peak_flop_per_s.value /= 10; /* the roof rises above what was measured */
	const double inside_s = kernel_list_time(NULL, &m, list, 3, 1);
	const double roof_s = op_cost(NULL, &list[1]).traffic_byte / m.mem_byte_per_s.value;
	ck_assert(inside_s > 0.999 * roof_s && inside_s < 1.001 * roof_s);
}
END_TEST

Suite *kernel_op_suite(void);

Suite *
kernel_op_suite(void)
{
	Suite *s = suite_create("kernel_op");
	TCase *t = tcase_create("kernel_op");

	tcase_add_test(t, kinds_have_their_kernels);
	tcase_add_test(t, times_are_the_kernels);
	tcase_add_test(t, batches_share_a_launch);
	tcase_add_test(t, two_halves_are_the_experts);
	tcase_add_test(t, windows_are_recovered);
	tcase_add_test(t, blocks_are_eight_bits);
	tcase_add_test(t, experts_hold_their_routing);
	tcase_add_test(t, experts_are_no_faster_than_what_they_hold);
	suite_add_tcase(s, t);
	return s;
}
