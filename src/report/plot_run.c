/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run gnuplot without a shell.  Script and picture are unnamed files, so no file name ever appears in a script. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Width and height in pixels; a page is measured in inches. */
static void
terminal(FILE *to, enum plot_form form, size_t n_panels)
{
	const int height = n_panels > 2 ? 120 + 260 * (int)n_panels : 700;

	if (form == PLOT_PNG)
		fprintf(to, "set terminal pngcairo noenhanced size 1100,%d\n", height);
	if (form == PLOT_SVG)
		fprintf(to, "set terminal svg noenhanced size 1100,%d background 'white'\n", height);
	if (form == PLOT_PDF)
		fprintf(to, "set terminal pdfcairo noenhanced size 11in,%gin\n", height / 100.0);
}

enum { NOT_THERE = 127, MESSAGE = 400 };

/* All bytes of a file, from its beginning. */
static char *
content(struct arena *a, FILE *file, size_t *n)
{
	char *text = NULL;
	size_t room = 0, got = 1;

	*n = 0;
	rewind(file);
	for (; got; *n += got) {
		if (room - *n < 2) {
			room = room ? 2 * room : 65536;
			text = arena_grow(a, text, *n, room, 1);
		}
		got = fread(text + *n, 1, room - *n - 1, file);
	}
	return text;
}

/* Runs gnuplot on these files; its exit status, or -1 when no process could be made. */
static int
run(FILE *script, FILE *picture, FILE *messages)
{
	const pid_t child = fork();
	int status;

	if (child < 0)
		return -1;
	if (child == 0) {
		if (dup2(fileno(script), STDIN_FILENO) < 0 || dup2(fileno(picture), STDOUT_FILENO) < 0 ||
		    dup2(fileno(messages), STDERR_FILENO) < 0)
			_exit(NOT_THERE - 1);
		/* -d: no start-up files */
		execlp("gnuplot", "gnuplot", "-d", "-", (char *)NULL);
		_exit(errno == ENOENT ? NOT_THERE : NOT_THERE - 1);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
say_fault(struct arena *a, struct diag *d, int status, FILE *messages)
{
	size_t n;
	char *text = content(a, messages, &n);

	if (status == NOT_THERE) {
		diag_failure(d, "gnuplot is not installed");
		diag_hint(d,
		    "install it (Debian, Ubuntu: gnuplot-nox; Fedora: gnuplot-minimal; macOS: brew install "
		    "gnuplot), or write the script alone: --plot FILE.gp");
		return;
	}
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20)
			text[i] = ' ';
	diag_failure(d, "gnuplot failed: %.*s", MESSAGE, n ? text : "no message");
	diag_hint(d, "write its script with --plot FILE.gp");
}

const char *
plot_draw(struct arena *a, struct diag *d, const struct plot *p, enum plot_form form, size_t *n)
{
	FILE *script = tmpfile(), *picture = tmpfile(), *messages = tmpfile();
	const char *out = NULL;

	if (!script || !picture || !messages) {
		diag_failure(d, "cannot make a temporary file: %s", strerror(errno));
		diag_hint(d, "check free space in /tmp");
		goto out;
	}
	terminal(script, form, plot_panels(p));
	plot_script(script, p);
	if (fflush(script) != 0) {
		diag_failure(d, "cannot write a temporary file: %s", strerror(errno));
		diag_hint(d, "check free space in /tmp");
		goto out;
	}
	if (form == PLOT_SCRIPT) {
		out = content(a, script, n);
		goto out;
	}
	rewind(script);
	const int status = run(script, picture, messages);
	if (status == 0)
		out = content(a, picture, n);
	if (status != 0 || *n == 0) {
		say_fault(a, d, status, messages);
		out = NULL;
	}
out:
	if (script)
		fclose(script);
	if (picture)
		fclose(picture);
	if (messages)
		fclose(messages);
	return out;
}
