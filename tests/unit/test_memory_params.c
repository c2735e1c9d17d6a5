/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rank's share of parameters, and the states of its optimizer. */
#include "model/memory/memory.h"

#include <check.h>

#include "memory_scene.h"

/* --- parameters of a rank -------------------------------------------------------------------------------- */

START_TEST(rank_parameters)
{
	const struct stack stack = megatron_core();
	struct model m;

	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 8192);
	ck_assert_double_eq(memory_linear_params(NULL, &job, 0) + memory_other_params(NULL, &job, 0), 8030261248.0);
	make_model(&m, &llama3_70b);
	job = job_of(&m, &stack, 1, 8192);
	job.layout.tp = 8;
	job.layout.pp = 4;
	ck_assert_double_eq(memory_linear_params(NULL, &job, 0) + memory_other_params(NULL, &job, 0), 2270756864.0);
	make_model(&m, &qwen3_30b);
	job = job_of(&m, &stack, 1, 4096);
	job.layout.ep = 8;
	ck_assert_double_eq(memory_linear_params(NULL, &job, 0) + memory_other_params(NULL, &job, 0), 1541093376.0);
	ck_assert_double_eq(memory_expert_params(NULL, &job, 0), 3623878656.0);
}
END_TEST

START_TEST(adapter_parameters)
{
	const struct stack stack = plain_stack();
	struct model m;

	make_model(&m, &llama2_7b);
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	job.lora_rank = number(8);
	job.targets = 1u << TARGET_Q | 1u << TARGET_V;
	ck_assert_double_eq(memory_adapter_params(NULL, &job, 0), 4194304);
}
END_TEST

/* What is trained beside low-rank adapters: learned prompts, a scale and a shift of each output, token table and head.
 */
START_TEST(trained_beside)
{
	struct stack stack = plain_stack();
	struct memory_use with, without;
	struct model m;

	make_model(&m, &llama2_7b);
	stack.adapter_byte = number(2);
	stack.scheme = STATES_PURE;
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	job.lora_rank = number(10);
	job.targets = 1u << TARGET_PROMPT;
	const double prompt_byte = memory_layer_saved(NULL, &job, &m.blocks[0]);
	ck_assert_double_eq(memory_adapter_params(NULL, &job, 0), 10.0 * 4096 * 32);
	job.targets |= 1u << TARGET_OUTPUTS;
	const double outputs = 5.0 * 4096 + 2 * 11008;
	ck_assert_double_eq(memory_adapter_params(NULL, &job, 0), 10.0 * 4096 * 32 + 2 * 32 * outputs);
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]) - prompt_byte, 2 * outputs);
	job.targets = 1u << TARGET_Q;
	memory_stage_peak(&job, 0, &without);
	job.targets |= 1u << TARGET_EMBED;
	memory_stage_peak(&job, 0, &with);
	/* two matrices: copies of 2 bytes, two moments of 2 bytes */
	ck_assert_double_eq(with.weights - without.weights, 2 * 2 * 32000.0 * 4096);
	ck_assert_double_eq(with.optimizer - without.optimizer, 2 * 4 * 32000.0 * 4096);
}
END_TEST

/* A pipeline of PyTorch keeps what each micro-batch in flight sent on; the last stage sends nothing. */
START_TEST(sent_outputs)
{
	struct stack stack = plain_stack();
	struct memory_use kept, given_up;
	struct model m;

	make_model(&m, &llama2_7b);
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	job.layout.pp = 4;
	job.n_microbatches = number(8);
	for (int stage = 0; stage < 4; stage++) {
		stack.time.listed = false;
		memory_at(NULL, &job, stage, MOMENT_BACKWARD, &given_up);
		stack.time.listed = true;
		stack.max_zero = number(3);
		memory_at(NULL, &job, stage, MOMENT_BACKWARD, &kept);
		ck_assert_double_eq(kept.buffers - given_up.buffers, (3 - stage) * 2 * 4096.0 * 2048);
	}
}
END_TEST

/* Behind dropout an adapter keeps what dropout left of its input, not the input; one of fp32 keeps its own cast. */
START_TEST(adapters_behind_dropout)
{
	struct stack stack = plain_stack();
	struct model m;

	make_model(&m, &llama2_7b);
	stack.adapter_byte = number(2);
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	job.lora_rank = number(8);
	job.targets = 1u << TARGET_DOWN;
	const double plain_byte = memory_layer_saved(NULL, &job, &m.blocks[0]);
	job.adapter_dropout = true;
	/* 2 bytes of the input less; 2 of the copy and 1 of the mask more */
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]) - plain_byte, 11008);
	job.adapter_dropout = false;
	stack.adapter_byte = number(4);
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]) - plain_byte, 2 * 8 + (4 - 2) * 11008);
}
END_TEST

/* The tanh that bounds scores and logits saves its results, unless it is compiled into what follows. */
START_TEST(bounded_scores)
{
	const struct stack stack = plain_stack();
	struct memory_use plain, bounded;
	struct model m;

	make_model(&m, &llama2_7b);
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	const double saved_byte = memory_layer_saved(NULL, &job, &m.blocks[0]);
	memory_at(NULL, &job, 0, MOMENT_LOSS, &plain);
	m.workload.softcap = true;
	/* scores, tanh and softmax in 16 bits */
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]) - saved_byte, 3 * 2 * 32 * 2048.0);
	memory_at(NULL, &job, 0, MOMENT_LOSS, &bounded);
	ck_assert_double_eq(bounded.logits - plain.logits, 2 * 32000 * 2048.0);
	job.compiled = true;
	ck_assert_double_eq(memory_layer_saved(NULL, &job, &m.blocks[0]), saved_byte);
}
END_TEST

