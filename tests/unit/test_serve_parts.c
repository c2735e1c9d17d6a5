/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What holds of the parts of a serving step in every model: what adds up, what is in which width, what a part waits
 * for. */
#include <check.h>
#include <math.h>

#include "serve_world.h"

static struct scene x;

/* Beyond a node every rank writes to all others at once: more ranks with the same tokens exchange no longer. */
START_TEST(wide_experts_start_at_once)
{
	double last_s = INFINITY;

	x.engine = engine_pytorch();
	x.architecture = hopper();
	for (int n = 16; n <= 64; n *= 2) {
		scene_set(&x, gpu_h200, &qwen3_235b, precision(DTYPE_FP8_BLOCK, 1, 1, 1), EXPERTS(n));
		const double comm_s = serve_layer_comm(NULL, &x.setup, x.setup.model->blocks, 64);
		ck_assert_double_le(comm_s, last_s);
		last_s = comm_s;
	}
}
END_TEST

/* --- structure ------------------------------------------------------------------------------------------- */

/* The four parts make the step, so that tables of the first two may be kept. */
START_TEST(parts_add_up)
{
	x.engine = engine_pytorch();
	x.architecture = hopper();
	scene_set(&x, gpu_h200, &qwen3_235b, precision(DTYPE_FP8_BLOCK, 1, 1, 1), EXPERTS(8));
	const struct serve_batch b = {2, 300, 100, 64, 900, 65, 0};
	const double parts = serve_linear(NULL, &x.setup, 664, NULL) +
	    serve_prompt_attention(NULL, &x.setup, 2, 300, 100) + serve_cached_attention(NULL, &x.setup, 64, 900) +
	    serve_head(NULL, &x.setup, 65);

	ck_assert_double_eq_tol(serve_iteration(NULL, &x.setup, &b, NULL),
	    x.engine.gpu_factor.value * parts + serve_host(NULL, &x.setup, 2, 65), 1e-12);
}
END_TEST

/* Decoding reads the keys that an indexer selects; beyond them a token costs what the indexer keeps of it, 128 bytes
 * and a scale, and a score in fp32, written and read. */
START_TEST(an_indexer_chooses)
{
	x.engine = engine_pytorch();
	x.architecture = blackwell();
	scene_deepseek(&x, gpu_b200, precision(DTYPE_NVFP4, .5625, .5625, 1), EXPERTS(4));
	struct attention *a = &x.model.blocks[0].attention;
	const struct serve_setup *s = &x.setup;
	const struct block *b = x.model.blocks;
	const double all_s = serve_layer_cached(NULL, s, b, 64, 2048),
	             far_s = serve_layer_cached(NULL, s, b, 64, 65536),
	             prompt_s = serve_layer_prompt(NULL, s, b, 1, 65536, 0);
	a->indexer = (struct indexer){num(64), num(128), num(2048)};
	const double chosen_s = serve_layer_cached(NULL, s, b, 64, 2048),
	             more_s = serve_layer_cached(NULL, s, b, 64, 65536);

	ck_assert_double_gt(chosen_s, all_s);
	ck_assert_double_lt(more_s, far_s);
	ck_assert_double_eq_tol(more_s - chosen_s,
	    64.0 / 4 * (65536 - 2048) * (128 + 4 + 8) / x.kernels.gemm[DTYPE_BF16].mem_byte_per_s.value, 1e-12);
	ck_assert_double_lt(serve_layer_prompt(NULL, s, b, 1, 65536, 0), prompt_s);
}
END_TEST

START_TEST(sheet_changes_nothing)
{
	struct sheet *sh = sheet_new();

	x.engine = engine_pytorch();
	x.architecture = blackwell();
	scene_deepseek(&x, gpu_b200, precision(DTYPE_NVFP4, .5625, .5625, 1), EXPERTS(4));
	const struct serve_batch b = {3, 700, 11, 500, 1234, 503, 0};
	ck_assert(serve_iteration(sh, &x.setup, &b, NULL) == serve_iteration(NULL, &x.setup, &b, NULL));
	sheet_free(sh);
}
END_TEST

