/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert one published row to inputs: its stack, its model and their dimensions.  train_map.c and memory_map.c add
 * what only training runs or memory peaks have. */
#include "ask/validate/validate.h"

#include "base/base.h"
#include "cli/cli.h"
#include "db/db.h"
#include "model/layer/layer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- the stack: its file says what it is called ---------------------------------------------------------- */

/* `2024-07`, `24.07b`, `2023`: 202407, 202407, 202300; 0 where there is none. */
static double
month_in(const char *text)
{
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return 0;
	long year = strtol(text, &end, 10);
	if (year < 100)
		year += 2000;
	const bool more = (*end == '-' || *end == '.') && isdigit((unsigned char)end[1]);
	return (double)(100 * year + (more ? strtol(end + 1, NULL, 10) : 0));
}

double
published_month(const struct validate_row *row)
{
	const char *date = row_text(row, "date"), *framework = row_text(row, "framework");
	const char *open = framework ? strstr(framework, "(20") : NULL; /* litgpt (2023-10, PyTorch 2.1) */

	return date ? month_in(date) : month_in(open ? open + 1 : NULL);
}

static bool
ran(const struct published *p, const char *piece)
{
	for (size_t i = 0; i < sizeof p->ran / sizeof *p->ran; i++)
		if (p->ran[i] && strstr(p->ran[i], piece))
			return true;
	return false;
}

static bool
shards_otherwise(const struct published *p, const struct stack *s)
{
	const char *zero = published_input(p, "layout.zero");

	return zero && strtod(zero, NULL) > datum_or(s->max_zero, 0);
}

/* A stack that only the source names is no stack that shards as the run did not. */
static bool
holds(const struct published *p, const struct stack *s, const struct stack_match *m)
{
	const struct validate_row *row = p->row;

	if (!ran(p, m->says) && (!row_has(row, "source", m->says) || shards_otherwise(p, s)))
		return false;
	const double month = published_month(row);
	return (!m->software || ran(p, m->software)) && (!m->precision || row_is(row, "precision", m->precision)) &&
	    month >= datum_or(m->from, 0) && (!datum_given(m->before) || month < m->before.value);
}

/* Match the software that ran before the publisher; among these prefer the most specific match. */
static double
weight(const struct published *p, const struct stack_match *m)
{
	const bool dated = datum_given(m->from) || datum_given(m->before);

	return 200 * (ran(p, m->says) || m->software) + 100 * ((m->software != NULL) + (m->precision != NULL)) +
	    5 * dated + (double)strlen(m->says);
}

static void
read_stacks(struct published_stacks *all, struct run *r)
{
	const char **ids = database_list(r->database, ENTRY_STACK, &all->n), *said;

	all->list = ARENA_ARRAY(r->arena, const struct stack *, all->n + 1);
	for (size_t i = 0; i < all->n; i++)
		all->list[i] = database_stack(r->database, r->arena, r->diag, ids[i], NULL, (struct source){0}, &said);
}

const struct stack *
published_stack_of(const struct published *p, const char *id)
{
	for (size_t i = 0; i < p->stacks->n; i++)
		if (p->stacks->list[i] && strcmp(p->stacks->list[i]->id, id) == 0)
			return p->stacks->list[i];
	return NULL;
}

const char *
published_find_stack(struct published *p, enum stack_use use)
{
	double best = 0;

	if (!p->stacks->list)
		read_stacks(p->stacks, &p->run);
	p->ran[0] = row_text(p->row, "software");
	p->ran[1] = row_text(p->row, "framework");
	p->ran[2] = row_text(p->row, "sharding");
	for (size_t i = 0; i < p->stacks->n; i++) {
		const struct stack *s = p->stacks->list[i];
		for (int k = 0; s && s->use == use && k < s->n_matches; k++)
			if (holds(p, s, &s->matches[k]) && weight(p, &s->matches[k]) > best) {
				best = weight(p, &s->matches[k]);
				p->stack = s;
				p->match = &s->matches[k];
			}
	}
	return p->match ? p->match->refused : NULL;
}

