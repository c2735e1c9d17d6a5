/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries as lines of JSON: --jsonl, and libridge, whose queries are read alike. */
#include "cli/parts.h"

#include "base/base.h"
#include "base/sheet.h"
#include "cli/cli.h"
#include "db/db.h"
#include "db/tree.h"
#include "import/import.h"
#include "paths.h"
#include "report/report.h"

#include <errno.h>
#include <math.h>
#include <ridge/ridge.h>
#include <stdlib.h>
#include <string.h>

/* --- --jsonl: one query per line, one JSON object per answer --------------------------------------------- */

/* The lines of one run: they share the database, and each has memory of its own that goes with it. */
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

/* --- libridge -------------------------------------------------------------------------------------------- */

struct ridge {
	struct arena *arena;
	const char *directory;
	struct diag *diag;
	struct database *database;
};

struct ridge_answer {
	struct arena *arena;
	struct diag *diag;
	const struct command *command;
	struct question question;
	const struct node *inputs;
	struct answered got;
	struct places places;
	char *json[2]; /* without and with the trace */
};

const char *
ridge_version(void)
{
	return RIDGE_VERSION;
}

struct ridge *
ridge_open(const char *directory)
{
	struct arena *a = arena_new();
	struct ridge *r = ARENA_NEW(a, struct ridge);

	r->arena = a;
	r->directory = directory ? arena_text(a, directory) : NULL;
	r->diag = diag_new(a);
	r->database = database_new(a, r->diag, r->directory);
	return r;
}

void
ridge_close(struct ridge *r)
{
	if (r)
		arena_free(r->arena);
}

/* --- asking ---------------------------------------------------------------------------------------------- */

/* The messages of the database belong to every answer. */
static void
copy_messages(struct diag *to, const struct diag *from)
{
	struct source at;
	const char *hint, *text;
	enum severity severity;

	for (int i = 0; (text = diag_message(from, i, &at, &hint, &severity)); i++) {
		(severity == SEVERITY_ERROR ? diag_error : diag_warning)(to, at, "%s", text);
		if (hint)
			diag_hint(to, "%s", hint);
	}
}

static const struct command *
find_command(struct ridge_answer *a, const char *name)
{
	const struct command *c = command_find(name);

	if (c)
		return c;
	const char *names[64];
	for (size_t i = 0; i < n_commands; i++)
		names[i] = commands[i]->name;
	const char *near = text_nearest(name, names, n_commands);
	diag_error(a->diag, (struct source){0}, "there is no command '%s'", name);
	if (near)
		diag_hint(a->diag, "did you mean '%s'?", near);
	return NULL;
}

static const struct node *
read_inputs(struct ridge_answer *a, const char *text)
{
	const struct node *map = tree_read_text(a->arena, a->diag, "inputs", text, strlen(text));

	if (!map)
		return NULL;
	if (map->kind != NODE_MAP) {
		diag_error(a->diag, (struct source){"inputs", 1, 1, NULL, false}, "expected a map of inputs");
		diag_hint(a->diag, "write {model: llama3-8b, seq: 8192}");
		return NULL;
	}
	return inputs_spread(a->arena, a->diag, a->command, map);
}

static void
ask(struct ridge_answer *a, const struct ridge *r, const char *command, const char *inputs)
{
	if (!(a->command = find_command(a, command)) || !(a->inputs = read_inputs(a, inputs)) || diag_errors(a->diag))
		return;
	a->question = (struct question){.arena = a->arena,
	    .diag = a->diag,
	    .database = r->database,
	    .command = a->command,
	    .outputs = outputs_new(a->arena)};
	a->got = question_ask(&a->question, a->inputs);
	if (a->got.status != REFUSED && !question_accepts(&a->question, &a->got))
		a->got.status = REFUSED;
	if (a->got.status != REFUSED && !outputs_commit(a->question.outputs, a->diag))
		a->got.status = REFUSED;
	outputs_drop(a->question.outputs);
	if (a->got.status != REFUSED)
		a->places = places_of(a->arena, a->got.sheet);
}

