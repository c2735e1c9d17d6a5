/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Find the command, read the line, ask, print, and say what went wrong. */
#include "cli/ridge.h"

#include "base/text.h"
#include "cli/help.h"
#include "cli/points.h"
#include "cli/question.h"
#include "data/json_in.h"
#include "paths.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_FAILED = 3 };

struct program {
	struct arena *arena;
	struct diag *diag;
	FILE *page; /* help: printed when the whole of it is known */
	const struct command *command;
	struct arguments args;
	struct question question;
	sheet_inspector *inspect;
};

/* --- output ---------------------------------------------------------------------------------------------- */

static bool
colour_wanted(const struct program *p, int fd)
{
	const char *when = p->args.color, *term = getenv("TERM"), *no = getenv("NO_COLOR");

	if (when && strcmp(when, "auto") != 0)
		return strcmp(when, "always") == 0;
	return isatty(fd) && term && strcmp(term, "dumb") != 0 && !(no && *no) && !p->args.output;
}

static int
terminal_width(void)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");

	if (columns && atoi(columns) > 20)
		return atoi(columns);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
		return size.ws_col;
	return 100;
}

/* The answer goes to a file as a whole or not at all: written beside it, then renamed over it.  Links lead to their
 * file; a file that is there keeps its permissions. */
static int
write_file(struct program *p, const char *name, const char *text, size_t n)
{
	char *const real = realpath(name, NULL);
	const char *path = real ? real : name;
	struct stat st;
	const bool there = stat(path, &st) == 0, special = there && !S_ISREG(st.st_mode);
	const char *temporary = special ? path : arena_printf(p->arena, "%s.ridge-%ld", path, (long)getpid());
	FILE *file = fopen(temporary, special ? "wb" : "wbx");
	int status = STATUS_FAILED;

	if (!file) {
		diag_failure(p->diag, "cannot write '%s': %s", name, strerror(errno));
		goto out;
	}
	if (there && !special)
		(void)fchmod(fileno(file), st.st_mode & 0777);
	const bool written = fwrite(text, 1, n, file) == n && fflush(file) == 0;
	const int why = errno;
	if (fclose(file) != 0 || !written || (!special && rename(temporary, path) != 0)) {
		diag_failure(p->diag, "cannot write '%s': %s", name, strerror(written ? errno : why));
		if (!special)
			unlink(temporary);
		goto out;
	}
	status = 0;
out:
	if (status)
		diag_hint(p->diag, "nothing was written");
	free(real);
	return status;
}

/* A reader that went away is no error; a full disk is.  Nobody listens at a closed output: no message. */
static int
write_stdout(struct diag *d, const char *text, size_t n)
{
	if (fwrite(text, 1, n, stdout) == n && fflush(stdout) == 0)
		return 0;
	const int why = errno;
	if (why == EPIPE)
		return 0;
	if (why != EBADF)
		diag_failure(d, "cannot write the answer: %s", strerror(why));
	return STATUS_FAILED;
}

static int
write_out(struct program *p, const char *text, size_t n)
{
	if (p->args.output && strcmp(p->args.output, "-") != 0)
		return write_file(p, p->args.output, text, n);
	return write_stdout(p->diag, text, n);
}

/* Text is made whole before any of it is written. */
static FILE *
memory(char **text, size_t *n)
{
	FILE *file = open_memstream(text, n);

	if (!file)
		abort();
	return file;
}

static struct texts
texts_of(struct arena *a, const struct words *words)
{
	struct texts t = {words->n, ARENA_ARRAY(a, const char *, words->n + 1)};

	for (size_t i = 0; i < words->n; i++)
		t.list[i] = words->list[i].text;
	return t;
}

static struct report
report_of(struct program *p)
{
	const struct arguments *args = &p->args;

	return (struct report){.arena = p->arena,
	    .command = p->command->name,
	    .version = RIDGE_VERSION,
	    .colour = colour_wanted(p, STDOUT_FILENO),
	    .quiet = args->quiet != NULL,
	    .width = terminal_width(),
	    .row = args->explain ? args->explain : args->get};
}

