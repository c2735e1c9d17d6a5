/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Validate measured kernels and collectives.  Each row is predicted with its backend's calibration if that covers the
 * kernel, else with the GPU's own.  GEMMs of several engines are also scored by their median per shape, with equal
 * weight for seven bins of m.
 */
#include "ask/bind/bind.h"
#include "ask/validate/validate.h"
#include "import/import.h"
#include "search/fit/fit.h"

#include <stdlib.h>
#include <string.h>

enum { NARROW = 512, MAX_MACHINES = 256 }; /* narrower products run at other tiles */

/* A GPU under a backend; both texts are interned by the reader. */
struct machine {
	const char *id, *backend;
	const struct gpu *gpu;
	/* of the backend; of the GPU; and with what other engines and GPUs have for the rest.  NULL: none */
	const struct calibration *own, *consensus, *others;
};

struct bench {
	struct validation *v;
	int n_machines;
	struct machine machines[MAX_MACHINES];
	const struct uncertainty *uncertainty[N_MEASUREMENT_KINDS];
};

/* --- machines -------------------------------------------------------------------------------------------- */

/* custom-vllm is an all-reduce of vllm; a version does not make another backend. */
static const char *
engine_of(const char *backend)
{
	return backend && strncmp(backend, "custom-", 7) == 0 ? backend + 7 : backend;
}

/* Over NVLink an engine leaves to NCCL what that does faster. */
static const struct calibration *
with_nccl(struct arena *a, const struct calibration *engine, const struct calibration *gpu)
{
	struct calibration *out = ARENA_NEW(a, struct calibration);

	*out = *engine;
	memcpy(out->has_collective, gpu->has_collective, sizeof out->has_collective);
	memcpy(out->collective, gpu->collective, sizeof out->collective);
	return out;
}

static const struct machine *
machine_of(struct bench *b, const struct measurement *m)
{
	struct run *r = b->v->run;

	for (int i = 0; i < b->n_machines; i++)
		if (b->machines[i].id == m->gpu && b->machines[i].backend == m->backend)
			return &b->machines[i];
	if (b->n_machines == MAX_MACHINES)
		return NULL;
	struct machine *out = &b->machines[b->n_machines++];
	*out = (struct machine){.id = m->gpu, .backend = m->backend};
	struct run quiet = run_quiet(r);
	out->gpu = m->gpu ? run_gpu(&quiet, (struct word){m->gpu, {0}}) : NULL;
	out->consensus = out->gpu ? run_calibration(&quiet, m->gpu, NULL) : NULL;
	if (m->kind == MEASUREMENT_COLLECTIVE && out->gpu && !out->consensus)
		out->consensus = bind_kernels(&quiet, out->gpu, NULL, KERNELS_COLLECTIVE, NULL);
	out->own = out->gpu && m->backend ? run_calibration(&quiet, m->gpu, engine_of(m->backend)) : NULL;
	if (m->kind == MEASUREMENT_COLLECTIVE && out->gpu && !out->own && engine_of(m->backend))
		out->own = bind_kernels(&quiet, out->gpu, NULL, KERNELS_COLLECTIVE, engine_of(m->backend));
	if (out->own && out->consensus && out->own->n_custom > 0 && out->gpu->link_kind)
		out->own = with_nccl(r->arena, out->own, out->consensus);
	out->others = out->gpu
	    ? bind_kernels(&quiet, out->gpu, NULL, KERNELS_ROOFLINE, fit_is_engine(m->backend) ? m->backend : NULL)
	    : NULL;
	return out;
}

/* --- one row --------------------------------------------------------------------------------------------- */

static const char *
kind_file(enum measurement_kind k)
{
	return k == MEASUREMENT_COLLECTIVE ? "collective" : measurement_kind_name(k);
}

static double
transfer_of(const struct measurement *m, const struct calibration *c)
{
	const struct transfer_sigma *s = &c->transfer_sigma;

	return m->kind == MEASUREMENT_GEMM                         ? s->gemm
	    : m->kind == MEASUREMENT_MOE                           ? s->moe
	    : m->kind == MEASUREMENT_COLLECTIVE                    ? s->collective
	    : m->operation && strcmp(m->operation, "prefill") == 0 ? s->context
	                                                           : s->generation;
}

