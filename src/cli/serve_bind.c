/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the options of `ridge serve` to a setup of the serving model, and to the question that is asked of it. */
#include "cli/inputs.h"
#include "cli/serve_in.h"
#include "cli/values.h"
#include "data/engine.h"

#include <string.h>

static const struct engine *
bind_engine(struct run *r, struct word name)
{
	const char *said;
	const struct engine *e = database_engine(r->database, r->arena, r->diag, name.text,
	    inputs_overlay(r->arena, r->command, r->inputs, "engine"), name.from, &said);

	if (e && said)
		run_assume(r, "%s", said);
	if (e)
		run_word(r, "engine", name);
	return e;
}

/* GPUs of one replica that reach each other over NVLink. */
static bool
is_linked(const struct gpu *gpu, const struct system *system)
{
	if (system)
		return system->domain == DOMAIN_NVSWITCH || system->domain == DOMAIN_NVLINK_MESH ||
		    system->domain == DOMAIN_HYBRID_CUBE_MESH;
	return datum_given(gpu->link_byte_per_s) && !gpu->link_bridge;
}

static bool
bind_types(struct run *r, const struct serve_in *in, struct serve_parts *p)
{
	const struct word asked = {in->dtype.text, {"--dtype", 0, 0, NULL, false}};
	struct datum peak;

	p->compute = dtype_find(run_word(r, "dtype", in->dtype));
	p->weights = in->weights_dtype.text ? dtype_find(in->weights_dtype.text) : p->compute;
	/* packed weights alone: products stay in 16 bits */
	if (p->compute == DTYPE_INT4)
		p->compute = DTYPE_BF16;
	/* formats that have no name here: so many bits, unpacked in front of every product */
	if (datum_given(in->bits)) {
		p->weight_byte = in->bits.value / 8;
		p->weights = p->weight_byte < 0.75 ? DTYPE_INT4 : p->weight_byte < 1.5 ? DTYPE_INT8 : p->compute;
	}
	p->head_byte = datum_or(in->head_bits, 0) / 8;
	p->kv = in->kv_dtype.text ? dtype_find(in->kv_dtype.text) : serve_usual_kv(p->compute);
	if (!in->kv_dtype.text && in->dtype.from.file != inputs_default)
		run_assume(r, "kv-dtype %s", dtype_name(p->kv));
	return p->compute == DTYPE_MXFP4 || run_peak(r, p->gpu, p->compute, asked, &peak);
}

static bool
bind_layout(struct run *r, const struct serve_in *in, struct serve_binding *b, struct serve_layout *out)
{
	if (!run_layout(r, &in->layout, datum_absent(), b->model, &b->layout))
		return false;
	const struct layout *l = &b->layout;
	if (l->cp > 1)
		return run_refuse(
		    r, in->layout.cp.from, "a replica is tp x pp GPUs: there is no cp in serving here", "leave cp out");
	if (l->ep > l->tp || fmod(l->tp, l->ep) != 0)
		return run_refuse(r, in->layout.ep.from,
		    "experts are spread over the tp GPUs of a replica: ep must divide tp",
		    "write for example --layout tp=8,ep=8");
	if (in->attention_dp && l->tp == 1)
		run_warn(r, "attention-dp does nothing with tp=1");
	*out = (struct serve_layout){l->tp, l->pp, l->ep, in->attention_dp && l->tp > 1};
	return true;
}

static bool
assemble(struct run *r, const struct serve_in *in, const struct serve_parts *p, struct serve_setup *out)
{
	struct calibration *kernels = ARENA_NEW(r->arena, struct calibration);
	const char *fault = serve_assemble(out, kernels, p);

	if (!fault)
		return true;
	return run_refuse(r, in->model.from,
	    arena_printf(r->arena, "%s on %s: %s", p->model->name, p->gpu->name, fault),
	    "without --isl, and with --context, the floors of bandwidth and arithmetic are printed");
}

bool
serve_bind(struct run *r, const struct serve_in *in, struct serve_binding *out)
{
	struct word name;
	struct serve_parts p = {0};

	if (!run_gpu_name(r, in->gpu, in->system, &name))
		return false;
	const struct system *system = in->system.text ? run_system(r, in->system) : NULL;
	out->gpu = p.gpu = run_gpu(r, name);
	out->model = p.model = run_model(r, in->model);
	out->engine = p.engine = bind_engine(r, in->engine);
	if (!p.gpu || !p.model || !p.engine || !bind_types(r, in, &p) || !bind_layout(r, in, out, &p.layout))
		return false;
	p.linked = is_linked(p.gpu, system);
	out->fitted = p.consensus = run_kernels(r, p.gpu, p.engine->backend);
	if (out->fitted && out->fitted->transfer_note)
		run_assume(r, "kernels %s", out->fitted->transfer_note);
	return assemble(r, in, &p, &out->setup);
}

