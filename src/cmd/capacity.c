/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge capacity: GPUs needed for users or a load, and their cost. */
#include "ask/capacity/capacity.h"

#include "cli/cli.h"

#include <string.h>

#define THIS struct capacity_in
static const struct option capacity_options[] = {CAPACITY_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct shape_in
static const struct option shape_rows[] = {SHAPE_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct capacity_plan_in
static const struct option plan_rows[] = {CAPACITY_PLAN_OPTIONS(OPTION_ROW)};
#undef THIS

/* With objectives or an engine: the model of the engine instead of floors. */
static enum answer
plan_run(struct run *r, const struct capacity_in *in)
{
	const struct capacity_plan_case c = {
	    .model = in->model,
	    .gpus = &in->gpu,
	    .rate = in->rate,
	    .users = in->users,
	    .isl = in->isl,
	    .osl = in->osl,
	    .utilisation = in->target_load,
	    .price = {&in->price, in->provider},
	    .headroom = in->headroom,
	    .dtype = in->dtype,
	    .weights_dtype = in->weights_dtype,
	    .kv_dtype = in->kv_dtype,
	    .layout = &in->layout,
	};
	const struct datum floors[] = {
	    in->params, in->bits, in->gpu_mem, in->context, in->throughput, in->itl, in->block, in->paging_overhead};

	for (size_t i = 0; i < sizeof floors / sizeof *floors; i++)
		if (datum_given(floors[i])) {
			run_refuse(r, floors[i].from, "it applies to the plan by memory and roofline floors",
			    "leave it out, or leave out --engine and --slo");
			return REFUSED;
		}
	if (strcmp(in->weights.text, "shared") == 0 || in->kv_rule.text) {
		run_refuse(r, in->kv_rule.text ? in->kv_rule.from : in->weights.from,
		    "it applies to the plan by memory and roofline floors",
		    "leave it out, or leave out --engine and --slo");
		return REFUSED;
	}
	return capacity_plan(r, &in->plan, &c);
}

static enum answer
capacity_run(struct run *r, const void *input)
{
	const struct capacity_in *in = input;

	return capacity_plan_asked(&in->plan) ? plan_run(r, in) : capacity_floors(r, in);
}

static const struct option_group capacity_groups[] = {
    OPTION_GROUP(capacity_options, 0),
    OPTION_GROUP(shape_rows, offsetof(struct capacity_in, shape)),
    OPTION_GROUP(layout_rows, offsetof(struct capacity_in, layout)),
    OPTION_GROUP(plan_rows, offsetof(struct capacity_in, plan)),
};

static const struct example capacity_examples[] = {
    {"capacity llama3.1-8b --gpu h100 --rate 30 --isl 1000 --osl 200 --slo ttft=p95:1s --unconfirmed "
     "--sweep growth=0,0.5,1 --get candidates.0.n_gpus",
        "GPUs of the cheapest setup as the load grows", 0},
    {"capacity llama3.1-8b --gpu h100 --rate 30 --isl 1000 --osl 200 --ttft 1s --unconfirmed --host-power 575W --pue "
     "1.3",
        "power of the site", 0},
    {"capacity llama3-70b --gpu a100,h100,h200,b200 --users 200 --context 4Ki", "four candidates side by side", 0},
    {"capacity llama3-70b --gpu h100 --rate 5 --isl 1000 --osl 200 --weights-dtype fp8 --kv-dtype fp8",
        "replicas for a request rate, roofline bound", 0},
    {"capacity llama3-70b --gpu h100 --users 200 --context 4Ki --layout tp=1", "weights that do not fit on one GPU", 1},
    {"capacity llama3-70b --gpu h100,h200,b200 --rate 20 --isl 1000 --osl 200 --slo ttft.p99:1s,tpot:50ms "
     "--spare 1",
        "cheapest setups that meet SLOs, with one spare replica", 0},
    {"capacity --params 7e9 --bits 4 --layers 32 --kv-heads 32 --head-dim 128 --users 1000 --context 1000 "
     "--gpu-mem 80GB",
        "a model given by its dimensions", 0},
};

const struct command capacity_command = {
    .name = "capacity",
    .section = "Capacity and cost",
    .summary = "GPUs needed for users or a load, and their cost",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    .groups = capacity_groups,
    .n_groups = sizeof capacity_groups / sizeof *capacity_groups,
    .examples = capacity_examples,
    .n_examples = sizeof capacity_examples / sizeof *capacity_examples,
    .input_size = sizeof(struct capacity_in),
    .run = capacity_run,
};
