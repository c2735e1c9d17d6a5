/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When requests arrive and how long they are. */
#ifndef RIDGE_ENGINE_ARRIVALS_H
#define RIDGE_ENGINE_ARRIVALS_H

#include "ridge/simulate.h"

/* What is wrong with the traffic, or NULL. */
const char *traffic_fault(const struct sim_traffic *t);

/* The gap of this quantile: gamma, of which a coefficient of variation of 1 is the exponential, 0 a constant. */
double traffic_gap(double u, double mean_s, double cv);
/* When client i begins, and how long it thinks after request `id`. */
double traffic_start(const struct sim_traffic *t, size_t i);
double traffic_pause(const struct sim_traffic *t, uint32_t id);

/* All requests, request by request in the order gap, prompt, answer, from one stream: what is drawn does not depend on
 * how many replicas serve it or on what they do.  In a closed loop the arrival is set when the client sends. */
void traffic_draw(const struct sim_traffic *t, struct sim_request *out);

#endif
