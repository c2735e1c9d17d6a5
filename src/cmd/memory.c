/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge memory: GPU memory for training, fine-tuning and inference. */
#include "ask/memory/memory.h"
#include "ask/bind/bind.h"
#include "ask/launch/launch.h"
#include "cli/cli.h"
#include "db/db.h"
#include "model/layer/layer.h"
#include "search/plan/plan.h"

#include <string.h>

struct memory_command_in {
	struct memory_in memory;
	struct training_in training;
	struct serving_in serving;
	struct numbers_in numbers;
	struct layout_in layout;
	struct launch_from_in from;
};

enum { MOST_FIXES = 6 };

/* --- a job for a known model ----------------------------------------------------------------------------- */

static void
title_of(struct run *r, const struct memory_job *job, const struct gpu *gpu)
{
	char layout[80];

	fit_layout_text(job, layout, sizeof layout);
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
	SHOW(sh, model_param, n_params);
	CALL(sh, expected_byte, memory_peak(sh, job, use));
	SHOW(sh, expected_byte, peak_byte);
	struct interval i;
	if (run_answer_interval(r, memory_kind(job), memory_listed(job), expected_byte, &i))
		BETWEEN(sh, expected_byte, i.low, i.high, i.why);
	if (!datum_given(job->stack->safety))
		return expected_byte; /* an engine keeps within the share that it takes */
	CALL(sh, safe_byte, memory_safe(sh, expected_byte, job->stack->safety));
	SHOW(sh, safe_byte, peak_p95_byte);
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
	SHOW(sh, card_byte, gpu_mem_byte);
	SHOW(sh, free_byte, free_byte);
	(void)limit_byte;
	const enum verdict verdict = memory_verdict(job, expected_byte);
	TELL(sh, verdict, verdict_name(verdict));
	if (verdict == RISKY)
		run_warn(r, "risky: the expected peak fits, but 5 %% of runs need more than %.2f times the prediction",
		    job->stack->safety.value);
	return verdict;
}

static void
show_moments(struct run *r, const struct memory_job *job, const struct memory_use *peak)
{
	struct sheet *sh = r->sheet;

	if (job->use == STACK_INFER)
		TELL_HIDDEN(sh, peak_moment, moment_name(peak->moment));
	else
		TELL(sh, peak_moment, moment_name(peak->moment));
	if (job->layout.pp > 1) {
		TAKE(sh, peak_stage, peak->stage);
		SHOW(sh, peak_stage, peak_stage);
	}
	for (int m = 0; m < MOMENT_SERVING; m++) {
		struct memory_use use;
		if (job->use == STACK_INFER || !memory_has_moment(job, peak->stage, (enum moment)m))
			continue;
		memory_at(NULL, job, peak->stage, (enum moment)m, &use);
		SCOPE_I (sh, "moments", m) {
			TELL(sh, moment, moment_name(use.moment));
			TAKE(sh, moment_byte, use.total);
			SHOW(sh, moment_byte, peak_byte);
		}
	}
}

/* Show one line per pipeline stage, at its own peak. */
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
		SCOPE_I (sh, "stages", stage) {
			TAKE(sh, stage_number, stage);
			TAKE(sh, n_stage_layers, n);
			TAKE(sh, stage_weights_byte, use.weights);
			TAKE(sh, stage_gradients_byte, use.gradients);
			TAKE(sh, stage_optimizer_byte, use.optimizer);
			TAKE(sh, stage_activations_byte, use.activations + use.kv);
			TAKE(sh, stage_rest_byte, use.logits + use.buffers + use.context);
			TAKE(sh, stage_total_byte, use.total);
			SHOW(sh, stage_number, stage_index);
			SHOW(sh, n_stage_layers, n_layers);
			SHOW(sh, stage_weights_byte, weight_byte);
			SHOW(sh, stage_gradients_byte, gradient_byte);
			SHOW(sh, stage_optimizer_byte, optimizer_byte);
			if (job->use == STACK_INFER)
				SHOW(sh, stage_activations_byte, kv_activation_byte);
			else
				SHOW(sh, stage_activations_byte, activation_byte);
			SHOW(sh, stage_rest_byte, other_byte);
			SHOW(sh, stage_total_byte, peak_byte);
			TELL(sh, moment, moment_name(use.moment));
		}
	}
}

static void
show_pool(struct run *r, const struct memory_job *job)
{
	struct sheet *sh = r->sheet;

	CALL(sh, pool_byte, memory_kv_pool(sh, job));
	CALL(sh, pool_token, memory_pool_tokens(sh, job, pool_byte));
	SHOW(sh, pool_byte, kv_room_byte);
	SHOW(sh, pool_token, kv_capacity_token);
}

