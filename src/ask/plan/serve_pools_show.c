/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show the pairs of `ridge plan serve --pools`, and print one as launch lines. */
#include "ask/plan/plan.h"

#include "ask/serve/serve.h"
#include "report/report.h"

static void
show_pair(struct run *r, const struct plan_pair *pair)
{
	const struct plan_setup *about = pair->decode->c->about;
	struct sheet *sh = r->sheet;

	TELL(sh, prefill_pool, plan_serve_part_text(r, pair->n_prefill, pair->prefill->c));
	TELL(sh, decode_pool, plan_serve_part_text(r, pair->n_decode, pair->decode->c));
	TELL(sh, engine, about->engine->id);
	TELL(sh, dtype, dtype_name(about->type));
	TAKE(sh, n_prefill_gpus, pair->n_prefill * pair->prefill->c->n_replica_gpus);
	TAKE(sh, n_decode_gpus, pair->n_decode * pair->decode->c->n_replica_gpus);
	LET(sh, n_gpus, n_prefill_gpus + n_decode_gpus);
	SHOW(sh, n_gpus, n_gpus);
	if (pair->priced) {
		CALL(sh, month_usd, capacity_month_usd(sh, 1, pair->cost));
		SHOW(sh, month_usd, month_usd);
	}
	TAKE(sh, ttft_s, pair->ttft_s);
	SHOW(sh, ttft_s, ttft_s);
	TAKE(sh, tpot_s, pair->tpot_s);
	SHOW(sh, tpot_s, tpot_s);
	TAKE(sh, transfer_s, pair->transfer_s);
	SHOW(sh, transfer_s, transfer_s);
	TAKE(sh, link_busy_frac, pair->link_frac);
	SHOW(sh, link_busy_frac, link_busy_frac);
	if (pair->confirmed)
		capacity_tell_proof(r, &pair->proven, pair->n_added);
}

static enum answer
emit(struct run *r, const struct plan_served *p, const struct plan_pair *list, size_t n)
{
	const struct plan_serve_in *in = p->in;
	const size_t i = (size_t)in->emit_rank.value - 1;

	run_reads(r, &in->launch.emit, &in->emit_rank, NULL);
	if (i >= n) {
		run_refuse(r, in->emit_rank.from,
		    arena_printf(r->arena, n == 1 ? "there is %zu pair of pools" : "there are %zu pairs of pools", n),
		    "name one of them, or leave --pools out");
		return REFUSED;
	}
	const struct plan_setup *about = list[i].decode->c->about;
	const struct formats *f = &about->formats;
	const struct launch_served s = {.setup = list[i].prefill->c->setup,
	    .decode = list[i].decode->c->setup,
	    .compute = f->compute,
	    .weights = f->weights,
	    .kv = f->kv,
	    .published = f->published != NULL,
	    .speculation = &p->search.speculation,
	    .n_replicas = list[i].n_prefill,
	    .n_decode = list[i].n_decode,
	    .most_token = p->load.isl_cv > 0 || p->load.osl_cv > 0 ? 0 : p->load.isl_token + p->load.osl_token};
	return launch_serve_show(r, in->launch.emit, &s, 1);
}

enum answer
plan_serve_show_pools(struct run *r, const struct plan_served *p)
{
	const struct plan_serve_in *in = p->in;
	struct word name = in->kv_link;
	size_t n;

	run_reads(r, &in->pools, &in->kv_link, NULL);
	if (isnan(p->load.rate_request_per_s)) {
		run_refuse(r, in->users.from, "pools are planned for a request rate", "write for example --rate 20");
		return REFUSED;
	}
	if (!name.text) {
		name.text = "ib-ndr";
		run_assume_value(r, "kv-link", "ib-ndr");
	}
	const struct link *link = bind_kv_link(r, name);
	if (!link)
		return REFUSED;
	const struct plan_pair *list = plan_serve_pairs(r, p, link, &n);
	for (size_t i = 0; i < n; i++)
		SCOPE_I (r->sheet, "pools", i)
			show_pair(r, &list[i]);
	if (n == 0)
		run_warn(r, "no pair of pools meets the SLOs with %s between them", link->id);
	else if (fmax(plan_handicap(list[0].prefill->c), plan_handicap(list[0].decode->c)) > 1)
		run_warn(r, "first pair: no published run of its engine on such GPUs has pipeline stages");
	if (n > 0 && !list[0].confirmed && !in->plan.unconfirmed)
		run_warn(r, "pools are closed-form, not confirmed by simulation");
	if (in->launch.emit.text)
		return emit(r, p, list, n);
	return n > 0 ? ANSWERED : ANSWERED_NO;
}
