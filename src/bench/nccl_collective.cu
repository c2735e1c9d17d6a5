/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of NCCL over sizes.  The size is that of the full buffer: what each GPU contributes to an all-reduce,
 * what each has after an all-gather, before a reduce-scatter, and what each sends in all in an all-to-all.  Time is by
 * the host's clock, from the first call until all GPUs have ended, over calls that follow one another.
 */
#include "nccl_ranks.h"
#include "world.h"

#include <cstring>
#include <cuda_bf16.h>

enum operation { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST, N_OPERATIONS };

static const char *const names[N_OPERATIONS] = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"};

enum { ELEMENT_BYTE = 2 };

struct job {
	struct ranks *ranks;
	enum operation operation;
	size_t size_byte;
};

/* --- calls ----------------------------------------------------------------------------------------------- */

static ncclResult_t
call(const struct job *j, struct rank *rank)
{
	const size_t n = j->size_byte / ELEMENT_BYTE, n_ranks = static_cast<size_t>(j->ranks->n), part = n / n_ranks;
	ncclResult_t result = ncclSuccess;

	switch (j->operation) {
	case ALL_REDUCE:
		return ncclAllReduce(rank->out.at, rank->in.at, n, ncclBfloat16, ncclSum, rank->comm, rank->stream);
	case ALL_GATHER:
		return ncclAllGather(rank->out.at, rank->in.at, part, ncclBfloat16, rank->comm, rank->stream);
	case REDUCE_SCATTER:
		return ncclReduceScatter(
		    rank->out.at, rank->in.at, part, ncclBfloat16, ncclSum, rank->comm, rank->stream);
	case BROADCAST:
		return ncclBroadcast(rank->out.at, rank->in.at, n, ncclBfloat16, 0, rank->comm, rank->stream);
	case ALL_TO_ALL:
		for (size_t to = 0; to < n_ranks && result == ncclSuccess; to++) {
			result = ncclSend(rank->out.at + to * part * ELEMENT_BYTE, part, ncclBfloat16,
			    static_cast<int>(to), rank->comm, rank->stream);
			if (result == ncclSuccess)
				result = ncclRecv(rank->in.at + to * part * ELEMENT_BYTE, part, ncclBfloat16,
				    static_cast<int>(to), rank->comm, rank->stream);
		}
		return result;
	case N_OPERATIONS:
		break;
	}
	return ncclInvalidArgument;
}

/* n calls on every GPU of this process; seconds, or negative. */
static double
run(const struct job *j, long n)
{
	const double start_s = bench_now();

	for (long i = 0; i < n; i++) {
		if (!NCCL_OK(ncclGroupStart()))
			return -1;
		for (struct rank &rank : j->ranks->here)
			if (!NCCL_OK(call(j, &rank)))
				return -1;
		if (!NCCL_OK(ncclGroupEnd()))
			return -1;
	}
	for (struct rank &rank : j->ranks->here)
		if (!CUDA_OK(cudaSetDevice(rank.gpu)) || !CUDA_OK(cudaStreamSynchronize(rank.stream)))
			return -1;
	return bench_now() - start_s;
}

/* The process that measures tells the others to do the same. */
enum order { ORDER_END, ORDER_RUN, ORDER_CHECK };

static double
timed(void *context, long n)
{
	const struct job *j = static_cast<const struct job *>(context);
	long words[4] = {ORDER_RUN, n, static_cast<long>(j->operation), static_cast<long>(j->size_byte)};

	ranks_tell(j->ranks, words, 4);
	const double here_s = run(j, n), longest_s = ranks_largest(j->ranks, here_s);
	return here_s < 0 ? here_s : longest_s;
}

/* --- results --------------------------------------------------------------------------------------------- */

/* Sums of small whole numbers over up to 128 ranks are exact in bf16. */
__host__ __device__ static inline float
sent(size_t i, int rank)
{
	return static_cast<float>((i + static_cast<size_t>(rank)) % 3);
}

__global__ void
fill(__nv_bfloat16 *out, size_t n, int rank)
{
	const size_t stride = gridDim.x * static_cast<size_t>(blockDim.x);

	for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += stride)
		out[i] = __float2bfloat16_rn(sent(i, rank));
}

