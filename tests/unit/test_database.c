/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries are found by name, in the first directory that has them. */
#include "db/db.h"

#include "base/base.h"
#include "said.h"
#include "unit/environment.h"

#include <sys/stat.h>
#include <unistd.h>

static struct arena *a;
static struct diag *d;
static char place[40];
static struct environment before;

/* Two databases, a user's data directory, nothing from outside. */
static void
set_up(void)
{
	static const char *const folders[] = {"one", "one/gpus", "one/links", "one/systems", "one/models", "two",
	    "two/hwdb", "two/hwdb/gpus", "two/workloads", "two/workloads/models", "data", "data/ridge",
	    "data/ridge/gpus"};
	char path[100];

	before = environment_keep();
	a = arena_new();
	d = diag_new(a);
	strcpy(place, "/tmp/ridge-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(place));
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, sizeof path, "%s/%s", place, folders[i]);
		ck_assert_int_eq(mkdir(path, 0700), 0);
	}
	unsetenv("RIDGE_HWDB");
	setenv("XDG_DATA_HOME", "/nonexistent", 1);
	setenv("HOME", "/nonexistent", 1);
}

static void
tear_down(void)
{
	char command[80];

	snprintf(command, sizeof command, "rm -rf %s", place);
	environment_put_back(&before);
	ck_assert_int_eq(system(command), 0);
	arena_free(a);
}

static const char *
in_place(const char *path)
{
	return arena_printf(a, "%s/%s", place, path);
}

