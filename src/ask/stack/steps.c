/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parse steps such as flash=1.63@0.20 and 'ddp:45ms->39ms/119ms'. */
#include "ask/stack/stack.h"

#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"

#include <ctype.h>
#include <string.h>

static bool
fault(struct run *r, struct word w, const char *what, const char *hint)
{
	diag_error(r->diag, w.from, "step '%s': %s", w.text, what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

static const char form[] =
    "write data=1.15, flash=1.63@0.20 (of a fraction of the time), data=1.1..1.3, 'compile:450ms->250ms', "
    "'ddp:45ms->39ms/119ms' (a part of a time), 'idle:0.15->0.02', 'bubble:0.35->0.12' or 'apt=rate:1200->1800'";

/* --- stated factors -------------------------------------------------------------------------------------- */

/* 1.15 or 1.15x; a share may be 20%. */
static bool
read_number(struct run *r, const char *text, enum quantity q, double *out)
{
	struct quantity_fault why;
	const size_t n = strlen(text);
	const bool times = q == Q_NUMBER && n > 1 && text[n - 1] == 'x';

	return quantity_read(times ? arena_copy(r->arena, text, n - 1) : text, q, out, &why);
}

/* 1.1..1.3, or one number for both ends. */
static bool
read_range(struct run *r, const char *text, enum quantity q, double out[2])
{
	const char *dots = strstr(text, "..");

	if (!dots)
		return read_number(r, text, q, &out[0]) && read_number(r, text, q, &out[1]);
	return read_number(r, arena_copy(r->arena, text, (size_t)(dots - text)), q, &out[0]) &&
	    read_number(r, dots + 2, q, &out[1]);
}

static const char *
percent(struct run *r, double share)
{
	char buf[40];

	return arena_text(r->arena, value_write("x_frac", share, buf, sizeof buf));
}

static bool
read_stated(struct run *r, struct word w, const char *text, struct step *out)
{
	const char *at = strchr(text, '@');

	out->scope = at ? STEP_SHARE : STEP_WHOLE;
	if (!read_range(r, at ? arena_copy(r->arena, text, (size_t)(at - text)) : text, Q_NUMBER, out->factor))
		return fault(r, w, "the factor is not a number", form);
	if (!(out->factor[0] > 0) || out->factor[1] < out->factor[0])
		return fault(r, w, "a factor must be greater than 0, and a range must end above its start",
		    "2 is twice as fast; below 1 is slower");
	if (!bounds_check(r->diag, w.from, "factor", Q_NUMBER, out->factor[1]))
		return false;
	if (at && !read_range(r, at + 1, Q_FRACTION, out->share))
		return fault(r, w, "the fraction of the time is not a number", form);
	if (at && !(out->share[0] > 0 && out->share[1] <= 1 && out->share[0] <= out->share[1]))
		return fault(r, w, "a fraction of the time must be between 0 and 1", "write @0.20 or @20%");
	out->ranged = out->factor[1] > out->factor[0] || (at && out->share[1] > out->share[0]);
	out->applies = !at ? "whole run"
	    : out->share[1] > out->share[0]
	    ? arena_printf(r->arena, "%s to %s of the time", percent(r, out->share[0]), percent(r, out->share[1]))
	    : arena_printf(r->arena, "%s of the time", percent(r, out->share[0]));
	return true;
}

/* --- before and after ------------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	enum step_scope scope;
} kinds[] = {{"idle", STEP_IDLE}, {"bubble", STEP_IDLE}, {"rate", STEP_RATE}, {"time", STEP_TIMES}};

static bool
kind_of(const char *text, size_t n, enum step_scope *out)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i].name) == n && strncmp(kinds[i].name, text, n) == 0) {
			*out = kinds[i].scope;
			return true;
		}
	return false;
}

struct measured {
	double before, after, whole;
	bool times, has_whole, now;
};

/* A time, or a plain number. */
static bool
read_value(struct run *r, struct word w, const char *text, bool *time, double *out)
{
	struct quantity_fault why;

	*time = quantity_read(text, Q_TIME, out, &why);
	if (!*time && !quantity_read(text, Q_FRACTION, out, &why))
		return fault(r, w, arena_printf(r->arena, "'%s' is neither a time nor a number", text), form);
	if (*out < 0)
		return fault(r, w, "times and rates must not be negative", form);
	return bounds_check(r->diag, w.from, *time ? "time" : "measurement", *time ? Q_TIME : Q_NUMBER, *out);
}

/* BEFORE->AFTER[/WHOLE] */
static bool
read_measured(struct run *r, struct word w, const char *text, struct measured *m)
{
	const char *arrow = strstr(text, "->"), *slash = arrow ? strchr(arrow, '/') : NULL;
	bool after_time, whole_time;

	*m = (struct measured){.has_whole = slash != NULL};
	if (!arrow)
		return fault(r, w, "value missing after '->'", form);
	const char *after = arrow + 2;
	if (slash)
		after = arena_copy(r->arena, after, (size_t)(slash - after));
	if (!read_value(r, w, arena_copy(r->arena, text, (size_t)(arrow - text)), &m->times, &m->before) ||
	    !read_value(r, w, after, &after_time, &m->after))
		return false;
	if (m->times != after_time)
		return fault(r, w, "a time and a number cannot be compared", form);
	m->now = slash && strcmp(slash + 1, "now") == 0;
	if (!slash || m->now)
		return true;
	if (!read_value(r, w, slash + 1, &whole_time, &m->whole))
		return false;
	if (whole_time != m->times)
		return fault(r, w, "a part and its whole must both be times or both shares", form);
	return true;
}

static bool
idle_step(struct run *r, struct word w, const struct measured *m, struct step *out)
{
	if (m->times || m->has_whole || m->before >= 1 || m->after >= 1)
		return fault(r, w, "idle time must be a share below 1", "write for example idle:0.15->0.02");
	out->applies = arena_printf(r->arena, "idle %s -> %s", percent(r, m->before), percent(r, m->after));
	return true;
}

static bool
part_step(struct run *r, struct word w, const struct measured *m, struct step *out)
{
	char part[40], whole[40];

	if (m->now) {
		if (!m->times)
			return fault(
			    r, w, "a part of the iteration must be a time", "write for example ddp:45ms->39ms/now");
		value_write("x_s", m->before, part, sizeof part);
		out->applies = arena_printf(r->arena, "%s of the iteration then", part);
		return true;
	}
	if (!m->times && m->whole != 1)
		return fault(
		    r, w, "the whole of shares must be 1", "write optimizer:8%->2%/1, or times with their units");
	if (m->before > m->whole || m->whole - m->before + m->after <= 0)
		return fault(r, w, "the part exceeds the whole", "give the whole iteration time after /");
	if (!m->times) {
		out->scope = STEP_PART_SHARE;
		out->applies = arena_printf(r->arena, "%s of the time", percent(r, m->before));
		return true;
	}
	value_write("x_s", m->before, part, sizeof part);
	value_write("x_s", m->whole, whole, sizeof whole);
	out->applies = arena_printf(r->arena, "%s of %s", part, whole);
	return true;
}

static bool
whole_step(struct run *r, struct word w, const struct measured *m, struct step *out)
{
	if (!(m->before > 0 && m->after > 0))
		return fault(r, w, "both must be greater than 0", form);
	if (out->scope == STEP_TIMES && !m->times) {
		if (m->before <= 1 && m->after <= 1)
			return fault(r, w, "shares need a whole",
			    "write idle:0.15->0.02 for idle time, optimizer:0.08->0.02/1 for a part of the old time");
		out->scope = STEP_AMOUNT;
	}
	if (out->scope == STEP_RATE && m->times)
		return fault(r, w, "a rate must not be a time", "write for example apt=rate:1200->1800");
	out->applies = "whole run";
	return true;
}

static bool
measured_step(struct run *r, struct word w, const char *text, struct step *out)
{
	struct measured m;

	if (!read_measured(r, w, text, &m))
		return false;
	out->before = m.before;
	out->after = m.after;
	out->whole = m.whole;
	out->now = m.now;
	if (out->scope == STEP_IDLE)
		return idle_step(r, w, &m, out);
	if (!m.has_whole)
		return whole_step(r, w, &m, out);
	if (out->scope == STEP_RATE)
		return fault(r, w, "a rate takes no whole", "write for example apt=rate:1200->1800");
	out->scope = STEP_PART;
	return part_step(r, w, &m, out);
}

/* --- a step ---------------------------------------------------------------------------------------------- */

bool
step_read(struct run *r, struct word w, struct step *out)
{
	const size_t n = strcspn(w.text, "=:");
	const char *rest = w.text + n + (w.text[n] != '\0');

	*out = (struct step){.from = w.from, .scope = STEP_TIMES, .effort_s = NAN};
	if (n == 0 || !*rest)
		return fault(r, w, "not of the form NAME=FACTOR", form);
	out->name = arena_copy(r->arena, w.text, n);
	if (w.text[n] == '=' && (isdigit((unsigned char)*rest) || *rest == '.'))
		return read_stated(r, w, rest, out);
	if (w.text[n] == ':') {
		kind_of(out->name, n, &out->scope);
		return measured_step(r, w, rest, out);
	}
	const size_t k = strcspn(rest, ":");
	if (!rest[k] || !kind_of(rest, k, &out->scope))
		return fault(r, w, arena_printf(r->arena, "'%.*s' is not a known kind of gain", (int)k, rest), form);
	return measured_step(r, w, rest + k + 1, out);
}

struct step *
steps_read(struct run *r, const struct words *list)
{
	struct step *steps = ARENA_ARRAY(r->arena, struct step, list->n + 1);
	bool ok = true;

	for (size_t i = 0; i < list->n && ok; i++) {
		ok = step_read(r, list->list[i], &steps[i]);
		for (size_t k = 0; k < i && ok; k++)
			ok = strcmp(steps[k].name, steps[i].name) != 0 ||
			    fault(r, list->list[i], "step given twice", "use a different name for each step");
	}
	return ok ? steps : NULL;
}

bool
steps_effort(struct run *r, const struct words *list, struct step *steps, size_t n)
{
	struct quantity_fault why;

	for (size_t i = 0; i < list->n; i++) {
		const struct word w = list->list[i];
		const size_t k = strcspn(w.text, "=");
		size_t s = 0;
		while (s < n && (strlen(steps[s].name) != k || strncmp(steps[s].name, w.text, k) != 0))
			s++;
		if (s == n || !w.text[k])
			return fault(r, w, "unknown step", "use names of --steps: --effort NAME=2d,...");
		if (!quantity_read(w.text + k + 1, Q_TIME, &steps[s].effort_s, &why) || !(steps[s].effort_s > 0))
			return fault(r, w, "the effort must be a time", "write for example 4h or 2d");
		if (!bounds_check(r->diag, w.from, "effort", Q_TIME, steps[s].effort_s))
			return false;
	}
	for (size_t s = 0; list->n && s < n; s++)
		if (isnan(steps[s].effort_s)) {
			diag_error(r->diag, list->list[0].from, "no effort for '%s'", steps[s].name);
			diag_hint(r->diag, "give one for every step to rank them");
			return false;
		}
	return true;
}

double
step_factor(struct sheet *sh, const struct step *s, int end, double iteration_s)
{
	switch (s->scope) {
	case STEP_WHOLE: {
		CALL(sh, factor, gain_factor(sh, s->factor[end]));
		return factor;
	}
	case STEP_SHARE: {
		/* a slowdown of more of the time is the low end */
		const double share = s->factor[end] < 1 ? s->share[1 - end] : s->share[end];
		CALL(sh, factor, gain_amdahl(sh, share, s->factor[end]));
		return factor;
	}
	case STEP_TIMES: {
		CALL(sh, factor, scale_speedup_time(sh, s->before, s->after));
		return factor;
	}
	case STEP_PART: {
		CALL(sh, factor, gain_part(sh, s->now ? iteration_s : s->whole, s->before, s->after));
		return factor;
	}
	case STEP_PART_SHARE: {
		CALL(sh, factor, gain_part_share(sh, s->before, s->after));
		return factor;
	}
	case STEP_IDLE: {
		CALL(sh, factor, pipeline_gain(sh, s->before, s->after));
		return factor;
	}
	case STEP_RATE: {
		CALL(sh, factor, scale_speedup_rate(sh, s->before, s->after));
		return factor;
	}
	case STEP_AMOUNT: {
		CALL(sh, factor, gain_amount(sh, s->before, s->after));
		return factor;
	}
	}
	return 1;
}
