/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bind the load of a server: request lengths, and a request rate or clients with think time. */
#include "ask/bind/bind.h"

#include "ask/memory/memory.h"
#include "cli/cli.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"

#include <stdlib.h>
#include <string.h>

static bool
check_numbers(struct run *r, const struct load_in *in)
{
	const struct {
		const char *name;
		struct datum value;
	} shares[] = {{"isl-cv", in->isl_cv}, {"osl-cv", in->osl_cv}, {"think-cv", in->think_cv}, {"think", in->think}};

	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
		if (datum_given(shares[i].value) && !(shares[i].value.value >= 0 && isfinite(shares[i].value.value)))
			return run_refuse(r, shares[i].value.from,
			    arena_printf(r->arena, "--%s must not be negative", shares[i].name),
			    "write for example 0, 1 or 2.5");
	return run_whole(r, "isl", in->isl, 1) & run_whole(r, "osl", in->osl, 1) &
	    run_whole(r, in->clients_option + 2, in->clients, 1) & run_whole(r, "requests", in->requests, 1) &
	    run_whole(r, "draft-tokens", in->draft_tokens, 1) & run_positive(r, "rate", in->rate) &
	    run_fraction(r, "cached", in->cached) & run_positive(r, "accepted", in->accepted);
}

static bool
check_together(struct run *r, const struct load_in *in)
{
	if (datum_given(in->rate) && datum_given(in->clients))
		return run_refuse(r, in->rate.from,
		    arena_printf(r->arena, "--rate and %s exclude each other", in->clients_option),
		    arena_printf(r->arena, "--rate is an open load, %s a closed one; keep one", in->clients_option));
	if (datum_given(in->cached) && in->cached.value >= 1)
		return run_refuse(r, in->cached.from, "--cached must be below 1: the last prompt token is never cached",
		    "write for example --cached 0.9");
	if (in->think.value > 0 && !datum_given(in->clients))
		return run_refuse(r, in->think.from, "--think needs concurrent clients",
		    arena_printf(r->arena, "add %s, or leave --think out", in->clients_option));
	if (datum_given(in->draft_tokens) != datum_given(in->accepted))
		return run_refuse(r, datum_given(in->draft_tokens) ? in->draft_tokens.from : in->accepted.from,
		    "--draft-tokens and --accepted need each other",
		    "write for example --draft-tokens 4 --accepted 2.3");
	if (datum_given(in->accepted) && in->accepted.value > in->draft_tokens.value)
		return run_refuse(r, in->accepted.from, "--accepted exceeds --draft-tokens",
		    "write for example --draft-tokens 4 --accepted 2.3");
	return true;
}

bool
bind_load(struct run *r, const struct load_in *in, struct load *out)
{
	if (!check_numbers(r, in) || !check_together(r, in))
		return false;
	const struct datum read[] = {in->isl, in->osl, in->cached, in->isl_cv, in->osl_cv, in->rate, in->clients,
	    in->think, in->draft_tokens, in->accepted, datum_given(in->draft_tokens) ? in->draft_time : datum_absent()};
	for (size_t i = 0; i < sizeof read / sizeof *read; i++)
		run_read_from(r, read[i].from);
	*out = (struct load){
	    .each = {.isl = in->isl.value,
	        .osl = datum_or(in->osl, 1),
	        .cached_frac = datum_or(in->cached, 0),
	        .n_requests = in->requests,
	        .n_concurrent = in->clients,
	        .n_drafts = datum_or(in->draft_tokens, 0),
	        .n_accepted = datum_or(in->accepted, 0),
	        .draft_s = datum_given(in->draft_tokens) ? datum_or(in->draft_time, 0) : 0,
	        .isl_cv = datum_or(in->isl_cv, 0),
	        .osl_cv = datum_or(in->osl_cv, 0)},
	    .rate_request_per_s = in->rate.value,
	    .n_clients = in->clients.value,
	    .think_s = datum_given(in->clients) ? datum_or(in->think, in->usual_think_s) : 0,
	    .think_cv = datum_or(in->think_cv, 1),
	};
	if (datum_given(in->clients) && !datum_given(in->think) && in->usual_think_s > 0)
		run_assume_value(r, "think", "%g s", in->usual_think_s);
	return true;
}

/* --- batch --------------------------------------------------------------------------------------------------- */

/* Sequences of a training step.  What does not come out in whole micro-batches is refused: no framework runs it. */

