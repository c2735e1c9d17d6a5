/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Write a calibration file: fitted values in readable units, with intervals. */
#include "db/tree.h"
#include "search/fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGIME_ROWS = 10 }; /* fewer do not determine a residual */

/* --- numbers --------------------------------------------------------------------------------------------- */

/* Units that a quantity is written in: the first whose number is at least 1. */
static const struct {
	enum quantity q;
	double scale;
	const char *unit;
} units[] = {
    {Q_RATE, 1e12, "TB/s"},
    {Q_RATE, 1e9, "GB/s"},
    {Q_RATE, 1e6, "MB/s"},
    {Q_SIZE, 1e9, "GB"},
    {Q_SIZE, 1e6, "MB"},
    {Q_SIZE, 1e3, "kB"},
    {Q_SIZE, 1, "B"},
    {Q_PEAK, 1e12, "TFLOP/s"},
    {Q_PEAK, 1e9, "GFLOP/s"},
    {Q_TIME, 1e-6, "us"},
    {Q_CLOCK, 1e9, "GHz"},
    {Q_CLOCK, 1e6, "MHz"},
    {Q_PER_CLOCK, 1, "B/clk"},
    {Q_CLOCKS, 1, "clk"},
    {Q_NUMBER, 1, ""},
    {Q_COUNT, 1, ""},
};

/* The number of `digits` digits with the unit that `like` has; *back is what it reads as. */
static const char *
quantity_text(struct arena *a, enum quantity q, double value, double like, int digits, double *back)
{
	size_t best = 0;
	bool any = false;
	char number[40];

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (units[i].q == q && (!any || fabs(like) < units[best].scale)) {
			best = i;
			any = true;
		}
	/* a share of nothing is nothing */
	if (q == Q_NUMBER && fabs(value) < 1e-5)
		value = 0;
	snprintf(number, sizeof number, "%.*g", digits, value / units[best].scale);
	if (strchr(number, 'e')) /* long enough without an exponent */
		snprintf(number, sizeof number, "%.*f", fabs(value / units[best].scale) < 1 ? digits + 4 : 0,
		    value / units[best].scale);
	*back = strtod(number, NULL) * units[best].scale;
	return arena_printf(a, "%s%s", number, any ? units[best].unit : "");
}

static const struct source nowhere = {NULL, 0, 0, NULL, false};

static const struct node *
list_of(struct arena *a, const struct node *first, const struct node *second)
{
	struct node *n = ARENA_NEW(a, struct node);

	n->kind = NODE_LIST;
	n->items = ARENA_ARRAY(a, const struct node *, 2);
	n->items[0] = first;
	n->items[1] = second;
	n->n = 2;
	n->weight = 3;
	return n;
}

static const struct node *
word(struct arena *a, const char *text)
{
	return tree_scalar(a, text, nowhere);
}

static const struct node *
number(struct arena *a, enum quantity q, double value, int digits)
{
	double back;

	return word(a, quantity_text(a, q, value, value, digits, &back));
}

/* [0.829, 0.821..0.836]; rounding may not push the value out. */
static const struct node *
param(struct arena *a, const struct fitted_param *p)
{
	double value, low, high;
	const char *text = quantity_text(a, p->unit, p->value, p->value, 4, &value);

	if (isnan(p->low) || isnan(p->high))
		return word(a, text);
	const char *low_text = quantity_text(a, p->unit, p->low, p->value, 4, &low);
	const char *high_text = quantity_text(a, p->unit, p->high, p->value, 4, &high);
	return list_of(a, word(a, text),
	    word(a, arena_printf(a, "%s..%s", low <= value ? low_text : text, high >= value ? high_text : text)));
}

/* --- fractions of other figures ---------------------------------------------------------------------------------- */

struct rebase {
	struct arena *arena;
	const struct node *from, *to;
};

static double
figure(const struct node *reference, const char *key, enum quantity q)
{
	const struct node *n = tree_get(reference, key);
	struct quantity_fault fault;
	double value;

	return n && n->kind == NODE_SCALAR && n->text && quantity_read(n->text, q, &value, &fault) ? value : NAN;
}

