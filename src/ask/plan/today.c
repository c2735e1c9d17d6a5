/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layout that runs today. */
#include "ask/plan/plan.h"

#include <string.h>

struct today_in {
	struct memory_in memory;
	struct training_in training;
	struct layout_in layout;
	struct train_in train;
};

#define THIS struct train_in
static const struct option step_rows[] = {TRAIN_OPTIONS(OPTION_ROW)};
#undef THIS
static const struct option_group today_groups[] = {
    {memory_rows, 0 MEMORY_OPTIONS(OPTION_COUNT), offsetof(struct today_in, memory)},
    {training_rows, 0 TRAINING_OPTIONS(OPTION_COUNT), offsetof(struct today_in, training)},
    {layout_rows, 0 LAYOUT_OPTIONS(OPTION_COUNT), offsetof(struct today_in, layout)},
    OPTION_GROUP(step_rows, offsetof(struct today_in, train)),
};
static const struct command today_command = {.name = "plan",
    .groups = today_groups,
    .n_groups = sizeof today_groups / sizeof *today_groups,
    .input_size = sizeof(struct today_in)};

bool
plan_from_layout(struct run *r, struct word from, struct settings *out)
{
	if (!strchr(from.text, '=')) {
		diag_error(r->diag, from.from, "'%s' is neither a layout nor a launch file", from.text);
		diag_hint(r->diag, "write for example --from tp=8,pp=4,vp=5, or on the command line --from run.sh");
		return false;
	}
	return arguments_layout(r->arena, r->diag, from.text, from.from, out);
}

/* The inputs of train: what the plan was asked, without its pins, and what runs today. */
static bool
bind_inputs(struct run *r, const struct settings *today, struct today_in *out)
{
	const struct node *tree = tree_map(r->arena, (struct source){"command line", 0, 0, NULL, false});

	for (size_t g = 0; g < today_command.n_groups; g++)
		for (size_t i = 0; i < today_groups[g].n; i++) {
			const struct option *o = &today_groups[g].options[i];
			const struct node *n = tree_at(r->inputs, o->path);
			const bool pin = strncmp(o->path, "layout.", 7) == 0 && strcmp(o->path, "layout.no_sp") != 0;
			const bool open = n && n->kind == NODE_SCALAR && n->text && strcmp(n->text, "auto") == 0;
			const bool bubbles = n && strcmp(o->path, "schedule") == 0;
			if (n && !pin && !open && !bubbles)
				/* of types and frameworks to compare, the first is what runs today */
				tree = tree_with(
				    r->arena, tree, o->path, o->kind == KIND_WORDS ? n : tree_first(r->arena, n));
		}
	for (size_t i = 0; i < today->n; i++) {
		const struct setting *s = &today->list[i];
		tree = tree_with(r->arena, tree, s->path, tree_scalar(r->arena, s->text, s->at));
	}
	return inputs_bind(r->arena, r->diag, &today_command, tree, out);
}

/* The policy of the job, added to those of the space where it is none of them. */
static int
policy_of(struct layout_space *s, const struct memory_job *job, const char *text)
{
	for (int i = 0; i < s->n_policies; i++)
		if (s->policies[i].recompute == job->recompute && s->policies[i].modules == job->modules &&
		    !s->policies[i].away &&
		    (job->recompute == RECOMPUTE_NONE || job->recompute == RECOMPUTE_FULL ||
		        s->policies[i].n == job->recompute_n))
			return i;
	if (s->n_policies == MOST_POLICIES)
		s->n_policies--;
	s->policies[s->n_policies] = (struct layout_policy){
	    .recompute = job->recompute, .n = job->recompute_n, .modules = job->modules, .text = text};
	return s->n_policies++;
}

static const char *
joined(struct run *r, const struct words *list)
{
	const char *text = list->list[0].text;

	for (size_t i = 1; i < list->n; i++)
		text = arena_printf(r->arena, "%s,%s", text, list->list[i].text);
	return text;
}

/* Every micro-batch, every policy. */
static void
open_space(struct layout_space *s)
{
	s->batches.n = 0;
	s->n_policies = 0;
	layout_policies(s);
	s->n_rows = 1;
	s->exhaustive = false;
	s->n_threads = 1;
}

/* Whether the layers of each chunk are those of a layout without a list of them. */
static bool
splits_by_itself(const struct memory_job *job)
{
	struct memory_job open = *job;

	open.n_stage_layers = 0;
	for (int i = 0; i < job->n_stage_layers; i++)
		if (memory_chunk_layers(&open, i) != memory_chunk_layers(job, i))
			return false;
	return true;
}

bool
plan_bind_today(struct run *r, const struct plan_in *plan, const struct plan_question *b, const struct settings *said,
    struct plan_today *out)
{
	static const struct serving_in serving;
	static const struct numbers_in numbers;
	struct today_in *in = ARENA_NEW(r->arena, struct today_in);
	struct train_bound bound;
	struct train_answer answer;
	struct reads *reads = r->reads;

	if (!bind_inputs(r, said, in))
		return false;
	const struct train_question q = {
	    {&in->memory, &in->training, &serving, &numbers, &in->layout, NULL}, &in->train};
	/* of policies to compare, the first */
	if (in->training.recompute.n > 1)
		in->training.recompute.n = plan_policy_words(&in->training.recompute, 0);
	r->reads = NULL; /* the plan's own inputs have been read */
	const bool ok = run_train_bind(r, &q, &bound);
	r->reads = reads;
	if (!ok)
		return false;
	if (!splits_by_itself(&bound.memory))
		return run_refuse(r, in->training.stage_layers.list[0].from, "plan splits layers evenly over stages",
		    "use 'ridge train --stage-layers' for a list");
	run_reads(r, &plan->training.stage_layers, NULL);
	bound.memory.n_stage_layers = bound.ask.n_stage_layers = 0;
	train_answer(&bound.ask, &bound.doubts, &answer);
	if (answer.refusal) {
		diag_error(r->diag, plan->from.from, "no step time: %s", train_refusal_text(answer.refusal));
		diag_hint(r->diag, "see ridge-train(1), REFUSALS");
		return false;
	}
	out->variant = ARENA_NEW(r->arena, struct plan_variant);
	*out->variant = b->variants[0];
	out->n_gpus = bound.ask.n_gpus;
	struct layout_space *s = &out->variant->space;
	open_space(s);
	s->memory.no_sp = bound.memory.layout.tp > 1 && !bound.memory.layout.sp;
	s->n_global_sequences = answer.job.n_global_sequences;
	struct layout_row row = {.layout = bound.memory.layout,
	    .n_sequences = answer.job.n_sequences,
	    .policy = policy_of(s, &bound.memory, joined(r, &in->training.recompute)),
	    .step_s = answer.step_s,
	    .peak_byte = NAN,
	    .verdict = FITS,
	    .chance_frac = 1};
	if (s->modeled) {
		row.peak_byte = memory_peak(NULL, &bound.memory, NULL);
		row.verdict = memory_verdict(&bound.memory, row.peak_byte);
	}
	plan_fill(r, plan, out->variant, out->n_gpus, &row, &out->row);
	return true;
}
