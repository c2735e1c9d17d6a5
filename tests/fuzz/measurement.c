/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a measurement file: every row that is let through has what its kind needs. */
#include "fuzz.h"

#include "import/import.h"

#include <math.h>

static void
look(const struct measurement *row)
{
	FUZZ_EXPECT(row->kind < N_MEASUREMENT_KINDS && row->line >= 0);
	FUZZ_EXPECT(row->time_s > 0 || (isnan(row->time_s) && row->byte_per_s > 0));
	switch (row->kind) {
	case MEASUREMENT_GEMM:
		FUZZ_EXPECT(row->m >= 1 && row->n >= 1 && row->k >= 1 && row->dtype != DTYPE_NONE);
		break;
	case MEASUREMENT_ATTENTION:
		FUZZ_EXPECT(row->batch >= 1 && row->head_dim >= 1 && row->context_len >= 0 && row->operation);
		break;
	case MEASUREMENT_MOE:
		FUZZ_EXPECT(row->tokens >= 1 && row->experts >= 1 && row->tp >= 0);
		break;
	case MEASUREMENT_COLLECTIVE:
		FUZZ_EXPECT(row->ranks >= 1 && row->size_byte >= 1 && row->operation);
		break;
	default:
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct measurement_hints hints = {.collective = "all_gather", .n_ranks = 8};
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct measurements m;
	const char *text = arena_copy(a, (const char *)data, size);
	const bool ok = measurements_read_text(a, d, "fuzz", text, size, NULL, &hints, &m);

	FUZZ_EXPECT(ok == (diag_errors(d) == 0));
	FUZZ_EXPECT(!ok || m.n_rows > 0);
	for (int i = 0; ok && i < m.n_rows; i++)
		look(&m.rows[i]);
	for (int i = 0; i < m.n_skips; i++)
		FUZZ_EXPECT(m.skips[i].n > 0 && measurements_skip_text(a, &m, i)[0]);
	(void)measurements_are_in(text, size);
	arena_free(a);
	return 0;
}
