/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convert the options of `ridge plan train` to spaces of layouts. */
#include "ask/plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* --- what is needed -------------------------------------------------------------------------------------- */

static bool
has_target(const struct plan_in *in)
{
	return datum_given(in->deadline) || datum_given(in->budget);
}

/* What only makes sense of a whole run. */
static bool
has_run(struct run *r, const struct plan_in *in)
{
	const char *rank = in->rank.text ? in->rank.text : "";
	const char *front = in->pareto.text ? in->pareto.text : "";
	const bool by_run = strcmp(rank, "cost") == 0 || strcmp(rank, "energy") == 0 ||
	    strcmp(front, "cost:time") == 0 || strcmp(front, "energy:time") == 0;

	if (datum_given(in->train.tokens))
		return run_positive(r, "--deadline", in->deadline) && run_positive(r, "--budget", in->budget);
	if (has_target(in))
		return run_refuse(r, datum_given(in->deadline) ? in->deadline.from : in->budget.from,
		    "no training tokens given", "add for example --tokens 1T");
	return !by_run ||
	    run_refuse(r, in->rank.text ? in->rank.from : in->pareto.from, "cost and energy need the length of the run",
	        "add for example --tokens 1T");
}

static bool
has_need(struct run *r, const struct plan_in *in)
{
	if (!in->memory.model.text)
		return run_refuse(r, (struct source){0}, "no model given",
		    "ridge plan train llama3-70b --system dgx-h100 --gpus 64 --global-batch 128");
	/* what runs today may have them, if they are those that plan would have */
	if (in->training.stage_layers.n > 0 && !in->from.text)
		return run_refuse(r, in->training.stage_layers.list[0].from, "plan splits layers evenly over stages",
		    "use 'ridge train --stage-layers' for a list");
	if (in->choice.gpus.n == 0 && !has_target(in))
		return run_refuse(r, (struct source){0}, "no number of GPUs given",
		    "add for example --gpus 64, or --tokens 1T --deadline 30d to search it");
	if (!datum_given(in->memory.global_batch))
		return run_refuse(r, (struct source){0}, "no global batch given",
		    "add for example --global-batch 128: it is the same for every layout");
	if (datum_given(in->memory.microbatches))
		return run_refuse(r, in->memory.microbatches.from, "micro-batches follow from the layout",
		    "leave it out: --global-batch is kept");
	if (in->sure && !has_target(in))
		return run_refuse(r, (struct source){"--sure", 0, 0, NULL, false}, "there is nothing to be sure of",
		    "add --deadline 30d or --budget '$2M'");
	if (datum_given(in->emit_rank) && !in->launch.emit.text)
		return run_refuse(r, in->emit_rank.from, "there is nothing to emit", "add for example --emit megatron");
	return has_run(r, in) && run_whole(r, "--emit-rank", in->emit_rank, 1) &&
	    run_whole(r, "--global-batch", in->memory.global_batch, 1) && run_whole(r, "--top", in->top, 1) &&
	    run_whole(r, "--threads", in->threads, 1);
}

/* --- lists ----------------------------------------------------------------------------------------------- */

/* Lists of which each variant has one, and where a job has it. */
static const struct choice {
	size_t list, at;
	const char *option, *choices; /* choices NULL: any word */
} choices[] = {
#define LIST(member, own, option, choices)                                                                             \
	{                                                                                                              \
		offsetof(struct plan_in, choice.member), offsetof(struct plan_in, own), option, choices                \
	}
    LIST(stack, memory.stack, "--stack", NULL),
    LIST(dtype, memory.dtype, "--dtype", DTYPE_CHOICE(T)),
    LIST(grad_dtype, training.grad_dtype, "--grad-dtype", DTYPE_CHOICE(S)),
    LIST(moment_dtype, training.moment_dtype, "--moment-dtype", DTYPE_CHOICE(S)),
    LIST(optimizer, training.optimizer, "--optimizer", "adam|adamw|adam8bit|lion|momentum|adagrad|sgd"),
    LIST(schedule, training.schedule, "--schedule", "1f1b|gpipe|zero-bubble"),
    LIST(dispatcher, train.dispatcher, "--dispatcher", "auto|plain|dedup"),
#undef LIST
};
enum { N_CHOICES = sizeof choices / sizeof *choices, MOST_VARIANTS = 64 };

