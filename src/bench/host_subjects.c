/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

const struct bench_subject bench_host_subjects[] = {
    {"memory", "read, write, copy, scale and triad over footprints from 16 KiB, one thread and all", BENCH_HOST, 10,
        host_memory},
    {"latency", "a dependent load over footprints from 16 KiB", BENCH_HOST, 3, host_latency},
    {"fma", "multiply-add in registers, fp64 and fp32, one thread and all", BENCH_HOST, 2, host_fma},
    {"gemm", "matrix products of layers, fp64 and fp32", BENCH_HOST, 6, host_gemm},
    {"launch", "one thread wakes another", BENCH_HOST, 0.5, host_launch},
};

const size_t n_bench_host_subjects = sizeof bench_host_subjects / sizeof *bench_host_subjects;
