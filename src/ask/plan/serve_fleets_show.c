/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show the fleets of `ridge plan serve` by their parts, and print one with --emit. */
#include "ask/plan/plan.h"

#include "ask/serve/serve.h"

#include <string.h>

static const struct plan_setup *
setup_of(const struct plan_candidate *c)
{
	return c->about;
}

/* --- sums over the parts --------------------------------------------------------------------------------- */

static double
part_gpus(struct sheet *sh, const struct plan_fleet_part *p)
{
	TAKE(sh, n_replicas, p->n_replicas);
	TAKE(sh, n_replica_gpus, p->c->n_replica_gpus);
	LET(sh, n_part_gpus, n_replicas * n_replica_gpus);
	return n_part_gpus;
}

static double
part_watt(struct sheet *sh, const struct plan_fleet_part *p)
{
	TAKE(sh, gpu_watt, setup_of(p->c)->gpu->tdp_watt);
	CALL(sh, n_part_gpus, part_gpus(sh, p));
	LET(sh, part_watt, n_part_gpus * gpu_watt);
	return part_watt;
}

static double
part_usd(struct sheet *sh, const struct plan_mix *m, int i)
{
	TAKE(sh, n_paid_gpus, m->parts[i].n_paid_gpus);
	TAKE(sh, gpu_usd_per_s, setup_of(m->fleet.parts[i].c)->rental.gpu_usd_per_s);
	CALL(sh, part_usd, capacity_month_usd(sh, n_paid_gpus, gpu_usd_per_s));
	return part_usd;
}

static double
part_rate(struct sheet *sh, const struct plan_fleet_part *p)
{
	TAKE(sh, n_replicas, p->n_replicas);
	TAKE(sh, replica_request_per_s, p->c->most.load);
	LET(sh, part_request_per_s, n_replicas * replica_request_per_s);
	return part_request_per_s;
}

static double
part_users(struct sheet *sh, const struct plan_fleet_part *p)
{
	TAKE(sh, n_replicas, p->n_replicas);
	TAKE(sh, n_replica_users, p->c->most.load);
	LET(sh, n_part_users, n_replicas * n_replica_users);
	return n_part_users;
}

static double
part_latency(struct sheet *sh, const struct plan_mix_part *p, enum plan_measure of)
{
	TAKE(sh, share_frac, p->share_frac);
	TAKE(sh, replica_s, p->usual.latency_s[of][PLAN_MEAN]);
	LET(sh, part_s, share_frac * replica_s);
	return part_s;
}

double
plan_mix_gpus(struct sheet *sh, const struct plan_mix *m)
{
	SUM(sh, n_gpus, i, m->fleet.n_parts, part_gpus(sh, &m->fleet.parts[i]));
	return n_gpus;
}

double
plan_mix_usd(struct sheet *sh, const struct plan_mix *m)
{
	SUM(sh, month_usd, i, m->fleet.n_parts, part_usd(sh, m, i));
	return month_usd;
}

double
plan_mix_watt(struct sheet *sh, const struct plan_mix *m)
{
	SUM(sh, all_watt, i, m->fleet.n_parts, part_watt(sh, &m->fleet.parts[i]));
	return all_watt;
}

/* --- the table ------------------------------------------------------------------------------------------- */

static const char *
parts_text(struct run *r, const struct plan_fleet *f)
{
	const char *out = "";

	for (int i = 0; i < f->n_parts; i++)
		out = arena_printf(r->arena, "%s%s%s", out, i ? " + " : "",
		    plan_serve_part_text(r, f->parts[i].n_replicas, f->parts[i].c));
	return out;
}

/* One engine, or those of the parts. */
static const char *
engines_text(struct run *r, const struct plan_fleet *f)
{
	const char *out = setup_of(f->parts[0].c)->engine->id;

	for (int i = 1; i < f->n_parts; i++)
		if (!strstr(out, setup_of(f->parts[i].c)->engine->id))
			out = arena_printf(r->arena, "%s + %s", out, setup_of(f->parts[i].c)->engine->id);
	return out;
}

static void
show_latencies(struct run *r, const struct plan_mix *m)
{
	struct sheet *sh = r->sheet;
	const int n = m->fleet.n_parts;
	double low[2] = {0, 0}, high[2] = {0, 0};

	for (int i = 0; i < n; i++) {
		const struct plan_mix_part *p = &m->parts[i];
		low[0] += p->share_frac * p->ttft.low;
		high[0] += p->share_frac * p->ttft.high;
		low[1] += p->share_frac * p->tpot.low;
		high[1] += p->share_frac * p->tpot.high;
	}
	SUM(sh, ttft_s, i, n, part_latency(sh, &m->parts[i], PLAN_TTFT));
	SHOW(sh, ttft_s, ttft_s);
	BETWEEN(sh, ttft_s, low[0], high[0], m->parts[0].ttft.why);
	SUM(sh, tpot_s, k, n, part_latency(sh, &m->parts[k], PLAN_TPOT));
	SHOW(sh, tpot_s, tpot_s);
	BETWEEN(sh, tpot_s, low[1], high[1], m->parts[0].tpot.why);
}

/* What the simulation said of each part. */
static void
tell_proof(struct run *r, const struct plan_mix *m)
{
	struct sheet *sh = r->sheet;

	for (int i = 0; i < m->fleet.n_parts; i++) {
		const struct plan_point *p = &m->parts[i].proven;
		SCOPE (sh, arena_printf(r->arena, "part_%d", i)) {
			TAKE(sh, proven_ttft_s, p->latency_s[PLAN_TTFT][PLAN_MEAN]);
			TAKE(sh, proven_ttft_p99_s, p->latency_s[PLAN_TTFT][PLAN_P99]);
			TAKE(sh, proven_tpot_s, p->latency_s[PLAN_TPOT][PLAN_MEAN]);
			TAKE(sh, proven_answer_s, p->latency_s[PLAN_E2E][PLAN_MEAN]);
		}
	}
	TELL(sh, confirmed, "yes");
}

