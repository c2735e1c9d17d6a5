/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPUs, peaks and memory levels of a roofline. */
#include "ask/roofline/roofline.h"

#include "model/collective/collective.h"

#include <string.h>

bool
roof_refuse(struct run *r, const char *what, const char *hint)
{
	diag_error(r->diag, (struct source){0}, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

bool
roof_machines(struct roof *q, const struct words *names, struct word backend)
{
	if (names->n == 0)
		return roof_refuse(q->run, "no GPU given", "add --gpu; 'ridge hw list' shows all");
	q->machines = ARENA_ARRAY(q->run->arena, struct machine, names->n);
	for (size_t i = 0; i < names->n; i++) {
		struct machine *m = &q->machines[i];
		m->gpu = run_gpu(q->run, names->list[i]);
		if (!m->gpu)
			continue;
		if (!datum_given(m->gpu->mem_byte_per_s)) {
			diag_error(q->run->diag, names->list[i].from,
			    "the memory bandwidth of %s is not in the database", m->gpu->id);
			continue;
		}
		roof_fits(q, m, backend);
		q->n++;
	}
	return q->n == names->n;
}

static bool
all_have(const struct roof *q, enum peak p)
{
	for (size_t i = 0; i < q->n; i++)
		if (!datum_given(q->machines[i].gpu->peak_flop_per_s[p]))
			return false;
	return true;
}

/* Nobody asked for a type: bf16, or fp16 where a GPU lacks it. */
bool
roof_peaks(struct roof *q, struct word dtype)
{
	const bool older = !all_have(q, PEAK_BF16) && all_have(q, PEAK_FP16);
	const struct word asked = dtype.text ? dtype : (struct word){older ? "fp16" : "bf16", {0}};
	bool ok = true;

	run_read_from(q->run, dtype.from);
	q->dtype = dtype_find(asked.text);
	if (!dtype.text)
		run_assume_as(
		    q->run, "dtype", asked.text, older ? "dtype %s: no bf16 on this GPU" : "dtype %s", asked.text);
	for (size_t i = 0; i < q->n; i++)
		ok = run_peak(q->run, q->machines[i].gpu, q->dtype, asked, &q->machines[i].peak) && ok;
	for (size_t i = 0; i < q->n; i++)
		q->machines[i].kernel = (struct kernel_machine){
		    q->machines[i].kernels, q->dtype, q->machines[i].peak, q->machines[i].gpu->mem_byte_per_s};
	return ok;
}

/* --- levels of the memory -------------------------------------------------------------------------------- */

/* Show one memory level: its bandwidth, and the intensity above which kernels are compute-bound from it. */
static void
show_level(
    struct sheet *sh, int i, const char *level, struct datum byte_per_s, double peak_flop_per_s, struct datum memory)
{
	SCOPE_I (sh, "levels", i) {
		TELL(sh, level, level);
		TAKE(sh, level_byte_per_s, byte_per_s);
		SHOW(sh, level_byte_per_s, byte_per_s);
		if (i > 0 && datum_given(byte_per_s) && datum_given(memory)) {
			TAKE(sh, memory_byte_per_s, memory);
			CALL(sh, memory_ratio, link_ratio(sh, level_byte_per_s, memory_byte_per_s));
		}
		if (!isnan(peak_flop_per_s)) {
			CALL(sh, level_ridge_flop_per_byte, ridge_point(sh, peak_flop_per_s, level_byte_per_s));
			SHOW(sh, level_ridge_flop_per_byte, ridge_flop_per_byte);
		}
	}
}

static struct datum
computed(double value)
{
	return (struct datum){value, {"unit counts", 0, 0, NULL, false}};
}

/* A measured L2 plateau only: the L2 rate of a GEMM fit is not a bandwidth of L2. */
static struct datum
l2_rate(const struct calibration *c)
{
	for (int i = 0; c && i < c->memory.n_levels; i++)
		if (strcmp(c->memory.level[i].name, "l2") == 0)
			return c->memory.level[i].byte_per_s;
	return datum_absent();
}

/* Show memory levels; figures without a source or calibration are left out. */
void
roof_show_levels(const struct roof *q, const struct machine *m, double peak_flop_per_s)
{
	struct sheet *sh = q->run->sheet;
	const struct gpu *gpu = m->gpu;
	const double port_byte = shared_port_byte(gpu->architecture);
	struct datum shared = datum_absent(), registers = datum_absent();

	if (datum_given(gpu->n_sms) && datum_given(gpu->clock_max_hertz)) {
		TAKE(sh, n_sms, gpu->n_sms);
		TAKE(sh, clock_hertz, gpu->clock_max_hertz);
		if (!isnan(port_byte)) {
			CALL(sh, shared_byte_per_s, shared_memory_rate(sh, n_sms, port_byte, clock_hertz));
			shared = computed(shared_byte_per_s);
		}
		if (datum_given(gpu->fp32_per_sm)) {
			TAKE(sh, fp32_per_sm, gpu->fp32_per_sm);
			CALL(sh, register_byte_per_s, register_rate(sh, n_sms, fp32_per_sm, clock_hertz));
			registers = computed(register_byte_per_s);
		}
	}
	show_level(
	    sh, 0, gpu->mem_type ? gpu->mem_type : "memory", gpu->mem_byte_per_s, peak_flop_per_s, gpu->mem_byte_per_s);
	if (datum_given(l2_rate(m->kernels)))
		show_level(sh, 1, "L2, as measured", l2_rate(m->kernels), peak_flop_per_s, gpu->mem_byte_per_s);
	if (datum_given(shared))
		show_level(sh, 2, "shared memory", shared, peak_flop_per_s, gpu->mem_byte_per_s);
	if (datum_given(registers))
		show_level(sh, 3, "registers, fp32 units", registers, peak_flop_per_s, gpu->mem_byte_per_s);
}

/* Show peaks computed from unit counts and clock next to the listed ones. */
void
roof_show_units(const struct roof *q, const struct gpu *gpu)
{
	struct sheet *sh = q->run->sheet;
	const struct datum clock =
	    datum_given(gpu->clock_tensor_hertz) ? gpu->clock_tensor_hertz : gpu->clock_max_hertz;

	if (!datum_given(gpu->n_sms) || !datum_given(clock))
		return;
	if (datum_given(gpu->tensor_fma_per_sm)) {
		CALL(sh, fp16_unit_flop_per_s,
		    unit_peak(sh, gpu->n_sms.value, gpu->tensor_fma_per_sm.value, clock.value));
		SHOW(sh, fp16_unit_flop_per_s, unit_fp16_flop_per_s);
	}
	if (datum_given(gpu->fp32_per_sm) && datum_given(gpu->clock_max_hertz)) {
		CALL(sh, fp32_unit_flop_per_s,
		    unit_peak(sh, gpu->n_sms.value, gpu->fp32_per_sm.value, gpu->clock_max_hertz.value));
		SHOW(sh, fp32_unit_flop_per_s, unit_fp32_flop_per_s);
	}
}

/* --- a measured time ------------------------------------------------------------------------------------- */

/* Faster than the machine: the work, the bytes or the time is wrong. */
enum answer
roof_show_measured(const struct roof *q, const struct machine *m, struct datum measured, double work_flop,
    double traffic_byte, double roof_s)
{
	struct sheet *sh = q->run->sheet;

	if (!datum_given(measured))
		return ANSWERED;
	TAKE(sh, measured_s, measured);
	CALL(sh, of_roof_frac, roofline_measured_frac(sh, roof_s, measured_s));
	CALL(sh, attained_frac, roofline_rate_frac(sh, work_flop, measured_s, m->peak.value));
	CALL(sh, moved_frac, roofline_traffic_frac(sh, traffic_byte, measured_s, m->gpu->mem_byte_per_s.value));
	SHOW(sh, measured_s, measured_s);
	SHOW(sh, attained_frac, measured_frac);
	SHOW(sh, moved_frac, measured_mem_frac);
	SHOW(sh, of_roof_frac, measured_roof_frac);
	const char *verdict = attained_frac > 1 ? "infeasible: above the compute peak"
	    : moved_frac > 1                    ? "infeasible: above the memory bandwidth"
	                                        : "feasible";
	TELL(sh, verdict, verdict);
	if (attained_frac <= 1 && moved_frac > 1)
		run_warn(q->run, "do not count bytes served by a cache as memory traffic");
	return attained_frac > 1 || moved_frac > 1 ? ANSWERED_NO : ANSWERED;
}

void
roof_show_place(struct sheet *sh, const struct point *p)
{
	SHOW(sh, ridge_flop_per_byte, ridge_flop_per_byte);
	TELL(sh, bottleneck, roofline_bound(p->intensity_flop_per_byte, p->ridge_flop_per_byte));
	SHOW(sh, attainable_flop_per_s, attainable_flop_per_s);
	SHOW(sh, of_peak_frac, peak_frac);
}

void
roof_show_gains(struct sheet *sh, const struct point *p)
{
	CALL(sh, bandwidth_gain, roofline_bandwidth_gain(sh, p->compute_s, p->memory_s));
	CALL(sh, arithmetic_gain, roofline_arithmetic_gain(sh, p->compute_s, p->memory_s));
	if (bandwidth_gain > 1 && !isinf(bandwidth_gain))
		SHOW(sh, bandwidth_gain, memory_gain);
	if (arithmetic_gain > 1)
		SHOW(sh, arithmetic_gain, compute_gain);
}

/* Matrix units read 16 bytes at a time along n and k; NULL: both are whole multiples of that. */
static const char *
misaligned(struct sheet *sh, const struct op *op)
{
	const double elem_byte = floor(4 * op->elem_byte) / 4; /* without the scales of blocks */

	CALL(sh, n_left_over, alignment_left_over(sh, op->dim[1], elem_byte));
	CALL(sh, k_left_over, alignment_left_over(sh, op->dim[2], elem_byte));
	return n_left_over > 0 ? (k_left_over > 0 ? "n and k" : "n") : k_left_over > 0 ? "k" : NULL;
}

void
roof_show_alignment(const struct roof *q, const struct machine *m, const struct op *op)
{
	struct run *r = q->run;

	if (op->kind != OP_gemm)
		return;
	const char *which = misaligned(r->sheet, op);
	TELL(r->sheet, alignment, which ? arena_printf(r->arena, "no: %s", which) : "yes");
	if (which && kernel_of(&m->kernel, op) == KERNEL_PRODUCT)
		run_warn(r, "calibrated for aligned GEMMs: pad %s, or the GEMM takes longer", which);
}

/* Gates of one column are products too, of no time to speak of. */
static bool
matters(const struct machine *m, const struct op *op, double list_s)
{
	return roofline_op(NULL, op, m->peak.value, m->gpu->mem_byte_per_s.value) > 0.01 * list_s;
}

void
roof_warn_alignment(const struct roof *q, const struct machine *m, const struct op *ops, int n, double list_s)
{
	const char *names = NULL;

	for (int i = 0; i < n; i++)
		if (ops[i].kind == OP_gemm && kernel_of(&m->kernel, &ops[i]) == KERNEL_PRODUCT &&
		    misaligned(NULL, &ops[i]) && matters(m, &ops[i], list_s) && (!names || !strstr(names, ops[i].name)))
			names = names ? arena_printf(q->run->arena, "%s, %s", names, ops[i].name) : ops[i].name;
	if (names)
		run_warn(q->run, "calibrated for GEMMs with n and k multiples of 16 bytes, unlike: %s", names);
}
