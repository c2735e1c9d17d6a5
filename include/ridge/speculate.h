/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Speculative decoding: a cheap model drafts tokens, the model that is served verifies them in one pass. */
#ifndef RIDGE_SPECULATE_H
#define RIDGE_SPECULATE_H

#include "ridge/sheet.h"

/* What a step costs. */
struct draft_cost {
	struct datum draft_s;    /* one drafted token */
	struct datum target_s;   /* one token of the served model alone */
	struct datum verify_s;   /* one verifying pass; absent: as long as target_s */
	struct datum overhead_s; /* per step; absent: none */
};

/* Tokens that a step of n_drafts drafts yields, each accepted with probability accept_frac while all before it were. */
double draft_tokens(struct sheet *sh, double accept_frac, double n_drafts);
/* The same when it is known how many were accepted: the verifying pass yields one more. */
double draft_tokens_accepted(struct sheet *sh, double n_accepted);
double draft_step(struct sheet *sh, const struct draft_cost *c, double n_drafts);
/* Against the served model alone. */
double draft_speedup(struct sheet *sh, const struct draft_cost *c, double accept_frac, double n_drafts);
/* The most that any acceptance can give with so many drafts: every one accepted. */
double draft_limit(struct sheet *sh, const struct draft_cost *c, double n_drafts);

/* --- searches: nothing is recorded ----------------------------------------------------------------------- */

/* The number of drafts, 0 to n_most, with the highest speedup: 0 when none of them gains anything. */
double draft_best(const struct draft_cost *c, double accept_frac, double n_most);
/* The acceptance at which n_drafts drafts cost what they gain; NaN when none does. */
double draft_break_even(const struct draft_cost *c, double n_drafts);
/* The acceptance that yields tokens_per_step tokens with n_drafts drafts; NaN outside 1 .. n_drafts + 1. */
double draft_acceptance(double tokens_per_step, double n_drafts);

#endif
