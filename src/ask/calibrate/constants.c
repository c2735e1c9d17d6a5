/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fit a serving engine or a training stack to measured runs, and compare steps before and after a calibration. */
#include "ask/calibrate/calibrate.h"

#include "ask/validate/validate.h"
#include "db/db.h"
#include "search/fit/fit.h"

#include <string.h>

struct engine_point {
	struct serve_reading *reading;
	const char *column;
};

struct runs {
	struct run *run;
	const struct engine *base;
	struct serve_reader *reader;
	int n, room, n_rows;
	bool parallel;
	struct engine_point *points;
	double *measured_s;
	int *row;
	const char **kind;
};

static void
add_point(struct runs *x, struct serve_reading *reading, const struct serve_time *t)
{
	struct arena *a = x->run->arena;

	if (x->n == x->room) {
		const size_t had = (size_t)x->room, more = 2 * had + 16;
		x->points = arena_grow(a, x->points, had, more, sizeof *x->points);
		x->measured_s = arena_grow(a, x->measured_s, had, more, sizeof *x->measured_s);
		x->row = arena_grow(a, x->row, had, more, sizeof *x->row);
		x->kind = arena_grow(a, x->kind, had, more, sizeof *x->kind);
		x->room = (int)more;
	}
	x->points[x->n] = (struct engine_point){reading, t->column};
	x->measured_s[x->n] = t->measured_s;
	x->row[x->n] = x->n_rows;
	x->kind[x->n++] = t->kind;
}

static const char *
read_run(void *context, const struct validate_row *row)
{
	struct runs *x = context;
	struct serve_reading *reading;
	struct serve_time times[SERVE_READING_MOST];
	const char *why = serve_reader_ask(x->reader, row, &reading);

	if (why)
		return why;
	const int n = serve_reading_times(reading, x->base, times);
	for (int i = 0; i < n; i++)
		add_point(x, reading, &times[i]);
	x->parallel = x->parallel || serve_reading_ranks(reading) > 1;
	x->n_rows++;
	return NULL;
}

/* The points of a run are consecutive: read the run once for all of them. */
struct last {
	const struct runs *runs;
	struct serve_reading *reading;
	struct engine engine;
	int n;
	struct serve_time times[SERVE_READING_MOST];
};

static bool
same_constants(const struct engine *a, const struct engine *b)
{
	for (int p = 0; p < N_ENGINE_PARAMS; p++)
		if (engine_param_value(a, (enum engine_param)p) != engine_param_value(b, (enum engine_param)p))
			return false;
	return true;
}

static double
predict(void *context, const struct engine *e, int i)
{
	struct last *last = context;
	const struct engine_point *p = &last->runs->points[i];

	if (last->reading != p->reading || !same_constants(&last->engine, e)) {
		last->reading = p->reading;
		last->engine = *e;
		last->n = serve_reading_times(p->reading, &last->engine, last->times);
	}
	for (int k = 0; k < last->n; k++)
		if (strcmp(last->times[k].column, p->column) == 0)
			return last->times[k].predicted_s;
	return NAN;
}

static const struct engine *
engine_base(struct run *r, struct word name)
{
	const char *said;
	const struct engine *base = database_engine(r->database, r->arena, r->diag, name.text, NULL, name.from, &said);

	if (base && said)
		run_assume(r, "%s", said);
	if (base && base->refused) {
		diag_error(r->diag, name.from, "%s cannot be extended: %s", base->id, base->refused);
		return NULL;
	}
	return base;
}

