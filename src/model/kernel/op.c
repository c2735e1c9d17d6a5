/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operators as kernels.  A matrix times a vector is a product of one row; a convolution of 1 x 1 is a product over all
 * positions; scores and values of unfused attention are products in one launch, whose tiles share the waves of the SMs
 * (Osama et al., PPoPP 2023).  Experts were measured as a whole layer, with two grouped products, so one of them has
 * half of the fixed cost, and its own rows of what is permuted.  All other operators last as long as their traffic.
 */
#include "model/kernel/kernel.h"

#include <math.h>

static const char *const names[N_KERNEL_KINDS] = {
    "none", "product", "batched GEMMs", "experts", "prefill attention", "decode attention", "delta rule", "traffic"};

/* The latent attention that was measured: DeepSeek-AI, arXiv:2405.04434. */
enum { LATENT = 512, LATENT_ROPE = 64, LATENT_KEY = 192, LATENT_VALUE = 128 };

const char *
kernel_kind_name(enum kernel_kind k)
{
	return names[k];
}

/* --- attention ------------------------------------------------------------------------------------------- */

/* Dimensions of OP_attention and OP_attention_latent. */
struct attends {
	double b, h, s, c, d, kv, dv, seen;
};

static struct attends
attends_of(const struct op *op)
{
	const double *x = op->dim;

	if (op->kind == OP_attention_latent)
		return (struct attends){x[0], x[1], x[2], x[3], x[4], 1, x[4], x[6]};
	return (struct attends){x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]};
}

/* Scales of blocks are no part of an element. */
static double
bare_byte(double elem_byte)
{
	return floor(4 * elem_byte) / 4;
}

/* A window w over s queries behind p tokens: all but the first w - p of them see w keys, so a query sees on average
 * w - u (u - 1) / 2 s of them, u = w - p; solved for w.  It is p + s where the mask is causal alone. */
static double
window_of(const struct attends *a)
{
	const double prefix = a->c - a->s, twice = 2 * a->s + 1;

	if (a->seen <= prefix)
		return a->seen;
	return prefix + (twice - sqrt(fmax(0, twice * twice - 8 * a->s * (a->seen - prefix)))) / 2;
}

struct attention_shape
kernel_attention_shape(const struct op *op)
{
	const struct attends a = attends_of(op);
	const bool alone = a.s == 1, unmasked = !alone && a.seen >= a.c;
	const double window = window_of(&a);

	return (struct attention_shape){.batch = a.b,
	    .n_heads = a.h,
	    .n_kv_heads = a.kv,
	    .head_dim = (a.d + a.dv) / 2,
	    .query_token = a.s,
	    .context_token = alone ? a.c : a.c - a.s,
	    .elem_byte = bare_byte(op->elem_byte),
	    .kv_elem_byte = bare_byte(op->elem_byte),
	    .cold = true,
	    .window_token = alone || unmasked || window > a.c - 0.5 ? 0 : window,
	    .unmasked = unmasked};
}

bool
kernel_is_latent(const struct kernel_machine *m, const struct op *op)
{
	const double *x = op->dim;

	if (op->elem_byte != 2)
		return false;
	if (op->kind == OP_attention_latent)
		return x[2] == 1 && x[4] == LATENT && x[5] == LATENT_ROPE && m->fit->has_mla_generation;
	return op->kind == OP_attention && x[2] > 1 && x[4] == LATENT_KEY && x[6] == LATENT_VALUE && x[1] == x[5] &&
	    m->fit->has_mla_context;
}

static enum kernel_kind
attention_kernel(const struct kernel_machine *m, const struct op *op)
{
	const struct attends a = attends_of(op);
	const struct attention_shape shape = kernel_attention_shape(op);

	if (kernel_is_latent(m, op))
		return a.s == 1 ? KERNEL_GENERATION : KERNEL_CONTEXT;
	/* attention in narrower types than 8 bits is nobody's; more queries than keys are another one's tokens */
	if (op->kind == OP_attention_latent || (shape.elem_byte != 1 && shape.elem_byte != 2) || a.c < a.s)
		return KERNEL_NONE;
	if (a.s == 1)
		return generation_calibrated(m->fit, &shape) ? KERNEL_GENERATION : KERNEL_NONE;
	return context_calibrated(m->fit, &shape) ? KERNEL_CONTEXT : KERNEL_NONE;
}

