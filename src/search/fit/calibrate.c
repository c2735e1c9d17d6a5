/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fit everything that was measured on one GPU, and warn of implausible results. */
#include "search/fit/fit.h"

#include "db/tree.h"
#include "search/fit/fit.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- calibrate layout ---------------------------------------------------------------------------------------- */

/*
 * A calibration as YAML in the form that people read it in: sections in blocks, each entry a flow map that goes on in
 * lines of its own.
 */

enum { WIDTH = 118 };

struct page {
	struct arena *arena;
	char *text;
	size_t length, room, column, indent;
};

static void
put(struct page *p, const char *text)
{
	const size_t n = strlen(text);

	if (p->length + n + 1 > p->room) {
		p->room = 2 * (p->length + n + 1);
		p->text = arena_grow(p->arena, p->text, p->length, p->room, 1);
	}
	memcpy(p->text + p->length, text, n + 1);
	p->length += n;
	p->column += n;
}

static void
new_line(struct page *p, size_t indent)
{
	put(p, "\n");
	for (size_t i = 0; i < indent; i++)
		put(p, " ");
	p->column = indent;
}

/* Quote text that YAML would read as something else. */
static bool
needs_quotes(const char *text)
{
	const size_t n = strlen(text);

	return n == 0 || strpbrk(text, ",[]{}#&*!|>'\"%@`\n") == text || strpbrk(text, ",[]{}\"\n") ||
	    strstr(text, ": ") || strstr(text, " #") || text[n - 1] == ':' || text[0] == ' ' || text[n - 1] == ' ' ||
	    text[0] == '?' || (text[0] == '-' && !isdigit((unsigned char)text[1])) || text[0] == ':';
}

/* A double-quoted text may go on in the next line: the break counts as one blank. */
static void
put_text(struct page *p, const char *text)
{
	if (!needs_quotes(text)) {
		put(p, text);
		return;
	}
	put(p, "\"");
	for (const char *s = text; *s;) {
		const size_t n = strcspn(s + 1, " ") + 1;
		const bool blank = *s == ' ' && n > 1;
		char *word = arena_copy(p->arena, s + blank, n - blank);

		if (blank && p->column + n + 2 > WIDTH)
			new_line(p, p->indent);
		else if (blank)
			put(p, " ");
		for (char *c = word; *c; c++) {
			const char one[3] = {
			    *c == '"' || *c == '\\' ? '\\' : *c, *c == '"' || *c == '\\' ? *c : '\0', 0};
			put(p, one);
		}
		s += n;
	}
	put(p, "\"");
}

static size_t
flow_length(const struct node *n)
{
	size_t length = 2;

	if (n->kind == NODE_SCALAR)
		return n->text ? strlen(n->text) + 2 * needs_quotes(n->text) : 4;
	for (size_t i = 0; i < n->n; i++)
		length += flow_length(n->items[i]) + 2 + (n->kind == NODE_MAP ? strlen(n->keys[i]->text) + 2 : 0);
	return length;
}

static void
put_flow(struct page *p, const struct node *n)
{
	if (n->kind == NODE_SCALAR) {
		put_text(p, n->text ? n->text : "null");
		return;
	}
	put(p, n->kind == NODE_MAP ? "{" : "[");
	for (size_t i = 0; i < n->n; i++) {
		const size_t key = n->kind == NODE_MAP ? strlen(n->keys[i]->text) + 2 : 0;
		const bool text = n->items[i]->kind == NODE_SCALAR;
		size_t length = key + flow_length(n->items[i]) + 1;

		/* long texts break inside, maps at their entries */
		if (length > WIDTH - p->indent && text)
			length = key + 20;
		if (i && p->column + 1 + length > WIDTH)
			new_line(p, p->indent);
		else if (i)
			put(p, " ");
		if (key) {
			put_text(p, n->keys[i]->text);
			put(p, ": ");
		}
		put_flow(p, n->items[i]);
		if (i + 1 < n->n)
			put(p, ",");
	}
	put(p, n->kind == NODE_MAP ? "}" : "]");
}

