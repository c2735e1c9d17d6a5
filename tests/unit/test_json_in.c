/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON as the same tree that YAML gives. */
#include "import/import.h"

#include "said.h"

#include <time.h>

static struct arena *a;
static struct diag *d;

static void
set_up(void)
{
	a = arena_new();
	d = diag_new(a);
}

static void
tear_down(void)
{
	arena_free(a);
}

static const struct node *
read_bytes(const char *text, size_t length)
{
	return json_read(a, d, (struct source){"in.json", 3, 1, NULL, false}, text, length);
}

static const char *
text_at(const struct node *root, const char *path)
{
	const struct node *n = tree_at(root, path);

	ck_assert_msg(n && n->kind == NODE_SCALAR, "no value at '%s'", path);
	return n->text;
}

START_TEST(values)
{
	static const char text[] =
	    " {\"model\": \"llama3-70b\", \"batch\": 32, \"share\": 0.1, \"big\": 1e21, \"sp\": true, "
	    "\"off\": false, \"none\": null, \"layout\": {\"tp\": 8}, \"list\": [1, \"x\", []], "
	    "\"escaped\": \"a\\\"\\u00fc\\n\"}\n";
	const struct node *n = read_bytes(text, sizeof text - 1);

	ck_assert_msg(n, "%s", said(a, d));
	ck_assert_int_eq(n->kind, NODE_MAP);
	ck_assert_str_eq(text_at(n, "model"), "llama3-70b");
	ck_assert_str_eq(text_at(n, "batch"), "32");
	ck_assert_str_eq(text_at(n, "share"), "0.1");
	ck_assert(strtod(text_at(n, "big"), NULL) == 1e21);
	ck_assert_str_eq(text_at(n, "sp"), "true");
	ck_assert_str_eq(text_at(n, "off"), "false");
	ck_assert_ptr_null(text_at(n, "none"));
	ck_assert_str_eq(text_at(n, "layout.tp"), "8");
	ck_assert_str_eq(text_at(n, "list.1"), "x");
	ck_assert_uint_eq(tree_at(n, "list.2")->n, 0);
	ck_assert_str_eq(text_at(n, "escaped"), "a\"\xc3\xbc\n");
	ck_assert_str_eq(tree_at(n, "layout.tp")->at.file, "in.json");
	ck_assert_int_eq(tree_at(n, "layout.tp")->at.line, 3);
	ck_assert_int_eq(tree_at(n, "layout.tp")->at.column, 1 + (int)(strstr(text, "8}") - text));
	ck_assert_int_eq(tree_at(n, "none")->at.column, 1 + (int)(strstr(text, "null") - text));
	ck_assert_int_eq(tree_at(n, "escaped")->at.column, 1 + (int)(strstr(text, "\"a\\") - text));
}
END_TEST

static const struct {
	const char *text, *place, *what;
} faults[] = {
    {"", "in.json:3:1:", "not valid JSON"},
    {"   ", "in.json:3:", "not valid JSON"},
    {"{\"a\": }", "in.json:3:7:", "not valid JSON"},
    {"{\"a\": 1", "in.json:3:", "not valid JSON"},
    {"{\n\"a\" 1}", "in.json:4:5:", "not valid JSON"},
    {"{a: 1}", "in.json:3:", "not valid JSON"},
    {"{'a': 1}", "in.json:3:", "not valid JSON"},
    {"[1,]", "in.json:3:4:", "not valid JSON"},
    {"nul", "in.json:3:1:", "not valid JSON"},
    {"NaN", "in.json:3:1:", "not valid JSON"},
    {"{\"a\": NaN}", "in.json:3:7:", "not valid JSON"},
    {"{\"a\": 1} x", "in.json:3:10:", "extra text after the JSON value"},
    {"{} {}", "in.json:3:4:", "extra text after the JSON value"},
    {"{\"a\": 1e999}", "in.json:3:7:", "a number is out of range"},
    {"{\"a\": -1e999}", "in.json:3:7:", "a number is out of range"},
    {"{\"a\": 1, \"b\": 2, \"a\": 3}", "in.json:3:18:", "the key 'a' is given twice"},
    {"{\"x\": {\"a\": 1, \"a\": 3}}", "in.json:3:16:", "the key 'a' is given twice"},
    {"{\"a\": 01}", "in.json:3:7:", "write numbers as"},
    {"{\"a\": 1.}", "in.json:3:7:", "write numbers as"},
    {"[1, -.5]", "in.json:3:5:", "write numbers as"},
    {"[1,\n 2e]", "in.json:4:3:", "not valid JSON"},
    {"{\"a\": \"x\ty\"}", "in.json:3:9:", "a control character"},
    {"{\"a\": \"x\\u0000y\"}", "in.json:3:9:", "a NUL"},
    {"{\"a\\u0000b\": 1}", "in.json:3:4:", "a NUL"},
    {"{\"a\": \"\\ud800\"}", "in.json:3:", "not valid JSON"},
    {"\"open", "in.json:3:", "not valid JSON"},
};