static int
print_report(struct program *p, const struct report *r, int status)
{
	const struct arguments *args = &p->args;
	const char *format = args->json ? "json"
	    : args->csv                 ? "csv"
	    : args->md                  ? "md"
	    : args->explain             ? "explain"
	    : args->get                 ? "get"
	                                : "text";
	char *text = NULL, why[500];
	size_t n = 0;
	FILE *to = memory(&text, &n);
	const bool ok = report_print(to, format, r, why, sizeof why);
	fclose(to);
	int out = status;
	if (!ok) {
		const size_t length = strcspn(why, "\n");
		diag_error(p->diag, (struct source){args->explain ? "--explain" : "--get", 0, 0, NULL, false}, "%.*s",
		    (int)length, why);
		diag_hint(p->diag, "%s", why[length] ? why + length + 1 : "--json shows all rows");
		out = REFUSED;
	} else {
		const int written = write_out(p, text, n);
		out = written ? written : status;
	}
	free(text);
	if (ok && !r->quiet)
		for (size_t i = 0; i < r->warnings.n; i++)
			fprintf(stderr, "ridge %s: warning: %s\n", p->command->name, r->warnings.list[i]);
	return out;
}

/* An answer that is a file of its own is shown as it is, unless a format was asked for. */
static bool
wants_document(const struct arguments *args, const char *document)
{
	return document && !args->json && !args->csv && !args->md && !args->explain && !args->get;
}

static void
inspect(const struct program *p, const struct sheet *sh)
{
	if (p->inspect)
		p->inspect(sh, p->command->name);
}

/* --- one question ---------------------------------------------------------------------------------------- */

static int
answer_once(struct program *p, const struct node *inputs)
{
	const char *note = NULL;

	if (p->args.solve) {
		inputs = question_solve(&p->question, inputs, p->args.solve, p->args.until, &note);
		if (!inputs)
			return REFUSED;
	}
	const struct answered a = question_ask(&p->question, inputs);
	int status = (int)a.status;
	if (status != REFUSED) {
		struct report r = report_of(p);
		struct point point = {.sheet = a.sheet, .status = status};

		inspect(p, a.sheet);
		point.asked = question_inputs(&p->question, inputs, &point.n_asked);
		r.title = note ? (a.title ? arena_printf(p->arena, "%s (%s)", a.title, note) : note) : a.title;
		r.n_points = 1;
		r.points = &point;
		r.assumed = texts_of(p->arena, &a.assumed);
		r.warnings = texts_of(p->arena, &a.warnings);
		if (wants_document(&p->args, a.document)) {
			const int written = write_out(p, a.document, strlen(a.document));
			status = written ? written : status;
		} else
			status = print_report(p, &r, status);
	}
	sheet_free(a.sheet);
	return status;
}

/* --- sweeps ---------------------------------------------------------------------------------------------- */

/* Points that each warn of their own number would fill the screen. */
enum { MOST_WORDS = 20 };

static void
merge_words(struct arena *a, struct words *into, const struct words *from)
{
	if (!into->list)
		into->list = ARENA_ARRAY(a, struct word, MOST_WORDS + 1);
	for (size_t i = 0; i < from->n; i++) {
		bool there = false;
		for (size_t k = 0; k < into->n && !there; k++)
			there = strcmp(into->list[k].text, from->list[i].text) == 0;
		if (there || into->n > MOST_WORDS)
			continue;
		into->list[into->n] = into->n < MOST_WORDS ? from->list[i] : (struct word){"and more of the like", {0}};
		into->n++;
	}
}

static const char *
first_error(const struct diag *d)
{
	struct source at;
	const char *hint, *text;
	enum severity severity;

	for (int i = 0; (text = diag_message(d, i, &at, &hint, &severity)); i++)
		if (severity == SEVERITY_ERROR)
			return text;
	return "refused";
}

/* Points that were refused, by what was wrong with them. */
struct refusals {
	size_t n, others;
	struct {
		const char *point, *why;
		size_t count;
	} list[16];
};

