/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training step of an operator list. */
#include "model/train/train.h"

#include "model/train/parts.h"

#include "model/layer/layer.h"

/* Convolutions reach a smaller share of the tensor core peak than GEMMs of the same size: implicit GEMMs gather their
 * operands, and narrow channels leave parts of a tile idle.  From published single-GPU rates of ResNet-50 on V100 and
 * A100 (NVIDIA/DeepLearningExamples). */
static const double TENSOR_CONVOLUTION = 0.43, VECTOR_CONVOLUTION = 0.78;
/* Norm and activation are one kernel that reads its input twice, and five passes backward: 8 passes for the 4 of a
 * list, whose forward pass counts three times.  Rows of tables are gathered in pieces of a few hundred bytes. */
static const double TRAINED_TRAFFIC = 2.0 / 3.0, GATHER_RATE = 0.6;
/* Optimizer and framework of a step: a prior, not fitted. */
static const double STEP_S = 1e-3;

static bool
is_table(const struct op *op)
{
	return op->kind == OP_embedding || op->kind == OP_embedding_bag;
}

static double
kernel_share(const struct train_list_job *job, const struct op *op)
{
	if (op->kind != OP_conv2d)
		return 1;
	return job->dtype == DTYPE_FP32 ? VECTOR_CONVOLUTION : TENSOR_CONVOLUTION;
}

static struct op
for_samples(const struct train_list_job *job, const struct op *one)
{
	struct op op = *one;

	op.elem_byte = dtype_byte(job->dtype);
	for (int d = 0; op_dim_name((enum op_kind)op.kind, d); d++)
		op.dim[d] += op.per_batch[d] * (job->n_samples - 1);
	return op;
}

/* An operator on the matrix units, forward and both gradients: the slower of arithmetic and traffic, smoothly. */
static double
product_time(struct sheet *sh, const struct train_list_job *job, const struct op *op)
{
	const enum dtype t = dtype_fits(job->dtype);

	CALL(sh, forward_flop, op_total_flop(sh, op));
	CALL(sh, forward_byte, op_total_byte(sh, op));
	TAKE(sh, reached_flop_per_s, job->machine.kernels->gemm[t].peak_flop_per_s);
	FROM_STRUCT(sh, job->machine.kernels->gemm[DTYPE_BF16], mem_byte_per_s, base_s);
	TAKE(sh, kernel_frac, kernel_share(job, op));
	TAKE(sh, n_times, op->count);
	LET(sh, arithmetic_s, 3 * forward_flop / (reached_flop_per_s * kernel_frac));
	LET(sh, traffic_s, 3 * forward_byte / mem_byte_per_s);
	LET(sh, product_s,
	    cbrt(arithmetic_s * arithmetic_s * arithmetic_s + traffic_s * traffic_s * traffic_s) +
	        3 * n_times * base_s);
	return product_s;
}

static double
other_time(struct sheet *sh, const struct train_list_job *job, const struct op *op)
{
	CALL(sh, forward_byte, op_total_byte(sh, op));
	TAKE(sh, traffic_factor, is_table(op) ? 1 : TRAINED_TRAFFIC);
	TAKE(sh, gather_frac, is_table(op) ? GATHER_RATE : 1);
	FROM_STRUCT(sh, job->machine.kernels->gemm[DTYPE_BF16], mem_byte_per_s, base_s);
	TAKE(sh, n_times, op->count);
	LET(sh, other_s, 3 * forward_byte * traffic_factor / (mem_byte_per_s * gather_frac) + 2 * n_times * base_s);
	return other_s;
}

enum kind { PRODUCTS, OTHERS, TABLES };

static enum kind
kind_of(const struct op *op)
{
	if (is_table(op))
		return TABLES;
	return op_multiplies((enum op_kind)op->kind) ? PRODUCTS : OTHERS;
}

static double
operator_time(struct sheet *sh, const struct train_list_job *job, const struct op *one)
{
	const struct op op = for_samples(job, one);

	return kind_of(one) == PRODUCTS ? product_time(sh, job, &op) : other_time(sh, job, &op);
}

