/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurement kinds and columns by name. */
#include "model/hw/measurement.h"

#include <string.h>

static const char *const kinds[] = {
#define MEASUREMENT(id, text, title) text,
#include "model/hw/measurement.def"
#undef MEASUREMENT
};

const char *
measurement_kind_name(enum measurement_kind k)
{
	return kinds[k];
}

int
measurement_kind_find(const char *name)
{
	for (int i = 0; i < N_MEASUREMENT_KINDS; i++)
		if (strcmp(kinds[i], name) == 0)
			return i;
	return -1;
}
