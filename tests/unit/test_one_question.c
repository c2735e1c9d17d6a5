/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One question has one answer, to the last bit: as a command line, a line of --jsonl, a point of a sweep, the end of a
 * search, and a call of the library.  As JSON it is what ridge.schema.json says. */
#include <ridge/ridge.h>

#include "cli/cli.h"
#include "json_schema.h"
#include "split.h"

#include <cJSON.h>
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 80 };

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

/* What the program prints for these words, and its exit status. */
static const char *
printed_text(char **words, int n, int *exit_status)
{
	FILE *file = tmpfile();
	const int kept[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)}, nothing = open("/dev/null", O_WRONLY);

	fflush(NULL);
	ck_assert(file && nothing >= 0);
	ck_assert(dup2(fileno(file), STDOUT_FILENO) >= 0 && dup2(nothing, STDERR_FILENO) >= 0);
	*exit_status = ridge_main(n, words, NULL);
	fflush(NULL);
	dup2(kept[0], STDOUT_FILENO);
	dup2(kept[1], STDERR_FILENO);
	close(kept[0]);
	close(kept[1]);
	close(nothing);
	const long size = lseek(fileno(file), 0, SEEK_END);
	char *text = arena_take(a, (size_t)size + 1);
	ck_assert_int_eq(pread(fileno(file), text, (size_t)size, 0), size);
	fclose(file);
	return text;
}

/* The same as JSON; NULL when the program refuses them. */
static cJSON *
printed(char **words, int n)
{
	int status;
	const char *text = printed_text(words, n, &status);

	return status < 2 ? cJSON_Parse(text) : NULL;
}

/* --- what the schema says -------------------------------------------------------------------------------- */

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

static const char *
valid_json(const char *line, int wanted)
{
	char *words[MOST_WORDS];
	struct json_fault fault = {""};
	int n = split_line(a, line, words, MOST_WORDS - 2), status;

	take_shorter(a, words, n);
	words[n++] = arena_text(a, "--json");
	const char *text = printed_text(words, n, &status);
	ck_assert_msg(status == wanted, "ridge %s --json: status %d", line, status);
	ck_assert_msg(json_text_valid(schema, text, &fault), "ridge %s --json: %s", line, fault.text);
	/* nothing that is not a number may slip in as one */
	ck_assert_ptr_null(strstr(text, ": nan"));
	ck_assert_ptr_null(strstr(text, ": inf"));
	must_name_inputs(line, text);
	return text;
}

START_TEST(sweeps_and_solutions_are_valid)
{
	static const char *const lines[] = {
	    "kv llama3-8b --sweep seq=1Ki..8Ki*2 --sweep batch=1,2",
	    "kv llama3-8b --sweep gpu=h100,nothing",
	    "kv llama3-8b --solve seq=1..8Ki --until 'sequence_byte <= 1GiB'",
	    "hw show h100 -q",
	};
	valid_json(lines[_i], 0);
}
END_TEST

/* --- every way to ask ------------------------------------------------------------------------------------ */

/* Answers, tables and intervals as text. */
static const char *
figures(const cJSON *object)
{
	static const char *const names[] = {"answers", "tables", "intervals"};
	const char *text = "";

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *part = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(object, names[i]));
		text = arena_printf(a, "%s %s", text, part ? part : "none");
		free(part);
	}
	return text;
}

static void
must_be_same(const char *line, const char *how, const cJSON *one, const cJSON *other)
{
	ck_assert_msg(other != NULL, "ridge %s: refused %s", line, how);
	const char *x = figures(one), *y = figures(other);
	size_t i = 0;

	while (x[i] && x[i] == y[i])
		i++;
	const size_t from = i < 40 ? 0 : i - 40;
	ck_assert_msg(x[i] == y[i], "ridge %s: %s '%.80s' is '%.80s'", line, how, x + from, y + from);
}

