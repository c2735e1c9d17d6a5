/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Show the layouts of a plan. */
#include "ask/plan/plan.h"

#include "search/plan/plan.h"

#include <string.h>

const char *
plan_layout_text(struct run *r, const struct memory_job *job)
{
	char text[120];

	fit_layout_text(job, text, sizeof text);
	return arena_printf(r->arena, "%s", text);
}

/* What the policy of a row offloads, with all else that its job does; NULL: nothing. */
static const char *
offload_text(struct arena *a, const struct layout_space *s, const struct layout_row *row)
{
	struct memory_job job;
	char text[120];

	if (!s->policies[row->policy].away)
		return NULL;
	layout_memory_job(s, row, &job);
	fit_offload_text(&job, text, sizeof text);
	return arena_printf(a, "%s", text);
}

const char *
plan_policy_text(struct arena *a, const struct layout_space *s, const struct layout_row *row)
{
	const char *offload = offload_text(a, s, row);

	return arena_printf(a, "--recompute %s%s%s", layout_policy_text(a, s, &row->layout, row->policy),
	    offload ? " --offload " : "", offload ? offload : "");
}

/* The framework that nobody named, where `ridge train` would take another one for this layout. */
static const char *
stack_text(struct run *r, const struct plan_row *row)
{
	const struct memory_in *in = &row->variant->in.memory;
	const struct layout *l = &row->memory.layout;
	const struct source here = {"plan", 0, 0, NULL, false};
	const struct layout_in degrees = {.tp = {l->tp, here},
	    .pp = {l->pp, here},
	    .cp = {l->cp, here},
	    .ep = {l->ep, here},
	    .zero = {l->zero, here}};
	const struct software_ask ask = {
	    .use = STACK_TRAIN, .layout = &degrees, .adapters = row->memory.lora_rank.value > 0};
	const char *id = row->memory.stack->id;

	return in->stack.text || strcmp(bind_usual_stack(&ask), id) == 0 ? ""
	                                                                 : arena_printf(r->arena, " --stack %s", id);
}

/* What tells the row's variant from others, as far as it means something for this layout: `ridge train` refuses the
 * rest.
 */
static const char *
variant_text(struct run *r, const struct plan_row *row)
{
	const struct train_bound *b = &row->variant->train;
	const bool routes = run_train_routes(&row->memory.layout, b);
	const char *out = "";
	size_t n;
	char **words = text_split(r->arena, row->variant->options, ' ', &n);

	for (size_t i = 0; i + 1 < n; i += 2) {
		if ((strcmp(words[i], "--schedule") == 0 && row->memory.layout.pp <= 1) ||
		    (strcmp(words[i], "--dispatcher") == 0 && !routes) ||
		    (strcmp(words[i], "--grad-dtype") == 0 && b->no_memory))
			continue;
		out = arena_printf(r->arena, "%s%s%s %s", out, *out ? " " : "", words[i], words[i + 1]);
	}
	return out;
}

static const char *
options_text(struct run *r, const struct plan_row *row)
{
	const char *own = variant_text(r, row);

	return arena_printf(r->arena, "--layout %s --batch %g %s%s%s%s", plan_layout_text(r, &row->memory),
	    row->row.n_sequences, plan_policy_text(r->arena, &row->space, &row->row), *own ? " " : "", own,
	    stack_text(r, row));
}

static void
show_policy(struct run *r, const struct plan_row *row)
{
	struct sheet *sh = r->sheet;
	const char *offload = offload_text(r->arena, &row->space, &row->row);

	TELL(sh, recompute, layout_policy_text(r->arena, &row->space, &row->row.layout, row->row.policy));
	if (offload)
		TELL(sh, offload, offload);
}

/* --- a row ------------------------------------------------------------------------------------------------ */

/* The largest part of the step beside the layers' own kernels. */
static const char *
bottleneck(struct run *r, const struct train_answer *a)
{
	static const enum train_share parts[] = {TRAIN_RECOMPUTE, TRAIN_OFFLOAD, TRAIN_TP, TRAIN_CP, TRAIN_EP, TRAIN_PP,
	    TRAIN_BUBBLE, TRAIN_DP, TRAIN_OPTIMIZER, TRAIN_HOST, TRAIN_LOGITS};
	double share[N_TRAIN_SHARES];
	enum train_share most = parts[0];

	train_shares(&a->job, &a->terms, share);
	for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
		if (share[parts[i]] > share[most])
			most = parts[i];
	return arena_printf(r->arena, "%s %.0f %%", train_share_title(most), 100 * share[most] / a->terms.step_s);
}

