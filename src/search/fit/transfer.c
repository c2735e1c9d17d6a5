/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fits of one GPU for another: shares of peak and bandwidth, bytes and steps per clock, and times stay; peak,
 * bandwidth, clock, SMs, caches and links are the target's own.  The same holds for a GPU whose figures were set.
 */
#include "search/fit/fit.h"

#include <math.h>
#include <string.h>

/* GDDR reaches this share in matrix products of few rows: found on L40S and RTX PRO 6000. */
static const double gddr_frac = 0.90;
/* The mean of |x| is 0.8 standard deviations of a normal x. */
static const double sigma_per_mean = 1.25;

/* What the target has over what the donor has; `half` and `byte` are of the products inside attention, of 16 and 8
 * bits. */
struct ratios {
	double peak[N_PEAKS], mem, clock, link, half, byte;
};

static struct datum
times(struct datum d, double factor)
{
	d.value *= factor;
	return d;
}

/* A replacement, or what was there. */
static struct datum
instead(struct datum replacement, double unit, struct datum was)
{
	return datum_given(replacement) ? times(replacement, unit) : was;
}

static double
links_of(const struct gpu *g)
{
	return datum_or(g->n_links, NAN) * datum_or(g->link_byte_per_s, NAN);
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
	    .link = links_of(target) / links_of(donor_gpu)};

	for (int p = 0; p < N_PEAKS; p++)
		r.peak[p] = datum_or(target->peak_flop_per_s[p], NAN) / datum_or(donor_gpu->peak_flop_per_s[p], NAN);
	/* fits of 16 bits are kept under both names, whichever of the two the GPU has */
	r.peak[PEAK_FP16] = r.peak[PEAK_BF16] = wide_peak(target) / wide_peak(donor_gpu);
	r.half = r.byte = r.peak[PEAK_BF16];
	return r;
}

static void
scale_gemm(struct gemm_calibration *g, const struct ratios *r, enum peak p)
{
	if (!(g->peak_flop_per_s.value > 0))
		return;
	g->peak_flop_per_s = isnan(r->peak[p]) ? datum_absent() : times(g->peak_flop_per_s, r->peak[p]);
	g->mem_byte_per_s = times(g->mem_byte_per_s, r->mem);
	g->l2_byte_per_s = times(g->l2_byte_per_s, r->mem);
	g->feed_byte_per_s = times(g->feed_byte_per_s, r->clock);
	g->k_step_s = times(g->k_step_s, 1 / r->clock);
	g->quantise_byte_per_s = times(g->quantise_byte_per_s, r->mem);
	if (isnan(r->peak[p]))
		g->base_s = datum_absent();
}

static void
scale_moe(struct moe_calibration *m, const struct ratios *r, enum peak p)
{
	if (!(m->peak_flop_per_s.value > 0))
		return;
	m->peak_flop_per_s = isnan(r->peak[p]) ? datum_absent() : times(m->peak_flop_per_s, r->peak[p]);
	m->mem_byte_per_s = times(m->mem_byte_per_s, r->mem);
	m->feed_byte_per_s = times(m->feed_byte_per_s, r->clock);
	m->k_step_s = times(m->k_step_s, 1 / r->clock);
	m->permute_byte_per_s = times(m->permute_byte_per_s, r->mem);
	m->route_byte_per_s = times(m->route_byte_per_s, r->mem);
	m->l2_byte_per_s = times(m->l2_byte_per_s, r->mem);
	if (isnan(r->peak[p]))
		m->base_s = datum_absent();
}

static void
scale_context(struct context_calibration *c, const struct ratios *r, double peak)
{
	c->flop_per_s = times(c->flop_per_s, peak);
	c->mem_byte_per_s = times(c->mem_byte_per_s, r->mem);
	c->kv_byte_per_s = times(c->kv_byte_per_s, r->mem);
	c->l2_byte_per_s = times(c->l2_byte_per_s, r->mem);
}

static void
scale_generation(struct generation_calibration *g, const struct ratios *r, double peak)
{
	g->mem_byte_per_s = times(g->mem_byte_per_s, r->mem);
	g->query_byte_per_s = times(g->query_byte_per_s, r->mem);
	g->l2_byte_per_s = times(g->l2_byte_per_s, r->mem);
	g->flop_per_s = times(g->flop_per_s, peak);
}

/* Bytes per element of the queries. */
static const double query_bytes[N_ATTENTION_FITS] = {
#define ATTENTION(id, text, head_dim, elem_byte, kv_elem_byte) elem_byte,
#include "model/hw/attention.def"
#undef ATTENTION
};

static void
scale_attention(struct calibration *c, const struct ratios *r)
{
	scale_context(&c->context, r, r->half);
	scale_context(&c->mla_context, r, r->half);
	scale_generation(&c->generation, r, r->half);
	scale_generation(&c->mla_generation, r, r->half);
	for (int i = 0; i < N_ATTENTION_FITS; i++) {
		const double peak = query_bytes[i] < 2 ? r->byte : r->half;
		scale_context(&c->attention_by[i].context, r, peak);
		scale_generation(&c->attention_by[i].generation, r, peak);
	}
}

static void
scale_kernels(struct calibration *c, const struct ratios *r)
{
	for (int t = 0; t < N_DTYPES; t++) {
		const enum peak p = dtype_peak((enum dtype)t);

		scale_gemm(&c->gemm[t], r, p);
		scale_gemm(&c->weight_only[t], r, PEAK_BF16);
		scale_moe(&c->moe[t], r, p);
	}
	scale_attention(c, r);
}

