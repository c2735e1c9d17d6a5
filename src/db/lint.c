/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ridge check`: check entries against physics and against each other. */
#include "db/db.h"

#include "base/sheet.h"
#include "model/kernel/kernel.h"
#include "model/layer/layer.h"

#include <string.h>

/* --- workload ------------------------------------------------------------------------------------------------ */

/*
 * Shapes of workloads that a schema cannot see: they must divide, agree with each other, and have the parameters that
 * their file states.  Errors are contradictions; warnings are what no published model does.
 */

static bool
divides(struct datum small, struct datum large)
{
	return fmod(large.value, small.value) == 0;
}

/* --- attention ------------------------------------------------------------------------------------------- */

static void
lint_widths(struct diag *d, const struct workload *w, const struct attention *a)
{
	const double width = a->n_heads.value * a->head_dim.value, ratio = width / w->hidden.value;

	if (a->kind == ATTENTION_HEADS && (ratio > 16 || ratio < 0.125)) {
		diag_warning(d, a->head_dim.from, "%g heads of %g are %.3g times the hidden size", a->n_heads.value,
		    a->head_dim.value, ratio);
		diag_hint(d, "head_dim is of one head");
	}
	if (a->head_dim.value > 1024)
		diag_warning(d, a->head_dim.from, "head_dim %g looks like all heads together", a->head_dim.value);
	if (a->rope.value > 0 && fmod(a->rope.value, 2) != 0)
		diag_error(d, a->rope.from, "RoPE dimension %g is not even", a->rope.value);
	else if (w->positions == POSITIONS_ROPE && a->kind == ATTENTION_HEADS && fmod(a->head_dim.value, 2) != 0)
		diag_error(d, a->head_dim.from, "head_dim %g is not even, as RoPE needs", a->head_dim.value);
	if (a->kv_lora.value > a->n_heads.value * (a->nope.value + a->v_dim.value))
		diag_error(d, a->kv_lora.from, "latent dimension %g is not below the %g of keys and values",
		    a->kv_lora.value, a->n_heads.value * (a->nope.value + a->v_dim.value));
}

static void
lint_reach(struct diag *d, const struct workload *w, const struct attention *a)
{
	const struct datum reach = a->window.value > 0 ? a->window : a->chunk;

	if (reach.value > 0 && w->context.value > 0 && reach.value > w->context.value) {
		diag_warning(d, reach.from, "window %g exceeds the context length %g", reach.value, w->context.value);
		diag_hint(d, "leave it out for full attention");
	}
	if (a->indexer.top_k.value > 0 && w->context.value > 0 && a->indexer.top_k.value > w->context.value)
		diag_warning(d, a->indexer.top_k.from, "indexer top_k %g with at most %g tokens",
		    a->indexer.top_k.value, w->context.value);
}

/* --- recurrences ----------------------------------------------------------------------------------------- */

static void
lint_recurrence(struct diag *d, const struct workload *w, const struct block *b)
{
	const struct datum heads = block_heads(b);
	const struct datum dim = b->mixer == MIXER_MAMBA ? b->mamba.head_dim
	    : b->mixer == MIXER_DELTA                    ? b->delta.value_dim
	                                                 : b->kda.head_dim;
	const double ratio = heads.value * dim.value / w->hidden.value;

	if (ratio > 8 || ratio < 0.25) {
		diag_warning(
		    d, heads.from, "%g heads of %g are %.3g times the hidden size", heads.value, dim.value, ratio);
		diag_hint(d, "published models have one to four times the hidden size");
	}
}

/* --- feed-forward ---------------------------------------------------------------------------------------- */

static void
lint_experts(struct diag *d, const struct workload *w, const struct moe *m)
{
	if (m->n_experts.value == 1)
		diag_error(d, m->n_experts.from, "a mixture needs two experts or more: use 'mlp'");
	else if (2 * m->top_k.value > m->n_experts.value) {
		diag_warning(
		    d, m->top_k.from, "top_k %g is more than half of %g experts", m->top_k.value, m->n_experts.value);
		diag_hint(d, "top_k counts routed experts per token, without shared ones");
	}
	if (m->latent.value >= w->hidden.value) {
		diag_error(
		    d, m->latent.from, "expert latent dimension %g is not below the hidden size", m->latent.value);
		diag_hint(d, "leave it out when experts work on the hidden size");
	}
	if (m->width.value > 8 * w->hidden.value)
		diag_warning(d, m->width.from, "expert width %g looks like all experts together", m->width.value);
}

static void
lint_mlp(struct diag *d, const struct workload *w, const struct mlp *m)
{
	const double ratio = m->width.value / w->hidden.value;

	if (ratio < 0.25 || ratio > 68) /* T5-11B: 64 */
		diag_warning(
		    d, m->width.from, "intermediate size %g is %.3g times the hidden size", m->width.value, ratio);
}

static void
lint_block(struct diag *d, const struct workload *w, const struct block *b)
{
	if (b->mixer == MIXER_ATTENTION) {
		lint_widths(d, w, &b->attention);
		lint_reach(d, w, &b->attention);
	} else if (b->mixer != MIXER_NONE)
		lint_recurrence(d, w, b);
	if (b->moe.given)
		lint_experts(d, w, &b->moe);
	else if (b->mlp.given)
		lint_mlp(d, w, &b->mlp);
}

/* --- the whole ------------------------------------------------------------------------------------------- */

static void
lint_tables(struct diag *d, const struct workload *w)
{
	if (w->positions == POSITIONS_LEARNED && w->n_positions.value < w->context.value) {
		diag_error(d, w->n_positions.from, "position table of %g is shorter than the context length %g",
		    w->n_positions.value, w->context.value);
		diag_hint(d, "give a context of at most the table");
	}
	if (w->vocab.value > 0 && w->vocab.value < 256)
		diag_warning(d, w->vocab.from, "vocabulary %g is below 256", w->vocab.value);
	if (w->patch_size.value > 0 && w->image_size.value > 0 && !divides(w->patch_size, w->image_size))
		diag_warning(d, w->patch_size.from, "patches of %g do not cover an image of %g", w->patch_size.value,
		    w->image_size.value);
}

/* Quantized parts that the model has not. */
static void
lint_storage(struct diag *d, const struct workload *w)
{
	const struct quantisation *q = &w->quantisation;
	bool experts = false;

	for (int i = 0; i < w->n_blocks; i++)
		experts = experts || w->blocks[i].moe.given;
	if (q->given && q->quantised == 1u << PART_EXPERTS && !experts) {
		diag_error(d, w->hidden.from, "'only: experts' without experts");
		diag_hint(d, "write 'only: linear'");
	}
}

static void
lint_operators(struct diag *d, const struct workload *w)
{
	for (int i = 0; i < w->n_ops; i++) {
		const struct op *op = &w->ops[i];
		const double c = op->dim[1], k = op->dim[4], groups = op->dim[8];
		if (op->kind == OP_conv2d && (fmod(c, groups) != 0 || fmod(k, groups) != 0))
			diag_error(
			    d, op->from, "%s: %g groups do not divide %g and %g channels", op->name, groups, c, k);
		if (op->count != floor(op->count) || op->count < 1)
			diag_error(d, op->from, "%s has a count of %g: use a whole number", op->name, op->count);
	}
}

/* Published totals are rounded to three digits at best. */
static void
lint_total(struct diag *d, const struct workload *w, double counted_params)
{
	if (!datum_given(w->stated_params) || !(counted_params > 0))
		return;
	const double off = counted_params / w->stated_params.value - 1;
	if (fabs(off) > 0.003) {
		diag_error(d, w->stated_params.from,
		    "the dimensions give %.6g parameters, %+.2f %% off the stated total", counted_params, 100 * off);
		diag_hint(d, "check sizes, vocabulary, biases and tied embeddings");
	}
}

void
lint_workload(struct diag *d, const struct workload *w, double counted_params)
{
	lint_total(d, w, counted_params);
	if (w->kind == MODEL_OPERATORS) {
		lint_operators(d, w);
		return;
	}
	for (int i = 0; i < w->n_encoder_blocks; i++)
		lint_block(d, w, &w->encoder_blocks[i]);
	for (int i = 0; i < w->n_blocks; i++)
		lint_block(d, w, &w->blocks[i]);
	lint_tables(d, w);
	lint_storage(d, w);
}

/* What each architecture's matrix units do not have (vendor architecture whitepapers), and its largest shared memory
 * per SM and unified L1 (CUDA C++ Programming Guide, technical specifications per compute capability). */
static const struct architecture {
	const char *name;
	const char *lacks;                                 /* peaks, blank-separated */
	double shared_kib, shared_kib_small, combined_kib; /* small: parts of compute capability x.6 and up */
} architectures[] = {
    {"volta", "bf16 tf32 fp8 fp6 fp4 int4", 96, 96, 128},
    {"turing", "bf16 tf32 fp8 fp6 fp4", 64, 64, 96},
    {"ampere", "fp8 fp6 fp4", 164, 100, 192},
    {"ada", "fp6 fp4", 100, 100, 128},
    {"hopper", "fp6 fp4", 228, 228, 256},
    {"blackwell", "int4", 228, 100, 256},
    {"blackwell-ultra", "int4", 228, 228, 256},
};

static const struct architecture *
architecture_of(const struct gpu *gpu)
{
	for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
		if (gpu->architecture && strcmp(gpu->architecture, architectures[i].name) == 0)
			return &architectures[i];
	return NULL;
}

static bool
has_word(const char *list, const char *word)
{
	const size_t n = strlen(word);

	for (const char *p = strstr(list, word); p; p = strstr(p + 1, word))
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return true;
	return false;
}

static const char *
shown(const char *name, double value, char *buf, size_t size)
{
	return value_write(name, value, buf, size);
}

/* --- GPUs ------------------------------------------------------------------------------------------------ */

static void
lint_types(struct diag *d, const struct gpu *gpu, const struct architecture *a)
{
	for (int p = 0; a && p < N_PEAKS; p++)
		if (datum_given(gpu->peak_flop_per_s[p]) && has_word(a->lacks, peak_name((enum peak)p))) {
			diag_error(d, gpu->peak_flop_per_s[p].from, "%s has no %s units, but a peak is given",
			    gpu->architecture, peak_name((enum peak)p));
			diag_hint(d, "write '%s: none'", peak_name((enum peak)p));
		}
}

/* A rate against SMs x units x 2 x clock.  A ratio near 2 is a sparse figure; a third or more off is some other
 * mistake. */
static void
lint_rate(struct diag *d, struct datum rate, const char *what, double computed)
{
	char one[40], other[40];

	if (!datum_given(rate) || !(computed > 0))
		return;
	const double ratio = rate.value / computed;
	if (ratio > 1.03 || ratio < 0.97) {
		shown("x_flop_per_s", rate.value, one, sizeof one);
		shown("x_flop_per_s", computed, other, sizeof other);
		if (ratio > 1.8 && ratio < 2.2) {
			diag_error(d, rate.from,
			    "the %s peak of %s is twice what units x clock give (%s): a sparse figure?", what, one,
			    other);
			diag_hint(d, "give dense peaks; put the sparse factor in 'sparsity'");
		} else if (ratio > 1.34 || ratio < 0.7) {
			diag_error(d, rate.from, "the %s peak of %s is far from units x clock (%s)", what, one, other);
			diag_hint(d, "check SMs, units per SM, clock and whether the figure is dense");
		} else
			diag_warning(d, rate.from, "the %s peak of %s is %+.0f %% from units x clock (%s)", what, one,
			    100 * (ratio - 1), other);
	}
}

static void
lint_rates(struct diag *d, const struct gpu *gpu)
{
	const struct datum clock =
	    datum_given(gpu->clock_tensor_hertz) ? gpu->clock_tensor_hertz : gpu->clock_max_hertz;

	if (datum_given(gpu->n_sms) && datum_given(gpu->tensor_fma_per_sm) && datum_given(clock)) {
		const double computed = unit_peak(NULL, gpu->n_sms.value, gpu->tensor_fma_per_sm.value, clock.value);
		lint_rate(d, gpu->peak_flop_per_s[PEAK_FP16], "fp16", computed);
		lint_rate(d, gpu->peak_flop_per_s[PEAK_BF16], "bf16", computed);
	}
	if (datum_given(gpu->n_sms) && datum_given(gpu->fp32_per_sm) && datum_given(gpu->clock_max_hertz))
		lint_rate(d, gpu->peak_flop_per_s[PEAK_FP32], "fp32",
		    unit_peak(NULL, gpu->n_sms.value, gpu->fp32_per_sm.value, gpu->clock_max_hertz.value));
}

/* Narrow types run at most at the rate that their width allows: twice for half the bits, with a tenth to spare. */
static void
lint_ratios(struct diag *d, const struct gpu *gpu)
{
	static const struct {
		enum peak narrow, wide;
		double most;
	} ratios[] = {{PEAK_TF32, PEAK_FP16, 0.55}, {PEAK_FP8, PEAK_FP16, 2.2}, {PEAK_INT8, PEAK_FP16, 2.2},
	    {PEAK_FP6, PEAK_FP8, 2.2}, {PEAK_FP4, PEAK_FP8, 3.3}, {PEAK_INT4, PEAK_INT8, 2.2}};
	char one[40];

	for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
		const struct datum narrow = gpu->peak_flop_per_s[ratios[i].narrow];
		struct datum wide = gpu->peak_flop_per_s[ratios[i].wide];
		/* the same type with narrow sums may be the faster one */
		const enum peak other = ratios[i].wide == PEAK_FP16 ? PEAK_FP16_FP16ACC : PEAK_FP8_FP16ACC;
		const struct datum half = gpu->peak_flop_per_s[other];

		if (ratios[i].wide != PEAK_INT8 && datum_given(half) && half.value > wide.value)
			wide = half;
		if (!datum_given(narrow) || !datum_given(wide) || narrow.value <= ratios[i].most * wide.value)
			continue;
		diag_error(d, narrow.from, "the %s peak of %s is %.2g times the %s peak: a sparse figure?",
		    peak_name(ratios[i].narrow), shown("x_flop_per_s", narrow.value, one, sizeof one),
		    narrow.value / wide.value, peak_name(ratios[i].wide));
		diag_hint(d, "give dense peaks; put the sparse factor in 'sparsity'");
	}
	if (!datum_given(gpu->n_sms) && datum_given(gpu->peak_flop_per_s[PEAK_INT8]) &&
	    !datum_given(gpu->peak_flop_per_s[PEAK_FP16])) {
		diag_warning(d, gpu->peak_flop_per_s[PEAK_INT8].from,
		    "cannot check that the int8 peak is dense: add sms, units and clock");
	}
}

static bool
small_part(const struct gpu *gpu)
{
	const char *cc = gpu->compute_capability;

	return cc &&
	    (strcmp(cc, "8.6") == 0 || strcmp(cc, "8.9") == 0 || strcmp(cc, "12.0") == 0 || strcmp(cc, "12.1") == 0);
}

static void
lint_size(struct diag *d, struct datum size, double kib, const char *what, const char *architecture)
{
	char one[40];

	if (!datum_given(size) || kib == 0 || size.value <= kib * 1024)
		return;
	diag_error(d, size.from, "%s of %s exceeds the %g KiB of %s", what,
	    shown("x_byte", size.value, one, sizeof one), kib, architecture);
	diag_hint(d, "228 KiB is Hopper's shared memory; A100 has 164 of 192 KiB");
}

/* Inline ECC takes a sixteenth of the size that the driver reports, and only GDDR6 has it. */
static void
lint_ecc(struct diag *d, const struct gpu *gpu)
{
	const double gib = gpu->mem_label_byte.value / 1e9, usable_gib = gpu->mem_usable_byte.value / (1 << 30);
	const bool may = gpu->mem_type && strncmp(gpu->mem_type, "GDDR6", 5) == 0, lacks = usable_gib < 0.95 * gib;

	if (gpu->mem_inline_ecc && !may)
		diag_error(d, gpu->mem_usable_byte.from, "inline_ecc: only GDDR6 stores ECC in the memory itself");
	else if (may && gpu->mem_inline_ecc != lacks)
		diag_error(d, gpu->mem_usable_byte.from, "usable memory is %.2f of the label: inline_ecc should be %s",
		    usable_gib / gib, lacks ? "true" : "false");
}

static void
lint_memory(struct diag *d, const struct gpu *gpu, const struct architecture *a)
{
	if (a) {
		lint_size(d, gpu->shared_byte, small_part(gpu) ? a->shared_kib_small : a->shared_kib, "shared memory",
		    a->name);
		if (!small_part(gpu))
			lint_size(d, gpu->shared_combined_byte, a->combined_kib, "L1 and shared memory", a->name);
	}
	if (datum_given(gpu->shared_byte) && datum_given(gpu->shared_combined_byte) &&
	    gpu->shared_byte.value > gpu->shared_combined_byte.value)
		diag_error(d, gpu->shared_byte.from, "shared memory is larger than L1 and shared memory together");
	if (datum_given(gpu->mem_usable_byte) && datum_given(gpu->mem_label_byte)) {
		const double ratio = gpu->mem_usable_byte.value / gpu->mem_label_byte.value;
		if (ratio < 0.88 || ratio > 1.1)
			diag_error(d, gpu->mem_usable_byte.from,
			    "usable memory is %.2f of the label: check GB versus GiB", ratio);
		lint_ecc(d, gpu);
	}
	const struct datum fp16 = gpu->peak_flop_per_s[PEAK_FP16];
	if (datum_given(fp16) && datum_given(gpu->mem_byte_per_s)) {
		const double ridge = ridge_point(NULL, fp16.value, gpu->mem_byte_per_s.value);
		if (ridge < 30 || ridge > 800) {
			diag_error(
			    d, gpu->mem_byte_per_s.from, "a 16-bit ridge point of %.3g FLOP/B is implausible", ridge);
			diag_hint(d, "V100 to B300 are between 37 and 420: check units of peak and bandwidth");
		}
	}
}

/* Operands that the fp32 lanes can read per second: lanes x 16 bytes (three reads and one write of 4 bytes) x clock. */
static void
lint_registers(struct diag *d, const struct gpu *gpu)
{
	char one[40], other[40];

	if (!datum_given(gpu->register_byte_per_s) || !datum_given(gpu->n_sms) || !datum_given(gpu->fp32_per_sm) ||
	    !datum_given(gpu->clock_max_hertz))
		return;
	const double computed = gpu->n_sms.value * gpu->fp32_per_sm.value * 16 * gpu->clock_max_hertz.value;
	const double ratio = gpu->register_byte_per_s.value / computed;
	if (ratio < 0.5 || ratio > 2)
		diag_error(d, gpu->register_byte_per_s.from, "a register bandwidth of %s: unit counts give %s",
		    shown("x_byte_per_s", gpu->register_byte_per_s.value, one, sizeof one),
		    shown("x_byte_per_s", computed, other, sizeof other));
}

/* One matrix step of m x n x k is m n k multiply-adds. */
static void
lint_step(struct diag *d, const struct gpu *gpu)
{
	const struct datum fma = gpu->step_fma;

	if (!datum_given(fma) || !datum_given(gpu->step_m) || !datum_given(gpu->step_n) || !datum_given(gpu->step_k))
		return;
	const double computed = gpu->step_m.value * gpu->step_n.value * gpu->step_k.value;
	if (fma.value != computed)
		diag_error(d, fma.from, "a %g x %g x %g step is %g multiply-adds, not %g", gpu->step_m.value,
		    gpu->step_n.value, gpu->step_k.value, computed, fma.value);
}

static void
lint_gpu_link(struct diag *d, const struct gpu *gpu, const struct link *link)
{
	char one[40], other[40];

	if (!link || !datum_given(gpu->link_byte_per_s) || !datum_given(link->byte_per_s))
		return;
	const double ratio = gpu->link_byte_per_s.value / link->byte_per_s.value;
	shown("x_byte_per_s", gpu->link_byte_per_s.value, one, sizeof one);
	shown("x_byte_per_s", link->byte_per_s.value, other, sizeof other);
	if (ratio > 1.9 && ratio < 2.1) {
		diag_error(d, gpu->link_byte_per_s.from,
		    "one link of %s per direction is twice that of %s (%s): both directions?", one, link->id, other);
		diag_hint(d, "per_direction counts one direction; vendors print both");
	} else if (ratio > 1.05 || ratio < 0.5)
		diag_error(
		    d, gpu->link_byte_per_s.from, "one link of %s per direction, but %s has %s", one, link->id, other);
	if (datum_given(gpu->n_links) && datum_given(link->n_units) && gpu->n_links.value > link->n_units.value) {
		diag_error(d, gpu->n_links.from, "%g links, but a GPU has at most %g %s links", gpu->n_links.value,
		    link->n_units.value, link->id);
		diag_hint(d, "A100 has 12 links: 300 GB/s per direction, 600 both; 900 is H100's figure");
	}
}

void
lint_gpu(struct diag *d, const struct gpu *gpu, const struct link *link)
{
	const struct architecture *a = architecture_of(gpu);

	lint_types(d, gpu, a);
	lint_rates(d, gpu);
	lint_ratios(d, gpu);
	lint_memory(d, gpu, a);
	lint_registers(d, gpu);
	lint_step(d, gpu);
	lint_gpu_link(d, gpu, link);
}

/* --- links and systems ----------------------------------------------------------------------------------- */

void
lint_link(struct diag *d, const struct link *link)
{
	if (datum_given(link->efficiency_frac) && link->efficiency_frac.value > 1)
		diag_error(d, link->efficiency_frac.from, "an efficiency of more than 1");
}

void
lint_system(struct diag *d, const struct system *s)
{
	const struct gpu *gpu = s->gpu;
	char one[40], other[40];

	if (datum_given(s->domain_byte_per_s) && datum_given(gpu->n_links) && datum_given(gpu->link_byte_per_s) &&
	    gpu->n_links.value > 0 && s->domain != DOMAIN_PCIE) {
		const double of_gpu = gpu->n_links.value * gpu->link_byte_per_s.value;
		const double ratio = s->domain_byte_per_s.value / of_gpu;
		shown("x_byte_per_s", s->domain_byte_per_s.value, one, sizeof one);
		shown("x_byte_per_s", of_gpu, other, sizeof other);
		if (ratio > 1.05) {
			diag_error(d, s->domain_byte_per_s.from,
			    "%s per GPU and direction, but the links of %s carry %s", one, gpu->id, other);
			diag_hint(d, ratio > 1.9 ? "this looks like both directions" : "check link count and rate");
		}
	}
	if (datum_given(s->n_domain_gpus) && datum_given(s->n_gpus) && s->n_domain_gpus.value > 576)
		diag_error(d, s->n_domain_gpus.from, "a domain of %g GPUs", s->n_domain_gpus.value);
	if (s->fabric && datum_given(s->nic_byte_per_s) && datum_given(s->fabric->byte_per_s) &&
	    s->nic_byte_per_s.value > 2.05 * s->fabric->byte_per_s.value)
		diag_warning(d, s->nic_byte_per_s.from, "a NIC faster than %s", s->fabric->id);
}