static void
show_mfu(struct run *r, const struct plan_in *in, const struct plan_row *s, bool is_first, double step_s)
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
	TAKE(sh, taken_token, train_step_tokens(NULL, job->n_global_sequences, job->seq_length));
	TAKE(sh, n_taken_gpus, job->n_gpus);
	CALL(sh, rate_token_per_s, train_token_rate(sh, taken_token, taken_s));
	CALL(sh, gpu_token_per_s, train_gpu_rate(sh, rate_token_per_s, n_taken_gpus));
	CALL(sh, model_flop_per_token, convention_flop(sh, c, job->model, job->seq_length));
	TAKE(sh, peak_flop_per_s, s->train.gpu->peak_flop_per_s[dtype_peak(job->dtype)]);
	CALL(sh, mfu_frac, train_utilisation(sh, model_flop_per_token, gpu_token_per_s, peak_flop_per_s));
	if (convention_is_hardware(c))
		SHOW(sh, mfu_frac, hfu_frac);
	else
		SHOW(sh, mfu_frac, mfu_frac);
}

static double
half_width(const struct plan_row *a, const struct plan_row *b)
{
	const bool narrow = dtype_byte(a->answer.job.dtype) < 2 || dtype_byte(b->answer.job.dtype) < 2;

	return layout_difference(&a->shares, &b->shares, narrow);
}

static void
show_difference(struct run *r, const struct plan_row *s, const struct plan_row *best, double step_s)
{
	struct sheet *sh = r->sheet;

	if (s == best)
		return;
	const double half = half_width(s, best);
	TAKE(sh, own_step_s, step_s);
	TAKE(sh, best_step_s, best->shares.step_s);
	LET(sh, difference_frac, own_step_s / best_step_s - 1);
	SHOW(sh, difference_frac, difference_frac);
	BETWEEN(sh, difference_frac, (1 + difference_frac) * exp(-half) - 1, (1 + difference_frac) * exp(half) - 1,
	    "paired: errors common to both layouts cancel");
}

/* What tells it from rows of other variants and sizes, then the layout. */
static void
show_what(struct run *r, const struct plan_question *b, const struct plan_row *s)
{
	struct sheet *sh = r->sheet;

	if (b->n_counts > 1) {
		TAKE(sh, n_gpus, s->space.n_gpus);
		SHOW(sh, n_gpus, n_gpus);
	}
	TELL(sh, layout, plan_layout_text(r, &s->memory));
	TAKE(sh, n_micro_sequences, s->row.n_sequences);
	SHOW(sh, n_micro_sequences, n_micro_sequences);
	show_policy(r, s);
	if (b->n_variants > 1)
		TELL(sh, options, s->variant->options);
}

/* Training time, GPU hours, money and energy of a whole run. */
static void
show_run(
    struct run *r, const struct plan_in *in, const struct plan_question *b, const struct plan_row *s, double step_s)
{
	struct sheet *sh = r->sheet;
	const struct train_job *job = &s->answer.job;
	const struct datum price = run_train_price(r, &s->variant->question, &s->train);
	const double low_frac = s->low, high_frac = s->high;

