/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured runs of an engine or a stack: reading them, what is left out, and the words of the entry they make. */
#include "ask/calibrate/calibrate.h"

#include "base/base.h"
#include "db/tree.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LINES_SHOWN = 6 };

/* --- rows ------------------------------------------------------------------------------------------------ */

/* What a reason is about, to be named. */
static const char *
about(const struct validate_row *row, const char *why)
{
	static const struct {
		const char *word, *column;
	} columns[] = {{"GPU", "gpu_id"}, {"unknown model", "model_key"}, {"unknown model", "model"},
	    {"the model's", "model"}, {"weight format", "weight_dtype"}};

	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		if (strstr(why, columns[i].word) && row_text(row, columns[i].column))
			return row_text(row, columns[i].column);
	return NULL;
}

static void
leave_out(struct run *r, struct own_rows *rows, const struct validate_row *row, const char *why)
{
	const char *what = about(row, why);
	const char *text = what ? arena_printf(r->arena, "%s (%s)", why, what) : why;
	int i = 0;

	rows->n_left++;
	while (i < rows->n_whys && strcmp(rows->whys[i].text, text) != 0)
		i++;
	if (i == rows->n_whys) {
		if (rows->n_whys == rows->room) {
			const int more = 2 * rows->room + 8;
			rows->whys =
			    arena_grow(r->arena, rows->whys, (size_t)rows->room, (size_t)more, sizeof *rows->whys);
			rows->room = more;
		}
		rows->whys[rows->n_whys++] = (struct own_why){text, NULL, 0};
	}
	struct own_why *w = &rows->whys[i];
	w->n++;
	if (w->n <= LINES_SHOWN)
		w->lines =
		    arena_printf(r->arena, "%s%s%d", w->lines ? w->lines : "", w->lines ? ", " : "", row_line(row));
	else if (w->n == LINES_SHOWN + 1)
		w->lines = arena_printf(r->arena, "%s, ...", w->lines);
}

static bool
has_columns(struct run *r, struct word file, const struct table *t, const char *const *columns)
{
	const char *missing = NULL, *all = NULL;

	for (size_t i = 0; columns[i]; i++) {
		all = arena_printf(r->arena, "%s%s%s", all ? all : "", all ? ", " : "", columns[i]);
		if (table_column(t, columns[i]) == t->n_columns)
			missing =
			    arena_printf(r->arena, "%s%s%s", missing ? missing : "", missing ? ", " : "", columns[i]);
	}
	if (!missing)
		return true;
	diag_error(r->diag, file.from, "'%s' lacks the columns %s", file.text, missing);
	diag_hint(r->diag, "the first line names the columns: %s, and what was measured; man ridge-calibrate", all);
	return false;
}

bool
own_read(struct run *r, const struct words *files, const char *const *columns, struct own_rows *out,
    const char *(*each)(void *context, const struct validate_row *row), void *context)
{
	*out = (struct own_rows){.n_read = 0};
	if (!files->n) {
		diag_error(r->diag, (struct source){0}, "no measured runs");
		diag_hint(r->diag, "name a CSV file; - is standard input");
		return false;
	}
	for (size_t i = 0; i < files->n; i++) {
		struct table *const t = ARENA_NEW(r->arena, struct table);

		if (!table_read_file(r->arena, r->diag, files->list[i].text, NULL, t) ||
		    !has_columns(r, files->list[i], t, columns))
			return false;
		for (size_t line = 0; line < t->n_lines; line++) {
			const struct validate_row row = {NULL, t, line};
			const char *why = each(context, &row), *date = row_text(&row, "date");

			out->n_read++;
			if (why) {
				leave_out(r, out, &row, why);
				continue;
			}
			out->n_used++;
			if (date && (!out->date || strcmp(date, out->date) > 0))
				out->date = date;
		}
	}
	return true;
}

static const char *
why_text(struct run *r, const struct own_why *w)
{
	return arena_printf(r->arena, "%s %s left out: %s", w->n == 1 ? "line" : "lines", w->lines, w->text);
}

void
own_warn(struct run *r, const struct own_rows *rows)
{
	for (int i = 0; i < rows->n_whys; i++)
		run_warn(r, "%s", why_text(r, &rows->whys[i]));
}

bool
own_enough(struct run *r, struct word name, const struct own_rows *rows, int least)
{
	const char *why = NULL;

	if (rows->n_used >= least)
		return true;
	for (int i = 0; i < rows->n_whys; i++)
		why = arena_printf(r->arena, "%s; %s", why ? why : "", why_text(r, &rows->whys[i]));
	diag_error(r->diag, name.from, "only %d usable row%s; %d are needed%s", rows->n_used,
	    rows->n_used == 1 ? "" : "s", least, why ? why : "");
	diag_hint(r->diag, "measure more runs, with other sizes and batches");
	return false;
}

bool
own_name(struct run *r, struct word name, enum entry_kind kind, const char *base)
{
	const char *id;
	bool ok = isalnum((unsigned char)name.text[0]);

	for (const char *p = name.text; *p; p++)
		ok = ok && (isalnum((unsigned char)*p) || strchr("-_.", *p));
	static const char *const taken[] = {"nan", "inf", "null", "none", "true", "false", "yes", "no", "on", "off"};
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		ok = ok && strcasecmp(name.text, taken[i]) != 0;
	if (!ok || text_ends(name.text, ".yaml")) {
		diag_error(r->diag, name.from, "'%s' is not a valid name: use letters, digits, - _ and .", name.text);
		diag_hint(r->diag, "write its file elsewhere with --write DIR");
		return false;
	}
	if (text_same_folded(name.text, base)) {
		diag_error(r->diag, name.from, "'%s' cannot extend itself", name.text);
		diag_hint(r->diag, "use another name");
		return false;
	}
	if (database_try(r->database, kind, name.text, &id))
		run_warn(
		    r, "%s '%s' exists already and is replaced", kind == ENTRY_STACK ? "a stack" : "an engine", id);
	return true;
}

