/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge comm: time of a collective, and its effect on the step. */
#include "ask/ask.h"
#include "ask/bind/bind.h"
#include "ask/collective/collective.h"
#include "base/base.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#define COMM_COLLECTIVES "allreduce|allgather|reducescatter|alltoall|broadcast|reduce|sendrecv|links"
#define COMM_OPTIONS(X)                                                                                                \
	X(0, collective, NULL, "collective", WORD, "COLLECTIVE", COMM_COLLECTIVES, NULL, "collective")                 \
	X('s', size, "size", "size", SIZE, "SIZE", "", NULL,                                                           \
	    "full buffer size: what all-reduce sums, what all-gather returns")                                         \
	X(0, params, "params", "params", COUNT, "N", "", NULL, "gradient buffer of N parameters, instead of --size")   \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", DTYPE_CHOICE(P), "bf16", "dtype of the buffer")                  \
	X(0, time, "time", "time", TIME, "TIME", "", NULL,                                                             \
	    "measured time; prints its bandwidth and the links that could carry it")                                   \
	X('c', compute, "compute", "compute", TIME, "TIME", "", NULL, "compute time of the step")                      \
	X(0, overlap, "overlap", "overlap", FRACTION, "FRACTION", "", "0",                                             \
	    "share of communication overlapped with compute")                                                          \
	X(0, target_eff, "target-eff", "target_eff", FRACTION, "FRACTION", "", NULL,                                   \
	    "target efficiency, compute over step time; prints the overlap or bandwidth needed")                       \
	X(0, measured_eff, "measured-eff", "measured_eff", FRACTION, "FRACTION", "", NULL,                             \
	    "measured scaling efficiency, to compare with the prediction")                                             \
	X(0, bucket, "bucket", "bucket", SIZE, "SIZE", "", NULL, "gradient bucket size (PyTorch: 25MiB)")              \
	X(0, accumulation, "accumulation", "accumulation", COUNT, "N", "", "1",                                        \
	    "gradient accumulation steps per all-reduce")                                                              \
	X(0, compress_rank, "compress-rank", "compress_rank", COUNT, "N", "", NULL, "PowerSGD: rank")                  \
	X(0, matrix, "matrix", "matrix", WORD, "ROWSxCOLUMNS", "", NULL, "PowerSGD: shape of the gradient matrices")

struct comm_in {
	COMM_OPTIONS(OPTION_MEMBER)
	struct interconnect_in interconnect;
};

