/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every input of `ridge serve` is said to an engine, or is no matter of it, or is said to be missing. */
#include "ask/launch/launch.h"
#include "cli/cli.h"

#include <check.h>
#include <string.h>

/* What rules of hwdb/launchers are about. */
static bool
is_mapped(const char *path)
{
	static const char *const mapped[] = {"layout.tp", "layout.pp", "layout.ep", "layout.adp", "dtype",
	    "weights_dtype", "kv_dtype", "engine", "headroom", "isl", "osl", "max_sequences", "max_step_tokens",
	    "speculate", "decode_layout"};

	for (size_t i = 0; i < sizeof mapped / sizeof *mapped; i++)
		if (strcmp(mapped[i], path) == 0)
			return true;
	return false;
}

START_TEST(every_input_is_said_or_skipped)
{
	const struct command *c = command_find("serve");

	for (size_t g = 0; g < c->n_groups; g++)
		for (size_t i = 0; i < c->groups[g].n; i++) {
			const char *path = c->groups[g].options[i].path;
			ck_assert_msg(is_mapped(path) != (launch_serve_skips(path) != NULL),
			    "%s: add a rule to hwdb/launchers, or a row to launch_serve_skips", path);
		}
	ck_assert(!launch_serve_skips("nothing"));
}
END_TEST

Suite *launch_suite(void);

Suite *
launch_suite(void)
{
	Suite *s = suite_create("launch");
	TCase *t = tcase_create("launch");

	tcase_add_test(t, every_input_is_said_or_skipped);
	suite_add_tcase(s, t);
	return s;
}
