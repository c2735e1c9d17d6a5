/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answer one query: fill the inputs, run the command, check its sheet.  Read the launch file of --from into the inputs.
 */
#include "cli/parts.h"

#include "base/base.h"
#include "db/db.h"
#include "db/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a default is called: the option whose it is, else the member that was taken. */
static void
default_name(const struct row *row, char *name, size_t size)
{
	const char *text = row->from.cite ? row->from.cite : row->text;
	size_t n = 0;

	for (const char *p = text; *p && !row->from.cite; p++)
		if (*p == '.' || (p[0] == '>' && p > row->text && p[-1] == '-'))
			text = p + 1;
	for (text += strspn(text, "-"); *text && n + 1 < size; text++)
		name[n++] = *text == '_' ? '-' : *text;
	name[n] = '\0';
}

/* Numbers that came from an option's default and were used: `batch 1`. */
static void
assume_defaults(struct run *r)
{
	char value[80], number[40], name[80];

	for (int i = 0; i < sheet_size(r->sheet); i++) {
		const struct row *row = sheet_row(r->sheet, i);
		if (row->kind != ROW_DATUM || row->from.file != inputs_default || !row->text)
			continue;
		default_name(row, name, sizeof name);
		const struct option *o = command_option_at(r->command, inputs_path(r->command, name));
		const char *typed = o && o->def ? o->def : number_write(row->value, number, sizeof number);
		run_assume_as(r, name, typed, "%s %s", name, value_write(row->name, row->value, value, sizeof value));
	}
}

/* Nothing that is shown may be infinite: what lies beyond the numbers is no answer. */
static void
refuse_infinite(struct run *r)
{
	for (int i = 0; i < sheet_size(r->sheet); i++) {
		const struct row *row = sheet_row(r->sheet, i);
		if (!row->label || row->kind == ROW_WORD || !isinf(row->value))
			continue;
		diag_error(r->diag, (struct source){0}, "'%s' (%s) is not finite", row->label, row->id);
		diag_hint(r->diag, "check the inputs and their units");
		return;
	}
}

struct question
question_apart(const struct question *q, struct arena *a, struct diag *d, struct outputs *o)
{
	struct question apart = *q;

	apart.arena = a;
	apart.diag = d;
	apart.outputs = o;
	return apart;
}

/* What this answer leaves out of a job that was written for another command. */
static void
warn_left_out(struct run *r, const struct foreign_job *foreign)
{
	const char *list = NULL;

	for (size_t i = 0; i < foreign->left.n; i++)
		list = arena_printf(r->arena, "%s%s%s", list ? list : "", list ? ", " : "", foreign->left.list[i].text);
	for (size_t i = 0; r->reads && i < r->reads->n; i++)
		if (r->reads->list[i].elsewhere && !r->reads->list[i].read)
			list = arena_printf(
			    r->arena, "%s%s%s", list ? list : "", list ? ", " : "", r->reads->list[i].path);
	if (list && foreign->file)
		run_warn(r, "%s: ignored here: %s", foreign->file, list);
	else if (list)
		run_warn(r, "job of command '%s': ignored: %s", foreign->command, list);
	if (foreign->unread)
		run_warn(r, "%s, read as options of %s: not understood: %s", foreign->file, foreign->command,
		    foreign->unread);
	if (foreign->unmapped)
		run_warn(r, "%s: not taken over: %s", foreign->file, foreign->unmapped);
}

/* The program reads launch files into the inputs; a line of JSON or a caller of the library has none. */
static bool
from_is_read(const struct question *q, const struct node *inputs)
{
	const struct option *o = command_option_at(q->command, "from");
	const struct node *given = o && strcmp(o->complete, "file") == 0 ? tree_get(inputs, "from") : NULL;

	if (!given || (q->foreign && q->foreign->file) || (launch_takes_layout(o) && access(given->text, F_OK) != 0))
		return true;
	diag_error(q->diag, given->at, "a launch file is read on the command line only");
	diag_hint(q->diag, "write 'ridge %s --from FILE', or give its layout and options", q->command->name);
	return false;
}

struct answered
question_ask(const struct question *q, const struct node *inputs)
{
	struct run r = {.arena = q->arena,
	    .diag = q->diag,
	    .database = database_for(q->database, q->arena, q->diag),
	    .command = q->command,
	    .inputs = inputs,
	    .claims = q->foreign ? &q->foreign->claims : NULL,
	    .files = q->files,
	    .outputs = q->outputs,
	    .draws = q->draws,
	    .swept = q->swept};
	void *in = arena_take(q->arena, q->command->input_size + 1);

	r.sheet = sheet_new();
	outputs_guard(q->outputs, q->command, inputs, &q->files);
	struct answered out = {.status = REFUSED, .sheet = r.sheet};
	if (from_is_read(q, inputs) && inputs_bind(q->arena, q->diag, q->command, inputs, in)) {
		r.reads = reads_new(q->arena, q->command, inputs, q->foreign ? q->foreign->job : NULL, in);
		out.status = q->command->run(&r, in);
		if (out.status != REFUSED)
			refuse_infinite(&r);
		if (diag_errors(q->diag))
			out.status = REFUSED;
		if (r.reads)
			reads_sheet(r.reads, r.sheet);
		if (q->foreign)
			warn_left_out(&r, q->foreign);
		assume_defaults(&r);
	}
	out.reads = r.reads;
	out.title = r.title;
	out.document = r.document;
	out.plot = r.plot;
	out.assumed = r.assumed;
	out.warnings = r.warnings;
	return out;
}

