/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory hierarchy.  A loop hits a cache level fully up to half of its effective size, and not at all from one and a
 * half times that size.  The effective size is three quarters of the cache, as in the GEMM model.
 *
 * Plateaus and pointer chases: McVoy and Staelin, "lmbench", USENIX 1996; Mei and Chu, "Dissecting GPU memory hierarchy
 * through microbenchmarking", IEEE TPDS 2017.
 */
#include "model/kernel/kernel.h"

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
miss_share(struct sheet *sh, const struct memory_calibration *m, int i, double footprint_byte)
{
	double miss_frac;

	if (i == m->n_levels - 1) {
		SET(sh, miss_frac, 0);
		return miss_frac;
	}
	GIVEN(sh, footprint_byte);
	TAKE(sh, level_byte, m->level[i].size_byte);
	SET_CALL(sh, miss_frac, level_miss(sh, footprint_byte, level_byte, 0, 0));
	return miss_frac;
}

/* Share of accesses served by level i: missed by the levels above it and found here. */
static double
served_share(struct sheet *sh, const struct memory_calibration *m, int i, double footprint_byte)
{
	GIVEN(sh, footprint_byte);
	double reaching_frac;
	if (i == 0)
		SET(sh, reaching_frac, 1);
	else
		SET_CALL(sh, reaching_frac, miss_share(sh, m, i - 1, footprint_byte));
	CALL(sh, missed_frac, miss_share(sh, m, i, footprint_byte));
	LET(sh, served_frac, fmax(0, reaching_frac - missed_frac));
	return served_frac;
}

static double
byte_time(struct sheet *sh, const struct memory_calibration *m, int i, double footprint_byte)
{
	GIVEN(sh, footprint_byte);
	CALL(sh, served_frac, served_share(sh, m, i, footprint_byte));
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
	CALL(sh, served_frac, served_share(sh, m, i, footprint_byte));
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
