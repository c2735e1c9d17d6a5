/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data loading against the step: workers, storage, checkpoints, caches. */
#include "model/calc/calc.h"

#include "base/base.h"

/* --- loaders --------------------------------------------------------------------------------------------- */

double
data_cost(struct sheet *sh, double profile_s, double n_calls)
{
	GIVEN(sh, profile_s, n_calls);
	LET(sh, cost_s_per_sample, profile_s / n_calls);
	return cost_s_per_sample;
}

double
data_worker_rate(struct sheet *sh, double cost_s_per_sample)
{
	GIVEN(sh, cost_s_per_sample);
	LET(sh, worker_sample_per_s, 1 / cost_s_per_sample);
	return worker_sample_per_s;
}

double
data_loader_rate(struct sheet *sh, double n_workers, double cost_s_per_sample)
{
	GIVEN(sh, n_workers, cost_s_per_sample);
	LET(sh, loader_sample_per_s, n_workers / cost_s_per_sample);
	return loader_sample_per_s;
}

double
data_batch_rate(struct sheet *sh, double batch_sample, double batch_s)
{
	GIVEN(sh, batch_sample, batch_s);
	LET(sh, rate_sample_per_s, batch_sample / batch_s);
	return rate_sample_per_s;
}

double
data_storage_rate(struct sheet *sh, double read_byte_per_s, double size_byte_per_sample)
{
	GIVEN(sh, read_byte_per_s, size_byte_per_sample);
	LET(sh, storage_sample_per_s, read_byte_per_s / size_byte_per_sample);
	return storage_sample_per_s;
}

double
data_slower(struct sheet *sh, double loader_sample_per_s, double storage_sample_per_s)
{
	GIVEN(sh, loader_sample_per_s, storage_sample_per_s);
	LET(sh, input_sample_per_s, fmin(loader_sample_per_s, storage_sample_per_s));
	return input_sample_per_s;
}

double
data_step_time(struct sheet *sh, double batch_sample, double rate_sample_per_s)
{
	GIVEN(sh, batch_sample, rate_sample_per_s);
	LET(sh, iteration_s, batch_sample / rate_sample_per_s);
	return iteration_s;
}

/* With prefetching, batches are loaded while others are computed: the slower side sets the pace (Murray et al.,
 * tf.data, VLDB 14(12), 2021). */
double
data_overlapped(struct sheet *sh, double input_sample_per_s, double step_sample_per_s)
{
	GIVEN(sh, input_sample_per_s, step_sample_per_s);
	LET(sh, through_sample_per_s, fmin(input_sample_per_s, step_sample_per_s));
	return through_sample_per_s;
}

double
data_serial(struct sheet *sh, double input_sample_per_s, double step_sample_per_s)
{
	GIVEN(sh, input_sample_per_s, step_sample_per_s);
	LET(sh, through_sample_per_s, 1 / (1 / input_sample_per_s + 1 / step_sample_per_s));
	return through_sample_per_s;
}

/* GPU stall for data: Mohan et al., VLDB 14(5), 2021. */
double
data_idle(struct sheet *sh, double through_sample_per_s, double step_sample_per_s)
{
	GIVEN(sh, through_sample_per_s, step_sample_per_s);
	LET(sh, idle_frac, 1 - through_sample_per_s / step_sample_per_s);
	return idle_frac;
}

/* Little's law: what is in the works is the rate times the time of each.  1e-9 keeps a whole answer whole. */
double
data_workers(struct sheet *sh, double rate_sample_per_s, double cost_s_per_sample)
{
	GIVEN(sh, rate_sample_per_s, cost_s_per_sample);
	LET(sh, n_exact, rate_sample_per_s * cost_s_per_sample);
	LET(sh, n_workers_needed, ceil(n_exact - 1e-9));
	return n_workers_needed;
}

double
data_read_need(struct sheet *sh, double rate_sample_per_s, double size_byte_per_sample)
{
	GIVEN(sh, rate_sample_per_s, size_byte_per_sample);
	LET(sh, flow_byte_per_s, rate_sample_per_s * size_byte_per_sample);
	return flow_byte_per_s;
}

