/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ridge/scale.h"
#include "base/text.h"
#include "cli/command.h"
#include "engine/fit.h"
#include "ridge/collective.h"

#include <stdlib.h>
#include <string.h>

#define SCALE_OPTIONS(X)                                                                                               \
	X(0, points, "points", "points", WORDS, "N:RATE,...", "", NULL, "measured throughput (per second) of N GPUs")  \
	X(0, times, "times", "times", WORDS, "TIME@N,...", "", NULL, "measured time of one job on N GPUs")             \
	X(0, warn_below, "warn-below", "warn_below", NUMBER, "FRACTION", "", NULL,                                     \
	    "least efficiency; exit status 1 below it")                                                                \
	X(0, ranks, "ranks", "ranks", WORDS, "N,...", "", NULL, "numbers of GPUs to predict")                          \
	X(0, price, "price", "price", PER_HOUR, "USD/h", "", NULL, "price of one GPU")                                 \
	X(0, compute, "compute", "compute", TIME, "TIME", "", NULL,                                                    \
	    "time of a step on one GPU, without communication")                                                        \
	X(0, gradient, "gradient", "gradient", SIZE, "SIZE", "", NULL, "bytes that a ring all-reduces every step")     \
	X(0, bandwidth, "bandwidth", "bandwidth", RATE, "RATE", "", NULL,                                              \
	    "of the slowest link of the ring, one direction")                                                          \
	X(0, latency, "latency", "latency", TIME, "TIME", "", "0s", "of one hop of the ring")                          \
	X(0, communication, "communication", "communication", TIME, "TIME", "", NULL,                                  \
	    "measured time of the all-reduce, instead of --gradient and --bandwidth")                                  \
	X(0, overlap, "overlap", "overlap", NUMBER, "FRACTION", "", "0",                                               \
	    "part of the communication hidden behind computing")                                                       \
	X(0, target, "target", "target", NUMBER, "FRACTION", "", NULL,                                                 \
	    "efficiency to reach: prints the overlap it needs")                                                        \
	X(0, stages, "stages", "stages", COUNT, "N", "", NULL, "pipeline stages")                                      \
	X(0, microbatches, "microbatches", "microbatches", COUNT, "N", "", NULL, "micro-batches of a step")            \
	X(0, batch, "batch", "batch", COUNT, "N", "", NULL, "samples of a step and replica, with --micro-batch")       \
	X(0, micro_batch, "micro-batch", "micro_batch", COUNT, "N", "", NULL, "samples of a micro-batch")              \
	X(0, interleave, "interleave", "interleave", COUNT, "N", "", "1", "model chunks per stage")                    \
	X(0, bubble, "bubble", "bubble", NUMBER, "FRACTION", "", NULL, "measured bubble, instead of --stages")         \
	X(0, target_bubble, "target-bubble", "target_bubble", NUMBER, "FRACTION", "", NULL, "bubble to reach")         \
	X(0, serial, "serial", "serial", NUMBER, "FRACTION", "", NULL,                                                 \
	    "serial part: Amdahl's and Gustafson's laws at --ranks")                                                   \
	X(0, coherency, "coherency", "coherency", NUMBER, "COST", "", NULL,                                            \
	    "cost of waiting for each other, with --serial")                                                           \
	X(0, law, "law", "law", CHOICE, "LAW", "doc", NULL,                                                            \
	    "rule of thumb at --ranks: doc, 85 % at 8, 70 % at 64, 50 % from 256")

struct scale_in {
	SCALE_OPTIONS(OPTION_MEMBER)
};

#define THIS struct scale_in
static const struct option scale_options[] = {SCALE_OPTIONS(OPTION_ROW)};
#undef THIS

enum { POINTS_MAX = 256 };

/* --- reading lists --------------------------------------------------------------------------------------- */

struct measured {
	double n_ranks, value;
	struct source from;
};

