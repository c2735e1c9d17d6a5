/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge scale: scaling efficiency. */
#include "ask/ask.h"
#include "base/base.h"
#include "model/calc/calc.h"
#include "model/collective/collective.h"

#include <string.h>

#define THIS struct scale_in
static const struct option scale_options[] = {SCALE_OPTIONS(OPTION_ROW)};
#undef THIS

/* --- a predicted step ------------------------------------------------------------------------------------ */

static bool
check_step(struct run *r, const struct scale_in *in)
{
	const bool ring = datum_given(in->gradient) && datum_given(in->bandwidth);

	if (!ring && !datum_given(in->communication)) {
		diag_error(r->diag, in->compute.from, "communication of the step missing");
		diag_hint(
		    r->diag, "add --gradient 4GB --bandwidth 50GB/s --gpus 2,4,8, or a measured --communication 450ms");
		return false;
	}
	if (ring && datum_given(in->communication)) {
		diag_error(r->diag, in->communication.from, "--communication and --gradient exclude each other");
		diag_hint(r->diag, "leave --gradient out; the measured time is better");
		return false;
	}
	if (in->compute.value <= 0 || (ring && in->bandwidth.value <= 0)) {
		diag_error(r->diag, in->compute.from, "--compute and --bandwidth must be greater than 0");
		diag_hint(r->diag, "write for example --compute 550ms");
		return false;
	}
	return !ring || scale_need_ranks(r, in);
}

/* What of the communication is exposed, and what that leaves.  Returns the efficiency. */
static double
show_step(struct run *r, const struct scale_in *in, double compute_s, double communication_s)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, overlap_frac, in->overlap);
	CALL(sh, exposed_s, exposed_time(sh, communication_s, compute_s, overlap_frac, 0));
	CALL(sh, step_s, step_time(sh, compute_s, exposed_s));
	CALL(sh, efficiency_frac, step_efficiency(sh, compute_s, step_s));
	SHOW(sh, communication_s, communication_s);
	SHOW(sh, exposed_s, exposed_s);
	SHOW(sh, step_s, step_s);
	SHOW(sh, efficiency_frac, efficiency_frac);
	if (datum_given(in->target)) {
		TAKE(sh, target_frac, in->target);
		CALL(sh, allowed_s, exposed_allowed(sh, compute_s, target_frac));
		CALL(sh, needed_overlap_frac, overlap_needed(sh, communication_s, allowed_s));
		SHOW(sh, allowed_s, allowed_s);
		SHOW(sh, needed_overlap_frac, needed_overlap_frac);
	}
	if (datum_given(in->price)) {
		TAKE(sh, gpu_usd_per_s, in->price);
		CALL(sh, work_usd, scale_run_usd(sh, 1000, gpu_usd_per_s, step_s));
		SHOW(sh, work_usd, work_usd);
	}
	return efficiency_frac;
}

static enum answer
predicted(struct run *r, const struct scale_in *in)
{
	struct sheet *sh = r->sheet;
	double ranks[POINTS_MAX], worst = INFINITY;

	if (!check_step(r, in) || !scale_ranks(r, in, ranks))
		return REFUSED;
	r->title = "Data-parallel step with exposed communication";
	TAKE(sh, compute_s, in->compute);
	if (datum_given(in->communication)) {
		TAKE(sh, communication_s, in->communication);
		worst = show_step(r, in, compute_s, communication_s);
	} else
		for (size_t i = 0; i < in->gpus.n; i++)
			SCOPE_I (sh, "ranks", i) {
				TAKE(sh, n_ranks, ranks[i]);
				TAKE(sh, gradient_byte, in->gradient);
				TAKE(sh, link_byte_per_s, in->bandwidth);
				TAKE(sh, hop_s, in->latency);
				SHOW(sh, n_ranks, n_gpus);
				CALL(sh, communication_s,
				    allreduce_ring(sh, n_ranks, gradient_byte, link_byte_per_s, hop_s));
				const double efficiency_frac = show_step(r, in, compute_s, communication_s);
				CALL(sh, speedup, scale_step_speedup(sh, n_ranks, efficiency_frac));
				SHOW(sh, speedup, speedup);
				worst = fmin(worst, efficiency_frac);
			}
	/* of two gates the higher one decides */
	run_reads(r, &in->target, &in->warn_below, NULL);
	const double least = fmax(datum_or(in->target, 0), datum_or(in->warn_below, 0));
	if (!(least > 0))
		return ANSWERED;
	TELL(sh, verdict, arena_printf(r->arena, "%s %s", worst < least ? "misses" : "meets", scale_percent(r, least)));
	return worst < least ? ANSWERED_NO : ANSWERED;
}

