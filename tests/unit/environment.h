/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests that change the environment put it back: others run in the same process. */
#ifndef RIDGE_TESTS_ENVIRONMENT_H
#define RIDGE_TESTS_ENVIRONMENT_H

#include <stdlib.h>
#include <string.h>

enum { N_KEPT = 4 };

struct environment {
	char *values[N_KEPT]; /* NULL: unset */
};

static const char *const environment_names[N_KEPT] = {"RIDGE_HWDB", "XDG_DATA_HOME", "HOME", "PATH"};

static inline struct environment
environment_keep(void)
{
	struct environment e;

	for (int i = 0; i < N_KEPT; i++) {
		const char *value = getenv(environment_names[i]);
		e.values[i] = value ? strdup(value) : NULL;
	}
	return e;
}

static inline void
environment_put_back(struct environment *e)
{
	for (int i = 0; i < N_KEPT; i++) {
		if (e->values[i])
			setenv(environment_names[i], e->values[i], 1);
		else
			unsetenv(environment_names[i]);
		free(e->values[i]);
	}
}

#endif
