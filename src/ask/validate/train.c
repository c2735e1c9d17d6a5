/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validate published training runs. */
#include "ask/validate/validate.h"

#include "ask/bind/bind.h"
#include "ask/train/train.h"
#include "db/db.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"

/* The one that fits 443 published steps best. */
static const double USUAL_UTILISATION = 0.327;

struct train_reader {
	struct run run;
	struct published_stacks stacks;
	const struct stack *stack; /* of all rows; NULL: what each says */
	bool layouts;              /* rows name layouts, no times */
};

static bool
recognises(const struct validate_file *f)
{
	return validate_has(f, "gbs") &&
	    (validate_has(f, "step_time_s") || validate_has(f, "tokens_per_s_per_gpu") ||
	        validate_has(f, "tflops_per_gpu"));
}

/* Find the FLOPs convention of a published rate. */
static enum convention
counted_by(const struct validate_row *row)
{
	static const struct count {
		const char *word;
		enum convention convention;
	} words[] = {{"96*", CONVENTION_SC21}, {"hardware FLOPs incl. full", CONVENTION_SC21},
	    {"8*N", CONVENTION_BIGSCIENCE}, {"4*2*N", CONVENTION_BIGSCIENCE}, {"3*2*N", CONVENTION_BIGSCIENCE_PLAIN},
	    {"12*L*d*s", CONVENTION_LLM_FOUNDRY}, {"Megatron-Bridge", CONVENTION_MEGATRON_BRIDGE},
	    {"causal-half", CONVENTION_MEGATRON_BRIDGE}, {"(NeMo)", CONVENTION_NEMO}, {"(Megatron)", CONVENTION_NEMO},
	    {"2205.05198", CONVENTION_SEQSEL}, {"appendix A", CONVENTION_SEQSEL}, {"model BF16", CONVENTION_NEMO}};
	const struct count *c = ROW_FIND(row, "tflops_kind", words);

	return c ? c->convention : CONVENTION_NONE;
}

/* Seconds of a step: printed, or from a rate; NaN where nothing is.  Without a model none from a rate in FLOP. */
static double
measured_step(const struct validate_row *row, const struct workload *w)
{
	const double step = row_number(row, "step_time_s"), rate = row_number(row, "tokens_per_s_per_gpu");
	const double derived = row_number(row, "step_time_derived_s"), samples = row_number(row, "samples_per_s");
	const double gbs = row_number(row, "gbs"), seq = row_number(row, "seq"), gpus = row_number(row, "num_gpus");

	if (step > 0)
		return step;
	if (rate > 0 && gbs > 0 && seq > 0 && gpus > 0)
		return gbs * seq / (rate * gpus);
	if (samples > 0 && gbs > 0)
		return gbs / samples;
	if (derived > 0)
		return derived;
	const double flop_per_s = row_number(row, "tflops_per_gpu") * 1e12;
	const enum convention c = counted_by(row);
	if (!w || !(flop_per_s > 0) || !(gbs > 0) || !(seq > 0) || !(gpus > 0) || c == CONVENTION_NONE ||
	    convention_refusal(c, w))
		return NAN;
	return gbs * seq * convention_flop(NULL, c, w, seq) / (flop_per_s * gpus);
}

void
train_row_label(struct score_case *c, const struct validate_row *row, const char *kind)
{
	static const struct row_label labels[] = {{SCORE_BY_SOURCE, "source"}, {SCORE_BY_GPU, "gpu_id"},
	    {SCORE_BY_PRECISION, "precision"}, {SCORE_BY_FAMILY, "family"}, {SCORE_BY_CONFIDENCE, "confidence"},
	    {SCORE_BY_TASK, "task"}};

	row_labels(c, row, labels, sizeof labels / sizeof *labels);
	c->label[SCORE_BY_KIND] = kind;
}

/* The stack of the row, or of all rows. */
static const char *
find_stack(struct train_reader *x, struct published *p)
{
	const char *refused = x->stack ? NULL : published_find_stack(p, STACK_TRAIN);

	if (x->stack) {
		p->stack = x->stack;
		published_set(p, "stack.time.listed", "true");
	} else if (!p->stack)
		p->stack = published_stack_of(p, row_has(p->row, "sharding", "FSDP") ? "unlisted-fsdp" : "unlisted");
	return refused;
}

/* The row as inputs; else why it is none. */
static const char *
read_row(struct train_reader *x, struct published *p)
{
	const char *why = published_words(p), *gpu = row_text(p->row, "gpu_id"), *date = row_text(p->row, "date");
	struct run look = run_quiet(&p->run);

	if (!why && date && published_month(p->row) == 0)
		why = arena_printf(p->arena, "date: '%s' is not a date", date);
	if (!why)
		why = find_stack(x, p);
	if (why)
		return why;
	const struct gpu *found = gpu ? run_gpu(&look, (struct word){gpu, {0}}) : NULL;
	if (!found)
		return gpu ? arena_printf(p->arena, "gpu_id: '%s' is not in the database", gpu) : "GPU not given";
	train_row_network(p, found);
	return train_row_ask(p, found);
}