static const struct node *
residuals(struct arena *a, const struct fit_engine *fit)
{
	const struct node *items[FIT_ENGINE_RESIDUALS];

	for (int i = 0; i < fit->n_kinds; i++) {
		const struct fitted_errors *e = &fit->kinds[i].unseen;

		items[i] = tree_with(a, NULL, "kind", own_word(a, fit->kinds[i].kind));
		items[i] = tree_with(a, items[i], "n", own_word(a, arena_printf(a, "%d", e->n)));
		items[i] = tree_with(a, items[i], "mape", own_word(a, arena_printf(a, "%.1f%%", 100 * e->mape)));
		items[i] =
		    tree_with(a, items[i], "median", own_word(a, arena_printf(a, "%.1f%%", 100 * e->median_ape)));
	}
	return own_list(a, items, (size_t)fit->n_kinds);
}

static const struct node *
engine_file(struct run *r, const struct calibrate_in *in, const struct engine *base, const struct own_rows *rows,
    const struct fit_engine *fit)
{
	struct arena *a = r->arena;
	const struct node *n = own_file(r, in, in->engine.text, base->id, rows);

	for (int p = 0; p < N_ENGINE_PARAMS; p++)
		if (fit->param[p].fitted)
			n = tree_with(a, n, arena_printf(a, "step.%s", engine_param_key((enum engine_param)p)),
			    own_figure(a, engine_param_unit((enum engine_param)p), fit->param[p].value,
			        fit->param[p].low, fit->param[p].high));
	return tree_with(a, n, "residual", residuals(a, fit));
}

static void
engine_show(struct run *r, const struct fit_engine *fit, const struct engine *base)
{
	for (int p = 0; p < N_ENGINE_PARAMS; p++)
		own_show_figure(r, p, engine_param_key((enum engine_param)p),
		    engine_param_unit((enum engine_param)p) == Q_TIME ? "value_s" : "value_number", fit->param[p].value,
		    fit->param[p].low, fit->param[p].high,
		    fit->param[p].fitted ? "fitted" : arena_printf(r->arena, "of %s: %s", base->id, fit->param[p].why));
	own_show_errors(r, 0, arena_printf(r->arena, "as %s", base->id), &fit->before);
	own_show_errors(r, 1, "fitted", &fit->after);
	own_show_errors(r, 2, "each row by the others", &fit->unseen);
}

static bool
refuse(struct run *r, const struct calibrate_in *in, const struct fit_engine *fit)
{
	const char *why = "";

	for (int p = 0; p < N_ENGINE_PARAMS; p++)
		if (fit->param[p].why)
			why = arena_printf(r->arena, "%s%s%s: %s", why, *why ? "; " : "",
			    engine_param_key((enum engine_param)p), fit->param[p].why);
	diag_error(r->diag, in->engine.from, "not enough data to fit the engine: %s", why);
	diag_hint(r->diag, "measure small and large batches, one GPU and several");
	return false;
}

enum answer
calibrate_engine(struct run *r, const struct calibrate_in *in)
{
	static const char *const columns[] = {"gpu_id", "kind", "model", "weight_dtype", "isl", "osl", NULL};
	const struct word extends = in->extends.text ? in->extends : (struct word){"common", in->engine.from};
	const struct engine *base = engine_base(r, extends);
	struct own_rows rows;
	struct fit_engine fit;
	enum answer answer = REFUSED;

	if (!base || !own_name(r, in->engine, ENTRY_ENGINE, base->id))
		return REFUSED;
	struct runs x = {.run = r, .base = base, .reader = serve_reader_new(r, base)};
	struct last last = {.runs = &x};
	if (!own_read(r, &in->files, columns, &rows, read_run, &x) ||
	    !own_enough(r, in->engine, &rows, FIT_ENGINE_ROWS))
		goto out;
	const struct fit_engine_points points = {x.n, predict, &last, x.measured_s, x.row, x.kind, x.parallel};
	if (!fit_engine(r->arena, base, &points, &fit)) {
		refuse(r, in, &fit);
		goto out;
	}
	own_warn(r, &rows);
	if (fit.after.n < fit.before.n)
		run_warn(r, "%d measurements dropped: these runs are saturated with the fitted constants",
		    fit.before.n - fit.after.n);
	r->title = arena_printf(r->arena, "%s, fitted to %d of %d runs; the rest from %s", in->engine.text, rows.n_used,
	    rows.n_read, base->id);
	engine_show(r, &fit, base);
	if (own_store(r, in, ENTRY_ENGINE, in->engine.text, engine_file(r, in, base, &rows, &fit)))
		answer = ANSWERED;
out:
	return answer;
}