/* What element i of this rank has to be. */
__device__ static float
received(enum operation operation, size_t i, size_t n, int rank, int n_ranks)
{
	const size_t part = n / static_cast<size_t>(n_ranks);
	float sum = 0;

	switch (operation) {
	case ALL_GATHER:
		return sent(i % part, static_cast<int>(i / part));
	case ALL_TO_ALL:
		return sent(static_cast<size_t>(rank) * part + i % part, static_cast<int>(i / part));
	case BROADCAST:
		return sent(i, 0);
	case ALL_REDUCE:
	case REDUCE_SCATTER:
		for (int r = 0; r < n_ranks; r++)
			sum += sent(operation == ALL_REDUCE ? i : static_cast<size_t>(rank) * part + i, r);
		return sum;
	case N_OPERATIONS:
		break;
	}
	return 0;
}

__global__ void
count_wrong(const __nv_bfloat16 *in, enum operation operation, size_t n_held, size_t n, int rank, int n_ranks,
    float tolerance, unsigned *wrong)
{
	const size_t stride = gridDim.x * static_cast<size_t>(blockDim.x);

	for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n_held; i += stride) {
		const float right = received(operation, i, n, rank, n_ranks);
		if (!(fabsf(__bfloat162float(in[i]) - right) <= tolerance * right))
			atomicAdd(wrong, 1u);
	}
}

/* Wrong elements on the GPUs of this process. */
static enum bench_status
check_here(const struct job *j, double *wrong)
{
	const size_t n_ranks = static_cast<size_t>(j->ranks->n);
	const size_t n = j->size_byte / ELEMENT_BYTE / n_ranks * n_ranks;
	const size_t held = j->operation == REDUCE_SCATTER ? n / n_ranks : n;
	const float tolerance = j->ranks->n <= 128 ? 0.0f : 0.02f;

	for (struct rank &rank : j->ranks->here) {
		TRY(cudaSetDevice(rank.gpu));
		fill<<<256, 256>>>(
		    reinterpret_cast<__nv_bfloat16 *>(rank.out.at), j->size_byte / ELEMENT_BYTE, rank.index);
		TRY_LAUNCH();
		TRY(cudaMemset(rank.in.at, 0xff, j->size_byte)); /* not numbers */
		TRY(cudaDeviceSynchronize());
	}
	if (run(j, 1) < 0)
		return BENCH_FAILED;
	*wrong = 0;
	for (struct rank &rank : j->ranks->here) {
		device_array<unsigned> count;
		unsigned here = 0;
		TRY(cudaSetDevice(rank.gpu));
		TRY(count.make(1));
		TRY(cudaMemset(count.at, 0, sizeof here));
		count_wrong<<<256, 256>>>(reinterpret_cast<const __nv_bfloat16 *>(rank.in.at), j->operation, held, n,
		    rank.index, j->ranks->n, tolerance, count.at);
		TRY_LAUNCH();
		TRY(cudaMemcpy(&here, count.at, sizeof here, cudaMemcpyDeviceToHost));
		*wrong += here;
	}
	return BENCH_OK;
}

static enum bench_status
wrong_by(const struct job *j, double *wrong)
{
	long words[4] = {ORDER_CHECK, 0, static_cast<long>(j->operation), static_cast<long>(j->size_byte)};
	double here = 0;

	ranks_tell(j->ranks, words, 4);
	TRY_STATUS(check_here(j, &here));
	*wrong = ranks_largest(j->ranks, here);
	return BENCH_OK;
}

/* --- points ---------------------------------------------------------------------------------------------- */

static enum bench_status
measure(struct bench *b, struct job *j, const char *library, double n_points_left)
{
	struct bench_row row = bench_row_new("collective", names[j->operation], "bf16");
	double wrong;

	row.backend = "nccl";
	row.version = library + sizeof "NCCL " - 1;
	row.library = library;
	row.ranks = j->ranks->n;
	row.nodes = j->ranks->n_nodes;
	row.size_byte = static_cast<double>(j->size_byte);
	bench_progress(b, "%s of %zu KiB over %d GPUs", row.operation, j->size_byte / 1024, j->ranks->n);
	TRY_STATUS(wrong_by(j, &wrong));
	if (!bench_right(b, wrong, 0, "collective: %s of %zu bytes", row.operation, j->size_byte))
		return BENCH_OK;
	TRY_STATUS(bench_take(timed, j, bench_share(b, n_points_left), &row.time));
	bench_print(b, &row);
	return BENCH_OK;
}

