/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Breakdown of a run: share and Amdahl limit of each part, and the total after changes. */
#include "ask/stack/stack.h"
#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/kernel/kernel.h"

#include <string.h>

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

enum answer
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
