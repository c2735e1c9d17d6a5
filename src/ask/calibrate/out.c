/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibration files go to a folder as a whole or not at all. */
#include "ask/calibrate/calibrate.h"

#include "cli/cli.h"
#include "db/db.h"

#include <stdio.h>

bool
calibrate_write_file(struct run *r, const char *path, const char *text)
{
	FILE *to = outputs_open_deep(r->outputs, r->diag, (struct source){0}, path);

	if (!to)
		return false;
	fputs(text, to);
	TELL(r->sheet, output_file, path);
	return true;
}

bool
calibrate_folder(struct run *r, const struct calibrate_in *in, enum entry_kind kind, const char **out)
{
	const char *user = database_user_directory(r->arena);

	*out = in->write.text;
	if (!in->install)
		return true;
	if (!user) {
		diag_failure(r->diag, "no data directory: neither XDG_DATA_HOME nor HOME is set");
		diag_hint(r->diag, "set one of them, or name a folder: --write DIR");
		return false;
	}
	*out = arena_printf(r->arena, "%s/%s", user, entry_kind_folder(kind));
	return true;
}

bool
calibrate_store(struct run *r, const struct calibrate_in *in, const struct calibrate_targets *all)
{
	const char *folder;

	if (!calibrate_folder(r, in, ENTRY_CALIBRATION, &folder))
		return false;
	for (int i = 0; folder && i < all->n; i++) {
		const struct calibrate_target *t = &all->list[i];

		if (t->fitted.n &&
		    !calibrate_write_file(r, arena_printf(r->arena, "%s/%s.yaml", folder, t->id),
		        calibration_text(&t->bench, &t->fitted, &t->about)))
			return false;
	}
	return true;
}
