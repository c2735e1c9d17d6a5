/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge checkpoint: checkpoint interval, goodput and spare nodes. */
#include "ask/bind/bind.h"
#include "ask/data/data.h"
#include "cli/cli.h"
#include "db/db.h"
#include "model/calc/calc.h"
#include "model/layer/layer.h"

#include <string.h>

#define CHECKPOINT_OPTIONS(X)                                                                                          \
	X('n', gpus, "gpus", "gpus", COUNT, "N", "", NULL, "number of GPUs of the job")                                \
	X(0, mtbf, "mtbf", "mtbf", TIME, "TIME", "", NULL, "mean time between failures of the job")                    \
	X(0, gpu_mtbf, "gpu-mtbf", "gpu_mtbf", TIME, "TIME", "", NULL,                                                 \
	    "mean time between failures per GPU, its share of the node included: 50000h")                              \
	X(0, mtbf_source, "mtbf-source", "mtbf_source", WORD, "NAME", "reliability", NULL,                             \
	    "published run whose failure rate is used, from the database or a file: llama3-405b")                      \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "trained model, for its parameter count")        \
	X('p', params, "params", "params", COUNT, "N", "", NULL, "parameter count, when no model is given")            \
	X(0, bytes_per_param, "bytes-per-param", "bytes_per_param", SIZE, "SIZE", "", "14B",                           \
	    "bytes saved per parameter; 14B is 16-bit weights, fp32 master weights and both Adam moments")             \
	X(0, size, "size", "size", SIZE, "SIZE", "", NULL, "checkpoint size, instead of a model")                      \
	X(0, storage, "storage", "storage", WORD, "NAME|RATE", "link", NULL,                                           \
	    "storage written to: database name, several (64xnvme-gen4), or a rate")                                    \
	X(0, write, "write", "write", TIME, "TIME", "", NULL, "checkpoint write time, instead of size and storage")    \
	X(0, stall, "stall", "stall", TIME, "TIME", "", NULL, "stall per checkpoint with asynchronous writes")         \
	X(0, restart, "restart", "restart", TIME, "TIME", "", "0s", "restart time after a failure")                    \
	X(0, interval, "interval", "interval", TIME, "TIME", "", NULL, "checkpoint interval (default: optimal)")       \
	X(0, target, "target", "target", FRACTION, "FRACTION", "", NULL,                                               \
	    "maximum overhead of writes and lost work; exit status 1 above it")                                        \
	X(0, run, "run", "run", TIME, "TIME", "", NULL, "run length without failures")                                 \
	X(0, repair, "repair", "repair", TIME, "TIME", "", NULL, "repair time of a node; sizes the spares")            \
	X(0, node_gpus, "node-gpus", "node_gpus", COUNT, "N", "", "8",                                                 \
	    "GPUs per node, the unit of failure and repair")                                                           \
	X(0, spares, "spares", "spares", COUNT, "N", "", NULL, "spare nodes available")                                \
	X(0, risk, "risk", "risk", FRACTION, "FRACTION", "", "1%", "accepted share of time without spares")

struct checkpoint_in {
	CHECKPOINT_OPTIONS(OPTION_MEMBER)
};

#define THIS struct checkpoint_in
static const struct option checkpoint_options[] = {CHECKPOINT_OPTIONS(OPTION_ROW)};
#undef THIS

/* --- what must be known ---------------------------------------------------------------------------------- */

static bool
check_mtbf(struct run *r, const struct checkpoint_in *in)
{
	const int n = datum_given(in->mtbf) + datum_given(in->gpu_mtbf) + (in->mtbf_source.text != NULL);

	if (n == 0)
		return run_refuse(r, (struct source){0}, "no failure rate given",
		    "add --mtbf 12h (of the job), --gpu-mtbf 50000h, or a published run: --mtbf-source llama3-405b");
	if (n > 1)
		return run_refuse(r, datum_given(in->mtbf) ? in->mtbf.from : in->gpu_mtbf.from,
		    "--mtbf, --gpu-mtbf and --mtbf-source exclude each other", "keep one of them");
	if (!datum_given(in->mtbf) && !datum_given(in->gpus))
		return run_refuse(r, (struct source){0}, "number of GPUs missing", "add for example --gpus 1024");
	if (datum_given(in->mtbf) && datum_given(in->repair) && !datum_given(in->gpus))
		return run_refuse(r, in->repair.from, "spares need the number of GPUs", "add for example --gpus 1024");
	return true;
}

