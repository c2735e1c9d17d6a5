/* SPDX-License-Identifier: GPL-3.0-or-later */
/* YAML as a tree with places, and everything that a hostile or a careless file can hold. */
#include "db/tree.h"

#include "said.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
read_text(const char *text)
{
	return tree_read_text(a, d, "f.yaml", text, strlen(text));
}

static const struct node *
must_read(const char *text)
{
	const struct node *n = read_text(text);

	ck_assert_msg(n && diag_errors(d) == 0, "%s", said(a, d));
	return n;
}

static const char *
text_at(const struct node *root, const char *path)
{
	const struct node *n = tree_at(root, path);

	ck_assert_msg(n && n->kind == NODE_SCALAR, "no value at '%s'", path);
	return n->text;
}

/* --- reading --------------------------------------------------------------------------------------------- */

START_TEST(maps_lists_and_words)
{
	const struct node *n = must_read("name: H100\nmemory: {label: 80GB, list: [1, \"2\", three]}\n");

	ck_assert_int_eq(n->kind, NODE_MAP);
	ck_assert_uint_eq(n->n, 2);
	ck_assert_str_eq(text_at(n, "name"), "H100");
	ck_assert_str_eq(text_at(n, "memory.list.1"), "2");
	ck_assert(tree_at(n, "memory.list.1")->quoted);
	ck_assert(!tree_at(n, "memory.list.2")->quoted);
	ck_assert_uint_eq(tree_at(n, "memory.list")->n, 3);
	ck_assert_ptr_null(tree_at(n, "memory.list.3"));
	ck_assert_ptr_null(tree_at(n, "memory.list.x"));
	ck_assert_ptr_null(tree_at(n, "memory.list.-1"));
	ck_assert_ptr_null(tree_at(n, "name.x"));
	ck_assert_ptr_null(tree_at(n, "nothing"));
	ck_assert_ptr_eq(tree_at(n, ""), n);
	ck_assert_ptr_null(tree_get(NULL, "x"));
	ck_assert_ptr_null(tree_get(tree_get(n, "name"), "x"));
}
END_TEST

START_TEST(places_count_from_one)
{
	const struct node *n = must_read("name: H100\n\nmemory: {label: 80GB,\n  bandwidth: [3.35TB/s, ds]}\n");
	static const struct {
		const char *path;
		int line, column;
	} places[] = {{"", 1, 1}, {"name", 1, 7}, {"memory", 3, 9}, {"memory.label", 3, 17},
	    {"memory.bandwidth", 4, 14}, {"memory.bandwidth.1", 4, 25}};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const struct node *at = tree_at(n, places[i].path);
		ck_assert_str_eq(at->at.file, "f.yaml");
		ck_assert_msg(at->at.line == places[i].line && at->at.column == places[i].column, "'%s' at %d:%d",
		    places[i].path, at->at.line, at->at.column);
	}
	ck_assert_int_eq(n->keys[1]->at.line, 3);
	ck_assert_int_eq(n->keys[1]->at.column, 1);
}
END_TEST

START_TEST(null_is_no_text)
{
	const struct node *n = must_read("a:\nb: ~\nc: null\nd: \"\"\ne: 'null'\nf: Null\n");

	ck_assert_ptr_null(text_at(n, "a"));
	ck_assert_ptr_null(text_at(n, "b"));
	ck_assert_ptr_null(text_at(n, "c"));
	ck_assert_str_eq(text_at(n, "d"), "");
	ck_assert_str_eq(text_at(n, "e"), "null");
	ck_assert_str_eq(text_at(n, "f"), "Null");
}
END_TEST

START_TEST(aliases_repeat_a_value)
{
	const struct node *n = must_read("a: &x {p: 1}\nb: *x\nc: [&y 2, *y]\n");

	ck_assert_ptr_eq(tree_at(n, "a"), tree_at(n, "b"));
	ck_assert_str_eq(text_at(n, "c.1"), "2");
	/* the last anchor of a name is meant */
	n = must_read("a: &x 1\nb: &x 2\nc: *x\n");
	ck_assert_str_eq(text_at(n, "c"), "2");
}
END_TEST

