/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Models whose layers differ, from their published configurations (config.json of each on the Hugging Face hub,
 * 2025-26): windows, chunks, latents, indexers, compressed tokens, state-space and delta recurrences, latent experts,
 * encoders beside decoders.
 */
#ifndef RIDGE_TESTS_HYBRIDS_H
#define RIDGE_TESTS_HYBRIDS_H

#include "db/db.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define MODEL(name, rest) "{name: " name ", source: test, " rest "}"

/* openai/gpt-oss */
#define GPT_OSS(name, layers, half, experts)                                                                           \
	MODEL(name,                                                                                                    \
	    "layers: " layers ", hidden: 2880, vocab: 201088, blocks: [{count: " half                                  \
	    ", attention: {kind: gqa, heads: 64, kv_heads: 8, head_dim: 64, bias: all, sinks: true, window: 128}, "    \
	    "moe: &m {experts: " experts                                                                               \
	    ", top_k: 4, width: 2880, router_bias: true, expert_bias: true}}, {count: " half                           \
	    ", attention: {kind: gqa, heads: 64, kv_heads: 8, head_dim: 64, bias: all, sinks: true}, moe: *m }]")
#define GPT_OSS_120B GPT_OSS("gpt-oss-120b", "36", "18", "128")
#define GPT_OSS_20B GPT_OSS("gpt-oss-20b", "24", "12", "32")

/* google/gemma-4: dense parts beside the experts are written as a shared expert */
#define GEMMA_4_26B                                                                                                    \
	MODEL("gemma-4-26b",                                                                                           \
	    "layers: 30, hidden: 2816, vocab: 262144, tied_embeddings: true, norms_per_layer: 4, "                     \
	    "activation: geglu, blocks: [{count: 25, attention: {kind: gqa, heads: 16, kv_heads: 8, "                  \
	    "head_dim: 256, window: 1024, qk_norm: true}, moe: &m {experts: 128, top_k: 8, width: 704, "               \
	    "shared_experts: 1, shared_width: 2112}}, {count: 5, attention: {kind: gqa, heads: 16, "                   \
	    "kv_heads: 2, head_dim: 512, k_is_v: true, qk_norm: true}, moe: *m }]")
#define GEMMA_4_31B                                                                                                    \
	MODEL("gemma-4-31b",                                                                                           \
	    "layers: 60, hidden: 5376, vocab: 262144, tied_embeddings: true, norms_per_layer: 4, "                     \
	    "activation: geglu, blocks: [{count: 50, attention: {kind: gqa, heads: 32, kv_heads: 16, "                 \
	    "head_dim: 256, window: 1024, qk_norm: true}, mlp: &m {kind: gated, width: 21504}}, "                      \
	    "{count: 10, attention: {kind: gqa, heads: 32, kv_heads: 4, head_dim: 512, k_is_v: true, "                 \
	    "qk_norm: true}, mlp: *m }]")

/* meta-llama/Llama-4-Scout */
#define LLAMA_4_SCOUT                                                                                                  \
	MODEL("llama-4-scout",                                                                                         \
	    "layers: 48, hidden: 5120, vocab: 202048, blocks: [{count: 36, attention: {kind: gqa, "                    \
	    "heads: 40, kv_heads: 8, chunk: 8192}, moe: &m {experts: 16, top_k: 1, width: 8192, "                      \
	    "shared_experts: 1}}, {count: 12, attention: {kind: gqa, heads: 40, kv_heads: 8}, "                        \
	    "moe: *m }]")

