/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Legal layouts: degrees that divide the GPUs and the model, under the pins and the rules of the framework. */
#include "search/layout/layout.h"

#include "search/plan/plan.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static bool
refuse(struct search *s, enum layout_rule rule)
{
	s->out->n_refused[rule]++;
	return false;
}

static bool
pinned(const struct search *s, enum layout_degree d, double value)
{
	return layout_pin_allows(&s->space->pins[d], value);
}

int
layout_most_batch(const struct layout_space *space)
{
	double most = space->batches.n ? 1 : MOST_MICRO_BATCH;

	for (int i = 0; i < space->batches.n; i++)
		most = fmax(most, space->batches.ranges[i].high);
	return (int)fmin(most, SHRT_MAX);
}

/* PyTorch runs interleaved stages in rounds of equal length of at least pp micro-batches, Megatron in groups of pp. */
bool
layout_interleaves(const struct layout_space *space, const struct layout *l, int vp, double n_sequences)
{
	const double n_micro = space->n_global_sequences / (l->dp * n_sequences);
	const bool rounds = layout_is_titan(space->memory.stack);

	return vp == 1 || fmod(n_micro, rounds ? fmax(1, floor(n_micro / l->pp)) : l->pp) == 0;
}

static size_t
n_policies(const struct layout_space *space, const struct layout *l, int vp)
{
	struct layout own = *l;
	size_t n = 0;

	own.vp = vp;
	for (int p = 0; p < space->n_policies; p++)
		n += layout_policy_holds(space, &own, p);
	return n;
}

/* Chunks of a stage, with as many layers in each or, if there is no such number, as few more in some as can be.  Who
 * names stages and chunks has the latter too. */
static void
list_chunks(const struct search *s, struct layout_family *f)
{
	const struct layout_space *space = s->space;
	const struct stack *stack = space->memory.stack;
	const double pp = f->layout.pp, most = fmin(layout_most_chunks(space->memory.model) / pp, MOST_CHUNKS);
	const bool free = layout_splits_freely(stack),
	           named = space->pins[DEGREE_PP].n > 0 && space->pins[DEGREE_VP].n > 0;

	f->n_vp = 0;
	for (int even = 1; even >= 0 && f->n_vp == 0; even--)
		for (int vp = 1; vp <= most; vp++)
			if (pinned(s, DEGREE_VP, vp) && (vp == 1 || (pp > 1 && !space->memory.gpipe)) &&
			    (pp == 1 || (free && (named || !even)) ||
			        layout_splits_evenly(stack, space->memory.model, pp * vp)))
				f->vp[f->n_vp++] = (short)vp;
}

/* Chunks of a stage and micro-batches of a family. */
static bool
list_members(struct search *s, struct layout_family *f)
{
	const struct layout_space *space = s->space;
	const struct stack *stack = space->memory.stack;
	const struct layout *l = &f->layout;
	const double n = space->n_global_sequences / l->dp;

	f->n_batches = 0;
	for (int b = 1; b <= layout_most_batch(space); b++)
		if (fmod(n, b) == 0 && layout_pin_allows(&space->batches, b) && f->n_batches < MOST_BATCHES) {
			if (!train_may_pack(stack, space->ask.packed_length, b))
				break;
			f->batches[f->n_batches++] = (short)b;
		}
	if (n >= 1 && f->n_batches == 0 && !train_may_pack(stack, space->ask.packed_length, layout_most_batch(space)))
		return refuse(s, LAYOUT_PACKED);
	if (n != floor(n) || f->n_batches == 0)
		return refuse(s, LAYOUT_BATCH);
	list_chunks(s, f);
	if (f->n_vp == 0)
		return refuse(s, LAYOUT_STAGES);
	f->n_members = 0;
	for (int b = 0; b < f->n_batches; b++)
		for (int v = 0; v < f->n_vp; v++)
			f->n_members +=
			    layout_interleaves(space, l, f->vp[v], f->batches[b]) ? n_policies(space, l, f->vp[v]) : 0;
	return f->n_members > 0 || refuse(s, LAYOUT_INTERLEAVED);
}

