/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any words as a command line of the whole program, one per line; it answers or refuses.  Words that write files, read
 * standard input or start other programs are left out. */
#include "fuzz.h"

#include "base/base.h"
#include "cli/cli.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WORDS = 60 };

static bool
is_harmless(const char *word)
{
	static const char *const options[] = {
	    "--output", "--write", "--install", "--dump", "--timeline", "--plot", "--predictions", "--jsonl"};
	/* a fit takes minutes under sanitizers; its input has a fuzzer of its own */
	static const char *const words[] = {"bench", "help", "calibrate", "-"};

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (text_begins(word, options[i]))
			return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(word, words[i]) == 0)
			return false;
	/* letters of options may stand together: -qo FILE */
	return !(word[0] == '-' && word[1] != '-' && strchr(word, 'o')) && !strstr(word, "/dev/") &&
	    !strstr(word, "/proc");
}

/* The program's exit status; what it prints on standard output is thrown away. */
static int
ask(int n, char **words)
{
	fflush(stdout);
	const int out = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);
	if (out < 0 || null < 0 || dup2(null, STDOUT_FILENO) < 0)
		abort();
	const int status = ridge_main(n, words, NULL);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	close(null);
	return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	char *words[MAX_WORDS + 2];
	int n = 0;
	bool ok = true;

	if (access("hwdb/gpus", R_OK) == 0)
		setenv("RIDGE_HWDB", ".", 0);
	words[n++] = arena_text(a, "ridge");
	for (size_t at = 0; at < size && n <= MAX_WORDS;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		const size_t length = end ? (size_t)(end - data) - at : size - at;
		words[n] = arena_copy(a, (const char *)data + at, length);
		ok = ok && is_harmless(words[n++]);
		at += length + 1;
	}
	words[n] = NULL;
	if (ok && n > 1) {
		const int status = ask(n, words);
		FUZZ_EXPECT(status >= 0 && status <= 2);
	}
	arena_free(a);
	return 0;
}
