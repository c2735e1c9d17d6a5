/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merge job file, --set and options into one tree of inputs. */
#include "cli/cli.h"

#include "base/base.h"
#include "cli/parts.h"
#include "db/tree.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char inputs_default[] = "default";

/* Database entries that --set may reach into: their own schema checks what is below. */
const char *const input_entities[] = {"gpu", "system", "model", "link", "stack", "engine"};
const size_t n_input_entities = sizeof input_entities / sizeof *input_entities;

/* `gpu_mem` as an option is written: `gpu-mem`. */
static void
dashed(const char *name, char *out, size_t size)
{
	snprintf(out, size, "%s", name);
	for (char *p = out; *p; p++)
		*p = *p == '_' ? '-' : *p;
}

/* The option that a key of an input means: its path, its name, or another name of it. */
static const struct option *
option_of(const struct command *c, const char *name)
{
	char plain[PATH_MAX_LENGTH + 1];
	const struct option *o = command_option_at(c, name);

	if (strcmp(name, "system.gpus") == 0 && command_option_at(c, "system")) /* of the job, not of a node */
		return command_option_at(c, "gpus");
	dashed(name, plain, sizeof plain);
	if (!o)
		o = command_option_named(c, plain);
	if (!o)
		o = command_option_at(c, plain);
	if (!o && text_begins(plain, "layout.")) {
		o = alias_find(c, plain + strlen("layout."), "0");
		return o && text_begins(o->path, "layout.") ? o : NULL;
	}
	return o ? o : alias_find(c, plain, "0");
}

const char *
inputs_path(const struct command *c, const char *name)
{
	const char *plain = text_begins(name, "--") ? name + 2 : name;
	const struct option *o = command_option_named(c, plain);

	if (!o)
		o = option_of(c, plain);
	return o ? o->path : name;
}

/* The same of a key in a file, where paths come first. */
static const char *
key_path(const struct command *c, const char *key)
{
	return command_option_at(c, key) ? key : inputs_path(c, key);
}

struct asked_input
inputs_asked(const struct command *c, const char *path, const char *text)
{
	const struct option *o = command_option_at(c, path);
	struct quantity_fault fault;
	double value = NAN;

	if (!o || o->kind != KIND_QUANTITY || !quantity_read(text, o->quantity, &value, &fault))
		value = NAN;
	return (struct asked_input){path, text, value};
}

static bool
is_path(const char *key)
{
	return strchr(key, '.') && strlen(key) <= PATH_MAX_LENGTH;
}

/* `layout: tp=8,pp=2` in a file or a JSON line means what it means on the command line. */
static bool
is_layout(const struct command *c, const char *key, const struct node *item)
{
	return strcmp(key, "layout") == 0 && item->kind == NODE_SCALAR && item->text && command_has_layout(c);
}

/* `ttft: p95:2s` is an SLO of a percentile: `slo: ttft=p95:2s`; a budget is one of the whole way. */
static bool
is_percentile(const struct command *c, const char *path, const struct node *item)
{
	const char *text = item->kind == NODE_SCALAR && item->text ? item->text : "";

	return text[0] == 'p' && strspn(text + 1, "0123456789") > 0 &&
	    text[1 + strspn(text + 1, "0123456789")] == ':' && text_lists("ttft tpot itl e2e budget", path) &&
	    command_option_at(c, "slo");
}

/* A list as words on the command line: `a,b`. */
static const char *
joined(struct arena *a, const struct node *list)
{
	const char *text = list && list->kind == NODE_SCALAR && list->text ? list->text : "";

	for (size_t i = 0; list && list->kind == NODE_LIST && i < list->n; i++)
		text = arena_printf(a, "%s%s%s", text, i ? "," : "", list->items[i]->text ? list->items[i]->text : "");
	return text;
}

static const struct node *
with_input(struct arena *a, const struct command *c, const struct node *tree, const char *path, const struct node *item)
{
	if (!is_percentile(c, path, item))
		return tree_with(a, tree, path, item);
	const char *slo = joined(a, tree_at(tree, "slo"));
	const char *text =
	    arena_printf(a, "%s%s%s=%s", slo, *slo ? "," : "", strcmp(path, "budget") == 0 ? "e2e" : path, item->text);
	return tree_with(a, tree, "slo", tree_scalar(a, text, item->at));
}

