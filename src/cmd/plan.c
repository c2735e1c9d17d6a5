/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge plan: the fastest training layouts that fit. */
#include "ask/plan/plan.h"

#include <string.h>

static enum answer
plan_run(struct run *r, const void *input)
{
	const struct plan_in *in = input;
	struct plan_question b;

	if (strcmp(in->verb.text, "serve") == 0) {
		diag_error(r->diag, in->verb.from, "'serve' stands behind other words");
		diag_hint(r->diag, "write 'ridge plan serve', then the options");
		return REFUSED;
	}
	if (strcmp(in->verb.text, "train") != 0) {
		diag_error(r->diag, in->verb.from, "'%s' cannot be planned", in->verb.text);
		diag_hint(r->diag, "write ridge plan train %s", in->verb.text);
		return REFUSED;
	}
	return plan_bind(r, in, &b) ? plan_show(r, in, &b) : REFUSED;
}

#define THIS struct plan_in
static const struct option own_rows[] = {PLAN_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct plan_layout_in
static const struct option pin_rows[] = {PLAN_LAYOUT_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct plan_choice_in
static const struct option choice_rows[] = {PLAN_CHOICE_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct memory_in
static const struct option job_rows[] = {MEMORY_JOB_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct training_in
static const struct option how_rows[] = {TRAINING_JOB_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct train_in
static const struct option step_rows[] = {TRAIN_JOB_OPTIONS(OPTION_ROW)};
#undef THIS

static const struct option_group plan_groups[] = {
    OPTION_GROUP(job_rows, offsetof(struct plan_in, memory)),
    OPTION_GROUP(choice_rows, offsetof(struct plan_in, choice)),
    OPTION_GROUP(pin_rows, offsetof(struct plan_in, layout)),
    OPTION_GROUP(own_rows, 0),
    OPTION_GROUP(how_rows, offsetof(struct plan_in, training)),
    OPTION_GROUP(step_rows, offsetof(struct plan_in, train)),
    OPTION_GROUP(launch_rows, offsetof(struct plan_in, launch)),
};

static const struct example plan_examples[] = {
    {"plan train llama3.1-405b --system dgx-h100 --gpus 16384 --global-batch 2048 --seq 8192",
        "the fastest layouts that fit, and which of them are equally fast within the error", 0},
    {"plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --seq 8192 --layout tp=4/8,pp=2..8,cp=1",
        "some degrees pinned", 0},
    {"plan train llama3-70b --system dgx-h100 --gpus 64..2048*2 --global-batch 1920 --seq 8192 --tokens 1T --deadline "
     "30d",
        "fewest GPUs, cheapest and fastest run that meets a deadline", 0},
    {"plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --seq 8192 --dtype bf16,fp8 --top 4",
        "types compared", 0},
    {"plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128 --seq 8192 --from tp=8,pp=4,vp=5",
        "the changes of what runs today that help most", 0},
    {"plan train llama3-70b --system dgx-h100 --from tests/fixtures/launchers/train.sh --top 4",
        "the same of a launch file", 0},
    {"plan train llama3-8b --system dgx-h100 --gpus 16 --global-batch 128 --pareto time:memory",
        "what less memory costs in time", 0},
    {"plan train llama3-8b --system dgx-h100 --gpus 8 --global-batch 64 --stack torchtitan --batch 1 --top 3",
        "another framework", 0},
    {"plan train llama3-8b --system dgx-h100 --global-batch 512 --top 1 --sweep gpus=8..64*2", "best layout by scale",
        0},
    {"plan train llama3.1-405b --system dgx-h100 --gpus 16 --global-batch 64", "nothing fits: what would", 1},
};

static const struct input_needs plan_needs[] = {
    {"schedule", "it applies to pipelines; leave it out"},
    {"dispatcher", "it applies to mixtures of experts on several nodes; leave it out"},
    {"nic_bandwidth", "it applies between nodes; leave it out"},
    {"nic_efficiency", "it applies between nodes; leave it out"},
    {"tokens", "changes are ranked by the time of a step; leave it out"},
    {"price", "it is paid for a whole run: add --tokens 1T"},
    {"mtbf", "it applies to a whole run: add --tokens 1T"},
    {"gpu_mtbf", "it applies to a whole run: add --tokens 1T"},
    {"checkpoint_time", "it applies to a whole run: add --tokens 1T --gpu-mtbf 50000h"},
    {"restart", "it applies to a whole run: add --tokens 1T --gpu-mtbf 50000h"},
    {"grad_dtype", "it affects only memory: drop it or --no-memory"},
    {"gpu_mem", "it affects only memory: drop it or --no-memory"},
    {"headroom", "it affects only memory: drop it or --no-memory"},
    {"counter", "it affects only memory: drop it or --no-memory"},
    {"states", "it affects only memory: drop it or --no-memory"},
    {"fp8_params", "it affects only memory: drop it or --no-memory"},
    {"loss", "it affects only memory: drop it or --no-memory"},
};

const struct command plan_command = {
    .name = "plan",
    .section = "Performance",
    .summary = "Fastest training layouts that fit, ranked",
    .operands = "verb model",
    .usage = "train [MODEL|JOB]",
    .groups = plan_groups,
    .n_groups = sizeof plan_groups / sizeof *plan_groups,
    .examples = plan_examples,
    .n_examples = sizeof plan_examples / sizeof *plan_examples,
    .needs = plan_needs,
    .n_needs = sizeof plan_needs / sizeof *plan_needs,
    .unsolvable = "plan searches by itself",
    .input_size = sizeof(struct plan_in),
    .run = plan_run,
};
