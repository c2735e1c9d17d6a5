/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --solve finds the value at which a condition just holds, or says why there is none. */
#include "cli/parts.h"
#include "toy_answers.h"

#include "said.h"
#include "toy.h"

/* Rows whose course is known: rises, falls, turns, steps, and points that are refused. */
static enum answer
toy_run(struct run *r, const void *input)
{
	const struct toy_in *in = input;
	struct sheet *sh = r->sheet;

	if (datum_given(in->layout.tp) && 48 / in->layout.tp.value != (int)(48 / in->layout.tp.value)) {
		diag_error(r->diag, in->layout.tp.from, "48 heads cannot be split so");
		diag_hint(r->diag, "choose a divisor");
		return REFUSED;
	}
	TAKE(sh, n_batch, in->batch);
	TAKE(sh, share_frac, in->share);
	TAKE(sh, tp, datum_or(in->layout.tp, 1));
	LET(sh, rises_byte, n_batch * 1000);
	LET(sh, falls_s, 100 / n_batch);
	LET(sh, turns, (n_batch - 50) * (n_batch - 50));
	LET(sh, flat, n_batch * 0 + 5);
	LET(sh, steps, ceil(n_batch / 16));
	LET(sh, part_byte, 48000 / tp);
	LET(sh, square, share_frac * share_frac);
	LET(sh, hump, share_frac * (1 - share_frac));
	LET(sh, wiggles_s, (100 + 10 * (n_batch - 8 * floor(n_batch / 8))) / n_batch);
	LET(sh, each_byte_per_token, rises_byte / 10);
	LET(sh, limit_byte, n_batch * 10 + 63000);
	TOY_TELL(sh, verdict, NULL, "word");
	SCOPE (sh, "one") {
		LET(sh, twin, 1.0);
		(void)twin;
	}
	SCOPE (sh, "two") {
		LET(sh, twin, 2.0);
		(void)twin;
	}
	return ANSWERED;
}

static struct arena *a;
static struct diag *d;
static const char *note;
static bool nowhere;

static void
set_up(void)
{
	a = arena_new();
	d = diag_new(a);
	note = NULL;
}

static void
tear_down(void)
{
	arena_free(a);
}

/* The solved value as typed, or NULL. */
static const char *
solve(const char *what, const char *until)
{
	const struct question q = {
	    .arena = a, .diag = d, .database = database_new(a, d, NULL), .command = &toy, .outputs = outputs_new(a)};
	const struct node *none = tree_map(a, (struct source){0});
	const struct solution s = question_solve(&q, none, what, until);
	const size_t length = strcspn(what, "=");

	if (!s.inputs)
		return NULL;
	ck_assert_msg(diag_errors(d) == 0, "%s", said(a, d));
	note = s.note;
	nowhere = s.none;
	return tree_at(s.inputs, arena_copy(a, what, length))->text;
}

static const struct {
	const char *solve, *until, *value, *note;
} cases[] = {
    {"batch=1..1000", "rises_byte <= 64kB", "64", "solved: batch = 64"},
    {"batch=1..1000", "rises_byte < 64kB", "63", "solved: batch = 63"},
    {"batch=1..1000", "rises_byte >= 64kB", "64", "solved: batch = 64"},
    {"batch=1..1000", "rises_byte > 64kB", "65", "solved: batch = 65"},
    {"batch", "rises_byte <= 64kB", "64", "solved: batch = 64"},
    {"batch", "rises_byte<=64kB", "64", "solved"},
    {"batch=1..1Ki", "rises_byte <= 63.9KiB", "65", "solved"},
    {"batch=1..1000", "falls_s <= 2s", "50", "solved: batch = 50"},
    {"batch=1..1000", "falls_s >= 2s", "50", "solved"},
    {"batch=1..1000", "falls_s <= 300ms", "334", "solved"},
    {"batch=50..100", "turns <= 100", "60", "solved"},
    {"batch=1..1000", "steps <= 3", "48", "solved"},
    {"batch=1..1000", "steps >= 3", "33", "solved"},
    {"batch=1..200", "steps >= 3", "33", "solved"},
    {"batch=1..1000", "rises_byte <= limit_byte", "63", "solved"},
    {"batch=1..1000", "rises_byte <= 2 * limit_byte / 2", "63", "solved"},
    {"batch=1..1000", "each_byte_per_token <= 6.4kB", "64", "solved"},
    {"batch=1..1000", "each_byte_per_token <= 6400", "64", "solved"},
    {"batch=1..1000", "rises_byte <= 1GB", "1000", "holds everywhere between 1 and 1000"},
    {"batch=1..1000", "rises_byte >= 1B", "1", "holds everywhere"},
    {"batch=1..1000", "flat <= 5", "1000", "holds everywhere"},
    {"batch=7..9", "rises_byte <= 8kB", "8", "solved"},
    {"share=0..1", "square <= 0.25", "0.5", "solved: share = 0.5"},
    {"share=0%..100%", "square <= 25%", "50%", "solved: share = 50%"},
    /* most values between are refused: the divisors of 48 remain */
    {"layout.tp=1..48", "part_byte <= 5kB", "12", "solved: layout.tp = 12"},
    {"layout.tp=1..48", "part_byte >= 5kB", "8", "solved: layout.tp = 8"},
};

