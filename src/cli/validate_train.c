/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Published training runs: time of a step, from what a row says of model, layout, batch and framework. */
#include "cli/validate_train.h"

#include "cli/train_show.h"
#include "data/database.h"
#include "data/stack.h"
#include "ridge/convention.h"

#include <string.h>

enum { GPUS_MAX = 64 };

struct context {
	struct run quiet; /* faults of a row are reasons to skip it, not errors */
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
	return validate_has(f, "tokens_per_s_per_gpu") && validate_has(f, "step_time_s") && validate_has(f, "gbs");
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
	    {"2205.05198", CONVENTION_SEQSEL}, {"appendix A", CONVENTION_SEQSEL},
	    {"model BF16", CONVENTION_NEMO}};
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
	if (!(flop_per_s > 0) || !(gbs > 0) || !(seq > 0) || !(gpus > 0) || c == CONVENTION_NONE || convention_refusal(c, w))
		return NAN;
	return gbs * seq * convention_flop(NULL, c, w, seq) / (flop_per_s * gpus);
}

static void
label(struct score_case *c, const struct validate_row *row)
{
	c->label[SCORE_BY_SOURCE] = row_text(row, "source");
	c->label[SCORE_BY_GPU] = row_text(row, "gpu_id");
	c->label[SCORE_BY_PRECISION] = row_text(row, "precision");
	c->label[SCORE_BY_FAMILY] = row_text(row, "family");
	c->label[SCORE_BY_CONFIDENCE] = row_text(row, "confidence");
	c->label[SCORE_BY_TASK] = row_text(row, "task");
	c->label[SCORE_BY_KIND] = "step";
}

/* The GPU's usual machine, looked up once; else why there is none. */
static const char *
find_machine(struct context *x, const char *id, struct train_bound *b)
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
			    &x->gpus[i].capped) && x->gpus[i].machine.kernels;
		}
	}
	if (!x->gpus[i].gpu)
		return "the GPU has no entry";
	if (!x->gpus[i].known)
		return "nothing was measured on the GPU";
	b->gpu = x->gpus[i].gpu;
	b->system = x->gpus[i].system;
	b->ask.machine = x->gpus[i].machine;
	b->doubts.capped = x->gpus[i].capped;
	return NULL;
}

/* The row as a question; else why it is none. */
static const char *
ask(struct context *x, const struct validate_row *row, struct train_bound *b)
{
	struct run *r = &x->quiet;
	const char *model = row_text(row, "model"), *gpu = row_text(row, "gpu_id"), *fits = row_text(row, "fits");
	enum attention_form attention;

	*b = (struct train_bound){.ask = {.optimizer_byte = 30, .imbalance = 1}};
	if (fits && strncmp(fits, "no", 2) == 0)
		return "it ran out of memory";
	if (row_text(row, "software") && strcmp(row_text(row, "software"), "MegaScale") == 0)
		return "an architecture that was changed in ways the row does not give";
	if (!gpu)
		return "the GPU has no entry";
	if (!model)
		return "no model is named";
	const struct workload *w = run_model(r, (struct word){model, {0}});
	if (!w)
		return "the model is not known";
	const char *why = train_lacks(w);
	if (why)
		return why;
	b->ask.model = train_row_model(r->arena, row, w);
	if (!b->ask.model)
		return "the row's shape is not that of the model";
	why = find_machine(x, gpu, b);
	if (why)
		return why;
	why = train_row_precision(row, &b->ask.dtype, &b->doubts.rowwise);
	if (why)
		return why;
	const char *stack = train_row_stack(row, &attention);
	b->stack = run_train_stack(r, (struct word){stack ? stack : "megatron-core", {0}}, b->ask.model);
	if (!b->stack || !b->stack->time.given)
		return "the framework has no time traits";
	train_row_machine(row, &b->ask.machine);
	b->ask.stack = b->stack;
	b->ask.attention = attention;
	b->doubts.transferred = b->ask.machine.kernels->transferred_from != NULL;
	b->doubts.ultra = b->gpu->architecture && strcmp(b->gpu->architecture, "blackwell-ultra") == 0;
	b->doubts.n_nodes = row_number(row, "nodes");
	b->doubts.precision_open = !row_text(row, "precision");
	return train_row_ask(row, &b->ask);
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

static void
each(struct validation *v, const struct validate_row *row, void *context)
{
	struct context *x = context;
	struct train_bound b;
	struct train_answer a;
	double measured = NAN;

	const char *why = ask(x, row, &b);
	if (!why) {
		measured = measured_step(row, b.ask.model);
		why = measured > 0 ? NULL : "nothing was measured";
	}
	if (!why) {
		train_answer(&b.ask, &b.doubts, &a);
		if (a.refusal)
			why = train_refusal_text(a.refusal);
	}
	if (why) {
		label(validation_skip(v, row_line(row), why), row);
		return;
	}
	struct score_case *c = validation_add(v, row_line(row), "x_s");
	label(c, row);
	c->name = row_text(row, "case_id");
	c->label[SCORE_BY_FRAMEWORK] = b.stack->id;
	c->measured = measured;
	c->predicted = a.step_s;
	const struct interval i = train_interval(&x->quiet, &b, &a);
	c->low = i.low;
	c->high = i.high;
	c->warning = warnings_of(v->run, &a);
	c->baseline[0] = NAN;
	c->detail =
	    arena_printf(v->run->arena, "layer %.4g ms: forward %.4g backward %.4g recompute %.4g tp %.3g ep %.3g",
	        1e3 * a.terms.layer_s, 1e3 * a.terms.forward_s, 1e3 * a.terms.backward_s, 1e3 * a.terms.recompute_s,
	        1e3 * a.terms.tp_s, 1e3 * a.terms.ep_s);
}

static bool
read_train(struct validation *v, const struct validate_file *f)
{
	struct context x = {.quiet = *v->run};

	x.quiet.sheet = sheet_new();
	x.quiet.diag = diag_new(v->run->arena);
	x.quiet.database = database_reporting_to(v->run->database, x.quiet.diag);
	x.quiet.assumed = x.quiet.warnings = (struct words){0};
	const bool ok = validation_rows(v, f, each, &x);
	sheet_free(x.quiet.sheet);
	return ok;
}

const struct validate_kind validate_train = {"train", "training runs", recognises, read_train};
