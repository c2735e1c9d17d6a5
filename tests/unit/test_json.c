/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every command's JSON is what ridge.schema.json says. */
#include "cli/cli.h"
#include "json_schema.h"
#include "said.h"
#include "split.h"

#include <sys/wait.h>
#include <unistd.h>

static struct arena *a;
static cJSON *schema;

static char *
read_whole(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	size_t n = 0, got;
	char buf[4096];

	ck_assert_msg(file, "cannot read %s", path);
	FILE *memory = open_memstream(&text, &n);
	while ((got = fread(buf, 1, sizeof buf, file)) > 0)
		fwrite(buf, 1, got, memory);
	fclose(memory);
	fclose(file);
	return text;
}

/* The schema as it is installed, in the build folder of this program. */
static void
set_up(void)
{
	char self[1000];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	a = arena_new();
	self[n > 0 ? n : 0] = '\0';
	*strrchr(self, '/') = '\0';
	char *text = read_whole(arena_printf(a, "%s/../man/ridge.schema.json", self));
	schema = cJSON_Parse(text);
	ck_assert_msg(schema, "ridge.schema.json is not JSON");
	free(text);
}

static void
tear_down(void)
{
	cJSON_Delete(schema);
	arena_free(a);
}

static bool
text_valid(const char *text, struct json_fault *fault)
{
	cJSON *value = cJSON_ParseWithOpts(text, NULL, 1);

	if (!value) {
		snprintf(fault->text, sizeof fault->text, "not JSON");
		return false;
	}
	const bool ok = json_valid(schema, schema, value, "", fault);
	cJSON_Delete(value);
	return ok;
}

/* --- the validator can fail ------------------------------------------------------------------------------ */

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

	ck_assert_msg(
	    text_valid(samples[_i].text, &fault) == samples[_i].valid, "%s\n%s", samples[_i].text, fault.text);
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

/* --- real answers ---------------------------------------------------------------------------------------- */

/* In a process of its own, because it prints; the answer goes to a file. */
static int
ask(const char *line, const char *path)
{
	char *words[64];
	int status;
	int n = split_line(a, line, words, 58);

	take_shorter(a, words, n);
	words[n++] = arena_text(a, "--json");
	words[n++] = arena_text(a, "-o");
	words[n++] = arena_text(a, path);
	const pid_t child = fork();
	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(99);
		_exit(ridge_main(n, words, NULL));
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool
has_format(const char *line)
{
	static const char *const formats[] = {"--json", "--csv", "--md", "--explain", "--get", "--output", "-o "};

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (strstr(line, formats[i]))
			return true;
	return false;
}

/* What an answer rests on can be said with these paths and values. */
static void
must_name_inputs(const char *line, const char *text)
{
	size_t n;
	int n_words;
	char **words = text_split(a, line, ' ', &n);
	const struct command *c = command_called((int)n, words, &n_words);
	cJSON *object = cJSON_Parse(text);
	const cJSON *one;

	cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(object, "assumed"))
	{
		const cJSON *input = cJSON_GetObjectItemCaseSensitive(one, "input");
		if (!input || (strcmp(input->valuestring, "layout") == 0 && command_has_layout(c)))
			continue;
		const struct option *o = command_option_at(c, input->valuestring);
		ck_assert_msg(o, "ridge %s: '%s' is no input", line, input->valuestring);
		ck_assert_msg(
		    (o->kind == KIND_QUANTITY) == (bool)cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(one, "value")),
		    "ridge %s: the value of '%s'", line, input->valuestring);
	}
	cJSON_Delete(object);
}

static void
must_be_valid(const char *line, int wanted)
{
	char path[] = "/tmp/ridge-test-XXXXXX";
	struct json_fault fault = {""};
	const int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	const int status = ask(line, path);
	ck_assert_msg(status == wanted, "ridge %s --json: status %d", line, status);
	char *text = read_whole(path);
	unlink(path);
	ck_assert_msg(text_valid(text, &fault), "ridge %s --json: %s", line, fault.text);
	/* nothing that is not a number may slip in as one */
	ck_assert_ptr_null(strstr(text, ": nan"));
	ck_assert_ptr_null(strstr(text, ": inf"));
	must_name_inputs(line, text);
	free(text);
}

START_TEST(every_example_is_valid)
{
	const struct command *c = commands[_i];

	for (size_t i = 0; i < c->n_examples; i++)
		if (!has_format(c->examples[i].line))
			must_be_valid(c->examples[i].line, c->examples[i].status);
}
END_TEST

START_TEST(sweeps_and_solutions_are_valid)
{
	static const char *const lines[] = {
	    "kv llama3-8b --sweep seq=1Ki..8Ki*2 --sweep batch=1,2",
	    "kv llama3-8b --sweep gpu=h100,nothing",
	    "kv llama3-8b --solve seq=1..8Ki --until 'sequence_byte <= 1GiB'",
	    "hw show h100 -q",
	};
	must_be_valid(lines[_i], 0);
}
END_TEST

Suite *json_suite(void);

Suite *
json_suite(void)
{
	Suite *s = suite_create("json");
	TCase *t = tcase_create("json");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, the_schema_tells_good_from_bad, 0, (int)(sizeof samples / sizeof *samples));
	tcase_add_test(t, an_unknown_keyword_is_a_fault);
	tcase_add_loop_test(t, sweeps_and_solutions_are_valid, 0, 4);
	suite_add_tcase(s, t);
	TCase *examples = tcase_create("examples");
	tcase_set_tags(examples, "slow");
	tcase_add_checked_fixture(examples, set_up, tear_down);
	tcase_set_timeout(examples, 120);
	tcase_add_loop_test(examples, every_example_is_valid, 0, (int)n_commands);
	suite_add_tcase(s, examples);
	return s;
}
