/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predict training steps quickly: memoized kernels, pipeline schedules, sensitivity. */
#include "search/plan/plan.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MEMO_BITS = 16, MEMO_SIZE = 1 << MEMO_BITS };

struct memo_key {
	double m, n, k, output_byte;
	enum dtype type;
};

struct memo_entry {
	struct memo_key key;
	double time_s;
};

/* Entries stand as they came, so that those of a small search are on a few pages. */
struct train_memo {
	const struct calibration *kernels;
	unsigned n;                 /* the last entry; the first is none */
	uint16_t places[MEMO_SIZE]; /* by the hash of a key: an entry, 0: none */
	struct memo_entry entries[MEMO_SIZE / 2 + 1];
};

struct train_memo *
train_memo_new(struct arena *a, const struct calibration *kernels)
{
	struct train_memo *memo = ARENA_NEW(a, struct train_memo);

	memo->kernels = kernels;
	return memo;
}

static uint64_t
bits_of(double x)
{
	uint64_t u;

	memcpy(&u, &x, sizeof u);
	return u;
}

static size_t
place_of(const struct memo_key *k)
{
	uint64_t x = bits_of(k->m) * UINT64_C(0x9E3779B97F4A7C15) ^ bits_of(k->n) * UINT64_C(0xC2B2AE3D27D4EB4F) ^
	    bits_of(k->k) * UINT64_C(0x165667B19E3779F9) ^ (uint64_t)k->type << 56 ^ bits_of(k->output_byte);

	x ^= x >> 32;
	x *= UINT64_C(0x9E3779B97F4A7C15);
	return (size_t)(x >> (64 - MEMO_BITS));
}

static bool
same_key(const struct memo_key *a, const struct memo_key *b)
{
	return a->m == b->m && a->n == b->n && a->k == b->k && a->output_byte == b->output_byte && a->type == b->type;
}

double
train_memo_gemm(struct train_memo *memo, const struct gemm_shape *shape, enum dtype t)
{
	const struct memo_key key = {shape->m, shape->n, shape->k, shape->o_byte, t};
	size_t i = place_of(&key);

	for (; memo->places[i] > 0; i = (i + 1) % MEMO_SIZE) {
		const struct memo_entry *e = &memo->entries[memo->places[i]];
		if (same_key(&e->key, &key))
			return e->time_s;
	}
	const double time_s = train_product(NULL, shape, memo->kernels, t);
	/* half full: start again */
	if (++memo->n > MEMO_SIZE / 2) {
		memset(memo->places, 0, sizeof memo->places);
		memo->n = 1;
		i = place_of(&key);
	}
	memo->places[i] = (uint16_t)memo->n;
	memo->entries[memo->n] = (struct memo_entry){key, time_s};
	return time_s;
}

void
train_memo_use(struct train_memo *memo, struct train_job *job)
{
	job->gemm = train_memo_gemm;
	job->memo = memo;
}

double
train_memory_floor(const struct train_job *job)
{
	const struct layout *l = &job->layout;
	const double params = train_dense_params(NULL, job), experts = train_expert_params(NULL, job);
	const double rows = job->n_sequences * job->seq_length / l->cp;
	const double shard = l->dp * l->cp, expert_shard = fmax(1, job->n_gpus / (l->pp * l->ep * l->etp));
	const double layers = job->model->n_layers.value / l->pp, flight = fmin(l->pp, job->n_global_sequences);
	const double states = job->adapters ? 0 : 16, kept = l->zero >= 3 ? 0 : l->zero >= 1 ? 2 : states;

	/* one 16-bit input of each layer is what full recomputation keeps */
	return kept * (params + experts) +
	    (l->zero > 0 ? 14 * (params / shard + experts / expert_shard) : 0) * (job->adapters ? 0 : 1) +
	    2 * rows * job->model->hidden.value / (l->sp ? l->tp : 1) * layers * flight;
}

/* --- train schedule ------------------------------------------------------------------------------------------ */

static double
step_of(const struct train_job *job)
{
	struct train_terms t;

	return train_step(NULL, job, &t);
}

