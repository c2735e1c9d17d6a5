/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals: how they are put together, and how they are shown. */
#include "base/sheet.h"
#include "db/db.h"
#include "json_schema.h"
#include "model/calc/calc.h"
#include "model/measured/measured.h"
#include "report/report.h"
#include "said.h"
#include "toy_answers.h"

#define NORMAL_Q90 1.2815515655446004

static struct datum
datum(double value)
{
	return (struct datum){value, {"test", 0, 0, NULL, false}};
}

/* --- arithmetic ------------------------------------------------------------------------------------------ */

/* One class and nothing else: its own quantiles, asymmetric as they are. */
START_TEST(one_class_keeps_its_quantiles)
{
	const struct residual r = {
	    .q10 = datum(-0.05), .q90 = datum(0.2), .mean = datum_absent(), .sd = datum_absent()};
	const struct error_terms e = {.n = 1, .classes = {error_class_of(1, &r, 9)}, .widening = 1};
	const struct interval i = interval_of(10, &e, "calibrated");

	ck_assert_double_eq_tol(i.low, 10 * exp(-0.05), 1e-12);
	ck_assert_double_eq_tol(i.high, 10 * exp(0.2), 1e-12);
}
END_TEST

/* Half of the sum with 10 %, half with 20 %, composition 5 %: sqrt(0.05^2 + 0.1^2 + 0.05^2) = 0.12247. */
START_TEST(classes_add_like_variances)
{
	const struct error_terms e = {.n = 2,
	    .classes = {error_class_of(0.5, NULL, 0.1), error_class_of(0.5, NULL, 0.2)},
	    .stack_sigma = 0.05,
	    .widening = 1};

	ck_assert_double_eq_tol(error_below(NULL, &e), NORMAL_Q90 * 0.1224744871391589, 1e-12);
	ck_assert_double_eq_tol(error_above(NULL, &e), NORMAL_Q90 * 0.1224744871391589, 1e-12);
}
END_TEST

/* Transfer 12 %, and e squared beyond the range at 5 % for each: sqrt(0.12^2 + 0.1^2) = 0.15620; doubled. */
START_TEST(transfer_reach_and_warnings_widen)
{
	const struct error_terms e = {.n = 1,
	    .classes = {error_class_of(1, NULL, 0)},
	    .transfer_sigma = 0.12,
	    .reach = error_reach(NULL, exp(2) * 100, 1, 100),
	    .reach_sigma = 0.05,
	    .widening = 2};

	ck_assert_double_eq_tol(error_above(NULL, &e), 2 * NORMAL_Q90 * 0.15620499351813308, 1e-12);
}
END_TEST

/* Measured always slower than predicted: the interval begins at the prediction, and never leaves it outside. */
START_TEST(a_biased_class_still_holds_the_value)
{
	const struct residual r = {.q10 = datum(0.1), .q90 = datum(0.3), .mean = datum_absent(), .sd = datum_absent()};
	const struct error_terms e = {.n = 1, .classes = {error_class_of(1, &r, 0)}, .widening = 1};
	const struct interval i = interval_of(7, &e, "calibrated");

	ck_assert_double_eq(i.low, 7);
	ck_assert_double_eq_tol(i.high, 7 * exp(0.3), 1e-12);
}
END_TEST

START_TEST(inside_the_range_there_is_no_reach)
{
	ck_assert_double_eq(error_reach(NULL, 1, 1, 100), 0);
	ck_assert_double_eq(error_reach(NULL, 100, 1, 100), 0);
	ck_assert_double_eq_tol(error_reach(NULL, 0.5, 1, 100), log(2), 1e-15);
	ck_assert_double_eq_tol(error_reach(NULL, 300, 1, 100), log(3), 1e-15);
}
END_TEST

/* ceil(0.8 x (9 + 1)) = the 8th of 9; of four cases the largest, of three there is none large enough. */
START_TEST(the_conformal_rank)
{
	ck_assert_double_eq_tol(conformal_rank(NULL, 9), 8.0 / 9, 1e-15);
	ck_assert_double_eq_tol(conformal_rank(NULL, 4), 1, 1e-15);
	ck_assert_double_eq_tol(conformal_rank(NULL, 3), 1, 1e-15);
}
END_TEST

/* --- files ----------------------------------------------------------------------------------------------- */

