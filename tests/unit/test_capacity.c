/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/calc/calc.h"
#include "model/memory/memory.h"

#include <check.h>
#include <string.h>

static struct datum
given(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

static struct block
heads(double n_layers, double n_heads, double n_kv_heads)
{
	const struct datum no = datum_absent();

	return (struct block){.count = given(n_layers),
	    .attention = {.kind = ATTENTION_HEADS,
	        .n_heads = given(n_heads),
	        .n_kv_heads = given(n_kv_heads),
	        .head_dim = given(128),
	        .v_dim = no,
	        .window = no,
	        .chunk = no}};
}

/* 1000 users of 1000 tokens on GPUs of 80 GB at 80 %: worked examples 003. */
static struct capacity_case
users(const struct workload *w)
{
	const struct datum no = datum_absent();

	return (struct capacity_case){.kv = {w, 2, 0, 1, 0.3},
	    .mem_byte = given(80e9),
	    .headroom = given(0.2),
	    .mem_byte_per_s = given(2e12),
	    .peak_flop_per_s = given(312e12),
	    .work_flop_per_token = 14e9,
	    .itl_s = no,
	    .n_users = given(1000),
	    .user_token = given(1000),
	    .rate_request_per_s = no,
	    .isl_token = no,
	    .osl_token = no,
	    .utilisation = given(0.75),
	    .measured_token_per_s = no};
}

static struct capacity_case
load(const struct workload *w, double rate)
{
	struct capacity_case c = users(w);

	c.kv.block_token = 16;
	c.kv.overhead_frac = 0;
	c.n_users = c.user_token = datum_absent();
	c.rate_request_per_s = given(rate);
	c.isl_token = given(1000);
	c.osl_token = given(200);
	return c;
}

/* A replica of tp GPUs that share the weights; the headroom leaves the rest to caches. */
static struct capacity_replica
shared(const struct capacity_case *c, double weight_byte, double tp)
{
	return (struct capacity_replica){.tp = tp,
	    .n_groups = 1,
	    .weight_byte = weight_byte / tp,
	    .space_byte = fmax(0, c->mem_byte.value * (1 - c->headroom.value) - weight_byte / tp),
	    .n_rented_gpus = 1,
	    .gpu_usd_per_s = NAN};
}

static double
replicas(const struct capacity_case *c, double weight_byte, double tp)
{
	const struct capacity_replica a = shared(c, weight_byte, tp);

	return capacity_replicas(NULL, c, &a);
}

static double
replica_users(const struct capacity_case *c, double weight_byte, double tp)
{
	const struct capacity_replica a = shared(c, weight_byte, tp);

	return capacity_replica_users(NULL, c, &a);
}

static const char *
binds(const struct capacity_case *c, double weight_byte)
{
	const struct capacity_replica a = shared(c, weight_byte, 1);

	return capacity_binds(c, &a);
}

static double
user_rate(const struct capacity_case *c, double weight_byte, double n_users, double n_replicas, double tp)
{
	const struct capacity_replica a = shared(c, weight_byte, tp);

	return capacity_user_rate(NULL, c, &a, n_users, n_replicas);
}

START_TEST(worked_examples)
{
	struct block b[] = {heads(32, 32, 32)};
	const struct workload w = {.n_blocks = 1, .blocks = b};
	struct capacity_case c = users(&w);

	ck_assert_double_eq_tol(capacity_user(NULL, &c.kv, 1000, 1), 681574400, 1e-6);
	ck_assert_double_eq(capacity_pool(NULL, &c, 3.5e9), 11);
	ck_assert_double_eq(replicas(&c, 3.5e9, 1), 12);
	c.kv.block_token = 16;
	c.kv.overhead_frac = 0;
	ck_assert_double_eq(capacity_user(NULL, &c.kv, 1000, 1), 63 * 16 * 524288.0);
	ck_assert_double_eq(capacity_pool(NULL, &c, 3.5e9), 9);
	ck_assert_double_eq(replicas(&c, 3.5e9, 1), 9);
	/* the linear rule, named */
	c.kv = (struct capacity_kv){NULL, 2, capacity_linear_kv(NULL, 7e9), 1, 0.3};
	ck_assert_double_eq_tol(1000 * capacity_user(NULL, &c.kv, 1000, 1), 650e9, 1e-3);
	ck_assert_double_eq(capacity_pool(NULL, &c, capacity_weights_bits(NULL, 7e9, 4)), 11);
	/* its last step with its own 96.4 GB; and 70B with 16 B of state per parameter */
	c.n_users = given(0);
	ck_assert_double_eq(capacity_pool(NULL, &c, 96.4e9), 2);
	ck_assert_double_eq(capacity_pool(NULL, &c, capacity_weights_bits(NULL, 70e9, 128)), 18);
}
END_TEST

START_TEST(linear_rule_is_wrong_for_shared_heads)
{
	struct block b[] = {heads(80, 64, 8)};
	const struct workload w = {.n_blocks = 1, .blocks = b};

	ck_assert_double_eq_tol(
	    capacity_linear_error(NULL, capacity_linear_kv(NULL, 70e9), &w, 2), 15.2587890625, 1e-9);
}
END_TEST

START_TEST(replicas_hold_whole_users)
{
	struct block b[] = {heads(32, 32, 32)};
	const struct workload w = {.n_blocks = 1, .blocks = b};
	struct capacity_case c = users(&w);
	const double most = replica_users(&c, 3.5e9, 1);

	ck_assert_double_eq(most, 88);
	for (int n = 1; n < 600; n++) {
		c.n_users = given(n);
		ck_assert_double_eq(replicas(&c, 3.5e9, 1), ceil(n / most));
		/* one copy for all never needs more GPUs */
		ck_assert(capacity_pool(NULL, &c, 3.5e9) <= replicas(&c, 3.5e9, 1));
	}
}
END_TEST

START_TEST(a_replica_that_does_not_fit)
{
	struct block b[] = {heads(80, 64, 8)};
	const struct workload w = {.n_blocks = 1, .blocks = b};
	struct capacity_replica ways[5];
	struct capacity_case c = users(&w);

	c.n_users = given(200);
	c.user_token = given(4096);
	c.kv.overhead_frac = 0;
	/* 141 GB over 64 GB each: 2 GPUs do not hold them, 4 do; with room for 85 users each, 8 GPUs for all 200 */
	ck_assert(replica_users(&c, 141e9, 2) < 1);
	ck_assert(isinf(replicas(&c, 141e9, 2)));
	for (int i = 0; i < 5; i++)
		ways[i] = shared(&c, 141e9, 1 << i);
	ck_assert_int_eq(capacity_fewest(&c, ways, 5), 2);
	ck_assert_int_eq(capacity_fewest(&c, ways, 2), -1);
	ck_assert_int_eq(capacity_best(&c, ways, 4), 3);
	ck_assert_double_eq(replicas(&c, 141e9, 4), 12);
	ck_assert_int_eq(capacity_best(&c, ways, 2), -1);
}
END_TEST

/* 12 GPUs by the GPU against 8 of which half stay idle: money decides where all have a price. */
START_TEST(whole_instances_are_paid)
{
	struct block b[] = {heads(80, 64, 8)};
	const struct workload w = {.n_blocks = 1, .blocks = b};
	struct capacity_case c = users(&w);
	struct capacity_replica ways[2];

	c.n_users = given(200);
	c.user_token = given(4096);
	c.kv.overhead_frac = 0;
	ways[0] = shared(&c, 141e9, 4);
	ways[1] = shared(&c, 141e9, 8);
	ck_assert_int_eq(capacity_best(&c, ways, 2), 1);
	ways[0].gpu_usd_per_s = 1;
	ck_assert_int_eq(capacity_best(&c, ways, 2), 1);
	ways[1].gpu_usd_per_s = 1.4;
	ck_assert_int_eq(capacity_best(&c, ways, 2), 1);
	ways[1].gpu_usd_per_s = 1.6;
	ck_assert_int_eq(capacity_best(&c, ways, 2), 0);
	/* the second half of the second instance of 8 is paid too */
	ways[0].n_rented_gpus = 8;
	ck_assert_int_eq(capacity_best(&c, ways, 2), 1);
	ck_assert_double_eq(cost_rented(NULL, 3, 4, 8), 16);
	ck_assert_double_eq(cost_rented(NULL, 3, 4, 1), 12);
	ck_assert_double_eq(cost_rented(NULL, 2, 16, 8), 32);
	ck_assert_double_eq(cost_rented(NULL, 5, 3, 8), 24);
}
END_TEST

/* Where every GPU attends for users of its own, a cache that all heads share is kept once instead of tp times. */
START_TEST(attention_apart_holds_more_latents)
{
	struct block b[] = {heads(61, 128, 1)};
	const struct workload w = {.n_blocks = 1, .blocks = b};
	struct capacity_case c = users(&w);
	struct capacity_replica together = shared(&c, 320e9, 8), apart = together;

	apart.n_groups = 8;
	const double n = capacity_replica_users(NULL, &c, &together);
	ck_assert(n >= 1);
	ck_assert_double_eq(capacity_replica_users(NULL, &c, &apart), 8 * n);
}
END_TEST

START_TEST(what_binds)
{
	struct block b[] = {heads(32, 32, 32)};
	const struct workload w = {.n_blocks = 1, .blocks = b};
	struct capacity_case c = users(&w), l = load(&w, 20);

	ck_assert_str_eq(binds(&c, 3.5e9), "KV cache");
	ck_assert_str_eq(capacity_pool_binds(&c, 3.5e9), "KV cache");
	c.itl_s = given(0.010);
	ck_assert_str_eq(binds(&c, 3.5e9), "latency");
	c.itl_s = datum_absent();
	c.n_users = given(1);
	ck_assert_str_eq(binds(&c, 3.5e9), "weights");
	ck_assert_str_eq(capacity_pool_binds(&c, 3.5e9), "weights");
	ck_assert_str_eq(binds(&l, 14e9), "bandwidth");
	l.osl_token = given(1);
	ck_assert_str_eq(binds(&l, 14e9), "compute");
	l.measured_token_per_s = given(1000);
	ck_assert_str_eq(binds(&l, 14e9), "measured rate");
}
END_TEST

/* Tokens come at most as fast as weights and caches can be read: one user of a 14 GB model at 2 TB/s reads 14 GB and
 * his own 0.5 MiB per token of context. */
START_TEST(speed_is_bytes_over_bandwidth)
{
	struct block b[] = {heads(32, 32, 32)};
	const struct workload w = {.n_blocks = 1, .blocks = b};
	const struct capacity_case c = users(&w);

	ck_assert_double_eq_tol(user_rate(&c, 14e9, 1, 1, 1), 2e12 / (14e9 + 524288e3), 1e-9);
	ck_assert_double_eq_tol(user_rate(&c, 14e9, 88, 11, 1), 2e12 / (14e9 + 8 * 524288e3), 1e-9);
	ck_assert_double_eq_tol(user_rate(&c, 14e9, 8, 1, 2), 2e12 / (7e9 + 4 * 524288e3), 1e-9);
	ck_assert_double_eq_tol(capacity_fleet_rate(NULL, 8, 100), 800, 1e-12);
	ck_assert_double_eq_tol(capacity_load_rate(NULL, 5, 200), 1000, 1e-12);
}
END_TEST

/* As many users as --itl allows still get their tokens in time, and one more would not. */
START_TEST(latency_limits_the_batch)
{
	struct block b[] = {heads(32, 32, 32)};
	const struct workload w = {.n_blocks = 1, .blocks = b};
	struct capacity_case c = users(&w);

	c.itl_s = given(0.015);
	const double n = replica_users(&c, 14e9, 1);
	ck_assert(n >= 1);
	ck_assert(1 / user_rate(&c, 14e9, n, 1, 1) <= 0.015);
	ck_assert(1 / user_rate(&c, 14e9, n + 1, 1, 1) > 0.015);
	c.itl_s = given(0.001);
	ck_assert_double_eq(replica_users(&c, 14e9, 1), 0);
}
END_TEST

/* Worked examples 000: 50 requests/s at 43.75 per GPU and 75 % utilisation need 1.52, so 2. */
START_TEST(load_at_a_utilisation)
{
	struct block b[] = {heads(32, 32, 32)};
	const struct workload w = {.n_blocks = 1, .blocks = b};
	struct capacity_case c = load(&w, 50);

	c.measured_token_per_s = given(43.75 * 200);
	ck_assert_double_eq(replicas(&c, 14e9, 1), 2);
	c.rate_request_per_s = given(43.75 * 0.75 * 3);
	ck_assert_double_eq(replicas(&c, 14e9, 1), 3);
	/* the floor: more load never needs fewer, more bandwidth never more */
	c.measured_token_per_s = datum_absent();
	double before = 0;
	for (double rate = 1; rate < 500; rate *= 1.5) {
		c.rate_request_per_s = given(rate);
		const double n = replicas(&c, 14e9, 1);
		ck_assert(n >= before);
		before = n;
		struct capacity_case fast = c;
		fast.mem_byte_per_s = given(4e12);
		ck_assert(replicas(&fast, 14e9, 1) <= n);
	}
}
END_TEST

START_TEST(money)
{
	/* 8 x $3.50 x 730 h */
	ck_assert_double_eq_tol(capacity_month_usd(NULL, 8, 3.5 / 3600), 20440, 1e-9);
	ck_assert_double_eq_tol(capacity_million_usd(NULL, 8, 3.6 / 3600, 4000), 2, 1e-12);
	ck_assert_double_eq(capacity_weights_bits(NULL, 7e9, 4), 3.5e9);
	ck_assert_double_eq(capacity_share(NULL, 141e9, 4), 35.25e9);
	ck_assert_double_eq(capacity_work(NULL, 7e9), 14e9);
	ck_assert_double_eq(capacity_count(NULL, 12, 4), 3);
}
END_TEST

/* Llama 2 7B: 6738415616 parameters, 262144000 of them in embedding and head, which stay in 16 bits. */
START_TEST(weights)
{
	struct block b[] = {heads(32, 32, 32)};
	const struct datum no = datum_absent();
	struct workload w = {.n_blocks = 1,
	    .blocks = b,
	    .hidden = given(4096),
	    .vocab = given(32000),
	    .norms_per_layer = given(2),
	    .head = true,
	    .final_norm = true,
	    .n_positions = no,
	    .n_token_types = no,
	    .n_classes = no};

	b[0].mlp.given = b[0].mlp.gated = true;
	b[0].mlp.width = given(11008);
	ck_assert_double_eq(capacity_weights(NULL, &w, 2, 2), 2 * 6738415616.0);
	ck_assert_double_eq(capacity_weights(NULL, &w, 0.5, 2), 0.5 * 6476271616.0 + 2 * 262144000.0);
	struct sheet *sh = sheet_new();
	ck_assert_double_eq(capacity_weights(sh, &w, 0.5, 2), capacity_weights(NULL, &w, 0.5, 2));
	sheet_free(sh);
}
END_TEST

Suite *capacity_suite(void);

Suite *
capacity_suite(void)
{
	Suite *s = suite_create("capacity");
	TCase *c = tcase_create("capacity");

	tcase_add_test(c, worked_examples);
	tcase_add_test(c, linear_rule_is_wrong_for_shared_heads);
	tcase_add_test(c, replicas_hold_whole_users);
	tcase_add_test(c, a_replica_that_does_not_fit);
	tcase_add_test(c, whole_instances_are_paid);
	tcase_add_test(c, attention_apart_holds_more_latents);
	tcase_add_test(c, what_binds);
	tcase_add_test(c, speed_is_bytes_over_bandwidth);
	tcase_add_test(c, latency_limits_the_batch);
	tcase_add_test(c, load_at_a_utilisation);
	tcase_add_test(c, money);
	tcase_add_test(c, weights);
	suite_add_tcase(s, c);
	return s;
}