static struct train_schedule
evaluate(const struct train_job *job, const struct memory_job *memory, bool modeled)
{
	struct train_schedule s = {.step_s = step_of(job), .need_byte = NAN, .verdict = FITS};
	char layout[120];

	if (modeled) {
		s.need_byte = memory_peak(NULL, memory, NULL);
		if (datum_given(memory->card_byte))
			s.verdict = memory_verdict(memory, s.need_byte);
	}
	fit_layout_text(memory, layout, sizeof layout);
	snprintf(s.change, sizeof s.change, "--layout %s%s", layout, job->zero_bubble ? " --zero-bubble" : "");
	return s;
}

static struct train_schedule
interleaved(const struct train_job *job, const struct memory_job *memory, bool modeled, double vp)
{
	struct train_job other = *job;
	struct memory_job held = *memory;

	other.layout.vp = held.layout.vp = vp;
	return evaluate(&other, &held, modeled);
}

int
train_schedules(const struct train_job *job, const struct memory_job *memory, bool modeled,
    struct train_schedule out[MOST_SCHEDULES])
{
	const struct layout *l = &job->layout;
	const double now_s = step_of(job), finest = layout_finest_chunks(memory->stack, job->model, l->pp);
	int n = 0;

	if (!(l->pp > 1))
		return 0;
	for (double vp = finest; vp > l->vp && job->n_stage_layers == 0 && !memory->gpipe; vp--) {
		if (!layout_splits_evenly(memory->stack, job->model, l->pp * vp))
			continue;
		const struct train_schedule s = interleaved(job, memory, modeled, vp);
		/* the finest in any case, then the finest that fits */
		if (s.step_s < now_s && (n == 0 || s.verdict != DOES_NOT_FIT))
			out[n++] = s;
		if (n > 1 || s.verdict != DOES_NOT_FIT)
			break;
	}
	if (!memory->stack->zero_bubble || job->zero_bubble)
		return n;
	struct train_job filled = *job;
	filled.zero_bubble = true;
	const struct train_schedule s = evaluate(&filled, memory, modeled);
	if (s.step_s < now_s)
		out[n++] = s;
	return n;
}

/* --- train gain ---------------------------------------------------------------------------------------------- */

static const char *const texts[N_GAINS] = {"10 % more memory bandwidth", "10 % more compute", "10 % more of the link",
    "10 % more network", "micro-batch x 2", "global batch x 2", "sequence length + 10 %"};

static const double MORE = 1.1; /* the 10 % of the texts */

const char *
train_gain_text(enum train_gain g)
{
	return texts[g];
}

static void
scale_products(struct calibration *c, bool memory)
{
	for (int t = 0; t < N_DTYPES; t++) {
		struct gemm_calibration *g = &c->gemm[t];
		if (memory)
			g->mem_byte_per_s.value *= MORE;
		else {
			g->peak_flop_per_s.value *= MORE;
			g->feed_byte_per_s.value *= MORE;
			g->l2_byte_per_s.value *= MORE;
			g->k_step_s.value /= MORE;
		}
	}
}

static double
rate_of(const struct train_job *job)
{
	struct train_terms t;

	if (train_impossible(job) != TRAIN_ANSWERED)
		return NAN;
	return job->n_global_sequences * job->seq_length / train_step(NULL, job, &t);
}

double
train_gain(const struct train_job *job, enum train_gain g)
{
	struct train_job other = *job;
	struct calibration c = *job->machine.kernels;

	other.gemm = NULL;
	other.machine.kernels = &c;
	switch (g) {
	case GAIN_MEMORY:
		scale_products(&c, true);
		break;
	case GAIN_ARITHMETIC:
		scale_products(&c, false);
		c.context.flop_per_s.value *= MORE;
		c.context.block_s.value /= MORE;
		break;
	case GAIN_LINK:
		for (int i = 0; i < N_COLLECTIVES; i++)
			c.collective[i].bus_byte_per_s.value *= MORE;
		break;
	case GAIN_NETWORK:
		other.machine.nic_byte_per_s *= MORE;
		break;
	case GAIN_MICRO_BATCH:
		if (fmod(train_microbatches(NULL, job), 2) != 0)
			return NAN;
		other.n_sequences *= 2;
		break;
	case GAIN_BATCH:
		other.n_global_sequences *= 2;
		break;
	case GAIN_SEQUENCE:
		other.seq_length = ceil(MORE * job->seq_length / job->layout.cp) * job->layout.cp;
		break;
	case N_GAINS:
		break;
	}
	return rate_of(&other) / rate_of(job);
}
