/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameters of kernel models from measured rows: what each fit gives, and all fits of one GPU.  A class (`gemm`,
 * `gemm_by_dtype.fp8`, `attention.context`) is one place of a calibration file with its parameters in the file's own
 * keys and units, and its errors on rows that were not fitted.
 */
#ifndef RIDGE_CALIBRATE_H
#define RIDGE_CALIBRATE_H

#include "base/arena.h"
#include "ridge/measurement.h"
#include "ridge/units.h"
#include "search/fit/driver.h"

enum { FITTED_REGIMES_MAX = 8 };

struct fitted_param {
	const char *key;    /* as in the file: eta_c, t0 */
	enum quantity unit; /* how the file writes it: Q_NUMBER, Q_TIME, Q_RATE */
	double value;
	double low, high; /* 80 %; NaN: none */
	bool identified;  /* false: the rows do not tell; value is the default */
	bool taken;       /* not asked for: from another class's fit */
};

struct fitted_errors {
	int n;
	double mape, median_ape, bias; /* mean and median of |p - m| / m, mean of (p - m) / m */
	double mean, sd, q10, q90;     /* of ln(measured / predicted) */
};

/* Errors on rows that were not fitted. */
struct fitted_residual {
	struct fitted_errors all;
	int n_regimes;
	struct {
		const char *name;
		struct fitted_errors errors;
	} regimes[FITTED_REGIMES_MAX];
};

struct fitted_class {
	const char *path;          /* where in the file: "gemm_by_dtype.fp8" */
	const char *residual_name; /* its name below `residual`: "gemm_fp8" */
	int n_params;
	struct fitted_param params[FIT_PARAMS_MAX];
	int n_fitted; /* rows, all of them */
	struct fitted_residual residual;
	const char *refused; /* why there is no fit ("9 rows, 16 needed"); NULL: there is one */
};

/* A section of the file with absolute figures and no errors has the same form: residual_name NULL. */
struct fitted {
	int n, n_room;
	struct fitted_class *classes;
	const char *findings[16]; /* what looks wrong: `HBM reaches 71 %: expected 85-92 %: ...` */
	int n_findings;
};

/* What every fit gets. */
struct fit_bench {
	struct arena *arena;
	const struct gpu *gpu;           /* NULL: a host */
	const char *backend;             /* NULL: the median of the backends at each shape, where the class allows it */
	const struct calibration *known; /* its parameters are the first start and the defaults; may be NULL */
	/* Only its ref_ figures are set: what fractions refer to, and what the models take from the GPU.  Peaks of
	 * other types are the GPU's. */
	const struct calibration *reference;
	const struct measurement *rows; /* of this GPU, all backends */
	int n_rows;
	int n_bootstrap;
};

/* A new class at the end of the list; the pointer holds until the next one. */
struct fitted_class *fitted_add(const struct fit_bench *b, struct fitted *out, const char *path, const char *residual);

/* Rows of one kind that a fit may use: of the bench's backend or, without one, of all; of each backend the latest
 * version that measured the same operation and type. */
const struct measurement **fit_rows(const struct fit_bench *b, enum measurement_kind kind, int *n);
/* trtllm, vllm, sglang: inference engines, whose kernels differ; the others (cublaslt, nccl) are libraries. */
bool fit_is_engine(const char *backend);

/* The same numbers, the same hash, everywhere: which rows a fit keeps out must not depend on the file's order. */
unsigned fit_hash(const double *numbers, int n);

/*
 * One class.  The rows are dealt by their hash into two folds (three below 400 rows, five below 100); each fold is
 * predicted by a fit of the others: that is the residual.  Then all rows are fitted, from the starts and the folds'
 * optimum, with intervals. Parameters get the names of the problem and these units.  regime[row]: a name or NULL; NULL
 * as a whole: none. Fewer rows than n_needed: the class is refused and says so.  The problem's own `keep` says which
 * rows take part.
 */
bool fitted_run(const struct fit_bench *b, const struct fit_problem *problem, const enum quantity *units,
    const unsigned *hash, const char *const *regime, int n_needed, struct fitted_class *out);
/* The first half of it: predictions of every row by fits that did not see its fold; NaN where there is none. */
bool fitted_cross(const struct fit_bench *b, const struct fit_problem *problem, const unsigned *hash,
    double *predicted_s, double *last);

/* Errors of predicted against measured times; rows where predicted_s is NaN do not count.  weight may be NULL. */
struct fitted_errors fitted_errors_of(
    struct arena *a, int n, const double *predicted_s, const double *measured_s, const double *weight);

/* The fits, each in its own file.  Rows of other kinds, GPUs and backends are not theirs. */
void fit_gemm(const struct fit_bench *b, struct fitted *out);
void fit_attention(const struct fit_bench *b, struct fitted *out);
void fit_moe(const struct fit_bench *b, struct fitted *out);
void fit_collective(const struct fit_bench *b, struct fitted *out);
void fit_memory(const struct fit_bench *b, struct fitted *out);

/* --- all of one GPU -------------------------------------------------------------------------------------- */

/* Everything that the rows of b->gpu tell, for one file of the database. */
void calibrate_gpu(const struct fit_bench *b, struct fitted *out);
/* The figures that fractions refer to: the datasheet's. */
struct calibration calibrate_reference(const struct gpu *gpu);
/* The clock among them. */
struct datum calibrate_clock(const struct gpu *gpu);
/* What looks wrong in the fitted values; calibrate_gpu has called it. */
void calibrate_findings(const struct fit_bench *b, struct fitted *out);

struct node;

struct calibration_about {
	const char *name; /* for the first line: `H100 SXM5 80 GB` */
	const char *gpu, *host, *backend, *source, *date, *note;
	const struct node *before; /* the file that is replaced, or NULL: sections that were not fitted are kept */
};

/* The text of the file in hwdb/calibration. */
char *calibration_text(const struct fit_bench *b, const struct fitted *f, const struct calibration_about *about);

#endif
