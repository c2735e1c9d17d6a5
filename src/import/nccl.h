/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the text tables and the JSON files of nccl-tests have in common. */
#ifndef RIDGE_IMPORT_NCCL_H
#define RIDGE_IMPORT_NCCL_H

#include "import/measurement_parts.h"

/* Our name of an element type, `bf16` for `bfloat16`; the same text where there is none; NULL when it is no type. */
const char *nccl_type(const char *text, size_t length);
/* The collective that a program's name means (`./build/all_reduce_perf -b 8`), or NULL. */
const char *nccl_collective(const char *text);
/* Who is there, from `# Rank ...` lines or a list of devices. */
struct nccl_ranks {
	int n, n_hosts;
	const char **hosts;
	const char *device;
};
void nccl_rank(struct measurement_reader *r, struct nccl_ranks *ranks, const char *host, size_t length);

#endif