/* YAML 1.1's merge key (yaml.org/type/merge.html): own keys win, then the maps of the list in their order. */
START_TEST(maps_are_merged)
{
	const struct node *n = must_read("one: &one {p: 1, q: 1}\n"
	                                 "two: &two {q: 2, r: 2}\n"
	                                 "alone: {<<: *one, q: 9}\n"
	                                 "early: {q: 9, <<: *one}\n"
	                                 "both: {<<: [*one, *two], s: 3}\n"
	                                 "other: {<<: [*two, *one]}\n"
	                                 "twice: {<<: *one, <<: *two}\n"
	                                 "quoted: {\"<<\": 1}\n"
	                                 "deep: {<<: {x: {y: 1}}}\n");
	static const struct {
		const char *path, *text;
	} values[] = {{"alone.p", "1"}, {"alone.q", "9"}, {"early.q", "9"}, {"early.p", "1"}, {"both.p", "1"},
	    {"both.q", "1"}, {"both.r", "2"}, {"both.s", "3"}, {"other.q", "2"}, {"other.p", "1"}, {"twice.q", "1"},
	    {"twice.r", "2"}, {"quoted.<<", "1"}, {"deep.x.y", "1"}};

	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		ck_assert_msg(strcmp(text_at(n, values[i].path), values[i].text) == 0, "%s is %s", values[i].path,
		    text_at(n, values[i].path));
	ck_assert_ptr_null(tree_at(n, "alone.<<"));
	ck_assert_uint_eq(tree_at(n, "both")->n, 4);
	/* what is merged keeps its own place */
	ck_assert_int_eq(tree_at(n, "alone.p")->at.line, 1);
}
END_TEST

START_TEST(signs_of_a_file)
{
	ck_assert_str_eq(text_at(must_read("\xef\xbb\xbf"
	                                   "a: 1\n"),
	                     "a"),
	    "1"); /* byte order mark */
	ck_assert_str_eq(text_at(must_read("a: 1\r\nb: 2\r\n"), "b"), "2");
	ck_assert_str_eq(text_at(must_read("%YAML 1.1\n---\na: 1\n...\n"), "a"), "1");
	ck_assert_str_eq(text_at(must_read("# only a comment before\na: 1"), "a"), "1");
	ck_assert_str_eq(text_at(must_read("a: |\n  two\n  lines\n"), "a"), "two\nlines\n");
	ck_assert_str_eq(text_at(must_read("a: gr\xc3\xbc"
	                                   "n\n"),
	                     "a"),
	    "gr\xc3\xbcn");
	ck_assert_str_eq(text_at(must_read("{\"json\": [1, true], \"is\": \"YAML\"}"), "json.1"), "true");
}
END_TEST

/* --- faults ---------------------------------------------------------------------------------------------- */

static const struct {
	const char *text, *place, *what;
} faults[] = {
    {"", "f.yaml:1:1:", "the file is empty"},
    {"# nothing\n", "f.yaml:1:1:", "the file is empty"},
    {"a: 1\na: 2\n", "f.yaml:2:1:", "the key 'a' is given twice"},
    {"a: {b: 1,\n    b: 2}\n", "f.yaml:2:5:", "the key 'b' is given twice"},
    {"a: &x {b: *x}\n", "f.yaml:1:11:", "the alias '*x' contains itself"},
    {"a: &x [1, *x]\n", "f.yaml:1:11:", "the alias '*x' contains itself"},
    {"a: *x\n", "f.yaml:1:4:", "the alias '*x' has no anchor"},
    {"a: {<<: 1}\n", "f.yaml:1:9:", "'<<' needs a map"},
    {"a: {<<: [1]}\n", "f.yaml:1:10:", "'<<' needs a map"},
    {"a: 1\n---\nb: 2\n", "f.yaml:2:1:", "second YAML document in the file"},
    {"? [1, 2]\n: 3\n", "f.yaml:1:3:", "a key must be a word"},
    {"? {a: 1}\n: 3\n", "f.yaml:1:3:", "a key must be a word"},
    {"~: 1\n", "f.yaml:1:1:", "a key must be a word"},
    {"? \n: 1\n", "f.yaml:1:", "a key must be a word"},
    {"a: \"x\\0y\"\n", "f.yaml:1:4:", "a NUL byte"},
    {"a: [1, 2\n", "f.yaml:2:1:", "not valid YAML"},
    {"a: {b: 1\n", "f.yaml:2:1:", "not valid YAML"},
    {"a: \"open\n", "f.yaml:2:1:", "not valid YAML"},
    {"a: b: c\n", "f.yaml:1:5:", "not valid YAML"},
    {"a:\n\t- 1\n", "f.yaml:2:1:", "not valid YAML"},
    {"a: 1\n b: 2\n", "f.yaml:2:3:", "not valid YAML"},
    {"a: @x\n", "f.yaml:1:4:", "not valid YAML"},
    {"a: `x`\n", "f.yaml:1:4:", "not valid YAML"},
    {"a: \x01\n", "f.yaml:", "not a text file"},
    {"a: \xff\xfe\n", "f.yaml:", "not a text file"},
    {"\x7f"
     "ELF\x02\x01\x01",
        "f.yaml:", "not a text file"},
    {"a: \xc3\n", "f.yaml:", "not a text file"},
};

