/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ridge program as a function: find the command, parse, answer, print, report errors. */
#include "cli/cli.h"

#include "base/base.h"
#include "cli/parts.h"
#include "paths.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- one question ---------------------------------------------------------------------------------------- */

static int
print_answer(struct program *p, const struct answered *a, const struct node *inputs, const char *note)
{
	struct report r = output_report_of(p);
	struct answer_point point = {.sheet = a->sheet};
	size_t n = 0;

	point.asked = question_inputs(&p->question, inputs, &point.n_asked);
	r.title = !note ? a->title : a->title ? arena_printf(p->arena, "%s (%s)", a->title, note) : note;
	r.point = &point;
	r.assumed = point.assumed = a->assumed;
	r.warnings = output_texts(p->arena, &a->warnings);
	const bool document = output_wants_document(&p->args, a->document);
	char *text = document ? NULL : output_text(p, &r, &n);
	if (!text && !document)
		return REFUSED;
	int status = program_plot(p, a->plot, "a plot needs a sweep");
	if (!status)
		status = document ? output_deliver(p, a->document, strlen(a->document)) : output_deliver(p, text, n);
	free(text);
	if (status != REFUSED)
		output_warnings(p, &r);
	return status ? status : (int)a->status;
}

static int
answer_once(struct program *p, const struct node *inputs)
{
	struct solution solved = {.inputs = inputs};

	if (p->args.solve)
		solved = question_solve(&p->question, inputs, p->args.solve, p->args.until);
	if (!solved.inputs)
		return REFUSED;
	struct answered a = question_ask(&p->question, solved.inputs);
	int status = REFUSED;
	if (a.reads)
		unread_note(p->arena, &solved.unread, a.reads);
	if (a.status != REFUSED && unread_report(p->diag, p->command, &solved.unread)) {
		program_inspect(p, a.sheet);
		if (solved.none) {
			a.warnings.list = arena_grow(
			    p->arena, a.warnings.list, a.warnings.n, a.warnings.n + 1, sizeof *a.warnings.list);
			a.warnings.list[a.warnings.n++] = (struct word){solved.note, {0}};
			a.status = ANSWERED_NO;
		}
		status = print_answer(p, &a, solved.inputs, solved.note);
	}
	outputs_drop(p->outputs);
	sheet_free(a.sheet);
	return status;
}

/* --- the program ----------------------------------------------------------------------------------------- */

static int
run_command(struct program *p, int argc, char **argv)
{
	const struct node *job;

	if (!arguments_parse(p->arena, p->diag, p->command, argc, argv, &p->args) && !p->args.help)
		return REFUSED;
	if (p->args.help) {
		diag_clear(p->diag);
		help_command(p->page, p->command);
		return ANSWERED;
	}
	if (p->args.version) {
		fprintf(p->page, "ridge %s\n", RIDGE_VERSION);
		return ANSWERED;
	}
	if (argc == 0 && p->command->n_examples && p->command->operands &&
	    strchr(p->command->usage, '[') != p->command->usage) {
		help_short(stderr, p->command);
		return REFUSED;
	}
	struct database *open = p->question.database;
	p->question = (struct question){.arena = p->arena,
	    .diag = p->diag,
	    .database = open && !p->args.hwdb ? database_for(open, p->arena, p->diag)
	                                      : database_new(p->arena, p->diag, p->args.hwdb),
	    .command = p->command,
	    .files = p->args.operands,
	    .outputs = p->outputs = outputs_new(p->arena),
	    .draws = p->args.plot && p->args.sweeps.n == 0,
	    .swept = p->args.sweeps.n > 0};
	if (diag_errors(p->diag) || !program_plot_name(p) || !program_job(p, &job) || !program_launch(p, &job))
		return REFUSED;
	arguments_place(p->arena, p->diag, p->command, &p->args);
	if (diag_errors(p->diag))
		return REFUSED;
	const struct node *inputs = inputs_tree(p->arena, p->diag, p->command, job, &p->args);
	if (diag_errors(p->diag))
		return REFUSED;
	if (p->args.jsonl)
		return program_lines(p, inputs);
	return p->args.sweeps.n ? program_sweep(p, inputs) : answer_once(p, inputs);
}

