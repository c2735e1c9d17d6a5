/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multiply-add without memory: independent chains x = a x + b in registers, as many as hide the latency of an
 * operation. The host follows some chains step by step, rounding as the device does: the results are the same to the
 * last bit.
 */
#include "cuda.h"

#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

namespace {

enum { CHAINS = 8, STEPS = 256, THREADS = 256, BLOCKS_PER_SM = 4 };

/* What a type is made of: values of one register group, and the host's multiply-add with one rounding. */
template <class T> struct lane;

template <> struct lane<double> {
	static const int width = 1;
	static __host__ __device__ double from(float x)
	{
		return static_cast<double>(x);
	}
	static __device__ double step(double x, double a, double b)
	{
		return fma(x, a, b);
	}
	static double follow(double x, double a, double b)
	{
		return std::fma(x, a, b);
	}
	static double value(double x)
	{
		return x;
	}
};

template <> struct lane<float> {
	static const int width = 1;
	static __host__ __device__ float from(float x)
	{
		return x;
	}
	static __device__ float step(float x, float a, float b)
	{
		return fmaf(x, a, b);
	}
	static double follow(double x, double a, double b)
	{
		return static_cast<double>(
		    std::fma(static_cast<float>(x), static_cast<float>(a), static_cast<float>(b)));
	}
	static double value(float x)
	{
		return static_cast<double>(x);
	}
};

template <> struct lane<__half2> {
	static const int width = 2;
	static __host__ __device__ __half2 from(float x)
	{
		return __float2half2_rn(x);
	}
	static __device__ __half2 step(__half2 x, __half2 a, __half2 b)
	{
		return __hfma2(x, a, b);
	}
	/* a product of two halves and a sum are exact in double: one rounding */
	static double follow(double x, double a, double b)
	{
		return static_cast<double>(__half2float(__double2half(x * a + b)));
	}
	static double value(__half2 x)
	{
		return static_cast<double>(__low2float(x));
	}
};

template <> struct lane<__nv_bfloat162> {
	static const int width = 2;
	static __host__ __device__ __nv_bfloat162 from(float x)
	{
		return __float2bfloat162_rn(x);
	}
	/* since compute capability 8.0; the host does not ask older ones */
	static __device__ __nv_bfloat162 step(__nv_bfloat162 x, __nv_bfloat162 a, __nv_bfloat162 b)
	{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
		return __hfma2(x, a, b);
#else
		(void)a;
		(void)b;
		return x;
#endif
	}
	static double follow(double x, double a, double b)
	{
		return static_cast<double>(__bfloat162float(__double2bfloat16(x * a + b)));
	}
	static double value(__nv_bfloat162 x)
	{
		return static_cast<double>(__low2float(x));
	}
};

/* Starting points that every type holds exactly. */
__host__ __device__ static inline float
start(unsigned thread, int chain)
{
	return 1.0f + static_cast<float>(thread % 4) / 8 + static_cast<float>(chain) / 16;
}

/* x = -x + 1/4 goes to and fro and stays exact; with a = -3/4 it converges, rounding on its way. */
template <class T>
__global__ void
__launch_bounds__(THREADS) chains(long n, float a_float, float b_float, T *out)
{
	const T a = lane<T>::from(a_float), b = lane<T>::from(b_float);
	T x[CHAINS];

#pragma unroll
	for (int c = 0; c < CHAINS; c++)
		x[c] = lane<T>::from(start(threadIdx.x, c));
	for (long i = 0; i < n; i++)
#pragma unroll 32
		for (int s = 0; s < STEPS; s++)
#pragma unroll
			for (int c = 0; c < CHAINS; c++)
				x[c] = lane<T>::step(x[c], a, b);
	const size_t at = (blockIdx.x * static_cast<size_t>(THREADS) + threadIdx.x) * CHAINS;
#pragma unroll
	for (int c = 0; c < CHAINS; c++)
		out[at + static_cast<size_t>(c)] = x[c];
}

/* Values whose last bits matter, over 2 x 256 steps. */
static const float check_a = -0.9921875f, check_b = 0.3046875f;
static const float timed_a = -1, timed_b = 0.25f;

/* Chains of the first block that are not what the host makes of them. */
template <class T>
static enum bench_status
wrong_by(const device_array<T> &out, unsigned n_blocks, double *wrong)
{
	std::vector<T> got(out.n);

	TRY(cudaMemset(out.at, 0xff, out.n * sizeof(T)));
	chains<T><<<n_blocks, THREADS>>>(2, check_a, check_b, out.at);
	TRY_LAUNCH();
	TRY(cudaMemcpy(got.data(), out.at, out.n * sizeof(T), cudaMemcpyDeviceToHost));
	*wrong = 0;
	for (unsigned t = 0; t < 4; t++)
		for (int c = 0; c < CHAINS; c++) {
			double x = static_cast<double>(start(t, c));
			for (int s = 0; s < 2 * STEPS; s++)
				x = lane<T>::follow(x, static_cast<double>(check_a), static_cast<double>(check_b));
			*wrong += lane<T>::value(got[t * CHAINS + static_cast<unsigned>(c)]) == x ? 0 : 1;
		}
	/* all blocks did the same work */
	for (size_t i = 0; i < got.size(); i++)
		*wrong += memcmp(&got[i], &got[i % (4 * CHAINS)], sizeof(T)) == 0 ? 0 : 1;
	return BENCH_OK;
}

template <class T>
static enum bench_status
measure(struct bench *b, const char *dtype, double n_points_left)
{
	const unsigned n_blocks = static_cast<unsigned>(BLOCKS_PER_SM * b->cuda->n_sms);
	struct bench_row row = bench_row_new("fma", nullptr, dtype);
	device_array<T> out;
	double wrong;

	const cuda_point point(b, "%s", dtype);
	TRY(out.make(n_blocks * static_cast<size_t>(THREADS) * CHAINS));
	TRY_STATUS(wrong_by(out, n_blocks, &wrong));
	if (!bench_right(b, wrong, 0, "fma: %s", dtype))
		return BENCH_OK;
	row.flop = 2.0 * STEPS * CHAINS * lane<T>::width * THREADS * n_blocks;
	const auto launch = [&](long n) {
		chains<T><<<n_blocks, THREADS>>>(n, timed_a, timed_b, out.at);
		return cudaGetLastError();
	};
	TRY_STATUS(cuda_take(b, launch, bench_share(b, n_points_left), &row.time));
	bench_print(b, &row);
	return BENCH_OK;
}

} /* namespace */

enum bench_status
cuda_fma(struct bench *b)
{
	TRY_STATUS(measure<double>(b, "fp64", 4));
	TRY_STATUS(measure<float>(b, "fp32", 3));
	TRY_STATUS(measure<__half2>(b, "fp16", 2));
	if (b->cuda->capability >= 80)
		TRY_STATUS(measure<__nv_bfloat162>(b, "bf16", 1));
	return BENCH_OK;
}
