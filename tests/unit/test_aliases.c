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

/* --- paths of inputs -------------------------------------------------------------------------------------- */

/* An option is named as its input is; where not, why. */
static const struct {
	const char *name, *path, *why;
} named_otherwise[] = {
    {"no-sp", "layout.no_sp", "a word of the layout, which is a map"},
    {NULL, "table", "stack --check: a table inside a job file, which a command line cannot hold"},
};

static bool
is_named_otherwise(const struct option *o)
{
	for (size_t i = 0; i < sizeof named_otherwise / sizeof *named_otherwise; i++) {
		const char *name = named_otherwise[i].name;
		if (strcmp(named_otherwise[i].path, o->path) == 0 &&
		    (name ? o->name && strcmp(name, o->name) == 0 : !o->name))
			return true;
	}
	return false;
}

/* A word of --layout, or an operand. */
static bool
is_without_name(const struct command *c, const struct option *o)
{
	size_t n;
	char **operands = text_split(a, c->operands ? c->operands : "", ' ', &n);

	for (size_t i = 0; i < n; i++)
		if (strncmp(operands[i], o->path, strlen(o->path)) == 0)
			return true;
	return text_begins(o->path, "layout.");
}

START_TEST(an_input_is_named_as_its_option)
{
	const struct command *c = commands[_i];

	for (size_t g = 0; g < c->n_groups; g++)
		for (size_t i = 0; i < c->groups[g].n; i++) {
			const struct option *o = &c->groups[g].options[i];
			char name[80];
			snprintf(name, sizeof name, "%s", o->path);
			for (char *p = name; *p; p++)
				*p = *p == '_' ? '-' : *p;
			ck_assert_msg(
			    is_named_otherwise(o) || (o->name ? strcmp(o->name, name) == 0 : is_without_name(c, o)),
			    "ridge %s: the input of --%s is '%s'", c->name, o->name ? o->name : "", o->path);
		}
}
END_TEST

/* Keys of job files, of lines and of --set that were renamed, and other programs' names of options. */
static const struct {
	const char *command, *key, *path;
} old_paths[] = {
    {"capacity", "tokens", "context"},
    {"capacity", "utilisation", "target_load"},
    {"capacity", "objectives", "slo"},
    {"capacity", "replica_gpus", "gpus"},
    {"checkpoint", "gpus_per_node", "node_gpus"},
    {"comm", "ranks", "gpus"},
    {"comm", "system.gpus", "gpus"},
    {"cost", "utilisation", "target_load"},
    {"data", "table", "table_size"},
    {"memory", "system.gpus", "gpus"},
    {"memory", "gpu-mem", "gpu_mem"},
    {"scale", "ranks", "gpus"},
    {"serve", "deadline", "e2e"},
    {"serve", "drafts", "draft_tokens"},
    {"serve", "max_num_seqs", "max_sequences"},
    {"spec", "k", "draft_tokens"},
    {"train", "system.gpus", "gpus"},
    {"train", "tensor_parallel_size", "layout.tp"},
    {"serve", "attention_dp", "layout.adp"},
    {"serve", "layout.attention-dp", "layout.adp"},
};

START_TEST(old_inputs_are_accepted)
{
	const struct command *c = command_find(old_paths[_i].command);
	const char *key = old_paths[_i].key, *path = old_paths[_i].path;
	struct diag *d = diag_new(a);
	const char *text = arena_printf(a, "{\"%s\": 8}", key), *other = arena_printf(a, "{%s: 8, %s: 9}", key, path);
	const struct node *map = tree_read_text(a, d, "job", text, strlen(text));

	ck_assert_str_eq(inputs_path(c, key), path);
	const struct node *spread = inputs_spread(a, d, c, map);
	ck_assert_ptr_nonnull(tree_at(spread, path));
	ck_assert_str_eq(tree_at(spread, path)->text, "8");
	ck_assert_int_eq(diag_errors(d), 0);
	inputs_spread(a, d, c, tree_read_text(a, d, "job", other, strlen(other)));
	ck_assert_msg(diag_errors(d) == 1, "ridge %s takes both '%s' and '%s'", c->name, key, path);
	const struct arguments args = parse(c, arena_printf(a, "--set %s=8 --get inputs.%s", key, key));
	const struct node *tree = inputs_tree(a, d, c, NULL, &args);
	ck_assert_str_eq(tree_at(tree, path)->text, "8");
	ck_assert_str_eq(args.get, arena_printf(a, "inputs.%s", path));
}
END_TEST

START_TEST(a_job_counts_its_gpus_in_its_system)
{
	const struct command *c = command_find("train");
	static const char text[] = "{system: {name: dgx-h100, gpus: 64, power: 9kW}}";
	struct diag *d = diag_new(a);
	const struct node *tree = inputs_spread(a, d, c, tree_read_text(a, d, "job", text, strlen(text)));

	ck_assert_str_eq(tree_at(tree, "gpus")->text, "64");
	ck_assert_ptr_null(tree_at(tree, "system.gpus"));
	ck_assert_str_eq(tree_at(tree, "system.name")->text, "dgx-h100");
	ck_assert_str_eq(tree_at(tree, "system.power")->text, "9kW");
}
END_TEST

START_TEST(an_input_is_swept_by_one_of_its_names)
{
	struct diag *d = diag_new(a);
	struct arguments args;
	char *words[] = {"--sweep", "gpus=8", "--sweep", "ranks=16"};

	ck_assert(!arguments_parse(a, d, command_find("comm"), 4, words, &args));
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
	tcase_add_loop_test(t, an_input_is_named_as_its_option, 0, (int)n_commands);
	tcase_add_loop_test(t, old_inputs_are_accepted, 0, (int)(sizeof old_paths / sizeof *old_paths));
	tcase_add_test(t, a_job_counts_its_gpus_in_its_system);
	tcase_add_test(t, an_input_is_swept_by_one_of_its_names);
	suite_add_tcase(s, t);
	return s;
}
