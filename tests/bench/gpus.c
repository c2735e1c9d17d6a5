/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GPUs that do nothing, for the tests of ridge-bench's host side: CUDA's runtime, cuBLASLt, NCCL, NVML and a profiler
 * of NVTX in one library.  Copies copy, memory is the host's, kernels do not run; but `count_up` counts and `sample`
 * says that a GEMM is right.  What it notices it says on standard error.  The environment sets what is wrong with them:
 * FAKE_GPUS n, FAKE_DRIVER 12040, FAKE_CAPABILITY 90, FAKE_PTX version of the code that is loaded,
 * FAKE_FREE bytes that are said to be free, FAKE_MEMORY bytes that an allocation may have,
 * FAKE_HANG index of a GPU that does not end its work, FAKE_HANG_AFTER so many allocations, FAKE_UNSTEADY times that
 * never settle, FAKE_MIG, FAKE_PROCESSES n, FAKE_UTILIZATION percent, FAKE_BUSY index that these are of (default: all),
 * FAKE_THROTTLE bits, FAKE_CAPTURE fails,
 * FAKE_GEMM first (candidate fails) | heuristic (fails once) | capture (fails) | graph (fails once).
 */
#define _GNU_SOURCE

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long
setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text && *text ? atol(text) : otherwise;
}

static bool
is(const char *name, const char *value)
{
	const char *text = getenv(name);

	return text && strcmp(text, value) == 0;
}

static int current;

/* --- kernels --------------------------------------------------------------------------------------------- */

enum { KERNELS_MAX = 256, CALLS_MAX = 200000 };

static struct {
	const void *host;
	const char *name;
} kernels[KERNELS_MAX];
static int n_kernels;

struct CUstream_st {
	int gpu;
	bool capturing;
	long n_calls, n_counted; /* captured */
	unsigned *counter;
};

struct CUgraphExec_st {
	int gpu;
	long n_counted;
	unsigned *counter;
};

static dim3 grid_pushed;
static cudaStream_t stream_pushed;

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid,
    void *bid, void *block, void *grid, int *warp);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(
    cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream);

void **
__cudaRegisterFatBinary(void *image)
{
	static void *handle;

	(void)image;
	return &handle;
}

void
__cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void
__cudaUnregisterFatBinary(void **handle)
{
	(void)handle;
}

void
__cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid, void *bid,
    void *block, void *grid, int *warp)
{
	(void)handle, (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
	if (n_kernels < KERNELS_MAX) {
		kernels[n_kernels].host = host;
		kernels[n_kernels++].name = name;
	}
}

unsigned
__cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
	(void)block, (void)shared;
	grid_pushed = grid;
	stream_pushed = stream;
	return 0;
}

cudaError_t
__cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	*grid = grid_pushed;
	*block = (dim3){1, 1, 1};
	*shared = 0;
	memcpy(stream, &stream_pushed, sizeof stream_pushed);
	return cudaSuccess;
}

cudaError_t
__cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
	memcpy(kernel, &host, sizeof host);
	return cudaSuccess;
}

static bool
named(cudaKernel_t kernel, const char *part)
{
	for (int i = 0; i < n_kernels; i++)
		if (kernels[i].host == (const void *)kernel)
			return strstr(kernels[i].name, part) != NULL;
	return false;
}

cudaError_t
__cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
	(void)block, (void)shared;
	if (named(kernel, "8count_up")) {
		unsigned *counter = *(unsigned **)args[0];
		if (stream && stream->capturing) {
			stream->counter = counter;
			stream->n_counted += *(unsigned *)args[1];
		} else
			*counter += *(unsigned *)args[1];
	}
	if (named(kernel, "6sample"))
		for (unsigned i = 0; i < grid.x; i++)
			(*(double **)args[6])[2 * i + 1] = 1;
	return cudaSuccess;
}

/* --- devices --------------------------------------------------------------------------------------------- */

cudaError_t
cudaGetDeviceCount(int *count)
{
	*count = (int)setting("FAKE_GPUS", 1);
	return setting("FAKE_DRIVER", 13000) < CUDART_VERSION ? cudaErrorInsufficientDriver : cudaSuccess;
}

