/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Choose the training framework or serving engine of a job. */
#include "ask/bind/bind.h"

#include "cli/cli.h"
#include "db/db.h"
#include "model/calc/calc.h"
#include "model/layer/layer.h"

#include <string.h>

static const struct stack *
bind_stack(struct run *r, struct word name)
{
	const struct node *overlay = run_overlay(r, "stack");
	const char *said;
	const struct stack *s = database_stack(r->database, r->arena, r->diag, name.text, overlay, name.from, &said);

	run_read_from(r, name.from);
	if (s && said)
		run_assume_as(r, "stack", s->id, "%s", said);
	return s;
}

static bool
above(struct datum degree, double least)
{
	return datum_given(degree) && degree.value > least;
}

/* The first row that holds.  Frameworks that shard parameters or gradients and train
 * adapters know no model parallelism, but for torchtitan; Megatron-Core has everything but those. */
const char *
bind_usual_stack(const struct software_ask *ask)
{
	const struct layout_in *l = ask->layout;
	const bool zero3 = l->fsdp || above(l->zero, 2), zero2 = zero3 || above(l->zero, 1);
	const bool split = above(l->tp, 1) || above(l->pp, 1) || above(l->cp, 1) || above(l->ep, 1);
	const struct {
		bool holds;
		const char *stack;
	} rows[] = {
	    {ask->use == STACK_INFER, "vllm"},
	    {ask->adapters && !split && zero2, "torchtune"},
	    {ask->adapters && !split, "hf-peft"},
	    {zero3 || (zero2 && split), "torchtitan"},
	    {zero2, "hf-deepspeed"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].holds)
			return rows[i].stack;
	return "megatron-core";
}

const struct stack *
bind_software(struct run *r, const struct software_ask *ask)
{
	struct word name = ask->name;

	if (!name.text) {
		name = (struct word){bind_usual_stack(ask), {inputs_default, 0, 0, NULL, false}};
		run_assume_value(r, "stack", "%s", name.text);
	}
	const struct stack *s = bind_stack(r, name);
	if (!s || s->use == ask->use)
		return s;
	diag_error(r->diag, name.from, "%s is for %s", s->id, ask->use == STACK_TRAIN ? "serving" : "training");
	diag_hint(r->diag,
	    ask->use == STACK_TRAIN ? "use --infer, or --stack %s" : "leave --infer out, or use --stack %s",
	    bind_usual_stack(ask));
	return NULL;
}

/* --- formats ------------------------------------------------------------------------------------------------- */

/* The types of weights, products and cache.  A checkpoint that was published in a narrow format is run in it, part by
 * part, unless an option says otherwise. */

/* The format of most of the weights. */
static enum dtype
main_format(const struct workload *w)
{
	const struct quantisation *q = &w->quantisation;

	return q->quantised & 1u << PART_EXPERTS && workload_has_experts(w) ? q->experts : q->weights;
}

/* Fills part_byte: embedding, head, norms and routers stay in 16 bits, or in more where all has more. */
static void
set_bytes(const struct formats_in *in, struct formats *f)
{
	const double wide = fmax(2, dtype_byte(f->compute));

	for (int p = 0; p < N_PARTS; p++) {
		const bool maps = p == PART_MIXER || p == PART_MLP || p == PART_EXPERTS || p == PART_SHARED;
		if (f->published)
			f->part_byte[p] = part_stored_byte(f->published, (enum model_part)p);
		else
			f->part_byte[p] = maps ? f->weight_byte : wide;
		/* the published checkpoints keep attention in 16 bits */
		if (!f->published && p == PART_MIXER && f->weights == DTYPE_MXFP4)
			f->part_byte[p] = 2;
	}
	if (datum_given(in->head_bits))
		f->part_byte[PART_EMBEDDING] = f->part_byte[PART_HEAD] = in->head_bits.value / 8;
}

/* Products of stored weights: in their own type where the GPU has it, else in 16 bits. */
static void
say_published(struct run *r, const struct workload *w, const struct gpu *gpu, struct formats *f)
{
	const enum dtype products = gpu ? serve_products(gpu, f->weights) : f->weights;
	const bool all = !workload_has_experts(w) || (w->quantisation.quantised & 1u << PART_MIXER);
	const char *part = all ? "weights" : "expert weights";

	if (w->quantisation.weights != f->weights && all)
		run_assume_as(r, "weights-dtype", dtype_name(f->weights), "weights %s, experts %s, as published",
		    dtype_name(w->quantisation.weights), dtype_name(f->weights));
	else
		run_assume_as(
		    r, "weights-dtype", dtype_name(f->weights), "%s %s, as published", part, dtype_name(f->weights));
	if (dtype_byte(products) >= 2)
		run_assume(r, "GEMMs in 16 bits: weights dequantized before them");
}

static void
bind_weights(
    struct run *r, const struct formats_in *in, const struct workload *w, const struct gpu *gpu, struct formats *f)
{
	const bool silent = in->dtype.from.file == inputs_default;