static bool
check_write(struct run *r, const struct checkpoint_in *in)
{
	const bool sized = in->model.text || datum_given(in->params) || datum_given(in->size);

	if ((in->model.text != NULL) + datum_given(in->params) + datum_given(in->size) > 1)
		return run_refuse(r, datum_given(in->size) ? in->size.from : in->params.from,
		    "a model, --params and --size exclude each other", "keep one of them");
	if (datum_given(in->write) && in->storage.text)
		return run_refuse(
		    r, in->write.from, "--write and --storage exclude each other", "keep --write, the measured time");
	if (!datum_given(in->write) && !(sized && in->storage.text))
		return run_refuse(r, (struct source){0}, "checkpoint write time missing",
		    "add --write 60s, or size and storage: --params 7e9 --storage 2GB/s");
	return true;
}

static bool
check(struct run *r, const struct checkpoint_in *in)
{
	if (!check_mtbf(r, in) || !check_write(r, in))
		return false;
	if (datum_given(in->spares) && !datum_given(in->repair))
		return run_refuse(r, in->spares.from, "--spares needs the repair time", "add for example --repair 24h");
	return run_positive(r, "mtbf", in->mtbf) & run_positive(r, "gpu-mtbf", in->gpu_mtbf) &
	    run_positive(r, "write", in->write) & run_positive(r, "stall", in->stall) &
	    run_positive(r, "interval", in->interval) & run_positive(r, "run", in->run) &
	    run_positive(r, "repair", in->repair) & run_positive(r, "size", in->size) &
	    run_inside(r, "target", in->target) & run_inside(r, "risk", in->risk) & run_whole(r, "gpus", in->gpus, 1) &
	    run_whole(r, "params", in->params, 1) & run_whole(r, "--node-gpus", in->node_gpus, 1) &
	    run_whole(r, "spares", in->spares, 0);
}

/* --- failures -------------------------------------------------------------------------------------------- */

/* Of one GPU, from a published run. */
static bool
show_published(struct run *r, const struct checkpoint_in *in, double *gpu_mtbf)
{
	struct sheet *sh = r->sheet;
	const char *said;
	run_reads(r, &in->mtbf_source, NULL);
	const struct reliability *published =
	    database_reliability(r->database, r->arena, r->diag, in->mtbf_source.text, in->mtbf_source.from, &said);

	if (!published)
		return false;
	if (said)
		run_assume_as(r, "mtbf-source", published->id, "%s", said);
	CALL(sh, gpu_mtbf_s, published_mtbf(sh, published));
	SHOW(sh, gpu_mtbf_s, gpu_mtbf_s);
	*gpu_mtbf = gpu_mtbf_s;
	return true;
}

static bool
show_mtbf(struct run *r, const struct checkpoint_in *in, double *mtbf)
{
	struct sheet *sh = r->sheet;

	if (datum_given(in->mtbf)) {
		TAKE(sh, mtbf_s, in->mtbf);
		SHOW(sh, mtbf_s, mtbf_s);
		*mtbf = mtbf_s;
	} else {
		run_reads(r, &in->gpu_mtbf, NULL);
		double gpu_mtbf_s = in->gpu_mtbf.value;
		if (in->mtbf_source.text && !show_published(r, in, &gpu_mtbf_s))
			return false;
		TAKE(sh, n_gpus, in->gpus);
		CALL(sh, mtbf_s, job_mtbf(sh, gpu_mtbf_s, n_gpus));
		SHOW(sh, mtbf_s, mtbf_s);
		*mtbf = mtbf_s;
	}
	const double mtbf_s = *mtbf;
	CALL(sh, n_failures_per_day, failures_per_day(sh, mtbf_s));
	SHOW(sh, n_failures_per_day, failures_per_day);
	return true;
}

/* --- writing --------------------------------------------------------------------------------------------- */

static bool
show_size(struct run *r, const struct checkpoint_in *in, double *size)
{
	struct sheet *sh = r->sheet;

	*size = NAN;
	if (datum_given(in->size)) {
		TAKE(sh, size_byte, in->size);
		*size = size_byte;
	} else if (in->model.text || datum_given(in->params)) {
		double n_params;
		if (in->model.text) {
			const struct workload *w = run_model(r, in->model);
			if (!w)
				return false;
			SET_CALL(sh, n_params, model_params(sh, w));
		} else {
			TAKE(sh, stated_param, in->params);
			SET(sh, n_params, stated_param);
		}
		TAKE(sh, stored_byte_per_param, in->bytes_per_param);
		CALL(sh, size_byte, checkpoint_bytes(sh, n_params, stored_byte_per_param));
		*size = size_byte;
	} else
		return true;
	const double size_byte = *size;
	(void)size_byte;
	SHOW(sh, size_byte, size_byte);
	return true;
}

