/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A network without measurements: the middle of those that have some.
 *
 * Latencies and shares of the line rate are taken over as they are.  The term that grows as the root of the size is
 * that of a pipeline, which cuts a message into chunks until the latency of the chunks equals the time of one:
 * 2 sqrt(a S / B) for a latency a and the node's rate B (Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, section 4
 * on pipelined trees).  So its factor before sqrt(a S / B) is taken over, not its microseconds.
 */
#ifndef RIDGE_NETWORK_MIDDLE_H
#define RIDGE_NETWORK_MIDDLE_H

#include "ridge/hw.h"

struct network_known {
	const char *fabric;
	const struct calibration *fit;
	double node_byte_per_s; /* line rate of a node's NICs */
};

/* For nodes whose NICs carry node_byte_per_s; the fabric `without` is left out.  False when none is left. */
bool network_middle(const struct network_known *known, int n, const char *without, enum collective c,
    double node_byte_per_s, struct network_calibration *out);

#endif
