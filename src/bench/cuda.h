/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the GPU benchmarks: checked calls, device memory, event timing, clock and power. */
#ifndef BENCH_CUDA_H
#define BENCH_CUDA_H

#include "bench.h"
#include "plan.h"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <vector>

/* True, or the call is named with its error on standard error. */
bool cuda_ok(cudaError_t error, const char *call, const char *file, int line);

#define CUDA_OK(call) cuda_ok((call), #call, __FILE__, __LINE__)
#define TRY(call)                                                                                                      \
	do {                                                                                                           \
		if (!CUDA_OK(call))                                                                                    \
			return BENCH_FAILED;                                                                           \
	} while (0)
/* After `kernel<<<...>>>(...)`. */
#define TRY_LAUNCH() TRY(cudaGetLastError())
#define TRY_STATUS(expression)                                                                                         \
	do {                                                                                                           \
		const enum bench_status try_status = (expression);                                                     \
		if (try_status != BENCH_OK)                                                                            \
			return try_status;                                                                             \
	} while (0)

/* How many GPUs can be used; 0: there is none; negative: none can be used; and why. */
int cuda_count(char *why, size_t size);
/* Those of a subject of several GPUs: --gpus, or all.  Failed: one is busy or divided, which is said. */
enum bench_status cuda_chosen(struct bench *b, std::vector<int> *gpus);

/* The GPU that is measured: bench::cuda. */
struct cuda_gpu {
	int n_sms, capability; /* 90 for 9.0 */
	double l2_byte;
	cudaEvent_t start, stop;
	cudaStream_t stream; /* that is timed; NULL: the default one */
	double read_s;       /* when the instruments were read, which takes milliseconds */
	double looked_s;     /* when that was considered last */
	uint64_t throttling; /* as it was then */
};

size_t cuda_free_byte(void);
/* Reads the clock and the power into the rows to come, at most ten times a second: while work is running. */
void cuda_watch(struct bench *b);
void cuda_watch_begin(struct bench *b);

/*
 * A point that is measured, as long as this lives: what stands on a terminal, and a range of NVTX on the timeline of a
 * profiler.
 */
struct cuda_point {
	cuda_point(const struct bench *b, const char *format, ...) __attribute__((format(printf, 3, 4)));
	~cuda_point();
	cuda_point(const cuda_point &) = delete;
	cuda_point &operator=(const cuda_point &) = delete;
};

/* --- memory ---------------------------------------------------------------------------------------------- */

template <class T> struct device_array {
	T *at = nullptr;
	size_t n = 0;

	device_array() = default;
	device_array(const device_array &) = delete;
	device_array &operator=(const device_array &) = delete;
	~device_array()
	{
		clear();
	}
	void clear()
	{
		if (at)
			(void)cudaFree(at);
		at = nullptr;
		n = 0;
	}
	cudaError_t make(size_t count)
	{
		clear();
		const cudaError_t error = cudaMalloc(reinterpret_cast<void **>(&at), count * sizeof(T));
		n = error == cudaSuccess ? count : 0;
		return error;
	}
};

/* Memory of the host that the GPU reaches by itself. */
struct pinned_memory {
	unsigned char *at = nullptr;

	pinned_memory() = default;
	pinned_memory(const pinned_memory &) = delete;
	pinned_memory &operator=(const pinned_memory &) = delete;
	~pinned_memory()
	{
		if (at)
			(void)cudaFreeHost(at);
	}
	cudaError_t make(size_t n_byte)
	{
		return cudaMallocHost(reinterpret_cast<void **>(&at), n_byte);
	}
};

/* --- streams and graphs ---------------------------------------------------------------------------------- */

struct cuda_stream {
	cudaStream_t is = nullptr;

	cuda_stream() = default;
	cuda_stream(const cuda_stream &) = delete;
	cuda_stream &operator=(const cuda_stream &) = delete;
	cuda_stream(cuda_stream &&other) noexcept : is(other.is)
	{
		other.is = nullptr;
	}
	~cuda_stream()
	{
		if (is)
			(void)cudaStreamDestroy(is);
	}
	/* By default, what is done in the default stream is ordered with it. */
	cudaError_t make(unsigned flags = cudaStreamDefault)
	{
		return cudaStreamCreateWithFlags(&is, flags);
	}
};

