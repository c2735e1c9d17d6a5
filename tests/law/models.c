/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The registry of models.def: each model called with worlds of generated inputs, with a sheet and without. */
#include "law/law.h"

#include <string.h>

enum { WORLDS = 300 };

#define D(name) draw(x->seed, #name)
#define B(name) (draw_choice(x->seed, #name, 2) != 0)
#define BLOCK(job) (&(job)->model->blocks[x->seed % (unsigned)(job)->model->n_blocks])

/* Machines that somebody owns. */
#define OWNED                                                                                                          \
	((const struct cost_owned){datum(D(capital_usd)), datum(D(residual_frac)), datum(D(lifetime_s)),               \
	    datum(D(power_watt)), datum(D(pue)), datum(D(electricity_usd_per_joule)), datum(D(hosting_usd))})

/* A draft model beside the one that is served. */
#define DRAFT                                                                                                          \
	((const struct draft_cost){datum(D(draft_s)), datum(D(target_s)),                                              \
	    B(verified) ? datum(D(verify_s)) : datum_absent(), B(overhead) ? datum(D(overhead_s)) : datum_absent()})

/* A format, some with groups of their own; one of floating point. */
#define ANY_FORMAT (&formats[x->seed % N_FORMATS])
#define FLOAT_FORMAT (&formats[x->seed % (FORMAT_MXFP4 + 1)])

/* One stage, two branches of which one has two, one stage. */
#define STAGE(stage, in, beside)                                                                                       \
	{                                                                                                              \
#stage,                                                                                                \
		    {datum(D(stage##_s)), B(stage) ? datum(D(stage##_changed_s)) : datum_absent(), datum_absent() },   \
		        in, beside                                                                                     \
	}
#define STAGES                                                                                                         \
	((const struct stages){5, 3,                                                                                   \
	    (const struct stage[]){STAGE(a, 0, 0), STAGE(b, 1, 0), STAGE(c, 1, 0), STAGE(d, 1, 1), STAGE(e, 2, 0)}})
#define STAGE_CASE ((enum stage_time)(x->seed % N_STAGE_TIMES))

/* A linear layer, its norm and an activation. */
#define FUSED_OP(kind_, ...)                                                                                           \
	{                                                                                                              \
		.kind = OP_##kind_, .name = #kind_, .count = 1, .elem_byte = D(elem_byte), .dim = { __VA_ARGS__ }      \
	}
#define FUSED_OPS                                                                                                      \
	((const struct op[]){FUSED_OP(gemm, D(m), D(n), D(k)), FUSED_OP(norm, D(m), D(n)),                             \
	    FUSED_OP(elementwise, D(m) * D(n), D(reads), 1, 1)})

#define PUBLISHED                                                                                                      \
	((const struct reliability){                                                                                   \
	    .n_gpus = datum(D(n_gpus)), .period_s = datum(D(period_s)), .n_failures = datum(D(n_failures))})
#define FAILING                                                                                                        \
	((const struct failing){                                                                                       \
	    datum(D(mtbf_s)), datum(D(stall_s)), datum(D(stall_s) + D(behind_s)), datum(D(restart_s))})

#define EACH_1(a) D(a)
#define EACH_2(a, ...) D(a), EACH_1(__VA_ARGS__)
#define EACH_3(a, ...) D(a), EACH_2(__VA_ARGS__)
#define EACH_4(a, ...) D(a), EACH_3(__VA_ARGS__)
#define EACH_5(a, ...) D(a), EACH_4(__VA_ARGS__)
#define EACH_6(a, ...) D(a), EACH_5(__VA_ARGS__)
#define EACH_7(a, ...) D(a), EACH_6(__VA_ARGS__)
#define EACH_8(a, ...) D(a), EACH_7(__VA_ARGS__)
#define PICK(a, b, c, d, e, f, g, h, macro, ...) macro
#define EACH(...)                                                                                                      \
	PICK(__VA_ARGS__, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1, 0)                           \
	(__VA_ARGS__)

static struct datum
datum(double value)
{
	return (struct datum){value, {"generated", 0, 0, NULL, false}};
}

#define SECTION(title)
#define MODEL(function, title, source, limits, ...)                                                                    \
	static double call_##function(struct sheet *sh, const struct world *x)                                         \
	{                                                                                                              \
		return function(sh, EACH(__VA_ARGS__));                                                                \
	}
#define SHAPED(function, arguments, title, source, limits)                                                             \
	static double call_##function(struct sheet *sh, const struct world *x)                                         \
	{                                                                                                              \
		(void)x;                                                                                               \
		return function arguments;                                                                             \
	}
#include "law/models.def"
#undef SECTION
#undef MODEL
#undef SHAPED

#define SECTION(title) {.section = title},
#define MODEL(function, title, source, limits, ...)                                                                    \
	{#function, #__VA_ARGS__, call_##function, title, source, limits, NULL},
#define SHAPED(function, arguments, title, source, limits)                                                             \
	{#function, NULL, call_##function, title, source, limits, NULL},
const struct model models[] = {
#include "law/models.def"
};
#undef SECTION
#undef MODEL
#undef SHAPED
const size_t n_models = sizeof models / sizeof *models;

/* The same number with a sheet, without, and with one again. */
static void
check_model(struct faults *f, const struct model *m, const struct world *x, struct sheet *sh)
{
	sheet_clear(sh);
	const double with = m->call(sh, x), without = m->call(NULL, x);
	const int n = sheet_size(sh);

	if (n == 0) {
		fault_report(f, m->name, "records nothing");
		return;
	}
	law_check(sh, f);
	if (!same_bits(with, without))
		fault_report(f, m->name, "gives %.17g with a sheet, %.17g without", with, without);
	const struct row *last = NULL;
	for (int i = 0; i < n; i++)
		if (sheet_row(sh, i)->parent < 0 && sheet_row(sh, i)->kind != ROW_SCOPE &&
		    sheet_row(sh, i)->kind != ROW_WORD)
			last = sheet_row(sh, i);
	if (!last || !same_bits(last->value, with))
		fault_report(f, m->name, "does not return its last row, %s", last ? last->name : "-");
}

void
model_sheets(struct faults *f)
{
	struct worlds *all = worlds_new(f->arena, f->to);
	struct sheet *sh = sheet_new();

	for (unsigned seed = 0; seed < WORLDS; seed++) {
		struct arena *a = arena_new();
		struct world x;
		world_make(all, a, seed, &x);
		for (size_t i = 0; i < n_models; i++) {
			if (models[i].section)
				continue;
			f->where = arena_printf(f->arena, "%s, inputs %u", models[i].name, seed);
			check_model(f, &models[i], &x, sh);
		}
		arena_free(a);
	}
	sheet_free(sh);
}
