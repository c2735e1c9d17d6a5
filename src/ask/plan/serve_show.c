/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show the setups of `ridge plan serve`. */
#include "ask/plan/plan.h"

#include "ask/serve/serve.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

static const struct plan_setup *
setup_of(const struct plan_served_row *row)
{
	return row->c->about;
}

/* --- a row ----------------------------------------------------------------------------------------------- */

/* As `ridge serve` takes it. */
static const char *
options_text(struct run *r, const struct plan_served *p, const struct plan_served_row *row)
{
	const struct plan_setup *about = setup_of(row);
	const struct engine *e = row->c->setup->engine, *usual = about->engine;
	const struct words *speculate = &p->in->plan.speculate;
	/* a type of weights alone, such as int4, is one of --dtype too */
	const enum dtype type = p->in->weights_dtype.text ? about->formats.compute : about->type;
	const char *out = arena_printf(r->arena, "--gpu %s --engine %s%s%s --layout %s", about->gpu->id, usual->id,
	    about->formats.published ? "" : " --dtype ", about->formats.published ? "" : dtype_name(type),
	    about->layout);

	if (p->in->kv_dtype.text)
		out = arena_printf(r->arena, "%s --kv-dtype %s", out, p->in->kv_dtype.text);
	if (p->in->weights_dtype.text)
		out = arena_printf(r->arena, "%s --weights-dtype %s", out, p->in->weights_dtype.text);
	if (e->max_sequences.value != usual->max_sequences.value)
		out = arena_printf(
		    r->arena, "%s --set engine.scheduler.max_sequences=%.15g", out, e->max_sequences.value);
	if (e->max_tokens.value != usual->max_tokens.value)
		out = arena_printf(r->arena, "%s --set engine.scheduler.max_tokens=%.15g", out, e->max_tokens.value);
	if (datum_given(p->in->headroom))
		out = arena_printf(r->arena, "%s --headroom %.15g", out, p->in->headroom.value);
	for (size_t i = 0; i < speculate->n; i++)
		out = arena_printf(r->arena, "%s%s%s", out, i ? "," : " --speculate ", speculate->list[i].text);
	return out;
}

const char *
plan_serve_part_text(struct run *r, double n_replicas, const struct plan_candidate *c)
{
	const struct plan_setup *about = c->about;
	const struct engine *e = c->setup->engine, *usual = about->engine;
	const char *out = arena_printf(r->arena, "%g x %s %s", n_replicas, about->gpu->id, about->layout);

	if (e->max_sequences.value != usual->max_sequences.value)
		out = arena_printf(r->arena, "%s,max-sequences=%.15g", out, e->max_sequences.value);
	if (e->max_tokens.value != usual->max_tokens.value)
		out = arena_printf(r->arena, "%s,max-step-tokens=%.15g", out, e->max_tokens.value);
	return out;
}

static void
show_limits(struct run *r, const struct plan_candidate *c)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, n_sequences_most, c->setup->engine->max_sequences.value);
	SHOW(sh, n_sequences_most, n_limit_sequences);
	TAKE(sh, limit_step_token, c->setup->engine->max_tokens.value);
	SHOW(sh, limit_step_token, limit_step_token);
}

void
plan_serve_bands(struct run *r, const struct plan_candidate *c, const struct plan_point *at, struct interval out[2])
{
	const struct plan_setup *about = c->about;
	const struct serve_question q = {.setup = c->setup, .gpu = about->gpu, .regime = SERVE_ONLINE};
	const struct serve_errors e = serve_errors_of(r, &q, about->fitted);
	const struct serve_error *first = &e.of[SERVE_TTFT], *token = &e.of[SERVE_TPOT];

	out[0] = interval_of(at->latency_s[PLAN_TTFT][PLAN_MEAN], &first->terms, first->why);
	out[1] = interval_of(at->latency_s[PLAN_TPOT][PLAN_MEAN], &token->terms, token->why);
}

static void
show_bands(struct run *r, const struct plan_served_row *row)
{
	struct interval of[2];

	plan_serve_bands(r, row->c, &row->c->usual, of);
	BETWEEN(r->sheet, ttft_s, of[0].low, of[0].high, of[0].why);
	BETWEEN(r->sheet, tpot_s, of[1].low, of[1].high, of[1].why);
}

static void
show_difference(
    struct run *r, const struct plan_served *p, const struct plan_served_row *row, const struct plan_served_row *best)
{
	struct sheet *sh = r->sheet;
	double own = plan_rank_value(row->c, p->rank), least = plan_rank_value(best->c, p->rank);

	if (row == best || isnan(own) != isnan(least)) /* a price is compared with no number of GPUs */
		return;
	if (isnan(own)) {
		own = row->c->n_gpus;
		least = best->c->n_gpus;
	}
	const double half = hypot(plan_serve_half(r, p, row->c), plan_serve_half(r, p, best->c));
	TAKE(sh, own_value, own);
	TAKE(sh, best_value, least);
	LET(sh, difference_frac, own_value / best_value - 1);
	SHOW(sh, difference_frac, difference_frac);
	BETWEEN(sh, difference_frac, (1 + difference_frac) * exp(-half) - 1, (1 + difference_frac) * exp(half) - 1,
	    "errors of both setups in full");
}