static void
scale_links(struct calibration *c, double rate)
{
	for (int i = 0; i < N_COLLECTIVES; i++) {
		c->collective[i].bus_byte_per_s = times(c->collective[i].bus_byte_per_s, rate);
		c->collective[i].nvls_byte_per_s = times(c->collective[i].nvls_byte_per_s, rate);
	}
	for (int i = 0; i < c->n_custom; i++) {
		c->custom[i].one_byte_per_s = times(c->custom[i].one_byte_per_s, rate);
		c->custom[i].two_byte_per_s = times(c->custom[i].two_byte_per_s, rate);
	}
}

/* Without NVLink on both sides there is nothing to scale, and a bridge joins two cards of a node, not all. */
static void
scale_collectives(struct calibration *c, const struct ratios *r, const struct transfer *rule, const struct gpu *target)
{
	const double rate = target->link_bridge ? NAN : r->link * datum_or(rule->ring_frac, 1);

	for (int i = 0; i < N_COLLECTIVES; i++) {
		c->has_collective[i] = c->has_collective[i] && rate > 0;
		c->collective[i].base_s = instead(rule->collective_base_s, 1, c->collective[i].base_s);
	}
	if (!(rate > 0))
		c->n_custom = 0;
	scale_links(c, rate);
}

/* --- what the rule itself says --------------------------------------------------------------------------- */

static void
replace_gemm(const struct transfer *rule, const struct calibration *ref, double peak, struct gemm_calibration *g)
{
	const double mem = ref->ref_mem_byte_per_s.value, clock = ref->ref_clock_hertz.value;

	g->peak_flop_per_s = instead(rule->eta_c, peak, g->peak_flop_per_s);
	g->mem_byte_per_s = instead(rule->eta_m, mem, g->mem_byte_per_s);
	g->base_s = instead(rule->base_s, 1, g->base_s);
	g->feed_byte_per_s = instead(rule->feed, clock, g->feed_byte_per_s);
	g->tile_s = instead(rule->tile_s, 1, g->tile_s);
	g->k_step_s = instead(rule->k_step, 1 / clock, g->k_step_s);
	g->wave_frac = instead(rule->wave, 1, g->wave_frac);
	g->derate = instead(rule->derate, 1, g->derate);
}

static void
replace(const struct transfer *rule, const struct calibration *ref, const struct gpu *target, struct calibration *out)
{
	const double mem = ref->ref_mem_byte_per_s.value, peak = wide_peak(target);
	const enum dtype wide[] = {DTYPE_FP16, DTYPE_BF16};

	for (size_t i = 0; i < 2; i++)
		replace_gemm(rule, ref, peak, &out->gemm[wide[i]]);
	out->context.flop_per_s = instead(rule->eta_a, peak, out->context.flop_per_s);
	out->context.base_s = instead(rule->context_base_s, 1, out->context.base_s);
	out->context.block_s = instead(rule->block_s, 1, out->context.block_s);
	out->context.mem_byte_per_s = instead(rule->eta_x, mem, out->context.mem_byte_per_s);
	out->generation.mem_byte_per_s = instead(rule->decode_eta_m, mem, out->generation.mem_byte_per_s);
	out->generation.base_s = instead(rule->decode_base_s, 1, out->generation.base_s);
	out->generation.query_byte_per_s = instead(rule->eta_q, mem, out->generation.query_byte_per_s);
	out->generation.split_s = instead(rule->split_s, 1, out->generation.split_s);
	out->generation.item_s = instead(rule->item_s, 1, out->generation.item_s);
}

/* GDDR reaches more of its rate than HBM does. */
static void
raise_memory(const struct gpu *target, const struct calibration *ref, struct calibration *out)
{
	const double least = gddr_frac * ref->ref_mem_byte_per_s.value;

	if (!target->mem_type || strncmp(target->mem_type, "GDDR", 4) != 0)
		return;
	for (int t = 0; t < N_DTYPES; t++)
		out->gemm[t].mem_byte_per_s.value = fmax(least, out->gemm[t].mem_byte_per_s.value);
}

/* Parameters from no donor: everything that the rule does not give stays absent. */
static void
start_empty(const struct transfer *rule, const struct calibration *ref, struct calibration *out)
{
	const double mem = ref->ref_mem_byte_per_s.value;
	struct datum zero = datum_absent();

	zero.value = 0;
	out->has_gemm = true;
	for (int t = 0; t < N_DTYPES; t++) {
		out->gemm[t] = (struct gemm_calibration){.peak_flop_per_s = datum_absent(),
		    .base_s = datum_absent(),
		    .l2_byte_per_s = times(ref->ref_mem_byte_per_s, 4),
		    .wave_frac = zero,
		    .derate = zero,
		    .quantise_s = zero,
		    .quantise_byte_per_s = zero};
		out->weight_only[t].base_s = out->weight_only[t].peak_flop_per_s = datum_absent();
		out->moe[t].base_s = out->moe[t].peak_flop_per_s = datum_absent();
	}
	out->has_context = datum_given(rule->eta_a);
	out->has_generation = datum_given(rule->decode_eta_m) && mem > 0;
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
	/* levels and launches are another machine's: not theirs to give */
	out->memory.n_levels = 0;
	out->has_launch = false;
	replace(rule, &ref, target, out);
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

/* The rate of a type; the two of 16 bits stand in for each other. */
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
