/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ridge/cost.h"
#include "base/text.h"
#include "cli/measure.h"
#include "cli/shape.h"
#include "cli/values.h"
#include "ridge/capacity.h"
#include "ridge/scale.h"

#include <ctype.h>
#include <string.h>

#define COST_OPTIONS(X)                                                                                                \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", NULL, "GPUs that are paid (default: those of --nodes)")             \
	X(0, price, "price", "price", PER_HOUR, "USD/h", "", NULL, "of one GPU")                                       \
	X(0, node_price, "node-price", "node_price", PER_HOUR, "USD/h", "", NULL, "of one node, with --node-gpus")     \
	X(0, node_gpus, "node-gpus", "node_gpus", COUNT, "N", "", NULL, "GPUs of a node (default: those of --system)") \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "price of the database, with its date")                   \
	X(0, system, "system", "system", WORD, "NAME", "system", NULL,                                                 \
	    "the same for a node; with --own also what it costs to buy and its power")                                 \
	X(0, nodes, "nodes", "nodes", COUNT, "N", "", "1", "nodes of --system")                                        \
	X(0, provider, "provider", "provider", WORD, "TEXT", "", NULL, "part of the source of a price: aws, lambda")   \
	X('t', time, "time", "time", TIME, "TIME", "", NULL, "of a run (default: a month of 30 days)")                 \
	X(0, bill, "bill", "bill", MONEY, "USD", "", NULL, "what is paid for it: gives the price that it implies")     \
	X(0, budget, "budget", "budget", MONEY, "USD", "", NULL, "most that it may cost; exit status 1 above it")      \
	X(0, load, "load", "load", NUMBER, "N", "", NULL, "requests per second, on average")                           \
	X(0, capacity, "capacity", "capacity", WORD, "RATE@GPUS", "", NULL,                                            \
	    "requests per second that so many GPUs were measured to carry: 350@8 gives the fleet for --load")          \
	X(0, utilisation, "utilisation", "utilisation", NUMBER, "FRACTION", "", "0.75",                                \
	    "most of its capacity that a fleet is planned to use")                                                     \
	X(0, isl, "isl", "isl", COUNT, "N", "", NULL, "tokens of a request's prompt")                                  \
	X(0, osl, "osl", "osl", COUNT, "N", "", NULL, "tokens of its answer")                                          \
	X(0, input_rate, "input-rate", "input_rate", NUMBER, "N", "", NULL,                                            \
	    "prompt tokens per second that the GPUs reach, doing nothing else")                                        \
	X(0, output_rate, "output-rate", "output_rate", NUMBER, "N", "", NULL,                                         \
	    "generated tokens per second that the GPUs reach, doing nothing else")                                     \
	X(0, output_weight, "output-weight", "output_weight", NUMBER, "FACTOR", "", NULL,                              \
	    "time of an output token over that of an input token, to price them apart")                                \
	X(0, before, "before", "before", MONEY, "USD", "", NULL, "two amounts: what is saved from --before")           \
	X(0, after, "after", "after", MONEY, "USD", "", NULL, "to --after")                                            \
	X(0, own, "own", "own", FLAG, "", "", NULL, "own or rent: needs --electricity and --capital or --system")      \
	X(0, capital, "capital", "capital", MONEY, "USD", "", NULL, "price of all machines")                           \
	X(0, years, "years", "years", NUMBER, "N", "", "4", "of use")                                                  \
	X(0, residual, "residual", "residual", NUMBER, "FRACTION", "", "0", "of the capital that is left then")        \
	X(0, power, "power", "power", POWER, "WATT", "", NULL, "average draw of all machines")                         \
	X(0, pue, "pue", "pue", NUMBER, "FACTOR", "", "1.56", "power of the facility over that of its machines")       \
	X(0, electricity, "electricity", "electricity", PER_ENERGY, "USD/kWh", "", NULL, "price of energy")            \
	X(0, hosting, "hosting", "hosting", MONEY, "USD", "", "0usd", "space, network and hands, for a month")         \
	X(0, duty, "duty", "duty", NUMBER, "FRACTION", "", "100%", "part of the hours in which the GPUs are needed")

struct cost_in {
	COST_OPTIONS(OPTION_MEMBER)
};

#define THIS struct cost_in
static const struct option cost_options[] = {COST_OPTIONS(OPTION_ROW)};
#undef THIS

