/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a quantity of every kind, any name as a unit, any number written. */
#include "fuzz.h"

#include "base/sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
write_value(const char *name, double value)
{
	char buf[200], small[8];

	FUZZ_EXPECT(value_write(name, value, buf, sizeof buf) == buf && strlen(buf) < sizeof buf - 1);
	value_write_digits(name, value, 6, buf, sizeof buf);
	value_write(name, value, small, sizeof small);
	bytes_write_si(value, buf, sizeof buf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"x", "n_x", "x_byte", "x_byte_per_s", "x_s", "x_flop", "x_flop_per_s",
	    "x_usd", "x_usd_per_s", "x_watt", "x_joule", "x_hertz", "x_frac", "x_token_per_s_per_watt", "n_params"};
	char *text = malloc(size + 1), buf[60];
	double value = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (enum quantity q = 0; q < N_QUANTITIES; q++) {
		struct quantity_fault fault = {"", ""};
		if (quantity_read(text, q, &value, &fault)) {
			FUZZ_EXPECT(isfinite(value));
			FUZZ_EXPECT(strtod(number_write(value, buf, sizeof buf), NULL) == value);
		} else
			FUZZ_EXPECT(fault.what[0] && fault.hint[0]);
	}
	if (size >= sizeof value)
		memcpy(&value, data, sizeof value);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		write_value(names[i], value);
	write_value(text, value);
	dim_name(dim_of_name(text), buf, sizeof buf);
	free(text);
	return 0;
}
