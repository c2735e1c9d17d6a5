/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Combine kernel errors into the interval of a step. */
#include "ask/bind/bind.h"

#include "db/db.h"

#include <string.h>

const struct uncertainty *
run_uncertainty(struct run *r, const char *kind)
{
	static const struct datum absent = {NAN, {NULL, 0, 0, NULL, false}};
	const struct uncertainty *u = database_uncertainty(r->database, r->arena, r->diag, kind);
	struct uncertainty *none = ARENA_NEW(r->arena, struct uncertainty);

	*none = (struct uncertainty){.id = kind,
	    .name = kind,
	    .n_points = absent,
	    .sigma = absent,
	    .q10 = absent,
	    .q90 = absent,
	    .transfer_sigma = absent,
	    .engine_sigma = absent,
	    .conformal = absent,
	    .reach_sigma = absent,
	    .within_sigma = absent,
	    .group_sigma = absent,
	    .unlisted_sigma = absent,
	    .unlisted_within_sigma = absent,
	    .unlisted_group_sigma = absent,
	    .recipe_sigma = absent,
	    .machine_sigma = absent,
	    .n_groups = absent,
	    .n_stacks = absent};
	return u ? u : none;
}

/* A regime gets its own width if its error differs from the overall one by more than a quarter. */
static void
use_regime(const struct residual *r, const char *regime, struct error_class *c)
{
	for (int i = 0; regime && i < r->n_regimes; i++) {
		const struct residual_regime *own = &r->regimes[i];
		if (strcmp(own->name, regime) != 0 || !(r->mape_frac.value > 0))
			continue;
		const double factor = own->mape_frac.value / r->mape_frac.value;
		if (fabs(factor - 1) <= 0.25)
			return;
		c->q10 = datum_or(own->q10, factor * c->q10);
		c->q90 = datum_or(own->q90, factor * c->q90);
	}
}

/* How far the dimensions are outside the measured range, and which ones. */
static double
reach_of(struct run *r, const struct error_source *s, const struct uncertainty *u, const char **text)
{
	double sum = 0;

	for (int i = 0; i < s->n; i++)
		for (int k = 0; k < u->n_ranges; k++) {
			if (strcmp(u->ranges[k].dim, s->at[i].dim) != 0)
				continue;
			const double from = u->ranges[k].from.value, to = u->ranges[k].to.value;
			const double reach = error_reach(NULL, s->at[i].value, from, to);
			if (reach <= 0)
				continue;
			const bool above = s->at[i].value > to;
			sum += reach;
			if (!text)
				continue;
			*text = arena_printf(r->arena, "%s%s%s %s %.10g",
			    *text ? *text : "extrapolated: ", *text ? ", " : "", s->at[i].dim,
			    above ? "above" : "below", above ? to : from);
		}
	return sum;
}

static const char *
transfer_text(struct run *r, const struct error_source *s)
{
	if (s->fit->transferred_from)
		return arena_printf(r->arena, "transferred from %s", s->fit->transferred_from);
	if (s->transferred)
		return s->fit->gpu ? arena_printf(r->arena, "transferred from %s", s->fit->gpu)
		                   : "transferred from other GPUs";
	return NULL;
}

bool
run_errors_with(
    struct run *r, const struct error_source *s, const struct uncertainty *u, struct error_terms *out, const char **why)
{
	const char *outside = NULL;

	if (!s->fit)
		return false;
	const struct residual *e = s->residual ? residual_of(s->fit, s->residual) : NULL;
	if (!e && !datum_given(u->sigma))
		return false;
	const bool transferred = s->transferred || s->fit->transferred_from;
	*out = (struct error_terms){.n = 1,
	    .classes = {error_class_of(1, e, datum_or(u->sigma, 0))},
	    .transfer_sigma = !transferred ? 0
	        : s->transfer_sigma > 0    ? s->transfer_sigma
	                                   : datum_or(u->transfer_sigma, 0),
	    .stack_sigma = s->one_engine ? datum_or(u->engine_sigma, 0) : 0,
	    .reach = reach_of(r, s, u, why ? &outside : NULL),
	    .reach_sigma = datum_or(u->reach_sigma, 0),
	    .widening = datum_or(u->conformal, 1)};
	if (e)
		use_regime(e, s->regime, &out->classes[0]);
	if (!why)
		return true;
	const char *from = transfer_text(r, s);
	*why = arena_printf(r->arena, "%s%s%s",
	    from          ? from
	        : outside ? ""
	                  : "calibrated",
	    from && outside ? "; " : "", outside ? outside : "");
	return true;
}

bool
run_errors(struct run *r, const struct error_source *s, struct error_terms *out, const char **why)
{
	return s->fit && run_errors_with(r, s, run_uncertainty(r, s->kind), out, why);
}

bool
run_interval(struct run *r, const struct error_source *s, double value, struct interval *out)
{
	struct error_terms e;
	const char *why;

	if (!(value > 0) || !run_errors(r, s, &e, &why))
		return false;
	*out = interval_of(value, &e, why);
	return true;
}

bool
run_answer_interval(struct run *r, const char *kind, bool listed, double value, struct interval *out)
{
	const struct uncertainty *u = run_uncertainty(r, kind);
	const struct residual of_kind = {
	    .mape_frac = datum_absent(), .mean = datum_absent(), .sd = u->sigma, .q10 = u->q10, .q90 = u->q90};

	if (!(value > 0) || (!datum_given(u->sigma) && !datum_given(u->q10)))
		return false;
	const struct error_terms e = {.n = 1,
	    .classes = {error_class_of(1, &of_kind, 0)},
	    .stack_sigma = listed ? 0 : datum_or(u->unlisted_sigma, 0),
	    .widening = datum_or(u->conformal, 1)};
	*out = interval_of(value, &e, listed ? "calibrated" : "uncalibrated framework");
	return true;
}