/* Attention and experts use the bf16 fits; fp16 differs only where --set changed one of the two peaks. */
static double
half_share(const struct kernel_machine *m)
{
	const double half = m->fit->ref_peaks_flop_per_s[PEAK_FP16].value, brain = m->fit->ref_peak_flop_per_s.value;

	return m->dtype == DTYPE_FP16 && half > 0 && brain > 0 ? half / brain : 1;
}

static double
attention_time(struct sheet *sh, const struct kernel_machine *m, const struct op *op)
{
	struct attention_shape shape = kernel_attention_shape(op);
	const struct calibration *c = m->fit;
	const bool latent = kernel_is_latent(m, op), alone = shape.query_token == 1;
	double attention_s;

	shape.rate_frac = half_share(m);
	if (latent && alone)
		SET_CALL(sh, attention_s, mla_generation(sh, &shape, &c->mla_generation, c));
	else if (latent)
		SET_CALL(sh, attention_s, mla_context(sh, &shape, &c->mla_context, c));
	else if (alone)
		SET_CALL(sh, attention_s, attention_generation(sh, &shape, generation_calibrated(c, &shape), c));
	else
		SET_CALL(sh, attention_s, attention_context(sh, &shape, context_calibrated(c, &shape), c));
	return attention_s;
}

/* --- products -------------------------------------------------------------------------------------------- */

/* Calibrations call the 16-bit experts bf16. */
static enum dtype
expert_type(enum dtype t)
{
	return t == DTYPE_FP16 ? DTYPE_BF16 : t;
}

static bool
is_pointwise(const struct op *op)
{
	const double *x = op->dim; /* n c h w k r s stride groups */

	return x[5] == 1 && x[6] == 1 && x[7] == 1 && x[8] == 1;
}

static double
product_time(struct sheet *sh, const struct kernel_machine *m, const struct op *op)
{
	const double *x = op->dim;
	const struct gemm_shape shape = op->kind == OP_gemv ? gemm_shape_of(1, x[0], x[1], m->dtype)
	    : op->kind == OP_conv2d                         ? gemm_shape_of(x[0] * x[2] * x[3], x[4], x[1], m->dtype)
	                                                    : gemm_shape_of(x[0], x[1], x[2], m->dtype);

	CALL(sh, product_s, gemm_time(sh, &shape, m->fit, m->dtype));
	return product_s;
}

struct batch {
	double n, rows, columns, depth;
};

/* Query heads that share a key head are rows of one product. */
static struct batch
batch_of(const struct op *op)
{
	const double *x = op->dim; /* bmm: b m n k; scores and values: b h s c d kv */

	if (op->kind == OP_bmm)
		return (struct batch){x[0], x[1], x[2], x[3]};
	const double rows = x[2] * x[1] / x[5];
	return op->kind == OP_scores ? (struct batch){x[0] * x[5], rows, x[3], x[4]}
	                             : (struct batch){x[0] * x[5], rows, x[4], x[3]};
}

/* The tiles of a plain product's fit, for many products at once. */
static double
batched_time(struct sheet *sh, const struct kernel_machine *m, const struct op *op)
{
	const struct gemm_calibration *g = &m->fit->gemm[m->dtype];
	const struct moe_calibration tiles = {.peak_flop_per_s = g->peak_flop_per_s,
	    .mem_byte_per_s = g->mem_byte_per_s,
	    .feed_byte_per_s = g->feed_byte_per_s,
	    .tile_s = g->tile_s,
	    .k_step_s = g->k_step_s,
	    .norm = g->norm.value > 0 ? g->norm : (struct datum){3, g->base_s.from}};
	const struct moe_shape shape = {.a_byte = op->elem_byte, .w_byte = op->elem_byte};
	const struct batch b = batch_of(op);

	TAKE(sh, base_s, g->base_s);
	CALL(sh, products_s, grouped_gemm_time(sh, &shape, &tiles, m->fit, b.n, b.rows, b.columns, b.depth));
	LET(sh, batched_s, base_s + products_s);
	return batched_s;
}

