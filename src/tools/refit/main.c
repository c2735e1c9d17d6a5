/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * refit ROWS serve [--rows]
 * refit ROWS [train|memory|comm] [--leave-out source|model|gpu|group] [--traits] [--rows] [--write HWDB]
 *
 * ROWS is a folder with train.csv, memory.csv, comm.csv (and comm-amd.csv).  Prints src/ask/validate/cross.def: a line
 * for each way to leave rows out, then the constants; --traits adds what each deviation from a class default is worth,
 * --rows what each row was missed by, and --write lays the refitted values into the files of HWDB.  `serve` reads
 * serve.csv and serve2.csv and prints src/ask/serve/support.def.
 */
#include "parts.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CELL_ROWS = 3 }; /* of a stack: fewer have no typical error */

struct asked {
	const char *rows, *write;
	int domain, leave; /* -1: all */
	bool traits, each, serve;
};

static void
print_score(const struct refit *r, const char *how, enum leave by, const double *log_predicted)
{
	const struct refit_score s = refit_score_of(r, log_predicted, by);

	printf("CROSS(\"%s\", \"%s\", %d, %d, %.2f, %.2f, %.0f, %.0f, %.1f, %.1f)\n", domain_name(r->domain), how, s.n,
	    s.n_groups, s.mean, s.median, s.inside_rows, s.inside_groups, s.half_width, s.score);
}

static void
print_spread(const struct refit *r, const char *how, const double *log_predicted)
{
	const struct refit_spread s = refit_spread_of(r, log_predicted);

	printf("/* %s, %s: within %.3f, groups %.3f (%d), stacks %.3f (%d) */\n", domain_name(r->domain), how, s.within,
	    s.group, s.n_groups, s.stack, s.n_stacks);
}

/* A line for each row: file, line, what it was missed by in %, whether its interval holds, set that was left out. */
static void
print_rows(const struct refit *r, enum leave by, const double *log_predicted)
{
	for (int i = 0; i < r->n; i++) {
		const struct refit_row *row = &r->rows[i];
		const double error = log_predicted[i] - row->log_measured;
		double low, high;
		refit_interval(r, log_predicted, by, i, &low, &high);
		const bool holds = low <= row->log_measured && row->log_measured <= high;
		printf("/* %s:%d: %+.1f %s of %.0f, %s: %s */\n", row->file, row->line, 100 * (exp(error) - 1),
		    holds ? "inside" : "outside", 100 * (exp((high - low) / 2) - 1), row->label[by],
		    row->of->name ? row->of->name : row->stack);
	}
}

/* A line for each stack, or for the measurements that a collective rests on: what its rows were missed by, and how many
 * models (GPUs) they are of. */
static void
print_cells(const struct refit *r, const double *log_predicted)
{
	const enum leave of = r->domain == DOMAIN_COMM ? LEAVE_GPU : LEAVE_MODEL;
	const int n_models = r->n_units[of];
	double *e = ARENA_ARRAY(r->arena, double, r->n);
	bool *known = ARENA_ARRAY(r->arena, bool, n_models), *done = ARENA_ARRAY(r->arena, bool, r->n);

	for (int first = 0; first < r->n; first++) {
		int n = 0, models = 0;
		memset(known, 0, sizeof(bool) * (size_t)n_models);
		for (int i = first; i < r->n && !done[first]; i++) {
			const struct refit_row *row = &r->rows[i];
			if (isnan(log_predicted[i]) || strcmp(row->stack, r->rows[first].stack) != 0 ||
			    strcmp(row->stack, "-") == 0)
				continue;
			done[i] = i > first;
			e[n++] = fabs(exp(log_predicted[i] - row->log_measured) - 1);
			models += !known[row->unit[of]];
			known[row->unit[of]] = true;
		}
		if (n < CELL_ROWS)
			continue;
		num_sort(e, (size_t)n);
		printf("CELL(\"%s\", \"%s\", %.3f, %d, %d)\n", domain_name(r->domain), r->rows[first].stack,
		    num_quantile(e, (size_t)n, 0.5), n, models);
	}
}

/* --- traits ---------------------------------------------------------------------------------------------- */

/* `t->param` -1: the switch at its default; else the constant as what it inherits from, and no closer fit. */
static void
judge_trait(struct refit *r, struct refit_trait *t, double left_out, double in_sample)
{
	struct arena *room = arena_new();
	double *tau = ARENA_ARRAY(room, double, r->n_params), *x = ARENA_ARRAY(room, double, r->n_params);
	double *log_at = ARENA_ARRAY(room, double, r->n);
	const int p = t->param;

	for (int i = 0; i < r->n_params; i++)
		tau[i] = r->params[i].tau;
	memcpy(x, r->at, sizeof(double) * (size_t)r->n_params);
	if (p >= 0) {
		const int up = r->params[p].up;
		x[p] = up >= 0 ? x[up] : r->params[p].otherwise;
		tau[p] = 1e-4;
	} else
		refit_trait_off(r, t);
	refit_set(r, x);
	refit_predict(r, log_at);
	if (p < 0)
		refit_trait_on(r, t);
	refit_set(r, r->at);
	const double was = p >= 0 ? r->at[p] : 0;
	if (p >= 0)
		r->at[p] = x[p];
	t->in_sample = refit_group_error(r, log_at) - in_sample;
	t->effect = refit_left_out_error(r, log_at, tau, LEAVE_GROUP) - left_out;
	if (p >= 0)
		r->at[p] = was;
	arena_free(room);
}

