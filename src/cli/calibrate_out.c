/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibration files go to a folder as a whole or not at all. */
#include "cli/calibrate_in.h"

#include "data/database.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
failed(struct run *r, const char *what, const char *path)
{
	diag_failure(r->diag, "cannot %s '%s': %s", what, path, strerror(errno));
	return false;
}

/* With the folders above it. */
static bool
make_folder(struct run *r, const char *path)
{
	char *part = arena_text(r->arena, path);

	for (char *slash = part + 1; *slash; slash++)
		if (*slash == '/') {
			*slash = '\0';
			if (mkdir(part, 0777) != 0 && errno != EEXIST)
				return failed(r, "make the folder", part);
			*slash = '/';
		}
	return mkdir(path, 0777) == 0 || errno == EEXIST || failed(r, "make the folder", path);
}

static bool
write_whole(struct run *r, const char *path, const char *text)
{
	const char *temporary = arena_printf(r->arena, "%s.ridge-%ld", path, (long)getpid());
	FILE *file = fopen(temporary, "wbx");

	if (!file)
		return failed(r, "write", path);
	const bool written = fputs(text, file) >= 0 && fflush(file) == 0;
	const bool closed = fclose(file) == 0;
	if (written && closed && rename(temporary, path) == 0)
		return true;
	failed(r, "write", path);
	unlink(temporary);
	return false;
}

bool
calibrate_write_file(struct run *r, const char *folder, const char *path, const char *text)
{
	return make_folder(r, folder) && write_whole(r, path, text);
}

bool
calibrate_store(struct run *r, const struct calibrate_in *in, const struct calibrate_targets *all)
{
	const char *user = database_user_directory(r->arena), *folder = in->write.text;

	if (in->install && !user) {
		diag_failure(r->diag, "no data directory: neither XDG_DATA_HOME nor HOME is set");
		return false;
	}
	if (in->install)
		folder = arena_printf(r->arena, "%s/calibration", user);
	if (!folder)
		return true;
	if (!make_folder(r, folder))
		return false;
	for (int i = 0; i < all->n; i++) {
		const struct calibrate_target *t = &all->list[i];
		const char *path = arena_printf(r->arena, "%s/%s.yaml", folder, t->id);

		if (t->fitted.n && !write_whole(r, path, calibration_text(&t->bench, &t->fitted, &t->about)))
			return false;
		if (t->fitted.n)
			sheet_word(r->sheet, "file", "written to", path);
	}
	return true;
}
