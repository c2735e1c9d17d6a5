/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/inputs.h"
#include "cli/interval.h"
#include "cli/memory_in.h"
#include "cli/shape.h"
#include "data/database.h"
#include "engine/memory_fit.h"
#include "ridge/params.h"

#include <string.h>

struct memory_command_in {
	struct memory_in memory;
	struct training_in training;
	struct serving_in serving;
	struct numbers_in numbers;
	struct layout_in layout;
};

enum { MOST_FIXES = 6, NODE_GPUS = 8 };

/* --- a job for a known model ----------------------------------------------------------------------------- */

static void
title_of(struct run *r, const struct memory_job *job, const struct gpu *gpu)
{
	char layout[80];

	fit_layout_text(&job->layout, layout, sizeof layout);
	r->title = arena_printf(r->arena, "%s %s%s with %s, each of %g x %s (%s)", job->model->name,
	    job->use == STACK_INFER ? "served" : "trained", job->lora_rank.value > 0 ? " by adapters" : "",
	    job->stack->name, fit_gpus(&job->layout), gpu ? gpu->name : "GPU", layout);
}

/* Components at the largest moment, and their sum. */
static double
show_peak(struct run *r, const struct memory_job *job, struct memory_use *use)
{
	struct sheet *sh = r->sheet;

	CALL(sh, model_param, model_params(sh, job->model));
	SHOW(sh, model_param, "parameters of the model");
	CALL(sh, expected_byte, memory_peak(sh, job, use));
	SHOW(sh, expected_byte, "expected peak");
	struct interval i;
	if (run_answer_interval(r, memory_kind(job), expected_byte, &i))
		BETWEEN(sh, expected_byte, i.low, i.high, i.why);
	CALL(sh, safe_byte, memory_safe(sh, expected_byte, job->stack->safety));
	SHOW(sh, safe_byte, "safe (95 % of runs stay below)");
	return expected_byte;
}

static enum verdict
show_verdict(struct run *r, const struct memory_job *job, double expected_byte)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(job->card_byte))
		return FITS;
	TAKE(sh, card_byte, job->card_byte);
	CALL(sh, limit_byte, memory_limit(sh, job));
	CALL(sh, free_byte, memory_free(sh, card_byte, expected_byte));
	SHOW(sh, card_byte, "memory of the GPU");
	SHOW(sh, free_byte, "free");
	(void)limit_byte;
	const enum verdict verdict = memory_verdict(job, expected_byte);
	TELL(sh, verdict, "verdict", verdict_name(verdict));
	if (verdict == RISKY)
		run_warn(r, "risky: the expected peak fits, but 1 run in 20 needs more than %.2f times the prediction",
		    job->stack->safety.value);
	return verdict;
}

static void
show_moments(struct run *r, const struct memory_job *job, const struct memory_use *peak)
{
	struct sheet *sh = r->sheet;

	TELL(sh, peak_moment, job->use == STACK_INFER ? NULL : "peak at", moment_name(peak->moment));
	if (job->layout.pp > 1) {
		TAKE(sh, peak_stage, peak->stage);
		SHOW(sh, peak_stage, "pipeline stage, from 0");
	}
	for (int m = 0; m < MOMENT_SERVING; m++) {
		struct memory_use use;
		if (job->use == STACK_INFER || !memory_has_moment(job, peak->stage, (enum moment)m))
			continue;
		memory_at(NULL, job, peak->stage, (enum moment)m, &use);
		SCOPE_I (sh, "moment", m) {
			TELL(sh, moment, "moment", moment_name(use.moment));
			TAKE(sh, moment_byte, use.total);
			SHOW(sh, moment_byte, "memory");
		}
	}
}

