/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why there is no layout: nothing is legal, or nothing fits. */
#include "ask/plan/plan.h"

#include <math.h>
#include <stdlib.h>

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

/* Whether the first variant has a layout at these sizes, one that fits if memory is modeled. */
static bool
works(struct run *r, const struct plan_question *b, double n_gpus, double n_global_sequences)
{
	struct layout_space other = plan_space(&b->variants[0], n_gpus);
	struct layout_result found;

	other.n_global_sequences = n_global_sequences;
	other.n_rows = 1;
	other.exhaustive = false;
	layout_search(r->arena, &other, &found);
	return found.n_rows > 0;
}

struct other_batch {
	double n, far;
};

static int
by_far(const void *a, const void *b)
{
	const struct other_batch *x = a, *y = b;

	return (x->far > y->far) - (x->far < y->far);
}

enum { BATCHES_TRIED = 32, NODES_TRIED = 12 };

/* The global batch nearest to the given one that has a layout: a multiple of the micro-batch and some dp, which
 * divides the GPUs; 0: none of the nearest. */
static double
nearest_batch(struct run *r, const struct plan_question *b, double n_gpus)
{
	const struct layout_space *s = &b->variants[0].space;
	const double given = s->n_global_sequences, micro = s->batches.n > 0 ? s->batches.ranges[0].low : 1;
	struct other_batch *list = NULL;
	size_t n = 0;

	for (double dp = 1; dp <= n_gpus; dp++) {
		const double near = micro * dp * fmax(1, round(given / (micro * dp)));
		if (fmod(n_gpus, dp) != 0 || near == given)
			continue;
		list = arena_grow(r->arena, list, n, n + 1, sizeof *list);
		list[n++] = (struct other_batch){near, fabs(near - given)};
	}
	if (n > 0)
		qsort(list, n, sizeof *list, by_far);
	for (size_t i = 0; i < n && i < BATCHES_TRIED; i++)
		if (works(r, b, n_gpus, list[i].n))
			return list[i].n;
	return 0;
}

/* The number of GPUs, in whole nodes, nearest to the given one that has a layout; 0: none near. */
static double
nearest_gpus(struct run *r, const struct plan_question *b, double n_gpus)
{
	const double node = b->n_node_gpus, down = node * floor(n_gpus / node);
	const double batch = b->variants[0].space.n_global_sequences;

	for (int i = 0; i < NODES_TRIED; i++) {
		const double below = down - i * node, above = down + (i + 1) * node;
		if (below > 0 && below != n_gpus && works(r, b, below, batch))
			return below;
		if (works(r, b, above, batch))
			return above;
	}
	return 0;
}

static const char *
other_numbers(struct run *r, const struct plan_question *b)
{
	const double n_gpus = b->counts[b->n_counts - 1];
	const double batch = nearest_batch(r, b, n_gpus), gpus = nearest_gpus(r, b, n_gpus);

	if (batch > 0 && gpus > 0)
		return arena_printf(r->arena, "nearest: --global-batch %.10g, or --gpus %.10g", batch, gpus);
	if (batch > 0 || gpus > 0)
		return arena_printf(
		    r->arena, "nearest: %s %.10g", batch > 0 ? "--global-batch" : "--gpus", batch > 0 ? batch : gpus);
	return "use another number of GPUs or another global batch";
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
	if (b->variants[0].space.shard > 0)
		return "leave shard out, or take a divisor of dp x cp";
	return other_numbers(r, b);
}

/* The one value of a pin; NaN: it is open, or a choice. */
static double
pinned_to(const struct layout_space *s, enum layout_degree d)
{
	const struct layout_pin *p = &s->pins[d];

	return p->n == 1 && p->ranges[0].low == p->ranges[0].high ? p->ranges[0].low : NAN;
}