bool
question_accepts(const struct question *q, const struct answered *a)
{
	struct unread unread = {0};

	if (!a->reads)
		return true;
	unread_note(q->arena, &unread, a->reads);
	return unread_report(q->diag, q->command, &unread);
}

struct asked_input *
question_inputs(const struct question *q, const struct node *inputs, size_t *n)
{
	const struct command *c = q->command;
	size_t most = 0;

	for (size_t g = 0; g < c->n_groups; g++)
		most += c->groups[g].n;
	struct asked_input *list = ARENA_ARRAY(q->arena, struct asked_input, most + 1);
	*n = 0;
	for (size_t g = 0; g < c->n_groups; g++)
		for (size_t i = 0; i < c->groups[g].n; i++) {
			const struct option *o = &c->groups[g].options[i];
			const struct node *node = tree_at(inputs, o->path);
			if (node && node->kind == NODE_MAP)
				node = tree_get(node, "name");
			const char *text = node && node->kind == NODE_SCALAR ? node->text : node ? NULL : o->def;
			if (text)
				list[(*n)++] = inputs_asked(c, o->path, text);
		}
	return list;
}

enum { MOST_WORDS = 20 };
static const char and_more[] = "and more";

void
question_merge(struct arena *a, struct words *into, const struct words *from)
{
	if (!into->list)
		into->list = ARENA_ARRAY(a, struct word, MOST_WORDS + 1);
	for (size_t i = 0; i < from->n; i++) {
		bool there = false;
		for (size_t k = 0; k < into->n && !there; k++)
			there = strcmp(into->list[k].text, from->list[i].text) == 0;
		if (there || into->n > MOST_WORDS)
			continue;
		const char *text = into->n < MOST_WORDS ? arena_text(a, from->list[i].text) : and_more;
		into->list[into->n++] = (struct word){text, {0}};
	}
}

static struct assumption
kept_assumption(struct arena *a, const struct assumption *from)
{
	const struct asked_input *in = &from->input;

	if (!in->path)
		return (struct assumption){arena_text(a, from->text), *in};
	return (struct assumption){
	    arena_text(a, from->text), {arena_text(a, in->path), arena_text(a, in->text), in->value}};
}

void
question_merge_assumed(struct arena *a, struct assumptions *into, const struct assumptions *from)
{
	if (!into->list)
		into->list = ARENA_ARRAY(a, struct assumption, MOST_WORDS + 1);
	for (size_t i = 0; i < from->n; i++) {
		bool there = false;
		for (size_t k = 0; k < into->n && !there; k++)
			there = strcmp(into->list[k].text, from->list[i].text) == 0;
		if (there || into->n > MOST_WORDS)
			continue;
		into->list[into->n] = into->n < MOST_WORDS ? kept_assumption(a, &from->list[i])
		                                           : (struct assumption){and_more, {NULL, NULL, NAN}};
		into->n++;
	}
}

/* --- the launch file of --from ---------------------------------------------------------------------------- */

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

/* What the command line says; what cannot be read is said where it is bound. */
static struct launch_known
known_of(const struct program *p)
{
	struct launch_known out = {NAN, NAN, false};
	struct database *quiet = database_reporting_to(p->question.database, diag_new(p->arena));
	const char *name = p->args.operands.n > 0 ? p->args.operands.list[p->args.operands.n - 1].text : NULL, *said;

	for (size_t i = 0; i < p->args.options.n; i++) {
		const struct setting *o = &p->args.options.list[i];
		if (strcmp(o->path, "model") == 0)
			name = o->text;
		if (strcmp(o->path, "gpus") != 0)
			continue;
		char *end;
		const double n = strtod(o->text, &end);
		if (end > o->text && !*end)
			out.n_gpus = n;
	}
	const struct workload *w = name ? database_model(quiet, name, NULL, (struct source){0}, &said) : NULL;
	if (w)
		out = (struct launch_known){datum_or(w->n_layers, NAN), out.n_gpus, !workload_has_experts(w)};
	return out;
}

bool
program_launch(struct program *p, const struct node **job)
{
	struct setting *from = from_of(p);
	struct foreign_job *foreign;
	struct launch_file file;

	if (!from)
		return true;
	if (!launcher_read(p->question.database, p->arena, p->diag, from->text, from->at, known_of(p), &file) ||
	    !is_of_use(p, from, &file))
		return false;
	if (file.by->use == LAUNCH_SERVE && command_option_at(p->command, "use"))
		file.inputs = tree_with(p->arena, file.inputs, "use", tree_scalar(p->arena, "infer", from->at));
	foreign = ARENA_NEW(p->arena, struct foreign_job);
	*foreign = (struct foreign_job){.command = file.by->name,
	    .file = from->text,
	    .unread = file.unread,
	    .unmapped = file.unmapped,
	    .claims = file.claims};
	if (launch_takes_layout(command_option_at(p->command, "from")))
		from->text = today_text(p, &file, &file.inputs);
	foreign->job = file.inputs;
	const struct node *known = inputs_known_part(p, file.inputs, "", &foreign->left);
	*job = *job ? tree_overlay(p->arena, *job, known) : known;
	p->question.foreign = foreign;
	return true;
}
