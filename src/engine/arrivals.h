/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When requests arrive and how long they are. */
#ifndef RIDGE_ENGINE_ARRIVALS_H
#define RIDGE_ENGINE_ARRIVALS_H

#include "ridge/simulate.h"

/* What is wrong with the traffic, or NULL. */
const char *traffic_fault(const struct sim_traffic *t);

/* All requests, request by request in the order gap, prompt, answer, from one stream: what is drawn does not depend on
 * how many replicas serve it or on what they do.  In a closed loop the arrival is set when the client sends. */
void traffic_draw(const struct sim_traffic *t, struct sim_request *out);

#endif
