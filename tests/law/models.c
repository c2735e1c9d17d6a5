/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The registry of models.def: each model called with worlds of generated inputs, with a sheet and without. */
#include "law/law.h"

#include <string.h>

enum { WORLDS = 300, QUICK_WORLDS = 30 };

#define D(name) draw(x->seed, #name)
#define B(name) (draw_choice(x->seed, #name, 2) != 0)
#define PARTS (x->seed % 3 ? 1U << x->seed % 9 : IN_LAYER)
#define COUNTED ((enum counted)draw_choice(x->seed, "counted", 3))
#define BLOCK(job) (&(job)->model->blocks[x->seed % (unsigned)(job)->model->n_blocks])

/* Machines that somebody owns. */
#define OWNED                                                                                                          \
	((const struct cost_owned){datum(D(capital_usd)), datum(D(residual_frac)), datum(D(lifetime_s)),               \
	    datum(D(power_watt)), datum(D(pue)), datum(D(electricity_usd_per_joule)), datum(D(hosting_usd))})

/* A draft model beside the one that is served. */
#define DRAFT                                                                                                          \
	((const struct draft_cost){datum(D(draft_s)), datum(D(target_s)),                                              \
	    B(verified) ? datum(D(verify_s)) : datum_absent(), B(overhead) ? datum(D(overhead_s)) : datum_absent()})

/* A format, some with groups of their own; one of floating point. */
#define ANY_FORMAT (&number_formats[x->seed % N_FORMATS])
/* the first formats are floating point */
enum { N_FLOAT_FORMATS = 16 };
#define FLOAT_FORMAT (&number_formats[x->seed % N_FLOAT_FORMATS])

