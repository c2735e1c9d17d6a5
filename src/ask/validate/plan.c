/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judge the search of `ridge plan train` by published runs: how their layouts stand among all that fit. */
#include "ask/validate/validate.h"

#include "base/base.h"
#include "base/sheet.h"
#include "search/layout/layout.h"

#include <stdlib.h>
#include <string.h>

/* What is expected of tuned layouts: how far their step is from the best one, and among how many families they are, of
 * the first ones or of those that cannot be told from the best. */
enum { FAMILIES_MOST = 20, FAMILIES_DENSE = 10, SAME_MOST = 30, SAME_DENSE = 10, ROWS_KEPT = 60 };
static const double near_dense_frac = 0.07, near_experts_frac = 0.1;

/* A published layout beside the best of its question. */
struct judged {
	const char *name, *layout, *policy, *best, *best_policy, *question;
	int line, rank; /* rank 0: not among the first families */
	int n_same;     /* families that cannot be told from the best, as far as they were kept */
	double share_frac, measured_s;
	enum verdict verdict;
	bool same; /* cannot be told from the best */
	bool experts;
	const char *illegal; /* the rule that the layout breaks, or NULL */
};

struct plan_judge {
	struct validation *v;
	size_t n;
	struct judged *list;
};

struct plan_judge *
plan_judge_new(struct validation *v)
{
	struct plan_judge *j = ARENA_NEW(v->run->arena, struct plan_judge);

	j->v = v;
	return j;
}

/* --- one run ------------------------------------------------------------------------------------------------- */

static bool
same_family(const struct layout *x, const struct layout *y)
{
	return x->tp == y->tp && x->pp == y->pp && x->cp == y->cp && x->ep == y->ep;
}

/* Whether a row before it is of its family. */
static bool
is_repeated(const struct layout_result *found, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_family(&found->rows[k].layout, &found->rows[i].layout))
			return true;
	return false;
}

/* The place of its family, best first; 0: behind the first FAMILIES_MOST. */
static int
rank_of(const struct layout_result *found, const struct layout *own)
{
	int rank = 1;

	for (size_t i = 0; i < found->n_rows && rank <= FAMILIES_MOST; i++) {
		if (same_family(&found->rows[i].layout, own))
			return rank;
		rank += !is_repeated(found, i);
	}
	return 0;
}

static void
pin(struct layout_pin *p, double value)
{
	p->n = 1;
	p->ranges[0].low = p->ranges[0].high = value;
}

/* The published layout alone. */
static struct layout_space
pinned(const struct layout_space *open, const struct memory_job *job, double n_sequences)
{
	const struct layout *l = &job->layout;
	const double of[N_DEGREES] = {[DEGREE_TP] = l->tp,
	    [DEGREE_PP] = l->pp,
	    [DEGREE_VP] = l->vp,
	    [DEGREE_CP] = l->cp,
	    [DEGREE_EP] = l->ep,
	    [DEGREE_ETP] = l->etp,
	    [DEGREE_DP] = l->dp,
	    [DEGREE_ZERO] = l->zero};
	struct layout_space s = *open;

	for (int d = 0; d < N_DEGREES; d++)
		pin(&s.pins[d], of[d]);
	/* there is nothing to shard */
	if (l->dp * l->cp == 1)
		s.pins[DEGREE_ZERO].n = 0;
	pin(&s.batches, n_sequences);
	s.shard = l->shard < l->dp * l->cp ? l->shard : 0;
	return s;
}

/* The rule of the launcher that the layout breaks; NULL: none, and the search would find it. */
static const char *
broken_rule(const struct layout_space *own)
{
	double n_refused[N_LAYOUT_RULES];

	if (layout_legal(own, n_refused))
		return NULL;
	for (int i = 0; i < N_LAYOUT_RULES; i++)
		if (n_refused[i] > 0)
			return layout_rule_text((enum layout_rule)i);
	return "no layout of the search";
}

/* A layout as the commands see it. */
struct seen {
	struct memory_job job;
	struct train_answer answer;
	const char *policy; /* of recomputation and offloading; NULL: not known */
};

/* What it recomputes, as --recompute takes it, and what else it offloads. */
static const char *
policy_of(struct arena *a, const char *recompute, const struct memory_job *job)
{
	char offload[120];

	fit_offload_text(job, offload, sizeof offload);
	return *offload ? arena_printf(a, "%s, offload %s", recompute ? recompute : "none", offload) : recompute;
}

