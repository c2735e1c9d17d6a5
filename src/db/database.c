/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories of the database, and the files that were read: search path, what was found before, imports. */
#include "db/db.h"

#include "base/base.h"
#include "db/parts.h"
#include "import/import.h"
#include "paths.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
add_root(struct database *db, const char *path)
{
	if (path && *path && db->n_roots < MAX_ROOTS)
		db->roots[db->n_roots++] = path;
}

/* Run from its build folder, the program reads the source tree next to it. */
static const char *
source_tree(struct arena *a)
{
	char self[1024];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n <= 0)
		return NULL;
	self[n] = '\0';
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(self, '/');
		if (!slash)
			return NULL;
		*slash = '\0';
	}
	const char *marker = arena_printf(a, "%s/hwdb/gpus", self);
	return access(marker, R_OK) == 0 ? arena_text(a, self) : NULL;
}

/* A root holds the folders themselves, or `hwdb` and `workloads` that hold them. */
static void
add_tree(struct database *db, const char *root)
{
	add_root(db, arena_printf(db->arena, "%s/hwdb", root));
	add_root(db, arena_printf(db->arena, "%s/workloads", root));
}

static void
add_directory(struct database *db, const char *path)
{
	if (!path || !*path)
		return;
	add_root(db, path);
	if (access(arena_printf(db->arena, "%s/hwdb", path), R_OK) == 0)
		add_tree(db, path);
}

const char *
database_user_directory(struct arena *a)
{
	const char *home = getenv("HOME"), *data = getenv("XDG_DATA_HOME");

	return data && *data ? arena_printf(a, "%s/ridge", data)
	    : home && *home  ? arena_printf(a, "%s/.local/share/ridge", home)
	                     : NULL;
}

/* A database that somebody names and that is not there: another one would answer in its place. */
static void
check_directory(struct diag *d, const char *named_by, const char *directory)
{
	DIR *dir = directory ? opendir(directory) : NULL;

	if (dir)
		closedir(dir);
	if (!directory || dir)
		return;
	diag_error(d, (struct source){named_by, 0, 0, NULL, false}, "cannot read the directory '%s': %s", directory,
	    strerror(errno));
	diag_hint(d, "give a directory with gpus, links, systems or models");
}

struct database *
database_new(struct arena *a, struct diag *d, const char *directory)
{
	struct database *db = ARENA_NEW(a, struct database);

	db->arena = db->passing = a;
	db->diag = d;
	db->store = ARENA_NEW(a, struct store);
	const char *said = getenv("RIDGE_HWDB");
	check_directory(d, "--hwdb", directory);
	check_directory(d, "RIDGE_HWDB", said && *said ? said : NULL);
	add_directory(db, directory);
	add_directory(db, said);
	const char *user = database_user_directory(a);
	if (user && access(user, R_OK) == 0)
		add_directory(db, user);
	const char *tree = source_tree(a);
	char here[1024];
	if (tree && getcwd(here, sizeof here) && strcmp(here, tree) == 0) {
		add_root(db, "hwdb"); /* places read better without the path to where one stands */
		add_root(db, "workloads");
	} else
		add_tree(db, tree ? tree : RIDGE_DATA_DIRECTORY);
	return db;
}

struct database *
database_for(const struct database *db, struct arena *passing, struct diag *d)
{
	struct database *other = ARENA_NEW(passing, struct database);

	*other = *db;
	other->passing = passing;
	other->diag = d;
	return other;
}

struct database *
database_reporting_to(const struct database *db, struct diag *d)
{
	return database_for(db, db->passing, d);
}

/* --- what was found before -------------------------------------------------------------------------------- */

/* Questions ask for the same few names again and again; a stream of new ones is not remembered for ever. */
enum { MOST_KNOWN = 512 };

const char *
name_known(const struct known_name *list, enum entry_kind k, const char *name)
{
	for (; list; list = list->next)
		if (list->kind == k && strcmp(list->name, name) == 0)
			return list->meant;
	return NULL;
}

