/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public library: the same answers as the program, its messages, and what it says of wrong questions. */
#include <ridge/ridge.h>

#include <check.h>

#include "cli/cli.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct ridge *r;

static void
setup(void)
{
	r = ridge_open(NULL);
}

static void
teardown(void)
{
	ridge_close(r);
}

/* What `ridge COMMAND --jsonl FILE` prints for this line; the caller frees it. */
static char *
printed_line(const char *command, const char *line)
{
	char in[] = "/tmp/ridge-line-XXXXXX", out[] = "/tmp/ridge-said-XXXXXX";
	const int to_in = mkstemp(in), to_out = mkstemp(out);
	char *words[] = {"ridge", strdup(command), "--jsonl", in, NULL};
	int status;

	ck_assert_int_ge(to_in, 0);
	ck_assert_int_ge(to_out, 0);
	ck_assert_int_eq(write(to_in, line, strlen(line)), (ssize_t)strlen(line));
	fflush(NULL);
	const pid_t child = fork();
	if (child == 0) {
		if (dup2(to_out, STDOUT_FILENO) < 0 || !freopen("/dev/null", "w", stderr))
			_exit(99);
		const int said = ridge_main(4, words, NULL);
		fflush(stdout);
		_exit(said);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) != 99);
	free(words[1]);
	FILE *file = fopen(out, "r");
	char *text = calloc(1, 1 << 20);
	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, (1 << 20) - 1, file)] = '\0';
	fclose(file);
	close(to_in);
	close(to_out);
	unlink(in);
	unlink(out);
	return text;
}

static const struct {
	const char *command, *inputs;
} questions[] = {
    {"kv", "{\"model\": \"llama3-8b\", \"seq\": 8192, \"batch\": 16, \"gpu\": \"h100\"}"},
    {"memory", "{\"model\": \"llama3-70b\", \"gpu\": \"h100\", \"layout\": \"tp=8,pp=2,dp=2\"}"},
    {"train", "{\"model\": \"llama3-8b\", \"gpu\": \"h100\", \"gpus\": 8, \"layout.dp\": 8}"},
    {"serve", "{\"model\": \"llama3-70b\", \"gpu\": \"h100\", \"layout\": {\"tp\": 8}, \"batch\": 16}"},
    {"serve",
        "{\"model\": \"llama3-8b\", \"gpu\": \"h100\", \"set\": {\"gpu\": {\"mem_bw\": \"2TB/s\"}}, \"batch\": 4}"},
    {"comm", "{\"gpu\": \"h100\", \"ranks\": 16, \"size\": \"1GB\"}"},
    {"capacity", "{\"model\": \"llama3-70b\", \"gpu\": \"h100\", \"users\": 100, \"tokens\": 4096}"},
    {"roofline", "{\"model\": \"llama3-8b\", \"gpu\": \"h100\"}"},
    {"kv", "{\"model\": \"llama3-8c\"}"},
    {"train", "{\"model\": \"llama3-8b\", \"gpu\": \"h100\", \"gpus\": 8, \"layout\": {\"tp\": 3}}"},
};

/* Says where two long texts part; sources, which come last, name the file of the question. */
static void
must_be_same(const char *one, const char *other)
{
	size_t i = 0;

	while (one[i] && one[i] == other[i] && strncmp(one + i, "\"sources\"", 9) != 0)
		i++;
	const size_t from = i < 40 ? 0 : i - 40;
	ck_assert_msg(one[i] == other[i], "'%.80s' is not '%.80s'", one + from, other + from);
}

START_TEST(the_library_answers_as_a_line_does)
{
	const char *command = questions[_i].command, *inputs = questions[_i].inputs;
	struct ridge_answer *a = ridge_ask(r, command, inputs);
	char *line = printed_line(command, inputs);

	ck_assert_int_ge((int)strlen(line), 20);
	if (ridge_status(a) == RIDGE_REFUSED) /* places differ: a line has a file */
		ck_assert_ptr_nonnull(strstr(line, "\"errors\""));
	else
		must_be_same(ridge_json(a, false), line);
	ridge_answer_free(a);
	free(line);
}
END_TEST

