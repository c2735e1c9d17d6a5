/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replicas of serving engines for the models that take one: every engine of the database, on GPUs that were measured.
 */
#include "law/law.h"

#include "db/db.h"
#include "law/serving.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ENGINES = 64 };

static const char *const gpus[] = {"a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm5-141gb", "b200-sxm"};
enum { N_GPUS = sizeof gpus / sizeof *gpus };

struct servings {
	struct arena *arena;
	struct database *db;
	const struct engine *engines[MOST_ENGINES];
	unsigned n_engines;
	const struct gpu *gpus[N_GPUS];
	const struct workload *usual; /* where a model cannot be served */
};

struct servings *
servings_new(struct arena *a, struct diag *d, struct database *db)
{
	struct servings *s = ARENA_NEW(a, struct servings);
	size_t n;
	const char **ids = database_list(db, ENTRY_ENGINE, &n), *said;

	s->arena = a;
	s->db = db;
	for (size_t i = 0; i < n && s->n_engines < MOST_ENGINES; i++) {
		const struct engine *e = database_engine(db, a, d, ids[i], NULL, (struct source){0}, &said);
		if (e)
			s->engines[s->n_engines++] = e;
	}
	for (int i = 0; i < N_GPUS; i++)
		s->gpus[i] = database_gpu(db, gpus[i], NULL, (struct source){0}, &said);
	s->usual = database_model(db, "llama3.1-8b", NULL, (struct source){0}, &said);
	return s;
}

static const struct engine *
engine_for(const struct servings *s, unsigned seed, const char *id)
{
	for (unsigned i = 0; id && i < s->n_engines; i++)
		if (strcmp(s->engines[i]->id, id) == 0)
			return s->engines[i];
	return s->engines[draw_choice(seed, "engine", s->n_engines)];
}

const struct serve_setup *
serving_make(
    const struct servings *s, struct arena *a, unsigned seed, const struct workload *decoder, const char *engine)
{
	static const enum dtype computes[] = {DTYPE_BF16, DTYPE_FP16, DTYPE_INT8, DTYPE_BF16};
	static const enum dtype weights[] = {DTYPE_BF16, DTYPE_FP16, DTYPE_INT8, DTYPE_INT4};
	const struct engine *e = engine_for(s, seed, engine);
	const struct gpu *gpu = s->gpus[draw_choice(seed, "serving gpu", N_GPUS)];
	const unsigned types = draw_choice(seed, "serving types", 4);
	const double tp = 1u << draw_choice(seed, "serving tp", 4);
	struct serve_setup *out = arena_take(a, sizeof *out);
	struct calibration *kernels = arena_take(a, sizeof *kernels);
	struct serve_parts p = {
	    .model = decoder,
	    .gpu = gpu,
	    .engine = e,
	    .consensus = database_calibration(s->db, gpu->id, NULL),
	    .own = database_calibration(s->db, gpu->id, e->backend),
	    .compute = computes[types],
	    .weights = weights[types],
	    .kv = draw_choice(seed, "serving kv", 2) ? DTYPE_FP8 : DTYPE_BF16,
	    .layout = {tp, 1u << draw_choice(seed, "serving pp", 2), 1, draw_choice(seed, "serving dp", 2) && tp > 1},
	    .linked = draw_choice(seed, "serving links", 4) > 0,
	};

	if (serve_assemble(out, kernels, &p)) {
		p.model = s->usual;
		p.compute = p.weights = DTYPE_BF16;
		if (serve_assemble(out, kernels, &p))
			abort();
	}
	if (datum_given(e->core_element))
		out->core_attention = draw_choice(seed, "serving core", 2) != 0;
	return out;
}