/* One line per pipeline stage, at its own largest moment. */
static void
show_stages(struct run *r, const struct memory_job *job)
{
	struct sheet *sh = r->sheet;

	for (int stage = 0; stage < (int)job->layout.pp && job->layout.pp > 1; stage++) {
		struct memory_use use;
		double n = 0;
		memory_stage_peak(job, stage, &use);
		for (int i = 0; i < job->model->n_blocks; i++)
			n += memory_stage_layers(job, stage, i);
		SCOPE_I (sh, "stage", stage) {
			TAKE(sh, stage_number, stage);
			TAKE(sh, n_stage_layers, n);
			TAKE(sh, stage_weights_byte, use.weights);
			TAKE(sh, stage_gradients_byte, use.gradients);
			TAKE(sh, stage_optimizer_byte, use.optimizer);
			TAKE(sh, stage_activations_byte, use.activations + use.kv);
			TAKE(sh, stage_rest_byte, use.logits + use.buffers + use.context);
			TAKE(sh, stage_total_byte, use.total);
			SHOW(sh, stage_number, "stage");
			SHOW(sh, n_stage_layers, "layers");
			SHOW(sh, stage_weights_byte, "weights");
			SHOW(sh, stage_gradients_byte, "gradients");
			SHOW(sh, stage_optimizer_byte, "optimizer");
			SHOW(
			    sh, stage_activations_byte, job->use == STACK_INFER ? "cache, activations" : "activations");
			SHOW(sh, stage_rest_byte, "rest");
			SHOW(sh, stage_total_byte, "peak");
			TELL(sh, stage_moment, "peak at", moment_name(use.moment));
		}
	}
}

static void
show_pool(struct run *r, const struct memory_job *job)
{
	struct sheet *sh = r->sheet;

	CALL(sh, pool_byte, memory_kv_pool(sh, job));
	CALL(sh, pool_token, memory_pool_tokens(sh, job, pool_byte));
	SHOW(sh, pool_byte, "room for keys and values");
	SHOW(sh, pool_token, "tokens that it holds");
}

/* What else would fit: the largest of one input with the others as they are. */
static void
show_limits(struct run *r, const struct memory_job *job)
{
	struct sheet *sh = r->sheet;
	struct memory_fix fewest;

	TAKE(sh, n_largest_batch, fit_largest_batch(job));
	TAKE(sh, longest_token, fit_longest_sequence(job));
	SHOW(
	    sh, n_largest_batch, job->use == STACK_INFER ? "most sequences that fit" : "largest micro-batch that fits");
	SHOW(sh, longest_token, "longest sequence that fits");
	if (!fit_fewest_gpus(job, NODE_GPUS, &fewest)) {
		TELL(sh, fewest_layout, "fewest GPUs that fit", "none, however they are laid out");
		return;
	}
	TAKE(sh, n_fewest_gpus, fewest.n_gpus);
	SHOW(sh, n_fewest_gpus, "fewest GPUs that fit");
	TELL(sh, fewest_layout, "their layout", fewest.change);
}

static void
show_fixes(struct run *r, const struct memory_job *job)
{
	struct sheet *sh = r->sheet;
	struct memory_fix *fixes = ARENA_ARRAY(r->arena, struct memory_fix, MOST_FIXES);
	const int n = fit_fixes(job, NODE_GPUS, fixes, MOST_FIXES);

	for (int i = 0; i < n; i++)
		SCOPE_I (sh, "fix", i) {
			TELL(sh, change, "what makes it fit", fixes[i].change);
			TAKE(sh, n_fixed_gpus, fixes[i].n_gpus);
			TAKE(sh, fixed_byte, fixes[i].need_byte);
			SHOW(sh, n_fixed_gpus, "GPUs");
			SHOW(sh, fixed_byte, "expected");
			TELL(sh, fixed_verdict, "verdict", verdict_name(fixes[i].verdict));
		}
}

/* --- a list of operators --------------------------------------------------------------------------------- */