struct fleet {
	const struct cost_in *in;
	const struct system *system;  /* NULL: not named */
	double n_gpus, gpu_usd_per_s; /* NaN: not known */
	double bill_usd, bill_s;      /* what is paid, and for how long */
	double request_usd;           /* of one request */
};

/* --- checks ---------------------------------------------------------------------------------------------- */

static bool
check_inputs(struct run *r, const struct cost_in *in)
{
	const struct datum positive[] = {in->gpus, in->price, in->node_price, in->node_gpus, in->nodes, in->time,
	    in->bill, in->budget, in->load, in->isl, in->osl, in->input_rate, in->output_rate, in->output_weight,
	    in->before, in->capital, in->years, in->power, in->electricity};

	for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
		if (datum_given(positive[i]) && !(positive[i].value > 0))
			return run_refuse(r, positive[i].from, "must be more than 0", "leave it out, or give a value");
	if (datum_given(in->price) && datum_given(in->node_price))
		return run_refuse(
		    r, in->price.from, "--price and --node-price are two price bases", "give one of them");
	if (datum_given(in->before) != datum_given(in->after))
		return run_refuse(
		    r, in->before.from, "a saving has a before and an after", "give --before and --after");
	if (in->pue.value < 1)
		return run_refuse(
		    r, in->pue.from, "a facility draws at least what its machines draw", "write --pue 1.2");
	return measure_fraction(r, "utilisation", in->utilisation, 1e-6, 1) &
	    measure_fraction(r, "residual", in->residual, 0, 1) & measure_fraction(r, "duty", in->duty, 1e-6, 1) &
	    run_whole(r, "gpus", in->gpus, 1) & run_whole(r, "node-gpus", in->node_gpus, 1) &
	    run_whole(r, "nodes", in->nodes, 1) & run_whole(r, "isl", in->isl, 1) & run_whole(r, "osl", in->osl, 1);
}

/* --- the price base -------------------------------------------------------------------------------------- */

/* Does the text contain the word, whatever its case? */
static bool
mentions(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (; text && *text; text++) {
		size_t k = 0;
		while (k < n && tolower((unsigned char)text[k]) == tolower((unsigned char)word[k]))
			k++;
		if (k == n)
			return true;
	}
	return false;
}

static const struct price *
find_price(const struct cost_in *in, const struct price *list, int n, const char *per)
{
	for (int i = 0; i < n; i++)
		if (strcmp(list[i].per ? list[i].per : "gpu", per) == 0 &&
		    (!in->provider.text || mentions(list[i].source, in->provider.text)))
			return &list[i];
	return NULL;
}

static void
tell_base(struct run *r, const char *what, const struct price *p)
{
	char buf[40];
	const char *source = p->source ? p->source : "no source";

	value_write("x_usd_per_s", p->usd_per_s.value, buf, sizeof buf);
	TELL(r->sheet, price_base, "price base",
	    arena_printf(r->arena, "%s for %s: %.*s, %s", buf, what, (int)strcspn(source, ","), source, p->on));
}

static bool
no_price(struct run *r, const struct cost_in *in, struct word name)
{
	diag_error(r->diag, name.from,
	    in->provider.text ? "no price of '%s' is from '%s'" : "no price of '%s' is known", name.text,
	    in->provider.text ? in->provider.text : "");
	diag_hint(r->diag, "'ridge hw show %s' lists the prices; or give --price", name.text);
	return false;
}

/* A node's price, shared by its GPUs. */
static bool
price_of_node(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;
	struct datum price = in->node_price, gpus = in->node_gpus;

	if (f->system && !datum_given(price)) {
		const struct price *found = find_price(in, f->system->prices, f->system->n_prices, "node");
		if (!found)
			return in->own ? true : no_price(r, in, in->system);
		price = found->usd_per_s;
		tell_base(r, f->system->id, found);
	} else
		TELL(sh, price_base, "price base", "a node, as given");
	if (f->system && !datum_given(gpus))
		gpus = f->system->n_gpus;
	if (!datum_given(gpus))
		return run_refuse(r, in->node_price.from, "how many GPUs has a node?", "add --node-gpus 8");
	TAKE(sh, node_usd_per_s, price);
	TAKE(sh, n_node_gpus, gpus);
	CALL(sh, gpu_usd_per_s, cost_gpu_price(sh, node_usd_per_s, n_node_gpus));
	SHOW(sh, node_usd_per_s, "price of a node");
	SHOW(sh, gpu_usd_per_s, "price of one GPU");
	f->gpu_usd_per_s = gpu_usd_per_s;
	return true;
}

