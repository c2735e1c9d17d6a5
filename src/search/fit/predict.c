/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predict the rows of a fit from parameters. */
#include "search/fit/fit.h"

#include "base/base.h"
#include "model/collective/collective.h"
#include "model/kernel/kernel.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- rows ---------------------------------------------------------------------------------------------------- */

/* Which rows a fit uses. */

bool
fit_is_engine(const char *backend)
{
	static const char *const engines[] = {"trtllm", "vllm", "sglang"};

	for (size_t i = 0; backend && i < sizeof engines / sizeof *engines; i++)
		if (strcmp(backend, engines[i]) == 0)
			return true;
	return false;
}

/* Dotted versions: numbers by value; what follows a release candidate's number (1.3.0rc20) comes before the release. */
static int
compare_versions(const char *a, const char *b)
{
	while (*a || *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			char *a_end, *b_end;
			const unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);

			if (x != y)
				return x > y ? 1 : -1;
			a = a_end;
			b = b_end;
			continue;
		}
		if (*a != *b) {
			/* `1.3.0` is after `1.3.0rc20` and before `1.3.0.1` */
			if (!*a)
				return *b == '.' ? -1 : 1;
			if (!*b)
				return *a == '.' ? 1 : -1;
			return *a > *b ? 1 : -1;
		}
		a++;
		b++;
	}
	return 0;
}

static bool
same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* What versions are compared within. */
struct line {
	const char *backend, *operation, *dtype_text, *version;
	enum dtype kv_dtype;
};

static bool
same_line(const struct line *l, const struct measurement *m)
{
	return same(l->backend, m->backend) && same(l->operation, m->operation) && same(l->dtype_text, m->dtype_text) &&
	    l->kv_dtype == m->kv_dtype;
}

const struct measurement **
fit_rows(const struct fit_bench *b, enum measurement_kind kind, int *n)
{
	enum { LINES_MAX = 256 };
	const struct measurement **out = ARENA_ARRAY(b->arena, const struct measurement *, b->n_rows + 1);
	int *of = ARENA_ARRAY(b->arena, int, b->n_rows + 1), n_lines = 0, n_all = 0, at = 0;
	struct line *lines = ARENA_ARRAY(b->arena, struct line, LINES_MAX);

	for (int i = 0; i < b->n_rows; i++) {
		const struct measurement *m = &b->rows[i];

		if (m->kind != kind || (b->backend && !same(b->backend, m->backend)))
			continue;
		/* files are sorted: mostly the line of the row before */
		if (!(at < n_lines && same_line(&lines[at], m)))
			for (at = 0; at < n_lines && !same_line(&lines[at], m);)
				at++;
		if (at == n_lines && n_lines < LINES_MAX)
			lines[n_lines++] =
			    (struct line){m->backend, m->operation, m->dtype_text, m->version, m->kv_dtype};
		else if (at == n_lines)
			continue;
		else if (m->version && (!lines[at].version || compare_versions(m->version, lines[at].version) > 0))
			lines[at].version = m->version;
		of[n_all] = at;
		out[n_all++] = m;
	}
	*n = 0;
	for (int i = 0; i < n_all; i++)
		if (!out[i]->version || same(out[i]->version, lines[of[i]].version))
			out[(*n)++] = out[i];
	return out;
}

/* The engines' collectors visit this many copies of the weights in turn. */
enum { ENGINE_COPIES = 5 };

/* 16-bit activations with smaller weights, such as w4a16: the type of the weights, else DTYPE_NONE. */
static enum dtype
predict_weight_only(const struct measurement *m)
{
	if (!m->dtype_text || !strstr(m->dtype_text, "a16"))
		return DTYPE_NONE;
	return strncmp(m->dtype_text, "w4", 2) == 0 ? DTYPE_INT4 : DTYPE_INT8;
}

static bool
is_prefill(const struct measurement *m)
{
	return m->operation && strcmp(m->operation, "prefill") == 0;
}

static enum collective
collective_of(const struct measurement *m)
{
	static const char *const keys[N_COLLECTIVES] = {
#define COLLECTIVE(id, text, key, title) [COLLECTIVE_##id] = key,
#include "model/hw/calibration.def"
#undef COLLECTIVE
	};

	for (int i = 0; i < N_COLLECTIVES; i++)
		if (m->operation && text_same_folded(keys[i], m->operation))
			return (enum collective)i;
	return N_COLLECTIVES;
}

static bool
is_custom(const struct measurement *m)
{
	return m->backend && strncmp(m->backend, "custom-", 7) == 0;
}

/* --- shapes ---------------------------------------------------------------------------------------------- */

