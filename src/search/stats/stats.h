/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics: rank tests, trends, scaling fits, prediction scores, rounding errors. */
#ifndef RIDGE_SEARCH_STATS_STATS_H
#define RIDGE_SEARCH_STATS_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "model/calc/calc.h"
#include "model/hw/hw.h"

/* Significance of a regression between two samples. */

struct rank_test {
	double n_worse_pairs; /* pairs in which the current measurement is the worse one; ties count half */
	double p;             /* p-value: probability of as many or more if nothing had changed */
	double least_p;       /* smallest p-value that this number of measurements allows */
	bool exact;           /* counted, not approximated */
};

/* Mann and Whitney's test, one-sided: is `current` worse than `baseline`? */
struct rank_test rank_test(
    const double *baseline, size_t n_baseline, const double *current, size_t n_current, bool more_is_better);

/* Wilcoxon's test of pairs, one-sided: the probability that changes lie as far above 0 if nothing had changed. */
double rank_signed(const double *change, size_t n, double *least_p);

double rank_median(const double *values, size_t n);

/* Interval of the change of the median, above 0: worse; percentile bootstrap. */
void rank_interval(const double *baseline, size_t n_baseline, const double *current, size_t n_current,
    bool more_is_better, unsigned long seed, double level, double *low, double *high);

/* Two sets of measured rows, matched by shape. */

/* Rows of one shape on both sides.  What is compared is a time, or where a source prints bandwidths alone the time of
 * one byte: less is better. */
struct matched {
	const struct measurement *row; /* the first of the current side */
	double baseline_s, current_s;  /* medians of the rows of that shape */
	double ratio;                  /* current over baseline */
	bool apart;                    /* the runs of the two sides do not overlap, or are not known */
	bool rate;                     /* times of one byte */
	int group;
};

/* Rows of one kind, operation and type. */
struct match_group {
	const char *name; /* `attention decode bf16` */
	int n;
	double *ratio;
};

struct match {
	int n;
	struct matched *pairs; /* by group */
	int n_groups;
	struct match_group *groups;
	int n_baseline_alone, n_current_alone; /* shapes that only one side has */
};

/* GPU and backend tell rows apart only where a side has several of them, so that two machines or two backends can be
 * compared. */
void match_rows(
    struct arena *a, const struct measurements *baseline, const struct measurements *current, struct match *out);

/* Description of a row: `gemm bf16 m=16 n=4096 k=8192`. */
const char *match_row_name(struct arena *a, const struct measurement *row);

/*
 * Scores: predicted against measured values, by groups.  Shares and errors of a group are in percent.  The absolute
 * percentage error is |predicted - measured| / measured; the bias is the median of (predicted - measured) / measured,
 * above zero where predictions are too large.
 */

/* Groupings. */
#define SCORE_DIMENSIONS(X)                                                                                            \
	X(ALL, "all")                                                                                                  \
	X(SOURCE, "source")                                                                                            \
	X(GPU, "gpu")                                                                                                  \
	X(PRECISION, "precision")                                                                                      \
	X(FAMILY, "family")                                                                                            \
	X(CONFIDENCE, "confidence")                                                                                    \
	X(KIND, "kind")                                                                                                \
	X(DTYPE, "dtype")                                                                                              \
	X(BACKEND, "backend")                                                                                          \
	X(REGIME, "regime")                                                                                            \
	X(BIN, "m-bin")                                                                                                \
	X(CONSENSUS, "consensus")                                                                                      \
	X(TASK, "task")                                                                                                \
	X(CLASS, "class")                                                                                              \
	X(FRAMEWORK, "framework")

enum score_by {
#define X(id, text) SCORE_BY_##id,
	SCORE_DIMENSIONS(X)
#undef X
	    N_SCORE_BY,
};

const char *score_by_name(enum score_by by);
/* The dimension of this name, or N_SCORE_BY. */
enum score_by score_by_find(const char *name);

enum { SCORE_BASELINES = 2 };

/* The measurement is a value, or an upper or lower bound. */
enum score_sense { SCORE_VALUE, SCORE_ABOVE, SCORE_BELOW };

enum { SCORE_CELL = 4 };

struct score_case {
	const char *file;
	int line;                      /* of the file */
	const char *unit;              /* a row's name, for the unit of its values: x_s */
	const char *name;              /* for people */
	const char *detail;            /* how the prediction is made up, or NULL */
	const char *label[N_SCORE_BY]; /* NULL: not in this dimension; SCORE_BY_ALL is `all` unless left out */
	const char *group[3];          /* source, model, GPU: neighbors in all of them are one group; NULL: not said */
	const char *cell[SCORE_CELL];  /* of the support table, NULL: none: engine, architecture, format, family */
	double predicted, measured;    /* in one unit; measured above 0 */
	double low, high;              /* 80 % interval; NaN: none */
	double wide; /* its half-width, as a logarithm, if nobody had measured this; 0 or NaN: the same */
	double baseline[SCORE_BASELINES]; /* NaN: none */
	double safe;                      /* what was promised not to be exceeded; NaN: nothing */
	enum score_sense sense;           /* the true value is the measured one, above it, or below it */
	double weight;                    /* in SCORE_BY_CONSENSUS; 0 counts as 1 */
	const char *warning;              /* the prediction came with this; NULL: without */
	const char *skipped;              /* no prediction, and why */
};

