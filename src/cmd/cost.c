/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge cost: cost of a run, a fleet or a request. */
#include "ask/ask.h"
#include "ask/bind/bind.h"
#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/memory/memory.h"

#include <string.h>

#define THIS struct cost_in
static const struct option cost_options[] = {COST_OPTIONS(OPTION_ROW)};
#undef THIS

/* --- checks ---------------------------------------------------------------------------------------------- */

static bool
check_inputs(struct run *r, const struct cost_in *in)
{
	const struct datum positive[] = {in->gpus, in->node_price, in->node_gpus, in->nodes, in->time, in->bill,
	    in->budget, in->load, in->isl, in->osl, in->input_rate, in->output_rate, in->output_weight, in->before,
	    in->capital, in->years, in->power, in->electricity};

	for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
		if (datum_given(positive[i]) && !(positive[i].value > 0))
			return run_refuse(
			    r, positive[i].from, "must be greater than 0", "leave it out, or give a positive value");
	if (in->price.n && datum_given(in->node_price))
		return run_refuse(
		    r, in->price.list[0].from, "--price and --node-price exclude each other", "keep one of them");
	if (datum_given(in->before) != datum_given(in->after))
		return run_refuse(
		    r, in->before.from, "--before and --after need each other", "give --before and --after");
	if (in->pue.value < 1)
		return run_refuse(r, in->pue.from, "--pue must be at least 1", "write for example --pue 1.2");
	return measure_fraction(r, "target-load", in->target_load, 1e-6, 1) &
	    measure_fraction(r, "residual", in->residual, 0, 1) & measure_fraction(r, "duty", in->duty, 1e-6, 1) &
	    run_whole(r, "gpus", in->gpus, 1) & run_whole(r, "node-gpus", in->node_gpus, 1) &
	    run_whole(r, "nodes", in->nodes, 1) & run_whole(r, "isl", in->isl, 1) & run_whole(r, "osl", in->osl, 1);
}

/* --- the fleet that a load needs ------------------------------------------------------------------------- */

static bool
read_capacity(struct run *r, const struct cost_in *in, double *rate, double *gpus)
{
	const char *at = strchr(in->capacity.text, '@');
	struct quantity_fault why;

	if (at &&
	    quantity_read(
	        arena_copy(r->arena, in->capacity.text, (size_t)(at - in->capacity.text)), Q_NUMBER, rate, &why) &&
	    quantity_read(at + 1, Q_COUNT, gpus, &why) && *rate > 0 && *gpus >= 1)
		return bounds_check(r->diag, in->capacity.from, "load", Q_NUMBER, *rate) &&
		    bounds_check(r->diag, in->capacity.from, "gpus", Q_COUNT, *gpus);
	diag_error(r->diag, in->capacity.from, "'%s' is not of the form RATE@GPUS", in->capacity.text);
	diag_hint(r->diag, "write 350@8: 350 requests per second were measured on 8 GPUs");
	return false;
}

/* The present fleet at the same price and load. */
static void
show_now(struct run *r, const struct fleet *f, double gpu_rate, double now_gpus)
{
	struct sheet *sh = r->sheet;

	SCOPE (sh, "now") {
		TAKE(sh, load_request_per_s, f->in->load);
		TAKE(sh, gpu_request_per_s, gpu_rate);
		TAKE(sh, n_now_gpus, now_gpus);
		CALL(sh, now_utilisation_frac, cost_utilisation(sh, load_request_per_s, gpu_request_per_s, n_now_gpus));
		SHOW(sh, n_now_gpus, n_now_gpus);
		SHOW(sh, now_utilisation_frac, now_utilization_frac);
		if (!isnan(f->gpu_usd_per_s)) {
			TAKE(sh, gpu_usd_per_s, f->gpu_usd_per_s);
			CALL(sh, now_month_usd, capacity_month_usd(sh, n_now_gpus, gpu_usd_per_s));
			SHOW(sh, now_month_usd, now_month_usd);
		}
	}
}

