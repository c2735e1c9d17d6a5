/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of a collective.  Started alone, one process drives all GPUs of the machine; started by mpirun or srun, each
 * process drives one, and the first tells the others how often to repeat what.
 */
#ifndef BENCH_NCCL_RANKS_H
#define BENCH_NCCL_RANKS_H

#include "cuda.h"

#include <nccl.h>

bool nccl_ok(ncclResult_t result, const char *call, const char *file, int line);

#define NCCL_OK(call) nccl_ok((call), #call, __FILE__, __LINE__)
#define TRY_NCCL(call)                                                                                                 \
	do {                                                                                                           \
		if (!NCCL_OK(call))                                                                                    \
			return BENCH_FAILED;                                                                           \
	} while (0)

struct rank {
	int index, gpu; /* among all; on this machine */
	ncclComm_t comm = nullptr;
	struct cuda_stream stream;
	struct cuda_graph graph; /* of calls that were recorded */
	device_array<unsigned char> out, in;
};

struct ranks {
	int n, n_nodes; /* in all */
	std::vector<struct rank> here;
	bool first;     /* this process prints */
	bool no_graphs; /* capturing failed once */
	double patience_s;
};

/* Whether processes of several machines can be joined: built with MPI. */
bool ranks_can_join(void);
/* `most_byte`: of the largest buffer; less afterwards where a GPU has no room for it. */
enum bench_status ranks_join(struct bench *b, struct ranks *r, size_t *most_byte);
enum bench_status ranks_leave(struct ranks *r);
/* Until all GPUs of this process have ended.  False: one failed or does not answer, which is said. */
bool ranks_wait(const struct bench *b, struct ranks *r);
/* After a failure: end what still runs, and the other processes, which would wait for ever. */
void ranks_abort(struct ranks *r);
/* From the first process to all: what to do next. */
void ranks_tell(const struct ranks *r, long *words, int n);
/* The largest of a number over all processes, in the first. */
double ranks_largest(const struct ranks *r, double x);

#endif
