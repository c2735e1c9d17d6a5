/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failures: how often, how far apart to checkpoint, what is left of the time, and how many spares to keep. */
#ifndef RIDGE_RELIABILITY_H
#define RIDGE_RELIABILITY_H

#include "ridge/sheet.h"

/* What was published about interruptions of one run: a file of hwdb/reliability. */
struct reliability {
	const char *id, *name, *gpu, *notes;
	struct datum n_gpus, period_s;
	struct datum n_interruptions; /* all of them */
	struct datum n_failures;      /* those that nobody had planned */
	struct datum goodput_frac;    /* share of useful time, where it was published */
};

/* A job that any failure stops. */
struct failing {
	struct datum mtbf_s;
	struct datum
	    stall_s; /* for which a checkpoint stops the computing: all of the write, or the copy to the host */
	struct datum durable_s; /* from the start of a checkpoint until a failure no longer loses it */
	struct datum restart_s; /* from the failure to computing again */
};

/* Mean time between failures: of one GPU from a published run, of the job from one GPU's. */
double published_mtbf(struct sheet *sh, const struct reliability *r);
double job_mtbf(struct sheet *sh, double gpu_mtbf_s, double n_gpus);
double failures_per_day(struct sheet *sh, double mtbf_s);

/* Time to write a checkpoint, every writer at this rate. */
double checkpoint_write(struct sheet *sh, double size_byte, double write_byte_per_s, double n_writers);

/* The interval of least loss; computing between two checkpoints. */
double young_interval(struct sheet *sh, double stall_s, double mtbf_s);
double daly_interval(struct sheet *sh, double stall_s, double mtbf_s);
/* What writing and lost work cost, to first order. */
double interval_overhead(struct sheet *sh, double stall_s, double interval_s, double mtbf_s);
/* Share of the time that is useful. */
double goodput(struct sheet *sh, const struct failing *f, double interval_s);
/* The same by cause, to first order: writing, work that is lost, restarts. */
double write_share(struct sheet *sh, double stall_s, double interval_s);
double lost_share(struct sheet *sh, const struct failing *f, double interval_s);
double restart_share(struct sheet *sh, double restart_s, double mtbf_s);
/* Share of the time in which storage is being written to. */
double storage_busy(struct sheet *sh, double durable_s, double interval_s);

/* The write that keeps the loss at its best interval below a target, and the bandwidth for it. */
double write_for_overhead(struct sheet *sh, double target_frac, double mtbf_s);
double bandwidth_for_write(struct sheet *sh, double size_byte, double write_s);

/* A whole run: its time on the wall, its failures. */
double run_wall(struct sheet *sh, double run_s, double goodput_frac);
double run_failures(struct sheet *sh, double wall_s, double mtbf_s);

/* Nodes that are being repaired at any time, on average. */
double nodes_in_repair(struct sheet *sh, double mtbf_s, double repair_s);
double node_count(struct sheet *sh, double n_gpus, double n_gpus_per_node);
double spare_share(struct sheet *sh, double n_spares, double n_nodes);

/* --- nothing is recorded --------------------------------------------------------------------------------- */

/* How likely more than n_spares nodes are in repair at once. */
double shortage(double n_mean, double n_spares);
/* The fewest spares for which that is at most risk_frac. */
double spares_needed(double n_mean, double risk_frac);

#endif