static int
unknown_word(const char *what, const char *name, const char *const *names, size_t n)
{
	struct arena *a = arena_new();
	const char *near = text_nearest(name, names, n);

	fprintf(stderr, "ridge: error: there is no %s '%s'\n", what, text_visible(a, name));
	arena_free(a);
	if (near)
		fprintf(stderr, "  hint: did you mean '%s'?\n", near);
	else
		fputs("  hint: 'ridge --help' lists the commands\n", stderr);
	return REFUSED;
}

static size_t
command_names(const char **names)
{
	for (size_t n = 0; n < n_commands; n++)
		names[n] = commands[n]->name;
	return n_commands;
}

static int
unknown_command(const char *name)
{
	const char *names[64];
	size_t n = command_names(names);

	names[n++] = "help";
	return unknown_word("command", name, names, n);
}

/* `ridge help answers --old`: command, row of 0.1.0 and id, for scripts that are to follow. */
static void
print_old_answers(FILE *to)
{
#define OLD(command, row, now) fprintf(to, "%s\t%s\t%s\n", command, row, answer_table[ID_##now].id);
#include "cli/answers_old.def"
#undef OLD
}

/* Pages that are not of a command. */
static const struct {
	const char *name, *page;
} topics[] = {{"ridge", "ridge.1"}, {"hwdb", "ridge-hwdb.5"}, {"workload", "ridge-workload.5"},
    {"json", "ridge-json.5"}, {"measurement", "ridge-measurement.5"}, {"models", "ridge-models.7"},
    {"documents", "ridge-documents.7"}, {"decisions", "ridge-decisions.7"}, {"internals", "ridge-internals.7"},
    {"accuracy", "ridge-accuracy.7"}, {"libridge", "libridge.3"}, {"answers", "ridge-glossary.7"},
    {"glossary", "ridge-glossary.7"}, {"options", NULL}};
enum { N_TOPICS = sizeof topics / sizeof *topics };

static int
unknown_topic(const char *name)
{
	const char *names[64 + N_TOPICS];
	size_t n = command_names(names);

	for (size_t i = 0; i < N_TOPICS; i++)
		names[n++] = topics[i].name;
	return unknown_word("help topic", name, names, n);
}

