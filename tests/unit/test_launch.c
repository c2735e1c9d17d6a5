/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/calc/calc.h"

#include <check.h>

static struct op
op(enum op_kind kind, double a, double b, double c)
{
	struct op o = {.kind = (int)kind, .name = "op", .count = 1, .elem_byte = 2};

	for (int i = 0; i < 10; i++)
		o.dim[i] = NAN;
	o.dim[0] = a;
	o.dim[1] = b;
	o.dim[2] = c;
	ck_assert_int_lt(op_fill(&o), 0);
	return o;
}

START_TEST(hosts_and_gpus)
{
	/* worked examples 003: 32 layers of 50 launches of 5 us */
	const double host = launch_host(NULL, launch_count(NULL, 32, 50), 5e-6);

	ck_assert_double_eq_tol(host, 8e-3, 1e-15);
	ck_assert_double_eq(launch_step(NULL, host, 10e-3), 10e-3);
	ck_assert_double_eq(launch_step(NULL, host, 6e-3), host);
	ck_assert_double_eq_tol(launch_step_blocking(NULL, host, 10e-3), 18e-3, 1e-15);
	ck_assert_double_eq(launch_exposed(NULL, 10e-3, 10e-3), 0);
	ck_assert_double_eq_tol(launch_idle(NULL, 2e-3, 8e-3), 0.25, 1e-12);
	ck_assert_double_eq_tol(launch_graph(NULL, 1600, 1e-6, 10e-6), 1.61e-3, 1e-15);
	ck_assert_double_eq_tol(launch_fused(NULL, 1600, 3, 1), 1600 / 3.0, 1e-9);
	ck_assert_double_eq_tol(launch_fused(NULL, 1600, 4, 2), 800, 1e-9);
	ck_assert_double_eq(launch_fewer(NULL, 3, 2), 1.5);
	ck_assert_double_eq(launch_hidden(NULL, 1e-3, 3e-6), 333);
	ck_assert_double_eq(launch_hidden(NULL, 9e-3, 1e-5), 900); /* 899.9... by the division alone */
	ck_assert_double_eq_tol(fusion_time(NULL, 6e9, 2e12), 3e-3, 1e-15);
	ck_assert_double_eq_tol(launch_kernel(NULL, 6e-3, 1600), 3.75e-6, 1e-15);
}
END_TEST

START_TEST(elementwise_chain)
{
	/* three passes that read and write 100 elements of 2 bytes: two round trips are saved */
	const struct op ops[] = {
	    op(OP_elementwise, 100, NAN, NAN), op(OP_elementwise, 100, NAN, NAN), op(OP_elementwise, 100, NAN, NAN)};
	const struct chain c = {3, ops};

	ck_assert_double_eq(fusion_apart(NULL, &c), 3 * 400);
	ck_assert_double_eq(fusion_together(NULL, &c), 400);
	ck_assert_double_eq(fusion_saved(NULL, 1200, 400), 800);
	ck_assert_double_eq_tol(fusion_saved_frac(NULL, 1200, 400), 2 / 3.0, 1e-15);
}
END_TEST

START_TEST(other_operands_stay)
{
	/* a residual addition reads another operand, fused or not */
	const struct op ops[] = {op(OP_norm, 10, 10, NAN), op(OP_elementwise, 100, 2, NAN)};
	const struct chain c = {2, ops};

	ck_assert_double_eq(fusion_apart(NULL, &c), 400 + 600);
	ck_assert_double_eq(fusion_together(NULL, &c), 200 + 200 + 200);
}
END_TEST

/* A linear layer, an eager norm of three passes in fp32, an activation. */
START_TEST(linear_norm_activation)
{
	const double m = 64, n = 32, k = 16;
	const struct op ops[] = {
	    op(OP_gemm, m, n, k), op(OP_norm_unfused, m, n, NAN), op(OP_elementwise, m * n, NAN, NAN)};
	const struct chain c = {3, ops};

	ck_assert_double_eq(fusion_apart(NULL, &c), (m * k + k * n + m * n) * 2 + 3 * m * n * 4 + 2 * m * n * 2);
	ck_assert_double_eq(fusion_together(NULL, &c), (m * k + k * n + m * n) * 2);
	ck_assert_double_eq(fusion_in(NULL, &ops[0]), m * k);
	for (int i = 0; i + 1 < c.n; i++)
		ck_assert_double_eq(fusion_out(NULL, &ops[i]), fusion_in(NULL, &ops[i + 1]));
}
END_TEST

START_TEST(what_can_be_fused)
{
	ck_assert(fusion_takes(OP_softmax));
	ck_assert(!fusion_takes(OP_attention));
	ck_assert(!fusion_takes(OP_conv2d));
}
END_TEST

Suite *launch_suite(void);

Suite *
launch_suite(void)
{
	Suite *s = suite_create("launch");
	TCase *t = tcase_create("launch");

	tcase_add_test(t, hosts_and_gpus);
	tcase_add_test(t, elementwise_chain);
	tcase_add_test(t, other_operands_stay);
	tcase_add_test(t, linear_norm_activation);
	tcase_add_test(t, what_can_be_fused);
	suite_add_tcase(s, t);
	return s;
}