double
data_slowdown(struct sheet *sh, double expected_sample_per_s, double rate_sample_per_s)
{
	GIVEN(sh, expected_sample_per_s, rate_sample_per_s);
	LET(sh, slowdown, expected_sample_per_s / rate_sample_per_s);
	return slowdown;
}

/* --- a loader that changes ------------------------------------------------------------------------------- */

double
data_iteration(struct sheet *sh, double load_s, double load_frac)
{
	GIVEN(sh, load_s, load_frac);
	LET(sh, iteration_s, load_s / load_frac);
	return iteration_s;
}

double
data_most(struct sheet *sh, double rate_sample_per_s, double gain)
{
	GIVEN(sh, rate_sample_per_s, gain);
	LET(sh, most_sample_per_s, rate_sample_per_s * gain);
	return most_sample_per_s;
}

/* --- rules of thumb -------------------------------------------------------------------------------------- */

double
data_rule_gpus(struct sheet *sh, double n_gpus)
{
	GIVEN(sh, n_gpus);
	LET(sh, n_workers, 2 * n_gpus);
	return n_workers;
}

double
data_rule_cores(struct sheet *sh, double n_gpus, double n_cores)
{
	GIVEN(sh, n_gpus, n_cores);
	LET(sh, n_cores_per_gpu, n_cores / n_gpus);
	LET(sh, n_workers, 2 * n_gpus * n_cores_per_gpu);
	return n_workers;
}

/* --- storage --------------------------------------------------------------------------------------------- */

double
data_units(struct sheet *sh, double n_units, double unit_byte_per_s)
{
	GIVEN(sh, n_units, unit_byte_per_s);
	LET(sh, storage_byte_per_s, n_units * unit_byte_per_s);
	return storage_byte_per_s;
}

double
data_busy(struct sheet *sh, double flow_byte_per_s, double storage_byte_per_s)
{
	GIVEN(sh, flow_byte_per_s, storage_byte_per_s);
	LET(sh, busy_frac, flow_byte_per_s / storage_byte_per_s);
	return busy_frac;
}

/* --- sensors --------------------------------------------------------------------------------------------- */

double
data_camera(struct sheet *sh, double n_pixels, double pixel_byte, double frame_hertz)
{
	GIVEN(sh, n_pixels, pixel_byte, frame_hertz);
	LET(sh, frame_byte, n_pixels * pixel_byte);
	LET(sh, camera_byte_per_s, frame_byte * frame_hertz);
	return camera_byte_per_s;
}

double
data_cameras(struct sheet *sh, double n_cameras, double camera_byte_per_s)
{
	GIVEN(sh, n_cameras, camera_byte_per_s);
	LET(sh, flow_byte_per_s, n_cameras * camera_byte_per_s);
	return flow_byte_per_s;
}

double
data_volume(struct sheet *sh, double flow_byte_per_s, double length_s)
{
	GIVEN(sh, flow_byte_per_s, length_s);
	LET(sh, volume_byte, flow_byte_per_s * length_s);
	return volume_byte;
}

/* --- checkpoints on the same storage --------------------------------------------------------------------- */

/* Reading takes its share of the storage's time, writing gets the rest.  Infinite when reading takes all. */
double
data_burst_beside(struct sheet *sh, double burst_s, double read_frac)
{
	GIVEN(sh, burst_s, read_frac);
	LET(sh, beside_s, burst_s / fmax(0, 1 - read_frac));
	return beside_s;
}

double
data_busy_both(struct sheet *sh, double read_frac, double write_frac)
{
	GIVEN(sh, read_frac, write_frac);
	LET(sh, busy_frac, read_frac + write_frac);
	return busy_frac;
}

double
data_burst_rate(struct sheet *sh, double storage_sample_per_s)
{
	GIVEN(sh, storage_sample_per_s);
	LET(sh, burst_sample_per_s, storage_sample_per_s / 2);
	return burst_sample_per_s;
}

/* --- caches of the hottest rows under Zipf's law --------------------------------------------------------- */

double
cache_hot(struct sheet *sh, double n_items, double cached_frac)
{
	GIVEN(sh, n_items, cached_frac);
	LET(sh, n_hot, floor(n_items * cached_frac + 0.5));
	return n_hot;
}

