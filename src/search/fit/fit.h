/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_SEARCH_FIT_FIT_H
#define RIDGE_SEARCH_FIT_FIT_H

#include <stdbool.h>

#include "base/base.h"
#include "base/sheet.h"
#include "model/hw/hw.h"
#include "model/serve/serve.h"
#include "model/train/train.h"

/*
 * Fit the parameters of a kernel model to measured times: bounded, from several starts, deterministic.  The objective
 * is the weighted mean of |ln(predicted / measured)|, which is robust against outliers.
 */

enum { FIT_PARAMS_MAX = 16 };

struct fit_param {
	const char *name;
	double start, low, high; /* low > 0 and high / low > 3: searched on a logarithmic scale */
	bool fixed;              /* kept at start */
};

struct fit_problem {
	int n_params, n_rows;
	struct fit_param params[FIT_PARAMS_MAX];
	/* Seconds that the model gives for a row; NaN: the model has no answer. */
	double (*predict)(const void *context, const double *params, int row);
	const void *context;
	const double *measured_s;
	const double *weight;      /* of each row, or NULL */
	const double *start[8];    /* more starting points, NULL-ended, may be empty */
	const unsigned char *keep; /* rows that are fitted (1) and kept out (0), or NULL: all */
	const int *group;          /* rows of one group err alike: resampled together; or NULL: each row alone */
};

struct fit_value {
	double value, low, high; /* 80 % by bootstrap; low = high = NaN when not asked for */
	bool identified;         /* false: the data do not determine it; `value` is the start */
};

struct fit_result {
	struct fit_value param[FIT_PARAMS_MAX];
	double mean_abs_log; /* over the fitted rows */
	int n_fitted, n_evaluations;
};

/* n_bootstrap resamples for the intervals (0: none), refitted from the optimum.  False when there are fewer rows than
 * free parameters. */
bool fit_run(const struct fit_problem *problem, int n_bootstrap, struct fit_result *out);

/*
 * Parameters of kernel models from measured rows: what each fit gives, and all fits of one GPU.  A class (`gemm`,
 * `gemm_by_dtype.fp8`, `attention.context`) is one place of a calibration file with its parameters in the file's own
 * keys and units, and its errors on rows that were not fitted.
 */

enum { FITTED_REGIMES_MAX = 8 };

struct fitted_param {
	const char *key;    /* as in the file: eta_c, t0 */
	enum quantity unit; /* how the file writes it: Q_NUMBER, Q_TIME, Q_RATE */
	double value;
	double low, high; /* 80 %; NaN: none */
	bool identified;  /* false: the rows do not determine it; value is the default */
	bool taken;       /* not asked for: from another class's fit */
};

struct fitted_errors {
	int n;
	double mape, median_ape, bias; /* mean and median of |p - m| / m, mean of (p - m) / m */
	double mean, sd, q10, q90;     /* of ln(measured / predicted) */
};

/* Held-out errors. */
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
	const char *findings[16]; /* implausible results: `HBM reaches 71 %: expected 85-92 %: ...` */
	int n_findings;
};

