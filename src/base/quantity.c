/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read quantities with units: the table is units.def. */
#include "base/sheet.h"

#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	struct dim dim;
	const char *example;
} quantities[N_QUANTITIES] = {
    [Q_NUMBER] = {"a number without a unit", {{0}}, "0.8"},
    [Q_FRACTION] = {"a number or percentage", {{0}}, "0.8 or 80%"},
    [Q_COUNT] = {"a count without a unit", {{0}}, "8, 70B (70e9) or 8Ki (8192)"},
    [Q_SIZE] = {"a size in bytes", {{[AXIS_BYTE] = 1}}, "80GB or 80GiB"},
    [Q_RATE] = {"a rate in bytes per second", {{[AXIS_BYTE] = 1, [AXIS_S] = -1}}, "3.35TB/s or 400Gbit/s"},
    [Q_WORK] = {"an amount of arithmetic", {{[AXIS_FLOP] = 1}}, "1.2TFLOP"},
    [Q_PEAK] = {"an arithmetic rate", {{[AXIS_FLOP] = 1, [AXIS_S] = -1}}, "989TFLOP/s"},
    [Q_TIME] = {"a time", {{[AXIS_S] = 1}}, "3us, 45ms or 24h"},
    [Q_CLOCK] = {"a clock frequency", {{[AXIS_S] = -1}}, "1830MHz"},
    [Q_POWER] = {"a power", {{[AXIS_WATT] = 1}}, "700W"},
    [Q_MONEY] = {"an amount of money", {{[AXIS_USD] = 1}}, "3.50usd or $3.50"},
    [Q_PER_CLOCK] = {"bytes per clock", {{[AXIS_BYTE] = 1}}, "229B/clk"},
    [Q_CLOCKS] = {"a number of clocks", {{0}}, "145clk"},
    [Q_DENSITY] = {"an arithmetic intensity", {{[AXIS_FLOP] = 1, [AXIS_BYTE] = -1}}, "2FLOP/B"},
    [Q_PER_HOUR] = {"a price per hour", {{[AXIS_USD] = 1, [AXIS_S] = -1}}, "3.50usd/h or $3.50/h"},
    [Q_PER_ENERGY] = {"a price of energy", {{[AXIS_USD] = 1, [AXIS_WATT] = -1, [AXIS_S] = -1}},
        "0.12usd/kWh or $0.12/kWh"},
};

static const struct unit {
	const char *text;
	double scale;
	enum quantity quantity;
} units[] = {
#define UNIT(text, scale, quantity) {text, scale, quantity},
#define AMBIGUOUS(...)
#include "base/units.def"
#undef UNIT
#undef AMBIGUOUS
};

static const struct ambiguous {
	const char *text;
	enum quantity quantity;
	double scale; /* of the bare prefix */
	const char *one;
	double one_scale;
	const char *other;
	double other_scale;
} ambiguities[] = {
#define UNIT(...)
#define AMBIGUOUS(text, quantity, scale, one, one_scale, other, other_scale)                                           \
	{text, quantity, scale, one, one_scale, other, other_scale},
#include "base/units.def"
#undef UNIT
#undef AMBIGUOUS
};

enum { N_UNITS = sizeof units / sizeof *units, N_AMBIGUITIES = sizeof ambiguities / sizeof *ambiguities };

const char *
quantity_name(enum quantity q)
{
	return quantities[q].name;
}

struct dim
quantity_dim(enum quantity q)
{
	return quantities[q].dim;
}

/* The example with the number that was typed: 48 for a time is `48us, 48ms or 48h`. */
static void
hint_with_units(const char *number, enum quantity q, char *hint, size_t size)
{
	size_t n = (size_t)snprintf(hint, size, "write ");

	for (const char *p = quantities[q].example; *p && n + strlen(number) + 2 < size;)
		if (isdigit((unsigned char)*p)) {
			n += (size_t)snprintf(hint + n, size - n, "%s", number);
			p += strspn(p, "0123456789.");
		} else {
			hint[n++] = *p++;
			hint[n] = '\0';
		}
}

/* A plain number with a word behind it (`8req/s`) needs the word to go. */
static bool
fault_not(const char *text, enum quantity q, struct quantity_fault *fault)
{
	const size_t digits = strspn(text, "0123456789.");
	const bool plain = q == Q_COUNT || q == Q_NUMBER;

	snprintf(fault->what, sizeof fault->what, "'%.60s' is not %s", text, quantities[q].name);
	if (plain && digits && isalpha((unsigned char)text[digits]) && !strpbrk(text + digits, "0123456789"))
		snprintf(fault->hint, sizeof fault->hint, "write %.*s", (int)digits, text);
	else
		snprintf(fault->hint, sizeof fault->hint, "write for example %s", quantities[q].example);
	return false;
}

/* Two readings of one text: say both. */
static bool
fault_ambiguous(const char *text, double number, const struct ambiguous *a, struct quantity_fault *fault)
{
	char one[64], other[80];

	snprintf(fault->what, sizeof fault->what, "'%.60s' can be read two ways", text);
	if (a->one[0])
		snprintf(one, sizeof one, "%.10g%s", number, a->one);
	else
		snprintf(one, sizeof one, "%.15g", number * a->scale);
	if (a->quantity == Q_COUNT)
		snprintf(other, sizeof other, "%.10g%s (%.15g)", number, a->other, number * a->other_scale);
	else
		snprintf(other, sizeof other, "%.10g%s", number, a->other);
	snprintf(fault->hint, sizeof fault->hint, "write %s or %s", one, other);
	return false;
}

