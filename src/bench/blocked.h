/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix product for hosts without a BLAS: C = A B^T, row-major, A m x k, B n x k. */
#ifndef BENCH_BLOCKED_H
#define BENCH_BLOCKED_H

#include "host.h"

void blocked_sgemm(struct team *team, int m, int n, int k, const float *a, const float *b, float *c);
void blocked_dgemm(struct team *team, int m, int n, int k, const double *a, const double *b, double *c);

#endif
