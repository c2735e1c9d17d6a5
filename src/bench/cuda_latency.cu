/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latency of one dependent load by a single thread: a chain through the lines of a footprint, one cycle in random
 * order. Loads use every cache, so that L1, L2 and device memory show one after the other.
 */
#include "cuda.h"

#include <vector>

namespace {

enum { LINE_BYTE = 128, LINE_WORDS = LINE_BYTE / sizeof(uint64_t), STEPS = 256, L1_MOST_BYTE = 256 * 1024 };

/* The word at the head of each line is the address of the next line's head: nothing is to be computed between loads. */
__global__ void
spread(const uint32_t *next, uint64_t *chain, uint32_t n_lines)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n_lines; i += gridDim.x * blockDim.x)
		chain[static_cast<size_t>(i) * LINE_WORDS] =
		    reinterpret_cast<uint64_t>(chain + static_cast<size_t>(next[i]) * LINE_WORDS);
}

/* Goes on where it stopped. */
__global__ void
follow(uint64_t *at, long n)
{
	uint64_t next = *at;

	for (long s = 0; s < n; s++)
#pragma unroll 16
		for (int k = 0; k < STEPS; k++)
			asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(next)::"memory");
	*at = next;
}

struct chase {
	struct bench *b;
	uint64_t *at;
	long lead; /* turns after which L1, which a kernel finds empty, holds the chain; 0: it cannot */
};

/* Without the lead, whose time is taken alone. */
static double
timed(void *context, long n)
{
	const struct chase *c = static_cast<const struct chase *>(context);
	auto launch = [c](long turns) {
		follow<<<1, 1>>>(c->at, turns);
		return cudaGetLastError();
	};

	cuda_launches<decltype(launch)> launches = {c->b, launch};

	if (c->lead == 0)
		return cuda_timed<decltype(launch)>(&launches, n);
	const double lead_s = cuda_timed<decltype(launch)>(&launches, c->lead);
	const double both_s = cuda_timed<decltype(launch)>(&launches, c->lead + n);
	return lead_s < 0 || both_s < 0 ? -1 : fmax(both_s - lead_s, 1e-9);
}

static enum bench_status
measure(struct bench *b, size_t size_byte, uint64_t *chain, uint64_t *at, double n_points_left)
{
	const size_t n_lines = size_byte / LINE_BYTE;
	struct bench_row row = bench_row_new("latency", "load", nullptr);
	std::vector<uint32_t> next(n_lines);
	device_array<uint32_t> device_next;
	const uint64_t first = reinterpret_cast<uint64_t>(chain);
	uint64_t there = 0;
	uint32_t right = 0;

	row.size_byte = static_cast<double>(size_byte);
	row.note = "one thread, lines of 128 bytes";
	const cuda_point point(b, "%zu KiB", size_byte / 1024);
	bench_cycle(next.data(), n_lines, b->seed);
	TRY(device_next.make(n_lines));
	TRY(cudaMemcpy(device_next.at, next.data(), n_lines * sizeof(uint32_t), cudaMemcpyHostToDevice));
	spread<<<256, 256>>>(device_next.at, chain, static_cast<uint32_t>(n_lines));
	TRY_LAUNCH();
	TRY(cudaMemcpy(at, &first, sizeof first, cudaMemcpyHostToDevice));
	/* Once around what a cache can hold, so that it does; and the place is the one that the host finds too. */
	const long n = static_cast<long>(fmin(static_cast<double>(n_lines) / STEPS + 1, 2048));
	follow<<<1, 1>>>(at, n);
	TRY_LAUNCH();
	TRY(cudaMemcpy(&there, at, sizeof there, cudaMemcpyDeviceToHost));
	for (long s = 0; s < n * STEPS; s++)
		right = next[right];
	if (!bench_right(b, there == first + static_cast<uint64_t>(right) * LINE_BYTE ? 0 : 1, 0,
	        "latency: chain over %zu bytes", size_byte))
		return BENCH_OK;
	struct chase chase = {b, at, size_byte <= L1_MOST_BYTE ? static_cast<long>(n_lines / STEPS + 1) : 0};
	cuda_watch_begin(b);
	TRY_STATUS(bench_take(timed, &chase, bench_share(b, n_points_left), BENCH_GPU_SAMPLE_S, &row.time));
	row.time.median_s /= STEPS;
	row.time.min_s /= STEPS;
	row.time.max_s /= STEPS;
	bench_print(b, &row);
	return BENCH_OK;
}

} /* namespace */

enum bench_status
cuda_latency(struct bench *b)
{
	const size_t least_byte = 4 * 1024, step = b->quick ? 4 : 2;
	const size_t most_byte = plan_chain_byte(b->cuda->l2_byte, static_cast<double>(cuda_free_byte()));
	device_array<uint64_t> chain, at;
	double n_points = 0;

	TRY(chain.make(most_byte / sizeof(uint64_t)));
	TRY(at.make(1));
	for (size_t size = least_byte; size <= most_byte; size *= step)
		n_points++;
	for (size_t size = least_byte; size <= most_byte; size *= step)
		TRY_STATUS(measure(b, size, chain.at, at.at, n_points--));
	return BENCH_OK;
}