static void
see(struct arena *a, const struct layout_space *s, const struct layout_row *row, const struct train_row *t,
    struct seen *out)
{
	struct train_ask ask;

	layout_memory_job(s, row, &out->job);
	layout_train_ask(s, row, &ask);
	train_answer(&ask, &t->bound.doubts, &out->answer);
	out->policy = policy_of(a, layout_policy_text(a, s, &row->layout, row->policy), &out->job);
}

/* Whether the micro-batch is not known: left out, or at odds with the global batch and the steps that accumulate it. */
static bool
leaves_batch_open(const struct validate_row *row)
{
	const double n = row_number(row, "mbs") * row_number(row, "grad_accum") * row_number(row, "dp");
	const double gbs = row_number(row, "gbs");

	return isnan(row_number(row, "mbs")) || (n > 0 && gbs > 0 && n != gbs);
}

/* The layout that ran.  What the row leaves open is as fast as can be: chunks of a stage, micro-batch, recomputation.
 */
static void
settle(struct arena *a, const struct layout_space *own, const struct train_row *t, struct seen *out)
{
	const struct validate_row *row = t->published.row;
	const bool any_vp = isnan(row_number(row, "vp")) && t->bound.memory.layout.pp > 1;
	const char *recompute = row_text(row, "recompute");
	const bool any_batch = leaves_batch_open(row), any_policy = !recompute;
	struct layout_space s = *own;
	struct layout_result found = {0};

	s.ran = true;
	*out = (struct seen){t->bound.memory, t->answer, policy_of(a, recompute, &t->bound.memory)};
	if (any_vp)
		s.pins[DEGREE_VP].n = 0;
	if (any_batch)
		s.batches.n = 0;
	if (!any_policy) {
		s.n_policies = 1;
		s.policies[0] = (struct layout_policy){.recompute = out->job.recompute,
		    .n = out->job.recompute_n,
		    .modules = out->job.modules,
		    .text = recompute};
	}
	if (any_vp || any_batch || any_policy)
		layout_search(a, &s, &found);
	if (found.n_rows > 0)
		see(a, &s, &found.rows[0], t, out);
}

/* Whether the interval of the difference has 0 in it. */
static bool
is_same(const struct seen *best, const struct seen *own)
{
	const struct layout_shares x = layout_shares_of(&best->answer.job, &best->answer.terms),
	                           y = layout_shares_of(&own->answer.job, &own->answer.terms);
	return fabs(log(y.step_s / x.step_s)) <= layout_difference(&x, &y, dtype_byte(best->answer.job.dtype) < 2);
}

/* Families of which a member cannot be told from the first row. */
static int
count_same(struct arena *a, const struct layout_space *s, const struct layout_result *found, const struct train_row *t,
    const struct seen *best)
{
	int n = 0;

	for (size_t i = 0; i < found->n_rows; i++) {
		struct seen other;
		if (is_repeated(found, i))
			continue;
		see(a, s, &found->rows[i], t, &other);
		n += is_same(best, &other);
	}
	return n;
}

static const char *
layout_of(struct run *r, const struct seen *x)
{
	char text[120];

	fit_layout_text(&x->job, text, sizeof text);
	return arena_printf(r->arena, "%s,batch %g", text, x->answer.job.n_sequences);
}

/* What runs must have in common to be answers to one question.  One without a time is its own: nobody says which of
 * several is faster. */
static const char *
question_of(struct arena *a, const struct validate_row *row, double measured_s)
{
	static const char *const columns[] = {"model", "task", "gpu_id", "num_gpus", "gbs", "seq", "precision"};
	const char *out = measured_s > 0 ? "" : row_text(row, "case_id");

	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		const char *said = row_text(row, columns[i]);
		out = arena_printf(a, "%s|%s", out ? out : "", said ? said : "");
	}
	return out;
}