static bool
show_write(struct run *r, const struct checkpoint_in *in, double size_byte, double *write)
{
	struct sheet *sh = r->sheet;
	struct tier tier;

	if (datum_given(in->write)) {
		TAKE(sh, write_s, in->write);
		SHOW(sh, write_s, write_s);
		*write = write_s;
		return true;
	}
	if (!tier_read(r, in->storage, &tier))
		return false;
	if (!datum_given(tier.write)) {
		diag_error(r->diag, in->storage.from, "write rate of %s is not in the database", tier.name);
		diag_hint(r->diag, "give a rate instead: --storage 2GB/s");
		return false;
	}
	TAKE(sh, unit_write_byte_per_s, tier.write);
	SHOW(sh, unit_write_byte_per_s, write_byte_per_s);
	TAKE(sh, n_writers, tier.n_units);
	CALL(sh, write_s, checkpoint_write(sh, size_byte, unit_write_byte_per_s, n_writers));
	SHOW(sh, write_s, write_s);
	*write = write_s;
	return true;
}

/* --- the best interval ----------------------------------------------------------------------------------- */

static double
show_intervals(struct run *r, const struct checkpoint_in *in, const struct failing *f)
{
	struct sheet *sh = r->sheet;
	double interval_s;

	TAKE(sh, stall_s, f->stall_s);
	if (datum_given(in->stall))
		SHOW(sh, stall_s, stall_s);
	TAKE(sh, job_mtbf_s, f->mtbf_s);
	CALL(sh, young_s, young_interval(sh, stall_s, job_mtbf_s));
	SHOW(sh, young_s, young_s);
	CALL(sh, daly_s, daly_interval(sh, stall_s, job_mtbf_s));
	SHOW(sh, daly_s, daly_s);
	CALL(sh, overhead_frac, interval_overhead(sh, stall_s, young_s, job_mtbf_s));
	SHOW(sh, overhead_frac, overhead_frac);
	if (datum_given(in->interval)) {
		TAKE(sh, stated_s, in->interval);
		SHOW(sh, stated_s, interval_s);
		SET(sh, interval_s, stated_s);
	} else
		SET(sh, interval_s, daly_s);
	/* the next write begins when the one before it has ended */
	if (f->durable_s.value > interval_s)
		run_warn(r, "checkpoint write time exceeds the interval: storage is too slow");
	return interval_s;
}

static void
show_goodput(struct run *r, const struct checkpoint_in *in, const struct failing *f, double interval_s)
{
	struct sheet *sh = r->sheet;

	CALL(sh, goodput_frac, goodput(sh, f, interval_s));
	SHOW(sh, goodput_frac, goodput_frac);
	TAKE(sh, pause_s, f->stall_s);
	CALL(sh, write_frac, write_share(sh, pause_s, interval_s));
	SHOW(sh, write_frac, write_overhead_frac);
	CALL(sh, lost_frac, lost_share(sh, f, interval_s));
	SHOW(sh, lost_frac, lost_work_frac);
	TAKE(sh, restart_s, in->restart);
	TAKE(sh, mean_s, f->mtbf_s);
	CALL(sh, restart_frac, restart_share(sh, restart_s, mean_s));
	SHOW(sh, restart_frac, restart_frac);
	TAKE(sh, durable_s, f->durable_s);
	CALL(sh, busy_frac, storage_busy(sh, durable_s, interval_s));
	SHOW(sh, busy_frac, busy_frac);
	if (datum_given(in->run)) {
		TAKE(sh, run_s, in->run);
		CALL(sh, wall_s, run_wall(sh, run_s, goodput_frac));
		SHOW(sh, wall_s, wall_s);
		CALL(sh, n_failures, run_failures(sh, wall_s, mean_s));
		SHOW(sh, n_failures, n_failures);
	}
}

/* What would reach the target at its best interval. */
static enum answer
show_target(struct run *r, const struct checkpoint_in *in, const struct failing *f, double size_byte, double interval_s)
{
	struct sheet *sh = r->sheet;
	char buf[40];

	if (!datum_given(in->target))
		return ANSWERED;
	TAKE(sh, target_frac, in->target);
	TAKE(sh, failing_s, f->mtbf_s);
	TAKE(sh, stop_s, f->stall_s);
	CALL(sh, cost_frac, interval_overhead(sh, stop_s, interval_s, failing_s));
	SHOW(sh, cost_frac, cost_frac);
	CALL(sh, needed_s, write_for_overhead(sh, target_frac, failing_s));
	SHOW(sh, needed_s, needed_s);
	if (!isnan(size_byte) && !datum_given(in->stall)) {
		CALL(sh, needed_byte_per_s, bandwidth_for_write(sh, size_byte, needed_s));
		SHOW(sh, needed_byte_per_s, needed_write_byte_per_s);
	}
	const bool met = cost_frac <= target_frac;
	TELL(sh, verdict,
	    arena_printf(
	        r->arena, "%s %s", met ? "meets" : "misses", value_write("x_frac", target_frac, buf, sizeof buf)));
	return met ? ANSWERED : ANSWERED_NO;
}

