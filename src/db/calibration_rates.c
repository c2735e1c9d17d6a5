/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fractions of the reference figures become rates, once, as a calibration is read. */
#include "db/calibration.h"
#include "db/db.h"

/* A factor of a reference; the result keeps the place of the fraction. */
static struct datum
times(struct datum fraction, struct datum reference)
{
	fraction.value *= reference.value;
	return fraction;
}

static struct datum
over(struct datum fraction, struct datum reference)
{
	fraction.value /= reference.value;
	return fraction;
}

static struct datum
or_zero(struct datum d)
{
	d.value = datum_or(d, 0);
	return d;
}

/* L2 feeds what misses the operands' reuse at four times the memory's rate where a fit says nothing else. */
static struct datum
l2_rate(struct datum ratio, struct datum mem_byte_per_s)
{
	if (datum_given(ratio))
		return times(ratio, mem_byte_per_s);
	mem_byte_per_s.value *= 4;
	return mem_byte_per_s;
}

static struct gemm_calibration
gemm_rates(const struct gemm_file *g, const struct reference *ref, enum peak peak)
{
	return (struct gemm_calibration){
	    .peak_flop_per_s = times(g->eta_c, ref->peak_flop_per_s[peak]),
	    .mem_byte_per_s = times(g->eta_m, ref->mem_byte_per_s),
	    .l2_byte_per_s = l2_rate(g->cache, ref->mem_byte_per_s),
	    .base_s = g->base_s,
	    .feed_byte_per_s = times(g->feed, ref->clock_hertz),
	    .tile_s = g->tile_s,
	    .k_step_s = over(g->k_step, ref->clock_hertz),
	    .wave_frac = or_zero(g->wave),
	    .derate = or_zero(g->derate),
	    .quantise_s = g->quantise_s,
	    .reduction_s = g->reduction_s,
	    .norm = g->norm,
	    .quantise_byte_per_s = times(g->eta_q, ref->mem_byte_per_s),
	};
}

static struct context_calibration
context_rates(const struct context_file *c, const struct reference *ref)
{
	return (struct context_calibration){
	    .flop_per_s = times(c->eta_a, ref->peak_flop_per_s[PEAK_BF16]),
	    .base_s = c->base_s,
	    .block_s = c->block_s,
	    .mem_byte_per_s = times(c->eta_x, ref->mem_byte_per_s),
	    .tile = c->tile,
	    .kv_byte_per_s = times(c->eta_kv, ref->mem_byte_per_s),
	    .l2_byte_per_s = times(c->eta_l2, ref->mem_byte_per_s),
	    .hold = c->hold,
	    .fade = c->fade,
	    .derate = c->derate,
	    .norm = c->norm,
	    .token_s = c->token_s,
	};
}

static struct generation_calibration
generation_rates(const struct generation_file *g, const struct reference *ref)
{
	return (struct generation_calibration){
	    .mem_byte_per_s = times(g->eta_m, ref->mem_byte_per_s),
	    .base_s = g->base_s,
	    .query_byte_per_s = times(g->eta_q, ref->mem_byte_per_s),
	    .split_s = g->split_s,
	    .item_s = g->item_s,
	    .flop_per_s = times(g->eta_c, ref->peak_flop_per_s[PEAK_BF16]),
	    .l2_byte_per_s = times(g->eta_l2, ref->mem_byte_per_s),
	    .hold = g->hold,
	    .fade = g->fade,
	    .norm = g->norm,
	    .own_item_s = g->own_item_s,
	};
}

static struct moe_calibration
moe_rates(const struct moe_file *m, const struct reference *ref, enum peak peak)
{
	return (struct moe_calibration){
	    .peak_flop_per_s = times(m->eta_c, ref->peak_flop_per_s[peak]),
	    .mem_byte_per_s = times(m->eta_m, ref->mem_byte_per_s),
	    .base_s = m->base_s,
	    .feed_byte_per_s = times(m->feed, ref->clock_hertz),
	    .tile_s = m->tile_s,
	    .k_step_s = over(m->k_step, ref->clock_hertz),
	    .norm = m->norm,
	    .permute_byte_per_s = m->permute_byte_per_s,
	    .route_byte_per_s = m->route_byte_per_s,
	    .l2_byte_per_s = times(m->eta_l2, ref->mem_byte_per_s),
	    .hold = m->hold,
	    .fade = m->fade,
	};
}

/* The dtype's products run at this peak.  False when a fraction refers to a figure that the file does not give. */
static bool
has_reference(struct binder *b, const struct reference *ref, enum peak peak, struct source at)
{
	if (datum_given(ref->peak_flop_per_s[peak]) && datum_given(ref->mem_byte_per_s) &&
	    datum_given(ref->clock_hertz))
		return true;
	diag_error(b->diag, at, "this fraction refers to a rate missing in 'relative_to'");
	diag_hint(b->diag, "'relative_to' needs peak_%s, hbm and clock", peak_name(peak));
	return false;
}

