/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fits of one GPU for another: shares of peak and bandwidth, bytes and steps per clock, and times stay; peak,
 * bandwidth, clock, SMs, caches and links are the target's own.  The same holds for a GPU whose figures were set.
 */
#include "search/fit/fit.h"

#include <math.h>
#include <string.h>

/* GDDR reaches this share in GEMMs of few rows: found on L40S and RTX PRO 6000. */
static const double gddr_frac = 0.90;
/* The mean of |x| is 0.8 standard deviations of a normal x. */
static const double sigma_per_mean = 1.25;

/* What the target has over what the donor has, links NaN where they are of two kinds; `half` and `byte` are of the
 * products inside attention, of 16 and 8 bits. */
struct ratios {
	double peak[N_PEAKS], mem, clock, link, half, byte;
};

static struct datum
times(struct datum d, double factor)
{
	d.value *= factor;
	return d;
}

static double
links_of(const struct gpu *g)
{
	return datum_or(g->n_links, NAN) * datum_or(g->link_byte_per_s, NAN);
}

/* Cards that know nothing but the same slot. */
static bool
same_slot(const struct gpu *a, const struct gpu *b)
{
	return !a->link_kind && !b->link_kind && a->pcie && b->pcie && strcmp(a->pcie, b->pcie) == 0;
}

/* The peak of 16-bit products: bfloat16 where there is one, as in the fits. */
static double
wide_peak(const struct gpu *g)
{
	return datum_or(g->peak_flop_per_s[PEAK_BF16], datum_or(g->peak_flop_per_s[PEAK_FP16], NAN));
}

static struct ratios
ratios_of(const struct calibration *donor, const struct gpu *donor_gpu, const struct gpu *target,
    const struct calibration *reference)
{
	struct ratios r = {.mem = reference->ref_mem_byte_per_s.value / donor->ref_mem_byte_per_s.value,
	    .clock = reference->ref_clock_hertz.value / donor->ref_clock_hertz.value,
	    .link = same_slot(donor_gpu, target) ? 1 : links_of(target) / links_of(donor_gpu)};

	for (int p = 0; p < N_PEAKS; p++)
		r.peak[p] = datum_or(target->peak_flop_per_s[p], NAN) / datum_or(donor_gpu->peak_flop_per_s[p], NAN);
	/* fits of 16 bits are kept under both names, whichever of the two the GPU has */
	r.peak[PEAK_FP16] = r.peak[PEAK_BF16] = wide_peak(target) / wide_peak(donor_gpu);
	r.half = r.byte = r.peak[PEAK_BF16];
	return r;
}

/* Fixed times stay, and so do exponents and sizes. */
static struct param_units
units_of(const struct ratios *r, double peak)
{
	struct param_units u = param_units();

	u.by[FORM_OF_PEAK] = peak;
	u.by[FORM_OF_MEMORY] = u.by[FORM_MEMORY_RATE] = r->mem;
	u.by[FORM_PER_CLOCK] = r->clock;
	u.by[FORM_IN_CLOCKS] = 1 / r->clock;
	return u;
}

/* A family of products; without the peak there is none. */
static void
scale_products(
    const struct family *f, const struct ratios *r, enum peak p, void *figures, struct datum *peak, struct datum *base)
{
	const struct param_units u = units_of(r, r->peak[p]);

	if (!(peak->value > 0))
		return;
	family_scale(f, &u, figures);
	if (isnan(r->peak[p]))
		*peak = *base = datum_absent();
}

/* Bytes per element of the queries. */
static const double query_bytes[N_ATTENTION_FITS] = {
#define ATTENTION(id, text, head_dim, elem_byte, kv_elem_byte) elem_byte,
#include "model/hw/calibration.def"
#undef ATTENTION
};

static void
scale_attention(struct calibration *c, const struct ratios *r)
{
	const struct param_units half = units_of(r, r->half), byte = units_of(r, r->byte);

	family_scale(&family_context, &half, &c->context);
	family_scale(&family_context, &half, &c->mla_context);
	family_scale(&family_generation, &half, &c->generation);
	family_scale(&family_generation, &half, &c->mla_generation);
	for (int i = 0; i < N_ATTENTION_FITS; i++) {
		const struct param_units *u = query_bytes[i] < 2 ? &byte : &half;

		family_scale(&family_context, u, &c->attention_by[i].context);
		family_scale(&family_generation, u, &c->attention_by[i].generation);
	}
}

