/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge serve: TTFT, TPOT, throughput and limits of a serving setup. */
#include "ask/serve/serve.h"
#include "cli/cli.h"

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

static const struct input_needs serve_needs[] = {
    {"cold", "it needs --requests with --concurrency (or --simulate --warmup 0), and an engine with a slow first step"},
};

const struct command serve_command = {
    .name = "serve",
    .section = "Performance",
    .summary = "TTFT, TPOT, throughput and limits of a serving setup",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    .groups = serve_groups,
    .n_groups = sizeof serve_groups / sizeof *serve_groups,
    .examples = serve_examples,
    .n_examples = sizeof serve_examples / sizeof *serve_examples,
    .needs = serve_needs,
    .n_needs = sizeof serve_needs / sizeof *serve_needs,
    .input_size = sizeof(struct serve_in),
    .run = serve_run,
};