static bool
right_size(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;
	double rate, gpus;

	run_reads(r, &in->capacity, &in->gpus, NULL);
	if (!datum_given(in->load))
		return run_refuse(
		    r, in->capacity.from, "--capacity needs the request rate", "add --load 50, in requests per second");
	if (!read_capacity(r, in, &rate, &gpus))
		return false;
	TAKE(sh, load_request_per_s, in->load);
	TAKE(sh, measured_request_per_s, rate);
	TAKE(sh, n_measured_gpus, gpus);
	TAKE(sh, utilisation_target_frac, in->target_load);
	CALL(sh, gpu_request_per_s, cost_gpu_rate(sh, measured_request_per_s, n_measured_gpus));
	SHOW(sh, load_request_per_s, load_request_per_s);
	SHOW(sh, gpu_request_per_s, gpu_request_per_s);
	const double now = datum_given(in->gpus) ? in->gpus.value : gpus;
	if (!datum_given(in->gpus))
		run_assume(r, "current GPUs: those of --capacity");
	show_now(r, f, gpu_request_per_s, now);
	CALL(sh, n_gpus, cost_gpus_needed(sh, load_request_per_s, gpu_request_per_s, utilisation_target_frac));
	CALL(sh, utilisation_frac, cost_utilisation(sh, load_request_per_s, gpu_request_per_s, n_gpus));
	SHOW(sh, n_gpus, n_gpus);
	SHOW(sh, utilisation_frac, utilization_frac);
	if (!isnan(f->gpu_usd_per_s)) {
		TAKE(sh, now_gpus, now);
		TAKE(sh, at_usd_per_s, f->gpu_usd_per_s);
		CALL(sh, now_usd, capacity_month_usd(sh, now_gpus, at_usd_per_s));
		CALL(sh, needed_usd, capacity_month_usd(sh, n_gpus, at_usd_per_s));
		CALL(sh, saved_usd, cost_saved(sh, now_usd, needed_usd));
		CALL(sh, saved_frac, cost_saved_frac(sh, now_usd, needed_usd));
		SHOW(sh, saved_usd, saved_usd);
		SHOW(sh, saved_frac, saved_frac);
	}
	f->n_gpus = n_gpus;
	return true;
}

/* --- what is paid ---------------------------------------------------------------------------------------- */

/* Compute the price that a bill implies, and compare it with the given one. */
static enum answer
show_implied(struct run *r, const struct fleet *f)
{
	struct sheet *sh = r->sheet;

	FROM(sh, f, bill_usd, n_gpus, bill_s);
	CALL(sh, implied_usd_per_s, cost_implied_price(sh, bill_usd, n_gpus, bill_s));
	SHOW(sh, implied_usd_per_s, implied_usd_per_s);
	if (isnan(f->gpu_usd_per_s))
		return ANSWERED;
	TAKE(sh, at_usd_per_s, f->gpu_usd_per_s);
	CALL(sh, computed_usd, scale_run_usd(sh, n_gpus, at_usd_per_s, bill_s));
	CALL(sh, base_ratio, cost_base_ratio(sh, bill_usd, computed_usd));
	SHOW(sh, computed_usd, computed_usd);
	SHOW(sh, base_ratio, overhead);
	if (fabs(base_ratio - 1) <= 0.005)
		return ANSWERED;
	TELL(sh, verdict, "two price bases: --bill and --price disagree");
	return ANSWERED_NO;
}

static enum answer
show_stated_bill(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;
	enum answer answer = ANSWERED;

	run_reads(r, &in->time, NULL);
	TAKE(sh, bill_usd, in->bill);
	SHOW(sh, bill_usd, bill_usd);
	f->bill_usd = bill_usd;
	if (!isnan(f->n_gpus))
		SCOPE (sh, "implied") {
			answer = show_implied(r, f);
		}
	return answer;
}

static void
show_run(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;

	if (isnan(f->n_gpus) || isnan(f->gpu_usd_per_s))
		return;
	SCOPE (sh, "paid") {
		FROM(sh, f, n_gpus, gpu_usd_per_s);
		if (!in->capacity.text)
			SHOW(sh, n_gpus, n_gpus);
		if (datum_given(in->time)) {
			TAKE(sh, time_s, in->time);
			CALL(sh, gpu_s, cost_gpu_time(sh, n_gpus, time_s));
			CALL(sh, run_usd, scale_run_usd(sh, n_gpus, gpu_usd_per_s, time_s));
			SHOW(sh, time_s, time_s);
			SHOW(sh, gpu_s, gpu_s);
			SHOW(sh, run_usd, run_usd);
			f->bill_usd = run_usd;
		} else {
			CALL(sh, month_usd, capacity_month_usd(sh, n_gpus, gpu_usd_per_s));
			SHOW(sh, month_usd, month_usd);
			f->bill_usd = month_usd;
		}
	}
}

/* --- requests and tokens --------------------------------------------------------------------------------- */

static void
show_requests(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->load) || isnan(f->bill_usd))
		return;
	SCOPE (sh, "requests") {
		TAKE(sh, load_request_per_s, in->load);
		FROM(sh, f, bill_s, bill_usd);
		CALL(sh, served_request, cost_served(sh, load_request_per_s, bill_s));
		CALL(sh, bill_usd_per_request, cost_request(sh, bill_usd, served_request));
		CALL(sh, thousand_usd, cost_thousand(sh, bill_usd_per_request));
		SHOW(sh, bill_usd_per_request, bill_usd_per_request);
		SHOW(sh, thousand_usd, thousand_usd);
		f->request_usd = bill_usd_per_request;
	}
}