static void
compare(struct plan_judge *j, struct arena *passing, const struct train_row *t, const struct layout_space *s,
    const struct layout_result *found)
{
	struct run *r = j->v->run;
	const struct layout_space alone = pinned(s, &t->bound.memory, t->answer.job.n_sequences);
	struct seen best, own;
	struct judged *out;

	j->list = arena_grow(r->arena, j->list, j->n, j->n + 1, sizeof *j->list);
	out = &j->list[j->n++];
	see(r->arena, s, &found->rows[0], t, &best);
	settle(passing, &alone, t, &own);
	*out = (struct judged){.name = row_text(t->published.row, "case_id"),
	    .layout = layout_of(r, &own),
	    .policy = own.policy ? arena_printf(r->arena, "%s", own.policy) : "-",
	    .best = layout_of(r, &best),
	    .best_policy = best.policy,
	    .question = question_of(r->arena, t->published.row, t->measured_s),
	    .measured_s = fmax(0, t->measured_s),
	    .line = row_line(t->published.row),
	    .rank = rank_of(found, &own.job.layout),
	    .n_same = count_same(passing, s, found, t, &best),
	    .share_frac = best.answer.step_s / own.answer.step_s,
	    .verdict = FITS,
	    .same = is_same(&best, &own),
	    .experts = workload_has_experts(s->memory.model),
	    .illegal = broken_rule(&alone)};
	if (s->modeled)
		out->verdict = memory_verdict(&own.job, memory_peak(NULL, &own.job, NULL));
}

void
plan_judge_row(struct plan_judge *j, const struct train_row *t, const struct train_bound *open)
{
	struct layout_space s = {.ask = open->ask,
	    .memory = open->memory,
	    .modeled = !open->no_memory && datum_given(open->memory.card_byte),
	    .n_gpus = t->bound.ask.n_gpus,
	    .n_global_sequences = t->answer.job.n_global_sequences,
	    .n_rows = ROWS_KEPT,
	    .across = t->bound.memory.layout.tp > open->ask.machine.n_domain,
	    .shards = true};
	const struct layout *own = &t->bound.memory.layout;
	struct layout_result found;

	if (own->zero > datum_or(open->memory.stack->max_zero, 0) && own->dp * own->cp > 1) {
		validation_skip(j->v, row_line(t->published.row), "sharded as the rules of its stack do not have it");
		return;
	}
	struct arena *passing = arena_new();
	layout_policies(&s);
	s.memos = layout_memos_new(passing, s.ask.machine.kernels);
	layout_search(passing, &s, &found);
	if (found.n_rows > 0)
		compare(j, passing, t, &s, &found);
	else
		validation_skip(j->v, row_line(t->published.row), "no layout of the search fits");
	layout_memos_free(s.memos);
	arena_free(passing);
}

/* --- all of them --------------------------------------------------------------------------------------------- */

static int
by_share(const void *a, const void *b)
{
	const struct judged *x = a, *y = b;

	return x->share_frac != y->share_frac ? (x->share_frac < y->share_frac ? -1 : 1)
	                                      : (x->line > y->line) - (x->line < y->line);
}

static void
show_judged(struct sheet *sh, const struct judged *x)
{
	TAKE(sh, line, x->line);
	SHOW(sh, line, line);
	TELL(sh, what, x->name ? x->name : "-");
	TELL(sh, layout, x->layout);
	TELL(sh, recompute, x->policy);
	TELL(sh, verdict, verdict_name(x->verdict));
	TELL(sh, best_layout, x->best);
	TELL(sh, best_recompute, x->best_policy);
	TAKE(sh, best_share_frac, x->share_frac);
	SHOW(sh, best_share_frac, best_share_frac);
	if (x->rank > 0) {
		TAKE(sh, family_rank, x->rank);
		SHOW(sh, family_rank, n_family_rank);
	}
	TAKE(sh, same_families, x->n_same);
	SHOW(sh, same_families, n_same_families);
	TELL(sh, note,
	    x->illegal         ? x->illegal
	        : x->same      ? "not distinguishable from the best"
	        : x->rank == 0 ? "behind 20 families"
	                       : "");
}

/* A first row that is slower than what ran, for the sake of its memory, is judged alike. */
static bool
is_near(const struct judged *x)
{
	return fabs(log(x->share_frac)) <= log(1 + (x->experts ? near_experts_frac : near_dense_frac));
}

/* A wide group says nothing: whatever is in it cannot be told from the best. */
static bool
is_first(const struct judged *x)
{
	return (x->same && x->n_same <= (x->experts ? SAME_MOST : SAME_DENSE)) ||
	    (x->rank > 0 && x->rank <= (x->experts ? FAMILIES_MOST : FAMILIES_DENSE));
}

