/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives of a training step: inside a domain of linked GPUs whatever its size, and over several domains. */
#include "model/collective/collective.h"

/* Measured on up to eight ranks; each rank beyond them costs one more hop of the ring. */
static double
domain_latency(struct sheet *sh, const struct collective_calibration *fit, double n_ranks, double hop_s)
{
	GIVEN(sh, n_ranks, hop_s);
	FROM(sh, fit, base_s, per_rank_s);
	LET(sh, latency_s, base_s + per_rank_s * (fmin(n_ranks, 8) - 2) + fmax(0, n_ranks - 8) * hop_s);
	return latency_s;
}

/* As collective_ramp, on any number of ranks. */
double
collective_domain(struct sheet *sh, enum collective c, const struct collective_calibration *fit, double n_ranks,
    double size_byte, double hop_s)
{
	GIVEN(sh, n_ranks, size_byte, hop_s);
	CALL(sh, volume_byte, bus_volume(sh, c, n_ranks, size_byte));
	CALL(sh, latency_s, domain_latency(sh, fit, n_ranks, hop_s));
	FROM(sh, fit, ramp_s, ramp_byte);
	CALL(sh, protocol_s, protocol_ramp(sh, volume_byte, ramp_s, ramp_byte));
	CALL(sh, reached_byte_per_s, reached_bandwidth(sh, fit, n_ranks));
	LET(sh, ring_s, fmin(1, n_ranks - 1) * (latency_s + volume_byte / reached_byte_per_s + protocol_s));
	double domain_s;
	if (nvls_fitted(c, fit, n_ranks)) {
		CALL(sh, nvls_s, allreduce_nvls_ramp(sh, fit, n_ranks, size_byte));
		SET(sh, domain_s, fmin(ring_s, nvls_s));
	} else
		SET(sh, domain_s, ring_s);
	return domain_s;
}

/* What one GPU of n_local in a domain sends at, rings of all of them together leaving by all their NICs. */
static double
rail_rate(struct sheet *sh, const struct collective_calibration *fit, const struct domain_network *net)
{
	FROM(sh, net, n_local, nic_byte_per_s, nic_frac);
	double rail_byte_per_s;
	if (n_local > 1) {
		CALL(sh, local_byte_per_s, reached_bandwidth(sh, fit, n_local));
		SET(sh, rail_byte_per_s, fmin(local_byte_per_s, n_local * nic_byte_per_s * nic_frac));
	} else
		SET(sh, rail_byte_per_s, nic_byte_per_s * nic_frac);
	return rail_byte_per_s;
}

/* Direct sends: what stays inside and what leaves, at the same time. */
static double
direct_time(struct sheet *sh, const struct collective_calibration *fit, const struct domain_network *net,
    double n_ranks, double size_byte)
{
	GIVEN(sh, n_ranks, size_byte);
	FROM(sh, net, n_local, nic_byte_per_s, nic_frac);
	CALL(sh, local_byte_per_s, reached_bandwidth(sh, fit, fmax(2, n_local)));
	LET(sh, inside_s, (n_local - 1) / n_ranks * size_byte / local_byte_per_s);
	LET(sh, across_s, (n_ranks - n_local) / n_ranks * size_byte / (nic_byte_per_s * nic_frac));
	LET(sh, direct_s, fmax(inside_s, across_s));
	return direct_s;
}

/* A flat ring over all rails: the volume of all ranks, and a hop for each of them that is not in the first domain. */
static double
rails_time(struct sheet *sh, enum collective c, const struct collective_calibration *fit,
    const struct domain_network *net, double n_ranks, double volume_byte)
{
	GIVEN(sh, n_ranks, volume_byte);
	FROM(sh, net, n_local, hop_s, node_hop_s);
	LET(sh, n_domains, ceil(n_ranks / n_local));
	CALL(sh, rail_byte_per_s, rail_rate(sh, fit, net));
	/* a sum that everybody gets goes around twice */
	TAKE(sh, n_passes, c == COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0);
	LET(sh, hops_s, n_passes * ((n_domains - 1) * (n_local - 1) * hop_s + n_domains * node_hop_s));
	LET(sh, rails_s, hops_s + volume_byte / rail_byte_per_s);
	return rails_s;
}

/* What the links of a domain take beside the bytes; one rank in each domain uses none of them. */
static double
fixed_time(
    struct sheet *sh, const struct collective_calibration *fit, const struct domain_network *net, double volume_byte)
{
	GIVEN(sh, volume_byte);
	FROM(sh, net, n_local, hop_s);
	double fixed_s;
	if (n_local > 1) {
		CALL(sh, latency_s, domain_latency(sh, fit, n_local, hop_s));
		FROM(sh, fit, ramp_s, ramp_byte);
		CALL(sh, protocol_s, protocol_ramp(sh, volume_byte, ramp_s, ramp_byte));
		SET(sh, fixed_s, latency_s + protocol_s);
	} else
		SET(sh, fixed_s, 0);
	return fixed_s;
}

double
collective_domains(struct sheet *sh, enum collective c, const struct collective_calibration *fit,
    const struct domain_network *net, double n_ranks, double size_byte)
{
	GIVEN(sh, n_ranks, size_byte);
	TAKE(sh, base_s, net->base_s);
	CALL(sh, volume_byte, bus_volume(sh, c, n_ranks, size_byte));
	CALL(sh, fixed_s, fixed_time(sh, fit, net, volume_byte));
	double domains_s;
	if (c == COLLECTIVE_ALL_TO_ALL) {
		CALL(sh, direct_s, direct_time(sh, fit, net, n_ranks, size_byte));
		FROM(sh, net, n_local, hop_s);
		/* NICs faster than the links inside do not make it shorter than in one domain */
		CALL(sh, domain_s, collective_domain(sh, c, fit, n_local, size_byte, hop_s));
		SET(sh, domains_s, fmax(base_s + fixed_s + direct_s, domain_s));
	} else {
		CALL(sh, rails_s, rails_time(sh, c, fit, net, n_ranks, volume_byte));
		SET(sh, domains_s, base_s + fixed_s + rails_s);
	}
	return domains_s;
}
