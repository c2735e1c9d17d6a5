/* SPDX-License-Identifier: Apache-2.0 */
/* Describe a GEMM to cuBLASLt, list candidate algorithms, run them. */
#include "cuda_gemm.h"

bool
lt_ok(cublasStatus_t status, const char *call, const char *file, int line)
{
	if (status == CUBLAS_STATUS_SUCCESS)
		return true;
	fprintf(stderr, "ridge-bench: error: %s: %s (%s:%d)\n", call, cublasLtGetStatusString(status), file, line);
	return false;
}

template <class T>
static cublasStatus_t
set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const T &value)
{
	return cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value);
}

/* What the library calls the scale factors of weights and of activations. */
static bool
set_modes(struct product *p)
{
#if CUDART_VERSION >= 12090
	if (p->type->scales == SCALES_128)
		return set(p->operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
		           CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F) == CUBLAS_STATUS_SUCCESS &&
		    set(p->operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F) ==
		    CUBLAS_STATUS_SUCCESS;
#endif
#if CUDART_VERSION >= 12080
	if (p->type->scales == SCALES_16)
		return set(p->operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3) ==
		    CUBLAS_STATUS_SUCCESS &&
		    set(p->operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3) ==
		    CUBLAS_STATUS_SUCCESS;
#endif
	return p->type->scales == SCALES_ONE;
}

/* All are ones, so it does not matter in what order they lie. */
static enum bench_status
describe_scales(struct product *p, const void *scales)
{
	if (p->type->scales == SCALES_NONE)
		return BENCH_OK;
	TRY_LT(set(p->operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scales));
	TRY_LT(set(p->operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scales));
	if (!set_modes(p))
		p->n_candidates = -1;
	return BENCH_OK;
}

enum bench_status
product_describe(struct product *p, const void *scales)
{
	const struct gemm_type *t = p->type;
	const cublasOperation_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
	const auto m = static_cast<uint64_t>(p->m), n = static_cast<uint64_t>(p->n), k = static_cast<uint64_t>(p->k);

	TRY_LT(cublasLtMatmulDescCreate(&p->operation, t->compute, t->scale));
	TRY_LT(set(p->operation, CUBLASLT_MATMUL_DESC_TRANSA, transposed));
	TRY_LT(set(p->operation, CUBLASLT_MATMUL_DESC_TRANSB, plain));
	TRY_STATUS(describe_scales(p, scales));
	if (t->scales == SCALES_ONE) {
		/* as engines do it in inference; it matters on Hopper */
		const int8_t fast = 1;
		TRY_LT(set(p->operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast));
	}
	TRY_LT(cublasLtMatrixLayoutCreate(&p->w_layout, t->in, k, n, p->k));
	TRY_LT(cublasLtMatrixLayoutCreate(&p->x_layout, t->in, k, m, p->k));
	TRY_LT(cublasLtMatrixLayoutCreate(&p->y_layout, t->out, n, m, p->n));
	return BENCH_OK;
}

enum bench_status
product_candidates(struct product *p, int n_wanted)
{
	const size_t workspace_byte = WORKSPACE_BYTE;
	cublasLtMatmulPreference_t preference;

	if (p->n_candidates < 0) {
		p->n_candidates = 0;
		return BENCH_OK;
	}
	TRY_LT(cublasLtMatmulPreferenceCreate(&preference));
	cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(
	    preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_byte, sizeof workspace_byte);
	p->n_candidates = 0;
	if (status == CUBLAS_STATUS_SUCCESS)
		status = cublasLtMatmulAlgoGetHeuristic(p->handle, p->operation, p->w_layout, p->x_layout, p->y_layout,
		    p->y_layout, preference, n_wanted, p->candidates, &p->n_candidates);
	TRY_LT(cublasLtMatmulPreferenceDestroy(preference));
	if (status == CUBLAS_STATUS_SUCCESS)
		return BENCH_OK;
	/* one shape is lost, not the subject */
	p->n_candidates = 0;
	if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE &&
	    status != CUBLAS_STATUS_ARCH_MISMATCH)
		fprintf(stderr, "ridge-bench: gemm: %s %d x %d x %d: no candidates: %s\n", p->type->dtype, p->m, p->n,
		    p->k, cublasLtGetStatusString(status));
	return BENCH_OK;
}

/* alpha and beta of the type that sums are scaled in. */
struct factor {
	double fp64;
	float fp32;
	int32_t int32;
};

static const void *
factor_of(const struct factor *f, cudaDataType_t scale)
{
	return scale == CUDA_R_64F ? static_cast<const void *>(&f->fp64)
	    : scale == CUDA_R_32I  ? static_cast<const void *>(&f->int32)
	                           : static_cast<const void *>(&f->fp32);
}

cublasStatus_t
product_multiply(const struct product *p, int candidate, size_t copy)
{
	static const struct factor one = {1, 1, 1}, zero = {0, 0, 0};

	return cublasLtMatmul(p->handle, p->operation, factor_of(&one, p->type->scale), p->w + copy * p->w_byte,
	    p->w_layout, p->x, p->x_layout, factor_of(&zero, p->type->scale), p->y, p->y_layout, p->y, p->y_layout,
	    &p->candidates[candidate].algo, p->workspace, WORKSPACE_BYTE, p->gpu->stream);
}

/*
 * Calls from the host take longer than small products do: all copies in turn are one graph, and again where products
 * are small, so that starting the graph is not seen.
 */
static const size_t enough_byte = 500000000;

void
product_record(struct product *p, int candidate)
{
	const size_t rounds = p->m > 256 ? 1 : enough_byte / (p->n_copies * p->w_byte) + 1;
	p->n_recorded = rounds * p->n_copies;
	const cudaError_t error = p->graph.record(p->gpu->stream, [p, candidate] {
		for (size_t i = 0; i < p->n_recorded; i++)
			if (product_multiply(p, candidate, i % p->n_copies) != CUBLAS_STATUS_SUCCESS)
				return false;
		return true;
	});
	if (error == cudaSuccess)
		return;
	/* one candidate is lost, not the subject; if it is the GPU that failed, the next call says so */
	(void)cudaGetLastError();
	fprintf(stderr, "ridge-bench: gemm: %s %d x %d x %d: candidate %d: no graph: %s\n", p->type->dtype, p->m, p->n,
	    p->k, candidate, cudaGetErrorString(error));
}