static void
add_refusal(
    struct arena *a, struct refusals *refusals, const struct texts *names, const struct texts *values, const char *why)
{
	for (size_t i = 0; i < refusals->n; i++)
		if (strcmp(refusals->list[i].why, why) == 0) {
			refusals->list[i].count++;
			return;
		}
	if (refusals->n == sizeof refusals->list / sizeof *refusals->list) {
		refusals->others++;
		return;
	}
	const char *point = "";
	for (size_t i = 0; i < names->n; i++)
		point = arena_printf(a, "%s%s%s=%s", point, i ? ", " : "", names->list[i], values->list[i]);
	refusals->list[refusals->n].point = point;
	refusals->list[refusals->n].why = why;
	refusals->list[refusals->n++].count = 1;
}

static void
merge_refusals(struct arena *a, struct words *warnings, const struct refusals *refusals)
{
	for (size_t i = 0; i <= refusals->n; i++) {
		struct word w = {NULL, {0}};
		if (i == refusals->n && refusals->others)
			w.text = arena_printf(a, "%zu more points are refused", refusals->others);
		else if (i < refusals->n && refusals->list[i].count > 1)
			w.text = arena_printf(a, "%s and %zu more: %s", refusals->list[i].point,
			    refusals->list[i].count - 1, refusals->list[i].why);
		else if (i < refusals->n)
			w.text = arena_printf(a, "%s: %s", refusals->list[i].point, refusals->list[i].why);
		if (w.text)
			merge_words(a, warnings, &(struct words){1, &w});
	}
}

/* Point number i of the outer product: the last axis moves fastest. */
static const struct node *
point_inputs(struct program *p, const struct node *inputs, const struct axis_values *axes, size_t n_axes, size_t i,
    struct texts *swept)
{
	*swept = (struct texts){n_axes, ARENA_ARRAY(p->arena, const char *, n_axes + 1)};
	for (size_t k = n_axes; k-- > 0; i /= axes[k].n) {
		const char *value = axes[k].values[i % axes[k].n];
		swept->list[k] = value;
		inputs = tree_with(p->arena, inputs, axes[k].path, tree_scalar(p->arena, value, axes[k].at));
	}
	return inputs;
}

static int
answer_sweep(struct program *p, const struct node *inputs)
{
	const struct settings *sweeps = &p->args.sweeps;
	struct axis_values axes[MAX_SWEEPS];
	size_t n = 1;
	int status = REFUSED;

	if (sweeps->n > MAX_SWEEPS) {
		diag_error(
		    p->diag, (struct source){"--sweep", 0, 0, NULL, false}, "at most %d sweeps at a time", MAX_SWEEPS);
		diag_hint(p->diag, "set some inputs with --set");
		return REFUSED;
	}
	struct report r = report_of(p);
	r.sweep = true;
	r.swept.list = ARENA_ARRAY(p->arena, const char *, sweeps->n);
	for (size_t i = 0; i < sweeps->n; i++) {
		if (!sweep_values(p->arena, p->diag, p->command, &sweeps->list[i], &axes[i]))
			return REFUSED;
		r.swept.list[r.swept.n++] = sweeps->list[i].path;
		n *= axes[i].n;
		if (n > MAX_POINTS) {
			diag_error(p->diag, sweeps->list[i].at, "more than %d points", MAX_POINTS);
			diag_hint(p->diag, "shorten the lists");
			return REFUSED;
		}
	}
	r.points = ARENA_ARRAY(p->arena, struct point, n);
	struct sheet **sheets = ARENA_ARRAY(p->arena, struct sheet *, n);
	struct words assumed = {0}, warnings = {0};
	struct refusals refusals = {0};
	struct question q = p->question;
	q.diag = diag_new(p->arena);
	diag_program(q.diag, arena_printf(p->arena, "ridge %s", p->command->name));
	for (size_t i = 0; i < n; i++) {
		struct point *point = &r.points[r.n_points++];
		diag_clear(q.diag);
		const struct node *at = point_inputs(p, inputs, axes, sweeps->n, i, &point->swept);
		const struct answered a = question_ask(&q, at);
		point->status = (int)a.status;
		point->asked = question_inputs(&q, at, &point->n_asked);
		if (a.status == REFUSED) {
			add_refusal(p->arena, &refusals, &r.swept, &point->swept, first_error(q.diag));
			sheet_free(a.sheet);
			continue;
		}
		inspect(p, a.sheet);
		status = status == ANSWERED || a.status == ANSWERED ? ANSWERED : ANSWERED_NO;
		point->sheet = sheets[i] = a.sheet;
		merge_words(p->arena, &assumed, &a.assumed);
		merge_words(p->arena, &warnings, &a.warnings);
	}
	if (status == REFUSED)
		diag_print(q.diag, stderr, colour_wanted(p, STDERR_FILENO));
	else {
		merge_refusals(p->arena, &warnings, &refusals);
		r.assumed = texts_of(p->arena, &assumed);
		r.warnings = texts_of(p->arena, &warnings);
		status = print_report(p, &r, status);
	}
	for (size_t i = 0; i < r.n_points; i++)
		sheet_free(sheets[i]);
	return status;
}

