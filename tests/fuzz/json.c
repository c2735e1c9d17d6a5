/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as one line of --jsonl. */
#include "fuzz.h"

#include "cli/cli.h"
#include "import/import.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	const struct node *n =
	    json_read(a, d, (struct source){"fuzz.json", 1, 1, NULL, false}, (const char *)data, size);

	FUZZ_EXPECT((n == NULL) == (diag_errors(d) > 0));
	if (n && n->kind == NODE_MAP)
		inputs_spread(a, d, command_find("train"), n);
	arena_free(a);
	return 0;
}
