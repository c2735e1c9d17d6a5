/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "db/db.h"

#include "db/db.h"

#include <check.h>
#include <string.h>

static struct datum
limit(double value)
{
	return (struct datum){value, {"test", 1, 1, NULL, false}};
}

static struct figures
nothing(void)
{
	struct figures f;

	for (int i = 0; i < N_FIGURES; i++)
		f.value[i] = NAN;
	return f;
}

/* --- signs ----------------------------------------------------------------------------------------------- */

START_TEST(a_sign_needs_its_figure)
{
	const struct sign below = {FIGURE_gpu_busy_frac, datum_absent(), limit(0.6), false};
	const struct sign above = {FIGURE_tail, limit(2), datum_absent(), false};
	const struct sign flag = {FIGURE_oom, datum_absent(), datum_absent(), false};
	struct figures f = nothing();

	ck_assert(!sign_known(&below, &f) && !sign_holds(&below, &f));
	ck_assert(!sign_holds(&flag, &f));
	f.value[FIGURE_gpu_busy_frac] = 0.6;
	f.value[FIGURE_tail] = 2;
	f.value[FIGURE_oom] = 1;
	/* neither limit includes itself */
	ck_assert(sign_known(&below, &f) && !sign_holds(&below, &f));
	ck_assert(!sign_holds(&above, &f));
	ck_assert(sign_holds(&flag, &f));
	f.value[FIGURE_gpu_busy_frac] = 0.59;
	f.value[FIGURE_tail] = 2.1;
	ck_assert(sign_holds(&below, &f) && sign_holds(&above, &f));
}
END_TEST

START_TEST(names_of_figures)
{
	for (int i = 0; i < N_FIGURES; i++) {
		ck_assert_int_eq(figure_find(figure_name((enum figure)i)), i);
		ck_assert(*figure_title((enum figure)i) && strncmp(figure_option((enum figure)i), "--", 2) == 0);
	}
	ck_assert_int_eq(figure_find("temper"), FIGURE_NONE);
}
END_TEST

/* --- order ----------------------------------------------------------------------------------------------- */

/* Two causes that slow a run, one that ends it. */
static const char *const idle_stakes[] = {"load_frac", "idle_frac"}, *const comm_stakes[] = {"comm_frac"};

struct table {
	struct sign input[2], comm[1], memory[1], fusion[2], no_fusion[1];
	struct diagnosis cause[4];
	const struct diagnosis *list[4];
};

static void
make(struct table *t)
{
	*t = (struct table){
	    .input = {{FIGURE_gpu_busy_frac, datum_absent(), limit(0.6), false},
	        {FIGURE_cpu_busy_frac, limit(0.9), datum_absent(), false}},
	    .comm = {{FIGURE_comm_frac, limit(0.15), datum_absent(), true}},
	    .memory = {{FIGURE_oom, datum_absent(), datum_absent(), true}},
	    .fusion = {{FIGURE_bandwidth_frac, limit(0.7), datum_absent(), true},
	        {FIGURE_occupancy_frac, datum_absent(), limit(0.4), false}},
	    .no_fusion = {{FIGURE_comm_frac, limit(0.3), datum_absent(), false}},
	};
	const struct diagnosis cause[] = {
	    {.id = "input",
	        .harm = HARM_SLOWS,
	        .n_signs = 2,
	        .signs = t->input,
	        .n_stakes = 2,
	        .stakes = (const char **)idle_stakes},
	    {.id = "comm",
	        .harm = HARM_SLOWS,
	        .n_signs = 1,
	        .signs = t->comm,
	        .n_stakes = 1,
	        .stakes = (const char **)comm_stakes},
	    {.id = "memory", .harm = HARM_STOPS, .use = USE_TRAIN, .n_signs = 1, .signs = t->memory},
	    {.id = "fusion",
	        .harm = HARM_SLOWS,
	        .n_signs = 2,
	        .signs = t->fusion,
	        .n_unless = 1,
	        .unless = t->no_fusion},
	};
	memcpy(t->cause, cause, sizeof cause);
	for (int i = 0; i < 4; i++)
		t->list[i] = &t->cause[i];
}

