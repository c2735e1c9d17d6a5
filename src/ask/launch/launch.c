/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Write a training job as options of a framework, by the rules of hwdb/launchers. */
#include "ask/launch/launch.h"

#include "db/db.h"
#include "db/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THIS struct launch_in
const struct option launch_rows[] = {LAUNCH_OPTIONS(OPTION_ROW)};
#undef THIS

/* --- the run --------------------------------------------------------------------------------------------- */

/* NULL: nothing to say.  A plain one is what every framework does by itself: no option where none has this value. */
struct fact {
	const char *text;
	bool plain;
};

static struct fact
count(struct run *r, double n, double plain)
{
	return (struct fact){arena_printf(r->arena, "%.15g", n), n == plain};
}

static struct fact
word(const char *text, bool plain)
{
	return (struct fact){text, plain};
}

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

	f[LAUNCH_TP] = count(r, l->tp, 1);
	f[LAUNCH_PP] = count(r, l->pp, 1);
	f[LAUNCH_VP] = count(r, l->vp, 1);
	f[LAUNCH_CP] = count(r, l->cp, 1);
	f[LAUNCH_EP] = count(r, l->ep, 1);
	if (workload_has_experts(m->model))
		f[LAUNCH_ETP] = count(r, l->etp, NAN);
	if (l->tp > 1)
		f[LAUNCH_SP] = word(l->sp ? "true" : "false", !l->sp);
	f[LAUNCH_ZERO] = count(r, l->zero, 0);
	f[LAUNCH_SHARD] = count(r, fmax(1, n_shards / l->cp), NAN);
	f[LAUNCH_COPIES] = count(r, fmax(1, l->dp * l->cp / n_shards), l->zero > 0 ? 1 : NAN);
}

static void
set_pipeline(struct run *r, const struct memory_job *m, const struct train_job *job, struct fact *f)
{
	const struct layout *l = &m->layout;
	const char *name = job->zero_bubble ? "zero-bubble" : m->gpipe ? "gpipe" : l->vp > 1 ? "interleaved" : "1f1b";

	if (l->pp == 1)
		return;
	f[LAUNCH_SCHEDULE] = word(name, !job->zero_bubble && !m->gpipe);
	f[LAUNCH_STAGE_LAYERS] = count(r, ceil(m->model->n_layers.value / (l->pp * l->vp)), NAN);
}

static void
set_batch(struct run *r, const struct memory_job *m, const struct train_answer *a, struct fact *f)
{
	const double n_micro = a->job.n_sequences, n_steps = a->terms.n_microbatches;

	f[LAUNCH_MICRO_BATCH] = count(r, n_micro, NAN);
	f[LAUNCH_ACCUMULATION] = count(r, n_steps, NAN);
	f[LAUNCH_LOCAL_BATCH] = count(r, m->layout.pp > 1 ? n_micro * n_steps : n_micro, NAN);
	if (m->layout.pp > 1)
		f[LAUNCH_PIPELINE_BATCH] = count(r, n_micro, NAN);
	f[LAUNCH_GLOBAL_BATCH] = count(r, a->job.n_global_sequences, NAN);
	f[LAUNCH_SEQ] = count(r, a->job.seq_length, NAN);
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

	f[LAUNCH_RECOMPUTE] = word(names[m->recompute], m->recompute == RECOMPUTE_NONE);
	if (layers)
		f[LAUNCH_RECOMPUTE_LAYERS] = count(r, m->recompute_n, NAN);
	if (m->recompute == RECOMPUTE_MODULES)
		f[LAUNCH_MODULES] = word(join_bits(r, m->modules, N_MODULES, module_text), false);
}

static void
set_precision(const struct memory_job *m, const struct train_job *job, struct fact *f)
{
	const double byte = datum_or(m->gradient_byte, datum_or(m->stack->gradient_byte, 0));

	f[LAUNCH_DTYPE] = word(dtype_name(job->dtype), false);
	if (byte > 0)
		f[LAUNCH_GRAD_DTYPE] = word(byte == 4 ? "fp32" : "bf16", true);
	if (job->compiled)
		f[LAUNCH_COMPILE] = word("true", false);
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
		f[LAUNCH_CP_COMM] = word(m->cp_all_to_all ? "a2a" : "ring", !m->cp_all_to_all);
	if (m->layout.ep > 1)
		f[LAUNCH_DISPATCHER] = word(a->job.dedup ? "dedup" : "plain", !a->job.dedup);
	if (m->offload)
		f[LAUNCH_OFFLOAD] = word(join_bits(r, m->offload, 3, offload_text), false);
}

/* --- its options ----------------------------------------------------------------------------------------- */

/* The keys of a framework as a map of maps, in the order of its rules. */
struct launch {
	struct run *r;
	const struct launcher *by;
	const struct node *tree; /* of a file */
	const char *words;       /* of a command line */
	bool incomplete;
};

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