static bool
bind(struct published *p, struct run *r, struct train_bound *b)
{
	struct train_question q;

	return published_ask(p, r, &q) && run_train_bind(r, &q, b);
}

/* The question as `ridge train` has it; else why there is none. */
static const char *
bind_row(struct published *p, struct train_bound *b)
{
	const struct validate_row *row = p->row;
	struct train_doubts doubts = {0};
	struct run r;

	train_row_defaults(p, &doubts);
	if (!bind(p, &r, b))
		return run_refusal(&r);
	if (!(row_number(row, "seq") > 0))
		return "sequence length not given";
	if (!published_input(p, "global_batch"))
		return "global batch not given";
	if (train_row_fit(p, b, &doubts) && !bind(p, &r, b))
		return run_refusal(&r);
	if (workload_has_experts(b->ask.model) && isnan(row_number(row, "ep")) && b->ask.n_gpus > 1)
		return train_refusal_text(TRAIN_REFUSES_EXPERTS);
	b->doubts.rowwise = published_fact(p, "precision.rowwise") != NULL;
	b->doubts.micro_batch_open = doubts.micro_batch_open;
	if (row_number(row, "nodes") > 0)
		b->doubts.n_nodes = row_number(row, "nodes");
	/* a rate over all of a run, not the median step */
	b->doubts.evaluation = published_fact(p, "notes.evaluation") && !(row_number(row, "step_time_s") > 0);
	if (b->ask.model->kind == MODEL_ENCODER && b->stack->time.skips_padding && b->ask.seq_length.value > 256 &&
	    row_is(row, "task", "pretrain"))
		return "encoder sequences mostly padding, which runs skip";
	return NULL;
}

/* The same run on one GPU with one sequence, as a search begins. */
static const char *
bind_open(const struct train_row *t, struct train_bound *b)
{
	static const char left_out[] = "layout recompute stage_layers microbatches global_batch";
	struct published p = t->published;
	const struct node *no_sp = tree_at(p.inputs, "layout.no_sp"), *all = p.inputs;
	struct train_doubts doubts = {0};
	struct run r;

	p.inputs = tree_map(p.arena, all->at);
	for (size_t i = 0; i < all->n; i++)
		if (!text_lists(left_out, all->keys[i]->text))
			p.inputs = tree_with(p.arena, p.inputs, all->keys[i]->text, all->items[i]);
	if (no_sp)
		p.inputs = tree_with(p.arena, p.inputs, "layout.no_sp", no_sp);
	published_number(&p, "gpus", 1);
	published_number(&p, "batch", 1);
	train_row_defaults(&p, &doubts);
	return bind(&p, &r, b) ? NULL : run_refusal(&r);
}

/* The largest shares of the step. */
static const char *
made_of(struct arena *a, const struct train_job *job, const struct train_terms *t)
{
	double share[N_TRAIN_SHARES];
	const char *out = NULL;

	train_shares(job, t, share);
	for (int i = 0; i < N_TRAIN_SHARES; i++)
		if (share[i] >= 0.01 * t->step_s)
			out = arena_printf(a, "%s%s%s %.0f %%", out ? out : "", out ? ", " : "",
			    train_share_name((enum train_share)i), 100 * share[i] / t->step_s);
	return out;
}

static const char *
warnings_of(struct run *r, const struct train_row *t)
{
	const struct train_answer *a = &t->answer;
	const char *out = t->published.warning;

	for (int i = 0; i < N_TRAIN_WARNINGS; i++)
		if (a->warned & (1U << i) && train_warning_told((enum train_warning)i))
			out = arena_printf(r->arena, "%s%s%s", out ? out : "", out ? "; " : "",
			    train_warning_text((enum train_warning)i));
	return out;
}

/* Model FLOP of the products at 33 % of the peak: what people reckon with. */
static double
rule_of_thumb(const struct train_row *t)
{
	const struct train_job *job = &t->answer.job;
	const double peak =
	    datum_or(t->bound.gpu->peak_flop_per_s[PEAK_BF16], datum_or(t->bound.gpu->peak_flop_per_s[PEAK_FP16], NAN));

	return 6 * multiplied_params(NULL, job->model) * job->n_global_sequences * job->seq_length /
	    (job->n_gpus * peak * USUAL_UTILISATION);
}

struct published
published_row(struct run *r, const struct validate_row *row, struct published_stacks *stacks)
{
	return (struct published){.arena = r->arena, .run = run_quiet(r), .row = row, .stacks = stacks};
}

const char *
train_row_predict(struct train_reader *x, const struct validate_row *row, struct train_row *out)
{
	struct published *p = &out->published;

	*p = published_row(&x->run, row, &x->stacks);
	out->unread = read_row(x, p);
	if (out->unread)
		return out->unread;
	if (published_fact(p, "fits.oom"))
		return "the run ran out of memory";
	const struct node *inputs = p->inputs; /* of the row alone: memory guesses nothing */
	const char *why = bind_row(p, &out->bound);
	p->inputs = inputs;
	if (why)
		return why;
	out->measured_s = measured_step(row, out->bound.ask.model);
	if (!(out->measured_s > 0) && !x->layouts)
		return "nothing was measured";
	train_answer(&out->bound.ask, &out->bound.doubts, &out->answer);
	return out->answer.refusal ? train_refusal_text(out->answer.refusal) : NULL;
}

