/* SPDX-License-Identifier: Apache-2.0 */
/* The measured GPU, and the list of GPU benchmarks. */
#include "cuda.h"
#include "nvml.h"

#include <cstring>

struct cuda_gpu gpu;

static struct {
	struct bench *bench;
	double last_s;
	double read_s; /* when the instruments were read: that takes milliseconds */
	uint64_t throttling;
} watched;

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
	watched.throttling = nvml_throttling();
	b->throttling |= watched.throttling;
	watched.read_s = bench_now();
}

/* The readings of one point do not stay for the next, unless that begins at once. */
void
cuda_watch_begin(struct bench *b)
{
	const double now_s = bench_now();

	if (watched.bench != b || now_s - watched.read_s > 0.05)
		read_instruments(b);
	b->throttling = watched.throttling;
	watched.bench = b;
	watched.last_s = now_s - 0.08; /* a short point is looked at too */
	b->clock_before_mhz = b->clock_mhz;
}

void
cuda_watch(void)
{
	const double now_s = bench_now();

	if (!watched.bench || now_s - watched.last_s < 0.1)
		return;
	watched.last_s = now_s;
	read_instruments(watched.bench);
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

__global__ void
spin(float x, long n, float *out)
{
	for (long i = 0; i < n; i++)
		x = fmaf(x, -1.0f, 0.25f);
	if (x > 1e30f)
		*out = x;
}

/* An idle GPU raises its clock some time after work has come: the first point is not to see that. */
static enum bench_status
wake(void)
{
	const double start_s = bench_now();

	while (bench_now() - start_s < 0.3) {
		spin<<<static_cast<unsigned>(4 * gpu.n_sms), 256>>>(0.5f, 100000, nullptr);
		TRY_LAUNCH();
		TRY(cudaDeviceSynchronize());
	}
	return BENCH_OK;
}

static enum bench_status
open_gpu(struct bench *b, int index)
{
	static cudaDeviceProp properties;
	char address[32];
	int driver = 0, runtime = 0;

	/* No context yet: in a container its process would be listed under a number that is not ours. */
	TRY(cudaGetDeviceProperties(&properties, index));
	TRY(cudaDeviceGetPCIBusId(address, sizeof address, index));
	TRY(cudaDriverGetVersion(&driver));
	TRY(cudaRuntimeGetVersion(&runtime));
	gpu.index = index;
	gpu.n_sms = properties.multiProcessorCount;
	gpu.l2_byte = static_cast<double>(properties.l2CacheSize);
	gpu.capability = 10 * properties.major + properties.minor;
	b->device = properties.name;
	b->gpu_id = id_of(properties.name);
	if (!b->gpu_id)
		bench_say(b, "'%s' is not known by its name: ridge calibrate --gpu says which it is", properties.name);
	const struct bench_device device = {
	    gpu.n_sms, gpu.capability, driver, runtime, static_cast<double>(properties.totalGlobalMem), gpu.l2_byte};
	TRY_STATUS(bench_device_ready(b, address, &device));
	TRY(cudaSetDevice(index));
	TRY(cudaEventCreate(&gpu.start));
	TRY(cudaEventCreate(&gpu.stop));
	return wake();
}

static void
close_gpu(void)
{
	watched.bench = nullptr;
	nvml_close();
	(void)cudaDeviceReset();
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
