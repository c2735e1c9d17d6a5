/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives of a training step: those of model/collective over the groups of a layout, and experts' dispatchers. */
#include "model/train/parts.h"

/* Of a dispatcher across domains: what it takes without bytes, and what it reaches of NVLink.  Priors. */
static const double DISPATCH_BASE_S = 40e-6, DISPATCH_LINK = 0.9;

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
	GIVEN(sh, n_ranks, n_local, size_byte);
	const struct collective_ground ground = {m->kernels, m->network, m->sharp, m->mesh, m->nic_byte_per_s};
	struct collective_plan inside;
	const struct collective_plan plan =
	    collective_plan_fitted(&ground, c, n_ranks, ceil(n_ranks / n_local), &inside);

	double collective_s;
	if (n_ranks <= 1)
		SET(sh, collective_s, 0);
	else
		SET_CALL(sh, collective_s, collective_time(sh, &plan, size_byte));
	return collective_s;
}

/*
 * Rows to their experts in other domains by a dispatcher that knows domains (DeepSeek-AI, DeepEP): no collective of
 * NCCL, it sends a row once to each domain that has one of its experts, NVLink and NICs at the same time.  Of n
 * domains, k experts chosen at random lie in n (1 - (1 - 1/n)^k).
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
	TAKE(sh, nic_byte_per_s, job->machine.nic_byte_per_s);
	TAKE(sh, nic_frac, job->machine.network[COLLECTIVE_ALL_TO_ALL].nic_frac);
	TAKE(sh, dispatch_base_s, DISPATCH_BASE_S);
	LET(sh, n_local, fmin(ep, n_domain));
	LET(sh, n_domains, ep / n_local);
	LET(sh, unique_frac, n_domains * (1 - pow(1 - 1 / n_domains, top_k)) / top_k);
	LET(sh, link_s, size_byte * (n_local - 1) / n_local / (link_frac * link_byte_per_s));
	LET(sh, nic_s, size_byte * unique_frac * (n_domains - 1) / n_domains / (nic_byte_per_s * nic_frac));
	LET(sh, dispatch_s, dispatch_base_s + fmax(link_s, nic_s));
	return dispatch_s;
}
