/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kernels at the speed of the hardware: roofline, caches and memory, elementwise kernels.
 *
 * The roofline model: Williams, Waterman and Patterson, Communications of the ACM 52(4), 2009.
 * A kernel that moves a byte for every I FLOP runs at min(peak, I x bandwidth); the ridge point is the I where both
 * meet.
 */
#include "model/kernel/kernel.h"

#include <string.h>

struct point
roofline_place(struct sheet *sh, double intensity_flop_per_byte, double peak_flop_per_s, double mem_byte_per_s)
{
	LET(sh, ridge_flop_per_byte, peak_flop_per_s / mem_byte_per_s);
	LET(sh, attainable_flop_per_s, fmin(peak_flop_per_s, intensity_flop_per_byte * mem_byte_per_s));
	LET(sh, of_peak_frac, attainable_flop_per_s / peak_flop_per_s);
	return (struct point){.intensity_flop_per_byte = intensity_flop_per_byte,
	    .ridge_flop_per_byte = ridge_flop_per_byte,
	    .attainable_flop_per_s = attainable_flop_per_s,
	    .of_peak_frac = of_peak_frac};
}

struct point
roofline_point(struct sheet *sh, double work_flop, double traffic_byte, double peak_flop_per_s, double mem_byte_per_s)
{
	LET(sh, intensity_flop_per_byte, work_flop / traffic_byte);
	struct point p = roofline_place(sh, intensity_flop_per_byte, peak_flop_per_s, mem_byte_per_s);
	LET(sh, compute_s, work_flop / peak_flop_per_s);
	LET(sh, memory_s, traffic_byte / mem_byte_per_s);
	LET(sh, roof_s, fmax(compute_s, memory_s));
	p.compute_s = compute_s;
	p.memory_s = memory_s;
	p.roof_s = roof_s;
	return p;
}

const char *
roofline_bound(double intensity_flop_per_byte, double ridge_flop_per_byte)
{
	return intensity_flop_per_byte >= ridge_flop_per_byte ? "compute-bound" : "memory-bound";
}

double
ridge_point(struct sheet *sh, double peak_flop_per_s, double mem_byte_per_s)
{
	GIVEN(sh, peak_flop_per_s, mem_byte_per_s);
	LET(sh, ridge_flop_per_byte, peak_flop_per_s / mem_byte_per_s);
	return ridge_flop_per_byte;
}

double
peak_growth(struct sheet *sh, double peak_flop_per_s, double first_flop_per_s)
{
	GIVEN(sh, peak_flop_per_s, first_flop_per_s);
	LET(sh, ratio, peak_flop_per_s / first_flop_per_s);
	return ratio;
}

double
ridge_growth(struct sheet *sh, double ridge_flop_per_byte, double first_flop_per_byte)
{
	GIVEN(sh, ridge_flop_per_byte, first_flop_per_byte);
	LET(sh, ratio, ridge_flop_per_byte / first_flop_per_byte);
	return ratio;
}

double
roofline_s(struct sheet *sh, double work_flop, double traffic_byte, double peak_flop_per_s, double mem_byte_per_s)
{
	GIVEN(sh, work_flop, traffic_byte, peak_flop_per_s, mem_byte_per_s);
	return roofline_point(sh, work_flop, traffic_byte, peak_flop_per_s, mem_byte_per_s).roof_s;
}

struct point
roofline_line(struct sheet *sh, const struct op *op, double peak_flop_per_s, double mem_byte_per_s)
{
	const struct cost c = op_cost(sh, op);
	struct point p = roofline_point(sh, c.work_flop, c.traffic_byte, peak_flop_per_s, mem_byte_per_s);
	const double roof_s = p.roof_s;
	TAKE(sh, n_times, op->count);
	LET(sh, total_s, n_times * roof_s);
	p.total_s = total_s;
	return p;
}

double
roofline_op(struct sheet *sh, const struct op *op, double peak_flop_per_s, double mem_byte_per_s)
{
	GIVEN(sh, peak_flop_per_s, mem_byte_per_s);
	return roofline_line(sh, op, peak_flop_per_s, mem_byte_per_s).total_s;
}

double
roofline_share(struct sheet *sh, double total_s, double list_s)
{
	GIVEN(sh, total_s, list_s);
	LET(sh, share_frac, total_s / list_s);
	return share_frac;
}

