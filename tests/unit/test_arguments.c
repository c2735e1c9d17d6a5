/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line as data, and from data to a command's struct. */
#include "cli/cli.h"

#include "said.h"
#include "toy.h"

#include <math.h>

static struct arena *a;
static struct diag *d;
static struct arguments args;

static enum answer
toy_run(struct run *r, const void *in)
{
	(void)r;
	(void)in;
	return ANSWERED;
}

static void
set_up(void)
{
	a = arena_new();
	d = diag_new(a);
	diag_program(d, "ridge toy");
}

static void
tear_down(void)
{
	arena_free(a);
}

/* Words separated by blanks. */
static bool
parse(const char *line)
{
	char *words[64], *text = arena_text(a, line);
	int n = 0;

	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		words[n++] = word;
	if (!arguments_parse(a, d, &toy, n, words, &args))
		return false;
	arguments_place(a, d, &toy, &args);
	return diag_errors(d) == 0;
}

static const char *
setting(const struct settings *s, const char *path)
{
	const char *text = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->list[i].path, path) == 0)
			text = s->list[i].text;
	return text;
}

/* --- spelling -------------------------------------------------------------------------------------------- */

static const struct {
	const char *line, *path, *text;
} spellings[] = {
    {"--gpu h100", "gpu", "h100"},
    {"--gpu=h100", "gpu", "h100"},
    {"-g h100", "gpu", "h100"},
    {"-gh100", "gpu", "h100"},
    {"--gpu=", "gpu", ""},
    {"--gpu a=b", "gpu", "a=b"},
    {"--gpu=a=b", "gpu", "a=b"},
    {"--batch -5", "batch", "-5"},
    {"-b8 -g h100", "batch", "8"},
    {"-vb8", "batch", "8"},
    {"-v", "verbose", "true"},
    {"-vw", "wide", "true"},
    {"--verbose=false", "verbose", "false"},
    {"--layout tp=8,sp,zero=3", "layout.tp", "8"},
    {"--layout tp=8,sp,zero=3", "layout.sp", "true"},
    {"--layout=tp=8,zero=3", "layout.zero", "3"},
    {"--layout tp=8 --layout pp=2", "layout.pp", "2"},
    {"llama", "model", "llama"},
    {"-v llama", "model", "llama"},
    {"llama a b c", "names", "a,b,c"},
    {"-- -v --gpu", "model", "-v"},
    {"-- -v --gpu", "names", "--gpu"},
    {"a -- --", "names", "--"},
    {"-", "model", "-"},
    {"--model=a", "model", "a"},
};

START_TEST(options_are_read)
{
	ck_assert_msg(parse(spellings[_i].line), "%s: %s", spellings[_i].line, said(a, d));
	const char *text = setting(&args.options, spellings[_i].path);
	ck_assert_msg(
	    text && strcmp(text, spellings[_i].text) == 0, "%s: %s = %s", spellings[_i].line, spellings[_i].path, text);
}
END_TEST

static const struct {
	const char *line, *path, *text;
} sets[] = {
    {"--set batch=4", "batch", "4"},
    {"--set batch=4,seq=8", "seq", "8"},
    {"--set gpu.memory.bandwidth=3TB/s", "gpu.memory.bandwidth", "3TB/s"},
    {"--set names=a,b,c,batch=2", "names", "a,b,c"},
    {"--set names=a,b,c,batch=2", "batch", "2"},
    {"--set batch=1 --set batch=2", "batch", "2"},
    {"--set batch=", "batch", ""},
};

START_TEST(sets_are_read)
{
	ck_assert_msg(parse(sets[_i].line), "%s: %s", sets[_i].line, said(a, d));
	const char *text = setting(&args.sets, sets[_i].path);
	ck_assert_msg(text && strcmp(text, sets[_i].text) == 0, "%s: %s = %s", sets[_i].line, sets[_i].path, text);
}
END_TEST

START_TEST(options_of_every_command)
{
	ck_assert(parse("--json -q -o out.json --color=never --hwdb /x"));
	ck_assert_ptr_nonnull(args.json);
	ck_assert_ptr_nonnull(args.quiet);
	ck_assert_str_eq(args.output, "out.json");
	ck_assert_str_eq(args.color, "never");
	ck_assert_str_eq(args.hwdb, "/x");
	ck_assert_ptr_null(args.csv);
	ck_assert(parse("--explain"));
	ck_assert_str_eq(args.explain, "");
	ck_assert(parse("--explain=row"));
	ck_assert_str_eq(args.explain, "row");
	ck_assert(parse("--sweep batch=1..8*2 --sweep seq=1,2"));
	ck_assert_uint_eq(args.sweeps.n, 2);
	ck_assert_str_eq(setting(&args.sweeps, "batch"), "1..8*2");
	ck_assert(parse("-qv"));
	ck_assert_ptr_nonnull(args.quiet);
	ck_assert_str_eq(setting(&args.options, "verbose"), "true");
}
END_TEST