static bool
read_part(struct run *r, struct word w, const char *text, enum quantity q, double *value)
{
	struct quantity_fault fault;

	if (quantity_read(text, q, value, &fault) && *value > 0 && (q != Q_COUNT || *value == floor(*value)))
		return true;
	if (q == Q_COUNT && *value > 0 && *value != floor(*value))
		diag_error(r->diag, w.from, "'%s' is not a whole number of GPUs", text);
	else if (*value <= 0)
		diag_error(r->diag, w.from, "'%s' must be more than 0", text);
	else {
		diag_error(r->diag, w.from, "%s", fault.what);
		if (fault.hint[0])
			diag_hint(r->diag, "%s", fault.hint);
	}
	return false;
}

/* `8:4000` or `4000@8`, `25min@256` or `256:25min`. */
static bool
read_point(struct run *r, struct word w, enum quantity q, struct measured *out)
{
	const char *at = strchr(w.text, '@'), *colon = strchr(w.text, ':');
	const char *cut = at ? at : colon;

	if (!cut) {
		diag_error(r->diag, w.from, "'%s' is not of the form %s", w.text, q == Q_TIME ? "TIME@N" : "N:RATE");
		diag_hint(r->diag, "write for example %s",
		    q == Q_TIME ? "--times 14h@1,25min@256" : "--points 1:1000,8:4000");
		return false;
	}
	const char *before = arena_copy(r->arena, w.text, (size_t)(cut - w.text));
	*out = (struct measured){1, 1, w.from};
	return read_part(r, w, at ? cut + 1 : before, Q_COUNT, &out->n_ranks) &&
	    read_part(r, w, at ? before : cut + 1, q, &out->value);
}

static int
by_ranks(const void *a, const void *b)
{
	const struct measured *x = a, *y = b;

	return (x->n_ranks > y->n_ranks) - (x->n_ranks < y->n_ranks);
}

static bool
read_points(struct run *r, const struct words *list, enum quantity q, struct measured *out)
{
	bool ok = list->n <= POINTS_MAX;

	if (!ok)
		diag_error(r->diag, list->list[0].from, "more than %d points", POINTS_MAX);
	for (size_t i = 0; ok && i < list->n; i++)
		ok = read_point(r, list->list[i], q, &out[i]);
	if (ok && list->n < 2) {
		diag_error(r->diag, list->list[0].from, "one point says nothing about scaling");
		diag_hint(r->diag, "give at least two, the smallest number of GPUs is the base");
		ok = false;
	}
	if (ok)
		qsort(out, list->n, sizeof *out, by_ranks);
	return ok;
}

static bool
read_ranks(struct run *r, const struct scale_in *in, double *ranks)
{
	if (in->ranks.n > POINTS_MAX) {
		diag_error(r->diag, in->ranks.list[0].from, "more than %d numbers of GPUs", POINTS_MAX);
		return false;
	}
	for (size_t i = 0; i < in->ranks.n; i++) {
		ranks[i] = 1;
		if (!read_part(r, in->ranks.list[i], in->ranks.list[i].text, Q_COUNT, &ranks[i]))
			return false;
	}
	return true;
}

static bool
need_ranks(struct run *r, const struct scale_in *in)
{
	if (in->ranks.n)
		return true;
	diag_error(r->diag, (struct source){0}, "for how many GPUs?");
	diag_hint(r->diag, "add for example --ranks 2,4,8,16");
	return false;
}

static const char *
percent(struct run *r, double fraction)
{
	char buf[40];

	return arena_text(r->arena, value_write("x_frac", fraction, buf, sizeof buf));
}

/* --- measured points ------------------------------------------------------------------------------------- */

struct series {
	const struct measured *points;
	size_t n;
	bool times;
};

