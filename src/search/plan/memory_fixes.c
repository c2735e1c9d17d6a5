/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Find changes that make a job fit: one, or a pair where none is enough. */
#include "search/plan/plan.h"

#include <stdio.h>
#include <string.h>

/* Tokens of a rank of context parallelism: with fewer the exchange is all there is, and no step time is known. */
enum { LEAST_RANK_TOKENS = 128 };

/* Each makes one change if it applies, writes the option that makes it, and says so. */
struct change {
	bool (*make)(struct memory_job *job, double n_node, char *text, size_t size);
	bool layout; /* the layout's text is written from the result */
};

static bool
recompute_modules(struct memory_job *job, double n_node, char *text, size_t size)
{
	const bool latent = workload_has_latent(job->model), experts = workload_has_experts(job->model);

	(void)n_node;
	if (job->stack->rules != RULES_MEGATRON_CORE || job->recompute != RECOMPUTE_NONE)
		return false;
	if (!latent && !experts)
		return false;
	job->recompute = RECOMPUTE_MODULES;
	job->modules =
	    (latent ? 1u << MODULE_MLA_UP_PROJ | 1u << MODULE_LAYERNORM : 0) | (experts ? 1u << MODULE_MOE_ACT : 0);
	snprintf(text, size, "--recompute %s%s%s", latent ? "mla_up_proj,layernorm" : "", latent && experts ? "," : "",
	    experts ? "moe_act" : "");
	return true;
}

static bool
recompute_full(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	if (job->use == STACK_INFER || job->recompute == RECOMPUTE_FULL || job->recompute == RECOMPUTE_UNIFORM)
		return false;
	job->recompute = RECOMPUTE_FULL;
	job->recompute_n = 1;
	snprintf(text, size, "--recompute full");
	return true;
}

/* Another quarter of the layers, where plans search it: dense models of Megatron-Core without a pipeline. */
static bool
offload_layers(struct memory_job *job, double n_node, char *text, size_t size)
{
	const bool none = job->recompute == RECOMPUTE_NONE;
	const double n_layers = job->model->n_layers.value, n = (none ? 0 : job->recompute_n) + floor(n_layers / 4);

	(void)n_node;
	if (job->use == STACK_INFER || job->stack->rules != RULES_MEGATRON_CORE || job->layout.pp > 1 ||
	    fit_experts(job->model) > 0 || n_layers < 4 || n >= n_layers ||
	    !(none || job->recompute == RECOMPUTE_OFFLOAD))
		return false;
	job->recompute = RECOMPUTE_OFFLOAD;
	job->recompute_n = n;
	snprintf(text, size, "--recompute offload-%g", n);
	return true;
}

static bool
flash_attention(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	if (job->use == STACK_INFER || job->flash)
		return false;
	job->flash = true;
	snprintf(text, size, "--attention flash");
	return true;
}

static bool
sequence_parallel(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	(void)text;
	(void)size;
	if (job->use == STACK_INFER || job->layout.tp < 2 || job->layout.sp || job->no_sp || !job->stack->sequence)
		return false;
	job->layout.sp = true;
	return true;
}

/* With zero_on_request, the framework's name alone does not mean full sharding: the layout says so. */
static bool
next_zero(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	(void)text;
	(void)size;
	if (job->use == STACK_INFER || job->layout.shard < 2 ||
	    job->layout.zero >= (job->stack->zero_on_request ? 1 : (int)datum_or(job->stack->max_zero, 0)))
		return false;
	job->layout.zero++;
	return true;
}

/* The next smaller micro-batch with which the batch is still a whole number of them. */
static bool
smaller_batch(struct memory_job *job, double n_node, char *text, size_t size)
{
	double *n = job->use == STACK_INFER ? &job->batch.value : &job->said.n_sequences;

	(void)n_node;
	*n = job->batch.value;
	do
		*n = floor(*n / 2);
	while (*n >= 1 && !fit_settle(job));
	if (*n < 1)
		return false;
	snprintf(text, size, "--batch %g", *n);
	return true;
}

