/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * law             hold every sheet that can be had against the law of sheets
 * law PART        the same, of the parts whose names contain this
 * law --quick     hold it with a few inputs, and without command lines
 * law --manual    print the MODELS part of ridge-models(7)
 * law --random [N [SEED [PART OF]]]
 *                 ask N random questions, and hold every answer against what must be so (random.h)
 */
#include "law/physics.h"
#include "law/random.h"

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
    {"collectives and their links", link_laws},
    {"kernels and their roofs", kernel_laws},
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
	if (argc >= 2 && argc <= 6 && strcmp(argv[1], "--random") == 0) {
		const long n = argc > 2 ? strtol(argv[2], NULL, 10) : 10000;
		const unsigned seed = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1;
		const unsigned part = argc > 5 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
		const unsigned of = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : 1;
		return random_questions(n, seed, part, of) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	const bool quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
	const char *part = argc == 2 && !quick ? argv[1] : NULL;
	if (argc > 2 || (part && *part == '-')) {
		fputs("usage: law [PART | --quick | --manual | --random [N [SEED [PART OF]]]]\n", stderr);
		return 2;
	}
	struct arena *a = arena_new();
	/* command lines write to /dev/null in place of standard output */
	FILE *to = fdopen(dup(STDOUT_FILENO), "w");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		struct faults f = {.arena = a, .to = to, .quick = quick};
		if (quick && parts[i].run == command_sheets)
			continue;
		if (part && !strstr(parts[i].name, part))
			continue;
		parts[i].run(&f);
		fprintf(to, "%s: %d rows, %d formulas, %d faults\n", parts[i].name, f.n_rows, f.n_formulas, f.n);
		failed += f.n;
	}
	arena_free(a);
	fclose(to);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
