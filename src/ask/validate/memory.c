/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Validate published memory peaks.  A row becomes the inputs of `ridge memory`, with the same defaults.  Out-of-memory
 * runs and the longest contexts that fit are scored as bounds.
 */
#include "ask/memory/memory.h"
#include "ask/validate/validate.h"
#include "base/sheet.h"
#include "cli/cli.h"

#include <string.h>

static void
set_labels(const struct validate_row *row, struct score_case *c)
{
	static const struct row_label labels[] = {{SCORE_BY_SOURCE, "source"}, {SCORE_BY_GPU, "gpu_id"},
	    {SCORE_BY_GPU, "gpu"}, {SCORE_BY_KIND, "kind"}, {SCORE_BY_CONFIDENCE, "confidence"},
	    {SCORE_BY_FAMILY, "model"}, {SCORE_BY_TASK, "task"}, {SCORE_BY_FRAMEWORK, "framework"},
	    {SCORE_BY_PRECISION, "quant"}, {SCORE_BY_PRECISION, "weight_dtype"}};

	row_labels(c, row, labels, sizeof labels / sizeof *labels);
}

/* Predict the job with the memory model, in bytes or tokens. */
static double
answer(const struct memory_job *m, enum wanted wanted, bool first_stage, struct memory_use *use)
{
	const double peak = first_stage ? memory_stage_peak(m, 0, use) : memory_peak(NULL, m, use);

	switch (wanted) {
	case WANT_WEIGHTS:
		return use->weights;
	case WANT_ACTIVATIONS:
		return use->activations;
	case WANT_POOL:
		return memory_kv_pool(NULL, m);
	case WANT_TOKENS:
		return memory_pool_tokens(NULL, m, memory_kv_pool(NULL, m));
	case WANT_PEAK:
		break;
	}
	return peak;
}

static const char *
made_of(struct arena *a, const struct memory_use *u)
{
	const struct {
		const char *name;
		double byte;
	} parts[] = {{"weights", u->weights}, {"gradients", u->gradients}, {"optimizer", u->optimizer},
	    {"activations", u->activations}, {"logits", u->logits}, {"buffers", u->buffers}, {"cache", u->kv},
	    {"context", u->context}};
	const char *text = "";
	char buf[80];

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (parts[i].byte > 0)
			text = arena_printf(a, "%s%s%s %s", text, *text ? ", " : "", parts[i].name,
			    value_write("x_byte", parts[i].byte, buf, sizeof buf));
	return text;
}

/* What a bound is about: the card that was too small, or just large enough. */
static double
card_of(const struct published *p, double printed_byte)
{
	const char *id = row_text(p->row, "gpu_id");
	struct run look = run_quiet(&p->run);

	if (printed_byte > 0)
		return memory_of_label(NULL, printed_byte); /* cards are sold by GB that are GiB */
	const struct gpu *gpu = id ? run_gpu(&look, (struct word){id, {0}}) : NULL;
	return gpu ? memory_of_gpu(gpu).value : NAN;
}

/* A job of the memory model, and the run that read it: its warnings are the row's. */
struct bound {
	struct run run;
	struct memory_job job;
	const struct gpu *gpu;
};

/* The job of a row, bound as by `ridge memory`; else why there is none. */
static const char *
bind(struct published *p, struct bound *out)
{
	struct train_question q;

	return published_ask(p, &out->run, &q) && run_memory_job(&out->run, &q.memory, &out->job, &out->gpu)
	    ? NULL
	    : run_refusal(&out->run);
}

/* The prediction of a case, with its parts, interval and safe value; of the first stage alone, or the largest. */
static void
predict(struct bound *b, enum wanted wanted, bool first_stage, struct score_case *c)
{
	struct memory_use use;
	struct interval i;

	c->predicted = answer(&b->job, wanted, first_stage, &use);
	c->detail = made_of(b->run.arena, &use);
	for (size_t k = 0; k < b->run.warnings.n && !c->warning; k++)
		if (!strstr(b->run.warnings.list[k].text, "the model's context")) /* no doubt about memory */
			c->warning = b->run.warnings.list[k].text;
	if (wanted != WANT_PEAK)
		return;
	if (run_answer_interval(&b->run, memory_kind(&b->job), memory_listed(&b->job), c->predicted, &i)) {
		c->low = i.low;
		c->high = i.high;
	}
	c->cell[0] = b->job.stack->id;
	c->safe = memory_safe(NULL, c->predicted, b->job.stack->safety);
	c->baseline[0] = use.weights + use.gradients + use.optimizer;
}

