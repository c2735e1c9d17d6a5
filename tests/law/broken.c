/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checker itself: each of these sheets breaks one law, and the report must say which. */
#include "law/law.h"

#include <string.h>

/* What GIVEN, LET and the others would record, by hand, so that it can be wrong. */
static void
let(struct sheet *sh, const char *name, const char *text, double value)
{
	sheet_record(sh, ROW_LET, name, text, value, (struct source){0});
}

static void
given(struct sheet *sh, const char *name, double value)
{
	sheet_record(sh, ROW_GIVEN, name, NULL, value, (struct source){0});
}

static void
sound(struct sheet *sh)
{
	given(sh, "work_flop", 1e12);
	given(sh, "peak_flop_per_s", 3e14);
	let(sh, "compute_s", "work_flop / peak_flop_per_s", 1e12 / 3e14);
	let(sh, "none_s", "0", 0);
	let(sh, "n_ranks", "fmax(1, 2 * 4)", 8);
	let(sh, "unknown_s", "compute_s * (0 / 0.0)", NAN);
	sheet_enter(sh, ROW_CALL, "again_s", "twice(sh, compute_s)", -1);
	given(sh, "once_s", 1e12 / 3e14);
	let(sh, "twice_s", "2 * once_s", 2 * (1e12 / 3e14));
	sheet_leave(sh, 2 * (1e12 / 3e14));
	sheet_enter(sh, ROW_SUM, "all_s", "f(sh, i)", -1);
	for (int i = 0; i < 3; i++) {
		sheet_enter(sh, ROW_ITEM, "all_s", NULL, i);
		let(sh, "part_s", "0.1 * compute_s", 0.1 * (1e12 / 3e14));
		sheet_leave(sh, 0.1 * (1e12 / 3e14));
	}
	const double part = 0.1 * (1e12 / 3e14);
	sheet_leave(sh, 0 + part + part + part);
}

static void
wrong_text(struct sheet *sh)
{
	given(sh, "size_byte", 3e9);
	given(sh, "link_byte_per_s", 7e9);
	let(sh, "send_s", "size_byte / link_byte_per_s", 2 * (3e9 / 7e9));
}

/* One unit in the last place. */
static void
last_bit(struct sheet *sh)
{
	given(sh, "size_byte", 3e9);
	given(sh, "link_byte_per_s", 7e9);
	let(sh, "send_s", "size_byte / link_byte_per_s", nextafter(3e9 / 7e9, 1));
}

static void
wrong_unit(struct sheet *sh)
{
	given(sh, "size_byte", 3e9);
	given(sh, "link_byte_per_s", 7e9);
	let(sh, "send_s", "size_byte * link_byte_per_s", 3e9 * 7e9);
}

static void
wrong_sum(struct sheet *sh)
{
	given(sh, "size_byte", 3e9);
	given(sh, "hop_s", 1e-6);
	let(sh, "send_s", "hop_s + size_byte", 1e-6 + 3e9);
}

static void
mixed_counts(struct sheet *sh)
{
	given(sh, "work_flop", 3);
	given(sh, "seq_token", 4);
	let(sh, "n_all", "work_flop + seq_token", 7);
}

static void
missing_name(struct sheet *sh)
{
	given(sh, "size_byte", 3e9);
	let(sh, "send_s", "size_byte / link_byte_per_s", 3e9);
}

/* A name that is recorded only afterwards. */
static void
later_name(struct sheet *sh)
{
	let(sh, "twice_s", "2 * hop_s", 2);
	given(sh, "hop_s", 1);
}

/* A name of a scope that has been left. */
static void
left_scope(struct sheet *sh)
{
	SCOPE (sh, "inside")
		given(sh, "hop_s", 1);
	let(sh, "twice_s", "2 * hop_s", 2);
}

static void
duplicate_name(struct sheet *sh)
{
	given(sh, "hop_s", 1);
	let(sh, "hop_s", "2", 2);
}

static void
arrow(struct sheet *sh)
{
	let(sh, "n_ranks", "layout->dp", 8);
}

static void
condition(struct sheet *sh)
{
	given(sh, "n_ranks", 8);
	let(sh, "n_steps", "n_ranks > 1 ? 2 : 0", 2);
}

static void
cast(struct sheet *sh)
{
	given(sh, "n_ranks", 8);
	let(sh, "n_half", "(double)n_ranks / 2", 4);
}

static void
integers(struct sheet *sh)
{
	let(sh, "half", "1 / 2", 0);
}

static void
call_result(struct sheet *sh)
{
	sheet_enter(sh, ROW_CALL, "step_s", "f(sh)", -1);
	let(sh, "one_s", "0", 0);
	sheet_leave(sh, 1);
}

