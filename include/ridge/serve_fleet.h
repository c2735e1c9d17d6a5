/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replicas of a serving engine together. */
#ifndef RIDGE_SERVE_FLEET_H
#define RIDGE_SERVE_FLEET_H

#include "ridge/sheet.h"

/* Requests per second of n replicas that are loaded alike. */
double serve_fleet_rate(struct sheet *sh, double replica_request_per_s, double n_replicas);
/* Replicas for a load and its growth, when each takes so much; and with spares. */
double serve_fleet_needed(
    struct sheet *sh, double load_request_per_s, double growth_frac, double replica_request_per_s);
double serve_fleet_all(struct sheet *sh, double n_needed, double n_added, double n_spare);
/* Requests per second of users who wait for their answers and then think. */
double serve_user_rate(struct sheet *sh, double n_users, double answer_s, double think_s);
/* Requests per second that make so many tokens of answers in a day. */
double serve_day_rate(struct sheet *sh, double day_token, double osl_token);
/* GPUs, and what they draw. */
double serve_fleet_gpus(struct sheet *sh, double n_all, double n_replica_gpus);
double serve_fleet_power(struct sheet *sh, double n_gpus, double gpu_watt);
/* What a request's time costs on average; and the time of a token of an answer in those of a prompt. */
double serve_request_usd(struct sheet *sh, double n_gpus, double gpu_usd_per_s, double load_request_per_s);
double serve_token_weight(
    struct sheet *sh, double decode_step_s, double n_running, double prompt_step_s, double isl_token);

#endif
