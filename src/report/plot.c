/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gnuplot scripts: quoting, axes, curves; and running gnuplot without a shell. */
#include "report/report.h"

#include "base/base.h"
#include "base/sheet.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- scripts --------------------------------------------------------------------------------------------- */

enum { CLOUD = 200 }; /* from this many points on, markers are small */

/* In single quotes gnuplot expands nothing.  It does not read a doubled quote everywhere: quotes become apostrophes. */
static void
quoted(FILE *to, const char *text)
{
	fputc('\'', to);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("\xe2\x80\x99", to);
		else
			fputc((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text, to);
	}
	fputc('\'', to);
}

/* A text of a data block, which gnuplot reads as a file: what could end it or mean something becomes harmless. */
static void
block_text(FILE *to, const char *text)
{
	fputc('"', to);
	for (; *text; text++)
		fputc(strchr("\"\\`", *text) || (unsigned char)*text < 0x20 || *text == 0x7f ? '\'' : *text, to);
	fputc('"', to);
}

static void
block(FILE *to, const struct plot_series *s, size_t panel, size_t index)
{
	char x[40], y[40];

	fprintf(to, "$data_%zu_%zu << END_OF_DATA\n", panel, index);
	for (size_t i = 0; i < s->n; i++) {
		if (isnan(s->x[i]) || isnan(s->y[i])) {
			fputc('\n', to);
			continue;
		}
		fprintf(to, "%s %s", number_write(s->x[i], x, sizeof x), number_write(s->y[i], y, sizeof y));
		if (s->names && s->names[i]) {
			fputc(' ', to);
			block_text(to, s->names[i]);
		}
		fputc('\n', to);
	}
	fputs("END_OF_DATA\n", to);
}

static bool
drawable(const struct plot_series *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!isnan(s->x[i]) && !isnan(s->y[i]))
			return true;
	return false;
}

/* The lowest panel alone has the axis below it written out. */
static void
axes(FILE *to, const struct plot *p, const struct plot_panel *panel, bool last)
{
	fprintf(to, "%sset logscale x%s\n", p->x_log ? "" : "un", p->x_log && p->x_powers ? " 2" : "");
	fprintf(to, "%sset logscale y\n", panel->y_log ? "" : "un");
	fputs("set ylabel ", to);
	quoted(to, panel->y_title);
	fputs("\nset xlabel ", to);
	quoted(to, last ? p->x_title : "");
	/* %s%c: the mantissa and its SI prefix */
	if (!p->n_words)
		fprintf(to, "\nset format x '%s'", !last ? "" : p->x_powers ? "%.6g" : "%.1s%c");
	fputs("\nset format y '%.1s%c'\n", to);
}

static void
panel_plot(FILE *to, const struct plot_panel *panel, size_t index)
{
	const char *between = "plot ";

	for (size_t i = 0; i < panel->n_series; i++) {
		const struct plot_series *s = &panel->series[i];
		if (!drawable(s))
			continue;
		fprintf(to, "%s$data_%zu_%zu using 1:2 with %s title ", between, index, i,
		    s->line && s->marks ? "linespoints pointtype 7 pointsize 0.6"
		        : s->line       ? "lines linewidth 1.5"
		                        : "points pointtype 7 pointsize 0.6");
		quoted(to, s->title);
		between = ", \\\n\t";
		if (s->names)
			fprintf(to,
			    "%s$data_%zu_%zu using 1:2:3 with labels left rotate by 30 offset 0.5,0.5 font ',8' "
			    "notitle",
			    between, index, i);
	}
	fputc('\n', to);
}

static bool
panel_drawable(const struct plot_panel *panel)
{
	for (size_t i = 0; i < panel->n_series; i++)
		if (drawable(&panel->series[i]))
			return true;
	return false;
}

static void
words(FILE *to, const struct plot *p)
{
	fputs("set xtics (", to);
	for (size_t i = 0; i < p->n_words; i++) {
		fputs(i ? ", " : "", to);
		quoted(to, p->words[i]);
		fprintf(to, " %zu", i);
	}
	fprintf(to, ") rotate by -30\nset xrange [-0.5:%zu.5]\n", p->n_words - 1);
}

/* Panels that have something to show. */
static size_t
plot_panels(const struct plot *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_panels; i++)
		n += panel_drawable(&p->panels[i]);
	return n;
}

/* The script; it opens a window, or draws on the terminal that is set. */
static void
plot_script(FILE *to, const struct plot *p)
{
	const size_t n = plot_panels(p);
	size_t drawn = 0;

	fputs("# Made by ridge.  Show it with: gnuplot -persist FILE\n", to);
	for (size_t i = 0; i < p->n_panels; i++)
		for (size_t k = 0; k < p->panels[i].n_series; k++)
			if (drawable(&p->panels[i].series[k]))
				block(to, &p->panels[i].series[k], i, k);
	fputs("set encoding utf8\nset grid\nset key outside right top noenhanced\n"
	      "set xlabel noenhanced\nset ylabel noenhanced\nset xtics noenhanced\n",
	    to);
	if (p->n_words)
		words(to, p);
	if (n > 1) {
		/* one below the other: the same margins */
		fprintf(to, "set lmargin 14\nset rmargin 34\nset multiplot layout %zu,1 title ", n);
		quoted(to, p->title);
		fputs(" noenhanced\n", to);
	} else {
		fputs("set title ", to);
		quoted(to, p->title);
		fputs(" noenhanced\n", to);
	}
	for (size_t i = 0; i < p->n_panels; i++) {
		if (!panel_drawable(&p->panels[i]))
			continue;
		axes(to, p, &p->panels[i], ++drawn == n);
		panel_plot(to, &p->panels[i], i);
	}
	if (n > 1)
		fputs("unset multiplot\n", to);
}

enum plot_form
plot_form_of(const char *path)
{
	static const struct {
		const char *end;
		enum plot_form form;
	} forms[] = {{".gp", PLOT_SCRIPT}, {".gnuplot", PLOT_SCRIPT}, {".png", PLOT_PNG}, {".svg", PLOT_SVG},
	    {".pdf", PLOT_PDF}};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (text_ends(path, forms[i].end))
			return forms[i].form;
	return PLOT_UNKNOWN;
}

/* --- gnuplot --------------------------------------------------------------------------------------------- */

/* Run gnuplot without a shell.  Script and picture are unnamed files, so no file name ever appears in a script. */

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
		/* -d: nobody's start-up files */
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
