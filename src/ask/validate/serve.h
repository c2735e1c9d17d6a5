/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of published serving runs, in parts. */
#ifndef RIDGE_VALIDATE_SERVE_H
#define RIDGE_VALIDATE_SERVE_H

#include "ask/validate/validate.h"
#include "search/plan/serve_answer.h"

/* All engines, read when the first row asks. */
struct serve_engines {
	const struct engine **engines;
	size_t n;
};

/* The engine of a row's software, version, way of scheduling and date; the one that nobody measured for software that
 * is not known.  `near` is set when only a neighbouring version is known. */
const struct engine *serve_row_engine(
    struct serve_engines *all, struct run *r, const struct validate_row *row, bool *near);
/* Types and bytes of weights, products and cache; else why they are not known. */
const char *serve_row_types(const struct validate_row *row, struct serve_parts *out);
/* The layout of a replica, and all GPUs; tp 0 where only their number is printed.  Else why not. */
const char *serve_row_layout(const struct validate_row *row, struct serve_parts *out, double *n_gpus);
bool serve_has_experts(const struct workload *w);
/* How lengths vary: coefficients of variation. */
struct serve_spread {
	double isl_cv, osl_cv;
};
/* What people see of a run of so many requests. */
struct serve_run {
	double first_mean_s, first_p50_s, step_mean_s, step_p50_s, answer_s;
	double output_token_per_s, total_token_per_s, request_per_s;
};
/* Whether the run is short enough to be simulated; its means over some seeds; false when not all is answered. */
bool serve_row_simulates(const struct serve_question *q);
bool serve_row_simulate(const struct serve_question *q, const struct serve_spread *spread, struct serve_run *out);
/* Means of a data set vary, lengths that somebody chose do not. */
struct serve_spread serve_row_spread(const struct validate_row *row, const struct serve_load *load);
/* Regime and load; else why there is none.  *warning is set where lengths were assumed. */
const char *serve_row_load(
    const struct validate_row *row, const struct serve_parts *p, struct serve_question *out, const char **warning);

/* A row of a single kernel; else why it is none that is predicted. */
struct serve_kernel {
	double predicted_s, measured_s;
	struct interval band;
	const char *warning;
};
const char *serve_row_kernel(struct run *r, const struct validate_row *row, struct serve_kernel *out);

/* --- rows for fits --------------------------------------------------------------------------------------- */

/* Rows that are asked again and again, all of one engine, whatever software they name. */
struct serve_reader;
struct serve_reader *serve_reader_new(struct run *r, const struct engine *engine);
void serve_reader_free(struct serve_reader *x);
/* One row as a question; else why it is none.  The row's table must live as long. */
struct serve_reading;
const char *serve_reader_ask(struct serve_reader *x, const struct validate_row *row, struct serve_reading **out);
/* What it has measured and what the engine's constants predict, as times: a rate is the time of one.  Of `engine` only
 * what a step costs beside kernels may differ from the reader's.  Returns how many, at most SERVE_READING_MOST. */
enum { SERVE_READING_MOST = 16 };
struct serve_time {
	const char *column, *kind; /* of the residual: offline, online, batch1 */
	double measured_s, predicted_s;
};
int serve_reading_times(struct serve_reading *s, const struct engine *engine, struct serve_time *out);
/* Its tensor-parallel GPUs. */
double serve_reading_ranks(const struct serve_reading *s);

#endif
