/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every row of the table of units, read and written; what must be refused. */
#include "base/sheet.h"

#include <check.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct unit_row {
	const char *text;
	enum quantity quantity;
} rows[] = {
#define UNIT(text, scale, quantity) {text, quantity},
#define AMBIGUOUS(...)
#include "base/units.def"
#undef UNIT
#undef AMBIGUOUS
};

static const struct unit_row ambiguous[] = {
#define UNIT(...)
#define AMBIGUOUS(text, quantity, ...) {text, quantity},
#include "base/units.def"
#undef UNIT
#undef AMBIGUOUS
};

enum { N_ROWS = sizeof rows / sizeof *rows, N_AMBIGUOUS = sizeof ambiguous / sizeof *ambiguous };

/* --- what a unit is worth, from its letters alone -------------------------------------------------------- */

/* Powers of ten (SI brochure, 9th edition, table 7) and of two (IEC 80000-13). */
static double
prefix_worth(const char *prefix, size_t length)
{
	static const struct {
		const char *text;
		int power_of_ten, power_of_two;
	} prefixes[] = {{"", 0, 0}, {"p", -12, 0}, {"n", -9, 0}, {"u", -6, 0}, {"m", -3, 0}, {"k", 3, 0}, {"M", 6, 0},
	    {"G", 9, 0}, {"T", 12, 0}, {"P", 15, 0}, {"E", 18, 0}, {"Z", 21, 0}, {"Y", 24, 0}, {"Ki", 0, 10},
	    {"Mi", 0, 20}, {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}};

	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strlen(prefixes[i].text) == length && strncmp(prefixes[i].text, prefix, length) == 0)
			return ldexp(pow(10, prefixes[i].power_of_ten), prefixes[i].power_of_two);
	ck_abort_msg("the prefix '%.*s' is not known", (int)length, prefix);
	return NAN;
}

static double
unit_worth(const struct unit_row *row)
{
	static const struct {
		const char *text;
		double worth;
	} bases[] = {{"min", 60}, {"usd", 1}, {"bit", 1 / 8.0}, {"FLOP", 1}, {"clk", 1}, {"Hz", 1}, {"B", 1}, {"W", 1},
	    {"s", 1}, {"h", 3600}, {"d", 86400}, {"%", 1 / 100.0}};
	char above[16];
	const size_t length = strcspn(row->text, "/");
	const char *below = row->text[length] ? row->text + length + 1 : "";

	if (row->quantity == Q_COUNT) /* B stands for billion there: 70B parameters */
		return strcmp(row->text, "B") == 0 ? 1e9 : prefix_worth(row->text, strlen(row->text));
	snprintf(above, sizeof above, "%.*s", (int)length, row->text);
	for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
		const size_t n = strlen(bases[i].text), m = strlen(above);
		if (m < n || strcmp(above + m - n, bases[i].text) != 0)
			continue;
		const double under = strcmp(below, "h") == 0 ? 3600
		    : strcmp(below, "kWh") == 0              ? 3.6e6
		    : strcmp(below, "MWh") == 0              ? 3.6e9
		                                             : 1;
		return prefix_worth(above, m - n) * bases[i].worth / under;
	}
	ck_abort_msg("the unit '%s' is not known", row->text);
	return NAN;
}

/* Bytes and bits may be divided by time only, and so on: what stands under the stroke follows from the quantity. */
static const char *
unit_below(enum quantity q)
{
	switch ((int)q) {
	case Q_RATE:
	case Q_PEAK:
		return "/s";
	case Q_PER_CLOCK:
		return "/clk";
	case Q_DENSITY:
		return "/B";
	default:
		return "";
	}
}

