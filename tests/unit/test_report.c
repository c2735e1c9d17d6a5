/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Views of one sheet: text, CSV, Markdown, JSON, derivations, one number. */
#include "report/report.h"
#include "toy_answers.h"

#include "json_schema.h"
#include "said.h"

static struct arena *a;
static struct sheet *sh;
static struct answer_point point;
static struct report report;

static double
ring(struct sheet *s, double n_ranks, double size_byte, double link_byte_per_s)
{
	GIVEN(s, n_ranks);
	GIVEN(s, size_byte);
	GIVEN(s, link_byte_per_s);
	LET(s, chunk_byte, size_byte / n_ranks);
	LET(s, ring_s, 2 * (n_ranks - 1) * (chunk_byte / link_byte_per_s));
	return ring_s;
}

static const struct datum link_rate = {50e9, {"hwdb/links/x.yaml", 3, 16, "the datasheet", false}};
static const struct datum launch = {5e-6, {"default", 0, 0, NULL, true}};

static void
set_up(void)
{
	a = arena_new();
	sh = sheet_new();
	TAKE(sh, n_gpus, 8);
	TAKE(sh, link_byte_per_s, link_rate);
	TAKE(sh, launch_s, launch);
	TAKE(sh, buffer_byte, 14e9);
	CALL(sh, exchange_s, ring(sh, n_gpus, buffer_byte, link_byte_per_s));
	LET(sh, step_s, fmax(exchange_s, 10 * launch_s) + launch_s);
	LET(sh, again_s, exchange_s + step_s);
	LET(sh, unknown_s, NAN * n_gpus);
	LET(sh, endless_byte, INFINITY * n_gpus);
	TOY_SHOW(sh, launch_s, "launch");
	TOY_SHOW(sh, step_s, "one step");
	TOY_SHOW(sh, unknown_s, "not known");
	TOY_SHOW(sh, endless_byte, "room");
	for (int i = 0; i < 2; i++)
		SCOPE_I (sh, "stages", i) {
			TOY_TELL(sh, kind, "stage", i ? "last, \"odd\"" : "first|one");
			LET(sh, held_byte, (i + 1) * 1073741824.0);
			TOY_SHOW(sh, held_byte, "held");
		}
	TOY_TELL(sh, verdict, "it", "fits");
	TOY_TELL(sh, hidden, NULL, "inside");
	(void)again_s;

	static struct assumption assumed[] = {{"dtype bf16", {"dtype", "bf16", NAN}},
	    {"seq 4096", {"seq", "4096", 4096}}, {"a remark", {NULL, NULL, NAN}}};
	static struct asked_input asked[] = {{"gpus", "8", 8}, {"gpu", "h100", NAN}, {"share", "20%", 0.2}};
	point = (struct answer_point){.sheet = sh, .n_asked = 3, .asked = asked};
	report = (struct report){.arena = a,
	    .command = "toy",
	    .version = "1.2",
	    .title = "A title",
	    .point = &point,
	    .assumed = {3, assumed},
	    .width = 80};
}

static void
tear_down(void)
{
	sheet_free(sh);
	arena_free(a);
}

static char why[500];

static const char *
print(const char *format)
{
	char *text = NULL;
	size_t n = 0;
	FILE *memory = open_memstream(&text, &n);

	const bool ok = report_print(memory, format, &report, why, sizeof why);
	fclose(memory);
	const char *copy = ok ? arena_copy(a, text, n) : NULL;
	free(text);
	return copy;
}

START_TEST(text_is_aligned)
{
	ck_assert_str_eq(print("text"),
	    "A title\n"
	    "launch     5 us*\n"
	    "one step   490 ms\n"
	    "not known  -\n"
	    "room       unlimited\n"
	    "\n"
	    "stage         held\n"
	    "first|one    1 GiB\n"
	    "last, \"odd\"  2 GiB\n"
	    "\n"
	    "it         fits\n"
	    "assumed: dtype bf16, seq 4096, a remark\n"
	    "* not confirmed by a source\n");
}
END_TEST

