/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stack file: what a framework keeps in memory beside what the mathematics needs. */
#include "db/db.h"
#include "db/parts.h"

#include <string.h>

#define AT(member) offsetof(struct stack, member)

static const struct field counter_fields[] = {
    FIGURE(
        "allocated", Q_SIZE, counter_byte[COUNTER_ALLOCATED], 0, 1e12, "beside live tensors, in the allocator's count"),
    FIGURE("reserved", Q_SIZE, counter_byte[COUNTER_RESERVED], 0, 1e12, "beside live tensors, in the allocator's pool"),
    FIGURE("device", Q_SIZE, counter_byte[COUNTER_DEVICE], 0, 1e12, "beside live tensors, on the whole device"),
};
SCHEMA(counter_schema, "'counters'", struct stack, counter_fields);

static const struct field parallel_fields[] = {
    FLAG("tensor", tensor, "tensor parallelism"),
    FLAG("sequence", sequence, "norms and residuals divided over the tensor-parallel group"),
    FLAG("pipeline", pipeline, "pipeline stages"),
    FLAG("context", context, "context parallelism"),
    FLAG("expert", expert, "expert parallelism"),
    FLAG("zero_bubble", zero_bubble, "a pipeline schedule whose weight gradients fill the bubbles"),
    FIGURE("zero", Q_COUNT, max_zero, 0, 3, "highest ZeRO stage"),
};
SCHEMA(parallel_schema, "'parallel'", struct stack, parallel_fields);

static const struct field state_fields[] = {
    CHOICE("scheme", scheme, "mixed|fp32|pure",
        "16-bit parameters with fp32 masters, fp32 parameters, or 16-bit ones alone"),
    FIGURE("gradient", Q_SIZE, gradient_byte, 0, 64, "bytes of gradient per parameter; default: as the parameters"),
    CHOICE("gradients_held", gradients, "always|accumulating", "when gradients lie beside the loss"),
    FLAG("untied_head", unties_head, "the head is a matrix of its own where the model ties it to the token table"),
};
SCHEMA(state_schema, "'states'", struct stack, state_fields);

static const struct field adapter_fields[] = {
    FIGURE("bytes", Q_SIZE, adapter_byte, 1, 8, "bytes of one adapter parameter"),
    FLAG("dropout", adapter_dropout, "adapters are usually trained with dropout"),
    FLAG("fused_qkv", fused_qkv_adapters, "one adapter kernel for q, k and v: three copies whatever is adapted"),
    FLAG("quantised_base", quantised_base, "the frozen base may be quantised"),
    FLAG("fused_casts", fused_casts, "inputs are cast inside the adapters' kernels: no copy is kept"),
    FLAG("casts_rest", casts_for_quantised, "k-bit training casts what is not quantised to fp32"),
};
SCHEMA(adapter_schema, "'adapters'", struct stack, adapter_fields);

static const struct field saved_fields[] = {
    FLAG("eager_norm", eager_norm, "norms keep an fp32 copy of their input too"),
    FLAG("eager_norm_compiled", eager_norm_compiled, "... also when the model is compiled"),
    FLAG("expanded_kv", expanded_kv, "keys and values are repeated for every query head"),
    FLAG("fused_activation", fused_activation, "the MLP's activation keeps gate and up alone"),
    FLAG("value_view", v_view, "values stay a view of the fused output of queries, keys and values"),
    FLAG("quantised_inputs", keeps_quantised_inputs, "products with quantised weights keep their inputs"),
    FLAG("fp32_inputs", keeps_fp32_inputs, "... in fp32"),
    FLAG("flash", flash, "attention is usually one kernel that keeps no scores"),
    FLAG("dropout", dropout, "models are usually trained with dropout"),
    FIGURE("eager_policy", Q_SIZE, eager_policy_byte, 0, 100,
        "beside the per-operator policy, run eagerly: per hidden element"),
    FLAG("late_probabilities", late_probabilities, "router weights are applied to the experts' output"),
    FLAG("permute_fusion", permute_fusion, "the permutation of routed tokens keeps a map"),
};
SCHEMA(saved_schema, "'saved'", struct stack, saved_fields);

static const struct field buffer_fields[] = {
    FIGURE("step", Q_SIZE, step_byte, 0, 64, "temporary of the optimizer's step, per trainable parameter of the rank"),
    FIGURE("subgroup", Q_SIZE, subgroup_byte, 0, 64, "the same for a step that goes by groups"),
    FIGURE("subgroup_params", Q_COUNT, subgroup_param, 1, 1e13, "parameters of a group, at most"),
    FIGURE("bucket", Q_SIZE, bucket_byte, 0, 64, "reduction buckets, per parameter"),
    FIGURE("bucket_params", Q_COUNT, bucket_param, 1, 1e13, "parameters in buckets, at most"),
    FIGURE("live", Q_SIZE, live_byte, 0, 1e12, "gathered and prefetched parameters of ZeRO-3, at most"),
    FLAG("frozen_base", gathers_frozen_base,
        "full sharding keeps a frozen base gathered until the backward pass ends, beside its own part"),
    FIGURE("quantised", Q_NUMBER, n_quantised_buffers, 0, 100, "dequantised copies of the largest map"),
    FIGURE("workspace", Q_SIZE, workspace_byte, 0, 1e11, "workspaces of matrix products"),
    FIGURE("expert_workspace", Q_SIZE, expert_workspace_byte, 0, 1e11, "the same with grouped products of experts"),
};
SCHEMA(buffer_schema, "'buffers'", struct stack, buffer_fields);

