/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bind --speculate: the method, its draft length and acceptance, and the layers or the model that draft. */
#include "ask/bind/bind.h"

#include "cli/cli.h"
#include "model/calc/calc.h"
#include "model/layer/layer.h"

#include <string.h>

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
		out->model = run_model(r, (struct word){.text = name, .from = w.from});
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
