/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Published training runs: time of a step, from what a row says of model, layout, batch and framework. */
#include "ask/validate/validate.h"

#include "ask/bind/bind.h"
#include "ask/train/train.h"
#include "db/db.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"

#include <string.h>

enum { GPUS_MAX = 64 };
/* The one that fits 443 published steps best. */
static const double USUAL_UTILISATION = 0.327;

struct train_reader {
	struct run quiet; /* reports nothing */
	struct train_stacks stacks;
	const struct stack *stack; /* of all rows; NULL: what each says */
	int n_gpus;
	struct {
		const char *id;
		const struct gpu *gpu;
		const struct system *system;
		struct train_machine machine;
		bool capped, known;
	} gpus[GPUS_MAX]; /* that were looked up */
};

static bool
recognises(const struct validate_file *f)
{
	return validate_has(f, "gbs") &&
	    (validate_has(f, "step_time_s") || validate_has(f, "tokens_per_s_per_gpu") ||
	        validate_has(f, "tflops_per_gpu"));
}

/* Whose count of FLOP a printed rate goes by. */
static enum convention
counted_by(const struct validate_row *row)
{
	static const struct {
		const char *word;
		enum convention convention;
	} words[] = {{"96*", CONVENTION_SC21}, {"hardware FLOPs incl. full", CONVENTION_SC21},
	    {"8*N", CONVENTION_BIGSCIENCE}, {"4*2*N", CONVENTION_BIGSCIENCE}, {"3*2*N", CONVENTION_BIGSCIENCE_PLAIN},
	    {"12*L*d*s", CONVENTION_LLM_FOUNDRY}, {"Megatron-Bridge", CONVENTION_MEGATRON_BRIDGE},
	    {"causal-half", CONVENTION_MEGATRON_BRIDGE}, {"(NeMo)", CONVENTION_NEMO}, {"(Megatron)", CONVENTION_NEMO},
	    {"2205.05198", CONVENTION_SEQSEL}, {"appendix A", CONVENTION_SEQSEL}, {"model BF16", CONVENTION_NEMO}};
	const char *text = row_text(row, "tflops_kind");

	for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
		if (strstr(text, words[i].word))
			return words[i].convention;
	return CONVENTION_NONE;
}

/* Seconds of a step: printed, or from a rate; NaN where nothing is. */
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
	if (!(flop_per_s > 0) || !(gbs > 0) || !(seq > 0) || !(gpus > 0) || c == CONVENTION_NONE ||
	    convention_refusal(c, w))
		return NAN;
	return gbs * seq * convention_flop(NULL, c, w, seq) / (flop_per_s * gpus);
}

void
train_row_label(struct score_case *c, const struct validate_row *row, const char *kind)
{
	c->label[SCORE_BY_SOURCE] = row_text(row, "source");
	c->label[SCORE_BY_GPU] = row_text(row, "gpu_id");
	c->label[SCORE_BY_PRECISION] = row_text(row, "precision");
	c->label[SCORE_BY_FAMILY] = row_text(row, "family");
	c->label[SCORE_BY_CONFIDENCE] = row_text(row, "confidence");
	c->label[SCORE_BY_TASK] = row_text(row, "task");
	c->label[SCORE_BY_KIND] = kind;
}

/* The GPU's usual machine, looked up once; else why there is none. */
static const char *
find_machine(struct train_reader *x, const char *id, struct train_bound *b)
{
	struct run *r = &x->quiet;
	int i = 0;

	while (i < x->n_gpus && strcmp(x->gpus[i].id, id) != 0)
		i++;
	if (i == GPUS_MAX)
		return "more GPU types than a file may have";
	if (i == x->n_gpus) {
		x->n_gpus++;
		x->gpus[i].id = id;
		x->gpus[i].gpu = run_gpu(r, (struct word){id, {0}});
		if (x->gpus[i].gpu) {
			x->gpus[i].system = run_usual_system(r, x->gpus[i].gpu);
			x->gpus[i].known = run_train_machine(r, x->gpus[i].gpu, x->gpus[i].system, &x->gpus[i].machine,
			                       &x->gpus[i].capped) &&
			    x->gpus[i].machine.kernels;
		}
	}
	if (!x->gpus[i].gpu)
		return "the GPU has no entry";
	if (!x->gpus[i].known)
		return "nothing was measured on the GPU";
	b->gpu = x->gpus[i].gpu;
	b->system = x->gpus[i].system;
	b->ask.machine = x->gpus[i].machine;
	b->ask.card_byte = memory_of_gpu(b->gpu).value;
	b->doubts.capped = x->gpus[i].capped;
	return NULL;
}