static const struct words *
list_of(const struct plan_in *in, size_t i)
{
	return (const struct words *)(const void *)((const char *)in + choices[i].list);
}

static struct word *
place_of(struct plan_in *in, size_t i)
{
	return (struct word *)(void *)((char *)in + choices[i].at);
}

static bool
is_choice(struct run *r, const struct choice *c, struct word w)
{
	size_t n;

	if (!c->choices)
		return true;
	char **list = text_split(r->arena, c->choices, '|', &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], w.text) == 0)
			return true;
	const char *near = text_nearest(w.text, (const char *const *)list, n);
	diag_error(r->diag, w.from, "'%s' is not one of %s", w.text, c->choices);
	if (near)
		diag_hint(r->diag, "did you mean '%s'?", near);
	else
		diag_hint(r->diag, "write one of them");
	return false;
}

/* The number of combinations; 0 with errors. */
static size_t
count_variants(struct run *r, const struct plan_in *in)
{
	size_t n = 1;

	for (size_t i = 0; i < N_CHOICES; i++) {
		const struct words *list = list_of(in, i);
		for (size_t k = 0; k < list->n; k++)
			if (!is_choice(r, &choices[i], list->list[k]))
				return 0;
		n *= list->n ? list->n : 1;
	}
	if (n <= MOST_VARIANTS)
		return n;
	diag_error(r->diag, (struct source){0}, "%zu combinations of frameworks, types, schedules and dispatchers", n);
	diag_hint(r->diag, "shorten the lists: at most %d are searched at once", MOST_VARIANTS);
	return 0;
}

/* A policy that goes with what is offloaded: the job is bound with it, and each of the search is checked apart. */
static const char *
start_policy(const struct plan_in *in)
{
	for (size_t i = 0; i < in->training.offload.n; i++)
		if (strcmp(in->training.offload.list[i].text, "activations") == 0)
			return "full";
	return "none";
}

/* Combination number k: the last list moves fastest.  Returns the options that tell it from others. */
static const char *
choose(struct run *r, const struct plan_in *in, size_t k, struct plan_in *out)
{
	const char *text = "";

	*out = *in;
	for (size_t i = N_CHOICES; i-- > 0;) {
		const struct words *list = list_of(in, i);
		if (list->n == 0)
			continue;
		const struct word w = list->list[k % list->n];
		k /= list->n;
		if (list->n > 1)
			text = arena_printf(r->arena, "%s %s%s%s", choices[i].option, w.text, *text ? " " : "", text);
		*place_of(out, i) = strcmp(w.text, "auto") == 0 ? (struct word){NULL, {0}} : w;
	}
	out->training.recompute = (struct words){1, ARENA_NEW(r->arena, struct word)};
	out->training.recompute.list[0] = (struct word){start_policy(in), {inputs_default, 0, 0, NULL, false}};
	if (strcmp(out->training.schedule.text, "zero-bubble") == 0) {
		out->training.schedule.text = "1f1b";
		out->train.bubbles = true;
	}
	return text;
}

/* --- the job --------------------------------------------------------------------------------------------- */

/* One replica on one GPU with one micro-batch: all that does not depend on the layout. */
static void
set_question(struct plan_variant *v)
{
	static const struct serving_in serving;
	static const struct numbers_in numbers;
	const struct datum none = datum_absent(), one = {1, {NULL, 0, 0, NULL, false}};
	struct memory_in *m = &v->in.memory;

	m->gpus = m->global_batch = none;
	m->batch = m->microbatches = one;
	v->layout = (struct layout_in){.dp = none,
	    .tp = none,
	    .pp = none,
	    .vp = none,
	    .cp = none,
	    .ep = none,
	    .etp = none,
	    .zero = none,
	    .shard = none};
	v->question.memory = (struct memory_question){m, &v->in.training, &serving, &numbers, &v->layout, NULL};
	v->question.train = &v->in.train;
}