static struct gemm_shape
gemm_of(const struct measurement *m)
{
	const enum dtype weights = predict_weight_only(m);
	struct gemm_shape shape = gemm_shape_of(m->m, m->n, m->k, weights == DTYPE_NONE ? m->dtype : weights);

	if (weights != DTYPE_NONE) {
		shape.a_byte = shape.o_byte = dtype_byte(DTYPE_BF16);
		shape.quantise = false;
	}
	shape.quantise = shape.quantise && !m->static_scale;
	shape.n_copies = fit_is_engine(m->backend) ? ENGINE_COPIES : 0;
	return shape;
}

static double
predict_gemm(const struct measurement *m, const struct calibration *c, const char **why)
{
	const enum dtype weights = predict_weight_only(m);
	struct gemm_shape shape = gemm_of(m);

	/* how an engine was measured says nothing of another's rows */
	shape.launched = c->backend && m->backend && strcmp(c->backend, m->backend) == 0;
	if (!fit_is_usual(m)) {
		*why = "best of several candidates, or a GPU after seconds of load";
		return NAN;
	}
	if (weights != DTYPE_NONE && c->weight_only[weights].peak_flop_per_s.value > 0) {
		/* the model reads the parameters of a type from one place */
		struct calibration other = *c;
		other.gemm[weights] = c->weight_only[weights];
		return gemm_time(NULL, &shape, &other, weights);
	}
	if (weights != DTYPE_NONE || m->dtype == DTYPE_NONE || !gemm_calibrated(c, m->dtype)) {
		*why = "no GEMM calibration for this dtype";
		return NAN;
	}
	return gemm_time(NULL, &shape, c, m->dtype);
}

static struct attention_shape
attention_of(const struct measurement *m)
{
	return (struct attention_shape){.batch = m->batch,
	    .n_heads = m->heads,
	    .n_kv_heads = m->kv_heads,
	    .head_dim = m->head_dim,
	    .query_token = isnan(m->query_len) ? 1 : m->query_len,
	    .context_token = isnan(m->context_len) ? 0 : m->context_len,
	    .elem_byte = m->dtype == DTYPE_NONE ? 2 : dtype_byte(m->dtype),
	    .kv_elem_byte = m->kv_dtype != DTYPE_NONE ? dtype_byte(m->kv_dtype)
	        : m->dtype != DTYPE_NONE              ? dtype_byte(m->dtype)
	                                              : 2,
	    .window_token = isnan(m->window) ? 0 : m->window};
}

static double
predict_attention(const struct measurement *m, const struct calibration *c, const char **why)
{
	const struct attention_shape shape = attention_of(m);
	const struct context_calibration *context = context_calibrated(c, &shape);
	const struct generation_calibration *generation = generation_calibrated(c, &shape);

	if (is_prefill(m) ? !context : !generation) {
		*why = "no attention calibration";
		return NAN;
	}
	return is_prefill(m) ? attention_context(NULL, &shape, context, c)
	                     : attention_generation(NULL, &shape, generation, c);
}

static double
or_one(double x)
{
	return isnan(x) ? 1 : x;
}

bool
fit_is_uniform(const struct measurement *m)
{
	return m->routing && strcmp(m->routing, "uniform") == 0;
}

/* 4-bit weights meet activations of 8 or 16 bits: one fit each. */
enum dtype
fit_moe_type(const struct measurement *m, bool *packed)
{
	const enum dtype weight = m->weight_dtype == DTYPE_NONE ? m->dtype : m->weight_dtype;

	*packed = weight != m->dtype && m->dtype == DTYPE_BF16;
	if (*packed || weight == m->dtype || (m->dtype == DTYPE_MXFP8 && weight == DTYPE_MXFP4))
		return weight;
	return DTYPE_NONE;
}

/* The exponent of power_law_1.2; 0: loads are even, or of another distribution. */
static double
power_of(const struct measurement *m)
{
	static const char law[] = "power_law_";
	static const double steepest = 10; /* all rows but a few go to one expert */
	double power;

	if (!m->routing || strncmp(m->routing, law, sizeof law - 1) != 0 ||
	    sscanf(m->routing + sizeof law - 1, "%lf", &power) != 1)
		return 0;
	return power > 0 && power <= steepest ? power : 0;
}

struct moe_shape
fit_moe_shape(const struct measurement *m)
{
	const double a_byte = m->dtype == DTYPE_NONE ? 2 : dtype_byte(m->dtype);

	return (struct moe_shape){.n_tokens = m->tokens,
	    .hidden = m->hidden,
	    .expert_width = m->expert_ffn,
	    .top_k = m->top_k,
	    .n_experts = m->experts,
	    .tp = or_one(m->tp),
	    .ep = or_one(m->ep),
	    .a_byte = a_byte,
	    .w_byte = m->weight_dtype == DTYPE_NONE ? a_byte : dtype_byte(m->weight_dtype),
	    .gated = true,
	    .repeated = fit_is_engine(m->backend),
	    .expected = fit_is_uniform(m),
	    .power = power_of(m)};
}

