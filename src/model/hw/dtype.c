/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/hw/hw.h"

#include <string.h>

static const struct {
	const char *name, *title;
	enum peak substitute;
} peaks[] = {
#define PEAK(id, text, substitute, title) {text, title, PEAK_##substitute},
#include "model/hw/dtype.def"
#undef PEAK
};

static const struct {
	const char *name;
	double elem_byte;
	enum peak peak;
} dtypes[] = {
#define DTYPE(id, text, elem_byte, peak, title) {text, elem_byte, PEAK_##peak},
#include "model/hw/dtype.def"
#undef DTYPE
};

const char *
peak_name(enum peak p)
{
	return peaks[p].name;
}

enum peak
peak_substitute(enum peak p)
{
	return peaks[p].substitute;
}

const char *
dtype_name(enum dtype t)
{
	return dtypes[t].name;
}

double
dtype_byte(enum dtype t)
{
	return dtypes[t].elem_byte;
}

enum peak
dtype_peak(enum dtype t)
{
	return dtypes[t].peak;
}

enum dtype
dtype_find(const char *name)
{
	for (int i = 0; i < N_DTYPES; i++)
		if (strcmp(dtypes[i].name, name) == 0)
			return (enum dtype)i;
	return DTYPE_NONE;
}