/* Pins that no rule of a framework is about, and that no layout has; NULL: there are none. */
static const char *
pins_contradict(struct run *r, const struct layout_space *s)
{
	static const enum layout_degree of_gpus[] = {DEGREE_TP, DEGREE_PP, DEGREE_CP, DEGREE_DP};
	const double tp = pinned_to(s, DEGREE_TP), cp = pinned_to(s, DEGREE_CP), n_domain = s->ask.machine.n_domain;
	const char *list = "";
	double product = 1;

	for (size_t i = 0; i < sizeof of_gpus / sizeof *of_gpus; i++) {
		const double degree = pinned_to(s, of_gpus[i]);
		if (isnan(degree))
			continue;
		list = arena_printf(
		    r->arena, "%s%s%s=%g", list, *list ? " x " : "", layout_degree_name(of_gpus[i]), degree);
		product *= degree;
	}
	if (tp > 1 && !s->memory.stack->tensor)
		return arena_printf(r->arena, "%s has no tensor parallelism", s->memory.stack->name);
	if (cp > 1 && !s->memory.stack->context)
		return arena_printf(r->arena, "%s has no context parallelism", s->memory.stack->name);
	if (fmod(s->n_gpus, product) != 0)
		return arena_printf(
		    r->arena, "%s does not divide them (%s)", list, layout_rule_place(LAYOUT_WORLD, s->memory.stack));
	if (tp > n_domain && !s->across)
		return arena_printf(
		    r->arena, "tp=%g reaches beyond the %g GPUs of a node, which takes 'across'", tp, n_domain);
	if (cp > 1 && exp2(round(log2(cp))) != cp)
		return arena_printf(r->arena, "cp=%g is no power of two", cp);
	return NULL;
}

/* Policies that no pipeline has. */
static bool
offloads_alone(const struct layout_space *s)
{
	for (int p = 0; p < s->n_policies; p++)
		if (s->policies[p].recompute != RECOMPUTE_OFFLOAD)
			return false;
	return s->n_policies > 0 && !layout_pin_allows(&s->pins[DEGREE_PP], 1);
}

static enum answer
nothing_legal(struct run *r, const struct plan_in *in, const struct plan_question *b, const struct layout_result *found)
{
	const double n_gpus = b->counts[b->n_counts - 1];
	int most = N_LAYOUT_RULES;

	for (int i = 0; i < N_LAYOUT_RULES; i++)
		if (found->n_refused[i] > 0 && (most == N_LAYOUT_RULES || found->n_refused[i] > found->n_refused[most]))
			most = i;
	const struct layout_space space = plan_space(&b->variants[0], n_gpus);
	const char *pins = pins_contradict(r, &space);
	if (offloads_alone(&space))
		pins = "--recompute offload-N excludes pipelines";
	if (pins)
		diag_error(r->diag, (struct source){0}, "no layout of %g GPUs: %s", n_gpus, pins);
	else if (found->n_refused[LAYOUT_STACK] > 0 && found->why != TRAIN_ANSWERED)
		diag_error(
		    r->diag, (struct source){0}, "no step time of %g GPUs: %s", n_gpus, train_refusal_text(found->why));
	else if (most == N_LAYOUT_RULES)
		diag_error(r->diag, (struct source){0}, "no layout of %g GPUs matches --layout", n_gpus);
	else
		diag_error(r->diag, (struct source){0}, "no legal layout of %g GPUs: %s (%s)", n_gpus,
		    layout_rule_text((enum layout_rule)most),
		    layout_rule_place((enum layout_rule)most, b->variants[0].space.memory.stack));
	diag_hint(r->diag, "%s", most == LAYOUT_PACKED ? "use --batch 1" : pin_in_the_way(r, in, b));
	return REFUSED;
}

/* The fewest GPUs on which something fits, in whole nodes between doublings of the given number; 0: none up to sixteen
 * times as many. */
static double
gpus_that_do(struct run *r, const struct plan_question *b)
{
	const double now = b->counts[b->n_counts - 1], batch = b->variants[0].space.n_global_sequences;
	double most = 0;

	for (double times = 2; times <= 16 && most == 0; times *= 2)
		if (works(r, b, times * now, batch))
			most = times * now;
	const double step = b->n_node_gpus * fmax(1, ceil(most / 2 / b->n_node_gpus / NODES_TRIED));
	for (double n = step * ceil((most / 2 + 1) / step); n < most; n += step)
		if (works(r, b, n, batch))
			return n;
	return most;
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
		plan_show_near(r, 0, &found->least, "least memory of all layouts");
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
