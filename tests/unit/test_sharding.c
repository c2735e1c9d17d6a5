/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Laws of sharding, over every framework and every model of the database that has a rule. */
#include "db/db.h"
#include "model/memory/memory.h"

#include <check.h>
#include <string.h>

static struct arena *arena;
static struct diag *diag;
static struct database *db;

static void
set_up(void)
{
	arena = arena_new();
	diag = diag_new(arena);
	db = database_new(arena, diag, ".");
}

static void
tear_down(void)
{
	ck_assert_int_eq(diag_errors(diag), 0);
	arena_free(arena);
}

static struct datum
number(double value)
{
	return (struct datum){value, {0}};
}

/* A job of this framework as `ridge memory` makes it where nothing is said. */
static struct memory_job
job_of(const struct workload *w, const struct stack *s, const struct layout *l, double n_microbatches)
{
	struct memory_job job = {.use = STACK_TRAIN,
	    .model = w,
	    .stack = s,
	    .layout = *l,
	    .batch = number(1),
	    .seq = number(2048),
	    .n_microbatches = number(n_microbatches),
	    .dtype = DTYPE_BF16,
	    .weight_copies = 2,
	    .scheme = s->scheme,
	    .gradient_byte = datum_absent(),
	    .recompute_n = 1,
	    .flash = s->flash,
	    .dropout = s->dropout,
	    .imbalance = number(1),
	    .lora_rank = number(0),
	    .context_byte = number(0),
	    .headroom_frac = datum_absent()};

	for (int i = 0; i < s->n_losses; i++)
		if (strcmp(s->losses[i].name, s->loss) == 0)
			job.loss = &s->losses[i];
	job.layout.shard = l->shard > 0 ? l->shard : l->dp * l->cp;
	job.layout.sp = layout_usual_sp(s, l->tp);
	job.layout.etp = layout_usual_etp(w, l);
	return job;
}

static bool
has_forms(const struct workload *w, const struct stack *s, const struct layout *l)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (fmod(w->blocks[i].attention.n_heads.value, l->tp) != 0)
			return false;
	return (l->tp == 1 || s->tensor) && (l->pp == 1 || s->pipeline) && (l->cp == 1 || s->context) &&
	    l->pp * l->vp <= w->n_layers.value;
}

typedef void law_fn(const struct workload *w, const struct stack *s);

static int
for_all(law_fn *law)
{
	size_t n_stacks, n_models;
	const char *said, **stacks = database_list(db, ENTRY_STACK, &n_stacks);
	const char **models = database_list(db, ENTRY_MODEL, &n_models);
	int n = 0;

	for (size_t i = 0; i < n_stacks; i++) {
		const struct stack *s = database_stack(db, arena, diag, stacks[i], NULL, (struct source){0}, &said);
		for (size_t k = 0; s->use == STACK_TRAIN && k < n_models; k++) {
			const struct workload *w = database_model(db, models[k], NULL, (struct source){0}, &said);
			const struct memory_job probe = {.use = STACK_TRAIN, .model = w};
			if (memory_lacks_rule(&probe))
				continue;
			law(w, s);
			n++;
		}
	}
	return n;
}

/* --- each stage of ZeRO divides more --------------------------------------------------------------------- */

static const struct layout layouts[] = {
    {.dp = 2, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1},
    {.dp = 8, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1},
    {.dp = 64, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1},
    {.dp = 8, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .shard = 2},
    {.dp = 8, .tp = 2, .pp = 1, .vp = 1, .cp = 1, .ep = 1},
    {.dp = 4, .tp = 1, .pp = 1, .vp = 1, .cp = 2, .ep = 1},
    {.dp = 8, .tp = 1, .pp = 4, .vp = 1, .cp = 1, .ep = 1},
};

static void
stages_shrink(const struct workload *w, const struct stack *s)
{
	for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++)
		for (double m = 1; has_forms(w, s, &layouts[k]) && m <= 4; m *= 4) {
			struct memory_job job = job_of(w, s, &layouts[k], m * layouts[k].pp);
			double last = memory_peak(NULL, &job, NULL);
			for (job.layout.zero = 1; job.layout.zero <= (int)datum_or(s->max_zero, 0); job.layout.zero++) {
				struct memory_use use;
				const double peak = memory_peak(NULL, &job, &use);
				/* FSDP in a pipeline sums whole gradients: published peaks lie above even this rule */
				const bool sums = job.layout.zero == 2 && job.layout.pp > 1;
				ck_assert_msg(sums || peak <= last * (1 + 1e-12),
				    "%s of %s, layout %zu: zero=%d needs %.4g, zero=%d %.4g (%s, buffers %.3g)", w->id,
				    s->id, k, job.layout.zero, peak, job.layout.zero - 1, last, moment_name(use.moment),
				    use.buffers);
				last = peak;
			}
		}
}

START_TEST(each_stage_needs_less)
{
	ck_assert_int_gt(for_all(stages_shrink), 1000);
}
END_TEST

