/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Traces of requests.  CSV with a column each for arrival, input and output under their usual names (`arrival`,
 * `TIMESTAMP`; `input`, `isl`, `ContextTokens`; `output`, `osl`, `GeneratedTokens` ...), or without a header in this
 * order; an arrival is seconds, `arrival [ms]`, or a date with a time of day.  Or JSON Lines: {"arrival": s, "input",
 * "output"}, or Mooncake's {"timestamp": ms, "input_length", "output_length", "hash_ids": []}.
 */
#ifndef RIDGE_DATA_TRACE_H
#define RIDGE_DATA_TRACE_H

#include "base/arena.h"
#include "base/diag.h"
#include "ridge/simulate.h"

struct trace {
	size_t n;
	struct sim_arrival *requests; /* the first arrives at 0 */
	bool hashed;                  /* it says which blocks of prompts are alike */
};

/* Read a file, `-` is standard input.  With prefix_block tokens to a hashed block, above 0, prompts find the blocks
 * that earlier ones left in a cache without limit.  False with errors that name the rows. */
bool trace_read(struct arena *a, struct diag *d, const char *path, uint32_t prefix_block, struct trace *out);

#endif
