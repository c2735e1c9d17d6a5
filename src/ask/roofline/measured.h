/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of measurements under the roof of its GPU. */
#ifndef RIDGE_ROOF_MEASURED_H
#define RIDGE_ROOF_MEASURED_H

#include "ask/roofline/roof.h"

/* The machine is the one of `q`; sets the run's plot. */
enum answer roof_measurements(struct roof *q, struct word file);

#endif
