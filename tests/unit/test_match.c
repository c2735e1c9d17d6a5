/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of two measurement files beside each other, and the test of their changes. */
#include "import/import.h"
#include "search/stats/stats.h"

#include "unit/said.h"

#include <math.h>

#define HEAD "kind,gpu_id,backend,dtype,m,n,k,time_us,min_us,max_us\n"

static void
read_into(struct arena *a, const char *text, struct measurements *out)
{
	struct diag *d = diag_new(a);

	ck_assert_msg(measurements_read_text(a, d, "rows", text, strlen(text), NULL, NULL, out), "%s", said(a, d));
}

static struct match
matched(struct arena *a, const char *baseline, const char *current)
{
	struct measurements *base = ARENA_NEW(a, struct measurements), *now = ARENA_NEW(a, struct measurements);
	struct match m;

	read_into(a, baseline, base);
	read_into(a, current, now);
	match_rows(a, base, now, &m);
	return m;
}

START_TEST(rows_are_matched)
{
	struct arena *a = arena_new();
	const struct match m = matched(a,
	    HEAD "gemm,h100,v,bf16,1,128,256,10,9,11\n"
	         "gemm,h100,v,bf16,2,128,256,20,,\n"
	         "gemm,h100,v,fp8,2,128,256,8,,\n"
	         "gemm,h100,v,bf16,4,128,256,40,,\n",
	    HEAD "gemm,h100,v,fp8,2,128,256,4,,\n" /* another order */
	         "gemm,h100,v,bf16,2,128,256,30,,\n"
	         "gemm,h100,v,bf16,1,128,256,10.5,10,12\n"
	         "gemm,h100,v,bf16,8,128,256,70,,\n"
	         "gemm,h100,v,bf16,16,128,256,70,,\n");

	ck_assert_int_eq(m.n, 3);
	ck_assert_int_eq(m.n_baseline_alone, 1);
	ck_assert_int_eq(m.n_current_alone, 2);
	ck_assert_int_eq(m.n_groups, 2);
	ck_assert_str_eq(m.groups[0].name, "gemm bf16");
	ck_assert_int_eq(m.groups[0].n, 2);
	ck_assert_str_eq(m.groups[1].name, "gemm fp8");
	ck_assert_double_eq_tol(m.groups[0].ratio[0], 1.05, 1e-12);
	ck_assert_double_eq_tol(m.groups[0].ratio[1], 1.5, 1e-12);
	ck_assert_double_eq_tol(m.groups[1].ratio[0], 0.5, 1e-12);
	ck_assert(!m.pairs[0].apart); /* 9..11 and 10..12 */
	ck_assert(m.pairs[1].apart);
	ck_assert_str_eq(match_row_name(a, m.pairs[1].row), "gemm bf16 m=2 n=128 k=256");
	arena_free(a);
}
END_TEST

/* Repetitions have a median and a spread. */
START_TEST(repetitions)
{
	struct arena *a = arena_new();
	const struct match m = matched(a,
	    HEAD "gemm,h100,v,bf16,1,128,256,10,,\ngemm,h100,v,bf16,1,128,256,14,,\ngemm,h100,v,bf16,1,128,256,11,,\n",
	    HEAD "gemm,h100,v,bf16,1,128,256,13,,\ngemm,h100,v,bf16,1,128,256,22,,\ngemm,h100,v,bf16,1,128,256,33,,\n");

	ck_assert_int_eq(m.n, 1);
	ck_assert_double_eq_tol(m.pairs[0].ratio, 2, 1e-12);
	ck_assert(!m.pairs[0].apart);
	arena_free(a);
}
END_TEST