/* --- spares ---------------------------------------------------------------------------------------------- */

static enum answer
show_spares(struct run *r, const struct checkpoint_in *in, double mtbf_s)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->repair))
		return ANSWERED;
	TAKE(sh, n_job_gpus, in->gpus);
	TAKE(sh, n_gpus_per_node, in->node_gpus);
	CALL(sh, n_nodes, node_count(sh, n_job_gpus, n_gpus_per_node));
	TAKE(sh, repair_s, in->repair);
	CALL(sh, n_mean, nodes_in_repair(sh, mtbf_s, repair_s));
	SHOW(sh, n_mean, n_repair);
	if (n_mean > n_nodes)
		run_warn(r, "more nodes in repair than the job has: repair time exceeds node MTBF");
	TAKE(sh, risk_frac, in->risk);
	run_reads(r, &in->spares, NULL);
	TAKE(sh, n_spares, datum_given(in->spares) ? in->spares.value : spares_needed(n_mean, risk_frac));
	SHOW(sh, n_spares, n_spares);
	TAKE(sh, shortage_frac, shortage(n_mean, n_spares));
	SHOW(sh, shortage_frac, shortage_frac);
	CALL(sh, spare_frac, spare_share(sh, n_spares, n_nodes));
	SHOW(sh, spare_frac, spare_frac);
	const bool enough = shortage_frac <= risk_frac;
	if (datum_given(in->spares))
		TELL(sh, spares_verdict, enough ? "yes: enough" : "no: too few");
	return enough ? ANSWERED : ANSWERED_NO;
}

/* --- the command ----------------------------------------------------------------------------------------- */

static enum answer
checkpoint_run(struct run *r, const void *input)
{
	const struct checkpoint_in *in = input;
	double mtbf_s, size_byte, write_s;

	if (!check(r, in))
		return REFUSED;
	run_reads(r, &in->gpus, NULL);
	r->title =
	    datum_given(in->gpus) ? arena_printf(r->arena, "Checkpoints of %g GPUs", in->gpus.value) : "Checkpoints";
	if (!show_mtbf(r, in, &mtbf_s) || !show_size(r, in, &size_byte) || !show_write(r, in, size_byte, &write_s))
		return REFUSED;
	if (datum_given(in->stall) && in->stall.value > write_s) {
		run_refuse(r, in->stall.from, "--stall exceeds the write time",
		    "--stall is only the copy to host memory; give less than --write");
		return REFUSED;
	}
	const struct datum written = {write_s, {NULL, 0, 0, NULL, false}};
	const struct failing f = {.mtbf_s = {mtbf_s, {NULL, 0, 0, NULL, false}},
	    .stall_s = datum_given(in->stall) ? in->stall : written,
	    .durable_s = written,
	    .restart_s = in->restart};
	const double interval_s = show_intervals(r, in, &f);
	show_goodput(r, in, &f, interval_s);
	const enum answer target = show_target(r, in, &f, size_byte, interval_s);
	const enum answer spares = show_spares(r, in, mtbf_s);
	return target > spares ? target : spares;
}

static const struct option_group checkpoint_groups[] = {OPTION_GROUP(checkpoint_options, 0)};

static const struct example checkpoint_examples[] = {
    {"checkpoint --gpus 64 --gpu-mtbf 50000h --write 60s", "optimal interval and its cost", 0},
    {"checkpoint llama3.1-405b --gpus 16384 --mtbf-source llama3-405b --storage 2TB/s --restart 10min --run 54d",
        "failure rate of a published run", 0},
    {"checkpoint llama3-70b --gpus 1024 --mtbf-source llama3-405b --storage 16xnvme-gen4 --stall 3s --restart 10min",
        "asynchronous writes to local NVMe", 0},
    {"checkpoint --params 7e9 --gpus 256 --gpu-mtbf 50000h --storage 0.5GB/s --target 1%",
        "check a storage rate against a target", 1},
    {"checkpoint --gpus 4096 --gpu-mtbf 50000h --write 60s --repair 48h", "number of spare nodes", 0},
};

static const struct input_needs checkpoint_needs[] = {
    {"bytes_per_param", "it needs --storage and a model or --params"},
    {"risk", "it needs --repair 48h"},
    {"node_gpus", "it needs --repair 48h"},
    {"spares", "it needs --repair 48h"},
};

const struct command checkpoint_command = {
    .name = "checkpoint",
    .section = "Capacity and cost",
    .summary = "Checkpoint interval, goodput and spares of a training run",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    COUNTED(groups, checkpoint_groups),
    COUNTED(examples, checkpoint_examples),
    COUNTED(needs, checkpoint_needs),
    .input_size = sizeof(struct checkpoint_in),
    .run = checkpoint_run,
};
