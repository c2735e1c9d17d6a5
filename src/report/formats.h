/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One function per format, as report_print calls them. */
#ifndef RIDGE_FORMATS_H
#define RIDGE_FORMATS_H

#include "report/grid.h"

bool report_text(FILE *to, const struct report *r, char *why, size_t size);
bool report_json(FILE *to, const struct report *r, char *why, size_t size);
bool report_csv(FILE *to, const struct report *r, char *why, size_t size);
bool report_md(FILE *to, const struct report *r, char *why, size_t size);
bool report_explain(FILE *to, const struct report *r, char *why, size_t size);
bool report_get(FILE *to, const struct report *r, char *why, size_t size);

/* Index of the row that r->row names, or -1 with `why` filled (as report_print does). */
int report_row(const struct report *r, const struct sheet *sh, char *why, size_t size);

#endif