START_TEST(quiet_text_has_no_lists)
{
	report.quiet = true;
	ck_assert_lacks(print("text"), "assumed");
	ck_assert_lacks(print("text"), "not confirmed");
	ck_assert_has(print("text"), "one step");
}
END_TEST

START_TEST(colour_marks_verdicts_only_when_asked)
{
	ck_assert_lacks(print("text"), "\033");
	report.color = true;
	ck_assert_has(print("text"), "\033[32mfits\033[0m");
	ck_assert_has(print("text"), "\033[1mA title\033[0m");
}
END_TEST

START_TEST(long_lists_are_folded)
{
	static struct assumption many[] = {{"one thing that was assumed", {0}}, {"another thing", {0}},
	    {"a third thing", {0}}, {"and the last of them", {0}}};

	report.assumed = (struct assumptions){4, many};
	report.width = 50;
	const char *text = print("text");
	ck_assert_has(text, "assumed: one thing that was assumed,\n  another thing");
	for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		ck_assert_uint_le(strcspn(line, "\n"), 50);
}
END_TEST

/* A table that its sentences make wider than the terminal is printed line by line. */
START_TEST(sentences_stand_below_one_another)
{
	struct sheet *other = sheet_new();

	for (int i = 0; i < 2; i++)
		SCOPE_I (other, "faults", i) {
			TOY_TELL(other, place, "place", "file.yaml:1:1");
			TOY_TELL(other, what, "what is wrong",
			    "a sentence that is much longer than any figure would ever be, and longer");
			if (i == 1)
				TOY_TELL(other, hint, "what to do", "write it so");
		}
	point.sheet = other;
	report.title = NULL;
	ck_assert_str_eq(print("text"),
	    "place          file.yaml:1:1\n"
	    "what is wrong  a sentence that is much longer than any figure would ever be, and longer\n"
	    "\n"
	    "place          file.yaml:1:1\n"
	    "what is wrong  a sentence that is much longer than any figure would ever be, and longer\n"
	    "what to do     write it so\n"
	    "assumed: dtype bf16, seq 4096, a remark\n");
	report.width = 200; /* room enough: a table */
	ck_assert_has(print("text"), "place          what is wrong ");
	sheet_free(other);
}
END_TEST

START_TEST(two_tables_are_told_apart)
{
	struct sheet *other = sheet_new();

	for (int i = 0; i < 2; i++)
		SCOPE_I (other, "gpus", i) {
			LET(other, mem_byte, i + 1.0);
			TOY_SHOW(other, mem_byte, "memory");
		}
	SCOPE_I (other, "links", 0) {
		LET(other, rate_byte_per_s, 3.0);
		TOY_SHOW(other, rate_byte_per_s, "rate");
	}
	point.sheet = other;
	report.title = NULL;
	ck_assert_str_eq(print("csv"), "table,rate_byte_per_s,mem_byte\ngpus,,1\ngpus,,2\nlinks,3,\n");
	ck_assert_str_eq(print("md"),
	    "| memory |\n|---:|\n| 1 B |\n| 2 B |\n\n\n| rate |\n|---:|\n| 3 B/s |\n"
	    "\nassumed: dtype bf16, seq 4096, a remark\n");
	ck_assert_str_eq(
	    print("text"), "memory\n   1 B\n   2 B\n\n rate\n3 B/s\nassumed: dtype bf16, seq 4096, a remark\n");
	sheet_free(other);
}
END_TEST

START_TEST(csv_is_rfc_4180)
{
	ck_assert_str_eq(print("csv"),
	    "kind,held_byte,launch_s,step_s,unknown_s,endless_byte,verdict\n"
	    "first|one,1073741824,5e-06,0.490005,,inf,fits\n"
	    "\"last, \"\"odd\"\"\",2147483648,5e-06,0.490005,,inf,fits\n");
}
END_TEST

