/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RIDGE_BASE_SHEET_H
#define RIDGE_BASE_SHEET_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Units: a closed table, read and written in one place.
 *
 * Inside the program every number is in base units: bytes, seconds, FLOP, watts, US dollars.  A name carries its unit
 * as a suffix: `mem_byte_per_s`.  SI prefixes are powers of ten and IEC prefixes are powers of two, always.
 */

/* Exponents of measured units, then of counted ones.  All zero for pure numbers. */
enum axis {
	AXIS_S,
	AXIS_BYTE,
	AXIS_WATT,
	AXIS_KELVIN,
	AXIS_USD,
	AXIS_FLOP,
	AXIS_TOKEN,
	AXIS_SAMPLE,
	AXIS_REQUEST,
	AXIS_PARAM,
	N_AXES,
	FIRST_COUNT = AXIS_FLOP,
};

struct dim {
	signed char e[N_AXES];
};

bool dim_equal(struct dim a, struct dim b);
/* True when nothing is measured or counted: a pure number. */
bool dim_is_pure(struct dim a);
/* True when nothing is counted. */
bool dim_has_no_count(struct dim a);
struct dim dim_times(struct dim a, struct dim b, int sign);
/* `byte/s`, `FLOP`, `pure number`, into buf. */
void dim_name(struct dim d, char *buf, size_t size);

/* The dimension of a name by its suffix: `mem_byte_per_s` is byte/s; without a suffix it is a pure number.
 * `n_tokens` counts tokens, every other `n_...` is a pure number. */
struct dim dim_of_name(const char *name);
/* True for names ending in `_frac`: shown as a percentage. */
bool name_is_fraction(const char *name);

/* Kinds of quantities in files and options. */
enum quantity {
	Q_NUMBER,     /* 0.8 */
	Q_FRACTION,   /* 0.8, 80% */
	Q_COUNT,      /* 8, 70B, 8Ki, 1e9: no unit allowed */
	Q_SIZE,       /* 80GB, 50MiB */
	Q_RATE,       /* 3.35TB/s, 400Gbit/s */
	Q_WORK,       /* 1.2TFLOP */
	Q_PEAK,       /* 989TFLOP/s */
	Q_TIME,       /* 3us, 24h */
	Q_CLOCK,      /* 1830MHz */
	Q_POWER,      /* 700W */
	Q_MONEY,      /* 3.50usd */
	Q_PER_CLOCK,  /* 229B/clk */
	Q_CLOCKS,     /* 145clk */
	Q_DENSITY,    /* 2FLOP/B */
	Q_PER_HOUR,   /* 3.50usd/h, $3.50/h */
	Q_PER_ENERGY, /* 0.12usd/kWh, $0.12/kWh */
	N_QUANTITIES,
};

/* `a size in bytes`, for messages. */
const char *quantity_name(enum quantity q);
struct dim quantity_dim(enum quantity q);

struct quantity_fault {
	char what[160];
	char hint[200];
};

/* Read `text` as quantity q in base units.  False, with `fault` filled, if it is invalid or ambiguous.  NaN, infinities
 * and overflow are refused. */
bool quantity_read(const char *text, enum quantity q, double *value, struct quantity_fault *fault);

/* Format a value with three significant digits (exact counts in full) and the unit of the name's suffix; memory in IEC
 * units.  Returns buf. */
char *value_write(const char *name, double value, char *buf, size_t size);
/* The same, to `digits` significant digits. */
char *value_write_digits(const char *name, double value, int digits, char *buf, size_t size);
/* A value with the interval around it: `12.4 ms (11.1 .. 13.9)`, the units repeated where they differ. */
char *interval_write(const char *name, double value, double low, double high, int digits, char *buf, size_t size);
/* Format bytes in SI units (`154 GB`), shown next to the IEC ones. */
char *bytes_write_si(double byte, char *buf, size_t size);
/* The shortest decimal that reads back to the same double. */
char *number_write(double value, char *buf, size_t size);

/*
 * Public answers: stable id, label and meaning, from answers.def.  The suffix of the id is its unit.  An id that is not
 * in the table does not compile.
 */

struct answer_entry {
	const char *id, *label, *meaning;
};

enum answer_id {
#define ANSWER(id, label, meaning) ID_##id,
#define WORD(id, label, meaning) ID_##id,
#include "base/answers.def"
#undef ANSWER
#undef WORD
	N_ANSWERS
};

/* The same by kind, so that a word cannot be shown as a number. */
enum answer_kind {
#define ANSWER(id, label, meaning) NUMBER_##id = ID_##id,
#define WORD(id, label, meaning) WORD_##id = ID_##id,
#include "base/answers.def"
#undef ANSWER
#undef WORD
};

