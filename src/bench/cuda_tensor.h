/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tensor core benchmarks. */
#ifndef BENCH_CUDA_TENSOR_H
#define BENCH_CUDA_TENSOR_H

#include "cuda.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

enum { TENSOR_STEPS = 16 }; /* instructions of a tile in one turn of the loop */

enum bench_status cuda_wgmma(struct bench *b);

__device__ inline uint32_t
tensor_pair_fp16(float x, float y)
{
	return static_cast<uint32_t>(__half_as_ushort(__float2half_rn(x))) |
	    static_cast<uint32_t>(__half_as_ushort(__float2half_rn(y))) << 16;
}

__device__ inline uint32_t
tensor_pair_bf16(float x, float y)
{
	return static_cast<uint32_t>(__bfloat16_as_ushort(__float2bfloat16_rn(x))) |
	    static_cast<uint32_t>(__bfloat16_as_ushort(__float2bfloat16_rn(y))) << 16;
}

/*
 * With ones, each of the first `held` of every `stride` elements is 3 `depth` after three turns; then random operands
 * are timed.  `flop` and `depth` are of one turn.
 */
template <class C, class Run>
enum bench_status
tensor_measure(struct bench *b, const char *instruction, const char *dtype, double flop, double depth, int stride,
    int held, const device_array<C> &out, const Run &run, double n_points_left)
{
	struct bench_row row = bench_row_new("fma", instruction, dtype);
	std::vector<C> got(out.n);
	double wrong = 0;

	const cuda_point point(b, "%s %s", instruction, dtype);
	TRY(cudaMemset(out.at, 0xff, out.n * sizeof(C)));
	TRY(run(3, false));
	TRY(cudaMemcpy(got.data(), out.at, out.n * sizeof(C), cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < got.size(); i++)
		if (static_cast<int>(i % static_cast<size_t>(stride)) < held)
			wrong += static_cast<double>(got[i]) == 3 * depth ? 0 : 1;
	if (!bench_right(b, wrong, 0, "tensor: %s %s", instruction, dtype))
		return BENCH_OK;
	row.flop = flop;
	const auto launch = [&](long n) { return run(n, true); };
	TRY_STATUS(cuda_take(b, launch, bench_share(b, n_points_left), &row.time));
	bench_print(b, &row);
	return BENCH_OK;
}

#endif