const char *
name_remember(struct database *db, struct known_name **list, enum entry_kind k, const char *name, const char *meant)
{
	int n = 0;

	for (const struct known_name *l = *list; l; l = l->next)
		n++;
	if (n >= MOST_KNOWN || !meant)
		return meant;
	struct known_name *l = ARENA_NEW(db->arena, struct known_name);
	*l = (struct known_name){k, arena_text(db->arena, name), arena_text(db->arena, meant), *list};
	*list = l;
	return l->meant;
}

struct arena *
database_arena(const struct database *db)
{
	return db->arena;
}

bool
database_kept(const struct database *db, const void *of, const char *key, const void **what)
{
	for (const struct kept *k = db->store->kept; k; k = k->next)
		if (k->of == of && strcmp(k->key, key) == 0) {
			*what = k->what;
			return true;
		}
	return false;
}

void
database_keep(struct database *db, const void *of, const char *key, const void *what)
{
	struct kept *k = ARENA_NEW(db->arena, struct kept);

	*k = (struct kept){of, what, arena_text(db->arena, key), db->store->kept};
	db->store->kept = k;
}

static const char *
file_of(struct database *db, size_t root, enum entry_kind k, const char *id)
{
	return arena_printf(db->passing, "%s/%s/%s.yaml", db->roots[root], entry_kind_folder(k), id);
}

const char *
database_path(struct database *db, enum entry_kind k, const char *id)
{
	const char *path = name_known(db->store->paths, k, id);

	for (size_t i = 0; i < db->n_roots && !path; i++) {
		path = file_of(db, i, k, id);
		path = access(path, R_OK) == 0 ? name_remember(db, &db->store->paths, k, id, path) : NULL;
	}
	return path;
}

bool
database_is_own(struct database *db, enum entry_kind k, const char *id)
{
	const char *path = database_path(db, k, id);

	for (size_t i = 0; path && i < db->n_roots; i++)
		if (strcmp(file_of(db, i, k, id), path) == 0)
			return access(file_of(db, i, ENTRY_UNCERTAINTY, "train"), R_OK) != 0;
	return path != NULL;
}

bool
entry_has_alias(const struct node *root, const char *name)
{
	const struct node *list = tree_get(root, "aliases");

	if (!list || list->kind != NODE_LIST)
		return false;
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i]->kind == NODE_SCALAR && list->items[i]->text &&
		    text_same_folded(list->items[i]->text, name))
			return true;
	return false;
}

const struct node *
file_open(struct database *db, const char *path)
{
	for (const struct read_file *f = db->store->files; f; f = f->next)
		if (strcmp(f->path, path) == 0)
			return f->root;
	const struct node *root = tree_read_file(db->arena, db->diag, path);
	if (!root)
		return NULL;
	struct read_file *f = ARENA_NEW(db->arena, struct read_file);
	*f = (struct read_file){arena_text(db->arena, path), root, NULL, db->store->files};
	db->store->files = f;
	return root;
}

struct database *
database_with(const struct database *db, struct arena *a, enum entry_kind k, const char *id, const struct node *root)
{
	struct database *out = database_for(db, a, db->diag);
	struct read_file *file = ARENA_NEW(a, struct read_file);
	struct known_name *path = ARENA_NEW(a, struct known_name);

	/* what was made of the old entry does not hold */
	*file = (struct read_file){arena_printf(a, "%s, new", id), root, NULL, db->store->files};
	*path = (struct known_name){k, id, file->path, db->store->paths};
	out->arena = a;
	out->store = ARENA_NEW(a, struct store);
	*out->store = (struct store){file, db->store->ids, path, NULL};
	return out;
}

static struct read_file *
file_read(const struct database *db, const char *path)
{
	struct read_file *f = db->store->files;

	while (f && strcmp(f->path, path) != 0)
		f = f->next;
	return f;
}