/* Show the largest value of each input that fits, with the others unchanged. */
static void
show_limits(struct run *r, const struct memory_job *job, double n_node)
{
	struct sheet *sh = r->sheet;
	struct memory_fix fewest;

	TAKE(sh, n_largest_batch, fit_largest_batch(job));
	TAKE(sh, longest_token, fit_longest_sequence(job));
	SHOW(sh, n_largest_batch, n_max_batch);
	SHOW(sh, longest_token, max_seq_token);
	if (!fit_fewest_gpus(job, n_node, &fewest)) {
		TELL(sh, min_layout, "none in any layout");
		return;
	}
	TAKE(sh, n_fewest_gpus, fewest.n_gpus);
	SHOW(sh, n_fewest_gpus, n_min_gpus);
	TELL(sh, min_layout, fewest.change);
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
	run_reads(r, &q->memory->infer, &q->memory->use, NULL);
	const double elem = dtype_byte(dtype_find(run_word(r, "dtype", q->memory->dtype)));
	r->title = arena_printf(r->arena, "%s run on samples%s%s", w->name, gpu ? " on " : "", gpu ? gpu->name : "");
	TAKE(sh, n_samples, q->memory->batch);
	TAKE(sh, elem_byte, elem);
	CALL(sh, weights_byte, list_weights(sh, w, elem_byte));
	CALL(sh, operands_byte, list_operands(sh, w, n_samples, elem_byte));
	CALL(sh, expected_byte, list_total(sh, weights_byte, operands_byte));
	SHOW(sh, weights_byte, weight_byte);
	SHOW(sh, operands_byte, operand_byte);
	SHOW(sh, expected_byte, peak_byte);
	run_warn(r, "lower bound: operator lists have no workspace, driver context or skip-connection tensors");
	if (!datum_given(job.card_byte))
		return ANSWERED;
	run_reads(r, &q->memory->gpu_mem, NULL);
	TAKE(sh, card_byte, job.card_byte);
	CALL(sh, free_byte, memory_free(sh, card_byte, expected_byte));
	SHOW(sh, card_byte, gpu_mem_byte);
	SHOW(sh, free_byte, free_byte);
	TELL(sh, verdict, free_byte >= 0 ? "fits, by this floor" : "does not fit");
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
	memory_reads(r, q, &job);
	const double expected_byte = show_peak(r, &job, &use);
	memory_show_host(r, &job);
	const enum verdict verdict = show_verdict(r, &job, expected_byte);
	if (r->sheet && job.stack)
		TELL(r->sheet, typical_error, typical_error(r, "memory", job.stack->id, "model"));
	show_moments(r, &job, &use);
	show_stages(r, &job);
	if (!datum_given(job.card_byte))
		return ANSWERED;
	if (job.use == STACK_INFER)
		show_pool(r, &job);
	const double n_node = bind_node_gpus(r, q->memory);
	show_limits(r, &job, n_node);
	if (verdict != FITS)
		memory_show_fixes(r, &job, n_node, MOST_FIXES, true);
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
	SHOW(sh, saving, reduction);
	SHOW(sh, extra_compute_frac, extra_compute_frac);
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
		SHOW(sh, n_micro_sequences, n_micro_sequences);
	} else {
		CALL(sh, n_accumulation_steps,
		    accumulation_steps(sh, n_global_sequences, n_replicas, numbers->batch.value));
		SHOW(sh, n_accumulation_steps, n_accumulation_steps);
	}
}

static void
show_attention(struct run *r, const struct memory_numbers *in)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->head_dim))
		return;
	TAKE(sh, seq_length, in->seq);
	FROM(sh, in, head_dim, elem_byte);
	CALL(sh, matrix_byte, attention_matrix(sh, seq_length, elem_byte));
	CALL(sh, tiled_byte, attention_tiled(sh, seq_length, head_dim, elem_byte));
	SHOW(sh, matrix_byte, score_byte);
	SHOW(sh, tiled_byte, flash_byte);
}