	TAKE(sh, budget_token, in->train.tokens);
	TAKE(sh, step_token, train_step_tokens(NULL, job->n_global_sequences, job->seq_length));
	CALL(sh, n_steps, train_steps_needed(sh, budget_token, step_token));
	CALL(sh, run_s, train_run_time(sh, n_steps, step_s));
	SHOW(sh, run_s, run_s);
	BETWEEN(sh, run_s, low_frac * run_s, high_frac * run_s, "as of the step");
	double paid_s;
	if (datum_given(in->train.mtbf) || datum_given(in->train.gpu_mtbf)) {
		TAKE(sh, goodput_frac, train_goodput_of(&in->train, job->n_gpus));
		CALL(sh, wall_s, run_wall(sh, run_s, goodput_frac));
		SHOW(sh, wall_s, wall_s);
		SET(sh, paid_s, wall_s);
	} else
		SET(sh, paid_s, run_s);
	TAKE(sh, n_paid_gpus, job->n_gpus);
	CALL(sh, gpu_time_s, cost_gpu_time(sh, n_paid_gpus, paid_s));
	SHOW(sh, gpu_time_s, gpu_s);
	if (datum_given(price)) {
		TAKE(sh, gpu_usd_per_s, price);
		LET(sh, run_usd, gpu_time_s * gpu_usd_per_s);
		SHOW(sh, run_usd, run_usd);
	}
	if (!datum_given(s->train.tdp_watt))
		return;
	TAKE(sh, gpu_watt, s->train.tdp_watt);
	CALL(sh, energy_joule, train_energy(sh, n_paid_gpus, gpu_watt, paid_s));
	if (b->rank == RANK_ENERGY)
		SHOW(sh, energy_joule, energy_joule);
	else
		HIDE(sh, energy_joule, energy_joule);
}

void
plan_show_row(struct run *r, const struct plan_in *in, const struct plan_question *b, const struct plan_row *s,
    const struct plan_row *best, const char *known_for)
{
	struct sheet *sh = r->sheet;
	struct train_terms t;
	const char letter[2] = {s->group, '\0'};
	const double low_frac = s->low, high_frac = s->high;

	const bool compared = !b->by_scale && !b->front;

	if (compared)
		TELL(sh, group, arena_printf(r->arena, "%s", letter));
	if (s->n_group > 0) {
		TAKE(sh, n_families, (double)s->n_group);
		SHOW(sh, n_families, n_layouts);
	}
	show_what(r, b, s);
	CALL(sh, step_s, train_step(sh, &s->answer.job, &t));
	SHOW(sh, step_s, step_s);
	BETWEEN(sh, step_s, low_frac * s->answer.step_s, high_frac * s->answer.step_s,
	    train_interval(r, &s->train, &s->answer).why);
	if (compared)
		show_difference(r, s, best, step_s);
	if (datum_given(in->train.tokens))
		show_run(r, in, b, s, step_s);
	show_mfu(r, in, s, s == best, step_s);
	if (s->space.modeled) {
		TAKE(sh, expected_byte, s->row.peak_byte);
		SHOW(sh, expected_byte, peak_byte);
		TELL(sh, verdict, verdict_name(s->row.verdict));
		TAKE(sh, chance_frac, s->row.chance_frac);
		SHOW(sh, chance_frac, chance_frac);
	}
	if (compared || b->front == FRONT_TIME_MEMORY)
		TELL(sh, bottleneck, bottleneck(r, &s->answer));
	const char *unproven = s->shares.unproven;
	if (unproven || known_for)
		TELL(sh, note,
		    unproven && known_for ? arena_printf(r->arena, "%s; %s", known_for, unproven)
		        : unproven        ? unproven
		                          : known_for);
}

/* --- groups ----------------------------------------------------------------------------------------------- */

enum { MOST_GROUPS = 'z' - 'a' + 1 };

/* Whether the interval of their difference leaves out 0. */
static bool
are_told_apart(const struct plan_row *a, const struct plan_row *b)
{
	return fabs(log(a->row.step_s / b->row.step_s)) > half_width(a, b);
}

/* The letter of the best first row that it cannot be told from; otherwise the row is the first of a group itself. */
static void
set_groups(struct plan_row *list, size_t n)
{
	const struct plan_row *first[MOST_GROUPS];
	int n_groups = 0;

	for (size_t i = 0; i < n; i++) {
		int g = 0;
		while (g < n_groups && are_told_apart(&list[i], first[g]))
			g++;
		if (g == n_groups && n_groups < MOST_GROUPS)
			first[n_groups++] = &list[i];
		list[i].group = (char)('a' + (g < MOST_GROUPS ? g : MOST_GROUPS - 1));
	}
}

/* --- beside the table ------------------------------------------------------------------------------------- */

/* Where the rule is in the source of the framework; of several frameworks each has its own. */
static const char *
place_of(const struct plan_question *b, enum layout_rule rule)
{
	const char *place = layout_rule_place(rule, b->variants[0].space.memory.stack);

	for (size_t i = 1; i < b->n_variants; i++)
		if (strcmp(place, layout_rule_place(rule, b->variants[i].space.memory.stack)) != 0)
			return "each framework's own";
	return place;
}