cudaError_t
cudaDriverGetVersion(int *version)
{
	*version = (int)setting("FAKE_DRIVER", 13000);
	return cudaSuccess;
}

cudaError_t
cudaRuntimeGetVersion(int *version)
{
	*version = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t
cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
	(void)device;
	memset(p, 0, sizeof *p);
	strcpy(p->name, "made-up GPU");
	p->major = (int)setting("FAKE_CAPABILITY", 90) / 10;
	p->minor = (int)setting("FAKE_CAPABILITY", 90) % 10;
	p->multiProcessorCount = 4;
	p->l2CacheSize = 1 << 20;
	p->totalGlobalMem = (size_t)1 << 30;
	return cudaSuccess;
}

cudaError_t
cudaDeviceGetPCIBusId(char *text, int size, int device)
{
	snprintf(text, (size_t)size, "0000:%02x:00.0", device);
	return cudaSuccess;
}

cudaError_t
cudaSetDevice(int device)
{
	current = device;
	return cudaSuccess;
}

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static atomic_int n_allocations;

static void
hang(int gpu)
{
	while (gpu == setting("FAKE_HANG", -1) && n_allocations >= setting("FAKE_HANG_AFTER", 0))
		(void)pause();
}

cudaError_t
cudaDeviceSynchronize(void)
{
	hang(current);
	return cudaSuccess;
}

cudaError_t
cudaDeviceReset(void)
{
	return cudaSuccess;
}

cudaError_t
cudaGetLastError(void)
{
	return cudaSuccess;
}

const char *
cudaGetErrorString(cudaError_t error)
{
	return error == cudaErrorMemoryAllocation ? "out of memory" : "an error";
}

cudaError_t
cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *function)
{
	(void)function;
	memset(a, 0, sizeof *a);
	a->binaryVersion = (int)setting("FAKE_CAPABILITY", 90);
	a->ptxVersion = (int)setting("FAKE_PTX", a->binaryVersion);
	a->sharedSizeBytes = 1;
	return cudaSuccess;
}

cudaError_t
cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	*can = device != peer;
	return cudaSuccess;
}

cudaError_t
cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	(void)peer, (void)flags;
	return cudaSuccess;
}

cudaError_t
cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int from, int to)
{
	(void)attribute;
	*value = from / 4 != to / 4; /* two islands of four */
	return cudaSuccess;
}

/* --- memory ---------------------------------------------------------------------------------------------- */

cudaError_t
cudaMemGetInfo(size_t *free_byte, size_t *total_byte)
{
	*free_byte = *total_byte = (size_t)setting("FAKE_FREE", 1L << 26);
	return cudaSuccess;
}

cudaError_t
cudaMalloc(void **at, size_t n)
{
	n_allocations++;
	*at = n <= (size_t)setting("FAKE_MEMORY", 1L << 28) ? calloc(n, 1) : NULL;
	return *at ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t
cudaMallocHost(void **at, size_t n)
{
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof cpus, &cpus);
	fprintf(
	    stderr, "fake: pinned on %d CPU, %s\n", CPU_COUNT(&cpus), CPU_ISSET(0, &cpus) ? "the GPU's" : "another");
	return cudaMalloc(at, n);
}

cudaError_t
cudaFree(void *at)
{
	free(at);
	return cudaSuccess;
}

cudaError_t
cudaFreeHost(void *at)
{
	free(at);
	return cudaSuccess;
}

cudaError_t
cudaMemset(void *at, int value, size_t n)
{
	memset(at, value, n);
	return cudaSuccess;
}

cudaError_t
cudaMemsetAsync(void *at, int value, size_t n, cudaStream_t stream)
{
	(void)stream;
	return cudaMemset(at, value, n);
}

cudaError_t
cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
	(void)kind;
	memcpy(to, from, n);
	return cudaSuccess;
}

cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	(void)stream;
	return cudaMemcpy(to, from, n, kind);
}

cudaError_t
cudaMemcpyPeerAsync(void *to, int to_gpu, const void *from, int from_gpu, size_t n, cudaStream_t stream)
{
	(void)to_gpu, (void)from_gpu;
	return cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, stream);
}

