/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving without a model of an engine: measured sweeps, objectives that must fit each other, floors, static batches.
 */
#ifndef RIDGE_SERVICE_H
#define RIDGE_SERVICE_H

#include "ridge/sheet.h"

/* Throughput against a base, as a factor and as a change; a time's change. */
double service_gain(struct sheet *sh, double base_request_per_s, double rate_request_per_s);
double service_rate_change(struct sheet *sh, double base_request_per_s, double rate_request_per_s);
double service_time_change(struct sheet *sh, double base_s, double time_s);

/* The answer's length that three objectives leave, and what one of a given length needs. */
double answer_fitting(struct sheet *sh, double deadline_s, double ttft_s, double itl_s);
double answer_time(struct sheet *sh, double ttft_s, double itl_s, double osl_token);
double answer_itl(struct sheet *sh, double deadline_s, double ttft_s, double osl_token);

/* Floors: a prompt at a share of the peak, a step that reads weights and caches once or computes at the peak. */
double prompt_flop(struct sheet *sh, double isl_token, double work_flop_per_token);
double prompt_floor(struct sheet *sh, double prompt_work_flop, double peak_flop_per_s, double mfu_frac);
double decode_read(struct sheet *sh, double weight_byte, double cache_byte);
double decode_work(struct sheet *sh, double n_sequences, double work_flop_per_token);
double decode_floor(
    struct sheet *sh, double read_byte, double step_flop, double mem_byte_per_s, double peak_flop_per_s);
double decode_rate(struct sheet *sh, double n_sequences, double step_s);
double gpu_share(struct sheet *sh, double all_flop, double n_gpus);

/* A static batch: all wait for the longest answer. */
double static_waiting(struct sheet *sh, double n_sequences);
double static_idle(struct sheet *sh, double mean_token, double longest_token);
/* What filling empty places at once would gain at most. */
double static_gain(struct sheet *sh, double mean_token, double longest_token);

#endif