static bool
price_of_gpu(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;
	struct datum price = in->price;

	if (datum_given(in->price))
		TELL(sh, price_base, "price base", "one GPU, as given");
	else {
		const struct gpu *gpu = run_gpu(r, in->gpu);
		const struct price *found = gpu ? find_price(in, gpu->prices, gpu->n_prices, "gpu") : NULL;
		if (!gpu || (!found && !no_price(r, in, in->gpu)))
			return false;
		tell_base(r, gpu->id, found);
		price = found->usd_per_s;
	}
	TAKE(sh, gpu_usd_per_s, price);
	SHOW(sh, gpu_usd_per_s, "price of one GPU");
	f->gpu_usd_per_s = gpu_usd_per_s;
	return true;
}

/* One base: what was given, else the node's entry, else the GPU's. */
static bool
find_base(struct run *r, const struct cost_in *in, struct fleet *f)
{
	if (in->system.text && !(f->system = run_system(r, in->system)))
		return false;
	if (datum_given(in->price))
		return price_of_gpu(r, in, f);
	if (datum_given(in->node_price) || (f->system && !datum_given(in->bill)))
		return price_of_node(r, in, f);
	return in->gpu.text && !datum_given(in->bill) ? price_of_gpu(r, in, f) : true;
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
		return true;
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
		SHOW(sh, n_now_gpus, "GPUs now");
		SHOW(sh, now_utilisation_frac, "  busy on average");
		if (!isnan(f->gpu_usd_per_s)) {
			TAKE(sh, gpu_usd_per_s, f->gpu_usd_per_s);
			CALL(sh, now_month_usd, capacity_month_usd(sh, n_now_gpus, gpu_usd_per_s));
			SHOW(sh, now_month_usd, "  a month");
		}
	}
}

static bool
right_size(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;
	double rate, gpus;

	if (!datum_given(in->load))
		return run_refuse(r, in->capacity.from, "for which load?", "add --load 50, in requests per second");
	if (!read_capacity(r, in, &rate, &gpus))
		return false;
	TAKE(sh, load_request_per_s, in->load);
	TAKE(sh, measured_request_per_s, rate);
	TAKE(sh, n_measured_gpus, gpus);
	TAKE(sh, utilisation_target_frac, in->utilisation);
	CALL(sh, gpu_request_per_s, cost_gpu_rate(sh, measured_request_per_s, n_measured_gpus));
	SHOW(sh, load_request_per_s, "load");
	SHOW(sh, gpu_request_per_s, "one GPU carries");
	const double now = datum_given(in->gpus) ? in->gpus.value : gpus;
	if (!datum_given(in->gpus))
		run_assume(r, "GPUs now: those of --capacity");
	show_now(r, f, gpu_request_per_s, now);
	CALL(sh, n_gpus, cost_gpus_needed(sh, load_request_per_s, gpu_request_per_s, utilisation_target_frac));
	CALL(sh, utilisation_frac, cost_utilisation(sh, load_request_per_s, gpu_request_per_s, n_gpus));
	SHOW(sh, n_gpus, "GPUs needed");
	SHOW(sh, utilisation_frac, "  busy on average");
	if (!isnan(f->gpu_usd_per_s)) {
		TAKE(sh, now_gpus, now);
		TAKE(sh, at_usd_per_s, f->gpu_usd_per_s);
		CALL(sh, now_usd, capacity_month_usd(sh, now_gpus, at_usd_per_s));
		CALL(sh, needed_usd, capacity_month_usd(sh, n_gpus, at_usd_per_s));
		CALL(sh, saved_usd, cost_saved(sh, now_usd, needed_usd));
		CALL(sh, saved_frac, cost_saved_frac(sh, now_usd, needed_usd));
		SHOW(sh, saved_usd, "  saved in a month");
		SHOW(sh, saved_frac, "  saved, at one price");
	}
	f->n_gpus = n_gpus;
	return true;
}

/* --- what is paid ---------------------------------------------------------------------------------------- */

static const double MONTH_S = 30.0 * 86400.0;

