/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bandwidths of links and NICs, per GPU and direction unless a name says otherwise. */
#include "model/collective/collective.h"

double
mesh_bandwidth(
    struct sheet *sh, double n_ranks, double domain_byte_per_s, double pair_byte_per_s, double pair_max_byte_per_s)
{
	GIVEN(sh, n_ranks, domain_byte_per_s, pair_byte_per_s, pair_max_byte_per_s);
	LET(sh, better_byte_per_s, pair_max_byte_per_s - pair_byte_per_s);
	LET(sh, links_byte_per_s, (n_ranks - 1) * pair_byte_per_s + better_byte_per_s);
	LET(sh, mesh_byte_per_s, fmin(domain_byte_per_s, links_byte_per_s));
	return mesh_byte_per_s;
}

double
ring_of_groups(struct sheet *sh, double n_groups, double link_byte_per_s, double host_byte_per_s)
{
	GIVEN(sh, n_groups, link_byte_per_s);
	double slowest_byte_per_s;
	if (n_groups > 1) {
		GIVEN(sh, host_byte_per_s);
		SET(sh, slowest_byte_per_s, fmin(link_byte_per_s, host_byte_per_s));
	} else
		SET(sh, slowest_byte_per_s, link_byte_per_s);
	return slowest_byte_per_s;
}

double
link_total(struct sheet *sh, double n_links, double one_link_byte_per_s)
{
	GIVEN(sh, n_links, one_link_byte_per_s);
	LET(sh, total_byte_per_s, n_links * one_link_byte_per_s);
	return total_byte_per_s;
}

double
link_both(struct sheet *sh, double byte_per_s)
{
	GIVEN(sh, byte_per_s);
	LET(sh, both_byte_per_s, 2 * byte_per_s);
	return both_byte_per_s;
}

double
link_reached(struct sheet *sh, double line_byte_per_s, double reached_frac)
{
	GIVEN(sh, line_byte_per_s, reached_frac);
	LET(sh, reached_byte_per_s, line_byte_per_s * reached_frac);
	return reached_byte_per_s;
}

double
link_share(struct sheet *sh, double bus_byte_per_s, double line_byte_per_s)
{
	GIVEN(sh, bus_byte_per_s, line_byte_per_s);
	LET(sh, of_line_frac, bus_byte_per_s / line_byte_per_s);
	return of_line_frac;
}

double
link_gbit(struct sheet *sh, double byte_per_s)
{
	GIVEN(sh, byte_per_s);
	TAKE(sh, gbit_byte_per_s, 125e6); /* 1 Gbit/s */
	LET(sh, n_gbit, byte_per_s / gbit_byte_per_s);
	return n_gbit;
}

double
link_ratio(struct sheet *sh, double byte_per_s, double first_byte_per_s)
{
	GIVEN(sh, byte_per_s, first_byte_per_s);
	LET(sh, ratio, byte_per_s / first_byte_per_s);
	return ratio;
}

double
nic_share(struct sheet *sh, double n_nics, double one_nic_byte_per_s, double n_gpus)
{
	GIVEN(sh, n_nics, one_nic_byte_per_s, n_gpus);
	LET(sh, share_byte_per_s, n_nics * one_nic_byte_per_s / n_gpus);
	return share_byte_per_s;
}
