/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_DB_DB_H
#define RIDGE_DB_DB_H

#include "db/tree.h"
#include "model/calc/calc.h"
#include "model/hw/hw.h"
#include "model/layer/layer.h"
#include "model/measured/measured.h"
#include "model/memory/memory.h"
#include "model/serve/serve.h"

/*
 * The database: entries are files, found by name.  Lookup ignores case and every character that is not a letter or
 * digit; `aliases:` in a file add names.  Only needed files are opened: aliases of shipped entries are compiled in, and
 * checked against the file when it is read.
 */

/* The folders of a database, in the order of this table. */
enum entry_kind {
	ENTRY_GPU,
	ENTRY_LINK,
	ENTRY_SYSTEM,
	ENTRY_CALIBRATION,
	ENTRY_STACK,
	ENTRY_ENGINE,
	ENTRY_MODEL,
	ENTRY_JOB,
	ENTRY_RELIABILITY,
	ENTRY_DIAGNOSIS,
	ENTRY_UNCERTAINTY,
	ENTRY_TRANSFER,
	ENTRY_LAUNCHER,
	N_ENTRY_KINDS,
};

const char *entry_kind_folder(enum entry_kind k); /* `gpus` */

struct database;

/* `directory` (from --hwdb) comes before $RIDGE_HWDB, the user's data directory and the installed one; NULL: none. */
struct database *database_new(struct arena *a, struct diag *d, const char *directory);

/* Where a user's own entries are, in folders named as those of hwdb; NULL without a home.  It may not exist. */
const char *database_user_directory(struct arena *a);

/* The same database for one query: structs are allocated in `passing`, errors go to d, and parsed files are shared. */
struct database *database_for(const struct database *db, struct arena *passing, struct diag *d);
/* The same database with this entry in place of its file; what is made of entries is kept in `a`. */
struct database *database_with(
    const struct database *db, struct arena *a, enum entry_kind k, const char *id, const struct node *root);
/* The same database with another destination for errors. */
struct database *database_reporting_to(const struct database *db, struct diag *d);

/* The arena of the database itself. */
struct arena *database_arena(const struct database *db);
/* Cache of objects derived from the database, by source object and key.  False if absent; a cached value may be NULL.
 */
bool database_kept(const struct database *db, const void *of, const char *key, const void **what);
void database_keep(struct database *db, const void *of, const char *key, const void *what);

/* The root of an entry's file and its id, or NULL with an error that suggests similar names.  A name with `/` or ending
 * in .yaml, or `-`, is a file.  `announce` gets `alias = id` when an alias meant a variant, else NULL. */
const struct node *database_open(
    struct database *db, enum entry_kind k, const char *name, struct source at, const char **id, const char **announce);
/* The same without an error when there is no such entry. */
const struct node *database_try(struct database *db, enum entry_kind k, const char *name, const char **id);

/* All ids of a kind, sorted; an entry of an earlier directory hides a later one. */
const char **database_list(struct database *db, enum entry_kind k, size_t *n);
/* The file of an id. */
const char *database_path(struct database *db, enum entry_kind k, const char *id);
/* True if the file of an id is the user's: in a folder beside a whole database, which has files for uncertainty. */
bool database_is_own(struct database *db, enum entry_kind k, const char *id);
/* True if the file of an id contains this text; ten times cheaper than parsing it. */
bool database_mentions(struct database *db, enum entry_kind k, const char *id, const char *text);

/* Bound structs; `overlay` (or NULL) is laid over the file first.  NULL on faults.  Without an overlay the same entry
 * is always the same struct; with one, `filed` is that struct. */
const struct gpu *database_gpu(
    struct database *db, const char *name, const struct node *overlay, struct source at, const char **announce);
const struct system *database_system(struct database *db, const char *name, const struct node *overlay,
    const struct node *gpu_overlay, struct source at, const char **announce);
const struct link *database_link(
    struct database *db, const char *name, const struct node *overlay, struct source at, const char **announce);
const struct workload *database_model(
    struct database *db, const char *name, const struct node *overlay, struct source at, const char **announce);
/* Assumptions made when reading this name: fields of a Hugging Face configuration that took family defaults. */
const char *const *database_assumed(const struct database *db, const char *name, size_t *n);
const struct calibration *database_calibration(struct database *db, const char *gpu, const char *backend);
/* The 80 % interval of a figure of this calibration; false when the file gives none. */
bool calibration_interval(const struct calibration *c, struct datum figure, double *low, double *high);

/* One binder per kind of file: a YAML tree becomes a struct.  Strings live in the binder's arena or in the tree. */