static const struct {
	const char *line, *what;
} refused[] = {
    {"--foo", "there is no option '--foo'"},
    {"--bacth 4", "did you mean '--batch'?"},
    {"--lay tp=8", "did you mean '--layout'?"},
    {"--jason", "did you mean '--json'?"},
    {"-x", "there is no option '-x'"},
    {"-vx", "there is no option '-x'"},
    {"--gpu", "--gpu: error: needs a value"},
    {"-g", "--gpu: error: needs a value"},
    {"-o", "-o: error: needs a value"},
    {"--json=1", "--json: error: takes no value"},
    {"--gpu a --gpu b", "--gpu: error: is given twice"},
    {"-g a --gpu b", "--gpu: error: is given twice"},
    {"--json --json", "--json: error: is given twice"},
    {"-v -v", "--verbose: error: is given twice"},
    {"a --model b", "'model' is given twice"},
    {"--layout tp=8,tp=4", "'tp' is given twice"},
    {"--layout tp=8 --layout tp=4", "'tp' is given twice"},
    {"--layout =8", "not of the form NAME=VALUE"},
    {"--layout tp=8,,pp=2", "not of the form NAME=VALUE"},
    {"--set batch", "not of the form NAME=VALUE"},
    {"--set =4", "not of the form NAME=VALUE"},
    {"--set", "--set: error: needs a value"},
    {"--sweep batch", "not of the form NAME=LIST"},
    {"--sweep batch=", "not of the form NAME=LIST"},
    {"--sweep =1,2", "not of the form NAME=LIST"},
    {"--sweep batch=1 --sweep batch=2", "'batch' is swept twice"},
    {"--color blue", "'blue' is not one of auto, always, never"},
    {"--json --csv", "--json and --csv exclude each other"},
    {"--json --md", "--json and --md exclude each other"},
    {"--json --explain=x", "--json and --explain=ROW exclude each other"},
    {"--json --get x", "--json and --get exclude each other"},
    {"--csv --md", "--csv and --md exclude each other"},
    {"--csv --explain", "--csv and --explain exclude each other"},
    {"--csv --get x", "--csv and --get exclude each other"},
    {"--md --explain=x", "--md and --explain exclude each other"},
    {"--md --get x", "--md and --get exclude each other"},
    {"--explain --get x", "--explain and --get exclude each other"},
    {"--solve batch", "--solve and --until go together"},
    {"--until x<=5", "--solve and --until go together"},
    {"--solve batch --until x<=5 --sweep seq=1,2", "--solve and --sweep exclude each other"},
    {"--explain --sweep seq=1,2", "--explain and --sweep exclude each other"},
    {"--jsonl - --sweep seq=1,2", "--jsonl and --sweep exclude each other"},
    {"--jsonl - --solve batch --until x<=5", "--jsonl and --solve exclude each other"},
    {"--jsonl - --md", "--jsonl and --md exclude each other"},
    {"--jsonl - -o f", "--jsonl and --output exclude each other"},
};

START_TEST(refuses)
{
	ck_assert_msg(!parse(refused[_i].line), "was accepted: %s", refused[_i].line);
	ck_assert_has(said(a, d), refused[_i].what);
	ck_assert_has(said(a, d), "hint: ");
}
END_TEST

START_TEST(all_faults_of_a_line)
{
	ck_assert(!parse("--foo --gpu a --gpu b --color blue --set x"));
	ck_assert_int_eq(diag_errors(d), 4);
}
END_TEST

START_TEST(a_path_of_a_mile)
{
	char *text = malloc(200000), *p = text + 6;

	memcpy(text, "--set ", 6);
	for (int i = 0; i < 60000; i++) {
		*p++ = 'a';
		*p++ = '.';
	}
	strcpy(p, "b=1");
	ck_assert(!parse(text));
	ck_assert_has(said(a, d), "input path of");
	free(text);
}
END_TEST