/* Operators of one kind of the list. */
static double
kind_time(struct sheet *sh, const struct train_list_job *job, enum kind kind)
{
	const struct workload *w = job->model;
	int n = 0, of_kind[1024];

	for (int i = 0; i < w->n_ops && n < 1024; i++)
		if (kind_of(&w->ops[i]) == kind)
			of_kind[n++] = i;
	SUM(sh, kind_s, i, n, operator_time(sh, job, &w->ops[of_kind[i]]));
	return kind_s;
}

/* Parameters of maps, which every GPU has, or of tables. */
static double
some_params(const struct workload *w, bool tables)
{
	double n = 0;

	for (int i = 0; i < w->n_ops; i++)
		if (is_table(&w->ops[i]) == tables)
			n += op_total_params(NULL, &w->ops[i]);
	return n;
}

/* Sums of rows, one vector for each table and sample, to the GPUs that hold the samples; gradients back. */
static double
row_bytes(const struct train_list_job *job)
{
	double n = 0;

	for (int i = 0; i < job->model->n_ops; i++) {
		const struct op op = for_samples(job, &job->model->ops[i]);
		if (op.kind == OP_embedding_bag)
			n += op.dim[0] * op.dim[2] * op.count * op.elem_byte;
	}
	return n;
}

double
train_list_step(struct sheet *sh, const struct train_list_job *job, struct train_list_terms *out)
{
	const struct train_machine *m = &job->machine;
	const double n = job->n_gpus, n_local = fmin(n, m->n_domain);

	CALL(sh, products_s, kind_time(sh, job, PRODUCTS));
	CALL(sh, other_s, kind_time(sh, job, OTHERS));
	CALL(sh, tables_s, kind_time(sh, job, TABLES));
	double exchange_s, reduce_s;
	if (n > 1 && job->tables_spread && row_bytes(job) > 0) {
		TAKE(sh, rows_byte, row_bytes(job));
		CALL(sh, send_s, train_collective(sh, m, COLLECTIVE_ALL_TO_ALL, n, n_local, rows_byte));
		SET(sh, exchange_s, 2 * send_s);
	} else
		SET(sh, exchange_s, 0);
	TAKE(sh, replicated_param, some_params(job->model, false));
	TAKE(sh, elem_byte_per_param, dtype_byte(job->dtype));
	if (n > 1) {
		LET(sh, gradient_byte, replicated_param * elem_byte_per_param);
		CALL(sh, gradients_s, train_collective(sh, m, COLLECTIVE_ALL_REDUCE, n, n_local, gradient_byte));
		CALL(sh, near_s, train_collective(sh, m, COLLECTIVE_ALL_REDUCE, n_local, n_local, gradient_byte));
		CALL(sh, hidden_s,
		    train_hide(sh, gradients_s, 2 * (products_s + other_s) / 3, fmin(1, near_s / gradients_s)));
		SET(sh, reduce_s, hidden_s);
	} else
		SET(sh, reduce_s, 0);
	/* momentum: parameter and moment read and written in fp32, the gradient read */
	TAKE(sh, state_byte_per_param, 20.0);
	TAKE(sh, mem_byte_per_s, m->kernels->gemm[DTYPE_BF16].mem_byte_per_s);
	TAKE(sh, step_overhead_s, STEP_S);
	LET(sh, optimizer_s, state_byte_per_param * replicated_param / mem_byte_per_s + step_overhead_s);
	TAKE(sh, power_rate_frac, m->power_frac);
	LET(sh, list_step_s, products_s / power_rate_frac + other_s + tables_s + exchange_s + reduce_s + optimizer_s);
	if (out)
		*out = (struct train_list_terms){
		    products_s / power_rate_frac, other_s, tables_s, exchange_s, reduce_s, optimizer_s, list_step_s};
	return list_step_s;
}

double
train_sample_rate(struct sheet *sh, double n_global_samples, double step_s)
{
	GIVEN(sh, n_global_samples, step_s);
	LET(sh, rate_sample_per_s, n_global_samples / step_s);
	return rate_sample_per_s;
}
