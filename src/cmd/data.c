/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ridge/data.h"
#include "cli/cached.h"
#include "cli/measure.h"
#include "cli/shape.h"
#include "cli/tiers.h"
#include "ridge/collective.h"
#include "ridge/latency.h"
#include "ridge/reliability.h"
#include "ridge/scale.h"
#include "ridge/stack_gain.h"

#include <string.h>

#define DATA_OPTIONS(X)                                                                                                \
	X(0, sample_time, "sample-time", "sample_time", TIME, "TIME", "", NULL,                                        \
	    "to prepare one sample in one worker: read, decode, transform")                                            \
	X(0, profile, "profile", "profile", TIME, "TIME", "", NULL, "the same as a profiler's total, of --calls")      \
	X(0, calls, "calls", "calls", COUNT, "N", "", NULL, "samples that the profile saw")                            \
	X('w', workers, "workers", "workers", COUNT, "N", "", NULL,                                                    \
	    "loader processes of all GPUs; 0: samples are prepared between the steps")                                 \
	X('b', batch, "batch", "batch", COUNT, "N", "", NULL, "samples of a step, of all GPUs")                        \
	X('s', step, "step", "step", TIME, "TIME", "", NULL, "computing of a step, when it never waits")               \
	X(0, serial, "serial", "serial", FLAG, "", "", NULL, "nothing is loaded while a step computes")                \
	X(0, load, "load", "load", TIME, "TIME", "", NULL, "measured: time to load a batch")                           \
	X(0, load_after, "load-after", "load_after", TIME, "TIME", "", NULL, "what loading takes after a change")      \
	X(0, load_share, "load-share", "load_share", NUMBER, "FRACTION", "", NULL,                                     \
	    "loading's part of a step that loads and computes one after the other")                                    \
	X(0, iteration, "iteration", "iteration", TIME, "TIME", "", NULL, "such a step as a whole")                    \
	X(0, throughput, "throughput", "throughput", NUMBER, "RATE", "", NULL, "measured: samples per second")         \
	X(0, expected, "expected", "expected", NUMBER, "RATE", "", NULL, "samples per second without waiting")         \
	X('t', target, "target", "target", NUMBER, "RATE", "", NULL,                                                   \
	    "samples per second to reach: prints the workers it takes; exit status 1 when missed")                     \
	X(0, max_idle, "max-idle", "max_idle", NUMBER, "FRACTION", "", NULL,                                           \
	    "part of the time that computing may wait; exit status 1 above it")                                        \
	X(0, idle, "idle", "idle", NUMBER, "FRACTION", "", NULL, "measured: part of the time that computing waits")    \
	X(0, idle_after, "idle-after", "idle_after", NUMBER, "FRACTION", "", NULL, "the same after a change")          \
	X(0, storage, "storage", "storage", WORDS, "NAME|RATE,...", "link", NULL,                                      \
	    "tiers: names of the database, 4xNAME for four of them, or bare rates")                                    \
	X(0, sample_size, "sample-size", "sample_size", SIZE, "SIZE", "", NULL, "bytes read for a sample")             \
	X(0, checkpoint, "checkpoint", "checkpoint", SIZE, "SIZE", "", NULL, "of a checkpoint on the same storage")    \
	X(0, every, "every", "every", TIME, "TIME", "", NULL, "between two checkpoints")                               \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", NULL, "GPUs of the node, for --rule")                               \
	X(0, cores, "cores", "cores", COUNT, "N", "", NULL, "cores of the node")                                       \
	X(0, rule, "rule", "rule", CHOICE, "RULE", "gpus|gpus-cores", NULL,                                            \
	    "rule of thumb for workers: gpus, two for each GPU; gpus-cores, that times the cores of a GPU")            \
	X(0, cameras, "cameras", "cameras", COUNT, "N", "", NULL, "sensors that record")                               \
	X(0, pixels, "pixels", "pixels", COUNT, "N", "", NULL, "pixels of a frame: 2M")                                \
	X(0, fps, "fps", "fps", NUMBER, "N", "", NULL, "frames per second of each")                                    \
	X(0, pixel_size, "pixel-size", "pixel_size", SIZE, "SIZE", "", "3B", "of a pixel; 3B is 8-bit RGB")            \
	X(0, length, "length", "length", TIME, "TIME", "", NULL, "of a recording")

struct data_in {
	DATA_OPTIONS(OPTION_MEMBER)
	struct cached_in cached;
};

