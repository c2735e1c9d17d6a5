/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sheet records what a model computed, and changes nothing of it. */
#include "base/sheet.h"
#include "toy_answers.h"

#include "report/report.h"
#include "said.h"

/* --- a model that uses every macro ----------------------------------------------------------------------- */

struct part {
	double m, n;
	struct datum rate;
};

static double
part_time(struct sheet *sh, const struct part *p)
{
	TAKE(sh, m, p->m);
	TAKE(sh, n, p->n);
	TAKE(sh, peak_flop_per_s, p->rate);
	LET(sh, work_flop, 2 * m * n);
	LET(sh, part_s, work_flop / peak_flop_per_s);
	return part_s;
}

static double
ring(struct sheet *sh, double n_ranks, double size_byte, double link_byte_per_s)
{
	GIVEN(sh, n_ranks);
	GIVEN(sh, size_byte);
	GIVEN(sh, link_byte_per_s);
	LET(sh, chunk_byte, size_byte / n_ranks);
	LET(sh, ring_s, 2 * (n_ranks - 1) * (chunk_byte / link_byte_per_s));
	return ring_s;
}

static double
step(struct sheet *sh, const struct part *parts, int n_parts, double n_ranks, struct datum link)
{
	TAKE(sh, link_byte_per_s, link);
	TAKE(sh, n_replicas, n_ranks);
	SUM(sh, compute_s, i, n_parts, part_time(sh, &parts[i]));
	MOST(sh, longest_s, i, n_parts, part_time(sh, &parts[i]));
	TAKE(sh, gradient_byte, 1e9 / 3);
	double exchange_s;
	if (n_replicas > 1)
		SET_CALL(sh, exchange_s, ring(sh, n_replicas, gradient_byte, link_byte_per_s));
	else
		SET(sh, exchange_s, 0);
	double state_byte = 0;
	SCOPE (sh, "optimizer") {
		LET(sh, moments_byte, 8 * gradient_byte);
		SET(sh, state_byte, moments_byte + gradient_byte);
		TOY_SHOW(sh, moments_byte, "moments");
	}
	for (int i = 0; i < 3; i++)
		SCOPE_I (sh, "stage", i) {
			LET(sh, held_byte, state_byte / 3.0);
			TOY_TELL(sh, name, "stage", i == 1 ? "middle" : "end");
			TOY_SHOW(sh, held_byte, "held");
		}
	CALL(sh, again_s, ring(sh, n_replicas, state_byte, link_byte_per_s));
	LET(sh, step_s, compute_s + fmax(exchange_s, again_s) + longest_s);
	TOY_SHOW(sh, step_s, "one step");
	TOY_TELL(sh, verdict, "it", step_s > 1 ? "is slow" : "is fast");
	return step_s;
}

static const struct datum rate = {312e12, {"hwdb/gpus/a100.yaml", 14, 9, "NVIDIA A100 datasheet", true}};
static const struct datum wire = {25e9 / 7, {"hwdb/links/nvlink3.yaml", 3, 16, NULL, false}};

static double
ask(struct sheet *sh, double n_ranks)
{
	const struct part parts[] = {{4096, 4096.5, rate}, {128, 256, rate}, {8192, 1.1, rate}};

	return step(sh, parts, 3, n_ranks, wire);
}

START_TEST(without_a_sheet_the_value_is_the_same)
{
	static const double ranks[] = {1, 2, 7, 8, 1000};

	for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
		struct sheet *sh = sheet_new();
		const double with = ask(sh, ranks[i]), without = ask(NULL, ranks[i]);

		ck_assert_msg(memcmp(&with, &without, sizeof with) == 0, "%.17g and %.17g", with, without);
		ck_assert_int_gt(sheet_size(sh), 30);
		sheet_free(sh);
	}
}
END_TEST

static const struct row *
row_at(const struct sheet *sh, const char *path)
{
	const int i = sheet_find(sh, path);

	ck_assert_msg(i >= 0, "no row '%s' (%d)", path, i);
	return sheet_row(sh, i);
}

