/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge validate`: recognize the kind of each file, predict its rows, score the errors. */
#include "ask/validate/validate.h"

#include "base/base.h"
#include "base/sheet.h"
#include "cli/cli.h"
#include "db/db.h"
#include "db/tree.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* In this order: what knows its columns best comes first. */
static const struct validate_kind *const kinds[] = {
    &validate_comm,
    &validate_memory,
    &validate_train,
    &validate_recipes,
    &validate_scaling,
    &validate_serve,
    &validate_specdec,
    &validate_measurements,
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, MAX_BYTES = 256 << 20 };

/* --- cases ----------------------------------------------------------------------------------------------- */

struct score_case *
validation_add(struct validation *v, int line, const char *unit)
{
	if (v->n == v->room) {
		const size_t more = v->room ? 2 * v->room : 1024;
		v->cases = arena_grow(v->run->arena, v->cases, v->n, more, sizeof *v->cases);
		v->room = more;
	}
	struct score_case *c = &v->cases[v->n++];
	*c = (struct score_case){.file = v->file,
	    .line = line,
	    .unit = unit,
	    .label = {[SCORE_BY_ALL] = "all"},
	    .predicted = NAN,
	    .measured = NAN,
	    .low = NAN,
	    .high = NAN,
	    .safe = NAN};
	for (int k = 0; k < SCORE_BASELINES; k++)
		c->baseline[k] = NAN;
	return c;
}

struct score_case *
validation_skip(struct validation *v, int line, const char *why)
{
	struct score_case *c = validation_add(v, line, NULL);

	c->skipped = why;
	return c;
}

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void
validation_progress(const struct validation *v, size_t done, size_t all)
{
	enum { EVERY = 512 };

	if (!v->progress || (done % EVERY != 0 && done != all) || now_s() - v->began_s < 1)
		return;
	fprintf(stderr, "\r%3.0f %% of %zu rows\033[K%s", 100.0 * (double)done / (double)all, all,
	    done == all ? "\r\033[K" : "");
}

struct run
run_quiet(const struct run *r)
{
	struct run quiet = *r;

	quiet.diag = diag_new(r->arena);
	quiet.database = database_reporting_to(r->database, quiet.diag);
	quiet.sheet = NULL;
	quiet.warnings = (struct words){0};
	quiet.assumed = (struct assumptions){0};
	return quiet;
}

const char *
run_refusal(const struct run *quiet)
{
	struct source at;
	const char *hint;
	enum severity severity;
	const char *said = diag_message(quiet->diag, 0, &at, &hint, &severity);

	return said ? arena_text(quiet->arena, said) : "inputs rejected";
}

/* --- rows of tables -------------------------------------------------------------------------------------- */

bool
validate_has(const struct validate_file *f, const char *column)
{
	for (size_t i = 0; i < f->n_heads; i++)
		if (strcmp(f->heads[i], column) == 0)
			return true;
	return false;
}

const char *
row_text(const struct validate_row *row, const char *column)
{
	const size_t c = table_column(row->table, column);

	return c < row->table->n_columns ? table_cell(row->table, row->line, c)->text : NULL;
}

double
row_number(const struct validate_row *row, const char *column)
{
	const char *text = row_text(row, column);
	char *end;

	if (!text)
		return NAN;
	const double value = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(value) ? value : NAN;
}

struct datum
row_datum(const struct validate_row *row, const char *column)
{
	return (struct datum){row_number(row, column), {NULL, 0, 0, NULL, false}};
}

bool
row_has(const struct validate_row *row, const char *column, const char *piece)
{
	const char *text = row_text(row, column);

	return text && strstr(text, piece);
}

bool
row_is(const struct validate_row *row, const char *column, const char *text)
{
	const char *said = row_text(row, column);

	return said && strcmp(said, text) == 0;
}

const void *
row_find(const struct validate_row *row, const char *column, const void *table, size_t n, size_t size)
{
	const char *text = row_text(row, column);

	for (size_t i = 0; text && i < n; i++) {
		const void *entry = (const char *)table + i * size;
		if (strstr(text, *(const char *const *)entry))
			return entry;
	}
	return NULL;
}

void
row_labels(struct score_case *c, const struct validate_row *row, const struct row_label *labels, size_t n)
{
	const char *gpu = row_text(row, "gpu_id"), *model = row_text(row, "model");

	c->group[0] = row_text(row, "source");
	c->group[1] = model ? model : row_text(row, "collective");
	c->group[2] = gpu ? gpu : row_text(row, "gpu");
	for (size_t i = 0; i < n; i++)
		if (!c->label[labels[i].by])
			c->label[labels[i].by] = row_text(row, labels[i].column);
}

int
row_line(const struct validate_row *row)
{
	return table_cell(row->table, row->line, 0)->at.line;
}

bool
validation_rows(struct validation *v, const struct validate_file *f,
    void (*each)(struct validation *v, const struct validate_row *row, void *context), void *context)
{
	struct table t;

	if (!table_read_text(v->run->arena, v->run->diag, f->name, f->text, f->length, &t))
		return false;
	for (size_t i = 0; i < t.n_lines; i++) {
		const struct validate_row row = {f, &t, i};
		each(v, &row, context);
		validation_progress(v, i + 1, t.n_lines);
	}
	return true;
}

/* --- files ----------------------------------------------------------------------------------------------- */

static bool
read_whole(struct run *r, struct word name, struct validate_file *out)
{
	struct file_text file;
	const bool whole = file_whole(r->arena, name.text, MAX_BYTES, &file);

	*out = (struct validate_file){.name = file.name, .text = file.text, .length = file.length};
	if (whole)
		return true;
	diag_error(r->diag, name.from, "cannot read '%s': %s", name.text,
	    !file.why         ? "larger than 256 MiB"
	        : file.opened ? "input error"
	                      : file.why);
	diag_hint(r->diag, "give measurement files; - is standard input");
	return false;
}

/* The columns of a CSV file: its first line, when that begins with a letter. */
static void
find_heads(struct run *r, struct validate_file *f)
{
	const char *p = f->text;

	if (strncmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	while (*p == '#' || *p == '\n' || *p == '\r')
		p += strcspn(p, "\n") + (p[strcspn(p, "\n")] != '\0');
	char *line = arena_copy(r->arena, p, strcspn(p, "\r\n"));
	if (!strchr(line, ',') || strchr(line, '{'))
		return;
	f->heads = text_split(r->arena, line, ',', &f->n_heads);
}

static bool
read_file(struct validation *v, struct word name)
{
	struct validate_file f;

	if (!read_whole(v->run, name, &f))
		return false;
	if (f.length >= 2 && (unsigned char)f.text[0] == 0x1f && (unsigned char)f.text[1] == 0x8b) {
		diag_error(v->run->diag, name.from, "'%s' is compressed", f.name);
		diag_hint(v->run->diag, "zcat %s | ridge validate -", f.name);
		return false;
	}
	find_heads(v->run, &f);
	v->file = f.name;
	for (int k = 0; k < N_KINDS; k++)
		if (kinds[k]->recognises(&f))
			return kinds[k]->read(v, &f);
	diag_error(v->run->diag, name.from, "no column of '%s' names a kind of measurement", f.name);
	char *known = arena_text(v->run->arena, "");
	for (int k = 0; k < N_KINDS; k++)
		known = arena_printf(v->run->arena, "%s%s%s", known, k ? "; " : "", kinds[k]->title);
	diag_hint(v->run->diag, "the first line must name the columns of %s", known);
	return false;
}

bool
validation_read(struct validation *v, const struct words *files)
{
	bool ok = true;

	v->progress = isatty(STDERR_FILENO);
	v->began_s = now_s();
	for (size_t i = 0; i < files->n; i++)
		ok = read_file(v, files->list[i]) && ok;
	return ok;
}

/* --- one row per case ------------------------------------------------------------------------------------ */

static void
write_number(FILE *to, double value)
{
	char buf[40];

	fputc(',', to);
	if (!isnan(value))
		fputs(number_write(value, buf, sizeof buf), to);
}

static void
write_case(FILE *to, const struct validation *v, const struct score_case *c)
{
	report_csv_field(to, c->file);
	fprintf(to, ",%d,", c->line);
	report_csv_field(to, c->name);
	for (int by = SCORE_BY_ALL + 1; by < N_SCORE_BY; by++) {
		fputc(',', to);
		report_csv_field(to, c->label[by]);
	}
	write_number(to, c->measured);
	write_number(to, c->skipped ? NAN : c->predicted);
	write_number(to, c->low);
	write_number(to, c->high);
	write_number(to, c->skipped ? NAN : score_error(c));
	for (int k = 0; k < SCORE_BASELINES; k++)
		if (v->baseline[k])
			write_number(to, c->baseline[k]);
	fputc(',', to);
	fputs(c->sense == SCORE_VALUE ? "value" : c->sense == SCORE_ABOVE ? "at least" : "at most", to);
	fputc(',', to);
	report_csv_field(to, c->warning);
	fputc(',', to);
	report_csv_field(to, c->skipped);
	fputc('\n', to);
}

bool
validation_write(const struct validation *v, struct word file)
{
	struct run *r = v->run;
	FILE *to = outputs_open(r->outputs, r->diag, file.from, file.text);

	if (!to)
		return false;
	fputs("file,line,case", to);
	for (int by = SCORE_BY_ALL + 1; by < N_SCORE_BY; by++)
		fprintf(to, ",%s", score_by_name((enum score_by)by));
	fputs(",measured,predicted,low,high,error_percent", to);
	for (int k = 0; k < SCORE_BASELINES; k++)
		if (v->baseline[k]) {
			fputc(',', to);
			report_csv_field(to, v->baseline[k]);
		}
	fputs(",sense,warning,skipped\n", to);
	for (size_t i = 0; i < v->n; i++)
		if (v->cases[i].label[SCORE_BY_ALL]) /* a median of rows is no row */
			write_case(to, v, &v->cases[i]);
	return true;
}

/* --- --cross: runs left out of the fit -------------------------------------------------------------------- */

/* How wrong predictions are on runs that were left out of the fit: what `make refit` found, carried by the program. */

struct cross_score {
	const char *rows, *how;
	double n, n_groups, mean, median, inside_rows, inside_groups, half_width, score;
};

struct cross_trait {
	const char *stack, *key, *value, *otherwise;
	double effect;
	bool fitted;
};

/* A fitted number: as it stands, as these rows give it, and what it inherits from. */
struct cross_constant {
	const char *entry, *path, *value, *refitted, *otherwise;
	double n, n_groups, effect;
};

static const struct cross_score scores[] = {
#define CROSS(...) {__VA_ARGS__},
#define TRAIT(...)
#define CELL(...)
#define CONSTANT(...)
#include "ask/validate/cross.def"
#undef TRAIT
#undef CONSTANT
#define SUPPORT(...)
#define UNSEEN(...)
#define MACHINE(...)
#include "ask/serve/support.def"
#undef CROSS
};

static const struct cross_trait traits[] = {
#define CROSS(...)
#define TRAIT(...) {__VA_ARGS__},
#define CONSTANT(...)
#include "ask/validate/cross.def"
#undef TRAIT
#undef CONSTANT
};

static const struct cross_constant constants[] = {
#define TRAIT(...)
#define CONSTANT(...) {__VA_ARGS__},
#include "ask/validate/cross.def"
#undef CROSS
#undef TRAIT
#undef CELL
#undef CONSTANT
};

static void
show_score(struct sheet *sh, const struct cross_score *s)
{
	TELL(sh, scored, s->rows);
	TELL(sh, left_out, s->how);
	TAKE(sh, n, s->n);
	TAKE(sh, n_groups, s->n_groups);
	TAKE(sh, mape_frac, s->mean / 100);
	TAKE(sh, median_ape_frac, s->median / 100);
	TAKE(sh, coverage_frac, s->inside_rows / 100);
	TAKE(sh, group_coverage_frac, s->inside_groups / 100);
	TAKE(sh, half_width_frac, s->half_width / 100);
	TAKE(sh, interval_score, s->score / 100);
	SHOW(sh, n, n);
	SHOW(sh, n_groups, n_groups);
	SHOW(sh, mape_frac, mape_frac);
	SHOW(sh, median_ape_frac, median_ape_frac);
	SHOW(sh, coverage_frac, coverage_frac);
	SHOW(sh, group_coverage_frac, group_coverage_frac);
	SHOW(sh, half_width_frac, half_width_frac);
	SHOW(sh, interval_score, interval_score);
}

static void
show_constant(struct sheet *sh, const struct cross_constant *c)
{
	TELL(sh, stack, c->entry);
	TELL(sh, name, c->path);
	TELL(sh, value, c->value);
	TELL(sh, refitted, c->refitted);
	TELL(sh, class_default, c->otherwise);
	TAKE(sh, n, c->n);
	TAKE(sh, n_groups, c->n_groups);
	TAKE(sh, left_out_effect_frac, c->effect / 100);
	SHOW(sh, n, n);
	SHOW(sh, n_groups, n_groups);
	SHOW(sh, left_out_effect_frac, left_out_effect_frac);
}

void
show_cross(struct run *r)
{
	struct sheet *sh = r->sheet;

	r->title = "runs left out of the fit: errors of the constants that the other runs give";
	for (size_t i = 0; i < sizeof scores / sizeof *scores; i++)
		SCOPE_I (sh, "cross", i)
			show_score(sh, &scores[i]);
	for (size_t i = 0; i < sizeof traits / sizeof *traits; i++)
		SCOPE_I (sh, "traits", i) {
			TELL(sh, stack, traits[i].stack);
			TELL(sh, name, traits[i].key);
			TELL(sh, value, traits[i].value);
			TELL(sh, class_default, traits[i].otherwise);
			TELL(sh, trait_basis, traits[i].fitted ? "fitted" : "documented");
			TAKE(sh, left_out_effect_frac, traits[i].effect / 100);
			SHOW(sh, left_out_effect_frac, left_out_effect_frac);
		}
	for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
		SCOPE_I (sh, "constants", i)
			show_constant(sh, &constants[i]);
}
