/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank the causes that the given measurements support. */
#include "search/plan/plan.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* A share of the time below this is no reason to do anything. */
#define WORTH_A_LOOK 0.01

static bool
find_figure(const void *context, const char *name, struct formula_value *out)
{
	const struct figures *f = context;
	const enum figure i = figure_find(name);

	if (i == FIGURE_NONE || isnan(f->value[i]))
		return false;
	*out = (struct formula_value){.value = f->value[i], .dim = dim_of_name(name)};
	return true;
}

/* The first formula whose figures are all known. */
static void
work_out(const struct figures *f, struct finding *out)
{
	struct formula_value v;
	struct formula_fault fault;

	out->stake_frac = NAN;
	for (int i = 0; i < out->cause->n_stakes && !out->stake; i++)
		if (formula_evaluate(out->cause->stakes[i], (struct formula_names){find_figure, f}, &v, &fault)) {
			out->stake = out->cause->stakes[i];
			out->stake_frac = v.value;
		}
}

static bool
speaks_for(const struct diagnosis *d, const struct figures *f, struct finding *out)
{
	*out = (struct finding){.cause = d, .stake_frac = NAN};
	for (int i = 0; i < d->n_unless; i++)
		if (sign_holds(&d->unless[i], f))
			return false;
	for (int i = 0; i < d->n_signs; i++) {
		const bool holds = sign_holds(&d->signs[i], f);
		if (d->signs[i].required && !holds)
			return false;
		out->n_for += holds;
		out->n_against += !holds && sign_known(&d->signs[i], f);
	}
	if (out->n_for == 0 || out->n_for < out->n_against)
		return false;
	work_out(f, out);
	return isnan(out->stake_frac) || out->stake_frac >= WORTH_A_LOOK;
}

static int
by_urgency(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	const double at_x = isnan(x->stake_frac) ? 0 : x->stake_frac, at_y = isnan(y->stake_frac) ? 0 : y->stake_frac;
	const int surplus = (y->n_for - y->n_against) - (x->n_for - x->n_against);

	if (x->cause->harm != y->cause->harm)
		return x->cause->harm < y->cause->harm ? -1 : 1;
	if (at_x != at_y)
		return at_x > at_y ? -1 : 1;
	return surplus ? surplus : strcmp(x->cause->id, y->cause->id);
}

size_t
diagnose_rank(const struct diagnosis *const *all, size_t n, const struct figures *f, enum use use, struct finding *out)
{
	size_t n_found = 0;

	for (size_t i = 0; i < n; i++) {
		const bool meant = use == USE_ANY || all[i]->use == USE_ANY || all[i]->use == use;
		if (meant && speaks_for(all[i], f, &out[n_found]))
			n_found++;
	}
	if (n_found)
		qsort(out, n_found, sizeof *out, by_urgency);
	return n_found;
}