static double
show_point(struct run *r, const struct scale_in *in, const struct series *s, size_t i)
{
	struct sheet *sh = r->sheet;
	double speedup, result_frac = 0;

	SCOPE_I (sh, "point", i) {
		TAKE(sh, n_base_ranks, s->points[0].n_ranks);
		TAKE(sh, n_ranks, s->points[i].n_ranks);
		SHOW(sh, n_ranks, "GPUs");
		if (s->times) {
			TAKE(sh, base_s, s->points[0].value);
			TAKE(sh, time_s, s->points[i].value);
			SHOW(sh, time_s, "time");
			SET_CALL(sh, speedup, scale_speedup_time(sh, base_s, time_s));
			SHOW(sh, speedup, "speedup");
			if (datum_given(in->price)) {
				TAKE(sh, gpu_usd_per_s, in->price);
				CALL(sh, run_usd, scale_run_usd(sh, n_ranks, gpu_usd_per_s, time_s));
				SHOW(sh, run_usd, "cost");
			}
		} else {
			TAKE(sh, base_sample_per_s, s->points[0].value);
			TAKE(sh, rate_sample_per_s, s->points[i].value);
			SHOW(sh, rate_sample_per_s, "throughput");
			SET_CALL(sh, speedup, scale_speedup_rate(sh, base_sample_per_s, rate_sample_per_s));
			SHOW(sh, speedup, "speedup");
			if (datum_given(in->price)) {
				TAKE(sh, gpu_usd_per_s, in->price);
				CALL(sh, million_usd, scale_million_usd(sh, n_ranks, gpu_usd_per_s, rate_sample_per_s));
				SHOW(sh, million_usd, "a million samples");
			}
		}
		CALL(sh, efficiency_frac, scale_efficiency(sh, n_base_ranks, n_ranks, speedup));
		SHOW(sh, efficiency_frac, "efficiency");
		result_frac = efficiency_frac;
	}
	return result_frac;
}

static const char *
interval(struct run *r, const char *name, const struct scale_estimate *e)
{
	char low[40], high[40], widest[40], highest[40];

	if (e->t_80 <= 0)
		return "not known: as many points as parameters";
	value_write(name, e->value - e->t_80 * e->error, low, sizeof low);
	value_write(name, e->value + e->t_80 * e->error, high, sizeof high);
	value_write(name, e->value - e->t_95 * e->error, widest, sizeof widest);
	value_write(name, e->value + e->t_95 * e->error, highest, sizeof highest);
	return arena_printf(r->arena, "%s .. %s (80 %%), %s .. %s (95 %%)", low, high, widest, highest);
}

static const char *
short_interval(struct run *r, const struct scale_estimate *e)
{
	char low[40], high[40];

	if (e->t_80 <= 0)
		return "not known";
	value_write("rate", e->value - e->t_80 * e->error, low, sizeof low);
	value_write("rate", e->value + e->t_80 * e->error, high, sizeof high);
	return arena_printf(r->arena, "%s .. %s", low, high);
}

static void
show_fit(struct run *r, const struct fit *f, bool universal)
{
	struct sheet *sh = r->sheet;
	const struct scale_estimate c = fit_contention(f), k = fit_coherency(f);

	if (!f->given)
		return;
	SCOPE (sh, universal ? "usl" : "amdahl") {
		CALL(sh, contention, scale_interval(sh, &c));
		SHOW(sh, contention, universal ? "universal law: contention" : "Amdahl's law: contention");
		TELL(sh, contention_interval, "  interval", interval(r, "contention", &c));
		if (universal) {
			CALL(sh, coherency, scale_interval(sh, &k));
			SHOW(sh, coherency, "universal law: coherency");
			TELL(sh, coherency_interval, "  interval", interval(r, "coherency", &k));
		}
		TAKE(sh, scatter_frac, f->scatter_frac);
		if (f->n_free)
			SHOW(sh, scatter_frac, "  points lie off the curve by");
	}
}

