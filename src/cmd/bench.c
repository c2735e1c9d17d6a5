/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge bench: run ridge-bench and pass on its rows. */
#include "base/sheet.h"
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#define BENCH_OPTIONS(X)                                                                                               \
	X(0, device, "device", "device", WORD, "host|N", "host|0|1|2|3", NULL,                                         \
	    "host, or one GPU by its index (default: 0, or the host without a GPU)")                                   \
	X(0, gpus, "gpus", "gpus", WORDS, "LIST", "0,1|0,1,2,3", NULL,                                                 \
	    "GPUs of p2p, every pair, and of collective (default: all, one pair of each kind)")                        \
	X(0, busy, "busy", "busy", FLAG, "", "", NULL, "measure a GPU that other processes use")                       \
	X(0, only, "only", "only", WORDS, "NAMES", "memory|latency|transfer|fma|tensor|gemm|launch|p2p|collective",    \
	    NULL, "subjects to measure; --list shows them")                                                            \
	X(0, quick, "quick", "quick", FLAG, "", "", NULL, "fewer points: under 20 seconds instead of under 90")        \
	X(0, seed, "seed", "seed", COUNT, "N", "", NULL, "random seed of the operands (default: 1)")                   \
	X(0, list, "list", "list", FLAG, "", "", NULL, "list the subjects, and why some are unavailable")

struct bench_in {
	BENCH_OPTIONS(OPTION_MEMBER)
};

#define THIS struct bench_in
static const struct option bench_options[] = {BENCH_OPTIONS(OPTION_ROW)};
#undef THIS

enum { SYSTEM_ERROR = 3 }; /* as ridge-bench ends when a GPU fails */

/* --- ridge-bench as a child process ----------------------------------------------------------------------- */

struct child_output {
	const char *text; /* all that it printed, from the arena */
	size_t n_lines;
	int status, signal; /* how it ended; signal 0: by itself */
};

static bool
runs(const char *path)
{
	return access(path, X_OK) == 0;
}

/* Beside this program, in ../libexec/ridge, or in PATH; NULL when it is nowhere. */
static const char *
child_find(struct arena *a, const char *name)
{
	/* beside it, installed, and a folder above, from where the tests of a build run */
	static const char *const places[] = {".", "../libexec/ridge", ".."};
	char self[1024];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n > 0 ? n : 0] = '\0';
	char *const slash = strrchr(self, '/');
	if (slash) {
		*slash = '\0';
		for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
			const char *const path = arena_printf(a, "%s/%s/%s", self, places[i], name);
			if (runs(path))
				return path;
		}
	}
	for (const char *from = getenv("PATH"); from && *from;) {
		const size_t length = strcspn(from, ":");
		const char *const path = arena_printf(a, "%.*s/%s", (int)length, from, name);
		if (length && runs(path))
			return path;
		from += length + (from[length] == ':');
	}
	return NULL;
}

/* A signal has to end a wait, and does nothing else. */
static void
wake(int signal_number)
{
	(void)signal_number;
}

/* All that comes out of the pipe.  Signals are blocked outside pselect, so that none is missed before it. */
static void
collect(struct arena *a, int from, pid_t child, const sigset_t *unblocked, struct child_output *out)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	char part[65536];

	if (!to)
		abort();
	for (;;) {
		fd_set ready;
		FD_ZERO(&ready);
		FD_SET(from, &ready);
		if (pselect(from + 1, &ready, NULL, NULL, NULL, unblocked) < 0) {
			if (errno == EINTR)
				(void)kill(child, SIGINT);
			continue;
		}
		const ssize_t got = read(from, part, sizeof part);
		if (got == 0 || (got < 0 && errno != EINTR))
			break;
		if (got > 0)
			fwrite(part, 1, (size_t)got, to);
	}
	fclose(to);
	out->text = arena_copy(a, text, n);
	for (size_t i = 0; i < n; i++)
		out->n_lines += text[i] == '\n';
	free(text);
}

static void
become(const char *path, const char *const *words, const int ends[2], const sigset_t *mask)
{
	char *const *unchanged;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	dup2(ends[1], STDOUT_FILENO);
	close(ends[0]);
	close(ends[1]);
	/* POSIX promises not to change them, but its prototype cannot say so */
	memcpy(&unchanged, &words, sizeof unchanged);
	execv(path, unchanged);
	_exit(127);
}

/* Run it and keep its standard output; its standard error is ours.  Interrupts are passed on to it, so that it can
 * end well.  False: it could not be started, and diag says why. */
