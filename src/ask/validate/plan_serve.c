/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judge the ranks of `ridge plan serve` by published runs: of all layouts of one setup, whether the one with the most
 * throughput per GPU is the one predicted to have it. */
#include "ask/validate/validate.h"

#include "base/base.h"
#include "base/sheet.h"

#include <stdlib.h>
#include <string.h>

static const double close_frac = 0.05; /* of the best: as far as the same run differs between releases */

/* One published run, rates per GPU. */
struct ran {
	const char *setup, *layout;
	int line;
	double n_gpus; /* of a replica */
	double measured, predicted;
};

struct serve_ranks {
	struct run *run;
	size_t n, room;
	struct ran *list;
};

/* All layouts of one setup. */
struct setup {
	const struct ran *best, *chosen; /* most measured, most predicted */
	double loss_frac;
	bool smallest; /* the best is the smallest */
};

struct serve_ranks *
serve_ranks_new(struct run *r)
{
	struct serve_ranks *s = ARENA_NEW(r->arena, struct serve_ranks);

	s->run = r;
	return s;
}

/* What rows must have in common, the column with the rate besides. */
static const char *
setup_of(struct arena *a, const struct validate_row *row, const char *column)
{
	static const char *const columns[] = {"source", "software", "sw_version", "model", "gpu_id", "weight_dtype",
	    "act_dtype", "kv_dtype", "isl", "osl", "kind", "sched", "concurrency", "batch", "spec_method"};
	const char *out = column;

	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		const char *said = row_text(row, columns[i]);
		if (said)
			out = arena_printf(a, "%s, %s %s", out, columns[i], said);
	}
	return out;
}

void
serve_ranks_row(struct serve_ranks *s, const struct serve_row *q, const char *column, double measured, double predicted)
{
	struct arena *a = s->run->arena;
	const struct serve_layout *l = &q->layout;
	const double n_gpus = strcmp(column, "out_tps_per_gpu") == 0 ? 1 : q->n_gpus;

	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 256;
		s->list = arena_grow(a, s->list, s->n, s->room, sizeof *s->list);
	}
	s->list[s->n++] = (struct ran){.setup = setup_of(a, q->row, column),
	    .layout =
	        arena_printf(a, "tp=%g,pp=%g,ep=%g%s", l->tp, l->pp, l->ep, l->attention_dp ? ",attention-dp" : ""),
	    .line = row_line(q->row),
	    .n_gpus = l->tp * l->pp,
	    .measured = measured / n_gpus,
	    .predicted = predicted / n_gpus};
}

/* --- setups -------------------------------------------------------------------------------------------------- */

/* By setup, layout, and the fastest of the same layout first. */
static int
by_setup(const void *a, const void *b)
{
	const struct ran *x = a, *y = b;
	int order = strcmp(x->setup, y->setup);

	order = order ? order : strcmp(x->layout, y->layout);
	if (order)
		return order;
	return x->measured != y->measured ? (x->measured > y->measured ? -1 : 1) : x->line - y->line;
}

/* One setup of `n` runs; false where it has a single layout.  A layout that was run several times, by what the row does
 * not say, counts as its fastest run. */
static bool
read_setup(const struct ran *list, size_t n, struct setup *out)
{
	double least = INFINITY;
	int n_layouts = 0;

	*out = (struct setup){0};
	for (size_t i = 0; i < n; i++) {
		const struct ran *x = &list[i];
		if (i > 0 && strcmp(x->layout, list[i - 1].layout) == 0)
			continue;
		n_layouts++;
		least = fmin(least, x->n_gpus);
		if (!out->best || x->measured > out->best->measured)
			out->best = x;
		if (!out->chosen || x->predicted > out->chosen->predicted)
			out->chosen = x;
	}
	out->loss_frac = 1 - out->chosen->measured / out->best->measured;
	out->smallest = out->best->n_gpus == least;
	return n_layouts > 1;
}

static int
by_loss(const void *a, const void *b)
{
	const struct setup *x = a, *y = b;

	if (x->loss_frac != y->loss_frac)
		return x->loss_frac > y->loss_frac ? -1 : 1;
	return (x->best->line > y->best->line) - (x->best->line < y->best->line);
}

/* --- the answer ---------------------------------------------------------------------------------------------- */

static void
show_group(struct run *r, const char *group, const struct setup *list, size_t n, bool smallest_too)
{
	struct sheet *sh = r->sheet;
	double n_all = 0, n_right = 0, n_close = 0, loss = 0, worst = 0;

	for (size_t i = 0; i < n; i++) {
		const struct setup *x = &list[i];
		if (x->smallest && !smallest_too)
			continue;
		n_all++;
		n_right += x->chosen == x->best;
		n_close += x->loss_frac <= close_frac;
		loss += x->loss_frac;
		worst = fmax(worst, x->loss_frac);
	}
	if (n_all == 0)
		return;
	TELL(sh, group, group);
	TAKE(sh, n_setups, n_all);
	SHOW(sh, n_setups, n);
	TAKE(sh, chosen_frac, n_right / n_all);
	SHOW(sh, chosen_frac, chosen_frac);
	TAKE(sh, near_frac, n_close / n_all);
	SHOW(sh, near_frac, near_measured_frac);
	TAKE(sh, mean_regret_frac, loss / n_all);
	SHOW(sh, mean_regret_frac, mean_regret_frac);
	TAKE(sh, most_regret_frac, worst);
	SHOW(sh, most_regret_frac, most_regret_frac);
}

static void
show_setup(struct run *r, const struct setup *x)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, line, x->best->line);
	SHOW(sh, line, line);
	TELL(sh, what, x->best->setup);
	TELL(sh, layout, x->best->layout);
	TELL(sh, best_layout, x->chosen->layout);
	TAKE(sh, best_share_frac, x->best->predicted / x->chosen->predicted);
	SHOW(sh, best_share_frac, best_share_frac);
	TAKE(sh, regret_frac, x->loss_frac);
	SHOW(sh, regret_frac, regret_frac);
}

bool
serve_ranks_show(const struct serve_ranks *s, size_t worst)
{
	struct run *r = s->run;
	struct setup *setups = ARENA_ARRAY(r->arena, struct setup, s->n + 1);
	size_t n = 0;

	if (s->n == 0)
		return false;
	qsort(s->list, s->n, sizeof *s->list, by_setup);
	for (size_t i = 0, k; i < s->n; i = k) {
		for (k = i + 1; k < s->n && strcmp(s->list[k].setup, s->list[i].setup) == 0;)
			k++;
		n += read_setup(&s->list[i], k - i, &setups[n]);
	}
	if (n == 0)
		return false;
	qsort(setups, n, sizeof *setups, by_loss);
	SCOPE_I (r->sheet, "ranks", 0)
		show_group(r, "all", setups, n, true);
	SCOPE_I (r->sheet, "ranks", 1)
		show_group(r, "best not smallest", setups, n, false);
	for (size_t i = 0; i < n && i < worst && setups[i].loss_frac > 0; i++)
		SCOPE_I (r->sheet, "setups", i)
			show_setup(r, &setups[i]);
	return true;
}
