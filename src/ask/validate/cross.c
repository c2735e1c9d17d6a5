/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How wrong predictions are on runs that were left out of the fit: what `make refit` found, carried by the program. */
#include "ask/validate/validate.h"

#include "base/sheet.h"

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