/* Kernels that quantize activations are slow where their factor says so, and not asked for in 16 bits. */
START_TEST(fixed_parts_of_8_bits)
{
	double wide_s[2], narrow_s[2];

	for (int i = 0; i < 2; i++) {
		x.engine = engine_base();
		x.architecture = hopper();
		if (i)
			x.architecture.base8_factor = num(4);
		scene_set(&x, gpu_h100, &llama31_8b, bf16(), alone);
		wide_s[i] = serve_elementwise(NULL, &x.setup, 0);
		scene_set(&x, gpu_h100, &llama31_8b, fp8(), alone);
		narrow_s[i] = serve_elementwise(NULL, &x.setup, 0);
	}
	x.architecture.base8_factor = datum_absent();
	ck_assert(wide_s[0] > 0 && wide_s[1] == wide_s[0] && narrow_s[0] == wide_s[0]);
	ck_assert_double_eq_tol(narrow_s[1], 4 * narrow_s[0], 1e-15);
}
END_TEST

/* Every rank quantizes the whole residual stream in front of QKV and gate, and its own share of the columns in front of
 * down.  Attention writes its output quantized, except with block scales. */
START_TEST(activations_are_quantized_in_their_width)
{
	static const double n_token = 1000, reached = 1e-4; /* so slow that all else is little */
	static const struct {
		double tp, width;
		bool by_blocks;
	} cases[] = {{1, 2 * 8192 + 28672, false}, {8, 2 * 8192 + 28672.0 / 8, false}, {1, 3 * 8192 + 28672, true},
	    {8, 2 * 8192 + 8192.0 / 8 + 28672.0 / 8, true}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		x.engine = engine_base();
		x.architecture = hopper();
		scene_set(&x, gpu_h100, &llama31_70b, fp8(), TENSOR(cases[i].tp));
		if (cases[i].by_blocks)
			x.setup.precision.attention.type = x.setup.precision.mlp.type = DTYPE_FP8_BLOCK;
		const double fused_s = serve_layer_products(NULL, &x.setup, &x.model.blocks[0], n_token);
		x.engine.quantise_s = num(0);
		x.engine.quantise_frac = num(reached);
		const double apart_s = serve_layer_products(NULL, &x.setup, &x.model.blocks[0], n_token);
		x.engine.quantise_frac = datum_absent();
		const double want_s = n_token * cases[i].width * 3 / (reached * x.kernels.ref_mem_byte_per_s.value);
		ck_assert_double_eq_tol(apart_s - fused_s, want_s, 1e-9 * want_s);
	}
}
END_TEST

/* A short prompt takes what its launches take and the tokens of others wait for it; a long one hides them. */
START_TEST(prompts_are_launched)
{
	x.engine = engine_base();
	x.engine.prompt_layer_s = num(2e-3);
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, bf16(), alone);
	const struct serve_batch mixed = {1, 100, 0, 8, 500, 9, 0}, decode = {0, 0, 0, 8, 500, 8, 0},
	                         heavy = {64, 8000, 0, 8, 500, 72, 0};
	const double mixed_s = serve_iteration(NULL, &x.setup, &mixed, NULL),
	             decode_s = serve_iteration(NULL, &x.setup, &decode, NULL),
	             heavy_s = serve_iteration(NULL, &x.setup, &heavy, NULL);
	x.engine.prompt_layer_s = datum_absent();

	ck_assert_double_eq_tol(mixed_s, 32 * 2e-3 + serve_host(NULL, &x.setup, 1, 9), 1e-12);
	ck_assert(serve_iteration(NULL, &x.setup, &decode, NULL) == decode_s);
	ck_assert(serve_iteration(NULL, &x.setup, &heavy, NULL) == heavy_s);
}
END_TEST

