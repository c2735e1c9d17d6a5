/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Choose the price that all costs of an answer use. */
#include "ask/ask.h"
#include "ask/bind/bind.h"

#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"

#include <string.h>

static const struct price *
find_price(const struct cost_in *in, const struct price *list, int n, const char *per)
{
	for (int i = 0; i < n; i++)
		if (strcmp(list[i].per ? list[i].per : "gpu", per) == 0 &&
		    (!in->provider.text || text_mentions(list[i].source, in->provider.text)))
			return &list[i];
	return NULL;
}

static void
tell_base(struct run *r, const char *what, const struct price *p)
{
	char buf[40];
	const char *source = p->source ? p->source : "no source";

	value_write("x_usd_per_s", p->usd_per_s.value, buf, sizeof buf);
	TELL(r->sheet, price_base,
	    arena_printf(r->arena, "%s for %s: %.*s, %s", buf, what, (int)strcspn(source, ","), source, p->on));
}

static bool
no_price(struct run *r, const struct cost_in *in, struct word name)
{
	diag_error(r->diag, name.from,
	    in->provider.text ? "no price of '%s' from '%s'" : "no price of '%s' in the database", name.text,
	    in->provider.text ? in->provider.text : "");
	diag_hint(r->diag, "'ridge hw show %s' lists prices; or give --price", name.text);
	return false;
}

/* A node's price, shared by its GPUs. */
static bool
price_of_node(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;
	struct datum price = in->node_price, gpus = in->node_gpus;

	if (f->system && !datum_given(price)) {
		run_reads(r, &in->provider, NULL);
		const struct price *found = find_price(in, f->system->prices, f->system->n_prices, "node");
		if (!found)
			return in->own ? true : no_price(r, in, in->system);
		price = found->usd_per_s;
		tell_base(r, f->system->id, found);
	} else
		TELL(sh, price_base, "a node, as given");
	if (f->system && !datum_given(gpus))
		gpus = f->system->n_gpus;
	if (!datum_given(gpus))
		return run_refuse(r, in->node_price.from, "GPUs per node missing", "add --node-gpus 8");
	TAKE(sh, node_usd_per_s, price);
	TAKE(sh, n_node_gpus, gpus);
	CALL(sh, gpu_usd_per_s, cost_gpu_price(sh, node_usd_per_s, n_node_gpus));
	SHOW(sh, node_usd_per_s, node_usd_per_s);
	SHOW(sh, gpu_usd_per_s, gpu_usd_per_s);
	f->gpu_usd_per_s = gpu_usd_per_s;
	return true;
}

static bool
price_of_gpu(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;
	struct datum price;
	const struct gpu *gpu = in->gpu.text ? run_gpu(r, in->gpu) : f->system ? f->system->gpu : NULL;

	if ((in->gpu.text && !gpu) || !bind_given_price(r, &in->price, gpu, &price))
		return false;
	if (in->price.n) {
		run_reads(r, &in->price, NULL);
		if (!datum_given(price))
			return run_refuse(r, in->price.list[0].from,
			    gpu ? "no price of this GPU is among them" : "which GPU is paid?",
			    gpu ? arena_printf(r->arena, "add %s=2.5", gpu->id)
			        : "name it with --gpu, or write --price 2.5");
		TELL(sh, price_base,
		    in->gpu.text ? arena_printf(r->arena, "one %s, as given", gpu->id) : "one GPU, as given");
	} else {
		run_reads(r, &in->provider, NULL);
		const struct price *found = gpu ? find_price(in, gpu->prices, gpu->n_prices, "gpu") : NULL;
		if (!found)
			return no_price(r, in, in->gpu);
		tell_base(r, gpu->id, found);
		price = found->usd_per_s;
	}
	TAKE(sh, gpu_usd_per_s, price);
	SHOW(sh, gpu_usd_per_s, gpu_usd_per_s);
	f->gpu_usd_per_s = gpu_usd_per_s;
	return true;
}

/* Its GPUs are counted, or its price is paid, or it is bought. */
static bool
needs_system(const struct cost_in *in)
{
	const bool priced = in->price.n || datum_given(in->bill);

	return in->own || (!datum_given(in->gpus) && !in->capacity.text) ||
	    (datum_given(in->node_price) ? !datum_given(in->node_gpus) : !priced);
}