START_TEST(rows_hold_text_value_and_origin)
{
	struct sheet *sh = sheet_new();
	ask(sh, 8);

	const struct row *let = row_at(sh, "step_s");
	ck_assert_int_eq(let->kind, ROW_LET);
	ck_assert_str_eq(let->text, "compute_s + fmax(exchange_s, again_s) + longest_s");
	ck_assert_str_eq(let->label, "one step");
	const struct row *call = row_at(sh, "exchange_s");
	ck_assert_int_eq(call->kind, ROW_CALL);
	ck_assert_str_eq(call->text, "ring(sh, n_replicas, gradient_byte, link_byte_per_s)");
	ck_assert(call->value == row_at(sh, "exchange_s.ring_s")->value);
	ck_assert_int_eq(row_at(sh, "exchange_s.n_ranks")->kind, ROW_GIVEN);
	const struct row *datum = row_at(sh, "link_byte_per_s");
	ck_assert_int_eq(datum->kind, ROW_DATUM);
	ck_assert_str_eq(datum->from.file, "hwdb/links/nvlink3.yaml");
	ck_assert_int_eq(datum->from.line, 3);
	ck_assert_int_eq(datum->from.column, 16);
	ck_assert(!datum->from.unconfirmed);
	const struct row *peak = row_at(sh, "compute_s.0.peak_flop_per_s");
	ck_assert(peak->from.unconfirmed);
	ck_assert_str_eq(peak->from.cite, "NVIDIA A100 datasheet");
	ck_assert_int_eq(row_at(sh, "n_replicas")->kind, ROW_INPUT);
	ck_assert_str_eq(row_at(sh, "verdict")->text, "is slow");
	ck_assert(isnan(row_at(sh, "verdict")->value));
	for (int i = 0; i < sheet_size(sh); i++)
		ck_assert_msg(!sheet_row(sh, i)->open, "'%s' was not left", sheet_row(sh, i)->name);
	sheet_free(sh);
}
END_TEST

START_TEST(groups_add_up)
{
	struct sheet *sh = sheet_new();
	double sum = 0, most = -INFINITY;
	char path[80];

	ask(sh, 8);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "compute_s.%d", i);
		ck_assert_int_eq(row_at(sh, path)->kind, ROW_ITEM);
		sum += row_at(sh, path)->value;
		snprintf(path, sizeof path, "longest_s.%d.part_s", i);
		most = fmax(most, row_at(sh, path)->value);
	}
	ck_assert_int_eq(row_at(sh, "compute_s")->kind, ROW_SUM);
	ck_assert(row_at(sh, "compute_s")->value == sum);
	ck_assert_int_eq(row_at(sh, "longest_s")->kind, ROW_MOST);
	ck_assert(row_at(sh, "longest_s")->value == most);
	sheet_free(sh);
}
END_TEST

/* --- paths ----------------------------------------------------------------------------------------------- */

START_TEST(every_row_is_found_by_its_path)
{
	struct sheet *sh = sheet_new();
	char path[200], cut[9];

	ask(sh, 8);
	for (int i = 0; i < sheet_size(sh); i++) {
		const size_t n = sheet_path(sh, i, path, sizeof path);
		ck_assert_uint_eq(n, strlen(path));
		ck_assert_msg(sheet_find(sh, path) == i, "%s", path);
		/* a small buffer gets the beginning, and the length is still told */
		ck_assert_uint_eq(sheet_path(sh, i, cut, sizeof cut), n);
		ck_assert_uint_lt(strlen(cut), sizeof cut);
		ck_assert_msg(strncmp(cut, path, strlen(cut)) == 0, "'%s' of '%s'", cut, path);
	}
	ck_assert_int_eq(sheet_find(sh, "stage.1.held_byte"), sheet_find(sh, "1.held_byte"));
	ck_assert_int_ge(sheet_find(sh, "moments_byte"), 0); /* one row ends so */
	ck_assert_int_eq(sheet_find(sh, "held_byte"), -2);   /* three do */
	ck_assert_int_eq(sheet_find(sh, "oments_byte"), -1); /* not at a dot */
	ck_assert_int_eq(sheet_find(sh, "nothing"), -1);
	ck_assert_int_eq(sheet_find(sh, ""), -1);
	ck_assert_int_eq(sheet_find(sh, "step_s.step_s"), -1);
	sheet_free(sh);
}
END_TEST

START_TEST(an_answer_outranks_rows_inside)
{
	struct sheet *sh = sheet_new();
	SCOPE (sh, "deep") {
		LET(sh, x_s, 1.0);
	}
	SCOPE (sh, "shown") {
		LET(sh, x_s, 2.0);
		TOY_SHOW(sh, x_s, "x");
	}
	SCOPE (sh, "later") {
		LET(sh, x_s, 3.0);
	}
	ck_assert(row_at(sh, "x_s")->value == 2);
	SCOPE (sh, "second") {
		LET(sh, x_s, 4.0);
		TOY_SHOW(sh, x_s, "x too");
	}
	ck_assert_int_eq(sheet_find(sh, "x_s"), -2);
	/* a full path is always meant as it stands */
	LET(sh, x_s, 5.0);
	ck_assert(row_at(sh, "x_s")->value == 5);
	sheet_free(sh);
}
END_TEST

