/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge bench: run ridge-bench and pass on its rows. */
#include "base/sheet.h"
#include "cli/cli.h"

#include <math.h>

#define BENCH_OPTIONS(X)                                                                                               \
	X(0, device, "device", "device", WORD, "host|N", "host|0|1|2|3", NULL,                                         \
	    "host, or one GPU by its index (default: 0, or the host without a GPU)")                                   \
	X(0, gpus, "gpus", "gpus", WORDS, "LIST", "0,1|0,1,2,3", NULL,                                                 \
	    "GPUs of p2p, every pair, and of collective (default: all, one pair of each kind)")                        \
	X(0, busy, "busy", "busy", FLAG, "", "", NULL, "measure a GPU that other processes use")                       \
	X(0, only, "only", "only", WORDS, "NAMES", "memory|latency|transfer|fma|tensor|gemm|launch|p2p|collective",    \
	    NULL, "subjects to measure; --list shows them")                                                            \
	X(0, quick, "quick", "quick", FLAG, "", "", NULL, "fewer points: under 20 seconds instead of under 90")        \
	X(0, seed, "seed", "seed", COUNT, "N", "", NULL, "random seed of the operands (default: 1)")                   \
	X(0, list, "list", "list", FLAG, "", "", NULL, "list the subjects, and why some are unavailable")

struct bench_in {
	BENCH_OPTIONS(OPTION_MEMBER)
};

#define THIS struct bench_in
static const struct option bench_options[] = {BENCH_OPTIONS(OPTION_ROW)};
#undef THIS

enum { SYSTEM_ERROR = 3 }; /* as ridge-bench ends when a GPU fails */

static const char *
joined(struct run *r, const struct words *words)
{
	const char *text = words->list[0].text;

	for (size_t i = 1; i < words->n; i++)
		text = arena_printf(r->arena, "%s,%s", text, words->list[i].text);
	return text;
}

static enum answer
bench_run(struct run *r, const void *input)
{
	const struct bench_in *in = input;
	const char *words[12] = {"ridge-bench"};
	struct child_output rows;
	size_t n = 1;

	run_reads(r, &in->device, &in->list, NULL);
	if (!in->list)
		run_reads(r, &in->only, &in->quick, &in->seed, &in->gpus, &in->busy, NULL);
	if (in->device.text)
		words[n++] = arena_printf(r->arena, "--device=%s", in->device.text);
	if (in->gpus.n)
		words[n++] = arena_printf(r->arena, "--gpus=%s", joined(r, &in->gpus));
	if (in->busy)
		words[n++] = "--busy";
	if (in->only.n)
		words[n++] = arena_printf(r->arena, "--only=%s", joined(r, &in->only));
	if (datum_given(in->seed))
		words[n++] = arena_printf(r->arena, "--seed=%.0f", in->seed.value);
	if (in->quick)
		words[n++] = "--quick";
	if (in->list)
		words[n++] = "--list";
	words[n] = NULL;
	const char *const path = child_find(r->arena, "ridge-bench");
	if (!path) {
		diag_failure(r->diag, "ridge-bench was not found next to ridge, in ../libexec/ridge or in PATH");
		diag_hint(r->diag,
		    "build it with `make`, or calibrate from another benchmark's measurements: ridge-measurement(5)");
		return REFUSED;
	}
	if (!child_run(r->arena, r->diag, path, words, &rows))
		return REFUSED;
	TAKE(r->sheet, n_rows, (double)rows.n_lines);
	if (in->list)
		SHOW(r->sheet, n_rows, n_lines);
	else
		SHOW(r->sheet, n_rows, n_points);
	r->document = rows.text;
	if (rows.status == REFUSED)
		return REFUSED; /* it said why */
	if (rows.n_lines == 0 && (rows.signal != 0 || rows.status > ANSWERED_NO))
		diag_failure(r->diag, "nothing was measured");
	else if (rows.signal != 0)
		run_warn(r, "interrupted: showing the rows measured so far");
	else if (rows.status > ANSWERED_NO)
		run_warn(r, "some subjects were not measured");
	if (rows.signal == 0 && rows.status == SYSTEM_ERROR)
		return (enum answer)SYSTEM_ERROR; /* the rows until then are the answer */
	return rows.signal == 0 && rows.status == ANSWERED ? ANSWERED : ANSWERED_NO;
}

static const struct option_group bench_groups[] = {OPTION_GROUP(bench_options, 0)};
static const struct example bench_examples[] = {
    {"bench --list", "list what can be measured on this machine", 0},
    {"bench --device host --only launch --quick", "launch latency of host threads", 0},
};

const struct command bench_command = {
    .name = "bench",
    .section = "Database and measurements",
    .summary = "Run the microbenchmarks on this machine",
    .operands = "",
    .usage = "[JOB]",
    .groups = bench_groups,
    .n_groups = 1,
    .examples = bench_examples,
    .n_examples = sizeof bench_examples / sizeof *bench_examples,
    .input_size = sizeof(struct bench_in),
    .run = bench_run,
};
