/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge serve: TTFT, TPOT, throughput and limits of a serving setup; ridge capacity: how many of it a load needs. */
#include "ask/serve/serve.h"
#include "ask/capacity/capacity.h"
#include "cli/cli.h"

#include <string.h>

#define THIS struct serve_in
static const struct option serve_options[] = {SERVE_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct shape_in
static const struct option shape_rows[] = {SHAPE_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct tail_in
static const struct option tail_rows[] = {TAIL_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct simulate_in
static const struct option simulate_rows[] = {SIMULATE_OPTIONS(OPTION_ROW)};
#undef THIS

static enum answer
tail(struct run *r, const struct serve_in *in)
{
	r->title = "Measured percentiles";
	return tail_show(r, &in->tail);
}

static enum answer
serve_run(struct run *r, const void *input)
{
	const struct serve_in *in = input;
	const bool on = in->gpu.text || in->system.text, placed = in->model.text || datum_given(in->params) || on;
	const bool engine = on && serve_has_engine(in);
	const struct {
		const char *name;
		bool asked;
		enum answer (*answer)(struct run *r, const struct serve_in *in);
	} questions[] = {
	    {"--points", in->points.n > 0, serve_points},
	    {"--p50 and --p99", tail_given(&in->tail), tail},
	    {"--static", in->static_batch, serve_waiting},
	    {"--gpu", placed, engine ? serve_engine : serve_floors},
	    {"--ttft", !placed && in->points.n == 0 && (datum_given(in->ttft) || datum_given(in->itl)),
	        serve_objectives},
	};
	size_t n = 0, asked = 0, before = 0;

	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		if (questions[i].asked) {
			before = asked;
			asked = i;
			n++;
		}
	if (n == 1 && !(placed && !on))
		return questions[asked].answer(r, in);
	if (n > 1) {
		diag_error(r->diag, (struct source){0}, "%s cannot be combined with %s", questions[before].name,
		    questions[asked].name);
		diag_hint(r->diag, "use one of them");
	} else if (placed)
		run_refuse(r, in->model.from, "no GPU given", "add for example --gpu h100");
	else
		run_refuse(r, (struct source){0}, "no model given",
		    "give a model and a GPU, --points (a measured sweep), --ttft --itl --e2e --osl (SLOs), --p50 "
		    "--p99 (measured percentiles), or --static");
	return REFUSED;
}

static const struct option_group serve_groups[] = {
    OPTION_GROUP(serve_options, 0),
    OPTION_GROUP(shape_rows, offsetof(struct serve_in, shape)),
    OPTION_GROUP(layout_rows, offsetof(struct serve_in, layout)),
    OPTION_GROUP(tail_rows, offsetof(struct serve_in, tail)),
    OPTION_GROUP(simulate_rows, offsetof(struct serve_in, simulation)),
    OPTION_GROUP(launch_serve_rows, offsetof(struct serve_in, launch)),
    OPTION_GROUP(launch_from_rows, offsetof(struct serve_in, from)),
};

static const struct example serve_examples[] = {
    {"serve --points 1:85:750ms,2:140:850ms,4:210:950ms,8:280:1100ms,16:320:1400ms --e2e 1s --base-rate 50",
        "best batch size of a measured sweep", 0},
    {"serve --ttft 500ms --itl 50ms --e2e 2s --osl 200", "consistency of SLOs", 1},
    {"serve llama3.1-8b --gpu h100 --dtype fp8 --isl 1000 --osl 1000 --requests 3000",
        "maximum output throughput of an offline run", 0},
    {"serve llama3.1-70b --gpu h100 --layout tp=4 --isl 467 --osl 256 --rate 8 --ttft 200ms --itl 50ms",
        "TTFT, TPOT and bottleneck at a request rate", 0},
    {"serve llama3.1-70b --gpu h100 --layout tp=4 --isl 467 --osl 256 --rate 8 --slo ttft=p95:1s,e2e=p99:30s",
        "SLOs on percentiles", 0},
    {"serve llama3.1-70b --gpu h100 --layout tp=4 --isl 467 --osl 256 --rate 32",
        "saturation: request rate above the maximum", 1},
    {"serve deepseek-v3 --gpu b200 --layout tp=8,ep=8 --attention-dp --dtype nvfp4 --isl 1000 --osl 1000",
        "expert parallelism with data-parallel attention", 0},
    {"serve llama3.1-70b --gpu h100 --layout tp=4 --isl 1000 --osl 200 --rate 5 --speculate eagle=3,accept=0.7",
        "speculative decoding, with the cost of drafts", 0},
    {"serve llama3.1-70b --gpu h100 --isl 1000 --osl 200", "configurations that fit, when one does not", 1},
    {"serve llama3-70b --gpu h100 --layout tp=8 --batch 32 --context 4000 --itl 30ms",
        "roofline floors of latency and throughput", 0},
    {"serve llama3.1-70b --gpu h100 --layout tp=2 --dtype fp8 --engine vllm --isl 1000 --osl 250 --rate 4 --emit vllm",
        "the same as a command line of the engine", 0},
    {"serve --params 7e9 --bits 4 --gpu a100 --isl 4096", "a model given by its parameter count", 0},
    {"serve --p50 10ms --p99 12ms --tail-limit 1.2 --runs 100", "check a measured P99/P50 ratio", 0},
    {"serve --static --batch 32 --osl 200 --longest 1000", "waste of static batching", 0},
};

#define A_LOAD "it needs a load: add --isl 1000 --osl 200, and leave --context out"
#define NO_MODEL "it describes a model that is not in the database: use it with --params"
static const struct input_needs serve_needs[] = {
    {"rate", A_LOAD},
    {"concurrency", A_LOAD},
    {"requests", A_LOAD},
    {"beams", "it needs a load: add --isl 1000 --osl 200, and --engine trtllm-0.14"},
    {"cached", "it needs prompts: add --isl 1000"},
    {"headroom", A_LOAD},
    {"speculate", A_LOAD},
    {"kv_link", A_LOAD},
    {"ttft", "it needs prompts: add --isl 1000"},
    {"emit", A_LOAD},
    {"think", "it needs --concurrency, --isl and --osl"},
    {"draft_time", "it needs --draft-tokens and --accepted"},
    {"mfu", "it applies to roofline floors: add --context 1000, or leave it out"},
    {"longest", "it needs --static"},
    {"base_rate", "it needs --points"},
    {"base_p99", "it needs --points"},
    {"tail_limit", "it needs --p50 and --p99"},
    {"runs", "it needs --p50 and --p99"},
    {"layers", NO_MODEL},
    {"kv_heads", NO_MODEL},
    {"head_dim", NO_MODEL},
    {"cold", "it needs --requests with --concurrency (or --simulate --warmup 0), and an engine with a slow first step"},
};
#undef A_LOAD
#undef NO_MODEL

const struct command serve_command = {
    .name = "serve",
    .section = "Performance",
    .summary = "TTFT, TPOT, throughput and limits of a serving setup",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    COUNTED(groups, serve_groups),
    COUNTED(examples, serve_examples),
    COUNTED(needs, serve_needs),
    .input_size = sizeof(struct serve_in),
    .run = serve_run,
};

/* --- capacity: replicas for a load, by memory and roofline floors or by an engine's model ----------------- */

#define THIS struct capacity_in
static const struct option capacity_options[] = {CAPACITY_OPTIONS(OPTION_ROW)};
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
    COUNTED(groups, capacity_groups),
    COUNTED(examples, capacity_examples),
    .input_size = sizeof(struct capacity_in),
    .run = capacity_run,
};
