/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/memory_fit.h"

#include <stdio.h>
#include <string.h>

static bool
fits(const struct memory_job *job)
{
	return memory_verdict(job, memory_peak(NULL, job, NULL)) == FITS;
}

double
fit_gpus(const struct layout *l)
{
	return l->dp * l->tp * l->pp * l->cp;
}

void
fit_layout_text(const struct layout *l, char *buf, size_t size)
{
	const struct {
		const char *name;
		double degree;
	} degrees[] = {{"dp", l->dp}, {"tp", l->tp}, {"pp", l->pp}, {"vp", l->vp}, {"cp", l->cp}, {"ep", l->ep}, {"etp", l->etp},
	    {"zero", l->zero + 1.0}};
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof degrees / sizeof *degrees && n < size; i++)
		if (degrees[i].degree > 1)
			n += (size_t)snprintf(buf + n, size - n, "%s%s=%g", n ? "," : "", degrees[i].name,
			    degrees[i].degree - (i == 7 ? 1 : 0));
	if (l->sp && n < size)
		n += (size_t)snprintf(buf + n, size - n, "%ssp", n ? "," : "");
	if (n == 0)
		snprintf(buf, size, "dp=1");
}

/* --- the largest -------------------------------------------------------------------------------------------------------- */

/* The largest k in 1 .. most whose job fits: what fits at k fits at less. */
static double
largest(const struct memory_job *job, void (*set)(struct memory_job *, double), double most)
{
	struct memory_job trial = *job;
	double low = 0, high = 1;

	for (; high <= most; high *= 2) {
		set(&trial, high);
		if (!fits(&trial))
			break;
		low = high;
	}
	while (high - low > 1) {
		const double middle = floor((low + high) / 2);
		set(&trial, middle);
		*(fits(&trial) ? &low : &high) = middle;
	}
	return low;
}

static void
set_batch(struct memory_job *job, double k)
{
	job->batch.value = k;
}

double
fit_largest_batch(const struct memory_job *job)
{
	return largest(job, set_batch, 1 << 20);
}

/* Sequences are tried in multiples of 128 tokens per context-parallel rank. */
static double
sequence_step(const struct memory_job *job)
{
	return 128 * job->layout.cp;
}

static void
set_sequence(struct memory_job *job, double k)
{
	job->seq.value = k * sequence_step(job);
}

double
fit_longest_sequence(const struct memory_job *job)
{
	return sequence_step(job) * largest(job, set_sequence, 1 << 18);
}

/* --- the fewest GPUs ----------------------------------------------------------------------------------------------------- */

static bool
divides_heads(const struct workload *w, double tp)
{
	for (int i = 0; i < w->n_blocks; i++)
		if (fmod(w->blocks[i].attention.n_heads.value, tp) != 0)
			return false;
	return true;
}

static double
n_experts(const struct workload *w)
{
	double n = 0;

	for (int i = 0; i < w->n_blocks; i++)
		if (w->blocks[i].moe.given)
			n = fmax(n, w->blocks[i].moe.n_experts.value);
	return n;
}

/* Experts spread over as many ranks as there are: the largest power of two that divides both. */
static double
widest_experts(const struct memory_job *job, const struct layout *l)
{
	const double experts = n_experts(job->model), ranks = l->dp * l->cp * l->tp / l->etp;
	double ep = 1;

	if (!job->stack->expert)
		return 1;
	while (fmod(experts, 2 * ep) == 0 && fmod(ranks, 2 * ep) == 0 && 2 * ep <= experts)
		ep *= 2;
	return ep;
}

static void
set_layout(struct memory_job *job, double n, double tp, double pp)
{
	struct layout *l = &job->layout;

	if (pp != l->pp) {
		l->vp = 1;
		job->n_stage_layers = 0;
	}
	l->sp = tp > 1 && job->stack->sequence;
	l->tp = tp;
	l->pp = pp;
	l->dp = n / (tp * pp * l->cp);
	l->etp = 1;
	l->shard = l->dp * l->cp;
	l->ep = n_experts(job->model) > 0 ? widest_experts(job, l) : 1;
}

static bool
may_split(const struct memory_job *job, int tp, int pp)
{
	return (tp == 1 || job->stack->tensor) && divides_heads(job->model, tp) && (pp == 1 || job->stack->pipeline) &&
	    pp <= (int)job->model->n_layers.value;
}

/* Among layouts of n GPUs the one with the fewest model-parallel ranks, tensor parallel before pipeline. */
static bool
fits_gpus(const struct memory_job *job, int n, int n_node, struct memory_fix *out)
{
	const int cp = (int)job->layout.cp, most = n_node * (int)job->model->n_layers.value;

	for (int ranks = job->use == STACK_INFER ? n : 1; ranks <= n && ranks <= most; ranks++)
		for (int tp = n_node; tp >= 1 && n % (ranks * cp) == 0; tp--) {
			struct memory_job trial = *job;
			if (ranks % tp != 0 || !may_split(job, tp, ranks / tp))
				continue;
			set_layout(&trial, n, tp, ranks / tp);
			if (!fits(&trial))
				continue;
			out->job = trial;
			out->n_gpus = n;
			out->need_byte = memory_peak(NULL, &trial, NULL);
			out->verdict = FITS;
			fit_layout_text(&trial.layout, out->change, sizeof out->change);
			return true;
		}
	return false;
}