static void
scale_kernels(struct calibration *c, const struct ratios *r)
{
	for (int t = 0; t < N_DTYPES; t++) {
		const enum peak p = dtype_peak((enum dtype)t);
		struct gemm_calibration *g = &c->gemm[t], *w = &c->weight_only[t];
		struct moe_calibration *m = &c->moe[t], *n = &c->moe_weight_only[t];

		scale_products(&family_gemm, r, p, g, &g->peak_flop_per_s, &g->base_s);
		scale_products(&family_gemm, r, PEAK_BF16, w, &w->peak_flop_per_s, &w->base_s);
		scale_products(&family_moe, r, p, m, &m->peak_flop_per_s, &m->base_s);
		scale_products(&family_moe, r, PEAK_BF16, n, &n->peak_flop_per_s, &n->base_s);
	}
	scale_attention(c, r);
}

static void
scale_links(struct calibration *c, double rate)
{
	struct param_units u = param_units();

	u.by[FORM_LINK_RATE] = rate;
	for (int i = 0; i < N_COLLECTIVES; i++)
		family_scale(&family_collective, &u, &c->collective[i]);
	for (int i = 0; i < c->n_custom; i++)
		family_scale(&family_custom, &u, &c->custom[i]);
}

/* Between NVLink and a slot there is nothing to scale, and a bridge joins two cards of a node, not all. */
static void
scale_collectives(struct calibration *c, const struct ratios *r, const struct transfer *rule, const struct gpu *target)
{
	const double rate = target->link_bridge ? NAN : r->link * datum_or(rule->ring_frac, 1);

	for (int i = 0; i < N_COLLECTIVES; i++) {
		c->has_collective[i] = c->has_collective[i] && rate > 0;
		if (datum_given(rule->collective_base_s))
			c->collective[i].base_s = rule->collective_base_s;
	}
	if (!(rate > 0))
		c->n_custom = 0;
	scale_links(c, rate);
}

/* --- what the rule itself says --------------------------------------------------------------------------- */

/* Replace the parameter with the rule's. */
static void
replace_family(const struct family *f, const struct param_units *u, const void *given, void *figures)
{
	const struct datum *rule = given;
	struct datum *out = figures;

	for (int i = 0; i < f->n; i++)
		if (datum_given(rule[i]))
			out[i] = times(rule[i], param_scaled(u, f->rows[i].form, 1));
}

static void
replace(const struct transfer *rule, const struct calibration *ref, const struct gpu *target, struct calibration *out)
{
	const struct param_units u =
	    param_units_of(wide_peak(target), ref->ref_mem_byte_per_s.value, ref->ref_clock_hertz.value);
	const enum dtype wide[] = {DTYPE_FP16, DTYPE_BF16};

	for (size_t i = 0; i < 2; i++)
		replace_family(&family_gemm, &u, &rule->gemm, &out->gemm[wide[i]]);
	replace_family(&family_context, &u, &rule->context, &out->context);
	replace_family(&family_generation, &u, &rule->generation, &out->generation);
}

/*
 * Prompts attend in 8 bits where the products are faster so: the 16-bit kernel at this many times its rate, the median
 * of 13 fits to ai-dynamo/aiconfigurator@095f58a5 whose peaks differ by 2 (of 1.12 to 1.39 on cards with HBM).
 */
static const double narrow_speedup = 1.18, narrow_peaks = 2;

static void
add_narrow(const struct gpu *target, struct calibration *out)
{
	const double peaks = target->peak_flop_per_s[PEAK_FP8].value / wide_peak(target);

	for (int i = 0; i < N_ATTENTION_FITS && out->has_context && peaks > 0; i++)
		if (query_bytes[i] < 2 && !out->attention_by[i].has_context) {
			out->attention_by[i].has_context = true;
			out->attention_by[i].context = out->context;
			out->attention_by[i].context.flop_per_s =
			    times(out->context.flop_per_s, narrow_speedup * peaks / narrow_peaks);
		}
}