/* XiaomiMiMo/MiMo-V2-Flash */
#define MIMO_V2_FLASH                                                                                                  \
	MODEL("mimo-v2-flash",                                                                                         \
	    "layers: 48, hidden: 4096, vocab: 152576, blocks: ["                                                       \
	    "{count: 1, attention: &f {kind: gqa, heads: 64, kv_heads: 4, head_dim: 192, v_dim: "                      \
	    "128}, mlp: {kind: gated, width: 16384}}, "                                                                \
	    "{count: 8, attention: *f , moe: &m {experts: 256, top_k: 8, width: 2048, router_bias: "                   \
	    "true}}, {count: 39, attention: {kind: gqa, heads: 64, kv_heads: 8, head_dim: 192, "                       \
	    "v_dim: 128, window: 128, sinks: true}, moe: *m }]")

/* deepseek-ai, moonshotai, zai-org */
#define DEEPSEEK_V3_OF(name, more)                                                                                     \
	MODEL(name,                                                                                                    \
	    "layers: 61, hidden: 7168, vocab: 129280, mtp: {layers: 1}, attention: {kind: mla, heads: 128, "           \
	    "q_lora: 1536, kv_lora: 512, nope: 128, rope: 64, v_dim: 128" more                                         \
	    "}, mlp: {kind: gated, width: 18432}, moe: {experts: 256, top_k: 8, width: 2048, shared_experts: "         \
	    "1, dense_layers: 3}")
#define DEEPSEEK_V3 DEEPSEEK_V3_OF("deepseek-v3", "")
#define DEEPSEEK_V3_2 DEEPSEEK_V3_OF("deepseek-v3.2", ", indexer: {heads: 64, dim: 128, top_k: 2048}")
#define KIMI_K2                                                                                                        \
	MODEL("kimi-k2",                                                                                               \
	    "layers: 61, hidden: 7168, vocab: 163840, attention: {kind: mla, heads: 64, q_lora: 1536, "                \
	    "kv_lora: 512, nope: 128, rope: 64, v_dim: 128}, mlp: {kind: gated, width: 18432}, moe: "                  \
	    "{experts: 384, top_k: 8, width: 2048, shared_experts: 1, dense_layers: 1}")
#define GLM_5                                                                                                          \
	MODEL("glm-5",                                                                                                 \
	    "layers: 78, hidden: 6144, vocab: 154880, attention: {kind: mla, heads: 64, q_lora: 2048, "                \
	    "kv_lora: 512, nope: 192, rope: 64, v_dim: 256, indexer: {heads: 32, dim: 128, top_k: 2048}}, "            \
	    "mlp: {kind: gated, width: 12288}, moe: {experts: 256, top_k: 8, width: 2048, shared_experts: "            \
	    "1, dense_layers: 3, router_bias: true}")

#define CSA(heads, q_lora, groups, top_k, ratio)                                                                       \
	"{kind: csa, heads: " heads ", head_dim: 512, rope: 64, q_lora: " q_lora ", window: 128, ratio: " ratio        \
	", o_lora: 1024, o_groups: " groups ", indexer: {heads: 64, dim: 128, top_k: " top_k "}}"
#define DEEPSEEK_V4_FLASH                                                                                              \
	MODEL("deepseek-v4-flash",                                                                                     \
	    "layers: 43, hidden: 4096, vocab: 129280, mtp: {layers: 1}, blocks: ["                                     \
	    "{count: 2, attention: " CSA("64", "1024", "8", "512",                                                     \
	        "0") ", moe: &m {experts: 256, top_k: 6, width: 2048, shared_experts: 1}}, "                           \
	             "{count: 21, attention: " CSA("64", "1024", "8", "512",                                           \
	                 "4") ", moe: *m }, "                                                                          \
	                      "{count: 20, attention: " CSA("64", "1024", "8", "512", "128") ", moe: *m }]")
#define DEEPSEEK_V4_PRO                                                                                                \
	MODEL("deepseek-v4-pro",                                                                                       \
	    "layers: 61, hidden: 7168, vocab: 129280, mtp: {layers: 1}, blocks: ["                                     \
	    "{count: 31, attention: " CSA("128", "1536", "16", "1024",                                                 \
	        "128") ", moe: &m {experts: 384, top_k: 6, width: 3072, shared_experts: 1}}, "                         \
	               "{count: 30, attention: " CSA("128", "1536", "16", "1024", "4") ", moe: *m }]")

