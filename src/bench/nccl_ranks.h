/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of a collective.  Started alone, one process drives all GPUs of the machine; started by mpirun or srun, each
 * process drives one, and the first tells the others how often to repeat what.
 */
#ifndef BENCH_NCCL_RANKS_H
#define BENCH_NCCL_RANKS_H

#include "cuda.h"

#include <nccl.h>
#include <vector>

bool nccl_ok(ncclResult_t result, const char *call, const char *file, int line);

#define NCCL_OK(call) nccl_ok((call), #call, __FILE__, __LINE__)
#define TRY_NCCL(call)                                                                                                 \
	do {                                                                                                           \
		if (!NCCL_OK(call))                                                                                    \
			return BENCH_FAILED;                                                                           \
	} while (0)

struct rank {
	int index, gpu; /* among all; on this machine */
	ncclComm_t comm;
	cudaStream_t stream;
	device_array<unsigned char> out, in;
};

struct ranks {
	int n, n_nodes; /* in all */
	std::vector<struct rank> here;
	bool first; /* this process prints */
};

/* Whether processes of several machines can be joined: built with MPI. */
bool ranks_can_join(void);
/* `most_byte`: of the largest buffer; less afterwards where a GPU has no room for it. */
enum bench_status ranks_join(struct ranks *r, size_t *most_byte);
enum bench_status ranks_leave(struct ranks *r);
/* From the first process to all: what to do next. */
void ranks_tell(const struct ranks *r, long *words, int n);
/* The largest of a number over all processes, in the first. */
double ranks_largest(const struct ranks *r, double x);

#endif
