/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --jsonl: one question per line, one JSON object per answer. */
#include "cli/program.h"
#include "data/json_in.h"
#include "paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
answer_line(struct program *p, const struct node *base, struct source at, const char *text, size_t length, FILE *to)
{
	struct program line = *p;

	line.arena = arena_new();
	line.diag = diag_new(line.arena);
	line.question.arena = line.arena;
	line.question.diag = line.diag;
	line.question.database = database_new(line.arena, line.diag, p->args.hwdb);
	const struct node *given = json_read(line.arena, line.diag, at, text, length);
	int status = REFUSED;
	if (given && given->kind != NODE_MAP) {
		diag_error(line.diag, at, "expected an object");
		diag_hint(line.diag, "write {\"NAME\": VALUE, ...}");
	} else if (given) {
		const struct node *inputs = tree_overlay(line.arena, base, inputs_spread(line.arena, given));
		const struct answered a = question_ask(&line.question, inputs);
		status = (int)a.status;
		if (status != REFUSED) {
			struct report r = output_report_of(&line);
			struct point point = {.sheet = a.sheet, .status = status};
			program_inspect(p, a.sheet);
			point.asked = question_inputs(&line.question, inputs, &point.n_asked);
			r.n_points = 1;
			r.points = &point;
			r.assumed = output_texts(line.arena, &a.assumed);
			r.warnings = output_texts(line.arena, &a.warnings);
			report_json_line(to, &r);
		}
		sheet_free(a.sheet);
	}
	if (status == REFUSED) {
		report_json_errors(to, RIDGE_VERSION, p->command->name, line.diag);
		diag_print(line.diag, stderr, false);
	}
	arena_free(line.arena);
	return status;
}

int
program_lines(struct program *p, const struct node *base)
{
	const bool standard = strcmp(p->args.jsonl, "-") == 0;
	FILE *file = standard ? stdin : fopen(p->args.jsonl, "rb");
	char *text = NULL;
	size_t room = 0;
	int status = ANSWERED;

	if (!file) {
		diag_error(p->diag, (struct source){"--jsonl", 0, 0, NULL, false}, "cannot read '%s': %s",
		    p->args.jsonl, strerror(errno));
		diag_hint(p->diag, "name a file, or - for standard input");
		return REFUSED;
	}
	for (int number = 1;; number++) {
		const ssize_t n = getline(&text, &room, file);
		if (n < 0) {
			if (ferror(file)) {
				diag_error(p->diag, (struct source){"--jsonl", 0, 0, NULL, false},
				    "cannot read '%s': %s", p->args.jsonl, strerror(errno));
				diag_hint(p->diag, "name a file, or - for standard input");
				status = REFUSED;
			}
			break;
		}
		if (strspn(text, " \t\r\n") == (size_t)n)
			continue;
		char *line = NULL;
		size_t length = 0;
		FILE *to = output_memory(&line, &length);
		const struct source at = {standard ? "standard input" : p->args.jsonl, number, 1, NULL, false};
		const int one = answer_line(p, base, at, text, (size_t)n, to);
		fclose(to);
		const int written = output_stdout(p->diag, line, length);
		free(line);
		status = written ? written : one > status ? one : status;
		if (written || ferror(stdout))
			break;
	}
	free(text);
	if (!standard)
		fclose(file);
	return status;
}
