/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ask/data/data.h"

#include "cli/cli.h"

#include "model/calc/calc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct datum one = {1, {"default", 0, 0, NULL, false}};

/* A bare rate reads and writes alike. */
static bool
read_rate(struct run *r, struct word text, struct tier *out)
{
	struct quantity_fault fault;
	double rate = 1;

	if (!quantity_read(text.text, Q_RATE, &rate, &fault) || rate <= 0) {
		diag_error(
		    r->diag, text.from, "storage: %s", rate <= 0 ? "the rate must be greater than 0" : fault.what);
		diag_hint(r->diag, "write 3GB/s, or a database name: nvme-gen4, 4xnvme-gen4");
		return false;
	}
	if (!bounds_check(r->diag, text.from, "storage", Q_RATE, rate))
		return false;
	const struct datum d = {rate, text.from};
	*out = (struct tier){text.text, one, d, d};
	return true;
}

/* `4xnvme-gen4`: four of them, striped. */
static const char *
take_units(const char *text, struct source from, struct datum *n)
{
	char *end;
	const double value = strtod(text, &end);

	*n = one;
	if (!isdigit((unsigned char)*text) || *end != 'x' || value < 1)
		return text;
	*n = (struct datum){value, from};
	return end + 1;
}

bool
tier_read(struct run *r, struct word text, struct tier *out)
{
	struct datum n;
	const char *name = take_units(text.text, text.from, &n);

	run_read_from(r, text.from);
	if (!bounds_check(r->diag, text.from, "units of storage", Q_COUNT, n.value))
		return false;
	if (name == text.text && (isdigit((unsigned char)*name) || *name == '.'))
		return read_rate(r, text, out);
	const struct link *link = run_link(r, (struct word){name, text.from});
	if (!link)
		return false;
	if (!datum_given(link->read_byte_per_s)) {
		diag_error(r->diag, text.from, "%s is not a storage link", link->name);
		diag_hint(r->diag, "use a link of kind storage, such as nvme-gen4, or a rate: 3GB/s");
		return false;
	}
	*out = (struct tier){text.text, n, link->read_byte_per_s, link->write_byte_per_s};
	return true;
}

double
tier_show(struct run *r, const struct tier *t)
{
	struct sheet *sh = r->sheet;

	TELL(sh, tier, t->name);
	TAKE(sh, n_units, t->n_units);
	TAKE(sh, unit_byte_per_s, t->read);
	CALL(sh, read_byte_per_s, data_units(sh, n_units, unit_byte_per_s));
	if (n_units == 1)
		SHOW(sh, unit_byte_per_s, byte_per_s); /* carries the mark of what no source confirms */
	else
		SHOW(sh, read_byte_per_s, byte_per_s);
	return read_byte_per_s;
}

double
tier_write(struct run *r, const struct tier *t)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, unit_write_byte_per_s, t->write);
	TAKE(sh, n_writing_units, t->n_units);
	CALL(sh, write_byte_per_s, data_units(sh, n_writing_units, unit_write_byte_per_s));
	return write_byte_per_s;
}
