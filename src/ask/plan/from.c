/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The changes of what runs today that help most. */
#include "ask/plan/plan.h"

#include "search/plan/plan.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CHANGES = 512, MOST_PAIRS_SHOWN = 3 };

/* One option of the launcher changed. */
struct change {
	int what; /* a degree, MICRO_BATCH, RECOMPUTE or OPTION */
	const char *text;
	bool numerics;
	const struct plan_variant *variant; /* of an option, what it makes; else today's */
	const char *halves[2];              /* of two changes */
	double value;                       /* of a degree or micro-batch, number of the policy */
	struct plan_row row;
};
enum { MICRO_BATCH = N_DEGREES, RECOMPUTE, OPTION };

struct changes {
	struct run *r;
	const struct plan_in *in;
	const struct plan_variant *today;
	double n_gpus;
	struct plan_row base;
	size_t n;
	struct change *list;
};

/* --- one layout -------------------------------------------------------------------------------------------- */

static void
pin(struct layout_space *s, enum layout_degree d, double value)
{
	s->pins[d].n = 1;
	s->pins[d].ranges[0].low = s->pins[d].ranges[0].high = value;
}

static double *
degree_of(struct layout *l, enum layout_degree d)
{
	double *const of[N_DEGREES] = {[DEGREE_TP] = &l->tp,
	    [DEGREE_PP] = &l->pp,
	    [DEGREE_VP] = &l->vp,
	    [DEGREE_CP] = &l->cp,
	    [DEGREE_EP] = &l->ep,
	    [DEGREE_ETP] = &l->etp,
	    [DEGREE_DP] = &l->dp};

	return of[d];
}

/* Whether --layout allows what a change leads to. */
static bool
is_allowed(const struct changes *c, struct layout *l)
{
	const struct layout_pin *pins = c->in->from.text ? c->today->space.pins : NULL;

	for (int d = 0; pins && d < N_DEGREES; d++)
		if (!layout_pin_allows(&pins[d], d == DEGREE_ZERO ? l->zero : *degree_of(l, (enum layout_degree)d)))
			return false;
	return true;
}

/* Time and memory of one layout by the rules of the search; false where one refuses it. */
static bool
evaluate(const struct changes *c, const struct plan_variant *v, const struct layout_row *row, struct plan_row *out)
{
	struct layout_space s = plan_space(v, c->n_gpus);
	struct layout l = row->layout;
	struct layout_result found;
	struct arena *passing = arena_new();

	s.policies[0] = s.policies[row->policy];
	s.n_policies = 1;
	s.batches.n = 1;
	s.batches.ranges[0].low = s.batches.ranges[0].high = row->n_sequences;
	s.across = true;
	for (int d = 0; d < N_DEGREES; d++)
		pin(&s, (enum layout_degree)d, d == DEGREE_ZERO ? l.zero : *degree_of(&l, (enum layout_degree)d));
	s.shard = layout_shard_ranks(&l) < l.dp * l.cp ? l.shard : 0;
	layout_search(passing, &s, &found);
	const bool legal = found.n_rows > 0 || found.has_near;
	if (legal) {
		struct layout_row got = found.n_rows > 0 ? found.rows[0] : found.near;
		got.policy = row->policy;
		plan_fill(c->r, c->in, v, c->n_gpus, &got, out);
	}
	arena_free(passing);
	return legal;
}

/* --- single changes ---------------------------------------------------------------------------------------- */

/* Whether chunks have as many layers each, or what runs today has not, or none of these stages can. */
static bool
splits(const struct changes *c, const struct layout *l)
{
	const struct layout *today = &c->base.row.layout;
	const struct stack *s = c->today->space.memory.stack;
	const struct workload *w = c->today->space.memory.model;

	if (l->pp == 1 || layout_splits_evenly(s, w, l->pp * l->vp) || (l->pp == today->pp && l->vp == today->vp))
		return true;
	return layout_splits_freely(s) && !layout_splits_evenly(s, w, l->pp) && layout_finest_chunks(s, w, l->pp) == 1;
}

