/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries by name: lists, aliases, what drivers and hubs call them, the nearest to a name that nothing has. */
#include "db/db.h"

#include "base/base.h"
#include "db/parts.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
			const struct node *root = entry_read(db, k, h->id);
			if (root && entry_has_alias(root, name))
				return h->id;
		}
	size_t n;
	const char **list = database_list(db, k, &n);
	for (size_t i = 0; i < n; i++)
		if (text_same_folded(list[i], name))
			return list[i];
	for (size_t i = 0; i < n; i++) {
		const struct node *root = entry_read(db, k, list[i]);
		if (root && entry_has_alias(root, name))
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
	const char *id = name_known(db->store->ids, k, name);

	if (id)
		return id;
	id = name_remember(db, &db->store->ids, k, name, search_id(db, k, name));
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
		const struct node *root = file_open(db, name);
		return of_this_format(db, root && k == ENTRY_MODEL ? file_imported(db, name, root) : root, false);
	}
	*id = find_id(db, k, name);
	return *id ? entry_read(db, k, *id) : NULL;
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

/* `8xh100`, `8 x h100`: what stands behind the number, or NULL. */
static const char *
behind_number(const char *name)
{
	const char *at = name + strspn(name, "0123456789");

	if (at == name)
		return NULL;
	at += strspn(at, " ");
	if (*at != 'x' && *at != 'X' && *at != '*')
		return NULL;
	return at + 1 + strspn(at + 1, " ");
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
	const char *one = k == ENTRY_GPU ? behind_number(name) : NULL;
	const char *near = nearest_entry(k, list, n, one ? one : name);
	if (near && one)
		diag_hint(db->diag, "write '%s', and how many in --gpus", near);
	else if (near)
		diag_hint(db->diag, "did you mean '%s'?", near);
	else if (k == ENTRY_RELIABILITY)
		diag_hint(db->diag, "try '%s'; a name with a / is read as a file", list[0]);
	else if (k == ENTRY_ENGINE)
		diag_hint(db->diag, "try trtllm, vllm or sglang; 'common' is for engines that are not listed");
	else if (k == ENTRY_STACK)
		diag_hint(
		    db->diag, "try megatron-core or torchtitan; 'unlisted' is for frameworks that are not listed");
	else if (k == ENTRY_LAUNCHER)
		diag_hint(db->diag, "training: megatron, bridge, torchtitan, deepspeed; serving: vllm, sglang, trtllm");
	else if (k == ENTRY_GPU || k == ENTRY_SYSTEM || k == ENTRY_LINK)
		diag_hint(db->diag, "'ridge hw list%s' shows all; a name with a / is read as a file",
		    k == ENTRY_LINK         ? " links"
		        : k == ENTRY_SYSTEM ? " systems"
		                            : "");
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

/* --- entries as structs: bound once, or anew under overlays of --set ------------------------------------- */

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
	    database_path(db, ENTRY_CALIBRATION, id) ? entry_read(db, ENTRY_CALIBRATION, id) : NULL;
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