/* The row as a question; else why it is none. */
static const char *
ask(struct train_reader *x, const struct validate_row *row, struct train_bound *b)
{
	struct run *r = &x->quiet;
	const char *model = row_text(row, "model"), *gpu = row_text(row, "gpu_id"), *fits = row_text(row, "fits");

	*b = (struct train_bound){
	    .ask = {.optimizer_byte = 30, .imbalance = 1, .attention = N_ATTENTION_FORMS, .shard = datum_absent()}};
	if (fits && strncmp(fits, "no", 2) == 0)
		return "it ran out of memory";
	const char *refused = NULL, *stack = x->stack ? NULL : train_row_stack(&x->stacks, r, row, &refused);
	if (refused)
		return refused;
	if (!gpu)
		return "the GPU has no entry";
	if (!model)
		return "no model is named";
	const struct workload *w = run_model(r, (struct word){model, {0}});
	const char *why = w ? train_lacks(w) : NULL;
	if (why)
		return why;
	b->ask.model = train_row_model(r->arena, row, w);
	if (!b->ask.model)
		return w ? "the row's shape is not that of the model" : "the model is not known";
	why = find_machine(x, gpu, b);
	if (why)
		return why;
	why = train_row_precision(row, b->ask.machine.generation, &b->ask.dtype, &b->doubts.rowwise);
	if (why)
		return why;
	b->stack = x->stack ? x->stack : bind_stack(r, (struct word){stack, {0}}, b->ask.model);
	if (!b->stack || !b->stack->time.given)
		return "the framework has no time traits";
	train_row_machine(row, &b->ask.machine);
	b->ask.stack = b->stack;
	b->doubts.transferred = b->ask.machine.kernels->transferred_from != NULL;
	b->doubts.ultra = b->gpu->architecture && strcmp(b->gpu->architecture, "blackwell-ultra") == 0;
	b->doubts.n_nodes = row_number(row, "nodes");
	/* a rate over all of a run, not the median step */
	b->doubts.evaluation = row_text(row, "notes") && strstr(row_text(row, "notes"), "include periodic eval") &&
	    !(row_number(row, "step_time_s") > 0);
	return train_row_ask(r->arena, row, &b->ask);
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
warnings_of(struct run *r, const struct train_answer *a)
{
	const char *out = NULL;

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

const char *
train_row_predict(struct train_reader *x, const struct validate_row *row, struct train_row *out)
{
	const char *why = ask(x, row, &out->bound);

	if (why)
		return why;
	out->measured_s = measured_step(row, out->bound.ask.model);
	if (!(out->measured_s > 0))
		return "nothing was measured";
	train_answer(&out->bound.ask, &out->bound.doubts, &out->answer);
	return out->answer.refusal ? train_refusal_text(out->answer.refusal) : NULL;
}

struct score_case *
train_row_case(
    struct validation *v, struct train_reader *x, const struct validate_row *row, int line, const struct train_row *t)
{
	struct score_case *c = validation_add(v, line, "x_s");
	const struct train_terms *terms = &t->answer.terms;
	const struct interval i = train_interval(&x->quiet, &t->bound, &t->answer);

	train_row_label(c, row, "step");
	c->name = row_text(row, "case_id");
	c->label[SCORE_BY_FRAMEWORK] = t->bound.stack->id;
	c->measured = t->measured_s;
	c->predicted = t->answer.step_s;
	c->low = i.low;
	c->high = i.high;
	c->warning = warnings_of(v->run, &t->answer);
	c->baseline[0] = rule_of_thumb(t);
	c->detail = made_of(v->run->arena, &t->answer.job, terms);
	return c;
}

static void
each(struct validation *v, const struct validate_row *row, void *context)
{
	struct train_row t;
	const char *why = train_row_predict(context, row, &t);

	if (why)
		train_row_label(validation_skip(v, row_line(row), why), row, "step");
	else
		train_row_case(v, context, row, row_line(row), &t);
	train_row_memory(v, row);
}

struct train_reader *
train_reader_new(struct run *r)
{
	struct train_reader *x = ARENA_NEW(r->arena, struct train_reader);

	x->quiet = *r;
	x->quiet.sheet = sheet_new();
	x->quiet.diag = diag_new(r->arena);
	x->quiet.database = database_reporting_to(r->database, x->quiet.diag);
	x->quiet.warnings = (struct words){0};
	x->quiet.assumed = (struct assumptions){0};
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
	sheet_free(x->quiet.sheet);
}

double
train_reader_context(struct train_reader *x, const char *model)
{
	const struct workload *w = run_model(&x->quiet, (struct word){model, {0}});

	return w ? datum_or(w->context, NAN) : NAN;
}

static bool
read_train(struct validation *v, const struct validate_file *f)
{
	struct train_reader *x = train_reader_new(v->run);

	v->baseline[0] = "6N";
	const bool ok = validation_rows(v, f, each, x);
	train_reader_free(x);
	return ok;
}

const struct validate_kind validate_train = {"train", "training runs", recognises, read_train};