static bool
holds_maps(const struct node *n)
{
	for (size_t i = 0; n->kind == NODE_MAP && i < n->n; i++)
		if (n->items[i]->kind == NODE_MAP)
			return true;
	return false;
}

char *
calibration_layout(struct arena *a, const struct node *root)
{
	struct page p = {.arena = a};

	for (size_t i = 0; i < root->n; i++) {
		const struct node *n = root->items[i];

		put(&p, root->keys[i]->text);
		put(&p, ":");
		if (!holds_maps(n)) {
			p.indent = 2;
			put(&p, " ");
			put_flow(&p, n);
			new_line(&p, 0);
			continue;
		}
		for (size_t j = 0; j < n->n; j++) {
			new_line(&p, 2);
			p.indent = 4;
			put_text(&p, n->keys[j]->text);
			put(&p, ": ");
			put_flow(&p, n->items[j]);
		}
		new_line(&p, 0);
	}
	put(&p, "");
	return p.text;
}

/* --- fitted -------------------------------------------------------------------------------------------------- */

/* Shared by all fits: folds, held-out errors, and the list of classes. */

enum { FEW_ROWS = 100, MANY_ROWS = 400 };

struct fitted_class *
fitted_add(const struct fit_bench *b, struct fitted *out, const char *path, const char *residual)
{
	if (out->n == out->n_room) {
		const int room = out->n_room ? 2 * out->n_room : 8;

		out->classes = arena_grow(b->arena, out->classes, (size_t)out->n, (size_t)room, sizeof *out->classes);
		out->n_room = room;
	}
	struct fitted_class *c = &out->classes[out->n++];
	*c = (struct fitted_class){.path = path, .residual_name = residual};
	return c;
}

/* FNV-1a over the numbers' bytes, then a finaliser so that each bit depends on all (Appleby's murmur3). */
unsigned
fit_hash(const double *numbers, int n)
{
	uint64_t h = 14695981039346656037U;

	for (int i = 0; i < n; i++) {
		unsigned char bytes[sizeof *numbers];
		const double x = numbers[i] == 0 ? 0 : numbers[i]; /* one zero, not two */

		memcpy(bytes, &x, sizeof bytes);
		for (size_t j = 0; j < sizeof bytes; j++)
			h = (h ^ bytes[j]) * 1099511628211U;
	}
	h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdU;
	h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53U;
	return (unsigned)(h >> 33);
}

/* --- errors ---------------------------------------------------------------------------------------------- */

struct weighed {
	double value, weight;
};

static int
by_value(const void *a, const void *b)
{
	const double x = ((const struct weighed *)a)->value, y = ((const struct weighed *)b)->value;

	return (x > y) - (x < y);
}

/* The value below which a share q of the weight lies: linear between the middles of neighbors' weights. */
static double
weighed_quantile(const struct weighed *sorted, int n, double total, double q)
{
	double below = 0, at = 0;

	for (int i = 0; i < n; i++) {
		const double middle = (below + sorted[i].weight / 2) / total;

		if (middle >= q)
			return i ? sorted[i - 1].value +
			        (sorted[i].value - sorted[i - 1].value) * (q - at) / fmax(middle - at, 1e-300)
			         : sorted[i].value;
		below += sorted[i].weight;
		at = middle;
	}
	return n ? sorted[n - 1].value : NAN;
}