#define THIS struct data_in
static const struct option data_options[] = {DATA_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct cached_in
static const struct option cached_rows[] = {CACHED_OPTIONS(OPTION_ROW)};
#undef THIS

enum { TIERS_MAX = 32 };

static enum answer
refuse(struct run *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return REFUSED;
}

/* What is divided by, or is a time that something takes. */
static bool
check_positive(struct run *r, const struct data_in *in)
{
	const struct {
		const char *name;
		struct datum given;
	} all[] = {{"sample-time", in->sample_time}, {"profile", in->profile}, {"calls", in->calls}, {"step", in->step},
	    {"load", in->load}, {"load-after", in->load_after}, {"load-share", in->load_share},
	    {"iteration", in->iteration}, {"throughput", in->throughput}, {"expected", in->expected},
	    {"sample-size", in->sample_size}, {"every", in->every}, {"pixels", in->pixels}, {"fps", in->fps}};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (datum_given(all[i].given) && all[i].given.value <= 0) {
			diag_error(r->diag, all[i].given.from, "%s is more than 0", all[i].name);
			diag_hint(r->diag, "leave it out if it is not known");
			return false;
		}
	return true;
}

/* --- a loader -------------------------------------------------------------------------------------------- */

/* What is known about the way of a sample; rates are NaN where they are not. */
struct way {
	double cost_s_per_sample, loader_sample_per_s, step_sample_per_s;
	bool serial, measured; /* measured: what gets through, whatever the storage could do */
	size_t n_tiers;
	struct tier tiers[TIERS_MAX];
};

static bool
bind_way(struct run *r, const struct data_in *in, struct way *w)
{
	*w = (struct way){.cost_s_per_sample = NAN, .loader_sample_per_s = NAN, .step_sample_per_s = NAN};
	w->serial = in->serial || in->workers.value == 0;
	if (!(run_whole(r, "workers", in->workers, 0) & run_whole(r, "batch", in->batch, 1)))
		return false;
	if (datum_given(in->profile) != datum_given(in->calls))
		return !refuse(r, in->profile.from, "a profile has a total and a number of calls",
		    "write --profile 4.2s --calls 10");
	if (datum_given(in->profile) && datum_given(in->sample_time))
		return !refuse(r, in->profile.from, "--profile and --sample-time are two answers to one question",
		    "give one of them");
	if (in->storage.n > TIERS_MAX)
		return !refuse(r, in->storage.list[0].from, "more than 32 tiers", "ask about fewer at once");
	for (size_t i = 0; i < in->storage.n; i++)
		if (!tier_read(r, in->storage.list[i], &w->tiers[w->n_tiers++]))
			return false;
	if (datum_given(in->checkpoint) && w->n_tiers == 0)
		return !refuse(r, in->checkpoint.from, "which storage is it written to?",
		    "add --storage nvme-gen4, or its rate: --storage 3GB/s");
	for (size_t i = 0; datum_given(in->checkpoint) && i < w->n_tiers; i++)
		if (!datum_given(w->tiers[i].write))
			return !refuse(r, in->storage.list[i].from, "the database does not know how fast it writes",
			    "give a measured rate instead of its name: --storage 3GB/s");
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
	SHOW(sh, cost_s_per_sample, "a sample takes one worker");
	SHOW(sh, worker_sample_per_s, "one worker prepares");
}

static void
show_loader(struct run *r, const struct data_in *in, struct way *w)
{
	struct sheet *sh = r->sheet;
	const double cost_s_per_sample = w->cost_s_per_sample;

	if (!isnan(cost_s_per_sample) && datum_given(in->workers)) {
		const double at_least = fmax(1, in->workers.value); /* 0: the training process does it */
		TAKE(sh, n_workers, at_least);
		CALL(sh, loader_sample_per_s, data_loader_rate(sh, n_workers, cost_s_per_sample));
		SHOW(sh, loader_sample_per_s, "all workers prepare");
		w->loader_sample_per_s = loader_sample_per_s;
	} else if (isnan(cost_s_per_sample) && datum_given(in->load) && datum_given(in->batch)) {
		const double batch_sample = in->batch.value;
		TAKE(sh, load_s, in->load);
		CALL(sh, loader_sample_per_s, data_batch_rate(sh, batch_sample, load_s));
		SHOW(sh, loader_sample_per_s, "the loader prepares");
		w->loader_sample_per_s = loader_sample_per_s;
	} else if (datum_given(in->throughput)) {
		TAKE(sh, loader_sample_per_s, in->throughput);
		SHOW(sh, loader_sample_per_s, "measured");
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
	SHOW(sh, step_sample_per_s, "computing takes");
	w->step_sample_per_s = step_sample_per_s;
}

/* What gets through to computing, and how long that waits. */
static double
show_idle(struct run *r, const struct way *w, double input_sample_per_s)
{
	struct sheet *sh = r->sheet;
	const double step_sample_per_s = w->step_sample_per_s;
	double through_sample_per_s;

	if (w->serial)
		SET_CALL(sh, through_sample_per_s, data_serial(sh, input_sample_per_s, step_sample_per_s));
	else
		SET_CALL(sh, through_sample_per_s, data_overlapped(sh, input_sample_per_s, step_sample_per_s));
	CALL(sh, idle_frac, data_idle(sh, through_sample_per_s, step_sample_per_s));
	SHOW(sh, through_sample_per_s, "gets through");
	SHOW(sh, idle_frac, "computing waits");
	return through_sample_per_s;
}

/* --- checkpoints on the same storage --------------------------------------------------------------------- */

/* What a tier does for this way: rates are NaN where they are not known. */
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
	SHOW(sh, meanwhile_frac, "computing waits meanwhile");
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
	SHOW(sh, flow_byte_per_s, "reading needs");
	SHOW(sh, read_frac, "busy with reading");
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
	SHOW(sh, burst_s, "a checkpoint takes");
	if (reads) {
		CALL(sh, beside_s, data_burst_beside(sh, burst_s, read_frac));
		SHOW(sh, beside_s, "beside reading");
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
		SHOW(sh, busy_frac, reads ? "busy with both" : "busy with writing");
		keeps_up = busy_frac <= 1;
	}
	return keeps_up;
}

/* --- the way as a whole ---------------------------------------------------------------------------------- */

static bool
meets(struct run *r, const struct data_in *in, const struct way *w, double through_sample_per_s)
{
	const double reached = through_sample_per_s, waits = 1 - reached / w->step_sample_per_s;
	const bool fast = !datum_given(in->target) || isnan(reached) || reached >= in->target.value * (1 - 1e-9);
	const bool busy = !datum_given(in->max_idle) || isnan(waits) || waits <= in->max_idle.value + 1e-9;

	if (!isnan(reached) && (datum_given(in->target) || datum_given(in->max_idle)))
		TELL(r->sheet, verdict, "verdict",
		    !fast       ? "misses the target"
		        : !busy ? "computing waits too long"
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
		SHOW(sh, ratio, "times the first");
	}
	if (!datum_given(in->sample_size))
		return NAN;
	TAKE(sh, size_byte_per_sample, in->sample_size);
	CALL(sh, storage_sample_per_s, data_storage_rate(sh, read_byte_per_s, size_byte_per_sample));
	SHOW(sh, storage_sample_per_s, "it delivers");
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
		f.through_sample_per_s = show_idle(r, w, f.input_sample_per_s);
		TELL(sh, binds, "limited by", binding(w, &f));
	}
	double read_frac = NAN;
	if (!isnan(f.storage_sample_per_s) && !isnan(f.through_sample_per_s))
		read_frac = show_reading(r, in, &f);
	if (t && datum_given(in->checkpoint))
		keeps_up = show_burst(r, in, w, t, &f, read_frac);
	else
		keeps_up = !(read_frac > 1);
	if (datum_given(in->checkpoint) || !keeps_up)
		TELL(sh, keeps_up, "the storage", keeps_up ? "keeps up" : "does not keep up");
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
	const double wanted = datum_given(in->target) ? in->target.value : w->step_sample_per_s;
	TAKE(sh, wanted_sample_per_s, wanted);
	CALL(sh, n_workers_needed, data_workers(sh, wanted_sample_per_s, cost_s_per_sample));
	SHOW(sh, n_workers_needed,
	    datum_given(in->target) ? "workers that the target takes" : "workers that computing takes");
	if (datum_given(in->cores) && n_workers_needed > in->cores.value)
		run_warn(r, "%g workers do not run at the same time on %g cores: make a sample cheaper",
		    n_workers_needed, in->cores.value);
}