static void
set_interval(struct bench *b, const struct measurement *m, const struct calibration *fit, struct score_case *c)
{
	char name[64];
	struct error_terms e;
	struct error_source s = {.fit = fit,
	    .kind = kind_file(m->kind),
	    .residual = predict_is_fitted(m, fit) ? predict_residual(m, name, sizeof name) : NULL,
	    .regime = predict_regime(m, c->predicted),
	    .one_engine = !fit->backend && c->label[SCORE_BY_BACKEND] && fit_is_engine(m->backend),
	    .transfer_sigma = transfer_of(m, fit)};

	if (m->kind == MEASUREMENT_GEMM) {
		s.n = 3;
		s.at[0].dim = "m", s.at[0].value = m->m;
		s.at[1].dim = "n", s.at[1].value = m->n;
		s.at[2].dim = "k", s.at[2].value = m->k;
	} else if (m->kind == MEASUREMENT_COLLECTIVE) {
		s.n = 2;
		s.at[0].dim = "ranks", s.at[0].value = m->ranks;
		s.at[1].dim = "size", s.at[1].value = m->size_byte;
	}
	if (!b->uncertainty[m->kind])
		b->uncertainty[m->kind] = run_uncertainty(b->v->run, s.kind);
	if (!run_errors_with(b->v->run, &s, b->uncertainty[m->kind], &e, NULL))
		return;
	const struct interval i = interval_of(c->predicted, &e, NULL);
	c->low = i.low;
	c->high = i.high;
	if (fit->transferred_from)
		c->warning = fit->transfer_note;
}

/* Predict with the backend's calibration, else with the GPU's, else with what stands in; returns the one that knew the
 * kernel. */
static const struct calibration *
predict(const struct machine *machine, const struct measurement *m, double *time_s, const char **why)
{
	const struct calibration *const all[] = {machine->own, machine->consensus, machine->others};

	*why = machine->gpu ? "no calibration of this GPU" : "the GPU is not in the database";
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (!all[i])
			continue;
		*time_s = predict_row(m, all[i], why);
		if (!isnan(*time_s))
			return all[i];
	}
	return NULL;
}

/* Precision as people say it: w4a16, fp8-static, bf16 with an fp8 cache. */
static const char *
type_text(const struct measurement *m)
{
	return m->dtype_text ? m->dtype_text : m->dtype != DTYPE_NONE ? dtype_name(m->dtype) : "-";
}

static const char *
name_of(struct arena *a, const struct measurement *m)
{
	if (m->kind == MEASUREMENT_GEMM)
		return arena_printf(a, "%s m %g n %g k %g", type_text(m), m->m, m->n, m->k);
	if (m->kind == MEASUREMENT_ATTENTION)
		return arena_printf(a, "%s %s batch %g heads %g/%g x %g, %g new, %g cached", type_text(m),
		    m->operation ? m->operation : "attention", m->batch, m->heads, m->kv_heads, m->head_dim,
		    isnan(m->query_len) ? 1 : m->query_len, isnan(m->context_len) ? 0 : m->context_len);
	if (m->kind == MEASUREMENT_MOE)
		return arena_printf(a, "%s %g tokens, hidden %g, %g of %g experts of %g, tp %g ep %g, %s", type_text(m),
		    m->tokens, m->hidden, m->top_k, m->experts, m->expert_ffn, m->tp, m->ep,
		    m->routing ? m->routing : "balanced");
	if (m->kind == MEASUREMENT_COLLECTIVE)
		return arena_printf(a, "%s of %g bytes on %g ranks", m->operation, m->size_byte, m->ranks);
	return measurement_kind_name(m->kind);
}

/* Lengths at which kernels behave differently. */
static const char *
regime_of(const struct measurement *m)
{
	if (m->kind == MEASUREMENT_GEMM)
		return predict_regime(m, NAN);
	if (m->kind == MEASUREMENT_ATTENTION)
		return m->operation && strcmp(m->operation, "prefill") == 0 ? "prefill" : "decode";
	if (m->kind == MEASUREMENT_MOE)
		return m->tokens <= 64 ? "decode" : m->tokens < 1024 ? "mid" : "prefill";
	if (m->kind == MEASUREMENT_COLLECTIVE)
		return m->size_byte <= 65536 ? "up to 64 KiB" : m->size_byte <= 4194304 ? "up to 4 MiB" : "above 4 MiB";
	return NULL;
}