/* The inputs of a command line as a line of JSON. */
static const char *
as_json(const struct arguments *args)
{
	cJSON *object = cJSON_CreateObject();
	const struct settings *const layers[] = {&args->sets, &args->options};

	for (size_t l = 0; l < 2; l++)
		for (size_t i = 0; i < layers[l]->n; i++)
			cJSON_AddStringToObject(object, layers[l]->list[i].path, layers[l]->list[i].text);
	char *text = cJSON_PrintUnformatted(object);
	const char *copy = arena_text(a, text);
	free(text);
	cJSON_Delete(object);
	return copy;
}

static cJSON *
as_line(const char *command, const char *json)
{
	char path[] = "/tmp/ridge-line-XXXXXX";
	const int fd = mkstemp(path);
	char *words[] = {arena_text(a, "ridge"), arena_text(a, command), arena_text(a, "--jsonl"), path};

	ck_assert_int_eq(write(fd, json, strlen(json)), (ssize_t)strlen(json));
	close(fd);
	cJSON *answer = printed(words, 4);
	unlink(path);
	return answer;
}

static void
must_be_so_in_the_library(const char *line, const char *command, const char *json, const cJSON *answer)
{
	struct ridge *r = ridge_open(NULL);
	struct ridge_answer *called = ridge_ask(r, command, json);
	cJSON *other = ridge_status(called) == RIDGE_REFUSED ? NULL : cJSON_Parse(ridge_json(called, false));

	must_be_same(line, "by the library", answer, other);
	cJSON_Delete(other);
	ridge_answer_free(called);
	ridge_close(r);
}

/* One of its options swept over the value that it has. */
static void
must_be_so_in_a_sweep(const char *line, const struct command *c, const struct arguments *args, const cJSON *answer)
{
	for (size_t swept = 0; swept < args->options.n; swept++) {
		const struct setting *s = &args->options.list[swept];
		const struct option *o = command_option_at(c, s->path);
		if (!o || o->kind == KIND_NODE || o->kind == KIND_FLAG || strpbrk(s->text, ",") ||
		    strstr(s->text, ".."))
			continue;
		char *words[MOST_WORDS] = {arena_text(a, "ridge"), arena_text(a, c->name), arena_text(a, "--json")};
		int n = 3;
		for (size_t i = 0; i < args->sets.n + args->options.n; i++) {
			const struct setting *one =
			    i < args->sets.n ? &args->sets.list[i] : &args->options.list[i - args->sets.n];
			if (one == s || strchr(one->text, '='))
				continue;
			words[n++] = arena_text(a, "--set");
			words[n++] = arena_printf(a, "%s=%s", one->path, one->text);
		}
		words[n++] = arena_text(a, "--sweep");
		words[n++] = arena_printf(a, "%s=%s", s->path, s->text);
		if (n != 3 + 2 * (int)(args->sets.n + args->options.n))
			return; /* a value with a = in it cannot be set */
		cJSON *points = printed(words, n);
		must_be_same(line, arena_printf(a, "swept over %s", s->path), answer,
		    cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(points, "points"), 0));
		cJSON_Delete(points);
		return;
	}
}

/* Forms of output, other ways to ask, files and standard input. */
static bool
is_plain(const struct example *e)
{
	static const char *const others[] = {"--json", "--csv", "--md", "--explain", "--get", "-o", "--sweep",
	    "--solve", "--plot", "--jsonl", "|", "<", " - ", "--dump", "--timeline", "--predictions", "--install",
	    "--yaml", "jobs/", "--write", "--from tests/"};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strstr(e->line, others[i]))
			return false;
	return e->status < 2;
}

/* `ridge stack stack-table`: the operand is a job, whose inputs are not on the line. */
static bool
is_of_job(const struct arguments *args)
{
	return args->operands.n &&
	    access(arena_printf(a, "workloads/jobs/%s.yaml", args->operands.list[0].text), R_OK) == 0;
}

