/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read the options of `ridge serve --simulate` and run it. */
#include "ask/serve/serve.h"

#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "import/import.h"
#include "model/serve/serve.h"
#include "search/simulate/simulate.h"

#include <stdlib.h>
#include <string.h>

/* --- reading --------------------------------------------------------------------------------------------- */

static bool
typed(struct source from)
{
	return from.file && from.file != inputs_default;
}

bool
simulate_check(struct run *r, const struct simulate_in *in)
{
	const struct source places[] = {in->seed.from, in->gap_cv.from, in->isl_cv.from, in->osl_cv.from,
	    in->lengths.from, in->trace.from, in->trace_speed.from, in->prefix_block.from, in->think_cv.from,
	    in->replicas.from, in->routing.from, in->decode_replicas.from, in->admission.from, in->prefill.from,
	    in->max_sequences.from, in->max_step_tokens.from, in->warmup.from, in->timeline.from,
	    in->timeline_rows.from, in->dump.from};

	if (in->simulate)
		return true;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (typed(places[i]))
			return run_refuse(
			    r, places[i], "only a simulation uses this option", "add --simulate, or leave it out");
	return in->rates.n == 0 || run_refuse(r, in->rates.list[0].from, "--rates needs --simulate", "add --simulate");
}

static bool
not_negative(struct run *r, const char *what, struct datum d)
{
	if (!datum_given(d) || (d.value >= 0 && isfinite(d.value)))
		return true;
	return run_refuse(
	    r, d.from, arena_printf(r->arena, "--%s must not be negative", what), "write for example 0, 1 or 2.5");
}

static bool
check_numbers(struct run *r, const struct simulate_in *in)
{
	return run_whole(r, "seed", in->seed, 0) & not_negative(r, "gap-cv", in->gap_cv) &
	    run_positive(r, "trace-speed", in->trace_speed) & run_whole(r, "prefix-block", in->prefix_block, 1) &
	    run_whole(r, "replicas", in->replicas, 1) & run_whole(r, "decode-replicas", in->decode_replicas, 0) &
	    run_whole(r, "max-sequences", in->max_sequences, 1) &
	    run_whole(r, "max-step-tokens", in->max_step_tokens, 1) & not_negative(r, "warmup", in->warmup) &
	    run_whole(r, "timeline-rows", in->timeline_rows, 2);
}

static bool
check_together(struct run *r, const struct simulate_in *in, const struct simulate_case *c)
{
	const bool rate = datum_given(c->rate_request_per_s), closed = datum_given(c->n_concurrent);

	if (in->trace.text && rate)
		return run_refuse(r, in->trace.from, "--trace and --rate exclude each other",
		    "change the trace's rate with --trace-speed 2");
	if (in->trace.text && in->lengths.text)
		return run_refuse(r, in->lengths.from, "--trace and --lengths exclude each other",
		    "--trace also replays arrivals; --lengths draws only lengths");
	if (in->rates.n && (rate || closed || in->trace.text))
		return run_refuse(r, in->rates.list[0].from, "--rates excludes --rate, --concurrency and --trace",
		    "give only --rates 1,2,4,8");
	if (in->rates.n && (in->timeline.text || in->dump.text))
		return run_refuse(
		    r, in->rates.list[0].from, "--rates writes no --timeline and no --dump", "give one --rate");
	if (in->prefix_block.value > 0 && !in->trace.text)
		return run_refuse(r, in->prefix_block.from, "--prefix-block needs a trace", "add --trace FILE");
	if (in->warmup.value >= 1)
		return run_refuse(r, in->warmup.from, "--warmup leaves no requests to measure", "write 0.1 or 10%");
	if ((in->trace.text || in->lengths.text) && (typed(in->isl_cv.from) || typed(in->osl_cv.from)))
		return run_refuse(r, in->isl_cv.from, "--isl-cv and --osl-cv exclude a file of lengths",
		    "leave --isl-cv and --osl-cv out");
	if (!in->trace.text && !in->lengths.text && (!datum_given(c->isl) || !datum_given(c->osl)))
		return run_refuse(r, c->isl.from, "input and output length are missing",
		    "add for example --isl 1000 --osl 200, or --lengths FILE");
	return true;
}

/* --- traffic --------------------------------------------------------------------------------------------- */

