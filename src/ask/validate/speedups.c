/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validate published speedups: of more GPUs, and of speculative decoding. */
#include "ask/validate/validate.h"

#include "model/calc/calc.h"
#include "model/measured/measured.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- scaling series ------------------------------------------------------------------------------------------ */

/*
 * Throughput of one model on growing numbers of GPUs.  Each point is read as a training run, and its efficiency is that
 * of its throughput per GPU over the first point's, predicted and measured alike.
 */

static bool
has(const char *text, const char *piece)
{
	return text && strstr(text, piece);
}

enum { SERIES_MAX = 1024 };

/* The first point of a series. */
struct first {
	const char *series;
	double n_gpus, measured_token_per_s, predicted_token_per_s;
};

struct series_run {
	struct train_reader *reader;
	struct arena *arena;
	struct first series[SERIES_MAX];
	int n;
};

static bool
recognises_scaling(const struct validate_file *f)
{
	return validate_has(f, "series") && validate_has(f, "throughput") && validate_has(f, "parallelism");
}

/* --- a point as a training run --------------------------------------------------------------------------- */

/* The number behind `word`: 8 of `TP8 PP4`; NaN: the word stands for something else, or not there. */
static double
number_after(const char *text, const char *word)
{
	for (const char *p = text; p && (p = strstr(p, word)); p += strlen(word)) {
		const char *digits = p + strlen(word);
		const bool starts = p == text || !isalnum((unsigned char)p[-1]);
		if (starts && isdigit((unsigned char)*digits))
			return strtod(digits, NULL);
	}
	return NAN;
}

static const char *
figure(struct arena *a, double value)
{
	return isnan(value) ? NULL : arena_printf(a, "%.17g", value);
}

/* `-s512-` of a series' name, `8192 tok` of its unit; else what the row has, else what the model was made for. */
static double
length_of(struct series_run *x, const struct validate_row *row)
{
	const char *series = row_text(row, "series"), *unit = row_text(row, "unit"), *model = row_text(row, "model");
	const double named = number_after(series, "s"), printed = row_number(row, "seq");
	const char *at = unit ? strstr(unit, " tok)") : NULL;

	if (printed > 0)
		return printed;
	if (at) {
		while (at > unit && isdigit((unsigned char)at[-1]))
			at--;
		return strtod(at, NULL);
	}
	if (named > 0)
		return named;
	/* nobody trains a series on more than this at once */
	return model ? fmin(train_reader_context(x->reader, model), 8192) : NAN;
}

/* `1536`: sequences of a step.  `256x32/GPU`: sequences of a micro-batch and micro-batches, of each GPU. */
static void
batch_of(const struct validate_row *row, double n_gpus, double *global, double *micro)
{
	const char *text = row_text(row, "batch");
	char *end;

	*global = *micro = NAN;
	if (!text || !isdigit((unsigned char)*text))
		return;
	const double first = strtod(text, &end);
	if (!strstr(text, "/GPU")) {
		*global = first;
		return;
	}
	const double second = *end == 'x' ? strtod(end + 1, NULL) : 1;
	*micro = first;
	if (second >= 1)
		*global = first * second * n_gpus;
}

/* Sequences of a micro-batch where the notes have it: `mbs 8`. */
static double
noted_batch(const char *notes)
{
	const char *at = notes ? strstr(notes, "mbs ") : NULL;

	return at ? strtod(at + 4, NULL) : NAN;
}

static const char *
recompute_of(const struct validate_row *row)
{
	if (row_has(row, "notes", "recompute full") || row_has(row, "unit", "hardware"))
		return "full";
	return row_has(row, "notes", "recompute none") ? "none" : NULL;
}

/* Columns of the outcome: which of them the unit fills, and by whose count. */
static void
outcome_of(const struct validate_row *row, double n_gpus, double *tokens, double *samples, double *tflops)
{
	const double value = row_number(row, "throughput");

	*tokens = *samples = *tflops = NAN;
	if (row_has(row, "unit", "tokens/s"))
		*tokens = value / n_gpus;
	else if (row_has(row, "unit", "samples/s") || row_has(row, "unit", "seq/s"))
		*samples = value;
	else if (row_has(row, "unit", "PFLOP/s"))
		*tflops = 1000 * value / n_gpus;
	else if (row_has(row, "unit", "TFLOP/s/GPU"))
		*tflops = value;
}

