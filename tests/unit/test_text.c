/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folded names, suggestions, arenas and diagnostics. */
#include "base/base.h"

#include "said.h"

#include <stdint.h>

START_TEST(names_are_folded)
{
	char buf[20], small[4];

	text_fold("H100-SXM5_80 GB.", buf, sizeof buf);
	ck_assert_str_eq(buf, "h100sxm580gb");
	text_fold("H100-SXM5", small, sizeof small);
	ck_assert_str_eq(small, "h10");
	ck_assert(text_same_folded("H100 SXM5", "h100-sxm5"));
	ck_assert(text_same_folded("", "--"));
	ck_assert(!text_same_folded("h100", "h1000"));
	ck_assert(!text_same_folded("h100", "h200"));
	ck_assert(!text_same_folded("a", ""));
}
END_TEST

static const struct {
	const char *one, *other;
	int distance;
} distances[] = {
    {"", "", 0}, {"memory", "memory", 0}, {"memory", "MEMORY", 0}, {"memory", "memroy", 1}, /* neighbours swapped */
    {"memory", "memoy", 1}, {"memory", "memoryy", 1}, {"memory", "mimory", 1}, {"bandwidth", "bandwith", 1},
    {"kitten", "sitting", 3}, {"ab", "", 2}, {"ca", "abc", 3}, /* the restricted form: no edit inside a swapped pair */
};

START_TEST(edits_are_counted)
{
	ck_assert_int_eq(text_distance(distances[_i].one, distances[_i].other), distances[_i].distance);
	ck_assert_int_eq(text_distance(distances[_i].other, distances[_i].one), distances[_i].distance);
}
END_TEST

START_TEST(long_words_are_far)
{
	char one[200];

	memset(one, 'a', sizeof one - 1);
	one[sizeof one - 1] = '\0';
	ck_assert_int_ge(text_distance(one, "a"), 60);
}
END_TEST

START_TEST(the_nearest_is_suggested)
{
	static const char *const commands[] = {"memory", "model", "kv", "roofline", "capacity", "h100-sxm5-80gb"};
	const size_t n = sizeof commands / sizeof *commands;

	ck_assert_str_eq(text_nearest("memroy", commands, n), "memory");
	ck_assert_str_eq(text_nearest("mem", commands, n), "memory"); /* the beginning of one */
	ck_assert_str_eq(text_nearest("kvv", commands, n), "kv");
	ck_assert_str_eq(text_nearest("H100", commands, n), "h100-sxm5-80gb");
	ck_assert_ptr_null(text_nearest("banana", commands, n));
	ck_assert_ptr_null(text_nearest("", commands, 0));
}
END_TEST

START_TEST(texts_are_split)
{
	struct arena *a = arena_new();
	size_t n;
	char **pieces = text_split(a, " a ,b c,, d", ',', &n);

	ck_assert_uint_eq(n, 4);
	ck_assert_str_eq(pieces[0], "a");
	ck_assert_str_eq(pieces[1], "b c");
	ck_assert_str_eq(pieces[2], "");
	ck_assert_str_eq(pieces[3], "d");
	ck_assert_ptr_null(pieces[4]);
	pieces = text_split(a, "", ',', &n);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(pieces[0], "");
	ck_assert(text_ends("peak.yaml", ".yaml"));
	ck_assert(!text_ends("yaml", ".yaml"));
	ck_assert(text_begins("layout.tp", "layout."));
	ck_assert(!text_begins("lay", "layout."));
	arena_free(a);
}
END_TEST

/* --- arena ----------------------------------------------------------------------------------------------- */

START_TEST(arena_memory_is_zero_and_aligned)
{
	struct arena *a = arena_new();

	for (int round = 0; round < 3; round++) {
		for (size_t size = 0; size < 3000; size += 7) {
			unsigned char *p = arena_take(a, size);
			ck_assert_uint_eq((uintptr_t)p % _Alignof(max_align_t), 0);
			unsigned char any = 0;
			for (size_t i = 0; i < size; i++)
				any |= p[i];
			ck_assert_uint_eq(any, 0);
			memset(p, 0xff, size);
		}
		unsigned char *large = arena_take(a, 1 << 20);
		ck_assert_uint_eq(large[0] | large[(1 << 20) - 1], 0);
		memset(large, 0xff, 1 << 20);
		arena_clear(a);
	}
	arena_free(a);
	arena_free(NULL);
}
END_TEST

