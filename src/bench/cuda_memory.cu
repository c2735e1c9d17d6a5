/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bandwidth over footprints, all multiprocessors at once.  Loads go past the first-level cache (`ld.cg`), so that the
 * plateaus are those of L2 and of device memory; L1 and shared memory are read by kernels of their own.  A footprint
 * that L2 may hold is passed over many times inside one kernel, so that starting it is not measured.
 */
#include "cuda.h"

#include <cstring>
#include <vector>

namespace {

enum { THREADS = 256, BLOCKS_PER_SM = 4, UNROLL = 4 };

struct arrays {
	float4 *a;
	const float4 *b, *c;
	size_t n; /* of float4 in one array */
	uint32_t *sums;
};

/* Volatile: every pass loads again.  SURE: there is something at the address; else `wanted` tells, and zeros come back.
 */
template <bool SURE>
__device__ static inline float4
load(const float4 *from, bool wanted)
{
	float4 v = make_float4(0, 0, 0, 0);

	if (SURE)
		asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
		             : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
		             : "l"(from)
		             : "memory");
	else
		asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4]; }"
		             : "+f"(v.x), "+f"(v.y), "+f"(v.z), "+f"(v.w)
		             : "l"(from), "r"(static_cast<unsigned>(wanted))
		             : "memory");
	return v;
}

__device__ static inline uint32_t
bits(float4 v)
{
	return __float_as_uint(v.x) + __float_as_uint(v.y) + __float_as_uint(v.z) + __float_as_uint(v.w);
}

#define FACTOR 3.0f

enum operation { READ, WRITE, COPY, SCALE, TRIAD };

template <enum operation OP>
__device__ static inline float4
result(float4 b, float4 c)
{
	if constexpr (OP == SCALE)
		return make_float4(FACTOR * b.x, FACTOR * b.y, FACTOR * b.z, FACTOR * b.w);
	if constexpr (OP == TRIAD)
		return make_float4(b.x + FACTOR * c.x, b.y + FACTOR * c.y, b.z + FACTOR * c.z, b.w + FACTOR * c.w);
	return b;
}

/*
 * Several loads are under way before the first is used.  SURE: all elements are inside the arrays; else those that are,
 * so that arrays which give each thread less than that have as many loads under way as they can.
 */
template <enum operation OP, bool SURE>
__device__ static inline void
four(const struct arrays &x, size_t i, size_t stride, uint32_t *sum)
{
	float4 v[UNROLL], w[UNROLL];

#pragma unroll
	for (size_t u = 0; u < UNROLL; u++) {
		const size_t at = i + u * stride;
		v[u] = w[u] = make_float4(FACTOR, FACTOR, FACTOR, FACTOR);
		if constexpr (OP != WRITE)
			v[u] = load<SURE>((OP == READ ? x.a : x.b) + at, SURE || at < x.n);
		if constexpr (OP == TRIAD)
			w[u] = load<SURE>(x.c + at, SURE || at < x.n);
	}
#pragma unroll
	for (size_t u = 0; u < UNROLL; u++) {
		if constexpr (OP == READ)
			*sum += bits(v[u]);
		else if (SURE || i + u * stride < x.n)
			x.a[i + u * stride] = result<OP>(v[u], w[u]);
	}
}

template <enum operation OP>
__global__ void
__launch_bounds__(THREADS, BLOCKS_PER_SM) pass(struct arrays x, long n_passes)
{
	const size_t thread = blockIdx.x * static_cast<size_t>(THREADS) + threadIdx.x;
	const size_t stride = gridDim.x * static_cast<size_t>(THREADS);
	uint32_t sum = 0;

	for (long p = 0; p < n_passes; p++) {
		size_t i = thread;
		for (; i + (UNROLL - 1) * stride < x.n; i += UNROLL * stride)
			four<OP, true>(x, i, stride, &sum);
		if (i < x.n)
			four<OP, false>(x, i, stride, &sum);
		asm volatile("" ::: "memory");
	}
	x.sums[thread] = sum;
}

/*
 * One vector a thread and one pass a launch, as kernels of frameworks do it.  Where memory is both read and written
 * this is 5 to 8 % faster than threads that stay (H100 and H200, 1 GiB and more); reading alone is faster with those.
 */
