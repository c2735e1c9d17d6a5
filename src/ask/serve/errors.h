/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far answers of the serving model lie from published runs. */
#ifndef RIDGE_SERVE_ERRORS_H
#define RIDGE_SERVE_ERRORS_H

#include "ask/bind/interval.h"
#include "search/plan/serve_answer.h"

struct serve_errors {
	struct error_terms terms;
	const char *why;
};

/* What an answer's interval rests on: the engine's published runs of this kind, whose kernels they are (`fitted`, or
 * NULL), and whether there is a reason for doubt. */
struct serve_errors serve_errors_of(
    struct run *r, const struct serve_question *q, const struct calibration *fitted, bool doubted);

/* What an engine's file calls residuals of such runs: offline, online, static, batch1, ttft, prompt, encoder. */
const char *serve_error_kind(const struct serve_question *q);

#endif
