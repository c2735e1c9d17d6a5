/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Help, command table, and the generated parts of the manual. */
#include "cli/cli.h"

#include "base/base.h"
#include "db/db.h"

#include <stdlib.h>
#include <string.h>

#define DECLARE_COMMAND(name) extern const struct command name##_command;
#define COMMAND DECLARE_COMMAND
#include "commands.h"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(name) &name##_command,
#include "commands.h"
#undef COMMAND
};
const size_t n_commands = sizeof commands / sizeof *commands;

static const char *const sections[] = {
    "Memory", "Performance", "Capacity and cost", "Diagnosis", "Database and measurements"};

/* `plan serve`, and in one word `plan-serve`. */
static bool
is_named(const struct command *c, const char *name)
{
	const char *own = c->name;

	while (*own && (*own == *name || (*own == ' ' && *name == '-')))
		own++, name++;
	return !*own && !*name;
}

const struct command *
command_find(const char *name)
{
	for (size_t i = 0; i < n_commands; i++)
		if (is_named(commands[i], name))
			return commands[i];
	return NULL;
}

const struct command *
command_called(int argc, char **argv, int *n_words)
{
	for (size_t i = 0; argc > 1 && i < n_commands; i++) {
		const size_t n = strlen(argv[0]);
		if (strncmp(commands[i]->name, argv[0], n) == 0 && commands[i]->name[n] == ' ' &&
		    strcmp(commands[i]->name + n + 1, argv[1]) == 0) {
			*n_words = 2;
			return commands[i];
		}
	}
	*n_words = 1;
	return argc > 0 ? command_find(argv[0]) : NULL;
}

void
help_overview(FILE *to)
{
	fputs("GPU performance calculator for machine learning: memory, speed, capacity, cost and diagnosis.\n\nusage: "
	      "ridge COMMAND [OPERAND...] [OPTIONS]\n",
	    to);
	for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
		bool head = false;
		for (size_t i = 0; i < n_commands; i++) {
			if (strcmp(commands[i]->section, sections[s]) != 0)
				continue;
			if (!head)
				fprintf(to, "\n%s\n", sections[s]);
			head = true;
			fprintf(to, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
		}
	}
	fputs(
	    "\n'ridge COMMAND --help' shows options and examples, 'ridge help COMMAND' opens the manual.\n"
	    "'ridge help TOPIC': decisions (command lines for them), glossary, models (equations), accuracy, options\n",
	    to);
}

void
help_short(FILE *to, const struct command *c)
{
	if (!c) {
		fputs("usage: ridge COMMAND [OPERAND...] [OPTIONS]\n\n"
		      "  ridge memory llama3-8b --gpu h100 --layout dp=8,zero=3 --seq 8192\n"
		      "  ridge roofline gemm --m 4096 --n 4096 --k 4096 --gpu h100 --dtype bf16\n\n"
		      "'ridge --help' lists the commands.\n",
		    to);
		return;
	}
	fprintf(to, "usage: ridge %s %s [OPTIONS]\n\n", c->name, c->usage);
	for (size_t i = 0; i < c->n_examples && i < 2; i++)
		fprintf(to, "  ridge %s\n", c->examples[i].line);
	fprintf(to, "\n'ridge %s --help' explains the options.\n", c->name);
}

/* --- options --------------------------------------------------------------------------------------------- */

struct shown_option {
	char letter;
	const char *name, *metavar, *help, *def, *choices;
};

/* The degrees and words that this command's layouts have; degrees that are words take ranges. */
static const char *
layout_help(const struct command *c, char *text, size_t size)
{
	const size_t prefix = strlen("layout.");
	bool ranges = false;
	size_t n = (size_t)snprintf(text, size, "parallel layout:");

	for (int words = 0; words < 2; words++) {
		const char *before = words ? ", and the words" : "";
		for (size_t g = 0; g < c->n_groups; g++)
			for (size_t i = 0; i < c->groups[g].n; i++) {
				const struct option *o = &c->groups[g].options[i];
				if (!text_begins(o->path, "layout.") || o->name || (o->kind == KIND_FLAG) != words ||
				    n >= size)
					continue;
				ranges = ranges || o->kind == KIND_WORD;
				n += (size_t)snprintf(text + n, size - n, "%s %s", before, o->path + prefix);
				before = words ? "," : "";
			}
	}
	if (ranges && n < size)
		snprintf(text + n, size - n, "; pp=2..8 and tp=4/8 are ranges and alternatives");
	return text;
}

static void
each_shown(const struct command *c, bool own, void (*each)(void *to, const struct shown_option *o), void *to)
{
	for (size_t g = 0; own && g < c->n_groups; g++)
		for (size_t i = 0; i < c->groups[g].n; i++) {
			const struct option *o = &c->groups[g].options[i];
			if (!o->name)
				continue;
			const struct shown_option shown = {o->letter, o->name, o->kind == KIND_FLAG ? "" : o->metavar,
			    o->help, o->def, o->kind == KIND_CHOICE ? o->complete : NULL};
			each(to, &shown);
		}
	if (own && command_has_layout(c)) {
		char text[240];
		const struct shown_option layout = {
		    '\0', "layout", "tp=N,pp=N,...", layout_help(c, text, sizeof text), NULL, NULL};
		each(to, &layout);
	}
	for (size_t i = 0; !own && i < n_global_options; i++) {
		const struct shown_option shown = {global_options[i].letter, global_options[i].name,
		    global_options[i].metavar, global_options[i].help, NULL, NULL};
		each(to, &shown);
	}
}