START_TEST(the_larger_share_comes_first)
{
	struct table t;
	struct figures f = nothing();
	struct finding found[4];

	make(&t);
	ck_assert_uint_eq(diagnose_rank(t.list, 4, &f, USE_ANY, found), 0);
	f.value[FIGURE_gpu_busy_frac] = 0.42;
	f.value[FIGURE_comm_frac] = 0.45;
	f.value[FIGURE_idle_frac] = 0.13;
	ck_assert_uint_eq(diagnose_rank(t.list, 4, &f, USE_ANY, found), 2);
	ck_assert_str_eq(found[0].cause->id, "comm");
	ck_assert_double_eq(found[0].stake_frac, 0.45);
	ck_assert_str_eq(found[1].cause->id, "input");
	ck_assert_str_eq(found[1].stake, "idle_frac");
	/* the first formula that can be worked out is taken */
	f.value[FIGURE_load_frac] = 0.5;
	diagnose_rank(t.list, 4, &f, USE_ANY, found);
	ck_assert_str_eq(found[0].cause->id, "input");
	ck_assert_double_eq(found[0].stake_frac, 0.5);
	/* what costs nothing is no cause */
	f.value[FIGURE_load_frac] = 0.001;
	ck_assert_uint_eq(diagnose_rank(t.list, 4, &f, USE_ANY, found), 1);
	/* what ends the run comes before all that slows it, where it applies */
	f.value[FIGURE_oom] = 1;
	ck_assert_uint_eq(diagnose_rank(t.list, 4, &f, USE_TRAIN, found), 2);
	ck_assert_str_eq(found[0].cause->id, "memory");
	ck_assert(isnan(found[0].stake_frac) && !found[0].stake);
	ck_assert_uint_eq(diagnose_rank(t.list, 4, &f, USE_SERVE, found), 1);
}
END_TEST

START_TEST(signs_for_and_against)
{
	struct table t;
	struct figures f = nothing();
	struct finding found[4];

	make(&t);
	f.value[FIGURE_gpu_busy_frac] = 0.2;
	f.value[FIGURE_cpu_busy_frac] = 0.95;
	ck_assert_uint_eq(diagnose_rank(t.list, 4, &f, USE_ANY, found), 1);
	ck_assert_int_eq(found[0].n_for, 2);
	/* one for, one against: still worth a look; two against none for: not */
	f.value[FIGURE_cpu_busy_frac] = 0.1;
	ck_assert_uint_eq(diagnose_rank(t.list, 4, &f, USE_ANY, found), 1);
	ck_assert_int_eq(found[0].n_against, 1);
	f.value[FIGURE_gpu_busy_frac] = 0.9;
	ck_assert_uint_eq(diagnose_rank(t.list, 4, &f, USE_ANY, found), 0);
	/* a required sign, and one that rules the cause out */
	f.value[FIGURE_occupancy_frac] = 0.2;
	ck_assert_uint_eq(diagnose_rank(t.list, 4, &f, USE_ANY, found), 0);
	f.value[FIGURE_bandwidth_frac] = 0.9;
	ck_assert_uint_eq(diagnose_rank(t.list, 4, &f, USE_ANY, found), 1);
	f.value[FIGURE_comm_frac] = 0.4;
	diagnose_rank(t.list, 4, &f, USE_ANY, found);
	ck_assert_str_eq(found[0].cause->id, "comm");
	ck_assert_uint_eq(diagnose_rank(t.list, 4, &f, USE_ANY, found), 1);
}
END_TEST

/* --- figures that follow --------------------------------------------------------------------------------- */

START_TEST(what_follows)
{
	const double parts[] = {0.2, 0.3, 0.05}, times[] = {0.45, 0.58, 0.12, 0.14};

	ck_assert_double_eq_tol(diagnose_together(NULL, parts, 3), 0.55, 1e-12);
	ck_assert_double_eq(diagnose_together(NULL, parts, 0), 0);
	ck_assert_double_eq_tol(diagnose_step(NULL, times, 4), 1.29, 1e-12);
	ck_assert_double_eq_tol(diagnose_idle(NULL, 0.42, 0, 0.45), 0.13, 1e-12);
	ck_assert_double_eq_tol(diagnose_idle(NULL, 0.42, 0.89, 0.11), 0, 1e-12);
	ck_assert_double_eq(diagnose_idle(NULL, 1, 0, 0.45), 0);
	ck_assert_double_eq_tol(diagnose_excess(NULL, 0.45, 0.18, 1), 0.27, 1e-12);
	ck_assert_double_eq(diagnose_excess(NULL, 0.1, 0.18, 1), 0);
	ck_assert_double_eq_tol(diagnose_clock(NULL, 1.4e9, 1.98e9), 0.70707, 1e-5);
	ck_assert_double_eq_tol(diagnose_memory(NULL, 70e9, 80e9), 0.875, 1e-12);
}
END_TEST

/* --- files ----------------------------------------------------------------------------------------------- */

static bool
bind(const char *text, struct diag *d, struct arena *a, struct diagnosis *out)
{
	const struct node *root = tree_read_text(a, d, "test.yaml", text, strlen(text));
	struct binder b = {.arena = a, .diag = d, .sources = tree_get(root, "sources")};

	ck_assert_ptr_nonnull(root);
	return diagnosis_bind(&b, root, "test", out);
}

