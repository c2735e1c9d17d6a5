/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge train: training step time, MFU, run length and cost. */
#include "ask/train/train.h"
#include "ask/launch/launch.h"
#include "search/plan/plan.h"

struct train_command_in {
	struct memory_in memory;
	struct training_in training;
	struct layout_in layout;
	struct train_in train;
	struct launch_in launch;
	struct launch_from_in from;
};

static enum answer
refused(struct run *r, const struct train_answer *a)
{
	diag_error(r->diag, (struct source){0}, "no step time: %s", train_refusal_text(a->refusal));
	diag_hint(r->diag, "see ridge-train(1), REFUSALS");
	return REFUSED;
}

static void
title_of(struct run *r, const struct train_bound *b, const struct train_answer *a)
{
	char layout[80];

	fit_layout_text(&b->memory, layout, sizeof layout);
	r->title = arena_printf(r->arena, "%s trained%s with %s on %g x %s (%s)", a->job.model->name,
	    a->job.adapters ? " by adapters" : "", b->stack->name, a->job.n_gpus, b->gpu->name, layout);
}

static enum answer
train_run(struct run *r, const void *input)
{
	static const struct serving_in serving;
	static const struct numbers_in numbers;
	const struct train_command_in *in = input;
	const struct train_question q = {
	    {&in->memory, &in->training, &serving, &numbers, &in->layout, NULL}, &in->train};
	struct train_bound b;
	struct train_answer a;

	if (!in->memory.model.text) {
		diag_error(r->diag, (struct source){0}, "no model given");
		diag_hint(r->diag, "ridge train llama3-8b --system dgx-h100 --layout fsdp");
		return REFUSED;
	}
	run_reads(r, &in->from.from, NULL);
	if (train_is_list(r, &q))
		return answer_train_list(r, &q);
	if (!run_train_bind(r, &q, &b) || !train_run_is_whole(r, &in->train, b.ask.n_gpus))
		return REFUSED;
	train_answer(&b.ask, &b.doubts, &a);
	if (a.refusal)
		return refused(r, &a);
	title_of(r, &b, &a);
	const double step_s = show_train_step(r, &q, &b, &a);
	show_train_doubts(r, &b, &a);
	show_train_gains(r, b.gpu, &a);
	show_train_schedules(r, &q, &b, &a);
	show_train_run(r, &q, &b, &a, step_s);
	const enum answer fits = show_train_memory(r, &q, &b);
	const enum answer said = in->launch.emit.text ? launch_show(r, in->launch.emit, &b.memory, &a) : ANSWERED;
	run_reads(r, &in->launch.emit, NULL);
	if (in->launch.emit.text && fits == ANSWERED_NO)
		run_warn(r, "what is emitted does not fit: see 'ridge train' without --emit");
	return said > fits ? said : fits;
}

#define THIS struct train_in
static const struct option own_rows[] = {TRAIN_OPTIONS(OPTION_ROW)};
#undef THIS

static const struct option_group train_groups[] = {
    OPTION_GROUP(memory_rows, offsetof(struct train_command_in, memory)),
    OPTION_GROUP(layout_rows, offsetof(struct train_command_in, layout)),
    OPTION_GROUP(training_rows, offsetof(struct train_command_in, training)),
    OPTION_GROUP(own_rows, offsetof(struct train_command_in, train)),
    OPTION_GROUP(launch_rows, offsetof(struct train_command_in, launch)),
    OPTION_GROUP(launch_from_rows, offsetof(struct train_command_in, from)),
};

static const struct example train_examples[] = {
    {"train llama3-8b --system dgx-h100 --gpus 8 --layout fsdp --stack torchtitan --batch 1 --seq 8192 --recompute "
     "full",
        "step time and its breakdown", 0},
    {"train llama3.1-405b --system dgx-h100 --gpus 16384 --layout tp=8,pp=16,zero=1,sp --global-batch 2048 --seq 8192 "
     "--tokens 15.6e12 --gpu-mtbf 50000h --no-memory",
        "wall time, GPU-hours and goodput of a run", 0},
    {"train qwen3-30b-a3b --system gb200-nvl72 --gpus 8 --layout ep=8,zero=1 --dtype mxfp8 --batch 4 --global-batch "
     "512 "
     "--stack megatron-bridge",
        "mixture of experts with expert parallelism", 0},
    {"train llama2-70b --system dgx-h100 --gpus 64 --layout tp=4,pp=4,zero=1,sp --global-batch 128 --sweep "
     "gpus=64..1024*2",
        "scaling series", 0},
};

static const struct input_needs train_needs[] = {
    {"imbalance", "it applies to mixtures of experts; leave it out"},
    {"cp_comm", "it applies to context parallelism: add --layout cp=2, or leave it out"},
    {"schedule", "it applies to pipeline parallelism: add --layout pp=2, or leave it out"},
    {"stage_layers", "it applies to pipeline parallelism: add --layout pp=2, or leave it out"},
    {"zero_bubble", "it applies to pipeline parallelism: add --layout pp=2, or leave it out"},
    {"balanced_stages", "it applies to pipeline parallelism: add --layout pp=2, or leave it out"},
    {"layout.no_sp", "it applies to tensor parallelism: add --layout tp=2, or leave it out"},
    {"dispatcher", "it applies to expert parallelism: add --layout ep=8, or leave it out"},
    {"nic_bandwidth", "it applies between nodes: add --gpus, or leave it out"},
    {"nic_efficiency", "it applies between nodes: add --gpus, or leave it out"},
    {"lora_targets", "it applies to LoRA: add --lora-rank 16, or leave it out"},
    {"lora_dropout", "it applies to LoRA: add --lora-rank 16, or leave it out"},
    {"moment_dtype", "a LoRA's moments have the adapters' dtype; leave it out"},
    {"mtp", "the model has no multi-token prediction layers; leave it out"},
    {"gpu_mem", "it affects only memory: drop it or --no-memory"},
    {"headroom", "it affects only memory: drop it or --no-memory"},
    {"counter", "it affects only memory: drop it or --no-memory"},
    {"states", "it affects only memory: drop it or --no-memory"},
    {"fp8_params", "it affects only memory: drop it or --no-memory"},
    {"loss", "it affects only memory: drop it or --no-memory"},
};

const struct command train_command = {
    .name = "train",
    .section = "Performance",
    .summary = "Training step time, MFU, run length and cost",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    COUNTED(groups, train_groups),
    COUNTED(examples, train_examples),
    COUNTED(needs, train_needs),
    .input_size = sizeof(struct train_command_in),
    .run = train_run,
};
