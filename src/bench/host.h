/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the CPU benchmarks. */
#ifndef BENCH_HOST_H
#define BENCH_HOST_H

#include "bench.h"

/* The cache before memory; a usual size where the system does not say. */
double host_last_cache_byte(void);

/* Memory of large pages where there are some, so that bandwidth and latency are not those of the page walk; zeroed.
 * NULL when there is none. */
void *host_memory_new(size_t n_byte);
void host_memory_free(void *memory, size_t n_byte);

/* --- threads that wait for work, each on a CPU of its own --------------------------------------------------- */

struct team;

struct team *team_new(int n_threads); /* NULL: they cannot be started */
void team_free(struct team *team);
int team_size(const struct team *team);
/* Runs `work` in every thread.  The seconds from the first start to the last end: waking is not in it. */
double team_run(struct team *team, void (*work)(void *context, int rank, int n_threads), void *context);

enum bench_status host_memory(struct bench *b);
enum bench_status host_latency(struct bench *b);
enum bench_status host_fma(struct bench *b);
enum bench_status host_gemm(struct bench *b);
enum bench_status host_launch(struct bench *b);

/* A GEMM for hosts without a BLAS: C = A B^T, row-major, A m x k, B n x k. */
void blocked_sgemm(struct team *team, int m, int n, int k, const float *a, const float *b, float *c);
void blocked_dgemm(struct team *team, int m, int n, int k, const double *a, const double *b, double *c);

/* One function for each set of vector instructions, chosen when the program starts, where compiler and C library can.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_MACHINE __attribute__((noinline, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_MACHINE __attribute__((noinline))
#endif

#endif
