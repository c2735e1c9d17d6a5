/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Count the rows that the fit does not use, by kind, with the reason. */
#include "ask/calibrate/calibrate.h"

#include <string.h>

/* The first that a row matches counts; NULL: any. */
static const struct unused {
	bool host;
	enum measurement_kind kind;
	const char *operation, *backend, *dtype, *title, *reason;
} unused[] = {
    {false, MEASUREMENT_GEMM, NULL, "cublaslt-best", NULL, "gemm, best candidate", "programs run the first"},
    {false, MEASUREMENT_GEMM, NULL, "cublaslt-sustained", NULL, "gemm, sustained", "clock after seconds of one GEMM"},
    {false, MEASUREMENT_GEMM, NULL, NULL, "fp64", "gemm, fp64", "no model computes in fp64"},
    {false, MEASUREMENT_COLLECTIVE, NULL, "nccl-stream", NULL, "collective, launched one by one",
        "includes CPU launch time; engines replay CUDA graphs"},
    {false, MEASUREMENT_COPY, "read_l1", NULL, NULL, "copy, read_l1", "no model reads the rate of L1"},
    {false, MEASUREMENT_COPY, "read_shared", NULL, NULL, "copy, read_shared",
        "no model reads the rate of shared memory"},
    {false, MEASUREMENT_LAUNCH, "empty", NULL, NULL, "launch, empty", "one kernel and the wait for it"},
    {false, MEASUREMENT_P2P, "p2p_unidir", NULL, NULL, "p2p, one way", "models take links from the system's datasheet"},
    {false, MEASUREMENT_P2P, "p2p_bidir", NULL, NULL, "p2p, both ways",
        "models take links from the system's datasheet"},
    {false, MEASUREMENT_P2P, NULL, NULL, NULL, "p2p, host link", "models take the host link from the GPU's datasheet"},
    {false, MEASUREMENT_FMA, NULL, NULL, NULL, "fma, mma", "another instruction reaches this GPU's peak"},
    {true, MEASUREMENT_GEMM, NULL, NULL, NULL, "gemm", "no model computes on the CPU"},
    {true, MEASUREMENT_LAUNCH, NULL, NULL, NULL, "launch", "kernels are launched to GPUs"},
    {false, MEASUREMENT_KERNEL, NULL, NULL, NULL, "kernel", "profiled kernels are for ridge roofline and diagnose"},
};

enum { N_UNUSED = sizeof unused / sizeof *unused };

static bool
same_or_any(const char *wanted, const char *got)
{
	return !wanted || (got && strcmp(wanted, got) == 0);
}

static int
unused_of(const struct fit_bench *b, const struct measurement *m)
{
	if (m->kind == MEASUREMENT_FMA && fit_is_peak(b, m))
		return -1;
	for (int i = 0; i < N_UNUSED; i++)
		if (unused[i].host == !m->gpu && unused[i].kind == m->kind &&
		    same_or_any(unused[i].operation, m->operation) && same_or_any(unused[i].backend, m->backend) &&
		    same_or_any(unused[i].dtype, m->dtype_text))
			return i;
	return -1;
}

void
calibrate_show_unused(struct run *r, const struct calibrate_target *t)
{
	int n[N_UNUSED] = {0}, row = 0;

	for (int i = 0; i < t->bench.n_rows; i++) {
		const int which = unused_of(&t->bench, &t->bench.rows[i]);
		if (which >= 0)
			n[which]++;
	}
	for (int i = 0; i < N_UNUSED; i++) {
		if (!n[i])
			continue;
		SCOPE_I (r->sheet, "unused", row) {
			TELL(r->sheet, unused_rows, unused[i].title);
			TAKE(r->sheet, n_unused_rows, n[i]);
			SHOW(r->sheet, n_unused_rows, n_unused_rows);
			TELL(r->sheet, reason, unused[i].reason);
		}
		row++;
	}
}