/* Rows come in and go out in 16 bits: 4 hidden + 6 width bytes for a row of a gated layer, both products together. */
static double
moved_rows(struct sheet *sh, const struct moe_calibration *p, double n_rows, double n_depth, double n_columns)
{
	double local_s, global_s;

	GIVEN(sh, n_rows, n_depth, n_columns);
	TAKE(sh, word_byte, 2.0);
	LET(sh, moved_byte, n_rows * (n_depth + n_columns) * word_byte);
	if (p->permute_byte_per_s.value > 0) {
		TAKE(sh, permute_byte_per_s, p->permute_byte_per_s);
		SET(sh, local_s, moved_byte / permute_byte_per_s);
	} else
		SET(sh, local_s, 0);
	if (p->route_byte_per_s.value > 0) {
		TAKE(sh, route_byte_per_s, p->route_byte_per_s);
		SET(sh, global_s, moved_byte / route_byte_per_s);
	} else
		SET(sh, global_s, 0);
	LET(sh, moved_s, local_s + global_s);
	return moved_s;
}

static double
experts_time(struct sheet *sh, const struct kernel_machine *m, const struct op *op)
{
	struct moe_calibration p = m->fit->moe[expert_type(m->dtype)];
	const struct moe_shape shape = {.a_byte = op->elem_byte, .w_byte = op->elem_byte};
	const double *x = op->dim; /* e m n k */

	p.peak_flop_per_s.value *= half_share(m);
	TAKE(sh, base_s, p.base_s);
	CALL(sh, grouped_s, grouped_gemm_time(sh, &shape, &p, m->fit, x[0], x[1] / x[0], x[2], x[3]));
	CALL(sh, moved_s, moved_rows(sh, &p, x[1], x[3], x[2]));
	LET(sh, experts_s, base_s / 2 + grouped_s + moved_s);
	return experts_s;
}

/* --- recurrences ----------------------------------------------------------------------------------------- */

static double
delta_time(struct sheet *sh, const struct kernel_machine *m, const struct op *op)
{
	const struct delta_shape shape = delta_shape_of(op);

	CALL(sh, rule_s, delta_rule_time(sh, &shape, m->fit, false));
	return rule_s;
}

/* --- traffic --------------------------------------------------------------------------------------------- */

/* Time of an empty kernel if launches were measured, else the fixed cost of a GEMM. */
static double
shortest(const struct calibration *c)
{
	return c->has_launch && c->launch.graph_kernel_s.value > 0 ? c->launch.graph_kernel_s.value
	                                                           : c->gemm[DTYPE_BF16].base_s.value;
}

static bool
is_table(const struct op *op)
{
	return op->kind == OP_embedding || op->kind == OP_embedding_bag;
}

static double
stream_time(struct sheet *sh, const struct kernel_machine *m, const struct op *op)
{
	const struct elementwise_shape shape = {.traffic_byte = op_cost(NULL, op).traffic_byte,
	    .n_launches = 1,
	    .launch_s = shortest(m->fit),
	    .cold = is_table(op)};

	CALL(sh, stream_s, elementwise_time(sh, &shape, m->fit));
	return stream_s;
}

/* --- any ------------------------------------------------------------------------------------------------- */

static enum kernel_kind
usual_kernel(enum op_kind kind)
{
	switch (kind) {
	case OP_gemm:
	case OP_gemv:
	case OP_conv2d:
		return KERNEL_PRODUCT;
	case OP_bmm:
	case OP_scores:
	case OP_values:
		return KERNEL_BATCHED;
	case OP_grouped:
		return KERNEL_EXPERTS;
	case OP_attention:
	case OP_attention_latent:
		return KERNEL_CONTEXT;
	case OP_delta_scan:
		return KERNEL_DELTA;
	case OP_norm:
	case OP_norm_unfused:
	case OP_softmax:
	case OP_elementwise:
	case OP_embedding:
	case OP_embedding_bag:
	case OP_pool:
		return KERNEL_STREAM;
	default:
		return KERNEL_NONE;
	}
}