/* Of all, or of one of the two kinds of model. */
enum judged_group { JUDGED_ALL, JUDGED_DENSE, JUDGED_EXPERTS, N_JUDGED_GROUPS };

static void
show_group(const struct plan_judge *j, enum judged_group group)
{
	static const char *const names[] = {"all", "dense", "experts"};
	struct run *r = j->v->run;
	struct sheet *sh = r->sheet;
	double *regret = ARENA_ARRAY(r->arena, double, j->n + 1), all = 0;
	double n_near = 0, n_first = 0, n_fit = 0, n_legal = 0, n_all = 0;
	size_t n = 0;

	for (size_t i = 0; i < j->n; i++) {
		const struct judged *x = &j->list[i];
		if (group != JUDGED_ALL && x->experts != (group == JUDGED_EXPERTS))
			continue;
		const bool fits = x->verdict != DOES_NOT_FIT;
		regret[n] = fmax(0, 1 - x->share_frac);
		all += regret[n++];
		n_legal += !x->illegal;
		n_fit += fits;
		n_near += is_near(x);
		n_first += is_first(x);
		n_all += !x->illegal && fits && is_near(x) && is_first(x);
	}
	if (n == 0)
		return;
	const double n_judged = (double)n;
	TELL(sh, group, names[group]);
	TAKE(sh, n_rows, n_judged);
	SHOW(sh, n_rows, n);
	TAKE(sh, legal_frac, n_legal / n_judged);
	SHOW(sh, legal_frac, legal_frac);
	TAKE(sh, fit_frac, n_fit / n_judged);
	SHOW(sh, fit_frac, fit_frac);
	TAKE(sh, near_best_frac, n_near / n_judged);
	SHOW(sh, near_best_frac, near_best_frac);
	TAKE(sh, first_families_frac, n_first / n_judged);
	SHOW(sh, first_families_frac, first_families_frac);
	TAKE(sh, meets_all_frac, n_all / n_judged);
	SHOW(sh, meets_all_frac, meets_all_frac);
	TAKE(sh, median_regret_frac, rank_median(regret, n));
	SHOW(sh, median_regret_frac, median_regret_frac);
	TAKE(sh, mean_regret_frac, all / n_judged);
	SHOW(sh, mean_regret_frac, mean_regret_frac);
}

static int
by_question(const void *a, const void *b)
{
	const struct judged *x = a, *y = b;
	const int order = strcmp(x->question, y->question);

	if (order)
		return order;
	return x->measured_s != y->measured_s ? (x->measured_s < y->measured_s ? -1 : 1) : x->line - y->line;
}

/* Of several published layouts of one question the fastest was tuned; the others are known to be slower. */
static void
keep_fastest(struct plan_judge *j)
{
	size_t n = 0;

	qsort(j->list, j->n, sizeof *j->list, by_question);
	for (size_t i = 0; i < j->n; i++)
		if (n == 0 || strcmp(j->list[n - 1].question, j->list[i].question) != 0)
			j->list[n++] = j->list[i];
		else
			validation_skip(j->v, j->list[i].line, "another published run of the question is faster");
	j->n = n;
}

bool
plan_judge_show(struct plan_judge *j, size_t worst)
{
	struct sheet *sh = j->v->run->sheet;

	if (j->n == 0)
		return false;
	keep_fastest(j);
	for (int g = 0; g < N_JUDGED_GROUPS; g++)
		SCOPE_I (sh, "judged", g)
			show_group(j, (enum judged_group)g);
	qsort(j->list, j->n, sizeof *j->list, by_share);
	for (size_t i = 0; i < j->n && i < worst; i++)
		SCOPE_I (sh, "plans", i)
			show_judged(sh, &j->list[i]);
	return true;
}

/* --- ranks of ridge plan serve ----------------------------------------------------------------------------------- */

/* Judge the ranks of `ridge plan serve` by published runs: of all layouts of one setup, whether the one with the most
 * throughput per GPU is the one predicted to have it. */

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
show_ranks(struct run *r, const char *group, const struct setup *list, size_t n, bool smallest_too)
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
		show_ranks(r, "all", setups, n, true);
	SCOPE_I (r->sheet, "ranks", 1)
		show_ranks(r, "best not smallest", setups, n, false);
	for (size_t i = 0; i < n && i < worst && setups[i].loss_frac > 0; i++)
		SCOPE_I (r->sheet, "setups", i)
			show_setup(r, &setups[i]);
	return true;
}