/* The point in the columns of training runs. */
static struct table
as_run(struct series_run *x, const struct validate_row *row)
{
	struct arena *a = x->arena;
	const char *series = row_text(row, "series"), *parallel = row_text(row, "parallelism"),
	           *notes = row_text(row, "notes"), *precision = row_text(row, "precision");
	const double n = row_number(row, "num_gpus"), nodes = row_number(row, "nodes");
	const bool model_parallel = has(parallel, "TP") || has(parallel, "PP") || has(parallel, "CP");
	double global, micro, tokens, samples, tflops;

	batch_of(row, n, &global, &micro);
	outcome_of(row, n, &tokens, &samples, &tflops);
	if (isnan(micro))
		micro = noted_batch(notes);
	const struct {
		const char *column, *text;
	} run[] = {{"gpu_id", row_text(row, "gpu_id")}, {"case_id", series}, {"source", row_text(row, "source")},
	    {"software", series}, {"task", has(series, "lora") ? "lora" : "pretrain"},
	    {"model", row_text(row, "model")}, {"seq", figure(a, length_of(x, row))}, {"num_gpus", figure(a, n)},
	    {"nodes", figure(a, nodes)}, {"gpus_per_node", figure(a, nodes >= 1 ? n / nodes : NAN)},
	    {"interconnect", row_text(row, "interconnect")},
	    {"precision", row_is(row, "precision", "16-bit") ? "bf16" : precision},
	    {"tp", model_parallel ? figure(a, fmax(1, number_after(parallel, "TP"))) : NULL},
	    {"pp", figure(a, number_after(parallel, "PP"))}, {"vp", figure(a, number_after(parallel, "VP"))},
	    {"cp", figure(a, number_after(parallel, "CP"))}, {"sharding", model_parallel ? NULL : parallel},
	    {"mbs", figure(a, micro)}, {"gbs", figure(a, global)}, {"recompute", recompute_of(row)},
	    {"tokens_per_s_per_gpu", figure(a, tokens)}, {"samples_per_s", figure(a, samples)},
	    {"tflops_per_gpu", figure(a, tflops)},
	    {"tflops_kind", row_has(row, "unit", "hardware") ? "96*" : "(Megatron)"},
	    {"confidence", row_text(row, "confidence")}, {"notes", has(series, "compile") ? "torch.compile" : notes}};
	enum { N = sizeof run / sizeof *run };
	const char **heads = ARENA_ARRAY(a, const char *, N);
	struct cell *cells = ARENA_ARRAY(a, struct cell, N);

	for (int i = 0; i < N; i++) {
		heads[i] = run[i].column;
		cells[i] = (struct cell){run[i].text, table_cell(row->table, row->line, 0)->at};
	}
	return (struct table){.n_columns = N, .n_lines = 1, .heads = heads, .cells = cells};
}

/* --- efficiency ------------------------------------------------------------------------------------------ */

static struct first *
first_of(struct series_run *x, const char *series)
{
	for (int i = 0; i < x->n; i++)
		if (strcmp(x->series[i].series, series) == 0)
			return &x->series[i];
	return NULL;
}

/* Series whose model grows have no efficiency. */
static void
add_efficiency(struct validation *v, struct series_run *x, const struct validate_row *row, const struct train_row *t)
{
	const char *series = row_text(row, "series");
	const struct train_job *job = &t->answer.job;
	const double token = job->n_global_sequences * job->seq_length;
	const struct first here = {series, job->n_gpus, token / t->measured_s, token / t->answer.step_s};
	const struct first *first = series ? first_of(x, series) : NULL;

	if (!series || row_has(row, "scaling", "model grows"))
		return;
	if (!first && x->n < SERIES_MAX) {
		x->series[x->n++] = here;
		return;
	}
	if (!first || first->n_gpus == here.n_gpus)
		return;
	struct score_case *c = validation_add(v, row_line(row), "x_frac");
	train_row_label(c, row, "efficiency");
	const double share = first->n_gpus / here.n_gpus;
	c->name = series;
	c->label[SCORE_BY_FRAMEWORK] = t->bound.stack->id;
	c->measured = here.measured_token_per_s / first->measured_token_per_s * share;
	c->predicted = here.predicted_token_per_s / first->predicted_token_per_s * share;
	c->low = c->high = c->baseline[0] = NAN;
}

static void
each_point(struct validation *v, const struct validate_row *row, void *context)
{
	struct series_run *x = context;
	const struct table table = as_run(x, row);
	const struct validate_row run = {row->file, &table, 0};
	struct train_row t;
	const char *why = train_row_predict(x->reader, &run, &t);

	if (why && train_list_case(v, &t))
		return;
	if (why) {
		train_row_label(validation_skip(v, row_line(row), why), row, "step");
		return;
	}
	struct score_case *c = train_row_case(v, x->reader, row, &t);
	c->name = arena_printf(
	    x->arena, "%s %.0f", row_text(row, "series") ? row_text(row, "series") : "", t.answer.job.n_gpus);
	add_efficiency(v, x, row, &t);
}

static bool
read_scaling(struct validation *v, const struct validate_file *f)
{
	struct series_run *x = ARENA_NEW(v->run->arena, struct series_run);

	x->reader = train_reader_new(v->run);
	x->arena = v->run->arena;
	v->baseline[0] = "6N";
	const bool ok = validation_rows(v, f, each_point, x);
	train_reader_free(x->reader);
	return ok;
}

const struct validate_kind validate_scaling = {"scaling", "scaling series", recognises_scaling, read_scaling};

