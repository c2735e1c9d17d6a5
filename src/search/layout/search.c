/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time the legal layouts, and check the memory of those that can enter the table. */
#include "search/layout/layout.h"

#include "search/plan/plan.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
/* --- jobs ------------------------------------------------------------------------------------------------ */

void
layout_memory_job(const struct layout_space *s, const struct layout_row *row, struct memory_job *out)
{
	const struct layout_policy *p = &s->policies[row->policy];

	*out = s->memory;
	out->layout = row->layout;
	out->gpipe = s->memory.gpipe && row->layout.pp > 1;
	out->said = (struct batch_said){row->n_sequences, 0, s->n_global_sequences};
	out->recompute = p->recompute;
	out->recompute_n = layout_policy_n(s, &row->layout, row->policy);
	out->modules = p->modules;
	out->offload_modules |= p->away;
	fit_settle(out);
}

void
layout_train_ask(const struct layout_space *s, const struct layout_row *row, struct train_ask *out)
{
	struct memory_job job;

	layout_memory_job(s, row, &job);
	*out = s->ask;
	train_ask_memory(out, &job);
}

static void
set_policy(const struct layout_space *s, int policy, struct train_job *job)
{
	const unsigned away = s->memory.offload_modules | s->policies[policy].away;

	job->recompute = s->policies[policy].recompute;
	job->recompute_n = layout_policy_n(s, &job->layout, policy);
	job->modules = s->policies[policy].modules;
	if (job->recompute == RECOMPUTE_OFFLOAD || away || s->memory.offload & OFFLOAD_ACTIVATIONS) {
		struct memory_job saves = s->memory;
		saves.layout = job->layout;
		saves.recompute = job->recompute;
		saves.recompute_n = job->recompute_n;
		saves.modules = job->modules;
		saves.offload_modules = away;
		job->away_row_byte = memory_mean_away(NULL, &saves);
	} else
		job->away_row_byte = 0;
}

/* --- products that were timed before ------------------------------------------------------------------------ */

struct layout_memos {
	const struct calibration *kernels;
	pthread_mutex_t lock;
	struct arena *arena;
	size_t n;
	struct train_memo *idle[256]; /* as many as there are threads */
};

struct layout_memos *
layout_memos_new(struct arena *a, const struct calibration *kernels)
{
	struct layout_memos *m = ARENA_NEW(a, struct layout_memos);

	m->kernels = kernels;
	m->arena = arena_new();
	pthread_mutex_init(&m->lock, NULL);
	return m;
}

void
layout_memos_free(struct layout_memos *m)
{
	pthread_mutex_destroy(&m->lock);
	arena_free(m->arena);
}

static struct train_memo *
take_memo(struct layout_memos *m)
{
	pthread_mutex_lock(&m->lock);
	struct train_memo *memo = m->n > 0 ? m->idle[--m->n] : train_memo_new(m->arena, m->kernels);
	pthread_mutex_unlock(&m->lock);
	return memo;
}

static void
put_memo(struct layout_memos *m, struct train_memo *memo)
{
	pthread_mutex_lock(&m->lock);
	m->idle[m->n++] = memo;
	pthread_mutex_unlock(&m->lock);
}

/* --- time ------------------------------------------------------------------------------------------------ */

/* Whether to go on, after n_done layouts more. */
static bool
go(const struct search *s, size_t n_done)
{
	const struct layout_watch *w = s->space->watch;

	return !w || w->go(w->context, (double)n_done);
}

/* Whether the share of the layers that are computed again follows from the pipeline. */
static bool
counts_layers(const struct layout_policy *p)
{
	return p->recompute == RECOMPUTE_BLOCK && p->chunk_frac == 0;
}

/* Which numbers of chunks have a schedule or a sharding of no published run, whatever is recomputed. */
static void
list_untried(
    const struct layout_space *space, const struct layout_family *family, struct train_job *job, bool untried[])
{
	for (int v = 0; v < family->n_vp; v++) {
		job->layout.vp = family->vp[v];
		untried[v] = !space->ran && train_is_untried(job);
	}
}

