/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "import/import.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bench {
	struct arena *arena;
	struct diag *diag;
	struct trace trace;
	bool ok;
};

static struct bench
read_text(const char *text, uint32_t prefix_block)
{
	char path[] = "/tmp/ridge-trace-XXXXXX";
	struct bench b = {.arena = arena_new()};
	const int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	b.diag = diag_new(b.arena);
	b.ok = trace_read(b.arena, b.diag, path, prefix_block, &b.trace);
	unlink(path);
	return b;
}

static void
check_row(const struct bench *b, size_t i, double arrival_s, uint32_t isl, uint32_t osl)
{
	ck_assert_uint_lt(i, b->trace.n);
	ck_assert_double_eq_tol(b->trace.requests[i].arrival_s, arrival_s, 1e-9);
	ck_assert_uint_eq(b->trace.requests[i].isl_token, isl);
	ck_assert_uint_eq(b->trace.requests[i].osl_token, osl);
}

START_TEST(forms)
{
	static const struct {
		const char *text;
	} cases[] = {
	    {"arrival,input,output\n0,100,10\n1.5,200,20\n"},
	    {"# a comment\n\n5,100,10\n6.5,200,20\n"},
	    {"osl,arrival [ms],isl\n10,0,100\n20,1500,200\n"},
	    {"\"timestamp_ms\",\"input_tokens\",\"output_tokens\"\r\n\"0\",\"100\",\"10\"\r\n\"1500\",\"200\","
	     "\"20\"\r\n"},
	    {"\xef\xbb\xbfTIMESTAMP,ContextTokens,GeneratedTokens\n"
	     "2023-11-16 18:15:46.6805900,100,10\n2023-11-16 18:15:48.1805900,200,20\n"},
	    {"TIMESTAMP,ContextTokens,GeneratedTokens\n"
	     "2023-12-31 23:59:59+00:00,100,10\n2024-01-01T01:00:00.5+01:00,200,20\n"},
	    {"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
	     "5,ChatGPT,100,10,110,Conversation log\n6.5,GPT-4,200,20,220,Conversation log\n"},
	    {"{\"arrival\": 0, \"input\": 100, \"output\": 10}\n{\"output\": 20, \"input\": 200, \"arrival\": 1.5}\n"},
	    {"{\"timestamp\": 27482, \"input_length\": 100, \"output_length\": 10, \"hash_ids\": [46, 47]}\n"
	     "{\"timestamp\": 28982, \"input_length\": 200, \"output_length\": 20, \"hash_ids\": [46, 48]}"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bench b = read_text(cases[i].text, 0);
		ck_assert_msg(b.ok, "case %zu", i);
		ck_assert_uint_eq(b.trace.n, 2);
		check_row(&b, 0, 0, 100, 10);
		check_row(&b, 1, 1.5, 200, 20);
		ck_assert_uint_eq(b.trace.requests[1].cached_token, 0);
		arena_free(b.arena);
	}
}
END_TEST

START_TEST(prefixes)
{
	struct bench b =
	    read_text("{\"timestamp\": 0, \"input_length\": 1300, \"output_length\": 1, \"hash_ids\": [1, 2, 3]}\n"
	              "{\"timestamp\": 1, \"input_length\": 1400, \"output_length\": 1, \"hash_ids\": [1, 2, 90000]}\n"
	              "{\"timestamp\": 2, \"input_length\": 1500, \"output_length\": 1, \"hash_ids\": [7, 2, 3]}\n",
	        512);

	ck_assert(b.ok && b.trace.hashed);
	ck_assert_uint_eq(b.trace.requests[0].cached_token, 0);
	ck_assert_uint_eq(b.trace.requests[1].cached_token, 1024);
	ck_assert_uint_eq(b.trace.requests[2].cached_token, 0); /* a prefix begins at the beginning */
	arena_free(b.arena);
}
END_TEST

START_TEST(faults_name_their_rows)
{
	static const struct {
		const char *text, *message;
		int line, n_faults;
	} cases[] = {
	    {"arrival,input,output\n0,1,1\n2,1,1\n1,1,1\n", "row 3: arrival before the previous row", 4, 1},
	    {"arrival,input,output\n0,1,1\n1,0,1\n2,1,-5\n", "row 2: input of '0' tokens", 3, 2},
	    {"arrival,input,output\n0,1,1.5\n", "row 1: output of '1.5' tokens", 2, 1},
	    {"arrival,input,output\n0,1,1e9\n", "row 1: output of '1e9' tokens", 2, 1},
	    {"arrival,input,output\n0,1\n", "row 1: no output", 2, 1},
	    {"arrival,input,output\nnoon,1,1\n", "row 1: 'noon' is not a time", 2, 1},
	    {"arrival,input,output\nnan,1,1\n", "row 1: 'nan' is not a time", 2, 1},
	    {"arrival,input,output\n2023-13-01 00:00:00,1,1\n", "row 1: '2023-13-01 00:00:00' is not a time", 2, 1},
	    {"arrival,input\n0,1\n", "the trace has no column 'output'", 1, 1},
	    {"arrival,input,output\n", "the trace is empty", 0, 1},
	    {"[{\"arrival\": 0}]\n", "a list in JSON", 1, 1},
	    {"{\"arrival\": 0, \"input\": 5}\n", "row 1: no output", 1, 1},
	    {"{\"arrival\": 0, \"input\": 5, \"output\": 5}\n[]\n", "row 2: not a JSON object", 2, 1},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bench b = read_text(cases[i].text, 0);
		struct source at;
		const char *hint;
		enum severity severity;
		ck_assert_msg(!b.ok, "case %zu", i);
		ck_assert_int_eq(diag_errors(b.diag), cases[i].n_faults);
		ck_assert_str_eq(diag_message(b.diag, 0, &at, &hint, &severity), cases[i].message);
		ck_assert_int_eq(at.line, cases[i].line);
		ck_assert_ptr_nonnull(hint);
		arena_free(b.arena);
	}
}
END_TEST

START_TEST(faults_are_not_endless)
{
	char text[4000] = "arrival,input,output\n";

	for (int i = 0; i < 100; i++)
		strcat(text, "0,0,0\n");
	struct bench b = read_text(text, 0);
	ck_assert(!b.ok);
	ck_assert_int_eq(diag_errors(b.diag), 10);
	arena_free(b.arena);
}
END_TEST

START_TEST(no_file)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new(a);
	struct trace t;

	ck_assert(!trace_read(a, d, "/nowhere/trace.csv", 0, &t));
	ck_assert_int_eq(diag_errors(d), 1);
	arena_free(a);
}
END_TEST

Suite *trace_suite(void);

Suite *
trace_suite(void)
{
	Suite *s = suite_create("trace");
	TCase *t = tcase_create("trace");

	tcase_add_test(t, forms);
	tcase_add_test(t, prefixes);
	tcase_add_test(t, faults_name_their_rows);
	tcase_add_test(t, faults_are_not_endless);
	tcase_add_test(t, no_file);
	suite_add_tcase(s, t);
	return s;
}