START_TEST(markdown_tables)
{
	const char *text = print("md");

	ck_assert_has(text, "**A title**\n\n| what | value |\n|---|---:|\n| launch | 5 us* |\n| one step | 490 ms |\n");
	ck_assert_has(text, "| not known | - |\n");
	ck_assert_has(text, "\n| stage | held |\n|---|---:|\n| first\\|one | 1 GiB |\n| last, \"odd\" | 2 GiB |\n\n");
	ck_assert_has(text, "assumed: dtype bf16, seq 4096, a remark\n");
	report.quiet = true;
	ck_assert_lacks(print("md"), "assumed");
}
END_TEST

/* --- one number ------------------------------------------------------------------------------------------ */

static const struct {
	const char *row, *text;
} got[] = {
    {"n_gpus", "8"},
    {"step_s", "0.490005"},
    {"exchange_s.chunk_byte", "1750000000"},
    {"chunk_byte", "1750000000"},
    {"link_byte_per_s", "50000000000"},
    {"unknown_s", "-"},
    {"endless_byte", "inf"},
    {"verdict", "fits"},
    {"hidden", "inside"},
    {"stages.1.held_byte", "2147483648"},
};

START_TEST(one_number_is_got)
{
	report.row = got[_i].row;
	const char *text = print("get");
	ck_assert_msg(text, "%s: %s", got[_i].row, why);
	ck_assert_str_eq(text, arena_printf(a, "%s\n", got[_i].text));
}
END_TEST

START_TEST(a_row_that_is_not_there)
{
	static const char *const formats[] = {"get", "explain"};

	for (size_t i = 0; i < 2; i++) {
		report.row = "setp_s";
		ck_assert_ptr_null(print(formats[i]));
		ck_assert_has(why, "there is no answer 'setp_s'\ndid you mean 'step_s'?");
		report.row = "held_byte";
		ck_assert_ptr_null(print(formats[i]));
		ck_assert_has(
		    why, "'held_byte' is a column of the table 'stages'\ngive its line: 'stages.0.held_byte'");
		report.row = "qqqqqqqq";
		ck_assert_ptr_null(print(formats[i]));
		ck_assert_has(why, "--json shows all answers");
		report.row = "stages.1"; /* a block, not a number */
		ck_assert_ptr_null(print(formats[i]));
	}
}
END_TEST

/* --- derivations ----------------------------------------------------------------------------------------- */

START_TEST(a_row_is_derived)
{
	report.row = "again_s";
	ck_assert_str_eq(print("explain"),
	    "again_s = exchange_s + step_s = 980 ms\n"
	    "  exchange_s = 2 * (n_ranks - 1) * (chunk_byte / link_byte_per_s) = 490 ms\n"
	    "    n_ranks = n_gpus = 8\n"
	    "      n_gpus = 8\n"
	    "    chunk_byte = size_byte / n_ranks = 1.63 GiB (1.75 GB)\n"
	    "      size_byte = buffer_byte = 13.04 GiB (14 GB)\n"
	    "        buffer_byte = 13.04 GiB (14 GB)\n"
	    "      n_ranks = n_gpus = 8\n"
	    "        n_gpus = 8\n"
	    "    link_byte_per_s = 50 GB/s      hwdb/links/x.yaml:3:16  [the datasheet]\n"
	    "  step_s (one step) = fmax(exchange_s, 10 * launch_s) + launch_s = 490 ms\n"
	    "    exchange_s = 490 ms      (above)\n"
	    "    launch_s (launch) = 5 us      default  unconfirmed\n");
}
END_TEST

START_TEST(all_answers_are_derived)
{
	const char *text = print("explain");

	ck_assert_has(text, "\nstep_s (one step) = fmax(exchange_s, 10 * launch_s) + launch_s = 490 ms\n");
	ck_assert_has(text, "\nstages.1.held_byte (held) = (i + 1) * 1073741824.0 = 2 GiB (2.15 GB)\n");
	ck_assert_lacks(text, "again_s"); /* nobody was shown it */
}
END_TEST