START_TEST(too_many_operands)
{
	static const struct command narrow = {.name = "toy",
	    .operands = "model",
	    .usage = "MODEL",
	    .groups = toy_groups,
	    .n_groups = 2,
	    .input_size = sizeof(struct toy_in),
	    .run = toy_run};
	char *words[] = {(char[]){"a"}, (char[]){"b"}};

	ck_assert(arguments_parse(a, d, &narrow, 2, words, &args));
	arguments_place(a, d, &narrow, &args);
	ck_assert_has(said(a, d), "extra operand 'b'");
	ck_assert_has(said(a, d), "usage: ridge toy MODEL");
}
END_TEST

/* --- to the struct --------------------------------------------------------------------------------------- */

static bool
bind(const char *job, const char *line, struct toy_in *in)
{
	const struct node *tree = job ? tree_read_text(a, d, "job.yaml", job, strlen(job)) : NULL;

	ck_assert_msg(!job || tree, "%s", said(a, d));
	ck_assert_msg(parse(line), "%s", said(a, d));
	return inputs_bind(a, d, &toy, inputs_tree(a, d, &toy, tree, &args), in);
}

START_TEST(every_kind_is_bound)
{
	struct toy_in in;

	ck_assert_msg(bind(NULL,
	                  "llama a b --gpu h100 --batch 8Ki --bandwidth 400Gbit/s --share 20% --dtype fp8 -v "
	                  "--layout tp=8,sp --set outer.deep=3",
	                  &in),
	    "%s", said(a, d));
	ck_assert_str_eq(in.model.text, "llama");
	ck_assert_str_eq(in.gpu.text, "h100");
	ck_assert_str_eq(in.gpu.from.file, "--gpu");
	ck_assert(in.batch.value == 8192);
	ck_assert_str_eq(in.batch.from.file, "--batch");
	ck_assert(in.bandwidth.value == 50e9);
	ck_assert(in.share.value == 0.2);
	ck_assert_str_eq(in.dtype.text, "fp8");
	ck_assert_uint_eq(in.names.n, 2);
	ck_assert_str_eq(in.names.list[1].text, "b");
	ck_assert(in.verbose && !in.wide);
	ck_assert(in.layout.tp.value == 8 && in.layout.sp);
	ck_assert(!datum_given(in.layout.pp) && !datum_given(in.seq));
	ck_assert(in.deep.value == 3);
}
END_TEST

START_TEST(defaults_say_so)
{
	struct toy_in in;

	ck_assert(bind(NULL, "", &in));
	ck_assert(in.batch.value == 1);
	ck_assert_ptr_eq(in.batch.from.file, inputs_default);
	ck_assert_str_eq(in.dtype.text, "bf16");
	ck_assert_ptr_eq(in.dtype.from.file, inputs_default);
	ck_assert_ptr_null(in.gpu.text);
	ck_assert(!in.verbose);
}
END_TEST

/* option > --set > file > default */
START_TEST(precedence)
{
	struct toy_in in;

	ck_assert(bind("batch: 2\nseq: 2\nshare: 0.2\n", "--batch 4 --set batch=3,seq=3", &in));
	ck_assert(in.batch.value == 4);
	ck_assert(in.seq.value == 3);
	ck_assert(in.share.value == 0.2);
	ck_assert_str_eq(in.dtype.text, "bf16");
	ck_assert_str_eq(in.share.from.file, "job.yaml");
	ck_assert_int_eq(in.share.from.line, 3);
}
END_TEST

START_TEST(a_job_says_the_same_things)
{
	struct toy_in in;

	ck_assert_msg(
	    bind("format: 1\ncommand: toy\nmodel: llama\nlayout: {tp: 8, sp: true}\nlayout.pp: 2\n"
	         "names: [a, b]\npoints: [{x: 1}]\nouter: {deep: 5}\ngpu: {name: h100, memory: {bandwidth: 1TB/s}}\n"
	         "verbose: true\nbatch: [4, \"a citation in place\"]\ndtype: {name: fp8}\n",
	        "", &in),
	    "%s", said(a, d));
	ck_assert(in.layout.tp.value == 8 && in.layout.sp && in.layout.pp.value == 2);
	ck_assert_uint_eq(in.names.n, 2);
	ck_assert_uint_eq(in.points->n, 1);
	ck_assert(in.deep.value == 5);
	ck_assert_str_eq(in.gpu.text, "h100");
	ck_assert(in.verbose);
	ck_assert_str_eq(in.batch.from.cite, "a citation in place");
	ck_assert_str_eq(in.dtype.text, "fp8");
}
END_TEST

