/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert one published training run to the inputs of `ridge train` and `ridge memory`: layout, batch, policies, and
 * defaults for missing columns. */
#include "ask/validate/validate.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { VOLTA = 0, AMPERE = 1 };

/* --- the network ----------------------------------------------------------------------------------------- */

/* Line rates of what a fabric is called, bit/s of one port. */
static const struct {
	const char *word;
	double bit_per_s;
} ports[] = {{"XDR", 800e9}, {"NDR", 400e9}, {"HDR", 200e9}, {"EDR", 100e9}, {"Omni-Path", 100e9}};

/* The number before `x` in `8x NDR`, going back from `at`; 1 where there is none. */
static double
count_before(const char *text, const char *at)
{
	for (const char *p = at; p > text; p--)
		if ((*p == 'x' || *p == 'X') && isdigit((unsigned char)p[-1])) {
			const char *q = p;
			while (q > text && isdigit((unsigned char)q[-1]))
				q--;
			return strtod(q, NULL);
		} else if (*p == ',' || *p == '+')
			break;
	return NAN;
}

/* `400 Gb/s`: the last number before the unit. */
static double
rate_in(const char *text, const char **at)
{
	const char *unit = strstr(text, "Gb/s");

	unit = unit ? unit : strstr(text, "Gb/Sec");
	unit = unit ? unit : strstr(text, "Gbps");
	if (!unit)
		return NAN;
	const char *p = unit;
	while (p > text && p[-1] == ' ')
		p--;
	while (p > text && (isdigit((unsigned char)p[-1]) || p[-1] == '.'))
		p--;
	*at = p;
	return strtod(p, NULL) * 1e9;
}

/* Bytes per second of one GPU's share of what connects the nodes; NaN where the row does not tell. */
static double
nic_of(const char *text, double n_node)
{
	const char *compute = text ? strstr(text, "Compute:") : NULL, *at = text;

	if (!text)
		return NAN;
	if (!compute && (strstr(text, "Storage") || strstr(text, "Management")))
		return NAN; /* lists of networks that were cut short */
	text = compute ? compute : text;
	double bit_per_s = rate_in(text, &at);
	if (!isnan(bit_per_s)) {
		/* `32x100 Gb/s per node` is a sum as well */
		const double n = count_before(text, at);
		if (strstr(text, "per node"))
			return (isnan(n) ? 1 : n) * bit_per_s / 8 / n_node;
		if (strstr(text, "per GPU"))
			return bit_per_s / 8;
		return isnan(n) ? NAN : n * bit_per_s / 8 / n_node;
	}
	for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
		at = strstr(text, ports[i].word);
		const double n = at ? count_before(text, at) : NAN;
		if (!isnan(n))
			return n * ports[i].bit_per_s / 8 / n_node;
	}
	return NAN;
}

/* Nodes with fewer GPUs than those of the usual system, but not parts of a rack that NVLink joins; and what connects
 * them.  Omni-Path without GPUDirect reaches 55 % of its rate: a fit to published runs. */
void
train_row_network(struct published *p, const struct gpu *gpu)
{
	enum { LARGEST_NODE = 16 };
	struct run look = run_quiet(&p->run);
	const double n_node = row_number(p->row, "gpus_per_node"),
	             n_domain = run_domain_gpus(run_usual_system(&look, gpu));
	const double nic = nic_of(row_text(p->row, "interconnect"), n_node >= 1 ? n_node : 8);
	const bool omni_path = row_has(p->row, "interconnect", "Omni-Path");

	if (n_node >= 1 && n_node < n_domain && n_domain <= LARGEST_NODE)
		published_number(p, "node_gpus", n_node);
	if (nic > 0 || omni_path)
		published_set(p, "nic_bandwidth", arena_printf(p->arena, "%.17gB/s", nic > 0 ? nic : 12.5e9));
	if (omni_path)
		published_number(p, "nic_efficiency", 0.55);
}

/* --- layout, batch and policies -------------------------------------------------------------------------- */

/* Chunks of a stage: printed, in the notes, or one layer each where all that is said is that they interleave. */
static void
set_chunks(struct published *p)
{
	const double pp = row_number(p->row, "pp"), noted = published_figure(p, "notes.vp");
	double vp = row_number(p->row, "vp");

	if (!(pp > 1))
		return;
	if (isnan(vp) && noted >= 1)
		vp = noted;
	else if (isnan(vp) && published_fact(p, "notes.interleaved"))
		vp = ceil(p->n_layers / pp);
	published_number(p, "layout.vp", vp);
}

static void
set_offload(struct published *p)
{
	if (published_fact(p, "sharding.states") || published_fact(p, "offload.states"))
		published_set(p, "offload", row_has(p->row, "sharding", "FSDP") ? "params,optimizer" : "optimizer");
}

