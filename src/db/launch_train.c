/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a launch file says of a training run, as inputs. */

#include "base/base.h"
#include "db/parts.h"

#include <math.h>
#include <string.h>

/* What the framework takes where an option is not said: another input, or a value. */
static void
take_unsaid(struct launch_reading *r)
{
	for (int i = 0; i < r->by->n_rules; i++) {
		const struct launcher_rule *rule = &r->by->rules[i];
		if (rule->absent && !r->facts[rule->fact])
			r->facts[rule->fact] =
			    rule->stand_in == N_LAUNCH_FACTS ? rule->absent : r->facts[rule->stand_in];
	}
}

/* A degree that is not said is 1.  Without expert parallelism experts are divided as all else is anyway. */
static void
put_degrees(struct launch_reading *r)
{
	static const struct {
		enum launch_fact fact;
		const char *path;
	} degrees[] = {{LAUNCH_TP, "layout.tp"}, {LAUNCH_PP, "layout.pp"}, {LAUNCH_VP, "layout.vp"},
	    {LAUNCH_CP, "layout.cp"}, {LAUNCH_EP, "layout.ep"}};

	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
		if (launch_can_say(r->by, degrees[i].fact, ""))
			launch_put_number(r, degrees[i].path, launch_number(r, degrees[i].fact, 1));
	const bool as_usual =
	    launch_number(r, LAUNCH_EP, 1) == 1 && launch_number(r, LAUNCH_ETP, 1) == launch_number(r, LAUNCH_TP, 1);
	if (r->facts[LAUNCH_ETP] && !as_usual)
		launch_put(r, "layout.etp", r->facts[LAUNCH_ETP]);
	launch_put_stages(r);
}

/* torchtitan's mesh: parameters are sharded over its own degree, by default all that the others leave, and over cp; the
 * rest are copies.  Where that is one rank they are whole.  Pipelines keep them between micro-batches unless told not
 * to (distributed/parallel_dims.py, models/llama3/infra/parallelize.py). */
static void
put_mesh(struct launch_reading *r)
{
	const double cp = launch_number(r, LAUNCH_CP, 1), pp = launch_number(r, LAUNCH_PP, 1),
	             copies = launch_number(r, LAUNCH_COPIES, 1), said = launch_number(r, LAUNCH_SHARD, -1);
	const double n_shards =
	    said >= 1 ? said * cp : r->known.n_gpus / (launch_number(r, LAUNCH_TP, 1) * pp) / copies;

	if (!r->facts[LAUNCH_ZERO])
		launch_put(r, "layout.zero", n_shards == 1 ? "0" : pp > 1 ? "2" : "3");
	else
		launch_put(r, "layout.zero", n_shards == 1 ? "0" : r->facts[LAUNCH_ZERO]);
	if (!(copies > 1) || n_shards == 1)
		return;
	if (n_shards >= 1 && fmod(n_shards, 1) == 0)
		launch_put_number(r, "layout.shard", n_shards);
	else
		launch_miss(r, "copies of the model: add --layout shard=N");
}

static void
put_sharding(struct launch_reading *r)
{
	const char *zero = r->facts[LAUNCH_ZERO];

	if (launch_can_say(r->by, LAUNCH_SHARD, "")) {
		put_mesh(r);
		return;
	}
	if (zero)
		launch_put(r, "layout.zero", zero);
	else if (launch_can_say(r->by, LAUNCH_ZERO, "1"))
		launch_put(r, "layout.zero", "0");
	if (r->facts[LAUNCH_SP] && strcmp(r->facts[LAUNCH_SP], "true") == 0)
		launch_put(r, "layout.sp", "true");
	else if (launch_can_say(r->by, LAUNCH_SP, "true") && launch_number(r, LAUNCH_TP, 1) > 1)
		launch_put(r, "layout.no_sp", "true");
	const double n_copies = launch_number(r, LAUNCH_INSTANCES, 1);
	if (r->facts[LAUNCH_INSTANCES] && r->facts[LAUNCH_SHARD])
		launch_put(r, "layout.shard", r->facts[LAUNCH_SHARD]);
	if (!(n_copies > 1))
		return;
	const double n_shards =
	    r->known.n_gpus / (launch_number(r, LAUNCH_TP, 1) * launch_number(r, LAUNCH_PP, 1)) / n_copies;
	if (n_shards >= 1 && fmod(n_shards, 1) == 0)
		launch_put_number(r, "layout.shard", n_shards);
	else
		launch_miss(r, "copies of the optimizer's states: add --layout shard=N");
}

