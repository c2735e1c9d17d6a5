/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge data: data loading against the step. */
#include "ask/data/data.h"
#include "ask/ask.h"
#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/collective/collective.h"

#include <string.h>

#define THIS struct data_in
static const struct option data_options[] = {DATA_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct cached_in
static const struct option cached_rows[] = {CACHED_OPTIONS(OPTION_ROW)};
#undef THIS

static enum answer
refuse(struct run *r, struct source at, const char *what, const char *hint)
{
	run_refuse(r, at, what, hint);
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
			diag_error(r->diag, all[i].given.from, "%s must be greater than 0", all[i].name);
			diag_hint(r->diag, "leave it out if unknown");
			return false;
		}
	return true;
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
	SHOW(sh, iteration_s, step_s);
	return iteration_s;
}

static bool
show_change(struct run *r, const struct data_in *in, double iteration_s)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, now_s, in->load);
	run_reads(r, &in->load_after, NULL);
	if (!isnan(iteration_s)) {
		CALL(sh, share_frac, latency_share(sh, now_s, iteration_s));
		SHOW(sh, share_frac, load_frac);
		if (share_frac > 1) {
			TELL(sh, verdict, "infeasible: load time exceeds the step time");
			return false;
		}
	}
	if (!datum_given(in->load_after))
		return true;
	TAKE(sh, after_s, in->load_after);
	CALL(sh, load_gain, scale_speedup_time(sh, now_s, after_s));
	SHOW(sh, load_gain, load_speedup);
	if (!isnan(iteration_s)) {
		CALL(sh, gain, gain_part(sh, iteration_s, now_s, after_s));
		CALL(sh, after_iteration_s, gain_time(sh, iteration_s, gain));
		SHOW(sh, after_iteration_s, after_step_s);
		SHOW(sh, gain, speedup);
	}
	if (datum_given(in->throughput) && isnan(iteration_s)) {
		TAKE(sh, now_sample_per_s, in->throughput);
		CALL(sh, most_sample_per_s, data_most(sh, now_sample_per_s, load_gain));
		SHOW(sh, most_sample_per_s, max_sample_per_s);
	}
	return true;
}

static enum answer
change(struct run *r, const struct data_in *in)
{
	if (!datum_given(in->load))
		return refuse(r, in->load_after.from, "load time missing", "add --load 75ms");
	r->title = "Effect of a faster loader";
	return show_change(r, in, show_iteration(r, in)) ? ANSWERED : ANSWERED_NO;
}

/* The part of the time that computing waits, against the most that it may. */
static enum answer
judge_idle(struct run *r, const struct data_in *in, double idle_frac)
{
	const bool met = !(idle_frac > in->max_idle.value + 1e-9);

	if (!datum_given(in->max_idle))
		return ANSWERED;
	run_reads(r, &in->max_idle, NULL);
	TELL(r->sheet, verdict, met ? "meets the target" : "GPU idle time too high");
	return met ? ANSWERED : ANSWERED_NO;
}

/* --- measured figures ------------------------------------------------------------------------------------ */

static enum answer
expected(struct run *r, const struct data_in *in)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->throughput))
		return refuse(r, in->expected.from, "--expected needs a measured throughput",
		    "add the measured --throughput 120");
	r->title = "Measured versus expected throughput";
	TAKE(sh, expected_sample_per_s, in->expected);
	TAKE(sh, through_sample_per_s, in->throughput);
	CALL(sh, slowdown, data_slowdown(sh, expected_sample_per_s, through_sample_per_s));
	CALL(sh, idle_frac, data_idle(sh, through_sample_per_s, expected_sample_per_s));
	SHOW(sh, slowdown, slowdown);
	SHOW(sh, idle_frac, gpu_idle_frac);
	return judge_idle(r, in, idle_frac);
}

