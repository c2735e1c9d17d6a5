/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cost of runs, fleets and requests; owning against renting. */
#include "model/calc/calc.h"

/* --- prices ---------------------------------------------------------------------------------------------- */

double
cost_rented(struct sheet *sh, double n_replicas, double n_replica_gpus, double n_unit_gpus)
{
	GIVEN(sh, n_replicas, n_replica_gpus, n_unit_gpus);
	double n_units;
	if (n_replica_gpus > n_unit_gpus)
		SET(sh, n_units, n_replicas * ceil(n_replica_gpus / n_unit_gpus));
	else {
		LET(sh, n_held, floor(n_unit_gpus / n_replica_gpus));
		SET(sh, n_units, ceil(n_replicas / n_held));
	}
	LET(sh, n_rented_gpus, n_units * n_unit_gpus);
	return n_rented_gpus;
}

double
cost_gpu_price(struct sheet *sh, double node_usd_per_s, double n_node_gpus)
{
	GIVEN(sh, node_usd_per_s, n_node_gpus);
	LET(sh, gpu_usd_per_s, node_usd_per_s / n_node_gpus);
	return gpu_usd_per_s;
}

double
cost_gpu_time(struct sheet *sh, double n_gpus, double time_s)
{
	GIVEN(sh, n_gpus, time_s);
	LET(sh, gpu_s, n_gpus * time_s);
	return gpu_s;
}

double
cost_implied_price(struct sheet *sh, double bill_usd, double n_gpus, double time_s)
{
	GIVEN(sh, bill_usd, n_gpus, time_s);
	LET(sh, gpu_s, n_gpus * time_s);
	LET(sh, gpu_usd_per_s, bill_usd / gpu_s);
	return gpu_usd_per_s;
}

double
cost_base_ratio(struct sheet *sh, double bill_usd, double computed_usd)
{
	GIVEN(sh, bill_usd, computed_usd);
	LET(sh, ratio, bill_usd / computed_usd);
	return ratio;
}

double
cost_saved(struct sheet *sh, double before_usd, double after_usd)
{
	GIVEN(sh, before_usd, after_usd);
	LET(sh, saved_usd, before_usd - after_usd);
	return saved_usd;
}

double
cost_saved_frac(struct sheet *sh, double before_usd, double after_usd)
{
	GIVEN(sh, before_usd, after_usd);
	LET(sh, saved_frac, 1 - after_usd / before_usd);
	return saved_frac;
}

/* --- the fleet that a load needs ------------------------------------------------------------------------- */

double
cost_gpu_rate(struct sheet *sh, double measured_request_per_s, double n_measured_gpus)
{
	GIVEN(sh, measured_request_per_s, n_measured_gpus);
	LET(sh, gpu_request_per_s, measured_request_per_s / n_measured_gpus);
	return gpu_request_per_s;
}

/* 1e-9 keeps a whole answer whole. */
double
cost_gpus_needed(struct sheet *sh, double load_request_per_s, double gpu_request_per_s, double utilisation_frac)
{
	GIVEN(sh, load_request_per_s, gpu_request_per_s, utilisation_frac);
	LET(sh, n_exact, load_request_per_s / (gpu_request_per_s * utilisation_frac));
	LET(sh, n_needed, fmax(1, ceil(n_exact - 1e-9)));
	return n_needed;
}

double
cost_utilisation(struct sheet *sh, double load_request_per_s, double gpu_request_per_s, double n_gpus)
{
	GIVEN(sh, load_request_per_s, gpu_request_per_s, n_gpus);
	LET(sh, capacity_request_per_s, gpu_request_per_s * n_gpus);
	LET(sh, utilisation_frac, load_request_per_s / capacity_request_per_s);
	return utilisation_frac;
}

/* --- requests and tokens --------------------------------------------------------------------------------- */

double
cost_served(struct sheet *sh, double load_request_per_s, double time_s)
{
	GIVEN(sh, load_request_per_s, time_s);
	LET(sh, served_request, load_request_per_s * time_s);
	return served_request;
}

double
cost_request(struct sheet *sh, double bill_usd, double served_request)
{
	GIVEN(sh, bill_usd, served_request);
	LET(sh, bill_usd_per_request, bill_usd / served_request);
	return bill_usd_per_request;
}

double
cost_thousand(struct sheet *sh, double bill_usd_per_request)
{
	GIVEN(sh, bill_usd_per_request);
	TAKE(sh, n_requests, 1000.0);
	LET(sh, thousand_usd, bill_usd_per_request * n_requests);
	return thousand_usd;
}

double
cost_busy_rate(struct sheet *sh, double fleet_token_per_s, double utilisation_frac)
{
	GIVEN(sh, fleet_token_per_s, utilisation_frac);
	LET(sh, busy_token_per_s, fleet_token_per_s * utilisation_frac);
	return busy_token_per_s;
}

double
cost_request_tokens(
    struct sheet *sh, double input_million_usd, double output_million_usd, double isl_token, double osl_token)
{
	GIVEN(sh, input_million_usd, output_million_usd, isl_token, osl_token);
	TAKE(sh, n_tokens, 1e6);
	LET(sh, request_usd, (isl_token * input_million_usd + osl_token * output_million_usd) / n_tokens);
	return request_usd;
}