/* --- fewer GPUs of a hybrid shard hold more -------------------------------------------------------------- */

static void
shards_shrink(const struct workload *w, const struct stack *s)
{
	const struct layout l = {.dp = 16, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1};
	struct memory_job job = job_of(w, s, &l, 1);

	for (job.layout.zero = 1; job.layout.zero <= (int)datum_or(s->max_zero, 0); job.layout.zero++) {
		double last = INFINITY;
		for (job.layout.shard = 1; job.layout.shard <= 16; job.layout.shard *= 2) {
			const double peak = memory_peak(NULL, &job, NULL);
			ck_assert_msg(peak <= last * (1 + 1e-12), "%s of %s: zero=%d, %g GPUs share a copy", w->id,
			    s->id, job.layout.zero, job.layout.shard);
			last = peak;
		}
	}
}

START_TEST(smaller_shards_hold_more)
{
	ck_assert_int_gt(for_all(shards_shrink), 1000);
}
END_TEST

/* --- uneven stages -------------------------------------------------------------------------------------- */

static const struct stack *
framework(const char *name)
{
	const char *said;
	const struct stack *s = database_stack(db, arena, diag, name, NULL, (struct source){0}, &said);

	ck_assert_ptr_nonnull(s);
	return s;
}

/* 126 layers are 128 chunks with the embedding and the loss, which releases of 2024 cannot count. */
START_TEST(old_releases_count_layers_alone)
{
	const struct workload w = {.n_layers = number(126)};
	const struct stack *old = framework("mlperf-v4"), *new = framework("megatron-bridge");

	ck_assert(layout_splits_evenly(new, &w, 128) && layout_splits_evenly(old, &w, 126));
	ck_assert(!layout_splits_evenly(old, &w, 128) && !layout_splits_evenly(new, &w, 125));
	ck_assert_double_eq(layout_finest_chunks(new, &w, 16), 8);
	ck_assert_double_eq(layout_finest_chunks(old, &w, 16), 1);
}
END_TEST

/* A mixture of 61 layers is 64 with the embedding and a head that weighs two, from the release that takes strings. */
START_TEST(mixtures_are_written_down)
{
	struct block blocks[2] = {
	    {.count = number(1)}, {.count = number(60), .moe = {.given = true, .n_experts = number(8)}}};
	const struct workload w = {.n_layers = number(61), .n_blocks = 2, .blocks = blocks};
	const struct stack *old = framework("nemo"), *new = framework("megatron-bridge");

	ck_assert(layout_splits_evenly(new, &w, 16) && layout_splits_evenly(new, &w, 64));
	ck_assert(!layout_splits_evenly(new, &w, 65) && !layout_splits_evenly(old, &w, 16));
	/* as many layers as there are, and the spare ones lack at the ends */
	const struct memory_job job = {.model = &w, .layout = {.pp = 4, .vp = 4}};
	double sum = 0;
	for (int chunk = 0; chunk < 16; chunk++) {
		const int n = memory_chunk_layers(&job, chunk);
		ck_assert_int_eq(n, chunk == 0 ? 3 : chunk == 15 ? 2 : 4);
		sum += n;
	}
	ck_assert_double_eq(sum, 61);
}
END_TEST

/* Two parts for each rank of context parallelism, one for each of a group with parallel sequences. */
START_TEST(sequences_are_divided)
{
	static const struct {
		const char *stack;
		double tp, cp;
		bool sp;
		double unit;
	} rows[] = {{"megatron-core", 1, 1, false, 1}, {"megatron-core", 8, 1, false, 1},
	    {"megatron-core", 8, 1, true, 8}, {"megatron-core", 1, 4, false, 8}, {"megatron-core", 2, 4, true, 8},
	    {"megatron-core", 3, 4, true, 24}, {"torchtitan", 1, 1, false, 1}, {"torchtitan", 8, 1, true, 16},
	    {"torchtitan", 2, 4, true, 16}};
	struct workload w = {.kind = MODEL_DECODER};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct layout l = {.tp = rows[i].tp, .cp = rows[i].cp, .sp = rows[i].sp};
		ck_assert_double_eq(layout_sequence_unit(framework(rows[i].stack), &w, &l), rows[i].unit);
	}
	w.kind = MODEL_VISION;
	ck_assert_double_eq(
	    layout_sequence_unit(framework("megatron-core"), &w, &(struct layout){.tp = 8, .cp = 1, .sp = true}), 1);
}
END_TEST

Suite *sharding_suite(void);

Suite *
sharding_suite(void)
{
	Suite *s = suite_create("sharding");
	TCase *t = tcase_create("laws");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, each_stage_needs_less);
	tcase_add_test(t, smaller_shards_hold_more);
	tcase_add_test(t, old_releases_count_layers_alone);
	tcase_add_test(t, mixtures_are_written_down);
	tcase_add_test(t, sequences_are_divided);
	suite_add_tcase(s, t);
	return s;
}
