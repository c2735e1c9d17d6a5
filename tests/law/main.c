/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * law             hold every sheet that can be had against the law of sheets
 * law --manual    print the MODELS part of ridge-models(7)
 */
#include "law/law.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	void (*run)(struct faults *f);
} parts[] = {
    {"broken sheets are reported", broken_sheets},
    {"no public model is missing", model_registry},
    {"every public model", model_sheets},
    {"command lines", command_sheets},
};

int
main(int argc, char **argv)
{
	int failed = 0;

	if (access("hwdb/gpus", R_OK) == 0)
		setenv("RIDGE_HWDB", ".", 0);
	if (argc == 2 && strcmp(argv[1], "--manual") == 0) {
		manual_print(stdout);
		return ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	if (argc != 1) {
		fputs("usage: law [--manual]\n", stderr);
		return 2;
	}
	struct arena *a = arena_new();
	/* command lines write to /dev/null in place of standard output */
	FILE *to = fdopen(dup(STDOUT_FILENO), "w");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		struct faults f = {.arena = a, .to = to};
		parts[i].run(&f);
		fprintf(to, "%s: %d rows, %d formulas, %d faults\n", parts[i].name, f.n_rows, f.n_formulas, f.n);
		failed += f.n;
	}
	arena_free(a);
	fclose(to);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