/* The price that a bill implies, and whether it is the one that was given beside it. */
static enum answer
show_implied(struct run *r, const struct fleet *f)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, bill_usd, f->bill_usd);
	TAKE(sh, n_gpus, f->n_gpus);
	TAKE(sh, bill_s, f->bill_s);
	CALL(sh, implied_usd_per_s, cost_implied_price(sh, bill_usd, n_gpus, bill_s));
	SHOW(sh, implied_usd_per_s, "that is, for one GPU");
	if (isnan(f->gpu_usd_per_s))
		return ANSWERED;
	TAKE(sh, at_usd_per_s, f->gpu_usd_per_s);
	CALL(sh, computed_usd, scale_run_usd(sh, n_gpus, at_usd_per_s, bill_s));
	CALL(sh, base_ratio, cost_base_ratio(sh, bill_usd, computed_usd));
	SHOW(sh, computed_usd, "at the given price");
	SHOW(sh, base_ratio, "paid over computed");
	if (fabs(base_ratio - 1) <= 0.005)
		return ANSWERED;
	TELL(sh, verdict, "verdict", "two price bases: the bill is not these GPUs at this price");
	return ANSWERED_NO;
}

static enum answer
show_stated_bill(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;
	enum answer answer = ANSWERED;

	TAKE(sh, bill_usd, in->bill);
	SHOW(sh, bill_usd, datum_given(in->time) ? "paid for the run" : "paid for a month");
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
		TAKE(sh, n_gpus, f->n_gpus);
		TAKE(sh, gpu_usd_per_s, f->gpu_usd_per_s);
		if (!in->capacity.text)
			SHOW(sh, n_gpus, "GPUs");
		if (datum_given(in->time)) {
			TAKE(sh, time_s, in->time);
			CALL(sh, gpu_s, cost_gpu_time(sh, n_gpus, time_s));
			CALL(sh, run_usd, scale_run_usd(sh, n_gpus, gpu_usd_per_s, time_s));
			SHOW(sh, time_s, "time");
			SHOW(sh, gpu_s, "GPU time");
			SHOW(sh, run_usd, "the run");
			f->bill_usd = run_usd;
		} else {
			CALL(sh, month_usd, capacity_month_usd(sh, n_gpus, gpu_usd_per_s));
			SHOW(sh, month_usd, in->capacity.text ? "a month, GPUs needed" : "a month");
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
		TAKE(sh, bill_s, f->bill_s);
		TAKE(sh, bill_usd, f->bill_usd);
		CALL(sh, served_request, cost_served(sh, load_request_per_s, bill_s));
		CALL(sh, bill_usd_per_request, cost_request(sh, bill_usd, served_request));
		CALL(sh, thousand_usd, cost_thousand(sh, bill_usd_per_request));
		SHOW(sh, bill_usd_per_request, "one request");
		SHOW(sh, thousand_usd, "1000 requests");
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
		return run_refuse(r, in->output_rate.from, "tokens of how many GPUs, at which price?",
		    "add --gpus 8 --price 3.50usd/h, or --system");
	SCOPE (sh, "tokens") {
		TAKE(sh, n_gpus, f->n_gpus);
		TAKE(sh, gpu_usd_per_s, f->gpu_usd_per_s);
		TAKE(sh, utilisation_frac, in->utilisation);
		if (datum_given(in->input_rate)) {
			TAKE(sh, input_token_per_s, in->input_rate);
			CALL(sh, busy_input_token_per_s, cost_busy_rate(sh, input_token_per_s, utilisation_frac));
			CALL(sh, input_million_usd,
			    capacity_million_usd(sh, n_gpus, gpu_usd_per_s, busy_input_token_per_s));
			SHOW(sh, input_million_usd, "1e6 input tokens");
			input = input_million_usd;
		}
		if (datum_given(in->output_rate)) {
			TAKE(sh, output_token_per_s, in->output_rate);
			CALL(sh, busy_output_token_per_s, cost_busy_rate(sh, output_token_per_s, utilisation_frac));
			CALL(sh, output_million_usd,
			    capacity_million_usd(sh, n_gpus, gpu_usd_per_s, busy_output_token_per_s));
			SHOW(sh, output_million_usd, "1e6 output tokens");
			output = output_million_usd;
		}
		if (!isnan(input) && !isnan(output) && datum_given(in->isl) && datum_given(in->osl)) {
			TAKE(sh, isl_token, in->isl);
			TAKE(sh, osl_token, in->osl);
			CALL(sh, request_usd, cost_request_tokens(sh, input, output, isl_token, osl_token));
			SHOW(sh, request_usd, "a request of these tokens");
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
		SHOW(sh, million_usd, "1e6 tokens, all alike");
		if (datum_given(in->output_weight)) {
			TAKE(sh, output_weight, in->output_weight);
			CALL(sh, input_million_usd,
			    cost_input_split(sh, bill_usd_per_request, isl_token, osl_token, output_weight));
			CALL(sh, output_million_usd, cost_output_split(sh, input_million_usd, output_weight));
			SHOW(sh, input_million_usd, "1e6 input tokens");
			SHOW(sh, output_million_usd, "1e6 output tokens");
		}
	}
}

/* --- own or rent ----------------------------------------------------------------------------------------- */

/* Capital and power of all machines: as given, or the system's for every node. */
static bool
read_owned(struct run *r, const struct cost_in *in, const struct fleet *f, struct cost_owned *o)
{
	struct sheet *sh = r->sheet;

	*o = (struct cost_owned){.capital_usd = in->capital,
	    .residual = in->residual,
	    .power_watt = in->power,
	    .pue = in->pue,
	    .electricity_usd_per_joule = in->electricity,
	    .hosting = in->hosting};
	if (!datum_given(in->electricity))
		return run_refuse(r, in->electricity.from, "what does energy cost?", "add --electricity 0.12usd/kWh");
	if (f->system && !datum_given(in->capital) && datum_given(f->system->purchase_usd)) {
		TAKE(sh, n_bought_nodes, in->nodes);
		TAKE(sh, node_usd, f->system->purchase_usd);
		CALL(sh, capital_usd, cost_nodes_capital(sh, n_bought_nodes, node_usd));
		o->capital_usd = (struct datum){capital_usd, f->system->purchase_usd.from};
	}
	if (f->system && !datum_given(in->power) && datum_given(f->system->power_watt)) {
		TAKE(sh, n_powered_nodes, in->nodes);
		TAKE(sh, node_watt, f->system->power_watt);
		CALL(sh, all_watt, cost_nodes_power(sh, n_powered_nodes, node_watt));
		o->power_watt = (struct datum){all_watt, f->system->power_watt.from};
		run_assume(r, "power at its maximum");
	}
	if (!datum_given(o->capital_usd))
		return run_refuse(r, in->capital.from, "what do the machines cost?",
		    "add --capital 250000usd, or a --system whose price is known");
	if (!datum_given(o->power_watt))
		return run_refuse(
		    r, in->power.from, "what do the machines draw?", "add --power 6.5kW, of all machines on average");
	if (isnan(f->n_gpus))
		return run_refuse(r, in->gpus.from, "how many GPUs are these?", "add --gpus 8");
	TAKE(sh, n_years, in->years);
	CALL(sh, lifetime_s, cost_lifetime(sh, n_years));
	o->lifetime_s = (struct datum){lifetime_s, {0}};
	return true;
}

static enum answer
show_rent(struct run *r, const struct cost_in *in, const struct fleet *f, const struct cost_owned *o, double own_rate)
{
	struct sheet *sh = r->sheet;
	const double own_usd_per_s = own_rate;

	TAKE(sh, n_gpus, f->n_gpus);
	TAKE(sh, gpu_usd_per_s, f->gpu_usd_per_s);
	TAKE(sh, duty_frac, in->duty);
	TAKE(sh, paid_usd, o->capital_usd);
	CALL(sh, rent_usd_per_s, cost_rent_rate(sh, n_gpus, gpu_usd_per_s, duty_frac));
	CALL(sh, running_usd_per_s, cost_running_rate(sh, o));
	CALL(sh, rent_month_usd, cost_month(sh, rent_usd_per_s));
	SHOW(sh, rent_month_usd, "renting, a month");
	CALL(sh, break_even_frac, cost_break_even_duty(sh, own_usd_per_s, n_gpus, gpu_usd_per_s));
	SHOW(sh, break_even_frac, "owning is cheaper from this part of the hours");
	if (rent_usd_per_s > running_usd_per_s) {
		CALL(sh, break_even_s, cost_break_even(sh, paid_usd, rent_usd_per_s, running_usd_per_s));
		SHOW(sh, break_even_s, "the capital has come back after");
	}
	TELL(sh, verdict, "verdict",
	    own_usd_per_s < rent_usd_per_s ? "owning is cheaper"
	        : break_even_frac > 1      ? "renting is cheaper at any use"
	                                   : "renting is cheaper");
	return ANSWERED;
}

static enum answer
own_or_rent(struct run *r, const struct cost_in *in, const struct fleet *f)
{
	struct sheet *sh = r->sheet;
	struct cost_owned o;
	enum answer answer = ANSWERED;

	SCOPE (sh, "own") {
		if (!read_owned(r, in, f, &o))
			answer = REFUSED;
		else {
			TAKE(sh, n_owned_gpus, f->n_gpus);
			TAKE(sh, needed_frac, in->duty);
			TAKE(sh, all_capital_usd, o.capital_usd);
			CALL(sh, own_usd_per_s, cost_own_rate(sh, &o));
			CALL(sh, own_month_usd, cost_month(sh, own_usd_per_s));
			CALL(sh, used_usd_per_s, cost_used_rate(sh, own_usd_per_s, n_owned_gpus, needed_frac));
			SHOW(sh, n_owned_gpus, "GPUs");
			TAKE(sh, draw_watt, o.power_watt);
			SHOW(sh, all_capital_usd, "capital");
			SHOW(sh, draw_watt, "power");
			SHOW(sh, own_month_usd, "owning, a month");
			SHOW(sh, used_usd_per_s, "  one GPU when it is needed");
			if (!isnan(f->gpu_usd_per_s))
				answer = show_rent(r, in, f, &o, own_usd_per_s);
			else
				run_assume(r, "nothing to rent: give --price, --gpu or a system with a price");
		}
	}
	return answer;
}

/* --- the command ----------------------------------------------------------------------------------------- */

static enum answer
saving(struct run *r, const struct cost_in *in)
{
	struct sheet *sh = r->sheet;

	r->title = "What is saved";
	TAKE(sh, before_usd, in->before);
	TAKE(sh, after_usd, in->after);
	CALL(sh, saved_usd, cost_saved(sh, before_usd, after_usd));
	CALL(sh, saved_frac, cost_saved_frac(sh, before_usd, after_usd));
	SHOW(sh, saved_usd, "saved");
	SHOW(sh, saved_frac, "saved, of the money before");
	run_assume(r, "both amounts are at one price base");
	return ANSWERED;
}

static enum answer
show_budget(struct run *r, const struct cost_in *in, const struct fleet *f, enum answer answer)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->budget) || isnan(f->bill_usd) || answer != ANSWERED)
		return answer;
	TAKE(sh, budget_usd, in->budget);
	SHOW(sh, budget_usd, "budget");
	const bool met = f->bill_usd <= budget_usd;
	TELL(sh, verdict, "verdict", met ? "meets the budget" : "misses the budget");
	return met ? ANSWERED : ANSWERED_NO;
}

