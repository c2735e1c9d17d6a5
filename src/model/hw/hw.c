/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of hardware: dtypes and peaks, measurement kinds, calibration parameters. */
#include "model/hw/hw.h"

#include "base/base.h"

#include <string.h>

/* --- dtypes ---------------------------------------------------------------------------------------------- */

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

bool
gpu_has_gddr(const struct gpu *gpu)
{
	return gpu->mem_type && strncmp(gpu->mem_type, "GDDR", 4) == 0;
}

/* GDDR6 has no extra chips for ECC: a sixteenth of the memory stores it, and of the bandwidth moves it.  Server boards
 * ship with ECC on, as the size that their drivers report shows; workstation and gaming boards ship with it off. */
double
gpu_gddr_share(const struct gpu *gpu, double share_frac)
{
	return share_frac * (gpu->mem_inline_ecc ? 15.0 / 16 : 1);
}

/* Products with a scale for every 32 numbers came with those of 4 bits (OCP MX 1.0: NVIDIA Blackwell, AMD CDNA 4). */
bool
gpu_lacks(const struct gpu *gpu, enum dtype t)
{
	const enum peak p = dtype_peak(t);

	return p != PEAK_NONE && (gpu->lacks[p] || (t == DTYPE_MXFP8 && gpu->lacks[PEAK_FP4]));
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

/* --- measurement kinds ----------------------------------------------------------------------------------- */

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

/* --- calibration parameters ------------------------------------------------------------------------------ */

#define ROW(key, member, form, otherwise, low, high, start, least, most, title)                                        \
	{key, FORM_##form, otherwise, start, least, most},
#define FAMILY(name) const struct family family_##name = {sizeof name##_rows / sizeof *name##_rows, name##_rows}

static const struct param_row gemm_rows[] = {
#define GEMM ROW
#include "model/hw/calibration.def"
#undef GEMM
};
FAMILY(gemm);

static const struct param_row context_rows[] = {
#define CONTEXT ROW
#include "model/hw/calibration.def"
#undef CONTEXT
};
FAMILY(context);

static const struct param_row generation_rows[] = {
#define GENERATION ROW
#include "model/hw/calibration.def"
#undef GENERATION
};
FAMILY(generation);

static const struct param_row moe_rows[] = {
#define MOE ROW
#include "model/hw/calibration.def"
#undef MOE
};
FAMILY(moe);

static const struct param_row collective_rows[] = {
#define NCCL ROW
#include "model/hw/calibration.def"
#undef NCCL
};
FAMILY(collective);

static const struct param_row custom_rows[] = {
#define CUSTOM ROW
#include "model/hw/calibration.def"
#undef CUSTOM
};
FAMILY(custom);

static const struct param_row launch_rows[] = {
#define LAUNCH ROW
#include "model/hw/calibration.def"
#undef LAUNCH
};
FAMILY(launch);

static const struct {
	enum quantity quantity;
	const char *reference;
} forms[N_FORMS] = {
#define FORM(id, quantity, reference) {quantity, reference},
#include "model/hw/calibration.def"
#undef FORM
};

enum quantity
form_quantity(enum param_form f)
{
	return forms[f].quantity;
}

const char *
form_reference(enum param_form f)
{
	return forms[f].reference;
}

const struct param_row *
param_find(const char *key)
{
	const struct family *const kernels[] = {&family_gemm, &family_context, &family_generation, &family_moe};

	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		for (int j = 0; j < kernels[i]->n; j++)
			if (strcmp(kernels[i]->rows[j].key, key) == 0)
				return &kernels[i]->rows[j];
	return NULL;
}

struct param_units
param_units(void)
{
	struct param_units u = {.clock = 1};

	for (int i = 0; i < N_FORMS; i++)
		u.by[i] = 1;
	return u;
}

struct param_units
param_units_of(double peak_flop_per_s, double mem_byte_per_s, double clock_hertz)
{
	struct param_units u = param_units();

	u.by[FORM_OF_PEAK] = peak_flop_per_s;
	u.by[FORM_OF_MEMORY] = mem_byte_per_s;
	u.by[FORM_PER_CLOCK] = clock_hertz;
	u.clock = clock_hertz;
	return u;
}

double
param_scaled(const struct param_units *u, enum param_form f, double value)
{
	return f == FORM_IN_CLOCKS ? value * u->by[f] / u->clock : value * u->by[f];
}

double
param_unscaled(const struct param_units *u, enum param_form f, double rate)
{
	return f == FORM_IN_CLOCKS ? rate * u->clock / u->by[f] : rate / u->by[f];
}

void
family_scale(const struct family *f, const struct param_units *u, void *figures)
{
	struct datum *d = figures;

	for (int i = 0; i < f->n; i++)
		d[i].value = param_scaled(u, f->rows[i].form, d[i].value);
}

bool
calibration_own(const struct calibration *c, const char *section)
{
	return c && c->own && (!c->fitted || text_lists(c->fitted, section));
}