/* What one set of parameters stands for: a type of product, a kernel of attention with its head. */
static const char *
class_of(struct arena *a, const struct measurement *m)
{
	if (m->kind == MEASUREMENT_ATTENTION) {
		const bool decode = !m->operation || strcmp(m->operation, "prefill") != 0;
		return arena_printf(a, "%s %s cache %s head %g%s%s", decode ? "decode" : "prefill", type_text(m),
		    m->kv_dtype != DTYPE_NONE ? dtype_name(m->kv_dtype) : type_text(m), m->head_dim,
		    m->window > 0 ? " window" : "", decode && m->heads > 16 * m->kv_heads ? " wide groups" : "");
	}
	if (m->kind == MEASUREMENT_GEMM || m->kind == MEASUREMENT_MOE)
		return arena_printf(a, "%s %s%s", measurement_kind_name(m->kind), type_text(m),
		    m->kind == MEASUREMENT_GEMM && (m->n < NARROW || m->k < NARROW) ? " narrow" : "");
	return NULL;
}

static void
set_labels(struct bench *b, const struct measurement *m, struct score_case *c)
{
	c->label[SCORE_BY_GPU] = m->gpu ? m->gpu : m->device;
	c->label[SCORE_BY_KIND] = measurement_kind_name(m->kind);
	c->label[SCORE_BY_DTYPE] = m->dtype_text ? m->dtype_text : m->dtype != DTYPE_NONE ? dtype_name(m->dtype) : NULL;
	c->label[SCORE_BY_BACKEND] = m->backend;
	c->label[SCORE_BY_REGIME] = regime_of(m);
	c->label[SCORE_BY_TASK] = m->kind == MEASUREMENT_COLLECTIVE ? m->operation : m->routing;
	c->label[SCORE_BY_CLASS] = class_of(b->v->run->arena, m);
}

static void
add_row(struct bench *b, const struct measurement *m)
{
	const struct machine *machine = machine_of(b, m);
	const char *why = NULL;
	double time_s = NAN;

	const struct calibration *fit = machine ? predict(machine, m, &time_s, &why) : NULL;
	if (!fit) {
		set_labels(b, m, validation_skip(b->v, m->line, why ? why : "too many GPUs and backends"));
		return;
	}
	struct score_case *c = validation_add(b->v, m->line, "x_s");
	set_labels(b, m, c);
	c->measured = m->time_s;
	c->predicted = time_s;
	c->baseline[0] = predict_roof(m, machine->gpu);
	set_interval(b, m, fit, c);
	if (!c->warning)
		c->warning = predict_warning(m, fit);
	if (!c->warning && fit == machine->others)
		c->warning = "kernels of another engine used";
	c->name = name_of(b->v->run->arena, m);
}

/* --- the engines' median --------------------------------------------------------------------------------- */

/* A product that several engines ran; static scales make another product of the same shape. */
static int
by_shape(const void *x, const void *y)
{
	const struct measurement *a = *(const struct measurement *const *)x, *b = *(const struct measurement *const *)y;
	const double differences[] = {a->m - b->m, a->n - b->n, a->k - b->k, a->time_s - b->time_s, a->line - b->line};
	int order = strcmp(a->gpu, b->gpu);

	order = order ? order : strcmp(a->dtype_text, b->dtype_text);
	for (size_t i = 0; i < sizeof differences / sizeof *differences && order == 0; i++)
		order = (differences[i] > 0) - (differences[i] < 0);
	return order;
}

static bool
same_product(const struct measurement *a, const struct measurement *b)
{
	return a->m == b->m && a->n == b->n && a->k == b->k && strcmp(a->gpu, b->gpu) == 0 &&
	    strcmp(a->dtype_text, b->dtype_text) == 0;
}

static const char *
bin_of(double m)
{
	static const struct {
		double to;
		const char *name;
	} bins[] = {{4, "m 1-4"}, {16, "m 5-16"}, {64, "m 17-64"}, {256, "m 65-256"}, {1024, "m 257-1024"},
	    {4096, "m 1025-4096"}};

	for (size_t i = 0; i < sizeof bins / sizeof *bins; i++)
		if (m <= bins[i].to)
			return bins[i].name;
	return "m above 4096";
}

