/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Published scaling series: throughput of one model on growing numbers of GPUs.  Each point is read as a training run,
 * and its efficiency is that of its throughput per GPU over the first point's, predicted and measured alike.
 */
#include "ask/validate/validate.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { SERIES_MAX = 1024 };

/* The first point of a series. */
struct first {
	const char *series;
	double n_gpus, measured_token_per_s, predicted_token_per_s;
};

struct scaling_run {
	struct train_reader *reader;
	struct arena *arena;
	struct first series[SERIES_MAX];
	int n;
};

static bool
recognises(const struct validate_file *f)
{
	return validate_has(f, "series") && validate_has(f, "throughput") && validate_has(f, "parallelism");
}

/* --- a point as a training run --------------------------------------------------------------------------- */

static bool
has(const char *text, const char *piece)
{
	return text && strstr(text, piece);
}

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
	return isnan(value) ? "" : arena_printf(a, "%.17g", value);
}

/* `-s512-` of a series' name, `8192 tok` of its unit; else what the row has, else what the model was made for. */
static double
length_of(struct scaling_run *x, const struct validate_row *row)
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
	const char *notes = row_text(row, "notes"), *unit = row_text(row, "unit");

	if (has(notes, "recompute full") || has(unit, "hardware"))
		return "full";
	return has(notes, "recompute none") ? "none" : "";
}

/* Columns of the outcome: which of them the unit fills, and by whose count. */
static void
outcome_of(const struct validate_row *row, double n_gpus, double *tokens, double *samples, double *tflops)
{
	const char *unit = row_text(row, "unit");
	const double value = row_number(row, "throughput");

	*tokens = *samples = *tflops = NAN;
	if (has(unit, "tokens/s"))
		*tokens = value / n_gpus;
	else if (has(unit, "samples/s") || has(unit, "seq/s"))
		*samples = value;
	else if (has(unit, "PFLOP/s"))
		*tflops = 1000 * value / n_gpus;
	else if (has(unit, "TFLOP/s/GPU"))
		*tflops = value;
}

/* Whose count of FLOP: with recomputation in it, or the framework's. */
static const char *
counted_by(const struct validate_row *row)
{
	return has(row_text(row, "unit"), "hardware") ? "96*" : "(Megatron)";
}

/* Quotes are doubled inside quotes. */
static const char *
quoted(struct arena *a, const char *text)
{
	char *const out = ARENA_ARRAY(a, char, 2 * (text ? strlen(text) : 0) + 3), *p = out;

	*p++ = '"';
	for (const char *q = text; q && *q; q++) {
		if (*q == '"')
			*p++ = '"';
		*p++ = *q;
	}
	*p++ = '"';
	*p = '\0';
	return out;
}

static const char *
as_run(struct scaling_run *x, const struct validate_row *row)
{
	struct arena *a = x->arena;
	const char *series = row_text(row, "series"), *parallel = row_text(row, "parallelism"),
	           *notes = row_text(row, "notes");
	const double n = row_number(row, "num_gpus"), nodes = row_number(row, "nodes");
	const bool model_parallel = has(parallel, "TP") || has(parallel, "PP") || has(parallel, "CP");
	double global, micro, tokens, samples, tflops;

	batch_of(row, n, &global, &micro);
	outcome_of(row, n, &tokens, &samples, &tflops);
	if (isnan(micro))
		micro = noted_batch(notes);
	const char *precision = row_text(row, "precision");
	if (precision && strcmp(precision, "16-bit") == 0)
		precision = "bf16";
	return arena_printf(a,
	    "gpu_id,case_id,source,software,family,task,model,seq,num_gpus,nodes,gpus_per_node,interconnect,precision,"
	    "tp,pp,vp,cp,sharding,mbs,gbs,recompute,tokens_per_s_per_gpu,samples_per_s,tflops_per_gpu,tflops_kind,"
	    "confidence,notes\n"
	    "%s,%s,%s,%s,,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\n",
	    quoted(a, row_text(row, "gpu_id")), quoted(a, series), quoted(a, row_text(row, "source")),
	    quoted(a, series), has(series, "lora") ? "lora" : "pretrain", quoted(a, row_text(row, "model")),
	    figure(a, length_of(x, row)), figure(a, n), figure(a, nodes), figure(a, nodes >= 1 ? n / nodes : NAN),
	    quoted(a, row_text(row, "interconnect")), quoted(a, precision),
	    model_parallel ? figure(a, fmax(1, number_after(parallel, "TP"))) : "",
	    figure(a, number_after(parallel, "PP")), figure(a, number_after(parallel, "VP")),
	    figure(a, number_after(parallel, "CP")), model_parallel ? "" : quoted(a, parallel), figure(a, micro),
	    figure(a, global), recompute_of(row), figure(a, tokens), figure(a, samples), figure(a, tflops),
	    counted_by(row), quoted(a, row_text(row, "confidence")),
	    quoted(a, has(series, "compile") ? "torch.compile" : notes));
}

/* --- efficiency ------------------------------------------------------------------------------------------ */

static struct first *
first_of(struct scaling_run *x, const char *series)
{
	for (int i = 0; i < x->n; i++)
		if (strcmp(x->series[i].series, series) == 0)
			return &x->series[i];
	return NULL;
}

/* Series whose model grows have no efficiency. */
static void
add_efficiency(struct validation *v, struct scaling_run *x, const struct validate_row *row, const struct train_row *t)
{
	const char *series = row_text(row, "series"), *scaling = row_text(row, "scaling");
	const struct train_job *job = &t->answer.job;
	const double token = job->n_global_sequences * job->seq_length;
	const struct first here = {series, job->n_gpus, token / t->measured_s, token / t->answer.step_s};
	const struct first *first = series ? first_of(x, series) : NULL;

	if (!series || has(scaling, "model grows"))
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
each(struct validation *v, const struct validate_row *row, void *context)
{
	struct scaling_run *x = context;
	struct table table;
	struct train_row t;
	const char *text = as_run(x, row), *why = "unreadable columns";
	const struct validate_row run = {row->file, &table, 0};

	if (table_read_text(x->arena, v->run->diag, row->file->name, text, strlen(text), &table) && table.n_lines == 1)
		why = train_row_predict(x->reader, &run, &t);
	if (why) {
		train_row_label(validation_skip(v, row_line(row), why), row, "step");
		return;
	}
	struct score_case *c = train_row_case(v, x->reader, &run, row_line(row), &t);
	train_row_label(c, row, "step");
	c->name = arena_printf(
	    x->arena, "%s %.0f", row_text(row, "series") ? row_text(row, "series") : "", t.answer.job.n_gpus);
	add_efficiency(v, x, row, &t);
}

static bool
read_scaling(struct validation *v, const struct validate_file *f)
{
	struct scaling_run *x = ARENA_NEW(v->run->arena, struct scaling_run);

	x->reader = train_reader_new(v->run);
	x->arena = v->run->arena;
	v->baseline[0] = "6N";
	const bool ok = validation_rows(v, f, each, x);
	train_reader_free(x->reader);
	return ok;
}

const struct validate_kind validate_scaling = {"scaling", "scaling series", recognises, read_scaling};
