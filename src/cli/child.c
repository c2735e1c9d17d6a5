/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run another program and collect its output. */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

static bool
runs(const char *path)
{
	return access(path, X_OK) == 0;
}

const char *
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

bool
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
