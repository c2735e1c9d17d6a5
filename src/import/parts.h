/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of this folder: fields, layers and quantization of configurations; measurement readers. */
#ifndef RIDGE_IMPORT_PARTS_H
#define RIDGE_IMPORT_PARTS_H

#include "db/tree.h"
#include "import/import.h"

enum hf_field {
#define FIELD(id, kind, low, high, names) HF_##id,
#include "import/hf.def"
#undef FIELD
	N_HF_FIELDS,
};

/* A row of hf.def. */
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

/* attention, mlp, moe or blocks of the decoder, or of the only stack. */
void hf_blocks(struct hf *h, struct node *out);
/* The encoder of an encoder-decoder. */
void hf_encoder(struct hf *h, struct node *out);

/* --- hf_quant.c ------------------------------------------------------------------------------------------ */

/* `quantisation:` from quantization_config, or nothing. */
void hf_quantisation(struct hf *h, struct node *out);

/* The rules of the column `layers` in hf.def, and what they share. */

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

/* Trees that are made and not read: maps and lists that grow. */

struct node *map_new(struct arena *a, struct source at);
struct node *list_new(struct arena *a, struct source at);
void map_put(struct arena *a, struct node *map, const char *key, const struct node *item);
void list_put(struct arena *a, struct node *list, const struct node *item);

/* Scalars; nothing is put for an absent datum, a NULL word or a false flag. */
void map_number(struct arena *a, struct node *map, const char *key, struct datum d);
void map_word(struct arena *a, struct node *map, const char *key, const char *word, struct source at);
void map_flag(struct arena *a, struct node *map, const char *key, bool flag, struct source at);
/* A word that is written in quotes. */
void map_text(struct arena *a, struct node *map, const char *key, const char *text, struct source at);

/* What the readers of measurement files share: rows are made, checked and added; what is left out is counted. */

struct gpu_label;

struct measurement_reader {
	struct arena *arena;
	struct arena *scratch; /* of one line or document */
	struct diag *diag;
	struct database *database;
	struct measurement_hints hints;
	char *text; /* ends in NUL; may be cut into pieces */
	size_t length, n_lines;
	struct measurements *out;
	int room;
	char **words; /* every text once, by hash */
	size_t n_words, words_room;
	struct gpu_label *labels;
	int n_labels;
	int n_too_fast; /* rows that no device can have run */
};

/* A row with nothing in it. */
struct measurement measurement_blank(enum measurement_kind kind, int line);
/* One copy of each text.  An empty one is NULL. */
const char *measurement_word(struct measurement_reader *r, const char *text, size_t length);
/* Check a row and keep it, or count why not. */
void measurement_add(struct measurement_reader *r, struct measurement *row);
void measurement_skip(struct measurement_reader *r, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A fault of the whole file. */
bool measurement_refuse(struct measurement_reader *r, int line, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* --- columns --------------------------------------------------------------------------------------------- */

/* The column with this name (case does not matter), or -1. */
int measurement_column(const char *name);
const char *measurement_column_name(int column);
/* The column that holds this dimension or figure. */
int measurement_column_of(size_t offset);
/* Put a text into a row.  False when it is not what the column holds: `why` says so. */
bool measurement_set(
    struct measurement_reader *r, struct measurement *row, int column, const char *text, char *why, size_t size);
/* Members (of dimensions) without which a row of this kind says nothing; ended by 0. */
const size_t *measurement_needs(enum measurement_kind k);
double measurement_value(const struct measurement *row, size_t member);
/* A number and nothing else. */
bool measurement_number(const char *text, double *value);

/* --- lines of text --------------------------------------------------------------------------------------- */

/* Cut the next line off; NULL at the end.  Blanks at its end are removed. */
char *measurement_line(char **text);

/* --- kinds of files -------------------------------------------------------------------------------------- */

bool measurement_read_csv(struct measurement_reader *r);
bool measurement_read_json_lines(struct measurement_reader *r);
bool import_published(struct measurement_reader *r); /* collected figures of collectives and copies, CSV */
bool import_nccl_text(struct measurement_reader *r); /* tables of nccl-tests */
bool import_nvbandwidth_text(struct measurement_reader *r);
bool import_ncu(struct measurement_reader *r); /* CSV of Nsight Compute */
struct node;
bool import_nccl_json(struct measurement_reader *r, const struct node *root);
bool import_nvbandwidth_json(struct measurement_reader *r, const struct node *root);

/* Cells of the line at *text, cut in place; the text moves behind it.  Returns how many (at most `room` are stored), 0
 * for an empty line or a comment. */
int measurement_cells(char **text, char separator, char **cells, int room, int *n_lines);

/* What the text tables and the JSON files of nccl-tests have in common. */

/* Who is there, from `# Rank ...` lines or a list of devices. */
struct nccl_ranks {
	int n, n_hosts;
	const char **hosts;
	const char *device;
};

#endif