/* --- the model, with what the row says of its shape ------------------------------------------------------ */

static bool
differs(struct datum row, struct datum model)
{
	return datum_given(row) && datum_given(model) && row.value != model.value;
}

static void
set_figure(struct published *p, const char *path, struct datum d)
{
	if (datum_given(d))
		published_number(p, path, d.value);
}

/* A file that says its layers once, the first of them dense or not. */
static bool
is_uniform(const struct workload *w)
{
	return w->n_blocks == 1 || (w->n_blocks == 2 && !w->blocks[0].moe.given && w->blocks[1].moe.given);
}

static const char *
set_layers(struct published *p, const struct workload *w, struct datum layers)
{
	const double dense = published_figure(p, "notes.dense");

	if (!differs(layers, w->n_layers) && isnan(dense))
		return NULL;
	if (!is_uniform(w))
		return "layers: of several kinds and it is not said which were left out";
	set_figure(p, "model.layers", layers);
	/* a model that was cut keeps its dense layers only where somebody says so */
	if (w->blocks[w->n_blocks - 1].moe.given && (w->n_blocks > 1 || dense > 0))
		published_number(p, "model.moe.dense_layers", isnan(dense) ? 0 : dense);
	return NULL;
}

static const char *
set_widths(struct published *p, const struct workload *w)
{
	const struct validate_row *row = p->row;
	const struct block *last = &w->blocks[w->n_blocks - 1];
	const struct datum ffn = row_datum(row, "ffn"), kv = row_datum(row, "kv_heads");
	const struct datum experts = row_datum(row, "experts"), top_k = row_datum(row, "topk");
	const bool moe = last->moe.given,
	           heads = last->mixer == MIXER_ATTENTION && last->attention.kind == ATTENTION_HEADS &&
	    differs(kv, last->attention.n_kv_heads);
	const bool wide = moe
	    ? differs(ffn, last->moe.width) && (w->n_blocks < 2 || differs(ffn, w->blocks[0].mlp.width))
	    : last->mlp.given && differs(ffn, last->mlp.width);
	const bool routed = moe && (differs(experts, last->moe.n_experts) || differs(top_k, last->moe.top_k));

	if (!moe && experts.value > 0)
		return "experts: the model has none";
	if (!heads && !wide && !routed)
		return NULL;
	if (!is_uniform(w))
		return "the row's dimensions differ from the model's";
	if (heads)
		published_set(p, "model.attention.kind", "gqa");
	if (heads)
		set_figure(p, "model.attention.kv_heads", kv);
	if (wide)
		set_figure(p, moe ? "model.moe.width" : "model.mlp.width", ffn);
	if (routed) {
		set_figure(p, "model.moe.experts", experts);
		set_figure(p, "model.moe.top_k", top_k);
	}
	return NULL;
}

/* A decoder of equal layers as the columns have it, over the entry of a model of its kind. */
static void
set_shape(struct published *p, const char *like, bool gated)
{
	const struct validate_row *row = p->row;
	const struct datum hidden = row_datum(row, "hidden"), heads = row_datum(row, "heads"),
	                   kv = row_datum(row, "kv_heads");
	const bool moe = row_number(row, "experts") > 0;

	published_set(p, "model", like);
	set_figure(p, "model.layers", row_datum(row, "layers"));
	set_figure(p, "model.hidden", hidden);
	published_set(p, "model.attention.kind", "gqa");
	set_figure(p, "model.attention.heads", heads);
	set_figure(p, "model.attention.kv_heads", datum_given(kv) ? kv : heads);
	published_number(p, "model.attention.head_dim", hidden.value / heads.value);
	set_figure(p, "model.vocab", row_datum(row, "vocab"));
	published_number(
	    p, moe ? "model.moe.width" : "model.mlp.width", datum_or(row_datum(row, "ffn"), 4 * hidden.value));
	if (moe) {
		set_figure(p, "model.moe.experts", row_datum(row, "experts"));
		set_figure(p, "model.moe.top_k", row_datum(row, "topk"));
	} else if (!gated) {
		published_number(p, "model.context", fmax(2048, datum_or(row_datum(row, "seq"), 2048)));
		published_number(p, "model.position_count", fmax(2048, datum_or(row_datum(row, "seq"), 2048)));
	}
}