/* --- pipelines ------------------------------------------------------------------------------------------- */

static enum answer
bubble_verdict(struct run *r, const struct scale_in *in, double bubble_frac)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->target_bubble))
		return ANSWERED;
	TAKE(sh, target_frac, in->target_bubble);
	CALL(sh, bubble_gain, pipeline_gain(sh, bubble_frac, target_frac));
	SHOW(sh, bubble_gain, bubble_gain);
	const bool met = bubble_frac <= target_frac;
	TELL(sh, verdict, arena_printf(r->arena, "%s %s", met ? "meets" : "misses", scale_percent(r, target_frac)));
	return met ? ANSWERED : ANSWERED_NO;
}

static bool
check_pipeline(struct run *r, const struct scale_in *in)
{
	const struct {
		const char *name;
		struct datum given;
	} counts[] = {{"stages", in->stages}, {"microbatches", in->microbatches}, {"interleave", in->interleave},
	    {"batch", in->batch}, {"micro-batch", in->micro_batch}};

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (datum_given(counts[i].given) &&
		    (counts[i].given.value < 1 || counts[i].given.value != floor(counts[i].given.value))) {
			diag_error(
			    r->diag, counts[i].given.from, "%s must be a whole number of at least 1", counts[i].name);
			diag_hint(r->diag, "nearest: %g", fmax(1, round(counts[i].given.value)));
			return false;
		}
	if (datum_given(in->target_bubble) && !(in->target_bubble.value > 0 && in->target_bubble.value < 1)) {
		diag_error(r->diag, in->target_bubble.from, "a bubble fraction must be between 0 and 1");
		diag_hint(r->diag, "write for example --target-bubble 10%%");
		return false;
	}
	if (!datum_given(in->microbatches) && !(datum_given(in->batch) && datum_given(in->micro_batch))) {
		diag_error(r->diag, in->stages.from, "number of micro-batches missing");
		diag_hint(r->diag, "add --microbatches 8, or --batch 32 --micro-batch 4");
		return false;
	}
	return true;
}

static enum answer
pipeline(struct run *r, const struct scale_in *in)
{
	struct sheet *sh = r->sheet;
	double n_microbatches;

	if (!check_pipeline(r, in))
		return REFUSED;
	r->title = "Pipeline bubble";
	TAKE(sh, n_stages, in->stages);
	TAKE(sh, n_interleave, in->interleave);
	if (datum_given(in->microbatches)) {
		TAKE(sh, stated_microbatches, in->microbatches);
		SET(sh, n_microbatches, stated_microbatches);
	} else {
		FROM(sh, in, batch, micro_batch);
		SET_CALL(sh, n_microbatches, pipeline_fill(sh, batch, micro_batch));
	}
	SHOW(sh, n_stages, n_stages);
	SHOW(sh, n_microbatches, n_microbatches);
	CALL(sh, bubble_frac, pipeline_bubble(sh, n_stages, n_microbatches, n_interleave));
	SHOW(sh, bubble_frac, bubble_frac);
	if (datum_given(in->target_bubble)) {
		TAKE(sh, wanted_frac, in->target_bubble);
		CALL(sh, n_microbatches_needed, pipeline_microbatches(sh, n_stages, n_interleave, wanted_frac));
		CALL(sh, n_interleave_needed, pipeline_interleave(sh, n_stages, n_microbatches, wanted_frac));
		SHOW(sh, n_microbatches_needed, n_microbatches_needed);
		SHOW(sh, n_interleave_needed, n_interleave_needed);
	}
	if (n_interleave > 1 && fmod(n_microbatches, n_stages) != 0)
		run_warn(r, "an interleaved schedule needs a multiple of %g micro-batches", n_stages);
	return bubble_verdict(r, in, bubble_frac);
}