static bool
is_legal(struct search *s, const struct layout_family *f)
{
	struct train_job job = s->job;
	struct layout_row row = {.layout = f->layout, .n_sequences = f->batches[0]};
	struct memory_job memory;

	layout_memory_job(s->space, &row, &memory);
	job.layout = f->layout;
	job.layout.vp = f->vp[0];
	job.n_sequences = f->batches[0];
	const enum train_refusal why = train_impossible(&job);
	if (why == TRAIN_ANSWERED && fit_may_train(&memory))
		return true;
	if (s->out->why == TRAIN_ANSWERED)
		s->out->why = why;
	return refuse(s, LAYOUT_STACK);
}

static void
add_family(struct search *s, const struct layout *l)
{
	struct layout_family f = {.layout = *l};

	if (!list_members(s, &f) || !is_legal(s, &f))
		return;
	if (s->n_families == s->room) {
		struct layout_family *more = ARENA_ARRAY(s->arena, struct layout_family, 2 * s->room + 256);
		for (size_t i = 0; i < s->n_families; i++)
			more[i] = s->families[i];
		s->families = more;
		s->room = 2 * s->room + 256;
	}
	s->families[s->n_families++] = f;
	s->out->n_searched += (double)f.n_members;
}

/* What dp and the stage of ZeRO may be. */
static void
add_sharded(struct search *s, struct layout l, int zero)
{
	const struct layout_space *space = s->space;

	l.dp = space->n_gpus / (l.tp * l.pp * l.cp);
	if (!pinned(s, DEGREE_DP, l.dp))
		return;
	l.zero = zero;
	if (!memory_optimizer_holds(&space->memory, &l)) {
		refuse(s, space->memory.optimizer_in_backward ? LAYOUT_BACKWARD : LAYOUT_OPTIMIZER);
		return;
	}
	l.shard = space->shard > 0 ? space->shard : l.dp * l.cp;
	if (fmod(l.dp * l.cp, l.shard) != 0)
		return;
	if (workload_has_experts(space->memory.model) && l.shard < l.dp * l.cp && !layout_copies_experts(&l)) {
		refuse(s, LAYOUT_EXPERT_COPIES);
		return;
	}
	add_family(s, &l);
}

/* All pipelines of a layer. */
static void
add_block(struct search *s, struct layout l, int zero, bool usual)
{
	const struct layout_space *space = s->space;
	const struct stack *stack = space->memory.stack;
	const size_t first = s->n_families;
	const double ranks = space->n_gpus / (l.tp * l.cp), most = space->memory.model->n_layers.value;

	for (double pp = 1; pp <= fmin(ranks, stack->pipeline ? most : 1); pp++) {
		l.pp = pp;
		if (!pinned(s, DEGREE_PP, pp) || (pp == 1 && space->pipelines))
			continue;
		if (fmod(ranks, pp) != 0) {
			if (space->pins[DEGREE_PP].n)
				refuse(s, LAYOUT_WORLD);
			continue;
		}
		if (fmod(space->n_gpus / pp, l.ep * l.etp) != 0) {
			refuse(s, LAYOUT_EXPERT_RANKS);
			continue;
		}
		/* a single replica has nothing to shard: that is the usual layout once more */
		if (!usual && !space->pins[DEGREE_ZERO].n &&
		    (ranks / pp * l.cp <= 1 || (zero > 1 && pp > 1 && stack->zero_on_request)))
			continue;
		/* with few replicas the stack shards nothing unless told to */
		const bool told = space->pins[DEGREE_ZERO].n > 0 && pinned(s, DEGREE_ZERO, zero);
		const int stage = usual && !told
		    ? layout_usual_zero(stack, space->memory.lora_rank.value > 0, ranks / pp * l.cp)
		    : zero;
		if (!usual || pinned(s, DEGREE_ZERO, stage))
			add_sharded(s, l, stage);
	}
	if (s->n_families == first)
		return;
	if (s->n_blocks == s->room_blocks) {
		struct layout_block *more = ARENA_ARRAY(s->arena, struct layout_block, 2 * s->room_blocks + 64);
		for (size_t i = 0; i < s->n_blocks; i++)
			more[i] = s->blocks[i];
		s->blocks = more;
		s->room_blocks = 2 * s->room_blocks + 64;
	}
	s->blocks[s->n_blocks++] = (struct layout_block){first, s->n_families - first};
}