/* Factor for a number of this form: old over new reference, or 1 if either is missing. */
static double
ratio(const struct rebase *r, enum param_form form, const char *peak)
{
	const char *key = form_reference(form);
	const enum quantity q = form == FORM_OF_PEAK ? Q_PEAK
	    : form == FORM_OF_MEMORY                 ? Q_RATE
	    : form == FORM_OF_L2                     ? Q_SIZE
	                                             : Q_CLOCK;

	if (!key)
		return 1;
	if (form == FORM_OF_PEAK)
		key = peak;
	const double factor = figure(r->from, key, q) / figure(r->to, key, q);
	return !(factor > 0) ? 1 : form == FORM_IN_CLOCKS ? 1 / factor : factor;
}

/* 0.829 or 0.821..0.836, each number with its unit. */
static const struct node *
scaled(const struct rebase *r, const struct node *n, double factor)
{
	char text[160] = "";

	if (n->kind != NODE_SCALAR || !n->text)
		return n;
	for (const char *s = n->text; *s;) {
		const bool dots = strncmp(s, "..", 2) == 0;
		const char *end = strstr(s, "..");
		const size_t used = strlen(text), length = dots ? 2 : end ? (size_t)(end - s) : strlen(s);
		char piece[64], *unit;

		snprintf(piece, sizeof piece, "%.*s", (int)length, s);
		const double value = strtod(piece, &unit);
		if (dots || unit == piece)
			snprintf(text + used, sizeof text - used, "%s", piece);
		else
			snprintf(text + used, sizeof text - used, "%.5g%s", value * factor, unit);
		s += length;
	}
	return tree_scalar(r->arena, arena_text(r->arena, text), n->at);
}

static const struct node *
scaled_item(const struct rebase *r, const struct node *n, double factor)
{
	if (n->kind != NODE_LIST)
		return scaled(r, n, factor);
	struct node *list = ARENA_NEW(r->arena, struct node);
	*list = *n;
	list->items = ARENA_ARRAY(r->arena, const struct node *, n->n + 1);
	for (size_t i = 0; i < n->n; i++)
		list->items[i] = scaled(r, n->items[i], factor);
	return list;
}

static const struct node *
walk(const struct rebase *r, const struct node *map, const char *peak)
{
	const struct node *out = map;

	for (size_t i = 0; i < map->n; i++) {
		const char *key = map->keys[i]->text;
		const enum dtype t = dtype_find(key);

		if (map->items[i]->kind == NODE_MAP) {
			const char *own =
			    t == DTYPE_NONE ? peak : arena_printf(r->arena, "peak_%s", peak_name(dtype_peak(t)));
			out = tree_with(r->arena, out, key, walk(r, map->items[i], own));
			continue;
		}
		const struct param_row *row = param_find(key);
		const double factor = row ? ratio(r, row->form, peak) : 1;
		if (factor != 1)
			out = tree_with(r->arena, out, key, scaled_item(r, map->items[i], factor));
	}
	return out;
}

/* The file with its fractions restated for a new `relative_to`, so that the absolute rates stay as they are. */
static const struct node *
calibration_rebase(struct arena *a, const struct node *file, const struct node *relative_to)
{
	static const char *const sections[] = {"gemm", "gemm_by_dtype", "attention", "attention_by", "mla", "moe"};
	const struct rebase r = {a, tree_get(file, "relative_to"), relative_to};
	static const char *const packed[] = {"weight_only", "moe_weight_only"};

	if (!r.from)
		return file;
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		const struct node *n = tree_get(file, sections[i]);

		if (n && n->kind == NODE_MAP)
			file = tree_with(a, file, sections[i], walk(&r, n, "peak_bf16"));
	}
	/* weights of another type, products in 16 bits */
	for (size_t j = 0; j < sizeof packed / sizeof *packed; j++) {
		const struct node *n = tree_get(file, packed[j]);

		for (size_t i = 0; n && i < n->n; i++)
			if (n->items[i]->kind == NODE_MAP)
				file = tree_with(a, file, arena_printf(a, "%s.%s", packed[j], n->keys[i]->text),
				    walk(&r, n->items[i], "peak_bf16"));
	}
	return file;
}

/* --- sections -------------------------------------------------------------------------------------------- */

static const struct node *
with_number(struct arena *a, const struct node *map, const char *key, enum quantity q, double value, int digits)
{
	return isnan(value) ? map : tree_with(a, map, key, number(a, q, value, digits));
}

static const struct node *
with_percent(struct arena *a, const struct node *map, const char *key, double share)
{
	return isnan(share) ? map : tree_with(a, map, key, word(a, arena_printf(a, "%.1f%%", share * 100)));
}

static const struct node *
with_log(struct arena *a, const struct node *map, const char *key, double value)
{
	return isnan(value) ? map : tree_with(a, map, key, word(a, arena_printf(a, "%.3f", value)));
}

