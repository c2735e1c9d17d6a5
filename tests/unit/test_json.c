/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge.schema.json tells JSON of ridge from what is none; test_one_question.c holds every example against it. */
#include "json_schema.h"

static struct arena *a;
static cJSON *schema;

static void
set_up(void)
{
	a = arena_new();
	schema = json_schema(a);
}

static void
tear_down(void)
{
	cJSON_Delete(schema);
	arena_free(a);
}

#define HEAD "\"ridge\": 2, \"version\": \"1\", \"command\": \"kv\""
#define TAIL "\"assumed\": [], \"warnings\": [], \"sources\": []"

static const struct {
	const char *text;
	bool valid;
} samples[] = {
    {"{" HEAD ", \"inputs\": {\"seq\": 4096, \"gpu\": \"h100\"}, \"answers\": {\"ttft_s\": 1.5, \"step_s\": null, "
     "\"verdict\": \"fits\"}, \"tables\": {\"t\": [{\"step_s\": 1}]}, \"intervals\": {}, " TAIL "}",
        true},
    {"{" HEAD ", \"points\": [{\"inputs\": {}, \"answers\": {}, \"tables\": {}, \"intervals\": {}}], " TAIL "}", true},
    {"{" HEAD ", \"points\": [{\"inputs\": {}, \"errors\": [{\"message\": \"m\"}]}], " TAIL "}", true},
    {"{" HEAD ", \"inputs\": {}, \"answers\": {}, \"tables\": {}, \"intervals\": {}, \"assumed\": [{\"input\": "
     "\"seq\", \"value\": 4096, \"text\": \"seq 4096\"}, {\"text\": \"a remark\"}], \"warnings\": [], \"sources\": []}",
        true},
    {"{" HEAD ", \"errors\": [{\"message\": \"m\", \"line\": 3, \"column\": 1, \"file\": \"f\"}]}", true},
    {"{" HEAD ", \"inputs\": {}, \"answers\": {}, \"tables\": {}, "
     "\"intervals\": {\"t_s\": {\"low\": 1, \"high\": null, \"level\": 0.8, \"why\": \"w\"}}, " TAIL "}",
        true},
    {"[]", false},
    {"{}", false},
    {"{" HEAD "}", false},
    {"{" HEAD
     ", \"inputs\": {}, \"answers\": {}, \"tables\": {}, \"intervals\": {}, \"assumed\": [], \"warnings\": []}",
        false},
    {"{" HEAD ", \"inputs\": {}, \"answers\": {\"nobody_s\": 1}, \"tables\": {}, \"intervals\": {}, " TAIL "}", false},
    {"{" HEAD ", \"inputs\": {}, \"answers\": {\"verdict\": 1}, \"tables\": {}, \"intervals\": {}, " TAIL "}", false},
    {"{" HEAD ", \"inputs\": {}, \"answers\": {\"step_s\": []}, \"tables\": {}, \"intervals\": {}, " TAIL "}", false},
    {"{" HEAD ", \"inputs\": {}, \"answers\": {\"step_s\": 1, \"step_s\": 2}, \"tables\": {}, \"intervals\": {}, " TAIL
     "}",
        false},
    {"{" HEAD ", \"inputs\": {}, \"answers\": {}, \"tables\": {\"t\": 1}, \"intervals\": {}, " TAIL "}", false},
    {"{" HEAD ", \"inputs\": {}, \"answers\": {}, \"tables\": {}, \"intervals\": {}, \"extra\": 1, " TAIL "}", false},
    {"{" HEAD ", \"inputs\": {\"a\": []}, \"answers\": {}, \"tables\": {}, \"intervals\": {}, " TAIL "}", false},
    {"{" HEAD ", \"points\": [], " TAIL "}", false},
    {"{" HEAD ", \"points\": [{\"inputs\": {}}], " TAIL "}", false},
    {"{" HEAD ", \"points\": [{\"inputs\": {}, \"answers\": {}, \"intervals\": {}}], " TAIL "}", false},
    {"{" HEAD ", \"errors\": [{\"message\": \"m\", \"line\": 0}]}", false},
    {"{" HEAD ", \"errors\": [{\"message\": \"m\", \"line\": 1.5}]}", false},
    {"{" HEAD ", \"errors\": [{\"message\": \"\"}]}", false},
    {"{" HEAD ", \"errors\": []}", false},
    {"{" HEAD ", \"inputs\": {}, \"answers\": {}, \"tables\": {}, "
     "\"intervals\": {\"t_s\": {\"low\": 1, \"high\": 2, \"level\": 80, \"why\": \"w\"}}, " TAIL "}",
        false},
    {"{" HEAD
     ", \"inputs\": {}, \"answers\": {}, \"tables\": {}, \"intervals\": {}, \"assumed\": [1], \"warnings\": [], "
     "\"sources\": []}",
        false},
};

START_TEST(the_schema_tells_good_from_bad)
{
	struct json_fault fault = {""};

	ck_assert_msg(json_text_valid(schema, samples[_i].text, &fault) == samples[_i].valid, "%s\n%s",
	    samples[_i].text, fault.text);
}
END_TEST

START_TEST(an_unknown_keyword_is_a_fault)
{
	cJSON *other = cJSON_Parse("{\"maxLength\": 3}"), *value = cJSON_Parse("\"x\"");
	struct json_fault fault;

	ck_assert(!json_valid(other, other, value, "", &fault));
	cJSON_Delete(other);
	cJSON_Delete(value);
}
END_TEST

Suite *json_suite(void);

Suite *
json_suite(void)
{
	Suite *s = suite_create("json");
	TCase *t = tcase_create("json");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, the_schema_tells_good_from_bad, 0, (int)(sizeof samples / sizeof *samples));
	tcase_add_test(t, an_unknown_keyword_is_a_fault);
	suite_add_tcase(s, t);
	return s;
}
