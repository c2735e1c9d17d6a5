/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge spec: speedup from speculative decoding. */
#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "model/calc/calc.h"

#define SPEC_OPTIONS(X)                                                                                                \
	X(0, accept, "accept", "accept", FRACTION, "FRACTION", "", NULL, "acceptance rate per draft token")            \
	X('k', draft_tokens, "draft-tokens", "draft_tokens", COUNT, "N", "", NULL,                                     \
	    "draft tokens per step (default: optimal)")                                                                \
	X(0, tokens, "tokens", "tokens", NUMBER, "N", "", NULL,                                                        \
	    "measured tokens per step with --draft-tokens, instead of --accept; prints the acceptance rate")           \
	X(0, accepted, "accepted", "accepted", COUNT, "N", "", NULL, "draft tokens accepted in one step")              \
	X(0, draft, "draft", "draft", TIME, "TIME", "", NULL, "time per draft token")                                  \
	X(0, target, "target", "target", TIME, "TIME", "", NULL, "time per token of the target model alone")           \
	X(0, verify, "verify", "verify", TIME, "TIME", "", NULL,                                                       \
	    "verification time of k + 1 tokens (default: --target)")                                                   \
	X(0, overhead, "overhead", "overhead", TIME, "TIME", "", "0s",                                                 \
	    "overhead per step, besides drafting and verification")                                                    \
	X(0, max_k, "max-k", "max_k", COUNT, "N", "", "32", "upper limit for the optimal draft length")                \
	X(0, at, "at", "at", WORDS, "FRACTION,...", "", "0.5,0.6,0.7,0.8,0.9", "acceptance rates to compare")

struct spec_in {
	SPEC_OPTIONS(OPTION_MEMBER)
};

#define THIS struct spec_in
static const struct option spec_options[] = {SPEC_OPTIONS(OPTION_ROW)};
#undef THIS

static bool
check(struct run *r, const struct spec_in *in)
{
	const bool costs = datum_given(in->draft) || datum_given(in->target);

	if (!datum_given(in->accept) && !datum_given(in->tokens) && !datum_given(in->accepted))
		return run_refuse(r, (struct source){0}, "acceptance rate missing",
		    "add --accept 0.8, or measured tokens per step: --tokens 3.2 --draft-tokens 5");
	if (datum_given(in->accept) + datum_given(in->tokens) + datum_given(in->accepted) > 1)
		return run_refuse(
		    r, in->accept.from, "--accept, --tokens and --accepted exclude each other", "keep one of them");
	if (costs && (!datum_given(in->draft) || !datum_given(in->target)))
		return run_refuse(r, in->draft.from, "--draft and --target need each other",
		    "add --draft 2ms (per token of the draft model) and --target 30ms (per token of the target model)");
	if (!costs && !datum_given(in->accepted) && !datum_given(in->draft_tokens))
		return run_refuse(r, in->accept.from, "draft length missing",
		    "add --draft-tokens 5, or --draft 2ms --target 30ms for the optimal one");
	if (datum_given(in->tokens) && !datum_given(in->draft_tokens))
		return run_refuse(
		    r, in->tokens.from, "--tokens needs the draft length", "add for example --draft-tokens 5");
	if (in->verify.value < in->target.value)
		return run_refuse(r, in->verify.from, "--verify is less than --target",
		    "--verify is one pass over k + 1 tokens: give at least --target");
	return run_fraction(r, "accept", in->accept) & run_whole(r, "draft-tokens", in->draft_tokens, 1) &
	    run_whole(r, "max-k", in->max_k, 1) & run_whole(r, "accepted", in->accepted, 0) &
	    run_positive(r, "draft", in->draft) & run_positive(r, "target", in->target) &
	    run_positive(r, "verify", in->verify);
}

/* --- one step that is known ------------------------------------------------------------------------------ */

static enum answer
known(struct run *r, const struct spec_in *in)
{
	struct sheet *sh = r->sheet;

	r->title = "Tokens per verify step";
	if (datum_given(in->draft_tokens) && in->accepted.value > in->draft_tokens.value) {
		run_refuse(r, in->accepted.from, "--accepted exceeds --draft-tokens", "give at most --draft-tokens");
		return REFUSED;
	}
	if (datum_given(in->draft_tokens)) {
		TAKE(sh, n_drafts, in->draft_tokens);
		SHOW(sh, n_drafts, n_draft_tokens);
	}
	TAKE(sh, n_accepted, in->accepted);
	CALL(sh, step_token, draft_tokens_accepted(sh, n_accepted));
	SHOW(sh, step_token, verify_token);
	return ANSWERED;
}

/* --- what it buys ---------------------------------------------------------------------------------------- */

/* The acceptance as given, or as the measured tokens say. */
static bool
acceptance(struct run *r, const struct spec_in *in, struct datum *out)
{
	*out = in->accept;
	if (!datum_given(in->tokens))
		return true;
	*out = (struct datum){draft_acceptance(in->tokens.value, in->draft_tokens.value), in->tokens.from};
	if (datum_given(*out))
		return true;
	diag_error(r->diag, in->tokens.from, "%g draft tokens yield between 1 and %g tokens per step, not %g",
	    in->draft_tokens.value, in->draft_tokens.value + 1, in->tokens.value);
	diag_hint(r->diag, "count the extra token of the verification pass");
	return false;
}

static bool
read_lines(struct run *r, const struct words *list, double *lines)
{
	for (size_t i = 0; i < list->n; i++) {
		struct datum d;
		if (!run_value(r, list->list[i].from, list->list[i].text, Q_FRACTION, &d) || !run_fraction(r, "at", d))
			return false;
		lines[i] = d.value;
	}
	return true;
}