static const struct node *
with_layout(struct arena *a, struct diag *d, const struct command *c, const struct node *tree, const struct node *item)
{
	struct settings list = {0};

	arguments_layout(a, d, item->text, item->at, &list);
	for (size_t i = 0; i < list.n; i++)
		tree = tree_with(
		    a, tree, key_path(c, list.list[i].path), tree_scalar(a, list.list[i].text, list.list[i].at));
	return tree;
}

/* An empty map with the place of this one and room for its items. */
static struct node *
map_copy(struct arena *a, const struct node *map)
{
	struct node *plain = ARENA_NEW(a, struct node);

	*plain = *map;
	plain->n = 0;
	plain->keys = ARENA_ARRAY(a, const struct node *, map->n + 1);
	plain->items = ARENA_ARRAY(a, const struct node *, map->n + 1);
	return plain;
}

static void
map_add(struct node *map, const struct node *key, const struct node *item)
{
	map->keys[map->n] = key;
	map->items[map->n++] = item;
}

/* `system: {name: dgx-h100, gpus: 64}` counts the GPUs of the job, which are an input of their own. */
static const struct node *
without_gpus(struct arena *a, const struct node *system)
{
	struct node *plain = map_copy(a, system);

	for (size_t i = 0; i < system->n; i++)
		if (strcmp(system->keys[i]->text, "gpus") != 0)
			map_add(plain, system->keys[i], system->items[i]);
	return plain;
}

static const struct node *
gpus_of_system(const struct command *c, const char *key, const struct node *item)
{
	return strcmp(key, "system") == 0 && item->kind == NODE_MAP && option_of(c, "system.gpus")
	    ? tree_get(item, "gpus")
	    : NULL;
}

/* An input by another of its names; both names at once are a fault. */
static const struct node *
with_renamed(struct arena *a, struct diag *d, const struct command *c, const struct node *tree, const char *key,
    const struct node *item)
{
	const char *path = key_path(c, key);

	if (tree_at(tree, path)) {
		diag_error(d, item->at,
		    strcmp(key, path) == 0 ? "'%s' is given twice" : "'%s' and '%s' are the same input", key, path);
		diag_hint(d, "keep '%s'", path);
	}
	return with_input(a, c, tree, path, item);
}

/* `layout.tp: 8` in a file or a JSON line means what it means in --set, and so does another name of an input. */
const struct node *
inputs_spread(struct arena *a, struct diag *d, const struct command *c, const struct node *map)
{
	struct node *plain = map_copy(a, map);
	const struct node *tree = plain;

	for (size_t i = 0; i < map->n; i++) {
		const char *key = map->keys[i]->text;
		const struct node *item = map->items[i];
		if (is_path(key) || is_layout(c, key, item) || key_path(c, key) != key || is_percentile(c, key, item))
			continue;
		const bool counts = gpus_of_system(c, key, item);
		if (counts)
			item = without_gpus(a, item);
		if (!counts || item->n > 0)
			map_add(plain, map->keys[i], item);
	}
	for (size_t i = 0; i < map->n; i++) {
		const char *key = map->keys[i]->text;
		const struct node *item = map->items[i], *gpus = gpus_of_system(c, key, item);
		if (is_layout(c, key, item))
			tree = with_layout(a, d, c, tree, item);
		else if (gpus)
			tree = with_renamed(a, d, c, tree, "system.gpus", gpus);
		else if (key_path(c, key) != key || is_percentile(c, key, item) ||
		    (is_path(key) && command_option_at(c, key)))
			tree = with_renamed(a, d, c, tree, key, item);
		else if (is_path(key))
			tree = tree_with(a, tree, key, tree_overlay(a, tree_at(tree, key), item));
	}
	return tree;
}