/* GDDR reaches more of its rate than HBM does. */
static void
raise_memory(const struct gpu *target, const struct calibration *ref, struct calibration *out)
{
	const double least = gpu_gddr_share(target, gddr_frac) * ref->ref_mem_byte_per_s.value;

	if (!gpu_has_gddr(target))
		return;
	for (int t = 0; t < N_DTYPES; t++)
		out->gemm[t].mem_byte_per_s.value = fmax(least, out->gemm[t].mem_byte_per_s.value);
}

/* Parameters from no donor: everything that the rule does not give stays absent. */
static void
start_empty(const struct transfer *rule, const struct calibration *ref, struct calibration *out)
{
	const double mem = ref->ref_mem_byte_per_s.value;

	out->has_gemm = true;
	for (int t = 0; t < N_DTYPES; t++) {
		out->gemm[t] = (struct gemm_calibration){.peak_flop_per_s = datum_absent(),
		    .base_s = datum_absent(),
		    .l2_byte_per_s = times(ref->ref_mem_byte_per_s, 4)};
		out->weight_only[t].base_s = out->weight_only[t].peak_flop_per_s = datum_absent();
		out->moe[t].base_s = out->moe[t].peak_flop_per_s = datum_absent();
		out->moe_weight_only[t].base_s = out->moe_weight_only[t].peak_flop_per_s = datum_absent();
	}
	out->has_context = datum_given(rule->context.flop_per_s);
	out->has_generation = datum_given(rule->generation.mem_byte_per_s) && mem > 0;
}

static struct transfer_sigma
sigma_of(const struct transfer *rule)
{
	return (struct transfer_sigma){
	    .gemm = sigma_per_mean * datum_or(rule->error.gemm, 0.2),
	    .context = sigma_per_mean * datum_or(rule->error.context, 0.3),
	    .generation = sigma_per_mean * datum_or(rule->error.generation, 0.3),
	    .moe = sigma_per_mean * datum_or(rule->error.moe, 0.3),
	    .collective = sigma_per_mean * datum_or(rule->error.collective, 0.3),
	};
}

void
transfer_calibration(const struct transfer *rule, const struct calibration *donor, const struct gpu *donor_gpu,
    const struct gpu *target, struct calibration *out)
{
	const struct calibration ref = calibrate_reference(target);

	memset(out, 0, sizeof *out);
	if (donor) {
		const struct ratios r = ratios_of(donor, donor_gpu, target, &ref);

		*out = *donor;
		scale_kernels(out, &r);
		scale_collectives(out, &r, rule, target);
	} else
		start_empty(rule, &ref, out);
	out->gpu = target->id;
	out->ref_peak_flop_per_s = ref.ref_peak_flop_per_s;
	out->ref_mem_byte_per_s = ref.ref_mem_byte_per_s;
	out->ref_clock_hertz = ref.ref_clock_hertz;
	out->ref_l2_byte = ref.ref_l2_byte;
	out->ref_n_sms = ref.ref_n_sms;
	memcpy(out->ref_peaks_flop_per_s, target->peak_flop_per_s, sizeof out->ref_peaks_flop_per_s);
	/* levels, launches and rates of instructions are another machine's: not theirs to give */
	out->memory.n_levels = 0;
	out->has_launch = false;
	for (int p = 0; p < N_PEAKS; p++)
		out->fma_flop_per_s[p] = datum_absent();
	replace(rule, &ref, target, out);
	add_narrow(target, out);
	raise_memory(target, &ref, out);
	out->transferred_from = rule->from ? rule->from : "median of all GPUs";
	out->transfer_sigma = sigma_of(rule);
}

/* --- other figures --------------------------------------------------------------------------------------- */

struct kernel_reference
reference_of_gpu(const struct gpu *gpu)
{
	struct kernel_reference out = {.mem_byte_per_s = gpu->mem_byte_per_s,
	    .clock_hertz = calibrate_clock(gpu),
	    .l2_byte = gpu->l2_byte,
	    .n_sms = gpu->n_sms};

	memcpy(out.peak_flop_per_s, gpu->peak_flop_per_s, sizeof out.peak_flop_per_s);
	return out;
}

