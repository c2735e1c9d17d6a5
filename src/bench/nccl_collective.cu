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

namespace {

enum operation { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST, N_OPERATIONS };

static const char *const names[N_OPERATIONS] = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"};

enum { ELEMENT_BYTE = 2 };

struct job {
	const struct bench *bench;
	struct ranks *ranks;
	enum operation operation;
	size_t size_byte;
	int n_recorded; /* calls in the graphs; 0: each call is launched */
};

/* --- calls ----------------------------------------------------------------------------------------------- */

static ncclResult_t
call(const struct job *j, struct rank *rank)
{
	const size_t n = j->size_byte / ELEMENT_BYTE, n_ranks = static_cast<size_t>(j->ranks->n), part = n / n_ranks;
	ncclResult_t result = ncclSuccess;

	switch (j->operation) {
	case ALL_REDUCE:
		return ncclAllReduce(rank->out.at, rank->in.at, n, ncclBfloat16, ncclSum, rank->comm, rank->stream.is);
	case ALL_GATHER:
		return ncclAllGather(rank->out.at, rank->in.at, part, ncclBfloat16, rank->comm, rank->stream.is);
	case REDUCE_SCATTER:
		return ncclReduceScatter(
		    rank->out.at, rank->in.at, part, ncclBfloat16, ncclSum, rank->comm, rank->stream.is);
	case BROADCAST:
		return ncclBroadcast(rank->out.at, rank->in.at, n, ncclBfloat16, 0, rank->comm, rank->stream.is);
	case ALL_TO_ALL:
		for (size_t to = 0; to < n_ranks && result == ncclSuccess; to++) {
			result = ncclSend(rank->out.at + to * part * ELEMENT_BYTE, part, ncclBfloat16,
			    static_cast<int>(to), rank->comm, rank->stream.is);
			if (result == ncclSuccess)
				result = ncclRecv(rank->in.at + to * part * ELEMENT_BYTE, part, ncclBfloat16,
				    static_cast<int>(to), rank->comm, rank->stream.is);
		}
		return result;
	case N_OPERATIONS:
		break;
	}
	return ncclInvalidArgument;
}

/* One call on every GPU of this process. */
static bool
call_all(const struct job *j)
{
	bool ok = NCCL_OK(ncclGroupStart());

	for (struct rank &rank : j->ranks->here)
		ok = ok && NCCL_OK(call(j, &rank));
	return NCCL_OK(ncclGroupEnd()) && ok;
}

/* The graph of one GPU, started. */
static bool
replay(struct rank *rank)
{
	return CUDA_OK(cudaSetDevice(rank->gpu)) && CUDA_OK(cudaGraphLaunch(rank->graph.is, rank->stream.is));
}

/* n calls, or n graphs of calls, on every GPU of this process; seconds, or negative. */
static double
run(const struct job *j, long n)
{
	const double start_s = bench_now();

	for (long i = 0; i < n; i++) {
		if (j->n_recorded == 0 && !call_all(j))
			return -1;
		for (struct rank &rank : j->ranks->here)
			if (j->n_recorded > 0 && !replay(&rank))
				return -1;
	}
	return ranks_wait(j->bench, j->ranks) ? bench_now() - start_s : -1;
}

/* Calls that follow one another in a graph: as many as hide the launch of the graph. */
static int
calls_of(size_t size_byte)
{
	return size_byte <= 1 << 20 ? 20 : size_byte <= 64 << 20 ? 4 : 1;
}

static bool
capture_from(const struct job *j, size_t i)
{
	struct rank *rank;

	if (i == j->ranks->here.size()) {
		for (int k = 0; k < calls_of(j->size_byte); k++)
			if (!call_all(j))
				return false;
		return true;
	}
	rank = &j->ranks->here[i];
	return CUDA_OK(cudaSetDevice(rank->gpu)) &&
	    rank->graph.record(rank->stream.is, [j, i] { return capture_from(j, i + 1); }) == cudaSuccess &&
	    rank->graph.is;
}

/* All streams are captured at once: a group spans them. */
static bool
record(const struct job *j)
{
	for (struct rank &rank : j->ranks->here)
		rank.graph.clear();
	return capture_from(j, 0);
}

/* The process that measures tells the others to do the same. */
enum order { ORDER_END, ORDER_RUN, ORDER_CHECK, ORDER_RECORD };
enum { N_WORDS = 5 };

static void
tell(const struct job *j, enum order order, long n)
{
	long words[N_WORDS] = {
	    order, n, static_cast<long>(j->operation), static_cast<long>(j->size_byte), j->n_recorded};

	ranks_tell(j->ranks, words, N_WORDS);
}

static double
timed(void *context, long n)
{
	const struct job *j = static_cast<const struct job *>(context);

	tell(j, ORDER_RUN, n);
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
		fill<<<256, 256, 0, rank.stream.is>>>(
		    reinterpret_cast<__nv_bfloat16 *>(rank.out.at), j->size_byte / ELEMENT_BYTE, rank.index);
		TRY_LAUNCH();
		TRY(cudaMemsetAsync(rank.in.at, 0xff, j->size_byte, rank.stream.is)); /* not numbers */
	}
	if (!ranks_wait(j->bench, j->ranks) || run(j, 1) < 0)
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
	double here = 0;

	tell(j, ORDER_CHECK, 0);
	TRY_STATUS(check_here(j, &here));
	*wrong = ranks_largest(j->ranks, here);
	return BENCH_OK;
}

/* --- points ---------------------------------------------------------------------------------------------- */

