/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One description of a layer: over every model of the database, what two parts of the program say of the same thing is
 * the same.
 */
#include "db/db.h"
#include "model/serve/serve.h"
#include "model/train/train.h"

#include "base/base.h"

#include <check.h>

static struct arena *a;
static struct database *db;
static const char **ids;
static size_t n_ids;

static void
set_up(void)
{
	a = arena_new();
	db = database_new(a, diag_new(a), ".");
	ids = database_list(db, ENTRY_MODEL, &n_ids);
	ck_assert_uint_gt(n_ids, 200);
}

static void
tear_down(void)
{
	arena_free(a);
}

static const struct workload *
model(size_t i)
{
	const char *said;
	const struct workload *w = database_model(db, ids[i], NULL, (struct source){0}, &said);

	ck_assert_ptr_nonnull(w);
	return w;
}

/* The rows that are bound when a model is read are those that are described when they are asked for. */
START_TEST(bound)
{
	for (size_t i = 0; i < n_ids; i++) {
		const struct workload *w = model(i);
		for (int k = 0; k < w->n_blocks; k++) {
			struct block b = w->blocks[k];
			ck_assert_ptr_nonnull(b.layer);
			b.layer = NULL;
			ck_assert_double_eq(layer_params(NULL, w, &b, IN_LAYER, COUNT_ACTIVE),
			    layer_params(NULL, w, &w->blocks[k], IN_LAYER, COUNT_ACTIVE));
			ck_assert_double_eq(kv_block_sequence(NULL, w, &b, 5000, 16, 2, 4),
			    kv_block_sequence(NULL, w, &w->blocks[k], 5000, 16, 2, 4));
		}
	}
}
END_TEST

static bool
has_gemm(const struct op *ops, int n, const struct train_linear *l)
{
	for (int i = 0; i < n; i++)
		if (ops[i].kind == OP_gemm && ops[i].dim[1] == l->n && ops[i].dim[2] == l->k)
			return true;
	return false;
}

/* Every product that a training step runs stands in the list of the model's operators. */
START_TEST(products)
{
	for (size_t i = 0; i < n_ids; i++) {
		const struct workload *w = model(i);
		const bool trained = w->kind == MODEL_DECODER && !train_lacks(w);
		for (double tp = 1; trained && tp <= 2; tp *= 2) {
			const struct train_job job = {.model = w, .layout.tp = tp};
			const struct shape x = {PHASE_TRAIN, .batch = 1, .n_new = 64, .tp = tp, .elem_byte = 2};
			struct op *ops = ARENA_ARRAY(a, struct op, expand_room(w));
			struct train_linear linears[TRAIN_MOST_LINEARS];
			const int n_ops = expand(w, &x, ops);
			for (int k = 0; k < w->n_blocks; k++)
				for (int n = train_linears(&job, &w->blocks[k], linears); n > 0; n--)
					ck_assert_msg(has_gemm(ops, n_ops, &linears[n - 1]), "%s: %g x %g", w->id,
					    linears[n - 1].n, linears[n - 1].k);
		}
	}
}
END_TEST

/* One GPU has the whole of a layer; two have it between them, and what is whole on both twice. */
START_TEST(shards)
{
	for (size_t i = 0; i < n_ids; i++) {
		const struct workload *w = model(i);
		for (int k = 0; k < w->n_blocks; k++) {
			const struct block *b = &w->blocks[k];
			const double all = layer_params(NULL, w, b, IN_LAYER, COUNT_ALL);
			ck_assert_double_eq(shard_params(NULL, w, b, IN_LAYER, 1), all);
			ck_assert_double_ge(2 * shard_params(NULL, w, b, IN_LAYER, 2), all);
			ck_assert_double_le(shard_params(NULL, w, b, IN_LAYER, 2), all);
		}
	}
}
END_TEST

/* A token takes as much of a serving replica's cache as `kv` says, where nothing is left out of a window. */
START_TEST(caches)
{
	for (size_t i = 0; i < n_ids; i++) {
		const struct workload *w = model(i);
		bool windows = w->kind == MODEL_OPERATORS || w->kind == MODEL_ENCODER_DECODER;
		for (int k = 0; k < w->n_blocks; k++)
			windows = windows || datum_given(kv_reach(&w->blocks[k].attention));
		for (double tp = 1; !windows && tp <= 8; tp *= 2) {
			const struct serve_setup s = {
			    .model = w, .layout = {.tp = tp, .pp = 1, .ep = 1}, .precision.kv_byte = 2};
			ck_assert_double_eq_tol(serve_kv_byte(NULL, &s), kv_slope(NULL, w, 2, tp), 1e-6);
		}
	}
}
END_TEST

Suite *layers_suite(void);

Suite *
layers_suite(void)
{
	Suite *s = suite_create("layers");
	TCase *t = tcase_create("layers");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, bound);
	tcase_add_test(t, products);
	tcase_add_test(t, shards);
	tcase_add_test(t, caches);
	suite_add_tcase(s, t);
	return s;
}