bool link_bind(struct binder *b, const struct node *root, const char *id, struct link *out);
bool system_bind(struct binder *b, const struct node *root, const char *id, struct system *out, const char **gpu_id,
    const char **fabric_id);
bool calibration_bind(struct binder *b, const struct node *root, const char *id, struct calibration *out);
bool workload_bind(struct binder *b, const struct node *root, const char *id, struct workload *out);

/* A GPU file of the database as struct gpu. */

/* Strings live in the binder's arena or in the tree.  False on faults. */
bool gpu_bind(struct binder *b, const struct node *root, const char *id, struct gpu *out);

/* Transfers of fitted kernels between GPUs: hwdb/transfers. */

bool transfer_bind(struct binder *b, const struct node *root, const char *id, struct transfer *out);
/* The rule for this GPU, or NULL. */
const struct transfer *database_transfer(struct database *db, struct arena *a, struct diag *d, const struct gpu *gpu);

/* An uncertainty file: error of a kind of prediction beyond the residuals of its calibration. */

/* Strings live in the binder's arena or in the tree.  False on faults. */
bool uncertainty_bind(struct binder *b, const struct node *root, const char *id, struct uncertainty *out);

/* Uncertainty of a kind of prediction (`gemm`, `train`); NULL without an error if there is no such file. */
const struct uncertainty *database_uncertainty(struct database *db, struct arena *a, struct diag *d, const char *name);

/* A reliability file: published interruptions of a run. */

/* Strings live in the binder's arena or in the tree.  False on faults. */
bool reliability_bind(struct binder *b, const struct node *root, const char *id, struct reliability *out);

/* By name; NULL on faults. */
const struct reliability *database_reliability(
    struct database *db, struct arena *a, struct diag *d, const char *name, struct source at, const char **announce);

/* A stack file of the database as struct stack. */

extern const struct schema stack_schema;

/* Strings live in the binder's arena or in the tree.  False on faults. */
bool stack_bind(struct binder *b, const struct node *root, const char *id, struct stack *out);

/* The file laid over those that its `extends` names; NULL on faults. */
const struct node *stack_extended(struct database *db, struct arena *a, struct diag *d, const struct node *root);
/* By name, with `overlay` (or NULL) laid over the file; NULL on faults. */
const struct stack *database_stack(struct database *db, struct arena *a, struct diag *d, const char *name,
    const struct node *overlay, struct source at, const char **announce);

/* An engine file of the database as struct engine. */

/* The file with everything that it `extends` beneath it, or NULL on faults. */
const struct node *engine_tree(struct database *db, struct arena *a, struct diag *d, const struct node *root);
/* Strings live in the binder's arena or in the tree.  False on faults. */
bool engine_bind(struct binder *b, const struct node *root, const char *id, struct engine *out);

/* By name, with `overlay` (or NULL) laid over the file; NULL on faults. */
struct engine *database_engine(struct database *db, struct arena *a, struct diag *d, const char *name,
    const struct node *overlay, struct source at, const char **announce);

/* How a framework or an engine is told of a run, from hwdb/launchers. */
/* X(id, name): what a run is launched with, as `from:` of hwdb/launchers names it: training, then serving, then what a
 * file says of its model, which is read and never written. */
