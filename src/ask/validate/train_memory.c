/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What published training runs held in memory, or that they did not fit: a second case of their rows. */
#include "ask/validate/validate.h"
#include "base/base.h"
#include "db/db.h"

#include <stdlib.h>
#include <string.h>

/* What a software's name holds; the first that is found counts.  `zero`: what it does where nothing is said of
 * sharding.  `rank0`: its log is the first rank's. */
static const struct software {
	const char *word, *stack, *counter;
	int zero;
	bool rank0;
} softwares[] = {
    {"torchtitan", "torchtitan", "reserved", 3, false},
    {"Megatron-DeepSpeed", "megatron-deepspeed", "device", 1, true},
    {"Megatron-Bridge", "megatron-core", "device", 1, false},
    {"Megatron-Core", "megatron-core", "device", 1, false},
    {"NeMo", "megatron-core", "device", 1, false},
    {"Megatron-LM", "megatron-lm", "device", 0, true},
    {"llm-foundry", "llm-foundry", "device", 3, false},
};

static const struct software *
software_of(const struct validate_row *row)
{
	const char *name = row_text(row, "software"), *source = row_text(row, "source");

	for (size_t i = 0; i < sizeof softwares / sizeof *softwares; i++)
		if ((name && strstr(name, softwares[i].word)) || (source && strstr(source, softwares[i].word)))
			return &softwares[i];
	return NULL;
}

struct asked {
	struct arena *arena;
	const struct validate_row *row;
	const struct node *inputs;
};

static void
set(struct asked *q, const char *path, const char *text)
{
	q->inputs = tree_with(q->arena, q->inputs, path, tree_scalar(q->arena, text, (struct source){0}));
}

static void
set_number(struct asked *q, const char *path, double value)
{
	if (value > 0)
		set(q, path, arena_printf(q->arena, "%.17g", value));
}

static bool
says(const struct asked *q, const char *column, const char *piece)
{
	const char *text = row_text(q->row, column);

	return text && strstr(text, piece);
}

static void
set_layout(struct asked *q, const struct software *s)
{
	static const char *const degrees[] = {"tp", "pp", "vp", "dp", "cp", "ep"};
	static const struct {
		const char *word, *zero;
	} stages[] = {{"ZeRO3", "3"}, {"ZeRO-3", "3"}, {"FSDP", "3"}, {"ZeRO2", "2"}, {"ZeRO-2", "2"}, {"ZeRO1", "1"},
	    {"ZeRO-1", "1"}, {"distributed optimizer", "1"}, {"DDP", "0"}};
	const char *zero = s->zero == 3 ? "3" : s->zero == 1 ? "1" : "0";

	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
		if (row_number(q->row, degrees[i]) > 1)
			set_number(q, arena_printf(q->arena, "layout.%s", degrees[i]), row_number(q->row, degrees[i]));
	for (size_t i = sizeof stages / sizeof *stages; i-- > 0;)
		if (says(q, "sharding", stages[i].word))
			zero = stages[i].zero;
	set(q, "layout.zero", zero);
	if (says(q, "sp", "yes"))
		set(q, "layout.sp", "true");
}

static void
set_policy(struct asked *q, const struct software *s)
{
	const char *date = row_text(q->row, "date");
	const bool titan = strcmp(s->stack, "torchtitan") == 0, compiled = says(q, "notes", "compile");

	if (says(q, "recompute", "full"))
		set(q, "recompute", "full");
	else if (says(q, "recompute", "selective") || says(q, "recompute", "op"))
		set(q, "recompute", titan ? "op" : "selective");
	if (compiled)
		set(q, "compile", "true");
	if (compiled && titan && date && strcmp(date, "2025") < 0 && !(row_number(q->row, "tp") > 1))
		set(q, "loss", "eager"); /* of late 2024: the model was compiled and the loss was not */
	if (says(q, "precision", "fp8"))
		set(q, "dtype", says(q, "precision", "mxfp8") ? "mxfp8" : "fp8");
	else if (says(q, "precision", "nvfp4"))
		set(q, "dtype", "nvfp4");
	else if (says(q, "precision", "fp16") || says(q, "precision", "amp"))
		set(q, "dtype", "fp16");
}

static const char *
ask(struct asked *q, const struct software *s)
{
	const double batch = row_number(q->row, "mbs"), all = row_number(q->row, "gbs"), dp = row_number(q->row, "dp");
	const double steps = all / (batch * (dp > 0 ? dp : 1));

	if (!row_text(q->row, "model"))
		return "model not given";
	if (!(batch > 0))
		return "micro-batch not given";
	if (row_number(q->row, "tp") > 0 && row_number(q->row, "num_gpus") > 0 && dp > 0) {
		const double pp = row_number(q->row, "pp"), cp = row_number(q->row, "cp");
		if (row_number(q->row, "tp") * (pp > 0 ? pp : 1) * (cp > 0 ? cp : 1) * dp !=
		    row_number(q->row, "num_gpus"))
			return "layout does not match the number of GPUs";
	}
	set(q, "model", row_text(q->row, "model"));
	set(q, "stack", s->stack);
	set(q, "counter", s->counter);
	if (row_text(q->row, "gpu_id"))
		set(q, "gpu", row_text(q->row, "gpu_id"));
	set_number(q, "seq", row_number(q->row, "seq"));
	set_number(q, "batch", batch);
	if (steps > 1 && steps == (double)(long)steps)
		set_number(q, "microbatches", steps);
	set_layout(q, s);
	set_policy(q, s);
	return NULL;
}

/* A group of its own, beside that of the steps. */
static void
label(struct score_case *c, const struct validate_row *row)
{
	c->label[SCORE_BY_ALL] = c->label[SCORE_BY_KIND] = "memory";
	(void)row;
}

void
train_row_memory(struct validation *v, const struct validate_row *row)
{
	const char *fits = row_text(row, "fits");
	const bool bound = fits && text_begins(fits, "no");
	const double printed = row_number(row, "peak_mem_gb");
	struct asked q = {.arena = v->run->arena, .row = row};
	const struct software *s = software_of(row);
	struct memory_bound b;

	if (!bound && !(printed > 0))
		return;
	const char *why = !s ? "framework not in the database" : NULL;
	if (!why && !bound && says(&q, "notes", "not an allocator counter"))
		why = "not a measurement (estimates and arithmetic)";
	if (!why)
		why = ask(&q, s);
	if (!why)
		why = memory_row_bind(v, q.inputs, &b);
	if (!why && bound && !datum_given(b.job.card_byte))
		why = "unknown GPU memory";
	if (why) {
		label(validation_skip(v, row_line(row), why), row);
		return;
	}
	struct score_case *c = validation_add(v, row_line(row), "x_byte");
	label(c, row);
	c->name = row_text(row, "case_id");
	memory_row_answer(&b, WANT_PEAK, s->rank0 && !bound, c);
	c->baseline[0] = NAN; /* the file's is of steps */
	c->measured = bound ? b.job.card_byte.value : printed * 1073741824.0;
	if (bound)
		c->sense = SCORE_ABOVE;
}