static struct datum
derived(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* --- the sequence ---------------------------------------------------------------------------------------- */

static double
usual_sequence(const struct workload *w)
{
	if (w->kind == MODEL_VISION)
		return vision_tokens(NULL, w);
	return datum_given(w->context) ? fmin(4096, w->context.value) : 4096;
}

bool
bind_sequence(struct run *r, struct datum asked, const struct workload *w, double unit, struct datum *out)
{
	if (!run_whole(r, "--seq", asked, 1))
		return false;
	run_read_from(r, asked.from);
	*out = asked;
	if (!datum_given(asked)) {
		*out = derived(usual_sequence(w));
		run_assume_value(r, "seq", "%g", out->value);
	}
	if (datum_given(w->context) && out->value > w->context.value)
		run_warn(r, "sequence length %g exceeds the model's context length %g", out->value, w->context.value);
	if (fmod(out->value, unit) == 0)
		return true;
	diag_error(r->diag, out->from, "%g tokens are not a multiple of %g, as context and sequence parallelism need",
	    out->value, unit);
	diag_hint(r->diag, "nearest: %g tokens", unit * fmax(1, floor(out->value / unit + 0.5)));
	return false;
}

/* --- the batch ------------------------------------------------------------------------------------------- */

/* Only products of what is said can be a global batch. */
static bool
refuse(struct run *r, const struct memory_in *in, const struct batch_said *said, double dp)
{
	const bool both = said->n_sequences > 0 && said->n_microbatches > 0;
	const double global = said->n_global_sequences, n_sequences = fmax(1, said->n_sequences);
	const double unit = dp * n_sequences * fmax(1, said->n_microbatches);
	const double below = unit * floor(global / unit), above = unit * ceil(global / unit);

	if (said->n_microbatches > 0)
		diag_error(r->diag, in->global_batch.from,
		    "a global batch of %g is not %sdp %g x %g micro-batches of %g", global,
		    both ? "" : "a multiple of ", dp, said->n_microbatches, n_sequences);
	else
		diag_error(r->diag, in->global_batch.from,
		    "a global batch of %g is not a multiple of dp %g x micro-batch %g", global, dp, n_sequences);
	if (both || !(below > 0))
		diag_hint(r->diag, "nearest: %g", unit);
	else
		diag_hint(r->diag, "nearest: %g and %g", above, below);
	return false;
}

bool
bind_batch(struct run *r, const struct memory_in *in, const struct workload *w, const struct stack *s,
    const struct layout *l, struct batch *out)
{
	return bind_sequence(r, in->seq, w, layout_sequence_unit(s, w, l), &out->seq_length) &&
	    bind_microbatches(r, in, l, out);
}

bool
bind_microbatches(struct run *r, const struct memory_in *in, const struct layout *l, struct batch *out)
{
	const bool says_batch = in->batch.from.file != inputs_default;
	struct batch_said settled;

	if (!(run_whole(r, "--batch", in->batch, 1) & run_whole(r, "--microbatches", in->microbatches, 1) &
	        run_whole(r, "--global-batch", in->global_batch, 1)))
		return false;
	run_reads(r, &in->batch, &in->microbatches, &in->global_batch, NULL);
	out->said = (struct batch_said){
	    says_batch ? in->batch.value : 0, datum_or(in->microbatches, 0), datum_or(in->global_batch, 0)};
	if (!batch_settle(&out->said, out->seq_length.value, l, &settled))
		return refuse(r, in, &out->said, l->dp);
	out->n_sequences = says_batch ? in->batch : derived(settled.n_sequences);
	out->n_microbatches = datum_given(in->microbatches) ? in->microbatches : derived(settled.n_microbatches);
	out->n_global_sequences =
	    datum_given(in->global_batch) ? in->global_batch : derived(settled.n_global_sequences);
	/* the third of the three follows from two that are said */
	if (!says_batch && !(out->said.n_microbatches > 0 && out->said.n_global_sequences > 0))
		run_assume_value(r, "batch", "%g", settled.n_sequences);
	if (!datum_given(in->microbatches) && !datum_given(in->global_batch))
		run_assume_value(r, "microbatches", "%g", settled.n_microbatches);
	return true;
}

/* --- card ---------------------------------------------------------------------------------------------------- */

/* The memory that a job gets of a GPU. */

struct datum
bind_card(struct run *r, const struct gpu *gpu, struct datum given)
{
	if (datum_given(given) || !gpu)
		return given;
	if (!datum_given(gpu->mem_usable_byte))
		run_assume(r, "%s: usable memory 99%% of %g GiB", gpu->id, gpu->mem_label_byte.value / 1e9);
	return memory_of_gpu(gpu);
}

/* --- room ---------------------------------------------------------------------------------------------------- */

/* The room that a serving engine leaves to its cache: of the card its share, less weights, the activations of its
 * largest step and its context, in blocks.  A given headroom replaces the engine's rule. */

static bool
check(struct run *r, const struct room_in *in, const struct stack *engine)
{
	const struct datum share = in->utilization;

	if (in->headroom.value >= 1)
		return run_refuse(r, in->headroom.from, "--headroom must be below 1", "write 0.2 or 20%");
	if (!datum_given(share))
		return true;
	if (share.value > 1 || !(share.value > 0))
		return run_refuse(r, share.from, "--utilization must be above 0 and at most 1", "write 0.9 or 90%");
	if (engine->pool == POOL_NONE)
		return run_refuse(r, share.from, "this engine has no memory utilization setting", "use --headroom");
	if (datum_given(in->headroom))
		return run_refuse(r, share.from, "--headroom and --utilization exclude each other", "keep one");
	return true;
}

bool
serve_headroom(struct run *r, struct datum headroom, struct serve_parts *p)
{
	const struct room_in in = {headroom, datum_absent(), datum_absent(), datum_absent()};

	if (!check(r, &in, &p->engine->memory))
		return false;
	run_read_from(r, headroom.from);
	p->card_frac = datum_given(headroom) ? 1 - headroom.value : 0;
	return true;
}

static struct datum
given_or(struct datum given, struct datum usual)
{
	return datum_given(given) ? given : usual;
}

bool
bind_room(struct run *r, const struct room_in *in, const struct stack *engine, const struct formats *f,
    struct datum card, struct memory_job *job)
{
	if (!check(r, in, engine))
		return false;
	run_read_from(r, in->block.from);
	if (datum_given(card)) {
		run_read_from(r, in->headroom.from);
		run_read_from(r, in->utilization.from);
		run_read_from(r, in->step_token.from);
	}
	job->use = STACK_INFER;
	job->stack = engine;
	job->dtype = dtype_byte(f->compute) > 2 ? f->compute : DTYPE_BF16;
	for (int p = 0; p < N_PARTS; p++)
		job->part_byte[p] = f->part_byte[p];
	job->kv_elem_byte = dtype_byte(f->kv);
	job->block_token = given_or(in->block, engine->block_token);
	job->batch_token = given_or(in->step_token, engine->batch_token);
	job->utilization = given_or(in->utilization, engine->utilization);
	job->context_byte = engine->counter_byte[COUNTER_DEVICE];
	job->card_byte = card;
	job->headroom_frac = in->headroom;
	return true;
}

bool
bind_replica(struct run *r, const struct layout_in *in, struct datum n_gpus, struct layout_in *out)
{
	const double n = n_gpus.value, pp = datum_or(in->pp, 1), tp = datum_or(in->tp, n / pp);

	*out = *in;
	if (!datum_given(n_gpus))
		return true;
	run_read_from(r, n_gpus.from);
	if (fmod(n, pp) == 0 && tp * pp == n) {
		if (!datum_given(in->tp))
			run_assume_value(r, "layout", arena_printf(r->arena, "tp=%g", tp));
		out->tp = (struct datum){.value = tp, .from = n_gpus.from};
		return true;
	}
	return run_refuse(r, n_gpus.from,
	    datum_given(in->tp) ? arena_printf(r->arena, "a replica with tp=%g,pp=%g has %g GPUs", tp, pp, tp * pp)
	                        : arena_printf(r->arena, "pp=%g does not divide %g GPUs", pp, n),
	    "leave --gpus out, or make it tp x pp; for several replicas see ridge capacity");
}

void
bind_served_degrees(struct run *r, const struct layout_in *in)
{
	run_reads(r, &in->tp, &in->pp, &in->ep, &in->adp, NULL);
	if (in->tp.value > 8)
		run_reads(r, &in->across, NULL);
}

static bool
wrong_degree(struct run *r, struct word w)
{
	return run_refuse(r, w.from,
	    arena_printf(r->arena, "'%s' is not a parallel degree of a decode replica", w.text),
	    "write for example --decode-layout tp=32,ep=32,adp");
}

/* One of `tp=8`, `ep=8`, `pp=2`, `adp`, `across`. */
static bool
read_degree(struct run *r, struct word w, struct layout_in *out)
{
	const struct {
		const char *name;
		struct datum *to;
	} degrees[] = {{"tp=", &out->tp}, {"pp=", &out->pp}, {"ep=", &out->ep}};
	char *end;

	if (strcmp(w.text, "adp") == 0)
		return out->adp = true;
	if (strcmp(w.text, "across") == 0)
		return out->across = true;
	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
		const size_t n = strlen(degrees[i].name);
		if (strncmp(w.text, degrees[i].name, n) != 0)
			continue;
		const double value = strtod(w.text + n, &end);
		if (end == w.text + n || *end)
			return wrong_degree(r, w);
		*degrees[i].to = (struct datum){value, w.from};
		return true;
	}
	return wrong_degree(r, w);
}