/* --- names ----------------------------------------------------------------------------------------------- */

START_TEST(the_innermost_name_is_meant)
{
	struct sheet *sh = sheet_new();
	LET(sh, x, 1.0);
	SCOPE (sh, "outer") {
		LET(sh, y, x + 1);
		SCOPE (sh, "inner") {
			sheet_let(sh, "x", "10.0", 10.0); /* as LET would, without hiding the C variable */
			sheet_let(sh, "z", "x + y", 10 + y);
		}
		LET(sh, w, x + y); /* the outer x again: what a scope left behind is not seen */
		(void)w;
	}
	LET(sh, v, x);
	(void)v;
	const int z = sheet_find(sh, "outer.inner.z"), w = sheet_find(sh, "outer.w"), last = sheet_find(sh, "v");
	ck_assert(sheet_row(sh, sheet_resolve(sh, z, "x"))->value == 10);
	ck_assert(sheet_row(sh, sheet_resolve(sh, z, "y"))->value == 2);
	ck_assert(sheet_row(sh, sheet_resolve(sh, w, "x"))->value == 1);
	ck_assert_int_eq(sheet_resolve(sh, w, "z"), -1);        /* inside another scope */
	ck_assert_int_eq(sheet_resolve(sh, w, "v"), -1);        /* recorded later */
	ck_assert_int_eq(sheet_resolve(sh, last, "outer"), -1); /* a scope has no value */
	ck_assert_int_eq(sheet_resolve(sh, last, "v"), -1);     /* not itself */
	sheet_free(sh);
}
END_TEST

START_TEST(a_call_is_seen_only_when_it_has_returned)
{
	struct sheet *sh = sheet_new();
	ask(sh, 8);
	const int inside = sheet_find(sh, "exchange_s.ring_s"), after = sheet_find(sh, "step_s");

	ck_assert_int_eq(sheet_resolve(sh, inside, "exchange_s"), -1);
	ck_assert_int_eq(sheet_resolve(sh, after, "exchange_s"), sheet_find(sh, "exchange_s"));
	ck_assert_int_eq(sheet_resolve(sh, inside, "n_ranks"), sheet_find(sh, "exchange_s.n_ranks"));
	ck_assert_int_eq(sheet_resolve(sh, after, "verdict"), -1);
	/* an item of a sum is not its name; the sum is */
	ck_assert_int_eq(sheet_resolve(sh, after, "compute_s"), sheet_find(sh, "compute_s"));
	sheet_free(sh);
}
END_TEST

/* The very first row is a scope like any other. */
START_TEST(the_first_row)
{
	struct sheet *sh = sheet_new();

	CALL(sh, time_s, ring(sh, 2, 10.0, 5.0));
	LET(sh, twice_s, 2 * time_s);
	(void)twice_s;
	const int inside = sheet_find(sh, "time_s.ring_s"), after = sheet_find(sh, "twice_s");
	ck_assert_int_eq(sheet_find(sh, "time_s"), 0);
	ck_assert_int_eq(sheet_resolve(sh, inside, "time_s"), -1);
	ck_assert_int_eq(sheet_resolve(sh, after, "time_s"), 0);
	ck_assert_int_eq(sheet_resolve(sh, 0, "time_s"), -1);
	sheet_free(sh);
}
END_TEST

/* --- life ------------------------------------------------------------------------------------------------ */

START_TEST(a_cleared_sheet_is_new)
{
	struct sheet *sh = sheet_new();
	double first = 0;

	for (int round = 0; round < 3; round++) {
		sheet_clear(sh);
		ck_assert_int_eq(sheet_size(sh), 0);
		const double value = ask(sh, 8);
		first = round ? first : value;
		ck_assert(value == first);
	}
	sheet_free(sh);
	sheet_free(NULL);
}
END_TEST

START_TEST(many_rows)
{
	struct sheet *sh = sheet_new();

	for (int i = 0; i < 20000; i++)
		SCOPE_I (sh, "line", i) {
			LET(sh, value, (double)i);
			(void)value;
		}
	ck_assert_int_eq(sheet_size(sh), 40000);
	ck_assert(row_at(sh, "line.19999.value")->value == 19999);
	sheet_free(sh);
}
END_TEST

