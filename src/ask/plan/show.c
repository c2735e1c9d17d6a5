/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show the layouts of a plan. */
#include "ask/plan/plan.h"

#include "search/plan/plan.h"

#include <string.h>

/* A row with its jobs and what it is compared by. */
struct shown {
	const struct layout_row *row;
	struct memory_job memory;
	struct train_answer answer;
	struct layout_shares shares;
	char group;
};

static const char *
layout_text(struct run *r, const struct memory_job *job)
{
	char text[120];

	fit_layout_text(job, text, sizeof text);
	return arena_printf(r->arena, "%s", text);
}

static const char *
options_text(struct run *r, const struct plan_question *b, const struct shown *s)
{
	return arena_printf(r->arena, "--layout %s --batch %g --recompute %s", layout_text(r, &s->memory),
	    s->row->n_sequences, b->space.policies[s->row->policy].text);
}

/* The largest part of the step other than the layers' kernels. */
static const char *
bottleneck(struct run *r, const struct train_answer *a)
{
	static const enum train_share parts[] = {TRAIN_RECOMPUTE, TRAIN_TP, TRAIN_CP, TRAIN_EP, TRAIN_PP, TRAIN_BUBBLE,
	    TRAIN_DP, TRAIN_OPTIMIZER, TRAIN_HOST, TRAIN_LOGITS};
	double share[N_TRAIN_SHARES];
	enum train_share most = parts[0];

	train_shares(&a->job, &a->terms, share);
	for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
		if (share[parts[i]] > share[most])
			most = parts[i];
	return arena_printf(r->arena, "%s %.0f %%", train_share_title(most), 100 * share[most] / a->terms.step_s);
}

static void
show_mfu(struct run *r, const struct plan_in *in, const struct plan_question *b, const struct shown *s, bool is_first,
    double step_s)
{
	struct sheet *sh = r->sheet;
	const struct train_job *job = &s->answer.job;
	const enum convention c = convention_find(run_word(r, "flops-convention", in->train.convention));
	const char *why = convention_refusal(c, job->model);

	if (why) {
		if (is_first)
			run_warn(r, "no MFU: %s", why);
		return;
	}
	TAKE(sh, taken_s, step_s);
	TAKE(sh, step_token, train_step_tokens(NULL, job->n_global_sequences, job->seq_length));
	TAKE(sh, n_gpus, job->n_gpus);
	CALL(sh, rate_token_per_s, train_token_rate(sh, step_token, taken_s));
	CALL(sh, gpu_token_per_s, train_gpu_rate(sh, rate_token_per_s, n_gpus));
	CALL(sh, model_flop_per_token, convention_flop(sh, c, job->model, job->seq_length));
	TAKE(sh, peak_flop_per_s, b->train.gpu->peak_flop_per_s[dtype_peak(job->dtype)]);
	CALL(sh, mfu_frac, train_utilisation(sh, model_flop_per_token, gpu_token_per_s, peak_flop_per_s));
	if (convention_is_hardware(c))
		SHOW(sh, mfu_frac, hfu_frac);
	else
		SHOW(sh, mfu_frac, mfu_frac);
}

static void
show_difference(struct run *r, const struct shown *s, const struct shown *best, double step_s)
{
	struct sheet *sh = r->sheet;

	if (s == best)
		return;
	const bool narrow = dtype_byte(s->answer.job.dtype) < 2;
	const double half = layout_difference(&s->shares, &best->shares, narrow);
	TAKE(sh, own_step_s, step_s);
	TAKE(sh, best_step_s, best->shares.step_s);
	LET(sh, difference_frac, own_step_s / best_step_s - 1);
	SHOW(sh, difference_frac, difference_frac);
	BETWEEN(sh, difference_frac, (1 + difference_frac) * exp(-half) - 1, (1 + difference_frac) * exp(half) - 1,
	    "paired: errors common to both layouts cancel");
}

