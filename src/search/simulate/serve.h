/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulator over the model of a serving engine's step. */
#ifndef RIDGE_ENGINE_SIMULATE_SERVE_H
#define RIDGE_ENGINE_SIMULATE_SERVE_H

#include "ridge/serve_load.h"
#include "ridge/simulate.h"

/* One replica of this setup, with the engine's own limits; the load's usual prompt and its drafts.  The setup must
 * outlive it.  With pipeline stages, a step is the traversal of the slowest of pp parts of the batch, as all parts are
 * under way at once. */
struct sim_engine simulate_setup(const struct serve_setup *s, const struct serve_load *load);

/* Simulations begin with an empty replica: this share of the requests is left out of what they say. */
#define SIMULATE_WARMUP 0.2
/* Requests beyond a percentile that its estimate rests on. */
enum { SIMULATE_BEYOND = 100 };
/* Requests to simulate, warm-up included: SIMULATE_BEYOND of them beyond a percentile (0.99; NaN: none is asked for),
 * 20 for each of n_at_once that are under way together, SIMULATE_MOST at most. */
enum { SIMULATE_LEAST = 2000, SIMULATE_MOST = 200000 };
double simulate_enough(double share, double n_at_once, double warmup_frac);

#endif
