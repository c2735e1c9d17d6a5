/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ask/cost/cost.h"

#include "cli/cli.h"
#include "model/calc/calc.h"

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
	if (datum_given(in->capital) && in->nodes.value > 1)
		run_assume(r, "capital of all %g nodes together", in->nodes.value);
	if (datum_given(o->capital_usd) && o->capital_usd.from.unconfirmed)
		run_assume(r, "capital not confirmed: a lower bound from one source");
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
	        : break_even_frac > 1      ? "renting is cheaper at any use"
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
				run_assume(r, "nothing to rent: give --price, --gpu or a system with a price");
		}
	}
	if (answer != REFUSED)
		run_assume(r, "no interest, support, network or staff beside --hosting");
	return answer;
}
