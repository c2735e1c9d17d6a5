/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/question.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Numbers that came from an option's default and were used: `batch 1`. */
static void
assume_defaults(struct run *r)
{
	char value[80], name[80];

	for (int i = 0; i < sheet_size(r->sheet); i++) {
		const struct row *row = sheet_row(r->sheet, i);
		if (row->kind != ROW_DATUM || row->from.file != inputs_default || !row->text)
			continue;
		const char *member = row->text;
		for (const char *p = row->text; *p; p++)
			if (*p == '.' || (p[0] == '>' && p > row->text && p[-1] == '-'))
				member = p + 1;
		size_t n = 0;
		for (; *member && n + 1 < sizeof name; member++)
			name[n++] = *member == '_' ? '-' : *member;
		name[n] = '\0';
		run_assume(r, "%s %s", name, value_write(row->name, row->value, value, sizeof value));
	}
}

struct answered
question_ask(const struct question *q, const struct node *inputs)
{
	struct run r = {.arena = q->arena,
	    .diag = q->diag,
	    .database = database_reporting_to(q->database, q->diag),
	    .command = q->command,
	    .inputs = inputs,
	    .files = q->files,
	    .draws = q->draws};
	void *in = arena_take(q->arena, q->command->input_size + 1);

	r.sheet = sheet_new();
	struct answered out = {.status = REFUSED, .sheet = r.sheet};
	if (inputs_bind(q->arena, q->diag, q->command, inputs, in)) {
		out.status = q->command->run(&r, in);
		if (diag_errors(q->diag))
			out.status = REFUSED;
		assume_defaults(&r);
	}
	out.title = r.title;
	out.document = r.document;
	out.plot = r.plot;
	out.assumed = r.assumed;
	out.warnings = r.warnings;
	return out;
}

struct asked *
question_inputs(const struct question *q, const struct node *inputs, size_t *n)
{
	const struct command *c = q->command;
	size_t most = 0;

	for (size_t g = 0; g < c->n_groups; g++)
		most += c->groups[g].n;
	struct asked *list = ARENA_ARRAY(q->arena, struct asked, most + 1);
	*n = 0;
	for (size_t g = 0; g < c->n_groups; g++)
		for (size_t i = 0; i < c->groups[g].n; i++) {
			const struct option *o = &c->groups[g].options[i];
			const struct node *node = tree_at(inputs, o->path);
			if (node && node->kind == NODE_MAP)
				node = tree_get(node, "name");
			const char *text = node && node->kind == NODE_SCALAR ? node->text : node ? NULL : o->def;
			struct quantity_fault fault;
			double value = NAN;
			if (!text)
				continue;
			if (o->kind == KIND_QUANTITY && !quantity_read(text, o->quantity, &value, &fault))
				value = NAN;
			list[(*n)++] = (struct asked){o->path, text, value};
		}
	return list;
}