/* --- the file -------------------------------------------------------------------------------------------- */

const struct node *
own_word(struct arena *a, const char *text)
{
	return tree_scalar(a, text, (struct source){NULL, 0, 0, NULL, false});
}

const struct node *
own_list(struct arena *a, const struct node *const *items, size_t n)
{
	struct node *list = ARENA_NEW(a, struct node);

	list->kind = NODE_LIST;
	list->items = ARENA_ARRAY(a, const struct node *, n);
	for (size_t i = 0; i < n; i++) {
		list->items[i] = items[i];
		list->weight += 1 + items[i]->weight;
	}
	list->n = n;
	return list;
}

static const char *
figure_text(struct arena *a, enum quantity q, double value, double like)
{
	if (q != Q_TIME)
		return arena_printf(a, "%.4g", value);
	return like < 1e-3 ? arena_printf(a, "%.4gus", value * 1e6) : arena_printf(a, "%.4gms", value * 1e3);
}

const struct node *
own_figure(struct arena *a, enum quantity q, double value, double low, double high)
{
	const char *text = figure_text(a, q, value, value), *l = figure_text(a, q, low, value);
	const char *h = figure_text(a, q, high, value);

	/* rounding may not push the value out */
	const char *range = arena_printf(a, "%s..%s", low < value ? l : text, high > value ? h : text);
	const struct node *const items[] = {own_word(a, text), own_word(a, range)};
	return own_list(a, items, 2);
}

static const char *
file_names(struct run *r, const struct calibrate_in *in)
{
	const char *out = NULL;

	for (size_t i = 0; i < in->files.n; i++) {
		const char *slash = strrchr(in->files.list[i].text, '/'), *name = in->files.list[i].text;

		name = strcmp(name, "-") == 0 ? "standard input" : slash ? slash + 1 : name;
		out = arena_printf(r->arena, "%s%s%s", out ? out : "", out ? ", " : "", name);
	}
	return out;
}

const struct node *
own_file(struct run *r, const struct calibrate_in *in, const char *name, const char *base, const struct own_rows *rows)
{
	struct arena *a = r->arena;
	const char *source = in->source.text ? in->source.text : file_names(r, in);
	const char *date = in->date.text ? in->date.text : rows->date;
	const struct node *n = tree_map(a, (struct source){NULL, 0, 0, NULL, false});

	n = tree_with(a, n, "format", own_word(a, "1"));
	n = tree_with(a, n, "name", own_word(a, arena_printf(a, "%s, as measured", name)));
	n = tree_with(a, n, "extends", own_word(a, base));
	n = tree_with(a, n, "sources.runs",
	    own_word(a,
	        arena_printf(a, "fitted by ridge calibrate: %s, %d of %d rows%s%s", source, rows->n_used, rows->n_read,
	            date ? ", " : "", date ? date : "")));
	return in->note.text ? tree_with(a, n, "notes", own_word(a, in->note.text)) : n;
}

bool
own_store(struct run *r, const struct calibrate_in *in, enum entry_kind kind, const char *name, const struct node *file)
{
	const char *text = tree_write(r->arena, file), *folder;

	run_reads(r, &in->yaml, &in->stack, &in->engine, &in->extends, NULL);
	if (in->yaml || in->write.text || in->install)
		run_reads(r, &in->source, &in->date, &in->note, NULL);
	if (in->yaml)
		r->document = text;
	if (!calibrate_folder(r, in, kind, &folder))
		return false;
	return !folder || calibrate_write_file(r, arena_printf(r->arena, "%s/%s.yaml", folder, name), text);
}

/* --- the answer ------------------------------------------------------------------------------------------ */

void
own_plain(struct run *r, const char *name, const struct answer_entry *answer, double value)
{
	if (isnan(value))
		return;
	sheet_take_number(r->sheet, name, NULL, value);
	if (answer)
		sheet_show(r->sheet, name, answer);
}

void
own_show_figure(struct run *r, int row, const char *key, const char *unit_name, double value, double low, double high,
    const char *note)
{
	const enum quantity q = strcmp(unit_name, "value_s") == 0 ? Q_TIME : Q_NUMBER;
	const char *text = figure_text(r->arena, q, value, value);

	if (low < high)
		text = arena_printf(r->arena, "%s (%s .. %s)", text, figure_text(r->arena, q, low, value),
		    figure_text(r->arena, q, high, value));
	SCOPE_I (r->sheet, "parameters", row) {
		TELL(r->sheet, name, key);
		TELL(r->sheet, value, text);
		own_plain(r, unit_name, NULL, value);
		if (!isnan(value))
			sheet_hidden_number(r->sheet, unit_name, answer_find(unit_name));
		if (low < high)
			sheet_between(r->sheet, unit_name, low, high, "bootstrap");
		TELL(r->sheet, note, note);
	}
}

void
own_show_errors(struct run *r, int row, const char *name, const struct fitted_errors *e)
{
	SCOPE_I (r->sheet, "errors", row) {
		TELL(r->sheet, fit, name);
		own_plain(r, "n_rows", &answer_table[ID_n], e->n);
		own_plain(r, "mape_frac", &answer_table[ID_mape_frac], e->mape);
		own_plain(r, "median_ape_frac", &answer_table[ID_median_ape_frac], e->median_ape);
		own_plain(r, "mean_bias_frac", &answer_table[ID_mean_bias_frac], e->bias);
		own_plain(r, "q10", NULL, e->q10);
		own_plain(r, "q90", NULL, e->q90);
	}
}
