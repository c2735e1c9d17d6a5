/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge model: parameters by part, FLOP per token, cache and checkpoint of a model. */
#include "base/text.h"
#include "cli/shape.h"
#include "cli/state_in.h"
#include "data/database.h"
#include "data/tree_write.h"
#include "ridge/capacity.h"
#include "ridge/convention.h"
#include "ridge/expand.h"
#include "ridge/params.h"

#include <string.h>

#define MODEL_CONVENTIONS                                                                                              \
	"all|ridge-causal|ridge-full|palm|kaplan|llm-foundry|megatron-bridge|nemo|sc21|sc21-model|bigscience|"         \
	"bigscience-no-recompute|seqsel|seqsel-hardware"
#define MODEL_OPTIONS(X)                                                                                               \
	X(0, verb, NULL, "verb", WORD, "VERB", "model", NULL, "list, show, compare or import; or a model to show")     \
	X(0, names, NULL, "names", WORDS, "NAME", "model", NULL, "models; for list: parts of their names")             \
	X('s', seq, "seq", "seq", COUNT, "N", "", NULL,                                                                \
	    "tokens of a sequence, for the arithmetic of attention (default 4096, or what the model holds)")           \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "images or samples, where there are no tokens")           \
	X(0, convention, "flops-convention", "flops_convention", WORD, "NAME", MODEL_CONVENTIONS, NULL,                \
	    "FLOP of a trained token as publications count it; all: every convention that fits the model")

struct model_in {
	MODEL_OPTIONS(OPTION_MEMBER)
};

#define THIS struct model_in
static const struct option model_options[] = {MODEL_OPTIONS(OPTION_ROW)};
#undef THIS
static const struct option_group model_groups[] = {OPTION_GROUP(model_options, 0)};

/* --- parts --- */

struct part {
	const char *name;
	double (*params)(struct sheet *sh, const struct workload *w, const struct block *b);
	bool experts; /* as many as there are experts */
};

static const struct part parts[] = {
    {NULL, mixer_params, false}, /* named by the block's mixer */
    {"cross attention", cross_params, false},
    {"mlp", mlp_params, false},
    {"routed experts", expert_params, true},
    {"shared experts", shared_expert_params, false},
    {"maps of the experts' latent", latent_map_params, false},
    {"router", router_params, false},
    {"norms", layer_norm_params, false},
};

static const char *
mixer_name(const struct block *b)
{
	static const char *const names[] = {[MIXER_ATTENTION] = "attention",
	    [MIXER_MAMBA] = "Mamba-2",
	    [MIXER_DELTA] = "gated delta net",
	    [MIXER_KDA] = "Kimi delta attention",
	    [MIXER_NONE] = "no mixer"};

	return names[b->mixer];
}

/* A line of the table: what one is and how many there are. */
static void
show_part(struct run *r, int *line, const char *name, double n_layers, double one_param, double n_params)
{
	struct sheet *sh = r->sheet;

	if (!(one_param > 0))
		return;
	SCOPE_I (sh, "part", (*line)++) {
		TELL(sh, name, "part", name);
		GIVEN(sh, n_layers);
		GIVEN(sh, one_param);
		CALL(sh, part_param, part_params(sh, n_layers, one_param));
		CALL(sh, share_frac, part_share(sh, part_param, n_params));
		SHOW(sh, n_layers, "times");
		SHOW(sh, one_param, "each");
		SHOW(sh, part_param, "parameters");
		SHOW(sh, share_frac, "share");
	}
}

static bool
has_part(const struct part *p, const struct block *b)
{
	return p->params == mlp_params ? b->mlp.given && !b->moe.given : true;
}

static void
show_block_parts(
    struct run *r, int *line, const struct workload *w, const struct block *b, bool encoder, double n_params)
{
	for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
		const double copies = parts[p].experts ? b->moe.n_experts.value : 1;
		const char *name = parts[p].name ? parts[p].name : mixer_name(b);
		if (has_part(&parts[p], b))
			show_part(r, line, encoder ? arena_printf(r->arena, "encoder: %s", name) : name,
			    b->count.value * copies, parts[p].params(NULL, w, b), n_params);
	}
}

static void
show_parts(struct run *r, const struct workload *w, double n_params)
{
	int line = 0;

	show_part(r, &line, "embedding", 1, embedding_params(NULL, w), n_params);
	for (int i = 0; i < w->n_encoder_blocks; i++)
		show_block_parts(r, &line, w, &w->encoder_blocks[i], true, n_params);
	for (int i = 0; i < w->n_blocks; i++)
		show_block_parts(r, &line, w, &w->blocks[i], false, n_params);
	show_part(r, &line, w->pooler ? "pooler" : "final norm", 1, final_params(NULL, w), n_params);
	show_part(r, &line, "head", 1, head_params(NULL, w), n_params);
}