/* --- what a search varies -------------------------------------------------------------------------------- */

static bool
is_open(const struct words *said)
{
	return said->n == 0 || said->list[0].from.file == inputs_default ||
	    (said->n == 1 && strcmp(said->list[0].text, "auto") == 0);
}

/* Modules of a layer form one policy together; any other word is a policy by itself. */
static bool
is_module(const char *text)
{
	for (int i = 0; i < N_MODULES; i++)
		if (strcmp(module_name((enum module)i), text) == 0)
			return true;
	return false;
}

static bool
add_policy(struct run *r, const struct plan_variant *v, struct words words, const char *text, struct layout_space *s)
{
	struct layout_policy p = {.text = text, .n = 1};
	struct training_in own = v->in.training;
	struct memory_question q = v->question.memory;
	struct memory_job job = s->memory;

	if (s->n_policies == MOST_POLICIES)
		return run_refuse(r, words.list[0].from, "too many recomputation policies",
		    arena_printf(r->arena, "at most %d are searched at once", MOST_POLICIES));
	if (!memory_recompute(r, &words, &p.recompute, &p.n, &p.modules))
		return false;
	if (p.recompute == RECOMPUTE_UNIFORM && p.n == 0)
		p.n = floor(sqrt(s->memory.model->n_layers.value) + 0.5);
	own.recompute = words;
	q.training = &own;
	job.recompute = p.recompute;
	job.recompute_n = p.n;
	job.modules = p.modules;
	if (!memory_check_policy(r, &q, &job))
		return false;
	s->policies[s->n_policies++] = p;
	return true;
}

size_t
plan_policy_words(const struct words *said, size_t i)
{
	size_t n = 1;

	while (is_module(said->list[i].text) && i + n < said->n && is_module(said->list[i + n].text))
		n++;
	return n;
}

static bool
bind_policies(struct run *r, const struct plan_variant *v, const struct words *said, struct layout_space *s)
{
	s->n_policies = 0;
	if (is_open(said)) {
		layout_policies(s);
		return true;
	}
	for (size_t i = 0, n; i < said->n; i += n) {
		const char *text = said->list[i].text;
		n = plan_policy_words(said, i);
		for (size_t k = 1; k < n; k++)
			text = arena_printf(r->arena, "%s,%s", text, said->list[i + k].text);
		if (!add_policy(r, v, (struct words){n, &said->list[i]}, text, s))
			return false;
	}
	return true;
}

static bool
bind_batches(struct run *r, const struct words *said, struct layout_space *s)
{
	s->batches.n = 0;
	if (is_open(said))
		return true;
	for (size_t i = 0; i < said->n; i++) {
		const struct word w = said->list[i];
		struct quantity_fault fault;
		double n;
		if (s->batches.n == MOST_PIN_RANGES)
			return run_refuse(r, w.from, "too many micro-batches", "leave --batch out to search all");
		if (!quantity_read(w.text, Q_COUNT, &n, &fault))
			return run_refuse(r, w.from, fault.what, fault.hint);
		if (!run_whole(r, "--batch", (struct datum){n, w.from}, 1))
			return false;
		s->batches.ranges[s->batches.n].low = s->batches.ranges[s->batches.n].high = n;
		s->batches.n++;
	}
	return true;
}

/* --- pins ------------------------------------------------------------------------------------------------ */

static bool
bad_pin(struct run *r, const char *name, struct word w)
{
	diag_error(r->diag, w.from, "'%s' is no value of %s", w.text, name);
	diag_hint(r->diag, "write for example --layout %s=4, %s=2..8 or %s=1/2/8", name, name, name);
	return false;
}

