/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Import of configurations: every model_type by a small configuration of our own (tests/fixtures/hf: what goes in, and
 * the model file that must come out), every fault by its message, and the published configurations in the folder
 * hf-configs of REFERENCE.
 */
#include "base/base.h"
#include "db/db.h"
#include "db/tree.h"
#include "import/import.h"
#include "model/layer/layer.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIXTURES "tests/fixtures/hf"

/* A file of the tree, wherever the tests are started from: beside the working directory, or where the sources lie. */
static const char *
path_of(struct arena *a, const char *path)
{
	const char *roots[] = {".", getenv("RIDGE_HWDB"), "..", "../.."};

	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
		const char *found = roots[i] ? arena_printf(a, "%s/%s", roots[i], path) : NULL;
		if (found && access(found, R_OK) == 0)
			return found;
	}
	return path;
}

static void
complain(const struct diag *d, const char *about)
{
	if (diag_errors(d) == 0)
		return;
	fprintf(stderr, "%s:\n", about);
	diag_print(d, stderr, false);
}

static const struct node *
import_file(struct arena *a, struct diag *d, const char *path, struct hf_notes *notes)
{
	const struct node *config = tree_read_file(a, d, path);

	return config && hf_is_config(config) ? hf_import(a, d, config, notes) : NULL;
}

/* --- one small configuration per model_type -------------------------------------------------------------- */

START_TEST(test_fixtures)
{
	size_t n;
	struct arena *types_arena = arena_new();
	const char **types = hf_types(types_arena, &n);

	ck_assert_uint_ge(n, 43);
	for (size_t i = 0; i < n; i++) {
		struct arena *a = arena_new();
		struct diag *d = diag_new(a);
		struct hf_notes notes;
		const char *in = path_of(a, arena_printf(a, "%s/%s.json", FIXTURES, types[i]));
		const struct node *out = import_file(a, d, in, &notes);
		const struct node *want = tree_read_file(a, d, arena_printf(a, "%.*s.yaml", (int)strlen(in) - 5, in));
		complain(d, types[i]);
		ck_assert_msg(out && want, "%s is not imported, or has no model file beside it", types[i]);
		ck_assert_str_eq(tree_write(a, out), tree_write(a, want));
		struct binder b = {.arena = a, .diag = d};
		struct workload w;
		const bool bound = workload_bind(&b, out, types[i], &w);
		complain(d, types[i]);
		ck_assert_msg(bound, "the model file of %s is refused", types[i]);
		ck_assert_double_gt(model_params(NULL, &w), 0);
		arena_free(a);
	}
	arena_free(types_arena);
}
END_TEST

/* What is written reads back as the same tree. */
START_TEST(test_written)
{
	static const char *const texts[] = {
	    "name: \"two: words\"\nlist: [1, two, \"3\", \"true\", true, null]\n",
	    "blocks:\n  - {count: 1, attention: {kind: mha, heads: 4}}\n  - {count: 2, mlp: {kind: gated, width: 8}}\n",
	    "notes: \"a \\\"quoted\\\" text with a \\\\ and a long row of words that does not fit into one line of one "
	    "hundred and "
	    "forty columns, so that it goes on in the next one\"\n",
	    "map: {one: 1, two: {three: {four: 4}}}\nempty: {}\nnone: []\n",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct arena *a = arena_new();
		struct diag *d = diag_new(a);
		const struct node *first = tree_read_text(a, d, "first", texts[i], strlen(texts[i]));
		ck_assert_ptr_nonnull(first);
		const char *text = tree_write(a, first);
		const struct node *second = tree_read_text(a, d, "second", text, strlen(text));
		complain(d, text);
		ck_assert_ptr_nonnull(second);
		ck_assert_str_eq(tree_write(a, second), text);
		for (const char *p = text; *p; p += strcspn(p, "\n") + 1)
			ck_assert_uint_le(strcspn(p, "\n"), 140);
		if (i == 0) {
			ck_assert_str_eq(tree_at(second, "name")->text, "two: words");
			ck_assert(tree_at(second, "list.2")->quoted && tree_at(second, "list.3")->quoted);
			ck_assert(!tree_at(second, "list.4")->quoted && !tree_at(second, "list.5")->text);
		}
		if (i == 2)
			ck_assert_str_eq(tree_at(second, "notes")->text, tree_at(first, "notes")->text);
		arena_free(a);
	}
}
END_TEST