static bool
child_run(struct arena *a, struct diag *d, const char *path, const char *const *words, struct child_output *out)
{
	static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP};
	enum { N_PASSED = sizeof passed_on / sizeof *passed_on };
	const struct sigaction waking = {.sa_handler = wake};
	struct sigaction before[N_PASSED];
	sigset_t blocked, mask;
	int ends[2], how;

	*out = (struct child_output){.text = ""};
	if (pipe(ends) != 0) {
		diag_failure(d, "cannot start '%s': %s", path, strerror(errno));
		return false;
	}
	sigemptyset(&blocked);
	for (size_t i = 0; i < N_PASSED; i++) {
		sigaddset(&blocked, passed_on[i]);
		sigaction(passed_on[i], &waking, &before[i]);
	}
	sigprocmask(SIG_BLOCK, &blocked, &mask);
	const pid_t child = fork();
	if (child == 0)
		become(path, words, ends, &mask);
	close(ends[1]);
	if (child > 0)
		collect(a, ends[0], child, &mask, out);
	close(ends[0]);
	bool ran = child > 0;
	while (ran && waitpid(child, &how, 0) < 0)
		ran = errno == EINTR;
	for (size_t i = 0; i < N_PASSED; i++)
		sigaction(passed_on[i], &before[i], NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (!ran || (WIFEXITED(how) && WEXITSTATUS(how) == 127)) {
		diag_failure(d, "cannot run '%s'", path);
		return false;
	}
	out->signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
	out->status = WIFEXITED(how) ? WEXITSTATUS(how) : 0;
	return true;
}

/* --- the command ------------------------------------------------------------------------------------------ */

static const char *
joined(struct run *r, const struct words *words)
{
	const char *text = words->list[0].text;

	for (size_t i = 1; i < words->n; i++)
		text = arena_printf(r->arena, "%s,%s", text, words->list[i].text);
	return text;
}

static enum answer
bench_run(struct run *r, const void *input)
{
	const struct bench_in *in = input;
	const char *words[12] = {"ridge-bench"};
	struct child_output rows;
	size_t n = 1;

	run_reads(r, &in->device, &in->list, NULL);
	if (!in->list)
		run_reads(r, &in->only, &in->quick, &in->seed, &in->gpus, &in->busy, NULL);
	if (in->device.text)
		words[n++] = arena_printf(r->arena, "--device=%s", in->device.text);
	if (in->gpus.n)
		words[n++] = arena_printf(r->arena, "--gpus=%s", joined(r, &in->gpus));
	if (in->busy)
		words[n++] = "--busy";
	if (in->only.n)
		words[n++] = arena_printf(r->arena, "--only=%s", joined(r, &in->only));
	if (datum_given(in->seed))
		words[n++] = arena_printf(r->arena, "--seed=%.0f", in->seed.value);
	if (in->quick)
		words[n++] = "--quick";
	if (in->list)
		words[n++] = "--list";
	words[n] = NULL;
	const char *const path = child_find(r->arena, "ridge-bench");
	if (!path) {
		diag_failure(r->diag, "ridge-bench was not found next to ridge, in ../libexec/ridge or in PATH");
		diag_hint(r->diag,
		    "build it with `make`, or calibrate from another benchmark's measurements: ridge-measurement(5)");
		return REFUSED;
	}
	if (!child_run(r->arena, r->diag, path, words, &rows))
		return REFUSED;
	TAKE(r->sheet, n_rows, (double)rows.n_lines);
	if (in->list)
		SHOW(r->sheet, n_rows, n_lines);
	else
		SHOW(r->sheet, n_rows, n_points);
	r->document = rows.text;
	if (rows.status == REFUSED)
		return REFUSED; /* it said why */
	if (rows.n_lines == 0 && (rows.signal != 0 || rows.status > ANSWERED_NO))
		diag_failure(r->diag, "nothing was measured");
	else if (rows.signal != 0)
		run_warn(r, "interrupted: showing the rows measured so far");
	else if (rows.status > ANSWERED_NO)
		run_warn(r, "some subjects were not measured");
	if (rows.signal == 0 && rows.status == SYSTEM_ERROR)
		return (enum answer)SYSTEM_ERROR; /* the rows until then are the answer */
	return rows.signal == 0 && rows.status == ANSWERED ? ANSWERED : ANSWERED_NO;
}

static const struct option_group bench_groups[] = {OPTION_GROUP(bench_options, 0)};
static const struct example bench_examples[] = {
    {"bench --list", "list what can be measured on this machine", 0},
    {"bench --device host --only launch --quick", "launch latency of host threads", 0},
};

const struct command bench_command = {
    .name = "bench",
    .section = "Database and measurements",
    .summary = "Run the microbenchmarks on this machine",
    .operands = "",
    .usage = "[JOB]",
    COUNTED(groups, bench_groups),
    COUNTED(examples, bench_examples),
    .input_size = sizeof(struct bench_in),
    .run = bench_run,
};