/* --- a measured time ------------------------------------------------------------------------------------- */

double
roofline_measured_frac(struct sheet *sh, double roof_s, double measured_s)
{
	GIVEN(sh, roof_s, measured_s);
	LET(sh, of_roof_frac, roof_s / measured_s);
	return of_roof_frac;
}

double
roofline_rate_frac(struct sheet *sh, double work_flop, double measured_s, double peak_flop_per_s)
{
	GIVEN(sh, work_flop, measured_s, peak_flop_per_s);
	LET(sh, attained_flop_per_s, work_flop / measured_s);
	LET(sh, attained_frac, attained_flop_per_s / peak_flop_per_s);
	return attained_frac;
}

double
roofline_traffic_frac(struct sheet *sh, double traffic_byte, double measured_s, double mem_byte_per_s)
{
	GIVEN(sh, traffic_byte, measured_s, mem_byte_per_s);
	LET(sh, moved_byte_per_s, traffic_byte / measured_s);
	LET(sh, moved_frac, moved_byte_per_s / mem_byte_per_s);
	return moved_frac;
}

/* --- what if --------------------------------------------------------------------------------------------- */

double
roofline_bandwidth_gain(struct sheet *sh, double compute_s, double memory_s)
{
	GIVEN(sh, compute_s, memory_s);
	LET(sh, bandwidth_gain, fmax(compute_s, memory_s) / compute_s);
	return bandwidth_gain;
}

double
roofline_arithmetic_gain(struct sheet *sh, double compute_s, double memory_s)
{
	GIVEN(sh, compute_s, memory_s);
	LET(sh, arithmetic_gain, fmax(compute_s, memory_s) / memory_s);
	return arithmetic_gain;
}

/* --- rates from unit counts ------------------------------------------------------------------------------ */

/* A fused multiply-add is two FLOP. */
double
unit_peak(struct sheet *sh, double n_sms, double fma_per_sm, double clock_hertz)
{
	GIVEN(sh, n_sms, fma_per_sm, clock_hertz);
	LET(sh, unit_flop_per_s, 2 * n_sms * fma_per_sm * clock_hertz);
	return unit_flop_per_s;
}

double
shared_memory_rate(struct sheet *sh, double n_sms, double port_byte, double clock_hertz)
{
	GIVEN(sh, n_sms, port_byte, clock_hertz);
	LET(sh, shared_byte_per_s, n_sms * port_byte * clock_hertz);
	return shared_byte_per_s;
}

/* A multiply-add reads three 4-byte operands and writes one. */
double
register_rate(struct sheet *sh, double n_sms, double fma_per_sm, double clock_hertz)
{
	GIVEN(sh, n_sms, fma_per_sm, clock_hertz);
	TAKE(sh, operands_byte, 16.0);
	LET(sh, register_byte_per_s, n_sms * fma_per_sm * operands_byte * clock_hertz);
	return register_byte_per_s;
}

/* 32 banks of 4 bytes.  Turing's L1 delivers half: NVIDIA, "Ampere GA102 GPU architecture", 2020; the others: Jia et
 * al., arXiv:1804.06826 (Volta), and AMD's CDNA 3 white paper, 2023 (local data share). */
double
shared_port_byte(const char *architecture)
{
	static const struct {
		const char *architecture;
		double byte;
	} ports[] = {
	    {"volta", 128},
	    {"turing", 64},
	    {"ampere", 128},
	    {"ada", 128},
	    {"hopper", 128},
	    {"blackwell", 128},
	    {"blackwell-ultra", 128},
	    {"cdna2", 128},
	    {"cdna3", 128},
	};

	for (size_t i = 0; architecture && i < sizeof ports / sizeof *ports; i++)
		if (strcmp(ports[i].architecture, architecture) == 0)
			return ports[i].byte;
	return NAN;
}

/* Matrix units read 16 bytes at a time: 8 elements of 16 bits, 16 of 8 bits.  NVIDIA, "Matrix Multiplication Background
 * User's Guide", section on tensor core requirements. */
double
alignment_left_over(struct sheet *sh, double extent, double elem_byte)
{
	GIVEN(sh, extent, elem_byte);
	TAKE(sh, piece_byte, 16.0);
	LET(sh, n_aligned, floor(piece_byte / elem_byte));
	LET(sh, n_left_over, extent - n_aligned * floor(extent / n_aligned));
	return n_left_over;
}