static bool
is_served_list(struct run *r, const struct memory_question *q)
{
	struct database *quiet = database_reporting_to(r->database, diag_new(r->arena));
	const struct node *overlay = inputs_overlay(r->arena, r->command, r->inputs, "model");
	const char *said;

	if (!q->memory->infer && strcmp(q->memory->use.text, "infer") != 0)
		return false;
	const struct workload *w = database_model(quiet, q->memory->model.text, overlay, q->memory->model.from, &said);
	return w && w->kind == MODEL_OPERATORS;
}

/* All weights, and one operator at a time; what skip connections hold meanwhile is not in the list. */
static enum answer
answer_list(struct run *r, const struct memory_question *q)
{
	struct sheet *sh = r->sheet;
	const struct workload *w = run_model(r, q->memory->model);
	const struct memory_job rule = {.headroom_frac = q->memory->headroom};
	struct memory_job job = rule;
	const struct gpu *gpu;

	if (!w || !run_whole(r, "--batch", q->memory->batch, 1) || !run_card(r, q->memory, &job.card_byte, &gpu))
		return REFUSED;
	const double elem = dtype_byte(dtype_find(run_word(r, "dtype", q->memory->dtype)));
	r->title = arena_printf(r->arena, "%s run on samples%s%s", w->name, gpu ? " on " : "", gpu ? gpu->name : "");
	TAKE(sh, n_samples, q->memory->batch);
	TAKE(sh, elem_byte, elem);
	CALL(sh, weights_byte, list_weights(sh, w, elem_byte));
	CALL(sh, operands_byte, list_operands(sh, w, n_samples, elem_byte));
	CALL(sh, expected_byte, list_total(sh, weights_byte, operands_byte));
	SHOW(sh, weights_byte, "weights");
	SHOW(sh, operands_byte, "largest operator, inputs and outputs");
	SHOW(sh, expected_byte, "at least");
	run_warn(r,
	    "a floor: workspaces, the context and tensors that skip connections hold are not in a list of operators");
	if (!datum_given(job.card_byte))
		return ANSWERED;
	TAKE(sh, card_byte, job.card_byte);
	CALL(sh, free_byte, memory_free(sh, card_byte, expected_byte));
	SHOW(sh, card_byte, "memory of the GPU");
	SHOW(sh, free_byte, "free");
	TELL(sh, verdict, "verdict", free_byte >= 0 ? "fits, by this floor" : "does not fit");
	return free_byte >= 0 ? ANSWERED : ANSWERED_NO;
}

static enum answer
answer_job(struct run *r, const struct memory_question *q)
{
	struct memory_job job;
	struct memory_use use;
	const struct gpu *gpu;

	if (!run_memory_job(r, q, &job, &gpu))
		return REFUSED;
	title_of(r, &job, gpu);
	const double expected_byte = show_peak(r, &job, &use);
	const enum verdict verdict = show_verdict(r, &job, expected_byte);
	show_moments(r, &job, &use);
	show_stages(r, &job);
	if (!datum_given(job.card_byte))
		return ANSWERED;
	if (job.use == STACK_INFER)
		show_pool(r, &job);
	show_limits(r, &job);
	if (verdict != FITS)
		show_fixes(r, &job);
	return verdict == DOES_NOT_FIT ? ANSWERED_NO : ANSWERED;
}

/* --- bare numbers ---------------------------------------------------------------------------------------- */

static void
show_checkpointing(struct run *r, const struct memory_numbers *in)
{
	struct sheet *sh = r->sheet;

	if (in->recompute == RECOMPUTE_NONE || !datum_given(in->n_layers))
		return;
	TAKE(sh, n_layers, in->n_layers);
	TAKE(sh, n_units, 12.0);
	CALL(sh, saving, checkpoint_saving(sh, in->recompute, in->recompute_n, n_layers, n_units));
	CALL(sh, extra_compute_frac, checkpoint_cost(sh, in->recompute, in->recompute_n));
	SHOW(sh, saving, "activations smaller by, factor");
	SHOW(sh, extra_compute_frac, "extra compute of a step");
}

