/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules of the launchers, pins and recomputation policies. */
#include "search/layout/layout.h"

#include "search/plan/plan.h"

#include <string.h>

static const struct {
	const char *what, *megatron, *torchtitan;
} rules[N_LAYOUT_RULES] = {
#define LAYOUT_RULE(id, what, megatron, torchtitan) {what, megatron, torchtitan},
#include "search/layout/rule.def"
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
	    : strstr(s->id, "titan")           ? rules[r].torchtitan
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

void
layout_policies(struct layout_space *s)
{
	const struct workload *w = s->memory.model;
	const bool megatron = s->memory.stack->rules == RULES_MEGATRON_CORE;
	const unsigned latent = 1u << MODULE_MLA_UP_PROJ | 1u << MODULE_LAYERNORM, act = 1u << MODULE_MOE_ACT;
	bool has_latent = false;

	for (int i = 0; i < w->n_blocks; i++)
		has_latent = has_latent || attention_is_latent(&w->blocks[i].attention);
	add_policy(s, (struct layout_policy){RECOMPUTE_NONE, 1, 0, "none"});
	if (!s->memory.flash)
		add_policy(s, (struct layout_policy){RECOMPUTE_MODULES, 1, 1u << MODULE_CORE_ATTN, "selective"});
	if (megatron && has_latent)
		add_policy(s, (struct layout_policy){RECOMPUTE_MODULES, 1, 1u << MODULE_MLA_UP_PROJ, "mla_up_proj"});
	if (megatron && fit_experts(w) > 0)
		add_policy(s, (struct layout_policy){RECOMPUTE_MODULES, 1, act, "moe_act"});
	if (megatron && has_latent && fit_experts(w) > 0)
		add_policy(
		    s, (struct layout_policy){RECOMPUTE_MODULES, 1, latent | act, "mla_up_proj,layernorm,moe_act"});
	if (strcmp(s->memory.stack->id, "torchtitan") == 0)
		add_policy(s, (struct layout_policy){RECOMPUTE_OP, 1, 0, "op"});
	add_policy(s, (struct layout_policy){RECOMPUTE_FULL, 1, 0, "full"});
}