/* The ranks that share a copy: as many as today, where they divide the replicas; all of them where those shared one. */
static bool
shards(const struct changes *c, struct layout *l)
{
	const struct layout *today = &c->base.row.layout;
	const double replicas = l->dp * l->cp;

	l->shard = layout_shard_ranks(today) < today->dp * today->cp ? today->shard : replicas;
	return fmod(replicas, l->shard) == 0;
}

/* Put a change into a layout, with what follows from it; false where nothing whole does. */
static bool
apply(const struct changes *c, const struct change *x, struct layout_row *row)
{
	const struct workload *w = c->today->space.memory.model;
	struct layout *l = &row->layout;

	if (x->what == MICRO_BATCH)
		row->n_sequences = x->value;
	else if (x->what == RECOMPUTE)
		row->policy = (int)x->value;
	else if (x->what == DEGREE_ZERO)
		l->zero = (int)x->value;
	else if (x->what != OPTION) {
		const bool usual = x->what != DEGREE_ETP && l->etp == layout_usual_etp(w, l);
		const bool follows = x->what == DEGREE_TP && l->etp == l->tp && l->tp > 1;
		*degree_of(l, (enum layout_degree)x->what) = x->value;
		l->etp = usual ? layout_usual_etp(w, l) : follows ? x->value : l->etp;
		l->dp = c->n_gpus / (l->tp * l->pp * l->cp);
		if (!shards(c, l))
			return false;
		l->sp = !c->today->space.memory.no_sp && layout_usual_sp(c->today->space.memory.stack, l->tp);
	}
	while (x->what == DEGREE_PP && l->vp > 1 && (l->pp == 1 || !splits(c, l)))
		l->vp--;
	/* as in the search: Megatron-FSDP beside a pipeline gathers all parameters for each micro-batch */
	if (c->today->space.memory.stack->zero_on_request && l->zero == 3 && l->pp > 1 &&
	    (c->base.row.layout.zero < 3 || c->base.row.layout.pp == 1))
		return false;
	return l->dp == floor(l->dp) && l->dp >= 1 && (l->etp == 1 || l->etp == l->tp) && splits(c, l) &&
	    (x->what == OPTION || is_allowed(c, l));
}

/* `pp 4 -> 2`. */
static const char *
name_of(const struct changes *c, const struct change *x, const struct layout_row *now)
{
	struct arena *a = c->r->arena;
	struct layout before = c->base.row.layout;

	if (x->what == OPTION)
		return x->text;
	if (x->what == MICRO_BATCH)
		return arena_printf(a, "micro-batch %g -> %g", c->base.row.n_sequences, x->value);
	if (x->what == RECOMPUTE)
		return plan_policy_text(a, &c->today->space, now);
	if (x->what == DEGREE_ZERO)
		return arena_printf(a, "zero %d -> %g", before.zero, x->value);
	return arena_printf(a, "%s %g -> %g", layout_degree_name((enum layout_degree)x->what),
	    *degree_of(&before, (enum layout_degree)x->what), x->value);
}

/* `pp 4 -> 2 (dp 2 -> 4)`: changes and what follows from them. */
static const char *
text_of(const struct changes *c, const struct change *const changes[], size_t n, const struct layout_row *now)
{
	struct arena *a = c->r->arena;
	struct layout before = c->base.row.layout, after = now->layout;
	const char *text = "", *more = "";

	for (size_t i = 0; i < n; i++)
		text = arena_printf(a, "%s%s%s", text, *text ? ", " : "", name_of(c, changes[i], now));
	for (int d = 0; d < DEGREE_ZERO; d++) {
		const double was = *degree_of(&before, (enum layout_degree)d),
		             is = *degree_of(&after, (enum layout_degree)d);
		bool named = was == is;
		for (size_t i = 0; i < n; i++)
			named = named || changes[i]->what == d;
		if (!named)
			more = arena_printf(a, "%s%s%s %g -> %g", more, *more ? ", " : "",
			    layout_degree_name((enum layout_degree)d), was, is);
	}
	return *more ? arena_printf(a, "%s (%s)", text, more) : text;
}

/* Whether a layout has what a change is about: another one may take it back. */
static bool
has(const struct change *x, struct layout l)
{
	return x->what >= DEGREE_ZERO || *degree_of(&l, (enum layout_degree)x->what) == x->value;
}