/* --- streams, events, graphs ----------------------------------------------------------------------------- */

struct CUevent_st {
	double at_s;
};

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
	(void)flags;
	*out = calloc(1, sizeof **out);
	(*out)->gpu = current;
	return cudaSuccess;
}

cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
	if (stream->capturing)
		fputs("fake: a stream is destroyed in a capture\n", stderr);
	free(stream);
	return cudaSuccess;
}

cudaError_t
cudaStreamQuery(cudaStream_t stream)
{
	return stream->gpu == setting("FAKE_HANG", -1) ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
	hang(stream ? stream->gpu : current);
	return cudaSuccess;
}

cudaError_t
cudaEventCreate(cudaEvent_t *out)
{
	*out = calloc(1, sizeof **out);
	return cudaSuccess;
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	(void)stream;
	event->at_s = now_s();
	return cudaSuccess;
}

cudaError_t
cudaEventSynchronize(cudaEvent_t event)
{
	(void)event;
	hang(current);
	return cudaSuccess;
}

cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	static int n;

	*ms =
	    (float)(1e3 * (end->at_s - start->at_s) + 1e-3) * (setting("FAKE_UNSTEADY", 0) ? (float)(1 + n++ % 7) : 1);
	return cudaSuccess;
}

cudaError_t
cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	(void)mode;
	if (setting("FAKE_CAPTURE", 0))
		return cudaErrorStreamCaptureUnsupported;
	stream->capturing = true;
	stream->n_counted = 0;
	return cudaSuccess;
}

cudaError_t
cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	stream->capturing = false;
	*graph = (cudaGraph_t)(void *)stream;
	return cudaSuccess;
}

cudaError_t
cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
	const struct CUstream_st *stream = (const struct CUstream_st *)(void *)graph;
	static int n_failed;

	(void)flags;
	if (is("FAKE_GEMM", "graph") && n_failed++ == 0)
		return cudaErrorMemoryAllocation;
	*out = calloc(1, sizeof **out);
	(*out)->gpu = stream->gpu;
	(*out)->n_counted = stream->n_counted;
	(*out)->counter = stream->counter;
	return cudaSuccess;
}

cudaError_t
cudaGraphDestroy(cudaGraph_t graph)
{
	(void)graph;
	return cudaSuccess;
}

cudaError_t
cudaGraphExecDestroy(cudaGraphExec_t graph)
{
	free(graph);
	return cudaSuccess;
}

cudaError_t
cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
	(void)stream;
	if (graph->n_counted)
		*graph->counter += (unsigned)graph->n_counted;
	return cudaSuccess;
}

cudaError_t
cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream)
{
	(void)graph, (void)stream;
	return cudaSuccess;
}

/* --- cuBLASLt -------------------------------------------------------------------------------------------- */

size_t
cublasLtGetVersion(void)
{
	return 130100;
}

const char *
cublasLtGetStatusString(cublasStatus_t status)
{
	return status == CUBLAS_STATUS_INTERNAL_ERROR ? "internal error" : "an error";
}

#define NOTHING(name, ...)                                                                                             \
	cublasStatus_t name(__VA_ARGS__)                                                                               \
	{                                                                                                              \
		return CUBLAS_STATUS_SUCCESS;                                                                          \
	}
#pragma GCC diagnostic ignored "-Wunused-parameter"
NOTHING(cublasLtCreate, cublasLtHandle_t *handle)
NOTHING(cublasLtDestroy, cublasLtHandle_t handle)
NOTHING(cublasLtMatmulDescCreate, cublasLtMatmulDesc_t *d, cublasComputeType_t c, cudaDataType_t s)
NOTHING(cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t d)
NOTHING(
    cublasLtMatmulDescSetAttribute, cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a, const void *b, size_t n)
