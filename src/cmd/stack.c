/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge stack: combined speedup of optimizations. */
#include "ask/stack/stack.h"
#include "ask/ask.h"
#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/kernel/kernel.h"

#include <string.h>

#define THIS struct stack_in
static const struct option stack_options[] = {STACK_OPTIONS(OPTION_ROW)};
#undef THIS

static enum answer
refuse(struct run *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return REFUSED;
}

static bool
check_positive(struct run *r, const struct stack_in *in)
{
	const struct datum positive[] = {in->base, in->after, in->iteration, in->cost, in->price, in->deadline,
	    in->target, in->have, in->local, in->total, in->params, in->tokens, in->gpus};

	for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
		if (datum_given(positive[i]) && !(positive[i].value > 0))
			return refuse(r, positive[i].from, "must be greater than 0",
			           "leave it out, or give a positive value") != REFUSED;
	return run_whole(r, "gpus", in->gpus, 1) & run_whole(r, "params", in->params, 1) &
	    run_whole(r, "tokens", in->tokens, 1) & measure_fraction(r, "fraction", in->fraction, 1e-9, 1) &
	    measure_fraction(r, "tolerance", in->tolerance, 0, 1);
}

/* --- Amdahl's law ---------------------------------------------------------------------------------------- */

static enum answer
amdahl_question(struct run *r, const struct stack_in *in)
{
	struct sheet *sh = r->sheet;
	const int given = datum_given(in->fraction) + datum_given(in->local) + datum_given(in->total);

	if (given != 2)
		return refuse(r, in->fraction.from, "Amdahl's law needs two of --fraction, --local and --total",
		    "give --fraction 0.4 --total 1.3, or --fraction 0.4 --local 2");
	r->title = "Amdahl's law";
	if (!datum_given(in->fraction)) {
		FROM(sh, in, local, total);
		CALL(sh, share_frac, gain_share(sh, local, total));
		SHOW(sh, local, part_speedup);
		SHOW(sh, total, speedup);
		SHOW(sh, share_frac, share_frac);
		const bool can = share_frac <= 1 && share_frac >= 0;
		TELL(sh, verdict, can ? "possible" : "infeasible: speeding up any share is not enough");
		return can ? ANSWERED : ANSWERED_NO;
	}
	TAKE(sh, share_frac, in->fraction);
	CALL(sh, limit, gain_limit(sh, share_frac));
	SHOW(sh, share_frac, share_frac);
	if (datum_given(in->local)) {
		TAKE(sh, local, in->local);
		CALL(sh, total, gain_amdahl(sh, share_frac, local));
		SHOW(sh, local, part_speedup);
		SHOW(sh, total, speedup);
		SHOW(sh, limit, max_part_speedup);
		return ANSWERED;
	}
	TAKE(sh, total, in->total);
	CALL(sh, local, gain_local(sh, share_frac, total));
	SHOW(sh, total, speedup);
	SHOW(sh, local, part_speedup);
	SHOW(sh, limit, max_part_speedup);
	const bool can = total < limit;
	TELL(sh, verdict, can ? "possible" : "infeasible: the remaining time alone is too long");
	return can ? ANSWERED : ANSWERED_NO;
}

/* --- what is still missing ------------------------------------------------------------------------------- */

static enum answer
need_question(struct run *r, const struct stack_in *in)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->target))
		return refuse(r, in->have.from, "--have needs a target", "add --target 5");
	r->title = "Remaining speedup";
	FROM(sh, in, target, have);
	CALL(sh, remaining, gain_remaining(sh, target, have));
	SHOW(sh, target, needed_speedup);
	SHOW(sh, have, speedup);
	SHOW(sh, remaining, remaining_speedup);
	const bool met = stack_reaches(have, target);
	TELL(sh, verdict, met ? "meets the target" : "misses the target");
	return met ? ANSWERED : ANSWERED_NO;
}

/* --- parts of a run: shares, Amdahl limits, and the total after changes ----------------------------------- */

enum { PARTS_MAX = 100 };

struct part {
	const char *name;
	struct source from;
	bool share; /* of the whole, not a time */
	double before, after, n_alike;
};

struct parts {
	size_t n;
	struct part list[PARTS_MAX];
	bool changes; /* some part has an after */
	struct datum whole;
	double whole_s, after_s;
};