START_TEST(groups_are_derived)
{
	static const double values[] = {1, 5, 2};
	struct sheet *other = sheet_new();

	SUM(other, all_s, i, 3, sheet_let(other, "part_s", "values[i]", values[i]));
	MOST(other, most_s, i, 3, sheet_let(other, "part_s", "values[i]", values[i]));
	(void)all_s;
	point.sheet = other;
	report.row = "all_s";
	const char *text = print("explain");
	ck_assert_has(text, "all_s = sum of sheet_let(");
	ck_assert_has(text, " = 8 s\n");
	ck_assert_has(text, "  all_s.1 = values[i] = 5 s\n");
	report.row = "most_s";
	ck_assert_has(print("explain"), "most_s = largest of ");
	ck_assert(most_s == 5);
	sheet_free(other);
}
END_TEST

/* What nobody can name the origin of is given. */
START_TEST(parameters_without_an_origin_are_given)
{
	struct sheet *other = sheet_new();

	ring(other, 8, 14e9, 50e9);
	point.sheet = other;
	report.row = "chunk_byte";
	ck_assert_str_eq(print("explain"),
	    "chunk_byte = size_byte / n_ranks = 1.63 GiB (1.75 GB)\n"
	    "  size_byte = 13.04 GiB (14 GB)      given\n"
	    "  n_ranks = 8      given\n");
	sheet_clear(other);
	/* an argument that no row explains, because it was computed on the way */
	CALL(other, exchange_s, ring(other, 8, 14e9 / 2, 50e9));
	(void)exchange_s;
	report.row = "exchange_s";
	ck_assert_has(print("explain"), "size_byte = 14e9 / 2 = 6.519 GiB (7 GB)\n");
	sheet_free(other);
}
END_TEST

/* --- JSON ------------------------------------------------------------------------------------------------ */

static double
number_at(const cJSON *object, const char *member, const char *path)
{
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(object, member), path);

	ck_assert_msg(n, "no %s '%s'", member, path);
	return cJSON_IsNull(n) ? NAN : n->valuedouble;
}

START_TEST(json_has_every_row)
{
	report.trace = true;
	cJSON *object = cJSON_Parse(print("json"));
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(object, "trace");
	char path[200];

	ck_assert_ptr_nonnull(rows);
	for (int i = 0; i < sheet_size(sh); i++) {
		const struct row *row = sheet_row(sh, i);
		if (row->kind == ROW_SCOPE || row->kind == ROW_WORD)
			continue;
		sheet_path(sh, i, path, sizeof path);
		const double value = number_at(object, "trace", path);
		ck_assert_msg(isfinite(row->value) ? value == row->value : isnan(value), "%s is %.17g", path, value);
	}
	ck_assert(number_at(object, "inputs", "share") == 0.2);
	ck_assert_str_eq(
	    cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(object, "inputs"), "gpu")->valuestring,
	    "h100");
	ck_assert_str_eq(cJSON_GetObjectItemCaseSensitive(rows, "stages.1.kind")->valuestring, "last, \"odd\"");
	const cJSON *sources = cJSON_GetObjectItemCaseSensitive(object, "sources");
	ck_assert_int_eq(cJSON_GetArraySize(sources), 2);
	const cJSON *first = cJSON_GetArrayItem(sources, 0);
	ck_assert_str_eq(cJSON_GetObjectItemCaseSensitive(first, "row")->valuestring, "link_byte_per_s");
	ck_assert_int_eq(cJSON_GetObjectItemCaseSensitive(first, "line")->valueint, 3);
	ck_assert_str_eq(cJSON_GetObjectItemCaseSensitive(first, "citation")->valuestring, "the datasheet");
	ck_assert_ptr_null(cJSON_GetObjectItemCaseSensitive(first, "unconfirmed"));
	ck_assert(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(sources, 1), "unconfirmed")));
	cJSON_Delete(object);
}
END_TEST