/* --- arithmetic --- */

static double
tokens_of(struct run *r, const struct model_in *in, const struct workload *w)
{
	const double held = datum_or(w->context, INFINITY);

	if (datum_given(in->seq)) {
		if (in->seq.value > held)
			run_warn(r, "%g tokens are more than the model's context of %g", in->seq.value, held);
		return in->seq.value;
	}
	run_assume(r, "seq %g", fmin(4096, held));
	return fmin(4096, held);
}

static bool
is_causal(const struct workload *w)
{
	return w->kind == MODEL_DECODER || w->kind == MODEL_ENCODER_DECODER;
}

static void
show_token_work(struct run *r, const struct model_in *in, const struct workload *w)
{
	struct sheet *sh = r->sheet;
	const char *missing = expand_missing(w);

	if (missing) {
		run_warn(r, "FLOP are not counted: the file does not say %s", missing);
		return;
	}
	TAKE(sh, seq_token, tokens_of(r, in, w));
	CALL(sh, full_flop_per_token, forward_flop(sh, w, seq_token, false));
	SHOW(sh, full_flop_per_token, "forward, full attention");
	if (is_causal(w)) {
		CALL(sh, causal_flop_per_token, forward_flop(sh, w, seq_token, true));
		SHOW(sh, causal_flop_per_token, "forward, causal attention");
	}
	CALL(sh, full_backward_flop_per_token, backward_flop(sh, w, seq_token, false));
	SHOW(sh, full_backward_flop_per_token, "backward, full attention");
	if (is_causal(w)) {
		CALL(sh, causal_backward_flop_per_token, backward_flop(sh, w, seq_token, true));
		SHOW(sh, causal_backward_flop_per_token, "backward, causal attention");
	}
	CALL(sh, embedded_flop_per_token, embedded_flop(sh, w, seq_token, is_causal(w)));
	SHOW(sh, embedded_flop_per_token, "forward, embedding counted too");
}

/* --- conventions --- */

static void
show_convention(struct run *r, enum convention c, const struct workload *w, double seq_token)
{
	struct sheet *sh = r->sheet;

	SCOPE_I (sh, "convention", c) {
		TELL(sh, name, "convention", convention_name(c));
		CALL(sh, trained_flop_per_token, convention_flop(sh, c, w, seq_token));
		CALL(sh, causal_flop_per_token, convention_flop(sh, CONVENTION_RIDGE_CAUSAL, w, seq_token));
		CALL(sh, ratio, convention_ratio(sh, trained_flop_per_token, causal_flop_per_token));
		SHOW(sh, trained_flop_per_token, "a trained token");
		SHOW(sh, ratio, "to ridge-causal");
		TELL(sh, attention, "attention", convention_attention(c));
		TELL(sh, counts, "counts", convention_is_hardware(c) ? "hardware FLOP" : "model FLOP");
		TELL(sh, formula, "formula", convention_title(c));
	}
}

static bool
refuse_convention(struct run *r, struct word name, const char *why)
{
	diag_error(r->diag, name.from, "the convention %s: %s", name.text, why);
	diag_hint(r->diag, "--flops-convention all lists those that fit the model");
	return false;
}

static bool
show_conventions(struct run *r, const struct model_in *in, const struct workload *w)
{
	const struct word name = in->convention;
	const char *const megascale = "its table counts attention over windows of a width that it does not print";

	if (!name.text)
		return true;
	const bool all = strcmp(name.text, "all") == 0;
	const enum convention c = convention_find(name.text);
	if (!all && c == CONVENTION_NONE)
		return refuse_convention(r, name, strcmp(name.text, "megascale") == 0 ? megascale : "it is not known");
	const char *why = all ? NULL : convention_refusal(c, w);
	if (why)
		return refuse_convention(r, name, why);
	const double seq_token = tokens_of(r, in, w);
	for (enum convention i = 0; i < N_CONVENTIONS; i++)
		if ((all || i == c) && !convention_refusal(i, w))
			show_convention(r, i, w, seq_token);
	return true;
}

/* Convolutions and matrix products first, as published counts have nothing else; returns how many. */
static int
keep_products(struct op *ops, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++)
		if (op_multiplies((enum op_kind)ops[i].kind))
			ops[kept++] = ops[i];
	return kept;
}

