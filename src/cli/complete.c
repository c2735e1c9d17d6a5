/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion: the shells ask `ridge __complete WORD...`; the last word is the one being typed. */
#include "base/base.h"
#include "cli/cli.h"
#include "db/db.h"

#include <stdlib.h>
#include <string.h>

struct completer {
	struct arena *arena;
	FILE *to;
	const char *typed;
	const char *before; /* prefix: `--gpu=`, `tp=8,` */
};

static void
offer(struct completer *c, const char *candidate)
{
	if (text_begins(candidate, c->typed))
		fprintf(c->to, "%s%s\n", c->before, candidate);
}

static void
offer_entries(struct completer *c, enum entry_kind kind)
{
	struct diag *d = diag_new(c->arena);
	struct database *db = database_new(c->arena, d, NULL);
	size_t n;
	const char **list = database_list(db, kind, &n);

	for (size_t i = 0; i < n; i++)
		offer(c, list[i]);
}

static void
offer_choices(struct completer *c, const char *choices)
{
	size_t n;
	char **list = text_split(c->arena, choices, '|', &n);

	for (size_t i = 0; i < n; i++)
		offer(c, list[i]);
}

/* Ids of answers, the last of several; inputs by their paths. */
static void
offer_ids(struct completer *c, const struct command *command)
{
	const char *comma = strrchr(c->typed, ',');

	if (comma) {
		c->before = arena_printf(c->arena, "%s%.*s,", c->before, (int)(comma - c->typed), c->typed);
		c->typed = comma + 1;
	}
	for (size_t i = 0; i < N_ANSWERS; i++)
		offer(c, answer_table[i].id);
	for (size_t g = 0; command && text_begins(c->typed, "inputs.") && g < command->n_groups; g++)
		for (size_t i = 0; i < command->groups[g].n; i++)
			offer(c, arena_printf(c->arena, "inputs.%s", command->groups[g].options[i].path));
}

/* What an option's value may be, by the `complete` column of its row. */
static void
offer_values(struct completer *c, const struct command *command, const char *complete)
{
	static const struct {
		const char *word;
		enum entry_kind kind;
	} entries[] = {{"gpu", ENTRY_GPU}, {"system", ENTRY_SYSTEM}, {"link", ENTRY_LINK}, {"model", ENTRY_MODEL},
	    {"job", ENTRY_JOB}, {"stack", ENTRY_STACK}, {"engine", ENTRY_ENGINE}, {"reliability", ENTRY_RELIABILITY}};

	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		if (strcmp(complete, entries[i].word) == 0) {
			offer_entries(c, entries[i].kind);
			return;
		}
	if (strcmp(complete, "command") == 0)
		for (size_t i = 0; i < n_commands; i++)
			offer(c, commands[i]->name);
	else if (strcmp(complete, "row") == 0)
		offer_ids(c, command);
	else if (strcmp(complete, "format") == 0)
		for (size_t i = 0; i < N_FORMATS; i++)
			offer(c, formats[i].name);
	else if (strcmp(complete, "path") == 0 && command) {
		for (size_t g = 0; g < command->n_groups; g++)
			for (size_t i = 0; i < command->groups[g].n; i++)
				offer(c, arena_printf(c->arena, "%s=", command->groups[g].options[i].path));
	} else if (strchr(complete, '|'))
		offer_choices(c, complete);
}

static void
offer_layout(struct completer *c, const struct command *command)
{
	const char *comma = strrchr(c->typed, ',');

	if (comma) {
		c->before = arena_printf(c->arena, "%s%.*s,", c->before, (int)(comma - c->typed), c->typed);
		c->typed = comma + 1;
	}
	for (size_t g = 0; g < command->n_groups; g++)
		for (size_t i = 0; i < command->groups[g].n; i++) {
			const struct option *o = &command->groups[g].options[i];
			if (text_begins(o->path, "layout."))
				offer(c, arena_printf(c->arena, "%s%s", o->path + 7, o->kind == KIND_FLAG ? "" : "="));
		}
}

static bool
offer_option_value(struct completer *c, const struct command *command, const char *name)
{
	const struct option *o = command_option_named(command, name);

	if (strcmp(name, "layout") == 0 && command_has_layout(command)) {
		offer_layout(c, command);
		return true;
	}
	if (o && o->kind != KIND_FLAG) {
		const char *comma = o->kind == KIND_WORDS ? strrchr(c->typed, ',') : NULL;
		if (comma) {
			c->before = arena_printf(c->arena, "%s%.*s,", c->before, (int)(comma - c->typed), c->typed);
			c->typed = comma + 1;
		}
		offer_values(c, command, o->complete);
		return true;
	}
	for (size_t i = 0; i < n_global_options; i++)
		if (strcmp(global_options[i].name, name) == 0 && *global_options[i].metavar &&
		    (*global_options[i].metavar != '[' || *c->before)) {
			offer_values(c, command, global_options[i].complete);
			return true;
		}
	return false;
}

static void
offer_options(struct completer *c, const struct command *command)
{
	for (size_t g = 0; g < command->n_groups; g++)
		for (size_t i = 0; i < command->groups[g].n; i++)
			if (command->groups[g].options[i].name)
				offer(c, arena_printf(c->arena, "--%s", command->groups[g].options[i].name));
	if (command_has_layout(command))
		offer(c, "--layout");
	for (size_t i = 0; i < n_global_options; i++)
		offer(c, arena_printf(c->arena, "--%s", global_options[i].name));
}

void
help_complete(struct arena *a, FILE *to, int argc, char **argv)
{
	struct completer c = {a, to, argc ? argv[argc - 1] : "", ""};
	const struct command *command = argc > 1 ? command_find(argv[0]) : NULL;

	if (argc <= 1) {
		offer_values(&c, NULL, "command");
		offer(&c, "help");
		offer(&c, "--help");
		offer(&c, "--version");
		return;
	}
	if (strcmp(argv[0], "help") == 0) {
		offer_values(&c, NULL, "command");
		return;
	}
	if (!command)
		return;
	const char *equals = strchr(c.typed, '=');
	if (text_begins(c.typed, "--") && equals) {
		const char *name = arena_copy(a, c.typed + 2, (size_t)(equals - c.typed - 2));
		c.before = arena_printf(a, "--%s=", name);
		c.typed = equals + 1;
		offer_option_value(&c, command, name);
		return;
	}
	if (c.typed[0] == '-') {
		offer_options(&c, command);
		return;
	}
	if (argc > 2 && text_begins(argv[argc - 2], "--") && offer_option_value(&c, command, argv[argc - 2] + 2))
		return;
	/* an operand: what the option of the same path takes */
	size_t n;
	char **paths = text_split(a, command->operands ? command->operands : "", ' ', &n);
	for (size_t i = 0; i < n; i++) {
		const size_t length = strcspn(paths[i], ".");
		const struct option *o = command_option_at(command, arena_copy(a, paths[i], length));
		if (o)
			offer_values(&c, command, o->complete);
	}
	if (command_option_at(command, "model") && command_option_at(command, "gpu"))
		offer_entries(&c, ENTRY_JOB);
}
