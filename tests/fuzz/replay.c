/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a fuzzer's function over files, for compilers without libFuzzer: the seeds, and inputs that once failed. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		if (!file) {
			perror(argv[i]);
			return 2;
		}
		uint8_t *data = NULL;
		size_t n = 0, room = 0, got;
		do {
			if (n == room) {
				room = room ? 2 * room : 4096;
				data = realloc(data, room);
				if (!data)
					return 3;
			}
			got = fread(data + n, 1, room - n, file);
			n += got;
		} while (got > 0);
		fclose(file);
		/* a copy of just this length, so that sanitizers see what reads past its end */
		uint8_t *exact = realloc(data, n ? n : 1);
		LLVMFuzzerTestOneInput(exact ? exact : data, n);
		free(exact ? exact : data);
	}
	printf("%d inputs\n", argc - 1);
	return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
