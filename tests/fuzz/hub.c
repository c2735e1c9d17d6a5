/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a model configuration of the Hugging Face hub; what comes out can be written and read again. */
#include "fuzz.h"

#include "db/db.h"
#include "db/tree.h"
#include "import/import.h"

#include <string.h>

static bool
same(const struct node *one, const struct node *other)
{
	if (one->kind != other->kind || one->n != other->n || !one->text != !other->text ||
	    (one->text && strcmp(one->text, other->text) != 0))
		return false;
	for (size_t i = 0; i < one->n; i++)
		if ((one->kind == NODE_MAP && strcmp(one->keys[i]->text, other->keys[i]->text) != 0) ||
		    !same(one->items[i], other->items[i]))
			return false;
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	const struct node *root = tree_read_text(a, d, "config.json", (const char *)data, size);
	struct hf_notes notes = {0};

	if (root && root->kind == NODE_MAP && hf_is_config(root)) {
		const struct node *model = hf_import(a, d, root, &notes);
		FUZZ_EXPECT((model == NULL) == (diag_errors(d) > 0));
		if (model) {
			struct binder b = {.arena = a, .diag = d};
			struct workload w;
			const char *text = tree_write(a, model);
			diag_clear(d);
			const struct node *again = tree_read_text(a, d, "again.yaml", text, strlen(text));
			FUZZ_EXPECT(again && same(model, again));
			workload_bind(&b, model, "fuzz", &w);
		}
	}
	arena_free(a);
	return 0;
}