/* Inputs of every fit. */
struct fit_bench {
	struct arena *arena;
	const struct gpu *gpu;           /* NULL: a host */
	const char *backend;             /* NULL: the median of the backends at each shape, where the class allows it */
	const struct calibration *known; /* its parameters are the first start and the defaults; may be NULL */
	/* Of a GPU that this one's kernels are like: for what too few rows leave open, where nothing is known; or NULL.
	 */
	const struct calibration *relative;
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

/* False for the best of several candidates and for a clock after seconds of load: not what a program's next GEMM gets.
 */
bool fit_is_usual(const struct measurement *m);

/* Whether a rate without memory traffic may be a peak: not of an instruction that is not the GPU's fastest of its type.
 */
bool fit_is_peak(const struct fit_bench *b, const struct measurement *m);

/* Experts drawn at random for every token: as even as routing gets, though not all experts get a token. */
bool fit_is_uniform(const struct measurement *m);

struct moe_shape fit_moe_shape(const struct measurement *m);
/* The type whose parameters a row of experts tells, and whether its activations have 16 bits and its weights less. */
enum dtype fit_moe_type(const struct measurement *m, bool *packed);

/* Hash of a row's numbers, so that held-out rows do not depend on their order in the file. */
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

/* The fitted parameters of a family, in the order of calibration.def: into the problem, with their units in files. */
void fit_family(const struct family *f, struct fit_problem *p, enum quantity *units);
/* The family's struct at a trial's parameters: rates, no places; what is not fitted is 0. */
void fit_figures(const struct family *f, const struct param_units *u, const double *x, int n, void *figures);
/* Starts from known rates, where they are inside the bounds. */
void fit_start_from(const struct family *f, const struct param_units *u, const void *figures, struct fit_problem *p);
/* Parameters that are searched as shares of a rate and written as rates. */
void fitted_in_rates(struct fitted_class *c, double byte_per_s);

/* The fits, each in its own file.  Rows of other kinds, GPUs and backends are not theirs. */
void fit_gemm(const struct fit_bench *b, struct fitted *out);
void fit_attention(const struct fit_bench *b, struct fitted *out);
void fit_moe(const struct fit_bench *b, struct fitted *out);
void fit_collective(const struct fit_bench *b, struct fitted *out);
void fit_memory(const struct fit_bench *b, struct fitted *out);

/* --- all of one GPU -------------------------------------------------------------------------------------- */

/* Fit all classes that the rows of b->gpu cover, for one calibration file. */
void calibrate_gpu(const struct fit_bench *b, struct fitted *out);
/* The figures that fractions refer to: the datasheet's. */
struct calibration calibrate_reference(const struct gpu *gpu);
/* The clock among them. */
struct datum calibrate_clock(const struct gpu *gpu);

struct node;

struct calibration_about {
	const char *name; /* for the first line: `H100 SXM5 80 GB` */
	const char *gpu, *host, *backend, *source, *date, *note;
	const struct node *before; /* the file that is replaced, or NULL: sections that were not fitted are kept */
	bool own;                  /* it is the user's: earlier rows of the machine */
};

/* The text of the file in hwdb/calibration. */
char *calibration_text(const struct fit_bench *b, const struct fitted *f, const struct calibration_about *about);

/*
 * Fit the overheads of a serving engine to measured runs: CPU time per step and per sequence, factors on GPU time and
 * on collectives.  Only parameters that the rows determine are fitted.
 */

enum engine_param { ENGINE_HOST, ENGINE_GPU, ENGINE_COMM, ENGINE_SEQUENCE, N_ENGINE_PARAMS };

/* Its place in the file's `step`; the quantity there. */
const char *engine_param_key(enum engine_param p);
enum quantity engine_param_unit(enum engine_param p);
double engine_param_value(const struct engine *e, enum engine_param p);

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

/*
 * Fit a training framework to measured steps: one factor on the kernel time of the layers, and the scatter around it.
 * Step times alone do not determine anything else in a stack's file (attention kernel, overlap, CPU time), so that
 * stays as it is.
 */

enum {
	FIT_STACK_ROWS = 3,        /* fewer say nothing */
	FIT_STACK_SPREAD_ROWS = 8, /* fewer say less of the spread than what is listed */
	FIT_STACK_COMM_ROWS = 12,  /* fewer say nothing of communication */
};

struct fit_stack_row {
	struct train_ask ask; /* its stack is the one that the fit begins with */
	struct train_doubts doubts;
	double measured_s;
	const char *model, *gpu; /* ids, or NULL: all of one */
};

/* What rows are left out together to judge a fit: the first of which there are two. */
enum fit_left { FIT_LEFT_MODEL, FIT_LEFT_GPU, FIT_LEFT_ROW, N_FIT_LEFTS };

/* A factor that was fitted. */
struct fit_sigma {
	int n;                   /* rows */
	double value, low, high; /* 80 % */
	double share_frac;       /* of the step's time that goes with it: mean of the rows */
};

struct fit_stack {
	struct fit_sigma dense, experts; /* n 0: not fitted.  A stack with one factor for both has it in `dense` */
	bool apart;                      /* the stack has one for mixtures of experts */
	double spread, seen_spread; /* standard deviation of ln(measured / predicted): to go by, and of these rows */
	enum fit_left left;
	int n_left;     /* of those */
	double between; /* standard deviation of ln(measured / predicted) between them; NaN where rows are left out */
	struct fitted_errors before, after, unseen; /* with the stack as it was, as fitted, left out */
	/* What a run that only communicated would stray by more, in logarithms, from this many rows or more; NaN where
	 * the rows do not tell it from nothing: above 0, less overlaps than the stack says, below it more. */
	double comm_slope;
	double *before_s, *after_s; /* predictions of the rows */
};

/* `listed`: the spread of runs of the stack that the fit begins with.  False when there are too few rows. */
/* What is believed before the first row, as standard deviations of ln(measured / predicted): inside a group of source,
 * model and GPU, between groups, and of all that the rows' machine and framework add to both. */
struct fit_prior {
	double within, group, stack;
};
bool fit_stack(
    struct arena *a, int n, const struct fit_stack_row *rows, const struct fit_prior *prior, struct fit_stack *out);

/*
 * A network without measurements: the latency of a step is the geometric mean of those of networks with the same
 * transport (AWS's datagrams, verbs, the host's TCP), else of all.
 */

struct network_known {
	const char *fabric, *kind; /* of its link: `efa` */
	double hop_s;
};

/* For links of this kind; the fabric `without` is left out.  *near: of the same transport.  NaN when none is left. */
double network_middle(const struct network_known *known, int n, const char *without, const char *kind, bool *near);

/* Predict a measured row with a calibration. */

/* Seconds, or NaN with the reason in *why. */
double predict_row(const struct measurement *m, const struct calibration *c, const char **why);
/* Why the prediction is doubtful: an unmeasured kernel, replaced by another one; NULL: it is not. */
const char *predict_warning(const struct measurement *m, const struct calibration *c);
/* Whether errors of the fit are those of this row: false where another kernel's fit stands in, which errs as the file
 * of its kind in hwdb/uncertainty says. */
bool predict_is_fitted(const struct measurement *m, const struct calibration *c);
/* The name below `residual` in calibration files: `gemm_fp8_block`, `attention_context`. */
const char *predict_residual(const struct measurement *m, char *buf, size_t size);
/* How residuals of this kind are split: `decode`, `to_100us`; time_s is the predicted one. */
const char *predict_regime(const struct measurement *m, double time_s);
/* Roofline time of the row from datasheet peak and bandwidth; NaN if either is unknown. */
double predict_roof(const struct measurement *m, const struct gpu *gpu);

/* --- fits of one GPU for another -------------------------------------------------------------------------- */

/* The donor's parameters without their dimensions, times the datasheet of the target.  `donor` may be NULL for a
 * transfer without one.  The result is absent in what the target's datasheet does not give. */
void transfer_calibration(const struct transfer *rule, const struct calibration *donor, const struct gpu *donor_gpu,
    const struct gpu *target, struct calibration *out);

/* --- the same GPU with other figures --------------------------------------------------------------------- */

/* The figures that the rates of kernels are shares of. */
struct kernel_reference {
	struct datum peak_flop_per_s[N_PEAKS], mem_byte_per_s, clock_hertz, l2_byte, n_sms;
};
/* Of a datasheet, with the clock of the tensor peaks, and those that a calibration file states. */
struct kernel_reference reference_of_gpu(const struct gpu *gpu);
struct kernel_reference reference_of_fit(const struct calibration *c);
/* True when kernels of `a` need nothing to be those of `b`. */
bool reference_same(const struct kernel_reference *a, const struct kernel_reference *b);
/* Rates go with the figure that they are a share of; fixed times stay.  Figures that either lacks change nothing. */
void rebase_kernels(struct calibration *c, const struct kernel_reference *from, const struct kernel_reference *to);
/* Scale collectives inside a node to links of `factor` times the bandwidth. */
void rebase_links(struct calibration *c, double factor);

/* The text of a file's tree. */
char *calibration_layout(struct arena *a, const struct node *root);

#endif
