/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gnuplot scripts: quoting, axes, curves. */
#include "report/report.h"

#include "base/base.h"
#include "base/sheet.h"

#include <math.h>
#include <string.h>

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

size_t
plot_panels(const struct plot *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_panels; i++)
		n += panel_drawable(&p->panels[i]);
	return n;
}

void
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
