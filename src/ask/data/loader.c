/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Throughput of storage, loader workers and step together, with checkpoints on the same storage. */
#include "ask/data/data.h"

#include "ask/ask.h"
#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/collective/collective.h"

#include <string.h>

/* --- a loader -------------------------------------------------------------------------------------------- */

bool
data_bind(struct run *r, const struct data_in *in, struct way *w)
{
	*w = (struct way){.cost_s_per_sample = NAN, .loader_sample_per_s = NAN, .step_sample_per_s = NAN};
	w->serial = in->serial || in->workers.value == 0;
	if (!(run_whole(r, "workers", in->workers, 0) & run_whole(r, "batch", in->batch, 1)))
		return false;
	if (datum_given(in->profile) != datum_given(in->calls))
		return run_refuse(
		    r, in->profile.from, "--profile and --calls need each other", "write --profile 4.2s --calls 10");
	if (datum_given(in->profile) && datum_given(in->sample_time))
		return run_refuse(
		    r, in->profile.from, "--profile and --sample-time exclude each other", "keep one of them");
	if (in->storage.n > TIERS_MAX)
		return run_refuse(r, in->storage.list[0].from, "more than 32 tiers", "give at most 32");
	for (size_t i = 0; i < in->storage.n; i++)
		if (!tier_read(r, in->storage.list[i], &w->tiers[w->n_tiers++]))
			return false;
	if (datum_given(in->checkpoint) && w->n_tiers == 0)
		return run_refuse(r, in->checkpoint.from, "--checkpoint needs a storage",
		    "add --storage nvme-gen4, or its rate: --storage 3GB/s");
	for (size_t i = 0; datum_given(in->checkpoint) && i < w->n_tiers; i++)
		if (!datum_given(w->tiers[i].write))
			return run_refuse(r, in->storage.list[i].from, "its write rate is not in the database",
			    "give a rate instead: --storage 3GB/s");
	return true;
}

/* Time of a sample in one worker. */
static void
show_cost(struct run *r, const struct data_in *in, struct way *w)
{
	struct sheet *sh = r->sheet;
	double cost_s_per_sample;

	if (datum_given(in->profile)) {
		TAKE(sh, profile_s, in->profile);
		TAKE(sh, n_calls, in->calls);
		SET_CALL(sh, cost_s_per_sample, data_cost(sh, profile_s, n_calls));
	} else if (datum_given(in->sample_time)) {
		TAKE(sh, sample_s, in->sample_time);
		TAKE(sh, n_calls, 1.0);
		SET_CALL(sh, cost_s_per_sample, data_cost(sh, sample_s, n_calls));
	} else
		return;
	w->cost_s_per_sample = cost_s_per_sample;
	CALL(sh, worker_sample_per_s, data_worker_rate(sh, cost_s_per_sample));
	SHOW(sh, cost_s_per_sample, cost_s_per_sample);
	SHOW(sh, worker_sample_per_s, worker_sample_per_s);
}

static void
show_loader(struct run *r, const struct data_in *in, struct way *w)
{
	struct sheet *sh = r->sheet;
	const double cost_s_per_sample = w->cost_s_per_sample;

	if (!isnan(cost_s_per_sample) && datum_given(in->workers)) {
		run_reads(r, &in->workers, NULL);
		const double at_least = fmax(1, in->workers.value); /* 0: the training process does it */
		TAKE(sh, n_workers, at_least);
		CALL(sh, loader_sample_per_s, data_loader_rate(sh, n_workers, cost_s_per_sample));
		SHOW(sh, loader_sample_per_s, loader_sample_per_s);
		w->loader_sample_per_s = loader_sample_per_s;
	} else if (isnan(cost_s_per_sample) && datum_given(in->load) && datum_given(in->batch)) {
		const double batch_sample = in->batch.value;
		TAKE(sh, load_s, in->load);
		CALL(sh, loader_sample_per_s, data_batch_rate(sh, batch_sample, load_s));
		SHOW(sh, loader_sample_per_s, loader_sample_per_s);
		w->loader_sample_per_s = loader_sample_per_s;
	} else if (datum_given(in->throughput)) {
		TAKE(sh, loader_sample_per_s, in->throughput);
		SHOW(sh, loader_sample_per_s, loader_sample_per_s);
		w->measured = true;
		w->loader_sample_per_s = loader_sample_per_s;
	}
}