START_TEST(faults_have_places)
{
	ck_assert_msg(!read_text(faults[_i].text), "was read: %s", faults[_i].text);
	ck_assert_has(said(a, d), faults[_i].place);
	ck_assert_has(said(a, d), faults[_i].what);
	ck_assert_has(said(a, d), "hint: ");
}
END_TEST

START_TEST(a_duplicate_names_both_places)
{
	ck_assert_ptr_null(read_text("sms: 1\nname: x\nsms: 2\n"));
	ck_assert_has(said(a, d), "f.yaml:3:1: error: the key 'sms' is given twice in this map");
	ck_assert_has(said(a, d), "the first one is in line 1");
}
END_TEST

START_TEST(all_duplicates_in_one_run)
{
	ck_assert_ptr_null(read_text("a: 1\na: 2\nb: {c: 1, c: 2}\na: 3\n"));
	ck_assert_int_eq(diag_errors(d), 3);
}
END_TEST

START_TEST(a_merged_key_is_no_duplicate)
{
	ck_assert_ptr_nonnull(read_text("x: &x {a: 1}\ny: {a: 2, <<: *x}\n"));
	ck_assert_ptr_null(read_text("x: &x {a: 1}\ny: {a: 2, <<: *x, a: 3}\n"));
}
END_TEST

START_TEST(a_nul_in_the_text)
{
	static const char text[] = "a: 1\nb: \0 2\n";

	ck_assert_ptr_null(tree_read_text(a, d, "f.yaml", text, sizeof text - 1));
	ck_assert_has(said(a, d), "not a text file");
}
END_TEST

/* --- bounds ---------------------------------------------------------------------------------------------- */

static char *
repeat(const char *piece, size_t times)
{
	const size_t n = strlen(piece);
	char *text = malloc(n * times + 1);

	for (size_t i = 0; i < times; i++)
		memcpy(text + i * n, piece, n);
	text[n * times] = '\0';
	return text;
}

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Refused, and soon.  The limit leaves room for sanitizers; without them all of these take milliseconds. */
static void
refused_soon(const char *text, const char *what)
{
	const double begin = seconds();

	ck_assert_ptr_null(read_text(text));
	ck_assert_has(said(a, d), what);
	ck_assert_has(said(a, d), "hint: ");
	ck_assert_msg(seconds() - begin < 5, "took %.1f s", seconds() - begin);
}

/* Nine lists of nine aliases each: 9^9 values from 500 bytes. */
START_TEST(billion_laughs)
{
	char text[2000] = "a: &a [x, x, x, x, x, x, x, x, x]\n";
	const double begin = seconds();

	for (char c = 'b'; c <= 'i'; c++) {
		char line[100];
		snprintf(line, sizeof line, "%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c - 1,
		    c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
		strcat(text, line);
	}
	refused_soon(text, "aliases expand to too many nodes");
	ck_assert_msg(seconds() - begin < 0.1, "took %.3f s", seconds() - begin);
}
END_TEST

START_TEST(billion_laughs_in_maps)
{
	char text[4000] = "a: &a {k: x}\n";

	for (char c = 'b'; c <= 'z'; c++) {
		char line[100];
		snprintf(line, sizeof line, "%c: &%c {<<: [*%c, *%c], p: *%c, q: *%c, r: *%c}\n", c, c, c - 1, c - 1,
		    c - 1, c - 1, c - 1);
		strcat(text, line);
	}
	refused_soon(text, "aliases expand to too many nodes");
}
END_TEST

START_TEST(depth)
{
	static const char *const open[] = {"[", "{a: ", "- ", "? "};

	for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
		char *text = repeat(open[i], 100000);
		diag_clear(d);
		const double begin = seconds();
		ck_assert_ptr_null(read_text(text));
		ck_assert_has(said(a, d), "f.yaml:1:");
		ck_assert_msg(seconds() - begin < 5, "'%s' took %.1f s", open[i], seconds() - begin);
		free(text);
	}
	char text[300] = "";
	for (int i = 0; i < 65; i++)
		strcat(text, "[");
	diag_clear(d);
	ck_assert_ptr_null(read_text(strcat(text, "]")));
	ck_assert_has(said(a, d), "not valid YAML"); /* the end is missing: the depth is allowed */
	memset(text, '[', 70);
	memset(text + 70, ']', 70);
	text[140] = '\0';
	diag_clear(d);
	ck_assert_ptr_null(read_text(text));
	ck_assert_has(said(a, d), "f.yaml:1:66: error: nested too deeply");
	memset(text, '[', 60);
	memset(text + 60, ']', 60);
	text[120] = '\0';
	diag_clear(d);
	must_read(text);
}
END_TEST

