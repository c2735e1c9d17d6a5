/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between host and device: pinned and pageable memory, in each direction and in both at once. */
#include "cuda.h"

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct buffers {
	pinned_memory pinned_out, pinned_in;
	std::vector<unsigned char> pageable_out, pageable_in;
	device_array<unsigned char> device_to, device_from;
	struct cuda_stream up, down;
};

enum way { UP, DOWN, BOTH };

static const struct {
	const char *name;
	enum way way;
	bool pinned;
	const char *note;
} operations[] = {
    {"h2d", UP, true, "pinned"},
    {"d2h", DOWN, true, "pinned"},
    {"h2d_bidir", BOTH, true, "pinned, the same size the other way at once"},
    {"h2d_pageable", UP, false, "pageable"},
    {"d2h_pageable", DOWN, false, "pageable"},
};

enum { N_OPERATIONS = sizeof operations / sizeof *operations };

struct transfer {
	struct buffers *x;
	size_t size_byte;
	int k;
};

/* Started from the host, until all has arrived. */
static double
timed(void *context, long n)
{
	const struct transfer *t = static_cast<const struct transfer *>(context);
	struct buffers *x = t->x;
	const bool pinned = operations[t->k].pinned;
	const unsigned char *out = pinned ? x->pinned_out.at : x->pageable_out.data();
	unsigned char *in = pinned ? x->pinned_in.at : x->pageable_in.data();
	const enum way way = operations[t->k].way;
	const double start_s = bench_now();

	for (long i = 0; i < n; i++) {
		if (way != DOWN &&
		    !CUDA_OK(cudaMemcpyAsync(x->device_to.at, out, t->size_byte, cudaMemcpyHostToDevice, x->up.is)))
			return -1;
		if (way != UP &&
		    !CUDA_OK(cudaMemcpyAsync(in, x->device_from.at, t->size_byte, cudaMemcpyDeviceToHost, x->down.is)))
			return -1;
	}
	if (!CUDA_OK(cudaStreamSynchronize(x->up.is)) || !CUDA_OK(cudaStreamSynchronize(x->down.is)))
		return -1;
	return bench_now() - start_s;
}

/* What went up is what was there; what came down is what was on the device. */
static enum bench_status
wrong_by(struct transfer *t, double *wrong)
{
	struct buffers *x = t->x;
	const enum way way = operations[t->k].way;
	const bool pinned = operations[t->k].pinned;
	unsigned char *in = pinned ? x->pinned_in.at : x->pageable_in.data();
	std::vector<unsigned char> back(t->size_byte);

	memset(in, 0, t->size_byte);
	TRY(cudaMemset(x->device_to.at, 0, t->size_byte));
	TRY(cudaDeviceSynchronize());
	if (timed(t, 1) < 0)
		return BENCH_FAILED;
	*wrong = 0;
	if (way != UP && memcmp(in, x->pageable_out.data(), t->size_byte) != 0)
		*wrong = 1;
	TRY(cudaMemcpy(back.data(), x->device_to.at, t->size_byte, cudaMemcpyDeviceToHost));
	if (way != DOWN && memcmp(back.data(), x->pageable_out.data(), t->size_byte) != 0)
		*wrong = 1;
	return BENCH_OK;
}

static enum bench_status
measure(struct bench *b, struct buffers *x, size_t size_byte, int k, double n_points_left)
{
	struct transfer t = {x, size_byte, k};
	struct bench_row row = bench_row_new("p2p", operations[k].name, nullptr);
	double wrong;

	row.size_byte = static_cast<double>(size_byte);
	row.note = operations[k].note;
	const cuda_point point(b, "%s of %zu KiB", operations[k].name, size_byte / 1024);
	TRY_STATUS(wrong_by(&t, &wrong));
	if (!bench_right(b, wrong, 0, "transfer: %s of %zu bytes", operations[k].name, size_byte))
		return BENCH_OK;
	cuda_watch_begin(b);
	TRY_STATUS(bench_take(timed, &t, bench_share(b, n_points_left), BENCH_GPU_SAMPLE_S, &row.time));
	bench_print(b, &row);
	return BENCH_OK;
}

static enum bench_status
make(struct bench *b, struct buffers *x, size_t most_byte)
{
	TRY(x->pinned_out.make(most_byte));
	TRY(x->pinned_in.make(most_byte));
	x->pageable_out.resize(most_byte);
	x->pageable_in.resize(most_byte);
	TRY(x->device_to.make(most_byte));
	TRY(x->device_from.make(most_byte));
	for (size_t i = 0; i < most_byte; i += sizeof(double)) {
		const double value = bench_random(b->seed, i);
		memcpy(&x->pageable_out[i], &value, sizeof value);
	}
	memcpy(x->pinned_out.at, x->pageable_out.data(), most_byte);
	TRY(cudaMemcpy(x->device_from.at, x->pinned_out.at, most_byte, cudaMemcpyHostToDevice));
	return BENCH_OK;
}

} /* namespace */

enum bench_status
cuda_transfer(struct bench *b)
{
	const size_t least_byte = 4 * 1024;
	/* four buffers here, one to check with, and two there */
	const size_t most_byte = plan_most_byte(
	    plan_most_byte(static_cast<size_t>(b->quick ? 64 : 256) << 20, least_byte, 4, 8, bench_memory_byte()),
	    least_byte, 4, 4, static_cast<double>(cuda_free_byte()));
	struct buffers x;
	enum bench_status status = BENCH_OK;
	double n_points = 0;

	TRY_STATUS(make(b, &x, most_byte));
	TRY(x.up.make(cudaStreamNonBlocking));
	TRY(x.down.make(cudaStreamNonBlocking));
	for (size_t size = least_byte; size <= most_byte; size *= 4)
		n_points += N_OPERATIONS;
	for (size_t size = least_byte; status == BENCH_OK && size <= most_byte; size *= 4)
		for (int k = 0; status == BENCH_OK && k < N_OPERATIONS; k++)
			status = measure(b, &x, size, k, n_points--);
	return status;
}