static bool
read_trace(struct run *r, const struct simulate_in *in, const struct simulate_case *c, struct sim_traffic *t)
{
	const uint32_t block = datum_given(in->prefix_block) ? (uint32_t)in->prefix_block.value : 0;
	struct trace trace;

	if (!trace_read(r->arena, r->diag, in->trace.text, block, &trace))
		return false;
	for (size_t i = 0; i < trace.n; i++)
		trace.requests[i].arrival_s /= in->trace_speed.value;
	if (block && !trace.hashed)
		run_warn(r, "the trace has no hash_ids: no prefix cache hits");
	if (trace.hashed && !block)
		run_warn(r, "the trace has hash_ids: use them with --prefix-block 512");
	t->trace = trace.requests;
	t->n_requests = trace.n;
	if (c->n_requests.value < (double)trace.n)
		t->n_requests = (size_t)c->n_requests.value;
	return true;
}

static bool
read_lengths(struct run *r, const struct simulate_in *in, struct sim_traffic *t)
{
	struct trace trace;

	if (!trace_read(r->arena, r->diag, in->lengths.text, 0, &trace))
		return false;
	uint32_t *isl = ARENA_ARRAY(r->arena, uint32_t, trace.n), *osl = ARENA_ARRAY(r->arena, uint32_t, trace.n);
	for (size_t i = 0; i < trace.n; i++) {
		isl[i] = trace.requests[i].isl_token;
		osl[i] = trace.requests[i].osl_token;
	}
	t->isl = (struct sim_lengths){.kind = SIM_EMPIRICAL, .values = isl, .n_values = trace.n};
	t->osl = (struct sim_lengths){.kind = SIM_EMPIRICAL, .values = osl, .n_values = trace.n};
	t->paired = true;
	return true;
}

static struct sim_lengths
drawn(struct datum mean, struct datum cv)
{
	return (struct sim_lengths){cv.value > 0 ? SIM_LOG_NORMAL : SIM_CONSTANT, mean.value, cv.value, NULL, 0};
}

/* Seconds from one request of a client to its next, by the closed form: they begin spread over so much. */
static double
usual_cycle(const struct simulate_case *c, double n_clients)
{
	const struct serve_load *l = &c->load->each;
	struct serve_flow f;

	if (!(l->isl >= 1) || !serve_flow_closed(c->setup, l, n_clients, c->load->think_s, &f))
		return c->load->think_s;
	const double first_s = serve_flow_first(NULL, c->setup, l, &f), step_s = serve_flow_step(NULL, c->setup, l, &f);
	return serve_answer_time(NULL, first_s, step_s, l->osl) + c->load->think_s;
}

/* List warm-up and number of simulated requests as assumed, unless given. */
static void
bind_length(struct run *r, const struct simulate_in *in, const struct simulate_case *c, struct sim_config *out)
{
	struct sim_traffic *t = &out->traffic;

	out->warmup_frac = datum_given(in->warmup) ? in->warmup.value : in->trace.text ? 0 : SIMULATE_WARMUP;
	if (!datum_given(in->warmup) && !in->trace.text)
		run_assume_as(r, "warmup", arena_printf(r->arena, "%g", SIMULATE_WARMUP),
		    "warm-up %g %% of the requests", 100 * SIMULATE_WARMUP);
	if (in->trace.text)
		return;
	t->n_requests = (size_t)c->n_requests.value;
	if (datum_given(c->n_requests))
		return;
	t->n_requests = (size_t)simulate_enough(0.99, (double)t->n_clients, out->warmup_frac);
	run_assume_as(r, "requests", arena_printf(r->arena, "%zu", t->n_requests), "requests %zu (%.0f beyond P99%s)",
	    t->n_requests, 0.01 * (1 - out->warmup_frac) * (double)t->n_requests,
	    t->n_clients ? ", 20 for each client" : "");
}

/* Who counts the whole run. */
static bool
counts_all(const struct simulate_in *in)
{
	return datum_given(in->warmup) && in->warmup.value == 0 && !in->trace.text;
}

static bool
bind_traffic(struct run *r, const struct simulate_in *in, const struct simulate_case *c, struct sim_config *out)
{
	struct sim_traffic *t = &out->traffic;
	const double replicas = in->replicas.value;

	*t = (struct sim_traffic){.rate_request_per_s = datum_or(c->rate_request_per_s, INFINITY),
	    .gap_cv = in->gap_cv.value,
	    .think_s = c->load->think_s,
	    .think_cv = c->load->think_cv,
	    .cached_frac = c->load->each.cached_frac,
	    .seed = (uint64_t)in->seed.value};
	if (datum_given(c->n_concurrent)) {
		t->n_clients = (size_t)fmin(c->n_concurrent.value, 1u << 30);
		/* who counts the whole run asks for a benchmark's, whose clients begin together */
		t->ramp_s = counts_all(in) ? 0 : usual_cycle(c, c->n_concurrent.value / replicas);
	}
	if (in->trace.text && !read_trace(r, in, c, t))
		return false;
	bind_length(r, in, c, out);
	if (in->trace.text)
		return true;
	if (in->lengths.text)
		return read_lengths(r, in, t);
	t->isl = drawn(c->isl, in->isl_cv);
	t->osl = drawn(c->osl, in->osl_cv);
	return true;
}

