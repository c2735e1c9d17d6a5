/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "db/db.h"

#include "base/base.h"
#include "model/kernel/kernel.h"
#include "search/fit/fit.h"

#include <check.h>
#include <string.h>

static struct arena *arena;
static struct diag *diag;
static struct database *db;

static void
set_up(void)
{
	arena = arena_new();
	diag = diag_new(arena);
	db = database_new(arena, diag, ".");
}

static void
tear_down(void)
{
	ck_assert_int_eq(diag_errors(diag), 0);
	arena_free(arena);
}

static const struct gpu *
gpu(const char *id)
{
	const char *ignored;
	const struct gpu *g = database_gpu(db, id, NULL, (struct source){0}, &ignored);

	ck_assert_msg(g != NULL, "no GPU %s", id);
	return g;
}

static const struct transfer *
rule_for(const char *id)
{
	return database_transfer(db, arena, diag, gpu(id));
}

static struct calibration
transfer(const struct transfer *rule, const char *to)
{
	struct calibration out;

	transfer_calibration(rule, rule->from ? database_calibration(db, rule->from, NULL) : NULL,
	    rule->from ? gpu(rule->from) : NULL, gpu(to), &out);
	return out;
}

static struct transfer
plain_rule(const char *from)
{
	struct transfer rule = *rule_for("h100-sxm5-96gb");

	rule.from = from;
	return rule;
}

/* To itself: the same GPU. */
START_TEST(test_identity)
{
	const struct transfer rule = plain_rule("h100-sxm5-80gb");
	const struct calibration *own = database_calibration(db, "h100-sxm5-80gb", NULL);
	const struct calibration same = transfer(&rule, "h100-sxm5-80gb");

	for (double m = 1; m < 1e5; m *= 8) {
		const struct gemm_shape shape = gemm_shape_of(m, 4096, 8192, DTYPE_BF16);
		const double a = gemm_time(NULL, &shape, own, DTYPE_BF16),
		             b = gemm_time(NULL, &shape, &same, DTYPE_BF16);
		ck_assert_double_eq_tol(a, b, 1e-2 * a);
	}
	ck_assert_double_eq_tol(same.collective[COLLECTIVE_ALL_REDUCE].bus_byte_per_s.value,
	    own->collective[COLLECTIVE_ALL_REDUCE].bus_byte_per_s.value, 1);
	ck_assert_str_eq(same.transferred_from, "h100-sxm5-80gb");
	ck_assert_double_gt(same.transfer_sigma.gemm, 0.05);
}
END_TEST

/* V100: constants of the rule, A100's share of the bandwidth. */
START_TEST(test_volta)
{
	const struct transfer *rule = rule_for("v100-sxm2-32gb");
	const struct calibration *donor = database_calibration(db, "a100-sxm4-80gb", NULL);
	const struct calibration c = transfer(rule, "v100-sxm2-32gb");
	const struct gemm_calibration *a = &donor->gemm[DTYPE_BF16], *g = &c.gemm[DTYPE_FP16];

	ck_assert_double_eq_tol(g->peak_flop_per_s.value / 125e12, 0.894, 1e-3);
	ck_assert_double_eq_tol(g->mem_byte_per_s.value / 900e9, a->mem_byte_per_s.value / 2.039e12, 1e-3);
	ck_assert_double_eq_tol(g->base_s.value, 2.7e-6, 1e-12);
	ck_assert_double_eq_tol(g->feed_byte_per_s.value, 49 * 1.53e9, 1e6);
	/* 16-bit products under both names, as in every calibration; no 8-bit ones */
	ck_assert_double_eq(c.gemm[DTYPE_BF16].peak_flop_per_s.value, g->peak_flop_per_s.value);
	ck_assert(!gemm_calibrated(&c, DTYPE_FP8));
	ck_assert_double_eq(c.ref_n_sms.value, 80);
	/* six links of 25 GB/s against twelve */
	ck_assert_double_eq_tol(c.collective[COLLECTIVE_ALL_REDUCE].bus_byte_per_s.value,
	    donor->collective[COLLECTIVE_ALL_REDUCE].bus_byte_per_s.value / 2, 1e6);
	ck_assert_double_eq_tol(c.collective[COLLECTIVE_ALL_REDUCE].base_s.value, 14e-6, 1e-12);
	ck_assert_double_eq_tol(c.transfer_sigma.gemm, 0.22, 0.01);
}
END_TEST

