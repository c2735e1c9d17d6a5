/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit-tests [PART OF]: runs every suite, or one in OF of them; test_NAME.c gives NAME_suite(). */
#include <check.h>
#include <stdlib.h>

#define SUITE(name) Suite *name##_suite(void);
#include "suites.h"
#undef SUITE

int
main(int argc, char **argv)
{
	const int part = argc == 3 ? atoi(argv[1]) : 0, of = argc == 3 ? atoi(argv[2]) : 1;
	SRunner *runner = srunner_create(NULL);
	int n = 0;

	if (of < 1)
		return 2;
#define SUITE(name)                                                                                                    \
	if (n++ % of == part)                                                                                          \
		srunner_add_suite(runner, name##_suite());
#include "suites.h"
#undef SUITE
	srunner_run_all(runner, CK_ENV);
	const int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
