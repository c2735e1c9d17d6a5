/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of single kernels among published serving runs: matrix products, by their shape. */
#include "ask/validate/validate.h"

#include "ask/bind/bind.h"
#include "model/kernel/kernel.h"

#include <stdio.h>
#include <string.h>

/* Types that kernels' authors name otherwise than elsewhere. */
static enum dtype
type_of(const char *text)
{
	if (!text || strncmp(text, "fp16", 4) == 0 || strncmp(text, "bf16", 4) == 0)
		return DTYPE_BF16;
	if (strncmp(text, "fp8-block", 9) == 0)
		return DTYPE_FP8_BLOCK;
	return strncmp(text, "fp8", 3) == 0 ? DTYPE_FP8 : N_DTYPES;
}

const char *
serve_row_kernel(struct run *r, const struct validate_row *row, struct serve_kernel *out)
{
	const char *kernel = row_text(row, "kernel"), *shape = row_text(row, "kernel_shape");
	const char *gpu_id = row_text(row, "gpu_id");
	double m, n, k;

	if (!kernel || strncmp(kernel, "gemm", 4) != 0 || strstr(kernel, "grouped"))
		return "kernel is not a GEMM";
	if (!shape || sscanf(shape, "M=%lf N=%lf K=%lf", &m, &n, &k) != 3 || !(m > 0 && n > 0 && k > 0))
		return "kernel shape not given";
	const struct gpu *gpu = gpu_id ? run_gpu(r, (struct word){gpu_id, {0}}) : NULL;
	if (!gpu)
		return "GPU not in the database";
	enum dtype t = type_of(row_text(row, "weight_dtype"));
	const struct calibration *c = bind_kernels(r, gpu, NULL, KERNELS_ROOFLINE, NULL);
	if (t == DTYPE_BF16 && c && !gemm_calibrated(c, t))
		t = DTYPE_FP16;
	if (t == N_DTYPES || !c || !gemm_calibrated(c, t))
		return "no kernel measurements for this GPU or a similar one";
	const struct gemm_shape s = gemm_shape_of(m, n, k, t);
	const double flop = 2 * m * n * k;
	const struct error_source source = {
	    .fit = c, .kind = "gemm", .one_engine = true, .n = 3, .at = {{"m", m}, {"n", n}, {"k", k}}};

	out->predicted_s = gemm_time(NULL, &s, c, t);
	/* where the rate alone is printed, it is that of the same operations */
	out->measured_s = row_number(row, "time_us") > 0 ? row_number(row, "time_us") * 1e-6
	                                                 : flop / (row_number(row, "tflops") * 1e12);
	out->warning = c->transferred_from ? c->transfer_note : "library without a fit";
	if (!run_interval(r, &source, out->predicted_s, &out->band))
		out->band = (struct interval){NAN, NAN, NULL};
	return out->measured_s > 0 && isfinite(out->measured_s) ? NULL : "nothing was measured";
}