bool
bind_decode_layout(struct run *r, const struct words *said, const struct workload *model, struct serve_layout *out)
{
	struct layout_in asked = {.dp = datum_absent(),
	    .tp = datum_absent(),
	    .pp = datum_absent(),
	    .vp = datum_absent(),
	    .cp = datum_absent(),
	    .ep = datum_absent(),
	    .etp = datum_absent(),
	    .zero = datum_absent(),
	    .shard = datum_absent()};
	struct layout l;

	for (size_t i = 0; i < said->n; i++)
		if (!read_degree(r, said->list[i], &asked))
			return false;
	if (!run_layout(r, &asked, datum_absent(), model, &l))
		return false;
	run_reads(r, said, NULL);
	if (l.ep > l.tp || fmod(l.tp, l.ep) != 0)
		return run_refuse(
		    r, said->list[0].from, "ep must divide tp", "write for example --decode-layout tp=8,ep=8");
	*out = (struct serve_layout){l.tp, l.pp, l.ep, l.adp && l.tp > 1};
	return true;
}

/* --- SLOs ------------------------------------------------------------------------------------------------ */

static bool
not_an_slo(struct run *r, struct word w)
{
	return run_refuse(r, w.from, arena_printf(r->arena, "'%s' is not an SLO", w.text),
	    "write ttft, tpot, itl or e2e, optionally with p50, p90, p95 or p99, and a time: ttft=p99:500ms");
}

