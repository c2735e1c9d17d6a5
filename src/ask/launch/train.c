/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a training framework is told of a job: facts of a run. */
#include "ask/launch/launch.h"

#include "ask/memory/memory.h"

#include <limits.h>
#include <string.h>

#define THIS struct launch_in
const struct option launch_rows[] = {LAUNCH_OPTIONS(OPTION_ROW)};
#undef THIS

/* --- the run --------------------------------------------------------------------------------------------- */

static const char *
join_bits(struct run *r, unsigned bits, int n, const char *(*name)(int))
{
	const char *list = NULL;

	for (int i = 0; i < n; i++)
		if (bits & 1U << i)
			list = arena_printf(r->arena, "%s%s%s", list ? list : "", list ? "," : "", name(i));
	return list;
}

static const char *
module_text(int i)
{
	return module_name((enum module)i);
}

static const char *
offload_module_text(int i)
{
	return offload_module_name((enum offload_module)i);
}

static void
set_layout(struct run *r, const struct memory_job *m, struct fact *f)
{
	const struct layout *l = &m->layout;
	const double n_shards = l->zero > 0 ? layout_shard_ranks(l) : 1;

	f[LAUNCH_TP] = fact_count(r, l->tp, 1);
	f[LAUNCH_PP] = fact_count(r, l->pp, 1);
	f[LAUNCH_VP] = fact_derived(r, l->vp, 1);
	f[LAUNCH_CP] = fact_count(r, l->cp, 1);
	f[LAUNCH_EP] = fact_count(r, l->ep, 1);
	if (workload_has_experts(m->model))
		f[LAUNCH_ETP] = fact_count(r, l->etp, NAN);
	if (l->tp > 1)
		f[LAUNCH_SP] = fact_word(l->sp ? "true" : "false", !l->sp);
	f[LAUNCH_ZERO] = fact_count(r, l->zero, 0);
	f[LAUNCH_SHARD] = fact_derived(r, fmax(1, n_shards / l->cp), NAN);
	f[LAUNCH_COPIES] = fact_derived(r, fmax(1, l->dp * l->cp / n_shards), l->zero > 0 ? 1 : NAN);
	f[LAUNCH_INSTANCES] = fact_derived(r, l->zero > 0 ? fmax(1, l->dp * l->cp / n_shards) : 1, 1);
}

/* Stages as Megatron-LM writes them (its pipeline_parallel_layer_layout.py): embedding, layers, extra prediction layers
 * and loss of each chunk, those that repeat in brackets: Et*3|(t*4|)*14,t*2mL. */
static const char *
stages_text(struct run *r, const struct memory_job *m, int n_mtp)
{
	const int n_chunks = (int)(m->layout.pp * m->layout.vp);
	const char *out = "E";

	for (int v = 0, same; v < n_chunks; v += same) {
		const int n = memory_chunk_layers(m, v);
		const bool last = v + 1 == n_chunks;
		const char *layers = n > 1 ? arena_printf(r->arena, "t*%d", n) : n == 1 ? "t" : "";
		for (same = 1; v > 0 && v + same < n_chunks - 1 && memory_chunk_layers(m, v + same) == n;)
			same++;
		out = same > 1 ? arena_printf(r->arena, "%s(%s|)*%d,", out, layers, same)
		               : arena_printf(r->arena, "%s%s%s", out, layers, last ? "" : "|");
	}
	for (int i = 0; i < n_mtp; i++)
		out = arena_printf(r->arena, "%sm", out);
	return arena_printf(r->arena, "%sL", out);
}

/* How stages share the layers where these do not come out even: embedding and loss in the place of a layer each, or
 * written down. */
static void
set_stages(struct run *r, const struct memory_job *m, int n_mtp, struct fact *f)
{
	const double n_layers = m->model->n_layers.value, n_chunks = m->layout.pp * m->layout.vp;
	const int first = memory_chunk_layers(m, 0), last = memory_chunk_layers(m, (int)n_chunks - 1);
	int most = first > last ? first : last, least = INT_MAX;

	for (int v = 1; v < (int)n_chunks - 1; v++) {
		const int n = memory_chunk_layers(m, v);
		most = n > most ? n : most;
		least = n < least ? n : least;
	}
	f[LAUNCH_STAGE_LAYERS] = fact_derived(r, most, NAN);
	f[LAUNCH_FIRST_LESS] = fact_derived(r, most - first, NAN);
	f[LAUNCH_LAST_LESS] = fact_derived(r, most - last, NAN);
	f[LAUNCH_UNEVEN] = (struct fact){least < most ? "true" : "false", least >= most, true};
	if (m->n_stage_layers == 0 && fmod(n_layers, n_chunks) == 0) {
		f[LAUNCH_ENDS] = (struct fact){"whole", true, true};
		return;
	}
	if (m->n_stage_layers == 0 && fmod(n_layers + 2, n_chunks) == 0)
		f[LAUNCH_ENDS] = (struct fact){"counted", false, true};
	else
		f[LAUNCH_STAGES] = (struct fact){stages_text(r, m, n_mtp), false, true};
}