/* Three digits of a number, its unit; a word as it is. */
static const char *
short_text(struct arena *a, const char *text)
{
	char *end;
	const double value = strtod(text, &end);

	return end == text ? text : arena_printf(a, "%.3g%s", value, end);
}

static void
print_traits(struct refit *r)
{
	double *tau = ARENA_ARRAY(r->arena, double, r->n_params);
	int n;
	struct refit_trait *t = refit_find_traits(r, &n);

	for (int i = 0; i < r->n_params; i++)
		tau[i] = r->params[i].tau;
	const double left_out = refit_left_out_error(r, r->log_at, tau, LEAVE_GROUP);
	const double in_sample = refit_group_error(r, r->log_at);
	for (int i = 0; i < n; i++) {
		judge_trait(r, &t[i], left_out, in_sample);
		/* a switch that no row feels is a fact of the framework */
		if (t[i].param < 0 && fabs(t[i].in_sample) < 0.005)
			continue;
		if (t[i].param >= 0 && r->params[t[i].param].up >= 0)
			t[i].otherwise = arena_printf(
			    r->arena, "%.3g%s", exp(r->at[r->params[t[i].param].up]), r->params[t[i].param].unit);
		printf("TRAIT(\"%s\", \"%s\", \"%s\", \"%s\", %.2f, %s)\n", t[i].entry, t[i].key,
		    short_text(r->arena, t[i].value), short_text(r->arena, t[i].otherwise), t[i].effect,
		    t[i].fitted ? "true" : "false");
	}
}

/* --- constants ------------------------------------------------------------------------------------------- */

/* Rows that depend on it, and their groups. */
static void
count_rows(const struct refit *r, int param, int *n, int *n_groups)
{
	bool *seen = ARENA_ARRAY(r->arena, bool, r->n_units[LEAVE_GROUP]);

	*n = *n_groups = 0;
	for (int i = 0; i < r->n; i++) {
		const int group = r->rows[i].unit[LEAVE_GROUP];
		if (r->jacobian[i * r->n_params + param] == 0)
			continue;
		++*n;
		*n_groups += !seen[group];
		seen[group] = true;
	}
}

/* What it would be without its rows: what it inherits, or the mean of the others of its name; NaN: nothing is. */
static double
without(const struct refit *r, int param)
{
	const struct refit_param *p = &r->params[param];
	double sum = 0;
	int n = 0;

	if (p->up >= 0)
		return r->at[p->up];
	if (fabs(p->otherwise - p->start) > 1e-6)
		return p->otherwise;
	for (int i = 0; i < r->n_params; i++)
		if (i != param && !r->params[i].hyper && strcmp(r->params[i].path, p->path) == 0) {
			sum += r->at[i];
			n++;
		}
	return n ? sum / n : NAN;
}

/* Each fitted constant: what stands in the file, what the fit gives, its rows and groups, and by how much the error of
 * groups left out grows without it. */
static void
print_constants(struct refit *r, const double *x)
{
	double *tau = ARENA_ARRAY(r->arena, double, r->n_params);

	for (int i = 0; i < r->n_params; i++)
		tau[i] = r->params[i].tau;
	const double left_out = refit_left_out_error(r, r->log_at, tau, LEAVE_GROUP);
	const double in_sample = refit_group_error(r, r->log_at);
	for (int i = 0; i < r->n_params; i++) {
		struct refit_param *p = &r->params[i];
		struct refit_trait t = {.param = i};
		const double other = without(r, i), otherwise = p->otherwise;
		int n, n_groups;
		/* bytes of a logit: each is another way to work out the loss, and none is the other's default */
		if (!p->moves || p->hyper || isnan(other) || text_begins(p->path, "logits."))
			continue;
		count_rows(r, i, &n, &n_groups);
		p->otherwise = other;
		judge_trait(r, &t, left_out, in_sample);
		p->otherwise = otherwise;
		printf("CONSTANT(\"%s\", \"%s\", \"%.3g%s\", \"%.3g%s\", \"%.3g%s\", %d, %d, %.2f)\n", p->entry,
		    p->path, exp(p->start), p->unit, exp(x[i]), p->unit, exp(other), p->unit, n, n_groups,
		    round(100 * t.effect) / 100 + 0.0);
	}
}

/* --- one kind of rows ------------------------------------------------------------------------------------ */

static bool
exists(const char *path)
{
	return access(path, R_OK) == 0;
}