#define THIS struct comm_in
static const struct option comm_options[] = {COMM_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct interconnect_in
static const struct option interconnect_options[] = {INTERCONNECT_OPTIONS(OPTION_ROW)};
#undef THIS

/* The request, checked. */
struct comm_case {
	enum collective collective;
	struct interconnect interconnect;
	double n_rows, n_columns; /* of --matrix; 0 without */
};

/* --- the request ----------------------------------------------------------------------------------------- */

/* all-reduce, all_reduce and allreduce are one word. */
static bool
find_collective(struct run *r, struct word name, enum collective *out)
{
	const char *names[N_COLLECTIVES + 1];

	run_read_from(r, name.from);
	for (int i = 0; i < N_COLLECTIVES; i++) {
		names[i] = collective_name((enum collective)i);
		if (text_same_folded(names[i], name.text)) {
			*out = (enum collective)i;
			return true;
		}
	}
	names[N_COLLECTIVES] = "links";
	diag_error(r->diag, name.from, "'%s' is not a collective", name.text);
	const char *near = text_nearest(name.text, names, N_COLLECTIVES + 1);
	if (near)
		diag_hint(r->diag, "did you mean '%s'?", near);
	else
		diag_hint(
		    r->diag, "one of allreduce allgather reducescatter alltoall broadcast reduce sendrecv, or links");
	return false;
}

static bool
read_matrix(struct run *r, struct word text, double *n_rows, double *n_columns)
{
	size_t n;
	struct quantity_fault qf;
	char **sides = text_split(r->arena, text.text, 'x', &n);

	run_read_from(r, text.from);
	if (n == 2 && quantity_read(sides[0], Q_COUNT, n_rows, &qf) &&
	    quantity_read(sides[1], Q_COUNT, n_columns, &qf) && *n_rows >= 1 && *n_columns >= 1)
		return bounds_check(r->diag, text.from, "side of a matrix", Q_COUNT, *n_rows) &&
		    bounds_check(r->diag, text.from, "side of a matrix", Q_COUNT, *n_columns);
	return run_refuse(
	    r, text.from, "expected ROWSxCOLUMNS, such as 4096x4096", "write two whole numbers without a unit");
}

static bool
check_compression(struct run *r, const struct comm_in *in, struct comm_case *q)
{
	const bool rank = datum_given(in->compress_rank), matrix = in->matrix.text != NULL;

	if (!rank && !matrix)
		return true;
	if (rank != matrix)
		return run_refuse(r, rank ? in->compress_rank.from : in->matrix.from,
		    "--compress-rank needs --matrix, and the reverse", "write --compress-rank 32 --matrix 4096x4096");
	if (!read_matrix(r, in->matrix, &q->n_rows, &q->n_columns))
		return false;
	if (in->compress_rank.value > fmin(q->n_rows, q->n_columns))
		return run_refuse(r, in->compress_rank.from, "--compress-rank exceeds the shorter side of --matrix",
		    "lower --compress-rank");
	return true;
}

static bool
check_fraction(struct run *r, const char *option, struct datum d, double least, double most)
{
	if (!datum_given(d) || (d.value >= least && d.value <= most))
		return true;
	diag_error(r->diag, d.from, "%s must be between 0 and 1, not %g", option, d.value);
	diag_hint(r->diag, "write 0.85 or 85%%");
	return false;
}

static bool
check_inputs(struct run *r, const struct comm_in *in)
{
	bool ok = run_whole(r, "params", in->params, 1) & run_whole(r, "accumulation", in->accumulation, 1) &
	    run_whole(r, "compress-rank", in->compress_rank, 1);

	ok = check_fraction(r, "--overlap", in->overlap, 0, 1) && ok;
	ok = check_fraction(r, "--target-eff", in->target_eff, 1e-6, 1) && ok;
	ok = check_fraction(r, "--measured-eff", in->measured_eff, 0, 1.5) && ok;
	if (datum_given(in->size) && datum_given(in->params))
		ok = run_refuse(r, in->params.from, "--size and --params exclude each other", "keep one of them");
	if (datum_given(in->target_eff) && !datum_given(in->compute))
		ok = run_refuse(
		    r, in->target_eff.from, "--target-eff needs the compute time of the step", "add --compute 1500ms");
	if (datum_given(in->bucket) && in->bucket.value <= 0)
		ok = run_refuse(
		    r, in->bucket.from, "--bucket must be greater than 0", "write --bucket 25MiB, PyTorch's default");
	if (datum_given(in->time) && in->time.value <= 0)
		ok = run_refuse(r, in->time.from, "the time must be greater than 0", "write 450ms");
	if (datum_given(in->compute) && in->compute.value <= 0)
		ok = run_refuse(r, in->compute.from, "the time must be greater than 0", "write 1500ms");
	return ok;
}

static bool
has_size(const struct comm_in *in)
{
	return datum_given(in->size) || datum_given(in->params);
}

static bool
bind(struct run *r, const struct comm_in *in, struct comm_case *q)
{
	if (!check_inputs(r, in) || !find_collective(r, in->collective, &q->collective) ||
	    !check_compression(r, in, q) || !interconnect_bind(r, &in->interconnect, &q->interconnect))
		return false;
	if (datum_given(in->time) && q->interconnect.any)
		return run_refuse(r, in->time.from, "--time excludes --bandwidth, --link, --gpu and --system",
		    "leave one of them out");
	if (datum_given(in->time) && has_size(in) && !datum_given(in->interconnect.gpus))
		return run_refuse(r, in->time.from, "--time needs the number of ranks", "add --gpus 8");
	if (q->interconnect.any && !has_size(in))
		return run_refuse(
		    r, in->collective.from, "buffer size missing", "add --size 14GB, or --params 7B --dtype bf16");
	if (!q->interconnect.any && !datum_given(in->time) && q->n_rows <= 0 &&
	    !(has_size(in) && (datum_given(in->bucket) || datum_given(in->interconnect.gpus))))
		return run_refuse(r, in->collective.from, "interconnect missing",
		    "add --bandwidth 50GB/s, --link nvlink4, --gpu h100 or --system dgx-h100, with --gpus; or --time "
		    "of a measurement");
	return true;
}

/* --- rows ------------------------------------------------------------------------------------------------ */

static double
size_of(struct run *r, const struct comm_in *in)
{
	struct sheet *sh = r->sheet;
	double full_byte;

	if (datum_given(in->params)) {
		TAKE(sh, n_params, in->params);
		TAKE(sh, elem_byte_per_param, dtype_byte(dtype_find(run_word(r, "dtype", in->dtype))));
		SET_CALL(sh, full_byte, gradient_size(sh, n_params, elem_byte_per_param));
	} else {
		TAKE(sh, given_byte, in->size);
		SET(sh, full_byte, given_byte);
	}
	return full_byte;
}

/* The size that goes over the links: all of it, or the factors of PowerSGD. */
static double
sent_size(struct run *r, const struct comm_in *in, const struct comm_case *q)
{
	struct sheet *sh = r->sheet;
	double sent_byte = NAN;

	if (has_size(in)) {
		CALL(sh, size_byte, size_of(r, in));
		SHOW(sh, size_byte, message_byte);
		sent_byte = size_byte;
	}
	if (q->n_rows > 0) {
		FROM(sh, q, n_rows, n_columns);
		TAKE(sh, n_rank, in->compress_rank);
		CALL(sh, compression, powersgd_ratio(sh, n_rows, n_columns, n_rank));
		SHOW(sh, compression, compression_ratio);
		if (has_size(in)) {
			CALL(sh, compressed_byte, compressed_size(sh, sent_byte, compression));
			SHOW(sh, compressed_byte, compressed_byte);
			run_warn(r, "compression: all gradients assumed to be %s matrices; encoding time not counted",
			    in->matrix.text);
			sent_byte = compressed_byte;
		}
	}
	return sent_byte;
}

struct timed {
	double comm_s, last_bucket_s, volume_byte;
};

/* In buckets, one collective after the other. */
static bool
show_buckets(struct run *r, const struct comm_in *in, const struct comm_case *q, double size_byte, struct timed *t)
{
	struct sheet *sh = r->sheet;
	struct collective_plan plan, last_plan;
	struct interconnect_words words;

	TAKE(sh, bucket_byte, in->bucket);
	CALL(sh, n_buckets, bucket_count(sh, size_byte, bucket_byte));
	SHOW(sh, n_buckets, n_buckets);
	if (!q->interconnect.any)
		return true;
	CALL(sh, last_byte, bucket_last(sh, size_byte, bucket_byte, n_buckets));
	if (!interconnect_plan(
	        r, &q->interconnect, "bucket", q->collective, fmin(bucket_byte, size_byte), &plan, &words) ||
	    !interconnect_plan(r, &q->interconnect, "last_bucket", q->collective, last_byte, &last_plan, &words))
		return false;
	CALL(sh, bucket_s, collective_time(sh, &plan, bucket_byte));
	CALL(sh, last_bucket_s, collective_time(sh, &last_plan, last_byte));
	CALL(sh, bucketed_s, bucketed_time(sh, n_buckets, bucket_s, last_bucket_s));
	SHOW(sh, bucket_s, bucket_s);
	SHOW(sh, bucketed_s, bucketed_s);
	t->comm_s = bucketed_s;
	t->last_bucket_s = last_bucket_s;
	return true;
}

static void
show_bandwidths(struct run *r, double size_byte, const struct timed *t)
{
	struct sheet *sh = r->sheet;
	TAKE(sh, exchanged_s, t->comm_s);
	TAKE(sh, exchanged_byte, size_byte);
	TAKE(sh, sent_byte, t->volume_byte);

	if (!(t->comm_s > 0))
		return;
	CALL(sh, algbw_byte_per_s, algorithm_bandwidth(sh, exchanged_byte, exchanged_s));
	CALL(sh, busbw_byte_per_s, bus_bandwidth(sh, sent_byte, exchanged_s));
	SHOW(sh, algbw_byte_per_s, algbw_byte_per_s);
	SHOW(sh, busbw_byte_per_s, busbw_byte_per_s);
}

static bool
show_time(struct run *r, const struct comm_in *in, struct comm_case *q, double size_byte, struct timed *t)
{
	struct sheet *sh = r->sheet;
	struct collective_plan plan;
	struct interconnect_words words;

	FROM_STRUCT(sh, q->interconnect, n_ranks, n_nodes);
	SHOW(sh, n_ranks, n_ranks);
	if (n_nodes > 1)
		SHOW(sh, n_nodes, n_nodes);
	interconnect_rates(r, &q->interconnect);
	if (!interconnect_plan(r, &q->interconnect, "interconnect", q->collective, size_byte, &plan, &words))
		return false;
	TELL(sh, algorithm, words.algorithm);
	if (words.protocol)
		TELL(sh, protocol, words.protocol);
	TELL(sh, method, words.model);
	CALL(sh, volume_byte, bus_volume(sh, q->collective, n_ranks, size_byte));
	CALL(sh, comm_s, collective_time(sh, &plan, size_byte));
	SHOW(sh, volume_byte, volume_byte);
	SHOW(sh, comm_s, comm_s);
	struct interval i;
	if (run_interval(r, &words.error, comm_s, &i))
		BETWEEN(sh, comm_s, i.low, i.high, i.why);
	if (words.basis)
		TELL(sh, typical_error, typical_error(r, "comm", words.basis, "GPU"));
	*t = (struct timed){comm_s, 0, volume_byte};
	show_bandwidths(r, size_byte, t);
	return !datum_given(in->bucket) || show_buckets(r, in, q, size_byte, t);
}

/* A measured time: the bandwidth that it means. */
static bool
show_measured(struct run *r, const struct comm_in *in, struct comm_case *q, double size_byte, struct timed *t)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, comm_s, in->time);
	*t = (struct timed){comm_s, 0, NAN};
	SHOW(sh, comm_s, comm_s);
	if (!has_size(in))
		return true;
	TAKE(sh, n_ranks, q->interconnect.n_ranks);
	SHOW(sh, n_ranks, n_ranks);
	CALL(sh, volume_byte, bus_volume(sh, q->collective, n_ranks, size_byte));
	SHOW(sh, volume_byte, volume_byte);
	t->volume_byte = volume_byte;
	show_bandwidths(r, size_byte, t);
	if (volume_byte > 0)
		links_fitting(r, volume_byte, comm_s);
	return !datum_given(in->bucket) || show_buckets(r, in, q, size_byte, t);
}

