/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elementwise kernels take the time of their traffic.  Operands that fit in L2 are found there, left by the previous
 * kernel.  0.85 of the memory bandwidth, and three times that bandwidth from L2, are what elementwise kernels of
 * serving engines reach on A100 to B200.
 */
#include "model/kernel/kernel.h"

double
elementwise_time(struct sheet *sh, const struct elementwise_shape *shape, const struct calibration *c)
{
	FROM(sh, shape, traffic_byte, n_launches, launch_s);
	TAKE(sh, mem_byte_per_s, c->ref_mem_byte_per_s);
	TAKE(sh, mem_frac, shape->mem_frac > 0 ? shape->mem_frac : 0.85);
	double miss_frac;
	if (shape->cold) {
		SET(sh, miss_frac, 1);
	} else {
		TAKE(sh, l2_byte, c->ref_l2_byte);
		SET_CALL(sh, miss_frac, level_miss(sh, traffic_byte, l2_byte, 0, 0));
	}
	TAKE(sh, l2_ratio, shape->l2_ratio > 0 ? shape->l2_ratio : 3);
	LET(sh, missed_s, traffic_byte * miss_frac / (mem_frac * mem_byte_per_s));
	LET(sh, cached_s, traffic_byte * (1 - miss_frac) / (l2_ratio * mem_byte_per_s));
	LET(sh, elementwise_s, n_launches * launch_s + missed_s + cached_s);
	return elementwise_s;
}

double
quantise_time(struct sheet *sh, const struct gemm_calibration *p, double n_rows, double n_columns, double elem_byte)
{
	double cast_s;

	if (!(p->quantise_byte_per_s.value > 0)) {
		SET(sh, cast_s, 0);
		return cast_s;
	}
	GIVEN(sh, n_rows, n_columns, elem_byte);
	TAKE(sh, wide_byte, 2.0);
	FROM(sh, p, quantise_s, quantise_byte_per_s);
	SET(sh, cast_s, quantise_s + n_rows * n_columns * (wide_byte + elem_byte) / quantise_byte_per_s);
	return cast_s;
}