static void
add_option(struct launch *l, const struct launcher_rule *rule, const char *text)
{
	struct run *r = l->r;
	const char *value = rule->value ? rule->value : text, *words = l->words;

	switch ((enum launch_form)l->by->form) {
	case LAUNCH_ARGV:
		l->words = rule->is_switch ? arena_printf(r->arena, "%s %s", words, rule->key)
		                           : arena_printf(r->arena, "%s %s %s", words, rule->key,
		                                 rule->is_list ? list_text(r, value, "", " ", "") : value);
		break;
	case LAUNCH_OVERRIDES:
		l->words = arena_printf(r->arena, "%s %s=%s", words, rule->key,
		    rule->is_list ? list_text(r, value, "'[", ",", "]'") : value);
		break;
	case LAUNCH_TOML:
	case LAUNCH_JSON:
		if (rule->is_list)
			value = list_text(r, value, "[\"", "\", \"", "\"]");
		l->tree = tree_with(r->arena, l->tree, rule->key, tree_scalar(r->arena, value, (struct source){0}));
		break;
	}
}

static void
say_fact(struct launch *l, enum launch_fact fact, const struct fact *f)
{
	const char *name = launch_fact_name(fact);
	bool mapped = false, said = false;

	for (int i = 0; i < l->by->n_rules; i++) {
		const struct launcher_rule *rule = &l->by->rules[i];
		if (rule->fact != fact)
			continue;
		mapped = true;
		if (rule->is ? strcmp(rule->is, f->text) != 0 : f->plain)
			continue;
		said = true;
		if (rule->key)
			add_option(l, rule, f->text);
		if (rule->say)
			run_warn(l->r, "%s does not take %s=%s here: %s", l->by->name, name, f->text, rule->say);
		l->incomplete = l->incomplete || (rule->say && !rule->elsewhere);
	}
	/* figures that only some frameworks ask for follow from others */
	const bool derived = fact == LAUNCH_SHARD || fact == LAUNCH_COPIES || fact == LAUNCH_STAGE_LAYERS ||
	    fact == LAUNCH_LOCAL_BATCH || fact == LAUNCH_PIPELINE_BATCH || fact == LAUNCH_ACCUMULATION ||
	    fact == LAUNCH_MICRO_BATCH || fact == LAUNCH_VP;
	if (said || f->plain || (derived && !mapped))
		return;
	run_warn(l->r, "%s has no option for %s=%s", l->by->name, name, f->text);
	l->incomplete = true;
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
		if (rest[i].given) {
			run_warn(l->r, "not emitted: %s", rest[i].option);
			l->incomplete = true;
		}
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
launch_text(const struct launch *l)
{
	switch ((enum launch_form)l->by->form) {
	case LAUNCH_ARGV:
	case LAUNCH_OVERRIDES:
		break;
	case LAUNCH_TOML:
		return toml_text(l->r, l->tree, "");
	case LAUNCH_JSON:
		return json_text(l->r, l->tree, 0);
	}
	return arena_printf(l->r->arena, "%s%s", l->by->launch ? l->by->launch : "", l->words);
}

/* --- the answer ------------------------------------------------------------------------------------------ */

static bool
is_own_stack(struct run *r, const struct launcher *by, const char *stack)
{
	for (const char *p = by->stacks ? by->stacks : stack; *p;) {
		const size_t n = strcspn(p, " ");
		if (strncmp(stack, arena_copy(r->arena, p, n), n) == 0)
			return true;
		p += n + (p[n] == ' ');
	}
	return false;
}

enum answer
launch_show(struct run *r, struct word framework, const struct memory_job *memory, const struct train_answer *a)
{
	struct launch l = {.r = r,
	    .by = database_launcher(r->database, r->arena, r->diag, framework.text, framework.from),
	    .tree = tree_map(r->arena, (struct source){0}),
	    .words = ""};
	struct fact facts[N_LAUNCH_FACTS] = {0};

	if (!l.by)
		return REFUSED;
	if (!is_own_stack(r, l.by, memory->stack->id))
		run_warn(r, "the step is that of %s: add --stack for that of %s", memory->stack->name, l.by->name);
	set_facts(r, memory, a, facts);
	for (int f = 0; f < N_LAUNCH_FACTS; f++)
		if (facts[f].text)
			say_fact(&l, (enum launch_fact)f, &facts[f]);
	say_rest(&l, memory, &a->job);
	const char *text = launch_text(&l);
	size_t n = strlen(text);
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text = arena_copy(r->arena, text, n);
	r->document = arena_printf(r->arena, "%s\n", text);
	TELL_HIDDEN(r->sheet, launcher, l.by->name);
	TELL_HIDDEN(r->sheet, launch_options, text);
	return l.incomplete ? ANSWERED_NO : ANSWERED;
}