NOTHING(cublasLtMatrixLayoutCreate, cublasLtMatrixLayout_t *l, cudaDataType t, uint64_t r, uint64_t c, int64_t ld)
NOTHING(cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t l)
NOTHING(cublasLtMatmulPreferenceCreate, cublasLtMatmulPreference_t *p)
NOTHING(cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreference_t p)
NOTHING(cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t a,
    const void *b, size_t n)

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t y, cublasLtMatmulPreference_t p,
    int wanted, cublasLtMatmulHeuristicResult_t out[], int *n)
{
	static int n_asked;

	if (is("FAKE_GEMM", "heuristic") && n_asked++ == 0)
		return CUBLAS_STATUS_INTERNAL_ERROR;
	*n = wanted < 3 ? wanted : 3;
	for (int i = 0; i < *n; i++) {
		out[i].state = CUBLAS_STATUS_SUCCESS;
		out[i].algo.data[0] = (uint64_t)i;
	}
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t d, const void *alpha, const void *a, cublasLtMatrixLayout_t al,
    const void *b, cublasLtMatrixLayout_t bl, const void *beta, const void *c, cublasLtMatrixLayout_t cl, void *y,
    cublasLtMatrixLayout_t yl, const cublasLtMatmulAlgo_t *algo, void *room, size_t n_room, cudaStream_t stream)
{
	if (is("FAKE_GEMM", "first") && algo->data[0] == 0)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (is("FAKE_GEMM", "capture") && stream->capturing)
		return CUBLAS_STATUS_ALLOC_FAILED;
	return CUBLAS_STATUS_SUCCESS;
}

/* --- NCCL ------------------------------------------------------------------------------------------------ */

#define NO_OPERATION(name, ...)                                                                                        \
	ncclResult_t name(__VA_ARGS__)                                                                                 \
	{                                                                                                              \
		return ncclSuccess;                                                                                    \
	}
NO_OPERATION(ncclAllGather, const void *a, void *b, size_t n, ncclDataType_t t, ncclComm_t c, cudaStream_t s)
NO_OPERATION(
    ncclAllReduce, const void *a, void *b, size_t n, ncclDataType_t t, ncclRedOp_t o, ncclComm_t c, cudaStream_t s)
NO_OPERATION(ncclBroadcast, const void *a, void *b, size_t n, ncclDataType_t t, int root, ncclComm_t c, cudaStream_t s)
NO_OPERATION(
    ncclReduceScatter, const void *a, void *b, size_t n, ncclDataType_t t, ncclRedOp_t o, ncclComm_t c, cudaStream_t s)
NO_OPERATION(ncclRecv, void *b, size_t n, ncclDataType_t t, int peer, ncclComm_t c, cudaStream_t s)
NO_OPERATION(ncclSend, const void *b, size_t n, ncclDataType_t t, int peer, ncclComm_t c, cudaStream_t s)
NO_OPERATION(ncclCommDestroy, ncclComm_t c)
NO_OPERATION(ncclGroupStart, void)
NO_OPERATION(ncclGroupEnd, void)

ncclResult_t
ncclCommInitAll(ncclComm_t *comms, int n, const int *gpus)
{
	static int one;

	for (int i = 0; i < n; i++)
		comms[i] = (ncclComm_t)(void *)&one;
	return ncclSuccess;
}

ncclResult_t
ncclCommAbort(ncclComm_t comm)
{
	fputs("fake: aborted\n", stderr);
	return ncclSuccess;
}

ncclResult_t
ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
	*error = ncclSuccess;
	return ncclSuccess;
}

ncclResult_t
ncclGetVersion(int *version)
{
	*version = 22809;
	return ncclSuccess;
}

const char *
ncclGetErrorString(ncclResult_t result)
{
	return "an error";
}

/* --- NVML ------------------------------------------------------------------------------------------------ */

/* A handle is the index, counted from 1. */
#define NVML(name, ...) int name(__VA_ARGS__)

static long
of_busy(void *device, const char *name)
{
	const long only = setting("FAKE_BUSY", -1);

	return only < 0 || (long)(size_t)device == only + 1 ? setting(name, 0) : 0;
}

