/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * No kernel is faster than its roof, a figure that is set moves it the right way, a product of more rows takes no less
 * time, and a GPU that takes another's kernels takes them as they are.
 */
#include "law/physics.h"

#include "ask/roofline/roofline.h"
#include "db/db.h"

#include <string.h>

extern const struct command roofline_command;

static const enum dtype TYPES[] = {DTYPE_BF16, DTYPE_FP16, DTYPE_FP8, DTYPE_FP8_BLOCK, DTYPE_NVFP4, DTYPE_INT8};
enum { N_TYPES = sizeof TYPES / sizeof *TYPES };

#define OPERATOR(k, ...)                                                                                               \
	{                                                                                                              \
		.kind = OP_##k, .dim = {__VA_ARGS__}, .count = 1, .name = #k                                           \
	}
static const struct op OPS[] = {
    OPERATOR(gemm, 1, 8192, 8192),
    OPERATOR(gemm, 16, 16384, 16384),
    OPERATOR(gemm, 64, 4096, 14336),
    OPERATOR(gemm, 777, 6144, 4096),
    OPERATOR(gemm, 4096, 4096, 4096),
    OPERATOR(gemm, 16384, 8192, 28672),
    OPERATOR(gemm, 8192, 128256, 8192),
    OPERATOR(gemm, 4096, 4096, 64),
    OPERATOR(gemm, 64, 64, 65536),
    OPERATOR(gemv, 16384, 16384),
    OPERATOR(bmm, 256, 128, 128, 512),
    OPERATOR(bmm, 64, 1, 4096, 128),
    OPERATOR(grouped, 8, 16, 14336, 4096),
    OPERATOR(grouped, 8, 8192, 14336, 4096),
    OPERATOR(grouped, 128, 65536, 1536, 2048),
    OPERATOR(attention, 1, 32, 8192, 8192, 128, 8, 128, 4096.5),
    OPERATOR(attention, 64, 8, 512, 512, 128, 8, 128, 256.5),
    OPERATOR(attention, 4, 32, 2048, 2048, 64, 8, 64, 1024.5),
    OPERATOR(attention, 1, 16, 65536, 65536, 128, 2, 128, 32768.5),
    OPERATOR(attention, 64, 32, 1, 8192, 128, 8, 128, 8192),
    OPERATOR(attention, 1, 32, 1, 131072, 128, 8, 128, 131072),
    OPERATOR(attention, 256, 64, 1, 2048, 64, 8, 64, 2048),
    OPERATOR(attention, 512, 8, 1, 16, 128, 1, 128, 16),
    OPERATOR(attention_latent, 64, 128, 1, 8192, 512, 64, 8192),
    OPERATOR(attention, 1, 128, 8192, 8192, 192, 128, 128, 4096.5),
    OPERATOR(norm, 8192, 8192),
    OPERATOR(softmax, 512, 512),
    OPERATOR(elementwise, 1e9, 2, 1, 1),
    OPERATOR(elementwise, 1e6, 2, 1, 1),
    OPERATOR(embedding, 8192, 8192, 128256),
};
enum { N_OPS = sizeof OPS / sizeof *OPS };

/* --- a GPU ----------------------------------------------------------------------------------------------- */

struct card {
	struct run run;
	struct machine machine;
	bool known; /* it has arithmetic of this type */
};

static struct card
card_of(struct lab *w, const char *gpu, enum dtype t, const char *path, const char *text)
{
	struct card c = {.run = lab_ask(w, &roofline_command, path, text)};
	struct word name = {gpu, {"law", 0, 0, NULL, false}};
	struct roof q = {.run = &c.run};

	if (!roof_machines(&q, &(struct words){1, &name}, (struct word){0}))
		return c;
	if (datum_given(q.machines[0].gpu->peak_flop_per_s[dtype_peak(t)]) &&
	    roof_peaks(&q, (struct word){dtype_name(t), name.from})) {
		c.machine = q.machines[0];
		c.known = true;
	}
	return c;
}

static struct op
op_of(int i, enum dtype t)
{
	struct op op = OPS[i];

	op.elem_byte = dtype_byte(t);
	return op;
}

/* NaN where nobody fitted a kernel. */
static double
time_of(const struct card *c, const struct op *op)
{
	if (!c->known || kernel_of(&c->machine.kernel, op) == KERNEL_NONE)
		return NAN;
	return kernel_op_time(NULL, &c->machine.kernel, op);
}

