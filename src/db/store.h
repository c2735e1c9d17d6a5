/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The database as its own files see it: database.c reads, entry.c finds and binds. */
#ifndef RIDGE_DB_STORE_H
#define RIDGE_DB_STORE_H

#include "db/db.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