/* Full sharding where it is a choice is one without a pipeline, whose micro-batches would each gather all parameters.
 */
static bool
is_choice(const struct layout_space *s, int usual, int zero)
{
	if (s->memory.optimizer_in_backward)
		return zero == 0;
	if (usual == 3)
		return zero == 2;
	if (s->memory.stack->zero_on_request)
		return zero >= 2 && s->shards && !memory_is_precision_aware(&s->memory);
	return zero > usual;
}

/* The usual stage of ZeRO, and others that were asked for or that are a choice: keeping the parameters where they are
 * sharded, sharding them where they are not. */
static void
add_stages(struct search *s, const struct layout *l)
{
	const struct layout_space *space = s->space;
	const struct stack *stack = space->memory.stack;
	const struct layout_pin *pin = &space->pins[DEGREE_ZERO];
	const int usual = layout_usual_zero(stack, space->memory.lora_rank.value > 0, 2);

	add_block(s, *l, usual, true);
	for (int zero = 0; zero <= (int)datum_or(stack->max_zero, 0); zero++)
		if (zero != usual && (pin->n ? pinned(s, DEGREE_ZERO, zero) : is_choice(space, usual, zero)))
			add_block(s, *l, zero, false);
}

/* HybridEP joins the experts of one rack. */
static bool
leaves_rack(const struct search *s, double ep)
{
	const struct train_machine *m = &s->space->ask.machine;

	return s->space->memory.stack->hybrid_ep && s->job.dedup && train_is_rack(m) && ep > m->n_domain;
}

static void
add_experts(struct search *s, struct layout l)
{
	const double experts = fit_experts(s->space->memory.model);

	for (double ep = 1; ep <= fmax(1, experts); ep++) {
		const bool may = ep == 1 || s->space->memory.stack->expert;
		if (!may || !pinned(s, DEGREE_EP, ep))
			continue;
		if (ep > 1 && fmod(experts, ep) != 0) {
			if (s->space->pins[DEGREE_EP].n)
				refuse(s, LAYOUT_EXPERTS);
			continue;
		}
		if (leaves_rack(s, ep)) {
			refuse(s, LAYOUT_RACK);
			continue;
		}
		l.ep = ep;
		l.etp = 1;
		if (pinned(s, DEGREE_ETP, 1))
			add_stages(s, &l);
		l.etp = l.tp;
		if (experts > 0 && l.tp > 1 && pinned(s, DEGREE_ETP, l.tp))
			add_stages(s, &l);
	}
}

static void
add_contexts(struct search *s, struct layout l)
{
	const struct layout_space *space = s->space;

	for (double cp = 1; cp <= (space->memory.stack->context && space->memory.flash ? space->n_gpus / l.tp : 1);
	     cp *= 2) {
		if (!pinned(s, DEGREE_CP, cp) || fmod(space->n_gpus / l.tp, cp) != 0)
			continue;
		l.cp = cp;
		if (fmod(space->memory.seq.value, layout_sequence_unit(space->memory.stack, space->memory.model, &l)) !=
		    0) {
			refuse(s, LAYOUT_SEQUENCE);
			continue;
		}
		add_experts(s, l);
	}
}

