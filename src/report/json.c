/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON as in ridge-json(5): answers, tables and intervals by id; with a trace also every row by its dotted path. */
#include "base/base.h"
#include "base/sheet.h"
#include "report/report.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* --- writing --------------------------------------------------------------------------------------------- */

struct json {
	FILE *to;
	bool lines; /* indented, for people; else all on one line */
	int depth;
	bool begun; /* this object or list is not empty */
};

static void
write_plain(const struct json *j, const char *text, size_t n)
{
	fwrite_unlocked(text, 1, n, j->to);
}

static void
write_word(const struct json *j, const char *text)
{
	write_plain(j, text, strlen(text));
}

static void
indent(const struct json *j, int depth)
{
	for (int i = 0; i < depth; i++)
		putc_unlocked('\t', j->to);
}

/* Letters that stand as they are. */
static size_t
plain_length(const char *p)
{
	size_t n = 0;

	while ((unsigned char)p[n] >= 0x20 && (unsigned char)p[n] < 0x80 && p[n] != '"' && p[n] != '\\')
		n++;
	return n;
}

static void
write_escaped(const struct json *j, unsigned char byte)
{
	static const char *const escapes[0x20] = {
	    ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"};

	if (byte >= 0x20)
		fprintf(j->to, "\\%c", byte);
	else if (escapes[byte])
		write_word(j, escapes[byte]);
	else
		fprintf(j->to, "\\u%04x", byte);
}

static void
write_text(const struct json *j, const char *text)
{
	putc_unlocked('"', j->to);
	while (*text) {
		const size_t plain = plain_length(text), n = plain ? plain : text_sequence(text);

		if (n == 0)
			write_word(j, "\\ufffd"); /* no UTF-8 */
		else if (plain || n > 1)
			write_plain(j, text, n);
		else
			write_escaped(j, (unsigned char)*text);
		text += n ? n : 1;
	}
	putc_unlocked('"', j->to);
}

/* Print the comma before a value, and its key in an object. */
static void
lead(struct json *j, const char *key)
{
	if (j->begun)
		write_word(j, !j->lines ? "," : key ? ",\n" : ", ");
	j->begun = true;
	if (!key)
		return;
	if (j->lines)
		indent(j, j->depth);
	write_text(j, key);
	write_word(j, j->lines ? ":\t" : ":");
}

static void
open_object(struct json *j, const char *key)
{
	if (key || j->depth)
		lead(j, key);
	write_word(j, j->lines ? "{\n" : "{");
	j->depth++;
	j->begun = false;
}

static void
close_object(struct json *j)
{
	j->depth--;
	if (j->lines && j->begun)
		putc_unlocked('\n', j->to);
	if (j->lines)
		indent(j, j->depth);
	putc_unlocked('}', j->to);
	j->begun = true;
}

static void
open_list(struct json *j, const char *key)
{
	lead(j, key);
	putc_unlocked('[', j->to);
	j->depth++;
	j->begun = false;
}

static void
close_list(struct json *j)
{
	j->depth--;
	putc_unlocked(']', j->to);
	j->begun = true;
}

static void
add_text(struct json *j, const char *key, const char *text)
{
	lead(j, key);
	write_text(j, text);
}

/* Read back, it is the same number. */
static void
add_number(struct json *j, const char *key, double value)
{
	char text[40];

	lead(j, key);
	write_word(j, isfinite(value) ? number_write(value, text, sizeof text) : "null");
}

/* --- parts of an answer ---------------------------------------------------------------------------------- */

static void
add_list(struct json *j, const char *key, const struct texts *list)
{
	open_list(j, key);
	for (size_t i = 0; i < list->n; i++)
		add_text(j, NULL, list->list[i]);
	close_list(j);
}

static void
add_input(struct json *j, const char *key, const struct asked_input *input)
{
	if (isnan(input->value))
		add_text(j, key, input->text);
	else
		add_number(j, key, input->value);
}

static void
add_inputs(struct json *j, const struct answer_point *p)
{
	open_object(j, "inputs");
	for (size_t i = 0; i < p->n_asked; i++)
		add_input(j, p->asked[i].path, &p->asked[i]);
	close_object(j);
}

static void
add_assumed(struct json *j, const struct assumptions *all)
{
	open_list(j, "assumed");
	for (size_t i = 0; i < all->n; i++) {
		const struct assumption *one = &all->list[i];
		open_object(j, NULL);
		if (one->input.path) {
			add_text(j, "input", one->input.path);
			add_input(j, "value", &one->input);
		}
		add_text(j, "text", one->text);
		close_object(j);
	}
	close_list(j);
}

static void
add_errors(struct json *j, const struct diag *d)
{
	struct source at;
	const char *hint, *message;
	enum severity severity;

	open_list(j, "errors");
	for (int i = 0; (message = diag_message(d, i, &at, &hint, &severity)); i++) {
		if (severity != SEVERITY_ERROR)
			continue;
		open_object(j, NULL);
		if (at.file)
			add_text(j, "file", at.file);
		if (at.line) {
			add_number(j, "line", at.line);
			add_number(j, "column", at.column);
		}
		add_text(j, "message", message);
		if (hint)
			add_text(j, "hint", hint);
		close_object(j);
	}
	close_list(j);
}

static void
add_interval(struct json *j, const char *path, const struct row *row)
{
	open_object(j, path);
	add_number(j, "low", row->low);
	add_number(j, "high", row->high);
	add_number(j, "level", INTERVAL_LEVEL);
	add_text(j, "why", row->why);
	close_object(j);
}

static void
add_value(struct json *j, const char *key, const struct row *row)
{
	if (row->kind == ROW_WORD)
		add_text(j, key, row->text);
	else
		add_number(j, key, row->value);
}

static void
add_answers(struct json *j, const struct sheet *sh, const struct places *all)
{
	open_object(j, "answers");
	for (size_t i = 0; i < all->n; i++)
		if (!all->list[i].table)
			add_value(j, sheet_row(sh, all->list[i].row)->id, sheet_row(sh, all->list[i].row));
	close_object(j);
}

/* The lines of the table that stands first at `first`. */
static void
add_table(struct json *j, const struct sheet *sh, const struct places *all, size_t first)
{
	const char *name = all->list[first].table;
	size_t line = SIZE_MAX;

	open_list(j, name);
	for (size_t i = first; i < all->n; i++) {
		const struct place *p = &all->list[i];
		if (!p->table || strcmp(p->table, name) != 0)
			continue;
		if (p->line != line) {
			if (line != SIZE_MAX)
				close_object(j);
			open_object(j, NULL);
			line = p->line;
		}
		add_value(j, sheet_row(sh, p->row)->id, sheet_row(sh, p->row));
	}
	close_object(j);
	close_list(j);
}

static bool
is_first(const struct places *all, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (all->list[i].table && strcmp(all->list[i].table, all->list[at].table) == 0)
			return false;
	return true;
}

static void
add_tables(struct json *j, const struct sheet *sh, const struct places *all)
{
	open_object(j, "tables");
	for (size_t i = 0; i < all->n; i++)
		if (all->list[i].table && all->list[i].line == 0 && is_first(all, i))
			add_table(j, sh, all, i);
	close_object(j);
}

static void
add_intervals(struct json *j, struct arena *a, const struct sheet *sh, const struct places *all)
{
	open_object(j, "intervals");
	for (size_t i = 0; i < all->n; i++) {
		const struct place *p = &all->list[i];
		const struct row *row = sheet_row(sh, p->row);
		if (row->why)
			add_interval(j, place_name(a, sh, p), row);
	}
	close_object(j);
}

/* Every number and word that was computed, by its dotted path, in order of computation. */
static void
add_trace(struct json *j, const struct sheet *sh)
{
	char path[512];

	open_object(j, "trace");
	for (int i = 0; i < sheet_size(sh); i++) {
		const struct row *row = sheet_row(sh, i);
		if (row->kind == ROW_SCOPE || (row->kind == ROW_ITEM && isnan(row->value)))
			continue;
		sheet_path(sh, i, path, sizeof path);
		add_value(j, path, row);
	}
	close_object(j);
}

static void
add_point(struct json *j, const struct report *r, const struct answer_point *p)
{
	add_inputs(j, p);
	if (!p->sheet) {
		add_errors(j, p->faults);
		return;
	}
	struct arena *a = arena_new();
	const struct places all = places_of(a, p->sheet);
	add_answers(j, p->sheet, &all);
	add_tables(j, p->sheet, &all);
	add_intervals(j, a, p->sheet, &all);
	if (r->trace)
		add_trace(j, p->sheet);
	arena_free(a);
}

static void
add_sources(struct json *j, const struct sheet *sh)
{
	char path[512];

	open_list(j, "sources");
	for (int i = 0; sh && i < sheet_size(sh); i++) {
		const struct row *row = sheet_row(sh, i);
		if (row->kind != ROW_DATUM || !row->from.file)
			continue;
		sheet_path(sh, i, path, sizeof path);
		open_object(j, NULL);
		add_text(j, "row", path);
		add_text(j, "file", row->from.file);
		if (row->from.line) {
			add_number(j, "line", row->from.line);
			add_number(j, "column", row->from.column);
		}
		if (row->from.cite)
			add_text(j, "citation", row->from.cite);
		if (row->from.unconfirmed) {
			lead(j, "unconfirmed");
			write_word(j, "true");
		}
		close_object(j);
	}
	close_list(j);
}

/* --- answers --------------------------------------------------------------------------------------------- */

/* Ids and keys go, or change their meaning, only with another number. */
enum { JSON_VERSION = 2 };

static void
begin_answer(struct json *j, const char *version, const char *command)
{
	open_object(j, NULL);
	add_number(j, "ridge", JSON_VERSION);
	add_text(j, "version", version);
	add_text(j, "command", command);
}

static void
end_answer(struct json *j)
{
	close_object(j);
	putc_unlocked('\n', j->to);
}

/* The groups of `ridge validate`, where scripts look for them since the first form. */
static void
add_groups(struct json *j, const struct report *r)
{
	struct arena *a = arena_new();
	const struct places all = places_of(a, r->point->sheet);

	for (size_t i = 0; i < all.n; i++)
		if (all.list[i].table && strcmp(all.list[i].table, "groups") == 0) {
			add_table(j, r->point->sheet, &all, i);
			break;
		}
	arena_free(a);
}

static void
print_answer(struct json *j, const struct report *r)
{
	begin_answer(j, r->version, r->command);
	add_point(j, r, r->point);
	if (strcmp(r->command, "validate") == 0)
		add_groups(j, r);
	add_assumed(j, &r->assumed);
	add_list(j, "warnings", &r->warnings);
	add_sources(j, r->point->sheet);
	end_answer(j);
}

bool
report_json(FILE *to, const struct report *r, char *why, size_t size)
{
	struct json j = {.to = to, .lines = true};

	(void)why;
	(void)size;
	print_answer(&j, r);
	return true;
}

void
report_json_line(FILE *to, const struct report *r)
{
	struct json j = {.to = to};

	print_answer(&j, r);
}

/* --- sweeps ---------------------------------------------------------------------------------------------- */

/* Inside the list of points. */
static struct json
among_points(FILE *to, size_t n_before)
{
	return (struct json){.to = to, .lines = true, .depth = 2, .begun = n_before > 0};
}

void
json_begin_points(FILE *to, const struct report *r)
{
	struct json j = {.to = to, .lines = true};

	begin_answer(&j, r->version, r->command);
	open_list(&j, "points");
}

void
json_point(FILE *to, const struct report *r, const struct answer_point *p, size_t n_before)
{
	struct json j = among_points(to, n_before);

	open_object(&j, NULL);
	add_point(&j, r, p);
	close_object(&j);
}

void
json_sources(FILE *to, const struct sheet *sh)
{
	struct json j = {.to = to, .lines = true, .depth = 1, .begun = true};

	add_sources(&j, sh);
}

void
json_end_points(FILE *to, const struct report *r, const char *sources)
{
	struct json j = among_points(to, 1);

	close_list(&j);
	add_assumed(&j, &r->assumed);
	add_list(&j, "warnings", &r->warnings);
	fputs(sources, to);
	end_answer(&j);
}

/* --- refusals -------------------------------------------------------------------------------------------- */

void
report_json_errors(FILE *to, const char *version, const char *command, const struct diag *d)
{
	struct json j = {.to = to};

	begin_answer(&j, version, command);
	add_errors(&j, d);
	end_answer(&j);
}