/* GDDR reaches 90 % of its rate, a sixteenth less with inline ECC; PCIe cards have no collectives over NVLink. */
START_TEST(test_cards)
{
	const struct calibration t4 = transfer(rule_for("t4"), "t4");
	const struct calibration pcie = transfer(rule_for("h100-pcie-80gb"), "h100-pcie-80gb");

	ck_assert_double_eq_tol(t4.gemm[DTYPE_FP16].mem_byte_per_s.value, 0.9 * 15 / 16 * 320e9, 1e6);
	ck_assert(!t4.has_collective[COLLECTIVE_ALL_REDUCE]);
	ck_assert(!pcie.has_collective[COLLECTIVE_ALL_REDUCE]);
	ck_assert(gemm_calibrated(&pcie, DTYPE_BF16));
}
END_TEST

/* Every NVIDIA GPU, and AMD from CDNA 3 on, is measured or has a donor; of others nothing is known. */
START_TEST(test_everybody)
{
	size_t n;
	const char **ids = database_list(db, ENTRY_GPU, &n);

	for (size_t i = 0; i < n; i++) {
		const struct gpu *g = gpu(ids[i]);
		const bool nvidia = strcmp(g->vendor, "NVIDIA") == 0;
		const bool cdna = strcmp(g->architecture, "cdna3") == 0 || strcmp(g->architecture, "cdna4") == 0;
		const struct transfer *rule = rule_for(ids[i]);
		const bool measured = database_calibration(db, ids[i], NULL) != NULL;

		ck_assert_msg((rule != NULL || (cdna && measured)) == (nvidia || cdna), "%s", ids[i]);
		if (nvidia && !measured && strncmp(ids[i], "doc-", 4) != 0)
			ck_assert_msg(rule->from != NULL, "%s has nobody but the median", ids[i]);
	}
}
END_TEST

/* The last resort has products and attention, of 16 bits. */
START_TEST(test_median)
{
	struct gpu other = *gpu("a10");
	other.id = "somebody";
	const struct transfer *rule = database_transfer(db, arena, diag, &other);
	struct calibration c;

	ck_assert(rule != NULL && !rule->from);
	transfer_calibration(rule, NULL, NULL, &other, &c);
	ck_assert_double_eq_tol(
	    c.gemm[DTYPE_BF16].peak_flop_per_s.value, 0.8 * other.peak_flop_per_s[PEAK_BF16].value, 1e6);
	const struct gemm_shape shape = gemm_shape_of(16, 4096, 4096, DTYPE_BF16);
	const double seconds = gemm_time(NULL, &shape, &c, DTYPE_BF16);
	ck_assert(seconds > 2 * 4096.0 * 4096 / other.mem_byte_per_s.value && seconds < 1e-3);
	ck_assert(c.has_context && c.has_generation && !gemm_calibrated(&c, DTYPE_FP8));
}
END_TEST

/* Rates are shares of a figure and go with it; fixed times stay; the types have their own peaks. */
START_TEST(test_rebase)
{
	const struct calibration *file = database_calibration(db, "h100-sxm5-80gb", NULL);
	struct calibration c = *file;
	const struct kernel_reference from = reference_of_fit(file);
	struct kernel_reference to = reference_of_gpu(gpu("h100-sxm5-80gb"));

	ck_assert(reference_same(&from, &to));
	rebase_kernels(&c, &from, &to);
	ck_assert_mem_eq(c.gemm, file->gemm, sizeof c.gemm);
	ck_assert_mem_eq(c.moe, file->moe, sizeof c.moe);
	ck_assert_mem_eq(c.attention_by, file->attention_by, sizeof c.attention_by);
	to.mem_byte_per_s.value *= 2;
	to.peak_flop_per_s[PEAK_FP8].value /= 4;
	ck_assert(!reference_same(&from, &to));
	rebase_kernels(&c, &from, &to);
	const struct gemm_calibration *wide = &c.gemm[DTYPE_BF16], *fp8 = &c.gemm[DTYPE_FP8];
	ck_assert_double_eq(wide->mem_byte_per_s.value, 2 * file->gemm[DTYPE_BF16].mem_byte_per_s.value);
	ck_assert_double_eq(wide->peak_flop_per_s.value, file->gemm[DTYPE_BF16].peak_flop_per_s.value);
	ck_assert_double_eq(fp8->peak_flop_per_s.value, file->gemm[DTYPE_FP8].peak_flop_per_s.value / 4);
	ck_assert_double_eq(wide->base_s.value, file->gemm[DTYPE_BF16].base_s.value);
	ck_assert_double_eq(wide->feed_byte_per_s.value, file->gemm[DTYPE_BF16].feed_byte_per_s.value);
	ck_assert_double_eq(c.ref_mem_byte_per_s.value, to.mem_byte_per_s.value);
	ck_assert_double_eq(c.collective[COLLECTIVE_ALL_GATHER].bus_byte_per_s.value,
	    file->collective[COLLECTIVE_ALL_GATHER].bus_byte_per_s.value);
	rebase_links(&c, 0.5);
	ck_assert_double_eq(c.collective[COLLECTIVE_ALL_GATHER].bus_byte_per_s.value,
	    0.5 * file->collective[COLLECTIVE_ALL_GATHER].bus_byte_per_s.value);
}
END_TEST