/* Recomputation as the stack has it: of operators, or of modules, which a note may name. */
static void
set_recompute(struct published *p)
{
	const char *policy = published_fact(p, "recompute.policy");
	const char *named = published_fact(p, "recompute.modules"), *noted = published_fact(p, "notes.modules");
	const char *modules = named ? named : noted;
	const bool megatron = p->stack->rules == RULES_MEGATRON_CORE;

	if (modules && megatron)
		policy = modules;
	else if (policy && strcmp(policy, "selective") == 0)
		policy = p->stack->time.selects_operators ? "op" : megatron ? "core_attn,mla_up_proj" : "core_attn";
	published_set(p, "recompute", policy);
}

/* The loss by what it does, under the stack's own name of it. */
static void
set_loss(struct published *p)
{
	static const struct {
		const char *said, *names[4];
	} losses[] = {{"fused", {"te", "fused-linear", "chunked", "compiled"}},
	    {"chunked", {"chunked", "fused-linear"}}, {"compiled", {"compiled"}}};
	const char *said = published_fact(p, "notes.loss");

	for (size_t i = 0; said && i < sizeof losses / sizeof *losses; i++)
		for (int n = 0; strcmp(said, losses[i].said) == 0 && n < 4 && losses[i].names[n]; n++)
			for (int k = 0; k < p->stack->n_losses; k++)
				if (strcmp(p->stack->losses[k].name, losses[i].names[n]) == 0) {
					published_set(p, "loss", p->stack->losses[k].name);
					return;
				}
}

static void
set_layout(struct published *p)
{
	const struct validate_row *row = p->row;
	const double accumulated = row_number(row, "grad_accum") * row_number(row, "dp") * row_number(row, "mbs");

	if (row_number(row, "tp") > 8)
		published_set(p, "layout.across", "true");
	if (published_fact(p, "offload.some"))
		p->warning = "offload of some layers' activations is not counted";
	published_number(p, "layout.shard", published_figure(p, "sharding.group"));
	if (!published_input(p, "global_batch"))
		published_number(p, "global_batch", accumulated);
	else if (accumulated > 0 && accumulated != row_number(row, "gbs"))
		p->warning = "gbs is not dp x mbs x grad_accum";
}

void
published_policies(struct published *p)
{
	set_chunks(p);
	set_offload(p);
	set_recompute(p);
	set_loss(p);
}

/* Samples of tuning sets are short, and frameworks pack them; MLPerf packs its set to the full length and says so.
 * Adapters of rank 16 are the commonest. */
static void
set_tuning(struct published *p)
{
	const double rank = published_figure(p, "notes.rank"), seq_length = row_number(p->row, "seq");

	if (published_fact(p, "notes.packed"))
		published_number(p, "packed", seq_length);
	else if (published_fact(p, "task.tunes") && p->stack->time.packs)
		published_number(p, "packed", fmin(256, seq_length));
	if (!published_fact(p, "task.adapters"))
		return;
	published_number(p, "lora_rank", rank > 0 ? rank : 16);
	published_set(p, "lora_targets", published_fact(p, "notes.targets"));
}

/* Before Hopper language models had no other type for products than those of 16 bits. */
static const char *
set_format(struct published *p, const struct gpu *gpu)
{
	const char *format = published_fact(p, "precision.format"), *capability = gpu->compute_capability;

	if (format) {
		published_set(p, "dtype", format);
		return NULL;
	}
	if (row_text(p->row, "precision"))
		return arena_printf(p->arena, "precision: '%s' is not a GEMM dtype", row_text(p->row, "precision"));
	if (!capability || strtod(capability, NULL) >= 9)
		return "precision not given";
	published_set(p, "dtype", gpu->lacks[PEAK_BF16] ? "fp16" : NULL);
	return NULL;
}

/* Whether anything is said of how the GPUs share the work. */
static bool
is_spread(const struct validate_row *row)
{
	static const char *const columns[] = {"tp", "pp", "cp", "dp", "ep", "sharding"};

	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		if (row_text(row, columns[i]))
			return true;
	return row_number(row, "num_gpus") <= 1;
}

/* Whether degrees that are all printed do not multiply to the printed GPUs. */
static bool
layout_contradicts(const struct validate_row *row)
{
	const double n = row_number(row, "num_gpus"), dp = row_number(row, "dp"), tp = row_number(row, "tp");
	const double pp = row_number(row, "pp"), cp = row_number(row, "cp");

	return tp > 0 && n > 0 && dp > 0 && tp * (pp > 0 ? pp : 1) * (cp > 0 ? cp : 1) * dp != n;
}

const char *
train_row_ask(struct published *p, const struct gpu *gpu)
{
	const char *why = published_model(p);

	if (!why)
		why = set_format(p, gpu);
	if (why)
		return why;
	if (published_sees(p))
		return "vision encoder not counted";
	if (!is_spread(p->row))
		return "layout not given";
	if (layout_contradicts(p->row))
		return "num_gpus: not tp x pp x cp x dp";
	if (!published_input(p, "stack"))
		published_set(p, "stack", p->stack->id);
	if (row_number(p->row, "peak_mem_gb") > 0 && published_counter(p))
		published_set(p, "counter", published_counter(p));
	published_set(p, "gpu", gpu->id);
	set_layout(p);
	published_policies(p);
	set_tuning(p);
	/* of late 2024: the model was compiled and the loss was not */
	if (strcmp(p->stack->id, "torchtitan") == 0 && published_input(p, "compile") &&
	    published_month(p->row) < 202501 && !(row_number(p->row, "tp") > 1))
		published_set(p, "loss", "eager");
	return NULL;
}