START_TEST(every_unit_is_read)
{
	static const char *const numbers[] = {"1", "3", "0.125", "2.039", "1979", "4e3", ".5", "7."};
	const struct unit_row *row = &rows[_i];
	const double worth = unit_worth(row);

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		for (int blank = 0; blank < 2; blank++) {
			struct quantity_fault fault;
			char text[60];
			double value = NAN;

			snprintf(text, sizeof text, "%s%s%s", numbers[i], blank ? " " : "", row->text);
			ck_assert_msg(quantity_read(text, row->quantity, &value, &fault), "%s: %s", text, fault.what);
			const double wanted = strtod(numbers[i], NULL) * worth;
			ck_assert_msg(fabs(value - wanted) <= 2 * DBL_EPSILON * fabs(wanted), "%s is %.17g, not %.17g",
			    text, value, wanted);
		}
	if (row->quantity != Q_PER_HOUR && row->quantity != Q_PER_ENERGY) {
		const char *stroke = strchr(row->text, '/');
		ck_assert_str_eq(stroke ? stroke : "", unit_below(row->quantity));
	}
}
END_TEST

/* What people see can be read again and is the same number to the digits that are shown. */
START_TEST(every_unit_is_written)
{
	static const char *const names[N_QUANTITIES] = {[Q_NUMBER] = "x_frac",
	    [Q_COUNT] = "n_x",
	    [Q_SIZE] = "x_byte",
	    [Q_RATE] = "x_byte_per_s",
	    [Q_WORK] = "x_flop",
	    [Q_PEAK] = "x_flop_per_s",
	    [Q_TIME] = "x_s",
	    [Q_CLOCK] = "x_hertz",
	    [Q_POWER] = "x_watt",
	    [Q_MONEY] = "x_usd",
	    [Q_DENSITY] = "x_flop_per_byte",
	    [Q_PER_HOUR] = "x_usd_per_s",
	    [Q_PER_ENERGY] = "x_usd_per_joule"};
	const struct unit_row *row = &rows[_i];
	const char *name = names[row->quantity];
	const double value = 3 * unit_worth(row);
	struct quantity_fault fault;
	char text[80], plain[80];
	double again = NAN;
	size_t n = 0;

	if (!name) /* bytes per clock and clocks are read only */
		return;
	value_write(name, value, text, sizeof text);
	for (const char *p = text; *p; p++)
		if (*p != ',') /* thousands of dollars are grouped */
			plain[n++] = *p;
	plain[n] = '\0';
	ck_assert_msg(quantity_read(plain, row->quantity, &again, &fault), "%s: '%s' is written and not read: %s",
	    row->text, text, fault.what);
	ck_assert_msg(fabs(again / value - 1) < 0.006, "%s: %.17g is written as '%s'", row->text, value, text);

	/* the shortest decimal is exact */
	number_write(value, text, sizeof text);
	ck_assert_msg(strtod(text, NULL) == value, "%.17g is written as '%s'", value, text);
}
END_TEST

START_TEST(a_unit_belongs_to_its_quantity)
{
	const struct unit_row *row = &rows[_i];

	for (enum quantity q = 0; q < N_QUANTITIES; q++) {
		struct quantity_fault fault = {"", ""};
		char text[40];
		double value;
		bool listed = false;

		for (int i = 0; i < N_ROWS; i++)
			listed = listed || (rows[i].quantity == q && strcmp(rows[i].text, row->text) == 0);
		if (listed)
			continue;
		snprintf(text, sizeof text, "3%s", row->text);
		ck_assert_msg(!quantity_read(text, q, &value, &fault), "%s was read as %s", text, quantity_name(q));
		ck_assert_msg(
		    fault.what[0] && fault.hint[0], "%s as %s: no message or no hint", text, quantity_name(q));
	}
}
END_TEST

/* Decimal prefixes move the point: one rounding, as if the number had been written out. */
START_TEST(decimal_prefixes_round_once)
{
	static const struct {
		const char *text;
		enum quantity q;
		double value;
	} cases[] = {{"2.039TB/s", Q_RATE, 2.039e12}, {"0.3GB", Q_SIZE, 0.3e9}, {"1.1us", Q_TIME, 1.1e-6},
	    {"989.4TFLOP/s", Q_PEAK, 989.4e12}, {"4.7ns", Q_TIME, 4.7e-9}, {"3.35TB/s", Q_RATE, 3.35e12},
	    {"1.83GHz", Q_CLOCK, 1.83e9}, {"0.1%", Q_FRACTION, 0.1e-2}};
	struct quantity_fault fault;
	double value;

	ck_assert(quantity_read(cases[_i].text, cases[_i].q, &value, &fault));
	ck_assert_msg(value == cases[_i].value, "%s is %.17g", cases[_i].text, value);
}
END_TEST

