/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* memfd_create */
#include "law/ask.h"
#include "report/report.h"

#include "cli/cli.h"
#include "db/db.h"
#include "unit/split.h"

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_KEPT = 512, MAX_WORDS = 128, MAX_FILES = 32, MAX_DEPTH = 3, TIMEOUT_S = 60 };

struct asker {
	struct arena *arena; /* of this question */
	struct arena *shelf; /* of the database */
	struct database *database;
	int out, err; /* files in memory in place of standard output and standard error */
	const struct reply *kept[N_KEPT];
	size_t n_kept;
	int files[MAX_FILES];
	size_t n_files;
	long n_asked;
	struct reply *now;
};

static struct asker *the_asker;           /* the inspector has no other way to know */
static const char *volatile the_question; /* for the message of a crash */
static int the_terminal;

/* Of the sanitizers, where the program is built with them: reports must not go where answers go. */
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

/* A crash or a hang names its question. */
static void
last_words(int number)
{
	static const char what[] = "\ncrashed, or took too long: ridge ";
	const char *line = the_question;

	if (write(the_terminal, what, sizeof what - 1) >= 0 && line && write(the_terminal, line, strlen(line)) >= 0)
		(void)!write(the_terminal, "\n", 1);
	signal(number, SIG_DFL);
	raise(number);
}

static int
memory_in_place_of(int descriptor)
{
	const int fd = memfd_create("answer", 0);

	if (fd < 0 || dup2(fd, descriptor) < 0)
		abort();
	return fd;
}

static void
open_database(struct asker *s)
{
	s->shelf = arena_new();
	s->database = database_new(s->shelf, diag_new(s->shelf), NULL);
}

struct asker *
asker_new(struct arena *a, FILE **to)
{
	struct asker *s = ARENA_NEW(a, struct asker);

	fflush(NULL);
	the_terminal = dup(STDOUT_FILENO);
	*to = fdopen(the_terminal, "w");
	if (!*to)
		abort();
	setvbuf(*to, NULL, _IOLBF, 0);
	s->arena = arena_new();
	open_database(s);
	s->out = memory_in_place_of(STDOUT_FILENO);
	s->err = memory_in_place_of(STDERR_FILENO);
	the_asker = s;
	if (__sanitizer_set_report_fd)
		__sanitizer_set_report_fd((void *)(intptr_t)the_terminal);
	signal(SIGSEGV, last_words);
	signal(SIGABRT, last_words);
	signal(SIGFPE, last_words);
	signal(SIGALRM, last_words);
	return s;
}

void
asker_free(struct asker *s)
{
	asker_forget(s);
	arena_free(s->arena);
	arena_free(s->shelf);
	fflush(NULL);
	dup2(the_terminal, STDOUT_FILENO);
	dup2(the_terminal, STDERR_FILENO);
	close(s->out);
	close(s->err);
}

long
asker_n_asked(const struct asker *s)
{
	return s->n_asked;
}

struct arena *
asker_arena(struct asker *s)
{
	return s->arena;
}

/* A database remembers what it read under a name, and files in memory get the names of earlier ones. */
static void
forget_files(struct asker *s)
{
	if (s->n_files == 0)
		return;
	arena_free(s->shelf);
	open_database(s);
}

void
asker_forget(struct asker *s)
{
	forget_files(s);
	for (size_t i = 0; i < s->n_files; i++)
		close(s->files[i]);
	s->n_files = s->n_kept = 0;
	arena_free(s->arena);
	s->arena = arena_new();
}

const char *
asker_file(struct asker *s, const char *text)
{
	const size_t n = strlen(text);
	const int fd = s->n_files < MAX_FILES ? memfd_create("question", 0) : -1;

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		abort();
	s->files[s->n_files++] = fd;
	return arena_printf(s->arena, "/proc/self/fd/%d", fd);
}

static int
depth(const struct sheet *sh, int i)
{
	int n = 0;

	for (int at = sheet_row(sh, i)->parent; at >= 0 && n <= MAX_DEPTH; at = sheet_row(sh, at)->parent)
		n++;
	return n;
}

/* Labels may live as long as the sheet only. */
static const char *
kept(struct asker *s, const char *text)
{
	return text ? arena_text(s->arena, text) : NULL;
}