static void
ask_in_every_way(const struct command *c, const char *line, const cJSON *answer)
{
	struct diag *d = diag_new(a);
	struct arguments args;
	char *words[MOST_WORDS];
	const int n = split_line(a, line, words, MOST_WORDS),
	          n_name = strchr(c->name, ' ') ? 3 : 2; /* and the program's */

	take_shorter(a, words, n);
	ck_assert_msg(arguments_parse(a, d, c, n - n_name, words + n_name, &args), "ridge %s", line);
	if (is_of_job(&args))
		return;
	arguments_place(a, d, c, &args);
	const char *json = as_json(&args);
	cJSON *lined = as_line(c->name, json);
	must_be_same(line, "as a line", answer, lined);
	must_be_so_in_the_library(line, c->name, json, answer);
	must_be_so_in_a_sweep(line, c, &args, answer);
	cJSON_Delete(lined);
}

START_TEST(an_example_has_one_answer)
{
	const struct command *c = commands[_i];
	/* bench measures anew; check reads the operands as typed */
	const bool once = strcmp(c->name, "bench") == 0 || strcmp(c->name, "check") == 0;

	for (size_t i = 0; i < c->n_examples; i++) {
		const struct example *e = &c->examples[i];
		if (has_format(e->line))
			continue;
		cJSON *answer = cJSON_Parse(valid_json(e->line, e->status));
		if (!once && is_plain(e))
			ask_in_every_way(c, e->line, answer);
		cJSON_Delete(answer);
	}
}
END_TEST

/* A search, and the value that it finds as the value of an option. */
static const struct {
	const char *line, *solve, *until;
} searches[] = {
    {"kv llama3-8b --gpu h100", "seq", "kv_sequence_byte <= 1GiB"},
    {"memory llama3-8b --gpu h100 --gpus 8 --layout fsdp --seq 4096", "batch", "peak_byte <= 75GB"},
    {"serve llama3-8b --gpu h100 --isl 1000 --osl 100", "batch", "tpot_s <= 20ms"},
    {"cost --gpus 8 --time 48h", "price=0.1usd/h..10usd/h", "run_usd <= 900usd"},
};

START_TEST(a_search_ends_in_an_answer)
{
	char *words[MOST_WORDS];
	int n = split_line(a, searches[_i].line, words, MOST_WORDS - 5), m = n;

	words[m++] = arena_text(a, "--json");
	words[m++] = arena_text(a, "--solve");
	words[m++] = arena_text(a, searches[_i].solve);
	words[m++] = arena_text(a, "--until");
	words[m++] = arena_text(a, searches[_i].until);
	cJSON *solved = printed(words, m);
	ck_assert_msg(solved != NULL, "ridge %s --solve %s", searches[_i].line, searches[_i].solve);
	const char *name = arena_copy(a, searches[_i].solve, strcspn(searches[_i].solve, "="));
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(solved, "inputs"), name);
	words[n++] = arena_text(a, "--json");
	words[n++] = arena_printf(a, "--%s", name);
	words[n++] = cJSON_IsNumber(value) ? arena_printf(a, "%.17g", value->valuedouble) : value->valuestring;
	cJSON *answer = printed(words, n);
	must_be_same(searches[_i].line, "solved", answer, solved);
	cJSON_Delete(solved);
	cJSON_Delete(answer);
}
END_TEST

Suite *one_question_suite(void);

Suite *
one_question_suite(void)
{
	Suite *s = suite_create("one_question");
	TCase *t = tcase_create("one_question");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 300);
	tcase_set_tags(t, "slow");
	tcase_add_loop_test(t, an_example_has_one_answer, 0, (int)n_commands);
	tcase_add_loop_test(t, a_search_ends_in_an_answer, 0, (int)(sizeof searches / sizeof *searches));
	suite_add_tcase(s, t);
	TCase *quick = tcase_create("quick");
	tcase_add_checked_fixture(quick, set_up, tear_down);
	tcase_add_loop_test(quick, sweeps_and_solutions_are_valid, 0, 4);
	suite_add_tcase(s, quick);
	return s;
}
