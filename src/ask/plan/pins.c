/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Degrees that --layout pins, and numbers of GPUs. */
#include "ask/plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* --- pins ------------------------------------------------------------------------------------------------ */

static bool
bad_pin(struct run *r, const char *name, struct word w)
{
	diag_error(r->diag, w.from, "'%s' is no value of %s", w.text, name);
	diag_hint(r->diag, "write for example --layout %s=4, %s=2..8 or %s=1/2/8", name, name, name);
	return false;
}

/* `8`, `4..16`, `1/2/8..16`. */
static bool
bind_pin(struct run *r, const char *name, long least, struct word w, struct layout_pin *out)
{
	const char *s = w.text;

	for (out->n = 0; s; out->n++) {
		char *end;
		if (out->n == MOST_PIN_RANGES) {
			diag_error(r->diag, w.from, "too many alternatives");
			diag_hint(r->diag, "use a range, such as 1..16");
			return false;
		}
		const long low = strtol(s, &end, 10);
		long high = low;
		if (end == s)
			return bad_pin(r, name, w);
		if (end[0] == '.' && end[1] == '.') {
			s = end + 2;
			high = strtol(s, &end, 10);
			if (end == s)
				return bad_pin(r, name, w);
		}
		if ((*end && *end != '/') || low < least || high > 1000000)
			return bad_pin(r, name, w);
		if (high < low) {
			diag_error(r->diag, w.from, "%s=%s is reversed", name, w.text);
			diag_hint(r->diag, "write %s=%ld..%ld", name, high, low);
			return false;
		}
		out->ranges[out->n].low = (double)low;
		out->ranges[out->n].high = (double)high;
		s = *end ? end + 1 : NULL;
	}
	return true;
}

bool
plan_bind_pins(struct run *r, const struct plan_layout_in *in, struct layout_space *s)
{
	bool ok = true;

	for (int d = 0; d < N_DEGREES; d++) {
		const struct word w = in->degrees[d];
		if (w.text)
			ok = bind_pin(r, layout_degree_name((enum layout_degree)d), d == DEGREE_ZERO ? 0 : 1, w,
			         &s->pins[d]) &&
			    ok;
		run_reads(r, &in->degrees[d], NULL);
	}
	s->across = in->across;
	s->shard = datum_or(in->shard, 0);
	run_reads(r, &in->across, &in->shard, NULL);
	return ok && run_whole(r, "shard", in->shard, 1);
}

/* --- numbers of GPUs ------------------------------------------------------------------------------------- */

enum { MOST_COUNTS = 4096 };

static bool
bad_count(struct run *r, struct word w, const char *why)
{
	diag_error(r->diag, w.from, "--gpus %s: %s", w.text, why);
	diag_hint(r->diag, "write for example 64, 64,128, 64..2048, 64..2048*2 or 64..512+64");
	return false;
}

static bool
read_count(struct run *r, struct word w, const char *from, size_t n, double *out)
{
	struct quantity_fault fault;

	if (!quantity_read(arena_copy(r->arena, from, n), Q_COUNT, out, &fault))
		return bad_count(r, w, fault.what);
	return *out >= 1 && *out == floor(*out) && *out <= 1e7 ? true : bad_count(r, w, "no whole number of GPUs");
}

static bool
add_count(struct run *r, struct word w, double n, struct plan_question *out)
{
	if (out->n_counts == MOST_COUNTS)
		return bad_count(r, w, arena_printf(r->arena, "more than %d numbers of GPUs", MOST_COUNTS));
	out->counts[out->n_counts++] = n;
	return true;
}

/* `64..2048`, `64..2048*2`, `64..512+64`. */
static bool
add_range(struct run *r, struct word w, const char *dots, double node, struct plan_question *out)
{
	const size_t n_end = strcspn(dots + 2, "*+");
	const char sign = dots[2 + n_end];
	double low, high, step = node;

	if (!read_count(r, w, w.text, (size_t)(dots - w.text), &low) || !read_count(r, w, dots + 2, n_end, &high) ||
	    (sign && !read_count(r, w, dots + 3 + n_end, strlen(dots + 3 + n_end), &step)))
		return false;
	if (low > high) {
		diag_error(r->diag, w.from, "--gpus %s is reversed", w.text);
		diag_hint(r->diag, "write --gpus %g..%g", high, low);
		return false;
	}
	if (sign == '*' && step <= 1)
		return bad_count(r, w, "the factor does not grow");
	if (!sign && low > 1)
		low = step * ceil(low / step);
	for (double n = low; n <= high; n = sign == '*' ? n * step : n + step)
		if (!add_count(r, w, n, out))
			return false;
	return true;
}

static int
by_count(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

bool
plan_bind_counts(struct run *r, const struct words *said, double node, struct plan_question *out)
{
	const struct word usual = {arena_printf(r->arena, "%g..16384", node), {inputs_default, 0, 0, NULL, false}};
	const struct words open = {1, (struct word[]){usual}}, *words = said->n ? said : &open;
	size_t n = 0;

	out->counts = ARENA_ARRAY(r->arena, double, MOST_COUNTS);
	for (size_t i = 0; i < words->n; i++) {
		const struct word w = words->list[i];
		const char *dots = strstr(w.text, "..");
		double one;
		if (dots ? !add_range(r, w, dots, node, out)
		         : !read_count(r, w, w.text, strlen(w.text), &one) || !add_count(r, w, one, out))
			return false;
	}
	qsort(out->counts, out->n_counts, sizeof *out->counts, by_count);
	for (size_t i = 0; i < out->n_counts; i++)
		if (i == 0 || out->counts[i] != out->counts[n - 1])
			out->counts[n++] = out->counts[i];
	out->n_counts = n;
	if (n == 0)
		return bad_count(r, words->list[0], arena_printf(r->arena, "no multiple of %g between these", node));
	if (!said->n)
		run_assume(r, "GPUs: multiples of %g up to 16384", node);
	return true;
}
