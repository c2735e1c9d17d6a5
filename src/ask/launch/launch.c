/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a training framework is told of a job, and a serving engine of a setup: facts of a run, written as options of a
 * framework by the rules of hwdb/launchers. */
#include "ask/launch/launch.h"

#include "ask/memory/memory.h"
#include "db/tree.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- facts ------------------------------------------------------------------------------------------------------- */

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
	if (m->quantised_parameters)
		f[LAUNCH_FP8_PARAMS] = (struct fact){"true", false, true};
	if (m->loss)
		f[LAUNCH_LOSS] = (struct fact){m->loss->name, true, true};
	if (job->compiled)
		f[LAUNCH_COMPILE] = fact_word("true", false);
}

/* DeepEP knows nodes of eight GPUs, HybridEP racks that NVLink joins. */
static void
set_dispatcher(const struct train_job *job, struct fact *f)
{
	const bool rack = job->machine.n_domain > 8;

	if (job->layout.ep <= 1)
		return;
	f[LAUNCH_DISPATCHER] = fact_word(job->dedup ? "dedup" : "plain", !job->dedup);
	if (job->dedup)
		f[LAUNCH_DISPATCHER_BACKEND] = (struct fact){rack ? "hybridep" : "deepep", false, true};
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
	set_dispatcher(&a->job, f);
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
	    {m->n_stage_layers > 0 && !launch_maps(l, LAUNCH_STAGES), "--stage-layers"},
	    {job->balanced_stages, "--balanced-stages"},
	    {job->packed_length > 0, "--packed"},
	    {m->lora_rank.value > 0, "--lora-rank"},
	    {m->quant != QUANT_NONE, "--quant"},
	    {m->optimizer != OPTIMIZER_ADAM, "--optimizer"},
	    {m->optimizer_in_backward, "--optimizer-in-backward"},
	    {m->quantised_parameters && !launch_maps(l, LAUNCH_FP8_PARAMS), "--fp8-params"},
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

/* --- serving -------------------------------------------------------------------------------------------------- */

#define THIS struct launch_serve_in
const struct option launch_serve_rows[] = {LAUNCH_SERVE_OPTIONS(OPTION_ROW)};
#undef THIS

/* --- the setup ------------------------------------------------------------------------------------------- */

static void
set_serving_layout(struct run *r, const struct serve_setup *s, struct fact *f)
{
	const struct serve_layout *l = &s->layout;
	const double n_adp = l->attention_dp ? l->tp : 1;

	f[LAUNCH_TP] = fact_derived(r, l->tp, 1);
	f[LAUNCH_ATTENTION_TP] = fact_derived(r, l->tp / n_adp, 1);
	f[LAUNCH_ADP] = fact_count(r, n_adp, 1);
	f[LAUNCH_PP] = fact_count(r, l->pp, 1);
	f[LAUNCH_EP] = fact_derived(r, l->ep, 1);
	f[LAUNCH_EXPERTS] = fact_word(l->ep == 1 ? "none" : l->ep == l->tp ? "all" : "some", l->ep == 1);
	f[LAUNCH_EXPERTS].derived = true;
}

static bool
is_narrow(enum dtype t)
{
	return t != DTYPE_BF16 && t != DTYPE_FP16 && t != DTYPE_FP32;
}

static void
set_types(const struct launch_served *s, struct fact *f)
{
	const struct workload *w = s->setup->model;
	const bool wide_checkpoint = !w->quantisation.given;

	f[LAUNCH_DTYPE] = fact_word(is_narrow(s->compute) ? "bf16" : dtype_name(s->compute), false);
	f[LAUNCH_KV_DTYPE] = fact_word(dtype_name(s->kv), false);
	if (!s->published && (is_narrow(s->weights) || !wide_checkpoint))
		f[LAUNCH_QUANTIZE] = fact_word(dtype_name(s->weights), false);
}

/* The share of what the weights leave that a share of the card is. */
static double
share_of_free(const struct serve_setup *s)
{
	const double weight_byte = serve_weights(NULL, s), card_byte = s->mem_byte.value;

	return fmax(0.01, (card_byte * s->card_frac - weight_byte) / (card_byte - weight_byte));
}

static void
set_limits(struct run *r, const struct launch_served *s, struct fact *f)
{
	const struct serve_setup *setup = s->setup;
	const struct engine *e = setup->engine;
	const double n_adp = setup->layout.attention_dp ? setup->layout.tp : 1;
	const double share = setup->card_frac > 0 ? setup->card_frac : datum_or(e->memory.utilization, 0),
	             free_share = setup->card_frac > 0 ? share_of_free(setup) : share;
	const bool of_free = e->memory.pool == POOL_FREE && !(setup->card_frac > 0);

	f[LAUNCH_MAX_SEQUENCES] = fact_derived(r, e->max_sequences.value, NAN);
	f[LAUNCH_ALL_SEQUENCES] = fact_derived(r, e->max_sequences.value * n_adp, NAN);
	f[LAUNCH_STEP_TOKENS] = fact_derived(r, e->max_tokens.value, NAN);
	f[LAUNCH_ALL_STEP_TOKENS] = fact_derived(r, e->max_tokens.value * n_adp, NAN);
	if (e->chunked)
		f[LAUNCH_CHUNKED] = (struct fact){"true", true, true};
	if (share > 0 && !of_free)
		f[LAUNCH_UTILIZATION] = fact_derived(r, round(share * 1000) / 1000, NAN);
	if (share > 0 && (of_free || setup->card_frac > 0))
		f[LAUNCH_CACHE_SHARE] = fact_derived(r, round(free_share * 1000) / 1000, NAN);
	if (s->most_token > 0)
		f[LAUNCH_MAX_LENGTH] = fact_count(r, ceil(s->most_token), NAN);
}

static void
set_drafts(struct run *r, const struct speculation *in, struct fact *f)
{
	static const char *const names[] = {
	    [DRAFT_LOOKUP] = "ngram", [DRAFT_MTP] = "mtp", [DRAFT_EAGLE] = "eagle", [DRAFT_MODEL] = "model"};

	if (!in || in->method == DRAFT_NONE)
		return;
	f[LAUNCH_DRAFT] = fact_word(names[in->method], false);
	f[LAUNCH_N_DRAFTS] = fact_derived(r, in->n_drafts, NAN);
	f[LAUNCH_DRAFT_ROWS] = fact_derived(r, in->n_drafts + 1, NAN);
}

/* --- command lines --------------------------------------------------------------------------------------- */

/* One server: a replica, or one of a pool. */
static bool
add_server(struct launch *l, const struct launch_served *s, const char *role, const char **text)
{
	struct fact *facts = ARENA_ARRAY(l->r->arena, struct fact, N_LAUNCH_FACTS);
	struct run *r = l->r;

	l->words = "";
	l->tree = tree_map(r->arena, (struct source){0});
	set_serving_layout(r, s->setup, facts);
	set_types(s, facts);
	set_limits(r, s, facts);
	set_drafts(r, s->speculation, facts);
	if (role)
		facts[LAUNCH_ROLE] = fact_word(role, false);
	launch_say(l, facts);
	*text = arena_printf(r->arena, "%s%s%s", *text, **text ? "\n" : "", launch_text(l));
	return true;
}

static void
say_replicas(struct run *r, double n, const char *role)
{
	if (n > 1)
		run_warn(r, "%g %sreplicas: start each with its own GPUs and port, behind a load balancer", n, role);
}

enum answer
launch_serve_show(struct run *r, struct word engine, const struct launch_served *s)
{
	struct launch l;
	const char *text = "";

	if (!launch_begin(r, engine, LAUNCH_SERVE, &l))
		return REFUSED;
	if (!launch_is_of(&l, s->setup->engine->id))
		run_warn(r, "the answer is that of %s: add --engine %s for that of %s", s->setup->engine->name,
		    l.by->id, l.by->name);
	if (s->setup->layout.tp * s->setup->layout.pp > 8)
		run_warn(r, "a replica of %g GPUs may need several nodes: their addresses are not part of the line",
		    s->setup->layout.tp * s->setup->layout.pp);
	add_server(&l, s, s->decode ? "prefill" : NULL, &text);
	say_replicas(r, s->n_replicas, s->decode ? "prefill " : "");
	if (s->decode) {
		struct launch_served decode = *s;
		decode.setup = s->decode;
		add_server(&l, &decode, "decode", &text);
		say_replicas(r, s->n_decode, "decode ");
		run_warn(r, "the router in front of the two pools is not part of the lines");
	}
	return launch_end(&l, text);
}

/* --- facts as options of a framework ----------------------------------------------------------------------------- */

#define THIS struct launch_from_in
const struct option launch_from_rows[] = {LAUNCH_FROM_OPTIONS(OPTION_ROW)};
#undef THIS

struct fact
fact_count(struct run *r, double n, double plain)
{
	return (struct fact){arena_printf(r->arena, "%.15g", n), n == plain, false};
}

struct fact
fact_derived(struct run *r, double n, double plain)
{
	return (struct fact){arena_printf(r->arena, "%.15g", n), n == plain, true};
}

struct fact
fact_word(const char *text, bool plain)
{
	return (struct fact){text, plain, false};
}

/* --- values ---------------------------------------------------------------------------------------------- */

static const char *
list_text(struct run *r, const char *text, const char *before, const char *between, const char *after)
{
	const char *out = before;

	for (const char *p = text; *p;) {
		const size_t n = strcspn(p, ",");
		out = arena_printf(r->arena, "%s%s%.*s", out, p == text ? "" : between, (int)n, p);
		p += n + (p[n] == ',');
	}
	return arena_printf(r->arena, "%s%s", out, after);
}

/* A value with what stands for other facts. */
static const char *
filled(const struct launch *l, const char *value)
{
	const char *out = "", *at;

	while ((at = strchr(value, '@')) != NULL) {
		const size_t n = strcspn(at + 1, "@");
		const enum launch_fact f = launch_fact_named(at + 1, n);
		out = arena_printf(l->r->arena, "%s%.*s%s", out, (int)(at - value), value,
		    f < N_LAUNCH_FACTS && l->facts[f].text ? l->facts[f].text : "");
		value = at + 1 + n + (at[1 + n] == '@');
	}
	return arena_printf(l->r->arena, "%s%s", out, value);
}

/* One word of a shell; ${NAME} stays what the shell replaces. */
static const char *
shell_word(struct run *r, const char *text)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:,=+-";
	const char *out = "\"";

	if (*text && text[strspn(text, safe)] == '\0')
		return text;
	if (!strstr(text, "${") && !strchr(text, '\''))
		return arena_printf(r->arena, "'%s'", text);
	for (const char *p = text; *p; p++)
		out = arena_printf(
		    r->arena, "%s%s%c", out, strchr("\"\\`", *p) || (*p == '$' && p[1] != '{') ? "\\" : "", *p);
	return arena_printf(r->arena, "%s\"", out);
}

