/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hopper's matrix instruction: a warpgroup multiplies two tiles in shared memory (PTX ISA, "Asynchronous
 * warpgroup-level matrix instructions").  It exists for the target sm_90a alone.  Tiles lie without swizzle, as core
 * matrices of 8 rows of 16 bytes: 128 bytes to the next along the depth, 256 along the rows.
 */
#include "cuda_tensor.h"

namespace {

enum kind { BF16, FP8 };

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

/* The accumulators of one thread, as the instruction names them and as the compiler does. */
#define NAMES                                                                                                          \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                       \
	"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                             \
	"%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                             \
	"%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "                             \
	"%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "                             \
	"%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "                             \
	"%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "                 \
	"%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define EIGHT(i)                                                                                                       \
	"+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]),    \
	    "+f"(c[i + 7])
#define ALL_OF_THEM                                                                                                    \
	EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56), EIGHT(64), EIGHT(72),    \
	    EIGHT(80), EIGHT(88), EIGHT(96), EIGHT(104), EIGHT(112), EIGHT(120)
/* c += a b; `layout`: whether the operands are transposed, which only 16-bit types have. */
#define MULTIPLY(types, layout)                                                                                        \
	asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned." types " {" NAMES             \
	             "}, %128, %129, p, 1, 1" layout "; }"                                                             \
	             : ALL_OF_THEM                                                                                     \
	             : "l"(a), "l"(b))

template <enum kind K>
__device__ static inline void
multiply(float (&c)[ACCUMULATORS], uint64_t a, uint64_t b)
{
	if constexpr (K == BF16)
		MULTIPLY("m64n256k16.f32.bf16.bf16", ", 0, 0");
	else
		MULTIPLY("m64n256k32.f32.e4m3.e4m3", "");
}

#endif

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
			multiply<K>(c, tile_a, tile_b);
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
	const unsigned n_blocks = static_cast<unsigned>(b->cuda->n_sms);
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
