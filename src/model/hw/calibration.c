/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibration parameters as table rows: convert shares to rates, and rates of one GPU to another's. */
#include "base/base.h"
#include "model/hw/hw.h"

#include <string.h>

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
#include "model/hw/form.def"
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