struct score_group {
	enum score_by by;
	const char *name;
	int n, n_skipped, n_warned, n_intervals, n_safe, n_bounds;
	double mape, median_ape, bias, within10, within20, within30, coverage80;
	double group_coverage80; /* of groups of source, model and GPU, each weighing the same */
	int n_groups;
	double conformal;   /* factor on the half-widths that makes 80 % fall inside, as for cases to come */
	double under10;     /* predicted less than 90 % of what was measured */
	double safe_covers; /* measured values at or below what was promised */
	double bounds_kept; /* of cases that are bounds: on the right side */
	double baseline_mape[SCORE_BASELINES], baseline_median[SCORE_BASELINES];
};

struct scores {
	size_t n_groups;
	struct score_group *groups; /* by dimension in the order above, names sorted; the first is all */
};

/* NaN where there is nothing to tell.  `dimensions` picks what to group by (N_SCORE_BY flags); all is always there. */
struct scores score_groups(struct arena *a, const struct score_case *cases, size_t n, const bool *dimensions);
/* (predicted - measured) / measured, in percent. */
double score_error(const struct score_case *c);
/* Indices of the cases with the largest absolute errors, the worst first; returns how many (at most `most`). */
size_t score_worst(const struct score_case *cases, size_t n, size_t most, size_t *worst);

/* Mean rounding error of a format for normally distributed weights. */

struct rounding {
	double rms, mean;    /* error in units of the standard deviation */
	double clipped_frac; /* of the groups: their largest weight lies beyond the code */
};

/* Groups of `group` weights of a tensor of `tensor` weights (only SCALING_FP8 asks for it) share a scale, which follows
 * the largest of them.  The scale itself is exact where the format stores it as a number of 16 bits or more. */
struct rounding rounding_normal(const struct format *f, double group, double tensor);

/* The levels of a code of at most 8 bits, ascending, from 0 on where it is symmetric; returns their number. */
enum { ROUNDING_LEVELS = 256 };
int rounding_levels(const struct format *f, double *levels);

/* Scaling laws fitted to measured points. */

/* A measurement: throughput of n ranks, in any unit. */
struct fit_point {
	double n_ranks, rate;
};

/* rate(n) = single n / (1 + contention (n - 1) + coherency n (n - 1)); Amdahl's law has coherency 0. */
struct fit {
	bool given; /* there were enough points */
	size_t n_params, n_free;
	double single, contention, coherency;
	double covariance[3][3]; /* in that order; relative errors assumed equal */
	double scatter_frac;     /* relative standard deviation of the points around the curve */
};

/* Least squares of relative errors.  Amdahl's law needs two different n, the universal law three. */
struct fit fit_amdahl(const struct fit_point *points, size_t n);
struct fit fit_usl(const struct fit_point *points, size_t n);
/* Amdahl's law, unless the universal law's coherency is above 0 with 80 % confidence; contention and coherency below 0
 * (faster than linear) count as 0. */
struct fit fit_choose(const struct fit *amdahl, const struct fit *usl);

/* Estimates with the quantiles that intervals need; the quantiles are 0 when no point is left over. */
struct scale_estimate fit_contention(const struct fit *f);
struct scale_estimate fit_coherency(const struct fit *f);
/* The rate that a measurement at n_ranks would show. */
struct scale_estimate fit_rate(const struct fit *f, double n_ranks);

/* Trend of a series: fitted lines and a verdict. */

enum trend_kind {
	TREND_UNKNOWN,  /* two points: noise unknown */
	TREND_STABLE,   /* no growth beyond the scatter */
	TREND_LEAK,     /* grows */
	TREND_SAWTOOTH, /* grows and falls back to where it was */
	TREND_CLIMBING, /* a sawtooth whose floor rises */
	TREND_LEVELS,   /* grew, and does not any more */
	TREND_SHRINKS,
};

/* A line: estimate of its slope, and its value at step 0. */
struct trend_line {
	bool given;
	struct scale_estimate slope;
	double start;
};

struct trend {
	enum trend_kind kind;
	struct trend_line all;         /* least squares */
	double explained_frac;         /* R^2; NaN when nothing varies */
	double sen, sen_low, sen_high; /* Theil-Sen: median of the slopes of all pairs; 95 %, NaN where there is none */
	size_t n_teeth;                /* falls of at least a quarter of the range */
	struct trend_line floor;       /* through the lows of a sawtooth */
	struct trend_line crest;       /* through its tops */
	struct trend_line late;        /* through the second half */
};

/* Steps ascend; n is at least 2, and there are two different steps. */
bool trend_fit(const double *step, const double *value, size_t n, struct trend *out);
/* Ends of the 95 % interval of a line's slope. */
double trend_low(const struct trend_line *l);
double trend_high(const struct trend_line *l);
const char *trend_word(enum trend_kind kind);

#endif