static const struct {
	const char *text, *fault; /* NULL: none */
} files[] = {
    {"{format: 1, name: x, sigma: 0.1, conformal: 1.2, reach_sigma: 5%, range: {m: [1, 32768]}, n: 100}", NULL},
    {"{format: 1, name: x, range: {m: [32768, 1]}}", "does not grow"},
    {"{format: 1, name: x, range: {m: 32768}}", "measured minimum and maximum"},
    {"{format: 1, name: x, conformal: 0}", "below the minimum"},
    {"{format: 1, name: x, sigmas: 1}", "sigma"},
    {"{format: 1, sigma: 1}", "name"},
};

START_TEST(files_are_read)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct uncertainty u = {0};
	const struct node *root = tree_read_text(a, d, "x.yaml", files[_i].text, strlen(files[_i].text));
	struct binder b = {.arena = a, .diag = d};

	ck_assert_ptr_nonnull(root);
	const bool ok = uncertainty_bind(&b, root, "x", &u);
	ck_assert_msg(ok == (files[_i].fault == NULL), "%s", said(a, d));
	if (files[_i].fault)
		ck_assert_has(said(a, d), files[_i].fault);
	else {
		ck_assert_int_eq(u.n_ranges, 1);
		ck_assert_str_eq(u.ranges[0].dim, "m");
		ck_assert_double_eq(u.ranges[0].to.value, 32768);
		ck_assert_double_eq_tol(u.reach_sigma.value, 0.05, 1e-15);
		ck_assert(!datum_given(u.transfer_sigma));
	}
	arena_free(a);
}
END_TEST

/* --- shown ----------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	double value, low, high;
	const char *text;
} written[] = {
    {"x_s", 0.0124, 0.0111, 0.0139, "12.4 ms (11.1 .. 13.9)"},
    {"x_s", 0.001, 0.00091, 0.0011, "1 ms (910 us .. 1.1 ms)"},
    {"x_byte", 1073741824.0, 536870912.0 * 1.9, 1073741824.0 * 2, "1 GiB (973 MiB .. 2 GiB)"},
    {"x_byte_per_s", 3e12, 2e12, 4e12, "3 TB/s (2 .. 4)"},
    {"x_frac", 0.5, 0.25, 0.75, "50 % (25 .. 75)"},
    {"speedup", 2, 1.5, 3, "2 (1.5 .. 3)"},
};

START_TEST(the_unit_stands_once)
{
	char buf[200];

	ck_assert_str_eq(
	    interval_write(written[_i].name, written[_i].value, written[_i].low, written[_i].high, 3, buf, sizeof buf),
	    written[_i].text);
}
END_TEST

static double
work(struct sheet *sh, double size_byte)
{
	GIVEN(sh, size_byte);
	TAKE(sh, link_byte_per_s, 1e9);
	LET(sh, send_s, size_byte / link_byte_per_s);
	return send_s;
}

static struct sheet *
answer(double size_byte)
{
	struct sheet *sh = sheet_new();
	char why[] = "extrapolated: size above 7"; /* the sheet keeps a copy */

	CALL(sh, send_s, work(sh, size_byte));
	LET(sh, twice_s, 2 * send_s);
	TOY_SHOW(sh, send_s, "one");
	TOY_SHOW(sh, twice_s, "two");
	BETWEEN(sh, send_s, 0.5 * send_s, 2 * send_s, why);
	why[0] = '\0';
	SCOPE_I (sh, "op", 0) {
		LET(sh, part_s, 3 * twice_s);
		TOY_SHOW(sh, part_s, "part");
		BETWEEN(sh, part_s, part_s, 2 * part_s, "calibrated");
	}
	return sh;
}

static char *
print(struct arena *a, const char *format, struct sheet *sh, bool sweep)
{
	static const char *names[] = {"size"}, *values[] = {"1GB"};
	struct answer_point point = {.sheet = sh, .swept = {sweep ? 1 : 0, values}};
	const struct report r = {.arena = a,
	    .command = "toy",
	    .version = "1",
	    .swept = {sweep ? 1 : 0, names},
	    .point = &point,
	    .width = 80,
	    .row = strcmp(format, "get") == 0 ? "send_s" : NULL};
	char *text = NULL, why[200];
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	if (sweep) {
		struct points_report *points = points_report_new(format, &r, false);
		points_report_begin(points, to);
		points_report_add(points, to, &point);
		ck_assert(points_report_end(points, to, why, sizeof why));
	} else
		ck_assert(report_print(to, format, &r, why, sizeof why));
	fclose(to);
	char *copy = arena_text(a, text);
	free(text);
	return copy;
}