/* --- faults ---------------------------------------------------------------------------------------------- */

#define LLAMA(more)                                                                                                    \
	"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "      \
	"\"intermediate_size\": 128, \"vocab_size\": 100" more "}"
#define TYPE(type, more)                                                                                               \
	"{\"model_type\": \"" type "\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "   \
	"\"intermediate_size\": 128, \"vocab_size\": 100" more "}"

static const struct {
	const char *json, *message;
} faults[] = {
    {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hid", "not valid JSON"},
    {"{\"model_type\": \"lama\"}", "unknown model_type 'lama'"},
    {"{\"model_type\": \"warp\", \"auto_map\": {\"AutoConfig\": \"c.C\"}}", "custom code (auto_map)"},
    {"{\"architectures\": [\"WarpForCausalLM\"]}", "model_type missing"},
    {"{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"intermediate_size\": 8, "
     "\"vocab_size\": 9}",
        "'hidden_size' is missing"},
    {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
     "\"vocab_size\": 9}",
        "'intermediate_size' is missing"},
    {TYPE("mixtral", ", \"num_experts_per_tok\": 2"), "'num_experts' is missing"},
    {TYPE("mixtral", ", \"num_local_experts\": 4, \"num_experts_per_tok\": 8"),
        "'num_experts_per_tok' is 8, but there are 4 experts"},
    {LLAMA(", \"num_key_value_heads\": -2"), "'num_key_value_heads' is -2"},
    {LLAMA(", \"num_key_value_heads\": 3"), "'num_key_value_heads' 3 does not divide 'num_attention_heads' 4"},
    {LLAMA(", \"num_key_value_heads\": \"2\""), "'num_key_value_heads' is the text \"2\", not a whole number"},
    {LLAMA(", \"num_key_value_heads\": [2]"), "'num_key_value_heads' is a list, not a whole number"},
    {LLAMA(", \"num_key_value_heads\": {\"of\": 2}"), "'num_key_value_heads' is a map, not a whole number"},
    {LLAMA(", \"num_key_value_heads\": 1.5"), "'num_key_value_heads' is 1.5"},
    {LLAMA(", \"max_position_embeddings\": 1e30"), "'max_position_embeddings' is 1e30"},
    {LLAMA(", \"tie_word_embeddings\": \"yes\""), "'tie_word_embeddings' is neither true nor false"},
    {LLAMA(", \"layer_types\": [\"full_attention\"]"), "'layer_types' has 1 entries, but 'num_hidden_layers' is 2"},
    {LLAMA(", \"layer_types\": \"full\""), "'layer_types' is not a list"},
    {LLAMA(", \"layer_types\": [\"full_attention\", \"warp_attention\"]"), "'warp_attention' in 'layer_types'"},
    {LLAMA(", \"layer_types\": [\"full_attention\", \"sliding_attention\"]"), "'sliding_window' is missing"},
    {LLAMA(", \"layer_types\": [\"full_attention\", \"linear_attention\"]"), "llama has no recurrent layers"},
    {LLAMA(", \"num_experts\": 8"), "'num_experts' is 8, but llama does not support it"},
    {LLAMA(", \"kv_lora_rank\": 8"), "'kv_lora_rank' is 8"},
    {LLAMA(", \"quantization_config\": {\"quant_method\": \"warp\"}"), "quantization_config: unknown method 'warp'"},
    {LLAMA(", \"quantization_config\": {\"quant_method\": 8}"), "quantization_config: unknown method '8'"},
    {LLAMA(", \"quantization_config\": \"fp8\""), "'quantization_config' is 'fp8', not a map"},
    {LLAMA(", \"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": \"four\"}"),
        "'bits' is the text \"four\""},
    {LLAMA(", \"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4, \"sym\": \"maybe\"}"),
        "'sym' has the unknown value 'maybe'"},
    {LLAMA(", \"quantization_config\": {\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": \"yes\"}"),
        "'load_in_4bit' has the unknown value 'yes'"},
    {LLAMA(", \"quantization_config\": {\"quant_method\": \"fp8\", \"expert_dtype\": 1}, \"expert_dtype\": \"fp3\""),
        "'expert_dtype' has the unknown value 'fp3'"},
    {LLAMA(", \"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"a\": "
           "{\"targets\": "
           "[\"Linear\"], \"weights\": {\"num_bits\": 8, \"type\": \"flt\", \"strategy\": \"channel\"}}}}"),
        "'type' has the unknown value 'flt'"},
    {LLAMA(", \"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"a\": "
           "{\"targets\": "
           "[\"Linear\"], \"weights\": {\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"chanel\"}}}}"),
        "'strategy' has the unknown value 'chanel'"},
    {"{\"model_type\": [\"llama\", \"mixtral\"]}", "'model_type' is a list, not a word"},
    {TYPE("minimax_m2",
         ", \"num_local_experts\": 4, \"num_experts_per_tok\": 2, \"num_key_value_heads\": 2, "
         "\"qk_norm_type\": \"per_warp\""),
        "'qk_norm_type' has the unknown value 'per_warp'"},
    {TYPE("nemotron_h", ", \"hybrid_override_pattern\": \"M*E\""), "has 3 letters, but 'num_hidden_layers' is 2"},
    {TYPE("nemotron_h", ", \"hybrid_override_pattern\": \"MX\""), "'X' in 'hybrid_override_pattern'"},
    {TYPE("nemotron_h", ""), "'hybrid_override_pattern' is missing"},
    {TYPE("nemotron_h", ", \"hybrid_override_pattern\": \"M*\", \"use_bias\": true"),
        "'use_bias' is 'true', an unsupported form of"},
    {TYPE("deepseek_v4", ", \"compress_ratios\": [0, 3]"), "'compress_ratios[1]' is 3"},
    {TYPE("deepseek_v4", ", \"compress_ratios\": [0, -4]"), "'compress_ratios[1]' is -4"},
    {TYPE("deepseek_v4", ", \"compress_ratios\": [0, 4, 128, 0]"), "'compress_ratios' has 4 entries"},
    {TYPE("gpt_neo", ", \"attention_types\": [[[\"global\", \"local\"], 2]]"), "'attention_types' has 4 layers"},
    {TYPE("gpt_neo", ", \"attention_types\": [\"global\"]"), "'attention_types' is not a list of words and counts"},
    {TYPE("step3_text", ", \"moe_layers_enum\": \"0,x\""), "'moe_layers_enum' is not a list of numbers"},
    {TYPE("step3_text", ""), "'moe_layers_enum' is missing"},
    {TYPE("minimax_m2", ", \"attn_type_list\": [1, 0]"), "lightning attention"},
    {TYPE("mimo_v2_flash", ", \"hybrid_layer_pattern\": [0, 1, 1]"), "'hybrid_layer_pattern' has 3 entries"},
    {TYPE("kimi_linear", ", \"linear_attn_config\": {\"full_attn_layers\": [3], \"kda_layers\": [1]}"),
        "'linear_attn_config.full_attn_layers' is 3"},
    {TYPE("kimi_linear", ", \"linear_attn_config\": {\"full_attn_layers\": [2], \"kda_layers\": []}"),
        "names 1 layers, but 'num_hidden_layers' is 2"},
    {TYPE("nemotron-nas", ", \"block_configs\": [{\"attention\": {\"replace_with_linear\": true}}, {}]"),
        "a layer with a linear"},
    {TYPE("nemotron-nas", ", \"block_configs\": [{}, {}]"), "a layer of 'block_configs' has no 'attention'"},
    {TYPE("opt", ", \"word_embed_proj_dim\": 32"), "'word_embed_proj_dim' is '32', an unsupported form of opt"},
    {TYPE("phi", ", \"qk_layernorm\": true"), "an unsupported form of phi"},
    {TYPE("gemma4", ", \"layer_types\": [\"full_attention\", \"full_attention\"]"), "per-layer embeddings"},
    {"{\"model_type\": \"llama\", \"hidden_size\": 65, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
     "\"intermediate_size\": 8, \"vocab_size\": 9}",
        "'hidden_size' 65 does not divide by 'num_attention_heads' 4"},
};

START_TEST(test_faults)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct source at;
	struct hf_notes notes;
	const char *hint, *text;
	enum severity severity;
	bool found = false;

	const char *json = faults[_i].json;
	const struct node *config = tree_read_text(a, d, "config.json", json, strlen(json));
	if (config)
		ck_assert_ptr_null(hf_import(a, d, config, &notes));
	for (int i = 0; (text = diag_message(d, i, &at, &hint, &severity)); i++)
		if (strstr(text, faults[_i].message)) {
			found = true;
			ck_assert_str_eq(at.file, "config.json");
			ck_assert_int_gt(at.line, 0);
		}
	if (!found)
		diag_print(d, stderr, false);
	ck_assert_msg(found, "no fault says \"%s\" about %s", faults[_i].message, json);
	arena_free(a);
}
END_TEST

