/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Help, command table, and the generated parts of the manual. */
#include "cli/cli.h"

#include "base/base.h"

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
		const struct shown_option layout = {'\0', "layout", "tp=N,pp=N,...",
		    "parallel layout: dp tp pp vp cp ep etp zero shard, and the words sp, fsdp, across, adp", NULL,
		    NULL};
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