/* Every process records, or none replays. */
static bool
record_everywhere(struct job *j)
{
	j->n_recorded = 0;
	if (j->ranks->no_graphs)
		return false;
	tell(j, ORDER_RECORD, 0);
	const double failed = ranks_largest(j->ranks, record(j) ? 0 : 1);
	j->n_recorded = failed > 0 ? 0 : calls_of(j->size_byte);
	if (failed > 0)
		bench_say(j->bench, "calls cannot be captured in a CUDA graph: small sizes include their launch");
	j->ranks->no_graphs = failed > 0;
	return j->n_recorded > 0;
}

static enum bench_status
take(struct bench *b, struct job *j, double budget_s, struct bench_row *row)
{
	char note[64];

	TRY_STATUS(bench_take(timed, j, budget_s, BENCH_GPU_SAMPLE_S, &row->time));
	if (j->n_recorded > 0) {
		row->time.median_s /= j->n_recorded;
		row->time.min_s /= j->n_recorded;
		row->time.max_s /= j->n_recorded;
		snprintf(note, sizeof note, "in a CUDA graph, %d calls each", j->n_recorded);
		row->note = note;
	} else
		row->note = "launched one by one";
	bench_print(b, row);
	return BENCH_OK;
}

/* In graphs, as engines run them; and launched by one process for all GPUs, which holds small ones back. */
static enum bench_status
measure(struct bench *b, struct job *j, const char *library, double n_points_left)
{
	struct bench_row row = bench_row_new("collective", names[j->operation], "bf16");
	double wrong;

	row.version = library + sizeof "NCCL " - 1;
	row.library = library;
	row.ranks = j->ranks->n;
	row.nodes = j->ranks->n_nodes;
	row.size_byte = static_cast<double>(j->size_byte);
	const cuda_point point(b, "%s of %zu KiB over %d GPUs", row.operation, j->size_byte / 1024, j->ranks->n);
	TRY_STATUS(wrong_by(j, &wrong));
	if (!bench_right(b, wrong, 0, "collective: %s of %zu bytes", row.operation, j->size_byte))
		return BENCH_OK;
	row.backend = record_everywhere(j) ? "nccl" : "nccl-stream";
	TRY_STATUS(take(b, j, bench_share(b, 2 * n_points_left), &row));
	if (j->n_recorded == 0)
		return BENCH_OK;
	j->n_recorded = 0;
	row.backend = "nccl-stream";
	return take(b, j, bench_share(b, 2 * n_points_left - 1), &row);
}

static enum bench_status
measure_all(struct bench *b, struct ranks *r, size_t most_byte)
{
	const size_t least_byte = 4096, step = b->quick ? 16 : 2; /* fifteen sizes are fitted */
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
			struct job j = {b, r, static_cast<enum operation>(o), size / whole * whole, 0};
			if (j.size_byte > 0)
				TRY_STATUS(measure(b, &j, library, n_points--));
		}
	return BENCH_OK;
}

/* A process that does what the first says. */
static enum bench_status
follow(const struct bench *b, struct ranks *r)
{
	for (;;) {
		long words[N_WORDS] = {ORDER_END, 0, 0, 0, 0};
		double result = 0;
		ranks_tell(r, words, N_WORDS);
		const struct job j = {b, r, static_cast<enum operation>(words[2]), static_cast<size_t>(words[3]),
		    static_cast<int>(words[4])};
		switch (words[0]) {
		case ORDER_CHECK:
			TRY_STATUS(check_here(&j, &result));
			break;
		case ORDER_RECORD:
			result = record(&j) ? 0 : 1;
			break;
		case ORDER_RUN:
			result = run(&j, words[1]);
			break;
		default:
			return BENCH_OK;
		}
		if (result < 0)
			return BENCH_FAILED;
		(void)ranks_largest(r, result);
	}
}

static enum bench_status
measure_joined(struct bench *b, struct ranks *r)
{
	size_t most_byte = static_cast<size_t>(b->quick ? 64 : 1024) << 20;

	TRY_STATUS(ranks_join(b, r, &most_byte));
	if (!r->first)
		return follow(b, r);
	TRY_STATUS(measure_all(b, r, most_byte));
	const struct job end = {b, r, ALL_REDUCE, 0, 0};
	tell(&end, ORDER_END, 0);
	return BENCH_OK;
}

static enum bench_status
collective(struct bench *b)
{
	struct ranks r = {};
	int n_gpus = 0;

	if (world_size() > 1 && !ranks_can_join()) {
		bench_say(b, "this was built without MPI, and cannot join %d processes: build it where mpicc is found",
		    world_size());
		return BENCH_REFUSED;
	}
	TRY(cudaGetDeviceCount(&n_gpus));
	if (world_size() == 1 && (b->gpus ? b->n_gpus : n_gpus) < 2) {
		bench_say(b, "left out: there is one GPU");
		return BENCH_OK;
	}
	r.patience_s = bench_patience_s(b);
	enum bench_status status = measure_joined(b, &r);
	if (status == BENCH_OK)
		status = ranks_leave(&r);
	else
		ranks_abort(&r); /* the others still wait */
	if (status == BENCH_OK)
		TRY(cudaSetDevice(b->gpu));
	return status;
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
close_ranks(struct bench *)
{
}

} /* namespace */

extern "C" __attribute__((visibility("default"))) const struct bench_plugin bench_plugin = {
    BENCH_VERSION, subjects, sizeof subjects / sizeof *subjects, cuda_count, open_ranks, close_ranks};
