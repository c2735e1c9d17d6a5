/* SPDX-License-Identifier: Apache-2.0 */
/* The measured GPU, and the list of GPU benchmarks. */
#include "cuda.h"
#include "nvml.h"

#include <cstring>

size_t
cuda_free_byte(void)
{
	size_t free_byte = 0, total_byte = 0;

	return CUDA_OK(cudaMemGetInfo(&free_byte, &total_byte)) ? free_byte : 0;
}

static void
read_instruments(struct bench *b)
{
	b->clock_mhz = nvml_clock_mhz();
	b->power_watt = nvml_power_watt();
	b->cuda->throttling = nvml_throttling();
	b->throttling |= b->cuda->throttling;
	b->cuda->read_s = bench_now();
}

/* The readings of one point do not stay for the next, unless that begins at once. */
void
cuda_watch_begin(struct bench *b)
{
	const double now_s = bench_now();

	if (now_s - b->cuda->read_s > 0.05)
		read_instruments(b);
	b->throttling = b->cuda->throttling;
	b->cuda->looked_s = now_s - 0.08; /* a short point is looked at too */
	b->clock_before_mhz = b->clock_mhz;
}

void
cuda_watch(struct bench *b)
{
	const double now_s = bench_now();

	if (now_s - b->cuda->looked_s < 0.1)
		return;
	b->cuda->looked_s = now_s;
	read_instruments(b);
}

/* --- one GPU --------------------------------------------------------------------------------------------- */

static const char *
id_of(const char *name)
{
	static const struct {
		const char *name, *id;
	} names[] = {
#define GPU(name, id) {name, id},
#include "gpu_names.def"
#undef GPU
	};

	for (const auto &known : names)
		if (strcmp(known.name, name) == 0)
			return known.id;
	return nullptr;
}

namespace {

__global__ void
spin(float x, long n, float *out)
{
	for (long i = 0; i < n; i++)
		x = fmaf(x, -1.0f, 0.25f);
	if (x > 1e30f)
		*out = x;
}

} /* namespace */

/* An idle GPU raises its clock some time after work has come: the first point is not to see that. */
static enum bench_status
wake(const struct cuda_gpu *gpu)
{
	const double start_s = bench_now();

	while (bench_now() - start_s < 0.3) {
		spin<<<static_cast<unsigned>(4 * gpu->n_sms), 256>>>(0.5f, 100000, nullptr);
		TRY_LAUNCH();
		TRY(cudaDeviceSynchronize());
	}
	return BENCH_OK;
}

static void
close_gpu(struct bench *b)
{
	nvml_close();
	delete b->cuda;
	b->cuda = nullptr;
	(void)cudaDeviceReset();
}

static enum bench_status
open_gpu(struct bench *b, int index)
{
	static cudaDeviceProp properties; /* its name is in every row */
	cudaFuncAttributes code;
	char address[32];
	int driver = 0, runtime = 0;

	/* No context yet: in a container its process would be listed under a number that is not ours. */
	TRY(cudaGetDeviceProperties(&properties, index));
	TRY(cudaDeviceGetPCIBusId(address, sizeof address, index));
	TRY(cudaDriverGetVersion(&driver));
	TRY(cudaRuntimeGetVersion(&runtime));
	b->device = properties.name;
	b->gpu_id = id_of(properties.name);
	if (!b->gpu_id)
		bench_say(b, "'%s' is not known by its name: ridge calibrate --gpu says which it is", properties.name);
	struct cuda_gpu *const gpu = b->cuda = new struct cuda_gpu();
	gpu->n_sms = properties.multiProcessorCount;
	gpu->l2_byte = static_cast<double>(properties.l2CacheSize);
	gpu->capability = 10 * properties.major + properties.minor;
	const struct bench_device device = {
	    gpu->n_sms, gpu->capability, driver, runtime, static_cast<double>(properties.totalGlobalMem), gpu->l2_byte};
	TRY_STATUS(bench_device_ready(b, address, &device));
	TRY(cudaSetDevice(index));
	TRY(cudaFuncGetAttributes(&code, spin));
	if (code.ptxVersion < gpu->capability)
		bench_say(b,
		    "this was built for compute capability %d.%d: what %d.%d has besides is left out, and instructions "
		    "may be those of the older one",
		    code.ptxVersion / 10, code.ptxVersion % 10, gpu->capability / 10, gpu->capability % 10);
	TRY(cudaEventCreate(&gpu->start));
	TRY(cudaEventCreate(&gpu->stop));
	return wake(gpu);
}

static const struct bench_subject subjects[] = {
    {"memory",
        "read, write, copy, scale and triad over footprints from 16 KiB to gigabytes, all multiprocessors; L1 and "
        "shared memory",
        BENCH_GPU, 8, cuda_memory},
    {"latency", "a dependent load over footprints from 4 KiB", BENCH_GPU, 4, cuda_latency},
    {"transfer", "host to device and back, pinned and pageable, one way and both", BENCH_GPU, 5, cuda_transfer},
    {"fma", "multiply-add in registers: fp64, fp32, fp16, bf16", BENCH_GPU, 2, cuda_fma},
    {"tensor", "matrix instructions on registers or shared memory, each type that the GPU has", BENCH_GPU, 3,
        cuda_tensor},
    {"gemm", "GEMMs of layers through cuBLASLt: its first choice and the best of its candidates", BENCH_GPU, 30,
        cuda_gemm},
    {"launch", "empty kernels: alone, in a stream, in a graph; what the host spends on each", BENCH_GPU, 2,
        cuda_launch},
    {"p2p", "copies between each pair of GPUs, one way and both", BENCH_GPUS, 6, cuda_p2p},
};

extern "C" __attribute__((visibility("default"))) const struct bench_plugin bench_plugin = {
    BENCH_VERSION, subjects, sizeof subjects / sizeof *subjects, cuda_count, open_gpu, close_gpu};