/* Twice the degree, out of the data-parallel replicas where they divide. */
static bool
doubled(struct memory_job *job, double *degree)
{
	struct layout *l = &job->layout;

	*degree *= 2;
	if (fmod(l->dp, 2) == 0 && fmod(l->dp / 2 * l->cp * l->tp, l->ep * l->etp) == 0)
		l->dp /= 2;
	l->shard = l->dp * l->cp;
	return true;
}

static bool
more_tensor(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)text;
	(void)size;
	if (!job->stack->tensor || 2 * job->layout.tp > n_node || !fit_divides_heads(job->model, 2 * job->layout.tp))
		return false;
	if (job->use == STACK_TRAIN)
		job->layout.sp = job->stack->sequence && !job->no_sp;
	doubled(job, &job->layout.tp);
	if (job->layout.ep < 2)
		job->layout.etp = layout_usual_etp(job->model, &job->layout);
	return true;
}

static bool
more_pipeline(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	(void)text;
	(void)size;
	if (!job->stack->pipeline || job->n_stage_layers > 0 ||
	    2 * job->layout.pp * job->layout.vp > job->model->n_layers.value ||
	    !layout_splits_evenly(job->stack, job->model, 2 * job->layout.pp * job->layout.vp))
		return false;
	return doubled(job, &job->layout.pp);
}

static bool
more_context(struct memory_job *job, double n_node, char *text, size_t size)
{
	struct layout twice = job->layout;

	(void)n_node;
	(void)text;
	(void)size;
	twice.cp *= 2;
	if (job->use == STACK_INFER || !job->stack->context || !job->flash ||
	    fmod(job->seq.value, layout_sequence_unit(job->stack, job->model, &twice)) != 0 ||
	    job->seq.value / twice.cp < LEAST_RANK_TOKENS)
		return false;
	return doubled(job, &job->layout.cp);
}

/* Twice as many ranks share the experts, each of them whole. */
static bool
more_experts(struct memory_job *job, double n_node, char *text, size_t size)
{
	struct layout *l = &job->layout;
	const double ep = 2 * l->ep * l->etp, experts = fit_experts(job->model);

	(void)n_node;
	(void)text;
	(void)size;
	if (!job->stack->expert || experts < ep || fmod(experts, ep) != 0 || fmod(l->dp * l->cp * l->tp, ep) != 0)
		return false;
	l->ep = ep;
	l->etp = 1;
	return true;
}

static bool
smaller_optimizer(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	if (job->use == STACK_INFER || job->optimizer != OPTIMIZER_ADAM || job->lora_rank.value > 0 ||
	    job->offload & OFFLOAD_OPTIMIZER || job->precision_aware)
		return false;
	if (job->stack->rules == RULES_MEGATRON_CORE) {
		job->precision_aware = job->scheme == STATES_MIXED;
		job->moment_dtype = DTYPE_BF16;
		snprintf(text, size, "--moment-dtype bf16");
		return job->precision_aware;
	}
	job->optimizer = OPTIMIZER_ADAM8BIT;
	snprintf(text, size, "--optimizer adam8bit");
	return true;
}

/* What experts read, or attention of a dense model, as Megatron-Core offloads it beside pipelines and recomputed
 * modules. */
static bool
offload_inputs(struct memory_job *job, double n_node, char *text, size_t size)
{
	const unsigned act = job->modules & 1u << MODULE_MOE_ACT ? 0 : 1u << AWAY_MOE_ACT;
	const unsigned inputs = fit_experts(job->model) > 0 ? 1u << AWAY_EXPERT_FC1 | act : AWAY_OF_ATTENTION;

	(void)n_node;
	(void)text;
	(void)size;
	if (job->use == STACK_INFER || job->stack->rules != RULES_MEGATRON_CORE ||
	    (job->offload_modules & inputs) == inputs)
		return false;
	job->offload_modules |= inputs;
	return memory_policy_offloads(job, job->recompute);
}

