/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured training steps as a stack of one's own. */
#include "ask/calibrate/calibrate.h"

#include "ask/validate/validate.h"
#include "db/db.h"
#include "search/fit/fit.h"

#include <string.h>

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
	s->rows[s->n++] = (struct fit_stack_row){t.bound.ask, t.bound.doubts, t.measured_s};
	return NULL;
}

/* As the new file will be read: a framework whose runs were looked at. */
static const struct stack *
find_base(struct run *r, struct word name)
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

static const struct node *
file_of(struct run *r, const struct calibrate_in *in, const struct stack *base, const struct own_rows *rows,
    const struct fit_stack *fit)
{
	struct arena *a = r->arena;
	const struct node *n = own_file(r, in, in->stack.text, base->id, rows);

	n = with_sigma(a, n, "time.sigma", &fit->dense);
	n = with_sigma(a, n, "time.moe_sigma", &fit->experts);
	n = tree_with(a, n, "time.spread", cited(a, arena_printf(a, "%.3f", fmax(fit->spread, 0.001))));
	n = tree_with(a, n, "time.runs", cited(a, arena_printf(a, "%d", fit->dense.n + fit->experts.n)));
	n = tree_with(a, n, "time.listed", own_word(a, "true"));
	/* these runs are of this framework, whatever others do with such models */
	return base->time.except ? tree_with(a, n, "time.except", own_word(a, "none")) : n;
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
show(struct run *r, const struct fit_stack *fit, const struct stack *base)
{
	int row = 0;

	show_sigma(r, row++, "sigma", &fit->dense, base->id);
	if (fit->apart)
		show_sigma(r, row++, "moe_sigma", &fit->experts, base->id);
	const bool few = fit->before.n < FIT_STACK_SPREAD_ROWS;
	own_show_figure(r, row, "spread", "value_number", fit->spread, NAN, NAN,
	    few ? arena_printf(
	              r->arena, "from these rows: %.3f; the rest is the usual spread of frameworks", fit->seen_spread)
	        : "standard deviation of ln(step time), with the factor's error");
	own_show_errors(r, 0, arena_printf(r->arena, "as %s", base->id), &fit->before);
	own_show_errors(r, 1, "fitted", &fit->after);
	own_show_errors(r, 2, "each row by the others", &fit->unseen);
	run_assume(r,
	    "attention kernels, overlap, traffic and host time as in %s: step times alone do not determine them",
	    base->id);
}

enum answer
calibrate_stack(struct run *r, const struct calibrate_in *in)
{
	static const char *const columns[] = {"gpu_id", "model", "num_gpus", "gbs", "seq", NULL};
	const struct word extends = in->extends.text ? in->extends : (struct word){"unlisted", in->stack.from};
	const struct stack *base = find_base(r, extends);
	struct steps s = {.run = r, .reader = train_reader_new(r)};
	struct own_rows rows;
	struct fit_stack fit;
	enum answer answer = REFUSED;

	if (!base || !own_name(r, in->stack, ENTRY_STACK, base->id))
		goto out;
	train_reader_stack(s.reader, base);
	if (!own_read(r, in, columns, &rows, read_step, &s) || !own_enough(r, in->stack, &rows, FIT_STACK_ROWS))
		goto out;
	const double usual = datum_or(run_uncertainty(r, "train")->sigma, 0.1);
	if (!fit_stack(r->arena, s.n, s.rows, datum_or(base->time.spread, usual), &fit)) {
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
	show(r, &fit, base);
	if (own_store(r, in, ENTRY_STACK, in->stack.text, file_of(r, in, base, &rows, &fit)))
		answer = ANSWERED;
out:
	train_reader_free(s.reader);
	return answer;
}