START_TEST(faults_have_places)
{
	ck_assert_msg(!read_bytes(faults[_i].text, strlen(faults[_i].text)), "was read: %s", faults[_i].text);
	ck_assert_has(said(a, d), faults[_i].place);
	ck_assert_has(said(a, d), faults[_i].what);
	ck_assert_has(said(a, d), "hint: ");
}
END_TEST

START_TEST(a_text_without_a_place_begins_in_line_one)
{
	ck_assert_ptr_null(json_read(a, d, (struct source){"whole.json", 0, 0, NULL, false}, "{\n  x}", 7));
	ck_assert_has(said(a, d), "whole.json:2:");
}
END_TEST

START_TEST(a_nul_byte)
{
	static const char text[] = "{\"a\": 1}\0{\"b\": 2}";

	ck_assert_ptr_null(read_bytes(text, sizeof text - 1));
	ck_assert_has(said(a, d), "extra text after");
}
END_TEST

/* The text need not end in a NUL. */
START_TEST(the_length_is_kept)
{
	static const char text[] = {'[', '1', '2', ']', '3', '4'};

	ck_assert_str_eq(text_at(read_bytes(text, 4), "0"), "12");
	ck_assert_ptr_null(read_bytes(text, 3));
}
END_TEST

START_TEST(depth)
{
	char *text = malloc(300001);

	memset(text, '[', 60);
	memset(text + 60, ']', 60);
	ck_assert_ptr_nonnull(read_bytes(text, 120));
	memset(text, '[', 80);
	memset(text + 80, ']', 80);
	ck_assert_ptr_null(read_bytes(text, 160));
	ck_assert_has(said(a, d), "nested too deeply");
	memset(text, '[', 300000);
	diag_clear(d);
	ck_assert_ptr_null(read_bytes(text, 300000));
	ck_assert_int_eq(diag_errors(d), 1);
	free(text);
}
END_TEST

START_TEST(size_and_keys)
{
	const size_t huge = 9 << 20;
	char *text = malloc(huge), *p = text;
	struct timespec begin, end;

	memset(text, ' ', huge);
	ck_assert_ptr_null(read_bytes(text, huge));
	ck_assert_has(said(a, d), "longer than 8 MiB");
	diag_clear(d);
	*p++ = '{';
	for (int i = 0; i < 300000; i++)
		p += sprintf(p, "%s\"k%d\":1", i ? "," : "", i);
	*p++ = '}';
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	ck_assert_ptr_null(read_bytes(text, (size_t)(p - text)));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	ck_assert_has(said(a, d), "too many keys");
	ck_assert_int_lt(end.tv_sec - begin.tv_sec, 5);
	free(text);
}
END_TEST

Suite *json_in_suite(void);

Suite *
json_in_suite(void)
{
	Suite *s = suite_create("json_in");
	TCase *t = tcase_create("json_in");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, values);
	tcase_add_loop_test(t, faults_have_places, 0, (int)(sizeof faults / sizeof *faults));
	tcase_add_test(t, a_text_without_a_place_begins_in_line_one);
	tcase_add_test(t, a_nul_byte);
	tcase_add_test(t, the_length_is_kept);
	tcase_add_test(t, depth);
	tcase_add_test(t, size_and_keys);
	suite_add_tcase(s, t);
	return s;
}