	if (silent && !in->weights_dtype.text && !datum_given(in->bits) && w && w->quantisation.given) {
		f->published = &w->quantisation;
		f->weights = main_format(w);
		f->compute = gpu ? serve_products(gpu, f->weights) : DTYPE_BF16;
		say_published(r, w, gpu, f);
		return;
	}
	f->compute = dtype_find(run_word(r, "dtype", in->dtype));
	f->weights = in->weights_dtype.text ? dtype_find(in->weights_dtype.text) : f->compute;
	/* packed weights alone: products stay in 16 bits */
	if (f->compute == DTYPE_INT4)
		f->compute = DTYPE_BF16;
	f->weight_byte = serve_stored_byte(f->weights, f->compute);
	/* weight formats without a name: N bits, dequantized before each GEMM */
	if (datum_given(in->bits)) {
		f->weight_byte = in->bits.value / 8;
		f->weights = f->weight_byte < 0.75 ? DTYPE_INT4 : f->weight_byte < 1.5 ? DTYPE_INT8 : f->compute;
	}
}

bool
bind_formats(struct run *r, const struct formats_in *in, const struct workload *w, const struct gpu *gpu,
    const struct engine *e, struct formats *out)
{
	const struct source read[] = {
	    in->dtype.from, in->weights_dtype.from, in->kv_dtype.from, in->bits.from, in->head_bits.from};

	for (size_t i = 0; i < sizeof read / sizeof *read; i++)
		run_read_from(r, read[i]);
	*out = (struct formats){.head_byte = datum_or(in->head_bits, 0) / 8};
	if (datum_given(in->bits) && in->weights_dtype.text)
		return run_refuse(
		    r, in->bits.from, "--bits and --weights-dtype exclude each other", "keep one of them");
	bind_weights(r, in, w, gpu, out);
	set_bytes(in, out);
	if (in->kv_dtype.text) {
		out->kv = dtype_find(in->kv_dtype.text);
		return true;
	}
	if (w && w->quantisation.has_kv && out->published) {
		out->kv = w->quantisation.kv;
		run_assume_as(r, "kv-dtype", dtype_name(out->kv), "kv-dtype %s, as published", dtype_name(out->kv));
		return true;
	}
	out->kv = serve_usual_kv(e, out->published ? out->weights : out->compute);
	if (out->kv != out->compute || out->published)
		run_assume_value(r, "kv-dtype", "%s", dtype_name(out->kv));
	return true;
}

void
serve_formats(struct serve_parts *p, const struct formats *f)
{
	p->compute = f->compute;
	p->weights = f->weights;
	p->kv = f->kv;
	p->published = f->published;
	p->weight_byte = f->weight_byte;
	p->head_byte = f->head_byte;
}

/* --- --speculate: the method, its draft length and acceptance, and the layers or the model that draft ---- */

static bool
not_a_speculation(struct run *r, struct word w)
{
	return run_refuse(r, w.from, arena_printf(r->arena, "'%s' is not METHOD=TOKENS or accept=FRACTION", w.text),
	    "write for example mtp=3,accept=0.8, eagle=4,accept=0.7, ngram=3,accept=0.4 or llama3.2-1b=4,accept=0.7");
}

/* `mtp=3`, or the name of a model that drafts. */
static bool
read_method(struct run *r, struct word w, const char *name, const struct workload *target, struct speculation *out)
{
	static const struct {
		const char *name;
		enum draft_method method;
	} methods[] = {{"mtp", DRAFT_MTP}, {"eagle", DRAFT_EAGLE}, {"eagle3", DRAFT_EAGLE}, {"ngram", DRAFT_LOOKUP}};

	if (out->method != DRAFT_NONE)
		return run_refuse(r, w.from, "--speculate takes one method", "keep one method");
	out->method = DRAFT_MODEL;
	out->from = w.from;
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (strcmp(methods[i].name, name) == 0)
			out->method = methods[i].method;
	if (out->method == DRAFT_MODEL) {
		const struct launch_claims *claims = r->claims; /* of the target */
		r->claims = NULL;
		out->model = run_model(r, (struct word){.text = name, .from = w.from});
		r->claims = claims;
		return out->model != NULL;
	}
	if (out->method == DRAFT_MTP && !(target->n_mtp.value > 0))
		return run_refuse(r, w.from, arena_printf(r->arena, "%s has no MTP modules", target->name),
		    "write eagle=3 for a trained draft layer, or name a draft model");
	return true;
}