double
encoder_separate(struct sheet *sh, double encoder_flop, double n_cameras, double n_tasks)
{
	GIVEN(sh, encoder_flop, n_cameras, n_tasks);
	LET(sh, separate_flop, encoder_flop * n_cameras * n_tasks);
	return separate_flop;
}

double
encoder_shared(struct sheet *sh, double encoder_flop, double n_cameras, double n_tasks, double head_flop)
{
	GIVEN(sh, encoder_flop, n_cameras, n_tasks, head_flop);
	LET(sh, encoders_flop, encoder_flop * n_cameras);
	LET(sh, heads_flop, head_flop * n_tasks);
	LET(sh, shared_flop, encoders_flop + heads_flop);
	return shared_flop;
}

double
encoder_saving(struct sheet *sh, double shared_flop, double separate_flop)
{
	GIVEN(sh, shared_flop, separate_flop);
	LET(sh, saved_frac, 1 - shared_flop / separate_flop);
	return saved_frac;
}

/* --- memory hierarchy ----------------------------------------------------------------------------------------- */

/*
 * Plateaus and pointer chases: McVoy and Staelin, "lmbench", USENIX 1996; Mei and Chu, "Dissecting GPU memory hierarchy
 * through microbenchmarking", IEEE TPDS 2017.
 */

/* Shares of a level's size: up to hold_frac all accesses hit it, and over the next fade_frac the hits fade out. */
struct fade {
	double hold_frac, fade_frac;
};

/*
 * Passes over an array: on an H100 with 50 MiB of L2, no read misses at 40 MiB, 23 % do at 48 MiB and 96 % at 56 MiB
 * (tests/corpus/bench-h100.jsonl; one GPU).  A chain of loads slows down earlier, where it reaches the far half of L2:
 * its hits fade out as level_miss has it without a fit.
 */
static const struct fade pass_fade = {0.9, 0.25}, chase_fade = {0, 0};

/* Three quarters of a cache are useful, and between half of that and one and a half times that its hits fade out, where
 * no fit says what it holds. */
double
level_miss(struct sheet *sh, double footprint_byte, double level_byte, double hold_frac, double fade_frac)
{
	GIVEN(sh, footprint_byte, level_byte, hold_frac, fade_frac);
	EITHER(sh, miss_frac, fade_frac > 0, fmin(1, fmax(0, (footprint_byte / level_byte - hold_frac) / fade_frac)),
	    fmin(1, fmax(0, footprint_byte / (0.75 * level_byte) - 0.5)));
	return miss_frac;
}

/* The share of the accesses that level i does not serve.  The last level serves all that reach it. */
static double
miss_share(struct sheet *sh, const struct memory_calibration *m, int i, const struct fade *f, double footprint_byte)
{
	double miss_frac;

	if (i == m->n_levels - 1) {
		SET(sh, miss_frac, 0);
		return miss_frac;
	}
	GIVEN(sh, footprint_byte);
	TAKE(sh, level_byte, m->level[i].size_byte);
	SET_CALL(sh, miss_frac, level_miss(sh, footprint_byte, level_byte, f->hold_frac, f->fade_frac));
	return miss_frac;
}

/* Share of accesses served by level i: missed by the levels above it and found here. */
static double
served_share(struct sheet *sh, const struct memory_calibration *m, int i, const struct fade *f, double footprint_byte)
{
	GIVEN(sh, footprint_byte);
	double reaching_frac;
	if (i == 0)
		SET(sh, reaching_frac, 1);
	else
		SET_CALL(sh, reaching_frac, miss_share(sh, m, i - 1, f, footprint_byte));
	CALL(sh, missed_frac, miss_share(sh, m, i, f, footprint_byte));
	LET(sh, served_frac, fmax(0, reaching_frac - missed_frac));
	return served_frac;
}

static double
byte_time(struct sheet *sh, const struct memory_calibration *m, int i, double footprint_byte)
{
	GIVEN(sh, footprint_byte);
	CALL(sh, served_frac, served_share(sh, m, i, &pass_fade, footprint_byte));
	TAKE(sh, level_byte_per_s, m->level[i].byte_per_s);
	LET(sh, part_s, served_frac * footprint_byte / level_byte_per_s);
	return part_s;
}