START_TEST(arena_text_is_copied)
{
	struct arena *a = arena_new();
	char text[] = "abc";
	const char *copy = arena_text(a, text), *part = arena_copy(a, text, 2);

	text[0] = 'x';
	ck_assert_str_eq(copy, "abc");
	ck_assert_str_eq(part, "ab");
	ck_assert_str_eq(arena_printf(a, "%s=%d", "tp", 8), "tp=8");
	const int *grown = arena_grow(a, (const int[]){1, 2, 3}, 3, 6, sizeof(int));
	ck_assert_int_eq(grown[2], 3);
	ck_assert_int_eq(grown[3], 0);
	arena_free(a);
}
END_TEST

/* --- diagnostics ----------------------------------------------------------------------------------------- */

START_TEST(messages_have_place_and_hint)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);

	diag_program(d, "ridge memory");
	diag_error(d, (struct source){"gpu.yaml", 20, 13, NULL, false}, "expected %s", "a size");
	diag_hint(d, "write %s", "80GB");
	diag_warning(d, (struct source){"--gpu", 0, 0, NULL, false}, "odd");
	diag_error(d, (struct source){0}, "wrong");
	ck_assert_str_eq(said(a, d),
	    "gpu.yaml:20:13: error: expected a size\n"
	    "  hint: write 80GB\n"
	    "ridge memory: --gpu: warning: odd\n"
	    "ridge memory: error: wrong\n");
	ck_assert_int_eq(diag_errors(d), 2);
	ck_assert_int_eq(diag_warnings(d), 1);
	ck_assert(!diag_failed(d));
	diag_failure(d, "disk full");
	ck_assert(diag_failed(d));
	ck_assert_int_eq(diag_errors(d), 3);

	struct source at;
	const char *hint;
	enum severity severity;
	ck_assert_str_eq(diag_message(d, 0, &at, &hint, &severity), "expected a size");
	ck_assert_int_eq(at.line, 20);
	ck_assert_str_eq(hint, "write 80GB");
	ck_assert_int_eq(severity, SEVERITY_ERROR);
	diag_message(d, 1, &at, &hint, &severity);
	ck_assert_int_eq(severity, SEVERITY_WARNING);
	ck_assert_ptr_null(hint);
	ck_assert_ptr_null(diag_message(d, 4, &at, &hint, &severity));
	diag_clear(d);
	ck_assert_str_eq(said(a, d), "");
	ck_assert_int_eq(diag_errors(d), 0);
	ck_assert(!diag_failed(d));
	arena_free(a);
}
END_TEST

START_TEST(a_flood_is_cut_and_counted)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);

	for (int i = 0; i < 1000; i++) {
		diag_error(d, (struct source){0}, "number %d", i);
		diag_hint(d, "hint %d", i);
	}
	const char *text = said(a, d);
	ck_assert_int_eq(diag_errors(d), 1000);
	ck_assert_has(text, "number 199\n  hint: hint 199\n");
	ck_assert_lacks(text, "number 200");
	ck_assert_has(text, "800 more messages");
	arena_free(a);
}
END_TEST

START_TEST(colour_only_where_it_was_asked_for)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	char *text;
	size_t n;

	diag_error(d, (struct source){0}, "wrong");
	ck_assert_lacks(said(a, d), "\033");
	FILE *memory = open_memstream(&text, &n);
	diag_print(d, memory, true);
	fclose(memory);
	ck_assert_has(text, "\033[31merror:\033[0m wrong");
	free(text);
	arena_free(a);
}
END_TEST

Suite *text_suite(void);

Suite *
text_suite(void)
{
	Suite *s = suite_create("text");
	TCase *t = tcase_create("text");

	tcase_set_timeout(t, 60); /* sanitizers and busy machines */
	tcase_add_test(t, names_are_folded);
	tcase_add_loop_test(t, edits_are_counted, 0, (int)(sizeof distances / sizeof *distances));
	tcase_add_test(t, long_words_are_far);
	tcase_add_test(t, the_nearest_is_suggested);
	tcase_add_test(t, texts_are_split);
	tcase_add_test(t, arena_memory_is_zero_and_aligned);
	tcase_add_test(t, arena_text_is_copied);
	tcase_add_test(t, messages_have_place_and_hint);
	tcase_add_test(t, a_flood_is_cut_and_counted);
	tcase_add_test(t, colour_only_where_it_was_asked_for);
	suite_add_tcase(s, t);
	return s;
}
