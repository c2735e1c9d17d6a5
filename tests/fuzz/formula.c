/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a formula. */
#include "fuzz.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* Names are known when they begin with a letter of the first half. */
static bool
find(const void *context, const char *name, struct formula_value *out)
{
	(void)context;
	if (name[0] > 'm')
		return false;
	*out = (struct formula_value){(double)strlen(name), dim_of_name(name), false, false};
	return true;
}

static void
count(void *context, const char *name)
{
	FUZZ_EXPECT(*name);
	++*(int *)context;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct formula_value v;
	struct formula_fault fault = {"", 0};
	int n = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!formula_evaluate(text, (struct formula_names){find, NULL}, &v, &fault)) {
		FUZZ_EXPECT(fault.what[0]);
		FUZZ_EXPECT(fault.column >= 1 && (size_t)fault.column <= strlen(text) + 1);
	}
	formula_each_name(text, count, &n);
	free(text);
	return 0;
}