/* --- replicas -------------------------------------------------------------------------------------------- */

static double
usual_prompt(const struct sim_traffic *t)
{
	double most = 0, sum = 0;

	if (!t->trace && t->isl.kind != SIM_EMPIRICAL)
		return t->isl.mean_token;
	const size_t n = t->trace ? t->n_requests : t->isl.n_values;
	for (size_t i = 0; i < n; i++) {
		const double token = t->trace ? t->trace[i].isl_token : t->isl.values[i];
		sum += token;
		most = fmax(most, token);
	}
	return most > 0 ? sum / (double)n : 1;
}

/* The engine as the options want it. */
static const struct serve_setup *
own_setup(struct run *r, const struct simulate_in *in, const struct serve_setup *s)
{
	struct engine *e = ARENA_NEW(r->arena, struct engine);
	struct serve_setup *own = ARENA_NEW(r->arena, struct serve_setup);

	*e = *s->engine;
	*own = *s;
	own->engine = e;
	if (in->admission.text)
		e->evicts = strcmp(in->admission.text, "evict") == 0;
	if (in->prefill.text) {
		e->chunked = strcmp(in->prefill.text, "chunked") == 0;
		e->prefill_first = strcmp(in->prefill.text, "first") == 0;
	}
	engine_limit(e, in->max_sequences, in->max_step_tokens);
	return own;
}

static enum sim_routing
routing_of(const char *text)
{
	if (strcmp(text, "round-robin") == 0)
		return SIM_ROUND_ROBIN;
	return strcmp(text, "least-loaded") == 0 ? SIM_LEAST_LOADED : SIM_SHORTEST_QUEUE;
}

static bool
bind_config(struct run *r, const struct simulate_in *in, const struct simulate_case *c, struct sim_config *out)
{
	run_reads(r, &in->seed, &in->isl_cv, &in->osl_cv, &in->lengths, &in->trace, &in->prefix_block, &in->replicas,
	    &in->decode_replicas, &in->admission, &in->prefill, &in->max_sequences, &in->max_step_tokens, &in->warmup,
	    &in->rates, &in->timeline, &in->dump, NULL);
	if (!datum_given(c->n_concurrent) && !in->trace.text)
		run_reads(r, &in->gap_cv, NULL);
	if (in->trace.text)
		run_reads(r, &in->trace_speed, NULL);
	if (datum_given(c->n_concurrent) && c->load->think_s > 0)
		run_reads(r, &in->think_cv, NULL);
	if (in->replicas.value > 1 || in->decode_replicas.value > 1)
		run_reads(r, &in->routing, NULL);
	if (in->timeline.text)
		run_reads(r, &in->timeline_rows, NULL);
	*out = (struct sim_config){.n_replicas = (size_t)in->replicas.value,
	    .routing = routing_of(in->routing.text),
	    .n_decode_replicas = (size_t)in->decode_replicas.value,
	    .send = c->send,
	    .take = c->take,
	    .objectives = c->objectives,
	    .timeline_rows = in->timeline.text ? (size_t)in->timeline_rows.value : 0};
	if (!bind_traffic(r, in, c, out))
		return false;
	struct serve_load usual = c->load->each;
	usual.isl = usual_prompt(&out->traffic);
	out->engine = simulate_setup(c->setup, &usual);
	/* a benchmark that counts all of its run begins with a server that has just been started */
	if (counts_all(in))
		out->engine.cold_s = serve_cold(c->setup, &c->load->each);
	if (out->n_decode_replicas) {
		out->decode = simulate_setup(c->decode, &usual);
		out->engine.front_s += serve_handover(NULL, c->setup);
	}
	return true;
}

/* --- answers --------------------------------------------------------------------------------------------- */

/* The rate at which the closed form has all replicas full; absent where lengths vary too much to have one. */
static double
show_saturation(struct run *r, const struct simulate_case *c, const struct sim_config *config)
{
	struct sheet *sh = r->sheet;
	struct serve_load load = c->load->each;

	load.n_requests = load.n_concurrent = datum_absent();
	if (!datum_given(c->isl) || !datum_given(c->osl) || config->traffic.trace || config->n_decode_replicas)
		return NAN;
	CALL(sh, n_full, serve_running(sh, c->setup, &load));
	CALL(sh, n_starting, serve_starting(sh, c->setup, &load, n_full));
	CALL(sh, full_step_s, serve_steady(sh, c->setup, &load, n_starting));
	CALL(sh, replica_request_per_s, serve_request_rate(sh, n_starting, full_step_s));
	TAKE(sh, n_replicas, (double)config->n_replicas);
	CALL(sh, saturation_request_per_s, serve_fleet_rate(sh, replica_request_per_s, n_replicas));
	SHOW(sh, saturation_request_per_s, max_request_per_s);
	return saturation_request_per_s;
}

