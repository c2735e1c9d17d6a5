/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Base library: arenas, diagnostics, text, numerics, files. */
#ifndef RIDGE_BASE_BASE_H
#define RIDGE_BASE_BASE_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/sheet.h"

/* Arenas: memory freed all at once.  Out of memory ends the program here, so callers need not check. */

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *a);
/* Free everything allocated, keep the arena. */
void arena_clear(struct arena *a);
/* Bytes allocated from the system. */
size_t arena_size(const struct arena *a);
/* Zeroed, aligned for any type. */
void *arena_take(struct arena *a, size_t size);
char *arena_copy(struct arena *a, const char *text, size_t length) __attribute__((returns_nonnull));
char *arena_text(struct arena *a, const char *text);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Copy an array of n elements to one of `more`; the old one stays valid. */
void *arena_grow(struct arena *a, const void *array, size_t n, size_t more, size_t element);

#define ARENA_NEW(a, type) ((type *)arena_take((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_take((a), sizeof(type) * (size_t)(n)))

/*
 * Diagnostics: all errors of a run, each with place, message and hint.
 * Form: `file:line:column: error: what`, then `hint: what to do`.  Options say `ridge memory: --gpu: what`.
 */

struct arena;

struct diag;

enum severity { SEVERITY_WARNING, SEVERITY_ERROR };

struct diag *diag_new(struct arena *a);
/* Prefix of messages without a file, such as `ridge memory`. */
void diag_program(struct diag *d, const char *program);

