/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hopper's matrix instruction: a warpgroup multiplies two tiles in shared memory (PTX ISA, "Asynchronous
 * warpgroup-level matrix instructions").  It exists for the target sm_90a alone.  Tiles lie without swizzle, as core
 * matrices of 8 rows of 16 bytes: 128 bytes to the next along the depth, 256 along the rows.
 */
#include "cuda_tensor.h"

namespace {

enum { THREADS = 256, GROUPS = THREADS / 128, A_BYTE = 64 * 32, B_BYTE = 256 * 32, ACCUMULATORS = 128 };

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HAS_WGMMA 1
#else
#define HAS_WGMMA 0
#endif

#if HAS_WGMMA
/* Address, leading and stride offset in units of 16 bytes. */
__device__ static inline uint64_t
descriptor(const void *tile)
{
	const uint64_t address = __cvta_generic_to_shared(tile);

	return ((address & 0x3ffff) >> 4) | (uint64_t{128 >> 4} << 16) | (uint64_t{256 >> 4} << 32);
}

__device__ static inline void
multiply_bf16(float (&c)[ACCUMULATORS], uint64_t a, uint64_t b)
{
	asm volatile(
	    "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
	    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
	    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
	    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
	    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
	    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
	    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
	    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
	    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
	    "}, %128, %129, p, 1, 1, 0, 0; }"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]),
	    "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]),
	    "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]),
	    "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31]),
	    "+f"(c[32]), "+f"(c[33]), "+f"(c[34]), "+f"(c[35]), "+f"(c[36]), "+f"(c[37]), "+f"(c[38]), "+f"(c[39]),
	    "+f"(c[40]), "+f"(c[41]), "+f"(c[42]), "+f"(c[43]), "+f"(c[44]), "+f"(c[45]), "+f"(c[46]), "+f"(c[47]),
	    "+f"(c[48]), "+f"(c[49]), "+f"(c[50]), "+f"(c[51]), "+f"(c[52]), "+f"(c[53]), "+f"(c[54]), "+f"(c[55]),
	    "+f"(c[56]), "+f"(c[57]), "+f"(c[58]), "+f"(c[59]), "+f"(c[60]), "+f"(c[61]), "+f"(c[62]), "+f"(c[63]),
	    "+f"(c[64]), "+f"(c[65]), "+f"(c[66]), "+f"(c[67]), "+f"(c[68]), "+f"(c[69]), "+f"(c[70]), "+f"(c[71]),
	    "+f"(c[72]), "+f"(c[73]), "+f"(c[74]), "+f"(c[75]), "+f"(c[76]), "+f"(c[77]), "+f"(c[78]), "+f"(c[79]),
	    "+f"(c[80]), "+f"(c[81]), "+f"(c[82]), "+f"(c[83]), "+f"(c[84]), "+f"(c[85]), "+f"(c[86]), "+f"(c[87]),
	    "+f"(c[88]), "+f"(c[89]), "+f"(c[90]), "+f"(c[91]), "+f"(c[92]), "+f"(c[93]), "+f"(c[94]), "+f"(c[95]),
	    "+f"(c[96]), "+f"(c[97]), "+f"(c[98]), "+f"(c[99]), "+f"(c[100]), "+f"(c[101]), "+f"(c[102]), "+f"(c[103]),
	    "+f"(c[104]), "+f"(c[105]), "+f"(c[106]), "+f"(c[107]), "+f"(c[108]), "+f"(c[109]), "+f"(c[110]),
	    "+f"(c[111]), "+f"(c[112]), "+f"(c[113]), "+f"(c[114]), "+f"(c[115]), "+f"(c[116]), "+f"(c[117]),
	    "+f"(c[118]), "+f"(c[119]), "+f"(c[120]), "+f"(c[121]), "+f"(c[122]), "+f"(c[123]), "+f"(c[124]),
	    "+f"(c[125]), "+f"(c[126]), "+f"(c[127])
	    : "l"(a), "l"(b));
}

