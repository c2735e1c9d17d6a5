/* SPDX-License-Identifier: Apache-2.0 */
/* Start the ranks of a collective: all GPUs in one process, or one process per GPU under MPI. */
#include "nccl_ranks.h"

#include "world.h"

#ifdef BENCH_MPI
#include <dlfcn.h>
#define OMPI_SKIP_MPICXX 1 /* C alone */
#include <mpi.h>
#endif

bool
nccl_ok(ncclResult_t result, const char *call, const char *file, int line)
{
	if (result == ncclSuccess)
		return true;
	fprintf(stderr, "ridge-bench: error: %s: %s (%s:%d)\n", call, ncclGetErrorString(result), file, line);
	return false;
}

bool
ranks_can_join(void)
{
#ifdef BENCH_MPI
	return true;
#else
	return false;
#endif
}

static enum bench_status
make(struct rank *rank, size_t most_byte)
{
	TRY(cudaSetDevice(rank->gpu));
	TRY(rank->out.make(most_byte));
	TRY(rank->in.make(most_byte));
	TRY(rank->stream.make(cudaStreamNonBlocking));
	return BENCH_OK;
}

/* --- one process ----------------------------------------------------------------------------------------- */

static enum bench_status
join_alone(struct bench *b, struct ranks *r)
{
	std::vector<int> gpus;

	TRY_STATUS(cuda_chosen(b, &gpus));
	const int n_gpus = static_cast<int>(gpus.size());
	std::vector<struct rank> all(gpus.size());
	std::vector<ncclComm_t> comms(gpus.size());
	TRY_NCCL(ncclCommInitAll(comms.data(), n_gpus, gpus.data()));
	for (size_t i = 0; i < gpus.size(); i++) {
		all[i].index = static_cast<int>(i);
		all[i].gpu = gpus[i];
		all[i].comm = comms[i];
	}
	r->n = n_gpus;
	r->n_nodes = 1;
	r->first = true;
	r->here.swap(all);
	return BENCH_OK;
}

/* --- a process for each GPU ------------------------------------------------------------------------------ */

#ifdef BENCH_MPI
static bool
mpi_ok(int code, const char *call)
{
	if (code == MPI_SUCCESS)
		return true;
	fprintf(stderr, "ridge-bench: error: %s: MPI error %d\n", call, code);
	return false;
}