/* --- stack --------------------------------------------------------------------------------------------------- */

/* Measured training steps as a stack of one's own. */

struct steps {
	struct run *run;
	struct train_reader *reader;
	int n, room;
	struct fit_stack_row *rows;
};

static const char *
read_step(void *context, const struct validate_row *row)
{
	struct steps *s = context;
	struct train_row t;
	const char *why = train_row_predict(s->reader, row, &t);

	if (why)
		return why;
	if (s->n == s->room) {
		const int more = 2 * s->room + 16;
		s->rows = arena_grow(s->run->arena, s->rows, (size_t)s->room, (size_t)more, sizeof *s->rows);
		s->room = more;
	}
	s->rows[s->n++] =
	    (struct fit_stack_row){t.bound.ask, t.bound.doubts, t.measured_s, t.bound.ask.model->id, t.bound.gpu->id};
	return NULL;
}

/* As the new file will be read: a framework whose runs were looked at. */
static const struct stack *
stack_base(struct run *r, struct word name)
{
	const struct node *overlay = tree_with(r->arena, NULL, "time.listed", own_word(r->arena, "true"));
	const char *said;
	const struct stack *base = database_stack(r->database, r->arena, r->diag, name.text, overlay, name.from, &said);

	if (base && said)
		run_assume(r, "%s", said);
	if (!base || (base->use == STACK_TRAIN && base->time.given))
		return base;
	diag_error(r->diag, name.from, "%s has no training time model", base->id);
	diag_hint(r->diag, "--extends megatron-core or torchtitan");
	return NULL;
}

static const struct node *
with_sigma(struct arena *a, const struct node *file, const char *path, const struct fit_sigma *s)
{
	return s->n ? tree_with(a, file, path, own_figure(a, Q_NUMBER, s->value, s->low, s->high)) : file;
}

static const struct node *
cited(struct arena *a, const char *text)
{
	const struct node *const items[] = {own_word(a, text), own_word(a, "runs")};

	return own_list(a, items, 2);
}

/* Whether no row has experts or adapters. */
static bool
all_dense(const struct steps *s)
{
	for (int i = 0; i < s->n; i++)
		if (s->rows[i].ask.adapters || workload_has_experts(s->rows[i].ask.model))
			return false;
	return true;
}

static const struct node *
stack_file(struct run *r, const struct calibrate_in *in, const struct stack *base, const struct own_rows *rows,
    const struct steps *steps, const struct fit_stack *fit)
{
	struct arena *a = r->arena;
	const struct node *n = own_file(r, in, in->stack.text, base->id, rows);

	n = with_sigma(a, n, "time.sigma", &fit->dense);
	n = with_sigma(a, n, "time.moe_sigma", &fit->experts);
	n = tree_with(a, n, "time.spread", cited(a, arena_printf(a, "%.3f", fmax(fit->spread, 0.001))));
	n = tree_with(a, n, "time.runs", cited(a, arena_printf(a, "%d", fit->dense.n + fit->experts.n)));
	if (fit->left == FIT_LEFT_MODEL) {
		n = tree_with(a, n, "time.left_out", cited(a, arena_printf(a, "%.3f", fit->unseen.median_ape)));
		n = tree_with(a, n, "time.models", cited(a, arena_printf(a, "%d", fit->n_left)));
	}
	if (all_dense(steps))
		n = tree_with(a, n, "time.dense_runs", own_word(a, "true"));
	return tree_with(a, n, "time.listed", own_word(a, "true"));
}

