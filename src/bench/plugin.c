/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct plugin plugins[] = {
    {.name = "cuda", .title = "GPU"},
    {.name = "nccl", .title = "collectives of GPUs"},
    {.name = NULL},
};

/* Beside the program, or where it is installed. */
static bool
path_of(const char *name, char *path, size_t size)
{
	static const char *const places[] = {".", "../libexec/ridge", "../lib/ridge"};
	char self[1024];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n > 0 ? n : 0] = '\0';
	char *const slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		snprintf(path, size, "%s/%s/ridge-bench-%s.so", self, places[i], name);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

static void
load(struct plugin *p)
{
	char path[1200];

	if (!path_of(p->name, path, sizeof path)) {
		snprintf(p->why, sizeof p->why,
		    "ridge-bench-%s.so was not built: `make bench` builds it, or says what it needs", p->name);
		return;
	}
	void *const object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		snprintf(p->why, sizeof p->why, "%s", dlerror());
		return;
	}
	const struct bench_plugin *const is = dlsym(object, "bench_plugin");
	if (!is || strcmp(is->version, BENCH_VERSION) != 0) {
		snprintf(p->why, sizeof p->why, "%.400s is of another version: build both together", path);
		return;
	}
	p->is = is;
	p->n_gpus = is->n_gpus(p->why, sizeof p->why);
}

const struct plugin *
plugins_load(bool wanted)
{
	for (struct plugin *p = plugins; p->name; p++)
		if (wanted)
			load(p);
		else
			snprintf(p->why, sizeof p->why, "not asked for");
	return plugins;
}
