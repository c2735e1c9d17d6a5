/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A benchmark that the compiler hollows out: each pass reads the same four places in another order and adds up one word
 * of each.  ptxas sees that the sum is the same for every pass, loads once, and leaves additions in the loop; `asm
 * volatile` binds only the compiler before it.  The test of loops has to notice.
 */
#include <cstdint>

enum { THREADS = 256, PLACES = 4 };

__global__ void
near_passILb0(const float4 *from, uint32_t *sums, long n_passes)
{
	const float4 *own = from + blockIdx.x * static_cast<size_t>(PLACES * THREADS);
	uint32_t sum = 0;

	for (long p = 0; p < n_passes; p++)
#pragma unroll
		for (int i = 0; i < PLACES; i++) {
			const unsigned turn = static_cast<unsigned>(i) + static_cast<unsigned>(p);
			float4 v;
			asm volatile("ld.global.ca.v4.f32 {%0, %1, %2, %3}, [%4];"
			             : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
			             : "l"(own + turn % PLACES * THREADS + threadIdx.x)
			             : "memory");
			sum += __float_as_uint(v.x);
		}
	sums[blockIdx.x * static_cast<size_t>(THREADS) + threadIdx.x] = sum;
}
