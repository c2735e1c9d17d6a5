/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix instructions without memory traffic.  `mma.sync` on registers is what every GPU since Turing has (PTX ISA,
 * "Warp-level matrix instructions"); Hopper's full rate needs `wgmma` (cuda_wgmma.cu).  Operands are random when it is
 * timed, because power and so the clock depend on them, and ones when it is checked: then each element of the result
 * is the number of products that went into it, wherever it lies.
 */
#include "cuda_tensor.h"

namespace {

enum { THREADS = 256, BLOCKS_PER_SM = 2, TILES = 4 };

struct shape {
	const char *dtype;
	int m, n, k;
	uint32_t ones; /* a register full of them; fp64 takes numbers */
	int least;     /* compute capability */
};

enum kind { FP16, BF16, TF32, INT8, FP8, FP64, FP64_HOPPER, FP16_TURING, INT8_TURING, N_KINDS };

static const struct shape shapes[N_KINDS] = {
    {"fp16", 16, 8, 16, 0x3c003c00u, 80},
    {"bf16", 16, 8, 16, 0x3f803f80u, 80},
    {"tf32", 16, 8, 8, 0x3f800000u, 80},
    {"int8", 16, 8, 32, 0x01010101u, 80},
    {"fp8", 16, 8, 32, 0x38383838u, 89}, /* e4m3 */
    {"fp64", 8, 8, 4, 0, 80},
    {"fp64", 16, 8, 8, 0, 90},
    {"fp16", 16, 8, 8, 0x3c003c00u, 75},
    {"int8", 8, 8, 16, 0x01010101u, 75},
};

#if defined(__CUDA_ARCH__)
#define ARCH __CUDA_ARCH__
#else
#define ARCH 0
#endif

#define MMA4(instruction, C)                                                                                           \
	asm volatile(instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                    \
	             : C(c[0]), C(c[1]), C(c[2]), C(c[3])                                                              \
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

/* One instruction: c += a b.  Where the target has it not, nothing: the host does not ask for it. */
template <enum kind K>
__device__ static inline void
multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#if ARCH >= 890
	if constexpr (K == FP8)
		MMA4("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "+f");
#endif
#if ARCH >= 800
	if constexpr (K == FP16)
		MMA4("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "+f");
	if constexpr (K == BF16)
		MMA4("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "+f");
	if constexpr (K == TF32)
		MMA4("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "+f");
#endif
#if ARCH >= 750
	if constexpr (K == FP16_TURING)
		asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, "
		             "%1, %2, %3};"
		             : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
		             : "r"(a[0]), "r"(a[1]), "r"(b[0]));
#endif
	(void)c;
	(void)a;
	(void)b;
}

template <enum kind K>
__device__ static inline void
multiply(int (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#if ARCH >= 800
	if constexpr (K == INT8)
		MMA4("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "+r");
#endif
#if ARCH >= 750
	if constexpr (K == INT8_TURING)
		asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
		             : "+r"(c[0]), "+r"(c[1])
		             : "r"(a[0]), "r"(b[0]));
#endif
	(void)c;
	(void)a;
	(void)b;
}

template <enum kind K>
__device__ static inline void
multiply(double (&c)[4], const double (&a)[4], const double (&b)[2])
{
#if ARCH >= 800
	if constexpr (K == FP64)
		asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
		             : "+d"(c[0]), "+d"(c[1])
		             : "d"(a[0]), "d"(b[0]));
#endif
#if ARCH >= 900
	if constexpr (K == FP64_HOPPER)
		asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
		             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		             : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
		             : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#endif
	(void)c;
	(void)a;
	(void)b;
}

/* Random bits that are no infinities and no NaN in any of the types: of small exponents. */
template <class T, enum kind K>
__device__ static inline T
operand(bool random, uint32_t ones, unsigned index)
{
	const float x = hashed(7, index), y = hashed(8, index);

	if constexpr (sizeof(T) == sizeof(double)) {
		return random ? static_cast<T>(x) : static_cast<T>(1);
	} else {
		if (!random)
			return ones;
		if constexpr (K == FP16 || K == FP16_TURING)
			return tensor_pair_fp16(x, y);
		if constexpr (K == BF16)
			return tensor_pair_bf16(x, y);
		if constexpr (K == TF32)
			return __float_as_uint(x);
		/* bytes: e4m3 below 1 with either sign; any int8 is right */
		return (__float_as_uint(x) * 2654435761u ^ __float_as_uint(y) << 7) &
		    (K == FP8 ? 0xb7b7b7b7u : 0xffffffffu);
	}
}

template <enum kind K, class C, class T>
__global__ void
__launch_bounds__(THREADS) products(long n, bool random, uint32_t ones, C *out)
{
	const unsigned thread = blockIdx.x * THREADS + threadIdx.x;
	T a[TILES][4], b[2];
	C c[TILES][4];

#pragma unroll
	for (int t = 0; t < TILES; t++)
#pragma unroll
		for (int i = 0; i < 4; i++) {
			a[t][i] = operand<T, K>(random, ones, thread * 32 + static_cast<unsigned>(4 * t + i));
			c[t][i] = 0;
		}
	b[0] = operand<T, K>(random, ones, thread * 32 + 30);
	b[1] = operand<T, K>(random, ones, thread * 32 + 31);
	for (long s = 0; s < n; s++)
#pragma unroll
		for (int u = 0; u < TENSOR_STEPS; u++)
#pragma unroll
			for (int t = 0; t < TILES; t++)
				multiply<K>(c[t], a[t], b);
#pragma unroll
	for (int t = 0; t < TILES; t++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			out[(static_cast<size_t>(thread) * TILES + static_cast<size_t>(t)) * 4 +
			    static_cast<size_t>(i)] = c[t][i];
}

/* Every thread's share of every tile is the depth times the number of instructions. */
template <enum kind K, class C, class T>
static enum bench_status
measure(struct bench *b, double n_points_left)
{
	const struct shape *shape = &shapes[K];
	const unsigned n_blocks = static_cast<unsigned>(BLOCKS_PER_SM * b->cuda->n_sms);
	const size_t n_threads = n_blocks * static_cast<size_t>(THREADS);
	const int held = shape->m * shape->n / 32; /* elements of a tile in one thread */
	device_array<C> out;
	cudaFuncAttributes attributes;

	/* code that the driver translated for this GPU is of an older target */
	TRY(cudaFuncGetAttributes(&attributes, products<K, C, T>));
	if (attributes.ptxVersion < shape->least) {
		bench_say(b, "mma %s: left out: this was built for an older target", shape->dtype);
		return BENCH_OK;
	}
	TRY(out.make(n_threads * TILES * 4));
	const auto run = [&](long n, bool random) {
		products<K, C, T><<<n_blocks, THREADS>>>(n, random, shape->ones, out.at);
		return cudaGetLastError();
	};
	const double flop =
	    2.0 * shape->m * shape->n * shape->k * TILES * TENSOR_STEPS * static_cast<double>(n_threads) / 32;
	return tensor_measure(b, "mma", shape->dtype, flop, static_cast<double>(shape->k) * TENSOR_STEPS, 4, held, out,
	    run, n_points_left);
}

} /* namespace */

enum bench_status
cuda_tensor(struct bench *b)
{
	const int capability = b->cuda->capability;

	if (capability < 75) {
		bench_say(b, "left out: mma.sync for this GPU has other shapes; gemm reaches its matrix units");
		return BENCH_OK;
	}
	if (capability < 80) {
		TRY_STATUS((measure<FP16_TURING, float, uint32_t>(b, 2)));
		return measure<INT8_TURING, int, uint32_t>(b, 1);
	}
	TRY_STATUS((measure<FP16, float, uint32_t>(b, 9)));
	TRY_STATUS((measure<BF16, float, uint32_t>(b, 8)));
	TRY_STATUS((measure<TF32, float, uint32_t>(b, 7)));
	TRY_STATUS((measure<INT8, int, uint32_t>(b, 6)));
	if (plan_has_mma(capability, "fp64") && capability >= shapes[FP64_HOPPER].least)
		TRY_STATUS((measure<FP64_HOPPER, double, double>(b, 5)));
	else if (plan_has_mma(capability, "fp64"))
		TRY_STATUS((measure<FP64, double, double>(b, 5)));
	if (plan_has_mma(capability, "fp8"))
		TRY_STATUS((measure<FP8, float, uint32_t>(b, 4)));
	return capability == 90 ? cuda_wgmma(b) : BENCH_OK;
}