void
layout_enumerate(struct search *s)
{
	const struct layout_space *space = s->space;
	const struct memory_job *m = &space->memory;
	const double most = !m->stack->tensor ? 1
	    : space->across                   ? space->n_gpus
	                                      : fmin(space->n_gpus, space->ask.machine.n_domain);

	for (double tp = 1; tp <= most; tp++) {
		if (!pinned(s, DEGREE_TP, tp))
			continue;
		if (fmod(space->n_gpus, tp) != 0) {
			if (space->pins[DEGREE_TP].n)
				refuse(s, LAYOUT_WORLD);
			continue;
		}
		if (!fit_divides_heads(m->model, tp)) {
			refuse(s, LAYOUT_TENSOR);
			continue;
		}
		add_contexts(s,
		    (struct layout){
		        .tp = tp, .vp = 1, .ep = 1, .etp = 1, .sp = !m->no_sp && layout_usual_sp(m->stack, tp)});
	}
}

/* --- rules, pins and recomputation policies ---------------------------------------------------------------------- */

static const struct {
	const char *what, *megatron, *torchtitan;
} rules[N_LAYOUT_RULES] = {
#define LAYOUT_RULE(id, what, megatron, torchtitan) {what, megatron, torchtitan},
    LAYOUT_RULES(LAYOUT_RULE)
#undef LAYOUT_RULE
};

const char *
layout_rule_text(enum layout_rule r)
{
	return rules[r].what;
}

const char *
layout_rule_place(enum layout_rule r, const struct stack *s)
{
	return s->rules == RULES_MEGATRON_CORE ? rules[r].megatron
	    : layout_is_titan(s)               ? rules[r].torchtitan
	                                       : "arithmetic";
}

const char *
layout_degree_name(enum layout_degree d)
{
	static const char *const names[N_DEGREES] = {"tp", "pp", "vp", "cp", "ep", "etp", "dp", "zero"};

	return names[d];
}

bool
layout_pin_allows(const struct layout_pin *p, double value)
{
	for (int i = 0; i < p->n; i++)
		if (value >= p->ranges[i].low && value <= p->ranges[i].high)
			return true;
	return p->n == 0;
}

static void
add_policy(struct layout_space *s, struct layout_policy p)
{
	if (s->n_policies < MOST_POLICIES)
		s->policies[s->n_policies++] = p;
}

static void
add_modules(struct layout_space *s, unsigned modules, const char *text)
{
	add_policy(s, (struct layout_policy){.recompute = RECOMPUTE_MODULES, .n = 1, .modules = modules, .text = text});
}

/* Modules of latent attention and of experts that published recipes recompute. */
static void
add_subsets(struct layout_space *s, bool latent, bool routes)
{
	enum {
		UP_PROJ = 1u << MODULE_MLA_UP_PROJ,
		NORM = 1u << MODULE_LAYERNORM,
		ACT = 1u << MODULE_MOE_ACT,
		EXPERTS = 1u << MODULE_MOE,
		DENSE = 1u << MODULE_MLP
	};
	static const struct {
		const char *text;
		unsigned modules;
		bool latent, routes; /* what the model has */
	} subsets[] = {
	    {"mla_up_proj", UP_PROJ, true, false},
	    {"layernorm", NORM, false, true},
	    {"moe_act", ACT, false, true},
	    {"layernorm,moe_act", NORM | ACT, false, true},
	    {"mla_up_proj,mlp", UP_PROJ | DENSE, true, true},
	    {"mla_up_proj,layernorm,moe_act", UP_PROJ | NORM | ACT, true, true},
	    {"layernorm,moe", NORM | EXPERTS, false, true},
	};

	for (size_t i = 0; i < sizeof subsets / sizeof *subsets; i++)
		if ((latent || !subsets[i].latent) && (routes || !subsets[i].routes))
			add_modules(s, subsets[i].modules, subsets[i].text);
}

static void
add_every(struct layout_space *s, double n, const char *text)
{
	add_policy(s, (struct layout_policy){.recompute = RECOMPUTE_EVERY, .n = n, .text = text});
}

/* Activations of a dense model in the host's memory: those of layers, or those of attention in all of them.  CUDA
 * graphs exclude both, which recipes of mixtures have (transformer_config.py). */