static void
print_option(void *context, const struct shown_option *o)
{
	FILE *to = context;
	char head[80];
	const bool attached = *o->metavar == '[';

	snprintf(head, sizeof head, "%s%c%s--%s%s%s", o->letter ? "-" : " ", o->letter ? o->letter : ' ',
	    o->letter ? ", " : "  ", o->name, *o->metavar && !attached ? " " : "", o->metavar);
	fprintf(to, strlen(head) > 30 ? "  %s\n%34s%s" : "  %-31s %s%s", head, strlen(head) > 30 ? "" : o->help,
	    strlen(head) > 30 ? o->help : "");
	if (o->choices)
		fprintf(to, "; one of %s", o->choices);
	if (o->def)
		fprintf(to, " (default %s)", o->def);
	fputc('\n', to);
}

void
help_command(FILE *to, const struct command *c)
{
	fprintf(to, "ridge %s: %s\n\nusage: ridge %s %s [OPTIONS]\n", c->name, c->summary, c->name, c->usage);
	if (c->n_examples)
		fputs("\nexamples:\n", to);
	for (size_t i = 0; i < c->n_examples; i++)
		fprintf(to, "  %s\n      ridge %s\n", c->examples[i].caption, c->examples[i].line);
	fputs("\noptions:\n", to);
	each_shown(c, true, print_option, to);
	fputs("\nevery command:\n", to);
	each_shown(c, false, print_option, to);
	fprintf(to,
	    "\nexit status: 0 answered, 1 answered no, 2 wrong request, 3 system error\n'ridge help %s' opens the "
	    "manual.\n",
	    c->name);
}

/* --- mdoc ------------------------------------------------------------------------------------------------ */

static void
mdoc_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", to);
		else if (*text == '-')
			fputs("\\-", to);
		else if (*text == '"')
			fputs("\\(dq", to);
		else if (*text == '\'')
			fputs("\\(aq", to);
		else
			fputc(*text, to);
	}
}

static void
mdoc_option(void *context, const struct shown_option *o)
{
	FILE *to = context;

	fputs(".It ", to);
	if (o->letter)
		fprintf(to, "Fl %c , ", o->letter);
	fprintf(to, "Fl \\-%s", o->name);
	if (*o->metavar) {
		fputs(*o->metavar == '[' ? " Ns Ar \"" : " Ar \"", to);
		mdoc_text(to, o->metavar);
		fputc('"', to);
	}
	fputc('\n', to);
	fputs("\\&", to);
	mdoc_text(to, o->help);
	if (o->choices) {
		fputs("; one of ", to);
		mdoc_text(to, o->choices);
	}
	if (o->def) {
		fputs(" (default ", to);
		mdoc_text(to, o->def);
		fputc(')', to);
	}
	fputs(".\n", to);
}

void
help_mdoc_options(FILE *to, const struct command *c)
{
	fputs(".Bl -tag -width Ds\n", to);
	each_shown(c, true, mdoc_option, to);
	fputs(".El\n.Pp\nEvery command accepts:\n.Bl -tag -width Ds\n", to);
	each_shown(c, false, mdoc_option, to);
	fputs(".El\n", to);
}

void
help_mdoc_examples(FILE *to, const struct command *c)
{
	for (size_t i = 0; i < c->n_examples; i++) {
		fputs(i ? ".Pp\n" : "", to);
		fputs("\\&", to);
		mdoc_text(to, c->examples[i].caption);
		fputs(":\n.Bd -literal -offset indent\n$ ridge ", to);
		mdoc_text(to, c->examples[i].line);
		fputs("\n.Ed\n", to);
	}
}

void
help_mdoc_commands(FILE *to)
{
	for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
		bool head = false;
		for (size_t i = 0; i < n_commands; i++) {
			if (strcmp(commands[i]->section, sections[s]) != 0)
				continue;
			if (!head)
				fprintf(to, ".Ss %s\n.Bl -tag -width roofline\n", sections[s]);
			head = true;
			fprintf(to, ".It Cm %s\n\\&", commands[i]->name);
			mdoc_text(to, commands[i]->summary);
			fputs(".\n", to);
		}
		if (head)
			fputs(".El\n", to);
	}
}

/* --- completion: the shells ask `ridge __complete WORD...`; the last word is the one being typed --------- */

struct completer {
	struct arena *arena;
	FILE *to;
	const char *typed;
	const char *before; /* what stands in front: `--gpu=`, `tp=8,` */
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
			offer(c, arena_copy(c->arena, commands[i]->name, strcspn(commands[i]->name, " ")));
	else if (strcmp(complete, "row") == 0)
		offer_ids(c, command);
	else if (strcmp(complete, "format") == 0)
		for (size_t i = 0; i < N_FORMATS; i++)
			offer(c, number_formats[i].name);
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

/* The second word of commands with two. */
static void
offer_second(struct completer *c, const char *first)
{
	const size_t n = strlen(first);

	for (size_t i = 0; i < n_commands; i++)
		if (strncmp(commands[i]->name, first, n) == 0 && commands[i]->name[n] == ' ')
			offer(c, commands[i]->name + n + 1);
}

void
help_complete(struct arena *a, FILE *to, int argc, char **argv)
{
	struct completer c = {a, to, argc ? argv[argc - 1] : "", ""};
	int n_words = 1;
	const struct command *command = argc > 1 ? command_called(argc - 1, argv, &n_words) : NULL;

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
	if (argc == 2)
		offer_second(&c, argv[0]);
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
	if (argc > n_words + 1 && text_begins(argv[argc - 2], "--") &&
	    offer_option_value(&c, command, argv[argc - 2] + 2))
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