/* Nothing divides the states further than over all GPUs. */
static double
states_of_one(const struct memory_job *job)
{
	struct memory_job whole = *job;
	struct memory_use use;

	set_layout(&whole, 1 * job->layout.cp, 1, 1);
	whole.layout.shard = 1;
	memory_at(NULL, &whole, 0, job->use == STACK_INFER ? MOMENT_SERVING : MOMENT_BACKWARD, &use);
	return use.weights + use.gradients + use.optimizer;
}

bool
fit_fewest_gpus(const struct memory_job *job, double n_node, struct memory_fix *out)
{
	const double states = states_of_one(job), limit = memory_limit(NULL, job);

	for (int n = 1; n <= 16384; n = n < 8 ? n + 1 : n < 64 ? n + 8 : 2 * n)
		if (states <= n * limit && fits_gpus(job, n, (int)n_node, out))
			return true;
	return false;
}

/* --- changes that make it fit ---------------------------------------------------------------------------------------------- */

/* Each makes one change if it applies, writes the option that makes it, and says so. */
struct change {
	bool (*make)(struct memory_job *job, double n_node, char *text, size_t size);
	bool layout; /* the layout's text is written from the result */
};

static bool
recompute_modules(struct memory_job *job, double n_node, char *text, size_t size)
{
	bool latent = false, experts = false;

	(void)n_node;
	if (job->stack->rules != RULES_MEGATRON_CORE || job->recompute != RECOMPUTE_NONE)
		return false;
	for (int i = 0; i < job->model->n_blocks; i++) {
		latent = latent || job->model->blocks[i].attention.kind == ATTENTION_MLA;
		experts = experts || job->model->blocks[i].moe.given;
	}
	if (!latent && !experts)
		return false;
	job->recompute = RECOMPUTE_MODULES;
	job->modules = (latent ? 1u << MODULE_MLA_UP_PROJ | 1u << MODULE_LAYERNORM : 0) | (experts ? 1u << MODULE_MOE_ACT : 0);
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
	if (job->use == STACK_INFER || job->layout.tp < 2 || job->layout.sp || !job->stack->sequence)
		return false;
	job->layout.sp = true;
	return true;
}

static bool
next_zero(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	(void)text;
	(void)size;
	if (job->use == STACK_INFER || job->layout.shard < 2 || job->layout.zero >= (int)datum_or(job->stack->max_zero, 0))
		return false;
	job->layout.zero++;
	return true;
}

static bool
smaller_batch(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	if (job->batch.value < 2)
		return false;
	job->batch.value = floor(job->batch.value / 2);
	snprintf(text, size, "--batch %g", job->batch.value);
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
	if (!job->stack->tensor || 2 * job->layout.tp > n_node || !divides_heads(job->model, 2 * job->layout.tp))
		return false;
	job->layout.sp = job->stack->sequence && job->use == STACK_TRAIN;
	return doubled(job, &job->layout.tp);
}

static bool
more_pipeline(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	(void)text;
	(void)size;
	if (!job->stack->pipeline || 2 * job->layout.pp * job->layout.vp > job->model->n_layers.value)
		return false;
	job->n_stage_layers = 0;
	return doubled(job, &job->layout.pp);
}

static bool
more_context(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	(void)text;
	(void)size;
	if (job->use == STACK_INFER || !job->stack->context || fmod(job->seq.value, 2 * job->layout.cp) != 0 || !job->flash)
		return false;
	return doubled(job, &job->layout.cp);
}

static bool
more_experts(struct memory_job *job, double n_node, char *text, size_t size)
{
	struct layout *l = &job->layout;

	(void)n_node;
	(void)text;
	(void)size;
	if (!job->stack->expert || fmod(n_experts(job->model), 2 * l->ep) != 0 || n_experts(job->model) < 2 * l->ep ||
	    fmod(l->dp * l->cp * l->tp, 2 * l->ep * l->etp) != 0)
		return false;
	l->ep *= 2;
	return true;
}

static bool
smaller_optimizer(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	if (job->use == STACK_INFER || job->optimizer != OPTIMIZER_ADAM || job->lora_rank.value > 0 || job->offload & OFFLOAD_OPTIMIZER)
		return false;
	job->optimizer = OPTIMIZER_ADAM8BIT;
	snprintf(text, size, "--optimizer adam8bit");
	return true;
}