static double
roof_of(const struct card *c, const struct op *op)
{
	const struct cost cost = op_cost(NULL, op);

	return roofline_s(
	    NULL, cost.work_flop, cost.traffic_byte, c->machine.peak.value, c->machine.gpu->mem_byte_per_s.value);
}

static const char *
op_text(struct lab *w, const struct op *op)
{
	const char *text = op->name;

	for (int i = 0; op_dim_name((enum op_kind)op->kind, i); i++)
		text = arena_printf(w->question, "%s %g", text, op->dim[i]);
	return text;
}

/* --- the roof -------------------------------------------------------------------------------------------- */

static void
times_of(struct lab *w, const struct card *c, enum dtype t, const char *where, double *out)
{
	for (int i = 0; i < N_OPS; i++) {
		const struct op op = op_of(i, t);
		out[i] = time_of(c, &op);
		w->faults->n_rows++;
		if (out[i] < roof_of(c, &op) * (1 - 1e-9))
			fault_report(w->faults, w->faults->where, "%s in %s%s: %.3g of its roof", op_text(w, &op),
			    dtype_name(t), where, out[i] / roof_of(c, &op));
	}
}

/* --- what is set ----------------------------------------------------------------------------------------- */

struct kernel_setting {
	const char *path, *unit;
	struct datum value;
};

/* The time at the roof where this figure alone makes it, by a factor of 4, so that half of it still does; 0 where it
 * does not, or is less than fixed costs and caches blur. */
static double
bound_by(const struct card *c, const struct op *op, bool memory)
{
	/* attention in 8 bits that nobody fitted runs in 16 */
	const bool attends = op->kind == OP_attention || op->kind == OP_attention_latent;
	if (!c->known || (attends && !memory && op->elem_byte < 2 && c->machine.kernel.dtype != DTYPE_FP8) ||
	    (attends && !memory && op->elem_byte < 2 && op->dim[6] != op->dim[4]))
		return 0;
	const struct cost cost = op_cost(NULL, op);
	const double memory_s = cost.traffic_byte / c->machine.gpu->mem_byte_per_s.value;
	const double compute_s = cost.work_flop / c->machine.peak.value;

	const double bound_s = memory  ? (memory_s > 4 * compute_s ? memory_s : 0)
	    : compute_s > 4 * memory_s ? compute_s
	                               : 0;

	return bound_s > 50e-6 ? bound_s : 0;
}

static void
check_set(struct lab *w, const char *gpu, enum dtype t, const struct kernel_setting *f)
{
	static const double factors[] = {0.25, 0.5, 1, 2, 4};
	double times[5][N_OPS], bound[N_OPS];

	if (!datum_given(f->value))
		return;
	for (int k = 0; k < 5; k++) {
		char text[40];
		snprintf(text, sizeof text, "%.15g%s", f->value.value * factors[k], f->unit);
		const struct card c = card_of(w, gpu, t, f->path, text);
		times_of(w, &c, t, arena_printf(w->question, " at %g of %s", factors[k], f->path), times[k]);
		for (int i = 0; i < N_OPS && k == 2; i++) {
			const struct op op = op_of(i, t);
			bound[i] = bound_by(&c, &op, strstr(f->path, "memory") != NULL);
		}
	}
	for (int i = 0; i < N_OPS; i++) {
		const struct op op = op_of(i, t);
		for (int k = 1; k < 5; k++)
			if (times[k][i] > times[k - 1][i] * (1 + 1e-9))
				fault_report(w->faults, w->faults->where, "%s in %s: %.4g s at %g of %s, %.4g s at %g",
				    op_text(w, &op), dtype_name(t), times[k][i], factors[k], f->path, times[k - 1][i],
				    factors[k - 1]);
		/* where another limit is nearly as slow the two meet smoothly, and it takes its share */
		if (times[1][i] - times[2][i] < 0.5 * bound[i] || times[1][i] > 2 * times[2][i] * (1 + 1e-9))
			fault_report(w->faults, w->faults->where,
			    "%s in %s: bound by %s for %.3g s, takes %.3g s and %.3g s at half of it", op_text(w, &op),
			    dtype_name(t), f->path, bound[i], times[2][i], times[1][i]);
	}
}

