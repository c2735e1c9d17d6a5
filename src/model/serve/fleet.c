/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Number of replicas, and cost of input and output tokens under mixed load. */
#include "model/serve/serve.h"

double
serve_fleet_rate(struct sheet *sh, double replica_request_per_s, double n_replicas)
{
	GIVEN(sh, replica_request_per_s, n_replicas);
	LET(sh, fleet_request_per_s, n_replicas * replica_request_per_s);
	return fleet_request_per_s;
}

double
serve_fleet_needed(struct sheet *sh, double load_request_per_s, double growth_frac, double replica_request_per_s)
{
	GIVEN(sh, load_request_per_s, growth_frac, replica_request_per_s);
	TAKE(sh, slack_frac, 1e-9); /* a load that fills its replicas to the last request, but for rounding */
	LET(sh, n_loads, (1 + growth_frac) * load_request_per_s / replica_request_per_s);
	LET(sh, n_needed, fmax(1, ceil(n_loads - slack_frac)));
	return n_needed;
}

double
serve_fleet_all(struct sheet *sh, double n_needed, double n_added, double n_spare)
{
	GIVEN(sh, n_needed, n_added, n_spare);
	LET(sh, n_all, n_needed + n_added + n_spare);
	return n_all;
}

/* The interactive response time law: N = X (R + Z); Denning and Buzen, Computing Surveys 10(3), 1978. */
double
serve_user_rate(struct sheet *sh, double n_users, double answer_s, double think_s)
{
	GIVEN(sh, n_users, answer_s, think_s);
	TAKE(sh, user_request, 1.0);
	LET(sh, load_request_per_s, n_users * user_request / (answer_s + think_s));
	return load_request_per_s;
}

double
serve_day_rate(struct sheet *sh, double day_token, double osl_token)
{
	GIVEN(sh, day_token, osl_token);
	TAKE(sh, day_s, 86400.0);
	TAKE(sh, answer_request, 1.0);
	LET(sh, load_request_per_s, day_token / osl_token * answer_request / day_s);
	return load_request_per_s;
}

double
serve_fleet_gpus(struct sheet *sh, double n_all, double n_replica_gpus)
{
	GIVEN(sh, n_all, n_replica_gpus);
	LET(sh, n_gpus, n_all * n_replica_gpus);
	return n_gpus;
}

double
serve_fleet_power(struct sheet *sh, double n_gpus, double gpu_watt)
{
	GIVEN(sh, n_gpus, gpu_watt);
	LET(sh, all_watt, n_gpus * gpu_watt);
	return all_watt;
}

double
serve_site_power(struct sheet *sh, double gpus_watt, double n_gpus, double host_watt, double pue)
{
	GIVEN(sh, gpus_watt, n_gpus, host_watt, pue);
	LET(sh, site_watt, (gpus_watt + n_gpus * host_watt) * pue);
	return site_watt;
}

double
serve_request_usd(struct sheet *sh, double n_gpus, double gpu_usd_per_s, double load_request_per_s)
{
	GIVEN(sh, n_gpus, gpu_usd_per_s, load_request_per_s);
	LET(sh, bill_usd_per_request, n_gpus * gpu_usd_per_s / load_request_per_s);
	return bill_usd_per_request;
}

double
serve_token_weight(struct sheet *sh, double decode_step_s, double n_running, double prompt_step_s, double isl_token)
{
	GIVEN(sh, decode_step_s, n_running, prompt_step_s, isl_token);
	TAKE(sh, made_token, 1.0);
	LET(sh, output_s_per_token, decode_step_s / (n_running * made_token));
	LET(sh, input_s_per_token, prompt_step_s / isl_token);
	LET(sh, output_weight, output_s_per_token / input_s_per_token);
	return output_weight;
}
