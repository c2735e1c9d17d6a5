/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries as structs: bound once, or anew under overlays of --set. */
#include "db/db.h"

#include "base/base.h"
#include "db/store.h"

#include <string.h>

static struct binder
binder_of(struct database *db, struct arena *a, const struct node *root)
{
	const struct node *source = tree_get(root, "source");

	return (struct binder){.arena = a,
	    .diag = db->diag,
	    .sources = tree_get(root, "sources"),
	    .cite = source && source->kind == NODE_SCALAR ? source->text : NULL};
}

/* Bind an entry once; with an overlay bind it again, separately. */
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