void diag_error(struct diag *d, struct source at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_warning(struct diag *d, struct source at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Add a hint to the last message. */
void diag_hint(struct diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Report a system error (I/O): exit status 3. */
void diag_failure(struct diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

int diag_errors(const struct diag *d);
int diag_warnings(const struct diag *d);
bool diag_failed(const struct diag *d);
/* Forget all messages, between lines of --jsonl. */
void diag_clear(struct diag *d);

/* Print all messages in order. */
void diag_print(const struct diag *d, FILE *to, bool color);
/* Message i for machines: text without place, or NULL past the end. */
const char *diag_message(const struct diag *d, int i, struct source *at, const char **hint, enum severity *severity);

/* Strings: comparison, suggestions, splitting. */

struct arena;

/* Fold a name to lower case letters and digits, for comparing spellings. */
void text_fold(const char *name, char *buf, size_t size);
bool text_same_folded(const char *a, const char *b);
/* True if a list of words separated by spaces contains this word. */
bool text_lists(const char *list, const char *word);
/* Number of edits (insert, delete, replace, swap neighbors) between two names, ignoring case. */
int text_distance(const char *a, const char *b);
/* The candidate nearest to `word` if it is near enough to be meant, else NULL. */
const char *text_nearest(const char *word, const char *const *candidates, size_t n);
bool text_ends(const char *text, const char *end);
bool text_begins(const char *text, const char *begin);
/* Copies of the pieces of `text` between `separator`s, blanks around them removed; NULL-terminated. */
char **text_split(struct arena *a, const char *text, char separator, size_t *n);

/* Whether the text (NULL: none) contains the word, whatever its case. */
bool text_mentions(const char *text, const char *word);
/* Length of the UTF-8 sequence that begins at p, or 0 where none does. */
size_t text_sequence(const char *p);
/* The text as it may go to a terminal: control characters and broken bytes written as `\x1b`.  The text itself where it
 * has none. */
const char *text_visible(struct arena *a, const char *text);

/* A program that uses this library may have set a locale whose numbers have a comma: ours have a point in between. */
struct numbers {
	locale_t before, ours; /* 0: nothing was changed */
};
struct numbers numbers_begin(void);
void numbers_end(struct numbers n);

/* Numerics: fits, quantiles and roots.  num.c is the only file that knows GSL.  Everything is deterministic. */

enum { NUM_PARAMS_MAX = 4 };

/* Points (x, y) and the curve to fit.  `value` returns the curve at x and its derivatives by each parameter. */
struct num_curve {
	size_t n_points, n_params;
	const double *x, *y;
	const double *weight; /* of the squared residual of each point */
	double (*value)(double x, const double *param, double *gradient);
};

struct num_fit {
	double param[NUM_PARAMS_MAX];
	double covariance[NUM_PARAMS_MAX][NUM_PARAMS_MAX]; /* of the parameters; zero when no point is left over */
	double residual_sd;                                /* weighted; 0 when no point is left over */
	size_t n_free;                                     /* points beyond the number of parameters */
};

/* Nonlinear least squares (Levenberg-Marquardt) from `start`.  False when it does not converge or the points do not
 * determine the parameters. */
bool num_fit(const struct num_curve *c, const double *start, struct num_fit *out);

/* Linear least squares of y on `n_params` columns (row by row in `design`), weighted. */
bool num_linear(
    size_t n_points, size_t n_params, const double *design, const double *y, const double *weight, double *param);

/* Half-width of a two-sided interval of `level` (0.95) in standard errors, by Student's t with n_free degrees of
 * freedom. */
double num_student(double level, double n_free);

/* The probability of a standard normal variable above z. */
double num_normal_above(double z);

/* A straight line, y = intercept + slope x, by least squares; all points weigh the same. */
struct num_line {
	double intercept, slope;
	double slope_error; /* standard error; 0 when no point is left over */
	double residual_sd;
	double explained; /* share of the variance, R^2; NaN when y does not vary */
	size_t n_free;    /* points beyond the two parameters */
};

/* False when there are not two different x. */
bool num_line(size_t n, const double *x, const double *y, struct num_line *out);

void num_sort(double *values, size_t n);
/* The value below which a share q of the sorted values lies (0.5: the median), linear between neighbors. */
double num_quantile(const double *sorted, size_t n, double q);

/* A statistic of two samples; it may reorder them. */
typedef double num_statistic(double *a, size_t n_a, double *b, size_t n_b);
/* A two-sided interval of `level` for a statistic, from n_resamples draws with replacement (Efron, Annals of Statistics
 * 7(1), 1979: the percentile bootstrap).  The same seed gives the same interval. */
void num_bootstrap(num_statistic *f, const double *a, size_t n_a, const double *b, size_t n_b, size_t n_resamples,
    unsigned long seed, double level, double *low, double *high);

/* A root of f between lo and hi, where f has different signs.  False when it has not. */
typedef double num_function(double x, const void *context);
bool num_root(num_function *f, const void *context, double lo, double hi, double *root);
/* The same by bisection: slower, but works for functions with jumps. */
bool num_bisect(num_function *f, const void *context, double lo, double hi, double *root);

/* The generalized harmonic number: the sum of k^-s for k = 1 .. n, to rounding; n a whole number, s at least 0. */
double num_harmonic(double n, double s);

/* The standard normal distribution: density at x, and the x below which a share lies. */
double num_normal_density(double x);
double num_normal_quantile(double share);
/* The value below which a share of a gamma or log-normal variable lies, from its mean and its coefficient of variation
 * (standard deviation over mean; above 0). */
double num_gamma_quantile(double share, double mean, double cv);
double num_log_normal_quantile(double share, double mean, double cv);
/* How likely a Poisson variable of this mean is above n. */
double num_poisson_above(double mean, double n);

/* The integral of f from lo to hi, to this relative error; f is smooth between them. */
double num_integral(num_function *f, const void *context, double lo, double hi, double error);

/* The least of f over n variables by the simplex of Nelder and Mead (Computer Journal 7, 1965), which needs no
 * derivatives: from x, with a first simplex of `step`, until the simplex is smaller than `size` or f was asked n_max
 * times.  x becomes the best point; the value there is returned. */
typedef double num_objective(const double *x, const void *context);
double num_minimise(num_objective *f, const void *context, size_t n, double *x, const double *step, double size,
    int n_max, int *n_done);

/* Solve the symmetric positive definite system a x = b; a (n x n, row by row) is overwritten.  False when a is not
 * positive definite. */
bool num_solve(size_t n, double *a, const double *b, double *x);

/* A stream of random numbers: splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */

static inline uint64_t
random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Uniform, above 0 and below 1. */
static inline double
random_uniform(uint64_t *state)
{
	return ((double)(random_next(state) >> 11) + 0.5) * 0x1p-53;
}

/*
 * Formulas: arithmetic over names, read from the text that LET recorded, from operator lists in YAML and from --until.
 * + - * / and unary minus, parentheses, numbers, and the functions of formula_functions.
 */

struct formula_value {
	double value;
	struct dim dim;
	bool literal; /* made of numbers only: takes the dimension that is needed when it is 0, a count suffix always */
	bool whole;   /* an integer literal, as C reads it */
};

/* How names are found; false when there is no such name. */
struct formula_names {
	bool (*find)(const void *context, const char *name, struct formula_value *out);
	const void *context;
};

struct formula_fault {
	char what[200];
	int column; /* from 1 */
};

/* Evaluate text as C would, bit for bit, and work out its dimension.  False with `fault` filled. */
bool formula_evaluate(
    const char *text, struct formula_names names, struct formula_value *out, struct formula_fault *fault);

/* Call `each` for every name in the text, in order; functions are not names. */
void formula_each_name(const char *text, void (*each)(void *context, const char *name), void *context);

/* True when a value of dimension `from` may be given to a name of dimension `to`: equal, or a pure number made a count.
 */
bool formula_assignable(struct formula_value from, struct dim to);

/* --- threads ------------------------------------------------------------------------------------------------- */

/* job(context, i) for i = 0 .. n-1, in any order, on n_threads threads (0: one for each core); a thread that cannot be
 * started is done without. */
void crew_run(void (*job)(void *context, size_t i), void *context, size_t n, size_t n_threads);

#endif