double
cost_input_split(
    struct sheet *sh, double bill_usd_per_request, double isl_token, double osl_token, double output_weight)
{
	GIVEN(sh, bill_usd_per_request, isl_token, osl_token, output_weight);
	TAKE(sh, n_tokens, 1e6);
	TAKE(sh, one_request, 1.0);
	LET(sh, weighed_token, isl_token + output_weight * osl_token);
	LET(sh, input_million_usd, bill_usd_per_request * one_request * n_tokens / weighed_token);
	return input_million_usd;
}

double
cost_output_split(struct sheet *sh, double input_million_usd, double output_weight)
{
	GIVEN(sh, input_million_usd, output_weight);
	LET(sh, output_million_usd, input_million_usd * output_weight);
	return output_million_usd;
}

/* --- own or rent ----------------------------------------------------------------------------------------- */

/* Straight-line depreciation, without interest. */
double
cost_capital_rate(struct sheet *sh, const struct cost_owned *o)
{
	TAKE(sh, capital_usd, o->capital_usd);
	TAKE(sh, residual_frac, o->residual);
	TAKE(sh, lifetime_s, o->lifetime_s);
	LET(sh, capital_usd_per_s, capital_usd * (1 - residual_frac) / lifetime_s);
	return capital_usd_per_s;
}

/* The meter sees power times PUE: facility power over that of the machines (ISO/IEC 30134-2). */
double
cost_running_rate(struct sheet *sh, const struct cost_owned *o)
{
	FROM(sh, o, power_watt, pue, electricity_usd_per_joule);
	TAKE(sh, hosting_usd, o->hosting);
	TAKE(sh, month_s, MONTH_S);
	LET(sh, energy_usd_per_s, power_watt * pue * electricity_usd_per_joule);
	LET(sh, running_usd_per_s, energy_usd_per_s + hosting_usd / month_s);
	return running_usd_per_s;
}

double
cost_own_rate(struct sheet *sh, const struct cost_owned *o)
{
	CALL(sh, capital_usd_per_s, cost_capital_rate(sh, o));
	CALL(sh, running_usd_per_s, cost_running_rate(sh, o));
	LET(sh, own_usd_per_s, capital_usd_per_s + running_usd_per_s);
	return own_usd_per_s;
}

double
cost_lifetime(struct sheet *sh, double n_years)
{
	GIVEN(sh, n_years);
	TAKE(sh, year_s, 365.0 * 86400.0);
	LET(sh, lifetime_s, n_years * year_s);
	return lifetime_s;
}

double
cost_nodes_gpus(struct sheet *sh, double n_nodes, double n_node_gpus)
{
	GIVEN(sh, n_nodes, n_node_gpus);
	LET(sh, n_gpus, n_nodes * n_node_gpus);
	return n_gpus;
}

double
cost_nodes_capital(struct sheet *sh, double n_nodes, double node_usd)
{
	GIVEN(sh, n_nodes, node_usd);
	LET(sh, capital_usd, n_nodes * node_usd);
	return capital_usd;
}

double
cost_nodes_power(struct sheet *sh, double n_nodes, double node_watt)
{
	GIVEN(sh, n_nodes, node_watt);
	LET(sh, power_watt, n_nodes * node_watt);
	return power_watt;
}

double
cost_rent_rate(struct sheet *sh, double n_gpus, double gpu_usd_per_s, double duty_frac)
{
	GIVEN(sh, n_gpus, gpu_usd_per_s, duty_frac);
	LET(sh, rent_usd_per_s, n_gpus * gpu_usd_per_s * duty_frac);
	return rent_usd_per_s;
}

double
cost_used_rate(struct sheet *sh, double own_usd_per_s, double n_gpus, double duty_frac)
{
	GIVEN(sh, own_usd_per_s, n_gpus, duty_frac);
	LET(sh, used_usd_per_s, own_usd_per_s / (n_gpus * duty_frac));
	return used_usd_per_s;
}

double
cost_break_even_duty(struct sheet *sh, double own_usd_per_s, double n_gpus, double gpu_usd_per_s)
{
	GIVEN(sh, own_usd_per_s, n_gpus, gpu_usd_per_s);
	LET(sh, duty_frac, own_usd_per_s / (n_gpus * gpu_usd_per_s));
	return duty_frac;
}

double
cost_break_even(struct sheet *sh, double capital_usd, double rent_usd_per_s, double running_usd_per_s)
{
	GIVEN(sh, capital_usd, rent_usd_per_s, running_usd_per_s);
	LET(sh, saved_usd_per_s, rent_usd_per_s - running_usd_per_s);
	LET(sh, break_even_s, capital_usd / saved_usd_per_s);
	return break_even_s;
}

double
cost_month(struct sheet *sh, double all_usd_per_s)
{
	GIVEN(sh, all_usd_per_s);
	TAKE(sh, month_s, MONTH_S);
	LET(sh, month_usd, all_usd_per_s * month_s);
	return month_usd;
}