static enum answer
idle(struct run *r, const struct data_in *in)
{
	struct sheet *sh = r->sheet;
	const double after = datum_or(in->idle_after, 0);

	if (in->idle.value >= 1 || after > in->idle.value)
		return refuse(r, in->idle.from, "idle fractions must be below 1, and lower after the change",
		    "write --idle 0.15 --idle-after 0.02");
	run_reads(r, &in->idle_after, NULL);
	r->title = "Cost of GPU idle time";
	TAKE(sh, idle_frac, in->idle);
	SHOW(sh, idle_frac, gpu_idle_frac);
	TAKE(sh, after_frac, after);
	if (datum_given(in->idle_after))
		SHOW(sh, after_frac, after_frac);
	CALL(sh, gain, pipeline_gain(sh, idle_frac, after_frac));
	if (datum_given(in->idle_after))
		SHOW(sh, gain, speedup);
	else
		SHOW(sh, gain, max_speedup);
	return judge_idle(r, in, datum_given(in->idle_after) ? after_frac : idle_frac);
}

static enum answer
rule(struct run *r, const struct data_in *in)
{
	struct sheet *sh = r->sheet;
	const bool cores = strcmp(in->rule.text, "gpus-cores") == 0;
	double n_workers;

	if (!datum_given(in->gpus) || !run_whole(r, "gpus", in->gpus, 1) || !run_whole(r, "cores", in->cores, 1))
		return refuse(r, in->rule.from, "--rule needs the number of GPUs", "add --gpus 8");
	if (cores && !datum_given(in->cores))
		return refuse(r, in->rule.from, "--rule gpus-cores needs the number of cores",
		    "add --cores 128, the cores of the node");
	run_reads(r, &in->rule, NULL);
	r->title = "Workers by rule of thumb";
	TAKE(sh, n_gpus, in->gpus);
	if (cores) {
		TAKE(sh, n_cores, in->cores);
		SET_CALL(sh, n_workers, data_rule_cores(sh, n_gpus, n_cores));
	} else
		SET_CALL(sh, n_workers, data_rule_gpus(sh, n_gpus));
	SHOW(sh, n_workers, n_workers);
	run_warn(r, "rule of thumb: give --sample-time, --batch and --step for the exact number");
	if (datum_given(in->cores) && !cores) {
		TAKE(sh, n_node_cores, in->cores);
	}
	if (datum_given(in->cores) && n_workers > in->cores.value)
		run_warn(r, "%g workers exceed the %g cores", n_workers, in->cores.value);
	return ANSWERED;
}

/* --- sensors --------------------------------------------------------------------------------------------- */

/* How busy a tier is with writing the recording. */
static bool
show_recording(struct run *r, const struct tier *t, double flow_byte_per_s)
{
	struct sheet *sh = r->sheet;

	TELL(sh, tier, t->name);
	const double write_byte_per_s = tier_write(r, t);
	CALL(sh, write_frac, data_busy(sh, flow_byte_per_s, write_byte_per_s));
	SHOW(sh, write_frac, write_frac);
	TELL(sh, keeps_up, write_frac <= 1 ? "keeps up" : "does not keep up");
	return write_frac <= 1;
}

