/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text: names and their spellings, and the messages of a run. */
#include "base/base.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

/* --- strings --------------------------------------------------------------------------------------------- */

/* Strings: comparison without case and punctuation, nearest match, splitting, safe display. */

void
text_fold(const char *name, char *buf, size_t size)
{
	size_t n = 0;

	for (; *name && n + 1 < size; name++)
		if (isalnum((unsigned char)*name))
			buf[n++] = (char)tolower((unsigned char)*name);
	buf[n] = '\0';
}

bool
text_same_folded(const char *a, const char *b)
{
	for (;;) {
		while (*a && !isalnum((unsigned char)*a))
			a++;
		while (*b && !isalnum((unsigned char)*b))
			b++;
		if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return false;
		if (!*a)
			return true;
		a++;
		b++;
	}
}

bool
text_lists(const char *list, const char *word)
{
	const size_t n = strlen(word);

	for (const char *p = list; n > 0 && p && (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return true;
	return false;
}

enum { LONGEST = 63 };

static int
least(int a, int b)
{
	return a < b ? a : b;
}

/* Damerau, CACM 7(3), 1964, in the restricted form (no edits inside a swapped pair). */
int
text_distance(const char *a, const char *b)
{
	const size_t n = strlen(a), m = strlen(b);
	int row[3][LONGEST + 1];

	if (n > LONGEST || m > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= m; j++)
		row[0][j] = (int)j;
	for (size_t i = 1; i <= n; i++) {
		int *now = row[i % 3], *before = row[(i - 1) % 3], *earlier = row[(i + 1) % 3];

		now[0] = (int)i;
		for (size_t j = 1; j <= m; j++) {
			const int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);

			now[j] = least(before[j - 1] + (x != y), 1 + least(before[j], now[j - 1]));
			if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
			    y == tolower((unsigned char)a[i - 2]))
				now[j] = least(now[j], earlier[j - 2] + 1);
		}
	}
	return row[n % 3][m];
}

const char *
text_nearest(const char *word, const char *const *candidates, size_t n)
{
	const char *best = NULL;
	const int length = (int)strlen(word);
	int best_distance = length / 3 + 2;

	for (size_t i = 0; i < n; i++) {
		int distance = text_distance(word, candidates[i]);

		/* a beginning comes first, and of those the shortest */
		if (length >= 3 && strncasecmp(candidates[i], word, strlen(word)) == 0)
			distance = 0;
		if (distance < best_distance || (best && distance == 0 && strlen(candidates[i]) < strlen(best))) {
			best_distance = distance;
			best = candidates[i];
		}
	}
	return best;
}

bool
text_ends(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

bool
text_begins(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

char **
text_split(struct arena *a, const char *text, char separator, size_t *n)
{
	size_t count = 1;

	for (const char *p = text; *p; p++)
		count += *p == separator;
	char **pieces = ARENA_ARRAY(a, char *, count + 1);

	*n = 0;
	for (const char *p = text;; p++) {
		const char *end = strchr(p, separator);
		size_t length = end ? (size_t)(end - p) : strlen(p);

		while (length && isspace((unsigned char)*p)) {
			p++;
			length--;
		}
		while (length && isspace((unsigned char)p[length - 1]))
			length--;
		pieces[(*n)++] = arena_copy(a, p, length);
		if (!end)
			return pieces;
		p = end;
	}
}

bool
text_mentions(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (; text && *text; text++) {
		size_t k = 0;
		while (k < n && tolower((unsigned char)text[k]) == tolower((unsigned char)word[k]))
			k++;
		if (k == n)
			return true;
	}
	return false;
}

size_t
text_sequence(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;
	const size_t n = *b < 0x80 ? 1
	    : (*b & 0xe0) == 0xc0  ? 2
	    : (*b & 0xf0) == 0xe0  ? 3
	    : (*b & 0xf8) == 0xf0  ? 4
	                           : 0;

	for (size_t i = 1; i < n; i++)
		if ((b[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Bytes at p that a terminal must not see: 1 or 2 of a control character (C0, DEL, C1), 1 of a broken sequence. */
static size_t
hidden_bytes(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	if (b[0] < 0x20 || b[0] == 0x7f || text_sequence(p) == 0)
		return 1;
	return b[0] == 0xc2 && b[1] < 0xa0 ? 2 : 0;
}

const char *
text_visible(struct arena *a, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	size_t hidden = 0;

	for (const char *p = text; *p; p += hidden_bytes(p) ? hidden_bytes(p) : text_sequence(p))
		hidden += hidden_bytes(p);
	if (!hidden)
		return text;
	char *out = arena_take(a, strlen(text) + 3 * hidden + 1), *to = out;
	for (const char *p = text; *p;) {
		const size_t bytes = hidden_bytes(p), whole = bytes ? bytes : text_sequence(p);
		for (size_t i = 0; i < whole; i++, p++) {
			const unsigned char byte = (unsigned char)*p;
			if (bytes) {
				*to++ = '\\';
				*to++ = 'x';
				*to++ = hex[byte >> 4];
				*to++ = hex[byte & 15];
			} else
				*to++ = *p;
		}
	}
	return out;
}

/* --- diagnostics ----------------------------------------------------------------------------------------- */

/* Collect errors, warnings and hints with their places, and print them. */

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