/* Images and lists of operators have no tokens to count by. */
static void
show_sample_work(struct run *r, const struct model_in *in, const struct workload *w)
{
	struct sheet *sh = r->sheet;
	struct shape shape = {.phase = PHASE_PREFILL, .batch = in->batch.value, .n_new = 1, .tp = 1, .elem_byte = 2};
	struct op *ops = ARENA_ARRAY(r->arena, struct op, expand_room(w));

	TAKE(sh, n_batch, in->batch);
	if (w->kind == MODEL_VISION) {
		CALL(sh, image_token, vision_tokens(sh, w));
		SHOW(sh, image_token, "each image");
		shape.n_new = image_token;
	}
	const int n = expand(w, &shape, ops);
	SUM(sh, forward_flop, i, n, op_total_flop(sh, &ops[i]));
	const int n_products = keep_products(ops, n);
	SUM(sh, product_flop, j, n_products, op_total_flop(sh, &ops[j]));
	SHOW(sh, forward_flop, n_batch == 1 ? "forward, one sample" : "forward, the batch");
	SHOW(sh, product_flop, "of that, convolutions and products");
}

/* --- memory --- */

static void
show_cache(struct run *r, const struct workload *w)
{
	struct sheet *sh = r->sheet;

	if (!is_causal(w))
		return;
	CALL(sh, kv_byte_per_token, kv_slope(sh, w, 2, 1));
	CALL(sh, constant_byte, kv_constant(sh, w, 1, 2, 1));
	CALL(sh, state_byte, state_sequence(sh, w, 1));
	if (workload_attends(w))
		SHOW(sh, kv_byte_per_token,
		    constant_byte > state_byte ? "16-bit cache, each token beyond the windows"
		                               : "16-bit cache, each token");
	if (constant_byte > 0)
		SHOW(sh, constant_byte,
		    !(state_byte > 0)                ? "16-bit cache, full windows"
		        : constant_byte > state_byte ? "recurrent states and full windows"
		                                     : "recurrent states");
}

/* Embedding and head stay in 16 bits where the rest is narrower, as quantisers leave them. */
static void
show_checkpoints(struct run *r, const struct workload *w, double n_params)
{
	static const enum dtype types[] = {DTYPE_FP32, DTYPE_BF16, DTYPE_FP8, DTYPE_INT4};
	struct sheet *sh = r->sheet;

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		SCOPE_I (sh, "checkpoint", i) {
			const double byte = dtype_byte(types[i]);
			TELL(sh, name, "checkpoint", dtype_name(types[i]));
			if (w->kind == MODEL_OPERATORS) {
				CALL(sh, checkpoint_byte, checkpoint_bytes(sh, n_params, byte));
			} else {
				CALL(sh, checkpoint_byte, capacity_weights(sh, w, byte, byte > 2 ? byte : 2));
			}
			SHOW(sh, checkpoint_byte, "size");
		}
	if (w->quantisation.given)
		SCOPE_I (sh, "checkpoint", sizeof types / sizeof *types + 1) {
			TELL(sh, name, "checkpoint", "as published");
			CALL(sh, checkpoint_byte, published_bytes(sh, w));
			SHOW(sh, checkpoint_byte, "size");
		}
	SCOPE_I (sh, "checkpoint", sizeof types / sizeof *types) {
		/* 16-bit weights, fp32 weights and two moments: Rajbhandari et al., arXiv:1910.02054, section 3.1 */
		TELL(sh, name, "checkpoint", "training, Adam");
		TAKE(sh, stored_byte_per_param, 14.0);
		CALL(sh, checkpoint_byte, checkpoint_bytes(sh, n_params, stored_byte_per_param));
		SHOW(sh, checkpoint_byte, "size");
	}
}

/* --- verbs --- */

static const char *
attention_text(struct arena *a, const struct attention *t)
{
	if (t->kind == ATTENTION_MLA)
		return arena_printf(a, "%s, %g heads, latent %g + %g for all of them", t->kind_name, t->n_heads.value,
		    t->kv_lora.value, t->rope.value);
	if (t->kind == ATTENTION_CSA)
		return arena_printf(a, "%s, %g heads of %g, one row for all of them, tokens compressed", t->kind_name,
		    t->n_heads.value, t->head_dim.value);
	return arena_printf(a, "%s, %g heads of %g, %g for keys and values", t->kind_name, t->n_heads.value,
	    t->head_dim.value, t->n_kv_heads.value);
}

