/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofline: what a machine could do at best with this much arithmetic and this much traffic. */
#ifndef RIDGE_ROOFLINE_H
#define RIDGE_ROOFLINE_H

#include "ridge/op.h"

/* Where a point lies under the roof.  The functions that return one of these record rows of the same names in the
 * caller's scope, which must hold work_flop, traffic_byte, peak_flop_per_s and mem_byte_per_s, so that the formulas
 * resolve. */
struct point {
	double intensity_flop_per_byte, ridge_flop_per_byte, attainable_flop_per_s, of_peak_frac;
	double compute_s, memory_s, roof_s;
	double total_s; /* of roofline_line: as often as the operator runs */
};

/* ridge, attainable and share of the peak, of an intensity that the scope holds; no times. */
struct point roofline_place(
    struct sheet *sh, double intensity_flop_per_byte, double peak_flop_per_s, double mem_byte_per_s);
/* All of it, from FLOP and bytes. */
struct point roofline_point(
    struct sheet *sh, double work_flop, double traffic_byte, double peak_flop_per_s, double mem_byte_per_s);
/* An operator's own rows, those above, n_times and total_s; the scope holds the peak and the bandwidth. */
struct point roofline_line(struct sheet *sh, const struct op *op, double peak_flop_per_s, double mem_byte_per_s);
/* `compute-bound` or `memory-bound`. */
const char *roofline_bound(double intensity_flop_per_byte, double ridge_flop_per_byte);

/* The same as models of their own. */
double ridge_point(struct sheet *sh, double peak_flop_per_s, double mem_byte_per_s);
/* Peak and ridge point against those of another machine. */
double peak_growth(struct sheet *sh, double peak_flop_per_s, double first_flop_per_s);
double ridge_growth(struct sheet *sh, double ridge_flop_per_byte, double first_flop_per_byte);
double roofline_s(
    struct sheet *sh, double work_flop, double traffic_byte, double peak_flop_per_s, double mem_byte_per_s);
/* One operator as often as it runs; its share of a list. */
double roofline_op(struct sheet *sh, const struct op *op, double peak_flop_per_s, double mem_byte_per_s);
double roofline_share(struct sheet *sh, double total_s, double list_s);

/* A measured time against the roof; at most 1 when time, FLOP and bytes are right. */
double roofline_measured_frac(struct sheet *sh, double roof_s, double measured_s);
double roofline_rate_frac(struct sheet *sh, double work_flop, double measured_s, double peak_flop_per_s);
double roofline_traffic_frac(struct sheet *sh, double traffic_byte, double measured_s, double mem_byte_per_s);

/* What the time would shrink by at most if the memory (the arithmetic) were infinitely fast. */
double roofline_bandwidth_gain(struct sheet *sh, double compute_s, double memory_s);
double roofline_arithmetic_gain(struct sheet *sh, double compute_s, double memory_s);

/* Rates from unit counts. */
double unit_peak(struct sheet *sh, double n_sms, double fma_per_sm, double clock_hertz);
double shared_memory_rate(struct sheet *sh, double n_sms, double port_byte, double clock_hertz);
double register_rate(struct sheet *sh, double n_sms, double fma_per_sm, double clock_hertz);
/* Bytes that the shared memory of one SM of this architecture delivers per clock; NaN where it is not known. */
double shared_port_byte(const char *architecture);

/* What is left over when `extent` elements are cut into the 16-byte pieces that matrix units read. */
double alignment_left_over(struct sheet *sh, double extent, double elem_byte);

/* FLOP of a frame: an encoder for each camera and task, or one per camera and a head for each task; what that saves. */
double encoder_separate(struct sheet *sh, double encoder_flop, double n_cameras, double n_tasks);
double encoder_shared(struct sheet *sh, double encoder_flop, double n_cameras, double n_tasks, double head_flop);
double encoder_saving(struct sheet *sh, double shared_flop, double separate_flop);

#endif
