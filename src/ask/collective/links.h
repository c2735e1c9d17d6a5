/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The links of the database as a table, and the link that a bandwidth fits. */
#ifndef RIDGE_LINKS_H
#define RIDGE_LINKS_H

#include "cli/command.h"

/* Links named in `list` (all when it has no text) and those of a GPU: both units, both directions. */
enum answer links_show(struct run *r, struct word list, struct word gpu);
/* The slowest links that carry a volume in this time: between GPUs, and between nodes. */
void links_fitting(struct run *r, double volume_byte, double comm_s);

#endif