static void
show_shape(struct run *r, const struct workload *w)
{
	static const char *const kinds[] = {
	    "decoder", "encoder", "vision encoder", "list of operators", "encoder-decoder"};
	struct sheet *sh = r->sheet;

	TELL(sh, kind, "kind", kinds[w->kind]);
	TELL(sh, source, "source", w->source);
	if (w->kind == MODEL_OPERATORS)
		return;
	TAKE(sh, n_layers, w->n_layers);
	TAKE(sh, hidden, w->hidden);
	SHOW(sh, n_layers, "layers");
	SHOW(sh, hidden, "hidden");
	const struct block *attending = workload_attention(w);
	if (attending)
		TELL(sh, attention, "attention", attention_text(r->arena, &attending->attention));
	if (w->n_encoder_blocks) {
		TAKE(sh, n_encoder_layers, w->n_encoder_layers);
		SHOW(sh, n_encoder_layers, "encoder layers");
	}
	if (datum_given(w->vocab)) {
		TAKE(sh, n_vocabulary, w->vocab);
		SHOW(sh, n_vocabulary, "vocabulary");
	}
	if (datum_given(w->context)) {
		TAKE(sh, context_token, w->context);
		SHOW(sh, context_token, "context");
	}
}

/* What is left of the count without tables and head: "non-embedding" means either. */
static void
show_bodies(struct run *r, const struct workload *w)
{
	struct sheet *sh = r->sheet;

	if (w->kind == MODEL_OPERATORS)
		return;
	CALL(sh, body_param, body_params(sh, w));
	CALL(sh, inner_param, inner_params(sh, w));
	SHOW(sh, body_param, "without the embedding");
	if (inner_param < body_param)
		SHOW(sh, inner_param, "without embedding and head");
}

static const char *
feed_text(struct arena *a, const struct block *b)
{
	if (b->moe.given)
		return arena_printf(a, "%g of %g experts", b->moe.top_k.value, b->moe.n_experts.value);
	return b->mlp.given ? arena_printf(a, "%s mlp of %g", b->mlp.gated ? "gated" : "plain", b->mlp.width.value)
	                    : "-";
}

/* A line for each kind of layer. */
static void
show_layers(struct run *r, const struct workload *w)
{
	struct sheet *sh = r->sheet;

	for (int i = 0; i < w->n_blocks && w->n_blocks > 1; i++) {
		const struct block *b = &w->blocks[i];
		SCOPE_I (sh, "layers", i) {
			TELL(sh, mixer, "mixes by", reach_text(r->arena, b));
			TAKE(sh, n_layers, b->count);
			SHOW(sh, n_layers, "layers");
			TELL(sh, feed, "then", feed_text(r->arena, b));
		}
	}
}

static enum answer
show_model(struct run *r, const struct model_in *in, struct word name)
{
	struct sheet *sh = r->sheet;
	const struct workload *w = run_model(r, name);

	if (!w || !run_whole(r, "seq", in->seq, 1) || !run_whole(r, "batch", in->batch, 1))
		return REFUSED;
	r->title = w->name;
	show_shape(r, w);
	CALL(sh, n_params, model_params(sh, w));
	CALL(sh, active_param, model_active_params(sh, w));
	SHOW(sh, n_params, "parameters");
	if (active_param < n_params)
		SHOW(sh, active_param, "active for a token");
	show_bodies(r, w);
	if (datum_given(w->stated_params)) {
		CALL(sh, stated_error_frac, params_error(sh, w));
		if (stated_error_frac > 0.002)
			run_warn(r, "%s: counted %.0f parameters, its file states %.0f", w->id, n_params,
			    w->stated_params.value);
	}
	if (is_causal(w) || w->kind == MODEL_ENCODER)
		show_token_work(r, in, w);
	else
		show_sample_work(r, in, w);
	if (!show_conventions(r, in, w))
		return REFUSED;
	show_cache(r, w);
	if (w->kind != MODEL_OPERATORS)
		show_layers(r, w);
	if (w->kind != MODEL_OPERATORS)
		show_parts(r, w, n_params);
	show_checkpoints(r, w, n_params);
	if (w->notes)
		TELL(sh, notes, "note", w->notes);
	return ANSWERED;
}

