/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge calibrate --stack` and `--engine`: whole runs that somebody measured become a file of a framework or engine.
 */
#ifndef RIDGE_CALIBRATE_OWN_H
#define RIDGE_CALIBRATE_OWN_H

#include "ask/calibrate/in.h"
#include "ask/validate/validate.h"
#include "db/database.h"

enum answer calibrate_stack(struct run *r, const struct calibrate_in *in);
enum answer calibrate_engine(struct run *r, const struct calibrate_in *in);

/* --- what both share ------------------------------------------------------------------------------------- */

/* Rows of the files and why some were left out. */
struct own_rows {
	int n_read, n_used, n_left;
	const char *date; /* the last that a row names */
	int n_whys, room;
	struct own_why {
		const char *text, *lines;
		int n;
	} * whys;
};
/* Calls `each` for every row of every file, which returns why it leaves the row out, or NULL.  A file without one of
 * the columns (a NULL-ended list) is an error. */
bool own_read(struct run *r, const struct calibrate_in *in, const char *const *columns, struct own_rows *out,
    const char *(*each)(void *context, const struct validate_row *row), void *context);
void own_warn(struct run *r, const struct own_rows *rows);
/* Fewer than `least` rows: an error that says what was left out. */
bool own_enough(struct run *r, struct word name, const struct own_rows *rows, int least);
/* A name that can be that of a file and of no other entry that it extends; `base` is what it extends. */
bool own_name(struct run *r, struct word name, enum entry_kind kind, const char *base);

/* The head of the file: name, what it extends, where the figures are from (cited as `runs`). */
const struct node *own_file(
    struct run *r, const struct calibrate_in *in, const char *name, const char *base, const struct own_rows *rows);
/* [value, low..high] in the unit that people write. */
const struct node *own_figure(struct arena *a, enum quantity q, double value, double low, double high);
const struct node *own_word(struct arena *a, const char *text);
const struct node *own_list(struct arena *a, const struct node *const *items, size_t n);
/* Printed, written to FOLDER/NAME.yaml or to the user's own directory, as the options say. */
bool own_store(
    struct run *r, const struct calibrate_in *in, enum entry_kind kind, const char *name, const struct node *file);

/* A fitted figure, and the errors before and after, as rows of the answer. */
void own_show_figure(struct run *r, int row, const char *key, const char *unit_name, double value, double low,
    double high, const char *note);
void own_show_errors(struct run *r, int row, const char *name, const struct fitted_errors *e);

#endif