static void
call_unit(struct sheet *sh)
{
	sheet_enter(sh, ROW_CALL, "step_s", "f(sh, size_byte)", -1);
	given(sh, "size_byte", 3);
	sheet_leave(sh, 3);
}

static void
call_silent(struct sheet *sh)
{
	sheet_enter(sh, ROW_CALL, "step_s", "f(NULL)", -1);
	sheet_leave(sh, 1);
}

static void
swapped_arguments(struct sheet *sh)
{
	given(sh, "size_byte", 3e9);
	given(sh, "link_byte_per_s", 7e9);
	sheet_enter(sh, ROW_CALL, "send_s", "send(sh, link_byte_per_s, size_byte)", -1);
	given(sh, "wire_byte", 7e9);
	given(sh, "wire_byte_per_s", 3e9);
	let(sh, "wire_s", "wire_byte / wire_byte_per_s", 7e9 / 3e9);
	sheet_leave(sh, 7e9 / 3e9);
}

static void
items(struct sheet *sh, enum row_kind kind, double value)
{
	sheet_enter(sh, kind, "all_s", "f(sh, i)", -1);
	for (int i = 0; i < 3; i++) {
		sheet_enter(sh, ROW_ITEM, "all_s", NULL, i);
		given(sh, "part_s", i);
		sheet_leave(sh, i);
	}
	sheet_leave(sh, value);
}

static void
wrong_items(struct sheet *sh)
{
	items(sh, ROW_SUM, 4);
}

static void
wrong_most(struct sheet *sh)
{
	items(sh, ROW_MOST, 3);
}

static void
never_left(struct sheet *sh)
{
	sheet_enter(sh, ROW_SCOPE, "block", NULL, -1);
}

static void
no_suffix(struct sheet *sh)
{
	given(sh, "latency_ms", 3);
}

static void
not_a_number(struct sheet *sh)
{
	given(sh, "n_ranks", 8);
	let(sh, "n_half", "n_ranks / 2", NAN);
}

static void
outside(struct sheet *sh)
{
	given(sh, "step_s", 3);
	sheet_between(sh, "step_s", 3.1, 4, "calibrated");
}

static void
unexplained(struct sheet *sh)
{
	given(sh, "step_s", 3);
	sheet_between(sh, "step_s", 2, 4, "");
}

static const struct {
	const char *name;
	void (*make)(struct sheet *sh);
	const char *says; /* NULL: the sheet is sound */
} cases[] = {
    {"a sound sheet", sound, NULL},
    {"another formula than the one that ran", wrong_text, "was recorded"},
    {"a value one bit off", last_bit, "was recorded"},
    {"a product called a time", wrong_unit, "the name says s"},
    {"seconds plus bytes", wrong_sum, "two different units"},
    {"two counts added", mixed_counts, "two different units"},
    {"a name nobody recorded", missing_name, "nothing is called 'link_byte_per_s'"},
    {"a name that comes later", later_name, "nothing is called 'hop_s'"},
    {"a name of a scope that was left", left_scope, "nothing is called 'hop_s'"},
    {"one name twice", duplicate_name, "twice"},
    {"a struct member", arrow, "reaches into a struct"},
    {"a condition", condition, "condition"},
    {"a cast", cast, "cast"},
    {"a quotient of integers", integers, "quotient"},
    {"a call with another value than its last row", call_result, "its last row"},
    {"a call under a name of another unit", call_unit, "the name says s"},
    {"a call without its sheet", call_silent, "nothing was recorded"},
    {"swapped arguments", swapped_arguments, "the parameter wire_byte is"},
    {"a sum that is not", wrong_items, "its items make"},
    {"a maximum that is not", wrong_most, "its items make"},
    {"a scope without an end", never_left, "never left"},
    {"milliseconds", no_suffix, "not a unit suffix"},
    {"no number where there is one", not_a_number, "was recorded"},
    {"a value outside its interval", outside, "outside its interval"},
    {"an interval out of nowhere", unexplained, "how it is known"},
};

static bool
says(const struct faults *f, const char *what)
{
	for (size_t i = 0; i < f->n_list; i++)
		if (strstr(f->list[i].text, what))
			return true;
	return false;
}

void
broken_sheets(struct faults *f)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sheet *sh = sheet_new();
		struct faults found = {.arena = f->arena, .where = cases[i].name};

		cases[i].make(sh);
		law_check(sh, &found);
		f->where = "the checker's own cases";
		if (cases[i].says ? !says(&found, cases[i].says) : found.n != 0)
			fault_report(f, cases[i].name, "%s: %s", cases[i].says ? "is not reported" : "is sound, but",
			    found.n ? found.list[0].text : "no fault");
		sheet_free(sh);
	}
}