static void
show_refused(struct run *r, const struct plan_question *b, const struct layout_result *found)
{
	struct sheet *sh = r->sheet;

	for (int i = 0; i < N_LAYOUT_RULES; i++)
		if (found->n_refused[i] > 0)
			SCOPE_I (sh, "refused", i) {
				TELL(sh, rule, layout_rule_text((enum layout_rule)i));
				TELL(sh, place, place_of(b, (enum layout_rule)i));
				TAKE(sh, n_families, found->n_refused[i]);
				SHOW(sh, n_families, n_layouts);
			}
}

void
plan_show_near(struct run *r, int i, const struct plan_row *row, const char *note)
{
	struct sheet *sh = r->sheet;

	if (memory_host_is_full(&row->memory))
		note = arena_printf(r->arena, "%s, offloads more than the memory of a host", note);
	SCOPE_I (sh, "near", i) {
		TELL(sh, layout, plan_layout_text(r, &row->memory));
		TAKE(sh, n_micro_sequences, row->row.n_sequences);
		SHOW(sh, n_micro_sequences, n_micro_sequences);
		show_policy(r, row);
		TAKE(sh, near_step_s, row->row.step_s);
		SHOW(sh, near_step_s, step_s);
		TAKE(sh, near_byte, row->row.peak_byte);
		SHOW(sh, near_byte, peak_byte);
		TELL(sh, verdict, verdict_name(row->row.verdict));
		if (*row->variant->options)
			TELL(sh, options, row->variant->options);
		TELL(sh, note, note);
	}
}

/* Why a faster layout is not the first row. */
static const char *
why_behind(struct arena *a, const struct plan_row *row)
{
	const char *unproven = row->shares.unproven ? arena_printf(a, ", %s", row->shares.unproven) : "";

	if (row->row.untried && row->row.verdict == FITS)
		return arena_printf(a, "faster than the first row%s", unproven);
	return arena_printf(
	    a, "faster than the first row, chance to fit %.0f %%%s", 100 * row->row.chance_frac, unproven);
}

/* Of all layouts the fastest that may fit, and the fastest that does not. */
static void
show_faster(struct run *r, const struct plan_found *found)
{
	int n = 0;

	if (found->merged.has_risky)
		plan_show_near(r, n++, &found->risky, why_behind(r->arena, &found->risky));
	if (found->merged.has_near)
		plan_show_near(r, n, &found->near, "faster than the first row");
}

static void
show_first(struct run *r, const struct plan_row *best, const struct plan_found *found)
{
	struct sheet *sh = r->sheet;

	TELL_HIDDEN(sh, layout, plan_layout_text(r, &best->memory));
	TAKE(sh, first_step_s, best->row.step_s);
	if (r->swept)
		SHOW(sh, first_step_s, step_s);
	else
		HIDE(sh, first_step_s, step_s);
	TELL(sh, train_options, options_text(r, best));
	TAKE(sh, n_searched, found->merged.n_searched);
	SHOW(sh, n_searched, n_searched);
}

/* --- the answer ------------------------------------------------------------------------------------------- */

static const char *
title_of(struct run *r, const struct plan_question *b)
{
	const struct plan_variant *v = &b->variants[0];
	const double low = b->counts[0], high = b->counts[b->n_counts - 1];
	const char *gpus =
	    b->n_counts == 1 ? arena_printf(r->arena, "%g", low) : arena_printf(r->arena, "%g to %g", low, high);

	const char *stack = arena_printf(r->arena, " with %s", v->train.stack->name);

	for (size_t i = 1; i < b->n_variants; i++)
		if (b->variants[i].train.stack != v->train.stack)
			stack = "";
	return arena_printf(r->arena, "%s on %s x %s%s: %g sequence%s of %g tokens", v->space.memory.model->name, gpus,
	    v->train.gpu->name, stack, v->space.n_global_sequences, v->space.n_global_sequences == 1 ? "" : "s",
	    v->space.memory.seq.value);
}