/* One stage, two branches of which one has two, one stage. */
#define STAGE(stage, in, beside)                                                                                       \
	{                                                                                                              \
#stage,                                                                                                \
		    {datum(D(stage##_s)), B(stage) ? datum(D(stage##_changed_s)) : datum_absent(), datum_absent() },   \
		        in, beside                                                                                     \
	}
#define STAGES                                                                                                         \
	((const struct stages){5, 3,                                                                                   \
	    (const struct stage[]){STAGE(a, 0, 0), STAGE(b, 1, 0), STAGE(c, 1, 0), STAGE(d, 1, 1), STAGE(e, 2, 0)}})
#define STAGE_CASE ((enum stage_time)(x->seed % N_STAGE_TIMES))

/* A linear layer, its norm and an activation. */
#define FUSED_OP(kind_, ...)                                                                                           \
	{                                                                                                              \
		.kind = OP_##kind_, .name = #kind_, .count = 1, .elem_byte = D(elem_byte), .dim = { __VA_ARGS__ }      \
	}
#define FUSED_OPS                                                                                                      \
	((const struct op[]){FUSED_OP(gemm, D(m), D(n), D(k)), FUSED_OP(norm, D(m), D(n)),                             \
	    FUSED_OP(elementwise, D(m) * D(n), D(reads), 1, 1)})

#define PUBLISHED                                                                                                      \
	((const struct reliability){                                                                                   \
	    .n_gpus = datum(D(n_gpus)), .period_s = datum(D(period_s)), .n_failures = datum(D(n_failures))})
#define FAILING                                                                                                        \
	((const struct failing){                                                                                       \
	    datum(D(mtbf_s)), datum(D(stall_s)), datum(D(stall_s) + D(behind_s)), datum(D(restart_s))})

/* A list of operators trained on some GPUs. */
#define TRAINED_LIST                                                                                                   \
	((const struct train_list_job){.model = x->list,                                                               \
	    .machine = x->step->machine,                                                                               \
	    .n_gpus = D(n_nodes),                                                                                      \
	    .n_samples = D(n_samples),                                                                                 \
	    .dtype = DTYPE_BF16,                                                                                       \
	    .tables_spread = B(spread)})

/* Two classes that share a sum, with all that widens an interval. */
#define ERRORS                                                                                                         \
	((const struct error_terms){.n = 2,                                                                            \
	    .classes = {{D(first_frac), -0.1 * D(low_frac), 0.2 * D(high_frac)},                                       \
	        {1 - D(first_frac), 0.1 * D(second_frac), 0.3 * D(second_frac)}},                                      \
	    .stack_sigma = 0.1 * D(stack_frac),                                                                        \
	    .transfer_sigma = 0.2 * D(transfer_frac),                                                                  \
	    .reach = 3 * D(reach_frac),                                                                                \
	    .reach_sigma = 0.1,                                                                                        \
	    .widening = 1 + D(widening_frac)})

/* A GPU and the fits of its kernels; options of the shapes in every other world. */
#define SOME(name, value) (B(name) ? (value) : 0)
#define MACHINE                                                                                                        \
	((const struct calibration){.ref_n_sms = datum(D(n_sms)),                                                      \
	    .ref_l2_byte = datum(D(l2_byte)),                                                                          \
	    .ref_mem_byte_per_s = datum(D(mem_byte_per_s)),                                                            \
	    .ref_clock_hertz = datum(D(clock_hertz))})
#define CONTEXT                                                                                                        \
	((const struct context_calibration){.flop_per_s = datum(D(reached_flop_per_s)),                                \
	    .base_s = datum(D(base_s)),                                                                                \
	    .block_s = datum(D(block_s)),                                                                              \
	    .mem_byte_per_s = datum(D(around_byte_per_s)),                                                             \
	    .tile = datum(B(tile) ? 64 : 128),                                                                         \
	    .kv_byte_per_s = B(apart) ? datum(D(kv_byte_per_s)) : datum_absent(),                                      \
	    .l2_byte_per_s = B(held) ? datum(D(l2_byte_per_s)) : datum_absent(),                                       \
	    .hold = datum(0.3),                                                                                        \
	    .fade = datum(0.5),                                                                                        \
	    .derate = datum(SOME(power, 0.1)),                                                                         \
	    .norm = datum(SOME(joined, 2)),                                                                            \
	    .token_s = datum(SOME(append, D(token_s)))})
#define GENERATION                                                                                                     \
	((const struct generation_calibration){.mem_byte_per_s = datum(D(cache_byte_per_s)),                           \
	    .base_s = datum(D(base_s)),                                                                                \
	    .query_byte_per_s = datum(D(query_byte_per_s)),                                                            \
	    .split_s = datum(D(split_s)),                                                                              \
	    .item_s = datum(D(item_s)),                                                                                \
	    .flop_per_s = datum(D(reached_flop_per_s)),                                                                \
	    .l2_byte_per_s = B(held) ? datum(D(l2_byte_per_s)) : datum_absent(),                                       \
	    .hold = datum(0.3),                                                                                        \
	    .fade = datum(SOME(held, 0.5)),                                                                            \
	    .norm = datum(SOME(joined, 2)),                                                                            \
	    .own_item_s = datum(SOME(own, D(own_s)))})
#define ATTENTION                                                                                                      \
	((const struct attention_shape){.batch = D(batch),                                                             \
	    .n_heads = 8 * D(n_groups),                                                                                \
	    .n_kv_heads = D(n_groups),                                                                                 \
	    .head_dim = D(head_dim),                                                                                   \
	    .query_token = D(query_token),                                                                             \
	    .context_token = D(context_token),                                                                         \
	    .elem_byte = D(elem_byte),                                                                                 \
	    .kv_elem_byte = D(kv_elem_byte),                                                                           \
	    .cold = B(cold),                                                                                           \
	    .unmasked = B(unmasked),                                                                                   \
	    .window_token = SOME(window, D(window_token)),                                                             \
	    .rate_frac = SOME(rate, 0.5),                                                                              \
	    .stream_frac = SOME(stream, 0.5),                                                                          \
	    .n_core_elems_per_clock = SOME(core, 13)})
#define MIXTURE                                                                                                        \
	((const struct moe_calibration){.peak_flop_per_s = datum(D(reached_flop_per_s)),                               \
	    .mem_byte_per_s = datum(D(mem_byte_per_s)),                                                                \
	    .base_s = datum(D(base_s)),                                                                                \
	    .feed_byte_per_s = datum(D(feed_byte_per_s)),                                                              \
	    .tile_s = datum(D(tile_s)),                                                                                \
	    .k_step_s = datum(D(k_step_s)),                                                                            \
	    .norm = datum(1 + 0.1 * D(norm)),                                                                          \
	    .permute_byte_per_s = B(permute) ? datum(D(permute_byte_per_s)) : datum_absent(),                          \
	    .route_byte_per_s = B(route) ? datum(D(route_byte_per_s)) : datum_absent(),                                \
	    .l2_byte_per_s = B(held) ? datum(D(l2_byte_per_s)) : datum_absent(),                                       \
	    .hold = datum(0.3),                                                                                        \
	    .fade = datum(0.5)})
#define EXPERTS                                                                                                        \
	((const struct moe_shape){.n_tokens = D(n_rows),                                                               \
	    .hidden = 64 * D(n_hidden),                                                                                \
	    .expert_width = 64 * D(n_width),                                                                           \
	    .top_k = D(n_chosen),                                                                                      \
	    .n_experts = 2 * D(n_chosen) * D(n_expert_ranks),                                                          \
	    .tp = 2,                                                                                                   \
	    .ep = D(n_expert_ranks),                                                                                   \
	    .a_byte = D(elem_byte),                                                                                    \
	    .w_byte = D(elem_byte),                                                                                    \
	    .gated = B(gated),                                                                                         \
	    .expected = B(expected),                                                                                   \
	    .slowest_rank = B(slowest),                                                                                \
	    .load_frac = SOME(load, 2),                                                                                \
	    .time_frac = SOME(time, 1.5),                                                                              \
	    .repeated = B(repeated),                                                                                   \
	    .weight_byte_per_clock = SOME(cap, 8)})
#define DELTA                                                                                                          \
	((const struct delta_shape){.n_sequences = D(n_sequences),                                                     \
	    .seq_length = D(n_rows),                                                                                   \
	    .n_heads = D(n_chosen),                                                                                    \
	    .key_dim = 64 * D(n_hidden),                                                                               \
	    .value_dim = 64 * D(n_width),                                                                              \
	    .chunk_length = 64,                                                                                        \
	    .by_channel = B(by_channel)})
#define SMALL_KERNEL                                                                                                   \
	((const struct elementwise_shape){.traffic_byte = D(traffic_byte),                                             \
	    .n_launches = D(n_launches),                                                                               \
	    .launch_s = D(launch_s),                                                                                   \
	    .cold = B(cold),                                                                                           \
	    .mem_frac = SOME(rate, 0.7)})
#define FITTED_MACHINE                                                                                                 \
	((const struct kernel_machine){.fit = x->kernel,                                                               \
	    .dtype = x->gemm_type,                                                                                     \
	    .peak_flop_per_s = datum(D(peak_flop_per_s)),                                                              \
	    .mem_byte_per_s = datum(D(mem_byte_per_s))})
#define QUANTISE                                                                                                       \
	((const struct gemm_calibration){                                                                              \
	    .quantise_s = datum(D(base_s)), .quantise_byte_per_s = datum(D(mem_byte_per_s))})
#define LEVELS                                                                                                         \
	((const struct memory_calibration){3,                                                                          \
	    {{"l1", datum(D(first_byte)), datum(D(l1_byte_per_s)), datum(D(l1_s))},                                    \
	        {"l2", datum(10 * D(first_byte)), datum(D(l2_byte_per_s)), datum(D(l2_s))},                            \
	        {"hbm", datum_absent(), datum(D(mem_byte_per_s)), datum(D(mem_s))}}})
#define LAUNCHES                                                                                                       \
	((const struct launch_calibration){                                                                            \
	    datum(D(base_s)), datum(D(kernel_s)), datum(D(graph_base_s)), datum(D(graph_kernel_s)), datum(D(host_s))})
#define SWITCHED                                                                                                       \
	((const struct collective_calibration){.nvls_base_s = datum(D(base_s)),                                        \
	    .nvls_byte_per_s = datum(D(link_byte_per_s)),                                                              \
	    .nvls_ramp_s = datum(D(hop_s)),                                                                            \
	    .nvls_ramp_byte = datum(D(size_byte))})

/* A step of a serving engine, with or without prompts; a card for prompts. */
#define SERVED_BATCH                                                                                                   \
	((const struct serve_batch){SOME(prompts, D(n_prompts)), D(n_chunk), SOME(prefix, D(n_prefix)), D(n_running),  \
	    D(n_context), D(n_rows), SOME(drafts, D(n_drafts))})
#define SERVED_BURST ((const struct serve_burst){D(n_burst), D(soonest_s), D(soonest_s) + D(later_s)})
#define CARD                                                                                                           \
	((const struct unfused_gpu){datum(D(peak_flop_per_s)), datum(D(mem_byte_per_s)),                               \
	    B(power) ? datum(D(limit_flop_per_s)) : datum_absent()})

#define EACH_1(a) D(a)
#define EACH_2(a, ...) D(a), EACH_1(__VA_ARGS__)
#define EACH_3(a, ...) D(a), EACH_2(__VA_ARGS__)
#define EACH_4(a, ...) D(a), EACH_3(__VA_ARGS__)
#define EACH_5(a, ...) D(a), EACH_4(__VA_ARGS__)
#define EACH_6(a, ...) D(a), EACH_5(__VA_ARGS__)
#define EACH_7(a, ...) D(a), EACH_6(__VA_ARGS__)
#define EACH_8(a, ...) D(a), EACH_7(__VA_ARGS__)
#define PICK(a, b, c, d, e, f, g, h, macro, ...) macro
#define EACH(...)                                                                                                      \
	PICK(__VA_ARGS__, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1, 0)                           \
	(__VA_ARGS__)

static struct datum
datum(double value)
{
	return (struct datum){value, {"generated", 0, 0, NULL, false}};
}

#define SECTION(title)
#define MODEL(function, title, source, limits, ...)                                                                    \
	static double call_##function(struct sheet *sh, const struct world *x)                                         \
	{                                                                                                              \
		return function(sh, EACH(__VA_ARGS__));                                                                \
	}
#define SHAPED(function, arguments, title, source, limits)                                                             \
	static double call_##function(struct sheet *sh, const struct world *x)                                         \
	{                                                                                                              \
		(void)x;                                                                                               \
		return function arguments;                                                                             \
	}
#include "law/models.def"
#undef SECTION
#undef MODEL
#undef SHAPED

#define SECTION(title) {.section = title},
#define MODEL(function, title, source, limits, ...)                                                                    \
	{#function, #__VA_ARGS__, call_##function, title, source, limits, NULL},
#define SHAPED(function, arguments, title, source, limits)                                                             \
	{#function, NULL, call_##function, title, source, limits, NULL},
const struct model models[] = {
#include "law/models.def"
};
#undef SECTION
#undef MODEL
#undef SHAPED
const size_t n_models = sizeof models / sizeof *models;

/* The same number with a sheet, without, and with one again. */
static void
check_model(struct faults *f, const struct model *m, const struct world *x, struct sheet *sh)
{
	sheet_clear(sh);
	const double with = m->call(sh, x), without = m->call(NULL, x);
	const int n = sheet_size(sh);

	if (n == 0) {
		fault_report(f, m->name, "records nothing");
		return;
	}
	law_check(sh, f);
	if (!same_bits(with, without))
		fault_report(f, m->name, "gives %.17g with a sheet, %.17g without", with, without);
	const struct row *last = NULL;
	for (int i = 0; i < n; i++)
		if (sheet_row(sh, i)->parent < 0 && sheet_row(sh, i)->kind != ROW_SCOPE &&
		    sheet_row(sh, i)->kind != ROW_WORD)
			last = sheet_row(sh, i);
	if (!last || !same_bits(last->value, with))
		fault_report(f, m->name, "does not return its last row, %s", last ? last->name : "-");
}

void
model_sheets(struct faults *f)
{
	struct worlds *all = worlds_new(f->arena, f->to);
	struct sheet *sh = sheet_new();

	for (unsigned seed = 0; seed < (f->quick ? QUICK_WORLDS : WORLDS); seed++) {
		struct arena *a = arena_new();
		struct world x;
		world_make(all, a, seed, &x);
		for (size_t i = 0; i < n_models; i++) {
			if (models[i].section)
				continue;
			f->where = arena_printf(f->arena, "%s, inputs %u", models[i].name, seed);
			check_model(f, &models[i], &x, sh);
		}
		arena_free(a);
	}
	sheet_free(sh);
}