template <enum operation OP>
__global__ void
__launch_bounds__(THREADS) sweep(struct arrays x)
{
	const size_t i = blockIdx.x * static_cast<size_t>(THREADS) + threadIdx.x;
	float4 v = make_float4(FACTOR, FACTOR, FACTOR, FACTOR), w = v;

	if (i >= x.n)
		return;
	if constexpr (OP != WRITE)
		v = load<true>(x.b + i, true);
	if constexpr (OP == TRIAD)
		w = load<true>(x.c + i, true);
	x.a[i] = result<OP>(v, w);
}

/* --- what results have to be ----------------------------------------------------------------------------- */

/* Small whole numbers: every result is exact. */
__host__ __device__ static inline float
value_b(size_t i)
{
	return static_cast<float>(i % 61) + 1;
}

__host__ __device__ static inline float
value_c(size_t i)
{
	return static_cast<float>(i % 53) - 20;
}

__global__ void
fill(float *a, float *b, float *c, size_t n)
{
	const size_t stride = gridDim.x * static_cast<size_t>(blockDim.x);

	for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += stride) {
		a[i] = value_b(i);
		b[i] = value_b(i);
		c[i] = value_c(i);
	}
}

/* out[0]: elements that are wrong; out[1]: the sum of the bits of every `step`th that was filled in. */
__global__ void
check(const float *a, size_t n, size_t step, enum operation op, unsigned long long *out)
{
	const size_t stride = gridDim.x * static_cast<size_t>(blockDim.x);
	unsigned long long wrong = 0, sum = 0;

	for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += stride) {
		const float right = op == WRITE ? FACTOR
		    : op == SCALE               ? FACTOR * value_b(i)
		    : op == TRIAD               ? value_b(i) + FACTOR * value_c(i)
		                                : value_b(i);
		wrong += a[i] == right ? 0 : 1;
		sum += i % step == 0 ? __float_as_uint(right) : 0;
	}
	atomicAdd(&out[0], wrong);
	atomicAdd(&out[1], sum);
}

__global__ void
add_up(const uint32_t *sums, size_t n, unsigned long long *out)
{
	const size_t stride = gridDim.x * static_cast<size_t>(blockDim.x);

	for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += stride)
		atomicAdd(&out[2], static_cast<unsigned long long>(sums[i]));
}

/* --- points ---------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum operation op;
	void (*pass)(struct arrays, long);
	void (*sweep)(struct arrays);
} operations[] = {
    {"read", READ, pass<READ>, nullptr},
    {"write", WRITE, pass<WRITE>, sweep<WRITE>},
    {"copy", COPY, pass<COPY>, sweep<COPY>},
    {"scale", SCALE, pass<SCALE>, sweep<SCALE>},
    {"triad", TRIAD, pass<TRIAD>, sweep<TRIAD>},
};

enum { N_OPERATIONS = sizeof operations / sizeof *operations };

struct footprints {
	device_array<float> a, b, c;
	device_array<uint32_t> sums;
	device_array<unsigned long long> out;
	unsigned n_blocks;
};

static cudaError_t
run(const struct bench *b, const struct footprints &w, const struct arrays &x, int k, long n_passes)
{
	const bool from_memory = static_cast<double>(x.n * sizeof(float4)) >= 8 * b->cuda->l2_byte;

	if (operations[k].sweep && from_memory)
		for (long p = 0; p < n_passes; p++)
			operations[k].sweep<<<static_cast<unsigned>((x.n + THREADS - 1) / THREADS), THREADS>>>(x);
	else
		operations[k].pass<<<w.n_blocks, THREADS>>>(x, n_passes);
	return cudaGetLastError();
}

/* Elements that are wrong after one pass over results that were made not-a-number before; or a wrong sum. */
static enum bench_status
wrong_by(const struct bench *b, const struct footprints &w, const struct arrays &x, int k, double *wrong)
{
	unsigned long long out[3];

	TRY(cudaMemset(w.out.at, 0, sizeof out));
	if (operations[k].op != READ)
		TRY(cudaMemset(x.a, 0xff, x.n * sizeof(float4)));
	TRY(run(b, w, x, k, 1));
	check<<<w.n_blocks, THREADS>>>(reinterpret_cast<const float *>(x.a), x.n * 4, 1, operations[k].op, w.out.at);
	TRY_LAUNCH();
	add_up<<<16, THREADS>>>(w.sums.at, w.sums.n, w.out.at);
	TRY_LAUNCH();
	TRY(cudaMemcpy(out, w.out.at, sizeof out, cudaMemcpyDeviceToHost));
	*wrong = static_cast<double>(out[0]);
	if (operations[k].op == READ && static_cast<uint32_t>(out[1]) != static_cast<uint32_t>(out[2]))
		*wrong += 1;
	return BENCH_OK;
}