/* The first of each group, with the number of its rows. */
static size_t
keep_heads(struct plan_row *list, size_t n)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < n; i++) {
		const size_t group = (size_t)(list[i].group - 'a');
		if (group == n_kept)
			list[n_kept++] = list[i];
		list[group].n_group++;
	}
	return n_kept;
}

/* At most n rows of a front, its ends among them. */
static size_t
keep_evenly(struct plan_row *list, size_t n, size_t most)
{
	if (n <= most)
		return n;
	for (size_t i = 1; i < most; i++)
		list[i] = list[i * (n - 1) / (most - 1)];
	return most;
}

static enum answer
show_families(struct run *r, const struct plan_in *in, const struct plan_question *b, struct plan_found *found)
{
	struct plan_row *rows = found->rows;

	if (!b->front)
		set_groups(rows, found->n);
	if (in->groups)
		found->n = (size_t)fmin((double)keep_heads(rows, found->n), in->all ? INFINITY : in->top.value);
	if (b->front && !in->all)
		found->n = keep_evenly(rows, found->n, (size_t)in->top.value);
	for (size_t i = 0; i < found->n; i++)
		SCOPE_I (r->sheet, "layouts", i)
			plan_show_row(r, in, b, &rows[i], &rows[0], NULL);
	if (b->rank != RANK_MEMORY)
		show_faster(r, found);
	return ANSWERED;
}

static enum answer
too_many(struct run *r, const struct plan_found *found)
{
	diag_error(r->diag, (struct source){0}, "more than 1e7 layouts: %.2g so far, most by values of %s",
	    found->n_planned, found->widest ? found->widest : "--gpus");
	diag_hint(r->diag, "pin it or shorten the lists, or add --all to search them anyway");
	return REFUSED;
}

static enum answer
emit(struct run *r, const struct plan_in *in, const struct plan_found *found)
{
	const double rank = datum_or(in->emit_rank, 1);

	if (rank <= (double)found->n) {
		const struct plan_row *row = &found->rows[(size_t)rank - 1];
		return launch_show(r, in->launch.emit, &row->memory, &row->answer);
	}
	diag_error(r->diag, in->emit_rank.from, found->n == 1 ? "there is %zu row" : "there are %zu rows", found->n);
	diag_hint(r->diag, "use at most %zu, or a larger --top", found->n);
	return REFUSED;
}

/* --- the answer -------------------------------------------------------------------------------------------- */

static enum answer
show_nothing(struct run *r, const struct plan_in *in, const struct plan_question *b, const struct plan_found *found)
{
	const enum answer out = plan_show_nothing(r, in, b, found);

	if (in->launch.emit.text)
		launch_nothing(r);
	return out;
}

enum answer
plan_show(struct run *r, const struct plan_in *in, const struct plan_question *b)
{
	struct plan_found found;
	struct settings today = {0};

	r->title = title_of(r, b);
	run_reads(r, &in->launch.emit, NULL);
	if (in->from.text)
		return plan_from_layout(r, in->from, &today) ? plan_show_changes(r, in, b, &today) : REFUSED;
	plan_search(r, in, b, &found);
	if (found.too_many)
		return too_many(r, &found);
	if (found.n == 0)
		return found.interrupted ? INTERRUPTED : show_nothing(r, in, b, &found);
	const struct plan_row *all = arena_grow(r->arena, found.rows, found.n, found.n + 1, sizeof *found.rows);
	const size_t n_all = found.n;
	const enum answer kind = b->by_scale ? plan_show_scales(r, in, b, &found) : show_families(r, in, b, &found);
	if (r->draws)
		r->plot = plan_plot(r, b, all, n_all, &found);
	show_first(r, &found.rows[0], &found);
	show_refused(r, b, &found.merged);
	/* of the row that is printed */
	const size_t rank = in->launch.emit.text ? (size_t)datum_or(in->emit_rank, 1) - 1 : 0;
	show_train_warnings(r, &found.rows[rank < found.n ? rank : 0].answer);
	if (b->variants[0].train.no_memory)
		run_warn(r, "memory not counted: %s", b->variants[0].train.no_memory);
	if (found.interrupted) {
		run_warn(r, "interrupted: what was found until then");
		return INTERRUPTED;
	}
	if (in->launch.emit.text && kind == ANSWERED)
		return emit(r, in, &found);
	if (in->launch.emit.text)
		launch_nothing(r);
	return kind;
}