const struct node *
inputs_tree(
    struct arena *a, struct diag *d, const struct command *c, const struct node *job, const struct arguments *args)
{
	const struct settings *const layers[] = {&args->sets, &args->options};
	const struct node *tree = job ? inputs_spread(a, d, c, job) : NULL;

	for (size_t l = 0; l < 2; l++)
		for (int percentiles = 0; percentiles < 2; percentiles++) /* are added to --slo */
			for (size_t i = 0; i < layers[l]->n; i++) {
				const struct setting *s = &layers[l]->list[i];
				const char *path = key_path(c, s->path);
				const struct node *item = tree_scalar(a, s->text, s->at);
				if (is_percentile(c, path, item) == (percentiles > 0))
					tree = with_input(a, c, tree, path, item);
			}
	return tree ? tree : tree_map(a, (struct source){"command line", 0, 0, NULL, false});
}

/* --- unknown inputs -------------------------------------------------------------------------------------- */

static bool
is_entity_overlay(const struct command *c, const char *path)
{
	for (size_t i = 0; i < n_input_entities; i++) {
		const size_t n = strlen(input_entities[i]);
		if (strncmp(path, input_entities[i], n) == 0 && (path[n] == '.' || path[n] == '\0'))
			return command_option_at(c, input_entities[i]) != NULL;
	}
	return false;
}

static bool
is_above(const struct option *o, const void *key)
{
	const size_t n = strlen(key);

	return strncmp(o->path, key, n) == 0 && o->path[n] == '.';
}

/* `layout.tensor` begins an option of other programs, --tensor-parallel-size, which is `layout.tp` here. */
static const char *
layout_word(const char *path)
{
	const size_t n = strlen("layout.");

	for (size_t i = 0; text_begins(path, "layout.") && strlen(path + n) > 2 && i < n_aliases; i++)
		if (text_begins(aliases[i].of, "layout.") && text_begins(aliases[i].name, path + n) &&
		    strcmp(aliases[i].of, path) != 0)
			return aliases[i].of;
	return NULL;
}

void
inputs_unknown(struct diag *d, const struct command *c, const char *path, struct source at, const char *before)
{
	const char *names[256];
	size_t n = 0;

	for (size_t g = 0; g < c->n_groups; g++)
		for (size_t i = 0; i < c->groups[g].n && n < 250; i++)
			names[n++] = c->groups[g].options[i].path;
	const char *near = layout_word(path);
	if (!near)
		near = text_nearest(path, names, n);
	const size_t layout =
	    text_begins(path, "layout.") && (!near || text_begins(near, "layout.")) && !*before ? strlen("layout.") : 0;
	if (layout)
		diag_error(d, at, "a layout has no '%s'", path + layout);
	else
		diag_error(d, at, "'%s' has no input '%s'", c->name, path);
	const char *file = at.file ? at.file : "";
	const bool whole = at.line == 0 && !text_begins(file, "--layout") && !text_begins(file, "--from");
	if (near)
		diag_hint(d, "did you mean '%s%s'?", before, near + (whole ? 0 : layout));
	else
		diag_hint(d, "'ridge %s --help' lists the inputs", c->name);
}

static enum input_place
inputs_place(const struct command *c, const char *path, const struct node *item)
{
	static const char *const about[] = {"format", "command", "name", "source", "notes"};
	const struct option *o = command_option_at(c, path);
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; !dot && i < sizeof about / sizeof *about; i++)
		if (strcmp(path, about[i]) == 0)
			return INPUT_ABOUT;
	if (o && (item->kind != NODE_MAP || o->kind == KIND_NODE))
		return INPUT_HERE;
	if (is_entity_overlay(c, path))
		return INPUT_HERE;
	return item->kind == NODE_MAP && (o || command_option(c, is_above, path)) ? INPUT_ABOVE : INPUT_UNKNOWN;
}

