/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dtypes: names, sizes and the peaks they run at. */
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
	enum dtype fits, wide_kv, narrow_kv;
} dtypes[] = {
#define DTYPE(id, text, elem_byte, peak, fits, wide_kv, narrow_kv, ...)                                                \
	{text, elem_byte, PEAK_##peak, DTYPE_##fits, DTYPE_##wide_kv, DTYPE_##narrow_kv},
#include "model/hw/dtype.def"
#undef DTYPE
};

/* `|fp16|bf16`: a cell of the table is `_` or its column's letter. */
#define CHOICE__(text)
#define CHOICE_W(text) "|" text
#define CHOICE_T(text) "|" text
#define CHOICE_S(text) "|" text
#define CHOICE_Q(text) "|" text
#define CHOICE_A(text) "|" text
const char dtype_choices_P[] =
#define DTYPE(id, text, ...) "|" text
#include "model/hw/dtype.def"
#undef DTYPE
    ;
const char dtype_choices_W[] = ""
#define DTYPE(id, text, elem_byte, peak, fits, wide_kv, narrow_kv, W, T, S, Q, A, title) CHOICE_##W(text)
#include "model/hw/dtype.def"
#undef DTYPE
    ;
const char dtype_choices_T[] = ""
#define DTYPE(id, text, elem_byte, peak, fits, wide_kv, narrow_kv, W, T, S, Q, A, title) CHOICE_##T(text)
#include "model/hw/dtype.def"
#undef DTYPE
    ;
const char dtype_choices_S[] = ""
#define DTYPE(id, text, elem_byte, peak, fits, wide_kv, narrow_kv, W, T, S, Q, A, title) CHOICE_##S(text)
#include "model/hw/dtype.def"
#undef DTYPE
    ;
const char dtype_choices_Q[] = ""
#define DTYPE(id, text, elem_byte, peak, fits, wide_kv, narrow_kv, W, T, S, Q, A, title) CHOICE_##Q(text)
#include "model/hw/dtype.def"
#undef DTYPE
    ;
const char dtype_choices_A[] = ""
#define DTYPE(id, text, elem_byte, peak, fits, wide_kv, narrow_kv, W, T, S, Q, A, title) CHOICE_##A(text)
#include "model/hw/dtype.def"
#undef DTYPE
    ;

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
dtype_fits(enum dtype t)
{
	return dtypes[t].fits;
}

enum dtype
dtype_usual_kv(enum dtype weights, bool narrow)
{
	return narrow ? dtypes[weights].narrow_kv : dtypes[weights].wide_kv;
}

enum dtype
dtype_chosen(const char *choices, int index)
{
	while (index-- > 0)
		choices = strchr(choices, '|') + 1;
	const size_t length = strcspn(choices, "|");
	for (int i = 0; i < N_DTYPES; i++)
		if (strlen(dtypes[i].name) == length && memcmp(dtypes[i].name, choices, length) == 0)
			return (enum dtype)i;
	return DTYPE_NONE;
}

const char *
dtype_spelled(const char *name)
{
	static const struct {
		const char *text;
		enum dtype type;
	} spellings[] = {
#define SPELLING(text, id) {text, DTYPE_##id},
#include "model/hw/dtype.def"
#undef SPELLING
	};

	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
		if (strcmp(spellings[i].text, name) == 0)
			return dtype_name(spellings[i].type);
	return name;
}

enum dtype
dtype_find(const char *name)
{
	for (int i = 0; i < N_DTYPES; i++)
		if (strcmp(dtypes[i].name, name) == 0)
			return (enum dtype)i;
	return DTYPE_NONE;
}
