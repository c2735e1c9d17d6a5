/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Engine files: what they need, what they inherit, which GPU means which of their architectures. */
#include "db/db.h"
#include "model/serve/serve.h"

#include <check.h>
#include <string.h>

static struct arena *arena;
static struct diag *diag;

static void
begin(void)
{
	arena = arena_new();
	diag = diag_new(arena);
}

static void
end(void)
{
	arena_free(arena);
}

static const struct engine *
by_name(const char *name)
{
	struct database *db = database_new(arena, diag, ".");
	const char *said;

	return database_engine(db, arena, diag, name, NULL, (struct source){0}, &said);
}

/* A family takes from the one that it extends what it does not say, but not its name or its errors. */
START_TEST(inherits)
{
	const struct engine *e = by_name("trtllm-0.14"), *of = by_name("trtllm-0.17");

	ck_assert_ptr_nonnull(e);
	ck_assert_ptr_nonnull(of);
	ck_assert_double_eq_tol(e->memory.counter_byte[COUNTER_DEVICE].value, 2.5e9, 1);
	ck_assert_double_eq_tol(of->memory.counter_byte[COUNTER_DEVICE].value, 797e6, 1);
	ck_assert_double_eq(e->memory.block_token.value, of->memory.block_token.value);
	ck_assert_double_eq(e->prefill_s.value, of->prefill_s.value);
	ck_assert_double_eq_tol(e->sampling_s.value, 20e-6, 1e-12);
	ck_assert_str_ne(e->name, of->name);
	ck_assert_double_ge(e->residuals[0].n_points.value, 300);
	ck_assert_double_ne(e->residuals[0].n_points.value, of->residuals[0].n_points.value);
	ck_assert(!e->chunked && !e->evicts);
	/* its warning is that of an engine that nobody measured */
	ck_assert_ptr_nonnull(by_name("common")->warning);
	ck_assert_ptr_null(e->warning);
}
END_TEST

START_TEST(architectures)
{
	const struct engine *e = by_name("trtllm-1.0");
	const struct gpu server = {.architecture = "blackwell", .mem_type = "HBM3e"},
	                 card = {.architecture = "blackwell", .mem_type = "GDDR7"},
	                 old = {.architecture = "volta", .mem_type = "HBM2"};

	ck_assert_ptr_nonnull(e);
	ck_assert_double_eq_tol(engine_architecture(e, &server)->moe_time.value, 1.51, 1e-9);
	ck_assert(engine_architecture(e, &server)->imbalance_is_tokens);
	ck_assert_double_eq_tol(engine_architecture(e, &card)->imbalance.value, 5.43, 1e-9);
	ck_assert_ptr_null(engine_architecture(e, &old));
	/* where there is no entry for cards without HBM, that of the architecture holds */
	const struct gpu ada = {.architecture = "ada", .mem_type = "GDDR6"};
	ck_assert_double_eq_tol(engine_architecture(e, &ada)->fp8_attention.value, 1.5, 1e-9);
}
END_TEST

START_TEST(all_of_them)
{
	struct database *db = database_new(arena, diag, ".");
	size_t n;
	const char **ids = database_list(db, ENTRY_ENGINE, &n);

	ck_assert_uint_gt(n, 15);
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(by_name(ids[i]) != NULL, "%s", ids[i]);
	ck_assert_int_eq(diag_errors(diag), 0);
}
END_TEST

START_TEST(incomplete)
{
	static const char text[] = "format: 1\nname: nothing\nbackend: vllm\nstep: {host: 1ms}\n";
	const struct node *root = tree_read_text(arena, diag, "engine.yaml", text, strlen(text));
	struct engine e;
	struct binder b = {.arena = arena, .diag = diag};

	ck_assert_ptr_nonnull(root);
	ck_assert(!engine_bind(&b, root, "nothing", &e));
	ck_assert_int_gt(diag_errors(diag), 5);
}
END_TEST

START_TEST(no_such_base)
{
	static const char text[] = "format: 1\nname: nothing\nextends: nowhere\n";
	struct database *db = database_new(arena, diag, ".");
	const struct node *root = tree_read_text(arena, diag, "engine.yaml", text, strlen(text));

	ck_assert_ptr_null(engine_tree(db, arena, diag, root));
	ck_assert_int_gt(diag_errors(diag), 0);
}
END_TEST

Suite *engine_suite(void);

Suite *
engine_suite(void)
{
	Suite *s = suite_create("engine");
	TCase *c = tcase_create("engine");

	tcase_add_checked_fixture(c, begin, end);
	tcase_add_test(c, inherits);
	tcase_add_test(c, architectures);
	tcase_add_test(c, all_of_them);
	tcase_add_test(c, incomplete);
	tcase_add_test(c, no_such_base);
	suite_add_tcase(s, c);
	return s;
}