/* What a row measured, in bytes or tokens of one GPU; NaN: nothing. */
static double
measured_of(const struct published *p, double unit_byte)
{
	const bool binary = p->match && p->match->gib && row_is(p->row, "unit", "GB");
	const double value = row_number(p->row, "value") * unit_byte * (binary ? 1073741824.0 / 1e9 : 1);

	return value > 0 ? value : row_number(p->row, "kv_tokens");
}

static void
each_row(struct validation *v, const struct validate_row *row, void *context)
{
	struct published p = published_row(v->run, row, context);
	struct bound b;
	enum wanted wanted = WANT_PEAK;
	const char *why = memory_row_ask(&p, &wanted), *sense = published_fact(&p, "kind.bound");
	const double unit_byte = published_figure(&p, "unit.byte");
	double measured = measured_of(&p, unit_byte);

	if (!why && !row_text(row, "kind"))
		why = "not a measurement (estimates and arithmetic)";
	if (!why && !sense && !(measured > 0))
		why = "no value";
	if (!why && sense) {
		measured = card_of(&p, row_number(row, "value") * unit_byte);
		why = isnan(measured) ? "unknown GPU memory" : NULL;
	}
	if (!why)
		why = bind(&p, &b);
	if (why) {
		set_labels(row, validation_skip(v, row_line(row), why));
		return;
	}
	if (published_fact(&p, "scope.total"))
		measured /= row_number(row, "n_gpus");
	struct score_case *c = validation_add(v, row_line(row), wanted == WANT_TOKENS ? "x_token" : "x_byte");
	set_labels(row, c);
	c->measured = measured;
	c->name = arena_printf(p.arena, "%s, %s", row_text(row, "model"), row_text(row, "framework"));
	predict(&b, wanted, published_fact(&p, "scope.first") != NULL, c);
	if (p.warning)
		c->warning = p.warning;
	if (sense)
		c->sense = strcmp(sense, "above") == 0 ? SCORE_ABOVE : SCORE_BELOW;
}

/* --- training runs --------------------------------------------------------------------------------------- */

/* Whether the framework logs what the first rank has. */
static bool
logs_first(const struct stack *s)
{
	return strcmp(s->id, "megatron-lm") == 0 || strcmp(s->id, "megatron-deepspeed") == 0;
}

void
train_row_memory(struct validation *v, struct published *p, const char *why)
{
	const struct validate_row *row = p->row;
	const bool bound = published_fact(p, "fits.oom") != NULL;
	const double printed = row_number(row, "peak_mem_gb");
	struct bound b;

	if (!bound && !(printed > 0))
		return;
	if (!why && !bound && published_fact(p, "notes.paper"))
		why = "not a measurement (estimates and arithmetic)";
	if (!why && !(row_number(row, "mbs") > 0))
		why = "micro-batch not given";
	if (!why && published_fact(p, "offload.some"))
		why = "offload: of how many layers is not given";
	if (!why)
		why = bind(p, &b);
	if (!why && bound && !datum_given(b.job.card_byte))
		why = "unknown GPU memory";
	struct score_case *c =
	    why ? validation_skip(v, row_line(row), why) : validation_add(v, row_line(row), "x_byte");
	c->label[SCORE_BY_ALL] = c->label[SCORE_BY_KIND] = "memory"; /* a group apart from the step times */
	if (why)
		return;
	c->name = row_text(row, "case_id");
	predict(&b, WANT_PEAK, logs_first(b.job.stack) && !bound, c);
	if (!p->match && !c->warning)
		c->warning = train_warning_text(TRAIN_WARNS_STACK);
	c->baseline[0] = NAN; /* the file's is of steps */
	c->measured = bound ? b.job.card_byte.value : printed * 1073741824.0;
	if (bound)
		c->sense = SCORE_ABOVE;
}

/* --- the file -------------------------------------------------------------------------------------------- */

static bool
recognises(const struct validate_file *f)
{
	return validate_has(f, "metric") && validate_has(f, "weight_dtype") && validate_has(f, "framework") &&
	    validate_has(f, "value") && validate_has(f, "unit");
}

static bool
read_memory(struct validation *v, const struct validate_file *f)
{
	struct published_stacks stacks = {.unlisted = v->unlisted};

	v->baseline[0] = "states only";
	return validation_rows(v, f, each_row, &stacks);
}

const struct validate_kind validate_memory = {
    "memory", "published peaks of memory (framework, metric, value, unit)", recognises, read_memory};