static void
time_block(void *context, size_t i)
{
	struct search *s = context;
	const struct layout_space *space = s->space;
	const struct layout_block *b = &s->blocks[i];
	struct train_part parts[MOST_POLICIES];
	struct train_job job = s->job;
	struct train_terms t;
	size_t n_members = 0;

	for (size_t f = 0; f < b->n; f++) {
		s->families[b->first + f].least_s = INFINITY;
		n_members += s->families[b->first + f].n_members;
		s->families[b->first + f].n_members = 0;
	}
	if (!go(s, n_members))
		return;
	struct train_memo *memo = space->memos ? take_memo(space->memos) : NULL;
	if (memo)
		train_memo_use(memo, &job);
	for (int n = 1; n <= layout_most_batch(space); n++) {
		bool timed[MOST_POLICIES] = {false}, untried[MOST_CHUNKS];
		for (size_t f = b->first; f < b->first + b->n; f++) {
			struct layout_family *family = &s->families[f];
			bool has = false;
			for (int k = 0; k < family->n_batches; k++)
				has = has || family->batches[k] == n;
			if (!has)
				continue;
			job.layout = family->layout;
			job.n_sequences = n;
			list_untried(space, family, &job, untried);
			for (int p = 0; p < space->n_policies; p++)
				for (int v = 0; v < family->n_vp; v++) {
					job.layout.vp = family->vp[v];
					if (!layout_interleaves(space, &family->layout, family->vp[v], n) ||
					    !layout_policy_holds(space, &job.layout, p))
						continue;
					set_policy(space, p, &job);
					if (!timed[p] || counts_layers(&space->policies[p]))
						train_part(&job, &parts[p]);
					timed[p] = true;
					const double step_s = train_assemble(&job, &parts[p], &t);
					family->members[family->n_members++] = (struct member){
					    step_s, NAN, family->vp[v], (short)n, (short)p, untried[v], FITS};
					family->least_s = fmin(family->least_s, step_s);
				}
		}
	}
	if (memo)
		put_memo(space->memos, memo);
}

/* --- memory ---------------------------------------------------------------------------------------------- */

static int
by_time(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->step_s != y->step_s)
		return x->step_s < y->step_s ? -1 : 1;
	/* of equals the one with less of everything */
	if (x->vp != y->vp)
		return x->vp - y->vp;
	return x->n_sequences != y->n_sequences ? x->n_sequences - y->n_sequences : x->policy - y->policy;
}

