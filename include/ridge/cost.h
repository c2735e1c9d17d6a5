/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What GPUs cost: runs, months, requests and tokens; the fleet that a load needs; owning against renting.  Runs have
 * scale_run_usd (scale.h), months and a million tokens capacity_month_usd and capacity_million_usd (capacity.h). */
#ifndef RIDGE_COST_H
#define RIDGE_COST_H

#include "ridge/sheet.h"

/* A month as clouds bill it: a twelfth of 365 days. */
#define MONTH_S (730.0 * 3600.0)

/* GPUs that are paid for n_replicas when GPUs are rented by instances of n_unit_gpus: whole instances, each with whole
 * replicas; larger replicas get as many instances as they need. */
double cost_rented(struct sheet *sh, double n_replicas, double n_replica_gpus, double n_unit_gpus);
/* One GPU's part of the price of a node. */
double cost_gpu_price(struct sheet *sh, double node_usd_per_s, double n_node_gpus);
/* The price of a GPU that a bill implies. */
double cost_implied_price(struct sheet *sh, double bill_usd, double n_gpus, double time_s);
double cost_gpu_time(struct sheet *sh, double n_gpus, double time_s);

/* The same bill at another price base, times: 1 when the bases agree. */
double cost_base_ratio(struct sheet *sh, double bill_usd, double computed_usd);

double cost_saved(struct sheet *sh, double before_usd, double after_usd);
double cost_saved_frac(struct sheet *sh, double before_usd, double after_usd);

/* Right-sizing: what one GPU of a measured fleet carries, GPUs that a load needs at most so busy, how busy they are. */
double cost_gpu_rate(struct sheet *sh, double measured_request_per_s, double n_measured_gpus);
double cost_gpus_needed(struct sheet *sh, double load_request_per_s, double gpu_request_per_s, double utilisation_frac);
double cost_utilisation(struct sheet *sh, double load_request_per_s, double gpu_request_per_s, double n_gpus);

/* Requests: served in a while, and what one costs; a thousand of them. */
double cost_served(struct sheet *sh, double load_request_per_s, double time_s);
double cost_request(struct sheet *sh, double bill_usd, double served_request);
double cost_thousand(struct sheet *sh, double bill_usd_per_request);

/* Tokens.  A measured rate that is reached only part of the time costs more; input and output apart. */
double cost_busy_rate(struct sheet *sh, double fleet_token_per_s, double utilisation_frac);
double cost_request_tokens(
    struct sheet *sh, double input_million_usd, double output_million_usd, double isl_token, double osl_token);
/* A million input and output tokens of requests with a known price, when an output token takes the time of
 * output_weight input tokens. */
double cost_input_split(
    struct sheet *sh, double bill_usd_per_request, double isl_token, double osl_token, double output_weight);
double cost_output_split(struct sheet *sh, double input_million_usd, double output_weight);

/* Owning: capital over the lifetime, power at the meter, hosting; all machines together, per second. */
struct cost_owned {
	struct datum capital_usd, residual, lifetime_s;  /* the residual a fraction of the capital */
	struct datum power_watt, pue;                    /* average draw of the machines; facility over machines */
	struct datum electricity_usd_per_joule, hosting; /* hosting for a month */
};
double cost_capital_rate(struct sheet *sh, const struct cost_owned *o);
double cost_running_rate(struct sheet *sh, const struct cost_owned *o);
double cost_own_rate(struct sheet *sh, const struct cost_owned *o);
double cost_lifetime(struct sheet *sh, double n_years);
/* Several nodes alike: their GPUs, their capital, their power. */
double cost_nodes_gpus(struct sheet *sh, double n_nodes, double n_node_gpus);
double cost_nodes_capital(struct sheet *sh, double n_nodes, double node_usd);
double cost_nodes_power(struct sheet *sh, double n_nodes, double node_watt);
/* Renting the same GPUs for a share of the hours. */
double cost_rent_rate(struct sheet *sh, double n_gpus, double gpu_usd_per_s, double duty_frac);
/* One GPU for a second in which it is needed. */
double cost_used_rate(struct sheet *sh, double own_usd_per_s, double n_gpus, double duty_frac);
/* The share of the hours from which owning is cheaper (above 1: never), and the time after which the capital has come
 * back (infinite or negative: never). */
double cost_break_even_duty(struct sheet *sh, double own_usd_per_s, double n_gpus, double gpu_usd_per_s);
double cost_break_even(struct sheet *sh, double capital_usd, double rent_usd_per_s, double running_usd_per_s);
/* An amount of money for a month of 730 hours. */
double cost_month(struct sheet *sh, double all_usd_per_s);

#endif
