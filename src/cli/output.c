/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where answers go: whole, to a file or to standard output, in the form that was asked for. */
#include "cli/program.h"
#include "paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

bool
output_colour(const struct program *p, int fd)
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
int
output_file(struct program *p, const char *name, const char *text, size_t n)
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
	return STATUS_FAILED;
}

int
output_write(struct program *p, const char *text, size_t n)
{
	if (p->args.output && strcmp(p->args.output, "-") != 0)
		return output_file(p, p->args.output, text, n);
	return output_stdout(p->diag, text, n);
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
	    .colour = output_colour(p, STDOUT_FILENO),
	    .quiet = args->quiet != NULL,
	    .width = terminal_width(),
	    .row = args->explain ? args->explain : args->get};
}

int
output_report(struct program *p, const struct report *r, int status)
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
	FILE *to = output_memory(&text, &n);
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
		const int written = output_write(p, text, n);
		out = written ? written : status;
	}
	free(text);
	if (ok && !r->quiet)
		for (size_t i = 0; i < r->warnings.n; i++)
			fprintf(stderr, "ridge %s: warning: %s\n", p->command->name, r->warnings.list[i]);
	return out;
}

/* An answer that is a file of its own is shown as it is, unless a format was asked for. */
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
