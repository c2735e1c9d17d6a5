/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formula reader computes what C computes, bit for bit, and works out the unit. */
#include "base/base.h"

#include "said.h"

#include <math.h>

/* Names with values that no short decimal has, so that a wrong order shows in the last bits. */
static const struct {
	const char *name;
	double value;
} known[] = {{"a", 0.1}, {"b", 0.7}, {"c", 1e16}, {"d", -3.3}, {"n_ranks", 8}, {"n_tokens", 4096}, {"n_params", 7e9},
    {"size_byte", 14e9}, {"rate_byte_per_s", 50e9}, {"step_s", 0.03}, {"work_flop", 1e12},
    {"peak_flop_per_s", 989.4e12}, {"area_byte", 9}, {"zero_byte", 0}, {"m", 4096}, {"zero", 0}};

static bool
find(const void *context, const char *name, struct formula_value *out)
{
	(void)context;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, name) == 0) {
			*out = (struct formula_value){known[i].value, dim_of_name(name), true, true};
			return true;
		}
	return false;
}

static const struct formula_names names = {find, NULL};

/* Constants as the compiler must not fold them. */
static volatile const double a = 0.1, b = 0.7, c = 1e16, d = -3.3, n_ranks = 8, size_byte = 14e9,
                             rate_byte_per_s = 50e9;

struct computed {
	const char *text;
	double value;
};

/* The text and what the compiler makes of it. */
#define AS_C(expression)                                                                                               \
	{                                                                                                              \
#expression, expression                                                                                \
	}

START_TEST(computes_as_c_does)
{
	const struct computed cases[] = {
	    AS_C(a + b * c),
	    AS_C((a + b) * c),
	    AS_C(c + a - c + b),
	    AS_C(c - a - b - d),
	    AS_C(a / b / d),
	    AS_C(a / (b / d)),
	    AS_C(a * b / d * c),
	    AS_C(-a - -b),
	    AS_C(-a * b),
	    AS_C(a - b * c / d + a * a),
	    AS_C(- -a),
	    AS_C(2 * (n_ranks - 1)),
	    AS_C(1.0 / 3 * a),
	    AS_C(1e-3 * a + .5 - 3.),
	    AS_C(fmin(a, b) - fmax(a, fmin(c, d))),
	    AS_C(ceil(a * 100) + floor(d)),
	    AS_C(sqrt(b) * cbrt(a) + pow(a, 2.5)),
	    AS_C(exp(a) + log(b) + log2(c) - log10(a)),
	    AS_C(ceil((a + b) / (b)) * ((((c))))),
	    AS_C(size_byte / rate_byte_per_s / 2 * 3),
	    AS_C(7 * a / 2),
	    AS_C(ceil(7) / 2),
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct formula_value v;
		struct formula_fault fault = {"", 0};

		ck_assert_msg(formula_evaluate(cases[i].text, names, &v, &fault), "%s: %s", cases[i].text, fault.what);
		ck_assert_msg(memcmp(&v.value, &cases[i].value, sizeof v.value) == 0, "%s is %.17g, C says %.17g",
		    cases[i].text, v.value, cases[i].value);
	}
}
END_TEST

static const struct {
	const char *text, *dim;
} units[] = {
    {"size_byte / rate_byte_per_s", "s"},
    {"size_byte / step_s", "B/s"},
    {"work_flop / peak_flop_per_s", "s"},
    {"size_byte + 0", "B"},
    {"0 - size_byte", "B"},
    {"fmax(0, step_s)", "s"},
    {"fmin(step_s, 0.0)", "s"},
    {"n_tokens + 1", "token"},
    {"1 + n_tokens", "token"},
    {"2 * n_tokens * m", "token"},
    {"sqrt(size_byte * area_byte)", "B"},
    {"sqrt(a)", "pure number"},
    {"ceil(n_tokens / 16) * 16", "token"},
    {"-step_s", "s"},
    {"size_byte / size_byte", "pure number"},
    {"exp(step_s / step_s)", "pure number"},
    {"pow(n_ranks, 2)", "pure number"},
    {"size_byte / n_tokens", "B/token"},
    {"cbrt(size_byte * size_byte * area_byte)", "B"},
};