/* Predicted at the asked numbers of GPUs, or at two and four times the largest measured one. */
static void
show_predicted(struct run *r, const struct scale_in *in, const struct series *s, const struct fit *law)
{
	struct sheet *sh = r->sheet;
	double ranks[POINTS_MAX];
	size_t n = in->ranks.n;

	if (!read_ranks(r, in, ranks))
		return;
	const double most = s->points[s->n - 1].n_ranks;
	if (n == 0) {
		ranks[n++] = 2 * most;
		ranks[n++] = 4 * most;
	}
	for (size_t i = 0; i < n; i++)
		SCOPE_I (sh, "predicted", i) {
			const struct scale_estimate e = fit_rate(law, ranks[i]);
			TAKE(sh, n_ranks, ranks[i]);
			SHOW(sh, n_ranks, "GPUs");
			TAKE(sh, n_base_ranks, s->points[0].n_ranks);
			const double base = s->times ? 1 / s->points[0].value : s->points[0].value;
			TAKE(sh, base_sample_per_s, base);
			CALL(sh, rate_sample_per_s, scale_rate_interval(sh, &e));
			CALL(sh, speedup, scale_speedup_rate(sh, base_sample_per_s, rate_sample_per_s));
			CALL(sh, efficiency_frac, scale_efficiency(sh, n_base_ranks, n_ranks, speedup));
			if (s->times) {
				CALL(sh, time_s, scale_time_of_rate(sh, rate_sample_per_s));
				SHOW(sh, time_s, "predicted time");
			} else {
				SHOW(sh, rate_sample_per_s, "predicted");
				TELL(sh, rate_interval, "80 % interval", short_interval(r, &e));
			}
			SHOW(sh, speedup, "speedup");
			SHOW(sh, efficiency_frac, "efficiency");
		}
	if (ranks[n - 1] > 4 * most)
		run_warn(r, "%g GPUs are far beyond the %g measured: the law is a guess there", ranks[n - 1], most);
}

static void
show_laws(struct run *r, const struct scale_in *in, const struct series *s)
{
	struct sheet *sh = r->sheet;
	struct fit_point points[POINTS_MAX];

	for (size_t i = 0; i < s->n; i++)
		points[i] =
		    (struct fit_point){s->points[i].n_ranks, s->times ? 1 / s->points[i].value : s->points[i].value};
	const struct fit amdahl = fit_amdahl(points, s->n), usl = fit_usl(points, s->n);
	if (!amdahl.given) {
		run_warn(r, "no law was fitted: two different numbers of GPUs are needed");
		return;
	}
	const struct fit law = fit_choose(&amdahl, &usl);
	show_fit(r, &amdahl, false);
	show_fit(r, &usl, true);
	if (amdahl.contention < 0)
		run_warn(r, "faster than linear: look for a slow base, caches or a smaller share per GPU");
	TELL(sh, law, "law used",
	    law.n_params == 3 ? "universal: its coherency is above 0 with 80 % confidence" : "Amdahl's");
	TAKE(sh, contention, law.contention);
	TAKE(sh, coherency, law.coherency);
	if (law.coherency > 0) {
		CALL(sh, n_peak_ranks, scale_peak(sh, contention, coherency));
		SHOW(sh, n_peak_ranks, "more GPUs slow it down beyond");
	}
	if (datum_given(in->warn_below)) {
		TAKE(sh, least_frac, in->warn_below);
		CALL(sh, n_stop_ranks, scale_stop(sh, contention, coherency, least_frac));
		SHOW(sh, n_stop_ranks, arena_printf(r->arena, "most GPUs that keep %s", percent(r, least_frac)));
	}
	show_predicted(r, in, s, &law);
}

