/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge stack: combined speedup of optimizations. */
#include "ask/stack/stack.h"
#include "ask/ask.h"
#include "ask/bind/bind.h"
#include "model/calc/calc.h"

#define THIS struct stack_in
static const struct option stack_options[] = {STACK_OPTIONS(OPTION_ROW)};
#undef THIS

static enum answer
refuse(struct run *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return REFUSED;
}

static bool
check_positive(struct run *r, const struct stack_in *in)
{
	const struct datum positive[] = {in->base, in->after, in->iteration, in->cost, in->price, in->deadline,
	    in->target, in->have, in->local, in->total, in->params, in->tokens, in->gpus};

	for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
		if (datum_given(positive[i]) && !(positive[i].value > 0))
			return refuse(r, positive[i].from, "must be greater than 0",
			           "leave it out, or give a positive value") != REFUSED;
	return run_whole(r, "gpus", in->gpus, 1) & run_whole(r, "params", in->params, 1) &
	    run_whole(r, "tokens", in->tokens, 1) & measure_fraction(r, "fraction", in->fraction, 1e-9, 1) &
	    measure_fraction(r, "tolerance", in->tolerance, 0, 1);
}

/* --- Amdahl's law ---------------------------------------------------------------------------------------- */

static enum answer
amdahl_question(struct run *r, const struct stack_in *in)
{
	struct sheet *sh = r->sheet;
	const int given = datum_given(in->fraction) + datum_given(in->local) + datum_given(in->total);

	if (given != 2)
		return refuse(r, in->fraction.from, "Amdahl's law needs two of --fraction, --local and --total",
		    "give --fraction 0.4 --total 1.3, or --fraction 0.4 --local 2");
	r->title = "Amdahl's law";
	if (!datum_given(in->fraction)) {
		FROM(sh, in, local, total);
		CALL(sh, share_frac, gain_share(sh, local, total));
		SHOW(sh, local, part_speedup);
		SHOW(sh, total, speedup);
		SHOW(sh, share_frac, share_frac);
		const bool can = share_frac <= 1 && share_frac >= 0;
		TELL(sh, verdict, can ? "possible" : "infeasible: speeding up any share is not enough");
		return can ? ANSWERED : ANSWERED_NO;
	}
	TAKE(sh, share_frac, in->fraction);
	CALL(sh, limit, gain_limit(sh, share_frac));
	SHOW(sh, share_frac, share_frac);
	if (datum_given(in->local)) {
		TAKE(sh, local, in->local);
		CALL(sh, total, gain_amdahl(sh, share_frac, local));
		SHOW(sh, local, part_speedup);
		SHOW(sh, total, speedup);
		SHOW(sh, limit, max_part_speedup);
		return ANSWERED;
	}
	TAKE(sh, total, in->total);
	CALL(sh, local, gain_local(sh, share_frac, total));
	SHOW(sh, total, speedup);
	SHOW(sh, local, part_speedup);
	SHOW(sh, limit, max_part_speedup);
	const bool can = total < limit;
	TELL(sh, verdict, can ? "possible" : "infeasible: the remaining time alone is too long");
	return can ? ANSWERED : ANSWERED_NO;
}

/* --- what is still missing ------------------------------------------------------------------------------- */

static enum answer
need_question(struct run *r, const struct stack_in *in)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->target))
		return refuse(r, in->have.from, "--have needs a target", "add --target 5");
	r->title = "Remaining speedup";
	FROM(sh, in, target, have);
	CALL(sh, remaining, gain_remaining(sh, target, have));
	SHOW(sh, target, needed_speedup);
	SHOW(sh, have, speedup);
	SHOW(sh, remaining, remaining_speedup);
	const bool met = stack_reaches(have, target);
	TELL(sh, verdict, met ? "meets the target" : "misses the target");
	return met ? ANSWERED : ANSWERED_NO;
}

