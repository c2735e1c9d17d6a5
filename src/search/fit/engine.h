/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a serving engine spends beside its kernels, from runs that somebody measured: its host time of a step and of a
 * sequence, and factors on its GPU time and its collectives.  Only what the rows tell apart is fitted.
 */
#ifndef RIDGE_FIT_ENGINE_H
#define RIDGE_FIT_ENGINE_H

#include "ridge/engine.h"
#include "search/fit/calibrate.h"

enum engine_param { ENGINE_HOST, ENGINE_GPU, ENGINE_COMM, ENGINE_SEQUENCE, N_ENGINE_PARAMS };

/* Its place in the file's `step`; the quantity there. */
const char *engine_param_key(enum engine_param p);
enum quantity engine_param_unit(enum engine_param p);
double engine_param_value(const struct engine *e, enum engine_param p);
void engine_param_set(struct engine *e, enum engine_param p, double value);

enum { FIT_ENGINE_ROWS = 3, FIT_ENGINE_RESIDUALS = N_ENGINE_RESIDUALS };

struct fit_engine_points {
	int n;
	/* Seconds that the model gives for a point: of a run or of a token, whatever was measured.  NaN: no answer. */
	double (*predict)(void *context, const struct engine *e, int point);
	void *context;
	const double *measured_s;
	const int *row;          /* points of one row err alike */
	const char *const *kind; /* as engines' residuals are called */
	bool parallel;           /* tensor parallel rows are among them */
};

struct fit_engine_param {
	bool fitted;
	double value, low, high; /* 80 % */
	const char *why;         /* it was not fitted */
};

struct fit_engine {
	struct fit_engine_param param[N_ENGINE_PARAMS];
	struct fitted_errors before, after, unseen; /* as it was, as fitted, each row by fits of others */
	int n_kinds;
	struct {
		const char *kind;
		struct fitted_errors unseen;
	} kinds[FIT_ENGINE_RESIDUALS];
};

/* False when no parameter can be fitted; out->param[].why says why. */
bool fit_engine(
    struct arena *a, const struct engine *base, const struct fit_engine_points *points, struct fit_engine *out);

#endif
