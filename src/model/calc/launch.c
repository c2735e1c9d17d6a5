/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A host that launches kernels asynchronously and a GPU that runs them are a pipeline of two: the slower one sets the
 * pace.  CUDA graphs: NVIDIA, CUDA C++ Programming Guide, chapter CUDA Graphs.
 */
#include "model/calc/calc.h"

double
launch_count(struct sheet *sh, double n_layers, double n_kernels_per_layer)
{
	GIVEN(sh, n_layers, n_kernels_per_layer);
	LET(sh, n_launches, n_layers * n_kernels_per_layer);
	return n_launches;
}

double
launch_times(struct sheet *sh, const struct op *op)
{
	TAKE(sh, n_times, op->count);
	return n_times;
}

double
launch_host(struct sheet *sh, double n_launches, double launch_s)
{
	GIVEN(sh, n_launches, launch_s);
	LET(sh, host_s, n_launches * launch_s);
	return host_s;
}

double
launch_graph(struct sheet *sh, double n_launches, double node_s, double graph_s)
{
	GIVEN(sh, n_launches, node_s, graph_s);
	LET(sh, host_s, n_launches * node_s + graph_s);
	return host_s;
}

/* --- a step ---------------------------------------------------------------------------------------------- */

double
launch_step(struct sheet *sh, double host_s, double device_s)
{
	GIVEN(sh, host_s, device_s);
	LET(sh, step_s, fmax(host_s, device_s));
	return step_s;
}

double
launch_step_blocking(struct sheet *sh, double host_s, double device_s)
{
	GIVEN(sh, host_s, device_s);
	LET(sh, step_s, host_s + device_s);
	return step_s;
}

double
launch_exposed(struct sheet *sh, double step_s, double device_s)
{
	GIVEN(sh, step_s, device_s);
	LET(sh, exposed_s, step_s - device_s);
	return exposed_s;
}

double
launch_idle(struct sheet *sh, double exposed_s, double step_s)
{
	GIVEN(sh, exposed_s, step_s);
	LET(sh, idle_frac, exposed_s / step_s);
	return idle_frac;
}

double
launch_kernel(struct sheet *sh, double device_s, double n_launches)
{
	GIVEN(sh, device_s, n_launches);
	LET(sh, kernel_s, device_s / n_launches);
	return kernel_s;
}

double
launch_hidden(struct sheet *sh, double device_s, double launch_s)
{
	GIVEN(sh, device_s, launch_s);
	LET(sh, n_hidden, floor(device_s / launch_s + 1e-9));
	return n_hidden;
}

double
launch_fewer(struct sheet *sh, double n_before, double n_after)
{
	GIVEN(sh, n_before, n_after);
	LET(sh, fewer, n_before / n_after);
	return fewer;
}

double
launch_fused(struct sheet *sh, double n_launches, double n_before, double n_after)
{
	GIVEN(sh, n_launches, n_before, n_after);
	LET(sh, n_fused, n_launches * n_after / n_before);
	return n_fused;
}

/* --- fusion ---------------------------------------------------------------------------------------------- */

bool
fusion_takes(enum op_kind kind)
{
	return kind == OP_gemm || kind == OP_norm || kind == OP_norm_unfused || kind == OP_softmax ||
	    kind == OP_elementwise;
}

/* The dimensions are those of op.def, in that order. */
double
fusion_in(struct sheet *sh, const struct op *op)
{
	if (op->kind == OP_elementwise) {
		TAKE(sh, elements, op->dim[0]);
		LET(sh, n_in, elements);
		return n_in;
	}
	if (op->kind == OP_gemm) {
		TAKE(sh, m, op->dim[0]);
		TAKE(sh, k, op->dim[2]);
		LET(sh, n_in, m * k);
		return n_in;
	}
	TAKE(sh, rows, op->dim[0]);
	TAKE(sh, width, op->dim[1]);
	LET(sh, n_in, rows * width);
	return n_in;
}

double
fusion_out(struct sheet *sh, const struct op *op)
{
	if (op->kind == OP_gemm) {
		TAKE(sh, m, op->dim[0]);
		TAKE(sh, n, op->dim[1]);
		LET(sh, n_out, m * n);
		return n_out;
	}
	CALL(sh, n_in, fusion_in(sh, op));
	LET(sh, n_out, n_in);
	return n_out;
}

double
fusion_own(struct sheet *sh, const struct op *op)
{
	TAKE(sh, elem_byte, op->elem_byte);
	if (op->kind == OP_gemm) {
		TAKE(sh, n, op->dim[1]);
		TAKE(sh, k, op->dim[2]);
		LET(sh, own_byte, k * n * elem_byte);
		return own_byte;
	}
	if (op->kind == OP_elementwise) {
		TAKE(sh, elements, op->dim[0]);
		TAKE(sh, reads, op->dim[1]);
		TAKE(sh, writes, op->dim[2]);
		LET(sh, own_byte, fmax(0, reads + writes - 2) * elements * elem_byte);
		return own_byte;
	}
	LET(sh, own_byte, 0 * elem_byte);
	return own_byte;
}

double
fusion_apart(struct sheet *sh, const struct chain *c)
{
	SUM(sh, apart_byte, i, c->n, op_total_byte(sh, &c->ops[i]));
	return apart_byte;
}

double
fusion_together(struct sheet *sh, const struct chain *c)
{
	TAKE(sh, elem_byte, c->ops[0].elem_byte);
	CALL(sh, n_in, fusion_in(sh, &c->ops[0]));
	CALL(sh, n_out, fusion_out(sh, &c->ops[c->n - 1]));
	SUM(sh, own_byte, i, c->n, fusion_own(sh, &c->ops[i]));
	LET(sh, together_byte, (n_in + n_out) * elem_byte + own_byte);
	return together_byte;
}

double
fusion_saved(struct sheet *sh, double apart_byte, double together_byte)
{
	GIVEN(sh, apart_byte, together_byte);
	LET(sh, saved_byte, apart_byte - together_byte);
	return saved_byte;
}

double
fusion_saved_frac(struct sheet *sh, double apart_byte, double together_byte)
{
	GIVEN(sh, apart_byte, together_byte);
	LET(sh, saved_frac, 1 - together_byte / apart_byte);
	return saved_frac;
}

double
fusion_time(struct sheet *sh, double size_byte, double mem_byte_per_s)
{
	GIVEN(sh, size_byte, mem_byte_per_s);
	LET(sh, time_s, size_byte / mem_byte_per_s);
	return time_s;
}