/* --- speculative decoding ------------------------------------------------------------------------------------ */

/*
 * Given the accepted tokens per step.  The relative cost of a step depends on the method; it is known per class of
 * methods only, from the same kind of publications.
 */

/*
 * Steps with drafts beside plain ones at batch 1, by how drafts are made.  Mean cost of a step and what a draft more
 * adds: lookups are nearly free; heads, retrieval and small models cost a third; heads that draft one token after the
 * other, with a tree of candidates, two thirds (Xia et al., arXiv:2401.07851, Spec-Bench: Vicuna on A100, eager).  A
 * chain of prediction layers costs 8 % a draft (TensorRT-LLM on DeepSeek-R1).  The first that fits counts.
 */
static const struct method {
	const char *name, *class;
	double step_ratio, draft_ratio;
	double sigma; /* of ln: tasks and implementations differ */
} methods[] = {
    {"P-EAGLE", NULL, 0, 0, 0},
    {"EAGLE", "trees of heads", 1.75, 0, 0.15},
    {"Hydra", "trees of heads", 1.55, 0, 0.15},
    {"MTP", "chain of layers", 1, 0.08, 0.06},
    {"PLD", "lookup", 1.07, 0, 0.25},
    {"n-gram", "lookup", 1.07, 0, 0.25},
    {"lookup", "lookup", 1.07, 0, 0.25},
    {"Recycling", "one pass", 1.34, 0, 0.15},
    {"Medusa", "one pass", 1.34, 0, 0.15},
    {"Lookahead", "one pass", 1.34, 0, 0.15},
    {"REST", "one pass", 1.34, 0, 0.15},
    {"SpS", "small model", 1.34, 0, 0.2},
    {"draft model", "small model", 1.34, 0, 0.25},
};

static bool
recognises_specdec(const struct validate_file *f)
{
	return validate_has(f, "speedup") && validate_has(f, "gamma") && validate_has(f, "mean_accepted_len");
}

/* Tokens of a step with the one that comes for free; NaN: not known. */
static double
tokens_of(const struct validate_row *row)
{
	const double mean = row_number(row, "mean_accepted_len"), alpha = row_number(row, "acceptance_rate_alpha");
	const double n_drafts = row_number(row, "gamma");

	if (mean >= 1)
		return mean;
	return alpha >= 0 && n_drafts >= 1 ? draft_tokens(NULL, alpha, n_drafts) : NAN;
}

static void
label(struct score_case *c, const struct validate_row *row, const struct method *m)
{
	static const struct row_label labels[] = {{SCORE_BY_SOURCE, "source"}, {SCORE_BY_GPU, "gpu_id"},
	    {SCORE_BY_CONFIDENCE, "confidence"}, {SCORE_BY_TASK, "task"}, {SCORE_BY_FRAMEWORK, "method"}};

	row_labels(c, row, labels, sizeof labels / sizeof *labels);
	c->label[SCORE_BY_REGIME] = m ? m->class : NULL;
}

static void
each_draft(struct validation *v, const struct validate_row *row, void *context)
{
	const struct method *m = ROW_FIND(row, "method", methods);
	const double tokens = tokens_of(row), measured = row_number(row, "speedup"), batch = row_number(row, "batch");
	const double n_drafts = row_number(row, "gamma");

	(void)context;
	const char *why = !m ? "unknown method"
	    : !m->class || row_has(row, "notes", "relative to")
	    ? "compared with another method, not with plain decoding"
	    : !(measured > 0)                       ? "nothing was measured"
	    : isnan(tokens)                         ? "accepted tokens not given"
	    : m->draft_ratio > 0 && isnan(n_drafts) ? "draft length not given"
	    : !row_text(row, "gpu_id")              ? "GPU not in the database"
	    : batch > 1                             ? "batch above 1: the cost of a draft depends on the load"
	                                            : NULL;
	if (why) {
		label(validation_skip(v, row_line(row), why), row, m);
		return;
	}
	struct score_case *c = validation_add(v, row_line(row), "speedup");
	const struct error_terms errors = {.stack_sigma = m->sigma, .widening = 1};
	label(c, row, m);
	c->name = row_text(row, "case_id");
	c->measured = measured;
	const struct draft_cost cost = {.draft_s = {.value = m->draft_ratio},
	    .target_s = {.value = 1},
	    .verify_s = {.value = m->step_ratio},
	    .overhead_s = {.value = 0}};
	c->predicted = tokens / draft_step(NULL, &cost, n_drafts > 0 ? n_drafts : 0);
	const struct interval band = interval_of(c->predicted, &errors, "published gains of this class of methods");
	c->low = band.low;
	c->high = band.high;
}

static bool
read_specdec(struct validation *v, const struct validate_file *f)
{
	return validation_rows(v, f, each_draft, NULL);
}

const struct validate_kind validate_specdec = {"specdec", "speculative decoding", recognises_specdec, read_specdec};