static void
add_key(struct launch *l, const char *key, const char *value)
{
	l->tree = tree_with(l->r->arena, l->tree, key, tree_scalar(l->r->arena, value, (struct source){0}));
}

static void
add_option(struct launch *l, const struct launcher_rule *rule, const char *text)
{
	struct run *r = l->r;
	const char *value = rule->value ? filled(l, rule->value) : text, *words = l->words;

	if (rule->in_file) {
		add_key(l, rule->key, value);
		return;
	}
	switch ((enum launch_form)l->by->form) {
	case LAUNCH_ARGV:
		l->words = rule->is_switch
		    ? arena_printf(r->arena, "%s %s", words, rule->key)
		    : arena_printf(r->arena, "%s %s %s", words, rule->key,
		          rule->is_list ? list_text(r, value, "", " ", "") : shell_word(r, value));
		break;
	case LAUNCH_OVERRIDES:
		/* characters with a meaning of their own in an override */
		if (strpbrk(value, "|*()"))
			value = arena_printf(r->arena, "\"%s\"", value);
		l->words = arena_printf(r->arena, "%s %s=%s", words, rule->key,
		    rule->is_list ? list_text(r, value, "'[", ",", "]'") : shell_word(r, value));
		break;
	case LAUNCH_TOML:
	case LAUNCH_JSON:
		add_key(l, rule->key, rule->is_list ? list_text(r, value, "[\"", "\", \"", "\"]") : value);
		break;
	}
}

