/* SPDX-License-Identifier: Apache-2.0 */
/* Print rows as JSON Lines on standard output, and remarks on standard error. */
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_SIZE = 4096 };

struct line {
	size_t n;
	char text[LINE_SIZE];
};

static void add(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
add(struct line *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	const int n = vsnprintf(l->text + l->n, LINE_SIZE - l->n, format, args);
	va_end(args);
	if (n < 0 || l->n + (size_t)n >= LINE_SIZE) {
		fputs("ridge-bench: error: a row is too long\n", stderr);
		exit(BENCH_FAILED);
	}
	l->n += (size_t)n;
}

static void
add_key(struct line *l, const char *key)
{
	add(l, "%s\"%s\": ", l->n > 1 ? ", " : "", key);
}

static void
add_text(struct line *l, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	add_key(l, key);
	add(l, "\"");
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c == '"' || *c == '\\')
			add(l, "\\%c", *c);
		else if (*c < 0x20)
			add(l, "\\u%04x", *c);
		else
			add(l, "%c", *c);
	add(l, "\"");
}

static void
add_number(struct line *l, const char *key, double value)
{
	if (!isfinite(value))
		return;
	add_key(l, key);
	add(l, "%.7g", value);
}

static void
add_count(struct line *l, const char *key, double value)
{
	add_key(l, key);
	add(l, "%.0f", value);
}

/* A clock that changed while the point ran belongs to its row. */
static void
add_note(struct line *l, const struct bench *b, const char *note)
{
	const double before = b->clock_before_mhz;
	char text[256];

	snprintf(text, sizeof text, "%s", note ? note : "");
	if (before > 0 && fabs(b->clock_mhz - before) > 0.03 * before)
		snprintf(text, sizeof text, "%s%sclock before %.0f MHz", note ? note : "", note ? "; " : "", before);
	add_text(l, "note", text);
}

struct bench_row
bench_row_new(const char *kind, const char *operation, const char *dtype)
{
	struct bench_row row;

	memset(&row, 0, sizeof row);
	row.kind = kind;
	row.operation = operation;
	row.dtype = dtype;
	row.backend = "ridge-bench";
	row.version = BENCH_VERSION;
	return row;
}

void
bench_print(struct bench *b, const struct bench_row *row)
{
	struct line l = {1, "{"};
	const bool attention = strcmp(row->kind, "attention") == 0;

	add_text(&l, "kind", row->kind);
	add_text(&l, "gpu_id", b->gpu_id);
	add_text(&l, "device", b->device);
	add_text(&l, "backend", row->backend);
	add_text(&l, "version", row->version);
	add_text(&l, "operation", row->operation);
	add_text(&l, "dtype", row->dtype);
	add_text(&l, "kv_dtype", row->kv_dtype);
	/* no context and no window are shapes too */
#define DIMENSION(member, text)                                                                                        \
	if (row->member > 0 || (attention && (strcmp(text, "context_len") == 0 || strcmp(text, "window") == 0)))       \
		add_count(&l, text, row->member);
#include "row.def"
#undef DIMENSION
	add_number(&l, "time_us", 1e6 * row->time.median_s);
	add_number(&l, "min_us", 1e6 * row->time.min_s);
	add_number(&l, "max_us", 1e6 * row->time.max_s);
	add_number(&l, "n_runs", row->time.n);
	if (b->clock_mhz > 0)
		add_number(&l, "clock_mhz", b->clock_mhz);
	if (b->power_watt > 0)
		add_number(&l, "power_w", b->power_watt);
	add_text(&l, "date", b->date);
	add_text(&l, "driver", b->driver);
	add_text(&l, "library", row->library);
	add_text(&l, "host", b->host);
	add_note(&l, b, row->note);
	add(&l, "}\n");
	if (fwrite(l.text, 1, l.n, stdout) != l.n || fflush(stdout) != 0) {
		perror("ridge-bench: error: cannot write the rows");
		exit(BENCH_FAILED);
	}
	b->n_rows++;
}

/* --- remarks --------------------------------------------------------------------------------------------- */

static bool
on_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

void
bench_progress(const struct bench *b, const char *format, ...)
{
	va_list args;

	if (!on_terminal())
		return;
	fprintf(stderr, "\r\033[K%3.0f s  %s", bench_now() - b->started_s, b->subject ? b->subject : "");
	if (format && *format) {
		fputs(": ", stderr);
		va_start(args, format);
		vfprintf(stderr, format, args);
		va_end(args);
	}
	fflush(stderr);
}

void
bench_say(const struct bench *b, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%sridge-bench: ", on_terminal() ? "\r\033[K" : "");
	if (b && b->subject)
		fprintf(stderr, "%s: ", b->subject);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}