static enum answer
measured_bubble(struct run *r, const struct scale_in *in)
{
	if (!datum_given(in->target_bubble) || in->bubble.value >= 1 || in->target_bubble.value >= 1) {
		diag_error(r->diag, in->bubble.from, "--bubble needs --target-bubble, both below 1");
		diag_hint(r->diag, "add for example --target-bubble 10%%");
		return REFUSED;
	}
	struct sheet *sh = r->sheet;
	r->title = "Pipeline bubble";
	TAKE(sh, bubble_frac, in->bubble);
	SHOW(sh, bubble_frac, bubble_frac);
	return bubble_verdict(r, in, bubble_frac);
}

/* --- laws by their constants ----------------------------------------------------------------------------- */

static enum answer
laws(struct run *r, const struct scale_in *in)
{
	struct sheet *sh = r->sheet;
	double ranks[POINTS_MAX];

	if (!scale_need_ranks(r, in) || !scale_ranks(r, in, ranks))
		return REFUSED;
	r->title = "Speedup by scaling laws";
	TAKE(sh, contention, in->serial);
	for (size_t i = 0; i < in->gpus.n; i++)
		SCOPE_I (sh, "ranks", i) {
			TAKE(sh, n_ranks, ranks[i]);
			SHOW(sh, n_ranks, n_gpus);
			CALL(sh, amdahl_speedup, scale_amdahl(sh, n_ranks, contention));
			CALL(sh, gustafson_speedup, scale_gustafson(sh, n_ranks, contention));
			SHOW(sh, amdahl_speedup, amdahl_speedup);
			if (datum_given(in->coherency)) {
				TAKE(sh, coherency, in->coherency);
				CALL(sh, usl_speedup, scale_usl(sh, n_ranks, contention, coherency));
				SHOW(sh, usl_speedup, usl_speedup);
			}
			SHOW(sh, gustafson_speedup, gustafson_speedup);
		}
	return ANSWERED;
}

static enum answer
rule(struct run *r, const struct scale_in *in)
{
	struct sheet *sh = r->sheet;
	double ranks[POINTS_MAX];

	if (!scale_need_ranks(r, in) || !scale_ranks(r, in, ranks))
		return REFUSED;
	run_reads(r, &in->law, NULL);
	r->title = "Efficiency by rule of thumb";
	run_warn(r, "rule of thumb: real scaling may differ by a factor of two");
	for (size_t i = 0; i < in->gpus.n; i++)
		SCOPE_I (sh, "ranks", i) {
			TAKE(sh, n_ranks, ranks[i]);
			SHOW(sh, n_ranks, n_gpus);
			CALL(sh, efficiency_frac, scale_rule(sh, n_ranks));
			CALL(sh, speedup, scale_step_speedup(sh, n_ranks, efficiency_frac));
			SHOW(sh, efficiency_frac, efficiency_frac);
			SHOW(sh, speedup, speedup);
		}
	return ANSWERED;
}

/* --- the command ----------------------------------------------------------------------------------------- */