START_TEST(json_has_answers_and_tables)
{
	cJSON *object = cJSON_Parse(print("json"));
	const cJSON *answers = cJSON_GetObjectItemCaseSensitive(object, "answers"),
	            *stages =
	                cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(object, "tables"), "stages");

	ck_assert_ptr_null(cJSON_GetObjectItemCaseSensitive(object, "trace"));
	ck_assert_int_eq(cJSON_GetObjectItemCaseSensitive(object, "ridge")->valueint, 2);
	ck_assert(number_at(object, "answers", "step_s") == sheet_row(sh, sheet_find(sh, "step_s"))->value);
	ck_assert_str_eq(cJSON_GetObjectItemCaseSensitive(answers, "verdict")->valuestring, "fits");
	ck_assert_str_eq(cJSON_GetObjectItemCaseSensitive(answers, "hidden")->valuestring, "inside");
	ck_assert_ptr_null(cJSON_GetObjectItemCaseSensitive(answers, "held_byte"));
	ck_assert_int_eq(cJSON_GetArraySize(stages), 2);
	ck_assert_str_eq(
	    cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(stages, 1), "kind")->valuestring, "last, \"odd\"");
	cJSON_Delete(object);
}
END_TEST

START_TEST(names_of_answers)
{
	report.row = "stages.1.kind";
	ck_assert_str_eq(print("get"), "last, \"odd\"\n");
	report.row = "stages.first|one.kind,verdict";
	ck_assert_str_eq(print("get"), "first|one\nfits\n");
	report.row = "step_s.low";
	ck_assert_str_eq(print("get"), "-\n");
	report.row = "trace.step_s,step_s";
	ck_assert_str_eq(print("get"), "0.490005\n0.490005\n");
	report.one_line = true;
	ck_assert_str_eq(print("get"), "0.490005\t0.490005\n");
	report.row = "stages.7.kind";
	ck_assert_ptr_null(print("get"));
	ck_assert_has(why, "the table 'stages' has no cell 'stages.7.kind'\nwrite for example 'stages.0.kind'");
	report.row = "step_s,";
	ck_assert_ptr_null(print("get"));
	ck_assert_has(why, "empty id");
}
END_TEST

START_TEST(numbers_keep_all_their_digits)
{
	report.trace = true;
	struct sheet *other = sheet_new();
	const double values[] = {1 / 3.0, 0.1, 1e22, 5e-324, 1.7976931348623157e308, 123456789.0625};
	static const char *const names[] = {"v0", "v1", "v2", "v3", "v4", "v5"};

	for (size_t i = 0; i < 6; i++)
		sheet_let(other, names[i], "x", values[i]);
	point.sheet = other;
	cJSON *object = cJSON_Parse(print("json"));
	for (size_t i = 0; i < 6; i++)
		ck_assert_msg(number_at(object, "trace", names[i]) == values[i], "%.17g is %.17g", values[i],
		    number_at(object, "trace", names[i]));
	cJSON_Delete(object);
	sheet_free(other);
}
END_TEST

START_TEST(assumptions_name_their_inputs)
{
	cJSON *object = cJSON_Parse(print("json"));
	cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "assumed");
	char *text = cJSON_PrintUnformatted(list);

	ck_assert_str_eq(text,
	    "[{\"input\":\"dtype\",\"value\":\"bf16\",\"text\":\"dtype bf16\"},"
	    "{\"input\":\"seq\",\"value\":4096,\"text\":\"seq 4096\"},{\"text\":\"a remark\"}]");
	free(text);
	cJSON_Delete(object);
}
END_TEST

START_TEST(get_knows_inputs)
{
	point.assumed = report.assumed;
	report.row = "inputs.gpus,inputs.gpu,inputs.seq,inputs.dtype,step_s";
	ck_assert_str_eq(print("get"), "8\nh100\n4096\nbf16\n0.490005\n");
	report.row = "inputs.nosuch";
	ck_assert_ptr_null(print("get"));
	ck_assert_has(why, "the input 'nosuch' was neither given nor assumed");
}
END_TEST

