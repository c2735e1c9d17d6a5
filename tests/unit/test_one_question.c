/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One question has one answer, to the last bit: as a command line, a line of --jsonl, a point of a sweep, the end of a
 * search, and a call of the library. */
#include <ridge/ridge.h>

#include "cli/cli.h"
#include "split.h"

#include <cJSON.h>
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORDS = 80 };

static struct arena *a;

static void
set_up(void)
{
	a = arena_new();
}

static void
tear_down(void)
{
	arena_free(a);
}

/* What the program prints for these words, in a process of its own; NULL when it refuses them. */
static cJSON *
printed(char **words, int n)
{
	char path[] = "/tmp/ridge-question-XXXXXX";
	const int fd = mkstemp(path);
	int status;

	ck_assert_int_ge(fd, 0);
	fflush(NULL);
	const pid_t child = fork();
	if (child == 0) {
		const int nothing = open("/dev/null", O_WRONLY);
		if (nothing < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0)
			_exit(99);
		const int said = ridge_main(n, words, NULL);
		fflush(stdout);
		_exit(said);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) != 99);
	const off_t size = lseek(fd, 0, SEEK_END);
	char *text = arena_take(a, (size_t)size + 1);
	ck_assert_int_eq(pread(fd, text, (size_t)size, 0), size);
	close(fd);
	unlink(path);
	return WEXITSTATUS(status) < 2 ? cJSON_Parse(text) : NULL;
}

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
ask_in_every_way(const struct command *c, const char *line)
{
	struct diag *d = diag_new(a);
	struct arguments args;
	char *words[MOST_WORDS];
	int n = split_line(a, line, words, MOST_WORDS - 1);

	take_shorter(a, words, n);
	const int n_name = strchr(c->name, ' ') ? 3 : 2; /* and the program's */
	ck_assert_msg(arguments_parse(a, d, c, n - n_name, words + n_name, &args), "ridge %s", line);
	if (is_of_job(&args))
		return;
	arguments_place(a, d, c, &args);
	words[n++] = arena_text(a, "--json");
	cJSON *answer = printed(words, n);
	const char *json = as_json(&args);
	cJSON *lined = as_line(c->name, json);
	must_be_same(line, "as a line", answer, lined);
	must_be_so_in_the_library(line, c->name, json, answer);
	must_be_so_in_a_sweep(line, c, &args, answer);
	cJSON_Delete(lined);
	cJSON_Delete(answer);
}

START_TEST(an_example_has_one_answer)
{
	const struct command *c = commands[_i];

	if (strcmp(c->name, "bench") == 0 || strcmp(c->name, "check") == 0)
		return; /* bench measures anew; check reads the operands as typed */
	for (size_t i = 0; i < c->n_examples; i++)
		if (is_plain(&c->examples[i]))
			ask_in_every_way(c, c->examples[i].line);
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
	return s;
}
