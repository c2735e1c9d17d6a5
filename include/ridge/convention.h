/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conventions of publications for the FLOP of a trained token: a utilisation means nothing without its convention. */
#ifndef RIDGE_CONVENTION_H
#define RIDGE_CONVENTION_H

#include "ridge/workload.h"

enum convention {
#define CONVENTION(id, text, attention, hardware, title, source) CONVENTION_##id,
#include "ridge/convention.def"
#undef CONVENTION
	N_CONVENTIONS,
	CONVENTION_NONE = -1,
};

const char *convention_name(enum convention c);
const char *convention_title(enum convention c);
const char *convention_source(enum convention c);
/* Which keys of attention it counts. */
const char *convention_attention(enum convention c);
/* Hardware FLOP count what is computed again; model FLOP do not. */
bool convention_is_hardware(enum convention c);
enum convention convention_find(const char *name);
/* Why this model cannot be counted this way, or NULL. */
const char *convention_refusal(enum convention c, const struct workload *w);

/* FLOP of one token of a sequence of seq_token tokens, forward and backward. */
double convention_flop(struct sheet *sh, enum convention c, const struct workload *w, double seq_token);
/* How many times more than another count says. */
double convention_ratio(struct sheet *sh, double flop_per_token, double other_flop_per_token);

#endif
