/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Published peaks of GPU memory.  A row becomes the inputs of `ridge memory`; what it does not say takes the same
 * defaults.  Runs that ran out of memory and the longest contexts that fitted are bounds.
 */
#include "ask/memory/memory.h"
#include "ask/validate/validate.h"
#include "base/sheet.h"
#include "cli/cli.h"
#include "db/db.h"

#include <string.h>

/* --- the inputs of a job --------------------------------------------------------------------------------- */

struct job_in {
	struct memory_in memory;
	struct training_in training;
	struct serving_in serving;
	struct numbers_in numbers;
	struct layout_in layout;
};

#define THIS struct memory_in
static const struct option memory_rows[] = {MEMORY_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct training_in
static const struct option training_rows[] = {TRAINING_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct serving_in
static const struct option serving_rows[] = {SERVING_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct numbers_in
static const struct option numbers_rows[] = {NUMBERS_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct layout_in
static const struct option layout_rows[] = {LAYOUT_OPTIONS(OPTION_ROW)};
#undef THIS

static const struct option_group groups[] = {
    OPTION_GROUP(memory_rows, offsetof(struct job_in, memory)),
    OPTION_GROUP(layout_rows, offsetof(struct job_in, layout)),
    OPTION_GROUP(training_rows, offsetof(struct job_in, training)),
    OPTION_GROUP(serving_rows, offsetof(struct job_in, serving)),
    OPTION_GROUP(numbers_rows, offsetof(struct job_in, numbers)),
};

static const struct command job = {.name = "validate",
    .groups = groups,
    .n_groups = sizeof groups / sizeof *groups,
    .input_size = sizeof(struct job_in)};

static double
byte_of_unit(const char *unit)
{
	return !unit                      ? NAN
	    : strcmp(unit, "GiB") == 0    ? 1073741824.0
	    : strcmp(unit, "GB") == 0     ? 1e9
	    : strcmp(unit, "MiB") == 0    ? 1048576.0
	    : strcmp(unit, "tokens") == 0 ? 1
	                                  : NAN;
}

static void
set_labels(const struct validate_row *row, struct score_case *c)
{
	static const struct row_label labels[] = {{SCORE_BY_SOURCE, "source"}, {SCORE_BY_GPU, "gpu_id"},
	    {SCORE_BY_GPU, "gpu"}, {SCORE_BY_KIND, "kind"}, {SCORE_BY_CONFIDENCE, "confidence"},
	    {SCORE_BY_FAMILY, "model"}, {SCORE_BY_TASK, "task"}, {SCORE_BY_FRAMEWORK, "framework"},
	    {SCORE_BY_PRECISION, "quant"}, {SCORE_BY_PRECISION, "weight_dtype"}};

	row_labels(c, row, labels, sizeof labels / sizeof *labels);
}

/* What the model of memory says of the job, in bytes or tokens. */
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
card_of(const struct validate_row *row, struct database *quiet)
{
	const double printed = row_number(row, "value"), unit = byte_of_unit(row_text(row, "unit"));
	const char *id = row_text(row, "gpu_id"), *ignored;

	if (printed > 0)
		return memory_of_label(NULL, printed * unit); /* cards are sold by GB that are GiB */
	const struct gpu *gpu = id ? database_gpu(quiet, id, NULL, (struct source){0}, &ignored) : NULL;
	return gpu ? memory_of_gpu(gpu).value : NAN;
}

/* A job of the memory model, and the run that read it: its warnings are the row's. */
struct bound {
	struct run run;
	struct memory_job job;
	const struct gpu *gpu;
};

/* The job of the inputs, bound as by `ridge memory`; else why there is none. */
static const char *
bind(struct validation *v, const struct node *inputs, struct bound *out)
{
	struct arena *a = v->run->arena;
	struct job_in *in = ARENA_NEW(a, struct job_in);
	struct run *r = &out->run;
	const struct memory_question question = {
	    &in->memory, &in->training, &in->serving, &in->numbers, &in->layout, NULL};

	*r = run_quiet(v->run);
	r->command = &job;
	r->inputs = inputs;
	if (!inputs_bind(a, r->diag, &job, inputs, in) || !run_memory_job(r, &question, &out->job, &out->gpu))
		return run_refusal(r);
	return NULL;
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
	if (run_answer_interval(&b->run, memory_kind(&b->job), c->predicted, &i)) {
		c->low = i.low;
		c->high = i.high;
	}
	c->safe = memory_safe(NULL, c->predicted, b->job.stack->safety);
	c->baseline[0] = use.weights + use.gradients + use.optimizer;
}

static void
each_row(struct validation *v, const struct validate_row *row, void *context)
{
	struct database *quiet_database = context;
	const char *kind = row_text(row, "kind"), *unit = row_text(row, "unit"), *scope = row_text(row, "scope");
	struct memory_row q = {.arena = v->run->arena, .row = row};
	struct bound b;
	const bool bound = kind && (strcmp(kind, "oom") == 0 || strcmp(kind, "limit") == 0);
	double measured = row_number(row, "value") * byte_of_unit(unit);
	const char *why = NULL;

	if (!(measured > 0))
		measured = row_number(row, "kv_tokens");
	if (memory_row_is_binary(row) && unit && strcmp(unit, "GB") == 0)
		measured *= byte_of_unit("GiB") / byte_of_unit("GB");
	if (!kind || (!bound && strcmp(kind, "measured") != 0))
		why = "not a measurement (estimates and arithmetic)";
	else if (!bound && !(measured > 0))
		why = "no value";
	else
		why = memory_row_ask(&q);
	if (bound && !why) {
		measured = card_of(row, quiet_database);
		why = isnan(measured) ? "unknown GPU memory" : NULL;
	}
	if (!why)
		why = bind(v, q.inputs, &b);
	if (why) {
		set_labels(row, validation_skip(v, row_line(row), why));
		return;
	}
	if (scope && strstr(scope, "total"))
		measured /= row_number(row, "n_gpus");
	struct score_case *c = validation_add(v, row_line(row), q.wanted == WANT_TOKENS ? "x_token" : "x_byte");
	set_labels(row, c);
	c->measured = measured;
	c->name = arena_printf(q.arena, "%s, %s", row_text(row, "model"), row_text(row, "framework"));
	predict(&b, q.wanted, false, c);
	if (q.warning)
		c->warning = q.warning;
	if (bound)
		c->sense = strcmp(kind, "oom") == 0 ? SCORE_ABOVE : SCORE_BELOW;
}

/* --- training runs --------------------------------------------------------------------------------------- */

void
train_row_memory(struct validation *v, const struct validate_row *row)
{
	const char *fits = row_text(row, "fits");
	const bool bound = fits && text_begins(fits, "no");
	const double printed = row_number(row, "peak_mem_gb");
	struct memory_row q = {.arena = v->run->arena, .row = row};
	struct bound b;
	bool rank0 = false;

	if (!bound && !(printed > 0))
		return;
	const char *why = memory_run_ask(&q, bound, &rank0);
	if (!why)
		why = bind(v, q.inputs, &b);
	if (!why && bound && !datum_given(b.job.card_byte))
		why = "unknown GPU memory";
	struct score_case *c =
	    why ? validation_skip(v, row_line(row), why) : validation_add(v, row_line(row), "x_byte");
	c->label[SCORE_BY_ALL] = c->label[SCORE_BY_KIND] = "memory"; /* a group beside that of the steps */
	if (why)
		return;
	c->name = row_text(row, "case_id");
	predict(&b, WANT_PEAK, rank0 && !bound, c);
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
	v->baseline[0] = "states only";
	return validation_rows(v, f, each_row, database_reporting_to(v->run->database, diag_new(v->run->arena)));
}

const struct validate_kind validate_memory = {
    "memory", "published peaks of memory (framework, metric, value, unit)", recognises, read_memory};