START_TEST(words_are_copied)
{
	struct sheet *sh = sheet_new();
	char word[] = "fits";

	TOY_TELL(sh, verdict, NULL, word);
	word[0] = 'x';
	ck_assert_str_eq(row_at(sh, "verdict")->text, "fits");
	ck_assert_ptr_null(row_at(sh, "verdict")->label);
	TOY_TELL((struct sheet *)NULL, verdict, NULL, word);
	sheet_free(sh);
}
END_TEST

START_TEST(data_may_be_absent)
{
	const struct datum none = datum_absent();

	ck_assert(!datum_given(none));
	ck_assert(datum_given(rate));
	ck_assert(datum_or(none, 3) == 3);
	ck_assert(datum_or(rate, 3) == 312e12);
}
END_TEST

/* --- tables ---------------------------------------------------------------------------------------------- */

START_TEST(shown_items_become_a_table)
{
	struct arena *a = arena_new();
	struct sheet *sh = sheet_new();
	ask(sh, 8);
	const struct answers answers = answers_of(a, sh, FORM_BASE);

	/* moments, the table of stages, the step, the verdict: in order of computation */
	ck_assert_uint_eq(answers.n_lines, 4);
	ck_assert_str_eq(answers.lines[0].label, "moments");
	ck_assert_int_eq(answers.lines[1].grid, 0);
	ck_assert_str_eq(answers.lines[2].label, "one step");
	ck_assert_str_eq(answers.lines[3].text, "is slow");
	ck_assert_uint_eq(answers.n_grids, 1);
	const struct grid *g = &answers.grids[0];
	ck_assert_uint_eq(g->n_columns, 2);
	ck_assert_uint_eq(g->n_lines, 3);
	ck_assert_str_eq(g->heads[0], "held");
	ck_assert_str_eq(g->names[0], "held_byte");
	ck_assert_str_eq(g->heads[1], "stage");
	ck_assert(g->numeric[0]);
	ck_assert(!g->numeric[1]);
	ck_assert_str_eq(g->cells[1][1], "middle");
	ck_assert(strtod(g->cells[2][0], NULL) == row_at(sh, "stage.2.held_byte")->value);
	sheet_free(sh);
	arena_free(a);
}
END_TEST

/* Lines that lack a column leave it empty; a column that came late stands where its line has it. */
START_TEST(ragged_tables)
{
	struct arena *a = arena_new();
	struct sheet *sh = sheet_new();

	for (int i = 0; i < 3; i++)
		SCOPE_I (sh, "gpus", i) {
			TOY_TELL(sh, id, "GPU", i == 0 ? "one" : "other");
			if (i > 0) {
				LET(sh, mem_byte, i * 1024.0);
				TOY_SHOW(sh, mem_byte, "memory");
			}
			LET(sh, x_s, i == 2 ? NAN : 1.0);
			TOY_SHOW(sh, x_s, "time");
		}
	const struct grid g = answers_of(a, sh, FORM_PEOPLE).grids[0];
	ck_assert_uint_eq(g.n_columns, 3);
	ck_assert_str_eq(g.heads[0], "GPU");
	ck_assert_str_eq(g.heads[1], "memory");
	ck_assert_str_eq(g.heads[2], "time");
	ck_assert_ptr_null(g.cells[0][1]);
	ck_assert_str_eq(g.cells[1][1], "1 KiB");
	ck_assert_str_eq(g.cells[0][2], "1 s");
	ck_assert_ptr_null(g.cells[2][2]);
	sheet_free(sh);
	arena_free(a);
}
END_TEST

Suite *sheet_suite(void);

Suite *
sheet_suite(void)
{
	Suite *s = suite_create("sheet");
	TCase *t = tcase_create("sheet");

	tcase_set_timeout(t, 60); /* sanitizers and busy machines */
	tcase_add_test(t, without_a_sheet_the_value_is_the_same);
	tcase_add_test(t, rows_hold_text_value_and_origin);
	tcase_add_test(t, groups_add_up);
	tcase_add_test(t, every_row_is_found_by_its_path);
	tcase_add_test(t, an_answer_outranks_rows_inside);
	tcase_add_test(t, the_innermost_name_is_meant);
	tcase_add_test(t, a_call_is_seen_only_when_it_has_returned);
	tcase_add_test(t, the_first_row);
	tcase_add_test(t, a_cleared_sheet_is_new);
	tcase_add_test(t, many_rows);
	tcase_add_test(t, words_are_copied);
	tcase_add_test(t, data_may_be_absent);
	tcase_add_test(t, shown_items_become_a_table);
	tcase_add_test(t, ragged_tables);
	suite_add_tcase(s, t);
	return s;
}