/* How far parameters may lie from those that are printed: biases and a padded vocabulary; rounded names, and modules
 * that are counted or not. */
static const double SHAPED = 0.15, NAMED = 0.4;

static bool
is_off(double share, double most)
{
	return fabs(log(share)) > most;
}

static double
printed_b(const struct validate_row *row)
{
	const double small = row_number(row, "params_b");

	return isnan(small) ? row_number(row, "params_B") : small;
}

/* What the shape has over what the row prints; NaN: nothing is printed. */
static double
printed_share(struct published *p)
{
	struct run look = run_quiet(&p->run);
	const double printed = printed_b(p->row);
	const char *plain = published_input(p, "model"), *name = plain ? plain : published_input(p, "model.name");

	look.inputs = p->inputs;
	const struct workload *w = printed > 0 ? run_model(&look, (struct word){name, {0}}) : NULL;
	return w ? model_params(NULL, w) / (1e9 * printed) : NAN;
}

/* A model that the database has not.  Four times the hidden size is usual for a feed-forward part of two maps, and
 * other widths for gated ones; where the parameters are printed they decide. */
static const char *
own_shape(struct published *p, const char *refusal)
{
	enum { HEAD_STEP = 16 }; /* as heads have it whose widths add up to the hidden size */
	const struct validate_row *row = p->row;
	const double hidden = row_number(row, "hidden"), ffn = row_number(row, "ffn");
	const bool moe = row_number(row, "experts") > 0;
	const bool gated = moe || (ffn > 0 && ffn != 4 * hidden);
	const char *family = row_text(row, "family"),
	           *const likes[] = {moe ? "mixtral-8x7b" : "llama1-7b", "gpt3-175b"};
	const struct node *before = p->inputs;

	if (!(row_number(row, "layers") > 0) || !(hidden > 0) || !(row_number(row, "heads") > 0) ||
	    (moe && (!(row_number(row, "topk") > 0) || !(ffn > 0))) || (family && !strstr(family, "llm")))
		return refusal;
	if (fmod(hidden / row_number(row, "heads"), HEAD_STEP) != 0)
		return "heads: their width is not hidden / heads and not given";
	p->n_layers = row_number(row, "layers");
	p->warning = "model not in the database: made of the row's shape";
	set_shape(p, likes[!gated], gated);
	double share = printed_share(p);
	if (!moe && is_off(share, SHAPED / 3)) {
		const struct node *kept = p->inputs;
		p->inputs = before;
		set_shape(p, likes[gated], !gated);
		const double other = printed_share(p);
		if (fabs(log(other)) < fabs(log(share)))
			share = other;
		else
			p->inputs = kept;
	}
	return is_off(share, SHAPED) ? "params_b: not the parameters of the row's shape" : NULL;
}

/* Prediction layers that the FLOP of a row have in them: TFLOP/s over tokens/s, by the count of hybrids, of which each
 * makes a twentieth or more; NaN: the row does not say. */
static double
counted_prediction(const struct validate_row *row, const struct workload *w)
{
	const double token_flop = 1e12 * row_number(row, "tflops_per_gpu") / row_number(row, "tokens_per_s_per_gpu");
	const double seq_token = row_number(row, "seq");
	struct workload with = *w;
	double best = NAN, off = INFINITY;

	if (!workload_alternates(w) || convention_refusal(CONVENTION_MEGATRON_BRIDGE, w) || !(token_flop > 0) ||
	    !(seq_token > 0))
		return NAN;
	for (double n = 0; n <= w->n_mtp.value; n++) {
		with.n_mtp.value = n;
		const double ratio = convention_flop(NULL, CONVENTION_MEGATRON_BRIDGE, &with, seq_token) / token_flop;
		if (fabs(log(ratio)) < off) {
			off = fabs(log(ratio));
			best = n;
		}
	}
	return best;
}

