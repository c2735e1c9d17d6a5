/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge check: check database and workload files, form first, then physics. */
#include "base/base.h"
#include "cli/cli.h"
#include "db/db.h"
#include "model/layer/layer.h"

#include <stdio.h>
#include <string.h>

#define CHECK_OPTIONS(X)                                                                                               \
	X(0, files, NULL, "files", WORDS, "FILE", "file", NULL, "files or entries; default: the whole database")       \
	X(0, strict, "strict", "strict", FLAG, "", "", NULL, "count warnings as faults")

struct check_in {
	CHECK_OPTIONS(OPTION_MEMBER)
};

#define THIS struct check_in
static const struct option check_options[] = {CHECK_OPTIONS(OPTION_ROW)};
#undef THIS
static const struct option_group check_groups[] = {OPTION_GROUP(check_options, 0)};

struct checker {
	struct run *run;
	struct arena *arena;
	struct diag *diag;
	struct database *database;
	int n_files;
};

/* --- one file -------------------------------------------------------------------------------------------- */

static void
check_gpu(struct checker *c, const char *path)
{
	const char *said;
	const struct gpu *gpu = database_gpu(c->database, path, NULL, (struct source){0}, &said);
	const struct link *link = NULL;

	if (!gpu)
		return;
	if (gpu->link_kind)
		link =
		    database_link(c->database, gpu->link_kind, NULL, (struct source){path, 1, 1, NULL, false}, &said);
	lint_gpu(c->diag, gpu, link);
}

static void
check_link(struct checker *c, const char *path)
{
	const char *said;
	const struct link *link = database_link(c->database, path, NULL, (struct source){0}, &said);

	if (link)
		lint_link(c->diag, link);
}

static void
check_system(struct checker *c, const char *path)
{
	const char *said;
	const struct system *system = database_system(c->database, path, NULL, NULL, (struct source){0}, &said);

	if (system)
		lint_system(c->diag, system);
}

static void
check_model(struct checker *c, const char *path)
{
	const char *said;
	const struct workload *model = database_model(c->database, path, NULL, (struct source){0}, &said);

	if (model)
		lint_workload(c->diag, model, model_params(NULL, model));
}

static void
check_calibration(struct checker *c, const char *path)
{
	const struct node *root = tree_read_file(c->arena, c->diag, path);
	struct binder b = {.arena = c->arena, .diag = c->diag, .sources = tree_get(root, "sources")};

	if (root)
		calibration_bind(&b, root, path, ARENA_NEW(c->arena, struct calibration));
}

static void
check_stack(struct checker *c, const char *path)
{
	const struct node *root =
	    stack_extended(c->database, c->arena, c->diag, tree_read_file(c->arena, c->diag, path));
	struct binder b = {.arena = c->arena, .diag = c->diag, .sources = tree_get(root, "sources")};

	if (root)
		stack_bind(&b, root, path, ARENA_NEW(c->arena, struct stack));
}

static void
check_engine(struct checker *c, const char *path)
{
	const char *said;

	database_engine(c->database, c->arena, c->diag, path, NULL, (struct source){0}, &said);
}

static void
check_reliability(struct checker *c, const char *path)
{
	const struct node *root = tree_read_file(c->arena, c->diag, path);
	struct binder b = {.arena = c->arena, .diag = c->diag, .sources = tree_get(root, "sources")};

	if (root)
		reliability_bind(&b, root, path, ARENA_NEW(c->arena, struct reliability));
}

static void
check_transfer(struct checker *c, const char *path)
{
	const struct node *root = tree_read_file(c->arena, c->diag, path);
	struct binder b = {.arena = c->arena, .diag = c->diag, .sources = tree_get(root, "sources")};
	struct transfer *t = ARENA_NEW(c->arena, struct transfer);

	if (!root || !transfer_bind(&b, root, path, t))
		return;
	for (int i = -1; i < t->n_to; i++) {
		const char *gpu = i < 0 ? t->from : t->to[i];

		if (gpu && !database_path(c->database, ENTRY_GPU, gpu)) {
			diag_error(c->diag, root->at, "no GPU '%s' in the database", gpu);
			diag_hint(c->diag, "GPU ids are the file names in hwdb/gpus");
		}
	}
}

static void
check_uncertainty(struct checker *c, const char *path)
{
	const struct node *root = tree_read_file(c->arena, c->diag, path);
	struct binder b = {.arena = c->arena, .diag = c->diag, .sources = tree_get(root, "sources")};

	if (root)
		uncertainty_bind(&b, root, path, ARENA_NEW(c->arena, struct uncertainty));
}

static const char *
no_word(void *context, const char *name)
{
	(void)context;
	(void)name;
	return NULL;
}

static void
no_matter(void *context, const char *name, const char *example)
{
	(void)context;
	(void)name;
	(void)example;
}