/* `8`, `4..16`, `1/2/8..16`. */
static bool
bind_pin(struct run *r, const char *name, long least, struct word w, struct layout_pin *out)
{
	const char *s = w.text;

	for (out->n = 0; s; out->n++) {
		char *end;
		if (out->n == MOST_PIN_RANGES) {
			diag_error(r->diag, w.from, "too many alternatives");
			diag_hint(r->diag, "use a range, such as 1..16");
			return false;
		}
		const long low = strtol(s, &end, 10);
		long high = low;
		if (end == s)
			return bad_pin(r, name, w);
		if (end[0] == '.' && end[1] == '.') {
			s = end + 2;
			high = strtol(s, &end, 10);
			if (end == s)
				return bad_pin(r, name, w);
		}
		if ((*end && *end != '/') || low < least || high > 1000000)
			return bad_pin(r, name, w);
		if (high < low) {
			diag_error(r->diag, w.from, "%s=%s is reversed", name, w.text);
			diag_hint(r->diag, "write %s=%ld..%ld", name, high, low);
			return false;
		}
		out->ranges[out->n].low = (double)low;
		out->ranges[out->n].high = (double)high;
		s = *end ? end + 1 : NULL;
	}
	return true;
}

static bool
bind_pins(struct run *r, const struct plan_layout_in *in, struct layout_space *s)
{
	bool ok = true;

	for (int d = 0; d < N_DEGREES; d++) {
		const struct word w = in->degrees[d];
		if (w.text)
			ok = bind_pin(r, layout_degree_name((enum layout_degree)d), d == DEGREE_ZERO ? 0 : 1, w,
			         &s->pins[d]) &&
			    ok;
		run_reads(r, &in->degrees[d], NULL);
	}
	if (in->fsdp && in->degrees[DEGREE_ZERO].text)
		return run_refuse(r, in->degrees[DEGREE_ZERO].from, "fsdp is zero=3", "keep one");
	if (in->fsdp)
		s->pins[DEGREE_ZERO] = (struct layout_pin){.n = 1, .ranges = {{3, 3}}};
	for (int i = 0; ok && i < s->pins[DEGREE_ZERO].n; i++)
		if (s->pins[DEGREE_ZERO].ranges[i].low > 3)
			return run_refuse(r, in->degrees[DEGREE_ZERO].from, "there is no such stage of ZeRO",
			    "0 shards nothing, 1 optimizer states, 2 also gradients, 3 also parameters");
	s->across = in->across;
	s->shard = datum_or(in->shard, 0);
	run_reads(r, &in->across, &in->shard, &in->sp, &in->fsdp, NULL);
	return ok && run_whole(r, "shard", in->shard, 1);
}

/* --- what was read --------------------------------------------------------------------------------------- */

/* What other commands read by the layout that they have. */
static void
reads(struct run *r, const struct plan_in *in, const struct plan_question *b)
{
	const struct memory_in *m = &in->memory;
	const struct plan_choice_in *c = &in->choice;
	const struct layout_space *s = &b->variants[0].space;
	const double n_gpus = b->counts[b->n_counts - 1];
	const bool pipelines = s->memory.stack->pipeline && n_gpus > 1;

	run_reads(r, &in->verb, &in->top, &in->all, &in->threads, &in->rank, &in->pareto, &in->from, &in->groups,
	    &in->emit_rank, &in->deadline, &in->budget, &in->sure, &m->model, &m->gpu, &m->system, &m->global_batch,
	    &m->seq, &m->infer, &m->use, &c->gpus, &c->batch, &c->dtype, &c->stack, &c->optimizer,
	    &in->choice.recompute, NULL);
	if (s->memory.stack->tensor && n_gpus > 1)
		run_reads(r, &in->training.no_sp, NULL);
	if (s->modeled)
		run_reads(r, &m->gpu_mem, &m->headroom, NULL);
	if (!in->train.no_memory)
		run_reads(r, &m->counter, &c->grad_dtype, NULL);
	if (!s->ask.adapters)
		run_reads(r, &c->moment_dtype, NULL);
	if (s->memory.stack->context && n_gpus > 1 && layout_pin_allows(&s->pins[DEGREE_CP], 2))
		run_reads(r, &in->training.cp_comm, NULL);
	if (pipelines)
		run_reads(r, &in->train.bubbles, &in->train.balanced, &c->schedule, NULL);
	if (n_gpus > s->ask.machine.n_domain)
		run_reads(r, &in->train.nic, &in->train.nic_reach, NULL);
	if (n_gpus > s->ask.machine.n_domain && workload_has_experts(s->memory.model))
		run_reads(r, &c->dispatcher, NULL);
	if (datum_given(in->train.tokens) && !in->from.text)
		run_reads(r, &in->train.tokens, &in->train.price, &in->train.mtbf, &in->train.gpu_mtbf,
		    &in->train.write, &in->train.restart, NULL);
}