NVML(nvmlInit_v2, void);
NVML(nvmlShutdown, void);
NVML(nvmlDeviceGetHandleByPciBusId_v2, const char *, void **);
NVML(nvmlDeviceGetClockInfo, void *, int, unsigned *);
NVML(nvmlDeviceGetMaxClockInfo, void *, int, unsigned *);
NVML(nvmlDeviceGetPowerUsage, void *, unsigned *);
NVML(nvmlDeviceGetFieldValues, void *, int, void *);
NVML(nvmlDeviceGetEnforcedPowerLimit, void *, unsigned *);
NVML(nvmlSystemGetDriverVersion, char *, unsigned);
NVML(nvmlDeviceGetMigMode, void *, unsigned *, unsigned *);
NVML(nvmlDeviceGetEccMode, void *, int *, int *);
NVML(nvmlDeviceGetTemperature, void *, int, unsigned *);
NVML(nvmlDeviceGetUtilizationRates, void *, unsigned *);
NVML(nvmlDeviceGetComputeRunningProcesses_v3, void *, unsigned *, void *);
NVML(nvmlDeviceGetCurrentClocksEventReasons, void *, unsigned long long *);
NVML(nvmlDeviceGetCpuAffinity, void *, unsigned, unsigned long *);

NVML(nvmlInit_v2, void)
{
	return 0;
}

NVML(nvmlShutdown, void)
{
	return 0;
}

NVML(nvmlDeviceGetHandleByPciBusId_v2, const char *address, void **device)
{
	*device = (void *)(size_t)(strtol(address + 5, NULL, 16) + 1);
	return 0;
}

NVML(nvmlDeviceGetClockInfo, void *device, int which, unsigned *mhz)
{
	*mhz = which == 2 ? 3201 : 1980;
	return 0;
}

NVML(nvmlDeviceGetMaxClockInfo, void *device, int which, unsigned *mhz)
{
	*mhz = 1980;
	return 0;
}

/* The power at the moment alone, as a driver lays it out: field, type and status, value. */
NVML(nvmlDeviceGetFieldValues, void *device, int n, void *fields)
{
	unsigned *const field = fields;

	if (n != 1 || field[0] != 186)
		return 2;
	field[6] = 1;
	field[7] = 0;
	field[8] = 655000;
	return 0;
}

/* The mean of a second. */
NVML(nvmlDeviceGetPowerUsage, void *device, unsigned *milliwatt)
{
	*milliwatt = 650000;
	return 0;
}

NVML(nvmlDeviceGetEnforcedPowerLimit, void *device, unsigned *milliwatt)
{
	*milliwatt = 700000;
	return 0;
}

NVML(nvmlSystemGetDriverVersion, char *text, unsigned size)
{
	snprintf(text, size, "580.95.05");
	return 0;
}

NVML(nvmlDeviceGetMigMode, void *device, unsigned *now, unsigned *next)
{
	*now = *next = (unsigned)of_busy(device, "FAKE_MIG");
	return 0;
}

NVML(nvmlDeviceGetEccMode, void *device, int *now, int *next)
{
	*now = *next = 1;
	return 0;
}

NVML(nvmlDeviceGetTemperature, void *device, int sensor, unsigned *celsius)
{
	*celsius = 41;
	return 0;
}

NVML(nvmlDeviceGetUtilizationRates, void *device, unsigned *percent)
{
	percent[0] = (unsigned)of_busy(device, "FAKE_UTILIZATION");
	percent[1] = 0;
	return 0;
}

NVML(nvmlDeviceGetComputeRunningProcesses_v3, void *device, unsigned *n, void *list)
{
	*n = (unsigned)of_busy(device, "FAKE_PROCESSES");
	return 0;
}

NVML(nvmlDeviceGetCurrentClocksEventReasons, void *device, unsigned long long *bits)
{
	*bits = (unsigned long long)setting("FAKE_THROTTLE", 1);
	return 0;
}

/* The first CPU is the GPU's. */
NVML(nvmlDeviceGetCpuAffinity, void *device, unsigned n, unsigned long *set)
{
	memset(set, 0, n * sizeof *set);
	set[0] = 1;
	return 0;
}

/* --- NVTX ------------------------------------------------------------------------------------------------ */

int InitializeInjectionNvtx2(void *(*export_table)(unsigned));

int
InitializeInjectionNvtx2(void *(*export_table)(unsigned))
{
	(void)export_table;
	fputs("fake: a profiler is called\n", stderr);
	return 1;
}
