/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search the setups of `ridge plan serve`: the candidates of `ridge capacity`, with limits of the scheduler. */
#include "ask/plan/plan.h"

#include "ask/serve/serve.h"

#include <stdlib.h>
#include <string.h>

enum { TUNED_MOST = 8, CONFIRMED_MOST = 5, SETTLED_MOST = 8, LIMITS_MOST = 12 };
static const double worth_frac = 0.02; /* of a latency, to leave the engine's defaults */

/* --- limits of the scheduler ----------------------------------------------------------------------------- */

/* `auto`, or numbers; 0 is the engine's own. */
struct limits {
	bool is_auto;
	int n;
	double of[LIMITS_MOST];
};

static bool
read_limits(struct run *r, const char *option, const struct words *list, struct limits *out)
{
	*out = (struct limits){0};
	for (size_t i = 0; i < list->n; i++) {
		const struct word w = list->list[i];
		struct datum value = {0, w.from};
		run_read_from(r, w.from);
		if (strcmp(w.text, "auto") == 0) {
			out->is_auto = true;
			continue;
		}
		if (strcmp(w.text, "default") != 0 &&
		    (!run_value(r, w.from, w.text, Q_COUNT, &value) || !run_whole(r, option, value, 1)))
			return false;
		if (out->n == LIMITS_MOST)
			return run_refuse(r, w.from, "too many limits", "name at most 12");
		out->of[out->n++] = value.value;
	}
	if (out->is_auto && out->n > 0)
		return run_refuse(
		    r, list->list[0].from, "auto tries all values: it takes no others", "leave the other values out");
	return true;
}

/* The same candidate with other limits, sized again. */
static struct plan_candidate
limited(const struct plan_served *p, const struct plan_candidate *c, double n_sequences, double n_token)
{
	struct arena *a = p->search.run->arena;
	struct engine *e = ARENA_NEW(a, struct engine);
	struct serve_setup *setup = ARENA_NEW(a, struct serve_setup);
	struct plan_candidate out = *c;

	*setup = *c->setup;
	*e = *setup->engine;
	engine_limit(e, n_sequences > 0 ? (struct datum){n_sequences, {0}} : datum_absent(),
	    n_token > 0 ? (struct datum){n_token, {0}} : datum_absent());
	setup->engine = e;
	out.setup = setup;
	plan_size(&out, &p->load);
	return out;
}

/* No engine takes fewer tokens than sequences into a step; without chunks a prompt has to fit. */
static bool
is_legal(const struct plan_served *p, const struct engine *e, double n_sequences, double n_token)
{
	const double sequences = n_sequences > 0 ? n_sequences : e->max_sequences.value,
	             token = n_token > 0 ? n_token : e->max_tokens.value;

	return token >= sequences && (e->chunked || token >= p->load.isl_token);
}

/* Another limit has to earn its place: fewer of what is paid for, or a latency that is noticeably shorter. */
static bool
is_better(const struct plan_served *p, const struct plan_candidate *a, const struct plan_candidate *b)
{
	const bool latency = p->rank == PLAN_RANK_TTFT || p->rank == PLAN_RANK_TPOT;
	double x = plan_rank_value(a, p->rank), y = plan_rank_value(b, p->rank);

	if (a->bound == PLAN_SHORT || b->bound == PLAN_SHORT) {
		x = 1 / a->most.load;
		y = 1 / b->most.load;
	} else if (isnan(x) || isnan(y)) {
		x = a->n_gpus;
		y = b->n_gpus;
	}
	return x < y * (latency ? 1 - worth_frac : 1);
}

static void
try_limits(const struct plan_served *p, struct plan_candidate *best, double n_sequences, double n_token)
{
	if (!is_legal(p, best->setup->engine, n_sequences, n_token))
		return;
	const struct plan_candidate c = limited(p, best, n_sequences, n_token);
	if (is_better(p, &c, best))
		*best = c;
}

