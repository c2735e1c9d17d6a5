/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Model configurations as the Hugging Face hub has them (`config.json`) become model files of our own form.  What a
 * model_type means is a row of hf_families.def; adding one is that row and a fixture in tests/fixtures/hf.
 */
#ifndef RIDGE_HF_H
#define RIDGE_HF_H

#include "db/tree.h"

/* What the reader should know: fields that were missing and took their family's documented default, and remarks. */
struct hf_notes {
	size_t n_assumed, n_remarks;
	const char **assumed, **remarks;
};

/* True for a map that is a configuration of the hub and no model file of ours. */
bool hf_is_config(const struct node *root);

/* The configuration as a model file, whose numbers stand where the configuration has them; NULL on faults. */
const struct node *hf_import(struct arena *a, struct diag *d, const struct node *config, struct hf_notes *notes);

/* All model types of the table, in its order. */
const char **hf_types(struct arena *a, size_t *n);

#endif