static void
show_row(struct run *r, const struct plan_in *in, const struct plan_question *b, const struct shown *s,
    const struct shown *best)
{
	struct sheet *sh = r->sheet;
	struct train_terms t;
	const char letter[2] = {s->group, '\0'};

	TELL(sh, group, arena_printf(r->arena, "%s", letter));
	TELL(sh, layout, layout_text(r, &s->memory));
	TAKE(sh, n_micro_sequences, s->row->n_sequences);
	SHOW(sh, n_micro_sequences, n_micro_sequences);
	TELL(sh, recompute, b->space.policies[s->row->policy].text);
	CALL(sh, step_s, train_step(sh, &s->answer.job, &t));
	const struct interval i = train_interval(r, &b->train, &s->answer);
	SHOW(sh, step_s, step_s);
	BETWEEN(sh, step_s, i.low, i.high, i.why);
	show_difference(r, s, best, step_s);
	show_mfu(r, in, b, s, s == best, step_s);
	if (b->space.modeled) {
		TAKE(sh, expected_byte, s->row->peak_byte);
		SHOW(sh, expected_byte, peak_byte);
		TELL(sh, verdict, verdict_name(s->row->verdict));
	}
	TELL(sh, bottleneck, bottleneck(r, &s->answer));
}

static void
fill_shown(const struct plan_question *b, const struct layout_row *row, struct shown *out)
{
	struct train_ask ask;

	out->row = row;
	layout_memory_job(&b->space, row, &out->memory);
	layout_train_ask(&b->space, row, &ask);
	train_answer(&ask, &b->train.doubts, &out->answer);
	out->shares = layout_shares_of(&out->answer.job, &out->answer.terms);
}

/* A letter for all that the first of its group cannot be told from, down the table. */
static void
set_groups(struct shown *list, size_t n)
{
	size_t first = 0;
	char letter = 'a';

	for (size_t i = 0; i < n; i++) {
		const bool narrow = dtype_byte(list[i].answer.job.dtype) < 2;
		const double half = layout_difference(&list[i].shares, &list[first].shares, narrow);
		if (log(list[i].shares.step_s / list[first].shares.step_s) > half) {
			first = i;
			letter = letter < 'z' ? (char)(letter + 1) : 'z';
		}
		list[i].group = letter;
	}
}

static void
show_refused(struct run *r, const struct plan_question *b, const struct layout_result *found)
{
	struct sheet *sh = r->sheet;

	for (int i = 0; i < N_LAYOUT_RULES; i++)
		if (found->n_refused[i] > 0)
			SCOPE_I (sh, "refused", i) {
				TELL(sh, rule, layout_rule_text((enum layout_rule)i));
				TELL(sh, place, layout_rule_place((enum layout_rule)i, b->space.memory.stack));
				TAKE(sh, n_families, found->n_refused[i]);
				SHOW(sh, n_families, n_layouts);
			}
}

static void
show_near(struct run *r, const struct plan_question *b, const struct layout_row *row, const char *note)
{
	struct sheet *sh = r->sheet;
	struct shown s;

	fill_shown(b, row, &s);
	SCOPE_I (sh, "near", 0) {
		TELL(sh, layout, layout_text(r, &s.memory));
		TAKE(sh, near_step_s, row->step_s);
		SHOW(sh, near_step_s, step_s);
		TAKE(sh, near_byte, row->peak_byte);
		SHOW(sh, near_byte, peak_byte);
		TELL(sh, verdict, verdict_name(row->verdict));
		TELL(sh, note, note);
	}
}

/* --- nothing --------------------------------------------------------------------------------------------- */

/* Which single pin, dropped, leaves something legal. */
static const char *
pin_in_the_way(struct run *r, const struct plan_question *b)
{
	for (int d = 0; d < N_DEGREES; d++) {
		struct layout_space other = b->space;
		struct layout_result found;
		if (other.pins[d].n == 0)
			continue;
		other.pins[d].n = 0;
		other.n_rows = 1;
		other.modeled = false;
		layout_search(r->arena, &other, &found);
		if (found.n_rows == 0)
			continue;
		struct shown s;
		fill_shown(b, &found.rows[0], &s);
		return arena_printf(r->arena, "leave %s open, for example --layout %s",
		    layout_degree_name((enum layout_degree)d), layout_text(r, &s.memory));
	}
	return "use another number of GPUs or another global batch";
}