START_TEST(every_format_shows_it)
{
	struct arena *a = arena_new();
	struct sheet *sh = answer(1e9);

	const char *text = print(a, "text", sh, false);
	ck_assert_has(text, "one  1 s (500 ms .. 2 s)\n");
	ck_assert_has(text, "two  2 s\n");
	ck_assert_has(text, "6 s (6 .. 12)\n");
	ck_assert_has(text, "intervals: extrapolated: size above 7\n");
	ck_assert_has(print(a, "text", sh, true), "1 s (500 ms .. 2 s)");
	ck_assert_has(print(a, "md", sh, false), "| one | 1 s (500 ms .. 2 s) |");
	ck_assert_str_eq(print(a, "csv", sh, false),
	    "part_s,part_s.low,part_s.high,send_s,send_s.low,send_s.high,twice_s\n6,6,12,1,0.5,2,2\n");
	ck_assert_str_eq(print(a, "csv", sh, true), "size,send_s,send_s.low,send_s.high,twice_s\n1GB,1,0.5,2,2\n");
	ck_assert_str_eq(print(a, "get", sh, false), "1\n");
	const char *explained = print(a, "explain", sh, false);
	ck_assert_has(explained,
	    "send_s (one) = size_byte / link_byte_per_s = 1 s  [500 ms .. 2 s in 80 of 100 cases: extrapolated: size "
	    "above "
	    "7]\n");
	ck_assert_has(
	    explained, "op.0.part_s (part) = 3 * twice_s = 6 s  [6 s .. 12 s in 80 of 100 cases: calibrated]\n");
	ck_assert_has(explained, "twice_s (two) = 2 * send_s = 2 s\n");
	sheet_free(sh);
	arena_free(a);
}
END_TEST

START_TEST(json_has_it_by_path)
{
	struct arena *a = arena_new();
	struct sheet *sh = answer(1e9);

	for (int sweep = 0; sweep < 2; sweep++) {
		cJSON *object = cJSON_Parse(print(a, "json", sh, sweep));
		const cJSON *at = sweep ? cJSON_GetArrayItem(cJSON_GetObjectItem(object, "points"), 0) : object;
		const cJSON *all = cJSON_GetObjectItem(at, "intervals");
		ck_assert_int_eq(cJSON_GetArraySize(all), 2);
		const cJSON *one = cJSON_GetObjectItem(all, "send_s");
		ck_assert_double_eq(cJSON_GetObjectItem(one, "low")->valuedouble, 0.5);
		ck_assert_double_eq(cJSON_GetObjectItem(one, "high")->valuedouble, 2);
		ck_assert_double_eq(cJSON_GetObjectItem(one, "level")->valuedouble, 0.8);
		ck_assert_str_eq(cJSON_GetObjectItem(one, "why")->valuestring, "extrapolated: size above 7");
		ck_assert_ptr_nonnull(cJSON_GetObjectItem(all, "op.0.part_s"));
		cJSON_Delete(object);
	}
	sheet_free(sh);
	arena_free(a);
}
END_TEST

START_TEST(without_a_sheet_nothing_happens)
{
	struct sheet *none = NULL;
	const double x_s = 3;

	BETWEEN(none, x_s, 1, 2, "calibrated");
	ck_assert_double_eq(x_s, 3);
}
END_TEST

Suite *uncertainty_suite(void);

Suite *
uncertainty_suite(void)
{
	Suite *s = suite_create("uncertainty");
	TCase *t = tcase_create("uncertainty");

	tcase_add_test(t, one_class_keeps_its_quantiles);
	tcase_add_test(t, classes_add_like_variances);
	tcase_add_test(t, transfer_reach_and_warnings_widen);
	tcase_add_test(t, a_biased_class_still_holds_the_value);
	tcase_add_test(t, inside_the_range_there_is_no_reach);
	tcase_add_test(t, the_conformal_rank);
	tcase_add_loop_test(t, files_are_read, 0, (int)(sizeof files / sizeof *files));
	tcase_add_loop_test(t, the_unit_stands_once, 0, (int)(sizeof written / sizeof *written));
	tcase_add_test(t, every_format_shows_it);
	tcase_add_test(t, json_has_it_by_path);
	tcase_add_test(t, without_a_sheet_nothing_happens);
	suite_add_tcase(s, t);
	return s;
}
