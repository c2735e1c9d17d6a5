/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked on the command line. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "bench.h"

#include <stdio.h>

enum { ONLY_MAX = 32 };

struct options {
	bool quick, list, help, version, device_given;
	int gpu; /* -1: the host */
	uint64_t seed;
	size_t n_only;
	const char *only[ONLY_MAX];
};

/* False: the line is wrong, and standard error says how. */
bool options_read(int argc, char **argv, struct options *out);
void options_print(FILE *to);

#endif
