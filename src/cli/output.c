/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/parts.h"

#include "base/base.h"
#include "paths.h"
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* --- --plot FILE ----------------------------------------------------------------------------------------- */

/* --plot FILE: also draw the answer. */

static struct source
here(void)
{
	return (struct source){"--plot", 0, 0, NULL, false};
}

bool
program_plot_name(struct program *p)
{
	if (!p->args.plot)
		return true;
	if (p->args.jsonl) {
		diag_error(p->diag, here(), "--plot cannot draw --jsonl");
		diag_hint(p->diag, "use --sweep");
		return false;
	}
	if (plot_form_of(p->args.plot) != PLOT_UNKNOWN)
		return true;
	diag_error(p->diag, here(), "file name '%s' has no known plot format", p->args.plot);
	diag_hint(p->diag, "end it with .png, .svg, .pdf, or .gp for the script only");
	return false;
}

int
program_plot(struct program *p, const struct plot *plot, const char *why)
{
	size_t n = 0;

	if (!p->args.plot)
		return 0;
	if (!plot) {
		diag_error(p->diag, here(), "%.*s", (int)strcspn(why, "\n"), why);
		diag_hint(p->diag,
		    p->args.sweeps.n ? "sweep an input that changes the answers, or choose an answer with --get ROW"
		                     : "add --sweep NAME=1..64*2; only 'ridge roofline' plots without a sweep");
		return REFUSED;
	}
	const char *bytes = plot_draw(p->arena, p->diag, plot, plot_form_of(p->args.plot), &n);
	if (!bytes)
		return STATUS_FAILED;
	FILE *to = outputs_open(p->outputs, p->diag, here(), p->args.plot);
	if (!to)
		return REFUSED;
	fwrite(bytes, 1, n, to);
	return 0;
}

/* Write the answer to standard output or a file, in the requested format. */

bool
output_color(const struct program *p, int fd)
{
	const char *when = p->args.color, *term = getenv("TERM"), *no = getenv("NO_COLOR");

	if (when && strcmp(when, "auto") != 0)
		return strcmp(when, "always") == 0;
	return isatty(fd) && term && strcmp(term, "dumb") != 0 && !(no && *no) && !p->args.output;
}

static int
terminal_width(void)
{
	enum { WIDEST = 10000 };
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	const long wide = columns ? strtol(columns, NULL, 10) : 0;

	if (wide > 20)
		return wide < WIDEST ? (int)wide : WIDEST;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
		return size.ws_col;
	return 100;
}

/* A reader that went away is no error; a full disk is.  Nobody listens at a closed output: no message. */
int
output_stdout(struct diag *d, const char *text, size_t n)
{
	if (fwrite(text, 1, n, stdout) == n && fflush(stdout) == 0)
		return 0;
	const int why = errno;
	if (why == EPIPE)
		return 0;
	if (why != EBADF)
		diag_failure(d, "cannot write the answer: %s", strerror(why));
	if (why != EBADF)
		diag_hint(d, "check free space of standard output, or use --output FILE");
	return STATUS_FAILED;
}

bool
output_to_file(const struct arguments *args)
{
	return args->output && strcmp(args->output, "-") != 0;
}

FILE *
output_open(struct program *p)
{
	return outputs_open(p->outputs, p->diag, (struct source){"--output", 0, 0, NULL, false}, p->args.output);
}

int
output_deliver(struct program *p, const char *text, size_t n)
{
	if (output_to_file(&p->args)) {
		FILE *to = output_open(p);
		if (!to) {
			outputs_drop(p->outputs);
			return REFUSED;
		}
		fwrite(text, 1, n, to);
	}
	if (!outputs_commit(p->outputs, p->diag))
		return STATUS_FAILED;
	return output_to_file(&p->args) ? 0 : output_stdout(p->diag, text, n);
}

/* Text is made whole before any of it is written. */
FILE *
output_memory(char **text, size_t *n)
{
	FILE *file = open_memstream(text, n);

	if (!file)
		abort();
	return file;
}

struct texts
output_texts(struct arena *a, const struct words *words)
{
	struct texts t = {words->n, ARENA_ARRAY(a, const char *, words->n + 1)};

	for (size_t i = 0; i < words->n; i++)
		t.list[i] = words->list[i].text;
	return t;
}

struct report
output_report_of(struct program *p)
{
	const struct arguments *args = &p->args;

	return (struct report){.arena = p->arena,
	    .command = p->command->name,
	    .version = RIDGE_VERSION,
	    .color = output_color(p, STDOUT_FILENO),
	    .quiet = args->quiet != NULL,
	    .width = terminal_width(),
	    .trace = args->explain && (args->json || args->jsonl),
	    .one_line = args->jsonl != NULL,
	    .row = args->explain ? args->explain
	        : args->table    ? args->table
	                         : args->get};
}

const char *
output_format(const struct arguments *args)
{
	return args->json   ? "json"
	    : args->csv     ? "csv"
	    : args->md      ? "md"
	    : args->explain ? "explain"
	    : args->get     ? "get"
	                    : "text";
}

void
output_no_row(struct program *p, const char *why)
{
	const size_t length = strcspn(why, "\n");

	diag_error(p->diag,
	    (struct source){p->args.explain ? "--explain"
	            : p->args.table         ? "--table"
	                                    : "--get",
	        0, 0, NULL, false},
	    "%.*s", (int)length, why);
	diag_hint(p->diag, "%s", why[length] ? why + length + 1 : "--json shows all answers");
}

char *
output_text(struct program *p, const struct report *r, size_t *n)
{
	char *text = NULL, why[500];
	FILE *to = output_memory(&text, n);
	const bool ok = report_print(to, output_format(&p->args), r, why, sizeof why);

	fclose(to);
	if (ok)
		return text;
	output_no_row(p, why);
	free(text);
	return NULL;
}

void
output_warnings(const struct program *p, const struct report *r)
{
	for (size_t i = 0; i < r->warnings.n && !r->quiet; i++)
		fprintf(
		    stderr, "ridge %s: warning: %s\n", p->command->name, text_visible(r->arena, r->warnings.list[i]));
}

/* Print an answer that is a file as it is, unless a format was given. */
bool
output_wants_document(const struct arguments *args, const char *document)
{
	return document && !args->json && !args->csv && !args->md && !args->explain && !args->get;
}

void
program_inspect(const struct program *p, const struct sheet *sh)
{
	if (p->inspect)
		p->inspect(sh, p->command->name);
}