static void
add_change(struct changes *c, struct change x)
{
	struct layout_row row = c->base.row;

	if (c->n == MOST_CHANGES || !apply(c, &x, &row))
		return;
	x.variant = x.variant ? x.variant : c->today;
	x.text = x.text ? x.text : text_of(c, (const struct change *const[]){&x}, 1, &row);
	if (evaluate(c, x.variant, &row, &x.row))
		c->list[c->n++] = x;
}

static void
add_degrees(struct changes *c)
{
	const struct layout_space *s = &c->today->space;
	const struct workload *w = s->memory.model;
	const struct layout *l = &c->base.row.layout;
	const double experts = fit_experts(w), chunks = layout_most_chunks(w);
	const double most[N_DEGREES] = {[DEGREE_TP] = s->memory.stack->tensor
	        ? fmin(c->n_gpus, s->across ? c->n_gpus : s->ask.machine.n_domain)
	        : 1,
	    [DEGREE_PP] = s->memory.stack->pipeline ? fmin(c->n_gpus, w->n_layers.value) : 1,
	    [DEGREE_VP] = l->pp > 1 ? chunks / l->pp : 1,
	    [DEGREE_CP] = s->memory.stack->context ? c->n_gpus : 1,
	    [DEGREE_EP] = s->memory.stack->expert ? fmax(1, experts) : 1,
	    [DEGREE_ETP] = experts > 0 ? l->tp : 1,
	    [DEGREE_ZERO] =
	        s->memory.stack->zero_on_request && !s->shards ? 1 : datum_or(s->memory.stack->max_zero, 0)};

	for (int d = 0; d < N_DEGREES; d++) {
		struct layout now = *l;
		const bool zero = d == DEGREE_ZERO, powers = d == DEGREE_CP;
		const double own = zero ? l->zero : *degree_of(&now, (enum layout_degree)d);
		for (double value = zero ? 0 : 1; value <= most[d] && d != DEGREE_DP;
		     value = powers ? 2 * value : value + 1)
			if (value != own)
				add_change(c, (struct change){.what = d, .value = value});
	}
}

/* Whether a policy comes to what today's layout recomputes. */
static bool
is_todays(const struct changes *c, int p)
{
	const struct layout_space *s = &c->today->space;
	const struct layout_row *row = &c->base.row;

	return p == row->policy ||
	    (s->policies[p].recompute == RECOMPUTE_BLOCK && s->policies[row->policy].recompute == RECOMPUTE_BLOCK &&
	        layout_policy_n(s, &row->layout, p) == layout_policy_n(s, &row->layout, row->policy));
}

static void
add_rest(struct changes *c)
{
	for (int b = 1; b <= MOST_MICRO_BATCH; b++)
		if (b != c->base.row.n_sequences)
			add_change(c, (struct change){.what = MICRO_BATCH, .value = b});
	for (int p = 0; p < c->today->space.n_policies; p++)
		if (!is_todays(c, p))
			add_change(c, (struct change){.what = RECOMPUTE, .value = p});
}

/* --- options of other variants ----------------------------------------------------------------------------- */