static enum answer
loader(struct run *r, const struct data_in *in)
{
	struct way w;
	double first = 0;
	size_t n_good = 0;

	if (!bind_way(r, in, &w))
		return REFUSED;
	r->title = "The way of samples into a step";
	if (datum_given(in->batch)) {
		TAKE(r->sheet, batch_sample, in->batch);
	}
	show_cost(r, in, &w);
	show_loader(r, in, &w);
	show_step(r, in, &w);
	show_needed(r, in, &w);
	if (w.n_tiers < 2)
		return show_way(r, in, &w, w.n_tiers ? &w.tiers[0] : NULL, 0) ? ANSWERED : ANSWERED_NO;
	for (size_t i = 0; i < w.n_tiers; i++)
		SCOPE_I (r->sheet, "tier", i) {
			const struct tier *t = &w.tiers[i];
			if (i == 0)
				first = data_units(NULL, t->n_units.value, t->read.value);
			n_good += show_way(r, in, &w, t, first);
		}
	return n_good ? ANSWERED : ANSWERED_NO;
}

/* --- a loader that changes ------------------------------------------------------------------------------- */

/* How long a step is that loads and then computes; NaN when nothing says it. */
static double
show_iteration(struct run *r, const struct data_in *in)
{
	struct sheet *sh = r->sheet;
	double iteration_s = NAN;

	if (datum_given(in->load_share)) {
		TAKE(sh, load_s, in->load);
		TAKE(sh, load_frac, in->load_share);
		SET_CALL(sh, iteration_s, data_iteration(sh, load_s, load_frac));
	} else if (datum_given(in->iteration)) {
		TAKE(sh, measured_s, in->iteration);
		SET(sh, iteration_s, measured_s);
	} else if (datum_given(in->throughput) && datum_given(in->batch)) {
		TAKE(sh, batch_sample, in->batch);
		TAKE(sh, rate_sample_per_s, in->throughput);
		SET_CALL(sh, iteration_s, data_step_time(sh, batch_sample, rate_sample_per_s));
	} else
		return NAN;
	SHOW(sh, iteration_s, "a step that loads, then computes");
	return iteration_s;
}

