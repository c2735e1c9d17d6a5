/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMMs of linear layers through cuBLASLt: row-major y = x w^T with activations x of m x k and weights w of
 * n x k, which its column-major interface sees as y^T = (w^T)^T x^T.  Its heuristic names candidates: the first is what
 * programs get (backend cublaslt), the fastest of them is what a search would find (backend cublaslt-best).  Weights
 * rotate through enough copies to be out of the cache when they are used again; activations do not, as between layers.
 */
#include "cuda_gemm.h"

#include <algorithm>
#include <vector>

namespace {

/* Projections of models of 1, 8, 32 and 70 thousand million parameters, and of experts. */
static const struct layer {
	int n, k;
	bool quick, every_type;
} layers[] = {
    {4096, 4096, true, true},
    {28672, 4096, true, true},
    {4096, 14336, true, true},
    {6144, 4096, false, false},
    {2048, 2048, false, true},
    {1024, 1024, false, false},
    {512, 7168, false, false},
    {8192, 1024, false, false},
    {5120, 5120, false, false},
    {10240, 8192, false, false},
    {8192, 28672, false, false},
};

static const struct batch {
	int m;
	bool quick, every_type;
} batches[] = {
    {1, true, true},
    {2, false, false},
    {4, false, false},
    {8, true, false},
    {16, false, true},
    {32, false, false},
    {64, true, true},
    {128, false, false},
    {256, false, true},
    {512, true, false},
    {1024, false, true},
    {2048, false, false},
    {4096, true, true},
    {8192, false, true},
};

/* --- points ---------------------------------------------------------------------------------------------- */

struct workspace {
	device_array<unsigned char> x, w, y, scales, room;
	cublasLtHandle_t handle = nullptr;
	struct measured_stream stream;
	char library[48], note[64];
	size_t n_copies = 0;
	double flop_per_s = 0; /* the best seen of the type: what is to be expected of the next point */
	int n_left_out = 0;

