/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any words as a command line: one per line of the input, the first chooses the command. */
#include "fuzz.h"

#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 200 };

static void
ask(struct arena *a, const struct command *c, int n, char **words)
{
	struct diag *d = diag_new(a);
	struct arguments args;
	struct axis_values values;

	const bool ok = arguments_parse(a, d, c, n, words, &args);
	FUZZ_EXPECT(ok == (diag_errors(d) == 0));
	if (!ok)
		return;
	arguments_place(a, d, c, &args);
	const struct node *tree = inputs_tree(a, d, c, NULL, &args);
	inputs_bind(a, d, c, tree, arena_take(a, c->input_size + 1));
	inputs_overlay(a, c, tree, "gpu");
	for (size_t i = 0; i < args.sweeps.n; i++)
		if (sweep_values(a, d, c, &args.sweeps.list[i], &values))
			FUZZ_EXPECT(values.n >= 1 && values.n <= MAX_POINTS + 1u);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	char *words[MAX_WORDS + 1];
	int n = 0;

	for (size_t at = 0; at < size && n < MAX_WORDS;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		const size_t length = end ? (size_t)(end - data) - at : size - at;
		words[n++] = arena_copy(a, (const char *)data + at, length);
		at += length + 1;
	}
	if (n > 0)
		ask(a, commands[(unsigned char)words[0][0] % n_commands], n - 1, words + 1);
	FILE *nowhere = fopen("/dev/null", "w");
	if (nowhere) {
		help_complete(a, nowhere, n, words);
		fclose(nowhere);
	}
	arena_free(a);
	return 0;
}