/* Options whose other values are tried where their list names none; numerics: the run would train otherwise. */
static const struct {
	size_t list;
	const char *option, *others;
	bool numerics;
} options[] = {
#define OTHERS(member, ...)                                                                                            \
	{                                                                                                              \
		offsetof(struct plan_in, choice.member), __VA_ARGS__                                                   \
	}
    OTHERS(dtype, "--dtype", "bf16,fp8,mxfp8,nvfp4", true),
    OTHERS(grad_dtype, "--grad-dtype", "bf16,fp32", true),
    OTHERS(moment_dtype, "--moment-dtype", "bf16,fp32", true),
    OTHERS(optimizer, "--optimizer", "", true),
    OTHERS(schedule, "--schedule", "zero-bubble", false),
    OTHERS(dispatcher, "--dispatcher", "plain,dedup", false),
    OTHERS(stack, "--stack", "", false),
#undef OTHERS
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static struct words *
list_at(struct plan_in *in, size_t i)
{
	return (struct words *)(void *)((char *)in + options[i].list);
}

/* Today's job with another value of one option; NULL where it has no answer. */
static const struct plan_variant *
variant_with(const struct changes *c, size_t option, const char *value)
{
	struct run quiet = *c->r;
	struct plan_in in = *c->in;
	struct plan_variant *v = ARENA_NEW(quiet.arena, struct plan_variant);

	quiet.diag = diag_new(quiet.arena);
	quiet.reads = NULL;
	for (size_t i = 0; i < N_OPTIONS; i++)
		list_at(&in, i)->n = list_at(&in, i)->n ? 1 : 0;
	struct words *list = list_at(&in, option);
	list->n = 1;
	list->list = ARENA_NEW(quiet.arena, struct word);
	list->list[0] = (struct word){value, {options[option].option, 0, 0, NULL, false}};
	if (!plan_bind_variant(&quiet, &in, &c->today->space, 0, v))
		return NULL;
	const struct layout_space *today = &c->today->space;
	v->space.memory.no_sp = today->memory.no_sp;
	v->space.n_policies = today->n_policies;
	for (int i = 0; i < today->n_policies; i++)
		v->space.policies[i] = today->policies[i];
	v->space.n_rows = 1;
	v->space.exhaustive = false;
	v->space.n_threads = 1;
	return v;
}

/* Whether a value is another one than today's. */
static bool
is_other(const struct changes *c, size_t option, const char *value)
{
	const struct train_job *job = &c->base.answer.job;
	const struct memory_job *m = &c->base.memory;

	if (strcmp(options[option].option, "--dtype") == 0)
		return strcmp(value, dtype_name(job->dtype)) != 0;
	if (strcmp(options[option].option, "--dispatcher") == 0)
		return m->layout.ep * m->layout.etp > c->today->space.ask.machine.n_domain &&
		    job->dedup != (strcmp(value, "dedup") == 0);
	if (strcmp(options[option].option, "--grad-dtype") == 0)
		return datum_or(m->gradient_byte, datum_or(m->stack->gradient_byte, 0)) !=
		    (strcmp(value, "fp32") == 0 ? 4 : 2);
	if (strcmp(options[option].option, "--moment-dtype") == 0)
		return strcmp(value, m->precision_aware ? dtype_name(m->moment_dtype) : "fp32") != 0;
	if (strcmp(options[option].option, "--schedule") == 0)
		return m->layout.pp > 1 && (strcmp(value, "zero-bubble") != 0 || m->stack->zero_bubble);
	return true;
}

static void
add_options(struct changes *c)
{
	struct plan_in in = *c->in;

	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct words *said = list_at(&in, i);
		size_t n;
		char **others = text_split(c->r->arena, options[i].others, ',', &n);
		const bool open = said->n < 2;
		for (size_t k = open ? 0 : 1; k < (open ? n : said->n); k++) {
			const char *value = open ? others[k] : said->list[k].text;
			const struct plan_variant *v =
			    *value && is_other(c, i, value) ? variant_with(c, i, value) : NULL;
			if (v)
				add_change(c,
				    (struct change){.what = OPTION,
				        .variant = v,
				        .numerics = options[i].numerics,
				        .text = arena_printf(c->r->arena, "%s %s", options[i].option, value)});
		}
	}
	struct plan_variant *twice = ARENA_NEW(c->r->arena, struct plan_variant);
	*twice = *c->today;
	twice->space.n_global_sequences *= 2;
	add_change(c,
	    (struct change){.what = OPTION,
	        .variant = twice,
	        .numerics = true,
	        .text = arena_printf(c->r->arena, "--global-batch %g", twice->space.n_global_sequences)});
}

/* Communication beside computation, as the framework can, where today's launch leaves it off. */
static void
add_overlap(struct changes *c)
{
	struct run quiet = *c->r;
	const struct stack *today = c->today->space.memory.stack, *whole;
	const char *said;

	quiet.diag = diag_new(quiet.arena);
	whole = database_stack(quiet.database, quiet.arena, quiet.diag, today->id, NULL, (struct source){0}, &said);
	if (!whole ||
	    (whole->time.dp_overlap == today->time.dp_overlap && whole->time.tp_overlap == today->time.tp_overlap))
		return;
	struct stack *s = ARENA_NEW(quiet.arena, struct stack);
	struct plan_variant *v = ARENA_NEW(quiet.arena, struct plan_variant);
	*s = *today;
	s->time.dp_overlap = whole->time.dp_overlap;
	s->time.tp_overlap = whole->time.tp_overlap;
	*v = *c->today;
	v->space.memory.stack = v->space.ask.stack = s;
	add_change(c, (struct change){.what = OPTION, .variant = v, .text = "communication overlaps computation"});
}