START_TEST(what_is_laid_over_an_entry)
{
	struct toy_in in;

	ck_assert(bind(NULL, "--gpu h100 --set gpu.memory.bandwidth=1TB/s", &in));
	const struct node *tree = inputs_tree(a, d, &toy, NULL, &args);
	ck_assert_str_eq(in.gpu.text, "h100");
	ck_assert_str_eq(tree_at(inputs_overlay(a, &toy, tree, "gpu"), "memory.bandwidth")->text, "1TB/s");
	ck_assert_ptr_null(tree_get(inputs_overlay(a, &toy, tree, "gpu"), "name"));
	ck_assert_ptr_null(inputs_overlay(a, &toy, tree, "model"));
}
END_TEST

static const struct {
	const char *job, *line, *what;
} unbound[] = {
    {NULL, "--batch many", "ridge toy: --batch: error: 'many' is not a count"},
    {NULL, "--batch 128k", "can be read two ways"},
    {NULL, "--batch -5", "batch must be a whole number of at least 1"},
    {NULL, "--batch nan", "'nan' is not a count"},
    {NULL, "--batch 1e999", "out of range"},
    {NULL, "--bandwidth 50", "has no unit"},
    {NULL, "--bandwidth 50GB", "is a size in bytes, but a rate"},
    {NULL, "--dtype fp9", "'fp9' is not one of fp16|bf16|fp8"},
    {NULL, "--dtype fp9", "did you mean 'fp8'?"},
    {NULL, "--verbose=perhaps", "'verbose' must be true or false"},
    {NULL, "--set bacth=4", "ridge toy: --set bacth: error: 'toy' has no input 'bacth'"},
    {NULL, "--set bacth=4", "did you mean 'batch'?"},
    {NULL, "--set layout.tq=4", "did you mean 'layout.tp'?"},
    {NULL, "--layout tq=4", "a layout has no 'tq'"},
    {NULL, "--set outer.other=4", "'toy' has no input 'outer.other'"},
    {NULL, "--set link.kind=4", "'toy' has no input 'link'"},
    {"bacth: 4\n", "", "job.yaml:1:8: error: 'toy' has no input 'bacth'"},
    {"batch: many\n", "", "job.yaml:1:8: error: 'many' is not a count"},
    {"layout: {tp: [1, 2, 3]}\n", "", "job.yaml:1:14: error: expected a count"},
    {"layout.tq: 4\n", "", "a layout has no 'tq'"},
    {"gpu: [a, b]\n", "", "job.yaml:1:6: error: 'gpu' must be one word"},
    {"gpu:\n", "", "'gpu' must be one word"},
    {"verbose: 7\n", "", "'verbose' must be true or false"},
};

START_TEST(what_cannot_be_bound)
{
	struct toy_in in;

	ck_assert(!bind(unbound[_i].job, unbound[_i].line, &in));
	ck_assert_has(said(a, d), unbound[_i].what);
	ck_assert_has(said(a, d), "hint: ");
}
END_TEST

START_TEST(names_and_paths)
{
	ck_assert_str_eq(inputs_path(&toy, "batch"), "batch");
	ck_assert_str_eq(inputs_path(&toy, "--batch"), "batch");
	ck_assert_str_eq(inputs_path(&toy, "layout.tp"), "layout.tp");
	ck_assert_str_eq(inputs_path(&toy, "anything"), "anything");
	ck_assert_ptr_null(command_option_named(&toy, "bat"));
	ck_assert_ptr_nonnull(command_option_at(&toy, "layout.tp"));
	ck_assert(command_has_layout(&toy));
}
END_TEST

Suite *arguments_suite(void);

Suite *
arguments_suite(void)
{
	Suite *s = suite_create("arguments");
	TCase *t = tcase_create("arguments");

	tcase_set_timeout(t, 60); /* sanitizers and busy machines */
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, options_are_read, 0, (int)(sizeof spellings / sizeof *spellings));
	tcase_add_loop_test(t, sets_are_read, 0, (int)(sizeof sets / sizeof *sets));
	tcase_add_test(t, options_of_every_command);
	tcase_add_loop_test(t, refuses, 0, (int)(sizeof refused / sizeof *refused));
	tcase_add_test(t, all_faults_of_a_line);
	tcase_add_test(t, a_path_of_a_mile);
	tcase_add_test(t, too_many_operands);
	tcase_add_test(t, every_kind_is_bound);
	tcase_add_test(t, defaults_say_so);
	tcase_add_test(t, precedence);
	tcase_add_test(t, a_job_says_the_same_things);
	tcase_add_test(t, what_is_laid_over_an_entry);
	tcase_add_loop_test(t, what_cannot_be_bound, 0, (int)(sizeof unbound / sizeof *unbound));
	tcase_add_test(t, names_and_paths);
	suite_add_tcase(s, t);
	return s;
}
