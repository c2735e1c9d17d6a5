/* SPDX-License-Identifier: Apache-2.0 */
/* Find rank and size of an mpirun or srun job in the environment. */
#include "world.h"

#include <stddef.h>
#include <stdlib.h>

/* The first of the variables that is set; -1: none is. */
static int
number_of(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *const text = getenv(names[i]);
		if (text && *text >= '0' && *text <= '9')
			return atoi(text);
	}
	return -1;
}

/* Open MPI, MPICH and its kin, Slurm's srun. */
int
world_size(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
	const int size = number_of(names, sizeof names / sizeof *names);

	return size > 1 ? size : 1;
}

int
world_local_rank(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
	const int rank = number_of(names, sizeof names / sizeof *names);

	return rank > 0 ? rank : 0;
}