START_TEST(works_out_the_unit)
{
	struct formula_value v;
	struct formula_fault fault = {"", 0};
	char buf[80];

	ck_assert_msg(formula_evaluate(units[_i].text, names, &v, &fault), "%s: %s", units[_i].text, fault.what);
	dim_name(v.dim, buf, sizeof buf);
	ck_assert_msg(strcmp(buf, units[_i].dim) == 0, "%s is in %s", units[_i].text, buf);
}
END_TEST

static const struct {
	const char *text, *what;
	int column;
} faults[] = {
    {"size_byte + step_s", "two different units are added: 'B and s'", 11},
    {"a * (step_s - size_byte)", "two different units are added", 13},
    {"size_byte + 5", "two different units are added: 'B and pure number'", 11},
    {"n_tokens + n_params", "two different units are added: 'token and param'", 10},
    {"zero_byte + step_s", "two different units are added", 11}, /* only a literal zero has any unit */
    {"fmax(size_byte, step_s)", "two different units in 'fmax'", 1},
    {"exp(step_s)", "a unit inside 'exp'", 1},
    {"log2(size_byte)", "a unit inside 'log2'", 1},
    {"pow(size_byte, 2)", "a unit inside 'pow'", 1},
    {"pow(2, step_s)", "a unit inside 'pow'", 1},
    {"sqrt(size_byte)", "no whole unit under 'sqrt'", 1},
    {"cbrt(size_byte * size_byte)", "no whole unit under 'cbrt'", 1},
    {"1 / 2 * a", "a quotient of two whole numbers", 3},
    {"(1) / (2)", "a quotient of two whole numbers", 5},
    {"-1 / 2", "a quotient of two whole numbers", 4},
    {"2 * 3 / 4", "a quotient of two whole numbers", 7},
    {"(1 + 2) / 4", "a quotient of two whole numbers", 9},
    {"a * (1 / 2)", "a quotient of two whole numbers", 8},
    {"x + a", "nothing is called 'x'", 1},
    {"a + abs(b)", "not a function: 'abs'", 5},
    {"fmin", "nothing is called 'fmin'", 1},
    {"fmin(a)", "a comma is missing in 'fmin'", 7},
    {"fmin(a, b", "a closing parenthesis is missing", 10},
    {"sqrt(a, b)", "a closing parenthesis is missing", 7},
    {"(a + b", "a closing parenthesis is missing", 7},
    {"a + b)", "not a formula at", 6},
    {"a b", "not a formula at", 3},
    {"a +", "not a formula at", 4},
    {"", "not a formula at", 1},
    {"   ", "not a formula at", 4},
    {"* a", "not a formula at", 1},
    {"a ? b : c", "not a formula at", 3},
    {"a == b", "not a formula at", 3},
    {"a % b", "not a formula at", 3},
    {"(double)a", "nothing is called 'double'", 2},
    {"layout->dp", "nothing is called 'layout'", 1},
    {"010 * a", "C would not read this number as decimal", 1},
    {"0x10 * a", "C would not read this number as decimal", 1},
    {"2a", "not a formula at", 2},
    {"1.5f", "not a formula at", 4},
    {"a\n+\nx", "nothing is called 'x'", 5},
};

START_TEST(refuses)
{
	struct formula_value v;
	struct formula_fault fault = {"", 0};

	ck_assert_msg(!formula_evaluate(faults[_i].text, names, &v, &fault), "%s was read", faults[_i].text);
	ck_assert_msg(strstr(fault.what, faults[_i].what), "%s: %s", faults[_i].text, fault.what);
	ck_assert_msg(fault.column == faults[_i].column, "%s: column %d", faults[_i].text, fault.column);
}
END_TEST