/* Ranks that hold some of the heads sum squares twice a layer; one rank has nothing to sum. */
START_TEST(norms_over_all_heads)
{
	x.engine = engine_pytorch();
	x.architecture = hopper();
	for (int tp = 1; tp <= 8; tp *= 8) {
		scene_set(&x, gpu_h200, &qwen3_235b, precision(DTYPE_FP8_BLOCK, 1, 1, 1),
		    (struct serve_layout){tp, 1, 1, false});
		struct block *b = x.model.blocks;
		const double comm_s = serve_layer_comm(NULL, &x.setup, b, 16),
		             small_s = serve_layer_small(NULL, &x.setup, b, 16);
		b->attention.qk_norm = b->attention.qk_norm_full = true;
		ck_assert_double_eq_tol(serve_layer_comm(NULL, &x.setup, b, 16) - comm_s,
		    tp > 1 ? 2 * serve_allreduce(NULL, &x.setup, 16 * 4) : 0, 1e-15);
		ck_assert_double_gt(serve_layer_small(NULL, &x.setup, b, 16), small_s);
	}
}
END_TEST

/* A decode step with more sequences than the engine has graphs for is launched kernel by kernel, as prompts are. */
START_TEST(large_steps_replay_no_graph)
{
	const struct serve_batch most = {0, 0, 0, 512, 500, 512, 0}, more = {0, 0, 0, 513, 500, 513, 0};

	x.engine = engine_base();
	x.engine.prompt_layer_s = num(2e-3);
	x.engine.graph_rows = num(512);
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, bf16(), alone);
	const double replayed_s = serve_iteration(NULL, &x.setup, &most, NULL),
	             launched_s = serve_iteration(NULL, &x.setup, &more, NULL);
	x.engine.graph_rows = datum_absent();

	ck_assert_double_lt(replayed_s, 32 * 2e-3);
	ck_assert_double_eq_tol(launched_s, 32 * 2e-3 + serve_host(NULL, &x.setup, 0, 513), 1e-12);
	ck_assert_double_lt(serve_iteration(NULL, &x.setup, &more, NULL), 32 * 2e-3);
}
END_TEST

/* A bias that chooses among more than 32 experts is added outside of the fused top-k; one in the router's map is not.
 */
START_TEST(routers_choose_in_torch)
{
	x.engine = engine_base();
	x.architecture = blackwell();
	scene_deepseek(&x, gpu_b200, precision(DTYPE_NVFP4, .5625, .5625, 1), EXPERTS(4));
	struct block *b = x.model.blocks;
	b->moe.router_bias = false;
	b->moe.n_groups = datum_absent();
	const double fused_s = serve_layer_small(NULL, &x.setup, b, 16);
	x.engine.router_s = num(30e-6);
	ck_assert(b->moe.given && serve_layer_small(NULL, &x.setup, b, 16) == fused_s);
	b->moe.router_bias = true;
	ck_assert_double_eq_tol(serve_layer_small(NULL, &x.setup, b, 16) - fused_s, 30e-6, 1e-15);
	b->moe.n_groups = num(8);
	ck_assert(serve_layer_small(NULL, &x.setup, b, 16) == fused_s);
	b->moe.n_groups = datum_absent();
	b->moe.expert_bias = true;
	ck_assert(serve_layer_small(NULL, &x.setup, b, 16) == fused_s);
	b->moe.expert_bias = false;
	x.architecture.router_s = num(0);
	ck_assert(serve_layer_small(NULL, &x.setup, b, 16) == fused_s);
	x.architecture.router_s = datum_absent();
	x.engine.router_s = datum_absent();
}
END_TEST

/* 16 does not divide 20 heads: a token of the cache takes its time, for one sequence and for eight alike. */
START_TEST(uneven_heads_walk_their_cache)
{
	x.engine = engine_base();
	x.architecture = blackwell();
	scene_deepseek(&x, gpu_b200, precision(DTYPE_NVFP4, .5625, .5625, 1), alone);
	struct block *b = x.model.blocks;
	const double split_s = serve_layer_cached(NULL, &x.setup, b, 1, 8000);
	x.engine.walk_s = num(28e-9);
	ck_assert(serve_layer_cached(NULL, &x.setup, b, 1, 8000) == split_s);
	b->attention.n_heads = num(20);
	ck_assert_double_eq_tol(serve_layer_cached(NULL, &x.setup, b, 1, 8000), 8000 * 28e-9, 1e-15);
	ck_assert_double_eq_tol(serve_layer_cached(NULL, &x.setup, b, 8, 8000), 8000 * 28e-9, 1e-15);
	x.engine.walk_s = datum_absent();
}
END_TEST

