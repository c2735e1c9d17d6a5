/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge serve` with an engine: what fits, how long tokens take, what limits, and whether to believe it. */
#include "ask/serve/serve.h"
#include "cli/cli.h"

bool
serve_has_engine(const struct serve_in *in)
{
	return in->model.text && (datum_given(in->isl) || in->simulation.simulate) && !datum_given(in->context);
}

/* --- it does not fit ------------------------------------------------------------------------------------- */

/* The smallest replica that holds one request: tp up to a node, then stages. */
static const char *
nearest_layout(struct run *r, const struct serve_binding *b, const struct serve_question *q)
{
	struct serve_setup setup = *q->setup;
	struct serve_question try = *q;
	struct serve_metrics m;

	try.setup = &setup;
	for (double pp = 1; pp <= 16; pp *= 2)
		for (double tp = 1; tp <= 8; tp *= 2) {
			const struct attention *a = &b->model->blocks[0].attention;
			if (fmod(a->n_heads.value, tp) != 0 || pp > b->model->n_layers.value)
				continue;
			setup.layout = (struct serve_layout){tp, pp, q->setup->layout.ep > 1 ? tp : 1, false};
			try.load.n_concurrent = try.load.n_requests = datum_absent();
			if (setup.layout.tp * pp <= q->setup->layout.tp * q->setup->layout.pp)
				continue;
			serve_answer(&try, &m);
			if (m.fits)
				return pp > 1 ? arena_printf(r->arena, "tp=%g,pp=%g", tp, pp)
				              : arena_printf(r->arena, "tp=%g", tp);
		}
	return NULL;
}

static enum answer
does_not_fit(struct run *r, const struct serve_binding *b, const struct serve_question *q)
{
	struct sheet *sh = r->sheet;
	const char *layout = nearest_layout(r, b, q);

	TAKE(sh, mem_byte, q->setup->mem_byte);
	SHOW(sh, mem_byte, gpu_mem_byte);
	CALL(sh, missing_byte, serve_missing(sh, q->setup, &q->load));
	SHOW(sh, missing_byte, missing_byte);
	TELL(sh, verdict,
	    layout ? arena_printf(r->arena, "does not fit; the nearest layout that does is %s", layout)
	           : "does not fit on 128 of these GPUs");
	return ANSWERED_NO;
}

/* --- the answer ------------------------------------------------------------------------------------------ */

static enum answer
verdict_of(struct run *r, const struct serve_in *in, const struct serve_metrics *m)
{
	struct sheet *sh = r->sheet;
	const char *verdict = "";

	if (m->saturated) {
		TELL(sh, verdict,
		    arena_printf(
		        r->arena, "saturated: %.3g requests/s would not be", 0.9 * m->saturation_request_per_s));
		return ANSWERED_NO;
	}
	const bool met = serve_objective(r, "--ttft", in->ttft, m->first_s, &verdict) &
	    serve_objective(r, "--itl", in->itl, m->step_s, &verdict) &
	    serve_objective(r, "--e2e", in->deadline, m->answer_s, &verdict);
	if (*verdict)
		TELL(sh, verdict, verdict);
	return met ? ANSWERED : ANSWERED_NO;
}

static const char *
title_of(struct run *r, const struct serve_binding *b)
{
	const double n = b->setup.layout.tp * b->setup.layout.pp;

	return arena_printf(r->arena, "%s on %s%s under %s", b->model->name, b->gpu->name,
	    n > 1 ? arena_printf(r->arena, " x %g", n) : "", b->engine->name);
}

static enum answer
simulated(struct run *r, const struct serve_in *in, const struct serve_binding *b, const struct load *load)
{
	struct simulate_case c = {
	    .setup = &b->setup,
	    .load = load,
	    .isl = in->isl,
	    .osl = in->osl,
	    .rate_request_per_s = in->rate,
	    .n_concurrent = in->concurrency,
	    .n_requests = in->requests,
	    .objectives = {datum_or(in->ttft, NAN), datum_or(in->itl, NAN), datum_or(in->deadline, NAN)},
	};

	run_reads(r, &in->ttft, &in->itl, &in->deadline, &in->simulation.simulate, NULL);
	if (in->kv_link.text) {
		const struct link *link = run_link(r, in->kv_link);
		if (!link)
			return REFUSED;
		c.transfer_s = datum_or(link->latency_s, 0);
		c.transfer_s_per_token = serve_kv_byte(NULL, &b->setup) / link->byte_per_s.value;
	}
	return serve_simulate(r, &in->simulation, &c);
}

enum answer
serve_engine(struct run *r, const struct serve_in *in)
{
	struct serve_binding *b = ARENA_NEW(r->arena, struct serve_binding);
	struct serve_question q;
	struct serve_metrics m;
	struct load load;

	if (!simulate_check(r, &in->simulation) || !serve_bind(r, in, b) || !serve_load(r, in, b, &load))
		return REFUSED;
	r->title = title_of(r, b);
	if (in->simulation.simulate)
		return simulated(r, in, b, &load);
	serve_ask(r, in, b, &load, &q);
	serve_answer(&q, &m);
	serve_show_room(r, &q);
	if (!m.fits)
		return does_not_fit(r, b, &q);
	serve_show(r, b, &q, &m);
	if (!m.saturated && !serve_show_pools(r, in, &q))
		return REFUSED;
	return verdict_of(r, in, &m);
}
