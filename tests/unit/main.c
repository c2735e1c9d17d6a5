/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit-tests [PART OF]: runs every suite, or one in OF of them; test_NAME.c gives NAME_suite().
 *
 * Each suite is a process, and its tests run in it one after the other: a process for each of 2,900 tests takes half a
 * minute.  CK_FORK=yes has them.
 */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SUITE(name) Suite *name##_suite(void);
#include "suites.h"
#undef SUITE

/* A suite that takes longer hangs. */
enum { LONGEST_S = 1800 };

static const struct {
	const char *name;
	Suite *(*make)(void);
} suites[] = {
#define SUITE(name) {#name, name##_suite},
#include "suites.h"
#undef SUITE
};

static int
run(Suite *suite, int *n_tests)
{
	SRunner *runner = srunner_create(suite);

	if (!getenv("CK_FORK"))
		srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_ENV);
	*n_tests += srunner_ntests_run(runner);
	const int n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	const size_t part = argc == 3 ? (size_t)atoi(argv[1]) : 0, of = argc == 3 ? (size_t)atoi(argv[2]) : 1;
	const char *only = getenv("CK_RUN_SUITE");
	int n_suites = 0, n_failed = 0;
	int *n_tests = mmap(NULL, sizeof *n_tests, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (of < 1 || n_tests == MAP_FAILED)
		return 2;
	for (size_t i = part; i < sizeof suites / sizeof *suites; i += of) {
		int status;
		if (only && strcmp(only, suites[i].name) != 0)
			continue;
		fflush(NULL);
		const pid_t child = fork();
		if (child == 0) {
			alarm(LONGEST_S);
			exit(run(suites[i].make(), n_tests));
		}
		const bool ended = child > 0 && waitpid(child, &status, 0) == child;
		if (!ended || !WIFEXITED(status))
			fprintf(stderr, "%s: did not come to its end\n", suites[i].name);
		n_suites++;
		n_failed += !ended || status != 0;
	}
	printf("%d suites, %d tests, %d suites failed\n", n_suites, *n_tests, n_failed);
	return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