static bool
offload_optimizer(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	(void)text;
	(void)size;
	if (job->use == STACK_INFER || job->offload & OFFLOAD_OPTIMIZER ||
	    (job->stack->rules == RULES_MEGATRON_CORE && job->quantised_parameters && !(job->lora_rank.value > 0)))
		return false;
	job->offload |= OFFLOAD_OPTIMIZER;
	return true;
}

/* Served weights in a narrower type; embedding and head stay as they are. */
static bool
store_as(struct memory_job *job, enum dtype t, char *text, size_t size)
{
	static const enum model_part maps[] = {PART_MIXER, PART_MLP, PART_EXPERTS, PART_SHARED};
	bool narrower = false;

	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
		narrower = narrower || job->part_byte[maps[i]] > stored_byte(t);
		job->part_byte[maps[i]] = fmin(job->part_byte[maps[i]], stored_byte(t));
	}
	snprintf(text, size, "--weights-dtype %s", dtype_name(t));
	return narrower;
}

static bool
quantise(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	if (job->use == STACK_INFER)
		return store_as(job, DTYPE_FP8, text, size);
	if (job->quant != QUANT_NONE || !(job->lora_rank.value > 0) || !job->stack->quantised_base)
		return false;
	memory_quantise(job, QUANT_NF4);
	snprintf(text, size, "--quant %s", quant_name(job->quant));
	return true;
}

static bool
quantise_more(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	return job->use == STACK_INFER && store_as(job, DTYPE_INT4, text, size);
}

static bool
smaller_cache(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	if (job->use == STACK_TRAIN || job->kv_elem_byte < 2)
		return false;
	job->kv_elem_byte = 1;
	snprintf(text, size, "--kv-dtype fp8");
	return true;
}

/* Nearest first: what costs least comes before what changes the run. */
static const struct change changes[] = {
    {flash_attention, false},
    {next_zero, true},
    {sequence_parallel, true},
    {more_experts, true},
    {recompute_modules, false},
    {smaller_cache, false},
    {recompute_full, false},
    {offload_layers, false},
    {offload_inputs, false},
    {smaller_batch, false},
    {quantise, false},
    {quantise_more, false},
    {more_tensor, true},
    {more_context, true},
    {more_pipeline, true},
    {smaller_optimizer, false},
    {offload_optimizer, false},
};
enum { N_CHANGES = sizeof changes / sizeof *changes, ENOUGH = 3, MOST_TIMES = 7 };

/* Apply change c again and again as long as it applies: one doubling may not do. */
static bool
make_change(int c, struct memory_job *job, double n_node, int times, char *text, size_t size)
{
	for (int i = 0; i < times; i++)
		if (!changes[c].make(job, n_node, text, size))
			return false;
	return fit_settle(job) && fit_may_train(job) && !memory_lacks_rule(job) &&
	    memory_policy_offloads(job, job->recompute) && !(job->recompute == RECOMPUTE_OFFLOAD && job->layout.pp > 1);
}

static void
evaluate(struct memory_fix *fix)
{
	fix->need_byte = memory_peak(NULL, &fix->job, NULL);
	fix->verdict = memory_verdict(&fix->job, fix->need_byte);
	fix->n_gpus = fit_gpus(&fix->job.layout);
}

void
fit_offload_text(const struct memory_job *job, char *buf, size_t size)
{
	const unsigned all = job->offload | job->offload_modules << N_OFFLOADS;
	size_t n = 0;

	buf[0] = '\0';
	for (int k = 0; k < N_OFFLOADS + N_OFFLOAD_MODULES && n < size; k++)
		if (all >> k & 1)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? "," : "",
			    k < N_OFFLOADS ? offload_name(k)
			                   : offload_module_name((enum offload_module)(k - N_OFFLOADS)));
}