	explicit workspace(struct cuda_gpu *gpu) : stream(gpu)
	{
	}
	~workspace()
	{
		if (handle)
			(void)cublasLtDestroy(handle);
	}
};

static enum bench_status
wrong_by(const struct product *p, int candidate, uint32_t seed, bool *can, double *error)
{
	const size_t y_byte =
	    static_cast<size_t>(p->type->out_byte) * static_cast<size_t>(p->m) * static_cast<size_t>(p->n);

	TRY(cudaMemset(p->y, 0xff, y_byte)); /* not numbers */
	*can = product_multiply(p, candidate, 1) == CUBLAS_STATUS_SUCCESS;
	if (!*can)
		return BENCH_OK;
	TRY_STATUS(gemm_wrong_by(p->gpu, p->type, p->x, p->w + p->w_byte, p->y, p->m, p->n, p->k, seed, error));
	return BENCH_OK;
}

static enum bench_status
print(struct bench *b, const struct workspace *w, const struct product *p, const char *backend, const char *note,
    const struct bench_sample *time)
{
	struct bench_row row = bench_row_new("gemm", nullptr, p->type->dtype);

	row.backend = backend;
	row.version = w->library + sizeof "cuBLASLt " - 1;
	row.library = w->library;
	row.note = note;
	row.m = p->m;
	row.n = p->n;
	row.k = p->k;
	row.time = *time;
	bench_print(b, &row);
	return BENCH_OK;
}

static enum bench_status
take_recorded(struct bench *b, const struct product *p, double budget_s, struct bench_sample *sample)
{
	const auto n_products = static_cast<double>(p->n_recorded);
	const auto launch = [&](long n) {
		cudaError_t error = cudaSuccess;
		for (long i = 0; i < n && error == cudaSuccess; i++)
			error = cudaGraphLaunch(p->graph.is, p->gpu->stream);
		return error;
	};

	TRY_STATUS(cuda_take(b, launch, budget_s, sample));
	sample->median_s /= n_products;
	sample->min_s /= n_products;
	sample->max_s /= n_products;
	return BENCH_OK;
}

/* Checked, recorded and timed.  sample->n 0: this candidate cannot, or its result is wrong, which is said. */
static enum bench_status
take(struct bench *b, struct product *p, int candidate, double budget_s, struct bench_sample *sample)
{
	double error = 0;
	bool can = p->candidates[candidate].state == CUBLAS_STATUS_SUCCESS;

	sample->n = 0;
	if (can)
		TRY_STATUS(wrong_by(p, candidate, static_cast<uint32_t>(b->seed) + 9, &can, &error));
	if (!can ||
	    !bench_right(b, error, plan_gemm_tolerance(p->type->tolerance, p->type->scales == SCALES_ONE, p->k),
	        "gemm: %s %d x %d x %d, candidate %d", p->type->dtype, p->m, p->n, p->k, candidate))
		return BENCH_OK;
	product_record(p, candidate);
	if (!p->graph.is)
		return BENCH_OK;
	return take_recorded(b, p, budget_s, sample);
}

/* After two seconds at work the clock and the power are those that last.  `candidate`: one that has been recorded. */
static enum bench_status
measure_sustained(struct bench *b, const struct workspace *w, struct product *p, int candidate)
{
	const double start_s = bench_now();
	struct bench_sample sample;

	const cuda_point point(b, "%s %d x %d x %d, sustained", p->type->dtype, p->m, p->n, p->k);
	product_record(p, candidate);
	if (!p->graph.is)
		return BENCH_OK;
	while (bench_now() - start_s < 2) {
		if (bench_stopped())
			return BENCH_STOPPED;
		TRY(cudaGraphLaunch(p->graph.is, p->gpu->stream));
		TRY(cudaStreamSynchronize(p->gpu->stream));
	}
	TRY_STATUS(take_recorded(b, p, 0.5, &sample));
	return print(b, w, p, "cublaslt-sustained", "after 2 s of the same", &sample);
}

/* The first that works is what programs get; the fastest is looked for, then timed as long as the first. */
static enum bench_status
measure_times(struct bench *b, struct workspace *w, struct product *p, bool sustained, double budget_s)
{
	const double start_s = bench_now();
	struct bench_sample first = {}, fastest = {};
	int best, one = 0; /* those that were tried until the first that works */

	while (one < p->n_candidates && first.n == 0)
		TRY_STATUS(take(b, p, one++, 0.35 * budget_s, &first));
	best = one - 1;
	if (first.n == 0) {
		w->n_left_out++;
		return BENCH_OK;
	}
	TRY_STATUS(print(b, w, p, "cublaslt", w->note, &first));
	w->flop_per_s = std::max(w->flop_per_s, 2.0 * p->m * p->n * p->k / first.median_s);
	fastest = first;
	/* large products take longer than their part of the time: then fewer are looked at */
	for (int i = one; i < p->n_candidates && bench_now() - start_s < std::max(budget_s, 0.1); i++) {
		struct bench_sample sample;
		TRY_STATUS(take(b, p, i, 0.35 * budget_s / p->n_candidates, &sample));
		if (sample.n > 0 && sample.median_s < fastest.median_s) {
			best = i;
			fastest = sample;
		}
	}
	if (best >= one) {
		TRY_STATUS(take(b, p, best, 0.3 * budget_s, &fastest));
		if (fastest.n == 0 || fastest.median_s > first.median_s)
			fastest = first;
	}
	if (p->n_candidates > 1)
		TRY_STATUS(print(b, w, p, "cublaslt-best", w->note, &fastest));
	return sustained ? measure_sustained(b, w, p, one - 1) : BENCH_OK;
}

/* The type that most is fitted from: bf16, or fp16 where that is missing. */
static bool
is_main(const struct bench *b, const struct gemm_type *type)
{
	return type == gemm_types || (type == gemm_types + 1 && b->cuda->capability < gemm_types[0].least);
}

static enum bench_status
measure_shape(struct bench *b, struct workspace *w, const struct gemm_type *type, const struct layer *layer, int m,
    double n_points_left)
{
	const double budget_s = bench_share(b, n_points_left);
	const double flop = 2.0 * m * layer->n * layer->k;
	struct product p;

	/* at least five runs are needed: what they would take is known from the points before */
	if (w->flop_per_s > 0 && m > 64 &&
	    5 * static_cast<double>(w->n_copies) * flop / w->flop_per_s > std::max(4 * budget_s, 0.2)) {
		w->n_left_out++;
		return BENCH_OK;
	}
	p.gpu = b->cuda;
	p.type = type;
	p.m = m;
	p.n = layer->n;
	p.k = layer->k;
	p.handle = w->handle;
	p.x = w->x.at;
	p.w = w->w.at;
	p.y = w->y.at;
	p.workspace = w->room.at;
	p.n_copies = w->n_copies;
	p.w_byte = static_cast<size_t>(type->in_byte * layer->n * layer->k);
	const cuda_point point(b, "%s %d x %d x %d", type->dtype, m, p.n, p.k);
	TRY_STATUS(product_describe(&p, w->scales.at));
	TRY_STATUS(product_candidates(&p, b->quick ? 3 : CANDIDATES_MAX));
	if (p.n_candidates == 0) {
		w->n_left_out++;
		return BENCH_OK;
	}
	const bool sustained = !b->quick && is_main(b, type) && m == 8192 && layer->n == 28672;
	return measure_times(b, w, &p, sustained, budget_s);
}

/* --- types ----------------------------------------------------------------------------------------------- */

static bool
taken(const struct bench *b, const struct gemm_type *type, const struct layer *layer, const struct batch *batch)
{
	const bool main_type = is_main(b, type);

	if (b->quick)
		return layer->quick && batch->quick && (main_type || (layer == layers && batch->every_type));
	return main_type || (layer->every_type && batch->every_type);
}

static double
count(const struct bench *b, const struct gemm_type *type)
{
	double n = 0;

	for (const struct layer &layer : layers)
		for (const struct batch &batch : batches)
			n += taken(b, type, &layer, &batch) ? 1 : 0;
	return n;
}

static size_t
copies_of(const struct bench *b, const struct gemm_type *type, const struct layer *layer)
{
	const double one_byte = type->in_byte * layer->n * layer->k;

	return static_cast<size_t>(ceil(3 * b->cuda->l2_byte / one_byte)) + 1;
}

static enum bench_status
make(const struct cuda_gpu *gpu, struct workspace *w, const struct gemm_type *type, const struct layer *layer, int m)
{
	const size_t x = static_cast<size_t>(m) * static_cast<size_t>(layer->k);
	const size_t one = static_cast<size_t>(layer->n) * static_cast<size_t>(layer->k);
	const size_t y = static_cast<size_t>(m) * static_cast<size_t>(layer->n);
	const size_t rows = static_cast<size_t>((std::max(m, layer->n) + 127) / 128 * 128);

	TRY(w->x.make(static_cast<size_t>(type->in_byte * static_cast<double>(x))));
	TRY(w->w.make(static_cast<size_t>(type->in_byte * static_cast<double>(one)) * w->n_copies));
	TRY(w->y.make(static_cast<size_t>(type->out_byte) * y));
	TRY(gemm_fill(gpu, type, w->x.at, x, 1));
	TRY(gemm_fill(gpu, type, w->w.at, one * w->n_copies, 2));
	if (type->scales == SCALES_16) {
		/* 1.0 in e4m3 without a sign */
		TRY(w->scales.make(rows * static_cast<size_t>((layer->k / 16 + 3) / 4 * 4)));
		TRY(cudaMemset(w->scales.at, 0x38, w->scales.n));
	} else if (type->scales != SCALES_NONE) {
		const size_t n_blocks = static_cast<size_t>((layer->k + 127) / 128 + 3) / 4 * 4;
		const std::vector<float> ones(type->scales == SCALES_128 ? rows * n_blocks : 1, 1.0F);
		TRY(w->scales.make(ones.size() * sizeof ones[0]));
		TRY(cudaMemcpy(w->scales.at, ones.data(), w->scales.n, cudaMemcpyHostToDevice));
	}
	TRY(cudaDeviceSynchronize());
	return BENCH_OK;
}

/* The largest batch that is taken; 0: none. */
static int
largest(const struct bench *b, const struct gemm_type *type, const struct layer *layer)
{
	int m = 0;

	for (const struct batch &batch : batches)
		if (taken(b, type, layer, &batch))
			m = std::max(m, batch.m);
	return m;
}

static enum bench_status
measure_type(struct bench *b, struct workspace *w, const struct gemm_type *type, double *n_points_left)
{
	w->flop_per_s = 0;
	w->n_left_out = 0;
	for (const struct layer &layer : layers) {
		const int most = largest(b, type, &layer);
		const double room_byte = static_cast<double>(cuda_free_byte() + w->x.n + w->w.n + w->y.n);
		const double needed_byte = type->in_byte *
		        (static_cast<double>(copies_of(b, type, &layer)) * layer.n * layer.k + 1.0 * most * layer.k) +
		    type->out_byte * most * layer.n;
		if (most == 0)
			continue;
		if (needed_byte > 0.8 * room_byte) {
			bench_say(b, "%s: n %d, k %d: left out: not enough memory", type->dtype, layer.n, layer.k);
			continue;
		}
		w->x.clear();
		w->w.clear();
		w->y.clear();
		w->n_copies = copies_of(b, type, &layer);
		snprintf(w->note, sizeof w->note, "n_copies %zu", w->n_copies);
		TRY_STATUS(make(b->cuda, w, type, &layer, most));
		for (const struct batch &batch : batches)
			if (taken(b, type, &layer, &batch))
				TRY_STATUS(measure_shape(b, w, type, &layer, batch.m, (*n_points_left)--));
	}
	if (w->n_left_out)
		bench_say(b, "%s: %d shapes left out: cuBLASLt has no kernel, or they take too long", type->dtype,
		    w->n_left_out);
	return BENCH_OK;
}

} /* namespace */

enum bench_status
cuda_gemm(struct bench *b)
{
	const size_t version = cublasLtGetVersion();
	struct workspace w(b->cuda);
	enum bench_status status = BENCH_OK;
	double n_points = 0;

	/* cuBLAS counts 10000 x major + 100 x minor + patch since 12, 1000 x major before that */
	const size_t major = version >= 100000 ? version / 10000 : version / 1000;
	const size_t rest = version >= 100000 ? version % 10000 : version % 1000;
	snprintf(w.library, sizeof w.library, "cuBLASLt %zu.%zu.%zu", major, rest / 100, rest % 100);
	TRY(w.room.make(WORKSPACE_BYTE));
	TRY(w.stream.make());
	TRY_LT(cublasLtCreate(&w.handle));
	for (int i = 0; i < n_gemm_types; i++)
		if (b->cuda->capability >= gemm_types[i].least)
			n_points += count(b, &gemm_types[i]);
	for (int i = 0; status == BENCH_OK && i < n_gemm_types; i++)
		if (b->cuda->capability >= gemm_types[i].least && b->cuda->capability <= gemm_types[i].most)
			status = measure_type(b, &w, &gemm_types[i], &n_points);
	return status;
}