/* --- two changes ------------------------------------------------------------------------------------------- */

static bool
fits(const struct change *x)
{
	return x->row.row.verdict != DOES_NOT_FIT;
}

/* Seconds for the sequences of today's step. */
static double
step_of(const struct changes *c, const struct change *x)
{
	return x->row.row.step_s * c->base.answer.job.n_global_sequences / x->row.answer.job.n_global_sequences;
}

/* Whether a change is worth a row: it saves time, or fits where today's job does not. */
static bool
helps(const struct changes *c, const struct change *x)
{
	return c->base.row.verdict == DOES_NOT_FIT ? fits(x) : step_of(c, x) < c->base.row.step_s;
}

/* The fastest single change that fits and leaves the numerics alone, or NULL. */
static const struct change *
best_single(const struct changes *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (!c->list[i].numerics && fits(&c->list[i]) && helps(c, &c->list[i]))
			return &c->list[i];
	return NULL;
}

/* Both changes at once; false where that is no layout. */
static bool
both(const struct changes *c, const struct change *x, const struct change *y, struct change *out)
{
	struct layout_row row = c->base.row;

	if (x->what == y->what || x->numerics || y->numerics || !apply(c, x, &row) || !apply(c, y, &row) ||
	    !has(x, row.layout) || !has(y, row.layout))
		return false;
	*out = (struct change){.what = OPTION, .variant = x->what == OPTION ? x->variant : y->variant};
	if (!evaluate(c, out->variant, &row, &out->row))
		return false;
	out->text = text_of(c, (const struct change *const[]){x, y}, 2, &row);
	out->halves[0] = x->text;
	out->halves[1] = y->text;
	return true;
}

static int
by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	const double u = x->row.row.step_s / x->row.answer.job.n_global_sequences;
	const double v = y->row.row.step_s / y->row.answer.job.n_global_sequences;

	if (u != v)
		return u < v ? -1 : 1;
	return strcmp(x->text, y->text);
}

/* Pairs that fit and are faster than today's job, fastest first; where that does not fit, than each single change that
 * does. */
static size_t
find_pairs(const struct changes *c, struct change **out)
{
	const struct change *single = best_single(c);
	const bool fitting = c->base.row.verdict != DOES_NOT_FIT;
	const double limit_s = fitting ? c->base.row.step_s : single ? single->row.row.step_s : INFINITY;
	size_t n = 0, room = c->n * c->n / 2 + 1;
	struct change *list = ARENA_ARRAY(c->r->arena, struct change, room), pair;

	for (size_t i = 0; i < c->n; i++)
		for (size_t k = i + 1; k < c->n; k++)
			if (both(c, &c->list[i], &c->list[k], &pair) && fits(&pair) && pair.row.row.step_s < limit_s)
				list[n++] = pair;
	qsort(list, n, sizeof *list, by_time);
	*out = list;
	return n;
}

/* The fastest pair with this change, which alone does not fit. */
static const char *
remedy_of(struct run *r, const struct change *x, const struct change *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 2; k++)
			if (pairs[i].halves[k] == x->text)
				return arena_printf(
				    r->arena, "fits with %s: %.3g s", pairs[i].halves[1 - k], pairs[i].row.row.step_s);
	return "";
}

/* --- the answer -------------------------------------------------------------------------------------------- */