START_TEST(solves)
{
	const char *value = solve(cases[_i].solve, cases[_i].until);

	ck_assert_msg(value, "%s until %s: %s", cases[_i].solve, cases[_i].until, said(a, d));
	ck_assert_msg(
	    strcmp(value, cases[_i].value) == 0, "%s until %s is %s", cases[_i].solve, cases[_i].until, value);
	ck_assert_has(note, cases[_i].note);
}
END_TEST

static const struct {
	const char *solve, *until, *what;
} refused[] = {
    {"batch=1..1000", "turns <= 100", "holds between 40 and 60 but not at the ends"},
    {"batch=1..100", "turns <= 100", "holds between 40 and 60 but not at the ends"},
    {"batch=1..100000", "turns <= 100", "first falls and then rises"},
    {"share=0..1", "hump <= 0.1", "first rises and then falls"},
    {"batch=1..1000", "nothing <= 5", "there is no answer 'nothing'"},
    {"batch=1..1000", "twin <= 5", "'twin' is ambiguous"},
    {"batch=1..1000", "rises_byte <= 5s", "'5s' is neither a value in B nor a formula"},
    {"batch=1..1000", "rises_byte <= 5", "'5' is neither a value in B nor a formula"},
    {"batch=1..1000", "rises_byte <= falls_s", "neither a value in B nor a formula"},
    {"batch=1..1000", "rises_byte <= nan", "neither a value in B"},
    {"batch=1..1000", "rises_byte <= 128K", "can be read two ways"},
    {"batch=1..1000", "rises_byte = 5", "has no <= or >="},
    {"batch=1..1000", "", "has no <= or >="},
    {"batch=1..1000", "<= 5", "not of the form ROW <= VALUE"},
    {"batch=1..1000", "rises_byte <=", "not of the form ROW <= VALUE"},
    {"batch=1000..1", "rises_byte <= 64kB", "does not grow"},
    {"batch=5..5", "rises_byte <= 64kB", "does not grow"},
    {"batch=5", "rises_byte <= 64kB", "needs a range"},
    {"batch=1..x", "rises_byte <= 64kB", "'x' is not a count"},
    {"batch=1..nan", "rises_byte <= 64kB", "'nan' is not a count"},
    {"batch=1..128k", "rises_byte <= 64kB", "can be read two ways"},
    {"batch=1..9GB", "rises_byte <= 64kB", "is a size in bytes, but a count"},
    {"share", "square <= 0.25", "needs a range"},
    {"share=0..inf", "square <= 0.25", "is not a number"},
    {"bandwidth=1..5", "square <= 0.25", "has no unit"},
    {"bandwidth=1GB/s..5TB/s", "square <= 0.25", "not a range of two values in the same unit"},
    {"dtype=1..5", "square <= 0.25", "'dtype' is not a number"},
    {"gpu=1..5", "square <= 0.25", "'gpu' is not a number"},
    /* the same fault at every value: that fault is told, not "holds nowhere" */
    {"bacth=1..5", "square <= 0.25", "'toy' has no input 'bacth'"},
    {"layout.tp=49..60", "part_byte <= 5kB", "48 heads cannot be split so"},
};

START_TEST(refuses)
{
	ck_assert_msg(
	    !solve(refused[_i].solve, refused[_i].until), "%s until %s", refused[_i].solve, refused[_i].until);
	ck_assert_has(said(a, d), refused[_i].what);
	ck_assert_has(said(a, d), "hint: ");
}
END_TEST

/* An answer, and it is no: the value that comes nearest is given all the same. */
START_TEST(holds_nowhere)
{
	ck_assert_str_eq(solve("batch=1..1000", "rises_byte <= 10B"), "1");
	ck_assert(nowhere);
	ck_assert_has(note, "holds nowhere between 1 and 1000");
	ck_assert_str_eq(solve("batch=1..100000", "rises_byte >= 1TB"), "100000");
	ck_assert(nowhere);
	ck_assert_str_eq(solve("share=0..0.4", "square >= 0.5"), "0.4");
	ck_assert(nowhere);
	ck_assert_str_eq(solve("share=0..1", "square >= 0.5"), "0.707106782");
	ck_assert(!nowhere);
}
END_TEST

/* The least is the least whatever the bracket, for rows that go up and down with what divides too. */
START_TEST(the_bracket_does_not_matter)
{
	static const char *const ends[] = {"1..40", "2..1000", "9..900", "16..64", "1..100000"};

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		ck_assert_str_eq(solve(arena_printf(a, "batch=%s", ends[i]), "wiggles_s <= 4.5s"), "24");
	ck_assert_str_eq(solve("layout.tp=1..48", "part_byte <= 5kB"), "12");
	ck_assert_has(note, "least of the valid values");
	ck_assert_str_eq(solve("layout.tp=5..47", "part_byte <= 5kB"), "12");
	ck_assert_str_eq(solve("layout.tp=1..5000", "part_byte <= 5kB"), "12");
	ck_assert_str_eq(solve("layout.tp=1..900", "part_byte >= 5kB"), "8");
	ck_assert_has(note, "most of the valid values");
}
END_TEST

Suite *solve_suite(void);

Suite *
solve_suite(void)
{
	Suite *s = suite_create("solve");
	TCase *t = tcase_create("solve");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, solves, 0, (int)(sizeof cases / sizeof *cases));
	tcase_add_test(t, holds_nowhere);
	tcase_add_test(t, the_bracket_does_not_matter);
	tcase_add_loop_test(t, refuses, 0, (int)(sizeof refused / sizeof *refused));
	suite_add_tcase(s, t);
	return s;
}