/* --- the question ---------------------------------------------------------------------------------------- */

static bool
check_numbers(struct run *r, const struct serve_in *in)
{
	return run_whole(r, "batch", in->batch, 1) & run_whole(r, "isl", in->isl, 1) & run_whole(r, "osl", in->osl, 1) &
	    run_whole(r, "concurrency", in->concurrency, 1) & run_whole(r, "requests", in->requests, 1) &
	    run_whole(r, "drafts", in->drafts, 1) & run_positive(r, "rate", in->rate) &
	    run_fraction(r, "cached", in->cached) & run_positive(r, "ttft", in->ttft) &
	    run_positive(r, "itl", in->itl) & run_positive(r, "deadline", in->deadline) &
	    run_positive(r, "accepted", in->accepted) & run_positive(r, "bits", in->bits) &
	    run_positive(r, "head-bits", in->head_bits);
}

static bool
check_together(struct run *r, const struct serve_in *in, const struct serve_binding *b)
{
	const int loads = datum_given(in->batch) + datum_given(in->concurrency) + datum_given(in->rate);

	if (loads > 1)
		return run_refuse(r, in->rate.from, "--batch, --concurrency and --rate are three kinds of load",
		    "give one of them, or none for the most that can be had");
	if (b->engine->kind != ENGINE_BATCHED &&
	    (datum_given(in->rate) || datum_given(in->concurrency) || datum_given(in->requests)))
		return run_refuse(r, in->engine.from,
		    arena_printf(
		        r->arena, "%s takes one batch at a time, not requests that come and go", b->engine->name),
		    "give --batch, or another --engine");
	if (!datum_given(in->isl))
		return run_refuse(
		    r, in->engine.from, "how long are the prompts?", "add for example --isl 1000 --osl 200");
	if (datum_given(in->cached) && in->cached.value >= 1)
		return run_refuse(r, in->cached.from, "the last token of a prompt is never cached", "--cached 0.9");
	if (datum_given(in->drafts) != datum_given(in->accepted))
		return run_refuse(r, in->drafts.from, "speculative decoding needs --drafts and --accepted",
		    "--drafts 4 --accepted 2.3");
	if (datum_given(in->accepted) && in->accepted.value > in->drafts.value)
		return run_refuse(
		    r, in->accepted.from, "more tokens are accepted than drafted", "--drafts 4 --accepted 2.3");
	if (datum_given(in->bits) && in->weights_dtype.text)
		return run_refuse(
		    r, in->bits.from, "--bits and --weights-dtype exclude each other", "give one of them");
	if (in->row_split && b->engine->kind != ENGINE_LAYER_SPLIT)
		return run_refuse(
		    r, in->engine.from, "only llama.cpp cuts matrices in rows over GPUs", "--engine llama.cpp");
	if (b->model->kind == MODEL_ENCODER && datum_given(in->osl))
		return run_refuse(r, in->osl.from, "an encoder makes no answer", "leave --osl out");
	if (!datum_given(in->osl) && b->model->kind != MODEL_ENCODER &&
	    (datum_given(in->rate) || datum_given(in->concurrency) || datum_given(in->requests)))
		return run_refuse(r, in->isl.from, "how long are the answers?", "add for example --osl 200");
	return true;
}

static enum serve_regime
regime_of(const struct serve_in *in, const struct serve_binding *b)
{
	if (b->model->kind == MODEL_ENCODER)
		return SERVE_ENCODE;
	if (!datum_given(in->osl))
		return SERVE_PROMPT;
	if (datum_given(in->rate))
		return SERVE_ONLINE;
	if (datum_given(in->concurrency))
		return SERVE_CLOSED;
	/* engines that hold one batch at a time */
	if (datum_given(in->batch) || b->engine->kind != ENGINE_BATCHED)
		return SERVE_STATIC;
	return SERVE_OFFLINE;
}

bool
serve_ask(struct run *r, const struct serve_in *in, const struct serve_binding *b, struct serve_question *out)
{
	if (!check_numbers(r, in) || !check_together(r, in, b))
		return false;
	*out = (struct serve_question){
	    .setup = &b->setup,
	    .gpu = b->gpu,
	    .regime = regime_of(in, b),
	    .load = {in->isl.value, datum_or(in->osl, 1), datum_or(in->cached, 0), in->requests, in->concurrency},
	    .n_batch = datum_or(in->batch, 1),
	    .rate_request_per_s = datum_or(in->rate, 0),
	    .row_split = in->row_split,
	};
	if (!datum_given(in->batch) &&
	    (out->regime == SERVE_STATIC || out->regime == SERVE_PROMPT || out->regime == SERVE_ENCODE))
		run_assume(r, "batch 1");
	return true;
}