/* GPU and backend tell rows apart only where a side has several. */
START_TEST(what_tells_rows_apart)
{
	struct arena *a = arena_new();
	struct match m = matched(a, HEAD "gemm,h100,v,bf16,1,128,256,10,,\n", HEAD "gemm,a100,w,bf16,1,128,256,20,,\n");

	ck_assert_int_eq(m.n, 1);
	m = matched(a, HEAD "gemm,h100,v,bf16,1,128,256,10,,\ngemm,a100,v,bf16,1,128,256,10,,\n",
	    HEAD "gemm,a100,w,bf16,1,128,256,20,,\n");
	ck_assert_int_eq(m.n, 1);
	ck_assert_int_eq(m.n_baseline_alone, 1);
	m = matched(a, HEAD "gemm,h100,v,bf16,1,128,256,10,,\ngemm,h100,w,bf16,1,128,256,10,,\n",
	    HEAD "gemm,h100,x,bf16,1,128,256,20,,\n");
	ck_assert_int_eq(m.n, 0);
	arena_free(a);
}
END_TEST

/* Bandwidths alone are compared as the time of a byte: less bandwidth is slower. */
START_TEST(bandwidths)
{
	struct arena *a = arena_new();
	const struct match m = matched(a, "kind,operation,gb_per_s,size_bytes\np2p,h2d,50,\ncopy,copy,2000,\n",
	    "kind,operation,gb_per_s,size_bytes\np2p,h2d,25,\ncopy,copy,2000,\n");

	ck_assert_int_eq(m.n, 2);
	ck_assert(m.pairs[0].rate);
	ck_assert_double_eq_tol(m.pairs[0].ratio, 1, 1e-12);
	ck_assert_double_eq_tol(m.pairs[1].ratio, 2, 1e-12);
	arena_free(a);
}
END_TEST

/* Wilcoxon 1945, table I: sums of ranks and their probabilities, here one-sided: n, W, P. */
static const struct {
	int n;
	double w, p;
} signed_ranks[] = {
    {5, 15, 1.0 / 32}, {5, 14, 2.0 / 32}, {6, 21, 1.0 / 64}, {7, 28 - 2, 3.0 / 128}, {8, 36 - 4, 7.0 / 256}};

/* The first values go down: those whose ranks add to what is missing. */
START_TEST(signed_rank_test)
{
	const int n = signed_ranks[_i].n;
	double x[10], least_p, missing = n * (n + 1) / 2 - signed_ranks[_i].w;

	for (int i = n; i >= 1; i--) {
		const bool down = missing >= i;
		x[i - 1] = (down ? -1 : 1) * (i + 0.01 * i);
		missing -= down ? i : 0;
	}
	ck_assert_double_eq_tol(rank_signed(x, (size_t)n, &least_p), signed_ranks[_i].p, 1e-12);
	ck_assert_double_eq_tol(least_p, pow(0.5, n), 1e-15);
}
END_TEST

START_TEST(signed_rank_limits)
{
	double x[200] = {0}, least_p;

	ck_assert_double_eq(rank_signed(x, 0, &least_p), 1);
	ck_assert_double_eq(least_p, 1);
	for (int i = 0; i < 200; i++)
		x[i] = 0;
	ck_assert_double_eq(rank_signed(x, 200, &least_p), 1); /* nothing changed */
	for (int i = 0; i < 200; i++)
		x[i] = (i % 2 ? 1 : -1) * (1 + i / 2);
	ck_assert_double_eq_tol(rank_signed(x, 200, &least_p), 0.5, 0.02); /* as often up as down, with ties */
	for (int i = 0; i < 200; i++)
		x[i] = 1 + 0.1 * i;
	ck_assert_double_lt(rank_signed(x, 200, &least_p), 1e-30);
}
END_TEST

Suite *match_suite(void);

Suite *
match_suite(void)
{
	Suite *s = suite_create("match");
	TCase *t = tcase_create("match");

	tcase_add_test(t, rows_are_matched);
	tcase_add_test(t, repetitions);
	tcase_add_test(t, what_tells_rows_apart);
	tcase_add_test(t, bandwidths);
	tcase_add_loop_test(t, signed_rank_test, 0, (int)(sizeof signed_ranks / sizeof *signed_ranks));
	tcase_add_test(t, signed_rank_limits);
	suite_add_tcase(s, t);
	return s;
}
