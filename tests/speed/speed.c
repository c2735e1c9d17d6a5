/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cold start of real questions: wall time of the whole process, median of many runs, beside /bin/true run in turn with
 * it; and the largest resident memory.  A benchmark, not a test: it prints, it never fails for being slow.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 201, MAX_WORDS = 32 };

static double
once(char *const *words, long *resident_kib)
{
	struct timespec start, end;
	struct rusage usage;
	int status;

	clock_gettime(CLOCK_MONOTONIC, &start);
	const pid_t child = vfork();
	if (child == 0) {
		const int null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execv(words[0], words);
		_exit(127);
	}
	wait4(child, &status, 0, &usage);
	clock_gettime(CLOCK_MONOTONIC, &end);
	*resident_kib = usage.ru_maxrss;
	return (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
	static const char *const lines[] = {
	    "memory llama3-70b --gpu h100 --layout tp=8,dp=2 --json",
	    "roofline gemm --m 4096 --n 4096 --k 4096 --gpu h100 --dtype bf16",
	    "comm allreduce --size 1GiB --system dgx-h100 --ranks 8",
	    "kv llama3-70b --gpu h100 --seq 8192",
	    "capacity llama3-70b --gpu a100,h100 --users 200 --tokens 4Ki",
	};
	char *ridge = argc > 1 ? argv[1] : (char *)"build/ridge";
	char *truth[] = {(char *)"/bin/true", NULL};

	printf("%10s %10s %7s %9s  command\n", "median", "/bin/true", "ratio", "resident");
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		char text[300], *words[MAX_WORDS] = {ridge};
		double ours[RUNS], bare[RUNS];
		long resident = 0, ignored;
		int n = 1;

		snprintf(text, sizeof text, "%s", lines[i]);
		for (char *w = strtok(text, " "); w && n < MAX_WORDS - 1; w = strtok(NULL, " "))
			words[n++] = w;
		for (int r = 0; r < RUNS; r++) {
			ours[r] = once(words, &resident);
			bare[r] = once(truth, &ignored);
		}
		qsort(ours, RUNS, sizeof *ours, by_value);
		qsort(bare, RUNS, sizeof *bare, by_value);
		printf("%7.2f ms %7.2f ms %7.1f %5.1f MiB  ridge %s\n", 1e3 * ours[RUNS / 2], 1e3 * bare[RUNS / 2],
		    ours[RUNS / 2] / bare[RUNS / 2], (double)resident / 1024, lines[i]);
	}
	return 0;
}