/* --- what can be read two ways --------------------------------------------------------------------------- */

/* The next word of a hint, readings stand in front of blanks. */
static const char *
word(const char *text, char *buf, size_t size)
{
	size_t n = strcspn(text, " ");

	snprintf(buf, size, "%.*s", (int)n, text);
	return text + n;
}

START_TEST(ambiguous_units_are_refused)
{
	const struct unit_row *row = &ambiguous[_i];
	struct quantity_fault fault;
	char text[40], one[60], other[60];
	double value = 0, first = 0, second = 0;

	snprintf(text, sizeof text, "400%s", row->text);
	ck_assert_msg(!quantity_read(text, row->quantity, &value, &fault), "%s was read as %g", text, value);
	ck_assert_ptr_nonnull(strstr(fault.what, text));
	ck_assert_ptr_nonnull(strstr(fault.what, "two ways"));
	/* the hint offers two spellings, each of which is read, and they are not the same */
	ck_assert_msg(strncmp(fault.hint, "write ", 6) == 0, "%s", fault.hint);
	const char *p = word(fault.hint + 6, one, sizeof one);
	ck_assert_msg(strncmp(p, " or ", 4) == 0, "%s", fault.hint);
	word(p + 4, other, sizeof other);
	ck_assert_msg(quantity_read(one, row->quantity, &first, &fault), "%s", one);
	const bool rate = row->quantity == Q_WORK; /* FLOPS may be an amount or a rate */
	ck_assert_msg(quantity_read(other, rate ? Q_PEAK : row->quantity, &second, &fault), "%s", other);
	ck_assert(rate || first != second || strcmp(one, other) != 0);
}
END_TEST

START_TEST(both_readings_are_named)
{
	static const struct {
		const char *text;
		enum quantity q;
		const char *hint;
	} cases[] = {
	    {"400Gb/s", Q_RATE, "write 400Gbit/s or 400GB/s"},
	    {"400Gbps", Q_RATE, "write 400Gbit/s or 400GB/s"},
	    {"128k", Q_COUNT, "write 128000 or 128Ki (131072)"},
	    {"128K", Q_COUNT, "write 128000 or 128Ki (131072)"},
	    {"8G", Q_COUNT, "write 8B or 8Gi (8589934592)"},
	    {"80G", Q_SIZE, "write 80GB or 80GiB"},
	    {"64KB", Q_SIZE, "write 64kB or 64KiB"},
	    {"2Gb", Q_SIZE, "write 2Gbit or 2GB"},
	    {"5m", Q_TIME, "write 5min or 5ms"},
	    {"1TFLOPS", Q_WORK, "write 1TFLOP or 1TFLOP/s (a rate)"},
	};
	struct quantity_fault fault;
	double value;

	ck_assert(!quantity_read(cases[_i].text, cases[_i].q, &value, &fault));
	ck_assert_str_eq(fault.hint, cases[_i].hint);
}
END_TEST

/* --- what is no quantity --------------------------------------------------------------------------------- */

