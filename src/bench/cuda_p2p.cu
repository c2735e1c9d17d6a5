/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between each pair of GPUs: peer to peer if possible, else through the host. */
#include "cuda.h"

#include <vector>

namespace {

struct end {
	int index;
	uint32_t seed;
	device_array<unsigned char> out, in;
	device_array<unsigned> n_wrong;
	struct cuda_stream stream;
};

struct pair {
	struct end *from, *to;
	size_t size_byte;
	bool both;
};

static double
timed(void *context, long n)
{
	const struct pair *p = static_cast<const struct pair *>(context);
	const double start_s = bench_now();

	for (long i = 0; i < n; i++) {
		if (!CUDA_OK(cudaMemcpyPeerAsync(
		        p->to->in.at, p->to->index, p->from->out.at, p->from->index, p->size_byte, p->from->stream.is)))
			return -1;
		if (p->both &&
		    !CUDA_OK(cudaMemcpyPeerAsync(
		        p->from->in.at, p->from->index, p->to->out.at, p->to->index, p->size_byte, p->to->stream.is)))
			return -1;
	}
	if (!CUDA_OK(cudaStreamSynchronize(p->from->stream.is)) || !CUDA_OK(cudaStreamSynchronize(p->to->stream.is)))
		return -1;
	return bench_now() - start_s;
}

__device__ static unsigned char
sent(uint32_t seed, size_t i)
{
	return static_cast<unsigned char>(static_cast<int>((hashed(seed, i) + 1) * 128));
}

__global__ void
fill(unsigned char *out, size_t n, uint32_t seed)
{
	const size_t stride = gridDim.x * static_cast<size_t>(blockDim.x);

	for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += stride)
		out[i] = sent(seed, i);
}

__global__ void
count_wrong(const unsigned char *in, size_t n, uint32_t seed, unsigned *n_wrong)
{
	const size_t stride = gridDim.x * static_cast<size_t>(blockDim.x);
	unsigned wrong = 0;

	for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += stride)
		wrong += in[i] == sent(seed, i) ? 0 : 1;
	if (wrong)
		atomicAdd(n_wrong, wrong);
}

/* What arrived is what was sent. */
static enum bench_status
arrived(const struct end *to, const struct end *from, size_t size_byte, double *wrong)
{
	unsigned here = 0;

	TRY(cudaSetDevice(to->index));
	TRY(cudaMemset(to->n_wrong.at, 0, sizeof here));
	count_wrong<<<256, 256>>>(to->in.at, size_byte, from->seed, to->n_wrong.at);
	TRY_LAUNCH();
	TRY(cudaMemcpy(&here, to->n_wrong.at, sizeof here, cudaMemcpyDeviceToHost));
	*wrong += here;
	return BENCH_OK;
}

static enum bench_status
measure(struct bench *b, struct pair *p, bool direct, double n_points_left)
{
	struct bench_row row = bench_row_new("p2p", p->both ? "p2p_bidir" : "p2p_unidir", nullptr);
	char note[96];
	double wrong = 0;

	snprintf(note, sizeof note, "gpu %d %s gpu %d, %s", p->from->index, p->both ? "<->" : "->", p->to->index,
	    direct ? "direct" : "through the host");
	row.note = note;
	row.size_byte = static_cast<double>(p->size_byte);
	row.ranks = 2;
	const cuda_point point(b, "%s, %zu KiB", note, p->size_byte / 1024);
	TRY(cudaSetDevice(p->to->index));
	TRY(cudaMemset(p->to->in.at, 0, p->size_byte));
	TRY(cudaDeviceSynchronize());
	TRY(cudaSetDevice(p->from->index));
	TRY(cudaMemset(p->from->in.at, 0, p->size_byte));
	TRY(cudaDeviceSynchronize());
	if (timed(p, 1) < 0)
		return BENCH_FAILED;
	TRY_STATUS(arrived(p->to, p->from, p->size_byte, &wrong));
	if (p->both)
		TRY_STATUS(arrived(p->from, p->to, p->size_byte, &wrong));
	if (!bench_right(b, wrong, 0, "p2p: %s, %zu bytes", note, p->size_byte))
		return BENCH_OK;
	cuda_watch_begin(b);
	TRY_STATUS(bench_take(timed, p, bench_share(b, n_points_left), BENCH_GPU_SAMPLE_S, &row.time));
	bench_print(b, &row);
	return BENCH_OK;
}

