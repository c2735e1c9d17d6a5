/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Published rows, read and predicted by the functions behind `ridge validate`. */
#include "parts.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *unit, *model;
} domains[N_DOMAINS + 1] = {
    {"train", "x_s", "model"}, {"memory", "x_byte", "model"}, {"comm", "x_s", "collective"}, {"serve", NULL, "model"}};

static const char *const leaves[N_UNITS] = {"source", "model", "gpu", "group", "combination", "engine"};

const char *
domain_name(enum domain d)
{
	return domains[d].name;
}

const char *
leave_name(enum leave l)
{
	return leaves[l];
}

/* Whether rows of this engine on this architecture can feel the constant. */
static bool
feels(void *context, const char *engine, const char *architecture)
{
	static const char here[] = "architectures.";
	struct refit *r = context;
	const char *path = r->only->path, *dot = strrchr(path, '.');
	const size_t n = strlen(here);

	if (!refit_inherits(r, engine, r->only->entry))
		return false;
	if (strncmp(path, here, n) != 0)
		return true;
	return strlen(architecture) == (size_t)(dot - path) - n &&
	    strncmp(path + n, architecture, strlen(architecture)) == 0;
}

/* Whether the row is one of those that are marked. */
static bool
belongs(void *context, const char *file, int line)
{
	const struct refit *r = context;

	for (int i = 0; i < r->n; i++)
		if (r->rows[i].line == line && r->only_rows[i] && strcmp(r->rows[i].file, file) == 0)
			return true;
	return false;
}

/* All cases of the files; the arena is the caller's to free. */
static struct validation
validate(struct refit *r, struct arena *a)
{
	struct run *run = ARENA_NEW(a, struct run);
	struct validation v = {.run = run,
	    .unlisted = r->unlisted,
	    .draft = r->draft,
	    .wants = r->only ? feels : NULL,
	    .wants_row = r->only_rows ? belongs : NULL,
	    .wants_context = r};
	struct words files = {.n = r->n_files, .list = ARENA_ARRAY(a, struct word, r->n_files)};

	*run = (struct run){.arena = a, .diag = diag_new(a), .command = command_find("validate"), .sheet = NULL};
	run->inputs = tree_map(a, (struct source){0});
	run->database = database_for(r->db, a, run->diag);
	for (size_t i = 0; i < r->n_files; i++)
		((struct word *)files.list)[i] = (struct word){r->files[i], {0}};
	if (!validation_read(&v, &files)) {
		diag_print(run->diag, stderr, false);
		exit(3);
	}
	return v;
}

/* The cells that the groups go by, of all files. */
struct shelf {
	const char *file;
	struct table table;
};

static const char *
cell(const struct table *t, size_t line, const char *column)
{
	const size_t c = table_column(t, column);
	const char *text = c < t->n_columns ? table_cell(t, line, c)->text : NULL;

	return text && *text ? text : NULL;
}

static void
label(struct refit *r, const struct shelf *shelves, struct refit_row *row)
{
	const struct table *t = NULL;
	size_t line = 0;

	for (size_t i = 0; i < r->n_files; i++)
		if (strcmp(shelves[i].file, row->file) == 0)
			t = &shelves[i].table;
	while (t && line < t->n_lines && table_cell(t, line, 0)->at.line != row->line)
		line++;
	if (!t || line == t->n_lines)
		return;
	const char *gpu = cell(t, line, "gpu_id"), *source = cell(t, line, "source");
	const char *model = cell(t, line, domains[r->domain].model);
	row->label[LEAVE_SOURCE] = source ? source : "-";
	row->label[LEAVE_MODEL] = model ? model : "-";
	row->label[LEAVE_GPU] = gpu ? gpu : cell(t, line, "gpu") ? cell(t, line, "gpu") : "-";
	row->label[LEAVE_GROUP] = arena_printf(
	    r->arena, "%s x %s x %s", row->label[LEAVE_SOURCE], row->label[LEAVE_MODEL], row->label[LEAVE_GPU]);
}

static void
label_cell(struct refit *r, struct refit_row *row)
{
	const char *const *cell = row->of->cell;

	row->label[LEAVE_CELL] = arena_printf(r->arena, "%s, %s, %s, %s", cell[0], cell[1], cell[2], cell[3]);
	row->label[LEAVE_ENGINE] = cell[0];
}

