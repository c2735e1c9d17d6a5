/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CSV of Nsight Compute: `--page raw` (a column for each metric, units in the second line) or `--page details` and
 * `--metrics` (a line for each metric).  A kernel becomes one row: its time, the bytes that reached the memory, and its
 * floating-point operations, counted as NVIDIA's roofline charts count them: an FMA is two operations, and matrix
 * instructions count what the metric of their operations says.
 */
#include "import/parts.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CELLS = 512 };

/* Metrics of the details page go by their titles too. */
static const struct {
	const char *name;
	enum { TIME, BYTES, FLOP, CLOCK } what;
	double n;
} metrics[] = {
    {"gpu__time_duration.sum", TIME, 1},
    {"gpu__time_duration.avg", TIME, 1},
    {"Duration", TIME, 1},
    {"dram__bytes.sum", BYTES, 1},
    {"dram__bytes_read.sum", BYTES, 1},
    {"dram__bytes_write.sum", BYTES, 1},
    {"smsp__cycles_elapsed.avg.per_second", CLOCK, 1},
    {"SM Frequency", CLOCK, 1},
    {"sm__sass_thread_inst_executed_op_fadd_pred_on.sum", FLOP, 1},
    {"sm__sass_thread_inst_executed_op_fmul_pred_on.sum", FLOP, 1},
    {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum", FLOP, 2},
    {"sm__sass_thread_inst_executed_op_dadd_pred_on.sum", FLOP, 1},
    {"sm__sass_thread_inst_executed_op_dmul_pred_on.sum", FLOP, 1},
    {"sm__sass_thread_inst_executed_op_dfma_pred_on.sum", FLOP, 2},
    {"sm__sass_thread_inst_executed_op_hadd_pred_on.sum", FLOP, 1},
    {"sm__sass_thread_inst_executed_op_hmul_pred_on.sum", FLOP, 1},
    {"sm__sass_thread_inst_executed_op_hfma_pred_on.sum", FLOP, 2},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", FLOP, 1},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", FLOP, 1},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", FLOP, 2},
    {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", FLOP, 1},
    {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", FLOP, 1},
    {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", FLOP, 2},
    {"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", FLOP, 1},
    {"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", FLOP, 1},
    {"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", FLOP, 2},
    {"sm__ops_path_tensor_src_fp16_dst_fp16.sum", FLOP, 1},
    {"sm__ops_path_tensor_src_fp16_dst_fp32.sum", FLOP, 1},
    {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", FLOP, 1},
    {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", FLOP, 1},
    {"sm__ops_path_tensor_src_fp64.sum", FLOP, 1},
    {"sm__ops_path_tensor_src_fp8.sum", FLOP, 1},
    {"sm__ops_path_tensor_src_int8.sum", FLOP, 1},
};

static const struct {
	const char *name;
	double scale;
} units[] = {{"nsecond", 1e-9}, {"usecond", 1e-6}, {"msecond", 1e-3}, {"second", 1}, {"ns", 1e-9}, {"us", 1e-6},
    {"ms", 1e-3}, {"s", 1}, {"byte", 1}, {"Kbyte", 1e3}, {"Mbyte", 1e6}, {"Gbyte", 1e9}, {"Tbyte", 1e12}, {"inst", 1},
    {"", 1}, {"Ghz", 1e9}, {"GHz", 1e9}, {"Mhz", 1e6}, {"MHz", 1e6}, {"hz", 1}, {"cycle/nsecond", 1e9},
    {"cycle/usecond", 1e6}, {"cycle/second", 1}, {"Kinst", 1e3}, {"Minst", 1e6}, {"Ginst", 1e9}};

struct ncu {
	struct measurement_reader *reader;
	int n, line;
	char *cells[MAX_CELLS], *heads[MAX_CELLS], *units[MAX_CELLS]; /* units of the raw page */
	struct measurement row;
	bool open;
	const char *id; /* of the kernel that is being read */
};

static int
column(const struct ncu *u, const char *name)
{
	for (int i = 0; i < u->n; i++)
		if (strcmp(u->heads[i], name) == 0)
			return i;
	return -1;
}

/* 1,234.5 */
static double
grouped_number(struct measurement_reader *r, const char *text)
{
	char *digits = arena_text(r->scratch, text), *to = digits;
	double value;

	for (const char *c = text; *c; c++)
		if (*c != ',')
			*to++ = *c;
	*to = '\0';
	return measurement_number(digits, &value) ? value : NAN;
}

static void
see(double *sum, double more)
{
	*sum = isnan(*sum) ? more : *sum + more;
}

static void
metric(struct ncu *u, const char *name, const char *unit, const char *text)
{
	double value = NAN;

	for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
		if (strcmp(metrics[m].name, name) != 0)
			continue;
		for (size_t i = 0; i < sizeof units / sizeof *units; i++)
			if (strcmp(units[i].name, unit) == 0)
				value = units[i].scale * grouped_number(u->reader, text);
		if (isnan(value))
			return;
		value *= metrics[m].n;
		switch (metrics[m].what) {
		case TIME:
			u->row.time_s = value;
			break;
		case BYTES: /* the sum, or its two parts */
			if (strcmp(name, "dram__bytes.sum") == 0)
				u->row.size_byte = value;
			else
				see(&u->row.size_byte, value);
			break;
		case FLOP:
			see(&u->row.flop, value);
			break;
		case CLOCK:
			u->row.clock_hertz = value;
			break;
		}
		return;
	}
}

static void
end_kernel(struct ncu *u)
{
	if (u->open)
		measurement_add(u->reader, &u->row);
	u->open = false;
}

static void
begin_kernel(struct ncu *u)
{
	struct measurement_reader *r = u->reader;
	const int name = column(u, "Kernel Name"), host = column(u, "Host Name"),
	          device = column(u, "device__attribute_display_name");

	u->row = measurement_blank(MEASUREMENT_KERNEL, u->line);
	u->row.library = "ncu";
	if (name >= 0)
		u->row.operation = measurement_word(r, u->cells[name], strlen(u->cells[name]));
	if (host >= 0)
		u->row.host = measurement_word(r, u->cells[host], strlen(u->cells[host]));
	if (device >= 0)
		u->row.device = measurement_word(r, u->cells[device], strlen(u->cells[device]));
	u->open = true;
}

/* A line for each metric; lines with one ID are one kernel. */
static void
metric_line(struct ncu *u)
{
	const int id = column(u, "ID"), name = column(u, "Metric Name"), unit = column(u, "Metric Unit"),
	          value = column(u, "Metric Value");
	const char *word = id >= 0 ? measurement_word(u->reader, u->cells[id], strlen(u->cells[id])) : NULL;

	if (unit < 0 || value < 0) {
		measurement_skip(u->reader, u->line, "no metric's unit or value");
		return;
	}
	if (!u->open || word != u->id) {
		end_kernel(u);
		begin_kernel(u);
		u->id = word;
	}
	metric(u, u->cells[name], u->cells[unit], u->cells[value]);
}

static void
kernel_line(struct ncu *u)
{
	begin_kernel(u);
	for (int i = 0; i < u->n; i++)
		metric(u, u->heads[i], u->units[i] ? u->units[i] : "", u->cells[i]);
	end_kernel(u);
}

/* What the program printed stands before the table. */
static bool
find_head(struct ncu *u, char **text)
{
	while (**text) {
		int n_lines;
		const bool head = text_begins(*text, "\"ID\"") || text_begins(*text, "ID,");
		if (!head) {
			measurement_line(text);
			u->line++;
			continue;
		}
		u->n = measurement_cells(text, ',', u->heads, MAX_CELLS, &n_lines);
		u->line += n_lines;
		return u->n <= MAX_CELLS;
	}
	return false;
}

bool
import_ncu(struct measurement_reader *r)
{
	struct ncu *u = ARENA_NEW(r->arena, struct ncu);
	char *text = r->text;
	int n_lines = 1;

	u->reader = r;
	u->line = 1;
	if (!find_head(u, &text))
		return measurement_refuse(r, 0, "write it with: ncu --csv --page raw", "no line begins with \"ID\"");
	const bool by_metric = column(u, "Metric Name") >= 0;
	for (; *text; u->line += n_lines) {
		const int n = measurement_cells(&text, ',', u->cells, MAX_CELLS, &n_lines);
		if (n != u->n) {
			if (n > 1)
				measurement_skip(r, u->line, "number of cells differs from number of columns");
			continue;
		}
		if (by_metric)
			metric_line(u);
		else if (!*u->cells[0])
			memcpy(u->units, u->cells, sizeof u->units);
		else
			kernel_line(u);
	}
	end_kernel(u);
	return true;
}
