/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a file of numbers. */
#define _GNU_SOURCE /* memfd_create */
#include "file.h"
#include "fuzz.h"

#include "import/import.h"

#include <string.h>

static void
look(const struct table *t)
{
	FUZZ_EXPECT(t->n_columns >= 1 && t->n_columns <= 256);
	for (size_t l = 0; l < t->n_lines; l++)
		for (size_t c = 0; c < t->n_columns; c++) {
			const struct cell *cell = table_cell(t, l, c);
			FUZZ_EXPECT(!cell->text || strlen(cell->text) < 100000);
		}
	if (t->heads && t->heads[0])
		FUZZ_EXPECT(table_column(t, t->heads[0]) == 0);
	FUZZ_EXPECT(table_column(t, "no such column") == t->n_columns);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct table t;
	char path[40];
	const int file = file_of(data, size, path);

	const bool ok = table_read_file(a, d, path, "points", &t);
	if (ok)
		look(&t);
	FUZZ_EXPECT(ok == (diag_errors(d) == 0));
	close(file);
	diag_clear(d);
	const struct node *root = tree_read_text(a, d, "fuzz.yaml", (const char *)data, size);
	if (root && table_of_list(a, d, root, &t))
		look(&t);
	arena_free(a);
	return 0;
}