static void
show_load(struct run *r, const struct plan_served *p, const struct plan_mix *m)
{
	struct sheet *sh = r->sheet;

	if (isnan(p->load.rate_request_per_s)) {
		SUM(sh, n_all_users, i, m->fleet.n_parts, part_users(sh, &m->fleet.parts[i]));
		TAKE(sh, n_spare_users, n_all_users - m->fleet.load);
		LET(sh, n_users, n_all_users - n_spare_users);
		SHOW(sh, n_users, n_fleet_users);
	} else {
		SUM(sh, all_request_per_s, i, m->fleet.n_parts, part_rate(sh, &m->fleet.parts[i]));
		TAKE(sh, spare_request_per_s, all_request_per_s - m->fleet.load);
		LET(sh, fleet_request_per_s, all_request_per_s - spare_request_per_s);
		SHOW(sh, fleet_request_per_s, fleet_request_per_s);
	}
}

static void
show_power(struct run *r, const struct plan_served *p, const struct plan_mix *m)
{
	const struct capacity_plan_in *in = &p->in->plan;
	struct sheet *sh = r->sheet;

	if (isnan(plan_mix_watt(NULL, m)))
		return;
	CALL(sh, all_watt, plan_mix_watt(sh, m));
	SHOW(sh, all_watt, power_watt);
	if (!datum_given(in->pue) && !datum_given(in->host_power))
		return;
	TAKE(sh, n_fleet_gpus, plan_mix_gpus(NULL, m));
	CALL(sh, site_watt,
	    serve_site_power(sh, all_watt, n_fleet_gpus, datum_or(in->host_power, 0), datum_or(in->pue, 1)));
	SHOW(sh, site_watt, site_watt);
}

static void
show_mix(struct run *r, const struct plan_served *p, const struct plan_mix *m)
{
	struct sheet *sh = r->sheet;

	TELL(sh, fleet, parts_text(r, &m->fleet));
	TELL(sh, engine, engines_text(r, &m->fleet));
	TELL(sh, dtype, dtype_name(setup_of(m->fleet.parts[0].c)->type));
	CALL(sh, n_gpus, plan_mix_gpus(sh, m));
	SHOW(sh, n_gpus, n_gpus);
	if (!isnan(plan_mix_usd(NULL, m))) {
		CALL(sh, month_usd, plan_mix_usd(sh, m));
		SHOW(sh, month_usd, month_usd);
	}
	show_power(r, p, m);
	show_load(r, p, m);
	show_latencies(r, m);
	if (m->confirmed)
		tell_proof(r, m);
}

static void
warn(struct run *r, const struct plan_served *p, const struct plan_mix *list, size_t n)
{
	const double load = plan_demand(&p->load);

	if (n > 0 && !list[0].filled)
		run_warn(r, "the GPUs at hand take %.3g of %.4g %s within the SLOs", list[0].fleet.load, load,
		    isnan(p->load.rate_request_per_s) ? "users" : "requests/s");
	if (n > 0 && !list[0].confirmed)
		run_warn(r, "fleets are closed-form, not confirmed by simulation");
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < list[i].fleet.n_parts; k++)
			capacity_tell_price(&p->search, list[i].fleet.parts[k].c);
}

/* --- launch lines ---------------------------------------------------------------------------------------- */

static enum answer
emit(struct run *r, const struct plan_served *p, const struct plan_mix *m)
{
	const bool fixed = p->load.isl_cv == 0 && p->load.osl_cv == 0;
	struct launch_served *list = ARENA_ARRAY(r->arena, struct launch_served, (size_t)m->fleet.n_parts);

	run_reads(r, &p->in->launch.emit, NULL);
	for (int i = 0; i < m->fleet.n_parts; i++) {
		const struct plan_setup *about = setup_of(m->fleet.parts[i].c);
		list[i] = (struct launch_served){.setup = m->fleet.parts[i].c->setup,
		    .gpu = about->gpu->id,
		    .compute = about->formats.compute,
		    .weights = about->formats.weights,
		    .kv = about->formats.kv,
		    .published = about->formats.published != NULL,
		    .speculation = &p->search.speculation,
		    .n_replicas = m->fleet.parts[i].n_replicas,
		    .most_token = fixed ? p->load.isl_token + p->load.osl_token : 0};
	}
	return launch_serve_show(r, p->in->launch.emit, list, (size_t)m->fleet.n_parts);
}

enum answer
plan_serve_show_fleets(struct run *r, const struct plan_served *p, bool alone, size_t *n_shown)
{
	size_t n;
	const struct plan_mix *list = plan_serve_fleets(r, p, &n);

	/* what falls short is told where nothing else carries the load */
	while (n > 0 && !list[n - 1].filled && (!alone || list[0].filled))
		n--;
	n = n < (size_t)p->in->top.value ? n : (size_t)p->in->top.value;
	*n_shown = n;
	if (alone && n > 0 && list[0].filled && p->in->launch.emit.text)
		return emit(r, p, &list[0]);
	for (size_t i = 0; i < n; i++)
		SCOPE_I (r->sheet, "fleets", i)
			show_mix(r, p, &list[i]);
	if (alone && n > 0 && list[0].filled)
		TELL(r->sheet, fleet, parts_text(r, &list[0].fleet));
	warn(r, p, list, n);
	return n > 0 && list[0].filled ? ANSWERED : ANSWERED_NO;
}