/* nvidia/Nemotron-H, Nemotron-3: layers of one part each */
#define NEMOTRON_H_56B                                                                                                 \
	MODEL("nemotron-h-56b",                                                                                        \
	    "layers: 118, hidden: 8192, vocab: 131072, norms_per_layer: 1, activation: relu2, "                        \
	    "blocks: [{count: 54, mamba: {heads: 256, head_dim: 64, groups: 8, state: 256, conv: "                     \
	    "4, chunk: 128}}, {count: 10, attention: {kind: gqa, heads: 64, kv_heads: 8, "                             \
	    "head_dim: 128}}, {count: 54, mlp: {kind: plain, width: 32768}}]")
#define NEMOTRON_3_NANO                                                                                                \
	MODEL("nemotron-3-nano",                                                                                       \
	    "layers: 52, hidden: 2688, vocab: 131072, norms_per_layer: 1, activation: relu2, "                         \
	    "blocks: [{count: 23, mamba: {heads: 64, head_dim: 64, groups: 8, state: 128, conv: "                      \
	    "4, chunk: 128}}, {count: 6, attention: {kind: gqa, heads: 32, kv_heads: 2, "                              \
	    "head_dim: 128}}, {count: 23, moe: {experts: 128, top_k: 6, width: 1856, gated: "                          \
	    "false, shared_experts: 1, shared_width: 3712, router_bias: true}}]")
#define NEMOTRON_3_SUPER                                                                                               \
	MODEL("nemotron-3-super",                                                                                      \
	    "layers: 88, hidden: 4096, vocab: 131072, norms_per_layer: 1, activation: relu2, "                         \
	    "blocks: [{count: 40, mamba: {heads: 128, head_dim: 64, groups: 8, state: 128, "                           \
	    "conv: 4, chunk: 128}}, {count: 8, attention: {kind: gqa, heads: 32, kv_heads: 2, "                        \
	    "head_dim: 128}}, {count: 40, moe: {experts: 512, top_k: 22, width: 2688, gated: "                         \
	    "false, latent: 1024, shared_experts: 1, shared_width: 5376, router_bias: true}}]")

/* Qwen/Qwen3-Next, Qwen3.5 */
#define QWEN_HYBRID(name, layers, hidden, vocab, n_delta, values, n_full, heads, moe)                                  \
	MODEL(name,                                                                                                    \
	    "layers: " layers ", hidden: " hidden ", vocab: " vocab ", blocks: [{count: " n_delta                      \
	    ", delta: {key_heads: 16, value_heads: " values ", key_dim: 128, value_dim: 128, conv: 4}, moe: &m " moe   \
	    "}, {count: " n_full ", attention: {kind: gqa, heads: " heads                                              \
	    ", kv_heads: 2, head_dim: 256, qk_norm: true, gate: true}, moe: *m }]")
#define QWEN3_NEXT_80B                                                                                                 \
	QWEN_HYBRID("qwen3-next-80b", "48", "2048", "151936", "36", "32", "12", "16",                                  \
	    "{experts: 512, top_k: 10, width: 512, shared_experts: 1, shared_width: 512, shared_gate: true}")
#define QWEN3_5_397B                                                                                                   \
	QWEN_HYBRID("qwen3.5-397b", "60", "4096", "248320", "45", "64", "15", "32",                                    \
	    "{experts: 512, top_k: 10, width: 1024, shared_experts: 1, shared_width: 1024, shared_gate: true}")

