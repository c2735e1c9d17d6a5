/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements that may be times, sizes, rates or plain numbers: read alike, calculated with as numbers in base units,
 * and shown in their unit again. */
#ifndef RIDGE_MEASURE_H
#define RIDGE_MEASURE_H

#include "cli/cli.h"
#include "model/calc/calc.h"

enum measure {
	MEASURE_ANY = -1, /* the first one says */
	MEASURE_NUMBER,
	MEASURE_TIME,
	MEASURE_SIZE,
	MEASURE_RATE,
};

/* `12ms`, `8.5GB`, `1200`.  The first text sets the kind, all others must be of it. */
bool measure_read(struct run *r, struct source at, const char *text, enum measure *kind, double *value);
/* A fraction (0.15 or 15%) that lies between low and high. */
bool measure_fraction(struct run *r, const char *name, struct datum d, double low, double high);

/* Numbers of a list, or of a file that its only word names: one number per line, a CSV or YAML column. */
struct measures {
	size_t n;
	double *value;
	enum measure kind;
};
bool measures_read(struct run *r, const char *name, const struct words *list, struct word column, struct measures *out);

/* Points `STEP:VALUE` of a list, or two columns of a file, in the order of their steps. */
struct points {
	size_t n;
	double *step, *value;
	enum measure kind; /* of the values; steps are numbers */
};
bool points_read(struct run *r, const struct words *list, struct word x, struct word y, struct points *out);

/* The row that says in which unit numbers are; once, before any MEASURED row. */
void measure_unit(struct sheet *sh, enum measure kind);

/* A function show_NAME(sh, kind, NAME) that shows the row NAME in its unit as the answer ID_s, ID_byte, ... */
#define MEASURED(name, id)                                                                                             \
	static void show_##name(struct sheet *sh, enum measure kind, double name)                                      \
	{                                                                                                              \
		const double unit_s = 1, unit_byte = 1, unit_byte_per_s = 1;                                           \
		switch (kind) {                                                                                        \
		case MEASURE_TIME: {                                                                                   \
			CALL(sh, name##_s, measured_time(sh, name, unit_s));                                           \
			SHOW(sh, name##_s, id##_s);                                                                    \
			break;                                                                                         \
		}                                                                                                      \
		case MEASURE_SIZE: {                                                                                   \
			CALL(sh, name##_byte, measured_size(sh, name, unit_byte));                                     \
			SHOW(sh, name##_byte, id##_byte);                                                              \
			break;                                                                                         \
		}                                                                                                      \
		case MEASURE_RATE: {                                                                                   \
			CALL(sh, name##_byte_per_s, measured_rate(sh, name, unit_byte_per_s));                         \
			SHOW(sh, name##_byte_per_s, id##_byte_per_s);                                                  \
			break;                                                                                         \
		}                                                                                                      \
		case MEASURE_ANY:                                                                                      \
		case MEASURE_NUMBER:                                                                                   \
			SHOW(sh, name, id);                                                                            \
		}                                                                                                      \
	}

/* A value as people read it. */
const char *measure_text(struct run *r, enum measure kind, double value);

#endif