static const struct node *
errors(struct arena *a, const struct fitted_errors *e, bool all)
{
	const struct node *n = tree_map(a, nowhere);

	n = with_number(a, n, "n", Q_COUNT, e->n, 12);
	n = with_percent(a, n, "mape", e->mape);
	n = with_percent(a, n, "bias", e->bias);
	if (all) {
		n = with_log(a, n, "mean", e->mean);
		n = with_log(a, n, "sd", e->sd);
	}
	n = with_log(a, n, "q10", e->q10);
	return with_log(a, n, "q90", e->q90);
}

static const struct node *
residual(struct arena *a, const struct fitted_residual *r)
{
	const struct node *n = errors(a, &r->all, true), *by = tree_map(a, nowhere);

	for (int i = 0; i < r->n_regimes; i++)
		if (r->regimes[i].errors.n >= REGIME_ROWS)
			by = tree_with(a, by, r->regimes[i].name, errors(a, &r->regimes[i].errors, false));
	return by->n ? tree_with(a, n, "by", by) : n;
}

static const struct node *
section(struct arena *a, const struct fitted_class *c)
{
	const struct node *n = tree_map(a, nowhere);

	for (int i = 0; i < c->n_params; i++)
		n = tree_with(a, n, c->params[i].key, param(a, &c->params[i]));
	return n;
}

static const struct node *
relative_to(const struct fit_bench *b)
{
	const struct calibration *ref = b->reference;
	struct arena *a = b->arena;
	const struct node *n = tree_map(a, nowhere);
	static const enum peak peaks[] = {
	    PEAK_FP64, PEAK_FP64_TENSOR, PEAK_FP32, PEAK_TF32, PEAK_FP8, PEAK_INT8, PEAK_FP6, PEAK_FP4, PEAK_INT4};

	n = with_number(a, n, "peak_bf16", Q_PEAK, ref->ref_peak_flop_per_s.value, 6);
	for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
		if (datum_given(b->gpu->peak_flop_per_s[peaks[i]]))
			n = with_number(a, n, arena_printf(a, "peak_%s", peak_name(peaks[i])), Q_PEAK,
			    b->gpu->peak_flop_per_s[peaks[i]].value, 6);
	n = with_number(a, n, "hbm", Q_RATE, ref->ref_mem_byte_per_s.value, 6);
	n = with_number(a, n, "clock", Q_CLOCK, ref->ref_clock_hertz.value, 6);
	n = with_number(a, n, "l2", Q_SIZE, ref->ref_l2_byte.value, 9);
	n = with_number(a, n, "sms", Q_COUNT, ref->ref_n_sms.value, 6);
	return n;
}

static const char *
joined(struct arena *a, const char *list, const char *item)
{
	return list ? arena_printf(a, "%s, %s", list, item) : item;
}

/* List the parameters that the rows do not determine. */
static const char *
open_params(struct arena *a, const struct fitted *f)
{
	const char *list = NULL;

	for (int i = 0; i < f->n; i++)
		for (int j = 0; j < f->classes[i].n_params; j++)
			if (!f->classes[i].params[j].identified && !f->classes[i].params[j].taken)
				list = joined(
				    a, list, arena_printf(a, "%s.%s", f->classes[i].path, f->classes[i].params[j].key));
	return list;
}

static bool
is_fitted(const struct fitted *f, const char *key)
{
	const size_t length = strlen(key);

	for (int i = 0; i < f->n; i++) {
		const char *path = f->classes[i].path;

		if (path && !f->classes[i].refused && strncmp(path, key, length) == 0 &&
		    (path[length] == '\0' || path[length] == '.'))
			return true;
	}
	return false;
}

static const char *const sections[] = {"gemm", "gemm_by_dtype", "weight_only", "collective", "custom_all_reduce",
    "network", "attention", "attention_by", "mla", "moe", "moe_weight_only", "memory", "launch", "fma"};

/* Sections that were fitted: to these rows, or to earlier ones of the same machine. */
static const char *
fitted_sections(struct arena *a, const struct fitted *f, const struct node *before)
{
	const struct node *was = tree_get(before, "data.fitted");
	const char *list = NULL;

	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
		if (is_fitted(f, sections[i]) || (was && was->text && text_lists(was->text, sections[i])))
			list = list ? arena_printf(a, "%s %s", list, sections[i]) : sections[i];
	return list;
}