static enum answer
show_target(struct run *r, const struct comm_in *in, const struct timed *t, double compute_s, double exposed_s)
{
	struct sheet *sh = r->sheet;
	TAKE(sh, target_frac, in->target_eff);
	TAKE(sh, target_compute_s, compute_s);
	TAKE(sh, target_comm_s, t->comm_s);

	CALL(sh, allowed_s, exposed_allowed(sh, target_compute_s, target_frac));
	CALL(sh, needed_overlap_frac, overlap_needed(sh, target_comm_s, allowed_s));
	SHOW(sh, allowed_s, allowed_s);
	SHOW(sh, needed_overlap_frac, needed_overlap_frac);
	if (t->volume_byte > 0 && allowed_s > 0 && in->overlap.value < 1) {
		TAKE(sh, target_volume_byte, t->volume_byte);
		TAKE(sh, target_overlap_frac, in->overlap);
		CALL(sh, needed_byte_per_s, bandwidth_needed(sh, target_volume_byte, allowed_s, target_overlap_frac));
		SHOW(sh, needed_byte_per_s, needed_byte_per_s);
	}
	const bool meets = exposed_s <= allowed_s * (1 + 1e-9);
	TELL(sh, verdict, meets ? "meets" : "misses");
	return meets ? ANSWERED : ANSWERED_NO;
}