static bool
read_item(struct run *r, struct word w, const struct workload *target, struct speculation *out)
{
	const char *equals = strchr(w.text, '=');
	struct quantity_fault fault;
	struct datum value;

	if (!equals || equals == w.text || !equals[1])
		return not_a_speculation(r, w);
	const char *name = arena_copy(r->arena, w.text, (size_t)(equals - w.text));
	if (strcmp(name, "accept") == 0) {
		return (quantity_read(equals + 1, Q_FRACTION, &out->accept_frac, &fault) && out->accept_frac >= 0 &&
		           out->accept_frac <= 1) ||
		    run_refuse(r, w.from, "accept must be between 0 and 1", "write accept=0.8 or accept=80%");
	}
	if (!run_value(r, w.from, equals + 1, Q_COUNT, &value))
		return false;
	out->n_drafts = value.value;
	return ((value.value >= 1 && value.value <= 64 && value.value == floor(value.value)) ||
	           run_refuse(r, w.from, "draft tokens must be whole, 1 to 64", "write for example mtp=3")) &&
	    read_method(r, w, name, target, out);
}

bool
bind_speculation(struct run *r, const struct words *words, const struct workload *target, struct speculation *out)
{
	*out = (struct speculation){.accept_frac = NAN};
	for (size_t i = 0; i < words->n; i++)
		if (!read_item(r, words->list[i], target, out))
			return false;
	if (words->n == 0)
		return true;
	run_read_from(r, words->list[0].from);
	if (out->method == DRAFT_NONE)
		return run_refuse(r, words->list[0].from, "--speculate needs a method", "add for example mtp=3");
	if (isnan(out->accept_frac))
		return run_refuse(r, out->from, "the acceptance rate is missing",
		    "add accept=0.8: the chance that a drafted token is accepted if all before it were; engines log "
		    "it");
	return true;
}

void
bind_drafted(const struct speculation *in, struct serve_load *load)
{
	if (in->method == DRAFT_NONE)
		return;
	load->n_drafts = in->n_drafts;
	load->n_accepted = draft_tokens(NULL, in->accept_frac, in->n_drafts) - 1;
}

/* --- what drafts ----------------------------------------------------------------------------------------- */

/* A decoder layer like the target's last: MTP has its feed-forward part, EAGLE a dense one. */
static const struct workload *
one_layer(struct run *r, const struct workload *target, bool dense)
{
	struct workload *w = ARENA_NEW(r->arena, struct workload);
	struct block *b = ARENA_NEW(r->arena, struct block);
	int from = target->n_blocks - 1;

	while (from > 0 && target->blocks[from].mixer != MIXER_ATTENTION)
		from--;
	*b = target->blocks[from];
	b->count.value = 1;
	if (dense && b->moe.given) {
		b->moe = (struct moe){.given = false};
		b->mlp = (struct mlp){.given = true, .gated = true, .width = {.value = 4 * target->hidden.value}};
		for (int i = 0; i < target->n_blocks; i++)
			if (target->blocks[i].mlp.given)
				b->mlp = target->blocks[i].mlp;
		b->layer = NULL;
	}
	*w = *target;
	w->blocks = b;
	w->n_blocks = 1;
	w->n_layers.value = 1;
	return w;
}

/* Its formats: of an MTP module the target's, of a trained layer 16 bits, of a model its own. */
static bool
draft_formats(struct run *r, const struct speculation *in, struct serve_parts *p)
{
	const struct formats_in usual = {{NULL, {0}}, {NULL, {0}}, {NULL, {0}}, datum_absent(), datum_absent()};
	struct formats f;

	if (in->method == DRAFT_EAGLE) {
		p->compute = p->weights = p->compute == DTYPE_FP16 ? DTYPE_FP16 : DTYPE_BF16;
		p->published = NULL;
		p->weight_byte = p->head_byte = 0;
	}
	if (in->method != DRAFT_MODEL)
		return true;
	struct formats_in asked = usual;
	asked.dtype.text = "bf16";
	if (!bind_formats(r, &asked, p->model, p->gpu, p->engine, &f))
		return false;
	serve_formats(p, &f);
	return true;
}

const char *
bind_draft(struct run *r, const struct speculation *in, const struct serve_parts *target, struct serve_setup *s)
{
	struct serve_parts p = *target;
	struct run quiet = *r; /* what is assumed of the draft is not said */

	s->draft = NULL;
	if (in->method == DRAFT_NONE || in->method == DRAFT_LOOKUP)
		return NULL;
	struct serve_draft *d = ARENA_NEW(r->arena, struct serve_draft);
	struct serve_setup *own = ARENA_NEW(r->arena, struct serve_setup);
	p.model = in->method == DRAFT_MODEL ? in->model : one_layer(r, target->model, in->method == DRAFT_EAGLE);
	p.layout.pp = 1;
	if (!draft_formats(&quiet, in, &p))
		return "the draft model does not run in these types";
	const char *fault = serve_assemble(own, ARENA_NEW(r->arena, struct calibration), &p);
	*d = (struct serve_draft){own, in->method != DRAFT_MODEL, in->method != DRAFT_MODEL};
	if (!fault)
		s->draft = d;
	return fault;
}

/* --- typical errors of published runs that were left out of the fit ---------------------------------------------- */

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