bool
convert_kernels(struct binder *b, const struct file_figures *f, struct calibration *out)
{
	const struct reference *ref = &f->reference;
	bool ok = true;

	if (datum_given(f->gemm.eta_c)) {
		ok = has_reference(b, ref, PEAK_BF16, f->gemm.eta_c.from);
		out->gemm[DTYPE_BF16] = out->gemm[DTYPE_FP16] = gemm_rates(&f->gemm, ref, PEAK_BF16);
		out->has_gemm = true;
	}
	for (int t = 0; t < N_DTYPES; t++) {
		const enum peak peak = dtype_peak((enum dtype)t);
		if (datum_given(f->by_dtype[t].eta_c)) {
			ok = has_reference(b, ref, peak, f->by_dtype[t].eta_c.from) && ok;
			out->gemm[t] = gemm_rates(&f->by_dtype[t], ref, peak);
			out->has_gemm = true;
		}
		if (datum_given(f->weight_only[t].eta_c)) {
			ok = has_reference(b, ref, PEAK_BF16, f->weight_only[t].eta_c.from) && ok;
			out->weight_only[t] = gemm_rates(&f->weight_only[t], ref, PEAK_BF16);
		}
		if (datum_given(f->moe[t].eta_c)) {
			ok = has_reference(b, ref, peak, f->moe[t].eta_c.from) && ok;
			out->moe[t] = moe_rates(&f->moe[t], ref, peak);
		}
	}
	return ok;
}

bool
convert_attention(struct binder *b, const struct file_figures *f, struct calibration *out)
{
	const struct reference *ref = &f->reference;
	const struct datum firsts[] = {
	    f->context.eta_a, f->generation.eta_m, f->mla_context.eta_a, f->mla_generation.eta_m};
	bool ok = true;

	for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
		if (datum_given(firsts[i]))
			ok = has_reference(b, ref, PEAK_BF16, firsts[i].from) && ok;
	out->has_context = datum_given(f->context.eta_a);
	out->context = context_rates(&f->context, ref);
	out->has_generation = datum_given(f->generation.eta_m);
	out->generation = generation_rates(&f->generation, ref);
	out->has_mla_context = datum_given(f->mla_context.eta_a);
	out->mla_context = context_rates(&f->mla_context, ref);
	out->has_mla_generation = datum_given(f->mla_generation.eta_m);
	out->mla_generation = generation_rates(&f->mla_generation, ref);
	for (int i = 0; i < N_ATTENTION_FITS; i++) {
		struct attention_calibration *a = &out->attention_by[i];

		for (int j = 0; j < 2; j++) {
			const struct datum first = j ? f->generation_by[i].eta_m : f->context_by[i].eta_a;
			if (datum_given(first))
				ok = has_reference(b, ref, PEAK_BF16, first.from) && ok;
		}
		a->has_context = datum_given(f->context_by[i].eta_a);
		a->context = context_rates(&f->context_by[i], ref);
		a->has_generation = datum_given(f->generation_by[i].eta_m);
		a->generation = generation_rates(&f->generation_by[i], ref);
	}
	return ok;
}

void
convert_collectives(const struct file_figures *f, const char *backend, struct calibration *out)
{
	for (int c = 0; c < N_COLLECTIVES; c++) {
		out->has_collective[c] = datum_given(f->collective[c].base_s);
		out->collective[c] = f->collective[c];
		const struct network_file *n = &f->network[c];
		out->has_network[c] = datum_given(n->base_s);
		out->network[c] = (struct network_calibration){
		    n->base_s, n->ramp_s, n->nic_frac, times(n->nic_frac, f->reference.nic_byte_per_s), n->n_nodes};
	}
	if (!datum_given(f->custom.one_s))
		return;
	out->n_custom = 1;
	out->custom[0] = (struct custom_calibration){backend, f->custom.one_s, f->custom.one_per_rank_s,
	    f->custom.one_byte_per_s, f->custom.two_s, f->custom.two_per_rank_s, f->custom.two_byte_per_s};
}

/* --- intervals ------------------------------------------------------------------------------------------- */

/* Figures keep their place in the file, whatever they were multiplied by. */
bool
calibration_interval(const struct calibration *c, struct datum figure, double *low, double *high)
{
	for (int i = 0; i < c->n_ranges; i++) {
		const struct fitted_range *r = &c->ranges[i];

		if (r->at.line != figure.from.line || r->at.column != figure.from.column)
			continue;
		*low = figure.value * r->low;
		*high = figure.value * r->high;
		return true;
	}
	return false;
}