static enum answer
measured(struct run *r, const struct scale_in *in)
{
	struct measured points[POINTS_MAX];
	const bool times = in->times.n > 0;
	const struct words *list = times ? &in->times : &in->points;
	struct sheet *sh = r->sheet;
	double worst = INFINITY, at = 0;

	if (!read_points(r, list, times ? Q_TIME : Q_NUMBER, points))
		return REFUSED;
	const struct series s = {points, list->n, times};
	r->title = arena_printf(r->arena, "Scaling from %g to %g GPUs", points[0].n_ranks, points[s.n - 1].n_ranks);
	for (size_t i = 0; i < s.n; i++) {
		const double efficiency = show_point(r, in, &s, i);
		if (efficiency < worst) {
			worst = efficiency;
			at = points[i].n_ranks;
		}
	}
	enum answer answer = ANSWERED;
	if (datum_given(in->warn_below)) {
		answer = worst < in->warn_below.value ? ANSWERED_NO : ANSWERED;
		TELL(sh, verdict, "verdict",
		    answer == ANSWERED ? arena_printf(r->arena, "meets %s", percent(r, in->warn_below.value))
		                       : arena_printf(r->arena, "misses %s: %s at %g GPUs",
		                             percent(r, in->warn_below.value), percent(r, worst), at));
	}
	show_laws(r, in, &s);
	return answer;
}

/* --- a predicted step ------------------------------------------------------------------------------------ */

static bool
check_step(struct run *r, const struct scale_in *in)
{
	const bool ring = datum_given(in->gradient) && datum_given(in->bandwidth);

	if (!ring && !datum_given(in->communication)) {
		diag_error(r->diag, in->compute.from, "what does a step wait for?");
		diag_hint(r->diag,
		    "add --gradient 4GB --bandwidth 50GB/s --ranks 2,4,8, or a measured --communication 450ms");
		return false;
	}
	if (ring && datum_given(in->communication)) {
		diag_error(r->diag, in->communication.from, "--communication and --gradient exclude each other");
		return false;
	}
	if (in->compute.value <= 0 || (ring && in->bandwidth.value <= 0)) {
		diag_error(r->diag, in->compute.from, "--compute and --bandwidth must be more than 0");
		return false;
	}
	return !ring || need_ranks(r, in);
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
	SHOW(sh, communication_s, "communication");
	SHOW(sh, exposed_s, "exposed");
	SHOW(sh, step_s, "step");
	SHOW(sh, efficiency_frac, "efficiency");
	if (datum_given(in->target)) {
		TAKE(sh, target_frac, in->target);
		CALL(sh, allowed_s, exposed_allowed(sh, compute_s, target_frac));
		CALL(sh, needed_overlap_frac, overlap_needed(sh, communication_s, allowed_s));
		SHOW(sh, allowed_s, "may be exposed");
		SHOW(sh, needed_overlap_frac, "overlap needed");
	}
	if (datum_given(in->price)) {
		TAKE(sh, gpu_usd_per_s, in->price);
		CALL(sh, work_usd, scale_run_usd(sh, 1000, gpu_usd_per_s, step_s));
		SHOW(sh, work_usd, "1000 GPU steps");
	}
	return efficiency_frac;
}