START_TEST(a_huge_text)
{
	char *text = repeat("# nine by\n", 900000);

	refused_soon(text, "larger than 8 MiB");
	free(text);
}
END_TEST

START_TEST(too_many_nodes)
{
	char *items = repeat("1,", 500000);
	char *text = malloc(strlen(items) + 3);

	sprintf(text, "[%s]", items);
	refused_soon(text, "too many nodes");
	free(items);
	free(text);
}
END_TEST

/* Keys are compared with those before them: their number is bounded. */
START_TEST(too_many_keys)
{
	const size_t n = 200000;
	char *text = malloc(n * 12), *p = text;

	for (size_t i = 0; i < n; i++)
		p += sprintf(p, "k%zu: 1\n", i);
	refused_soon(text, "the map has too many keys");
	free(text);
}
END_TEST

START_TEST(too_many_anchors)
{
	const size_t n = 100000;
	char *text = malloc(n * 30), *p = text;

	for (size_t i = 0; i < n; i++)
		p += sprintf(p, "- &a%zu x\n- *a%zu\n", i, i / 2);
	refused_soon(text, "too many anchors");
	free(text);
}
END_TEST

START_TEST(many_aliases)
{
	char *aliases = repeat("*x,", 2500000);
	char *text = malloc(strlen(aliases) + 30);

	sprintf(text, "a: &x 1\nb: [%s]\n", aliases);
	refused_soon(text, "aliases expand to too many nodes");
	free(aliases);
	free(text);
}
END_TEST

START_TEST(a_large_honest_file)
{
	char *text = repeat("- {name: x, value: 3}\n", 50000);
	const struct node *n = must_read(text);

	ck_assert_uint_eq(n->n, 50000);
	free(text);
}
END_TEST

/* --- files ----------------------------------------------------------------------------------------------- */

START_TEST(files_that_cannot_be_read)
{
	static const struct {
		const char *path, *what;
	} files[] = {{"/nonexistent/x.yaml", "cannot read '/nonexistent/x.yaml': No such file or directory"},
	    {"/", "cannot read '/': Is a directory"}, {"/dev/null", "the file is empty"},
	    {"/dev/zero", "larger than 8 MiB"}};

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		diag_clear(d);
		ck_assert_ptr_null(tree_read_file(a, d, files[i].path));
		ck_assert_has(said(a, d), files[i].what);
	}
}
END_TEST

START_TEST(a_file_without_permission)
{
	char path[] = "/tmp/ridge-test-XXXXXX";
	const int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	chmod(path, 0);
	ck_assert_ptr_null(tree_read_file(a, d, path));
	/* the superuser may read it, and it is empty */
	ck_assert_has(said(a, d), geteuid() ? "Permission denied" : "the file is empty");
	unlink(path);
}
END_TEST

START_TEST(a_file)
{
	char path[] = "/tmp/ridge-test-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");

	ck_assert_ptr_nonnull(file);
	for (int i = 0; i < 10000; i++) /* longer than the first buffer */
		fprintf(file, "- line %d\n", i);
	fclose(file);
	const struct node *n = tree_read_file(a, d, path);
	unlink(path);
	ck_assert_ptr_nonnull(n);
	ck_assert_uint_eq(n->n, 10000);
	ck_assert_str_eq(n->items[9999]->text, "line 9999");
	ck_assert_int_eq(n->items[9999]->at.line, 10000);
	ck_assert_str_eq(n->at.file, path);
}
END_TEST

/* --- editing --------------------------------------------------------------------------------------------- */

static const struct node *
put(const struct node *root, const char *path, const char *text)
{
	return tree_with(a, root, path, tree_scalar(a, text, (struct source){"command line", 0, 0, NULL, false}));
}

