/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the options of `ridge serve` to a setup of the serving model, and to the question that is asked of it. */
#include "ask/bind/bind.h"
#include "ask/serve/serve.h"
#include "cli/cli.h"

#include <string.h>

static bool
bind_types(struct run *r, const struct serve_in *in, struct serve_parts *p)
{
	const struct formats_in asked = {in->dtype, in->weights_dtype, in->kv_dtype, in->bits, in->head_bits};
	const struct word named = {dtype_name(p->compute), {"--dtype", 0, 0, NULL, false}};
	struct formats f;
	struct datum peak;

	if (!bind_formats(r, &asked, p->model, p->gpu, p->engine, &f))
		return false;
	serve_formats(p, &f);
	return p->compute == DTYPE_MXFP4 || run_peak(r, p->gpu, p->compute, named, &peak);
}

static bool
read_layout(struct run *r, const struct serve_in *in, struct serve_binding *b, struct serve_layout *out)
{
	if (!run_layout(r, &in->layout, datum_absent(), b->model, &b->layout))
		return false;
	const struct layout *l = &b->layout;
	bind_served_degrees(r, &in->layout);
	run_reads(r, &in->attention_dp, NULL);
	if (l->cp > 1)
		return run_refuse(
		    r, in->layout.cp.from, "a replica is tp x pp GPUs: there is no cp in serving here", "leave cp out");
	if (l->ep > l->tp || fmod(l->tp, l->ep) != 0)
		return run_refuse(r, in->layout.ep.from,
		    "experts are spread over the tp GPUs of a replica: ep must divide tp",
		    "write for example --layout tp=8,ep=8");
	if (in->attention_dp && !l->adp && l->tp == 1)
		run_warn(r, "attention-dp does nothing with tp=1");
	*out = (struct serve_layout){l->tp, l->pp, l->ep, (in->attention_dp || l->adp) && l->tp > 1};
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
	out->engine = p.engine = p.gpu ? bind_engine(r, in->engine, p.gpu) : NULL;
	if (!p.gpu || !p.model || !p.engine || !bind_types(r, in, &p) || !read_layout(r, in, out, &p.layout))
		return false;
	run_reads(r, &in->gpu_mem, NULL);
	p.mem_byte = bind_card(r, p.gpu, in->gpu_mem);
	if (!serve_headroom(r, in->headroom, &p))
		return false;
	bind_serve_kernels(r, system, &p);
	out->fitted = p.consensus;
	return assemble(r, in, &p, &out->setup);
}

/* --- the question ---------------------------------------------------------------------------------------- */

static bool
check_numbers(struct run *r, const struct serve_in *in)
{
	return run_whole(r, "batch", in->batch, 1) & run_positive(r, "ttft", in->ttft) &
	    run_positive(r, "itl", in->itl) & run_positive(r, "deadline", in->deadline) &
	    run_positive(r, "bits", in->bits) & run_positive(r, "head-bits", in->head_bits);
}

static bool
check_together(struct run *r, const struct serve_in *in, const struct serve_binding *b)
{
	const bool comes = datum_given(in->rate) || datum_given(in->concurrency) || datum_given(in->requests);

	if (datum_given(in->batch) && (datum_given(in->concurrency) || datum_given(in->rate)))
		return run_refuse(r, in->batch.from, "--batch, --concurrency and --rate are three kinds of load",
		    "give one of them, or none for the most that can be had");
	if (b->engine->kind != ENGINE_BATCHED && comes)
		return run_refuse(r, in->engine.from,
		    arena_printf(
		        r->arena, "%s takes one batch at a time, not requests that come and go", b->engine->name),
		    "give --batch, or another --engine");
	if (in->row_split && b->engine->kind != ENGINE_LAYER_SPLIT)
		return run_refuse(
		    r, in->engine.from, "only llama.cpp cuts matrices in rows over GPUs", "--engine llama.cpp");
	if (b->model->kind == MODEL_ENCODER && datum_given(in->osl))
		return run_refuse(r, in->osl.from, "an encoder makes no answer", "leave --osl out");
	if (in->simulation.simulate)
		return true; /* lengths may come from a file */
	if (!datum_given(in->isl))
		return run_refuse(
		    r, in->engine.from, "how long are the prompts?", "add for example --isl 1000 --osl 200");
	if (!datum_given(in->osl) && b->model->kind != MODEL_ENCODER && comes)
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
serve_load(struct run *r, const struct serve_in *in, const struct serve_binding *b, struct load *out)
{
	const struct simulate_in *s = &in->simulation;
	const struct load_in load = {.isl = in->isl,
	    .osl = in->osl,
	    .cached = in->cached,
	    .isl_cv = s->simulate ? s->isl_cv : datum_absent(),
	    .osl_cv = s->simulate ? s->osl_cv : datum_absent(),
	    .rate = in->rate,
	    .clients = in->concurrency,
	    .think = s->think,
	    .think_cv = s->think_cv,
	    .requests = in->requests,
	    .drafts = in->drafts,
	    .accepted = in->accepted,
	    .draft_time = in->draft_time,
	    .clients_option = "--concurrency"};

	if (s->simulate || !datum_given(in->rate))
		run_reads(r, &in->requests, NULL);
	return check_numbers(r, in) && check_together(r, in, b) && bind_load(r, &load, out);
}

void
serve_ask(struct run *r, const struct serve_in *in, const struct serve_binding *b, const struct load *load,
    struct serve_question *out)
{
	*out = (struct serve_question){
	    .setup = &b->setup,
	    .gpu = b->gpu,
	    .regime = regime_of(in, b),
	    .load = load->each,
	    .n_batch = datum_or(in->batch, 1),
	    .rate_request_per_s = load->rate_request_per_s,
	    .think_s = load->think_s,
	    .row_split = in->row_split,
	};
	run_reads(r,
	    out->regime == SERVE_STATIC || out->regime == SERVE_PROMPT || out->regime == SERVE_ENCODE ? &in->batch
	                                                                                              : NULL,
	    NULL);
	if (in->row_split)
		run_reads(r, &in->row_split, NULL);
	if (!datum_given(in->batch) &&
	    (out->regime == SERVE_STATIC || out->regime == SERVE_PROMPT || out->regime == SERVE_ENCODE))
		run_assume_value(r, "batch", "1");
}