static enum answer
predicted(struct run *r, const struct scale_in *in)
{
	struct sheet *sh = r->sheet;
	double ranks[POINTS_MAX], worst = INFINITY;

	if (!check_step(r, in) || !read_ranks(r, in, ranks))
		return REFUSED;
	r->title = "A step that waits for its gradients";
	TAKE(sh, compute_s, in->compute);
	if (datum_given(in->communication)) {
		TAKE(sh, communication_s, in->communication);
		worst = show_step(r, in, compute_s, communication_s);
	} else
		for (size_t i = 0; i < in->ranks.n; i++)
			SCOPE_I (sh, "ranks", i) {
				TAKE(sh, n_ranks, ranks[i]);
				TAKE(sh, gradient_byte, in->gradient);
				TAKE(sh, link_byte_per_s, in->bandwidth);
				TAKE(sh, hop_s, in->latency);
				SHOW(sh, n_ranks, "GPUs");
				CALL(sh, communication_s,
				    allreduce_ring(sh, n_ranks, gradient_byte, link_byte_per_s, hop_s));
				const double efficiency_frac = show_step(r, in, compute_s, communication_s);
				CALL(sh, speedup, scale_step_speedup(sh, n_ranks, efficiency_frac));
				SHOW(sh, speedup, "speedup");
				worst = fmin(worst, efficiency_frac);
			}
	const struct datum least = datum_given(in->target) ? in->target : in->warn_below;
	if (!datum_given(least))
		return ANSWERED;
	TELL(sh, verdict, "verdict",
	    arena_printf(r->arena, "%s %s", worst < least.value ? "misses" : "meets", percent(r, least.value)));
	return worst < least.value ? ANSWERED_NO : ANSWERED;
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
	SHOW(sh, bubble_gain, "faster at the target, times");
	const bool met = bubble_frac <= target_frac;
	TELL(
	    sh, verdict, "verdict", arena_printf(r->arena, "%s %s", met ? "meets" : "misses", percent(r, target_frac)));
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
			    r->diag, counts[i].given.from, "%s must be a whole number from 1 on", counts[i].name);
			diag_hint(r->diag, "nearest: %g", fmax(1, round(counts[i].given.value)));
			return false;
		}
	if (datum_given(in->target_bubble) && !(in->target_bubble.value > 0 && in->target_bubble.value < 1)) {
		diag_error(r->diag, in->target_bubble.from, "a bubble lies between 0 and 1");
		diag_hint(r->diag, "it is the share of the step that a stage waits: --target-bubble 10%%");
		return false;
	}
	if (!datum_given(in->microbatches) && !(datum_given(in->batch) && datum_given(in->micro_batch))) {
		diag_error(r->diag, in->stages.from, "how many micro-batches has a step?");
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
	r->title = "The bubble of a pipeline";
	TAKE(sh, n_stages, in->stages);
	TAKE(sh, n_interleave, in->interleave);
	if (datum_given(in->microbatches)) {
		TAKE(sh, stated_microbatches, in->microbatches);
		SET(sh, n_microbatches, stated_microbatches);
	} else {
		TAKE(sh, batch, in->batch);
		TAKE(sh, micro_batch, in->micro_batch);
		SET_CALL(sh, n_microbatches, pipeline_fill(sh, batch, micro_batch));
	}
	SHOW(sh, n_stages, "stages");
	SHOW(sh, n_microbatches, "micro-batches");
	CALL(sh, bubble_frac, pipeline_bubble(sh, n_stages, n_microbatches, n_interleave));
	SHOW(sh, bubble_frac, "idle: the bubble");
	if (datum_given(in->target_bubble)) {
		TAKE(sh, wanted_frac, in->target_bubble);
		CALL(sh, n_microbatches_needed, pipeline_microbatches(sh, n_stages, n_interleave, wanted_frac));
		CALL(sh, n_interleave_needed, pipeline_interleave(sh, n_stages, n_microbatches, wanted_frac));
		SHOW(sh, n_microbatches_needed, "micro-batches that reach the target");
		SHOW(sh, n_interleave_needed, "or chunks per stage");
	}
	if (n_interleave > 1 && fmod(n_microbatches, n_stages) != 0)
		run_warn(r, "an interleaved schedule takes micro-batches in multiples of the %g stages", n_stages);
	return bubble_verdict(r, in, bubble_frac);
}

static enum answer
measured_bubble(struct run *r, const struct scale_in *in)
{
	if (!datum_given(in->target_bubble) || in->bubble.value >= 1 || in->target_bubble.value >= 1) {
		diag_error(r->diag, in->bubble.from, "a measured bubble needs a --target-bubble, both below 1");
		return REFUSED;
	}
	struct sheet *sh = r->sheet;
	r->title = "The bubble of a pipeline";
	TAKE(sh, bubble_frac, in->bubble);
	SHOW(sh, bubble_frac, "idle: the bubble");
	return bubble_verdict(r, in, bubble_frac);
}

/* --- laws by their constants ----------------------------------------------------------------------------- */

