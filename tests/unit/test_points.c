/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --sweep: what its lists mean. */
#include "cli/cli.h"

#include "said.h"
#include "toy.h"

static struct arena *a;
static struct diag *d;

static enum answer
toy_run(struct run *r, const void *in)
{
	(void)r;
	(void)in;
	return ANSWERED;
}

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

static bool
sweep(const char *path, const char *text, struct axis_values *out)
{
	const struct setting s = {path, text, {"--sweep", 0, 0, NULL, false}};

	return sweep_values(a, d, &toy, &s, out);
}

static const struct {
	const char *path, *text, *values;
} lists[] = {
    {"batch", "1,2,4", "1 2 4"},
    {"batch", "7", "7"},
    {"batch", " 1 , 2 ", "1 2"},
    {"batch", "1Ki,70B", "1Ki 70B"},
    {"batch", "1..8*2", "1 2 4 8"},
    {"batch", "1..9*2", "1 2 4 8"},
    {"batch", "3..100*3", "3 9 27 81"},
    {"batch", "1..1*2", "1"},
    {"batch", "0..100+25", "0 25 50 75 100"},
    {"batch", "0..99+25", "0 25 50 75"},
    {"batch", "1Ki..4Ki*2", "1024 2048 4096"},
    {"batch", "1..4Ki*16", "1 16 256 4096"},
    {"batch", "1Ki..4Ki+1Ki", "1024 2048 3072 4096"},
    {"batch", "1000..2000+500", "1000 1500 2000"},
    {"share", "0.1..0.5+0.1", "0.1 0.2 0.3 0.4 0.5"},
    {"share", "0..1+0.25", "0 0.25 0.5 0.75 1"},
    {"share", "10%..30%+10%", "10% 20% 30%"},
    {"share", "10%,0.2", "10% 0.2"},
    {"share", "0.001..1*10", "0.001 0.01 0.1 1"},
    {"share", "-1..1+1", "-1 0 1"},
    {"bandwidth", "50GB/s..200GB/s*2", "50GB/s 100GB/s 200GB/s"},
    {"bandwidth", "50..200GB/s*2", "50GB/s 100GB/s 200GB/s"},
    {"bandwidth", "100GB/s..200GB/s+50GB/s", "100GB/s 150GB/s 200GB/s"},
    {"bandwidth", "100GB/s..200GB/s+50", "100GB/s 150GB/s 200GB/s"},
    {"bandwidth", "400Gbit/s,50GB/s", "400Gbit/s 50GB/s"},
    {"gpu.memory.bandwidth", "1TB/s..3TB/s+1", "1TB/s 2TB/s 3TB/s"},
    {"gpu", "a100,h100", "a100 h100"},
    {"gpu", "a..b", "a..b"},
    {"gpu", "../mine.yaml,h100", "../mine.yaml h100"},
    {"dtype", "fp16,fp8", "fp16 fp8"},
    {"layout.tp", "1..8*2", "1 2 4 8"},
    {"verbose", "true,false", "true false"},
};

START_TEST(lists_are_read)
{
	struct axis_values v;
	char text[400] = "";

	ck_assert_msg(
	    sweep(lists[_i].path, lists[_i].text, &v), "%s=%s: %s", lists[_i].path, lists[_i].text, said(a, d));
	for (size_t i = 0; i < v.n; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", v.values[i]);
	ck_assert_str_eq(text, lists[_i].values);
	ck_assert_str_eq(v.path, lists[_i].path);
}
END_TEST

START_TEST(the_last_value_is_kept)
{
	struct axis_values v;

	/* 0.1 + 9 x 0.1 is not quite 1 in binary; the tenth value counts all the same */
	ck_assert(sweep("share", "0.1..1+0.1", &v));
	ck_assert_uint_eq(v.n, 10);
}
END_TEST

static const struct {
	const char *path, *text, *what;
} refused[] = {
    {"batch", "1,x", "'x' is not a count"},
    {"batch", "1,,2", "empty value"},
    {"batch", "1,2,", "empty value"},
    {"batch", "128k", "can be read two ways"},
    {"batch", "1k..128k*2", "can be read two ways"},
    {"batch", "1GB,2GB", "is a size in bytes, but a count"},
    {"batch", "1..8", "needs a factor or a step"},
    {"batch", "8..1*2", "does not grow"},
    {"batch", "8..1+1", "does not grow"},
    {"batch", "0..8*2", "does not grow"},
    {"batch", "1..8*1", "does not grow"},
    {"batch", "1..8*0.5", "does not grow"},
    {"batch", "1..8+0", "does not grow"},
    {"batch", "1..8+-1", "does not grow"},
    {"batch", "1..8*x", "is not a count"},
    {"batch", "x..8*2", "is not a count"},
    {"batch", "..8*2", "is not a count"},
    {"batch", "1..*2", "is not a count"},
    {"batch", "1..nan*2", "is not a count"},
    {"batch", "1..inf*2", "is not a count"},
    {"batch", "1..1e999*2", "out of range"},
    {"batch", "1..8GB*2", "is a size in bytes, but a count"},
    {"batch", "0..100000+1", "more than 100000 points"},
    {"share", "nan..1+0.1", "not a range of numbers"},
    {"share", "0..inf+1", "not a range of numbers"},
    {"share", "0..1e300+1", "more than 100000 points"},
    {"share", "1e-300..1e300*1.0001", "more than 100000 points"},
    {"bandwidth", "1..8*2", "has no unit"},
    {"bandwidth", "50GB/s..1TB/s*2", "both ends of a range need the same unit"},
    {"bandwidth", "50GB/s..80GB/s+1TB/s", "both ends of a range need the same unit"},
    {"bandwidth", "50GB/s..80GB/s*2GB/s", "both ends of a range need the same unit"},
    {"bandwidth", "50GB..80GB*2", "is a size in bytes, but a rate"},
    {"bandwidth", "50Gb/s", "can be read two ways"},
    {"dtype", "fp16,fp9", "'fp9' is not one of fp16|bf16|fp8"},
};

START_TEST(refuses)
{
	struct axis_values v;

	ck_assert_msg(
	    !sweep(refused[_i].path, refused[_i].text, &v), "was accepted: %s=%s", refused[_i].path, refused[_i].text);
	ck_assert_has(said(a, d), refused[_i].what);
	ck_assert_has(said(a, d), "--sweep: error: ");
	ck_assert_has(said(a, d), "hint: ");
}
END_TEST

START_TEST(an_option_name_is_its_path)
{
	struct axis_values v;

	ck_assert(sweep("--batch", "1,2", &v));
	ck_assert_str_eq(v.path, "batch");
}
END_TEST

Suite *points_suite(void);

Suite *
points_suite(void)
{
	Suite *s = suite_create("points");
	TCase *t = tcase_create("points");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, lists_are_read, 0, (int)(sizeof lists / sizeof *lists));
	tcase_add_test(t, the_last_value_is_kept);
	tcase_add_loop_test(t, refuses, 0, (int)(sizeof refused / sizeof *refused));
	tcase_add_test(t, an_option_name_is_its_path);
	suite_add_tcase(s, t);
	return s;
}
