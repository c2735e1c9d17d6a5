/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --jsonl: one query per line, one JSON object per answer. */
#include "cli/parts.h"
#include "import/import.h"
#include "paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The lines of one run: they share the database; the memory of each line is freed after it. */
struct lines {
	struct program *p;
	const struct node *base;
	const char *file;
	struct arena *passing;
	struct report head;          /* of all lines: --csv */
	struct points_report *table; /* NULL: every line is answered at once */
	struct words warnings;
};

static struct report
report_of(const struct lines *l, struct program *line, const struct answered *a, const struct answer_point *point)
{
	struct report r = l->head;

	r.arena = line->arena;
	r.point = point;
	r.assumed = point->assumed;
	r.warnings = output_texts(line->arena, &a->warnings);
	return r;
}

/* What this line prints; false when the row that --get names is not there. */
static bool
print_line(struct lines *l, struct program *line, const struct answered *a, struct answer_point *point, FILE *to)
{
	struct report r = report_of(l, line, a, point);
	char why[500];
	bool ok = true;

	if (l->table)
		points_report_add(l->table, to, point);
	else if (!l->p->args.get)
		report_json_line(to, &r);
	else if (!(ok = report_print(to, "get", &r, why, sizeof why)))
		output_no_row(line, why);
	if (l->table || l->p->args.get) /* JSON has them among its keys */
		question_merge(l->p->arena, &l->warnings, &a->warnings);
	return ok;
}

static int
ask_line(struct lines *l, struct program *line, const struct node *given, struct answer_point *point, FILE *to)
{
	const struct node *inputs =
	    tree_overlay(line->arena, l->base, inputs_spread(line->arena, line->diag, line->command, given));

	if (diag_errors(line->diag))
		return REFUSED;
	const struct answered a = question_ask(&line->question, inputs);
	int status = a.status != REFUSED && !question_accepts(&line->question, &a) ? REFUSED : (int)a.status;
	if (status != REFUSED) {
		point->sheet = a.sheet;
		point->assumed = a.assumed;
		program_inspect(line, a.sheet);
		point->asked = question_inputs(&line->question, inputs, &point->n_asked);
		if (!print_line(l, line, &a, point, to))
			status = REFUSED;
		else if (!outputs_commit(line->outputs, line->diag))
			status = STATUS_FAILED;
	}
	outputs_drop(line->outputs);
	sheet_free(a.sheet);
	return status;
}

/* As many values as --get names. */
static void
print_absent(const char *names, FILE *to)
{
	fputc('-', to);
	for (; *names; names++)
		fputs(*names == ',' ? "\t-" : "", to);
	fputc('\n', to);
}

/* The line of a question that was refused; what it printed so far is forgotten. */
static void
print_refusal(struct lines *l, struct program *line, const struct answer_point *point, FILE *to)
{
	const struct answer_point none = {.swept = point->swept};

	rewind(to);
	if (l->table)
		points_report_add(l->table, to, &none);
	else if (l->p->args.get)
		print_absent(l->p->args.get, to);
	else
		report_json_errors(to, RIDGE_VERSION, line->command->name, line->diag);
	diag_print(line->diag, stderr, false);
}

static int
answer_line(struct lines *l, int number, const char *text, size_t length, FILE *to)
{
	struct program line = *l->p;
	const struct source at = {l->file, number, 1, NULL, false};

	line.arena = l->passing;
	line.diag = diag_new(line.arena);
	line.outputs = outputs_new(line.arena);
	outputs_guard_file(line.outputs, l->file);
	line.question = question_apart(&l->p->question, line.arena, line.diag, line.outputs);
	const char *numbers[] = {arena_printf(line.arena, "%d", number)};
	struct answer_point point = {.swept = {1, numbers}};
	const struct node *given = json_read(line.arena, line.diag, at, text, length);
	int status = REFUSED;
	if (given && given->kind != NODE_MAP) {
		diag_error(line.diag, at, "expected an object");
		diag_hint(line.diag, "write {\"NAME\": VALUE, ...}");
	} else if (given)
		status = ask_line(l, &line, given, &point, to);
	if (status == REFUSED || status == STATUS_FAILED)
		print_refusal(l, &line, &point, to);
	return status;
}

static int
cannot_read(struct program *p)
{
	diag_error(p->diag, (struct source){"--jsonl", 0, 0, NULL, false}, "cannot read '%s': %s", p->args.jsonl,
	    strerror(errno));
	diag_hint(p->diag, "give a file, or - for standard input");
	return REFUSED;
}

static int
worse(int one, int other)
{
	return one > other ? one : other;
}

/* A line that was refused is an answer "no" of the whole. */
static int
with_line(int status, int line)
{
	return worse(status, line == REFUSED ? ANSWERED_NO : line);
}

static int
answer_lines(struct lines *l, FILE *file)
{
	char *text = NULL, *answer = NULL;
	size_t room = 0, n_answer = 0;
	FILE *to = output_memory(&answer, &n_answer);
	int status = ANSWERED;

	for (int number = 1; !ferror(stdout); number++) {
		const ssize_t n = getline(&text, &room, file);
		if (n < 0) {
			status = ferror(file) ? worse(status, cannot_read(l->p)) : status;
			break;
		}
		if (strspn(text, " \t\r\n") == (size_t)n)
			continue;
		rewind(to);
		arena_clear(l->passing);
		status = with_line(status, answer_line(l, number, text, (size_t)n, to));
		fflush(to);
		const int written = output_stdout(l->p->diag, answer, n_answer);
		if (written) {
			status = written;
			break;
		}
	}
	rewind(to);
	if (l->table && !ferror(stdout)) {
		char why[500];
		const bool ok = points_report_end(l->table, to, why, sizeof why);
		fflush(to);
		if (ok)
			status = worse(status, output_stdout(l->p->diag, answer, n_answer));
		else
			output_no_row(l->p, why);
		status = ok ? status : worse(status, REFUSED);
	}
	fclose(to);
	free(answer);
	free(text);
	return status;
}

int
program_lines(struct program *p, const struct node *base)
{
	const char *swept[] = {"line"};
	const bool standard = strcmp(p->args.jsonl, "-") == 0;
	struct lines l = {
	    .p = p, .base = base, .file = standard ? "standard input" : p->args.jsonl, .head = output_report_of(p)};

	FILE *file = standard ? stdin : fopen(p->args.jsonl, "rb");
	if (!file)
		return cannot_read(p);
	l.passing = arena_new();
	l.head.swept = (struct texts){1, swept};
	if (p->args.csv)
		l.table = points_report_new("csv", &l.head, false);
	const int status = answer_lines(&l, file);
	l.head.warnings = output_texts(p->arena, &l.warnings);
	output_warnings(p, &l.head);
	arena_free(l.passing);
	if (!standard)
		fclose(file);
	return status;
}