static enum bench_status
ready(struct end *e, int index, size_t n_byte, uint64_t seed)
{
	e->index = index;
	e->seed = static_cast<uint32_t>(seed) + static_cast<uint32_t>(index);
	TRY(cudaSetDevice(index));
	TRY(e->out.make(n_byte));
	TRY(e->in.make(n_byte));
	TRY(e->n_wrong.make(1));
	fill<<<256, 256>>>(e->out.at, n_byte, e->seed);
	TRY_LAUNCH();
	TRY(cudaDeviceSynchronize());
	TRY(e->stream.make(cudaStreamNonBlocking));
	return BENCH_OK;
}

/* Another pair may have opened it already. */
static enum bench_status
reach(int from, int to, bool *direct)
{
	int can = 0;

	TRY(cudaDeviceCanAccessPeer(&can, from, to));
	*direct = can != 0;
	if (!can)
		return BENCH_OK;
	TRY(cudaSetDevice(from));
	const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
	if (error == cudaErrorPeerAccessAlreadyEnabled || error == cudaErrorTooManyPeers) {
		(void)cudaGetLastError();
		*direct = error == cudaErrorPeerAccessAlreadyEnabled;
		return BENCH_OK;
	}
	TRY(error);
	return BENCH_OK;
}

/* Pairs of one class are taken to be alike: behind NVSwitch all are. */
struct pair_class {
	bool direct, first_is_lower;
	int rank; /* as the driver orders their links */
};

static enum bench_status
class_of(int from, int to, struct pair_class *out)
{
	bool there = false, back = false;

	TRY_STATUS(reach(to, from, &back));
	TRY_STATUS(reach(from, to, &there));
	*out = {there && back, from < to, 0};
	if (there)
		TRY(cudaDeviceGetP2PAttribute(&out->rank, cudaDevP2PAttrPerformanceRank, from, to));
	return BENCH_OK;
}

static bool
seen(std::vector<struct pair_class> *classes, const struct pair_class &c)
{
	for (const struct pair_class &old : *classes)
		if (old.direct == c.direct && old.rank == c.rank && old.first_is_lower == c.first_is_lower)
			return true;
	classes->push_back(c);
	return false;
}

struct taken_pair {
	size_t from, to;
	bool direct;
};

/* Pairs to measure: one of each class and order, or all of the GPUs that were named. */
static enum bench_status
choose(const struct bench *b, const std::vector<int> &gpus, std::vector<struct taken_pair> *out)
{
	std::vector<struct pair_class> classes;

	for (size_t i = 0; i < gpus.size(); i++)
		for (size_t k = 0; k < gpus.size(); k++) {
			struct pair_class c;
			if (i == k)
				continue;
			TRY_STATUS(class_of(gpus[i], gpus[k], &c));
			if (b->gpus || !seen(&classes, c))
				out->push_back({i, k, c.direct});
		}
	return BENCH_OK;
}

static enum bench_status
measure_all(struct bench *b, const std::vector<int> &gpus)
{
	const size_t least_byte = 4 * 1024, step = b->quick ? 64 : 16;
	size_t most_byte = static_cast<size_t>(b->quick ? 64 : 256) << 20;
	std::vector<struct end> ends(gpus.size());
	std::vector<struct taken_pair> pairs;
	double n_points = 0;

	TRY_STATUS(choose(b, gpus, &pairs));
	for (const int i : gpus) {
		TRY(cudaSetDevice(i));
		most_byte = plan_most_byte(most_byte, least_byte, 4, 4, static_cast<double>(cuda_free_byte()));
	}
	for (size_t i = 0; i < gpus.size(); i++)
		TRY_STATUS(ready(&ends[i], gpus[i], most_byte, b->seed));
	for (size_t size = least_byte; size <= most_byte; size *= step)
		n_points += 1.5 * static_cast<double>(pairs.size());
	for (const struct taken_pair &taken : pairs)
		for (size_t size = least_byte; size <= most_byte; size *= step) {
			struct pair p = {&ends[taken.from], &ends[taken.to], size, false};
			TRY_STATUS(measure(b, &p, taken.direct, n_points--));
			p.both = true;
			if (taken.from < taken.to)
				TRY_STATUS(measure(b, &p, taken.direct, n_points--));
		}
	return BENCH_OK;
}

} /* namespace */

enum bench_status
cuda_p2p(struct bench *b)
{
	std::vector<int> gpus;

	TRY_STATUS(cuda_chosen(b, &gpus));
	if (gpus.size() < 2) {
		bench_say(b, "left out: there is one GPU");
		return BENCH_OK;
	}
	const enum bench_status status = measure_all(b, gpus);
	TRY(cudaSetDevice(b->gpu));
	return status;
}