/* --- what the row leaves open ---------------------------------------------------------------------------- */

/* What of a card people fill with a peak that is surely no higher; a micro-batch of short sequences, in tokens. */
static const double FILLED = 0.85, SMALL_TOKENS = 2048, LONG_SEQUENCE = 32768;

static double
replicas(const struct validate_row *row)
{
	return row_number(row, "num_gpus") / (fmax(1, row_number(row, "tp")) * fmax(1, row_number(row, "pp")));
}

/*
 * Before anything is bound, where the row does not say:
 *   micro-batch    one sequence, or what has 2048 tokens
 *   long contexts  context parallelism that leaves a sequence to each replica
 */
void
train_row_defaults(struct published *p, struct train_doubts *doubts)
{
	const struct validate_row *row = p->row;
	const double seq = row_number(row, "seq"), gbs = row_number(row, "gbs");
	double cp = fmax(1, row_number(row, "cp")), dp = replicas(row) / cp, mbs = row_number(row, "mbs");

	if (isnan(mbs)) {
		mbs = seq < SMALL_TOKENS ? fmax(1, fmin(floor(gbs / dp), floor(SMALL_TOKENS / seq))) : 1;
		while (mbs > 1 && fmod(gbs / dp, mbs) != 0)
			mbs--;
		published_number(p, "batch", mbs);
		doubts->micro_batch_open = true;
	}
	if (!(seq >= LONG_SEQUENCE) || !(dp * mbs > gbs) || fmod(dp, 2) != 0)
		return;
	for (; dp * mbs > gbs && fmod(dp, 2) == 0; dp /= 2)
		cp *= 2;
	published_number(p, "layout.cp", cp);
}

static bool
fits(struct memory_job *job, double n_sequences, double n_global)
{
	struct memory_use use;

	job->dtype = DTYPE_BF16; /* a recipe keeps its policy where its products become narrower */
	job->batch.value = n_sequences;
	job->n_microbatches.value = n_global / (n_sequences * job->layout.dp);
	return memory_safe(NULL, memory_peak(NULL, job, &use), job->stack->safety) <=
	    FILLED * datum_or(job->card_byte, INFINITY);
}

/* Make the job for the memory model; adapters in a stack without LoRA measurements are trained as in torchtune. */
static bool
memory_of(struct published *p, const struct train_bound *b, struct memory_job *out)
{
	struct published other = *p;
	struct train_question q;
	struct run r;
	const struct gpu *gpu;

	*out = b->memory;
	if (!b->no_memory || !b->ask.adapters)
		return !b->no_memory;
	published_set(&other, "stack", "torchtune");
	published_number(&other, "layout.dp", b->ask.layout.dp * b->ask.layout.tp);
	published_set(&other, "layout.tp", "1");
	return published_ask(&other, &r, &q) && run_memory_job(&r, &q.memory, out, &gpu);
}

/*
 * After it was bound once, by what fits; true when it has to be bound again:
 *   recomputation  full where parameters are sharded and all activations would not fit, else none, or that of operators
 *                  where this is the framework's own default
 *   micro-batch    of a pipeline that starves: one sequence where the batch that people name is a replica's, else
 *                  the largest that gives each stage two and fits
 */
bool
train_row_fit(struct published *p, const struct train_bound *b, struct train_doubts *doubts)
{
	const double pp = b->ask.layout.pp, mbs = b->ask.n_sequences.value, global = b->ask.n_global_sequences.value;
	const double dp = b->ask.layout.dp;
	struct memory_job job;
	const bool known = memory_of(p, b, &job);
	bool again = false;

	if (!row_text(p->row, "recompute") && layout_is_fsdp(b->stack) && known) {
		const bool by_operator = b->stack->time.selects_operators;
		if (by_operator)
			job.recompute = RECOMPUTE_OP;
		const char *policy = !fits(&job, mbs, global) ? "full" : by_operator ? "op" : NULL;
		published_set(p, "recompute", policy);
		again = policy != NULL;
	}
	if (!(pp > 1) || !(mbs > 1) || global / (mbs * dp) >= pp)
		return again;
	double n = 1;
	while (!b->stack->time.local_batch && 2 * n <= mbs && global / (2 * n * dp) >= 2 * pp &&
	    fmod(global, 2 * n * dp) == 0 && (!known || fits(&job, 2 * n, global)))
		n *= 2;
	published_number(p, "batch", n);
	doubts->micro_batch_open = true;
	return true;
}