static const struct refused {
	const char *text;
	enum quantity q;
	const char *what; /* part of the message */
} refused[] = {
    {"", Q_COUNT, "is not a count"},
    {" ", Q_SIZE, "is not a size"},
    {"nan", Q_NUMBER, "is not a number"},
    {"NaN", Q_COUNT, "is not a count"},
    {"-nan", Q_NUMBER, "is not a number"},
    {"nan(1)", Q_NUMBER, "is not a number"},
    {"inf", Q_NUMBER, "is not a number"},
    {"-inf", Q_NUMBER, "is not a number"},
    {"infinityGB", Q_SIZE, "is not a size"},
    {"0x10", Q_COUNT, "is not a count"},
    {"-0X1p3", Q_NUMBER, "is not a number"},
    {"0x1GB", Q_SIZE, "is not a size"},
    {"1e999", Q_NUMBER, "out of range"},
    {"-1e999", Q_NUMBER, "out of range"},
    {"1e400GB", Q_SIZE, "out of range"},
    {"1e308PB", Q_SIZE, "out of range"},
    {"1e300YFLOP", Q_WORK, "out of range"},
    {"1e-400", Q_NUMBER, "out of range"},
    {"GB", Q_SIZE, "is not a size"},
    {"--5", Q_COUNT, "is not a count"},
    {"+-5", Q_COUNT, "is not a count"},
    {".", Q_NUMBER, "is not a number"},
    {"1..2", Q_NUMBER, "is not a number"},
    {"5 5", Q_COUNT, "is not a count"},
    {"1,5", Q_NUMBER, "is not a number"},
    {"80", Q_SIZE, "has no unit"},
    {"3", Q_TIME, "has no unit"},
    {"80GB", Q_COUNT, "is a size in bytes, but a count"},
    {"80GB/s", Q_SIZE, "is a rate in bytes per second, but a size"},
    {"3s", Q_SIZE, "is a time, but a size in bytes"},
    {"80GiBB", Q_SIZE, "is not a unit of a size"},
    {"80 gib", Q_SIZE, "is not a unit of a size"},
    {"20%", Q_COUNT, "is a number or percentage, but a count"},
    {"20%", Q_NUMBER, "is a number or percentage, but a number without a unit"},
    {"$3.50", Q_PER_HOUR, "is an amount of money, but a price per hour"},
    {"$3.50", Q_SIZE, "is not a size"},
    {"$", Q_MONEY, "is not an amount of money"},
    {"70b", Q_COUNT, "is not a unit of a count"},
};

START_TEST(no_quantity)
{
	const struct refused *c = &refused[_i];
	struct quantity_fault fault = {"", ""};
	double value = 12345;

	ck_assert_msg(!quantity_read(c->text, c->q, &value, &fault), "'%s' was read as %g", c->text, value);
	ck_assert_msg(strstr(fault.what, c->what), "'%s': %s", c->text, fault.what);
	ck_assert_msg(fault.hint[0], "'%s' without a hint", c->text);
}
END_TEST

START_TEST(a_long_text_is_cut)
{
	char text[5000];
	struct quantity_fault fault;
	double value;

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	ck_assert(!quantity_read(text, Q_SIZE, &value, &fault));
	memset(text, '9', sizeof text - 1);
	ck_assert(!quantity_read(text, Q_SIZE, &value, &fault));
	ck_assert(!quantity_read(text, Q_COUNT, &value, &fault));
	ck_assert_uint_lt(strlen(fault.what), 120);
}
END_TEST

static const struct {
	const char *text;
	enum quantity q;
	double value;
} accepted[] = {
    {"$3.50/h", Q_PER_HOUR, 3.5 / 3600},
    {"3.50usd/h", Q_PER_HOUR, 3.5 / 3600},
    {"$0.12/kWh", Q_PER_ENERGY, 0.12 / 3.6e6},
    {"$3.50", Q_MONEY, 3.5},
    {"$2kusd", Q_MONEY, 2000},
    {"$250k", Q_MONEY, 250e3},
    {"$1.55M", Q_MONEY, 1.55e6},
    {"$3B", Q_MONEY, 3e9},
    {"20%", Q_FRACTION, 0.2},
    {"0.8", Q_NUMBER, 0.8},
    {"-3", Q_NUMBER, -3},
    {"+3", Q_NUMBER, 3},
    {"70B", Q_COUNT, 70e9},
    {"8Ki", Q_COUNT, 8192},
    {"1e9", Q_COUNT, 1e9},
    {"400Gbit/s", Q_RATE, 50e9},
    {"50MiB", Q_SIZE, 52428800},
    {"81089MiB", Q_SIZE, 81089.0 * 1048576},
    {"24h", Q_TIME, 86400},
};