static int
word_among(const char *word, const char *const *names, int n)
{
	int i = 0;

	while (i < n && strcmp(word, names[i]) != 0)
		i++;
	return i;
}

bool
bind_slo(struct run *r, struct word w, struct slo *out)
{
	static const char *const measures[N_SLO_MEASURES] = {
	    [SLO_TTFT] = "ttft", [SLO_TPOT] = "tpot", [SLO_E2E] = "e2e", [SLO_ITL] = "itl"};
	static const char *const statistics[N_PLAN_STATISTICS] = {
#define STATISTIC(id, name, share) [PLAN_##id] = name,
	    PLAN_STATISTICS(STATISTIC)
#undef STATISTIC
	};
	const size_t n_name = strcspn(w.text, ".:="), n_all = strcspn(w.text, ":=");
	const char *name = arena_copy(r->arena, w.text, n_name), *time = w.text + n_all + (w.text[n_all] != '\0');
	const char *of = n_all > n_name ? arena_copy(r->arena, w.text + n_name + 1, n_all - n_name - 1) : NULL;
	const char *colon = strchr(time, ':');

	if (colon && of)
		return not_an_slo(r, w);
	if (colon) {
		of = arena_copy(r->arena, time, (size_t)(colon - time));
		time = colon + 1;
	}
	out->measure =
	    strcmp(name, "answer") == 0 ? SLO_E2E : (enum slo_measure)word_among(name, measures, N_SLO_MEASURES);
	out->statistic = of ? (enum plan_statistic)word_among(of, statistics, N_PLAN_STATISTICS) : PLAN_MEAN;
	if (out->measure == N_SLO_MEASURES || out->statistic == N_PLAN_STATISTICS || !*time)
		return not_an_slo(r, w);
	out->text = arena_printf(r->arena, "%s%s%s", measures[out->measure], of ? " " : "", of ? of : "");
	return run_value(r, w.from, time, Q_TIME, &out->limit_s);
}

void
bind_show_percentile(struct sheet *sh, enum plan_measure m, enum plan_statistic s, double time_s)
{
#define ROW(measure, statistic, row, id)                                                                               \
	if (m == PLAN_##measure && s == PLAN_##statistic) {                                                            \
		TAKE(sh, row, time_s);                                                                                 \
		SHOW(sh, row, id);                                                                                     \
	}
	ROW(TTFT, P50, ttft_p50_s, ttft_p50_s)
	ROW(TTFT, P90, ttft_p90_s, ttft_p90_s)
	ROW(TTFT, P95, ttft_p95_s, ttft_p95_s)
	ROW(TTFT, P99, ttft_p99_s, ttft_p99_s)
	ROW(TPOT, P50, tpot_p50_s, tpot_p50_s)
	ROW(TPOT, P90, tpot_p90_s, tpot_p90_s)
	ROW(TPOT, P95, tpot_p95_s, tpot_p95_s)
	ROW(TPOT, P99, tpot_p99_s, tpot_p99_s)
	ROW(E2E, P50, answer_p50_s, e2e_p50_s)
	ROW(E2E, P90, answer_p90_s, e2e_p90_s)
	ROW(E2E, P95, answer_p95_s, e2e_p95_s)
	ROW(E2E, P99, answer_p99_s, e2e_p99_s)
#undef ROW
}
