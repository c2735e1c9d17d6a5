/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured on which GPU, over which sizes and for how long: decisions that need no GPU to be tested. */
#ifndef BENCH_PLAN_H
#define BENCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- time ------------------------------------------------------------------------------------------------ */

/* Seconds for all subjects together; what starting and checking takes comes on top. */
double plan_total_s(bool quick);
/*
 * Seconds of one subject of this weight, where those that have not run weigh `weights_left` with it.  The time of
 * subjects that needed less goes to those that follow; one alone needs no more than its part.
 */
double plan_budget_s(double total_s, double elapsed_s, double weight, double weights_left);

/* --- sizes ----------------------------------------------------------------------------------------------- */

/* Smallest array that has a load for each thread: below it, a pass takes one latency whatever its size. */
size_t plan_least_byte(size_t n_threads, size_t load_byte);
/* The size divided by `step` until it is `least`, or `n` times it is free. */
size_t plan_most_byte(size_t size_byte, size_t least_byte, size_t step, double n, double free_byte);
/* Longest chain of loads: lines that writing it left in L2 are one in eight at most. */
size_t plan_chain_byte(double l2_byte, double free_byte);

/* --- instructions ---------------------------------------------------------------------------------------- */

/* Whether mma.sync of this type runs on matrix units of this compute capability (90 for 9.0). */
bool plan_has_mma(int capability, const char *dtype);

/* Relative error that a right GEMM may have over this depth; `at_4096` is that of the type's rounding. */
double plan_gemm_tolerance(double at_4096, bool short_sums, double depth);

#ifdef __cplusplus
}
#endif
#endif