static void
show_step(struct run *r, const struct data_in *in, struct way *w)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->step) || !datum_given(in->batch))
		return;
	const double batch_sample = in->batch.value;
	TAKE(sh, step_s, in->step);
	CALL(sh, step_sample_per_s, data_batch_rate(sh, batch_sample, step_s));
	SHOW(sh, step_sample_per_s, step_sample_per_s);
	w->step_sample_per_s = step_sample_per_s;
}

/* Show effective throughput and GPU idle share. */
static double
show_idle(struct run *r, const struct data_in *in, const struct way *w, double input_sample_per_s)
{
	struct sheet *sh = r->sheet;
	run_reads(r, &in->serial, in->workers.value == 0 ? &in->workers : NULL, NULL);
	const double step_sample_per_s = w->step_sample_per_s;
	double through_sample_per_s;

	if (w->serial)
		SET_CALL(sh, through_sample_per_s, data_serial(sh, input_sample_per_s, step_sample_per_s));
	else
		SET_CALL(sh, through_sample_per_s, data_overlapped(sh, input_sample_per_s, step_sample_per_s));
	CALL(sh, idle_frac, data_idle(sh, through_sample_per_s, step_sample_per_s));
	SHOW(sh, through_sample_per_s, sample_per_s);
	SHOW(sh, idle_frac, gpu_idle_frac);
	return through_sample_per_s;
}

/* --- checkpoints on the same storage --------------------------------------------------------------------- */

/* Bandwidth of a tier in this direction; NaN if unknown. */
struct flow {
	double read_byte_per_s, storage_sample_per_s, input_sample_per_s, through_sample_per_s;
};

/* The storage delivers half of what it can while it also writes: how long does computing wait? */
static void
show_contention(struct run *r, const struct way *w, const struct flow *f)
{
	struct sheet *sh = r->sheet;
	const double input_sample_per_s = f->input_sample_per_s, storage_sample_per_s = f->storage_sample_per_s;
	const double step_sample_per_s = w->step_sample_per_s;

	CALL(sh, half_sample_per_s, data_burst_rate(sh, storage_sample_per_s));
	CALL(sh, slow_sample_per_s, data_slower(sh, input_sample_per_s, half_sample_per_s));
	CALL(sh, meanwhile_sample_per_s, data_overlapped(sh, slow_sample_per_s, step_sample_per_s));
	CALL(sh, meanwhile_frac, data_idle(sh, meanwhile_sample_per_s, step_sample_per_s));
	SHOW(sh, meanwhile_frac, checkpoint_idle_frac);
}

/* Part of the storage's time that reading takes. */
static double
show_reading(struct run *r, const struct data_in *in, const struct flow *f)
{
	struct sheet *sh = r->sheet;
	const double through_sample_per_s = f->through_sample_per_s, read_byte_per_s = f->read_byte_per_s;
	const double size_byte_per_sample = in->sample_size.value;

	CALL(sh, flow_byte_per_s, data_read_need(sh, through_sample_per_s, size_byte_per_sample));
	CALL(sh, read_frac, data_busy(sh, flow_byte_per_s, read_byte_per_s));
	SHOW(sh, flow_byte_per_s, flow_byte_per_s);
	SHOW(sh, read_frac, read_frac);
	return read_frac;
}