#define LAUNCH_FACTS(X)                                                                                                \
	X(STACK, "stack")                                                                                              \
	X(TP, "tp")                                                                                                    \
	X(PP, "pp")                                                                                                    \
	X(VP, "vp")                                                                                                    \
	X(CHUNKS, "chunks")                                                                                            \
	X(CP, "cp")                                                                                                    \
	X(EP, "ep")                                                                                                    \
	X(ETP, "etp")                                                                                                  \
	X(SP, "sp")                                                                                                    \
	X(ZERO, "zero")                                                                                                \
	X(ATTENTION, "attention")                                                                                      \
	X(DROPOUT, "dropout")                                                                                          \
	X(FP8_RECIPE, "fp8_recipe")                                                                                    \
	X(SHARD, "shard")                                                                                              \
	X(COPIES, "copies")                                                                                            \
	X(INSTANCES, "instances")                                                                                      \
	X(STAGE_LAYERS, "stage_layers")                                                                                \
	X(ONE_QUEUE, "one_queue")                                                                                      \
	X(OVERLAP_GRADIENTS, "overlap_gradients")                                                                      \
	X(OVERLAP_PARAMETERS, "overlap_parameters")                                                                    \
	X(OVERLAP_TENSOR, "overlap_tensor")                                                                            \
	X(CHUNK_LAYERS, "chunk_layers")                                                                                \
	X(FIRST_LAYERS, "first_layers")                                                                                \
	X(LAST_LAYERS, "last_layers")                                                                                  \
	X(FIRST_LESS, "first_less")                                                                                    \
	X(LAST_LESS, "last_less")                                                                                      \
	X(UNEVEN, "uneven")                                                                                            \
	X(ENDS, "ends")                                                                                                \
	X(STAGES, "stages")                                                                                            \
	X(MTP, "mtp")                                                                                                  \
	X(MTP_REPEATS, "mtp_repeats")                                                                                  \
	X(NO_MTP, "no_mtp")                                                                                            \
	X(SCHEDULE, "schedule")                                                                                        \
	X(MICRO_BATCH, "micro_batch")                                                                                  \
	X(LOCAL_BATCH, "local_batch")                                                                                  \
	X(PIPELINE_BATCH, "pipeline_batch")                                                                            \
	X(ACCUMULATION, "accumulation")                                                                                \
	X(GLOBAL_BATCH, "global_batch")                                                                                \
	X(SEQ, "seq")                                                                                                  \
	X(DTYPE, "dtype")                                                                                              \
	X(GRAD_DTYPE, "grad_dtype")                                                                                    \
	X(MOMENT_DTYPE, "moment_dtype")                                                                                \
	X(STATES, "states")                                                                                            \
	X(RECOMPUTE, "recompute")                                                                                      \
	X(RECOMPUTE_LAYERS, "recompute_layers")                                                                        \
	X(OFFLOAD_LAYERS, "offload_layers")                                                                            \
	X(MODULES, "modules")                                                                                          \
	X(CP_COMM, "cp_comm")                                                                                          \
	X(DISPATCHER, "dispatcher")                                                                                    \
	X(DISPATCHER_BACKEND, "dispatcher_backend")                                                                    \
	X(FP8_PARAMS, "fp8_params")                                                                                    \
	X(MXFP8_PARAMS, "mxfp8_params")                                                                                \
	X(LOSS, "loss")                                                                                                \
	X(OFFLOAD, "offload")                                                                                          \
	X(OFFLOAD_FINE, "offload_fine")                                                                                \
	X(OFFLOAD_MODULES, "offload_modules")                                                                          \
	X(OFFLOAD_CHECKPOINTS, "offload_checkpoints")                                                                  \
	X(PRECISION_AWARE, "precision_aware")                                                                          \
	X(COMPILE, "compile")                                                                                          \
	X(ATTENTION_TP, "attention_tp")                                                                                \
	X(ADP, "adp")                                                                                                  \
	X(EXPERTS, "experts")                                                                                          \
	X(QUANTIZE, "quantize")                                                                                        \
	X(KV_DTYPE, "kv_dtype")                                                                                        \
	X(MAX_SEQUENCES, "max_sequences")                                                                              \
	X(ALL_SEQUENCES, "all_sequences")                                                                              \
	X(STEP_TOKENS, "step_tokens")                                                                                  \
	X(ALL_STEP_TOKENS, "all_step_tokens")                                                                          \
	X(CHUNKED, "chunked")                                                                                          \
	X(UTILIZATION, "utilization")                                                                                  \
	X(CACHE_SHARE, "cache_share")                                                                                  \
	X(MAX_LENGTH, "max_length")                                                                                    \
	X(DRAFT, "draft")                                                                                              \
	X(N_DRAFTS, "n_drafts")                                                                                        \
	X(DRAFT_ROWS, "draft_rows")                                                                                    \
	X(ROLE, "role")                                                                                                \
	X(MODEL_LAYERS, "model_layers")                                                                                \
	X(MODEL_HIDDEN, "model_hidden")                                                                                \
	X(MODEL_WIDTH, "model_width")                                                                                  \
	X(MODEL_HEADS, "model_heads")                                                                                  \
	X(MODEL_KV_HEADS, "model_kv_heads")                                                                            \
	X(MODEL_EXPERTS, "model_experts")                                                                              \
	X(MODEL_PARAMS, "model_params")                                                                                \
	X(MODEL_NAME, "model_name")
enum launch_fact {
#define LAUNCH_FACT(id, name) LAUNCH_##id,
	LAUNCH_FACTS(LAUNCH_FACT)
#undef LAUNCH_FACT
	    N_LAUNCH_FACTS,
};
const char *launch_fact_name(enum launch_fact f);
/* The one with the name of n bytes; N_LAUNCH_FACTS: none. */
enum launch_fact launch_fact_named(const char *name, size_t n);

