/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The delta rule against published times of flash-linear-attention's kernels. */
#include <check.h>
#include <math.h>

#include "model/kernel/kernel.h"

static struct datum
number(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* Datasheet bandwidth, nine tenths of which products reach. */
struct card {
	const char *name;
	double n_sms, mem_byte_per_s;
};
static const struct card H200 = {"H200", 132, 4.8e12}, GB200 = {"GB200", 148, 8e12},
                         PRO_6000 = {"RTX PRO 6000", 188, 1.6e12}, RTX_5090 = {"RTX 5090", 170, 1.79e12};

static struct calibration
calibration_of(const struct card *card)
{
	struct calibration c = {.ref_n_sms = number(card->n_sms)};

	c.gemm[DTYPE_BF16].mem_byte_per_s = number(0.9 * card->mem_byte_per_s);
	c.gemm[DTYPE_BF16].base_s = number(2e-6);
	return c;
}

/* One sequence of 32768, 16384, 8192, 4096 and 2048 tokens, eight of 4096 and of 1024, in milliseconds; heads of 128.
 * QwenLM/FlashQLA, benchmark/benchmark_results_*.txt (MIT): FLA 0.5, CUDA graphs. */
static const struct {
	const struct card *card;
	double n_heads, ms[7];
} forward[] = {
    {&H200, 8, {0.902, 0.455, 0.234, 0.132, 0.081, 0.471, 0.131}},
    {&H200, 16, {1.241, 0.614, 0.316, 0.166, 0.098, 0.945, 0.252}},
    {&H200, 32, {1.939, 0.972, 0.500, 0.263, 0.140, 1.968, 0.530}},
    {&H200, 64, {3.331, 1.598, 0.814, 0.417, 0.220, 3.390, 0.854}},
    {&GB200, 8, {1.016, 0.519, 0.264, 0.147, 0.089, 0.458, 0.128}},
    {&GB200, 16, {1.253, 0.642, 0.333, 0.171, 0.100, 0.882, 0.249}},
    {&GB200, 32, {1.812, 0.920, 0.478, 0.251, 0.132, 1.728, 0.477}},
    {&GB200, 64, {2.943, 1.478, 0.755, 0.396, 0.211, 2.852, 0.759}},
    {&PRO_6000, 16, {1.696, 0.827, 0.379, 0.161, 0.092, 1.425, 0.317}},
    {&PRO_6000, 32, {3.464, 1.743, 0.849, 0.383, 0.137, 3.468, 0.871}},
    {&PRO_6000, 64, {5.674, 2.819, 1.408, 0.676, 0.309, 5.766, 1.481}},
    {&RTX_5090, 16, {1.655, 0.824, 0.396, 0.176, 0.095, 1.484, 0.350}},
    {&RTX_5090, 32, {3.336, 1.659, 0.814, 0.374, 0.151, 3.448, 0.871}},
    {&RTX_5090, 64, {5.665, 2.784, 1.375, 0.682, 0.322, 5.824, 1.461}},
};
static const double lengths[7] = {32768, 16384, 8192, 4096, 2048, 4096, 1024};
static const double sequences[7] = {1, 1, 1, 1, 1, 8, 8};

/* Of one sequence of 8192 and of 32768 tokens: the same source. */
static const struct {
	const struct card *card;
	double n_heads, ms[2];
} backward[] = {
    {&H200, 32, {1.444, 5.697}},
    {&H200, 16, {0.957, 3.701}},
    {&H200, 8, {0.722, 2.743}},
    {&GB200, 32, {1.446, 5.714}},
    {&GB200, 16, {1.013, 3.934}},
    {&GB200, 8, {0.798, 3.068}},
};

static double
error_of(const struct card *card, double n_heads, double n_sequences, double seq_length, bool back, double ms)
{
	const struct calibration c = calibration_of(card);
	const struct delta_shape shape = {n_sequences, seq_length, n_heads, 128, 128, 64, false};
	const double error = fabs(log(delta_rule_time(NULL, &shape, &c, back) / (1e-3 * ms)));

	ck_assert_msg(error < 0.4, "%s, %.0f heads, %.0f tokens: %.2f off", card->name, n_heads, seq_length, error);
	return error;
}

START_TEST(forward_as_published)
{
	double sum = 0;
	int n = 0;

	for (size_t i = 0; i < sizeof forward / sizeof *forward; i++)
		for (int j = 0; j < 7; j++, n++)
			sum += error_of(
			    forward[i].card, forward[i].n_heads, sequences[j], lengths[j], false, forward[i].ms[j]);
	ck_assert_msg(sum / n < 0.11, "%.3f off", sum / n);
}
END_TEST

START_TEST(backward_as_published)
{
	double sum = 0;
	int n = 0;

	for (size_t i = 0; i < sizeof backward / sizeof *backward; i++)
		for (int j = 0; j < 2; j++, n++)
			sum += error_of(
			    backward[i].card, backward[i].n_heads, 1, j == 0 ? 8192 : 32768, true, backward[i].ms[j]);
	ck_assert_msg(sum / n < 0.08, "%.3f off", sum / n);
}
END_TEST

/* Few heads wait for one chunk after the other, which shorter sequences beside each other do not; a decay for each
 * channel costs more of everything but launches. */
START_TEST(chunks_wait)
{
	const struct calibration c = calibration_of(&H200);
	const struct delta_shape one = {1, 32768, 4, 128, 128, 64, false}, eight = {8, 4096, 4, 128, 128, 64, false};
	struct delta_shape channels = one;
	const double s = delta_rule_time(NULL, &one, &c, false);

	ck_assert_double_gt(s, 1.5 * delta_rule_time(NULL, &eight, &c, false));
	ck_assert_double_gt(s, 512 * 1.2e-6);
	channels.by_channel = true;
	ck_assert_double_eq_tol(delta_rule_time(NULL, &channels, &c, false) - 12e-6, 1.75 * (s - 12e-6), 1e-12);
}
END_TEST

Suite *delta_suite(void);

Suite *
delta_suite(void)
{
	Suite *s = suite_create("delta");
	TCase *t = tcase_create("rule");

	tcase_add_test(t, forward_as_published);
	tcase_add_test(t, backward_as_published);
	tcase_add_test(t, chunks_wait);
	suite_add_tcase(s, t);
	return s;
}
