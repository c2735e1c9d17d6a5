/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read the launch file of --from into the inputs of a command. */
#include "cli/parts.h"

#include "base/base.h"
#include "db/db.h"
#include "db/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
launch_takes_layout(const struct option *from)
{
	return strstr(from->metavar, "LAYOUT") != NULL;
}

static struct setting *
from_of(const struct program *p)
{
	const struct option *o = command_option_at(p->command, "from");
	struct setting *found = NULL;

	for (size_t i = 0; o && strcmp(o->complete, "file") == 0 && i < p->args.options.n; i++)
		if (strcmp(p->args.options.list[i].path, "from") == 0)
			found = &p->args.options.list[i];
	return found && launch_takes_layout(o) && access(found->text, F_OK) != 0 ? NULL : found;
}

/* Whether the file launches what this command is about. */
static bool
is_of_use(struct program *p, const struct setting *from, const struct launch_file *file)
{
	const bool serves = file->by->use == LAUNCH_SERVE, plans = text_begins(p->command->name, "plan");

	if (command_option_at(p->command, serves ? "kv_dtype" : "global_batch"))
		return true;
	diag_error(
	    p->diag, from->at, "%s launches %s (%s)", from->text, serves ? "a server" : "training", file->by->name);
	diag_hint(p->diag, "write 'ridge %s%s --from %s' with the model and its GPUs", plans ? "plan " : "",
	    serves ? "serve" : "train", from->text);
	return false;
}

/* --- a plan: what runs today in one word ------------------------------------------------------------------ */

const struct launch_word launch_words[N_LAUNCH_WORDS] = {{"engine", "engine.name"}, {"dtype", "dtype"},
    {"kv-dtype", "kv_dtype"}, {"max-sequences", "engine.scheduler.max_sequences"},
    {"max-step-tokens", "engine.scheduler.max_tokens"}, {"utilization", "engine.pool.share"}};

static const char *
with_word(struct arena *a, const char *text, const char *name, const char *value)
{
	const bool flag = strcmp(value, "true") == 0;

	return arena_printf(a, "%s%s%s%s%s", text, *text ? "," : "", name, flag ? "" : "=", flag ? "" : value);
}

static double
number_at(const struct node *inputs, const char *path, double otherwise)
{
	const struct node *n = tree_at(inputs, path);
	char *end = NULL;
	const double value = n && n->text ? strtod(n->text, &end) : NAN;

	return end && *end == '\0' && value > 0 ? value : otherwise;
}

static const char *
said(const struct program *p, const char *path)
{
	for (size_t i = 0; i < p->args.options.n; i++)
		if (strcmp(p->args.options.list[i].path, path) == 0)
			return p->args.options.list[i].text;
	return NULL;
}

/* DeepSpeed's configuration may give the batch of a replica and the steps it accumulates, and leave the global batch to
 * the number of ranks.  NULL: it gives neither, or the number of GPUs is none. */
static const char *
global_batch(struct program *p, const struct launch_file *file)
{
	const double n_sequences = number_at(file->inputs, "batch", NAN),
	             n_steps = number_at(file->inputs, "microbatches", NAN),
	             n_model = number_at(file->inputs, "layout.tp", 1) * number_at(file->inputs, "layout.pp", 1) *
	    number_at(file->inputs, "layout.cp", 1);
	const char *gpus = said(p, "gpus");
	char *end = NULL;
	const double n_gpus = gpus ? strtod(gpus, &end) : NAN;

	if (tree_get(file->inputs, "global_batch") || !end || *end != '\0' || !(n_gpus >= n_model))
		return NULL;
	const double all = n_sequences * n_steps * floor(n_gpus / n_model);
	return isnan(all) ? NULL : arena_printf(p->arena, "%.15g", all);
}

/* `tp=4,pp=4,sp`; of an engine its name and limits too.  What a plan searches leaves the inputs. */
static const char *
today_text(struct program *p, const struct launch_file *file, const struct node **inputs)
{
	const struct node *layout = tree_get(file->inputs, "layout"), *engine = tree_at(file->inputs, "engine.name"),
	                  *no_sp = tree_at(file->inputs, "layout.no_sp"), *rest = tree_map(p->arena, file->inputs->at);
	const char *text = "";

	for (size_t i = 0; layout && i < layout->n; i++)
		if (strcmp(layout->keys[i]->text, "no_sp") != 0)
			text = with_word(p->arena, text, layout->keys[i]->text, layout->items[i]->text);
	for (size_t i = 0; engine && i < N_LAUNCH_WORDS; i++) {
		const struct node *n = tree_at(file->inputs, launch_words[i].path);
		text = n ? with_word(p->arena, text, launch_words[i].name, n->text) : text;
	}
	for (size_t i = 0; i < file->inputs->n; i++)
		if (file->inputs->items[i] != layout && !text_lists("engine microbatches", file->inputs->keys[i]->text))
			rest = tree_with(p->arena, rest, file->inputs->keys[i]->text, file->inputs->items[i]);
	if (engine)
		rest = tree_with(p->arena, rest, "engine", engine);
	const char *batch = global_batch(p, file);
	if (batch)
		rest = tree_with(p->arena, rest, "global_batch", tree_scalar(p->arena, batch, file->inputs->at));
	*inputs = no_sp ? tree_with(p->arena, rest, "layout.no_sp", no_sp) : rest;
	return text;
}

/* --- all of it -------------------------------------------------------------------------------------------- */

bool
program_launch(struct program *p, const struct node **job)
{
	struct setting *from = from_of(p);
	struct foreign_job *foreign;
	struct launch_file file;

	if (!from)
		return true;
	if (!launcher_read(p->question.database, p->arena, p->diag, from->text, from->at, &file) ||
	    !is_of_use(p, from, &file))
		return false;
	if (file.by->use == LAUNCH_SERVE && command_option_at(p->command, "use"))
		file.inputs = tree_with(p->arena, file.inputs, "use", tree_scalar(p->arena, "infer", from->at));
	foreign = ARENA_NEW(p->arena, struct foreign_job);
	*foreign = (struct foreign_job){
	    .command = file.by->name, .file = from->text, .unread = file.unread, .unmapped = file.unmapped};
	if (launch_takes_layout(command_option_at(p->command, "from")))
		from->text = today_text(p, &file, &file.inputs);
	foreign->job = file.inputs;
	const struct node *known = inputs_known_part(p, file.inputs, "", &foreign->left);
	*job = *job ? tree_overlay(p->arena, *job, known) : known;
	p->question.foreign = foreign;
	return true;
}
