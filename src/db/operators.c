/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A list of operators with arithmetic over named numbers.  The list holds for one sample; what it is for more is a
 * straight line in `batch`, found by evaluating each dimension for 1, 2 and 3 samples.
 */
#include "db/parts.h"

#include "base/base.h"
#include "model/layer/layer.h"

#include <string.h>

enum { MAX_SYMBOLS = 64 };

struct symbols {
	size_t n;
	const char *names[MAX_SYMBOLS];
	double values[MAX_SYMBOLS];
};

static bool
find(const void *context, const char *name, struct formula_value *out)
{
	const struct symbols *s = context;

	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->names[i], name) == 0) {
			*out = (struct formula_value){.value = s->values[i]};
			return true;
		}
	return false;
}

/* `batch` is the first symbol. */
static bool
read_symbols(struct binder *b, const struct node *map, struct symbols *s)
{
	bool ok = true;

	s->n = 1;
	s->names[0] = "batch";
	s->values[0] = 1;
	if (!map)
		return true;
	if (map->kind != NODE_MAP || map->n >= MAX_SYMBOLS) {
		diag_error(b->diag, map->at, "'symbols' is a map of at most %d names", MAX_SYMBOLS - 1);
		return false;
	}
	for (size_t i = 0; i < map->n; i++) {
		struct datum d;
		if (strcmp(map->keys[i]->text, "batch") == 0) {
			diag_error(b->diag, map->keys[i]->at, "'batch' is always defined");
			ok = false;
			continue;
		}
		ok = schema_quantity(b, map->items[i], Q_NUMBER, 0, 1e15, &d) && ok;
		s->names[s->n] = map->keys[i]->text;
		s->values[s->n++] = d.value;
	}
	return ok;
}

static bool
evaluate(struct binder *b, const struct node *n, const struct symbols *s, double *out)
{
	struct formula_value v;
	struct formula_fault fault;

	if (n->kind != NODE_SCALAR || !n->text) {
		diag_error(b->diag, n->at, "expected a number or a product of numbers and symbols");
		return false;
	}
	if (!formula_evaluate(n->text, (struct formula_names){find, s}, &v, &fault)) {
		struct source at = n->at;
		if (!n->quoted)
			at.column += fault.column - 1;
		diag_error(b->diag, at, "%s", fault.what);
		return false;
	}
	if (!isfinite(v.value) || v.value < 0) {
		diag_error(b->diag, n->at, "'%s' is %g: a dimension must be positive", n->text, v.value);
		return false;
	}
	*out = v.value;
	return true;
}

/* Value for one sample, and what each sample more adds. */
static bool
read_dimension(struct binder *b, const struct node *n, struct symbols *s, double *one, double *more)
{
	double at[3] = {0, 0, 0};

	for (int batch = 1; batch <= 3; batch++) {
		s->values[0] = batch;
		const bool ok = evaluate(b, n, s, &at[batch - 1]);
		s->values[0] = 1;
		if (!ok)
			return false;
	}
	*one = at[0];
	*more = at[1] - at[0];
	if (fabs(at[2] - at[1] - *more) <= 1e-9 * fmax(fabs(at[2]), 1))
		return true;
	diag_error(b->diag, n->at, "'%s' is not linear in the batch", n->text);
	diag_hint(b->diag, "a dimension is a constant, or a constant times 'batch', or their sum");
	return false;
}

static int
dimension_find(enum op_kind kind, const char *key)
{
	for (int i = 0; op_dim_name(kind, i); i++)
		if (strcmp(op_dim_name(kind, i), key) == 0)
			return i;
	return -1;
}

static bool
unknown_dimension(struct binder *b, enum op_kind kind, const struct node *key)
{
	const char *names[16] = {"op", "name", "count", "params"};
	size_t n = 4;

	for (int i = 0; op_dim_name(kind, i) && n < 16; i++)
		names[n++] = op_dim_name(kind, i);
	diag_error(b->diag, key->at, "%s has no key '%s'", op_kind_name(kind), key->text);
	const char *near = text_nearest(key->text, names, n);
	if (near)
		diag_hint(b->diag, "did you mean '%s'?", near);
	else {
		char list[200] = "";
		for (size_t i = 0; i < n; i++) {
			strcat(list, names[i]);
			strcat(list, i + 1 < n ? " " : "");
		}
		diag_hint(b->diag, "its keys: %s", list);
	}
	return false;
}