static void
write_text(const char *path, const char *text)
{
	FILE *file = fopen(in_place(path), "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static const char *
gpu_text(const char *name, const char *aliases, const char *bandwidth)
{
	return arena_printf(a,
	    "format: 1\nname: %s\naliases: [%s]\narchitecture: hopper\nmemory: {bandwidth: %s}\n"
	    "peak: {bf16: 1TFLOP/s}\n",
	    name, aliases, bandwidth);
}

static struct database *
open_at(const char *directory)
{
	return database_new(a, d, directory ? in_place(directory) : NULL);
}

static const struct gpu *
find(struct database *db, const char *name, const char **announce)
{
	return database_gpu(db, name, NULL, (struct source){"--gpu", 0, 0, NULL, false}, announce);
}

/* --- names ----------------------------------------------------------------------------------------------- */

START_TEST(case_and_punctuation_do_not_count)
{
	static const char *const spellings[] = {
	    "my-gpu-80gb", "MY-GPU-80GB", "mygpu80gb", "My GPU 80 GB", "my_gpu.80gb"};
	const char *said_of;

	write_text("one/gpus/my-gpu-80gb.yaml", gpu_text("Mine", "", "1TB/s"));
	struct database *db = open_at("one");
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		const struct gpu *gpu = find(db, spellings[i], &said_of);
		ck_assert_msg(gpu, "%s: %s", spellings[i], said(a, d));
		ck_assert_str_eq(gpu->id, "my-gpu-80gb");
		ck_assert_ptr_null(said_of);
	}
	ck_assert_ptr_null(find(db, "my-gpu-80", &said_of));
}
END_TEST

START_TEST(an_alias_is_announced)
{
	const char *said_of;

	write_text("one/gpus/zz-sxm-80gb.yaml", gpu_text("Mine", "zz, \"ZZ 80\"", "1TB/s"));
	struct database *db = open_at("one");
	ck_assert_str_eq(find(db, "ZZ", &said_of)->id, "zz-sxm-80gb");
	ck_assert_str_eq(said_of, "ZZ = zz-sxm-80gb");
	ck_assert_str_eq(find(db, "zz-80", &said_of)->id, "zz-sxm-80gb");
	ck_assert_str_eq(said_of, "zz-80 = zz-sxm-80gb");
	ck_assert_str_eq(find(db, "zz-sxm-80gb", &said_of)->id, "zz-sxm-80gb");
	ck_assert_ptr_null(said_of);
}
END_TEST

/* The shipped entry's alias is known to the program; a file that no longer has it is not taken for it. */
START_TEST(a_hint_is_believed_only_when_the_file_agrees)
{
	const char *said_of;

	write_text("one/gpus/h100-sxm5-80gb.yaml", gpu_text("Not that one", "other", "1TB/s"));
	write_text("one/gpus/mine.yaml", gpu_text("Mine", "h100", "2TB/s"));
	struct database *db = open_at("one");
	ck_assert_str_eq(find(db, "h100", &said_of)->id, "mine");
}
END_TEST

START_TEST(a_file_name_outranks_an_alias)
{
	const char *said_of;

	write_text("one/gpus/aa.yaml", gpu_text("First", "bb", "1TB/s"));
	write_text("one/gpus/bb.yaml", gpu_text("Second", "", "2TB/s"));
	ck_assert_str_eq(find(open_at("one"), "bb", &said_of)->name, "Second");
}
END_TEST

START_TEST(unknown_names_get_a_suggestion)
{
	const char *said_of;

	write_text("one/gpus/mygpu-sxm.yaml", gpu_text("Mine", "", "1TB/s"));
	struct database *db = open_at("one");
	ck_assert_ptr_null(find(db, "mygpu-sxn", &said_of));
	ck_assert_has(said(a, d), "--gpu: error: there is no GPU 'mygpu-sxn'");
	ck_assert_has(said(a, d), "did you mean 'mygpu-sxm'?");
	diag_clear(d);
	ck_assert_ptr_null(find(db, "qqqqqq", &said_of));
	ck_assert_has(said(a, d), "'ridge hw list' shows all");
	diag_clear(d);
	ck_assert_ptr_null(find(db, "", &said_of));
	ck_assert_int_eq(diag_errors(d), 1);
	diag_clear(d);
	ck_assert_ptr_null(database_model(db, "nothing", NULL, (struct source){0}, &said_of));
	/* nothing is found, unless ridge is installed on this machine */
	if (!strstr(said(a, d), "there is no model 'nothing'")) {
		ck_assert_has(said(a, d), "no database of models found");
		ck_assert_has(said(a, d), "RIDGE_HWDB");
	}
}
END_TEST

/* --- directories ----------------------------------------------------------------------------------------- */

START_TEST(the_first_directory_has_it)
{
	const char *said_of;

	write_text("one/gpus/mine.yaml", gpu_text("option", "", "1TB/s"));
	write_text("two/hwdb/gpus/mine.yaml", gpu_text("environment", "", "2TB/s"));
	write_text("two/hwdb/gpus/other.yaml", gpu_text("other", "", "2TB/s"));
	write_text("data/ridge/gpus/mine.yaml", gpu_text("user", "", "3TB/s"));
	write_text("data/ridge/gpus/third.yaml", gpu_text("third", "", "3TB/s"));
	setenv("RIDGE_HWDB", in_place("two"), 1);
	setenv("XDG_DATA_HOME", in_place("data"), 1);
	struct database *db = open_at("one");
	ck_assert_str_eq(find(db, "mine", &said_of)->name, "option");
	ck_assert_str_eq(find(db, "other", &said_of)->name, "other");
	ck_assert_str_eq(find(db, "third", &said_of)->name, "third");
	ck_assert_str_eq(database_path(db, ENTRY_GPU, "mine"), in_place("one/gpus/mine.yaml"));
	db = open_at(NULL);
	ck_assert_str_eq(find(db, "mine", &said_of)->name, "environment");
	unsetenv("RIDGE_HWDB");
	db = open_at(NULL);
	ck_assert_str_eq(find(db, "mine", &said_of)->name, "user");
	unsetenv("XDG_DATA_HOME");
	setenv("HOME", in_place("home"), 1);
	ck_assert_ptr_null(find(open_at(NULL), "mine", &said_of));
}
END_TEST

START_TEST(entries_are_listed_once_and_sorted)
{
	size_t n, mine = 0;

	write_text("one/gpus/zzz.yaml", gpu_text("z", "", "1TB/s"));
	write_text("one/gpus/mine.yaml", gpu_text("option", "", "1TB/s"));
	write_text("two/hwdb/gpus/mine.yaml", gpu_text("environment", "", "2TB/s"));
	write_text("one/gpus/README", "not an entry");
	setenv("RIDGE_HWDB", in_place("two"), 1);
	const char **list = database_list(open_at("one"), ENTRY_GPU, &n);
	for (size_t i = 0; i < n; i++) {
		mine += strcmp(list[i], "mine") == 0;
		ck_assert_msg(i == 0 || strcmp(list[i - 1], list[i]) < 0, "%s before %s", list[i - 1], list[i]);
		ck_assert_str_ne(list[i], "README");
	}
	ck_assert_uint_eq(mine, 1);
}
END_TEST

START_TEST(a_directory_that_is_not_there)
{
	open_at("nowhere");
	ck_assert_has(said(a, d), "cannot read the directory");
}
END_TEST

/* --- files ----------------------------------------------------------------------------------------------- */

START_TEST(a_path_is_a_file)
{
	const char *said_of;

	write_text("mine.yaml",
	    "name: From a file\narchitecture: hopper\nmemory: {bandwidth: 1TB/s}\npeak: {bf16: 1TFLOP/s}\n");
	struct database *db = open_at("one");
	const struct gpu *gpu = find(db, in_place("mine.yaml"), &said_of);
	ck_assert_msg(gpu, "%s", said(a, d));
	ck_assert_str_eq(gpu->id, "mine");
	ck_assert_ptr_null(said_of);
	ck_assert_ptr_null(find(db, in_place("nothing.yaml"), &said_of));
	ck_assert_has(said(a, d), "No such file");
	/* names of the database cannot leave it */
	diag_clear(d);
	write_text("one/secret.yaml", gpu_text("x", "", "1TB/s"));
	ck_assert_ptr_null(find(db, "../secret", &said_of));
}
END_TEST

START_TEST(the_format_is_checked)
{
	const char *said_of;

	write_text("two.yaml", "format: 2\nname: x\narchitecture: hopper\nmemory: {}\npeak: {}\n");
	write_text("one/gpus/none.yaml", "name: x\narchitecture: hopper\nmemory: {}\npeak: {}\n");
	struct database *db = open_at("one");
	ck_assert_ptr_null(find(db, in_place("two.yaml"), &said_of));
	ck_assert_has(said(a, d), "two.yaml:1:9: error: ridge reads format 1");
	diag_clear(d);
	ck_assert_ptr_null(find(db, "none", &said_of));
	ck_assert_has(said(a, d), "write 'format: 1'");
}
END_TEST

START_TEST(a_file_is_read_once)
{
	const char *said_of;

	write_text("mine.yaml", gpu_text("before", "", "1TB/s"));
	struct database *db = open_at("one");
	struct diag *other = diag_new(a);
	ck_assert_str_eq(find(db, in_place("mine.yaml"), &said_of)->name, "before");
	write_text("mine.yaml", "[");
	ck_assert_str_eq(find(db, in_place("mine.yaml"), &said_of)->name, "before");
	ck_assert_str_eq(find(database_reporting_to(db, other), in_place("mine.yaml"), &said_of)->name, "before");
	/* what is wrong is told to whom it was asked for */
	ck_assert_ptr_null(find(database_reporting_to(db, other), "nothing", &said_of));
	ck_assert_int_eq(diag_errors(d), 0);
	ck_assert_int_eq(diag_errors(other), 1);
}
END_TEST

START_TEST(an_overlay_is_laid_over_the_file)
{
	const char *said_of, *text = "memory: {bandwidth: 9TB/s}\n";

	write_text("one/gpus/mine.yaml", gpu_text("x", "", "1TB/s"));
	struct database *db = open_at("one");
	const struct node *overlay = tree_read_text(a, d, "over", text, strlen(text));
	const struct gpu *gpu = database_gpu(db, "mine", overlay, (struct source){0}, &said_of);
	ck_assert(gpu->mem_byte_per_s.value == 9e12);
	ck_assert_str_eq(gpu->mem_byte_per_s.from.file, "over");
	ck_assert(gpu->peak_flop_per_s[PEAK_BF16].value == 1e12);
	ck_assert(find(db, "mine", &said_of)->mem_byte_per_s.value == 1e12);
	/* the entry itself is bound once, and the overlay names it */
	ck_assert_ptr_eq(find(db, "mine", &said_of), find(db, "mine", &said_of));
	ck_assert_ptr_eq(gpu->filed, find(db, "mine", &said_of));
	ck_assert_ptr_null(gpu->filed->filed);
	text = "memory: {bandwith: 9TB/s}\n";
	overlay = tree_read_text(a, d, "over", text, strlen(text));
	ck_assert_ptr_null(database_gpu(db, "mine", overlay, (struct source){0}, &said_of));
	ck_assert_has(said(a, d), "over:1:10: error: 'memory' has no key 'bandwith'");
}
END_TEST

START_TEST(a_system_brings_its_gpu_and_network)
{
	const char *said_of;

	write_text("one/gpus/mine.yaml", gpu_text("x", "", "1TB/s"));
	write_text("one/systems/box.yaml",
	    "format: 1\nname: Box\nsources: {x: y}\ngpu: mine\ngpus: 8\n"
	    "domain: {kind: nvswitch, size: 8, per_direction: 450GB/s}\n");
	write_text("one/systems/bad.yaml",
	    "format: 1\nname: Bad\nsources: {x: y}\ngpu: minee\ngpus: 8\n"
	    "domain: {kind: nvswitch, size: 8, per_direction: 450GB/s}\n");
	struct database *db = open_at("one");
	const struct system *s = database_system(db, "box", NULL, NULL, (struct source){0}, &said_of);
	ck_assert_msg(s, "%s", said(a, d));
	ck_assert_str_eq(s->gpu->id, "mine");
	ck_assert_ptr_null(s->fabric);
	/* links that are set half as fast take the domain along, unless it is set itself */
	const char *text = "link: {kind: nvlink4, count: 18, per_direction: 25GB/s}\n";
	write_text("one/gpus/mine.yaml", arena_printf(a, "%s%s", gpu_text("x", "", "1TB/s"), text));
	db = open_at("one");
	text = "link: {per_direction: 12.5GB/s}\n";
	const struct node *slow = tree_read_text(a, d, "over", text, strlen(text));
	text = "domain: {per_direction: 300GB/s}\n";
	const struct node *domain = tree_read_text(a, d, "over", text, strlen(text));
	const struct system *set = database_system(db, "box", NULL, slow, (struct source){0}, &said_of);
	ck_assert_msg(set, "%s", said(a, d));
	ck_assert_double_eq(set->domain_byte_per_s.value, 225e9);
	ck_assert_double_eq(set->filed->domain_byte_per_s.value, 450e9);
	set = database_system(db, "box", domain, slow, (struct source){0}, &said_of);
	ck_assert_double_eq(set->domain_byte_per_s.value, 300e9);
	ck_assert_ptr_null(database_system(db, "bad", NULL, NULL, (struct source){0}, &said_of));
	/* the place is in the system's file */
	ck_assert_has(said(a, d), "bad.yaml:4:6: error: there is no GPU 'minee'");
	ck_assert_has(said(a, d), "did you mean 'mine'?");
}
END_TEST

/* --- the shipped database -------------------------------------------------------------------------------- */

START_TEST(folded_names_are_unique)
{
	char one[100], other[100];

	if (access("hwdb/gpus", R_OK) != 0)
		return; /* run from another directory */
	struct database *db = database_new(a, d, ".");
	for (enum entry_kind k = 0; k < N_ENTRY_KINDS; k++) {
		size_t n;
		const char **list = database_list(db, k, &n);
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < i; j++) {
				text_fold(list[i], one, sizeof one);
				text_fold(list[j], other, sizeof other);
				ck_assert_msg(strcmp(one, other) != 0, "%s and %s", list[i], list[j]);
			}
	}
}
END_TEST

Suite *database_suite(void);

Suite *
database_suite(void)
{
	Suite *s = suite_create("database");
	TCase *t = tcase_create("database");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, case_and_punctuation_do_not_count);
	tcase_add_test(t, an_alias_is_announced);
	tcase_add_test(t, a_hint_is_believed_only_when_the_file_agrees);
	tcase_add_test(t, a_file_name_outranks_an_alias);
	tcase_add_test(t, unknown_names_get_a_suggestion);
	tcase_add_test(t, the_first_directory_has_it);
	tcase_add_test(t, entries_are_listed_once_and_sorted);
	tcase_add_test(t, a_directory_that_is_not_there);
	tcase_add_test(t, a_path_is_a_file);
	tcase_add_test(t, the_format_is_checked);
	tcase_add_test(t, a_file_is_read_once);
	tcase_add_test(t, an_overlay_is_laid_over_the_file);
	tcase_add_test(t, a_system_brings_its_gpu_and_network);
	tcase_add_test(t, folded_names_are_unique);
	suite_add_tcase(s, t);
	return s;
}