static void
put_recompute(struct launch_reading *r)
{
	const char *policy = r->facts[LAUNCH_RECOMPUTE], *n = r->facts[LAUNCH_RECOMPUTE_LAYERS];

	if (launch_number(r, LAUNCH_OFFLOAD_LAYERS, 0) > 0) {
		launch_put(r, "recompute", arena_printf(r->arena, "offload-%s", r->facts[LAUNCH_OFFLOAD_LAYERS]));
		return;
	}
	if (!policy || strcmp(policy, "offload") == 0)
		return;
	if (strcmp(policy, "every") == 0 || strcmp(policy, "uniform") == 0 || strcmp(policy, "block") == 0)
		launch_put(r, "recompute", n ? arena_printf(r->arena, "%s-%s", policy, n) : "full");
	else if (strcmp(policy, "modules") == 0)
		launch_put(r, "recompute", r->facts[LAUNCH_MODULES] ? r->facts[LAUNCH_MODULES] : "core_attn");
	else
		launch_put(r, "recompute", policy);
}

static bool
is_on(const struct launch_reading *r, enum launch_fact fact)
{
	return r->facts[fact] && strcmp(r->facts[fact], "true") == 0;
}

/* What waits in the host's memory. */
static void
put_offload(struct launch_reading *r)
{
	const char *list[] = {r->facts[LAUNCH_OFFLOAD], is_on(r, LAUNCH_OFFLOAD_CHECKPOINTS) ? "activations" : NULL,
	    is_on(r, LAUNCH_OFFLOAD_FINE) ? r->facts[LAUNCH_OFFLOAD_MODULES] : NULL};
	const char *all = NULL;

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (list[i])
			all = all ? arena_printf(r->arena, "%s,%s", all, list[i]) : list[i];
	if (all)
		launch_put(r, "offload", all);
}