static bool
read_kind(struct binder *b, const struct node *map, struct op *op)
{
	const struct node *kind = tree_get(map, "op");

	if (!kind || kind->kind != NODE_SCALAR || !kind->text) {
		diag_error(b->diag, kind ? kind->at : map->at, "an operator needs the key 'op'");
		return false;
	}
	op->kind = op_kind_find(kind->text);
	if (op->kind != OP_NONE)
		return true;
	const char *names[N_OP_KINDS];
	for (int i = 0; i < N_OP_KINDS; i++)
		names[i] = op_kind_name((enum op_kind)i);
	diag_error(b->diag, kind->at, "'%s' is not an operator", kind->text);
	const char *near = text_nearest(kind->text, names, N_OP_KINDS);
	if (near)
		diag_hint(b->diag, "did you mean '%s'?", near);
	else
		diag_hint(b->diag, "ridge help roofline lists them");
	return false;
}

/* Defaults may name an earlier dimension, so its growth comes along. */
static bool
fill(struct binder *b, const struct node *map, struct op *op)
{
	struct op next = *op;

	for (int i = 0; op_dim_name((enum op_kind)op->kind, i); i++)
		next.dim[i] = op->dim[i] + op->per_batch[i];
	const int missing = op_fill(op);
	if (missing >= 0) {
		diag_error(b->diag, map->at, "%s needs the key '%s'", op_kind_name((enum op_kind)op->kind),
		    op_dim_name((enum op_kind)op->kind, missing));
		return false;
	}
	op_fill(&next);
	for (int i = 0; op_dim_name((enum op_kind)op->kind, i); i++)
		op->per_batch[i] = next.dim[i] - op->dim[i];
	return true;
}

static bool
read_operator(struct binder *b, const struct node *map, struct symbols *s, struct op *op)
{
	bool ok = true;

	*op = (struct op){.count = 1, .elem_byte = 2, .from = map->at};
	if (map->kind != NODE_MAP) {
		diag_error(b->diag, map->at, "write an operator as {op: gemm, m: , n: , k: }");
		return false;
	}
	if (!read_kind(b, map, op))
		return false;
	const enum op_kind kind = (enum op_kind)op->kind;
	op->name = op_kind_name(kind);
	for (int i = 0; op_dim_name(kind, i); i++)
		op->dim[i] = NAN;
	for (size_t i = 0; i < map->n; i++) {
		const struct node *key = map->keys[i], *value = map->items[i];
		const int d = dimension_find(kind, key->text);
		if (d >= 0)
			ok = read_dimension(b, value, s, &op->dim[d], &op->per_batch[d]) && ok;
		else if (strcmp(key->text, "name") == 0 && value->kind == NODE_SCALAR && value->text)
			op->name = value->text;
		else if (strcmp(key->text, "count") == 0)
			ok = evaluate(b, value, s, &op->count) && ok;
		else if (strcmp(key->text, "params") == 0)
			ok = evaluate(b, value, s, &op->extra_params) && ok;
		else if (strcmp(key->text, "op") != 0)
			ok = unknown_dimension(b, kind, key) && ok;
	}
	return ok && fill(b, map, op);
}

bool
operators_bind(struct binder *b, const struct node *root, struct workload *out)
{
	static const char *const others[] = {"layers", "hidden", "attention", "mamba", "delta", "kda", "mlp", "moe",
	    "blocks", "encoder", "quantisation"};
	const struct node *list = tree_get(root, "operators");
	struct symbols symbols;

	if (list->kind != NODE_LIST || list->n == 0) {
		diag_error(b->diag, list->at, "'operators' needs at least one operator");
		return false;
	}
	bool ok = read_symbols(b, tree_get(root, "symbols"), &symbols);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (tree_get(root, others[i])) {
			diag_error(b->diag, tree_get(root, others[i])->at, "'%s' does not apply to a list of operators",
			    others[i]);
			ok = false;
		}
	out->kind = MODEL_OPERATORS;
	out->n_ops = (int)list->n;
	out->ops = ARENA_ARRAY(b->arena, struct op, list->n);
	for (size_t i = 0; i < list->n; i++)
		ok = read_operator(b, list->items[i], &symbols, &out->ops[i]) && ok;
	return ok;
}