/* Requests came faster than they were answered, for as long as they came. */
static bool
is_saturated(const struct sim_config *c, const struct sim_result *result, double saturation_request_per_s)
{
	const double rate = c->traffic.rate_request_per_s;

	if (c->traffic.n_clients || c->traffic.trace || !isfinite(rate))
		return false;
	return rate > saturation_request_per_s ||
	    (!(rate < 0.9 * saturation_request_per_s) && simulation_backlog(result) > 0.1);
}

static void
warn_result(struct run *r, const struct sim_config *c, const struct sim_result *result)
{
	const double backlog = simulation_backlog(result),
	             arriving_s = result->last_arrival_s - result->first_arrival_s;
	const bool open = c->traffic.n_clients == 0 && arriving_s > 0;

	if (result->n_refused)
		run_warn(r, "%zu of %zu requests exceed the KV cache and were rejected", result->n_refused,
		    result->n_requests);
	if (open && c->traffic.trace && backlog > 0.1)
		run_warn(r, "%.0f %% of the requests in the second half of the trace were unfinished at its end",
		    100 * backlog);
	else if (open && arriving_s < 4 * result->e2e.mean)
		run_warn(r, "arrivals lasted less than four request latencies: use more --requests for steady state");
	if (result->n_counted < 1000)
		run_warn(
		    r, "P99 of %zu requests rests on the %zu largest", result->n_counted, result->n_counted / 100 + 1);
}

static enum answer
saturated(struct run *r, const struct sim_result *result)
{
	struct sheet *sh = r->sheet;

	TELL(sh, verdict, "saturated: request rate above the maximum");
	TAKE(sh, answered_request_per_s, result->request_per_s);
	SHOW(sh, answered_request_per_s, request_per_s);
	TAKE(sh, output_token_per_s, result->output_token_per_s);
	SHOW(sh, output_token_per_s, output_token_per_s);
	run_warn(r, "latencies grow without bound: not printed");
	return ANSWERED_NO;
}

static bool
write_files(struct run *r, const struct simulate_in *in, const struct sim_result *result)
{
	return (!in->timeline.text || simulate_write_timeline(r, in->timeline, result)) &&
	    (!in->dump.text || simulate_write_requests(r, in->dump, result));
}

static enum answer
judged(struct run *r, const struct words *slo, const struct sim_result *result)
{
	const struct sim_spread *spreads[] = {
	    [SLO_TTFT] = &result->ttft, [SLO_TPOT] = &result->tpot, [SLO_E2E] = &result->e2e, [SLO_ITL] = &result->itl};
	double time_s[N_SLO_MEASURES][N_PLAN_STATISTICS];
	const char *verdict = "";
	bool met = true;

	for (int i = 0; i < N_SLO_MEASURES; i++) {
		time_s[i][PLAN_MEAN] = spreads[i]->mean;
		time_s[i][PLAN_P50] = spreads[i]->p50;
		time_s[i][PLAN_P90] = spreads[i]->p90;
		time_s[i][PLAN_P95] = spreads[i]->p95;
		time_s[i][PLAN_P99] = spreads[i]->p99;
	}
	if (!serve_slos(r, slo, time_s, &verdict, &met))
		return REFUSED;
	if (*verdict)
		TELL(r->sheet, verdict, verdict);
	return met ? ANSWERED : ANSWERED_NO;
}

static enum answer
show_one(struct run *r, const struct simulate_in *in, const struct simulate_case *c, const struct sim_config *config,
    const struct sim_result *result)
{
	if (result->n_finished == 0) {
		run_refuse(r, c->isl.from, "no request fits the KV cache", "use shorter ISL and OSL, or more memory");
		return REFUSED;
	}
	const double saturation_request_per_s = show_saturation(r, c, config);
	if (!write_files(r, in, result))
		return REFUSED; /* the file's fault decides the status */
	if (is_saturated(config, result, saturation_request_per_s))
		return saturated(r, result);
	simulate_show(r, config, result);
	warn_result(r, config, result);
	return judged(r, c->slo, result);
}

/* --- a line for each rate -------------------------------------------------------------------------------- */

