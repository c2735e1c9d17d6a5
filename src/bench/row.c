/* SPDX-License-Identifier: Apache-2.0 */
/* Print rows as JSON Lines on standard output, and remarks on standard error. */
#include "bench.h"
#include "nvml.h"

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

/* A clock that changed while the point ran, and what held it down, belong to its row. */
static void
add_note(struct line *l, const struct bench *b, const char *note)
{
	const double before = b->clock_before_mhz;
	char text[400], clock[64] = "", held[160] = "", reasons[128];

	if (before > 0 && fabs(b->clock_mhz - before) > 0.03 * before)
		snprintf(clock, sizeof clock, "; clock before %.0f MHz", before);
	nvml_throttling_text(b->throttling, reasons, sizeof reasons);
	if (*reasons)
		snprintf(held, sizeof held, "; throttled: %s", reasons);
	snprintf(text, sizeof text, "%s%s%s", note ? note : "", clock, held);
	add_text(l, "note", text + (note ? 0 : 2 * (*text == ';')));
}

/* One line, as a whole: what was written before stays whole when this process is ended. */
static void
put(struct line *l)
{
	add(l, "}\n");
	if (fwrite(l->text, 1, l->n, stdout) != l->n || fflush(stdout) != 0) {
		perror("ridge-bench: error: cannot write the rows");
		exit(BENCH_FAILED);
	}
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
	put(&l);
	b->n_rows++;
}

/* --- the device ------------------------------------------------------------------------------------------ */

static void
add_known(struct line *l, const char *key, double value)
{
	if (value >= 0)
		add_number(l, key, value);
}

static void
add_version(struct line *l, const char *key, int major, int minor)
{
	char text[32];

	snprintf(text, sizeof text, "%d.%d", major, minor);
	add_text(l, key, text);
}

static void
add_switch(struct line *l, const char *key, int on)
{
	if (on >= 0)
		add_text(l, key, on ? "on" : "off");
}

static void
print_device(const struct bench *b, const struct bench_device *d, const struct nvml_state *s)
{
	struct line l = {1, "{"};

	add_text(&l, "kind", "device");
	add_text(&l, "gpu_id", b->gpu_id);
	add_text(&l, "device", b->device);
	add_text(&l, "version", BENCH_VERSION);
	add_count(&l, "sms", d->n_sms);
	add_version(&l, "compute_capability", d->capability / 10, d->capability % 10);
	add_count(&l, "memory_bytes", d->memory_byte);
	add_count(&l, "l2_bytes", d->l2_byte);
	add_version(&l, "cuda_driver", d->cuda_driver / 1000, d->cuda_driver % 1000 / 10);
	add_version(&l, "cuda_runtime", d->cuda_runtime / 1000, d->cuda_runtime % 1000 / 10);
	add_known(&l, "max_clock_mhz", s->most_clock_mhz);
	add_known(&l, "memory_clock_mhz", s->memory_clock_mhz);
	add_known(&l, "power_limit_w", s->power_limit_watt);
	add_known(&l, "temperature_c", s->temperature_celsius);
	add_known(&l, "utilization_percent", 100 * s->utilization_frac);
	add_known(&l, "other_processes", s->n_other_processes);
	add_switch(&l, "ecc", s->ecc);
	add_switch(&l, "mig", s->mig);
	add_text(&l, "date", b->date);
	add_text(&l, "driver", b->driver);
	add_text(&l, "host", b->host);
	put(&l);
}

/* Figures of a shared or divided GPU would be taken for those of the GPU. */
static bool
usable(const struct bench *b, int gpu, const struct nvml_state *s)
{
	char used[80] = "";

	if (s->mig > 0) {
		fprintf(stderr,
		    "ridge-bench: error: GPU %d is divided by MIG: an instance's figures are not the GPU's\n"
		    "  hint: measure a GPU without MIG; --device N selects one\n",
		    gpu);
		return false;
	}
	if (s->n_other_processes > 0)
		snprintf(used, sizeof used, "%d other process%s", s->n_other_processes,
		    s->n_other_processes == 1 ? "" : "es");
	else if (s->utilization_frac > 0.2)
		snprintf(used, sizeof used, "other work (%.0f %% utilization)", 100 * s->utilization_frac);
	if (!*used)
		return true;
	if (b->busy) {
		bench_say(b, "GPU %d has %s: the figures will be low", gpu, used);
		return true;
	}
	fprintf(stderr,
	    "ridge-bench: error: GPU %d is busy: it has %s\n"
	    "  hint: wait until it is idle, select another with --device, or measure it anyway with --busy\n",
	    gpu, used);
	return false;
}

enum bench_status
bench_device_ready(struct bench *b, const char *pci_address, const struct bench_device *d)
{
	static char driver[96];

	snprintf(b->pci_address, sizeof b->pci_address, "%s", pci_address);
	if (!nvml_open(pci_address))
		bench_say(b,
		    "cannot read the driver's NVML: no clocks, power or throttling in the rows, and other "
		    "processes on the GPU go unnoticed");
	if (!nvml_driver(driver, sizeof driver))
		snprintf(driver, sizeof driver, "CUDA %d.%d", d->cuda_driver / 1000, d->cuda_driver % 1000 / 10);
	b->driver = driver;
	const struct nvml_state s = nvml_state();
	if (!usable(b, b->gpu, &s))
		return BENCH_FAILED;
	(void)nvml_bind_cpus();
	print_device(b, d, &s);
	return BENCH_OK;
}

enum bench_status
bench_device_idle(const struct bench *b, int gpu, const char *pci_address)
{
	if (gpu == b->gpu || !nvml_open(pci_address))
		return BENCH_OK;
	const struct nvml_state s = nvml_state();
	const bool ok = usable(b, gpu, &s);
	(void)nvml_open(b->pci_address);
	return ok ? BENCH_OK : BENCH_FAILED;
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