static bool
offload_optimizer(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	if (job->use == STACK_INFER || job->offload & OFFLOAD_OPTIMIZER)
		return false;
	job->offload |= OFFLOAD_OPTIMIZER;
	snprintf(text, size, "--offload optimizer%s%s", job->offload & OFFLOAD_PARAMS ? ",params" : "",
	    job->offload & OFFLOAD_ACTIVATIONS ? ",activations" : "");
	return true;
}

static bool
quantise(struct memory_job *job, double n_node, char *text, size_t size)
{
	const bool adapters = job->use == STACK_TRAIN && job->lora_rank.value > 0 && job->stack->quantised_base;

	(void)n_node;
	if (job->quant != QUANT_NONE || (job->use == STACK_TRAIN && !adapters))
		return false;
	job->quant = adapters ? QUANT_NF4 : QUANT_FP8;
	snprintf(text, size, "--quant %s", quant_name(job->quant));
	return true;
}

static bool
quantise_more(struct memory_job *job, double n_node, char *text, size_t size)
{
	(void)n_node;
	if (job->use == STACK_TRAIN || quant_bits(job->quant) < 8)
		return false;
	job->quant = QUANT_INT4;
	snprintf(text, size, "--quant int4");
	return true;
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
    {smaller_batch, false},
    {quantise, false},
    {quantise_more, false},
    {more_tensor, true},
    {more_context, true},
    {more_pipeline, true},
    {smaller_optimizer, false},
    {offload_optimizer, false},
};
enum { N_CHANGES = sizeof changes / sizeof *changes, ENOUGH = 3 };

/* Apply change c again and again as long as it applies: one doubling may not do. */
static bool
make_change(int c, struct memory_job *job, double n_node, int times, char *text, size_t size)
{
	for (int i = 0; i < times; i++)
		if (!changes[c].make(job, n_node, text, size))
			return false;
	return true;
}

static void
evaluate(struct memory_fix *fix)
{
	fix->need_byte = memory_peak(NULL, &fix->job, NULL);
	fix->verdict = memory_verdict(&fix->job, fix->need_byte);
	fix->n_gpus = fit_gpus(&fix->job.layout);
}

static void
write_change(struct memory_fix *fix, bool layout, const char *option)
{
	char text[80] = "";

	if (layout)
		fit_layout_text(&fix->job.layout, text, sizeof text);
	snprintf(fix->change, sizeof fix->change, "%s%s%s%s", layout ? "--layout " : "", text, layout && *option ? " " : "", option);
}

/* The fewest repetitions of a change with which it fits. */
static bool
single(const struct memory_job *job, double n_node, int c, struct memory_fix *fix)
{
	for (int times = 1; times <= 10; times++) {
		char text[80] = "";
		fix->job = *job;
		if (!make_change(c, &fix->job, n_node, times, text, sizeof text))
			return false;
		evaluate(fix);
		write_change(fix, changes[c].layout, text);
		if (fix->verdict == FITS)
			return true;
	}
	return false;
}

static bool
pair(const struct memory_job *job, double n_node, int a, int b, struct memory_fix *fix)
{
	for (int times = 1; times <= 6; times++) {
		char one[60] = "", two[60] = "", both[124];
		fix->job = *job;
		if (!make_change(a, &fix->job, n_node, 1, one, sizeof one) ||
		    !make_change(b, &fix->job, n_node, times, two, sizeof two))
			return false;
		evaluate(fix);
		snprintf(both, sizeof both, "%s%s%s", one, *one && *two ? " " : "", two);
		write_change(fix, changes[a].layout || changes[b].layout, both);
		if (fix->verdict == FITS)
			return true;
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
	struct memory_fix fix;
	int n = 0;

	for (int c = 0; c < N_CHANGES; c++)
		if (single(job, n_node, c, &fix))
			n = insert(out, n, most, &fix);
	const int n_single = n;
	for (int a = 0; a < N_CHANGES && n_single < ENOUGH; a++)
		for (int b = 0; b < N_CHANGES; b++)
			if (a != b && pair(job, n_node, a, b, &fix) && !stands(out, n, &fix))
				n = insert(out, n, most, &fix);
	return n;
}

/* --- bare numbers ------------------------------------------------------------------------------------------------------------ */

double
numbers_largest_batch(const struct memory_numbers *in, double limit_byte)
{
	struct memory_numbers trial = *in;
	double low = 0, high = 1;

	for (; high <= 1 << 20; high *= 2) {
		trial.batch.value = high;
		if (numbers_total(NULL, &trial) > limit_byte)
			break;
		low = high;
	}
	while (high - low > 1) {
		const double middle = floor((low + high) / 2);
		trial.batch.value = middle;
		*(numbers_total(NULL, &trial) <= limit_byte ? &low : &high) = middle;
	}
	return low;
}

double
numbers_fewest_gpus(const struct memory_numbers *in, double limit_byte)
{
	struct memory_numbers trial = *in;

	for (double n = 1; n <= 65536; n = n < 1024 ? n + 1 : 2 * n) {
		trial.n_ranks = n;
		if (numbers_total(NULL, &trial) <= limit_byte)
			return n;
	}
	return 0;
}