static void
set_pipeline(struct run *r, const struct memory_job *m, const struct train_job *job, struct fact *f)
{
	const struct layout *l = &m->layout;
	const char *name = job->zero_bubble ? "zero-bubble" : m->gpipe ? "gpipe" : l->vp > 1 ? "interleaved" : "1f1b";

	if (l->pp == 1)
		return;
	f[LAUNCH_SCHEDULE] = fact_word(name, !job->zero_bubble && !m->gpipe);
	set_stages(r, m, (int)job->n_mtp, f);
	/* stages that are written down say how many chunks there are */
	if (!f[LAUNCH_STAGES].text)
		f[LAUNCH_CHUNKS] = fact_derived(r, l->vp, 1);
}

static void
set_batch(struct run *r, const struct memory_job *m, const struct train_answer *a, struct fact *f)
{
	const double n_micro = a->job.n_sequences, n_steps = a->terms.n_microbatches;

	f[LAUNCH_MICRO_BATCH] = fact_derived(r, n_micro, NAN);
	f[LAUNCH_ACCUMULATION] = fact_derived(r, n_steps, NAN);
	f[LAUNCH_LOCAL_BATCH] = fact_derived(r, m->layout.pp > 1 ? n_micro * n_steps : n_micro, NAN);
	if (m->layout.pp > 1)
		f[LAUNCH_PIPELINE_BATCH] = fact_derived(r, n_micro, NAN);
	f[LAUNCH_GLOBAL_BATCH] = fact_count(r, a->job.n_global_sequences, NAN);
	f[LAUNCH_SEQ] = fact_count(r, a->job.seq_length, NAN);
}

static void
set_recompute(struct run *r, const struct memory_job *m, struct fact *f)
{
	static const char *const names[] = {[RECOMPUTE_NONE] = "none",
	    [RECOMPUTE_FULL] = "full",
	    [RECOMPUTE_EVERY] = "every",
	    [RECOMPUTE_BLOCK] = "block",
	    [RECOMPUTE_UNIFORM] = "uniform",
	    [RECOMPUTE_OFFLOAD] = "offload",
	    [RECOMPUTE_OP] = "op",
	    [RECOMPUTE_MODULES] = "modules"};
	const bool layers =
	    m->recompute == RECOMPUTE_EVERY || m->recompute == RECOMPUTE_BLOCK || m->recompute == RECOMPUTE_UNIFORM;

	/* offload: the number of layers says it too */
	f[LAUNCH_RECOMPUTE] =
	    fact_word(names[m->recompute], m->recompute == RECOMPUTE_NONE || m->recompute == RECOMPUTE_OFFLOAD);
	if (layers)
		f[LAUNCH_RECOMPUTE_LAYERS] = fact_count(r, m->recompute_n, NAN);
	if (m->recompute == RECOMPUTE_OFFLOAD)
		f[LAUNCH_OFFLOAD_LAYERS] = fact_count(r, m->recompute_n, NAN);
	if (m->recompute == RECOMPUTE_MODULES)
		f[LAUNCH_MODULES] = fact_word(join_bits(r, m->modules, N_MODULES, module_text), false);
}

static void
set_precision(const struct memory_job *m, const struct train_job *job, struct fact *f)
{
	static const char *const states[] = {[STATES_MIXED] = "mixed", [STATES_FP32] = "fp32", [STATES_PURE] = "pure"};
	const double byte = datum_or(m->gradient_byte, datum_or(m->stack->gradient_byte, 0));

	f[LAUNCH_DTYPE] = fact_word(dtype_name(job->dtype), false);
	if (byte > 0)
		f[LAUNCH_GRAD_DTYPE] = fact_word(byte == 4 ? "fp32" : "bf16", true);
	f[LAUNCH_MOMENT_DTYPE] =
	    fact_word(m->precision_aware ? dtype_name(m->moment_dtype) : "fp32", !m->precision_aware);
	if (!(m->scheme == STATES_PURE && job->dtype == DTYPE_FP16))
		f[LAUNCH_STATES] = fact_word(states[m->scheme], m->scheme == m->stack->scheme);
	if (m->quantised_parameters)
		f[LAUNCH_FP8_PARAMS] = (struct fact){"true", false, true};
	if (m->quantised_parameters && m->dtype == DTYPE_MXFP8 && m->layout.zero < 2)
		f[LAUNCH_MXFP8_PARAMS] = (struct fact){"true", false, true};
	if (m->loss)
		f[LAUNCH_LOSS] = (struct fact){m->loss->name, m->loss == memory_usual_loss(m), false};
	f[LAUNCH_ATTENTION] = fact_word(m->flash ? "flash" : "unfused", m->flash);
	if (m->dropout)
		f[LAUNCH_DROPOUT] = fact_word("on", false);
	if (job->dtype == DTYPE_FP8)
		f[LAUNCH_FP8_RECIPE] = (struct fact){"tensorwise", false, true};
	if (job->compiled)
		f[LAUNCH_COMPILE] = fact_word("true", false);
}

