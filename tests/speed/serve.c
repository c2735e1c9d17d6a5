/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Microseconds of one step of the serving model, nothing cached.  A benchmark, not a test. */
#include "model/serve/serve.h"
#include "base/base.h"
#include "db/db.h"

#include <stdio.h>
#include <time.h>

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const struct {
	const char *name, *model, *gpu;
	enum dtype type;
	struct serve_layout layout;
} cases[] = {
    {"8B on one GPU", "llama3.1-8b", "h100-sxm5-80gb", DTYPE_FP8, {1, 1, 1, false}},
    {"70B on four GPUs", "llama3.1-70b", "h100-sxm5-80gb", DTYPE_BF16, {4, 1, 1, false}},
    {"671B with experts on eight GPUs", "deepseek-v3", "b200-sxm", DTYPE_NVFP4, {8, 1, 8, true}},
};

/* Until a fifth of a second has passed; contexts and chunks differ from step to step. */
static double
one(const struct serve_setup *s)
{
	const double began = now();
	double sum = 0, n = 0;

	do
		for (int i = 0; i < 100; i++, n++) {
			const struct serve_batch b = {1, 100 + 7 * (i % 91), 0, 50 + i, 900 + i, 51 + i};
			sum += serve_iteration(NULL, s, &b, NULL);
		}
	while (now() - began < 0.2);
	return sum > 0 ? 1e6 * (now() - began) / n : 0;
}

int
main(void)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct database *db = database_new(a, d, ".");
	const char *said;
	const struct engine *e = database_engine(db, a, d, "trtllm", NULL, (struct source){0}, &said);

	for (size_t i = 0; e && i < sizeof cases / sizeof *cases; i++) {
		const struct gpu *gpu = database_gpu(db, cases[i].gpu, NULL, (struct source){0}, &said);
		const struct serve_parts p = {
		    .model = database_model(db, cases[i].model, NULL, (struct source){0}, &said),
		    .gpu = gpu,
		    .engine = e,
		    .consensus = database_calibration(db, cases[i].gpu, NULL),
		    .own = database_calibration(db, cases[i].gpu, e->backend),
		    .compute = cases[i].type,
		    .weights = cases[i].type,
		    .kv = serve_usual_kv(e, cases[i].type),
		    .layout = cases[i].layout,
		    .linked = true,
		};
		struct calibration *kernels = ARENA_NEW(a, struct calibration);
		struct serve_setup s;
		if (serve_assemble(&s, kernels, &p))
			continue;
		printf("%-44s %6.2f us\n", i ? cases[i].name : "a serving step, uncached: 8B on one GPU", one(&s));
	}
	arena_free(a);
	return 0;
}