static const struct field serving_fields[] = {
    CHOICE("pool", pool, "none|card|static|free",
        "none: the cache grows; card: a share of the card; static: for weights and cache; free: of what is left"),
    FIGURE("utilization", Q_NUMBER, utilization, 0, 1, "the pool's share"),
    FIGURE("block", Q_COUNT, block_token, 1, 1e6, "tokens of a block of the cache"),
    FIGURE("batch_tokens", Q_COUNT, batch_token, 1, 1e8, "tokens of one step, at most; absent: whole prompts"),
    FIGURE("sampler_rows", Q_COUNT, sampler_rows, 1, 1e6, "sequences that the engine profiles its sampler with"),
    FIGURE("sampler", Q_SIZE, sampler_byte, 0, 1e3, "... bytes of each per vocabulary entry"),
    FIGURE("cache_copies", Q_NUMBER, n_kv_copies, 1, 10, "copies of a cache that grows by concatenation"),
};
SCHEMA(serving_schema, "'serving'", struct stack, serving_fields);

#define LOSS(member) offsetof(struct loss, member)
static const struct field loss_fields[] = {
    {.key = "name", .kind = FIELD_TEXT, .offset = LOSS(name), .required = true, .help = "what --loss calls it"},
    {.key = "bytes",
        .kind = FIELD_QUANTITY,
        .quantity = Q_SIZE,
        .offset = LOSS(logit_byte),
        .max = 1000,
        .required = true,
        .help = "bytes held per logit when they are most"},
};
SCHEMA(loss_schema, "a loss", struct loss, loss_fields);

#define MATCH(member) offsetof(struct stack_match, member)
#define MONTH(key_, member, help_)                                                                                     \
	{                                                                                                              \
		.key = key_, .kind = FIELD_QUANTITY, .quantity = Q_NUMBER, .offset = MATCH(member), .min = 201001,     \
		.max = 210012, .help = help_                                                                           \
	}
static const struct field match_fields[] = {
    {.key = "says",
        .kind = FIELD_TEXT,
        .offset = MATCH(says),
        .required = true,
        .help = "a part of source or software"},
    {.key = "software", .kind = FIELD_TEXT, .offset = MATCH(software), .help = "a part of the software's name beside"},
    {.key = "precision", .kind = FIELD_TEXT, .offset = MATCH(precision), .help = "what is said of the precision"},
    MONTH("from", from, "the first year and month, 202407"),
    MONTH("before", before, "the year and month after the last"),
    {.key = "refused", .kind = FIELD_TEXT, .offset = MATCH(refused), .help = "why such runs say nothing of it"},
};
SCHEMA(match_schema, "a match", struct stack_match, match_fields);

static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "version of this form: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true, .help = "the name that people read"},
    {.key = "aliases", .kind = FIELD_IGNORED, .help = "other names; case and punctuation do not count"},
    {.key = "sources", .kind = FIELD_IGNORED, .help = "short keys for citations"},
    {.key = "extends", .kind = FIELD_IGNORED, .help = "another stack whose file this one is laid over"},
    CHOICE("use", use, "train|infer", "what it is for"),
    CHOICE("rules", rules, "operators|megatron-core", "which list of saved tensors holds"),
    FIGURE("safety", Q_NUMBER, safety, 1, 10, "95 % of measured peaks are below the predicted one times this"),
    SUB("counters", counter_schema, "what each way of measuring shows beyond live tensors"),
    SUB("parallel", parallel_schema, "which forms of parallelism it has"),
    SUB("states", state_schema, "weights, gradients and optimizer states"),
    SUB("adapters", adapter_schema, "low-rank adapters; absent: it trains none"),
    SUB("saved", saved_schema, "what its layers save for the backward pass"),
    SUB("buffers", buffer_schema, "what it allocates beside states and activations"),
    {.key = "logits",
        .kind = FIELD_LIST,
        .sub = &loss_schema,
        .offset = AT(losses),
        .extra = AT(n_losses),
        .help = "implementations of the loss, bytes per logit"},
    {.key = "loss", .kind = FIELD_TEXT, .offset = AT(loss), .help = "the usual one of `logits`"},
    {.key = "loss_compiled", .kind = FIELD_TEXT, .offset = AT(loss_compiled), .help = "the usual one when compiled"},
    {.key = "loss_parallel", .kind = FIELD_TEXT, .offset = AT(loss_parallel), .help = "the usual one with tp above 1"},
    SUB("time", stack_time_schema, "what a training step costs beside the mathematics"),
    SUB("serving", serving_schema, "engines: the pool of the cache"),
    {.key = "match",
        .kind = FIELD_LIST,
        .sub = &match_schema,
        .offset = AT(matches),
        .extra = AT(n_matches),
        .help = "what published runs call it"},
    {.key = "notes", .kind = FIELD_TEXT, .offset = AT(notes), .help = "what users trip over"},
};
const struct schema stack_schema = {"a stack", sizeof(struct stack), fields, sizeof fields / sizeof *fields};