/* `ridge help memory`: the manual, from the build folder or the installed one; without man(1), the option list. */
static int
open_manual(FILE *to, const char *name)
{
	char page[64] = "";
	const struct command *c = command_find(name);

	if (c) {
		snprintf(page, sizeof page, "ridge-%s.1", c->name);
		page[strcspn(page, " ")] = strchr(page, ' ') ? '-' : '\0';
	}
	for (size_t i = 0; i < N_TOPICS; i++)
		if (topics[i].page && strcmp(topics[i].name, name) == 0)
			snprintf(page, sizeof page, "%s", topics[i].page);
	if (!*page)
		return unknown_topic(name);
	char path[1200], self[1024];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	self[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	snprintf(path, sizeof path, "%s/man/%s", self, page);
	if (access(path, R_OK) != 0)
		snprintf(path, sizeof path, "%s/man%c/%s", RIDGE_MAN_DIRECTORY, page[strlen(page) - 1], page);
	if (access(path, R_OK) == 0) {
		signal(SIGPIPE, SIG_DFL);
		execlp("man", "man", path, (char *)NULL);
		signal(SIGPIPE, SIG_IGN);
	}
	if (!c)
		help_overview(to);
	else
		help_command(to, c);
	return ANSWERED;
}

static int
help(FILE *to, int argc, char **argv)
{
	int n_words;

	if (argc == 2 && strcmp(argv[0], "answers") == 0 && strcmp(argv[1], "--old") == 0) {
		print_old_answers(to);
		return ANSWERED;
	}
	if (argc == 1 && strcmp(argv[0], "options") == 0) {
		aliases_print(to);
		return ANSWERED;
	}
	const struct command *c = command_called(argc, argv, &n_words);
	/* `ridge plan` has a page for what it plans first, and another for serving */
	const bool usual =
	    c && argc == n_words + 1 && strcmp(c->name, "plan") == 0 && strcmp(argv[n_words], "train") == 0;
	if (c && (argc == n_words || usual))
		return open_manual(to, c->name);
	if (argc > 1) {
		fprintf(stderr, "ridge: error: help takes one topic\n  hint: write 'ridge help %s'\n", argv[0]);
		return REFUSED;
	}
	if (argc == 1)
		return open_manual(to, argv[0]);
	help_overview(to);
	return ANSWERED;
}

/* In one word. */
static void
print_name(FILE *to, const char *name)
{
	for (; *name; name++)
		fputc(*name == ' ' ? '-' : *name, to);
	fputc('\n', to);
}

/* Words for the build and the shells, not for people. */
static bool
internal(struct arena *a, FILE *to, int argc, char **argv)
{
	const struct command *c = argc > 2 ? command_find(argv[2]) : NULL;

	if (strcmp(argv[1], "__complete") == 0)
		help_complete(a, to, argc - 2, argv + 2);
	else if (strcmp(argv[1], "__options") == 0 && c)
		help_mdoc_options(to, c);
	else if (strcmp(argv[1], "__examples") == 0 && c)
		help_mdoc_examples(to, c);
	else if (strcmp(argv[1], "__commands") == 0)
		help_mdoc_commands(to);
	else if (strcmp(argv[1], "__aliases") == 0)
		aliases_mdoc(to);
	else if (strcmp(argv[1], "__names") == 0)
		for (size_t i = 0; i < n_commands; i++)
			print_name(to, commands[i]->name);
	else if (strcmp(argv[1], "__lines") == 0)
		for (size_t i = 0; i < n_commands; i++)
			for (size_t k = 0; k < commands[i]->n_examples; k++)
				fprintf(to, "%d\t%s\n", commands[i]->examples[k].status, commands[i]->examples[k].line);
	else
		return false;
	return true;
}

static int
dispatch(struct program *p, int argc, char **argv)
{
	if (argc < 2) {
		help_short(stderr, NULL);
		return REFUSED;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		help_overview(p->page);
		return ANSWERED;
	}
	if (strcmp(argv[1], "--version") == 0) {
		fprintf(p->page, "ridge %s\n", RIDGE_VERSION);
		return ANSWERED;
	}
	if (strcmp(argv[1], "help") == 0)
		return help(p->page, argc - 2, argv + 2);
	if (internal(p->arena, p->page, argc, argv))
		return ANSWERED;
	int n_words;
	p->command = command_called(argc - 1, argv + 1, &n_words);
	if (!p->command)
		return unknown_command(argv[1]);
	diag_program(p->diag, arena_printf(p->arena, "ridge %s", p->command->name));
	const int status = run_command(p, argc - 1 - n_words, argv + 1 + n_words);
	diag_print(p->diag, stderr, output_color(p, STDERR_FILENO));
	return diag_failed(p->diag) ? STATUS_FAILED : status;
}

int
ridge_main(int argc, char **argv, sheet_inspector *inspector)
{
	return ridge_main_with(NULL, argc, argv, inspector);
}

int
ridge_main_with(struct database *open, int argc, char **argv, sheet_inspector *inspector)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);

	/* what cannot be written is an error to report, not a signal to die of */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	char *text = NULL;
	size_t n = 0;
	FILE *page = output_memory(&text, &n);
	struct program p = {.arena = a, .diag = d, .page = page, .inspect = inspector, .question = {.database = open}};
	int status = dispatch(&p, argc, argv);
	fclose(page);
	if (n && output_stdout(d, text, n)) {
		status = STATUS_FAILED;
		diag_print(d, stderr, false);
	}
	free(text);
	arena_free(a);
	return status;
}