static enum answer
laws(struct run *r, const struct scale_in *in)
{
	struct sheet *sh = r->sheet;
	double ranks[POINTS_MAX];

	if (!need_ranks(r, in) || !read_ranks(r, in, ranks))
		return REFUSED;
	r->title = "Speedup by the laws of scaling";
	TAKE(sh, contention, in->serial);
	for (size_t i = 0; i < in->ranks.n; i++)
		SCOPE_I (sh, "ranks", i) {
			TAKE(sh, n_ranks, ranks[i]);
			SHOW(sh, n_ranks, "GPUs");
			CALL(sh, amdahl_speedup, scale_amdahl(sh, n_ranks, contention));
			CALL(sh, gustafson_speedup, scale_gustafson(sh, n_ranks, contention));
			SHOW(sh, amdahl_speedup, "Amdahl: same work");
			if (datum_given(in->coherency)) {
				TAKE(sh, coherency, in->coherency);
				CALL(sh, usl_speedup, scale_usl(sh, n_ranks, contention, coherency));
				SHOW(sh, usl_speedup, "universal law");
			}
			SHOW(sh, gustafson_speedup, "Gustafson: work grows");
		}
	return ANSWERED;
}

static enum answer
rule(struct run *r, const struct scale_in *in)
{
	struct sheet *sh = r->sheet;
	double ranks[POINTS_MAX];

	if (!need_ranks(r, in) || !read_ranks(r, in, ranks))
		return REFUSED;
	r->title = "Efficiency by rule of thumb";
	run_warn(r, "a rule of thumb, not a measurement: yours may scale twice as well or as badly");
	for (size_t i = 0; i < in->ranks.n; i++)
		SCOPE_I (sh, "ranks", i) {
			TAKE(sh, n_ranks, ranks[i]);
			SHOW(sh, n_ranks, "GPUs");
			CALL(sh, efficiency_frac, scale_rule(sh, n_ranks));
			CALL(sh, speedup, scale_step_speedup(sh, n_ranks, efficiency_frac));
			SHOW(sh, efficiency_frac, "efficiency");
			SHOW(sh, speedup, "speedup");
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
			diag_error(r->diag, d.from, "%s lies between 0 and 1", fractions[i].name);
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
	    {"--points", in->points.n > 0, measured},
	    {"--times", in->times.n > 0, measured},
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
		diag_error(r->diag, (struct source){0}, "nothing to scale");
		diag_hint(r->diag,
		    "give --points or --times (measured), --compute (a step), --stages (a pipeline) or --serial (a "
		    "law)");
		return REFUSED;
	}
	if (n > 1) {
		diag_error(r->diag, (struct source){0}, "%s and %s are two questions", questions[before].name,
		    questions[asked].name);
		diag_hint(r->diag, "ask one at a time");
		return REFUSED;
	}
	return check_fractions(r, in) ? questions[asked].answer(r, in) : REFUSED;
}

static const struct option_group scale_groups[] = {OPTION_GROUP(scale_options, 0)};

static const struct example scale_examples[] = {
    {"scale --points 1:1000,2:1800,4:3200,8:4000", "measured: efficiency, fitted laws, and what more GPUs would give",
        0},
    {"scale --points 1:1000,2:1800,4:3200,8:4000 --warn-below 0.875", "the same as a check", 1},
    {"scale --times 14h@1,2h@8,25min@256 --price 3usd/h", "from times of a job, with its cost", 0},
    {"scale --compute 550ms --gradient 4GB --bandwidth 15.6GB/s --ranks 2,4,8,16",
        "a step that waits for its gradients", 0},
    {"scale --stages 8 --microbatches 8 --target-bubble 0.12", "the bubble, and what shrinks it", 1},
};

const struct command scale_command = {
    .name = "scale",
    .section = "How many, and how much?",
    .summary = "how well does it scale over GPUs, and where to stop",
    .operands = "",
    .usage = "[JOB]",
    .groups = scale_groups,
    .n_groups = sizeof scale_groups / sizeof *scale_groups,
    .examples = scale_examples,
    .n_examples = sizeof scale_examples / sizeof *scale_examples,
    .input_size = sizeof(struct scale_in),
    .run = scale_run,
};