static void
tune(const struct plan_served *p, const struct limits *sequences, const struct limits *tokens, struct plan_candidate *c)
{
	static const double chunks[] = {2048, 4096, 8192, 16384};
	const double own_sequences = c->setup->engine->max_sequences.value,
	             own_token = c->setup->engine->max_tokens.value;

	if (c->bound == PLAN_DOES_NOT_FIT)
		return;
	if (sequences->is_auto && c->bound == PLAN_BY_SEQUENCES)
		for (double n = 2 * own_sequences; n <= 4 * own_sequences; n *= 2)
			try_limits(p, c, n, 0);
	if (tokens->is_auto && c->bound != PLAN_BY_CACHE && c->bound != PLAN_BY_NOTHING)
		for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++)
			if (chunks[i] != own_token)
				try_limits(p, c, 0, chunks[i]);
}

static int
setup_group(const struct plan_candidate *c)
{
	return ((const struct plan_setup *)c->about)->group;
}

/* Given limits: try every pair as a candidate. */
static void
spread(struct plan_served *p, const struct limits *sequences, const struct limits *tokens)
{
	const int n_sequences = sequences->is_auto ? 1 : sequences->n, n_tokens = tokens->is_auto ? 1 : tokens->n;
	struct capacity_search *s = &p->search;
	struct plan_candidate *list =
	    ARENA_ARRAY(s->run->arena, struct plan_candidate, s->n * (size_t)n_sequences * (size_t)n_tokens);
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		for (int k = 0; k < n_sequences; k++)
			for (int m = 0; m < n_tokens; m++) {
				const double seq = sequences->is_auto ? 0 : sequences->of[k],
				             token = tokens->is_auto ? 0 : tokens->of[m];
				if (seq + token == 0 || is_legal(p, s->list[i].setup->engine, seq, token))
					list[n++] = limited(p, &s->list[i], seq, token);
			}
	s->list = list;
	s->n = n;
}

static void
size_all(struct plan_served *p, const struct limits *sequences, const struct limits *tokens)
{
	struct capacity_search *s = &p->search;

	spread(p, sequences, tokens);
	plan_sort(s->run->arena, s->list, s->n, p->rank);
	struct plan_candidate *plain = ARENA_ARRAY(s->run->arena, struct plan_candidate, s->n + 1);
	for (size_t i = 0; i < s->n; i++)
		plain[i] = s->list[i];
	p->plain = plain;
	p->n_plain = s->n;
	if (!sequences->is_auto && !tokens->is_auto)
		return;
	int *n_tuned = ARENA_ARRAY(s->run->arena, int, (size_t)s->n_groups + 1);
	for (size_t i = 0; i < s->n; i++)
		if (n_tuned[setup_group(&s->list[i])]++ < TUNED_MOST)
			tune(p, sequences, tokens, &s->list[i]);
	plan_sort(s->run->arena, s->list, s->n, p->rank);
}

/* --- what can be told apart ------------------------------------------------------------------------------ */

double
plan_serve_half(struct run *r, const struct plan_served *p, const struct plan_candidate *c)
{
	const struct plan_setup *about = c->about;
	const struct serve_question q = {.setup = c->setup, .gpu = about->gpu, .regime = SERVE_ONLINE};
	const struct serve_errors e = serve_errors_of(r, &q, about->fitted);
	const enum serve_quantity of = p->rank == PLAN_RANK_TTFT ? SERVE_TTFT
	    : p->rank == PLAN_RANK_TPOT                          ? SERVE_TPOT
	                                                         : SERVE_THROUGHPUT;
	const struct interval i = interval_of(1, &e.of[of].terms, e.of[of].why);

	return log(i.high / fmax(i.low, 1e-3)) / 2;
}

/* In full: the errors of two setups do not cancel (rms 13.2 % as pairs, as much as single rows). */
static bool
is_apart(struct run *r, const struct plan_served *p, const struct plan_candidate *first, const struct plan_candidate *c)
{
	const double x = plan_rank_value(first, p->rank), y = plan_rank_value(c, p->rank);
	const double half = hypot(plan_serve_half(r, p, first), plan_serve_half(r, p, c));

	if (isnan(x) != isnan(y))
		return true;
	return fabs(isnan(x) ? log(c->n_gpus / first->n_gpus) : log(y / x)) > half;
}