static void
set_prediction(struct published *p, const struct workload *w)
{
	const double said = published_figure(p, "notes.mtp");

	if (!(datum_or(w->n_mtp, 0) > 0))
		return;
	const double n = isnan(said) ? counted_prediction(p->row, w) : said;
	if (n < w->n_mtp.value)
		published_number(p, "model.mtp.layers", n);
}

bool
published_sees(const struct published *p)
{
	return row_has(p->row, "model", "-VL-") || row_has(p->row, "model", "_vl_");
}

const char *
published_model(struct published *p)
{
	const struct validate_row *row = p->row;
	const char *name = row_text(row, "model"), *named = published_input(p, "model");
	struct run look = run_quiet(&p->run);
	const char *const asked = named ? named : name;
	const struct workload *w = asked ? run_model(&look, (struct word){asked, {0}}) : NULL;
	const struct datum vocab = row_datum(row, "vocab"), layers = row_datum(row, "layers");

	if (!w)
		return own_shape(p,
		    asked ? arena_printf(p->arena, "model: '%s' is not in the database and has no full shape", asked)
		          : "model not given");
	const struct block *b = workload_attention(w);
	if (differs(row_datum(row, "hidden"), w->hidden) ||
	    (b && differs(row_datum(row, "heads"), b->attention.n_heads)))
		return own_shape(p, "the row's dimensions differ from the model's");
	published_set(p, "model", asked);
	p->n_layers = datum_or(layers, datum_or(w->n_layers, NAN));
	if (differs(vocab, w->vocab))
		set_figure(p, "model.vocab", vocab);
	set_prediction(p, w);
	const char *why = w->n_blocks > 0 ? set_layers(p, w, layers) : NULL;
	if (!why && w->n_blocks > 0)
		why = set_widths(p, w);
	if (why)
		return why;
	/* a name may be of several sizes, and a cut model's may be printed for all of it */
	const double whole = model_params(NULL, w) / (1e9 * printed_b(row));
	const double share = published_input(p, "model") ? whole : printed_share(p);
	if (is_off(share, NAMED) && (is_off(whole, NAMED) || !differs(layers, w->n_layers)))
		return "params_b: not the parameters of this model";
	return NULL;
}

/* --- the question ---------------------------------------------------------------------------------------- */

#define THIS struct train_in
static const struct option own_rows[] = {TRAIN_OPTIONS(OPTION_ROW)};
#undef THIS

static const struct option_group groups[] = {
    OPTION_GROUP(memory_rows, offsetof(struct published_in, memory)),
    OPTION_GROUP(layout_rows, offsetof(struct published_in, layout)),
    OPTION_GROUP(training_rows, offsetof(struct published_in, training)),
    OPTION_GROUP(serving_rows, offsetof(struct published_in, serving)),
    OPTION_GROUP(own_rows, offsetof(struct published_in, train)),
};

static const struct command published_command = {.name = "validate",
    .groups = groups,
    .n_groups = sizeof groups / sizeof *groups,
    .input_size = sizeof(struct published_in)};

bool
published_ask(struct published *p, struct run *r, struct train_question *q)
{
	struct published_in *in = ARENA_NEW(p->arena, struct published_in);

	*r = run_quiet(&p->run);
	r->command = &published_command;
	r->inputs = p->inputs;
	*q = (struct train_question){
	    {&in->memory, &in->training, &in->serving, &in->numbers, &in->layout, NULL}, &in->train};
	return inputs_bind(p->arena, r->diag, &published_command, p->inputs, in);
}