__device__ static inline void
multiply_fp8(float (&c)[ACCUMULATORS], uint64_t a, uint64_t b)
{
	asm volatile(
	    "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 {"
	    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
	    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
	    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
	    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
	    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
	    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
	    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
	    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
	    "}, %128, %129, p, 1, 1; }"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]),
	    "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]),
	    "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]),
	    "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31]),
	    "+f"(c[32]), "+f"(c[33]), "+f"(c[34]), "+f"(c[35]), "+f"(c[36]), "+f"(c[37]), "+f"(c[38]), "+f"(c[39]),
	    "+f"(c[40]), "+f"(c[41]), "+f"(c[42]), "+f"(c[43]), "+f"(c[44]), "+f"(c[45]), "+f"(c[46]), "+f"(c[47]),
	    "+f"(c[48]), "+f"(c[49]), "+f"(c[50]), "+f"(c[51]), "+f"(c[52]), "+f"(c[53]), "+f"(c[54]), "+f"(c[55]),
	    "+f"(c[56]), "+f"(c[57]), "+f"(c[58]), "+f"(c[59]), "+f"(c[60]), "+f"(c[61]), "+f"(c[62]), "+f"(c[63]),
	    "+f"(c[64]), "+f"(c[65]), "+f"(c[66]), "+f"(c[67]), "+f"(c[68]), "+f"(c[69]), "+f"(c[70]), "+f"(c[71]),
	    "+f"(c[72]), "+f"(c[73]), "+f"(c[74]), "+f"(c[75]), "+f"(c[76]), "+f"(c[77]), "+f"(c[78]), "+f"(c[79]),
	    "+f"(c[80]), "+f"(c[81]), "+f"(c[82]), "+f"(c[83]), "+f"(c[84]), "+f"(c[85]), "+f"(c[86]), "+f"(c[87]),
	    "+f"(c[88]), "+f"(c[89]), "+f"(c[90]), "+f"(c[91]), "+f"(c[92]), "+f"(c[93]), "+f"(c[94]), "+f"(c[95]),
	    "+f"(c[96]), "+f"(c[97]), "+f"(c[98]), "+f"(c[99]), "+f"(c[100]), "+f"(c[101]), "+f"(c[102]), "+f"(c[103]),
	    "+f"(c[104]), "+f"(c[105]), "+f"(c[106]), "+f"(c[107]), "+f"(c[108]), "+f"(c[109]), "+f"(c[110]),
	    "+f"(c[111]), "+f"(c[112]), "+f"(c[113]), "+f"(c[114]), "+f"(c[115]), "+f"(c[116]), "+f"(c[117]),
	    "+f"(c[118]), "+f"(c[119]), "+f"(c[120]), "+f"(c[121]), "+f"(c[122]), "+f"(c[123]), "+f"(c[124]),
	    "+f"(c[125]), "+f"(c[126]), "+f"(c[127])
	    : "l"(a), "l"(b));
}

#endif

enum kind { BF16, FP8 };

template <enum kind K>
__global__ void
__launch_bounds__(THREADS, 1) products(long n, bool random, float *out)
{
#if HAS_WGMMA
	__shared__ alignas(128) uint32_t a[GROUPS][A_BYTE / 4], b[B_BYTE / 4];
	const unsigned group = threadIdx.x / 128;
	const uint32_t ones = K == BF16 ? 0x3f803f80u : 0x38383838u;
	const uint32_t mask = 0xb7b7b7b7u; /* e4m3 below 1 */
	float c[ACCUMULATORS];

	for (unsigned i = threadIdx.x; i < B_BYTE / 4; i += THREADS) {
		const unsigned at = blockIdx.x * 8192 + i;
		const uint32_t pair = tensor_pair_bf16(hashed(1, at), hashed(2, at));
		b[i] = !random ? ones : K == BF16 ? pair : (pair * 2654435761u) & mask;
	}
	for (unsigned i = threadIdx.x; i < GROUPS * A_BYTE / 4; i += THREADS) {
		const unsigned at = blockIdx.x * 8192 + i;
		const uint32_t pair = tensor_pair_bf16(hashed(3, at), hashed(4, at));
		a[i / (A_BYTE / 4)][i % (A_BYTE / 4)] = !random ? ones : K == BF16 ? pair : (pair * 2654435761u) & mask;
	}
#pragma unroll
	for (int i = 0; i < ACCUMULATORS; i++)
		c[i] = 0;
	/* what was stored is seen by the matrix unit */
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	const uint64_t tile_a = descriptor(a[group]), tile_b = descriptor(b);
	for (long s = 0; s < n; s++) {
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
		for (int u = 0; u < TENSOR_STEPS; u++)
			if constexpr (K == BF16)
				multiply_bf16(c, tile_a, tile_b);
			else
				multiply_fp8(c, tile_a, tile_b);
		asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
		asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
	}
	const size_t at = (blockIdx.x * static_cast<size_t>(THREADS) + threadIdx.x) * ACCUMULATORS;
#pragma unroll
	for (int i = 0; i < ACCUMULATORS; i++)
		out[at + static_cast<size_t>(i)] = c[i];
#else
	(void)n;
	(void)random;
	(void)out;
#endif
}

template <enum kind K>
static enum bench_status
measure(struct bench *b, const char *dtype, int depth, double n_points_left)
{
	const unsigned n_blocks = static_cast<unsigned>(gpu.n_sms);
	device_array<float> out;
	cudaFuncAttributes attributes;

	TRY(cudaFuncGetAttributes(&attributes, products<K>));
	if (attributes.sharedSizeBytes == 0) {
		bench_say(b, "wgmma: left out: this was not built for sm_90a");
		return BENCH_OK;
	}
	TRY(out.make(n_blocks * static_cast<size_t>(THREADS) * ACCUMULATORS));
	const auto run = [&](long n, bool random) {
		products<K><<<n_blocks, THREADS>>>(n, random, out.at);
		return cudaGetLastError();
	};
	const double flop = 2.0 * 64 * 256 * depth * TENSOR_STEPS * GROUPS * n_blocks;
	return tensor_measure(b, "wgmma", dtype, flop, static_cast<double>(depth) * TENSOR_STEPS, ACCUMULATORS,
	    ACCUMULATORS, out, run, n_points_left);
}

} /* namespace */

enum bench_status
cuda_wgmma(struct bench *b)
{
	TRY_STATUS(measure<BF16>(b, "bf16", 16, 2));
	return measure<FP8>(b, "fp8", 32, 1);
}