static int
by_least(const void *a, const void *b)
{
	const struct layout_family *x = *(struct layout_family *const *)a, *y = *(struct layout_family *const *)b;

	if (x->least_s != y->least_s)
		return x->least_s < y->least_s ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The slowest that can still enter the table. */
static double
bound_of(struct search *s)
{
	pthread_mutex_lock(&s->lock);
	const double bound = !s->space->exhaustive && s->n_kept == s->space->n_rows ? s->kept[s->n_kept - 1] : INFINITY;
	pthread_mutex_unlock(&s->lock);
	return bound;
}

static void
keep(struct search *s, double expected_s)
{
	pthread_mutex_lock(&s->lock);
	size_t i = s->n_kept < s->space->n_rows ? s->n_kept++ : s->n_kept;
	if (i == s->space->n_rows && s->kept[--i] <= expected_s) {
		pthread_mutex_unlock(&s->lock);
		return;
	}
	for (; i > 0 && s->kept[i - 1] > expected_s; i--)
		s->kept[i] = s->kept[i - 1];
	s->kept[i] = expected_s;
	pthread_mutex_unlock(&s->lock);
}

static struct layout_row
row_of(const struct layout_family *f, const struct member *m)
{
	struct layout_row row = {.layout = f->layout,
	    .n_sequences = m->n_sequences,
	    .policy = m->policy,
	    .step_s = m->step_s,
	    .peak_byte = m->peak_byte,
	    .verdict = m->verdict,
	    .chance_frac = 1,
	    .untried = m->untried};

	row.layout.vp = m->vp;
	return row;
}

double
layout_expected_s(const struct layout_row *row)
{
	return row->step_s / row->chance_frac * (row->untried ? 1 + plan_unproven_frac : 1);
}

static void
evaluate(const struct search *s, struct memory_memo *memo, struct layout_row *row)
{
	struct memory_job job;

	row->peak_byte = NAN;
	row->verdict = FITS;
	if (!s->space->modeled)
		return;
	layout_memory_job(s->space, row, &job);
	job.memo = memo;
	row->peak_byte = memory_peak(NULL, &job, NULL);
	row->verdict = memory_verdict(&job, row->peak_byte);
	row->chance_frac = s->space->ran ? 1 : memory_chance(&job, row->peak_byte);
}

/* What has been seen not to fit, by chunks and policy: no larger micro-batch does either, as long as there are several
 * (a single one may go without accumulated gradients). */
struct limits {
	short least[MOST_CHUNKS + 1][MOST_POLICIES];
	bool known[MOST_CHUNKS + 1], over[MOST_CHUNKS + 1]; /* by chunks: the states alone do not fit */
};

static bool
is_over(const struct limits *limits, const struct member *m)
{
	const short least = limits->least[m->vp][m->policy];

	return least > 0 && m->n_sequences > least;
}

/* Whether weights, gradients and optimizer leave no room, whatever the micro-batch and the recomputation: those of the
 * first stage with the fewest micro-batches, of which a single one may go without accumulated gradients. */
static bool
states_are_over(const struct search *s, const struct layout_family *f, struct limits *limits, const struct member *m)
{
	struct member fewest = *m;
	struct memory_job job;
	struct memory_use use;

	if (limits->known[m->vp] || !s->space->modeled)
		return limits->over[m->vp];
	fewest.n_sequences = f->batches[f->n_batches - 1];
	const struct layout_row row = row_of(f, &fewest);
	layout_memory_job(s->space, &row, &job);
	memory_at(NULL, &job, 0, MOMENT_BACKWARD, &use);
	limits->known[m->vp] = true;
	limits->over[m->vp] = use.weights + use.gradients + use.optimizer > memory_limit(NULL, &job);
	return limits->over[m->vp];
}

/* The member with the least memory of those that fit, the faster of equals. */
static void
spare_family(struct search *s, struct memory_memo *memo, struct layout_family *f)
{
	for (size_t k = 0; k < f->n_members; k++) {
		struct layout_row row = row_of(f, &f->members[k]);
		evaluate(s, memo, &row);
		if (row.verdict != DOES_NOT_FIT && (!f->fits || row.peak_byte < f->best.peak_byte)) {
			f->fits = true;
			f->best = row;
		} else if (row.verdict == DOES_NOT_FIT && row.peak_byte < f->least.peak_byte) {
			f->misses = true;
			f->least = f->near = row;
		}
	}
}

/* Members that take less memory than every faster one; they move to the front of the list. */
static void
trade_family(struct search *s, struct memory_memo *memo, struct layout_family *f)
{
	double least_byte = INFINITY;
	size_t n = 0;

	for (size_t k = 0; k < f->n_members; k++) {
		struct layout_row row = row_of(f, &f->members[k]);
		evaluate(s, memo, &row);
		if (row.verdict == DOES_NOT_FIT) {
			if (row.peak_byte < f->least.peak_byte)
				f->least = row;
			if (!f->misses || row.step_s < f->near.step_s)
				f->near = row;
			f->misses = true;
		} else if (row.peak_byte < least_byte || n == 0) {
			least_byte = row.peak_byte;
			f->members[n] = f->members[k];
			f->members[n].peak_byte = row.peak_byte;
			f->members[n++].verdict = row.verdict;
		}
	}
	f->n_members = n;
	f->fits = n > 0;
}

static void
check_family(void *context, size_t i)
{
	struct search *s = context;
	struct layout_family *f = s->order[i];
	struct limits limits = {.known = {false}};
	struct memory_memo memo = {0};

	f->least.peak_byte = INFINITY;
	if (!go(s, 0) && s->n_kept > 0)
		return;
	if (s->space->goal == GOAL_TIME && f->least_s > bound_of(s))
		return;
	qsort(f->members, f->n_members, sizeof *f->members, by_time);
	if (s->space->goal != GOAL_TIME) {
		if (s->space->goal == GOAL_MEMORY)
			spare_family(s, &memo, f);
		else
			trade_family(s, &memo, f);
		return;
	}
	for (size_t k = 0; k < f->n_members; k++) {
		const struct member *m = &f->members[k];
		/* no later one can be expected to be faster, even if it fits for sure */
		if (m->step_s > bound_of(s) || (f->fits && m->step_s >= layout_expected_s(&f->best)))
			break;
		if (is_over(&limits, m))
			continue;
		struct layout_row row = row_of(f, m);
		if (states_are_over(s, f, &limits, m)) {
			if (!f->misses)
				f->near = row;
			f->misses = true;
			continue;
		}
		evaluate(s, &memo, &row);
		if (row.verdict != DOES_NOT_FIT) {
			if (!f->fits)
				f->fastest = row;
			if (!f->fits || layout_expected_s(&row) < layout_expected_s(&f->best))
				f->best = row;
			f->fits = true;
			continue;
		}
		if (!f->misses)
			f->near = row;
		f->misses = true;
		if (s->space->n_global_sequences > row.n_sequences * f->layout.dp)
			limits.least[m->vp][m->policy] = m->n_sequences;
	}
	if (f->fits)
		keep(s, layout_expected_s(&f->best));
}

/* Where nothing fits: the least memory of a family, which the smallest micro-batch has. */
static void
spend_least(void *context, size_t i)
{
	struct search *s = context;
	struct layout_family *f = &s->families[i];

	for (size_t k = 0; k < f->n_members; k++) {
		if (f->members[k].n_sequences != f->batches[0] || !go(s, 0))
			continue;
		struct layout_row row = row_of(f, &f->members[k]);
		evaluate(s, NULL, &row);
		if (row.peak_byte < f->least.peak_byte)
			f->least = row;
	}
}

/* --- the answer ------------------------------------------------------------------------------------------ */

static int
by_row(const void *a, const void *b)
{
	const struct layout_family *x = *(struct layout_family *const *)a, *y = *(struct layout_family *const *)b;

	const double u = layout_expected_s(&x->best), v = layout_expected_s(&y->best);

	if (u != v)
		return u < v ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int
by_memory(const void *a, const void *b)
{
	const struct layout_family *x = *(struct layout_family *const *)a, *y = *(struct layout_family *const *)b;

	if (x->best.peak_byte != y->best.peak_byte)
		return x->best.peak_byte < y->best.peak_byte ? -1 : 1;
	return by_row(a, b);
}

static int
by_step(const void *a, const void *b)
{
	const struct layout_row *x = a, *y = b;

	if (x->step_s != y->step_s)
		return x->step_s < y->step_s ? -1 : 1;
	return x->peak_byte < y->peak_byte ? -1 : x->peak_byte > y->peak_byte;
}

/* A point of a front knows its peak. */
static void
set_chance(const struct search *s, struct layout_row *row)
{
	struct memory_job job;

	if (!s->space->modeled || s->space->ran)
		return;
	layout_memory_job(s->space, row, &job);
	row->chance_frac = memory_chance(&job, row->peak_byte);
}

/* Of the fronts of all families the one of all. */
static void
collect_front(struct search *s)
{
	struct layout_result *out = s->out;
	double least_byte = INFINITY;

	for (size_t i = 0; i < s->n_families; i++)
		out->n_points += s->families[i].fits ? s->families[i].n_members : 0;
	out->points = ARENA_ARRAY(s->arena, struct layout_row, out->n_points + 1);
	out->n_points = 0;
	for (size_t i = 0; i < s->n_families; i++)
		for (size_t k = 0; s->families[i].fits && k < s->families[i].n_members; k++)
			out->points[out->n_points++] = row_of(&s->families[i], &s->families[i].members[k]);
	qsort(out->points, out->n_points, sizeof *out->points, by_step);
	out->rows = ARENA_ARRAY(s->arena, struct layout_row, out->n_points + 1);
	for (size_t i = 0; i < out->n_points; i++)
		if (out->points[i].peak_byte < least_byte) {
			least_byte = out->points[i].peak_byte;
			set_chance(s, &out->points[i]);
			out->rows[out->n_rows++] = out->points[i];
		}
}

static void
collect(struct search *s)
{
	const struct layout_space *space = s->space;
	struct layout_result *out = s->out;
	size_t n = 0;

	for (size_t i = 0; i < s->n_families; i++)
		if (s->families[i].fits)
			s->order[n++] = &s->families[i];
	qsort(s->order, n, sizeof *s->order, space->goal == GOAL_MEMORY ? by_memory : by_row);
	if (space->goal == GOAL_FRONT)
		collect_front(s);
	else {
		out->n_rows = n < space->n_rows || space->exhaustive ? n : space->n_rows;
		out->rows = ARENA_ARRAY(s->arena, struct layout_row, out->n_rows + 1);
		for (size_t i = 0; i < out->n_rows; i++)
			out->rows[i] = s->order[i]->best;
	}
	if (n == 0 && space->modeled && space->least)
		crew_run(spend_least, s, s->n_families, space->n_threads);
	for (size_t i = 0; i < s->n_families; i++) {
		const struct layout_family *f = &s->families[i];
		const bool faster = n == 0 || f->near.step_s < out->rows[0].step_s;
		if (f->misses && faster && (!out->has_near || f->near.step_s < out->near.step_s)) {
			out->near = f->near;
			out->has_near = true;
		}
		if (n > 0 && space->goal == GOAL_TIME && f->fits && f->fastest.step_s < out->rows[0].step_s &&
		    (!out->has_risky || f->fastest.step_s < out->risky.step_s)) {
			out->risky = f->fastest;
			out->has_risky = true;
		}
		if (n == 0 && isfinite(f->least.peak_byte) &&
		    (!out->has_least || f->least.peak_byte < out->least.peak_byte)) {
			out->least = f->least;
			out->has_least = true;
		}
	}
	if (out->has_near)
		evaluate(s, NULL, &out->near);
}

/* The dimension with the most values. */
static const char *
widest_of(const struct search *s)
{
	enum { MOST = 1025 };
	const char *widest = "--recompute";
	int most = s->space->n_policies;

	for (int d = 0; d < N_DEGREES; d++) {
		bool seen[MOST] = {false};
		int n = 0;
		for (size_t i = 0; i < s->n_families; i++) {
			const struct layout_family *f = &s->families[i];
			const struct layout *l = &f->layout;
			const double of[N_DEGREES] = {[DEGREE_TP] = l->tp,
			    [DEGREE_PP] = l->pp,
			    [DEGREE_VP] = f->n_vp,
			    [DEGREE_CP] = l->cp,
			    [DEGREE_EP] = l->ep,
			    [DEGREE_ETP] = l->etp,
			    [DEGREE_DP] = l->dp,
			    [DEGREE_ZERO] = l->zero};
			const int at = (int)fmin(of[d], MOST - 1);
			n += !seen[at];
			seen[at] = true;
		}
		if (n > most) {
			most = n;
			widest = layout_degree_name((enum layout_degree)d);
		}
	}
	return widest;
}

/* The job of any layout, and all families. */
static void
begin(struct search *s)
{
	const struct layout_space *space = s->space;
	struct layout_row one = {
	    .layout = {.dp = space->n_gpus, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .etp = 1}, .n_sequences = 1};
	struct train_ask ask;
	struct train_answer filled;

	*s->out = (struct layout_result){0};
	layout_train_ask(space, &one, &ask);
	train_fill(&ask, &filled);
	s->job = filled.job;
	s->job.n_gpus = space->n_gpus;
	s->job.n_global_sequences = space->n_global_sequences;
	layout_enumerate(s);
}

double
layout_count(const struct layout_space *space, const char **widest)
{
	struct layout_result out = {0};
	struct search s = {.space = space, .arena = arena_new(), .out = &out};

	begin(&s);
	*widest = widest_of(&s);
	arena_free(s.arena);
	return out.n_searched;
}

bool
layout_legal(const struct layout_space *space, double n_refused[N_LAYOUT_RULES])
{
	struct layout_result out = {0};
	struct search s = {.space = space, .arena = arena_new(), .out = &out};

	begin(&s);
	for (int i = 0; i < N_LAYOUT_RULES; i++)
		n_refused[i] = out.n_refused[i];
	arena_free(s.arena);
	return out.n_searched > 0;
}

void
layout_search(struct arena *a, const struct layout_space *space, struct layout_result *out)
{
	struct search s = {.space = space, .arena = a, .out = out};
	size_t n_members = 0;

	begin(&s);
	for (size_t i = 0; i < s.n_families; i++)
		n_members += s.families[i].n_members;
	struct member *members = ARENA_ARRAY(a, struct member, n_members + 1);
	s.order = ARENA_ARRAY(a, struct layout_family *, s.n_families + 1);
	s.kept = ARENA_ARRAY(a, double, space->n_rows + 1);
	for (size_t i = 0; i < s.n_families; i++) {
		s.families[i].members = members;
		members += s.families[i].n_members;
		s.order[i] = &s.families[i];
	}
	pthread_mutex_init(&s.lock, NULL);
	crew_run(time_block, &s, s.n_blocks, space->n_threads);
	qsort(s.order, s.n_families, sizeof *s.order, by_least);
	crew_run(check_family, &s, s.n_families, space->n_threads);
	pthread_mutex_destroy(&s.lock);
	collect(&s);
}