static bool
fault(struct run *r, struct word w, const char *what, const char *hint)
{
	diag_error(r->diag, w.from, "part '%s': %s", w.text, what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

static const char form[] = "write forward=450ms, layer=4ms*32, 'prep=2.8h->0.2h', or eval=15% with --base 8h";

static bool
read_time(struct run *r, struct word w, const char *text, bool *share, double *out)
{
	struct quantity_fault why;

	*share = !quantity_read(text, Q_TIME, out, &why);
	if (*share && !quantity_read(text, Q_FRACTION, out, &why))
		return fault(r, w, arena_printf(r->arena, "'%s' is neither a time nor a share", text), form);
	if (*out < 0 || (*share && *out > 1))
		return fault(r, w, *out < 0 ? "times and shares must not be negative" : "a share is at most 1", form);
	return bounds_check(r->diag, w.from, "part", *share ? Q_FRACTION : Q_TIME, *out);
}

/* [NAME=]TIME[*N][->TIME] */
static bool
read_part(struct run *r, struct word w, size_t i, struct part *out)
{
	const char *equals = strchr(w.text, '='), *value = equals ? equals + 1 : w.text;
	const char *arrow = strstr(value, "->");
	const char *before = arrow ? arena_copy(r->arena, value, (size_t)(arrow - value)) : value;
	const char *times = strchr(before, '*');
	struct quantity_fault why;
	bool share;

	*out = (struct part){.from = w.from, .n_alike = 1};
	out->name = equals ? arena_copy(r->arena, w.text, (size_t)(equals - w.text))
	                   : arena_printf(r->arena, "part %zu", i + 1);
	if (times &&
	    (!quantity_read(times + 1, Q_COUNT, &out->n_alike, &why) || out->n_alike < 1 ||
	        out->n_alike != floor(out->n_alike) || out->n_alike > 1e6))
		return fault(r, w, "write a count after *, as in layer=4ms*32", form);
	if (times)
		before = arena_copy(r->arena, before, (size_t)(times - before));
	if (!read_time(r, w, before, &out->share, &out->before))
		return false;
	out->after = out->before;
	if (!arrow)
		return true;
	if (!read_time(r, w, arrow + 2, &share, &out->after))
		return false;
	return share == out->share || fault(r, w, "a time and a share cannot be compared", form);
}

static bool
read_parts(struct run *r, const struct stack_in *in, struct parts *p)
{
	run_reads(r, &in->breakdown, NULL);
	*p = (struct parts){.n = in->breakdown.n, .whole = in->base};
	if (p->n > PARTS_MAX)
		return fault(r, in->breakdown.list[0], "more than 100 parts", "combine small parts");
	for (size_t i = 0; i < p->n; i++) {
		if (!read_part(r, in->breakdown.list[i], i, &p->list[i]))
			return false;
		if (p->list[i].share && !datum_given(in->base))
			return fault(r, in->breakdown.list[i], "shares need the whole time", "add --base");
		for (size_t k = 0; k < i; k++)
			if (strcmp(p->list[k].name, p->list[i].name) == 0)
				return fault(r, in->breakdown.list[i], "part given twice",
				    "write layer=4ms*32 for equal parts, or use different names");
		p->changes = p->changes || p->list[i].after != p->list[i].before;
	}
	return true;
}

/* --- sums ------------------------------------------------------------------------------------------------ */

static double
part_time(struct sheet *sh, const struct parts *p, size_t i, bool after)
{
	const struct part *part = &p->list[i];

	if (part->share) {
		TAKE(sh, whole_s, p->whole);
		TAKE(sh, share_frac, after ? part->after : part->before);
		CALL(sh, part_s, gain_share_time(sh, whole_s, share_frac));
		return part_s;
	}
	TAKE(sh, one_s, after ? part->after : part->before);
	TAKE(sh, n_alike, part->n_alike);
	CALL(sh, part_s, gain_parts(sh, one_s, n_alike));
	return part_s;
}

/* Show the time not covered by the parts; negative if they exceed the whole. */
static double
show_whole(struct run *r, struct parts *p)
{
	struct sheet *sh = r->sheet;
	double over = 0;

	SUM(sh, parts_s, i, (int)p->n, part_time(sh, p, (size_t)i, false));
	SHOW(sh, parts_s, parts_s);
	p->whole_s = parts_s;
	if (datum_given(p->whole)) {
		TAKE(sh, stated_s, p->whole);
		CALL(sh, rest_s, gain_rest(sh, stated_s, parts_s));
		SHOW(sh, stated_s, stated_s);
		SHOW(sh, rest_s, rest_s);
		over = rest_s;
		p->whole_s = fmax(stated_s, parts_s);
	}
	if (p->changes) {
		SUM(sh, parts_after_s, k, (int)p->n, part_time(sh, p, (size_t)k, true));
		TAKE(sh, all_s, p->whole_s);
		CALL(sh, unnamed_s, gain_rest(sh, all_s, parts_s));
		CALL(sh, after_s, gain_sum(sh, parts_after_s, unnamed_s));
		p->after_s = after_s;
	}
	return over;
}

/* --- the table ------------------------------------------------------------------------------------------- */

struct shares {
	double most, next, seen; /* the largest share, the second, all so far */
	const char *name;
};

static void
note_share(struct shares *s, double share, const char *name)
{
	if (share > s->most) {
		s->next = s->most;
		s->most = share;
		s->name = name;
	} else
		s->next = fmax(s->next, share);
}

static void
show_part(struct run *r, const struct parts *p, size_t i, struct shares *s)
{
	struct sheet *sh = r->sheet;

	SCOPE_I (sh, "parts", i) {
		TELL(sh, part, p->list[i].name);
		TAKE(sh, whole_s, p->whole_s);
		CALL(sh, part_s, part_time(sh, p, i, false));
		CALL(sh, share_frac, roofline_share(sh, part_s, whole_s));
		TAKE(sh, seen_s, s->seen);
		CALL(sh, so_far_s, gain_sum(sh, seen_s, part_s));
		CALL(sh, so_far_frac, roofline_share(sh, so_far_s, whole_s));
		SHOW(sh, part_s, time_s);
		SHOW(sh, share_frac, share_frac);
		SHOW(sh, so_far_frac, cumulative_frac);
		if (share_frac < 1) {
			CALL(sh, limit, gain_limit(sh, share_frac));
			SHOW(sh, limit, max_part_speedup);
		}
		if (p->changes) {
			CALL(sh, part_after_s, part_time(sh, p, i, true));
			SHOW(sh, part_after_s, after_s);
			if (part_after_s > 0 && part_s > 0) {
				CALL(sh, factor, scale_speedup_time(sh, part_s, part_after_s));
				SHOW(sh, factor, factor);
			}
		}
		note_share(s, share_frac, p->list[i].name);
		s->seen = so_far_s;
	}
}

static void
show_change(struct run *r, const struct parts *p)
{
	struct sheet *sh = r->sheet;

	if (!p->changes || !(p->after_s > 0))
		return;
	TAKE(sh, whole_s, p->whole_s);
	TAKE(sh, whole_after_s, p->after_s);
	CALL(sh, speedup, scale_speedup_time(sh, whole_s, whole_after_s));
	CALL(sh, saved_frac, gain_saved_frac(sh, speedup));
	SHOW(sh, whole_after_s, after_s);
	SHOW(sh, speedup, speedup);
	SHOW(sh, saved_frac, saved_frac);
}

static enum answer
show_deadline(struct run *r, const struct stack_in *in, const struct parts *p)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->deadline))
		return ANSWERED;
	const double final_s = p->changes ? p->after_s : p->whole_s;
	TAKE(sh, deadline_s, in->deadline);
	CALL(sh, late_s, gain_late(sh, final_s, deadline_s));
	SHOW(sh, late_s, late_s);
	TELL(sh, verdict, late_s <= 0 ? "meets the deadline" : "misses the deadline");
	return late_s <= 0 ? ANSWERED : ANSWERED_NO;
}

