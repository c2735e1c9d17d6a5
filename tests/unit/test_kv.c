/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes of caches from published configurations (config.json of each model), and the worked examples of paging. */
#include "model/layer/layer.h"

#include <check.h>

static struct datum
given(double value)
{
	return (struct datum){value, {NULL, 0, 0, NULL, false}};
}

static struct block
heads(double n_layers, double n_heads, double n_kv_heads, double head_dim)
{
	const struct datum no = datum_absent();

	return (struct block){.count = given(n_layers),
	    .attention = {.kind = ATTENTION_HEADS,
	        .n_heads = given(n_heads),
	        .n_kv_heads = given(n_kv_heads),
	        .head_dim = given(head_dim),
	        .v_dim = no,
	        .window = no,
	        .chunk = no}};
}

static struct block
windowed(double n_layers, double n_kv_heads, double head_dim, double window)
{
	struct block b = heads(n_layers, n_kv_heads, n_kv_heads, head_dim);

	b.attention.window = given(window);
	return b;
}

static struct block
chunked(double n_layers, double n_kv_heads, double head_dim, double chunk)
{
	struct block b = heads(n_layers, n_kv_heads, n_kv_heads, head_dim);

	b.attention.chunk = given(chunk);
	return b;
}

static struct block
wide_keys(struct block b, double v_dim)
{
	b.attention.v_dim = given(v_dim);
	return b;
}

static struct block
latent(double n_layers, double n_heads, double kv_lora, double rope)
{
	const struct datum no = datum_absent();

	return (struct block){.count = given(n_layers),
	    .attention = {.kind = ATTENTION_MLA,
	        .n_heads = given(n_heads),
	        .kv_lora = given(kv_lora),
	        .nope = given(128),
	        .rope = given(rope),
	        .v_dim = given(128),
	        .window = no,
	        .chunk = no}};
}

static struct workload
model(struct block *blocks, int n)
{
	return (struct workload){.kind = MODEL_DECODER, .n_blocks = n, .blocks = blocks};
}

/* 16-bit elements, one GPU. */
static const struct {
	const char *name;
	double slope, constant, at_32768, at_131072;
} expected[] = {
    {"Llama-2-7B", 524288, 0, 17179869184, 68719476736},
    {"Llama-3-8B", 131072, 0, 4294967296, 17179869184},
    {"Llama-2-70B", 327680, 0, 10737418240, 42949672960},
    {"Qwen2.5-3B", 36864, 0, 1207959552, 4831838208},
    {"gpt-oss-120b", 36864, 4718592, 1212678144, 4836556800},
    {"gpt-oss-20b", 24576, 3145728, 808452096, 3224371200},
    {"Gemma-4-26B-A4B", 20480, 209715200, 880803840, 2894069760},
    {"Gemma-4-31B", 81920, 838860800, 3523215360, 11576279040},
    {"Llama-4-Scout", 49152, 1207959552, 2818572288, 7650410496},
    {"MiMo-V2-Flash", 23040, 25559040, 780533760, 3045457920},
    {"DeepSeek-V3", 70272, 0, 2302672896, 9210691584},
};

static void
build(int i, struct block *blocks, struct workload *w)
{
	const struct block tables[][2] = {
	    {heads(32, 32, 32, 128)},
	    {heads(32, 32, 8, 128)},
	    {heads(80, 64, 8, 128)},
	    {heads(36, 16, 2, 128)},
	    {windowed(18, 8, 64, 128), heads(18, 64, 8, 64)},
	    {windowed(12, 8, 64, 128), heads(12, 64, 8, 64)},
	    {windowed(25, 8, 256, 1024), heads(5, 16, 2, 512)},
	    {windowed(50, 16, 256, 1024), heads(10, 32, 4, 512)},
	    {chunked(36, 8, 128, 8192), heads(12, 40, 8, 128)},
	    {wide_keys(heads(9, 64, 4, 192), 128), wide_keys(windowed(39, 8, 192, 128), 128)},
	    {latent(61, 128, 512, 64)},
	};

	blocks[0] = tables[i][0];
	blocks[1] = tables[i][1];
	*w = model(blocks, blocks[1].count.value > 0 ? 2 : 1);
}

START_TEST(published_models)
{
	struct block blocks[2];
	struct workload w;

	build(_i, blocks, &w);
	ck_assert_double_eq(kv_slope(NULL, &w, 2, 1), expected[_i].slope);
	ck_assert_double_eq(kv_constant(NULL, &w, 1, 2, 1), expected[_i].constant);
	ck_assert_double_eq(kv_sequence(NULL, &w, 32768, 16, 2, 1), expected[_i].at_32768);
	ck_assert_double_eq(kv_sequence(NULL, &w, 131072, 16, 2, 1), expected[_i].at_131072);
}
END_TEST