enum launch_form { LAUNCH_ARGV, LAUNCH_OVERRIDES, LAUNCH_TOML, LAUNCH_JSON };

/* Rules that are read and written, or one of it alone. */
enum launcher_way { LAUNCH_BOTH, LAUNCH_READ, LAUNCH_WRITE };

struct launcher_rule {
	enum launch_fact fact, stand_in; /* stand_in: what `absent` names; N_LAUNCH_FACTS: it is a number, or nothing */
	const char *from, *is, *key, *also, *value, *read, *absent, *say; /* but for `from`, any may be NULL */
	bool is_switch, is_list, is_string, in_file, elsewhere;
	int only; /* enum launcher_way */
};

enum launch_use { LAUNCH_TRAIN, LAUNCH_SERVE };

struct launcher {
	const char *id, *name, *version, *source, *launch, *launch_hybrid, *programs, *config, *stacks, *notes;
	int form, use; /* enum launch_form, enum launch_use */
	int n_rules;
	struct launcher_rule *rules;
};

bool launcher_bind(struct binder *b, const struct node *root, const char *id, struct launcher *out);
/* NULL with errors. */
const struct launcher *database_launcher(
    struct database *db, struct arena *a, struct diag *d, const char *name, struct source at);

/* A cause of a slow or failing run, from hwdb/diagnoses. */

/* Strings live in the binder's arena or in the tree.  False on faults. */
bool diagnosis_bind(struct binder *b, const struct node *root, const char *id, struct diagnosis *out);

/* All causes, sorted by id; NULL on errors. */
const struct diagnosis **database_diagnoses(struct database *db, struct arena *a, struct diag *d, size_t *n);

/* The command line of a cause: {figure|example} and {word|example} replaced.  `known` returns the text of a name, or
 * NULL for the example, which `missing` is told of. */
struct diagnosis_words {
	const char *(*known)(void *context, const char *name);
	void (*missing)(void *context, const char *name, const char *example);
	void *context;
};
/* NULL when the line cannot be read: *column says where. */
const char *diagnosis_command(struct arena *a, const char *line, const struct diagnosis_words *words, int *column);

/* --- checks of entries -------------------------------------------------------------------------------- */

/* `link` is the entry that the GPU's link names, or NULL. */
void lint_gpu(struct diag *d, const struct gpu *gpu, const struct link *link);
void lint_link(struct diag *d, const struct link *link);
void lint_system(struct diag *d, const struct system *system);
/* In workload.c. */
void lint_workload(struct diag *d, const struct workload *w, double counted_params);

/* --- launch files of frameworks and engines, read backwards by the rules of hwdb/launchers ---------------- */

/* What a launch file says of its model: `--num-layers 80`, `flavor = "8B"`, `--model-path meta-llama/Llama-3.1-70B`. */
struct launch_claim {
	enum launch_fact fact;
	const char *key;
	double value;
	const char *name; /* of a name, which has no value; else NULL */
	struct source at;
};

struct launch_claims {
	size_t n;
	struct launch_claim *list;
};

struct launch_file {
	const struct launcher *by;
	const struct node *inputs; /* as a job has them: layout.tp, batch, dtype */
	struct launch_claims claims;
	const char *unread, *unmapped; /* options that no rule is about; what rules say and no input takes; or NULL */
};

/* What is known beside a launch file, or NaN: layers of the model, GPUs of the run; whether the model has no experts.
 */
struct launch_known {
	double n_layers, n_gpus;
	bool dense;
};

/* Whether a launcher has an option for this value of a fact. */
bool launch_can_say(const struct launcher *by, enum launch_fact fact, const char *is);
/* A command line (`run.sh`), a TOML or a JSON file, of the launcher that has most of its options.  False with errors.
 */
bool launcher_read(struct database *db, struct arena *a, struct diag *d, const char *path, struct source at,
    struct launch_known known, struct launch_file *out);

/* Causes that the measurements of a run support, most urgent first. */

struct finding {
	const struct diagnosis *cause;
	int n_for, n_against; /* signs that hold; signs that are known and do not */
	const char *stake;    /* formula of the share of the time that it costs, or NULL */
	double stake_frac;    /* NaN when no formula can be worked out */
};

/* Findings, most urgent first: what ends a run, what spoils it, then by the time at stake, then by the signs.  `out`
 * has room for n.  Causes that cost nothing by these figures are left out. */
size_t diagnose_rank(
    const struct diagnosis *const *all, size_t n, const struct figures *f, enum use use, struct finding *out);

#endif