static bool
has_loss(const struct stack *s, const char *name)
{
	for (int i = 0; i < s->n_losses; i++)
		if (s->losses[i].name && strcmp(s->losses[i].name, name) == 0)
			return true;
	return false;
}

static bool
check_loss(struct binder *b, const struct node *root, const struct stack *s, const char *key, const char *name)
{
	if (!name || has_loss(s, name))
		return true;
	diag_error(b->diag, tree_get(root, key)->at, "'logits' has no loss '%s'", name);
	return false;
}

static bool
finish_training(struct binder *b, const struct node *root, const struct stack *s)
{
	if (s->n_losses > 0 && s->loss)
		return check_loss(b, root, s, "loss", s->loss) &
		    check_loss(b, root, s, "loss_compiled", s->loss_compiled) &
		    check_loss(b, root, s, "loss_parallel", s->loss_parallel);
	diag_error(b->diag, root->at, "a training stack needs 'logits' and which of them is the usual 'loss'");
	return false;
}

/* A pool without its share, or a cache without its blocks, cannot be sized. */
static bool
finish_serving(struct binder *b, const struct node *root, const struct stack *s)
{
	if (datum_given(s->block_token) && (s->pool == POOL_NONE || datum_given(s->utilization)))
		return true;
	diag_error(b->diag, root->at, "an engine needs serving.block, and serving.utilization with a pool");
	return false;
}

static bool
has_counter(const struct stack *s)
{
	for (int i = 0; i < N_COUNTERS; i++)
		if (datum_given(s->counter_byte[i]))
			return true;
	return false;
}

bool
stack_bind(struct binder *b, const struct node *root, const char *id, struct stack *out)
{
	if (!schema_bind(b, &stack_schema, root, out))
		return false;
	out->id = id;
	out->lora = tree_get(root, "adapters") != NULL;
	out->time.given = tree_get(root, "time") != NULL;
	if (out->time.given && !stack_time_whole(b, tree_get(root, "time"), &out->time))
		return false;
	if (!has_counter(out)) {
		diag_error(b->diag, root->at, "a stack needs one of 'counters': what its peaks are compared with");
		return false;
	}
	return out->use == STACK_TRAIN ? finish_training(b, root, out) : finish_serving(b, root, out);
}

/* What published runs call a stack does not hold for those that extend it. */
static const struct node *
without_match(struct arena *a, const struct node *base)
{
	struct node *const copy = ARENA_NEW(a, struct node);
	const struct node **keys = ARENA_ARRAY(a, const struct node *, base->n + 1);
	const struct node **items = ARENA_ARRAY(a, const struct node *, base->n + 1);

	*copy = *base;
	copy->n = 0;
	copy->keys = keys;
	copy->items = items;
	for (size_t i = 0; i < base->n; i++) {
		if (base->keys[i]->text && strcmp(base->keys[i]->text, "match") == 0)
			continue;
		keys[copy->n] = base->keys[i];
		items[copy->n++] = base->items[i];
	}
	return copy;
}

enum { MOST_EXTENSIONS = 4 };

static const struct node *
extended(struct database *db, struct arena *a, struct diag *d, const struct node *root, int depth)
{
	const struct node *name = tree_get(root, "extends");
	const char *id, *said;

	if (!name)
		return root;
	if (depth == MOST_EXTENSIONS || name->kind != NODE_SCALAR || !name->text) {
		diag_error(d, name->at, "'extends' is the name of a stack that does not extend this one");
		return NULL;
	}
	const struct node *base = database_open(db, ENTRY_STACK, name->text, name->at, &id, &said);
	base = base ? extended(db, a, d, base, depth + 1) : NULL;
	return base ? tree_overlay(a, without_match(a, base), root) : NULL;
}

const struct node *
stack_extended(struct database *db, struct arena *a, struct diag *d, const struct node *root)
{
	return root ? extended(db, a, d, root, 0) : NULL;
}

const struct stack *
database_stack(struct database *db, struct arena *a, struct diag *d, const char *name, const struct node *overlay,
    struct source at, const char **announce)
{
	const char *id;
	const struct node *root = database_open(db, ENTRY_STACK, name, at, &id, announce);
	struct stack *stack = ARENA_NEW(a, struct stack);

	if (!root)
		return NULL;
	root = stack_extended(db, a, d, root);
	if (!root)
		return NULL;
	root = tree_overlay(a, root, overlay);
	struct binder b = {.arena = a, .diag = d, .sources = tree_get(root, "sources")};
	return stack_bind(&b, root, id, stack) ? stack : NULL;
}