static enum answer
stack_parts(struct run *r, const struct stack_in *in)
{
	struct sheet *sh = r->sheet;
	struct parts *p = ARENA_NEW(r->arena, struct parts);
	struct shares s = {0, 0, 0, NULL};

	if (!read_parts(r, in, p))
		return REFUSED;
	r->title = "Time breakdown";
	const double rest_s = show_whole(r, p);
	if (!(p->whole_s > 0)) {
		diag_error(r->diag, in->breakdown.list[0].from, "the parts add up to 0");
		diag_hint(r->diag, "%s", form);
		return REFUSED;
	}
	for (size_t i = 0; i < p->n; i++)
		show_part(r, p, i, &s);
	show_change(r, p);
	if (s.name && p->n > 1) {
		TAKE(sh, largest_frac, s.most);
		TAKE(sh, next_frac, s.next);
		TELL(sh, largest_part, s.name);
		CALL(sh, ahead_frac, gain_ahead(sh, largest_frac, next_frac));
		SHOW(sh, ahead_frac, ahead_frac);
	}
	/* shares that are printed in whole percent may add up to a little more */
	if (rest_s < -0.01 * p->whole_s) {
		run_reads(r, &in->deadline, NULL); /* what cannot be meets none */
		TELL(sh, verdict, "infeasible: the parts exceed the whole");
		return ANSWERED_NO;
	}
	return show_deadline(r, in, p);
}

