/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge plan train: the fastest training layouts that fit; ridge plan serve: setups that meet SLOs under a load. */
#include "ask/plan/plan.h"

#include <string.h>

static enum answer
plan_run(struct run *r, const void *input)
{
	const struct plan_in *in = input;
	struct plan_question b;

	if (strcmp(in->verb.text, "serve") == 0) {
		diag_error(r->diag, in->verb.from, "'serve' has to be the first word after 'plan'");
		diag_hint(r->diag, "write 'ridge plan serve', then the options");
		return REFUSED;
	}
	if (strcmp(in->verb.text, "train") != 0) {
		diag_error(r->diag, in->verb.from, "'%s' cannot be planned", in->verb.text);
		if (text_lists("infer inference serving", in->verb.text))
			diag_hint(r->diag, "write 'ridge plan serve MODEL', then the options");
		else
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
    {"dispatcher", "it applies to experts on more GPUs than NVLink joins; leave it out"},
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
    COUNTED(groups, plan_groups),
    COUNTED(examples, plan_examples),
    COUNTED(needs, plan_needs),
    .unsolvable = "plan searches by itself",
    .input_size = sizeof(struct plan_in),
    .run = plan_run,
};

/* --- plan serve: setups of serving engines that meet SLOs under a load ------------------------------------ */

static enum answer
plan_serve_run(struct run *r, const void *input)
{
	const struct plan_serve_in *in = input;
	struct plan_served p;
	struct plan_served_row *rows;
	size_t n;

	if (!plan_serve_search(r, in, &p))
		return REFUSED;
	r->title = plan_serve_points_asked(in) ? arena_printf(r->arena, "%s by load, %g tokens in, %g out",
	                                             p.search.model->name, p.load.isl_token, p.load.osl_token)
	    : datum_given(in->users)
	    ? arena_printf(r->arena, "%s for %g users, %g tokens in, %g out", p.search.model->name, p.load.n_users,
	          p.load.isl_token, p.load.osl_token)
	    : arena_printf(r->arena, "%s for %.4g requests/s of %g tokens in, %g out", p.search.model->name,
	          p.load.rate_request_per_s, p.load.isl_token, p.load.osl_token);
	if (!in->pareto.text)
		rows = plan_serve_rows(r, &p, &n);
	else if (!plan_serve_front(r, &p, &rows, &n))
		return REFUSED;
	return plan_serve_show(r, &p, rows, n);
}

#define THIS struct plan_serve_in
static const struct option serve_rows[] = {PLAN_SERVE_OPTIONS(OPTION_ROW)};
#undef THIS

/* The inputs of `ridge capacity`, as a plan calls them. */
#define SEARCH_OPTIONS(X)                                                                                              \
	X(0, engine, "engine", "engine", WORDS, "NAME,...", "engine", NULL,                                            \
	    "serving engines to try (default: trtllm; vllm on AMD)")                                                   \
	X(0, dtypes, "dtype", "dtype", WORDS, "TYPE,...", DTYPE_CHOICE(W), NULL,                                       \
	    "dtypes of weights and GEMMs to try (default: as published)")                                              \
	X(0, slo, "slo", "slo", WORDS, "WHAT:TIME,...", "", NULL,                                                      \
	    "SLOs on ttft, tpot or e2e, mean or percentile: ttft=p99:500ms,tpot=40ms")                                 \
	X(0, ttft, "ttft", "ttft", TIME, "TIME", "", NULL, "SLO: mean TTFT; p95:TIME of a percentile")                 \
	X(0, tpot, "tpot", "tpot", TIME, "TIME", "", NULL, "SLO: mean TPOT; p95:TIME of a percentile")                 \
	X(0, e2e, "e2e", "e2e", TIME, "TIME", "", NULL, "SLO: mean end-to-end latency; p95:TIME of a percentile")      \
	X(0, think, "think", "think", TIME, "TIME", "", NULL,                                                          \
	    "mean think time of a user between answer and next request (default 30 s)")                                \
	X(0, day_tokens, "day-tokens", "day_tokens", COUNT, "N", "", NULL, "output tokens per day, instead of --rate") \
	X(0, isl_cv, "isl-cv", "isl_cv", NUMBER, "N", "", "0", "coefficient of variation of ISL (log-normal)")         \
	X(0, osl_cv, "osl-cv", "osl_cv", NUMBER, "N", "", "0", "coefficient of variation of OSL (log-normal)")         \
	X(0, cached, "cached", "cached", FRACTION, "FRACTION", "", "0", "prefix cache hit rate, share of each prompt") \
	X(0, speculate, "speculate", "speculate", WORDS, "METHOD=N,accept=F", "", NULL,                                \
	    "speculative decoding, as in ridge serve: mtp=3,accept=0.8")                                               \
	X(0, growth, "growth", "growth", FRACTION, "FRACTION", "", "0", "load headroom above the given load")          \
	X(0, spare, "spare", "spare", COUNT, "N", "", "0", "spare replicas (1 for N+1)")                               \
	X(0, host_power, "host-power", "host_power", POWER, "WATT", "", NULL,                                          \
	    "power of the host for each GPU, for the site's power")                                                    \
	X(0, pue, "pue", "pue", NUMBER, "FACTOR", "", NULL,                                                            \
	    "power usage effectiveness of the facility, for the site's power")                                         \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", "8", "maximum GPUs per replica")                                    \
	X(0, every_layout, "every-layout", "every_layout", FLAG, "", "", NULL,                                         \
	    "list every layout, not only the best per GPU, engine and dtype")                                          \
	X(0, unconfirmed, "unconfirmed", "unconfirmed", FLAG, "", "", NULL,                                            \
	    "skip the simulations that confirm the first rows")                                                        \
	X(0, seed, "seed", "seed", COUNT, "N", "", "1", "random seed of the simulations")
#define THIS struct capacity_plan_in
static const struct option serve_search_rows[] = {SEARCH_OPTIONS(OPTION_ROW)};
#undef THIS

static const struct option_group serve_groups[] = {
    OPTION_GROUP(serve_rows, 0),
    OPTION_GROUP(serve_search_rows, offsetof(struct plan_serve_in, plan)),
    OPTION_GROUP(layout_rows, offsetof(struct plan_serve_in, layout)),
    OPTION_GROUP(launch_serve_rows, offsetof(struct plan_serve_in, launch)),
};

static const struct input_needs plan_serve_needs[] = {
    {"kv_link", "it needs --pools"},
    {"emit_rank", "it needs --emit"},
    {"top", "a front has all its rows, and --emit prints one: --emit-rank chooses it"},
    {"unconfirmed", "a front is a closed form: leave it out"},
    {"seed", "nothing is simulated here: leave it out"},
};

static const struct example plan_serve_examples[] = {
    {"plan serve llama3.1-8b --gpu h100,h200 --engine vllm --dtype bf16,fp8 --rate 20 --isl 1000 --osl 250 --slo "
     "ttft.p99:1s,tpot:50ms",
        "cheapest setups that meet SLOs, and which of them cannot be told apart", 0},
    {"plan serve llama3.1-8b --gpu h100,l40s --engine vllm --rate 30 --isl 1000 --osl 200 --tpot 30ms --unconfirmed "
     "--rank power",
        "the least power", 0},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 10 --isl 1000 --osl 250 --tpot 60ms --dtype bf16,fp8 "
     "--pareto cost:tpot",
        "what a shorter TPOT costs", 0},
    {"plan serve llama3.1-70b --gpu h200 --engine sglang --dtype fp8 --isl 1000 --osl 250 --pareto "
     "tokens-per-gpu:tokens-per-user",
        "throughput of a GPU against speed of a user", 0},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --dtype fp8 --rate 20 --isl 1000 --osl 250 --tpot 50ms "
     "--unconfirmed --emit vllm",
        "the first row as a command line", 0},
    {"plan serve llama3.1-8b --gpu h100,h200 --engine sglang --dtype fp8 --rate 60 --isl 4000 --osl 250 --ttft 500ms "
     "--tpot 20ms --unconfirmed --pools --kv-link roce-400",
        "pools that prefill and others that decode, and what the link carries", 0},
    {"plan serve llama3.1-70b --gpu h100:8,h200:4 --engine vllm --dtype fp8 --rate 20 --isl 1000 --osl 250 --tpot 50ms",
        "a fleet of the GPUs at hand, cheaper than one kind alone", 0},
    {"plan serve llama3.1-70b --gpu h100 --rate 20 --isl 1000 --osl 250 --tpot 50ms --unconfirmed --from "
     "tests/fixtures/launchers/serve.sh",
        "what a launch file serves today, and what other setups save", 0},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5 --isl 1000 --osl 250 --tpot 2ms --unconfirmed",
        "no setup meets the SLOs: the nearest", 1},
};

const struct command plan_serve_command = {
    .name = "plan serve",
    .section = "Capacity and cost",
    .summary = "Serving setups that meet SLOs, ranked, and their launch lines",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    COUNTED(groups, serve_groups),
    COUNTED(needs, plan_serve_needs),
    COUNTED(examples, plan_serve_examples),
    .input_size = sizeof(struct plan_serve_in),
    .run = plan_serve_run,
};