void
inputs_known(struct arena *a, struct diag *d, const struct command *c, const struct node *map, const char *prefix)
{
	for (size_t i = 0; i < map->n; i++) {
		const char *key = map->keys[i]->text;
		const char *path = *prefix ? arena_printf(a, "%s.%s", prefix, key) : key;

		if (*prefix && strcmp(key, "name") == 0 && command_option_at(c, prefix))
			continue;
		const struct node *gpus = strcmp(path, "system") == 0 ? tree_get(map->items[i], "gpus") : NULL;
		if (gpus) {
			inputs_unknown(d, c, "system.gpus", gpus->at, "");
			continue;
		}
		switch (inputs_place(c, path, map->items[i])) {
		case INPUT_ABOVE:
			inputs_known(a, d, c, map->items[i], path);
			break;
		case INPUT_UNKNOWN:
			inputs_unknown(d, c, path, map->items[i]->at, "");
			break;
		case INPUT_ABOUT:
		case INPUT_HERE:
			break;
		}
	}
}

/* --- job files: inputs of a command, named as its options ------------------------------------------------ */

const struct node *
inputs_known_part(struct program *p, const struct node *job, const char *prefix, struct words *left)
{
	const struct node *kept = tree_map(p->arena, job->at);

	for (size_t i = 0; i < job->n; i++) {
		const char *key = job->keys[i]->text;
		const char *path = *prefix ? arena_printf(p->arena, "%s.%s", prefix, key) : key;
		const bool name = *prefix && strcmp(key, "name") == 0 && command_option_at(p->command, prefix);
		const enum input_place place = name ? INPUT_HERE : inputs_place(p->command, path, job->items[i]);
		if (place == INPUT_UNKNOWN) {
			left->list = arena_grow(p->arena, left->list, left->n, left->n + 1, sizeof *left->list);
			left->list[left->n++] = (struct word){path, job->keys[i]->at};
			continue;
		}
		const struct node *item = job->items[i],
		                  *gpus = strcmp(path, "system") == 0 ? tree_get(item, "gpus") : NULL;
		if (gpus) {
			left->list = arena_grow(p->arena, left->list, left->n, left->n + 1, sizeof *left->list);
			left->list[left->n++] = (struct word){"system.gpus", gpus->at};
			item = without_gpus(p->arena, item);
		}
		if (place != INPUT_ABOUT)
			kept = tree_with(
			    p->arena, kept, key, place == INPUT_ABOVE ? inputs_known_part(p, item, path, left) : item);
	}
	return kept;
}

static const struct node *
foreign_part(struct program *p, const struct node *root, const char *command)
{
	struct foreign_job *foreign = ARENA_NEW(p->arena, struct foreign_job);

	*foreign = (struct foreign_job){.job = root, .command = command};
	p->question.foreign = foreign;
	return inputs_known_part(p, inputs_spread(p->arena, p->diag, p->command, root), "", &foreign->left);
}

/* Of `BASE CURRENT|JOB` a job stands in for two operands: two of them are no job. */
static bool
stands_for_several(const char *usage, size_t n_operands)
{
	const char *job = strstr(usage, "|JOB"), *start = job;
	size_t n = 1;

	while (start && start > usage && start[-1] != '|' && start[-1] != '[')
		n += *--start == ' ';
	return job && n > 1 && n_operands >= n;
}

/* The first operand may be a job: a file that says `command:`, or the name of one in the database. */
bool
program_job(struct program *p, const struct node **job)
{
	struct words *operands = &p->args.operands;

	*job = NULL;
	if (operands->n == 0 || !strstr(p->command->usage, "JOB") || stands_for_several(p->command->usage, operands->n))
		return true;
	const char *name = operands->list[0].text, *id;
	const bool file =
	    (strchr(name, '/') && access(name, F_OK) == 0) || text_ends(name, ".yaml") || strcmp(name, "-") == 0;
	if (!file && !database_path(p->question.database, ENTRY_JOB, name))
		return true;
	const struct node *root = database_try(p->question.database, ENTRY_JOB, name, &id);
	if (!root)
		return false;
	const struct node *command = tree_get(root, "command");
	if (!command)
		return true;
	const bool ours = command->kind == NODE_SCALAR && command->text && strcmp(command->text, p->command->name) == 0;
	*job = ours ? root : foreign_part(p, root, command->text ? command->text : "?");
	operands->list++;
	operands->n--;
	return true;
}
