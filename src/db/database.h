/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The database: entries are files, found by name.  Lookup ignores case and every character that is not a letter or
 * digit; `aliases:` in a file add more.  Only the files that are needed are opened: the aliases of the shipped entries
 * are compiled in as hints, and a hint is believed only when the file it names says the same.
 */
#ifndef RIDGE_DATABASE_H
#define RIDGE_DATABASE_H

#include "db/tree.h"
#include "ridge/hw.h"
#include "ridge/workload.h"

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
	N_ENTRY_KINDS,
};

const char *entry_kind_name(enum entry_kind k);   /* `GPU` */
const char *entry_kind_folder(enum entry_kind k); /* `gpus` */

struct database;

/* `directory` (from --hwdb) comes before $RIDGE_HWDB, the user's data directory and the installed one; NULL: none. */
struct database *database_new(struct arena *a, struct diag *d, const char *directory);

/* Where a user's own entries are, in folders named as those of hwdb; NULL without a home.  It may not exist. */
const char *database_user_directory(struct arena *a);

/* The same database for one question: what it binds lies in `passing`, its faults go to d; files stay read. */
struct database *database_for(const struct database *db, struct arena *passing, struct diag *d);
/* The same database with its faults going elsewhere. */
struct database *database_reporting_to(const struct database *db, struct diag *d);

/* Where the database's own things live, for as long as it does. */
struct arena *database_arena(const struct database *db);
/* Things made of the database once, found again by what they were made of and a word.  False when there is none; what
 * was kept may be NULL. */
bool database_kept(const struct database *db, const void *of, const char *key, const void **what);
void database_keep(struct database *db, const void *of, const char *key, const void *what);

/* The root of an entry's file and its id, or NULL with an error that suggests near names.  A name with `/` or ending in
 * .yaml, or `-`, is a file.  `announce` gets `alias = id` when an alias meant a variant, else NULL. */
const struct node *database_open(
    struct database *db, enum entry_kind k, const char *name, struct source at, const char **id, const char **announce);
/* The same without an error when there is no such entry. */
const struct node *database_try(struct database *db, enum entry_kind k, const char *name, const char **id);

/* All ids of a kind, sorted; an entry of an earlier directory hides a later one. */
const char **database_list(struct database *db, enum entry_kind k, size_t *n);
/* The file of an id. */
const char *database_path(struct database *db, enum entry_kind k, const char *id);

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
/* What was assumed when this name was read: fields that a configuration of the hub left to its family's defaults. */
const char *const *database_assumed(const struct database *db, const char *name, size_t *n);
const struct calibration *database_calibration(struct database *db, const char *gpu, const char *backend);
/* The 80 % interval of a figure of this calibration; false when the file gives none. */
bool calibration_interval(const struct calibration *c, struct datum figure, double *low, double *high);

#endif
