/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Find, read and cache database entries: search path, aliases, overlays of --set. */
#include "db/db.h"

#include "base/base.h"
#include "import/import.h"
#include "paths.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static const struct {
	const char *name, *folder;
} kinds[N_ENTRY_KINDS] = {
    [ENTRY_GPU] = {"GPU", "gpus"},
    [ENTRY_LINK] = {"link", "links"},
    [ENTRY_SYSTEM] = {"system", "systems"},
    [ENTRY_CALIBRATION] = {"calibration", "calibration"},
    [ENTRY_STACK] = {"stack", "stacks"},
    [ENTRY_ENGINE] = {"engine", "engines"},
    [ENTRY_MODEL] = {"model", "models"},
    [ENTRY_JOB] = {"job", "jobs"},
    [ENTRY_RELIABILITY] = {"published reliability", "reliability"},
    [ENTRY_DIAGNOSIS] = {"diagnosis", "diagnoses"},
    [ENTRY_UNCERTAINTY] = {"uncertainty", "uncertainty"},
    [ENTRY_TRANSFER] = {"transfer", "transfers"},
    [ENTRY_LAUNCHER] = {"launcher", "launchers"},
};

/* Aliases of the shipped entries, written by the Makefile from their `aliases:` lines. */
static const struct hint {
	const char *folder, *alias, *id;
} hints[] = {
#include "aliases.inc"
    {NULL, NULL, NULL},
};

const char *
entry_kind_folder(enum entry_kind k)
{
	return kinds[k].folder;
}

static void
add_root(struct database *db, const char *path)
{
	if (path && *path && db->n_roots < MAX_ROOTS)
		db->roots[db->n_roots++] = path;
}

/* Run from its build folder, the program reads the source tree beside it. */
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

static const char *
known(const struct known_name *list, enum entry_kind k, const char *name)
{
	for (; list; list = list->next)
		if (list->kind == k && strcmp(list->name, name) == 0)
			return list->meant;
	return NULL;
}

static const char *
remember(struct database *db, struct known_name **list, enum entry_kind k, const char *name, const char *meant)
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
	return arena_printf(db->passing, "%s/%s/%s.yaml", db->roots[root], kinds[k].folder, id);
}

