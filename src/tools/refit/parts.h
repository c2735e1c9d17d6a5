/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_TOOLS_REFIT_PARTS_H
#define RIDGE_TOOLS_REFIT_PARTS_H

#include "ask/validate/validate.h"
#include "db/db.h"
#include "db/tree.h"

/*
 * Refit the constants of the database that were fitted to published runs, and judge them on runs that were left out.
 * A separate program: it reads the files that `ridge validate` reads, by the same functions, and changes values in
 * the tree of the database that it holds in memory.
 */

/* What is fitted together: constants, and the rows that they are fitted to. */
enum domain { DOMAIN_TRAIN, DOMAIN_MEMORY, DOMAIN_COMM, N_DOMAINS, DOMAIN_SERVE = N_DOMAINS };
const char *domain_name(enum domain d);

/* By what rows are left out together; serving runs also by the cell of the support table, and by engine. */
enum leave {
	LEAVE_SOURCE,
	LEAVE_MODEL,
	LEAVE_GPU,
	LEAVE_GROUP,
	N_LEAVES,
	LEAVE_CELL = N_LEAVES,
	LEAVE_ENGINE,
	N_UNITS
};
const char *leave_name(enum leave l);

/* A published value.  `unit` numbers the sets that are left out, by enum leave. */
struct refit_row {
	const char *file, *label[N_UNITS], *stack;
	const char *what; /* of serving: the regime; else NULL */
	const struct score_case *of;
	int line, unit[N_UNITS];
	double log_measured, log_predicted, log_low, log_high; /* as the database stands */
	double wide; /* half-width of the interval if nobody had measured this; 0: the same */
};

/* A fitted constant; its logarithm is what is fitted. */
struct refit_param {
	enum entry_kind kind;
	const char *entry, *path; /* stacks: torchtitan, time.sigma */
	const char *unit;         /* behind the number in the file */
	size_t length;            /* of its text there */
	const struct node *node;
	double start, least, most;
	double tau; /* how far it may stray from `up`, as a standard deviation */
	int up;     /* the constant that it inherits from, or the mean of its class; -1: `otherwise` */
	double otherwise;
	bool hyper; /* the mean of a class: in no file */
	bool moves; /* some row depends on it */
	bool given; /* a fabric's that was measured elsewhere: its rows are not here */
};

struct refit {
	struct arena *arena;
	struct diag *diag;
	struct database *db;
	enum domain domain;
	bool unlisted; /* no framework has a file */
	const char *const *files;
	size_t n_files;
	bool draft;                     /* closed forms, else one simulation of each row */
	const struct refit_param *only; /* predict the rows that can feel this constant of an engine; NULL: all */
	const bool *only_rows;          /* ... or the rows that are marked; NULL: all */
	int n, n_units[N_UNITS];
	struct refit_row *rows;
	int n_params;
	struct refit_param *params;
	double *jacobian;    /* n x n_params */
	double *at, *log_at; /* the constants where it was taken, and the predictions there */
};

/* --- constants: params.c --------------------------------------------------------------------------------- */

void refit_find_params(struct refit *r);
/* Whether an engine is `from` or extends it. */
bool refit_inherits(struct refit *r, const char *entry, const char *from);
/* Lay these values over the database. */
void refit_set(struct refit *r, const double *x);
/* Write them into the files of the folder `hwdb`. */
bool refit_write(const struct refit *r, const double *x, const char *hwdb);

/* A value or switch that deviates from what its class has; `param`: the constant, or -1. */
struct refit_trait {
	const char *entry, *key, *value, *otherwise;
	int param;
	struct node *map, *node; /* where it stands */
	bool fitted;             /* as the file says; else documented */
	bool inherits;           /* left out, it is inherited */
	double effect;           /* on the error of groups left out, in points; above 0: it helps */
	double in_sample;
};
struct refit_trait *refit_find_traits(struct refit *r, int *n);
/* Return it to the default, and back. */
void refit_trait_off(struct refit *r, struct refit_trait *t);
void refit_trait_on(struct refit *r, struct refit_trait *t);
/* Take what runs call it from every stack, for good. */
void refit_no_match(struct refit *r);

/* --- rows: rows.c ---------------------------------------------------------------------------------------- */

bool refit_read_rows(struct refit *r);
/* Predictions of all rows, as logarithms; NaN where there is none. */
void refit_predict(struct refit *r, double *log_predicted);

/* --- the fit: solve.c ------------------------------------------------------------------------------------ */

/* Derivatives of the predictions at x, and the predictions there. */
void refit_linearise(struct refit *r, const double *x);
/* The best constants without the rows of one unit (-1: of all rows), by the derivatives; from predictions `start`. */
void refit_solve(const struct refit *r, const double *start, const double *tau, enum leave by, int unit, double *x);
/* Variance of the logarithms of the unit's predictions at x, for all that its constants are not known by other rows. */
void refit_doubt(const struct refit *r, const double *start, const double *tau, enum leave by, int unit,
    const double *x, double *variance);
/* The logarithm of a row's prediction with these constants, without running the model. */
double refit_log_at(const struct refit *r, int row, const double *x);
/* All rows, to the end. */
void refit_fit(struct refit *r, double *x);
/* Errors of the rows of each unit, predicted without it, by the derivatives alone. */
double refit_left_out_error(const struct refit *r, const double *start, const double *tau, enum leave by);
/* The same with the model run again; fills the predictions. */
void refit_leave_out(struct refit *r, enum leave by, double *log_predicted);

/* --- serving: serve.c ------------------------------------------------------------------------------------ */

/* Print src/ask/serve/support.def, and what each row was missed by if `each`.  False without rows. */
bool refit_serve(const char *rows, bool each);

/* --- the table: table.c ---------------------------------------------------------------------------------- */

struct refit_score {
	int n, n_groups;
	double mean, median, bias, inside_rows, inside_groups, half_width, score;
};
/* Of predictions, with the rows' intervals moved to them; what is left out by `by` without a row of its own that stays
 * (a fabric) has the interval of what nobody measured.  N_LEAVES: nothing is left out. */
struct refit_score refit_score_of(const struct refit *r, const double *log_predicted, enum leave by);
void refit_interval(
    const struct refit *r, const double *log_predicted, enum leave by, int row, double *log_low, double *log_high);
double refit_group_error(const struct refit *r, const double *log_predicted);
/* How residuals vary inside groups, between groups of a stack, and between stacks. */
struct refit_spread {
	double within, group, stack;
	int n_groups, n_stacks;
};
struct refit_spread refit_spread_of(const struct refit *r, const double *log_predicted);

#endif