/* A configuration of the Hugging Face hub becomes a model file of ours, once. */
const struct node *
file_imported(struct database *db, const char *path, const struct node *root)
{
	if (!hf_is_config(root))
		return root;
	struct hf_notes *notes = ARENA_NEW(db->arena, struct hf_notes);
	const struct node *model = hf_import(db->arena, db->diag, root, notes);
	struct read_file *f = file_read(db, path);
	if (model && f) {
		f->root = model;
		f->notes = notes;
	}
	return model;
}

const char *const *
database_assumed(const struct database *db, const char *name, size_t *n)
{
	const struct read_file *f = file_read(db, name);

	*n = f && f->notes ? f->notes->n_assumed : 0;
	return *n ? f->notes->assumed : NULL;
}

/* A file that somebody names may leave its format out; it may not have another one. */
const struct node *
of_this_format(struct database *db, const struct node *root, bool required)
{
	const struct node *format = tree_get(root, "format");

	if (!root || (!format && !required))
		return root;
	if (format && format->kind == NODE_SCALAR && format->text && strcmp(format->text, "1") == 0)
		return root;
	diag_error(db->diag, format ? format->at : root->at, "ridge reads format 1");
	diag_hint(db->diag, "write 'format: 1'");
	return NULL;
}

const struct node *
entry_read(struct database *db, enum entry_kind k, const char *id)
{
	const char *path = database_path(db, k, id);

	return path ? of_this_format(db, file_open(db, path), true) : NULL;
}

bool
database_mentions(struct database *db, enum entry_kind k, const char *id, const char *text)
{
	enum { WHOLE = 8192 }; /* longer files are taken to mention it */
	char all[WHOLE];
	const char *path = database_path(db, k, id);
	FILE *file = path ? fopen(path, "r") : NULL;

	if (!file)
		return false;
	const size_t n = fread(all, 1, sizeof all - 1, file);
	fclose(file);
	all[n] = '\0';
	return n == sizeof all - 1 || strlen(all) < n || strstr(all, text) != NULL;
}

/* --- `extends: NAME`: an entry over the one that it inherits from ---------------------------------------- */

enum { MOST_EXTENDED = 4 };

static bool
is_own(const struct node *key, const char *const *own)
{
	for (; *own; own++)
		if (key->text && strcmp(key->text, *own) == 0)
			return true;
	return false;
}

static const struct node *
inherited(struct arena *a, const struct node *base, const char *const *own)
{
	struct node *const copy = ARENA_NEW(a, struct node);
	const struct node **keys = ARENA_ARRAY(a, const struct node *, base->n + 1);
	const struct node **items = ARENA_ARRAY(a, const struct node *, base->n + 1);

	*copy = *base;
	copy->n = 0;
	copy->keys = keys;
	copy->items = items;
	for (size_t i = 0; i < base->n; i++)
		if (!is_own(base->keys[i], own)) {
			keys[copy->n] = base->keys[i];
			items[copy->n++] = base->items[i];
		}
	return copy;
}

static const struct node *
extended(struct database *db, struct arena *a, struct diag *d, enum entry_kind kind, const struct node *root,
    const char *const *own, int depth)
{
	const struct node *name = tree_get(root, "extends");
	const char *id, *said;

	if (!name)
		return root;
	if (name->kind != NODE_SCALAR || !name->text) {
		diag_error(d, name->at, "'extends' needs the name of another entry of this kind");
		diag_hint(d, "write 'extends: %s'", kind == ENTRY_ENGINE ? "trtllm" : "megatron-core");
		return NULL;
	}
	if (depth == MOST_EXTENDED) {
		diag_error(d, name->at, "'extends' goes in a circle, or over more than %d entries", (int)MOST_EXTENDED);
		diag_hint(d, "extend the first of them");
		return NULL;
	}
	const struct node *base = database_open(db, kind, name->text, name->at, &id, &said);
	base = base ? extended(db, a, d, kind, base, own, depth + 1) : NULL;
	return base ? tree_overlay(a, inherited(a, base, own), root) : NULL;
}

const struct node *
entry_extended(struct database *db, struct arena *a, struct diag *d, enum entry_kind kind, const struct node *root,
    const char *const *own)
{
	return extended(db, a, d, kind, root, own, 0);
}