/* Reading, which takes read_frac (NaN: not known), and writing share the storage's time; false when they need more. */
static bool
show_burst(struct run *r, const struct data_in *in, const struct way *w, const struct tier *t, const struct flow *f,
    double read_frac)
{
	struct sheet *sh = r->sheet;
	const bool reads = !isnan(read_frac);
	bool keeps_up = !reads || read_frac < 1;

	TAKE(sh, checkpoint_byte, in->checkpoint);
	TAKE(sh, unit_write_byte_per_s, t->write);
	TAKE(sh, n_writers, t->n_units);
	CALL(sh, burst_s, checkpoint_write(sh, checkpoint_byte, unit_write_byte_per_s, n_writers));
	SHOW(sh, burst_s, checkpoint_s);
	if (reads) {
		if (keeps_up) {
			CALL(sh, beside_s, data_burst_beside(sh, burst_s, read_frac));
			SHOW(sh, beside_s, beside_s);
		}
		if (!isnan(w->step_sample_per_s))
			show_contention(r, w, f);
	}
	if (datum_given(in->every)) {
		TAKE(sh, interval_s, in->every);
		CALL(sh, write_frac, storage_busy(sh, burst_s, interval_s));
		double busy_frac;
		if (reads)
			SET_CALL(sh, busy_frac, data_busy_both(sh, read_frac, write_frac));
		else
			SET(sh, busy_frac, write_frac);
		SHOW(sh, busy_frac, busy_frac);
		keeps_up = busy_frac <= 1;
	}
	return keeps_up;
}

/* --- the way as a whole ---------------------------------------------------------------------------------- */

static bool
meets(struct run *r, const struct data_in *in, const struct way *w, double through_sample_per_s)
{
	const double reached = through_sample_per_s, waits = 1 - reached / w->step_sample_per_s;
	const bool by_rate = datum_given(in->target) && !isnan(reached),
	           by_idle = datum_given(in->max_idle) && !isnan(waits);
	const bool fast = !by_rate || reached >= in->target.value * (1 - 1e-9);
	const bool busy = !by_idle || waits <= in->max_idle.value + 1e-9;

	if (by_rate)
		run_reads(r, &in->target, NULL);
	if (by_idle)
		run_reads(r, &in->max_idle, NULL);
	if (by_rate || by_idle)
		TELL(r->sheet, verdict,
		    !fast       ? "misses the target"
		        : !busy ? "GPU idle time too high"
		                : "meets the target");
	return fast && busy;
}

static const char *
binding(const struct way *w, const struct flow *f)
{
	if (f->input_sample_per_s >= w->step_sample_per_s && !w->serial)
		return "computing";
	return f->storage_sample_per_s <= f->input_sample_per_s ? "storage" : "loading";
}

/* Rates of a storage tier; returns the samples that it delivers, NaN when their size is not known. */
static double
show_tier(struct run *r, const struct data_in *in, const struct tier *t, double first_byte_per_s, struct flow *f)
{
	struct sheet *sh = r->sheet;
	const double read_byte_per_s = f->read_byte_per_s = tier_show(r, t);

	if (first_byte_per_s > 0) {
		TAKE(sh, reference_byte_per_s, first_byte_per_s);
		CALL(sh, ratio, link_ratio(sh, read_byte_per_s, reference_byte_per_s));
		SHOW(sh, ratio, relative);
	}
	if (!datum_given(in->sample_size))
		return NAN;
	TAKE(sh, size_byte_per_sample, in->sample_size);
	CALL(sh, storage_sample_per_s, data_storage_rate(sh, read_byte_per_s, size_byte_per_sample));
	SHOW(sh, storage_sample_per_s, storage_sample_per_s);
	return storage_sample_per_s;
}

/* The slower of loader and storage, or the one that is known; what was measured is what it is. */
static double
show_input(struct run *r, const struct way *w, double storage_sample_per_s)
{
	struct sheet *sh = r->sheet;
	const double loader_sample_per_s = w->loader_sample_per_s;
	double input_sample_per_s = NAN;

	if (!isnan(loader_sample_per_s) && !isnan(storage_sample_per_s) && !w->measured)
		SET_CALL(sh, input_sample_per_s, data_slower(sh, loader_sample_per_s, storage_sample_per_s));
	else if (!isnan(loader_sample_per_s))
		SET(sh, input_sample_per_s, loader_sample_per_s);
	else if (!isnan(storage_sample_per_s))
		SET(sh, input_sample_per_s, storage_sample_per_s);
	return input_sample_per_s;
}

