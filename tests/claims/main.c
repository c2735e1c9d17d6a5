/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Published numbers that ridge must reproduce.  Each line of a .tsv file is
 *
 *	command line TAB row TAB value TAB tolerance TAB citation
 *
 * The row is the public name of an answer (`ttft_s`, `stages.2.peak_byte`) or a row of the trace by its dotted path or
 * its unique end; `=STATUS` checks the exit status.  The value has its unit, or is a word.
 * The tolerance is `exact`, a share (`0.5%`, `1e-6`), or absolute with a leading `+-`.
 */
#include "base/base.h"
#include "base/sheet.h"
#include "cli/cli.h"
#include "report/report.h"
#include "unit/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct claim {
	const char *file, *line, *row, *value, *tolerance, *citation;
	int number;
};

struct found {
	bool any, is_word;
	double value;
	char name[80], word[200];
	int status, n_matches;
};

static const char *wanted_row;
static struct found found;

/* Look the row up in the sheet before it goes. */
static void
inspect(const struct sheet *sh, const char *command)
{
	(void)command;
	char why[500];
	const int i = report_find(sh, wanted_row, why, sizeof why);
	found.n_matches = i >= 0 ? 1 : 2 * text_begins(why, "several");
	if (i < 0)
		return;
	const struct row *row = sheet_row(sh, i);
	found.any = true;
	found.is_word = row->kind == ROW_WORD;
	found.value = row->value;
	snprintf(found.name, sizeof found.name, "%s", row->name);
	if (found.is_word)
		snprintf(found.word, sizeof found.word, "%s", row->text);
}

/* Answers go nowhere; what the sheet held is all that counts. */
static void
ask(struct arena *a, const struct claim *c)
{
	char *words[128];
	const int n = split_line(a, c->line, words, 128);
	fflush(stdout);
	fflush(stderr);
	const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);

	wanted_row = c->row;
	memset(&found, 0, sizeof found);
	if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
		abort();
	found.status = ridge_main(n, words, inspect);
	fflush(stdout);
	fflush(stderr);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
}

static bool
read_value(const char *text, const char *name, double *value)
{
	const struct dim dim = dim_of_name(name);
	struct quantity_fault fault;

	for (enum quantity q = 0; q < N_QUANTITIES; q++)
		if (dim_equal(quantity_dim(q), dim) && quantity_read(text, q, value, &fault))
			return true;
	/* counts and products of units: a bare number in base units */
	return quantity_read(text, Q_FRACTION, value, &fault) || quantity_read(text, Q_COUNT, value, &fault);
}

static bool
complain(const struct claim *c, const char *what, const char *got)
{
	printf("%s:%d: %s\n    ridge %s\n    %s should be %s (%s), %s\n", c->file, c->number, what, c->line, c->row,
	    c->value, c->citation, got);
	return false;
}

static bool
holds(const struct claim *c)
{
	char got[300];
	double value;

	if (c->row[0] == '=') {
		snprintf(got, sizeof got, "is %d", found.status);
		return found.status == atoi(c->value) ? true : complain(c, "wrong exit status", got);
	}
	if (!found.any)
		return complain(
		    c, found.n_matches ? "several such rows" : "no such row", found.status == 2 ? "refused" : "-");
	if (found.is_word) {
		snprintf(got, sizeof got, "is '%.200s'", found.word);
		return strcmp(found.word, c->value) == 0 ? true : complain(c, "wrong word", got);
	}
	if (!read_value(c->value, found.name, &value))
		return complain(c, "the claim's value cannot be read", c->value);
	snprintf(got, sizeof got, "is %.12g", found.value);
	double allowed;
	if (strcmp(c->tolerance, "exact") == 0)
		allowed = 0;
	else if (text_begins(c->tolerance, "+-")) {
		if (!read_value(c->tolerance + 2, found.name, &allowed))
			return complain(c, "the claim's tolerance cannot be read", c->tolerance);
	} else {
		struct quantity_fault fault;
		if (!quantity_read(c->tolerance, Q_FRACTION, &allowed, &fault))
			return complain(c, "the claim's tolerance cannot be read", c->tolerance);
		allowed *= fabs(value);
	}
	return fabs(found.value - value) <= allowed * (1 + 1e-12) ? true : complain(c, "wrong value", got);
}

static bool
parse(struct claim *c, char *text)
{
	const char **const fields[] = {&c->line, &c->row, &c->value, &c->tolerance, &c->citation};

	for (size_t i = 0; i < 5; i++) {
		*fields[i] = text;
		if (i == 4)
			break;
		text = strchr(text, '\t');
		if (!text)
			return false;
		*text++ = '\0';
	}
	return *c->citation != '\0';
}

int
main(int argc, char **argv)
{
	int n = 0, failed = 0;

	for (int f = 1; f < argc; f++) {
		FILE *file = fopen(argv[f], "r");
		char text[2000];
		struct claim c = {.file = argv[f]};

		if (text_ends(argv[f], "argued.tsv")) { /* rows that no command answers, with the reason */
			if (file)
				fclose(file);
			continue;
		}
		if (!file) {
			perror(argv[f]);
			return 2;
		}
		while (fgets(text, sizeof text, file)) {
			c.number++;
			text[strcspn(text, "\n")] = '\0';
			if (!*text || *text == '#')
				continue;
			n++;
			if (!parse(&c, text)) {
				printf("%s:%d: a claim has five fields, the last one a citation\n", c.file, c.number);
				failed++;
				continue;
			}
			struct arena *a = arena_new();
			ask(a, &c);
			failed += !holds(&c);
			arena_free(a);
		}
		fclose(file);
	}
	printf("%d claims, %d failed\n", n, failed);
	return n == 0 || failed;
}