/* Nesting is bounded: neither a long chain of signs nor of parentheses may use up the stack. */
START_TEST(depth_is_bounded)
{
	static const struct {
		char open, close;
		const char *core;
	} kinds[] = {{'(', ')', "a"}, {'-', '\0', "a"}};
	enum { DEEP = 500000 };
	char *text = malloc(2 * DEEP + 10);

	for (size_t k = 0; k < 2; k++)
		for (int deep = 50; deep <= DEEP; deep *= 100) {
			struct formula_value v;
			struct formula_fault fault = {"", 0};
			memset(text, kinds[k].open, (size_t)deep);
			strcpy(text + deep, kinds[k].core);
			if (kinds[k].close) {
				memset(text + deep + 1, kinds[k].close, (size_t)deep);
				text[2 * deep + 1] = '\0';
			}
			const bool ok = formula_evaluate(text, names, &v, &fault);
			ck_assert_msg(ok == (deep == 50), "%d levels of %c: %s", deep, kinds[k].open, fault.what);
			if (!ok)
				ck_assert_has(fault.what, "nested too deeply");
		}
	free(text);
}
END_TEST

START_TEST(long_names_are_no_names)
{
	char text[5000];
	struct formula_value v;
	struct formula_fault fault;

	memset(text, 'n', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	ck_assert(!formula_evaluate(text, names, &v, &fault));
	memcpy(text, "a ", 2);
	ck_assert(!formula_evaluate(text, names, &v, &fault));
}
END_TEST

static void
collect(void *context, const char *name)
{
	char *list = context;

	strcat(list, name);
	strcat(list, " ");
}

START_TEST(lists_its_names)
{
	char list[200] = "";

	formula_each_name("2e3 * fmax(a_s, 0x1f) + pow(b, 1e-5)/c_1 - a_s", collect, list);
	ck_assert_str_eq(list, "a_s b c_1 a_s ");
}
END_TEST

static const struct {
	const char *text, *to;
	bool may;
} given[] = {
    {"size_byte * 2", "total_byte", true},
    {"size_byte * 2", "total_s", false},
    {"7", "n_tokens", true},
    {"7", "work_flop", true},
    {"7", "total_byte", false},
    {"0", "total_byte", true},
    {"0 * a", "total_byte", false}, /* made of a name: not a literal zero */
    {"fmax(0, zero)", "total_byte", false},
    {"0 + zero", "total_byte", false},
    {"fmax(0, 0)", "total_byte", true},
    {"m * n_ranks", "rows_token", true},
    {"n_tokens", "n_params", false},
    {"n_tokens", "ratio", false},
    {"size_byte", "kv_byte_per_token", true},
    {"step_s", "kv_byte_per_token", false},
    {"n_tokens / step_s", "rate_token_per_s", true},
    {"n_ranks", "share_frac", true},
};

START_TEST(may_be_given_to)
{
	struct formula_value v;
	struct formula_fault fault;

	ck_assert(formula_evaluate(given[_i].text, names, &v, &fault));
	ck_assert_msg(
	    formula_assignable(v, dim_of_name(given[_i].to)) == given[_i].may, "%s = %s", given[_i].to, given[_i].text);
}
END_TEST

#define LOOP(tcase, test, table) tcase_add_loop_test(tcase, test, 0, (int)(sizeof(table) / sizeof *(table)))

Suite *formula_suite(void);

Suite *
formula_suite(void)
{
	Suite *s = suite_create("formula");
	TCase *t = tcase_create("formula");

	tcase_set_timeout(t, 60); /* sanitizers and busy machines */
	tcase_add_test(t, computes_as_c_does);
	LOOP(t, works_out_the_unit, units);
	LOOP(t, refuses, faults);
	tcase_add_test(t, depth_is_bounded);
	tcase_add_test(t, long_names_are_no_names);
	tcase_add_test(t, lists_its_names);
	LOOP(t, may_be_given_to, given);
	suite_add_tcase(s, t);
	return s;
}