/* The levels whose rate (or latency) was measured. */
static struct memory_calibration
measured_levels(const struct memory_calibration *m, bool rate)
{
	struct memory_calibration out = {0};

	for (int i = 0; i < m->n_levels; i++)
		if (datum_given(rate ? m->level[i].byte_per_s : m->level[i].latency_s))
			out.level[out.n_levels++] = m->level[i];
	return out;
}

double
memory_rate(struct sheet *sh, const struct memory_calibration *m, double footprint_byte)
{
	const struct memory_calibration with = measured_levels(m, true);

	GIVEN(sh, footprint_byte);
	SUM(sh, pass_s, i, with.n_levels, byte_time(sh, &with, i, footprint_byte));
	LET(sh, memory_byte_per_s, footprint_byte / pass_s);
	return memory_byte_per_s;
}

static double
load_time(struct sheet *sh, const struct memory_calibration *m, int i, double footprint_byte)
{
	GIVEN(sh, footprint_byte);
	CALL(sh, served_frac, served_share(sh, m, i, &chase_fade, footprint_byte));
	TAKE(sh, level_s, m->level[i].latency_s);
	LET(sh, part_s, served_frac * level_s);
	return part_s;
}

double
memory_latency(struct sheet *sh, const struct memory_calibration *m, double footprint_byte)
{
	const struct memory_calibration with = measured_levels(m, false);

	GIVEN(sh, footprint_byte);
	SUM(sh, latency_s, i, with.n_levels, load_time(sh, &with, i, footprint_byte));
	return latency_s;
}

double
launch_time(struct sheet *sh, const struct launch_calibration *l, double n_kernels, bool graph)
{
	GIVEN(sh, n_kernels);
	TAKE(sh, base_s, graph ? l->graph_base_s : l->stream_base_s);
	TAKE(sh, kernel_s, graph ? l->graph_kernel_s : l->stream_kernel_s);
	LET(sh, launches_s, base_s + n_kernels * kernel_s);
	return launches_s;
}

/* --- elementwise kernels -------------------------------------------------------------------------------------- */

/*
 * Elementwise kernels take the time of their traffic.  Operands that fit in L2 are found there, left by the previous
 * kernel.  0.85 of the memory bandwidth, and three times that bandwidth from L2, are what elementwise kernels of
 * serving engines reach on A100 to B200.
 */

double
elementwise_time(struct sheet *sh, const struct elementwise_shape *shape, const struct calibration *c)
{
	FROM(sh, shape, traffic_byte, n_launches, launch_s);
	TAKE(sh, mem_byte_per_s, c->ref_mem_byte_per_s);
	TAKE(sh, mem_frac, shape->mem_frac > 0 ? shape->mem_frac : 0.85);
	double miss_frac;
	if (shape->cold) {
		SET(sh, miss_frac, 1);
	} else {
		TAKE(sh, l2_byte, c->ref_l2_byte);
		SET_CALL(sh, miss_frac, level_miss(sh, traffic_byte, l2_byte, 0, 0));
	}
	TAKE(sh, l2_ratio, shape->l2_ratio > 0 ? shape->l2_ratio : 3);
	LET(sh, missed_s, traffic_byte * miss_frac / (mem_frac * mem_byte_per_s));
	LET(sh, cached_s, traffic_byte * (1 - miss_frac) / (l2_ratio * mem_byte_per_s));
	LET(sh, elementwise_s, n_launches * launch_s + missed_s + cached_s);
	return elementwise_s;
}

double
quantise_time(struct sheet *sh, const struct gemm_calibration *p, double n_rows, double n_columns, double elem_byte)
{
	double cast_s;

	if (!(p->quantise_byte_per_s.value > 0)) {
		SET(sh, cast_s, 0);
		return cast_s;
	}
	GIVEN(sh, n_rows, n_columns, elem_byte);
	TAKE(sh, wide_byte, 2.0);
	FROM(sh, p, quantise_s, quantise_byte_per_s);
	SET(sh, cast_s, quantise_s + n_rows * n_columns * (wide_byte + elem_byte) / quantise_byte_per_s);
	return cast_s;
}