static void
add_offloads(struct layout_space *s)
{
	static const double layers[] = {1.0 / 4, 1.0 / 2, 3.0 / 4};

	for (size_t i = 0; s->shards && i < sizeof layers / sizeof *layers; i++)
		add_policy(s, (struct layout_policy){.recompute = RECOMPUTE_OFFLOAD, .chunk_frac = layers[i]});
	add_policy(s, (struct layout_policy){.n = 1, .text = "none", .away = AWAY_OF_ATTENTION});
}

/* Where memory counts, only of layers whose saved operators were listed. */
static void
add_operators(struct layout_space *s)
{
	struct memory_job job = s->memory;

	job.recompute = RECOMPUTE_OP;
	if (!s->modeled || !memory_lacks_rule(&job))
		add_policy(s, (struct layout_policy){.recompute = RECOMPUTE_OP, .n = 1, .text = "op"});
}

void
layout_policies(struct layout_space *s)
{
	const struct workload *w = s->memory.model;
	const bool megatron = s->memory.stack->rules == RULES_MEGATRON_CORE, routes = fit_experts(w) > 0;
	static const double shares[] = {1.0 / 10, 1.0 / 5, 1.0 / 4, 1.0 / 3, 1.0 / 2, 2.0 / 3, 3.0 / 4};

	add_policy(s, (struct layout_policy){.n = 1, .text = "none"});
	if (!s->memory.flash)
		add_modules(s, 1u << MODULE_CORE_ATTN, "selective");
	if (megatron)
		add_subsets(s, workload_has_latent(w), routes);
	if (layout_is_titan(s->memory.stack)) {
		add_every(s, 8, "every-8");
		add_every(s, 4, "every-4");
		add_operators(s);
		add_every(s, 2, "every-2");
	}
	if (megatron && !routes)
		add_offloads(s);
	for (size_t i = 0; megatron && i < sizeof shares / sizeof *shares; i++)
		add_policy(s, (struct layout_policy){.recompute = RECOMPUTE_BLOCK, .chunk_frac = shares[i]});
	add_policy(s, (struct layout_policy){.recompute = RECOMPUTE_FULL, .n = 1, .text = "full"});
}

double
layout_policy_n(const struct layout_space *s, const struct layout *l, int policy)
{
	const struct layout_policy *p = &s->policies[policy];

	return p->chunk_frac > 0 ? round(p->chunk_frac * recompute_chunk_layers(s->memory.model, l)) : p->n;
}

/* Layers are searched only with full sharding, as in published runs and recipes; when asked for, with any ZeRO stage.
 */
static bool
may_offload_layers(const struct layout_space *s, const struct layout *l, const struct layout_policy *p)
{
	return l->pp <= 1 && (p->text || l->zero == 3) && s->ask.machine.host_byte_per_s > 0;
}

/* Modules are searched only over NVLink, where recipes offload activations of dense models; over PCIe none does. */
static bool
may_offload_modules(const struct layout_space *s)
{
	return s->ask.machine.c2c && !s->memory.offload_modules && !(s->memory.offload & OFFLOAD_ACTIVATIONS);
}

bool
layout_policy_holds(const struct layout_space *s, const struct layout *l, int policy)
{
	const struct layout_policy *p = &s->policies[policy];

	if (p->recompute == RECOMPUTE_OFFLOAD && !may_offload_layers(s, l, p))
		return false;
	if (p->away && !may_offload_modules(s))
		return false;
	if (!memory_policy_offloads(&s->memory, p->recompute))
		return false;
	if (!(p->chunk_frac > 0))
		return true;
	const double n = p->chunk_frac * recompute_chunk_layers(s->memory.model, l);
	return n >= 0.5 && fabs(round(n) - n) < 1e-9;
}

const char *
layout_policy_text(struct arena *a, const struct layout_space *s, const struct layout *l, int policy)
{
	const struct layout_policy *p = &s->policies[policy];
	const char *form = p->recompute == RECOMPUTE_OFFLOAD ? "offload-%g" : "block-%g";

	return p->text ? p->text : arena_printf(a, form, layout_policy_n(s, l, policy));
}