START_TEST(quantities_are_read)
{
	struct quantity_fault fault;
	double value;

	ck_assert_msg(
	    quantity_read(accepted[_i].text, accepted[_i].q, &value, &fault), "%s: %s", accepted[_i].text, fault.what);
	ck_assert_msg(fabs(value - accepted[_i].value) <= 2 * DBL_EPSILON * fabs(accepted[_i].value), "%s is %.17g",
	    accepted[_i].text, value);
}
END_TEST

START_TEST(there_is_no_negative_zero)
{
	struct quantity_fault fault;
	double value;

	ck_assert(quantity_read("-0", Q_NUMBER, &value, &fault));
	ck_assert(value == 0 && !signbit(value));
	ck_assert(quantity_read("-0GB", Q_SIZE, &value, &fault));
	ck_assert(value == 0 && !signbit(value));
}
END_TEST

/* --- writing --------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	double value;
	const char *text;
} written[] = {
    {"x_byte", 0, "0 B"},
    {"x_s", 0, "0 s"},
    {"x_flop_per_s", 0, "0 FLOP/s"},
    {"x_byte_per_s", 0, "0 B/s"},
    {"x_watt", 0, "0 W"},
    {"x_byte", 1023, "1023 B"},
    {"x_byte", 1024, "1 KiB"},
    {"x_byte", 85e9, "79.2 GiB"},
    {"x_byte", 1023 * 1073741824.0, "1023 GiB"},
    {"x_byte_per_s", 3.35e12, "3.35 TB/s"},
    {"x_byte_per_s", 50e9, "50 GB/s"},
    {"x_byte_per_token", 524288, "512 KiB/token"},
    {"x_flop_per_s", 989.4e12, "989 TFLOP/s"},
    {"x_flop_per_byte", 295.34, "295 FLOP/B"},
    {"x_flop", 134217728, "134 MFLOP"},
    {"x_s", 40.1e-6, "40.1 us"},
    {"x_s", 119, "119 s"},
    {"x_s", 7260, "2.02 h"},
    {"x_s", 0.45, "450 ms"},
    {"x_hertz", 1.83e9, "1.83 GHz"},
    {"x_watt", 700, "700 W"},
    {"x_joule", 3.6e6, "1 kWh"},
    {"x_usd", 1234567, "$1,234,567"},
    {"x_usd", 3.5, "$3.50"},
    {"x_usd", -3.5, "-$3.50"},
    {"x_usd", 0.5, "$0.50"},
    {"x_usd", 0.0123, "$0.0123"},
    {"x_usd", 0, "$0.00"},
    {"x_usd", 999.5, "$999.50"},
    {"x_usd", 1000, "$1,000"},
    {"x_usd_per_s", 3.5 / 3600, "$3.50/h"},
    {"x_usd_per_token", 2e-6, "$0.000002/token"},
    {"x_frac", 0.816, "81.6 %"},
    {"x_frac", 1, "100 %"},
    {"n_gpus", 16384, "16384"},
    {"n_params", 6738415616.0, "6738415616 params"},
    {"x_token", 1, "1 token"},
    {"x_token", 4096, "4096 tokens"},
    {"x_token_per_s", 1500, "1500 token/s"},
    {"x", 2.5, "2.5"},
    {"x", 1234567.9, "1230000"},
    {"x_s", NAN, "-"},
    {"x_byte_per_s", NAN, "-"},
    {"n_tokens", INFINITY, "unlimited"},
    {"x_s", -INFINITY, "-unlimited"},
};

START_TEST(values_are_written)
{
	char buf[80];

	ck_assert_str_eq(value_write(written[_i].name, written[_i].value, buf, sizeof buf), written[_i].text);
}
END_TEST

START_TEST(si_beside_iec)
{
	char buf[80];

	ck_assert_str_eq(bytes_write_si(154e9, buf, sizeof buf), "154 GB");
	ck_assert_str_eq(bytes_write_si(1500, buf, sizeof buf), "1.5 kB");
	ck_assert_str_eq(bytes_write_si(NAN, buf, sizeof buf), "-");
	ck_assert_str_eq(bytes_write_si(INFINITY, buf, sizeof buf), "unlimited");
	ck_assert_str_eq(value_write_digits("x_byte", 85e9, 6, buf, sizeof buf), "79.1624 GiB");
}
END_TEST

START_TEST(the_shortest_decimal_reads_back)
{
	static const double values[] = {
	    0.1, 1 / 3.0, 5e-324, DBL_MAX, 1e22, 123456789012345678.0, -0.2, 3.3500000000000001e12};
	char buf[60];

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		number_write(values[i], buf, sizeof buf);
		ck_assert_msg(strtod(buf, NULL) == values[i], "%.17g is written as %s", values[i], buf);
	}
	ck_assert_str_eq(number_write(0.1, buf, sizeof buf), "0.1");
	ck_assert_str_eq(number_write(3.35e12, buf, sizeof buf), "3350000000000");
}
END_TEST

/* --- names ----------------------------------------------------------------------------------------------- */