#define FILE_OF(signs, more)                                                                                           \
	"format: 1\nname: N\nsources: {s: \"a source\"}\nharm: slows\nsigns: " signs "\nfixes: [[\"do it\", "          \
	"s]]\n" more

START_TEST(a_file)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct diagnosis out;

	ck_assert(bind(FILE_OF("[{figure: kernel_s, below: [10us, s]}, {figure: oom, required: true}]",
	                   "stakes: [1 - efficiency_frac, comm_s / step_s]\ncommand: \"data --step {step_s|450ms}\"\n"),
	    d, a, &out));
	ck_assert_int_eq(out.n_signs, 2);
	ck_assert_int_eq(out.signs[0].figure, FIGURE_kernel_s);
	ck_assert_double_eq(out.signs[0].below.value, 10e-6);
	ck_assert_str_eq(out.signs[0].below.from.cite, "a source");
	ck_assert(!datum_given(out.signs[0].above) && !out.signs[0].required && out.signs[1].required);
	ck_assert_int_eq(out.n_stakes, 2);
	ck_assert_str_eq(out.fixes[0].cite, "a source");
	arena_free(a);
}
END_TEST

static const char *const wrong[] = {
    FILE_OF("[{figure: temper}]", "command: \"data\"\n"),
    FILE_OF("[{figure: kernel_s, below: 60%}]", "command: \"data\"\n"),
    FILE_OF("[{figure: oom, belo: 1}]", "command: \"data\"\n"),
    FILE_OF("[]", "command: \"data\"\n"),
    FILE_OF("[{figure: oom}]", "stakes: [1 - temper]\ncommand: \"data\"\n"),
    FILE_OF("[{figure: oom}]", "stakes: [step_s]\ncommand: \"data\"\n"),
    FILE_OF("[{figure: oom}]", "stakes: comm_frac\ncommand: \"data\"\n"),
    FILE_OF("[{figure: oom}]", "command: \"data --step {step_s}\"\n"),
    FILE_OF("[{figure: oom}]", "command: \"data --step {temper|3}\"\n"),
    FILE_OF("[{figure: oom}]", "command: \"data --step {step_s|3\"\n"),
    FILE_OF("[{figure: oom}]", ""),
    "format: 1\nname: N\nsources: {s: \"a source\"}\nharm: slows\nsigns: [{figure: oom}]\nfixes: [[\"do it\", t]]\n"
    "command: \"data\"\n",
    "format: 1\nname: N\nsources: {s: \"a source\"}\nharm: slows\nsigns: [{figure: oom}]\nfixes: []\ncommand: "
    "\"data\"\n",
};

START_TEST(a_wrong_file)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct diagnosis out;
	struct source at;
	const char *hint;
	enum severity severity;

	ck_assert(!bind(wrong[_i], d, a, &out));
	ck_assert_int_gt(diag_errors(d), 0);
	/* each fault has its place, and a way out */
	for (int i = 0; diag_message(d, i, &at, &hint, &severity); i++) {
		ck_assert_int_gt(at.line, 0);
		ck_assert_ptr_nonnull(hint);
	}
	arena_free(a);
}
END_TEST

/* --- command lines --------------------------------------------------------------------------------------- */

static const char *
step_only(void *context, const char *name)
{
	(void)context;
	return strcmp(name, "step_s") == 0 ? "1.2s" : NULL;
}

static void
count(void *context, const char *name, const char *example)
{
	ck_assert_str_eq(name, "load_s");
	ck_assert_str_eq(example, "75ms");
	++*(int *)context;
}

START_TEST(a_command_line)
{
	struct arena *a = arena_new();
	int n = 0, column;
	const struct diagnosis_words words = {step_only, count, &n};

	ck_assert_str_eq(diagnosis_command(a, "data --step {step_s|450ms} --load {load_s|75ms}", &words, &column),
	    "data --step 1.2s --load 75ms");
	ck_assert_int_eq(n, 1);
	ck_assert_ptr_null(diagnosis_command(a, "data --step {step_s", &words, &column));
	ck_assert_int_eq(column, 13);
	arena_free(a);
}
END_TEST

Suite *diagnose_suite(void);

Suite *
diagnose_suite(void)
{
	Suite *s = suite_create("diagnose");
	TCase *c = tcase_create("diagnose");

	tcase_add_test(c, a_sign_needs_its_figure);
	tcase_add_test(c, names_of_figures);
	tcase_add_test(c, the_larger_share_comes_first);
	tcase_add_test(c, signs_for_and_against);
	tcase_add_test(c, what_follows);
	tcase_add_test(c, a_file);
	tcase_add_loop_test(c, a_wrong_file, 0, sizeof wrong / sizeof *wrong);
	tcase_add_test(c, a_command_line);
	suite_add_tcase(s, c);
	return s;
}
