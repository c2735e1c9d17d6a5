/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans without a row: nothing is legal, or nothing fits. */
#include "ask/plan/plan.h"

#include "search/plan/plan.h"

#include <string.h>

/* The best layout of the first variant with one pin dropped; memory counts as `modeled` says. */
static bool
without_pin(
    struct run *r, const struct plan_in *in, const struct plan_question *b, int d, bool modeled, struct plan_row *out)
{
	const struct plan_variant *v = &b->variants[0];
	const double n_gpus = b->counts[b->n_counts - 1];
	struct layout_space other = plan_space(v, n_gpus);
	struct layout_result found;

	other.pins[d].n = 0;
	other.n_rows = 1;
	other.exhaustive = false;
	other.modeled = modeled;
	layout_search(r->arena, &other, &found);
	if (found.n_rows == 0)
		return false;
	plan_fill(r, in, v, n_gpus, &found.rows[0], out);
	return true;
}

/* Which single pin, dropped, leaves something legal. */
static const char *
pin_in_the_way(struct run *r, const struct plan_in *in, const struct plan_question *b)
{
	struct plan_row row;

	for (int d = 0; d < N_DEGREES; d++)
		if (b->variants[0].space.pins[d].n > 0 && without_pin(r, in, b, d, false, &row))
			return arena_printf(r->arena, "leave %s open, for example --layout %s",
			    layout_degree_name((enum layout_degree)d), plan_layout_text(r, &row.memory));
	return "use another number of GPUs or another global batch";
}

static enum answer
nothing_legal(struct run *r, const struct plan_in *in, const struct plan_question *b, const struct layout_result *found)
{
	const double n_gpus = b->counts[b->n_counts - 1];
	int most = N_LAYOUT_RULES;

	for (int i = 0; i < N_LAYOUT_RULES; i++)
		if (found->n_refused[i] > 0 && (most == N_LAYOUT_RULES || found->n_refused[i] > found->n_refused[most]))
			most = i;
	if (most == N_LAYOUT_RULES)
		diag_error(r->diag, (struct source){0}, "no layout of %g GPUs matches --layout", n_gpus);
	else
		diag_error(r->diag, (struct source){0}, "no legal layout of %g GPUs: %s (%s)", n_gpus,
		    layout_rule_text((enum layout_rule)most),
		    layout_rule_place((enum layout_rule)most, b->variants[0].space.memory.stack));
	diag_hint(r->diag, "%s", pin_in_the_way(r, in, b));
	return REFUSED;
}

/* The fewest GPUs, in doublings, on which something fits; 0: none up to sixteen times as many. */
static double
gpus_that_do(struct run *r, const struct plan_question *b)
{
	for (double times = 2; times <= 16; times *= 2) {
		struct layout_space more = plan_space(&b->variants[0], times * b->counts[b->n_counts - 1]);
		struct layout_result found;
		more.n_rows = 1;
		more.exhaustive = false;
		layout_search(r->arena, &more, &found);
		if (found.n_rows > 0)
			return more.n_gpus;
	}
	return 0;
}

/* Pins without which something fits on the same GPUs. */
static void
show_pins_in_the_way(struct run *r, const struct plan_in *in, const struct plan_question *b)
{
	struct plan_row row;

	for (int d = 0; d < N_DEGREES; d++)
		if (b->variants[0].space.pins[d].n > 0 && without_pin(r, in, b, d, true, &row))
			run_warn(r, "pin %s prevents a fit: without it %s fits, %.3g s a step",
			    layout_degree_name((enum layout_degree)d), plan_layout_text(r, &row.memory),
			    row.row.step_s);
}

static enum answer
nothing_fits(struct run *r, const struct plan_in *in, const struct plan_question *b, const struct plan_found *found)
{
	struct sheet *sh = r->sheet;
	const double n_now = b->counts[b->n_counts - 1];

	TELL(sh, verdict, verdict_name(DOES_NOT_FIT));
	TAKE(sh, card_byte, b->variants[0].space.memory.card_byte);
	SHOW(sh, card_byte, gpu_mem_byte);
	if (found->merged.has_least)
		plan_show_near(r, &found->least, "least memory of all layouts");
	show_pins_in_the_way(r, in, b);
	const double n = gpus_that_do(r, b);
	if (n > 0) {
		TAKE(sh, n_min_gpus, n);
		SHOW(sh, n_min_gpus, n_min_gpus);
		run_warn(r, "no layout fits on %g GPUs; some do on %g", n_now, n);
	} else
		run_warn(r, "no layout fits on %g GPUs, nor on up to 16 times as many", n_now);
	return ANSWERED_NO;
}

enum answer
plan_show_nothing(
    struct run *r, const struct plan_in *in, const struct plan_question *b, const struct plan_found *found)
{
	return found->merged.n_searched == 0 ? nothing_legal(r, in, b, &found->merged) : nothing_fits(r, in, b, found);
}