static enum bench_status
measure_all(struct bench *b, struct ranks *r, size_t most_byte)
{
	const size_t least_byte = 4096, step = b->quick ? 16 : 4;
	char library[32];
	int version = 0;
	double n_points = 0;

	b->clock_mhz = b->clock_before_mhz = b->power_watt = 0; /* those of one GPU would not be those of all */
	TRY_NCCL(ncclGetVersion(&version));
	snprintf(library, sizeof library, "NCCL %d.%d.%d", version / 10000, version % 10000 / 100, version % 100);
	for (size_t size = least_byte; size <= most_byte; size *= step)
		n_points += N_OPERATIONS;
	for (int o = 0; o < N_OPERATIONS; o++)
		for (size_t size = least_byte; size <= most_byte; size *= step) {
			const size_t whole = ELEMENT_BYTE * static_cast<size_t>(r->n);
			struct job j = {r, static_cast<enum operation>(o), size / whole * whole};
			if (j.size_byte > 0)
				TRY_STATUS(measure(b, &j, library, n_points--));
		}
	return BENCH_OK;
}

/* A process that does what the first says. */
static enum bench_status
follow(struct ranks *r)
{
	for (;;) {
		long words[4] = {ORDER_END, 0, 0, 0};
		double result = 0;
		ranks_tell(r, words, 4);
		const struct job j = {r, static_cast<enum operation>(words[2]), static_cast<size_t>(words[3])};
		if (words[0] == ORDER_END)
			return BENCH_OK;
		if (words[0] == ORDER_CHECK)
			TRY_STATUS(check_here(&j, &result));
		else
			result = run(&j, words[1]);
		if (result < 0)
			return BENCH_FAILED; /* what started us ends the others */
		(void)ranks_largest(r, result);
	}
}

static enum bench_status
collective(struct bench *b)
{
	size_t most_byte = static_cast<size_t>(b->quick ? 64 : 1024) << 20;
	struct ranks r = {};
	int n_gpus = 0;

	if (world_size() > 1 && !ranks_can_join()) {
		bench_say(b, "this was built without MPI, and cannot join %d processes: build it where mpicc is found",
		    world_size());
		return BENCH_REFUSED;
	}
	TRY(cudaGetDeviceCount(&n_gpus));
	if (world_size() == 1 && n_gpus < 2) {
		bench_say(b, "left out: there is one GPU");
		return BENCH_OK;
	}
	TRY_STATUS(ranks_join(&r, &most_byte));
	if (!r.first) {
		TRY_STATUS(follow(&r));
		return ranks_leave(&r);
	}
	const enum bench_status status = measure_all(b, &r, most_byte);
	/* after a failure on this side the others still wait */
	long words[4] = {ORDER_END, 0, 0, 0};
	ranks_tell(&r, words, 4);
	TRY_STATUS(status);
	TRY_STATUS(ranks_leave(&r));
	TRY(cudaSetDevice(b->gpu));
	return BENCH_OK;
}

/* --- the shared object ----------------------------------------------------------------------------------- */

static const struct bench_subject subjects[] = {
    {"collective",
        "all-reduce, all-gather, reduce-scatter, all-to-all and broadcast of NCCL over sizes; under mpirun or srun "
        "over all machines",
        BENCH_GPUS, 10, collective},
};

/* The device is readied by the shared object of the other subjects. */
static enum bench_status
open_ranks(struct bench *, int)
{
	return BENCH_OK;
}

static void
close_ranks(void)
{
}

extern "C" __attribute__((visibility("default"))) const struct bench_plugin bench_plugin = {
    BENCH_VERSION, subjects, sizeof subjects / sizeof *subjects, cuda_count, open_ranks, close_ranks};
