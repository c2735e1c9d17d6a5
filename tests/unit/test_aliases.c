/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Other spellings of options mean what the options mean. */
#include "base/base.h"
#include "cli/cli.h"
#include "cli/parts.h"
#include "split.h"

#include <check.h>

static struct arena *a;

static void
set_up(void)
{
	a = arena_new();
}

static void
tear_down(void)
{
	arena_free(a);
}

static struct arguments
parse(const struct command *c, const char *line)
{
	struct diag *d = diag_new(a);
	struct arguments args;
	char *words[8];
	const int n = split_line(a, line, words, 8);

	ck_assert_msg(arguments_parse(a, d, c, n, words, &args), "ridge %s %s: %s", c->name, line,
	    diag_message(d, 0, &(struct source){0}, &(const char *){0}, &(enum severity){0}));
	return args;
}

static const char *
canonical_line(const struct alias *alias, const struct option *o)
{
	const char *value = o->kind == KIND_FLAG ? "" : text_begins(alias->of, "layout.") ? "=1" : " 1";

	return text_begins(alias->of, "layout.")
	    ? arena_printf(a, "--layout %s%s", alias->of + strlen("layout."), value)
	    : arena_printf(a, "--%s%s", alias->of, value);
}

START_TEST(an_alias_sets_what_its_option_sets)
{
	const struct alias *alias = &aliases[_i];
	size_t n = 0;

	for (size_t i = 0; i < n_commands; i++) {
		const struct command *c = commands[i];
		const struct option *o = alias_option(alias, c);
		if (!o)
			continue;
		n++;
		const struct arguments other =
		    parse(c, arena_printf(a, "--%s%s", alias->name, o->kind == KIND_FLAG ? "" : " 1"));
		const struct arguments canonical = parse(c, canonical_line(alias, o));
		ck_assert_uint_eq(other.options.n, 1);
		ck_assert_uint_eq(canonical.options.n, 1);
		ck_assert_str_eq(other.options.list[0].path, canonical.options.list[0].path);
		ck_assert_str_eq(other.options.list[0].text, canonical.options.list[0].text);
	}
	ck_assert_msg(n > 0, "--%s means nothing in any command", alias->name);
}
END_TEST

/* A list of commands names commands that have the option. */
START_TEST(the_commands_of_an_alias_have_its_option)
{
	size_t n;
	char **names = text_split(a, aliases[_i].commands, ' ', &n);

	for (size_t i = 0; i < n && **names; i++) {
		const struct command *c = command_find(names[i]);
		ck_assert_msg(c && alias_option(&aliases[_i], c), "--%s: ridge %s has no --%s", aliases[_i].name,
		    names[i], aliases[_i].of);
	}
}
END_TEST

START_TEST(no_alias_hides_an_option)
{
	const struct alias *alias = &aliases[_i];

	for (size_t i = 0; i < n_commands; i++) {
		if (!alias_option(alias, commands[i]))
			continue;
		ck_assert_msg(!command_option_named(commands[i], alias->name), "ridge %s has a --%s of its own",
		    commands[i]->name, alias->name);
		for (size_t k = 0; k < n_global_options && !alias->number; k++)
			ck_assert_str_ne(global_options[k].name, alias->name);
		for (int k = 0; k < _i; k++)
			ck_assert_msg(
			    strcmp(aliases[k].name, alias->name) != 0 || !alias_option(&aliases[k], commands[i]),
			    "ridge %s: --%s has two meanings", commands[i]->name, alias->name);
	}
}
END_TEST

START_TEST(an_alias_and_its_option_are_given_twice)
{
	struct diag *d = diag_new(a);
	struct arguments args;
	char *words[] = {"--gpus", "8", "--num-gpus", "16"};

	ck_assert(!arguments_parse(a, d, command_find("train"), 4, words, &args));
}
END_TEST

START_TEST(layouts_have_several_spellings)
{
	const struct command *c = command_find("train");
	const struct arguments args = parse(c, "--layout tp2,pp:4,dp=2,sp,zero3");
	static const char *const wanted[][2] = {
	    {"layout.tp", "2"}, {"layout.pp", "4"}, {"layout.dp", "2"}, {"layout.sp", "true"}, {"layout.zero", "3"}};

	ck_assert_uint_eq(args.options.n, 5);
	for (size_t i = 0; i < 5; i++) {
		ck_assert_str_eq(args.options.list[i].path, wanted[i][0]);
		ck_assert_str_eq(args.options.list[i].text, wanted[i][1]);
	}
}
END_TEST

/* Options go on being accepted: all that there were when they were renamed, those of 0.1.0 among them. */
START_TEST(old_options_are_accepted)
{
	FILE *file = fopen("tests/fixtures/options.tsv", "r");
	char line[100], command[40], name[40];

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof line, file)) {
		if (*line == '#' || sscanf(line, "%39s %39s", command, name) != 2)
			continue;
		const struct command *c = command_find(command);
		ck_assert_msg(c && (command_option_named(c, name) || alias_find(c, name, "1")),
		    "ridge %s has no --%s any more", command, name);
	}
	fclose(file);
}
END_TEST

Suite *aliases_suite(void);

Suite *
aliases_suite(void)
{
	Suite *s = suite_create("aliases");
	TCase *t = tcase_create("aliases");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, an_alias_sets_what_its_option_sets, 0, (int)n_aliases);
	tcase_add_loop_test(t, the_commands_of_an_alias_have_its_option, 0, (int)n_aliases);
	tcase_add_loop_test(t, no_alias_hides_an_option, 0, (int)n_aliases);
	tcase_add_test(t, an_alias_and_its_option_are_given_twice);
	tcase_add_test(t, layouts_have_several_spellings);
	tcase_add_test(t, old_options_are_accepted);
	suite_add_tcase(s, t);
	return s;
}
