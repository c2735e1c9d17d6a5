/* SPDX-License-Identifier: Apache-2.0 */
/* Check CUDA calls; count the devices; name the points. */
#include "cuda.h"

#include <cstdarg>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define RANGE_BEGIN(text) (void)nvtxRangePushA(text)
#define RANGE_END() (void)nvtxRangePop()
#else
#define RANGE_BEGIN(text) (void)(text)
#define RANGE_END() (void)0
#endif

cuda_point::cuda_point(const struct bench *b, const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	bench_progress(b, "%s", text);
	RANGE_BEGIN(text);
}

cuda_point::~cuda_point()
{
	RANGE_END();
}

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
	else if (error == cudaErrorInsufficientDriver)
		snprintf(why, size,
		    "the driver supports CUDA %d.%d, and this was built with CUDA %d.%d: update the driver, or "
		    "build with an older toolkit",
		    version / 1000, version % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
	else
		snprintf(why, size, "%s", cudaGetErrorString(error));
	return error == cudaSuccess || error == cudaErrorNoDevice || version == 0 ? 0 : -1;
}

enum bench_status
cuda_chosen(struct bench *b, std::vector<int> *gpus)
{
	char address[32];
	int n = 0;

	TRY(cudaGetDeviceCount(&n));
	gpus->clear();
	for (int i = 0; i < (b->gpus ? b->n_gpus : n); i++)
		gpus->push_back(b->gpus ? b->gpus[i] : i);
	for (const int i : *gpus) {
		TRY(cudaDeviceGetPCIBusId(address, sizeof address, i));
		TRY_STATUS(bench_device_idle(b, i, address));
	}
	return BENCH_OK;
}
