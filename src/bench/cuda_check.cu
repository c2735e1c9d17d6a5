/* SPDX-License-Identifier: Apache-2.0 */
/* Check CUDA calls; count the devices. */
#include "cuda.h"

bool
cuda_ok(cudaError_t error, const char *call, const char *file, int line)
{
	if (error == cudaSuccess)
		return true;
	fprintf(stderr, "ridge-bench: error: %s: %s (%s:%d)\n", call, cudaGetErrorString(error), file, line);
	return false;
}

int
cuda_count(char *why, size_t size)
{
	int n = 0, version = 0;
	const cudaError_t error = cudaGetDeviceCount(&n);

	if (error == cudaSuccess && n > 0)
		return n;
	if (error == cudaSuccess)
		snprintf(why, size, "there is no GPU");
	else if (cudaDriverGetVersion(&version) == cudaSuccess && version == 0)
		snprintf(why, size, "there is no NVIDIA driver");
	else
		snprintf(why, size, "%s", cudaGetErrorString(error));
	return 0;
}