/* Find the price: given, else of the node, else of the GPU. */
bool
cost_find_base(struct run *r, const struct cost_in *in, struct fleet *f)
{
	if (in->system.text && needs_system(in) && !(f->system = run_system(r, in->system)))
		return false;
	if (in->price.n)
		return price_of_gpu(r, in, f);
	if (datum_given(in->node_price) || (f->system && !datum_given(in->bill)))
		return price_of_node(r, in, f);
	return in->gpu.text && !datum_given(in->bill) ? price_of_gpu(r, in, f) : true;
}

/* --- own ----------------------------------------------------------------------------------------------------- */

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
		return run_refuse(
		    r, in->electricity.from, "electricity price missing", "add --electricity 0.12usd/kWh");
	if (f->system && !datum_given(in->capital) && datum_given(f->system->purchase_usd)) {
		TAKE(sh, n_bought_nodes, in->nodes);
		TAKE(sh, node_usd, f->system->purchase_usd);
		CALL(sh, capital_usd, cost_nodes_capital(sh, n_bought_nodes, node_usd));
		o->capital_usd = (struct datum){capital_usd, f->system->purchase_usd.from};
	}
	if (datum_given(in->capital) && in->nodes.value > 1)
		run_assume(r, "capital of all %g nodes", in->nodes.value);
	if (datum_given(o->capital_usd) && o->capital_usd.from.unconfirmed)
		run_assume(r, "capital unconfirmed: lower bound from one source");
	if (f->system && !datum_given(in->power) && datum_given(f->system->power_watt)) {
		TAKE(sh, n_powered_nodes, in->nodes);
		TAKE(sh, node_watt, f->system->power_watt);
		CALL(sh, all_watt, cost_nodes_power(sh, n_powered_nodes, node_watt));
		o->power_watt = (struct datum){all_watt, f->system->power_watt.from};
		run_assume(r, "maximum power");
	}
	if (!datum_given(o->capital_usd))
		return run_refuse(r, in->capital.from, "purchase price missing",
		    "add --capital 250000usd, or a --system with a price");
	if (!datum_given(o->power_watt))
		return run_refuse(r, in->power.from, "power missing", "add --power 6.5kW, the mean of all machines");
	if (isnan(f->n_gpus))
		return run_refuse(r, in->gpus.from, "number of GPUs missing", "add --gpus 8");
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

	FROM(sh, f, n_gpus, gpu_usd_per_s);
	TAKE(sh, duty_frac, in->duty);
	TAKE(sh, paid_usd, o->capital_usd);
	CALL(sh, rent_usd_per_s, cost_rent_rate(sh, n_gpus, gpu_usd_per_s, duty_frac));
	CALL(sh, running_usd_per_s, cost_running_rate(sh, o));
	CALL(sh, rent_month_usd, cost_month(sh, rent_usd_per_s));
	SHOW(sh, rent_month_usd, rent_month_usd);
	CALL(sh, break_even_frac, cost_break_even_duty(sh, own_usd_per_s, n_gpus, gpu_usd_per_s));
	SHOW(sh, break_even_frac, break_even_utilization_frac);
	if (rent_usd_per_s > running_usd_per_s) {
		CALL(sh, break_even_s, cost_break_even(sh, paid_usd, rent_usd_per_s, running_usd_per_s));
		SHOW(sh, break_even_s, break_even_s);
	}
	TELL(sh, verdict,
	    own_usd_per_s < rent_usd_per_s ? "owning is cheaper"
	        : break_even_frac > 1      ? "renting is cheaper at any utilization"
	                                   : "renting is cheaper");
	return ANSWERED;
}

enum answer
cost_own_or_rent(struct run *r, const struct cost_in *in, const struct fleet *f)
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
			SHOW(sh, n_owned_gpus, n_gpus);
			TAKE(sh, draw_watt, o.power_watt);
			SHOW(sh, all_capital_usd, capital_usd);
			SHOW(sh, draw_watt, power_watt);
			SHOW(sh, own_month_usd, own_month_usd);
			SHOW(sh, used_usd_per_s, used_usd_per_s);
			if (!isnan(f->gpu_usd_per_s))
				answer = show_rent(r, in, f, &o, own_usd_per_s);
			else
				run_assume(r, "no rental price: add --price, --gpu or a system with a price");
		}
	}
	if (answer != REFUSED)
		run_assume(r, "no interest, support, network or staff besides --hosting");
	return answer;
}