#define TRY_MPI(call)                                                                                                  \
	do {                                                                                                           \
		if (!mpi_ok((call), #call))                                                                            \
			return BENCH_FAILED;                                                                           \
	} while (0)

/* Parts of an MPI that it loads itself look for its names among those that all may see; we were loaded apart. */
static void
show_mpi_to_all(void)
{
	Dl_info mpi;

	if (dladdr(reinterpret_cast<void *>(&MPI_Init), &mpi) && mpi.dli_fname)
		(void)dlopen(mpi.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/* Machines are counted by their first processes. */
static enum bench_status
join_many(struct ranks *r)
{
	std::vector<struct rank> one(1);
	MPI_Comm node;
	ncclUniqueId id;
	int started = 0, n_gpus = 0, local = 0, heads = 0;

	show_mpi_to_all();
	TRY_MPI(MPI_Initialized(&started));
	if (!started)
		TRY_MPI(MPI_Init(nullptr, nullptr));
	TRY_MPI(MPI_Comm_size(MPI_COMM_WORLD, &r->n));
	if (r->n != world_size()) {
		fprintf(stderr,
		    "ridge-bench: error: %d processes were started, of which MPI has joined %d\n"
		    "  hint: srun --mpi=pmix, or the mpirun of the MPI that this was built with\n",
		    world_size(), r->n);
		return BENCH_REFUSED;
	}
	TRY_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &one[0].index));
	TRY_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
	TRY_MPI(MPI_Comm_rank(node, &local));
	TRY_MPI(MPI_Comm_free(&node));
	const int head = local == 0 ? 1 : 0;
	TRY_MPI(MPI_Allreduce(&head, &heads, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	r->n_nodes = heads;
	r->first = one[0].index == 0;
	TRY(cudaGetDeviceCount(&n_gpus));
	one[0].gpu = n_gpus > 0 ? local % n_gpus : 0;
	TRY(cudaSetDevice(one[0].gpu));
	if (r->first)
		TRY_NCCL(ncclGetUniqueId(&id));
	TRY_MPI(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD));
	TRY_NCCL(ncclCommInitRank(&one[0].comm, r->n, id, one[0].index));
	r->here.swap(one);
	return BENCH_OK;
}
#endif

/* --- both ------------------------------------------------------------------------------------------------ */

/* Two buffers, and what NCCL takes for itself; the same everywhere. */
static enum bench_status
fit(const struct ranks *r, size_t *most_byte)
{
	for (const struct rank &rank : r->here) {
		size_t free_byte = 0, total_byte = 0;
		TRY(cudaSetDevice(rank.gpu));
		TRY(cudaMemGetInfo(&free_byte, &total_byte));
		while (*most_byte > 65536 && 4 * *most_byte > free_byte)
			*most_byte /= 2;
	}
#ifdef BENCH_MPI
	unsigned long long mine = *most_byte, least = mine;
	if (world_size() > 1)
		TRY_MPI(MPI_Allreduce(&mine, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD));
	*most_byte = static_cast<size_t>(least);
#endif
	return BENCH_OK;
}

enum bench_status
ranks_join(struct bench *b, struct ranks *r, size_t *most_byte)
{
#ifdef BENCH_MPI
	TRY_STATUS(world_size() > 1 ? join_many(r) : join_alone(b, r));
#else
	TRY_STATUS(join_alone(b, r));
#endif
	TRY_STATUS(fit(r, most_byte));
	for (struct rank &rank : r->here)
		TRY_STATUS(make(&rank, *most_byte));
	return BENCH_OK;
}

enum bench_status
ranks_leave(struct ranks *r)
{
	for (struct rank &rank : r->here) {
		TRY(cudaSetDevice(rank.gpu));
		TRY_NCCL(ncclCommDestroy(rank.comm));
		rank.comm = nullptr;
	}
#ifdef BENCH_MPI
	if (world_size() > 1)
		TRY_MPI(MPI_Finalize());
#endif
	return BENCH_OK;
}

bool
ranks_wait(const struct bench *b, struct ranks *r)
{
	const double start_s = bench_now();

	for (struct rank &rank : r->here) {
		cudaError_t state = cudaErrorNotReady;
		ncclResult_t async = ncclSuccess;

		while (state == cudaErrorNotReady) {
			state = cudaStreamQuery(rank.stream.is);
			if (state != cudaErrorNotReady)
				break;
			if (!NCCL_OK(ncclCommGetAsyncError(rank.comm, &async)) || !NCCL_OK(async))
				return false;
			if (bench_now() - start_s > r->patience_s) {
				bench_say(b, "GPU %d does not answer: given up after %.0f s", rank.gpu, r->patience_s);
				return false;
			}
		}
		if (!CUDA_OK(state))
			return false;
	}
	return true;
}

void
ranks_abort(struct ranks *r)
{
	for (struct rank &rank : r->here)
		if (rank.comm) {
			(void)ncclCommAbort(rank.comm);
			rank.comm = nullptr;
		}
#ifdef BENCH_MPI
	if (world_size() > 1)
		(void)MPI_Abort(MPI_COMM_WORLD, BENCH_FAILED);
#endif
}

void
ranks_tell(const struct ranks *r, long *words, int n)
{
#ifdef BENCH_MPI
	if (static_cast<int>(r->here.size()) < r->n)
		(void)MPI_Bcast(words, n, MPI_LONG, 0, MPI_COMM_WORLD);
#endif
	(void)r;
	(void)words;
	(void)n;
}

double
ranks_largest(const struct ranks *r, double x)
{
	double largest = x;

#ifdef BENCH_MPI
	if (static_cast<int>(r->here.size()) < r->n)
		(void)MPI_Reduce(&x, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
#endif
	(void)r;
	return largest;
}
