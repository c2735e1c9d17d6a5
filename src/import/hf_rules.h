/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of the column `layers` in hf_families.def, and what they share. */
#ifndef RIDGE_HF_RULES_H
#define RIDGE_HF_RULES_H

#include "import/hf_parts.h"

/* A list with one entry per layer; entries for multi-token prediction may follow.  NULL when the file has none. */
const struct node *hf_per_layer(struct hf *h, const char *name);
/* Entry i as a number of at least 0. */
double hf_entry(struct hf *h, const struct node *list, size_t i, const char *name);
/* The kind of a layer by its word, `sliding_attention`; false for a word that is not known. */
bool hf_set_mixer(struct hf *h, struct hf_layer *layer, const char *word);
void hf_unknown_entry(struct hf *h, const struct node *item, const char *name);

void rule_windows(struct hf *h);
void rule_late_windows(struct hf *h);
void rule_pattern(struct hf *h);
void rule_interval(struct hf *h);
void rule_chunks(struct hf *h);
void rule_letters(struct hf *h);
void rule_attention_types(struct hf *h);
void rule_kda(struct hf *h);
void rule_compressed(struct hf *h);
void rule_indexers(struct hf *h);
void rule_hybrid(struct hf *h);
void rule_sparse(struct hf *h);
void rule_attention_flags(struct hf *h);
void rule_moe(struct hf *h);
void rule_gemma_moe(struct hf *h);
void rule_step(struct hf *h);
void rule_interleave(struct hf *h);
void rule_first_dense(struct hf *h);
void rule_enumerated(struct hf *h);
void rule_block_configs(struct hf *h);

#endif