static bool
check_fractions(struct run *r, const struct scale_in *in)
{
	const struct {
		const char *name;
		struct datum given;
		double least;
	} fractions[] = {{"warn-below", in->warn_below, 1e-6}, {"overlap", in->overlap, 0},
	    {"target", in->target, 1e-6}, {"serial", in->serial, 0}};

	for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++) {
		const struct datum d = fractions[i].given;
		if (datum_given(d) && !(d.value >= fractions[i].least && d.value <= 1)) {
			diag_error(r->diag, d.from, "%s must be between 0 and 1", fractions[i].name);
			diag_hint(r->diag, "write 0.85 or 85%%");
			return false;
		}
	}
	return true;
}

static enum answer
scale_run(struct run *r, const void *input)
{
	const struct scale_in *in = input;
	const struct {
		const char *name;
		bool asked;
		enum answer (*answer)(struct run *r, const struct scale_in *in);
	} questions[] = {
	    {"--points", in->points.n > 0, scale_measured},
	    {"--series", in->series.text != NULL, scale_measured},
	    {"--times", in->times.n > 0, scale_measured},
	    {"--compute", datum_given(in->compute), predicted},
	    {"--stages", datum_given(in->stages), pipeline},
	    {"--bubble", datum_given(in->bubble), measured_bubble},
	    {"--serial", datum_given(in->serial), laws},
	    {"--law", in->law.text != NULL, rule},
	};
	size_t n = 0, asked = 0, before = 0;

	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		if (questions[i].asked) {
			before = asked;
			asked = i;
			n++;
		}
	if (n == 0) {
		diag_error(r->diag, (struct source){0}, "no scaling data given");
		diag_hint(r->diag,
		    "give --points, --series or --times (measured), --compute (a step), --stages (a pipeline) or "
		    "--serial (scaling laws)");
		return REFUSED;
	}
	if (n > 1) {
		diag_error(r->diag, (struct source){0}, "%s cannot be combined with %s", questions[before].name,
		    questions[asked].name);
		diag_hint(r->diag, "use one of them");
		return REFUSED;
	}
	return check_fractions(r, in) ? questions[asked].answer(r, in) : REFUSED;
}

static const struct option_group scale_groups[] = {OPTION_GROUP(scale_options, 0)};

static const struct example scale_examples[] = {
    {"scale --points 1:1000,2:1800,4:3200,8:4000", "measured throughput: efficiency, fitted laws, prediction", 0},
    {"scale --points 1:1000,2:1800,4:3200,8:4000 --warn-below 0.875", "the same with a limit", 1},
    {"scale --times 14h@1,2h@8,25min@256 --price 3usd/h", "job times, with cost", 0},
    {"scale --compute 550ms --gradient 4GB --bandwidth 15.6GB/s --gpus 2,4,8,16",
        "data-parallel step with exposed communication", 0},
    {"scale --stages 8 --microbatches 8 --target-bubble 0.12", "pipeline bubble and how to shrink it", 1},
};

static const struct input_needs scale_needs[] = {
    {"warn_below", "it needs --points 1:1000,8:6400, --times, or --compute with --gpus"},
    {"target", "it needs --compute, and --communication or --gradient with --bandwidth"},
    {"target_bubble", "it needs --stages 8 --microbatches 32, or --bubble"},
    {"overlap", "it needs --compute, and --communication or --gradient with --bandwidth"},
    {"price", "it needs --points, --times, or --compute with --gpus"},
    {"batch", "it needs --stages and --micro-batch"},
    {"micro_batch", "it needs --stages and --batch"},
    {"interleave", "it needs --stages 8 --microbatches 32"},
    {"coherency", "it needs --serial 0.05"},
};

const struct command scale_command = {
    .name = "scale",
    .section = "Capacity and cost",
    .summary = "Scaling efficiency over GPUs, and where to stop",
    .operands = "",
    .usage = "[JOB]",
    COUNTED(groups, scale_groups),
    COUNTED(examples, scale_examples),
    COUNTED(needs, scale_needs),
    .input_size = sizeof(struct scale_in),
    .run = scale_run,
};