static enum answer
nothing_legal(struct run *r, const struct plan_question *b, const struct layout_result *found)
{
	int most = N_LAYOUT_RULES;

	for (int i = 0; i < N_LAYOUT_RULES; i++)
		if (found->n_refused[i] > 0 && (most == N_LAYOUT_RULES || found->n_refused[i] > found->n_refused[most]))
			most = i;
	if (most == N_LAYOUT_RULES)
		diag_error(r->diag, (struct source){0}, "no layout of %g GPUs matches --layout", b->space.n_gpus);
	else
		diag_error(r->diag, (struct source){0}, "no legal layout of %g GPUs: %s (%s)", b->space.n_gpus,
		    layout_rule_text((enum layout_rule)most),
		    layout_rule_place((enum layout_rule)most, b->space.memory.stack));
	diag_hint(r->diag, "%s", pin_in_the_way(r, b));
	return REFUSED;
}

/* The fewest GPUs, in doublings, on which something fits; 0: none up to sixteen times as many. */
static double
gpus_that_do(struct run *r, const struct plan_question *b)
{
	for (double times = 2; times <= 16; times *= 2) {
		struct layout_space more = b->space;
		struct layout_result found;
		more.n_gpus *= times;
		more.n_rows = 1;
		layout_search(r->arena, &more, &found);
		if (found.n_rows > 0)
			return more.n_gpus;
	}
	return 0;
}

static enum answer
nothing_fits(struct run *r, const struct plan_question *b, const struct layout_result *found)
{
	struct sheet *sh = r->sheet;

	TELL(sh, verdict, verdict_name(DOES_NOT_FIT));
	TAKE(sh, card_byte, b->space.memory.card_byte);
	SHOW(sh, card_byte, gpu_mem_byte);
	show_near(r, b, &found->least, "least memory of all layouts");
	const double n = gpus_that_do(r, b);
	if (n > 0) {
		TAKE(sh, n_min_gpus, n);
		SHOW(sh, n_min_gpus, n_min_gpus);
		run_warn(r, "no layout fits on %g GPUs; some do on %g", b->space.n_gpus, n);
	} else
		run_warn(r, "no layout fits on %g GPUs, nor on up to 16 times as many", b->space.n_gpus);
	return ANSWERED_NO;
}

/* --- the table ------------------------------------------------------------------------------------------- */

static void
show_first(struct run *r, const struct plan_question *b, const struct shown *best, const struct layout_result *found)
{
	struct sheet *sh = r->sheet;

	TELL_HIDDEN(sh, layout, layout_text(r, &best->memory));
	TAKE(sh, first_step_s, best->row->step_s);
	HIDE(sh, first_step_s, step_s);
	TELL(sh, train_options, options_text(r, b, best));
	TAKE(sh, n_searched, found->n_searched);
	SHOW(sh, n_searched, n_searched);
}

enum answer
plan_show(struct run *r, const struct plan_in *in, const struct plan_question *b)
{
	const struct layout_space *s = &b->space;
	struct layout_result found;

	r->title = arena_printf(r->arena, "%s on %g x %s with %s: %g sequences of %g tokens", s->memory.model->name,
	    s->n_gpus, b->train.gpu->name, b->train.stack->name, s->n_global_sequences, s->memory.seq.value);
	layout_search(r->arena, s, &found);
	if (found.n_searched == 0)
		return nothing_legal(r, b, &found);
	if (found.n_rows == 0)
		return nothing_fits(r, b, &found);
	struct shown *list = ARENA_ARRAY(r->arena, struct shown, found.n_rows);
	for (size_t i = 0; i < found.n_rows; i++)
		fill_shown(b, &found.rows[i], &list[i]);
	set_groups(list, found.n_rows);
	for (size_t i = 0; i < found.n_rows; i++)
		SCOPE_I (r->sheet, "layouts", i)
			show_row(r, in, b, &list[i], &list[0]);
	show_first(r, b, &list[0], &found);
	if (found.has_near)
		show_near(r, b, &found.near, "faster than the first row");
	show_refused(r, b, &found);
	if (b->train.no_memory)
		run_warn(r, "memory not counted: %s", b->train.no_memory);
	run_reads(r, &in->launch.emit, NULL);
	return in->launch.emit.text ? launch_show(r, in->launch.emit, &list[0].memory, &list[0].answer) : ANSWERED;
}
