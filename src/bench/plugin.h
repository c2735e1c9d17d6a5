/* SPDX-License-Identifier: Apache-2.0 */
/* Shared objects with the subjects of GPUs, which are loaded where they and their libraries are found. */
#ifndef BENCH_PLUGIN_H
#define BENCH_PLUGIN_H

#include "bench.h"

struct plugin {
	const char *name;              /* ridge-bench-NAME.so; NULL ends the list */
	const char *title;             /* what people read */
	const struct bench_plugin *is; /* NULL: not loaded, and why */
	int n_gpus;
	char why[500];
};

/* The first is the one that every other GPU subject needs. */
const struct plugin *plugins_load(bool wanted);

#endif
