/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dimensions that a launch file gives its model, against those of the model that was asked for. */
#include "base/base.h"

#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "db/db.h"

#include <math.h>

static double
layers_of(const struct workload *w)
{
	return w->n_layers.value;
}

static double
hidden_of(const struct workload *w)
{
	return w->hidden.value;
}

/* Of a model without experts: the width that is given beside experts may be theirs. */
static double
width_of(const struct workload *w)
{
	double width = NAN;

	for (int i = 0; i < w->n_blocks && !workload_has_experts(w); i++)
		width = w->blocks[i].mlp.given ? w->blocks[i].mlp.width.value : width;
	return width;
}

static double
heads_of(const struct workload *w)
{
	const struct block *b = workload_attention(w);

	return b ? b->attention.n_heads.value : NAN;
}

static double
kv_heads_of(const struct workload *w)
{
	const struct block *b = workload_attention(w);

	return b && !workload_has_latent(w) ? b->attention.n_kv_heads.value : NAN;
}

static double
experts_of(const struct workload *w)
{
	double n = NAN;

	for (int i = 0; i < w->n_blocks; i++)
		n = w->blocks[i].moe.given ? w->blocks[i].moe.n_experts.value : n;
	return n;
}

static double
dimension(const struct workload *w, enum launch_fact fact)
{
	static double (*const of[])(const struct workload *w) = {
	    layers_of, hidden_of, width_of, heads_of, kv_heads_of, experts_of};

	return of[fact - LAUNCH_MODEL_LAYERS](w);
}

/* A dimension that the model has not makes no claim wrong. */
static bool
holds(const struct launch_claim *c, const struct workload *w)
{
	const double own = dimension(w, c->fact);

	return isnan(own) || own == c->value;
}

static bool
has_all(const struct workload *w, const struct launch_claims *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (dimension(w, all->list[i].fact) != all->list[i].value)
			return false;
	return true;
}

/* Letters that two names begin with. */
static size_t
shared_letters(const char *x, const char *y)
{
	size_t n = 0;

	while (x[n] && x[n] == y[n])
		n++;
	return n;
}

/* Of the models with all these dimensions the one that is called most like this one; NULL: there is none. */
static const char *
model_of(struct run *r, const char *like)
{
	const char *said, *best = NULL;
	size_t n;
	const char **ids = database_list(r->database, ENTRY_MODEL, &n);

	for (size_t i = 0; i < n; i++) {
		const struct workload *w = database_model(r->database, ids[i], NULL, (struct source){0}, &said);
		if (w && has_all(w, r->claims) && (!best || shared_letters(ids[i], like) > shared_letters(best, like)))
			best = ids[i];
	}
	return best;
}

bool
run_claims_hold(struct run *r, const struct workload *w)
{
	const struct launch_claim *first = NULL;
	const char *list = NULL;

	for (size_t i = 0; r->claims && i < r->claims->n; i++) {
		const struct launch_claim *c = &r->claims->list[i];
		if (holds(c, w))
			continue;
		first = first ? first : c;
		list = arena_printf(r->arena, "%s%s%s %g, not %g", list ? list : "", list ? "; " : "", c->key, c->value,
		    dimension(w, c->fact));
	}
	if (!first)
		return true;
	const char *other = model_of(r, w->id);
	diag_error(r->diag, first->at, "the file trains another model than %s: %s", w->id, list);
	diag_hint(r->diag, "give the model that it trains%s%s",
	    other ? ", such as " : "; 'ridge model import config.json' makes a file of one", other ? other : "");
	return false;
}