/* moonshotai/Kimi-K3, Kimi-Linear-48B-A3B */
#define KIMI_K3                                                                                                        \
	MODEL("kimi-k3",                                                                                               \
	    "layers: 93, hidden: 7168, vocab: 163840, blocks: ["                                                       \
	    "{count: 1, kda: &k {heads: 96, head_dim: 128, conv: 4, full_gate: true}, mlp: {kind: gated, "             \
	    "width: 33792}}, {count: 68, kda: *k , moe: &m {experts: 896, top_k: 16, width: 3072, "                    \
	    "latent: 3584, shared_experts: 2, router_bias: true}}, {count: 24, attention: {kind: mla, "                \
	    "heads: 96, q_lora: 1536, kv_lora: 512, nope: 128, rope: 64, v_dim: 128, gate: true}, moe: "               \
	    "*m }]")
#define KIMI_LINEAR_48B                                                                                                \
	MODEL("kimi-linear-48b",                                                                                       \
	    "layers: 27, hidden: 2304, vocab: 163840, blocks: ["                                                       \
	    "{count: 1, kda: &k {heads: 32, head_dim: 128, conv: 4}, mlp: {kind: gated, width: "                       \
	    "9216}}, {count: 19, kda: *k , moe: &m {experts: 256, top_k: 8, width: 1024, "                             \
	    "shared_experts: 1, router_bias: true}}, {count: 7, attention: {kind: mla, heads: "                        \
	    "32, kv_lora: 512, nope: 128, rope: 64, v_dim: 128}, moe: *m }]")

/* MiniMaxAI/MiniMax-M2.5 */
#define MINIMAX_M2                                                                                                     \
	MODEL("minimax-m2",                                                                                            \
	    "layers: 62, hidden: 3072, vocab: 200064, attention: {kind: gqa, heads: 48, kv_heads: 8, "                 \
	    "head_dim: 128, qk_norm: full}, moe: {experts: 256, top_k: 8, width: 1536, router_bias: "                  \
	    "true}")

/* google-t5/t5, facebook/bart */
#define T5(name, layers, hidden, heads, head_dim, width)                                                               \
	MODEL(name,                                                                                                    \
	    "kind: encoder-decoder, layers: " layers ", hidden: " hidden                                               \
	    ", vocab: 32128, tied_embeddings: true, positions: relative, relative_buckets: 32, "                       \
	    "cross_attention: true, attention: &a {kind: mha, heads: " heads ", head_dim: " head_dim                   \
	    "}, mlp: &p {kind: plain, width: " width "}, activation: relu, encoder: {layers: " layers                  \
	    ", attention: *a , mlp: *p }")
#define T5_SMALL T5("t5-small", "6", "512", "8", "64", "2048")
#define T5_BASE T5("t5-base", "12", "768", "12", "64", "3072")
#define T5_LARGE T5("t5-large", "24", "1024", "16", "64", "4096")
#define T5_3B T5("t5-3b", "24", "1024", "32", "128", "16384")
#define T5_11B T5("t5-11b", "24", "1024", "128", "128", "65536")
#define BART_LARGE                                                                                                     \
	MODEL("bart-large",                                                                                            \
	    "kind: encoder-decoder, layers: 12, hidden: 1024, vocab: 50265, tied_embeddings: true, "                   \
	    "positions: learned, position_count: 1026, norm: layer, embedding_norm: true, final_norm: "                \
	    "false, cross_attention: true, attention: &a {kind: mha, heads: 16, bias: all}, mlp: &p "                  \
	    "{kind: plain, width: 4096, bias: true}, activation: gelu, encoder: {layers: 12, "                         \
	    "attention: *a , mlp: *p }")

/* The model that a text describes; a text that does not bind fails the test. */
static inline const struct workload *
hybrid(struct arena *a, const char *yaml)
{
	struct diag *d = diag_new(a);
	const struct node *root = tree_read_text(a, d, "hybrid", yaml, strlen(yaml));
	struct binder b = {.arena = a, .diag = d};
	struct workload *w = ARENA_NEW(a, struct workload);

	if (!root || !workload_bind(&b, root, "hybrid", w)) {
		diag_print(d, stderr, false);
		ck_abort_msg("does not bind: %s", yaml);
	}
	return w;
}

#endif