extern const struct answer_entry answer_table[N_ANSWERS];

/* The answer of this id, or NULL. */
const struct answer_entry *answer_find(const char *id);

/*
 * The sheet: the rows that a model computed, in order.
 *
 * A model is plain C over doubles.  LET evaluates an expression and records its source text with the value, so the
 * formula that --explain prints is the one that ran.  The suffix of a row's name is its unit.  With a NULL sheet every
 * macro is just its expression.
 *
 * Names and texts are string literals; the sheet keeps the pointers.  A name is unique in its scope, and formulas look
 * names up from the innermost scope outward.
 */

/* Place of a number.  Lines and columns count from 1; line 0 is the whole file (`command line`, `default`).
 *  `cite` is the publication, or NULL. */
struct source {
	const char *file;
	int line, column;
	const char *cite;
	bool unconfirmed;
};

/* A number with its origin.  An absent datum is NaN: ask datum_given() before use. */
struct datum {
	double value;
	struct source from;
};

static inline struct datum
datum_absent(void)
{
	return (struct datum){NAN, {NULL, 0, 0, NULL, false}};
}

static inline bool
datum_given(struct datum d)
{
	return !isnan(d.value);
}

/* The value, or `otherwise` if absent. */
static inline double
datum_or(struct datum d, double otherwise)
{
	return isnan(d.value) ? otherwise : d.value;
}

enum row_kind {
	ROW_GIVEN, /* a parameter of the model */
	ROW_DATUM, /* a number with a place */
	ROW_INPUT, /* a plain number of the caller's */
	ROW_LET,   /* a formula */
	ROW_CALL,  /* the result of another model, whose rows lie inside */
	ROW_SUM,   /* the sum of the items inside */
	ROW_MOST,  /* the largest of the items inside */
	ROW_ITEM,  /* one item of a SUM or MOST */
	ROW_SCOPE, /* a named block */
	ROW_WORD,  /* an answer that is a word */
};

struct row {
	enum row_kind kind;
	const char *name;
	const char *text;  /* formula, call, or the word itself; NULL where there is none */
	const char *id;    /* set by SHOW and TELL: the public name of an answer; NULL: the row is none */
	const char *label; /* of an answer that people see too; NULL: scripts only */
	double value;      /* NaN for scopes and words */
	int parent;        /* index of the enclosing row, -1 at the top */
	int item;          /* number inside its group, -1 if none */
	bool open;         /* a scope that has not been left yet */
	struct source from;
	const char *why; /* of the interval: `calibrated`; NULL: the row carries none */
	double low, high;
};

/* Share of the cases that lie in an interval. */
#define INTERVAL_LEVEL 0.8

struct sheet;

struct sheet *sheet_new(void);
void sheet_free(struct sheet *sh);
void sheet_clear(struct sheet *sh);

int sheet_size(const struct sheet *sh);
const struct row *sheet_row(const struct sheet *sh, int i);

/* Write the dotted path of row i (`step.tp_s`) into buf, NUL-terminated and cut at size; returns its full length. */
size_t sheet_path(const struct sheet *sh, int i, char *buf, size_t size);

/* Index of the row with this dotted path, or of the only row whose path ends in `.path`; -1 if none, -2 if several. */
int sheet_find(const struct sheet *sh, const char *path);

/* Index of the row that `name` means inside row `at` (innermost scope first, recorded earlier), or -1. */
int sheet_resolve(const struct sheet *sh, int at, const char *name);

/* Called by the macros, not by models.  Each returns `value`. */
double sheet_record(
    struct sheet *sh, enum row_kind kind, const char *name, const char *text, double value, struct source from);
int sheet_enter(struct sheet *sh, enum row_kind kind, const char *name, const char *text, int item);
double sheet_leave(struct sheet *sh, double value);
void sheet_show(struct sheet *sh, const char *name, const struct answer_entry *answer);
void sheet_word(struct sheet *sh, const struct answer_entry *answer, const char *word);
void sheet_hidden_number(struct sheet *sh, const char *name, const struct answer_entry *answer);
void sheet_hidden_word(struct sheet *sh, const struct answer_entry *answer, const char *word);
/* Title of this scope, which --explain prints instead of its item number. */
void sheet_title(struct sheet *sh, const char *title);
void sheet_between(struct sheet *sh, const char *name, double low, double high, const char *why);

static inline double
sheet_let(struct sheet *sh, const char *name, const char *text, double value)
{
	return sh ? sheet_record(sh, ROW_LET, name, text, value, (struct source){0}) : value;
}

