/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Units: a closed table, read and written in one place.
 *
 * Inside the program every number is in base units: bytes, seconds, FLOP, watts, US dollars.  A name carries its unit
 * as a suffix: `mem_byte_per_s`.  SI prefixes are powers of ten and IEC prefixes are powers of two, always.
 */
#ifndef RIDGE_UNITS_H
#define RIDGE_UNITS_H

#include <stdbool.h>
#include <stddef.h>

/* Exponents: first what is measured, then what is counted.  Pure numbers have none. */
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

/* The dimension that a name's suffix says: `mem_byte_per_s` -> byte/s; a name without one is a pure number.
 * `n_tokens` counts tokens, every other `n_...` is a pure number. */
struct dim dim_of_name(const char *name);
/* True for names ending in `_frac`: shown as a percentage. */
bool name_is_fraction(const char *name);

/* What a quantity in a file or an option must be. */
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

/* Read `text` as quantity q in base units.  False with `fault` filled when it is not one, or when it can be read two
 * ways. NaN, infinities and overflow are refused. */
bool quantity_read(const char *text, enum quantity q, double *value, struct quantity_fault *fault);

/* Write a value for people: 3 significant digits (all digits of exact counts), unit by the name's suffix; memory in IEC
 * units. Returns buf. */
char *value_write(const char *name, double value, char *buf, size_t size);
/* The same, to `digits` significant digits. */
char *value_write_digits(const char *name, double value, int digits, char *buf, size_t size);
/* A value with the interval around it: `12.4 ms (11.1 .. 13.9)`, the units repeated where they differ. */
char *interval_write(const char *name, double value, double low, double high, int digits, char *buf, size_t size);
/* Bytes in SI units (`154 GB`), to stand beside the IEC ones. */
char *bytes_write_si(double byte, char *buf, size_t size);
/* The shortest decimal that reads back to the same double. */
char *number_write(double value, char *buf, size_t size);

#endif