/* --- all of it ------------------------------------------------------------------------------------------- */

/* Whether this is the first schedule of the list. */
static bool
same_schedule(const struct plan_in *in, const struct plan_in *own)
{
	const char *first = in->choice.schedule.list[0].text;
	const bool bubbles = strcmp(first, "zero-bubble") == 0;

	return bubbles ? own->train.bubbles : !own->train.bubbles && strcmp(own->training.schedule.text, first) == 0;
}

bool
plan_bind_variant(
    struct run *r, const struct plan_in *in, const struct layout_space *pinned, size_t k, struct plan_variant *v)
{
	struct layout_space *s = &v->space;

	v->options = choose(r, in, k, &v->in);
	v->in.training.stage_layers.n = 0;
	set_question(v);
	/* options that the bound copy has are read where it is */
	const void *own = r->reads ? r->reads->in : NULL;
	if (r->reads)
		r->reads->in = &v->in;
	const bool ok = run_train_bind(r, &v->question, &v->train);
	if (ok && !in->train.no_memory)
		memory_reads(r, &v->question.memory, &v->train.memory);
	run_reads(r, &v->in.train.no_memory, NULL);
	if (r->reads)
		r->reads->in = own;
	if (!ok)
		return false;
	*s = *pinned;
	s->ask = v->train.ask;
	s->memory = v->train.memory;
	s->shards = v->in.memory.stack.text != NULL; /* without its name, train takes zero=3 for another framework */
	s->pipelines = in->choice.schedule.n > 1 && !same_schedule(in, &v->in);
	s->memory.gpipe = strcmp(v->in.training.schedule.text, "gpipe") == 0;
	s->n_global_sequences = in->memory.global_batch.value;
	s->modeled = !v->train.no_memory && datum_given(s->memory.card_byte) && !in->train.no_memory;
	s->n_rows = (size_t)in->top.value;
	s->exhaustive = in->all;
	s->n_threads = datum_given(in->threads) ? (size_t)in->threads.value : 0;
	return bind_policies(r, v, &in->choice.recompute, s) && bind_batches(r, &in->choice.batch, s);
}

static enum layout_rank
rank_of(const struct plan_in *in)
{
	static const char *const names[] = {"time", "cost", "energy", "memory", "gpus"};

	for (size_t i = 0; in->rank.text && i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], in->rank.text) == 0)
			return (enum layout_rank)i;
	return has_target(in) ? RANK_COST : RANK_TIME;
}

static enum plan_front
front_of(const struct plan_in *in)
{
	static const char *const names[] = {"", "time:gpus", "time:memory", "cost:time", "energy:time"};

	for (size_t i = 1; in->pareto.text && i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], in->pareto.text) == 0)
			return (enum plan_front)i;
	return FRONT_NONE;
}

