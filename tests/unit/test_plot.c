/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scripts of plots, byte by byte; what gnuplot makes of them. */
#include "report/report.h"

#include "unit/environment.h"
#include "unit/said.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const char *
script(struct arena *a, const struct plot *p)
{
	size_t n;
	const char *text = plot_draw(a, diag_new(a), p, PLOT_SCRIPT, &n);

	ck_assert_ptr_nonnull(text);
	return arena_copy(a, text, n);
}

START_TEST(a_script)
{
	struct arena *a = arena_new();
	const double x[] = {1, 10, 1000}, y[] = {0.5, NAN, 2e-6};
	struct plot_series series[] = {{.title = "time", .line = true, .marks = true, .n = 3, .x = x, .y = y}};
	struct plot_panel panel = {.y_title = "s", .y_log = true, .n_series = 1, .series = series};
	const struct plot p = {.title = "one", .x_title = "batch", .x_log = true, .n_panels = 1, .panels = &panel};

	ck_assert_str_eq(script(a, &p),
	    "# Made by ridge.  Show it with: gnuplot -persist FILE\n"
	    "$data_0_0 << END_OF_DATA\n"
	    "1 0.5\n"
	    "\n"
	    "1000 2e-06\n"
	    "END_OF_DATA\n"
	    "set encoding utf8\n"
	    "set grid\n"
	    "set key outside right top noenhanced\n"
	    "set xlabel noenhanced\n"
	    "set ylabel noenhanced\n"
	    "set xtics noenhanced\n"
	    "set title 'one' noenhanced\n"
	    "set logscale x\n"
	    "set logscale y\n"
	    "set ylabel 's'\n"
	    "set xlabel 'batch'\n"
	    "set format x '%.1s%c'\n"
	    "set format y '%.1s%c'\n"
	    "plot $data_0_0 using 1:2 with linespoints pointtype 7 pointsize 0.6 title 'time'\n");
	arena_free(a);
}
END_TEST

/* A missing gnuplot is a failure, but with SKIP_MISSING=1: then tests/run.sh names what was skipped. */
static bool
goes_without(void)
{
	const char *skip = getenv("SKIP_MISSING");

	return skip && strcmp(skip, "1") == 0 && system("command -v gnuplot >/dev/null 2>&1") != 0;
}

/* Words from files and command lines must stay words. */
static const char *const nasty[] = {"`touch PROOF`", "'; system('touch PROOF'); '", "\"; !touch PROOF",
    "a\n!touch PROOF\n", "END_OF_DATA\n!touch PROOF", "@x \\ $x %s {/Symbol a}_b^c", "x'y", "|touch PROOF"};

START_TEST(words_stay_words)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	const double x[] = {1, 2}, y[] = {3, 4};
	const char *const names[] = {nasty[_i], NULL};
	const char *const words[] = {nasty[_i], "b"};
	struct plot_series series[] = {{.title = nasty[_i], .marks = true, .n = 2, .x = x, .y = y, .names = names}};
	struct plot_panel panels[] = {{.y_title = nasty[_i], .n_series = 1, .series = series},
	    {.y_title = nasty[_i], .n_series = 1, .series = series}};
	const struct plot p = {
	    .title = nasty[_i], .x_title = nasty[_i], .n_words = 2, .words = words, .n_panels = 2, .panels = panels};
	const char *text = script(a, &p);
	size_t n = 0;

	/* outside of single quotes no line begins with what the word says, and data lines begin with numbers */
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		ck_assert_msg(*line != '!' && strncmp(line, "touch", 5) != 0, "%s", text);
		bool quoted = false;
		for (const char *c = line; *c != '\n'; c++) {
			quoted = *c == '\'' ? !quoted : quoted;
			ck_assert_msg(quoted || *c != '`' || *line == '$', "%s", text);
		}
	}
	if (!goes_without()) {
		unlink("PROOF");
		const char *picture = plot_draw(a, d, &p, PLOT_SVG, &n);
		ck_assert_msg(picture != NULL, "%s", said(a, d));
		ck_assert_has(picture, "<svg");
		ck_assert_int_ne(access("PROOF", F_OK), 0);
	}
	arena_free(a);
}
END_TEST

START_TEST(pictures)
{
	static const struct {
		enum plot_form form;
		const char *begins;
	} forms[] = {{PLOT_PNG, "\x89PNG"}, {PLOT_PDF, "%PDF"}, {PLOT_SVG, "<?xml"}};
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	const double x[] = {1, 2, 4}, y[] = {1, 4, 16};
	struct plot_series series[] = {{.title = "square", .line = true, .n = 3, .x = x, .y = y}};
	struct plot_panel panel = {.y_title = "y", .n_series = 1, .series = series};
	const struct plot p = {
	    .title = "t", .x_title = "x", .x_log = true, .x_powers = true, .n_panels = 1, .panels = &panel};

	for (size_t i = 0; !goes_without() && i < sizeof forms / sizeof *forms; i++) {
		size_t n = 0;
		const char *picture = plot_draw(a, d, &p, forms[i].form, &n);
		ck_assert_msg(picture != NULL, "%s", said(a, d));
		ck_assert_uint_gt(n, 500);
		ck_assert_msg(memcmp(picture, forms[i].begins, strlen(forms[i].begins)) == 0, "%.20s", picture);
	}
	arena_free(a);
}
END_TEST

START_TEST(without_gnuplot)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	const double x[] = {1};
	struct plot_series series[] = {{.title = "one", .marks = true, .n = 1, .x = x, .y = x}};
	struct plot_panel panel = {.y_title = "y", .n_series = 1, .series = series};
	const struct plot p = {.title = "t", .x_title = "x", .n_panels = 1, .panels = &panel};
	size_t n;

	struct environment before = environment_keep();
	setenv("PATH", "/nonexistent", 1);
	const char *drawn = plot_draw(a, d, &p, PLOT_PNG, &n);
	environment_put_back(&before);
	ck_assert_ptr_null(drawn);
	ck_assert(diag_failed(d));
	ck_assert_has(said(a, d), "gnuplot is not installed");
	ck_assert_has(said(a, d), "gnuplot-nox");
	arena_free(a);
}
END_TEST

START_TEST(forms)
{
	ck_assert_int_eq(plot_form_of("a.png"), PLOT_PNG);
	ck_assert_int_eq(plot_form_of("a.b.svg"), PLOT_SVG);
	ck_assert_int_eq(plot_form_of("x/a.pdf"), PLOT_PDF);
	ck_assert_int_eq(plot_form_of("a.gp"), PLOT_SCRIPT);
	ck_assert_int_eq(plot_form_of("a.gnuplot"), PLOT_SCRIPT);
	ck_assert_int_eq(plot_form_of("png"), PLOT_UNKNOWN);
	ck_assert_int_eq(plot_form_of("-"), PLOT_UNKNOWN);
}
END_TEST

Suite *plot_suite(void);

Suite *
plot_suite(void)
{
	Suite *s = suite_create("plot");
	TCase *t = tcase_create("plot");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_script);
	tcase_add_loop_test(t, words_stay_words, 0, (int)(sizeof nasty / sizeof *nasty));
	tcase_add_test(t, pictures);
	tcase_add_test(t, without_gnuplot);
	tcase_add_test(t, forms);
	suite_add_tcase(s, t);
	return s;
}
