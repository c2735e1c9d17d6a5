/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schema macros and the readers shared by the files of this folder. */
#ifndef RIDGE_DB_PARTS_H
#define RIDGE_DB_PARTS_H

#include "db/db.h"
#include "db/tree.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"
#include <stdbool.h>
#include <stddef.h>

/* A figure in a schema of `type`. */
#define FIGURE_OF(type, key_, q, member, low, high, help_)                                                             \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = q, .offset = offsetof(type, member), .min = low,      \
		.max = high, .help = help_                                                                             \
	}
/* Rows of a schema.  A file defines AT(member), the offset of a member in its struct. */
#define FIGURE(key_, q, member, low, high, help_)                                                                      \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = q, .offset = AT(member), .min = low, .max = high,     \
		.help = help_                                                                                          \
	}
#define FLAG(key_, member, help_)                                                                                      \
	{                                                                                                              \
		.key = key_, .kind = FIELD_FLAG, .offset = AT(member), .help = help_                                   \
	}
#define TEXT(key_, member, help_)                                                                                      \
	{                                                                                                              \
		.key = key_, .kind = FIELD_TEXT, .offset = AT(member), .help = help_                                   \
	}
#define CHOICE(key_, member, choices_, help_)                                                                          \
	{                                                                                                              \
		.key = key_, .kind = FIELD_CHOICE, .offset = AT(member), .choices = choices_, .help = help_            \
	}
#define SUB(key_, schema, help_)                                                                                       \
	{                                                                                                              \
		.key = key_, .kind = FIELD_MAP, .sub = &schema, .help = help_                                          \
	}
#define SCHEMA(var, name_, type, rows)                                                                                 \
	static const struct schema var = {name_, sizeof(type), rows, sizeof rows / sizeof *rows}

/* The layers of a model file: what mixes tokens, and the feed-forward part.  workload.c reads the rest. */

/* The content of a file, before defaults are filled in. */
struct attention_file {
	struct attention attention;
	int kind, bias, qk_norm;
};

struct mlp_file {
	struct mlp mlp;
	int kind;
};

struct moe_file {
	struct moe moe;
	struct datum n_dense;
	int gated;
};

struct block_file {
	struct datum count, norms;
	struct attention_file attention;
	struct mamba mamba;
	struct delta delta;
	struct kda kda;
	struct mlp_file mlp;
	struct moe_file moe;
};

extern const struct schema attention_schema, mamba_schema, delta_schema, kda_schema, mlp_schema, moe_schema,
    block_schema;

#define LAYER_FIGURE(type, key, member, low, high, help) FIGURE_OF(type, key, Q_COUNT, member, low, high, help)
#define LAYER_FLAG(type, key_, member, help_)                                                                          \
	{                                                                                                              \
		.key = key_, .kind = FIELD_FLAG, .offset = offsetof(type, member), .help = help_                       \
	}
#define LAYER_CHOICE(type, key_, member, choices_, help_)                                                              \
	{                                                                                                              \
		.key = key_, .kind = FIELD_CHOICE, .offset = offsetof(type, member), .choices = choices_,              \
		.help = help_                                                                                          \
	}
#define LAYER_MAP(key_, member, schema_, help_)                                                                        \
	{                                                                                                              \
		.key = key_, .kind = FIELD_MAP, .offset = member, .sub = schema_, .help = help_                        \
	}

/* The rows of a block's parts, wherever its struct lies; PART(member) is the offset there. */
#define LAYER_PARTS                                                                                                    \
	LAYER_MAP("attention", PART(attention), &attention_schema, "heads and their widths"),                          \
	    LAYER_MAP("mamba", PART(mamba), &mamba_schema, "Mamba-2 instead of attention"),                            \
	    LAYER_MAP("delta", PART(delta), &delta_schema, "a gated delta net instead of attention"),                  \
	    LAYER_MAP("kda", PART(kda), &kda_schema, "Kimi delta attention instead of attention"),                     \
	    LAYER_MAP("mlp", PART(mlp), &mlp_schema, "the feed-forward part"),                                         \
	    LAYER_MAP("moe", PART(moe), &moe_schema, "experts instead of it")

/* What the layers of a stack take from the model around them. */
struct layer_frame {
	struct datum hidden;
	bool cross; /* layers attend to the encoder too */
};

/* The blocks of one stack: from `blocks`, or from the parts on the map itself, with dense layers first. */
bool layers_finish(struct binder *b, const struct node *map, struct block_file *top, const struct block_file *list,
    int n_list, struct datum n_layers, const struct layer_frame *frame, struct block **blocks, int *n_blocks);