/* Fields that are missing are named, with the value that was taken; null is no default but none. */
START_TEST(test_assumed)
{
	static const struct {
		const char *json, *assumed, *path, *value;
	} cases[] = {
	    {LLAMA(""), "num_key_value_heads 4", "attention.kind", "mha"},
	    {LLAMA(""), "tie_word_embeddings false", "tied_embeddings", "false"},
	    {LLAMA(""), "max_position_embeddings 2048", "context", "2048"},
	    {TYPE("mistral", ", \"num_key_value_heads\": 2"), "sliding_window 4096", "attention.window", "4096"},
	    {TYPE("mistral", ", \"num_key_value_heads\": 2, \"sliding_window\": null"), NULL, "attention.window", NULL},
	    {TYPE("qwen3", ", \"num_key_value_heads\": 2"), "head_dim 128", "attention.head_dim", "128"},
	    {"{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 64, \"num_hidden_layers\": 2, "
	     "\"num_attention_heads\": 4, \"intermediate_size\": 128, \"vocab_size\": 100}",
	        "model_type llama", "mlp.width", "128"},
	    {"{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_layer\": 2, \"n_head\": 4, \"n_inner\": null, "
	     "\"n_positions\": 8, "
	     "\"vocab_size\": 9}",
	        NULL, "mlp.width", "256"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *a = arena_new();
		struct diag *d = diag_new(a);
		struct hf_notes notes;
		bool found = !cases[i].assumed;
		const struct node *out =
		    hf_import(a, d, tree_read_text(a, d, "c.json", cases[i].json, strlen(cases[i].json)), &notes);
		complain(d, cases[i].json);
		ck_assert_ptr_nonnull(out);
		for (size_t k = 0; k < notes.n_assumed; k++)
			found = found || strcmp(notes.assumed[k], cases[i].assumed ? cases[i].assumed : "") == 0;
		ck_assert_msg(found, "%s is not assumed", cases[i].assumed);
		const struct node *n = tree_at(out, cases[i].path);
		if (cases[i].value)
			ck_assert_str_eq(n->text, cases[i].value);
		else
			ck_assert_ptr_null(n);
		arena_free(a);
	}
}
END_TEST

/* Every way in which published checkpoints say how they are stored. */
START_TEST(test_quantisation)
{
#define STORED(more)                                                                                                   \
	TYPE("mixtral",                                                                                                \
	    ", \"num_key_value_heads\": 2, \"num_local_experts\": 4, \"num_experts_per_tok\": 2, "                     \
	    "\"quantization_config\": {" more "}")
	static const struct {
		const char *json, *weights, *path, *value;
	} cases[] = {
	    {STORED("\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]"), "fp8-block", "group", "128"},
	    {STORED("\"quant_method\": \"fp8\""), "fp8", "activations", "fp8"},
	    {STORED("\"quant_method\": \"fbgemm_fp8\""), "fp8", "only", "linear"},
	    {STORED("\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 64, \"sym\": true"), "int4", "symmetric",
	        "true"},
	    {STORED("\"quant_method\": \"gptq\", \"bits\": 8, \"group_size\": -1"), "int8", "group", NULL},
	    {STORED("\"quant_method\": \"awq\", \"w_bit\": 4, \"q_group_size\": 128"), "int4", "group", "128"},
	    {STORED("\"quant_method\": \"bitsandbytes\", \"load_in_8bit\": true"), "int8", "activations", NULL},
	    {STORED("\"quant_method\": \"mxfp4\""), "mxfp4", "only", "experts"},
	    {STORED("\"quant_method\": \"modelopt\", \"quant_algo\": \"NVFP4\", \"kv_cache_quant_algo\": \"FP8\""),
	        "nvfp4", "kv", "fp8"},
	    {STORED("\"quant_algo\": \"FP8\", \"kv_cache_scheme\": {\"num_bits\": 8, \"type\": \"float\"}"), "fp8",
	        "kv", "fp8"},
	    {STORED(
	         "\"quant_algo\": \"MIXED_PRECISION\", \"quant_method\": \"fp8\", \"weight_block_size\": [128, 128], "
	         "\"moe_quant_algo\": \"NVFP4\", \"ignore\": [\"*.attn.*\"]"),
	        "fp8-block", "experts", "nvfp4"},
	    {STORED("\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": {\"weights\": "
	            "{\"num_bits\": 8, "
	            "\"type\": \"int\"}, \"input_activations\": {\"num_bits\": 8, \"type\": \"int\"}}}"),
	        "int8", "activations", "int8"},
	    {STORED("\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": {\"weights\": "
	            "{\"num_bits\": 4, "
	            "\"type\": \"float\", \"group_size\": 32}}}, \"ignore\": [\"lm_head\", \"re:.*self_attn.*\"]"),
	        "mxfp4", "only", "experts"},
	    {STORED("\"quant_method\": \"fp8\", \"modules_to_not_convert\": [\"model.layers.0.self_attn.q_proj\", "
	            "\"model.layers.1.self_attn.q_proj\"]"),
	        "fp8", "keep.3", "attention"},
	    {STORED("\"quant_method\": \"fp8\", \"modules_to_not_convert\": [\"model.layers.0.self_attn.q_proj\"]"),
	        "fp8", "keep.3", NULL},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *a = arena_new();
		struct diag *d = diag_new(a);
		struct hf_notes notes;
		const struct node *out =
		    hf_import(a, d, tree_read_text(a, d, "c.json", cases[i].json, strlen(cases[i].json)), &notes);
		complain(d, cases[i].json);
		ck_assert_ptr_nonnull(out);
		ck_assert_str_eq(tree_at(out, "quantisation.weights")->text, cases[i].weights);
		const struct node *n = tree_at(out, arena_printf(a, "quantisation.%s", cases[i].path));
		if (cases[i].value)
			ck_assert_msg(
			    n && strcmp(n->text, cases[i].value) == 0, "%s of %s", cases[i].path, cases[i].json);
		else
			ck_assert_msg(!n, "%s of %s", cases[i].path, cases[i].json);
		arena_free(a);
	}
}
END_TEST

/* --- published configurations ---------------------------------------------------------------------------- */

/*
 * Totals of published checkpoints that their configurations give.  Where an exact count is published (safetensors index
 * or model card) it stands to the last parameter; else as the vendor rounds it.  Without vision parts and multi-token
 * prediction.
 */
static const struct {
	const char *file;
	double params, tolerance;
} published[] = {
    {"openai__gpt-oss-120b.json", 116829156672.0, 0},                       /* model card: 116.83 B */
    {"openai__gpt-oss-20b.json", 20914757184.0, 0},                         /* model card: 20.91 B */
    {"Qwen3-235B-A22B.json", 235093634560.0, 0},                            /* model card: 235.09 B */
    {"qwen3-a3b-30b-moe.json", 30532122624.0, 0},                           /* model card: 30.53 B */
    {"qwen3-next-80B-A3B.json", 79674391296.0, 0},                          /* model card: 80 B */
    {"nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.json", 31577940288.0, 0}, /* safetensors: 31.6 B */
    {"nvidia__NVIDIA-Nemotron-3-Super-120B-A12B-FP8.json", 120.6e9, 0.002},
    {"nvidia__Nemotron-H-56B-Base-8K.json", 56e9, 0.006}, /* arXiv:2504.03624: rounded to two digits */
    {"nvidia__Llama-3_3-Nemotron-Super-49B-v1.json", 49.9e9, 0.002},
    {"deepseek-v2-lite.json", 15706484224.0, 0},        /* safetensors: 15.7 B */
    {"deepseek-v3.json", 671026404352.0 + 58 * 256, 0}, /* 671 B, with the routing biases */
    {"deepseek-ai__DeepSeek-V4-Flash.json", 284e9, 0.002},
    {"deepseek-ai__DeepSeek-V4-Pro.json", 1.6e12, 0.02},                  /* rounded to two digits */
    {"moonshotai__Kimi-K2-Instruct.json", 1026408209408.0 + 60 * 384, 0}, /* 1.03 T, with the routing biases */
    {"moonshotai__Kimi-K3.json", 2.78e12, 0.002},
    {"zai-org__GLM-5-FP8.json", 743911218432.0, 0},                  /* 744 B */
    {"XiaomiMiMo__MiMo-V2-Flash.json", 308778778368.0 + 39 * 64, 0}, /* 309 B, with the sinks of 39 layers */
    {"Qwen__Qwen3.5-397B-A17B.json", 397e9, 0.002},                  /* with the vision part */
    {"google__gemma-4-26B-A4B.json", 25.2e9, 0.002},
    {"nvidia__Gemma-4-31B-IT-NVFP4.json", 30.7e9, 0.002},
    {"llama4.json", 107769861120.0, 0},                          /* Llama-4-Scout, 107.8 B without its vision part */
    {"mistralai__Mixtral-8x22B-v0.1.json", 140620634112.0, 0},   /* safetensors: 140.62 B */
    {"mixtral_8x7b_moe.json", 46702792704.0, 0},                 /* safetensors: 46.7 B */
    {"meta-llama__Meta-Llama-3.1-405B.json", 405853388800.0, 0}, /* safetensors: 405.85 B */
    {"llama3.3-70b.json", 70553706496.0, 0},                     /* safetensors: 70.55 B */
    {"Llama-2-13b.json", 13015864320.0, 0},                      /* safetensors: 13.02 B */
    {"Llama-3.2-1B-Instruct.json", 1235814400.0, 0},             /* safetensors: 1.24 B */
    {"Qwen2-72B-Instruct.json", 72706203648.0, 0},               /* safetensors: 72.7 B */
    {"Phi-3-mini-4k-instruct.json", 3821079552.0, 0},            /* safetensors: 3.82 B */
    {"phi-2.json", 2779683840.0, 0},                             /* safetensors: 2.78 B */
    {"EleutherAI_gpt-j-6b.json", 6050882784.0, 0},               /* EleutherAI: 6 053 381 344 with untrained rows */
    {"EleutherAI_gpt-neo-1.3B.json", 1315575808.0, 0},           /* 1.32 B */
    {"facebook_opt-1.3b.json", 1315758080.0, 0},                 /* 1.32 B */
    {"bigscience_bloom-560m.json", 559214592.0, 0},              /* model card: 559 214 592 */
    {"allenai_scibert_scivocab_uncased.json", 109918464.0, 0},
    {"configs.json", 406291456.0, 0},                 /* BART-large: 406 M */
    {"MiniMaxAI__MiniMax-M2.5.json", 228.7e9, 0.002}, /* safetensors: 228.7 B */
    {"MiniMaxAI__MiniMax-M3.json", 428e9, 0.005},     /* published with its vision part */
    {"step-moe-noquant.json", 316e9, 0.002},          /* arXiv:2507.19427: 316 B */
    {"yi-34b.json", 34388917248.0, 0},
};

static double
count_file(struct arena *a, const char *path)
{
	struct diag *d = diag_new(a);
	struct binder b = {.arena = a, .diag = d};
	struct hf_notes notes;
	struct workload w;
	const struct node *out = import_file(a, d, path, &notes);
	const bool bound = out && workload_bind(&b, out, path, &w);

	complain(d, path);
	ck_assert_msg(bound, "%s is not imported", path);
	return model_params(NULL, &w);
}

START_TEST(test_published)
{
	struct arena *a = arena_new();
	const char *folder = arena_printf(a, "%s/hf-configs", getenv("REFERENCE"));
	DIR *dir = opendir(folder);
	size_t n = 0;

	ck_assert_msg(dir != NULL, "there is no folder %s", folder);
	for (const struct dirent *e; (e = readdir(dir));) {
		const size_t length = strlen(e->d_name);
		if (length < 6 || strcmp(e->d_name + length - 5, ".json") != 0)
			continue;
		ck_assert_double_gt(count_file(a, arena_printf(a, "%s/%s", folder, e->d_name)), 1e8);
		n++;
	}
	closedir(dir);
	ck_assert_uint_gt(n, 0);
	for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
		const char *path = arena_printf(a, "%s/%s", folder, published[i].file);
		if (access(path, R_OK) != 0)
			continue;
		const double params = count_file(a, path), want = published[i].params;
		ck_assert_msg(fabs(params - want) <= want * published[i].tolerance, "%s: %.0f, not %.0f",
		    published[i].file, params, want);
	}
	arena_free(a);
}
END_TEST

Suite *hf_suite(void);

Suite *
hf_suite(void)
{
	Suite *s = suite_create("hf");
	TCase *t = tcase_create("hf");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_fixtures);
	tcase_add_test(t, test_written);
	tcase_add_loop_test(t, test_faults, 0, sizeof faults / sizeof *faults);
	tcase_add_test(t, test_assumed);
	tcase_add_test(t, test_quantisation);
	if (getenv("REFERENCE"))
		tcase_add_test(t, test_published);
	suite_add_tcase(s, t);
	return s;
}
