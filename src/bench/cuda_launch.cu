/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch cost: n empty kernels, from the call until the last one has ended, on the host's clock.
 * `stream`: started one by one; `graph`: recorded before and started as one; `empty`: one; `submit`: what the host
 * spends on the call alone, while the GPU works on others.
 */
#include "cuda.h"

namespace {

__global__ void
count_up(unsigned *counter, unsigned by)
{
	if (by != 0)
		*counter += by;
}

struct launches {
	struct cuda_stream stream;
	struct cuda_graph graph; /* of n kernels */
	unsigned *counter = nullptr;
	long n = 0;
	unsigned by = 0; /* 0: empty */
};

static double
timed_stream(void *context, long repeat)
{
	const struct launches *l = static_cast<const struct launches *>(context);
	const double start_s = bench_now();

	for (long r = 0; r < repeat; r++) {
		for (long i = 0; i < l->n; i++)
			count_up<<<1, 1, 0, l->stream.is>>>(l->counter, l->by);
		if (!CUDA_OK(cudaGetLastError()) || !CUDA_OK(cudaStreamSynchronize(l->stream.is)))
			return -1;
	}
	return bench_now() - start_s;
}

static double
timed_graph(void *context, long repeat)
{
	const struct launches *l = static_cast<const struct launches *>(context);
	const double start_s = bench_now();

	for (long r = 0; r < repeat; r++)
		if (!CUDA_OK(cudaGraphLaunch(l->graph.is, l->stream.is)) ||
		    !CUDA_OK(cudaStreamSynchronize(l->stream.is)))
			return -1;
	return bench_now() - start_s;
}

/* Few enough that the queue does not fill and make the host wait. */
static double
timed_submit(void *context, long repeat)
{
	const struct launches *l = static_cast<const struct launches *>(context);
	double took_s = 0;

	for (long done = 0; done < repeat;) {
		const long n = repeat - done < 256 ? repeat - done : 256;
		const double start_s = bench_now();
		for (long i = 0; i < n; i++)
			count_up<<<1, 1, 0, l->stream.is>>>(l->counter, l->by);
		took_s += bench_now() - start_s;
		if (!CUDA_OK(cudaGetLastError()) || !CUDA_OK(cudaStreamSynchronize(l->stream.is)))
			return -1;
		done += n;
	}
	return took_s;
}

static enum bench_status
record(struct launches *l)
{
	TRY(l->graph.record(l->stream.is, [l] {
		for (long i = 0; i < l->n; i++)
			count_up<<<1, 1, 0, l->stream.is>>>(l->counter, l->by);
		return true;
	}));
	TRY(cudaGraphUpload(l->graph.is, l->stream.is));
	TRY(cudaStreamSynchronize(l->stream.is));
	return BENCH_OK;
}

/* Kernels that count: as many ran as were started. */
static enum bench_status
wrong_by(struct launches *l, bench_timer *timer, long expected, double *wrong)
{
	unsigned counted = 0;

	TRY(cudaMemset(l->counter, 0, sizeof *l->counter));
	TRY(cudaDeviceSynchronize());
	if (timer(l, 1) < 0)
		return BENCH_FAILED;
	TRY(cudaMemcpy(&counted, l->counter, sizeof counted, cudaMemcpyDeviceToHost));
	*wrong = static_cast<double>(counted) - static_cast<double>(expected);
	*wrong = *wrong < 0 ? -*wrong : *wrong;
	return BENCH_OK;
}

static enum bench_status
measure(struct bench *b, struct launches *l, const char *operation, bench_timer *timer, long n, double n_points_left)
{
	struct bench_row row = bench_row_new("launch", operation, nullptr);
	const bool graph = timer == timed_graph;
	double wrong;

	l->n = n;
	row.batch = static_cast<double>(n);
	const cuda_point point(b, "%s of %ld", operation, n);
	l->by = 1;
	if (graph)
		TRY_STATUS(record(l));
	TRY_STATUS(wrong_by(l, timer, n, &wrong));
	if (!bench_right(b, wrong, 0, "launch: %s of %ld kernels", operation, n))
		return BENCH_OK;
	l->by = 0;
	if (graph)
		TRY_STATUS(record(l));
	cuda_watch_begin(b);
	const enum bench_status status =
	    bench_take(timer, l, bench_share(b, n_points_left), BENCH_GPU_SAMPLE_S, &row.time);
	TRY_STATUS(status);
	bench_print(b, &row);
	return BENCH_OK;
}

} /* namespace */

enum bench_status
cuda_launch(struct bench *b)
{
	static const long counts[] = {1, 10, 100, 1000};
	device_array<unsigned> counter;
	struct launches l;
	double n_points = 2 + 2 * sizeof counts / sizeof *counts;

	TRY(counter.make(1));
	l.counter = counter.at;
	TRY(l.stream.make(cudaStreamNonBlocking));
	TRY_STATUS(measure(b, &l, "empty", timed_stream, 1, n_points--));
	TRY_STATUS(measure(b, &l, "submit", timed_submit, 1, n_points--));
	for (const long n : counts)
		TRY_STATUS(measure(b, &l, "stream", timed_stream, n, n_points--));
	for (const long n : counts)
		TRY_STATUS(measure(b, &l, "graph", timed_graph, n, n_points--));
	return BENCH_OK;
}