static const struct {
	const char *name, *dim;
} named[] = {
    {"time_s", "s"},
    {"mem_byte", "B"},
    {"mem_byte_per_s", "B/s"},
    {"work_flop", "FLOP"},
    {"peak_flop_per_s", "FLOP/s"},
    {"ridge_flop_per_byte", "FLOP/B"},
    {"kv_byte_per_token", "B/token"},
    {"clock_hertz", "1/s"},
    {"energy_joule", "s*W"},
    {"power_watt", "W"},
    {"price_usd_per_s", "usd/s"},
    {"cost_usd_per_token", "usd/token"},
    {"die_kelvin", "K"},
    {"rate_token_per_s_per_watt", "token/s*W"},
    {"byte_per_param", "B/param"},
    {"n_tokens", "token"},
    {"n_samples", "sample"},
    {"n_requests", "request"},
    {"n_params", "param"},
    {"n_flops", "FLOP"},
    {"n_gpus", "pure number"},
    {"n_bytes", "pure number"},
    {"n_token", "pure number"},
    {"s", "pure number"},
    {"byte", "pure number"},
    {"x", "pure number"},
    {"ratio", "pure number"},
    {"of_peak_frac", "pure number"},
    {"status", "pure number"},
    {"per_byte", "B"},
    {"", "pure number"},
};

START_TEST(names_carry_their_unit)
{
	char buf[80];

	dim_name(dim_of_name(named[_i].name), buf, sizeof buf);
	ck_assert_str_eq(buf, named[_i].dim);
}
END_TEST

START_TEST(dimensions)
{
	const struct dim byte = dim_of_name("x_byte"), rate = dim_of_name("x_byte_per_s"), s = dim_of_name("x_s");

	ck_assert(dim_equal(dim_times(byte, s, -1), rate));
	ck_assert(dim_equal(dim_times(rate, s, 1), byte));
	ck_assert(!dim_equal(byte, rate));
	ck_assert(dim_is_pure(dim_times(byte, byte, -1)));
	ck_assert(!dim_is_pure(byte));
	ck_assert(dim_has_no_count(byte));
	ck_assert(!dim_has_no_count(dim_of_name("x_byte_per_token")));
	ck_assert(dim_equal(dim_of_name("x_joule"), dim_times(dim_of_name("x_watt"), s, 1)));
	ck_assert(name_is_fraction("of_peak_frac"));
	ck_assert(!name_is_fraction("fraction"));
	ck_assert(dim_equal(quantity_dim(Q_RATE), rate));
	for (enum quantity q = 0; q < N_QUANTITIES; q++)
		ck_assert(quantity_name(q) && *quantity_name(q));
}
END_TEST

#define LOOP(tcase, test, table) tcase_add_loop_test(tcase, test, 0, (int)(sizeof(table) / sizeof *(table)))

/* --- locales --------------------------------------------------------------------------------------------- */