static bool
fault_unit(const char *text, const char *unit, enum quantity q, struct quantity_fault *fault)
{
	const char *names[N_UNITS];
	size_t n = 0;

	for (int i = 0; i < N_UNITS; i++)
		if (units[i].quantity == q)
			names[n++] = units[i].text;
	for (int i = 0; i < N_UNITS; i++)
		if (units[i].quantity != q && strcmp(units[i].text, unit) == 0) {
			snprintf(fault->what, sizeof fault->what, "'%.60s' is %s, but %s is needed", text,
			    quantities[units[i].quantity].name, quantities[q].name);
			snprintf(fault->hint, sizeof fault->hint, "write for example %s", quantities[q].example);
			return false;
		}
	/* one wrong letter is near to every unit of one letter */
	const char *near = isalpha((unsigned char)*unit) ? text_nearest(unit, names, n) : NULL;
	if (near && (unit[1] || text_same_folded(unit, near))) {
		snprintf(fault->what, sizeof fault->what, "'%.40s' is not a unit of %s", unit, quantities[q].name);
		snprintf(fault->hint, sizeof fault->hint, "did you mean '%s'?", near);
		return false;
	}
	return fault_not(text, q, fault);
}

/* A decimal prefix moves the point, so that 2.039TB is 2.039e12 rounded once and not a rounded product. */
static double
scaled(const char *start, size_t length, double number, double scale)
{
	static const double powers[] = {1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0,
	    1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
	    1e20, 1e21, 1e22, 1e23, 1e24};
	char text[80];

	if (scale == 1)
		return number;
	for (int i = 0; i < (int)(sizeof powers / sizeof *powers); i++) {
		if (powers[i] != scale || memchr(start, 'e', length) || memchr(start, 'E', length) ||
		    length + 8 > sizeof text)
			continue;
		const int power = i - 12, tens = abs(power) / 10;
		memcpy(text, start, length);
		memcpy(text + length,
		    (char[]){'e', power < 0 ? '-' : '+', (char)('0' + tens), (char)('0' + abs(power) % 10), 0}, 5);
		return strtod(text, NULL);
	}
	return number * scale;
}

static bool
read_quantity(const char *text, enum quantity q, double *value, struct quantity_fault *fault)
{
	const bool money = q == Q_MONEY || q == Q_PER_HOUR || q == Q_PER_ENERGY;
	const bool before = money && text[0] == '$';
	const char *start = before ? text + 1 : text;
	char *end;
	const char *first = start + (*start == '-' || *start == '+');

	fault->hint[0] = '\0';
	/* strtod would take hexadecimal, "inf" and "nan" too */
	if (!isdigit((unsigned char)*first) && *first != '.')
		return fault_not(text, q, fault);
	if (first[0] == '0' && (first[1] == 'x' || first[1] == 'X'))
		return fault_not(text, q, fault);
	errno = 0;
	const double number = strtod(start, &end);
	if (end == start)
		return fault_not(text, q, fault);
	const size_t length = (size_t)(end - start);
	while (*end == ' ')
		end++;
	const bool dollar = before || (money && *end == '$'); /* $2.50/h, 2.50$/h */
	const char *unit = dollar && !before ? end + 1 : end;
	if (dollar && *unit == '\0')
		unit = "usd";
	else if (dollar && strcmp(unit, "/h") == 0)
		unit = "usd/h";
	else if (dollar && strcmp(unit, "/kWh") == 0)
		unit = "usd/kWh";
	double scale = 0;
	if (*unit == '\0' && (q == Q_COUNT || q == Q_NUMBER || q == Q_FRACTION)) {
		scale = 1;
	} else if (*unit == '\0') {
		snprintf(
		    fault->what, sizeof fault->what, "'%.60s' has no unit, but %s is needed", text, quantities[q].name);
		if (strlen(text) < 12 && isdigit((unsigned char)*text))
			hint_with_units(text, q, fault->hint, sizeof fault->hint);
		else
			snprintf(fault->hint, sizeof fault->hint, "write for example %s", quantities[q].example);
		return false;
	}
	for (int i = 0; i < N_UNITS && scale == 0; i++)
		if (units[i].quantity == q && strcmp(units[i].text, unit) == 0)
			scale = units[i].scale;
	for (int i = 0; i < N_AMBIGUITIES && scale == 0; i++)
		if (ambiguities[i].quantity == q && strcmp(ambiguities[i].text, unit) == 0)
			return fault_ambiguous(text, number, &ambiguities[i], fault);
	if (scale == 0)
		return fault_unit(text, unit, q, fault);
	*value = scaled(start, length, number, scale);
	if (errno == ERANGE || !isfinite(*value)) {
		snprintf(fault->what, sizeof fault->what, "'%.60s' is out of range", text);
		snprintf(fault->hint, sizeof fault->hint, "write for example %s", quantities[q].example);
		return false;
	}
	*value += 0.0; /* no negative zero: 1/x would turn infinite the wrong way */
	return true;
}

bool
quantity_read(const char *text, enum quantity q, double *value, struct quantity_fault *fault)
{
	const struct numbers n = numbers_begin();
	const bool ok = read_quantity(text, q, value, fault);

	numbers_end(n);
	return ok;
}