static void
check_figures(struct lab *w, const struct gpu *g, enum dtype t)
{
	const struct kernel_setting figures[] = {
	    {"gpu.memory.bandwidth", "B/s", g->mem_byte_per_s},
	    {arena_printf(w->arena, "gpu.peak.%s", peak_name(dtype_peak(t))), "FLOP/s",
	        g->peak_flop_per_s[dtype_peak(t)]},
	};

	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		check_set(w, g->id, t, &figures[i]);
}

/* --- products -------------------------------------------------------------------------------------------- */

static const double PRODUCTS[][2] = {
    {4096, 4096}, {8192, 8192}, {28672, 4096}, {512, 16384}, {1024, 4096}, {8192, 128}};
enum { N_PRODUCTS = sizeof PRODUCTS / sizeof *PRODUCTS, MOST_ROWS = 4096 };

static double
product_time(const struct card *c, enum dtype t, double m, double n, double k)
{
	const struct op op = {
	    .kind = OP_gemm, .dim = {m, n, k}, .count = 1, .elem_byte = dtype_byte(t), .name = "gemm"};

	return time_of(c, &op);
}

/* Of two products the one with more rows takes longer, or as long: a library can pad. */
static void
check_rows(struct lab *w, const struct card *c, enum dtype t)
{
	for (int i = 0; i < N_PRODUCTS; i++) {
		double before = 0;
		for (int m = 1; m <= MOST_ROWS; m++) {
			const double now = product_time(c, t, m, PRODUCTS[i][0], PRODUCTS[i][1]);
			w->faults->n_rows++;
			if (now < 0.995 * before)
				fault_report(w->faults, w->faults->where,
				    "gemm in %s, n %g, k %g: %.4g s for %d rows, %.4g s for one less", dtype_name(t),
				    PRODUCTS[i][0], PRODUCTS[i][1], now, m, before);
			before = now;
		}
	}
}

/* Scales of blocks cost Ada's kernels more than their narrow products gain: in the rows measured on L40S they are
 * slower than 16 bits, and its fits are those of the other cards. */
static bool
is_measured_so(const char *gpu, enum dtype t)
{
	static const char *const ada[] = {"l4", "l40", "l40s", "rtx4090", "rtx6000ada", "rtx5000ada", "rtx4000ada"};

	for (size_t i = 0; i < sizeof ada / sizeof *ada; i++)
		if (strcmp(gpu, ada[i]) == 0)
			return t == DTYPE_FP8_BLOCK;
	return false;
}

/* Narrower types are made for this.  What casting costs makes them even at the smallest of these: the median of three
 * engines on B300 is 88.9 us in fp8 and 87.8 in bf16 for 4352 x 4096 x 4096. */
static void
check_narrow(struct lab *w, const struct gpu *g)
{
	static const enum dtype narrow[] = {DTYPE_FP8, DTYPE_FP8_BLOCK, DTYPE_NVFP4};
	static const double sides[] = {4096, 8192, 16384};
	double wide[3][3][3];

	const struct card half = card_of(w, g->id, DTYPE_BF16, NULL, NULL);
	for (int i = 0; i < 27; i++)
		wide[i / 9][i / 3 % 3][i % 3] =
		    product_time(&half, DTYPE_BF16, sides[i / 9], sides[i / 3 % 3], sides[i % 3]);
	for (int t = 0; t < 3; t++) {
		const struct card c = card_of(w, g->id, narrow[t], NULL, NULL);
		for (int i = 0; i < 27 && !is_measured_so(g->id, narrow[t]); i++) {
			const double m = sides[i / 9], n = sides[i / 3 % 3], k = sides[i % 3];
			const double time_s = product_time(&c, narrow[t], m, n, k);
			w->faults->n_rows++;
			if (time_s > 1.03 * wide[i / 9][i / 3 % 3][i % 3])
				fault_report(w->faults, g->id, "%s products of %g %g %g: %.2f of the time in bf16",
				    dtype_name(narrow[t]), m, n, k, time_s / wide[i / 9][i / 3 % 3][i % 3]);
		}
	}
}

/* --- another GPU's kernels ------------------------------------------------------------------------------- */

/* Skip kernels that the target has its own fits or figures for: no donor gives them.  For the rest, traffic reaches
 * what 16-bit products do. */