static inline double
sheet_given(struct sheet *sh, const char *name, double value)
{
	return sh ? sheet_record(sh, ROW_GIVEN, name, NULL, value, (struct source){0}) : value;
}

static inline double
sheet_take_datum(struct sheet *sh, const char *name, const char *text, struct datum d)
{
	return sh ? sheet_record(sh, ROW_DATUM, name, text, d.value, d.from) : d.value;
}

static inline double
sheet_take_number(struct sheet *sh, const char *name, const char *text, double value)
{
	return sh ? sheet_record(sh, ROW_INPUT, name, text, value, (struct source){0}) : value;
}

static inline int
sheet_open(struct sheet *sh, enum row_kind kind, const char *name, const char *text, int item)
{
	return sh ? sheet_enter(sh, kind, name, text, item) : 1;
}

static inline double
sheet_close(struct sheet *sh, double value)
{
	return sh ? sheet_leave(sh, value) : value;
}

#define SHEET_CAT_(a, b) a##b
#define SHEET_CAT(a, b) SHEET_CAT_(a, b)

/* clang-format off */
/* DO(a, b, name) for each of up to 16 names. */
#define NAMES_1(DO, a, b, x) DO(a, b, x)
#define NAMES_2(DO, a, b, x, ...) DO(a, b, x); NAMES_1(DO, a, b, __VA_ARGS__)
#define NAMES_3(DO, a, b, x, ...) DO(a, b, x); NAMES_2(DO, a, b, __VA_ARGS__)
#define NAMES_4(DO, a, b, x, ...) DO(a, b, x); NAMES_3(DO, a, b, __VA_ARGS__)
#define NAMES_5(DO, a, b, x, ...) DO(a, b, x); NAMES_4(DO, a, b, __VA_ARGS__)
#define NAMES_6(DO, a, b, x, ...) DO(a, b, x); NAMES_5(DO, a, b, __VA_ARGS__)
#define NAMES_7(DO, a, b, x, ...) DO(a, b, x); NAMES_6(DO, a, b, __VA_ARGS__)
#define NAMES_8(DO, a, b, x, ...) DO(a, b, x); NAMES_7(DO, a, b, __VA_ARGS__)
#define NAMES_9(DO, a, b, x, ...) DO(a, b, x); NAMES_8(DO, a, b, __VA_ARGS__)
#define NAMES_10(DO, a, b, x, ...) DO(a, b, x); NAMES_9(DO, a, b, __VA_ARGS__)
#define NAMES_11(DO, a, b, x, ...) DO(a, b, x); NAMES_10(DO, a, b, __VA_ARGS__)
#define NAMES_12(DO, a, b, x, ...) DO(a, b, x); NAMES_11(DO, a, b, __VA_ARGS__)
#define NAMES_13(DO, a, b, x, ...) DO(a, b, x); NAMES_12(DO, a, b, __VA_ARGS__)
#define NAMES_14(DO, a, b, x, ...) DO(a, b, x); NAMES_13(DO, a, b, __VA_ARGS__)
#define NAMES_15(DO, a, b, x, ...) DO(a, b, x); NAMES_14(DO, a, b, __VA_ARGS__)
#define NAMES_16(DO, a, b, x, ...) DO(a, b, x); NAMES_15(DO, a, b, __VA_ARGS__)
#define NAMES_OF(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, which, ...) which
#define NAMES(DO, a, b, ...) NAMES_OF(__VA_ARGS__, NAMES_16, NAMES_15, NAMES_14, NAMES_13, NAMES_12, NAMES_11, NAMES_10, NAMES_9, NAMES_8, NAMES_7, NAMES_6, NAMES_5, NAMES_4, NAMES_3, NAMES_2, NAMES_1, 0)(DO, a, b, __VA_ARGS__)
/* clang-format on */

/* Record parameters of the model, at its top, so that the formulas below can name them. */
#define GIVEN(sh, ...) NAMES(GIVEN_ONE, sh, , __VA_ARGS__)
#define GIVEN_ONE(sh, none, name) ((void)sheet_given((sh), #name, (name)))