/* DeepSpeed's `auto` is what the trainer was told on its own command line. */
static void
miss_auto(struct launch_reading *r)
{
	static const struct {
		enum launch_fact fact;
		const char *what;
	} rows[] = {{LAUNCH_MICRO_BATCH, "micro-batch (auto): add --batch N"},
	    {LAUNCH_ACCUMULATION, "gradient accumulation (auto): add --global-batch N"},
	    {LAUNCH_GLOBAL_BATCH, "global batch (auto): add --global-batch N"}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (r->facts[rows[i].fact] && strcmp(r->facts[rows[i].fact], "auto") == 0) {
			launch_miss(r, rows[i].what);
			r->facts[rows[i].fact] = NULL;
		}
}

/* Whether something is off: it says so, or leaves out the option that switches it on. */
static bool
is_off(const struct launch_reading *r, enum launch_fact fact)
{
	if (r->facts[fact])
		return strcmp(r->facts[fact], "false") == 0;
	for (int i = 0; i < r->by->n_rules; i++)
		if (r->by->rules[i].fact == fact && r->by->rules[i].is_switch)
			return true;
	return false;
}

/* Stacks overlap communication where a launch does not leave that off. */
static void
put_overlap(struct launch_reading *r)
{
	if (is_off(r, LAUNCH_OVERLAP_GRADIENTS))
		launch_put(r, "stack.time.overlaps_data", "false");
	if (launch_number(r, LAUNCH_TP, 1) > 1 && is_off(r, LAUNCH_OVERLAP_TENSOR))
		launch_put(r, "stack.time.overlaps_tensor", "false");
}

/* Sequences of a micro-batch, and how many micro-batches a step has where the global batch is not said. */
static void
put_batch(struct launch_reading *r)
{
	const bool by_ranks =
	    launch_can_say(r->by, LAUNCH_LOCAL_BATCH, ""); /* a rank's part, of one micro-batch or more */
	const double local = launch_number(r, LAUNCH_LOCAL_BATCH, NAN),
	             piece = launch_number(r, LAUNCH_PIPELINE_BATCH, 1),
	             micro = !by_ranks           ? launch_number(r, LAUNCH_MICRO_BATCH, NAN)
	    : launch_number(r, LAUNCH_PP, 1) > 1 ? piece
	                                         : local,
	             n_steps = by_ranks ? local / micro : launch_number(r, LAUNCH_ACCUMULATION, 1),
	             all = launch_number(r, LAUNCH_GLOBAL_BATCH, NAN);
	const double n_ranks = r->known.n_gpus /
	    (launch_number(r, LAUNCH_TP, 1) * launch_number(r, LAUNCH_PP, 1) * launch_number(r, LAUNCH_CP, 1));

	if (!isnan(micro))
		launch_put_number(r, "batch", micro);
	if (all >= 1)
		launch_put(r, "global_batch", r->facts[LAUNCH_GLOBAL_BATCH]);
	else if (!isnan(micro) && r->by->form != LAUNCH_OVERRIDES) /* recipes have one */
		launch_put_number(r, "microbatches", n_steps);
	else if (r->facts[LAUNCH_ACCUMULATION])
		launch_put(r, "microbatches", r->facts[LAUNCH_ACCUMULATION]);
	if (r->facts[LAUNCH_ACCUMULATION] && all >= 1 && micro * n_steps * n_ranks != all && n_ranks >= 1 && micro >= 1)
		launch_miss(r,
		    arena_printf(r->arena,
		        "a global batch of %g, which is not %g x %g on %g ranks: it is for another number of GPUs", all,
		        micro, n_steps, n_ranks));
}

void
launch_put_training(struct launch_reading *r)
{
	static const struct {
		enum launch_fact fact;
		const char *path;
	} rows[] = {{LAUNCH_SEQ, "seq"}, {LAUNCH_DTYPE, "dtype"}, {LAUNCH_GRAD_DTYPE, "grad_dtype"},
	    {LAUNCH_MOMENT_DTYPE, "moment_dtype"}, {LAUNCH_STATES, "states"}, {LAUNCH_CP_COMM, "cp_comm"},
	    {LAUNCH_DISPATCHER, "dispatcher"}, {LAUNCH_FP8_PARAMS, "fp8_params"}, {LAUNCH_LOSS, "loss"},
	    {LAUNCH_COMPILE, "compile"}, {LAUNCH_MTP, "mtp"}, {LAUNCH_ATTENTION, "attention"},
	    {LAUNCH_DROPOUT, "dropout"}};
	const char *schedule = r->facts[LAUNCH_SCHEDULE];

	const char *recipe = r->facts[LAUNCH_FP8_RECIPE];

	miss_auto(r);
	take_unsaid(r);
	if (recipe && !text_lists("tensorwise delayed mxfp8", recipe))
		launch_miss(r, arena_printf(r->arena, "scales of FP8 that are %s: the step is that of FP8", recipe));
	put_overlap(r);
	launch_put(r, "stack",
	    r->facts[LAUNCH_STACK] ? r->facts[LAUNCH_STACK]
	                           : arena_copy(r->arena, r->by->stacks, strcspn(r->by->stacks, " ")));
	put_degrees(r);
	put_sharding(r);
	put_recompute(r);
	put_offload(r);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (r->facts[rows[i].fact])
			launch_put(r, rows[i].path, r->facts[rows[i].fact]);
	put_batch(r);
	if (schedule && strcmp(schedule, "gpipe") == 0)
		launch_put(r, "schedule", "gpipe");
	if (schedule && strcmp(schedule, "zero-bubble") == 0)
		launch_put(r, "zero_bubble", "true");
}
