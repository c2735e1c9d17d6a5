/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a serving engine is told of a setup: facts of its servers, a line for each pool. */
#include "ask/launch/launch.h"

#include <string.h>

#define THIS struct launch_serve_in
const struct option launch_serve_rows[] = {LAUNCH_SERVE_OPTIONS(OPTION_ROW)};
#undef THIS

/* --- the setup ------------------------------------------------------------------------------------------- */

static void
set_serving_layout(struct run *r, const struct serve_setup *s, struct fact *f)
{
	const struct serve_layout *l = &s->layout;
	const double n_adp = l->attention_dp ? l->tp : 1;

	f[LAUNCH_TP] = fact_derived(r, l->tp, 1);
	f[LAUNCH_ATTENTION_TP] = fact_derived(r, l->tp / n_adp, 1);
	f[LAUNCH_ADP] = fact_count(r, n_adp, 1);
	f[LAUNCH_PP] = fact_count(r, l->pp, 1);
	f[LAUNCH_EP] = fact_derived(r, l->ep, 1);
	f[LAUNCH_EXPERTS] = fact_word(l->ep == 1 ? "none" : l->ep == l->tp ? "all" : "some", l->ep == 1);
	f[LAUNCH_EXPERTS].derived = true;
}

static bool
is_narrow(enum dtype t)
{
	return t != DTYPE_BF16 && t != DTYPE_FP16 && t != DTYPE_FP32;
}

static void
set_types(const struct launch_served *s, struct fact *f)
{
	const struct workload *w = s->setup->model;
	const bool wide_checkpoint = !w->quantisation.given;

	f[LAUNCH_DTYPE] = fact_word(is_narrow(s->compute) ? "bf16" : dtype_name(s->compute), false);
	f[LAUNCH_KV_DTYPE] = fact_word(dtype_name(s->kv), false);
	if (!s->published && (is_narrow(s->weights) || !wide_checkpoint))
		f[LAUNCH_QUANTIZE] = fact_word(dtype_name(s->weights), false);
}

/* The share of what the weights leave that a share of the card is. */
static double
share_of_free(const struct serve_setup *s)
{
	const double weight_byte = serve_weights(NULL, s), card_byte = s->mem_byte.value;

	return fmax(0.01, (card_byte * s->card_frac - weight_byte) / (card_byte - weight_byte));
}

static void
set_limits(struct run *r, const struct launch_served *s, struct fact *f)
{
	const struct serve_setup *setup = s->setup;
	const struct engine *e = setup->engine;
	const double n_adp = setup->layout.attention_dp ? setup->layout.tp : 1;
	const double share = setup->card_frac > 0 ? setup->card_frac : datum_or(e->memory.utilization, 0),
	             free_share = setup->card_frac > 0 ? share_of_free(setup) : share;
	const bool of_free = e->memory.pool == POOL_FREE && !(setup->card_frac > 0);

	f[LAUNCH_MAX_SEQUENCES] = fact_derived(r, e->max_sequences.value, NAN);
	f[LAUNCH_ALL_SEQUENCES] = fact_derived(r, e->max_sequences.value * n_adp, NAN);
	f[LAUNCH_STEP_TOKENS] = fact_derived(r, e->max_tokens.value, NAN);
	f[LAUNCH_ALL_STEP_TOKENS] = fact_derived(r, e->max_tokens.value * n_adp, NAN);
	if (e->chunked)
		f[LAUNCH_CHUNKED] = (struct fact){"true", true, true};
	if (share > 0 && !of_free)
		f[LAUNCH_UTILIZATION] = fact_derived(r, round(share * 1000) / 1000, NAN);
	if (share > 0 && (of_free || setup->card_frac > 0))
		f[LAUNCH_CACHE_SHARE] = fact_derived(r, round(free_share * 1000) / 1000, NAN);
	if (s->most_token > 0)
		f[LAUNCH_MAX_LENGTH] = fact_count(r, ceil(s->most_token), NAN);
}

static void
set_drafts(struct run *r, const struct speculation *in, struct fact *f)
{
	static const char *const names[] = {
	    [DRAFT_LOOKUP] = "ngram", [DRAFT_MTP] = "mtp", [DRAFT_EAGLE] = "eagle", [DRAFT_MODEL] = "model"};

	if (!in || in->method == DRAFT_NONE)
		return;
	f[LAUNCH_DRAFT] = fact_word(names[in->method], false);
	f[LAUNCH_N_DRAFTS] = fact_derived(r, in->n_drafts, NAN);
	f[LAUNCH_DRAFT_ROWS] = fact_derived(r, in->n_drafts + 1, NAN);
}

/* --- command lines --------------------------------------------------------------------------------------- */

/* One server: a replica, or one of a pool. */
static bool
add_server(struct launch *l, const struct launch_served *s, const char *role, const char **text)
{
	struct fact *facts = ARENA_ARRAY(l->r->arena, struct fact, N_LAUNCH_FACTS);
	struct run *r = l->r;

	l->words = "";
	l->tree = tree_map(r->arena, (struct source){0});
	set_serving_layout(r, s->setup, facts);
	set_types(s, facts);
	set_limits(r, s, facts);
	set_drafts(r, s->speculation, facts);
	if (role) {
		facts[LAUNCH_ROLE] = fact_word(role, false);
		l->file = arena_printf(r->arena, "%s.yaml", role);
	}
	launch_say(l, facts);
	*text = arena_printf(r->arena, "%s%s%s", *text, **text ? "\n" : "", launch_text(l));
	return true;
}

static void
say_replicas(struct run *r, double n, const char *role)
{
	if (n > 1)
		run_warn(r, "%g %sreplicas: start each with its own GPUs and port, behind a load balancer", n, role);
}

static void
show_setup(struct launch *l, const struct launch_served *s, const char **text)
{
	struct run *r = l->r;

	if (!launch_is_of(l, s->setup->engine->id))
		run_warn(r, "the answer is that of %s: add --engine %s for that of %s", s->setup->engine->name,
		    l->by->id, l->by->name);
	if (s->setup->layout.tp * s->setup->layout.pp > 8)
		run_warn(r, "a replica of %g GPUs may need several nodes: their addresses are not part of the line",
		    s->setup->layout.tp * s->setup->layout.pp);
	add_server(l, s, s->decode ? "prefill" : NULL, text);
	say_replicas(r, s->n_replicas, s->decode ? "prefill " : "");
	if (s->decode) {
		struct launch_served decode = *s;
		decode.setup = s->decode;
		add_server(l, &decode, "decode", text);
		say_replicas(r, s->n_decode, "decode ");
		run_warn(r, "the router in front of the two pools is not part of the lines");
	}
}

enum answer
launch_serve_show(struct run *r, struct word engine, const struct launch_served *s, size_t n)
{
	struct launch l;
	const char *text = "";

	if (!launch_begin(r, engine, LAUNCH_SERVE, &l))
		return REFUSED;
	for (size_t i = 0; i < n; i++) {
		if (n > 1)
			run_warn(r, "line %zu is of %s, %g replica%s", i + 1, s[i].gpu, s[i].n_replicas,
			    s[i].n_replicas > 1 ? "s" : "");
		show_setup(&l, &s[i], &text);
	}
	return launch_end(&l, text);
}