/* What every shipped file refers to is what its GPU's entry says: nothing moves before something is set. */
START_TEST(test_references)
{
	static const char *const engines[] = {NULL, "trtllm", "vllm", "sglang"};
	size_t n;
	const char **ids = database_list(db, ENTRY_GPU, &n);

	for (size_t i = 0; i < n; i++)
		for (int e = 0; e < 4; e++) {
			const struct calibration *c = database_calibration(db, ids[i], engines[e]);
			if (!c)
				continue;
			const struct kernel_reference from = reference_of_fit(c), to = reference_of_gpu(gpu(ids[i]));
			ck_assert_msg(reference_same(&from, &to), "%s refers to other figures than %s", c->id, ids[i]);
		}
}
END_TEST

/* Prompts attend in 8 bits by the 16-bit kernel where nobody fitted them: faster, and as fast as the 8-bit peak says.
 */
START_TEST(test_narrow)
{
	const struct calibration c = transfer(rule_for("mi355x"), "mi355x");
	const struct attention_calibration *narrow = &c.attention_by[ATTENTION_FIT_D128_FP8];

	ck_assert(narrow->has_context && !c.attention_by[ATTENTION_FIT_D128_KV8].has_context);
	const double peaks =
	    gpu("mi355x")->peak_flop_per_s[PEAK_FP8].value / gpu("mi355x")->peak_flop_per_s[PEAK_BF16].value;
	ck_assert_double_eq_tol(narrow->context.flop_per_s.value, 1.18 * peaks / 2 * c.context.flop_per_s.value,
	    1e-6 * narrow->context.flop_per_s.value);
	ck_assert(
	    !transfer(rule_for("v100-sxm2-16gb"), "v100-sxm2-16gb").attention_by[ATTENTION_FIT_D128_FP8].has_context);
}
END_TEST

/* Wider kernels than were fitted go by the widest fit, those of 128 by their own. */
START_TEST(test_wide)
{
	const struct calibration *c = database_calibration(db, "h200-sxm5-141gb", "vllm");
	struct attention_shape shape = {
	    .batch = 8, .n_heads = 16, .n_kv_heads = 4, .head_dim = 512, .elem_byte = 2, .kv_elem_byte = 2};

	ck_assert_ptr_eq(context_calibrated(c, &shape), &c->attention_by[ATTENTION_FIT_D256].context);
	ck_assert_ptr_eq(generation_calibrated(c, &shape), &c->attention_by[ATTENTION_FIT_D256].generation);
	shape.head_dim = 128;
	ck_assert_ptr_eq(generation_calibrated(c, &shape), &c->generation);
}
END_TEST

Suite *transfer_suite(void);

Suite *
transfer_suite(void)
{
	Suite *s = suite_create("transfer");
	TCase *t = tcase_create("rules");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, test_identity);
	tcase_add_test(t, test_volta);
	tcase_add_test(t, test_cards);
	tcase_add_test(t, test_everybody);
	tcase_add_test(t, test_median);
	tcase_add_test(t, test_rebase);
	tcase_add_test(t, test_references);
	tcase_add_test(t, test_narrow);
	tcase_add_test(t, test_wide);
	suite_add_tcase(s, t);
	return s;
}