START_TEST(a_value_is_replaced_and_the_old_tree_stays)
{
	const struct node *old = must_read("memory: {label: 80GB, type: HBM3}\nlist: [1, 2]\n");
	const struct node *n = put(old, "memory.label", "40GB");

	ck_assert_str_eq(text_at(n, "memory.label"), "40GB");
	ck_assert_str_eq(tree_at(n, "memory.label")->at.file, "command line");
	ck_assert_str_eq(text_at(n, "memory.type"), "HBM3");
	ck_assert_str_eq(text_at(old, "memory.label"), "80GB");
	n = put(n, "memory.new.deep", "x");
	ck_assert_str_eq(text_at(n, "memory.new.deep"), "x");
	ck_assert_ptr_null(tree_at(old, "memory.new"));
	n = put(n, "list.1", "9");
	ck_assert_str_eq(text_at(n, "list.1"), "9");
	ck_assert_str_eq(text_at(old, "list.1"), "2");
	ck_assert_str_eq(text_at(put(NULL, "a.b", "1"), "a.b"), "1");
}
END_TEST

/* `gpu: h100` and then gpu.memory.bandwidth: the name stays. */
START_TEST(a_name_beside_an_overlay)
{
	const struct node *n = put(put(NULL, "gpu", "h100"), "gpu.memory.bandwidth", "3TB/s");

	ck_assert_str_eq(text_at(n, "gpu.name"), "h100");
	ck_assert_str_eq(text_at(n, "gpu.memory.bandwidth"), "3TB/s");
	n = put(put(NULL, "gpu.memory.bandwidth", "3TB/s"), "gpu", "h100");
	ck_assert_str_eq(text_at(n, "gpu.name"), "h100");
	ck_assert_str_eq(text_at(n, "gpu.memory.bandwidth"), "3TB/s");
	n = put(n, "gpu", "a100");
	ck_assert_str_eq(text_at(n, "gpu.name"), "a100");
}
END_TEST

START_TEST(trees_are_laid_over)
{
	const struct node *base = must_read("a: {x: 1, y: 2}\nb: [1, 2, 3]\nc: 1\n");
	const struct node *over = must_read("a: {y: 9, z: 8}\nb: [7]\nd: {e: 5}\n");
	const struct node *n = tree_overlay(a, base, over);

	ck_assert_str_eq(text_at(n, "a.x"), "1");
	ck_assert_str_eq(text_at(n, "a.y"), "9");
	ck_assert_str_eq(text_at(n, "a.z"), "8");
	ck_assert_uint_eq(tree_at(n, "b")->n, 1);
	ck_assert_str_eq(text_at(n, "c"), "1");
	ck_assert_str_eq(text_at(n, "d.e"), "5");
	ck_assert_uint_eq(n->n, 4);
	ck_assert_str_eq(text_at(base, "a.y"), "2");
	ck_assert_uint_eq(base->n, 3);
	ck_assert_ptr_eq(tree_overlay(a, base, NULL), base);
	ck_assert_ptr_eq(tree_overlay(a, NULL, over), over);
}
END_TEST

Suite *tree_suite(void);

Suite *
tree_suite(void)
{
	Suite *s = suite_create("tree");
	TCase *t = tcase_create("tree");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, maps_lists_and_words);
	tcase_add_test(t, places_count_from_one);
	tcase_add_test(t, null_is_no_text);
	tcase_add_test(t, aliases_repeat_a_value);
	tcase_add_test(t, maps_are_merged);
	tcase_add_test(t, signs_of_a_file);
	tcase_add_loop_test(t, faults_have_places, 0, (int)(sizeof faults / sizeof *faults));
	tcase_add_test(t, a_duplicate_names_both_places);
	tcase_add_test(t, all_duplicates_in_one_run);
	tcase_add_test(t, a_merged_key_is_no_duplicate);
	tcase_add_test(t, a_nul_in_the_text);
	tcase_add_test(t, billion_laughs);
	tcase_add_test(t, billion_laughs_in_maps);
	tcase_add_test(t, depth);
	tcase_add_test(t, a_huge_text);
	tcase_add_test(t, too_many_nodes);
	tcase_add_test(t, too_many_keys);
	tcase_add_test(t, too_many_anchors);
	tcase_add_test(t, many_aliases);
	tcase_add_test(t, a_large_honest_file);
	tcase_add_test(t, files_that_cannot_be_read);
	tcase_add_test(t, a_file_without_permission);
	tcase_add_test(t, a_file);
	tcase_add_test(t, a_value_is_replaced_and_the_old_tree_stays);
	tcase_add_test(t, a_name_beside_an_overlay);
	tcase_add_test(t, trees_are_laid_over);
	suite_add_tcase(s, t);
	return s;
}
