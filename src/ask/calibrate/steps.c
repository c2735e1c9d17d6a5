/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge calibrate --validate-with`: training steps of the machine before and after its kernels were calibrated. */
#include "ask/calibrate/calibrate.h"

#include <string.h>

struct steps {
	struct run *run;
	struct train_reader *reader;
	int n, room;
	double *predicted_s, *measured_s;
};

static const char *
read_step(void *context, const struct validate_row *row)
{
	struct steps *s = context;
	struct train_row t;
	const char *why = train_row_predict(s->reader, row, &t);

	if (why)
		return why;
	if (s->n == s->room) {
		const size_t had = (size_t)s->room, more = 2 * had + 16;
		s->predicted_s = arena_grow(s->run->arena, s->predicted_s, had, more, sizeof *s->predicted_s);
		s->measured_s = arena_grow(s->run->arena, s->measured_s, had, more, sizeof *s->measured_s);
		s->room = (int)more;
	}
	s->predicted_s[s->n] = t.answer.step_s;
	s->measured_s[s->n++] = t.measured_s;
	return NULL;
}

/* The rows with this database, as one line of errors. */
static bool
show_steps(struct run *r, const struct calibrate_in *in, struct database *db, int line, const char *name)
{
	static const char *const columns[] = {"gpu_id", "model", "num_gpus", "gbs", "seq", NULL};
	struct run with = *r;
	struct words files = {1, ARENA_NEW(r->arena, struct word)};
	struct own_rows rows;

	files.list[0] = in->validate_with;
	with.database = db;
	struct steps s = {.run = r, .reader = train_reader_new(&with)};
	const bool read = own_read(r, &files, columns, &rows, read_step, &s);
	train_reader_free(s.reader);
	if (!read || !own_enough(r, in->validate_with, &rows, 1))
		return false;
	if (line == 0)
		own_warn(r, &rows);
	const struct fitted_errors e = fitted_errors_of(r->arena, s.n, s.predicted_s, s.measured_s, NULL);
	own_show_errors(r, line, name, &e);
	return true;
}

bool
calibrate_validate(struct run *r, const struct calibrate_in *in, const struct calibrate_targets *all)
{
	struct database *after = r->database;

	run_reads(r, &in->validate_with, NULL);
	for (int i = 0; i < all->n; i++) {
		const struct calibrate_target *t = &all->list[i];
		const char *text = calibration_text(&t->bench, &t->fitted, &t->about);
		const struct node *root = tree_read_text(r->arena, r->diag, t->id, text, strlen(text));

		if (!root)
			return false;
		after = database_with(after, r->arena, ENTRY_CALIBRATION, t->id, root);
	}
	return show_steps(r, in, r->database, 0, "before") && show_steps(r, in, after, 1, "after");
}