double
cache_share(struct sheet *sh, double n_items, double n_hot)
{
	GIVEN(sh, n_items, n_hot);
	LET(sh, cached_frac, n_hot / n_items);
	return cached_frac;
}

/* --- how often it hits ----------------------------------------------------------------------------------- */

/* H(h, s) / H(n, s), the generalized harmonic numbers: Breslau et al., INFOCOM 1999, for the law; a cache that knows
 * the hottest rows and keeps them. */
double
cache_zipf(struct sheet *sh, double n_items, double n_hot, double zipf)
{
	GIVEN(sh, n_items, n_hot, zipf);
	TAKE(sh, hot_sum, num_harmonic(n_hot, zipf));
	TAKE(sh, all_sum, num_harmonic(n_items, zipf));
	LET(sh, hit_frac, hot_sum / all_sum);
	return hit_frac;
}

double
cache_uniform(struct sheet *sh, double n_items, double n_hot)
{
	GIVEN(sh, n_items, n_hot);
	LET(sh, hit_frac, n_hot / n_items);
	return hit_frac;
}

double
cache_measured(struct sheet *sh, const struct cache_curve *curve, double cached_frac)
{
	int at = 0;

	GIVEN(sh, cached_frac);
	while (at + 1 < curve->n && cached_frac > curve->item_frac[at])
		at++;
	TAKE(sh, low_item_frac, at ? curve->item_frac[at - 1] : 0.0);
	TAKE(sh, low_lookup_frac, at ? curve->lookup_frac[at - 1] : 0.0);
	TAKE(sh, high_item_frac, curve->item_frac[at]);
	TAKE(sh, high_lookup_frac, curve->lookup_frac[at]);
	LET(sh, way_frac, (cached_frac - low_item_frac) / (high_item_frac - low_item_frac));
	LET(sh, hit_frac, low_lookup_frac + way_frac * (high_lookup_frac - low_lookup_frac));
	return hit_frac;
}

/* --- the other way round --------------------------------------------------------------------------------- */

struct asked_input {
	double n_items, n_hot, hit_frac;
};

static double
too_much(double zipf, const void *context)
{
	const struct asked_input *a = context;

	return cache_zipf(NULL, a->n_items, a->n_hot, zipf) - a->hit_frac;
}

double
cache_zipf_of(double n_items, double n_hot, double hit_frac)
{
	const struct asked_input a = {n_items, n_hot, hit_frac};
	double zipf;

	/* always is the limit that no exponent reaches */
	return hit_frac < 1 && num_root(too_much, &a, 0, 50, &zipf) ? zipf : NAN;
}

double
cache_hot_of(double n_items, double zipf, double hit_frac)
{
	double low = 0, high = n_items; /* low misses too often, high does not */

	while (high - low > 1) {
		const double n_hot = floor((low + high) / 2);
		if (cache_zipf(NULL, n_items, n_hot, zipf) >= hit_frac)
			high = n_hot;
		else
			low = n_hot;
	}
	return high;
}

/* --- what it is worth ------------------------------------------------------------------------------------ */

double
cache_size(struct sheet *sh, double table_byte, double cached_frac)
{
	GIVEN(sh, table_byte, cached_frac);
	LET(sh, cache_byte, table_byte * cached_frac);
	return cache_byte;
}

double
cache_miss_time(struct sheet *sh, double lookup_s, double hit_frac)
{
	GIVEN(sh, lookup_s, hit_frac);
	LET(sh, misses_s, lookup_s * (1 - hit_frac));
	return misses_s;
}

double
cache_hit_time(struct sheet *sh, double hit_s, double hit_frac)
{
	GIVEN(sh, hit_s, hit_frac);
	LET(sh, hits_s, hit_s * hit_frac);
	return hits_s;
}

double
cache_lookup(struct sheet *sh, double misses_s, double hits_s)
{
	GIVEN(sh, misses_s, hits_s);
	LET(sh, cached_lookup_s, misses_s + hits_s);
	return cached_lookup_s;
}

double
cache_step(struct sheet *sh, double lookup_s, double rest_s)
{
	GIVEN(sh, lookup_s, rest_s);
	LET(sh, step_s, lookup_s + rest_s);
	return step_s;
}