static void
write_change(const struct memory_job *job, struct memory_fix *fix, bool layout, const char *option)
{
	char text[80] = "", gpus[24] = "", offload[128] = " --offload ";
	const size_t n = strlen(offload);

	if (layout)
		fit_layout_text(&fix->job, text, sizeof text);
	if (fix->n_gpus != fit_gpus(&job->layout))
		snprintf(gpus, sizeof gpus, " --gpus %g", fix->n_gpus);
	if (fix->job.offload != job->offload || fix->job.offload_modules != job->offload_modules)
		fit_offload_text(&fix->job, offload + n, sizeof offload - n);
	else
		offload[0] = '\0';
	const char *first = layout || *option || !*offload ? offload : offload + 1;
	snprintf(fix->change, sizeof fix->change, "%s%s%s%s%s%s", layout ? "--layout " : "", text,
	    layout && *option ? " " : "", option, first, gpus);
}

/* No more than eight times the GPUs that were asked about: beyond that it is another question. */
static bool
is_near(const struct memory_job *job, const struct memory_fix *fix)
{
	return fix->n_gpus <= 8 * fit_gpus(&job->layout);
}

/* The fewest repetitions of a change with which it fits, 0 when none does. */
static int
single(const struct memory_job *job, double n_node, int c, struct memory_fix *fix)
{
	for (int times = 1; times <= 10; times++) {
		char text[80] = "";
		fix->job = *job;
		if (!make_change(c, &fix->job, n_node, times, text, sizeof text))
			return 0;
		evaluate(fix);
		write_change(job, fix, changes[c].layout, text);
		if (fix->verdict == FITS || !is_near(job, fix))
			return is_near(job, fix) ? times : 0;
	}
	return 0;
}

/* Change a once and b fewer than `below` times. */
static bool
pair(const struct memory_job *job, double n_node, int a, int b, int below, struct memory_fix *fix)
{
	for (int times = 1; times < below; times++) {
		char one[60] = "", two[60] = "", both[124];
		fix->job = *job;
		if (!make_change(a, &fix->job, n_node, 1, one, sizeof one) ||
		    !make_change(b, &fix->job, n_node, times, two, sizeof two))
			return false;
		evaluate(fix);
		snprintf(both, sizeof both, "%s%s%s", one, *one && *two ? " " : "", two);
		write_change(job, fix, changes[a].layout || changes[b].layout, both);
		if (fix->verdict == FITS || !is_near(job, fix))
			return is_near(job, fix);
	}
	return false;
}

/* Stable: those that need no more GPUs come first. */
static int
insert(struct memory_fix *out, int n, int most, const struct memory_fix *fix)
{
	int at = n;

	while (at > 0 && out[at - 1].n_gpus > fix->n_gpus)
		at--;
	if (at >= most)
		return n;
	const int kept = n < most ? n : most - 1;
	for (int i = kept; i > at; i--)
		out[i] = out[i - 1];
	out[at] = *fix;
	return n < most ? n + 1 : most;
}

/* The same change found by another way. */
static bool
stands(const struct memory_fix *list, int n, const struct memory_fix *fix)
{
	for (int i = 0; i < n; i++)
		if (list[i].need_byte == fix->need_byte && list[i].n_gpus == fix->n_gpus)
			return true;
	return false;
}

int
fit_fixes(const struct memory_job *job, double n_node, struct memory_fix *out, int most)
{
	int enough[N_CHANGES]; /* repetitions with which a change does it alone */
	struct memory_fix fix;
	int n = 0;

	for (int c = 0; c < N_CHANGES; c++) {
		enough[c] = single(job, n_node, c, &fix);
		if (enough[c])
			n = insert(out, n, most, &fix);
	}
	const int n_single = n;
	for (int a = 0; a < N_CHANGES && n_single < ENOUGH; a++)
		for (int b = 0; b < N_CHANGES; b++)
			if (a != b && enough[a] != 1 &&
			    pair(job, n_node, a, b, enough[b] ? enough[b] : MOST_TIMES, &fix) && !stands(out, n, &fix))
				n = insert(out, n, most, &fix);
	return n;
}
