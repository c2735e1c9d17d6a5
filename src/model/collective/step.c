/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exposed communication of a training step, and the overlap or bandwidth a target needs. */
#include "model/collective/collective.h"

double
exposed_time(struct sheet *sh, double comm_s, double compute_s, double overlap_frac, double last_bucket_s)
{
	GIVEN(sh, comm_s, compute_s, overlap_frac, last_bucket_s);
	LET(sh, hidden_s, fmin(overlap_frac * comm_s, compute_s));
	LET(sh, exposed_s, fmax(comm_s - hidden_s, last_bucket_s));
	return exposed_s;
}

double
step_time(struct sheet *sh, double compute_s, double exposed_s)
{
	GIVEN(sh, compute_s, exposed_s);
	LET(sh, step_s, compute_s + exposed_s);
	return step_s;
}

double
step_share(struct sheet *sh, double exposed_s, double step_s)
{
	GIVEN(sh, exposed_s, step_s);
	LET(sh, share_of_step_frac, exposed_s / step_s);
	return share_of_step_frac;
}

double
compute_share(struct sheet *sh, double exposed_s, double compute_s)
{
	GIVEN(sh, exposed_s, compute_s);
	LET(sh, share_of_compute_frac, exposed_s / compute_s);
	return share_of_compute_frac;
}

double
step_efficiency(struct sheet *sh, double compute_s, double step_s)
{
	GIVEN(sh, compute_s, step_s);
	LET(sh, efficiency_frac, compute_s / step_s);
	return efficiency_frac;
}

/* compute / (compute + exposed) = target. */
double
exposed_allowed(struct sheet *sh, double compute_s, double target_frac)
{
	GIVEN(sh, compute_s, target_frac);
	LET(sh, allowed_s, compute_s / target_frac - compute_s);
	return allowed_s;
}

double
overlap_needed(struct sheet *sh, double comm_s, double allowed_s)
{
	GIVEN(sh, comm_s, allowed_s);
	LET(sh, needed_frac, fmax(0, 1 - allowed_s / comm_s));
	return needed_frac;
}

/* The bus bandwidth that nccl-tests would have to show at this size. */
double
bandwidth_needed(struct sheet *sh, double volume_byte, double allowed_s, double overlap_frac)
{
	GIVEN(sh, volume_byte, allowed_s, overlap_frac);
	LET(sh, may_take_s, allowed_s / (1 - overlap_frac));
	LET(sh, needed_byte_per_s, volume_byte / may_take_s);
	return needed_byte_per_s;
}

double
accumulation_share(struct sheet *sh, double n_accumulation)
{
	GIVEN(sh, n_accumulation);
	LET(sh, frequency_frac, 1 / n_accumulation);
	return frequency_frac;
}

double
accumulated_compute(struct sheet *sh, double n_accumulation, double compute_s)
{
	GIVEN(sh, n_accumulation, compute_s);
	LET(sh, all_compute_s, n_accumulation * compute_s);
	return all_compute_s;
}

/* Li et al., PyTorch Distributed, VLDB 13(12), 2020: gradients are reduced in buckets as the backward pass fills them.
 */
double
bucket_count(struct sheet *sh, double size_byte, double bucket_byte)
{
	GIVEN(sh, size_byte, bucket_byte);
	LET(sh, n_buckets, ceil(size_byte / bucket_byte));
	return n_buckets;
}

double
bucket_last(struct sheet *sh, double size_byte, double bucket_byte, double n_buckets)
{
	GIVEN(sh, size_byte, bucket_byte, n_buckets);
	LET(sh, last_byte, size_byte - (n_buckets - 1) * bucket_byte);
	return last_byte;
}

double
bucketed_time(struct sheet *sh, double n_buckets, double bucket_s, double last_bucket_s)
{
	GIVEN(sh, n_buckets, bucket_s, last_bucket_s);
	LET(sh, bucketed_s, (n_buckets - 1) * bucket_s + last_bucket_s);
	return bucketed_s;
}

double
gradient_size(struct sheet *sh, double n_params, double elem_byte_per_param)
{
	GIVEN(sh, n_params, elem_byte_per_param);
	LET(sh, gradient_byte, n_params * elem_byte_per_param);
	return gradient_byte;
}

/* Vogels, Karimireddy and Jaggi, NeurIPS 2019: M (n x m) is sent as P (n x r) and Q (m x r). */
double
powersgd_ratio(struct sheet *sh, double n_rows, double n_columns, double n_rank)
{
	GIVEN(sh, n_rows, n_columns, n_rank);
	LET(sh, n_dense, n_rows * n_columns);
	LET(sh, n_factors, n_rank * (n_rows + n_columns));
	LET(sh, compression, n_dense / n_factors);
	return compression;
}

double
compressed_size(struct sheet *sh, double size_byte, double compression)
{
	GIVEN(sh, size_byte, compression);
	LET(sh, compressed_byte, size_byte / compression);
	return compressed_byte;
}