/* Rates of the fleet while it does one thing alone, reached for a part of the time. */
static bool
show_token_rates(struct run *r, const struct cost_in *in, const struct fleet *f)
{
	struct sheet *sh = r->sheet;
	double input = NAN, output = NAN;

	if (!datum_given(in->input_rate) && !datum_given(in->output_rate))
		return true;
	if (isnan(f->n_gpus) || isnan(f->gpu_usd_per_s))
		return run_refuse(r, in->output_rate.from, "token rates need a number of GPUs and a price",
		    "add --gpus 8 --price 3.50usd/h, or --system");
	SCOPE (sh, "tokens") {
		FROM(sh, f, n_gpus, gpu_usd_per_s);
		TAKE(sh, utilisation_frac, in->target_load);
		if (datum_given(in->input_rate)) {
			TAKE(sh, input_token_per_s, in->input_rate);
			CALL(sh, busy_input_token_per_s, cost_busy_rate(sh, input_token_per_s, utilisation_frac));
			CALL(sh, input_million_usd,
			    capacity_million_usd(sh, n_gpus, gpu_usd_per_s, busy_input_token_per_s));
			SHOW(sh, input_million_usd, input_million_usd);
			input = input_million_usd;
		}
		if (datum_given(in->output_rate)) {
			TAKE(sh, output_token_per_s, in->output_rate);
			CALL(sh, busy_output_token_per_s, cost_busy_rate(sh, output_token_per_s, utilisation_frac));
			CALL(sh, output_million_usd,
			    capacity_million_usd(sh, n_gpus, gpu_usd_per_s, busy_output_token_per_s));
			SHOW(sh, output_million_usd, output_million_usd);
			output = output_million_usd;
		}
		if (!isnan(input) && !isnan(output) && datum_given(in->isl) && datum_given(in->osl)) {
			TAKE(sh, isl_token, in->isl);
			TAKE(sh, osl_token, in->osl);
			CALL(sh, request_usd, cost_request_tokens(sh, input, output, isl_token, osl_token));
			SHOW(sh, request_usd, request_usd);
		}
	}
	return true;
}

/* A request's price spread over its tokens. */
static void
show_token_split(struct run *r, const struct cost_in *in, const struct fleet *f)
{
	struct sheet *sh = r->sheet;

	if (isnan(f->request_usd) || !datum_given(in->isl) || !datum_given(in->osl) || datum_given(in->output_rate) ||
	    datum_given(in->input_rate))
		return;
	SCOPE (sh, "tokens") {
		TAKE(sh, bill_usd_per_request, f->request_usd);
		TAKE(sh, isl_token, in->isl);
		TAKE(sh, osl_token, in->osl);
		CALL(sh, million_usd, cost_input_split(sh, bill_usd_per_request, isl_token, osl_token, 1));
		SHOW(sh, million_usd, million_usd);
		if (datum_given(in->output_weight)) {
			TAKE(sh, output_weight, in->output_weight);
			CALL(sh, input_million_usd,
			    cost_input_split(sh, bill_usd_per_request, isl_token, osl_token, output_weight));
			CALL(sh, output_million_usd, cost_output_split(sh, input_million_usd, output_weight));
			SHOW(sh, input_million_usd, input_million_usd);
			SHOW(sh, output_million_usd, output_million_usd);
		}
	}
}

/* --- the command ----------------------------------------------------------------------------------------- */

static enum answer
saving(struct run *r, const struct cost_in *in)
{
	struct sheet *sh = r->sheet;

	r->title = "Savings";
	TAKE(sh, before_usd, in->before);
	TAKE(sh, after_usd, in->after);
	CALL(sh, saved_usd, cost_saved(sh, before_usd, after_usd));
	CALL(sh, saved_frac, cost_saved_frac(sh, before_usd, after_usd));
	SHOW(sh, saved_usd, saved_usd);
	SHOW(sh, saved_frac, saved_frac);
	run_assume(r, "both amounts use the same price base");
	return ANSWERED;
}

static enum answer
show_budget(struct run *r, const struct cost_in *in, const struct fleet *f, enum answer answer)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->budget) || isnan(f->bill_usd))
		return answer;
	TAKE(sh, budget_usd, in->budget);
	SHOW(sh, budget_usd, budget_usd);
	const bool met = f->bill_usd <= budget_usd;
	TELL(sh, verdict, met ? "meets the budget" : "misses the budget");
	return met ? answer : ANSWERED_NO;
}