static void
number_units(struct refit *r, enum leave l)
{
	for (int i = 0; i < r->n; i++) {
		int k = 0;
		while (k < i && strcmp(r->rows[k].label[l], r->rows[i].label[l]) != 0)
			k++;
		r->rows[i].unit[l] = k < i ? r->rows[k].unit[l] : r->n_units[l]++;
	}
}

/* Throughput is the rate of requests where that was asked. */
static bool
is_given(const struct score_case *c)
{
	const char *regime = c->label[SCORE_BY_REGIME];

	return regime && strcmp(regime, "throughput") == 0 && c->detail && strstr(c->detail, " --rate ");
}

/* Lists of operators go by no constant of a stack, and what generates is no training framework. */
static bool
counts(const struct refit *r, const struct score_case *c)
{
	const char *kind = c->label[SCORE_BY_KIND], *task = c->label[SCORE_BY_TASK];

	if (r->unlisted && task && text_begins(task, "inference")) /* a serving engine, not a training framework */
		return false;
	if (r->domain == DOMAIN_SERVE && (!c->cell[0] || is_given(c)))
		return false;
	return !c->skipped && !(kind && strcmp(kind, "operators") == 0) && c->unit &&
	    (!domains[r->domain].unit || strcmp(c->unit, domains[r->domain].unit) == 0) && c->sense == SCORE_VALUE &&
	    c->measured > 0 && c->predicted > 0;
}

/* What a row rests on: a stack, an engine, a calibration. */
static const char *
stack_of(const struct refit *r, const struct score_case *c)
{
	const char *stack = r->domain == DOMAIN_MEMORY ? c->cell[0] : c->label[SCORE_BY_FRAMEWORK];

	return stack ? stack : "-";
}

bool
refit_read_rows(struct refit *r)
{
	struct arena *a = r->arena;
	struct shelf *shelves = ARENA_ARRAY(a, struct shelf, r->n_files);
	const struct validation v = validate(r, a);

	for (size_t i = 0; i < r->n_files; i++) {
		shelves[i].file = r->files[i];
		if (!table_read_file(a, r->diag, r->files[i], NULL, &shelves[i].table))
			return false;
	}
	r->rows = ARENA_ARRAY(a, struct refit_row, v.n + 1);
	for (size_t i = 0; i < v.n; i++) {
		const struct score_case *c = &v.cases[i];
		if (!counts(r, c))
			continue;
		struct refit_row *row = &r->rows[r->n++];
		*row = (struct refit_row){.file = c->file,
		    .line = c->line,
		    .stack = stack_of(r, c),
		    .what = r->domain == DOMAIN_SERVE ? c->label[SCORE_BY_REGIME] : NULL,
		    .of = c,
		    .log_measured = log(c->measured),
		    .log_predicted = log(c->predicted),
		    .log_low = log(c->low),
		    .log_high = log(c->high),
		    .wide = c->wide};
		label(r, shelves, row);
		if (row->what)
			label_cell(r, row);
		if (!row->label[LEAVE_GROUP])
			r->n--;
	}
	for (int l = 0; l < (r->domain == DOMAIN_SERVE ? (int)N_UNITS : (int)N_LEAVES); l++)
		number_units(r, (enum leave)l);
	return r->n > 0;
}

static int
first_of(const struct refit *r, const char *file)
{
	int k = 0;

	while (k < r->n && strcmp(r->rows[k].file, file) != 0)
		k++;
	return k;
}

void
refit_predict(struct refit *r, double *log_predicted)
{
	struct arena *a = arena_new();
	const struct validation v = validate(r, a);
	const char *file = NULL;
	int k = 0;

	for (int i = 0; i < r->n; i++)
		log_predicted[i] = NAN;
	/* both lists are in the order of the files; a row that is skipped now is not a row then */
	for (size_t i = 0; i < v.n; i++) {
		const struct score_case *c = &v.cases[i];
		if (!counts(r, c))
			continue;
		if (!file || strcmp(file, c->file) != 0)
			k = first_of(r, c->file);
		file = c->file;
		while (k < r->n && strcmp(r->rows[k].file, file) == 0 && r->rows[k].line < c->line)
			k++;
		for (int j = k; j < r->n && r->rows[j].line == c->line && strcmp(r->rows[j].file, c->file) == 0; j++)
			if (!r->rows[j].what || strcmp(r->rows[j].what, c->label[SCORE_BY_REGIME]) == 0) {
				log_predicted[j] = log(c->predicted);
				k = j + 1;
				break;
			}
	}
	arena_free(a);
}
