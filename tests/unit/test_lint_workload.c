/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes that contradict themselves are found, shapes of published models are not complained about. */
#include "unit/hybrids.h"

#include "base/base.h"
#include "db/db.h"
#include "model/layer/layer.h"

#define TINY(attention, feed, more)                                                                                    \
	MODEL("tiny", "layers: 2, hidden: 64, vocab: 1000, attention: " attention ", " feed more)
#define MHA "{kind: mha, heads: 4}"
#define MLP "mlp: {kind: gated, width: 192}"
#define LISTED(line) "{name: list, source: test, operators: [" line "]}"

/* What the lint says of each: a part of its message, NULL: nothing. */
static const struct {
	const char *yaml, *said;
	enum severity severity;
} cases[] = {
    {TINY(MHA, MLP, ""), NULL, SEVERITY_ERROR},
    {TINY(MHA, MLP, ", parameters: 240000"), "off the stated total", SEVERITY_ERROR},
    {TINY(MHA, MLP, ", parameters: 234816"), NULL, SEVERITY_ERROR},
    {TINY("{kind: mha, heads: 4, head_dim: 512}", MLP, ""), "times the hidden size", SEVERITY_WARNING},
    {TINY("{kind: mha, heads: 4, head_dim: 15}", MLP, ""), "not even", SEVERITY_ERROR},
    {TINY("{kind: mha, heads: 4, head_dim: 15}", MLP, ", positions: alibi"), NULL, SEVERITY_ERROR},
    {TINY("{kind: mha, heads: 4, window: 4096}", MLP, ", context: 2048"), "exceeds the context", SEVERITY_WARNING},
    {TINY("{kind: mla, heads: 2, kv_lora: 512, nope: 16, rope: 8, v_dim: 16}", MLP, ""), "is not below the",
        SEVERITY_ERROR},
    {TINY("{kind: mla, heads: 8, kv_lora: 32, nope: 16, rope: 7, v_dim: 16}", MLP, ""), "not even", SEVERITY_ERROR},
    {TINY(MHA, "moe: {experts: 8, top_k: 6, width: 64}", ""), "more than half", SEVERITY_WARNING},
    {TINY(MHA, "moe: {experts: 1, top_k: 1, width: 64}", ""), "two experts or more", SEVERITY_ERROR},
    {TINY(MHA, "moe: {experts: 8, top_k: 2, width: 64, latent: 64}", ""), "is not below the hidden size",
        SEVERITY_ERROR},
    {TINY(MHA, "moe: {experts: 8, top_k: 2, width: 4096}", ""), "all experts together", SEVERITY_WARNING},
    {TINY(MHA, "mlp: {kind: gated, width: 8}", ""), "intermediate size", SEVERITY_WARNING},
    {TINY(MHA, MLP, ", positions: learned, position_count: 512, context: 1024"), "position table of 512",
        SEVERITY_ERROR},
    {TINY(MHA, MLP, ", quantisation: {weights: mxfp4, only: experts}"), "without experts", SEVERITY_ERROR},
    {MODEL("tiny", "layers: 2, hidden: 64, vocab: 1000, mamba: {heads: 64, head_dim: 64, state: 16, conv: 4}, " MLP),
        "times the hidden size", SEVERITY_WARNING},
    {LISTED("{op: conv2d, n: batch, c: 30, h: 8, w: 8, k: 32, r: 3, s: 3, groups: 4}"), "do not divide",
        SEVERITY_ERROR},
    {LISTED("{op: gemm, m: batch, n: 8, k: 8, count: 1.5}"), "use a whole number", SEVERITY_ERROR},
    {LISTED("{op: gemm, m: batch, n: 8, k: 8, params: 8}"), NULL, SEVERITY_ERROR},
    /* shapes that exist */
    {GPT_OSS_120B, NULL, SEVERITY_ERROR},
    {GEMMA_4_26B, NULL, SEVERITY_ERROR},
    {DEEPSEEK_V3_2, NULL, SEVERITY_ERROR},
    {DEEPSEEK_V4_PRO, NULL, SEVERITY_ERROR},
    {NEMOTRON_3_SUPER, NULL, SEVERITY_ERROR},
    {QWEN3_5_397B, NULL, SEVERITY_ERROR},
    {KIMI_K3, NULL, SEVERITY_ERROR},
    {MINIMAX_M2, NULL, SEVERITY_ERROR},
    {T5_11B, NULL, SEVERITY_ERROR},
    {BART_LARGE, NULL, SEVERITY_ERROR},
};

START_TEST(lint)
{
	struct arena *a = arena_new();
	const struct workload *w = hybrid(a, cases[_i].yaml);
	struct diag *d = diag_new(a);
	struct source at;
	const char *hint;
	enum severity severity;

	lint_workload(d, w, model_params(NULL, w));
	const char *text = diag_message(d, 0, &at, &hint, &severity);
	if (!cases[_i].said) {
		ck_assert_msg(!text, "%s: %s", cases[_i].yaml, text ? text : "");
	} else {
		ck_assert_msg(text && strstr(text, cases[_i].said), "%s: %s", cases[_i].yaml, text ? text : "nothing");
		ck_assert_int_eq(severity, cases[_i].severity);
		ck_assert_int_gt(at.line, 0);
	}
	arena_free(a);
}
END_TEST

Suite *lint_workload_suite(void);

Suite *
lint_workload_suite(void)
{
	Suite *s = suite_create("lint_workload");
	TCase *t = tcase_create("lint_workload");

	tcase_add_loop_test(t, lint, 0, sizeof cases / sizeof *cases);
	suite_add_tcase(s, t);
	return s;
}