static void
inspect(const struct sheet *sh, const char *command)
{
	struct asker *s = the_asker;
	struct reply *x = s->now;
	char path[600];

	(void)command;
	x->sheets = arena_grow(s->arena, x->sheets, x->n_sheets, x->n_sheets + 1, sizeof *x->sheets);
	struct told_sheet *out = &x->sheets[x->n_sheets++];
	*out = (struct told_sheet){.rows = ARENA_ARRAY(s->arena, struct told, (size_t)sheet_size(sh) + 1)};
	const struct places all = places_of(s->arena, sh);
	size_t next = 0;
	for (int i = 0; i < sheet_size(sh); i++) {
		const struct row *row = sheet_row(sh, i);
		const bool named = next < all.n && all.list[next].row == i;
		const char *id = named ? place_name(s->arena, sh, &all.list[next]) : NULL;
		next += named;
		if (row->kind == ROW_SCOPE || depth(sh, i) > (row->label || row->why ? MAX_DEPTH : 2))
			continue;
		sheet_path(sh, i, path, sizeof path);
		out->rows[out->n++] = (struct told){.path = arena_text(s->arena, path),
		    .id = id,
		    .label = kept(s, row->label),
		    .word = row->kind == ROW_WORD ? arena_text(s->arena, row->text ? row->text : "") : NULL,
		    .value = row->value,
		    .low = row->low,
		    .high = row->high,
		    .why = kept(s, row->why)};
	}
}

static const char *
written(struct asker *s, int fd)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	char *text = arena_take(s->arena, (size_t)size + 1);

	if (pread(fd, text, (size_t)size, 0) != size)
		abort();
	text[size] = '\0';
	return text;
}

static const struct reply *
ask(struct asker *s, struct database *open, const char *line)
{
	char *words[MAX_WORDS];

	s->now = ARENA_NEW(s->arena, struct reply);
	s->now->line = arena_text(s->arena, line);
	if (ftruncate(s->out, 0) || ftruncate(s->err, 0) || lseek(s->out, 0, SEEK_SET) || lseek(s->err, 0, SEEK_SET))
		abort();
	const int n = split_line(s->arena, line, words, MAX_WORDS);
	the_question = line;
	alarm(TIMEOUT_S);
	s->now->status = ridge_main_with(open, n, words, inspect);
	alarm(0);
	fflush(stdout);
	fflush(stderr);
	s->now->out = written(s, s->out);
	s->now->err = written(s, s->err);
	s->n_asked++;
	return s->now;
}

const struct reply *
asker_ask(struct asker *s, const char *line)
{
	for (size_t i = 0; i < s->n_kept; i++)
		if (strcmp(s->kept[i]->line, line) == 0)
			return s->kept[i];
	const struct reply *x = ask(s, s->database, line);
	if (s->n_kept < N_KEPT)
		s->kept[s->n_kept++] = x;
	return x;
}

const struct reply *
asker_ask_cold(struct asker *s, const char *line)
{
	return ask(s, NULL, line);
}

const struct told *
sheet_told(const struct told_sheet *sh, const char *path)
{
	for (size_t i = 0; i < sh->n; i++)
		if (strcmp(sh->rows[i].path, path) == 0)
			return &sh->rows[i];
	return NULL;
}

const struct told *
reply_row(const struct reply *x, const char *path)
{
	const struct told_sheet *sh = &x->sheets[0];

	if (x->status > 1 || x->n_sheets == 0)
		return NULL;
	for (size_t i = 0; i < sh->n; i++)
		if (sh->rows[i].id && strcmp(sh->rows[i].id, path) == 0)
			return &sh->rows[i];
	return sheet_told(sh, path);
}

double
reply_number(const struct reply *x, const char *path)
{
	const struct told *row = reply_row(x, path);

	return row && !row->word ? row->value : NAN;
}

const char *
reply_word(const struct reply *x, const char *path)
{
	const struct told *row = reply_row(x, path);

	return row ? row->word : NULL;
}

/* --- lines ----------------------------------------------------------------------------------------------- */

static const char *
find_word(const char *line, const char *word)
{
	const size_t n = strlen(word);

	for (const char *p = line; (p = strstr(p, word)); p += n)
		if ((p == line || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return p;
	return NULL;
}

bool
line_has(struct arena *a, const char *line, const char *word)
{
	(void)a;
	return find_word(line, word) != NULL;
}

const char *
line_value(struct arena *a, const char *line, const char *option)
{
	const char *p = find_word(line, option);

	if (!p || p[strlen(option)] == '\0')
		return NULL;
	p += strlen(option) + 1;
	return arena_copy(a, p, strcspn(p, " "));
}

const char *
line_with(struct arena *a, const char *line, const char *option, const char *value)
{
	const char *p = find_word(line, option), *rest;

	if (!p)
		return value ? arena_printf(a, "%s %s %s", line, option, value) : line;
	rest = p + strlen(option);
	if (*rest == ' ')
		rest += 1 + strcspn(rest + 1, " ");
	if (!value)
		return arena_printf(a, "%.*s%s", (int)(p - line), line, *rest == ' ' ? rest + 1 : rest);
	return arena_printf(a, "%.*s%s %s%s", (int)(p - line), line, option, value, rest);
}