static enum bench_status
measure(struct bench *b, const struct footprints &w, size_t size_byte, int k, double n_points_left)
{
	const struct arrays x = {reinterpret_cast<float4 *>(w.a.at), reinterpret_cast<const float4 *>(w.b.at),
	    reinterpret_cast<const float4 *>(w.c.at), size_byte / sizeof(float4), w.sums.at};
	struct bench_row row = bench_row_new("copy", operations[k].name, "fp32");
	double wrong;

	row.size_byte = static_cast<double>(size_byte);
	const cuda_point point(b, "%s of %zu KiB", operations[k].name, size_byte / 1024);
	TRY_STATUS(wrong_by(b, w, x, k, &wrong));
	if (!bench_right(b, wrong, 0, "memory: %s of %zu bytes", operations[k].name, size_byte))
		return BENCH_OK;
	const auto launch = [&](long n) { return run(b, w, x, k, n); };
	TRY_STATUS(cuda_take(b, launch, bench_share(b, n_points_left), &row.time));
	bench_print(b, &row);
	return BENCH_OK;
}

/* --- levels that belong to one multiprocessor ------------------------------------------------------------- */

enum { NEAR_BYTE = 16 * 1024, NEAR_VECTORS = NEAR_BYTE / 16 };

/*
 * Every block reads 16 KiB of its own again and again, from L1 or from shared memory.  Each pass begins `turn_byte`
 * further on: from a constant the compiler would find that passes repeat, and load once for all of them.
 */
template <bool SHARED>
__global__ void
near_pass(const float4 *from, uint32_t *sums, long n_passes, unsigned turn_byte)
{
	__shared__ float4 kept[SHARED ? NEAR_VECTORS : 1];
	const float4 *own = from + blockIdx.x * static_cast<size_t>(NEAR_VECTORS);
	uint32_t sum = 0;

	if (SHARED)
		for (int i = static_cast<int>(threadIdx.x); i < NEAR_VECTORS; i += THREADS)
			kept[SHARED ? i : 0] = own[i];
	__syncthreads();
	const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(kept));
	unsigned first_byte = threadIdx.x * static_cast<unsigned>(sizeof(float4));
	for (long p = 0; p < n_passes; p++, first_byte += turn_byte)
#pragma unroll
		for (unsigned i = 0; i < NEAR_VECTORS / THREADS; i++) {
			const unsigned at_byte = (first_byte + i * THREADS * 16) % NEAR_BYTE;
			float4 v;
			if (SHARED)
				asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
				             : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
				             : "r"(base + at_byte)
				             : "memory");
			else
				asm volatile("ld.global.ca.v4.f32 {%0, %1, %2, %3}, [%4];"
				             : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
				             : "l"(reinterpret_cast<const char *>(own) + at_byte)
				             : "memory");
			/* one word: adding all four would take the integer units as long as the load takes */
			sum += __float_as_uint(v.x);
		}
	sums[blockIdx.x * static_cast<size_t>(THREADS) + threadIdx.x] = sum;
}

