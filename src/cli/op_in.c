/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/op_in.h"

#include <stdio.h>
#include <string.h>

#define THIS struct op_in
static const struct option op_options[] = {OP_OPTIONS(OPTION_ROW)};
#undef THIS
const struct option_group op_group = OPTION_GROUP(op_options, 0);

enum { N_OPTIONS = sizeof op_options / sizeof *op_options };

/* `--flops` is the work of a bare point; the FLOP of one element have a name of their own. */
static const char *
path_of(const char *dim)
{
	return strcmp(dim, "flops") == 0 ? "per_element" : dim;
}

static struct datum
given(const struct op_in *in, const char *dim)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (strcmp(op_options[i].path, path_of(dim)) == 0)
			return *(const struct datum *)(const void *)((const char *)in + op_options[i].offset);
	return datum_absent();
}

static bool
has_dimension(enum op_kind kind, const char *path)
{
	for (int i = 0; op_dim_name(kind, i); i++)
		if (strcmp(path_of(op_dim_name(kind, i)), path) == 0)
			return true;
	return false;
}

static void
dimensions_of(enum op_kind kind, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (int i = 0; op_dim_name(kind, i) && n < size; i++) {
		const char *otherwise = op_dim_default(kind, i);
		n += (size_t)snprintf(buf + n, size - n, "%s%s--%s%s", i ? " " : "", otherwise ? "[" : "",
		    path_of(op_dim_name(kind, i)), otherwise ? "]" : "");
	}
	for (char *p = buf; *p; p++)
		if (*p == '_')
			*p = '-';
}

static bool
check_strangers(struct run *r, enum op_kind kind, const struct op_in *in)
{
	bool ok = true;

	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct datum d = *(const struct datum *)(const void *)((const char *)in + op_options[i].offset);
		if (!datum_given(d) || has_dimension(kind, op_options[i].path))
			continue;
		char list[200];
		dimensions_of(kind, list, sizeof list);
		diag_error(r->diag, d.from, "%s has no dimension '%s'", op_kind_name(kind), op_options[i].path);
		diag_hint(r->diag, "it has %s", list);
		ok = false;
	}
	return ok;
}

bool
op_given(const struct op_in *in)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (datum_given(*(const struct datum *)(const void *)((const char *)in + op_options[i].offset)))
			return true;
	return false;
}

bool
run_op(struct run *r, enum op_kind kind, const struct op_in *in, double elem_byte, struct op *out)
{
	*out = (struct op){.kind = kind, .name = op_kind_name(kind), .count = 1, .elem_byte = elem_byte};
	if (!check_strangers(r, kind, in))
		return false;
	for (int i = 0; op_dim_name(kind, i); i++) {
		const struct datum d = given(in, op_dim_name(kind, i));
		out->dim[i] = d.value;
		/* operands may be none, everything else is at least one */
		if (datum_given(d) && !(d.value > 0) && strcmp(op_dim_name(kind, i), "reads") != 0 &&
		    strcmp(op_dim_name(kind, i), "writes") != 0 && strcmp(op_dim_name(kind, i), "flops") != 0) {
			diag_error(r->diag, d.from, "%s of nothing: '%s' must be above 0", op_kind_name(kind),
			    path_of(op_dim_name(kind, i)));
			diag_hint(r->diag, "write for example 64");
			return false;
		}
	}
	const int missing = op_fill(out);
	if (missing < 0)
		return true;
	char list[200];
	dimensions_of(kind, list, sizeof list);
	diag_error(
	    r->diag, (struct source){0}, "%s needs --%s", op_kind_name(kind), path_of(op_dim_name(kind, missing)));
	diag_hint(r->diag, "its dimensions: %s", list);
	return false;
}