static double
predict_moe(const struct measurement *m, const struct calibration *c, const char **why)
{
	const struct moe_shape shape = fit_moe_shape(m);
	bool packed;
	const enum dtype t = fit_moe_type(m, &packed);
	const struct moe_calibration *p = t == DTYPE_NONE ? NULL : packed ? &c->moe_weight_only[t] : &c->moe[t];

	if (!p || !(p->peak_flop_per_s.value > 0)) {
		*why = "no MoE calibration for this dtype";
		return NAN;
	}
	return moe_time(NULL, &shape, p, c);
}

static double
predict_collective(const struct measurement *m, const struct calibration *c, const char **why)
{
	const enum collective operation = collective_of(m);

	if (!isnan(m->nodes) && m->nodes > 1) {
		*why = "several nodes: GPU calibrations cover one node";
		return NAN;
	}
	if (is_custom(m)) {
		if (operation == COLLECTIVE_ALL_REDUCE && c->n_custom > 0)
			return allreduce_engine(NULL, &c->custom[0],
			    c->has_collective[operation] ? &c->collective[operation] : NULL, m->ranks, m->size_byte);
		*why = "no all-reduce calibration for this engine";
		return NAN;
	}
	if (m->backend && strcmp(m->backend, "nccl") != 0 && strcmp(m->backend, "rccl") != 0) {
		*why = "library other than NCCL and RCCL";
		return NAN;
	}
	if (operation == N_COLLECTIVES || !c->has_collective[operation]) {
		*why = "no calibration for this collective";
		return NAN;
	}
	return collective_ramp(NULL, operation, &c->collective[operation], m->ranks, m->size_byte);
}

double
predict_row(const struct measurement *m, const struct calibration *c, const char **why)
{
	static double (*const predictors[N_MEASUREMENT_KINDS])(
	    const struct measurement *m, const struct calibration *c, const char **why) = {
	    [MEASUREMENT_GEMM] = predict_gemm,
	    [MEASUREMENT_ATTENTION] = predict_attention,
	    [MEASUREMENT_MOE] = predict_moe,
	    [MEASUREMENT_COLLECTIVE] = predict_collective,
	};

	if (predictors[m->kind])
		return predictors[m->kind](m, c, why);
	*why = "a parameter rather than a prediction: see ridge calibrate";
	return NAN;
}

enum { GROUP_MAX = 16 }; /* query heads of a key head that were fitted */

static bool
has_own_attention(const struct measurement *m, const struct calibration *c)
{
	const struct attention_shape shape = attention_of(m);
	const enum attention_fit fit = attention_fit_of(&shape);

	if (fit == N_ATTENTION_FITS)
		return shape.head_dim == 128 && shape.elem_byte == 2;
	return is_prefill(m) ? c->attention_by[fit].has_context : c->attention_by[fit].has_generation;
}

static bool
is_wide_group(const struct measurement *m)
{
	return !is_prefill(m) && m->heads > GROUP_MAX * m->kv_heads;
}

bool
predict_is_fitted(const struct measurement *m, const struct calibration *c)
{
	return m->kind != MEASUREMENT_ATTENTION || (has_own_attention(m, c) && !is_wide_group(m) && !(m->window > 0));
}

const char *
predict_warning(const struct measurement *m, const struct calibration *c)
{
	if (m->kind == MEASUREMENT_MOE && m->routing && strcmp(m->routing, "balanced") != 0 && !fit_is_uniform(m) &&
	    !(power_of(m) > 0))
		return "predicted with balanced experts";
	if (m->kind != MEASUREMENT_ATTENTION)
		return NULL;
	if (!has_own_attention(m, c))
		return "no fit for this head dimension and dtype: using head dimension 128 in 16 bits";
	if (is_wide_group(m))
		return "more than 16 query heads per KV head use kernels without a fit";
	return NULL;
}

/* --- errors ---------------------------------------------------------------------------------------------- */

/* File keys have underscores where types have dashes. */
static const char *
underscored(const char *prefix, const char *type, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s", prefix, type);
	for (char *p = buf; *p; p++)
		*p = *p == '-' ? '_' : *p;
	return buf;
}