/* Beams hold a prompt once; the vector units read it again for each: 13 elements of keys and of values a clock and SM.
 */
START_TEST(beams_attend_to_a_shared_prompt)
{
	x.engine = engine_base();
	x.architecture = hopper();
	x.engine.core_element = num(13);
	scene_set(&x, gpu_h100, &llama31_8b, fp8(), alone);
	const struct block *b = x.model.blocks;
	const double alone_s = serve_layer_cached(NULL, &x.setup, b, 1024, 300);
	x.setup.beam_token = 1e-9;
	const double narrow_s = serve_layer_cached(NULL, &x.setup, b, 1024, 300);
	x.setup.beam_token = 900;
	const double shared_s = serve_layer_cached(NULL, &x.setup, b, 1024, 300);
	x.setup.beam_token = 0;
	x.engine.core_element = datum_absent();

	ck_assert_double_gt(narrow_s, alone_s);
	/* 1200 tokens instead of 300, beside the fixed part of the kernel */
	ck_assert_double_gt(shared_s, 3.5 * narrow_s);
	ck_assert_double_lt(shared_s, 4 * narrow_s);
}
END_TEST

/* Beyond its window a layer reads nothing, one row for 128 tokens, or what its indexer selects of one for four; what it
 * selects from costs a score and 128 bytes with a scale for every four tokens. */
START_TEST(far_tokens_are_compressed)
{
	x.engine = engine_pytorch();
	x.architecture = blackwell();
	scene_deepseek(&x, gpu_b200, precision(DTYPE_NVFP4, .5625, .5625, 1), EXPERTS(4));
	const struct serve_setup *s = &x.setup;
	const struct block *b = x.model.blocks;
	struct attention *a = &x.model.blocks[0].attention;
	*a = (struct attention){.kind = ATTENTION_CSA,
	    .n_heads = num(128),
	    .head_dim = num(512),
	    .rope = num(64),
	    .q_lora = num(1536),
	    .window = num(128),
	    .ratio = num(0),
	    .o_lora = num(1024),
	    .o_groups = num(8)};

	const double near_s = serve_layer_cached(NULL, s, b, 64, 8192);
	ck_assert(serve_layer_cached(NULL, s, b, 64, 65536) == near_s);
	a->ratio = num(128);
	const double some_s = serve_layer_cached(NULL, s, b, 64, 8192),
	             far_s = serve_layer_cached(NULL, s, b, 64, 65536);
	ck_assert(near_s < some_s && some_s < far_s);
	a->window = num(640); /* as many rows as 128 near ones and 65536 / 128 */
	a->ratio = num(0);
	ck_assert_double_eq_tol(serve_layer_cached(NULL, s, b, 64, 65536), far_s, 1e-12);

	a->window = num(128);
	a->ratio = num(4);
	a->indexer = (struct indexer){num(64), num(128), num(512)};
	const double chosen_s = serve_layer_cached(NULL, s, b, 64, 8192);
	ck_assert_double_eq_tol(serve_layer_cached(NULL, s, b, 64, 65536) - chosen_s,
	    64.0 / 4 * (65536 - 8192) / 4 * (128 + 4 + 8) / x.kernels.gemm[DTYPE_BF16].mem_byte_per_s.value, 1e-12);
	ck_assert_double_gt(serve_layer_prompt(NULL, s, b, 1, 8192, 0), serve_layer_prompt(NULL, s, b, 1, 4096, 0));
}
END_TEST

/* A gated delta net with 32 heads of 128 x 128 numbers in fp32, and a block of a feed-forward part alone. */
static struct block *
with_states(void)
{
	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, bf16(), TENSOR(2));
	struct block *b = x.model.blocks;
	b->mixer = MIXER_DELTA;
	b->delta = (struct delta){num(16), num(32), num(128), num(128), num(4), num(64)};
	return b;
}

/* Who decodes reads and writes 1 MiB on each of two GPUs, besides 2 x (16 x 128 + 32 x 128 + 32) / 2 numbers of 16
 * bits, however long the context; prompts take in proportion to their tokens. */
