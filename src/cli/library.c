/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libridge: each query is read like a line of --jsonl. */
#include <ridge/ridge.h>

#include "base/base.h"
#include "base/sheet.h"
#include "cli/cli.h"
#include "cli/parts.h"
#include "db/db.h"
#include "db/tree.h"
#include "paths.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
