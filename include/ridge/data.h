/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way of samples into a step: loaders, storage, sensors, and what a checkpoint does to them. */
#ifndef RIDGE_DATA_H
#define RIDGE_DATA_H

#include "ridge/sheet.h"

/* --- loaders --------------------------------------------------------------------------------------------- */

/* Time of one sample, from a profile of many calls. */
double data_cost(struct sheet *sh, double profile_s, double n_calls);
/* Samples that one worker, or several, prepare. */
double data_worker_rate(struct sheet *sh, double cost_s_per_sample);
double data_loader_rate(struct sheet *sh, double n_workers, double cost_s_per_sample);
/* Samples of a batch in the time that it takes: to load, or to compute. */
double data_batch_rate(struct sheet *sh, double batch_sample, double batch_s);
/* Samples that storage delivers. */
double data_storage_rate(struct sheet *sh, double read_byte_per_s, double size_byte_per_sample);
/* A step, from what was measured to get through. */
double data_step_time(struct sheet *sh, double batch_sample, double rate_sample_per_s);
/* The slower of two ways that run side by side. */
double data_slower(struct sheet *sh, double loader_sample_per_s, double storage_sample_per_s);
/* Samples that get through: loading hidden behind computing, or one after the other. */
double data_overlapped(struct sheet *sh, double input_sample_per_s, double step_sample_per_s);
double data_serial(struct sheet *sh, double input_sample_per_s, double step_sample_per_s);
/* Share of the time in which computing waits. */
double data_idle(struct sheet *sh, double through_sample_per_s, double step_sample_per_s);
/* Workers that prepare so many samples; *n_exact is not rounded. */
double data_workers(struct sheet *sh, double rate_sample_per_s, double cost_s_per_sample);
/* Read rate that so many samples need. */
double data_read_need(struct sheet *sh, double rate_sample_per_s, double size_byte_per_sample);
/* How far a rate is from another. */
double data_slowdown(struct sheet *sh, double expected_sample_per_s, double rate_sample_per_s);

/* --- a loader that changes ------------------------------------------------------------------------------- */

/* A step of which loading is a share; what it gains is gain_part, stack_gain.h. */
double data_iteration(struct sheet *sh, double load_s, double load_frac);
/* The most samples that a loader so many times faster gives, if nothing else binds. */
double data_most(struct sheet *sh, double rate_sample_per_s, double gain);

/* --- rules of thumb for the number of workers ------------------------------------------------------------ */

double data_rule_gpus(struct sheet *sh, double n_gpus);
double data_rule_cores(struct sheet *sh, double n_gpus, double n_cores);

/* --- storage --------------------------------------------------------------------------------------------- */

double data_units(struct sheet *sh, double n_units, double unit_byte_per_s);
/* Share of its time that a storage is busy with a flow. */
double data_busy(struct sheet *sh, double flow_byte_per_s, double storage_byte_per_s);

/* --- sensors --------------------------------------------------------------------------------------------- */

double data_camera(struct sheet *sh, double n_pixels, double pixel_byte, double frame_hertz);
double data_cameras(struct sheet *sh, double n_cameras, double camera_byte_per_s);
double data_volume(struct sheet *sh, double flow_byte_per_s, double length_s);

/* --- checkpoints on the same storage --------------------------------------------------------------------- */

/* Time of one (alone: checkpoint_write, reliability.h) beside reading that is served first. */
double data_burst_beside(struct sheet *sh, double burst_s, double read_frac);
/* Share of the storage's time that both take. */
double data_busy_both(struct sheet *sh, double read_frac, double write_frac);
/* Samples that storage delivers while a checkpoint takes half of its time. */
double data_burst_rate(struct sheet *sh, double storage_sample_per_s);

#endif