START_TEST(numbers_words_and_ends)
{
	struct ridge_answer *a =
	    ridge_ask(r, "serve", "{model: llama3-70b, gpu: h100, layout: {tp: 8}, batch: 16, isl: 1000, osl: 100}");
	double tpot_s = 0, low_s = 0, high_s = 0, part_s = 0, none = -1;

	ck_assert_int_eq(ridge_status(a), RIDGE_ANSWERED);
	ck_assert(ridge_number(a, "tpot_s", &tpot_s) && ridge_number(a, "tpot_s.low", &low_s) &&
	    ridge_number(a, "tpot_s.high", &high_s));
	ck_assert(0 < low_s && low_s < tpot_s && tpot_s < high_s && high_s < 1);
	ck_assert(ridge_number(a, "breakdown.gemm.time_s", &part_s) && 0 < part_s && part_s < tpot_s);
	ck_assert_str_eq(ridge_word(a, "bottleneck"), "memory bandwidth");
	ck_assert_ptr_null(ridge_word(a, "tpot_s"));
	ck_assert(!ridge_number(a, "bottleneck", &none) && !ridge_number(a, "peak_bite", &none) && none == -1);
	bool found = false;
	for (size_t i = 0; ridge_id(a, i); i++)
		found = found || strcmp(ridge_id(a, i), "tpot_s") == 0;
	ck_assert(found);
	ck_assert_str_eq(ridge_label("tpot_s"), "TPOT");
	ck_assert_ptr_nonnull(ridge_meaning("tpot_s"));
	ck_assert_ptr_null(ridge_label("tpot"));
	ck_assert_ptr_nonnull(strstr(ridge_json(a, true), "\"trace\""));
	ridge_answer_free(a);
}
END_TEST

START_TEST(a_no_is_an_answer)
{
	struct ridge_answer *a = ridge_ask(r, "memory", "{model: llama3-70b, gpu: h100, layout: {tp: 1}}");
	double peak_byte;

	ck_assert_int_eq(ridge_status(a), RIDGE_NO);
	ck_assert(ridge_number(a, "peak_byte", &peak_byte) && peak_byte > 80e9);
	ridge_answer_free(a);
}
END_TEST

/* A wrong question, what its first error and its hint say. */
static const struct {
	const char *command, *inputs, *text, *hint;
} wrong[] = {
    {"mem", "{model: llama3-8b}", "there is no command 'mem'", NULL},
    {"memry", "{model: llama3-8b}", "there is no command 'memry'", "did you mean 'memory'?"},
    {"kv", "[llama3-8b]", "expected a map of inputs", "write {model: llama3-8b, seq: 8192}"},
    {"kv", "{model: llama3-8b, sec: 10}", "sec", "seq"},
    {"kv", "{model: llama3-8b, seq: -1}", "of at least 1", NULL},
    {"kv", "{model: [", "", NULL},
    {"kv", "", "", NULL},
};

START_TEST(wrong_questions_are_refused)
{
	struct ridge_answer *a = ridge_ask(r, wrong[_i].command, wrong[_i].inputs);
	struct ridge_message m = {.severity = RIDGE_ASSUMPTION};
	double value = 0;

	ck_assert_int_eq(ridge_status(a), RIDGE_REFUSED);
	ck_assert(ridge_message(a, 0, &m));
	ck_assert_int_eq(m.severity, RIDGE_ERROR);
	ck_assert_msg(strstr(m.text, wrong[_i].text) != NULL, "%s", m.text);
	ck_assert_msg(!wrong[_i].hint || (m.hint && strstr(m.hint, wrong[_i].hint)), "%s", m.hint);
	ck_assert(!ridge_number(a, "kv_byte", &value));
	ck_assert_ptr_null(ridge_id(a, 0));
	ck_assert_ptr_nonnull(strstr(ridge_json(a, false), "\"errors\""));
	ridge_answer_free(a);
}
END_TEST

START_TEST(a_refusal_does_not_spoil_the_next_answer)
{
	ridge_answer_free(ridge_ask(r, "kv", "{model: nothing}"));
	struct ridge_answer *a = ridge_ask(r, "kv", "{model: llama3-8b}");
	struct ridge_message m;

	ck_assert_int_eq(ridge_status(a), RIDGE_ANSWERED);
	for (size_t i = 0; ridge_message(a, i, &m); i++)
		ck_assert_int_ne(m.severity, RIDGE_ERROR);
	ridge_answer_free(a);
}
END_TEST

Suite *library_suite(void);

Suite *
library_suite(void)
{
	Suite *suite = suite_create("library");
	TCase *tc = tcase_create("library");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, the_library_answers_as_a_line_does, 0, (int)(sizeof questions / sizeof *questions));
	tcase_add_test(tc, numbers_words_and_ends);
	tcase_add_test(tc, a_no_is_an_answer);
	tcase_add_loop_test(tc, wrong_questions_are_refused, 0, (int)(sizeof wrong / sizeof *wrong));
	tcase_add_test(tc, a_refusal_does_not_spoil_the_next_answer);
	return suite;
}
