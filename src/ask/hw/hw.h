/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of `ridge hw`. */
#ifndef RIDGE_ASK_HW_HW_H
#define RIDGE_ASK_HW_HW_H

#include "cli/cli.h"

/* A figure or a word that the database has; nothing where it has none. */
void hw_figure(struct run *r, const struct answer_entry *answer, struct datum d);
void hw_word(struct run *r, const struct answer_entry *answer, const char *text);
#define HW_FIGURE(r, id, d) hw_figure((r), &answer_table[NUMBER_##id], (d))
#define HW_WORD(r, id, text) hw_word((r), &answer_table[WORD_##id], (text))

/* What the kernels of a GPU reach of its datasheet: its own fits, or transferred ones. */
void hw_show_calibration(struct run *r, const struct gpu *gpu);
/* A calibration of a host, of a network or of one engine. */
void hw_show_fit(struct run *r, const struct calibration *c);
/* `measured`, `from h100-sxm5-80gb`, or `-`. */
const char *hw_calibrated(struct run *r, const struct gpu *gpu);

#endif
