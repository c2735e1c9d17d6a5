/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulator over the model of a serving engine's step. */
#ifndef RIDGE_ENGINE_SIMULATE_SERVE_H
#define RIDGE_ENGINE_SIMULATE_SERVE_H

#include "ridge/serve.h"
#include "ridge/simulate.h"

/* One replica of this setup, with the engine's own limits; isl_token is a usual prompt.  The setup must outlive it.
 * With pipeline stages, a step is the traversal of one of pp parts of the batch, as all parts are under way at once. */
struct sim_engine simulate_setup(const struct serve_setup *s, double isl_token);

#endif
