/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a file of hwdb: every binder that the fuzzer `yaml` does not call complains exactly when it refuses. */
#include "fuzz.h"

#include "db/db.h"
#include "db/tree.h"

static bool
bind_system(struct binder *b, const struct node *root, const char *id, struct system *out)
{
	const char *gpu, *fabric;

	return system_bind(b, root, id, out, &gpu, &fabric);
}

#define BINDS(binder_of, type)                                                                                         \
	do {                                                                                                           \
		const int errors = diag_errors(d);                                                                     \
		FUZZ_EXPECT(binder_of(&b, root, "fuzz", ARENA_NEW(a, struct type)) == (diag_errors(d) == errors));     \
	} while (0)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	const struct node *root = tree_read_text(a, d, "fuzz.yaml", (const char *)data, size);

	if (root) {
		struct binder b = {.arena = a, .diag = d, .sources = tree_get(root, "sources")};
		BINDS(bind_system, system);
		BINDS(calibration_bind, calibration);
		BINDS(stack_bind, stack);
		BINDS(engine_bind, engine);
		BINDS(reliability_bind, reliability);
		BINDS(transfer_bind, transfer);
		BINDS(uncertainty_bind, uncertainty);
		BINDS(diagnosis_bind, diagnosis);
	}
	arena_free(a);
	return 0;
}