static enum answer
show_step(struct run *r, const struct comm_in *in, const struct timed *t)
{
	struct sheet *sh = r->sheet;

	run_reads(r, &in->accumulation, NULL);
	if (in->accumulation.value == 1 && !datum_given(in->compute))
		return ANSWERED;
	TAKE(sh, n_accumulation, in->accumulation);
	if (n_accumulation > 1) {
		CALL(sh, frequency_frac, accumulation_share(sh, n_accumulation));
		SHOW(sh, frequency_frac, exchange_frac);
	}
	if (!datum_given(in->compute))
		return ANSWERED;
	TAKE(sh, overlap_frac, in->overlap);
	TAKE(sh, micro_compute_s, in->compute);
	TAKE(sh, whole_comm_s, t->comm_s);
	TAKE(sh, last_exposed_s, t->last_bucket_s);
	CALL(sh, compute_s, accumulated_compute(sh, n_accumulation, micro_compute_s));
	CALL(sh, exposed_s, exposed_time(sh, whole_comm_s, compute_s, overlap_frac, last_exposed_s));
	CALL(sh, step_s, step_time(sh, compute_s, exposed_s));
	CALL(sh, share_of_step_frac, step_share(sh, exposed_s, step_s));
	CALL(sh, share_of_compute_frac, compute_share(sh, exposed_s, compute_s));
	CALL(sh, efficiency_frac, step_efficiency(sh, compute_s, step_s));
	SHOW(sh, compute_s, compute_s);
	SHOW(sh, exposed_s, exposed_s);
	SHOW(sh, step_s, step_s);
	SHOW(sh, share_of_step_frac, exposed_step_frac);
	SHOW(sh, share_of_compute_frac, exposed_compute_frac);
	SHOW(sh, efficiency_frac, compute_frac);
	if (datum_given(in->measured_eff)) {
		TAKE(sh, throughput_efficiency_frac, in->measured_eff);
		SHOW(sh, throughput_efficiency_frac, throughput_efficiency_frac);
	}
	if (datum_given(in->measured_eff) && fabs(in->measured_eff.value - efficiency_frac) > 0.02)
		run_warn(r,
		    "efficiency is %.0f %% by throughput but %.0f %% by the times: one of the measurements is "
		    "incomplete",
		    100 * in->measured_eff.value, 100 * efficiency_frac);
	return datum_given(in->target_eff) ? show_target(r, in, t, compute_s, exposed_s) : ANSWERED;
}