const char *
predict_residual(const struct measurement *m, char *buf, size_t size)
{
	const enum dtype weights = predict_weight_only(m);
	const char *type = weights == DTYPE_INT4 ? "w4a16"
	    : weights == DTYPE_INT8              ? "w8a16"
	    : m->dtype != DTYPE_NONE             ? dtype_name(m->dtype)
	                                         : "bf16";

	if (m->kind == MEASUREMENT_GEMM)
		return underscored("gemm_", type, buf, size);
	if (m->kind == MEASUREMENT_MOE)
		return underscored("moe_", m->dtype_text ? m->dtype_text : type, buf, size);
	if (m->kind == MEASUREMENT_ATTENTION) {
		const struct attention_shape shape = attention_of(m);
		const enum attention_fit fit = attention_fit_of(&shape);
		if (fit == N_ATTENTION_FITS)
			return is_prefill(m) ? "attention_context" : "attention_generation";
		return underscored(
		    is_prefill(m) ? "attention_context_" : "attention_generation_", attention_fit_name(fit), buf, size);
	}
	if (m->kind == MEASUREMENT_COLLECTIVE)
		return is_custom(m) ? "custom_all_reduce" : m->operation;
	return NULL;
}

const char *
predict_regime(const struct measurement *m, double time_s)
{
	if (m->kind == MEASUREMENT_GEMM)
		return m->m <= 64 ? "decode" : m->m < 1024 ? "mid" : "prefill";
	if (m->kind == MEASUREMENT_MOE && m->routing && strcmp(m->routing, "balanced") != 0 && !fit_is_uniform(m) &&
	    !(power_of(m) > 0))
		return "skewed";
	if (m->kind == MEASUREMENT_ATTENTION)
		return time_s < 20e-6 ? "below_20us"
		    : time_s < 100e-6 ? "to_100us"
		    : time_s < 1e-3   ? "to_1ms"
		                      : "above_1ms";
	return NULL;
}

/* --- the roof -------------------------------------------------------------------------------------------- */

/* A query of a prompt sees the cached tokens and those before it; of generation, the whole cache. */
static void
attention_work(const struct measurement *m, double *flop, double *byte)
{
	const struct attention_shape s = attention_of(m);
	const double queries = is_prefill(m) ? s.query_token : 1, fresh = is_prefill(m) ? (queries + 1) / 2 : 0;
	const double window = s.window_token > 0 ? s.window_token : INFINITY;
	const double seen = fmin(window, s.context_token + fresh);
	const double keys = fmin(window + queries, s.context_token + (is_prefill(m) ? queries : 0));

	*flop = 4 * s.batch * s.n_heads * s.head_dim * queries * seen;
	*byte =
	    s.batch * s.head_dim * (2 * s.n_heads * queries * s.elem_byte + 2 * s.n_kv_heads * keys * s.kv_elem_byte);
}

static void
moe_work(const struct measurement *m, double *flop, double *byte)
{
	const double local = m->experts / (isnan(m->ep) ? 1 : m->ep),
	             width = m->expert_ffn / (isnan(m->tp) ? 1 : m->tp);
	const double pairs = m->tokens * m->top_k / (isnan(m->ep) ? 1 : m->ep);
	const double elem = m->dtype == DTYPE_NONE ? 2 : dtype_byte(m->dtype);

	*flop = 6 * pairs * m->hidden * width;
	*byte = 3 * fmin(local, ceil(pairs)) * m->hidden * width * elem + 4 * m->tokens * m->hidden;
}

double
predict_roof(const struct measurement *m, const struct gpu *gpu)
{
	const enum dtype weights = predict_weight_only(m);
	const enum peak p = dtype_peak(weights != DTYPE_NONE || m->dtype == DTYPE_NONE ? DTYPE_BF16 : m->dtype);
	const double peak = gpu->peak_flop_per_s[p].value, rate = gpu->mem_byte_per_s.value;
	double flop = NAN, byte = NAN;

	if (m->kind == MEASUREMENT_GEMM) {
		const struct gemm_shape g = gemm_of(m);
		flop = 2 * g.m * g.n * g.k;
		byte = g.m * g.k * g.a_byte + g.k * g.n * g.w_byte + g.m * g.n * g.o_byte;
	} else if (m->kind == MEASUREMENT_ATTENTION)
		attention_work(m, &flop, &byte);
	else if (m->kind == MEASUREMENT_MOE)
		moe_work(m, &flop, &byte);
	else if (m->kind == MEASUREMENT_COLLECTIVE && collective_of(m) < N_COLLECTIVES) {
		const double volume = bus_volume(NULL, collective_of(m), m->ranks, m->size_byte);
		return volume / (gpu->link_byte_per_s.value * gpu->n_links.value);
	}
	return roofline_s(NULL, flop, byte, peak, rate);
}