static void
check_diagnosis(struct checker *c, const char *path)
{
	const struct node *root = tree_read_file(c->arena, c->diag, path);
	struct binder b = {.arena = c->arena, .diag = c->diag, .sources = tree_get(root, "sources")};
	struct diagnosis *d = ARENA_NEW(c->arena, struct diagnosis);
	const struct diagnosis_words none = {no_word, no_matter, NULL};
	int column;

	if (!root || !diagnosis_bind(&b, root, path, d))
		return;
	const char *line = diagnosis_command(c->arena, d->command, &none, &column);
	const char *name = arena_copy(c->arena, line, strcspn(line, " "));
	if (!command_find(name))
		diag_error(c->diag, tree_get(root, "command")->at, "there is no command '%s'", name);
}

static void
check_launcher(struct checker *c, const char *path)
{
	const struct node *root = tree_read_file(c->arena, c->diag, path);
	struct binder b = {.arena = c->arena, .diag = c->diag};

	if (root)
		launcher_bind(&b, root, path, ARENA_NEW(c->arena, struct launcher));
}

/* A job is the inputs of a command: its option rows are the schema. */
static void
check_job(struct checker *c, const char *path)
{
	const struct node *root = tree_read_file(c->arena, c->diag, path);
	const struct node *name = tree_get(root, "command");

	if (!root)
		return;
	const struct command *command =
	    name && name->kind == NODE_SCALAR && name->text ? command_find(name->text) : NULL;
	if (!command) {
		diag_error(c->diag, name ? name->at : root->at,
		    name && name->text ? "there is no command '%s'" : "start the job with its command%s",
		    name && name->text ? name->text : "");
		return;
	}
	inputs_bind(c->arena, c->diag, command, inputs_spread(c->arena, c->diag, command, root),
	    arena_take(c->arena, command->input_size + 1));
}

static void (*const checks[N_ENTRY_KINDS])(struct checker *c, const char *path) = {
    [ENTRY_GPU] = check_gpu,
    [ENTRY_LINK] = check_link,
    [ENTRY_SYSTEM] = check_system,
    [ENTRY_CALIBRATION] = check_calibration,
    [ENTRY_STACK] = check_stack,
    [ENTRY_ENGINE] = check_engine,
    [ENTRY_MODEL] = check_model,
    [ENTRY_JOB] = check_job,
    [ENTRY_RELIABILITY] = check_reliability,
    [ENTRY_DIAGNOSIS] = check_diagnosis,
    [ENTRY_UNCERTAINTY] = check_uncertainty,
    [ENTRY_TRANSFER] = check_transfer,
    [ENTRY_LAUNCHER] = check_launcher,
};

/* --- which kind ------------------------------------------------------------------------------------------ */

/* Keys that only one kind of file has. */
static const struct {
	const char *key;
	enum entry_kind kind;
} marks[] = {{"peak", ENTRY_GPU}, {"domain", ENTRY_SYSTEM}, {"relative_to", ENTRY_CALIBRATION},
    {"signs", ENTRY_DIAGNOSIS}, {"command", ENTRY_JOB}, {"form", ENTRY_LAUNCHER}, {"layers", ENTRY_MODEL},
    {"operators", ENTRY_MODEL}, {"attention", ENTRY_MODEL}, {"memory", ENTRY_GPU}, {"network", ENTRY_SYSTEM},
    {"logits", ENTRY_STACK}, {"scheduler", ENTRY_ENGINE}, {"per_direction", ENTRY_LINK}, {"read", ENTRY_LINK},
    {"unexpected", ENTRY_RELIABILITY}, {"conformal", ENTRY_UNCERTAINTY}, {"reach_sigma", ENTRY_UNCERTAINTY},
    {"expected", ENTRY_TRANSFER}, {"time", ENTRY_STACK}, {"step", ENTRY_ENGINE}};

static enum entry_kind
kind_of_file(struct checker *c, const char *path)
{
	for (enum entry_kind k = 0; k < N_ENTRY_KINDS; k++) {
		const char *folder = arena_printf(c->arena, "%s/", entry_kind_folder(k));
		const char *at = strstr(path, folder);
		if (at && (at == path || at[-1] == '/') && !strchr(at + strlen(folder), '/'))
			return k;
	}
	struct diag *quiet = diag_new(c->arena);
	const struct node *root = tree_read_file(c->arena, quiet, path);
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (tree_get(root, marks[i].key))
			return marks[i].kind;
	return N_ENTRY_KINDS;
}

static void
check_file(struct checker *c, const char *path, enum entry_kind kind)
{
	c->n_files++;
	if (kind < N_ENTRY_KINDS) {
		checks[kind](c, path);
		return;
	}
	if (tree_read_file(c->arena, c->diag, path)) {
		diag_error(c->diag, (struct source){path, 1, 1, NULL, false}, "unknown kind of file");
		diag_hint(c->diag,
		    "put it in a folder called gpus, links, systems, calibration, stacks, engines, reliability, "
		    "diagnoses, "
		    "uncertainty, transfers, launchers, models or jobs");
	}
}