/* What an earlier fit could not tell of classes that this one leaves alone goes on being said. */
static const char *
open_before(struct arena *a, const struct fitted *f, const struct node *before, const char *list)
{
	const struct node *data = before ? tree_get(before, "data") : NULL, *was = data ? tree_get(data, "kept") : NULL;
	char *rest = arena_printf(a, "%s", was && was->text ? was->text : ""), *name;

	while ((name = strsep(&rest, ", ")))
		if (*name && strrchr(name, '.') &&
		    !is_fitted(f, arena_copy(a, name, (size_t)(strrchr(name, '.') - name))))
			list = joined(a, list, name);
	return list;
}

/* Sections that stay as they were. */
static const char *
kept_sections(struct arena *a, const struct fitted *f, const struct node *before)
{
	const char *list = NULL;

	for (size_t i = 0; before && i < sizeof sections / sizeof *sections; i++)
		if (tree_get(before, sections[i]) && !is_fitted(f, sections[i]))
			list = joined(a, list, sections[i]);
	return list;
}

static const struct node *
data_section(const struct fit_bench *b, const struct fitted *f, const struct calibration_about *about)
{
	struct arena *a = b->arena;
	const struct node *n = tree_map(a, nowhere);
	const char *open = open_before(a, f, about->before, open_params(a, f));
	const char *kept = kept_sections(a, f, about->before), *note = about->note;
	const char *fitted = fitted_sections(a, f, about->own ? about->before : NULL);
	int n_points = 0;

	for (int i = 0; i < f->n; i++)
		if (f->classes[i].path && !f->classes[i].refused)
			n_points += f->classes[i].n_fitted;
	n = tree_with(a, n, "source", word(a, about->source));
	if (n_points)
		n = with_number(a, n, "points", Q_COUNT, n_points, 12);
	if (about->date)
		n = tree_with(a, n, "date", word(a, about->date));
	if (kept)
		note = arena_printf(
		    a, "%s%sNot fitted to these rows, unchanged: %s.", note ? note : "", note ? " " : "", kept);
	if (note)
		n = tree_with(a, n, "note", word(a, note));
	if (fitted)
		n = tree_with(a, n, "fitted", word(a, fitted));
	if (open)
		n = tree_with(a, n, "kept", word(a, open));
	return n;
}

/* Keys in the usual order; sections of the old file that were not fitted are kept. */
static const struct node *
in_order(struct arena *a, const struct node *root)
{
	static const char *const order[] = {"format", "gpu", "fabric", "host", "backend", "relative_to", "data", "gemm",
	    "gemm_by_dtype", "weight_only", "collective", "custom_all_reduce", "network", "attention", "attention_by",
	    "mla", "moe", "moe_weight_only", "memory", "launch", "fma", "residual"};
	const struct node *out = tree_map(a, nowhere);

	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		const struct node *item = tree_get(root, order[i]);

		if (item)
			out = tree_with(a, out, order[i], item);
	}
	for (size_t i = 0; i < root->n; i++)
		if (!tree_get(out, root->keys[i]->text))
			out = tree_with(a, out, root->keys[i]->text, root->items[i]);
	return out;
}

char *
calibration_text(const struct fit_bench *b, const struct fitted *f, const struct calibration_about *about)
{
	struct arena *a = b->arena;
	const struct node *root = about->before ? about->before : tree_map(a, nowhere);
	const struct node *reference = b->gpu ? relative_to(b) : NULL;

	root = tree_with(a, root, "format", word(a, "1"));
	root = tree_with(a, root, b->gpu ? "gpu" : "host", word(a, b->gpu ? b->gpu->id : about->host));
	if (b->backend)
		root = tree_with(a, root, "backend", word(a, b->backend));
	if (reference)
		root = tree_with(a, calibration_rebase(a, root, reference), "relative_to", reference);
	root = tree_with(a, root, "data", data_section(b, f, about));
	for (int i = 0; i < f->n; i++) {
		const struct fitted_class *c = &f->classes[i];

		if (c->refused)
			continue;
		if (c->path)
			root = tree_with(a, root, c->path, section(a, c));
		if (c->residual_name && c->residual.all.n)
			root = tree_with(
			    a, root, arena_printf(a, "residual.%s", c->residual_name), residual(a, &c->residual));
	}
	return arena_printf(a, "# %s%s%s: parameters fitted to measured kernels by ridge calibrate.\n%s", about->name,
	    b->backend ? " under " : "", b->backend ? b->backend : "", calibration_layout(a, in_order(a, root)));
}
