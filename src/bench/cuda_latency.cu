/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latency of one dependent load by a single thread: a chain through the lines of a footprint, one cycle in random order
 * (Sattolo 1986).  Loads use every cache, so that L1, L2 and device memory show one after the other.
 */
#include "cuda.h"

#include <vector>

enum { LINE_BYTE = 128, LINE_WORDS = LINE_BYTE / sizeof(uint32_t), STEPS = 256 };

/* The word at the head of each line is the index of the next line's head. */
__global__ void
spread(const uint32_t *next, uint32_t *chain, uint32_t n_lines)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n_lines; i += gridDim.x * blockDim.x)
		chain[static_cast<size_t>(i) * LINE_WORDS] = next[i] * LINE_WORDS;
}

/* Goes on where it stopped. */
__global__ void
follow(const uint32_t *chain, uint32_t *at, long n)
{
	uint32_t i = *at;

	for (long s = 0; s < n; s++)
#pragma unroll 16
		for (int k = 0; k < STEPS; k++)
			asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(i) : "l"(chain + i) : "memory");
	*at = i;
}

static void
cycle(std::vector<uint32_t> &next, uint64_t seed)
{
	for (size_t i = 0; i < next.size(); i++)
		next[i] = static_cast<uint32_t>(i);
	for (size_t i = next.size() - 1; i > 0; i--) {
		const size_t k = static_cast<size_t>((bench_random(seed, i) + 1) / 2 * static_cast<double>(i));
		const uint32_t kept = next[i];
		next[i] = next[k];
		next[k] = kept;
	}
}

static enum bench_status
measure(struct bench *b, size_t size_byte, uint32_t *chain, uint32_t *at, double n_points_left)
{
	const size_t n_lines = size_byte / LINE_BYTE;
	struct bench_row row = bench_row_new("latency", "load", nullptr);
	std::vector<uint32_t> next(n_lines);
	device_array<uint32_t> device_next;
	uint32_t there = 0, right = 0;

	row.size_byte = static_cast<double>(size_byte);
	row.note = "one thread, lines of 128 bytes";
	bench_progress(b, "%zu KiB", size_byte / 1024);
	cycle(next, b->seed);
	TRY(device_next.make(n_lines));
	TRY(cudaMemcpy(device_next.at, next.data(), n_lines * sizeof(uint32_t), cudaMemcpyHostToDevice));
	spread<<<256, 256>>>(device_next.at, chain, static_cast<uint32_t>(n_lines));
	TRY_LAUNCH();
	TRY(cudaMemset(at, 0, sizeof *at));
	/* Once around what a cache can hold, so that it does; and the place is the one that the host finds too. */
	const long n = static_cast<long>(fmin(static_cast<double>(n_lines) / STEPS + 1, 2048));
	follow<<<1, 1>>>(chain, at, n);
	TRY_LAUNCH();
	TRY(cudaMemcpy(&there, at, sizeof there, cudaMemcpyDeviceToHost));
	for (long s = 0; s < n * STEPS; s++)
		right = next[right];
	if (!bench_right(b, there == right * LINE_WORDS ? 0 : 1, 0, "latency: chain over %zu bytes", size_byte))
		return BENCH_OK;
	const auto launch = [&](long repeat) {
		follow<<<1, 1>>>(chain, at, repeat);
		return cudaGetLastError();
	};
	TRY_STATUS(cuda_take(b, launch, bench_share(b, n_points_left), &row.time));
	row.time.median_s /= STEPS;
	row.time.min_s /= STEPS;
	row.time.max_s /= STEPS;
	bench_print(b, &row);
	return BENCH_OK;
}

enum bench_status
cuda_latency(struct bench *b)
{
	const size_t least_byte = 4 * 1024, step = b->quick ? 4 : 2;
	size_t most_byte = static_cast<size_t>(512) << 20;
	device_array<uint32_t> chain, at;
	double n_points = 0;

	while (most_byte > least_byte && 2 * most_byte > cuda_free_byte())
		most_byte /= 2;
	TRY(chain.make(most_byte / sizeof(uint32_t)));
	TRY(at.make(1));
	for (size_t size = least_byte; size <= most_byte; size *= step)
		n_points++;
	for (size_t size = least_byte; size <= most_byte; size *= step)
		TRY_STATUS(measure(b, size, chain.at, at.at, n_points--));
	return BENCH_OK;
}
