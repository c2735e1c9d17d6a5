/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ask/roofline/roofline.h"

#include <math.h>
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
		diag_hint(r->diag, "use %s", list);
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

/* Shapes that cannot be. */
static bool
check_shape(struct run *r, const struct op_in *in, const struct op *op)
{
	static const struct {
		int kind;
		const char *small, *large;
		bool divides; /* else it is at most as large */
	} rules[] = {
	    {OP_attention, "kv", "h", true},
	    {OP_attention, "seen", "c", false},
	    {OP_attention_latent, "seen", "c", false},
	    {OP_index_scores, "seen", "c", false},
	    {OP_conv2d, "r", "h", false},
	    {OP_conv2d, "s", "w", false},
	    {OP_conv2d, "groups", "c", true},
	    {OP_conv2d, "groups", "k", true},
	    {OP_pool, "r", "h", false},
	    {OP_pool, "s", "w", false},
	    {OP_ssm_scan, "g", "h", true},
	    {OP_ssm_step, "g", "h", true},
	    {OP_delta_scan, "g", "h", true},
	    {OP_delta_step, "g", "h", true},
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		double small = NAN, large = NAN;
		for (int k = 0; rules[i].kind == op->kind && op_dim_name((enum op_kind)op->kind, k); k++) {
			const char *name = op_dim_name((enum op_kind)op->kind, k);
			small = strcmp(name, rules[i].small) == 0 ? op->dim[k] : small;
			large = strcmp(name, rules[i].large) == 0 ? op->dim[k] : large;
		}
		if (isnan(small) || (rules[i].divides ? fmod(large, small) == 0 : small <= large))
			continue;
		diag_error(r->diag, given(in, rules[i].small).from,
		    rules[i].divides ? "%s: --%s %g does not divide --%s %g" : "%s: --%s %g is more than --%s %g",
		    op->name, rules[i].small, small, rules[i].large, large);
		diag_hint(r->diag, "change one of them");
		return false;
	}
	return true;
}

bool
run_op(struct run *r, enum op_kind kind, const struct op_in *in, double elem_byte, struct op *out)
{
	*out = (struct op){.kind = kind, .name = op_kind_name(kind), .count = 1, .elem_byte = elem_byte};
	if (!check_strangers(r, kind, in))
		return false;
	for (int i = 0; op_dim_name(kind, i); i++) {
		const struct datum d = given(in, op_dim_name(kind, i));
		run_read_from(r, d.from);
		out->dim[i] = d.value;
		/* operands may be none, everything else is at least one */
		if (datum_given(d) && !(d.value > 0) && strcmp(op_dim_name(kind, i), "reads") != 0 &&
		    strcmp(op_dim_name(kind, i), "writes") != 0 && strcmp(op_dim_name(kind, i), "flops") != 0) {
			diag_error(r->diag, d.from, "%s: '%s' must be greater than 0", op_kind_name(kind),
			    path_of(op_dim_name(kind, i)));
			diag_hint(r->diag, "write for example 64");
			return false;
		}
	}
	const int missing = op_fill(out);
	if (missing < 0)
		return check_shape(r, in, out);
	char list[200];
	dimensions_of(kind, list, sizeof list);
	diag_error(
	    r->diag, (struct source){0}, "%s needs --%s", op_kind_name(kind), path_of(op_dim_name(kind, missing)));
	diag_hint(r->diag, "its dimensions are %s", list);
	return false;
}