static void
show_change(const struct changes *c, const struct change *x, const struct change *pairs, size_t n_pairs)
{
	struct sheet *sh = c->r->sheet;
	const bool narrow = dtype_byte(x->row.answer.job.dtype) < 2 || dtype_byte(c->base.answer.job.dtype) < 2;
	const double half = layout_difference(&x->row.shares, &c->base.shares, narrow);
	const double low_frac = x->row.low, high_frac = x->row.high;
	/* of what runs today too, it is no news */
	const char *unproven = x->row.shares.unproven == c->base.shares.unproven ? NULL : x->row.shares.unproven;

	TELL(sh, change, x->text);
	TAKE(sh, changed_s, x->row.row.step_s);
	SHOW(sh, changed_s, step_s);
	BETWEEN(sh, changed_s, low_frac * changed_s, high_frac * changed_s, "as of ridge train");
	TAKE(sh, same_work_s, step_of(c, x));
	TAKE(sh, today_s, c->base.row.step_s);
	LET(sh, saved_frac, 1 - same_work_s / today_s);
	SHOW(sh, saved_frac, saved_frac);
	const double low = 1 - same_work_s / today_s * exp(half), high = 1 - same_work_s / today_s * exp(-half);
	BETWEEN(sh, saved_frac, low, high, "paired: errors common to both layouts cancel");
	if (x->row.space.modeled) {
		TAKE(sh, changed_byte, x->row.row.peak_byte);
		SHOW(sh, changed_byte, peak_byte);
		TELL(sh, verdict, verdict_name(x->row.row.verdict));
	}
	TELL(sh, note,
	    low < 0 && high > 0 ? "not distinguishable"
	        : !fits(x)      ? remedy_of(c->r, x, pairs, n_pairs)
	        : x->numerics   ? "numerics change"
	        : unproven      ? unproven
	                        : "");
}

static size_t
show_list(const struct changes *c, const char *table, bool numerics, const struct change *pairs, size_t n_pairs)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n && n < (size_t)c->in->top.value; i++) {
		const struct change *x = &c->list[i];
		if (x->numerics != numerics || !helps(c, x))
			continue;
		SCOPE_I (c->r->sheet, table, n)
			show_change(c, x, pairs, n_pairs);
		n++;
	}
	return n;
}

static void
show_today(const struct changes *c)
{
	struct sheet *sh = c->r->sheet;
	const double low_frac = c->base.low, high_frac = c->base.high;
	struct train_terms t;

	TELL(sh, layout, plan_layout_text(c->r, &c->base.memory));
	CALL(sh, step_s, train_step(sh, &c->base.answer.job, &t));
	SHOW(sh, step_s, step_s);
	BETWEEN(sh, step_s, low_frac * step_s, high_frac * step_s, "as of ridge train");
	if (!c->base.space.modeled)
		return;
	TAKE(sh, today_byte, c->base.row.peak_byte);
	SHOW(sh, today_byte, peak_byte);
	TELL(sh, verdict, verdict_name(c->base.row.verdict));
}

enum answer
plan_show_changes(struct run *r, const struct plan_in *in, const struct plan_question *b, const struct settings *today)
{
	struct plan_today now;
	struct change *pairs;

	if (!plan_bind_today(r, in, b, today, &now))
		return REFUSED;
	struct changes c = {.r = r,
	    .in = in,
	    .today = now.variant,
	    .n_gpus = now.n_gpus,
	    .base = now.row,
	    .list = ARENA_ARRAY(r->arena, struct change, MOST_CHANGES)};
	add_degrees(&c);
	add_rest(&c);
	add_options(&c);
	add_overlap(&c);
	qsort(c.list, c.n, sizeof *c.list, by_time);
	const size_t n_pairs = find_pairs(&c, &pairs);
	show_today(&c);
	const size_t n = show_list(&c, "changes", false, pairs, n_pairs);
	const size_t n_numerics = show_list(&c, "numerics", true, pairs, n_pairs);
	for (size_t i = 0; i < n_pairs && i < MOST_PAIRS_SHOWN; i++)
		SCOPE_I (r->sheet, "pairs", i)
			show_change(&c, &pairs[i], NULL, 0);
	if (n + n_numerics + n_pairs == 0)
		run_warn(r, "no single change and no two %s",
		    c.base.row.verdict == DOES_NOT_FIT ? "make it fit" : "save time");
	show_train_warnings(r, &c.base.answer);
	if (!in->launch.emit.text)
		return ANSWERED;
	const struct change *single = best_single(&c);
	const bool twice = n_pairs > 0 && (!single || pairs[0].row.row.step_s < single->row.row.step_s);
	const struct plan_row *row = twice ? &pairs[0].row : single ? &single->row : &c.base;
	return launch_show(r, in->launch.emit, &row->memory, &row->answer);
}