/* Of what is paid for today, or of today's latency; the first column of savings says whether they can be told from 0.
 */
static void
show_saved(struct run *r, const struct plan_served *p, const struct plan_served_row *row)
{
	struct sheet *sh = r->sheet;

	if (!p->today || !plan_feasible(p->today))
		return;
	double own = plan_rank_value(row->c, p->rank), today = plan_rank_value(p->today, p->rank);
	if (isnan(own) || isnan(today)) {
		own = row->c->n_gpus;
		today = p->today->n_gpus;
	}
	const double half = hypot(plan_serve_half(r, p, row->c), plan_serve_half(r, p, p->today));
	TAKE(sh, row_value, own);
	TAKE(sh, today_value, today);
	LET(sh, saved_frac, 1 - row_value / today_value);
	SHOW(sh, saved_frac, saved_frac);
	const double low = 1 - row_value / today_value * exp(half), high = 1 - row_value / today_value * exp(-half);
	BETWEEN(sh, saved_frac, low, high, "errors of both setups in full");
	TELL(sh, note, low < 0 && high > 0 ? "not distinguishable from today" : "");
}

/* An operating point of a replica instead of the load's. */
static void
show_point(struct run *r, const struct plan_served_row *row)
{
	struct sheet *sh = r->sheet;

	TELL(sh, gpu, setup_of(row)->gpu->id);
	TELL(sh, engine, setup_of(row)->engine->id);
	TELL(sh, dtype, dtype_name(setup_of(row)->type));
	TELL(sh, layout, setup_of(row)->layout);
	TAKE(sh, n_running, row->c->usual.n_running);
	SHOW(sh, n_running, n_running);
	TAKE(sh, user_token_per_s, row->user_token_per_s);
	SHOW(sh, user_token_per_s, user_token_per_s);
	TAKE(sh, gpu_token_per_s, row->gpu_token_per_s);
	SHOW(sh, gpu_token_per_s, gpu_output_token_per_s);
}

static void
show_row(
    struct run *r, const struct plan_served *p, const struct plan_served_row *row, const struct plan_served_row *best)
{
	const char letter[2] = {row->group, '\0'};

	if (!isnan(row->gpu_token_per_s)) {
		show_point(r, row);
		return;
	}
	TELL(r->sheet, group, arena_printf(r->arena, "%s", letter));
	capacity_plan_show(r, &p->in->plan, row->c, &p->load);
	show_bands(r, row);
	show_limits(r, row->c);
	show_difference(r, p, row, best);
	show_saved(r, p, row);
}

static void
show_today(struct run *r, const struct plan_served *p)
{
	SCOPE_I (r->sheet, "today", 0) {
		const struct plan_served_row row = {p->today, 'a', NAN, NAN};
		capacity_plan_show(r, &p->in->plan, p->today, &p->load);
		if (plan_feasible(p->today))
			show_bands(r, &row);
		show_limits(r, p->today);
	}
	if (!plan_feasible(p->today))
		run_warn(r, "what serves today does not carry the load within the SLOs: %s",
		    plan_bound_text(p->today->bound));
}

/* --- nothing --------------------------------------------------------------------------------------------- */

/* The setup that misses its SLOs by least, with a request that is alone. */
static enum answer
nothing_meets(struct run *r, const struct plan_served *p)
{
	const struct capacity_search *s = &p->search;
	const struct plan_candidate *near = NULL;
	enum plan_measure missed = PLAN_TTFT, worst = PLAN_TTFT;
	struct plan_point alone, nearest = {0};
	double least = INFINITY;
	static const char *const names[] = {[PLAN_TTFT] = "TTFT", [PLAN_TPOT] = "TPOT", [PLAN_E2E] = "E2E latency"};

	for (size_t i = 0; i < s->n; i++) {
		if (!plan_alone(s->list[i].setup, &p->load, &alone))
			continue;
		const double over = plan_excess(&p->load, &alone, &missed);
		if (over < least) {
			least = over;
			near = &s->list[i];
			nearest = alone;
			worst = missed;
		}
	}
	if (p->search.n == 0) {
		run_warn(r,
		    "no engine takes these limits: a step has at least as many tokens as sequences, and without "
		    "chunked prefill those of a prompt");
		return ANSWERED_NO;
	}
	if (!near) {
		run_warn(r,
		    "no replica of up to %g GPUs holds the model and one request: raise --gpus, or use a "
		    "smaller dtype",
		    p->in->plan.gpus.value);
		return ANSWERED_NO;
	}
	const struct plan_setup *about = near->about;
	struct sheet *sh = r->sheet;
	SCOPE_I (sh, "near", 0) {
		TELL(sh, gpu, about->gpu->id);
		TELL(sh, engine, about->engine->id);
		TELL(sh, dtype, dtype_name(about->type));
		TELL(sh, layout, about->layout);
		TAKE(sh, ttft_s, nearest.latency_s[PLAN_TTFT][PLAN_MEAN]);
		SHOW(sh, ttft_s, ttft_s);
		TAKE(sh, tpot_s, nearest.latency_s[PLAN_TPOT][PLAN_MEAN]);
		SHOW(sh, tpot_s, tpot_s);
		TAKE(sh, answer_s, nearest.latency_s[PLAN_E2E][PLAN_MEAN]);
		SHOW(sh, answer_s, e2e_s);
		TELL(sh, note,
		    least > 1 ? arena_printf(
		                    r->arena, "alone, a request has %.3g times the %s of its SLO", least, names[worst])
		              : "meets the SLOs alone, but not under load");
	}
	run_warn(r, "no setup meets the SLOs; the nearest is listed");
	return ANSWERED_NO;
}