/* GPUs as given, or those of the nodes. */
static void
count_gpus(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;

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
	r->title = datum_given(in->time) ? "What a run costs" : in->own ? "Own or rent" : "What a fleet costs";
	if (!find_base(r, in, &f))
		return REFUSED;
	count_gpus(r, in, &f);
	if (in->own)
		return own_or_rent(r, in, &f);
	if (in->capacity.text && !right_size(r, in, &f))
		return REFUSED;
	if (datum_given(in->bill))
		answer = show_stated_bill(r, in, &f);
	else
		show_run(r, in, &f);
	if (isnan(f.bill_usd) && !in->capacity.text) {
		run_refuse(r, (struct source){0}, "nothing to pay",
		    "give --gpus 8 with --price, --gpu or --system, or a --bill");
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
        "the fleet that a load needs, and what a request and its tokens cost", 0},
    {"cost --bill 47000usd --gpus 64 --time 72h", "the price that a bill implies", 0},
    {"cost --gpus 8 --price 3.50usd/h --bill 50000usd", "a bill that does not come from this price", 1},
    {"cost --gpu h100 --gpus 8 --input-rate 60000 --output-rate 9000 --isl 1000 --osl 300",
        "tokens in and out, at a dated price of the database", 0},
    {"cost --own --system dgx-h100 --electricity 0.12usd/kWh --hosting 1500usd --price 3.29usd/h --duty 60%",
        "own or rent", 0},
};

const struct command cost_command = {
    .name = "cost",
    .section = "How many, and how much?",
    .summary = "what does it cost, and what fleet is right-sized",
    .operands = "",
    .usage = "[JOB]",
    .groups = cost_groups,
    .n_groups = sizeof cost_groups / sizeof *cost_groups,
    .examples = cost_examples,
    .n_examples = sizeof cost_examples / sizeof *cost_examples,
    .input_size = sizeof(struct cost_in),
    .run = cost_run,
};
