/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the import of configurations: fields, layers, quantisation.  Only hf*.c include this. */
#ifndef RIDGE_HF_PARTS_H
#define RIDGE_HF_PARTS_H

#include "import/hf.h"

enum hf_field {
#define FIELD(id, kind, low, high, names) HF_##id,
#include "import/hf_fields.def"
#undef FIELD
	N_HF_FIELDS,
};

/* A row of hf_families.def. */
struct hf_family {
	const char *type, *like, *fields, *fixed, *quiet, *defaults, *layers, *only, *remark;
};

enum hf_mixer { MIX_FULL, MIX_WINDOW, MIX_CHUNK, MIX_SPARSE, MIX_LINEAR, MIX_COMPRESSED, MIX_NONE };
enum hf_feed { FEED_MLP, FEED_MOE, FEED_BOTH, FEED_NONE };

/* What makes one layer different from others. */
struct hf_layer {
	enum hf_mixer mixer;
	enum hf_feed feed;
	double ratio;           /* of a compressed layer */
	double kv_heads, width; /* 0: those of the model */
	bool no_indexer;        /* borrows the choice of a layer before it */
};

struct hf {
	struct arena *arena;
	struct diag *diag;
	struct hf_notes *notes;
	const struct node *outer, *config; /* the same, or the whole file and its text part */
	const struct hf_family *family;
	bool failed;
	bool read[N_HF_FIELDS], reported[N_HF_FIELDS];
	size_t n_layers;
	struct hf_layer *layers;
	bool feeds_said; /* a rule has said which layers have experts */
};

/* --- hf_field.c ------------------------------------------------------------------------------------------ */

const struct hf_family *hf_family_find(const char *type);
/* The nearest row in the chain of `like` that has such a cell. */
const char *hf_layer_rules(const struct hf_family *f);
const char *hf_remark(const struct hf_family *f);

/* A fault of the configuration; the import goes on to find the next one. */
void hf_fault(struct hf *h, struct source at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void hf_assume(struct hf *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hf_remember(struct hf *h, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The node of a field that the file has, whatever it is, or NULL. */
const struct node *hf_node(struct hf *h, enum hf_field f);
/* A field by what the file, then the family say; absent when neither does. */
struct datum hf_number(struct hf *h, enum hf_field f);
/* The same, but absent is a fault: it decides the size. */
struct datum hf_need(struct hf *h, enum hf_field f);
bool hf_flag(struct hf *h, enum hf_field f);
const char *hf_word(struct hf *h, enum hf_field f);
/* Whether a value is one of these words (blanks between them), absent or null; else false with a fault. */
bool hf_one_of(struct hf *h, const struct node *n, const char *name, const char *words);
/* The name by which people know the field in this family. */
const char *hf_name(const struct hf *h, enum hf_field f);
/* A scalar as a whole number between low and high; a fault otherwise. */
struct datum hf_whole(struct hf *h, const struct node *n, const char *name, double low, double high);
/* What the family's `only` refuses. */
void hf_check_only(struct hf *h);
/* Fields of other architectures that nothing has read. */
void hf_check_unread(struct hf *h);
/* Text without quotes around it, or NULL. */
const char *hf_text(const struct node *n);

/* --- hf_layers.c ----------------------------------------------------------------------------------------- */

/* Fill h->layers by the family's rules. */
void hf_layers(struct hf *h);

/* --- hf_blocks.c ----------------------------------------------------------------------------------------- */

/* attention, mlp, moe or blocks of the decoder, or of the only stack. */
void hf_blocks(struct hf *h, struct node *out);
/* The encoder of an encoder-decoder. */
void hf_encoder(struct hf *h, struct node *out);

/* --- hf_quant.c ------------------------------------------------------------------------------------------ */

/* `quantisation:` from quantization_config, or nothing. */
void hf_quantisation(struct hf *h, struct node *out);

#endif