static bool
is_own(struct run *r, const struct gpu *g, const struct transfer *rule, const struct kernel_machine *m,
    const struct op *op)
{
	const struct calibration *own = filed_fit(r, g, NULL);
	const bool given = dtype_byte(m->dtype) == 2 && datum_given(rule->gemm.peak_flop_per_s);

	switch (kernel_of(m, op)) {
	case KERNEL_PRODUCT:
	case KERNEL_BATCHED:
		return given || (own && own->gemm[m->dtype].peak_flop_per_s.value > 0);
	case KERNEL_EXPERTS:
		return own && own->moe[m->dtype].peak_flop_per_s.value > 0;
	case KERNEL_STREAM:
		return own && own->gemm[DTYPE_BF16].peak_flop_per_s.value > 0;
	default:
		return false;
	}
}

/* A target with the donor's figures is the donor. */
static void
check_donor(struct lab *w, const struct gpu *g)
{
	const char *said;
	struct run r = lab_ask(w, &roofline_command, NULL, NULL);
	const struct transfer *rule = database_transfer(w->database, w->arena, w->diag, g);
	const struct calibration *own = bind_kernels(&r, g, NULL, KERNELS_ROOFLINE, NULL);

	if (!rule || !rule->from || !own || !own->transferred_from || datum_given(rule->gemm.base_s) ||
	    (g->mem_type && strncmp(g->mem_type, "GDDR", 4) == 0))
		return;
	const struct gpu *donor = database_gpu(w->database, rule->from, NULL, (struct source){0}, &said);
	lab_set(&r, "gpu.memory.bandwidth", donor->mem_byte_per_s, "B/s");
	lab_set(&r, "gpu.clock.tensor",
	    datum_given(donor->clock_tensor_hertz) ? donor->clock_tensor_hertz : donor->clock_max_hertz, "Hz");
	lab_set(&r, "gpu.l2.size", donor->l2_byte, "B");
	lab_set(&r, "gpu.sms", donor->n_sms, "");
	for (int p = 0; p < N_PEAKS; p++)
		lab_set(&r, arena_printf(w->question, "gpu.peak.%s", peak_name((enum peak)p)),
		    donor->peak_flop_per_s[p], "FLOP/s");
	const struct gpu *same = run_gpu(&r, (struct word){g->id, {0}});
	if (!same) {
		fault_report(w->faults, g->id, "cannot be given the figures of %s", donor->id);
		return;
	}
	for (int t = 0; t < N_TYPES; t++) {
		const struct card of_donor = {
		    .machine = {.kernel = {bind_kernels(&r, donor, NULL, KERNELS_ROOFLINE, NULL), TYPES[t],
		                    donor->peak_flop_per_s[dtype_peak(TYPES[t])], donor->mem_byte_per_s}},
		    .known = datum_given(g->peak_flop_per_s[dtype_peak(TYPES[t])])};
		struct card of_target = of_donor;
		of_target.machine.kernel.fit = bind_kernels(&r, same, NULL, KERNELS_ROOFLINE, NULL);
		for (int i = 0; i < N_OPS; i++) {
			const struct op op = op_of(i, TYPES[t]);
			if (is_own(&r, g, rule, &of_target.machine.kernel, &op))
				continue;
			const double here = time_of(&of_target, &op), there = time_of(&of_donor, &op);
			w->faults->n_rows++;
			if (fabs(here / there - 1) > 1e-3) /* ratios of the peaks of 8 and 16 bits are rounded */
				fault_report(w->faults, g->id,
				    "%s in %s: %.4g s with the figures of %s, which takes %.4g s", op_text(w, &op),
				    dtype_name(TYPES[t]), here, donor->id, there);
		}
	}
}

void
kernel_laws(struct faults *f)
{
	struct lab w;
	size_t n;
	const char *said;

	lab_open(&w, f);
	const char **ids = database_list(w.database, ENTRY_GPU, &n);
	for (size_t i = 0; i < n; i++) {
		const struct gpu *g = database_gpu(w.database, ids[i], NULL, (struct source){0}, &said);
		f->where = ids[i];
		for (int t = 0; g && t < N_TYPES; t++) {
			double times[N_OPS];
			struct card c = card_of(&w, ids[i], TYPES[t], NULL, NULL);
			if (!c.known || !c.machine.kernels)
				continue;
			times_of(&w, &c, TYPES[t], "", times);
			check_rows(&w, &c, TYPES[t]);
			check_figures(&w, g, TYPES[t]);
		}
		if (g) {
			check_narrow(&w, g);
			check_donor(&w, g);
		}
	}
	lab_close(&w);
}