/* Rows of one tier, or of none; true when all that was asked for is met. */
static bool
show_way(struct run *r, const struct data_in *in, const struct way *w, const struct tier *t, double first_byte_per_s)
{
	struct sheet *sh = r->sheet;
	struct flow f = {NAN, NAN, NAN, NAN};
	bool keeps_up = true;

	if (t)
		f.storage_sample_per_s = show_tier(r, in, t, first_byte_per_s, &f);
	f.input_sample_per_s = show_input(r, w, f.storage_sample_per_s);
	f.through_sample_per_s = f.input_sample_per_s;
	if (!isnan(f.input_sample_per_s) && !isnan(w->step_sample_per_s)) {
		f.through_sample_per_s = show_idle(r, in, w, f.input_sample_per_s);
		TELL(sh, bottleneck, binding(w, &f));
	}
	double read_frac = NAN;
	if (!isnan(f.storage_sample_per_s) && !isnan(f.through_sample_per_s))
		read_frac = show_reading(r, in, &f);
	if (t && datum_given(in->checkpoint))
		keeps_up = show_burst(r, in, w, t, &f, read_frac);
	else
		keeps_up = !(read_frac > 1);
	if (datum_given(in->checkpoint) || !keeps_up)
		TELL(sh, keeps_up, keeps_up ? "keeps up" : "does not keep up");
	return meets(r, in, w, f.through_sample_per_s) && keeps_up;
}

/* Workers that the target takes, or that computing does. */
static void
show_needed(struct run *r, const struct data_in *in, const struct way *w)
{
	struct sheet *sh = r->sheet;
	const double cost_s_per_sample = w->cost_s_per_sample;

	if (isnan(cost_s_per_sample) || (!datum_given(in->target) && isnan(w->step_sample_per_s)))
		return;
	run_reads(r, &in->target, NULL);
	const double wanted = datum_given(in->target) ? in->target.value : w->step_sample_per_s;
	TAKE(sh, wanted_sample_per_s, wanted);
	CALL(sh, n_workers_needed, data_workers(sh, wanted_sample_per_s, cost_s_per_sample));
	SHOW(sh, n_workers_needed, n_workers_needed);
	if (datum_given(in->cores)) {
		TAKE(sh, n_cores, in->cores);
	}
	if (datum_given(in->cores) && n_workers_needed > in->cores.value)
		run_warn(
		    r, "%g workers exceed the %g cores: reduce the time per sample", n_workers_needed, in->cores.value);
}

enum answer
data_loader(struct run *r, const struct data_in *in)
{
	struct way w;
	double first = 0;
	size_t n_good = 0;

	if (!data_bind(r, in, &w))
		return REFUSED;
	r->title = "Data loading against the step";
	const bool whole_batches = isnan(in->sample_time.value) && isnan(in->profile.value) && datum_given(in->load);
	if (datum_given(in->batch) && (datum_given(in->step) || whole_batches)) {
		TAKE(r->sheet, batch_sample, in->batch);
	}
	show_cost(r, in, &w);
	show_loader(r, in, &w);
	show_step(r, in, &w);
	show_needed(r, in, &w);
	if (w.n_tiers < 2)
		return show_way(r, in, &w, w.n_tiers ? &w.tiers[0] : NULL, 0) ? ANSWERED : ANSWERED_NO;
	for (size_t i = 0; i < w.n_tiers; i++)
		SCOPE_I (r->sheet, "storage", i) {
			const struct tier *t = &w.tiers[i];
			if (i == 0)
				first = data_units(NULL, t->n_units.value, t->read.value);
			n_good += show_way(r, in, &w, t, first);
		}
	return n_good ? ANSWERED : ANSWERED_NO;
}
