/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tuned recipes of Megatron-Bridge, which name a layout and no time, as rows of published training runs: for
 * `validate --plan`. */
#include "ask/validate/validate.h"

#include "base/base.h"
#include "cli/cli.h"

#include <string.h>

/* What all recipes have in common: the framework, and the month of the newest ones. */
static const char HEADS[] = "case_id,source,software,date,task,model,gpu_id,num_gpus,precision,tp,pp,vp,cp,ep,etp,sp,"
                            "sharding,mbs,gbs,seq,recompute,offload,notes\n";
static const char FRAMEWORK[] = "NVIDIA-NeMo/Megatron-Bridge,Megatron-Bridge,2026-08";

static bool
recognises(const struct validate_file *f)
{
	return validate_has(f, "recipe") && validate_has(f, "micro_batch") && validate_has(f, "global_batch") &&
	    validate_has(f, "precision");
}

/* --- cells ----------------------------------------------------------------------------------------------- */

static const char *
said(const struct validate_row *row, const char *column)
{
	const char *text = row_text(row, column);

	return text ? text : "";
}

/* Counts that a recipe computes are not said. */
static const char *
count(const struct validate_row *row, const char *column)
{
	return row_number(row, column) >= 1 ? row_text(row, column) : "";
}

/* `fp8cs`: fp8 with current scaling. */
static const char *
precision(struct arena *a, const struct validate_row *row)
{
	const char *text = said(row, "precision");

	return strncmp(text, "fp8", 3) == 0 ? arena_printf(a, "fp8 %s", text + 3) : text;
}

/* Sequences that are not said are those of the recipe's model: 8192 tokens for Llama 3 and Nemotron, whose published
 * steps say so, 4096 for others. */
static const char *
sequence(const struct validate_row *row)
{
	const char *text = count(row, "seq");

	return *text ? text : row_has(row, "model", "llama3") || row_has(row, "model", "nemotron") ? "8192" : "4096";
}

/* Modules, full recomputation of the first layers of a stage, or layers that wait in the host's memory. */
static const char *
recomputation(struct run *r, const struct validate_row *row)
{
	const double n = row_number(row, "recompute_layers"), n_offloaded = row_number(row, "offload_layers");

	if (n_offloaded >= 1)
		return arena_printf(r->arena, "offload %.0f", n_offloaded);
	if (!row_is(row, "recompute_granularity", "full"))
		return said(row, "recompute_modules");
	return n > 1 ? arena_printf(r->arena, "block %.0f", n) : "full";
}

/* The dispatcher, and moments narrower than fp32. */
static const char *
notes(struct run *r, const struct validate_row *row)
{
	const bool narrow = row_is(row, "exp_avg_dtype", "torch.bfloat16");

	return narrow ? arena_printf(r->arena, "%s, bf16 moments", said(row, "dispatcher")) : said(row, "dispatcher");
}

/* Without tensor parallelism there is no sequence parallelism to switch off. */
static const char *
sequence_parallel(const struct validate_row *row)
{
	return !(row_number(row, "tp") > 1) ? ""
	    : row_is(row, "sp", "True")     ? "yes"
	    : row_is(row, "sp", "False")    ? "no"
	                                    : "";
}

/* --- rows ------------------------------------------------------------------------------------------------ */

static char *
converted(struct run *r, const struct validate_row *row)
{
	const char *const cells[] = {said(row, "task"), said(row, "model"), said(row, "gpu"), count(row, "gpus"),
	    precision(r->arena, row), count(row, "tp"), count(row, "pp"), count(row, "vp"), count(row, "cp"),
	    count(row, "ep"), count(row, "etp"), sequence_parallel(row),
	    row_is(row, "fsdp", "True") ? "Megatron FSDP" : "distributed optimizer", count(row, "micro_batch"),
	    count(row, "global_batch"), sequence(row), recomputation(r, row), said(row, "offload_modules"),
	    notes(r, row)};
	char *out = arena_printf(r->arena, "%s,%s", said(row, "recipe"), FRAMEWORK);

	for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
		out = arena_printf(r->arena, "%s,\"%s\"", out, cells[i]);
	return out;
}

/* The same table as training runs have it; lines keep their numbers. */
static bool
read_recipes(struct validation *v, const struct validate_file *f)
{
	struct run *r = v->run;
	struct table t;
	char *text;
	int line;

	if (!v->judge) {
		diag_error(r->diag, (struct source){.file = f->name}, "recipes have no time to compare");
		diag_hint(r->diag, "add --plan: it judges their layouts");
		return false;
	}
	if (!table_read_text(r->arena, r->diag, f->name, f->text, f->length, &t))
		return false;
	for (text = arena_text(r->arena, ""), line = 1; t.n_lines > 0 && line < table_cell(&t, 0, 0)->at.line - 1;
	     line++)
		text = arena_printf(r->arena, "%s#\n", text);
	text = arena_printf(r->arena, "%s%s", text, HEADS);
	for (size_t i = 0; i < t.n_lines; i++) {
		const struct validate_row row = {f, &t, i};
		for (line++; line < row_line(&row); line++)
			text = arena_printf(r->arena, "%s#\n", text);
		text = arena_printf(r->arena, "%s%s\n", text, converted(r, &row));
	}
	const struct validate_file runs = {.name = f->name, .text = text, .length = strlen(text)};
	return train_read_layouts(v, &runs);
}

const struct validate_kind validate_recipes = {
    "recipes", "tuned recipes (recipe, micro_batch, global_batch)", recognises, read_recipes};
