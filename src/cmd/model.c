/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge model: parameters, FLOPs per token, KV cache and checkpoint size of a model. */
#include "ask/ask.h"
#include "base/base.h"
#include "db/db.h"
#include "db/tree.h"
#include "model/layer/layer.h"

#include <string.h>

#define THIS struct model_in
static const struct option model_options[] = {MODEL_OPTIONS(OPTION_ROW)};
#undef THIS
static const struct option_group model_groups[] = {OPTION_GROUP(model_options, 0)};

static void
show_line_shape(struct run *r, const struct workload *w)
{
	struct sheet *sh = r->sheet;
	const struct block *attending = workload_attention(w);

	FROM(sh, w, n_layers, hidden);
	SHOW(sh, n_layers, n_layers);
	SHOW(sh, hidden, hidden);
	if (!attending)
		return;
	FROM_STRUCT(sh, attending->attention, n_heads, n_kv_heads);
	SHOW(sh, n_heads, n_heads);
	SHOW(sh, n_kv_heads, n_kv_heads);
	TELL(sh, attention_kind, attending->attention.kind_name);
}

static void
show_line(struct run *r, int i, const struct workload *w)
{
	struct sheet *sh = r->sheet;

	SCOPE_I (sh, "models", i) {
		TELL(sh, model, w->id);
		CALL(sh, n_params, model_params(sh, w));
		CALL(sh, active_param, model_active_params(sh, w));
		SHOW(sh, n_params, n_params);
		SHOW(sh, active_param, n_active_params);
		if (w->kind != MODEL_OPERATORS)
			show_line_shape(r, w);
		if (model_is_causal(w)) {
			CALL(sh, kv_byte_per_token, kv_slope(sh, w, 2, 1));
			SHOW(sh, kv_byte_per_token, kv_byte_per_token);
			if (workload_recurs(w)) {
				CALL(sh, state_byte, state_sequence(sh, w, 1));
				SHOW(sh, state_byte, state_byte);
			}
		}
	}
}

static bool
is_wanted(const struct words *patterns, const char *id)
{
	char folded[100], pattern[100];

	text_fold(id, folded, sizeof folded);
	for (size_t i = 0; i < patterns->n; i++) {
		text_fold(patterns->list[i].text, pattern, sizeof pattern);
		if (strstr(folded, pattern))
			return true;
	}
	return patterns->n == 0;
}

static enum answer
list_models(struct run *r, const struct model_in *in)
{
	size_t n;
	const char **ids = database_list(r->database, ENTRY_MODEL, &n);
	int line = 0;

	run_reads(r, &in->names, NULL);
	for (size_t i = 0; i < n; i++) {
		if (!is_wanted(&in->names, ids[i]))
			continue;
		const struct workload *w = run_model(r, (struct word){ids[i], {0}});
		if (w)
			show_line(r, line++, w);
	}
	if (line == 0) {
		diag_error(r->diag, (struct source){0}, "no model name contains this");
		diag_hint(r->diag, "'ridge model list' shows all of them");
		return REFUSED;
	}
	return ANSWERED;
}

static enum answer
compare_models(struct run *r, const struct model_in *in)
{
	if (in->names.n == 0) {
		diag_error(r->diag, (struct source){0}, "compare needs two models or more");
		diag_hint(r->diag, "ridge model compare llama3-8b qwen3-8b");
		return REFUSED;
	}
	bool ok = true;
	for (size_t i = 0; i < in->names.n; i++) {
		const struct workload *w = run_model(r, in->names.list[i]);
		ok = ok && w;
		if (w)
			show_line(r, (int)i, w);
	}
	return ok ? ANSWERED : REFUSED;
}

/* A configuration of the Hugging Face hub, written as a model file. */
static enum answer
import_model(struct run *r, const struct model_in *in)
{
	const char *id, *said;

	if (in->names.n != 1) {
		diag_error(r->diag, in->verb.from, "import needs a configuration file");
		diag_hint(r->diag, "ridge model import config.json -o mine.yaml");
		return REFUSED;
	}
	const struct word name = in->names.list[0];
	const struct node *root = database_open(r->database, ENTRY_MODEL, name.text, name.from, &id, &said);
	const struct workload *w = root ? run_model(r, name) : NULL;
	if (!w)
		return REFUSED;
	TELL(r->sheet, model, w->name);
	CALL(r->sheet, n_params, model_params(r->sheet, w));
	SHOW(r->sheet, n_params, n_params);
	r->document = tree_write(r->arena, root);
	return ANSWERED;
}

static enum answer
model_run(struct run *r, const void *input)
{
	const struct model_in *in = input;
	const char *verb = in->verb.text;

	run_reads(r, &in->verb, NULL);
	if (!verb || strcmp(verb, "list") == 0)
		return list_models(r, in);
	if (strcmp(verb, "compare") == 0)
		return compare_models(r, in);
	if (strcmp(verb, "import") == 0)
		return import_model(r, in);
	if (strcmp(verb, "show") == 0 && in->names.n == 0) {
		diag_error(r->diag, in->verb.from, "show needs a model");
		diag_hint(r->diag, "'ridge model list' shows their names");
		return REFUSED;
	}
	const struct word name = strcmp(verb, "show") == 0 ? in->names.list[0] : in->verb;
	if (in->names.n > (strcmp(verb, "show") == 0 ? 1 : 0)) {
		diag_error(r->diag, in->names.list[in->names.n - 1].from, "only one model at a time");
		diag_hint(r->diag, "compare several with 'ridge model compare'");
		return REFUSED;
	}
	return model_show(r, in, name);
}

static const struct example model_examples[] = {
    {"model list llama", "models with `llama` in their name", 0},
    {"model show deepseek-v3", "parameters by part, FLOPs per token, KV cache, checkpoint size", 0},
    {"model compare llama3-8b qwen3-8b mistral-7b", "compare models", 0},
    {"model gpt3-175b --seq 2048 --get n_params", "one number, for a script", 0},
};

static const struct input_needs model_needs[] = {
    {"seq", "it applies to show, for a model with tokens: ridge model show llama3-8b --seq 4096"},
    {"batch", "it applies to show: ridge model show llama3-8b --seq 4096 --batch 8"},
    {"flops_convention", "it applies to show: ridge model show llama3-8b --seq 4096"},
};

const struct command model_command = {
    .name = "model",
    .section = "Database and measurements",
    .summary = "Parameters, FLOPs per token, KV cache and checkpoint size of a model",
    .operands = "verb names...",
    .usage = "[list|show|compare|import] [MODEL...]",
    COUNTED(groups, model_groups),
    COUNTED(examples, model_examples),
    COUNTED(needs, model_needs),
    .input_size = sizeof(struct model_in),
    .run = model_run,
};