/* What grows and what does not make up every sequence beyond the windows; a sheet changes nothing. */
START_TEST(parts_add_up)
{
	struct block blocks[2];
	struct workload w;
	struct sheet *sh = sheet_new();

	build(_i, blocks, &w);
	for (double tp = 1; tp <= 16; tp *= 2) {
		const double parts = kv_constant(NULL, &w, 16, 2, tp) + 16384 * kv_slope(NULL, &w, 2, tp);
		const double whole = kv_sequence(NULL, &w, 16384, 16, 2, tp);

		ck_assert_double_eq(whole, parts);
		ck_assert_double_eq(kv_sequence(sh, &w, 16384, 16, 2, tp), whole);
		ck_assert_double_eq(kv_sequence(NULL, &w, 16384, 16, 1, tp), whole / 2);
	}
	sheet_free(sh);
}
END_TEST

/* Heads are divided down to one per GPU; a latent is not divided. */
START_TEST(tensor_parallel)
{
	struct block llama[] = {heads(80, 64, 8, 128)}, deepseek[] = {latent(61, 128, 512, 64)};
	const struct workload gqa = model(llama, 1), mla = model(deepseek, 1);

	ck_assert_double_eq(kv_slope(NULL, &gqa, 2, 4), 327680 / 4.0);
	ck_assert_double_eq(kv_slope(NULL, &gqa, 2, 8), 327680 / 8.0);
	ck_assert_double_eq(kv_slope(NULL, &gqa, 2, 32), 327680 / 8.0);
	ck_assert_double_eq(kv_slope(NULL, &mla, 2, 8), 70272);
	ck_assert_double_eq(kv_sharing(NULL, &gqa, llama), 8);
	/* 128 heads of 128 + 64 and 128 against 512 + 64 */
	ck_assert_double_eq_tol(kv_sharing(NULL, &mla, deepseek), 128 * 320 / 576.0, 1e-12);
}
END_TEST

START_TEST(windows_hold_what_they_see)
{
	struct block blocks[] = {windowed(1, 1, 1, 100)};
	const struct workload w = model(blocks, 1);

	/* two bytes each for a key and a value */
	ck_assert_double_eq(kv_sequence(NULL, &w, 50, 1, 2, 1), 200);
	ck_assert_double_eq(kv_sequence(NULL, &w, 100, 1, 2, 1), 400);
	ck_assert_double_eq(kv_sequence(NULL, &w, 5000, 1, 2, 1), 400);
	ck_assert_double_eq(kv_sequence(NULL, &w, 5000, 16, 2, 1), 4 * 112);
	ck_assert_double_eq(kv_constant(NULL, &w, 16, 2, 1), 4 * 112);
	ck_assert_double_eq(kv_slope(NULL, &w, 2, 1), 0);
	blocks[0].attention.chunk = given(40);
	ck_assert_double_eq(kv_reach(&blocks[0].attention).value, 40);
}
END_TEST

/* Worked examples 003: 500 of 8192 tokens in blocks of 16, a 7B model. */
START_TEST(paging)
{
	struct block blocks[] = {heads(32, 32, 32, 128)};
	const struct workload w = model(blocks, 1);
	const struct kv_page page = {500, 8192, 16}, full = {8192, 8192, 16}, fifth = {2000, 10000, 1};

	ck_assert_double_eq(kv_paging(NULL, &w, &page, 2, 1), 16);
	ck_assert_double_eq(kv_paging(NULL, &w, &full, 2, 1), 1);
	ck_assert_double_eq_tol(kv_paging(NULL, &w, &fifth, 2, 1), 5, 1e-12);
	ck_assert_double_eq(kv_recomputed(NULL, 1000), 999);
}
END_TEST

START_TEST(room)
{
	struct block blocks[] = {heads(32, 32, 32, 128)};
	const struct workload w = model(blocks, 1);
	const double space = kv_space(NULL, 80e9, 0.2, 14e9), sequence = kv_sequence(NULL, &w, 500, 16, 2, 1);

	ck_assert_double_eq(space, 50e9);
	ck_assert_double_eq(kv_space(NULL, 80e9, 0.2, 100e9), 0);
	ck_assert_double_eq(kv_capacity_token(NULL, &w, space, 500, 2, 1), 95367);
	ck_assert_double_eq(kv_capacity_sequences(NULL, space, sequence), 186);
	ck_assert_double_eq(kv_batch(NULL, 186, sequence), 186 * 512 * 524288.0);
	ck_assert(kv_batch(NULL, 187, sequence) > space);
}
END_TEST

Suite *kv_suite(void);

Suite *
kv_suite(void)
{
	Suite *s = suite_create("kv");
	TCase *c = tcase_create("kv");
	enum { N = sizeof expected / sizeof *expected };

	tcase_add_loop_test(c, published_models, 0, N);
	tcase_add_loop_test(c, parts_add_up, 0, N);
	tcase_add_test(c, tensor_parallel);
	tcase_add_test(c, windows_hold_what_they_see);
	tcase_add_test(c, paging);
	tcase_add_test(c, room);
	suite_add_tcase(s, c);
	return s;
}
