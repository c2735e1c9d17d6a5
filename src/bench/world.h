/* SPDX-License-Identifier: Apache-2.0 */
/* Processes started together by mpirun or srun. */
#ifndef BENCH_WORLD_H
#define BENCH_WORLD_H

#ifdef __cplusplus
extern "C" {
#endif

int world_size(void);       /* 1: started alone */
int world_local_rank(void); /* among those on this machine */

#ifdef __cplusplus
}
#endif
#endif