/* --- the command ----------------------------------------------------------------------------------------- */

static enum answer
stack_answer(struct run *r, const void *input)
{
	const struct stack_in *in = input;
	const struct {
		const char *name;
		bool asked;
		enum answer (*answer)(struct run *r, const struct stack_in *in);
	} questions[] = {
	    {"--check", in->check.text || in->table, stack_check},
	    {"--breakdown", in->breakdown.n > 0, stack_parts},
	    {"--fraction, --local, --total",
	        datum_given(in->fraction) || datum_given(in->local) || datum_given(in->total), amdahl_question},
	    {"--have", datum_given(in->have), need_question},
	    {"--steps", in->steps.n > 0, stack_run},
	};
	size_t n = 0, asked = sizeof questions / sizeof *questions - 1, before = 0;

	if (!check_positive(r, in))
		return REFUSED;
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		if (questions[i].asked) {
			before = n ? before : i;
			asked = i;
			n++;
		}
	if (n > 1)
		return refuse(r, (struct source){0},
		    arena_printf(
		        r->arena, "%s cannot be combined with %s", questions[before].name, questions[asked].name),
		    "use one of them");
	return questions[asked].answer(r, in);
}

static const struct option_group stack_groups[] = {OPTION_GROUP(stack_options, 0)};

static const struct example stack_examples[] = {
    {"stack --base 850ms --cost 50000usd --steps data=1.4,amp=1.7,compile=1.15,adamw=1.12",
        "combined speedup of four optimizations, in time and cost", 0},
    {"stack --base 48h --deadline 10h --steps "
     "ssd=1.18,flash=1.63@0.20,bf16=1.55,accumulate=1.14,zero2=1.38,compile=1.22",
        "kernel speedup on a fraction of the time", 1},
    {"stack --base 36d --steps data=1.15,sync=1.08,bf16=1.6,accumulate=1.12,zero3=1.35,'bubble:0.35->0.12' --params "
     "175B "
     "--tokens 300B --gpus 1024 --gpu doc-a100",
        "check a claim against the hardware's peak", 1},
    {"stack --steps data=1.1..1.3,sync=1.05..1.15,amp=1.4..1.8 --base 10h", "factors as ranges", 0},
    {"stack --breakdown forward=450ms,backward=580ms,optimizer=120ms,communication=140ms",
        "breakdown of a step, with the maximum speedup of each part", 0},
    {"stack --fraction 0.4 --total 1.3", "local speedup needed for a total speedup", 0},
    {"stack stack-table", "check a published table line by line", 0},
};

static const struct input_needs stack_needs[] = {
    {"deadline", "it needs --base 36h and --steps"},
    {"target", "it needs --steps or --have"},
    {"tolerance", "it needs --check FILE"},
    {"cost", "it needs --steps"},
    {"price", "it needs --gpus, --base and --steps"},
    {"effort", "it needs --steps"},
    {"gpus", "it needs --price, or --params with --tokens and --gpu"},
    {"gpu", "it needs --params or --model, --tokens and --gpus"},
    {"params", "it needs --tokens, --gpus and --gpu"},
    {"model", "it needs --tokens, --gpus and --gpu"},
    {"tokens", "it needs --params or --model, --gpus and --gpu"},
    {"dtype", "it needs --params or --model, --tokens, --gpus and --gpu"},
};

const struct command stack_command = {
    .name = "stack",
    .section = "Capacity and cost",
    .summary = "Combined speedup of optimizations; sanity check of claims",
    .operands = "",
    .usage = "[JOB]",
    COUNTED(groups, stack_groups),
    COUNTED(examples, stack_examples),
    COUNTED(needs, stack_needs),
    .input_size = sizeof(struct stack_in),
    .run = stack_answer,
};