static enum answer
comm_run(struct run *r, const void *input)
{
	const struct comm_in *in = input;
	struct comm_case q = {0};
	struct timed t = {0, 0, NAN};

	if (!in->collective.text) {
		run_refuse(r, (struct source){0}, "no collective given",
		    "ridge comm allreduce --size 14GB --gpus 8 --system dgx-h100");
		return REFUSED;
	}
	run_reads(r, &in->collective, NULL);
	if (strcmp(in->collective.text, "links") == 0)
		return links_show(r, in->interconnect.link, in->interconnect.gpu);
	if (!bind(r, in, &q))
		return REFUSED;
	r->title = q.interconnect.gpu
	    ? arena_printf(r->arena, "%s on %s", collective_name(q.collective),
	          q.interconnect.system ? q.interconnect.system->name : q.interconnect.gpu->name)
	    : collective_name(q.collective);
	const double size_byte = sent_size(r, in, &q);
	bool ok = true;
	if (q.interconnect.any)
		ok = show_time(r, in, &q, size_byte, &t);
	else if (datum_given(in->time))
		ok = show_measured(r, in, &q, size_byte, &t);
	else if (datum_given(in->bucket) && has_size(in))
		ok = show_buckets(r, in, &q, size_byte, &t);
	if (!q.interconnect.any && !datum_given(in->time) && has_size(in) && datum_given(in->interconnect.gpus)) {
		struct sheet *sh = r->sheet;
		TAKE(sh, n_ranks, in->interconnect.gpus);
		CALL(sh, volume_byte, bus_volume(sh, q.collective, n_ranks, size_byte));
		SHOW(sh, volume_byte, volume_byte);
	}
	return ok ? show_step(r, in, &t) : REFUSED;
}