static void
show_batches(struct run *r, const struct memory_in *in, const struct memory_numbers *numbers)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->global_batch))
		return;
	TAKE(sh, n_global_sequences, in->global_batch);
	TAKE(sh, n_replicas, numbers->n_ranks);
	if (datum_given(in->microbatches)) {
		CALL(sh, n_micro_sequences, micro_batch(sh, n_global_sequences, n_replicas, in->microbatches.value));
		SHOW(sh, n_micro_sequences, "sequences per GPU and micro-batch");
	} else {
		CALL(sh, n_accumulation_steps, accumulation_steps(sh, n_global_sequences, n_replicas, in->batch.value));
		SHOW(sh, n_accumulation_steps, "micro-batches of a step");
	}
}

static void
show_attention(struct run *r, const struct memory_numbers *in)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->head_dim))
		return;
	TAKE(sh, seq_length, in->seq);
	TAKE(sh, head_dim, in->head_dim);
	TAKE(sh, elem_byte, in->elem_byte);
	CALL(sh, matrix_byte, attention_matrix(sh, seq_length, elem_byte));
	CALL(sh, tiled_byte, attention_tiled(sh, seq_length, head_dim, elem_byte));
	SHOW(sh, matrix_byte, "score matrix of one head");
	SHOW(sh, tiled_byte, "output of one head, all that flash keeps");
}

static void
show_cards(struct run *r, const struct memory_numbers *in, struct datum card)
{
	struct sheet *sh = r->sheet;

	if (in->n_ranks < 2 || !datum_given(card))
		return;
	TAKE(sh, n_gpus, in->n_ranks);
	TAKE(sh, card_byte, card);
	CALL(sh, pool_byte, zero_pool(sh, n_gpus, card_byte));
	CALL(sh, pool_param, pool_params(sh, pool_byte, numbers_byte_per_param(sh, in)));
	SHOW(sh, pool_byte, "memory of all GPUs");
	SHOW(sh, pool_param, "largest states that it holds, fully sharded");
}

static enum answer
show_numbers_verdict(struct run *r, const struct memory_in *in, const struct memory_numbers *numbers, struct datum card,
    double expected_byte)
{
	struct sheet *sh = r->sheet;
	const struct memory_job rule = {.card_byte = card, .headroom_frac = in->headroom};
	const struct datum safety = {1.15, {NULL, 0, 0, NULL, false}};

	if (!datum_given(card))
		return ANSWERED;
	TAKE(sh, card_byte, card);
	CALL(sh, limit_byte, memory_limit(sh, &rule));
	CALL(sh, free_byte, memory_free(sh, card_byte, expected_byte));
	SHOW(sh, card_byte, "memory of the GPU");
	SHOW(sh, free_byte, "free");
	const enum verdict verdict = memory_verdict(&rule, expected_byte);
	TELL(sh, verdict, "verdict", verdict_name(verdict));
	if (verdict == RISKY)
		run_warn(r,
		    "risky: less than %g %% is left for what these numbers do not count; --headroom states your own "
		    "margin",
		    100 * (safety.value - 1));
	TAKE(sh, n_largest_batch, numbers_largest_batch(numbers, limit_byte));
	TAKE(sh, n_fewest_gpus, numbers_fewest_gpus(numbers, limit_byte));
	if (datum_given(numbers->hidden) && datum_given(numbers->n_layers))
		SHOW(sh, n_largest_batch, "largest batch per GPU that fits");
	if (numbers->zero > 0 && n_fewest_gpus > 0)
		SHOW(sh, n_fewest_gpus, "fewest GPUs that fit");
	return verdict == DOES_NOT_FIT ? ANSWERED_NO : ANSWERED;
}

