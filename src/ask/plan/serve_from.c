/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The setup that serves today, sized for the load of a plan. */
#include "ask/plan/plan.h"

#include <string.h>

static const char *
path_of(const char *piece)
{
	const size_t n = strcspn(piece, "=");

	for (size_t i = 0; i < N_LAUNCH_WORDS; i++)
		if (piece[n] && strncmp(piece, launch_words[i].name, n) == 0 && !launch_words[i].name[n])
			return launch_words[i].path;
	return NULL;
}

/* The inputs of the plan at what is said: one GPU, one engine, one layout.  NULL with errors. */
static const struct node *
today_inputs(struct run *r, struct word from)
{
	static const char *const lists[] = {"gpu", "engine", "dtype"};
	const struct node *tree = tree_with(r->arena, r->inputs, "layout", tree_map(r->arena, from.from));
	struct settings degrees = {0};
	const char *layout = "";
	size_t n;
	char **pieces = text_split(r->arena, from.text, ',', &n);

	if (!strchr(from.text, '=')) {
		run_refuse(r, from.from,
		    arena_printf(r->arena, "'%s' is neither a layout nor a launch file", from.text),
		    "write for example --from tp=8, or on the command line --from serve.sh");
		return NULL;
	}
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		const struct node *given = tree_get(tree, lists[i]);
		tree = given ? tree_with(r->arena, tree, lists[i], tree_first(r->arena, given)) : tree;
	}
	for (size_t i = 0; i < n; i++) {
		const char *path = path_of(pieces[i]);
		if (path)
			tree = tree_with(r->arena, tree, path,
			    tree_scalar(r->arena, pieces[i] + strcspn(pieces[i], "=") + 1, from.from));
		else
			layout = arena_printf(r->arena, "%s%s%s", layout, *layout ? "," : "", pieces[i]);
	}
	if (*layout && !arguments_layout(r->arena, r->diag, layout, from.from, &degrees))
		return NULL;
	for (size_t i = 0; i < degrees.n; i++)
		tree = tree_with(r->arena, tree, degrees.list[i].path,
		    tree_scalar(r->arena, degrees.list[i].text, degrees.list[i].at));
	return tree;
}

/* Whether the layout has words of training. */
static bool
is_served(struct run *r, const struct layout_in *l)
{
	const struct datum others[] = {l->dp, l->vp, l->cp, l->etp, l->zero, l->shard};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (datum_given(others[i]) && others[i].value != 1)
			return run_refuse(r, others[i].from, "a replica has tp, pp, ep and adp",
			    "leave it out: the plan finds the number of replicas");
	return true;
}

bool
plan_serve_today(
    struct run *r, const struct plan_serve_in *in, const struct plan_load *load, struct plan_candidate *out)
{
	struct run own = *r;
	struct plan_serve_in *today = ARENA_NEW(r->arena, struct plan_serve_in);
	struct plan_served p;

	own.reads = NULL; /* the plan's own inputs are read by the search */
	own.inputs = today_inputs(r, in->from);
	if (!own.inputs || !inputs_bind(r->arena, r->diag, r->command, own.inputs, today) ||
	    !is_served(r, &today->layout))
		return false;
	const struct workload *model = run_model(&own, today->model);
	struct layout l;
	if (!model || !run_layout(&own, &today->layout, datum_absent(), model, &l))
		return false;
	const struct serve_layout layout = {l.tp, l.pp, l.ep, l.adp && l.tp > 1};
	plan_serve_case(today, &p);
	p.about.exact = &layout;
	p.search = (struct capacity_search){.run = &own, .in = &today->plan, .c = &p.about};
	if (!capacity_candidates(&p.search))
		return false;
	*out = p.search.list[0];
	plan_size(out, load);
	if (!in->plan.unconfirmed && plan_feasible(out))
		plan_confirm(out, load, (uint64_t)in->plan.seed.value);
	return true;
}