void
plan_serve_groups(struct run *r, const struct plan_served *p, struct plan_served_row *rows, size_t n)
{
	size_t first = 0;
	char letter = 'a';

	for (size_t i = 0; i < n; i++) {
		if (i > 0 && is_apart(r, p, rows[first].c, rows[i].c)) {
			first = i;
			letter = letter < 'z' ? (char)(letter + 1) : 'z';
		}
		rows[i].group = letter;
	}
}

/* --- rows ------------------------------------------------------------------------------------------------ */

struct plan_served_row *
plan_serve_rows(struct run *r, const struct plan_served *p, size_t *n)
{
	const struct capacity_search *s = &p->search;
	struct plan_served_row *rows = ARENA_ARRAY(r->arena, struct plan_served_row, s->n + 1);
	bool *seen = ARENA_ARRAY(r->arena, bool, (size_t)s->n_groups + 1);

	const size_t most = (size_t)fmax(p->in->top.value, datum_or(p->in->emit_rank, 1));

	*n = 0;
	if (!p->in->launch.emit.text)
		run_reads(r, &p->in->top, NULL);
	for (size_t i = 0; i < s->n && *n < most; i++) {
		const struct plan_candidate *c = &s->list[i];
		if (!plan_feasible(c) || (seen[setup_group(c)] && !p->in->plan.every_layout))
			continue;
		seen[setup_group(c)] = true;
		rows[(*n)++] = (struct plan_served_row){c, 'a', NAN, NAN};
	}
	plan_serve_groups(r, p, rows, *n);
	return rows;
}

/* Simulate the first of each group, until none of them moves. */
static void
confirm(struct run *r, struct plan_served *p)
{
	struct capacity_search *s = &p->search;
	const struct serve_setup **setups = ARENA_ARRAY(r->arena, const struct serve_setup *, s->n + 1);
	size_t n_tried = 0;

	run_reads(r, &p->in->plan.seed, NULL);
	for (int round = 0; round < CONFIRMED_MOST + SETTLED_MOST; round++) {
		size_t n, next = 0;
		const struct plan_served_row *rows = plan_serve_rows(r, p, &n);
		/* where the simulation moved those, the first row is none that was only computed */
		if (round >= CONFIRMED_MOST && (n == 0 || rows[0].c->confirmed))
			return;
		for (; next < n; next++) {
			bool known = next > 0 && rows[next].group == rows[next - 1].group;
			for (size_t k = 0; k < n_tried; k++)
				known = known || setups[k] == rows[next].c->setup;
			if (!known)
				break;
		}
		if (next == n)
			return;
		struct plan_candidate *c = &s->list[rows[next].c - s->list];
		setups[n_tried++] = c->setup;
		plan_confirm(c, &p->load, (uint64_t)p->in->plan.seed.value);
		plan_sort(r->arena, s->list, s->n, p->rank);
	}
}

/* --- the question ---------------------------------------------------------------------------------------- */

static enum plan_rank
rank_named(const char *name)
{
	static const char *const names[] = {[PLAN_RANK_COST] = "cost",
	    [PLAN_RANK_POWER] = "power",
	    [PLAN_RANK_GPUS] = "gpus",
	    [PLAN_RANK_TTFT] = "ttft",
	    [PLAN_RANK_TPOT] = "tpot"};
	int i = 0;

	while (i < N_PLAN_RANKS - 1 && strcmp(names[i], name) != 0)
		i++;
	return (enum plan_rank)i;
}

