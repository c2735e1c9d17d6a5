/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM dtypes, operands and reference results. */
#ifndef BENCH_CUDA_GEMM_H
#define BENCH_CUDA_GEMM_H

#include "cuda.h"

#include <cublasLt.h>

/* Scale factors: one for each operand; for each 16 elements of a row (Blackwell); for each 128 elements of a row of
 * activations and each block of 128 x 128 weights (Hopper), as DeepSeek-V3 has them. */
enum gemm_scales { SCALES_NONE, SCALES_ONE, SCALES_16, SCALES_128 };

struct gemm_type {
	const char *dtype;
	cudaDataType_t in, out, scale;
	cublasComputeType_t compute;
	double in_byte, out_byte;
	double tolerance; /* of the relative norm over sampled elements, at a depth of 4096 */
	int least, most;  /* compute capabilities that have it */
	enum gemm_scales scales;
};

extern const struct gemm_type gemm_types[];
extern const int n_gemm_types;

/* Random numbers of a type; scale factors are ones. */
cudaError_t gemm_fill(const struct cuda_gpu *gpu, const struct gemm_type *type, void *array, size_t n, uint32_t seed);

/*
 * A row-major product y = x w^T with x m x k and w n x k: the relative norm of the difference at sampled elements to
 * sums in double precision, and how many elements of y were not written (they were made not-a-number before).
 */
enum bench_status gemm_wrong_by(const struct cuda_gpu *gpu, const struct gemm_type *type, const void *x, const void *w,
    const void *y, int m, int n, int k, uint32_t seed, double *error);

/* --- a product through cuBLASLt -------------------------------------------------------------------------- */

bool lt_ok(cublasStatus_t status, const char *call, const char *file, int line);

#define LT_OK(call) lt_ok((call), #call, __FILE__, __LINE__)
#define TRY_LT(call)                                                                                                   \
	do {                                                                                                           \
		if (!LT_OK(call))                                                                                      \
			return BENCH_FAILED;                                                                           \
	} while (0)

enum { CANDIDATES_MAX = 8, WORKSPACE_BYTE = 32 << 20 };

struct product {
	const struct cuda_gpu *gpu;
	const struct gemm_type *type;
	int m, n, k;
	cublasLtHandle_t handle;
	cublasLtMatmulDesc_t operation = nullptr;
	cublasLtMatrixLayout_t w_layout = nullptr, x_layout = nullptr, y_layout = nullptr;
	cublasLtMatmulHeuristicResult_t candidates[CANDIDATES_MAX];
	int n_candidates = 0;
	unsigned char *x, *w, *y, *workspace;
	size_t w_byte; /* of one copy */
	size_t n_copies, n_recorded = 0;
	struct cuda_graph graph; /* n_recorded products, with each copy as often, by one candidate */

	product() = default;
	product(const product &) = delete;
	product &operator=(const product &) = delete;
	~product()
	{
		if (y_layout)
			(void)cublasLtMatrixLayoutDestroy(y_layout);
		if (x_layout)
			(void)cublasLtMatrixLayoutDestroy(x_layout);
		if (w_layout)
			(void)cublasLtMatrixLayoutDestroy(w_layout);
		if (operation)
			(void)cublasLtMatmulDescDestroy(operation);
	}
};

/* `scales`: ones.  n_candidates -1: the library does not know such scale factors. */
enum bench_status product_describe(struct product *p, const void *scales);
/* n_candidates 0: this type or shape is not supported here, or the heuristic failed, which is said. */
enum bench_status product_candidates(struct product *p, int n_wanted);
/* With one copy of the weights, in the timed stream; not every candidate can do what the heuristic thinks. */
cublasStatus_t product_multiply(const struct product *p, int candidate, size_t copy);
/* No graph: the candidate cannot. */
void product_record(struct product *p, int candidate);

#endif