static bool
show_change(struct run *r, const struct data_in *in, double iteration_s)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, now_s, in->load);
	if (!isnan(iteration_s)) {
		CALL(sh, share_frac, latency_share(sh, now_s, iteration_s));
		SHOW(sh, share_frac, "loading's part of it");
		if (share_frac > 1) {
			TELL(sh, verdict, "verdict", "infeasible: loading is longer than the step that it is part of");
			return false;
		}
	}
	if (!datum_given(in->load_after))
		return true;
	TAKE(sh, after_s, in->load_after);
	CALL(sh, load_gain, scale_speedup_time(sh, now_s, after_s));
	SHOW(sh, load_gain, "loading is faster by");
	if (!isnan(iteration_s)) {
		CALL(sh, gain, gain_part(sh, iteration_s, now_s, after_s));
		CALL(sh, after_iteration_s, gain_time(sh, iteration_s, gain));
		SHOW(sh, after_iteration_s, "the step after the change");
		SHOW(sh, gain, "steps are faster by");
	}
	if (datum_given(in->throughput) && isnan(iteration_s)) {
		TAKE(sh, now_sample_per_s, in->throughput);
		CALL(sh, most_sample_per_s, data_most(sh, now_sample_per_s, load_gain));
		SHOW(sh, most_sample_per_s, "never more than");
	}
	return true;
}

static enum answer
change(struct run *r, const struct data_in *in)
{
	if (!datum_given(in->load))
		return refuse(r, in->load_after.from, "how long does loading take now?", "add --load 75ms");
	r->title = "A loader that changes";
	return show_change(r, in, show_iteration(r, in)) ? ANSWERED : ANSWERED_NO;
}

/* --- measured figures ------------------------------------------------------------------------------------ */

static enum answer
expected(struct run *r, const struct data_in *in)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->throughput))
		return refuse(r, in->expected.from, "what is it compared with?", "add the measured --throughput 120");
	r->title = "Measured against expected";
	TAKE(sh, expected_sample_per_s, in->expected);
	TAKE(sh, through_sample_per_s, in->throughput);
	CALL(sh, slowdown, data_slowdown(sh, expected_sample_per_s, through_sample_per_s));
	CALL(sh, idle_frac, data_idle(sh, through_sample_per_s, expected_sample_per_s));
	SHOW(sh, slowdown, "slower by");
	SHOW(sh, idle_frac, "computing waits, if nothing else is slow");
	return ANSWERED;
}