static const struct option_group comm_groups[] = {
    OPTION_GROUP(comm_options, 0),
    OPTION_GROUP(interconnect_options, offsetof(struct comm_in, interconnect)),
};

static const struct example comm_examples[] = {
    {"comm allreduce --params 7B --dtype bf16 --gpus 8 --bandwidth 50GB/s", "textbook ring at a given bandwidth", 0},
    {"comm allreduce --size 1GiB --system dgx-h100 --gpus 8", "eight H100, calibrated", 0},
    {"comm allreduce --size 1GiB --system aws-p5.48xlarge --gpus 64", "eight nodes", 0},
    {"comm allreduce --size 256KiB --gpu h100 --gpus 8 --backend vllm", "custom all-reduce of a serving engine", 0},
    {"comm allreduce --size 14GB --gpus 8 --bandwidth 50GB/s --compute 1500ms --overlap 0.3 --target-eff 85%",
        "overlap needed for a target efficiency", 1},
    {"comm allreduce --size 4GB --gpus 8 --time 450ms", "bandwidth of a measured time", 0},
    {"comm allgather --size 1GiB --gpu h200 --gpus 8 --sweep size=1MiB..1024MiB*4", "sweep over sizes", 0},
    {"comm allreduce --size 1GB --gpus 8 --link nvlink3 --nvlink-groups 4,4 --host-link pcie4-x16",
        "two NVLink groups joined by PCIe", 0},
    {"comm links --link pcie4-x16,nvlink3", "link rates in both units, one and both directions", 0},
};

static const struct input_needs comm_needs[] = {
    {"target_eff", "it needs --compute 1500ms and an interconnect"},
    {"measured_eff", "it needs --compute 1500ms and an interconnect"},
    {"overlap", "it needs --compute 1500ms"},
    {"compute", "it needs an interconnect or --time"},
    {"dtype", "it is the dtype of --params; add --params"},
    {"launch", "it applies to fits inside one node; other fits include it"},
    {"host_link", "it needs --nvlink-groups 4,4"},
    {"host_bandwidth", "it needs --nvlink-groups 4,4"},
    {"nic_bandwidth", "it needs --nodes 2 --bandwidth 300GB/s"},
};

const struct command comm_command = {
    .name = "comm",
    .section = "Performance",
    .summary = "Time and bandwidth of a collective; overlap with compute",
    .operands = "collective",
    .usage = "COLLECTIVE|links|[JOB]",
    COUNTED(groups, comm_groups),
    COUNTED(examples, comm_examples),
    COUNTED(needs, comm_needs),
    .input_size = sizeof(struct comm_in),
    .run = comm_run,
};
