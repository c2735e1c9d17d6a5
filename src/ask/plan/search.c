/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search all variants at all numbers of GPUs, and put their rows in order. */
#include "ask/plan/plan.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* One search: a variant at a number of GPUs. */
struct quest {
	const struct plan_variant *variant;
	struct layout_space space;
	struct layout_result found;
	struct arena *arena;
};

struct layout_space
plan_space(const struct plan_variant *v, double n_gpus)
{
	struct layout_space s = v->space;

	s.n_gpus = n_gpus;
	return s;
}

static void
search_point(void *context, size_t i)
{
	struct quest *p = &((struct quest *)context)[i];
	struct arena *passing = arena_new();

	p->arena = arena_new();
	layout_search(passing, &p->space, &p->found);
	p->found.points =
	    arena_grow(p->arena, p->found.points, p->found.n_points, p->found.n_points + 1, sizeof *p->found.points);
	p->found.rows =
	    arena_grow(p->arena, p->found.rows, p->found.n_rows, p->found.n_rows + 1, sizeof *p->found.rows);
	arena_free(passing);
}

/* --- waiting ------------------------------------------------------------------------------------------------ */

enum { MOST_LAYOUTS = 10000000 };

/* What all searches of a question share. */
struct watch {
	double n_planned;
	atomic_llong n_done;
	atomic_bool stop;
	atomic_llong shown_ms; /* since the beginning */
	double began_s;
	bool on;
};

static double
clock_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* SIGINT is blocked while a search runs, and looked for here. */
static bool
is_interrupted(void)
{
	sigset_t waiting;

	return sigpending(&waiting) == 0 && sigismember(&waiting, SIGINT) == 1;
}

static void
show_progress(const struct watch *w, double taken_s)
{
	const double done_frac = fmin(1, (double)w->n_done / fmax(1, w->n_planned));

	fprintf(stderr, "\rplan: %3.0f %% of %.2g layouts, %.0f s left ", 100 * done_frac, w->n_planned,
	    taken_s * (1 - done_frac) / fmax(done_frac, 0.01));
	fflush(stderr);
}

static bool
go_on(void *context, double n_done)
{
	enum { EVERY_MS = 100 };
	struct watch *w = context;
	long long last = w->shown_ms;

	w->n_done += (long long)n_done;
	const double taken_s = clock_s() - w->began_s;
	const long long now = (long long)(1000 * taken_s);
	if (now - last >= EVERY_MS && atomic_compare_exchange_strong(&w->shown_ms, &last, now)) {
		if (is_interrupted())
			w->stop = true;
		else if (w->on && taken_s > 1)
			show_progress(w, taken_s);
	}
	return !w->stop;
}

/* Run the searches, interrupts held back. */
static void
run_watched(struct quest *quests, size_t n, size_t n_threads, struct watch *w)
{
	sigset_t stops, before;
	int which;

	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	pthread_sigmask(SIG_BLOCK, &stops, &before);
	crew_run(search_point, quests, n, n_threads);
	if (w->stop && is_interrupted())
		sigwait(&stops, &which);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (w->on && w->shown_ms > 1000)
		fputs("\r\033[K", stderr);
}

/* --- a row ------------------------------------------------------------------------------------------------ */

static void
fill_run(struct run *r, const struct plan_in *in, const struct plan_variant *v, struct plan_row *row)
{
	const struct train_job *job = &row->answer.job;

	row->run_s = row->gpu_s = row->usd = row->joule = NAN;
	if (!datum_given(in->train.tokens))
		return;
	const struct datum price = run_train_price(r, &v->question, &v->train);
	const double n_steps = train_steps_needed(
	    NULL, in->train.tokens.value, train_step_tokens(NULL, job->n_global_sequences, job->seq_length));
	row->run_s = train_run_time(NULL, n_steps, row->row.step_s) / train_goodput_of(&in->train, job->n_gpus);
	row->gpu_s = row->run_s * job->n_gpus;
	row->usd = row->gpu_s * price.value;
	row->joule = train_energy(NULL, job->n_gpus, v->train.tdp_watt.value, row->run_s);
}

void
plan_fill(struct run *r, const struct plan_in *in, const struct plan_variant *v, double n_gpus,
    const struct layout_row *row, struct plan_row *out)
{
	struct train_ask ask;

	*out = (struct plan_row){.variant = v, .space = plan_space(v, n_gpus), .train = v->train, .row = *row};
	out->train.doubts.n_nodes = ceil(n_gpus / v->space.ask.machine.n_domain);
	layout_memory_job(&out->space, row, &out->memory);
	layout_train_ask(&out->space, row, &ask);
	train_answer(&ask, &out->train.doubts, &out->answer);
	out->shares = layout_shares_of(&out->answer.job, &out->answer.terms);
	const struct interval i = train_interval(r, &out->train, &out->answer);
	out->low = i.low / out->answer.step_s;
	out->high = i.high / out->answer.step_s;
	fill_run(r, in, v, out);
}