/* Whether the options fit each other. */
static bool
is_consistent(struct run *r, const struct plan_in *in, const struct plan_question *b)
{
	const bool of_memory = b->front == FRONT_TIME_MEMORY;

	if (b->front && in->rank.text)
		return run_refuse(r, in->rank.from, "--pareto and --rank exclude each other", "keep one");
	if (of_memory && b->by_scale)
		return run_refuse(r, in->pareto.from, "time over memory is a front of one number of GPUs",
		    "give one number of GPUs, and no deadline or budget");
	if (of_memory && b->n_variants > 1)
		return run_refuse(r, in->pareto.from, "time over memory is a front of one framework and type",
		    "give one of each list");
	if (of_memory && !b->variants[0].space.modeled)
		return run_refuse(r, in->pareto.from, "memory is not part of this plan", "drop --no-memory");
	if (b->front && !of_memory && !b->by_scale)
		return run_refuse(
		    r, in->pareto.from, "this front is one over numbers of GPUs", "add for example --gpus 64..2048");
	if (in->groups && (b->by_scale || b->front))
		return run_refuse(r, (struct source){"--groups", 0, 0, NULL, false},
		    "groups are those of one number of GPUs",
		    "give one number of GPUs, and no deadline, budget or front");
	if (in->from.text && datum_given(in->emit_rank))
		return run_refuse(
		    r, in->emit_rank.from, "of what runs today the best change is emitted", "leave --emit-rank out");
	if (in->from.text && (b->by_scale || b->front || in->groups || in->all || in->rank.text))
		return run_refuse(r, in->from.from, "changes are ranked by time, on one number of GPUs",
		    "drop --rank, --pareto, --groups, --all, --deadline and --budget");
	return true;
}

/* Whether the figure to rank by is known. */
static bool
can_rank(struct run *r, const struct plan_in *in, const struct plan_question *b)
{
	const struct plan_variant *v = &b->variants[0];

	if ((datum_given(in->budget) || b->front == FRONT_COST_TIME || (in->rank.text && b->rank == RANK_COST)) &&
	    !datum_given(run_train_price(r, &v->question, &v->train)))
		return run_refuse(
		    r, (struct source){0}, "no price of this GPU in the database", "add for example --price 2.5");
	if ((b->rank == RANK_ENERGY || b->front == FRONT_ENERGY_TIME) && !datum_given(v->train.tdp_watt))
		return run_refuse(r, (struct source){0}, "the power of this GPU is unknown", "use another --rank");
	if (b->rank == RANK_MEMORY && !v->space.modeled)
		return run_refuse(
		    r, in->rank.from, "memory is not part of this plan", "drop --no-memory, or use another --rank");
	return true;
}

/* Whether no list has a value twice. */
static bool
are_lists_sets(struct run *r, const struct plan_in *in)
{
	for (size_t i = 0; i < N_CHOICES; i++) {
		const struct words *list = list_of(in, i);
		for (size_t k = 1; k < list->n; k++)
			for (size_t m = 0; m < k; m++)
				if (strcmp(list->list[m].text, list->list[k].text) == 0)
					return run_refuse(r, list->list[k].from,
					    arena_printf(r->arena, "'%s' is given twice", list->list[k].text),
					    "keep one");
	}
	return true;
}

bool
plan_bind(struct run *r, const struct plan_in *in, struct plan_question *out)
{
	struct layout_space pinned = {0};

	*out = (struct plan_question){0};
	if (!has_need(r, in) || !are_lists_sets(r, in) || !bind_pins(r, &in->layout, &pinned))
		return false;
	out->n_variants = count_variants(r, in);
	out->variants = ARENA_ARRAY(r->arena, struct plan_variant, out->n_variants + 1);
	for (size_t k = 0; k < out->n_variants; k++)
		if (!plan_bind_variant(r, in, &pinned, k, &out->variants[k]))
			return false;
	if (out->n_variants == 0)
		return false;
	/* a node, or of a large domain the eight that batches divide into */
	const double domain = out->variants[0].space.ask.machine.n_domain;
	out->n_node_gpus = domain > 8 && fmod(domain, 8) == 0 ? 8 : domain;
	if (!plan_bind_counts(r, &in->choice.gpus, out->n_node_gpus, out))
		return false;
	out->by_scale = out->n_counts > 1 || has_target(in);
	out->rank = rank_of(in);
	out->front = front_of(in);
	reads(r, in, out);
	return is_consistent(r, in, out) && can_rank(r, in, out) &&
	    train_run_is_whole(r, &in->train, out->counts[out->n_counts - 1]);
}