static enum answer
answer_numbers(struct run *r, const struct memory_question *q)
{
	struct sheet *sh = r->sheet;
	struct memory_numbers in;
	struct datum card;
	const struct gpu *gpu;
	enum answer answer = ANSWERED;

	if (!run_memory_numbers(r, q, &in) || !run_card(r, q->memory, &card, &gpu))
		return REFUSED;
	const bool sized = datum_given(in.n_params) || (datum_given(in.hidden) && datum_given(in.n_layers));
	if (!sized && !datum_given(in.head_dim) && !datum_given(q->memory->global_batch) &&
	    (in.n_ranks < 2 || !datum_given(card))) {
		diag_error(r->diag, (struct source){0}, "a model, or --params, is needed");
		diag_hint(r->diag, "ridge memory llama3-8b --gpu h100, or --params 7e9 --layers 32 --hidden 4096");
		return REFUSED;
	}
	r->title = "memory of one GPU, by bare numbers";
	show_batches(r, q->memory, &in);
	show_attention(r, &in);
	if (!sized)
		show_cards(r, &in, card);
	else {
		CALL(sh, expected_byte, numbers_total(sh, &in));
		SHOW(sh, expected_byte, "total");
		answer = show_numbers_verdict(r, q->memory, &in, card, expected_byte);
	}
	show_checkpointing(r, &in);
	return answer;
}

/* --- the command ----------------------------------------------------------------------------------------- */

static enum answer
memory_run(struct run *r, const void *input)
{
	const struct memory_command_in *in = input;
	const struct memory_question q = {&in->memory, &in->training, &in->serving, &in->numbers, &in->layout};

	if (!memory_is_numbers(&q) && datum_given(in->numbers.params)) {
		diag_error(r->diag, in->numbers.params.from, "--params is for a model without a name");
		diag_hint(r->diag, "leave it out, or leave out '%s'", in->memory.model.text);
		return REFUSED;
	}
	if (memory_is_numbers(&q))
		return answer_numbers(r, &q);
	return is_served_list(r, &q) ? answer_list(r, &q) : answer_job(r, &q);
}

#define THIS struct memory_in
static const struct option memory_rows[] = {MEMORY_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct training_in
static const struct option training_rows[] = {TRAINING_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct serving_in
static const struct option serving_rows[] = {SERVING_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct numbers_in
static const struct option numbers_rows[] = {NUMBERS_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct layout_in
static const struct option layout_rows[] = {LAYOUT_OPTIONS(OPTION_ROW)};
#undef THIS

static const struct option_group memory_groups[] = {
    OPTION_GROUP(memory_rows, offsetof(struct memory_command_in, memory)),
    OPTION_GROUP(layout_rows, offsetof(struct memory_command_in, layout)),
    OPTION_GROUP(training_rows, offsetof(struct memory_command_in, training)),
    OPTION_GROUP(serving_rows, offsetof(struct memory_command_in, serving)),
    OPTION_GROUP(numbers_rows, offsetof(struct memory_command_in, numbers)),
};

static const struct example memory_examples[] = {
    {"memory llama3-8b --gpu h100 --gpus 8 --layout tp=2,zero=1,sp --seq 8192", "training: what fills each GPU", 0},
    {"memory llama3-70b --gpu h100 --layout tp=8,dp=8", "what would make it fit", 1},
    {"memory llama2-7b --gpu rtx4090 --lora-rank 8 --quant nf4 --seq 1024", "QLoRA on one card", 0},
    {"memory llama3-70b --infer --gpu h100 --layout tp=4 --batch 16 --seq 8192", "serving", 0},
    {"memory --params 7e9 --layers 32 --hidden 4096 --seq 2048", "states and activations from bare numbers", 0},
    {"memory llama3-8b --gpu a100 --gpus 8 --layout zero=3 --sweep batch=1..8*2", "one line per micro-batch", 0},
};

const struct command memory_command = {
    .name = "memory",
    .section = "Will it fit?",
    .summary = "what fills the GPU when this model trains, is fine-tuned or serves; what would make it fit",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    .groups = memory_groups,
    .n_groups = sizeof memory_groups / sizeof *memory_groups,
    .examples = memory_examples,
    .n_examples = sizeof memory_examples / sizeof *memory_examples,
    .input_size = sizeof(struct memory_command_in),
    .run = memory_run,
};
