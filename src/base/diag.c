/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collect errors, warnings and hints with their places, and print them. */
#include "base/base.h"

#include <stdarg.h>
#include <string.h>

struct message {
	enum severity severity;
	struct source at;
	const char *text, *hint;
};

enum { MAX_MESSAGES = 200 };

struct diag {
	struct arena *arena;
	const char *program;
	int n, errors, warnings, dropped;
	bool failed;
	struct message messages[MAX_MESSAGES];
};

struct diag *
diag_new(struct arena *a)
{
	struct diag *d = ARENA_NEW(a, struct diag);

	d->arena = a;
	d->program = "ridge";
	return d;
}

void
diag_program(struct diag *d, const char *program)
{
	d->program = program;
}

static const char *
text_of(struct diag *d, const char *format, va_list list)
{
	va_list again;

	va_copy(again, list);
	const int length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	char *p = arena_take(d->arena, (size_t)length + 1);
	vsnprintf(p, (size_t)length + 1, format, list);
	return p;
}

static void
add(struct diag *d, enum severity severity, struct source at, const char *text)
{
	if (severity == SEVERITY_ERROR)
		d->errors++;
	else
		d->warnings++;
	if (d->n == MAX_MESSAGES) {
		d->dropped++;
		return;
	}
	d->messages[d->n++] = (struct message){severity, at, text, NULL};
}

void
diag_error(struct diag *d, struct source at, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	add(d, SEVERITY_ERROR, at, text_of(d, format, list));
	va_end(list);
}

void
diag_warning(struct diag *d, struct source at, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	add(d, SEVERITY_WARNING, at, text_of(d, format, list));
	va_end(list);
}

void
diag_hint(struct diag *d, const char *format, ...)
{
	va_list list;

	if (d->n == 0 || d->dropped)
		return;
	va_start(list, format);
	d->messages[d->n - 1].hint = text_of(d, format, list);
	va_end(list);
}

void
diag_failure(struct diag *d, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	add(d, SEVERITY_ERROR, (struct source){0}, text_of(d, format, list));
	va_end(list);
	d->failed = true;
}

int
diag_errors(const struct diag *d)
{
	return d->errors;
}

int
diag_warnings(const struct diag *d)
{
	return d->warnings;
}

bool
diag_failed(const struct diag *d)
{
	return d->failed;
}

void
diag_clear(struct diag *d)
{
	d->n = d->errors = d->warnings = d->dropped = 0;
	d->failed = false;
}

static void
print_place(const struct diag *d, FILE *to, struct source at)
{
	const char *file = at.file ? text_visible(d->arena, at.file) : NULL;

	if (!file)
		fprintf(to, "%s: ", d->program);
	else if (at.line == 0)
		fprintf(to, "%s: %s: ", d->program, file);
	else
		fprintf(to, "%s:%d:%d: ", file, at.line, at.column);
}

void
diag_print(const struct diag *d, FILE *to, bool color)
{
	for (int i = 0; i < d->n; i++) {
		const struct message *m = &d->messages[i];
		const bool error = m->severity == SEVERITY_ERROR;

		print_place(d, to, m->at);
		fprintf(to, "%s%s:%s %s\n", color ? (error ? "\033[31m" : "\033[33m") : "", error ? "error" : "warning",
		    color ? "\033[0m" : "", text_visible(d->arena, m->text));
		if (m->hint)
			fprintf(to, "  hint: %s\n", text_visible(d->arena, m->hint));
	}
	if (d->dropped)
		fprintf(to, "%s: %d more messages\n", d->program, d->dropped);
}

const char *
diag_message(const struct diag *d, int i, struct source *at, const char **hint, enum severity *severity)
{
	if (i >= d->n)
		return NULL;
	*at = d->messages[i].at;
	*hint = d->messages[i].hint;
	*severity = d->messages[i].severity;
	return d->messages[i].text;
}
