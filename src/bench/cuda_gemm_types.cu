/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM dtypes: fill operands, and compare sampled results with a reference. */
#include "cuda_gemm.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* The toolkit names the type. */
#define HAS_FP8 (CUDART_VERSION >= 11080)
#define HAS_FP4 (CUDART_VERSION >= 12080)
#define HAS_FP8_BLOCKS (CUDART_VERSION >= 12090)

enum { ALL = 10000 };

/* bf16 first: it is what most is fitted from.  Tolerances: the rounding of the result, of the partial results that a
 * kernel which splits the depth may round to the same type, and of products in tf32; for fp8, three times what Hopper's
 * short sums were seen to lose (plan_gemm_tolerance). */
const struct gemm_type gemm_types[] = {
    {"bf16", CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2, 2, 1e-2, 80, ALL, SCALES_NONE},
    {"fp16", CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2, 2, 2e-3, 70, ALL, SCALES_NONE},
#if HAS_FP8
    {"fp8-static", CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1, 2, 6e-2, 89, ALL, SCALES_ONE},
#endif
#if HAS_FP8_BLOCKS
    {"fp8-block-static", CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1, 2, 3e-2, 90, 90, SCALES_128},
#endif
#if HAS_FP4
    {"nvfp4-static", CUDA_R_4F_E2M1, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0.5, 2, 1e-2, 100, ALL, SCALES_16},
#endif
    {"int8-static", CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 1, 4, 0, 75, ALL, SCALES_NONE},
    {"tf32", CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 4, 4, 2e-3, 80, ALL, SCALES_NONE},
    {"fp64", CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 8, 8, 1e-12, 60, ALL, SCALES_NONE},
};

const int n_gemm_types = sizeof gemm_types / sizeof *gemm_types;

namespace {

/* --- operands -------------------------------------------------------------------------------------------- */

enum code { CODE_FP64, CODE_FP32, CODE_FP16, CODE_BF16, CODE_INT8, CODE_INT32, CODE_FP8, CODE_FP4, CODE_NONE };

static enum code
code_of(cudaDataType_t type)
{
	switch (static_cast<int>(type)) {
	case CUDA_R_64F:
		return CODE_FP64;
	case CUDA_R_32F:
		return CODE_FP32;
	case CUDA_R_16F:
		return CODE_FP16;
	case CUDA_R_16BF:
		return CODE_BF16;
	case CUDA_R_8I:
		return CODE_INT8;
	case CUDA_R_32I:
		return CODE_INT32;
#if HAS_FP8
	case CUDA_R_8F_E4M3:
		return CODE_FP8;
#endif
#if HAS_FP4
	case CUDA_R_4F_E2M1:
		return CODE_FP4;
#endif
	default:
		return CODE_NONE;
	}
}

/* e2m1: sign, two bits of exponent, one of mantissa. */
__device__ static double
value_fp4(unsigned nibble)
{
	const double magnitudes[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

	return nibble & 8 ? -magnitudes[nibble & 7] : magnitudes[nibble & 7];
}

/* e4m3: bias 7, subnormals, no infinities. */
__device__ static double
value_fp8(unsigned byte)
{
	const int exponent = static_cast<int>(byte >> 3 & 15);
	const double mantissa = static_cast<double>(byte & 7) / 8;
	const double magnitude = exponent ? ldexp(1 + mantissa, exponent - 7) : ldexp(mantissa, -6);

	return byte & 0x80 ? -magnitude : magnitude;
}

__device__ static double
value(enum code code, const void *array, size_t i)
{
	switch (code) {
	case CODE_FP64:
		return static_cast<const double *>(array)[i];
	case CODE_FP32:
		return static_cast<double>(static_cast<const float *>(array)[i]);
	case CODE_FP16:
		return static_cast<double>(__half2float(static_cast<const __half *>(array)[i]));
	case CODE_BF16:
		return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16 *>(array)[i]));
	case CODE_INT8:
		return static_cast<double>(static_cast<const int8_t *>(array)[i]);
	case CODE_INT32:
		return static_cast<double>(static_cast<const int32_t *>(array)[i]);
	case CODE_FP8:
		return value_fp8(static_cast<const uint8_t *>(array)[i]);
	case CODE_FP4:
		return value_fp4(static_cast<const uint8_t *>(array)[i / 2] >> (i % 2 ? 4 : 0) & 15u);
	case CODE_NONE:
		break;
	}
	return 0;
}

/* A byte of random e4m3: values in (-2, 2), no NaN. */
__device__ static uint8_t
random_fp8(float x, float y)
{
	const unsigned magnitude = static_cast<unsigned>((y + 1) * 32) & 63u;

	return static_cast<uint8_t>((x < 0 ? 0x80u : 0u) | magnitude);
}

