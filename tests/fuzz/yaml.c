/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a YAML file: the tree, and what reads trees. */
#include "fuzz.h"

#include "db/db.h"
#include "db/tree.h"

#include <stdio.h>
#include <string.h>

/* Every node has a place inside the file; maps have keys that differ. */
static size_t
walk(const struct node *n, int depth, size_t budget)
{
	FUZZ_EXPECT(depth <= 66);
	FUZZ_EXPECT(n->at.line >= 1 && n->at.column >= 1);
	if (budget == 0)
		return 0;
	budget--;
	for (size_t i = 0; i < n->n && budget; i++) {
		if (n->kind == NODE_MAP) {
			FUZZ_EXPECT(n->keys[i]->kind == NODE_SCALAR && n->keys[i]->text);
			FUZZ_EXPECT(n->n > 100 || tree_get(n, n->keys[i]->text) == n->items[i]);
		}
		budget = walk(n->items[i], depth + 1, budget);
	}
	return budget;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	const struct node *root = tree_read_text(a, d, "fuzz.yaml", (const char *)data, size);

	FUZZ_EXPECT((root == NULL) == (diag_errors(d) > 0));
	if (root) {
		struct binder b = {.arena = a, .diag = d, .sources = tree_get(root, "sources")};
		struct gpu gpu;
		struct link link;
		struct workload model;
		walk(root, 0, 20000);
		FUZZ_EXPECT(tree_at(tree_with(a, NULL, "one.two.three", root), "one.two.three") == root);
		tree_with(a, root, "one.two.three", root);
		tree_overlay(a, root, root);
		int errors = diag_errors(d);
		FUZZ_EXPECT(gpu_bind(&b, root, "fuzz", &gpu) == (diag_errors(d) == errors));
		errors = diag_errors(d);
		FUZZ_EXPECT(link_bind(&b, root, "fuzz", &link) == (diag_errors(d) == errors));
		errors = diag_errors(d);
		FUZZ_EXPECT(workload_bind(&b, root, "fuzz", &model) == (diag_errors(d) == errors));
	}
	FILE *nowhere = fopen("/dev/null", "w");
	if (nowhere) {
		diag_print(d, nowhere, true);
		fclose(nowhere);
	}
	arena_free(a);
	return 0;
}