struct fitted_errors
fitted_errors_of(struct arena *a, int n, const double *predicted_s, const double *measured_s, const double *weight)
{
	struct weighed *ratio = ARENA_ARRAY(a, struct weighed, n + 1), *ape = ARENA_ARRAY(a, struct weighed, n + 1);
	struct fitted_errors e = {0, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	double total = 0, sum_ape = 0, sum_bias = 0, sum_log = 0, sum_square = 0;

	for (int i = 0; i < n; i++) {
		const double w = weight ? weight[i] : 1, p = predicted_s[i], m = measured_s[i];

		if (isnan(p) || !(w > 0))
			continue;
		const double log_ratio = log(m / p);
		ratio[e.n] = (struct weighed){log_ratio, w};
		ape[e.n++] = (struct weighed){fabs(p / m - 1), w};
		total += w;
		sum_ape += w * fabs(p / m - 1);
		sum_bias += w * (p / m - 1);
		sum_log += w * log_ratio;
		sum_square += w * log_ratio * log_ratio;
	}
	if (!e.n)
		return e;
	qsort(ratio, (size_t)e.n, sizeof *ratio, by_value);
	qsort(ape, (size_t)e.n, sizeof *ape, by_value);
	e.mape = sum_ape / total;
	e.median_ape = weighed_quantile(ape, e.n, total, 0.5);
	e.bias = sum_bias / total;
	e.mean = sum_log / total;
	e.sd = sqrt(fmax(0, sum_square / total - e.mean * e.mean));
	e.q10 = weighed_quantile(ratio, e.n, total, 0.1);
	e.q90 = weighed_quantile(ratio, e.n, total, 0.9);
	return e;
}

static void
add_regimes(struct arena *a, const struct fit_problem *p, const double *predicted_s, const char *const *regime,
    struct fitted_residual *out)
{
	double *part = ARENA_ARRAY(a, double, p->n_rows + 1);

	for (int i = 0; i < p->n_rows; i++) {
		int r = 0;

		if (!regime[i] || isnan(predicted_s[i]))
			continue;
		while (r < out->n_regimes && strcmp(out->regimes[r].name, regime[i]) != 0)
			r++;
		if (r == out->n_regimes && r < FITTED_REGIMES_MAX)
			out->regimes[out->n_regimes++].name = regime[i];
	}
	for (int r = 0; r < out->n_regimes; r++) {
		for (int i = 0; i < p->n_rows; i++)
			part[i] = regime[i] && strcmp(regime[i], out->regimes[r].name) == 0 ? predicted_s[i] : NAN;
		out->regimes[r].errors = fitted_errors_of(a, p->n_rows, part, p->measured_s, p->weight);
	}
}

/* --- folds ----------------------------------------------------------------------------------------------- */

static bool
takes_part(const struct fit_problem *p, int row)
{
	return (!p->keep || p->keep[row]) && p->measured_s[row] > 0;
}

static int
count(const struct fit_problem *p)
{
	int n = 0;

	for (int i = 0; i < p->n_rows; i++)
		n += takes_part(p, i);
	return n;
}

/* Whether one fold would have all rows: those of a single model, or of two that happen to fall together. */
static bool
falls_together(const struct fit_problem *p, const unsigned *hash, unsigned n_folds)
{
	int first = -1;

	for (int i = 0; i < p->n_rows; i++) {
		first = first < 0 && takes_part(p, i) ? i : first;
		if (takes_part(p, i) && hash[i] % n_folds != hash[first] % n_folds)
			return false;
	}
	return true;
}

/* Folds keep out what has one hash together; where that is everything, row by row. */
bool
fitted_cross(const struct fit_bench *b, const struct fit_problem *problem, const unsigned *hash, double *predicted_s,
    double *last)
{
	const int n = count(problem), n_folds = n < FEW_ROWS ? 5 : n < MANY_ROWS ? 3 : 2;
	const bool by_row = falls_together(problem, hash, (unsigned)n_folds);
	unsigned char *keep = ARENA_ARRAY(b->arena, unsigned char, problem->n_rows + 1);
	struct fit_problem part = *problem;
	struct fit_result found;

	part.keep = keep;
	for (int i = 0; i < problem->n_rows; i++)
		predicted_s[i] = NAN;
	for (int fold = 0; fold < n_folds; fold++) {
		for (int i = 0; i < problem->n_rows; i++)
			keep[i] = takes_part(problem, i) &&
			    (int)((by_row ? (unsigned)i : hash[i]) % (unsigned)n_folds) != fold;
		if (!fit_run(&part, 0, &found))
			return false;
		for (int j = 0; j < problem->n_params; j++)
			last[j] = found.param[j].value;
		for (int i = 0; i < problem->n_rows; i++)
			if (takes_part(problem, i) && !keep[i])
				predicted_s[i] = problem->predict(problem->context, last, i);
	}
	return true;
}

bool
fitted_run(const struct fit_bench *b, const struct fit_problem *problem, const enum quantity *units,
    const unsigned *hash, const char *const *regime, int n_needed, struct fitted_class *out)
{
	double *predicted_s = ARENA_ARRAY(b->arena, double, problem->n_rows + 1), last[FIT_PARAMS_MAX];
	struct fit_problem whole = *problem;
	struct fit_result found;
	const int n = count(problem);
	size_t n_starts = 0;

	out->n_params = 0;
	out->n_fitted = n;
	if (n < n_needed || !fitted_cross(b, problem, hash, predicted_s, last)) {
		out->refused = arena_printf(
		    b->arena, "%d row%s, %d needed", n, n == 1 ? "" : "s", n < n_needed ? n_needed : n + 1);
		return false;
	}
	while (n_starts + 1 < sizeof whole.start / sizeof *whole.start && whole.start[n_starts])
		n_starts++;
	whole.start[n_starts] = last;
	if (!fit_run(&whole, b->n_bootstrap, &found)) {
		out->refused = "the rows do not determine the parameters";
		return false;
	}
	for (int j = 0; j < problem->n_params; j++) {
		const struct fit_value *v = &found.param[j];

		out->params[out->n_params++] = (struct fitted_param){problem->params[j].name, units[j], v->value,
		    v->low, v->high, v->identified, problem->params[j].fixed};
	}
	out->n_fitted = found.n_fitted;
	out->residual.all =
	    fitted_errors_of(b->arena, problem->n_rows, predicted_s, problem->measured_s, problem->weight);
	if (regime)
		add_regimes(b->arena, problem, predicted_s, regime, &out->residual);
	return true;
}

static struct datum
first_of(struct datum a, struct datum b, struct datum c)
{
	return datum_given(a) ? a : datum_given(b) ? b : c;
}

struct datum
calibrate_clock(const struct gpu *gpu)
{
	struct datum nominal = datum_absent();

	/* a clock that nobody published only names the unit of two parameters */
	nominal.value = 1.9e9;
	return first_of(gpu->clock_tensor_hertz, gpu->clock_max_hertz, nominal);
}

struct calibration
calibrate_reference(const struct gpu *gpu)
{
	struct calibration c;
	struct datum none = datum_absent();

	memset(&c, 0, sizeof c);
	c.ref_peak_flop_per_s = c.ref_mem_byte_per_s = c.ref_clock_hertz = c.ref_l2_byte = c.ref_n_sms = none;
	if (!gpu)
		return c;
	c.ref_peak_flop_per_s = first_of(gpu->peak_flop_per_s[PEAK_BF16], gpu->peak_flop_per_s[PEAK_FP16], none);
	c.ref_mem_byte_per_s = gpu->mem_byte_per_s;
	c.ref_clock_hertz = calibrate_clock(gpu);
	c.ref_l2_byte = gpu->l2_byte;
	c.ref_n_sms = gpu->n_sms;
	return c;
}

/* --- what looks wrong ------------------------------------------------------------------------------------ */

/* Plausibility bounds: the range of shipped calibrations, slightly widened. */
static const struct {
	const char *path, *key;
	double low, high;
	const char *what, *of, *below, *above;
} bands[] = {
    {"gemm", "eta_c", 0.55, 0.95, "16-bit GEMMs reach", "the peak", "check power limit, clocks and other processes",
        "check the GPU and its dense peak"},
    {"gemm", "eta_m", 0.70, 0.97, "GEMMs read memory at", "its bandwidth", "check ECC, clocks and other processes",
        "check the GPU"},
    {"memory.hbm", "rate", 0.85, 0.95, "HBM reaches", "its bandwidth", "check ECC, clocks and other processes",
        "check the GPU, and that the size exceeds the caches"},
    {"attention.context", "eta_a", 0.35, 0.80, "prefill attention reaches", "the peak",
        "check kernel version and clocks", "check the GPU"},
    {"attention.generation", "eta_m", 0.50, 0.99, "decode attention reads the KV cache at", "the memory's bandwidth",
        "check kernel version and other processes", "check that the KV cache exceeds L2"},
};

static void
find(struct fitted *out, const char *text)
{
	if (out->n_findings < (int)(sizeof out->findings / sizeof *out->findings))
		out->findings[out->n_findings++] = text;
}

static void
check_param(const struct fit_bench *b, const struct fitted_class *c, const struct fitted_param *p, struct fitted *out)
{
	for (size_t i = 0; i < sizeof bands / sizeof *bands; i++) {
		const double reference = p->unit == Q_RATE ? b->reference->ref_mem_byte_per_s.value : 1;
		const double share = p->value / reference;

		if (!c->path || strcmp(c->path, bands[i].path) != 0 || strcmp(p->key, bands[i].key) != 0)
			continue;
		if (share < bands[i].low || share > bands[i].high)
			find(out,
			    arena_printf(b->arena, "%s %.0f %% of %s: expected %.0f-%.0f %%: %s", bands[i].what,
			        share * 100, bands[i].of, bands[i].low * 100, bands[i].high * 100,
			        share < bands[i].low ? bands[i].below : bands[i].above));
	}
}

/* Report implausible fitted values, for calibrate_gpu. */
static void
calibrate_findings(const struct fit_bench *b, struct fitted *out)
{
	for (int i = 0; i < out->n; i++) {
		const struct fitted_class *c = &out->classes[i];

		if (c->refused)
			continue;
		for (int j = 0; j < c->n_params; j++)
			if (c->params[j].identified)
				check_param(b, c, &c->params[j], out);
		/* of sizes at the edge of a cache that were left out, one is far off and says nothing of the others */
		if (c->residual.all.n && (c->path ? c->residual.all.mape : c->residual.all.median_ape) > 0.20)
			find(out,
			    arena_printf(b->arena,
			        "%s has a fit error of %.0f %%: check for several kernels in one class",
			        c->residual_name, c->residual.all.mape * 100));
	}
}

void
calibrate_gpu(const struct fit_bench *b, struct fitted *out)
{
	fit_gemm(b, out);
	fit_attention(b, out);
	fit_moe(b, out);
	fit_collective(b, out);
	fit_memory(b, out);
	calibrate_findings(b, out);
}

/* --- families -------------------------------------------------------------------------------------------- */

void
fit_family(const struct family *f, struct fit_problem *p, enum quantity *units)
{
	for (int i = 0; i < f->n; i++) {
		const struct param_row *row = &f->rows[i];

		if (isnan(row->start))
			continue;
		units[p->n_params] = form_quantity(row->form);
		p->params[p->n_params++] = (struct fit_param){row->key, row->start, row->least, row->most, false};
	}
}

void
fit_figures(const struct family *f, const struct param_units *u, const double *x, int n, void *figures)
{
	struct datum *d = figures;

	for (int i = 0; i < f->n; i++) {
		const bool fitted = n > 0 && !isnan(f->rows[i].start);

		d[i] = (struct datum){fitted ? param_scaled(u, f->rows[i].form, *x) : 0, {NULL, 0, 0, NULL, false}};
		x += fitted;
		n -= fitted;
	}
}

void
fit_start_from(const struct family *f, const struct param_units *u, const void *figures, struct fit_problem *p)
{
	const struct datum *d = figures;

	for (int i = 0, j = 0; i < f->n; i++) {
		if (isnan(f->rows[i].start))
			continue;
		const double start = param_unscaled(u, f->rows[i].form, d[i].value);
		if (start >= p->params[j].low && start <= p->params[j].high)
			p->params[j].start = start;
		j++;
	}
}

void
fitted_in_rates(struct fitted_class *c, double byte_per_s)
{
	for (int i = 0; i < c->n_params; i++)
		if (c->params[i].unit == Q_RATE) {
			c->params[i].value *= byte_per_s;
			c->params[i].low *= byte_per_s;
			c->params[i].high *= byte_per_s;
		}
}