double
plan_value(const struct plan_row *row, enum layout_rank rank)
{
	switch (rank) {
	case RANK_TIME:
		break;
	case RANK_COST: /* money per GPU hour is the same for all */
		return isnan(row->gpu_s) ? row->row.step_s * row->space.n_gpus : row->gpu_s;
	case RANK_ENERGY:
		return row->joule;
	case RANK_MEMORY:
		return row->row.peak_byte;
	case RANK_GPUS:
		return row->space.n_gpus;
	}
	return isnan(row->run_s) ? row->row.step_s : row->run_s;
}

/* --- all rows ---------------------------------------------------------------------------------------------- */

/* What is put in order, before anything is filled in. */
struct ranked {
	const struct quest *point;
	const struct layout_row *row;
	enum layout_rank rank;
	bool front; /* of time and memory: along it, whatever the chance to fit */
};

static double
value_of(const struct ranked *c)
{
	const double n = c->point->space.n_gpus;

	switch (c->rank) {
	case RANK_MEMORY:
		return c->row->peak_byte;
	case RANK_GPUS:
		return n;
	case RANK_COST:
	case RANK_ENERGY:
		return n * layout_expected_s(c->row);
	case RANK_TIME:
		break;
	}
	return c->front ? c->row->step_s : layout_expected_s(c->row);
}

static int
by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	const double u = value_of(x), v = value_of(y);

	if (u != v)
		return u < v ? -1 : 1;
	if (layout_expected_s(x->row) != layout_expected_s(y->row))
		return layout_expected_s(x->row) < layout_expected_s(y->row) ? -1 : 1;
	if (x->row->step_s != y->row->step_s)
		return x->row->step_s < y->row->step_s ? -1 : 1;
	if (x->point != y->point)
		return x->point < y->point ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Counters, and what comes near. */
static void
merge(struct run *r, const struct plan_in *in, const struct quest *p, struct plan_found *out)
{
	struct layout_result *all = &out->merged;
	const struct layout_result *one = &p->found;

	all->n_searched += one->n_searched;
	if (one->n_points > 0) {
		out->n_points = one->n_points;
		out->points = arena_grow(r->arena, one->points, one->n_points, one->n_points + 1, sizeof *one->points);
	}
	for (int i = 0; i < N_LAYOUT_RULES; i++)
		all->n_refused[i] += one->n_refused[i];
	if (all->why == TRAIN_ANSWERED)
		all->why = one->why;
	if (one->has_risky && (!all->has_risky || one->risky.step_s < all->risky.step_s)) {
		all->has_risky = true;
		all->risky = one->risky;
		plan_fill(r, in, p->variant, p->space.n_gpus, &one->risky, &out->risky);
	}
	if (one->has_near && (!all->has_near || one->near.step_s < all->near.step_s)) {
		all->has_near = true;
		all->near = one->near;
		plan_fill(r, in, p->variant, p->space.n_gpus, &one->near, &out->near);
	}
	if (one->has_least && (!all->has_least || one->least.peak_byte < all->least.peak_byte)) {
		all->has_least = true;
		all->least = one->least;
		plan_fill(r, in, p->variant, p->space.n_gpus, &one->least, &out->least);
	}
}

/* Rows of each number of GPUs: its best by rank, and those where fewer variants stand behind it. */
static size_t
keep_best_of_scale(struct ranked *list, size_t n)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < n; i++) {
		bool seen = false;
		for (size_t k = 0; k < n_kept && !seen; k++)
			seen = list[k].point->space.n_gpus == list[i].point->space.n_gpus;
		if (!seen)
			list[n_kept++] = list[i];
	}
	return n_kept;
}

/* The best rows of several numbers of GPUs, by what they take as a whole, failures of GPUs and all: their order among
 * layouts of one number does not count here. */
static void
sort_scales(struct plan_row *rows, size_t n, enum layout_rank rank)
{
	for (size_t i = 1; i < n; i++) {
		const struct plan_row row = rows[i];
		size_t k = i;
		for (; k > 0 && plan_value(&rows[k - 1], rank) > plan_value(&row, rank); k--)
			rows[k] = rows[k - 1];
		rows[k] = row;
	}
}

/* What is faster by less is no news. */
static const double noticed_frac = 0.995;