START_TEST(one_line_is_one_line)
{
	char *text = NULL;
	size_t n = 0;
	FILE *memory = open_memstream(&text, &n);

	report_json_line(memory, &report);
	fclose(memory);
	ck_assert_uint_eq(strcspn(text, "\n") + 1, n);
	free(text);
}
END_TEST

START_TEST(refusals_as_json)
{
	struct diag *d = diag_new(a);
	char *text = NULL;
	size_t n = 0;
	FILE *memory = open_memstream(&text, &n);

	diag_warning(d, (struct source){0}, "a warning is no refusal");
	diag_error(d, (struct source){"in \"x\"", 2, 7, NULL, false}, "wrong\n'thing' \\ \"quoted\"");
	diag_hint(d, "do that");
	report_json_errors(memory, "1.2", "toy", d);
	fclose(memory);
	cJSON *object = cJSON_ParseWithOpts(text, NULL, 1);
	const cJSON *errors = cJSON_GetObjectItemCaseSensitive(object, "errors");
	ck_assert_int_eq(cJSON_GetArraySize(errors), 1);
	ck_assert_str_eq(
	    cJSON_GetObjectItemCaseSensitive(errors->child, "message")->valuestring, "wrong\n'thing' \\ \"quoted\"");
	ck_assert_str_eq(cJSON_GetObjectItemCaseSensitive(errors->child, "file")->valuestring, "in \"x\"");
	ck_assert_int_eq(cJSON_GetObjectItemCaseSensitive(errors->child, "column")->valueint, 7);
	ck_assert_str_eq(cJSON_GetObjectItemCaseSensitive(errors->child, "hint")->valuestring, "do that");
	cJSON_Delete(object);
	free(text);
}
END_TEST

/* --- sweeps ---------------------------------------------------------------------------------------------- */

/* All points of a sweep in one format. */
static const char *
sweep(const char *format, const struct answer_point *points, size_t n)
{
	char *text = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&text, &length);
	struct points_report *p = points_report_new(format, &report, false);

	points_report_begin(p, memory);
	for (size_t i = 0; i < n; i++)
		points_report_add(p, memory, &points[i]);
	const bool ok = points_report_end(p, memory, why, sizeof why);
	fclose(memory);
	const char *copy = ok ? arena_copy(a, text, length) : NULL;
	free(text);
	return copy;
}

START_TEST(points_are_lines)
{
	static const char *names[] = {"gpus", "gpu"}, *one[] = {"8", "h100"}, *other[] = {"9", "none"};
	struct answer_point points[] = {point, {0}};

	struct diag *faults = diag_new(a);
	diag_error(faults, (struct source){0}, "there is no such thing");
	points[0].swept = (struct texts){2, one};
	points[1].swept = (struct texts){2, other};
	points[1].faults = faults;
	report.swept = (struct texts){2, names};
	ck_assert_str_eq(sweep("csv", points, 2),
	    "gpus,gpu,launch_s,step_s,unknown_s,endless_byte,verdict\n"
	    "8,h100,5e-06,0.490005,,inf,fits\n"
	    "9,none,,,,,\n");
	ck_assert_has(sweep("text", points, 2), "   9  none       -         -          -          -  -\n");
	report.row = "step_s";
	ck_assert_str_eq(sweep("get", points, 2), "0.490005\n-\n");
	report.row = "nosuch";
	ck_assert_ptr_null(sweep("get", points, 2));
	ck_assert_has(why, "no answer 'nosuch'");
	report.row = NULL;
	cJSON *object = cJSON_Parse(sweep("json", points, 2));
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "points");
	ck_assert_int_eq(cJSON_GetArraySize(list), 2);
	ck_assert(number_at(list->child, "answers", "step_s") == sheet_row(sh, sheet_find(sh, "step_s"))->value);
	const cJSON *refused = cJSON_GetArrayItem(list, 1);
	ck_assert_ptr_null(cJSON_GetObjectItemCaseSensitive(refused, "answers"));
	ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(refused, "errors")), 1);
	cJSON_Delete(object);
	/* sources are those of the first point that has any */
	points[1].sheet = sh;
	points[0].sheet = NULL;
	points[0].faults = faults;
	object = cJSON_Parse(sweep("json", points, 2));
	ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(object, "sources")), 2);
	cJSON_Delete(object);
	points[1].sheet = NULL;
	object = cJSON_Parse(sweep("json", points, 2));
	ck_assert_ptr_nonnull(object);
	cJSON_Delete(object);
}
END_TEST

