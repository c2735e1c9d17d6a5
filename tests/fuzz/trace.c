/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a trace of requests. */
#define _GNU_SOURCE /* memfd_create */
#include "file.h"
#include "fuzz.h"

#include "import/import.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct trace t;
	char path[40];
	const int file = file_of(data, size, path);

	const bool ok = trace_read(a, d, path, size % 2 ? 512 : 0, &t);
	FUZZ_EXPECT(ok == (diag_errors(d) == 0));
	FUZZ_EXPECT(!ok || (t.n > 0 && t.requests[0].arrival_s == 0));
	for (size_t i = 0; ok && i < t.n; i++) {
		FUZZ_EXPECT(t.requests[i].isl_token >= 1 && t.requests[i].osl_token >= 1);
		FUZZ_EXPECT(i == 0 || t.requests[i].arrival_s >= t.requests[i - 1].arrival_s);
	}
	close(file);
	arena_free(a);
	return 0;
}
