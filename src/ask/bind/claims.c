/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dimensions that a launch file gives its model, against those of the model that was asked for. */
#include "base/base.h"

#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "db/db.h"
#include "model/calc/calc.h"

#include <math.h>
#include <string.h>

/* What a model's name says of its parameters is rounded, and may leave the embedding out: the 148 models of the
 * database that are named by a size have 0.86 to 1.32 times as many. */
static const double named_ratio = 1.35;

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

/* 0: a dense model. */
static double
experts_of(const struct workload *w)
{
	double n = 0;

	for (int i = 0; i < w->n_blocks; i++)
		n = w->blocks[i].moe.given ? w->blocks[i].moe.n_experts.value : n;
	return n;
}

static double
params_of(const struct workload *w)
{
	return model_params(NULL, w);
}

static double
dimension(const struct workload *w, enum launch_fact fact)
{
	static double (*const of[])(const struct workload *w) = {
	    layers_of, hidden_of, width_of, heads_of, kv_heads_of, experts_of, params_of};

	return of[fact - LAUNCH_MODEL_LAYERS](w);
}

/* --- names ------------------------------------------------------------------------------------------------- */

/* `nvidia/Llama-3.1-70B-Instruct-FP8` and `/models/Llama-3.1-70B-Instruct` are of that model; NULL: nobody knows. */
static const struct workload *
named(struct run *r, const char *name)
{
	static const char *const storage[] = {"fp8", "fp4", "nvfp4", "mxfp4", "awq", "gptq", "int4", "int8", "bf16"};
	const char *slash = strrchr(name, '/'), *id, *said;
	char *plain = arena_text(r->arena, slash ? slash + 1 : name);

	for (;;) {
		if (!text_ends(plain, ".gguf") && !text_ends(plain, ".json") && !text_ends(plain, ".yaml") &&
		    database_try(r->database, ENTRY_MODEL, plain, &id))
			return database_model(r->database, id, NULL, (struct source){0}, &said);
		char *dash = strrchr(plain, '-');
		size_t i = 0;
		while (dash && i < sizeof storage / sizeof *storage && !text_same_folded(dash + 1, storage[i]))
			i++;
		if (!dash || i == sizeof storage / sizeof *storage)
			return NULL;
		*dash = '\0';
	}
}

/* --- claims ------------------------------------------------------------------------------------------------ */

static bool
is_alike(const struct workload *x, const struct workload *y)
{
	for (enum launch_fact f = LAUNCH_MODEL_LAYERS; f < LAUNCH_MODEL_PARAMS; f++) {
		const double u = dimension(x, f), v = dimension(y, f);
		if (u != v && !(isnan(u) && isnan(v)))
			return false;
	}
	return true;
}

/* `absent`: what a dimension that the model has not makes of a claim.  A name that nobody knows makes none wrong. */
static bool
holds(struct run *r, const struct launch_claim *c, const struct workload *w, bool absent)
{
	if (c->name) {
		const struct workload *other = named(r, c->name);
		return !other || is_alike(other, w);
	}
	const double own = dimension(w, c->fact);
	if (c->fact == LAUNCH_MODEL_PARAMS)
		return fabs(log(own / c->value)) < log(named_ratio);
	return isnan(own) ? absent : own == c->value;
}

static bool
has_all(struct run *r, const struct workload *w)
{
	for (size_t i = 0; i < r->claims->n; i++)
		if (!holds(r, &r->claims->list[i], w, false))
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

/* Of the models that are as the file says, the one that is called most like this one; NULL: there is none. */
static const char *
model_of(struct run *r, const char *like)
{
	const char *said, *best = NULL;
	size_t n;
	const char **ids = database_list(r->database, ENTRY_MODEL, &n);

	for (size_t i = 0; i < n; i++) {
		const struct workload *w = database_model(r->database, ids[i], NULL, (struct source){0}, &said);
		if (w && has_all(r, w) && (!best || shared_letters(ids[i], like) > shared_letters(best, like)))
			best = ids[i];
	}
	return best;
}

static const char *
claim_text(struct run *r, const struct launch_claim *c, const struct workload *w)
{
	if (c->fact == LAUNCH_MODEL_PARAMS)
		return arena_printf(r->arena, "%s %gB, not %.3gB", c->key, c->value / 1e9, dimension(w, c->fact) / 1e9);
	return c->name ? arena_printf(r->arena, "%s %s", c->key, c->name)
	               : arena_printf(r->arena, "%s %g, not %g", c->key, c->value, dimension(w, c->fact));
}

bool
run_claims_hold(struct run *r, const struct workload *w, const struct workload *filed)
{
	const struct launch_claim *first = NULL;
	const char *list = NULL;

	for (size_t i = 0; r->claims && i < r->claims->n; i++) {
		const struct launch_claim *c = &r->claims->list[i];
		if (holds(r, c, w, true) || holds(r, c, filed, true))
			continue;
		first = first ? first : c;
		list = arena_printf(r->arena, "%s%s%s", list ? list : "", list ? "; " : "", claim_text(r, c, w));
	}
	if (!first)
		return true;
	const char *other = model_of(r, w->id);
	diag_error(r->diag, first->at, "the file launches another model than %s: %s", w->id, list);
	diag_hint(r->diag, "give the model that it launches%s%s",
	    other ? ", such as " : "; 'ridge model import config.json' makes a file of one", other ? other : "");
	return false;
}