/* Prediction layers, which the framework's own description of the model may leave out or have too many of. */
static void
set_prediction(struct run *r, const struct memory_job *m, struct fact *f)
{
	const struct workload *w = m->model;

	if (m->n_mtp > 0)
		f[LAUNCH_MTP] = fact_derived(r, m->n_mtp, NAN);
	else if (datum_or(w->n_mtp, 0) > 0)
		f[LAUNCH_NO_MTP] = (struct fact){"true", true, true};
	if (m->n_mtp > datum_or(w->n_mtp_modules, m->n_mtp))
		f[LAUNCH_MTP_REPEATS] = (struct fact){"true", true, true};
}

/* In racks, and where memory counts its buffers, tokens go through HybridEP. */
static void
set_dispatcher(const struct memory_job *m, const struct train_job *job, struct fact *f)
{
	const bool hybrid = m->stack->hybrid_ep || train_is_rack(&job->machine);

	if (job->layout.ep <= 1)
		return;
	f[LAUNCH_DISPATCHER] = fact_word(job->dedup ? "dedup" : "plain", !job->dedup);
	if (job->dedup)
		f[LAUNCH_DISPATCHER_BACKEND] = (struct fact){hybrid ? "hybridep" : "deepep", false, true};
}

/* What the step assumes to go on beside computation. */
static void
set_overlap(const struct train_job *job, struct fact *f)
{
	const struct layout *l = &job->layout;
	const bool data = job->stack->dp_overlap, tensor = job->stack->tp_overlap;

	if (l->dp * l->cp > 1)
		f[LAUNCH_OVERLAP_GRADIENTS] = (struct fact){data ? "true" : "false", !data, true};
	if (l->dp * l->cp > 1 && l->zero > 0)
		f[LAUNCH_OVERLAP_PARAMETERS] = (struct fact){data ? "true" : "false", !data, true};
	/* kernels start in the order of their launch; before Blackwell, and not with parameters that are sharded */
	if ((l->tp > 1 || l->cp > 1) && l->zero < 2 && job->machine.generation < 3)
		f[LAUNCH_ONE_QUEUE] = (struct fact){"true", false, true};
	if (l->tp > 1 && l->sp)
		f[LAUNCH_OVERLAP_TENSOR] = (struct fact){tensor ? "true" : "false", !tensor, true};
}

static void
set_facts(struct run *r, const struct memory_job *m, const struct train_answer *a, struct fact *f)
{
	set_layout(r, m, f);
	set_overlap(&a->job, f);
	set_pipeline(r, m, &a->job, f);
	set_batch(r, m, a, f);
	set_recompute(r, m, f);
	set_precision(m, &a->job, f);
	if (m->layout.cp > 1)
		f[LAUNCH_CP_COMM] = fact_word(memory_context_word(m->context), m->context == CONTEXT_RING);
	set_dispatcher(m, &a->job, f);
	set_prediction(r, m, f);
	if (m->offload & (OFFLOAD_OPTIMIZER | OFFLOAD_PARAMS))
		f[LAUNCH_OFFLOAD] = fact_word(join_bits(r, m->offload, 2, offload_name), false);
	if (m->offload_modules) {
		f[LAUNCH_OFFLOAD_FINE] = (struct fact){"true", false, true};
		f[LAUNCH_OFFLOAD_MODULES] =
		    fact_word(join_bits(r, m->offload_modules, N_OFFLOAD_MODULES, offload_module_text), false);
	}
	if (m->offload & OFFLOAD_ACTIVATIONS)
		f[LAUNCH_OFFLOAD_CHECKPOINTS] = fact_word("true", false);
	if (memory_is_precision_aware(m)) {
		f[LAUNCH_PRECISION_AWARE] = (struct fact){"true", false, true};
		f[LAUNCH_ZERO] = fact_word("1", false); /* for a single replica, too */
	}
}

