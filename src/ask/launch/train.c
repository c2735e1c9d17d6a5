/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a training framework is told of a job. */
#include "ask/launch/parts.h"

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
offload_text(int i)
{
	static const char *const names[] = {"optimizer", "params", "activations"};

	return names[i];
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
}

static void
set_pipeline(struct run *r, const struct memory_job *m, const struct train_job *job, struct fact *f)
{
	const struct layout *l = &m->layout;
	const char *name = job->zero_bubble ? "zero-bubble" : m->gpipe ? "gpipe" : l->vp > 1 ? "interleaved" : "1f1b";

	if (l->pp == 1)
		return;
	f[LAUNCH_SCHEDULE] = fact_word(name, !job->zero_bubble && !m->gpipe);
	f[LAUNCH_STAGE_LAYERS] = fact_derived(r, ceil(m->model->n_layers.value / (l->pp * l->vp)), NAN);
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
	    [RECOMPUTE_UNIFORM] = "uniform",
	    [RECOMPUTE_OP] = "op",
	    [RECOMPUTE_MODULES] = "modules"};
	const bool layers = m->recompute == RECOMPUTE_EVERY || m->recompute == RECOMPUTE_UNIFORM;

	f[LAUNCH_RECOMPUTE] = fact_word(names[m->recompute], m->recompute == RECOMPUTE_NONE);
	if (layers)
		f[LAUNCH_RECOMPUTE_LAYERS] = fact_count(r, m->recompute_n, NAN);
	if (m->recompute == RECOMPUTE_MODULES)
		f[LAUNCH_MODULES] = fact_word(join_bits(r, m->modules, N_MODULES, module_text), false);
}

static void
set_precision(const struct memory_job *m, const struct train_job *job, struct fact *f)
{
	const double byte = datum_or(m->gradient_byte, datum_or(m->stack->gradient_byte, 0));

	f[LAUNCH_DTYPE] = fact_word(dtype_name(job->dtype), false);
	if (byte > 0)
		f[LAUNCH_GRAD_DTYPE] = fact_word(byte == 4 ? "fp32" : "bf16", true);
	if (job->compiled)
		f[LAUNCH_COMPILE] = fact_word("true", false);
}

static void
set_facts(struct run *r, const struct memory_job *m, const struct train_answer *a, struct fact *f)
{
	set_layout(r, m, f);
	set_pipeline(r, m, &a->job, f);
	set_batch(r, m, a, f);
	set_recompute(r, m, f);
	set_precision(m, &a->job, f);
	if (m->layout.cp > 1)
		f[LAUNCH_CP_COMM] = fact_word(m->cp_all_to_all ? "a2a" : "ring", !m->cp_all_to_all);
	if (m->layout.ep > 1)
		f[LAUNCH_DISPATCHER] = fact_word(a->job.dedup ? "dedup" : "plain", !a->job.dedup);
	if (m->offload)
		f[LAUNCH_OFFLOAD] = fact_word(join_bits(r, m->offload, 3, offload_text), false);
}

/* What no map has a rule for. */
static void
say_rest(struct launch *l, const struct memory_job *m, const struct train_job *job)
{
	const struct {
		bool given;
		const char *option;
	} rest[] = {
	    {m->n_stage_layers > 0, "--stage-layers"},
	    {job->balanced_stages, "--balanced-stages"},
	    {job->packed_length > 0, "--packed"},
	    {m->lora_rank.value > 0, "--lora-rank"},
	    {m->quant != QUANT_NONE, "--quant"},
	    {m->optimizer != OPTIMIZER_ADAM, "--optimizer"},
	    {m->optimizer_in_backward, "--optimizer-in-backward"},
	    {m->quantised_parameters && !m->stack->time.gathers_fp8, "--fp8-params"},
	    {m->scheme != m->stack->scheme, "--states"},
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
	launch_say(&l, facts);
	say_rest(&l, memory, &a->job);
	return launch_end(&l, launch_text(&l));
}