static void
show_cards(struct run *r, const struct memory_in *m, const struct memory_numbers *in, struct datum card)
{
	struct sheet *sh = r->sheet;

	if (in->n_ranks < 2 || !datum_given(card))
		return;
	run_reads(r, &m->gpus, &m->gpu_mem, NULL);
	TAKE(sh, n_gpus, in->n_ranks);
	TAKE(sh, card_byte, card);
	CALL(sh, pool_byte, zero_pool(sh, n_gpus, card_byte));
	CALL(sh, pool_param, pool_params(sh, pool_byte, numbers_byte_per_param(sh, in)));
	SHOW(sh, pool_byte, pool_byte);
	SHOW(sh, pool_param, n_max_params);
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
	run_reads(r, &in->gpu_mem, &in->headroom, NULL);
	TAKE(sh, card_byte, card);
	CALL(sh, limit_byte, memory_limit(sh, &rule));
	CALL(sh, free_byte, memory_free(sh, card_byte, expected_byte));
	SHOW(sh, card_byte, gpu_mem_byte);
	SHOW(sh, free_byte, free_byte);
	const enum verdict verdict = memory_verdict(&rule, expected_byte);
	TELL(sh, verdict, verdict_name(verdict));
	if (verdict == RISKY)
		run_warn(r,
		    "risky: less than %g %% is left for what is not counted; set your own margin with --headroom",
		    100 * (safety.value - 1));
	TAKE(sh, n_largest_batch, numbers_largest_batch(numbers, limit_byte));
	TAKE(sh, n_fewest_gpus, numbers_fewest_gpus(numbers, limit_byte));
	if (datum_given(numbers->hidden) && datum_given(numbers->n_layers))
		SHOW(sh, n_largest_batch, n_max_batch);
	if (numbers->zero > 0 && n_fewest_gpus > 0)
		SHOW(sh, n_fewest_gpus, n_min_gpus);
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
		diag_error(r->diag, (struct source){0}, "no model given");
		diag_hint(r->diag, "ridge memory llama3-8b --gpu h100, or --params 7e9 --layers 32 --hidden 4096");
		return REFUSED;
	}
	r->title = "memory of one GPU, from dimensions";
	show_batches(r, q->memory, &in);
	show_attention(r, &in);
	if (!sized)
		show_cards(r, q->memory, &in, card);
	else {
		CALL(sh, expected_byte, numbers_total(sh, &in));
		SHOW(sh, expected_byte, peak_byte);
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
	const struct memory_question q = {&in->memory, &in->training, &in->serving, &in->numbers, &in->layout, NULL};

	if (!memory_is_numbers(&q) && datum_given(in->numbers.params)) {
		diag_error(r->diag, in->numbers.params.from, "--params and a model exclude each other");
		diag_hint(r->diag, "drop --params or '%s'", in->memory.model.text);
		return REFUSED;
	}
	if (memory_is_numbers(&q))
		return answer_numbers(r, &q);
	run_reads(r, &in->from.from, NULL);
	return is_served_list(r, &q) ? answer_list(r, &q) : answer_job(r, &q);
}

#define THIS struct numbers_in
static const struct option numbers_rows[] = {NUMBERS_OPTIONS(OPTION_ROW)};
#undef THIS

static const struct option_group memory_groups[] = {
    OPTION_GROUP(memory_rows, offsetof(struct memory_command_in, memory)),
    OPTION_GROUP(layout_rows, offsetof(struct memory_command_in, layout)),
    OPTION_GROUP(training_rows, offsetof(struct memory_command_in, training)),
    OPTION_GROUP(serving_rows, offsetof(struct memory_command_in, serving)),
    OPTION_GROUP(numbers_rows, offsetof(struct memory_command_in, numbers)),
    OPTION_GROUP(launch_from_rows, offsetof(struct memory_command_in, from)),
};

static const struct example memory_examples[] = {
    {"memory llama3-8b --gpu h100 --gpus 8 --layout tp=2,zero=1,sp --seq 8192", "training: memory per GPU", 0},
    {"memory llama3-70b --gpu h100 --layout tp=8,dp=2", "configurations that fit", 1},
    {"memory llama2-7b --gpu rtx4090 --lora-rank 8 --quant nf4 --seq 1024", "QLoRA on one GPU", 0},
    {"memory llama3-70b --infer --gpu h100 --layout tp=4 --batch 16 --seq 8192", "serving", 0},
    {"memory --params 7e9 --layers 32 --hidden 4096 --seq 2048", "a model given by its dimensions", 0},
    {"memory llama3-8b --gpu a100 --gpus 8 --layout zero=3 --sweep batch=1..8*2", "sweep over micro-batch size", 0},
};

static const struct input_needs memory_needs[] = {
    {"imbalance", "it applies to training a mixture of experts; leave it out"},
    {"cp_comm", "it applies to context parallelism: add --layout cp=2, or leave it out"},
    {"schedule", "it applies to pipeline parallelism: add --layout pp=2, or leave it out"},
    {"stage_layers", "it applies to pipeline parallelism: add --layout pp=2, or leave it out"},
    {"layout.no_sp", "it applies to tensor parallelism: add --layout tp=2, or leave it out"},
    {"mtp", "it applies to training a model with multi-token prediction layers; leave it out"},
    {"lora_targets", "it applies to LoRA: add --lora-rank 16, or leave it out"},
    {"lora_dropout", "it applies to LoRA: add --lora-rank 16, or leave it out"},
    {"grad_dtype", "LoRA gradients have the adapters' dtype; leave it out"},
    {"moment_dtype", "a LoRA's moments have the adapters' dtype; leave it out"},
    {"kv_dtype", "it applies to inference: add --infer, or leave it out"},
    {"block", "it applies to inference: add --infer, or leave it out"},
    {"batch_tokens", "it applies to inference: add --infer, or leave it out"},
    {"utilization", "it applies to inference: add --infer, or leave it out"},
    {"headroom", "it needs --gpu h100 or --gpu-mem 80GiB"},
    {"layers", "it needs --params; change a named model with --set model.layers=40"},
    {"hidden", "it needs --params; change a named model with --set model.hidden=4096"},
    {"heads", "it needs --params and --act-model full"},
    {"head_dim", "it needs --params; leave it out"},
};

const struct command memory_command = {
    .name = "memory",
    .section = "Memory",
    .summary = "GPU memory for training, fine-tuning and inference",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    COUNTED(groups, memory_groups),
    COUNTED(examples, memory_examples),
    COUNTED(needs, memory_needs),
    .input_size = sizeof(struct memory_command_in),
    .run = memory_run,
};