/* GPUs as given, or those of the nodes. */
static void
count_gpus(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;

	run_reads(r, &in->gpus, NULL);
	f->n_gpus = in->gpus.value;
	if (!isnan(f->n_gpus) || !f->system)
		return;
	SCOPE (sh, "nodes") {
		TAKE(sh, n_nodes, in->nodes);
		TAKE(sh, n_node_gpus, f->system->n_gpus);
		CALL(sh, n_gpus, cost_nodes_gpus(sh, n_nodes, n_node_gpus));
		f->n_gpus = n_gpus;
	}
}

static enum answer
cost_run(struct run *r, const void *input)
{
	const struct cost_in *in = input;
	struct fleet f = {.in = in, .gpu_usd_per_s = NAN, .bill_usd = NAN, .request_usd = NAN};
	enum answer answer = ANSWERED;

	if (!check_inputs(r, in))
		return REFUSED;
	if (datum_given(in->before))
		return saving(r, in);
	f.bill_s = datum_given(in->time) ? in->time.value : MONTH_S;
	r->title = in->own ? "Owning versus renting" : datum_given(in->time) ? "Cost of a run" : "Cost of a fleet";
	if (!cost_find_base(r, in, &f))
		return REFUSED;
	run_reads(r, &in->own, NULL);
	if (in->own || !in->capacity.text)
		count_gpus(r, in, &f);
	if (in->own)
		return cost_own_or_rent(r, in, &f);
	if (in->capacity.text && !right_size(r, in, &f))
		return REFUSED;
	if (datum_given(in->bill))
		answer = show_stated_bill(r, in, &f);
	else
		show_run(r, in, &f);
	if (isnan(f.bill_usd) && !in->capacity.text) {
		run_refuse(r, (struct source){0}, "no cost to compute",
		    "give --gpus 8 with --price, --gpu or --system; or give --bill");
		return REFUSED;
	}
	show_requests(r, in, &f);
	if (!show_token_rates(r, in, &f))
		return REFUSED;
	show_token_split(r, in, &f);
	return show_budget(r, in, &f, answer);
}

static const struct option_group cost_groups[] = {OPTION_GROUP(cost_options, 0)};

static const struct example cost_examples[] = {
    {"cost --gpus 8 --price 3.50usd/h", "a fleet for a month", 0},
    {"cost --gpus 8 --price 10usd/h --time 48h --budget 2000usd", "a run against a budget", 1},
    {"cost --load 50 --capacity 350@8 --price 3.50usd/h --isl 500 --osl 200 --output-weight 4",
        "fleet for a request rate, and cost per request and token", 0},
    {"cost --bill 47000usd --gpus 64 --time 72h", "price implied by a bill", 0},
    {"cost --gpus 8 --price 3.50usd/h --bill 50000usd", "bill that contradicts a price", 1},
    {"cost --gpu h100 --gpus 8 --input-rate 60000 --output-rate 9000 --isl 1000 --osl 300",
        "cost per input and output token, at a dated price of the database", 0},
    {"cost --own --system dgx-h100 --electricity 0.12usd/kWh --hosting 1500usd --price 3.29usd/h --duty 60%",
        "owning versus renting", 0},
};

static const struct input_needs cost_needs[] = {
    {"budget", "it needs --gpus and --price, or --bill"},
    {"time", "it needs --gpus and --price, or --bill; owning is counted by the month"},
    {"provider", "it filters prices of the database: add --gpu or --system, without --price"},
    {"system", "its GPUs and price are already given by other options"},
    {"gpu", "its price is already given by another option"},
    {"nodes", "it needs --system, without --gpus"},
    {"node_gpus", "it needs --node-price"},
    {"load", "it needs --gpus and --price, or --capacity"},
    {"target_load", "it needs --capacity 350@8 --load 50, or --output-rate"},
    {"output_weight", "it needs --load, --isl and --osl"},
    {"isl", "it needs --osl, and --load or --input-rate and --output-rate"},
    {"osl", "it needs --isl, and --load or --input-rate and --output-rate"},
    {"electricity", "it needs --own"},
    {"capital", "it needs --own"},
    {"years", "it needs --own"},
    {"residual", "it needs --own"},
    {"power", "it needs --own"},
    {"pue", "it needs --own"},
    {"hosting", "it needs --own"},
    {"duty", "it needs --own"},
};

const struct command cost_command = {
    .name = "cost",
    .section = "Capacity and cost",
    .summary = "Cost of a run, a fleet or a request; fleet sizing",
    .operands = "",
    .usage = "[JOB]",
    COUNTED(groups, cost_groups),
    COUNTED(examples, cost_examples),
    COUNTED(needs, cost_needs),
    .input_size = sizeof(struct cost_in),
    .run = cost_run,
};