struct ridge_answer *
ridge_ask(struct ridge *r, const char *command, const char *inputs)
{
	struct arena *arena = arena_new();
	struct ridge_answer *a = ARENA_NEW(arena, struct ridge_answer);

	a->arena = arena;
	a->diag = diag_new(arena);
	a->got.status = REFUSED;
	copy_messages(a->diag, r->diag);
	if (!diag_errors(a->diag))
		ask(a, r, command, inputs);
	return a;
}

void
ridge_answer_free(struct ridge_answer *a)
{
	if (!a)
		return;
	free(a->json[0]);
	free(a->json[1]);
	sheet_free(a->got.sheet);
	arena_free(a->arena);
}

/* --- reading --------------------------------------------------------------------------------------------- */

enum ridge_status
ridge_status(const struct ridge_answer *a)
{
	return a->got.status == ANSWERED ? RIDGE_ANSWERED : a->got.status == ANSWERED_NO ? RIDGE_NO : RIDGE_REFUSED;
}

static const struct row *
find_row(const struct ridge_answer *a, const char *id)
{
	const int i = a->got.status != REFUSED ? places_find(&a->places, a->got.sheet, id) : -1;

	return i >= 0 ? sheet_row(a->got.sheet, i) : NULL;
}

bool
ridge_number(const struct ridge_answer *a, const char *id, double *value)
{
	const bool low = text_ends(id, ".low"), high = text_ends(id, ".high");
	const char *name = low || high ? arena_copy(a->arena, id, (size_t)(strrchr(id, '.') - id)) : id;
	const struct row *row = find_row(a, name);

	if (!row || row->kind == ROW_WORD || ((low || high) && !row->why))
		return false;
	const double found = low ? row->low : high ? row->high : row->value;
	if (isnan(found))
		return false;
	*value = found;
	return true;
}

const char *
ridge_word(const struct ridge_answer *a, const char *id)
{
	const struct row *row = find_row(a, id);

	return row && row->kind == ROW_WORD ? row->text : NULL;
}

const char *
ridge_id(struct ridge_answer *a, size_t i)
{
	return a->got.status != REFUSED && i < a->places.n ? place_name(a->arena, a->got.sheet, &a->places.list[i])
	                                                   : NULL;
}

const char *
ridge_label(const char *id)
{
	const struct answer_entry *entry = answer_find(id);

	return entry ? entry->label : NULL;
}

const char *
ridge_meaning(const char *id)
{
	const struct answer_entry *entry = answer_find(id);

	return entry ? entry->meaning : NULL;
}

static char *
write_json(struct ridge_answer *a, bool trace)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = output_memory(&text, &n);

	if (a->got.status == REFUSED)
		report_json_errors(to, RIDGE_VERSION, a->command ? a->command->name : "", a->diag);
	else {
		struct answer_point point = {.sheet = a->got.sheet};
		point.asked = question_inputs(&a->question, a->inputs, &point.n_asked);
		const struct report report = {.arena = a->arena,
		    .command = a->command->name,
		    .version = RIDGE_VERSION,
		    .trace = trace,
		    .point = &point,
		    .assumed = a->got.assumed,
		    .warnings = output_texts(a->arena, &a->got.warnings)};
		report_json_line(to, &report);
	}
	fclose(to);
	return text;
}

const char *
ridge_json(struct ridge_answer *a, bool trace)
{
	if (!a->json[trace])
		a->json[trace] = write_json(a, trace);
	return a->json[trace];
}

/* --- messages -------------------------------------------------------------------------------------------- */

bool
ridge_message(const struct ridge_answer *a, size_t i, struct ridge_message *out)
{
	struct source at;
	const char *hint, *text;
	enum severity severity;
	size_t n = 0;

	for (; (text = diag_message(a->diag, (int)n, &at, &hint, &severity)); n++)
		if (n == i) {
			*out = (struct ridge_message){severity == SEVERITY_ERROR ? RIDGE_ERROR : RIDGE_WARNING, text,
			    hint, at.file, at.line, at.column};
			return true;
		}
	i -= n;
	if (i < a->got.warnings.n)
		*out = (struct ridge_message){RIDGE_WARNING, a->got.warnings.list[i].text, NULL, NULL, 0, 0};
	else if ((i -= a->got.warnings.n) < a->got.assumed.n)
		*out = (struct ridge_message){RIDGE_ASSUMPTION, a->got.assumed.list[i].text, NULL, NULL, 0, 0};
	else
		return false;
	return true;
}