static enum answer
idle(struct run *r, const struct data_in *in)
{
	struct sheet *sh = r->sheet;
	const double after = datum_or(in->idle_after, 0);

	if (in->idle.value >= 1 || after > in->idle.value)
		return refuse(r, in->idle.from, "computing waits for a part of the time, and less after the change",
		    "write --idle 0.15 --idle-after 0.02");
	r->title = "What waiting costs";
	TAKE(sh, idle_frac, in->idle);
	SHOW(sh, idle_frac, "computing waits");
	TAKE(sh, after_frac, after);
	if (datum_given(in->idle_after))
		SHOW(sh, after_frac, "after the change");
	CALL(sh, gain, pipeline_gain(sh, idle_frac, after_frac));
	SHOW(sh, gain, datum_given(in->idle_after) ? "steps are faster by" : "never faster by more than");
	return ANSWERED;
}

static enum answer
rule(struct run *r, const struct data_in *in)
{
	struct sheet *sh = r->sheet;
	const bool cores = strcmp(in->rule.text, "gpus-cores") == 0;
	double n_workers;

	if (!datum_given(in->gpus) || !run_whole(r, "gpus", in->gpus, 1) || !run_whole(r, "cores", in->cores, 1))
		return refuse(r, in->rule.from, "workers for how many GPUs?", "add --gpus 8");
	if (cores && !datum_given(in->cores))
		return refuse(r, in->rule.from, "this rule counts cores", "add --cores 128, those of the node");
	r->title = "Workers by rule of thumb";
	TAKE(sh, n_gpus, in->gpus);
	if (cores) {
		TAKE(sh, n_cores, in->cores);
		SET_CALL(sh, n_workers, data_rule_cores(sh, n_gpus, n_cores));
	} else
		SET_CALL(sh, n_workers, data_rule_gpus(sh, n_gpus));
	SHOW(sh, n_workers, "workers of the node");
	run_warn(r, "a rule of thumb: give --sample-time, --batch and --step for the number that it takes");
	if (datum_given(in->cores) && n_workers > in->cores.value)
		run_warn(r, "%g workers do not run at the same time on %g cores", n_workers, in->cores.value);
	return ANSWERED;
}

/* --- sensors --------------------------------------------------------------------------------------------- */

/* How busy a tier is with writing the recording. */
static bool
show_recording(struct run *r, const struct tier *t, double flow_byte_per_s)
{
	struct sheet *sh = r->sheet;

	TELL(sh, name, "storage", t->name);
	const double write_byte_per_s = tier_write(r, t);
	CALL(sh, write_frac, data_busy(sh, flow_byte_per_s, write_byte_per_s));
	SHOW(sh, write_frac, "busy with writing");
	TELL(sh, keeps_up, "the storage", write_frac <= 1 ? "keeps up" : "does not keep up");
	return write_frac <= 1;
}

static enum answer
sensors(struct run *r, const struct data_in *in)
{
	struct sheet *sh = r->sheet;
	size_t n_good = 0;
	struct way w;

	if (!datum_given(in->pixels) || !datum_given(in->fps))
		return refuse(r, in->cameras.from, "how much does a camera send?", "add --pixels 2M --fps 30");
	if (!run_whole(r, "cameras", in->cameras, 1) || !bind_way(r, in, &w))
		return REFUSED;
	for (size_t i = 0; i < w.n_tiers; i++)
		if (!datum_given(w.tiers[i].write))
			return refuse(r, in->storage.list[i].from, "the database does not know how fast it writes",
			    "give a measured rate instead of its name: --storage 3GB/s");
	r->title = "What cameras send";
	TAKE(sh, n_cameras, in->cameras);
	TAKE(sh, n_pixels, in->pixels);
	TAKE(sh, pixel_byte, in->pixel_size);
	TAKE(sh, frame_hertz, in->fps);
	CALL(sh, camera_byte_per_s, data_camera(sh, n_pixels, pixel_byte, frame_hertz));
	CALL(sh, flow_byte_per_s, data_cameras(sh, n_cameras, camera_byte_per_s));
	SHOW(sh, camera_byte_per_s, "one camera");
	SHOW(sh, flow_byte_per_s, "all cameras");
	if (datum_given(in->length)) {
		TAKE(sh, length_s, in->length);
		CALL(sh, volume_byte, data_volume(sh, flow_byte_per_s, length_s));
		SHOW(sh, volume_byte, "the recording");
	}
	if (w.n_tiers == 1)
		return show_recording(r, &w.tiers[0], flow_byte_per_s) ? ANSWERED : ANSWERED_NO;
	for (size_t i = 0; i < w.n_tiers; i++)
		SCOPE_I (sh, "tier", i) {
			n_good += show_recording(r, &w.tiers[i], flow_byte_per_s);
		}
	return n_good || w.n_tiers == 0 ? ANSWERED : ANSWERED_NO;
}

