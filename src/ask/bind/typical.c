/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Typical errors of published runs that were left out of the fit, as `make refit` found them. */
#include "ask/bind/bind.h"

#include <string.h>

struct cell {
	const char *kind, *name; /* rows, as the refit calls them; stack or calibration that they rest on */
	double left_out_frac;
	int n_runs, n_models;
};

static const struct cell cells[] = {
#define CROSS(...)
#define TRAIT(...)
#define CELL(...) {__VA_ARGS__},
#define CONSTANT(...)
#include "ask/validate/cross.def"
#undef CONSTANT
#undef CROSS
#undef TRAIT
#undef CELL
};

const char *
typical_error_words(struct run *r, double left_out_frac, int n_runs, int n_of, const char *of)
{
	return arena_printf(
	    r->arena, "%.0f %% on %d runs of %d %s%s", 100 * left_out_frac, n_runs, n_of, of, n_of == 1 ? "" : "s");
}

const char *
typical_error(struct run *r, const char *kind, const char *name, const char *of)
{
	const struct cell *found = NULL;

	/* what nobody listed comes last: all rows, not the few that no stack has */
	for (size_t i = 0; name && i < sizeof cells / sizeof *cells; i++)
		if (strcmp(cells[i].kind, kind) == 0 && strcmp(cells[i].name, name) == 0)
			found = &cells[i];
	return found ? typical_error_words(r, found->left_out_frac, found->n_runs, found->n_models, of)
	             : "unknown: fewer than three published runs";
}