/* The case of the search by the inputs.  False with errors. */
static bool
serve_case(struct run *r, const struct plan_serve_in *in, struct plan_served *p)
{
	const double **most_gpus;

	*p = (struct plan_served){.in = in, .rank = rank_named(in->rank.text)};
	if (!plan_serve_stock(r, &in->gpu, &p->gpus, &most_gpus))
		return false;
	p->dtype = (struct word){"bf16", {inputs_default, 0, 0, NULL, false}};
	p->about = (struct capacity_plan_case){.model = in->model,
	    .gpus = &p->gpus,
	    .most_gpus = most_gpus,
	    .rate = in->rate,
	    .users = in->users,
	    .isl = in->isl,
	    .osl = in->osl,
	    .utilisation = in->target_load,
	    .headroom = in->headroom,
	    .price = {&in->price, in->provider},
	    .dtype = p->dtype,
	    .weights_dtype = in->weights_dtype,
	    .kv_dtype = in->kv_dtype,
	    .layout = &in->layout};
	return true;
}

/* --- what serves today, sized for the load ---------------------------------------------------------------- */

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

/* The setup of --from, sized for the load and confirmed.  False with errors. */
static bool
today_setup(struct run *r, const struct plan_serve_in *in, const struct plan_load *load, struct plan_candidate *out)
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
	if (!serve_case(&own, today, &p))
		return false;
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

/* The question; where it names no engine or type, those of what serves today are taken, as a launch file's are. */
static const struct plan_serve_in *
as_today(struct run *r, const struct plan_serve_in *in)
{
	struct run quiet = *r;
	struct plan_serve_in today, *own = ARENA_NEW(r->arena, struct plan_serve_in);

	quiet.diag = diag_new(r->arena);
	quiet.reads = NULL;
	const struct node *tree = in->from.text ? today_inputs(&quiet, in->from) : NULL;
	if (!tree || !inputs_bind(r->arena, quiet.diag, r->command, tree, &today))
		return in;
	*own = *in;
	if (in->plan.engine.n == 0)
		own->plan.engine = today.plan.engine;
	if (in->plan.dtypes.n == 0)
		own->plan.dtypes = today.plan.dtypes;
	if (!in->kv_dtype.text)
		own->kv_dtype = today.kv_dtype;
	if (r->reads)
		r->reads->in = own;
	return own;
}

/* Operating points are those of every load; setups are sized for one, which no point keeps. */
static const struct datum any_load = {1, {0}};

bool
plan_serve_search(struct run *r, const struct plan_serve_in *given, struct plan_served *p)
{
	struct limits sequences, tokens;
	const struct plan_serve_in *in = as_today(r, given);

	if (plan_serve_points_asked(in) && !plan_serve_points_free(r))
		return false;
	if (!serve_case(r, in, p))
		return false;
	if (plan_serve_points_asked(in))
		p->about.rate = any_load;
	if (plan_serve_limited(p) && in->price.n == 0)
		run_assume(r, "GPUs with a number are paid for one by one, not by the instance");
	p->search = (struct capacity_search){.run = r, .in = &in->plan, .c = &p->about};
	run_reads(r, &in->rank, &in->from, NULL);
	if (in->from.text && in->pareto.text)
		return run_refuse(
		    r, in->from.from, "what serves today is compared by one figure", "leave --pareto out");
	if (!read_limits(r, "max-sequences", &in->max_sequences, &sequences) ||
	    !read_limits(r, "max-step-tokens", &in->max_step_tokens, &tokens) || !run_whole(r, "top", in->top, 1) ||
	    !run_whole(r, "emit-rank", in->emit_rank, 1) || !capacity_load(r, &in->plan, &p->about, &p->load) ||
	    !capacity_candidates(&p->search))
		return false;
	capacity_drafts(&p->search, &p->load);
	if (in->from.text) {
		p->today = ARENA_NEW(r->arena, struct plan_candidate);
		if (!today_setup(r, in, &p->load, p->today))
			return false;
	}
	size_all(p, &sequences, &tokens);
	if (in->pareto.text)
		return true;
	run_reads(r, &in->plan.unconfirmed, NULL);
	if (!in->plan.unconfirmed)
		confirm(r, p);
	return true;
}