/* Faults with a place, shared with workload.c; all return false. */
bool layer_fault(struct binder *b, struct source at, const char *what, const char *hint);
bool layer_whole(struct binder *b, struct datum d, const char *key);
bool layer_needs(struct binder *b, const struct node *map, struct datum d, const char *what, const char *key);
struct datum layer_default(double value);

/* What mixes the tokens of a layer: attention of three forms, or a recurrence. */

/* Fills out->mixer and the struct that belongs to it. */
bool mixer_finish(
    struct binder *b, const struct node *map, const struct block_file *f, struct datum hidden, struct block *out);

/* `quantisation:` of a model file: in what types the published checkpoint is stored. */

struct storage_file {
	int weights, experts, kv, activations, only;
	struct datum group;
	bool symmetric;
};

extern const struct schema storage_schema;

/* `map` NULL: it is not quantized. */
bool storage_finish(struct binder *b, const struct node *map, const struct storage_file *f, struct quantisation *out);

/* --- launch files: launch_*.c ------------------------------------------------------------------------------ */

/* Between the words of one option's value. */
enum { LAUNCH_BETWEEN = 0x1f };

/* One option or key with its value; the value of a switch is NULL. */
struct launch_pair {
	const char *key, *value;
	bool used;
};

struct launch_pairs {
	size_t n, room;
	struct launch_pair *list;
	bool wrote_file;      /* a here-document of keys stands among them */
	bool is_tree;         /* keys of a JSON or YAML file */
	const char *branched; /* variables that a branch of a script sets; NULL: none */
};

/* The options of a text.  False with errors. */
bool launch_pairs_read(
    struct arena *a, struct diag *d, const char *path, struct source at, struct launch_pairs *out, const char **text);

void launch_add(struct arena *a, struct launch_pairs *out, const char *key, const char *value);
/* The scalars and lists of scalars below a node, with dots between keys. */
void launch_add_tree(struct arena *a, struct launch_pairs *out, const char *prefix, const struct node *n);
/* A scalar or a list of TOML without its quotes and brackets: `["a", "b"]` is `a,b`. */
const char *launch_bare(struct arena *a, const char *s);
/* The words of one command, as they are. */
void launch_add_command(struct arena *a, struct launch_pairs *out, const char *text);
/* The options of command lines and the keys of here-documents.  Variables that the script sets are expanded, others
 * stay: `$NAME`.  False where they grow without end. */
bool launch_add_script(struct arena *a, struct launch_pairs *out, const char *path, const char *text);

/* A launch file as it is read. */
struct launch_reading {
	struct arena *arena;
	const struct launcher *by;
	struct launch_pairs pairs;
	const char *facts[N_LAUNCH_FACTS]; /* NULL: not said */
	const struct node *inputs;
	struct source at;
	const char *unmapped;
	struct launch_known known;
};

bool launch_is_key(const struct launcher_rule *rule, const char *key);
/* The option that a rule is about; the last of several counts.  NULL: there is none. */
struct launch_pair *launch_pair_of(struct launch_pairs *pairs, const struct launcher_rule *rule);
/* All rules of one value have to hold; of several values the one with most. */
void launch_read_fact(struct launch_reading *r, enum launch_fact fact);
/* Set an input.  Each gets its own source, for reads are tracked by place. */
void launch_put(struct launch_reading *r, const char *path, const char *text);
void launch_put_number(struct launch_reading *r, const char *path, double value);
/* What a run or a server is, once all facts are read; chunks and layers of its stages. */
void launch_put_training(struct launch_reading *r);
void launch_put_serving(struct launch_reading *r);
void launch_put_stages(struct launch_reading *r);
/* A fact as a number; one that is not said, or is none, is `otherwise`. */
double launch_number(const struct launch_reading *r, enum launch_fact f, double otherwise);
/* Note what the file says and no input takes. */
void launch_miss(struct launch_reading *r, const char *what);
/* Where a key stands, of `model.flavor` in a TOML file `flavor` alone; without a line if it is not written like this.
 */
struct source launch_place(const struct launch_reading *r, const char *text, const char *key);
/* What is said of the model.  A value that is no number, such as ${LAYERS}, claims nothing. */
void launch_read_claims(struct launch_reading *r, const char *text, struct launch_claims *out);

/* --- the database behind its entries: database.c reads, entry.c finds and binds ----------------------------- */

enum { MAX_ROOTS = 12 };

