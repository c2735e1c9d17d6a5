/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives of a training step: fitted inside an NVLink domain, flat rings over all rails across domains. */
#include "model/train/parts.h"

/* Latency of a ring's step inside a domain and across domains, and what a collective across domains costs at least:
 * priors.  442 published steps do not tell them: none at all, or three times as much, moves their mean error by less than
 * 0.2 points.  Benchmarks have 54 us at least over RoCE, NCCL reckons with 0.6 and 14 us a step. */
static const double LINK_HOP_S = 1e-6, NODE_HOP_S = 5e-6, NODE_BASE_S = 20e-6;
/* Each rank beyond the eight of the measurements. */
static const double FAR_RANK_S = 1e-6;
/* An all-to-all across domains, dispatch and combine. */
static const double DISPATCH_BASE_S = 40e-6;
/* What a dispatcher reaches of NVLink. */
static const double DISPATCH_LINK = 0.9;

double
train_local(struct sheet *sh, const struct train_job *job, double n_ranks, double stride)
{
	GIVEN(sh, n_ranks);
	TAKE(sh, n_domain, job->machine.n_domain);
	TAKE(sh, rank_stride, stride);
	EITHER(
	    sh, n_local, job->n_gpus <= job->machine.n_domain, n_ranks, fmax(1, fmin(n_ranks, n_domain / rank_stride)));
	return n_local;
}

double
train_collective(struct sheet *sh, const struct train_machine *m, enum collective c, double n_ranks, double n_local,
    double size_byte)
{
	const struct collective_calibration *fit = &m->kernels->collective[c];

	GIVEN(sh, n_ranks, n_local, size_byte);
	double collective_s;
	if (n_ranks <= 1)
		SET(sh, collective_s, 0);
	else if (n_local >= n_ranks)
		SET_CALL(sh, collective_s, collective_domain(sh, c, fit, n_ranks, size_byte, FAR_RANK_S));
	else {
		const struct domain_network net = {.n_local = n_local,
		    .nic_byte_per_s = m->nic_byte_per_s,
		    .nic_frac = m->nic_frac,
		    .base_s = NODE_BASE_S,
		    .hop_s = LINK_HOP_S,
		    .node_hop_s = NODE_HOP_S};
		SET_CALL(sh, collective_s, collective_domains(sh, c, fit, &net, n_ranks, size_byte));
	}
	return collective_s;
}

/*
 * Rows to their experts in other domains.  A plain all-to-all sends a row once for each of its experts; a dispatcher
 * that knows domains (DeepSeek-AI, DeepEP) sends it once to each domain that has one: of n domains, k experts chosen at
 * random lie in n (1 - (1 - 1/n)^k).
 */
double
train_dispatch(struct sheet *sh, const struct train_job *job, const struct block *block, double size_byte)
{
	GIVEN(sh, size_byte);
	TAKE(sh, ep, job->layout.ep);
	TAKE(sh, n_domain, job->machine.n_domain);
	TAKE(sh, top_k, block->moe.top_k);
	TAKE(sh, link_byte_per_s, job->machine.kernels->collective[COLLECTIVE_ALL_TO_ALL].bus_byte_per_s);
	TAKE(sh, link_frac, DISPATCH_LINK);
	FROM_STRUCT(sh, job->machine, nic_byte_per_s, nic_frac);
	TAKE(sh, dispatch_base_s, DISPATCH_BASE_S);
	LET(sh, n_local, fmin(ep, n_domain));
	double link_s, nic_s;
	if (job->dedup) {
		LET(sh, n_domains, ep / n_local);
		LET(sh, unique_frac, n_domains * (1 - pow(1 - 1 / n_domains, top_k)) / top_k);
		SET(sh, link_s, size_byte * (n_local - 1) / n_local / (link_frac * link_byte_per_s));
		SET(sh, nic_s, size_byte * unique_frac * (n_domains - 1) / n_domains / (nic_byte_per_s * nic_frac));
	} else {
		SET(sh, link_s, size_byte * (n_local - 1) / ep / (link_frac * link_byte_per_s));
		SET(sh, nic_s, size_byte * (ep - n_local) / ep / (nic_byte_per_s * nic_frac));
	}
	LET(sh, dispatch_s, dispatch_base_s + fmax(link_s, nic_s));
	return dispatch_s;
}