/* One case for each product: the median of its times, predicted with the GPU's own calibration. */
static void
add_median(struct bench *b, const struct measurement *const *rows, size_t n)
{
	struct measurement m = *rows[0];
	const char *why;

	m.time_s = n % 2 ? rows[n / 2]->time_s : (rows[n / 2 - 1]->time_s + rows[n / 2]->time_s) / 2;
	struct machine machine = *machine_of(b, rows[0]);
	machine.own = NULL;
	if (machine.consensus) /* one engine's kernels are no median */
		machine.others = NULL;
	double time_s;
	const struct calibration *fit = predict(&machine, &m, &time_s, &why);
	if (!fit)
		return;
	struct score_case *c = validation_add(b->v, m.line, "x_s");
	c->label[SCORE_BY_ALL] = NULL;
	c->measured = m.time_s;
	c->predicted = time_s;
	c->baseline[0] = predict_roof(&m, machine.gpu);
	set_interval(b, &m, fit, c);
	c->label[SCORE_BY_BIN] = bin_of(m.m);
	c->label[SCORE_BY_CONSENSUS] = arena_printf(b->v->run->arena, "%s %s", m.gpu, type_text(&m));
}

/* The seven bins of a GPU and type weigh the same. */
static void
weigh(struct score_case *cases, size_t n)
{
	for (size_t first = 0, end; first < n; first = end) {
		size_t count[7] = {0}, n_bins = 0;
		const char *bins[7];
		for (end = first; end < n &&
		     strcmp(cases[end].label[SCORE_BY_CONSENSUS], cases[first].label[SCORE_BY_CONSENSUS]) == 0;
		     end++) {
			size_t k = 0;
			while (k < n_bins && strcmp(bins[k], cases[end].label[SCORE_BY_BIN]) != 0)
				k++;
			if (k == n_bins)
				bins[n_bins++] = cases[end].label[SCORE_BY_BIN];
			count[k]++;
		}
		for (size_t i = first; i < end; i++)
			for (size_t k = 0; k < n_bins; k++)
				if (strcmp(bins[k], cases[i].label[SCORE_BY_BIN]) == 0)
					cases[i].weight = 1.0 / (double)count[k];
	}
}

static void
add_medians(struct bench *b, const struct measurements *all)
{
	const struct measurement **rows = ARENA_ARRAY(b->v->run->arena, const struct measurement *, all->n_rows + 1);
	size_t n = 0;

	for (int i = 0; i < all->n_rows; i++) {
		const struct measurement *m = &all->rows[i];
		if (m->kind == MEASUREMENT_GEMM && m->gpu && m->dtype_text && m->n >= NARROW && m->k >= NARROW)
			rows[n++] = m;
	}
	qsort(rows, n, sizeof *rows, by_shape);
	const size_t before = b->v->n;
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && same_product(rows[first], rows[end]);)
			end++;
		add_median(b, rows + first, end - first);
	}
	weigh(b->v->cases + before, b->v->n - before);
}

/* --- the file -------------------------------------------------------------------------------------------- */

static bool
recognises(const struct validate_file *f)
{
	return measurements_are_in(f->text, f->length);
}

static bool
read_measurements(struct validation *v, const struct validate_file *f)
{
	struct measurements all = {0};
	struct bench *b = ARENA_NEW(v->run->arena, struct bench);

	/* names that are no GPU's are rows left out, not faults of the request */
	struct database *quiet = database_reporting_to(v->run->database, diag_new(v->run->arena));
	if (!measurements_read_text(v->run->arena, v->run->diag, f->name, f->text, f->length, quiet, NULL, &all))
		return false;
	b->v = v;
	v->baseline[0] = "roof";
	for (int i = 0; i < all.n_skips; i++)
		for (int k = 0; k < all.skips[i].n; k++)
			validation_skip(v, all.skips[i].first_line, all.skips[i].why);
	for (int i = 0; i < all.n_rows; i++) {
		add_row(b, &all.rows[i]);
		validation_progress(v, (size_t)i + 1, (size_t)all.n_rows);
	}
	add_medians(b, &all);
	return true;
}

const struct validate_kind validate_measurements = {
    "measurements", "kernels and collectives (ridge-measurement(5))", recognises, read_measurements};