static const char *const *
files_of(struct arena *a, enum domain d, const char *rows, size_t *n)
{
	const char **files = ARENA_ARRAY(a, const char *, 3);
	const char *own = arena_printf(a, "%s/%s.csv", rows, domain_name(d));
	const char *train = arena_printf(a, "%s/train.csv", rows), *amd = arena_printf(a, "%s/comm-amd.csv", rows);

	*n = 0;
	if (exists(own))
		files[(*n)++] = own;
	if (d == DOMAIN_MEMORY && exists(train))
		files[(*n)++] = train;
	if (d == DOMAIN_COMM && exists(amd))
		files[(*n)++] = amd;
	return files;
}

static bool
refit_domain(const struct asked *asked, enum domain d)
{
	struct arena *a = arena_new();
	struct refit r = {.arena = a, .diag = diag_new(a), .domain = d};

	r.db = database_new(a, r.diag, NULL);
	r.files = files_of(a, d, asked->rows, &r.n_files);
	if (!r.n_files || !refit_read_rows(&r)) {
		fprintf(stderr, "refit: no rows of '%s' in %s\n", domain_name(d), asked->rows);
		arena_free(a);
		return false;
	}
	double *log_predicted = ARENA_ARRAY(a, double, 2 * r.n);
	for (int i = 0; i < r.n; i++)
		log_predicted[i] = r.rows[i].log_predicted;
	print_score(&r, "in sample", N_LEAVES, log_predicted);
	print_spread(&r, "in sample", log_predicted);

	refit_find_params(&r);
	double *x = ARENA_ARRAY(a, double, r.n_params);
	refit_fit(&r, x);
	print_score(&r, "refitted", N_LEAVES, r.log_at);
	for (int l = 0; l < N_LEAVES; l++) {
		if (asked->leave >= 0 && asked->leave != l)
			continue;
		refit_leave_out(&r, (enum leave)l, log_predicted);
		const char *how = arena_printf(a, "%s left out", leave_name((enum leave)l));
		print_score(&r, how, (enum leave)l, log_predicted);
		print_spread(&r, how, log_predicted);
		if (asked->each)
			print_rows(&r, (enum leave)l, log_predicted);
		if (l == (d == DOMAIN_COMM ? LEAVE_GROUP : LEAVE_MODEL))
			print_cells(&r, log_predicted);
	}
	print_constants(&r, x);
	if (asked->traits && d == DOMAIN_TRAIN)
		print_traits(&r);
	bool ok = true;
	if (asked->write)
		ok = refit_write(&r, x, asked->write);
	if (d != DOMAIN_COMM) {
		for (int i = 0; i < r.n_params; i++)
			x[i] = r.params[i].start;
		refit_set(&r, x);
		refit_no_match(&r);
		/* read anew: the intervals are those of frameworks that nobody listed */
		r.n = 0;
		memset(r.n_units, 0, sizeof r.n_units);
		if (!refit_read_rows(&r))
			return false;
		for (int i = 0; i < r.n; i++)
			log_predicted[i] = r.rows[i].log_predicted;
		print_score(&r, "no match", N_LEAVES, log_predicted);
		print_spread(&r, "no match", log_predicted);
		print_cells(&r, log_predicted);
	}
	arena_free(a);
	return ok;
}

static bool
read_arguments(int argc, char **argv, struct asked *out)
{
	*out = (struct asked){.domain = -1, .leave = -1};
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		bool known = false;
		if (strcmp(argv[i], "--traits") == 0)
			known = out->traits = true;
		else if (strcmp(argv[i], "--rows") == 0)
			known = out->each = true;
		else if (out->rows && strcmp(argv[i], "serve") == 0)
			known = out->serve = true;
		else if (strcmp(argv[i], "--write") == 0 && *value) {
			out->write = argv[++i];
			known = true;
		} else if (strcmp(argv[i], "--leave-out") == 0) {
			for (int l = 0; l < N_LEAVES; l++)
				if (strcmp(value, leave_name((enum leave)l)) == 0) {
					out->leave = l;
					known = true;
				}
			i++;
		} else if (argv[i][0] != '-') {
			for (int d = 0; out->rows && d < N_DOMAINS; d++)
				if (strcmp(argv[i], domain_name((enum domain)d)) == 0) {
					out->domain = d;
					known = true;
				}
			if (!out->rows) {
				out->rows = argv[i];
				known = true;
			}
		}
		if (!known)
			return false;
	}
	return out->rows != NULL;
}

int
main(int argc, char **argv)
{
	struct asked asked;

	if (!read_arguments(argc, argv, &asked)) {
		fputs("usage: refit ROWS serve [--rows]\n       refit ROWS [train|memory|comm] "
		      "[--leave-out source|model|gpu|group] [--traits] [--rows] [--write HWDB]\n",
		    stderr);
		return 2;
	}
	if (asked.serve)
		return refit_serve(asked.rows, asked.each) ? 0 : 3;
	bool ok = true;
	puts("/* SPDX-License-Identifier: GPL-3.0-or-later */\n/* Written by `make refit`; see HACKING.md, Refit. */");
	for (int d = 0; d < N_DOMAINS; d++)
		if (asked.domain < 0 || asked.domain == d)
			ok = refit_domain(&asked, (enum domain)d) && ok;
	return ok ? 0 : 3;
}