static void
collect(struct run *r, const struct plan_in *in, const struct plan_question *b, const struct quest *points, size_t n,
    struct plan_found *out)
{
	size_t n_rows = 0;

	for (size_t i = 0; i < n; i++)
		n_rows += points[i].found.n_rows;
	struct ranked *list = ARENA_ARRAY(r->arena, struct ranked, n_rows + 1);
	n_rows = 0;
	for (size_t i = 0; i < n; i++) {
		merge(r, in, &points[i], out);
		for (size_t k = 0; k < points[i].found.n_rows; k++)
			list[n_rows++] = (struct ranked){
			    &points[i], &points[i].found.rows[k], b->rank, b->front == FRONT_TIME_MEMORY};
	}
	qsort(list, n_rows, sizeof *list, by_value);
	if (b->by_scale)
		n_rows = keep_best_of_scale(list, n_rows);
	else if (!in->all && !in->groups && !b->front)
		n_rows = (size_t)fmin((double)n_rows, in->top.value);
	out->rows = ARENA_ARRAY(r->arena, struct plan_row, n_rows + 1);
	for (; out->n < n_rows; out->n++)
		plan_fill(r, in, list[out->n].point->variant, list[out->n].point->space.n_gpus, list[out->n].row,
		    &out->rows[out->n]);
	if (b->by_scale && !b->front)
		sort_scales(out->rows, n_rows, b->rank);
	for (size_t i = 0; i < n_rows; i++) /* listed, or no faster */
		if (out->rows[i].row.step_s == out->risky.row.step_s ||
		    (i == 0 && noticed_frac * out->rows[i].row.step_s < out->risky.row.step_s))
			out->merged.has_risky = false;
	if (n_rows > 0 && out->merged.has_near && out->near.row.step_s >= noticed_frac * out->rows[0].row.step_s)
		out->merged.has_near = false;
}

/* Layouts of all searches, until they are too many. */
static double
count(const struct quest *quests, size_t n, bool all, const char **widest)
{
	double n_layouts = 0, most = 0;

	for (size_t i = 0; i < n && (all || n_layouts <= MOST_LAYOUTS); i++) {
		const char *own;
		const double n_own = layout_count(&quests[i].space, &own);
		n_layouts += n_own;
		if (n_own > most)
			*widest = own;
		most = fmax(most, n_own);
	}
	return n_layouts;
}

void
plan_search(struct run *r, const struct plan_in *in, const struct plan_question *b, struct plan_found *out)
{
	const size_t n = b->n_variants * b->n_counts;
	struct quest *points = ARENA_ARRAY(r->arena, struct quest, n + 1);
	const size_t n_threads = datum_given(in->threads) ? (size_t)in->threads.value : 0;
	struct watch w = {
	    .began_s = clock_s(),
	    .on = isatty(STDERR_FILENO),
	};
	const struct layout_watch watch = {go_on, &w};

	*out = (struct plan_found){0};
	for (size_t i = 0; i < n; i++) {
		struct quest *p = &points[i];
		p->variant = &b->variants[i % b->n_variants];
		p->space = plan_space(p->variant, b->counts[i / b->n_variants]);
		p->space.watch = &watch;
		p->space.least = b->n_counts == 1;
		p->space.goal = b->front == FRONT_TIME_MEMORY ? GOAL_FRONT
		    : b->rank == RANK_MEMORY                  ? GOAL_MEMORY
		                                              : GOAL_TIME;
		p->space.exhaustive = in->all || in->groups;
		if (b->by_scale) {
			p->space.n_rows = 1;
			p->space.exhaustive = false;
		}
		if (n > 1) /* searches side by side instead */
			p->space.n_threads = 1;
	}
	struct layout_memos **memos = ARENA_ARRAY(r->arena, struct layout_memos *, b->n_variants + 1);
	for (size_t k = 0; k < b->n_variants; k++)
		memos[k] = layout_memos_new(r->arena, b->variants[k].space.ask.machine.kernels);
	for (size_t i = 0; i < n; i++)
		points[i].space.memos = memos[i % b->n_variants];
	w.n_planned = out->n_planned = count(points, n, in->all, &out->widest);
	out->too_many = out->n_planned > MOST_LAYOUTS && !in->all;
	if (!out->too_many)
		run_watched(points, n, n_threads, &w);
	for (size_t k = 0; k < b->n_variants; k++)
		layout_memos_free(memos[k]);
	if (out->too_many)
		return;
	out->interrupted = w.stop;
	collect(r, in, b, points, n, out);
	for (size_t i = 0; i < n; i++)
		arena_free(points[i].arena);
}