/* A row that one point has twice and another once is the one of the same path at both. */
START_TEST(a_row_is_the_same_at_every_point)
{
	static const char *names[] = {"n"}, *values[][1] = {{"1"}, {"2"}};
	struct sheet *other = sheet_new();
	struct answer_point points[] = {
	    {.sheet = sh, .swept = {1, values[0]}}, {.sheet = other, .swept = {1, values[1]}}};

	LET(other, step_s, 7.0 * 1);
	SCOPE (other, "more") {
		LET(other, exchange_s, 1.0 * 1);
		sheet_let(other, "step_s", "8 * 1", 8.0);
		(void)exchange_s;
	}
	report.swept = (struct texts){1, names};
	report.row = "step_s";
	ck_assert_str_eq(sweep("get", points, 2), "0.490005\n7\n");
	sheet_free(other);
}
END_TEST

START_TEST(control_characters_are_shown)
{
	TOY_TELL(sh, bad, "bad", "\x1b[31mred\a\xc2\x9b\xff fine \xc3\xa9");
	report.title = "a\ntitle";
	ck_assert_has(print("text"), "a\\x0atitle\n");
	ck_assert_has(print("text"), "\\x1b[31mred\\x07\\xc2\\x9b\\xff fine \xc3\xa9");
	ck_assert_has(print("md"), "\\x1b[31mred");
	ck_assert_has(print("csv"), "\\x1b[31mred");
	ck_assert_has(print("json"), "\\u001b[31mred\\u0007");
	cJSON *parsed = cJSON_Parse(print("json"));
	ck_assert_ptr_nonnull(parsed);
	cJSON_Delete(parsed);
}
END_TEST

START_TEST(an_unknown_format)
{
	ck_assert_ptr_null(print("xml"));
}
END_TEST

Suite *report_suite(void);

Suite *
report_suite(void)
{
	Suite *s = suite_create("report");
	TCase *t = tcase_create("report");

	tcase_set_timeout(t, 60); /* sanitizers and busy machines */
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, text_is_aligned);
	tcase_add_test(t, quiet_text_has_no_lists);
	tcase_add_test(t, colour_marks_verdicts_only_when_asked);
	tcase_add_test(t, long_lists_are_folded);
	tcase_add_test(t, sentences_stand_below_one_another);
	tcase_add_test(t, two_tables_are_told_apart);
	tcase_add_test(t, csv_is_rfc_4180);
	tcase_add_test(t, markdown_tables);
	tcase_add_loop_test(t, one_number_is_got, 0, (int)(sizeof got / sizeof *got));
	tcase_add_test(t, a_row_that_is_not_there);
	tcase_add_test(t, a_row_is_derived);
	tcase_add_test(t, all_answers_are_derived);
	tcase_add_test(t, groups_are_derived);
	tcase_add_test(t, parameters_without_an_origin_are_given);
	tcase_add_test(t, json_has_every_row);
	tcase_add_test(t, json_has_answers_and_tables);
	tcase_add_test(t, names_of_answers);
	tcase_add_test(t, numbers_keep_all_their_digits);
	tcase_add_test(t, assumptions_name_their_inputs);
	tcase_add_test(t, get_knows_inputs);
	tcase_add_test(t, one_line_is_one_line);
	tcase_add_test(t, refusals_as_json);
	tcase_add_test(t, points_are_lines);
	tcase_add_test(t, a_row_is_the_same_at_every_point);
	tcase_add_test(t, control_characters_are_shown);
	tcase_add_test(t, an_unknown_format);
	suite_add_tcase(s, t);
	return s;
}