/* --- the table ------------------------------------------------------------------------------------------- */

static void
show_first(struct run *r, const struct plan_served *p, const struct plan_served_row *best)
{
	struct sheet *sh = r->sheet;

	TELL(sh, serve_options, options_text(r, p, best));
	TAKE(sh, n_searched, (double)p->search.n);
	SHOW(sh, n_searched, n_searched);
	if (!isnan(best->gpu_token_per_s))
		return;
	TELL_HIDDEN(sh, layout, setup_of(best)->layout);
	TELL_HIDDEN(sh, gpu, setup_of(best)->gpu->id);
	TAKE(sh, n_gpus, best->c->n_gpus);
	HIDE(sh, n_gpus, n_gpus);
	TAKE(sh, n_replicas, best->c->n_all);
	HIDE(sh, n_replicas, n_replicas);
}

static enum answer
emit(struct run *r, const struct plan_served *p, const struct plan_served_row *rows, size_t n)
{
	const struct plan_serve_in *in = p->in;
	const size_t i = (size_t)in->emit_rank.value - 1;

	run_reads(r, &in->launch.emit, &in->emit_rank, NULL);
	if (i >= n) {
		run_refuse(r, in->emit_rank.from,
		    arena_printf(r->arena, n == 1 ? "there is %zu row" : "there are %zu rows", n),
		    arena_printf(r->arena, "write --emit-rank %zu", n));
		return REFUSED;
	}
	const struct formats *f = &setup_of(&rows[i])->formats;
	const bool fixed = p->load.isl_cv == 0 && p->load.osl_cv == 0;
	const struct launch_served s = {.setup = rows[i].c->setup,
	    .compute = f->compute,
	    .weights = f->weights,
	    .kv = f->kv,
	    .published = f->published != NULL,
	    .speculation = &p->search.speculation,
	    .n_replicas = rows[i].c->n_all,
	    .most_token = fixed ? p->load.isl_token + p->load.osl_token : 0};
	return launch_serve_show(r, in->launch.emit, &s, 1);
}

static void
warn(struct run *r, const struct plan_served *p, const struct plan_served_row *rows)
{
	capacity_warn_first(r, rows[0].c, &p->load);
	if (p->in->plan.unconfirmed || p->in->pareto.text)
		run_warn(r, "closed form, not confirmed by simulation");
	else if (!rows[0].c->confirmed)
		run_warn(r, "the first row was not simulated: the simulation moved the rows before it");
	if (datum_given(p->in->users) && p->search.n_groups > 1)
		run_warn(r, "closed load: users of faster GPUs send more requests, which may need more replicas");
}

enum answer
plan_serve_show(struct run *r, const struct plan_served *p, const struct plan_served_row *rows, size_t n)
{
	size_t n_fleets = 0;

	if (p->in->launch.emit.text)
		run_reads(r, &p->in->launch.emit, &p->in->emit_rank, NULL);
	if (p->today)
		show_today(r, p);
	if (n == 0 && !p->in->pools) {
		const enum answer fleets =
		    p->in->pareto.text ? ANSWERED_NO : plan_serve_show_fleets(r, p, true, &n_fleets);
		const enum answer out = n_fleets > 0 ? fleets : nothing_meets(r, p);
		if (p->in->launch.emit.text && !r->document)
			launch_nothing(r);
		return out;
	}
	for (size_t i = 0; i < n; i++)
		SCOPE_I (r->sheet, "layouts", i)
			show_row(r, p, &rows[i], &rows[0]);
	for (size_t i = 0; i < n; i++)
		capacity_tell_price(&p->search, rows[i].c);
	if (n > 0)
		show_first(r, p, &rows[0]);
	if (n > 0 && r->draws)
		r->plot = plan_serve_plot(r, p, rows, n);
	if (n > 0 && isnan(rows[0].gpu_token_per_s))
		warn(r, p, rows);
	if (!p->in->pareto.text && !p->in->launch.emit.text)
		plan_serve_show_fleets(r, p, false, &n_fleets);
	if (p->in->pools) {
		const enum answer pools = plan_serve_show_pools(r, p);
		return pools == ANSWERED_NO && n > 0 && !p->in->launch.emit.text ? ANSWERED : pools;
	}
	return p->in->launch.emit.text ? emit(r, p, rows, n) : ANSWERED;
}
