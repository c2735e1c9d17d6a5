/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Job files: inputs of a command, named as its options. */
#include "base/base.h"
#include "cli/parts.h"
#include "db/launch.h"

#include <string.h>
#include <unistd.h>

/* Keep what this command knows of a job written for another one, and the names of the rest. */
static const struct node *
known_part(struct program *p, const struct node *job, const char *prefix, struct words *left)
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
			    p->arena, kept, key, place == INPUT_ABOVE ? known_part(p, item, path, left) : item);
	}
	return kept;
}

static const struct node *
foreign_part(struct program *p, const struct node *root, const char *command)
{
	struct foreign_job *foreign = ARENA_NEW(p->arena, struct foreign_job);

	*foreign = (struct foreign_job){.job = root, .command = command};
	p->question.foreign = foreign;
	return known_part(p, inputs_spread(p->arena, p->diag, p->command, root), "", &foreign->left);
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

/* --- launchers ------------------------------------------------------------------------------------------- */

static const struct setting *
from_of(const struct program *p)
{
	const struct option *o = command_option_at(p->command, "from");
	const struct setting *found = NULL;

	for (size_t i = 0; o && strcmp(o->complete, "file") == 0 && i < p->args.options.n; i++)
		if (strcmp(p->args.options.list[i].path, "from") == 0)
			found = &p->args.options.list[i];
	return found;
}

bool
program_launch(struct program *p, const struct node **job)
{
	const struct setting *from = from_of(p);
	struct foreign_job *foreign;
	struct launch_file file;

	if (!from)
		return true;
	if (!launcher_read(p->question.database, p->arena, p->diag, from->text, from->at, &file))
		return false;
	if (file.by->use == LAUNCH_SERVE && command_option_at(p->command, "use"))
		file.inputs = tree_with(p->arena, file.inputs, "use", tree_scalar(p->arena, "infer", from->at));
	foreign = ARENA_NEW(p->arena, struct foreign_job);
	*foreign = (struct foreign_job){.job = file.inputs,
	    .command = file.by->name,
	    .file = from->text,
	    .unread = file.unread,
	    .unmapped = file.unmapped};
	const struct node *known = known_part(p, file.inputs, "", &foreign->left);
	*job = *job ? tree_overlay(p->arena, *job, known) : known;
	p->question.foreign = foreign;
	return true;
}
