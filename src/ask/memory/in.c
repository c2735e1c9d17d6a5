/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read the words of memory inputs; memory estimates from bare numbers. */
#include "ask/memory/memory.h"

#include "ask/bind/bind.h"
#include "base/base.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#define THIS struct memory_in
const struct option memory_rows[] = {MEMORY_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct training_in
const struct option training_rows[] = {TRAINING_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct serving_in
const struct option serving_rows[] = {SERVING_OPTIONS(OPTION_ROW)};
#undef THIS

/* --- words --------------------------------------------------------------------------------------------------- */

static bool
unknown(struct run *r, struct word word, const char *what, const char *const *names, size_t n)
{
	const char *near = text_nearest(word.text, names, n);

	diag_error(r->diag, word.from, "'%s' is not %s", word.text, what);
	if (near) {
		diag_hint(r->diag, "did you mean '%s'?", near);
		return false;
	}
	const char *all = "";
	for (size_t i = 0; i < n; i++)
		all = arena_printf(r->arena, "%s%s%s", all, i ? " " : "", names[i]);
	diag_hint(r->diag, "one of: %s", all);
	return false;
}

/* --- recomputation --------------------------------------------------------------------------------------- */

/* The number behind `every-`; 0 when it is none. */
static double
number_behind(const char *text, const char *begin)
{
	char *end;

	if (!text_begins(text, begin))
		return 0;
	const long n = strtol(text + strlen(begin), &end, 10);
	return *end == '\0' && n > 0 && n <= 10000 ? (double)n : 0;
}

static bool
whole_policy(const char *text, enum recompute *policy, double *n, unsigned *modules)
{
	static const struct {
		const char *name;
		enum recompute policy;
		double n;
		unsigned modules;
	} policies[] = {{"none", RECOMPUTE_NONE, 1, 0}, {"full", RECOMPUTE_FULL, 1, 0}, {"op", RECOMPUTE_OP, 1, 0},
	    {"sqrt", RECOMPUTE_UNIFORM, 0, 0}, {"selective", RECOMPUTE_MODULES, 1, 1u << MODULE_CORE_ATTN}};

	for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
		if (strcmp(text, policies[i].name) == 0) {
			*policy = policies[i].policy;
			*n = policies[i].n;
			*modules = policies[i].modules;
			return true;
		}
	static const struct {
		const char *begin;
		enum recompute policy;
	} counted[] = {{"every-", RECOMPUTE_EVERY}, {"uniform-", RECOMPUTE_UNIFORM}, {"block-", RECOMPUTE_BLOCK},
	    {"offload-", RECOMPUTE_OFFLOAD}};
	*modules = 0;
	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
		*policy = counted[i].policy;
		*n = number_behind(text, counted[i].begin);
		if (*n > 0)
			return true;
	}
	return false;
}

static bool
module_bit(const char *text, unsigned *modules)
{
	for (int m = 0; m < N_MODULES; m++)
		if (strcmp(text, module_name((enum module)m)) == 0) {
			*modules |= 1u << m;
			return true;
		}
	return false;
}

bool
memory_recompute(struct run *r, const struct words *list, enum recompute *policy, double *n, unsigned *modules)
{
	static const char *const names[] = {
	    "none", "full", "op", "sqrt", "selective", "every-2", "uniform-2", "block-1", "offload-1",
#define MODULE(id, text, title) text,
	    MODULES(MODULE)
#undef MODULE
	};
	unsigned found = 0;

	if (list->n == 1 && whole_policy(list->list[0].text, policy, n, modules))
		return true;
	for (size_t i = 0; i < list->n; i++) {
		double ignored_n;
		unsigned ignored;
		if (module_bit(list->list[i].text, &found))
			continue;
		if (!whole_policy(list->list[i].text, policy, &ignored_n, &ignored))
			return unknown(r, list->list[i], "a policy or a module", names, sizeof names / sizeof *names);
		diag_error(r->diag, list->list[i].from, "'%s' cannot be combined", list->list[i].text);
		diag_hint(r->diag, "combine only modules: core_attn,moe_act");
		return false;
	}
	*policy = found ? RECOMPUTE_MODULES : RECOMPUTE_NONE;
	*n = 1;
	*modules = found;
	return true;
}

bool
memory_interval(struct run *r, const struct words *list, double n, struct datum n_layers)
{
	if (!datum_given(n_layers) || n <= n_layers.value)
		return true;
	diag_error(r->diag, list->list[0].from, "%s: the model has %g layers", list->list[0].text, n_layers.value);
	diag_hint(r->diag, "use at most %g", n_layers.value);
	return false;
}

/* --- lists ----------------------------------------------------------------------------------------------- */

bool
memory_offload(struct run *r, const struct words *list, unsigned *states, unsigned *modules)
{
	enum { N = N_OFFLOADS + N_OFFLOAD_MODULES };
	const char *names[N];

	*states = *modules = 0;
	for (int k = 0; k < N; k++)
		names[k] =
		    k < N_OFFLOADS ? offload_name(k) : offload_module_name((enum offload_module)(k - N_OFFLOADS));
	for (size_t i = 0; i < list->n; i++) {
		size_t k = 0;
		while (k < N && strcmp(list->list[i].text, names[k]) != 0)
			k++;
		if (k == N)
			return unknown(
			    r, list->list[i], "optimizer, params, activations or a module of a layer", names, N);
		if (k < N_OFFLOADS)
			*states |= 1u << k;
		else
			*modules |= 1u << (k - N_OFFLOADS);
	}
	return true;
}

bool
memory_targets(struct run *r, const struct words *list, unsigned *out)
{
	const char *names[N_TARGETS];

	*out = 0;
	for (int t = 0; t < N_TARGETS; t++)
		names[t] = target_name((enum target)t);
	for (size_t i = 0; i < list->n; i++) {
		int t = 0;
		if (strcmp(list->list[i].text, "all") == 0) {
			*out |= (1u << TARGET_EMBED) - 1; /* of the layers */
			continue;
		}
		while (t < N_TARGETS && strcmp(list->list[i].text, names[t]) != 0)
			t++;
		if (t == N_TARGETS)
			return unknown(
			    r, list->list[i], "one of q k v o gate up down all embed prompt outputs", names, N_TARGETS);
		*out |= 1u << t;
	}
	return true;
}

bool
memory_stages(struct run *r, const struct words *list, const int **layers, int *n)
{
	enum { MOST = 4096 };
	int *out = ARENA_ARRAY(r->arena, int, MOST);

	*n = 0;
	*layers = out;
	for (size_t i = 0; i < list->n; i++) {
		char *end;
		const long count = strtol(list->list[i].text, &end, 10);
		const long times = *end == '*' ? strtol(end + 1, &end, 10) : 1;
		if (*end || count < 0 || count > 10000 || times < 1 || times > MOST - *n) {
			diag_error(r->diag, list->list[i].from, "'%s' is not a number of layers", list->list[i].text);
			diag_hint(r->diag, "write 3,4*14,2 for 3 layers, fourteen stages of 4, and 2");
			return false;
		}
		for (long k = 0; k < times; k++)
			out[(*n)++] = (int)count;
	}
	return true;
}

/* --- names
 * -------------------------------------------------------------------------------------------------------------------
 */

void
memory_optimizer(const char *name, enum optimizer *out)
{
	*out = OPTIMIZER_ADAM; /* adamw differs in its step alone */
	for (int o = 0; o < N_OPTIMIZERS; o++)
		if (strcmp(name, optimizer_name((enum optimizer)o)) == 0)
			*out = (enum optimizer)o;
}

enum state_scheme
memory_scheme(const char *name)
{
	return strcmp(name, "mixed") == 0 ? STATES_MIXED : strcmp(name, "fp32") == 0 ? STATES_FP32 : STATES_PURE;
}

enum quant
memory_quant(const char *name)
{
	for (int q = 0; name && q < N_QUANTS; q++)
		if (strcmp(name, quant_name((enum quant)q)) == 0)
			return (enum quant)q;
	return QUANT_NONE;
}

bool
memory_is_numbers(const struct memory_question *q)
{
	return !q->memory->model.text;
}

/* --- the card -------------------------------------------------------------------------------------------- */

bool
run_card(struct run *r, const struct memory_in *in, struct datum *card, const struct gpu **gpu)
{
	*card = in->gpu_mem;
	*gpu = NULL;
	struct word name;
	if (!run_gpu_name(r, in->gpu, in->system, &name))
		return false;
	if (name.text) {
		*gpu = run_gpu(r, name);
		if (!*gpu)
			return false;
		*card = bind_card(r, *gpu, in->gpu_mem);
	}
	if (datum_given(in->headroom) && in->headroom.value >= 1) {
		diag_error(r->diag, in->headroom.from, "--headroom %g leaves no memory", in->headroom.value);
		diag_hint(r->diag, "write for example 0.2 or 20%%");
		return false;
	}
	if (datum_given(*card) && !(card->value > 0)) {
		diag_error(r->diag, card->from, "the GPU memory must be greater than 0");
		return false;
	}
	return true;
}

/* --- bare numbers ---------------------------------------------------------------------------------------- */

static struct datum
plain(double value)
{
	return (struct datum){value, {inputs_default, 0, 0, NULL, false}};
}

/* Not an assumption: it follows from what was said. */
static struct datum
derived(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

/* Bytes of a parameter's parts follow from the types: a 16-bit run keeps fp32 masters. */
static void
bytes_per_param(struct run *r, const struct memory_question *q, bool infer, struct memory_numbers *out)
{
	const enum dtype dtype = dtype_find(run_word(r, "dtype", q->memory->dtype));
	const bool wide = dtype == DTYPE_FP32 || dtype == DTYPE_TF32;
	const char *states = q->training->states.text, *gradient = q->training->grad_dtype.text;
	const char *moment = q->training->moment_dtype.text;
	const bool pure = states && strcmp(states, "pure") == 0, fp32 = wide || (states && strcmp(states, "fp32") == 0);
	enum optimizer optimizer;

	out->elem_byte = dtype_byte(dtype);
	out->weight_byte = derived(fp32 ? 4 : 2);
	if (infer) {
		out->weight_byte = derived(out->elem_byte);
		out->gradient_byte = out->master_byte = out->moment_byte = derived(0);
		return;
	}
	memory_optimizer(run_word(r, "optimizer", q->training->optimizer), &optimizer);
	run_reads(r, &q->training->states, &q->training->grad_dtype, &q->training->moment_dtype, NULL);
	out->gradient_byte = derived(gradient ? dtype_byte(dtype_find(gradient)) : out->weight_byte.value);
	out->master_byte = derived(fp32 || pure ? 0 : 4);
	out->n_moments = optimizer_moments(optimizer);
	out->moment_byte =
	    derived(moment ? dtype_byte(dtype_find(moment)) : optimizer_moment_byte(optimizer, pure && !fp32));
}

static bool
numbers_whole(struct run *r, const struct memory_question *q)
{
	const struct memory_in *m = q->memory;
	const struct numbers_in *n = q->numbers;

	return run_whole(r, "--batch", m->batch, 1) & run_whole(r, "--global-batch", m->global_batch, 1) &
	    run_whole(r, "--microbatches", m->microbatches, 1) & run_whole(r, "--seq", m->seq, 1) &
	    run_whole(r, "--gpus", m->gpus, 1) & run_whole(r, "--layers", n->layers, 1) &
	    run_whole(r, "--hidden", n->hidden, 1) & run_whole(r, "--heads", n->heads, 1) &
	    run_whole(r, "--head-dim", n->head_dim, 1) & run_whole(r, "--params", n->params, 1);
}

/* Bare numbers know no layers to split. */
static bool
numbers_layout(struct run *r, const struct memory_question *q, struct memory_numbers *out)
{
	struct layout layout;

	if (!run_layout(r, q->layout, q->memory->gpus, NULL, &layout))
		return false;
	if (layout.tp * layout.pp * layout.cp * layout.vp * layout.ep > 1) {
		diag_error(r->diag, q->memory->gpus.from, "--params supports only dp and zero");
		diag_hint(r->diag, "name a model to use tp, pp, cp and ep");
		return false;
	}
	out->n_ranks = layout.shard;
	if (datum_given(q->layout->zero) || q->layout->fsdp || datum_given(q->memory->global_batch))
		run_reads(r, &q->memory->gpus, NULL);
	run_reads(r, &q->layout->zero, &q->layout->fsdp, &q->layout->shard, NULL);
	out->zero = layout.zero;
	if (layout.zero > 0 && layout.shard < 2)
		run_warn(r, "zero=%d shards nothing on one GPU: add --gpus", layout.zero);
	return true;
}

/* A model of layers has at least one vector of the hidden size in each. */
static bool
numbers_size(struct run *r, const struct numbers_in *in)
{
	if (!datum_given(in->params) || !datum_given(in->layers) || !datum_given(in->hidden) ||
	    in->params.value >= in->layers.value * in->hidden.value)
		return true;
	diag_error(r->diag, in->params.from, "%g parameters do not match %g layers of hidden size %g", in->params.value,
	    in->layers.value, in->hidden.value);
	diag_hint(r->diag, "a transformer of this shape has about %.2g",
	    12 * in->layers.value * in->hidden.value * in->hidden.value);
	return false;
}

static bool
numbers_policy(struct run *r, const struct memory_question *q, struct memory_numbers *out)
{
	unsigned modules;

	run_reads(r, &q->training->recompute, NULL);
	if (!memory_recompute(r, &q->training->recompute, &out->recompute, &out->recompute_n, &modules) ||
	    !memory_interval(r, &q->training->recompute, out->recompute_n, q->numbers->layers))
		return false;
	if (out->recompute != RECOMPUTE_MODULES && out->recompute != RECOMPUTE_OP &&
	    out->recompute != RECOMPUTE_BLOCK && out->recompute != RECOMPUTE_OFFLOAD &&
	    (out->recompute != RECOMPUTE_UNIFORM || out->recompute_n == 0))
		return true;
	diag_error(r->diag, q->training->recompute.list[0].from, "%s needs the layers of a model",
	    q->training->recompute.list[0].text);
	diag_hint(r->diag, "with --params use none, full, every-2 or sqrt, or name a model");
	return false;
}

/* Ranks that share nothing but the batch and, under ZeRO, the states. */
static bool
numbers_batch(struct run *r, const struct memory_question *q, struct memory_numbers *out)
{
	const struct memory_in *in = q->memory;
	const struct layout l = {.dp = out->n_ranks, .tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .etp = 1};
	struct batch b = {.seq_length = out->seq};

	out->batch = in->batch;
	if (!datum_given(in->global_batch))
		return true;
	if (!bind_microbatches(r, in, &l, &b))
		return false;
	out->batch = b.n_sequences;
	return true;
}

bool
run_memory_numbers(struct run *r, const struct memory_question *q, struct memory_numbers *out)
{
	const struct memory_in *m = q->memory;
	const bool infer = m->infer || strcmp(m->use.text, "infer") == 0;

	*out = (struct memory_numbers){.n_params = q->numbers->params,
	    .hidden = q->numbers->hidden,
	    .n_layers = q->numbers->layers,
	    .n_heads = q->numbers->heads,
	    .head_dim = q->numbers->head_dim,
	    .activations_byte = q->numbers->activations,
	    .context_byte = datum_absent()};
	run_reads(r, &m->infer, &m->use, NULL);
	if (!memory_says_use(r, m) || !numbers_whole(r, q) || !numbers_size(r, q->numbers) ||
	    !numbers_layout(r, q, out) || !numbers_policy(r, q, out))
		return false;
	bytes_per_param(r, q, infer, out);
	out->seq = datum_given(m->seq) ? m->seq : plain(4096);
	if (!numbers_batch(r, q, out))
		return false;
	out->units12 = strcmp(q->numbers->act_model.text, "simple12") == 0;
	out->flash = q->training->attention.text && strcmp(q->training->attention.text, "flash") == 0;
	if (infer && !datum_given(out->activations_byte))
		out->activations_byte = derived(0);
	unsigned offload, modules;
	if (!memory_offload(r, &q->training->offload, &offload, &modules))
		return false;
	if (modules)
		return memory_refuse(r, q->training->offload.list[0].from, "--offload of modules needs a named model",
		    "name a model, or use --offload optimizer");
	if (!infer)
		run_reads(r, &q->training->offload, NULL);
	if (!out->units12)
		run_reads(r, &q->training->attention, &q->numbers->heads, NULL);
	if (!datum_given(out->activations_byte))
		run_reads(r, &q->numbers->act_model, NULL);
	out->offload_optimizer = offload & OFFLOAD_OPTIMIZER;
	if (!out->units12 && !out->flash && !datum_given(out->n_heads) && datum_given(out->hidden)) {
		diag_error(
		    r->diag, q->numbers->act_model.from, "--act-model full needs --heads for the attention scores");
		diag_hint(r->diag, "add --heads, or --attention flash");
		return false;
	}
	return true;
}