/* What a wrong guess of the acceptance would cost. */
static void
show_lines(struct run *r, const struct spec_in *in, const struct draft_cost *c, const double *lines, double k)
{
	struct sheet *sh = r->sheet;

	for (size_t i = 0; i < in->at.n; i++)
		SCOPE_I (sh, "at", i) {
			TAKE(sh, accept_frac, lines[i]);
			SHOW(sh, accept_frac, accept_frac);
			CALL(sh, speedup, draft_speedup(sh, c, accept_frac, k));
			SHOW(sh, speedup, speedup);
			TAKE(sh, n_best_drafts, draft_best(c, accept_frac, in->max_k.value));
			SHOW(sh, n_best_drafts, n_best_draft_tokens);
			if (n_best_drafts > 0) {
				CALL(sh, best_speedup, draft_speedup(sh, c, accept_frac, n_best_drafts));
				SHOW(sh, best_speedup, best_speedup);
			}
		}
}

static enum answer
gains(struct run *r, const struct spec_in *in, struct datum accept)
{
	struct sheet *sh = r->sheet;
	const struct draft_cost c = {in->draft, in->target, in->verify, in->overhead};
	double *lines = ARENA_ARRAY(r->arena, double, in->at.n);

	if (!read_lines(r, &in->at, lines))
		return REFUSED;
	run_reads(r, &in->draft_tokens, &in->max_k, &in->verify, &in->overhead, NULL);
	const double best = draft_best(&c, accept.value, in->max_k.value);
	const double k = datum_given(in->draft_tokens) ? in->draft_tokens.value : fmax(1, best);
	TAKE(sh, accept_frac, accept);
	if (datum_given(in->tokens))
		SHOW(sh, accept_frac, accept_frac);
	TAKE(sh, n_drafts, k);
	SHOW(sh, n_drafts, n_draft_tokens);
	CALL(sh, step_token, draft_tokens(sh, accept_frac, n_drafts));
	SHOW(sh, step_token, verify_token);
	CALL(sh, step_s, draft_step(sh, &c, n_drafts));
	SHOW(sh, step_s, step_s);
	CALL(sh, speedup, draft_speedup(sh, &c, accept_frac, n_drafts));
	SHOW(sh, speedup, speedup);
	TAKE(sh, n_best_drafts, best);
	SHOW(sh, n_best_drafts, n_best_draft_tokens);
	if (best > 0) {
		CALL(sh, best_speedup, draft_speedup(sh, &c, accept_frac, n_best_drafts));
		SHOW(sh, best_speedup, best_speedup);
	}
	CALL(sh, most_speedup, draft_limit(sh, &c, n_drafts));
	SHOW(sh, most_speedup, max_speedup);
	TAKE(sh, break_even_frac, draft_break_even(&c, n_drafts));
	SHOW(sh, break_even_frac, break_even_accept_frac);
	if (!datum_given(in->verify))
		run_assume(r, "verification of k + 1 tokens takes --target");
	if (best == in->max_k.value)
		run_warn(r, "the optimal draft length may exceed --max-k %g", best);
	show_lines(r, in, &c, lines, k);
	TELL(sh, verdict, speedup > 1 ? "pays" : "does not pay: slower than the target model alone");
	return speedup > 1 ? ANSWERED : ANSWERED_NO;
}

static enum answer
spec_run(struct run *r, const void *input)
{
	const struct spec_in *in = input;
	struct sheet *sh = r->sheet;
	struct datum accept;

	if (!check(r, in))
		return REFUSED;
	if (datum_given(in->accepted))
		return known(r, in);
	if (!acceptance(r, in, &accept))
		return REFUSED;
	r->title = "Speculative decoding";
	run_reads(r, &in->tokens, NULL);
	if (datum_given(in->draft))
		return gains(r, in, accept);
	TAKE(sh, accept_frac, accept);
	if (datum_given(in->tokens))
		SHOW(sh, accept_frac, accept_frac);
	TAKE(sh, n_drafts, in->draft_tokens);
	CALL(sh, step_token, draft_tokens(sh, accept_frac, n_drafts));
	SHOW(sh, step_token, verify_token);
	return ANSWERED;
}

static const struct option_group spec_groups[] = {OPTION_GROUP(spec_options, 0)};

static const struct example spec_examples[] = {
    {"spec --accept 0.8 --draft-tokens 5 --draft 2ms --target 30ms", "tokens per step, speedup, optimal draft length",
        0},
    {"spec --accept 0.8 --draft 2ms --target 30ms --verify 38ms --overhead 1ms",
        "slower verification pass, and overhead per step", 0},
    {"spec --tokens 3.2 --draft-tokens 5 --draft 2ms --target 30ms", "acceptance rate from an engine's statistics", 0},
    {"spec --accept 0.3 --draft-tokens 8 --draft 6ms --target 30ms", "drafts that do not pay", 1},
    {"spec --accept 0.8 --draft-tokens 5 --draft 2ms --target 30ms --sweep accept=0.6..0.9+0.05 --sweep "
     "draft=1ms,2ms,4ms",
        "sweep over acceptance rate and draft time", 0},
};

const struct command spec_command = {
    .name = "spec",
    .section = "Performance",
    .summary = "Speedup from speculative decoding",
    .operands = "",
    .usage = "[JOB]",
    COUNTED(groups, spec_groups),
    COUNTED(examples, spec_examples),
    .input_size = sizeof(struct spec_in),
    .run = spec_run,
};
