/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read and check values that commands parse themselves. */
#include "cli/cli.h"

bool
run_refuse(struct run *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

bool
run_value(struct run *r, struct source at, const char *text, enum quantity q, struct datum *out)
{
	struct quantity_fault fault;

	*out = (struct datum){NAN, at};
	run_read_from(r, at);
	if (quantity_read(text, q, &out->value, &fault)) {
		if (out->value > 0)
			return bounds_check(r->diag, at, text, q, out->value);
		diag_error(r->diag, at, "'%s' must be greater than 0", text);
		diag_hint(r->diag, "leave it out, or give a positive value");
		return false;
	}
	diag_error(r->diag, at, "%s", fault.what);
	if (fault.hint[0])
		diag_hint(r->diag, "%s", fault.hint);
	return false;
}

bool
run_positive(struct run *r, const char *option, struct datum d)
{
	if (!datum_given(d) || d.value > 0)
		return true;
	diag_error(r->diag, d.from, "%s must be greater than 0", option);
	diag_hint(r->diag, "leave %s out if it does not matter here", option);
	return false;
}

bool
run_fraction(struct run *r, const char *option, struct datum d)
{
	if (!datum_given(d) || (d.value >= 0 && d.value <= 1))
		return true;
	diag_error(r->diag, d.from, "%s must be between 0 and 1", option);
	diag_hint(r->diag, "write 0.85 or 85%%");
	return false;
}

bool
run_inside(struct run *r, const char *option, struct datum d)
{
	if (!datum_given(d) || (d.value > 0 && d.value < 1))
		return true;
	diag_error(r->diag, d.from, "%s must be above 0 and below 1", option);
	diag_hint(r->diag, "write 0.85 or 85%%");
	return false;
}