/* All blocks read the same kind of values; what they sum up is known from the first array. */
static enum bench_status
measure_near(struct bench *b, const struct footprints &w, bool shared, double n_points_left)
{
	const unsigned n_blocks = static_cast<unsigned>(2 * b->cuda->n_sms), turn_byte = THREADS * sizeof(float4);
	const auto kernel = shared ? near_pass<true> : near_pass<false>;
	struct bench_row row = bench_row_new("copy", shared ? "read_shared" : "read_l1", "fp32");
	unsigned long long out[3];
	double wrong = 0;

	row.size_byte = static_cast<double>(n_blocks) * NEAR_BYTE;
	row.note = "16 KiB of each of two blocks a multiprocessor";
	const cuda_point point(b, "%s", row.operation);
	if (w.a.n * sizeof(float) < static_cast<size_t>(row.size_byte))
		return BENCH_OK;
	TRY(cudaMemset(w.out.at, 0, sizeof out));
	TRY(cudaMemset(w.sums.at, 0, w.sums.n * sizeof(uint32_t)));
	kernel<<<n_blocks, THREADS>>>(reinterpret_cast<const float4 *>(w.b.at), w.sums.at, 1, turn_byte);
	TRY_LAUNCH();
	check<<<n_blocks, THREADS>>>(
	    w.b.at, n_blocks * static_cast<size_t>(NEAR_BYTE) / sizeof(float), 4, READ, w.out.at);
	TRY_LAUNCH();
	add_up<<<16, THREADS>>>(w.sums.at, w.sums.n, w.out.at);
	TRY_LAUNCH();
	TRY(cudaMemcpy(out, w.out.at, sizeof out, cudaMemcpyDeviceToHost));
	wrong = static_cast<uint32_t>(out[1]) == static_cast<uint32_t>(out[2]) ? 0 : 1;
	if (!bench_right(b, wrong, 0, "memory: %s", row.operation))
		return BENCH_OK;
	const auto launch = [&](long n) {
		kernel<<<n_blocks, THREADS>>>(reinterpret_cast<const float4 *>(w.b.at), w.sums.at, n, turn_byte);
		return cudaGetLastError();
	};
	TRY_STATUS(cuda_take(b, launch, bench_share(b, n_points_left), &row.time));
	bench_print(b, &row);
	return BENCH_OK;
}

/* Reads take sizes in between where L2 ends too: a quarter of an octave apart. */
static std::vector<size_t>
sizes_of(const struct bench *b, enum operation op, size_t least_byte, size_t most_byte)
{
	const double l2_byte = b->cuda->l2_byte;
	std::vector<size_t> sizes;

	for (size_t size = least_byte; size <= most_byte; size *= b->quick ? 4 : 2) {
		sizes.push_back(size);
		for (size_t part = 5; part < 8; part++) {
			const double between = static_cast<double>(part * size / 4);
			if (op == READ && !b->quick && between > 0.5 * l2_byte && between < 2 * l2_byte)
				sizes.push_back(part * size / 4);
		}
	}
	return sizes;
}

} /* namespace */

enum bench_status
cuda_memory(struct bench *b)
{
	const size_t least_byte =
	    plan_least_byte(static_cast<size_t>(BLOCKS_PER_SM * b->cuda->n_sms) * THREADS, sizeof(float4));
	const size_t most_byte = plan_most_byte(
	    static_cast<size_t>(b->quick ? 1 : 4) << 30, least_byte, 2, 4, static_cast<double>(cuda_free_byte()));
	struct footprints w;
	double n_points = 2;

	TRY(w.a.make(most_byte / sizeof(float)));
	TRY(w.b.make(most_byte / sizeof(float)));
	TRY(w.c.make(most_byte / sizeof(float)));
	w.n_blocks = static_cast<unsigned>(BLOCKS_PER_SM * b->cuda->n_sms);
	TRY(w.sums.make(w.n_blocks * static_cast<size_t>(THREADS)));
	TRY(w.out.make(3));
	fill<<<w.n_blocks, THREADS>>>(w.a.at, w.b.at, w.c.at, w.a.n);
	TRY_LAUNCH();
	for (const auto &o : operations)
		n_points += static_cast<double>(sizes_of(b, o.op, least_byte, most_byte).size());
	TRY_STATUS(measure_near(b, w, false, n_points--));
	TRY_STATUS(measure_near(b, w, true, n_points--));
	/* `read` sees what `fill` left: it comes before those that write */
	for (int k = 0; k < N_OPERATIONS; k++)
		for (const size_t size : sizes_of(b, operations[k].op, least_byte, most_byte))
			TRY_STATUS(measure(b, w, size, k, n_points--));
	return BENCH_OK;
}