const char *
database_path(struct database *db, enum entry_kind k, const char *id)
{
	const char *path = known(db->store->paths, k, id);

	for (size_t i = 0; i < db->n_roots && !path; i++) {
		path = file_of(db, i, k, id);
		path = access(path, R_OK) == 0 ? remember(db, &db->store->paths, k, id, path) : NULL;
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

static bool
has_alias(const struct node *root, const char *name)
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

static const struct node *
read_file(struct database *db, const char *path)
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
static const struct node *
imported(struct database *db, const char *path, const struct node *root)
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
static const struct node *
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

static const struct node *
read_entry(struct database *db, enum entry_kind k, const char *id)
{
	const char *path = database_path(db, k, id);

	return path ? of_this_format(db, read_file(db, path), true) : NULL;
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

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **
database_list(struct database *db, enum entry_kind k, size_t *n)
{
	const char **list = NULL;
	size_t room = 0;

	*n = 0;
	for (size_t r = 0; r < db->n_roots; r++) {
		DIR *dir = opendir(arena_printf(db->passing, "%s/%s", db->roots[r], kinds[k].folder));
		for (const struct dirent *e; dir && (e = readdir(dir));) {
			if (!text_ends(e->d_name, ".yaml"))
				continue;
			if (*n == room) {
				const size_t more = room ? 2 * room : 64;
				list = arena_grow(db->passing, list, *n, more, sizeof *list);
				room = more;
			}
			list[(*n)++] = arena_copy(db->passing, e->d_name, strlen(e->d_name) - 5);
		}
		if (dir)
			closedir(dir);
	}
	if (*n == 0)
		return list;
	qsort(list, *n, sizeof *list, by_text);
	size_t kept = 1;
	for (size_t i = 1; i < *n; i++)
		if (strcmp(list[i], list[kept - 1]) != 0)
			list[kept++] = list[i];
	*n = kept;
	return list;
}

#define GPU(name, id) {name, id},
/* What drivers call GPUs (nvidia-smi). */
static const struct {
	const char *name, *id;
} driver_names[] = {
#include "bench/gpu_names.def"
};
#undef GPU

/* The name behind the words of its vendor: `AMD Instinct MI300X`, `NVIDIA L4`. */
static const char *
behind_vendor(const char *name)
{
	static const char *const words[] = {"NVIDIA ", "AMD ", "Instinct ", "Tesla ", "GeForce "};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (text_begins(name, words[i]))
			name += strlen(words[i]);
	return name;
}

/* `meta-llama/Llama-3.1-70B`: a model by its name on the hub, unless there is such a file. */
static const char *
behind_hub(const char *name)
{
	const char *slash = strchr(name, '/');

	if (!slash || slash == name || *name == '.' || *name == '~' || strchr(slash + 1, '/') || !slash[1] ||
	    text_ends(name, ".yaml") || text_ends(name, ".yml") || text_ends(name, ".json") || access(name, F_OK) == 0)
		return name;
	return slash + 1;
}

/* The id that a name means: the file of that name, a compiled-in alias that its file confirms, a folded file name, and
 * only then the aliases of every file. */
static const char *
search_id(struct database *db, enum entry_kind k, const char *name)
{
	if (!*name || strchr(name, '/'))
		return NULL;
	if (database_path(db, k, name))
		return name;
	for (const struct hint *h = hints; h->folder; h++)
		if (strcmp(h->folder, kinds[k].folder) == 0 && text_same_folded(h->alias, name) &&
		    database_path(db, k, h->id)) {
			const struct node *root = read_entry(db, k, h->id);
			if (root && has_alias(root, name))
				return h->id;
		}
	size_t n;
	const char **list = database_list(db, k, &n);
	for (size_t i = 0; i < n; i++)
		if (text_same_folded(list[i], name))
			return list[i];
	for (size_t i = 0; i < n; i++) {
		const struct node *root = read_entry(db, k, list[i]);
		if (root && has_alias(root, name))
			return list[i];
	}
	for (size_t i = 0; k == ENTRY_GPU && i < sizeof driver_names / sizeof *driver_names; i++)
		if (strcmp(driver_names[i].name, name) == 0 && database_path(db, k, driver_names[i].id))
			return driver_names[i].id;
	const char *plain = k == ENTRY_GPU ? behind_vendor(name) : name;
	return plain != name ? search_id(db, k, plain) : NULL;
}

static const char *
find_id(struct database *db, enum entry_kind k, const char *name)
{
	const char *id = known(db->store->ids, k, name);

	if (id)
		return id;
	id = remember(db, &db->store->ids, k, name, search_id(db, k, name));
	return id == name ? arena_text(db->passing, name) : id;
}

static bool
is_file(const char *name)
{
	return strcmp(name, "-") == 0 || strchr(name, '/') || text_ends(name, ".yaml") || text_ends(name, ".yml") ||
	    text_ends(name, ".json");
}

const struct node *
database_try(struct database *db, enum entry_kind k, const char *name, const char **id)
{
	if (k == ENTRY_MODEL)
		name = behind_hub(name);
	if (is_file(name)) {
		const char *base = strrchr(name, '/');
		base = base ? base + 1 : name;
		const char *dot = strrchr(base, '.');
		*id = dot ? arena_copy(db->passing, base, (size_t)(dot - base)) : base;
		const struct node *root = read_file(db, name);
		return of_this_format(db, root && k == ENTRY_MODEL ? imported(db, name, root) : root, false);
	}
	*id = find_id(db, k, name);
	return *id ? read_entry(db, k, *id) : NULL;
}

/* The nearest name of an entry, without what the hub and drivers put before it; of a driver's name another of these. */
static const char *
nearest_entry(enum entry_kind k, const char *const *ids, size_t n, const char *name)
{
	const char *candidates[2048];
	const char *plain = k == ENTRY_GPU ? behind_vendor(name) : k == ENTRY_MODEL ? behind_hub(name) : name;
	size_t n_candidates = 0;

	for (size_t i = 0; plain != name && k == ENTRY_GPU && i < sizeof driver_names / sizeof *driver_names; i++)
		candidates[n_candidates++] = driver_names[i].name;
	const char *near = text_nearest(name, candidates, n_candidates);
	if (near)
		return near;
	n_candidates = 0;
	for (size_t i = 0; i < n && n_candidates < 2048; i++)
		candidates[n_candidates++] = ids[i];
	for (const struct hint *h = hints; h->folder && n_candidates < 2048; h++)
		if (strcmp(h->folder, kinds[k].folder) == 0)
			candidates[n_candidates++] = h->alias;
	return text_nearest(plain, candidates, n_candidates);
}

static void
no_such_entry(struct database *db, enum entry_kind k, const char *name, struct source at)
{
	size_t n;
	const char **list = database_list(db, k, &n);

	if (n == 0) {
		diag_error(db->diag, at, "no database of %ss found", kinds[k].name);
		diag_hint(db->diag, "give its directory with --hwdb or in RIDGE_HWDB; last tried %s",
		    db->roots[db->n_roots - 1]);
		return;
	}
	diag_error(db->diag, at, "there is no %s '%s'", kinds[k].name, name);
	const char *near = nearest_entry(k, list, n, name);
	if (near)
		diag_hint(db->diag, "did you mean '%s'?", near);
	else if (k == ENTRY_RELIABILITY)
		diag_hint(db->diag, "try '%s'; a name with a / is read as a file", list[0]);
	else if (k == ENTRY_ENGINE)
		diag_hint(db->diag, "try trtllm, vllm or sglang; 'common' is for engines that are not listed");
	else if (k == ENTRY_STACK)
		diag_hint(
		    db->diag, "try megatron-core or torchtitan; 'unlisted' is for frameworks that are not listed");
	else if (k == ENTRY_GPU || k == ENTRY_SYSTEM || k == ENTRY_LINK)
		diag_hint(db->diag, "'ridge hw list' shows all; a name with a / is read as a file");
	else
		diag_hint(db->diag, "'ridge model list' shows all; a name with a / is read as a file");
}

const struct node *
database_open(
    struct database *db, enum entry_kind k, const char *name, struct source at, const char **id, const char **announce)
{
	const int errors = diag_errors(db->diag);
	const struct node *root = database_try(db, k, name, id);

	*announce = NULL;
	if (!root) {
		if (diag_errors(db->diag) == errors)
			no_such_entry(db, k, name, at);
		return NULL;
	}
	const char *plain = k == ENTRY_MODEL ? behind_hub(name) : name;
	if (!is_file(plain) && !text_same_folded(plain, *id))
		*announce = arena_printf(db->passing, "%s = %s", name, *id);
	return root;
}

static struct binder
binder_of(struct database *db, struct arena *a, const struct node *root)
{
	const struct node *source = tree_get(root, "source");

	return (struct binder){.arena = a,
	    .diag = db->diag,
	    .sources = tree_get(root, "sources"),
	    .cite = source && source->kind == NODE_SCALAR ? source->text : NULL};
}

/* Entries are bound once; with an overlay anew, beside the entry as it is filed. */
static const struct gpu *
bind_gpu(struct database *db, const struct node *root, const char *id, const struct node *overlay)
{
	const void *filed = NULL;

	if (!database_kept(db, root, "gpu", &filed)) {
		struct gpu *gpu = ARENA_NEW(db->arena, struct gpu);
		struct binder b = binder_of(db, db->arena, root);
		if (!gpu_bind(&b, root, arena_text(db->arena, id), gpu))
			return NULL;
		database_keep(db, root, "gpu", gpu);
		filed = gpu;
	}
	if (!overlay)
		return filed;
	struct gpu *set = ARENA_NEW(db->passing, struct gpu);
	root = tree_overlay(db->passing, root, overlay);
	struct binder b = binder_of(db, db->passing, root);
	const bool bound = gpu_bind(&b, root, id, set);
	set->filed = filed;
	return bound ? set : NULL;
}

const struct gpu *
database_gpu(struct database *db, const char *name, const struct node *overlay, struct source at, const char **announce)
{
	const char *id;
	const struct node *root = database_open(db, ENTRY_GPU, name, at, &id, announce);

	return root ? bind_gpu(db, root, id, overlay) : NULL;
}

static const struct link *
bind_link(struct database *db, const struct node *root, const char *id, const struct node *overlay)
{
	const void *filed = NULL;

	if (!database_kept(db, root, "link", &filed)) {
		struct link *link = ARENA_NEW(db->arena, struct link);
		struct binder b = binder_of(db, db->arena, root);
		if (!link_bind(&b, root, arena_text(db->arena, id), link))
			return NULL;
		database_keep(db, root, "link", link);
		filed = link;
	}
	if (!overlay)
		return filed;
	struct link *set = ARENA_NEW(db->passing, struct link);
	root = tree_overlay(db->passing, root, overlay);
	struct binder b = binder_of(db, db->passing, root);
	const bool bound = link_bind(&b, root, id, set);
	set->filed = filed;
	return bound ? set : NULL;
}

const struct link *
database_link(
    struct database *db, const char *name, const struct node *overlay, struct source at, const char **announce)
{
	const char *id;
	const struct node *root = database_open(db, ENTRY_LINK, name, at, &id, announce);

	return root ? bind_link(db, root, id, overlay) : NULL;
}

/* The bandwidth of a domain is that of its GPUs' links: links that were set faster or slower take it along. */
static void
follow_links(struct system *s, const struct node *overlay)
{
	const struct gpu *g = s->gpu, *filed = g->filed;
	struct datum *const rates[] = {&s->domain_byte_per_s, &s->pair_byte_per_s, &s->pair_max_byte_per_s};

	if (!filed || s->domain == DOMAIN_PCIE || s->domain == DOMAIN_NONE || tree_at(overlay, "domain.per_direction"))
		return;
	const double factor =
	    g->n_links.value * g->link_byte_per_s.value / (filed->n_links.value * filed->link_byte_per_s.value);
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
		if (factor > 0 && factor != 1 && datum_given(*rates[i]))
			*rates[i] = (struct datum){rates[i]->value * factor, g->link_byte_per_s.from};
}

static struct system *
bind_system(struct database *db, struct arena *a, const struct node *root, const char *id, const struct node *overlay,
    const struct node *gpu_overlay)
{
	const char *gpu_id = NULL, *fabric_id = NULL, *ignored;
	struct system *system = ARENA_NEW(a, struct system);

	root = tree_overlay(a, root, overlay);
	struct binder b = binder_of(db, a, root);
	if (!system_bind(&b, root, id, system, &gpu_id, &fabric_id))
		return NULL;
	system->gpu = database_gpu(db, gpu_id, gpu_overlay, tree_get(root, "gpu")->at, &ignored);
	if (fabric_id) {
		system->fabric = database_link(db, fabric_id, NULL, tree_get(root, "network")->at, &ignored);
		if (!system->fabric)
			return NULL;
	}
	if (!system->gpu)
		return NULL;
	follow_links(system, overlay);
	return system;
}

const struct system *
database_system(struct database *db, const char *name, const struct node *overlay, const struct node *gpu_overlay,
    struct source at, const char **announce)
{
	const char *id;
	const struct node *root = database_open(db, ENTRY_SYSTEM, name, at, &id, announce);
	const void *filed = NULL;

	if (!root)
		return NULL;
	if (!database_kept(db, root, "system", &filed)) {
		filed = bind_system(db, db->arena, root, arena_text(db->arena, id), NULL, NULL);
		if (!filed)
			return NULL;
		database_keep(db, root, "system", filed);
	}
	if (!overlay && !gpu_overlay)
		return filed;
	struct system *set = bind_system(db, db->passing, root, id, overlay, gpu_overlay);
	if (set)
		set->filed = filed;
	return set;
}

static const struct workload *
bind_model(struct database *db, const struct node *root, const char *id, const struct node *overlay)
{
	struct arena *a = overlay ? db->passing : db->arena;
	const void *filed;

	if (!overlay && database_kept(db, root, "model", &filed))
		return filed;
	struct workload *model = ARENA_NEW(a, struct workload);
	root = tree_overlay(a, root, overlay);
	struct binder b = binder_of(db, a, root);
	if (!workload_bind(&b, root, arena_text(a, id), model))
		return NULL;
	if (!overlay)
		database_keep(db, root, "model", model);
	return model;
}

const struct workload *
database_model(
    struct database *db, const char *name, const struct node *overlay, struct source at, const char **announce)
{
	const char *id;
	const struct node *root = database_open(db, ENTRY_MODEL, name, at, &id, announce);

	return root ? bind_model(db, root, id, overlay) : NULL;
}

const struct calibration *
database_calibration(struct database *db, const char *gpu, const char *backend)
{
	const char *id = backend ? arena_printf(db->passing, "%s-%s", gpu, backend) : gpu;
	const void *kept = NULL;

	if (database_kept(db, NULL, id, &kept))
		return kept;
	const struct node *root =
	    database_path(db, ENTRY_CALIBRATION, id) ? read_entry(db, ENTRY_CALIBRATION, id) : NULL;
	if (!root)
		return NULL;
	struct calibration *calibration = ARENA_NEW(db->arena, struct calibration);
	struct binder b = binder_of(db, db->arena, root);
	if (!calibration_bind(&b, root, arena_text(db->arena, id), calibration))
		return NULL;
	calibration->own = database_is_own(db, ENTRY_CALIBRATION, id);
	database_keep(db, NULL, id, calibration);
	return calibration;
}
