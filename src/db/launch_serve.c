/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a launch file says of a server, as inputs. */

#include "base/base.h"
#include "db/parts.h"

#include <math.h>
#include <string.h>

static void
put_served_layout(struct launch_reading *r)
{
	const double n_adp = launch_number(r, LAUNCH_ADP, 1);
	/* vLLM has data-parallel attention before experts; a dense model is there as often */
	const bool copies = r->known.dense && !r->facts[LAUNCH_TP] && n_adp > 1;
	const double tp = r->facts[LAUNCH_TP] ? launch_number(r, LAUNCH_TP, 1)
	                                      : launch_number(r, LAUNCH_ATTENTION_TP, 1) * (copies ? 1 : n_adp);
	const bool adp = !copies && r->facts[LAUNCH_ADP] && (n_adp > 1 || strcmp(r->facts[LAUNCH_ADP], "true") == 0);

	launch_put_number(r, "layout.tp", tp);
	launch_put_number(r, "layout.pp", launch_number(r, LAUNCH_PP, 1));
	launch_put_number(r, "layout.ep", r->facts[LAUNCH_EXPERTS] ? tp : launch_number(r, LAUNCH_EP, 1));
	if (adp)
		launch_put(r, "layout.adp", "true");
	if (copies)
		launch_miss(r, arena_printf(r->arena, "%g copies of a dense model: the answer is that of one", n_adp));
	if (adp && n_adp > 1 && n_adp < tp)
		launch_miss(r, "attention over groups of ranks: ridge has it over all or none");
}

static void
put_limits(struct launch_reading *r)
{
	const double n_adp = fmax(1, launch_number(r, LAUNCH_ADP, 1)),
	             all = launch_number(r, LAUNCH_ALL_SEQUENCES, NAN),
	             all_token = launch_number(r, LAUNCH_ALL_STEP_TOKENS, NAN),
	             share = launch_number(r, LAUNCH_UTILIZATION, launch_number(r, LAUNCH_CACHE_SHARE, NAN));
	const double n_sequences = launch_number(r, LAUNCH_MAX_SEQUENCES, all / n_adp),
	             n_token = launch_number(r, LAUNCH_STEP_TOKENS, all_token / n_adp);

	if (!isnan(n_sequences))
		launch_put_number(r, "engine.scheduler.max_sequences", n_sequences);
	if (n_token <= 0)
		launch_miss(r, "prompts that are not cut: their limit is the engine's");
	else if (!isnan(n_token))
		launch_put_number(r, "engine.scheduler.max_tokens", n_token);
	if (!isnan(share))
		launch_put_number(r, "engine.pool.share", share);
}

void
launch_put_serving(struct launch_reading *r)
{
	launch_put(r, "engine.name", arena_copy(r->arena, r->by->stacks, strcspn(r->by->stacks, " ")));
	put_served_layout(r);
	put_limits(r);
	if (r->facts[LAUNCH_QUANTIZE])
		launch_put(r, "dtype", r->facts[LAUNCH_QUANTIZE]);
	else if (r->facts[LAUNCH_DTYPE] && strcmp(r->facts[LAUNCH_DTYPE], "bf16") != 0)
		launch_put(r, "dtype", r->facts[LAUNCH_DTYPE]);
	if (r->facts[LAUNCH_KV_DTYPE])
		launch_put(r, "kv_dtype", r->facts[LAUNCH_KV_DTYPE]);
	if (r->facts[LAUNCH_DRAFT])
		launch_miss(r,
		    arena_printf(r->arena, "drafts: add --speculate %s=%g,accept=F", r->facts[LAUNCH_DRAFT],
		        launch_number(r, LAUNCH_N_DRAFTS, launch_number(r, LAUNCH_DRAFT_ROWS, 2) - 1)));
	if (r->facts[LAUNCH_ROLE])
		launch_miss(r, arena_printf(r->arena, "a pool of %s servers: add --kv-link", r->facts[LAUNCH_ROLE]));
}
