/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A chain of operators that one kernel could do. */
#include "ask/launch/launch.h"

#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "model/calc/calc.h"

#include <string.h>

static bool
bind_op(struct run *r, const struct launch_in *in, struct word w, struct op *out)
{
	const char *colon = strchr(w.text, ':');
	const char *name = colon ? arena_copy(r->arena, w.text, (size_t)(colon - w.text)) : w.text;
	const enum op_kind kind = op_kind_find(name);
	const double rows = in->rows.value, width = in->width.value;
	struct datum reads = {1, w.from};

	if (kind == OP_NONE || !fusion_takes(kind)) {
		diag_error(r->diag, w.from,
		    kind == OP_NONE ? "'%s' is not an operator" : "'%s' cannot stand in a chain", name);
		diag_hint(r->diag, "a chain has gemm, norm, norm_unfused, softmax and elementwise");
		return false;
	}
	if (colon && (kind != OP_elementwise || !run_value(r, w.from, colon + 1, Q_COUNT, &reads)))
		return kind == OP_elementwise
		    ? false
		    : run_refuse(r, w.from, "only elementwise reads several operands", "elementwise:2");
	*out = (struct op){.kind = (int)kind,
	    .name = op_kind_name(kind),
	    .count = 1,
	    .elem_byte = dtype_byte(dtype_find(in->dtype.text))};
	for (int i = 0; op_dim_name(kind, i); i++)
		out->dim[i] = NAN;
	out->dim[0] = kind == OP_elementwise ? rows * width : rows;
	out->dim[1] = kind == OP_elementwise ? reads.value : width;
	if (kind == OP_gemm)
		run_reads(r, &in->k, NULL);
	if (kind == OP_gemm)
		out->dim[2] = datum_given(in->k) ? in->k.value : width;
	return op_fill(out) < 0;
}

static bool
bind_chain(struct run *r, const struct launch_in *in, struct op *ops)
{
	if (!datum_given(in->rows) || !datum_given(in->width))
		return run_refuse(r, in->chain.list[0].from, "how large is what passes through the chain?",
		    "add --rows 8192 --width 4096");
	if (!(run_whole(r, "rows", in->rows, 1) & run_whole(r, "width", in->width, 1) & run_whole(r, "k", in->k, 1)))
		return false;
	run_reads(r, &in->chain, &in->rows, &in->width, NULL);
	if (in->chain.n < 2)
		return run_refuse(
		    r, in->chain.list[0].from, "one operator is fused with nothing", "--chain gemm,norm,elementwise");
	for (size_t i = 0; i < in->chain.n; i++) {
		if (!bind_op(r, in, in->chain.list[i], &ops[i]))
			return false;
		if (i && ops[i].kind == OP_gemm)
			return run_refuse(r, in->chain.list[i].from,
			    "a gemm reads every row many times: it can only stand first",
			    "--chain gemm,norm,elementwise");
	}
	return true;
}

static void
show_chain_time(struct run *r, const struct launch_in *in, const struct gpu *gpu, double apart_byte,
    double together_byte, double n_saved)
{
	struct sheet *sh = r->sheet;

	if (gpu) {
		TAKE(sh, mem_byte_per_s, gpu->mem_byte_per_s);
		CALL(sh, apart_s, fusion_time(sh, apart_byte, mem_byte_per_s));
		SHOW(sh, apart_s, unfused_s);
		CALL(sh, together_s, fusion_time(sh, together_byte, mem_byte_per_s));
		SHOW(sh, together_s, fused_s);
		CALL(sh, speedup, scale_speedup_time(sh, apart_s, together_s));
		SHOW(sh, speedup, speedup);
	}
	if (datum_given(in->launch)) {
		TAKE(sh, launch_s, in->launch);
		CALL(sh, saved_host_s, launch_host(sh, n_saved, launch_s));
		SHOW(sh, saved_host_s, saved_host_s);
	}
}

enum answer
launch_chain(struct run *r, const struct launch_in *in)
{
	struct op *ops = ARENA_ARRAY(r->arena, struct op, in->chain.n);
	const struct chain c = {(int)in->chain.n, ops};
	const struct gpu *gpu = NULL;
	struct sheet *sh = r->sheet;

	if (!bind_chain(r, in, ops) || (in->gpu.text && !(gpu = run_gpu(r, in->gpu))))
		return REFUSED;
	run_word(r, "dtype", in->dtype);
	if (ops[0].kind == OP_gemm && !datum_given(in->k))
		run_assume_value(r, "k", "%g", in->width.value);
	r->title = "Fusing a chain of operators";
	for (int i = 0; i < c.n; i++)
		SCOPE_I (sh, "chain", i) {
			TELL(sh, operator, in->chain.list[i].text);
			CALL(sh, traffic_byte, op_total_byte(sh, &ops[i]));
			SHOW(sh, traffic_byte, traffic_byte);
			CALL(sh, own_byte, fusion_own(sh, &ops[i]));
			SHOW(sh, own_byte, own_byte);
		}
	TAKE(sh, n_kernels, c.n);
	SHOW(sh, n_kernels, n_kernels);
	TAKE(sh, n_fused, 1);
	CALL(sh, fewer, launch_fewer(sh, n_kernels, n_fused));
	SHOW(sh, fewer, fewer);
	CALL(sh, apart_byte, fusion_apart(sh, &c));
	SHOW(sh, apart_byte, unfused_byte);
	CALL(sh, together_byte, fusion_together(sh, &c));
	SHOW(sh, together_byte, fused_byte);
	CALL(sh, saved_byte, fusion_saved(sh, apart_byte, together_byte));
	SHOW(sh, saved_byte, saved_byte);
	CALL(sh, saved_frac, fusion_saved_frac(sh, apart_byte, together_byte));
	SHOW(sh, saved_frac, saved_frac);
	show_chain_time(r, in, gpu, apart_byte, together_byte, c.n - 1);
	if (ops[0].kind == OP_gemm)
		run_warn(
		    r, "a gemm with work between its tiles and the memory must keep whole rows on the chip for a norm");
	return ANSWERED;
}