struct score_case *
train_row_case(struct validation *v, struct train_reader *x, const struct validate_row *row, const struct train_row *t)
{
	struct score_case *c = validation_add(v, row_line(row), "x_s");
	const struct train_terms *terms = &t->answer.terms;
	const struct interval i = train_interval(&x->run, &t->bound, &t->answer);

	train_row_label(c, row, "step");
	c->name = row_text(row, "case_id");
	c->label[SCORE_BY_FRAMEWORK] = t->bound.stack->id;
	c->measured = t->measured_s;
	c->predicted = t->answer.step_s;
	c->low = i.low;
	c->high = i.high;
	c->warning = warnings_of(v->run, t);
	c->baseline[0] = rule_of_thumb(t);
	c->detail = made_of(v->run->arena, &t->answer.job, terms);
	return c;
}

/* Score convolutional networks and recommenders, predicted to an order of magnitude, as a separate group. */
bool
train_list_case(struct validation *v, struct train_row *t)
{
	struct published *p = &t->published;
	const struct validate_row *row = p->row;
	const double measured = measured_step(row, NULL);
	struct train_question q;
	struct run r;

	if (t->unread || !published_ask(p, &r, &q) || !train_is_list(&r, &q) || !(row_number(row, "mbs") > 0) ||
	    !(measured > 0))
		return false;
	r.sheet = sheet_new();
	const int step = answer_train_list(&r, &q) == ANSWERED ? sheet_find(r.sheet, "step_s") : -1;
	if (step >= 0) {
		const struct row *found = sheet_row(r.sheet, step);
		struct score_case *c = validation_add(v, row_line(row), "x_s");
		c->label[SCORE_BY_ALL] = c->label[SCORE_BY_KIND] = "operators";
		c->name = row_text(row, "case_id");
		c->measured = measured;
		c->predicted = found->value;
		c->low = found->low;
		c->high = found->high;
		c->warning = "order of magnitude";
	}
	sheet_free(r.sheet);
	return step >= 0;
}

/* Whether the search has layouts that offload activations of some layers. */
static bool
offloads_layers(const struct train_bound *b)
{
	return b->memory.layout.pp <= 1 && b->stack->rules == RULES_MEGATRON_CORE &&
	    !workload_has_experts(b->memory.model);
}

static void
judge(struct validation *v, const struct validate_row *row, const struct train_row *t, const char *why)
{
	struct train_bound open;

	if (!why && t->bound.ask.n_gpus == 1)
		why = "one GPU has one layout";
	if (!why && isnan(row_number(row, "mbs")) && isnan(row_number(row, "tp")) && isnan(row_number(row, "pp")) &&
	    !(t->measured_s > 0))
		why = "layout not given";
	if (!why && published_fact(&t->published, "offload.some") && !offloads_layers(&t->bound))
		why = "activations of some layers are offloaded, which no layout of the search has";
	why = why ? why : bind_open(t, &open);
	if (why)
		validation_skip(v, row_line(row), why);
	else
		plan_judge_row(v->judge, t, &open);
}

static void
each(struct validation *v, const struct validate_row *row, void *context)
{
	struct train_row t;
	const char *why = train_row_predict(context, row, &t);

	if (v->judge) {
		judge(v, row, &t, why);
		return;
	}
	if (why && train_list_case(v, &t))
		return;
	if (why)
		train_row_label(validation_skip(v, row_line(row), why), row, "step");
	else
		train_row_case(v, context, row, &t);
	train_row_memory(v, &t.published, t.unread);
}

struct train_reader *
train_reader_new(struct run *r)
{
	struct train_reader *x = ARENA_NEW(r->arena, struct train_reader);

	x->run = run_quiet(r);
	x->run.sheet = sheet_new();
	return x;
}

void
train_reader_stack(struct train_reader *x, const struct stack *stack)
{
	x->stack = stack;
}

void
train_reader_free(struct train_reader *x)
{
	sheet_free(x->run.sheet);
}

double
train_reader_context(struct train_reader *x, const char *model)
{
	const struct workload *w = run_model(&x->run, (struct word){model, {0}});

	return w ? datum_or(w->context, NAN) : NAN;
}

static bool
read_rows(struct validation *v, const struct validate_file *f, bool layouts)
{
	struct train_reader *x = train_reader_new(v->run);

	x->layouts = layouts;
	const bool ok = validation_rows(v, f, each, x);
	train_reader_free(x);
	return ok;
}

bool
train_read_layouts(struct validation *v, const struct validate_file *f)
{
	return read_rows(v, f, true);
}

static bool
read_train(struct validation *v, const struct validate_file *f)
{
	v->baseline[0] = "6N";
	return read_rows(v, f, false);
}

const struct validate_kind validate_train = {"train", "training runs", recognises, read_train};