START_TEST(untied_head)
{
	struct stack stack = plain_stack();
	struct model m;

	make_model(&m, &llama2_7b);
	m.workload.tied_embeddings = true;
	struct memory_job job = job_of(&m, &stack, 1, 2048);
	const double tied_param = memory_other_params(NULL, &job, 0);
	stack.unties_head = true;
	ck_assert_double_eq(memory_other_params(NULL, &job, 0) - tied_param, 32000.0 * 4096);
}
END_TEST

/* --- states ---------------------------------------------------------------------------------------------- */

static const struct {
	int zero;
	double weights, gradients, optimizer; /* bytes per parameter over 8 ranks */
} stages[] = {{0, 2, 2, 12}, {1, 2, 2, 1.5}, {2, 2, 0.25, 1.5}, {3, 0.25, 0.25, 1.5}};

START_TEST(zero_stages)
{
	struct stack stack = plain_stack();
	struct memory_use use;
	struct model m;

	stack.scheme = STATES_MIXED;
	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.layout.dp = job.layout.shard = 8;
	job.layout.zero = stages[_i].zero;
	memory_at(NULL, &job, 0, MOMENT_STEP, &use);
	ck_assert_double_eq(use.weights, stages[_i].weights * 8030261248.0);
	ck_assert_double_eq(use.gradients, stages[_i].gradients * 8030261248.0);
	ck_assert_double_eq(use.optimizer, stages[_i].optimizer * 8030261248.0);
	job.offload = OFFLOAD_OPTIMIZER | OFFLOAD_PARAMS;
	memory_at(NULL, &job, 0, MOMENT_STEP, &use);
	ck_assert_double_eq(use.weights + use.optimizer, 0);
	ck_assert_double_eq(memory_host(NULL, &job), (stages[_i].weights + stages[_i].optimizer) * 8030261248.0);
}
END_TEST

/* Six of eight GPUs stand in one node; a byte less, and it is too small. */
START_TEST(host_holds_what_is_offloaded)
{
	struct stack stack = plain_stack();
	struct model m;

	stack.scheme = STATES_MIXED;
	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.layout.dp = job.layout.shard = 8;
	job.layout.zero = 1;
	job.card_byte = number(80 * GIB);
	job.n_host_gpus = 6;
	job.host_byte = number(6 * 1.5 * 8030261248.0 - 1);
	ck_assert(!memory_uses_host(&job) && !memory_host_is_full(&job));
	job.offload = OFFLOAD_OPTIMIZER;
	ck_assert(memory_uses_host(&job) && memory_host_is_full(&job));
	ck_assert_int_eq(memory_verdict(&job, GIB), DOES_NOT_FIT);
	job.host_byte.value++;
	ck_assert(!memory_host_is_full(&job));
	ck_assert_int_eq(memory_verdict(&job, GIB), FITS);
	job.n_host_gpus = 72;
	ck_assert_double_eq(memory_host_node(NULL, &job), 8 * memory_host(NULL, &job));
	job.host_byte = datum_absent();
	ck_assert(!memory_host_is_full(&job));
}
END_TEST

/* Master and moments, bytes per parameter. */
static const struct {
	enum state_scheme scheme;
	enum dtype dtype;
	enum optimizer optimizer;
	double expect;
} optimizers[] = {
    {STATES_MIXED, DTYPE_BF16, OPTIMIZER_ADAM, 12},
    {STATES_FP32, DTYPE_BF16, OPTIMIZER_ADAM, 8},
    {STATES_PURE, DTYPE_BF16, OPTIMIZER_ADAM, 4},
    {STATES_MIXED, DTYPE_FP32, OPTIMIZER_ADAM, 8},
    {STATES_MIXED, DTYPE_BF16, OPTIMIZER_ADAM8BIT, 4 + 2 + 8 / 2048.0},
    {STATES_MIXED, DTYPE_BF16, OPTIMIZER_SGD, 4},
    {STATES_MIXED, DTYPE_BF16, OPTIMIZER_MOMENTUM, 8},
    {STATES_PURE, DTYPE_BF16, OPTIMIZER_LION, 2},
};

START_TEST(optimizer_states)
{
	struct stack stack = plain_stack();
	struct memory_use use;
	struct model m;

	make_model(&m, &llama3_8b);
	struct memory_job job = job_of(&m, &stack, 1, 4096);
	job.scheme = optimizers[_i].scheme;
	job.dtype = optimizers[_i].dtype;
	job.optimizer = optimizers[_i].optimizer;
	memory_at(NULL, &job, 0, MOMENT_STEP, &use);
	ck_assert_double_eq(use.optimizer, optimizers[_i].expect * 8030261248.0);
}
END_TEST

Suite *memory_params_suite(void);

Suite *
memory_params_suite(void)
{
	Suite *s = suite_create("memory_params");
	TCase *c = tcase_create("memory_params");

	tcase_add_test(c, rank_parameters);
	tcase_add_test(c, adapter_parameters);
	tcase_add_test(c, trained_beside);
	tcase_add_test(c, sent_outputs);
	tcase_add_test(c, adapters_behind_dropout);
	tcase_add_test(c, bounded_scores);
	tcase_add_test(c, host_holds_what_is_offloaded);
	tcase_add_test(c, untied_head);
	LOOP(zero_stages, stages);
	LOOP(optimizer_states, optimizers);
	suite_add_tcase(s, c);
	return s;
}