static enum answer
curve(struct run *r, const struct simulate_in *in, const struct simulate_case *c, const struct sim_config *config)
{
	const size_t n = in->rates.n;
	struct sim_config *configs = ARENA_ARRAY(r->arena, struct sim_config, n);
	struct simulation **all = ARENA_ARRAY(r->arena, struct simulation *, n);
	const char **faults = ARENA_ARRAY(r->arena, const char *, n);
	enum answer answer = ANSWERED_NO;

	for (size_t i = 0; i < n; i++) {
		struct datum rate;
		if (!run_value(r, in->rates.list[i].from, in->rates.list[i].text, Q_NUMBER, &rate))
			return REFUSED;
		configs[i] = *config;
		configs[i].traffic.rate_request_per_s = rate.value;
	}
	simulate_many(configs, n, 0, all, faults);
	const double saturation_request_per_s = show_saturation(r, c, config);
	for (size_t i = 0; i < n; i++) {
		if (!all[i]) {
			run_refuse(r, in->rates.list[i].from, faults[i], "see ridge-serve(1)");
			answer = REFUSED;
		} else {
			const struct sim_result *result = simulation_result(all[i]);
			if (answer != REFUSED && !is_saturated(&configs[i], result, saturation_request_per_s))
				answer = ANSWERED;
			SCOPE_I (r->sheet, "rates", i)
				simulate_show_rate(r, &configs[i], result,
				    is_saturated(&configs[i], result, saturation_request_per_s));
		}
		simulation_free(all[i]);
	}
	return answer;
}

static bool
comes_and_goes(struct run *r, const struct serve_setup *s)
{
	if (s->model->kind != MODEL_DECODER)
		return run_refuse(r, (struct source){0},
		    arena_printf(r->arena, "%s has no output tokens", s->model->name),
		    "use a decoder, or leave --simulate out");
	if (s->engine->kind != ENGINE_BATCHED)
		return run_refuse(r, (struct source){0},
		    arena_printf(r->arena, "%s has no in-flight batching", s->engine->name),
		    "use an engine with in-flight batching: trtllm, vllm, sglang");
	return true;
}

/* True if the weights leave memory for a KV cache. */
static bool
has_cache(struct run *r, const struct serve_setup *s, const struct serve_load *load)
{
	struct sheet *sh = r->sheet;

	if (serve_pool(NULL, s, load) >= s->engine->memory.block_token.value)
		return true;
	CALL(sh, weight_byte, serve_weights(sh, s));
	SHOW(sh, weight_byte, weight_byte);
	TAKE(sh, mem_byte, s->mem_byte);
	SHOW(sh, mem_byte, gpu_mem_byte);
	TELL(sh, verdict, "does not fit: use more GPUs with --layout, or a smaller dtype");
	return false;
}

static bool
bind_simulation(struct run *r, const struct simulate_in *in, const struct simulate_case *c, struct sim_config *out)
{
	return check_numbers(r, in) && check_together(r, in, c) && bind_config(r, in, c, out);
}

/* The setups as the options want them. */
static struct simulate_case
own_case(struct run *r, const struct simulate_in *in, const struct simulate_case *asked)
{
	struct simulate_case own = *asked;

	own.setup = own_setup(r, in, asked->setup);
	own.decode = asked->decode ? own_setup(r, in, asked->decode) : own.setup;
	return own;
}

bool
simulate_bind(struct run *r, const struct simulate_in *in, const struct simulate_case *asked, struct sim_config *out)
{
	const struct simulate_case own = own_case(r, in, asked);

	return bind_simulation(r, in, &own, out);
}

enum answer
serve_simulate(struct run *r, const struct simulate_in *in, const struct simulate_case *asked)
{
	struct simulate_progress progress = simulate_progress_begin();
	const struct simulate_case own = own_case(r, in, asked), *const c = &own;
	struct sim_config config;
	const char *fault;

	if (!comes_and_goes(r, asked->setup))
		return REFUSED;
	if (!has_cache(r, own.setup, &own.load->each) || !has_cache(r, own.decode, &own.load->each))
		return ANSWERED_NO;
	if (!bind_simulation(r, in, c, &config))
		return REFUSED;
	if (in->rates.n)
		return curve(r, in, c, &config);
	config.progress = simulate_progress;
	config.progress_context = &progress;
	struct simulation *s = simulate(&config, &fault);
	simulate_progress_end(&progress);
	if (!s) {
		run_refuse(r, c->isl.from, fault, "see ridge-serve(1)");
		return REFUSED;
	}
	const enum answer answer = show_one(r, in, c, &config, simulation_result(s));
	simulation_free(s);
	return answer;
}