/* --- JSON Lines ------------------------------------------------------------------------------------------ */

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
			struct report r = report_of(&line);
			struct point point = {.sheet = a.sheet, .status = status};
			inspect(p, a.sheet);
			point.asked = question_inputs(&line.question, inputs, &point.n_asked);
			r.n_points = 1;
			r.points = &point;
			r.assumed = texts_of(line.arena, &a.assumed);
			r.warnings = texts_of(line.arena, &a.warnings);
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

static int
answer_lines(struct program *p, const struct node *base)
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
		FILE *to = memory(&line, &length);
		const struct source at = {standard ? "standard input" : p->args.jsonl, number, 1, NULL, false};
		const int one = answer_line(p, base, at, text, (size_t)n, to);
		fclose(to);
		const int written = write_stdout(p->diag, line, length);
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

/* --- jobs ------------------------------------------------------------------------------------------------ */

/* Keep what this command knows of a job written for another one. */
static const struct node *
known_part(struct program *p, const struct node *job)
{
	const struct node *kept = tree_map(p->arena, job->at);

	for (size_t i = 0; i < job->n; i++) {
		const char *key = job->keys[i]->text;
		bool known = command_option_at(p->command, key) != NULL;
		for (size_t g = 0; g < p->command->n_groups && !known; g++)
			for (size_t k = 0; k < p->command->groups[g].n && !known; k++) {
				const char *path = p->command->groups[g].options[k].path;
				known = text_begins(path, key) && path[strlen(key)] == '.';
			}
		if (known)
			kept = tree_with(p->arena, kept, key, job->items[i]);
	}
	return kept;
}

/* The first operand may be a job: a file that says `command:`, or the name of one in the database. */
static bool
take_job(struct program *p, const struct node **job)
{
	struct words *operands = &p->args.operands;

	*job = NULL;
	if (operands->n == 0 || !strstr(p->command->usage, "JOB"))
		return true;
	const char *name = operands->list[0].text, *id;
	const bool file = strchr(name, '/') || text_ends(name, ".yaml") || strcmp(name, "-") == 0;
	if (!file && !database_path(p->question.database, ENTRY_JOB, name))
		return true;
	const struct node *root = database_try(p->question.database, ENTRY_JOB, name, &id);
	if (!root)
		return false;
	const struct node *command = tree_get(root, "command");
	if (!command)
		return true;
	const bool ours = command->kind == NODE_SCALAR && command->text && strcmp(command->text, p->command->name) == 0;
	*job = ours ? root : known_part(p, root);
	operands->list++;
	operands->n--;
	return true;
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
	p->question = (struct question){.arena = p->arena,
	    .diag = p->diag,
	    .database = database_new(p->arena, p->diag, p->args.hwdb),
	    .command = p->command,
	    .files = p->args.operands};
	if (diag_errors(p->diag) || !take_job(p, &job))
		return REFUSED;
	arguments_place(p->arena, p->diag, p->command, &p->args);
	if (diag_errors(p->diag))
		return REFUSED;
	const struct node *inputs = inputs_tree(p->arena, job, &p->args);
	if (p->args.jsonl)
		return answer_lines(p, inputs);
	return p->args.sweeps.n ? answer_sweep(p, inputs) : answer_once(p, inputs);
}

