/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "import/parts.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum holds { HOLDS_KIND, HOLDS_COUNT, HOLDS_FIGURE, HOLDS_WORD };

static const struct column {
	const char *name;
	enum holds holds;
	size_t offset;
	double unit;
} columns[] = {
    {"kind", HOLDS_KIND, offsetof(struct measurement, kind), 1},
#define DIMENSION(member, text, title) {text, HOLDS_COUNT, offsetof(struct measurement, member), 1},
#define FIGURE(member, text, unit, title) {text, HOLDS_FIGURE, offsetof(struct measurement, member), unit},
#define LABEL(member, text, title) {text, HOLDS_WORD, offsetof(struct measurement, member), 1},
#include "model/hw/measurement.def"
#undef DIMENSION
#undef FIGURE
#undef LABEL
};

enum { N_COLUMNS = sizeof columns / sizeof *columns };

#define AT(member) offsetof(struct measurement, member)

/* Every kind has a time as well; a copy or transfer may have a bandwidth instead of size and time. */
static const size_t needs_of[N_MEASUREMENT_KINDS][8] = {
    [MEASUREMENT_GEMM] = {AT(m), AT(n), AT(k)},
    [MEASUREMENT_ATTENTION] = {AT(batch), AT(heads), AT(kv_heads), AT(head_dim), AT(query_len), AT(context_len)},
    [MEASUREMENT_MOE] = {AT(tokens), AT(hidden), AT(expert_ffn), AT(top_k), AT(experts)},
    [MEASUREMENT_COLLECTIVE] = {AT(ranks), AT(size_byte)},
    [MEASUREMENT_COPY] = {AT(size_byte)},
    [MEASUREMENT_P2P] = {AT(size_byte)},
};

int
measurement_column(const char *name)
{
	for (int i = 0; i < N_COLUMNS; i++)
		if (strcasecmp(columns[i].name, name) == 0)
			return i;
	return -1;
}

const char *
measurement_column_name(int column)
{
	return columns[column].name;
}

int
measurement_column_of(size_t offset)
{
	for (int i = 0; i < N_COLUMNS; i++)
		if (columns[i].offset == offset)
			return i;
	return -1;
}

const size_t *
measurement_needs(enum measurement_kind k)
{
	return needs_of[k];
}

double
measurement_value(const struct measurement *row, size_t member)
{
	double value;

	memcpy(&value, (const char *)row + member, sizeof value);
	return value;
}

/* Decimal only: strtod would also take hexadecimal numbers, infinities and NaN. */
bool
measurement_number(const char *text, double *value)
{
	char *end;

	if (!*text || text[strspn(text, "0123456789+-.eE")] != '\0')
		return false;
	*value = strtod(text, &end);
	return end != text && !*end && isfinite(*value);
}

bool
measurement_set(
    struct measurement_reader *r, struct measurement *row, int column, const char *text, char *why, size_t size)
{
	const struct column *c = &columns[column];
	double value;

	if (!*text)
		return true;
	if (c->holds == HOLDS_WORD) {
		const char *word = measurement_word(r, text, strlen(text));
		memcpy((char *)row + c->offset, &word, sizeof word);
		return true;
	}
	if (c->holds == HOLDS_KIND) {
		const int kind = measurement_kind_find(text);
		if (kind < 0) {
			snprintf(why, size, "'%.40s' is not a kind of measurement", text);
			return false;
		}
		row->kind = (enum measurement_kind)kind;
		return true;
	}
	if (!measurement_number(text, &value)) {
		snprintf(why, size, "%s must be a plain number", c->name);
		return false;
	}
	if (c->holds == HOLDS_COUNT && !(value >= 0)) {
		snprintf(why, size, "%s is negative", c->name);
		return false;
	}
	value *= c->unit;
	memcpy((char *)row + c->offset, &value, sizeof value);
	return true;
}
