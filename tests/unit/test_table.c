/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of CSV, lines of numbers, YAML and JSON; what is no table. */
#include "import/import.h"

#include "unit/said.h"

#include <unistd.h>

/* The text as a file with this ending, read. */
static bool
read_as(struct arena *a, struct diag *d, const char *ending, const char *text, size_t length, struct table *t)
{
	char path[] = "/tmp/ridge-table-XXXXXX";
	const int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	const char *name = arena_printf(a, "%s%s", path, ending);
	FILE *file = fdopen(fd, "wb");
	ck_assert_ptr_nonnull(file);
	fwrite(text, 1, length, file);
	fclose(file);
	ck_assert_int_eq(rename(path, name), 0);
	const bool ok = table_read_file(a, d, name, "steps", t);
	unlink(name);
	return ok;
}

static const struct {
	const char *ending, *text;
	size_t n_columns, n_lines;
	const char *head, *first, *last; /* of the first column, the first and the last cell; "" is an empty one */
} tables[] = {
    {".csv", "a,b\n1,2\n3,4\n", 2, 2, "a", "1", "4"},
    {".csv", "a,b\r\n1,2\r\n3,4\r\n", 2, 2, "a", "1", "4"},
    {".csv",
        "\xef\xbb\xbf"
        "a,b\n1,2",
        2, 1, "a", "1", "2"},
    {".csv", "# note\n\na,b\n\n1,2\n# more\n3,4", 2, 2, "a", "1", "4"},
    {".csv", "name, of what\n\"x, y\",\"he said \"\"no\"\"\"\n", 2, 1, "name", "x, y", "he said \"no\""},
    {".csv", "a;b\n1;2\n", 2, 1, "a", "1", "2"},
    {".csv", "a\tb\n1\t\n", 2, 1, "a", "1", ""},
    {".csv", "time [ms],n\n5,1\n6ms,2\n", 2, 2, "time", "5ms", "2"},
    {".csv", "a,b,c\n1\n", 3, 1, "a", "1", ""},
    {".csv", "1,2\n3,4\n", 2, 2, NULL, "1", "4"},
    {".txt", "3\n4\n5\n", 1, 3, NULL, "3", "5"},
    {".txt", "0 8.50\n100   8.52\n", 2, 2, NULL, "0", "8.52"},
    {".txt", "  0 8.50 \n", 2, 1, NULL, "0", "8.50"},
    {".yaml", "- {a: 1, b: 2}\n- {a: 3, c: 4}\n", 3, 2, "a", "1", "4"},
    {".yaml", "steps:\n  - {a: 1}\n  - {a: 2}\n", 1, 2, "a", "1", "2"},
    {".yaml", "[5, 6, 7]\n", 1, 3, NULL, "5", "7"},
    {".json", "{\"steps\": [{\"a\": 1}, {\"a\": 2.5}]}", 1, 2, "a", "1", "2.5"},
};

START_TEST(tables_are_read)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct table t;

	ck_assert_msg(read_as(a, d, tables[_i].ending, tables[_i].text, strlen(tables[_i].text), &t), "%s", said(a, d));
	ck_assert_uint_eq(t.n_columns, tables[_i].n_columns);
	ck_assert_uint_eq(t.n_lines, tables[_i].n_lines);
	if (tables[_i].head)
		ck_assert_str_eq(t.heads[0], tables[_i].head);
	else
		ck_assert_ptr_null(t.heads);
	const struct cell *last = table_cell(&t, t.n_lines - 1, t.n_columns - 1);
	ck_assert_str_eq(table_cell(&t, 0, 0)->text, tables[_i].first);
	ck_assert_str_eq(last->text ? last->text : "", tables[_i].last);
	arena_free(a);
}
END_TEST

START_TEST(cells_have_places)
{
	static const char text[] = "# note\nstep,time\n\nx,5\n\"two\nlines\",6\ny,7\n";
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct table t;

	ck_assert(read_as(a, d, ".csv", text, sizeof text - 1, &t));
	ck_assert_int_eq(table_cell(&t, 0, 1)->at.line, 4);
	ck_assert_int_eq(table_cell(&t, 0, 1)->at.column, 3);
	ck_assert_int_eq(table_cell(&t, 2, 0)->at.line, 7);
	ck_assert_uint_eq(table_column(&t, "Time"), 1);
	ck_assert_uint_eq(table_column(&t, "cost"), t.n_columns);
	arena_free(a);
}
END_TEST

static const struct {
	const char *ending, *text, *says;
} broken[] = {
    {".csv", "", "empty"},
    {".csv", "a,b\n", "empty"},
    {".csv", "a,b\n1,2,3\n", ":2:5: error: this line has more cells"},
    {".csv", "a,b\n\"1,2\n", ":2:1: error: unclosed quote"},
    {".csv", "a,b\n\"1\"x,2\n", "text after the closing quote"},
    {".yaml", "a: 1\n", "has no list 'steps'"},
    {".yaml", "steps: 5\n", "expected a list"},
    {".yaml", "- 5\n- {a: 1}\n", "not of the same kind"},
    {".yaml", "- {a: [1]}\n", "must be one value"},
    {".yaml", "- {a: 1\n", "not valid YAML"},
};

START_TEST(no_tables)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct table t;

	ck_assert(!read_as(a, d, broken[_i].ending, broken[_i].text, strlen(broken[_i].text), &t));
	ck_assert_has(said(a, d), broken[_i].says);
	ck_assert_has(said(a, d), "hint:");
	arena_free(a);
}
END_TEST

START_TEST(no_text)
{
	static const char zero[] = "a,b\n1,\0002\n", quoted[] = "a,b\n1,\"\0\"\n";
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct table t;

	ck_assert(!read_as(a, d, ".csv", zero, sizeof zero - 1, &t));
	ck_assert(!read_as(a, d, ".csv", quoted, sizeof quoted - 1, &t));
	ck_assert_has(said(a, d), "not a text file");
	ck_assert(!table_read_file(a, d, "/nowhere/none.csv", "steps", &t));
	ck_assert_has(said(a, d), "cannot read '/nowhere/none.csv'");
	arena_free(a);
}
END_TEST

Suite *table_suite(void);

Suite *
table_suite(void)
{
	Suite *s = suite_create("table");
	TCase *c = tcase_create("table");

	tcase_add_loop_test(c, tables_are_read, 0, sizeof tables / sizeof *tables);
	tcase_add_test(c, cells_have_places);
	tcase_add_loop_test(c, no_tables, 0, sizeof broken / sizeof *broken);
	tcase_add_test(c, no_text);
	suite_add_tcase(s, c);
	return s;
}