static void
show_sigma(struct run *r, int row, const char *key, const struct fit_sigma *s, const char *base)
{
	const char *note = s->n
	    ? arena_printf(r->arena, "%d rows; %.0f %% of the step time depends on it", s->n, 100 * s->share_frac)
	    : arena_printf(r->arena, "from %s: fewer than %d rows", base, (int)FIT_STACK_ROWS);

	own_show_figure(r, row, key, "value_number", s->value, s->low, s->high, note);
}

static void
stack_show(struct run *r, const struct fit_stack *fit, const struct stack *base)
{
	static const char *const lefts[N_FIT_LEFTS] = {"model", "GPU", "row"};
	const char *left = lefts[fit->left];
	int row = 0;

	show_sigma(r, row++, "sigma", &fit->dense, base->id);
	if (fit->apart)
		show_sigma(r, row++, "moe_sigma", &fit->experts, base->id);
	const bool few = fit->before.n < FIT_STACK_SPREAD_ROWS;
	own_show_figure(r, row, "spread", "value_number", fit->spread, NAN, NAN,
	    few ? arena_printf(
	              r->arena, "from these rows: %.3f; the rest is the usual spread of frameworks", fit->seen_spread)
	        : "standard deviation of ln(step time), with the factor's error");
	if (!isnan(fit->between))
		own_show_figure(r, ++row, "between", "value_number", fit->between, NAN, NAN,
		    arena_printf(
		        r->arena, "standard deviation between %d %ss, a part of the spread", fit->n_left, left));
	own_show_errors(r, 0, arena_printf(r->arena, "as %s", base->id), &fit->before);
	own_show_errors(r, 1, "fitted", &fit->after);
	own_show_errors(r, 2, arena_printf(r->arena, "each %s by the others", left), &fit->unseen);
	run_assume(r,
	    "attention kernels, overlap, traffic and host time as in %s: step times alone do not determine them",
	    base->id);
}

/* What was believed of runs with `base`: as train_interval() has it. */
static struct fit_prior
stack_prior(struct run *r, const struct stack *base, struct word name)
{
	const struct uncertainty *u = run_uncertainty(r, "train");
	const char *said;
	const struct stack *was = database_stack(r->database, r->arena, r->diag, name.text, NULL, name.from, &said);
	const double within = datum_or(u->within_sigma, 0.1), group = datum_or(u->group_sigma, 0);
	const double machine = datum_or(u->machine_sigma, 0);
	struct fit_prior p = {within, group, machine};
	double all = datum_or(base->time.spread, hypot(hypot(within, group), machine));

	/* without its traits a framework's rows scatter more: what the rows tell is the less */
	if (was && !was->time.listed) {
		all = hypot(all, datum_or(u->unlisted_sigma, 0));
		p.within = datum_or(u->unlisted_within_sigma, within);
		p.group = datum_or(u->unlisted_group_sigma, group);
		p.stack = sqrt(fmax(machine * machine, all * all - p.within * p.within - p.group * p.group));
	}
	const double share = all / hypot(hypot(p.within, p.group), p.stack);
	return (struct fit_prior){p.within * share, p.group * share, p.stack * share};
}