/* --- the command ----------------------------------------------------------------------------------------- */

static enum answer
cache(struct run *r, const struct data_in *in)
{
	return cached_answer(r, &in->cached);
}

static enum answer
data_run(struct run *r, const void *input)
{
	const struct data_in *in = input;
	const bool feeds = datum_given(in->sample_time) || datum_given(in->profile) || in->storage.n > 0 ||
	    datum_given(in->step) || datum_given(in->checkpoint);
	const bool loads = datum_given(in->load_after) || datum_given(in->load_share);
	const struct {
		const char *name;
		bool asked;
		enum answer (*answer)(struct run *r, const struct data_in *in);
	} questions[] = {
	    {"a cache", cached_asked(&in->cached), cache},
	    {"--cameras", datum_given(in->cameras), sensors},
	    {"--rule", in->rule.text != NULL, rule},
	    {"--idle", datum_given(in->idle), idle},
	    {"a loader that changes", loads, change},
	    {"--expected", datum_given(in->expected), expected},
	    {"a loader", feeds && !datum_given(in->cameras), loader},
	};
	size_t n = 0, asked = 0, before = 0;

	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		if (questions[i].asked) {
			before = asked;
			asked = i;
			n++;
		}
	if (n == 0)
		return refuse(r, (struct source){0}, "nothing to load",
		    "give --sample-time and --workers (a loader), --storage (tiers), --items (a cache) or --cameras");
	if (n > 1) {
		diag_error(r->diag, (struct source){0}, "%s and %s are two questions", questions[before].name,
		    questions[asked].name);
		diag_hint(r->diag, "ask one at a time");
		return REFUSED;
	}
	const bool good = check_positive(r, in) & measure_fraction(r, "idle", in->idle, 0, 1) &
	    measure_fraction(r, "idle-after", in->idle_after, 0, 1) &
	    measure_fraction(r, "max-idle", in->max_idle, 0, 1) &
	    measure_fraction(r, "load-share", in->load_share, 0, 1);
	return good ? questions[asked].answer(r, in) : REFUSED;
}

static const struct option_group data_groups[] = {
    OPTION_GROUP(data_options, 0),
    OPTION_GROUP(cached_rows, offsetof(struct data_in, cached)),
};

static const struct example data_examples[] = {
    {"data --sample-time 12ms --workers 16 --batch 512 --step 350ms",
        "a loader beside a step: how long does computing wait?", 0},
    {"data --sample-time 12ms --workers 16 --batch 512 --step 350ms --max-idle 5%", "the same as a check", 1},
    {"data --storage sata-ssd,nvme-gen4,fsx-lustre-ssd --sample-size 110kB --batch 16Ki --step 1.2s",
        "tiers of storage", 0},
    {"data --storage fsx-lustre-ssd,10GB/s --sample-size 600kB --throughput 9000", "the share that reading takes", 0},
    {"data --storage 4xnvme-gen4 --sample-size 600kB --batch 4096 --step 400ms --checkpoint 98GB --every 30min",
        "checkpoints on the storage that feeds the loader", 0},
    {"data --iteration 300ms --load 75ms --load-after 15ms", "a faster loader, in a step that waits for it", 0},
    {"data --items 40M --fraction 15% --zipf 0.952 --table 120GB --lookup 180ms --hit-time 15.3ms --rest 120ms",
        "a cache of the hottest embedding rows", 0},
    {"data --items 40M --zipf 1 --hit 0.95", "the rows that hit so often", 0},
    {"data --items 40M --fraction 15% --hit 0.85", "the skew that a measured hit rate means", 0},
    {"data --cameras 8 --pixels 2M --fps 30 --length 1h --storage nvme-gen4", "what sensors write", 0},
};

const struct command data_command = {
    .name = "data",
    .section = "How fast can it be?",
    .summary = "does input starve the GPU: loaders, storage, sensors; what a cache of hot rows gives",
    .operands = "",
    .usage = "[JOB]",
    .groups = data_groups,
    .n_groups = sizeof data_groups / sizeof *data_groups,
    .examples = data_examples,
    .n_examples = sizeof data_examples / sizeof *data_examples,
    .input_size = sizeof(struct data_in),
    .run = data_run,
};