static enum answer
sensors(struct run *r, const struct data_in *in)
{
	struct sheet *sh = r->sheet;
	size_t n_good = 0;
	struct way w;

	if (!datum_given(in->pixels) || !datum_given(in->fps))
		return refuse(r, in->cameras.from, "camera data rate missing", "add --pixels 2M --fps 30");
	if (!run_whole(r, "cameras", in->cameras, 1) || !data_bind(r, in, &w))
		return REFUSED;
	for (size_t i = 0; i < w.n_tiers; i++)
		if (!datum_given(w.tiers[i].write))
			return refuse(r, in->storage.list[i].from, "its write rate is not in the database",
			    "give a rate instead: --storage 3GB/s");
	r->title = "Data rate of cameras";
	TAKE(sh, n_cameras, in->cameras);
	TAKE(sh, n_pixels, in->pixels);
	TAKE(sh, pixel_byte, in->pixel_size);
	TAKE(sh, frame_hertz, in->fps);
	CALL(sh, camera_byte_per_s, data_camera(sh, n_pixels, pixel_byte, frame_hertz));
	CALL(sh, flow_byte_per_s, data_cameras(sh, n_cameras, camera_byte_per_s));
	SHOW(sh, camera_byte_per_s, camera_byte_per_s);
	SHOW(sh, flow_byte_per_s, flow_byte_per_s);
	if (datum_given(in->length)) {
		TAKE(sh, length_s, in->length);
		CALL(sh, volume_byte, data_volume(sh, flow_byte_per_s, length_s));
		SHOW(sh, volume_byte, recording_byte);
	}
	if (w.n_tiers == 1)
		return show_recording(r, &w.tiers[0], flow_byte_per_s) ? ANSWERED : ANSWERED_NO;
	for (size_t i = 0; i < w.n_tiers; i++)
		SCOPE_I (sh, "storage", i) {
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
	    {"a loader", feeds && !datum_given(in->cameras), data_loader},
	};
	size_t n = 0, asked = 0, before = 0;

	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		if (questions[i].asked) {
			before = asked;
			asked = i;
			n++;
		}
	if (n == 0)
		return refuse(r, (struct source){0}, "no data path given",
		    "give --sample-time and --workers (a loader), --storage (tiers), --items (a cache) or --cameras");
	if (n > 1) {
		diag_error(r->diag, (struct source){0}, "%s cannot be combined with %s", questions[before].name,
		    questions[asked].name);
		diag_hint(r->diag, "use one of them");
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
    {"data --sample-time 12ms --workers 16 --batch 512 --step 350ms", "loader against the step: GPU idle time", 0},
    {"data --sample-time 12ms --workers 16 --batch 512 --step 350ms --max-idle 5%", "the same with a limit", 1},
    {"data --storage sata-ssd,nvme-gen4,fsx-lustre-ssd --sample-size 110kB --batch 16Ki --step 1.2s",
        "tiers of storage", 0},
    {"data --storage fsx-lustre-ssd,10GB/s --sample-size 600kB --throughput 9000",
        "storage utilization at a throughput", 0},
    {"data --storage 4xnvme-gen4 --sample-size 600kB --batch 4096 --step 400ms --checkpoint 98GB --every 30min",
        "checkpoints on the storage the loader reads from", 0},
    {"data --iteration 300ms --load 75ms --load-after 15ms", "faster loader without prefetch", 0},
    {"data --items 40M --fraction 15% --zipf 0.952 --table-size 120GB --lookup 180ms --hit-time 15.3ms --rest 120ms",
        "cache of the hottest embedding rows", 0},
    {"data --items 40M --zipf 1 --hit 0.95", "cached rows needed for a hit rate", 0},
    {"data --items 40M --fraction 15% --hit 0.85", "Zipf exponent implied by a measured hit rate", 0},
    {"data --cameras 8 --pixels 2M --fps 30 --length 1h --storage nvme-gen4", "data rate and volume of cameras", 0},
};

static const struct input_needs data_needs[] = {
    {"target", "it needs a throughput: add --sample-time, --load, --throughput or --storage"},
    {"max_idle", "it needs GPU idle time: add --idle, or --expected with --throughput, or --step with --sample-time"},
    {"workers", "it needs --sample-time or --profile"},
    {"step", "it needs --sample-time, --load, --throughput, or --storage with --sample-size"},
    {"batch", "it needs --step, or --load with --iteration"},
    {"every", "it needs --checkpoint 98GB"},
    {"checkpoint", "it needs --storage nvme-gen4"},
    {"calls", "it needs --profile"},
    {"cores", "it needs --sample-time and --target, or --rule gpus-cores"},
    {"gpus", "it needs --rule gpus"},
    {"sample_size", "it needs --storage nvme-gen4"},
    {"table_size", "it needs --items 40M --fraction 15% --zipf 1"},
    {"fraction", "it needs --items 40M"},
    {"zipf", "it needs --items 40M"},
    {"uniform", "it needs --items 40M"},
};

const struct command data_command = {
    .name = "data",
    .section = "Performance",
    .summary = "Data loading: loaders, storage and caches against the step",
    .operands = "",
    .usage = "[JOB]",
    COUNTED(groups, data_groups),
    COUNTED(examples, data_examples),
    COUNTED(needs, data_needs),
    .input_size = sizeof(struct data_in),
    .run = data_run,
};