static void
show_line_shape(struct run *r, const struct workload *w)
{
	struct sheet *sh = r->sheet;
	const struct block *attending = workload_attention(w);

	TAKE(sh, n_layers, w->n_layers);
	TAKE(sh, hidden, w->hidden);
	SHOW(sh, n_layers, "layers");
	SHOW(sh, hidden, "hidden");
	if (!attending)
		return;
	TAKE(sh, n_heads, attending->attention.n_heads);
	TAKE(sh, n_kv_heads, attending->attention.n_kv_heads);
	SHOW(sh, n_heads, "heads");
	SHOW(sh, n_kv_heads, "KV heads");
	TELL(sh, attention, "attention", attending->attention.kind_name);
}

static void
show_line(struct run *r, int i, const struct workload *w)
{
	struct sheet *sh = r->sheet;

	SCOPE_I (sh, "model", i) {
		TELL(sh, name, "model", w->id);
		CALL(sh, n_params, model_params(sh, w));
		CALL(sh, active_param, model_active_params(sh, w));
		SHOW(sh, n_params, "parameters");
		SHOW(sh, active_param, "active");
		if (w->kind != MODEL_OPERATORS)
			show_line_shape(r, w);
		if (is_causal(w)) {
			CALL(sh, kv_byte_per_token, kv_slope(sh, w, 2, 1));
			SHOW(sh, kv_byte_per_token, "16-bit cache");
			if (workload_recurs(w)) {
				CALL(sh, state_byte, state_sequence(sh, w, 1));
				SHOW(sh, state_byte, "states");
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

	for (size_t i = 0; i < n; i++) {
		if (!is_wanted(&in->names, ids[i]))
			continue;
		const struct workload *w = run_model(r, (struct word){ids[i], {0}});
		if (w)
			show_line(r, line++, w);
	}
	if (line == 0) {
		diag_error(r->diag, (struct source){0}, "no model has that in its name");
		diag_hint(r->diag, "'ridge model list' shows all of them");
		return REFUSED;
	}
	return ANSWERED;
}

static enum answer
compare_models(struct run *r, const struct model_in *in)
{
	if (in->names.n == 0) {
		diag_error(r->diag, (struct source){0}, "compare which models?");
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
		diag_error(r->diag, in->verb.from, "import which configuration?");
		diag_hint(r->diag, "ridge model import config.json -o mine.yaml");
		return REFUSED;
	}
	const struct word name = in->names.list[0];
	const struct node *root = database_open(r->database, ENTRY_MODEL, name.text, name.from, &id, &said);
	const struct workload *w = root ? run_model(r, name) : NULL;
	if (!w)
		return REFUSED;
	TELL(r->sheet, name, "model", w->name);
	CALL(r->sheet, n_params, model_params(r->sheet, w));
	SHOW(r->sheet, n_params, "parameters");
	r->document = tree_write(r->arena, root);
	return ANSWERED;
}

static enum answer
model_run(struct run *r, const void *input)
{
	const struct model_in *in = input;
	const char *verb = in->verb.text;

	if (!verb || strcmp(verb, "list") == 0)
		return list_models(r, in);
	if (strcmp(verb, "compare") == 0)
		return compare_models(r, in);
	if (strcmp(verb, "import") == 0)
		return import_model(r, in);
	if (strcmp(verb, "show") == 0 && in->names.n == 0) {
		diag_error(r->diag, in->verb.from, "show which model?");
		diag_hint(r->diag, "'ridge model list' shows their names");
		return REFUSED;
	}
	const struct word name = strcmp(verb, "show") == 0 ? in->names.list[0] : in->verb;
	if (in->names.n > (strcmp(verb, "show") == 0 ? 1 : 0)) {
		diag_error(r->diag, in->names.list[in->names.n - 1].from, "one model at a time");
		diag_hint(r->diag, "for several: ridge model compare");
		return REFUSED;
	}
	return show_model(r, in, name);
}

static const struct example model_examples[] = {
    {"model list llama", "models with `llama` in their name", 0},
    {"model show deepseek-v3", "parameters by part, FLOP per token, cache and checkpoint", 0},
    {"model compare llama3-8b qwen3-8b mistral-7b", "side by side", 0},
    {"model gpt3-175b --seq 2048 --get n_params", "one number, for a script", 0},
};

const struct command model_command = {
    .name = "model",
    .section = "The database",
    .summary = "what a model is made of: parameters by part, FLOP per token, cache and checkpoint sizes",
    .operands = "verb names...",
    .usage = "[list|show|compare|import] [MODEL...]",
    .groups = model_groups,
    .n_groups = sizeof model_groups / sizeof *model_groups,
    .examples = model_examples,
    .n_examples = sizeof model_examples / sizeof *model_examples,
    .input_size = sizeof(struct model_in),
    .run = model_run,
};