static int
unknown_command(const char *name)
{
	const char *names[64];
	size_t n = 0;

	for (; n < n_commands; n++)
		names[n] = commands[n]->name;
	names[n++] = "help";
	fprintf(stderr, "ridge: error: there is no command '%s'\n", name);
	const char *near = text_nearest(name, names, n);
	if (near)
		fprintf(stderr, "  hint: did you mean '%s'?\n", near);
	else
		fputs("  hint: 'ridge --help' lists the commands\n", stderr);
	return REFUSED;
}

/* `ridge help memory`: the manual, from the build folder or the installed one; without man(1), the option list. */
static int
open_manual(FILE *to, const char *name)
{
	static const struct {
		const char *name, *page;
	} others[] = {{"ridge", "ridge.1"}, {"hwdb", "ridge-hwdb.5"}, {"workload", "ridge-workload.5"},
	    {"json", "ridge-json.5"}, {"models", "ridge-models.7"}, {"documents", "ridge-documents.7"},
	    {"decisions", "ridge-decisions.7"}};
	char page[64] = "";
	const struct command *c = command_find(name);

	if (c)
		snprintf(page, sizeof page, "ridge-%s.1", name);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(others[i].name, name) == 0)
			snprintf(page, sizeof page, "%s", others[i].page);
	if (!*page)
		return unknown_command(name);
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
	else if (strcmp(argv[1], "__names") == 0)
		for (size_t i = 0; i < n_commands; i++)
			fprintf(to, "%s\n", commands[i]->name);
	else if (strcmp(argv[1], "__lines") == 0)
		for (size_t i = 0; i < n_commands; i++)
			for (size_t k = 0; k < commands[i]->n_examples; k++)
				fprintf(to, "%d\t%s\n", commands[i]->examples[k].status, commands[i]->examples[k].line);
	else
		return false;
	return true;
}

static int
dispatch(struct arena *a, struct diag *d, FILE *page, int argc, char **argv, sheet_inspector *inspector)
{
	if (argc < 2) {
		help_short(stderr, NULL);
		return REFUSED;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		help_overview(page);
		return ANSWERED;
	}
	if (strcmp(argv[1], "--version") == 0) {
		fprintf(page, "ridge %s\n", RIDGE_VERSION);
		return ANSWERED;
	}
	if (strcmp(argv[1], "help") == 0) {
		if (argc > 2)
			return open_manual(page, argv[2]);
		help_overview(page);
		return ANSWERED;
	}
	if (internal(a, page, argc, argv))
		return ANSWERED;
	const struct command *c = command_find(argv[1]);
	if (!c)
		return unknown_command(argv[1]);
	struct program p = {.arena = a, .diag = d, .page = page, .command = c, .inspect = inspector};
	diag_program(d, arena_printf(a, "ridge %s", c->name));
	const int status = run_command(&p, argc - 2, argv + 2);
	diag_print(d, stderr, colour_wanted(&p, STDERR_FILENO));
	return diag_failed(d) ? STATUS_FAILED : status;
}

int
ridge_main(int argc, char **argv, sheet_inspector *inspector)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);

	/* what cannot be written is an error to report, not a signal to die of */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	char *text = NULL;
	size_t n = 0;
	FILE *page = memory(&text, &n);
	int status = dispatch(a, d, page, argc, argv, inspector);
	fclose(page);
	if (n && write_stdout(d, text, n)) {
		status = STATUS_FAILED;
		diag_print(d, stderr, false);
	}
	free(text);
	arena_free(a);
	return status;
}