/* A file is read once: sweeps ask for the same one many times, and standard input cannot be read again. */
struct read_file {
	const char *path;
	const struct node *root;
	const struct hf_notes *notes; /* of a configuration that was imported, else NULL */
	struct read_file *next;
};

/* The id that a name was found to mean, and the file of an id. */
struct known_name {
	enum entry_kind kind;
	const char *name, *meant;
	struct known_name *next;
};

/* What was made of entries: the struct that was bound, or what a key names (database_keep). */
struct kept {
	const void *of, *what;
	const char *key;
	struct kept *next;
};

/* What all views of one database share. */
struct store {
	struct read_file *files;
	struct known_name *ids, *paths;
	struct kept *kept;
};

struct database {
	struct arena *arena;   /* of what is read once and stays: files, names, entries as they are filed */
	struct arena *passing; /* of what one question makes of it */
	struct diag *diag;
	const char *roots[MAX_ROOTS];
	size_t n_roots;
	struct store *store;
};

/* What a name was found to mean, or NULL; and keeping it: returns `meant` as it is kept. */
const char *name_known(const struct known_name *list, enum entry_kind k, const char *name);
const char *name_remember(
    struct database *db, struct known_name **list, enum entry_kind k, const char *name, const char *meant);
/* The tree of an entry, and of any file, read once; NULL with an error, or where there is none. */
const struct node *entry_read(struct database *db, enum entry_kind k, const char *id);
const struct node *file_open(struct database *db, const char *path);
/* `root` if it says format 1, or nothing unless it must; NULL with an error. */
const struct node *of_this_format(struct database *db, const struct node *root, bool required);
/* An entry with what it extends under it, but for the keys of `own` (NULL at its end); NULL with an error. */
const struct node *entry_extended(struct database *db, struct arena *a, struct diag *d, enum entry_kind kind,
    const struct node *root, const char *const *own);
bool entry_has_alias(const struct node *root, const char *name);
/* A Hugging Face configuration as a model; other files as they are. */
const struct node *file_imported(struct database *db, const char *path, const struct node *root);

/* --- calibrations: calibration.c, calibration_rates.c ------------------------------------------------------- */

/* The file as it is written: shares are read into the structs that later hold rates. */

/* A row of calibration.def in a schema of `type`. */
#define FAMILY_FIELD(type, key_, member, form, is_required, low, high, title)                                          \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = (enum quantity)QUANTITY_##form,                       \
		.offset = offsetof(type, member), .min = low, .max = high, .required = is_required, .help = title      \
	}
enum {
#define FORM(id, quantity, reference) QUANTITY_##id = quantity,
#include "model/hw/calibration.def"
#undef FORM
};

struct reference {
	struct datum peak_flop_per_s[N_PEAKS];
	struct datum mem_byte_per_s, clock_hertz, l2_byte, n_sms;
};

/* custom_calibration without its engine */
struct custom_file {
#define CUSTOM FIGURE_MEMBER
#include "model/hw/calibration.def"
#undef CUSTOM
};

/* Nothing but datums, so that all of them can be given the file's citation in one pass. */
struct file_figures {
	struct reference reference;
	struct gemm_calibration gemm, by_dtype[N_DTYPES], weight_only[N_DTYPES];
	struct collective_calibration collective[N_COLLECTIVES];
	struct custom_file custom;
	struct context_calibration context, mla_context, context_by[N_ATTENTION_FITS];
	struct generation_calibration generation, mla_generation, generation_by[N_ATTENTION_FITS];
	struct moe_calibration moe[N_DTYPES], moe_weight_only[N_DTYPES];
	struct network_calibration network[N_COLLECTIVES];
	struct launch_calibration launch;
	struct datum call_s;
	struct datum fma_flop_per_s[N_PEAKS];
};

struct residuals {
	int n;
	struct residual *list;
};

struct fit_file {
	const char *gpu, *fabric, *host, *backend, *source, *date, *note, *kept, *fitted;
	struct datum n_points;
	struct file_figures fig;
	struct memory_calibration memory;
	struct residuals residuals;
};

/* `residual`: from what was predicted to its errors. */
bool bind_residuals(struct binder *b, const struct node *n, void *out);
/* `memory`: from levels, the smallest first, to their plateaus. */
bool bind_memory(struct binder *b, const struct node *n, void *out);

/* Fractions into rates.  False when one refers to a figure that the file does not give. */
bool convert_kernels(struct binder *b, struct file_figures *f, struct calibration *out);
bool convert_attention(struct binder *b, struct file_figures *f, struct calibration *out);
void convert_collectives(const struct file_figures *f, const char *backend, struct calibration *out);

#endif
