/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checkpoints against failures that come at random with a constant rate (exponential times between them): Young,
 * Communications of the ACM 17(9), 1974, and Daly, Future Generation Computer Systems 22(3), 2006.
 */
#include "model/calc/calc.h"

#include "base/base.h"

/* --- how often ------------------------------------------------------------------------------------------- */

double
published_mtbf(struct sheet *sh, const struct reliability *r)
{
	FROM(sh, r, n_gpus, period_s, n_failures);
	LET(sh, gpu_mtbf_s, n_gpus * period_s / n_failures);
	return gpu_mtbf_s;
}

/* Independent failures add their rates. */
double
job_mtbf(struct sheet *sh, double gpu_mtbf_s, double n_gpus)
{
	GIVEN(sh, gpu_mtbf_s, n_gpus);
	LET(sh, mtbf_s, gpu_mtbf_s / n_gpus);
	return mtbf_s;
}

double
failures_per_day(struct sheet *sh, double mtbf_s)
{
	GIVEN(sh, mtbf_s);
	TAKE(sh, day_s, 86400);
	LET(sh, n_failures_per_day, day_s / mtbf_s);
	return n_failures_per_day;
}

/* --- how far apart --------------------------------------------------------------------------------------- */

double
checkpoint_write(struct sheet *sh, double size_byte, double write_byte_per_s, double n_writers)
{
	GIVEN(sh, size_byte, write_byte_per_s, n_writers);
	LET(sh, write_s, size_byte / (write_byte_per_s * n_writers));
	return write_s;
}

/* Young's equation: the derivative of interval_overhead is 0 there. */
double
young_interval(struct sheet *sh, double stall_s, double mtbf_s)
{
	GIVEN(sh, stall_s, mtbf_s);
	LET(sh, interval_s, sqrt(2 * stall_s * mtbf_s));
	return interval_s;
}

/* Daly's perturbation solution; beyond twice the MTBF the best is the MTBF itself. */
double
daly_interval(struct sheet *sh, double stall_s, double mtbf_s)
{
	GIVEN(sh, stall_s, mtbf_s);
	double interval_s;
	if (stall_s < 2 * mtbf_s) {
		LET(sh, ratio, stall_s / (2 * mtbf_s));
		LET(sh, first_s, sqrt(2 * stall_s * mtbf_s));
		SET(sh, interval_s, first_s * (1 + sqrt(ratio) / 3 + ratio / 9) - stall_s);
	} else
		SET(sh, interval_s, mtbf_s);
	return interval_s;
}

/* Every interval costs one write, and every failure half an interval. */
double
interval_overhead(struct sheet *sh, double stall_s, double interval_s, double mtbf_s)
{
	GIVEN(sh, stall_s, interval_s, mtbf_s);
	LET(sh, overhead_frac, stall_s / interval_s + interval_s / (2 * mtbf_s));
	return overhead_frac;
}

/* Daly's complete cost function, as solved time over wall time.  A checkpoint that is written beside the computing
 * protects nothing until it is whole: every failure loses its write time more. */
double
goodput(struct sheet *sh, const struct failing *f, double interval_s)
{
	GIVEN(sh, interval_s);
	FROM(sh, f, mtbf_s, stall_s, durable_s, restart_s);
	LET(sh, behind_s, durable_s - stall_s);
	LET(sh, segment_s, interval_s + stall_s);
	LET(sh, wall_s, mtbf_s * exp((restart_s + behind_s) / mtbf_s) * (exp(segment_s / mtbf_s) - 1));
	LET(sh, goodput_frac, interval_s / wall_s);
	return goodput_frac;
}

double
write_share(struct sheet *sh, double stall_s, double interval_s)
{
	GIVEN(sh, stall_s, interval_s);
	LET(sh, write_frac, stall_s / (interval_s + stall_s));
	return write_frac;
}

double
lost_share(struct sheet *sh, const struct failing *f, double interval_s)
{
	GIVEN(sh, interval_s);
	FROM(sh, f, mtbf_s, stall_s, durable_s);
	LET(sh, lost_s, (interval_s + stall_s) / 2 + durable_s - stall_s);
	LET(sh, lost_frac, lost_s / mtbf_s);
	return lost_frac;
}

double
restart_share(struct sheet *sh, double restart_s, double mtbf_s)
{
	GIVEN(sh, restart_s, mtbf_s);
	LET(sh, restart_frac, restart_s / mtbf_s);
	return restart_frac;
}

double
storage_busy(struct sheet *sh, double durable_s, double interval_s)
{
	GIVEN(sh, durable_s, interval_s);
	LET(sh, busy_frac, durable_s / interval_s);
	return busy_frac;
}

/* --- the other way round --------------------------------------------------------------------------------- */

/* At Young's interval the overhead is sqrt(2 C / M). */
double
write_for_overhead(struct sheet *sh, double target_frac, double mtbf_s)
{
	GIVEN(sh, target_frac, mtbf_s);
	LET(sh, needed_s, target_frac * target_frac * mtbf_s / 2);
	return needed_s;
}

double
bandwidth_for_write(struct sheet *sh, double size_byte, double write_s)
{
	GIVEN(sh, size_byte, write_s);
	LET(sh, needed_byte_per_s, size_byte / write_s);
	return needed_byte_per_s;
}

double
run_wall(struct sheet *sh, double run_s, double goodput_frac)
{
	GIVEN(sh, run_s, goodput_frac);
	LET(sh, wall_s, run_s / goodput_frac);
	return wall_s;
}

double
run_failures(struct sheet *sh, double wall_s, double mtbf_s)
{
	GIVEN(sh, wall_s, mtbf_s);
	LET(sh, n_failures, wall_s / mtbf_s);
	return n_failures;
}

/* --- spares ---------------------------------------------------------------------------------------------- */

double
node_count(struct sheet *sh, double n_gpus, double n_gpus_per_node)
{
	GIVEN(sh, n_gpus, n_gpus_per_node);
	LET(sh, n_nodes, ceil(n_gpus / n_gpus_per_node));
	return n_nodes;
}

/* Little, Operations Research 9(3), 1961: the rate of failures times the time of a repair.  Every failure takes a node
 * out. */
double
nodes_in_repair(struct sheet *sh, double mtbf_s, double repair_s)
{
	GIVEN(sh, mtbf_s, repair_s);
	LET(sh, n_mean, repair_s / mtbf_s);
	return n_mean;
}

double
spare_share(struct sheet *sh, double n_spares, double n_nodes)
{
	GIVEN(sh, n_spares, n_nodes);
	LET(sh, spare_frac, n_spares / n_nodes);
	return spare_frac;
}

/* Palm 1943: whatever the repair times look like, their number at one moment is Poisson's. */
double
shortage(double n_mean, double n_spares)
{
	return num_poisson_above(n_mean, n_spares);
}

double
spares_needed(double n_mean, double risk_frac)
{
	double few = -1, enough = 1; /* none at all may be enough */

	while (shortage(n_mean, enough) > risk_frac && enough < 1e15) {
		few = enough;
		enough *= 2;
	}
	while (enough - few > 1) {
		const double middle = floor((few + enough) / 2);
		if (shortage(n_mean, middle) > risk_frac)
			few = middle;
		else
			enough = middle;
	}
	return enough;
}