/* The numbers of a locale with a comma, as localedef(1) compiles them: no machine need have one installed. */
static void
make_comma_locale(char *folder)
{
	const uint32_t head[] = {0x20031114, 6, 0x20, 0x22, 0x24, 0x28, 0x2c, 0x30};
	static const char text[] = ",\0.\0\3\3\0\0,\0\0\0.\0\0\0ANSI_X3.4-1968";
	char path[200];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/xx_XX", folder);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/xx_XX/LC_NUMERIC", folder);
	FILE *file = fopen(path, "wb");
	ck_assert_ptr_nonnull(file);
	fwrite(head, sizeof head, 1, file);
	fwrite(text, sizeof text, 1, file);
	fclose(file);
}

/* A program that uses the library may have set the user's locale. */
START_TEST(a_locale_changes_nothing)
{
	char folder[] = "/tmp/ridge-locale-XXXXXX", command[100], buf[80];
	struct quantity_fault why;
	double value;

	make_comma_locale(folder);
	setenv("LOCPATH", folder, 1);
	const char *set = setlocale(LC_NUMERIC, "xx_XX");
	snprintf(command, sizeof command, "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
	ck_assert_ptr_nonnull(set);
	snprintf(buf, sizeof buf, "%.1f", 1.5);
	ck_assert_str_eq(buf, "1,5");

	ck_assert(quantity_read("3.35TB/s", Q_RATE, &value, &why));
	ck_assert(value == 3.35e12);
	ck_assert(quantity_read("2.5e-3", Q_NUMBER, &value, &why) && value == 2.5e-3);
	ck_assert(!quantity_read("3,35TB/s", Q_RATE, &value, &why));
	ck_assert_str_eq(value_write("x_s", 1.5, buf, sizeof buf), "1.5 s");
	ck_assert_str_eq(value_write("x_usd", 12345.5, buf, sizeof buf), "$12,346");
	ck_assert_str_eq(interval_write("x_s", 1.5, 1.25, 2.5, 3, buf, sizeof buf), "1.5 s (1.25 .. 2.5)");
	ck_assert_str_eq(bytes_write_si(1.5e9, buf, sizeof buf), "1.5 GB");
	ck_assert_str_eq(number_write(0.1, buf, sizeof buf), "0.1");
	/* and the caller keeps its locale */
	snprintf(buf, sizeof buf, "%.1f", 1.5);
	ck_assert_str_eq(buf, "1,5");
}
END_TEST

START_TEST(large_money_is_not_cut_off)
{
	char buf[80];

	ck_assert_str_eq(value_write("x_usd", 2.16e46, buf, sizeof buf), "$2.16e+46");
	ck_assert_str_eq(value_write("x_usd", -3e20, buf, sizeof buf), "-$3e+20");
	ck_assert_str_eq(value_write("x_usd", 999999999999999.0, buf, sizeof buf), "$999,999,999,999,999");
	ck_assert_str_eq(value_write("x_usd_per_s", 1e300, buf, sizeof buf), "$3.6e+303/h");
}
END_TEST

Suite *units_suite(void);

Suite *
units_suite(void)
{
	Suite *s = suite_create("units");
	TCase *t = tcase_create("units");

	tcase_set_timeout(t, 60); /* sanitizers and busy machines */
	LOOP(t, every_unit_is_read, rows);
	LOOP(t, every_unit_is_written, rows);
	LOOP(t, a_unit_belongs_to_its_quantity, rows);
	tcase_add_loop_test(t, decimal_prefixes_round_once, 0, 8);
	LOOP(t, ambiguous_units_are_refused, ambiguous);
	tcase_add_loop_test(t, both_readings_are_named, 0, 10);
	LOOP(t, no_quantity, refused);
	tcase_add_test(t, a_long_text_is_cut);
	LOOP(t, quantities_are_read, accepted);
	tcase_add_test(t, there_is_no_negative_zero);
	LOOP(t, values_are_written, written);
	tcase_add_test(t, si_beside_iec);
	tcase_add_test(t, the_shortest_decimal_reads_back);
	LOOP(t, names_carry_their_unit, named);
	tcase_add_test(t, dimensions);
	tcase_add_test(t, a_locale_changes_nothing);
	tcase_add_test(t, large_money_is_not_cut_off);
	suite_add_tcase(s, t);
	return s;
}
