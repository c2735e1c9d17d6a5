/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Validate published speedups of speculative decoding, given the accepted tokens per step.  The relative cost of a
 * step depends on the method; it is known per class of methods only, from the same kind of publications.
 */
#include "ask/validate/validate.h"
#include "model/calc/calc.h"
#include "model/measured/measured.h"

#include <string.h>

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
recognises(const struct validate_file *f)
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
each(struct validation *v, const struct validate_row *row, void *context)
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
	return validation_rows(v, f, each, NULL);
}

const struct validate_kind validate_specdec = {"specdec", "speculative decoding", recognises, read_specdec};