struct kernel_reference
reference_of_fit(const struct calibration *c)
{
	struct kernel_reference out = {.mem_byte_per_s = c->ref_mem_byte_per_s,
	    .clock_hertz = c->ref_clock_hertz,
	    .l2_byte = c->ref_l2_byte,
	    .n_sms = c->ref_n_sms};

	memcpy(out.peak_flop_per_s, c->ref_peaks_flop_per_s, sizeof out.peak_flop_per_s);
	return out;
}

/* 1 where either is unknown, and where they differ by no more than the rounding of a unit. */
static double
ratio(struct datum to, struct datum from)
{
	if (!(to.value > 0) || !(from.value > 0) || fabs(to.value / from.value - 1) < 1e-9)
		return 1;
	return to.value / from.value;
}

/* The rate of a dtype; bf16 and fp16 substitute for each other. */
static struct datum
peak_of(const struct kernel_reference *r, enum peak p)
{
	const enum peak other = p == PEAK_BF16 ? PEAK_FP16 : p == PEAK_FP16 ? PEAK_BF16 : p;

	return r->peak_flop_per_s[p].value > 0 ? r->peak_flop_per_s[p] : r->peak_flop_per_s[other];
}

bool
reference_same(const struct kernel_reference *a, const struct kernel_reference *b)
{
	const struct datum of_a[] = {a->mem_byte_per_s, a->clock_hertz, a->l2_byte, a->n_sms};
	const struct datum of_b[] = {b->mem_byte_per_s, b->clock_hertz, b->l2_byte, b->n_sms};

	for (size_t i = 0; i < sizeof of_a / sizeof *of_a; i++)
		if (ratio(of_a[i], of_b[i]) != 1 || (datum_given(of_b[i]) && !datum_given(of_a[i])))
			return false;
	for (int p = 0; p < N_PEAKS; p++)
		if (ratio(a->peak_flop_per_s[p], b->peak_flop_per_s[p]) != 1)
			return false;
	return true;
}

static void
replace_figure(struct datum *d, struct datum to, double factor)
{
	if (factor != 1 || (!(d->value > 0) && datum_given(to)))
		*d = to;
}

/* What was measured of the parts: the last level is the memory. */
static void
scale_plateaus(struct calibration *c, const struct ratios *r)
{
	if (c->memory.n_levels > 0) {
		struct datum *last = &c->memory.level[c->memory.n_levels - 1].byte_per_s;
		*last = times(*last, r->mem);
	}
	for (int p = 0; p < N_PEAKS; p++)
		c->fma_flop_per_s[p] = times(c->fma_flop_per_s[p], r->peak[p]);
}

void
rebase_kernels(struct calibration *c, const struct kernel_reference *from, const struct kernel_reference *to)
{
	struct ratios r = {
	    .mem = ratio(to->mem_byte_per_s, from->mem_byte_per_s), .clock = ratio(to->clock_hertz, from->clock_hertz)};

	for (int p = 0; p < N_PEAKS; p++)
		r.peak[p] = ratio(peak_of(to, (enum peak)p), peak_of(from, (enum peak)p));
	r.half = r.peak[PEAK_BF16];
	r.byte = r.peak[PEAK_FP8];
	scale_kernels(c, &r);
	scale_plateaus(c, &r);
	replace_figure(&c->ref_peak_flop_per_s, peak_of(to, PEAK_BF16), r.half);
	replace_figure(&c->ref_mem_byte_per_s, to->mem_byte_per_s, r.mem);
	replace_figure(&c->ref_clock_hertz, to->clock_hertz, r.clock);
	replace_figure(&c->ref_l2_byte, to->l2_byte, ratio(to->l2_byte, from->l2_byte));
	replace_figure(&c->ref_n_sms, to->n_sms, ratio(to->n_sms, from->n_sms));
	for (int p = 0; p < N_PEAKS; p++)
		replace_figure(&c->ref_peaks_flop_per_s[p], to->peak_flop_per_s[p], r.peak[p]);
}

void
rebase_links(struct calibration *c, double factor)
{
	scale_links(c, factor);
}
