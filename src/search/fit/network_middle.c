/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "search/fit/fit.h"

#include <math.h>
#include <string.h>

/* The ramps are given at this size. */
static const double mebi_byte = 1048576;

static struct datum
middle_of(double value)
{
	return (struct datum){value, {NULL, 0, 0, "median of the fabrics in hwdb/calibration", false}};
}

/* What a chunk's latency and its bytes make together. */
static double
pipeline(double base_s, double node_byte_per_s)
{
	return sqrt(base_s * mebi_byte / node_byte_per_s);
}

bool
network_middle(const struct network_known *known, int n, const char *without, enum collective c, double node_byte_per_s,
    struct network_calibration *out)
{
	/* trees sum; everything else goes around as an all-gather does */
	const enum collective as = c == COLLECTIVE_ALL_REDUCE ? c : COLLECTIVE_ALL_GATHER;
	double log_base = 0, log_factor = 0, share = 0, fewest = INFINITY;
	int found = 0;

	for (int i = 0; i < n; i++) {
		const struct network_calibration *f = &known[i].fit->network[as];

		if (!known[i].fit->has_network[as] || (without && strcmp(known[i].fabric, without) == 0))
			continue;
		log_base += log(f->base_s.value);
		log_factor += log(f->ramp_s.value / pipeline(f->base_s.value, known[i].node_byte_per_s));
		share += f->nic_frac.value;
		fewest = fmin(fewest, f->n_nodes.value);
		found++;
	}
	if (!found)
		return false;
	const double base_s = exp(log_base / found);
	*out = (struct network_calibration){.base_s = middle_of(base_s),
	    .ramp_s = middle_of(exp(log_factor / found) * pipeline(base_s, node_byte_per_s)),
	    .nic_frac = middle_of(share / found),
	    .nic_byte_per_s = {NAN, {NULL, 0, 0, NULL, false}},
	    .n_nodes = middle_of(fewest)};
	return true;
}