/* Record a struct member: a struct datum with its place, or a plain number. */
#define TAKE(sh, name, x)                                                                                              \
	const double name = _Generic((x), struct datum                                                                 \
	                             : sheet_take_datum, default                                                       \
	                             : sheet_take_number)((sh), #name, #x, (x));                                       \
	(void)(name)

/* TAKE members under their own names: FROM(sh, w, hidden, n_layers). */
#define FROM(sh, from, ...) NAMES(FROM_ONE, sh, from, __VA_ARGS__)
#define FROM_ONE(sh, from, name) TAKE(sh, name, from->name)
/* The same of a struct that is no pointer: FROM_STRUCT(sh, job->layout, tp, pp). */
#define FROM_STRUCT(sh, from, ...) NAMES(FROM_MEMBER, sh, from, __VA_ARGS__)
#define FROM_MEMBER(sh, from, name) TAKE(sh, name, from.name)

/* Compute and record. */
#define LET(sh, name, ...)                                                                                             \
	const double name = sheet_let((sh), #name, #__VA_ARGS__, (__VA_ARGS__));                                       \
	(void)(name)

/* LET for a `double name;` declared before a branch or a scope. */
#define SET(sh, name, ...) ((name) = sheet_let((sh), #name, #__VA_ARGS__, (__VA_ARGS__)))

/* One of two expressions, as the condition says; WHEN: one, or 0. */
#define EITHER(sh, name, condition, yes, no)                                                                           \
	const double name = (condition) ? sheet_let((sh), #name, #yes, (yes)) : sheet_let((sh), #name, #no, (no));     \
	(void)(name)
#define WHEN(sh, name, condition, yes) EITHER(sh, name, condition, yes, 0)

/* Record the result of another model, with its rows nested.  The callee returns its last LET. */
#define CALL(sh, name, ...)                                                                                            \
	const double name = (sheet_open((sh), ROW_CALL, #name, #__VA_ARGS__, -1), sheet_close((sh), (__VA_ARGS__)));   \
	(void)(name)

/* CALL for a `double name;` declared before a branch. */
#define SET_CALL(sh, name, ...)                                                                                        \
	((name) = (sheet_open((sh), ROW_CALL, #name, #__VA_ARGS__, -1), sheet_close((sh), (__VA_ARGS__))))

/* Sum of an expression over i = 0 .. n-1, each item in its own scope; with a NULL sheet just the sum. */
#define SUM(sh, name, i, n, ...)                                                                                       \
	double name = 0;                                                                                               \
	sheet_open((sh), ROW_SUM, #name, #__VA_ARGS__, -1);                                                            \
	for (int i = 0; i < (n); i++) {                                                                                \
		sheet_open((sh), ROW_ITEM, #name, NULL, i);                                                            \
		(name) += sheet_close((sh), (__VA_ARGS__));                                                            \
	}                                                                                                              \
	sheet_close((sh), (name))

/* The largest of an expression over i = 0 .. n-1; n is at least 1. */
#define MOST(sh, name, i, n, ...)                                                                                      \
	double name = -INFINITY;                                                                                       \
	sheet_open((sh), ROW_MOST, #name, #__VA_ARGS__, -1);                                                           \
	for (int i = 0; i < (n); i++) {                                                                                \
		sheet_open((sh), ROW_ITEM, #name, NULL, i);                                                            \
		(name) = fmax((name), sheet_close((sh), (__VA_ARGS__)));                                               \
	}                                                                                                              \
	sheet_close((sh), (name))

/* A nested block of rows.  Do not leave it with return, break or goto. */
#define SHEET_SCOPE(sh, name, i, once)                                                                                 \
	for (int once = sheet_open((sh), ROW_SCOPE, (name), NULL, (i)); once; once = (sheet_close((sh), NAN), 0))
#define SCOPE(sh, name) SHEET_SCOPE(sh, name, -1, SHEET_CAT(once_, __LINE__))
/* One of several equal blocks; its SHOWn rows are a line of a table. */
#define SCOPE_I(sh, name, i) SHEET_SCOPE(sh, name, (int)(i), SHEET_CAT(once_, __LINE__))

/* Mark a row of this scope as the answer of this id (answers.def), which has the row's unit. */
#define SHOW(sh, name, id) ((sh) ? sheet_show((sh), #name, &answer_table[NUMBER_##id]) : (void)0)
/* The same for scripts only. */
#define HIDE(sh, name, id) ((sh) ? sheet_hidden_number((sh), #name, &answer_table[NUMBER_##id]) : (void)0)
/* Attach an 80 % interval to a row of this scope, and its origin; low <= name <= high. */
#define BETWEEN(sh, name, low, high, why) ((sh) ? sheet_between((sh), #name, (low), (high), (why)) : (void)0)
/* An answer that is a word (`fits`, `memory-bound`). */
#define TELL(sh, id, word) ((sh) ? sheet_word((sh), &answer_table[WORD_##id], (word)) : (void)0)
/* The same for scripts only. */
#define TELL_HIDDEN(sh, id, word) ((sh) ? sheet_hidden_word((sh), &answer_table[WORD_##id], (word)) : (void)0)

#endif