enum answer
calibrate_stack(struct run *r, const struct calibrate_in *in)
{
	static const char *const columns[] = {"gpu_id", "model", "num_gpus", "gbs", "seq", NULL};
	const struct word extends = in->extends.text ? in->extends : (struct word){"unlisted", in->stack.from};
	const struct stack *base = stack_base(r, extends);
	struct steps s = {.run = r, .reader = train_reader_new(r)};
	struct own_rows rows;
	struct fit_stack fit;
	enum answer answer = REFUSED;

	if (!base || !own_name(r, in->stack, ENTRY_STACK, base->id))
		goto out;
	train_reader_stack(s.reader, base);
	if (!own_read(r, &in->files, columns, &rows, read_step, &s) || !own_enough(r, in->stack, &rows, FIT_STACK_ROWS))
		goto out;
	const struct fit_prior prior = stack_prior(r, base, extends);
	if (!fit_stack(r->arena, s.n, s.rows, &prior, &fit)) {
		diag_error(
		    r->diag, in->stack.from, "no kind of model has the %d rows a factor needs", (int)FIT_STACK_ROWS);
		goto out;
	}
	own_warn(r, &rows);
	if (!isnan(fit.comm_slope))
		run_warn(r, "rows with more exposed communication are %s than fitted: %s overlap than %s assumes",
		    fit.comm_slope > 0 ? "slower" : "faster", fit.comm_slope > 0 ? "less" : "more", base->id);
	r->title = arena_printf(r->arena, "%s, fitted to %d of %d steps; the rest from %s", in->stack.text, rows.n_used,
	    rows.n_read, base->id);
	stack_show(r, &fit, base);
	if (own_store(r, in, ENTRY_STACK, in->stack.text, stack_file(r, in, base, &rows, &s, &fit)))
		answer = ANSWERED;
out:
	train_reader_free(s.reader);
	return answer;
}

/* --- training steps before and after -------------------------------------------------------------------------- */

/* `ridge calibrate --validate-with`: training steps of the machine before and after its kernels were calibrated. */

struct whole_steps {
	struct run *run;
	struct train_reader *reader;
	int n, room;
	double *predicted_s, *measured_s;
};

static const char *
read_whole_step(void *context, const struct validate_row *row)
{
	struct whole_steps *s = context;
	struct train_row t;
	const char *why = train_row_predict(s->reader, row, &t);

	if (why)
		return why;
	if (s->n == s->room) {
		const size_t had = (size_t)s->room, more = 2 * had + 16;
		s->predicted_s = arena_grow(s->run->arena, s->predicted_s, had, more, sizeof *s->predicted_s);
		s->measured_s = arena_grow(s->run->arena, s->measured_s, had, more, sizeof *s->measured_s);
		s->room = (int)more;
	}
	s->predicted_s[s->n] = t.answer.step_s;
	s->measured_s[s->n++] = t.measured_s;
	return NULL;
}

/* The rows with this database, as one line of errors. */
static bool
show_steps(struct run *r, const struct calibrate_in *in, struct database *db, int line, const char *name)
{
	static const char *const columns[] = {"gpu_id", "model", "num_gpus", "gbs", "seq", NULL};
	struct run with = *r;
	struct words files = {1, ARENA_NEW(r->arena, struct word)};
	struct own_rows rows;

	files.list[0] = in->validate_with;
	with.database = db;
	struct whole_steps s = {.run = r, .reader = train_reader_new(&with)};
	const bool read = own_read(r, &files, columns, &rows, read_whole_step, &s);
	train_reader_free(s.reader);
	if (!read || !own_enough(r, in->validate_with, &rows, 1))
		return false;
	if (line == 0)
		own_warn(r, &rows);
	const struct fitted_errors e = fitted_errors_of(r->arena, s.n, s.predicted_s, s.measured_s, NULL);
	own_show_errors(r, line, name, &e);
	return true;
}

bool
calibrate_validate(struct run *r, const struct calibrate_in *in, const struct calibrate_targets *all)
{
	struct database *after = r->database;

	run_reads(r, &in->validate_with, NULL);
	for (int i = 0; i < all->n; i++) {
		const struct calibrate_target *t = &all->list[i];
		const char *text = calibration_text(&t->bench, &t->fitted, &t->about);
		const struct node *root = tree_read_text(r->arena, r->diag, t->id, text, strlen(text));

		if (!root)
			return false;
		after = database_with(after, r->arena, ENTRY_CALIBRATION, t->id, root);
	}
	return show_steps(r, in, r->database, 0, "before") && show_steps(r, in, after, 1, "after");
}