/* A name is looked up among all kinds of entries. */
static void
check_name(struct checker *c, struct word name)
{
	const char *id;

	if (strchr(name.text, '/') || text_ends(name.text, ".yaml")) {
		check_file(c, name.text, kind_of_file(c, name.text));
		return;
	}
	for (enum entry_kind k = 0; k < N_ENTRY_KINDS; k++)
		if (database_try(c->database, k, name.text, &id)) {
			check_file(c, database_path(c->database, k, id), k);
			return;
		}
	diag_error(c->run->diag, name.from, "there is no entry '%s'", name.text);
	diag_hint(c->run->diag, "write a file name with a / or with .yaml at the end");
}

/* Names that are taken, folded, with the entry that has them. */
struct taken {
	size_t n;
	struct {
		char folded[80];
		const char *id;
	} list[4096];
};

/* Two entries of one kind must not share a folded name. */
static void
take_name(struct checker *c, struct taken *taken, const char *name, struct source at, const char *id)
{
	char folded[80];

	if (taken->n == sizeof taken->list / sizeof *taken->list)
		return;
	text_fold(name, folded, sizeof folded);
	for (size_t i = 0; i < taken->n; i++)
		if (strcmp(taken->list[i].folded, folded) == 0 && strcmp(taken->list[i].id, id) != 0) {
			diag_error(c->diag, at, "the name '%s' already means %s", name, taken->list[i].id);
			diag_hint(c->diag, "choose another name; case and punctuation are ignored");
		}
	memcpy(taken->list[taken->n].folded, folded, sizeof folded);
	taken->list[taken->n++].id = id;
}

static void
check_names(struct checker *c, enum entry_kind k, const char **ids, size_t n)
{
	struct taken *const taken = ARENA_NEW(c->arena, struct taken);

	for (size_t i = 0; i < n; i++) {
		const char *const path = database_path(c->database, k, ids[i]);
		const struct node *aliases = tree_get(tree_read_file(c->arena, c->diag, path), "aliases");

		take_name(c, taken, ids[i], (struct source){path, 1, 1, NULL, false}, ids[i]);
		for (size_t a = 0; aliases && aliases->kind == NODE_LIST && a < aliases->n; a++)
			if (aliases->items[a]->text)
				take_name(c, taken, aliases->items[a]->text, aliases->items[a]->at, ids[i]);
	}
}

static void
check_all(struct checker *c)
{
	for (enum entry_kind k = 0; k < N_ENTRY_KINDS; k++) {
		size_t n;
		const char **ids = database_list(c->database, k, &n);
		for (size_t i = 0; i < n; i++)
			check_file(c, database_path(c->database, k, ids[i]), k);
		if (k != ENTRY_CALIBRATION && k != ENTRY_JOB)
			check_names(c, k, ids, n);
	}
}

/* --- the answer ------------------------------------------------------------------------------------------ */

static void
show_faults(struct checker *c)
{
	struct source at;
	const char *hint, *text;
	enum severity severity;
	struct arena *a = c->arena;

	for (int i = 0; (text = diag_message(c->diag, i, &at, &hint, &severity)); i++) {
		const char *place = at.line ? arena_printf(a, "%s:%d:%d", at.file, at.line, at.column)
		    : at.file               ? at.file
		                            : "-";
		SCOPE_I (c->run->sheet, "faults", i) {
			TELL(c->run->sheet, place, place);
			TELL(c->run->sheet, severity, severity == SEVERITY_ERROR ? "error" : "warning");
			TELL(c->run->sheet, message, text);
			TELL(c->run->sheet, hint, hint ? hint : "-");
		}
	}
}

static enum answer
run(struct run *r, const void *input)
{
	const struct check_in *in = input;
	struct sheet *sh = r->sheet;
	struct checker c = {.run = r, .arena = r->arena, .diag = diag_new(r->arena)};

	run_reads(r, &in->files, &in->strict, NULL);
	c.database = database_reporting_to(r->database, c.diag);
	for (size_t i = 0; i < in->files.n; i++)
		check_name(&c, in->files.list[i]);
	if (in->files.n == 0)
		check_all(&c);
	if (diag_errors(r->diag))
		return REFUSED;
	show_faults(&c);
	TAKE(sh, n_files, c.n_files);
	SHOW(sh, n_files, n_files);
	TAKE(sh, n_errors, diag_errors(c.diag));
	SHOW(sh, n_errors, n_errors);
	TAKE(sh, n_warnings, diag_warnings(c.diag));
	SHOW(sh, n_warnings, n_warnings);
	return n_errors > 0 || (in->strict && n_warnings > 0) ? ANSWERED_NO : ANSWERED;
}

static const struct example examples[] = {
    {"check", "check the whole database", 0},
    {"check h100-sxm5-80gb dgx-h100", "check two entries", 0},
};

const struct command check_command = {
    .name = "check",
    .section = "Database and measurements",
    .summary = "Check a database or workload file: form and physics",
    .operands = "files...",
    .usage = "[FILE|NAME...]",
    COUNTED(groups, check_groups),
    COUNTED(examples, examples),
    .input_size = sizeof(struct check_in),
    .run = run,
};