enum kernel_kind
kernel_of(const struct kernel_machine *m, const struct op *op)
{
	const enum kernel_kind usual = usual_kernel((enum op_kind)op->kind);

	if (!m->fit)
		return KERNEL_NONE;
	switch (usual) {
	case KERNEL_PRODUCT:
		if (op->kind == OP_conv2d && !is_pointwise(op))
			return KERNEL_NONE;
		return gemm_calibrated(m->fit, m->dtype) ? usual : KERNEL_NONE;
	case KERNEL_BATCHED:
		return gemm_calibrated(m->fit, m->dtype) ? usual : KERNEL_NONE;
	case KERNEL_EXPERTS:
		return moe_calibrated(m->fit, expert_type(m->dtype)) ? usual : KERNEL_NONE;
	case KERNEL_CONTEXT:
		return attention_kernel(m, op);
	case KERNEL_DELTA:
		return op->elem_byte == 2 && gemm_calibrated(m->fit, DTYPE_BF16) ? usual : KERNEL_NONE;
	case KERNEL_STREAM:
		return shortest(m->fit) > 0 && m->fit->ref_l2_byte.value > 0 ? usual : KERNEL_NONE;
	default:
		return KERNEL_NONE;
	}
}

/* Routing stands before the experts, with at most a map into their latent between; the activation between them. */
bool
kernel_inside_experts(const struct kernel_machine *m, const struct op *ops, int n, int i)
{
	int next = i + 1;

	if (ops[i].kind == OP_softmax && next < n && ops[next].kind == OP_gemm)
		next++;
	else if (ops[i].kind == OP_elementwise && (i == 0 || ops[i - 1].kind != OP_grouped))
		return false;
	else if (ops[i].kind != OP_softmax && ops[i].kind != OP_elementwise)
		return false;
	return next < n && ops[next].kind == OP_grouped && kernel_of(m, &ops[next]) == KERNEL_EXPERTS;
}

static double
at_the_roof(struct sheet *sh, const struct kernel_machine *m, const struct op *op)
{
	const struct cost c = op_cost(NULL, op);

	CALL(
	    sh, roof_s, roofline_s(sh, c.work_flop, c.traffic_byte, m->peak_flop_per_s.value, m->mem_byte_per_s.value));
	return roof_s;
}

/* Benchmarks find in L2 what the repetition before left there; in a model it comes from memory, so that no kernel is
 * faster than its roof. */
double
kernel_op_time(struct sheet *sh, const struct kernel_machine *m, const struct op *op)
{
	static double (*const times[N_KERNEL_KINDS])(
	    struct sheet * sh, const struct kernel_machine *m, const struct op *op) = {
	    [KERNEL_PRODUCT] = product_time,
	    [KERNEL_BATCHED] = batched_time,
	    [KERNEL_EXPERTS] = experts_time,
	    [KERNEL_CONTEXT] = attention_time,
	    [KERNEL_GENERATION] = attention_time,
	    [KERNEL_DELTA] = delta_time,
	    [KERNEL_STREAM] = stream_time,
	};
	const enum kernel_kind kind = kernel_of(m, op);

	CALL(sh, roof_s, at_the_roof(sh, m, op));
	double op_s;
	if (kind == KERNEL_NONE)
		SET(sh, op_s, roof_s);
	else {
		CALL(sh, kernel_s, times[kind](sh, m, op));
		SET(sh, op_s, fmax(kernel_s, roof_s));
	}
	return op_s;
}

double
kernel_op_total(struct sheet *sh, const struct kernel_machine *m, const struct op *op)
{
	TAKE(sh, n_times, op->count);
	CALL(sh, once_s, kernel_op_time(sh, m, op));
	LET(sh, total_s, n_times * once_s);
	return total_s;
}

double
kernel_list_time(struct sheet *sh, const struct kernel_machine *m, const struct op *ops, int n, int i)
{
	double listed_s;

	if (!kernel_inside_experts(m, ops, n, i)) {
		SET_CALL(sh, listed_s, kernel_op_total(sh, m, &ops[i]));
		return listed_s;
	}
	const struct op *experts = &ops[ops[i + 1].kind == OP_grouped ? i + 1 : i + 2];
	TAKE(sh, n_times, ops[i].count);
	CALL(sh, inside_s, at_the_roof(sh, m, &ops[i]));
	CALL(sh, bare_s, at_the_roof(sh, m, experts));
	CALL(sh, experts_s, kernel_op_time(sh, m, experts));
	SET(sh, listed_s, n_times * fmax(0, inside_s + bare_s - experts_s));
	return listed_s;
}