START_TEST(states_in_place_of_a_cache)
{
	const struct block *b = with_states();
	const double mem_byte_per_s = x.kernels.gemm[DTYPE_BF16].mem_byte_per_s.value,
	             one_byte = 2 * 1048576 + 2 * (2048 + 4096 + 32);
	const double few_s = serve_layer_cached(NULL, &x.setup, b, 64, 1000),
	             many_s = serve_layer_cached(NULL, &x.setup, b, 192, 1000);
	ck_assert_double_eq_tol((many_s - few_s) * mem_byte_per_s, 128 * one_byte, 1);
	ck_assert(serve_layer_cached(NULL, &x.setup, b, 64, 100000) == few_s);

	const double short_s = serve_layer_prompt(NULL, &x.setup, b, 1, 4096, 0),
	             long_s = serve_layer_prompt(NULL, &x.setup, b, 1, 8192, 0),
	             longer_s = serve_layer_prompt(NULL, &x.setup, b, 1, 12288, 0);
	ck_assert_double_gt(long_s, short_s);
	ck_assert_double_eq_tol(longer_s - long_s, long_s - short_s, 1e-9 * long_s);
	ck_assert(serve_layer_prompt(NULL, &x.setup, b, 1, 4096, 65536) == short_s);
}
END_TEST

/* Layers that mix nothing have no attention and half of the reductions; a scan is launched in three times the kernels
 * of attention. */
START_TEST(layers_of_one_part)
{
	struct block *b = with_states();
	const double n_layers = b->count.value;
	const struct serve_batch mixed = {1, 100, 0, 8, 500, 9, 0};
	const double both_s = serve_layer_comm(NULL, &x.setup, b, 16);
	x.engine.prompt_layer_s = num(2e-3);
	const double recurrent_s = serve_iteration(NULL, &x.setup, &mixed, NULL);
	b->mixer = MIXER_NONE;
	const double feed_s = serve_iteration(NULL, &x.setup, &mixed, NULL);
	x.engine.prompt_layer_s = datum_absent();

	ck_assert_double_eq_tol(recurrent_s - feed_s, 1.5 * n_layers * 2e-3, 1e-12);
	ck_assert_double_eq_tol(both_s, 2 * serve_layer_comm(NULL, &x.setup, b, 16), 1e-15);
	ck_assert(serve_layer_prompt(NULL, &x.setup, b, 1, 4096, 0) == 0);
	ck_assert(serve_layer_cached(NULL, &x.setup, b, 64, 1000) == 0);
}
END_TEST

START_TEST(nothing_to_do)
{
	x.engine = engine_base();
	x.architecture = hopper();
	scene_set(&x, gpu_h100, &llama31_8b, bf16(), alone);
	const struct serve_batch b = {0, 0, 0, 0, 0, 0, 0};
	ck_assert_double_eq_tol(serve_iteration(NULL, &x.setup, &b, NULL), x.engine.host_s.value, 1e-15);
}
END_TEST

Suite *serve_parts_suite(void);

Suite *
serve_parts_suite(void)
{
	Suite *s = suite_create("serve_parts");
	TCase *c = tcase_create("serve_parts");

	tcase_add_test(c, wide_experts_start_at_once);
	tcase_add_test(c, parts_add_up);
	tcase_add_test(c, an_indexer_chooses);
	tcase_add_test(c, sheet_changes_nothing);
	tcase_add_test(c, fixed_parts_of_8_bits);
	tcase_add_test(c, activations_are_quantized_in_their_width);
	tcase_add_test(c, prompts_are_launched);
	tcase_add_test(c, norms_over_all_heads);
	tcase_add_test(c, large_steps_replay_no_graph);
	tcase_add_test(c, routers_choose_in_torch);
	tcase_add_test(c, uneven_heads_walk_their_cache);
	tcase_add_test(c, beams_attend_to_a_shared_prompt);
	tcase_add_test(c, far_tokens_are_compressed);
	tcase_add_test(c, states_in_place_of_a_cache);
	tcase_add_test(c, layers_of_one_part);
	tcase_add_test(c, nothing_to_do);
	suite_add_tcase(s, c);
	return s;
}
