/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON object of ridge-json(5): every row by its dotted path, in order of computation, in base units. */
#include "report/formats.h"
#include "ridge/units.h"

#include <cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
add_number(cJSON *object, const char *path, double value)
{
	char text[40];

	/* cJSON would write 15 digits where they are near enough; these read back to the same number */
	if (isfinite(value))
		cJSON_AddRawToObject(object, path, number_write(value, text, sizeof text));
	else
		cJSON_AddNullToObject(object, path);
}

static cJSON *
list_of(const struct texts *list)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < list->n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(list->list[i]));
	return array;
}

static cJSON *
inputs_of(const struct point *p)
{
	cJSON *object = cJSON_CreateObject();

	for (size_t i = 0; i < p->n_asked; i++) {
		if (isnan(p->asked[i].value))
			cJSON_AddStringToObject(object, p->asked[i].path, p->asked[i].text);
		else
			add_number(object, p->asked[i].path, p->asked[i].value);
	}
	return object;
}

static void
add_interval(cJSON *intervals, const char *path, const struct row *row)
{
	cJSON *interval = cJSON_AddObjectToObject(intervals, path);

	add_number(interval, "low", row->low);
	add_number(interval, "high", row->high);
	add_number(interval, "level", INTERVAL_LEVEL);
	cJSON_AddStringToObject(interval, "why", row->why);
}

static void
add_rows(cJSON *object, const struct sheet *sh)
{
	cJSON *rows = cJSON_AddObjectToObject(object, "rows");
	cJSON *words = cJSON_AddObjectToObject(object, "words");
	cJSON *intervals = cJSON_AddObjectToObject(object, "intervals");
	char path[512];

	for (int i = 0; sh && i < sheet_size(sh); i++) {
		const struct row *row = sheet_row(sh, i);
		sheet_path(sh, i, path, sizeof path);
		if (row->kind == ROW_WORD)
			cJSON_AddStringToObject(words, path, row->text);
		else if (row->kind != ROW_SCOPE && !(row->kind == ROW_ITEM && isnan(row->value)))
			add_number(rows, path, row->value);
		if (row->why)
			add_interval(intervals, path, row);
	}
}

/* Blocks called `score` are also given as a list of objects, which scripts read more easily. */
static void
add_groups(cJSON *object, const struct sheet *sh)
{
	cJSON *groups = NULL, *group = NULL;
	int scope = -1;

	for (int i = 0; sh && i < sheet_size(sh); i++) {
		const struct row *row = sheet_row(sh, i);
		if (row->kind == ROW_SCOPE && row->parent < 0 && row->item >= 0 && strcmp(row->name, "score") == 0) {
			groups = groups ? groups : cJSON_AddArrayToObject(object, "groups");
			group = cJSON_CreateObject();
			cJSON_AddItemToArray(groups, group);
			scope = i;
		} else if (group && row->parent == scope && row->kind == ROW_WORD)
			cJSON_AddStringToObject(group, row->name, row->text);
		else if (group && row->parent == scope)
			add_number(group, row->name, row->value);
	}
}

static void
add_sources(cJSON *object, const struct sheet *sh)
{
	cJSON *sources = cJSON_AddArrayToObject(object, "sources");
	char path[512];

	for (int i = 0; sh && i < sheet_size(sh); i++) {
		const struct row *row = sheet_row(sh, i);
		if (row->kind != ROW_DATUM || !row->from.file)
			continue;
		cJSON *s = cJSON_CreateObject();
		sheet_path(sh, i, path, sizeof path);
		cJSON_AddStringToObject(s, "row", path);
		cJSON_AddStringToObject(s, "file", row->from.file);
		if (row->from.line) {
			cJSON_AddNumberToObject(s, "line", row->from.line);
			cJSON_AddNumberToObject(s, "column", row->from.column);
		}
		if (row->from.cite)
			cJSON_AddStringToObject(s, "citation", row->from.cite);
		if (row->from.unconfirmed)
			cJSON_AddBoolToObject(s, "unconfirmed", 1);
		cJSON_AddItemToArray(sources, s);
	}
}

static cJSON *
object_of(const struct report *r)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "ridge", r->version);
	cJSON_AddStringToObject(object, "command", r->command);
	if (!r->sweep) {
		cJSON_AddItemToObject(object, "inputs", inputs_of(&r->points[0]));
		add_rows(object, r->points[0].sheet);
		add_groups(object, r->points[0].sheet);
	} else {
		cJSON *points = cJSON_AddArrayToObject(object, "points");
		for (size_t p = 0; p < r->n_points; p++) {
			cJSON *point = cJSON_CreateObject();
			cJSON_AddItemToObject(point, "inputs", inputs_of(&r->points[p]));
			add_rows(point, r->points[p].sheet);
			add_groups(point, r->points[p].sheet);
			cJSON_AddItemToArray(points, point);
		}
	}
	cJSON_AddItemToObject(object, "assumed", list_of(&r->assumed));
	cJSON_AddItemToObject(object, "warnings", list_of(&r->warnings));
	size_t first = 0; /* that was not refused */
	while (first + 1 < r->n_points && !r->points[first].sheet)
		first++;
	add_sources(object, r->points[first].sheet);
	return object;
}

static void
print_text(FILE *to, char *text)
{
	fprintf(to, "%s\n", text);
	free(text);
}

static void
print_line(FILE *to, cJSON *object)
{
	print_text(to, cJSON_PrintUnformatted(object));
	cJSON_Delete(object);
}

bool
report_json(FILE *to, const struct report *r, char *why, size_t size)
{
	(void)why;
	(void)size;
	cJSON *object = object_of(r);

	print_text(to, cJSON_Print(object));
	cJSON_Delete(object);
	return true;
}

void
report_json_line(FILE *to, const struct report *r)
{
	print_line(to, object_of(r));
}

void
report_json_errors(FILE *to, const char *version, const char *command, const struct diag *d)
{
	cJSON *object = cJSON_CreateObject();
	struct source at;
	const char *hint, *message;
	enum severity severity;

	cJSON_AddStringToObject(object, "ridge", version);
	cJSON_AddStringToObject(object, "command", command);
	cJSON *errors = cJSON_AddArrayToObject(object, "errors");
	for (int i = 0; (message = diag_message(d, i, &at, &hint, &severity)); i++) {
		if (severity != SEVERITY_ERROR)
			continue;
		cJSON *e = cJSON_CreateObject();
		if (at.file)
			cJSON_AddStringToObject(e, "file", at.file);
		if (at.line) {
			cJSON_AddNumberToObject(e, "line", at.line);
			cJSON_AddNumberToObject(e, "column", at.column);
		}
		cJSON_AddStringToObject(e, "message", message);
		if (hint)
			cJSON_AddStringToObject(e, "hint", hint);
		cJSON_AddItemToArray(errors, e);
	}
	print_line(to, object);
}