/* `n` elements; of fp4, n bytes. */
__global__ void
fill(enum code code, void *array, size_t n, uint32_t seed)
{
	const size_t stride = gridDim.x * static_cast<size_t>(blockDim.x);

	for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += stride) {
		const float x = hashed(seed, i);
		if (code == CODE_FP64)
			static_cast<double *>(array)[i] = static_cast<double>(x);
		else if (code == CODE_FP32)
			static_cast<float *>(array)[i] = x;
		else if (code == CODE_FP16)
			static_cast<__half *>(array)[i] = __float2half_rn(x);
		else if (code == CODE_BF16)
			static_cast<__nv_bfloat16 *>(array)[i] = __float2bfloat16_rn(x);
		else if (code == CODE_INT8)
			static_cast<int8_t *>(array)[i] = static_cast<int8_t>(x * 127);
		else if (code == CODE_FP8)
			static_cast<uint8_t *>(array)[i] = random_fp8(x, hashed(seed + 101, i));
		else if (code == CODE_FP4)
			static_cast<uint8_t *>(array)[i] = static_cast<uint8_t>((x + 1) * 128);
	}
}

} /* namespace */

cudaError_t
gemm_fill(const struct cuda_gpu *gpu, const struct gemm_type *type, void *array, size_t n, uint32_t seed)
{
	const enum code code = code_of(type->in);

	fill<<<static_cast<unsigned>(8 * gpu->n_sms), 256>>>(code, array, code == CODE_FP4 ? n / 2 : n, seed);
	return cudaGetLastError();
}

namespace {

/* --- the reference --------------------------------------------------------------------------------------- */

enum { SAMPLES = 64, THREADS = 128 };

struct shape {
	int m, n, k;
	uint32_t seed;
};

/* One block sums one element: out[0] the squared differences, out[1] the squared sums. */
__global__ void
sample(struct shape s, enum code in, enum code result, const void *x, const void *w, const void *y, double *out)
{
	__shared__ double parts[THREADS];
	const size_t n_elements = static_cast<size_t>(s.m) * static_cast<size_t>(s.n);
	const size_t at = static_cast<size_t>(
	    (static_cast<double>(hashed(s.seed, blockIdx.x)) + 1) / 2 * static_cast<double>(n_elements));
	const size_t depth = static_cast<size_t>(s.k);
	const size_t row = at / static_cast<size_t>(s.n), column = at % static_cast<size_t>(s.n);
	double sum = 0;

	for (size_t i = threadIdx.x; i < depth; i += THREADS)
		sum += value(in, x, row * depth + i) * value(in, w, column * depth + i);
	parts[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	for (int t = 1; t < THREADS; t++)
		sum += parts[t];
	const double difference = value(result, y, at) - sum;
	out[2 * blockIdx.x] = difference * difference;
	out[2 * blockIdx.x + 1] = sum * sum;
}

__global__ void
count_unwritten(enum code result, const void *y, size_t n, unsigned *count)
{
	const size_t stride = gridDim.x * static_cast<size_t>(blockDim.x);

	for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += stride)
		if (isnan(value(result, y, i)))
			atomicAdd(count, 1u);
}

} /* namespace */

enum bench_status
gemm_wrong_by(const struct cuda_gpu *gpu, const struct gemm_type *type, const void *x, const void *w, const void *y,
    int m, int n, int k, uint32_t seed, double *error)
{
	const enum code in = code_of(type->in), result = code_of(type->out);
	const struct shape s = {m, n, k, seed};
	device_array<double> out;
	device_array<unsigned> unwritten;
	double sums[2 * SAMPLES], difference = 0, norm = 0;
	unsigned n_unwritten;

	TRY(out.make(2 * SAMPLES));
	TRY(unwritten.make(1));
	TRY(cudaMemset(unwritten.at, 0, sizeof n_unwritten));
	sample<<<SAMPLES, THREADS>>>(s, in, result, x, w, y, out.at);
	TRY_LAUNCH();
	count_unwritten<<<static_cast<unsigned>(8 * gpu->n_sms), 256>>>(
	    result, y, static_cast<size_t>(m) * static_cast<size_t>(n), unwritten.at);
	TRY_LAUNCH();
	TRY(cudaMemcpy(sums, out.at, sizeof sums, cudaMemcpyDeviceToHost));
	TRY(cudaMemcpy(&n_unwritten, unwritten.at, sizeof n_unwritten, cudaMemcpyDeviceToHost));
	for (int i = 0; i < SAMPLES; i++) {
		difference += sums[2 * i];
		norm += sums[2 * i + 1];
	}
	*error = n_unwritten ? NAN : sqrt(difference / norm);
	return BENCH_OK;
}
