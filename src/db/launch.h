/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Command lines and files of frameworks and engines, read backwards by the rules of hwdb/launchers. */
#ifndef RIDGE_DB_LAUNCH_H
#define RIDGE_DB_LAUNCH_H

#include "db/db.h"
#include "db/tree.h"

struct launch_file {
	const struct launcher *by;
	const struct node *inputs;     /* as a job has them: layout.tp, batch, dtype */
	const char *unread, *unmapped; /* options that no rule is about; what rules say and no input takes; or NULL */
};

/* A command line (`run.sh`), a TOML or a JSON file, of the launcher that has most of its options.  False with errors.
 */
bool launcher_read(
    struct database *db, struct arena *a, struct diag *d, const char *path, struct source at, struct launch_file *out);

/* --- between the two files ------------------------------------------------------------------------------- */

/* One option or key with its value; the value of a switch is NULL. */
struct launch_pair {
	const char *key, *value;
	bool used;
};

struct launch_pairs {
	size_t n;
	struct launch_pair *list;
};

/* The options of a text.  False with errors. */
bool launch_pairs_read(
    struct arena *a, struct diag *d, const char *path, struct source at, struct launch_pairs *out, const char **text);

#endif
