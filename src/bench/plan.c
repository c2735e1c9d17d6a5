/* SPDX-License-Identifier: Apache-2.0 */
/* Choose budgets, sizes and instructions. */
#include "plan.h"

#include <math.h>
#include <string.h>

double
plan_total_s(bool quick)
{
	return quick ? 12 : 65;
}

double
plan_budget_s(double total_s, double elapsed_s, double weight, double weights_left)
{
	const double left_s = fmax(0.1 * total_s, total_s - elapsed_s);

	return fmin(left_s * weight / weights_left, 0.4 * total_s);
}

size_t
plan_least_byte(size_t n_threads, size_t load_byte)
{
	size_t size_byte = (size_t)1 << 20;

	while (size_byte < n_threads * load_byte)
		size_byte *= 2;
	return size_byte;
}

size_t
plan_most_byte(size_t size_byte, size_t least_byte, size_t step, double n, double free_byte)
{
	while (size_byte > least_byte && n * (double)size_byte > free_byte)
		size_byte /= step;
	return size_byte;
}

size_t
plan_chain_byte(double l2_byte, double free_byte)
{
	size_t size_byte = (size_t)512 << 20;

	while ((double)size_byte < 8 * l2_byte)
		size_byte *= 2;
	return plan_most_byte(size_byte, 4096, 2, 2, free_byte);
}

/*
 * Turing has fp16 and int8.  GPUs for graphics have no fp64 matrix units: ptxas writes thousands of other instructions.
 * Hopper and data-center Blackwell have no fp8 of this kind: ptxas writes fp16 products that do not depend on the turn,
 * takes them out of the loop, and additions remain (github.com/NVIDIA/cutlass/issues/1986).
 */
bool
plan_has_mma(int capability, const char *dtype)
{
	if (capability < 75)
		return false;
	if (strcmp(dtype, "fp64") == 0)
		return capability == 80 || capability == 90 || capability / 10 == 10;
	if (strcmp(dtype, "fp8") == 0)
		return capability == 89 || capability / 10 == 12;
	return capability >= 80 || strcmp(dtype, "fp16") == 0 || strcmp(dtype, "int8") == 0;
}

/*
 * Hopper sums fp8 products with 14 bits and cuts off the rest (DeepSeek-V3 technical report, 2024, section 3.3.2: near
 * 2 % at a depth of 4096): what is cut off always has one sign, so the error rises with the depth.
 */
double
plan_gemm_tolerance(double at_4096, bool short_sums, double depth)
{
	return short_sums ? at_4096 * fmax(1, depth / 4096) : at_4096;
}