/* --- the command ----------------------------------------------------------------------------------------- */

static enum answer
stack_answer(struct run *r, const void *input)
{
	const struct stack_in *in = input;
	const struct {
		const char *name;
		bool asked;
		enum answer (*answer)(struct run *r, const struct stack_in *in);
	} questions[] = {
	    {"--check", in->check.text || in->table, stack_check},
	    {"--breakdown", in->breakdown.n > 0, stack_parts},
	    {"--fraction, --local, --total",
	        datum_given(in->fraction) || datum_given(in->local) || datum_given(in->total), amdahl_question},
	    {"--have", datum_given(in->have), need_question},
	    {"--steps", in->steps.n > 0, stack_run},
	};
	size_t n = 0, asked = sizeof questions / sizeof *questions - 1, before = 0;

	if (!check_positive(r, in))
		return REFUSED;
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		if (questions[i].asked) {
			before = n ? before : i;
			asked = i;
			n++;
		}
	if (n > 1)
		return refuse(r, (struct source){0},
		    arena_printf(
		        r->arena, "%s cannot be combined with %s", questions[before].name, questions[asked].name),
		    "use one of them");
	return questions[asked].answer(r, in);
}

static const struct option_group stack_groups[] = {OPTION_GROUP(stack_options, 0)};

static const struct example stack_examples[] = {
    {"stack --base 850ms --cost 50000usd --steps data=1.4,amp=1.7,compile=1.15,adamw=1.12",
        "combined speedup of four optimizations, in time and cost", 0},
    {"stack --base 48h --deadline 10h --steps "
     "ssd=1.18,flash=1.63@0.20,bf16=1.55,accumulate=1.14,zero2=1.38,compile=1.22",
        "kernel speedup on a fraction of the time", 1},
    {"stack --base 36d --steps data=1.15,sync=1.08,bf16=1.6,accumulate=1.12,zero3=1.35,'bubble:0.35->0.12' --params "
     "175B "
     "--tokens 300B --gpus 1024 --gpu doc-a100",
        "check a claim against the hardware's peak", 1},
    {"stack --steps data=1.1..1.3,sync=1.05..1.15,amp=1.4..1.8 --base 10h", "factors as ranges", 0},
    {"stack --breakdown forward=450ms,backward=580ms,optimizer=120ms,communication=140ms",
        "breakdown of a step, with the maximum speedup of each part", 0},
    {"stack --fraction 0.4 --total 1.3", "local speedup needed for a total speedup", 0},
    {"stack stack-table", "check a published table line by line", 0},
};

static const struct input_needs stack_needs[] = {
    {"deadline", "it needs --base 36h and --steps"},
    {"target", "it needs --steps or --have"},
    {"tolerance", "it needs --check FILE"},
    {"cost", "it needs --steps"},
    {"price", "it needs --gpus, --base and --steps"},
    {"effort", "it needs --steps"},
    {"gpus", "it needs --price, or --params with --tokens and --gpu"},
    {"gpu", "it needs --params or --model, --tokens and --gpus"},
    {"params", "it needs --tokens, --gpus and --gpu"},
    {"model", "it needs --tokens, --gpus and --gpu"},
    {"tokens", "it needs --params or --model, --gpus and --gpu"},
    {"dtype", "it needs --params or --model, --tokens, --gpus and --gpu"},
};

const struct command stack_command = {
    .name = "stack",
    .section = "Capacity and cost",
    .summary = "Combined speedup of optimizations; sanity check of claims",
    .operands = "",
    .usage = "[JOB]",
    .groups = stack_groups,
    .n_groups = sizeof stack_groups / sizeof *stack_groups,
    .examples = stack_examples,
    .n_examples = sizeof stack_examples / sizeof *stack_examples,
    .needs = stack_needs,
    .n_needs = sizeof stack_needs / sizeof *stack_needs,
    .input_size = sizeof(struct stack_in),
    .run = stack_answer,
};