/* --- rules ----------------------------------------------------------------------------------------------- */

static void
say_fact(struct launch *l, enum launch_fact fact, const struct fact *f)
{
	const char *name = launch_fact_name(fact);
	const bool over_recipe = l->by->form == LAUNCH_OVERRIDES;
	bool mapped = false, said = false;

	for (int i = 0; i < l->by->n_rules; i++) {
		const struct launcher_rule *rule = &l->by->rules[i];
		if (rule->fact != fact)
			continue;
		mapped = true;
		/* what a framework does by itself a recipe may have changed */
		if (rule->is ? strcmp(rule->is, f->text) != 0 : f->plain && !over_recipe)
			continue;
		said = true;
		if (rule->key)
			add_option(l, rule, f->text);
		if (rule->say)
			run_warn(l->r, "%s does not take %s=%s here: %s", l->by->name, name, f->text, rule->say);
		l->incomplete = l->incomplete || (rule->say && !rule->elsewhere);
	}
	if (said || f->plain || (f->derived && !mapped))
		return;
	run_warn(l->r, "%s has no option for %s=%s", l->by->name, name, f->text);
	l->incomplete = true;
}

bool
launch_maps(const struct launch *l, enum launch_fact fact)
{
	for (int i = 0; i < l->by->n_rules; i++)
		if (l->by->rules[i].fact == fact)
			return true;
	return false;
}

void
launch_say(struct launch *l, const struct fact facts[N_LAUNCH_FACTS])
{
	l->facts = facts;
	for (int f = 0; f < N_LAUNCH_FACTS; f++)
		if (facts[f].text)
			say_fact(l, (enum launch_fact)f, &facts[f]);
}

void
launch_lacks(struct launch *l, const char *what)
{
	run_warn(l->r, "not emitted: %s", what);
	l->incomplete = true;
}

