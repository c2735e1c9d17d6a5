/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantities with units, by the table units.def: read them, print them, derive the dimension of a name from its suffix.
 */
#include "base/sheet.h"

#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
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

/* What follows an amount of dollars: nothing, a price's unit, or thousands, millions and billions. */
static const char *
dollar_unit(const char *text)
{
	static const char *const units_of[][2] = {{"", "usd"}, {"/h", "usd/h"}, {"/kWh", "usd/kWh"}, {"k", "kusd"},
	    {"K", "kusd"}, {"M", "Musd"}, {"B", "Gusd"}};

	for (size_t i = 0; i < sizeof units_of / sizeof *units_of; i++)
		if (strcmp(units_of[i][0], text) == 0)
			return units_of[i][1];
	return text;
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
	if (dollar)
		unit = dollar_unit(unit);
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

/* --- printing, and the dimension of a name ----------------------------------------------------------------------- */

/* The suffix words of names, and what each adds to a dimension.  A joule is a watt second. */
static const struct suffix {
	const char *word;
	struct dim dim;
} suffixes[] = {
    {"s", {{[AXIS_S] = 1}}},
    {"byte", {{[AXIS_BYTE] = 1}}},
    {"watt", {{[AXIS_WATT] = 1}}},
    {"joule", {{[AXIS_WATT] = 1, [AXIS_S] = 1}}},
    {"kelvin", {{[AXIS_KELVIN] = 1}}},
    {"usd", {{[AXIS_USD] = 1}}},
    {"hertz", {{[AXIS_S] = -1}}},
    {"flop", {{[AXIS_FLOP] = 1}}},
    {"token", {{[AXIS_TOKEN] = 1}}},
    {"sample", {{[AXIS_SAMPLE] = 1}}},
    {"request", {{[AXIS_REQUEST] = 1}}},
    {"param", {{[AXIS_PARAM] = 1}}},
};

static const char *const axis_names[N_AXES] = {
    "s", "B", "W", "K", "usd", "FLOP", "token", "sample", "request", "param"};

enum { N_SUFFIXES = sizeof suffixes / sizeof *suffixes };

bool
dim_equal(struct dim a, struct dim b)
{
	return memcmp(a.e, b.e, sizeof a.e) == 0;
}

bool
dim_is_pure(struct dim a)
{
	return dim_equal(a, (struct dim){{0}});
}

bool
dim_has_no_count(struct dim a)
{
	for (int i = FIRST_COUNT; i < N_AXES; i++)
		if (a.e[i])
			return false;
	return true;
}

struct dim
dim_times(struct dim a, struct dim b, int sign)
{
	for (int i = 0; i < N_AXES; i++)
		a.e[i] = (signed char)(a.e[i] + sign * b.e[i]);
	return a;
}

static void
axes_write(struct dim d, int sign, char *buf, size_t size)
{
	buf[0] = '\0';
	for (int i = 0; i < N_AXES; i++) {
		const int e = sign * d.e[i];
		const size_t n = strlen(buf);

		if (e > 0)
			snprintf(buf + n, size - n, "%s%s%s", n ? "*" : "", axis_names[i],
			    e == 1       ? ""
			        : e == 2 ? "^2"
			                 : "^n");
	}
}

void
dim_name(struct dim d, char *buf, size_t size)
{
	char above[64], below[64];

	axes_write(d, 1, above, sizeof above);
	axes_write(d, -1, below, sizeof below);
	if (dim_is_pure(d))
		snprintf(buf, size, "pure number");
	else
		snprintf(buf, size, "%s%s%s", above[0] ? above : "1", below[0] ? "/" : "", below);
}

static const struct suffix *
suffix_find(const char *word, size_t length)
{
	for (int i = 0; i < N_SUFFIXES; i++)
		if (strlen(suffixes[i].word) == length && strncmp(suffixes[i].word, word, length) == 0)
			return &suffixes[i];
	return NULL;
}

/* Reads words from the end: unit, then `per`, then unit, ...; stops at the unit that no `per` precedes. */
struct dim
dim_of_name(const char *name)
{
	struct dim dim = {{0}}, below = {{0}};
	const char *end = name + strlen(name);

	if (strncmp(name, "n_", 2) == 0) {
		for (int i = 0; i < N_SUFFIXES; i++)
			if (i >= 7 && strncmp(name + 2, suffixes[i].word, strlen(suffixes[i].word)) == 0 &&
			    strcmp(name + 2 + strlen(suffixes[i].word), "s") == 0)
				return suffixes[i].dim;
		return dim;
	}
	for (;;) {
		const char *word = end;

		while (word > name && word[-1] != '_')
			word--;
		const struct suffix *suffix = suffix_find(word, (size_t)(end - word));
		if (!suffix)
			return (struct dim){{0}};
		if (word - name >= 5 && strncmp(word - 5, "_per_", 5) == 0) {
			below = dim_times(below, suffix->dim, 1);
			end = word - 5;
			continue;
		}
		/* a lone word is a plain name: `s` is not a second */
		if (word == name && end == name + strlen(name))
			return (struct dim){{0}};
		return dim_times(suffix->dim, below, -1);
	}
}

bool
name_is_fraction(const char *name)
{
	return text_ends(name, "_frac");
}

/* --- numbers in any locale -------------------------------------------------------------------------------- */

struct numbers
numbers_begin(void)
{
	struct numbers n = {(locale_t)0, (locale_t)0};

	if (strcmp(nl_langinfo(RADIXCHAR), ".") == 0)
		return n;
	n.ours = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	n.before = n.ours ? uselocale(n.ours) : (locale_t)0;
	return n;
}

void
numbers_end(struct numbers n)
{
	if (!n.ours)
		return;
	uselocale(n.before);
	freelocale(n.ours);
}

/* --- writing --------------------------------------------------------------------------------------------- */

struct prefix {
	double scale;
	const char *text;
};

static const struct prefix iec[] = {{1125899906842624.0, "PiB"}, {1099511627776.0, "TiB"}, {1073741824.0, "GiB"},
    {1048576.0, "MiB"}, {1024.0, "KiB"}, {1, "B"}, {0, NULL}};
static const struct prefix si_byte[] = {
    {1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}, {0, NULL}};
static const struct prefix flop[] = {{1e24, "YFLOP"}, {1e21, "ZFLOP"}, {1e18, "EFLOP"}, {1e15, "PFLOP"},
    {1e12, "TFLOP"}, {1e9, "GFLOP"}, {1e6, "MFLOP"}, {1e3, "kFLOP"}, {1, "FLOP"}, {0, NULL}};
static const struct prefix second[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"},
    {1e-9, "ns"}, {1e-12, "ps"}, {0, NULL}};
static const struct prefix watt[] = {{1e6, "MW"}, {1e3, "kW"}, {1, "W"}, {0, NULL}};
static const struct prefix joule[] = {
    {3.6e12, "GWh"}, {3.6e9, "MWh"}, {3.6e6, "kWh"}, {1e3, "kJ"}, {1, "J"}, {0, NULL}};
static const struct prefix hertz[] = {{1e9, "GHz"}, {1e6, "MHz"}, {1e3, "kHz"}, {1, "Hz"}, {0, NULL}};
static const struct prefix plain[] = {{1, ""}, {0, NULL}};

/* Digits for people: `digits` significant ones, no exponent where the number can be read without. */
static void
digits_write(double v, int digits, char *buf, size_t size)
{
	const double size_of = fabs(v);

	if (v == 0)
		snprintf(buf, size, "0");
	else if (size_of >= 1e7 || size_of < 1e-4)
		snprintf(buf, size, "%.*g", digits, v);
	else {
		const int whole = (int)floor(log10(size_of)) + 1;
		const int decimals = digits > whole ? digits - whole : 0;

		if (decimals == 0 && whole > digits && digits < 6) {
			const double unit = pow(10, whole - digits);
			snprintf(buf, size, "%.0f", round(v / unit) * unit);
			return;
		}
		snprintf(buf, size, "%.*f", decimals, v);
		if (decimals > 0) {
			size_t n = strlen(buf);
			while (buf[n - 1] == '0')
				buf[--n] = '\0';
			if (buf[n - 1] == '.')
				buf[n - 1] = '\0';
		}
	}
}

static void
scaled_write(const struct prefix *ladder, double v, int digits, char *buf, size_t size)
{
	const struct prefix *p = ladder;
	/* times: 119 s is clearer than 1.98 min */
	const double slack = ladder == second ? 2 : 1;
	char number[40];

	/* nothing has the unit without a prefix */
	while (p[1].text && (v == 0 ? p->scale != 1 : fabs(v) < p->scale * (p->scale >= 60 ? slack : 1) * (1 - 5e-4)))
		p++;
	/* the last digits of 1023 GiB matter: never round whole IEC numbers to 1020 */
	if (fabs(v / p->scale) >= 1000 && fabs(v / p->scale) < 1e6)
		snprintf(number, sizeof number, "%.0f", v / p->scale);
	else
		digits_write(v / p->scale, digits, number, sizeof number);
	snprintf(buf, size, "%s%s%s", number, p->text[0] ? " " : "", p->text);
}

static void
money_write(double v, char *buf, size_t size)
{
	char digits[40], out[60];
	size_t n = 0;

	const bool tiny = fabs(v) < 0.1 && fabs(v) > 1e-9;

	if (tiny || (fabs(v) <= 1e-9 && v != 0) || fabs(v) >= 1e15) {
		snprintf(buf, size, tiny ? "%s$%.*f" : "%s$%.*g", v < 0 ? "-" : "",
		    tiny ? 2 - (int)floor(log10(fabs(v))) : 3, fabs(v));
		for (size_t end = strlen(buf); tiny && buf[end - 1] == '0' && buf[end - 4] != '.'; end--)
			buf[end - 1] = '\0';
		return;
	}
	snprintf(digits, sizeof digits, fabs(v) < 1000 ? "%.2f" : "%.0f", fabs(v));
	const size_t whole = strcspn(digits, ".");
	for (size_t i = 0; digits[i] && n + 2 < sizeof out; i++) {
		if (i > 0 && i < whole && (whole - i) % 3 == 0)
			out[n++] = ',';
		out[n++] = digits[i];
	}
	out[n] = '\0';
	snprintf(buf, size, "%s$%s", v < 0 ? "-" : "", out);
}

static void
pure_write(const char *name, double v, int digits, char *buf, size_t size)
{
	if (name_is_fraction(name)) {
		char number[40];
		digits_write(100 * v, digits, number, sizeof number);
		snprintf(buf, size, "%s %%", number);
	} else if (v == floor(v) && fabs(v) < 1e15)
		snprintf(buf, size, "%.0f", v);
	else
		digits_write(v, digits, buf, size);
}

static const struct prefix *
ladder_of(struct dim d)
{
	static const struct {
		struct dim dim;
		const struct prefix *ladder;
	} ladders[] = {
	    {{{[AXIS_BYTE] = 1}}, iec},
	    {{{[AXIS_S] = 1}}, second},
	    {{{[AXIS_FLOP] = 1}}, flop},
	    {{{[AXIS_WATT] = 1}}, watt},
	    {{{[AXIS_WATT] = 1, [AXIS_S] = 1}}, joule},
	    {{{[AXIS_S] = -1}}, hertz},
	};
	for (size_t i = 0; i < sizeof ladders / sizeof *ladders; i++)
		if (dim_equal(d, ladders[i].dim))
			return ladders[i].ladder;
	return NULL;
}

static char *
write_value(const char *name, double v, int digits, char *buf, size_t size)
{
	const struct dim d = dim_of_name(name);
	struct dim above = {{0}}, below = {{0}};
	char first[64], rest[40] = "";

	for (int i = 0; i < N_AXES; i++) {
		above.e[i] = d.e[i] > 0 ? d.e[i] : 0;
		below.e[i] = (signed char)(d.e[i] < 0 ? -d.e[i] : 0);
	}
	if (isnan(v))
		snprintf(first, sizeof first, "-");
	else if (isinf(v))
		snprintf(first, sizeof first, v > 0 ? "unlimited" : "-unlimited");
	else if (dim_is_pure(d))
		pure_write(name, v, digits, first, sizeof first);
	else if (above.e[AXIS_USD] == 1 && dim_equal(below, (struct dim){{[AXIS_S] = 1}})) {
		money_write(v * 3600, first, sizeof first);
		below = (struct dim){{0}};
		snprintf(rest, sizeof rest, "/h");
	} else if (dim_equal(d, quantity_dim(Q_PER_ENERGY))) {
		money_write(v * 3.6e6, first, sizeof first);
		below = (struct dim){{0}};
		snprintf(rest, sizeof rest, "/kWh");
	} else if (above.e[AXIS_USD] == 1)
		money_write(v, first, sizeof first);
	else if (dim_equal(d, (struct dim){{[AXIS_S] = -1}}))
		scaled_write(hertz, v, digits, first, sizeof first), below = (struct dim){{0}};
	else if (dim_equal(above, (struct dim){{[AXIS_BYTE] = 1}}) && below.e[AXIS_S])
		scaled_write(si_byte, v, digits, first, sizeof first);
	else if (ladder_of(above))
		scaled_write(dim_equal(above, (struct dim){{[AXIS_FLOP] = 1}}) && below.e[AXIS_BYTE] ? flop + 8
		                                                                                     : ladder_of(above),
		    v, digits, first, sizeof first);
	else {
		char unit[40];
		axes_write(above, 1, unit, sizeof unit);
		if (v == floor(v) && fabs(v) < 1e15)
			snprintf(first, sizeof first, "%.0f", v);
		else
			scaled_write(plain, v, digits, first, sizeof first);
		const size_t n = strlen(first);
		snprintf(first + n, sizeof first - n, " %s%s", unit,
		    v == 1 || dim_is_pure(above) || !dim_is_pure(below) ? "" : "s");
	}
	if (!dim_is_pure(below) && !isnan(v)) {
		char unit[32];
		axes_write(below, 1, unit, sizeof unit);
		snprintf(rest, sizeof rest, "/%s", unit);
	}
	snprintf(buf, size, "%s%s", first, isnan(v) ? "" : rest);
	return buf;
}

char *
value_write_digits(const char *name, double value, int digits, char *buf, size_t size)
{
	const struct numbers n = numbers_begin();

	write_value(name, value, digits, buf, size);
	numbers_end(n);
	return buf;
}

char *
value_write(const char *name, double value, char *buf, size_t size)
{
	return value_write_digits(name, value, 3, buf, size);
}

/* What stands behind the digits of a written value. */
static const char *
unit_of_text(const char *text)
{
	const char *end = text + strlen(text);

	while (end > text && !(end[-1] >= '0' && end[-1] <= '9'))
		end--;
	return end;
}

char *
interval_write(const char *name, double value, double low, double high, int digits, char *buf, size_t size)
{
	char at[80], from[80], to[80];

	value_write_digits(name, value, digits, at, sizeof at);
	value_write_digits(name, low, digits, from, sizeof from);
	value_write_digits(name, high, digits, to, sizeof to);
	const bool same =
	    strcmp(unit_of_text(at), unit_of_text(from)) == 0 && strcmp(unit_of_text(at), unit_of_text(to)) == 0;
	snprintf(buf, size, "%s (%.*s .. %.*s)", at, same ? (int)(unit_of_text(from) - from) : 80, from,
	    same ? (int)(unit_of_text(to) - to) : 80, to);
	return buf;
}

char *
bytes_write_si(double byte, char *buf, size_t size)
{
	const struct numbers n = numbers_begin();

	if (isfinite(byte))
		scaled_write(si_byte, byte, 3, buf, size);
	else
		write_value("x_byte", byte, 3, buf, size);
	numbers_end(n);
	return buf;
}

/* Counts and bytes are whole, and most numbers are: their digits without the search below. */
static void
whole_write(double value, char *buf)
{
	char digits[20] = "";
	int n = 0;

	if (value < 0)
		*buf++ = '-';
	for (unsigned long long rest = (unsigned long long)fabs(value); rest || n == 0; rest /= 10)
		digits[n++] = (char)('0' + rest % 10);
	while (n)
		*buf++ = digits[--n];
	*buf = '\0';
}

char *
number_write(double value, char *buf, size_t size)
{
	enum { WHOLE = 20 };

	if (value == floor(value) && fabs(value) < 1e15 && !(value == 0 && signbit(value)) && size >= WHOLE) {
		whole_write(value, buf);
		return buf;
	}
	const struct numbers n = numbers_begin();
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, size, "%.*g", digits, value);
		if (strtod(buf, NULL) == value)
			break;
	}
	numbers_end(n);
	return buf;
}
