/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs every suite: test_NAME.c gives NAME_suite(). */
#include <check.h>
#include <stdlib.h>

#define SUITE(name) Suite *name##_suite(void);
#include "suites.h"
#undef SUITE

int
main(void)
{
	SRunner *runner = srunner_create(NULL);

#define SUITE(name) srunner_add_suite(runner, name##_suite());
#include "suites.h"
#undef SUITE
	srunner_run_all(runner, CK_ENV);
	const int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