/* --- files ----------------------------------------------------------------------------------------------- */

static const char *
file_value(struct run *r, const char *text)
{
	char *end;

	(void)strtod(text, &end);
	const bool bare =
	    (!*end && end != text) || *text == '[' || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
	return bare ? text : arena_printf(r->arena, "\"%s\"", text);
}

static const char *
toml_text(struct run *r, const struct node *n, const char *path)
{
	const char *own = "", *below = "";

	for (size_t i = 0; i < n->n; i++) {
		const char *key = n->keys[i]->text;
		const struct node *item = n->items[i];
		if (item->kind == NODE_SCALAR)
			own = arena_printf(r->arena, "%s%s = %s\n", own, key, file_value(r, item->text));
		else
			below = arena_printf(r->arena, "%s%s", below,
			    toml_text(r, item, *path ? arena_printf(r->arena, "%s.%s", path, key) : key));
	}
	return *path && *own ? arena_printf(r->arena, "[%s]\n%s\n%s", path, own, below)
	                     : arena_printf(r->arena, "%s%s", own, below);
}

static const char *
json_text(struct run *r, const struct node *n, int depth)
{
	const char *out = "{\n";

	for (size_t i = 0; i < n->n; i++) {
		const struct node *item = n->items[i];
		out = arena_printf(r->arena, "%s%*s\"%s\": %s%s\n", out, 2 * depth + 2, "", n->keys[i]->text,
		    item->kind == NODE_SCALAR ? file_value(r, item->text) : json_text(r, item, depth + 1),
		    i + 1 < n->n ? "," : "");
	}
	return arena_printf(r->arena, "%s%*s}", out, 2 * depth, "");
}

static const char *
yaml_text(struct run *r, const struct node *n, int depth)
{
	const char *out = "";

	for (size_t i = 0; i < n->n; i++) {
		const struct node *item = n->items[i];
		out = item->kind == NODE_SCALAR
		    ? arena_printf(r->arena, "%s%*s%s: %s\n", out, 2 * depth, "", n->keys[i]->text, item->text)
		    : arena_printf(r->arena, "%s%*s%s:\n%s", out, 2 * depth, "", n->keys[i]->text,
		          yaml_text(r, item, depth + 1));
	}
	return out;
}

const char *
launch_text(const struct launch *l)
{
	struct run *r = l->r;
	const char *launch = l->by->launch ? l->by->launch : "";

	switch ((enum launch_form)l->by->form) {
	case LAUNCH_ARGV:
	case LAUNCH_OVERRIDES:
		break;
	case LAUNCH_TOML:
		return toml_text(r, l->tree, "");
	case LAUNCH_JSON:
		return json_text(r, l->tree, 0);
	}
	if (l->tree->n == 0)
		return arena_printf(r->arena, "%s%s", launch, l->words);
	return arena_printf(r->arena, "cat >engine.yaml <<'END'\n%sEND\n%s%s %s engine.yaml", yaml_text(r, l->tree, 0),
	    launch, l->words, l->by->config);
}

/* --- the answer ------------------------------------------------------------------------------------------ */

bool
launch_is_of(const struct launch *l, const char *stack)
{
	for (const char *p = l->by->stacks ? l->by->stacks : stack; *p;) {
		const size_t n = strcspn(p, " ");
		if (strncmp(stack, p, n) == 0)
			return true;
		p += n + (p[n] == ' ');
	}
	return false;
}

bool
launch_begin(struct run *r, struct word name, enum launch_use use, struct launch *out)
{
	*out = (struct launch){.r = r,
	    .by = database_launcher(r->database, r->arena, r->diag, name.text, name.from),
	    .tree = tree_map(r->arena, (struct source){0}),
	    .words = ""};
	if (!out->by || (enum launch_use)out->by->use == use)
		return out->by != NULL;
	diag_error(r->diag, name.from, "%s is launched for %s, not for %s", out->by->name,
	    use == LAUNCH_TRAIN ? "serving" : "training", use == LAUNCH_TRAIN ? "training" : "serving");
	diag_hint(r->diag, "write --emit %s",
	    use == LAUNCH_TRAIN ? "megatron, bridge, torchtitan or deepspeed" : "vllm, sglang or trtllm");
	return false;
}

enum answer
launch_end(struct launch *l, const char *text)
{
	struct run *r = l->r;
	size_t n = strlen(text);

	while (n > 0 && text[n - 1] == '\n')
		n--;
	text = arena_copy(r->arena, text, n);
	r->document = arena_printf(r->arena, "%s\n", text);
	TELL_HIDDEN(r->sheet, launcher, l->by->name);
	TELL_HIDDEN(r->sheet, launch_options, text);
	return l->incomplete ? ANSWERED_NO : ANSWERED;
}