/* A stream that is the timed one as long as it lives. */
struct measured_stream {
	cuda_stream own;
	struct cuda_gpu *gpu;

	explicit measured_stream(struct cuda_gpu *of) : gpu(of)
	{
	}
	measured_stream(const measured_stream &) = delete;
	measured_stream &operator=(const measured_stream &) = delete;
	~measured_stream()
	{
		gpu->stream = nullptr;
	}
	cudaError_t make()
	{
		const cudaError_t error = own.make();

		gpu->stream = own.is;
		return error;
	}
};

struct cuda_graph {
	cudaGraphExec_t is = nullptr;

	cuda_graph() = default;
	cuda_graph(const cuda_graph &) = delete;
	cuda_graph &operator=(const cuda_graph &) = delete;
	~cuda_graph()
	{
		clear();
	}
	void clear()
	{
		if (is)
			(void)cudaGraphExecDestroy(is);
		is = nullptr;
	}
	/* Capture what `work`, a bool, puts into the stream.  Nothing stays open if it fails: then there is no graph.
	 */
	template <class Work> cudaError_t record(cudaStream_t stream, const Work &work)
	{
		cudaGraph_t recorded = nullptr;

		clear();
		cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
		if (error != cudaSuccess)
			return error;
		const bool done = work();
		error = cudaStreamEndCapture(stream, &recorded);
		if (done && error == cudaSuccess)
			error = cudaGraphInstantiateWithFlags(&is, recorded, 0);
		if (recorded)
			(void)cudaGraphDestroy(recorded);
		if (!done)
			(void)cudaGetLastError(); /* a capture that failed leaves its error behind */
		return done ? error : cudaSuccess;
	}
};

/* --- time ------------------------------------------------------------------------------------------------ */

template <class Launch> struct cuda_launches {
	struct bench *b;
	const Launch &launch; /* launch(n) starts n repetitions in the timed stream */
};

/* Seconds between two events around n repetitions. */
template <class Launch>
double
cuda_timed(void *context, long n)
{
	const auto *l = static_cast<const cuda_launches<Launch> *>(context);
	const struct cuda_gpu *gpu = l->b->cuda;
	float ms = -1;

	if (!CUDA_OK(cudaEventRecord(gpu->start, gpu->stream)) || !CUDA_OK(l->launch(n)) ||
	    !CUDA_OK(cudaEventRecord(gpu->stop, gpu->stream)))
		return -1;
	cuda_watch(l->b);
	if (!CUDA_OK(cudaEventSynchronize(gpu->stop)) || !CUDA_OK(cudaEventElapsedTime(&ms, gpu->start, gpu->stop)))
		return -1;
	return 1e-3 * static_cast<double>(ms);
}

template <class Launch>
enum bench_status
cuda_take(struct bench *b, const Launch &launch, double budget_s, struct bench_sample *out)
{
	cuda_launches<Launch> launches = {b, launch};

	cuda_watch_begin(b);
	return bench_take(cuda_timed<Launch>, &launches, budget_s, BENCH_GPU_SAMPLE_S, out);
}

/* --- subjects -------------------------------------------------------------------------------------------- */

enum bench_status cuda_memory(struct bench *b);
enum bench_status cuda_latency(struct bench *b);
enum bench_status cuda_transfer(struct bench *b);
enum bench_status cuda_fma(struct bench *b);
enum bench_status cuda_tensor(struct bench *b);
enum bench_status cuda_gemm(struct bench *b);
enum bench_status cuda_launch(struct bench *b);
enum bench_status cuda_p2p(struct bench *b);

/* --- numbers on the device ------------------------------------------------------------------------------- */

/* Uniform in [-1, 1), by the finaliser of MurmurHash3 (Austin Appleby, public domain). */
__host__ __device__ inline float
hashed(uint32_t seed, size_t index)
{
	uint32_t h =
	    static_cast<uint32_t>(index) ^ static_cast<uint32_t>(index >> 32) * 0x9e3779b9u ^ seed * 0x85ebca6bu;

	h ^= h >> 16;
	h *= 0x85ebca6bu;
	h ^= h >> 13;
	h *= 0xc2b2ae35u;
	h ^= h >> 16;
	return static_cast<float>(static_cast<int32_t>(h >> 8) - (1 << 23)) / static_cast<float>(1 << 23);
}

#endif