static bool
has_mamba(const struct workload *w)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].mixer == MIXER_MAMBA)
			return true;
	return false;
}

/* Layouts that the framework's own words for it do not reach. */
static void
say_rules(struct launch *l, const struct memory_job *m, const struct train_job *job)
{
	const struct layout *at = &m->layout;
	const double n_shards = at->zero > 0 ? layout_shard_ranks(at) : 1;

	if (launch_maps(l, LAUNCH_SHARD) && at->cp > 1 && fmod(n_shards, at->cp) != 0) {
		run_warn(l->r, "%s shards over the ranks of cp too: parameters on %g ranks are none of its layouts",
		    l->by->name, n_shards);
		l->incomplete = true;
	}
	if (launch_maps(l, LAUNCH_STAGE_LAYERS) && job->zero_bubble && at->pp > 1 && at->vp < 2) {
		run_warn(l->r, "its zero-bubble schedule needs two stages on a rank: add --layout vp=2");
		l->incomplete = true;
	}
	if (l->hybrid && l->by->launch_hybrid && at->pp > 1)
		launch_lacks(l, "stages of a hybrid, which are part of its layer pattern");
}

/* The step is that of layers shared out evenly, which stages that are written down may not be. */
static void
say_stages(struct run *r, const struct memory_job *m, const struct train_answer *a)
{
	static const double told_frac = 0.02;
	const int n_chunks = (int)(m->layout.pp * m->layout.vp);
	int *layers = ARENA_ARRAY(r->arena, int, (size_t)n_chunks);
	struct train_job job = a->job;
	struct train_terms t;

	for (int v = 0; v < n_chunks; v++)
		layers[v] = memory_chunk_layers(m, v);
	job.n_stage_layers = n_chunks;
	job.stage_layers = layers;
	const double step_s = train_step(NULL, &job, &t), more = step_s / a->terms.step_s - 1;
	if (more > told_frac)
		run_warn(r,
		    "stages as written take %.0f %% longer than the step, which has the layers shared out evenly",
		    100 * more);
}

/* What no map has a rule for. */
static void
say_rest(struct launch *l, const struct memory_job *m, const struct train_job *job, const struct fact *f)
{
	const struct {
		bool given;
		const char *option;
	} rest[] = {
	    {m->n_stage_layers > 0 && !launch_maps(l, LAUNCH_STAGES), "--stage-layers"},
	    {job->balanced_stages, "--balanced-stages"},
	    {job->packed_length > 0, "--packed"},
	    {m->lora_rank.value > 0, "--lora-rank"},
	    {m->quant != QUANT_NONE, "--quant"},
	    {m->optimizer != OPTIMIZER_ADAM, "--optimizer"},
	    {m->optimizer_in_backward, "--optimizer-in-backward"},
	    {m->quantised_parameters && !launch_maps(l, LAUNCH_FP8_PARAMS), "--fp8-params"},
	    {m->scheme != m->stack->scheme && !f[LAUNCH_STATES].text, "--states"},
	};

	for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
		if (rest[i].given)
			launch_lacks(l, rest[i].option);
}

/* --- the answer ------------------------------------------------------------------------------------------ */

enum answer
launch_show(struct run *r, struct word framework, const struct memory_job *memory, const struct train_answer *a)
{
	struct launch l;
	struct fact facts[N_LAUNCH_FACTS] = {{NULL, false, false}};

	if (!launch_begin(r, framework, LAUNCH_TRAIN, &l))
		return REFUSED;
	if (!launch_is_of(&l, memory->stack->id))
		run_warn(r, "the step is that of %s: add --stack for that of %s", memory->stack->name, l.by->name);
	set_facts(r, memory, a, facts);
	l.hybrid = has_mamba(memory->model);
	if (facts[LAUNCH_RECOMPUTE].text && !launch_can_say(l.by, LAUNCH_RECOMPUTE, facts[LAUNCH_RECOMPUTE].text))
		facts[LAUNCH_RECOMPUTE_LAYERS].text = NULL;
	if (l.hybrid && l.by->launch_hybrid)
		facts[LAUNCH_ENDS].text = facts[LAUNCH_STAGES].text = NULL;
	launch_say(&l, facts);
	say_rules(&l, memory, &a->job);
	if (facts[LAUNCH_STAGES].text && launch_maps(&l, LAUNCH_STAGES) && memory->n_stage_layers == 0)
		say_stages(r, memory, a);
	say_rest(&l, memory, &a->job, facts);
	return launch_end(&l, launch_text(&l));
}

/* --- serving -------------------------------------------------------------------------------------------------- */
